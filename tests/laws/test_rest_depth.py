"""What rests is as deep as its springs say, however it came to lie: no sinking stays."""

from __future__ import annotations

import numpy as np
import pytest
from laws.settling import (
    BLOCK,
    KINDS,
    LONGEST,
    Settling,
    ball_overlaps,
    balls,
    heap,
    mean_depth,
    overlaps,
    settle,
    settling,
)

import tangere as tg
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array
from tangere.solver import LOSS_STEP

# The last part of a depth recovers by a fifth in each step, and a body counts as still at 0.1 mm/s:
# after two seconds of that only rounding of the pose is left, up to 1e-16 m of 1e-8 m.
SHARE = 0.02


def check(case: Settling, integrator: str = "implicit") -> None:
    depth, seconds = settle(case, integrator)
    what = f"seed {case.seed}, {case.kind}, k {case.stiffness:.2g} N/m, {1e3 * case.dt:g} ms"
    assert seconds < LONGEST, f"{what}: never at rest"
    assert depth == pytest.approx(case.elastic, rel=SHARE), what


@pytest.mark.parametrize("seed", range(8 * len(KINDS)))
def test_after_a_fall_the_implicit_step_rests_at_the_elastic_depth(seed: int) -> None:
    check(settling(seed))


@pytest.mark.parametrize("seed", range(2 * len(KINDS)))
def test_after_a_fall_the_explicit_step_rests_at_the_elastic_depth(seed: int) -> None:
    check(settling(seed, dt=1e-3, soft=0.1), "explicit")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8 * len(KINDS), 200))
def test_after_any_fall_the_implicit_step_rests_at_the_elastic_depth(seed: int) -> None:
    check(settling(seed))


@pytest.mark.parametrize("speed", [0.0, 0.3, 3.0, 10.0])
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_impact_speed_does_not_matter(speed: float, dt: float) -> None:
    k, mass, size = 1e6, 2.0, (0.3, 0.2, 0.1)
    scene = tg.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add_floor()
    scene.add_body(
        tg.Box(size), mass=mass, position=(0, 0, 0.18), orientation=(0.9, 0.3, 0.2, 0.1),
        velocity=(0.3 * speed, 0.0, -speed), angular_velocity=(0.0, speed, 0.0),
        material=tg.Material(0.5, 0.4, stiffness=k),
    )  # fmt: skip
    sim = tg.Simulation(scene, dt=dt)
    sim.step(round(6.0 / dt))
    assert np.abs(sim[0].velocity).max() < 1e-6
    depth = mean_depth(tg.Box(size), sim[0].position, sim[0].orientation)
    assert depth == pytest.approx(mass * 9.81 / k, rel=SHARE)


def test_compound_rests_at_the_elastic_depth() -> None:
    """Two feet share the load by their areas; both are as deep as all of the weight asks."""
    k, mass = 1e6, 2.0
    foot = tg.Box((0.1, 0.2, 0.1))
    shape = tg.Compound([foot, foot], [((s * 0.2, 0, 0), (1, 0, 0, 0)) for s in (-1.0, 1.0)])
    scene = tg.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add_floor()
    scene.add_body(
        shape, mass=mass, position=(0, 0, 0.4), orientation=(0.95, 0.2, 0.1, 0.0),
        material=tg.Material(0.5, 0.4, stiffness=k),
    )  # fmt: skip
    sim = tg.Simulation(scene, dt=5e-3)
    sim.step(1200)
    assert np.abs(sim[0].velocity).max() < 1e-6
    for side in (-0.2, 0.2):
        turned = rotation_of(sim.orientations)[0] @ (side, 0.0, 0.0)
        depth = mean_depth(foot, sim[0].position + turned, sim[0].orientation)
        assert depth == pytest.approx(mass * 9.81 / k, rel=SHARE)


@pytest.mark.parametrize(
    "count",
    [30, pytest.param(100, marks=pytest.mark.slow), pytest.param(512, marks=pytest.mark.slow)],
)
def test_boxes_of_a_heap_rest_on_each_other(count: int) -> None:
    found = []
    for seed in (1, 2, 3, 4):
        sim = tg.Simulation(heap(count, seed), dt=5e-3)
        sim.step(1200)
        depths = np.concatenate(overlaps(BLOCK, sim.positions, rotation_of(sim.orientations)))
        assert len(depths) > count
        found.append(depths)
    check_heap(np.concatenate(found))


def check_heap(depths: Array) -> None:
    """A contact in a thousand may keep a tenth of a millimetre."""
    assert depths.max() < 3e-4
    assert np.sum(depths > 1e-4) <= len(depths) / 1000.0


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_balls_in_a_box_rest_on_each_other(dt: float) -> None:
    """Balls slide past each other and are pushed in sideways, slowly: others pay for it."""
    found = []
    for seed in (1, 2, 3, 4):
        sim = tg.Simulation(balls(60, seed), dt=dt)
        sim.step(round(6.0 / dt))
        found.append(ball_overlaps(sim.positions[4:]))
        assert len(found[-1]) > 100
    check_heap(np.concatenate(found))


def test_contacts_of_an_island_share_their_reserves() -> None:
    """A block set into the floor, which lost nothing, comes out by what a blow beside it lost."""
    depth, size = 2e-3, 0.2
    scene = tg.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add_floor()
    for x in (0.0, 1.0):
        scene.add_body(tg.Box((size, size, size)), mass=1.0, position=(x, 0, 0.5 * size))
    scene.add_body(tg.Box((1.2, size, size)), mass=1.0, position=(0.5, 0, 1.5 * size + 0.05))
    alone = tg.Scene(gravity=(0.0, 0.0, -9.81))
    alone.add_floor()
    alone.add_body(tg.Box((size, size, size)), mass=1.0, position=(0, 0, 0.5 * size))
    sunk = {}
    for name, made in (("alone", alone), ("beside a blow", scene)):
        sim = tg.Simulation(made, dt=5e-3)
        sim.step(20)
        sim[0].position = (0, 0, 0.5 * size - depth)
        sim.step(400)
        sunk[name] = 0.5 * size - float(sim[0].position[2])
    assert sunk["alone"] > 0.9 * depth, "nothing has paid for its way out"
    assert sunk["beside a blow"] < 1e-5


def test_an_island_keeps_no_more_than_its_own_step_lost() -> None:
    """Bodies that land at different times: each keeps of its own ½ |Δv|² M."""
    scene = tg.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add_floor()
    size = np.array((0.2, 0.1, 0.3))
    for i in range(3):
        scene.add_body(
            tg.Box(size), mass=1.0 + i, position=(i, 0, 0.25 + 0.02 * i),
            orientation=(0.9, 0.3, 0.2, 0.1),
        )  # fmt: skip
    sim = tg.Simulation(scene, dt=5e-3)
    solver, kept = sim.arrays.work.solver, 0
    inertia = np.array([size @ size - side**2 for side in size]) / 12.0
    for _ in range(60):
        before = [(sim[i].velocity, sim[i].angular_momentum) for i in range(3)]
        frames = rotation_of(sim.orientations)
        sim.step()
        for i in range(3):
            island = int(solver.graph.island[i])
            if island < 0 or solver.losses[island, LOSS_STEP] == 0.0:
                continue
            mass, (v, spin) = 1.0 + i, before[i]
            dv, turned = sim[i].velocity - v, frames[i].T @ (sim[i].angular_momentum - spin)
            lost = 0.5 * mass * dv @ dv + 0.5 * turned @ (turned / (mass * inertia))
            assert solver.losses[island, LOSS_STEP] == pytest.approx(lost, rel=1e-6)
            kept += 1
    assert kept > 10
