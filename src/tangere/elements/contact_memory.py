"""What a contact remembers of an implicit step: force, energies, friction spring.

Friction spring: its stretch after the step, and whether the contact slides. Energies: what its
normal springs hold, and the reserve R (see `implicit.remember`).
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.elements.columns import (
    BREAKS,
    EF_ARM_B,
    EF_BT,
    EF_C,
    EF_DEPTH,
    EF_F,
    EF_GYRATION,
    EF_HELD,
    EF_KT,
    EF_LAG,
    EF_LEAD,
    EF_MU,
    EF_N,
    EF_R1,
    EF_R2,
    EF_ROLLS,
    EF_STORED,
    EF_T1,
    EF_T2,
    EF_TH,
    EF_TORQUE,
    EF_TRUE,
    EF_U,
    EF_WANTED,
    EF_WEIGHT,
    EF_YIELDED,
    EI_A,
    EI_B,
    EI_MODE,
    EI_NEW,
    EI_SLOT,
    SLIDES,
    Element,
    local_twist,
    rolling,
)
from tangere.elements.contact_law import keep_spring
from tangere.elements.step_context import StepContext
from tangere.model import (
    LEDGER_FRICTION,
    LEDGER_NORMAL,
    LEDGER_STEP,
    NF,
    NI,
    PF_AREA,
    PF_CENTRE,
    PF_DEPTH,
    PF_FORCE,
    PF_HELD,
    PF_LAG,
    PF_PRESS,
    PF_RESERVE,
    PF_STORED,
    PF_THETA,
    PF_TORQUE,
    PF_VOLUME,
    PI_CALM,
    PI_LAST,
    PI_MISSED,
    PI_MODE,
    SLIP,
    STICK,
)

# Contacts that are too deep may keep what lifts so many times their load out: more may land on it.
LOADS = 10.0
# A force so many times that of the last step is a blow.
BLOW = 4.0
# The second pass sets a contact up again if its depth changed by more than this share of itself,
# if it slipped by more than this share of its width, or if its normal force is off by this share.
DEPTH_CHANGE, SLIP_CHANGE, FORCE_CHANGE = 0.05, 1e-3, 1e-3
# Depths below this share of the patch's width are rounding.
FLAT = 1e-12


@kernel
def remember_pressing(
    e: StepContext, c: Element, slips: bool, energy: float, volume: float
) -> tuple[float, float, float]:
    """What the next step must know of a contact that presses.

    slips: its friction is at the limit; energy: what its normal springs could hold at the end [J];
    volume: overlap [m³]. Returns what friction lost, what is to spare of the reserve, and what the
    contact wants of it [J].
    """
    lost = _friction_state(e, c, slips)
    spare = _keep_energy(e, c, energy)
    off(e.w.pairs.floats, NF * c.ints[EI_SLOT])[PF_VOLUME] = volume
    return max(0.0, lost), spare, float(c.floats[EF_WANTED])


@kernel
def fill_reserve(e: StepContext, c: Element, paid: float) -> None:
    """Put a share of what a contact wants into its reserve."""
    if c.floats[EF_F] > 0.0 and c.floats[EF_WANTED] > 0.0:
        off(e.w.pairs.floats, NF * c.ints[EI_SLOT])[PF_RESERVE] += paid * c.floats[EF_WANTED]


@kernel
def tie_contact(e: StepContext, c: Element) -> None:
    """After the bodies moved: tie the friction spring of a pressing contact to them."""
    f = c.floats
    if not f[EF_F] > 0.0:
        return
    r = (
        f[EF_R1] * f[EF_T1] + f[EF_R2] * f[EF_T2],
        f[EF_R1] * f[EF_T1 + 1] + f[EF_R2] * f[EF_T2 + 1],
        f[EF_R1] * f[EF_T1 + 2] + f[EF_R2] * f[EF_T2 + 2],
    )
    centre, row = (f[EF_C], f[EF_C + 1], f[EF_C + 2]), off(e.w.pairs.floats, NF * c.ints[EI_SLOT])
    keep_spring(e.s, c.ints[EI_A], c.ints[EI_B], centre, r, row)


@kernel
def enter_contact(e: StepContext, c: Element) -> None:
    """Enter what a contact took, normal to it and by friction, in the ledger."""
    twist, book = e.w.solver.ahead.twist, e.s.ledger
    un, w1, w2, u1, u2, wn = local_twist(c, twist)
    f, lead = off(c.floats, EF_F), off(c.floats, EF_LEAD)
    for q in range(6):  # the bodies' own motion is that of the start
        book[LEDGER_STEP] += e.dt * f[q] * lead[q]
    book[LEDGER_NORMAL] -= e.dt * (f[0] * un + f[1] * w1 + f[2] * w2)
    book[LEDGER_FRICTION] -= e.dt * (f[3] * u1 + f[4] * u2 + f[5] * wn)
    if c.floats[EF_ROLLS] > 0.0:
        one, two = rolling(c, twist)
        torque = off(c.floats, EF_TORQUE)
        book[LEDGER_FRICTION] -= e.dt * (torque[0] * one + torque[1] * two)


@kernel
def compare_contact(e: StepContext, c: Element, depth: float, width: float, reach: float) -> bool:
    """Whether a contact has to be set up again where the bodies really go; it is marked.

    depth: its mean; width: of the patch; reach: of its furthest points, about [m]. The pair keeps
    what the second pass has to know of it.
    """
    changed = _changed(e.w.solver.ahead.twist, c, e.dt, depth, width, reach)
    c.ints[EI_NEW] = 1 if changed else 0
    e.w.pairs.ints[NI * c.ints[EI_SLOT] + PI_CALM] = -1 if changed else e.stamp + 1
    # the next pass limits friction by this
    off(e.w.pairs.floats, NF * c.ints[EI_SLOT])[PF_LAG] = c.floats[EF_F]
    return changed


@kernel
def _changed(twist: PtrF8, c: Element, dt: float, depth: float, width: float, reach: float) -> bool:
    """Whether the solution takes a contact elsewhere than the guess, or changes its force."""
    f = c.floats
    if not f[EF_F] > 0.0:
        return False
    if abs(f[EF_F] - f[EF_LAG]) > FORCE_CHANGE * f[EF_F] and f[EF_MU] > 0.0:
        return True
    un, w1, w2, u1, u2, wn = local_twist(c, twist)
    star = off(f, EF_U)
    tilt = abs(w1 - star[1]) + abs(w2 - star[2])
    if dt * (abs(un - star[0]) + tilt * reach) > DEPTH_CHANGE * depth + FLAT * width:
        return True
    slip = abs(u1 - star[3]) + abs(u2 - star[4]) + abs(wn - star[5]) * width
    return bool(dt * slip > SLIP_CHANGE * width)


@kernel
def _too_deep(e: StepContext, c: Element) -> float:
    """By how much a contact is deeper than its springs would have it; about, or 0 [m].

    After a blow that is known only when the contact is set up again: till then, all of it.
    """
    f = c.floats
    blow = f[EF_F] > BLOW * off(e.w.pairs.floats, NF * c.ints[EI_SLOT])[PF_PRESS]
    return float(max(0.0, f[EF_DEPTH] if blow else f[EF_YIELDED] * f[EF_DEPTH]))


@kernel
def remember_open(e: StepContext, c: Element) -> None:
    """Contact that does not press in this step: if it overlaps, what it had is its reserve."""
    if not c.floats[EF_DEPTH] > 0.0:
        return
    slot = c.ints[EI_SLOT]
    row = off(e.w.pairs.floats, NF * slot)
    row[PF_PRESS], row[PF_STORED], row[PF_RESERVE] = 0.0, 0.0, c.floats[EF_STORED]
    e.w.pairs.ints[NI * slot + PI_LAST] = e.stamp


@kernel
def _keep_energy(e: StepContext, c: Element, energy: float) -> float:
    """Force, energy and size of a pressing contact; returns what of its reserve is to spare [J]."""
    f, slot = c.floats, c.ints[EI_SLOT]
    ints, row = off(e.w.pairs.ints, NI * slot), off(e.w.pairs.floats, NF * slot)
    out = off(f, EF_F)
    for q in range(3):
        n, t1, t2 = f[EF_N + q], f[EF_T1 + q], f[EF_T2 + q]
        row[PF_FORCE + q] = out[0] * n + out[3] * t1 + out[4] * t2
        row[PF_TORQUE + q] = out[5] * n + out[1] * t1 + out[2] * t2
        if f[EF_ROLLS] > 0.0:
            row[PF_TORQUE + q] += f[EF_TORQUE] * t1 + f[EF_TORQUE + 1] * t2
        row[PF_CENTRE + q] = e.s.position[3 * c.ints[EI_B] + q] + f[EF_ARM_B + q]
    row[PF_AREA] = f[EF_TRUE]
    row[PF_DEPTH] = max(0.0, f[EF_DEPTH])
    un, w1, w2, _, _, _ = local_twist(c, e.w.solver.ahead.twist)
    # what was put in; what the springs do not hold is lost, or kept in reserve
    left = f[EF_STORED] - e.dt * (out[0] * un + out[1] * w1 + out[2] * w2)
    held = min(energy, max(0.0, left))
    row[PF_STORED], row[PF_RESERVE] = held, min(left - held, held)
    lift = max(out[0], row[PF_PRESS]) * _too_deep(e, c)
    f[EF_WANTED] = LOADS * lift + max(0.0, held - left)
    row[PF_PRESS], row[PF_LAG] = out[0], out[0]
    ints[PI_LAST] = e.stamp
    return float(max(0.0, left - 2.0 * held))


@kernel
def _friction_state(e: StepContext, c: Element, slips: bool) -> float:
    """Stretch of the friction spring after the step; whether the contact slides is kept.

    Returns the energy lost [J].
    """
    f, out = c.floats, off(c.floats, EF_F)
    slot = c.ints[EI_SLOT]
    ints, row = off(e.w.pairs.ints, NI * slot), off(e.w.pairs.floats, NF * slot)
    _, _, _, u1, u2, wn = local_twist(c, e.w.solver.ahead.twist)
    j_n = f[EF_GYRATION]
    k_t, b_t = f[EF_WEIGHT] * f[EF_KT], f[EF_WEIGHT] * f[EF_BT]
    r1, r2 = f[EF_R1] + e.dt * u1, f[EF_R2] + e.dt * u2
    theta = f[EF_TH] + e.dt * wn if j_n > 0.0 else 0.0
    if c.ints[EI_MODE] == SLIDES:
        r1, r2, theta = _rewind(k_t, 0.0, j_n, u1, u2, wn, c)
    elif c.ints[EI_MODE] == BREAKS:
        r1, r2, theta = _rewind(k_t, b_t, j_n, u1, u2, wn, c)
    paid = f[EF_HELD] - e.dt * (out[3] * u1 + out[4] * u2 + out[5] * wn)
    held = 0.5 * k_t * (r1 * r1 + r2 * r2 + theta * theta * j_n)
    if held > paid:
        less = sqrt(max(0.0, paid) / held)
        r1, r2, theta, held = less * r1, less * r2, less * theta, max(0.0, paid)
    f[EF_R1], f[EF_R2], f[EF_TH] = r1, r2, theta
    row[PF_THETA], row[PF_HELD] = theta, held
    ints[PI_MODE], ints[PI_MISSED] = SLIP if slips else STICK, 0
    return float(paid - held)


@kernel
def _rewind(
    k_t: float, b_t: float, j_n: float, u1: float, u2: float, wn: float, c: Element
) -> tuple[float, float, float]:
    """Stretch and twist at which the spring alone carries the friction that was applied.

    r = −(f + b_t u_T)/k_t,  θ = −(m/J_n + b_t ω_n)/k_t;  the damper's share at most the force.
    """
    if k_t == 0.0:
        return 0.0, 0.0, 0.0
    out = off(c.floats, EF_F)
    force, drag = sqrt(out[3] * out[3] + out[4] * out[4]), b_t * sqrt(u1 * u1 + u2 * u2)
    cap = b_t if drag <= force else b_t * force / drag
    r1, r2 = -(out[3] + cap * u1) / k_t, -(out[4] + cap * u2) / k_t
    theta = 0.0
    if j_n > 0.0:
        twist, drag = abs(out[5]) / j_n, b_t * abs(wn)
        cap = b_t if drag <= twist else b_t * twist / drag
        theta = -(out[5] / j_n + cap * wn) / k_t
    return r1, r2, theta
