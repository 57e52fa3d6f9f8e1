"""The hand that waves the spoon, and the theory of its roll."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tangere.experiments.otaduy2005_free_spoon import (
    BE,
    FE,
    RK4,
    Params,
    Run,
    bound,
    hand,
    wave,
)

SHORT = Params(seconds=0.1)


def test_the_hand_moves_as_its_velocities_say() -> None:
    p = Params(dt=1e-4, seconds=1.0)
    rows = hand(p)
    middle = rows[1:-1]
    v = (rows[2:, :3] - rows[:-2, :3]) / (2.0 * p.dt)
    turn = Rotation.from_quat(rows[:, 3:7], scalar_first=True)
    w = (turn[2:] * turn[:-2].inv()).as_rotvec() / (2.0 * p.dt)
    # central differences: dt²/6 of the third derivative, (2π 3.7 Hz)² dt²/6 = 1e-6
    assert np.abs(v - middle[:, 7:10]).max() < 5e-6
    assert np.abs(w - middle[:, 10:13]).max() < 5e-5


def test_the_hand_is_as_lively_as_the_reference_says() -> None:
    rows = hand(Params())
    acceleration = np.diff(rows[:, 7:10], axis=0) / 1e-3
    assert np.linalg.norm(rows[:, 7:10], axis=1).max() == pytest.approx(0.83, abs=5e-3)
    assert np.linalg.norm(rows[:, 10:13], axis=1).max() == pytest.approx(8.8, abs=5e-2)
    assert np.linalg.norm(acceleration, axis=1).max() == pytest.approx(18.4, abs=0.1)
    assert np.abs(rows[0, :3]).max() < 1e-8, "it starts at rest"


def test_bounds_of_the_roll() -> None:
    p = Params()
    assert 1e3 * bound(p, FE, 0.009) == pytest.approx(100.2, abs=0.1)
    assert 1e3 * bound(p, RK4, 0.009) == pytest.approx(74.4, abs=0.1)


@pytest.mark.parametrize(("rule", "mass", "stable"), [(BE, 1e-4, True), (FE, 0.01, False)])
def test_a_light_spoon_is_lost_by_an_explicit_rule(rule: str, mass: float, stable: bool) -> None:
    run = wave(SHORT, hand(SHORT), rule, mass, SHORT.rotational_damping)
    assert run.stable is stable
    assert np.isfinite(run.worst).all() == stable


def test_a_damping_ratio_stands_for_constants_that_go_with_mass() -> None:
    """At the mass where both give the same constants the motions are the same."""
    p = replace(SHORT, damping=1.4 * np.sqrt(200.0 * 0.01))
    same = 1.4 * np.sqrt(0.6 * 0.01) * p.radii[0]
    a, b = (wave(p, hand(p), BE, 0.01, damping) for damping in (0.0, same))
    assert a.deviation == pytest.approx(b.deviation, rel=1e-12)
    assert isinstance(a, Run)
