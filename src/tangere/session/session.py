"""A session: a scene, a contact method, and for each tool a coupling and a device.

One code for two clocks. On the *virtual clock* everything runs in this thread, tick by tick, and
the same input gives the same trace to the last bit. In *real time* the servo runs in compiled code
on a thread of its own, the contact loop on another, and devices, recorder and viewer beside them.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from tangere.contact.method import methods, to_words
from tangere.devices.device import Device, DeviceInfo
from tangere.devices.registry import find
from tangere.devices.simulated import Hand
from tangere.errors import SceneError, choose
from tangere.haptics.coupling import DirectCoupling, VirtualCoupling
from tangere.haptics.layout import (
    CONTACT_HELD,
    CONTACT_LINEAR,
    CONTACT_PLANES,
    CONTACT_PROBLEM,
    FAULT_RECORD,
    HAND_POSITION,
    HAND_QUATERNION,
    MEM_OUTSIDE,
    MEM_STARTED,
    NROW,
    NSTATE,
    PLACE_ABSOLUTE,
    SET_CAP,
    SET_CONTACT,
    SET_DELAY,
    SET_DEVICE_FORCE,
    SET_GRIP,
    SET_GRIP_QUATERNION,
    SET_INERTIA,
    SET_INTEGRATOR,
    SET_LEAD,
    SET_LEASH,
    SET_MASS,
    SET_PERIOD,
    SET_PLACE,
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
from tangere.haptics.safety import Safety, leash, unlimited
from tangere.haptics.tick import run_ticks
from tangere.haptics.workspace import Buttons, Workspace
from tangere.maths.rotations import quat_conjugate, quat_product, quaternion_of, rotation_of
from tangere.scene.compile import principal_frame
from tangere.scene.files import scene_text
from tangere.scene.scene import Scene, Tool
from tangere.session import exits
from tangere.session.additions import AddedEffect, Additions, UserColumns
from tangere.session.hands import Hands, pushes
from tangere.session.limits import displayable, limits_of, within
from tangere.session.threads import Live
from tangere.trace.columns import named_memory, named_settings, places_of
from tangere.trace.recorder import Recorder, surroundings
from tangere.trace.rows import MemoryRows
from tangere.trace.trace import Trace

if TYPE_CHECKING:
    import os

    from tangere.haptics.effects import Effect
    from tangere.maths.vec import Array
    from tangere.simulation import Simulation

ContactModel = Literal["planes", "linear", "held", "problem"]
ToolStep = Literal["implicit", "implicit13", "rk4", "euler"]
CONTACT_MODELS = {
    "planes": CONTACT_PLANES,
    "linear": CONTACT_LINEAR,
    "held": CONTACT_HELD,
    "problem": CONTACT_PROBLEM,
}
TOOL_STEPS = {
    "implicit": STEP_IMPLICIT,
    "implicit13": STEP_IMPLICIT13,
    "rk4": STEP_RK4,
    "euler": STEP_EULER,
}
RATES = (100.0, 4000.0)  # of the servo [Hz]
LONGEST = 1e6  # session [s]
PLACING = 1.0  # time that a device gets to show its hand before `start` returns [s]


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
        workspace: Workspace | Sequence[Workspace] | None = None,
        buttons: Buttons | Sequence[Buttons] | None = None,
        reconnect: bool = False,
        process: bool = True,
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
                "linear" (the wrench with its derivative), "held" (the wrench alone) or "problem"
                (the contact laws, solved again at every tick); by default the first that the method
                can tell.
            tool_step: Integrator of the tools.
            safety: Limits at the devices, within those of each device; those if not given.
            workspace: Where the device's workspace lies in the scene; one for all, or one each.
            buttons: What its buttons do; one for all, or one each.
            reconnect: Whether a device that was lost is opened again; else the session ends.
            process: Whether devices that push are driven by a process of their own, which lets go
                of the hand whatever happens to this one.
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
        self.reconnect = reconnect
        self.process = process
        self.workspaces = _one_each("workspace", workspace, Workspace, scene.tools)
        self.buttons = _one_each("buttons", buttons, Buttons, scene.tools)
        self.notes: list[str] = []
        """What was changed to suit a device, in words."""
        self.rigs = [self._new_rig(index) for index in range(len(scene.tools))]
        dt = self.period / self.rate
        self.contact = record.tool_side(scene, self.method, dt, self.rigs)
        self.turn_seconds: list[float] = []
        """What each contact period took on the virtual clock, its ticks included."""
        self.update_seconds: list[float] = []
        """What its contact update alone took: find the contacts, move the scene."""
        self.couplings = [tool.coupling for tool in scene.tools]
        """Of the tools, as far as their devices can display them."""
        self.infos = [each.info for each in self.devices]
        """What the devices say of themselves, once they are open."""
        self.displays = [(math.inf, math.inf, "") for _ in scene.tools]
        """Most stiffness that each device displays [N/m, N m/rad], and why, in words."""
        for index, each in enumerate(self.devices):
            self._configure(index, each.info)
        self._live: Live | None = None
        self._used = False
        self.additions = Additions(self)

    @property
    def simulation(self) -> Simulation:
        """The scene in motion."""
        return self.contact.simulation

    def _new_rig(self, index: int) -> Rig:
        tool, rig = self.scene.tools[index], new_rig()
        s = rig.settings
        s[SET_STEP], s[SET_PERIOD] = 1.0 / self.rate, self.period / self.rate
        s[SET_INTEGRATOR] = TOOL_STEPS[self.options["tool_step"]]
        s[SET_CONTACT] = CONTACT_MODELS[self.options["contact"]]
        moments, axes = principal_frame(tool.inertia)
        principal = quaternion_of(axes)
        s[SET_MASS], s[SET_INERTIA : SET_INERTIA + 3] = tool.mass, moments
        s[SET_GRIP : SET_GRIP + 3] = rotation_of(principal).T @ (tool.grip - tool.centre)
        s[SET_GRIP_QUATERNION : SET_GRIP_QUATERNION + 4] = quat_conjugate(principal)
        tool.coupling.apply(s)
        self.workspaces[index].apply(s)
        self.buttons[index].apply(s)
        turned = rotation_of(tool.orientation)
        rig.tool[TOOL_POSITION : TOOL_POSITION + 3] = tool.position + turned @ tool.centre
        rig.tool[TOOL_QUATERNION : TOOL_QUATERNION + 4] = quat_product(tool.orientation, principal)
        rig.hand[HAND_POSITION : HAND_POSITION + 3] = tool.position + turned @ tool.grip
        rig.hand[HAND_QUATERNION : HAND_QUATERNION + 4] = tool.orientation
        state = np.zeros(NSTATE)
        state[STATE_TOOL : STATE_TOOL + len(rig.tool)] = rig.tool
        state[STATE_HAND : STATE_HAND + len(rig.hand)] = rig.hand
        post(rig.states, rig.states_at, state, NSTATE)
        return rig

    def _configure(self, index: int, info: DeviceInfo) -> None:
        """Limits, delay and displayed stiffness of a hand, by what its device says of itself."""
        device, s = self.devices[index], self.rigs[index].settings
        self.infos[index] = info
        self._map_workspace(index)
        if hasattr(device, "table") and self.safety is None:
            unlimited(s)  # nobody's hand
            return
        safety = limits_of(info) if self.safety is None else within(self.safety, info)
        safety.apply(s)
        ticks = device.model.delay / self.rate if isinstance(device, Hand) else info.delay
        s[SET_DELAY] = ticks
        if not info.max_force > 0.0:  # nothing is felt, and nothing can shake
            s[SET_LEAD] = 0.0
        self.displays[index] = displayable(
            info, ticks, 1.0 / self.rate, self.period / self.rate, capped=safety.cap
        )
        self.couple(index, self.scene.tools[index].coupling)

    def _map_workspace(self, index: int) -> None:
        """How the device's workspace lies in the scene."""
        s = self.rigs[index].settings
        self.workspaces[index].apply(s)
        if hasattr(self.devices[index], "table"):  # a script says where the hand is
            s[SET_PLACE] = PLACE_ABSOLUTE

    def couple(self, index: int, coupling: VirtualCoupling | DirectCoupling) -> None:
        """Hold a tool by another coupling, no stiffer than its device can display.

        While the session runs, call it between two contact periods (`Live.call`).
        """
        tool, s = self.scene.tools[index], self.rigs[index].settings
        most, turning, why = self.displays[index]
        if isinstance(coupling, DirectCoupling):
            self._refuse_held(tool.name)
            coupling.apply(s)
            self._map_workspace(index)
            s[SET_CAP] = most
            if why and math.isfinite(most):
                self._note(f"{tool.name} feels at most", f"{most:.4g} N/m: {why}")
            return
        softer = replace(
            coupling,
            stiffness=min(coupling.stiffness, most),
            rotational_stiffness=min(coupling.rotational_stiffness, turning),
        )
        for name, unit in (("stiffness", "N/m"), ("rotational_stiffness", "N m/rad")):
            was, now = getattr(coupling, name), getattr(softer, name)
            what = f"displayed {name.replace('_', ' ')} of {tool.name}"
            self._note(what, f"{was:g} → {now:.4g} {unit}: {why}" if now < was else "")
        self.couplings[index] = softer
        softer.apply(s)
        self._map_workspace(index)
        self.contact.hold(index, replace(tool, coupling=softer))
        if self.infos[index].max_force > 0.0:  # without force nothing holds a hand at its tool
            force = min(softer.max_force, float(s[SET_DEVICE_FORCE]))
            s[SET_LEASH] = leash(softer.stiffness, softer.scale * force)

    def _note(self, what: str, words: str) -> None:
        """Say something of a hand in place of what was said of it before; no words: nothing."""
        self.notes[:] = [note for note in self.notes if not note.startswith(f"{what} ")]
        if words:
            self.notes.append(f"{what} {words}")

    def _refuse_held(self, tool: str) -> None:
        """A hand that feels contacts as they are must not feel those of the last packet alone."""
        felt = any(map(pushes, self.devices))
        if self.options["contact"] == "held" and felt:
            raise SceneError(
                f"{tool}: a direct coupling on a held contact wrench has nothing that damps it: "
                "give a VirtualCoupling, or contact='planes' or 'linear'"
            )

    # ------------------------------------------------------------------ what a user adds

    def add_effect(
        self,
        effect: Effect | Callable[..., None],
        *,
        parameters: Sequence[float] = (),
        power: float = 0.0,
        tool: int = 0,
    ) -> AddedEffect:
        """Have a force law of your own added to what the hand feels, at every tick.

        Args:
            effect: A function made by `tangere.effect`, see `haptics.effects`.
            parameters: Up to 16 numbers that it is given; `AddedEffect.parameters` changes them.
            power: What it may give to the hand without the energy net softening it [W].
            tool: Number of the tool.

        Raises:
            SceneError: It cannot be compiled, or there are four already.
        """
        return self.additions.add(effect, parameters, power, self._hand(tool))

    def columns(self, *names: str, tool: int = 0) -> UserColumns:
        """Numbers of your own in every row of the trace, before the session starts.

        Set them by name (`numbers["phase"] = 2`), or in an effect by their order.
        """
        hand = self._hand(tool)
        if self._used:
            raise SceneError("columns: the session has started: name them before")
        made = UserColumns(self, hand, names)
        self.additions.columns[self.scene.tools[hand].name] = made
        return made

    def mark(self, name: str, value: float = 0.0) -> None:
        """Note an event in the trace, at the servo's next tick."""
        self.additions.mark(name, value)

    @property
    def trial(self) -> str:
        """Label of what runs now; `Trace.trials` cuts by it."""
        return self.additions.trial

    @trial.setter
    def trial(self, label: str) -> None:
        self.additions.label(label)

    def _hand(self, tool: int) -> int:
        if not (isinstance(tool, int) and 0 <= tool < len(self.rigs)):
            raise SceneError(f"tool {tool!r}: there are {len(self.rigs)}, counted from 0")
        return tool

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
        for added in self.additions.effects:
            self.rigs[added.hand].effects[added.slot] = added.effect.compile()
        meta = self._meta("virtual")
        rows = np.zeros((ticks, len(self.rigs), NROW))
        block = np.zeros((self.period, NROW))
        waiting: deque[list[Array]] = deque()
        for first in range(0, ticks, self.period):
            begin = time.perf_counter()
            waiting.append(self.contact.turn())
            self.update_seconds.append(time.perf_counter() - begin)
            if len(waiting) > self.latency:
                self.contact.send(waiting.popleft())
            count = min(self.period, ticks - first)
            for i, rig in enumerate(self.rigs):
                run_ticks(rig, first, count, 0.0, block)
                rows[first : first + count, i] = block[:count]
            self.additions.tick = first + count
            self.turn_seconds.append(time.perf_counter() - begin)
            if each is not None:
                each()
        meta |= {"end": "finished", **self.found()}
        whole = rows.reshape(ticks, -1)
        self.additions.see_buttons(whole)
        tools = [tool.name for tool in self.scene.tools]
        columns = places_of(tools, meta["columns"])
        return Trace(MemoryRows(whole, columns, *self.additions.tables()), meta, tools)

    def start(self, ticks: int = 0, *, record: str | os.PathLike[str] | None = None) -> None:
        """Open the devices and begin; `wait` and `stop` end it.

        Args:
            ticks: To make; 0 goes on until `stop`.
            record: File to record into.
        """
        self._begin()
        hands = Hands(self.devices, self.rate, process=self.process, reconnect=self.reconnect)
        infos = hands.open()
        try:
            self.notes.clear()
            for index, info in enumerate(infos):
                self._configure(index, info)
                if not self.process and pushes(self.devices[index]):
                    self.notes.append(
                        f"{info.name} is driven by this process: it keeps its last force when this "
                        "is killed"
                        if not info.drops_force
                        else f"{info.name} is driven by this process: when this is killed its own "
                        "watchdog lets go"
                    )
            self._tabulate(ticks)
            hands.prepare(self.rigs, ticks)
            for added in self.additions.effects:
                hands.install(added.hand, added.slot, added.effect)
            for _ in range(2):  # nothing compiles or grows later, and the servo finds a packet
                self.contact.send(self.contact.turn())
            recorder = Recorder(
                [(loop.ring, loop.ring_at) for loop in hands.loops],
                record,
                self._meta("real time"),
                tools=[tool.name for tool in self.scene.tools],
                on_fault=lambda _: self.tell_fault(FAULT_RECORD),
                on_rows=self.additions.see_buttons,
            )
            self._live = Live(self, hands, recorder)
            self.additions.record_into(recorder)
            self._live.start()
            exits.guard(self)
        except BaseException:
            hands.stop()
            raise
        self._wait_for_hands()

    def _wait_for_hands(self) -> None:
        """Wait until every device has shown where its hand is, but not for ever."""
        end = time.monotonic() + PLACING
        while time.monotonic() < end and self.live.hands.running:
            if all(rig.memory[MEM_STARTED] == 1.0 for rig in self.rigs):
                return
            time.sleep(1e-3)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop("" if error is None else f"ended by {type(error).__name__}: {error}")

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
        exits.release(self)
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

    def found(self) -> dict[str, Any]:
        """What a trace says of its session that is known only at its end."""
        names = list(self.contact.formations)
        return {"formations": names} if names else {}

    def _meta(self, clock: str) -> dict[str, Any]:
        """What a trace says of its session."""
        tools = self.scene.tools
        return {
            "scene": scene_text(self.scene, Path.cwd()),
            "method": to_words(self.method),
            "integrator": "implicit",
            "coupling": {
                tool.name: to_words(coupling)
                for tool, coupling in zip(tools, self.couplings, strict=True)
            },
            "device": [info.name for info in self.infos],
            "notes": self.notes,
            "columns": {tool: list(names) for tool, names in self.additions.columns.items()},
            "rate": self.rate,
            "period": self.period,
            "latency": self.latency,
            "options": self.options,
            "clock": clock,
            "settings": {
                tool.name: named_settings(rig.settings)
                for tool, rig in zip(tools, self.rigs, strict=True)
            },
            "rigs": [{"memory": named_memory(rig.memory)} for rig in self.rigs],
            "folder": str(Path.cwd()),
            **surroundings(),
        }


def _one_each(name: str, given: Any, kind: type[Any], tools: list[Tool]) -> list[Any]:
    """An option of each tool, from one for all or a list."""
    several = list(given) if isinstance(given, (list, tuple)) else [given or kind()] * len(tools)
    if len(several) != len(tools) or not all(isinstance(each, kind) for each in several):
        raise SceneError(
            f"Session: {name} is {given!r}: give one {kind.__name__} for all tools, or one for each"
        )
    return several


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
