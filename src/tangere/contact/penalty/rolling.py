"""What resists the rolling of meshes: a contact point stands for a patch, and a patch has a width.

Without it a body that rests on two points would rock for ever. In a step a contact that pressed
with f in the last one takes of the relative angular velocity across its normal what the impulse

    dt f ρ,   ρ = 0.01 √a,   a the area that the point stands for,

does on both bodies, at most all of it: a torque that only ever slows down.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import off
from tangere.contact.unilateral.contact_rows import vec
from tangere.contact.unilateral.problem import (
    CF_AREA,
    CF_FORCE,
    CF_N,
    CI_A,
    CI_B,
    NCF,
    NCI,
    Contacts,
)
from tangere.maths.quat import turn, turn_back
from tangere.maths.vec import Vec3, axpy, dot, norm, scale, sub
from tangere.model import LEDGER_FRICTION, Model, State

# Torque that resists rolling over force and width of the patch.
WIDTH_SHARE = 0.01


@kernel
def resist_rolling(m: Model, s: State, c: Contacts, dt: float) -> None:
    """Slow the rolling of all bodies whose contacts pressed in the last step."""
    for k in range(c.used[1]):
        ints, row = off(c.last_ints, NCI * k), off(c.last_floats, NCF * k)
        if not (row[CF_FORCE] > 0.0 and row[CF_AREA] > 0.0):
            continue
        i, j = ints[CI_A], ints[CI_B]
        n = vec(row, CF_N)
        w = sub(vec(off(s.omega, 3 * j), 0), vec(off(s.omega, 3 * i), 0))
        w = axpy(-dot(w, n), n, w)
        speed = norm(w)
        if not speed > 0.0:
            continue
        d = scale(1.0 / speed, w)
        gives = dot(d, _spin(m, s, i, d)) + dot(d, _spin(m, s, j, d))
        if not gives > 0.0:
            continue
        most = dt * row[CF_FORCE] * WIDTH_SHARE * sqrt(row[CF_AREA])
        impulse = min(most, speed / gives)
        s.ledger[LEDGER_FRICTION] += impulse * (speed - 0.5 * impulse * gives)
        _turn(m, s, j, scale(-impulse, d))
        _turn(m, s, i, scale(impulse, d))


@kernel
def _spin(m: Model, s: State, i: int, d: Vec3) -> Vec3:
    """Change of the angular velocity of body i by an angular impulse d."""
    if not m.inv_mass[i] > 0.0:
        return (0.0, 0.0, 0.0)
    r, inverse = off(s.rotation, 9 * i), off(m.inv_inertia, 3 * i)
    own = turn_back(r, d)
    return turn(r, (inverse[0] * own[0], inverse[1] * own[1], inverse[2] * own[2]))


@kernel
def _turn(m: Model, s: State, i: int, impulse: Vec3) -> None:
    """Give body i an angular impulse."""
    if m.inv_mass[i] > 0.0:
        change = _spin(m, s, i, impulse)
        for k in range(3):
            s.momentum[3 * i + k] += impulse[k]
            s.omega[3 * i + k] += change[k]
