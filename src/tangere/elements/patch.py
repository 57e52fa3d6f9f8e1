"""Force of one contact at given end-of-step twists, and how steeply it changes with them.

With d the depth at the guess, u the local motion and du its change since the guess, a point of
weight ω = dS/S_A carries

    normal   p = ω max(0, k (d − dt du_n) − b u_n)          judged at the end of the step
    meeting  p = ω max(0, (k + b/dt) (d − dt du_n))     in the step in which the bodies meet
    hold     f = −ω g,  g = k_t (r + θ n × q) + (k_t dt + b_t) u_T
    break    f = −ω g  if |g| ≤ λ,  else −ω λ g/|g|              λ = μ × lagged pressure
    slide    the same with g = (λ/v_ε) u_T

A damper that took all of u_n from bodies that only meet would stop them before they touch, and the
contact would be lost: it takes the part of the way that is overlap.

These are gradients of convex functions of the twists, because λ is lagged. A patch holds as a whole
until ∫ |g|² > ∫ λ |g|; then every point is limited by itself. Where all points press or hold, there
are closed forms; else six points per triangle of a fan about the middle of each polygon are summed
(exact for the squares of affine functions).

The slope of limited friction, with e = g/|g|, is −ω (λ/|g|) (1 − e eᵀ) c: none along the slip.
Where slip is about to stop or to turn round, Newton's method runs far beyond. The friction
z = −f/(ω λ), |z| ≤ 1, of every point is therefore kept as an unknown of its own, and the Newton
step is that for |g| z = g instead of z = g/|g|:

    slope −ω (λ/|g|) (1 − (z eᵀ + e zᵀ)/2) c,    then  z ← (g + dg − z (e·dg))/|g|,  at most 1 long

with dg the change of g in the step. It is the same once z = e; until then it is stiff along the
slip wherever z and e do not agree. [CHAN1999], who have sums of norms of the same kind
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.elements.columns import (
    HOLDS,
    POINT_KIND,
    SLIDES,
    TF_AREA,
    TF_B,
    TF_BOUNCE,
    TF_BT,
    TF_CN,
    TF_CR,
    TF_CT,
    TF_E,
    TF_F,
    TF_H,
    TF_HX,
    TF_HY,
    TF_JXX,
    TF_JXY,
    TF_JYY,
    TF_K,
    TF_KT,
    TF_LAG,
    TF_LIMIT,
    TF_MEETS,
    TF_MU,
    TF_PRESSED,
    TF_R1,
    TF_R2,
    TF_REACH,
    TF_ROLL,
    TF_ROLLS,
    TF_RUB,
    TF_S,
    TF_SIZE,
    TF_SLIP,
    TF_SPIN,
    TF_TH,
    TF_TORQUE,
    TF_U,
    TI_FAN,
    TI_KIND,
    TI_MODE,
    TI_NEAR,
    TI_POLYGON,
    TI_POLYGONS,
    TI_RUBS,
    TI_SQUARE,
    Local,
    Touch,
    fan_area,
    fan_point,
    local_twist,
    rolling,
    rub_point,
)
from tangere.maths.quadrature import POINTS
from tangere.solver import Touches

# Below this slip speed kinetic friction fades to zero [m/s].
V_EPS = 1e-4
# Below this speed, over the size of the body, rolling resistance fades to zero [m/s].
V_ROLL = 1e-5


class Trial(NamedTuple):
    """The law of one contact at given twists, as fields over the patch."""

    k: float  # pressure: k d + p0 + px x + py y
    p0: float
    px: float
    py: float
    stiff: float  # its growth with approach: k dt + b
    limit: float  # friction limit: times depth
    c_t: float  # growth of the friction with the slip
    g1: float  # friction: (g1 − th y, g2 + th x)
    g2: float
    th: float
    mode: int


@kernel
def contact_value(t: Touches, c: Touch, twist: PtrF8, dt: float) -> None:
    """Fill the contact's force."""
    f = c.floats
    q = _trial(c, local_twist(c, twist), dt)
    if c.ints[TI_KIND] == POINT_KIND:
        _single(f, q)
    else:
        if _presses(t, c, q):
            _press_whole(f, q)
        else:
            _press_points(t, c, q)
        if q.mode == HOLDS or q.limit == 0.0:
            _hold(f, q)
        else:
            _rub_points(t, c, q)
    for i in range(3):
        f[TF_F + i] += f[TF_BOUNCE + i]
    if f[TF_ROLLS] > 0.0:
        _resist_rolling(c, twist)


@kernel
def contact_hessian(
    t: Touches, c: Touch, twist: PtrF8, dt: float, hope: bool, length: float
) -> None:
    """Fill the contact's curvature: minus the slope of its force.

    hope: points not yet pressing count as stiff.
    length: share of the Newton step that was made since the last call; 0: begin anew, as where
    nothing is known of the last round.
    """
    f = c.floats
    u = local_twist(c, twist)
    q = _trial(c, u, dt)
    if f[TF_ROLLS] > 0.0:
        _bend_rolling(c, twist, length)
    slip = off(f, TF_SLIP)
    change = _change(q, slip, u, length if c.ints[TI_RUBS] == 1 else 0.0)
    holds = q.mode == HOLDS or q.limit == 0.0
    c.ints[TI_RUBS] = 0 if holds else 1
    slip[0], slip[1], slip[2] = u[3], u[4], u[5]
    if c.ints[TI_KIND] == POINT_KIND:
        _bend_single(f, q, change, hope)
        return
    if hope or _presses(t, c, q):
        _bend_whole(f, q)
    else:
        _bend_presses(t, c, q)
    if holds:
        _bend_hold(f, q)
    else:
        _bend_rubs(t, c, q, change)


@kernel
def _trial(c: Touch, u: Local, dt: float) -> Trial:
    """The law of a contact at a given motion."""
    f = c.floats
    un, w1, w2, u1, u2, wn = u
    k, b = f[TF_K] + f[TF_MEETS], f[TF_B]
    star = off(f, TF_U)
    c_t, g1, g2, th = rubbing(c, dt, u1, u2, wn)
    stiff = k * dt + b
    p0 = -k * dt * (un - star[0]) - b * un
    px, py = k * dt * (w2 - star[2]) + b * w2, -k * dt * (w1 - star[1]) - b * w1
    if f[TF_E] > 0.0:  # a hard impact is stopped by its speed, wherever in the step it falls
        k, p0, px, py = 0.0, -stiff * un, stiff * w2, -stiff * w1
    limit = f[TF_MU] * f[TF_LIMIT]
    return Trial(k, p0, px, py, stiff, limit, c_t, g1, g2, th, c.ints[TI_MODE])


@kernel
def rubbing(
    c: Touch, dt: float, u1: float, u2: float, wn: float
) -> tuple[float, float, float, float]:
    """Growth of friction with the slip, and its field g: (g1 − th y, g2 + th x)."""
    f = c.floats
    if c.ints[TI_MODE] == SLIDES:
        return f[TF_MU] * f[TF_LIMIT] / V_EPS, u1, u2, wn
    k_t = f[TF_KT]
    c_t = k_t * dt + f[TF_BT]
    return (
        c_t,
        k_t * f[TF_R1] + c_t * u1,
        k_t * f[TF_R2] + c_t * u2,
        k_t * f[TF_TH] + c_t * wn,
    )


@kernel
def _change(q: Trial, was: PtrF8, u: Local, length: float) -> tuple[float, float, float, float]:
    """What the last Newton step, made by a share, would have added to the field g; the share."""
    if length == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    scale = (1.0 if q.mode == SLIDES else q.c_t) / length
    return scale * (u[3] - was[0]), scale * (u[4] - was[1]), scale * (u[5] - was[2]), length


@kernel
def _presses(t: Touches, c: Touch, q: Trial) -> bool:
    """Whether all of the patch presses, and nothing beside it.

    Depth is concave over the patch: the corners decide.
    """
    at = off(t.fan, 3 * c.ints[TI_FAN])
    for poly in range(c.ints[TI_POLYGONS]):
        corners = t.corners[c.ints[TI_POLYGON] + poly]
        for i in range(1, corners + 1):
            if q.k * at[3 * i + 2] + q.p0 + q.px * at[3 * i] + q.py * at[3 * i + 1] < 0.0:
                return False
        at = off(at, 3 * (corners + 1))
    first = c.ints[TI_POLYGON] + c.ints[TI_POLYGONS]
    for poly in range(first, first + c.ints[TI_NEAR]):
        corners = t.corners[poly]
        for i in range(corners + 1):
            if q.k * at[3 * i + 2] + q.p0 + q.px * at[3 * i] + q.py * at[3 * i + 1] > 0.0:
                return False
        at = off(at, 3 * (corners + 1))
    return True


@kernel
def _press_whole(f: PtrF8, q: Trial) -> None:
    """Normal force of a patch that presses everywhere."""
    out = off(f, TF_F)
    per = 1.0 / f[TF_AREA]
    s, jxx, jxy, jyy = per * f[TF_S], per * f[TF_JXX], per * f[TF_JXY], per * f[TF_JYY]
    out[0] = q.k * per * f[TF_H] + q.p0 * s
    out[1] = q.k * per * f[TF_HY] + q.px * jxy + q.py * jyy
    out[2] = -(q.k * per * f[TF_HX] + q.px * jxx + q.py * jxy)


@kernel
def _bend_whole(f: PtrF8, q: Trial) -> None:
    """Normal curvature of a patch that presses everywhere."""
    cn = off(f, TF_CN)
    stiff = q.stiff / f[TF_AREA]
    cn[0], cn[1], cn[2] = stiff * f[TF_S], 0.0, 0.0
    cn[3], cn[4], cn[5] = stiff * f[TF_JYY], -stiff * f[TF_JXY], stiff * f[TF_JXX]


@kernel
def _hold(f: PtrF8, q: Trial) -> None:
    """Friction of a patch that sticks as a whole; without a limit there is no friction."""
    out = off(f, TF_F)
    per = 1.0 / f[TF_AREA] if q.limit > 0.0 else 0.0
    s, j_n = per * f[TF_S], per * (f[TF_JXX] + f[TF_JYY])
    out[3], out[4], out[5] = -s * q.g1, -s * q.g2, -j_n * q.th


@kernel
def _bend_hold(f: PtrF8, q: Trial) -> None:
    """Curvature of friction of a patch that sticks as a whole."""
    ct = off(f, TF_CT)
    for i in range(6):
        ct[i] = 0.0
    per = q.c_t / f[TF_AREA] if q.limit > 0.0 else 0.0
    ct[0], ct[3], ct[5] = per * f[TF_S], per * f[TF_S], per * (f[TF_JXX] + f[TF_JYY])


@kernel
def _single(f: PtrF8, q: Trial) -> None:
    """All at one point, with limit the friction limit itself."""
    out = off(f, TF_F)
    for i in range(6):
        out[i] = 0.0
    out[0] = max(q.k * f[TF_H] + q.p0, 0.0)
    if q.limit > 0.0:
        c = q.c_t if q.mode == SLIDES else 1.0
        g1, g2 = c * q.g1, c * q.g2
        size = sqrt(g1 * g1 + g2 * g2)
        s = q.limit / size if q.mode != HOLDS and size > q.limit else 1.0
        out[3], out[4] = -s * g1, -s * g2


@kernel
def _bend_single(f: PtrF8, q: Trial, change: tuple[float, float, float, float], hope: bool) -> None:
    """Curvature of a single point."""
    cn, ct = off(f, TF_CN), off(f, TF_CT)
    for i in range(6):
        cn[i], ct[i] = 0.0, 0.0
    if q.k * f[TF_H] + q.p0 > 0.0 or hope:
        cn[0] = q.stiff
    if q.limit > 0.0:
        if q.mode == HOLDS:
            ct[0], ct[3] = q.c_t, q.c_t
        else:
            c = q.c_t if q.mode == SLIDES else 1.0
            d = (c * change[0], c * change[1])
            b11, b12, b22 = _rub(off(f, TF_RUB), (c * q.g1, c * q.g2), d, q.limit, change[3])
            ct[0], ct[1], ct[3] = q.c_t * b11, q.c_t * b12, q.c_t * b22


@kernel
def _rub(
    z: PtrF8, g: tuple[float, float], change: tuple[float, float], most: float, length: float
) -> tuple[float, float, float]:
    """Slope of limited friction g min(1, λ/|g|) of a point against g: 11, 12, 22; z follows.

    change: what a whole step would have added to g; length: the share of it that was made.
    """
    size = sqrt(g[0] * g[0] + g[1] * g[1])
    if length == 0.0:
        per = 1.0 / max(size, most)
        z1, z2 = per * g[0], per * g[1]
    else:
        # where the step began
        g1, g2 = g[0] - length * change[0], g[1] - length * change[1]
        was = sqrt(g1 * g1 + g2 * g2)
        if was > most:
            turn = (g1 * change[0] + g2 * change[1]) / (was * was)
            z1 = (g1 + change[0]) / was - z[0] * turn
            z2 = (g2 + change[1]) / was - z[1] * turn
        else:
            z1, z2 = (g1 + change[0]) / most, (g2 + change[1]) / most
        z1, z2 = z[0] + length * (z1 - z[0]), z[1] + length * (z2 - z[1])
        per = 1.0 / max(1.0, sqrt(z1 * z1 + z2 * z2))
        z1, z2 = per * z1, per * z2
    z[0], z[1] = z1, z2
    if size <= most:
        return 1.0, 0.0, 1.0
    s, e1, e2 = most / size, g[0] / size, g[1] / size
    return (
        s * (1.0 - z1 * e1),
        -0.5 * s * (z1 * e2 + z2 * e1),
        s * (1.0 - z2 * e2),
    )


@kernel
def _resist_rolling(c: Touch, twist: PtrF8) -> None:
    """Torque against rolling: −M w/|w|, with M a length times the lagged normal force."""
    f = c.floats
    one, two = rolling(c, twist)
    most = f[TF_ROLLS] * f[TF_LAG]
    speed = max(sqrt(one * one + two * two), V_ROLL / f[TF_SIZE])
    f[TF_TORQUE], f[TF_TORQUE + 1] = -most * one / speed, -most * two / speed


@kernel
def _bend_rolling(c: Touch, twist: PtrF8, length: float) -> None:
    """Curvature of the torque against rolling."""
    f = c.floats
    one, two = rolling(c, twist)
    most, was = f[TF_ROLLS] * f[TF_LAG], off(f, TF_SPIN)
    stiff = most * f[TF_SIZE] / V_ROLL
    change = (0.0, 0.0)
    if length > 0.0:
        change = (stiff * (one - was[0]) / length, stiff * (two - was[1]) / length)
    was[0], was[1] = one, two
    curve = off(f, TF_CR)
    curve[0], curve[1], curve[2] = 0.0, 0.0, 0.0
    if most > 0.0:
        g = (stiff * one, stiff * two)
        b11, b12, b22 = _rub(off(f, TF_ROLL), g, change, most, length)
        curve[0], curve[1], curve[2] = stiff * b11, stiff * b12, stiff * b22


@kernel
def _press_points(t: Touches, c: Touch, q: Trial) -> None:
    """Normal force, point by point."""
    f = c.floats
    fn, f1, f2 = 0.0, 0.0, 0.0
    at = off(t.fan, 3 * c.ints[TI_FAN])
    for poly in range(c.ints[TI_POLYGONS] + c.ints[TI_NEAR]):
        corners = t.corners[c.ints[TI_POLYGON] + poly]
        last = off(at, 3 * corners)
        shared = f[TF_AREA] if poly < c.ints[TI_POLYGONS] else f[TF_REACH]
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
    out = off(f, TF_F)
    out[0], out[1], out[2] = fn, f1, f2


@kernel
def _bend_presses(t: Touches, c: Touch, q: Trial) -> None:
    """Normal curvature, point by point."""
    f = c.floats
    n0, nx, ny, nxx, nxy, nyy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    at = off(t.fan, 3 * c.ints[TI_FAN])
    for poly in range(c.ints[TI_POLYGONS] + c.ints[TI_NEAR]):
        corners = t.corners[c.ints[TI_POLYGON] + poly]
        last = off(at, 3 * corners)
        shared = f[TF_AREA] if poly < c.ints[TI_POLYGONS] else f[TF_REACH]
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
    cn = off(f, TF_CN)
    cn[0], cn[1], cn[2] = q.stiff * n0, q.stiff * ny, -q.stiff * nx
    cn[3], cn[4], cn[5] = q.stiff * nyy, -q.stiff * nxy, q.stiff * nxx


@kernel
def _rub_points(t: Touches, c: Touch, q: Trial) -> None:
    """Friction, point by point."""
    f = c.floats
    q1, q2, qn = 0.0, 0.0, 0.0
    square = c.ints[TI_SQUARE] == 1
    at = off(t.fan, 3 * c.ints[TI_FAN])
    for poly in range(c.ints[TI_POLYGONS]):
        corners = t.corners[c.ints[TI_POLYGON] + poly]
        last = off(at, 3 * corners)
        for i in range(1, corners + 1):
            here = off(at, 3 * i)
            area = fan_area(at, last, here) / f[TF_AREA]
            for j in range(POINTS):
                w, x, y, d = rub_point(j, square, at, last, here)
                d += f[TF_PRESSED] + f[TF_PRESSED + 1] * x + f[TF_PRESSED + 2] * y
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
    out = off(f, TF_F)
    out[3], out[4], out[5] = q1, q2, qn


@kernel
def _bend_rubs(t: Touches, c: Touch, q: Trial, change: tuple[float, float, float, float]) -> None:
    """Curvature of friction, point by point."""
    f = c.floats
    a11, a12, a1n, a22, a2n, ann = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    square = c.ints[TI_SQUARE] == 1
    at = off(t.fan, 3 * c.ints[TI_FAN])
    z = off(t.rub, 2 * POINTS * c.ints[TI_FAN])
    for poly in range(c.ints[TI_POLYGONS]):
        corners = t.corners[c.ints[TI_POLYGON] + poly]
        last = off(at, 3 * corners)
        for i in range(1, corners + 1):
            here = off(at, 3 * i)
            area = fan_area(at, last, here) / f[TF_AREA]
            for j in range(POINTS):
                w, x, y, d = rub_point(j, square, at, last, here)
                d += f[TF_PRESSED] + f[TF_PRESSED + 1] * x + f[TF_PRESSED + 2] * y
                if not d > 0.0 or w == 0.0:
                    continue
                c_p = q.c_t * d if q.mode == SLIDES else 1.0  # λ/v_ε of this point
                b11, b12, b22 = _rub(
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
    ct = off(f, TF_CT)
    ct[0], ct[1], ct[2], ct[3], ct[4], ct[5] = a11, a12, a1n, a22, a2n, ann


@kernel
def breaks(t: Touches, c: Touch, twist: PtrF8, dt: float) -> bool:
    """Whether a patch that was taken to hold exceeds its limit: ∫ |g|² > ∫ λ |g|."""
    f = c.floats
    limit = f[TF_MU] * f[TF_LIMIT]
    if c.ints[TI_MODE] == SLIDES or not limit > 0.0:
        return False
    _, _, _, u1, u2, wn = local_twist(c, twist)
    _, g1, g2, th = rubbing(c, dt, u1, u2, wn)
    if c.ints[TI_KIND] == POINT_KIND:
        return bool(g1 * g1 + g2 * g2 > limit * limit)
    per = 1.0 / f[TF_AREA]
    work = per * (f[TF_S] * (g1 * g1 + g2 * g2) + (f[TF_JXX] + f[TF_JYY]) * th * th)
    # ∫ λ |g| ≥ |∫ λ g|: a resting contact needs no more than this
    p0, px, py = f[TF_PRESSED], f[TF_PRESSED + 1], f[TF_PRESSED + 2]
    h0 = f[TF_H] + p0 * f[TF_S]
    hx = f[TF_HX] + px * f[TF_JXX] + py * f[TF_JXY]
    hy = f[TF_HY] + px * f[TF_JXY] + py * f[TF_JYY]
    e1, e2 = per * (h0 * g1 - hy * th), per * (h0 * g2 + hx * th)
    if work * work <= limit * limit * (e1 * e1 + e2 * e2):
        return False
    total = 0.0
    square = c.ints[TI_SQUARE] == 1
    at = off(t.fan, 3 * c.ints[TI_FAN])
    for poly in range(c.ints[TI_POLYGONS]):
        corners = t.corners[c.ints[TI_POLYGON] + poly]
        last = off(at, 3 * corners)
        for i in range(1, corners + 1):
            here = off(at, 3 * i)
            area = fan_area(at, last, here)
            for j in range(POINTS):
                w, x, y, d = rub_point(j, square, at, last, here)
                d += f[TF_PRESSED] + f[TF_PRESSED + 1] * x + f[TF_PRESSED + 2] * y
                if d > 0.0 and w > 0.0:
                    e1, e2 = g1 - th * y, g2 + th * x
                    total += w * area * d * sqrt(e1 * e1 + e2 * e2)
            last = here
        at = off(at, 3 * (corners + 1))
    return bool(work > limit * total * per)
