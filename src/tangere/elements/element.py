"""What acts between bodies within a step: the kinds of element, and their verbs.

The solver and the stepper see a row's header (bodies, axes, arms, force, Hessian) and these verbs;
the kind of a row picks the functions here and nowhere else.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.elements.columns import (
    BREAKS,
    EF_BOUNCE,
    EF_D,
    EF_E,
    EF_F,
    EF_H,
    EF_K,
    EF_LAG,
    EF_LIMIT,
    EF_MU,
    EF_PRESSED,
    EF_RATIO,
    EF_SIZE,
    EF_STORED,
    EF_U,
    EI_KIND,
    EI_MODE,
    HOLDS,
    PATCH_KIND,
    POINT_DEPTH,
    POINT_KIND,
    SLIDES,
    SPRING_KIND,
    Element,
    add_local,
    lead_power,
    local_twist,
)
from tangere.elements.contact import V_EPS
from tangere.elements.contact_memory import (
    compare_contact,
    enter_contact,
    fill_reserve,
    remember_open,
    remember_pressing,
    tie_contact,
)
from tangere.elements.patch import (
    cut_lead,
    depth_sum,
    fastest_slip,
    imprint_patch,
    normalise_patch,
    patch_breaks,
    patch_extent,
    patch_hessian,
    patch_value,
)
from tangere.elements.point import (
    imprint_point,
    point_breaks,
    point_energy,
    point_hessian,
    point_value,
)
from tangere.elements.spring import (
    enter_spring,
    remember_spring,
    spring_given_back,
    spring_hessian,
    spring_value,
)
from tangere.elements.step_context import StepContext
from tangere.maths.vec import IntArray
from tangere.solver import Elements, Solver

# Energy that a contact may give at once beyond what its springs hold: its normal force times this
# share of the part's size, of a reserve or as a debt; and what is rounding of it.
SMALL_RESERVE, ROUNDING = 2e-7, 1e-9


@kernel
def value(t: Elements, c: Element, twist: PtrF8, dt: float) -> None:
    """Fill the force of an element at given twists."""
    if c.ints[EI_KIND] == SPRING_KIND:
        spring_value(c, twist)
    elif c.ints[EI_KIND] == POINT_KIND:
        point_value(c, twist, dt)
    else:
        patch_value(t, c, twist, dt)


@kernel
def hessian(
    t: Elements, c: Element, twist: PtrF8, dt: float, all_press: bool, length: float
) -> None:
    """Fill the Hessian of an element: minus the derivative of its force.

    all_press: points not yet pressing count as stiff, too.
    length: share of the Newton step that was made since the last call; 0: begin anew, as where
    nothing is known of the last round.
    """
    if c.ints[EI_KIND] == SPRING_KIND:
        spring_hessian(c)
    elif c.ints[EI_KIND] == POINT_KIND:
        point_hessian(c, twist, dt, all_press, length)
    else:
        patch_hessian(t, c, twist, dt, all_press, length)


@kernel
def predict(v: Solver, c: Element, dt: float, speed: float, again: bool) -> None:
    """Change an element that by the guess will not behave as it is taken to.

    speed: see `break_loose`. again: the guess is the motion found by a pass, not that of the last
    step.
    """
    if c.ints[EI_KIND] != SPRING_KIND:
        break_loose(v, c, dt, speed)
        if again:
            yield_early(v.elements, c, dt)


@kernel
def change(v: Solver, c: Element, dt: float, large: bool, speed: float) -> bool:
    """Whether an element does not behave as was assumed; it is changed, to be solved again.

    large: of a large island, where contacts that give too much energy do not wait for `mend`.
    speed: see `break_loose`.
    """
    if c.ints[EI_KIND] == SPRING_KIND:
        return False
    found = break_loose(v, c, dt, speed)
    if large:
        found = overdrawn(v.elements, c, v.ahead.twist, dt) or found
    return found


@kernel
def mend(e: StepContext, c: Element, first: bool) -> bool:
    """Whether an element gives more energy than it has; it is changed, to be solved again.

    first: else only what the last change left over.
    """
    v = e.w.solver
    if c.ints[EI_KIND] == PATCH_KIND and cut_lead(e, c, not first):
        return True
    return first and overdrawn(v.elements, c, v.ahead.twist, e.dt)


@kernel
def compare(e: StepContext, c: Element) -> bool:
    """Whether the solution takes an element elsewhere than the guess; it is marked."""
    if c.ints[EI_KIND] == SPRING_KIND:
        return False
    if c.ints[EI_KIND] == POINT_KIND:
        return compare_contact(e, c, abs(c.floats[POINT_DEPTH]), 0.0, 0.0)
    depth, width, reach = patch_extent(c.floats)
    return compare_contact(e, c, depth, width, reach)


@kernel
def bounces_back(c: Element) -> bool:
    """Whether an element is a hard impact with a restitution."""
    return bool(c.ints[EI_KIND] != SPRING_KIND and c.floats[EF_E] > 0.0 and c.floats[EF_F] > 0.0)


@kernel
def limit_friction(t: Elements, c: Element) -> None:
    """Limit friction by the normal force that was found."""
    if c.ints[EI_KIND] != SPRING_KIND:
        c.floats[EF_LAG] = c.floats[EF_F]
        set_limit(t, c)


@kernel
def give_rebound(c: Element) -> None:
    """Give 1 + e times the force that stopped an impact."""
    f = c.floats
    if bounces_back(c):
        for q in range(3):
            f[EF_BOUNCE + q] = (1.0 + f[EF_E]) * f[EF_F + q]
        f[EF_LIMIT] *= 1.0 + f[EF_E]


@kernel
def remember(e: StepContext, c: Element) -> tuple[float, float, float]:
    """Wrenches on the bodies, and what the next step must know, before the bodies move.

    Returns what friction lost, what is to spare of its reserve, and what it wants of it [J].
    """
    if c.ints[EI_KIND] == SPRING_KIND:
        remember_spring(e, c)
        return 0.0, 0.0, 0.0
    add_local(c, 1.0, e.s.wrench)
    if not c.floats[EF_F] > 0.0:
        remember_open(e, c)
        return 0.0, 0.0, 0.0
    t, twist, volume = e.w.solver.elements, e.w.solver.ahead.twist, 0.0
    if c.ints[EI_KIND] == PATCH_KIND:
        volume = max(0.0, c.floats[EF_H]) / c.floats[EF_RATIO]
    slips = _slips(t, c, twist, e.dt)
    return remember_pressing(e, c, slips, end_energy(t, c, e.dt, twist), volume)


@kernel
def given_back(e: StepContext, c: Element) -> float:
    """What of ½ |Δv|² M is not lost: the spring has it, or it is given by a contact's lead [J]."""
    if c.ints[EI_KIND] == SPRING_KIND:
        return spring_given_back(e, c)
    return e.dt * lead_power(c)


@kernel
def keep(e: StepContext, c: Element, paid: float) -> None:
    """Put a share of what an element wants into its reserve."""
    if c.ints[EI_KIND] != SPRING_KIND:
        fill_reserve(e, c, paid)


@kernel
def tie(e: StepContext, c: Element) -> None:
    """What the next step must know, after the bodies moved."""
    if c.ints[EI_KIND] != SPRING_KIND:
        tie_contact(e, c)


@kernel
def enter(e: StepContext, c: Element) -> None:
    """Enter work and losses of an element in the ledger."""
    if c.ints[EI_KIND] == SPRING_KIND:
        enter_spring(e, c)
    else:
        enter_contact(e, c)


def patches_among(ints: IntArray) -> NDArray[np.bool_]:
    """Which of many elements, rows of `Elements.ints`, are contacts over polygons."""
    found: NDArray[np.bool_] = ints[:, EI_KIND] == PATCH_KIND
    return found


@kernel
def presses(c: Element) -> bool:
    """Whether an element is a contact that presses."""
    return bool(c.ints[EI_KIND] != SPRING_KIND and c.floats[EF_F] > 0.0)


# What the verbs need of a contact, over its patch or at its point.


@kernel
def normalise(c: Element, area: float) -> None:
    """Share the stiffness of a patch over a given area."""
    if c.ints[EI_KIND] == PATCH_KIND:
        normalise_patch(c, area)


@kernel
def _energy(t: Elements, c: Element, d0: float, dx: float, dy: float) -> float:
    """Energy of the normal springs if depth were d0 + dx x + dy y more than at the guess [J]."""
    if c.ints[EI_KIND] == POINT_KIND:
        return point_energy(c, d0)
    return float(0.5 * c.floats[EF_K] * depth_sum(t, c, d0, dx, dy, 2))


@kernel
def end_energy(t: Elements, c: Element, dt: float, twist: PtrF8) -> float:
    """Energy of the normal springs after moving with the given twists [J]."""
    star = off(c.floats, EF_U)
    un, w1, w2, _, _, _ = local_twist(c, twist)
    d0 = -dt * (un - star[0])
    dx, dy = dt * (w2 - star[2]), -dt * (w1 - star[1])
    return _energy(t, c, d0, dx, dy)


@kernel
def start_energy(t: Elements, c: Element) -> float:
    """Energy of the normal springs at the start of the step [J]."""
    way = off(c.floats, EF_D)
    return _energy(t, c, way[0], way[1], way[2])


@kernel
def imprint(t: Elements, c: Element, share: float) -> None:
    """Leave a share of the depth at the start of the step out of every point.

    Depth is then that share less than it is, point by point: the surfaces have yielded so far.
    """
    if c.ints[EI_KIND] == POINT_KIND:
        imprint_point(c, share)
    else:
        imprint_patch(t, c, share)


@kernel
def set_limit(t: Elements, c: Element) -> None:
    """Limit friction by the lagged normal force, spread in proportion to the depth."""
    f = c.floats
    depth = 1.0
    if c.ints[EI_KIND] == PATCH_KIND:
        pressed = off(f, EF_PRESSED)
        depth = depth_sum(t, c, pressed[0], pressed[1], pressed[2], 1)
    f[EF_LIMIT] = f[EF_LAG] / depth if depth > 0.0 else 0.0


@kernel
def breaks(t: Elements, c: Element, twist: PtrF8, dt: float) -> bool:
    """Whether a contact that was taken to hold exceeds its friction limit."""
    if c.ints[EI_MODE] == SLIDES or not c.floats[EF_MU] * c.floats[EF_LIMIT] > 0.0:
        return False
    if c.ints[EI_KIND] == POINT_KIND:
        return point_breaks(c, twist, dt)
    return patch_breaks(t, c, twist, dt)


@kernel
def _slips(t: Elements, c: Element, twist: PtrF8, dt: float) -> bool:
    """Whether a contact slides at the end of the step."""
    if c.ints[EI_MODE] == SLIDES:
        _, _, _, u1, u2, wn = local_twist(c, twist)
        return fastest_slip(t, c, u1, u2, wn) >= V_EPS
    return bool(c.ints[EI_MODE] == BREAKS and breaks(t, c, twist, dt))


@kernel
def break_loose(v: Solver, c: Element, dt: float, speed: float) -> bool:
    """Whether a contact that was taken to hold does not; it is limited point by point from now.

    speed: at which it slips at least, 0 if the solution is known. Before, only what clearly slips
    breaks: loads of bodies at rest depend on who does.
    """
    if c.ints[EI_MODE] != HOLDS or not breaks(v.elements, c, v.ahead.twist, dt):
        return False
    if speed > 0.0:
        _, _, _, u1, u2, _ = local_twist(c, v.ahead.twist)
        if u1 * u1 + u2 * u2 < speed * speed:
            return False
    c.ints[EI_MODE] = BREAKS
    return True


@kernel
def overdrawn(t: Elements, c: Element, twist: PtrF8, dt: float) -> bool:
    """Whether a contact gives more energy than it had; it then yields once more.

    The step takes depth to be linear in the motion. Where a body turns far within it, as a top
    does, the depth from which the linear springs unload is not that at which energy was stored.
    With no more stored in the linear springs than there is, convexity forbids the excess.
    """
    f = c.floats
    if c.ints[EI_KIND] == SPRING_KIND or not f[EF_F] > 0.0 or f[EF_E] > 0.0:
        return False
    un, w1, w2, _, _, _ = local_twist(c, twist)
    given = dt * (f[EF_F] * un + f[EF_F + 1] * w1 + f[EF_F + 2] * w2)
    reserve = f[EF_SIZE] * f[EF_F]
    if f[EF_STORED] - given >= -SMALL_RESERVE * reserve:
        return False
    return _yields(t, c, dt, ROUNDING * (max(0.0, f[EF_STORED]) + reserve))


@kernel
def yield_early(t: Elements, c: Element, dt: float) -> None:
    """Let a contact yield if it could give too much energy, whether or not it would.

    The force is taken to be that of the last pass.
    """
    f = c.floats
    if not f[EF_E] > 0.0:
        _yields(t, c, dt, SMALL_RESERVE * f[EF_SIZE] * f[EF_LAG])


@kernel
def _yields(t: Elements, c: Element, dt: float, excess: float) -> bool:
    """Whether the linear springs hold more than was stored, by some excess; they no longer do."""
    f = c.floats
    star, way = off(f, EF_U), off(f, EF_D)
    way[0], way[1], way[2] = dt * star[0], -dt * star[2], dt * star[1]
    held, stored = start_energy(t, c), max(0.0, f[EF_STORED])
    if held - stored <= excess:  # or it has yielded before
        return False
    imprint(t, c, 1.0 - sqrt(stored / held))
    return True
