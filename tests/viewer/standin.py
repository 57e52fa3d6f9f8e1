"""A haptic session in a few lines, for tests of the page: a tool that follows the page's handles.

It has what the page needs to see (a tool, a ghost, forces, faults, a recording) and nothing else:
no servo, no safety, no trace. The tool is a body of a simulation, pulled to the hand by an implicit
spring and damper between two short runs of steps.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np

from tangere.devices.browser import Browser
from tangere.haptics.coupling import VirtualCoupling
from tangere.haptics.layout import NREAD, READ_POSITION, READ_QUATERNION
from tangere.maths.quat import turn_between
from tangere.scene.library import build
from tangere.simulation import Simulation
from tangere.viewer.frame import (
    RECORD_NONE,
    RECORD_RUNS,
    TOOL,
    Books,
    Description,
    Frame,
    News,
    Servo,
    Settings,
    Sheet,
    Verdict,
    history_dtype,
)
from tangere.viewer.orders import Order
from tangere.viewer.outlines import rotation_matrices
from tangere.viewer.runner import builds

CHUNK = 0.004  # [s] between two pulls
REACH = 5.0  # [m] of the page's handles


class StandIn:
    """A source of frames with tools in hand."""

    def __init__(self, settings: Settings) -> None:
        self.orders: list[Order] = []
        self.faults = 0
        self.lost: list[bool] = []
        self.frozen = threading.Event()
        self._wanted = settings
        self._fresh = False
        self._paused = False
        self._speed = 1.0
        self._recording = False
        self._recorded = 0.0
        self._rows: list[Any] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._take = 0
        self._devices: list[Browser] = []
        self._build()

    # ------------------------------------------------------------------ what the host asks for

    @property
    def news(self) -> News:
        return News(None, "touch.h5" if self._recorded or self._recording else "")

    def new_rows(self) -> Any:
        with self._lock:
            rows, self._rows = self._rows, []
        dtype = history_dtype(len(self._tools))
        return np.array(rows, dtype) if rows else np.zeros(0, dtype)

    def page_lost(self, lost: bool) -> None:
        self.lost.append(lost)

    def obey(self, order: Order) -> None:
        self.orders.append(order)
        verb, values = order
        if verb == "reset":
            self._fresh = True
        elif verb == "pause":
            self._paused = values[0]
        elif verb == "speed":
            self._speed = values[0]
        elif verb == "record":
            self._recording = values[0]
            self._recorded = 0.0 if values[0] else self._recorded
        elif hasattr(self._wanted, verb):
            self._wanted = replace(self._wanted, **{verb: values[0]})

    # ------------------------------------------------------------------ the simulation

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        for device in self._devices:
            device.close()

    def _build(self) -> None:
        """A fresh start."""
        for device in self._devices:
            device.close()
        settings = self._wanted
        scene = build(settings.scene)
        self._settings = settings
        self._simulation = Simulation(scene, method=settings.method, dt=settings.dt)
        self._tools = scene.tools
        self._devices = [
            Browser(radius=REACH, max_speed=2.0, orientation=tuple(tool.orientation))
            for tool in self._tools
        ]
        sheets = []
        for tool, device in zip(self._tools, self._devices, strict=True):
            device.open()
            coupling = tool.coupling
            assert isinstance(coupling, VirtualCoupling)
            origin = tool.position + rotation_matrices(tool.orientation) @ tool.grip
            sheets.append(
                Sheet(
                    tool.name, tool.mass * settings.tool_mass_factor, coupling.max_force, 0.1,
                    coupling.stiffness * settings.coupling_stiffness_factor,
                    coupling.damping * settings.coupling_damping_factor,
                    "browser", 0.0, 0.0,
                    hand=device.address, origin=(float(origin[0]), float(origin[1]), float(origin[2])),
                    coupling=Verdict("stable", "", "Stable with any device."),
                )
            )  # fmt: skip
        self._sheets = sheets
        verdict = Verdict("stable", "", "Stable at any stiffness and damping.")
        self.description = Description(
            next(builds), settings, scene, ("volume", "point"), verdict, tuple(sheets)
        )
        self._rows_of_tools = np.zeros(len(sheets), TOOL)
        self.frame = self._snapshot()

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._stop.is_set():
            now = time.perf_counter()
            if self._fresh or self._wanted != self._settings:
                self._fresh = False
                self._take += 1
                self._build()
            if not self._paused and not self.frozen.is_set():
                for _ in range(max(1, int(min(now - last, 0.03) * self._speed / CHUNK))):
                    self._advance()
                self.frame = self._snapshot()
            last = now
            self._stop.wait(max(0.0, now + 0.016 - time.perf_counter()))

    def _advance(self) -> None:
        simulation = self._simulation
        before = [np.asarray(simulation[tool].velocity) for tool in self._tools]
        for i in range(len(self._tools)):
            self._pull(i)
        simulation.step(max(1, round(CHUNK / simulation.dt)))
        row = np.zeros((), history_dtype(len(self._tools)))
        row["take"], row["time"] = self._take, simulation.time
        for i, tool in enumerate(self._tools):
            shown = self._rows_of_tools[i]
            after = np.asarray(simulation[tool].velocity)
            force = tool.mass * (after - before[i]) / CHUNK - shown["coupling"][:3]
            force *= float(np.linalg.norm(force)) > 1e-6 * tool.mass  # rounding
            shown["contact"][:3] = force
            plotted = row["tools"][i]
            plotted["felt_force"] = np.linalg.norm(shown["coupling"][:3])
            plotted["contact_force"] = np.linalg.norm(force)
            plotted["felt_torque"] = np.linalg.norm(shown["coupling"][3:])
            plotted["stored"] = 0.5 * self._sheets[i].stiffness * shown["deviation"] ** 2
        with self._lock:
            self._rows = [*self._rows[-2000:], row]
        self._recorded += CHUNK if self._recording else 0.0

    def _pull(self, index: int) -> None:
        """Velocities of a tool after a chunk of its spring and damper, each axis by itself."""
        tool, sheet, shown = self._tools[index], self._sheets[index], self._rows_of_tools[index]
        view = self._simulation[tool]
        reading = np.zeros(NREAD)
        self._devices[index].read(reading)
        hand = reading[READ_POSITION : READ_POSITION + 3] + sheet.origin
        turned = reading[READ_QUATERNION : READ_QUATERNION + 4]
        rotation = rotation_matrices(np.asarray(view.orientation))
        position = np.asarray(view.position)
        grip = position + rotation @ tool.grip
        off = hand - grip
        turn = np.array(turn_between(tuple(view.orientation), tuple(turned)))
        h, k, b, m = CHUNK, sheet.stiffness, sheet.damping + 0.5, sheet.mass
        velocity, omega = np.asarray(view.velocity), np.asarray(view.angular_velocity)
        wanted = (velocity + h * k / m * off) / (1.0 + h * b / m + h * h * k / m)
        force = m * (wanted - velocity) / h
        size = float(np.linalg.norm(force))
        force *= min(1.0, sheet.max_force / max(size, 1e-9))
        inertia = float(np.trace(tool.inertia)) / 3.0
        coupling = tool.coupling
        assert isinstance(coupling, VirtualCoupling)
        kt, bt = coupling.rotational_stiffness, coupling.rotational_damping + 2e-3
        spun = (omega + h * kt / inertia * turn) / (1.0 + h * bt / inertia + h * h * kt / inertia)
        # Its weight is carried.
        view.velocity = velocity + h * force / m - h * np.array([0.0, 0.0, -9.81])
        view.angular_velocity = spun
        shown["position"], shown["orientation"] = position, view.orientation
        shown["hand_position"], shown["hand_orientation"] = hand, turned
        shown["ghost_orientation"] = turned
        shown["ghost_position"] = hand - rotation_matrices(turned) @ tool.grip
        shown["grip"] = grip
        shown["coupling"] = (*force, *(inertia * (spun - omega) / h))
        shown["deviation"], shown["angle"] = np.linalg.norm(off), np.linalg.norm(turn)
        shown["gain"], shown["faults"] = 1.0, self.faults

    def _snapshot(self) -> Frame:
        simulation = self._simulation
        if not self._rows_of_tools["orientation"].any():
            for i in range(len(self._tools)):
                self._pull(i)
        contacts = np.array(simulation.contacts)
        indices = [tool.index for tool in self._tools]
        for shown, i in zip(self._rows_of_tools, indices, strict=True):
            touching = (contacts["body_a"] == i) | (contacts["body_b"] == i)
            shown["planes"] = np.count_nonzero(touching)
        return Frame(
            build=self.description.build,
            take=self._take,
            time=simulation.time,
            positions=np.array(simulation.positions),
            orientations=np.array(simulation.orientations),
            contacts=contacts,
            real_time=1.0,
            speed=self._speed,
            paused=self._paused,
            books=Books(simulation.energy.kinetic),
            tools=self._rows_of_tools.copy(),
            servo=Servo(1000.0, int(1e3 * simulation.time), 3, 1, 9e-6, 8e-5, 1e-3, 250.0),
            recording=RECORD_RUNS if self._recording else RECORD_NONE,
            recorded=self._recorded,
        )
