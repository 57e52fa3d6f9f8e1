"""What is remembered of a contact from pose to pose: its anchor, and its ways of late.

The stretch s of a contact, what A has slipped since its anchor, is carried along in the contact
plane and grows by the displacement of A's material at the contact. Where the contact stays on one
point of A this is the way from an anchor; where it moves over A, it is the difference of the ways
over both surfaces, so that pure rolling leaves s as it is.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.contact.formation.columns import (
    LAW_LAYER,
    LAW_MEMORY,
    LAW_PRINTED,
    MEM_ID,
    MEM_LOCAL,
    MEM_NORMAL,
    MEM_PATH,
    MEM_POINT,
    MEM_PRESS,
    MEM_ROW,
    MEM_SEEN,
    MEM_SLIP,
    MEM_STATE,
    MEM_STRETCH,
    MEM_TURN,
    MEM_USED,
    MOST_CONTACTS,
    NMEM,
    NOUT,
    NPC,
    OUT_IMPACT,
    OUT_NEED,
    OUT_POINT,
    OUT_PRESS,
    OUT_SLIP,
    OUT_SPIN,
    OUT_STATE,
    OUT_STRETCH,
    OUT_TURN,
    PC_ID,
    PC_NORMAL,
    ROLL,
    SLIP,
    put,
    vec,
)
from tangere.contact.formation.motion import MO_COUNT, MO_LONG, MO_NEWEST, MO_TWIST, NPOSE, Motion
from tangere.contact.formation.motion_type import IS_FIRST, IS_KEPT, IS_NEW, Frame
from tangere.maths.quat import matrix_into, turn, turn_back, turn_between
from tangere.maths.vec import Vec3, add, axpy, cross, dot, norm, scale, sub

# A contact that has become another keeps its anchor if its plane turned by less: cosine of 10°.
SAME_PLANE = 0.98481


class Now(NamedTuple):
    """A at this pose: rotation, as pointer; centre of mass; twists; what moved since the last pose.

    | field    | meaning                                                          |
    | r        | rotation of A                                                    |
    | r_old    | at the last pose                                                 |
    | c        | centre of mass [m]                                               |
    | c_old    | at the last pose [m]                                             |
    | v, w     | twist, long window [m/s, rad/s]                                  |
    | turned   | about an axis, since the last pose [rad]                         |
    """

    r: PtrF8
    r_old: PtrF8
    c: Vec3
    c_old: Vec3
    v: Vec3
    w: Vec3
    turned: Vec3


@kernel
def where(m: Motion, pose: PtrF8, r: PtrF8, r_old: PtrF8) -> Now:
    """Where A is, where it was, and how it moves; `r` and `r_old` have room for nine numbers."""
    state = m.state
    most = int(state[MO_LONG])
    q = (pose[3], pose[4], pose[5], pose[6])
    matrix_into(q, r)
    c, q_old = (pose[0], pose[1], pose[2]), q
    c_old = c
    if state[MO_COUNT] > 1.0:
        old = off(m.history, NPOSE * ((int(state[MO_NEWEST]) + most - 1) % most))
        c_old, q_old = (old[0], old[1], old[2]), (old[3], old[4], old[5], old[6])
    matrix_into(q_old, r_old)
    v, w = vec(state, MO_TWIST), vec(state, MO_TWIST + 3)
    return Now(r, r_old, c, c_old, v, w, turn_between(q_old, q))


@kernel
def carry(law: PtrF8, f: Frame, i: int, now: Now, v: Vec3, w: Vec3, before: float) -> None:
    """Memory of contact i at this pose: its stretch and its ways of late, in the new plane."""
    row, out = off(f.rows, NPC * i), off(f.out, NOUT * i)
    n, x = vec(row, PC_NORMAL), vec(out, OUT_POINT)
    speed = add(v, cross(w, sub(x, now.c)))
    put(out, OUT_SLIP, axpy(-dot(speed, n), n, speed))
    out[OUT_SPIN] = dot(w, n)
    zero = (0.0, 0.0, 0.0)
    put(out, OUT_STRETCH, zero)
    put(out, OUT_NEED, zero)
    out[OUT_TURN], out[OUT_STATE], out[OUT_IMPACT] = 0.0, SLIP, 0.0
    if f.place[i] < 0:
        return
    memory = off(f.memory, NMEM * int(f.place[i]))
    old_n = vec(memory, MEM_NORMAL)
    out[OUT_STATE] = memory[MEM_STATE]
    # the middle of A's material at the contact then and now: second order in the step
    local = turn_back(now.r, sub(x, now.c))
    then = vec(memory, MEM_POINT)
    if f.fate[i] == IS_KEPT and memory[MEM_SEEN] == before:
        local = scale(0.5, add(local, vec(memory, MEM_LOCAL)))
    else:
        then = x
        for k in range(3):
            memory[MEM_PATH + k] = memory[MEM_SLIP + k] = 0.0
        if dot(n, old_n) < SAME_PLANE:
            out[OUT_STATE] = SLIP
            return
    moved = sub(add(now.c, turn(now.r, local)), add(now.c_old, turn(now.r_old, local)))
    slip = axpy(-dot(moved, n), n, moved)
    way = sub(x, then)
    way = axpy(-dot(way, n), n, way)
    stretch = add(_transported(vec(memory, MEM_STRETCH), old_n, n), slip)
    if law[LAW_PRINTED] == 1.0:
        stretch = slip
    elif memory[MEM_STATE] == ROLL:
        # material that has rolled out of the contact takes its stretch along, within some ε
        stretch = scale(1.0 / (1.0 + norm(sub(way, slip)) / law[LAW_LAYER]), stretch)
    put(out, OUT_STRETCH, stretch)
    out[OUT_TURN] = 0.0 if law[LAW_PRINTED] == 1.0 else memory[MEM_TURN] + dot(now.turned, n)
    keep = law[LAW_MEMORY]
    put(memory, MEM_PATH, axpy(keep, _transported(vec(memory, MEM_PATH), old_n, n), way))
    put(memory, MEM_SLIP, axpy(keep, _transported(vec(memory, MEM_SLIP), old_n, n), slip))


@kernel
def _transported(s: Vec3, old: Vec3, n: Vec3) -> Vec3:
    """A vector of one plane in another, by the least turn of the normal; in the plane again."""
    s = axpy(-dot(s, old), old, s)
    s = axpy(-dot(s, n) / (1.0 + dot(old, n)), add(old, n), s)
    return axpy(-dot(s, n), n, s)


@kernel
def remember(f: Frame, count: int, now: Now, time: float) -> None:
    """What the next pose must know of these contacts."""
    for i in range(count):
        row, out = off(f.rows, NPC * i), off(f.out, NOUT * i)
        j = int(f.place[i])
        if j < 0:
            j = _oldest(f, count)
            f.place[i] = j
        memory = off(f.memory, NMEM * j)
        if f.fate[i] == IS_NEW or f.fate[i] == IS_FIRST:
            for k in range(NMEM):
                memory[k] = 0.0
        memory[MEM_USED], memory[MEM_ID], memory[MEM_ROW] = 1.0, row[PC_ID], i
        memory[MEM_SEEN], memory[MEM_STATE] = time, out[OUT_STATE]
        memory[MEM_TURN] = out[OUT_TURN]
        x = vec(out, OUT_POINT)
        put(memory, MEM_NORMAL, vec(row, PC_NORMAL))
        put(memory, MEM_POINT, x)
        put(memory, MEM_LOCAL, turn_back(now.r, sub(x, now.c)))
        put(memory, MEM_STRETCH, vec(out, OUT_STRETCH))
        for k in range(6):
            memory[MEM_PRESS + k] = out[OUT_PRESS + k]
        for k in range(NPC):
            f.last[NPC * i + k] = row[k]


@kernel
def _oldest(f: Frame, count: int) -> int:
    """A row of memory that is free, or else that of the contact lost longest ago."""
    found, seen = -1, inf
    for j in range(MOST_CONTACTS):
        memory = off(f.memory, NMEM * j)
        when = memory[MEM_SEEN] if memory[MEM_USED] == 1.0 else -inf
        taken = False
        for i in range(count):
            taken = taken or f.place[i] == j
        if not taken and when < seen:
            found, seen = j, when
    return found
