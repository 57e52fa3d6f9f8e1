"""Where a tool touches: pairs of convex pieces, refined until their error is small enough.

From the roots down, a pair of nodes is left out when their hulls are farther apart than the reach
and what sticks out of them. Its error is the larger surface deviation, taken over an area of one
edge squared and spread over the area in contact [OTADUY2003],

    s* = max(s_a ℓ_a², s_b ℓ_b²) / A,

as a detail is felt only if it is large for its contact. Where s* is above its threshold, the node
with the larger s ℓ² is split. The pair with the largest error goes first, so that a query that runs
out of budget has answered the rest as well as it could. Nothing is allocated.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i4, local_i8, off, pointers, ptr
from tangere.collision.contact_query import TRUNCATED, VISITED, Placed
from tangere.collision.epa import overlap
from tangere.collision.field_query import begin, place
from tangere.collision.gjk import gjk
from tangere.collision.levels.floors import search_floor
from tangere.collision.levels.front import (
    BODY_DEEPEST,
    BODY_MOTION,
    HEAP,
    NBODY,
    NPAIR,
    NWAIT,
    PAIR_DISTANCE,
    PAIR_MOTION,
    PAIR_NORMAL,
    PAIR_STAMP,
    QUERY,
    WAIT_A,
    WAIT_B,
    WAIT_STATUS,
    Front,
    clear,
    pop,
    push,
    release,
    row_of,
)
from tangere.collision.levels.hierarchy import (
    CHILD,
    CHILDREN,
    FACE_AREA,
    NBRANCH,
    NFACE,
    NNODE,
    NODE_CONE,
    NODE_DEVIATION,
    NODE_INFLATION,
    NODE_RADIUS,
    NODE_SLACK,
    TRIANGLE,
    TRIANGLES,
    VERTEX,
    VERTICES,
    LevelSet,
    coarseness,
)
from tangere.collision.levels.nearest import signed_distance
from tangere.collision.levels.piece_pair import (
    FAR,
    FOUND_AREA,
    FOUND_BACK,
    FOUND_DEPTH,
    FOUND_DISTANCE,
    FOUND_ERROR,
    FOUND_NORMAL,
    FOUND_SHARE,
    NFOUND,
    NOTHING,
    REAL,
    VIRTUAL,
    Piece,
    axis_of,
    corner_of,
    touch,
)
from tangere.collision.levels.record import Out, hand_over, outlet
from tangere.maths.quat import matrix_into, turn, turn_back
from tangere.maths.vec import Array, LongArray, Vec3, add, axpy, dot, norm, scale, sub

# Overlaps are looked for up to this share of the smaller body's radius.
DEEPEST = 0.125
# A depth holds if one of its points lies deeper in the other body than this share of it.
NEAREST = 0.8
# How urgent a pair is that only bounds, whose nearest points are no surface, or that is still far.
ONLY_BOUNDS, NO_SURFACE, STILL_FAR = 1e9, 1e6, 1e5


@kernel
def find_contacts(
    levels: LevelSet,
    placed: Placed,
    front: Front,
    limits: tuple[float, float],
    budget: int,
    rows: Array,
    tally: LongArray,
) -> None:
    """Write all contacts of row 0 to `rows`, and their number to `tally`.

    limits: reach, and the error s* that is accepted [m].
    """
    place(placed)
    state = begin(tally)
    ptr(front.counts)[QUERY] += 1
    for b in range(placed.poses.shape[0] - 1):
        search_pair(levels, placed, front, (0, b + 1), (b, b), limits, budget, rows, state)
    for i in range(placed.floors.shape[0]):
        search_floor(levels, placed, front, (0, i), -1 - i, limits, budget, rows, state)


class Search(NamedTuple):
    """What all pairs of one search share."""

    nodes: PtrF8
    links: PtrI8
    vertices: PtrF8
    corners: PtrI8
    faces: PtrF8
    front: Front
    limits: tuple[float, float, float]  # reach, accepted error, largest depth [m]
    budget: int
    out: Out
    here: PtrF8  # shape frame of the first body to the world
    between: PtrF8  # shape frame of the second body in that of the first
    unit: PtrF8  # no rotation
    slot: int  # row in `front.bodies`
    motion: float  # of the bodies until now [m]
    roots: tuple[int, int]


@kernel
def search_pair(
    levels: LevelSet,
    placed: Placed,
    front: Front,
    pair: tuple[int, int],
    names: tuple[int, int],
    limits: tuple[float, float],
    budget: int,
    rows: Array,
    state: PtrI8,
) -> None:
    """Append the contacts of two placed bodies, after `place` and `begin`.

    pair: their rows in `placed`; normals point out of the first. names: row of the pair in
    `front.bodies`, and what to write as CONTACT_BODY. limits: reach and accepted error [m].
    """
    axes, between, unit = local_f8(9), local_f8(12), local_f8(9)
    roots = (levels.roots[placed.solid_of[pair[0]]], levels.roots[placed.solid_of[pair[1]]])
    here, there = off(ptr(placed.turns), 12 * pair[0]), off(ptr(placed.turns), 12 * pair[1])
    _between(here, there, between)
    matrix_into((1.0, 0.0, 0.0, 0.0), unit)
    body = off(ptr(front.bodies), NBODY * names[0])
    a, b = off(ptr(levels.nodes), NNODE * roots[0]), off(ptr(levels.nodes), NNODE * roots[1])
    deep = DEEPEST * min(a[NODE_RADIUS], b[NODE_RADIUS])
    moved = _moved(body, between, norm((b[0], b[1], b[2])) + b[NODE_RADIUS])
    body[BODY_MOTION] += moved
    if body[BODY_DEEPEST] >= 0.0:
        # an overlap cannot have grown by more than the bodies have moved
        deep = min(deep, body[BODY_DEEPEST] + moved)
    body[BODY_DEEPEST] = 0.0
    kept = pointers(front)
    s = Search(
        ptr(levels.nodes), ptr(levels.links), ptr(levels.vertices), ptr(levels.corners),
        ptr(levels.faces), kept, (limits[0], limits[1], deep), budget,
        outlet(placed, pair[0], rows, state, names[1], 0.5 * limits[0], axes), here, between, unit,
        names[0], body[BODY_MOTION], roots,
    )  # fmt: skip
    clear(kept)
    none = local_f8(12)
    none[FOUND_DEPTH] = 0.0
    _test(s, roots[0], roots[1], none, -1.0)
    while kept.counts[HEAP] > 0:
        _refine(s, pop(kept))


@kernel
def _between(here: PtrF8, there: PtrF8, out: PtrF8) -> None:
    """The second shape frame in the first: R = R₁ᵀ R₂, t = R₁ᵀ (t₂ − t₁)."""
    for k in range(3):
        column = turn_back(here, (there[k], there[3 + k], there[6 + k]))
        out[k], out[3 + k], out[6 + k] = column
    shift = (there[9] - here[9], there[10] - here[10], there[11] - here[11])
    out[9], out[10], out[11] = turn_back(here, shift)


@kernel
def _moved(body: PtrF8, now: PtrF8, size: float) -> float:
    """How far any point within `size` has gone since the last call, at most; keeps the place."""
    turned, gone = 0.0, 0.0
    for k in range(12):
        change = now[k] - body[k]
        if k < 9:
            turned += change * change
        else:
            gone += change * change
        body[k] = now[k]
    return sqrt(gone) + size * sqrt(0.5 * turned)


@kernel
def _refine(s: Search, row: int) -> None:
    """Split one node of a waiting pair; or, beyond the budget, take the pair as it is."""
    parent = local_f8(12)
    wait, found = off(ptr(s.front.waiting), NWAIT * row), off(ptr(s.front.found), NFOUND * row)
    a, b, status, urgency = wait[WAIT_A], wait[WAIT_B], wait[WAIT_STATUS], s.front.urgency[row]
    for k in range(NFOUND):
        parent[k] = found[k]
    release(s.front, row)
    if s.out.state[VISITED] >= s.budget:
        s.out.state[TRUNCATED] = 1
        if status == REAL:
            _accept(s, a, b, parent)
        return
    la, lb = off(s.links, NBRANCH * a), off(s.links, NBRANCH * b)
    past = urgency if status == REAL else -1.0
    if _first_goes(off(s.nodes, NNODE * a), off(s.nodes, NNODE * b), la, lb):
        for k in range(la[CHILDREN]):
            _test(s, la[CHILD] + k, b, parent, past)
    else:
        for k in range(lb[CHILDREN]):
            _test(s, a, lb[CHILD] + k, parent, past)


@kernel
def _first_goes(na: PtrF8, nb: PtrF8, la: PtrI8, lb: PtrI8) -> bool:
    """Whether the first node of a pair is to be split, not the second."""
    if la[CHILDREN] == 0 or lb[CHILDREN] == 0:
        return bool(la[CHILDREN] > 0)
    if la[VERTICES] == 0 or lb[VERTICES] == 0:
        if la[VERTICES] == 0 and lb[VERTICES] == 0:
            return bool(na[NODE_RADIUS] >= nb[NODE_RADIUS])
        return bool(la[VERTICES] == 0)
    coarse_a, coarse_b = coarseness(na), coarseness(nb)
    if coarse_a == coarse_b:
        return bool(na[NODE_RADIUS] >= nb[NODE_RADIUS])
    return coarse_a > coarse_b


@kernel
def _test(s: Search, a: int, b: int, parent: PtrF8, past: float) -> None:
    """Look at one pair: leave it out, take it, or let it wait to be refined.

    past: error of the parent's contact over its threshold; −1 if it had none.
    """
    reach, error, deep = s.limits
    s.out.state[VISITED] += 1
    na, nb = off(s.nodes, NNODE * a), off(s.nodes, NNODE * b)
    la, lb = off(s.links, NBRANCH * a), off(s.links, NBRANCH * b)
    far = max(reach, deep)
    ca, cb = (na[0], na[1], na[2]), (nb[0], nb[1], nb[2])
    apart = norm(sub(_carried(s, cb), ca)) - na[NODE_RADIUS] - nb[NODE_RADIUS]
    if apart > far:
        return
    if la[VERTICES] == 0 or lb[VERTICES] == 0:
        _wait(s, a, b, VIRTUAL, ONLY_BOUNDS, parent)
        return
    margin = na[NODE_INFLATION] + nb[NODE_INFLATION]
    kept, known = row_of(ptr(s.front.keys), _key(s, a, b))
    memo, simplex = off(ptr(s.front.pairs), NPAIR * kept), off(ptr(s.front.simplex), 9 * kept)
    if not known:
        simplex[0] = 0
        memo[PAIR_STAMP] = -1.0
    elif memo[PAIR_DISTANCE] - (s.motion - memo[PAIR_MOTION]) > far + margin:
        return
    query = s.front.counts[QUERY]
    last = (0.0, 0.0, 0.0)
    if memo[PAIR_STAMP] == query - 1:
        last = (memo[PAIR_NORMAL], memo[PAIR_NORMAL + 1], memo[PAIR_NORMAL + 2])
    room, found = local_f8(390), local_f8(12)
    one = _piece(s, a)
    two = _piece_there(s, b, room)
    status = touch(one, two, (reach, deep, margin), last, simplex, found)
    memo[PAIR_DISTANCE], memo[PAIR_MOTION] = found[FOUND_DISTANCE], s.motion
    if status == NOTHING or (
        status == FAR
        and found[FOUND_DISTANCE] > reach + margin
        and _face_to_face(one, two, margin, far)
    ):
        return
    if status == REAL and found[FOUND_BACK] == 1.0:
        for k in range(3):
            memo[PAIR_NORMAL + k] = found[FOUND_NORMAL + k]
        memo[PAIR_STAMP] = query
        if not _holds(s, na, nb, found):
            status = VIRTUAL
    leaves = la[CHILDREN] == 0 and lb[CHILDREN] == 0
    if status == REAL:
        share = max(coarseness(na), coarseness(nb)) / found[FOUND_AREA] / error
        if leaves or share <= 1.0:
            _blend(s, parent, past, found)
            _accept(s, a, b, found)
        else:
            _wait(s, a, b, REAL, share, found)
    elif not leaves:
        _wait(s, a, b, status, NO_SURFACE if status == VIRTUAL else STILL_FAR, found)
    elif status == VIRTUAL:
        _by_triangles(s, a, b, one, two)


@kernel
def _wait(s: Search, a: int, b: int, status: int, urgency: float, found: PtrF8) -> None:
    """Queue a pair for refinement; if there is no room, take it as it is."""
    row = push(s.front, a, b, status, urgency)
    if row < 0:
        s.out.state[TRUNCATED] = 1
        if status == REAL:
            _accept(s, a, b, found)
        return
    out = off(ptr(s.front.found), NFOUND * row)
    for k in range(NFOUND):
        out[k] = found[k]


@kernel
def _key(s: Search, a: int, b: int) -> int:
    """Name of a pair of nodes of a pair of bodies."""
    return (s.slot * 0x1000000 + a) * 0x1000000 + b


@kernel
def _carried(s: Search, x: Vec3) -> Vec3:
    """A point of the second shape in the frame of the first."""
    return add(turn(s.between, x), (s.between[9], s.between[10], s.between[11]))


@kernel
def _piece(s: Search, a: int) -> Piece:
    """A node of the first body."""
    node, link = off(s.nodes, NNODE * a), off(s.links, NBRANCH * a)
    return Piece(
        off(s.vertices, 3 * link[VERTEX]), link[VERTICES], off(s.corners, 3 * link[TRIANGLE]),
        off(s.faces, NFACE * link[TRIANGLE]), link[TRIANGLES], node, axis_of(node), s.unit,
    )  # fmt: skip


@kernel
def _piece_there(s: Search, b: int, room: PtrF8) -> Piece:
    """A node of the second body, its vertices carried to the frame of the first."""
    node, link = off(s.nodes, NNODE * b), off(s.links, NBRANCH * b)
    v = off(s.vertices, 3 * link[VERTEX])
    for i in range(link[VERTICES]):
        x = _carried(s, (v[3 * i], v[3 * i + 1], v[3 * i + 2]))
        room[3 * i], room[3 * i + 1], room[3 * i + 2] = x
    return Piece(
        room, link[VERTICES], off(s.corners, 3 * link[TRIANGLE]),
        off(s.faces, NFACE * link[TRIANGLE]), link[TRIANGLES], node,
        turn(s.between, axis_of(node)), s.between,
    )  # fmt: skip


@kernel
def _face_to_face(a: Piece, b: Piece, margin: float, far: float) -> bool:
    """Whether no part of two pieces that is nearer than `far` can lie back to back.

    The gap along a's mean normal is a part of every way from a to b; if that way is short enough,
    no normal of a points away from it. The same for b.
    """
    for way in range(2):
        one = a if way == 0 else b
        size, cosine = norm(one.axis), one.node[NODE_CONE]
        if size <= 0.0 or cosine <= 0.0:
            continue
        n = scale((1.0 if way == 0 else -1.0) / size, one.axis)
        gap = -overlap(a.verts, a.count, b.verts, b.count, n) - margin
        if gap >= far * sqrt(1.0 - min(cosine * cosine, 1.0)):
            return True
    return False


@kernel
def _holds(s: Search, na: PtrF8, nb: PtrF8, found: PtrF8) -> bool:
    """Whether a depth is one: one of the two points lies about as deep in the other body."""
    depth = found[FOUND_DEPTH]
    loose = na[NODE_DEVIATION] + nb[NODE_DEVIATION] + na[NODE_SLACK] + nb[NODE_SLACK]
    least = NEAREST * depth - loose
    if least <= 0.0:
        return True
    tree = (s.nodes, s.links, s.vertices, s.corners, s.faces)
    p = (found[0], found[1], found[2])
    n = (found[FOUND_NORMAL], found[FOUND_NORMAL + 1], found[FOUND_NORMAL + 2])
    back = turn_back(s.between, sub(p, (s.between[9], s.between[10], s.between[11])))
    if -signed_distance(tree, s.roots[1], back, depth + loose) >= least:
        return True
    return -signed_distance(tree, s.roots[0], axpy(-depth, n, p), depth + loose) >= least


@kernel
def _blend(s: Search, parent: PtrF8, past: float, found: PtrF8) -> None:
    """Go over from the parent's contact to this one while the parent's error is 1 to 2 times s₀."""
    if not 1.0 <= past < 2.0:
        return
    t = past - 1.0
    p = (found[0], found[1], found[2])
    n = (found[3], found[4], found[5])
    old = (parent[3], parent[4], parent[5])
    if dot(n, old) <= 0.0:
        return
    # the parent's plane, seen from this point
    before = dot(old, sub(p, (parent[0], parent[1], parent[2]))) + parent[FOUND_DEPTH]
    n = add(scale(t, n), scale(1.0 - t, old))
    n = scale(1.0 / norm(n), n)
    found[3], found[4], found[5] = n
    found[FOUND_ERROR] += (1.0 - t) * abs(before - found[FOUND_DEPTH])
    found[FOUND_DEPTH] += (1.0 - t) * (before - found[FOUND_DEPTH])


@kernel
def _by_triangles(s: Search, a: int, b: int, one: Piece, two: Piece) -> None:
    """Contacts of two pieces of level 0 triangle by triangle: these have no virtual faces."""
    corners_a, corners_b = local_f8(9), local_f8(9)
    count = local_i8(3)
    found = local_f8(12)
    for k in range(3):
        count[k] = k
    for t in range(one.triangles):
        part = _triangle(one, t, corners_a, count)
        if not _near_enough(s, part, two):
            continue
        for u in range(two.triangles):
            if s.out.state[VISITED] >= s.budget:
                s.out.state[TRUNCATED] = 1
                return
            s.out.state[VISITED] += 1
            _by_triangle(s, (a, b), part, _triangle(two, u, corners_b, count), found)


@kernel
def _triangle(a: Piece, t: int, room: PtrF8, count: PtrI8) -> Piece:
    """One triangle of a piece, as a piece."""
    for k in range(3):
        x = corner_of(a, t, k)
        room[3 * k], room[3 * k + 1], room[3 * k + 2] = x
    f = off(a.faces, NFACE * t)
    return Piece(room, 3, count, f, 1, a.node, turn(a.turn, (f[0], f[1], f[2])), a.turn)


@kernel
def _near_enough(s: Search, part: Piece, whole: Piece) -> bool:
    """Whether a triangle is within the reach of a piece, or as deep in it."""
    far = max(s.limits[0], s.limits[2])
    simplex = local_i4(9)
    simplex[0] = 0
    _, d, _, _, _, _, _, _ = gjk(part.verts, 3, whole.verts, whole.count, (0.0, 0.0, 0.0), simplex)
    return d <= far


@kernel
def _by_triangle(s: Search, pair: tuple[int, int], one: Piece, two: Piece, found: PtrF8) -> None:
    """The contact of two triangles of level 0, if there is one."""
    if dot(one.axis, two.axis) >= 0.0 or one.faces[FACE_AREA] * two.faces[FACE_AREA] == 0.0:
        return
    simplex = local_i4(9)
    simplex[0] = 0
    limits = (s.limits[0], s.limits[2], 0.0)
    if touch(one, two, limits, (0.0, 0.0, 0.0), simplex, found) != REAL:
        return
    if found[FOUND_BACK] == 1.0 and not _holds(s, one.node, two.node, found):
        return
    _accept(s, pair[0], pair[1], found)


@kernel
def _accept(s: Search, a: int, b: int, found: PtrF8) -> None:
    """Hand over a contact, carried to the world."""
    depth = found[FOUND_DEPTH]
    if depth < -s.limits[0]:
        return
    body = off(ptr(s.front.bodies), NBODY * s.slot)
    body[BODY_DEEPEST] = max(body[BODY_DEEPEST], depth)
    error = found[FOUND_ERROR] + max(
        s.nodes[NNODE * a + NODE_DEVIATION], s.nodes[NNODE * b + NODE_DEVIATION]
    )
    p = add(turn(s.here, (found[0], found[1], found[2])), (s.here[9], s.here[10], s.here[11]))
    n = turn(s.here, (found[3], found[4], found[5]))
    hand_over(s.out, s.front, p, n, depth, (error, found[FOUND_SHARE]))
