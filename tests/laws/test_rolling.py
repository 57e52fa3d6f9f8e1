"""Round bodies roll: exact theory of rigid balls, cylinders, capsules and what is made of them.

Implicit steps are stiff: a body sinks by 1e-6 of its radius, and that is the error of most laws.
Explicit ones of 1 ms let it sink by 0.2 mm, 0.4 % of its radius; bodies roll on the arm R − δ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from laws.test_conservation import momenta
from laws.test_implicit import RISE_ELSE, follow

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.geometry.shapes import Shape
from tangere.simulation import Simulation

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="thousands of steps")

R, LENGTH, G = 0.05, 0.1, 9.81
MU = 0.5
LYING = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)  # axis along −y
ROUGH = tg.Material(MU, MU)


class Way(NamedTuple):
    """How a step is made, and how much softer than stiff its result may be."""

    integrator: str
    dt: float
    method: str
    soft: float


STIFF = [Way("implicit", 1e-3, "volume", 2e-5), Way("implicit", 5e-3, "volume", 2e-5)]
WAYS = [*STIFF, Way("explicit", 1e-3, "volume", 4e-3)]
# the point method is as soft with either step
BALL_WAYS = [*WAYS, Way("explicit", 1e-3, "point", 4e-3), Way("implicit", 1e-3, "point", 4e-3)]

BALL, CYLINDER, CAPSULE = tg.Sphere(R), tg.Cylinder(R, LENGTH), tg.Capsule(R, LENGTH)
DUMBBELL = tg.Compound(
    [tg.Sphere(R), tg.Cylinder(0.4 * R, LENGTH), tg.Sphere(R)],
    [((0.0, 0.0, z * LENGTH), (1.0, 0.0, 0.0, 0.0)) for z in (-0.5, 0.0, 0.5)],
)
CASES: list[tuple[Shape, Way]] = [(BALL, way) for way in BALL_WAYS]
CASES += [(shape, way) for shape in (CYLINDER, CAPSULE, DUMBBELL) for way in WAYS]


def named(value: object) -> str:
    if isinstance(value, Way):
        return f"{value.integrator}-{1e3 * value.dt:g}ms-{value.method}"
    return type(value).__name__


def lying(
    shape: Shape,
    way: Way,
    speed: float = 0.0,
    spin: float = 0.0,
    down: tuple[float, float, float] = (0.0, 0.0, -G),
    material: tg.Material = ROUGH,
) -> Simulation:
    """A body of 1 kg that has come to rest on a floor, set going along x."""
    scene = tg.Scene(gravity=down)
    scene.add_floor(material=material)
    scene.add_body(shape, mass=1.0, position=(0, 0, R), orientation=LYING, material=material)
    sim = Simulation(scene, method=way.method, dt=way.dt, integrator=way.integrator)
    sim[0].velocity = (speed, 0.0, 0.0)
    sim[0].angular_velocity = (0.0, spin, 0.0)
    return sim


def inertia(sim: Simulation) -> float:
    """Moment of inertia about the axis of rolling over m R²: 2/5 of a ball, 1/2 of a cylinder."""
    sim[0].angular_velocity, kept = (0.0, 1.0, 0.0), sim[0].angular_velocity
    found = float(sim[0].angular_momentum[1])
    sim[0].angular_velocity = kept
    return found / R**2


# ---------------------------------------------------------------- one body on a plane
@pytest.mark.parametrize(("shape", "way"), CASES, ids=named)
def test_what_rolls_keeps_its_speed(shape: Shape, way: Way) -> None:
    sim = lying(shape, way, 0.5, 0.5 / R)
    forces = []
    for i in range(round(2.0 / way.dt)):
        sim.step()
        if i >= 0.4 / way.dt:
            forces.append(np.linalg.norm(sim[0].contact_wrench[0]))
    assert sim[0].velocity == pytest.approx((0.5, 0.0, 0.0), abs=0.5 * way.soft)
    assert sim[0].angular_velocity == pytest.approx((0.0, 0.5 / R, 0.0), abs=0.5 / R * way.soft)
    # facets would rock it by a third of its weight and more
    assert np.array(forces) == pytest.approx(np.full(len(forces), G), rel=2e-4)


@pytest.mark.parametrize(("shape", "way"), CASES, ids=named)
def test_a_slope_speeds_up_by_what_inertia_leaves(shape: Shape, way: Way) -> None:
    angle = math.radians(10.0)
    sim = lying(shape, way, down=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    exact = G * math.sin(angle) / (1.0 + inertia(sim))
    sim.step(round(0.2 / way.dt))
    begin = float(sim[0].velocity[0])
    sim.step(round(0.5 / way.dt))
    assert (sim[0].velocity[0] - begin) / 0.5 == pytest.approx(exact, rel=way.soft)


@pytest.mark.parametrize(("shape", "way"), CASES, ids=named)
def test_a_slide_turns_into_rolling(shape: Shape, way: Way) -> None:
    sim = lying(shape, way, 1.0)
    factor = inertia(sim)
    ends = factor / (1.0 + factor) / (MU * G)
    sim.step(round(0.5 * ends / way.dt))
    # Coulomb's friction brakes, and spins up, whatever the slip
    assert sim[0].velocity[0] == pytest.approx(1.0 - MU * G * sim.time, rel=1e-2)
    assert sim[0].angular_velocity[1] * R == pytest.approx(MU * G * sim.time / factor, rel=2e-2)
    sim.step(round(2.0 * ends / way.dt))
    assert sim[0].velocity[0] == pytest.approx(1.0 / (1.0 + factor), rel=way.soft)
    assert sim[0].angular_velocity[1] * R == pytest.approx(sim[0].velocity[0], rel=2.0 * way.soft)


@pytest.mark.parametrize("way", BALL_WAYS, ids=named)
def test_a_ball_dropped_with_spin_rolls_off(way: Way) -> None:
    """Angular momentum about the line of contact: (1 + 2/5) m R v = 2/5 m R² ω, bounces or not.

    While it presses in, the arm of friction is shorter. Soft contacts therefore get a low drop:
    0.3 m/s presses a ball of 1e5 N/m in by 1.4 mm, which is worth 1.2 %.
    """
    stiff = way.soft < 1e-3
    scene = tg.Scene()
    scene.add_floor(material=ROUGH)
    scene.add_body(
        BALL, mass=1.0, position=(0, 0, R + (0.05 if stiff else 0.005)),
        angular_velocity=(0, 20.0, 0), material=ROUGH,
    )  # fmt: skip
    sim = Simulation(scene, method=way.method, dt=way.dt, integrator=way.integrator)
    sim.step(round(1.5 / way.dt))
    exact = 2.0 / 7.0 * 20.0 * R
    assert sim[0].velocity[0] == pytest.approx(exact, rel=1e-3 if stiff else 0.015)
    assert sim[0].angular_velocity[1] * R == pytest.approx(sim[0].velocity[0], rel=2.0 * way.soft)


@pytest.mark.parametrize("way", WAYS, ids=named)
def test_rolling_resistance_brakes_by_its_share_of_weight(way: Way) -> None:
    sim = lying(BALL, way, 0.5, 0.5 / R, material=tg.Material(MU, MU, rolling_resistance=0.02))
    sim.step(round(1.0 / way.dt))
    assert sim[0].velocity[0] == pytest.approx(0.5 - 5.0 / 7.0 * 0.02 * G, rel=5e-3)
    sim.step(round(4.0 / way.dt))
    assert np.abs(sim[0].velocity).max() < 1e-6  # and brings it to rest, for good


# ---------------------------------------------------------------- coins
def test_a_coin_rolls_on_its_rim_and_falls() -> None:
    """A thin disc that leans rolls in a narrowing curve; no step gives it energy."""
    scene = tg.Scene()
    scene.add_floor(material=ROUGH)
    lean = math.radians(80.0)  # of its axis from the vertical
    turn = (math.cos(0.5 * lean), math.sin(0.5 * lean), 0.0, 0.0)
    height = R * math.sin(lean) + 0.5 * 0.004 * math.cos(lean)
    coin = scene.add_body(
        tg.Cylinder(R, 0.004), mass=0.05, position=(0, 0, height), orientation=turn,
        velocity=(0.3, 0, 0), angular_velocity=(0, 0.3 / R, 0), material=ROUGH,
    )  # fmt: skip
    sim = Simulation(scene, dt=1e-3)
    start = least = sim.energy.total
    lowest, rolled = height, 0.0
    for _ in range(8000):
        sim.step()
        assert abs(sim.audit.error) < 1e-9 * start
        assert sim.energy.total <= least + RISE_ELSE * start
        least = min(least, sim.energy.total)
        lowest = min(lowest, float(sim[coin].position[2]))
        rolled += sim.dt * float(np.hypot(*sim[coin].velocity[:2]))
        assert sim[coin].position[2] < height + 1e-3
    assert rolled > 2.0 * R
    assert 0.99 * 0.002 < lowest < 0.3 * R  # and fell, on the floor and not into it


# ---------------------------------------------------------------- free bodies
@pytest.mark.parametrize("way", STIFF, ids=named)
@pytest.mark.parametrize("shape", [BALL, CYLINDER, CAPSULE], ids=named)
def test_what_rolls_on_a_free_plank_does_not_push_it(shape: Shape, way: Way) -> None:
    smooth = tg.Material(0.0, 0.0)
    scene = tg.Scene()
    scene.add_floor(material=smooth)
    plank = scene.add_body(
        tg.Box((2.0, 0.3, 0.04)), mass=2.0, position=(0, 0, 0.02), material=ROUGH
    )
    body = scene.add_body(
        shape, mass=1.0, position=(-0.4, 0, 0.04 + R), orientation=LYING, velocity=(0.5, 0, 0),
        angular_velocity=(0, 0.5 / R, 0), material=ROUGH,
    )  # fmt: skip
    sim = Simulation(scene, dt=way.dt)
    sim.step(round(1.5 / way.dt))
    assert sim[body].velocity[0] == pytest.approx(0.5, rel=1e-4)
    assert abs(sim[plank].velocity[0]) < 5e-5
    total = sim[body].velocity[0] + 2.0 * sim[plank].velocity[0]
    # friction of plank and floor is the mean of both materials': none
    assert total == pytest.approx(0.5, rel=1e-6)


def oblique(way: Way, first: Shape, second: Shape) -> tuple[tg.Scene, Simulation]:
    """Two spinning bodies on their way into each other, off centre, in empty space."""
    scene = tg.Scene(gravity=(0, 0, 0))
    for shape, mass, side in ((first, 1.0, -1.0), (second, 3.0, 1.0)):
        scene.add_body(
            shape, mass=mass, position=(1.6 * side * R, 0.3 * side * R, 0.1 * R),
            orientation=(0.9, 0.1 * side, 0.2, 0.3), velocity=(-0.5 * side, 0.0, 0.0),
            angular_velocity=(1.0, 4.0 * side, 8.0), material=ROUGH,
        )  # fmt: skip
    return scene, Simulation(scene, method=way.method, dt=way.dt, integrator=way.integrator)


@pytest.mark.parametrize("way", BALL_WAYS, ids=named)
@pytest.mark.parametrize(
    "pair",
    [(BALL, BALL), (BALL, CYLINDER), (CYLINDER, CAPSULE), (CAPSULE, DUMBBELL)],
    ids=lambda pair: "-".join(map(named, pair)),
)
def test_collisions_keep_momentum(way: Way, pair: tuple[Shape, Shape]) -> None:
    scene, sim = oblique(way, *pair)
    before, energy = momenta(sim, scene), sim.energy.kinetic
    touched = 0
    for _ in range(round(0.3 / way.dt)):
        sim.step()
        touched += len(sim.contacts)
        assert momenta(sim, scene) == pytest.approx(before, abs=1e-12)
    assert touched > 0
    assert sim.energy.kinetic < energy


# ---------------------------------------------------------------- between others
@pytest.mark.parametrize("way", WAYS, ids=named)
@pytest.mark.parametrize("free", [False, True], ids=["held", "free"])
def test_a_ball_between_two_others_stays(way: Way, free: bool) -> None:
    scene = tg.Scene()
    scene.add_floor()
    for x in (0.0, -2.0 * R, 2.0 * R):
        scene.add_body(BALL, mass=1.0, position=(x, 0, R), fixed=x != 0.0 and not free)
    if free:
        for side in (-1.0, 1.0):
            scene.add_body(
                tg.Box((0.1, 0.4, 0.4)), mass=1.0, position=(side * (3 * R + 0.05), 0, 0.2),
                fixed=True,
            )  # fmt: skip
    sim = Simulation(scene, dt=way.dt, integrator=way.integrator)
    sim.step(round(2.0 / way.dt))
    assert np.abs(sim[0].position[:2]).max() < 1e-9
    assert np.abs(sim[0].angular_velocity).max() < 1e-6


# ---------------------------------------------------------------- many, of all kinds
def bowl(count: int, seed: int = 0) -> tg.Scene:
    """Round bodies of all kinds, dropped at random attitudes between four walls."""
    rng = np.random.default_rng(seed)
    cone = tg.Cone(R, 2.0 * R)
    kinds = (BALL, CYLINDER, CAPSULE, cone, DUMBBELL)
    scene = tg.Scene()
    scene.add_floor()
    for k in range(4):
        side, along = (-1.0 if k < 2 else 1.0), k % 2
        at = [0.0, 0.0, 1.0]
        at[along] = side * 0.65
        size = [1.5, 1.5, 2.0]
        size[along] = 0.1
        scene.add_body(tg.Box(size), mass=1.0, position=at, fixed=True)
    for i in range(count):
        place = 0.24 * np.array([i % 4 - 1.5, i // 4 % 4 - 1.5, i // 16 + 0.6])
        scene.add_body(
            kinds[i % 5], mass=0.5, position=place + rng.uniform(-0.01, 0.01, 3),
            orientation=rng.normal(size=4), angular_velocity=rng.normal(size=3),
        )  # fmt: skip
    return scene


def encounters(count: int, seed: int) -> tg.Scene:
    """Pairs of all kinds of solids far from each other, each on its way into its other half."""
    rng = np.random.default_rng(seed)
    kinds: list[Shape] = [BALL, CYLINDER, CAPSULE, DUMBBELL, tg.Cone(R, 2 * R), tg.Cone(2 * R, R)]
    kinds += [tg.Box((R, 2 * R, 3 * R)), tg.Cylinder(2 * R, 0.3 * R), tg.Cylinder(0.4 * R, 4 * R)]
    scene = tg.Scene(gravity=(0, 0, 0))
    for i in range(count):
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        for side in (-1.0, 1.0):
            scene.add_body(
                kinds[rng.integers(len(kinds))], mass=float(rng.uniform(0.2, 2.0)),
                position=np.array([i % 20, i // 20, 0.0]) + 2.6 * side * R * way,
                orientation=rng.normal(size=4), velocity=-side * rng.uniform(0.2, 1.0) * way,
                angular_velocity=3.0 * rng.normal(size=3), material=ROUGH,
            )  # fmt: skip
    return scene


@pytest.mark.parametrize("way", WAYS, ids=named)
@pytest.mark.parametrize("seed", range(3))
def test_any_two_solids_collide_at_any_attitude(way: Way, seed: int) -> None:
    """Faces, sides, rims, apexes: no force is undefined, none makes momentum or energy."""
    scene = encounters(300, seed)
    sim = Simulation(scene, method=way.method, dt=way.dt, integrator=way.integrator)
    before, start = momenta(sim, scene), sim.energy.total
    touched: set[int] = set()
    for _ in range(round(0.4 / way.dt)):
        sim.step()
        touched.update(sim.contacts["body_b"].tolist())
    assert len(touched) > 200
    # angular momentum about the origin of pairs up to 25 m away
    assert momenta(sim, scene) == pytest.approx(before, abs=1e-8)
    assert sim.energy.total < start
    # a soft contact gives back what it took, a little late; nothing is thrown out
    assert np.linalg.norm(sim.arrays.state.velocity, axis=1).max() < 6.0


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_energy_never_rises_and_the_books_balance(dt: float) -> None:
    sim = Simulation(bowl(20), dt=dt)
    start = sim.energy.total
    assert follow(sim, round(1.5 / dt)) < RISE_ELSE
    assert sim.energy.total < 0.5 * start
    assert len(sim.contacts) > 20
    assert sim.positions[4:, 2].min() > 0.4 * R  # nothing fell into the floor


def test_number_of_threads_does_not_matter_to_hundreds_of_balls() -> None:
    rng = np.random.default_rng(3)
    scene = tg.Scene()
    scene.add_floor()
    for i in range(1000):
        place = 0.12 * np.array([i % 16, i // 16 % 16, i // 256 + 0.6])
        scene.add_body(
            BALL if i % 3 else CYLINDER, mass=0.5, position=place + rng.uniform(-0.01, 0.01, 3),
            orientation=rng.normal(size=4),
        )  # fmt: skip
    ends = []
    for threads in (1, 2, 3):
        sim = Simulation(scene, dt=5e-3)
        sim.stepper.threads = threads
        sim.step(60)
        ends.append((sim.positions, sim.orientations))
        assert len(sim.contacts) > 300
    for positions, orientations in ends[1:]:
        assert np.array_equal(positions, ends[0][0])
        assert np.array_equal(orientations, ends[0][1])
