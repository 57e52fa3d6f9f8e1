"""Laws of the penalty step: meshes rest, slide as Coulomb says, bounce, and keep their books."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import tangere as tg
from tangere.scene.concave_bodies import CONCAVE, bowl, torus
from tangere.scene.machine_parts import PITCH, bolt, nut

Array = NDArray[np.float64]

G = 9.81
MU = 0.4
ROUGH = tg.Material(MU, MU)


def box_mesh(size: tuple[float, float, float], cuts: int = 1) -> tg.Mesh:
    """A box as a mesh, each edge cut into so many."""
    grid = np.linspace(-0.5, 0.5, cuts + 1)
    vertices: dict[tuple[float, ...], int] = {}
    faces = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            for i in range(cuts):
                for j in range(cuts):
                    ring = []
                    for a, b in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)):
                        x = [0.0, 0.0, 0.0]
                        x[axis], x[(axis + 1) % 3], x[(axis + 2) % 3] = side, grid[a], grid[b]
                        ring.append(vertices.setdefault(tuple(x), len(vertices)))
                    ring = ring if side > 0.0 else ring[::-1]
                    faces += [[ring[0], ring[1], ring[2]], [ring[0], ring[2], ring[3]]]
    return tg.Mesh(np.array(list(vertices)) * size, np.array(faces))


# Fields and points that plain Python can build
COARSE = tg.Penalty(spacing=0.005, samples=120)
BRICK = box_mesh((0.04, 0.03, 0.02))


def on_slope(shape: tg.Mesh, under: str, slope: float) -> tg.Scene:
    """A body on a floor, a mesh or a hull, gravity turned by the slope's angle."""
    angle = math.atan(slope)
    scene = tg.Scene(gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    if under == "floor":
        scene.add_floor(material=ROUGH)
    else:
        slab = box_mesh((3.0, 0.4, 0.1), 4) if under == "mesh" else tg.Box((3.0, 0.4, 0.1))
        scene.add_body(slab, fixed=True, position=(1.2, 0.0, -0.05), material=ROUGH)
    lowest = float(shape.vertices[:, 2].min())
    scene.add_body(shape, density=500.0, position=(0.0, 0.0, -lowest), material=ROUGH, name="body")
    return scene


@pytest.mark.nojit
@pytest.mark.parametrize("under", ["floor", "mesh"])
def test_a_brick_comes_to_rest_and_is_carried(under: str) -> None:
    scene = tg.Scene()
    if under == "floor":
        scene.add_floor(material=ROUGH)
    else:
        block = box_mesh((0.1, 0.1, 0.1))
        scene.add_body(block, fixed=True, position=(0.0, 0.0, -0.05), material=ROUGH)
    scene.add_body(BRICK, density=500.0, position=(0.0, 0.0, 0.01), material=ROUGH, name="body")
    sim = tg.Simulation(scene, method=COARSE)
    sim.step(30)
    weight = G * scene.bodies[-1].mass
    force, torque = sim["body"].contact_wrench
    assert force == pytest.approx([0.0, 0.0, weight], abs=1e-6 * weight)
    assert torque == pytest.approx(np.zeros(3), abs=1e-6 * weight * 0.02)
    assert np.abs(sim["body"].velocity).max() < 1e-6
    assert sim.energy.contact > 0.0
    assert abs(sim.audit.error) < 1e-12


@pytest.mark.compiled
@pytest.mark.parametrize("under", ["floor", "mesh", "hull"])
@pytest.mark.parametrize("name", ["brick", "beaker", "horseshoe"])
def test_a_slope_holds_and_lets_go_as_coulomb_says(name: str, under: str) -> None:
    """Within 1 % of μ: at rest at 0.99 μ, and a = g (sin − μ cos) at 1.05 and 2 μ."""
    shape = BRICK if name == "brick" else CONCAVE[name](0.05)
    for slope in (0.99 * MU, 1.05 * MU, 2.0 * MU):
        sim = tg.Simulation(on_slope(shape, under, slope), method="penalty")
        sim.step(200)
        before = float(sim["body"].velocity[0])
        sim.step(150)
        measured = (float(sim["body"].velocity[0]) - before) / 0.15
        angle = math.atan(slope)
        if slope < MU:
            assert abs(sim["body"].velocity[0]) < 1e-6
        else:
            # friction over load, by what is missing of the pull along the slope
            friction = (G * math.sin(angle) - measured) / (G * math.cos(angle))
            assert friction == pytest.approx(MU, rel=0.01)


@pytest.mark.compiled
@pytest.mark.parametrize("bounce", [0.0, 0.6])
def test_a_mesh_rebounds_with_its_restitution(bounce: float) -> None:
    """A brick that falls flat parts at e times the speed of its approach."""
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    hard = tg.Material(MU, MU, restitution=bounce)
    scene.add_floor(material=hard)
    scene.add_body(
        BRICK, mass=0.1, position=(0.0, 0.0, 0.012), velocity=(0.0, 0.0, -0.5), material=hard
    )
    sim = tg.Simulation(scene, method="penalty", dt=1e-4)
    sim.step(400)
    assert sim[0].velocity == pytest.approx([0.0, 0.0, 0.5 * bounce], abs=0.01)


@pytest.mark.compiled
def test_rings_fall_on_each_other_and_never_gain_energy() -> None:
    scene = tg.Scene()
    scene.add_floor()
    for k, q in enumerate([(1.0, 0.0, 0.0, 0.0), (0.9, 0.3, 0.1, 0.0), (0.95, -0.2, 0.1, 0.0)]):
        scene.add_body(torus(), mass=0.1, position=(0.005 * k, 0.0, 0.02 + 0.04 * k), orientation=q)
    sim = tg.Simulation(scene, method="penalty")
    sim.step()
    highest = last = sim.energy.total
    for _ in range(2000):
        sim.step()
        now = sim.energy.total
        assert now <= last + 1e-6 * highest
        assert abs(sim.audit.error) < 1e-12
        last = now
    assert max(np.abs(sim[i].velocity).max() for i in range(3)) < 1e-6


@pytest.mark.compiled
def test_two_meshes_in_empty_space_keep_their_momentum() -> None:
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    for side in (-1.0, 1.0):
        scene.add_body(
            torus(),
            mass=0.2 + 0.05 * side,
            position=(0.027 * side, 0.004 * side, 0.0),
            orientation=(1.0, 0.2 * side, 0.1, 0.0),
            velocity=(-0.3 * side, 0.0, 0.05),
        )
    masses = np.array([body.mass for body in scene.bodies])
    sim = tg.Simulation(scene, method="penalty")

    def momentum() -> Array:
        p = masses[:, None] * [sim[i].velocity for i in range(2)]
        spin = sum(sim[i].angular_momentum + np.cross(sim[i].centre, p[i]) for i in range(2))
        return np.concatenate((p.sum(axis=0), np.asarray(spin)))

    before, touched = momentum(), False
    for _ in range(60):
        sim.step()
        touched = touched or len(sim.contacts) > 0
    assert touched
    assert momentum() == pytest.approx(before, abs=1e-12)


@pytest.mark.compiled
def test_a_nut_stays_on_its_bolt_by_friction_and_unscrews_without() -> None:
    """The lead angle of the thread is 3.4°: tan = 0.06, below 0.3 and above 0.

    Without friction it turns as a body on a helix of pitch p does, α = g q/(q² + ρ²), q = p/2π.
    The thread has a play of 0.17 mm: the field has to resolve it.
    """
    fine = tg.Penalty(spacing=0.4e-3)
    for mu in (0.3, 0.0):
        thread = tg.Material(mu, mu)
        scene = tg.Scene()
        scene.add_body(bolt(), fixed=True, material=thread)
        scene.add_body(
            nut(), density=7800.0, position=(0.0, 0.0, 0.02), material=thread, name="nut"
        )
        sim = tg.Simulation(scene, method=fine)
        sim.step(300)
        settled, spin = sim["nut"].position, sim["nut"].angular_velocity[2]
        sim.step(500)
        if mu > 0.0:
            assert np.abs(sim["nut"].velocity).max() < 1e-6
            assert np.abs(sim["nut"].angular_velocity).max() < 1e-5
            # what overlap there was goes back ever more slowly
            assert np.linalg.norm(sim["nut"].position - settled) < 5e-7
        else:
            body, q = scene.bodies[1], PITCH / (2.0 * math.pi)
            gyration = float(np.asarray(body.inertia)[2, 2]) / body.mass
            turned = -(sim["nut"].angular_velocity[2] - spin) / 0.5
            # impacts from facet to facet brake it by some per cent, and never drive it
            assert 0.85 < turned / (G * q / (q * q + gyration)) < 1.01


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_ten_concave_bodies_come_to_rest_in_a_bowl(seed: int) -> None:
    """None falls through, creep is below 1e-6 m/s, and energy never rises by 0.1 %."""
    rng = np.random.default_rng(seed)
    scene = tg.Scene()
    scene.add_floor()
    wood = tg.Material(0.5, 0.5)
    scene.add_body(bowl(0.12), fixed=True, material=wood)
    for i, make in enumerate(CONCAVE.values()):
        scene.add_body(
            make(0.04),
            density=500.0,
            position=(*(0.04 * rng.uniform(-1.0, 1.0, 2)), 0.12 + 0.05 * i),
            orientation=rng.normal(size=4),
            material=wood,
        )
    sim = tg.Simulation(scene, method="penalty")
    sim.step()
    start = last = sim.energy.total
    for _ in range(4000):
        sim.step()
        now = sim.energy.total
        assert now - last < 1e-3 * start
        last = now
    for i in range(1, 11):
        assert np.linalg.norm(sim[i].velocity) < 1e-6
        assert sim[i].position[2] > 0.0
        extent = np.ptp(scene.bodies[i].shape.surface()[0], axis=0).max()
        assert np.linalg.norm(0.5 * extent * sim[i].angular_velocity) < 1e-6
