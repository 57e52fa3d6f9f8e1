"""Vectors as tuples: the textbook identities, and a right-handed basis for every normal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from strategies import vectors

from tangere.maths.vec import Vec3, add, axpy, basis, cross, dot, norm, scale, sub

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]
EXACT = 1e-14


def t(v: Array) -> Vec3:
    return (float(v[0]), float(v[1]), float(v[2]))


@given(vectors(), vectors())
def test_same_as_numpy(a: Array, b: Array) -> None:
    assert add(t(a), t(b)) == t(a + b)
    assert sub(t(a), t(b)) == t(a - b)
    assert scale(-2.5, t(a)) == t(-2.5 * a)
    assert axpy(0.3, t(a), t(b)) == pytest.approx(0.3 * a + b, abs=1e-14)
    assert dot(t(a), t(b)) == pytest.approx(a @ b, abs=1e-13)
    assert cross(t(a), t(b)) == pytest.approx(np.cross(a, b), abs=1e-13)
    assert norm(t(a)) == pytest.approx(np.linalg.norm(a), rel=1e-15)


POLES = [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)]
NEAR_THE_POLE = [(1e-9, 0.0, -1.0), (0.0, 1e-12, -1.0), (1e-160, 0.0, -1.0), (0.8, 0.6, -1e-17)]


def assert_right_handed(n: Array) -> None:
    t1, t2 = (np.array(v) for v in basis(t(n)))
    assert np.array([t1, t2, n]) @ np.array([t1, t2, n]).T == pytest.approx(np.eye(3), abs=EXACT)
    assert np.cross(t1, t2) == pytest.approx(n, abs=EXACT)


@given(vectors())
def test_basis_is_right_handed(v: Array) -> None:
    size = float(np.linalg.norm(v))
    if size > 1e-3:
        assert_right_handed(v / size)


@pytest.mark.parametrize("n", POLES + NEAR_THE_POLE)
def test_basis_at_the_poles(n: Vec3) -> None:
    assert_right_handed(np.array(n) / np.linalg.norm(n))


def test_basis_turns_little_when_the_normal_turns_little() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = rng.normal(size=3)
        n[2] = abs(n[2]) + 0.1  # away from the pole, where the sign flips
        n /= np.linalg.norm(n)
        m = n + 1e-6 * rng.normal(size=3)
        m /= np.linalg.norm(m)
        for here, there in zip(basis(t(n)), basis(t(m)), strict=True):
            assert np.linalg.norm(np.subtract(here, there)) < 1e-5
