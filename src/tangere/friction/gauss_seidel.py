"""Sweeps of block Gauss–Seidel: every contact in turn solves its own problem, the others held.

Where contacts are coupled strongly and friction is high, exact solutions of one contact after the
other may go round in circles. Steps that only go some way, normal first, then tangential with the
gap as the normal force has left it, as projections,

    r_n ← max(0, r_n − u_n/W_nn),     r_t ← r_t − u_t/Λ, scaled to μ r_n if longer

with Λ half the trace of W_tt, are slower and come to rest in most of these cases, and in nearly all
if they only go a share of that way.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.friction.one_contact import one_contact
from tangere.friction.problem import (
    L_11,
    L_12,
    L_22,
    L_INVERSE,
    L_MU,
    L_N1,
    L_N2,
    L_NN,
    NL,
    OPEN,
    SLIP,
    STICK,
    Problem,
    Scratch,
    motion_of,
    spread,
)


@kernel
def sweep(p: Problem, m: int, r: PtrF8, s: Scratch, backwards: bool) -> None:
    """One sweep over all contacts in `s.order`: r, y, states."""
    for i in range(m):
        c = s.order[m - 1 - i if backwards else i]
        local = off(s.local, NL * c)
        if local[L_INVERSE] == 0.0:
            s.state[c] = OPEN
            continue
        n, t1, t2 = r[3 * c], r[3 * c + 1], r[3 * c + 2]
        u = motion_of(p, c, s.motion)
        b = (
            u[0] - (local[L_NN] * n + local[L_N1] * t1 + local[L_N2] * t2),
            u[1] - (local[L_N1] * n + local[L_11] * t1 + local[L_12] * t2),
            u[2] - (local[L_N2] * n + local[L_12] * t1 + local[L_22] * t2),
        )
        state, n2, t12, t22 = one_contact(local, b)
        s.state[c] = state
        if n2 != n or t12 != t1 or t22 != t2:
            r[3 * c], r[3 * c + 1], r[3 * c + 2] = n2, t12, t22
            spread(p, m, c, (n2 - n, t12 - t1, t22 - t2), s.motion)


@kernel
def projected_sweep(p: Problem, m: int, r: PtrF8, s: Scratch, share: float) -> None:
    """The same, forwards, with a share of projected steps instead of exact solutions."""
    for i in range(m):
        c = s.order[i]
        local = off(s.local, NL * c)
        if local[L_INVERSE] == 0.0:
            s.state[c] = OPEN
            continue
        n, t1, t2 = r[3 * c], r[3 * c + 1], r[3 * c + 2]
        u = motion_of(p, c, s.motion)
        n2 = max(0.0, n - u[0] * local[L_INVERSE])
        trace, radius = local[L_11] + local[L_22], local[L_MU] * n2
        t12, t22, s.state[c] = 0.0, 0.0, OPEN if n2 == 0.0 else SLIP
        if radius > 0.0 and trace > 0.0:
            t12 = t1 - 2.0 * (u[1] + local[L_N1] * (n2 - n)) / trace
            t22 = t2 - 2.0 * (u[2] + local[L_N2] * (n2 - n)) / trace
            size = sqrt(t12 * t12 + t22 * t22)
            if size > radius:
                t12 *= radius / size
                t22 *= radius / size
            else:
                s.state[c] = STICK
        n2, t12, t22 = n + share * (n2 - n), t1 + share * (t12 - t1), t2 + share * (t22 - t2)
        if n2 != n or t12 != t1 or t22 != t2:
            r[3 * c], r[3 * c + 1], r[3 * c + 2] = n2, t12, t22
            spread(p, m, c, (n2 - n, t12 - t1, t22 - t2), s.motion)
