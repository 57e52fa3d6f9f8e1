"""Linear equations of Newton steps, and the least squares of accelerated sweeps, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.friction.anderson import _solve_normal
from tangere.friction.newton import factor_columns, solve_columns
from tangere.friction.problem import WINDOW

Array = NDArray[np.float64]
pytestmark = pytest.mark.nojit


@kernel
def solve(columns: Array, pivot: NDArray[np.int32], b: Array) -> None:
    a, p = ptr(columns), ptr(pivot)
    factor_columns(a, p, len(b))
    solve_columns(a, p, len(b), ptr(b))


@kernel
def least_squares(gram: Array, n: int, x: Array) -> None:
    _solve_normal(ptr(gram), n, ptr(x))


def solved(A: Array, b: Array) -> Array:
    x = b.copy()
    solve(np.ascontiguousarray(A.T), np.zeros(len(b), np.int32), x)
    return x


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 16, 23, 41])
def test_any_size_beside_numpy(n: int) -> None:
    """Blocks of four, and what is left over; rows have to be exchanged."""
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    A[0, 0] = 0.0 if n > 1 else 1.0
    assert solved(A, b) == pytest.approx(np.linalg.solve(A, b), rel=1e-9, abs=1e-9)


def test_rows_exchanged_across_blocks() -> None:
    """A permutation: every pivot lies in another block of four."""
    n = 11
    A = np.eye(n)[np.random.default_rng(0).permutation(n)]
    b = np.arange(1.0, n + 1.0)
    assert solved(A, b) == pytest.approx(A.T @ b)


def test_an_unknown_without_equation_is_zero() -> None:
    A = np.diag([2.0, 0.0, 4.0, 5.0, 0.0])
    assert solved(A, np.array([2.0, 0.0, 4.0, 5.0, 0.0])).tolist() == [1.0, 0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("n", [1, 3, WINDOW])
def test_normal_equations_beside_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    F, f = rng.normal(size=(30, n)), rng.normal(size=30)
    gram = np.zeros((WINDOW, WINDOW))
    gram[:n, :n] = F.T @ F
    x = np.zeros(WINDOW)
    x[:n] = F.T @ f
    least_squares(gram, n, x)
    assert x[:n] == pytest.approx(np.linalg.lstsq(F, f, rcond=None)[0], rel=1e-6, abs=1e-8)


def test_a_sweep_that_repeats_another_does_not_count() -> None:
    F = np.ones((5, 2))
    gram = np.zeros((WINDOW, WINDOW))
    gram[:2, :2] = F.T @ F
    x = np.zeros(WINDOW)
    x[:2] = F.T @ np.ones(5)
    least_squares(gram, 2, x)
    assert np.isfinite(x).all()
    assert F @ x[:2] == pytest.approx(np.ones(5), rel=1e-6)
