"""What lies inside the other body: whether a depth is one, and contacts away from the crossing.

Two hulls may overlap by more than the bodies do: part of each is no surface. A depth counts if one
of its two points is about as deep in the other body; on level 0 it is put right.

Pieces there are far from any piece that they overlap, so they are asked one by one: the vertices of
a node's patch, each for its signed distance from the other body's level 0. A node is left out when
its ball is outside, or when it was answered pair by pair already.
"""

from __future__ import annotations

from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off
from tangere.collision.contact_query import TRUNCATED, VISITED
from tangere.collision.levels.front import NHEIGHT, SEARCH, Front
from tangere.collision.levels.hierarchy import (
    CHILD,
    CHILDREN,
    FACE_AREA,
    NBRANCH,
    NFACE,
    NNODE,
    NODE_AREA,
    NODE_DEVIATION,
    NODE_RADIUS,
    NODE_SLACK,
    TRIANGLE,
    TRIANGLES,
    VERTEX,
    VERTICES,
    coarseness,
)
from tangere.collision.levels.nearest import signed_distance
from tangere.collision.levels.piece_pair import FOUND_DEPTH, FOUND_ERROR, FOUND_NORMAL, FOUND_OTHER
from tangere.collision.levels.record import Out, hand_over
from tangere.maths.quat import turn, turn_back
from tangere.maths.vec import Vec3, add, axpy, dot, norm, scale, sub

STACK = 512
# Most vertices of one node that are asked.
ASKED = 8
# Both bodies see the same overlap: each answers for half of its area.
HALF = 0.5
# A depth counts if a point lies deeper in the other body than this share of it.
TRUE = 0.9
# Surfaces are looked for that much beyond where one must be.
BEYOND = 1.001

Tree = tuple[PtrF8, PtrI8, PtrF8, PtrI8, PtrF8]


class Search(NamedTuple):
    """What all pairs of one search share."""

    nodes: PtrF8
    links: PtrI8
    vertices: PtrF8
    corners: PtrI8
    faces: PtrF8
    bounds: PtrF8
    front: Front
    limits: tuple[float, float]  # reach, accepted error [m]
    budget: int
    out: Out
    here: PtrF8  # shape frame of the first body to the world
    between: PtrF8  # shape frame of the second body in that of the first
    unit: PtrF8  # no rotation
    slot: int  # row in `front.bodies`
    motion: float  # of the bodies until now [m]
    roots: tuple[int, int]
    nodes_of_all: int


@kernel
def carried(s: Search, x: Vec3) -> Vec3:
    """A point of the second shape in the frame of the first."""
    return add(turn(s.between, x), (s.between[9], s.between[10], s.between[11]))


@kernel
def settle(s: Search, na: PtrF8, nb: PtrF8, found: PtrF8, leaves: bool) -> bool:
    """Whether the depth of two hulls is that of the bodies; of two leaves it is made so."""
    depth = found[FOUND_DEPTH]
    loose = na[NODE_DEVIATION] + nb[NODE_DEVIATION] + na[NODE_SLACK] + nb[NODE_SLACK]
    tree = (s.nodes, s.links, s.vertices, s.corners, s.faces)
    p = (found[0], found[1], found[2])
    n = (found[FOUND_NORMAL], found[FOUND_NORMAL + 1], found[FOUND_NORMAL + 2])
    q = (found[FOUND_OTHER], found[FOUND_OTHER + 1], found[FOUND_OTHER + 2])
    most = BEYOND * (max(depth, 0.0) + loose + found[FOUND_ERROR] + s.limits[0])
    high, way = signed_distance(tree, s.roots[1], _across(s, True, p), most)
    if -high >= TRUE * depth - loose:
        return True
    other, back = signed_distance(tree, s.roots[0], q, most)
    if -other >= TRUE * depth - loose:
        return True
    if not leaves:
        return False
    # p and what is nearest to it, or q, whichever is deeper
    if high <= other:
        fresh, gap = turn(s.between, scale(-1.0, way)), high
    else:
        fresh, gap = back, other
        p = sub(q, back)
    if gap == 0.0 or gap >= s.limits[0]:
        return False
    fresh = scale(1.0 / gap, fresh)
    if dot(fresh, n) <= 0.0:
        return False
    found[0], found[1], found[2] = p
    found[FOUND_NORMAL], found[FOUND_NORMAL + 1], found[FOUND_NORMAL + 2] = fresh
    found[FOUND_DEPTH], found[FOUND_ERROR] = -gap, 0.0
    return True


@kernel
def search_inside(s: Search, first: bool) -> None:
    """Append the contacts of what one body has inside the other.

    first: whether it is the first body that is asked, not the second.
    """
    stack, limits = local_i8(512), local_f8(512)  # STACK
    tree = (s.nodes, s.links, s.vertices, s.corners, s.faces)
    mine, other = (s.roots[0], s.roots[1]) if first else (s.roots[1], s.roots[0])
    stack[0] = mine
    limits[0] = 1e300
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a, most = stack[waiting], limits[waiting]
        if s.front.answered[a] == s.front.counts[SEARCH]:
            continue
        node, link = off(s.nodes, NNODE * a), off(s.links, NBRANCH * a)
        s.out.state[VISITED] += 1
        middle = (node[0], node[1], node[2])
        leaf = link[CHILDREN] == 0
        # a leaf that is mostly outside crosses the surface, and its pairs have answered
        outside = 0.0 if leaf else node[NODE_RADIUS]
        known = off(s.front.heights, NHEIGHT * (s.slot * s.nodes_of_all + a))
        if known[1] >= 0.0:
            gone = s.motion - known[1]
            if known[0] - gone > outside:
                continue
            most = min(most, (abs(known[0]) + gone) * BEYOND)
        there, _ = signed_distance(tree, other, _across(s, first, middle), most)
        known[0], known[1] = there, s.motion
        if there > outside:
            continue
        spent = s.out.state[VISITED] >= s.budget
        if spent and not leaf:
            s.out.state[TRUNCATED] = 1
        side = (a, other, first)
        answered = leaf or (spent and link[VERTICES] > 0)
        if not answered and link[VERTICES] > 0:
            enough = coarseness(node) <= s.limits[1] * node[NODE_AREA]
            answered = enough and _all_inside(s, tree, side, abs(there))
        if answered:
            _ask(s, tree, side, abs(there))
            continue
        for k in range(min(link[CHILDREN], STACK - waiting)):
            child = link[CHILD] + k
            c = off(s.nodes, NNODE * child)
            stack[waiting] = child
            apart = norm(sub((c[0], c[1], c[2]), (node[0], node[1], node[2])))
            limits[waiting] = (abs(there) + apart) * BEYOND
            waiting += 1


@kernel
def _across(s: Search, first: bool, x: Vec3) -> Vec3:
    """A point of one shape in the frame of the other."""
    if first:
        return turn_back(s.between, sub(x, (s.between[9], s.between[10], s.between[11])))
    return carried(s, x)


@kernel
def _asked(
    s: Search, tree: Tree, side: tuple[int, int, bool], away: float, i: int
) -> tuple[float, Vec3, Vec3]:
    """Signed distance of vertex i of a node from the other body, the way there, and the vertex.

    The way is in the other's frame and leads from its surface to the vertex.
    """
    a, other, first = side
    node, link = off(s.nodes, NNODE * a), off(s.links, NBRANCH * a)
    v = off(s.vertices, 3 * (link[VERTEX] + i))
    x = (v[0], v[1], v[2])
    most = (away + norm(sub(x, (node[0], node[1], node[2])))) * BEYOND
    d, way = signed_distance(tree, other, _across(s, first, x), most)
    return d, way, x


@kernel
def _all_inside(s: Search, tree: Tree, side: tuple[int, int, bool], away: float) -> bool:
    """Whether all vertices that would be asked lie inside the other body."""
    count = s.links[NBRANCH * side[0] + VERTICES]
    for i in range(0, count, (count + ASKED - 1) // ASKED):
        d, _, _ = _asked(s, tree, side, away, i)
        if d > 0.0:
            return False
    return True


@kernel
def _ask(s: Search, tree: Tree, side: tuple[int, int, bool], away: float) -> None:
    """Contacts of those vertices of a node that lie inside the other body."""
    a, _, first = side
    node, link = off(s.nodes, NNODE * a), off(s.links, NBRANCH * a)
    step = (link[VERTICES] + ASKED - 1) // ASKED
    area = HALF * node[NODE_AREA] / ((link[VERTICES] + step - 1) // step)
    for i in range(0, link[VERTICES], step):
        d, way, x = _asked(s, tree, side, away, i)
        if d >= 0.0:
            continue
        n = scale(-1.0 / d, way)
        m = _normal(s, link, i)
        if first:
            n = turn(s.between, n)
            facing = dot(n, m)
        else:
            n = scale(-1.0, n)
            x = axpy(-d, n, carried(s, x))
            facing = -dot(n, turn(s.between, m))
        if facing > 0.0:
            p = add(turn(s.here, x), (s.here[9], s.here[10], s.here[11]))
            quality = (node[NODE_DEVIATION], facing * area)
            hand_over(s.out, s.front, p, turn(s.here, n), -d, quality)


@kernel
def _normal(s: Search, link: PtrI8, i: int) -> Vec3:
    """Mean normal of the triangles of a node around its vertex i, in its own frame."""
    n = (0.0, 0.0, 0.0)
    for t in range(link[TRIANGLE], link[TRIANGLE] + link[TRIANGLES]):
        if i in (s.corners[3 * t], s.corners[3 * t + 1], s.corners[3 * t + 2]):
            f = off(s.faces, NFACE * t)
            n = add(n, scale(f[FACE_AREA], (f[0], f[1], f[2])))
    size = norm(n)
    return scale(1.0 / size, n) if size > 0.0 else n
