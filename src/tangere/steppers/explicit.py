"""The explicit step (semi-implicit Euler): pairs, contact forces, motion, n times per call.

Several threads may share a step: one finds the pairs, each looks after a share of them, one moves
the bodies. All call the same kernel, with a `Duty`.
"""

from __future__ import annotations

from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.bodies.rigid import move_bodies, spring_forces
from tangere.collision.broad import forget_boxes, update_boxes, update_pairs
from tangere.contact.convex.options import ContactOptions
from tangere.contact.forces import contact_forces, sum_forces
from tangere.model import (
    NOT_FINITE,
    OK,
    Hulls,
    Model,
    Sizes,
    State,
    Work,
)
from tangere.steppers.profile import lap, start_clock

# Stages of a step, as `Profile` names them.
PAIRS, FORCES, MOVE = 0, 1, 2
STAGES = ("find pairs", "contact forces", "move bodies")


class Duty(NamedTuple):
    """What one call does: some stages of the step, and a share of the pairs."""

    pairs: bool
    forces: bool
    motion: bool
    first: int
    end: int


WHOLE = Duty(True, True, True, 0, 1 << 40)


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
    options: ContactOptions,
    duty: Duty,
) -> tuple[int, int]:
    """Make `steps` whole steps; returns the number made and a status.

    `first` is the number of the first step since the start: it stamps what was transformed when. A
    step that runs out of room is not made: the front grows the buffers and calls again. With a part
    of the stages a "step" is that part; the wrenches wait in the pairs' rows and are added, in the
    order of the list, before the motion.
    """
    m, h, s = pointers(model), pointers(hulls), pointers(state)
    w = pointers(work)
    rooms = (work.soup.owner.size, len(work.sums))
    start_clock(w.times)
    for done in range(steps):
        if duty.pairs:
            status = _find_pairs(z, m, h, s, w, dt)
            if status != OK:
                return done, status
            lap(w.times, PAIRS)
        if duty.forces:
            status = contact_forces(
                z, m, h, s, w, dt, first + done, rooms, options, duty.first, duty.end
            )
            if status != OK:
                return done, status
            lap(w.times, FORCES)
        if duty.motion:
            sum_forces(s, w, options)
            if z.springs > 0:
                for k in range(6 * (z.bodies + z.floors)):
                    s.applied[k] = 0.0
                spring_forces(m, s, z.springs, s.applied)
            if not move_bodies(z, m, s, dt):
                return done, NOT_FINITE
            s.time[0] += dt
            lap(w.times, MOVE)
    return steps, OK


@kernel
def _find_pairs(z: Sizes, m: Model, h: Hulls, s: State, w: Work, dt: float) -> int:
    """Pairs of parts that may touch in this step, no wrench on any body yet; OK or what is full."""
    left = update_boxes(z, m, h, s, dt, 0.0, w.world, w.tree.left)
    if left > 0:
        status = update_pairs(z, m, h, s, dt, w, left)
        if status != OK:
            forget_boxes(z, w)
            return status
    for k in range(6 * (z.bodies + z.floors)):
        s.wrench[k] = 0.0
    return OK
