"""Dense 6 x 6 blocks, row by row: what a sparse factorisation of body systems is made of."""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off

# A pivot is at least this share of its diagonal entry: the systems are positive definite, so only
# rounding can bring it lower.
PIVOT = 1e-14


@kernel
def cholesky(a: PtrF8) -> None:
    """A = L Lᵀ in place (lower triangle); the diagonal of L is kept inverted."""
    for j in range(6):
        pivot = a[7 * j]
        least = PIVOT * pivot
        for k in range(j):
            pivot -= a[6 * j + k] * a[6 * j + k]
        inverse = 1.0 / sqrt(max(pivot, least))
        a[7 * j] = inverse
        for i in range(j + 1, 6):
            x = a[6 * i + j]
            for k in range(j):
                x -= a[6 * i + k] * a[6 * j + k]
            a[6 * i + j] = x * inverse


@kernel
def divide(b: PtrF8, low: PtrF8) -> None:
    """Divide, B ← B L⁻ᵀ, with the factor of `cholesky`."""
    for i in range(6):
        for j in range(6):
            x = b[6 * i + j]
            for k in range(j):
                x -= b[6 * i + k] * low[6 * j + k]
            b[6 * i + j] = x * low[7 * j]


@kernel
def transpose(a: PtrF8, out: PtrF8) -> None:
    """Transpose: out = Aᵀ."""
    for i in range(6):
        for j in range(6):
            out[6 * j + i] = a[6 * i + j]


@kernel
def subtract_product(c: PtrF8, a: PtrF8, b: PtrF8) -> None:
    """Subtract, C ← C − A B, a row at a time: its six are made by a few vector instructions."""
    for i in range(6):
        row = off(c, 6 * i)
        c0, c1, c2, c3, c4, c5 = row[0], row[1], row[2], row[3], row[4], row[5]
        for k in range(6):
            x, y = a[6 * i + k], off(b, 6 * k)
            c0 -= x * y[0]
            c1 -= x * y[1]
            c2 -= x * y[2]
            c3 -= x * y[3]
            c4 -= x * y[4]
            c5 -= x * y[5]
        row[0], row[1], row[2], row[3], row[4], row[5] = c0, c1, c2, c3, c4, c5


@kernel
def solve_lower(low: PtrF8, x: PtrF8) -> None:
    """Solve x ← L⁻¹ x."""
    for i in range(6):
        y = x[i]
        for k in range(i):
            y -= low[6 * i + k] * x[k]
        x[i] = y * low[7 * i]


@kernel
def solve_upper(low: PtrF8, x: PtrF8) -> None:
    """Solve x ← L⁻ᵀ x."""
    for i in range(5, -1, -1):
        y = x[i]
        for k in range(i + 1, 6):
            y -= low[6 * k + i] * x[k]
        x[i] = y * low[7 * i]


@kernel
def add_times(y: PtrF8, sign: float, a: PtrF8, x: PtrF8) -> None:
    """Add y ← y + sign A x."""
    for i in range(6):
        s = 0.0
        for k in range(6):
            s += a[6 * i + k] * x[k]
        y[i] += sign * s


@kernel
def add_transposed_times(y: PtrF8, sign: float, a: PtrF8, x: PtrF8) -> None:
    """Add y ← y + sign Aᵀ x."""
    for k in range(6):
        s = sign * x[k]
        for i in range(6):
            y[i] += a[6 * k + i] * s
