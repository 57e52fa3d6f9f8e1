"""One simulation step from start to end, n of them per call.

Several threads may share a step: one finds the pairs, each looks after a share of them, one moves
the bodies. All call the same kernel, with a `Duty`.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import off
from tangere.collision.broad import update_boxes, update_pairs
from tangere.contact.implicit.advance import advance
from tangere.contact.implicit.audit import close_books, open_books
from tangere.contact.implicit.keep import settle
from tangere.contact.implicit.scope import Scope, stamped
from tangere.contact.implicit.share import help_out
from tangere.contact.point import method as point
from tangere.contact.volume import method as volume
from tangere.contact.volume.law import Settings
from tangere.dynamics.rigid import move_body, spring_forces
from tangere.model import (
    NOT_FINITE,
    OK,
    Hulls,
    Model,
    Sizes,
    State,
    Work,
    hull_pointers,
    model_pointers,
    state_pointers,
    work_pointers,
)

VOLUME, POINT = 0, 1  # contact methods
# Further, faster or spinning more than this [SI] a body is lost: products would overflow soon.
LOST = 1e50
# Contacts closer than this many times g dt² are known before they touch; Earth's g at least [m/s²].
MARGIN, EARTH = 2.0, 9.81

# Stages of a step
PAIRS, CONTACTS, MOTION = 1, 2, 4
HELP = 8  # no step of its own: solve what an implicit step of another thread has queued


class Duty(NamedTuple):
    """What one call does: stages of the step, and the share of the pairs (or looks for work)."""

    stages: int
    first: int
    end: int


WHOLE = Duty(PAIRS | CONTACTS | MOTION, 0, 1 << 40)

point_respond = point.respond
volume_respond = volume.respond
add_wrenches = volume.add_wrenches
Share = volume.Share


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
    method: int,
    settings: Settings,
    implicit: bool,
    duty: Duty,
) -> tuple[int, int]:
    """Make `steps` whole steps; returns the number made and a status.

    `first` is the number of the first step since the start: it stamps what was transformed when. A
    step that runs out of room is not made: the front grows the buffers and calls again. With a part
    of the stages a "step" is that part; the wrenches wait in the pairs' rows and are added, in the
    order of the list, before the motion.
    """
    m, h, s = model_pointers(model), hull_pointers(hulls), state_pointers(state)
    w = work_pointers(work)
    soup_room, sums_room = work.soup.owner.size, len(work.sums)
    if implicit:
        v = work.solver
        rooms = (soup_room, len(v.touches.list), len(v.touches.corners), len(v.graph.row))
        scope = _scope(z, m, h, s, w, dt, method, settings, rooms)
        if duty.stages & HELP:
            help_out(scope, duty.end)
            return 0, OK
        return _run_implicit(scope, steps, first)
    share = Share(duty.first, duty.end)
    for done in range(steps):
        if duty.stages & PAIRS:
            left = update_boxes(z, m, h, s, dt, 0.0, w.world, w.tree.left)
            if left > 0:
                status = update_pairs(z, m, h, s, dt, w, left)
                if status != OK:
                    _invalidate(z, w)
                    return done, status
            for k in range(6 * (z.bodies + z.floors)):
                s.wrench[k] = 0.0
        if duty.stages & CONTACTS:
            now = first + done
            if method == VOLUME:
                status = volume_respond(
                    z, m, h, s, w, dt, now, soup_room, sums_room, settings, share
                )
            else:
                status = point_respond(z, m, h, s, w, dt, now)
            if status != OK:
                return done, status
        if duty.stages & MOTION:
            if method == VOLUME:
                add_wrenches(s, w)
            if z.springs > 0:
                for k in range(6 * (z.bodies + z.floors)):
                    s.applied[k] = 0.0
                spring_forces(m, s, z.springs, s.applied)
            if not _integrate(z, m, s, dt):
                return done, NOT_FINITE
            s.time[0] += dt
    return steps, OK


@kernel
def _scope(
    z: Sizes,
    m: Model,
    h: Hulls,
    s: State,
    w: Work,
    dt: float,
    method: int,
    settings: Settings,
    rooms: tuple[int, int, int, int],
) -> Scope:
    """What implicit steps work on."""
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
        s.spring,
        s.time,
        s.ledger,
    )
    g = m.gravity
    margin = MARGIN * dt * dt * max(sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]), EARTH)
    return Scope(z, m, h, s, end, w, dt, margin, 0, rooms, settings, method == POINT)


@kernel
def _run_implicit(e: Scope, steps: int, first: int) -> tuple[int, int]:
    """As `run`, with the implicit step."""
    for done in range(steps):
        scope = stamped(e, first + done)
        if done == 0:
            open_books(scope)
        status = advance(scope, first + done == 0)
        if status != OK:
            _invalidate(e.z, e.w)
            return done, status
        if not _integrate(e.z, e.m, e.s, e.dt):
            return done, NOT_FINITE
        e.s.time[0] += e.dt
        settle(scope)
        close_books(scope)
    return steps, OK


@kernel
def _invalidate(z: Sizes, w: Work) -> None:
    """Force a rebuild at the next call: the fat boxes no longer belong to the pair list."""
    for p in range(z.parts):
        fat = off(w.world.fat, 6 * p)
        for k in range(3):
            fat[k], fat[3 + k] = 1.0, -1.0


@kernel
def _integrate(z: Sizes, m: Model, s: State, dt: float) -> bool:
    """Move all bodies by their wrenches; false, and nothing moved, when one would be lost."""
    for i in range(z.bodies):
        row, more = off(s.wrench, 6 * i), off(s.applied, 6 * i)
        total = 0.0
        for k in range(3):
            v = s.velocity[3 * i + k] + dt * m.inv_mass[i] * (row[k] + more[k])
            w = s.momentum[3 * i + k] + dt * (row[3 + k] + more[3 + k])
            total += abs(s.position[3 * i + k] + dt * v) + abs(v)
            total += abs(w * m.inv_inertia[3 * i + k])
        if not total < LOST:  # nor NaN
            return False
    for i in range(z.bodies):
        row, more = off(s.wrench, 6 * i), off(s.applied, 6 * i)
        mass = m.mass[i] if m.inv_mass[i] > 0.0 else 0.0
        f = (
            row[0] + more[0] + mass * m.gravity[0],
            row[1] + more[1] + mass * m.gravity[1],
            row[2] + more[2] + mass * m.gravity[2],
        )
        torque = (row[3] + more[3], row[4] + more[4], row[5] + more[5])
        move_body(m, s, i, dt, f, torque)
    return True
