"""Islands of hundreds of bodies: everything that only they need, behind `solve_large_island`.

It is the Newton's method of `newton`, with three differences.

Active set. Many iterations are made for a few bodies whose contacts open, close or begin to slip.
Those move whose residual is not small against the greatest, with their neighbours; the others are
held still meanwhile.

Changes. In a large island there are always contacts that do not behave as was assumed. They are
predicted as far as possible (`predict_changes`), and the others are changed as soon as the solution
is near, instead of when it is known.

Threads. Every stage of an iteration is a task in parts (`task_queue`), and the linear system is
solved by conjugate gradients in parts.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import local_f8, off
from tangere.elements.columns import EI_EDGE, EI_NEW, element
from tangere.elements.element import change, hessian, predict, value
from tangere.implicit.conjugate_gradients import gradients
from tangere.implicit.newton import (
    MOST_CHANGES,
    MOST_CUTS,
    MOST_ITERATIONS,
    ROUGHLY,
    TOLERANCE,
    Bracket,
    overshoots,
    shorten,
)
from tangere.implicit.partition import rank_active
from tangere.implicit.problem import add_edge, balance, begin_step, inertia_block, move_along
from tangere.implicit.task_queue import (
    LEAST,
    first_part,
    next_part,
    part_count,
    part_range,
    part_sum,
)
from tangere.model import Model
from tangere.solver import ACTIVE, ADJACENT, HELD, Solver

# Stop at this residual [m/s], or at this share of the first one, but no more than that: by
# gradients it is not worth while to go as far as by factors.
FINE, FINE_SHARE, FINE_MOST = 1e-6, 1e-8, 1e-5
# The same for a pass that only finds the pose: in a collapse the matrix exceeds M so much that v is
# known a thousand times better.
COARSE, COARSE_SHARE, COARSE_MOST = 1e-2, 1e-3, 1.0
# Contacts may change from this residual on.
NEAR = 0.3
# Steps made in full after the start and after a change of contacts, and where all bodies are
# active: what overshoots in few places is mended there by the iterations to come.
IN_FULL, IN_FULL_ALL = 8, 40
# A patch is taken to slip if it does so at this speed [m/s] at least: by the guess; by a solution
# that is near.
SLIPS, CREEPS = 1e-3, 1e-5
# Active are bodies whose residual exceeds this share of the greatest, with so many rings of
# neighbours; all, if they are more than this share of the island.
SHARE, RINGS, MANY = 0.003, 2, 0.5
# Relative accuracy of conjugate gradients: a closer one saves few iterations.
CLOSE = 1e-2

# Tasks, beside those of `conjugate_gradients`.
# For elements of active bodies (CHANGE: for all):
FORCE = 16
HESSIAN, HESSIAN_ALL_PRESS = 17, 18  # after a share of the Newton step
CHANGE = 19  # those that do not behave as was assumed, at a speed; gives their number
# For active bodies (BALANCE: and adjacent ones):
BALANCE = 20  # gradient and residual; gives the slope along the step
ASSEMBLE = 21  # rows of the matrix and the right-hand side
MOVE = 22  # a share of the Newton step; gives the slope where they were


@kernel
def is_large(v: Solver, island: int) -> bool:
    """Whether an island is solved here: its matrix is too large to factor."""
    return bool(v.graph.direct[island] == 0)


@kernel
def predict_changes(v: Solver, island: int, dt: float, again: bool) -> None:
    """Change contacts that by the guess will not behave as they are taken to.

    A few of thousands always do, and to find them by a solution would mean to solve it all again.
    again: the guess is the motion found by a pass, not that of the last step.
    """
    t = v.elements
    for at in range(t.start[island], t.start[island + 1]):
        c = element(t, t.list[at])
        if c.ints[EI_NEW] == 1:
            predict(v, c, dt, SLIPS, again)


@kernel
def solve_large_island(
    m: Model, v: Solver, island: int, dt: float, all_press: bool, tolerance: float
) -> tuple[int, float]:
    """As `newton.solve_island`: the iterations made and the residual [m/s]."""
    size = int(v.graph.start[island + 1] - v.graph.start[island])
    final = tolerance == TOLERANCE
    v.large.active_count[island] = 0  # none is listed yet
    activate_all(v, island)
    residual, _ = _gradient(m, v, island, dt)
    if final:
        tolerance = min(max(FINE, FINE_SHARE * residual), FINE_MOST)
    else:
        tolerance = min(max(COARSE, COARSE_SHARE * residual), COARSE_MOST)
    most_changes = MOST_CHANGES if final else 0
    iterations, since, changes, length = 0, 0, 0, 0.0
    while True:
        if residual <= NEAR and changes < most_changes:
            known = residual <= max(ROUGHLY, tolerance)
            if _all_parts(m, v, dt, CHANGE, island, 0.0 if known else CREEPS) > 0.0:
                activate_all(v, island)
                residual, _ = _gradient(m, v, island, dt)
                since, changes, length = 0, changes + 1, 0.0
        if residual <= tolerance or iterations == MOST_ITERATIONS:
            break
        some_held = activate(v, island, max(tolerance, SHARE * residual)) < size
        iterations += 1
        since += 1
        task = HESSIAN_ALL_PRESS if all_press and iterations == 1 else HESSIAN
        _all_parts(m, v, dt, task, island, length)
        _all_parts(m, v, dt, ASSEMBLE, island, 0.0)
        gradients(v, island, CLOSE)
        length = 1.0
        slope = _all_parts(m, v, dt, MOVE, island, length)
        before = residual
        residual, now = _gradient(m, v, island, dt)
        if since > (IN_FULL if some_held else IN_FULL_ALL):
            length, residual = _line_search(m, v, island, dt, slope, now, residual)
            if not residual < before and length * _largest(v, island) < tolerance and not some_held:
                break
    return iterations, residual


# ---------------------------------------------------------------- active set


@kernel
def activate_all(v: Solver, island: int) -> None:
    """Let all bodies of an island be active."""
    first, end = v.graph.start[island], v.graph.start[island + 1]
    for p in range(first, end):
        v.large.state[p] = ACTIVE
    if v.large.active_count[island] < end - first:
        list_active(v, island)


@kernel
def activate(v: Solver, island: int, limit: float) -> int:
    """Hold bodies still that are near their balance and not close to one that is not.

    Returns how many are active.
    """
    g, state = v.graph, v.large.state
    first, end = g.start[island], g.start[island + 1]
    for p in range(first, end):
        state[p] = ACTIVE if v.ahead.unbalance[g.member[p]] > limit else HELD
    active = 0
    for _ in range(RINGS):
        _mark_adjacent(v, island)
        active = 0
        for p in range(first, end):
            if state[p] != HELD:
                state[p] = ACTIVE
                active += 1
    if active > MANY * (end - first):
        activate_all(v, island)
        return int(end - first)
    _mark_adjacent(v, island)  # they are held, but their balance changes
    list_active(v, island)
    return active


@kernel
def _mark_adjacent(v: Solver, island: int) -> None:
    """Mark the neighbours of active bodies that are none themselves."""
    g, state = v.graph, v.large.state
    for k in range(g.edge_start[island], g.edge_start[island + 1]):
        edge = off(g.edges, 2 * g.edge_list[k])
        if edge[0] >= 0 and edge[1] >= 0:
            p, q = g.place[edge[0]], g.place[edge[1]]
            if state[p] == ACTIVE and state[q] == HELD:
                state[q] = ADJACENT
            elif state[q] == ACTIVE and state[p] == HELD:
                state[p] = ADJACENT


@kernel
def list_active(v: Solver, island: int) -> None:
    """List the active bodies of an island, those near them, and their elements."""
    g, t, large = v.graph, v.elements, v.large
    first = g.start[island]
    active, nearby = first, first
    for p in range(first, g.start[island + 1]):
        large.active[active], large.nearby[nearby] = p, p
        active += 1 if large.state[p] == ACTIVE else 0
        nearby += 1 if large.state[p] != HELD else 0
    large.active_count[island], large.nearby_count[island] = active - first, nearby - first
    rank_active(g, large, island)
    first = t.start[island]
    count = first
    for at in range(first, t.start[island + 1]):
        large.elements[count] = t.list[at]
        edge = off(g.edges, 2 * element(t, t.list[at]).ints[EI_EDGE])
        if (edge[0] >= 0 and large.state[g.place[edge[0]]] == ACTIVE) or (
            edge[1] >= 0 and large.state[g.place[edge[1]]] == ACTIVE
        ):
            count += 1
    large.element_count[island] = count - first


@kernel
def _largest(v: Solver, island: int) -> float:
    """Largest entry of the Newton step."""
    g, size = v.graph, 0.0
    for k in range(g.start[island], g.start[island] + v.large.active_count[island]):
        i = 6 * g.member[v.large.active[k]]
        for c in range(6):
            size = max(size, abs(v.matrix.x[i + c]))
    return size


# ---------------------------------------------------------------- an iteration, in parts


@kernel
def _gradient(m: Model, v: Solver, island: int, dt: float) -> tuple[float, float]:
    """Forces of the active bodies' elements; gradient; residual [m/s], slope along the step."""
    g = v.graph
    _all_parts(m, v, dt, FORCE, island, 0.0)
    slope = _all_parts(m, v, dt, BALANCE, island, 0.0)
    worst = 0.0
    for p in range(g.start[island], g.start[island + 1]):
        worst = max(worst, v.ahead.unbalance[g.member[p]])
    return worst, slope


@kernel
def _line_search(
    m: Model, v: Solver, island: int, dt: float, slope: float, now: float, residual: float
) -> tuple[float, float]:
    """As in `newton`: share of the step, residual there."""
    length, bracket = 1.0, Bracket(0.0, slope, 0.0, 0.0, 0)
    for _ in range(MOST_CUTS):
        if not overshoots(slope, now, length):
            break
        bracket, length = shorten(bracket, length, now)
        _all_parts(m, v, dt, MOVE, island, length)
        residual, now = _gradient(m, v, island, dt)
    return length, residual


@kernel
def _all_parts(m: Model, v: Solver, dt: float, task: int, island: int, number: float) -> float:
    """Do a task for all of an island; returns the sum of what its parts give."""
    parts = part_count(_items(v, task, island), _least(v, task, island))
    part = first_part(v.queue, v.given, task, island, number, parts)
    while part >= 0:
        large_part(m, v, dt, task, island, number, part)
        part = next_part(v.queue, part, parts)
    return part_sum(off(v.matrix.sums, v.graph.start[island]), parts)


@kernel
def _items(v: Solver, task: int, island: int) -> int:
    """How many bodies or elements a task is for."""
    if task <= HESSIAN_ALL_PRESS:
        return int(v.large.element_count[island])
    if task == CHANGE:
        return int(v.elements.start[island + 1] - v.elements.start[island])
    if task == BALANCE:
        return int(v.large.nearby_count[island])
    return int(v.large.active_count[island])


@kernel
def _least(v: Solver, task: int, island: int) -> int:
    """Bodies or elements in the least part: there are no more parts than bodies, for their sums."""
    if task >= BALANCE:
        return LEAST
    g, t = v.graph, v.elements
    bodies = g.start[island + 1] - g.start[island]
    elements = t.start[island + 1] - t.start[island]
    return int(LEAST * max(1, (elements + bodies - 1) // bodies))


@kernel
def large_part(
    m: Model, v: Solver, dt: float, task: int, island: int, number: float, part: int
) -> None:
    """Do one part of a task."""
    g, t, large = v.graph, v.elements, v.large
    first, end = part_range(_items(v, task, island), _least(v, task, island), part)
    total = 0.0
    start = g.start[island] if task >= BALANCE else t.start[island]
    for k in range(start + first, start + end):
        if task == FORCE:
            value(t, element(t, large.elements[k]), v.ahead.twist, dt)
        elif task <= HESSIAN_ALL_PRESS:
            all_press = task == HESSIAN_ALL_PRESS
            hessian(t, element(t, large.elements[k]), v.ahead.twist, dt, all_press, number)
        elif task == CHANGE:
            if change(v, element(t, t.list[k]), dt, True, number):
                total += 1.0
        elif task == BALANCE:
            slope = balance(m, v, dt, large.nearby[k])
            if large.state[large.nearby[k]] == ACTIVE:
                total += slope
        elif task == MOVE:
            total += move_along(v, g.member[large.active[k]], number)
        else:
            _assemble(m, v, dt, large.active[k])
    v.matrix.sums[g.start[island] + part] = total


@kernel
def _assemble(m: Model, v: Solver, dt: float, p: int) -> None:
    """The diagonal block at place p, links to active bodies of lower rank, right-hand side."""
    g, a, large = v.graph, v.matrix, v.large
    i = g.member[p]
    block, coupling = off(a.diagonal, 36 * p), local_f8(36)
    inertia_block(m, v.ahead, i, block)
    entry = large.entry[large.rank[p]]
    for at in range(g.adjacency_start[p], g.adjacency_start[p + 1]):
        edge, side = g.adjacency[at] // 2, g.adjacency[at] % 2
        other = g.edges[g.adjacency[at] ^ 1]
        rank = large.rank[g.place[other]] if other >= 0 else -1
        couples = 0 <= rank < large.rank[p]
        resists = add_edge(v.elements, edge, side, dt, block, couples, coupling)
        if couples:
            link = off(a.links, 3 * entry)
            link[0], link[1], link[2] = large.rank[p], rank if resists else -1, entry
            for k in range(36):
                a.scaled[36 * entry + k] = coupling[k]
            entry += 1
    begin_step(v, i)
