"""Laws of the signorini step: restitution, Coulomb, energy, momentum, determinism, order."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import tangere as tg
from tangere.fem.grids import box_grid
from tangere.scene.scene import Body

Array = NDArray[np.float64]

G = 9.81
EDGE = 0.06


def jelly(scene: tg.Scene, **options: object) -> Body:
    """A soft cube of two cells a side."""
    given = {"young": 2e5, "poisson": 0.3, "order": 1, "modes": 3, **options}
    return scene.add_soft_body(box_grid((EDGE,) * 3, (2, 2, 2)), **given)  # type: ignore[arg-type]


# ---------------------------------------------------------------- restitution


@pytest.mark.compiled
@pytest.mark.parametrize("bounce", [0.0, 0.5, 1.0])
def test_a_ball_rebounds_to_the_square_of_restitution(bounce: float) -> None:
    """Dropped from h it comes up to e² h."""
    height, radius, dt = 0.5, 0.05, 2e-4
    scene = tg.Scene()
    hard = tg.Material(restitution=bounce)
    scene.add_floor(material=hard)
    scene.add_body(tg.Sphere(radius), mass=1.0, position=(0.0, 0.0, radius + height), material=hard)
    sim = tg.Simulation(scene, method="signorini", dt=dt)
    falls = math.sqrt(2.0 * height / G)
    sim.step(round((falls + 0.01) / dt))
    highest = 0.0
    for _ in range(round(1.2 * falls / dt)):
        sim.step()
        highest = max(highest, float(sim[0].position[2]) - radius)
    # a step of v dt = 0.6 mm is all that impacts can be early by
    assert highest == pytest.approx(bounce**2 * height, rel=0.005, abs=1e-9)


@pytest.mark.nojit
@pytest.mark.parametrize("bounce", [0.0, 0.5, 1.0])
def test_two_balls_part_with_the_restitution_of_their_approach(bounce: float) -> None:
    """Central impact in free space: momentum is kept, and e = −(v₂ − v₁)/(v₂⁻ − v₁⁻)."""
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    hard = tg.Material(0.0, 0.0, restitution=bounce)
    for mass, x, speed in ((1.0, -0.051, 2.0), (3.0, 0.051, -1.0)):
        scene.add_body(
            tg.Sphere(0.05),
            mass=mass,
            position=(x, 0.0, 0.0),
            velocity=(speed, 0.0, 0.0),
            material=hard,
        )
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    sim.step(5)
    middle = (1.0 * 2.0 - 3.0 * 1.0) / 4.0  # speed of the centre of mass
    assert sim[0].velocity == pytest.approx((middle - bounce * 2.25, 0.0, 0.0), abs=1e-9)
    assert sim[1].velocity == pytest.approx((middle + bounce * 0.75, 0.0, 0.0), abs=1e-9)


# ---------------------------------------------------------------- Coulomb


@pytest.mark.nojit
@pytest.mark.parametrize("share", [0.9, 1.2])
def test_a_soft_block_on_a_slope(share: float) -> None:
    """It sticks below the angle of friction; beyond, a = g (sin α − μ cos α) to 1 %."""
    mu = 0.5
    angle = share * math.atan(mu)
    scene = tg.Scene(gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    rough = tg.Material(mu, mu)
    scene.add_floor(material=rough)
    jelly(scene, young=1e6, position=(0.0, 0.0, 0.5 * EDGE), material=rough)
    sim = tg.Simulation(scene, method="signorini", dt=2e-3)
    sim.step(50)  # it sags and leans
    begin, speed = sim[0].position[0], sim[0].velocity[0]
    sim.step(50)
    if share < 1.0:
        assert abs(sim[0].position[0] - begin) < 1e-6
        assert sim.contacts["sticking"].all()
    else:
        gained = (sim[0].velocity[0] - speed) / 0.1
        exact = G * (math.sin(angle) - mu * math.cos(angle))
        assert gained == pytest.approx(exact, rel=0.01)
        assert not sim.contacts["sticking"].any()


# ---------------------------------------------------------------- pressed edges


@pytest.mark.nojit
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_a_plate_on_a_soft_block_meets_an_even_resistance(friction: float) -> None:
    """Edges that a plate has pressed flat stay in contact, and do not come through it in turns."""
    surface = tg.Material(friction, friction)
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    jelly(
        scene,
        damping=0.0,
        modes=0,
        fixed=lambda x: x[:, 2] < -0.5 * EDGE + 1e-9,
        material=surface,
    )
    scene.add_body(
        tg.Box((0.05, 0.045, 0.03)),
        position=(0.003, 0.002, 0.5 * EDGE + 0.015),
        orientation=(math.cos(0.175), 0.0, 0.0, math.sin(0.175)),
        velocity=(0.0, 0.0, -0.1),
        fixed=True,
        material=surface,
    )
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    forces = []
    for _ in range(20):
        sim.step()
        forces.append(float(sim[1].contact_wrench[0][2]))
        assert sim.contacts["depth"].max() < 1e-9
    # linear but for the tilt of the surface around the plate
    assert np.diff(forces) == pytest.approx(forces[-1] / 20, rel=0.05)


# ---------------------------------------------------------------- rigid and soft bodies together


def heap(seed: int, gravity: float = G, floor: bool = True) -> tg.Scene:
    """Rigid and soft bodies thrown at each other; impacts are inelastic."""
    rng = np.random.default_rng(seed)
    scene = tg.Scene(gravity=(0.0, 0.0, -gravity))
    if floor:
        scene.add_floor(material=tg.Material(0.4, 0.3))
    shapes = (tg.Box((0.05, 0.06, 0.04)), tg.Sphere(0.03), None, None)
    for i, k in enumerate(rng.permutation(len(shapes))):
        shape = shapes[k]
        place = {
            "position": (*rng.uniform(-0.01, 0.01, 2), 0.04 + 0.068 * i),
            "velocity": (*rng.uniform(-0.2, 0.2, 2), -0.4 * i),
            "angular_velocity": rng.uniform(-2.0, 2.0, 3),
            "material": tg.Material(0.5, 0.4),
        }
        if shape is None:
            jelly(scene, density=500.0 + 500.0 * i, **place)
        else:
            scene.add_body(shape, mass=0.1 + 0.1 * i, **place)  # type: ignore[arg-type]
    return scene


def momentum(sim: tg.Simulation, scene: tg.Scene) -> Array:
    """Linear and angular momentum of all bodies."""
    total = np.zeros(6)
    for i, body in enumerate(scene.bodies):
        p = body.mass * sim[i].velocity
        total += np.concatenate((p, sim[i].angular_momentum + np.cross(sim[i].centre, p)))
    return total


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(8))
def test_energy_never_rises(seed: int) -> None:
    """Kinetic, strain and potential, step by step: impacts, friction and damping only take.

    Bodies that overlap are not pushed apart here, which would be work of its own.
    """
    sim = tg.Simulation(heap(seed), method=tg.Signorini(recovery_speed=0.0), dt=1e-3)
    totals = [sim.energy.total]
    touched = 0
    for _ in range(400):
        sim.step()
        totals.append(sim.energy.total)
        touched = max(touched, len(sim.contacts))
    assert touched > 4
    assert np.diff(totals).max() < 1e-9 * (max(totals) - min(totals))


@pytest.mark.nojit
def test_momentum_of_rigid_and_soft_bodies() -> None:
    scene = heap(1, gravity=0.0, floor=False)
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    before, pressed = momentum(sim, scene), 0.0
    for _ in range(25):
        sim.step()
        wrenches = [sim[i].contact_wrench[0] for i in range(len(scene.bodies))]
        size = float(np.abs(wrenches).max())
        assert np.abs(np.sum(wrenches, axis=0)).max() <= 1e-12 * max(1.0, size)
        pressed = max(pressed, size)
    assert pressed > 1.0
    assert momentum(sim, scene) == pytest.approx(before, abs=1e-12)


@pytest.mark.nojit
def test_the_same_bits_every_time() -> None:
    """Two runs, and one that is asked for step by step."""
    ends = []
    for calls in (1, 1, 12):
        sim = tg.Simulation(heap(2), method="signorini", dt=2e-3)
        for _ in range(calls):
            sim.step(12 // calls)
        ends.append((sim.positions, np.array([sim[i].velocity for i in range(4)]), sim.contacts))
    assert len(ends[0][2]) > 0
    for other in ends[1:]:
        for one, two in zip(ends[0], other, strict=True):
            assert np.array_equal(one, two)


# ---------------------------------------------------------------- order of the step


def slid(dt: float) -> Array:
    """Where a block is, and how it moves, after it slid and turned under friction."""
    scene = tg.Scene()
    rough = tg.Material(0.3, 0.3)
    scene.add_floor(material=rough)
    scene.add_body(
        tg.Box((0.2, 0.2, 0.02)),
        mass=1.0,
        position=(0.0, 0.0, 0.01),
        velocity=(2.0, 0.5, 0.0),
        angular_velocity=(0.0, 0.0, 6.0),
        material=rough,
    )
    sim = tg.Simulation(scene, method="signorini", dt=dt)
    sim.step(round(0.2 / dt))
    return np.concatenate((sim[0].position, sim[0].velocity, sim[0].angular_velocity))


def swung(dt: float) -> Array:
    """Corners of a soft block on its fixed bottom, pressed by a ball that moves down."""
    smooth = tg.Material(0.0, 0.0)
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    jelly(
        scene,
        young=2e4,
        damping=(0.0, 5e-3),
        material=smooth,
        fixed=lambda x: x[:, 2] < -0.5 * EDGE + 1e-9,
    )
    scene.add_body(
        tg.Sphere(0.01),
        position=(0.0, 0.0, 0.5 * EDGE + 0.01),
        velocity=(0.0, 0.0, -0.05),
        fixed=True,
        material=smooth,
    )
    sim = tg.Simulation(scene, method="signorini", dt=dt)
    sim.step(round(0.064 / dt))
    return np.asarray(sim[0].vertices).ravel()  # type: ignore[attr-defined]


@pytest.mark.compiled
@pytest.mark.parametrize("motion", [slid, swung], ids=["rigid", "soft"])
def test_half_the_step_half_the_error(motion: object) -> None:
    assert callable(motion)
    ends = [motion(dt) for dt in (2e-3, 1e-3, 5e-4, 2.5e-4)]
    changes = [float(np.linalg.norm(b - a)) for a, b in pairwise(ends)]
    orders = [math.log2(a / b) for a, b in pairwise(changes)]
    assert orders == pytest.approx([1.0, 1.0], abs=0.15)
