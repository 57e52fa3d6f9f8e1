"""What nature keeps: momentum, energy, action and reaction, and the view from another place."""

from __future__ import annotations

import numpy as np
import pytest
from laws.places import VIEWS, Place, same_from, tumble
from numpy.typing import NDArray

import tangere as tg
from tangere.contact.volume.method import Volume
from tangere.simulation import Simulation

Array = NDArray[np.float64]

METHODS = [Volume(), Volume(normalization="fixed", algorithm="dual"), tg.Point()]


def momenta(sim: Simulation, scene: tg.Scene) -> Array:
    """Total linear and angular momentum about the world's origin."""
    linear, angular = np.zeros(3), np.zeros(3)
    for body in scene.bodies:
        p = body.mass * sim[body].velocity
        linear += p
        angular += np.cross(sim[body].centre, p) + sim[body].angular_momentum
    return np.concatenate((linear, angular))


def swarm(seed: int, count: int) -> tg.Scene:
    """Bodies of several shapes flying at one another in empty space."""
    rng = np.random.default_rng(seed)
    scene = tg.Scene(gravity=(0, 0, 0))
    shapes = (tg.Box((0.2, 0.3, 0.25)), tg.Cylinder(0.12, 0.25), tg.Cone(0.15, 0.3))
    for k in range(count):
        x = rng.normal(size=3)
        x *= (0.35 + 0.12 * k) / np.linalg.norm(x)
        scene.add_body(
            shapes[k % 3],
            mass=float(rng.uniform(0.5, 3.0)),
            position=x,
            orientation=rng.normal(size=4),
            velocity=-2.0 * x + 0.2 * rng.normal(size=3),
            angular_velocity=rng.normal(size=3) * 2.0,
        )
    return scene


@pytest.mark.nojit
@pytest.mark.parametrize("method", METHODS)
def test_collisions_keep_the_total_momentum(method: tg.Volume | tg.Point) -> None:
    scene = swarm(1, 5)
    sim = Simulation(scene, method=method, integrator="explicit")
    before = momenta(sim, scene)
    scale = sum(body.mass * np.linalg.norm(body.velocity) for body in scene.bodies)
    pressed = 0
    for _ in range(60):
        sim.step(5)
        pressed += len(sim.contacts)
        assert momenta(sim, scene) == pytest.approx(before, abs=1e-12 * float(scale))
    assert pressed > 0


@pytest.mark.nojit
def test_free_flight_keeps_each_body_alone() -> None:
    scene = tg.Scene(gravity=(0, 0, 0))
    rng = np.random.default_rng(0)
    for k in range(4):
        scene.add_body(
            tg.Box((0.1, 0.2, 0.3)), position=(9.0 * k, 0, 0), orientation=rng.normal(size=4),
            velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3) * 10.0,
        )  # fmt: skip
    sim = Simulation(scene, integrator="explicit")
    before = [(sim[k].velocity, sim[k].angular_momentum, sim.energy.kinetic) for k in range(4)]
    sim.step(500)
    for k, (v, momentum, energy) in enumerate(before):
        assert sim[k].velocity == pytest.approx(v, rel=1e-15)
        assert sim[k].angular_momentum == pytest.approx(momentum, rel=1e-15)
        assert sim.energy.kinetic == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("size", [(0.1, 0.2, 0.3), (0.3, 0.3, 0.1), (0.01, 0.5, 0.02)])
def test_spinning_body_keeps_its_energy_for_a_minute(size: tuple[float, float, float]) -> None:
    scene = tg.Scene(gravity=(0, 0, 0))
    scene.add_body(tg.Box(size), mass=1.0, angular_velocity=(30.0, 50.0, -20.0))
    sim = Simulation(scene, integrator="explicit")
    energy, momentum = sim.energy.kinetic, sim[0].angular_momentum
    sim.step(60_000)
    assert sim.energy.kinetic == pytest.approx(energy, rel=1e-6)
    assert sim[0].angular_momentum == pytest.approx(momentum, rel=1e-12)


@pytest.mark.nojit
def test_action_is_reaction_in_every_step() -> None:
    scene = swarm(1, 5)
    sim = Simulation(scene, integrator="explicit")
    most = 0.0
    for _ in range(250):
        centres = [sim[body].centre for body in scene.bodies]
        sim.step()
        force, torque = np.zeros(3), np.zeros(3)
        for body, centre in zip(scene.bodies, centres, strict=True):
            f, t = sim[body].contact_wrench
            force += f
            torque += t + np.cross(centre, f)
        largest = max(float(np.abs(sim[body].contact_wrench[0]).max()) for body in scene.bodies)
        most = max(most, largest)
        assert force == pytest.approx(np.zeros(3), abs=1e-12 * max(largest, 1.0))
        assert torque == pytest.approx(np.zeros(3), abs=1e-12 * max(largest, 1.0))
    assert most > 1.0


# ---------------------------------------------------------------- the same from another place


@pytest.mark.nojit
@pytest.mark.parametrize("place", VIEWS)
@pytest.mark.parametrize("method", ["volume", Volume(normalization="fixed")])
def test_physics_does_not_know_where_the_world_stands(place: Place, method: str | Volume) -> None:
    def run(seen_from: Place) -> Simulation:
        scene = tumble(seen_from, (0.049, 0.149, 0.1))
        return Simulation(scene, method=method, integrator="explicit")

    # rounding grows in contacts, so the bound is far above 1e-16
    assert same_from(place, run, 20, apart=1e-9, askew=1e-12) > 3
