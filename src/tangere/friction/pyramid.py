"""Friction pyramids instead of cones: a linear complementarity problem, solved by Lemke's method.

The slow reference of [DURIEZ2006], eqs. (22)–(24). The friction of a contact is a sum of k forces
along directions t_i, all positive, and λ is its speed of slip:

    w = Pᵀ(W P f + q) + E λ ≥ 0  ⊥  f ≥ 0,      μ f_n − Σ_i f_i ≥ 0  ⊥  λ ≥ 0

in short  w = M z + q ≥ 0  ⊥  z ≥ 0.  Lemke's method adds d z_0, d > 0, to w and exchanges variables
until z_0 is gone. The rows of λ are zero without forces, so that the start is degenerate: q with a
tiny positive vector added chooses the exchanges, the true q goes through them beside it, and what
it becomes is verified.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off, ptr
from tangere.friction.problem import NO_COMPLIANCE
from tangere.maths.vec import Array, IntArray, LongArray

# What is added to q, as a share of its largest entry; and tries with other vectors.
PUSH, TRIES = 1e-9, 6
# Entries of a column that are smaller than this share of the largest are no pivots.
PIVOT = 1e-9
# Ratios that differ by less are equal: as a share, and by itself.
TIE_SHARE, TIE = 1e-10, 1e-15
# How far a verified solution may violate its conditions, in the unit of the largest free motion.
VERIFIED = 1e-7
MOST_PIVOTS = 50  # per unknown
# Fractional parts of the multiples of an irrational number are spread evenly and never repeat.
GOLDEN = 0.6180339887498949


class PyramidProblem(NamedTuple):
    """w = M z + q ≥ 0 ⊥ z ≥ 0 in units of the mean compliance and the largest free motion."""

    M: Array
    q: Array
    forces: Array
    """Contact forces per z, r = forces z, shape (3m, n)."""


def solve_pyramid(W: Array, q: Array, mu: Array, sides: int) -> tuple[Array, int, bool]:
    """Forces, pivots, and whether the problem of the pyramids was solved.

    Args:
        W: Delassus operator, dense, shape (3m, 3m).
        q: Motion without contact forces, shape (3m,).
        mu: Coefficients of friction, shape (m,).
        sides: Of every pyramid, even.
    """
    problem = pyramid_problem(W, q, mu, sides)
    z, pivots, solved = lemke(problem.M, problem.q)
    return problem.forces @ z, pivots, solved


def pyramid_problem(W: Array, q: Array, mu: Array, sides: int) -> PyramidProblem:
    """The linear complementarity problem of the pyramids; arguments as for `solve_pyramid`."""
    diagonal = np.diag(W)
    # contacts of two fixed bodies have no force
    takes_part = np.flatnonzero(diagonal[::3] > NO_COMPLIANCE * diagonal.max(initial=0.0)).astype(
        np.int64
    )
    P, E, U = _directions(takes_part, len(mu), mu, sides)
    largest = float(np.abs(q).max(initial=0.0)) or 1.0
    compliance = float(diagonal.sum()) / max(len(diagonal), 1) or 1.0
    M = np.block([[P.T @ (W / compliance) @ P, E], [U - E.T, np.zeros((E.shape[1], E.shape[1]))]])
    scaled = np.r_[P.T @ q / largest, np.zeros(E.shape[1])]
    forces = np.hstack([P, np.zeros((len(q), E.shape[1]))]) * (largest / compliance)
    return PyramidProblem(np.ascontiguousarray(M), scaled, forces)


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


def lemke(M: Array, q: Array) -> tuple[Array, int, bool]:
    """Find z ≥ 0 with M z + q ≥ 0, one or the other zero; pivots, and whether it was found.

    It is zero if not.

    Args:
        M: Of both kinds of rows, shape (n, n).
        q: Shape (n,).
    """
    n = len(q)
    z, table, names = np.zeros(n), np.empty((n, n + 3)), np.empty(4 * n + 2, np.int32)
    pivots, solved = _lemke(M, q, table, names, z)
    return z, pivots, solved


# ---------------------------------------------------------------- kernels
#
# A table of n rows tells what the basic variables are, by those that are not: column j times the
# variable in slot j, n for z_0 at first, then q with the push (n + 1) and as it is (n + 2).
# Variables have numbers: w_i is i, z_i is n + i, z_0 is 2 n. `names` holds the variable of each row
# (n), then the slot or −1 − row where each variable is (2 n + 1), then that of each slot (n + 1).


@kernel
def _lemke(M: Array, q: Array, table: Array, names: IntArray, z: Array) -> tuple[int, bool]:
    """Pivots of all tries, and whether z is a solution."""
    n, total = len(q), 0
    least, largest = 0.0, 0.0
    for i in range(n):
        least, largest = min(least, q[i]), max(largest, abs(q[i]))
    if least == 0.0:
        return 0, True
    t, who, out = ptr(table), ptr(names), ptr(z)
    for attempt in range(TRIES):
        _begin(ptr(M), ptr(q), n, attempt, PUSH * largest, t, who)
        pivots, found = _exchange(n, t, who)
        total += pivots
        if found:
            _read(n, t, who, out)
            if _violation(ptr(M), ptr(q), n, out) <= VERIFIED:
                return total, True
    for i in range(n):
        z[i] = 0.0
    return total, False


@kernel
def _begin(
    M: PtrF8, q: PtrF8, n: int, attempt: int, push: float, table: PtrF8, names: PtrI4
) -> None:
    """Fill the table of w = M z + q + d z_0: d is one at first, then spread like the push."""
    for i in range(n):
        row = off(table, (n + 3) * i)
        for j in range(n):
            row[j] = M[n * i + j]
        place = (i + 1) * GOLDEN + attempt * GOLDEN * GOLDEN
        place -= int(place)
        row[n] = 1.0 if attempt == 0 else 1.5 - place
        row[n + 1] = q[i] + push * (1 + attempt) * (0.5 + 0.5 * place)
        row[n + 2] = q[i]
        names[i], names[n + i], names[n + n + i] = i, -1 - i, i
        names[3 * n + 1 + i] = n + i
    names[n + 2 * n], names[3 * n + 1 + n] = n, 2 * n


@kernel
def _exchange(n: int, table: PtrF8, names: PtrI4) -> tuple[int, bool]:
    """Pivots until z_0 is zero; False: Lemke's path ends on a ray."""
    place, slots = off(names, n), off(names, 3 * n + 1)
    width = n + 3
    row, least = -1, 0.0
    for i in range(n):
        ratio = table[width * i + n + 1] / table[width * i + n]
        if ratio < least:
            row, least = i, ratio
    slot = n
    for pivots in range(1, MOST_PIVOTS * n):
        leaving, entering = names[row], slots[slot]
        _pivot(n, table, row, slot)
        names[row], slots[slot] = entering, leaving
        place[entering], place[leaving] = -1 - row, slot
        if leaving == 2 * n:
            return pivots, True
        slot = place[leaving + n if leaving < n else leaving - n]
        row = _blocking(n, table, names, slot)
        if row < 0:
            return pivots, False
    return MOST_PIVOTS * n, False


@kernel
def _pivot(n: int, table: PtrF8, row: int, slot: int) -> None:
    """Exchange the variable of a row with that of a slot."""
    width = n + 3
    own = off(table, width * row)
    inverse = 1.0 / own[slot]
    for j in range(width):
        own[j] *= -inverse
    own[slot] = inverse
    for i in range(n):
        other = off(table, width * i)
        share = other[slot]
        if i != row and share != 0.0:
            other[slot] = 0.0
            for j in range(width):
                other[j] += share * own[j]


@kernel
def _blocking(n: int, table: PtrF8, names: PtrI4, slot: int) -> int:
    """Row whose variable is the first to become zero as that of the slot grows; −1: none.

    Of several z_0 is preferred, then the one that falls fastest.
    """
    width = n + 3
    largest = 1.0
    for i in range(n):
        largest = max(largest, abs(table[width * i + slot]))
    first = -1.0
    for i in range(n):
        fall = -table[width * i + slot]
        if fall > PIVOT * largest:
            ratio = max(table[width * i + n + 1], 0.0) / fall
            if first < 0.0 or ratio < first:
                first = ratio
    row, fastest = -1, 0.0
    for i in range(n):
        fall = -table[width * i + slot]
        if fall > PIVOT * largest:
            ratio = max(table[width * i + n + 1], 0.0) / fall
            if ratio <= first * (1.0 + TIE_SHARE) + TIE:
                if names[i] == 2 * n:
                    return i
                if fall > fastest:
                    row, fastest = i, fall
    return row


@kernel
def _read(n: int, table: PtrF8, names: PtrI4, z: PtrF8) -> None:
    """What z is without the push."""
    for i in range(n):
        z[i] = 0.0
    for i in range(n):
        if n <= names[i] < 2 * n:
            z[names[i] - n] = table[(n + 3) * i + n + 2]


@kernel
def _violation(M: PtrF8, q: PtrF8, n: int, z: PtrF8) -> float:
    """Largest of −z, −w and |z w|; what is below zero in z then becomes zero."""
    worst = 0.0
    for i in range(n):
        w = q[i]
        for j in range(n):
            w += M[n * i + j] * z[j]
        worst = max(worst, -z[i], -w, abs(z[i] * w))
    for i in range(n):
        z[i] = max(z[i], 0.0)
    return worst
