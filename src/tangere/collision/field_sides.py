"""On which side of a body a point of another one is, where its distance field cannot tell.

Past the middle of a thin part the nearest surface is the far one, and its normal points the wrong
way. A point that was inside keeps the side that it had in the last query; one that was outside, and
went in since, has that of the surface which it went through. Its depth is then the way back to that
side. As long as the body is between the point and its side the side is kept, even beyond the body.
"""

from __future__ import annotations

from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.collision.distance_field import (
    Grid,
    field_gradient,
    field_value,
)
from tangere.maths.vec import Vec3, axpy, dot, norm, scale, sub

# Below this length the smoothed gradient tells no direction: the point lies on the medial axis.
NO_DIRECTION = 0.1
# Trilinear values cut the ridge in the middle of a thin part by up to this share of a spacing. The
# gradient shortens towards it; from this length on what is lost is given back, bit by bit, so that
# nothing jumps where the way back to the side takes the place of the nearest distance.
SHORT = 0.7
RIDGE = 0.5
# Marching along a line: a step is the distance to the surface and at least this share of a spacing.
STEP = 0.05
STEPS = 64

# Columns of what is remembered of a point: the normal of its side, in the field's frame, its depth
TURN_NORMAL = 0  # 3
TURN_DEPTH = 3  # [m]
TURN_STAMP = 4  # number of the query
NTURN = 5


class Moving(NamedTuple):
    """A point in the frame of a field, and how it got there."""

    at: Vec3  # [m]
    before: Vec3  # where it was in the last query [m]
    known: bool  # whether that is known
    outward: Vec3  # normal of its own surface


class Near(NamedTuple):
    """The surface of a field that a point touches."""

    normal: Vec3  # outward
    depth: float  # of the point below it, along the normal [m]


@kernel
def surface_near(
    grid: Grid,
    point: Moving,
    here: tuple[float, Vec3],
    reach: float,
    memo: PtrF8,
    stamp: int,
) -> Near:
    """The surface that a point touches: the nearest one, or that of the side it came from.

    here: φ and its gradient there. memo: TURN_… of the point; stamp: number of this query. Out of
    reach the depth is −reach, and nothing is remembered.
    """
    value, slope = here
    remembered = memo[TURN_STAMP] == stamp - 1
    was_in = remembered and memo[TURN_DEPTH] > 0.0
    length = norm(slope)
    n = scale(-1.0, point.outward)  # unknown on the medial axis: away from the point's own side
    if length > NO_DIRECTION:
        n = scale(1.0 / length, slope)
    depth = -value
    side = (memo[TURN_NORMAL], memo[TURN_NORMAL + 1], memo[TURN_NORMAL + 2])
    limit = grid.spacing
    if point.known:
        limit += norm(sub(point.at, point.before))
    if was_in:
        limit += memo[TURN_DEPTH]
    elif not remembered or dot(slope, side) <= NO_DIRECTION * length:
        # nothing tells that what is nearest now was nearest before
        if value < 0.0 or not has_stayed_out(grid, point, value, memo, stamp):
            was_in, side = _side_it_came_through(grid, point, n)
    back = 0.0
    if was_in and (dot(slope, side) <= NO_DIRECTION * length or length <= NO_DIRECTION):
        back = _way_back(grid, point.at, side, value, limit)
        if back > 0.0:
            n, depth = side, back
        elif length <= NO_DIRECTION:
            n = side
    if back == 0.0 and value < 0.0 and NO_DIRECTION < length < SHORT:
        ridge = RIDGE * grid.spacing
        lost = _way_back(grid, point.at, n, value, depth + 2.0 * ridge) - depth
        # more than that is no ridge but a wedge
        lost = max(min(lost, 2.0 * ridge - lost), 0.0)
        inside = min(max(-2.0 * value / grid.spacing - 2.0, 0.0), 1.0)  # ridges are two deep
        depth += lost * inside * min(1.0, (SHORT - length) / (SHORT - NO_DIRECTION))
    if depth <= -reach:
        return Near(n, -reach)
    memo[TURN_NORMAL], memo[TURN_NORMAL + 1], memo[TURN_NORMAL + 2] = n
    memo[TURN_DEPTH] = depth
    memo[TURN_STAMP] = stamp
    return Near(n, depth)


@kernel
def inherit(whose: PtrF8, memo: PtrF8, stamp: int) -> None:
    """Remember of a point, as from the last query, what is known of another one near it."""
    for k in range(TURN_STAMP):
        memo[k] = whose[k]
    memo[TURN_STAMP] = stamp - 1


@kernel
def has_stayed_out(grid: Grid, point: Moving, value: float, memo: PtrF8, stamp: int) -> bool:
    """Whether a point outside was so before, and its way too short to go in and out again."""
    if memo[TURN_STAMP] == stamp - 1 and memo[TURN_DEPTH] > 0.0:
        return False
    if not point.known:
        return True
    way = norm(sub(point.at, point.before))
    return way <= value or way <= value + field_value(grid, point.before)


@kernel
def _side_it_came_through(grid: Grid, point: Moving, n: Vec3) -> tuple[bool, Vec3]:
    """Whether a point went into the body since the last query, and the normal where it did."""
    if not point.known:
        return False, n
    way = sub(point.at, point.before)
    length = norm(way)
    if length == 0.0 or field_value(grid, point.before) < -STEP * grid.spacing:
        return False, n
    direction = scale(1.0 / length, way)
    along = _march(grid, point.before, direction, length, 1.0)
    if along >= length:
        return False, n
    slope = field_gradient(grid, axpy(along, direction, point.before))
    size = norm(slope)
    # a way that only grazes the surface tells no side
    if size <= NO_DIRECTION or dot(slope, direction) >= 0.0:
        return False, n
    return True, scale(1.0 / size, slope)


@kernel
def _way_back(grid: Grid, x: Vec3, side: Vec3, value: float, limit: float) -> float:
    """How far the surface on a side is from a point inside, or beyond the body [m].

    0: further than the limit, as for a point that has left the body another way.
    """
    start = 0.0
    if value >= 0.0:
        start = _march(grid, x, side, limit, 1.0)
        if start >= limit:
            return 0.0
        start += STEP * grid.spacing
    back = start + _march(grid, axpy(start, side, x), side, limit - start, -1.0)
    return back if back < limit else 0.0


@kernel
def _march(grid: Grid, x: Vec3, direction: Vec3, length: float, sign: float) -> float:
    """Way along a line until sign · φ is no longer positive, at most `length` [m]."""
    along, step = 0.0, 0.0
    before = 0.0
    for _ in range(STEPS):
        value = sign * field_value(grid, axpy(along, direction, x))
        if value <= 0.0:
            # between the last two places
            return along - step * value / (value - before) if before > 0.0 else along
        if along >= length:
            return length
        step = max(value, STEP * grid.spacing)
        step = min(step, length - along)
        along += step
        before = value
    return length
