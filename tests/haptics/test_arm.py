"""The arm in the tick: exact motion, energy books, friction, limits, delay, encoders, theory."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, sin, sqrt
from typing import Any

import numpy as np
import pytest

from tangere.devices.simulated import DeviceModel, Hand
from tangere.haptics import arm as a
from tangere.haptics.arm import arm_step
from tangere.haptics.layout import (
    NREAD,
    NSEND,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_VELOCITY,
)
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

DT = 1e-3
Law = Callable[[int, Array], Any]


def still(position: tuple[float, ...] = (0.0, 0.0, 0.0)) -> Array:
    row = np.zeros(NREAD)
    row[READ_POSITION : READ_POSITION + 3] = position
    row[READ_QUATERNION] = 1.0
    return row


def run(hand: Hand, ticks: int, law: Law, wanted: Array | None = None, dt: float = DT) -> Any:
    """Readings and the arm after each tick, while `law(n, reading)` gives the six numbers sent."""
    arm, sent, out = hand.arm(), np.zeros(NSEND), np.zeros(NREAD)
    readings, arms = np.zeros((ticks, NREAD)), np.zeros((ticks, a.NARM))
    for n in range(ticks):
        row = still() if wanted is None else wanted[min(n, len(wanted) - 1)]
        arm_step(arm, row, sent, dt, out)
        sent[:6] = law(n, out)
        readings[n], arms[n] = out, arm
    return readings, arms


def free(**device: Any) -> Hand:
    """A device in a hand without an arm."""
    return Hand(
        device=DeviceModel(**{"damping": 0.0, "rotational_damping": 0.0, **device}),
        stiffness=0.0,
        damping=0.0,
        rotational_stiffness=0.0,
        rotational_damping=0.0,
    )


# ---------------------------------------------------------------- motion


def test_a_constant_force_gives_the_exact_parabola() -> None:
    """The midpoint rule has no error here; the command of tick 0 acts from tick 0 to tick 1."""
    readings, arms = run(free(), 101, lambda *_: (1.0, 0, 0, 0, 0.002, 0))
    t = 100 * DT
    assert readings[100, READ_POSITION] == pytest.approx(0.5 / 0.25 * t * t, rel=1e-12)
    assert arms[100, a.ARM_OMEGA + 1] == pytest.approx(0.002 / 6e-4 * t, rel=1e-12)
    angle = 0.5 * 0.002 / 6e-4 * t * t
    assert readings[100, READ_QUATERNION + 2] == pytest.approx(sin(0.5 * angle), rel=1e-12)


@pytest.mark.parametrize("turning", [False, True])
def test_an_arm_gives_way_like_a_damped_oscillator(turning: bool) -> None:
    """Response to a constant push: x = F/k (1 − e^{−dt} (cos wt + d/w sin wt))."""
    hand = Hand(damping=3.0, rotational_damping=0.02, substeps=8)
    readings, _ = run(hand, 200, lambda *_: (1.0, 0, 0, 0, 0, 0.05))
    m, b, k, push = (6e-4, 0.0201, 2.0, 0.05) if turning else (0.25, 3.1, 300.0, 1.0)
    d, w = b / (2 * m), sqrt(k / m - (b / (2 * m)) ** 2)
    t = np.arange(200) * DT
    expected = push / k * (1 - np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t)))
    found = 2 * np.arcsin(readings[:, READ_QUATERNION + 3]) if turning else readings[:, 0]
    # second order in a part of 0.125 ms: (w h)²/12 of the swing
    assert np.abs(found - expected).max() < 1e-4 * push / k


def test_an_arm_goes_where_it_wants_to_be() -> None:
    aim = still((0.01, -0.02, 0.03))
    aim[READ_QUATERNION : READ_QUATERNION + 4] = (cos(0.2), 0.0, 0.0, sin(0.2))
    readings, _ = run(Hand(), 800, lambda *_: np.zeros(6), np.array([still(), aim]))
    assert readings[0, :7] == pytest.approx(still()[:7], abs=0.0)
    assert readings[-1, :7] == pytest.approx(aim[:7], abs=1e-4)


def test_a_stiff_arm_is_stable_with_one_part_per_tick() -> None:
    hand = Hand(stiffness=1e7, damping=0.0, rotational_stiffness=1e5, substeps=1)
    wanted = np.array([still((0.01 * sin(0.1 * n), 0.0, 0.0)) for n in range(500)])
    readings, _ = run(hand, 500, lambda *_: np.zeros(6), wanted)
    assert np.abs(readings[:, :3]).max() < 0.05


# ---------------------------------------------------------------- energy


def restless(hand: Hand, ticks: int, seed: int = 1) -> Array:
    """Random forces on a moving arm."""
    rng = np.random.default_rng(seed)
    wanted = []
    for n in range(ticks):
        t = n * DT
        row = still((0.05 * sin(9 * t), 0.03 * sin(5 * t), 0.01 * cos(20 * t)))
        angle = 0.3 * sin(7 * t)
        row[READ_QUATERNION : READ_QUATERNION + 4] = (cos(angle), 0.0, sin(angle), 0.0)
        wanted.append(row)
    size = np.array([3.0, 3.0, 3.0, 0.05, 0.05, 0.05])
    return np.array(run(hand, ticks, lambda *_: size * rng.normal(size=6), np.array(wanted))[1])


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_energy_books_balance_and_nothing_is_made(friction: float) -> None:
    device = DeviceModel(friction=friction, rotational_friction=0.005 * friction)
    arms = restless(Hand(device=device), 600)
    gain = arms[:, a.ARM_GIVEN] + arms[:, a.ARM_INTENT] - arms[:, a.ARM_LOST]
    turnover = arms[-1, a.ARM_LOST]
    # rotation is exact to the third order of a part (0.25 ms) only
    start = arms[0, a.ARM_STORED]
    assert np.abs(arms[1:, a.ARM_STORED] - start - gain[1:]).max() < 1e-4 * turnover
    assert (np.diff(arms[:, a.ARM_LOST]) >= 0.0).all()
    assert turnover > 0.01


def test_energy_books_of_translation_are_exact() -> None:
    hand = Hand(device=DeviceModel(friction=0.4), rotational_stiffness=0.0)
    rng = np.random.default_rng(2)
    wanted = np.array([still((0.05 * sin(0.01 * n), 0.0, 0.0)) for n in range(400)])
    _, arms = run(hand, 400, lambda *_: (*(3 * rng.normal(size=3)), 0, 0, 0), wanted)
    gain = arms[:, a.ARM_GIVEN] + arms[:, a.ARM_INTENT] - arms[:, a.ARM_LOST]
    assert np.abs(arms[:, a.ARM_STORED] - gain).max() < 1e-12


# ---------------------------------------------------------------- friction


def test_coulomb_friction_holds_and_gives_way() -> None:
    """Below c nothing moves, not even slowly; above it the rest accelerates the mass."""
    hand = free(friction=0.5)
    readings, _ = run(hand, 300, lambda *_: (0.3, 0.39, 0, 0, 0, 0))  # 0.492 N
    assert not readings[:, READ_POSITION : READ_POSITION + 3].any()
    readings, _ = run(hand, 101, lambda *_: (0.6, 0.8, 0, 0, 0, 0))  # 1 N
    t = 100 * DT
    expected = 0.5 * 0.5 / 0.25 * t * t
    assert np.linalg.norm(readings[100, :3]) == pytest.approx(expected, rel=1e-9)


def test_coulomb_friction_stops_a_sliding_hand_for_good() -> None:
    """Thrown at 0.2 m/s it slides v²m/2c and rests."""
    hand = free(friction=0.5)
    readings, arms = run(hand, 400, lambda n, _: (50.5 if n == 0 else 0.0, 0, 0, 0, 0, 0))
    v = 0.2  # (50.5 − 0.5) N over 1 ms on 0.25 kg
    assert readings[1, READ_POSITION] == pytest.approx(0.5 * v * DT, rel=1e-9)
    assert readings[-1, READ_POSITION] == pytest.approx(0.5 * v * DT + v * v * 0.25 / 1.0, rel=0.01)
    assert not arms[-1, a.ARM_VELOCITY : a.ARM_VELOCITY + 3].any()
    assert (np.diff(readings[:, READ_POSITION]) >= 0.0).all()


# ---------------------------------------------------------------- device


def test_motors_saturate_with_their_direction_kept() -> None:
    hand = free(max_force=2.0, max_torque=0.0)
    _, arms = run(hand, 11, lambda *_: (30.0, 40.0, 0, 1.0, 0, 0))
    v = arms[-1, a.ARM_VELOCITY : a.ARM_VELOCITY + 3]
    assert v == pytest.approx([1.2 / 0.25 * 0.01, 1.6 / 0.25 * 0.01, 0.0], rel=1e-9)
    assert not arms[-1, a.ARM_OMEGA : a.ARM_OMEGA + 3].any()


@pytest.mark.parametrize("delay", [0, 1, 5, a.MAX_DELAY])
def test_a_command_waits_its_ticks(delay: int) -> None:
    """Sent at tick 3, it acts from tick 3 + delay on, and is seen one tick later."""
    hand = free(delay=delay)
    readings, _ = run(hand, 45, lambda n, _: (1.0 if n == 3 else 0.0, 0, 0, 0, 0, 0))
    moved = np.flatnonzero(readings[:, READ_POSITION])
    assert moved[0] == 4 + delay


def test_encoders_round_and_samples_are_held() -> None:
    hand = free(resolution=1e-3, rotational_resolution=0.01, sample_every=4)
    readings, _ = run(hand, 200, lambda *_: (2.0, 0, 0, 0, 0, 1e-3))
    steps = readings[:, READ_POSITION] / 1e-3
    assert steps == pytest.approx(np.round(steps), abs=1e-9)
    assert len(np.unique(np.round(steps))) > 20
    new = np.flatnonzero(np.diff(readings[:, READ_SEQUENCE]))
    assert (new % 4 == 3).all()
    q = readings[:, READ_QUATERNION : READ_QUATERNION + 4]
    assert np.linalg.norm(q, axis=1) == pytest.approx(1.0, abs=1e-12)
    assert len(np.unique(np.round(q[:, 3], 9))) < 50
    # the velocity is the difference of two samples
    i = new[-1] + 1
    expected = (readings[i, 0] - readings[i - 4, 0]) / (4 * DT)
    assert readings[i, READ_VELOCITY] == pytest.approx(expected, rel=1e-12)


def test_the_drivers_velocity_lags_by_its_filter() -> None:
    hand = free(velocity_filter=0.01)
    readings, arms = run(
        hand, 300, lambda n, _: (250.0 if n == 0 else 0.0, 0, 0, 0, 0, 0.6 * (n == 0))
    )
    assert readings[-1, READ_VELOCITY] == pytest.approx(1.0, rel=1e-6)
    assert readings[-1, READ_OMEGA + 2] == pytest.approx(arms[-1, a.ARM_OMEGA + 2], rel=1e-6)
    # after ten ticks: 1 − (1/(1.1))^10 of the way, but for the first, half as fast, difference
    assert 0.55 < readings[11, READ_VELOCITY] < 0.65


def test_double_cover_changes_nothing() -> None:
    """q and −q are the same aim."""
    rows = []
    for n in range(50):
        row = still()
        angle = 0.01 * n
        row[READ_QUATERNION : READ_QUATERNION + 4] = (cos(angle), sin(angle), 0.0, 0.0)
        rows.append(row)
    flipped = np.array(rows)
    flipped[::2, READ_QUATERNION : READ_QUATERNION + 4] *= -1.0
    one, _ = run(Hand(), 50, lambda *_: np.zeros(6), np.array(rows))
    other, _ = run(Hand(), 50, lambda *_: np.zeros(6), flipped)
    turns = np.abs(np.sum(one[:, 3:7] * other[:, 3:7], axis=1))
    assert turns == pytest.approx(1.0, abs=1e-12)
    assert one[:, READ_OMEGA] == pytest.approx(other[:, READ_OMEGA], abs=1e-9)


# ---------------------------------------------------------------- theory of the sampled wall


def margin(k: float, b: float, delay: int, mass: float, swing: float) -> float:
    """Smallest device damping with which a hand at a virtual wall comes to rest [N s/m].

    The hand is a mass on a lossless spring that swings freely at `swing` rad/s, so that nothing but
    the device's own damping can take the energy that the sampled wall makes. Found by bisection on
    whether the motion grows.
    """

    def grows(b_device: float) -> bool:
        hand = Hand(
            device=DeviceModel(mass=0.5 * mass, damping=b_device, delay=delay),
            mass=0.5 * mass,
            stiffness=mass * swing**2,
            damping=0.0,
            substeps=1,
        )
        arm, sent, out, row = hand.arm(), np.zeros(NSEND), np.zeros(NREAD), still()
        way = []
        for n in range(1200):
            arm_step(arm, row, sent, DT, out)
            x, v = out[READ_POSITION], out[READ_VELOCITY]
            sent[0] = 1.0 if n == 0 else -k * x - b * v
            way.append(abs(x))
            if n > 20 and not 1e-12 < max(way[-20:]) < 1e3:  # it is decided
                return bool(way[-1] > 1.0)
        return bool(max(way[-300:]) > max(way[300:600]))

    low, high = 0.0, 4.0 * (k * DT * (delay + 1) + abs(b))
    while high - low > 0.02 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if grows(middle) else (low, middle)
    return high


HEAVY, LIGHT = (1.0, 100.0), (1e-5, 0.0)  # mass and swing


@pytest.mark.parametrize(
    ("k", "b", "delay", "hand", "theory"),
    [
        # a heavy hand swings slowly: it feels the spring's delay, a negative damper as what it is
        (1000.0, 0.0, 0, HEAVY, 0.5),
        (4000.0, 0.0, 0, HEAVY, 2.0),
        (1000.0, -2.0, 0, HEAVY, 2.5),
        # one without mass jumps from tick to tick: there a virtual damper pushes the wrong way
        (1000.0, 0.0, 0, LIGHT, 0.5),
        (1000.0, 2.0, 0, LIGHT, 2.5),
        (400.0, 4.0, 0, LIGHT, 4.2),
        # every tick of delay adds K T for the slow swing
        (1000.0, 0.0, 1, HEAVY, 1.5),
        (1000.0, 0.0, 3, HEAVY, 3.5),
    ],
)
def test_a_sampled_wall_needs_the_damping_of_theory(
    k: float, b: float, delay: int, hand: tuple[float, float], theory: float
) -> None:
    """Colgate and Schenkel: b_device > K T/2 + |B|, reproduced within 15 %."""
    assert margin(k, b, delay, *hand) == pytest.approx(theory, rel=0.15)


def test_delay_makes_a_plain_spring_diverge_against_the_default_hand() -> None:
    """The loop that a passivity controller has to tame: stable at once, lost with ten ticks."""
    swings = {}
    for delay in (0, 10):
        hand = Hand(device=DeviceModel(delay=delay))
        readings, arms = run(
            hand,
            1500,
            lambda n, out: (*(-2000.0 * out[:3] + (n == 0)), 0, 0, 0),
        )
        swings[delay] = np.abs(readings[-100:, 0]).max()
        balance = arms[-1, a.ARM_GIVEN] + arms[-1, a.ARM_INTENT] - arms[-1, a.ARM_LOST]
        assert arms[-1, a.ARM_STORED] == pytest.approx(balance, rel=1e-9, abs=1e-12)
    assert swings[0] < 1e-6
    assert swings[10] > 0.1
