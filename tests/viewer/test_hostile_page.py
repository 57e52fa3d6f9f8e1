"""Whatever a page sends: the server stays up, only orders that can be meant leave it, and no hand
feels more than it may."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import viser
from viewer.hostile import BATCH, CAMERA, NASTY, Attacker, kinds
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tangere.devices.browser import Browser
from tangere.fakes.vendors import Libraries, World
from tangere.geometry.shapes import Box
from tangere.haptics.coupling import VirtualCoupling
from tangere.maths.vec import Array
from tangere.scene import library
from tangere.scene.scene import Scene
from tangere.viewer.frame import TOOL, Description, Frame, Settings, Sheet, Verdict
from tangere.viewer.held_session import HeldSession
from tangere.viewer.host import Host
from tangere.viewer.method_choice import offer, offered
from tangere.viewer.orders import Known, decoded
from tangere.viewer.page import Page
from tangere.viewer.server import HOST, Server, close_server, open_server
from tangere.viewer.snapshot import Block, Room

SCENE = "blocks"
STABLE = Verdict("stable", "", "Stable.")
# A method whose options have sliders and a list of choices.
SETTINGS = Settings(SCENE, method="penalty")


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

    def is_told(self, wanted: tuple[str, tuple[Any, ...]]) -> bool:
        """Whether an order arrives; those of earlier attacks may be on their way before it."""
        while self.orders.poll(10.0):
            if decoded(self.orders.recv_bytes(), self.known) == wanted:
                return True
        return False

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
    assert target.is_told(("stiffness_factor", (2.5,)))
    planes = panel._options["clusters"]
    target.attack({"type": "GuiUpdateMessage", "uuid": planes._impl.uuid, "updates": {"value": 3}})
    assert target.is_told(("option", (("clusters", 3),)))


def test_all_that_an_attacker_sends_is_taken(target: Target) -> None:
    """Or what follows would say nothing; and the page still draws."""
    heard: Counter[str] = Counter()
    inner: Any = target.server._websock_server
    handle = inner._handle_incoming_message

    async def count(client: Any, message: Any) -> None:
        heard[type(message).__name__] += 1
        await handle(client, message)

    messages = kinds(target.server)
    address = f"http://{HOST}:{target.server.get_port()}"
    attacker = Attacker(address, messages, seed=5, controls=("Clutch", "Recording"))
    inner._handle_incoming_message = count
    try:
        attacker.send(2_000)
    finally:
        inner._handle_incoming_message = handle
    assert set(heard) == {kind.__name__ for kind in messages}
    # each connection says first where its camera is
    assert heard.total() == 2_000 + len(range(0, 2_000, BATCH))
    target.assert_well()


# ---------------------------------------------------------------- with a device that pushes

FORCE = 3.0  # [N] limit of the device
ROUNDING = 1.0 + 1e-12  # of a wrench that was scaled to its limit
BURSTS = 8
QUIET = 0.5  # [s] after a burst: what sliders asked for comes into force
PATIENCE = 60.0  # [s] until a session on a loaded machine must have come to rest
# These let go of the hand for a while, or end the session: spared in the first half.
LETS_GO = ("Run", "Recording", "Clutch", "Scene")
FIRM = VirtualCoupling(stiffness=600.0, damping=4.0, rotational_stiffness=4.0, max_force=20.0)


def leaning(_: str) -> Scene:
    """A plate in hand between two blocks that it meets with one edge: force and torque."""
    scene = Scene()
    scene.add_floor()
    for name, height in (("below", 0.05), ("above", 0.174)):
        scene.add_body(Box((0.1, 0.1, 0.1)), position=(0, 0, height), fixed=True, name=name)
    scene.add_body(Box((0.05, 0.05, 0.05)), position=(0.3, 0, 0.025), name="loose")
    place = (0.07, 0.0, 0.112)
    scene.add_tool(Box((0.1, 0.1, 0.02)), mass=0.1, position=place, coupling=FIRM, name="plate")
    return scene


@dataclass
class Leaning:
    """A session with a page whose device knows everything it was told."""

    touch: HeldSession
    host: Host
    world: World
    torque: float  # [N m] limit of the device

    def sizes(self, since: int = 0) -> Array:
        """Largest force [N], torque [N m] and gripper force [N] that arrived since a time [ns]."""
        log = self.world.log("write")
        sent = log["wrench"][log["ns"] >= since]
        assert len(sent)
        assert np.isfinite(sent).all()
        force, torque = (np.linalg.norm(sent[:, k : k + 3], axis=1) for k in (0, 3))
        return np.array((force.max(), torque.max(), np.abs(sent[:, 6]).max()))

    def wait_for(self, wanted: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not wanted():
            assert time.monotonic() < end, self.touch.news
            time.sleep(0.05)


@pytest.fixture
def leans(
    request: pytest.FixtureRequest,
    vendor_libraries: Libraries,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Leaning]:
    """The hand leans on a block with a device of so much torque [N m]."""
    limits = {"max_force": FORCE, "max_torque": request.param}
    world = World(tmp_path / "world", capacity=1_000_000, **limits)
    for name, value in vendor_libraries.environment(world).items():
        monkeypatch.setenv(name, value)
    # Wherever it is placed anew, the hand goes on into one of the blocks and out of it.
    world["amplitude"], world["frequency"] = (0.0, 0.0, 0.05), 0.7
    monkeypatch.chdir(tmp_path)  # recordings go there
    touch = HeldSession(Settings("leaning"), leaning, device="forcedimension")
    touch.start()
    host = Host({"leaning": ""})
    stop = threading.Event()
    feeding = threading.Thread(target=host.run, args=(None, stop))
    try:
        host.open()
        host.show(touch)
        feeding.start()
        yield Leaning(touch, host, world, request.param)
    finally:
        stop.set()
        if feeding.ident is not None:
            feeding.join()
        host.close()
        touch.stop()


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("leans", "count"),
    # by its lever the torque is at its limit first, or the force is
    [(0.05, 2_000), (0.2, 100_000)],
    indirect=["leans"],
)
def test_no_page_brings_a_command_beyond_the_limits(
    leans: Leaning, target: Target, count: int
) -> None:
    touch, world = leans.touch, leans.world
    limits = np.array((FORCE, leans.torque, 0.0))

    def limited() -> bool:
        return bool((leans.sizes() > 0.99 * limits)[:2].any())

    leans.wait_for(limited)  # it leans
    attacker = Attacker(leans.host.address, kinds(target.server), seed=4, controls=LETS_GO)
    assert set(LETS_GO) < set(attacker.labels.values())
    began, first = time.monotonic_ns(), touch.session
    for burst in range(BURSTS):
        attacker.send(count // BURSTS, spared=LETS_GO if burst < BURSTS // 2 else ())
        time.sleep(QUIET)
    assert attacker.sent == count
    assert touch.session is not first  # some of it could be meant
    sizes = leans.sizes(began)
    assert sizes[0] > 0.3  # [N] there was something to be felt all the while
    assert sizes[1] > 5e-3  # [N m]
    assert (sizes <= limits * ROUNDING).all()
    # The session goes on, or was paused, or has stopped and says why: then the motors are off.
    before = touch.frame
    leans.wait_for(lambda: touch.frame.paused or touch.frame is not before)
    if touch.frame.paused:
        assert touch.news.notice or not touch.frame.stopped
        leans.wait_for(lambda: not world.motors().any())
    touch.stop()
    assert not world.last().any()
    assert world.calls()[-2:] == ["stop", "close"]
    assert world["count"] < world["capacity"]
    assert (leans.sizes() <= limits * ROUNDING).all()
