"""Conjugate gradients for islands too large to factor, in parts that threads can share.

Each body is preconditioned by its own block A_ii = L_i L_iᵀ. That is, plainly, on

    L⁻¹ A L⁻ᵀ y = L⁻¹ b,    x = L⁻ᵀ y

whose diagonal blocks are 1: of A only the edges are multiplied. Bodies held still are left out;
those that move are numbered (`Matrix.rank`), and vectors here are by these numbers. Every body has
the blocks of its edges in a row of its own, so each is there twice.

What is multiplied is in single precision, half of the memory to be read: with the sums in double,
x can be had to about 1e-6, and Newton's method asks for 1e-2.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, off
from tangere.dynamics.blocks import cholesky, divide, solve_lower, solve_upper, transpose
from tangere.dynamics.team import (
    LEAST,
    first_part,
    next_part,
    part_count,
    part_range,
    part_sum,
)
from tangere.solver import Graph, Matrix

MOST_ROUNDS = 500
# Tasks; those from STEP on are quick, so their parts are larger
FACTOR, SCALE, MULTIPLY, STEP, TURN, FINISH = 0, 1, 2, 3, 4, 5
QUICK = 8


@kernel
def gradients(g: Graph, a: Matrix, q: PtrI8, given: PtrF8, island: int, tolerance: float) -> int:
    """X from b, both `a.x`, to a relative tolerance; returns the rounds made."""
    first, count = g.start[island], g.movers[island]
    for p in range(first, g.start[island + 1]):
        a.rank[p] = -1
    for k in range(first, first + count):
        a.rank[g.moving[k]] = k
    rho = _all(g, a, q, given, FACTOR, island, 0.0)
    _all(g, a, q, given, SCALE, island, 0.0)
    start = sqrt(rho)
    rounds = 0
    while rounds < MOST_ROUNDS and sqrt(rho) > tolerance * start:
        rounds += 1
        curve = _all(g, a, q, given, MULTIPLY, island, 0.0)
        if not curve > 0.0:
            break
        last = rho
        rho = _all(g, a, q, given, STEP, island, rho / curve)
        _all(g, a, q, given, TURN, island, rho / last)
    _all(g, a, q, given, FINISH, island, 0.0)
    return rounds


@kernel
def _all(
    g: Graph, a: Matrix, q: PtrI8, given: PtrF8, task: int, island: int, number: float
) -> float:
    """Do a task for all bodies that move; returns the sum of what its parts give."""
    parts = part_count(g.movers[island], _least(task))
    part = first_part(q, given, task, island, number, parts)
    while part >= 0:
        gradient_part(g, a, task, island, number, part)
        part = next_part(q, part, parts)
    return part_sum(off(a.sums, g.start[island]), parts)


@kernel
def gradient_part(g: Graph, a: Matrix, task: int, island: int, number: float, part: int) -> None:
    """Do one part of a task; what it gives is left in `a.sums`."""
    start = g.start[island]
    first, end = part_range(g.movers[island], _least(task), part)
    first, end = start + first, start + end
    total = 0.0
    if task == MULTIPLY:
        total = _multiply(g, a, first, end)
    elif task == STEP:
        total = _step(a, first, end, number)
    elif task == TURN:
        for k in range(6 * first, 6 * end):
            a.p[k] = a.r[k] + number * a.p[k]
    elif task == FACTOR:
        total = _factor(g, a, first, end)
    elif task == SCALE:
        for k in range(first, end):
            _scale(g, a, g.moving[k])
    else:
        for k in range(first, end):
            x = off(a.x, 6 * g.member[g.moving[k]])
            for c in range(6):
                x[c] = a.y[6 * k + c]
            solve_upper(off(a.diagonal, 36 * g.moving[k]), x)
    a.sums[start + part] = total


@kernel
def _least(task: int) -> int:
    """Bodies in the least part."""
    return LEAST if task < STEP else QUICK * LEAST


@kernel
def _factor(g: Graph, a: Matrix, first: int, end: int) -> float:
    """L_i of the bodies, and the gradients' start; square of its length."""
    total = 0.0
    for k in range(first, end):
        p = g.moving[k]
        cholesky(off(a.diagonal, 36 * p))
        x = off(a.x, 6 * g.member[p])
        solve_lower(off(a.diagonal, 36 * p), x)
        for c in range(6):
            a.y[6 * k + c], a.r[6 * k + c], a.p[6 * k + c] = 0.0, x[c], x[c]
            total += x[c] * x[c]
    return total


@kernel
def _scale(g: Graph, a: Matrix, p: int) -> None:
    """L_p⁻¹ A_pj L_j⁻ᵀ for the edges of the body at place p to earlier places, in both rows.

    The block of an edge is given in the row of the later place. Blocks of contacts that do not
    press are zero, and left out.
    """
    here, turned = local_f8(36), local_f8(36)
    for at in range(g.beside_start[p], g.beside_start[p + 1]):
        across = g.beside[at] ^ 1
        other = g.edges[across]
        q = g.place[other] if other >= 0 else -1
        if q < 0 or a.rank[q] < 0:
            a.near[at] = -1
        elif q < p:
            there, largest = g.slot[across], 0.0
            for k in range(36):
                here[k] = a.scaled[36 * at + k]
                largest = max(largest, abs(here[k]))
            if largest == 0.0:
                a.near[at], a.near[there] = -1, -1
                continue
            divide(here, off(a.diagonal, 36 * q))
            transpose(here, turned)
            divide(turned, off(a.diagonal, 36 * p))  # by columns for p, by rows for q
            a.near[at], a.near[there] = a.rank[q], a.rank[p]
            for i in range(6):
                for j in range(6):
                    a.scaled[36 * at + 6 * i + j] = turned[6 * i + j]
                    a.scaled[36 * there + 6 * i + j] = turned[6 * j + i]


@kernel
def _step(a: Matrix, first: int, end: int, length: float) -> float:
    """Y and r after a step along p; returns r·r, summed up in six sums at a time."""
    s0, s1, s2, s3, s4, s5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(first, end):
        y, r, p, q = off(a.y, 6 * k), off(a.r, 6 * k), off(a.p, 6 * k), off(a.q, 6 * k)
        for c in range(6):
            y[c] += length * p[c]
            r[c] -= length * q[c]
        s0 += r[0] * r[0]
        s1 += r[1] * r[1]
        s2 += r[2] * r[2]
        s3 += r[3] * r[3]
        s4 += r[4] * r[4]
        s5 += r[5] * r[5]
    return s0 + s1 + s2 + s3 + s4 + s5


@kernel
def _multiply(g: Graph, a: Matrix, first: int, end: int) -> float:
    """A.q ← A p, scaled; returns p·q."""
    total = 0.0
    for k in range(first, end):
        p = off(a.p, 6 * k)
        s0, s1, s2, s3, s4, s5 = p[0], p[1], p[2], p[3], p[4], p[5]
        place = g.moving[k]
        for at in range(g.beside_start[place], g.beside_start[place + 1]):
            if a.near[at] < 0:
                continue
            x = off(a.p, 6 * a.near[at])
            block = off(a.scaled, 36 * at)
            for c in range(6):
                column, z = off(block, 6 * c), x[c]
                s0 += column[0] * z
                s1 += column[1] * z
                s2 += column[2] * z
                s3 += column[3] * z
                s4 += column[4] * z
                s5 += column[5] * z
        out = off(a.q, 6 * k)
        out[0], out[1], out[2], out[3], out[4], out[5] = s0, s1, s2, s3, s4, s5
        total += p[0] * s0 + p[1] * s1 + p[2] * s2 + p[3] * s3 + p[4] * s4 + p[5] * s5
    return total
