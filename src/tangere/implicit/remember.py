"""What contacts remember of an implicit step: forces, energies, friction springs.

Reserve. Surfaces that yielded are deeper in each other than their springs would have them, and to
come out they have to lift what they carry. That is paid by what was lost: of its losses an island
keeps what lifts the load F of each contact by the depth δ that it is too deep, ten times over,

    P ← min(Σ max(0, r − E') + ½ |Δv|² M + rubbed,  Σ w),    w = 10 F δ + max(0, −r)
    R ← min(r, E') + P w / Σ w,                              r = E + R − dt f·u − E'

with E, E' what the springs of a contact hold before and after, ½ |Δv|² M what the step takes from
the bodies and `rubbed` what friction does. A contact keeps as much again as its springs hold: k is
shared over the area there is, so a patch that shrinks takes more than the forces put in. One that
gave more than it had, r < 0, owes it. R counts as energy of the scene and `gather` lets it be used
up slowly; so nothing is made, it is only lost later.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.elements.columns import (
    BREAKS,
    PATCH_KIND,
    SLIDES,
    SPRING_KIND,
    TF_AREA,
    TF_ARM_B,
    TF_BT,
    TF_C,
    TF_DEPTH,
    TF_F,
    TF_H,
    TF_HELD,
    TF_JXX,
    TF_JYY,
    TF_KT,
    TF_N,
    TF_R1,
    TF_R2,
    TF_RATIO,
    TF_ROLLS,
    TF_S,
    TF_STORED,
    TF_T1,
    TF_T2,
    TF_TH,
    TF_TORQUE,
    TF_TRUE,
    TF_WANTED,
    TF_YIELDED,
    TI_A,
    TI_B,
    TI_EDGE,
    TI_FAN,
    TI_KIND,
    TI_MODE,
    TI_POLYGON,
    TI_POLYGONS,
    TI_SLOT,
    Touch,
    add_local,
    lead_power,
    local_twist,
    touch,
)
from tangere.elements.contact_energy import spring_energy
from tangere.elements.contact_law import FORGET, keep_spring
from tangere.elements.patch import V_EPS, breaks
from tangere.implicit.energy_books import given_back, step_loss
from tangere.implicit.islands import edge_island
from tangere.implicit.step_context import StepContext
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
    PI_LAST,
    PI_MISSED,
    PI_MODE,
    SLIP,
    STICK,
)
from tangere.solver import LOSS_KEPT, LOSS_RUBBED, LOSS_STEP, LOSS_WANTED, NL, Touches

# Contacts that are too deep may keep what lifts so many times their load out: more may land on it.
LOADS = 10.0
# A force so many times that of the last step is a blow.
BLOW = 4.0


@kernel
def finish(e: StepContext) -> None:
    """Wrenches of the solution, and what every contact remembers."""
    v = e.w.solver
    t, twist = v.touches, v.ahead.twist
    for k in range(NL * v.graph.known[1]):
        v.losses[k] = 0.0
    for k in range(t.used[0]):
        c = touch(t, k)
        if c.ints[TI_KIND] == SPRING_KIND:
            add_local(c, 1.0, e.s.applied)
            f, out = c.floats, off(c.floats, TF_F)
            for q in range(3):
                e.s.spring[3 * c.ints[TI_SLOT] + q] = (
                    out[0] * f[TF_N + q] + out[3] * f[TF_T1 + q] + out[4] * f[TF_T2 + q]
                )
        else:
            add_local(c, 1.0, e.s.wrench)
            if c.floats[TF_F] > 0.0:
                rubbed = _friction_state(e, c, twist)
                _remember(e, c)
                _island_losses(e, c)[LOSS_RUBBED] += max(0.0, rubbed)
            elif c.floats[TF_DEPTH] > 0.0:
                _hold_on(e, c)
    _find_losses(e)
    _fill_reserves(e)


@kernel
def _island_losses(e: StepContext, c: Touch) -> PtrF8:
    """What the island of a contact lost, see `LOSS_…`."""
    v = e.w.solver
    return off(v.losses, NL * edge_island(v.graph, c.ints[TI_EDGE]))


@kernel
def _find_losses(e: StepContext) -> None:
    """What the step took from each island that wants it, ½ |Δv|² M."""
    v = e.w.solver
    wanted = False
    for island in range(v.graph.known[1]):
        wanted = wanted or _wants(off(v.losses, NL * island))
    if not wanted:
        return
    for i in range(e.z.bodies):
        if v.graph.island[i] >= 0:
            losses = off(v.losses, NL * v.graph.island[i])
            if _wants(losses):
                losses[LOSS_STEP] += step_loss(e, i)
    for k in range(v.touches.used[0]):
        c = touch(v.touches, k)
        if c.ints[TI_EDGE] >= 0:  # not lost: the spring has it, or it is given by a lead
            more = given_back(e, c) if c.ints[TI_KIND] == SPRING_KIND else e.dt * lead_power(c)
            _island_losses(e, c)[LOSS_STEP] -= more


@kernel
def _wants(losses: PtrF8) -> bool:
    """Whether the contacts of an island have less in reserve than they want."""
    return bool(losses[LOSS_WANTED] > losses[LOSS_KEPT])


@kernel
def _fill_reserves(e: StepContext) -> None:
    """Let each island keep what it wants of its losses, and share it; the books are put right."""
    v, wanted = e.w.solver, False
    for island in range(v.graph.known[1]):
        losses = off(v.losses, NL * island)
        wanted = wanted or losses[LOSS_WANTED] > 0.0
        step, rubbed = max(0.0, losses[LOSS_STEP]), losses[LOSS_RUBBED]
        if _wants(losses) and step + rubbed > 0.0:
            share = min(1.0, (losses[LOSS_WANTED] - losses[LOSS_KEPT]) / (step + rubbed))
            losses[LOSS_KEPT] += share * (step + rubbed)
            e.s.ledger[LEDGER_STEP] -= share * step
            e.s.ledger[LEDGER_FRICTION] -= share * rubbed
            e.s.ledger[LEDGER_NORMAL] += share * (step + rubbed)
    for k in range(v.touches.used[0] if wanted else 0):
        c = touch(v.touches, k)
        pressed = c.ints[TI_KIND] != SPRING_KIND and c.floats[TF_F] > 0.0
        if pressed and c.floats[TF_WANTED] > 0.0:
            row, losses = off(e.w.pairs.floats, NF * c.ints[TI_SLOT]), _island_losses(e, c)
            paid = min(1.0, losses[LOSS_KEPT] / losses[LOSS_WANTED])
            row[PF_RESERVE] += paid * c.floats[TF_WANTED]


@kernel
def _too_deep(e: StepContext, c: Touch) -> float:
    """By how much a contact is deeper than its springs would have it; about, or 0 [m].

    After a blow that is known only when the surfaces are looked at again: till then, all of it.
    """
    f = c.floats
    blow = f[TF_F] > BLOW * off(e.w.pairs.floats, NF * c.ints[TI_SLOT])[PF_PRESS]
    return float(max(0.0, f[TF_DEPTH] if blow else f[TF_YIELDED] * f[TF_DEPTH]))


@kernel
def _hold_on(e: StepContext, c: Touch) -> None:
    """Contact that overlaps but does not press in this step: what it had is its reserve."""
    slot = c.ints[TI_SLOT]
    row = off(e.w.pairs.floats, NF * slot)
    row[PF_PRESS], row[PF_STORED], row[PF_RESERVE] = 0.0, 0.0, c.floats[TF_STORED]
    e.w.pairs.ints[NI * slot + PI_LAST] = e.stamp


@kernel
def _remember(e: StepContext, c: Touch) -> None:
    """Force, energy and size of a pressing contact."""
    f, t = c.floats, e.w.solver.touches
    slot = c.ints[TI_SLOT]
    ints, row = off(e.w.pairs.ints, NI * slot), off(e.w.pairs.floats, NF * slot)
    out = off(f, TF_F)
    for q in range(3):
        n, t1, t2 = f[TF_N + q], f[TF_T1 + q], f[TF_T2 + q]
        row[PF_FORCE + q] = out[0] * n + out[3] * t1 + out[4] * t2
        row[PF_TORQUE + q] = out[5] * n + out[1] * t1 + out[2] * t2
        if f[TF_ROLLS] > 0.0:
            row[PF_TORQUE + q] += f[TF_TORQUE] * t1 + f[TF_TORQUE + 1] * t2
        row[PF_CENTRE + q] = e.s.position[3 * c.ints[TI_B] + q] + f[TF_ARM_B + q]
    patch = c.ints[TI_KIND] == PATCH_KIND
    row[PF_AREA] = f[TF_TRUE]
    row[PF_VOLUME] = max(0.0, f[TF_H]) / f[TF_RATIO] if patch else 0.0
    row[PF_DEPTH] = max(0.0, f[TF_DEPTH])
    un, w1, w2, _, _, _ = local_twist(c, e.w.solver.ahead.twist)
    # what was put in; what the springs do not hold is lost, or kept in reserve
    left = f[TF_STORED] - e.dt * (out[0] * un + out[1] * w1 + out[2] * w2)
    held = min(spring_energy(t, c, e.dt, e.w.solver.ahead.twist), max(0.0, left))
    row[PF_STORED], row[PF_RESERVE] = held, min(left - held, held)
    lift = max(out[0], row[PF_PRESS]) * _too_deep(e, c)
    f[TF_WANTED] = LOADS * lift + max(0.0, held - left)
    losses = _island_losses(e, c)
    losses[LOSS_KEPT] += max(0.0, left - 2.0 * held)
    losses[LOSS_WANTED] += f[TF_WANTED]
    row[PF_PRESS], row[PF_LAG] = out[0], out[0]
    ints[PI_LAST] = e.stamp


@kernel
def _friction_state(e: StepContext, c: Touch, twist: PtrF8) -> float:
    """Stretch of the friction spring after the step, and whether the contact slides.

    Returns the energy lost [J].
    """
    f, out = c.floats, off(c.floats, TF_F)
    slot = c.ints[TI_SLOT]
    ints, row = off(e.w.pairs.ints, NI * slot), off(e.w.pairs.floats, NF * slot)
    _, _, _, u1, u2, wn = local_twist(c, twist)
    patch = c.ints[TI_KIND] == PATCH_KIND
    weight = f[TF_S] / f[TF_AREA] if patch else 1.0
    j_n = (f[TF_JXX] + f[TF_JYY]) / f[TF_S] if patch else 0.0
    k_t, b_t = weight * f[TF_KT], weight * f[TF_BT]
    r1, r2 = f[TF_R1] + e.dt * u1, f[TF_R2] + e.dt * u2
    theta = f[TF_TH] + e.dt * wn if j_n > 0.0 else 0.0
    mode = STICK
    if c.ints[TI_MODE] == SLIDES:
        if _fastest(e.w.solver.touches, c, u1, u2, wn) >= V_EPS:
            mode = SLIP
        r1, r2, theta = _rewind(k_t, 0.0, j_n, u1, u2, wn, c)
    elif c.ints[TI_MODE] == BREAKS:
        if breaks(e.w.solver.touches, c, twist, e.dt):
            mode = SLIP
        r1, r2, theta = _rewind(k_t, b_t, j_n, u1, u2, wn, c)
    paid = f[TF_HELD] - e.dt * (out[3] * u1 + out[4] * u2 + out[5] * wn)
    held = 0.5 * k_t * (r1 * r1 + r2 * r2 + theta * theta * j_n)
    if held > paid:
        less = sqrt(max(0.0, paid) / held)
        r1, r2, theta, held = less * r1, less * r2, less * theta, max(0.0, paid)
    f[TF_R1], f[TF_R2], f[TF_TH] = r1, r2, theta
    row[PF_THETA], row[PF_HELD] = theta, held
    ints[PI_MODE], ints[PI_MISSED] = mode, 0
    return float(paid - held)


@kernel
def _rewind(
    k_t: float, b_t: float, j_n: float, u1: float, u2: float, wn: float, c: Touch
) -> tuple[float, float, float]:
    """Stretch and twist at which the spring alone carries the friction that was applied.

    r = −(f + b_t u_T)/k_t,  θ = −(m/J_n + b_t ω_n)/k_t;  the damper's share at most the force.
    """
    if k_t == 0.0:
        return 0.0, 0.0, 0.0
    out = off(c.floats, TF_F)
    force, drag = sqrt(out[3] * out[3] + out[4] * out[4]), b_t * sqrt(u1 * u1 + u2 * u2)
    cap = b_t if drag <= force else b_t * force / drag
    r1, r2 = -(out[3] + cap * u1) / k_t, -(out[4] + cap * u2) / k_t
    theta = 0.0
    if j_n > 0.0:
        twist, drag = abs(out[5]) / j_n, b_t * abs(wn)
        cap = b_t if drag <= twist else b_t * twist / drag
        theta = -(out[5] / j_n + cap * wn) / k_t
    return r1, r2, theta


@kernel
def _fastest(t: Touches, c: Touch, u1: float, u2: float, wn: float) -> float:
    """Greatest slip speed over the patch; speed is convex, so a corner has it."""
    most = u1 * u1 + u2 * u2
    at = off(t.fan, 3 * c.ints[TI_FAN])
    for poly in range(c.ints[TI_POLYGONS]):
        corners = t.corners[c.ints[TI_POLYGON] + poly]
        for i in range(1, corners + 1):
            e1, e2 = u1 - wn * at[3 * i + 1], u2 + wn * at[3 * i]
            most = max(most, e1 * e1 + e2 * e2)
        at = off(at, 3 * (corners + 1))
    return sqrt(most)


@kernel
def settle(e: StepContext) -> None:
    """After the bodies moved: tie the friction springs to them, forget contacts that ended."""
    t, pairs = e.w.solver.touches, e.w.pairs
    for k in range(t.used[0]):
        c = touch(t, k)
        if c.ints[TI_KIND] != SPRING_KIND and c.floats[TF_F] > 0.0:
            f = c.floats
            row = off(pairs.floats, NF * c.ints[TI_SLOT])
            r = (
                f[TF_R1] * f[TF_T1] + f[TF_R2] * f[TF_T2],
                f[TF_R1] * f[TF_T1 + 1] + f[TF_R2] * f[TF_T2 + 1],
                f[TF_R1] * f[TF_T1 + 2] + f[TF_R2] * f[TF_T2 + 2],
            )
            keep_spring(
                e.s, c.ints[TI_A], c.ints[TI_B], (f[TF_C], f[TF_C + 1], f[TF_C + 2]), r, row
            )
    for at in range(pairs.used[0]):
        if pairs.live[at] == 0:
            continue
        ints, row = off(pairs.ints, NI * pairs.slot[at]), off(pairs.floats, NF * pairs.slot[at])
        seen = ints[PI_LAST] == e.stamp
        if seen and row[PF_PRESS] > 0.0:
            continue
        ints[PI_MISSED] = min(ints[PI_MISSED] + 1, FORGET)
        row[PF_AREA], row[PF_VOLUME], row[PF_DEPTH] = 0.0, 0.0, 0.0
        row[PF_PRESS], row[PF_LAG], row[PF_STORED] = 0.0, 0.0, 0.0
        if not seen:  # they no longer overlap; a debt remains
            row[PF_RESERVE] = min(0.0, row[PF_RESERVE])
        for q in range(3):
            row[PF_FORCE + q], row[PF_TORQUE + q] = 0.0, 0.0
        if ints[PI_MISSED] >= FORGET:
            row[PF_HELD] = 0.0
            if row[PF_RESERVE] == 0.0:
                pairs.live[at] = 0
