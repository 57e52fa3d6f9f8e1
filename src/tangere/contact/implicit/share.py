"""All islands of the graph solved by whoever is free: the thread of the step, and helpers.

Islands have no body that moves and no contact in common, so it does not matter who solves which,
nor when. They are given out in order, by tickets: the queue holds how many there are and the next
one in a single word, so that a ticket below the number is one of these islands and of no others.
The next are not queued before the last is solved.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import add, load, store
from tangere.contact.implicit.newton import solve_island
from tangere.model import Model
from tangere.solver import REPORT_GOAL, REPORT_SOLVES, Solver

# Columns of Solver.queue
NEXT = 0  # the number of islands, times 2³², plus the next to be given out
LEFT = 1  # islands not solved yet
ROUNDS = 2  # made for them
HOPE = 3  # 1: points not yet pressing count as stiff at first
BITS, LOW = 32, (1 << 32) - 1


@kernel
def solve_islands(m: Model, v: Solver, dt: float, hope: bool, tolerance: float) -> None:
    """Solve all islands, each to a residual; returns when all are solved."""
    q, count = v.queue, v.graph.known[1]
    v.report[REPORT_GOAL] = tolerance
    q[HOPE], q[ROUNDS] = 1 if hope else 0, 0
    store(q, LEFT, count)
    store(q, NEXT, count << BITS)
    while solve_next(m, v, dt):
        pass
    while load(q, LEFT) > 0:  # those in the hands of helpers
        pass
    v.report[REPORT_SOLVES] += q[ROUNDS]


@kernel
def solve_next(m: Model, v: Solver, dt: float) -> bool:
    """Solve the next island in the queue; false if there is none."""
    q = v.queue
    ticket = load(q, NEXT)
    if ticket & LOW >= ticket >> BITS:
        return False
    ticket = add(q, NEXT, 1)
    island = ticket & LOW
    if island >= ticket >> BITS:  # somebody else was faster
        return False
    rounds, residual = solve_island(m, v, island, dt, q[HOPE] == 1, v.report[REPORT_GOAL])
    v.residual[island] = residual
    add(q, ROUNDS, rounds)
    add(q, LEFT, -1)
    return True


@kernel
def help_out(m: Model, v: Solver, dt: float, patience: int) -> None:
    """Solve islands that another thread has queued, until there was none for so many looks."""
    looks = 0
    while looks < patience:
        looks = 0 if solve_next(m, v, dt) else looks + 1
