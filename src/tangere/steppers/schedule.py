"""All islands of the graph solved by whoever is free: the thread of the step, and helpers.

Islands have no body that moves and no contact in common, so it does not matter who solves which,
nor when. Those of many bodies are solved one after the other, and all have a part in each.
"""

from __future__ import annotations

from math import inf

from tangere._jit import kernel
from tangere._ptr import add, load, relax, store
from tangere.contact.convex.set_up import MEET, set_up_part
from tangere.elements.step_context import StepContext, stamped
from tangere.implicit.conjugate_gradients import gradient_part
from tangere.implicit.large import FORCE, is_large, large_part, solve_large_island
from tangere.implicit.newton import solve_island
from tangere.implicit.task_queue import (
    ISLAND,
    ITERATIONS,
    JOB,
    OPEN,
    part_done,
    set_task,
    take_part,
    wait_for_all,
)
from tangere.solver import REPORT_SOLVES, Solver

# Tasks, beside those of `contact.convex.set_up` and `implicit`: solve an island, to a residual
ISLANDS, ISLANDS_ALL_PRESS = 32, 33
# A large island of so many bodies is solved by all threads, part by part.
SHARED = 500
UNSOLVED = inf  # residual of an island that is to be solved


@kernel
def solve_islands(e: StepContext, all_press: bool, tolerance: float) -> None:
    """Solve the islands whose residual is UNSOLVED; returns when all are solved.

    all_press: points not yet pressing count as stiff at first.
    """
    v = e.w.solver
    q, count = v.queue, v.graph.known[1]
    q[ITERATIONS] = 0
    set_task(q, v.given, ISLANDS_ALL_PRESS if all_press else ISLANDS, 0, tolerance, count)
    while help_next(e, False):
        pass
    wait_for_all(q)
    store(q, OPEN, 1)
    for island in range(count):
        if v.residual[island] == UNSOLVED:
            _solve(e, island, all_press, tolerance)
    store(q, OPEN, 0)
    v.report[REPORT_SOLVES] += q[ITERATIONS]


@kernel
def help_next(e: StepContext, back: bool) -> bool:
    """Do the next part of what is to be done, or the last; false if there is none."""
    v = e.w.solver
    q = v.queue
    part = take_part(q, back)
    if part < 0:
        return False
    task, number = q[JOB], v.given[0]
    if task >= MEET:
        set_up_part(stamped(e, int(number)), task, part)
    elif task >= ISLANDS:
        if v.residual[part] == UNSOLVED and not _is_shared(v, part):
            _solve(e, part, task == ISLANDS_ALL_PRESS, number)
    elif task >= FORCE:
        large_part(e.m, v, e.dt, task, q[ISLAND], number, part)
    else:
        gradient_part(v, task, q[ISLAND], number, part)
    part_done(q)
    return True


@kernel
def _is_shared(v: Solver, island: int) -> bool:
    """Whether an island is solved by all; one that is factored is always solved by one."""
    return is_large(v, island) and v.graph.start[island + 1] - v.graph.start[island] >= SHARED


@kernel
def _solve(e: StepContext, island: int, all_press: bool, tolerance: float) -> None:
    """Solve an island to a residual."""
    v = e.w.solver
    if is_large(v, island):
        iterations, residual = solve_large_island(e.m, v, island, e.dt, all_press, tolerance)
    else:
        iterations, residual = solve_island(e.m, v, island, e.dt, all_press, tolerance)
    v.residual[island] = residual
    add(v.queue, ITERATIONS, iterations)


@kernel
def help_out(e: StepContext, patience: int) -> None:
    """Have a part in what another thread has to do, until there was nothing for so many looks."""
    looks = 0
    while looks < patience:
        if help_next(e, True):
            looks = 0
        else:
            relax()
            looks = 0 if load(e.w.solver.queue, OPEN) == 1 else looks + 1
