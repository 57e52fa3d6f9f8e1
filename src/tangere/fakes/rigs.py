"""Rigs without a session: a hand that presses a tool against a plane."""

from __future__ import annotations

import numpy as np

from tangere.contact_planes import (
    NPLANE,
    PLANE_DAMPING,
    PLANE_NAME,
    PLANE_NORMAL,
    PLANE_STIFFNESS,
)
from tangere.haptics.coupling import DirectCoupling, VirtualCoupling
from tangere.haptics.layout import (
    NPACKET,
    NREAD,
    NROW,
    PACKET_COUNT,
    PACKET_PLANES,
    PACKET_SEQUENCE,
    PACKET_STATE,
    PACKET_TIME,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    SET_INERTIA,
    SET_MASS,
    SET_STEP,
    SOURCE_PORT,
    TOOL_QUATERNION,
    Rig,
    new_rig,
)
from tangere.haptics.mailbox import post
from tangere.haptics.safety import Safety
from tangere.haptics.tick import run_ticks
from tangere.maths.vec import Array

DT = 1e-3
# No ramp, no waiting, no lead, no net: what is computed is sent.
PLAIN = Safety(ramp=0.0, samples=0, lead=False, net=False)
DEPTH = 0.005  # [m] of the hand under the plane z = 0
STIFFNESS = 200.0  # [N/m] of the coupling: a force of nearly 1 N


def free_rig(
    ticks: int = 1,
    safety: Safety | None = None,
    coupling: VirtualCoupling | DirectCoupling | None = None,
) -> Rig:
    """A hand and a tool at rest at the origin, nothing to touch."""
    rig = new_rig(ticks)
    s = rig.settings
    (coupling or VirtualCoupling(stiffness=STIFFNESS)).apply(s)
    (safety or PLAIN).apply(s)
    s[SET_STEP], s[SET_MASS] = DT, 0.01
    s[SET_INERTIA : SET_INERTIA + 3] = 1e-5
    return rig


def pressing_rig(
    ticks: int,
    safety: Safety | None = None,
    coupling: VirtualCoupling | DirectCoupling | None = None,
) -> Rig:
    """A hand that stays under the plane z = 0, the tool pressed against it from above."""
    rig = free_rig(ticks, safety, coupling)
    rig.table[:, READ_POSITION + 2] = -DEPTH
    return rig


def packet(
    number: int, time: float, count: int = 1, stiffness: float = 2000.0, damping: float = 1.0
) -> Array:
    """`count` times the plane z = 0, sharing stiffness and damping."""
    found = np.zeros(NPACKET)
    found[PACKET_SEQUENCE], found[PACKET_TIME], found[PACKET_COUNT] = number, time, count
    found[PACKET_STATE + TOOL_QUATERNION] = 1.0
    for i in range(count):
        plane = found[PACKET_PLANES + i * NPLANE :]
        plane[PLANE_NORMAL + 2] = -1.0
        plane[PLANE_STIFFNESS] = stiffness / count
        plane[PLANE_DAMPING] = damping / count
        plane[PLANE_NAME] = i + 1
    return found


def send_packet(rig: Rig, values: Array) -> None:
    """As the contact loop does."""
    post(rig.packets, rig.packets_at, values, NPACKET)


def reading(number: int, z: float = -DEPTH, status: float = 0.0, time: float = 0.0) -> Array:
    """A sample of a device upright at height z."""
    found = np.zeros(NREAD)
    found[READ_POSITION + 2], found[READ_QUATERNION] = z, 1.0
    found[READ_SEQUENCE], found[READ_TIME] = number, time
    found[READ_STATUS] = status
    return found


def send_reading(rig: Rig, values: Array) -> None:
    """As the thread of an adapter does."""
    rig.source[0] = SOURCE_PORT
    post(rig.inbox, rig.inbox_at, values, NREAD)


def run(rig: Rig, first: int, count: int) -> Array:
    """Rows of some ticks, with nothing new from the contact loop."""
    rows = np.zeros((count, NROW))
    run_ticks(rig, first, count, 0.0, rows)
    return rows


def run_in_touch(rig: Rig, first: int, count: int) -> Array:
    """Rows of some ticks, with a fresh packet before each."""
    rows = []
    for n in range(first, first + count):
        send_packet(rig, packet(n + 1, n * DT))
        rows.append(run(rig, n, 1)[0])
    return np.array(rows)
