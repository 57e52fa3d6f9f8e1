"""Semi-smooth Newton on the map of Alart and Curnier (1991), in proximal steps.

The forces of rigid groups are not unique and W is singular; a step of the proximal point method

    u = (W + ρ D) r + q − ρ D r₀,    r₀ the forces before it, D the mean diagonal of each W_cc

has a regular matrix, and its error falls with ρ. Newton's method solves it from r₀: with
y = r − u/(W_nn + ρ D, Λ, Λ), Λ half the trace of W_tt + ρ D, a contact is open where y_n ≤ 0, and
then r = 0; else u_n = 0, and it sticks (u_t = 0) where |y_t| ≤ μ y_n. Where it slips

    r_t = μ y_n e,    e = y_t/|y_t|

Unlike the steps of `newton` these need no sweep for the active set, and iterates need not lie on
the cone: they reach solutions that sweeps run away from. ρ becomes smaller from step to step; where
Newton's method does not converge, the step is taken back and ρ is larger for the next one.
"""

from __future__ import annotations

from math import sqrt

from tangere._clock import kernel_ns
from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.friction.newton import factor_columns, solve_columns
from tangere.friction.problem import (
    L_11,
    L_22,
    L_INVERSE,
    L_MU,
    L_NN,
    L_WEIGHT,
    NL,
    Goal,
    Problem,
    Scratch,
    copy_forces,
    displace,
    motion_of,
    motion_size,
    moved,
    natural_map,
    project,
    spread,
)
from tangere.maths.vec import Vec3

# ρ: first, least, most, and what it changes by.
FIRST_RHO, LEAST_RHO, MOST_RHO = 1e-2, 1e-9, 1.0
LESS_RHO, MORE_RHO = 1e-1, 10.0
# Newton steps within one proximal step, and the share of the force scale at which they end.
MAX_STEPS = 12
CLOSE = 1e-12
# Iterates beyond this multiple of the force scale do not come back.
LOST = 1e6
MAX_PROXIMAL = 20


@kernel
def solve_proximal(
    p: Problem, m: int, r: PtrF8, s: Scratch, goal: Goal, least: float
) -> tuple[float, int]:
    """Least error so far, that of `s.best`, and Newton steps made.

    Args:
        p: The problem.
        m: Number of contacts.
        r: Forces to start from; undefined afterwards.
        s: Scratch, prepared.
        goal: What to reach.
        least: Error of `s.best`.
    """
    rho, steps = FIRST_RHO, 0
    project(m, r, s)
    for _ in range(MAX_PROXIMAL):
        copy_forces(m, r, s.held)
        made, converged = _newton(p, m, r, s, goal, rho)
        steps += made
        project(m, r, s)
        displace(p, m, r, s.motion)
        error = natural_map(p, m, r, s.motion, s) / goal.scale
        if error < least:
            least = error
            copy_forces(m, r, s.best)
        if least <= goal.tolerance:
            break
        if goal.deadline > 0 and kernel_ns() >= goal.deadline:
            break
        if converged:
            rho = max(LEAST_RHO, LESS_RHO * rho)
        else:
            copy_forces(m, s.held, r)
            if rho >= MOST_RHO:
                break
            rho = min(MOST_RHO, MORE_RHO * rho)
    return least, steps


@kernel
def _newton(p: Problem, m: int, r: PtrF8, s: Scratch, goal: Goal, rho: float) -> tuple[int, bool]:
    """Newton steps on a proximal step from s.held; how many, and whether they converged."""
    for made in range(MAX_STEPS):
        displace(p, m, r, s.motion)
        n, worst = _close_contacts(p, m, r, s, rho)
        if n > s.room[0]:
            return made, False
        x = off(s.matrix, n * n)
        for c in range(m):
            if s.first[c] >= 0:
                e = _residual(s, c, r, rho)
                for i in range(3):
                    x[s.first[c] + i] = e[i]
                    worst = max(worst, abs(e[i]))
        if worst <= CLOSE * goal.scale:
            return made, True
        if not worst < LOST * goal.scale or (goal.deadline > 0 and kernel_ns() >= goal.deadline):
            return made, False
        _fill(p, m, n, r, s, rho)
        factor_columns(s.matrix, s.pivot, n)
        solve_columns(s.matrix, s.pivot, n, x)
        for c in range(m):
            if s.first[c] >= 0:
                for i in range(3):
                    r[3 * c + i] -= x[s.first[c] + i]
    return MAX_STEPS, False


@kernel
def _close_contacts(p: Problem, m: int, r: PtrF8, s: Scratch, rho: float) -> tuple[int, float]:
    """Give the contacts that are not open their rows; open ones lose their force.

    Three times their number, and the largest force that was lost; `s.u` holds u of the step.
    """
    n, lost = 0, 0.0
    for c in range(m):
        local = off(s.local, NL * c)
        more = rho * local[L_WEIGHT] * local[L_WEIGHT]
        u = motion_of(p, c, s.motion)[0] + more * (r[3 * c] - s.held[3 * c])
        s.first[c] = -1
        if local[L_INVERSE] > 0.0 and r[3 * c] - u / (local[L_NN] + more) > 0.0:
            s.first[c] = n
            n += 3
    for c in range(m):
        f = (r[3 * c], r[3 * c + 1], r[3 * c + 2])
        if s.first[c] < 0 and (f[0] != 0.0 or f[1] != 0.0 or f[2] != 0.0):
            lost = max(lost, abs(f[0]), abs(f[1]), abs(f[2]))
            spread(p, m, c, (-f[0], -f[1], -f[2]), s.motion)
            r[3 * c], r[3 * c + 1], r[3 * c + 2] = 0.0, 0.0, 0.0
    for c in range(m):
        if s.first[c] >= 0:
            weight = s.local[NL * c + L_WEIGHT]
            u = motion_of(p, c, s.motion)
            for i in range(3):
                change = r[3 * c + i] - s.held[3 * c + i]
                s.u[3 * c + i] = u[i] + rho * weight * weight * change
    return n, lost


@kernel
def _steps(local: PtrF8, rho: float) -> tuple[float, float]:
    """1/(W_nn + ρ D) and 1/Λ."""
    more = rho * local[L_WEIGHT] * local[L_WEIGHT]
    return 1.0 / (local[L_NN] + more), 1.0 / (0.5 * (local[L_11] + local[L_22]) + more)


@kernel
def _residual(s: Scratch, c: int, r: PtrF8, rho: float) -> Vec3:
    """The map of Alart and Curnier for a contact that is not open."""
    local, f, u = off(s.local, NL * c), off(r, 3 * c), off(s.u, 3 * c)
    a, b = _steps(local, rho)
    radius = local[L_MU] * max(0.0, f[0] - a * u[0])
    y1, y2 = f[1] - b * u[1], f[2] - b * u[2]
    size = sqrt(y1 * y1 + y2 * y2)
    if size <= radius:
        return a * u[0], b * u[1], b * u[2]
    return a * u[0], f[1] - radius * y1 / size, f[2] - radius * y2 / size


@kernel
def _fill(p: Problem, m: int, n: int, r: PtrF8, s: Scratch, rho: float) -> None:
    """The matrix of a Newton step, by columns."""
    for d in range(m):
        if s.first[d] < 0:
            continue
        weight = s.local[NL * d + L_WEIGHT]
        for j in range(3):
            for i in range(motion_size(p, m)):
                s.column[i] = 0.0
            unit = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
            spread(p, m, d, unit, s.column)
            out = off(s.matrix, n * (s.first[d] + j))
            for c in range(m):
                if s.first[c] >= 0:
                    w = moved(p, c, s.column)
                    more = rho * weight * weight if c == d else 0.0
                    w = (w[0] + more * unit[0], w[1] + more * unit[1], w[2] + more * unit[2])
                    own = j if c == d else -1
                    _rows(s, c, r, rho, w, own, off(out, s.first[c]))


@kernel
def _rows(s: Scratch, c: int, r: PtrF8, rho: float, w: Vec3, own: int, out: PtrF8) -> None:
    """Three rows of a column w of W + ρ D; own: which of the contact's own forces it belongs to."""
    local, f, u = off(s.local, NL * c), off(r, 3 * c), off(s.u, 3 * c)
    a, b = _steps(local, rho)
    out[0] = a * w[0]
    radius = local[L_MU] * max(0.0, f[0] - a * u[0])
    y1, y2 = f[1] - b * u[1], f[2] - b * u[2]
    size = sqrt(y1 * y1 + y2 * y2)
    if size <= radius:
        out[1], out[2] = b * w[1], b * w[2]
        return
    e1, e2, share = y1 / size, y2 / size, radius / size
    # dy = dr_t − b dw_t, dμ y_n = μ (dr_n − a dw_n):  e' = (1 − e eᵀ) dy/|y|
    d1 = (1.0 if own == 1 else 0.0) - b * w[1]
    d2 = (1.0 if own == 2 else 0.0) - b * w[2]
    dn = local[L_MU] * ((1.0 if own == 0 else 0.0) - a * w[0])
    along = e1 * d1 + e2 * d2
    out[1] = (1.0 if own == 1 else 0.0) - dn * e1 - share * (d1 - along * e1)
    out[2] = (1.0 if own == 2 else 0.0) - dn * e2 - share * (d2 - along * e2)
