"""Haply's service without a device: it records what it is told.

It is written from the vendor's description, in the vendor's units and axes, and knows nothing of
tangere. Vendors' libraries are in `tangere.fakes.vendors`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

Vector = list[float]


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
        self.status: dict[str, bool] = {}
        self.braked = False  # the motors give nothing
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
            entry: dict[str, Any] = {
                "device_id": f"device-{i}",
                "state": state,
                "status": self.status,
            }
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
            if self.field in command and not self.braked:
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
