"""The pace of the running scene, and the orders it obeys."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from tangere.errors import SceneError
from tangere.geometry.shapes import Box
from tangere.scene.scene import Material, Scene
from tangere.simulation import Simulation
from tangere.viewer.frame import Frame, Settings
from tangere.viewer.orders import Known, checked
from tangere.viewer.runner import LONGEST_FRAME, Built, Runner, carry_motion
from tangere.viewer.watch import FAR, REMEDY

PATIENCE = 20.0  # [s] until a thread on a loaded machine must have obeyed


def build(settings: Settings) -> Built:
    """Two stacked blocks; the scene named "bad" cannot be built, "wild" explodes (explicit)."""
    if settings.scene == "bad":
        raise SceneError("bad scene: it is bad")
    wild = settings.scene == "wild"
    material = Material(stiffness=1e9, damping=1e6) if wild else Material()
    scene = Scene()
    scene.add_floor(material=material)
    for i in range(2):
        scene.add_body(
            Box((0.1, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.07 + 0.11 * i), material=material
        )
    simulation = Simulation(
        scene, method=settings.method, dt=settings.dt, integrator=settings.integrator
    )
    return Built(settings, scene, simulation)


@pytest.fixture
def runner() -> Iterator[Runner]:
    running = Runner(Settings("blocks"), build)
    yield running
    running.stop()


def wait_for(runner: Runner, wanted: Callable[[Frame], bool]) -> Frame:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        frame = runner.frame
        if wanted(frame):
            return frame
        time.sleep(0.01)
    pytest.fail(f"never happened; last frame at t = {runner.frame.time} s: {runner.news.notice}")


def test_time_passes_no_faster_than_on_the_wall(runner: Runner) -> None:
    begin = time.perf_counter()
    runner.start()
    frame = wait_for(runner, lambda frame: frame.time > 0.3)
    # Read the clock after the frame: simulated time may never be ahead of it.
    assert frame.time <= time.perf_counter() - begin


def test_a_stall_is_not_caught_up_in_a_burst(runner: Runner) -> None:
    """A frame after a long sleep simulates a frame's time, not the sleep's."""
    runner._advance(min(10.0, LONGEST_FRAME))
    assert runner._built.simulation.time <= LONGEST_FRAME + 1e-9


def test_a_slow_step_ends_in_slow_motion_without_debt(runner: Runner) -> None:
    runner._step_seconds = 1.0
    runner._advance(LONGEST_FRAME)
    assert runner._built.simulation.time == pytest.approx(1e-3)  # one step: that is all it can
    assert runner._debt == 0.0


def test_slow_motion_makes_fewer_steps(runner: Runner) -> None:
    runner._speed = 0.1
    for _ in range(10):
        runner._step_seconds = 0.0  # however slow this machine is
        runner._advance(0.02)
    assert runner._built.simulation.time == pytest.approx(0.02)


def test_pause_stops_time_and_resume_goes_on(runner: Runner) -> None:
    runner.start()
    wait_for(runner, lambda frame: frame.time > 0.0)
    runner.pause(True)
    stopped = wait_for(runner, lambda frame: frame.paused)
    time.sleep(0.1)
    assert runner.frame.time == stopped.time
    runner.pause(False)
    wait_for(runner, lambda frame: frame.time > stopped.time)


def test_reset_begins_again(runner: Runner) -> None:
    runner.start()
    before = wait_for(runner, lambda frame: frame.time > 0.2)
    runner.pause(True)
    runner.reset()
    after = wait_for(runner, lambda frame: frame.take == before.take + 1)
    assert after.paused  # a pause survives the reset
    np.testing.assert_array_equal(after.positions[0], [0, 0, 0.07])
    assert after.time == 0.0


def test_another_method_goes_on_with_the_motion(runner: Runner) -> None:
    runner.start()
    runner.pause(True)
    before = wait_for(runner, lambda frame: frame.paused)
    runner.configure(method="point")
    after = wait_for(runner, lambda frame: frame.build > before.build)
    assert runner.description.settings.method == "point"
    assert after.take == before.take
    assert after.time == pytest.approx(before.time)
    np.testing.assert_allclose(after.positions, before.positions, atol=1e-12)


@pytest.mark.compiled
def test_stiffer_contacts_do_not_throw_resting_bodies_apart() -> None:
    """Bodies sunk in by 0.1 mm rest on when the step gets implicit, and contacts 10⁴ as stiff."""
    soft = build(Settings("blocks", integrator="explicit")).simulation
    soft.step(2000)
    depth = 0.05 - float(soft.positions[0, 2])
    assert depth > 1e-4
    stiff = build(Settings("blocks")).simulation
    carry_motion(soft, stiff, 2)
    start = stiff.positions
    stiff.step(500)
    assert float(np.abs(stiff.positions - start).max()) < 0.01 * depth


def test_books_are_shown_where_they_are_kept(runner: Runner) -> None:
    assert np.isfinite(runner.frame.books).all()
    runner.configure(integrator="explicit")
    runner.start()
    wait_for(runner, lambda frame: np.isnan(frame.books.dissipated))
    assert runner.news.notice is None


def test_another_scene_starts_afresh(runner: Runner) -> None:
    runner.start()
    before = wait_for(runner, lambda frame: frame.time > 0.05)
    runner.configure(scene="other")
    after = wait_for(runner, lambda frame: frame.take > before.take)
    assert runner.description.settings.scene == "other"
    assert runner.description.build == after.build


def test_settings_that_cannot_be_built_are_refused_in_words(runner: Runner) -> None:
    runner.start()
    before = runner.description.build
    runner.configure(scene="bad")
    frame = wait_for(runner, lambda frame: runner.news.notice is not None)
    assert runner.news.notice == "bad scene: it is bad"
    assert runner.description.settings.scene == "blocks"
    assert not frame.stopped
    wait_for(runner, lambda frame: frame.build > before)  # the page shows what is in force


def test_an_explosion_pauses_with_words_and_reset_recovers() -> None:
    runner = Runner(Settings("wild", integrator="explicit"), build)
    runner.start()
    try:
        frame = wait_for(runner, lambda frame: frame.stopped)
        assert frame.paused
        notice = runner.news.notice
        assert notice is not None
        assert notice.startswith("Stopped at t = ")
        assert notice.endswith(f"; {REMEDY['explicit']}.")
        runner.pause(False)
        time.sleep(0.1)
        assert runner.frame.paused  # only a fresh start helps
        runner.configure(scene="blocks")
        frame = wait_for(runner, lambda frame: not frame.stopped)
        wait_for(runner, lambda frame: frame.time > 0.0)
        assert runner.tally.faults
    finally:
        runner.stop()


def test_a_body_that_flew_away_is_named(runner: Runner) -> None:
    runner._built.simulation[1].position = (2.0 * FAR, 0, 0.3)
    runner.start()
    wait_for(runner, lambda frame: frame.stopped)
    notice = runner.news.notice
    assert notice is not None
    assert "box-2 is " in notice
    assert " m away" in notice


def test_a_push_moves_a_body_by_about_its_size(runner: Runner) -> None:
    runner.pause(True)
    runner.push(1, np.array([0.0, 3.0, 0.0]))
    runner.push(1, np.zeros(3))  # no direction, no push
    runner.start()
    wait_for(runner, lambda frame: frame.paused)
    # v² = g s: friction of 0.5 would stop it after its own size s.
    speed = np.sqrt(9.81 * 0.1)
    np.testing.assert_allclose(runner._built.simulation[1].velocity, [0.0, speed, 0.0])


def test_orders_of_the_page_are_obeyed(runner: Runner) -> None:
    known = Known.of({"blocks", "other"}, runner.description)
    runner.start()
    for verb, *values in (
        ("pause", True),
        ("speed", 0.5),
        ("stiffness_factor", 2.0),
        ("method", "point"),
        ("push", 0, [1.0, 0.0, 0.0]),
        ("record", True),  # there is nothing to record; nothing happens
    ):
        runner.obey(checked(verb, values, known))
    frame = wait_for(runner, lambda frame: frame.paused and frame.speed == 0.5)
    settings = runner.description.settings
    assert (settings.stiffness_factor, settings.method) == (2.0, "point")
    # What is held when the simulation is built anew is let go, so this comes after it.
    runner.obey(checked("grab", [1, [0.0, 0.0, 0.18], [0.0, 0.0, 0.2]], known))
    runner.obey(checked("drag", [[0.0, 0.0, 0.3]], known))
    runner.obey(checked("pause", [False], known))
    wait_for(runner, lambda frame: frame.pull is not None)
    runner.obey(checked("release", [], known))
    wait_for(runner, lambda frame: frame.pull is None)
    runner.obey(checked("scene", ["other"], known))
    runner.obey(checked("reset", [], known))
    wait_for(runner, lambda new: new.take > frame.take)


def test_an_order_about_a_body_of_the_scene_before_does_nothing(runner: Runner) -> None:
    runner.push(7, np.array([1.0, 0.0, 0.0]))
    runner.grab(7, np.zeros(3), np.zeros(3))
    runner.pause(True)
    runner.start()
    assert not wait_for(runner, lambda frame: frame.paused).stopped


def test_plots_get_a_row_per_frame(runner: Runner) -> None:
    runner.start()
    wait_for(runner, lambda frame: frame.time > 0.2)
    rows = runner.new_rows()
    assert len(rows) > 3
    assert (np.diff(rows["time"]) >= 0.0).all()
    assert rows["kinetic"].max() > 0.0
    assert (rows["take"] == 0).all()
    later = runner.new_rows()
    assert len(later) == 0 or later["time"][0] >= rows["time"][-1]


def test_a_grabbed_body_follows_the_hand_until_let_go(runner: Runner) -> None:
    runner.start()
    start = runner.frame.positions[1]
    runner.grab(1, start, start)
    runner.drag(start + np.array([0.0, 0.0, 0.5]))
    frame = wait_for(runner, lambda frame: frame.positions[1, 2] > start[2] + 0.4)
    assert frame.pull is not None
    assert frame.pull.force > 0.0
    runner.release()
    wait_for(runner, lambda frame: frame.pull is None and frame.positions[1, 2] < start[2] + 0.2)


def test_settings_compare_by_value() -> None:
    settings = Settings("blocks")
    assert replace(settings, dt=settings.dt) == settings
