"""Contacts of a body's levels with a floor.

From the root down, a node is left out when its lowest vertex is farther above the plane than the
reach and what sticks out of its hull; one whose error is small for the area near the plane gives
the vertices of its patch.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off, pointers, ptr
from tangere.collision.contact_query import TRUNCATED, VISITED, Placed
from tangere.collision.levels.front import Front
from tangere.collision.levels.hierarchy import (
    BOUND,
    BOUNDS,
    CHILD,
    CHILDREN,
    FACE_AREA,
    NBRANCH,
    NFACE,
    NNODE,
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
from tangere.collision.levels.piece_pair import FACING, positive_share
from tangere.collision.levels.record import Out, hand_over, outlet
from tangere.maths.quat import turn, turn_back
from tangere.maths.vec import Array, Vec3, add, dot, scale

STACK = 256


@kernel
def search_floor(
    levels: LevelSet,
    placed: Placed,
    front: Front,
    pair: tuple[int, int],
    label: int,
    limits: tuple[float, float],
    budget: int,
    rows: Array,
    state: PtrI8,
) -> None:
    """Append the contacts of a placed body with a floor; normals point into the floor.

    pair: row of the body in `placed`, and number of the floor. A node gives the vertices of its
    patch that are near.
    """
    reach, error = limits
    axes, stack = local_f8(9), local_i8(256)  # STACK
    out = outlet(placed, pair[0], rows, state, label, 0.5 * reach, axes)
    here, plane = off(ptr(placed.turns), 12 * pair[0]), off(ptr(placed.floors), 4 * pair[1])
    up = (plane[0], plane[1], plane[2])
    m = turn_back(here, up)  # in the shape's frame: m·x − height is the gap
    height = plane[3] - dot(up, (here[9], here[10], here[11]))
    stack[0] = levels.roots[placed.solid_of[pair[0]]]
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a = stack[waiting]
        node, link = off(ptr(levels.nodes), NNODE * a), off(ptr(levels.links), NBRANCH * a)
        state[VISITED] += 1
        if dot(m, (node[0], node[1], node[2])) - height - node[NODE_RADIUS] > reach:
            continue
        if _lowest(levels, link, m) - node[NODE_INFLATION] - height > reach:
            continue
        done = link[CHILDREN] == 0
        spent = state[VISITED] >= budget
        if spent:
            state[TRUNCATED] = 1
        if link[VERTICES] > 0:
            area = _area_below(levels, link, m, reach + height)
            enough = area > 0.0 and coarseness(node) <= error * area
            if done or enough or (spent and area > 0.0):
                if area > 0.0:
                    _stand(levels, link, (m, height, reach), area, node, here, out, pointers(front))
                continue
        if done or spent or waiting + link[CHILDREN] > STACK:
            state[TRUNCATED] = 1 if not done else state[TRUNCATED]
            continue
        for k in range(link[CHILDREN]):
            stack[waiting + k] = link[CHILD] + k
        waiting += link[CHILDREN]


@kernel
def _lowest(levels: LevelSet, link: PtrI8, m: Vec3) -> float:
    """Least m·x over a node's bounds [m]."""
    v = off(ptr(levels.bounds), 3 * link[BOUND])
    least = 1e300
    for i in range(link[BOUNDS]):
        least = min(least, dot(m, (v[3 * i], v[3 * i + 1], v[3 * i + 2])))
    return least


@kernel
def _area_below(levels: LevelSet, link: PtrI8, m: Vec3, height: float) -> float:
    """Area of a node's patch where m·x < height, seen from the floor [m²]."""
    v, c = off(ptr(levels.vertices), 3 * link[VERTEX]), off(ptr(levels.corners), 3 * link[TRIANGLE])
    area = 0.0
    for t in range(link[TRIANGLES]):
        f = off(ptr(levels.faces), NFACE * (link[TRIANGLE] + t))
        facing = -dot(m, (f[0], f[1], f[2]))
        if facing <= FACING:
            continue
        i, j, k = 3 * c[3 * t], 3 * c[3 * t + 1], 3 * c[3 * t + 2]
        x = height - dot(m, (v[i], v[i + 1], v[i + 2]))
        y = height - dot(m, (v[j], v[j + 1], v[j + 2]))
        z = height - dot(m, (v[k], v[k + 1], v[k + 2]))
        if max(x, y, z) > 0.0:
            area += facing * f[FACE_AREA] * positive_share(x, y, z)
    return area


@kernel
def _stand(
    levels: LevelSet,
    link: PtrI8,
    place_of: tuple[Vec3, float, float],
    area: float,
    node: PtrF8,
    here: PtrF8,
    out: Out,
    front: Front,
) -> None:
    """Contacts of a node with a floor: its vertices within reach, with equal parts of its area."""
    m, height, reach = place_of
    v = off(ptr(levels.vertices), 3 * link[VERTEX])
    near = 0
    for i in range(link[VERTICES]):
        if dot(m, (v[3 * i], v[3 * i + 1], v[3 * i + 2])) - height < reach:
            near += 1
    n = turn(here, scale(-1.0, m))
    for i in range(link[VERTICES]):
        x = (v[3 * i], v[3 * i + 1], v[3 * i + 2])
        gap = dot(m, x) - height
        if gap < reach:
            p = add(turn(here, x), (here[9], here[10], here[11]))
            hand_over(
                out, front, p, n, -gap, (node[NODE_DEVIATION] + node[NODE_SLACK], area / near)
            )
