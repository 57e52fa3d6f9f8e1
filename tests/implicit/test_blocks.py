"""Dense 6 x 6 blocks against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import local_f8, ptr
from tangere.implicit.blocks import (
    PIVOT,
    add_times,
    add_transposed_times,
    cholesky,
    divide,
    solve_lower,
    solve_upper,
    subtract_product,
    transpose,
)

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

# Six dimensions and condition numbers up to 1e3: 1e-11 leaves a hundred roundings.
CLOSE = 1e-11


@kernel
def _factor(a: Array) -> None:
    """Cholesky on an array."""
    cholesky(ptr(a))


@kernel
def _apply(low: Array, b: Array, c: Array, lower: Array, upper: Array) -> None:
    """Every use of a factor: b ← b L⁻ᵀ, c ← c − b bᵀ, and the two solves."""
    divide(ptr(b), ptr(low))
    turned = local_f8(36)
    transpose(ptr(b), turned)
    subtract_product(ptr(c), ptr(b), turned)
    solve_lower(ptr(low), ptr(lower))
    solve_upper(ptr(low), ptr(upper))


@kernel
def _multiply(a: Array, sign: float, x: Array, plain: Array, transposed: Array) -> None:
    """Both products with a vector."""
    add_times(ptr(plain), sign, ptr(a), ptr(x))
    add_transposed_times(ptr(transposed), sign, ptr(a), ptr(x))


def positive(rng: np.random.Generator, spread: float = 3.0) -> Array:
    """A symmetric matrix with eigenvalues from 1 to 10^spread."""
    q, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    return np.asarray((q * np.logspace(0.0, spread, 6)) @ q.T)


def lower_of(packed: Array) -> Array:
    """L itself from what `cholesky` leaves: its diagonal is kept inverted."""
    low = np.tril(packed)
    np.fill_diagonal(low, 1.0 / np.diag(packed))
    return low


@pytest.mark.parametrize("seed", range(5))
def test_factor_is_that_of_numpy(seed: int) -> None:
    a = positive(np.random.default_rng(seed))
    packed = a.copy()
    _factor(packed)
    assert lower_of(packed) == pytest.approx(np.linalg.cholesky(a), rel=CLOSE, abs=CLOSE)


def test_upper_triangle_is_not_read() -> None:
    a = positive(np.random.default_rng(7))
    spoilt = np.tril(a) + np.triu(np.full((6, 6), np.nan), 1)
    _factor(spoilt)
    assert lower_of(spoilt) == pytest.approx(np.linalg.cholesky(a), rel=CLOSE, abs=CLOSE)


@pytest.mark.parametrize("seed", range(3))
def test_uses_of_the_factor(seed: int) -> None:
    rng = np.random.default_rng(10 + seed)
    a, b, c = positive(rng), rng.normal(size=(6, 6)), rng.normal(size=(6, 6))
    x, y = rng.normal(size=6), rng.normal(size=6)
    low = np.linalg.cholesky(a)
    packed, b1, c1, x1, y1 = a.copy(), b.copy(), c.copy(), x.copy(), y.copy()
    _factor(packed)
    _apply(packed, b1, c1, x1, y1)
    divided = np.linalg.solve(low, b.T).T
    assert b1 == pytest.approx(divided, abs=CLOSE)
    assert c1 == pytest.approx(c - divided @ divided.T, abs=CLOSE)
    assert x1 == pytest.approx(np.linalg.solve(low, x), abs=CLOSE)
    assert y1 == pytest.approx(np.linalg.solve(low.T, y), abs=CLOSE)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_products_with_a_vector(sign: float) -> None:
    rng = np.random.default_rng(3)
    a, x, y = rng.normal(size=(6, 6)), rng.normal(size=6), rng.normal(size=6)
    plain, transposed = y.copy(), y.copy()
    _multiply(a, sign, x, plain, transposed)
    assert plain == pytest.approx(y + sign * a @ x, abs=1e-14)
    assert transposed == pytest.approx(y + sign * a.T @ x, abs=1e-14)


def test_pivot_lost_to_rounding_stays_positive() -> None:
    # 1 = 1 · 1 exactly: the second pivot would be zero, and less with a little rounding
    a = np.eye(6)
    a[1, 0] = a[0, 1] = 1.0 + 1e-15
    _factor(a)
    assert np.isfinite(a).all()
    assert 1.0 / a[1, 1] == pytest.approx(np.sqrt(PIVOT), rel=1e-12)
