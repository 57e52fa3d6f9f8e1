"""The patch of a curved contact: polygons laid out in the contact's own frame.

Facets would be tied to the body and jump as it rolls. Here depth and curvature alone give the
patch, so that nothing changes when a ball turns.

The volume law over the true overlap is linear in the greatest depth δ: F = k V/S = m₁ k δ, with m₁
the mean depth as a share of δ. It is enough to lay polygons whose points all have the depth of the
nearest line of the surface, and whose weight sums to m₁: depth then moves one to one with the
bodies, and ½ m₁ k δ² is the true energy of the springs.

| kind                       | true patch              | m₁  | polygons                       |
| dome (ball, crossed sides) | ellipse, a = √(2δ/κ)    | 1/2 | rectangle of 1.394 a           |
| strip (side on a plane)    | half-width √(2ρδ)       | 2/3 | rectangles of 2/3 of the width |
| flat end                   | disc, or its part below | 1   | polygon of 16 sides            |
| apex of a cone             | circle                  | 1/3 | square                         |

A square of 1.394 a has the friction torque of a parabolic pressure under spin, 8/15 μNa; 2/3 of the
width has that of a line. A polygon that stands for a circle has the circle's area.

One width along a strip: with the true width √(2ρδ(x)) of a tilted one, half of its righting moment
would sit in the layout, outside the solve of an implicit step, and grow from step to step.
"""

from __future__ import annotations

from math import acos, cos, pi, sin, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off
from tangere.collision.solids import (
    CIRCLE,
    LEVEL,
    PLANE,
    POLYGON,
    Face,
    Solid,
    edge_count,
    edge_of,
    face_of,
    generator,
    radius_at,
    slope_of,
    within,
)
from tangere.contact.convex.polygons import (
    L_AREA,
    L_CORNERS,
    L_COUNT,
    L_CURVED,
    L_LIES,
    L_RHO_A,
    L_RHO_B,
    L_ROLL,
    L_SHARE,
    L_SPINS,
    L_T1,
    L_T2,
    L_TILT1,
    L_TILT2,
    Layout,
    begin,
    clear,
    dome,
    half_disc,
    immersed,
    put,
    set_axes,
    tip,
    trapezoid,
)
from tangere.geometry.curve import BALL, CAPSULE, CONE, CYLINDER, HULL
from tangere.maths.vec import Vec3, axpy, basis, cross, dot, norm, scale, sub

RIM = 16  # corners of an end's polygon
# Points of Gauss at which the width of a strip is averaged: 1 % off for a wedge.
GAUSS = (0.21132486540518713, 0.7886751345948129)
STRIP_PARTS, CONE_PARTS = 2, 4  # polygons along a strip
# An edge or corner is as sharp as this, over the size: its patch has hardly any area.
SHARP = 50.0
# What is straight counts as bent by this share of its other curvature, where both are straight.
STRAIGHT = 1e-6
# An axis that leans by less than this has no direction: an end of 1 m then tilts by 0.1 nm [rad].
UPRIGHT = 1e-10
# A cone stands on its apex where less than this share of its side is below the plane.
APEX = 0.05


@kernel
def lay_curved(
    a: Solid,
    b: Solid,
    n: Vec3,
    point: Vec3,
    depth: float,
    moved: float,
    face: int,
    size: float,
    reach: float,
    out: Layout,
) -> None:
    """Lay out the patch of two solids that overlap by `depth` along n, as `meet_solids` found them.

    moved: how much deeper it is laid out. face: see `collision.curved.Contact`. reach: what of a
    strip is above the other surface by less belongs to the patch, with a negative depth, but not to
    its area: it may land within the step.
    """
    clear(n, out)
    if face == 0:
        _smooth(a, b, n, point, depth + moved, size, out)
    elif face > 0:
        _on_face(b, face_of(a, face - 1), n, 1.0, point, depth, moved, size, reach, out)
    else:
        _on_face(a, face_of(b, -face - 1), n, -1.0, point, depth, moved, size, reach, out)


@kernel
def lay_on_floor(
    b: Solid,
    n: Vec3,
    height: float,
    point: Vec3,
    depth: float,
    moved: float,
    size: float,
    reach: float,
    out: Layout,
) -> None:
    """Lay out the patch of a curved solid on a half-space n·x ≤ height; see `lay_curved`."""
    clear(n, out)
    floor = Face(n, height, PLANE, b.hull, 0, point, 0.0)
    _on_face(b, floor, n, 1.0, point, depth, moved, size, reach, out)


# ---------------------------------------------------------------- domes


@kernel
def _smooth(
    a: Solid, b: Solid, n: Vec3, point: Vec3, depth: float, size: float, out: Layout
) -> None:
    """Two curved surfaces, or one and an edge: a dome, or a strip where both are straight."""
    d = out.data
    t1 = (d[L_T1], d[L_T1 + 1], d[L_T1 + 2])
    t2 = (d[L_T2], d[L_T2 + 1], d[L_T2 + 2])
    sharp = SHARP / size
    along_a, across_a, e_a = _curvatures(a, b, n, point, sharp)
    along_b, across_b, e_b = _curvatures(b, a, scale(-1.0, n), point, sharp)
    axx, axy, ayy = _tensor(along_a, across_a, e_a, t1, t2)
    bxx, bxy, byy = _tensor(along_b, across_b, e_b, t1, t2)
    xx, xy, yy = axx + bxx, axy + bxy, ayy + byy
    bent_a = 0.0 if across_a >= sharp else across_a
    bent_b = 0.0 if across_b >= sharp else across_b
    if bent_a > 0.0:
        d[L_RHO_A] = 1.0 / bent_a
    if bent_b > 0.0:
        d[L_RHO_B] = 1.0 / bent_b
    if bent_a + bent_b > 0.0:
        d[L_CURVED], d[L_ROLL] = 1.0, 1.0 / (bent_a + bent_b)
    half = 0.5 * sqrt((xx - yy) ** 2 + 4.0 * xy * xy)
    k1, k2 = 0.5 * (xx + yy) + half, 0.5 * (xx + yy) - half
    straight = _is_straight(a) and _is_straight(b)
    length = 2.0 * min(a.half, b.half)
    if straight and k2 * length * length < 8.0 * depth:
        if _lines(a, b, n, point, depth, bent_a + bent_b, out):
            _set_shares(along_a, across_a, e_a, along_b, across_b, e_b, out)
            return
    # direction of k2, the less curved
    if half > 1e-12 * (xx + yy):
        c, s = xx - k1, xy
        if abs(yy - k1) > abs(c):
            c, s = -xy, -(yy - k1)
        # (K − k1) v = 0 is the direction of k1: v ⟂ (c, s)
        v1, v2 = -s, c
        long = sqrt(v1 * v1 + v2 * v2)
        if long > 0.0:
            v1, v2 = v1 / long, v2 / long
            u1 = axpy(v1, t1, scale(v2, t2))
            set_axes(out, u1, cross(n, u1))
    dome(0.0, 0.0, depth, max(k1, 0.1 / size), max(k2, 0.1 / size), out)
    _set_shares(along_a, across_a, e_a, along_b, across_b, e_b, out)


@kernel
def _tensor(along: float, across: float, e: Vec3, t1: Vec3, t2: Vec3) -> tuple[float, float, float]:
    """Curvature along e eᵀ + across (1 − e eᵀ) over (t1, t2): 11, 12, 22."""
    e1, e2, more = dot(e, t1), dot(e, t2), along - across
    return across + more * e1 * e1, more * e1 * e2, across + more * e2 * e2


@kernel
def _set_shares(
    along_a: float,
    across_a: float,
    e_a: Vec3,
    along_b: float,
    across_b: float,
    e_b: Vec3,
    out: Layout,
) -> None:
    """Share of a's motion in that of the patch: (K_a + K_b)⁻¹ K_a.

    Surfaces keep touching where their normals agree, K_a (x − x_a) + K_b (x − x_b) = 0. Along a
    direction in which neither is bent, as across it.
    """
    d = out.data
    t1 = (d[L_T1], d[L_T1 + 1], d[L_T1 + 2])
    t2 = (d[L_T2], d[L_T2 + 1], d[L_T2 + 2])
    a11, a12, a22 = _tensor(along_a + STRAIGHT * across_a, across_a, e_a, t1, t2)
    b11, b12, b22 = _tensor(along_b + STRAIGHT * across_b, across_b, e_b, t1, t2)
    k11, k12, k22 = a11 + b11, a12 + b12, a22 + b22
    per = 1.0 / (k11 * k22 - k12 * k12)
    d[L_SHARE] = per * (k22 * a11 - k12 * a12)
    d[L_SHARE + 1] = per * (k22 * a12 - k12 * a22)
    d[L_SHARE + 2] = per * (k11 * a12 - k12 * a11)
    d[L_SHARE + 3] = per * (k11 * a22 - k12 * a12)


@kernel
def _moves_with(sign: float, out: Layout) -> None:
    """Let the patch go with the curved body: b if sign is 1, else a."""
    d = out.data
    d[L_CURVED] = 1.0
    if sign < 0.0:
        d[L_SHARE], d[L_SHARE + 3] = 1.0, 1.0


@kernel
def _is_straight(a: Solid) -> bool:
    """Whether a solid has a straight side of one radius."""
    return a.kind in (CYLINDER, CAPSULE)


@kernel
def _curvatures(
    one: Solid, other: Solid, out: Vec3, point: Vec3, sharp: float
) -> tuple[float, float, Vec3]:
    """Curvature along and across a direction in the tangent plane, where the normal is `out`."""
    if one.kind == BALL:
        return 1.0 / one.radius, 1.0 / one.radius, basis(out)[0]
    if one.kind == HULL:  # of a ball on an edge the patch stays what it was on the face
        k = 0.0 if other.kind == BALL else sharp
        return k, k, basis(out)[0]
    way = dot(sub(point, one.centre), one.axis)
    if one.kind == CAPSULE:
        k = 1.0 / one.radius
        if abs(way) >= one.half * (1.0 - 1e-9) and abs(dot(one.axis, out)) > LEVEL:
            return k, k, basis(out)[0]
        return 0.0, k, _flat(one.axis, out)
    sine, cosine = slope_of(one)
    if abs(dot(one.axis, out) - sine) > LEVEL or not radius_at(one, way) > 0.0:
        return sharp, sharp, basis(out)[0]  # rim or apex
    return 0.0, min(sharp, cosine / radius_at(one, way)), _flat(one.axis, out)


@kernel
def _flat(e: Vec3, n: Vec3) -> Vec3:
    """Unit vector of the part of e square to n."""
    v = axpy(-dot(e, n), n, e)
    return scale(1.0 / norm(v), v)


@kernel
def _lines(
    a: Solid, b: Solid, n: Vec3, point: Vec3, depth: float, bent: float, out: Layout
) -> bool:
    """Strip of two straight sides that lie along each other; false if they have no part in common.

    bent: curvature of both together [1/m].
    """
    t1 = _flat(b.axis, n)
    t2 = cross(n, t1)
    d = out.data
    first, last = -1e30, 1e30
    height, slope = 0.0, 0.0  # overlap at x = 0, and its change
    for side in range(2):
        one, sign = (a, 1.0) if side == 0 else (b, -1.0)
        along = dot(one.axis, t1)
        middle = dot(sub(one.centre, point), t1)
        reach = abs(along) * one.half
        first, last = max(first, middle - reach), min(last, middle + reach)
        lean = dot(one.axis, n) / along
        rise = dot(sub(one.centre, point), n) + sign * one.radius - lean * middle
        height += sign * rise
        slope += sign * lean
    # as `meet_solids` found it, at the middle of what they have in common
    if not last > first:
        return False
    most = max(height + slope * first, height + slope * last)
    height += depth - most
    if slope != 0.0:
        zero = -height / slope
        if slope > 0.0:
            first = max(first, zero)
        else:
            last = min(last, zero)
    if not last > first:
        return False
    set_axes(out, t1, t2)
    low, high = max(0.0, height + slope * first), max(0.0, height + slope * last)
    wide = 0.0
    for k in range(2):
        wide += 0.5 * sqrt(2.0 * (low + GAUSS[k] * (high - low)) / bent)
    for k in range(STRIP_PARTS):
        x0 = first + (last - first) * k / STRIP_PARTS
        x1 = first + (last - first) * (k + 1) / STRIP_PARTS
        trapezoid(x0, x1, 0.0, wide, wide, height + slope * x0, height + slope * x1, slope, out)
    d[L_TILT2] = 1.0
    return True


# ---------------------------------------------------------------- on a plane
@kernel
def _on_face(
    b: Solid,
    on: Face,
    n: Vec3,
    sign: float,
    point: Vec3,
    depth: float,
    moved: float,
    size: float,
    reach: float,
    out: Layout,
) -> None:
    """A curved solid on a face. sign 1: the face is a's, its normal n; −1: it is b's, with −n.

    With e the axis, u the normal of the face, s = u·e, c = √(1 − s²) and t1 along e in the plane,
    the lowest line on the side is q + σ e − r(σ) g, g = (u − s e)/c, and lies

        H − u·q − σ s + r(σ) c   deep,   at  x = σ c + r(σ) s.

    A corner ψ of an end's rim, R (−cos ψ g + sin ψ t2) off the end's centre, is R c cos ψ deeper
    than that. ψ runs from the lowest point, not from the body: a spinning disc has no ripple.
    """
    d = out.data
    up = scale(sign, n)
    if b.kind == BALL:
        _ball_on(b, sign, depth + moved, out)
        return
    d[L_SPINS] = 2.0 if sign > 0.0 else 1.0
    s = dot(up, b.axis)
    lean = axpy(-s, up, b.axis)
    c = norm(lean)  # not √(1 − s²), which has half the digits where the axis is upright
    if c > UPRIGHT:
        t1 = scale(1.0 / c, lean)
        set_axes(out, t1, cross(n, t1))
    else:
        c = 0.0
    t1 = (d[L_T1], d[L_T1 + 1], d[L_T1 + 2])
    t2 = (d[L_T2], d[L_T2 + 1], d[L_T2 + 2])
    high = on.offset + moved  # H
    depth += moved
    off1, off2 = dot(sub(b.centre, point), t1), dot(sub(b.centre, point), t2)
    deep = high - dot(up, b.centre)
    if b.kind == CAPSULE:
        _capsule_on(b, on, up, sign, s, c, deep, off1, off2, depth, reach, out)
        return
    # the side
    taper = b.radius / (2.0 * b.half) if b.kind == CONE else 0.0
    d0 = deep + radius_at(b, 0.0) * c
    d1 = -s - taper * c
    first, last = immersed(d0, d1, -b.half, b.half)
    whole = last - first
    at, way = generator(b, up)
    first, last = immersed(d0 + reach, d1, -b.half, b.half)
    d[L_LIES] = 1.0 if last - first >= 2.0 * b.half else 0.0
    first, last = within(on, at, way, first, last)
    if b.kind == CONE and s < 0.0 and d1 > LEVEL and whole < 2.0 * APEX * b.half:
        apex = axpy(b.half, b.axis, b.centre)
        tip(dot(sub(apex, point), t1), dot(sub(apex, point), t2), depth, taper, out)
        return
    middle = 0.0
    if c - taper * s > LEVEL and last > first:  # else it faces up
        middle = _side_on(b, first, last, d0, d1, c, s, off1, off2, out)
    # the lower end
    end = -b.half if s > 0.0 else b.half
    rim_depth = deep - end * s  # of its centre
    flat = abs(s) > LEVEL and rim_depth > -b.radius * c * (1.0 - 1e-12)
    if b.kind == CONE and s < 0.0:
        flat = False
    tilts = flat and rim_depth > 0.0
    if flat:
        _end_on(b, on, point, end, rim_depth, s, c, off1, off2, out)
    d[L_TILT1] = 1.0 if tilts else 0.0
    d[L_TILT2] = 1.0
    if not tilts:
        rho = max(radius_at(b, middle), 1e-3 * b.radius) / max(c, LEVEL)
        d[L_RHO_B if sign > 0.0 else L_RHO_A] = rho
        _moves_with(sign, out)
        d[L_ROLL] = rho
    if not d[L_AREA] > 0.0:  # on a mere point of its rim
        d[L_COUNT], d[L_CORNERS] = 0.0, 0.0
        dome(0.0, 0.0, depth, SHARP / size, SHARP / size, out)


@kernel
def _ball_on(b: Solid, sign: float, depth: float, out: Layout) -> None:
    """A ball on a plane."""
    d = out.data
    k = 1.0 / b.radius
    dome(0.0, 0.0, min(depth, b.radius), k, k, out)
    d[L_RHO_B if sign > 0.0 else L_RHO_A] = b.radius
    _moves_with(sign, out)
    d[L_ROLL] = b.radius


@kernel
def _width(depth: float, radius: float, c: float) -> float:
    """Half-width of the cut through a side, over √r: √(δ (2 − v)/c) with v = δ/(r c)."""
    if not depth > 0.0:
        return 0.0
    v = min(1.0, depth / (radius * c)) if radius * c > 0.0 else 1.0
    return sqrt(depth * (2.0 - v) / c)


@kernel
def _side_on(
    b: Solid,
    first: float,
    last: float,
    d0: float,
    d1: float,
    c: float,
    s: float,
    off1: float,
    off2: float,
    out: Layout,
) -> float:
    """Strip of the side of a cylinder or cone over σ from first to last; middle of its area in σ.

    Along a cone the width grows with the root of the radius, and with nothing else.
    """
    mean = 0.0
    low, high = immersed(d0, d1, first, last)
    for k in range(2):
        way = low + GAUSS[k] * (high - low)
        mean += 0.5 * _width(d0 + d1 * way, radius_at(b, way), c)
    parts = CONE_PARTS if b.kind == CONE else STRIP_PARTS
    if b.kind == CONE:  # trapezoids under a root lack some of its area
        laid = 0.0
        for k in range(parts):
            laid += 0.5 * sqrt(radius_at(b, first + (last - first) * k / parts)) / parts
            laid += 0.5 * sqrt(radius_at(b, first + (last - first) * (k + 1) / parts)) / parts
        r0, r1 = radius_at(b, first), radius_at(b, last)
        mean *= 2.0 / 3.0 * (r0 + sqrt(r0 * r1) + r1) / ((sqrt(r0) + sqrt(r1)) * laid)
    area, moment = 0.0, 0.0
    for k in range(parts):
        s0 = first + (last - first) * k / parts
        s1 = first + (last - first) * (k + 1) / parts
        r0, r1 = radius_at(b, s0), radius_at(b, s1)
        x0, x1 = off1 + s0 * c + r0 * s, off1 + s1 * c + r1 * s
        w0, w1 = mean * sqrt(r0), mean * sqrt(r1)
        e0, e1 = d0 + d1 * s0, d0 + d1 * s1
        slope = (e1 - e0) / (x1 - x0)
        trapezoid(x0, x1, off2, w0, w1, e0, e1, slope, out)
        area += w0 + w1
        moment += (w0 + w1) * 0.5 * (s0 + s1) + (w1 - w0) * (s1 - s0) / 6.0
    return moment / area if area > 0.0 else 0.5 * (first + last)


@kernel
def _end_on(
    b: Solid,
    on: Face,
    point: Vec3,
    end: float,
    rim_depth: float,
    s: float,
    c: float,
    off1: float,
    off2: float,
    out: Layout,
) -> None:
    """The end of a cylinder or the base of a cone, or its part below the plane."""
    whole = rim_depth >= b.radius * c
    most = pi if whole else acos(max(-1.0, -rim_depth / (b.radius * c)))
    corners = RIM if whole else RIM + 1
    step = 2.0 * most / RIM
    # of the same area as the arc; the ends of a part stay where they are, at the water line
    rim = b.radius * sqrt(step / sin(step)) if whole else b.radius
    if not whole and step > 1e-6:
        chord, inner = sin(step), RIM - 2.0
        rim *= (sqrt(chord * chord + inner * RIM * chord * step) - chord) / (inner * chord)
    ring, spare = local_f8(960), local_f8(960)  # 3 MAX_CORNERS
    turn = 1.0 if s > 0.0 else -1.0  # counter-clockwise in (x, y)
    mx = off1 + end * c
    slope = c / s  # depth D + R c cos ψ at x = R s cos ψ
    for k in range(corners):
        psi = turn * (-most + step * k)
        r = b.radius if not whole and k in (0, corners - 1) else rim
        x, y = r * cos(psi) * s, r * sin(psi)
        put(ring, k, mx + x, off2 + y, rim_depth + slope * x)
    d = out.data
    count = _clip_ring(ring, spare, corners, on, point, out)
    if count < 3:
        return
    at = begin(out, count, slope)
    for k in range(count):
        p = off(ring, 3 * k)
        depth = p[2] if not whole else rim_depth + slope * (p[0] - mx)
        put(at, k, p[0], p[1], depth)
    area = 0.0
    for k in range(1, count - 1):
        p, q = off(at, 3 * k), off(at, 3 * k + 3)
        area += 0.5 * ((p[0] - at[0]) * (q[1] - at[1]) - (p[1] - at[1]) * (q[0] - at[0]))
    d[L_AREA] += area


@kernel
def _clip_ring(ring: PtrF8, spare: PtrF8, count: int, on: Face, point: Vec3, out: Layout) -> int:
    """Clip a polygon by the outline of a face (Sutherland–Hodgman); its number of corners."""
    if on.outline == PLANE:
        return count
    d = out.data
    t1 = (d[L_T1], d[L_T1 + 1], d[L_T1 + 2])
    t2 = (d[L_T2], d[L_T2 + 1], d[L_T2 + 2])
    if on.outline == CIRCLE:
        cx, cy = dot(sub(on.centre, point), t1), dot(sub(on.centre, point), t2)
        reach = 0.0
        for k in range(count):
            reach = max(reach, (ring[3 * k] - cx) ** 2 + (ring[3 * k + 1] - cy) ** 2)
        if reach <= on.radius * on.radius * (1.0 + 1e-2):  # inside, as far as polygons go
            return count
        step = 2.0 * pi / RIM
        middle = on.radius * sqrt(step / sin(step)) * cos(0.5 * step)  # distance of the sides
        for k in range(RIM):
            a1, a2 = cos(step * k), sin(step * k)
            count = _clip_side(ring, spare, count, -a1, -a2, middle + a1 * cx + a2 * cy)
        return count
    if on.outline == POLYGON:
        for k in range(edge_count(on)):
            start, edge = edge_of(on, k)
            inward = cross(on.normal, edge)
            size = norm(inward)
            a1, a2 = dot(inward, t1) / size, dot(inward, t2) / size
            a0 = dot(inward, sub(point, start)) / size
            count = _clip_side(ring, spare, count, a1, a2, a0)
    return count


@kernel
def _clip_side(ring: PtrF8, spare: PtrF8, count: int, a1: float, a2: float, a0: float) -> int:
    """Keep the part of a polygon where a0 + a1 x + a2 y is not negative; the corners left."""
    kept = 0
    last = off(ring, 3 * (count - 1)) if count > 0 else ring
    before = a0 + a1 * last[0] + a2 * last[1]
    for k in range(count):
        here = off(ring, 3 * k)
        now = a0 + a1 * here[0] + a2 * here[1]
        if (now > 0.0 and before < 0.0) or (now < 0.0 and before > 0.0):
            t = before / (before - now)
            for q in range(3):
                spare[3 * kept + q] = last[q] + t * (here[q] - last[q])
            kept += 1
        if now >= 0.0:
            for q in range(3):
                spare[3 * kept + q] = here[q]
            kept += 1
        last, before = here, now
    for k in range(3 * kept):
        ring[k] = spare[k]
    return kept


@kernel
def _capsule_on(
    b: Solid,
    on: Face,
    up: Vec3,
    sign: float,
    s: float,
    c: float,
    deep: float,
    off1: float,
    off2: float,
    depth: float,
    reach: float,
    out: Layout,
) -> None:
    """A capsule on a plane: a strip with half discs at its ends, or the disc of the lower ball."""
    d = out.data
    rho = b.radius
    d[L_RHO_B if sign > 0.0 else L_RHO_A] = rho
    _moves_with(sign, out)
    d[L_ROLL] = rho
    d0, d1 = deep + b.radius, -s
    first, last = immersed(d0, d1, -b.half, b.half)
    at, way = generator(b, up)
    first, last = within(on, at, way, first, last)
    depth = min(depth, b.radius)
    low, high = first, last
    first, last = immersed(d0 + reach, d1, -b.half, b.half)
    d[L_LIES] = 1.0 if last - first >= 2.0 * b.half else 0.0
    first, last = within(on, at, way, first, last)
    if c * (last - first) < sqrt(2.0 * b.radius * depth):
        low = -b.half if s > 0.0 else b.half
        if last >= first:
            low = min(last, max(first, low))
        d[L_SPINS] = 0.0
        dome(off1 + low * c, off2, depth, 1.0 / b.radius, 1.0 / b.radius, out)
        return
    wide = 0.0
    for k in range(2):
        wide += 0.5 * _width(d0 + d1 * (low + GAUSS[k] * (high - low)), b.radius, 1.0)
    wide *= sqrt(b.radius)
    slope = d1 / c
    for k in range(STRIP_PARTS):
        s0 = first + (last - first) * k / STRIP_PARTS
        s1 = first + (last - first) * (k + 1) / STRIP_PARTS
        e0, e1 = d0 + d1 * s0, d0 + d1 * s1
        trapezoid(off1 + s0 * c, off1 + s1 * c, off2, wide, wide, e0, e1, slope, out)
    for side in range(2):
        outer, turned = (first, pi) if side == 0 else (last, 0.0)
        here = d0 + d1 * outer
        if abs(outer) >= b.half * (1.0 - 1e-9) and here > 0.0:
            half_disc(off1 + outer * c, off2, sqrt(2.0 * b.radius * here), turned, here, out)
    d[L_TILT2] = 1.0
