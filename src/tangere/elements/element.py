"""What acts between bodies within a step: the kinds of element, and their verbs.

The solver and the stepper see a row's header (bodies, axes, arms, force, Hessian) and these verbs;
the kind of a row picks the functions here and nowhere else.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.elements.columns import (
    SPRING_KIND,
    TF_BOUNCE,
    TF_E,
    TF_F,
    TF_LAG,
    TF_LIMIT,
    TI_KIND,
    Touch,
    lead_power,
)
from tangere.elements.contact_energy import contact_overdrawn, forestall, set_limit
from tangere.elements.contact_memory import (
    compare_contact,
    enter_contact,
    fill_reserve,
    remember_contact,
    tie_contact,
)
from tangere.elements.friction_state import change_contact, let_go
from tangere.elements.patch import contact_hessian, contact_value
from tangere.elements.spring import (
    enter_spring,
    remember_spring,
    spring_given_back,
    spring_hessian,
    spring_value,
)
from tangere.elements.step_context import StepContext
from tangere.solver import Solver, Touches


@kernel
def value(t: Touches, c: Touch, twist: PtrF8, dt: float) -> None:
    """Fill the force of an element at given twists."""
    if c.ints[TI_KIND] == SPRING_KIND:
        spring_value(c, twist)
    else:
        contact_value(t, c, twist, dt)


@kernel
def hessian(t: Touches, c: Touch, twist: PtrF8, dt: float, hope: bool, length: float) -> None:
    """Fill the Hessian of an element: minus the derivative of its force.

    hope: points not yet pressing count as stiff.
    length: share of the Newton step that was made since the last call; 0: begin anew, as where
    nothing is known of the last round.
    """
    if c.ints[TI_KIND] == SPRING_KIND:
        spring_hessian(c)
    else:
        contact_hessian(t, c, twist, dt, hope, length)


@kernel
def foresee(v: Solver, c: Touch, dt: float, speed: float, again: bool) -> None:
    """Change an element that by the guess will not behave as it is taken to.

    again: the guess is the motion found by a pass, not that of the last step.
    """
    if c.ints[TI_KIND] != SPRING_KIND:
        let_go(v, c, dt, speed)
        if again:
            forestall(v.touches, c, dt)


@kernel
def change(v: Solver, c: Touch, dt: float, large: bool, speed: float) -> bool:
    """Whether an element does not behave as was assumed; it is changed, to be solved again.

    large: of a large island, where it may yield or hold again, too.
    speed: see `let_go`.
    """
    return c.ints[TI_KIND] != SPRING_KIND and change_contact(v, c, dt, large, speed)


@kernel
def overdrawn(e: StepContext, c: Touch) -> bool:
    """Whether an element gives more energy than it has; it then yields."""
    if c.ints[TI_KIND] == SPRING_KIND:
        return False
    return contact_overdrawn(e.w.solver.touches, c, e.w.solver.ahead.twist, e.dt)


@kernel
def compare_element(e: StepContext, c: Touch) -> bool:
    """Whether the solution takes an element elsewhere than the guess; it is marked."""
    return c.ints[TI_KIND] != SPRING_KIND and compare_contact(e, c)


@kernel
def bounces_back(c: Touch) -> bool:
    """Whether an element is a hard impact with a restitution."""
    return bool(c.ints[TI_KIND] != SPRING_KIND and c.floats[TF_E] > 0.0 and c.floats[TF_F] > 0.0)


@kernel
def limit_friction(t: Touches, c: Touch) -> None:
    """Limit friction by the normal force that was found."""
    if c.ints[TI_KIND] != SPRING_KIND:
        c.floats[TF_LAG] = c.floats[TF_F]
        set_limit(t, c)


@kernel
def give_rebound(c: Touch) -> None:
    """Give 1 + e times the force that stopped an impact."""
    f = c.floats
    if bounces_back(c):
        for q in range(3):
            f[TF_BOUNCE + q] = (1.0 + f[TF_E]) * f[TF_F + q]
        f[TF_LIMIT] *= 1.0 + f[TF_E]


@kernel
def remember(e: StepContext, c: Touch) -> tuple[float, float, float]:
    """Wrenches on the bodies, and what the next step must know, before the bodies move.

    Returns what friction lost, what is to spare of its reserve, and what it wants of it [J].
    """
    if c.ints[TI_KIND] == SPRING_KIND:
        remember_spring(e, c)
        return 0.0, 0.0, 0.0
    return remember_contact(e, c)


@kernel
def given_back(e: StepContext, c: Touch) -> float:
    """What of ½ |Δv|² M is not lost: the spring has it, or it is given by a contact's lead [J]."""
    if c.ints[TI_KIND] == SPRING_KIND:
        return spring_given_back(e, c)
    return e.dt * lead_power(c)


@kernel
def keep(e: StepContext, c: Touch, paid: float) -> None:
    """Put a share of what an element wants into its reserve."""
    if c.ints[TI_KIND] != SPRING_KIND:
        fill_reserve(e, c, paid)


@kernel
def tie(e: StepContext, c: Touch) -> None:
    """What the next step must know, after the bodies moved."""
    if c.ints[TI_KIND] != SPRING_KIND:
        tie_contact(e, c)


@kernel
def enter(e: StepContext, c: Touch) -> None:
    """Enter work and losses of an element in the ledger."""
    if c.ints[TI_KIND] == SPRING_KIND:
        enter_spring(e, c)
    else:
        enter_contact(e, c)


@kernel
def presses(c: Touch) -> bool:
    """Whether an element is a contact that presses."""
    return bool(c.ints[TI_KIND] != SPRING_KIND and c.floats[TF_F] > 0.0)
