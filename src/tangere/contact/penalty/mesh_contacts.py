"""Contacts of bodies that are meshes, within a step: points of each in the field of the other.

Bodies of one convex part meet each other, and floors, at the points of their parts
(`unilateral.detect`). Where one of two bodies is a mesh, points that are near are found through
distance fields, and the few that hold the two are kept: those that carried force in the last step
or will overlap first, and of these always the one furthest from all kept, by place and normal.

Each contact has a spring and a damper beside it. With s its stretch and u_n the speed of parting,

    f = max(0, k (s − dt u_n) − b u_n),   so   dt u_n + c f − k c s = 0,   c = dt/(k dt + b),

and of one that does not touch yet, with the gap g,  dt u_n + c f + g = 0. What is remembered from
step to step is s, as the bodies moved, not the overlap as the fields have it: so no energy comes
from points that change. Where there is less overlap than stretch, the stretch is cut; where there
is more, it grows by no more than the recovery speed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off, ptr
from tangere.collision.broad import BITS, near
from tangere.collision.contact_query import (
    CONTACT_ANCHOR,
    CONTACT_AREA,
    CONTACT_DEPTH,
    CONTACT_NAME,
    CONTACT_NORMAL,
    CONTACT_POINT,
    COUNT,
    NCONTACT,
    NPOSE,
    STAMP,
    Placed,
    begin,
    place,
)
from tangere.collision.distance_field import field_value
from tangere.collision.field_query import Solids, grid_view, search_floor, search_pair
from tangere.collision.field_sides import NO_DIRECTION
from tangere.contact.unilateral.contact_rows import new_contact, recall, vec
from tangere.contact.unilateral.detect import REACH, pair_points, reach_of
from tangere.contact.unilateral.options import SolverOptions
from tangere.contact.unilateral.problem import (
    CF_AREA,
    CF_BOUNCE,
    CF_GAP,
    CF_SPRING,
    CF_STIFFNESS,
    CF_STRETCH,
    CF_YIELDS,
    CI_NODES,
    NCF,
    NCI,
    Bodies,
    Contacts,
)
from tangere.elements.contact_law import Law, pair_law
from tangere.maths.quat import turn, turn_back
from tangere.maths.vec import Array, IntArray, LongArray, Vec3, add, cross, dot, norm, scale, sub
from tangere.model import (
    NI,
    OK,
    PHASE_APART,
    PHASE_TOUCH,
    PI_BODY_A,
    PI_BODY_B,
    PI_FIRST,
    PI_LAST,
    PI_PHASE,
    SOLVER_FULL,
    Hulls,
    Model,
    Sizes,
    State,
    Work,
)

# Nodes and points looked at for one pair of bodies; never reached by bodies that do not overlap.
BUDGET = 1_000_000
# A point that carried force counts as so many times as far from those kept.
HOLDS = 2.0
# Two normals at an angle of 1 rad are as far apart as two ends of the contact.
NORMALS = 1.0
# Overlaps of the first step are springs that carry up to so many times a body's weight.
LOADED, EARTH = 10.0, 9.81  # [m/s²]
# Change of a contact's share of the stiffness from one step to the next, relative to it.
FOLLOWS = 0.02
# Surfaces that bend less than this are flat [1/m].
FLAT = 1e-3


class Meshes(NamedTuple):
    """Bodies as meshes, and scratch for the contacts of one pair.

    | field     | meaning                                                   | shape     |
    | solids    | fields and points of all shapes                           |           |
    | placed    | where the bodies are, in the order of the model           |           |
    | whole     | 1: the body is a mesh                                     | (n,)      |
    | rows      | points found, see `CONTACT_…`                             | (r, …)    |
    | tally     | of the query                                              |           |
    | predicted | gap of each at the end of the step without forces [m]     | (r,)      |
    | away      | square of the distance to the nearest one kept [m²]       | (r,)      |
    | state     | 1: it carried force; then 2: it is kept                   | (r,)      |
    """

    solids: Solids
    placed: Placed
    whole: IntArray
    rows: Array
    tally: LongArray
    predicted: Array
    away: Array
    state: IntArray


def new_meshes(solids: Solids, placed: Placed, whole: IntArray, room: int, tally: int) -> Meshes:
    """Scratch for so many points of a pair."""
    return Meshes(
        solids,
        placed,
        whole,
        np.zeros((room, NCONTACT)),
        np.zeros(tally, np.int64),
        np.zeros(room),
        np.zeros(room),
        np.zeros(room, np.int32),
    )


@kernel
def find_mesh_contacts(
    z: Sizes,
    m: Model,
    h: Hulls,
    s: State,
    w: Work,
    y: Bodies,
    c: Contacts,
    meshes: Meshes,
    dt: float,
    stamp: int,
    room: int,
    options: SolverOptions,
) -> int:
    """List the contacts of all pairs of bodies that are near; OK or SOLVER_FULL."""
    c.used[0] = 0
    _place_bodies(z, s, meshes.placed)
    pairs = w.pairs
    for k in range(pairs.used[0]):
        slot = pairs.slot[k]
        ints = off(pairs.ints, NI * slot)
        if not near(z, m, w.world, pairs.key[k]):
            ints[PI_PHASE] = PHASE_APART if ints[PI_PHASE] == PHASE_TOUCH else ints[PI_PHASE]
            continue
        first = c.used[0]
        if first + max(options.max_contacts, 8) > room:
            return SOLVER_FULL
        i, j = ints[PI_BODY_A], ints[PI_BODY_B]
        on_floor = pairs.key[k] >> (2 * BITS) >= z.bodies
        reach, way = reach_of(m, h, s, ints, on_floor, dt)
        if meshes.whole[j] == 1 or (not on_floor and meshes.whole[i] == 1):
            count = _search(z, s, y, c, meshes, ints, on_floor, reach, dt)
            _list(m, c, meshes, count, slot, ints, on_floor, options.max_contacts)
            recall(c, s, ints[PI_FIRST], ints[PI_LAST], first, dt, -1.0)
            ints[PI_PHASE] = PHASE_TOUCH if c.used[0] > first else PHASE_APART
        else:
            pair_points(z, m, h, s, w, c, reach, stamp, slot, on_floor)
            recall(c, s, ints[PI_FIRST], ints[PI_LAST], first, dt, way)
        law = pair_law(m, i, j, dt, True, False)
        mass = 1.0 / (m.inv_mass[i] + m.inv_mass[j])
        loaded = LOADED * EARTH * mass / law.k if stamp == 0 else 0.0
        _set_springs(c, law, first, dt, loaded, options.recovery_speed)
    return OK


@kernel
def _place_bodies(z: Sizes, s: State, placed: Placed) -> None:
    """Poses of all bodies, for the queries."""
    for i in range(z.bodies):
        row = off(ptr(placed.poses), NPOSE * i)
        for k in range(3):
            row[k] = s.position[3 * i + k]
        for k in range(4):
            row[3 + k] = s.quaternion[4 * i + k]
    place(placed)


@kernel
def _search(
    z: Sizes,
    s: State,
    y: Bodies,
    c: Contacts,
    meshes: Meshes,
    ints: PtrI4,
    on_floor: bool,
    reach: float,
    dt: float,
) -> int:
    """Points of a pair that are near, their gaps at the step's end, and which carried force."""
    i, j = ints[PI_BODY_A], ints[PI_BODY_B]
    state = begin(meshes.tally)
    state[STAMP] += 1  # nothing is remembered from query to query: each pair has its own contacts
    if on_floor:
        search_floor(
            meshes.solids, meshes.placed, j, i - z.bodies, 0, reach, BUDGET, meshes.rows, state
        )
    else:
        search_pair(
            meshes.solids, meshes.placed, (i, j), (0, 0), 0, reach, BUDGET, meshes.rows, state
        )
    for k in range(state[COUNT]):
        row = off(ptr(meshes.rows), NCONTACT * k)
        n, p = vec(row, CONTACT_NORMAL), vec(row, CONTACT_POINT)
        # of the first body, which on a floor is body b
        one, two = (j, i) if on_floor else (i, j)
        u = sub(_free_velocity(s, y, two, p), _free_velocity(s, y, one, p))
        meshes.predicted[k] = -row[CONTACT_DEPTH] + dt * dot(u, n)
        meshes.state[k] = _carried(c, int(row[CONTACT_NAME]), ints[PI_FIRST], ints[PI_LAST])
    return int(state[COUNT])


@kernel
def _free_velocity(s: State, y: Bodies, i: int, p: Vec3) -> Vec3:
    """Velocity of a point of body i without contacts."""
    v, x = off(y.free, 6 * i), off(s.position, 3 * i)
    arm = sub(p, (x[0], x[1], x[2]))
    return add((v[0], v[1], v[2]), cross((v[3], v[4], v[5]), arm))


@kernel
def _carried(c: Contacts, name: int, start: int, end: int) -> int:
    """1 where a point pressed in the last step."""
    for old in range(start, end):
        if c.last_ints[NCI * old + CI_NODES] == name:
            return 1 if c.last_floats[NCF * old + CF_STRETCH] > 0.0 else 0
    return 0


@kernel
def _list(
    m: Model,
    c: Contacts,
    meshes: Meshes,
    count: int,
    slot: int,
    ints: PtrI4,
    on_floor: bool,
    most: int,
) -> None:
    """Make contacts of the points that are kept, in the order in which they were found."""
    i, j = ints[PI_BODY_A], ints[PI_BODY_B]
    if count > most:
        keep_apart(meshes, count, most)
    for k in range(count):
        if count > most and meshes.state[k] != 2:
            continue
        row = off(ptr(meshes.rows), NCONTACT * k)
        if on_floor:  # the floor is a, the body b
            n, point = scale(-1.0, vec(row, CONTACT_NORMAL)), vec(row, CONTACT_POINT)
        else:
            n, point = _contact_normal(meshes, row, i, j), vec(row, CONTACT_ANCHOR)
        at = new_contact(m, c, i, j, slot, point, n, -row[CONTACT_DEPTH])
        off(c.floats, NCF * at)[CF_AREA] = row[CONTACT_AREA]
        name = off(c.ints, NCI * at + CI_NODES)
        name[0] = int(row[CONTACT_NAME])
        for x in range(1, 6):
            name[x] = 0


@kernel
def _contact_normal(meshes: Meshes, row: PtrF8, first: int, second: int) -> Vec3:
    """Normal of a contact, out of the first body: that of the flatter one of the two surfaces.

    Where two surfaces touch, their normals are opposite. Beside that point they are not, and fields
    round edges, so that normals lean there: bodies that slide over each other would catch on what
    is not in their way. The flatter surface has the normal of the place where they touch.
    """
    p, p0 = vec(row, CONTACT_POINT), vec(row, CONTACT_ANCHOR)
    a, bend_a = _normal_of(meshes, first, p)
    b, bend_b = _normal_of(meshes, second, p0)
    flat = FLAT * FLAT
    weight = (bend_b + flat) / (bend_a + bend_b + 2.0 * flat)
    n = sub(scale(weight * weight, a), scale((1.0 - weight) * (1.0 - weight), b))
    length = norm(n)
    if not length > 0.5 * (weight * weight + (1.0 - weight) * (1.0 - weight)):
        return vec(row, CONTACT_NORMAL)
    return scale(1.0 / length, n)


@kernel
def _normal_of(meshes: Meshes, body: int, p: Vec3) -> tuple[Vec3, float]:
    """Outward normal of a body's surface at a point near it, and the square of how it bends.

    That is the Laplacian of the distance, the sum of the principal curvatures [1/m²].
    """
    frame = off(ptr(meshes.placed.turns), 12 * body)
    grid = grid_view(meshes.solids, meshes.placed.solid_of[body])
    x = turn_back(frame, sub(p, (frame[9], frame[10], frame[11])))
    h = grid.spacing
    middle = field_value(grid, x)
    one = field_value(grid, (x[0] + h, x[1], x[2])), field_value(grid, (x[0] - h, x[1], x[2]))
    two = field_value(grid, (x[0], x[1] + h, x[2])), field_value(grid, (x[0], x[1] - h, x[2]))
    three = field_value(grid, (x[0], x[1], x[2] + h)), field_value(grid, (x[0], x[1], x[2] - h))
    bend = one[0] + one[1] + two[0] + two[1] + three[0] + three[1] - 6.0 * middle
    bend /= h * h
    n = (one[0] - one[1], two[0] - two[1], three[0] - three[1])
    length = norm(n)
    if not length > NO_DIRECTION * h:
        return (0.0, 0.0, 0.0), bend * bend
    return turn(frame, scale(1.0 / length, n)), bend * bend


@kernel
def keep_apart(meshes: Meshes, count: int, most: int) -> None:
    """Choose `most` of the points found: their state becomes 2.

    Points that carried force, or will overlap, come first; then the others. Of each kind the one
    furthest from all kept is next, the first of all the one that will be deepest.
    """
    rows, state = ptr(meshes.rows), meshes.state
    scale2 = _extent2(rows, count) * NORMALS * NORMALS
    best = 0
    for k in range(1, count):
        if meshes.predicted[k] < meshes.predicted[best]:
            best = k
    for k in range(count):
        meshes.away[k] = np.inf
    for taken in range(most):
        if taken > 0:
            best, furthest, urgent = -1, -1.0, False
            for k in range(count):
                if state[k] == 2:
                    continue
                now = state[k] == 1 or meshes.predicted[k] < 0.0
                far = meshes.away[k] * (HOLDS * HOLDS if state[k] == 1 else 1.0)
                if (now and not urgent) or (now == urgent and far > furthest):
                    best, furthest, urgent = k, far, now
        state[best] = 2
        here = off(rows, NCONTACT * best)
        for k in range(count):
            if state[k] != 2:
                there = off(rows, NCONTACT * k)
                d = sub(vec(here, CONTACT_POINT), vec(there, CONTACT_POINT))
                e = sub(vec(here, CONTACT_NORMAL), vec(there, CONTACT_NORMAL))
                meshes.away[k] = min(meshes.away[k], dot(d, d) + scale2 * dot(e, e))


@kernel
def _extent2(rows: PtrF8, count: int) -> float:
    """Square of the greatest distance of a point from the first [m²]."""
    most, x = 0.0, vec(rows, CONTACT_POINT)
    for k in range(1, count):
        d = sub(vec(off(rows, NCONTACT * k), CONTACT_POINT), x)
        most = max(most, dot(d, d))
    return most


@kernel
def _set_springs(
    c: Contacts, law: Law, first: int, dt: float, loaded: float, recovery: float
) -> None:
    """Share the stiffness of a pair among its contacts that touch, and find their stretch.

    The share follows their number slowly, or each point that comes or goes would be a push. What a
    point overlaps beyond its stretch recovers the more slowly the less it is: points that are kept
    in turn would bring energy, and bodies hum.

    loaded: overlaps up to this are springs under load: those of the first step [m].
    """
    touching, known, before = 0, 0, 0.0
    for at in range(first, c.used[0]):
        row = off(c.floats, NCF * at)
        touching += 1 if row[CF_GAP] <= 0.0 else 0
        if row[CF_STRETCH] > 0.0:
            known += 1
            before += row[CF_STIFFNESS] / law.k
    share = 1.0 / max(touching, 1)
    if known > 0:
        before /= known
        share = min(max(share, before * (1.0 - FOLLOWS)), before * (1.0 + FOLLOWS))
    k, b = share * law.k, share * law.b
    for at in range(first, c.used[0]):
        row = off(c.floats, NCF * at)
        overlap = max(0.0, -row[CF_GAP])
        held = row[CF_STRETCH]
        if held > 0.0:  # the same energy in a spring that is stiffer or softer
            held *= (row[CF_STIFFNESS] / k) ** 0.5
        lacks = min(1.0, max(0.0, overlap - held) / REACH)
        held = max(held + dt * recovery * lacks * lacks, loaded)
        row[CF_STRETCH] = min(overlap, held)
        row[CF_STIFFNESS] = k
        row[CF_YIELDS] = dt / (k * dt + b)
        row[CF_SPRING] = k * dt / (k * dt + b) if row[CF_GAP] <= 0.0 else -1.0
        if row[CF_BOUNCE] > 0.0:
            row[CF_BOUNCE] = law.e
