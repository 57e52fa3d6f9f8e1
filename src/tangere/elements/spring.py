"""A spring and damper of the scene as an element of the implicit step.

    f = −k (d + σ dt u) − b u

with d the stretch at the start, u the speed at the end of the step and σ near 0 for springs that
are slow for the step, near 1 for stiff ones: along n = d/|d| with rest length l₀, and across it
with k max(0, 1 − l₀/|d|); in all directions for rest length 0. The spring's body a, at which d
ends, is body b of the row; its other end may be one of the world, which drifts.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.bodies.rigid import spring_ends, stiff_share
from tangere.elements.columns import (
    EF_ARM_A,
    EF_ARM_B,
    EF_F,
    EF_HESSIAN_N,
    EF_HESSIAN_T,
    EF_LEAD,
    EF_N,
    EF_ROLLS,
    EF_T1,
    EF_T2,
    EF_TILT1,
    EF_TILT2,
    EI_A,
    EI_B,
    EI_KIND,
    EI_NEW,
    EI_SLOT,
    EI_SQUARE,
    SF_ACROSS,
    SF_ALONG,
    SF_HELD,
    SF_START,
    SPRING_KIND,
    Element,
    add_local,
    element,
    local_twist,
)
from tangere.elements.step_context import StepContext, moves
from tangere.maths.vec import basis, norm, scale, sub
from tangere.model import (
    LEDGER_SPRINGS,
    LEDGER_STEP,
    LEDGER_WORK,
    NK,
    OK,
    SOLVER_FULL,
    SP_DAMPING,
    SP_K,
    SP_RATE,
    SP_REST,
    SP_VELOCITY,
)


@kernel
def list_springs(e: StepContext) -> int:
    """List all springs of the scene behind the contacts; OK, or SOLVER_FULL."""
    t = e.w.solver.elements
    for j in range(e.z.springs):
        if t.used[0] >= e.rooms[1]:
            return SOLVER_FULL
        _set_up(e, element(t, t.used[0]), j)
        t.used[0] += 1
    return OK


@kernel
def _set_up(e: StepContext, c: Element, j: int) -> None:
    """Axes, arms and law of spring j."""
    data, world = off(e.s.springs, NK * j), e.z.bodies + e.z.floors
    ia, ib = e.m.spring_bodies[2 * j], e.m.spring_bodies[2 * j + 1]
    pa, pb, _, _ = spring_ends(e.m, e.s, j)
    v = off(data, SP_VELOCITY)
    drift = (0.0, 0.0, 0.0) if ib >= 0 else (v[0], v[1], v[2])
    d = sub(pa, pb)
    length = norm(d)
    n = scale(1.0 / length, d) if length > 0.0 else (0.0, 0.0, 1.0)
    t1, t2 = basis(n)
    k, b, rest = data[SP_K], data[SP_DAMPING], data[SP_REST]
    across = k if rest == 0.0 else k * max(0.0, 1.0 - rest / length) if length > 0.0 else 0.0
    c.ints[EI_A], c.ints[EI_B], c.ints[EI_SLOT] = ib if ib >= 0 else world, ia, j
    c.ints[EI_KIND], c.ints[EI_NEW], c.ints[EI_SQUARE] = SPRING_KIND, 0, 0
    f = c.floats
    f[EF_ROLLS] = 0.0
    for q in range(6):
        f[EF_LEAD + q] = 0.0
    for q in range(3):
        f[EF_N + q], f[EF_T1 + q], f[EF_T2 + q] = n[q], t1[q], t2[q]
        f[EF_TILT1 + q], f[EF_TILT2 + q] = t1[q], t2[q]
        f[EF_ARM_B + q] = pa[q] - e.s.position[3 * ia + q]
        f[EF_ARM_A + q] = pb[q] - e.s.position[3 * ib + q] if ib >= 0 else 0.0
    share = stiff_share(data[SP_RATE], e.dt)
    f[SF_ALONG] = share * k * e.dt + b
    f[SF_ACROSS] = share * across * e.dt + (b if rest == 0.0 else 0.0)
    f[SF_HELD] = k * (length - rest)
    start, side = off(f, SF_START), f[SF_ACROSS]
    start[0] = f[SF_HELD] - f[SF_ALONG] * (n[0] * drift[0] + n[1] * drift[1] + n[2] * drift[2])
    start[1] = -side * (t1[0] * drift[0] + t1[1] * drift[1] + t1[2] * drift[2])
    start[2] = -side * (t2[0] * drift[0] + t2[1] * drift[1] + t2[2] * drift[2])


@kernel
def spring_value(c: Element, twist: PtrF8) -> None:
    """Fill the spring's force."""
    f = c.floats
    un, _, _, u1, u2, _ = local_twist(c, twist)
    out, start = off(f, EF_F), off(f, SF_START)
    for i in range(6):
        out[i] = 0.0
    out[0] = -start[0] - f[SF_ALONG] * un
    out[3], out[4] = -start[1] - f[SF_ACROSS] * u1, -start[2] - f[SF_ACROSS] * u2


@kernel
def spring_hessian(c: Element) -> None:
    """Fill the spring's Hessian, which does not depend on the motion."""
    f = c.floats
    cn, ct = off(f, EF_HESSIAN_N), off(f, EF_HESSIAN_T)
    for i in range(6):
        cn[i], ct[i] = 0.0, 0.0
    cn[0], ct[0], ct[3] = f[SF_ALONG], f[SF_ACROSS], f[SF_ACROSS]


@kernel
def remember_spring(e: StepContext, c: Element) -> None:
    """Wrenches on the bodies, and the force for `State.spring`."""
    add_local(c, 1.0, e.s.applied)
    f, out = c.floats, off(c.floats, EF_F)
    for q in range(3):
        e.s.spring[3 * c.ints[EI_SLOT] + q] = (
            out[0] * f[EF_N + q] + out[3] * f[EF_T1 + q] + out[4] * f[EF_T2 + q]
        )


@kernel
def enter_spring(e: StepContext, c: Element) -> None:
    """Enter work at the world's end and loss of the damper in the ledger."""
    un, _, _, u1, u2, _ = local_twist(c, e.w.solver.ahead.twist)
    f, book = off(c.floats, EF_F), e.s.ledger
    drift = 0.0
    v = off(e.s.springs, NK * c.ints[EI_SLOT] + SP_VELOCITY)
    if e.m.spring_bodies[2 * c.ints[EI_SLOT] + 1] < 0:
        force = off(e.s.spring, 3 * c.ints[EI_SLOT])
        drift = force[0] * v[0] + force[1] * v[1] + force[2] * v[2]
    book[LEDGER_WORK] += e.dt * drift
    given = spring_given_back(e, c)
    book[LEDGER_SPRINGS] += e.dt * (drift - f[0] * un - f[3] * u1 - f[4] * u2) + given
    book[LEDGER_STEP] -= given


@kernel
def spring_given_back(e: StepContext, c: Element) -> float:
    """−½ (1 − σ) dt f Δu: what the spring holds for the middle of the step of ½ |Δv|² M [J].

    Δu: change of the speed along n in the step, that by gravity included.
    """
    h = e.w.solver.ahead
    fall = 0.0
    for k in range(3):
        fall += e.dt * e.m.gravity[k] * c.floats[EF_N + k]
    before = local_twist(c, h.free)[0]
    if moves(e, c.ints[EI_B]):
        before -= fall
    if moves(e, c.ints[EI_A]):
        before += fall
    soft = 1.0 - stiff_share(e.s.springs[NK * c.ints[EI_SLOT] + SP_RATE], e.dt)
    change = local_twist(c, h.twist)[0] - before
    return float(-0.5 * soft * e.dt * c.floats[SF_HELD] * change)
