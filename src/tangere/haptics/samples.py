"""From the poses that a driver tells to readings: what makes sense, which sign, how fast.

A driver gives positions and rotation matrices; a reading has a quaternion whose sign does not jump
and a velocity. Both need the sample before, which is kept in `port_memory` of a rig.

Velocity and angular velocity are differences of samples by their own times through a first-order
filter, v ← v + (Δx/Δt − v) Δt/(Δt + τ): the filters of the vendors' own estimates are ten times as
slow, and delay is what makes a stiff contact unstable.
"""

from __future__ import annotations

from math import isfinite, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.haptics.fields import put_quat, put_vec, quat_at, vec_at
from tangere.haptics.layout import (
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_TIME,
    READ_VELOCITY,
)
from tangere.maths.quat import Quat, turn_between
from tangere.maths.vec import Vec3

FILTER = 2e-3  # τ [s]
# Rounding of a driver's matrix is far inside; a matrix of zeros has a quaternion of length ½.
SHORTEST, LONGEST = 0.6, 1.6

# ------------------------------------------------ columns of the memory
LAST_TIME = 0  # of the newest sample [ns]
LAST_POSITION = 1  # 3
LAST_QUATERNION = 4  # 4
LAST_VELOCITY = 8  # 3: filtered
LAST_OMEGA = 11  # 3
LAST_KNOWN = 14  # 1: there is one


@kernel
def accept(m: PtrF8, stamp_ns: int, x: Vec3, q: Quat, reading_out: PtrF8) -> bool:
    """Whether a new sample makes sense; then it is in the reading, with its velocities and time.

    Otherwise nothing changes. The first sample has no velocity, and w ≥ 0.
    """
    size = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if not (isfinite(x[0]) and isfinite(x[1]) and isfinite(x[2]) and SHORTEST < size < LONGEST):
        return False
    first = m[LAST_KNOWN] == 0.0
    if first:
        m[LAST_KNOWN] = 1.0
        for k in range(6):
            m[LAST_VELOCITY + k] = 0.0
        put_quat(m, LAST_QUATERNION, (1.0, 0.0, 0.0, 0.0))
    before = quat_at(m, LAST_QUATERNION)
    same = before[0] * q[0] + before[1] * q[1] + before[2] * q[2] + before[3] * q[3]
    s = 1.0 / size if same >= 0.0 else -1.0 / size
    unit = (s * q[0], s * q[1], s * q[2], s * q[3])
    dt = 1e-9 * (stamp_ns - m[LAST_TIME])
    if not first and dt > 0.0:
        was = vec_at(m, LAST_POSITION)
        turn = turn_between(before, unit)
        blend = dt / (dt + FILTER)
        for k in range(3):
            m[LAST_VELOCITY + k] += blend * ((x[k] - was[k]) / dt - m[LAST_VELOCITY + k])
            m[LAST_OMEGA + k] += blend * (turn[k] / dt - m[LAST_OMEGA + k])
    m[LAST_TIME] = stamp_ns
    put_vec(m, LAST_POSITION, x)
    put_quat(m, LAST_QUATERNION, unit)
    put_vec(reading_out, READ_POSITION, x)
    put_quat(reading_out, READ_QUATERNION, unit)
    put_vec(reading_out, READ_VELOCITY, vec_at(m, LAST_VELOCITY))
    put_vec(reading_out, READ_OMEGA, vec_at(m, LAST_OMEGA))
    reading_out[READ_TIME] = 1e-9 * stamp_ns
    return True
