"""The boundary of the sampled loop, and the search for the largest stiffness at rest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tangere.experiments.contact_delay import Params, age, boundary, largest

P = Params()


def swing(stiffness: float, delay: int, ticks: int) -> float:
    """Growth of the arm's swing at a delayed wall, by many small steps: last third over second."""
    mass, damping = P.arm_mass + P.device_mass, P.arm_damping + P.device_damping
    parts = 50
    h = 1.0 / (P.rate * parts)
    x, v = 1e-3, 0.0
    history = [x] * (delay + 1)
    path = []
    for _ in range(ticks):
        history = [*history[1:], x]
        force = -stiffness * history[0]
        for _ in range(parts):
            v += h * (force - damping * v - P.arm_stiffness * x) / mass
            x += h * v
        path.append(x)
    third = ticks // 3
    return float(np.ptp(path[2 * third :]) / np.ptp(path[third : 2 * third]))


@pytest.mark.parametrize("delay", [0, 3, 20])
def test_the_boundary_parts_rest_from_growth(delay: int) -> None:
    # 5 % of damping are at least 0.25 N s/m, e^(0.25/(2 m)) = e^0.5 in a second
    limit = boundary(P, delay)
    assert swing(0.95 * limit, delay, 1500) < 0.95
    assert swing(1.05 * limit, delay, 1500) > 1.05


def test_the_boundary_is_where_the_damping_ends() -> None:
    """K τ = b while τ is short; at 3 periods ωτ = 0.3, and sin ωτ differs from ωτ by 2 %."""
    damping = P.arm_damping + P.device_damping
    for delay in (1, 2, 3):
        assert boundary(P, delay) * age(P, delay) == pytest.approx(damping, rel=0.05)


def test_the_search_finds_the_first_loss_of_rest() -> None:
    tried: list[float] = []

    def rest(stiffness: float) -> bool:
        tried.append(stiffness)
        return stiffness < 1234.0 or stiffness > 1e4

    assert largest(P, rest) == pytest.approx(1234.0, rel=P.tolerance)
    assert len(tried) < 2 * P.grid
    assert largest(P, lambda _: True) == math.inf
    assert largest(P, lambda _: False) == 0.0
