"""Velocity and acceleration from poses: exact for constant acceleration, known noise otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from contact.formation.scenes import DT, SHARP, UPRIGHT, Row, ball, play, row, upright
from scipy.spatial.transform import Rotation

from tangere.contact.formation.motion import (
    MO_ACCELERATION,
    MO_LONG,
    MO_PRIOR,
    MO_QUICK_TWIST,
    MO_SHORT,
    MO_TWIST,
)
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

# Positions of centimetres hold to 1e-17 m; two differences over 1 ms make that 1e-11 m/s².
ROUNDING = 1e-9


def nothing(position: Array, quaternion: Array) -> list[Row]:
    return []


def on_floor(position: Array, quaternion: Array) -> list[Row]:
    return [row(np.array([0.0, 0.0, -0.02]), [0.0, 0.0, 1.0], 0.5e-3)]


def turned(vectors: Array) -> Array:
    """Quaternions, w first, of turns by these vectors."""
    return np.asarray(Rotation.from_rotvec(vectors).as_quat()[:, [3, 0, 1, 2]])


@pytest.mark.parametrize("period", [5e-4, 1e-3, 2e-3])
def test_parabolas_are_exact(period: float) -> None:
    forces = ball(period=period)
    a, v = np.array([3.0, -2.0, 1.0]), np.array([-0.1, 0.2, 0.05])
    t = period * np.arange(80)[:, None]
    play(forces, 0.01 + v * t + 0.5 * a * t * t, upright(80), nothing, period)
    state = forces.motion.state
    now = v + a * t[-1]
    assert state[MO_TWIST : MO_TWIST + 3] == pytest.approx(now, abs=ROUNDING)
    assert state[MO_QUICK_TWIST : MO_QUICK_TWIST + 3] == pytest.approx(now, abs=ROUNDING)
    assert state[MO_ACCELERATION : MO_ACCELERATION + 3] == pytest.approx(a, abs=1e-7)
    assert (state[MO_LONG], state[MO_SHORT]) == (1 + round(0.03 / period), 1 + round(0.01 / period))


def test_a_steady_turn_is_exact_whatever_the_axis() -> None:
    """A turn at constant rate has a φ that is linear in time: no series is cut short but arcsin."""
    forces, w = ball(), np.array([4.0, -3.0, 5.0])
    t = DT * np.arange(60)[:, None]
    play(forces, np.zeros((60, 3)), turned(w * t), nothing)
    state = forces.motion.state
    assert state[MO_TWIST + 3 : MO_TWIST + 6] == pytest.approx(w, abs=1e-9)
    assert state[MO_ACCELERATION + 3 : MO_ACCELERATION + 6] == pytest.approx(0.0, abs=1e-6)


def test_a_fast_turn_leaves_the_series() -> None:
    """At 100 rad/s the window spans 3 rad, far beyond a few terms of arcsin."""
    forces, w = ball(), np.array([0.0, 60.0, 80.0])
    t = DT * np.arange(60)[:, None]
    play(forces, np.zeros((60, 3)), turned(w * t), nothing)
    assert forces.motion.state[MO_TWIST + 3 : MO_TWIST + 6] == pytest.approx(w, abs=1e-8)


def test_a_turn_that_speeds_up_about_a_fixed_axis_is_exact() -> None:
    forces, axis = ball(), np.array([0.6, 0.0, 0.8])
    t = DT * np.arange(60)[:, None]
    play(forces, np.zeros((60, 3)), turned(axis * (2.0 * t + 15.0 * t * t)), nothing)
    state = forces.motion.state
    assert state[MO_TWIST + 3 : MO_TWIST + 6] == pytest.approx(axis * (2.0 + 30.0 * t[-1]))
    assert state[MO_ACCELERATION + 3 : MO_ACCELERATION + 6] == pytest.approx(30.0 * axis, abs=1e-6)


def test_noise_is_what_the_fit_says() -> None:
    """σ √(192/n³)/Δt and σ √(720/n⁵)/Δt²; to 3 % for n = 31, and four standard errors of 400."""
    rng, sigma, n, runs = np.random.default_rng(1), 1e-5, 31, 400
    seen = []
    for _ in range(runs):
        forces = ball()
        play(forces, rng.normal(0.0, sigma, (n, 3)), upright(n), nothing)
        seen.append(np.r_[forces.motion.state[MO_TWIST], forces.motion.state[MO_ACCELERATION]])
    v, a = np.std(seen, axis=0)
    error = 0.03 + 4.0 / np.sqrt(2.0 * runs)
    assert v == pytest.approx(sigma * np.sqrt(192.0 / n**3) / DT, rel=error)
    assert a == pytest.approx(sigma * np.sqrt(720.0 / n**5) / DT**2, rel=error)


def test_the_first_poses_give_what_they_can() -> None:
    """One pose: no motion; two: their difference; no acceleration before the window is full."""
    forces = ball()
    play(forces, np.array([[0.0, 0.0, 0.0]]), upright(1), nothing)
    assert not forces.motion.state[MO_TWIST : MO_TWIST + 6].any()
    play(forces, np.array([[1e-4, 0.0, 0.0]]), upright(1), nothing, start=DT)
    assert forces.motion.state[MO_TWIST] == pytest.approx(0.1, rel=1e-12)
    play(forces, np.array([[3e-4, 0.0, 0.0]]), upright(1), nothing, start=2 * DT)
    assert forces.motion.state[MO_TWIST] == pytest.approx(0.25, rel=1e-12)
    assert forces.motion.state[MO_ACCELERATION] == 0.0


def test_a_gap_in_time_begins_anew() -> None:
    forces = ball()
    t = DT * np.arange(50)[:, None]
    play(forces, t * [1.0, 0.0, 0.0] + 40.0 * t * t, upright(50), nothing)
    play(forces, np.array([[5.0, 0.0, 0.0]]), upright(1), nothing, start=0.1)
    assert not forces.motion.state[MO_TWIST : MO_TWIST + 6].any()
    assert not forces.motion.state[MO_ACCELERATION : MO_ACCELERATION + 6].any()


def test_an_impact_does_not_count_as_prior_motion() -> None:
    """The acceleration stays that before the contact until the window has left its instant.

    The body falls with 2 m/s², and stops dead at the contact.
    """
    forces = ball(SHARP)
    t = DT * np.arange(200)
    hit = 100
    z = 0.01 - t * t
    z[hit:] = z[hit]
    seen = []
    for k in range(200):
        contacts = on_floor if k >= hit else nothing
        play(forces, np.array([[0.0, 0.0, z[k]]]), UPRIGHT[None], contacts, start=k * DT)
        seen.append(forces.motion.state[MO_PRIOR + 2])
    assert seen[hit - 1 : hit + 31] == pytest.approx([-2.0] * 32, abs=1e-6)
    assert seen[hit + 40] == pytest.approx(0.0, abs=1e-6)
