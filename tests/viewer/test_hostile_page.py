"""Whatever a page sends: the server stays up, and only orders that can be meant leave it."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from typing import Any

import msgspec
import numpy as np
import pytest
import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tangere.devices.browser import Browser
from tangere.scene import library
from tangere.viewer.frame import TOOL, Description, Frame, Settings, Sheet, Verdict
from tangere.viewer.method_choice import offer, offered
from tangere.viewer.orders import Known, decoded
from tangere.viewer.page import Page
from tangere.viewer.server import HOST, Server, close_server, open_server
from tangere.viewer.snapshot import Block, Room

SCENE = "blocks"
STABLE = Verdict("stable", "", "Stable.")
# A method whose options have sliders and a list of choices.
SETTINGS = Settings(SCENE, method="penalty")
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


@dataclass
class Target:
    server: Server
    page: Page
    orders: Any
    device: Browser
    known: Known

    def attack(self, *messages: Any) -> None:
        """Send messages as a page would, each over its own connection if the last one was cut."""
        for message in messages:
            raw = message if isinstance(message, bytes) else msgspec.msgpack.encode(message)
            with contextlib.suppress(ConnectionClosed):
                with connect(
                    f"ws://{HOST}:{self.server.get_port()}",
                    subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
                    max_size=None,
                ) as connection:
                    connection.recv(timeout=10)
                    connection.send(msgspec.msgpack.encode(CAMERA))
                    connection.send(raw)
                    connection.ping().wait(2.0)

    def assert_well(self) -> None:
        """The page still draws and serves, and what it ordered can be meant."""
        self.page._draw()
        while self.orders.poll():
            decoded(self.orders.recv_bytes(), self.known)
        reading = np.zeros(18)
        self.device.read(reading)
        assert np.isfinite(reading).all()
        with connect(
            f"ws://{HOST}:{self.server.get_port()}",
            subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
            max_size=None,
        ) as connection:
            assert connection.recv(timeout=10)


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    server, _ = open_server(0, "test")
    here, there = Pipe()
    page = Page(server, here, {SCENE: "", "heap": ""})
    scene = library.build(SCENE)
    device = Browser()
    device.open()
    sheet = Sheet("shovel", 0.1, 15.0, 1.0, 400.0, 5.0, "browser", 0.0, 0.0, device.address)
    block = Block.create(Room(len(scene.bodies), 1))
    description = Description(
        1,
        SETTINGS,
        scene,
        offered(scene),
        offer(SETTINGS, scene),
        STABLE,
        (sheet,),
        block.name,
    )
    page._hear(description)
    positions = np.array([body.position for body in scene.bodies])
    orientations = np.array([body.orientation for body in scene.bodies])
    tools = np.zeros(1, TOOL)
    for name in ("orientation", "ghost_orientation", "hand_orientation"):
        tools[name] = (1.0, 0.0, 0.0, 0.0)
    from tangere.steppers.stepper import CONTACT_COLUMNS

    block.write(
        Frame(1, 0, 0.0, positions, orientations, np.zeros(0, CONTACT_COLUMNS), tools=tools)
    )
    page._draw()
    assert page._panel is not None
    known = Known.of({SCENE, "heap"}, description)
    assert known.controls
    yield Target(server, page, there, device, known)
    page.close()
    close_server(server)
    block.close()
    device.close()


def controls(page: Page) -> list[Any]:
    panel = page._panel
    assert panel is not None
    return [
        *panel._sliders.values(), *panel._options.values(), panel._scene, panel._method,
        panel._speed, panel._run, panel._clutch, panel._scale, panel._record, panel._push,
        panel._inside,
    ]  # fmt: skip


def test_no_value_of_a_control_gets_through_unchecked(target: Target) -> None:
    rng = random.Random(1)
    messages = [
        {"type": "GuiUpdateMessage", "uuid": control._impl.uuid, "updates": {"value": value}}
        for control in controls(target.page)
        for value in rng.sample(NASTY, 5)
    ]
    target.attack(*messages)
    target.assert_well()


def test_nothing_but_values_can_be_changed(target: Target) -> None:
    panel = target.page._panel
    assert panel is not None
    slider = panel._sliders["stiffness_factor"]
    before = slider._impl.update_cb
    target.attack(
        *(
            {"type": "GuiUpdateMessage", "uuid": slider._impl.uuid, "updates": {name: "broken"}}
            for name in ("update_cb", "gui_api", "sync_cb", "removed", "props", "__class__")
        )
    )
    assert slider._impl.update_cb is before
    assert slider._impl.removed is False
    target.assert_well()


def test_the_handles_cannot_be_dragged_out_of_the_world(target: Target) -> None:
    rng = random.Random(2)
    poses = [(rng.sample(NASTY, 1)[0], rng.sample(NASTY, 1)[0]) for _ in range(20)]
    poses += [([1.0, 0.0, 0.0, 0.0], [np.nan, 0.0, 0.0]), ([0.0] * 4, [0.0] * 3)]
    poses += [([1.0, 0.0, 0.0, 0.0], [1e300, 0.0, 0.0]), ([1e200] * 4, [0.1, 0.1, 0.1])]
    for wxyz, position in poses:
        target.attack(
            {
                "type": "TransformControlsUpdateMessage",
                "name": "/hands/0",
                "wxyz": wxyz,
                "position": position,
            }
        )
    target.assert_well()


def test_noise_is_noise(target: Target) -> None:
    rng = random.Random(3)
    target.attack(*(rng.randbytes(rng.randrange(200)) for _ in range(30)))
    kinds: tuple[str, ...] = (
        "GuiUpdateMessage",
        "SceneNodeDragMessage",
        "SceneNodeClickMessage",
        "NoSuchMessage",
    )
    kinds += ("ShareUrlRequest", "ViewerCameraMessage", "GuiButtonHoldMessage")
    target.attack(
        *(
            {"type": rng.choice(kinds), "name": rng.choice(NASTY), "uuid": rng.choice(NASTY)}
            for _ in range(30)
        )
    )
    target.assert_well()


def test_an_honest_slider_gets_through(target: Target) -> None:
    """The counterpart: what is refused above is refused for its value, not because of all."""
    panel = target.page._panel
    assert panel is not None
    slider = panel._sliders["stiffness_factor"]
    target.attack(
        {"type": "GuiUpdateMessage", "uuid": slider._impl.uuid, "updates": {"value": 2.5}}
    )
    assert target.orders.poll(10.0)
    last = decoded(target.orders.recv_bytes(), target.known)
    assert last == ("stiffness_factor", (2.5,))
    planes = panel._options["clusters"]
    target.attack({"type": "GuiUpdateMessage", "uuid": planes._impl.uuid, "updates": {"value": 3}})
    assert target.orders.poll(10.0)
    last = decoded(target.orders.recv_bytes(), target.known)
    assert last == ("option", (("clusters", 3),))
