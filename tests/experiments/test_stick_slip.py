"""The exact stick-slip motion against direct integration, and the readings taken from a pull."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tangere.experiments.hasegawa2004_stick_slip import (
    Params,
    Pull,
    _creep,
    _pull,
    cycle,
    exact,
    exact_motion,
)
from tangere.maths.vec import Array


def slip_oracle(p: Params) -> tuple[float, Array]:
    """Length of one slip from rest at the static limit [s], and the tension over it [N]."""
    weight = p.mass * p.gravity

    def rate(_: float, y: Array) -> list[float]:
        stretch, v = y
        return [
            p.pull_speed - v,
            (p.pull_stiffness * stretch - p.kinetic_friction * weight) / p.mass,
        ]

    def at_rest(t: float, y: Array) -> float:
        return float(y[1]) if t > 1e-3 else 1.0

    at_rest.terminal = True  # type: ignore[attr-defined]
    at_rest.direction = -1.0  # type: ignore[attr-defined]
    start = [p.static_friction * weight / p.pull_stiffness, 0.0]
    done = solve_ivp(
        rate, (0.0, 10.0), start, events=at_rest, rtol=1e-11, atol=1e-13, max_step=1e-3
    )
    return float(done.t[-1]), np.asarray(p.pull_stiffness * done.y[0])


@pytest.mark.parametrize("speed", [0.01, 0.05, 0.4])
def test_the_closed_form_is_the_motion(speed: float) -> None:
    p = Params(pull_speed=speed)
    e = exact(p)
    slip, tension = slip_oracle(p)
    assert e.slip == pytest.approx(slip, rel=1e-8)
    assert e.stop == pytest.approx(tension[-1], abs=1e-7)
    # extremes are sampled every millisecond at least: second order in the step
    assert e.largest == pytest.approx(tension.max(), rel=1e-5)
    assert e.smallest == pytest.approx(tension.min(), abs=1e-4)
    assert e.stick == pytest.approx((e.onset - e.stop) / (p.pull_stiffness * speed), rel=1e-12)


def test_values_of_the_reference() -> None:
    e = exact(Params())
    assert e.period == pytest.approx(2.063, abs=5e-4)
    assert e.onset == pytest.approx(4.90, abs=1e-9)
    assert e.stop == pytest.approx(0.98, abs=1e-9)


def test_the_drawn_motion_has_no_jump_and_the_right_period() -> None:
    p = Params()
    time, tension = exact_motion(p, 9.0)
    e = exact(p)
    assert np.all(np.diff(time) >= 0.0)
    assert np.max(np.abs(np.diff(tension)[np.diff(time) < 1e-2])) < 0.2
    tops = time[1:-1][(tension[1:-1] > tension[:-2]) & (tension[1:-1] > tension[2:])]
    assert np.diff(tops) == pytest.approx(e.period, abs=e.slip / 119)


def test_readings_of_a_known_swing() -> None:
    t = np.linspace(0.0, 4.0, 4001)
    tension = 3.0 + np.exp(-0.2 * t) * np.sin(2.0 * math.pi * t)
    sticking = ((t % 1.0) < 0.5).astype(float)
    pull = Pull(t, tension, t, t, sticking)
    assert pull.onsets() == pytest.approx([0.499, 1.499, 2.499, 3.499])
    assert pull.stops() == pytest.approx([1.0, 2.0, 3.0, 4.0])
    assert pull.tension_at(np.array([0.25])) == pytest.approx(3.0 + math.exp(-0.05), abs=1e-6)
    ranges = pull.ranges(3.0)
    assert len(ranges) == 2, "whole swings only: from 1 to 3 s"
    assert ranges[1:] / ranges[:-1] == pytest.approx(math.exp(-0.2), rel=1e-3)


def test_the_cycle_of_the_exact_motion_is_the_closed_form() -> None:
    p = Params()
    e = exact(p)
    corners, tension = exact_motion(p, 9.0)
    time = np.arange(0.0, 9.0, 1e-4)
    since = (time - e.onset / (p.pull_stiffness * p.pull_speed)) / e.period
    slips = (since >= 0.0) & ((since % 1.0) * e.period < e.slip)
    pull = Pull(time, np.interp(time, corners, tension), time, time, np.where(slips, 0.0, 1.0))
    found = cycle(pull)
    # samples are 0.1 ms apart, the drawn slip has 120 points
    assert found.period == pytest.approx(e.period, abs=1e-4)
    for name in ("onset", "stop", "largest", "smallest"):
        assert getattr(found, name) == pytest.approx(getattr(e, name), abs=2e-3)
    still = cycle(Pull(time, 0.0 * time, time, time, np.ones(len(time))))
    assert math.isnan(still.period)
    assert math.isnan(still.onset)


@pytest.mark.compiled
def test_the_signorini_method_sticks_and_slips_to_first_order_in_the_step() -> None:
    """Implicit Euler shrinks a swing by exp(−ζ φ) over a phase φ, ζ = ω dt/2."""
    e, errors = exact(Params()), []
    for dt in (4e-3, 2e-3):
        p = Params(dt=dt, seconds=7.0)
        found = cycle(_pull(p, "signorini", None))
        # the last sample that sticks, less than a step before the limit
        assert e.onset - p.pull_stiffness * p.pull_speed * dt < found.onset < e.onset + 1e-3
        swing = p.kinetic_friction * p.mass * p.gravity - e.smallest
        damping = 0.5 * dt * math.sqrt(p.pull_stiffness / p.mass)
        # to the lowest tension: from where the swing would be widest, half a turn
        errors.append((found.smallest - e.smallest) / (swing * -math.expm1(-math.pi * damping)))
    # 10 %: the slip begins within a step, and off the top of the swing
    assert errors == pytest.approx([1.0, 1.0], abs=0.1)


@pytest.mark.compiled
def test_the_signorini_method_does_not_creep() -> None:
    p = Params(slope_seconds=7.0)
    # rounding of a centimetre in one second
    assert _creep(p, 5e-3, None, "signorini")[0] < 1e-11
