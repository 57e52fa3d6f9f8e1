"""A contact over a patch: polygons, each a fan about its middle, with a depth at every point.

Where all points press or hold, there are closed forms; else six points per triangle of the fans are
summed, which is exact for the squares of affine functions.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.elements.columns import (
    EF_AREA,
    EF_C,
    EF_CURVED,
    EF_D,
    EF_F,
    EF_GYRATION,
    EF_H,
    EF_HESSIAN_N,
    EF_HESSIAN_T,
    EF_HX,
    EF_HY,
    EF_JXX,
    EF_JXY,
    EF_JYY,
    EF_LEAD,
    EF_LIMIT,
    EF_MU,
    EF_N,
    EF_PRESSED,
    EF_RATIO,
    EF_REACH,
    EF_S,
    EF_T1,
    EF_T2,
    EF_U,
    EF_WEIGHT,
    EI_A,
    EI_B,
    EI_FAN,
    EI_KIND,
    EI_NEAR,
    EI_POLYGON,
    EI_POLYGONS,
    EI_SPINS,
    EI_SQUARE,
    HOLDS,
    PATCH_KIND,
    SLIDES,
    Element,
    lead_power,
    local_twist,
)
from tangere.elements.contact import (
    Trial,
    add_given,
    follow_slip,
    rolling_hessian,
    slip_field,
    slip_hessian,
    trial,
)
from tangere.elements.fan import fan_area, fan_point, friction_point
from tangere.elements.step_context import StepContext, moves
from tangere.maths.quadrature import POINTS, triangle_point
from tangere.maths.vec import Vec3
from tangere.solver import Elements

# Motion that mirrors that before does so up to this share of the loss; after a lead was cut.
MIRRORED, NEARLY = 1e-3, 2e-2


@kernel
def place_patch(t: Elements, c: Element, point: Vec3, m: PtrF8, first: int, end: int) -> None:
    """Make a contact one over its fans, which lie about a point: move them to their centroid.

    m: moments, see `add_moments`; first, end: rows of the fans.
    """
    f = c.floats
    s0, sx, sy, h0 = m[0], m[1], m[2], m[3]
    cx, cy = sx / s0, sy / s0
    for i in range(first, end):
        row = off(t.fan, 3 * i)
        row[0] -= cx
        row[1] -= cy
    c.ints[EI_KIND], f[EF_S] = PATCH_KIND, s0
    f[EF_JXX], f[EF_JXY], f[EF_JYY] = m[4] - cx * sx, m[5] - cx * sy, m[6] - cy * sy
    f[EF_H], f[EF_HX], f[EF_HY] = h0, m[7] - cx * h0, m[8] - cy * h0
    for i in range(3):
        f[EF_C + i] = point[i] + cx * f[EF_T1 + i] + cy * f[EF_T2 + i]


@kernel
def normalise_patch(c: Element, area: float) -> None:
    """Share the stiffness over a given true area."""
    f = c.floats
    f[EF_AREA] = area * f[EF_RATIO]
    f[EF_REACH] += f[EF_AREA]
    f[EF_WEIGHT] = f[EF_S] / f[EF_AREA]
    f[EF_GYRATION] = (f[EF_JXX] + f[EF_JYY]) / f[EF_S]


@kernel
def patch_value(t: Elements, c: Element, twist: PtrF8, dt: float) -> None:
    """Fill the force of a patch."""
    f = c.floats
    q = trial(c, local_twist(c, twist), dt)
    if _presses(t, c, q):
        _press_whole(f, q)
    else:
        _press_points(t, c, q)
    if q.mode == HOLDS or q.limit == 0.0:
        _hold(f, q)
    else:
        _slip_points(t, c, q)
    add_given(c, twist)


@kernel
def patch_hessian(
    t: Elements, c: Element, twist: PtrF8, dt: float, all_press: bool, length: float
) -> None:
    """Fill the Hessian of a patch; see `elements.element.hessian`."""
    f, u = c.floats, local_twist(c, twist)
    q = trial(c, u, dt)
    rolling_hessian(c, twist, length)
    change, holds = follow_slip(c, q, u, length)
    if all_press or _presses(t, c, q):
        _whole_hessian(f, q)
    else:
        _press_hessian(t, c, q)
    if holds:
        _hold_hessian(f, q)
    else:
        _slip_hessian(t, c, q, change)


@kernel
def _presses(t: Elements, c: Element, q: Trial) -> bool:
    """Whether all of the patch presses, and nothing beside it.

    Depth is concave over the patch: the corners decide.
    """
    at = off(t.fan, 3 * c.ints[EI_FAN])
    for poly in range(c.ints[EI_POLYGONS]):
        corners = t.corners[c.ints[EI_POLYGON] + poly]
        for i in range(1, corners + 1):
            if q.k * at[3 * i + 2] + q.p0 + q.px * at[3 * i] + q.py * at[3 * i + 1] < 0.0:
                return False
        at = off(at, 3 * (corners + 1))
    first = c.ints[EI_POLYGON] + c.ints[EI_POLYGONS]
    for poly in range(first, first + c.ints[EI_NEAR]):
        corners = t.corners[poly]
        for i in range(corners + 1):
            if q.k * at[3 * i + 2] + q.p0 + q.px * at[3 * i] + q.py * at[3 * i + 1] > 0.0:
                return False
        at = off(at, 3 * (corners + 1))
    return True


@kernel
def _press_whole(f: PtrF8, q: Trial) -> None:
    """Normal force of a patch that presses everywhere."""
    out = off(f, EF_F)
    per = 1.0 / f[EF_AREA]
    s, jxx, jxy, jyy = per * f[EF_S], per * f[EF_JXX], per * f[EF_JXY], per * f[EF_JYY]
    out[0] = q.k * per * f[EF_H] + q.p0 * s
    out[1] = q.k * per * f[EF_HY] + q.px * jxy + q.py * jyy
    out[2] = -(q.k * per * f[EF_HX] + q.px * jxx + q.py * jxy)


@kernel
def _whole_hessian(f: PtrF8, q: Trial) -> None:
    """Normal Hessian of a patch that presses everywhere."""
    cn = off(f, EF_HESSIAN_N)
    stiff = q.stiff / f[EF_AREA]
    cn[0], cn[1], cn[2] = stiff * f[EF_S], 0.0, 0.0
    cn[3], cn[4], cn[5] = stiff * f[EF_JYY], -stiff * f[EF_JXY], stiff * f[EF_JXX]


@kernel
def _hold(f: PtrF8, q: Trial) -> None:
    """Friction of a patch that sticks as a whole; without a limit there is no friction."""
    out = off(f, EF_F)
    per = 1.0 / f[EF_AREA] if q.limit > 0.0 else 0.0
    s, j_n = per * f[EF_S], per * (f[EF_JXX] + f[EF_JYY])
    out[3], out[4], out[5] = -s * q.g1, -s * q.g2, -j_n * q.th


@kernel
def _hold_hessian(f: PtrF8, q: Trial) -> None:
    """Hessian of friction of a patch that sticks as a whole."""
    ct = off(f, EF_HESSIAN_T)
    for i in range(6):
        ct[i] = 0.0
    per = q.c_t / f[EF_AREA] if q.limit > 0.0 else 0.0
    ct[0], ct[3], ct[5] = per * f[EF_S], per * f[EF_S], per * (f[EF_JXX] + f[EF_JYY])


@kernel
def _press_points(t: Elements, c: Element, q: Trial) -> None:
    """Normal force, point by point."""
    f = c.floats
    fn, f1, f2 = 0.0, 0.0, 0.0
    at = off(t.fan, 3 * c.ints[EI_FAN])
    for poly in range(c.ints[EI_POLYGONS] + c.ints[EI_NEAR]):
        corners = t.corners[c.ints[EI_POLYGON] + poly]
        last = off(at, 3 * corners)
        shared = f[EF_AREA] if poly < c.ints[EI_POLYGONS] else f[EF_REACH]
        for i in range(1, corners + 1):
            here = off(at, 3 * i)
            area = fan_area(at, last, here) / shared
            for j in range(POINTS):
                w, x, y, d = fan_point(j, at, last, here)
                p = area * w * max(0.0, q.k * d + q.p0 + q.px * x + q.py * y)
                fn += p
                f1 += p * y
                f2 -= p * x
            last = here
        at = off(at, 3 * (corners + 1))
    out = off(f, EF_F)
    out[0], out[1], out[2] = fn, f1, f2


@kernel
def _press_hessian(t: Elements, c: Element, q: Trial) -> None:
    """Normal Hessian, point by point."""
    f = c.floats
    n0, nx, ny, nxx, nxy, nyy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    at = off(t.fan, 3 * c.ints[EI_FAN])
    for poly in range(c.ints[EI_POLYGONS] + c.ints[EI_NEAR]):
        corners = t.corners[c.ints[EI_POLYGON] + poly]
        last = off(at, 3 * corners)
        shared = f[EF_AREA] if poly < c.ints[EI_POLYGONS] else f[EF_REACH]
        for i in range(1, corners + 1):
            here = off(at, 3 * i)
            area = fan_area(at, last, here) / shared
            for j in range(POINTS):
                w, x, y, d = fan_point(j, at, last, here)
                if q.k * d + q.p0 + q.px * x + q.py * y > 0.0:
                    w *= area
                    n0 += w
                    nx += w * x
                    ny += w * y
                    nxx += w * x * x
                    nxy += w * x * y
                    nyy += w * y * y
            last = here
        at = off(at, 3 * (corners + 1))
    cn = off(f, EF_HESSIAN_N)
    cn[0], cn[1], cn[2] = q.stiff * n0, q.stiff * ny, -q.stiff * nx
    cn[3], cn[4], cn[5] = q.stiff * nyy, -q.stiff * nxy, q.stiff * nxx


@kernel
def _slip_points(t: Elements, c: Element, q: Trial) -> None:
    """Friction, point by point."""
    f = c.floats
    q1, q2, qn = 0.0, 0.0, 0.0
    square = c.ints[EI_SQUARE] == 1
    at = off(t.fan, 3 * c.ints[EI_FAN])
    for poly in range(c.ints[EI_POLYGONS]):
        corners = t.corners[c.ints[EI_POLYGON] + poly]
        last = off(at, 3 * corners)
        for i in range(1, corners + 1):
            here = off(at, 3 * i)
            area = fan_area(at, last, here) / f[EF_AREA]
            for j in range(POINTS):
                w, x, y, d = friction_point(j, square, at, last, here)
                d += f[EF_PRESSED] + f[EF_PRESSED + 1] * x + f[EF_PRESSED + 2] * y
                if not d > 0.0 or w == 0.0:
                    continue
                c_p = q.c_t * d if q.mode == SLIDES else 1.0  # λ/v_ε of this point
                e1, e2 = c_p * (q.g1 - q.th * y), c_p * (q.g2 + q.th * x)
                most = q.limit * d
                size = e1 * e1 + e2 * e2
                s = w * area
                if size > most * most:
                    s *= most / sqrt(size)
                q1 -= s * e1
                q2 -= s * e2
                qn -= s * (x * e2 - y * e1)
            last = here
        at = off(at, 3 * (corners + 1))
    out = off(f, EF_F)
    out[3], out[4], out[5] = q1, q2, qn


@kernel
def _slip_hessian(
    t: Elements, c: Element, q: Trial, change: tuple[float, float, float, float]
) -> None:
    """Hessian of friction, point by point."""
    f = c.floats
    a11, a12, a1n, a22, a2n, ann = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    square = c.ints[EI_SQUARE] == 1
    at = off(t.fan, 3 * c.ints[EI_FAN])
    z = off(t.slip_z, 2 * POINTS * c.ints[EI_FAN])
    for poly in range(c.ints[EI_POLYGONS]):
        corners = t.corners[c.ints[EI_POLYGON] + poly]
        last = off(at, 3 * corners)
        for i in range(1, corners + 1):
            here = off(at, 3 * i)
            area = fan_area(at, last, here) / f[EF_AREA]
            for j in range(POINTS):
                w, x, y, d = friction_point(j, square, at, last, here)
                d += f[EF_PRESSED] + f[EF_PRESSED + 1] * x + f[EF_PRESSED + 2] * y
                if not d > 0.0 or w == 0.0:
                    continue
                c_p = q.c_t * d if q.mode == SLIDES else 1.0  # λ/v_ε of this point
                b11, b12, b22 = slip_hessian(
                    off(z, 2 * (POINTS * i + j)),
                    (c_p * (q.g1 - q.th * y), c_p * (q.g2 + q.th * x)),
                    (c_p * (change[0] - change[2] * y), c_p * (change[1] + change[2] * x)),
                    q.limit * d,
                    change[3],
                )
                s = w * area * (c_p if q.mode == SLIDES else q.c_t)
                b11, b12, b22 = s * b11, s * b12, s * b22
                a11 += b11
                a12 += b12
                a22 += b22
                a1n += x * b12 - y * b11
                a2n += x * b22 - y * b12
                ann += y * y * b11 - 2.0 * x * y * b12 + x * x * b22
            last = here
        at = off(at, 3 * (corners + 1))
        z = off(z, 2 * POINTS * (corners + 1))
    ct = off(f, EF_HESSIAN_T)
    ct[0], ct[1], ct[2], ct[3], ct[4], ct[5] = a11, a12, a1n, a22, a2n, ann


@kernel
def patch_breaks(t: Elements, c: Element, twist: PtrF8, dt: float) -> bool:
    """Whether a patch that was taken to hold exceeds its limit: ∫ |g|² > ∫ λ |g|."""
    f = c.floats
    limit = f[EF_MU] * f[EF_LIMIT]
    _, _, _, u1, u2, wn = local_twist(c, twist)
    _, g1, g2, th = slip_field(c, dt, u1, u2, wn)
    per = 1.0 / f[EF_AREA]
    work = per * (f[EF_S] * (g1 * g1 + g2 * g2) + (f[EF_JXX] + f[EF_JYY]) * th * th)
    # ∫ λ |g| ≥ |∫ λ g|: a resting contact needs no more than this
    p0, px, py = f[EF_PRESSED], f[EF_PRESSED + 1], f[EF_PRESSED + 2]
    h0 = f[EF_H] + p0 * f[EF_S]
    hx = f[EF_HX] + px * f[EF_JXX] + py * f[EF_JXY]
    hy = f[EF_HY] + px * f[EF_JXY] + py * f[EF_JYY]
    e1, e2 = per * (h0 * g1 - hy * th), per * (h0 * g2 + hx * th)
    if work * work <= limit * limit * (e1 * e1 + e2 * e2):
        return False
    total = 0.0
    square = c.ints[EI_SQUARE] == 1
    at = off(t.fan, 3 * c.ints[EI_FAN])
    for poly in range(c.ints[EI_POLYGONS]):
        corners = t.corners[c.ints[EI_POLYGON] + poly]
        last = off(at, 3 * corners)
        for i in range(1, corners + 1):
            here = off(at, 3 * i)
            area = fan_area(at, last, here)
            for j in range(POINTS):
                w, x, y, d = friction_point(j, square, at, last, here)
                d += f[EF_PRESSED] + f[EF_PRESSED + 1] * x + f[EF_PRESSED + 2] * y
                if d > 0.0 and w > 0.0:
                    e1, e2 = g1 - th * y, g2 + th * x
                    total += w * area * d * sqrt(e1 * e1 + e2 * e2)
            last = here
        at = off(at, 3 * (corners + 1))
    return bool(work > limit * total * per)


@kernel
def fastest_slip(t: Elements, c: Element, u1: float, u2: float, wn: float) -> float:
    """Greatest slip speed over the patch; speed is convex, so a corner has it."""
    most = u1 * u1 + u2 * u2
    at = off(t.fan, 3 * c.ints[EI_FAN])
    for poly in range(c.ints[EI_POLYGONS]):
        corners = t.corners[c.ints[EI_POLYGON] + poly]
        for i in range(1, corners + 1):
            e1, e2 = u1 - wn * at[3 * i + 1], u2 + wn * at[3 * i]
            most = max(most, e1 * e1 + e2 * e2)
        at = off(at, 3 * (corners + 1))
    return sqrt(most)


@kernel
def depth_sum(t: Elements, c: Element, d0: float, dx: float, dy: float, power: int) -> float:
    """Σ ω max(0, d + d0 + dx x + dy y)^power over the patch; power 1 or 2."""
    f = c.floats
    total = 0.0
    at = off(t.fan, 3 * c.ints[EI_FAN])
    for poly in range(c.ints[EI_POLYGONS] + c.ints[EI_NEAR]):
        corners = t.corners[c.ints[EI_POLYGON] + poly]
        od = at[2] + d0 + dx * at[0] + dy * at[1]
        last = off(at, 3 * corners)
        shared = f[EF_AREA] if poly < c.ints[EI_POLYGONS] else f[EF_REACH]
        ld = last[2] + d0 + dx * last[0] + dy * last[1]
        for i in range(1, corners + 1):
            here = off(at, 3 * i)
            hd = here[2] + d0 + dx * here[0] + dy * here[1]
            area = fan_area(at, last, here) / shared
            if od >= 0.0 and ld >= 0.0 and hd >= 0.0:
                if power == 1:
                    total += area * (od + ld + hd) / 3.0
                else:
                    total += area * (od * (od + ld + hd) + ld * (ld + hd) + hd * hd) / 6.0
            elif od > 0.0 or ld > 0.0 or hd > 0.0:
                for j in range(POINTS):
                    w, l0, l1, l2 = triangle_point(j)
                    d = max(0.0, l0 * od + l1 * ld + l2 * hd)
                    total += w * area * (d if power == 1 else d * d)
            last, ld = here, hd
        at = off(at, 3 * (corners + 1))
    return total


@kernel
def imprint_patch(t: Elements, c: Element, share: float) -> None:
    """Leave a share of the depth at the start of the step out of every point.

    Depth is then that share less than it is, point by point: the surfaces have yielded so far.
    """
    f = c.floats
    way = off(f, EF_D)
    at = off(t.fan, 3 * c.ints[EI_FAN])
    h0, hx, hy = 0.0, 0.0, 0.0
    for poly in range(c.ints[EI_POLYGONS] + c.ints[EI_NEAR]):
        corners = t.corners[c.ints[EI_POLYGON] + poly]
        for i in range(corners + 1):
            p = off(at, 3 * i)
            p[2] -= share * max(0.0, p[2] + way[0] + way[1] * p[0] + way[2] * p[1])
        o, a = at, off(at, 3 * corners)
        for i in range(1, corners + 1 if poly < c.ints[EI_POLYGONS] else 0):
            b = off(at, 3 * i)
            area = fan_area(o, a, b)
            mx, my, md = o[0] + a[0] + b[0], o[1] + a[1] + b[1], o[2] + a[2] + b[2]
            h0 += area * md / 3.0
            hx += area * (mx * md + o[0] * o[2] + a[0] * a[2] + b[0] * b[2]) / 12.0
            hy += area * (my * md + o[1] * o[2] + a[1] * a[2] + b[1] * b[2]) / 12.0
            a = b
        at = off(at, 3 * (corners + 1))
    f[EF_H], f[EF_HX], f[EF_HY] = h0, hx, hy


@kernel
def cut_lead(e: StepContext, c: Element, wholly: bool) -> bool:
    """Whether a patch that turns would be given energy by its lead; it then has less, or none.

    The forces work on the bodies by ½ dt f·J (v + v₀) = dt f·u − dt f·(lead + ½ J (v − v₀)), with
    v₀ without gravity. What springs and friction know of is f·u; the rest has to be a loss. It is
    none where the motion mirrors that before, as of a cone that rolls.
    """
    f = c.floats
    if c.ints[EI_SPINS] < 0 or not f[EF_F] > 0.0:
        return False
    ahead, lead, force = e.w.solver.ahead, off(f, EF_LEAD), off(f, EF_F)
    now, before = local_twist(c, ahead.twist), local_twist(c, ahead.free)
    given, lost = lead_power(c), 0.0
    for q in range(6):
        lost += 0.5 * force[q] * (now[q] - before[q])
    free = (1.0 if moves(e, c.ints[EI_B]) else 0.0) - (1.0 if moves(e, c.ints[EI_A]) else 0.0)
    for k in range(3):  # gravity along the force
        along = force[0] * f[EF_N + k] + force[3] * f[EF_T1 + k] + force[4] * f[EF_T2 + k]
        lost += 0.5 * free * e.dt * e.m.gravity[k] * along
    lost = max(0.0, lost)
    if given <= (1.0 + (NEARLY if wholly else MIRRORED)) * lost:
        return False
    share = 0.0 if wholly else lost / given
    for q in range(6):
        f[EF_U + q] -= (1.0 - share) * lead[q]
        lead[q] *= share
    return True


@kernel
def patch_extent(f: PtrF8) -> tuple[float, float, float]:
    """Mean depth, width, and how far its furthest points are from the centre, about [m]."""
    width = sqrt(max(f[EF_S], 0.0))
    reach = width
    if f[EF_CURVED] > 0.0:  # a strip reaches further than its area tells
        reach = max(width, sqrt(3.0 * (f[EF_JXX] + f[EF_JYY]) / f[EF_S]))
    return abs(f[EF_H]) / f[EF_S], width, reach
