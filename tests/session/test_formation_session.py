"""A hand among contact formations: packets, names, marks, refusals, replay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangere as tg
from tangere.geometry.boundary import holed_block
from tangere.geometry.boundary_lines import MARK_AXIS, MARK_FIXED, MARK_HELD
from tangere.haptics.layout import (
    PACKET_DAMPING,
    PACKET_FORMATION,
    PACKET_STIFFNESS,
    PACKET_WRENCH,
    STATE_TIME,
    STATE_TOOL,
    TOOL_POSITION,
)
from tangere.session.replay import replay
from tangere.trace.formation_graph import graph_of

pytestmark = pytest.mark.nojit

LAYER = tg.Formation().layer
LAID = ["free", "peg face -z on block face +z"]


def scene() -> tg.Scene:
    """A peg above a block with a hole, off the hole."""
    made = tg.Scene()
    made.add_body(holed_block((0.1, 0.1, 0.04), (0.036, 0.036)), fixed=True, name="block")
    made.add_tool(tg.Box((0.02, 0.02, 0.06)), mass=0.1, position=(0.033, 0, 0.052), name="peg")
    return made


def hand(down: float = 0.004) -> tg.devices.Scripted:
    return tg.devices.Scripted(lambda t: (0.033, 0.0, 0.052 - min(0.1 * t, down)))


def session(**options: Any) -> tg.Session:
    return tg.Session(scene(), method="formation", device=hand(), **options)


def test_a_peg_is_laid_on_a_block_and_the_trace_names_what_touches() -> None:
    trace = session().run(0.08, realtime=False)
    assert trace.meta["formations"] == LAID
    changes = np.flatnonzero(np.diff(trace["contact.formation"]))
    assert len(changes) == 1
    # it begins where the lower face comes within the layer of the block's top
    gap = trace["tool.position"][changes[0], 2] - 0.03 - 0.02
    assert gap == pytest.approx(LAYER, abs=2e-4)
    graph = graph_of(trace)
    assert graph is not None
    assert graph.names == tuple(LAID)
    assert graph.links == ((0, 1, 1),)
    assert trace["tool.force"][-1, 2] > 0.5
    assert np.abs(trace["tool.force"][:, :2]).max() < 1e-9


def test_the_servo_is_told_the_wrench_with_its_derivative() -> None:
    made = session()
    made.run(0.08, realtime=False)
    (packet,) = made.contact.turn()
    assert packet[PACKET_FORMATION] == 1
    depth = 0.03 + 0.02 + LAYER - made.contact.newest(0)[STATE_TOOL + TOOL_POSITION + 2]
    assert packet[PACKET_WRENCH + 2] == pytest.approx(2300.0 * depth, rel=0.05)
    stiffness = packet[PACKET_STIFFNESS : PACKET_STIFFNESS + 36].reshape(6, 6)
    damping = packet[PACKET_DAMPING : PACKET_DAMPING + 36].reshape(6, 6)
    assert stiffness[2, 2] == pytest.approx(2300.0)
    assert damping[2, 2] == pytest.approx(5.0)
    assert np.linalg.eigvalsh(stiffness).min() > -1e-9


def test_no_new_sample_gives_the_last_wrench_and_a_late_one_what_lies_between() -> None:
    made = session()
    made.run(0.07, realtime=False)
    side: Any = made.contact
    before = side.turn()[0].copy()
    again = side.turn()[0]
    assert again[PACKET_WRENCH : PACKET_WRENCH + 6] == pytest.approx(
        before[PACKET_WRENCH : PACKET_WRENCH + 6], abs=0.0
    )
    state = side.newest(0)
    state[STATE_TIME] += 0.010  # ten periods later, where it was
    late = side.turn()[0]
    assert late[PACKET_FORMATION] == 1
    assert np.isfinite(late).all()


def test_the_page_is_given_what_touches() -> None:
    made = session()
    side: Any = made.contact
    assert len(side.contacts_on(0)) == len(side.marks(0)) == 0
    assert side.visited(0) is None
    made.run(0.08, realtime=False)
    (contact,) = side.contacts_on(0)
    assert (contact["body_a"], contact["body_b"]) == (1, 0)
    assert contact["normal"] == pytest.approx((0.0, 0.0, -1.0))
    assert contact["force"][2] < -0.5, "on the block"
    assert contact["area"] == pytest.approx(4e-4, rel=1e-6)
    marks = side.marks(0)
    assert np.isfinite(marks["start"]).all()
    counts = [int((marks["kind"] == kind).sum()) for kind in range(6)]
    assert counts == [4, 8, 1, 1, 1, 4]  # a face, a face with a hole, three axes, where they touch
    held = marks[marks["kind"] == MARK_HELD]
    laid = float(made.contact.newest(0)[STATE_TOOL + 2]) - 0.03
    assert held["start"][:, 2] == pytest.approx(np.full(4, laid), abs=2e-5)  # a tick later
    assert marks[marks["kind"] == MARK_FIXED]["end"][:, 2] == pytest.approx(np.full(8, 0.02))
    normal = marks[marks["kind"] == MARK_AXIS + 1][0]
    way = normal["end"] - normal["start"]
    assert way / np.linalg.norm(way) == pytest.approx((0.0, 0.0, 1.0), abs=1e-6)
    assert side.visited(0).names == tuple(LAID)


def test_what_can_move_or_has_no_boundary_is_refused_in_one_line() -> None:
    free = scene()
    free.add_body(tg.Box((0.1, 0.1, 0.1)), position=(0.0, 0.0, 1.0), name="brick")
    alone = tg.Scene()
    alone.add_tool(tg.Box((0.1, 0.1, 0.1)), mass=0.1)
    rough = scene()
    parts = tg.Compound(
        [tg.Box((0.1, 0.1, 0.1))] * 2,
        [((0, 0, 0), (1, 0, 0, 0)), ((0.05, 0, 0), (0.96, 0.28, 0, 0))],
    )
    rough.add_body(parts, fixed=True, position=(0, 0, 1), name="heap")
    for made, words in (
        (free, "'brick' can move: method 'formation' is for a tool in a hand"),
        (alone, "nothing for the tool to touch"),
        (rough, "'heap': method 'formation'"),
    ):
        with pytest.raises(tg.SceneError, match=words) as caught:
            tg.Session(made, method="formation", device=hand())
        assert "\n" not in str(caught.value)
    with pytest.raises(tg.SceneError, match="use Session"):
        tg.Simulation(scene(), method="formation")


def test_two_tools_count_in_one_list_of_names() -> None:
    made = scene()
    made.add_tool(tg.Box((0.02, 0.02, 0.02)), mass=0.1, position=(-0.033, 0, 0.031), name="cube")
    other = tg.devices.Scripted(lambda t: (-0.033, 0.0, 0.031 - min(0.1 * t, 0.004)))
    both = tg.Session(made, method="formation", device=[hand(), other])
    trace = both.run(0.08, realtime=False)
    names = trace.meta["formations"]
    assert set(names) == {*LAID, "cube face -z on block face +z"}
    assert names[int(trace["cube.contact.formation"][-1])] == "cube face -z on block face +z"
    assert names[int(trace["peg.contact.formation"][-1])] == LAID[1]


def test_a_replay_is_the_same_to_the_last_bit(tmp_path: Any) -> None:
    trace = session().run(0.08, realtime=False, record=tmp_path / "peg.h5")
    again = replay(tmp_path / "peg.h5")
    assert again.hash() == trace.hash()
    assert again.meta["formations"] == LAID
