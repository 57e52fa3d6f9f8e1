"""Contacts of convex rigid parts: points with gaps.

Points, normals and gaps are those of the last corrected pose. On the pose of the free motion they
would turn with what the contact is about to prevent.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrI4, local_f8, off
from tangere.collision.broad import BITS, near
from tangere.collision.contact_points import MAX_POINTS, NPOINT, contact_points, floor_points
from tangere.collision.solids import solid_of
from tangere.contact.unilateral.contact_rows import new_contact, recall, vec
from tangere.contact.unilateral.problem import Contacts
from tangere.maths.vec import norm, sub
from tangere.model import (
    NF,
    NI,
    OK,
    PF_NORMAL,
    PHASE_APART,
    PHASE_TOUCH,
    PI_BODY_A,
    PI_BODY_B,
    PI_FIRST,
    PI_LAST,
    PI_PART_A,
    PI_PART_B,
    PI_PHASE,
    PI_SIMPLEX,
    SOLVER_FULL,
    Hulls,
    Model,
    Sizes,
    State,
    Work,
)

# Points within this, and twice the way they may go in a step, are contacts [m].
REACH = 1e-4


@kernel
def find_contacts(
    z: Sizes, m: Model, h: Hulls, s: State, w: Work, c: Contacts, dt: float, stamp: int, room: int
) -> int:
    """List the contacts of all pairs of convex parts that are near; OK or SOLVER_FULL."""
    c.used[0] = 0
    pairs = w.pairs
    for k in range(pairs.used[0]):
        slot = pairs.slot[k]
        ints = off(pairs.ints, NI * slot)
        first = c.used[0]
        if near(z, m, w.world, pairs.key[k]):
            if first + MAX_POINTS > room:
                return SOLVER_FULL
            on_floor = pairs.key[k] >> (2 * BITS) >= z.bodies
            reach, way = reach_of(m, h, s, ints, on_floor, dt)
            pair_points(z, m, h, s, w, c, reach, stamp, slot, on_floor)
            recall(c, s, ints[PI_FIRST], ints[PI_LAST], first, dt, way)
        else:
            ints[PI_PHASE] = PHASE_APART if ints[PI_PHASE] == PHASE_TOUCH else ints[PI_PHASE]
    return OK


@kernel
def reach_of(
    m: Model, h: Hulls, s: State, ints: PtrI4, on_floor: bool, dt: float
) -> tuple[float, float]:
    """Distance up to which points of a pair are contacts, and their way in a step at most [m]."""
    spin = _spin(m, h, s, ints[PI_PART_B])
    if not on_floor:
        spin += _spin(m, h, s, ints[PI_PART_A])
    va = vec(off(s.velocity, 3 * ints[PI_BODY_A]), 0)
    vb = vec(off(s.velocity, 3 * ints[PI_BODY_B]), 0)
    # not the relative speed: a third body may stop one of the two within the step
    fall = dt * norm(vec(m.gravity, 0))  # within the step
    reach = REACH + 2.0 * dt * (norm(va) + norm(vb) + spin + fall)
    return reach, dt * (norm(sub(vb, va)) + spin)


@kernel
def pair_points(
    z: Sizes,
    m: Model,
    h: Hulls,
    s: State,
    w: Work,
    c: Contacts,
    reach: float,
    stamp: int,
    slot: int,
    on_floor: bool,
) -> None:
    """Append the contact points of one pair."""
    ints, floats = off(w.pairs.ints, NI * slot), off(w.pairs.floats, NF * slot)
    i, j = ints[PI_BODY_A], ints[PI_BODY_B]
    out = local_f8(32)  # MAX_POINTS * NPOINT
    normal, simplex = off(floats, PF_NORMAL), off(ints, PI_SIMPLEX)
    q = ints[PI_PART_B]
    b = solid_of(m, h, s, w.world, q, stamp)
    if on_floor:
        plane = off(m.floor_plane, 4 * (i - z.bodies))
        for k in range(3):
            normal[k] = plane[k]
        count = floor_points(b, plane, reach, out)
    else:
        p = ints[PI_PART_A]
        a = solid_of(m, h, s, w.world, p, stamp)
        size = min(h.size[m.part_hull[p]], h.size[m.part_hull[q]])
        count = contact_points(a, b, size, reach, ints[PI_PHASE], normal, simplex, out)
    ints[PI_PHASE] = PHASE_TOUCH if count > 0 else PHASE_APART
    n = (normal[0], normal[1], normal[2])
    for k in range(count):
        point = off(out, NPOINT * k)
        new_contact(m, c, i, j, slot, vec(point, 0), n, point[3])


@kernel
def _spin(m: Model, h: Hulls, s: State, part: int) -> float:
    """Bound on the speed of a part's points about its body's centre of mass [m/s]."""
    box = off(h.box, 6 * m.part_hull[part])
    corner = (abs(box[0]) + box[3], abs(box[1]) + box[4], abs(box[2]) + box[5])
    return norm(vec(off(s.omega, 3 * m.part_body[part]), 0)) * norm(corner)
