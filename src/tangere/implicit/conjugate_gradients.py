"""Conjugate gradients for islands too large to factor, in parts that threads can share.

With A_ii = L_i L_iᵀ of each body, S = L⁻¹ A L⁻ᵀ has 1 on its diagonal: S = 1 + N + Nᵀ, N below it.
The gradients are those of

    Ŝ z = (1 + N)⁻¹ L⁻¹ b,    Ŝ = (1 + N)⁻¹ S (1 + N)⁻ᵀ,    x = L⁻ᵀ (1 + N)⁻ᵀ z

(symmetric Gauss-Seidel), which takes half as many rounds as S itself. Ŝ costs no more than S: with
t = (1 + N)⁻ᵀ p, going back through the bodies, and f = (1 + N)⁻¹ (p − t), going forth,
Ŝ p = t + f [EISENSTAT1981]. Each edge has one block, in the row of its later body.

Bodies that move are ranked in three lots: two halves that have no edge between them, and those that
stand between (`Graph.middle`, `Graph.apart`). The way back begins with the last lot and the way
forth ends there; in the meantime the halves are gone through by two threads. Vectors are by rank.

What is multiplied is in single precision, half of the memory to be read: with the sums in double,
x can be had to about 1e-6, and Newton's method asks for 1e-2.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, off
from tangere.implicit.blocks import cholesky, divide, solve_lower, solve_upper, transpose
from tangere.implicit.task_queue import (
    LEAST,
    first_part,
    next_part,
    part_count,
    part_range,
    part_sum,
)
from tangere.solver import Graph, Matrix

MOST_ROUNDS = 500
# Tasks. STEP is quick, so its parts are larger; the last two have a part for each half.
FACTOR, SCALE, FINISH, STEP, FORTH, SWEEP = 0, 1, 2, 3, 4, 5
QUICK = 8
# Lots of bodies and of links: the halves are parts 0 and 1, and the third is
BETWEEN = 2


@kernel
def gradients(g: Graph, a: Matrix, q: PtrI8, given: PtrF8, island: int, tolerance: float) -> int:
    """X from b, both `a.x`, to a relative tolerance; returns the rounds made."""
    _join(g, a, island)
    _all(g, a, q, given, FACTOR, island, 0.0)
    _all(g, a, q, given, SCALE, island, 0.0)
    _all(g, a, q, given, FORTH, island, 0.0)
    _go_forth(g, a, island, BETWEEN)
    rho = _all(g, a, q, given, STEP, island, -1.0)  # from nothing: r ← f
    start, turn = sqrt(rho), 0.0
    rounds = 0
    while rounds < MOST_ROUNDS and sqrt(rho) > tolerance * start:
        rounds += 1
        _go_back(g, a, island, BETWEEN, turn)
        curve = _all(g, a, q, given, SWEEP, island, turn)
        curve += _go_forth(g, a, island, BETWEEN)
        if not curve > 0.0:
            break
        last = rho
        rho = _all(g, a, q, given, STEP, island, rho / curve)
        turn = rho / last
    _all(g, a, q, given, FINISH, island, 0.0)
    return rounds


@kernel
def _join(g: Graph, a: Matrix, island: int) -> None:
    """Links of contacts that press, and where those of each lot begin."""
    first = g.edge_start[island]
    bounds = off(a.bounds, 4 * island)
    bounds[0], bounds[1], bounds[2], bounds[3] = first, first, first, first
    for k in range(first, first + g.entries[island]):
        link = off(a.links, 3 * k)
        if link[1] >= 0:
            kept = off(a.links, 3 * bounds[3])
            kept[0], kept[1], kept[2] = link[0], link[1], link[2]
            bounds[3] += 1
            bounds[2] += 1 if link[0] < g.apart[island] else 0
            bounds[1] += 1 if link[0] < g.middle[island] else 0


@kernel
def _all(
    g: Graph, a: Matrix, q: PtrI8, given: PtrF8, task: int, island: int, number: float
) -> float:
    """Do a task for all bodies that move; returns the sum of what its parts give."""
    parts = _count(g, a, task, island)
    part = first_part(q, given, task, island, number, parts)
    while part >= 0:
        gradient_part(g, a, task, island, number, part)
        part = next_part(q, part, parts)
    return part_sum(off(a.sums, g.start[island]), parts)


@kernel
def _count(g: Graph, a: Matrix, task: int, island: int) -> int:
    """Parts of a task."""
    if task >= FORTH:
        return 2 if g.middle[island] < g.apart[island] else 1
    return part_count(_items(g, a, task, island), _least(task))


@kernel
def _items(g: Graph, a: Matrix, task: int, island: int) -> int:
    """How many bodies or links a task is for."""
    if task == SCALE:
        return int(a.bounds[4 * island + 3] - a.bounds[4 * island])
    return int(g.movers[island])


@kernel
def _least(task: int) -> int:
    """Bodies or links in the least part."""
    return QUICK * LEAST if task == STEP else LEAST


@kernel
def gradient_part(g: Graph, a: Matrix, task: int, island: int, number: float, part: int) -> None:
    """Do one part of a task; what it gives is left in `a.sums`."""
    total, first, end = 0.0, 0, 0
    if task < FORTH:
        first, end = part_range(_items(g, a, task, island), _least(task), part)
        start = a.bounds[4 * island] if task == SCALE else g.start[island]
        first, end = start + first, start + end
    if task == SWEEP:
        _go_back(g, a, island, part, number)
        total = _go_forth(g, a, island, part)
    elif task == STEP:
        total = _step(a, first, end, number)
    elif task == FORTH:
        _go_forth(g, a, island, part)
    elif task == FACTOR:
        _factor(g, a, first, end)
    elif task == SCALE:
        _scale(g, a, first, end)
    else:
        for k in range(first, end):
            x = off(a.x, 6 * g.member[g.moving[k]])
            for c in range(6):
                x[c] = a.y[6 * k + c]
            solve_upper(off(a.diagonal, 36 * g.moving[k]), x)
    a.sums[g.start[island] + part] = total


@kernel
def _factor(g: Graph, a: Matrix, first: int, end: int) -> None:
    """L_i of the bodies, and where the gradients start: p = L⁻¹ b, all else zero."""
    for k in range(first, end):
        p = g.moving[k]
        cholesky(off(a.diagonal, 36 * p))
        x = off(a.x, 6 * g.member[p])
        solve_lower(off(a.diagonal, 36 * p), x)
        for c in range(6 * k, 6 * k + 6):
            a.y[c], a.r[c], a.p[c], a.t[c] = 0.0, 0.0, x[c - 6 * k], 0.0


@kernel
def _scale(g: Graph, a: Matrix, first: int, end: int) -> None:
    """N: the blocks L_i⁻¹ A_ij L_j⁻ᵀ of links."""
    here, turned = local_f8(36), local_f8(36)
    for k in range(first, end):
        link = off(a.links, 3 * k)
        block = off(a.scaled, 36 * link[2])
        for c in range(36):
            here[c] = block[c]
        divide(here, off(a.diagonal, 36 * g.moving[link[1]]))
        transpose(here, turned)
        divide(turned, off(a.diagonal, 36 * g.moving[link[0]]))
        for c in range(36):
            block[c] = turned[c]


@kernel
def _lot(g: Graph, island: int, lot: int) -> tuple[int, int]:
    """First rank and end of a lot."""
    if lot == 0:
        return int(g.start[island]), int(g.middle[island])
    if lot == 1:
        return int(g.middle[island]), int(g.apart[island])
    return int(g.apart[island]), int(g.start[island] + g.movers[island])


@kernel
def _go_back(g: Graph, a: Matrix, island: int, lot: int, turn: float) -> None:
    """P ← r + turn p, then t ← (1 + N)⁻ᵀ p, where t has what later bodies have given."""
    first, end = _lot(g, island, lot)
    for k in range(6 * first, 6 * end):
        a.p[k] = a.r[k] + turn * a.p[k]
        a.t[k] += a.p[k]
    bounds = off(a.bounds, 4 * island + lot)
    for k in range(bounds[1] - 1, bounds[0] - 1, -1):
        link = off(a.links, 3 * k)
        t, x, block = off(a.t, 6 * link[0]), off(a.t, 6 * link[1]), off(a.scaled, 36 * link[2])
        t0, t1, t2, t3, t4, t5 = t[0], t[1], t[2], t[3], t[4], t[5]
        for c in range(6):
            b = off(block, 6 * c)
            x[c] -= b[0] * t0 + b[1] * t1 + b[2] * t2 + (b[3] * t3 + b[4] * t4 + b[5] * t5)


@kernel
def _go_forth(g: Graph, a: Matrix, island: int, lot: int) -> float:
    """F ← (1 + N)⁻¹ (p − t); returns p·(t + f)."""
    first, end = _lot(g, island, lot)
    for k in range(6 * first, 6 * end):
        a.f[k] = a.p[k] - a.t[k]
    bounds = off(a.bounds, 4 * island + lot)
    for k in range(bounds[0], bounds[1]):
        link = off(a.links, 3 * k)
        f, x, block = off(a.f, 6 * link[0]), off(a.f, 6 * link[1]), off(a.scaled, 36 * link[2])
        x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
        for c in range(6):
            b = off(block, c)
            f[c] -= b[0] * x0 + b[6] * x1 + b[12] * x2 + (b[18] * x3 + b[24] * x4 + b[30] * x5)
    s0, s1, s2, s3, s4, s5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(first, end):
        p, t, f = off(a.p, 6 * k), off(a.t, 6 * k), off(a.f, 6 * k)
        s0 += p[0] * (t[0] + f[0])
        s1 += p[1] * (t[1] + f[1])
        s2 += p[2] * (t[2] + f[2])
        s3 += p[3] * (t[3] + f[3])
        s4 += p[4] * (t[4] + f[4])
        s5 += p[5] * (t[5] + f[5])
    return s0 + s1 + s2 + s3 + s4 + s5


@kernel
def _step(a: Matrix, first: int, end: int, length: float) -> float:
    """Y and r after a step along p, t cleared; returns r·r, summed up in six sums at a time."""
    for k in range(6 * first, 6 * end):
        a.y[k] += length * a.t[k]
        a.r[k] -= length * (a.t[k] + a.f[k])
        a.t[k] = 0.0
    s0, s1, s2, s3, s4, s5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(first, end):
        r = off(a.r, 6 * k)
        s0 += r[0] * r[0]
        s1 += r[1] * r[1]
        s2 += r[2] * r[2]
        s3 += r[3] * r[3]
        s4 += r[4] * r[4]
        s5 += r[5] * r[5]
    return s0 + s1 + s2 + s3 + s4 + s5
