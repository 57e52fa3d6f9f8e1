"""Where a tool touches: points of each body in the distance field of the other, both ways.

The trees of sample points are descended from the root; a ball is left out when the field at its
centre is larger than its radius and the reach. Nothing is allocated, and equal input gives equal
output: what is remembered of a point is its last normal, for deep overlaps of thin bodies.
"""

from __future__ import annotations

from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off, ptr
from tangere.collision.contact_query import (
    NPOSE,
    STAMP,
    TRUNCATED,
    VISITED,
    Placed,
    begin,
    carry,
    place,
    write_contact,
)
from tangere.collision.distance_field import Grid, Single, field_gradient, field_value
from tangere.collision.surface_points import (
    BALL,
    FIRST,
    LAST,
    LEFT,
    NBALL,
    NLINK,
    NPOINT,
    OUTWARD,
    POINT,
    RIGHT,
)
from tangere.maths.quat import matrix_into, turn, turn_back
from tangere.maths.vec import Array, LongArray, Vec3, add, axpy, dot, norm, scale

# Below this length the smoothed gradient tells no direction: the point lies on the medial axis.
NO_DIRECTION = 0.1
# A point's error, beside the field's value where its foot should be, in spacings: of trilinear
# values at a sharp edge, the worst place.
EDGE_ERROR = 0.5
STACK = 64  # nodes waiting in the descent of a tree: its depth plus one, 16 for 65,536 points

# Columns of what is remembered of a point: nearest surface in the field's frame, and its depth
TURN_NORMAL = 0  # 3
TURN_DEPTH = 3  # [m]
TURN_STAMP = 4  # number of the query
NTURN = 5


class Solids(NamedTuple):
    """Fields and points of several shapes, one after the other.

    | field  | meaning                                             | shape            |
    | values | of all grids                                        | (…,) float32     |
    | grids  | first value, nx, ny, nz                             | (s, 4) int64     |
    | places | origin, spacing, margin of each grid                | (s, 5)           |
    | points | of all shapes                                       | (…, NPOINT)      |
    | balls  | of all trees                                        | (…, NBALL)       |
    | links  | of all trees, counted from the shape's own first    | (…, NLINK) int64 |
    | starts | first point, first node                             | (s, 2) int64     |
    | areas  | that one point stands for [m²]                      | (s,)             |
    """

    values: Single
    grids: LongArray
    places: Array
    points: Array
    balls: Array
    links: LongArray
    starts: LongArray
    areas: Array


@kernel
def find_contacts(
    solids: Solids, placed: Placed, reach: float, budget: int, rows: Array, tally: LongArray
) -> None:
    """Write all contacts of row 0 closer than `reach` to `rows`, and their number to `tally`."""
    place(placed)
    state = begin(tally)
    bodies = placed.poses.shape[0] - 1
    for b in range(bodies):
        m = off(ptr(placed.memories), 2 * b)
        search_pair(solids, placed, (0, b + 1), (m[0], m[1]), b, reach, budget, rows, state)
    for i in range(placed.floors.shape[0]):
        search_floor(solids, placed, 0, i, -1 - i, reach, budget, rows, state)


@kernel
def search_pair(
    solids: Solids,
    placed: Placed,
    pair: tuple[int, int],
    memories: tuple[int, int],
    label: int,
    reach: float,
    budget: int,
    rows: Array,
    state: PtrI8,
) -> None:
    """Append the contacts of two placed bodies, both ways, after `place` and `begin`.

    pair: their rows in `placed`; normals point out of the first. memories: first row of each one's
    points in `placed.memory`. label: what to write as CONTACT_BODY.
    """
    axes = local_f8(9)
    s = _search_from(placed, pair[0], label, reach, budget, rows, state, axes)
    for way in range(2):
        mine, other = (pair[0], pair[1]) if way == 0 else (pair[1], pair[0])
        points = points_view(solids, placed.solid_of[mine])
        target = Target(grid_view(solids, placed.solid_of[other]), (0.0, 0.0, 0.0), 0.0, False)
        memory = memories[0] if way == 0 else memories[1]
        _search(s, points, target, (mine, other), memory, way == 0)


@kernel
def search_floor(
    solids: Solids,
    placed: Placed,
    body: int,
    floor: int,
    label: int,
    reach: float,
    budget: int,
    rows: Array,
    state: PtrI8,
) -> None:
    """Append the contacts of a placed body with a floor; normals point into the floor."""
    axes = local_f8(9)
    s = _search_from(placed, body, label, reach, budget, rows, state, axes)
    points = points_view(solids, placed.solid_of[body])
    p = off(ptr(placed.floors), 4 * floor)
    target = Target(grid_view(solids, 0), (p[0], p[1], p[2]), p[3], True)
    _search(s, points, target, (body, placed.poses.shape[0]), 0, True)


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
    """What the descents of the two bodies of a pair share; axes: room for nine numbers."""
    memory, turns = ptr(placed.memory), ptr(placed.turns)
    pose = off(ptr(placed.poses), NPOSE * first)
    matrix_into((pose[3], pose[4], pose[5], pose[6]), axes)
    x = (pose[0], pose[1], pose[2])
    return Search(ptr(rows), rows.shape[0], state, memory, turns, x, axes, label, reach, budget)


class Search(NamedTuple):
    """What the descents share: output, state, and how far and how long to look."""

    rows: PtrF8
    room: int
    state: PtrI8
    memory: PtrF8
    turns: PtrF8
    position: Vec3  # of the first body's frame
    axes: PtrF8  # its rotation to the world
    label: int
    reach: float
    budget: int


class Target(NamedTuple):
    """What points are tested against: a field, or the plane n·x = height of a floor if flat."""

    grid: Grid
    normal: Vec3
    height: float
    flat: bool


class Points(NamedTuple):
    """Sample points of a shape as kernels pass them on."""

    points: PtrF8
    balls: PtrF8
    links: PtrI8
    area: float


@kernel
def points_view(s: Solids, shape: int) -> Points:
    """Points of one shape."""
    first, node = s.starts[shape, 0], s.starts[shape, 1]
    return Points(
        off(ptr(s.points), NPOINT * first),
        off(ptr(s.balls), NBALL * node),
        off(ptr(s.links), NLINK * node),
        s.areas[shape],
    )


@kernel
def grid_view(s: Solids, shape: int) -> Grid:
    """Field of one shape."""
    g = ptr(s.grids)
    at = 4 * shape
    p = off(ptr(s.places), 5 * shape)
    origin = (p[0], p[1], p[2])
    return Grid(off(ptr(s.values), g[at]), g[at + 1], g[at + 2], g[at + 3], origin, p[3], p[4])


@kernel
def _search(
    s: Search, points: Points, target: Target, pair: tuple[int, int], memory: int, of_first: bool
) -> None:
    """Contacts of one body's points with a target; of_first: whether they are the first body's.

    A ball can be left out when φ(centre) > radius + reach, as |∇φ| ≤ 1; one spacing allows for the
    error of a field. Beyond the budget a node is answered by its middle point.
    """
    mine, other = pair
    here, there = off(s.turns, 12 * mine), off(s.turns, 12 * other)
    reach = s.reach if target.flat else s.reach + target.grid.spacing
    stack = local_i8(STACK)
    stack[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        ball, link = off(points.balls, NBALL * node), off(points.links, NLINK * node)
        s.state[VISITED] += 1
        centre = carry(here, there, (ball[BALL], ball[BALL + 1], ball[BALL + 2]))
        if _value(target, centre) > ball[BALL + 3] + reach:
            continue
        spent = s.state[VISITED] > s.budget
        if link[LEFT] >= 0 and not spent:
            stack[waiting] = link[RIGHT]
            stack[waiting + 1] = link[LEFT]
            waiting += 2
            continue
        first, last = link[FIRST], link[LAST]
        if spent:
            s.state[TRUNCATED] = 1
            first = (first + last) // 2
            last = first + 1
        for i in range(first, last):
            s.state[VISITED] += 1
            row = off(points.points, NPOINT * i)
            x = (row[POINT], row[POINT + 1], row[POINT + 2])
            at = carry(here, there, x)
            value = _value(target, at)
            if value >= s.reach:
                continue
            outward = (row[OUTWARD], row[OUTWARD + 1], row[OUTWARD + 2])
            outward = turn_back(there, turn(here, outward))
            n, depth, error = target.normal, -value, 0.0
            if not target.flat:
                memo = off(s.memory, NTURN * (memory + i))
                n, depth = _surface_near(s, target.grid, at, value, outward, memo)
            # Surfaces touch where they face each other: a side that only comes close does not
            facing = -dot(n, outward)
            if facing <= 0.0:
                continue
            if not target.flat:
                foot = field_value(target.grid, axpy(depth, n, at))
                error = abs(foot) + EDGE_ERROR * target.grid.spacing
            n = turn(there, n)
            p = add(turn(here, x), (here[9], here[10], here[11]))
            if of_first:
                n = scale(-1.0, n)
            else:
                p = axpy(depth, n, p)
            write_contact(
                (s.rows, s.room, s.state),
                (s.position, s.axes),
                p,
                n,
                depth,
                (error, facing * points.area, s.label),
            )


@kernel
def _value(t: Target, x: Vec3) -> float:
    """Signed distance of a point, in the target's frame [m]."""
    if t.flat:
        return dot(t.normal, x) - t.height
    return field_value(t.grid, x)


@kernel
def _surface_near(
    s: Search, grid: Grid, x: Vec3, value: float, outward: Vec3, memo: PtrF8
) -> tuple[Vec3, float]:
    """Outward normal of the field's surface nearest to x, and the depth of x below it [m].

    Deep inside a thin body the nearest surface becomes the one on the other side: the gradient
    turns by more than 90° against the point's last normal. Then that normal is kept, and the depth
    stays at what it was, about half the thickness.
    """
    n = field_gradient(grid, x)
    depth = -value
    length = norm(n)
    last = (memo[TURN_NORMAL], memo[TURN_NORMAL + 1], memo[TURN_NORMAL + 2])
    if memo[TURN_STAMP] == s.state[STAMP] - 1 and dot(n, last) <= NO_DIRECTION * length:
        n = last
        depth = max(depth, memo[TURN_DEPTH])
    elif length > NO_DIRECTION:
        n = scale(1.0 / length, n)
    else:
        n = scale(-1.0, outward)  # unknown on the medial axis: away from the point's own side
    memo[0], memo[1], memo[2] = n
    memo[TURN_DEPTH] = depth
    memo[TURN_STAMP] = s.state[STAMP]
    return n, depth
