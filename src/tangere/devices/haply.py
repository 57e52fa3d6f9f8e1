"""Haply Inverse3 and Minverse with a VerseGrip, through the Inverse Service on this machine.

The service owns the USB device and speaks JSON over a WebSocket: it answers every message with one
frame of state, and a force lasts until the next message. Hence a thread of the adapter sends one
message and reads one frame per turn; if it dies the device is idle. With the basis XYZ the frame
has tangere's axes (x right, y away from the user, z up) and SI units.

Force is three-dimensional. Orientation comes from the grip and is sensed only.

Versions of the service differ in the field that carries the force. It is chosen by the version and
tried once, with the first force that can be told from none: half of `TRIAL` as chosen, and if no
force is shown, half in the other way. What was found is in `notices`, and stays.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
import urllib.request
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from tangere.devices.device import (
    HOLD,
    MODELS,
    ZERO,
    DeviceInfo,
    Estimator,
    Floats,
    Sample,
    Threaded,
)
from tangere.errors import DeviceError
from tangere.haptics.layout import (
    FAULT_LOST,
    FAULT_OFF,
    FAULT_WRITE,
    READ_APPLIED,
    READ_TELLS_APPLIED,
)
from tangere.maths.vec import Array

SESSION = "org.tangere:session"
ANSWER = 1.0  # a service that has not answered by then is not there [s]
VECTOR_SINCE = (3, 5)  # version of the service whose field for the force is `vector`
DELAY = 3e-3  # from a command to the motors, through a service: not known, taken for three ticks
TRIAL = 0.2  # time that force is sent until the field is settled [s]
TRIAL_FORCE = 0.1  # more than filters of the service keep back [N]

_INVERSE3 = MODELS["Inverse3"]
_MINVERSE = replace(_INVERSE3, name="Minverse", max_force=2.0, radius=0.04)
_GRIPS = ("verse_grip", "wireless_verse_grip", "custom_verse_grip")
_NEEDED = {
    "power_supply": "it has no power",
    "calibrated": "it is not calibrated",
    "ready": "it is not ready",
}
_STOPPED = {
    "ebrake_triggered": "its brake was triggered",
    "stall_detected": "a motor stalled",
    "stability_ceiling": "it became unstable and was stopped",
}


@dataclass(frozen=True)
class _State(Sample):
    """What the service said, with the force that the motors give."""

    applied: Floats | None = None  # None: it did not say

    def into(self, out: Array) -> None:
        """Fill the READ_… columns."""
        super().into(out)
        out[READ_TELLS_APPLIED] = self.applied is not None
        out[READ_APPLIED : READ_APPLIED + 3] = self.applied or ZERO


class Haply(Threaded):
    """An Inverse3 or Minverse; `device_id` picks one of several, else the first is taken.

    `force_field` ("vector" or "values") is found as said above unless it is given.
    `config` holds what the service says of filters and mounting, `notices` its latest events.
    """

    def __init__(
        self,
        device_id: str | None = None,
        *,
        host: str = "localhost",
        port: int = 10001,
        events_port: int | None = 10020,
        preset: str = "arm_front_centered",
        force_field: str | None = None,
    ) -> None:
        super().__init__(replace(_INVERSE3, name="Haply", senses_rotation=False, blocks=True))
        if force_field not in (None, "vector", "values"):
            raise DeviceError(f"Haply: force_field {force_field!r}: give 'vector' or 'values'")
        self._wanted_id = device_id
        self._address = f"{host}:{port}"
        self._events_address = f"{host}:{events_port}" if events_port else ""
        self._preset = preset
        self._given_field = force_field
        self.config: dict[str, Any] = {}
        self.notices: deque[str] = deque(maxlen=20)
        self._socket: Any = None
        self._events: Any = None
        self._listener: threading.Thread | None = None
        self._id = ""
        self._first: dict[str, Any] = {}
        self._field = "vector"
        self._trial = TRIAL
        self._unready = ""
        self._stopped: tuple[int, str] = (0, "")
        self._last_turn = 0.0
        self._estimate = Estimator()

    # ---------------------------------------------------------------- connecting

    def _begin(self) -> None:
        version = _version(self._address)
        self._field = self._given_field or ("vector" if version >= VECTOR_SINCE else "values")
        self._socket = _dial(self._address)
        inventory = self._frame()
        found = _entries(inventory, "inverse3")
        ids = [str(entry.get("device_id", "")) for entry in found]
        if not ids:
            raise DeviceError("Haply: the Inverse Service sees no device: connect an Inverse3")
        if self._wanted_id is not None and self._wanted_id not in ids:
            raise DeviceError(f"Haply: no device {self._wanted_id!r}: there are {', '.join(ids)}")
        self._id = self._wanted_id or ids[0]
        entry = found[ids.index(self._id)]
        self.config = dict(entry.get("config") or {})
        self.info = self._limits(inventory)
        self._first = {"session": {"configure": {"profile": {"name": SESSION}}}}
        self._trial = TRIAL if not self._given_field else 0.0
        self._unready, self._stopped = "", (0, "")
        self._estimate = Estimator()
        self._last_turn = time.monotonic()
        self._listen()

    def _limits(self, inventory: dict[str, Any]) -> DeviceInfo:
        small = "minverse" in str(self.config.get("type", "")).lower()
        return replace(
            _MINVERSE if small else _INVERSE3,
            senses_rotation=any(_entries(inventory, kind) for kind in _GRIPS),
            rate=1000.0,
            blocks=True,
            drops_force=True,
            delay=DELAY,
        )

    def _listen(self) -> None:
        """Follow the service's events on a thread; without them the device still works."""
        if not self._events_address:
            return
        try:
            self._events = _dial(self._events_address)
        except DeviceError as error:
            self.notices.append(f"no events: {error}")
            return
        self._listener = threading.Thread(target=self._hear, name="Haply events", daemon=True)
        self._listener.start()

    # ---------------------------------------------------------------- one turn

    def _turn(self, force: Floats, torque: Floats) -> None:
        device: dict[str, Any] = {
            "device_id": self._id,
            "commands": {"set_cursor_force": {self._field: dict(zip("xyz", force, strict=True))}},
        }
        message: dict[str, Any] = {"inverse3": [device]}
        if self._first:
            device["configure"] = {
                "preset": {"preset": self._preset},
                "basis": {"permutation": "XYZ"},
            }
            message |= self._first
            self._first = {}
        self._socket.send(json.dumps(message))
        frame = self._frame()
        entry = next(
            (e for e in _entries(frame, "inverse3") if str(e.get("device_id")) == self._id), None
        )
        if entry is None:
            raise DeviceError(f"device {self._id} is gone")
        state = entry.get("state") or {}
        self._look_at_status(entry.get("status") or {})
        told = state.get("current_cursor_force")
        applied = None if told is None else _vector(told)
        now = time.monotonic()
        self._try_field(force, applied, now - self._last_turn)
        self._last_turn = now
        q, buttons = _grip(frame)
        x = _vector(state.get("cursor_position"))
        twist = self._estimate(now, x, q)
        velocity = _vector(state.get("cursor_velocity"))
        self.publish(_State(x, q, (*velocity, *twist[3:]), buttons, applied=applied))

    def _look_at_status(self, status: dict[str, Any]) -> None:
        """Why the device does not push now; what the service does not say is well."""
        was = self._unready
        missing = (words for key, words in _NEEDED.items() if not status.get(key, True))
        self._unready = next(missing, "")
        if was and not self._unready:
            self._stopped = 0, ""

    def trouble(self) -> tuple[int, str]:
        """A brake, a lost device, or one that is not ready; until that ends."""
        if self._stopped[0]:
            return self._stopped
        return (FAULT_OFF, self._unready) if self._unready else (0, "")

    def _frame(self) -> dict[str, Any]:
        frame = json.loads(self._socket.recv(timeout=ANSWER))
        if not isinstance(frame, dict):
            raise DeviceError("the Inverse Service sent something that is no frame of state")
        return frame

    def _try_field(self, sent: Floats, shown: Floats | None, spent: float) -> None:
        """Settle the field by what is shown of a force that the device could show."""
        if self._trial <= 0.0 or shown is None or self.trouble()[0]:
            return
        if max(map(abs, sent)) < TRIAL_FORCE:
            return
        if max(map(abs, shown)) > 0.0:
            self._trial = 0.0
            self.notices.append(f"force is sent as {self._field!r}, and shown")
            return
        before = self._trial
        self._trial -= min(spent, HOLD)  # a turn that took long is no evidence
        other = "values" if self._field == "vector" else "vector"
        if before > 0.5 * TRIAL >= self._trial:
            self._field = other
        elif self._trial <= 0.0:
            self._field = other
            self.notices.append(f"no force is shown, whatever its field: it is sent as {other!r}")

    # ---------------------------------------------------------------- events

    def _hear(self) -> None:
        try:
            for text in self._events:
                self._heed(json.loads(text))
        except Exception as error:  # closed, by us or by the service
            self.notices.append(f"events ended: {type(error).__name__}")

    def _heed(self, event: dict[str, Any]) -> None:
        name = str(event.get("name", ""))
        data = event.get("data") or {}
        if str(data.get("device_id", self._id)) != self._id:
            return
        self.notices.append(str(event.get("message") or name))
        kind = str(data.get("safety_type", ""))
        if name == "device-disconnected":
            self._stopped = FAULT_LOST, "the device was disconnected"
        elif name == "device-busy":
            self._stopped = FAULT_WRITE, "another program uses the device"
        elif name == "device-safety-triggered" and kind in _STOPPED:
            self._stopped = FAULT_OFF, _STOPPED[kind]
        elif name == "device-safety-triggered" and kind == "ebrake_released":
            self._stopped = 0, ""

    def _end(self) -> None:
        for each in (self._socket, self._events):
            if each is not None:
                each.close()
        if self._listener is not None:
            self._listener.join(ANSWER)
        self._socket = self._events = self._listener = None


def connected(address: str = "localhost:10001") -> str:
    """What the service says of itself, in words; `DeviceError` when it is not there."""
    version = ".".join(map(str, _version(address)))
    with _dial(address) as wire:
        frame = json.loads(wire.recv(timeout=ANSWER))
    ids = [str(entry.get("device_id")) for entry in _entries(frame, "inverse3")]
    return f"{', '.join(ids)} (service {version})" if ids else ""


def _version(address: str) -> tuple[int, int]:
    """Major and minor version of the service."""
    # The machine's own service is never behind a proxy.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{address}/version", timeout=ANSWER) as answer:
            text = answer.read(10_000).decode("utf-8", "replace")
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise DeviceError(
            f"Haply: no Inverse Service at {address} ({reason}): install and start it, "
            "or give host and port"
        ) from None
    found = re.search(r"(\d+)\.(\d+)", text)
    if not found:
        raise DeviceError(f"Haply: the service at {address} does not say its version: {text[:60]}")
    return int(found[1]), int(found[2])


def _dial(address: str) -> Any:
    """A WebSocket without what delays small messages: compression, pings, Nagle's algorithm."""
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect

    try:
        wire = connect(
            f"ws://{address}",
            compression=None,
            ping_interval=None,
            open_timeout=ANSWER,
            close_timeout=ANSWER,
            proxy=None,
        )
    except (OSError, TimeoutError, WebSocketException) as error:
        raise DeviceError(f"Haply: cannot connect to ws://{address}: {error}") from None
    wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return wire


def _entries(frame: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    entries = frame.get(kind) or []
    return [entry for entry in entries if isinstance(entry, dict)]


def _vector(given: Any) -> Floats:
    """A vector of the service; what is left out is zero."""
    if not isinstance(given, dict):
        return ZERO
    return tuple(float(given.get(axis, 0.0)) for axis in "xyz")


def _grip(frame: dict[str, Any]) -> tuple[Floats, int]:
    """Orientation and buttons of the first grip; without one the hand does not turn."""
    for kind in _GRIPS:
        for entry in _entries(frame, kind):
            state = entry.get("state") or {}
            given = state.get("orientation") or {}
            q = tuple(float(given.get(c, 1.0 if c == "w" else 0.0)) for c in "wxyz")
            several = state.get("buttons") or {}
            names = (("a", "button_1"), ("b", "button_2"), ("c", "button_3"))
            pressed = [any(several.get(name) for name in both) for both in names]
            pressed[0] = pressed[0] or bool(state.get("button"))
            return q, sum(1 << i for i, down in enumerate(pressed) if down)
    return (1.0, 0.0, 0.0, 0.0), 0
