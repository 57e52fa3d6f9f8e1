"""The law of a contact at given end-of-step twists, for a patch and for a single point.

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
until ∫ |g|² > ∫ λ |g|; then every point is limited by itself.

The derivative of limited friction, with e = g/|g|, is −ω (λ/|g|) (1 − e eᵀ) c: none along the slip.
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
    EF_B,
    EF_BOUNCE,
    EF_BT,
    EF_E,
    EF_F,
    EF_HESSIAN_ROLL,
    EF_K,
    EF_KT,
    EF_LAG,
    EF_LIMIT,
    EF_MEETS,
    EF_MU,
    EF_R1,
    EF_R2,
    EF_ROLL_Z,
    EF_ROLLS,
    EF_SIZE,
    EF_SLIP,
    EF_SPIN,
    EF_TH,
    EF_TORQUE,
    EF_U,
    EI_LIMITED,
    EI_MODE,
    HOLDS,
    SLIDES,
    Element,
    Local,
    rolling,
)

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
def trial(c: Element, u: Local, dt: float) -> Trial:
    """The law of a contact at a given motion."""
    f = c.floats
    un, w1, w2, u1, u2, wn = u
    k, b = f[EF_K] + f[EF_MEETS], f[EF_B]
    star = off(f, EF_U)
    c_t, g1, g2, th = slip_field(c, dt, u1, u2, wn)
    stiff = k * dt + b
    p0 = -k * dt * (un - star[0]) - b * un
    px, py = k * dt * (w2 - star[2]) + b * w2, -k * dt * (w1 - star[1]) - b * w1
    if f[EF_E] > 0.0:  # a hard impact is stopped by its speed, wherever in the step it falls
        k, p0, px, py = 0.0, -stiff * un, stiff * w2, -stiff * w1
    limit = f[EF_MU] * f[EF_LIMIT]
    return Trial(k, p0, px, py, stiff, limit, c_t, g1, g2, th, c.ints[EI_MODE])


@kernel
def slip_field(
    c: Element, dt: float, u1: float, u2: float, wn: float
) -> tuple[float, float, float, float]:
    """Growth of friction with the slip, and its field g: (g1 − th y, g2 + th x)."""
    f = c.floats
    if c.ints[EI_MODE] == SLIDES:
        return f[EF_MU] * f[EF_LIMIT] / V_EPS, u1, u2, wn
    k_t = f[EF_KT]
    c_t = k_t * dt + f[EF_BT]
    return (
        c_t,
        k_t * f[EF_R1] + c_t * u1,
        k_t * f[EF_R2] + c_t * u2,
        k_t * f[EF_TH] + c_t * wn,
    )


@kernel
def follow_slip(
    c: Element, q: Trial, u: Local, length: float
) -> tuple[tuple[float, float, float, float], bool]:
    """What the last Newton step, made by a share, would have added to the field g, and the share.

    Zeros where friction was not limited point by point in the last iteration. And whether the
    contact holds.
    """
    slip = off(c.floats, EF_SLIP)
    change = _change(q, slip, u, length if c.ints[EI_LIMITED] == 1 else 0.0)
    holds = q.mode == HOLDS or q.limit == 0.0
    c.ints[EI_LIMITED] = 0 if holds else 1
    slip[0], slip[1], slip[2] = u[3], u[4], u[5]
    return change, holds


@kernel
def _change(q: Trial, was: PtrF8, u: Local, length: float) -> tuple[float, float, float, float]:
    """What the last Newton step, made by a share, would have added to the field g; the share."""
    if length == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    scale = (1.0 if q.mode == SLIDES else q.c_t) / length
    return scale * (u[3] - was[0]), scale * (u[4] - was[1]), scale * (u[5] - was[2]), length


@kernel
def slip_hessian(
    z: PtrF8, g: tuple[float, float], change: tuple[float, float], most: float, length: float
) -> tuple[float, float, float]:
    """Derivative of limited friction g min(1, λ/|g|) of a point by g: 11, 12, 22; z follows.

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
def add_given(c: Element, twist: PtrF8) -> None:
    """Add the rebound that is given to the force of a contact; and resist its rolling."""
    f = c.floats
    for i in range(3):
        f[EF_F + i] += f[EF_BOUNCE + i]
    if f[EF_ROLLS] > 0.0:
        _resist_rolling(c, twist)


@kernel
def _resist_rolling(c: Element, twist: PtrF8) -> None:
    """Torque against rolling: −M w/|w|, with M a length times the lagged normal force."""
    f = c.floats
    one, two = rolling(c, twist)
    most = f[EF_ROLLS] * f[EF_LAG]
    speed = max(sqrt(one * one + two * two), V_ROLL / f[EF_SIZE])
    f[EF_TORQUE], f[EF_TORQUE + 1] = -most * one / speed, -most * two / speed


@kernel
def rolling_hessian(c: Element, twist: PtrF8, length: float) -> None:
    """Hessian of the torque against rolling, if there is one."""
    f = c.floats
    if not f[EF_ROLLS] > 0.0:
        return
    one, two = rolling(c, twist)
    most, was = f[EF_ROLLS] * f[EF_LAG], off(f, EF_SPIN)
    stiff = most * f[EF_SIZE] / V_ROLL
    change = (0.0, 0.0)
    if length > 0.0:
        change = (stiff * (one - was[0]) / length, stiff * (two - was[1]) / length)
    was[0], was[1] = one, two
    out = off(f, EF_HESSIAN_ROLL)
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    if most > 0.0:
        g = (stiff * one, stiff * two)
        b11, b12, b22 = slip_hessian(off(f, EF_ROLL_Z), g, change, most, length)
        out[0], out[1], out[2] = stiff * b11, stiff * b12, stiff * b22
