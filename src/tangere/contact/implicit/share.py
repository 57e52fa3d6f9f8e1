"""All islands of the graph solved by whoever is free: the thread of the step, and helpers.

Islands have no body that moves and no contact in common, so it does not matter who solves which,
nor when. Those of many bodies are solved one after the other, and all have a part in each.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import add, load, store
from tangere.contact.implicit.newton import solve_island
from tangere.contact.implicit.parts import EVALUATE, newton_part
from tangere.dynamics.gradients import gradient_part
from tangere.dynamics.team import (
    ISLAND,
    JOB,
    OPEN,
    ROUNDS,
    part_done,
    set_task,
    take_part,
    wait_for_all,
)
from tangere.model import Model
from tangere.solver import REPORT_SOLVES, Solver

# Tasks, beside those of `parts` and dynamics.gradients: solve an island, to a residual
ISLANDS, ISLANDS_HOPING = 32, 33
# An island of so many bodies is solved by all.
CROWD = 500


@kernel
def solve_islands(m: Model, v: Solver, dt: float, hope: bool, tolerance: float) -> None:
    """Solve all islands, each to a residual; returns when all are solved.

    hope: points not yet pressing count as stiff at first.
    """
    q, count = v.queue, v.graph.known[1]
    q[ROUNDS] = 0
    set_task(q, v.given, ISLANDS_HOPING if hope else ISLANDS, 0, tolerance, count)
    while help_next(m, v, dt, False):
        pass
    wait_for_all(q)
    store(q, OPEN, 1)
    for island in range(count):
        if _is_crowd(v, island):
            _solve(m, v, island, dt, hope, tolerance)
    store(q, OPEN, 0)
    v.report[REPORT_SOLVES] += q[ROUNDS]


@kernel
def help_next(m: Model, v: Solver, dt: float, back: bool) -> bool:
    """Do the next part of what is to be done, or the last; false if there is none."""
    q = v.queue
    part = take_part(q, back)
    if part < 0:
        return False
    task, number = q[JOB], v.given[0]
    if task >= ISLANDS:
        if not _is_crowd(v, part):
            _solve(m, v, part, dt, task == ISLANDS_HOPING, number)
    elif task >= EVALUATE:
        newton_part(m, v, dt, task, q[ISLAND], number, part)
    else:
        gradient_part(v.graph, v.matrix, task, q[ISLAND], number, part)
    part_done(q)
    return True


@kernel
def _is_crowd(v: Solver, island: int) -> bool:
    """Whether an island is solved by all."""
    return bool(v.graph.start[island + 1] - v.graph.start[island] >= CROWD)


@kernel
def _solve(m: Model, v: Solver, island: int, dt: float, hope: bool, tolerance: float) -> None:
    """Solve an island to a residual."""
    rounds, v.residual[island] = solve_island(m, v, island, dt, hope, tolerance)
    add(v.queue, ROUNDS, rounds)


@kernel
def help_out(m: Model, v: Solver, dt: float, patience: int) -> None:
    """Have a part in what another thread has to do, until there was nothing for so many looks."""
    looks = 0
    while looks < patience:
        looks = 0 if help_next(m, v, dt, True) or load(v.queue, OPEN) == 1 else looks + 1
