"""Pairs of features of a triangle surface and a curved solid that are close.

The signed distance d to a ball, capsule, cylinder or cone is exact, and convex as the solid is.
A vertex is a pair wherever it is within reach. An edge is one where d has its minimum inside it,
and a face below the points that the solid would rest on: a minimum at the end of an edge belongs to
the vertex, one at the border of a face to the edge.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, local_i4, off
from tangere.collision.contact_points import RIM, STEEP
from tangere.collision.feature_pairs import (
    COUNT,
    EDGE_SOLID,
    FACE_SOLID,
    FACING,
    VERTEX_SOLID,
    A,
    B,
    FeaturePairs,
    Limits,
    new_row,
    set_normal,
    set_side,
    vertex_can_touch,
)
from tangere.collision.proximity import FIRST, LAST, TOUCHING
from tangere.collision.solids import Solid, generator, slope_of, support_point, top
from tangere.collision.surface_queries import begin_walk, descend, is_outside, next_node
from tangere.collision.surfaces import (
    Surfaces,
    corners,
    edge_normal,
    triangle_normal,
    unit_or_zero,
    vertex_at,
)
from tangere.geometry.curve import BALL, CAPSULE, CONE, CYLINDER
from tangere.maths.vec import Vec3, axpy, basis, cross, dot, norm, scale, sub

# Nearer than this share of the radius to an apex or a rim, a point is at it: whatever its rounding,
# it has the normal in the middle of those around.
SHARP = 1e-9
SMALLEST = 1e-300  # nothing is divided by less
# Points of a solid on one face, and so the numbers of a solid in keys: the most of `_resting`.
MAX_RESTING = 8
# An edge counts if it comes nearer inside than at its ends by more than this [m]; else they do.
LOWER = 1e-6
# An edge that runs along a solid for a greater share of its length than this has two points.
ALONG = 0.02
# Slopes of the distance along an edge below this are none: it runs along the solid.
LEVEL = 1e-6
ROUNDS = 60  # of a search along an edge; halving alone needs fewer
# A normal within this (sine) of that of a round side belongs to it.
LEVEL_SIDE = 1e-3


# ---------------------------------------------------------------- signed distance


@kernel
def solid_distance(a: Solid, x: Vec3) -> tuple[float, Vec3]:
    """Signed distance of a point from a curved solid [m], negative inside, and its gradient.

    The gradient is the unit normal of the surface at the nearest point. Where there are several
    (on an axis, in a centre) it is that of one of them, where there is none (at an apex or a rim)
    the middle of those around.
    """
    q = sub(x, a.centre)
    z = dot(q, a.axis)
    out = axpy(-z, a.axis, q)
    out = axpy(-dot(out, a.axis), a.axis, out)  # twice: near the axis only rounding is left
    r = norm(out)
    radial = scale(1.0 / r, out) if r > 1e-15 * abs(z) else basis(a.axis)[0]
    if a.kind in (BALL, CAPSULE):
        over = z - min(a.half, max(-a.half, z))
        size = _length(over, r)
        if not size > 1e-15 * abs(z):
            return size - a.radius, radial
        return size - a.radius, axpy(over / size, a.axis, scale(r / size, radial))
    if a.kind == CYLINDER:
        d, along, across = _from_end(abs(z) - a.half, r - a.radius, SHARP * a.radius)
        along = along if z >= 0.0 else -along
    else:
        d, along, across = _from_cone(a, z, r)
    return d, axpy(along, a.axis, scale(across, radial))


@kernel
def _length(u: float, v: float) -> float:
    """√(u² + v²), a third of the time of `hypot`, which guards against overflow."""
    return sqrt(u * u + v * v)


@kernel
def _from_end(u: float, v: float, sharp: float) -> tuple[float, float, float]:
    """Signed distance from the quadrant u ≤ 0, v ≤ 0 of a plane, and its gradient."""
    d = _length(u, v) if u > 0.0 and v > 0.0 else max(u, v)
    if abs(u) <= sharp and abs(v) <= sharp:
        return d, sqrt(0.5), sqrt(0.5)
    if u > 0.0 and v > 0.0:
        return d, u / d, v / d
    return (d, 1.0, 0.0) if u > v else (d, 0.0, 1.0)


@kernel
def _from_cone(a: Solid, z: float, r: float) -> tuple[float, float, float]:
    """Signed distance from a cone at z along and r off its axis; its gradient along and across."""
    s, c = slope_of(a)
    base, side = -a.half - z, s * (z - a.half) + c * r
    # along the side: 0 at the rim, its length at the apex
    at = c * (z + a.half) - s * (r - a.radius)
    from_apex = max(SMALLEST, _length(z - a.half, r))
    from_rim = max(SMALLEST, _length(base, r - a.radius))
    inside = max(base, side) <= 0.0
    if not inside and at >= _length(2.0 * a.half, a.radius):
        d, along, across = from_apex, (z - a.half) / from_apex, r / from_apex
    elif side > 0.0 and at > 0.0:
        d, along, across = side, s, c
    elif base > 0.0 and r <= a.radius:
        d, along, across = base, -1.0, 0.0
    elif inside:
        d, along, across = (base, -1.0, 0.0) if base > side else (side, s, c)
    else:
        d, along, across = from_rim, -base / from_rim, (r - a.radius) / from_rim
    if from_apex <= SHARP * a.radius:
        return d, 1.0, 0.0
    if from_rim <= SHARP * a.radius:
        size = _length(s - 1.0, c)
        return d, (s - 1.0) / size, c / size
    return d, along, across


# ---------------------------------------------------------------- pairs


@kernel
def solid_pairs(
    s: Surfaces, a: int, b: Solid, number: int, limits: Limits, out: FeaturePairs
) -> int:
    """Append the pairs of surface a and a curved solid b; returns their number.

    In the keys MAX_RESTING · number is the feature of b, plus the number of its point on one edge
    or face. The distance to a box is at least that of its centre less half its diagonal.
    """
    before = out.filled[COUNT]
    first = MAX_RESTING * number
    pending = local_i4(33)  # STACK + 1
    begin_walk(s.node_start[a], pending)
    node = next_node(pending)
    while node >= 0:
        box = off(s.node_box, 6 * node)
        centre = (0.5 * (box[0] + box[3]), 0.5 * (box[1] + box[4]), 0.5 * (box[2] + box[5]))
        half = norm(sub((box[3], box[4], box[5]), centre))
        d, _ = solid_distance(b, centre)
        within = d - half <= limits.reach and d + half >= -limits.depth
        if within and not descend(s, node, pending):
            for at in range(s.node_vertex[node], s.node_vertex[node + 1]):
                _vertex_on_solid(s, s.leaf_vertices[at], b, first, limits, out)
            for at in range(s.node_edge[node], s.node_edge[node + 1]):
                _edge_on_solid(s, s.leaf_edges[at], b, first, limits, out)
            for at in range(s.node_first[node], s.node_first[node + 1]):
                _face_on_solid(s, a, s.leaf_triangles[at], b, first, limits, out)
        node = next_node(pending)
    return int(out.filled[COUNT] - before)


@kernel
def _vertex_on_solid(
    s: Surfaces, v: int, b: Solid, number: int, limits: Limits, out: FeaturePairs
) -> None:
    """Append the pair of a vertex and a solid if it is within the limits."""
    x = vertex_at(s, v)
    d, g = solid_distance(b, x)
    if not -limits.depth <= d <= limits.reach or not vertex_can_touch(s, v, scale(-1.0, g)):
        return
    row = new_row(out, VERTEX_SOLID, v, number)
    if row >= 0:
        set_side(out, row, A, v, -1, -1, (1.0, 0.0, 0.0), x)
        _set_solid(out, row, x, d, g)


@kernel
def _set_solid(out: FeaturePairs, row: int, x: Vec3, d: float, g: Vec3) -> None:
    """Fill side b of a row: the point of the solid nearest to x, and the normal."""
    set_side(out, row, B, -1, -1, -1, (0.0, 0.0, 0.0), axpy(-d, g, x))
    set_normal(out, row, scale(-1.0, g))


# ---------------------------------------------------------------- edges


@kernel
def _edge_on_solid(
    s: Surfaces, e: int, b: Solid, number: int, limits: Limits, out: FeaturePairs
) -> None:
    """Append the pair of an edge and a solid where it is nearest; two where it runs along it."""
    ends = off(s.edges, 2 * e)
    x = vertex_at(s, ends[0])
    way = sub(vertex_at(s, ends[1]), x)
    length = norm(way)
    d0, g0 = solid_distance(b, x)
    d1, g1 = solid_distance(b, vertex_at(s, ends[1]))
    slope0, slope1 = dot(g0, way), dot(g1, way)
    if slope0 >= -LEVEL * length or slope1 <= LEVEL * length:
        return
    # the distance is convex: nowhere below where the tangents at the ends meet
    meet = (d1 - d0 - slope1) / (slope0 - slope1)
    least = d0 + meet * slope0
    if least > limits.reach or min(d0, d1) - least <= LOWER:
        return
    first, last = _nearest(b, x, way, length)
    for k in range(2 if last - first > ALONG else 1):
        t = first if k == 0 else last
        if not FIRST <= t <= LAST:
            continue
        p = axpy(t, way, x)
        d, g = solid_distance(b, p)
        if not -limits.depth <= d <= limits.reach or min(d0, d1) - d <= LOWER:
            continue
        if not _edge_faces(s, e, scale(-1.0, g)):
            continue
        row = new_row(out, EDGE_SOLID, e, number + k)
        if row >= 0:
            set_side(out, row, A, ends[0], ends[1], -1, (1.0 - t, t, 0.0), p)
            _set_solid(out, row, p, d, g)


@kernel
def _edge_faces(s: Surfaces, e: int, n: Vec3) -> bool:
    """Whether a surface looks along n at one of its edges, see `FACING`."""
    sides = off(s.edge_triangles, 2 * e)
    if dot(triangle_normal(s, sides[0]), n) > FACING:
        return True
    if sides[1] >= 0 and dot(triangle_normal(s, sides[1]), n) > FACING:
        return True
    return dot(edge_normal(s, e), n) > FACING


@kernel
def _nearest(b: Solid, x: Vec3, way: Vec3, length: float) -> tuple[float, float]:
    """First and last share of an edge at which a solid is nearest, between its ends.

    The slope of the distance rises from negative to positive: false position, halved where that is
    slow, finds where it is none; where it is none over a length, both ends are sought by halving.
    """
    level = LEVEL * length
    low, high = 0.0, 1.0
    below, above = _slope(b, x, way, low), _slope(b, x, way, high)
    t = 0.5
    for k in range(ROUNDS):
        t = low + (high - low) * below / (below - above) if k % 3 != 2 else 0.5 * (low + high)
        slope = _slope(b, x, way, t)
        if abs(slope) <= level:
            break
        if slope < 0.0:
            low, below = t, slope
        else:
            high, above = t, slope
        if high - low < 1e-12:
            return t, t
    first, last = t, t
    step = 0.5 * ALONG
    if t - step > low and _slope(b, x, way, t - step) >= -level:
        end = t
        for _ in range(40):
            first = 0.5 * (low + end)
            if _slope(b, x, way, first) < -level:
                low = first
            else:
                end = first
    if t + step < high and _slope(b, x, way, t + step) <= level:
        end = t
        for _ in range(40):
            last = 0.5 * (high + end)
            if _slope(b, x, way, last) > level:
                high = last
            else:
                end = last
    return first, last


@kernel
def _slope(b: Solid, x: Vec3, way: Vec3, t: float) -> float:
    """Slope of the distance along an edge at a share of its length [m]."""
    _, g = solid_distance(b, axpy(t, way, x))
    return dot(g, way)


# ---------------------------------------------------------------- faces


@kernel
def _face_on_solid(
    s: Surfaces, a: int, t: int, b: Solid, number: int, limits: Limits, out: FeaturePairs
) -> None:
    """Append the pairs of face t of surface a and the points of a solid that would rest on it."""
    p, q, r = corners(s, t)
    m = cross(sub(q, p), sub(r, p))
    size = norm(m)
    if not size > 0.0:
        return
    n = scale(1.0 / size, m)
    offset = dot(n, p)
    # it is above the face by no more than the reach, and not all of it is behind
    if -top(b, scale(-1.0, n)) - offset > limits.reach or top(b, n) < offset:
        return
    points = local_f8(24)  # 3 * MAX_RESTING
    count = _resting(b, n, points)
    nodes = off(s.triangles, 3 * t)
    for k in range(count):
        x = (points[3 * k], points[3 * k + 1], points[3 * k + 2])
        gap = dot(n, x) - offset
        if not -limits.depth <= gap <= limits.reach:
            continue
        foot = axpy(-gap, n, x)
        u = dot(n, cross(sub(r, q), sub(foot, q))) / size
        v = dot(n, cross(sub(p, r), sub(foot, r))) / size
        w = 1.0 - u - v
        # behind a face it may be in front of the next one, around a sharp edge
        if min(u, v, w) < FIRST or (gap < -TOUCHING and is_outside(s, a, x)):
            continue
        row = new_row(out, FACE_SOLID, t, number + k)
        if row >= 0:
            set_side(out, row, A, nodes[0], nodes[1], nodes[2], (u, v, w), foot)
            set_side(out, row, B, -1, -1, -1, (0.0, 0.0, 0.0), x)
            set_normal(out, row, n)


@kernel
def _resting(b: Solid, n: Vec3, points: PtrF8) -> int:
    """Points on which a solid would rest on a plane with normal n; returns their number.

    A ball has its lowest point, what lies both ends of its lowest line, what stands points on its
    rim, the lowest among them, a cone on its apex just that.
    """
    down = scale(-1.0, n)
    if b.kind == BALL:
        return _add(points, 0, support_point(b, down))
    at, way = generator(b, n)
    if b.kind == CAPSULE:
        # the lower end hangs down from its centre, the upper one square to the axis
        low, high = (-b.half, b.half) if dot(n, b.axis) > 0.0 else (b.half, -b.half)
        count = _add(points, 0, axpy(low, way, at))
        sag = unit_or_zero(axpy(-dot(n, b.axis), b.axis, n))
        if dot(sag, sag) == 0.0:  # upright: there is no other end
            return count
        return _add(points, count, axpy(high, b.axis, axpy(-b.radius, sag, b.centre)))
    if abs(dot(way, n)) < STEEP * norm(way):
        count = _add(points, 0, axpy(-b.half, way, at))
        return _add(points, count, axpy(b.half, way, at))
    along = dot(n, b.axis)
    if b.kind == CONE and along < 0.0:
        return _add(points, 0, axpy(b.half, b.axis, b.centre))
    centre = axpy(-b.half if along > 0.0 else b.half, b.axis, b.centre)
    lean = axpy(along, b.axis, down)
    size = norm(lean)
    t1 = scale(1.0 / size, lean) if size > 1e-9 else basis(b.axis)[0]
    t2 = cross(b.axis, t1)
    count = 0
    for k in range(RIM):
        c, s = cos(2.0 * pi * k / RIM), sin(2.0 * pi * k / RIM)
        count = _add(points, count, axpy(b.radius * c, t1, axpy(b.radius * s, t2, centre)))
    return count


@kernel
def _add(points: PtrF8, count: int, p: Vec3) -> int:
    """Append a point; returns the new number."""
    points[3 * count], points[3 * count + 1], points[3 * count + 2] = p
    return count + 1


# ---------------------------------------------------------------- curvature


@kernel
def curvature_at(a: Solid, x: Vec3, n: Vec3) -> tuple[float, Vec3]:
    """Curvature κ of a solid's surface near x [1/m], and the direction e in which it is straight.

    The Hessian of the distance is κ (1 − n nᵀ − e eᵀ) on round sides, where n is the normal; e is
    zero for a ball. On flat ends, and at rims and apexes, where it jumps, κ is zero.
    """
    q = sub(x, a.centre)
    z = dot(q, a.axis)
    across = norm(axpy(-z, a.axis, q))
    level = abs(dot(n, a.axis))
    none = (0.0, 0.0, 0.0)
    if a.kind == BALL or (a.kind == CAPSULE and abs(z) > a.half):
        return 1.0 / a.radius, none
    if a.kind in (CAPSULE, CYLINDER):
        if level > LEVEL_SIDE or across < 0.5 * a.radius:
            return 0.0, none
        return 1.0 / max(a.radius, across), a.axis
    s, c = slope_of(a)
    if abs(level - s) > LEVEL_SIDE or across < 0.1 * a.radius:
        return 0.0, none
    # along the generator, square to the normal
    e = axpy(-dot(a.axis, n), n, a.axis)
    return c / across, scale(1.0 / norm(e), e)
