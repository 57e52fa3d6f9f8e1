"""Where two meshes touch, exactly: their vertices and ridges against each other's triangles.

Every vertex of one body within reach of the other's surface, or inside it, is a contact with the
nearest point there, be it on a face, an edge or a vertex; so is every pair of crossing ridges where
the line between them is a normal of both. Both ways; nothing is approximated, so that cost grows
with the detail that touches. It is what the other engines are measured against, and an engine of
its own for small meshes.
"""

from __future__ import annotations

from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off, ptr
from tangere.collision.contact_query import (
    NPOSE,
    TRUNCATED,
    VISITED,
    Placed,
    begin,
    carry,
    place,
    write_contact,
)
from tangere.collision.triangle_trees import (
    EDGES,
    LENGTH,
    NBOX,
    NEDGE,
    NSHAPE,
    NVERTEX,
    TREE_COUNT,
    TREE_FIRST,
    TREE_LEVELS,
    TREE_NODE,
    VERTEX,
    VERTICES,
    Trees,
    Triangles,
    edge_ends,
    edge_share,
    level_of,
    node_range,
    seen_share,
    signed_distance,
    trees_view,
)
from tangere.maths.quat import matrix_into, turn, turn_back
from tangere.maths.vec import Array, LongArray, Vec3, add, axpy, cross, dot, norm, scale, sub

STACK = 64  # nodes, or pairs of nodes, waiting in a descent: the depth of both trees, and one
# Edges that cross under an angle of less than this sine are parallel: vertices hold them.
PARALLEL = 1e-3
# The surface nearest to an edge inside is on another side when its normal is this much against n.
OTHER_SIDE = 0.2


class Search(NamedTuple):
    """What the passes of one pair share: output, state, how far and how long to look."""

    rows: PtrF8
    room: int
    state: PtrI8
    turns: PtrF8
    position: Vec3  # of the first body's frame
    axes: PtrF8  # its rotation to the world
    label: int
    reach: float
    budget: int


@kernel
def find_contacts(
    triangles: Triangles,
    placed: Placed,
    reach: float,
    budget: int,
    rows: Array,
    tally: LongArray,
) -> None:
    """Write all contacts of row 0 closer than `reach` to `rows`, and their number to `tally`."""
    place(placed)
    state = begin(tally)
    bodies = placed.poses.shape[0] - 1
    for b in range(bodies):
        search_pair(triangles, placed, (0, b + 1), b, reach, budget, rows, state)
    for i in range(placed.floors.shape[0]):
        search_floor(triangles, placed, 0, i, -1 - i, reach, budget, rows, state)


@kernel
def search_pair(
    triangles: Triangles,
    placed: Placed,
    pair: tuple[int, int],
    label: int,
    reach: float,
    budget: int,
    rows: Array,
    state: PtrI8,
) -> None:
    """Append the contacts of two placed bodies, after `place` and `begin`.

    pair: their rows in `placed`; normals point out of the first. label: what to write as
    CONTACT_BODY. Beyond the budget nothing more is looked at.
    """
    axes = local_f8(9)
    t = trees_view(triangles)
    s = _search_from(placed, pair[0], label, reach, budget, rows, state, axes)
    shape, other = placed.solid_of[pair[0]], placed.solid_of[pair[1]]
    _search_vertices(t, s, (shape, other), pair, True)
    _search_vertices(t, s, (other, shape), (pair[1], pair[0]), False)
    _search_edges(t, s, (shape, other), pair)


@kernel
def search_floor(
    triangles: Triangles,
    placed: Placed,
    body: int,
    floor: int,
    label: int,
    reach: float,
    budget: int,
    rows: Array,
    state: PtrI8,
) -> None:
    """Append the contacts of a placed body's vertices with a floor; normals point into it."""
    axes = local_f8(9)
    t = trees_view(triangles)
    s = _search_from(placed, body, label, reach, budget, rows, state, axes)
    here = off(s.turns, 12 * body)
    plane = off(ptr(placed.floors), 4 * floor)
    up = (plane[0], plane[1], plane[2])
    into = turn_back(here, scale(-1.0, up))
    tree = off(t.shapes, NSHAPE * placed.solid_of[body] + VERTICES)
    boxes, levels, stack = off(t.boxes, NBOX * tree[TREE_NODE]), tree[TREE_LEVELS], local_i8(STACK)
    stack[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        level = level_of(node)
        centre, half = _middle_of(off(boxes, NBOX * node))
        low = dot(up, carry(here, off(s.turns, 12 * placed.poses.shape[0]), centre)) - plane[3]
        low -= abs(into[0]) * half[0] + abs(into[1]) * half[1] + abs(into[2]) * half[2]
        if low >= reach or not _look(s):
            continue
        if level < levels:
            stack[waiting], stack[waiting + 1] = 2 * node + 2, 2 * node + 1
            waiting += 2
            continue
        first, last = node_range(node, level, tree[TREE_COUNT])
        for i in range(tree[TREE_FIRST] + first, tree[TREE_FIRST] + last):
            v = off(t.vertices, NVERTEX * i)
            x = (v[VERTEX], v[VERTEX + 1], v[VERTEX + 2])
            p = add(turn(here, x), (here[9], here[10], here[11]))
            depth = plane[3] - dot(up, p)
            area = seen_share(t, i, into)
            if depth > -reach and area > 0.0:
                _append(s, p, scale(-1.0, up), depth, area, i - tree[TREE_FIRST])


@kernel
def _search_from(
    placed: Placed,
    first: int,
    label: int,
    reach: float,
    budget: int,
    rows: Array,
    state: PtrI8,
    axes: PtrF8,
) -> Search:
    """What the passes of a pair share; axes: room for nine numbers."""
    pose = off(ptr(placed.poses), NPOSE * first)
    matrix_into((pose[3], pose[4], pose[5], pose[6]), axes)
    x = (pose[0], pose[1], pose[2])
    return Search(ptr(rows), rows.shape[0], state, ptr(placed.turns), x, axes, label, reach, budget)


@kernel
def _look(s: Search) -> bool:
    """Count one node or feature; whether the budget has room for it."""
    s.state[VISITED] += 1
    if s.state[VISITED] > s.budget:
        s.state[TRUNCATED] = 1
        return False
    return True


@kernel
def _append(s: Search, p: Vec3, n: Vec3, depth: float, area: float, name: int) -> None:
    """Write one contact of two surfaces that are known exactly."""
    quality = 0.0, area, s.label, name
    write_contact((s.rows, s.room, s.state), (s.position, s.axes), p, n, depth, quality)


# ------------------------------------------------ vertices


@kernel
def _search_vertices(
    t: Trees, s: Search, shapes: tuple[int, int], pair: tuple[int, int], of_first: bool
) -> None:
    """Vertices of one body at the surface of the other, which has the second shape.

    A box of vertices is left out when its centre is further outside than its corners and the reach.
    The distance of a parent's centre bounds that of its child's.
    """
    here, there = off(s.turns, 12 * pair[0]), off(s.turns, 12 * pair[1])
    tree = off(t.shapes, NSHAPE * shapes[0] + VERTICES)
    boxes, levels = off(t.boxes, NBOX * tree[TREE_NODE]), tree[TREE_LEVELS]
    stack, limits = local_i8(STACK), local_f8(4 * 64)  # STACK
    stack[0] = 0
    limits[0], limits[1], limits[2], limits[3] = 1e300, 0.0, 0.0, 0.0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        above = off(limits, 4 * waiting)
        centre, half = _middle_of(off(boxes, NBOX * node))
        at = carry(here, there, centre)
        if not _look(s):
            return
        limit = _slack(above[0] + norm(sub(at, (above[1], above[2], above[3]))))
        value, _ = signed_distance(t, shapes[1], at, limit)
        if value >= norm(half) + s.reach:
            continue
        level = level_of(node)
        if level < levels:
            for side in range(2):
                stack[waiting] = 2 * node + 2 - side
                k = off(limits, 4 * waiting)
                k[0], k[1], k[2], k[3] = abs(value), at[0], at[1], at[2]
                waiting += 1
            continue
        first, last = node_range(node, level, tree[TREE_COUNT])
        for i in range(tree[TREE_FIRST] + first, tree[TREE_FIRST] + last):
            if not _look(s):
                return
            v = off(t.vertices, NVERTEX * i)
            x = (v[VERTEX], v[VERTEX + 1], v[VERTEX + 2])
            y = carry(here, there, x)
            distance, m = signed_distance(t, shapes[1], y, _slack(abs(value) + norm(sub(y, at))))
            if distance >= s.reach:
                continue
            n = turn(there, m)  # out of the other body
            area = seen_share(t, i, turn_back(here, scale(-1.0, n)))
            if area <= 0.0:
                continue
            p = add(turn(here, x), (here[9], here[10], here[11]))
            if of_first:
                _append(s, p, scale(-1.0, n), -distance, area, i - tree[TREE_FIRST])
            else:
                name = -1 - (i - tree[TREE_FIRST])
                _append(s, axpy(-distance, n, p), n, -distance, area, name)


@kernel
def _slack(limit: float) -> float:
    """A bound with room for rounding."""
    return limit * (1.0 + 1e-9)


@kernel
def _middle_of(box: PtrF8) -> tuple[Vec3, Vec3]:
    """Centre and half sides of a box."""
    low, high = (box[0], box[1], box[2]), (box[3], box[4], box[5])
    return scale(0.5, add(low, high)), scale(0.5, sub(high, low))


# ------------------------------------------------ crossing ridges


@kernel
def _search_edges(t: Trees, s: Search, shapes: tuple[int, int], pair: tuple[int, int]) -> None:
    """Ridges of both bodies that cross, by a walk down both trees of edges.

    Apart they are sought within reach; overlapping, as deep as the shorter of both is long: deeper,
    one of its ends is inside.
    """
    one = off(t.shapes, NSHAPE * shapes[0] + EDGES)
    two = off(t.shapes, NSHAPE * shapes[1] + EDGES)
    if one[TREE_COUNT] == 0 or two[TREE_COUNT] == 0:
        return
    here, there = off(s.turns, 12 * pair[0]), off(s.turns, 12 * pair[1])
    stacks = local_i8(2 * 64)  # STACK
    stacks[0], stacks[1] = 0, 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a, b = stacks[2 * waiting], stacks[2 * waiting + 1]
        if not _look(s):
            return
        box_a, box_b = one[TREE_NODE] + a, two[TREE_NODE] + b
        far = max(s.reach, min(t.longest[box_a], t.longest[box_b]))
        if _apart(off(t.boxes, NBOX * box_a), off(t.boxes, NBOX * box_b), here, there, far):
            continue
        level_a, level_b = level_of(a), level_of(b)
        if level_a == one[TREE_LEVELS] and level_b == two[TREE_LEVELS]:
            _cross_leaves(t, s, shapes, pair, (a, level_a), (b, level_b))
            continue
        # the larger one, while it has children
        split_a = level_b == two[TREE_LEVELS] or (
            level_a < one[TREE_LEVELS]
            and _size(off(t.boxes, NBOX * box_a)) >= _size(off(t.boxes, NBOX * box_b))
        )
        for side in range(2):
            k = off(stacks, 2 * waiting)
            k[0] = 2 * a + 2 - side if split_a else a
            k[1] = b if split_a else 2 * b + 2 - side
            waiting += 1


@kernel
def _size(box: PtrF8) -> float:
    """Longest side of a box [m]."""
    return float(max(box[3] - box[0], box[4] - box[1], box[5] - box[2]))


@kernel
def _apart(box_a: PtrF8, box_b: PtrF8, here: PtrF8, there: PtrF8, far: float) -> bool:
    """Whether two boxes, each along the axes of its own frame, are certainly further than `far`.

    Tested along the axes of both frames.
    """
    centre_a, half_a = _middle_of(box_a)
    centre_b, half_b = _middle_of(box_b)
    a = add(turn(here, centre_a), (here[9], here[10], here[11]))
    b = add(turn(there, centre_b), (there[9], there[10], there[11]))
    way = sub(b, a)
    for k in range(6):
        frame = here if k < 3 else there
        i = k % 3
        axis = (frame[i], frame[3 + i], frame[6 + i])
        in_a, in_b = turn_back(here, axis), turn_back(there, axis)
        room = far
        for j in range(3):
            room += abs(in_a[j]) * half_a[j] + abs(in_b[j]) * half_b[j]
        if abs(dot(way, axis)) > room:
            return True
    return False


@kernel
def _cross_leaves(
    t: Trees,
    s: Search,
    shapes: tuple[int, int],
    pair: tuple[int, int],
    a: tuple[int, int],
    b: tuple[int, int],
) -> None:
    """All ridges of one leaf with all of another; a, b: node and level."""
    one = off(t.shapes, NSHAPE * shapes[0] + EDGES)
    two = off(t.shapes, NSHAPE * shapes[1] + EDGES)
    a_first, a_last = node_range(a[0], a[1], one[TREE_COUNT])
    b_first, b_last = node_range(b[0], b[1], two[TREE_COUNT])
    for i in range(one[TREE_FIRST] + a_first, one[TREE_FIRST] + a_last):
        for j in range(two[TREE_FIRST] + b_first, two[TREE_FIRST] + b_last):
            _cross_edges(t, s, shapes, pair, i, j)


@kernel
def _cross_edges(
    t: Trees, s: Search, shapes: tuple[int, int], pair: tuple[int, int], i: int, j: int
) -> None:
    """The contact of two ridges, if they cross within both and n lies between the faces of both.

    Overlapping edges must really be within the other body, and its surface nearest to them on their
    side: the line between them does not see what is around.
    """
    here, there = off(s.turns, 12 * pair[0]), off(s.turns, 12 * pair[1])
    tail, head = edge_ends(t, i)
    a, u = add(turn(here, tail), (here[9], here[10], here[11])), turn(here, sub(head, tail))
    tail, head = edge_ends(t, j)
    b, v = add(turn(there, tail), (there[9], there[10], there[11])), turn(there, sub(head, tail))
    n = cross(u, v)
    length2 = dot(n, n)
    if length2 <= PARALLEL * PARALLEL * dot(u, u) * dot(v, v):
        return
    way = sub(b, a)
    along_a, along_b = dot(cross(way, v), n) / length2, dot(cross(way, u), n) / length2
    if not (0.0 < along_a < 1.0 and 0.0 < along_b < 1.0):
        return
    p, p0 = axpy(along_a, u, a), axpy(along_b, v, b)
    n = scale(1.0 / norm(n), n)
    e, f = off(t.edges, NEDGE * i), off(t.edges, NEDGE * j)
    area_a = edge_share(e, turn_back(here, n))
    if area_a <= 0.0:
        n = scale(-1.0, n)
        area_a = edge_share(e, turn_back(here, n))
    area = min(area_a, edge_share(f, turn_back(there, scale(-1.0, n))))
    depth = dot(n, sub(p, p0))
    if area <= 0.0 or depth <= -s.reach or depth > max(s.reach, min(e[LENGTH], f[LENGTH])):
        return
    if depth > 0.0:
        p_there = turn_back(there, sub(p, (there[9], there[10], there[11])))
        p0_here = turn_back(here, sub(p0, (here[9], here[10], here[11])))
        limit = _slack(depth)
        inside, m = signed_distance(t, shapes[1], p_there, limit)
        if inside > 0.0 or dot(turn(there, m), n) > OTHER_SIDE:
            return
        inside, m = signed_distance(t, shapes[0], p0_here, limit)
        if inside > 0.0 or dot(turn(here, m), n) < -OTHER_SIDE:
            return
    # a pair that leaves over an end of an edge fades, too: the vertex takes over
    ends = 16.0 * along_a * (1.0 - along_a) * along_b * (1.0 - along_b)
    name = _crossing_name(t, shapes, i, j)
    _append(s, axpy(depth, n, p0), n, depth, area * ends, name)


@kernel
def _crossing_name(t: Trees, shapes: tuple[int, int], i: int, j: int) -> int:
    """Number of a pair of ridges, counted after the vertices of the first shape."""
    first, second = off(t.shapes, NSHAPE * shapes[0]), off(t.shapes, NSHAPE * shapes[1])
    row, column = i - first[EDGES + TREE_FIRST], j - second[EDGES + TREE_FIRST]
    return int(first[VERTICES + TREE_COUNT] + row * second[EDGES + TREE_COUNT] + column)
