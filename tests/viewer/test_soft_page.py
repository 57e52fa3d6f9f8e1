"""The clip on the page, in a real browser: the mouse snaps it onto the pipe, and one sees it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from viewer.browsing import PATIENCE, needs_chromium, on_screen, open_page, picture, showing

from tangere.trace.trace import Trace
from tangere.viewer.app import described, page_scenes, preferred_method
from tangere.viewer.frame import Frame, Settings
from tangere.viewer.held_session import HeldSession
from tangere.viewer.host import Host
from tangere.viewer.server import close_server, open_server
from tangere.viewer.stage import Stage
from tangere.viewer.tools import HANDLES

pytestmark = [pytest.mark.browser, pytest.mark.compiled, needs_chromium]

SCENE = "clip"
START = 0.024  # of the clip's centre above the pipe's axis [m]
UP = np.array([0.0, 0.0, 1.0])
STEP = 0.04  # of the mouse [drawing units], about 1 mm


@dataclass
class Held:
    """A page open in a browser, the session behind it, and the file that it records into."""

    page: Any
    touch: HeldSession
    complaints: list[str]
    file: Path

    def wait_for(self, wanted: Callable[[Frame], bool]) -> Frame:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            frame = self.touch.frame
            if wanted(frame):
                return frame
            self.page.wait_for_timeout(50)
        pytest.fail(f"never happened; last frame {self.touch.frame}")


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    file = tmp_path_factory.mktemp("recordings") / "clip.h5"
    first, plain = page_scenes(SCENE)
    settings = Settings(first, method=preferred_method(first))
    touch = HeldSession(settings, plain, record=file)
    touch.start()
    host = Host(described(first))
    try:
        with showing(host, touch), open_page(host.address) as (page, complaints):
            yield Held(page, touch, complaints, file)
    finally:
        touch.stop()


def drawn_stage(touch: HeldSession) -> Stage:
    """The stage as the page's process has it."""
    server, _ = open_server(0, "test")
    stage = Stage(server)
    stage.load(touch.session.scene, touch.description.tools)
    close_server(server)
    return stage


def stressed(view: np.ndarray) -> int:
    """Pixels in the warm colours of high stress, which are paler than those of the stem."""
    r, g, b = np.moveaxis(view, 2, 0)
    return int(np.count_nonzero((r > g + 15) & (g > b + 15) & (b > 60)))


def test_the_page_tells_of_the_soft_body(held: Held) -> None:
    text = held.page.inner_text("body")
    assert "Drag the handles: you hold the clip." in text
    assert "0 to 10 MPa and more of von Mises stress, linear" in text
    held.page.get_by_text("haptic rate").wait_for()
    assert "felt upwards [N]" in held.page.inner_text("body")


def test_the_mouse_snaps_the_clip_onto_the_pipe(held: Held) -> None:
    """Push, unstable equilibrium, snap: force rises to its peak, turns round, and is gone."""
    start = held.wait_for(lambda frame: frame.time > 0.5)
    stage = drawn_stage(held.touch)
    box = held.page.locator("canvas").first.bounding_box()
    centre = stage.drawn(start.tools[0]["hand_position"])
    calm, plot = picture(held.page, "canvas"), picture(held.page, ".uplot canvas")
    mouse = held.page.mouse
    mouse.move(*on_screen(centre + 0.8 * HANDLES * UP, box))
    held.page.wait_for_timeout(1500)  # the browser finds out what is under the mouse
    mouse.down()
    opened, coloured = 0.0, 0
    seated = stage.scale * start.tools[0]["position"][2]  # way down to where the axes meet
    try:
        for way in np.arange(STEP, seated + STEP, STEP):
            mouse.move(*on_screen(centre + (0.8 * HANDLES - min(way, seated)) * UP, box))
            held.page.wait_for_timeout(80)
            now = float(np.abs(held.touch.frame.displacements).max())
            if now > 1.2e-3 and not coloured:
                coloured = stressed(picture(held.page, "canvas"))
            opened = max(opened, now)
        end = held.wait_for(
            lambda frame: (
                abs(float(frame.tools[0]["position"][2])) < 0.5e-3
                and float(np.linalg.norm(frame.tools[0]["coupling"])) < 1.0
            )
        )
    finally:
        mouse.up()
    assert opened > 1.0e-3  # [m], of the lips
    assert np.abs(end.displacements).max() < 0.2e-3  # closed again
    assert coloured > stressed(calm) + 100
    assert (picture(held.page, ".uplot canvas") != plot).any()


def test_the_recorded_force_has_three_phases_at_1_khz(held: Held) -> None:
    """What the plot draws, "felt upwards", at every tick of the recorded drag."""
    servo = held.touch.frame.servo
    held.touch.stop()
    trace = Trace.load(held.file)
    force, height = -trace["coupling.force"][:, 2], trace["tool.position"][:, 2]
    first, peak = int(np.argmax(force > 0.1)), int(force.argmax())
    snapped = peak + int(force[peak:].argmin())
    # rising push while the lips open …
    assert 2.5 < force[peak] < 4.0  # [N]; 3.2 N in a steady push
    assert height[first] - height[peak] > 2e-3
    # … then the clip runs ahead of the hand, whose force turns round …
    assert force[snapped] < -0.2
    assert height[peak] - height[snapped] > 4e-3
    # … and it is seated: nothing is felt any more
    assert np.abs(force[-100:]).max() < 0.3
    assert height[0] - height[-1] == pytest.approx(START, abs=0.5e-3)
    assert servo.ticks > 1000
    assert servo.rate > 950.0  # [Hz] of 1000, beside a browser that draws in software


def test_the_browser_has_nothing_to_complain_about(held: Held) -> None:
    assert not held.complaints, "\n".join(held.complaints)
