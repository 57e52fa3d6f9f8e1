"""The Delassus operator: what a force at one contact moves at another.

    W = Σ_b J_b S_b⁻¹ J_bᵀ + H_b C_b H_bᵀ,    over bodies b

J_b = ±[F, r × F] for the three directions F = (n, t1, t2) of a contact at arm r, + on body b and −
on body a; both arms reach to the same point, so that forces are equal and opposite in their
torques, too. S_b is that of the rigid motion (`free_motion`). A soft body adds its compliance C_b
within the step (`bodies.soft`) with H_b = ±ψ F R, ψ the weights of its nodes. Contacts are solved
in groups: bodies that move or yield, joined by contacts.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off
from tangere.bodies.soft import (
    SoftBodies,
    SoftState,
    add_nodal_force,
    answer,
    coasting,
    gain,
    modal_row,
    point_compliance,
)
from tangere.contact.unilateral.contact_rows import vec
from tangere.contact.unilateral.options import SolverOptions
from tangere.contact.unilateral.problem import (
    CF_BOUNCE,
    CF_FORCE,
    CF_FREE,
    CF_GAP,
    CF_MOTION,
    CF_MU,
    CF_N,
    CF_POINT,
    CF_SPRING,
    CF_STRETCH,
    CF_T1,
    CF_T2,
    CF_WEIGHTS,
    CF_YIELDS,
    CI_A,
    CI_B,
    CI_GROUP,
    CI_NODES,
    MOST_DENSE,
    NCF,
    NCI,
    NJ,
    Bodies,
    Contacts,
    System,
)
from tangere.friction.problem import BODIES, DENSE
from tangere.maths.quat import turn_back
from tangere.maths.vec import cross, dot, scale, sub
from tangere.model import Model, Sizes, State

# Impacts slower than what gravity does in so many steps do not bounce.
SLOW_STEPS = 4.0


@kernel
def set_up_jacobians(s: State, y: Bodies, e: SoftBodies, c: Contacts) -> None:
    """J and S⁻¹ Jᵀ of both sides of every contact, and those of elastic parts."""
    for k in range(c.used[0]):
        ints, row = off(c.ints, NCI * k), off(c.floats, NCF * k)
        point = vec(row, CF_POINT)
        for side in range(2):
            body = ints[CI_A + side]
            x = off(s.position, 3 * body)
            arm = sub(point, (x[0], x[1], x[2]))
            sign = -1.0 if side == 0 else 1.0
            j = off(c.jacobian, NJ * (2 * k + side))
            r = off(c.response, NJ * (2 * k + side))
            inverse = off(y.inverse, 36 * body)
            for q in range(3):
                f = vec(row, CF_N if q == 0 else CF_T1 if q == 1 else CF_T2)
                turn = cross(arm, f)
                for x3 in range(3):
                    j[6 * q + x3], j[6 * q + 3 + x3] = sign * f[x3], sign * turn[x3]
                for a in range(6):
                    total = 0.0
                    for b in range(6):
                        total += inverse[6 * a + b] * j[6 * q + b]
                    r[6 * q + a] = total
            if e.soft[body] >= 0:
                _set_up_elastic(s, e, c, k, side)


@kernel
def _set_up_elastic(s: State, e: SoftBodies, c: Contacts, k: int, side: int) -> None:
    """Directions of a contact in a soft body's frame, and its rows for the body's modes."""
    row = off(c.floats, NCF * k)
    body = c.ints[NCI * k + CI_A + side]
    nodes = off(c.ints, NCI * k + CI_NODES + 3 * side)
    weights = off(row, CF_WEIGHTS + 3 * side)
    sign = -1.0 if side == 0 else 1.0
    axes = off(c.axes, 9 * (2 * k + side))
    modal = off(c.modal, 3 * c.used[3] * (2 * k + side))
    for q in range(3):
        f = vec(row, CF_N if q == 0 else CF_T1 if q == 1 else CF_T2)
        way = scale(sign, turn_back(off(s.rotation, 9 * body), f))
        for x in range(3):
            axes[3 * q + x] = way[x]
        modal_row(e, e.soft[body], nodes, weights, way, off(modal, c.used[3] * q))


@kernel
def yields(m: Model, e: SoftBodies, body: int) -> bool:
    """Whether a force moves or deforms a body."""
    return bool(m.inv_mass[body] > 0.0 or e.soft[body] >= 0)


@kernel
def find_groups(z: Sizes, m: Model, e: SoftBodies, c: Contacts) -> None:
    """Contacts by group; those between bodies that do not yield are left out."""
    parent, count = c.parent, c.used[0]
    for i in range(z.bodies + z.floors):
        parent[i] = i
    for k in range(count):
        a, b = c.ints[NCI * k + CI_A], c.ints[NCI * k + CI_B]
        if yields(m, e, a) and yields(m, e, b):
            p, q = _root(c, a), _root(c, b)
            parent[max(p, q)] = min(p, q)
    # groups in the order of their first contact, contacts of a group in theirs
    for i in range(z.bodies + z.floors):
        c.label[i] = -1
    groups = 0
    for k in range(count):
        root = _group_root(m, e, c, k)
        c.ints[NCI * k + CI_GROUP] = -1
        if root < 0:
            continue
        if c.label[root] < 0:
            c.label[root] = groups
            c.group_start[groups] = 0
            groups += 1
        c.ints[NCI * k + CI_GROUP] = c.label[root]
        c.group_start[c.label[root]] += 1
    c.used[2] = groups
    placed = 0
    for g in range(groups):
        size = c.group_start[g]
        c.group_start[g] = placed
        placed += size
    c.group_start[groups] = placed
    for k in range(count - 1, -1, -1):  # from the last one on, so that each knows its end
        g = c.ints[NCI * k + CI_GROUP]
        if g >= 0:
            c.group_start[g + 1] -= 1
            c.order[c.group_start[g + 1]] = k
    for g in range(groups):
        c.group_start[g] = c.group_start[g + 1]
    c.group_start[groups] = placed


@kernel
def _group_root(m: Model, e: SoftBodies, c: Contacts, k: int) -> int:
    """Root of the bodies that contact k joins; −1 if neither yields."""
    a, b = c.ints[NCI * k + CI_A], c.ints[NCI * k + CI_B]
    body = b if yields(m, e, b) else a
    return _root(c, body) if yields(m, e, body) else -1


@kernel
def _root(c: Contacts, i: int) -> int:
    """Root of a body's tree, halving the path to it."""
    while c.parent[i] != i:
        c.parent[i] = c.parent[c.parent[i]]
        i = c.parent[i]
    return i


@kernel
def set_rebounds(m: Model, s: State, y: Bodies, c: Contacts, dt: float) -> None:
    """Turn restitutions into speeds: e times that of the approach, of impacts in this step.

    Newton's law at the level of velocities: u_n ≥ −e u_n⁻. Slow ones, and those that do not meet
    by the end of the step, have none.
    """
    g = sqrt(m.gravity[0] ** 2 + m.gravity[1] ** 2 + m.gravity[2] ** 2)
    for k in range(c.used[0]):
        ints, row = off(c.ints, NCI * k), off(c.floats, NCF * k)
        if row[CF_BOUNCE] == 0.0:
            continue
        before, free = 0.0, 0.0
        for side in range(2):
            body = ints[CI_A] if side == 0 else ints[CI_B]
            j = off(c.jacobian, NJ * (2 * k + side))
            for x in range(3):
                before += j[x] * s.velocity[3 * body + x] + j[3 + x] * s.omega[3 * body + x]
            for x in range(6):
                free += j[x] * y.free[6 * body + x]
        meets = row[CF_GAP] + dt * free < 0.0 and -before > SLOW_STEPS * dt * g
        row[CF_BOUNCE] = -row[CF_BOUNCE] * before if meets else 0.0


@kernel
def needs_dense(c: Contacts, e: SoftBodies, group: int) -> bool:
    """Whether W of a group has to be formed: it is small, or has a soft body."""
    first, end = c.group_start[group], c.group_start[group + 1]
    if end - first <= MOST_DENSE:
        return True
    for at in range(first, end):
        ints = off(c.ints, NCI * c.order[at])
        if e.soft[ints[CI_A]] >= 0 or e.soft[ints[CI_B]] >= 0:
            return True
    return False


@kernel
def assemble(
    c: Contacts,
    y: Bodies,
    e: SoftBodies,
    es: SoftState,
    system: System,
    group: int,
    dt: float,
    options: SolverOptions,
) -> int:
    """W, δ_free, μ and the first guess of a group; returns the number of its contacts."""
    first = c.group_start[group]
    count = c.group_start[group + 1] - first
    for p in range(count):
        k = c.order[first + p]
        row = off(c.floats, NCF * k)
        _free_gap(c, y, e, es, k, off(row, CF_FREE), dt, options)
        system.problem.mu[p] = row[CF_MU]
        for x in range(3):
            system.problem.q[3 * p + x] = row[CF_FREE + x]
            system.f[3 * p + x] = row[CF_FORCE + x]
    if needs_dense(c, e, group):
        system.problem.starts[0] = DENSE
        _fill_dense(c, e, system, first, count, dt)
    else:
        system.problem.starts[0] = BODIES
        _fill_bodies(c, system, first, count)
    return int(count)


@kernel
def own_compliance(row: PtrF8) -> float:
    """What a contact yields to its normal force; an impact that bounces is rigid [m/N]."""
    return 0.0 if row[CF_BOUNCE] > 0.0 else float(row[CF_YIELDS])


@kernel
def _fill_dense(
    c: Contacts, e: SoftBodies, system: System, first: int, count: int, dt: float
) -> None:
    """Every block of W."""
    width, W = 3 * count, system.problem.W
    for p in range(count):
        k = c.order[first + p]
        for q in range(p + 1):
            j = c.order[first + q]
            block = off(W, 3 * p * width + 3 * q)
            set_block(c, e, k, j, dt, block, width)
            if q < p:
                across = off(W, 3 * q * width + 3 * p)
                for x in range(3):
                    for x2 in range(3):
                        across[x2 * width + x] = block[x * width + x2]
            else:
                block[0] += own_compliance(off(c.floats, NCF * k))


@kernel
def _fill_bodies(c: Contacts, system: System, first: int, count: int) -> None:
    """Jacobians and responses in place of W: memory and time grow with the contacts alone."""
    p, bodies = system.problem, 0
    for at in range(count):
        for side in range(2):
            c.label[c.ints[NCI * c.order[first + at] + CI_A + side]] = -1
    for at in range(count):
        k = c.order[first + at]
        for side in range(2):
            body = c.ints[NCI * k + CI_A + side]
            if c.label[body] < 0:
                c.label[body] = bodies
                bodies += 1
            p.columns[2 * at + side] = c.label[body]
        p.soft[at] = own_compliance(off(c.floats, NCF * k))
        for i in range(2 * NJ):
            p.W[2 * NJ * at + i] = c.jacobian[2 * NJ * k + i]
            p.response[2 * NJ * at + i] = c.response[2 * NJ * k + i]
    p.starts[1] = bodies


@kernel
def _free_gap(
    c: Contacts,
    y: Bodies,
    e: SoftBodies,
    es: SoftState,
    k: int,
    out: PtrF8,
    dt: float,
    options: SolverOptions,
) -> None:
    """δ_free of a contact: its gap and slip at the end of the step without contact forces."""
    ints, row = off(c.ints, NCI * k), off(c.floats, NCF * k)
    for x in range(3):
        out[x] = 0.0
    for side in range(2):
        body = ints[CI_A + side]
        free = off(y.free, 6 * body)
        for x in range(3):
            j = off(c.jacobian, NJ * (2 * k + side) + 6 * x)
            total = 0.0
            for b in range(6):
                total += j[b] * free[b]
            out[x] += dt * total
        soft = e.soft[body]
        if soft >= 0:
            nodes, weights = off(ints, CI_NODES + 3 * side), off(row, CF_WEIGHTS + 3 * side)
            way = coasting(e, es, soft, nodes, weights, dt)
            axes = off(c.axes, 9 * (2 * k + side))
            for x in range(3):
                out[x] += dot(vec(axes, 3 * x), way)
    row[CF_MOTION] = out[0]
    gap = row[CF_GAP]
    if row[CF_BOUNCE] > 0.0:  # it has to part at that speed, wherever it meets within the step
        out[0] -= dt * row[CF_BOUNCE]
    elif own_compliance(row) > 0.0 and row[CF_SPRING] >= 0.0:  # pushed out by its spring
        out[0] -= row[CF_SPRING] * row[CF_STRETCH]
    elif gap < 0.0:  # too deep: pushed out, but not at any speed
        out[0] -= min(-gap, dt * options.recovery_speed)
    else:
        out[0] += gap


@kernel
def set_block(
    c: Contacts, e: SoftBodies, k: int, j: int, dt: float, out: PtrF8, width: int
) -> None:
    """The 3 x 3 block of W of contacts k and j, from the bodies that they share."""
    for x in range(3):
        for x2 in range(3):
            out[width * x + x2] = 0.0
    for one in range(2):
        body = c.ints[NCI * k + CI_A + one]
        for two in range(2):
            if c.ints[NCI * j + CI_A + two] != body:
                continue
            a = off(c.jacobian, NJ * (2 * k + one))
            b = off(c.response, NJ * (2 * j + two))
            for x in range(3):
                for x2 in range(3):
                    total = 0.0
                    for i in range(6):
                        total += a[6 * x + i] * b[6 * x2 + i]
                    out[width * x + x2] += total
            if e.soft[body] >= 0:
                _add_elastic(c, e, 2 * k + one, 2 * j + two, dt, out, width)


@kernel
def _add_elastic(
    c: Contacts, e: SoftBodies, one: int, two: int, dt: float, out: PtrF8, width: int
) -> None:
    """H C Hᵀ of two contacts on one soft body, each given by its side: 2 k + side."""
    k, j = one // 2, two // 2
    soft = e.soft[c.ints[NCI * k + CI_A + one % 2]]
    block = local_f8(9)
    point_compliance(
        e,
        soft,
        off(c.ints, NCI * k + CI_NODES + 3 * (one % 2)),
        off(c.floats, NCF * k + CF_WEIGHTS + 3 * (one % 2)),
        off(c.ints, NCI * j + CI_NODES + 3 * (two % 2)),
        off(c.floats, NCF * j + CF_WEIGHTS + 3 * (two % 2)),
        block,
    )
    share = gain(e, soft, dt)
    a, b = off(c.axes, 9 * one), off(c.axes, 9 * two)
    modes, stride = e.first_mode[soft + 1] - e.first_mode[soft], c.used[3]
    for x in range(3):
        way = (
            share * (a[3 * x] * block[0] + a[3 * x + 1] * block[3] + a[3 * x + 2] * block[6]),
            share * (a[3 * x] * block[1] + a[3 * x + 1] * block[4] + a[3 * x + 2] * block[7]),
            share * (a[3 * x] * block[2] + a[3 * x + 1] * block[5] + a[3 * x + 2] * block[8]),
        )
        h = off(c.modal, stride * (3 * one + x))
        for x2 in range(3):
            total = dot(way, vec(b, 3 * x2))
            g = off(c.modal, stride * (3 * two + x2))
            for i in range(modes):
                total += h[i] * g[i] * answer(e, e.first_mode[soft] + i, dt)
            out[width * x + x2] += total


@kernel
def load_nodes(e: SoftBodies, es: SoftState, c: Contacts) -> None:
    """Put the contacts' forces on the nodes of soft bodies."""
    for k in range(c.used[0]):
        ints, row = off(c.ints, NCI * k), off(c.floats, NCF * k)
        if not row[CF_FORCE] > 0.0:
            continue
        for side in range(2):
            if e.soft[ints[CI_A + side]] < 0:
                continue
            axes = off(c.axes, 9 * (2 * k + side))
            f = (0.0, 0.0, 0.0)
            for x in range(3):
                part = row[CF_FORCE + x]
                f = (
                    f[0] + part * axes[3 * x],
                    f[1] + part * axes[3 * x + 1],
                    f[2] + part * axes[3 * x + 2],
                )
            add_nodal_force(es, off(ints, CI_NODES + 3 * side), off(row, CF_WEIGHTS + 3 * side), f)
