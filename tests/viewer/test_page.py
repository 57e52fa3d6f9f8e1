"""The page in a real browser: it comes up, draws, and its controls do what they say."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from viewer.browsing import PATIENCE, needs_chromium, on_screen, open_page, showing

from tangere.scene import library
from tangere.viewer.app import described, page_builder, page_scenes
from tangere.viewer.frame import Frame, Settings
from tangere.viewer.host import Host
from tangere.viewer.runner import Runner
from tangere.viewer.server import close_server, open_server
from tangere.viewer.stage import Stage

pytestmark = [pytest.mark.browser, needs_chromium]


@dataclass
class Session:
    """A page open in a browser, the runner behind it, and what the browser complained about."""

    page: Any
    runner: Runner
    complaints: list[str]

    @property
    def settings(self) -> Settings:
        return self.runner.description.settings

    def wait_for(self, wanted: Callable[[Frame], bool]) -> Frame:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            frame = self.runner.frame
            if wanted(frame):
                return frame
            self.page.wait_for_timeout(50)
        pytest.fail(f"never happened; last frame {self.runner.frame.time} s")

    def choose(self, label: str, option: str) -> None:
        """Take an option of a dropdown."""
        self.page.get_by_role("combobox", name=label, exact=True).click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def press(self, button: str) -> None:
        self.page.get_by_role("button", name=button, exact=True).click()


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    first, plain = page_scenes("pyramid")
    build = page_builder(plain)
    settings = Settings(first)
    build(settings).simulation.step(1)  # compiles where needed, before the page is timed
    runner = Runner(settings, build)
    host = Host(described(first))
    runner.start()
    try:
        with showing(host, runner), open_page(host.address) as (page, complaints):
            page.get_by_text("Feel", exact=True).click()  # unfolds the sliders
            yield Session(page, runner, complaints)
    finally:
        runner.stop()


def drawn(scene: str, point: np.ndarray) -> np.ndarray:
    """Where the page's process draws a point of a scene [drawing units]."""
    server, _ = open_server(0, "test")
    stage = Stage(server)
    stage.load(library.build(scene))
    close_server(server)
    return stage.drawn(point)


def picture(session: Session) -> np.ndarray:
    from PIL import Image

    png = session.page.locator("canvas").first.screenshot(timeout=1000 * PATIENCE)
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=float)


def test_sections_stand_in_their_order(session: Session) -> None:
    text = session.page.inner_text("body")
    places = [text.index(f"\n{name}\n") for name in ("Scene", "Method", "Feel", "Live")]
    assert "\nDevice\n" not in text  # nobody holds anything here
    assert "\nRecord\n" not in text
    assert places == sorted(places)
    assert text.index("Drag a body") < places[0]


def test_the_scene_is_drawn(session: Session) -> None:
    """Bodies differ from sky and floor: many colours, and some of them strong."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        pixels = picture(session)
        vivid = np.ptp(pixels, axis=2) > 40.0
        if vivid.mean() > 0.01:
            break
    assert pixels.std() > 5.0
    assert 0.01 < vivid.mean() < 0.9


def test_numbers_have_units_and_the_plot_a_legend(session: Session) -> None:
    session.page.get_by_text("computing per step").wait_for()
    text = session.page.inner_text("body")
    for words in (
        "simulated time",
        "× real time",
        "N s/m",
        "kinetic [J]",
        "in contacts [J]",
        "sum [J]",
        "energy held in contacts",
        "lost since reset or change",
        "per grid cell",
    ):
        assert words in text


def test_pause_stops_time_and_resume_goes_on(session: Session) -> None:
    session.press("Pause")
    stopped = session.wait_for(lambda frame: frame.paused)
    session.page.wait_for_timeout(300)
    assert session.runner.frame.time == stopped.time
    session.press("Resume")
    session.wait_for(lambda frame: frame.time > stopped.time)


def test_reset_goes_back_to_the_start(session: Session) -> None:
    before = session.wait_for(lambda frame: frame.time > 0.5)
    session.press("Reset")
    after = session.wait_for(lambda frame: frame.take > before.take)
    assert after.time < before.time


def test_slow_motion(session: Session) -> None:
    session.press("1/5")
    session.wait_for(lambda frame: frame.speed == 0.2)
    session.press("1")
    assert not session.wait_for(lambda frame: frame.speed == 1.0).stopped


def test_push_moves_the_chosen_body(session: Session) -> None:
    session.press("Reset")
    session.wait_for(lambda frame: frame.time < 0.5)
    start = session.wait_for(lambda frame: frame.time > 0.1).positions
    session.press("Push block-2-0")
    frame = session.wait_for(lambda frame: float(np.abs(frame.positions - start).max()) > 0.01)
    assert np.argmax(np.abs(frame.positions - start).max(axis=1)) == 5


def test_a_body_can_be_dragged(session: Session) -> None:
    """The mouse takes the top block and lifts it; let go, it falls back."""
    session.press("Reset")
    session.wait_for(lambda frame: frame.time < 0.5)
    start = session.wait_for(lambda frame: frame.time > 0.2).positions[5]
    mouse, box = session.page.mouse, session.page.locator("canvas").first.bounding_box()
    x, y = on_screen(drawn("pyramid", start), box)
    mouse.move(x, y)
    session.page.wait_for_timeout(1000)  # the browser finds out what is under the mouse
    mouse.down()
    try:
        for i in range(10):
            mouse.move(x, y - 8 * (i + 1))
            session.page.wait_for_timeout(100)
        pulled = session.wait_for(lambda frame: frame.positions[5, 2] > start[2] + 0.01)
        assert pulled.pull is not None
        session.page.get_by_text("your pull").wait_for()
    finally:
        mouse.up()
    session.wait_for(lambda frame: frame.pull is None)


def test_method_switches_and_hides_what_it_does_not_have(session: Session) -> None:
    normalised = session.page.get_by_text("Normalised", exact=True)
    session.choose("Method", "point")
    session.wait_for(lambda frame: session.settings.method == "point")
    session.page.get_by_text("deepest point").wait_for()
    normalised.wait_for(state="detached")
    assert normalised.count() == 0
    session.choose("Method", "volume")
    session.wait_for(lambda frame: session.settings.method == "volume")
    normalised.wait_for()
    assert normalised.count() == 1


def test_step_switches_and_shows_what_it_has(session: Session) -> None:
    """Only the explicit step has a rule of friction to choose; only the implicit one has books."""
    session.page.get_by_text("solved for together").wait_for()
    assert session.page.get_by_text("Friction", exact=True).count() == 0
    session.choose("Step", "explicit")
    session.wait_for(lambda frame: session.settings.integrator == "explicit")
    session.page.get_by_text("as in the papers").wait_for()
    session.page.get_by_text("Friction", exact=True).wait_for()
    session.page.get_by_text("lost since reset or change").wait_for(state="detached")
    session.choose("Step", "implicit")
    session.wait_for(lambda frame: session.settings.integrator == "implicit")
    session.page.get_by_text("Friction", exact=True).wait_for(state="detached")


def test_the_implicit_step_knows_no_limit(session: Session) -> None:
    """Damping and stiffness times ten change the numbers, not the bodies at rest."""
    session.press("Reset")
    session.wait_for(lambda frame: frame.time < 0.5)
    start = session.wait_for(lambda frame: frame.time > 0.2).positions
    sliders = session.page.locator(".mantine-NumberInput-input")
    for slider in (0, 1):
        sliders.nth(slider).fill("10")
    wanted = session.wait_for(
        lambda frame: session.settings.stiffness_factor == session.settings.damping_factor == 10.0
    ).time
    session.page.get_by_text("the implicit step has no limit").wait_for()
    frame = session.wait_for(lambda frame: frame.time > wanted + 0.3)
    assert not frame.stopped
    np.testing.assert_allclose(frame.positions, start, atol=1e-5)
    for slider in (0, 1):
        sliders.nth(slider).fill("1")


def test_past_the_limit_the_page_says_so_and_recovers(session: Session) -> None:
    """Explicit step, damping and stiffness times ten: words at once, and when it flew apart."""
    session.choose("Step", "explicit")
    sliders = session.page.locator(".mantine-NumberInput-input")
    for slider in (0, 1):
        sliders.nth(slider).fill("10")
    session.page.get_by_text("Past the stability limit").first.wait_for()
    session.wait_for(lambda frame: frame.stopped)
    session.page.get_by_role("alert").filter(has_text="Stopped at t = ").wait_for()
    session.page.get_by_role("button", name="Resume", exact=True).wait_for(state="detached")
    for slider in (0, 1):
        sliders.nth(slider).fill("1")
    session.page.get_by_text("Stable (").wait_for()
    session.press("Reset")
    frame = session.wait_for(lambda frame: not frame.stopped and frame.time > 0.1)
    assert np.isfinite(frame.positions).all()
    session.page.get_by_text("Stopped at t = ").wait_for(state="detached")
    session.choose("Step", "implicit")


def test_another_scene(session: Session) -> None:
    session.choose("Scene", "falling-cube")
    frame = session.wait_for(lambda frame: session.settings.scene == "falling-cube")
    assert len(frame.positions) == 1
    session.page.get_by_text("Push cube").wait_for()


def test_the_browser_has_nothing_to_complain_about(session: Session) -> None:
    assert not session.complaints, "\n".join(session.complaints)
