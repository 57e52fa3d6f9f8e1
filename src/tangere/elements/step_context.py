"""What one implicit step works on, handed from kernel to kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

from tangere._jit import kernel
from tangere.model import Hulls, Model, Sizes, State, Work

# Contact passes of a step.
PASSES = 2


class StepContext(NamedTuple):
    """All that an implicit step reads, and where it writes."""

    z: Sizes
    m: Model
    h: Hulls
    s: State  # at the start of the step
    e: State  # at its end, as guessed
    w: Work  # soup, sums and parts in the world are this thread's own
    dt: float
    margin: float
    stamp: int
    rooms: tuple[int, int, int, int]  # polygons in the soup, contacts, fan points, blocks
    options: Any  # of the contact method, for its own kernels


@kernel
def stamped(e: StepContext, stamp: int) -> StepContext:
    """The same with another number of the contact pass."""
    return StepContext(e.z, e.m, e.h, e.s, e.e, e.w, e.dt, e.margin, stamp, e.rooms, e.options)


@kernel
def moves(e: StepContext, i: int) -> bool:
    """Whether i is a body that can move: no floor, not fixed, not the world."""
    return bool(i < e.z.bodies and e.m.inv_mass[i] > 0.0)
