"""One implicit step: guess, geometry, solve, geometry again where it matters, friction state.

guess = the last twists
twice: poses reached with the guess → contacts there → minimise the step problem → new guess;
the second time for contacts that changed
forces of the last solution move the bodies; friction springs and stored energies are kept
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.collision.broad import update_boxes, update_pairs
from tangere.contact.implicit.again import gather_again
from tangere.contact.implicit.changes import let_go
from tangere.contact.implicit.curved import cut_lead
from tangere.contact.implicit.evaluate import evaluate
from tangere.contact.implicit.gather import gather
from tangere.contact.implicit.keep import finish
from tangere.contact.implicit.newton import ROUGHLY, SLIPS, TOLERANCE
from tangere.contact.implicit.record import (
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
from tangere.contact.implicit.scope import PASSES, Scope, moves, stamped
from tangere.contact.implicit.share import UNSOLVED, solve_islands
from tangere.contact.implicit.stored import forestall, overdrawn, set_limit
from tangere.dynamics.islands import (
    edge_body,
    edge_island,
    find_islands,
    is_large,
    same_edges,
)
from tangere.dynamics.rigid import free_rotation, stiff_share, world_point
from tangere.maths.quat import matrix_into, product, turn_back, unit
from tangere.maths.vec import basis, norm, scale, sub
from tangere.model import NF, NI, NK, OK, PF_LAG, PF_PRESS, PI_CALM, SOLVER_FULL
from tangere.solver import REPORT_PASSES, REPORT_RESIDUAL, REPORT_SOLVES, Graph

# A contact is looked at again if its depth changed by more than this share of itself, or if it
# slipped by more than this share of its width, or if its normal force is off by this share.
DEPTH_CHANGE, SLIP_CHANGE, FORCE_CHANGE = 0.05, 1e-3, 1e-3
# More than this share of the contacts to be looked at again: all are.
FEW = 0.5
# Depths below this share of the patch's width are rounding.
FLAT = 1e-12


@kernel
def advance(e: Scope, fresh: bool) -> int:
    """Solve one step; leaves contact wrenches in `s.wrench`, those of springs in `s.applied`.

    Returns OK or what is full; nothing has moved yet.
    """
    _prepare(e)
    v = e.w.solver
    t, g = v.touches, v.graph
    v.report[REPORT_SOLVES] = 0.0
    status, marked = OK, 0
    for attempt in range(PASSES):
        for i in range(e.z.bodies + e.z.floors):
            _coast(e, i)
        left = update_boxes(e.z, e.m, e.h, e.e, e.dt, e.margin, e.w.world, e.w.tree.left)
        if left > 0:
            status = update_pairs(e.z, e.m, e.h, e.e, e.dt, e.w, left)
            if status != OK:
                return status
        scope = stamped(e, PASSES * e.stamp + attempt)
        few = attempt > 0 and left == 0 and marked <= FEW * t.used[0]
        if not (few and gather_again(scope, fresh)):
            status = gather(scope, fresh)
            if status == OK:
                status = _springs(scope)
            if status == OK:
                status = _graph(scope)
            if status != OK:
                return status
        for i in range(e.z.bodies):
            if g.island[i] < 0:
                for k in range(6):
                    v.ahead.twist[6 * i + k] = v.ahead.free[6 * i + k]
        v.report[REPORT_PASSES] = attempt + 1
        _foresee(scope, attempt > 0)
        _solve(scope, attempt == 0, ROUGHLY if attempt + 1 < PASSES else TOLERANCE)
        if attempt + 1 == PASSES:
            break
        marked, bounces = 0, False
        for k in range(t.used[0]):
            c = touch(t, k)
            if c.ints[TI_KIND] != SPRING_KIND:
                c.ints[TI_NEW] = 1 if _changed(v.ahead.twist, c, e.dt) else 0
                marked += c.ints[TI_NEW]
                calm = scope.stamp + 1 if c.ints[TI_NEW] == 0 else -1
                e.w.pairs.ints[NI * c.ints[TI_SLOT] + PI_CALM] = calm
                bounces = bounces or (c.floats[TF_E] > 0.0 and c.floats[TF_F] > 0.0)
                # the next pass limits friction by this
                off(e.w.pairs.floats, NF * c.ints[TI_SLOT])[PF_LAG] = c.floats[TF_F]
        if bounces:  # where the bodies bounce to, nothing of the impact would be left to see
            _rebound(scope)
            break
        if marked == 0:
            _solve(scope, False, TOLERANCE)
            break
        for i in range(6 * (e.z.bodies + e.z.floors)):
            v.ahead.base[i] = v.ahead.guess[i]
            v.ahead.guess[i] = v.ahead.twist[i]
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
    v.report[REPORT_RESIDUAL] = 0.0
    for island in range(g.known[1]):
        v.report[REPORT_RESIDUAL] = max(v.report[REPORT_RESIDUAL], v.residual[island])
    finish(e)
    return OK


@kernel
def _foresee(e: Scope, again: bool) -> None:
    """In large islands, change contacts that by the guess will not behave as they are taken to.

    A few of thousands always do, and to find them by a solution would mean to solve it all again.
    again: the guess is the motion found by a pass, not that of the last step.
    """
    v = e.w.solver
    t = v.touches
    for island in range(v.graph.known[1]):
        if is_large(v.graph, island):
            for at in range(t.start[island], t.start[island + 1]):
                c = touch(t, t.list[at])
                if c.ints[TI_NEW] == 1:
                    let_go(v, c, e.dt, SLIPS)
                    if again:
                        forestall(t, c, e.dt)


@kernel
def _rebound(e: Scope) -> None:
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
        _solve(e, False, TOLERANCE)


@kernel
def _solve(e: Scope, hope: bool, tolerance: float) -> None:
    """Solve all islands to a residual."""
    v = e.w.solver
    for island in range(v.graph.known[1]):
        v.residual[island] = UNSOLVED
    solve_islands(e, hope, tolerance)


@kernel
def _prepare(e: Scope) -> None:
    """Free twists, inertia in the world, and the last twists as guess."""
    h = e.w.solver.ahead
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
def _coast(e: Scope, i: int) -> None:
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
def _springs(e: Scope) -> int:
    """List the scene's springs as contacts that may pull.

    f = −k (d + σ dt u) − b u, with d the stretch at the start, u the speed at the end of the step
    and σ near 0 for springs that are slow for the step, near 1 for stiff ones: along e = d/|d| with
    rest length l₀, and across it with k max(0, 1 − l₀/|d|); in all directions for rest length 0.
    """
    t, world = e.w.solver.touches, e.z.bodies + e.z.floors
    for j in range(e.z.springs):
        data = off(e.m.spring_data, NK * j)
        ia, ib = e.m.spring_bodies[2 * j], e.m.spring_bodies[2 * j + 1]
        if t.used[0] >= e.rooms[1]:
            return SOLVER_FULL
        c = touch(t, t.used[0])
        t.used[0] += 1
        pa = world_point(e.s, ia, (data[0], data[1], data[2]))
        time = e.s.time[0]
        pb = (data[3] + time * data[9], data[4] + time * data[10], data[5] + time * data[11])
        drift = (data[9], data[10], data[11])
        if ib >= 0:
            pb = world_point(e.s, ib, (data[3], data[4], data[5]))
            drift = (0.0, 0.0, 0.0)
        d = sub(pa, pb)
        length = norm(d)
        n = scale(1.0 / length, d) if length > 0.0 else (0.0, 0.0, 1.0)
        t1, t2 = basis(n)
        k, b, rest = data[6], data[7], data[8]
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
        share = stiff_share(data[12], e.dt)
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
def _graph(e: Scope) -> int:
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
        status = find_islands(e.z, g, e.s.position, edges, e.rooms[3])
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
                if _is_late(g, island, c.ints[TI_EDGE]) == late:
                    t.list[g.fill[island]] = k
                    g.fill[island] += 1
    return OK


@kernel
def _is_late(g: Graph, island: int, edge: int) -> bool:
    """Whether an edge has a body in the second half of its island, which is another thread's."""
    return bool(g.direct[island] == 0 and g.place[edge_body(g, edge)] >= g.half[island])


@kernel
def _moving(e: Scope, i: int) -> int:
    """Body i if it can move, else −1."""
    return i if moves(e, i) else -1


@kernel
def _island(e: Scope, c: Touch) -> int:
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
