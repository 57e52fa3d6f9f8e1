"""Points over triangles against closed forms."""

from __future__ import annotations

from itertools import product
from math import asinh, factorial, sqrt

import numpy as np
import pytest

from tangere.maths.quadrature import POINTS, square_point, triangle_point

pytestmark = pytest.mark.nojit

CORNERS = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])


def test_six_points_are_exact_up_to_degree_four() -> None:
    for i, j in product(range(5), repeat=2):
        if i + j <= 4:
            points = [triangle_point(k) for k in range(POINTS)]
            mean = sum(w * l1**i * l2**j for w, _, l1, l2 in points)
            exact = 2.0 * factorial(i) * factorial(j) / factorial(i + j + 2)
            assert mean == pytest.approx(exact, rel=1e-14)


def square(power: float, points: bool) -> float:
    """Mean of r^power over the unit square, four triangles about its middle."""
    mean = 0.0
    for a, b in zip(CORNERS, np.roll(CORNERS, 1, axis=0), strict=True):
        for k in range(POINTS):
            w, _, l1, l2 = square_point(k, points)
            mean += 0.25 * w * float(np.linalg.norm(l1 * a + l2 * b)) ** power
    return mean


def test_three_points_give_the_torque_of_a_spinning_square() -> None:
    exact = (sqrt(2.0) + asinh(1.0)) / 6.0
    assert square(1.0, True) == pytest.approx(exact, rel=1e-14)
    assert square(1.0, False) == pytest.approx(exact, rel=1e-3)  # the six do so nearly
    assert square(0.0, True) == pytest.approx(1.0, rel=1e-15)
    # the second moment then is off by the square of how far the points were moved
    assert square(2.0, True) == pytest.approx(1.0 / 6.0, rel=0.05)


def test_of_a_square_the_last_three_points_weigh_nothing() -> None:
    assert [square_point(k, True)[0] > 0.0 for k in range(POINTS)] == 3 * [True] + 3 * [False]
    assert all(square_point(k, False) == triangle_point(k) for k in range(POINTS))
