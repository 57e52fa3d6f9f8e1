"""The page of a tool among contact formations: names, marks and the graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tangere.devices.browser import Page as Hand
from tangere.geometry.boundary_lines import MARK, MARK_AXIS
from tangere.geometry.shapes import Box
from tangere.haptics.coupling import VirtualCoupling
from tangere.scene.scene import Scene
from tangere.viewer.frame import Frame, Settings
from tangere.viewer.held_session import HeldSession
from tangere.viewer.live import _tool_rows
from tangere.viewer.method_choice import offered
from tangere.viewer.outlines import linear
from tangere.viewer.panel import _touching_html
from tangere.viewer.server import Server, close_server, open_server
from tangere.viewer.stage import MARK_COLOURS, Stage

PATIENCE = 30.0  # [s] until a thread on a loaded machine must have obeyed
LAID = "cube face -z on block face +z"


def plain(name: str) -> Scene:
    """A cube in hand above a fixed block."""
    scene = Scene()
    scene.add_body(Box((0.1, 0.1, 0.1)), position=(0, 0, 0.05), name="block", fixed=True)
    scene.add_tool(
        Box((0.03, 0.03, 0.03)), mass=0.1, position=(0, 0, 0.14), name="cube",
        coupling=VirtualCoupling(stiffness=400.0, damping=6.0, rotational_stiffness=4.0),
    )  # fmt: skip
    if name == "free":
        scene.add_body(Box((0.1, 0.1, 0.1)), position=(1, 0, 0.05), name="brick")
    return scene


@pytest.fixture
def touch() -> Iterator[HeldSession]:
    running = HeldSession(Settings("laid", method="formation"), plain)
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    opened, _ = open_server(0, "test")
    yield opened
    close_server(opened)


def wait_for(touch: HeldSession, wanted: Callable[[Frame], bool]) -> Frame:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        frame = touch.frame
        if wanted(frame):
            return frame
        time.sleep(0.01)
    pytest.fail(f"never happened; last frame at t = {touch.frame.time} s: {touch.news.notice}")


def test_the_page_names_what_touches_and_marks_it(touch: HeldSession) -> None:
    (sheet,) = touch.description.tools
    hand = Hand(sheet.hand)
    hand.move((0.0, 0.0, -0.03))
    frame = wait_for(touch, lambda frame: len(frame.marks) > 0)
    wait_for(touch, lambda _: bool(touch.news.formations) and touch.news.formations[0].now == 1)
    hand.close()
    (graph,) = touch.news.formations
    assert graph.names[:2] == ("free", LAID)
    assert len(frame.marks) == 4 + 4 + 4 + 3  # two faces, where they touch, and three axes
    assert LAID in _touching_html(touch.news.formations)
    rows = dict(_tool_rows(touch.description, touch.frame, touch.news))
    assert "contact planes" not in rows


def test_the_method_is_offered_where_it_can_be() -> None:
    assert "formation" in offered(plain("laid"))
    assert "formation" not in offered(plain("free"))


def test_marks_are_drawn_in_the_colours_of_what_they_show(server: Server) -> None:
    scene = plain("laid")
    stage = Stage(server)
    stage.load(scene)
    marks = np.zeros(3, MARK)
    marks["end"] = np.eye(3)
    marks["kind"] = (0, 1, MARK_AXIS + 2)
    positions = np.array([body.position for body in scene.bodies])
    orientations = np.array([body.orientation for body in scene.bodies])
    nothing = Frame(0, 0, 0.0, positions, orientations, np.zeros(0, dtype=stage_contacts()))
    stage.show(nothing)
    assert not stage._marks.visible
    frame = Frame(0, 0, 0.0, positions, orientations, nothing.contacts, marks=marks)
    stage.show(frame)
    assert stage._marks.visible
    ways = stage._marks.points[:, 1] - stage._marks.points[:, 0]
    np.testing.assert_allclose(ways, stage.scale * np.eye(3), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(stage._marks.colors[:, 0], linear(MARK_COLOURS)[[0, 1, 4]])


def stage_contacts() -> np.dtype[np.void]:
    from tangere.steppers.stepper import CONTACT_COLUMNS

    return CONTACT_COLUMNS
