"""Peers of the adapters: vendors' libraries and services that record what they are told.

Each is written from the vendor's description, in the vendor's units and axes, and knows nothing of
tangere.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import sys
import threading
import time
from http import HTTPStatus
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

Vector = list[float]


def module(name: str, **content: Any) -> ModuleType:
    made = ModuleType(name)
    for key, value in content.items():
        setattr(made, key, value)
    return made


# ---------------------------------------------------------------- Force Dimension


class FakeDhd:
    """The SDK: +x towards the user, +y right, +z up; m, N, N m; integers as answers, −1: error."""

    def __init__(self, system_type: int = 104, wrist: bool = True, devices: int = 1) -> None:
        self.system_type, self.wrist, self.devices = system_type, wrist, devices
        self.position: Vector = [0.0, 0.0, 0.0]
        self.frame: NDArray[np.float64] = np.eye(3)
        self.buttons = 0
        self.gap = 0.02
        self.max_force, self.max_torque = -1.0, -1.0
        self.shown: list[tuple[Vector, Vector]] = []
        self.calls: list[str] = []
        self.watchdog = -1
        self.enabled = self.opened = False
        self.dead = False  # every call fails from now on
        self.write_fails = False
        self.free = threading.Event()  # cleared: a call does not return
        self.free.set()

    def _answer(self) -> int:
        self.free.wait(30.0)
        return -1 if self.dead or not self.opened else 0

    def open(self) -> int:
        self.calls.append("open")
        self.opened = self.devices > 0
        return 0 if self.opened else -1

    def openID(self, index: int) -> int:
        return self.open() if index < self.devices else -1

    def errorGetLastStr(self) -> str:
        return "no device found" if not self.devices else "communication error"

    def autoInit(self, ID: int = -1) -> int:
        self.calls.append("autoInit")
        return 0

    def getDeviceCount(self) -> int:
        return self.devices

    def getSystemType(self, ID: int = -1) -> int:
        return self.system_type

    def getSystemName(self, ID: int = -1) -> str:
        return "some new device"

    def hasWrist(self, ID: int = -1) -> bool:
        return self.wrist

    def hasActiveWrist(self, ID: int = -1) -> bool:
        return self.wrist

    def hasGripper(self, ID: int = -1) -> bool:
        return self.wrist

    def hasActiveGripper(self, ID: int = -1) -> bool:
        return self.wrist

    def getMaxForce(self, ID: int = -1) -> float:
        return self.max_force

    def getMaxTorque(self, ID: int = -1) -> float:
        return self.max_torque

    def enableForce(self, enable: bool, ID: int = -1) -> int:
        self.enabled = enable
        return self._answer()

    def enableExpertMode(self) -> int:
        return 0

    def setWatchdog(self, duration: int, ID: int = -1) -> int:
        assert 0 <= duration <= 255  # an unsigned char in the SDK
        self.watchdog = duration
        return 0

    def getPositionAndOrientationFrame(self, p_out: Any, matrix_out: Any, ID: int = -1) -> int:
        for i in range(3):
            p_out[i] = self.position[i]
            for j in range(3):
                matrix_out[i][j] = self.frame[i, j]
        return self._answer()

    def getGripperGap(self, out: ctypes.c_double, ID: int = -1) -> int:
        out.value = self.gap
        return self._answer()

    def getButtonMask(self, ID: int = -1) -> int:
        return self.buttons

    def setForce(self, f: Vector, ID: int = -1) -> int:
        return self.setForceAndTorque(f, [0.0, 0.0, 0.0])

    def setForceAndTorque(self, f: Vector, t: Vector, ID: int = -1) -> int:
        if self.write_fails:
            return -1
        self.shown.append(([float(c) for c in f], [float(c) for c in t]))
        return self._answer()

    def stop(self, ID: int = -1) -> int:
        self.calls.append("stop")
        self.enabled = False
        return 0

    def close(self, ID: int = -1) -> int:
        self.calls.append("close")
        self.opened = False
        return 0

    def install(self, patch: pytest.MonkeyPatch) -> None:
        robot = SimpleNamespace(
            open=self.open,
            openID=self.openID,
            isInitialized=lambda ID=-1: False,
            autoInit=self.autoInit,
        )
        self.expert = self
        patch.setitem(
            sys.modules, "forcedimension_core", module("forcedimension_core", dhd=self, drd=robot)
        )


# ---------------------------------------------------------------- OpenHaptics


class FakeHd:
    """The HD interface: +x right, +y up, +z towards the user; mm, N, mN m; column-major pose.

    Its scheduler is a thread that calls back every millisecond.
    """

    def __init__(self, model: str = "Premium 1.5 6DOF", dof: int = 6) -> None:
        self.model, self.dof = model, dof
        self.position: Vector = [0.0, 0.0, 0.0]
        self.velocity: Vector = [0.0, 0.0, 0.0]
        self.frame: NDArray[np.float64] = np.eye(3)
        self.buttons = 0
        self.shown: list[tuple[Vector, Vector]] = []
        self._torque: Vector = [0.0, 0.0, 0.0]
        self._force: Vector = [0.0, 0.0, 0.0]
        self.calls: list[str] = []
        self.missing = False
        self.error = 0
        self.max_force = 8.5
        self.in_frame = False
        self._running = False
        self._callbacks: list[Any] = []
        self._thread: threading.Thread | None = None

    def init_device(self, name: str = "Default Device") -> int | None:
        self.calls.append(f"init {name}")
        return None if self.missing else len([c for c in self.calls if c.startswith("init")])

    def make_current_device(self, number: int) -> None:
        self.calls.append("make_current")

    def get_model(self) -> str:
        return self.model

    def enable_force(self) -> None:
        print("Force feedback enabled!")  # noqa: T201 as the bindings do
        self.calls.append("enable_force")

    def start_scheduler(self) -> None:
        self._running = True
        self._thread = threading.Thread(target=self._schedule, daemon=True)
        self._thread.start()

    def _schedule(self) -> None:
        while self._running:
            self._callbacks[:] = [callback for callback in self._callbacks if callback(None)]
            time.sleep(1e-3)

    def stop_scheduler(self) -> None:
        self.calls.append("stop_scheduler")
        self._running = False
        if self._thread:
            self._thread.join(5.0)

    def close_device(self, number: int) -> None:
        self.calls.append("close_device")

    def begin_frame(self, number: int) -> None:
        self.in_frame = True

    def end_frame(self, number: int) -> None:
        self.in_frame = False
        self.shown.append((self._force, self._torque))

    def get_transform(self) -> Any:
        assert self.in_frame
        out = ((ctypes.c_double * 4) * 4)()
        for column in range(3):
            for row in range(3):
                out[column][row] = float(self.frame[row, column])
        for row in range(3):
            out[3][row] = self.position[row]
        out[3][3] = 1.0
        return out

    def get_buttons(self) -> int:
        return self.buttons

    def set_force(self, feedback: Vector) -> None:
        assert self.in_frame
        self._force = [float(c) for c in feedback]

    def _get_doublev(self, code: int, kind: Any) -> Any:
        values = {
            0x2051: self.velocity,
            0x2603: self.max_force,
            0x2551: [-160.0, -120.0, -70.0, 160.0, 120.0, 70.0],
        }[code]
        return kind(*values) if isinstance(values, list) else kind(values)

    def _get_integerv(self, code: int, kind: Any) -> Any:
        return kind({0x2554: self.dof, 0x2600: 1000}[code])

    def _set_doublev(self, code: int, value: Vector, kind: Any) -> None:
        assert self.in_frame
        assert code == 0x2701
        assert self.dof == 6
        self._torque = [float(c) for c in value]

    def _get_error(self) -> Any:
        code, self.error = self.error, 0
        return SimpleNamespace(errorCode=code)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        parts = {
            "pyOpenHaptics.hd_callback": module(
                "pyOpenHaptics.hd_callback", hdAsyncSheduler=self._callbacks.append
            ),
            "pyOpenHaptics.hdu_matrix": module(
                "pyOpenHaptics.hdu_matrix", hduVector3Dd=ctypes.c_double * 3
            ),
        }
        patch.setitem(sys.modules, "pyOpenHaptics", module("pyOpenHaptics", hd=self))
        patch.setitem(sys.modules, "pyOpenHaptics.hd", self)
        for name, part in parts.items():
            patch.setitem(sys.modules, name, part)


# ---------------------------------------------------------------- SpaceMouse


class FakeMouse:
    """`pyspacemouse`: one report per call of `read`; translation and rotation come separately."""

    def __init__(self) -> None:
        self.reports: list[dict[str, Any]] = []
        self.state = SimpleNamespace(
            t=-1.0, x=0.0, y=0.0, z=0.0, roll=0.0, pitch=0.0, yaw=0.0, buttons=[0, 0]
        )
        self.missing = False
        self.dead = False
        self.opened = False
        self.convention: Any = None
        self.free = threading.Event()
        self.free.set()

    def push(self, **axes: Any) -> None:
        """The cap is held: as many reports as a second of a wired model has."""
        self.reports += [axes] * 120

    def open(self, **options: Any) -> FakeMouse:
        if self.missing:
            raise RuntimeError("No connected or supported devices found.")
        print("SpaceMouse found")  # noqa: T201 as the library does
        self.convention = options["axis_convention"]
        assert options["nonblocking"]
        self.opened = True
        return self

    def read(self) -> Any:
        self.free.wait(30.0)
        if self.dead:
            raise OSError("device disconnected")
        if self.reports:
            for name, value in self.reports.pop(0).items():
                setattr(self.state, name, value)
            self.state.t = time.perf_counter()
        return self.state

    def close(self) -> None:
        self.opened = False

    def install(self, patch: pytest.MonkeyPatch) -> None:
        fake = module(
            "pyspacemouse",
            open=self.open,
            get_connected_devices=lambda: [] if self.missing else ["SpaceMouse Compact"],
            AxisConvention=SimpleNamespace(HID_Z_UP="hid_z_up"),
        )
        patch.setitem(sys.modules, "pyspacemouse", fake)


# ---------------------------------------------------------------- Haply


class FakeService:
    """The Inverse Service: an inventory on connect, then one frame of state per message.

    A force lasts one message. +x right, +y away from the user, +z up; m, m/s, N. Versions before
    3.5 know the field `values`, later ones `vector`.
    """

    def __init__(self, version: str = "3.5.2", devices: int = 1, grip: str = "verse_grip") -> None:
        self.version, self.devices, self.grip = version, devices, grip
        self.field = "vector" if float(version[:3]) >= 3.5 else "values"
        self.kind = "inverse3"
        self.position: Any = {"x": 0.0, "y": 0.0, "z": 0.0}
        self.velocity: Any = {"x": 0.0, "y": 0.0, "z": 0.0}
        self.orientation: Any = {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}
        self.buttons: dict[str, Any] = {"button": False}
        self.messages: list[dict[str, Any]] = []
        self.shown: list[Vector] = []
        self.free = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._sockets: set[Any] = set()
        self._listeners: set[Any] = set()
        self.port = self.events_port = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(20.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()
        self._loop.close()

    async def _start(self) -> None:
        self.free.set()
        main = await serve(self._talk, "127.0.0.1", 0, process_request=self._http)
        events = await serve(self._listen, "127.0.0.1", 0)
        self._servers = (main, events)
        self.port, self.events_port = (
            next(iter(server.sockets)).getsockname()[1] for server in self._servers
        )

    def _http(self, connection: Any, request: Any) -> Any:
        if request.path == "/version":
            return connection.respond(HTTPStatus.OK, json.dumps({"version": self.version}))
        return None

    def _frame(self, *, full: bool) -> str:
        """Identity parts are left out, as the service may do."""
        force = dict(zip("xyz", self.shown[-1], strict=True)) if self.shown else {}
        state = {
            "cursor_position": self.position,
            "cursor_velocity": self.velocity,
            "current_cursor_force": force,
        }
        entries = []
        for i in range(self.devices):
            entry: dict[str, Any] = {"device_id": f"device-{i}", "state": state, "status": {}}
            if full:
                entry["config"] = {"type": self.kind, "filters": {"damping": 0.0}}
            entries.append(entry)
        frame: dict[str, Any] = {"session_id": 7, "inverse3": entries}
        if self.grip:
            grip = {"orientation": self.orientation, **self.buttons}
            frame[self.grip] = [{"device_id": "grip-0", "state": grip}]
        return json.dumps(frame)

    async def _talk(self, socket: Any) -> None:
        self._sockets.add(socket)
        with contextlib.suppress(ConnectionClosed):
            await socket.send(self._frame(full=True))
            async for text in socket:
                self._obey(json.loads(text))
                await self.free.wait()
                await socket.send(self._frame(full=False))
        self.shown.append([0.0, 0.0, 0.0])  # nobody commands: idle

    def _obey(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        force = [0.0, 0.0, 0.0]
        for entry in message.get("inverse3", []):
            command = entry.get("commands", {}).get("set_cursor_force", {})
            if self.field in command:
                force = [float(command[self.field][axis]) for axis in "xyz"]
        self.shown.append(force)

    async def _listen(self, socket: Any) -> None:
        self._listeners.add(socket)
        await socket.wait_closed()

    def _call(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10.0)

    def tell(self, **event: Any) -> None:
        """Send an event to who listens."""

        async def send() -> None:
            for socket in self._listeners:
                await socket.send(json.dumps(event))

        self._call(send())

    def stall(self, stalled: bool = True) -> None:
        self._loop.call_soon_threadsafe(self.free.clear if stalled else self.free.set)

    def drop(self) -> None:
        """All connections break."""

        async def close() -> None:
            for socket in self._sockets:
                socket.transport.abort()

        self._call(close())

    def close(self) -> None:
        async def end() -> None:
            self.free.set()
            for server in self._servers:
                server.close()
                await server.wait_closed()

        self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10.0)
