"""Solves of the body systems A x = b, island by island.

A has a 6 x 6 block per body and per edge. Direct: block Cholesky in the order of `islands`. Else:
conjugate gradients, each body preconditioned by its own block A_ii = L_i L_iᵀ. That is, plainly, on

    L⁻¹ A L⁻ᵀ y = L⁻¹ b,    x = L⁻ᵀ y

whose diagonal blocks are 1: of A only the edges are multiplied. Vectors are indexed by body.

Bodies may be held still: their rows and columns are passed over, and their x is left as it is.
What is left of a direct island fills in no more than the whole.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import local_f8, off
from tangere.dynamics.blocks import (
    add_times,
    add_transposed_times,
    cholesky,
    divide,
    solve_lower,
    solve_upper,
    subtract_product,
    transpose,
)
from tangere.solver import Graph, Matrix

MOST_ROUNDS = 500


@kernel
def factor(g: Graph, a: Matrix, island: int) -> None:
    """Cholesky factor of a direct island, in place; any other is scaled by those of its bodies."""
    if g.direct[island] == 0:
        _scale(g, a, island)
        return
    turned = local_f8(36)
    for p in range(g.start[island], g.start[island + 1]):
        if g.still[p] != 0:
            continue
        low = off(a.diagonal, 36 * p)
        cholesky(low)
        first, end = g.column[p], g.column[p + 1]
        for k in range(first, end):
            if g.still[g.row[k]] == 0:
                divide(off(a.lower, 36 * k), low)
        for k in range(first, end):
            if g.still[g.row[k]] != 0:
                continue
            x = off(a.lower, 36 * k)
            transpose(x, turned)
            subtract_product(off(a.diagonal, 36 * g.row[k]), x, turned)
            at = g.column[g.row[k]]
            for j in range(k + 1, end):
                if g.still[g.row[j]] != 0:
                    continue
                while g.row[at] != g.row[j]:  # rows are in order, and all of these are there
                    at += 1
                subtract_product(off(a.lower, 36 * at), off(a.lower, 36 * j), turned)


@kernel
def solve(g: Graph, a: Matrix, island: int, tolerance: float) -> int:
    """X from b, both `a.x` (n, 6): direct after `factor`, or to a relative tolerance; rounds."""
    if g.direct[island] == 0:
        return _conjugate_gradients(g, a, island, tolerance)
    first, end = g.start[island], g.start[island + 1]
    for p in range(first, end):
        if g.still[p] != 0:
            continue
        x = off(a.x, 6 * g.member[p])
        solve_lower(off(a.diagonal, 36 * p), x)
        for k in range(g.column[p], g.column[p + 1]):
            if g.still[g.row[k]] == 0:
                add_times(off(a.x, 6 * g.member[g.row[k]]), -1.0, off(a.lower, 36 * k), x)
    for p in range(end - 1, first - 1, -1):
        if g.still[p] != 0:
            continue
        x = off(a.x, 6 * g.member[p])
        for k in range(g.column[p], g.column[p + 1]):
            if g.still[g.row[k]] == 0:
                y = off(a.x, 6 * g.member[g.row[k]])
                add_transposed_times(x, -1.0, off(a.lower, 36 * k), y)
        solve_upper(off(a.diagonal, 36 * p), x)
    return 0


@kernel
def _scale(g: Graph, a: Matrix, island: int) -> None:
    """L_i of every body, and L_i⁻¹ A_ij L_j⁻ᵀ of every edge, in place."""
    turned = local_f8(36)
    for p in range(g.start[island], g.start[island + 1]):
        if g.still[p] == 0:
            cholesky(off(a.diagonal, 36 * p))
    for k in range(g.edge_start[island], g.edge_start[island + 1]):
        row, column, block = _ends(g, g.edge_list[k])
        if row >= 0:
            here = off(a.lower, 36 * block)
            divide(here, off(a.diagonal, 36 * g.place[column]))
            transpose(here, turned)
            divide(turned, off(a.diagonal, 36 * g.place[row]))
            transpose(turned, here)


@kernel
def _ends(g: Graph, edge: int) -> tuple[int, int, int]:
    """Bodies of an edge and its block, which couples the later place (row) to the earlier (column).

    −1 if one of them is fixed or held still.
    """
    i, j = g.edges[2 * edge], g.edges[2 * edge + 1]
    if i < 0 or j < 0 or g.still[g.place[i]] != 0 or g.still[g.place[j]] != 0:
        return -1, -1, -1
    if g.place[i] > g.place[j]:
        return i, j, g.block[edge]
    return j, i, g.block[edge]


@kernel
def _multiply(g: Graph, a: Matrix, island: int) -> None:
    """A.q ← A p, scaled."""
    for k in range(g.start[island], g.start[island + 1]):
        i = 6 * g.member[k]
        for c in range(6):
            a.q[i + c] = a.p[i + c]
    for k in range(g.edge_start[island], g.edge_start[island + 1]):
        row, column, place = _ends(g, g.edge_list[k])
        if row >= 0:
            block = off(a.lower, 36 * place)
            add_times(off(a.q, 6 * row), 1.0, block, off(a.p, 6 * column))
            add_transposed_times(off(a.q, 6 * column), 1.0, block, off(a.p, 6 * row))


@kernel
def _conjugate_gradients(g: Graph, a: Matrix, island: int, tolerance: float) -> int:
    """Conjugate gradients from zero on the scaled system; returns the rounds made."""
    first, end = g.start[island], g.start[island + 1]
    rho = 0.0
    for k in range(first, end):
        if g.still[k] != 0:
            continue
        i = g.member[k]
        x, r, p = off(a.x, 6 * i), off(a.r, 6 * i), off(a.p, 6 * i)
        solve_lower(off(a.diagonal, 36 * k), x)
        for c in range(6):
            r[c], p[c] = x[c], x[c]
            x[c] = 0.0
            rho += r[c] * r[c]
    start = sqrt(rho)
    rounds = 0
    while rounds < MOST_ROUNDS and sqrt(rho) > tolerance * start:
        rounds += 1
        _multiply(g, a, island)
        curve = 0.0
        for k in range(first, end):
            if g.still[k] != 0:
                continue
            i = 6 * g.member[k]
            for c in range(i, i + 6):
                curve += a.p[c] * a.q[c]
        if not curve > 0.0:
            break
        step = rho / curve
        last, rho = rho, 0.0
        for k in range(first, end):
            if g.still[k] != 0:
                continue
            i = 6 * g.member[k]
            for c in range(i, i + 6):
                a.x[c] += step * a.p[c]
                a.r[c] -= step * a.q[c]
                rho += a.r[c] * a.r[c]
        ratio = rho / last
        for k in range(first, end):
            if g.still[k] != 0:
                continue
            i = 6 * g.member[k]
            for c in range(i, i + 6):
                a.p[c] = a.r[c] + ratio * a.p[c]
    for k in range(first, end):
        if g.still[k] == 0:
            solve_upper(off(a.diagonal, 36 * k), off(a.x, 6 * g.member[k]))
    return rounds
