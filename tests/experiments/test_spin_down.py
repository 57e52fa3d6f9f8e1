"""Theory of the spinning block, and the simulated friction against it step by step."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import tangere as tg
from tangere.experiments.spin_down import (
    SQUARE,
    Params,
    Refinement,
    Slide,
    Step,
    _slide,
    corner_ground,
    deviation,
    friction,
    quadrature_motion,
    rectangle,
    square_ground,
)
from tangere.maths.rotations import rotation_of

FINE = Params(quadrature=200)


def test_pure_spin_of_a_square() -> None:
    level = replace(square_ground(FINE), height=0.0)
    force, torque = friction(FINE, level, np.zeros(2), 3.0, 0.4)
    limit = FINE.friction * FINE.mass * FINE.gravity
    # mid-point rule on a 200 x 200 grid
    assert torque == pytest.approx(-SQUARE * limit * FINE.side, rel=1e-4)
    assert np.abs(force).max() < 1e-12
    assert pytest.approx(0.3826, abs=5e-5) == SQUARE


def test_pure_spin_on_four_corners() -> None:
    level = replace(corner_ground(FINE), height=0.0)
    _, torque = friction(FINE, level, np.zeros(2), 3.0, 0.4)
    limit = FINE.friction * FINE.mass * FINE.gravity
    assert torque == pytest.approx(-math.sqrt(0.5) * limit * FINE.side, rel=1e-12)


def test_signorini_contacts_are_the_four_corners() -> None:
    """Not the face: 1.848 times its torque, and no more than solver tolerance beside that."""
    p = Params(dt=5e-3)
    inertia = p.mass * p.side**2 / 6.0
    slide, first = _slide(
        p, tg.Box((p.side, p.side, p.thickness)), Step(p.dt, None, "signorini"), 0.0, p.spin, 0.1
    )
    expected = math.sqrt(0.5) * p.friction * p.mass * p.gravity * p.side
    assert first == pytest.approx(expected, rel=1e-6)
    assert slide.spin_torque(inertia) == pytest.approx(expected, rel=1e-6)
    assert expected / (SQUARE * p.friction * p.mass * p.gravity * p.side) == pytest.approx(
        1.8482, abs=1e-4
    )


@pytest.mark.compiled
def test_signorini_slides_and_spins_as_four_corners_do() -> None:
    p = Params()
    inertia = p.mass * p.side**2 / 6.0
    aim = quadrature_motion(p, corner_ground(p), inertia, p.both_speed, p.both_spin)
    box, end = tg.Box((p.side, p.side, p.thickness)), 1.2 * float(aim.time[-1])
    slide, _ = _slide(p, box, Step(p.dt, None, "signorini"), p.both_speed, p.both_spin, end)
    # how four corners share the load is not determined: of all ways the quadrature takes the one
    # that is linear in place, the solver another
    assert max(deviation(slide, aim)) < 0.005


@pytest.mark.parametrize("ratio", [0.2, 1.0, 3.0])
def test_mean_distance_in_a_rectangle(ratio: float) -> None:
    line = (np.arange(1000) + 0.5) / 1000 - 0.5
    x, y = np.meshgrid(ratio * line, line)
    # mid-point rule; the tip of the cone of distances costs 1e-7
    assert rectangle(ratio, 1.0) == pytest.approx(np.hypot(x, y).mean(), rel=1e-6)
    assert rectangle(2.0, 2.0) == pytest.approx(2.0 * SQUARE, rel=1e-12)


def test_order_and_limit_of_a_known_error() -> None:
    steps = 0.5 ** np.arange(5)[:, None]
    aim, first, second = np.array([1.0, -0.2, 0.7]), np.array([0.1, 0.3, -0.2]), np.ones(3)
    linear = Refinement(aim + first * steps, aim)
    assert linear.orders == pytest.approx(np.ones(3))
    assert linear.limit == pytest.approx(aim)
    squares = Refinement(aim + second * steps**2, aim)
    assert squares.orders == pytest.approx(np.full(3, 2.0))


def test_pure_slide_takes_the_whole_limit_whatever_the_lean() -> None:
    force, torque = friction(FINE, square_ground(FINE), np.array([0.6, 0.8]), 0.0, 0.1)
    limit = FINE.friction * FINE.mass * FINE.gravity
    assert force == pytest.approx(-limit * np.array([0.6, 0.8]), rel=1e-12)
    assert abs(torque) < 1e-12 * limit


def test_the_block_curls_only_because_the_pressure_leans() -> None:
    ground = square_ground(FINE)
    level, _ = friction(FINE, replace(ground, height=0.0), np.array([1.0, 0.0]), 5.0, 0.0)
    leaning, _ = friction(FINE, ground, np.array([1.0, 0.0]), 5.0, 0.0)
    assert abs(level[1]) < 1e-12
    # the front presses harder, and there a spin to the left moves left: friction pushes right
    assert leaning[1] < -1e-3


def test_reference_conserves_what_it_must() -> None:
    """Over the whole motion m Δv equals the impulse; pure slide ends at v/(μ g)."""
    p = Params(quadrature=24)
    slide = quadrature_motion(p, square_ground(p), p.mass * p.side**2 / 6.0, 1.0, 0.0)
    stop = 1.0 / (p.friction * p.gravity)
    assert slide.time[-1] == pytest.approx(stop, rel=3e-3)
    assert slide.way[-1, 0] == pytest.approx(0.5 * stop, rel=1e-4)
    assert np.abs(slide.spin).max() < 1e-9


def test_deviation_and_stop_time_of_known_motions() -> None:
    t = np.linspace(0.0, 1.0, 101)
    zero = np.zeros((101, 2))
    ramp = np.column_stack((2.0 - 4.0 * t, np.zeros(101)))
    a = Slide(t, ramp, 1.0 - 1.5 * t, zero, zero[:, 0])
    b = Slide(t, ramp + 0.02, 1.0 - 1.5 * t - 0.03, zero, zero[:, 0])
    velocity, spin = deviation(b, a)
    assert velocity == pytest.approx(0.01 * math.sqrt(2.0), rel=1e-9)
    assert spin == pytest.approx(0.03, rel=1e-9)
    assert a.stop_time(a.velocity[:, 0]) == pytest.approx(0.5)
    assert a.stop_time(a.spin) == pytest.approx(2.0 / 3.0)
    assert b.stop_time(np.ones(101)) == math.inf
    assert a.spin_torque(2.0) == pytest.approx(3.0)


def test_friction_of_a_leaning_face_is_exact_at_every_step() -> None:
    """A plate of 0.2 m slides and spins; friction tilts it by some 1e-8 rad at once.

    Its walls then reach up to depth zero, where rounding and the damper give a tiny negative
    pressure. That once cost the whole face its closed form: 5 % of the friction force.
    """
    stiffness, damping, mu, n = 1e5, 500.0, 0.3, 300
    line = ((np.arange(n) + 0.5) / n - 0.5) * 0.2
    x, y = np.meshgrid(line, line)
    face = np.column_stack((x.ravel(), y.ravel(), np.full(n * n, -0.01)))
    material = tg.Material(mu, mu, stiffness=stiffness, damping=damping)
    scene = tg.Scene(gravity=(0.0, 0.0, -9.8))
    scene.add_floor(material=material)
    plate = scene.add_body(
        tg.Box((0.2, 0.2, 0.02)),
        mass=1.0,
        position=(0.0, 0.0, 0.01 - 9.8 / stiffness),
        velocity=(1.5, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 20.0),
        material=material,
    )
    sim = tg.Simulation(scene, dt=1e-4, integrator="explicit")
    for _ in range(20):
        body = sim[plate]
        arm = face @ rotation_of(body.orientation).T
        u = body.velocity + np.cross(body.angular_velocity, arm)
        height = arm[:, 2] + body.position[2]
        pressure = (-stiffness * height - damping * u[:, 2]) / len(face)
        direction = u[:, :2] / np.hypot(u[:, 0], u[:, 1])[:, None]
        expected = -mu * (pressure[:, None] * direction).sum(axis=0)
        sim.step()
        force, _ = body.contact_wrench
        if not sim.contacts["sticking"][0]:
            # mid-point rule on 300 x 300 points near the centre of rotation: 1e-5 of 2.9 N
            assert force[:2] == pytest.approx(expected, abs=1e-4)
    assert not sim.contacts["sticking"][0]
