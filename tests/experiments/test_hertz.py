"""What is read from a pressed block: spread, shares and pressure of known forces."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tangere.experiments.hertz import Params, Press, pressure, ratios

P = Params()
NONE = np.zeros((0, 3))


def known(count: int = 40) -> Press:
    """Hertz's pressure on a fine grid of points, and his forces at three depths."""
    line = (np.arange(-count, count + 1)) / count * P.radius
    x, y = (g.ravel() for g in np.meshgrid(line, line))
    forces = np.sqrt(np.maximum(0.0, 1.0 - (x * x + y * y) / P.radius**2))
    depth = P.depth * np.array([0.01, 0.5, 1.0])
    on_ball = np.column_stack((np.zeros((3, 2)), 1.02 * P.force(1e6, depth)))
    points = np.column_stack((x, y, np.zeros(len(x))))
    return Press(depth, on_ball, -on_ball, depth, depth, points, forces / forces.sum(), NONE)


@pytest.mark.nojit
def test_moments_of_hertzs_pressure() -> None:
    press = known()
    assert press.spread == pytest.approx(math.sqrt(0.4) * P.radius, rel=1e-3)
    assert press.within(0.5 * P.radius) == pytest.approx(1.0 - 0.75**1.5, abs=0.01)


@pytest.mark.nojit
def test_pressure_is_that_of_the_forces() -> None:
    radii = np.linspace(0.0, 2.0 * P.radius, 100)
    found = pressure(P, known(), radii)
    assert found[0] == pytest.approx(1.5 / (math.pi * P.radius**2), rel=0.03)
    total = np.trapezoid(found * 2.0 * math.pi * radii, radii)
    assert total == pytest.approx(1.0, rel=1e-3)


@pytest.mark.nojit
def test_only_depths_that_the_elements_resolve_are_judged() -> None:
    assert ratios(P, 1e6, known()) == pytest.approx([1.02, 1.02])
