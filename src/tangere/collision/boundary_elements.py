"""Elements of boundaries in the world: distance of a point, and the balls that they envelop.

Closed forms, with (r, z) about the axis of an element:

| kind       | c(t)                  | ρ(t)           | g_b(x) at x = (r, z) about the axis        |
| point      | p                     | 0              | |x − p|                                    |
| segment    | p + t e, |t| ≤ h      | 0              | to the nearest point                       |
| circle     | R about the axis      | 0              | √((r − R)² + z²)                           |
| plane      | none                  |                | z                                          |
| sphere     | p                     | R              | ±(|x| − R)                                 |
| cylinder   | p + t e, |t| ≤ h      | R              | ±(r − R)                                   |
| cone       | p + t e               | t sin β        | ±(r cos β − z sin β)                       |
| torus      | R about the axis      | tube           | ±(√((r − R)² + z²) − tube)                 |
| paraboloid | p + t e               | 2 √(f (t − f)) | foot: r'³/8f² + r' (1 − z/2f) = r          |

The minus holds for surfaces that are hollow seen from outside: bores and bowls. A patch is limited
by circles. Where no normal of it passes through x, g(x) is the distance from the nearest of these,
which is never negative, and the result names it.
"""

from __future__ import annotations

from math import atan2, cos, inf, pi, sin, sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8
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
from tangere.maths.quat import turn
from tangere.maths.vec import Vec3, add, axpy, dot, norm, scale, sub

INSIDE = -1  # the closest point is inside the element, not on what bounds it
LOW, HIGH = 0, 1  # lower or upper end of an element; outer or inner circle of a flat ring
# Beyond the limit of a patch by less than this share of its size is on it: rounding.
ON_LIMIT = 1e-12
NOTHING = 1e-140  # lengths whose squares may vanish
ROUNDS = 100  # of Newton's method; a dozen are enough


class Element(NamedTuple):
    """One element in the world; see `geometry.boundary.Elements` for kinds and sizes."""

    kind: int
    side: int
    origin: Vec3
    x: Vec3
    y: Vec3
    z: Vec3
    size: tuple[float, float, float, float]


@kernel
def element(kind: int, side: int, frame: PtrF8, size: PtrF8, r: PtrF8, p: PtrF8) -> Element:
    """An element of a boundary, its body turned by the matrix r and moved by p.

    Args:
        kind: Of the element.
        side: Of the element.
        frame: Its 12 numbers.
        size: Its 4 numbers.
        r: Rotation of the body, row by row.
        p: Position of the body [m].
    """
    origin = add((p[0], p[1], p[2]), turn(r, (frame[3], frame[7], frame[11])))
    x = turn(r, (frame[0], frame[4], frame[8]))
    y = turn(r, (frame[1], frame[5], frame[9]))
    z = turn(r, (frame[2], frame[6], frame[10]))
    return Element(int(kind), int(side), origin, x, y, z, (size[0], size[1], size[2], size[3]))


@kernel
def has_balls(e: Element) -> bool:
    """Whether an element is an envelope of balls within the solid, or a point or edge."""
    return e.kind <= CIRCLE or (e.kind != PLANE and e.side > 0)


# ---------------------------------------------------------------- distance of a point


@kernel
def distance_from(b: Element, x: Vec3) -> tuple[float, Vec3, int]:
    """Signed distance of a point from an element, its gradient, and which end is nearest, if any.

    Where the gradient is not unique (on an axis, in a centre) it is one of those possible.
    """
    q = sub(x, b.origin)
    if b.kind == POINT:
        d = norm(q)
        return d, (scale(1.0 / d, q) if d > NOTHING else b.z), INSIDE
    z = dot(q, b.z)
    if b.kind == SEGMENT:
        h = b.size[0]
        end = LOW if z < -h else HIGH if z > h else INSIDE
        q = axpy(-min(h, max(-h, z)), b.z, q)
        if end == INSIDE:
            q = axpy(-dot(q, b.z), b.z, q)  # twice: near the line only rounding is left
        d = norm(q)
        return d, (scale(1.0 / d, q) if d > max(NOTHING, 1e-15 * abs(z)) else b.x), end
    u, v = dot(q, b.x), dot(q, b.y)
    r = sqrt(u * u + v * v)
    c, s = (u / r, v / r) if r > NOTHING else (1.0, 0.0)
    d, out, up, end = _in_half_plane(b, r, z)
    return d, axpy(out * c, b.x, axpy(out * s, b.y, scale(up, b.z))), end


@kernel
def _in_half_plane(b: Element, r: float, z: float) -> tuple[float, float, float, int]:
    """Signed distance of (r, z) about the axis, gradient (out, up), and which end is nearest."""
    if b.kind == CIRCLE:
        d = sqrt((r - b.size[0]) ** 2 + z * z)
        return (d, (r - b.size[0]) / d, z / d, INSIDE) if d > NOTHING else (0.0, 1.0, 0.0, INSIDE)
    sign = float(b.side)
    # the foot on the whole surface, by its coordinate that is limited
    at, out, up, d = 0.0, 0.0, 1.0, z
    if b.kind == PLANE:
        if b.size[2] != 1.0:
            return z, 0.0, 1.0, INSIDE
        at, sign = r, 1.0
    elif b.kind == SPHERE:
        away = sqrt(r * r + z * z)
        out, up = (r / away, z / away) if away > NOTHING else (0.0, 1.0)
        d, at = away - b.size[0], b.size[0] * up
    elif b.kind == CYLINDER:
        d, out, up, at = r - b.size[0], 1.0, 0.0, z
    elif b.kind == CONE:
        cosine = 1.0 / sqrt(1.0 + b.size[0] * b.size[0])
        sine = b.size[0] * cosine
        d, out, up, at = r * cosine - z * sine, cosine, -sine, (z * cosine + r * sine) * cosine
    elif b.kind == TORUS:
        away = sqrt((r - b.size[0]) ** 2 + z * z)
        out, up = ((r - b.size[0]) / away, z / away) if away > NOTHING else (1.0, 0.0)
        d, at = away - b.size[1], atan2(up, out)
    else:
        f = b.size[0]
        at = _paraboloid_foot(f, r, z)
        size = sqrt(at * at + 4.0 * f * f)
        out, up = at / size, -2.0 * f / size
        d = (r - at) * out + (z - at * at / (4.0 * f)) * up
    if not within(b, at):
        nearest, end = inf, INSIDE
        for k in range(2):
            radius, height = limit_circle(b, k)
            away = sqrt((r - radius) ** 2 + (z - height) ** 2)
            if radius >= 0.0 and away < nearest:
                nearest, end = away, k
                if away > NOTHING:
                    out, up = (r - radius) / away, (z - height) / away
                else:
                    out, up = sign * out, sign * up
        return nearest, out, up, end
    return sign * d, sign * out, sign * up, INSIDE


@kernel
def _paraboloid_foot(f: float, r: float, z: float) -> float:
    """Radius of the nearest point of z = r²/4f: the only root not below 0 of a cubic.

    w³ + 4f (2f − z) w = 8 f² r: above its root the left side is convex, so Newton's method comes
    down to it from any point above.
    """
    p, q = 4.0 * f * (2.0 * f - z), 8.0 * f * f * r
    w: float = q ** (1.0 / 3.0) + sqrt(max(0.0, -p))
    for _ in range(ROUNDS):
        slope = 3.0 * w * w + p
        if not slope > 0.0:
            break
        new = w - (w * w * w + p * w - q) / slope
        if not new < w or new < 0.0:
            break
        w = new
    return w


@kernel
def within(e: Element, at: float) -> bool:
    """Whether a patch reaches a height along its axis; of a torus, angle; of the rest, radius."""
    if e.kind == CYLINDER:
        return abs(at) <= e.size[1] * (1.0 + ON_LIMIT)
    if e.kind == TORUS:
        span = e.size[3] - e.size[2]
        if span == 0.0:
            return True
        return (at - e.size[2] + ON_LIMIT) % (2.0 * pi) <= span + 2.0 * ON_LIMIT
    if e.kind == PLANE:
        slack = ON_LIMIT * e.size[0]
        return e.size[1] - slack <= at <= e.size[0] + slack
    slack = ON_LIMIT * max(abs(e.size[1]), abs(e.size[2]))
    return e.size[1] - slack <= at <= e.size[2] + slack


@kernel
def limit_circle(e: Element, end: int) -> tuple[float, float]:
    """Radius and height of the circle at an end of a patch; radius 0: an apex; −1: no end there."""
    if e.kind == PLANE:
        radius = e.size[end]
        return (radius, 0.0) if e.size[2] == 1.0 and (end == LOW or radius > 0.0) else (-1.0, 0.0)
    if e.kind == SPHERE:
        z = e.size[1 + end]
        return (sqrt(e.size[0] ** 2 - z * z), z) if abs(z) < e.size[0] else (-1.0, 0.0)
    if e.kind == CYLINDER:
        return e.size[0], (-e.size[1] if end == LOW else e.size[1])
    if e.kind == CONE:
        return e.size[0] * e.size[1 + end], e.size[1 + end]
    if e.kind == PARABOLOID:
        r = e.size[1 + end]
        return (r, r * r / (4.0 * e.size[0])) if r > 0.0 else (-1.0, 0.0)
    if e.kind == TORUS and e.size[2] != e.size[3]:
        angle = e.size[2 + end]
        return e.size[0] + e.size[1] * cos(angle), e.size[1] * sin(angle)
    return -1.0, 0.0


# ---------------------------------------------------------------- balls of an element


@kernel
def ball_range(a: Element) -> tuple[float, float]:
    """Range of t."""
    if a.kind == SEGMENT:
        return -a.size[0], a.size[0]
    if a.kind == CYLINDER:
        return -a.size[1], a.size[1]
    if a.kind == CONE:
        # the ball at t touches at z = t cos²β
        stretch = 1.0 + a.size[0] * a.size[0]
        return a.size[1] * stretch, a.size[2] * stretch
    if a.kind == PARABOLOID:
        # the normal at radius r meets the axis at z = 2f + r²/4f
        f = a.size[0]
        return 2.0 * f + a.size[1] ** 2 / (4.0 * f), 2.0 * f + a.size[2] ** 2 / (4.0 * f)
    return (-pi, pi) if a.kind in (CIRCLE, TORUS) else (0.0, 0.0)


@kernel
def ball_at(a: Element, t: float) -> tuple[Vec3, float, Vec3, float]:
    """Centre and radius of the ball at t, and their derivatives."""
    if a.kind in (CIRCLE, TORUS):
        c, s, r = cos(t), sin(t), a.size[0]
        at = axpy(r * c, a.x, axpy(r * s, a.y, a.origin))
        way = axpy(-r * s, a.x, scale(r * c, a.y))
        return at, (a.size[1] if a.kind == TORUS else 0.0), way, 0.0
    if a.kind in (POINT, SPHERE):
        return a.origin, (a.size[0] if a.kind == SPHERE else 0.0), (0.0, 0.0, 0.0), 0.0
    radius, rate = 0.0, 0.0
    if a.kind == CYLINDER:
        radius = a.size[0]
    elif a.kind == CONE:
        rate = a.size[0] / sqrt(1.0 + a.size[0] * a.size[0])
        radius = t * rate
    elif a.kind == PARABOLOID:
        f = a.size[0]
        radius = 2.0 * sqrt(f * (t - f))
        rate = 2.0 * f / radius
    return axpy(t, a.z, a.origin), radius, a.z, rate


@kernel
def limit_of(a: Element, t: float, n: Vec3) -> int:
    """Which end of a the ball at t touches at, n the normal there."""
    if a.kind == SPHERE:
        z = -a.size[0] * dot(n, a.z)
        if within(a, z):
            return INSIDE
        return LOW if z < a.size[1] else HIGH
    if a.kind == TORUS:
        out = axpy(cos(t), a.x, scale(sin(t), a.y))
        angle = atan2(-dot(n, a.z), -dot(n, out))
        if within(a, angle):
            return INSIDE
        below, above = (a.size[2] - angle) % (2.0 * pi), (angle - a.size[3]) % (2.0 * pi)
        return LOW if below < above else HIGH
    if a.kind in (POINT, CIRCLE):
        return INSIDE
    low, high = ball_range(a)
    if t <= low:
        # the axis meets a paraboloid in a point like all others
        return INSIDE if a.kind == PARABOLOID and not a.size[1] > 0.0 else LOW
    return HIGH if t >= high else INSIDE
