"""Solves of the body systems A x = b, island by island.

A has a 6 x 6 block per body and per edge. Direct: block Cholesky in the order of `islands`. Else:
conjugate gradients (`gradients`). Vectors are indexed by body.

Bodies may be held still: their rows and columns are passed over, and their x is left as it is.
What is left of a direct island fills in no more than the whole.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import local_f8, off
from tangere.implicit.blocks import (
    add_times,
    add_transposed_times,
    cholesky,
    divide,
    solve_lower,
    solve_upper,
    subtract_product,
    transpose,
)
from tangere.implicit.conjugate_gradients import gradients
from tangere.solver import Graph, Matrix, Solver


@kernel
def solve(v: Solver, island: int, tolerance: float) -> int:
    """X from b, both `Matrix.x`; to a relative tolerance, where by gradients. Their rounds."""
    g, a = v.graph, v.matrix
    if g.direct[island] == 0:
        return gradients(g, a, v.queue, v.given, island, tolerance)
    _factor(g, a, island)
    _substitute(g, a, island)
    return 0


@kernel
def _factor(g: Graph, a: Matrix, island: int) -> None:
    """Cholesky factor, in place."""
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
def _substitute(g: Graph, a: Matrix, island: int) -> None:
    """X from b by the factor."""
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
