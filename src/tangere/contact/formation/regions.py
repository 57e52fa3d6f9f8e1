"""The region of a contact: where its normal force acts, and its friction under even pressure.

Normal force: a line has two Gauss points, a polygon the middles of the edges of the fan of
triangles about the mean of its corners. Both are exact for a pressure that grows evenly along the
region, as it does when A is tilted.

Friction of a region that turns about o, in its plane with even pressure, is known in closed form.
For an edge from p to q let s run along its direction t, h be its distance from o along its outward
normal m, and R = √(h² + s²). The triangle o p q, its area taken negative where h < 0, has

    ∫ e_r dA = ½ [h² arsinh(s/|h|) m + h R t],    ∫ r dA = ⅙ [h s R + h³ arsinh(s/|h|)]

with e_r the direction from o; their sums over all edges hold for o inside and outside, and friction
is −μ p n × e_r at every point. For a line the same with ds: [h arsinh(s/|h|) m + R t] and
½ [s R + h² arsinh(s/|h|)].

Differs from the paper: it lets friction act at the middles of a few lines through o, with shares by
their lengths. That is 25 to 37 % too little torque, and moves the centre of pressure; with weights
∝ R² at 2 R/3 the sum converges to the integrals above.
"""

from __future__ import annotations

from math import inf, log, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.contact.formation.columns import (
    LINE,
    MOST_POINTS,
    PC_COUNT,
    PC_GAP,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_POLYGON_GAP,
    PC_REGION,
    POINT,
    vec,
)
from tangere.maths.vec import Vec3, add, axpy, basis, cross, dot, norm, scale, sub

# Most points of a region, and columns of one: place [m], gap [m], weight
MOST_SPREAD = 2 * MOST_POINTS
PT_GAP, PT_WEIGHT, NPT = 3, 4, 5
GAUSS = 0.5 / sqrt(3.0)  # of a line of length 1, from its middle
# A centre of turning so many sizes away is at infinity: torques err by that share.
FAR_AWAY = 1e3


@kernel
def spread(row: PtrF8, points: PtrF8) -> int:
    """Points of the normal force, their gaps, and weights of sum 1; returns their number."""
    count = int(row[PC_COUNT])
    if row[PC_REGION] == POINT or count < 2:
        _put(points, 0, vec(row, PC_POINT), row[PC_GAP], 1.0)
        return 1
    if row[PC_REGION] == LINE or count < 3:
        p, q = vec(row, PC_POLYGON), vec(row, PC_POLYGON + 3)
        d, e = row[PC_POLYGON_GAP], row[PC_POLYGON_GAP + 1]
        for k in range(2):
            t = 0.5 + (GAUSS if k == 1 else -GAUSS)
            _put(points, k, axpy(t, sub(q, p), p), d + t * (e - d), 0.5)
        return 2
    return _fan(row, count, points)


@kernel
def _fan(row: PtrF8, count: int, points: PtrF8) -> int:
    """Middles of the spokes and of the rim; each triangle gives a third of its area to its three.

    ∫ f = A (f₁₂ + f₂₃ + f₃₁)/3 is exact for f of second degree.
    """
    n = vec(row, PC_NORMAL)
    centre, gap = (0.0, 0.0, 0.0), 0.0
    for i in range(count):
        centre = add(centre, vec(row, PC_POLYGON + 3 * i))
        gap += row[PC_POLYGON_GAP + i]
    centre, gap = scale(1.0 / count, centre), gap / count
    for i in range(count):
        points[NPT * 2 * i + PT_WEIGHT] = 0.0
    total = 0.0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        p, q = vec(row, PC_POLYGON + 3 * i), vec(row, PC_POLYGON + 3 * j)
        area = dot(cross(sub(p, centre), sub(q, centre)), n)
        total += area
        d, e = row[PC_POLYGON_GAP + i], row[PC_POLYGON_GAP + j]
        _put(points, 2 * i + 1, scale(0.5, add(p, q)), 0.5 * (d + e), area)
        share = points[NPT * 2 * i + PT_WEIGHT] + area
        _put(points, 2 * i, scale(0.5, add(p, centre)), 0.5 * (d + gap), share)
        points[NPT * 2 * j + PT_WEIGHT] += area
    if not total > 0.0:
        _put(points, 0, vec(row, PC_POINT), row[PC_GAP], 1.0)
        return 1
    for i in range(2 * count):
        points[NPT * i + PT_WEIGHT] /= 3.0 * total
    return 2 * count


@kernel
def turning_friction(row: PtrF8, size: float, v: Vec3, w: float) -> tuple[Vec3, float]:
    """Mean of −v/|v| over the region, and of its moment about the normal at the centroid [m].

    Args:
        row: The contact.
        size: From the centroid to the farthest point of the region [m].
        v: Velocity of A at the centroid, in the contact plane [m/s].
        w: Turning of A about the normal [rad/s].
    """
    count, speed = int(row[PC_COUNT]), norm(v)
    if count < 2 or speed > FAR_AWAY * size * abs(w) or w == 0.0:
        return scale(-1.0 / speed if speed > 0.0 else 0.0, v), 0.0
    n, here = vec(row, PC_NORMAL), vec(row, PC_POINT)
    o = axpy(1.0 / w, cross(n, v), here)
    x, y = basis(n)
    first = sub(vec(row, PC_POLYGON), o)
    p0, p1 = dot(first, x), dot(first, y)
    r0 = sqrt(p0 * p0 + p1 * p1)
    out0 = out1 = moment = total = 0.0
    edges = count if count > 2 else 1
    for i in range(edges):
        q = sub(vec(row, PC_POLYGON + 3 * (i + 1 if i + 1 < count else 0)), o)
        q0, q1 = dot(q, x), dot(q, y)
        r1 = sqrt(q0 * q0 + q1 * q1)
        t0, t1 = q0 - p0, q1 - p1
        length = sqrt(t0 * t0 + t1 * t1)
        if length > 0.0:
            inverse = 1.0 / length
            t0, t1 = inverse * t0, inverse * t1
            h, s0 = p0 * t1 - p1 * t0, p0 * t0 + p1 * t1
            s1 = s0 + length
            turned = _arsinh(h, s0, s1, r0, r1)
            along, aside, arm = r1 - r0, h * turned, s1 * r1 - s0 * r0 + h * h * turned
            if count > 2:
                along, aside, arm = 0.5 * h * along, 0.5 * h * aside, h * arm / 6.0
                length *= 0.5 * h
            else:
                arm *= 0.5
            # t and the outward normal m = (t₁, −t₀)
            out0 += along * t0 + aside * t1
            out1 += along * t1 - aside * t0
            moment += arm
            total += length
        p0, p1, r0 = q0, q1, r1
    if not total > 0.0:
        return scale(-1.0 / speed if speed > 0.0 else 0.0, v), 0.0
    sense = (-1.0 if w > 0.0 else 1.0) / total
    # n × e_r
    force = axpy(-sense * out1, x, scale(sense * out0, y))
    return force, sense * moment + dot(n, cross(sub(o, here), force))


@kernel
def _arsinh(h: float, s0: float, s1: float, r0: float, r1: float) -> float:
    """The difference arsinh(s₁/|h|) − arsinh(s₀/|h|); 0 for h = 0, where it is not needed."""
    if h == 0.0:
        return 0.0
    # the form whose sums do not cancel
    if s0 + s1 >= 0.0:
        below = r0 + s0 if s0 > 0.0 else h * h / (r0 - s0)
        return log((r1 + s1) / below)
    below = r1 - s1 if s1 < 0.0 else h * h / (r1 + s1)
    return log((r0 - s0) / below)


@kernel
def from_region(p: Vec3, row: PtrF8) -> float:
    """Distance of a point from a region: a point, a segment, or a convex polygon [m]."""
    count = int(row[PC_COUNT])
    n = vec(row, PC_NORMAL)
    inside, least, height = count > 2, inf, 0.0
    for i in range(count):
        q = vec(row, PC_POLYGON + 3 * i)
        edge = sub(vec(row, PC_POLYGON + 3 * (i + 1 if i + 1 < count else 0)), q)
        way = sub(p, q)
        length2 = dot(edge, edge)
        t = min(1.0, max(0.0, dot(way, edge) / length2)) if length2 > 0.0 else 0.0
        left = axpy(-t, edge, way)
        least = min(least, dot(left, left))
        height = abs(dot(n, way))
        if dot(cross(edge, way), n) < 0.0:
            inside = False
    return height if inside else sqrt(least)


@kernel
def _put(points: PtrF8, i: int, p: Vec3, gap: float, weight: float) -> None:
    """Point i."""
    k = NPT * i
    points[k], points[k + 1], points[k + 2] = p[0], p[1], p[2]
    points[k + PT_GAP], points[k + PT_WEIGHT] = gap, weight
