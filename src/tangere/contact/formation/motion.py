"""Velocity and acceleration of the held body from its poses alone.

The last n poses, Δt apart, are fitted by a parabola in time, and its slope and curvature are read
at the newest one, so that motion of constant acceleration is found without delay. With u the number
of samples from the middle of the window, h = (n − 1)/2 and m = (n² − 1)/12,

    x(u) = β₀ + β₁ u + β₂ (u² − m),    β₁ = Σ u x / Σ u²,    β₂ = Σ (u² − m) x / Σ (u² − m)²,
    v = (β₁ + 2 h β₂) / Δt,    a = 2 β₂ / Δt²

For the attitude x is φ in R = exp(φ) R_now: at φ = 0 its derivatives are ω and ω̇ in world axes.
Noise σ of a pose becomes σ √(192/n³)/Δt of v and σ √(720/n⁵)/Δt² of a.

Two windows: a short one for the twist that dampers use, a long one for the twist that decides and
the acceleration. The acceleration before a contact is the last whose window ended before it: an
impact bends the path, and the parabola would take that for prior motion.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.maths.quat import Quat, conjugate, product, to_vector
from tangere.maths.vec import Array, Vec3

NPOSE = 7  # position of the centre of mass [m], quaternion

# Columns of Motion.state
MO_PERIOD = 0  # Δt [s]
MO_LONG, MO_SHORT = 1, 2  # poses in the windows
MO_COUNT = 3  # poses there are
MO_NEWEST = 4  # place of the newest one
MO_TIME = 5  # of the newest pose [s]
MO_TOUCH = 6  # when a contact began last [s]
MO_TWIST = 7  # 6: long window, at the newest pose [m/s, rad/s]
MO_QUICK_TWIST = 13  # 6: short window
MO_ACCELERATION = 19  # 6: at the newest pose; 0 until the window is full [m/s², rad/s²]
MO_PRIOR = 25  # 6: at the last pose before a contact
NMOTION = 31

# Square of the sine of half an angle up to which five terms of arcsin are exact to 1e-11.
SMALL_SINE = 0.01


class Motion(NamedTuple):
    """Poses of late, and what follows from them.

    | field   | meaning                                | shape        |
    | history | ring of poses, as many as a window has | (n, NPOSE)   |
    | state   | see `MO_…`                             | (NMOTION,)   |
    """

    history: Array
    state: Array


def new_motion(window: float, short_window: float, period: float) -> Motion:
    """No poses yet; windows in seconds hold at least three."""
    long, short = (max(3, round(width / period) + 1) for width in (window, short_window))
    state = np.zeros(NMOTION)
    state[[MO_PERIOD, MO_LONG, MO_SHORT]] = period, long, short
    state[MO_TOUCH] = -np.inf
    return Motion(np.zeros((long, NPOSE)), state)


@kernel
def follow(m: Motion, pose: PtrF8, time: float) -> None:
    """Take in a pose; twists and accelerations follow. After a gap in time it begins anew."""
    state, history = m.state, m.history
    period, most = state[MO_PERIOD], int(state[MO_LONG])
    count = int(state[MO_COUNT])
    if count > 0 and not abs(time - state[MO_TIME] - period) < 0.5 * period:
        count = 0
        for k in range(6):
            state[MO_ACCELERATION + k] = 0.0
    newest = (int(state[MO_NEWEST]) + 1) % most
    # the window of the pose before must have left the last contact
    if not time - state[MO_TOUCH] < (most + 0.5) * period:
        for k in range(6):
            state[MO_PRIOR + k] = state[MO_ACCELERATION + k]
    row = off(history, NPOSE * newest)
    for k in range(NPOSE):
        row[k] = pose[k]
    count = min(count + 1, most)
    state[MO_COUNT], state[MO_NEWEST], state[MO_TIME] = count, newest, time
    _fit(state, history, newest, count, most)


@kernel
def _fit(state: PtrF8, history: PtrF8, newest: int, count: int, most: int) -> None:
    """Parabolas through the last poses, by their moments Σ x, Σ u x, Σ u² x."""
    n, quick = count, min(count, int(state[MO_SHORT]))
    h, hq = 0.5 * (n - 1), 0.5 * (quick - 1)
    now = off(history, NPOSE * newest)
    back = conjugate((now[3], now[4], now[5], now[6]))
    x0 = x1 = x2 = y0 = y1 = y2 = z0 = z1 = z2 = 0.0
    a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = 0.0
    for i in range(1, n):
        if i == quick:
            _derive(state, MO_QUICK_TWIST, quick, hq - h, (x0, x1, x2), (y0, y1, y2), (z0, z1, z2))
            _derive(
                state, MO_QUICK_TWIST + 3, quick, hq - h, (a0, a1, a2), (b0, b1, b2), (c0, c1, c2)
            )
        at = newest - i
        row = off(history, NPOSE * (at if at >= 0 else at + most))
        u = h - i
        x, y, z = row[0] - now[0], row[1] - now[1], row[2] - now[2]
        a, b, c = _turn((row[3], row[4], row[5], row[6]), back)
        x0, x1, x2 = x0 + x, x1 + u * x, x2 + u * u * x
        y0, y1, y2 = y0 + y, y1 + u * y, y2 + u * u * y
        z0, z1, z2 = z0 + z, z1 + u * z, z2 + u * u * z
        a0, a1, a2 = a0 + a, a1 + u * a, a2 + u * u * a
        b0, b1, b2 = b0 + b, b1 + u * b, b2 + u * u * b
        c0, c1, c2 = c0 + c, c1 + u * c, c2 + u * u * c
    _derive(state, MO_TWIST, n, 0.0, (x0, x1, x2), (y0, y1, y2), (z0, z1, z2))
    _derive(state, MO_TWIST + 3, n, 0.0, (a0, a1, a2), (b0, b1, b2), (c0, c1, c2))
    if n == quick:
        for k in range(6):
            state[MO_QUICK_TWIST + k] = state[MO_TWIST + k]
    full = 1.0 if n == most else 0.0
    s = 2.0 * full / state[MO_PERIOD] ** 2
    for k, moments in enumerate(((x0, x1, x2), (y0, y1, y2), (z0, z1, z2))):
        state[MO_ACCELERATION + k] = s * _parabola(moments, n, 0.0)[1]
    for k, moments in enumerate(((a0, a1, a2), (b0, b1, b2), (c0, c1, c2))):
        state[MO_ACCELERATION + 3 + k] = s * _parabola(moments, n, 0.0)[1]


@kernel
def _parabola(moments: Vec3, n: int, shift: float) -> tuple[float, float]:
    """β₁ and β₂ of n samples from the moments of x in u − shift."""
    s0, s1, s2 = moments
    s2 += 2.0 * shift * s1 + shift * shift * s0
    s1 += shift * s0
    if n < 2:
        return 0.0, 0.0
    m = (n * n - 1.0) / 12.0
    if n < 3:
        return s1 / (n * m), 0.0
    return s1 / (n * m), (s2 - m * s0) * 15.0 / (n * m * (n * n - 4.0))


@kernel
def _derive(state: PtrF8, at: int, n: int, shift: float, x: Vec3, y: Vec3, z: Vec3) -> None:
    """Slopes at the newest sample."""
    s = 1.0 / state[MO_PERIOD]
    for k, moments in enumerate((x, y, z)):
        b1, b2 = _parabola(moments, n, shift)
        state[at + k] = s * (b1 + (n - 1.0) * b2)


@kernel
def _turn(q: Quat, back: Quat) -> Vec3:
    """φ in R = exp(φ) R_now, the short way round; `back` turns R_now away.

    2 arcsin(s) e/s = 2 e (1 + s²/6 + 3 s⁴/40 + 5 s⁶/112 + 35 s⁸/1152 + …), s = |e|.
    """
    w, x, y, z = product(q, back)
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    s2 = x * x + y * y + z * z
    if s2 > SMALL_SINE:
        return to_vector((w, x, y, z))
    f = 2.0 + s2 * (1.0 / 3.0 + s2 * (0.15 + s2 * (5.0 / 56.0 + s2 * (35.0 / 576.0))))
    return (f * x, f * y, f * z)


@kernel
def above_band(a: Vec3, band: float) -> Vec3:
    """An acceleration of which nothing counts up to half the band, and all from the band on."""
    size = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    if not size < band:
        return a
    s = max(0.0, 2.0 * size / band - 1.0)
    return (s * a[0], s * a[1], s * a[2])
