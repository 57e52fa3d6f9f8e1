"""Contacts that do not behave as was assumed: they are changed, and the step is solved again."""

from __future__ import annotations

from tangere._jit import kernel
from tangere.elements.columns import (
    BREAKS,
    HOLDS,
    TI_EARLY,
    TI_MODE,
    Touch,
    local_twist,
)
from tangere.elements.contact_energy import contact_overdrawn
from tangere.elements.patch import breaks
from tangere.solver import Solver


@kernel
def change_contact(v: Solver, c: Touch, dt: float, large: bool, speed: float) -> bool:
    """Whether a contact does not behave as was assumed; it is changed.

    large: of a large island, where it may yield or hold again, too.
    speed: see `let_go`.
    """
    found = let_go(v, c, dt, speed)
    if large:
        found = contact_overdrawn(v.touches, c, v.ahead.twist, dt) or found
        found = _hold_again(v, c, dt) or found
    return found


@kernel
def let_go(v: Solver, c: Touch, dt: float, speed: float) -> bool:
    """Whether a patch that was taken to hold does not; it is limited point by point from now.

    speed: at which it slips at least, 0 if the solution is known. Before, only what clearly slips
    is let go: loads of bodies at rest depend on who is.
    """
    if c.ints[TI_MODE] != HOLDS or not breaks(v.touches, c, v.ahead.twist, dt):
        return False
    if speed > 0.0:
        _, _, _, u1, u2, _ = local_twist(c, v.ahead.twist)
        if c.ints[TI_EARLY] != 0 or u1 * u1 + u2 * u2 < speed * speed:
            return False
        c.ints[TI_EARLY] = 1
    c.ints[TI_MODE] = BREAKS
    return True


@kernel
def _hold_again(v: Solver, c: Touch, dt: float) -> bool:
    """Whether a patch was broken early that would have held; it does."""
    if c.ints[TI_EARLY] != 1 or breaks(v.touches, c, v.ahead.twist, dt):
        return False
    c.ints[TI_MODE], c.ints[TI_EARLY] = HOLDS, 2
    return True
