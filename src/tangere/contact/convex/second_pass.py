"""The second pass over the geometry of a step: only where something changed."""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import off
from tangere.contact.convex.set_up import end_of_two, set_up_two
from tangere.elements.columns import (
    EI_A,
    EI_B,
    EI_EDGE,
    EI_NEW,
    Element,
    element,
)
from tangere.elements.step_context import StepContext
from tangere.model import NI, OK, PI_BODY_A, PI_BODY_B
from tangere.solver import NEF, NEI

# A body strays if it goes elsewhere than the guess had it by this share of the margin.
STRAY = 0.25


@kernel
def second_pass(e: StepContext, fresh: bool) -> bool:
    """Look again at the contacts that are marked, and at bodies that strayed from the guess before.

    The others stay as they are: each contact knows the guess that it was found with. False if there
    is no room or a contact comes or goes; then all have to be gathered.
    """
    t, pairs = e.w.solver.elements, e.w.pairs
    listed, old, at = t.used[0], 0, 0
    contacts = listed - e.z.springs  # springs come last
    while at < pairs.used[0]:
        end = end_of_two(e, at)
        ints = off(pairs.ints, NI * pairs.slot[at])
        a, b = ints[PI_BODY_A], ints[PI_BODY_B]
        first, marked = old, _strays(e, a) or _strays(e, b)
        while (
            old < contacts and element(t, old).ints[EI_A] == a and element(t, old).ints[EI_B] == b
        ):
            marked = marked or element(t, old).ints[EI_NEW] == 1
            old += 1
        if marked:  # the new ones, listed behind all others, take the places of the old ones
            if set_up_two(e, at, end, fresh) != OK or t.used[0] - listed != old - first:
                return False
            for k in range(first, old):
                _replace(element(t, k), element(t, listed + k - first))
            t.used[0] = listed
        at = end
    return True


@kernel
def _replace(c: Element, new: Element) -> None:
    """Put a contact in the place of another between the same bodies."""
    edge = c.ints[EI_EDGE]
    for k in range(NEI):
        c.ints[k] = new.ints[k]
    for k in range(NEF):
        c.floats[k] = new.floats[k]
    c.ints[EI_EDGE] = edge


@kernel
def _strays(e: StepContext, i: int) -> bool:
    """Whether body i goes elsewhere than the guess before, kept in `ahead.base`, had it.

    By a part of the margin, within which contacts were found that do not touch.
    """
    if i >= e.z.bodies:
        return False
    was, now = off(e.w.solver.ahead.base, 6 * i), off(e.w.solver.ahead.guess, 6 * i)
    speed, spin, reach = 0.0, 0.0, 0.0
    for k in range(3):
        speed += (now[k] - was[k]) ** 2
        spin += (now[3 + k] - was[3 + k]) ** 2
    for p in range(e.m.part_start[i], e.m.part_start[i + 1]):
        box, far = off(e.w.world.aabb, 6 * p), 0.0
        for k in range(3):
            x = e.e.position[3 * i + k]
            far += max(abs(box[k] - x), abs(box[3 + k] - x)) ** 2
        reach = max(reach, far)
    return bool(e.dt * (sqrt(speed) + sqrt(spin * reach)) > STRAY * e.margin)
