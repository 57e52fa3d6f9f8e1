"""Block Cholesky of the body system A x = b of an island, in the order found by `islands`.

A has a 6 x 6 block per body and per edge. Vectors are indexed by body.
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
from tangere.solver import Graph, Matrix


@kernel
def factor(g: Graph, a: Matrix, island: int) -> None:
    """Cholesky factor, in place."""
    turned = local_f8(36)
    for p in range(g.start[island], g.start[island + 1]):
        low = off(a.diagonal, 36 * p)
        cholesky(low)
        first, end = g.column[p], g.column[p + 1]
        for k in range(first, end):
            divide(off(a.lower, 36 * k), low)
        for k in range(first, end):
            x = off(a.lower, 36 * k)
            transpose(x, turned)
            subtract_product(off(a.diagonal, 36 * g.row[k]), x, turned)
            at = g.column[g.row[k]]
            for j in range(k + 1, end):
                while g.row[at] != g.row[j]:  # rows are in order, and all of these are there
                    at += 1
                subtract_product(off(a.lower, 36 * at), off(a.lower, 36 * j), turned)


@kernel
def substitute(g: Graph, a: Matrix, island: int) -> None:
    """Find x from b by the factor."""
    first, end = g.start[island], g.start[island + 1]
    for p in range(first, end):
        x = off(a.x, 6 * g.member[p])
        solve_lower(off(a.diagonal, 36 * p), x)
        for k in range(g.column[p], g.column[p + 1]):
            add_times(off(a.x, 6 * g.member[g.row[k]]), -1.0, off(a.lower, 36 * k), x)
    for p in range(end - 1, first - 1, -1):
        x = off(a.x, 6 * g.member[p])
        for k in range(g.column[p], g.column[p + 1]):
            y = off(a.x, 6 * g.member[g.row[k]])
            add_transposed_times(x, -1.0, off(a.lower, 36 * k), y)
        solve_upper(off(a.diagonal, 36 * p), x)
