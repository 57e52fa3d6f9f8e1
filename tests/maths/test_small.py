"""Small dense systems against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.maths.small import solve

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]


@kernel
def _solve(a: Array, b: Array) -> None:
    """Solve on arrays."""
    solve(ptr(a), ptr(b), len(b))


@pytest.mark.parametrize("n", [1, 3, 6, 13])
def test_same_as_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(10):
        a, b = rng.normal(size=(n, n)), rng.normal(size=n)
        x = b.copy()
        _solve(a.copy(), x)
        # rounding grows with the condition number
        assert x == pytest.approx(np.linalg.solve(a, b), rel=1e-13 * np.linalg.cond(a))


def test_rows_are_exchanged() -> None:
    x = np.array([2.0, 3.0, 5.0])
    _solve(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [4.0, 0.0, 0.0]]), x)
    assert x == pytest.approx([1.25, 2.0, 1.5])


def test_a_singular_matrix_shows() -> None:
    x = np.ones(2)
    _solve(np.array([[1.0, 2.0], [2.0, 4.0]]), x)
    assert not np.isfinite(x).all()
