"""Rigid motion: what is conserved, Euler's equations, tops, springs, carried bodies."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from strategies import quaternions, vectors

from tangere.bodies.rigid import MAX_TURN, free_rotation
from tangere.geometry.shapes import Box, Cone, Sphere
from tangere.maths.quat import Quat
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Vec3
from tangere.scene.scene import Scene
from tangere.simulation import Simulation

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

IDENTITY: Quat = (1.0, 0.0, 0.0, 0.0)
BRICK: Vec3 = (0.8, 1.7, 2.1)  # three different moments
EXACT = 1e-12


def triple(v: Array) -> Vec3:
    return (float(v[0]), float(v[1]), float(v[2]))


def spin_on(q: Quat, ell: Vec3, inertia: Vec3, dt: float, steps: int) -> tuple[Quat, Vec3]:
    for _ in range(steps):
        q, ell = free_rotation(q, ell, inertia, dt)
    return q, ell


def energy(ell: Vec3, inertia: Vec3) -> float:
    return 0.5 * sum(x * x / i for x, i in zip(ell, inertia, strict=True))


def world(q: Quat, ell: Vec3) -> Array:
    return np.asarray(rotation_of(np.array(q)) @ np.array(ell))


def possible(a: float, b: float, share: float) -> Vec3:
    """Moments that obey the triangle inequality, from a needle to a disc."""
    return (a, b, abs(a - b) + share * (a + b - abs(a - b)))


# ---------------------------------------------------------------- free rotation


@settings(max_examples=60)
@given(
    quaternions(),
    vectors(),
    st.floats(0.1, 10.0),
    st.floats(0.1, 10.0),
    st.floats(1e-3, 1.0),
    st.sampled_from([1e-4, 1e-3, 1e-2, 0.1, 1.0]),
)
def test_energy_and_angular_momentum_are_kept(
    q: Array, ell: Array, a: float, b: float, share: float, dt: float
) -> None:
    inertia = possible(a, b, share)
    q0 = (float(q[0]), float(q[1]), float(q[2]), float(q[3]))
    e0, l0 = energy(triple(ell), inertia), world(q0, triple(ell))
    q1, ell1 = spin_on(q0, triple(ell), inertia, dt, 20)
    size = float(np.linalg.norm(ell))
    assert energy(ell1, inertia) == pytest.approx(e0, rel=EXACT)
    assert np.linalg.norm(ell1) == pytest.approx(size, rel=EXACT)
    assert world(q1, ell1) == pytest.approx(l0, abs=EXACT * size)
    assert np.linalg.norm(q1) == pytest.approx(1.0, rel=1e-15)


def euler(ell: Vec3, inertia: Vec3, duration: float) -> tuple[Array, Array]:
    """Attitude and body-axes angular momentum by a high-order integrator."""
    moments = np.array(inertia)

    def rate(_: float, y: Array) -> Array:
        w = y[4:] / moments
        a, b, c, d = y[:4]
        turn = 0.5 * np.array(
            [
                -b * w[0] - c * w[1] - d * w[2],
                a * w[0] + c * w[2] - d * w[1],
                a * w[1] - b * w[2] + d * w[0],
                a * w[2] + b * w[1] - c * w[0],
            ]
        )
        return np.concatenate((turn, np.cross(y[4:], w)))

    start = np.array([*IDENTITY, *ell])
    found = solve_ivp(rate, (0.0, duration), start, method="DOP853", rtol=1e-12, atol=1e-13)
    return found.y[:4, -1], found.y[4:, -1]


@pytest.mark.parametrize("ell", [(1.0, 3.0, 2.0), (0.01, 5.0, 0.01), (4.0, 0.0, 1e-3)])
def test_eulers_equations_at_second_order(ell: Vec3) -> None:
    q_true, ell_true = euler(ell, BRICK, 2.0)
    errors = []
    for steps in (100, 200, 400):
        q, found = spin_on(IDENTITY, ell, BRICK, 2.0 / steps, steps)
        error = np.linalg.norm(rotation_of(np.array(q)) - rotation_of(q_true))
        errors.append(float(error + np.linalg.norm(np.array(found) - ell_true)))
    assert errors[-1] < 1e-3
    for coarse, fine in pairwise(errors):
        assert coarse / fine == pytest.approx(4.0, abs=0.3)


def test_symmetric_top_precesses_at_the_known_rate() -> None:
    # about L at |L|/I₁, while the momentum runs round the body axis at (1/I₃ − 1/I₁) L₃
    i1, i3 = 1.3, 0.4
    ell = (0.6, 0.0, 2.0)
    duration, steps = 1.0, 4000
    q, found = spin_on(IDENTITY, ell, (i1, i1, i3), duration / steps, steps)
    angle = (1.0 / i3 - 1.0 / i1) * ell[2] * duration
    expected = (ell[0] * math.cos(angle), -ell[0] * math.sin(angle), ell[2])
    assert found == pytest.approx(expected, abs=1e-6)
    axis = rotation_of(np.array(q))[:, 2]
    momentum = np.array(ell) / np.linalg.norm(ell)
    swing = float(np.linalg.norm(ell)) / i1 * duration
    start = np.array([0.0, 0.0, 1.0])
    along = momentum * (momentum @ start)
    turned = along + math.cos(swing) * (start - along) + math.sin(swing) * np.cross(momentum, start)
    assert axis == pytest.approx(turned, abs=1e-6)


def test_ball_turns_about_its_axis() -> None:
    # Cayley's map: each step turns by 2 atan(ω dt/2), 8e-8 less than ω dt at 1 rad/s and 1 ms
    q, ell = spin_on(IDENTITY, (0.0, 0.0, 0.4), (0.4, 0.4, 0.4), 1e-3, 500)
    angle = 500 * 2.0 * math.atan(0.5e-3)
    assert q == pytest.approx((math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)), abs=1e-13)
    assert ell == (0.0, 0.0, 0.4)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rest_stays_at_rest_and_principal_axes_hold(axis: int) -> None:
    assert spin_on(IDENTITY, (0.0, 0.0, 0.0), BRICK, 1.0, 10) == (IDENTITY, (0.0, 0.0, 0.0))
    ell = [0.0, 0.0, 0.0]
    ell[axis] = 7.0
    _, found = spin_on(IDENTITY, (ell[0], ell[1], ell[2]), BRICK, 1e-2, 100)
    assert found == pytest.approx(ell, abs=1e-14)


def test_fast_spin_is_cut_in_pieces() -> None:
    # many turns in one step are the same as that many pieces by hand; the speed of a symmetric top
    # does not change, so that no piece is cut again
    top, ell, dt = (0.8, 0.8, 1.3), (3.0, 50.0, 12.0), 1.2
    rate = math.sqrt(sum((x / i) ** 2 for x, i in zip(ell, top, strict=True)))
    pieces = math.ceil(rate * dt / MAX_TURN)
    assert pieces > 50
    at_once = free_rotation(IDENTITY, ell, top, dt)
    by_hand = spin_on(IDENTITY, ell, top, dt / pieces, pieces)
    assert at_once[0] == pytest.approx(by_hand[0], abs=1e-12)
    assert at_once[1] == pytest.approx(by_hand[1], rel=1e-12)


@pytest.mark.parametrize("inertia", [BRICK, (0.4, 0.4, 0.7), (2.0, 2.0, 2.0)])
@pytest.mark.parametrize("size", [1e-200, 1e6, 1e12, 1e26, 1e49])
def test_absurd_spins_stay_finite(inertia: Vec3, size: float) -> None:
    for ell in ((1.0, 2.0, 1.0), (1.0, -1.0, 1e-23), (0.0, 0.0, 1.0)):
        q, found = free_rotation(IDENTITY, triple(size * np.array(ell)), inertia, 1e-3)
        assert np.isfinite([*q, *found]).all()
        assert np.linalg.norm(q) == pytest.approx(1.0, rel=1e-14)
        assert np.linalg.norm(found) == pytest.approx(size * np.linalg.norm(ell), rel=1e-9)


# ---------------------------------------------------------------- bodies in flight


def test_fall_is_semi_implicit_euler() -> None:
    scene = Scene(gravity=(0.0, 1.0, -10.0))
    scene.add_body(Sphere(0.1), velocity=(3.0, 0.0, 0.0))
    sim = Simulation(scene, dt=1e-2, integrator="explicit")
    sim.step(100)
    t = 100 * 101 / 2 * 1e-4
    assert sim.positions[0] == pytest.approx((3.0, t, -10.0 * t), rel=1e-12)
    assert sim[0].velocity == pytest.approx((3.0, 1.0, -10.0), rel=1e-12)
    assert sim.time == pytest.approx(1.0)


def test_omega_follows_the_momentum() -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_body(
        Box((0.3, 0.2, 0.1)), orientation=(1, 2, 3, 4), angular_velocity=(5.0, -3.0, 8.0)
    )
    sim = Simulation(scene, integrator="explicit")
    before = sim[0].angular_momentum
    sim.step(50)
    assert sim[0].angular_momentum == pytest.approx(before, rel=1e-14)
    r = sim[0].matrix[:3, :3]
    body = sim._bodies[0]
    assert r @ body.inertia @ r.T @ sim[0].angular_velocity == pytest.approx(before, rel=1e-11)


def test_fixed_bodies_move_as_told() -> None:
    scene = Scene()
    carried = scene.add_body(
        Box((1, 1, 1)), fixed=True, velocity=(1.0, 2.0, 3.0), angular_velocity=(0.0, 0.0, 2.0)
    )
    still = scene.add_body(Box((1, 1, 1)), fixed=True, position=(9.0, 0.0, 0.0))
    sim = Simulation(scene, dt=1e-2, integrator="explicit")
    sim.step(10)
    assert sim[carried].position == pytest.approx((0.1, 0.2, 0.3), rel=1e-13)
    half = 10 * math.atan(1e-2)  # of 2 rad/s
    assert sim[carried].orientation == pytest.approx(
        (math.cos(half), 0, 0, math.sin(half)), abs=1e-13
    )
    assert sim[still].position.tolist() == [9.0, 0.0, 0.0]
    assert sim[carried].velocity.tolist() == [1.0, 2.0, 3.0]


def test_nothing_pushes_a_fixed_body() -> None:
    scene = Scene()
    table = scene.add_body(Box((1, 1, 1)), fixed=True)
    scene.add_body(Box((1, 1, 1)), position=(0, 0, 0.99), velocity=(1.0, 0, -1.0))
    sim = Simulation(scene, integrator="explicit")
    sim.step(3)
    force, _ = sim[table].contact_wrench
    assert force[2] < -1.0
    assert sim[table].position.tolist() == [0.0, 0.0, 0.0]
    assert sim[table].velocity.tolist() == [0.0, 0.0, 0.0]
    assert sim[table].orientation.tolist() == [1.0, 0.0, 0.0, 0.0]


# ---------------------------------------------------------------- springs


def test_oscillator_follows_its_difference_equation() -> None:
    # semi-implicit Euler: x_n = A cos(n φ) + B sin(n φ) with cos φ = 1 − k dt²/2m
    k, dt, x0 = 40.0, 1e-2, 0.3
    scene = Scene(gravity=(0, 0, 0))
    scene.add_body(Sphere(0.05), mass=2.0, position=(x0, 0, 0))
    scene.add_spring(0, stiffness=k)
    sim = Simulation(scene, dt=dt, integrator="explicit")
    phi = math.acos(1.0 - 0.5 * k * dt * dt / 2.0)
    x1 = x0 * (1.0 - k * dt * dt / 2.0)
    slope = (x1 - x0 * math.cos(phi)) / math.sin(phi)
    for n in range(1, 200):
        sim.step()
        expected = x0 * math.cos(n * phi) + slope * math.sin(n * phi)
        assert sim.positions[0] == pytest.approx((expected, 0.0, 0.0), abs=1e-12)
        # the energy that this scheme keeps
        x, v = sim.positions[0][0], sim[0].velocity[0]
        kept = 0.5 * 2.0 * v * v + 0.5 * k * x * x - 0.5 * k * dt * x * v
        assert kept == pytest.approx(0.5 * k * x0 * x0, rel=1e-11)
        assert sim.energy.springs == pytest.approx(0.5 * k * x * x, rel=1e-12)


def test_rest_length_pulls_and_pushes_along_the_line() -> None:
    for length, sign in ((0.5, 1.0), (1.0, 0.0), (2.0, -1.0)):
        scene = Scene(gravity=(0, 0, 0))
        scene.add_body(Sphere(0.05), mass=1.0, position=(0.6 * length, 0.0, 0.8 * length))
        scene.add_spring(0, stiffness=10.0, rest_length=1.0)
        sim = Simulation(scene, integrator="explicit")
        assert sim.energy.springs == pytest.approx(5.0 * (length - 1.0) ** 2)
        sim.step()
        force = 10.0 * abs(length - 1.0) * sign * np.array([0.6, 0.0, 0.8])
        assert sim.spring_forces[0] == pytest.approx(force, abs=1e-12)
        assert sim[0].velocity == pytest.approx(1e-3 * force, abs=1e-15)


def test_damping_acts_along_the_line_or_in_all_directions() -> None:
    for rest, expected in ((1.0, (-6.0, 0.0, 0.0)), (0.0, (-2.0 * 10.0 - 6.0, -8.0, 0.0))):
        scene = Scene(gravity=(0, 0, 0))
        scene.add_body(Sphere(0.05), mass=1.0, position=(1.0, 0, 0), velocity=(3.0, 4.0, 0.0))
        scene.add_spring(0, stiffness=20.0, damping=2.0, rest_length=rest)
        sim = Simulation(scene, integrator="explicit")
        sim.step()
        assert sim.spring_forces[0] == pytest.approx(expected, abs=1e-12)


def test_collapsed_spring_has_no_direction() -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_body(Sphere(0.05), mass=1.0, velocity=(0.0, 0.0, 0.0))
    scene.add_spring(0, stiffness=10.0, damping=1.0, rest_length=1.0)
    sim = Simulation(scene, integrator="explicit")
    sim.step(3)
    assert sim.spring_forces.tolist() == [[0.0, 0.0, 0.0]]
    assert sim.positions.tolist() == [[0.0, 0.0, 0.0]]


def test_moving_end_drags_the_body() -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_body(Sphere(0.05), mass=1.0)
    scene.add_spring(0, stiffness=100.0, damping=20.0, velocity=(0.5, 0.0, 0.0))
    sim = Simulation(scene, integrator="explicit")
    sim.step(2000)
    assert sim[0].velocity == pytest.approx((0.5, 0.0, 0.0), abs=1e-6)
    # critically damped: no lag in the end, as nothing else holds the body
    assert sim.positions[0] == pytest.approx((0.5 * sim.time, 0.0, 0.0), abs=1e-3)
    sim.step()
    lag = sim.positions[0][0] - 0.5 * sim.time
    assert sim.energy.springs == pytest.approx(50.0 * lag * lag, abs=1e-12)


def test_spring_off_centre_turns_the_body() -> None:
    # anchors given in shape frames whose origin is not the centre of mass and whose axes are turned
    scene = Scene(gravity=(0, 0, 0))
    tilted = (math.cos(0.3), math.sin(0.3), 0.0, 0.0)
    a = scene.add_body(Cone(0.2, 0.8), mass=2.0, position=(0.1, 0.2, 0.3), orientation=tilted)
    b = scene.add_body(Box((0.2, 0.4, 0.1)), mass=1.0, position=(1.0, 0.0, 0.0))
    scene.add_spring(a, b, anchor_a=(0.2, 0.0, -0.1), anchor_b=(0.0, 0.2, 0.0), stiffness=30.0)
    sim = Simulation(scene, integrator="explicit")
    end_a = (sim[a].matrix @ (0.2, 0.0, -0.1, 1.0))[:3]
    end_b = (sim[b].matrix @ (0.0, 0.2, 0.0, 1.0))[:3]
    force = -30.0 * (end_a - end_b)
    arm_a, arm_b = end_a - sim[a].centre, end_b - sim[b].centre
    sim.step()
    assert sim.spring_forces[0] == pytest.approx(force, rel=1e-12)
    assert sim[a].angular_momentum == pytest.approx(1e-3 * np.cross(arm_a, force), rel=1e-10)
    assert sim[b].angular_momentum == pytest.approx(-1e-3 * np.cross(arm_b, force), rel=1e-10)


@pytest.mark.parametrize("rest", [0.0, 0.4])
def test_bodies_on_springs_keep_momentum(rest: float) -> None:
    scene = Scene(gravity=(0, 0, 0))
    rng = np.random.default_rng(3)
    for i in range(3):
        scene.add_body(
            Box((0.1, 0.2, 0.05)),
            mass=1.0 + i,
            position=(2.0 * i, 0.0, 0.0),
            orientation=rng.normal(size=4),
            velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
        )
    damping = 0.5 if rest > 0.0 else 0.0
    for a, b in ((0, 1), (1, 2)):
        scene.add_spring(
            a,
            b,
            anchor_a=rng.normal(size=3) * 0.1,
            anchor_b=rng.normal(size=3) * 0.1,
            stiffness=50.0,
            damping=damping,
            rest_length=rest,
        )
    sim = Simulation(scene, integrator="explicit")

    def momenta() -> Array:
        linear, angular = np.zeros(3), np.zeros(3)
        for body in scene.bodies:
            p = body.mass * sim[body].velocity
            linear += p
            angular += np.cross(sim[body].centre, p) + sim[body].angular_momentum
        return np.concatenate((linear, angular))

    before = momenta()
    sim.step(200)
    assert momenta() == pytest.approx(before, abs=1e-12)
    assert np.abs(sim.spring_forces).max() > 1.0


def test_fixed_end_holds() -> None:
    scene = Scene(gravity=(0, 0, -10.0))
    hook = scene.add_body(Box((0.1, 0.1, 0.1)), fixed=True, position=(0, 0, 5.0))
    weight = scene.add_body(Sphere(0.05), mass=2.0, position=(0, 0, 4.0))
    scene.add_spring(weight, hook, stiffness=200.0, damping=30.0, rest_length=1.0)
    sim = Simulation(scene, integrator="explicit")
    sim.step(1500)
    assert sim[weight].position == pytest.approx((0, 0, 4.0 - 20.0 / 200.0), abs=1e-5)
    assert sim[hook].position.tolist() == [0.0, 0.0, 5.0]
