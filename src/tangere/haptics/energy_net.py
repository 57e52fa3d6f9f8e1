"""The ledger of energy at the device, and the net that softens the force when it is overdrawn.

*Ledger.* What the hand gave is paired with what the motors did, not with what was just computed:

    E ← E − f_a·Δx − τ_a·Δθ − g_a Δs

f_a, τ_a: the wrench that the motors held since the last sample, d ticks old, or what the device
says that it gives; g_a closes a gripper that opened by Δs. E equals the work that the person did on
the device, exactly where d is right.

*Net.* Lead and cap (`haptics.reading`, `haptics.safety`) keep a device passive whose delay is
known. The net is for what nobody modelled: late contacts, active effects, a wrong delay.

    B ← B − f_a·Δx − …                                     as E, but
    B > S + 2 mJ:  B ← B − (B − S − 2 mJ) T/0.2 s          what was lost long ago is not saved up
    B < 0:         B ← B (1 − T/0.5 s)                     forgiven: at most 1 mW for ever
    p = max(0, Σ in flight f_j·Δx̄)                         work that can no longer be stopped
    g* = clamp(1 + (B − p)/0.5 mJ, 0, 1)  while B < 0 or g < 1, else 1

and the gain g falls to g* within 10 ms and rises within 0.5 s at the fastest. S is the energy that
tool, coupling and planes store, as the device sees it. Scaling each force to the energy left bounds
the energy as well, but chatters; see the decision on haptic sessions.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.haptics.fields import vec_at
from tangere.haptics.layout import (
    MAX_DELAY,
    MEM_APPLIED,
    MEM_APPLIED_SUM,
    MEM_BUDGET,
    MEM_LINE,
    MEM_NET,
    MEM_OBSERVED,
    MEM_STEP,
    MEM_TICKS,
    READ_APPLIED,
    READ_TELLS_APPLIED,
    SEND_FORCE,
    SET_NET,
    SET_SCALE,
    SET_STEP,
)
from tangere.maths.vec import Vec3, dot

HEAD = 2e-3  # [J] that may be given beyond what is stored
LEAK = 0.2  # [s] time constant with which more than that is let go
FORGIVE = 0.5  # [s] time constant with which an overdraft is forgiven
SOFT = 0.5e-3  # [J] overdraft at which nothing is left of the force
FALL, RISE = 0.01, 0.5  # [s] in which the gain goes from one end to the other
BLEND = 0.3  # of a new step in the smoothed one


@kernel
def apply_delayed(m: PtrF8, n: int, delay: int) -> None:
    """What the motors gave in the tick that has just gone: the command of `delay` ticks before.

    `n` counts the commands sent so far.
    """
    for k in range(7):
        m[MEM_APPLIED + k] = 0.0
    if n > delay:
        old = off(m, MEM_LINE + 7 * ((n - 1 - delay) % (MAX_DELAY + 1)))
        for k in range(7):
            m[MEM_APPLIED + k] = old[k]
    for k in range(7):
        m[MEM_APPLIED_SUM + k] += m[MEM_APPLIED + k]
    m[MEM_TICKS] += 1.0


@kernel
def remember_command(m: PtrF8, n: int, send: PtrF8) -> None:
    """Command number n (from 0) is on its way."""
    new = off(m, MEM_LINE + 7 * (n % (MAX_DELAY + 1)))
    for k in range(7):
        new[k] = send[SEND_FORCE + k]


@kernel
def book(m: PtrF8, reading: PtrF8, dx: Vec3, turned: Vec3, squeezed: float) -> None:
    """Enter the work of the motors on the way since the last sample.

    Several ticks may lie between two samples: the mean of what they gave was held over the way.
    """
    if m[MEM_TICKS] > 0.0:
        share = 1.0 / m[MEM_TICKS]
        if reading[READ_TELLS_APPLIED] != 0.0:
            given = dot(vec_at(reading, READ_APPLIED), dx)
            for k in range(3):
                m[MEM_APPLIED + k] = reading[READ_APPLIED + k]
        else:
            given = share * dot(vec_at(m, MEM_APPLIED_SUM), dx)
        given += share * dot(vec_at(m, MEM_APPLIED_SUM + 3), turned)
        given -= share * m[MEM_APPLIED_SUM + 6] * squeezed  # it closes
        m[MEM_OBSERVED] -= given
        m[MEM_BUDGET] -= given
        for k in range(7):
            m[MEM_APPLIED_SUM + k] = 0.0
        m[MEM_TICKS] = 0.0
    for k in range(3):
        m[MEM_STEP + k] += BLEND * (dx[k] - m[MEM_STEP + k])
        m[MEM_STEP + 3 + k] += BLEND * (turned[k] - m[MEM_STEP + 3 + k])
    m[MEM_STEP + 6] += BLEND * (-squeezed - m[MEM_STEP + 6])


@kernel
def net_gain(settings: PtrF8, m: PtrF8, n: int, delay: int, stored: float, power: float) -> float:
    """The share of the wrench that is sent, by the ledger.

    `n`: commands sent so far; `stored`: energy of tool, coupling and planes [J]; `power`: of
    effects that are active by intent [W].
    """
    dt = settings[SET_STEP]
    sigma = settings[SET_SCALE]
    if power > 0.0 and m[MEM_BUDGET] < HEAD:
        m[MEM_BUDGET] = min(HEAD, m[MEM_BUDGET] + power * dt)
    most = stored / (sigma * sigma) + HEAD
    if m[MEM_BUDGET] > most:
        m[MEM_BUDGET] -= (m[MEM_BUDGET] - most) * dt / LEAK
    elif m[MEM_BUDGET] < 0.0:
        m[MEM_BUDGET] *= 1.0 - dt / FORGIVE
    budget, g = m[MEM_BUDGET], m[MEM_NET]
    goal = 1.0
    if settings[SET_NET] != 0.0 and (budget < 0.0 or g < 1.0):
        goal = min(1.0, max(0.0, 1.0 + (budget - _in_flight(m, n, delay)) / SOFT))
    m[MEM_NET] = max(goal, g - dt / FALL) if goal < g else min(goal, g + dt / RISE)
    return float(m[MEM_NET])


@kernel
def _in_flight(m: PtrF8, n: int, delay: int) -> float:
    """Work of the commands on their way, if the hand moves on as it does [J]; 0 at least."""
    work = 0.0
    for j in range(max(0, n - delay), n):
        line = off(m, MEM_LINE + 7 * (j % (MAX_DELAY + 1)))
        for k in range(7):
            work += line[k] * m[MEM_STEP + k]
    return max(0.0, work)
