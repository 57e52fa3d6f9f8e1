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
a large island there are always some of these; so they are foreseen as far as possible (`advance`),
and the others are changed as soon as the solution is near. Many of its rounds are made for a few
bodies; the others are held still meanwhile.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import off
from tangere.elements.columns import (
    EI_EDGE,
    element,
)
from tangere.implicit.block_cholesky import solve
from tangere.implicit.islands import is_large, list_moving
from tangere.implicit.problem import (
    ASSEMBLE,
    BALANCE,
    BEND,
    BEND_HOPING,
    CHANGE,
    CLEAR,
    EVALUATE,
    GO,
    all_parts,
)
from tangere.model import Model
from tangere.solver import FEELS, MOVES, RESTS, Solver

# Stop when the residual is below this speed [m/s]. By gradients it is not worth while to go as far:
# this, or this share of the first residual, but no more than that.
TOLERANCE, BY_GRADIENTS, LITTLE, IN_COLLAPSE = 1e-9, 1e-6, 1e-8, 1e-5
# A pass that only finds the pose needs less. In a large island it needs this, or this share of the
# first residual, but no more than that: in a collapse the matrix exceeds M so much that v is known
# a thousand times better.
ROUGHLY, COARSELY, LESS, LOOSELY = 1e-4, 1e-2, 1e-3, 1.0
# In a large island, contacts may change from this residual on.
NEAR = 0.3
MOST_ROUNDS = 250
# Steps made in full after the start and after a change of contacts; in a large island, and where
# all of its bodies move: what overshoots in few places is mended there by the rounds to come.
IN_FULL, IN_FULL_LARGE, IN_FULL_ALL = 5, 8, 40
# A step is shortened while the slope along it exceeds this share of the first, upwards.
OVERSHOOT = 0.1
MOST_CUTS = 16
# Times that contacts may change in one solve.
MOST_CHANGES = 8
# A patch is taken to slip if it does so at this speed [m/s] at least: by the guess; by a solution
# that is near.
SLIPS, CREEPS = 1e-3, 1e-5
# In a large island, those bodies move whose residual exceeds this share of the greatest, with so
# many rings of neighbours; all, if they are more than this share of it.
SHARE, RINGS, MANY = 0.003, 2, 0.5
# Rounds of a few are slow if the greatest residual stays above this share of itself. Then all move,
# if since they last did the rounds of a few have cost as much: their share, and a fee for each.
SLOW, FEE = 0.5, 0.03
# Relative accuracy of conjugate gradients: a closer one saves few rounds.
CLOSE = 1e-2


@kernel
def solve_island(
    m: Model, v: Solver, island: int, dt: float, hope: bool, tolerance: float
) -> tuple[int, float]:
    """Minimise the step problem of one island; returns the rounds made and the residual [m/s]."""
    g = v.graph
    size = int(g.start[island + 1] - g.start[island])
    large = is_large(g, island)
    final = tolerance == TOLERANCE
    g.movers[island] = 0  # none is listed yet
    _hold_none(v, island)
    residual, _ = _gradient(m, v, island, dt)
    if large and not final:
        tolerance = min(max(COARSELY, LESS * residual), LOOSELY)
    elif g.direct[island] == 0:
        tolerance = min(max(BY_GRADIENTS, LITTLE * residual), IN_COLLAPSE)
    near = NEAR if large else tolerance
    most_changes = MOST_CHANGES if final or not large else 0
    rounds, since, changes = 0, 0, 0
    length, slow, spent = 0.0, False, 0.0
    while True:
        if residual <= near and changes < most_changes:
            known = residual <= max(ROUGHLY, tolerance)
            if all_parts(m, v, dt, CHANGE, island, 0.0 if known else CREEPS) > 0.0:
                _hold_none(v, island)
                residual, _ = _gradient(m, v, island, dt)
                since, changes, length, slow = 0, changes + 1, 0.0, False
        if residual <= tolerance or rounds == MOST_ROUNDS:
            break
        held = False
        if large:
            limit = max(tolerance, SHARE * residual)
            moving = _hold(v, island, limit, not slow or spent < 1.0)
            held = moving < size
            spent = spent + FEE + float(moving / size) if held else 0.0
        rounds += 1
        since += 1
        all_parts(m, v, dt, BEND_HOPING if hope and rounds == 1 else BEND, island, length)
        if g.direct[island] != 0:
            all_parts(m, v, dt, CLEAR, island, 0.0)
        all_parts(m, v, dt, ASSEMBLE, island, 0.0)
        solve(v, island, CLOSE)
        length = 1.0
        slope = all_parts(m, v, dt, GO, island, length)
        before = residual
        residual, now = _gradient(m, v, island, dt)
        in_full = IN_FULL if not large else IN_FULL_LARGE if held else IN_FULL_ALL
        if since > in_full:
            length, residual = _shorten(m, v, island, dt, slope, now, residual)
            if not residual < before and length * _largest(v, island) < tolerance and not held:
                break
        slow = residual > SLOW * before
    return rounds, residual


@kernel
def _hold_none(v: Solver, island: int) -> None:
    """Let all bodies of an island move."""
    g = v.graph
    first, end = g.start[island], g.start[island + 1]
    for p in range(first, end):
        g.still[p] = MOVES
    if g.movers[island] < end - first:
        _list(v, island)


@kernel
def _hold(v: Solver, island: int, limit: float, few: bool) -> int:
    """Hold bodies still that are near their balance and not close to one that is not.

    A round of thousands is often made for the sake of a handful, whose contacts open, close or
    begin to slip. few: else all move. Returns how many do.
    """
    g = v.graph
    first, end = g.start[island], g.start[island + 1]
    if few:
        for p in range(first, end):
            g.still[p] = MOVES if v.ahead.unbalance[g.member[p]] > limit else RESTS
        moving = 0
        for ring in range(RINGS + 1):  # the last does not move, but feels it
            for k in range(g.edge_start[island], g.edge_start[island + 1]):
                edge = off(g.edges, 2 * g.edge_list[k])
                if edge[0] >= 0 and edge[1] >= 0:
                    p, q = g.place[edge[0]], g.place[edge[1]]
                    if g.still[p] == MOVES and g.still[q] == RESTS:
                        g.still[q] = FEELS
                    elif g.still[q] == MOVES and g.still[p] == RESTS:
                        g.still[p] = FEELS
            if ring < RINGS:
                moving = 0
                for p in range(first, end):
                    if g.still[p] != RESTS:
                        g.still[p] = MOVES
                        moving += 1
        if moving <= MANY * (end - first):
            _list(v, island)
            return moving
    _hold_none(v, island)
    return int(end - first)


@kernel
def _list(v: Solver, island: int) -> None:
    """List bodies and contacts of an island by who moves."""
    g, t = v.graph, v.elements
    list_moving(g, island)
    first = t.start[island]
    busy = first
    for at in range(first, t.start[island + 1]):
        t.busy[busy] = t.list[at]
        edge = off(g.edges, 2 * element(t, t.list[at]).ints[EI_EDGE])
        if (edge[0] >= 0 and g.still[g.place[edge[0]]] == MOVES) or (
            edge[1] >= 0 and g.still[g.place[edge[1]]] == MOVES
        ):
            busy += 1
    t.working[island] = busy - first


@kernel
def _shorten(
    m: Model, v: Solver, island: int, dt: float, slope: float, now: float, residual: float
) -> tuple[float, float]:
    """Find where the objective is least along a Newton step; share of the step, residual there.

    slope, now: of the objective at the start and at the end of the step.
    """
    length, low, low_slope = 1.0, 0.0, slope
    high, high_slope, side = 0.0, 0.0, 0
    for _ in range(MOST_CUTS):
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
        all_parts(m, v, dt, GO, island, length)
        residual, now = _gradient(m, v, island, dt)
    return length, residual


@kernel
def _largest(v: Solver, island: int) -> float:
    """Largest entry of the Newton step."""
    g, size = v.graph, 0.0
    for k in range(g.start[island], g.start[island] + g.movers[island]):
        i = 6 * g.member[g.moving[k]]
        for c in range(6):
            size = max(size, abs(v.matrix.x[i + c]))
    return size


@kernel
def _gradient(m: Model, v: Solver, island: int, dt: float) -> tuple[float, float]:
    """Evaluate the contacts that move; gradient; residual [m/s], slope along the Newton step."""
    g = v.graph
    all_parts(m, v, dt, EVALUATE, island, 0.0)
    slope = all_parts(m, v, dt, BALANCE, island, 0.0)
    worst = 0.0
    for p in range(g.start[island], g.start[island + 1]):
        worst = max(worst, v.ahead.unbalance[g.member[p]])
    return worst, slope
