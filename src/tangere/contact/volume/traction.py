"""Coulomb traction over a patch: ∫ p e/|e| dS and its torque for a rigid field e = R + Θ n × p.

The field turns about the point p* = n × R/Θ, where e vanishes. In polar coordinates about p* the
integrals of an affine pressure over a polygon have closed forms, edge by edge: with the edge at
signed distance d from p*, foot ν, direction τ, and s along the edge, a point of the triangle (p*,
edge) is q = t (d ν + s τ), dS = t d dt ds, and with ρ = √(d² + s²), pressure P + g·q

    ∫ p |q| dS   = d [(P/3 + d g_ν/4) E₁ + g_τ/4 E₂]           E₁ = ∫ρ ds,   E₂ = ∫ s ρ ds
    ∫ p q/|q| dS = d² [(P/2 + d g_ν/3) G₀ + g_τ/3 G₁] ν         G₀ = ∫ds/ρ,   G₁ = ∫ s ds/ρ
                 + d  [(P/2 + d g_ν/3) G₁ + g_τ/3 G₂] τ         G₂ = ∫ s² ds/ρ

This is exact: spin torque, slide plus spin and the static limit carry no quadrature error. Far from
p* the field is nearly uniform and the signed triangles cancel; there a six-point rule of degree 4
per triangle is exact to rounding. The same rule serves steep polygons, and patches where part of
the pressure is negative (a damper pulling): point pressures are then clipped at 0 and rescaled to
the normal force.

Differs from [HASEGAWA2004] (15)–(17), which interpolates the traction between triangle vertices and
loses 38 % of the torque of a spinning square; kept as `friction="vertex"`.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off
from tangere.maths.quadrature import A1, A2, W1, W2
from tangere.model import Soup

# The closed form is used while p* is nearer than this many radii of gyration of the patch:
# cancellation then costs 1e-16·30³; the point rule's error at this distance is below 1e-7.
FAR = 30.0
# Polygons steeper than this (|N·n|) are integrated by points: the slope of their pressure amplifies
# rounding in the closed form, and their share of the patch is small.
STEEP = 0.05
# A pressure this far below zero, as a share of the highest, is rounding and not a pull.
ROUNDING = 1e-9
ROOM = 96  # points summed at a time, a multiple of six


class Pressure(NamedTuple):
    """Pressure of one side: α h + p0 + px x + py y [Pa], x and y from the centroid (cx, cy)."""

    alpha: float
    p0: float
    px: float
    py: float
    cx: float
    cy: float
    total: float  # normal force F_N [N]
    two_sided: bool


@kernel
def traction(
    soup: Soup,
    first: int,
    last: int,
    pr: Pressure,
    r1: float,
    r2: float,
    th: float,
    gyration: float,
) -> tuple[float, float, float]:
    """G = ∫ p e/|e| dS (along x and y) [N] and T = n·∫ p × (p e/|e|) dS about the centroid [N m].

    Since ∫ p |e| dS = R·G + Θ T, the static limit needs nothing else.
    """
    if _pulls(soup, first, last, pr):
        return _by_points(soup, first, last, pr, r1, r2, th, True, False)
    near = sqrt(r1 * r1 + r2 * r2) < FAR * abs(th) * gyration
    g1, g2, torque = _by_points(soup, first, last, pr, r1, r2, th, False, near)
    if near:
        for f in range(first, last):
            side = soup.slope[4 * f]
            if side != 0.0 and soup.slope[4 * f + 3] > STEEP:
                a1, a2, t = _by_edges(soup, f, pr, r1, r2, th)
                g1 += side * a1
                g2 += side * a2
                torque += side * t
    return g1, g2, torque


@kernel
def work_bound(
    soup: Soup, first: int, last: int, pr: Pressure, r1: float, r2: float, th: float
) -> float:
    """An upper bound of ∫ p |e| dS: F_N max |e|, and |e| is greatest at a vertex (it is convex).

    It holds for a pressure that is nowhere negative, also where it is made so by clipping; infinite
    where steep polygons, which are not clipped, have a negative one.
    """
    greatest, wall = 0.0, 0.0
    for f in range(first, last):
        side, steep = soup.slope[4 * f], soup.slope[4 * f + 3] <= STEEP
        if side == 0.0:
            continue
        for i in range(soup.start[f], soup.start[f + 1]):
            p = off(soup.plane, 3 * i)
            x, y = p[0] - pr.cx, p[1] - pr.cy
            e1, e2 = r1 - th * y, r2 + th * x
            greatest = max(greatest, e1 * e1 + e2 * e2)
            if steep:
                wall = min(wall, pr.alpha * p[2] + pr.p0 + pr.px * x + pr.py * y)
    if wall < 0.0 and not _pulls(soup, first, last, pr):
        return inf
    return (1.0 + ROUNDING) * pr.total * sqrt(greatest)


@kernel
def _pulls(soup: Soup, first: int, last: int, pr: Pressure) -> bool:
    """Whether the pressure may be negative somewhere: the least of both sides together is."""
    front = inf
    back = inf
    high = 0.0
    for f in range(first, last):
        side = soup.slope[4 * f]
        # Walls of a body that leans by a hair reach up to depth zero, where any damper pulls; they
        # hardly count, and must not take the closed form from the face between them.
        if side == 0.0 or soup.slope[4 * f + 3] <= STEEP:
            continue
        for i in range(soup.start[f], soup.start[f + 1]):
            p = off(soup.plane, 3 * i)
            x, y = p[0] - pr.cx, p[1] - pr.cy
            value = pr.alpha * p[2] + pr.p0 + pr.px * x + pr.py * y
            high = max(high, value)
            if side > 0.0:
                front = min(front, value)
            else:
                back = min(back, value)
    low_front = front if front < inf else 0.0
    low_back = back if back < inf else 0.0
    return low_front + low_back < -ROUNDING * high


@kernel
def _by_edges(
    soup: Soup, f: int, pr: Pressure, r1: float, r2: float, th: float
) -> tuple[float, float, float]:
    """Closed form over polygon f (counter-clockwise positive)."""
    sx, sy = -r2 / th, r1 / th  # p* = n × R/Θ
    slope = off(soup.slope, 4 * f)
    gx = pr.alpha * slope[1] + pr.px
    gy = pr.alpha * slope[2] + pr.py
    start, end = soup.start[f], soup.start[f + 1]
    p = off(soup.plane, 3 * start)
    # pressure at p*, from the first vertex
    at = pr.alpha * p[2] + pr.p0 + pr.px * (p[0] - pr.cx) + pr.py * (p[1] - pr.cy)
    at -= gx * (p[0] - pr.cx - sx) + gy * (p[1] - pr.cy - sy)
    p = off(soup.plane, 3 * (end - 1))
    ax, ay = p[0] - pr.cx - sx, p[1] - pr.cy - sy
    ra = sqrt(ax * ax + ay * ay)
    moment, dx, dy = 0.0, 0.0, 0.0
    for i in range(start, end):
        p = off(soup.plane, 3 * i)
        bx, by = p[0] - pr.cx - sx, p[1] - pr.cy - sy
        rb = sqrt(bx * bx + by * by)
        ex, ey = bx - ax, by - ay
        length = sqrt(ex * ex + ey * ey)
        if length > 0.0:
            tx, ty = ex / length, ey / length
            d = ax * ty - ay * tx
            sa, sb = ax * tx + ay * ty, bx * tx + by * ty
            g_n, g_t = gx * ty - gy * tx, gx * tx + gy * ty
            swell = sb * rb - sa * ra
            arc = 0.0
            if d * d > 1e-28 * (ra * ra + rb * rb):
                # sums of equal signs only: close to the edge sa + ra would round to nothing
                if sa > 0.0:
                    arc = log((sb + rb) / (sa + ra))
                elif sb < 0.0:
                    arc = log((ra - sa) / (rb - sb))
                else:
                    arc = log((sb + rb) * (ra - sa) / (d * d))
            e1 = 0.5 * (swell + d * d * arc)
            e2 = (rb * rb * rb - ra * ra * ra) / 3.0
            q1 = rb - ra
            q2 = 0.5 * (swell - d * d * arc)
            moment += d * ((at / 3.0 + 0.25 * d * g_n) * e1 + 0.25 * g_t * e2)
            base = 0.5 * at + d * g_n / 3.0
            dn = d * d * (base * arc + g_t * q1 / 3.0)
            dt = d * (base * q1 + g_t * q2 / 3.0)
            dx += dn * ty + dt * tx
            dy += -dn * tx + dt * ty
        ax, ay, ra = bx, by, rb
    sign = 1.0 if th > 0.0 else -1.0
    g1, g2 = -sign * dy, sign * dx
    return g1, g2, sign * moment + sx * g2 - sy * g1


@kernel
def _middle(soup: Soup, f: int) -> tuple[float, float, float]:
    """Mean vertex of polygon f: apex of its fan of triangles."""
    start, end = soup.start[f], soup.start[f + 1]
    x, y, h = 0.0, 0.0, 0.0
    for i in range(start, end):
        x += soup.plane[3 * i]
        y += soup.plane[3 * i + 1]
        h += soup.plane[3 * i + 2]
    s = 1.0 / (end - start)
    return s * x, s * y, s * h


@kernel
def _by_points(
    soup: Soup,
    first: int,
    last: int,
    pr: Pressure,
    r1: float,
    r2: float,
    th: float,
    clipped: bool,
    near: bool,
) -> tuple[float, float, float]:
    """Six points per triangle of a fan about the middle of each polygon.

    clipped: points of one side with the pressure of the whole chord, clipped at 0 and rescaled to
    F_N. Otherwise all polygons, but only the steep ones when `near`.
    """
    points = local_f8(384)  # 4 ROOM: x, y from the centroid, h, weight: rows that loops run along
    back = local_f8(1536)  # planes of the other side
    other = _other_side(soup, first, last, pr, back) if clipped and pr.two_sided else 0
    one_side = 1.0 if pr.two_sided else -1.0
    n = 0
    g1, g2, torque, total = 0.0, 0.0, 0.0, 0.0
    for f in range(first, last):
        side = soup.slope[4 * f]
        if side == 0.0 or (clipped and side != one_side):
            continue
        if near and soup.slope[4 * f + 3] > STEEP:
            continue
        ox, oy, oh = _middle(soup, f)
        start, end = soup.start[f], soup.start[f + 1]
        a = off(soup.plane, 3 * (end - 1))
        for i in range(start, end):
            b = off(soup.plane, 3 * i)
            area = 0.5 * side * ((a[0] - ox) * (b[1] - oy) - (a[1] - oy) * (b[0] - ox))
            sx, sy = ox + a[0] + b[0], oy + a[1] + b[1]
            sh = oh + a[2] + b[2]
            for k in range(2):
                w, s = (W1, A1) if k == 0 else (W2, A2)
                v = 1.0 - 3.0 * s
                for j in range(3):
                    x, y, h = (ox, oy, oh) if j == 0 else (a[0], a[1], a[2])
                    if j == 2:
                        x, y, h = b[0], b[1], b[2]
                    points[n] = s * sx + v * x - pr.cx
                    points[ROOM + n] = s * sy + v * y - pr.cy
                    points[2 * ROOM + n] = s * sh + v * h
                    points[3 * ROOM + n] = w * area
                    n += 1
            if n == ROOM:
                f1, f2, t, load = _sum_points(points, n, back, other, pr, r1, r2, th, clipped)
                g1, g2, torque, total = g1 + f1, g2 + f2, torque + t, total + load
                n = 0
            a = b
    f1, f2, t, load = _sum_points(points, n, back, other, pr, r1, r2, th, clipped)
    g1, g2, torque, total = g1 + f1, g2 + f2, torque + t, total + load
    if not clipped:
        return g1, g2, torque
    if not total > 0.0:
        return 0.0, 0.0, 0.0
    scale = pr.total / total
    return scale * g1, scale * g2, scale * torque


@kernel
def _sum_points(
    points: PtrF8,
    n: int,
    back: PtrF8,
    other: int,
    pr: Pressure,
    r1: float,
    r2: float,
    th: float,
    clipped: bool,
) -> tuple[float, float, float, float]:
    """∑ w p e/|e| over n points (along x, y), its torque, and ∑ w p.

    Loops without branches over one row after another: the compiler takes several points at once.
    """
    chord = local_f8(ROOM)
    force = local_f8(192)
    x, y = off(points, 0), off(points, ROOM)
    h, w = off(points, 2 * ROOM), off(points, 3 * ROOM)
    sides = 2.0 if clipped and pr.two_sided else 1.0
    for k in range(n):
        chord[k] = back[0] + back[1] * x[k] + back[2] * y[k] if other > 0 else 0.0
    for j in range(1, other):
        c, cx, cy = back[3 * j], back[3 * j + 1], back[3 * j + 2]
        for k in range(n):
            d = c + cx * x[k] + cy * y[k]
            chord[k] = d if d < chord[k] else chord[k]
    for k in range(n):
        p = pr.alpha * (h[k] + chord[k]) + sides * (pr.p0 + pr.px * x[k] + pr.py * y[k])
        load = w[k] * (0.0 if clipped and p < 0.0 else p)
        e1, e2 = r1 - th * y[k], r2 + th * x[k]
        size = sqrt(e1 * e1 + e2 * e2)
        ratio = load / (size if size > 0.0 else inf)
        chord[k] = load
        force[k] = ratio * e1
        force[ROOM + k] = ratio * e2
    g1, g2, torque, total = 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        total += chord[k]
        g1 += force[k]
        g2 += force[ROOM + k]
        torque += x[k] * force[ROOM + k] - y[k] * force[k]
    return g1, g2, torque, total


@kernel
def _other_side(soup: Soup, first: int, last: int, pr: Pressure, back: PtrF8) -> int:
    """Half-depth of the back side as c + cx x + cy y, the least over its planes (convexity).

    Returns the number of planes.
    """
    count = 0
    for f in range(first, last):
        slope = off(soup.slope, 4 * f)
        if slope[0] < 0.0 and slope[3] > 1e-9:
            p = off(soup.plane, 3 * soup.start[f])
            row = off(back, 3 * count)
            row[0] = p[2] + slope[1] * (pr.cx - p[0]) + slope[2] * (pr.cy - p[1])
            row[1], row[2] = slope[1], slope[2]
            count += 1
    return count


@kernel
def vertex_traction(
    soup: Soup, first: int, last: int, pr: Pressure, r1: float, r2: float, th: float
) -> tuple[float, float, float]:
    """G and T by the papers' rule: traction interpolated between triangle vertices.

    [HASEGAWA2004] (15)–(17): f = S_t f̄,  m = S_t (3/4 p̄ × f̄ + 1/12 Σ pᵢ × fᵢ)
    """
    v = local_f8(12)  # x, y and traction of the three vertices
    g1, g2, torque = 0.0, 0.0, 0.0
    for f in range(first, last):
        side = soup.slope[4 * f]
        if side == 0.0:
            continue
        start, end = soup.start[f], soup.start[f + 1]
        for i in range(start + 1, end - 1):
            for k in range(3):
                j = start if k == 0 else i + k - 1
                p = off(soup.plane, 3 * j)
                x, y = p[0] - pr.cx, p[1] - pr.cy
                load = max(0.0, pr.alpha * p[2] + pr.p0 + pr.px * x + pr.py * y)
                e1, e2 = r1 - th * y, r2 + th * x
                size = sqrt(e1 * e1 + e2 * e2)
                if size > 0.0:
                    load /= size
                v[4 * k], v[4 * k + 1] = x, y
                v[4 * k + 2], v[4 * k + 3] = load * e1, load * e2
            g, t = _triangle(v)
            area = 0.5 * side * ((v[4] - v[0]) * (v[9] - v[1]) - (v[5] - v[1]) * (v[8] - v[0]))
            g1 += area * g[0]
            g2 += area * g[1]
            torque += area * t
    return g1, g2, torque


@kernel
def _triangle(v: PtrF8) -> tuple[tuple[float, float], float]:
    """Mean traction and mean torque of a triangle with interpolated traction, per area."""
    mx, my = (v[0] + v[4] + v[8]) / 3.0, (v[1] + v[5] + v[9]) / 3.0
    f1, f2 = (v[2] + v[6] + v[10]) / 3.0, (v[3] + v[7] + v[11]) / 3.0
    spread = 0.0
    for k in range(3):
        spread += v[4 * k] * v[4 * k + 3] - v[4 * k + 1] * v[4 * k + 2]
    return (f1, f2), 0.75 * (mx * f2 - my * f1) + spread / 12.0
