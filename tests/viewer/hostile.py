"""A client that knows everything the page shows, and sends what no page would."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import time
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import viser
import zstandard
from viser import _messages
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tangere.viewer.server import Server

# A page counts as one once it has told where its camera is.
CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [0.0, 0.0, 5.0],
    "fov": 0.7,
    "near": 0.01,
    "far": 100.0,
    "image_height": 500,
    "image_width": 800,
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0.0, 0.0, 1.0],
}
NASTY: tuple[Any, ...] = (
    *(float("nan"), float("inf"), -float("inf"), 1e308, -1.0, 0, 2**62, True, None, "", "x" * 3000),
    *("nan", "../../etc/passwd", "<script>", [], [1, 2], {}, {"a": 1}, b"\xff", [[[]]]),
)
FLOATS = (
    *(float("nan"), float("inf"), -1e308, -1.0, 0.0, 1e-9),
    *(0.01, 0.5, 1.0, 3.0, 100.0, 1e9),
)
WHOLE = (-1, 0, 1, 2, 7, 2**31, 2**62)
BATCH = 500  # messages over one connection; then one that makes no sense, and the server cuts it
GONE = 20.0  # [s] a server that has not taken a batch by then is gone


def kinds(server: Server) -> list[type[Any]]:
    """Every message that the server listens to."""
    listened: Any = server._websock_server._incoming_handlers
    return [*listened, _messages.ViewerCameraMessage, _messages.GetRenderResponseMessage]


def connection(address: str) -> Any:
    """As a browser connects; what the server sends is not waited for."""
    return connect(
        address.replace("http", "ws"),
        subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
        max_size=None,
        max_queue=None,
    )


class Attacker:
    """Sends every message a page can send, out of range and out of order.

    Attributes:
        sent: Messages so far.
        labels: Of the controls that it found on the page, by their identity.
    """

    def __init__(
        self, address: str, messages: list[type[Any]], seed: int, controls: tuple[str, ...]
    ) -> None:
        self.sent = 0
        self.labels: dict[str, str] = {}
        self._address = address
        self._kinds = [(kind.__name__, _fields(kind)) for kind in messages]
        self._rng = random.Random(seed)
        self._values: dict[str, tuple[Any, ...]] = {}
        self._nodes: list[str] = ["/hands/0", "/bodies/0", "/nothing"]
        end = time.monotonic() + GONE
        while not {*controls} <= {*self.labels.values()} and time.monotonic() < end:
            self._look()  # it has only begun to show them

    def _look(self) -> None:
        """Find out what is on the page, as its browser is told."""
        unpack = zstandard.ZstdDecompressor().decompress
        with connection(self._address) as link:
            done = False
            while not done:
                raw = link.recv(timeout=GONE)
                length = int.from_bytes(raw[8:16], "little")
                for message in msgspec.msgpack.decode(unpack(raw[16 : 16 + length]))["messages"]:
                    done |= message["type"] == "ReplayDoneMessage"
                    if "value" in message and "props" in message:
                        self._learn(message["uuid"], message["props"], message["value"])
                    elif str(message.get("name", "")).startswith("/"):
                        self._nodes.append(message["name"])

    def _learn(self, identity: str, props: dict[str, Any], value: Any) -> None:
        self.labels[identity] = props["label"]
        meant = [*props.get("options", ()), *(props[k] for k in ("min", "max") if k in props)]
        self._values[identity] = (value, *meant, *meant, *FLOATS, *NASTY)

    def send(self, count: int, spared: tuple[str, ...] = ()) -> None:
        """Send so many messages; controls with these labels are left alone."""
        controls = [identity for identity, label in self.labels.items() if label not in spared]
        end = self.sent + count
        while self.sent < end:
            with contextlib.suppress(ConnectionClosed), connection(self._address) as link:
                link.send(msgspec.msgpack.encode(CAMERA))
                for _ in range(min(BATCH, end - self.sent)):
                    link.send(self._message(controls))
                    self.sent += 1
                assert link.ping().wait(GONE), "the server takes nothing any more"
                link.send(self._rng.randbytes(self._rng.randrange(200)))

    def _message(self, controls: list[str]) -> bytes:
        rng = self._rng
        if rng.random() < 0.5:  # a control's value is what an order is made of
            one = rng.choice(controls)
            updates = {"value": rng.choice(self._values[one])}
            message = {"type": "GuiUpdateMessage", "uuid": one, "updates": updates}
        else:
            name, hints = rng.choice(self._kinds)
            fields = {field: self._made_up(field, hint) for field, hint in hints.items()}
            message = {"type": name, **fields}
            if "uuid" in fields and fields["uuid"] in self.labels:
                message["uuid"] = rng.choice(controls)
        return msgspec.msgpack.encode(message)

    def _made_up(self, field: str, hint: Any) -> Any:
        """A value of the right kind for a field: any other would end the connection."""
        rng = self._rng
        origin, inner = get_origin(hint), get_args(hint)
        if field == "name":
            return rng.choice(self._nodes)
        if field == "owner":
            return ""
        if field.endswith("uuid"):
            return rng.choice([*self.labels, "nobody"])
        if origin is Literal:
            return rng.choice(inner)
        if origin in (Union, UnionType):
            chosen = rng.choice(inner)
            return None if chosen is NoneType else self._made_up(field, chosen)
        if origin is tuple:
            members = inner[:1] * rng.randrange(4) if Ellipsis in inner else inner
            return [self._made_up(field, member) for member in members]
        if origin is dict:
            return {rng.choice(("value", "update_cb", "visible", "label")): rng.choice(NASTY)}
        plain = {float: FLOATS, int: WHOLE, bool: (True, False), bytes: (b"", b"\xff" * 50)}
        return rng.choice(plain.get(hint, ("", "nan", "x" * 300, "../../etc/passwd")))


def _fields(kind: type[Any]) -> dict[str, Any]:
    """Fields of a message and what they hold."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
