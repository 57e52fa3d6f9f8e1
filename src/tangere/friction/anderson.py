"""Anderson acceleration of Gauss–Seidel sweeps.

A sweep maps forces x to g(x); at a solution its change f(x) = g(x) − x is zero. Differences of the
last sweeps are kept, and the combination is found whose change is least,

    min_γ |f_k − Σ_j γ_j Δf_j|²,      r = g_k − Σ_j γ_j Δg_j

(Anderson 1965; Walker and Ni 2011). While the active set stays, sweeps are linear and this is GMRES
with Gauss–Seidel as its preconditioner: a tenth of the sweeps where contacts are strongly coupled.
y is linear in r, so that its differences combine as those of r do. Forces of different contacts are
weighed by the root of their compliance, as the energy rᵀ W r does.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off
from tangere.friction.problem import (
    L_WEIGHT,
    NL,
    WINDOW,
    Problem,
    Scratch,
    motion_size,
)

# Added to the diagonal of the normal equations, as a share of it: above the rounding of their
# entries.
RIDGE = 1e-12
SQUARE = WINDOW * WINDOW


@kernel
def accelerate(p: Problem, m: int, r: PtrF8, s: Scratch, noted: int) -> float:
    """Let r be the best combination of the last sweeps; y follows.

    A row of the history holds √w f (3m), g (3m) and y of a sweep, minus those of the sweep before;
    the last row holds them as they are.

    Args:
        p: The problem.
        m: Number of contacts.
        r: Forces after a sweep from `s.held`, in and out.
        s: Scratch; `motion` belongs to r.
        noted: Sweeps in the history, at most `WINDOW` + 1 of which it still has.

    Returns:
        Σ|γ|, by which rounding of y grows.
    """
    n, size = 3 * m, motion_size(p, m)
    width = 2 * n + size
    last = off(s.history, WINDOW * width)
    slot = (noted - 1) % WINDOW
    row = off(s.history, slot * width)
    for c in range(m):
        w = s.local[NL * c + L_WEIGHT]
        for i in range(3 * c, 3 * c + 3):
            f = w * (r[i] - s.held[i])
            row[i] = f - last[i]
            last[i] = f
    for i in range(n):
        row[n + i] = r[i] - last[n + i]
        last[n + i] = r[i]
    for i in range(size):
        row[2 * n + i] = s.motion[i] - last[2 * n + i]
        last[2 * n + i] = s.motion[i]
    if noted == 0:
        return 0.0
    count = min(noted, WINDOW)
    for j in range(count):
        entry = _dot(row, off(s.history, j * width), n)
        s.gram[WINDOW * slot + j], s.gram[WINDOW * j + slot] = entry, entry
    gamma = local_f8(WINDOW)
    for j in range(count):
        gamma[j] = _dot(last, off(s.history, j * width), n)
    _solve_normal(s.gram, count, gamma)
    total = 0.0
    for j in range(count):
        row = off(s.history, j * width + n)
        g, y = gamma[j], off(row, n)
        total += abs(g)
        for i in range(n):
            r[i] -= g * row[i]
        for i in range(size):
            s.motion[i] -= g * y[i]
    return total


@kernel
def _dot(a: PtrF8, b: PtrF8, n: int) -> float:
    """Scalar product as eight sums, which the compiler keeps in vectors."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    i = 0
    while i + 8 <= n:
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        s4 += a[i + 4] * b[i + 4]
        s5 += a[i + 5] * b[i + 5]
        s6 += a[i + 6] * b[i + 6]
        s7 += a[i + 7] * b[i + 7]
        i += 8
    while i < n:
        s0 += a[i] * b[i]
        i += 1
    return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))


@kernel
def _solve_normal(gram: PtrF8, n: int, x: PtrF8) -> None:
    """Solve G x = b by Cholesky, n rows of G; x holds b and then the solution.

    Rows that depend on those before them, but for rounding, are left out.
    """
    a = local_f8(SQUARE)
    for i in range(n):
        for j in range(i + 1):
            total = gram[WINDOW * i + j]
            if i == j:
                total += RIDGE * total
            for k in range(j):
                total -= a[WINDOW * i + k] * a[WINDOW * j + k]
            if i > j:
                a[WINDOW * i + j] = total * a[WINDOW * j + j]
            else:  # the diagonal holds its inverse
                a[WINDOW * i + i] = 1.0 / sqrt(total) if total > 0.0 else 0.0
    for i in range(n):
        total = x[i]
        for k in range(i):
            total -= a[WINDOW * i + k] * x[k]
        x[i] = total * a[WINDOW * i + i]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, n):
            total -= a[WINDOW * k + i] * x[k]
        x[i] = total * a[WINDOW * i + i]
