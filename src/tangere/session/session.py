"""A session: a scene, a contact method, and for each tool a coupling and a device.

One code for two clocks. On the *virtual clock* everything runs in this thread, tick by tick, and
the same input gives the same trace to the last bit. In *real time* the servo runs in compiled code
on a thread of its own, the contact loop on another, and devices, recorder and viewer beside them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from tangere.contact.method import methods, to_words
from tangere.devices.device import Device
from tangere.devices.registry import find
from tangere.devices.simulated import Hand
from tangere.errors import SceneError, choose
from tangere.haptics.layout import (
    CONTACT_HELD,
    CONTACT_LINEAR,
    CONTACT_PLANES,
    FAULT_RECORD,
    HAND_POSITION,
    HAND_QUATERNION,
    NREAD,
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
    SOURCE_PORT,
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
from tangere.haptics.safety import MEM_OUTSIDE, Safety, place_hand, unlimited
from tangere.haptics.tick import run_ticks
from tangere.maths.rotations import quat_conjugate, quat_product, quaternion_of, rotation_of
from tangere.scene.compile import principal_frame
from tangere.scene.files import scene_text
from tangere.scene.scene import Scene, Tool
from tangere.session.threads import Live
from tangere.trace.columns import named_settings
from tangere.trace.recorder import Recorder, surroundings
from tangere.trace.trace import Trace

if TYPE_CHECKING:
    import os

    from tangere.maths.vec import Array
    from tangere.simulation import Simulation

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
LONGEST = 1e6  # session [s]


class Session:
    """Hands in a scene."""

    def __init__(
        self,
        scene: Scene,
        *,
        method: Any = methods.default,
        device: str | Device | Sequence[str | Device] = "browser",
        rate: float = 1000.0,
        contact_rate: float | None = None,
        latency: int = 0,
        contact: ContactModel | None = None,
        tool_step: ToolStep = "implicit",
        safety: Safety | None = None,
    ) -> None:
        """Compile the scene and prepare every hand; nothing is opened yet.

        Args:
            scene: With at least one tool.
            method: Name of a contact method, or its options, as for `Simulation`.
            device: One for each tool: a name, or a device.
            rate: Of the servo [Hz].
            contact_rate: Of the contact loop [Hz]; that of the servo if not given.
            latency: Contact periods between a query and its use, on the virtual clock.
            contact: What the servo knows of contacts between two packets: "planes" (unilateral),
                "linear" (the wrench with its derivative) or "held" (the wrench alone); by default
                the first that the method can tell.
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
        choose("tool_step", tool_step, get_args(ToolStep))
        record, self.method = methods.resolve(method)
        record.check_bodies(scene)
        told = choose(
            f"contact of method {record.name!r}", contact or record.packets[0], record.packets
        )
        self.options: dict[str, str] = {"contact": told, "tool_step": tool_step}
        self.safety = safety
        self.rigs = [self._new_rig(*pair) for pair in zip(scene.tools, self.devices, strict=True)]
        dt = self.period / self.rate
        self.contact = record.tool_side(scene, self.method, dt, self.rigs)
        self.turn_seconds: list[float] = []
        self._live: Live | None = None
        self._used = False

    @property
    def simulation(self) -> Simulation:
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
        s[SET_GRIP_QUATERNION : SET_GRIP_QUATERNION + 4] = quat_conjugate(principal)
        tool.coupling.apply(s)
        turned = rotation_of(tool.orientation)
        rig.tool[TOOL_POSITION : TOOL_POSITION + 3] = tool.position + turned @ tool.centre
        rig.tool[TOOL_QUATERNION : TOOL_QUATERNION + 4] = quat_product(tool.orientation, principal)
        rig.hand[HAND_POSITION : HAND_POSITION + 3] = tool.position + turned @ tool.grip
        rig.hand[HAND_QUATERNION : HAND_QUATERNION + 4] = tool.orientation
        if self.safety is not None:
            self.safety.apply(s)
        elif hasattr(device, "table"):
            unlimited(s)  # nobody's hand
        else:
            limits_of(device).apply(s)
        state = np.zeros(NSTATE)
        state[STATE_TOOL : STATE_TOOL + len(rig.tool)] = rig.tool
        state[STATE_HAND : STATE_HAND + len(rig.hand)] = rig.hand
        post(rig.states, rig.states_at, state, NSTATE)
        return rig

    # ------------------------------------------------------------------ running

    def run(
        self,
        seconds: float | None = None,
        *,
        realtime: bool = True,
        record: str | os.PathLike[str] | None = None,
        each: Callable[[], None] | None = None,
    ) -> Trace:
        """Everything that happened in `seconds`.

        Args:
            seconds: How long; None goes on until `stop` or Ctrl-C, in real time only.
            realtime: False: on the virtual clock, deterministic and without threads.
            record: File to record into while it runs; without, the trace is kept in memory.
            each: Called after each contact period; it finds the scene between two steps.
        """
        ticks = 0
        if seconds is not None:
            ticks = max(1, round(_between("seconds", seconds, 0.0, LONGEST) * self.rate))
        if not realtime:
            if seconds is None:
                raise SceneError("Session.run: on the virtual clock give seconds, such as 10")
            trace = self._run_virtual(ticks, each)
            if record is not None:
                trace.save(record)
            return trace
        self.start(ticks, record=record)
        if each is not None:
            self.live.watch(each)
        try:
            self.wait()
        except KeyboardInterrupt:
            return self.stop("stopped by Ctrl-C")
        return self.stop()

    def _run_virtual(self, ticks: int, each: Callable[[], None] | None = None) -> Trace:
        """Both loops in turn: a contact period, then its ticks."""
        self._begin()
        for device in self.devices:
            if not hasattr(device, "table"):
                raise SceneError(
                    f"{device.info.name} moves in real time only: leave out realtime=False, or use "
                    "devices.Scripted, Playback or Hand"
                )
        self._tabulate(ticks)
        meta = self._meta("virtual")
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
            if each is not None:
                each()
        meta["end"] = "finished"
        return Trace(rows.reshape(ticks, -1), meta, [tool.name for tool in self.scene.tools])

    def start(self, ticks: int = 0, *, record: str | os.PathLike[str] | None = None) -> None:
        """Open the devices and begin; `wait` and `stop` end it.

        Args:
            ticks: To make; 0 goes on until `stop`.
            record: File to record into.
        """
        from tangere.haptics.servo import Servo, warm_up

        self._begin()
        warm_up()
        opened: list[Device] = []
        try:
            for device in self.devices:
                device.open()
                opened.append(device)
            self._tabulate(ticks)
            self._place_hands()
            for _ in range(2):  # nothing compiles or grows later, and the servo finds a packet
                self.contact.send(self.contact.turn())
            servo = Servo(self.rigs, rate=self.rate, ticks=ticks)
            names = [tool.name for tool in self.scene.tools]
            recorder = Recorder(
                servo.loop.ring,
                servo.loop.ring_at,
                record,
                self._meta("real time"),
                tools=names,
                on_fault=lambda _: self.tell_fault(FAULT_RECORD),
            )
            self._live = Live(self, servo, recorder)
            self._live.start()
        except BaseException:
            for device in opened:
                device.close()
            raise

    @property
    def live(self) -> Live:
        """The threads of a session that runs in real time."""
        if self._live is None:
            raise SceneError("the session does not run: call start() first")
        return self._live

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the session ends by itself; whether it has."""
        return self.live.wait(timeout)

    def stop(self, reason: str = "") -> Trace:
        """End everything, devices first at zero force; the trace."""
        return self.live.stop(reason)

    def tell_fault(self, bit: int) -> None:
        """Set a FAULT_… found outside the servo; it stands in the rows from then on."""
        for rig in self.rigs:
            rig.memory[MEM_OUTSIDE] = int(rig.memory[MEM_OUTSIDE]) | bit

    def _begin(self) -> None:
        if self._used:
            raise SceneError("a session runs once: make a new one")
        self._used = True

    def _tabulate(self, ticks: int) -> None:
        """Tell every rig where its readings come from; scripts with an end are sampled ahead."""
        for i, (rig, device) in enumerate(zip(self.rigs, self.devices, strict=True)):
            known: Any = device
            if not hasattr(device, "table") or ticks == 0:
                rig.source[:] = (SOURCE_PORT, 0)
                continue
            rig.source[:] = (SOURCE_TABLE, ticks)
            if isinstance(device, Hand):
                rig.source[0] = SOURCE_ARM
                rig.arm[:] = device.arm()
            self.rigs[i] = rig._replace(table=known.table(self.rate, ticks))

    def _place_hands(self) -> None:
        """Let every real device, wherever it is now, show its hand on the tool."""
        for rig, device in zip(self.rigs, self.devices, strict=True):
            if rig.source[0] == SOURCE_PORT:
                device.read(rig.reading)
                post(rig.inbox, rig.inbox_at, rig.reading, NREAD)
                if not hasattr(device, "table"):
                    place_hand(rig.settings, rig.reading, rig.memory, rig.hand)

    def _meta(self, clock: str) -> dict[str, Any]:
        """What a trace says of its session."""
        tools = self.scene.tools
        return {
            "scene": scene_text(self.scene, Path.cwd()),
            "method": to_words(self.method),
            "integrator": "implicit",
            "coupling": {tool.name: to_words(tool.coupling) for tool in tools},
            "device": [device.info.name for device in self.devices],
            "rate": self.rate,
            "period": self.period,
            "latency": self.latency,
            "options": self.options,
            "clock": clock,
            "settings": {
                tool.name: named_settings(rig.settings)
                for tool, rig in zip(tools, self.rigs, strict=True)
            },
            "rigs": [
                {"settings": rig.settings.tolist(), "memory": rig.memory.tolist()}
                for rig in self.rigs
            ],
            "folder": str(Path.cwd()),
            **surroundings(),
        }


def limits_of(device: Device) -> Safety:
    """Limits within what a device can do; one that displays nothing shows what it would get."""
    info = device.info
    if info.max_force == 0.0:
        return Safety()
    return Safety(
        force=min(info.max_force, 1e3),
        torque=min(info.max_torque, 1e2),
    )


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
