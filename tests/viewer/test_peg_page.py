"""A peg led into its hole with the mouse, in a real browser: the page names what touches."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from viewer.browsing import PATIENCE, needs_chromium, on_screen, open_page, picture, showing

from tangere.geometry.boundary_lines import MARK_AXIS, MARK_FIXED, MARK_HELD
from tangere.viewer.app import described, page_scenes
from tangere.viewer.frame import Frame, Settings
from tangere.viewer.held_session import HeldSession
from tangere.viewer.host import Host
from tangere.viewer.server import close_server, open_server
from tangere.viewer.stage import MARK_COLOURS, Stage
from tangere.viewer.tools import HANDLES

pytestmark = [pytest.mark.browser, pytest.mark.compiled, needs_chromium]

SCENE = "peg-in-hole"
# Where the mouse takes hold, over the size of the handles: the heads of two arrows, and the square
# that moves in the plane of x and y; the arrow along y points away and lies behind arcs.
X, Z, PLANE = (0.9, 0.0, 0.0), (0.0, 0.0, 0.9), (0.255, 0.255, 0.0)
# The way of the hand [m], and what touches at its end as the page says it.
WAY = (
    (Z, (0.0, 0.0, -0.0155), "peg face -z on block face +z"),
    (X, (0.025, 0.0, 0.0), "free"),
    (Z, (0.0, 0.0, -0.027), "free"),
    (X, (0.005, 0.0, 0.0), "peg face +x on block wall -x"),
    (PLANE, (0.0, -0.005, 0.0), "peg face -y on block wall +y"),
    (Z, (0.0, 0.0, -0.016), "peg face -z on floor"),
)
ABOVE, WALL, OTHER_WALL = (WAY[k][2] for k in (0, 3, 4))
STRIDE = 0.004  # of the mouse from event to event [m]
NEAR = 0.001  # of a hand that has arrived [m]: the layer of a contact


class Player:
    """Somebody with a mouse before a page, who sees where the hand is."""

    def __init__(self, page: Any, touch: HeldSession) -> None:
        self.page, self._touch = page, touch
        server, _ = open_server(0, "test")
        self._stage = Stage(server)
        self._stage.load(touch.description.scene, touch.description.tools)
        close_server(server)
        self._box = page.locator("canvas").first.bounding_box()

    @property
    def frame(self) -> Frame:
        return self._touch.frame

    def names(self) -> str:
        """What the page says touches now, in one line."""
        return " ".join(self.page.get_by_role("status").inner_text().split())

    def says(self, words: str) -> bool:
        return words in self.names()

    def wait_for(self, wanted: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not wanted():
            if time.monotonic() > end:
                pytest.fail(f"{what} never happened; the page says {self.names()!r}")
            self.page.wait_for_timeout(50)

    def drag(self, grip: np.ndarray, way: np.ndarray) -> None:
        """Take the handles at a place, over their size, and move them by a way [m]."""
        begin = self.frame.tools[0]["hand_position"].copy()
        self._take_hold(begin, grip)
        steps = 1 + round(float(np.linalg.norm(way)) / STRIDE)
        for share in np.linspace(0.0, 1.0, 1 + steps)[1:]:
            self.page.mouse.move(*self._place(begin + share * way, grip))
            self.page.wait_for_timeout(20)
        self.wait_for(lambda: self._away(begin + way) < NEAR, f"a hand {1e3 * way} mm on")
        self.page.mouse.up()

    def _take_hold(self, hand: np.ndarray, grip: np.ndarray) -> None:
        """Press the button once the handle below the mouse has changed its colour."""
        x, y = self._place(hand, grip)
        around = {"x": x - 12.0, "y": y - 12.0, "width": 24.0, "height": 24.0}
        self.page.mouse.move(self._box["x"] + 5.0, self._box["y"] + 5.0)
        before = self._pixels(around)
        self.page.mouse.move(x, y)
        self.wait_for(
            lambda: int(np.count_nonzero(abs(self._pixels(around) - before) > 60)) > 10,
            "a handle that the mouse can take",
        )
        self.page.mouse.down()

    def _pixels(self, clip: dict[str, float]) -> np.ndarray:
        from PIL import Image

        png = self.page.screenshot(clip=clip)
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=int)

    def _place(self, hand: np.ndarray, grip: np.ndarray) -> tuple[float, float]:
        """Of a part of the handles on the screen, with the hand there."""
        return on_screen(self._stage.drawn(hand) + HANDLES * grip, self._box)

    def _away(self, goal: np.ndarray) -> float:
        return float(np.linalg.norm(self.frame.tools[0]["hand_position"] - goal))


@pytest.fixture
def player() -> Iterator[Player]:
    first, plain = page_scenes(SCENE)
    touch = HeldSession(Settings(first, method="formation"), plain)
    touch.start()
    host = Host(described(first))
    try:
        with showing(host, touch), open_page(host.address) as (page, complaints):
            page.set_viewport_size({"width": 1100, "height": 700})
            page.get_by_role("status").wait_for()
            page.get_by_text("Shadows", exact=True).wait_for()
            page.get_by_role("checkbox").nth(1).uncheck()  # half of the time of a picture
            yield Player(page, touch)
            assert not complaints, "\n".join(complaints)
    finally:
        touch.stop()


def seen(pixels: np.ndarray, colour: np.ndarray) -> int:
    """Pixels of about that colour."""
    return int(np.count_nonzero((abs(pixels - colour) < 50).all(axis=2)))


def test_the_peg_goes_into_the_hole_and_the_page_names_what_touches(player: Player) -> None:
    page = player.page
    assert player.names() == "free"
    bare = picture(page, "canvas")
    for grip, way, said in WAY:
        player.drag(np.array(grip), np.array(way))
        player.wait_for(partial(player.says, said), said)
        if said == ABOVE:
            laid = picture(page, "canvas")
            kinds = set(player.frame.marks["kind"].tolist())
            assert {MARK_HELD, MARK_FIXED, MARK_AXIS, MARK_AXIS + 1, MARK_AXIS + 2} <= kinds
            for kind in (MARK_HELD, MARK_FIXED):
                colour = MARK_COLOURS[kind].astype(int)
                assert seen(laid, colour) > seen(bare, colour) + 50
    # Both walls and the floor at once, each a contact of its own.
    assert player.names().count(" and ") == 2
    assert player.frame.tools[0]["position"][2] < 0.032  # the peg is 60 mm long: it stands

    graph = page.locator("svg[role=img]")
    listed = page.locator("ol li").all_inner_texts()
    names = [item.rsplit(", ", 1)[0] for item in listed]
    assert len(names) >= 5
    assert graph.locator("circle").count() == len(names)
    assert graph.locator("path[marker-end]").count() >= len(names) - 1
    # As the hand came by: free, the face above, a wall, two walls, two walls and the floor.
    stages = [
        names.index("free"),
        names.index(ABOVE),
        names.index(WALL),
        next(k for k, name in enumerate(names) if WALL in name and OTHER_WALL in name),
        next(k for k, name in enumerate(names) if name.count(" and ") == 2),
    ]
    assert stages == sorted(stages)
    assert len(set(stages)) == 5
