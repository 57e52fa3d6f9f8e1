"""The step as a convex problem: Newton's method with line search, island by island.

    minimise  ½ |v − v_f|²_M + Σ elements ψ(v),      gradient  M (v − v_f) − dt Jᵀ f(v)

v: end-of-step twists, v_f: those of free flight, f: forces of the elements, whose slopes are minus
the Hessian C of their potential: the matrix is M + dt Jᵀ C J. The first steps are made in full,
which in a heap brings most contacts to where they end; from then on a step is shortened while the
slope of the objective along it has turned up steeply, and a convex function needs no more to
descend. The residual is the largest change of speed that the unbalanced impulse would cause to its
body alone, an upper bound for the error in v since the matrix exceeds M.

Two things are known of a contact only when the solution is: whether a patch that was taken to stick
breaks, and whether it would give more energy than it has. It is then changed and solved again.

Here are islands whose matrix is factored; `large` solves the others.
"""

from __future__ import annotations

from typing import NamedTuple

from tangere._jit import kernel
from tangere.elements.columns import element
from tangere.elements.element import change, hessian, value
from tangere.implicit.block_cholesky import factor, substitute
from tangere.implicit.problem import assemble, balance, move_along
from tangere.model import Model
from tangere.solver import Solver

# Stop when the residual is below this speed [m/s]; a pass that only finds the pose needs less.
TOLERANCE, ROUGHLY = 1e-9, 1e-4
MOST_ITERATIONS = 250
# Steps made in full after the start and after a change of contacts.
IN_FULL = 5
# A step is shortened while the slope along it exceeds this share of the first, upwards.
OVERSHOOT = 0.1
MOST_CUTS = 16
# Times that contacts may change in one solve.
MOST_CHANGES = 8


@kernel
def solve_island(
    m: Model, v: Solver, island: int, dt: float, all_press: bool, tolerance: float
) -> tuple[int, float]:
    """Minimise the step problem of one island; returns the iterations made and the residual [m/s].

    all_press: in the first iteration points not yet pressing count as stiff.
    """
    residual, _ = _gradient(m, v, island, dt)
    iterations, since, changes, length = 0, 0, 0, 0.0
    while True:
        if residual <= tolerance and changes < MOST_CHANGES and _change(v, island, dt):
            residual, _ = _gradient(m, v, island, dt)
            since, changes, length = 0, changes + 1, 0.0
        if residual <= tolerance or iterations == MOST_ITERATIONS:
            break
        iterations += 1
        since += 1
        _newton_step(m, v, island, dt, all_press and iterations == 1, length)
        length = 1.0
        slope = _move(v, island, length)
        before = residual
        residual, now = _gradient(m, v, island, dt)
        if since > IN_FULL:
            length, residual = _line_search(m, v, island, dt, slope, now, residual)
            if not residual < before and length * _largest(v, island) < tolerance:
                break
    return iterations, residual


@kernel
def _gradient(m: Model, v: Solver, island: int, dt: float) -> tuple[float, float]:
    """Forces and gradient at the present twists; residual [m/s], slope along the Newton step."""
    g, t = v.graph, v.elements
    for k in range(t.start[island], t.start[island + 1]):
        value(t, element(t, t.list[k]), v.ahead.twist, dt)
    worst, slope = 0.0, 0.0
    for p in range(g.start[island], g.start[island + 1]):
        slope += balance(m, v, dt, p)
        worst = max(worst, v.ahead.unbalance[g.member[p]])
    return worst, slope


@kernel
def _change(v: Solver, island: int, dt: float) -> bool:
    """Whether contacts of the solution do not behave as was assumed; they are changed."""
    t, changed = v.elements, False
    for k in range(t.start[island], t.start[island + 1]):
        changed = change(v, element(t, t.list[k]), dt, False, 0.0) or changed
    return changed


@kernel
def _newton_step(
    m: Model, v: Solver, island: int, dt: float, all_press: bool, length: float
) -> None:
    """The Newton step, in `Matrix.x`.

    length: share of the last one that was made; 0: nothing is known of it.
    """
    g, t = v.graph, v.elements
    for k in range(t.start[island], t.start[island + 1]):
        hessian(t, element(t, t.list[k]), v.ahead.twist, dt, all_press, length)
    first, end = g.start[island], g.start[island + 1]
    for k in range(36 * g.column[first], 36 * g.column[end]):
        v.matrix.lower[k] = 0.0
    for p in range(first, end):
        assemble(m, v, dt, p)
    factor(g, v.matrix, island)
    substitute(g, v.matrix, island)


@kernel
def _move(v: Solver, island: int, length: float) -> float:
    """Move all bodies to a share of the Newton step; returns the slope where they were."""
    g, slope = v.graph, 0.0
    for p in range(g.start[island], g.start[island + 1]):
        slope += move_along(v, g.member[p], length)
    return slope


class Bracket(NamedTuple):
    """Shares of a Newton step between which the slope of the objective changes its sign."""

    low: float
    low_slope: float
    high: float
    high_slope: float
    side: int  # the end that moved last: 1 high, −1 low


@kernel
def overshoots(slope: float, now: float, length: float) -> bool:
    """Whether a step goes too far, or a shortened one not far enough."""
    return now > -OVERSHOOT * slope or (now < OVERSHOOT * slope and length < 1.0)


@kernel
def shorten(b: Bracket, length: float, now: float) -> tuple[Bracket, float]:
    """The next share of the step to try, by false position from the slope `now` at `length`.

    An end that stays is made to count less, or kinks would stop it (Illinois).
    """
    low, low_slope, high, high_slope, side = b.low, b.low_slope, b.high, b.high_slope, b.side
    if now > 0.0:
        low_slope *= 0.5 if side > 0 else 1.0
        high, high_slope, side = length, now, 1
    else:
        high_slope *= 0.5 if side < 0 else 1.0
        low, low_slope, side = length, now, -1
    share = low_slope / (low_slope - high_slope)  # where the slope would vanish
    length = low + (high - low) * min(max(share, 0.1), 0.9)
    return Bracket(low, low_slope, high, high_slope, side), length


@kernel
def _line_search(
    m: Model, v: Solver, island: int, dt: float, slope: float, now: float, residual: float
) -> tuple[float, float]:
    """Find where the objective is least along a Newton step; share of the step, residual there.

    slope, now: of the objective at the start and at the end of the step.
    """
    length, bracket = 1.0, Bracket(0.0, slope, 0.0, 0.0, 0)
    for _ in range(MOST_CUTS):
        if not overshoots(slope, now, length):
            break
        bracket, length = shorten(bracket, length, now)
        _move(v, island, length)
        residual, now = _gradient(m, v, island, dt)
    return length, residual


@kernel
def _largest(v: Solver, island: int) -> float:
    """Largest entry of the Newton step."""
    g, size = v.graph, 0.0
    for p in range(g.start[island], g.start[island + 1]):
        for k in range(6 * g.member[p], 6 * g.member[p] + 6):
            size = max(size, abs(v.matrix.x[k]))
    return size
