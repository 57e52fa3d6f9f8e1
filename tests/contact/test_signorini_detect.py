"""Contacts of the signorini method: none comes too late, and each knows its past."""

from __future__ import annotations

import numpy as np
import pytest

import tangere as tg

G = 10.0


def lowest(sim: tg.Simulation, corners: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """Height of the lowest corner of body 0 over the floor [m]."""
    w, *v = sim[0].orientation
    turned = corners + 2.0 * np.cross(v, np.cross(v, corners) + w * corners)
    return float(turned[:, 2].min() + sim[0].position[2])


@pytest.mark.nojit
def test_blocks_that_fall_together_do_not_run_into_each_other() -> None:
    """Between them nothing moves until the lowest one lands, and then the next one must know."""
    scene = tg.Scene(gravity=(0.0, 0.0, -G))
    scene.add_floor()
    for i in range(3):
        scene.add_body(tg.Box((1.0, 1.0, 0.1)), position=(0.0, 0.0, 0.07 + 0.101 * i))
    sim = tg.Simulation(scene, method="signorini", dt=5e-3)
    for _ in range(24):
        sim.step()
        gaps = np.diff(sim.positions[:, 2], prepend=-0.05) - 0.1
        # level blocks: the linear gap is the gap, solved to 1e-8 of a step's forces
        assert gaps.min() > -1e-9
    assert sim.positions[:, 2] == pytest.approx((0.05, 0.15, 0.25), abs=1e-8)


@pytest.mark.nojit
@pytest.mark.parametrize("carried", [0.0, 0.5, 8.0])
def test_friction_does_not_depend_on_who_watches(carried: float) -> None:
    """A block slides on a sledge; on one that moves, its points move on with it."""
    scene = tg.Scene(gravity=(0.0, 0.0, -G))
    scene.add_floor(material=tg.Material(0.0, 0.0))
    rough, dt, steps = tg.Material(0.8, 0.2), 5e-3, 12
    for size, mass, x, z, speed in (
        ((2.0, 1.0, 0.1), 4.0, 0.0, 0.05, carried),
        ((0.1, 0.1, 0.1), 1.0, -0.5, 0.15, carried + 0.5),
    ):
        scene.add_body(
            tg.Box(size), mass=mass, position=(x, 0.0, z), velocity=(speed, 0.0, 0.0),
            material=rough,
        )  # fmt: skip
    sim = tg.Simulation(scene, method="signorini", dt=dt)
    sim.step(steps)
    lost = 0.5 - (sim[1].velocity[0] - sim[0].velocity[0])
    # μ g (1 + m/M), kinetic from the first step on
    assert lost == pytest.approx(0.2 * G * 1.25 * steps * dt, rel=1e-6)
    assert not sim.contacts["sticking"].all()


@pytest.mark.nojit
def test_a_block_that_lands_sliding_has_kinetic_friction() -> None:
    rough = tg.Material(0.8, 0.2)
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_floor(material=rough)
    scene.add_body(
        tg.Box((1.0, 1.0, 0.02)), position=(0.0, 0.0, 0.0115), velocity=(2.0, 0.0, -1.0),
        material=rough,
    )  # fmt: skip
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    sim.step(4)
    assert sim[0].velocity[2] == pytest.approx(0.0, abs=1e-9)
    # the normal impulse takes 1 m/s, and friction μ of it
    assert sim[0].velocity[0] == pytest.approx(2.0 - 0.2, abs=1e-6)


@pytest.mark.compiled
@pytest.mark.parametrize("bevel", [0.0, 3e-4, 4e-3])
@pytest.mark.parametrize("far", [0.0, 300.0])
def test_a_tumbling_cube_stays_above_the_floor(bevel: float, far: float) -> None:
    """Every corner, wherever on the floor: of a bevelled cube more are near than are kept."""
    h, cut = 0.05, 0.05 - bevel
    signs = np.stack(np.meshgrid(*3 * [[-1.0, 1.0]]), -1).reshape(-1, 3)
    corners = np.concatenate([np.roll((cut, cut, h), k) * signs for k in range(3)])
    scene = tg.Scene(gravity=(0.0, 0.0, -G))
    bouncy = tg.Material(0.2, 0.2, restitution=0.2)
    scene.add_floor(material=bouncy)
    scene.add_body(
        tg.Convex(corners), mass=0.4, position=(far, 0.0, 0.15), orientation=(0.9, 0.3, 0.2, 0.1),
        velocity=(1.0, 0.3, -1.0), angular_velocity=(5.0, -8.0, 3.0), material=bouncy,
    )  # fmt: skip
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    least = 0.0
    for _ in range(1200):
        sim.step()
        least = min(least, lowest(sim, corners))
    # gaps are linear within a step: the rest is of the order ½ r (ω dt)², here 3e-6 m at 10 rad/s
    assert least > -3e-6
    assert lowest(sim, corners) == pytest.approx(0.0, abs=1e-9)
    assert np.abs(sim[0].velocity).max() < 1e-6
