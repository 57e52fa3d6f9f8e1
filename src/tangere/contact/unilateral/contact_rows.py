"""Rows of contacts: a new one, what it was in the last step, and all of them kept for the next.

A point that slips along a curved surface finds another normal at the end of the step. With the
Hessian H of the distance at the point, the gap after a relative way d is

    g + d_n + ½ d_tᵀ H d_t,    to first order about d*:    g − ½ d*ᵀ H d* + d_n + (H d*)·d_t

d* is the way that the contact went in the last step. So the normal is tilted by H d*, and the gap
becomes smaller by half of what the tilt gains.
"""

from __future__ import annotations

from math import isnan, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.bodies.rigid import velocity_at
from tangere.contact.unilateral.problem import (
    CF_BOUNCE,
    CF_CURVATURE,
    CF_EXPECTED_SLIP,
    CF_FORCE,
    CF_GAP,
    CF_MOTION,
    CF_MU,
    CF_MU_KINETIC,
    CF_N,
    CF_POINT,
    CF_STIFFNESS,
    CF_STRAIGHT,
    CF_STRETCH,
    CF_T1,
    CF_T2,
    CI_A,
    CI_B,
    CI_NODES,
    CI_PAIR,
    CI_STATE,
    NCF,
    NCI,
    NSP,
    OPEN,
    SLIP,
    SP_FIRST,
    SP_LAST,
    STICK,
    Contacts,
    SoftPairs,
)
from tangere.maths.vec import Vec3, add, axpy, basis, cross, dot, norm, scale, sub
from tangere.model import (
    MAT_KINETIC,
    MAT_RESTITUTION,
    MAT_STATIC,
    NI,
    NM,
    PI_FIRST,
    PI_LAST,
    Model,
    Pairs,
    State,
)

# A point that moved further than this and twice its way in a step is another one [m].
SAME = 2e-3
# A contact that moves no faster than this along the surface sticks: the solver's tolerance is far
# below [m/s].
SLOW = 1e-6
# The tilt of a normal within a step is no more than this [rad]: beyond, another point touches.
MOST_TILT = 0.3


@kernel
def vec(row: PtrF8, at: int) -> Vec3:
    """Three numbers of a row."""
    return (row[at], row[at + 1], row[at + 2])


@kernel
def put(row: PtrF8, at: int, v: Vec3) -> None:
    """Store three numbers of a row."""
    row[at], row[at + 1], row[at + 2] = v


@kernel
def new_contact(
    m: Model, c: Contacts, i: int, j: int, pair: int, point: Vec3, n: Vec3, gap: float
) -> int:
    """Append a contact of bodies i and j, with normal n from i to j; its number.

    It has no past, no nodes and no curvature yet; `recall` must follow.
    """
    at = c.used[0]
    c.used[0] = at + 1
    ints, row = off(c.ints, NCI * at), off(c.floats, NCF * at)
    ints[CI_A], ints[CI_B], ints[CI_PAIR], ints[CI_STATE] = i, j, pair, STICK
    for x in range(6):
        ints[CI_NODES + x] = -1
    for x in range(NCF):
        row[x] = 0.0
    t1, t2 = basis(n)
    put(row, CF_POINT, point)
    put(row, CF_N, n)
    put(row, CF_T1, t1)
    put(row, CF_T2, t2)
    row[CF_GAP] = gap
    row[CF_MU], row[CF_MU_KINETIC], row[CF_BOUNCE] = contact_law(m, i, j)
    return int(at)


@kernel
def contact_law(m: Model, i: int, j: int) -> tuple[float, float, float]:
    """Static and kinetic friction and restitution: geometric means of the two materials."""
    p, q = off(m.materials, NM * m.material[i]), off(m.materials, NM * m.material[j])
    e, other = p[MAT_RESTITUTION], q[MAT_RESTITUTION]
    if isnan(e):
        e = other
    elif not isnan(other):
        e = sqrt(e * other)
    mu0 = sqrt(p[MAT_STATIC] * q[MAT_STATIC])
    return mu0, sqrt(p[MAT_KINETIC] * q[MAT_KINETIC]), 0.0 if isnan(e) else e


# ---------------------------------------------------------------- the last step


@kernel
def recall(c: Contacts, s: State, start: int, end: int, first: int, dt: float, way: float) -> None:
    """Give new contacts, `first` on, what the same ones had in the last step, start … end there.

    Static friction holds what stuck, and kinetic friction what slipped; of a point that did not
    press, its velocity tells which. way: that the bodies went since then, at most [m]; negative:
    points have names in the place of the nodes, and only what has the same name is the same.
    """
    for at in range(first, c.used[0]):
        ints, row = off(c.ints, NCI * at), off(c.floats, NCF * at)
        if way < 0.0:
            old = last_named(c, start, end, off(ints, CI_NODES))
        else:
            old = _same(c, s, start, end, at, dt, SAME + 2.0 * way)
        point, n, state = vec(row, CF_POINT), vec(row, CF_N), OPEN
        u = sub(velocity_at(s, ints[CI_B], point), velocity_at(s, ints[CI_A], point))
        slip, was = scale(dt, u), row
        if old >= 0:
            was = off(c.last_floats, NCF * old)
            state = c.last_ints[NCI * old + CI_STATE]
            keep_tangents(row, was)
        if state == OPEN:
            state = SLIP if norm(axpy(-dot(u, n), n, u)) > SLOW else STICK
        else:
            row[CF_BOUNCE] = 0.0  # it pressed already: no impact
            slip = axpy(
                was[CF_MOTION + 1], vec(was, CF_T1), scale(was[CF_MOTION + 2], vec(was, CF_T2))
            )
        if state == SLIP:
            row[CF_MU] = row[CF_MU_KINETIC]
        if row[CF_CURVATURE] > 0.0:
            _tilt(row, slip)
        if old >= 0:
            resume(row, was)


@kernel
def _same(c: Contacts, s: State, start: int, end: int, at: int, dt: float, reach: float) -> int:
    """The contact of the last step that has the same nodes, or else the nearest; −1: none is near.

    Points of the last step are carried on by body b.
    """
    ints, point = off(c.ints, NCI * at), vec(off(c.floats, NCF * at), CF_POINT)
    j = ints[CI_B]
    v, w = vec(off(s.velocity, 3 * j), 0), vec(off(s.omega, 3 * j), 0)
    centre = axpy(-dt, v, vec(off(s.position, 3 * j), 0))
    best, nearest = -1, reach * reach
    for old in range(start, end):
        was = vec(off(c.last_floats, NCF * old), CF_POINT)
        was = axpy(dt, add(v, cross(w, sub(was, centre))), was)
        d = sub(point, was)
        away = dot(d, d)
        if away < reach * reach and ints[CI_NODES] >= 0:
            if same_nodes(off(ints, CI_NODES), off(c.last_ints, NCI * old + CI_NODES)):
                return old
        if away < nearest:
            best, nearest = old, away
    return best


@kernel
def last_named(c: Contacts, start: int, end: int, name: PtrI4) -> int:
    """The contact of the last step, start … end, that has a name; −1: there was none."""
    for old in range(start, end):
        if same_nodes(name, off(c.last_ints, NCI * old + CI_NODES)):
            return old
    return -1


@kernel
def same_nodes(one: PtrI4, two: PtrI4) -> bool:
    """Whether two contacts or feature pairs have the same nodes on both sides, 3 and 3."""
    for x in range(6):
        if one[x] != two[x]:
            return False
    return True


@kernel
def keep_tangents(row: PtrF8, was: PtrF8) -> None:
    """Let the tangents go on as they were, so that friction keeps its direction."""
    n, t1 = vec(row, CF_N), vec(was, CF_T1)
    t1 = axpy(-dot(t1, n), n, t1)
    length = norm(t1)
    if length > 0.5:
        t1 = scale(1.0 / length, t1)
        put(row, CF_T1, t1)
        put(row, CF_T2, cross(n, t1))


@kernel
def _tilt(row: PtrF8, slip: Vec3) -> None:
    """Tilt a contact's frame as the surface is curved along its way; see the top of this file."""
    n, t1, t2 = vec(row, CF_N), vec(row, CF_T1), vec(row, CF_T2)
    flat = vec(row, CF_STRAIGHT)
    along = dot(slip, flat)
    h = sub(axpy(-dot(slip, n), n, slip), scale(along, flat))  # H d*/κ
    tilt = scale(row[CF_CURVATURE], h)
    size = norm(tilt)
    if size > MOST_TILT:  # about a shorter way
        tilt, slip = scale(MOST_TILT / size, tilt), scale(MOST_TILT / size, slip)
    inverse = 1.0 / sqrt(1.0 + dot(tilt, tilt))
    row[CF_GAP] = inverse * (row[CF_GAP] - 0.5 * dot(tilt, slip))
    new = scale(inverse, add(n, tilt))
    t1 = axpy(-dot(t1, new), new, t1)
    t1 = scale(1.0 / norm(t1), t1)
    t2 = cross(new, t1)
    put(row, CF_N, new)
    put(row, CF_T1, t1)
    put(row, CF_T2, t2)
    row[CF_EXPECTED_SLIP], row[CF_EXPECTED_SLIP + 1] = dot(slip, t1), dot(slip, t2)


@kernel
def resume(row: PtrF8, was: PtrF8) -> None:
    """Take over the force of the last step, and what the contact's spring holds; only one may."""
    row[CF_STRETCH], row[CF_STIFFNESS] = was[CF_STRETCH], was[CF_STIFFNESS]
    was[CF_STRETCH] = 0.0
    force = scale(was[CF_FORCE], vec(was, CF_N))
    force = axpy(was[CF_FORCE + 1], vec(was, CF_T1), force)
    force = axpy(was[CF_FORCE + 2], vec(was, CF_T2), force)
    row[CF_FORCE] = max(0.0, dot(force, vec(row, CF_N)))
    row[CF_FORCE + 1] = dot(force, vec(row, CF_T1))
    row[CF_FORCE + 2] = dot(force, vec(row, CF_T2))


@kernel
def keep_contacts(c: Contacts, pairs: Pairs, soft: SoftPairs) -> None:
    """This step's contacts become the last step's; pairs know theirs."""
    count = c.used[0]
    for k in range(pairs.used[0]):
        ints = off(pairs.ints, NI * pairs.slot[k])
        ints[PI_FIRST], ints[PI_LAST] = 0, 0
    for k in range(soft.used[0]):
        row = off(soft.rows, NSP * k)
        row[SP_FIRST], row[SP_LAST] = 0, 0
    for k in range(count):
        pair = c.ints[NCI * k + CI_PAIR]
        if pair >= 0:
            ints = off(pairs.ints, NI * pair)
            ints[PI_FIRST] = k if ints[PI_LAST] == 0 else ints[PI_FIRST]
            ints[PI_LAST] = k + 1
        else:
            row = off(soft.rows, NSP * (-1 - pair))
            row[SP_FIRST] = k if row[SP_LAST] == 0 else row[SP_FIRST]
            row[SP_LAST] = k + 1
    for k in range(NCI * count):
        c.last_ints[k] = c.ints[k]
    for k in range(NCF * count):
        c.last_floats[k] = c.floats[k]
    c.used[1] = count
