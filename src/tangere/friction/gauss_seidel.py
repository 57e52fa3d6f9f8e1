"""Sweeps of block Gauss–Seidel: every contact in turn solves its own problem, the others held."""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.friction.one_contact import one_contact
from tangere.friction.problem import (
    L_11,
    L_12,
    L_22,
    L_INVERSE,
    L_N1,
    L_N2,
    L_NN,
    NL,
    OPEN,
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
