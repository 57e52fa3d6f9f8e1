"""A haptic session for the page: hands in a scene, as long as the page is open.

A `Session` runs once. What the page changes goes into the running one where that is possible (the
coupling, pause, slow motion); for everything else a new one takes over where the old one was, with
every body and tool as it stands and moves. The hand is then placed on the tool, so that nobody is
pulled away by the change.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.devices.browser import Browser
from tangere.devices.registry import find
from tangere.devices.simulated import Playback
from tangere.errors import SceneError
from tangere.haptics.coupling import VirtualCoupling
from tangere.haptics.layout import (
    FAULT_ESCAPE,
    FAULT_VIEWER,
    MEM_HOLD,
    MEM_OUTSIDE,
    NROW,
    ROW_AGE,
    ROW_FAULT,
)
from tangere.maths.vec import Array
from tangere.scene.scene import Scene, Tool
from tangere.session.replay import hand_of, restore
from tangere.session.session import Session
from tangere.viewer.contact_controls import scaled, stability
from tangere.viewer.frame import (
    RECORD_FAILED,
    RECORD_NONE,
    RECORD_RUNS,
    TOOL,
    Books,
    Description,
    Frame,
    News,
    Servo,
    Settings,
    history_dtype,
)
from tangere.viewer.held_tool import ToolFrame, sheet_of
from tangere.viewer.method_choice import (
    CHANGEABLE,
    changed,
    chosen_options,
    offer,
    offered,
    stepper_in_hand,
)
from tangere.viewer.orders import Order
from tangere.viewer.runner import Built, builds, carry_motion
from tangere.viewer.soft_surfaces import displacements_of
from tangere.viewer.words import FELT

if TYPE_CHECKING:
    from tangere.devices.device import Device
    from tangere.trace.formation_graph import FormationGraph
    from tangere.trace.trace import Trace

FRAME_INTERVAL = 1.0 / 60.0  # [s]
SHAPE_INTERVAL = 1.0 / 30.0  # [s] between two looks at surfaces that deform, as the page draws
ROW_INTERVAL = 1.0 / 200.0  # [s] between two rows of the plots
COUNT_INTERVAL = 1.0  # [s] between two counts of the time in each formation
REACH = 1.0e3  # of the page's handles: nobody drags as far [m]
APPLIED = 1.0  # [s] that the contact loop gets to take over another coupling
SETTLE = 0.3  # [s] without another change until a new session is made: sliders send many
COUPLING_FACTORS = ("coupling_stiffness_factor", "coupling_damping_factor")


class HeldSession:
    """The running session behind a page; every method may be called from any thread."""

    def __init__(
        self,
        settings: Settings,
        plain: Callable[[str], Scene],
        *,
        device: str | Sequence[str] = "browser",
        rate: float = 1000.0,
        record: Path | None = None,
        process: bool = True,
        reconnect: bool = False,
    ) -> None:
        """Prepare the scene; `start` opens the devices, and only then there is a frame.

        Args:
            settings: To begin with.
            plain: Makes a scene of that name, as the factors have not changed it.
            device: One for all tools, or one for each.
            rate: Of the servo [Hz].
            record: File to record into from the start.
            process: Whether devices that push have a process of their own.
            reconnect: Whether a device that was lost is opened again.
        """
        self._plain = plain
        self._device = device
        self._rate = rate
        self._process = process
        self._reconnect = reconnect
        self._settings = self._wanted = replace(
            settings, integrator=stepper_in_hand(settings.method)
        )
        self._changed = 0.0
        self._begin_afresh = False
        self._record_to = record
        self._replaying: Trace | None = None
        self._file = "" if record is None else str(record)
        self._recorded = 0.0
        self._failed = False
        self._paused = False
        self._speed = 1.0
        self._notice: str | None = None
        self._stopped = False
        self._started = False  # the devices of the session are open
        self._rows: deque[Any] = deque(maxlen=2000)
        self._newest = np.zeros(2 * NROW)
        self._take = 0
        self._told = self._plotted = self._shaped = self._counted = 0.0
        self._turns = (time.perf_counter(), 0)
        self._contact_rate = 0.0
        self._orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tangere-touch", daemon=True)
        self.frame: Frame
        self.description: Description
        self.steps, self.simulated, self.most_contacts = 0, 0.0, 0
        self._formations: tuple[FormationGraph, ...] = ()
        self.faults: list[str] = []
        self.trace: Trace | None = None
        self._session = self._make(self._settings, self._plain(settings.scene))

    # ------------------------------------------------------------------ what the page shows

    @property
    def news(self) -> News:
        """What went wrong last, the file of the recording, and what there is to say of devices."""
        session, started = self._session, self._started
        failed = tuple(session.live.hands.faults) if started else ()
        return News(self._notice, self._file, tuple(session.notes), failed, self._formations)

    def new_rows(self) -> Any:
        """Rows of the live plots since the last call."""
        dtype = history_dtype(len(self._session.scene.tools))
        rows = []
        while self._rows:
            row = self._rows.popleft()
            if row.dtype == dtype:
                rows.append(row)
        return np.array(rows, dtype)

    def obey(self, order: Order) -> None:
        """Carry out what the page asks, in the thread that looks after the session."""
        self._orders.put(order)

    def pause(self, paused: bool) -> None:
        """Hold the scene and let go of the hands, or go on."""
        self.obey(Order("pause", (paused,)))

    def page_lost(self, lost: bool) -> None:
        """Note in the trace that the page's process went away, or is there again."""
        for rig in self._session.rigs:
            bits = int(rig.memory[MEM_OUTSIDE])
            rig.memory[MEM_OUTSIDE] = bits | FAULT_VIEWER if lost else bits & ~FAULT_VIEWER

    # ------------------------------------------------------------------ its thread

    def start(self) -> None:
        """Open the devices and begin."""
        record, self._record_to = self._record_to, None
        self._open(record)
        self._thread.start()

    def stop(self) -> None:
        """End the session; devices get zero force."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._close("stopped")

    def _run(self) -> None:
        while not self._stop.wait(FRAME_INTERVAL):
            try:
                self._look_after()
            except SceneError as error:
                self._notice, self._wanted = str(error), self._settings
                self._replaying = self._record_to = None
                if self._started:
                    self.description = self._describe()  # the page's controls go back to what is
            except Exception as error:  # the page must say what happened, whatever it was
                self._halt(f"{type(error).__name__}: {error}")

    def _carry_out(self, order: Order) -> None:
        verb, values = order
        if verb == "reset":
            self._begin_afresh = True
        elif verb == "pause":
            self._pause(values[0])
        elif verb == "speed":
            self._speed = values[0]
            if self._started:
                self._session.live.slow = 1.0 / values[0]
        elif verb == "record":
            self._ask_record(values[0])
        elif verb == "replay":
            self._ask_replay()
        elif verb in CHANGEABLE:
            if verb == "clutch":
                self._hold_tools(values[0])
            self._wanted = changed(self._wanted, verb, values[0])
            self._changed = time.perf_counter()

    def _look_after(self) -> None:
        while not self._orders.empty():
            self._carry_out(self._orders.get())
        now = time.perf_counter()
        if self._begin_afresh:
            self._begin_afresh = False
            self._restart(self._plain(self._wanted.scene), None)
        elif self._wanted != self._settings and now - self._changed >= SETTLE:
            self._change()
        elif not self._stopped and self._session.wait(0.0):
            self._ended()

    def _change(self) -> None:
        """Bring what was asked for into force, in the running session where that is possible."""
        wanted, old = self._wanted, self._settings
        live = {name: getattr(wanted, name) for name in (*COUPLING_FACTORS, "clutch")}
        if self._started and replace(old, **live) == wanted:
            self._settings = wanted
            self._recouple()
            self.description = self._describe()
        elif wanted.scene != old.scene:
            self._restart(self._plain(wanted.scene), None)
        else:
            self._restart(self._plain(wanted.scene), self._session)

    def _hold_tools(self, hold: bool) -> None:
        """Let the tools stay while the hands move on, or let them follow again."""
        for rig in self._session.rigs:
            rig.memory[MEM_HOLD] = float(hold)

    def _recouple(self) -> None:
        """Other stiffness and damping between hands and tools, from the next contact period on."""
        session = self._session
        original = self._plain(self._settings.scene).tools
        changed = [coupled(tool, self._settings) for tool in original]

        applied = threading.Event()

        def apply() -> None:
            for i, tool in enumerate(changed):
                session.couple(i, tool.coupling)
            applied.set()

        session.live.call(apply)
        applied.wait(APPLIED)  # what is described next is what the devices can display of it

    def _restart(self, plain: Scene, old: Session | None) -> None:
        """A new session; with `old` it takes over all motion, else it begins at the start."""
        wanted = self._wanted
        session = self._make(wanted, plain, old)  # refuses what cannot be, before the old one ends
        record, self._record_to = self._record_to, None
        self._close("changed")
        if old is not None:
            carry_motion(old.simulation, session.simulation, len(plain.bodies))
        else:
            self._take += 1
        self._session, self._settings = session, wanted
        self._notice, self._stopped = None, False
        self._open(record)

    def _ended(self) -> None:
        """The session ended by itself: a recording was played to its end, or something broke."""
        trouble = self._session.live.trouble
        if trouble:
            self._halt(trouble)
            return
        self._replaying = None
        self._restart(self._plain(self._wanted.scene), None)

    def _halt(self, words: str) -> None:
        self._notice, self._stopped = f"Stopped: {words}. Press Reset.", True
        if self._started:
            self._session.live.pause(True)
        self.faults.append(self._notice)
        self.frame = replace(self.frame, stopped=True, paused=True)

    # ------------------------------------------------------------------ one session

    def _make(self, settings: Settings, plain: Scene, old: Session | None = None) -> Session:
        scene = scaled(plain, settings)
        moved = {} if old is None else self._poses(old)
        for tool in plain.tools:
            changed = coupled(scene.bodies[tool.index], settings)
            if tool.index in moved:
                position, orientation = moved[tool.index]
                changed = replace(changed, position=position, orientation=orientation)
            scene.bodies[tool.index] = changed
        if self._replaying is not None:
            trace, tools = self._replaying, scene.tools
            several = len(tools) > 1
            devices: list[Device] = [
                Playback(trace, tool=tool.name if several else "") for tool in tools
            ]
        else:
            tools = scene.tools
            names = device_names(self._device, tools)
            devices = [self._find(*pair) for pair in zip(names, tools, strict=True)]
        return Session(
            scene,
            method=chosen_options(settings, scene),
            device=devices,
            rate=self._rate,
            contact_rate=contact_rate(settings, self._rate),
            process=self._process,
            reconnect=self._reconnect,
        )

    def _find(self, name: str, tool: Tool) -> Device:
        """The device of a tool; the page's handles begin where the tool is."""
        if name != "browser":
            return find(name)
        w, x, y, z = tool.orientation.tolist()
        return Browser(radius=REACH, max_speed=2.0, orientation=(w, x, y, z))

    def _open(self, record: Path | None) -> None:
        """Start the session and show it."""
        session, ticks = self._session, 0
        if self._replaying is not None:
            ticks = len(self._replaying)
            restore(session.rigs, self._replaying, settings=False)  # where each hand was placed
        session.start(ticks, record=record)
        self._started = True
        self._recorded, self._failed = 0.0, False
        self._recording = record is not None
        self._frames = [ToolFrame(tool) for tool in session.scene.tools]
        self._last = np.zeros(len(self._frames), TOOL)
        self._faults = np.zeros(len(self._frames), dtype=np.int64)
        self._turns = (time.perf_counter(), session.contact.turns)
        self._shaped = 0.0
        session.live.slow = 1.0 / self._speed
        self.description = self._describe()
        self._see(session)
        session.live.watch(lambda: self._watch(session))
        self._hold_tools(self._settings.clutch)
        if self._paused:
            self._pause(True)

    def _close(self, reason: str) -> None:
        """End the session, if it has begun, and keep its trace."""
        if not self._started:
            return
        self._started = False
        live = self._session.live
        if self._recording:
            self._recorded = live.recorder.rows / self._rate
        self.trace = self._session.stop(reason)
        self._recording = False
        self.steps += self._session.contact.turns
        self.simulated += self._session.simulation.time

    def _pause(self, paused: bool) -> None:
        self._paused = paused or self._stopped
        if self._started:
            self._session.live.pause(self._paused)
        self.frame = replace(self.frame, paused=self._paused)

    def _ask_record(self, on: bool) -> None:
        """A recording begins with the scene, so that it can be replayed; it ends where it is."""
        if on:
            now = datetime.now().strftime("%Y-%m-%d-%H%M%S")
            self._record_to = Path(f"{self._wanted.scene.strip('()').replace(' ', '-')}-{now}.h5")
            self._file = str(self._record_to)
            self._begin_afresh = True
        elif self._recording:
            self._restart(self._plain(self._wanted.scene), self._session)

    def _ask_replay(self) -> None:
        from tangere.trace.trace import Trace

        if self._file and not self._recording:
            self._replaying = hand_of(Trace.load(self._file))
            self._begin_afresh = True

    # ------------------------------------------------------------------ between two contact periods

    def _watch(self, session: Session) -> None:
        """Note rows and frames; the scene stands between two steps."""
        now = time.perf_counter()
        if now - self._plotted < ROW_INTERVAL or session is not self._session:
            return
        self._plotted = now
        if session.live.hands.newest(self._newest):
            self._plot(session)
        if now - self._told >= FRAME_INTERVAL:
            self._told = now
            self._see(session)

    def _plot(self, session: Session) -> None:
        """A row of the plots from the newest tick of every hand."""
        row = np.zeros((), history_dtype(len(self._frames)))
        row["take"], row["time"] = self._take, session.simulation.time
        for i, (frame, rig) in enumerate(zip(self._frames, session.rigs, strict=True)):
            tick = self._newest[i * NROW : (i + 1) * NROW]
            frame.fill(self._last[i], tick, rig)
            self._faults[i] |= int(tick[ROW_FAULT])
            shown, plotted = self._last[i], row["tools"][i]
            plotted["felt_force"] = np.linalg.norm(shown["coupling"][:3])
            plotted["felt_upwards"] = -shown["coupling"][2]
            plotted["contact_force"] = np.linalg.norm(shown["contact"][:3])
            plotted["felt_torque"] = np.linalg.norm(shown["coupling"][3:])
            plotted["contact_torque"] = np.linalg.norm(shown["contact"][3:])
            for name in ("observed", "budget", "stored"):
                plotted[name] = shown[name]
        self._rows.append(row)

    def _see(self, session: Session) -> None:
        """The newest frame."""
        simulation, live = session.simulation, session.live
        if not self._last["orientation"].any():
            for shown, frame, rig in zip(self._last, self._frames, session.rigs, strict=True):
                frame.place(shown, rig)
        now = time.perf_counter()
        if now - self._shaped >= SHAPE_INTERVAL:
            self._shaped = now
            self._displacements = displacements_of(simulation, session.scene)
        tools = self._last.copy()
        tools["faults"] = self._faults & ~(FAULT_ESCAPE if self._paused else 0)
        tools["faults"][[not info.max_force > 0.0 for info in session.infos]] &= ~FELT
        self._faults[:] = 0
        counters = live.hands.counters
        self._failed = bool(live.recorder.fault)
        if self._recording:
            self._recorded = live.recorder.rows / self._rate
        contacts = np.array(simulation.contacts)
        hands = range(len(session.rigs))
        contacts = np.concatenate((contacts, *map(session.contact.contacts_on, hands)))
        self.most_contacts = max(self.most_contacts, len(contacts))
        energy = simulation.energy
        potential = energy.potential + energy.springs + energy.elastic
        graphs = [graph for hand in hands if (graph := session.contact.visited(hand)) is not None]
        if _news_of(graphs) != _news_of(self._formations) or now - self._counted > COUNT_INTERVAL:
            self._formations, self._counted = tuple(graphs), now
        since, turns = self._turns
        if now - since > 0.5:
            self._contact_rate = (session.contact.turns - turns) / (now - since)
            self._turns = now, session.contact.turns
        recording = RECORD_RUNS if self._recording else RECORD_NONE
        self.frame = Frame(
            build=self.description.build,
            take=self._take,
            time=simulation.time,
            positions=np.array(simulation.positions),
            orientations=np.array(simulation.orientations),
            contacts=contacts,
            displacements=self._displacements,
            steps=session.contact.turns,
            real_time=0.0 if self._paused else self._contact_rate * session.contact.dt,
            speed=self._speed,
            paused=self._paused,
            stopped=self._stopped,
            books=Books(energy.kinetic, potential, energy.contact),
            tools=tools,
            marks=np.concatenate([session.contact.marks(hand) for hand in hands]),
            servo=Servo(
                rate=_rate_of(counters, session.rate),
                ticks=counters.ticks,
                late=counters.late,
                missed=counters.missed,
                median=counters.duration.p50,
                worst=counters.duration.worst,
                packet_age=float(self._newest[ROW_AGE]),
                contact_rate=self._contact_rate,
            ),
            recording=RECORD_FAILED if self._failed else recording,
            recorded=self._recorded,
        )

    def _poses(self, session: Session) -> dict[int, tuple[Array, Array]]:
        """Where the tools are now, by their body."""
        return {
            tool.index: (np.array(shown["position"]), np.array(shown["orientation"]))
            for tool, shown in zip(session.scene.tools, self._last, strict=True)
        }

    def _describe(self) -> Description:
        session, settings = self._session, self._settings
        scene = session.scene
        verdict = stability(Built(settings, scene, session.simulation))
        sheets = [sheet_of(session, index) for index in range(len(scene.tools))]
        return Description(
            next(builds),
            settings,
            scene,
            offered(scene),
            offer(settings, scene),
            verdict,
            tuple(sheets),
        )

    @property
    def session(self) -> Session:
        """What runs now."""
        return self._session


def _news_of(graphs: Sequence[FormationGraph]) -> list[tuple[int, int, int]]:
    """What of the graphs is worth telling at once: where each is, and how far it went."""
    return [
        (graph.now, len(graph.names), sum(times for _, _, times in graph.links)) for graph in graphs
    ]


def contact_rate(settings: Settings, rate: float) -> float:
    """Contact periods per second: the scene's step, or the servo's where that is longer [Hz]."""
    return min(1.0 / settings.dt, rate) if settings.dt > 0.0 else settings.dt


def coupled(tool: Any, settings: Settings) -> Tool:
    """A tool with its mass and its coupling times the factors of the sliders."""
    assert isinstance(tool, Tool)
    heavier = settings.tool_mass_factor
    coupling = tool.coupling
    if isinstance(coupling, VirtualCoupling):
        k, b = settings.coupling_stiffness_factor, settings.coupling_damping_factor
        coupling = replace(
            coupling,
            stiffness=k * coupling.stiffness,
            rotational_stiffness=k * coupling.rotational_stiffness,
            damping=b * coupling.damping,
            rotational_damping=b * coupling.rotational_damping,
            scale=settings.scale * coupling.scale,
        )
    return replace(
        tool, mass=heavier * tool.mass, inertia=heavier * tool.inertia, coupling=coupling
    )


def _rate_of(counters: Any, rate: float) -> float:
    """Ticks per second that were made, of those that were due."""
    return float(rate * counters.ticks / max(1, counters.ticks + counters.missed))


def device_names(device: str | Sequence[str], tools: Sequence[Tool]) -> list[str]:
    """The name of each tool's device: the same for all, or one given for each."""
    names = [device] * len(tools) if isinstance(device, str) else list(device)
    if len(names) != len(tools):
        held = ", ".join(tool.name for tool in tools) or "none"
        raise SceneError(f"{len(names)} devices for {len(tools)} tools ({held}): give one for each")
    return names
