"""Shorter steps, smaller errors: first order in smooth motion, known limits in stiff contact."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import tangere as tg
from tangere.simulation import Simulation

Array = NDArray[np.float64]


def slide_and_spin(dt: float) -> Array:
    """A pressed block sliding and spinning without stopping: everything is smooth."""
    rough = tg.Material(0.2, 0.2, stiffness=2e4, damping=200.0, tangential_stiffness=1e3)
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor(material=rough)
    scene.add_body(
        tg.Box((0.2, 0.2, 0.04)), mass=1.0, position=(0, 0, 0.02 - 9.81 / 2e4),
        velocity=(2.0, 0.5, 0.0), angular_velocity=(0.0, 0.0, 20.0), material=rough,
    )  # fmt: skip
    sim = Simulation(scene, dt=dt, integrator="explicit")
    sim.step(round(0.2 / dt))
    assert np.linalg.norm(sim[0].velocity) > 0.5
    return np.concatenate((sim[0].position, sim[0].velocity, sim[0].angular_velocity))


def test_first_order_in_the_step() -> None:
    steps = [2e-3, 1e-3, 5e-4, 2.5e-4]
    states = [slide_and_spin(dt) for dt in steps]
    changes = [float(np.linalg.norm(b - a)) for a, b in pairwise(states)]
    for coarse, fine in pairwise(changes):
        assert coarse / fine == pytest.approx(2.0, abs=0.35)
    assert changes[-1] < 1e-2


@pytest.mark.nojit
@pytest.mark.parametrize(("kappa", "beta", "stable"), [
    (0.1, 0.2, True), (1.0, 1.0, True), (3.0, 0.3, True), (3.0, 0.7, False), (0.2, 2.1, False),
])  # fmt: skip
def test_limit_of_the_explicit_step(kappa: float, beta: float, stable: bool) -> None:
    # one flat contact: stable iff κ + 2β < 4; a small kick dies out or grows
    dt, mass = 1e-3, 1.0
    k, b = kappa * mass / dt**2, beta * mass / dt
    material = tg.Material(0.0, 0.0, stiffness=k, damping=b)
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor(material=material)
    # held in the middle of a deep press so that the contact never opens
    press = 1e3
    scene.add_body(
        tg.Box((1.0, 1.0, 1.0)), mass=mass, position=(0, 0, 0.5 - (9.81 + press) / k),
        velocity=(0, 0, 1e-3), material=material,
    )  # fmt: skip
    # a soft spring, preloaded far below, presses with 1000 N
    scene.add_spring(0, anchor_b=(0, 0, 0.5 - 1e4 - (9.81 + press) / k), stiffness=press / 1e4)
    sim = Simulation(scene, dt=dt, integrator="explicit")
    rest = sim[0].position[2]
    sim.step(120)
    swing = abs(sim[0].position[2] - rest) + dt * abs(sim[0].velocity[2])
    # at first 1e-6 m
    assert swing < 1e-8 if stable else swing > 1e-4


def test_stiffer_is_shallower() -> None:
    # rest depth under its own weight m g/k
    for k in (1e3, 1e4, 1e5):
        material = tg.Material(0.5, 0.5, stiffness=k)
        scene = tg.Scene()
        scene.add_floor(material=material)
        scene.add_body(tg.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.1), material=material)
        sim = Simulation(scene, integrator="explicit")
        sim.step(5000)
        assert sim.contacts["depth"][0] == pytest.approx(9.81 / k, rel=1e-4)


def test_default_rest_depth_does_not_depend_on_mass() -> None:
    # g dt²/κ = 98 µm at 1 ms
    for mass in (1e-3, 1.0, 1e4):
        scene = tg.Scene()
        scene.add_floor()
        scene.add_body(tg.Box((0.2, 0.2, 0.2)), mass=mass, position=(0, 0, 0.1))
        sim = Simulation(scene, integrator="explicit")
        sim.step(2000)
        assert sim.contacts["depth"][0] == pytest.approx(9.81e-5, rel=1e-6)


def test_pendulum_period() -> None:
    # a block on a stiff rod-like spring from the ceiling: T = 2π √(L/g) for a small swing
    length = 1.0
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_body(tg.Sphere(0.01), mass=1.0, position=(0.05, 0, -math.sqrt(1 - 0.05**2)))
    scene.add_spring(0, stiffness=1e5, damping=100.0, rest_length=length)
    sim = Simulation(scene, dt=1e-3, integrator="explicit")
    crossings = []
    before = sim[0].position[0]
    for _ in range(7000):
        sim.step()
        now = sim[0].position[0]
        if before > 0.0 >= now:
            crossings.append(sim.time - 1e-3 * (-now) / (before - now))
        before = now
    period = float(np.mean(np.diff(crossings)))
    stretched = length + 9.81 / 1e5
    exact = 2.0 * math.pi * math.sqrt(stretched / 9.81) * (1.0 + 0.05**2 / 16.0)
    assert period == pytest.approx(exact, rel=1e-3)
