"""Where a tool touches: points of each body in the distance field of the other, both ways.

The trees of sample points are descended from the root; a ball is left out when the field at its
centre is larger than its radius and the reach. Where a surface presses evenly over a small node,
one stand-in answers for all its points. How far a node is resolved depends on the pose alone and
without jumps: between coarse and fine both have a share of the area. Nothing is allocated, and
equal input gives equal output; what is remembered is the side on which a point is, for deep
overlaps of thin bodies, and where the bodies were.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off, ptr
from tangere.collision.contact_query import (
    NPOSE,
    STAMP,
    TRUNCATED,
    VISITED,
    Placed,
    begin,
    place,
    write_contact,
)
from tangere.collision.distance_field import (
    Grid,
    Single,
    field_value,
    field_value_gradient,
)
from tangere.collision.field_sides import (
    NO_DIRECTION,
    NTURN,
    TURN_DEPTH,
    TURN_NORMAL,
    TURN_STAMP,
    Moving,
    has_stayed_out,
    inherit,
    surface_near,
)
from tangere.collision.point_levels import BULGE, NNODE, REACH, SHARE, STAND_IN, stand_ins
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
from tangere.maths.vec import Array, IntArray, LongArray, Vec3, add, axpy, dot, norm, scale, sub

# A point's error, beside the field's value where its foot should be, in spacings: of trilinear
# values at a sharp edge, the worst place.
EDGE_ERROR = 0.5
STACK = 64  # nodes waiting in the descent of a tree: its depth plus one, 16 for 65,536 points
# A node is answered by its stand-in alone where depth varies by less than this share of itself, by
# its parts alone where it varies twice as much. Depth counts from the tolerance on.
EVEN = 0.4
# Weight of what the field is less even than its gradient says, seen at three of the points.
UNEVEN = 1.0

# Towards the middle of a thin part gradients shorten, and every point has to know its side: nodes
# are resolved between these lengths.
CLEAR, UNCLEAR = 0.9, 0.6
# Thinnest part that a field knows, in spacings: nothing passes through on a shorter way.
THIN = 2.0

# After the points of a shape there is room for where it was in the last query: rows of memory
WAS_TURN = 0  # 12: rotation and position in the other's frame
WAS_STAMP = 12  # number of the query
WAS_BEYOND = 13  # depth of points that went through a thin part of the other and are beyond [m]
ROWS_WAS = 3  # of NTURN numbers each


class Solids(NamedTuple):
    """Fields and points of several shapes, one after the other.

    | field  | meaning                                             | shape            |
    | values | of the blocks of all fields                         | (…,) float32     |
    | tables | numbers of the blocks, of all fields                | (…,) int32       |
    | coarse | distances at the corners of cells, of all fields    | (…,) float32     |
    | grids  | first value, table entry, corner; nx, ny, nz        | (s, 6) int64     |
    | places | origin, spacing, margin of each field               | (s, 5)           |
    | points | of all shapes                                       | (…, NPOINT)      |
    | balls  | of all trees                                        | (…, NBALL)       |
    | links  | of all trees, counted from the shape's own first    | (…, NLINK) int64 |
    | starts | first point, first node                             | (s, 2) int64     |
    | areas  | that one point stands for [m²]                      | (s,)             |
    | nodes  | of all trees: stand-ins, NNODE                      | (…, NNODE)       |
    | was    | row, from the shape's first point, of where it was  | (s,) int64       |
    | even   | depth from which on points press: the tolerance [m] | (1,)             |
    """

    values: Single
    tables: IntArray
    coarse: Single
    grids: LongArray
    places: Array
    points: Array
    balls: Array
    links: LongArray
    starts: LongArray
    areas: Array
    nodes: Array = np.zeros((0, NNODE))
    was: LongArray = np.zeros(0, dtype=np.int64)
    even: Array = np.zeros(1)


def with_stand_ins(solids: Solids, tolerance: float | None) -> Solids:
    """The same with stand-ins behind the points of each shape, and room for where it was.

    Without them every point answers for itself, and what went through a thin part since the last
    query is not known.

    Args:
        solids: Fields and points of all shapes.
        tolerance: Distance from which on contacts press [m]; None: every point is asked for, none
            has a stand-in.
    """
    points: list[Array] = []
    nodes, firsts, was = [], [], []
    ends = np.append(solids.starts[1:], [[len(solids.points), len(solids.balls)]], axis=0)
    for (first, node), (last, past) in zip(solids.starts, ends, strict=True):
        own = solids.points[first:last]
        if tolerance is None:
            extra, rows = own[:0], np.full((past - node, NNODE), -1.0)
        else:
            extra, rows = stand_ins(own, solids.balls[node:past], solids.links[node:past])
        firsts.append(sum(len(p) for p in points))
        was.append(len(own) + len(extra))
        points += [own, extra, np.zeros((ROWS_WAS, NPOINT))]
        nodes.append(rows)
    starts = solids.starts.copy()
    starts[:, 0] = firsts
    return solids._replace(
        points=np.concatenate(points),
        starts=starts,
        nodes=np.concatenate(nodes),
        was=np.array(was, dtype=np.int64),
        even=np.array([tolerance or 0.0]),
    )


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
        _search(s, points, target, (mine, other), memory, (way == 0, solids.even[0]))


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
    _search(s, points, target, (body, placed.poses.shape[0]), 0, (True, solids.even[0]))


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
    nodes: PtrF8
    area: float
    levels: bool  # whether there are stand-ins
    was: int  # row, from the first point, of where the shape was; −1: that is not remembered


@kernel
def points_view(s: Solids, shape: int) -> Points:
    """Points of one shape."""
    first, node = s.starts[shape, 0], s.starts[shape, 1]
    levels = s.was.shape[0] > 0
    return Points(
        off(ptr(s.points), NPOINT * first),
        off(ptr(s.balls), NBALL * node),
        off(ptr(s.links), NLINK * node),
        off(ptr(s.nodes), NNODE * node if levels else 0),
        s.areas[shape],
        levels,
        s.was[shape] if levels else -1,
    )


@kernel
def grid_view(s: Solids, shape: int) -> Grid:
    """Field of one shape."""
    g = off(ptr(s.grids), 6 * shape)
    p = off(ptr(s.places), 5 * shape)
    values, table, coarse = (
        off(ptr(s.values), g[0]),
        off(ptr(s.tables), g[1]),
        off(ptr(s.coarse), g[2]),
    )
    return Grid(values, table, coarse, g[3], g[4], g[5], (p[0], p[1], p[2]), p[3], p[4])


class Motion(NamedTuple):
    """From the frame of the points to that of the field: rotation row by row, position."""

    now: PtrF8
    before: PtrF8  # in the last query
    known: bool  # whether that is known


@kernel
def _search(
    s: Search,
    points: Points,
    target: Target,
    pair: tuple[int, int],
    memory: int,
    how: tuple[bool, float],
) -> None:
    """Contacts of one body's points with a target; how: whether they are the first's, tolerance.

    A ball can be left out when φ(centre) > radius + reach, as |∇φ| ≤ 1; one spacing allows for the
    error of a field. Where bodies moved so far since the last query that points may have gone in
    and out again, or points are beyond a body that they went through, the balls on the way are
    looked at, too. Beyond the budget a node is answered by its middle point.
    """
    now = local_f8(12)
    _relative(off(s.turns, 12 * pair[0]), off(s.turns, 12 * pair[1]), now)
    remembers = points.was >= 0 and not target.flat
    was = off(s.memory, NTURN * (memory + points.was) if remembers else 0)
    known = remembers and was[WAS_STAMP] == s.state[STAMP] - 1
    motion = Motion(now, was, known)
    reach, further = s.reach, 0.0
    if not target.flat:
        reach += target.grid.spacing
        if known:
            travel = _travel(motion, points.balls)
            far = travel > max(s.reach, THIN * target.grid.spacing)
            further = was[WAS_BEYOND] + (travel if far else 0.0)
            reach += further
    stack, shares, heirs = local_i8(STACK), local_f8(STACK), local_i8(STACK)
    stack[0], shares[0], heirs[0] = 0, 1.0, -1
    waiting = 1
    beyond = 0.0
    while waiting > 0:
        waiting -= 1
        node, share, heir = stack[waiting], shares[waiting], heirs[waiting]
        ball, link = off(points.balls, NBALL * node), off(points.links, NLINK * node)
        s.state[VISITED] += 1
        centre = _moved(now, (ball[BALL], ball[BALL + 1], ball[BALL + 2]))
        if _value(target, centre) > ball[BALL + 3] + reach:
            continue
        spent = s.state[VISITED] > s.budget
        first, last = link[FIRST], link[LAST]
        level = off(points.nodes, NNODE * node if points.levels else 0)
        if points.levels and level[STAND_IN] >= 0.0 and not spent:
            row = int(level[STAND_IN])
            if remembers:
                heir = _who_knows(s, points, memory, node, heir)
            side = (memory + heir if heir >= 0 else -1), memory, remembers
            fine, seen = _fineness(s, points, target, now, level, (first, last), (how[1], side))
            if fine < 1.0 and (seen.value < s.reach or further > 0.0):
                place = row, level[SHARE] * share * (1.0 - fine), level[BULGE], heir
                found = _touch(s, points, target, motion, pair, memory, place, seen, how[0])
                beyond = max(beyond, found)
            if fine == 0.0:
                continue
            share *= fine
        if link[LEFT] >= 0 and not spent:
            stack[waiting], shares[waiting], heirs[waiting] = link[RIGHT], share, heir
            waiting += 1
            stack[waiting], shares[waiting], heirs[waiting] = link[LEFT], share, heir
            waiting += 1
            continue
        if spent:
            s.state[TRUNCATED] = 1
            share *= last - first
            first = (first + last) // 2
            last = first + 1
        for i in range(first, last):
            s.state[VISITED] += 1
            seen = _look(points, target, now, i)
            if seen.value < s.reach or further > 0.0:
                place = i, share, 0.0, heir
                found = _touch(s, points, target, motion, pair, memory, place, seen, how[0])
                beyond = max(beyond, found)
    if remembers:
        for k in range(12):
            was[k] = now[k]
        was[WAS_STAMP], was[WAS_BEYOND] = s.state[STAMP], beyond


@kernel
def _fineness(
    s: Search,
    points: Points,
    target: Target,
    now: PtrF8,
    level: PtrF8,
    among: tuple[int, int],
    how: tuple[float, tuple[int, int, bool]],
) -> tuple[float, Seen]:
    """How far a node is to be resolved: 0, its stand-in will do, to 1, its parts are needed.

    It is told by how much depth varies over the node, compared with that at the stand-in, the
    tolerance added: by the slope of the field along the node, by the node's own bulge, and by how
    far three of its points are off what that slope says. Where no point presses nothing depends on
    them. Past the middle of a thin part each point has to know the side that it came from.
    """
    seen = _look(points, target, now, int(level[STAND_IN]))
    room = EVEN * abs(how[0] - seen.value)
    if level[BULGE] >= 2.0 * room:
        return 1.0, seen
    s.state[VISITED] += 1
    row = off(points.points, NPOINT * int(level[STAND_IN]))
    m = turn(now, (row[OUTWARD], row[OUTWARD + 1], row[OUTWARD + 2]))
    slope = target.normal
    if not target.flat:
        _, slope = field_value_gradient(target.grid, seen.at)
        seen = Seen(seen.at, seen.value, slope, True)
        heir, memory, remembers = how[1]
        if remembers and _past_middle(s, slope, heir, (memory + among[0], memory + among[1])):
            return 1.0, seen
    varies = norm(axpy(-dot(slope, m), m, slope)) * level[REACH] + level[BULGE]
    if not target.flat and varies < 2.0 * room:
        off_by = 0.0
        for k in range(3):
            i = among[0] if k == 0 else (among[1] - 1 if k == 1 else (among[0] + among[1]) // 2)
            probe = _look(points, target, now, i)
            expected = seen.value + dot(slope, sub(probe.at, seen.at))
            off_by = max(off_by, abs(probe.value - expected))
        varies += UNEVEN * off_by
    fine = 0.0
    if varies > room:
        fine = min(varies / room - 1.0, 1.0)
    if seen.value < 0.0 and not target.flat:
        fine = max(fine, min((CLEAR - norm(slope)) / (CLEAR - UNCLEAR), 1.0))
    return fine, seen


@kernel
def _who_knows(s: Search, points: Points, memory: int, node: int, heir: int) -> int:
    """Whose side a node and what is below it have, if they know of none themselves: a row.

    That of its stand-in, of its middle point or of the stand-ins below, whichever was looked at in
    the last query, else the one that was handed down; −1: nobody's.
    """
    link = off(points.links, NLINK * node)
    last = s.state[STAMP] - 1
    for k in range(4):
        row = (link[FIRST] + link[LAST]) // 2
        if k != 1:
            at = node if k == 0 else (link[LEFT] if k == 2 else link[RIGHT])
            row = int(points.nodes[NNODE * at + STAND_IN]) if at >= 0 else -1
        if row >= 0 and s.memory[NTURN * (memory + row) + TURN_STAMP] == last:
            return int(row)
    return heir


@kernel
def _past_middle(s: Search, slope: Vec3, heir: int, among: tuple[int, int]) -> bool:
    """Whether the side of anything known in a node is not the nearest any more.

    heir, among: rows of memory, of who knows the side and of the points.
    """
    last = s.state[STAMP] - 1
    for k in range(4):
        row = heir
        if k > 0:
            row = among[0] if k == 1 else (among[1] - 1 if k == 2 else (among[0] + among[1]) // 2)
        memo = off(s.memory, NTURN * max(row, 0))
        if row >= 0 and memo[TURN_STAMP] == last and memo[TURN_DEPTH] > 0.0:
            side = (memo[TURN_NORMAL], memo[TURN_NORMAL + 1], memo[TURN_NORMAL + 2])
            if dot(slope, side) <= NO_DIRECTION * norm(slope):
                return True
    return False


class Seen(NamedTuple):
    """A point in the frame of the field."""

    at: Vec3  # [m]
    value: float  # φ there [m]
    slope: Vec3  # ∇φ
    sloped: bool  # whether that is known


@kernel
def _look(points: Points, target: Target, now: PtrF8, i: int) -> Seen:
    """A point and its distance; its slope where that costs nothing."""
    row = off(points.points, NPOINT * i)
    at = _moved(now, (row[POINT], row[POINT + 1], row[POINT + 2]))
    return Seen(at, _value(target, at), target.normal, target.flat)


@kernel
def _touch(
    s: Search,
    points: Points,
    target: Target,
    motion: Motion,
    pair: tuple[int, int],
    memory: int,
    place: tuple[int, float, float, int],
    seen: Seen,
    of_first: bool,
) -> float:
    """Write the contact of a point, if it is one; returns how deep it is if beyond the body, or 0.

    place: row of the point, how many points it stands for, how far it may be off its surface; whose
    side it has if it knows of none, −1: nobody's.
    """
    i, share, bulge, heir = place
    here, there = off(s.turns, 12 * pair[0]), off(s.turns, 12 * pair[1])
    row = off(points.points, NPOINT * i)
    x = (row[POINT], row[POINT + 1], row[POINT + 2])
    at, value = seen.at, seen.value
    outward = turn(motion.now, (row[OUTWARD], row[OUTWARD + 1], row[OUTWARD + 2]))
    n, depth = target.normal, -value
    if not target.flat:
        before = _moved(motion.before, x) if motion.known else at
        memo = off(s.memory, NTURN * (memory + i))
        if heir >= 0 and memo[TURN_STAMP] != s.state[STAMP] - 1:
            inherit(off(s.memory, NTURN * (memory + heir)), memo, s.state[STAMP])
        point = Moving(at, before, motion.known, outward)
        if value >= s.reach and has_stayed_out(target.grid, point, value, memo, s.state[STAMP]):
            return 0.0
        slope = seen.slope
        if not seen.sloped:
            _, slope = field_value_gradient(target.grid, at)
        near = surface_near(target.grid, point, (value, slope), s.reach, memo, s.state[STAMP])
        n, depth = near
    if depth <= -s.reach:
        return 0.0
    beyond = depth if value > 0.0 and depth > 0.0 else 0.0
    # Surfaces touch where they face each other: a side that only comes close does not
    facing = -dot(n, outward)
    if facing <= 0.0:
        return beyond
    error = bulge
    if not target.flat:
        error += abs(field_value(target.grid, axpy(depth, n, at)))
        error += EDGE_ERROR * target.grid.spacing
    n = turn(there, n)
    p = add(turn(here, x), (here[9], here[10], here[11]))
    if of_first:
        n = scale(-1.0, n)
    else:
        p = axpy(depth, n, p)
    name = i if of_first else -1 - i
    quality = error, facing * share * points.area, s.label, name
    write_contact((s.rows, s.room, s.state), (s.position, s.axes), p, n, depth, quality)
    return beyond


@kernel
def _value(t: Target, x: Vec3) -> float:
    """Signed distance of a point, in the target's frame [m]."""
    if t.flat:
        return dot(t.normal, x) - t.height
    return field_value(t.grid, x)


@kernel
def _relative(here: PtrF8, there: PtrF8, out: PtrF8) -> None:
    """Rotation and position of one placed frame in another."""
    for k in range(3):
        axis = (here[k], here[3 + k], here[6 + k])
        turned = turn_back(there, axis)
        for i in range(3):
            out[3 * i + k] = turned[i]
    way = sub((here[9], here[10], here[11]), (there[9], there[10], there[11]))
    out[9], out[10], out[11] = turn_back(there, way)


@kernel
def _moved(by: PtrF8, x: Vec3) -> Vec3:
    """A point of one frame in another."""
    return add(turn(by, x), (by[9], by[10], by[11]))


@kernel
def _travel(motion: Motion, root: PtrF8) -> float:
    """No point of a body has moved further than this since the last query [m]."""
    centre = (root[BALL], root[BALL + 1], root[BALL + 2])
    way = norm(sub(_moved(motion.now, centre), _moved(motion.before, centre)))
    turned = 0.0
    for k in range(9):
        change = motion.now[k] - motion.before[k]
        turned += change * change
    return float(way + sqrt(turned) * root[BALL + 3])
