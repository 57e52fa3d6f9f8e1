"""One step by hand: the kernel's arithmetic, its statuses, what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import tangere as tg
from tangere.contact.convex.options import ContactOptions
from tangere.model import NOT_FINITE, OK, PAIRS_FULL, SOUP_FULL, new_soup
from tangere.scene.compile import Compiled, compile_scene
from tangere.simulation import Simulation
from tangere.steppers.explicit import WHOLE, run

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

VOLUME, POINT = ContactOptions(False), ContactOptions(True)


def go(c: Compiled, steps: int, first: int = 0, method: ContactOptions = VOLUME) -> tuple[int, int]:
    return run(c.sizes, c.model, c.hulls, c.state, c.work, 1e-3, steps, first, method, WHOLE)


def two_blocks() -> tg.Scene:
    scene = tg.Scene()
    scene.add_floor()
    for z in (0.049, 0.148):
        scene.add_body(tg.Box((0.2, 0.2, 0.1)), mass=1.0, position=(0, 0, z))
    return scene


def test_velocity_first_then_position() -> None:
    # semi-implicit Euler of one block, 1 mm deep: v = dt (F/m − g), x = x₀ + dt v
    scene = tg.Scene(gravity=(0, 0, -10.0))
    material = tg.Material(0.5, 0.5, stiffness=1e4, damping=0.0)
    scene.add_floor(material=material)
    scene.add_body(tg.Box((0.2, 0.2, 0.1)), mass=2.0, position=(0, 0, 0.049), material=material)
    c = compile_scene(scene)
    assert go(c, 1) == (1, OK)
    v = 1e-3 * (1e4 * 1e-3 / 2.0 - 10.0)
    assert c.state.velocity[0] == pytest.approx((0, 0, v), rel=1e-9)
    assert c.state.position[0] == pytest.approx((0, 0, 0.049 + 1e-3 * v), rel=1e-12)
    assert c.state.wrench[0, 2] == pytest.approx(10.0, rel=1e-9)
    assert c.state.wrench[1, 2] == pytest.approx(-10.0, rel=1e-9)  # the floor
    assert c.state.time[0] == 1e-3


@pytest.mark.parametrize("method", [VOLUME, POINT])
def test_steps_are_counted(method: ContactOptions) -> None:
    c = compile_scene(two_blocks())
    assert go(c, 0, method=method) == (0, OK)
    assert c.state.time[0] == 0.0
    assert go(c, 7, method=method) == (7, OK)
    assert go(c, 3, 7, method=method) == (3, OK)
    assert c.state.time[0] == pytest.approx(0.01)


@pytest.mark.parametrize("blocks", [1, 2])
def test_soup_that_is_full_stops_before_the_step(blocks: int) -> None:
    # a block on the floor alone, or under another one
    scene = two_blocks() if blocks == 2 else tg.Scene()
    if blocks == 1:
        scene.add_floor()
        scene.add_body(tg.Box((0.2, 0.2, 0.1)), position=(0, 0, 0.049))
    c = compile_scene(scene)
    tiny = c._replace(work=c.work._replace(soup=new_soup(3 * blocks)))
    before = c.state.position.copy()
    done, status = go(tiny, 5)
    assert (done, status) == (0, SOUP_FULL)
    assert np.array_equal(c.state.position, before)
    assert c.state.time[0] == 0.0


def test_pairs_that_do_not_fit_stop_before_the_step() -> None:
    scene = tg.Scene()
    for _ in range(40):
        scene.add_body(tg.Box((1, 1, 1)))
    c = compile_scene(scene)
    assert len(c.work.pairs.key) < 40 * 39 // 2
    before = c.state.position.copy()
    assert go(c, 1) == (0, PAIRS_FULL)
    assert np.array_equal(c.state.position, before)
    # and again: the list must not be taken for complete
    assert go(c, 1) == (0, PAIRS_FULL)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("field", ["velocity", "momentum"])
def test_lost_motion_stops_all_bodies(bad: float, field: str) -> None:
    scene = tg.Scene()
    for x in (0.0, 5.0, 10.0):
        scene.add_body(tg.Box((1, 1, 1)), position=(x, 0, 0))
    c = compile_scene(scene)
    assert go(c, 1) == (1, OK)
    getattr(c.state, field)[1, 2] = bad
    before = c.state.position.copy()
    with np.errstate(all="ignore"):
        if field == "velocity":
            c.state.velocity[1, 2] = 1e60  # a box of infinite reach says nothing about this test
        assert go(c, 1, 1) == (0, NOT_FINITE)
    assert np.array_equal(c.state.position, before)


def test_springs_act_with_contacts() -> None:
    scene = two_blocks()
    scene.add_spring(0, anchor_b=(1.0, 0.0, 0.05), stiffness=3.0)
    c = compile_scene(scene)
    go(c, 1)
    force = c.state.spring[0]
    assert force == pytest.approx((3.0, 0.0, 3.0 * 0.001), rel=1e-9)
    assert c.state.applied[0, :3] == pytest.approx(force)
    push = c.state.wrench[0, :3] + force + (0, 0, -9.81)
    assert c.state.velocity[0] == pytest.approx(1e-3 * push, abs=1e-15)


def test_scene_of_fixed_bodies_runs() -> None:
    scene = tg.Scene()
    scene.add_floor()
    for x in (0.0, 0.5):
        scene.add_body(tg.Box((1, 1, 1)), fixed=True, position=(x, 0, 0), velocity=(1, 0, 0))
    c = compile_scene(scene)
    assert go(c, 10) == (10, OK)
    assert c.work.pairs.used[0] == 0
    assert c.state.position[:2, 0] == pytest.approx((0.01, 0.51))


def test_fixed_bodies_take_no_gravity() -> None:
    scene = tg.Scene()
    scene.add_body(tg.Box((1, 1, 1)), fixed=True)
    scene.add_body(tg.Box((1, 1, 1)), position=(5, 0, 0))
    c = compile_scene(scene)
    go(c, 10)
    assert c.state.velocity.tolist()[0] == [0.0, 0.0, 0.0]
    assert c.state.velocity[1, 2] == pytest.approx(-0.0981)


def test_wrenches_do_not_pile_up() -> None:
    sim = Simulation(two_blocks())
    sim.step(600)
    once = sim[0].contact_wrench[0]
    sim.step(300)
    assert sim[0].contact_wrench[0] == pytest.approx(once, abs=1e-4)
    assert once[2] == pytest.approx(9.81, abs=1e-4)
    # lifted away there is none at all
    sim[0].position = (0, 0, 5.0)
    sim[1].position = (0, 0, 7.0)
    sim.step()
    assert np.concatenate(sim[0].contact_wrench).tolist() == [0.0] * 6
