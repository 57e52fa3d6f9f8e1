"""Hands on the page, in a real browser: the handles push a block, and the page shows it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from viewer.browsing import PATIENCE, needs_chromium, on_screen, open_page, picture, showing

from tangere.contact.penalty.options import Penalty
from tangere.haptics.layout import FAULT_STALE
from tangere.maths.rotations import rotation_of
from tangere.scene import library
from tangere.viewer.app import described, page_scenes
from tangere.viewer.frame import RECORD_RUNS, Frame, Settings
from tangere.viewer.held_session import HeldSession
from tangere.viewer.host import Host
from tangere.viewer.server import close_server, open_server
from tangere.viewer.stage import Stage
from tangere.viewer.tools import HANDLES
from tangere.viewer.words import FAULTS

pytestmark = [pytest.mark.browser, needs_chromium]

SCENE = "blocks"


@dataclass
class Held:
    """A page open in a browser, and the session behind it."""

    page: Any
    touch: HeldSession
    complaints: list[str]
    folder: Path

    def wait_for(self, wanted: Callable[[Frame], bool]) -> Frame:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            frame = self.touch.frame
            if wanted(frame):
                return frame
            self.page.wait_for_timeout(50)
        pytest.fail(f"never happened; last frame {self.touch.frame}")

    def press(self, button: str) -> None:
        self.page.get_by_role("button", name=button, exact=True).click()

    def unfold(self, folder: str) -> None:
        self.page.get_by_text(folder, exact=True).first.click()

    def picture(self, what: str) -> np.ndarray:
        return picture(self.page, what)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    folder = tmp_path_factory.mktemp("recordings")
    before = Path.cwd()
    os.chdir(folder)  # recordings go where the session was started
    first, plain = page_scenes(SCENE)
    touch = HeldSession(Settings(first), plain)
    touch.start()
    host = Host(described(first))
    try:
        with showing(host, touch), open_page(host.address) as (page, complaints):
            yield Held(page, touch, complaints, folder)
    finally:
        touch.stop()
        os.chdir(before)


def drawn(point: np.ndarray) -> np.ndarray:
    """Where the page's process draws a point [drawing units]."""
    server, _ = open_server(0, "test")
    stage = Stage(server)
    stage.load(library.build(SCENE))
    close_server(server)
    return stage.drawn(point)


def purple(picture: np.ndarray) -> int:
    """Pixels in the colour of the arrow of the force that is felt."""
    r, g, b = np.moveaxis(picture, 2, 0)
    return int(np.count_nonzero((r > g + 40) & (b > r + 10)))


def test_the_page_says_what_is_in_the_hand(held: Held) -> None:
    text = held.page.inner_text("body")
    assert "Drag the handles: you hold the shovel." in text
    names = ("Scene", "Method", "Feel", "Device", "Live", "Record")
    places = [text.index(f"\n{name}\n") for name in names]
    assert places == sorted(places)
    held.page.get_by_text("haptic rate").wait_for()
    text = held.page.inner_text("body")
    for words in (
        "felt [N]",
        "of contacts [N]",
        "felt [N m]",
        "given by the hand [J]",
        "late ticks (over 100 µs)",
        "tick, median and worst",
        "N m per grid cell",
    ):
        assert words in text
    assert held.page.locator(".uplot").count() == 3


def test_the_page_says_that_its_own_hand_has_no_force(held: Held) -> None:
    said = held.page.get_by_text("shovel, browser: force active (only shown: browser gives none)")
    said.wait_for()
    text = held.page.inner_text("body")
    for without in ("ms late", "softened to", "displayed stiffness"):
        assert without not in text


def test_the_hand_pushes_a_block_and_the_page_shows_the_force(held: Held) -> None:
    frame = held.wait_for(lambda frame: frame.time > 0.2)
    start, blocks = frame.tools[0].copy(), frame.positions[:6].copy()
    plot, calm = held.picture(".uplot canvas"), purple(held.picture("canvas"))
    forward = rotation_of(start["hand_orientation"])[:, 0]  # of the red arrow
    assert forward[1] == pytest.approx(1.0)  # towards the blocks
    box = held.page.locator("canvas").first.bounding_box()
    centre, ahead = drawn(np.stack((start["hand_position"], start["hand_position"] + forward)))
    unit = (ahead - centre) / np.linalg.norm(ahead - centre)
    mouse = held.page.mouse
    mouse.move(*on_screen(centre + 0.8 * HANDLES * unit, box))
    held.page.wait_for_timeout(1500)  # the browser finds out what is under the mouse
    mouse.down()
    most, arrow = 0.0, calm
    try:
        for i in range(1, 41):
            mouse.move(*on_screen(centre + (0.8 * HANDLES + 0.04 * i) * unit, box))
            held.page.wait_for_timeout(60)
            most = max(most, float(np.linalg.norm(held.touch.frame.tools[0]["coupling"][:3])))
            if i >= 12:  # at the block: a picture takes a second without a graphics processor
                arrow = max(arrow, purple(held.picture("canvas")))
            if arrow > calm + 20:
                break
        pushed = held.wait_for(
            lambda frame: float(np.abs(frame.positions[:6] - blocks).max()) > 0.005
        )
    finally:
        mouse.up()
    assert pushed.tools[0]["hand_position"][1] > start["hand_position"][1] + 0.1
    assert most > 0.3  # [N]
    assert arrow > calm + 20
    assert (held.picture(".uplot canvas") != plot).any()


def test_reset_brings_tool_and_blocks_back(held: Held) -> None:
    before = held.touch.frame.take
    held.press("Reset")
    frame = held.wait_for(lambda frame: frame.take > before and frame.time < 0.5)
    start = library.build(SCENE)
    np.testing.assert_allclose(
        frame.tools[0]["position"], start.tools[0].position, atol=2e-3
    )  # held against its weight by a spring
    assert float(np.abs(frame.positions[0] - start.bodies[0].position).max()) < 1e-3


def test_pause_and_slow_motion(held: Held) -> None:
    held.press("Pause")
    held.wait_for(lambda frame: frame.paused)
    held.page.get_by_text("shovel, browser: force off: paused").wait_for()
    held.page.wait_for_timeout(200)  # the contact loop ends the period it is in
    stopped = held.touch.session.simulation.time
    held.page.wait_for_timeout(300)
    assert held.touch.session.simulation.time == stopped
    held.press("Resume")
    held.press("1/5")
    held.wait_for(lambda frame: frame.speed == 0.2)
    held.press("1")
    assert not held.wait_for(lambda frame: frame.speed == 1.0).stopped


def test_another_method_goes_on_where_it_was(held: Held) -> None:
    before = held.touch.frame
    held.page.get_by_role("combobox", name="Method", exact=True).click()
    held.page.get_by_role("option", name="point", exact=True).click()
    held.wait_for(lambda frame: held.touch.description.settings.method == "point")
    after = held.wait_for(lambda frame: frame.build > before.build)
    assert after.take == before.take
    np.testing.assert_allclose(after.positions[:6], before.positions[:6], atol=5e-3)


def test_a_method_brings_its_own_options(held: Held) -> None:
    def choose(method: str) -> None:
        held.page.get_by_role("combobox", name="Method", exact=True).click()
        held.page.get_by_role("option", name=method, exact=True).click()
        held.wait_for(lambda frame: held.touch.description.settings.method == method)

    choose("penalty")
    own = held.page.get_by_text("Contact stiffness [N/m]", exact=True)
    own.wait_for()
    assert held.page.get_by_text("Normalised", exact=True).count() == 0
    held.page.locator(".mantine-NumberInput-input").nth(0).fill("5000")
    held.wait_for(lambda frame: held.touch.session.method == Penalty(stiffness=5000.0))
    choose("volume")
    own.wait_for(state="detached")
    held.page.get_by_text("Normalised", exact=True).wait_for()
    assert held.touch.description.settings.options == {}


def test_sliders_change_the_running_coupling(held: Held) -> None:
    held.unfold("Feel")
    session = held.touch.session
    held.page.locator(".mantine-NumberInput-input").nth(0).fill("2")
    held.wait_for(lambda frame: held.touch.description.settings.coupling_stiffness_factor == 2.0)
    assert held.touch.session is session  # not made anew
    assert held.touch.description.tools[0].stiffness == pytest.approx(800.0)
    held.page.get_by_text("800 N/m").wait_for()


def test_a_recording_starts_stops_and_opens(held: Held) -> None:
    from tangere.trace.trace import Trace

    held.press("Start recording")
    held.wait_for(lambda frame: frame.recording == RECORD_RUNS and frame.recorded > 0.3)
    held.press("Stop recording")
    held.wait_for(lambda frame: frame.recording != RECORD_RUNS)
    (file,) = held.folder.glob("*.h5")
    trace = Trace.load(file)
    assert trace.duration > 0.3
    held.page.get_by_role("button", name="Replay", exact=True).wait_for()
    held.page.get_by_text(file.name).wait_for()


def test_a_fault_is_said_in_words(held: Held) -> None:
    held.touch.session.tell_fault(FAULT_STALE)
    said = held.page.get_by_role("alert").filter(has_text=FAULTS[FAULT_STALE]).first
    said.wait_for()
    assert FAULTS[FAULT_STALE] in said.inner_text()
    held.press("Reset")


def test_the_browser_has_nothing_to_complain_about(held: Held) -> None:
    assert not held.complaints, "\n".join(held.complaints)
