"""Conjugate gradients for islands too large to factor, in parts that threads can share.

With A_ii = L_i L_iᵀ of each body, S = L⁻¹ A L⁻ᵀ has 1 on its diagonal: S = 1 + N + Nᵀ, N below it.
The gradients are those of

    Ŝ z = (1 + N)⁻¹ L⁻¹ b,    Ŝ = (1 + N)⁻¹ S (1 + N)⁻ᵀ,    x = L⁻ᵀ (1 + N)⁻ᵀ z

(symmetric Gauss-Seidel), which takes half as many iterations as S itself. Ŝ costs no more than S:
with t = (1 + N)⁻ᵀ p, a backward sweep through the bodies, and f = (1 + N)⁻¹ (p − t), a forward
sweep, Ŝ p = t + f [EISENSTAT1981]. Each edge has one block, in the row of its later body.

Active bodies are ranked in two halves that have no edge between them and a separator (`partition`).
The backward sweep begins with the separator and the forward sweep ends there; in between two
threads sweep a half each. Vectors are by rank.

What is multiplied is in single precision, half of the memory to be read: with the sums in double,
x can be had to about 1e-6, and Newton's method asks for 1e-2.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import local_f8, off
from tangere.implicit.blocks import cholesky, divide, solve_lower, solve_upper, transpose
from tangere.implicit.task_queue import (
    LEAST,
    first_part,
    next_part,
    part_count,
    part_range,
    part_sum,
)
from tangere.solver import Matrix, Solver

MOST_ITERATIONS = 500
# Tasks. STEP is quick, so its parts are larger; the last two have a part for each half.
FACTOR, SCALE, FINISH, STEP, FORWARD, SWEEP = 0, 1, 2, 3, 4, 5
QUICK = 8
# Blocks of the partition: the halves are parts 0 and 1, and the third is
SEPARATOR = 2


@kernel
def gradients(v: Solver, island: int, tolerance: float) -> int:
    """Find x from b, both `Matrix.x`, to a relative tolerance; returns the iterations made."""
    _join(v, island)
    _all_parts(v, FACTOR, island, 0.0)
    _all_parts(v, SCALE, island, 0.0)
    _all_parts(v, FORWARD, island, 0.0)
    _sweep_forward(v, island, SEPARATOR)
    rho = _all_parts(v, STEP, island, -1.0)  # from nothing: r ← f
    start, beta = sqrt(rho), 0.0
    iterations = 0
    while iterations < MOST_ITERATIONS and sqrt(rho) > tolerance * start:
        iterations += 1
        _sweep_back(v, island, SEPARATOR, beta)
        curvature = _all_parts(v, SWEEP, island, beta)
        curvature += _sweep_forward(v, island, SEPARATOR)
        if not curvature > 0.0:
            break
        last = rho
        rho = _all_parts(v, STEP, island, rho / curvature)
        beta = rho / last
    _all_parts(v, FINISH, island, 0.0)
    return iterations


@kernel
def _join(v: Solver, island: int) -> None:
    """Links of contacts that press, and where those of each block of the partition begin."""
    large, a = v.large, v.matrix
    first = v.graph.edge_start[island]
    bounds = off(a.bounds, 4 * island)
    bounds[0], bounds[1], bounds[2], bounds[3] = first, first, first, first
    for k in range(first, first + large.entries[island]):
        link = off(a.links, 3 * k)
        if link[1] >= 0:
            kept = off(a.links, 3 * bounds[3])
            kept[0], kept[1], kept[2] = link[0], link[1], link[2]
            bounds[3] += 1
            bounds[2] += 1 if link[0] < large.separator[island] else 0
            bounds[1] += 1 if link[0] < large.second[island] else 0


@kernel
def _all_parts(v: Solver, task: int, island: int, number: float) -> float:
    """Do a task for all active bodies; returns the sum of what its parts give."""
    parts = _count(v, task, island)
    part = first_part(v.queue, v.given, task, island, number, parts)
    while part >= 0:
        gradient_part(v, task, island, number, part)
        part = next_part(v.queue, part, parts)
    return part_sum(off(v.matrix.sums, v.graph.start[island]), parts)


@kernel
def _count(v: Solver, task: int, island: int) -> int:
    """Parts of a task."""
    if task >= FORWARD:
        return 2 if v.large.second[island] < v.large.separator[island] else 1
    return part_count(_items(v, task, island), _least(task))


@kernel
def _items(v: Solver, task: int, island: int) -> int:
    """How many bodies or links a task is for."""
    if task == SCALE:
        return int(v.matrix.bounds[4 * island + 3] - v.matrix.bounds[4 * island])
    return int(v.large.active_count[island])


@kernel
def _least(task: int) -> int:
    """Bodies or links in the least part."""
    return QUICK * LEAST if task == STEP else LEAST


@kernel
def gradient_part(v: Solver, task: int, island: int, number: float, part: int) -> None:
    """Do one part of a task; what it gives is left in `Matrix.sums`."""
    g, a = v.graph, v.matrix
    total, first, end = 0.0, 0, 0
    if task < FORWARD:
        first, end = part_range(_items(v, task, island), _least(task), part)
        start = a.bounds[4 * island] if task == SCALE else g.start[island]
        first, end = start + first, start + end
    if task == SWEEP:
        _sweep_back(v, island, part, number)
        total = _sweep_forward(v, island, part)
    elif task == STEP:
        total = _step(a, first, end, number)
    elif task == FORWARD:
        _sweep_forward(v, island, part)
    elif task == FACTOR:
        _factor(v, first, end)
    elif task == SCALE:
        _scale(v, first, end)
    else:
        _finish(v, first, end)
    a.sums[g.start[island] + part] = total


@kernel
def _factor(v: Solver, first: int, end: int) -> None:
    """L_i of the bodies, and where the gradients start: p = L⁻¹ b, all else zero."""
    a = v.matrix
    for k in range(first, end):
        place = v.large.active[k]
        cholesky(off(a.diagonal, 36 * place))
        x = off(a.x, 6 * v.graph.member[place])
        solve_lower(off(a.diagonal, 36 * place), x)
        for c in range(6 * k, 6 * k + 6):
            a.y[c], a.r[c], a.p[c], a.t[c] = 0.0, 0.0, x[c - 6 * k], 0.0


@kernel
def _scale(v: Solver, first: int, end: int) -> None:
    """N: the blocks L_i⁻¹ A_ij L_j⁻ᵀ of links."""
    a, active = v.matrix, v.large.active
    here, turned = local_f8(36), local_f8(36)
    for k in range(first, end):
        link = off(a.links, 3 * k)
        block = off(a.scaled, 36 * link[2])
        for c in range(36):
            here[c] = block[c]
        divide(here, off(a.diagonal, 36 * active[link[1]]))
        transpose(here, turned)
        divide(turned, off(a.diagonal, 36 * active[link[0]]))
        for c in range(36):
            block[c] = turned[c]


@kernel
def _finish(v: Solver, first: int, end: int) -> None:
    """Fill x = L⁻ᵀ y of the bodies."""
    a = v.matrix
    for k in range(first, end):
        x = off(a.x, 6 * v.graph.member[v.large.active[k]])
        for c in range(6):
            x[c] = a.y[6 * k + c]
        solve_upper(off(a.diagonal, 36 * v.large.active[k]), x)


@kernel
def _ranks(v: Solver, island: int, block: int) -> tuple[int, int]:
    """First rank and end of a block of the partition."""
    g, large = v.graph, v.large
    if block == 0:
        return int(g.start[island]), int(large.second[island])
    if block == 1:
        return int(large.second[island]), int(large.separator[island])
    return int(large.separator[island]), int(g.start[island] + large.active_count[island])


@kernel
def _sweep_back(v: Solver, island: int, block: int, beta: float) -> None:
    """Sweep back: p ← r + β p, then t ← (1 + N)⁻ᵀ p, where t has what later bodies have given."""
    a = v.matrix
    first, end = _ranks(v, island, block)
    for k in range(6 * first, 6 * end):
        a.p[k] = a.r[k] + beta * a.p[k]
        a.t[k] += a.p[k]
    bounds = off(a.bounds, 4 * island + block)
    for k in range(bounds[1] - 1, bounds[0] - 1, -1):
        link = off(a.links, 3 * k)
        t, x, n = off(a.t, 6 * link[0]), off(a.t, 6 * link[1]), off(a.scaled, 36 * link[2])
        t0, t1, t2, t3, t4, t5 = t[0], t[1], t[2], t[3], t[4], t[5]
        for c in range(6):
            b = off(n, 6 * c)
            x[c] -= b[0] * t0 + b[1] * t1 + b[2] * t2 + (b[3] * t3 + b[4] * t4 + b[5] * t5)


@kernel
def _sweep_forward(v: Solver, island: int, block: int) -> float:
    """Sweep forward, f ← (1 + N)⁻¹ (p − t); returns p·(t + f)."""
    a = v.matrix
    first, end = _ranks(v, island, block)
    for k in range(6 * first, 6 * end):
        a.f[k] = a.p[k] - a.t[k]
    bounds = off(a.bounds, 4 * island + block)
    for k in range(bounds[0], bounds[1]):
        link = off(a.links, 3 * k)
        f, x, n = off(a.f, 6 * link[0]), off(a.f, 6 * link[1]), off(a.scaled, 36 * link[2])
        x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
        for c in range(6):
            b = off(n, c)
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
    """Move y and r by a step along p, clear t; returns r·r, summed up in six sums at a time."""
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
