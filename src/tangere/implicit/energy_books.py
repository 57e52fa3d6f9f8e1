"""The books of an implicit step: where its energy went.

    ΔE = work − normal − friction − springs − step

E: kinetic energy, weight, springs, contact springs and reserves, friction springs. Losses are
summed from the forces of the solution and the end-of-step velocities, E is taken from the state:
the two meet only if the step is right. What they leave unexplained goes to `LEDGER_ERROR`.

What springs hold, `held_by_springs`, is constant together with the kinetic energy for a mass on a
slow spring, as it should be, and never rises for any σ.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import off
from tangere.bodies.rigid import held_by_springs
from tangere.elements.columns import (
    element,
)
from tangere.elements.element import enter
from tangere.elements.step_context import StepContext
from tangere.model import (
    LEDGER_ERROR,
    LEDGER_FRICTION,
    LEDGER_FRICTION_HELD,
    LEDGER_HELD,
    LEDGER_NORMAL,
    LEDGER_SPRINGS,
    LEDGER_STEP,
    LEDGER_STORED,
    LEDGER_TOTAL,
    LEDGER_WORK,
    NF,
    PF_HELD,
    PF_RESERVE,
    PF_STORED,
)


@kernel
def open_books(e: StepContext) -> None:
    """Take the energy as it is now: someone may have moved things since the last step."""
    book = e.s.ledger
    springs, normal, friction = book[LEDGER_SPRINGS], book[LEDGER_NORMAL], book[LEDGER_FRICTION]
    book[LEDGER_TOTAL] = _energy(e)
    book[LEDGER_SPRINGS], book[LEDGER_NORMAL], book[LEDGER_FRICTION] = springs, normal, friction


@kernel
def close_books(e: StepContext) -> None:
    """Enter one step, after the bodies moved."""
    t, h, book = e.w.solver.elements, e.w.solver.ahead, e.s.ledger
    before = book[LEDGER_TOTAL]
    losses = -book[LEDGER_NORMAL] - book[LEDGER_FRICTION] - book[LEDGER_STEP]
    losses += book[LEDGER_WORK] - book[LEDGER_SPRINGS]
    for k in range(t.used[0]):
        enter(e, element(t, k))
    for i in range(e.z.bodies + e.z.floors):
        if e.m.inv_mass[i] > 0.0:
            book[LEDGER_STEP] += step_loss(e, i)
        else:
            for k in range(6):
                load = e.s.wrench[6 * i + k] + e.s.applied[6 * i + k]
                book[LEDGER_WORK] -= e.dt * load * h.twist[6 * i + k]
    now = _energy(e)
    losses -= -book[LEDGER_NORMAL] - book[LEDGER_FRICTION] - book[LEDGER_STEP]
    losses -= book[LEDGER_WORK] - book[LEDGER_SPRINGS]
    book[LEDGER_TOTAL], book[LEDGER_ERROR] = now, now - before + losses


@kernel
def step_loss(e: StepContext, i: int) -> float:
    """½ |Δv|² M of one body: what the implicit step takes from a change of motion."""
    h = e.w.solver.ahead
    v, free = off(h.twist, 6 * i), off(h.free, 6 * i)
    lost = 0.0
    for k in range(3):
        d = v[k] - free[k] + e.dt * e.m.gravity[k]
        lost += 0.5 * e.m.mass[i] * d * d
        for j in range(3):
            turn = h.inertia[9 * i + 3 * k + j] * (v[3 + j] - free[3 + j])
            lost += 0.5 * (v[3 + k] - free[3 + k]) * turn
    return lost


@kernel
def _energy(e: StepContext) -> float:
    """Mechanical energy of the scene; what springs and contacts hold leaves the lost [J]."""
    s, m, book = e.s, e.m, e.s.ledger
    total = 0.0
    for i in range(e.z.bodies):
        if m.inv_mass[i] > 0.0:
            for k in range(3):
                v = s.velocity[3 * i + k]
                total += m.mass[i] * (0.5 * v * v - m.gravity[k] * s.position[3 * i + k])
                total += 0.5 * s.momentum[3 * i + k] * s.omega[3 * i + k]
    held = held_by_springs(m, s, e.z.springs, e.dt)
    stored, friction = 0.0, 0.0
    pairs = e.w.pairs
    for at in range(pairs.used[0]):
        if pairs.live[at] != 0:
            row = off(pairs.floats, NF * pairs.slot[at])
            stored += row[PF_STORED] + max(0.0, row[PF_RESERVE])  # what is owed is nothing held
            friction += row[PF_HELD]
    # a loss is what was put in less what is held now
    book[LEDGER_SPRINGS] -= held - book[LEDGER_HELD]
    book[LEDGER_NORMAL] -= stored - book[LEDGER_STORED]
    book[LEDGER_FRICTION] -= friction - book[LEDGER_FRICTION_HELD]
    book[LEDGER_HELD], book[LEDGER_STORED], book[LEDGER_FRICTION_HELD] = held, stored, friction
    return total + held + stored + friction
