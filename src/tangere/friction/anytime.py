"""The solver: accelerated Gauss–Seidel sweeps, Newton steps, fresh starts, until time is up.

Sweeps are cheap and find the active set; a Newton step costs the cube of the number of active
contacts and is at the solution as soon as the active set is right. Which is better is not known
beforehand: a Newton step is tried when the sweeps since the last one have cost as much, and those
to come will, at their present pace. One that does not lower the error is taken back, and the next
is tried after twice as many sweeps, with more added to the diagonal.

With friction none of this need converge. Where it does not, proximal steps of Newton's method are
tried, then sweeps that are not accelerated, which is slow but may wander on where acceleration
stands still; then sweeps from other forces, the contacts in another order, and proximal steps take
turns: each reaches about half of the solutions that were not found so far. Problems of so many
contacts that there is no room for Newton steps have the slow sweeps alone to go on with.

Gauss–Seidel alone has exact sweeps, and projected ones, ever more careful, where these get no
further.
"""

from __future__ import annotations

from math import inf, log

from tangere._clock import kernel_ns
from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.friction.anderson import accelerate
from tangere.friction.gauss_seidel import projected_sweep, sweep
from tangere.friction.newton import classify, count_unknowns, newton_step, same_active_set
from tangere.friction.problem import (
    BODIES,
    DENSE,
    Goal,
    Problem,
    Scratch,
    copy_forces,
    displace,
    motion_of,
    natural_map,
    prepare,
    project,
)
from tangere.friction.proximal import solve_proximal

# An attempt: sweeps to and fro; with Newton steps; accelerated, with Newton steps; proximal steps;
# projected sweeps.
PLAIN, STEADY, FAST, PROXIMAL, PROJECTED = 0, 1, 2, 3, 4
# Sweeps before the first Newton step: they find most of the active set.
BEFORE_NEWTON = 3
# y is kept up to date by differences: it is computed anew after so many sweeps, or when their
# combinations have multiplied its rounding by so much.
FRESH, DRIFT = 50, 1e3
# Costs in multiplications with an entry of W: a contact's own problem and its part in the history
# of sweeps; per cube and square of a Newton step's unknowns, and per column and contact.
OWN_COST, CUBE_COST, SQUARE_COST, FILL_COST = 700.0, 0.15, 20.0, 40.0
BODY_COST = 144.0  # of a contact between two bodies: J v and C Jᵀ f on both sides
# Share of the diagonal that is added in a Newton step: first, least, most; growth and decline.
SHARE, LEAST_SHARE, MOST_SHARE, MORE_SHARE, LESS_SHARE = 1e-9, 1e-12, 1e-2, 30.0, 0.1
# Newton steps follow each other while each lowers the error by the first factor; where one lowers
# it by the second, the next one takes the same matrix.
STEP_GAIN, CHORD_GAIN = 0.5, 0.1
# The history of sweeps is forgotten when the error grows by this factor.
GROWTH = 2.0
# Decline of log(error) per sweep: weight of the last one, and the least that is counted on.
LAST_WEIGHT, LEAST_PACE = 0.3, 0.02
# An attempt ends when the error has not fallen by the factor within so many sweeps, accelerated or
# not.
PATIENCE, LONG_PATIENCE, PROGRESS = 100, 500, 0.5
# Share of projected steps that is made: its decline from one attempt to the next, and the least.
CAREFUL, LEAST_CAREFUL = 0.6, 0.3


@kernel
def solve_contacts(
    p: Problem,
    m: int,
    r: PtrF8,
    s: Scratch,
    tolerance: float,
    max_sweeps: int,
    newton: bool,
    deadline: int,
) -> tuple[float, int, int]:
    """Error, sweeps and Newton steps of a solve of m contacts; r is the best iterate, s.u its u.

    Nothing is allocated. Called again with the r of a similar problem it starts from there.

    Args:
        p: The problem, as pointers.
        m: Number of contacts.
        r: Forces to start from, then the result (3m).
        s: Scratch for at least m contacts, as pointers.
        tolerance: Error to reach: the natural map over the force scale.
        max_sweeps: The most sweeps; Newton steps take about as long again.
        newton: False: Gauss–Seidel alone, neither accelerated nor from other forces.
        deadline: On the clock of kernels [ns]; 0: none. The best iterate so far is returned then.
    """
    goal = Goal(prepare(p, m, s), tolerance, deadline)
    project(m, r, s)
    displace(p, m, r, s.motion)
    least = natural_map(p, m, r, s.motion, s) / goal.scale
    copy_forces(m, r, s.best)
    for c in range(m):
        s.order[c] = c
    sweeps, newtons, attempts = 0, 0, 0
    swept, proximal = 0.0, 0.0  # what they have cost
    large = 3 * m > s.room[0]
    while least > tolerance and sweeps < max_sweeps:
        if deadline > 0 and kernel_ns() >= deadline:
            break
        left = max_sweeps - sweeps
        mode, patience, careful = FAST, PATIENCE, 1.0
        if not newton:
            # sweeps that get no further are followed by more careful ones
            copy_forces(m, s.best, r)
            mode, patience = PLAIN if attempts == 0 else PROJECTED, LONG_PATIENCE
            careful = max(CAREFUL ** (attempts - 1), LEAST_CAREFUL)
        elif attempts > 0 and large:
            copy_forces(m, s.best, r)
            mode, patience = STEADY, left
        elif attempts == 1:
            copy_forces(m, s.best, r)
            mode = PROXIMAL
        elif attempts == 2:
            copy_forces(m, s.best, r)
            mode, patience = STEADY, LONG_PATIENCE
        elif attempts > 2:
            mode = PROXIMAL if proximal <= swept else FAST
            _restart(m, r, s, 0.0 if mode == FAST and attempts % 2 == 0 else goal.scale, attempts)
        if mode == PROXIMAL:
            least, steps = solve_proximal(p, m, r, s, goal, least)
            newtons += steps
            proximal += _newton_cost(p, m, 3 * m) * steps
        else:
            least, made, steps, cost = _sweep(
                p, m, r, s, goal, least, left, mode, patience, careful
            )
            sweeps += made
            newtons += steps
            swept += cost
        attempts += 1
    copy_forces(m, s.best, r)
    displace(p, m, r, s.motion)
    for c in range(m):
        s.u[3 * c], s.u[3 * c + 1], s.u[3 * c + 2] = motion_of(p, c, s.motion)
    return natural_map(p, m, r, s.motion, s) / goal.scale, sweeps, newtons


@kernel
def _sweep(
    p: Problem,
    m: int,
    r: PtrF8,
    s: Scratch,
    goal: Goal,
    least: float,
    max_sweeps: int,
    mode: int,
    patience: int,
    careful: float,
) -> tuple[float, int, int, float]:
    """Sweeps and Newton steps from r until they get no further.

    Args:
        p: The problem.
        m: Number of contacts.
        r: Forces to start from; undefined afterwards.
        s: Scratch, prepared.
        goal: What to reach.
        least: Error of `s.best`.
        max_sweeps: The most sweeps.
        mode: `PLAIN`, `PROJECTED`, `STEADY` or `FAST`.
        patience: Sweeps within which the error has to fall.
        careful: Share of projected steps that is made.

    Returns:
        Least error so far, that of `s.best`; sweeps, Newton steps and what they cost.
    """
    displace(p, m, r, s.motion)
    error = natural_map(p, m, r, s.motion, s) / goal.scale
    began = kernel_ns() if goal.deadline > 0 else 0
    sweep_cost = _product_cost(p, m) + OWN_COST * m
    sweeps, newtons, work = 0, 0, 0.0
    fresh, drift, noted = 0, 0.0, 0  # sweeps since y is exact, its rounding, sweeps in the history
    wait, spent, share = BEFORE_NEWTON * sweep_cost, 0.0, SHARE
    last, pace = error, 0.0
    mark, since = error, 0
    while least > goal.tolerance and sweeps < max_sweeps:
        if sweeps - since >= patience:
            break
        now = kernel_ns() if goal.deadline > 0 else 0
        if goal.deadline > 0 and now >= goal.deadline:
            break
        copy_forces(m, r, s.held)
        if mode == PROJECTED:
            projected_sweep(p, m, r, s, careful)
        else:
            sweep(p, m, r, s, mode != FAST and sweeps % 2 == 1)
        sweeps += 1
        fresh += 1
        spent += sweep_cost
        work += sweep_cost
        error = natural_map(p, m, r, s.motion, s) / goal.scale
        if error <= goal.tolerance or fresh >= FRESH or drift > DRIFT:
            displace(p, m, r, s.motion)
            fresh, drift, noted = 0, 0.0, 0
            error = natural_map(p, m, r, s.motion, s) / goal.scale
        if error < least:
            least = error
            copy_forces(m, r, s.best)
        if error <= PROGRESS * mark:
            mark, since = error, sweeps
        if least <= goal.tolerance or mode in (PLAIN, PROJECTED):
            continue
        n = count_unknowns(m, r, s)
        cost = _newton_cost(p, m, n)
        if error < inf and last < inf:
            pace = (1.0 - LAST_WEIGHT) * pace + LAST_WEIGHT * log(last / error)
        to_come = sweep_cost * log(error / goal.tolerance) / max(pace, LEAST_PACE)
        too_long = goal.deadline > 0 and now + cost * (now - began) / work > goal.deadline
        if spent < max(wait, cost) or to_come < cost or not 0 < n <= s.room[0] or too_long:
            if error > GROWTH * last:
                noted = 0
            last = error
            if mode == STEADY:
                continue
            drift += accelerate(p, m, r, s, noted)
            noted += 1
            continue
        last = error
        error, made, steps = _newton_steps(p, m, n, r, s, goal, error, share)
        sweeps += made
        newtons += steps
        work += cost + made * sweep_cost
        fresh, drift, noted = 0, 0.0, 0
        if error < last:
            share = max(LESS_SHARE * share, LEAST_SHARE)
            spent = max(wait, cost)  # go on at once
        else:
            share = min(MORE_SHARE * share, MOST_SHARE)
            wait = 2.0 * max(wait, cost)
            spent = 0.0
        last = error
        if error < least:
            least = error
            copy_forces(m, r, s.best)
        if error <= PROGRESS * mark:
            mark, since = error, sweeps
    return least, sweeps, newtons, work


@kernel
def _newton_steps(
    p: Problem, m: int, n: int, r: PtrF8, s: Scratch, goal: Goal, error: float, share: float
) -> tuple[float, int, int]:
    """Newton steps from r while each pays, then a sweep; what was not better is taken back.

    Args:
        p: The problem.
        m: Number of contacts.
        n: Unknowns of the first step.
        r: Forces after a sweep, in and out.
        s: Scratch; `motion` and `state` belong to r, afterwards too.
        goal: What to reach.
        error: Of r.
        share: Of every diagonal entry, that is added to it.

    Returns:
        Error, sweeps and steps.
    """
    steps, factored = 0, False
    while True:
        before = error
        copy_forces(m, r, s.held)
        newton_step(p, m, n, r, s, share, factored)
        steps += 1
        project(m, r, s)
        displace(p, m, r, s.motion)
        error = natural_map(p, m, r, s.motion, s) / goal.scale
        if error <= goal.tolerance:
            return error, 0, steps
        if not error < STEP_GAIN * before:
            break
        # no sweep in between: there are solutions that sweeps run away from
        classify(p, m, r, s)
        n = count_unknowns(m, r, s)
        factored = error < CHORD_GAIN * before and same_active_set(m, n, s)
        if not 0 < n <= s.room[0] or (goal.deadline > 0 and kernel_ns() >= goal.deadline):
            copy_forces(m, r, s.held)
            before = error
            break
    sweep(p, m, r, s, False)
    displace(p, m, r, s.motion)
    error = natural_map(p, m, r, s.motion, s) / goal.scale
    if not error < before:
        copy_forces(m, s.held, r)
        displace(p, m, r, s.motion)
        error = before
    return error, 1, steps


@kernel
def _product_cost(p: Problem, m: int) -> float:
    """Multiplications of a product with W."""
    if p.starts[0] == DENSE:
        return 9.0 * m * m
    return BODY_COST * m if p.starts[0] == BODIES else 9.0 * p.starts[m]


@kernel
def _newton_cost(p: Problem, m: int, n: int) -> float:
    """Multiplications that take as long as a Newton step of n unknowns."""
    return n * (n * (CUBE_COST * n + SQUARE_COST) + FILL_COST * m) + 2.0 * _product_cost(p, m)


@kernel
def _restart(m: int, r: PtrF8, s: Scratch, size: float, seed: int) -> None:
    """Put the contacts in another order, and let forces be random up to a size, on their cones.

    Both depend on the seed alone: solves can be repeated.
    """
    x = 12345 + 7919 * seed
    for i in range(m):
        s.order[i] = i
    for i in range(m - 1, 0, -1):
        x = (1103515245 * x + 12345) & 0x7FFFFFFF
        j = (x >> 8) % (i + 1)
        s.order[i], s.order[j] = s.order[j], s.order[i]
    for i in range(3 * m):
        x = (1103515245 * x + 12345) & 0x7FFFFFFF
        r[i] = size * (x / 0x40000000 - 1.0)
    project(m, r, s)
