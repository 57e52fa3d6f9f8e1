"""The session behind a page: it obeys, changes while it runs, records, and says what went wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tangere.devices.browser import Page as Hand
from tangere.errors import DeviceError, SceneError
from tangere.fakes.vendors import World
from tangere.geometry.shapes import Box
from tangere.haptics.coupling import VirtualCoupling
from tangere.haptics.layout import (
    FAULT_LIMIT,
    FAULT_TOOL,
    FAULT_VIEWER,
    FORCE_ACTIVE,
    FORCE_LOST,
    FORCE_RAMP,
    FORCE_WAITING,
    ROW_FAULT,
    ROW_GAIN,
    ROW_SENT,
    SET_STIFFNESS,
)
from tangere.scene.scene import Scene
from tangere.viewer.director import Director
from tangere.viewer.frame import RECORD_RUNS, Frame, Settings
from tangere.viewer.held_session import HeldSession
from tangere.viewer.orders import Order
from tangere.viewer.runner import Runner

PATIENCE = 30.0  # [s] until a thread on a loaded machine must have obeyed
FIRM = VirtualCoupling(stiffness=400.0, damping=4.0, rotational_stiffness=4.0, max_force=10.0)


def plain(name: str) -> Scene:
    """A block on a floor, and a plate in hand above it; "bad" cannot be built."""
    if name == "bad":
        raise SceneError("bad scene: it is bad")
    scene = Scene()
    scene.add_floor()
    scene.add_body(Box((0.1, 0.1, 0.1)), mass=0.2, position=(0, 0, 0.05), name="block")
    if name != "watch":
        scene.add_tool(
            Box((0.1, 0.1, 0.02)), mass=0.1, position=(0, 0, 0.2), coupling=FIRM, name="plate"
        )
    return scene


@pytest.fixture
def touch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldSession]:
    monkeypatch.chdir(tmp_path)
    running = HeldSession(Settings("touch"), plain)
    running.start()
    yield running
    running.stop()


def wait_for(touch: HeldSession | Director, wanted: Callable[[Frame], bool]) -> Frame:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        frame = touch.frame
        if wanted(frame):
            return frame
        time.sleep(0.01)
    pytest.fail(f"never happened; last frame at t = {touch.frame.time} s: {touch.news.notice}")


def test_the_hand_presses_the_block_and_feels_it(touch: HeldSession) -> None:
    """The hand goes 4 cm into the block: the tool stays on its top, and the spring pulls."""
    (sheet,) = touch.description.tools
    assert sheet.origin == pytest.approx((0.0, 0.0, 0.2))
    hand = Hand(sheet.hand)
    hand.move((0.0, 0.0, -0.13))
    wait_for(touch, lambda frame: frame.tools[0]["hand_position"][2] < 0.071)
    hand.close()
    # The coupling pulls down, the block pushes up.
    frame = wait_for(
        touch,
        lambda frame: frame.tools[0]["coupling"][2] < -8.0 and frame.tools[0]["contact"][2] > 8.0,
    )
    tool = frame.tools[0]
    assert tool["position"][2] == pytest.approx(0.11, abs=2e-3)  # half of both thicknesses
    assert tool["ghost_position"][2] == pytest.approx(0.07, abs=2e-3)
    assert tool["deviation"] == pytest.approx(0.04, abs=3e-3)
    assert tool["planes"] > 0
    rows = touch.new_rows()
    assert rows["tools"]["felt_force"].max() > 5.0
    assert rows["tools"]["contact_force"].max() > 5.0


def test_a_stiffer_hand_needs_no_new_session(touch: HeldSession) -> None:
    before = touch.session
    touch.obey(Order("coupling_stiffness_factor", (2.0,)))
    wait_for(touch, lambda _: touch.description.settings.coupling_stiffness_factor == 2.0)
    assert touch.session is before
    wait_for(touch, lambda _: before.rigs[0].settings[SET_STIFFNESS] == 800.0)
    assert touch.description.tools[0].stiffness == 800.0


def test_another_mass_goes_on_where_it_was(touch: HeldSession) -> None:
    hand = Hand(touch.description.tools[0].hand)
    hand.move((0.1, 0.0, 0.0))
    hand.close()
    wait_for(touch, lambda frame: frame.tools[0]["position"][0] > 0.099)
    time.sleep(0.5)  # it swings about the hand for a moment
    before = touch.frame
    first = touch.session
    touch.obey(Order("tool_mass_factor", (3.0,)))
    after = wait_for(touch, lambda frame: frame.build > before.build)
    assert touch.session is not first
    assert touch.session.scene.tools[0].mass == pytest.approx(0.3)
    assert after.take == before.take
    np.testing.assert_allclose(after.tools[0]["position"], before.tools[0]["position"], atol=1e-3)
    np.testing.assert_allclose(after.positions[0], before.positions[0], atol=1e-4)
    assert touch.description.tools[0].origin == pytest.approx((0.1, 0.0, 0.2), abs=1e-3)


def test_what_cannot_be_is_refused_in_words_and_all_goes_on(touch: HeldSession) -> None:
    touch.obey(Order("scene", ("bad",)))
    wait_for(touch, lambda _: touch.news.notice == "bad scene: it is bad")
    assert touch.description.settings.scene == "touch"
    before = touch.frame.time
    wait_for(touch, lambda frame: frame.time > before)


def test_every_tool_needs_its_device() -> None:
    with pytest.raises(SceneError, match=r"2 devices for 1 tools \(plate\)"):
        HeldSession(Settings("touch"), plain, device=("browser", "browser"))
    with pytest.raises(DeviceError, match="no device 'mouse'"):
        HeldSession(Settings("touch"), plain, device="mouse")


def test_pause_speed_and_reset(touch: HeldSession) -> None:
    touch.obey(Order("pause", (True,)))
    wait_for(touch, lambda frame: frame.paused)
    time.sleep(0.1)  # frames come 60 times a second: the last one before the pause is out
    paused = touch.frame.time
    time.sleep(0.1)
    assert touch.frame.time == paused
    touch.obey(Order("pause", (False,)))
    touch.obey(Order("speed", (0.2,)))
    wait_for(touch, lambda frame: frame.speed == 0.2 and not frame.paused)
    touch.obey(Order("reset", ()))
    assert wait_for(touch, lambda frame: frame.take == 1).speed == 0.2


def test_a_recording_starts_with_the_scene_and_replays(touch: HeldSession) -> None:
    from tangere.trace.trace import Trace

    touch.obey(Order("record", (True,)))
    wait_for(touch, lambda frame: frame.recording == RECORD_RUNS)
    hand = Hand(touch.description.tools[0].hand)
    hand.move((0.0, 0.05, 0.0))
    hand.close()
    wait_for(touch, lambda frame: frame.recorded > 0.5)
    touch.obey(Order("record", (False,)))
    wait_for(touch, lambda frame: frame.recording != RECORD_RUNS)
    trace = Trace.load(touch.news.file)
    assert trace["tool.position"][0] == pytest.approx([0.0, 0.0, 0.2], abs=1e-3)
    assert trace["hand.position"][-1, 1] == pytest.approx(0.05, abs=1e-3)
    before = touch.frame.take
    touch.obey(Order("replay", ()))
    wait_for(touch, lambda frame: frame.take > before)
    wait_for(touch, lambda frame: frame.tools[0]["hand_position"][1] > 0.045)
    # … and when it is over the page's handles hold the tool again
    wait_for(touch, lambda frame: bool(touch.description.tools[0].hand))


def test_a_page_that_went_away_stands_in_the_faults(touch: HeldSession) -> None:
    touch.page_lost(True)
    lost = wait_for(touch, lambda frame: bool(frame.tools[0]["faults"] & FAULT_VIEWER))
    assert lost.tools[0]["faults"] & FAULT_VIEWER
    touch.page_lost(False)
    back = wait_for(touch, lambda frame: not frame.tools[0]["faults"] & FAULT_VIEWER)
    assert back.time >= lost.time


def test_a_broken_contact_loop_is_said_and_reset_helps(touch: HeldSession) -> None:
    def fail() -> None:
        raise ArithmeticError("made up")

    touch.session.live.call(fail)
    frame = wait_for(touch, lambda frame: frame.stopped)
    assert frame.paused
    assert touch.news.notice is not None
    assert "made up" in touch.news.notice
    assert touch.faults
    touch.obey(Order("reset", ()))
    wait_for(touch, lambda frame: not frame.stopped and frame.take == 1)
    assert touch.news.notice is None


def test_scenes_with_and_without_a_hand_follow_each_other() -> None:
    def make(settings: Settings) -> Runner | HeldSession:
        from tangere.viewer.app import page_builder

        if plain(settings.scene).tools:
            return HeldSession(settings, plain)
        return Runner(settings, page_builder(plain))

    director = Director(make, make(Settings("touch")))
    try:
        assert len(director.frame.tools) == 1
        director.obey(Order("scene", ("watch",)))
        wait_for(director, lambda frame: len(frame.tools) == 0)
        assert isinstance(director.source, Runner)
        wait_for(director, lambda frame: frame.time > 0.0)
        director.obey(Order("scene", ("bad",)))
        wait_for(director, lambda _: director.news.notice == "bad scene: it is bad")
        assert director.description.settings.scene == "watch"
        director.obey(Order("scene", ("touch",)))
        wait_for(director, lambda frame: len(frame.tools) == 1)
        assert director.news.notice is None
    finally:
        director.stop()


# ---------------------------------------------------------------- the state of the force


def test_the_hand_on_the_page_waits_ramps_and_is_active(touch: HeldSession) -> None:
    wait_for(touch, lambda frame: frame.tools[0]["state"] == FORCE_ACTIVE)
    assert touch.frame.tools[0]["lead"] == 0.0  # nothing is felt, so nothing is late
    touch.stop()
    assert touch.trace is not None
    state, gain = touch.trace["servo.state"], touch.trace["servo.gain"]
    begins = np.flatnonzero(np.diff(state, prepend=-1.0))
    passed = state[begins].astype(int).tolist()
    assert passed[0] == FORCE_WAITING
    # a machine that stands still for a moment makes it begin again, in the same order
    ways = [passed[i : i + 3] for i in range(len(passed))]
    assert [FORCE_WAITING, FORCE_RAMP, FORCE_ACTIVE] in ways
    assert not gain[state == FORCE_WAITING].any()
    ramp = begins[ways.index([FORCE_WAITING, FORCE_RAMP, FORCE_ACTIVE]) + 1 :][:2]
    assert (np.diff(gain[ramp[0] : ramp[1]]) > 0.0).all()
    assert gain[ramp[1]] == pytest.approx(1.0, abs=0.05)  # old contacts may take a little


def test_limits_of_a_force_that_nobody_feels_are_not_shown(touch: HeldSession) -> None:
    """The coupling pulls with 10 N, more than the 5 N that are sent at most."""
    hand = Hand(touch.description.tools[0].hand)
    hand.move((0.0, 0.0, -0.14))
    hand.close()
    row = touch.session.rigs[0].row
    wait_for(touch, lambda _: bool(int(row[ROW_FAULT]) & FAULT_LIMIT) and row[ROW_GAIN] > 0.9)
    assert np.linalg.norm(row[ROW_SENT : ROW_SENT + 3]) <= 5.0 * (1.0 + 1e-12)
    before = touch.frame.time
    after = wait_for(touch, lambda frame: frame.time > before + 0.1)
    assert not after.tools[0]["faults"] & FAULT_LIMIT


def test_the_hand_on_the_page_goes_as_far_as_it_likes(touch: HeldSession) -> None:
    """Dragged 30 cm through block and floor, it leaves its tool on top of the block."""
    wait_for(touch, lambda frame: frame.tools[0]["state"] == FORCE_ACTIVE)
    hand = Hand(touch.description.tools[0].hand)
    hand.move((0.0, 0.0, -0.4))
    hand.close()
    frame = wait_for(touch, lambda frame: frame.tools[0]["deviation"] > 0.3)
    assert frame.tools[0]["position"][2] == pytest.approx(0.11, abs=2e-3)
    touch.stop()
    assert touch.trace is not None
    assert not int(np.bitwise_or.reduce(touch.trace["fault"].astype(int))) & FAULT_TOOL


@pytest.fixture
def sigma(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldSession]:
    """A session with a sigma.7 of the fake library, driven by this process."""
    monkeypatch.chdir(tmp_path)
    running = HeldSession(Settings("touch"), plain, device="forcedimension", process=False)
    running.start()
    yield running
    running.stop()


def test_a_device_is_what_it_says_once_it_is_open(sigma: HeldSession) -> None:
    (sheet,) = sigma.description.tools
    assert (sheet.device, sheet.device_force, sheet.device_torque) == ("sigma.7", 12.0, 0.2)
    assert sheet.coupling is not None
    assert "2880 N/m: sigma.7 is 2 ms late" in sheet.coupling.words
    frame = wait_for(sigma, lambda frame: frame.tools[0]["state"] == FORCE_ACTIVE)
    # two ticks that it says, half a tick that a command is held, and what is measured
    assert 2.5e-3 <= frame.tools[0]["lead"] <= 8e-3
    assert frame.tools[0]["net"] == 1.0


def test_what_was_changed_for_a_device_is_said_once(sigma: HeldSession) -> None:
    turning = "displayed rotational stiffness of plate 4 → 0.96 N m/rad: sigma.7 is 2 ms late"
    driven = "sigma.7 is driven by this process: when this is killed its own watchdog lets go"
    assert sigma.news.notes == (turning, driven)
    sigma.obey(Order("coupling_stiffness_factor", (10.0,)))
    stiff = "displayed stiffness of plate 4000 → 2880 N/m: sigma.7 is 2 ms late"
    wait_for(sigma, lambda _: stiff in sigma.news.notes)
    assert sorted(sigma.news.notes) == sorted((stiff, turning.replace(" 4 ", " 40 "), driven))
    wait_for(sigma, lambda _: sigma.description.tools[0].stiffness == pytest.approx(2880.0))
    sigma.obey(Order("coupling_stiffness_factor", (1.0,)))
    wait_for(sigma, lambda _: sorted(sigma.news.notes) == sorted((turning, driven)))


def test_what_failed_is_said_in_the_devices_words(sigma: HeldSession, world: World) -> None:
    wait_for(sigma, lambda frame: frame.tools[0]["state"] == FORCE_ACTIVE)
    world.fail(0.3)
    wait_for(sigma, lambda frame: bool(sigma.news.device_faults))
    assert "sigma.7: the pose failed" in sigma.news.device_faults[0]
    wait_for(sigma, lambda frame: frame.tools[0]["state"] == FORCE_ACTIVE)
    assert sigma.news.notice is None


def test_a_device_that_is_gone_for_a_reset_is_there_for_the_next(
    sigma: HeldSession, world: World
) -> None:
    world["devices"] = 0
    sigma.obey(Order("reset", ()))
    wait_for(sigma, lambda frame: frame.stopped)
    assert "no device could be opened" in str(sigma.news.notice)
    sigma.obey(Order("speed", (0.5,)))  # changes nothing that runs
    sigma.obey(Order("pause", (False,)))
    sigma.obey(Order("coupling_stiffness_factor", (2.0,)))
    time.sleep(0.5)
    assert sigma.frame.stopped
    world["devices"] = 1
    sigma.obey(Order("reset", ()))
    wait_for(sigma, lambda frame: not frame.stopped and frame.speed == 0.5)
    assert sigma.news.notice is None


def test_a_lost_device_comes_back_where_that_was_asked_for(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {"device": "forcedimension", "process": False, "reconnect": True}
    touch = HeldSession(Settings("touch"), plain, **options)  # type: ignore[arg-type]
    touch.start()
    try:
        wait_for(touch, lambda frame: frame.tools[0]["state"] == FORCE_ACTIVE)
        world["dead"] = 1
        lost = wait_for(touch, lambda frame: frame.tools[0]["state"] == FORCE_LOST)
        assert not lost.stopped
        world["dead"] = 0
        wait_for(touch, lambda frame: frame.tools[0]["state"] == FORCE_ACTIVE)
        assert touch.news.notice is None
    finally:
        touch.stop()
