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
from tangere._ptr import PtrF8, off, pointers
from tangere.bodies.rigid import free_rotation, move_bodies, spring_ends, stiff_share
from tangere.collision.broad import forget_boxes, update_boxes, update_pairs
from tangere.contact.convex.curved_manifold import cut_lead
from tangere.contact.convex.second_pass import gather_again
from tangere.contact.convex.set_up import gather
from tangere.elements.columns import (
    POINT_KIND,
    SPRING_KIND,
    TF_ARM_A,
    TF_ARM_B,
    TF_B,
    TF_BOUNCE,
    TF_BT,
    TF_CURVED,
    TF_E,
    TF_F,
    TF_H,
    TF_JXX,
    TF_JYY,
    TF_K,
    TF_KT,
    TF_LAG,
    TF_LEAD,
    TF_LIMIT,
    TF_MU,
    TF_N,
    TF_R1,
    TF_R2,
    TF_ROLLS,
    TF_S,
    TF_T1,
    TF_T2,
    TF_TH,
    TF_TILT1,
    TF_TILT2,
    TF_U,
    TI_A,
    TI_B,
    TI_EARLY,
    TI_EDGE,
    TI_KIND,
    TI_NEW,
    TI_SLOT,
    TI_SQUARE,
    Touch,
    local_twist,
    touch,
)
from tangere.elements.contact_energy import overdrawn, set_limit
from tangere.elements.patch import evaluate
from tangere.implicit.energy_books import close_books, open_books
from tangere.implicit.islands import (
    edge_body,
    edge_island,
    find_islands,
    same_edges,
)
from tangere.implicit.large import is_large, predict_changes
from tangere.implicit.newton import ROUGHLY, TOLERANCE
from tangere.implicit.remember import finish, settle
from tangere.implicit.step_context import PASSES, StepContext, moves, stamped
from tangere.maths.quat import matrix_into, product, turn_back, unit
from tangere.maths.vec import basis, norm, scale, sub
from tangere.model import (
    NF,
    NI,
    NK,
    NOT_FINITE,
    OK,
    PF_LAG,
    PF_PRESS,
    PI_CALM,
    SOLVER_FULL,
    SP_DAMPING,
    SP_K,
    SP_RATE,
    SP_REST,
    SP_VELOCITY,
    Hulls,
    Model,
    Sizes,
    State,
    Work,
)
from tangere.solver import REPORT_PASSES, REPORT_RESIDUAL, REPORT_SOLVES, Solver
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
# A contact is looked at again if its depth changed by more than this share of itself, or if it
# slipped by more than this share of its width, or if its normal force is off by this share.
DEPTH_CHANGE, SLIP_CHANGE, FORCE_CHANGE = 0.05, 1e-3, 1e-3
# More than this share of the contacts to be looked at again: all are.
FEW = 0.5
# Depths below this share of the patch's width are rounding.
FLAT = 1e-12


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
    e = _context(z, model, hulls, state, work, dt, options)
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
    predict(e)
    status = find_contacts(e, FIRST, fresh, 0)
    if status != OK:
        return status
    first = stamped(e, PASSES * e.stamp + FIRST)
    solve_all(first, True, ROUGHLY)
    changed, bounces = compare(first)
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
    mend(e)
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
def _context(
    z: Sizes, model: Model, hulls: Hulls, state: State, work: Work, dt: float, options: Any
) -> StepContext:
    """What implicit steps work on."""
    m, h, s = pointers(model), pointers(hulls), pointers(state)
    w = pointers(work)
    v = work.solver
    rooms = (work.soup.owner.size, len(v.touches.list), len(v.touches.corners), len(v.graph.row))
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

    changed: contacts that the second pass has to look at again; if they are few, only these.
    """
    v = e.w.solver
    t, times = v.touches, e.w.times
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
    if not (few and gather_again(here, fresh)):
        status = gather(here, fresh)
        if status == OK:
            status = _springs(here)
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
def compare(e: StepContext) -> tuple[int, bool]:
    """Contacts that the solution takes elsewhere than the guess, marked; whether any bounces."""
    v = e.w.solver
    t = v.touches
    marked, bounces = 0, False
    for k in range(t.used[0]):
        c = touch(t, k)
        if c.ints[TI_KIND] != SPRING_KIND:
            c.ints[TI_NEW] = 1 if _changed(v.ahead.twist, c, e.dt) else 0
            marked += c.ints[TI_NEW]
            calm = e.stamp + 1 if c.ints[TI_NEW] == 0 else -1
            e.w.pairs.ints[NI * c.ints[TI_SLOT] + PI_CALM] = calm
            bounces = bounces or (c.floats[TF_E] > 0.0 and c.floats[TF_F] > 0.0)
            # the next pass limits friction by this
            off(e.w.pairs.floats, NF * c.ints[TI_SLOT])[PF_LAG] = c.floats[TF_F]
    return marked, bounces


@kernel
def aim(e: StepContext) -> None:
    """The solution of the first pass is the guess of the second."""
    h = e.w.solver.ahead
    for i in range(6 * (e.z.bodies + e.z.floors)):
        h.base[i] = h.guess[i]
        h.guess[i] = h.twist[i]


@kernel
def mend(e: StepContext) -> None:
    """Solve again where a contact of the solution gives more energy than it has; it yields."""
    v = e.w.solver
    t = v.touches
    for attempt in range(2):
        gives = False
        for k in range(t.used[0]):
            c = touch(t, k)
            if cut_lead(e, c, attempt > 0) or (
                attempt == 0 and overdrawn(t, c, v.ahead.twist, e.dt)
            ):
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
    t = v.touches
    for given in range(2):  # first with friction, limited by the forces found without
        for k in range(t.used[0]):
            c = touch(t, k)
            f = c.floats
            if c.ints[TI_KIND] == SPRING_KIND:
                continue
            if given == 0:
                f[TF_LAG] = f[TF_F]
                set_limit(t, c)
            elif f[TF_E] > 0.0 and f[TF_F] > 0.0:
                for q in range(3):
                    f[TF_BOUNCE + q] = (1.0 + f[TF_E]) * f[TF_F + q]
                f[TF_LIMIT] *= 1.0 + f[TF_E]
        solve_all(e, False, TOLERANCE)


@kernel
def solve_all(e: StepContext, hope: bool, tolerance: float) -> None:
    """Solve all islands to a residual."""
    v = e.w.solver
    for island in range(v.graph.known[1]):
        v.residual[island] = UNSOLVED
    solve_islands(e, hope, tolerance)


@kernel
def predict(e: StepContext) -> None:
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
def _springs(e: StepContext) -> int:
    """List the scene's springs as contacts that may pull.

    f = −k (d + σ dt u) − b u, with d the stretch at the start, u the speed at the end of the step
    and σ near 0 for springs that are slow for the step, near 1 for stiff ones: along e = d/|d| with
    rest length l₀, and across it with k max(0, 1 − l₀/|d|); in all directions for rest length 0.
    """
    t, world = e.w.solver.touches, e.z.bodies + e.z.floors
    for j in range(e.z.springs):
        data = off(e.s.springs, NK * j)
        ia, ib = e.m.spring_bodies[2 * j], e.m.spring_bodies[2 * j + 1]
        if t.used[0] >= e.rooms[1]:
            return SOLVER_FULL
        c = touch(t, t.used[0])
        t.used[0] += 1
        pa, pb, _, _ = spring_ends(e.m, e.s, j)
        v = off(data, SP_VELOCITY)
        drift = (0.0, 0.0, 0.0) if ib >= 0 else (v[0], v[1], v[2])
        d = sub(pa, pb)
        length = norm(d)
        n = scale(1.0 / length, d) if length > 0.0 else (0.0, 0.0, 1.0)
        t1, t2 = basis(n)
        k, b, rest = data[SP_K], data[SP_DAMPING], data[SP_REST]
        across = k if rest == 0.0 else k * max(0.0, 1.0 - rest / length) if length > 0.0 else 0.0
        c.ints[TI_A], c.ints[TI_B], c.ints[TI_SLOT] = ib if ib >= 0 else world, ia, j
        c.ints[TI_KIND], c.ints[TI_EARLY], c.ints[TI_NEW] = SPRING_KIND, 0, 0
        c.ints[TI_SQUARE] = 0
        f = c.floats
        f[TF_ROLLS] = 0.0
        for q in range(6):
            f[TF_LEAD + q] = 0.0
        for q in range(3):
            f[TF_N + q], f[TF_T1 + q], f[TF_T2 + q] = n[q], t1[q], t2[q]
            f[TF_TILT1 + q], f[TF_TILT2 + q] = t1[q], t2[q]
            f[TF_ARM_B + q] = pa[q] - e.s.position[3 * ia + q]
            f[TF_ARM_A + q] = pb[q] - e.s.position[3 * ib + q] if ib >= 0 else 0.0
        share = stiff_share(data[SP_RATE], e.dt)
        f[TF_K], f[TF_B] = share * k, b
        f[TF_KT], f[TF_BT] = share * across, b if rest == 0.0 else 0.0
        along, side = f[TF_K] * e.dt + b, f[TF_KT] * e.dt + f[TF_BT]
        # force without own motion: stretch, and the drift of the far end
        f[TF_H] = k * (length - rest)
        f[TF_R1] = f[TF_H] - along * (n[0] * drift[0] + n[1] * drift[1] + n[2] * drift[2])
        f[TF_R2] = -side * (t1[0] * drift[0] + t1[1] * drift[1] + t1[2] * drift[2])
        f[TF_TH] = -side * (t2[0] * drift[0] + t2[1] * drift[1] + t2[2] * drift[2])
    return OK


@kernel
def _graph(e: StepContext) -> int:
    """Edges of all contacts; islands where they changed; contacts by island."""
    g, t = e.w.solver.graph, e.w.solver.touches
    count = t.used[0]
    edges, a, b = 0, -2, -2
    for k in range(count):
        c = touch(t, k)
        i, j = _moving(e, c.ints[TI_A]), _moving(e, c.ints[TI_B])
        if i < 0 and j < 0:  # a spring between fixed bodies: a force, but nothing to solve for
            c.ints[TI_EDGE] = -1
            evaluate(t, c, e.w.solver.ahead.twist, e.dt)
            continue
        if i != a or j != b:
            g.fresh[2 * edges], g.fresh[2 * edges + 1] = i, j
            t.first[edges] = k
            edges += 1
            a, b = i, j
        c.ints[TI_EDGE] = edges - 1
    if not same_edges(g, edges):
        status = find_islands(e.z, g, e.w.solver.large, e.s.position, edges, e.rooms[3])
        if status != OK:
            return status
    islands = g.known[1]
    for k in range(islands + 1):
        t.start[k] = 0
    for k in range(count):
        c = touch(t, k)
        if c.ints[TI_EDGE] >= 0:
            t.start[_island(e, c) + 1] += 1
    for k in range(islands):
        t.start[k + 1] += t.start[k]
        g.fill[k] = t.start[k]
    for late in (False, True):
        for k in range(count):
            c = touch(t, k)
            if c.ints[TI_EDGE] >= 0:
                island = _island(e, c)
                if _is_late(e.w.solver, island, c.ints[TI_EDGE]) == late:
                    t.list[g.fill[island]] = k
                    g.fill[island] += 1
    return OK


@kernel
def _is_late(v: Solver, island: int, edge: int) -> bool:
    """Whether an edge has a body in the second half of its island, which is another thread's."""
    g = v.graph
    return bool(is_large(v, island) and g.place[edge_body(g, edge)] >= v.large.split[island])


@kernel
def _moving(e: StepContext, i: int) -> int:
    """Body i if it can move, else −1."""
    return i if moves(e, i) else -1


@kernel
def _island(e: StepContext, c: Touch) -> int:
    """Island of a contact."""
    return edge_island(e.w.solver.graph, c.ints[TI_EDGE])


@kernel
def _changed(twist: PtrF8, c: Touch, dt: float) -> bool:
    """Whether a contact has to be looked at again where the bodies really go."""
    f = c.floats
    if c.ints[TI_KIND] == SPRING_KIND or not f[TF_F] > 0.0:
        return False
    un, w1, w2, u1, u2, wn = local_twist(c, twist)
    star = off(f, TF_U)
    if abs(f[TF_F] - f[TF_LAG]) > FORCE_CHANGE * f[TF_F] and f[TF_MU] > 0.0:
        return True
    width = sqrt(max(f[TF_S], 0.0))
    depth = abs(f[TF_H]) if c.ints[TI_KIND] == POINT_KIND else abs(f[TF_H]) / f[TF_S]
    tilt = abs(w1 - star[1]) + abs(w2 - star[2])
    reach = width
    if (
        f[TF_CURVED] > 0.0 and c.ints[TI_KIND] != POINT_KIND
    ):  # a strip reaches further than its area tells
        reach = max(width, sqrt(3.0 * (f[TF_JXX] + f[TF_JYY]) / f[TF_S]))
    if dt * (abs(un - star[0]) + tilt * reach) > DEPTH_CHANGE * depth + FLAT * width:
        return True
    slip = abs(u1 - star[3]) + abs(u2 - star[4]) + abs(wn - star[5]) * width
    return bool(dt * slip > SLIP_CHANGE * width)
