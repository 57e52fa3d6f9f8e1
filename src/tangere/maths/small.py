"""Small dense systems of equations, row by row in flat arrays."""

from __future__ import annotations

from math import inf

from tangere._jit import kernel
from tangere._ptr import PtrF8


@kernel
def solve(a: PtrF8, b: PtrF8, n: int) -> None:
    """B ← A⁻¹ b by elimination with row exchange; A (n, n) is destroyed.

    A singular matrix gives entries that are not finite.
    """
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[n * i + k]) > abs(a[n * p + k]):
                p = i
        if p != k:
            for j in range(k, n):
                a[n * k + j], a[n * p + j] = a[n * p + j], a[n * k + j]
            b[k], b[p] = b[p], b[k]
        pivot = a[n * k + k]
        inverse = 1.0 / pivot if pivot != 0.0 else inf
        for i in range(k + 1, n):
            factor = a[n * i + k] * inverse
            for j in range(k + 1, n):
                a[n * i + j] -= factor * a[n * k + j]
            b[i] -= factor * b[k]
        a[n * k + k] = inverse
    for i in range(n - 1, -1, -1):
        x = b[i]
        for j in range(i + 1, n):
            x -= a[n * i + j] * b[j]
        b[i] = x * a[n * i + i]
