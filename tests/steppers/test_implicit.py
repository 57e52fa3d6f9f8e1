"""Springs by the implicit step, friction from stick to slip and back, what ends with a contact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from implicit.looking import seen
from numpy.typing import NDArray

import tangere as tg
from tangere.elements.columns import BREAKS, EF_F, HOLDS, SLIDES
from tangere.simulation import Simulation

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

DT = 5e-3


def tied(gravity: float = 0.0, **more: Any) -> tuple[tg.Scene, tg.Body]:
    scene = tg.Scene(gravity=(0, 0, -gravity))
    return scene, scene.add_body(tg.Sphere(0.05, subdivisions=1), mass=2.0, **more)


# ---------------------------------------------------------------- springs


@pytest.mark.parametrize(("k", "b"), [(50.0, 0.0), (1e6, 3.0), (1e9, 1e5)])
def test_spring_looks_ahead_as_far_as_it_is_stiff(k: float, b: float) -> None:
    # v = (v₀ − dt k/m x₀)/(1 + dt b/m + σ dt² k/m), x = x₀ + dt v; stable however stiff
    scene, body = tied(position=(0.3, 0, 0), velocity=(1.0, 0.5, 0.0))
    scene.add_spring(body, stiffness=k, damping=b)
    sim = Simulation(scene, dt=DT, integrator="implicit")
    x, v = np.array([0.3, 0.0, 0.0]), np.array([1.0, 0.5, 0.0])
    s = DT**2 * k / 2.0
    share = s / (0.1 + s)
    for _ in range(5):
        start = x
        v = (v - DT * k / 2.0 * x) / (1.0 + DT * b / 2.0 + share * s)
        x = x + DT * v
        sim.step()
        # solved to 1e-9 m/s
        assert sim[0].velocity == pytest.approx(v, rel=1e-9, abs=5e-9)
        assert sim[0].position == pytest.approx(x, rel=1e-9, abs=1e-10)
        # the force that moved the body, at the end of the step if the spring is stiff
        seen = (1.0 - share) * start + share * x
        assert sim.spring_forces[0] == pytest.approx(-k * seen - b * v, rel=1e-6, abs=1e-6)


def test_moving_end_takes_the_body_along() -> None:
    scene, body = tied()
    scene.add_spring(body, stiffness=500.0, damping=40.0, velocity=(0.2, 0.0, 0.1))
    sim = Simulation(scene, dt=DT, integrator="implicit")
    sim.step(300)
    assert sim[0].velocity == pytest.approx((0.2, 0.0, 0.1), rel=1e-5)
    assert sim[0].position == pytest.approx(sim.time * np.array((0.2, 0.0, 0.1)), abs=1e-5)
    # the hand put in what the body got and the damper took; books agree
    audit, energy = sim.audit, sim.energy
    assert audit.work == pytest.approx(energy.total + energy.dissipated, abs=1e-12)
    assert audit.work > energy.kinetic


def test_spring_with_a_rest_length_swings_sideways_freely() -> None:
    # at its rest length there is no force across
    scene, body = tied(position=(0.5, 0, 0), velocity=(0, 0.4, 0))
    scene.add_spring(body, stiffness=1e3, rest_length=0.5)
    sim = Simulation(scene, dt=1e-3, integrator="implicit")
    sim.step()
    assert sim[0].velocity[1] == pytest.approx(0.4, rel=1e-9)
    sim.step(300)
    assert np.linalg.norm(sim[0].position) == pytest.approx(0.5, abs=5e-3)
    assert sim[0].position[1] > 0.1


@pytest.mark.parametrize("rest", [0.0, 0.2])
def test_spring_of_no_length_has_no_direction(rest: float) -> None:
    scene, body = tied(velocity=(0.0, 0.3, 0.0))
    scene.add_spring(body, stiffness=100.0, damping=1.0, rest_length=rest)
    sim = Simulation(scene, dt=DT, integrator="implicit")
    sim.step()
    assert np.isfinite(sim[0].velocity).all()
    if rest == 0.0:
        s = DT**2 * 100.0 / 2.0
        expected = 0.3 / (1.0 + DT * 1.0 / 2.0 + s * s / (0.1 + s))
        assert sim[0].velocity == pytest.approx((0, expected, 0), rel=1e-9)


def test_two_bodies_on_a_spring_keep_their_momentum() -> None:
    scene = tg.Scene(gravity=(0, 0, 0))
    for x in (-0.5, 0.5):
        scene.add_body(
            tg.Box((0.2, 0.1, 0.1)), mass=1.0 + abs(x + 0.5) * 3.0, position=(x, 0, 0),
            velocity=(0, x, 0), angular_velocity=(0.2, 0.1, x),
        )  # fmt: skip
    scene.add_spring(0, 1, anchor_a=(0.1, 0.05, 0), anchor_b=(-0.1, 0, 0.05), stiffness=1e4)
    sim = Simulation(scene, dt=DT, integrator="implicit")
    before = sum(body.mass * sim[body].velocity for body in scene.bodies)
    sim.step(50)
    after = sum(body.mass * sim[body].velocity for body in scene.bodies)
    assert after == pytest.approx(before, abs=1e-11)
    assert np.linalg.norm(sim[0].velocity) > 0.1


def test_springs_on_fixed_bodies_do_nothing() -> None:
    # both ends fixed: no equation to solve, but nothing to fall over either
    scene = tg.Scene(gravity=(0, 0, -9.81))
    a = scene.add_body(tg.Box((0.1, 0.1, 0.1)), fixed=True, position=(5, 0, 0))
    b = scene.add_body(tg.Box((0.1, 0.1, 0.1)), fixed=True, position=(9, 0, 0))
    scene.add_spring(a, b, stiffness=10.0)
    scene.add_spring(a, stiffness=10.0)
    free = scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=1.0)
    scene.add_spring(free, a, stiffness=0.0)
    sim = Simulation(scene, dt=DT, integrator="implicit")
    sim.step(3)
    assert sim[a].position.tolist() == [5.0, 0.0, 0.0]
    assert sim[free].velocity == pytest.approx((0, 0, -3 * 9.81 * DT), rel=1e-12)
    assert sim.spring_forces[0] == pytest.approx((40.0, 0.0, 0.0))
    assert sim.spring_forces[1] == pytest.approx((-50.0, 0.0, 0.0))


def test_scene_of_fixed_bodies_runs() -> None:
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Box((1, 1, 1)), fixed=True, velocity=(1, 0, 0), angular_velocity=(0, 0, 1))
    sim = Simulation(scene, dt=DT, integrator="implicit")
    sim.step(10)
    assert sim[0].position == pytest.approx((0.05, 0, 0))
    assert len(sim.contacts) == 0


# ---------------------------------------------------------------- friction


def pushed(speed: float, mu: float = 0.3, dt: float = DT) -> Simulation:
    scene = tg.Scene(gravity=(0, 0, -9.81))
    material = tg.Material(mu, mu, stiffness=1e5)
    scene.add_floor(material=material)
    scene.add_body(
        tg.Box((0.3, 0.2, 0.05)), mass=1.0, position=(0, 0, 0.025 - 9.81e-5),
        velocity=(speed, 0, 0), material=material,
    )  # fmt: skip
    return Simulation(scene, dt=dt, integrator="implicit")


def test_from_slip_to_stick() -> None:
    # it breaks, slides for v/(μ g), and is held by a spring that starts with the last friction
    sim = pushed(0.3)
    modes, ratios = [], []
    for _ in range(60):
        sim.step()
        (c,) = seen(sim)
        modes.append(c.mode)
        force = sim[0].contact_wrench[0]
        ratios.append(-float(force[0] / force[2]))
    assert modes[0] == BREAKS
    slipping = modes.index(HOLDS, 1)
    assert set(modes[1:slipping]) == {SLIDES}
    assert set(modes[slipping:]) == {HOLDS}
    assert slipping * DT == pytest.approx(0.3 / (0.3 * 9.81), abs=3 * DT)
    # μ N all the way but for the step in which it stops; N is known to a thousandth
    assert ratios[: slipping - 2] == pytest.approx([0.3] * (slipping - 2), rel=2e-3)
    assert np.abs(ratios[slipping:]).max() < 0.3
    assert sim.contacts["sticking"].all()
    assert np.abs(sim[0].velocity).max() < 1e-6
    # v²/2a within half a step of travel
    way = 0.3**2 / (2 * 0.3 * 9.81)
    assert sim[0].position[0] == pytest.approx(way, abs=0.3 * DT)


def test_pull_below_and_above_the_limit() -> None:
    # tied to a hand that pulls ever harder, it moves at μ₀ N and not before
    sim_scene = tg.Scene(gravity=(0, 0, -9.81))
    material = tg.Material(0.5, 0.3, stiffness=1e6)
    sim_scene.add_floor(material=material)
    body = sim_scene.add_body(
        tg.Box((0.3, 0.2, 0.05)), mass=1.0, position=(0, 0, 0.025), material=material
    )
    hand = (0.0, 0.0, 0.025)
    sim_scene.add_spring(body, anchor_b=hand, stiffness=100.0, velocity=(0.1, 0.0, 0.0))
    sim = Simulation(sim_scene, dt=DT, integrator="implicit")
    pull = 0.0
    for _ in range(200):
        sim.step()
        if not sim.contacts["sticking"].all():
            break
        pull = float(sim.spring_forces[0][0])
    # a step adds 0.05 N
    assert pull == pytest.approx(0.5 * 9.81, abs=0.06)


def test_no_tangential_spring_at_all() -> None:
    # k_t = 0: a damper alone; rewinding has nothing to divide by
    material = tg.Material(0.3, 0.3, stiffness=1e5, tangential_stiffness=0.0)
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor(material=material)
    scene.add_body(
        tg.Box((0.3, 0.2, 0.05)), mass=1.0, position=(0, 0, 0.025), velocity=(0.3, 0, 0),
        angular_velocity=(0, 0, 1.0), material=material,
    )  # fmt: skip
    sim = Simulation(scene, dt=DT, integrator="implicit")
    sim.step(60)
    assert np.abs(sim[0].velocity).max() < 1e-3
    assert sim.energy.friction == 0.0


def test_spinning_block_stops_and_sticks() -> None:
    sim = pushed(0.0)
    sim[0].angular_velocity = (0.0, 0.0, 3.0)
    modes = set()
    for _ in range(80):
        sim.step()
        modes |= {c.mode for c in seen(sim)}
    assert modes == {HOLDS, BREAKS, SLIDES}
    assert abs(sim[0].angular_velocity[2]) < 1e-6
    assert sim[0].position[:2] == pytest.approx((0.0, 0.0), abs=1e-9)


# ---------------------------------------------------------------- beginning and end


def test_contact_that_ends_is_forgotten() -> None:
    sim = pushed(0.0)
    sim.step(5)
    assert len(sim.contacts) == 1
    assert sim.energy.contact > 0.0
    sim[0].velocity = (0.0, 0.0, 2.0)
    sim.step(3)
    assert len(sim.contacts) == 0
    assert sim.energy.contact == 0.0
    assert sim.energy.friction == 0.0
    assert sim[0].contact_wrench[0].tolist() == [0.0, 0.0, 0.0]


def test_fast_body_is_met_at_the_surface() -> None:
    # 2 m/s at 5 ms is 10 mm a step, far beyond the margin and a fifth of the box
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor()
    scene.add_body(
        tg.Box((0.3, 0.2, 0.05)), mass=1.0, position=(0, 0, 0.0281), velocity=(0, 0, -2.0)
    )
    sim = Simulation(scene, dt=DT, integrator="implicit")
    sim.step()
    (c,) = seen(sim)
    assert c[EF_F] == pytest.approx((2.0 - 0.0031 / DT) / DT, rel=0.05)
    assert sim[0].position[2] == pytest.approx(0.025, abs=1e-4)
