"""The step as a convex problem: Newton's method with line search, island by island.

    minimise  ½ |v − v_f|²_M + Σ contacts ψ(v),      gradient  M (v − v_f) − dt Jᵀ f(v)

v: end-of-step twists, v_f: those of free flight, f: contact forces (`evaluate`), whose slopes are
the curvature −C (`bend`): the matrix is M + dt Jᵀ C J. The first steps are made in full, which in a
heap brings most contacts to where they end; from then on a step is shortened while the slope of the
objective along it has turned up steeply, and a convex function needs no more to descend. The
residual is the largest change of speed that the unbalanced impulse would cause to its body alone,
an upper bound for the error in v since the matrix exceeds M.

Two things are known of a contact only when the solution is: whether a patch that was taken to hold
breaks, and whether it would give more energy than it has. It is then changed and solved again. In
a large island there are always some of these; so they are changed as soon as the solution is near.
Most of its rounds are made for a few bodies; the others are held still meanwhile.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off
from tangere.contact.implicit.evaluate import bend, breaks, evaluate
from tangere.contact.implicit.record import (
    BREAKS,
    HOLDS,
    TF_ARM_A,
    TF_ARM_B,
    TF_CN,
    TF_CT,
    TI_A,
    TI_B,
    TI_EARLY,
    TI_EDGE,
    TI_MODE,
    Touch,
    add_local,
    local_twist,
    touch,
)
from tangere.contact.implicit.stored import overdrawn
from tangere.dynamics.islands import SMALL
from tangere.dynamics.solve import factor, solve
from tangere.model import Model
from tangere.solver import Solver

# Stop when the residual is below this speed [m/s]; a pass that only finds the pose needs less, and
# in a large island, where some always change, less still.
TOLERANCE, ROUGHLY, COARSELY = 1e-9, 1e-4, 1e-2
MOST_ROUNDS = 250
# Steps made in full after the start and after a change of contacts.
IN_FULL = 5
# A step is shortened while the slope along it exceeds this share of the first, upwards.
OVERSHOOT = 0.1
MOST_CUTS = 16
# Times that contacts may change in one solve, and before a large island is solved; residual below
# which they may [m/s].
MOST_CHANGES, EARLY, NEAR = 8, 3, 1.0
# Before it is known, a patch is taken to slip if it does so at this speed [m/s] at least.
SLIPS = 1e-3
# In a large island, those bodies move whose residual exceeds this share of the greatest, with so
# many rings of neighbours; all, if they are more than this share of it.
SHARE, RINGS, MANY = 0.01, 2, 0.5
# Rounds of a few are slow if the greatest residual stays above this share of itself. Then all move,
# if since they last did the rounds of a few have cost as much: their share, and a fee for each.
SLOW, FEE = 0.5, 0.1
# Relative accuracy of conjugate gradients: a closer one saves no rounds.
CLOSE = 1e-2


@kernel
def solve_island(
    m: Model, v: Solver, island: int, dt: float, hope: bool, tolerance: float
) -> tuple[int, float]:
    """Minimise the step problem of one island; returns the rounds made and the residual [m/s]."""
    g, h = v.graph, v.ahead
    first, end = g.start[island], g.start[island + 1]
    large = is_large(v, island)
    if large and tolerance > TOLERANCE:
        tolerance = COARSELY
    known = max(ROUGHLY, tolerance) if large else tolerance
    near = NEAR if large else tolerance
    _hold_none(v, island)
    residual = _gradient(m, v, island, dt)
    rounds, since, changes = 0, 0, 0
    length, slow, spent = 0.0, False, 0.0
    while True:
        if residual <= near and changes < MOST_CHANGES:
            doubt = residual if residual > known else 0.0
            if change(v, island, dt, large and tolerance == TOLERANCE, doubt):
                _hold_none(v, island)
                residual = _gradient(m, v, island, dt)
                since, changes, length, slow = 0, changes + 1, 0.0, False
                near = near if changes < EARLY else known
        if residual <= tolerance or rounds == MOST_ROUNDS:
            break
        held = False
        if large:
            limit = max(tolerance, SHARE * residual)
            moving = _hold(m, v, island, limit, not slow or spent < 1.0)
            held = moving < end - first
            spent = spent + FEE + float(moving / (end - first)) if held else 0.0
        rounds += 1
        since += 1
        _bend(v, island, dt, hope and rounds == 1, length)
        _assemble(m, v, island, dt)
        for p in range(first, end):
            i = 6 * g.member[p]
            for k in range(6):
                v.matrix.x[i + k] = -h.gradient[i + k] if g.still[p] == 0 else 0.0
                h.base[i + k] = h.twist[i + k]
        factor(g, v.matrix, island)
        solve(g, v.matrix, island, CLOSE)
        slope = _slope(v, island)
        length = 1.0
        _go(v, island, length)
        before = residual
        residual = _gradient(m, v, island, dt)
        if since > IN_FULL:
            length, residual = _shorten(m, v, island, dt, slope, residual)
            if not residual < before and length * _largest(v, island) < tolerance and not held:
                break
        slow = residual > SLOW * before
    return rounds, residual


@kernel
def _hold_none(v: Solver, island: int) -> None:
    """Let all bodies of an island move."""
    for p in range(v.graph.start[island], v.graph.start[island + 1]):
        v.graph.still[p] = 0


@kernel
def _hold(m: Model, v: Solver, island: int, limit: float, few: bool) -> int:
    """Hold bodies still that are near their balance and not close to one that is not.

    A round of thousands is often made for the sake of a handful, whose contacts open, close or
    begin to slip. few: else all move. Returns how many do.
    """
    g, t = v.graph, v.touches
    first, end = g.start[island], g.start[island + 1]
    moving = 0
    if few:
        for p in range(first, end):
            g.still[p] = 0 if _unbalance(m, v, g.member[p]) > limit else 1
        for _ in range(RINGS):
            for at in range(t.start[island], t.start[island + 1]):
                edge = off(g.edges, 2 * touch(t, t.list[at]).ints[TI_EDGE])
                if edge[0] >= 0 and edge[1] >= 0:
                    p, q = g.place[edge[0]], g.place[edge[1]]
                    # −1: of this ring
                    if g.still[p] == 0 and g.still[q] == 1:
                        g.still[q] = -1
                    elif g.still[q] == 0 and g.still[p] == 1:
                        g.still[p] = -1
            for p in range(first, end):
                g.still[p] = max(g.still[p], 0)
        for p in range(first, end):
            moving += 1 - g.still[p]
    if few and moving <= MANY * (end - first):
        return moving
    _hold_none(v, island)
    return int(end - first)


@kernel
def _moves(v: Solver, c: Touch) -> bool:
    """Whether a body of a contact is not held still."""
    g = v.graph
    edge = off(g.edges, 2 * c.ints[TI_EDGE])
    if edge[0] >= 0 and g.still[g.place[edge[0]]] == 0:
        return True
    return bool(edge[1] >= 0 and g.still[g.place[edge[1]]] == 0)


@kernel
def is_large(v: Solver, island: int) -> bool:
    """Whether an island has many bodies."""
    return bool(v.graph.start[island + 1] - v.graph.start[island] > SMALL)


@kernel
def change(v: Solver, island: int, dt: float, final: bool, doubt: float) -> bool:
    """Whether there were contacts that do not behave as was assumed; they are changed.

    final: those that give too much energy are, too, and those that were broken without need.
    doubt: of the speeds [m/s], 0 if the solution is known.
    """
    t = v.touches
    found = False
    for at in range(t.start[island], t.start[island + 1]):
        c = touch(t, t.list[at])
        found = let_go(v, c, dt, doubt) or found
        if final:
            found = overdrawn(t, c, v.ahead.twist, dt) or found
            found = (doubt == 0.0 and _hold_again(v, c, dt)) or found
    return found


@kernel
def let_go(v: Solver, c: Touch, dt: float, doubt: float) -> bool:
    """Whether a patch that was taken to hold does not; it is limited point by point from now.

    doubt: of the speeds [m/s], 0 if the solution is known. Else only what clearly slips is let go:
    loads of bodies at rest depend on who is.
    """
    if c.ints[TI_MODE] != HOLDS or not breaks(v.touches, c, v.ahead.twist, dt):
        return False
    if doubt > 0.0:
        _, _, _, u1, u2, _ = local_twist(c, v.ahead.twist)
        if c.ints[TI_EARLY] != 0 or u1 * u1 + u2 * u2 < max(doubt, SLIPS) ** 2:
            return False
        c.ints[TI_EARLY] = 1
    c.ints[TI_MODE] = BREAKS
    return True


@kernel
def _hold_again(v: Solver, c: Touch, dt: float) -> bool:
    """Whether a patch was broken early that would have held; it does."""
    if c.ints[TI_EARLY] != 1 or breaks(v.touches, c, v.ahead.twist, dt):
        return False
    c.ints[TI_MODE], c.ints[TI_EARLY] = HOLDS, 2
    return True


@kernel
def _shorten(
    m: Model, v: Solver, island: int, dt: float, slope: float, residual: float
) -> tuple[float, float]:
    """Find where the objective is least along a Newton step; share of the step, residual there."""
    length, low, low_slope = 1.0, 0.0, slope
    high, high_slope, side = 0.0, 0.0, 0
    for _ in range(MOST_CUTS):
        now = _slope(v, island)
        if now <= -OVERSHOOT * slope and (now >= OVERSHOOT * slope or length == 1.0):
            break
        # false position; an end that stays is made to count less, or kinks stop it (Illinois)
        if now > 0.0:
            low_slope *= 0.5 if side > 0 else 1.0
            high, high_slope, side = length, now, 1
        else:
            high_slope *= 0.5 if side < 0 else 1.0
            low, low_slope, side = length, now, -1
        share = low_slope / (low_slope - high_slope)  # where the slope would vanish
        length = low + (high - low) * min(max(share, 0.1), 0.9)
        _go(v, island, length)
        residual = _gradient(m, v, island, dt)
    return length, residual


@kernel
def _go(v: Solver, island: int, length: float) -> None:
    """Move the twists by a share of the Newton step."""
    for p in range(v.graph.start[island], v.graph.start[island + 1]):
        i = 6 * v.graph.member[p]
        for k in range(6):
            v.ahead.twist[i + k] = v.ahead.base[i + k] + length * v.matrix.x[i + k]


@kernel
def _slope(v: Solver, island: int) -> float:
    """Slope of the objective along the Newton step."""
    slope = 0.0
    for p in range(v.graph.start[island], v.graph.start[island + 1]):
        i = 6 * v.graph.member[p]
        for k in range(6):
            slope += v.ahead.gradient[i + k] * v.matrix.x[i + k]
    return slope


@kernel
def _largest(v: Solver, island: int) -> float:
    """Largest entry of the Newton step."""
    size = 0.0
    for p in range(v.graph.start[island], v.graph.start[island + 1]):
        i = 6 * v.graph.member[p]
        for k in range(6):
            size = max(size, abs(v.matrix.x[i + k]))
    return size


@kernel
def _gradient(m: Model, v: Solver, island: int, dt: float) -> float:
    """Evaluate all contacts of an island; fill the gradient; returns the residual [m/s]."""
    g, h, t = v.graph, v.ahead, v.touches
    first, end = g.start[island], g.start[island + 1]
    for p in range(first, end):
        i = g.member[p]
        row, now, free = off(h.gradient, 6 * i), off(h.twist, 6 * i), off(h.free, 6 * i)
        inertia = off(h.inertia, 9 * i)
        for k in range(3):
            row[k] = m.mass[i] * (now[k] - free[k])
            row[3 + k] = 0.0
            for j in range(3):
                row[3 + k] += inertia[3 * k + j] * (now[3 + j] - free[3 + j])
    for at in range(t.start[island], t.start[island + 1]):
        c = touch(t, t.list[at])
        if _moves(v, c):
            evaluate(t, c, h.twist, dt)
        add_local(c, -dt, h.gradient)
    worst = 0.0
    for p in range(first, end):
        worst = max(worst, _unbalance(m, v, g.member[p]))
    return worst


@kernel
def _bend(v: Solver, island: int, dt: float, hope: bool, length: float) -> None:
    """Curvature of all contacts of an island, after a Newton step made by a share."""
    t = v.touches
    for at in range(t.start[island], t.start[island + 1]):
        c = touch(t, t.list[at])
        if _moves(v, c):
            bend(t, c, v.ahead.twist, dt, hope, length)


@kernel
def _unbalance(m: Model, v: Solver, i: int) -> float:
    """Residual of body i by the last gradient [m/s]."""
    row = off(v.ahead.gradient, 6 * i)
    push, turn = 0.0, 0.0
    least = m.inertia[3 * i]
    for k in range(3):
        push += row[k] * row[k]
        turn += row[3 + k] * row[3 + k]
        least = min(least, m.inertia[3 * i + k])
    # a turn counts by the speed it gives at the radius of gyration
    return float(sqrt(push) / m.mass[i] + sqrt(turn / (m.mass[i] * least)))


@kernel
def _assemble(m: Model, v: Solver, island: int, dt: float) -> None:
    """Matrix M + dt Jᵀ C J of the bodies of an island that move."""
    g, a, h, t = v.graph, v.matrix, v.ahead, v.touches
    first, end = g.start[island], g.start[island + 1]
    for p in range(first, end):
        if g.still[p] != 0:
            continue
        i = g.member[p]
        block = off(a.diagonal, 36 * p)
        for k in range(36):
            block[k] = 0.0
        for k in range(3):
            block[7 * k] = m.mass[i]
            for j in range(3):
                block[6 * (3 + k) + 3 + j] = h.inertia[9 * i + 3 * k + j]
        if g.direct[island] != 0:
            for k in range(36 * g.column[p], 36 * g.column[p + 1]):
                a.lower[k] = 0.0
    if g.direct[island] == 0:
        for k in range(36 * g.column[first], 36 * g.column[end]):
            a.lower[k] = 0.0
    for at in range(t.start[island], t.start[island + 1]):
        c = touch(t, t.list[at])
        if _moves(v, c):
            _add_contact(v, c, dt)


@kernel
def _add_contact(v: Solver, c: Touch, dt: float) -> None:
    """Add dt Jᵀ C J of one contact.

    About the contact's centre, world axes: U on velocities, W on rotations, X between them; moved
    to a body's centre by its arm.
    """
    g, a = v.graph, v.matrix
    f = c.floats
    local = local_f8(36)
    ja, jb = local_f8(36), local_f8(36)
    product = local_f8(36)
    cn, ct = off(f, TF_CN), off(f, TF_CT)
    for k in range(36):
        local[k] = 0.0
    local[0], local[1], local[2] = cn[0], cn[1], cn[2]
    local[6], local[7], local[8] = cn[1], cn[3], cn[4]
    local[12], local[13], local[14] = cn[2], cn[4], cn[5]
    local[21], local[22], local[23] = ct[0], ct[1], ct[2]
    local[27], local[28], local[29] = ct[1], ct[3], ct[4]
    local[33], local[34], local[35] = ct[2], ct[4], ct[5]
    i, j = c.ints[TI_A], c.ints[TI_B]
    edge = 2 * c.ints[TI_EDGE]
    moves_a = g.edges[edge] >= 0 and g.still[g.place[i]] == 0
    moves_b = g.edges[edge + 1] >= 0 and g.still[g.place[j]] == 0
    if moves_a:
        _map(f, off(f, TF_ARM_A), ja)
        _times(local, ja, dt, product)
        _add_square(off(a.diagonal, 36 * g.place[i]), ja, product, 1.0)
    if moves_b:
        _map(f, off(f, TF_ARM_B), jb)
        _times(local, jb, dt, product)
        _add_square(off(a.diagonal, 36 * g.place[j]), jb, product, 1.0)
        if moves_a:  # product = dt C J_b
            block = off(a.lower, 36 * g.block[c.ints[TI_EDGE]])
            if g.place[i] > g.place[j]:
                _add_square(block, ja, product, -1.0)
            else:
                _times(local, ja, dt, product)
                _add_square(block, jb, product, -1.0)


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
        row[3], row[4], row[5] = axis[0], axis[1], axis[2]


@kernel
def _times(local: PtrF8, j: PtrF8, dt: float, out: PtrF8) -> None:
    """Out = dt C J for the two 3 x 3 halves of C."""
    for half in range(2):
        for r in range(3):
            row = off(local, 6 * (3 * half + r) + 3 * half)
            to = off(out, 6 * (3 * half + r))
            x = off(j, 18 * half)
            for k in range(6):
                to[k] = dt * (row[0] * x[k] + row[1] * x[6 + k] + row[2] * x[12 + k])


@kernel
def _add_square(block: PtrF8, j: PtrF8, product: PtrF8, sign: float) -> None:
    """Block ← block + sign Jᵀ product."""
    for r in range(6):
        for k in range(6):
            s = 0.0
            for q in range(6):
                s += j[6 * q + r] * product[6 * q + k]
            block[6 * r + k] += sign * s
