"""Contact time: what is timed, and how forces at low rates are judged."""

from __future__ import annotations

import numpy as np
import pytest

from tangere.experiments.duriez2006_contact_time import Params, cycle, jump, one_way, push, rms
from tangere.experiments.soft_timing import TICK, TOLERANCE, Timing, pad, timed_pad
from tangere.simulation import Simulation


def test_every_lower_vertex_of_a_pad_is_in_the_problem() -> None:
    timing = timed_pad((4, 3), 0.5, 60, lead_in=60)
    assert np.all(timing.contacts == 12)
    assert timing.residual.max() <= TOLERANCE
    assert np.all(timing.handling > 0.0)
    assert np.all(timing.whole > timing.handling)
    assert len(timing.whole) == 60


def test_a_pad_starts_just_above_the_floor() -> None:
    scene, hand = pad((3, 2), 0.5)
    sim = Simulation(scene, method="signorini", dt=TICK)
    assert 0.0 < sim[0].position[2] - 0.006 < 1e-4
    assert hand(0.0) == pytest.approx((0.0, 0.0, float(sim[0].position[2])))


def test_ways_on_and_off_are_told_apart() -> None:
    p = Params(height=0.01, speed=0.1, rest=0.1, lead_in=10)  # on until 0.2 s, off until 0.4 s
    assert cycle(p) == pytest.approx(0.4)
    steps = np.arange(780.0)
    contacts = np.where(steps % 2 == 0, 20.0, 19.0)
    profile = timed_pad((2, 2), 0.5, 1, 0).profile
    timing = Timing(contacts, steps, steps, steps, profile)
    on, off = one_way(p, timing, 20), one_way(p, timing, 20, on=False)
    assert set(on) | set(off) == set(steps[::2])
    assert on[on < 300].max() == 188  # 10 + 188 ms are before 0.2 s
    assert off.min() == 190


def test_measures_of_a_force() -> None:
    exact = np.array([0.0, 3.0, 0.0, 4.0])
    assert rms(exact, exact) == 0.0
    assert rms(exact + 0.5, exact) == pytest.approx(0.2)
    assert jump(exact) == 4.0


def test_a_last_force_is_held_for_a_period() -> None:
    p = Params(height=0.0128, cells=(12, 1, 1), seconds=0.04)
    held = push(p, 0.2, 250.0, "last").reshape(-1, 4)
    assert held.shape == (10, 4)
    assert np.all(held == held[:, :1])
    assert held[-1, 0] > 0.01
    again = push(p, 0.2, 250.0, "problem")
    assert len(again) == 40
    assert len(np.unique(again[-8:])) == 8
