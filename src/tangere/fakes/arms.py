"""A person's arm at a device that is late: leaning on a plane, tapping it, pressing it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tangere.devices.simulated import DeviceModel, Hand
from tangere.fakes.rigs import DT, free_rig, packet, run, send_packet
from tangere.haptics.arm import ARM_GIVEN
from tangere.haptics.coupling import DirectCoupling, VirtualCoupling
from tangere.haptics.layout import (
    NROW,
    PACKET_DAMPING,
    PACKET_STATE,
    PACKET_STIFFNESS,
    PACKET_WRENCH,
    READ_POSITION,
    READ_QUATERNION,
    READ_TIME,
    ROW_NET,
    ROW_SENT,
    SET_CONTACT,
    SET_DELAY,
    SET_INERTIA,
    SET_MASS,
    SET_PERIOD,
    SOURCE_ARM,
    TOOL_MOMENTUM,
)
from tangere.haptics.safety import Safety
from tangere.maths.vec import Array

# Wide limits, the usual slew rate, no ramp: what is measured is lead and net.
WIDE = Safety(
    force=12.0,
    torque=5.0,
    power=1e3,
    ramp=0.0,
    jump=10.0,
    speed=50.0,
    samples=0,
    torque_slew=np.inf,
)
COUPLINGS: dict[str, tuple[VirtualCoupling | DirectCoupling, float]] = {
    "virtual 200": (VirtualCoupling(stiffness=200.0), 2000.0),
    "virtual 1000": (VirtualCoupling(stiffness=1000.0, max_force=12.0), 5000.0),
    "direct 1000": (DirectCoupling(), 1000.0),
}


def intent(kind: str, ticks: int) -> Array:
    """Height at which the person wants to be [m]."""
    t = DT * np.arange(ticks)
    if kind == "lean":  # a step into the plane
        return np.asarray(np.where(np.arange(ticks) < 50, 0.002, -0.02))
    if kind == "tap":
        return np.asarray(0.003 - 0.012 * (0.5 - 0.5 * np.cos(2 * np.pi * 3 * t)))
    down, up = np.clip((t - 0.1) / 0.3, 0, 1), np.clip((t - 0.9) / 0.3, 0, 1)  # press, let go
    return 0.003 - 0.02 * (_smooth(down) - _smooth(up))


def _smooth(s: Array) -> Array:
    return np.asarray(s**3 * (10 - 15 * s + 6 * s * s))


@dataclass(frozen=True)
class Run:
    """What happened, tick by tick."""

    rows: Array
    given: Array  # by the motors, by the arm's own books [J]

    @property
    def most(self) -> float:
        """Most energy that the motors ever gave [J]."""
        return float(self.given.max())

    @property
    def force(self) -> Array:
        """Force sent [N]."""
        return self.rows[:, ROW_SENT : ROW_SENT + 3]

    @property
    def steps(self) -> Array:
        """Change of the force from tick to tick [N]."""
        return np.asarray(np.linalg.norm(np.diff(self.force, axis=0), axis=1))

    @property
    def rms(self) -> float:
        """Root mean square of the steps [N]."""
        return float(np.sqrt((self.steps**2).mean()))

    @property
    def net(self) -> Array:
        """Share of the force that the net lets through."""
        return self.rows[:, ROW_NET]


def lean(
    delay: int,
    kind: str = "lean",
    coupling: str = "virtual 1000",
    *,
    safety: Safety = WIDE,
    ticks: int = 2000,
    model: dict[str, Any] | None = None,
    hand: dict[str, Any] | None = None,
    assumed: int | None = None,
    stiffness: float | None = None,
    damping: float = 1.0,
) -> Run:
    """An arm at a device `delay` ticks late, of which the servo assumes `assumed`."""
    held, k = COUPLINGS[coupling]
    rig = free_rig(ticks, safety, held)
    rig.settings[SET_DELAY] = DT * (delay if assumed is None else assumed)
    rig.source[0] = SOURCE_ARM
    rig.arm[:] = Hand(device=DeviceModel(delay=delay, **(model or {})), **(hand or {})).arm()
    z = intent(kind, ticks)
    rig.table[:, READ_POSITION + 2] = z
    rig.table[:, READ_TIME] = DT * np.arange(ticks)
    rig.tool[2] = rig.hand[2] = z[0]
    rows, given = np.zeros((ticks, NROW)), np.zeros(ticks)
    for n in range(ticks):
        k_n = k if stiffness is None else stiffness
        send_packet(rig, packet(n + 1, n * DT, stiffness=k_n, damping=damping))
        rows[n] = run(rig, n, 1)[0]
        given[n] = rig.arm[ARM_GIVEN]
    return Run(rows, given)


def swing(delay: int, safety: Safety = WIDE, ticks: int = 2000) -> Run:
    """An arm that turns a grip to and fro against an undamped torsion spring that stands still."""
    safety = replace(safety, fresh=np.inf, stale=np.inf)
    coupling = VirtualCoupling(rotational_stiffness=1.0, rotational_damping=0.0, max_torque=5.0)
    rig = free_rig(ticks, safety, coupling)
    rig.settings[SET_MASS] = 1e3
    rig.settings[SET_INERTIA : SET_INERTIA + 3] = 1e3
    rig.settings[SET_DELAY] = DT * delay
    rig.source[0] = SOURCE_ARM
    rig.arm[:] = Hand(device=DeviceModel(delay=delay)).arm()
    t = DT * np.arange(ticks)
    angle = 0.4 * np.sin(2 * np.pi * 3 * t)
    rig.table[:, READ_QUATERNION] = np.cos(angle / 2)
    rig.table[:, READ_QUATERNION + 3] = np.sin(angle / 2)
    rig.table[:, READ_TIME] = t
    rows, given = np.zeros((ticks, NROW)), np.zeros(ticks)
    for n in range(ticks):
        rows[n] = run(rig, n, 1)[0]
        given[n] = rig.arm[ARM_GIVEN]
    return Run(rows, given)


def late_contact(
    mode: int,
    period: int,
    *,
    coupling: float = 500.0,
    stiffness: float = 5000.0,
    known: bool = True,
    ticks: int = 2000,
    safety: Safety = WIDE,
) -> Array:
    """Rows of an arm leaning on a plane whose packets come every `period` ticks, a period late.

    known: the packets say how stiff the contact is.
    """
    rig = free_rig(ticks, safety, VirtualCoupling(stiffness=coupling, max_force=12.0))
    rig.settings[SET_CONTACT], rig.settings[SET_PERIOD] = mode, period * DT
    rig.source[0] = SOURCE_ARM
    rig.arm[:] = Hand().arm()
    z = intent("lean", ticks)
    rig.table[:, READ_POSITION + 2] = z
    rig.table[:, READ_TIME] = DT * np.arange(ticks)
    rig.tool[2] = rig.hand[2] = z[0]
    waiting: deque[Array] = deque()
    rows = []
    for first in range(0, ticks, period):
        y, b = rig.tool, 1.0
        found = packet(first + 1, first * DT, stiffness=stiffness, damping=b)
        found[PACKET_STATE : PACKET_STATE + 13] = y
        if y[2] < 0.0:
            speed = y[TOOL_MOMENTUM + 2] / rig.settings[SET_MASS]
            found[PACKET_WRENCH + 2] = max(0.0, -stiffness * y[2] - b * speed)
            if known:
                found[PACKET_STIFFNESS + 14], found[PACKET_DAMPING + 14] = stiffness, b
        waiting.append(found)
        if len(waiting) > 1:
            send_packet(rig, waiting.popleft())
        rows.append(run(rig, first, min(period, ticks - first)))
    return np.concatenate(rows)
