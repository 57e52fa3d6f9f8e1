"""A session: a scene, a contact method, and for each tool a coupling and a device.

One code for two clocks. On the *virtual clock* everything runs in this thread, tick by tick, and
the same input gives the same trace to the last bit. In *real time* the servo runs in compiled code
on a thread of its own, the contact loop on another, and devices, recorder and viewer beside them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from tangere.devices.device import Device
from tangere.devices.simulated import Hand
from tangere.errors import SceneError
from tangere.haptics.coupling import DirectCoupling
from tangere.haptics.layout import (
    CONTACT_HELD,
    CONTACT_LINEAR,
    CONTACT_PLANES,
    HAND_POSITION,
    HAND_QUATERNION,
    NPACKET,
    NROW,
    NSTATE,
    SET_CONTACT,
    SET_GRIP,
    SET_GRIP_QUATERNION,
    SET_INERTIA,
    SET_INTEGRATOR,
    SET_MASS,
    SET_STEP,
    SOURCE_ARM,
    SOURCE_TABLE,
    STATE_HAND,
    STATE_TOOL,
    STEP_EULER,
    STEP_IMPLICIT,
    STEP_IMPLICIT13,
    STEP_RK4,
    TOOL_POSITION,
    TOOL_QUATERNION,
    Rig,
    new_rig,
)
from tangere.haptics.mailbox import post
from tangere.haptics.safety import Safety, unlimited
from tangere.haptics.tick import run_ticks
from tangere.scene.compile import principal_frame, quat_product, quaternion_of, rotation_of
from tangere.scene.scene import Scene, Tool
from tangere.session.contact import SceneContact
Trace = Any
find = None

if TYPE_CHECKING:
    import os

    from tangere.maths.vec import Array
    from tangere.simulation import Point, Volume

ContactModel = Literal["planes", "linear", "held"]
ToolStep = Literal["implicit", "implicit13", "rk4", "euler"]
CONTACT_MODELS = {"planes": CONTACT_PLANES, "linear": CONTACT_LINEAR, "held": CONTACT_HELD}
TOOL_STEPS = {
    "implicit": STEP_IMPLICIT,
    "implicit13": STEP_IMPLICIT13,
    "rk4": STEP_RK4,
    "euler": STEP_EULER,
}
RATES = (100.0, 4000.0)  # of the servo [Hz]


class Session:
    """Hands in a scene."""

    def __init__(
        self,
        scene: Scene,
        *,
        method: str | Volume | Point = "volume",
        device: str | Device | Sequence[str | Device] = "browser",
        rate: float = 1000.0,
        contact_rate: float | None = None,
        latency: int = 0,
        contact: ContactModel = "planes",
        tool_step: ToolStep = "implicit",
        safety: Safety | None = None,
    ) -> None:
        """Compile the scene and prepare every hand; nothing is opened yet.

        Args:
            scene: With at least one tool.
            method: Contact method, as for `Simulation`.
            device: One for each tool: a name, or a device.
            rate: Of the servo [Hz].
            contact_rate: Of the contact loop [Hz]; that of the servo if not given.
            latency: Contact periods between a query and its use, on the virtual clock.
            contact: What the servo knows of contacts between two packets: unilateral planes, the
                wrench with its derivative, or the wrench alone.
            tool_step: Integrator of the tools.
            safety: Limits at the devices; those of each device if not given.
        """
        if not isinstance(scene, Scene):
            raise SceneError(f"Session needs a Scene, not {type(scene).__name__}")
        if not scene.tools:
            raise SceneError("scene has no tool to hold: add one with scene.add_tool(…)")
        self.scene = scene
        self.rate = _between("rate", rate, *RATES)
        self.period = _period(self.rate, contact_rate)
        self.devices = _devices(device, scene.tools)
        self.latency = int(_between("latency", latency, 0, 100))
        _choose("contact", contact, get_args(ContactModel))
        _choose("tool_step", tool_step, get_args(ToolStep))
        self.method = method
        self.options = {"contact": contact, "tool_step": tool_step}
        self.safety = safety
        self.rigs = [self._new_rig(*pair) for pair in zip(scene.tools, self.devices, strict=True)]
        self.contact = SceneContact(scene, method, self.period / self.rate, self.rigs)
        self.turn_seconds: list[float] = []

    @property
    def simulation(self) -> Any:
        """The scene in motion."""
        return self.contact.simulation

    def _new_rig(self, tool: Tool, device: Device) -> Rig:
        rig = new_rig()
        s = rig.settings
        s[SET_STEP] = 1.0 / self.rate
        s[SET_INTEGRATOR] = TOOL_STEPS[self.options["tool_step"]]
        s[SET_CONTACT] = CONTACT_MODELS[self.options["contact"]]
        moments, axes = principal_frame(tool.inertia)
        principal = quaternion_of(axes)
        s[SET_MASS], s[SET_INERTIA : SET_INERTIA + 3] = tool.mass, moments
        s[SET_GRIP : SET_GRIP + 3] = rotation_of(principal).T @ (tool.grip - tool.centre)
        s[SET_GRIP_QUATERNION : SET_GRIP_QUATERNION + 4] = principal * (1.0, -1.0, -1.0, -1.0)
        tool.coupling.apply(s)
        turned = rotation_of(tool.orientation)
        rig.tool[TOOL_POSITION : TOOL_POSITION + 3] = tool.position + turned @ tool.centre
        rig.tool[TOOL_QUATERNION : TOOL_QUATERNION + 4] = quat_product(tool.orientation, principal)
        rig.hand[HAND_POSITION : HAND_POSITION + 3] = tool.position + turned @ tool.grip
        rig.hand[HAND_QUATERNION : HAND_QUATERNION + 4] = tool.orientation
        if self.safety is not None:
            self.safety.write(s)
        elif hasattr(device, "table"):
            unlimited(s)  # nobody's hand
        else:
            limits_of(device).write(s)
        state = np.zeros(NSTATE)
        state[STATE_TOOL : STATE_TOOL + len(rig.tool)] = rig.tool
        state[STATE_HAND : STATE_HAND + len(rig.hand)] = rig.hand
        post(rig.states, rig.states_at, state, NSTATE)
        return rig

    def run(self, seconds: float | None = None, *, realtime: bool = True) -> Trace:
        """Everything that happened in `seconds`; without, until every script has ended.

        Args:
            seconds: How long; None runs until `stop` is called (real time only).
            realtime: False: on the virtual clock, deterministic and without threads.
        """
        if realtime:
            raise NotImplementedError
        if seconds is None:
            raise SceneError("Session.run: on the virtual clock give seconds, such as 10")
        return self._run_virtual(int(round(_between("seconds", seconds, 0.0, 1e6) * self.rate)))

    def _run_virtual(self, ticks: int) -> Trace:
        """Both loops in turn: a contact period, then its ticks."""
        for rig, device in zip(self.rigs, self.devices, strict=True):
            if not hasattr(device, "table"):
                raise SceneError(
                    f"{device.info.name} moves in real time only: leave out realtime=False, or use "
                    "devices.Scripted, Playback or Hand"
                )
            _fill(rig, device, self.rate, ticks)
        self.rigs[:] = [
            rig._replace(table=device.table(self.rate, ticks))  # type: ignore[attr-defined]
            for rig, device in zip(self.rigs, self.devices, strict=True)
        ]
        rows = np.zeros((ticks, len(self.rigs), NROW))
        block = np.zeros((self.period, NROW))
        waiting: deque[list[Array]] = deque()
        for first in range(0, ticks, self.period):
            begin = time.perf_counter()
            waiting.append(self.contact.turn())
            if len(waiting) > self.latency:
                self.contact.send(waiting.popleft())
            count = min(self.period, ticks - first)
            for i, rig in enumerate(self.rigs):
                run_ticks(rig, first, count, 0.0, block)
                rows[first : first + count, i] = block[:count]
            self.turn_seconds.append(time.perf_counter() - begin)
        return rows


def limits_of(device: Device) -> Safety:
    """Limits within what a device can do; one that displays nothing shows what it would get."""
    info = device.info
    if info.max_force == 0.0:
        return Safety()
    return Safety(
        force=min(info.max_force, 1e3),
        torque=min(info.max_torque, 1e2),
    )


def _fill(rig: Rig, device: Any, rate: float, ticks: int) -> None:
    """Tell the rig where its readings come from."""
    rig.source[:] = (SOURCE_ARM if isinstance(device, Hand) else SOURCE_TABLE, ticks)
    if isinstance(device, Hand):
        rig.arm[:] = device.arm()


def _devices(given: str | Device | Sequence[str | Device], tools: list[Tool]) -> list[Device]:
    several = [given] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
    if len(several) != len(tools):
        raise SceneError(
            f"{len(several)} devices for {len(tools)} tools "
            f"({', '.join(tool.name for tool in tools)}): give one for each"
        )
    return [find(each) for each in several]


def _period(rate: float, contact_rate: float | None) -> int:
    """Ticks per contact period."""
    if contact_rate is None:
        return 1
    wanted = rate / _between("contact_rate", contact_rate, 1.0, rate)
    if abs(wanted - round(wanted)) > 1e-6 * wanted:
        raise SceneError(
            f"contact_rate {contact_rate:g} Hz does not divide the rate of {rate:g} Hz: "
            f"take {rate / max(1, round(wanted)):g} Hz"
        )
    return round(wanted)


def _between(what: str, value: Any, least: float, most: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if least <= number <= most:
        return number
    raise SceneError(f"{what} {value!r}: give a number from {least:g} to {most:g}")


def _choose(what: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SceneError(f"unknown {what} {value!r}; choose one of: {', '.join(choices)}")
