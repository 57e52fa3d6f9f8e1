"""Algorithm 1 of Duriez et al. (2006) as it is printed, for comparison; `anytime` is to be used.

    δ = W r + q with the forces of this sweep as far as they are known
    r_n ← r_n − δ_n/W_nn;  r_t ← r_t − δ_t/Λ, scaled to μ r_n if longer;  r ← 0 where r_n ≤ 0
    until Σ_c |r_c − r_c before|/|r_c| < ε,     Λ half the trace of W_tt

Two things are wrong with it. δ_t is not refreshed after r_n has changed, so that it need not
converge even for one contact that sticks; and a small step is no small error. In the sum a force
that is zero divides by zero.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.friction.problem import (
    L_11,
    L_22,
    L_INVERSE,
    L_MU,
    NL,
    Problem,
    Scratch,
    displace,
    motion_of,
    prepare,
    spread,
)

# Forces beyond this multiple of the force scale have diverged.
DIVERGED = 1e12


@kernel
def solve_printed(
    p: Problem,
    m: int,
    r: PtrF8,
    s: Scratch,
    tolerance: float,
    max_sweeps: int,
    leave_out_zeros: bool,
) -> tuple[int, bool]:
    """Sweeps, and whether its own stopping test was met; r is the last iterate, always finite.

    Args:
        p: The problem, as pointers.
        m: Number of contacts.
        r: Forces to start from, then the result (3m).
        s: Scratch for at least m contacts, as pointers.
        tolerance: ε of the stopping test.
        max_sweeps: The most sweeps.
        leave_out_zeros: Forces that are zero have no part in the test; else one that has become
            zero counts as a step of 1.
    """
    scale = prepare(p, m, s)
    displace(p, m, r, s.motion)
    for sweep in range(1, max_sweeps + 1):
        total = 0.0
        for c in range(m):
            local = off(s.local, NL * c)
            f = off(r, 3 * c)
            old = (f[0], f[1], f[2])
            n, t1, t2 = 0.0, 0.0, 0.0
            if local[L_INVERSE] > 0.0:
                u = motion_of(p, c, s.motion)
                n = f[0] - u[0] * local[L_INVERSE]
                step = 2.0 / (local[L_11] + local[L_22]) if local[L_MU] > 0.0 else 0.0
                t1, t2 = f[1] - u[1] * step, f[2] - u[2] * step
            size, radius = sqrt(t1 * t1 + t2 * t2), local[L_MU] * n
            if n <= 0.0:
                n, t1, t2 = 0.0, 0.0, 0.0
            elif size > radius:
                t1 *= radius / size
                t2 *= radius / size
            change = (n - old[0], t1 - old[1], t2 - old[2])
            size = sqrt(n * n + t1 * t1 + t2 * t2)
            moved = sqrt(change[0] * change[0] + change[1] * change[1] + change[2] * change[2])
            if size > 0.0:
                total += moved / size
            elif moved > 0.0 and not leave_out_zeros:
                total += 1.0
            if not size < DIVERGED * scale:
                return sweep, False
            if moved > 0.0:
                f[0], f[1], f[2] = n, t1, t2
                spread(p, m, c, change, s.motion)
        if total < tolerance:
            return sweep, True
    return max_sweeps, False
