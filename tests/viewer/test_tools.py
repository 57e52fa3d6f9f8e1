"""What is sent to the page of a tool in hand: ghost, line, arrows, handles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tangere.scene import library
from tangere.viewer.frame import TOOL, Description, Settings, Sheet, Verdict
from tangere.viewer.method_choice import offer, offered
from tangere.viewer.outlines import linear
from tangere.viewer.server import Server, close_server, open_server
from tangere.viewer.stage import Stage
from tangere.viewer.tools import EASY, HARD, LIFT, LONGEST, Tools

SINGLE = 1e-6  # rounding of the single-precision numbers that travel to the page
STABLE = Verdict("stable", "", "Stable.")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    opened, _ = open_server(0, "test")
    yield opened
    close_server(opened)


@pytest.fixture
def shown(server: Server) -> tuple[Stage, Tools, np.ndarray]:
    """Two shovels of 15 N, the first held by the page's handles; rows of both at rest."""
    scene = library.build("two-hands")
    sheets = tuple(
        Sheet(tool.name, 0.1, 15.0, 1.0, 400.0, 5.0, "any", 0.0, 0.0, hand)
        for tool, hand in zip(scene.tools, ("memory", ""), strict=True)
    )
    stage = Stage(server)
    stage.load(scene, sheets)
    tools = Tools(server, stage, lambda *_: None)
    settings = Settings("two-hands")
    tools.load(
        Description(1, settings, scene, offered(scene), offer(settings, scene), STABLE, sheets)
    )
    rows = np.zeros(2, TOOL)
    for i, tool in enumerate(scene.tools):
        for kind in ("", "ghost_", "hand_"):
            rows[i][f"{kind}position"] = tool.position
            rows[i][f"{kind}orientation"] = tool.orientation
        rows[i]["grip"] = tool.position
    return stage, tools, rows


def test_handles_are_there_for_the_page_alone(shown: tuple[Stage, Tools, np.ndarray]) -> None:
    _, tools, _ = shown
    assert list(tools._handles) == [0]


def test_the_ghost_shows_where_the_hand_is_once_it_is_elsewhere(
    shown: tuple[Stage, Tools, np.ndarray],
) -> None:
    stage, tools, rows = shown
    tools.show(rows, 0)
    assert [ghost.visible for ghost in tools._ghosts] == [False, False]
    rows[1]["ghost_position"] += (0.0, 0.0, 0.05)
    rows[1]["deviation"] = 0.05
    tools.show(rows, 0)
    assert [ghost.visible for ghost in tools._ghosts] == [False, True]
    place = stage.drawn(rows[1]["ghost_position"])
    np.testing.assert_allclose(tools._ghosts[1].position, place, atol=10 * SINGLE)


@pytest.mark.parametrize(("force", "colour"), [(0.0, EASY), (15.0, HARD), (100.0, HARD)])
def test_the_line_goes_from_green_to_red(
    shown: tuple[Stage, Tools, np.ndarray], force: float, colour: np.ndarray
) -> None:
    _, tools, rows = shown
    rows["coupling"][0, 0] = force
    tools.show(rows, 0)
    np.testing.assert_array_equal(tools._line.colors[0, 0], linear(colour))


def test_arrows_show_what_the_hand_feels_to_scale(shown: tuple[Stage, Tools, np.ndarray]) -> None:
    stage, tools, rows = shown
    tools.show(rows, 0)
    assert not tools._force.visible
    rows["coupling"][0, :3] = (0.0, 0.0, -2.0)  # the coupling pulls the tool down …
    rows["coupling"][1, 3:] = (0.1, 0.0, 0.0)
    tools.show(rows, 0)
    assert tools._force.visible
    assert tools._torque.visible
    (arrow,) = tools._force.points
    np.testing.assert_allclose(arrow[1] - arrow[0], [0, 0, 2.0 * stage.newton], atol=10 * SINGLE)
    np.testing.assert_allclose(arrow[0], stage.drawn(rows[0]["grip"]) + LIFT, atol=10 * SINGLE)
    (turn,) = tools._torque.points
    cell = stage.grid_cell * stage.scale
    expected = min(0.1 / tools.cell_torque * cell, LONGEST)
    assert turn[0][0] - turn[1][0] == pytest.approx(expected, abs=1e-5)


def test_a_fresh_start_puts_the_handles_back(shown: tuple[Stage, Tools, np.ndarray]) -> None:
    stage, tools, rows = shown
    tools.show(rows, 0)
    handles = tools._handles[0]
    handles.position = (9.0, 9.0, 9.0)  # somebody drags them
    tools.show(rows, 0)
    np.testing.assert_allclose(handles.position, 9.0)
    tools.show(rows, 1)
    place = stage.drawn(rows[0]["hand_position"])
    np.testing.assert_allclose(handles.position, place, atol=10 * SINGLE)
