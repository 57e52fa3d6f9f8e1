"""The step problem of one body: its part of the gradient, of the matrix and of a Newton step.

    gradient  M (v − v_f) − dt Jᵀ f,    matrix  M + dt Jᵀ C J

Sums over a body's elements are made by the body: what is done for one does not depend on the
others, so that threads can share it.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off
from tangere.elements.columns import (
    EF_ARM_A,
    EF_ARM_B,
    EF_HESSIAN_N,
    EF_HESSIAN_ROLL,
    EF_HESSIAN_T,
    EF_ROLLS,
    EF_T1,
    EF_T2,
    EF_TILT1,
    EF_TILT2,
    EI_A,
    EI_EDGE,
    EI_SQUARE,
    Element,
    add_side,
    element,
)
from tangere.model import Model
from tangere.solver import Ahead, Elements, Solver


@kernel
def balance(m: Model, v: Solver, dt: float, p: int) -> float:
    """Gradient at place p, and what is out of balance [m/s]; returns the slope along the step."""
    g, h, t = v.graph, v.ahead, v.elements
    i = g.member[p]
    row, now, free = off(h.gradient, 6 * i), off(h.twist, 6 * i), off(h.free, 6 * i)
    inertia = off(h.inertia, 9 * i)
    for k in range(3):
        row[k] = m.mass[i] * (now[k] - free[k])
        row[3 + k] = 0.0
        for j in range(3):
            row[3 + k] += inertia[3 * k + j] * (now[3 + j] - free[3 + j])
    for at in range(g.adjacency_start[p], g.adjacency_start[p + 1]):
        edge, side = g.adjacency[at] // 2, g.adjacency[at] % 2
        k = t.first[edge]
        while k < t.used[0] and element(t, k).ints[EI_EDGE] == edge:
            add_side(element(t, k), side, -dt, row)
            k += 1
    push, turn, slope = 0.0, 0.0, 0.0
    least = m.inertia[3 * i]
    for k in range(3):
        push += row[k] * row[k]
        turn += row[3 + k] * row[3 + k]
        least = min(least, m.inertia[3 * i + k])
    # a turn counts by the speed it gives at the radius of gyration
    h.unbalance[i] = sqrt(push) / m.mass[i] + sqrt(turn / (m.mass[i] * least))
    for k in range(6):
        slope += row[k] * v.matrix.x[6 * i + k]
    return slope


@kernel
def move_along(v: Solver, i: int, length: float) -> float:
    """Move body i to a share of the Newton step; returns the slope along it, by the gradient."""
    h, slope = v.ahead, 0.0
    for k in range(6 * i, 6 * i + 6):
        h.twist[k] = h.base[k] + length * v.matrix.x[k]
        slope += h.gradient[k] * v.matrix.x[k]
    return slope


@kernel
def assemble(m: Model, v: Solver, dt: float, p: int) -> None:
    """Blocks of the matrix at place p of an island that is factored, and the right-hand side.

    The diagonal block, and those of its edges to bodies that are eliminated earlier.
    """
    g, a, t = v.graph, v.matrix, v.elements
    i = g.member[p]
    block, coupling = off(a.diagonal, 36 * p), local_f8(36)
    inertia_block(m, v.ahead, i, block)
    for at in range(g.adjacency_start[p], g.adjacency_start[p + 1]):
        edge, side = g.adjacency[at] // 2, g.adjacency[at] % 2
        other = g.edges[g.adjacency[at] ^ 1]
        couples = other >= 0 and g.place[other] < p
        add_edge(t, edge, side, dt, block, couples, coupling)
        if couples:
            for k in range(36):
                a.lower[36 * g.block[edge] + k] += coupling[k]
    begin_step(v, i)


@kernel
def inertia_block(m: Model, h: Ahead, i: int, block: PtrF8) -> None:
    """M of body i."""
    for k in range(36):
        block[k] = 0.0
    for k in range(3):
        block[7 * k] = m.mass[i]
        for j in range(3):
            block[6 * (3 + k) + 3 + j] = h.inertia[9 * i + 3 * k + j]


@kernel
def begin_step(v: Solver, i: int) -> None:
    """The right-hand side of body i, minus the gradient, and where its Newton step begins."""
    for k in range(6 * i, 6 * i + 6):
        v.matrix.x[k] = -v.ahead.gradient[k]
        v.ahead.base[k] = v.ahead.twist[k]


@kernel
def add_edge(
    t: Elements, edge: int, side: int, dt: float, block: PtrF8, couples: bool, coupling: PtrF8
) -> bool:
    """Add the elements of an edge to a body's block; `coupling`: the block with its other body.

    Returns whether any of them resists motion.
    """
    resists = False
    for k in range(36):
        coupling[k] = 0.0
    k = t.first[edge]
    while k < t.used[0] and element(t, k).ints[EI_EDGE] == edge:
        if _curves(element(t, k)):
            _add_contact(element(t, k), side, dt, block, couples, coupling)
            resists = True
        k += 1
    return resists


@kernel
def _curves(c: Element) -> bool:
    """Whether a contact resists any motion: it does not unless it presses."""
    largest = 0.0
    for k in range(6):
        largest = max(largest, abs(c.floats[EF_HESSIAN_N + k]), abs(c.floats[EF_HESSIAN_T + k]))
    return largest > 0.0


@kernel
def _add_contact(
    c: Element, side: int, dt: float, block: PtrF8, couples: bool, coupling: PtrF8
) -> None:
    """Add dt Jᵀ C J of one contact to a body's diagonal block, and to that of its edge.

    About the contact's centre, world axes: U on velocities, W on rotations, X between them; moved
    to a body's centre by its arm.
    """
    f = c.floats
    local = local_f8(36)
    j, other, product = local_f8(36), local_f8(36), local_f8(36)
    cn, ct = off(f, EF_HESSIAN_N), off(f, EF_HESSIAN_T)
    local[0], local[1], local[2] = cn[0], cn[1], cn[2]
    local[6], local[7], local[8] = cn[1], cn[3], cn[4]
    local[12], local[13], local[14] = cn[2], cn[4], cn[5]
    local[21], local[22], local[23] = ct[0], ct[1], ct[2]
    local[27], local[28], local[29] = ct[1], ct[3], ct[4]
    local[33], local[34], local[35] = ct[2], ct[4], ct[5]
    _map(f, off(f, EF_ARM_A if side == EI_A else EF_ARM_B), j)
    rolls = c.ints[EI_SQUARE] == 1
    _times(local, j, dt, product)
    _add_square(block, j, product, 1.0, rolls)
    if couples:  # C is symmetric: Jᵀ C J_other = (C J)ᵀ J_other
        _map(f, off(f, EF_ARM_B if side == EI_A else EF_ARM_A), other)
        _add_square(coupling, product, other, -1.0, rolls)
    if f[EF_ROLLS] > 0.0:
        _add_rolling(f, dt, block)
        if couples:
            _add_rolling(f, -dt, coupling)


@kernel
def _add_rolling(f: PtrF8, scale: float, block: PtrF8) -> None:
    """Add the curvature of the torque against rolling to the rotations of a block."""
    t1, t2, c = off(f, EF_T1), off(f, EF_T2), off(f, EF_HESSIAN_ROLL)
    for i in range(3):
        for j in range(3):
            mixed = c[1] * (t1[i] * t2[j] + t2[i] * t1[j])
            curve = c[0] * t1[i] * t1[j] + mixed + c[2] * t2[i] * t2[j]
            block[6 * (3 + i) + 3 + j] += scale * curve


@kernel
def _map(f: PtrF8, arm: PtrF8, out: PtrF8) -> None:
    """6 x 6 map from a body's twist to the local one, rows n: u, 1: w, 2: w, 1: u, 2: u, n: w."""
    for k in range(3):
        axis = off(f, 3 * k)  # n, t1, t2
        turn = 5 if k == 0 else k  # row of its rotation
        move = 0 if k == 0 else 2 + k
        row = off(out, 6 * move)
        row[0], row[1], row[2] = axis[0], axis[1], axis[2]
        # n·(ω × p) = ω·(p × n)
        row[3] = arm[1] * axis[2] - arm[2] * axis[1]
        row[4] = arm[2] * axis[0] - arm[0] * axis[2]
        row[5] = arm[0] * axis[1] - arm[1] * axis[0]
        row = off(out, 6 * turn)
        row[0], row[1], row[2] = 0.0, 0.0, 0.0
        if k > 0:
            axis = off(f, EF_TILT1 if k == 1 else EF_TILT2)
        row[3], row[4], row[5] = axis[0], axis[1], axis[2]


@kernel
def _times(local: PtrF8, j: PtrF8, dt: float, out: PtrF8) -> None:
    """Out = dt C J for the two 3 x 3 halves of C."""
    for half in range(2):
        x = off(j, 18 * half)
        for r in range(3):
            row = off(local, 6 * (3 * half + r) + 3 * half)
            to = off(out, 6 * (3 * half + r))
            a, b, c = dt * row[0], dt * row[1], dt * row[2]
            for k in range(6):
                to[k] = a * x[k] + b * x[6 + k] + c * x[12 + k]


@kernel
def _add_square(block: PtrF8, a: PtrF8, b: PtrF8, sign: float, rolls: bool) -> None:
    """Block ← block + sign Aᵀ B, a row at a time as in implicit.blocks.

    rolls: the rows of tilt are none.
    """
    for r in range(6):
        row = off(block, 6 * r)
        c0, c1, c2, c3, c4, c5 = row[0], row[1], row[2], row[3], row[4], row[5]
        for q in range(6):
            if rolls and 1 <= q <= 2:
                continue
            x, y = sign * a[6 * q + r], off(b, 6 * q)
            c0 += x * y[0]
            c1 += x * y[1]
            c2 += x * y[2]
            c3 += x * y[3]
            c4 += x * y[4]
            c5 += x * y[5]
        row[0], row[1], row[2], row[3], row[4], row[5] = c0, c1, c2, c3, c4, c5
