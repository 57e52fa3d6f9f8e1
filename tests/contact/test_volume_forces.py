"""Whole contacts: two algorithms agree, slopes hold and let go, stacks stand, sides do not push."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import tangere as tg
from tangere.contact.volume.method import Volume
from tangere.simulation import Simulation

Array = NDArray[np.float64]


def stack(count: int) -> tg.Scene:
    """Blocks on one another, each 2 mm beside the one below."""
    scene = tg.Scene()
    scene.add_floor()
    for k in range(count):
        scene.add_body(tg.Box((0.2, 0.2, 0.1)), mass=1.0, position=(0.002 * k, 0, 0.05 + 0.1 * k))
    return scene


# ---------------------------------------------------------------- algorithms


def jumble(seed: int) -> tg.Scene:
    rng = np.random.default_rng(seed)
    scene = tg.Scene()
    scene.add_body(tg.Box((2.0, 2.0, 0.2)), fixed=True, position=(0, 0, -0.1))
    shapes = (
        tg.Box((0.2, 0.3, 0.1)),
        tg.Cylinder(0.1, 0.2, facets=11),
        tg.Convex(rng.normal(size=(10, 3)) * 0.1),
        tg.Sphere(0.1, subdivisions=1),
    )
    for k, shape in enumerate(shapes):
        scene.add_body(
            shape,
            position=(0.1 * rng.normal(), 0.1 * rng.normal(), 0.15 + 0.2 * k),
            orientation=rng.normal(size=4),
            velocity=(0.0, 0.0, -2.0),
            angular_velocity=rng.normal(size=3),
        )
    return scene


@pytest.mark.nojit
@pytest.mark.parametrize("seed", [0, 1])
def test_clipping_and_duality_move_bodies_alike(seed: int) -> None:
    # before the first rounding differences have grown
    clip, dual = (
        Simulation(jumble(seed), method=Volume(algorithm=x), integrator="explicit")
        for x in ("clip", "dual")
    )
    touched = 0
    for _ in range(10):
        clip.step(10)
        dual.step(10)
        touched += len(clip.contacts)
        assert dual.positions == pytest.approx(clip.positions, abs=1e-7)
        assert len(clip.contacts) == len(dual.contacts)
    assert touched > 3


def test_two_large_hulls() -> None:
    # 320 facets would not be one piece; 80 on each side do not fit into bits
    scene = tg.Scene(gravity=(0, 0, 0))
    for x, v in ((-0.2, 1.0), (0.2, -1.0)):
        scene.add_body(
            tg.Sphere(0.15, subdivisions=2), mass=1.0, position=(x, 0, 0), velocity=(v, 0, 0)
        )
    sim = Simulation(scene, integrator="explicit")
    peak = 0.0
    for _ in range(400):
        sim.step()
        if len(sim.contacts):
            row = sim.contacts[0]
            peak = max(peak, float(row["force"][0]))
            assert row["normal"] == pytest.approx((1, 0, 0), abs=0.3)
    assert peak > 1.0
    # thrown back, more slowly
    assert sim[0].velocity[0] < -0.05
    assert sim[1].velocity[0] > 0.05
    assert sim.energy.kinetic < 1.0


# ---------------------------------------------------------------- slopes


def slope(angle: float, mu0: float, mu: float, shape: tg.Box | tg.Cylinder) -> Simulation:
    """A block put down on an inclined floor, along whose fall x points."""
    material = tg.Material(mu0, mu, stiffness=2e5, damping=300.0, tangential_damping=300.0)
    n = np.array([math.sin(angle), 0.0, math.cos(angle)])
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor(normal=n, material=material)
    height = 0.05 - 9.81 * math.cos(angle) / 2e5
    scene.add_body(
        shape, mass=1.0, position=height * n, material=material,
        orientation=(math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0),
    )  # fmt: skip
    return Simulation(scene, integrator="explicit")


FLAT = [tg.Box((0.3, 0.2, 0.1)), tg.Cylinder(0.15, 0.1, facets=16)]


@pytest.mark.parametrize("shape", FLAT)
def test_block_holds_on_a_gentle_slope(shape: tg.Box | tg.Cylinder) -> None:
    # tan 0.3 = 0.31 between μ and μ₀: a spring's stretch, then nothing for ten seconds
    sim = slope(0.3, 0.5, 0.3, shape)
    start = sim[0].position
    sim.step(1000)
    settled = sim[0].position
    stretch = 9.81 * math.sin(0.3) / 5e4
    assert np.linalg.norm(settled - start) < 4.0 * stretch
    assert sim.contacts["sticking"].all()
    sim.step(10_000)
    assert sim[0].position == pytest.approx(settled, abs=1e-8)


@pytest.mark.parametrize("shape", FLAT)
def test_block_slides_on_a_steep_slope(shape: tg.Box | tg.Cylinder) -> None:
    # a = g (sin φ − μ cos φ)
    sim = slope(0.6, 0.5, 0.3, shape)
    sim.step(500)
    fall = np.array([math.cos(0.6), 0.0, -math.sin(0.6)])
    speed = float(sim[0].velocity @ fall)
    assert speed == pytest.approx(0.5 * 9.81 * (math.sin(0.6) - 0.3 * math.cos(0.6)), rel=0.02)
    assert not sim.contacts["sticking"].any()


# ---------------------------------------------------------------- stacks


def test_stack_stands() -> None:
    sim = Simulation(stack(5), integrator="explicit")
    sim.step(20_000)  # it sways for a while
    before = sim.positions
    sim.step(5000)
    assert sim.positions == pytest.approx(before, abs=5e-5)
    assert sim.energy.kinetic < 1e-8
    loads = sorted(sim.contacts["force"][:, 2])
    assert loads == pytest.approx([9.81 * k for k in (1, 2, 3, 4, 5)], rel=1e-3)


def test_stack_of_unequal_masses_stands() -> None:
    # a light block under a heavy one: stiffness follows the lighter of the two
    scene = tg.Scene()
    scene.add_floor()
    for k, mass in enumerate((1.0, 20.0, 1.0)):
        scene.add_body(tg.Box((0.2, 0.2, 0.1)), mass=mass, position=(0, 0, 0.05 + 0.1 * k))
    sim = Simulation(scene, integrator="explicit")
    sim.step(5000)
    assert sim.energy.kinetic < 1e-6
    assert np.abs(sim.positions[:, :2]).max() < 1e-3
    assert sim.positions[:, 2] == pytest.approx((0.05, 0.15, 0.25), abs=0.01)


@pytest.mark.nojit
def test_flush_sides_do_not_push() -> None:
    # two blocks side by side on a floor, their walls on one plane: no sideways force
    scene = tg.Scene()
    scene.add_floor()
    for x in (0.0, 0.2):
        scene.add_body(tg.Box((0.2, 0.2, 0.1)), mass=1.0, position=(x, 0, 0.05))
    sim = Simulation(scene, integrator="explicit")
    sim.step(300)
    assert sim.positions[:, 0] == pytest.approx((0.0, 0.2), abs=1e-9)
    assert {int(a) for a in sim.contacts["body_a"]} == {-1}


@pytest.mark.nojit
def test_body_on_two_supports_shares_its_weight() -> None:
    scene = tg.Scene()
    for x in (-0.4, 0.4):
        scene.add_body(tg.Box((0.2, 0.2, 0.2)), fixed=True, position=(x, 0, 0.1))
    plank = scene.add_body(tg.Box((1.2, 0.1, 0.05)), mass=2.0, position=(0, 0, 0.2249))
    sim = Simulation(scene, integrator="explicit")
    sim.step(400)
    assert len(sim.contacts) == 2
    assert sim.contacts["force"][:, 2] == pytest.approx([9.81, 9.81], rel=1e-2)
    assert sim[plank].contact_wrench[0] == pytest.approx((0, 0, 19.62), rel=1e-2, abs=0.05)


@pytest.mark.nojit
def test_concave_body_on_a_peg() -> None:
    # an arch of three pieces over a fixed bar: it rests on its top piece alone
    arch = tg.Compound(
        [tg.Box((0.1, 0.1, 0.3)), tg.Box((0.1, 0.1, 0.3)), tg.Box((0.5, 0.1, 0.1))],
        [((-0.2, 0, 0), (1, 0, 0, 0)), ((0.2, 0, 0), (1, 0, 0, 0)), ((0, 0, 0.2), (1, 0, 0, 0))],
    )
    scene = tg.Scene()
    scene.add_body(tg.Box((0.2, 0.4, 0.2)), fixed=True, position=(0, 0, 0.0))
    body = scene.add_body(arch, mass=3.0, position=(0, 0, -0.0499))
    sim = Simulation(scene, integrator="explicit")
    sim.step(400)
    assert len(sim.contacts) == 1
    assert sim.contacts["point"][0][2] == pytest.approx(0.1, abs=1e-3)
    assert sim[body].contact_wrench[0][2] == pytest.approx(3.0 * 9.81, rel=0.02)
    assert sim[body].position[2] == pytest.approx(-0.05, abs=1e-3)


def test_bodies_that_part_and_meet_again() -> None:
    # a ball that bounces: contact state comes and goes, energy only falls
    material = tg.Material(0.5, 0.4, stiffness=1e4, damping=5.0)
    scene = tg.Scene()
    scene.add_body(tg.Box((1, 1, 0.2)), fixed=True, position=(0, 0, -0.1), material=material)
    scene.add_body(tg.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.6), material=material)
    sim = Simulation(scene, integrator="explicit")
    tops, rising = [], False
    for _ in range(4000):
        sim.step()
        v = sim[1].velocity[2]
        if rising and v <= 0.0:
            tops.append(float(sim[1].position[2]))
        rising = v > 0.0
    assert len(tops) > 5
    assert all(b < a + 1e-6 for a, b in pairwise(tops))
    assert tops[0] < 0.6
