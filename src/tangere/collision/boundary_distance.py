"""Signed closest points of two elements of boundaries: points, edges and patches of surfaces.

Any pair with a contact plane is a search over one number. The normals of a surface of revolution
meet its axis, so a convex one is the envelope of balls on its axis, and a torus that of balls on
its circle. Let those of element a have centres c(t) and radii ρ(t), and let g_b(x) be the signed
distance of a point from element b, which has a closed form for every kind (`boundary_elements`);
then

    gap = min over t of φ(t) = g_b(c(t)) − ρ(t),   φ' = n·c' − ρ',   n = ∇g_b

Planes and hollow surfaces are no envelopes of balls inside the solid, but two of them can only meet
at edges. The gap of a patch whose best ball is the last one is that of the circle there, and the
result names it. Between points and edges there is no inside: gaps are not negative, and `facing`
gives them the sign that the caller knows. Patches that cut each other so deeply that they share no
normal have the gap of their limits, which may be positive.
"""

from __future__ import annotations

from math import atan2, inf, isnan, nan
from typing import NamedTuple

from tangere._jit import kernel
from tangere.collision.boundary_elements import (
    INSIDE,
    Element,
    ball_at,
    ball_range,
    distance_from,
    has_balls,
    limit_circle,
    limit_of,
)
from tangere.geometry.boundary import (
    CIRCLE,
    CONE,
    CYLINDER,
    PARABOLOID,
    PLANE,
    POINT,
    SEGMENT,
    SPHERE,
    TORUS,
)
from tangere.maths.vec import Vec3, axpy, dot, scale, sub

# Places between which a search looks for a change of sign of φ'.
INTERVALS = 24
# A slope φ' below this is none: all places in a row of such are equally close.
FLAT = 1e-12
STILL = 1e-3  # share of FLAT at which a search ends
ROUNDS = 100  # halving alone needs 55
# Share of its range by which a search goes from the last place at first.
FIRST_STEP = 1e-3


class Closest(NamedTuple):
    """Closest points of two elements."""

    gap: float
    """(point_a − point_b)·normal [m]; infinite if they have no common tangent plane."""
    point_a: Vec3
    point_b: Vec3
    normal: Vec3
    """Unit, of the contact plane, towards a."""
    limit_a: int
    """INSIDE, or LOW or HIGH: on that end of the element."""
    limit_b: int
    place: float
    """Where the search ended: where it may begin when the bodies have moved on a little."""


@kernel
def closest(a: Element, b: Element, place: float) -> Closest:
    """Closest points of two elements.

    Args:
        a: One element.
        b: The other.
        place: Where the search of the last frame ended, to follow that contact; not a number to
            search all.
    """
    if has_balls(a) and (_order(a) <= _order(b) or not has_balls(b)):
        return _limited(a, b, place)
    if has_balls(b):
        return _swapped(_limited(b, a, place))
    if a.kind == PLANE and b.kind == PLANE and dot(a.z, b.z) < 0.0:
        gap = dot(sub(a.origin, b.origin), b.z)
        return Closest(gap, a.origin, axpy(-gap, b.z, a.origin), b.z, INSIDE, INSIDE, nan)
    return Closest(inf, a.origin, b.origin, b.z, INSIDE, INSIDE, nan)


@kernel
def facing(c: Closest, outward: Vec3) -> Closest:
    """The same closest points with the normal on the side of `outward`, the gap to match.

    Of two edges that have crossed, the nearest points are those of least overlap: with the outward
    normals of b's faces there the gap becomes negative.
    """
    if dot(c.normal, outward) >= 0.0:
        return c
    n = scale(-1.0, c.normal)
    return Closest(-c.gap, c.point_a, c.point_b, n, c.limit_a, c.limit_b, c.place)


@kernel
def _order(e: Element) -> int:
    """Of two elements with balls the lower is searched along.

    A point and a sphere have one ball, a torus turns but once, and the others may be long beside
    what they touch. A zone of a sphere comes last: its one ball knows only the nearest of several
    places.
    """
    if e.kind == SPHERE:
        zone = e.size[1] > -e.size[0] or e.size[2] < e.size[0]
        return PARABOLOID + 2 if zone else POINT
    if e.kind == TORUS and e.size[2] == e.size[3]:
        return SEGMENT
    return e.kind + 1 if e.kind != POINT else POINT


@kernel
def _swapped(c: Closest) -> Closest:
    """The same for b and a."""
    n = scale(-1.0, c.normal)
    return Closest(c.gap, c.point_b, c.point_a, n, c.limit_b, c.limit_a, c.place)


# ---------------------------------------------------------------- search


@kernel
def _gap_at(a: Element, b: Element, t: float) -> tuple[float, float]:
    """Φ(t) and its derivative."""
    centre, radius, way, rate = ball_at(a, t)
    d, n, _ = distance_from(b, centre)
    return d - radius, dot(n, way) - rate


@kernel
def _closest_at(a: Element, b: Element, t: float) -> Closest:
    """Closest points of the ball at t."""
    centre, radius, _, _ = ball_at(a, t)
    d, n, end = distance_from(b, centre)
    point_a, point_b = axpy(-radius, n, centre), axpy(-d, n, centre)
    return Closest(d - radius, point_a, point_b, n, limit_of(a, t, n), end, t)


@kernel
def _limited(a: Element, b: Element, place: float) -> Closest:
    """Closest points of an element with balls and another, limits of the first counted.

    The last ball of a patch goes on beyond its end: there its circle takes over.
    """
    found = _nearest(a, b, place, False)
    if found.limit_a == INSIDE or a.kind == SEGMENT:
        return found
    best = _nearest(a, b, nan, True)
    for end in range(2):
        radius, height = limit_circle(a, end)
        if radius >= 0.0:
            kind = CIRCLE if radius > 0.0 else POINT
            at = axpy(height, a.z, a.origin)
            rim = Element(kind, 1, at, a.x, a.y, a.z, (radius, 0.0, 0.0, 0.0))
            c = _nearest(rim, b, nan, False)
            if c.gap < best.gap:
                best = Closest(c.gap, c.point_a, c.point_b, c.normal, end, c.limit_b, found.place)
    return best


@kernel
def _nearest(a: Element, b: Element, place: float, inside: bool) -> Closest:
    """Closest points of the balls of a and b: every change of sign of φ' is followed to its end.

    Args:
        a: What has balls.
        b: Any other.
        place: To follow that minimum alone; not a number to find the least.
        inside: Only minima inside a; an infinite gap if there are none.
    """
    low, high = ball_range(a)
    t0 = low
    if b.kind == PLANE and b.size[2] != 1.0 and a.kind != PARABOLOID:
        t0 = _lowest(a, b.z, low, high)
        high = t0
    best = _closest_at(a, b, t0)
    least = best.gap if not inside or best.limit_a == INSIDE else inf
    if not high > low:
        return Closest(least, *best[1:])
    if not isnan(place):
        t = _follow(a, b, place, low, high)
        if not isnan(t):
            return _closest_at(a, b, t)
    closed = a.kind in (CIRCLE, TORUS)
    flat = _flat(a)
    gap0, slope0 = _gap_at(a, b, t0)
    flat_from = t0
    if slope0 < -flat:
        least = inf  # only a beginning
    for k in range(1, INTERVALS + 1):
        t1 = low + k * (high - low) / INTERVALS if k < INTERVALS else high
        gap1, slope1 = _gap_at(a, b, t1)
        t = nan
        if abs(slope1) <= flat:
            if abs(slope0) > flat:
                flat_from = t1
            t = 0.5 * (flat_from + t1)
        elif slope0 < -flat and slope1 > 0.0:
            t = _root(a, b, t0, gap0, slope0, t1, gap1, slope1)
        elif k == INTERVALS and not closed and slope1 < 0.0:
            t = t1
        if not isnan(t):
            c = _closest_at(a, b, t)
            if c.gap <= least and (not inside or c.limit_a == INSIDE):
                best, least = c, c.gap
        t0, gap0, slope0 = t1, gap1, slope1
    return Closest(least, *best[1:])


@kernel
def _lowest(a: Element, up: Vec3, low: float, high: float) -> float:
    """Where a circle, torus, or straight element is lowest: φ' changes its sign once, or never."""
    if a.kind in (CIRCLE, TORUS):
        y, x = dot(a.y, up), dot(a.x, up)
        return atan2(-y, -x) if max(abs(y), abs(x)) > FLAT else 0.0
    _, _, way, rate = ball_at(a, low)
    slope = dot(way, up) - rate
    return low if slope > FLAT else high if slope < -FLAT else 0.5 * (low + high)


@kernel
def _flat(a: Element) -> float:
    """Slopes that count as none."""
    return FLAT * a.size[0] if a.kind in (CIRCLE, TORUS) else FLAT


@kernel
def _follow(a: Element, b: Element, place: float, low: float, high: float) -> float:
    """The minimum of φ that is downhill from a place; not a number where there is none near."""
    closed = a.kind in (CIRCLE, TORUS)
    t0 = place if closed else min(high, max(low, place))
    gap0, slope0 = _gap_at(a, b, t0)
    step = FIRST_STEP * (high - low)
    if abs(slope0) <= _flat(a):
        # where the bodies are symmetric, a minimum may have become a maximum since
        for t in (t0 - step, t0 + step):
            beside, slope = _gap_at(a, b, t if closed else min(high, max(low, t)))
            if beside < gap0 and abs(slope) > _flat(a):
                return nan
        return t0
    sign = -1.0 if slope0 > 0.0 else 1.0
    while step < high - low:
        t1 = t0 + sign * step
        if not closed:
            t1 = min(high, max(low, t1))
        if t1 == t0:
            return t0
        gap1, slope1 = _gap_at(a, b, t1)
        if slope1 * slope0 <= 0.0:
            if sign > 0.0:
                return _root(a, b, t0, gap0, slope0, t1, gap1, slope1)
            return _root(a, b, t1, gap1, slope1, t0, gap0, slope0)
        t0, gap0, slope0 = t1, gap1, slope1
        step *= 2.0
    return nan


@kernel
def _root(
    a: Element,
    b: Element,
    low: float,
    gap_low: float,
    slope_low: float,
    high: float,
    gap_high: float,
    slope_high: float,
) -> float:
    """The minimum of φ between places where it falls and rises (Illinois' rule, then halving).

    At a kink or a jump, where φ' does not vanish, the end with the smaller gap.
    """
    last = 0
    weight_low, weight_high = slope_low, slope_high
    for k in range(ROUNDS):
        t = 0.5 * (low + high)
        if not low < t < high:
            break
        if k < ROUNDS // 3:
            t = low - weight_low * (high - low) / (weight_high - weight_low)
            if not low < t < high:
                t = 0.5 * (low + high)
        gap, slope = _gap_at(a, b, t)
        if abs(slope) <= STILL * _flat(a):
            return t
        if slope < 0.0:
            low, gap_low, slope_low, weight_low = t, gap, slope, slope
            weight_high = 0.5 * weight_high if last < 0 else weight_high
            last = -1
        else:
            high, gap_high, slope_high, weight_high = t, gap, slope, slope
            weight_low = 0.5 * weight_low if last > 0 else weight_low
            last = 1
    return low if gap_low <= gap_high else high


@kernel
def contact_line(a: Element, b: Element, c: Closest) -> tuple[Closest, Closest]:
    """Ends of the line along which elements lie side by side, given their closest points.

    The straight line of one of them that is nearest to the other one, as far as both reach; twice
    the closest points where no straight line is in question. How far the gaps at the ends may
    differ is up to the caller.
    """
    if has_balls(a) and (_order(a) <= _order(b) or not has_balls(b)):
        return _line(a, b, c)
    if has_balls(b):
        low, high = _line(b, a, _swapped(c))
        return _swapped(low), _swapped(high)
    return c, c


@kernel
def _line(a: Element, b: Element, c: Closest) -> tuple[Closest, Closest]:
    """Ends of the line, a the element with balls that closest points were sought along."""
    if a.kind not in (SEGMENT, CYLINDER, CONE) or b.kind not in (SEGMENT, PLANE, CYLINDER, CONE):
        return c, c
    if distance_from(b, ball_at(a, c.place)[0])[2] >= 0:
        return c, c
    low, high = ball_range(a)
    return _closest_at(a, b, _reach(a, b, c.place, low)), _closest_at(
        a, b, _reach(a, b, c.place, high)
    )


@kernel
def _reach(a: Element, b: Element, start: float, end: float) -> float:
    """How far from the start to the end balls of a are beside b (by halving)."""
    if distance_from(b, ball_at(a, end)[0])[2] < 0:
        return end
    while True:
        middle = 0.5 * (start + end)
        if middle in (start, end):
            return start
        if distance_from(b, ball_at(a, middle)[0])[2] < 0:
            start = middle
        else:
            end = middle
