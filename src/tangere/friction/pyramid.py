"""Friction pyramids instead of cones: a linear complementarity problem, solved by Lemke's method.

The slow reference of [DURIEZ2006], eqs. (22)–(24). The friction of a contact is a sum of k forces
along directions t_i, all positive, and λ is its speed of slip:

    w = Pᵀ(W P f + q) + E λ ≥ 0  ⊥  f ≥ 0,      μ f_n − Σ_i f_i ≥ 0  ⊥  λ ≥ 0

The rows of λ are zero without forces, so that the start is degenerate: a tiny random vector is
added, and the basis that is found is solved again without it and verified.
"""

from __future__ import annotations

import numpy as np

from tangere.friction.problem import NO_COMPLIANCE
from tangere.maths.vec import Array, LongArray

# What is added to q, as a share of its largest entry; and tries with other vectors.
PUSH, TRIES = 1e-9, 6
# Entries of a column that are smaller than this share of the largest are no pivots.
PIVOT = 1e-9
# How far a verified solution may violate its conditions, in the unit of the largest free motion.
VERIFIED = 1e-7
MOST_PIVOTS = 50  # per unknown


def solve_pyramid(W: Array, q: Array, mu: Array, sides: int) -> tuple[Array, int, bool]:
    """Forces, pivots, and whether the problem of the pyramids was solved.

    Args:
        W: Delassus operator, dense, shape (3m, 3m).
        q: Motion without contact forces, shape (3m,).
        mu: Coefficients of friction, shape (m,).
        sides: Of every pyramid, even.
    """
    r, largest = np.zeros(len(q)), float(np.abs(q).max(initial=0.0))
    if largest == 0.0:
        return r, 0, True
    diagonal = np.diag(W)
    # contacts of two fixed bodies have no force
    takes_part = np.flatnonzero(diagonal[::3] > NO_COMPLIANCE * diagonal.max()).astype(np.int64)
    if len(takes_part) == 0:
        return r, 0, True
    P, E, U = _directions(takes_part, len(mu), mu, sides)
    compliance = float(diagonal.mean())
    n = P.shape[1]
    M = np.block([[P.T @ (W / compliance) @ P, E], [U - E.T, np.zeros((E.shape[1], E.shape[1]))]])
    z, pivots = _lemke(M, np.r_[P.T @ q / largest, np.zeros(E.shape[1])])
    if z is None:
        return r, pivots, False
    return P @ z[:n] * (largest / compliance), pivots, True


def _directions(
    takes_part: LongArray, contacts: int, mu: Array, sides: int
) -> tuple[Array, Array, Array]:
    """P, E and U: forces along n and t_i, Σ of friction and μ f_n; frictionless contacts have n."""
    angles = 2.0 * np.pi * np.arange(sides) / sides
    rough = [c for c in takes_part if mu[c] > 0.0]
    columns = len(takes_part) + sides * len(rough)
    P = np.zeros((3 * contacts, columns))
    E, U = np.zeros((columns, len(rough))), np.zeros((len(rough), columns))
    at, row = 0, 0
    for c in takes_part:
        P[3 * c, at] = 1.0
        if mu[c] > 0.0:
            P[3 * c + 1, at + 1 : at + 1 + sides] = np.cos(angles)
            P[3 * c + 2, at + 1 : at + 1 + sides] = np.sin(angles)
            E[at + 1 : at + 1 + sides, row] = 1.0
            U[row, at] = mu[c]
            at, row = at + sides, row + 1
        at += 1
    return P, E, U


def _lemke(M: Array, q: Array) -> tuple[Array | None, int]:
    """Find z ≥ 0 with M z + q ≥ 0, one or the other zero; None: not found. And count pivots."""
    if (q >= 0.0).all():
        return np.zeros(len(q)), 0
    total = 0
    for attempt in range(TRIES):
        rng = np.random.default_rng(attempt)
        pushed = q + PUSH * (1 + attempt) * rng.uniform(0.5, 1.0, len(q)) * np.abs(q).max()
        covering = np.ones(len(q)) if attempt == 0 else rng.uniform(0.5, 1.5, len(q))
        basis, pivots = _pivot(M, pushed, covering)
        total += pivots
        z = None if basis is None else _verified(M, q, basis)
        if z is not None:
            return z, total
    return None, total


def _pivot(M: Array, q: Array, covering: Array) -> tuple[LongArray | None, int]:
    """Basis of a solution: i < n for w_i, n + i for z_i; None where Lemke's path ends on a ray."""
    n = len(q)
    table = np.hstack([np.eye(n), -M, -covering[:, None], q[:, None]])
    basis = np.arange(n, dtype=np.int64)
    row, entering = int(np.argmin(q / covering)), 2 * n
    for pivots in range(1, MOST_PIVOTS * n):
        leaving = basis[row]
        table[row] /= table[row, entering]
        column = table[:, entering].copy()
        column[row] = 0.0
        table -= np.outer(column, table[row])
        basis[row] = entering
        if leaving == 2 * n:
            return basis, pivots
        entering = leaving + n if leaving < n else leaving - n
        column = table[:, entering]
        candidates = np.flatnonzero(column > PIVOT * max(1.0, float(np.abs(column).max())))
        if len(candidates) == 0:
            return None, pivots
        ratios = np.maximum(table[candidates, -1], 0.0) / column[candidates]
        near = candidates[ratios <= ratios.min() * (1.0 + 1e-10) + 1e-15]
        ends = near[basis[near] == 2 * n]
        row = int(ends[0]) if len(ends) else int(near[np.argmax(column[near])])
    return None, MOST_PIVOTS * n


def _verified(M: Array, q: Array, basis: LongArray) -> Array | None:
    """The solution of a basis with the true q, if it is one."""
    n = len(q)
    x = np.linalg.lstsq(np.hstack([np.eye(n), -M])[:, basis], q, rcond=None)[0]
    z = np.zeros(n)
    z[basis[basis >= n] - n] = x[basis >= n]
    w = M @ z + q
    if min(z.min(), w.min()) < -VERIFIED or np.abs(z * w).max() > VERIFIED:
        return None
    return np.maximum(z, 0.0)
