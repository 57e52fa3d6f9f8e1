"""Energy books of the signorini step: what a step loses, is given, and does not explain."""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import off
from tangere.bodies.rigid import held_by_springs, spring_ends
from tangere.bodies.soft import elastic_energy
from tangere.contact.unilateral.contact_rows import vec
from tangere.contact.unilateral.free_motion import end_twist
from tangere.contact.unilateral.problem import (
    CF_FORCE,
    CF_MOTION,
    CF_STIFFNESS,
    CF_STRETCH,
    CI_A,
    NCF,
    NCI,
    NJ,
    ContactWork,
)
from tangere.maths.quat import turn_back
from tangere.maths.vec import add, cross, dot, scale, sub
from tangere.model import (
    LEDGER_ERROR,
    LEDGER_FRICTION,
    LEDGER_HELD,
    LEDGER_NORMAL,
    LEDGER_SPRINGS,
    LEDGER_STEP,
    LEDGER_TOTAL,
    LEDGER_WORK,
    NK,
    SP_DAMPING,
    SP_K,
    SP_REST,
    Model,
    Sizes,
    State,
)

TINY = 1e-300


@kernel
def total_energy(z: Sizes, m: Model, s: State, p: ContactWork) -> float:
    """Kinetic, potential, spring and elastic energy, and that of the contacts [J]."""
    total = 0.0
    for i in range(z.bodies):
        if m.inv_mass[i] > 0.0:
            v, x = off(s.velocity, 3 * i), off(s.position, 3 * i)
            total += 0.5 * m.mass[i] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
            for k in range(3):
                total += 0.5 * s.momentum[3 * i + k] * s.omega[3 * i + k]
                total -= m.mass[i] * m.gravity[k] * x[k]
    kinetic, strain = elastic_energy(p.soft.model, p.soft.state)
    total += kinetic + strain + held_by_springs(m, s, z.springs, 0.0)
    return float(total + p.held[0])


@kernel
def enter_losses(z: Sizes, m: Model, s: State, p: ContactWork, dt: float) -> float:
    """Enter what the step loses and is given, before bodies move; returns the energy then.

    With v the velocity at its end: friction takes −f_t·δ_t, the normal forces −f_n dt u_n less what
    the contacts' springs hold more, ½ k s², dampers b |u|² dt, and implicit Euler ½ M |Δv|² and
    ½ k |dt u|².
    """
    c, y, book = p.contacts, p.bodies, s.ledger
    total = total_energy(z, m, s, p)
    friction, normal, springs, step, work = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(c.used[0]):
        row, ints = off(c.floats, NCF * k), off(c.ints, NCI * k)
        if not row[CF_FORCE] > 0.0:
            continue
        friction -= row[CF_FORCE + 1] * row[CF_MOTION + 1] + row[CF_FORCE + 2] * row[CF_MOTION + 2]
        normal -= row[CF_FORCE] * row[CF_MOTION]
        for side in range(2):
            body = ints[CI_A + side]
            if m.inv_mass[body] == 0.0:  # moved from outside
                j = off(c.jacobian, NJ * (2 * k + side))
                for x in range(3):
                    for q in range(6):
                        work -= dt * row[CF_FORCE + x] * j[6 * x + q] * y.free[6 * body + q]
    for i in range(z.bodies):
        if m.inv_mass[i] > 0.0:
            v, w = end_twist(s, y, i, dt)
            r = off(s.rotation, 9 * i)
            dv = sub(v, vec(off(s.velocity, 3 * i), 0))
            dw = turn_back(r, sub(w, vec(off(s.omega, 3 * i), 0)))
            step += 0.5 * m.mass[i] * dot(dv, dv)
            for x in range(3):
                step += 0.5 * m.inertia[3 * i + x] * dw[x] * dw[x]
    for k in range(z.springs):
        i = m.spring_bodies[2 * k]
        pa, pb, _, ub = spring_ends(m, s, k)
        v, w = end_twist(s, y, i, dt)
        u = sub(add(v, cross(w, sub(pa, vec(off(s.position, 3 * i), 0)))), ub)
        data, f = off(s.springs, NK * k), vec(off(s.spring, 3 * k), 0)
        if data[SP_REST] > 0.0:
            d = sub(pa, pb)
            u = scale(dot(u, d) / max(dot(d, d), TINY), d)
        springs += dt * data[SP_DAMPING] * dot(u, u)
        step += 0.5 * data[SP_K] * dt * dt * dot(u, u)
        work -= dt * dot(f, ub)
    held = 0.0
    for k in range(c.used[0]):
        row = off(c.floats, NCF * k)
        held += 0.5 * row[CF_STIFFNESS] * row[CF_STRETCH] * row[CF_STRETCH]
    normal -= held - p.held[0]
    p.held[0] = held
    book[LEDGER_FRICTION] += friction
    book[LEDGER_NORMAL] += normal
    book[LEDGER_SPRINGS] += springs
    book[LEDGER_STEP] += step
    book[LEDGER_WORK] += work
    return float(total + work - friction - normal - springs - step)


@kernel
def close_books(z: Sizes, m: Model, s: State, p: ContactWork, expected: float) -> None:
    """Energy after the step, what soft bodies lost, and what the books do not explain."""
    lost = p.soft.state.lost
    s.ledger[LEDGER_SPRINGS] += lost[0]
    s.ledger[LEDGER_STEP] += lost[1]
    total = total_energy(z, m, s, p)
    s.ledger[LEDGER_TOTAL] = total
    s.ledger[LEDGER_ERROR] = total - (expected - lost[0] - lost[1])
    s.ledger[LEDGER_HELD] = held_by_springs(m, s, z.springs, 0.0)
