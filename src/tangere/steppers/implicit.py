"""The implicit step: guess, geometry, solve, geometry again where it matters, friction state.

guess = the last twists
twice: poses reached with the guess → contacts there → minimise the step problem → new guess;
the second time for contacts that changed
forces of the last solution move the bodies; friction springs and stored energies are kept
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from tangere._jit import kernel
from tangere._ptr import off, pointers
from tangere.bodies.rigid import free_rotation, move_bodies
from tangere.collision.broad import forget_boxes, update_boxes, update_pairs
from tangere.contact.convex.second_pass import second_pass
from tangere.contact.convex.set_up import set_up_contacts
from tangere.elements.columns import (
    EI_A,
    EI_B,
    EI_EDGE,
    Element,
    element,
)
from tangere.elements.element import (
    bounces_back,
    compare,
    give_rebound,
    limit_friction,
    mend,
    value,
)
from tangere.elements.spring import list_springs
from tangere.elements.step_context import PASSES, StepContext, moves, stamped
from tangere.implicit.energy_books import close_books, open_books
from tangere.implicit.islands import edge_island, find_islands, same_edges
from tangere.implicit.large import is_large, predict_changes
from tangere.implicit.newton import ROUGHLY, TOLERANCE
from tangere.implicit.remember import finish, settle
from tangere.maths.quat import matrix_into, product, turn_back, unit
from tangere.model import (
    NF,
    NOT_FINITE,
    OK,
    PF_LAG,
    PF_PRESS,
    Hulls,
    Model,
    Sizes,
    State,
    Work,
)
from tangere.solver import REPORT_PASSES, REPORT_RESIDUAL, REPORT_SOLVES
from tangere.steppers.profile import lap, start_clock
from tangere.steppers.schedule import UNSOLVED, help_out, solve_islands

# Stages of a step, as `Profile` names them.
PAIRS, DETECT, SOLVE, DETECT_AGAIN, SOLVE_AGAIN, REMEMBER, MOVE, BOOKS = 0, 1, 2, 3, 4, 5, 6, 7
STAGES = (
    "find pairs",
    "detect and set up",
    "solve",
    "detect again",
    "solve again",
    "remember",
    "move bodies",
    "energy books",
)
FIRST, SECOND = 0, 1  # passes
# Contacts closer than this many times g dt² are known before they touch; Earth's g at least [m/s²].
MARGIN, EARTH = 2.0, 9.81
# More than this share of the contacts to be set up again: all are.
FEW = 0.5


@kernel
def run(
    z: Sizes,
    model: Model,
    hulls: Hulls,
    state: State,
    work: Work,
    dt: float,
    steps: int,
    first: int,
    options: Any,
    looks: int,
) -> tuple[int, int]:
    """Make `steps` whole steps; returns the number made and a status.

    `first` is the number of the first step since the start. A step that runs out of room is not
    made: the front grows the buffers and calls again. `looks` > 0: no step of its own; solve what a
    step of another thread has queued, until nothing was found for so many looks.
    """
    e = context_of(z, model, hulls, state, work, dt, options)
    if looks > 0:
        help_out(e, looks)
        return 0, OK
    for done in range(steps):
        here = stamped(e, first + done)
        if done == 0:
            open_books(here)
        status = step(here, first + done == 0)
        if status != OK:
            if status != NOT_FINITE:
                forget_boxes(z, e.w)
            return done, status
    return steps, OK


@kernel
def step(e: StepContext, fresh: bool) -> int:
    """One step, stage by stage; OK, or why it was not made: then nothing has moved."""
    times = e.w.times
    start_clock(times)
    free_motion(e)
    status = find_contacts(e, FIRST, fresh, 0)
    if status != OK:
        return status
    first = stamped(e, PASSES * e.stamp + FIRST)
    solve_all(first, True, ROUGHLY)
    changed, bounces = find_changes(first)
    lap(times, SOLVE)
    if bounces:  # where the bodies bounce to, nothing of the impact would be left to see
        rebound(first)
    elif changed == 0:
        solve_all(first, False, TOLERANCE)
    else:
        aim(e)
        status = find_contacts(e, SECOND, fresh, changed)
        if status != OK:
            return status
        solve_all(stamped(e, PASSES * e.stamp + SECOND), False, TOLERANCE)
    lap(times, SOLVE_AGAIN)
    mend_overdrawn(e)
    report(e)
    finish(e)
    lap(times, REMEMBER)
    if not move_bodies(e.z, e.m, e.s, e.dt):
        return NOT_FINITE
    e.s.time[0] += e.dt
    lap(times, MOVE)
    settle(e)
    close_books(e)
    lap(times, BOOKS)
    return OK


@kernel
def context_of(
    z: Sizes, model: Model, hulls: Hulls, state: State, work: Work, dt: float, options: Any
) -> StepContext:
    """What implicit steps work on."""
    m, h, s = pointers(model), pointers(hulls), pointers(state)
    w = pointers(work)
    v = work.solver
    rooms = (work.soup.owner.size, len(v.elements.list), len(v.elements.corners), len(v.graph.row))
    a = w.solver.ahead
    end = State(
        a.position,
        a.quaternion,
        a.rotation,
        s.velocity,
        s.omega,
        s.momentum,
        s.wrench,
        s.applied,
        s.springs,
        s.spring,
        s.time,
        s.ledger,
    )
    g = m.gravity
    margin = MARGIN * dt * dt * max(sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]), EARTH)
    return StepContext(z, m, h, s, end, w, dt, margin, 0, rooms, options)


@kernel
def find_contacts(e: StepContext, attempt: int, fresh: bool, changed: int) -> int:
    """Contacts where the bodies will be by the guess; OK or what is full.

    changed: contacts that the second pass has to set up again; if they are few, only these.
    """
    v = e.w.solver
    t, times = v.elements, e.w.times
    for i in range(e.z.bodies + e.z.floors):
        _coast(e, i)
    left = update_boxes(e.z, e.m, e.h, e.e, e.dt, e.margin, e.w.world, e.w.tree.left)
    if left > 0:
        status = update_pairs(e.z, e.m, e.h, e.e, e.dt, e.w, left)
        if status != OK:
            return status
    lap(times, PAIRS)
    here = stamped(e, PASSES * e.stamp + attempt)
    few = attempt == SECOND and left == 0 and changed <= FEW * t.used[0]
    if not (few and second_pass(here, fresh)):
        status = set_up_contacts(here, fresh)
        if status == OK:
            status = list_springs(here)
        if status == OK:
            status = _graph(here)
        if status != OK:
            return status
    for i in range(e.z.bodies):
        if v.graph.island[i] < 0:
            for k in range(6):
                v.ahead.twist[6 * i + k] = v.ahead.free[6 * i + k]
    v.report[REPORT_PASSES] = attempt + 1
    for island in range(v.graph.known[1]):
        if is_large(v, island):
            predict_changes(v, island, e.dt, attempt == SECOND)
    lap(times, DETECT if attempt == FIRST else DETECT_AGAIN)
    return OK


@kernel
def find_changes(e: StepContext) -> tuple[int, bool]:
    """Contacts that the solution takes elsewhere than the guess, marked; whether any bounces."""
    v = e.w.solver
    t = v.elements
    marked, bounces = 0, False
    for k in range(t.used[0]):
        c = element(t, k)
        marked += 1 if compare(e, c) else 0
        bounces = bounces or bounces_back(c)
    return marked, bounces


@kernel
def aim(e: StepContext) -> None:
    """The solution of the first pass is the guess of the second."""
    h = e.w.solver.ahead
    for i in range(6 * (e.z.bodies + e.z.floors)):
        h.base[i] = h.guess[i]
        h.guess[i] = h.twist[i]


@kernel
def mend_overdrawn(e: StepContext) -> None:
    """Solve again where an element of the solution gives more energy than it has; it yields."""
    v = e.w.solver
    t = v.elements
    for attempt in range(2):
        gives = False
        for k in range(t.used[0]):
            c = element(t, k)
            if mend(e, c, attempt == 0):
                v.residual[_island(e, c)], gives = UNSOLVED, True
        if not gives:
            break
        solve_islands(e, False, TOLERANCE)


@kernel
def report(e: StepContext) -> None:
    """Greatest residual of all islands."""
    v = e.w.solver
    v.report[REPORT_RESIDUAL] = 0.0
    for island in range(v.graph.known[1]):
        v.report[REPORT_RESIDUAL] = max(v.report[REPORT_RESIDUAL], v.residual[island])


@kernel
def rebound(e: StepContext) -> None:
    """Hard impacts with a restitution: 1 + e times the force that stopped them is given.

    Poisson's rule on the whole impact: v = v_c + e (v_c − v₀) with v_c the solution without
    rebound; what is kept of the energy lost is e², so none is made.
    """
    v = e.w.solver
    t = v.elements
    for given in range(2):  # first with friction, limited by the forces found without
        for k in range(t.used[0]):
            if given == 0:
                limit_friction(t, element(t, k))
            else:
                give_rebound(element(t, k))
        solve_all(e, False, TOLERANCE)


@kernel
def solve_all(e: StepContext, all_press: bool, tolerance: float) -> None:
    """Solve all islands to a residual; all_press: see `elements.element.hessian`."""
    v = e.w.solver
    for island in range(v.graph.known[1]):
        v.residual[island] = UNSOLVED
    solve_islands(e, all_press, tolerance)


@kernel
def free_motion(e: StepContext) -> None:
    """Free twists, inertia in the world, and the last twists as guess."""
    h = e.w.solver.ahead
    e.w.solver.report[REPORT_SOLVES] = 0.0
    for i in range(e.z.bodies + e.z.floors):
        moves = e.m.inv_mass[i] > 0.0
        for k in range(3):
            v, w = e.s.velocity[3 * i + k], e.s.omega[3 * i + k]
            h.guess[6 * i + k], h.guess[6 * i + 3 + k] = v, w
            h.twist[6 * i + k], h.twist[6 * i + 3 + k] = v, w
            h.free[6 * i + k] = v + (e.dt * e.m.gravity[k] if moves else 0.0)
            h.free[6 * i + 3 + k] = w
        r, inertia = off(e.s.rotation, 9 * i), off(h.inertia, 9 * i)
        for k in range(3):
            for j in range(3):
                s = 0.0
                for q in range(3):
                    s += r[3 * k + q] * e.m.inertia[3 * i + q] * r[3 * j + q]
                inertia[3 * k + j] = s
    for k in range(6 * (e.z.bodies + e.z.floors)):
        e.s.wrench[k], e.s.applied[k] = 0.0, 0.0
    pairs = e.w.pairs
    for at in range(pairs.used[0]):  # a step that ran out of room may have left its own
        if pairs.live[at] != 0:
            row = off(pairs.floats, NF * pairs.slot[at])
            row[PF_LAG] = row[PF_PRESS]


@kernel
def _coast(e: StepContext, i: int) -> None:
    """Pose of body i at the end of the step if it moves with the guess."""
    guess = off(e.w.solver.ahead.guess, 6 * i)
    for k in range(3):
        e.e.position[3 * i + k] = e.s.position[3 * i + k] + e.dt * guess[k]
    source, q_out = off(e.s.quaternion, 4 * i), off(e.e.quaternion, 4 * i)
    q = (source[0], source[1], source[2], source[3])
    w = (guess[3], guess[4], guess[5])
    r = off(e.s.rotation, 9 * i)
    if w[0] == 0.0 and w[1] == 0.0 and w[2] == 0.0:
        for k in range(9):
            e.e.rotation[9 * i + k] = r[k]
    else:
        if e.m.inv_mass[i] > 0.0:
            inertia = (e.m.inertia[3 * i], e.m.inertia[3 * i + 1], e.m.inertia[3 * i + 2])
            o = turn_back(r, w)
            ell = (inertia[0] * o[0], inertia[1] * o[1], inertia[2] * o[2])
            q, _ = free_rotation(q, ell, inertia, e.dt)
        else:
            a = 0.5 * e.dt
            q = unit(product((1.0, a * w[0], a * w[1], a * w[2]), q))
        matrix_into(q, off(e.e.rotation, 9 * i))
    q_out[0], q_out[1], q_out[2], q_out[3] = q


@kernel
def _graph(e: StepContext) -> int:
    """Edges of all elements; islands where they changed; elements by island."""
    g, t = e.w.solver.graph, e.w.solver.elements
    count = t.used[0]
    edges, a, b = 0, -2, -2
    for k in range(count):
        c = element(t, k)
        i, j = _moving(e, c.ints[EI_A]), _moving(e, c.ints[EI_B])
        if i < 0 and j < 0:  # between fixed bodies: a force, but nothing to solve for
            c.ints[EI_EDGE] = -1
            value(t, c, e.w.solver.ahead.twist, e.dt)
            continue
        if i != a or j != b:
            g.fresh[2 * edges], g.fresh[2 * edges + 1] = i, j
            t.first[edges] = k
            edges += 1
            a, b = i, j
        c.ints[EI_EDGE] = edges - 1
    if not same_edges(g, edges):
        status = find_islands(e.z, g, e.w.solver.large, e.s.position, edges, e.rooms[3])
        if status != OK:
            return status
    islands = g.known[1]
    for k in range(islands + 1):
        t.start[k] = 0
    for k in range(count):
        c = element(t, k)
        if c.ints[EI_EDGE] >= 0:
            t.start[_island(e, c) + 1] += 1
    for k in range(islands):
        t.start[k + 1] += t.start[k]
        g.fill[k] = t.start[k]
    for k in range(count):
        c = element(t, k)
        if c.ints[EI_EDGE] >= 0:
            island = _island(e, c)
            t.list[g.fill[island]] = k
            g.fill[island] += 1
    return OK


@kernel
def _moving(e: StepContext, i: int) -> int:
    """Body i if it can move, else −1."""
    return i if moves(e, i) else -1


@kernel
def _island(e: StepContext, c: Element) -> int:
    """Island of an element."""
    return edge_island(e.w.solver.graph, c.ints[EI_EDGE])
