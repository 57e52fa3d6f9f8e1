"""Newton's method on the active set: who is open, who sticks and who slips is taken from a sweep.

Open contacts are left out. A contact that sticks has u = 0 for its three forces. One that slips
stays on the cone, r_t = μ r_n s with |s| = 1, and has two unknowns: r_n, and τ = μ r_n dθ for the
turn of s towards s⊥. Its equations are u_n = 0 and s⊥·u_t = 0, so that

    [Eᵀ W G + diag(0, κ)] (dr_n, τ) = −Eᵀ u,   E = (n, s⊥),   G = (n + μ s, s⊥),   κ = |u_t|/μ r_n.

This is the semi-smooth Newton step of Alart and Curnier (1991) without the rows that are known
beforehand: one unknown where there is no friction, two in slip, three in stick. The forces of a
rigid group are not unique and its matrix is singular; a small share of the diagonal is added, which
the next steps take out again. A factor serves as long as the active set stays.
"""

from __future__ import annotations

from math import inf, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.friction.problem import (
    L_INVERSE,
    L_MU,
    L_STEP,
    L_WAY1,
    L_WAY2,
    NL,
    OPEN,
    SLIP,
    STICK,
    Problem,
    Scratch,
    motion_of,
    motion_size,
    moved,
    spread,
)
from tangere.maths.vec import Vec3


@kernel
def classify(p: Problem, m: int, r: PtrF8, s: Scratch) -> None:
    """Take the active set from the natural map instead of a sweep, of forces on their cones."""
    for c in range(m):
        local = off(s.local, NL * c)
        n, t1, t2 = r[3 * c], r[3 * c + 1], r[3 * c + 2]
        u = motion_of(p, c, s.motion)
        if not n - u[0] * local[L_INVERSE] > 0.0:
            s.state[c] = OPEN
            continue
        y1, y2 = t1 - u[1] * local[L_STEP], t2 - u[2] * local[L_STEP]
        s.state[c] = SLIP if sqrt(y1 * y1 + y2 * y2) > local[L_MU] * n else STICK


@kernel
def count_unknowns(m: int, r: PtrF8, s: Scratch) -> int:
    """Number of unknowns of a Newton step; `s.first` says where those of each contact are."""
    n = 0
    for c in range(m):
        s.first[c] = -1
        if s.state[c] != OPEN and r[3 * c] > 0.0:
            s.first[c] = n
            n += _unknowns(s, c)
    return n


@kernel
def same_active_set(m: int, n: int, s: Scratch) -> bool:
    """Whether the last factor belongs to the n unknowns that were counted."""
    if n != s.room[1]:
        return False
    for c in range(m):
        if s.first[c] != s.first[m + c]:
            return False
    return True


@kernel
def _unknowns(s: Scratch, c: int) -> int:
    """Of a contact that is not open."""
    if s.local[NL * c + L_MU] == 0.0:
        return 1
    return 3 if s.state[c] == STICK else 2


@kernel
def _trial(s: Scratch, c: int, j: int) -> Vec3:
    """Column j of G: how the force changes with unknown j of contact c."""
    local = off(s.local, NL * c)
    if local[L_MU] == 0.0:
        return 1.0, 0.0, 0.0
    if s.state[c] == STICK:
        return (
            1.0 if j == 0 else 0.0,
            1.0 if j == 1 else 0.0,
            1.0 if j == 2 else 0.0,
        )
    if j == 0:
        return 1.0, local[L_MU] * local[L_WAY1], local[L_MU] * local[L_WAY2]
    return 0.0, -local[L_WAY2], local[L_WAY1]


@kernel
def newton_step(
    p: Problem, m: int, n: int, r: PtrF8, s: Scratch, share: float, factored: bool
) -> None:
    """Let r be the next iterate, of n unknowns; the caller projects it and finds y.

    Args:
        p: The problem.
        m: Number of contacts.
        n: From `count_unknowns`.
        r: Forces after a sweep, in and out.
        s: Scratch; `motion` and `state` belong to r.
        share: Of every diagonal entry, that is added to it.
        factored: The matrix of an earlier step is taken, see `same_active_set`.
    """
    x = off(s.matrix, n * n)
    for c in range(m):
        local = off(s.local, NL * c)
        t1, t2 = r[3 * c + 1], r[3 * c + 2]
        size = sqrt(t1 * t1 + t2 * t2)
        local[L_WAY1], local[L_WAY2] = (t1 / size, t2 / size) if size > 0.0 else (1.0, 0.0)
    if not factored:
        _fill(p, m, n, r, s, share)
        factor_columns(s.matrix, s.pivot, n)
        s.room[1] = n
        for c in range(m):
            s.first[m + c] = s.first[c]
    for c in range(m):
        if s.first[c] >= 0:
            _reduce(s, c, motion_of(p, c, s.motion), x)
    for i in range(n):
        x[i] = -x[i]
    solve_columns(s.matrix, s.pivot, n, x)
    for c in range(m):
        if s.first[c] >= 0:
            _advance(r, s, c, off(x, s.first[c]))


@kernel
def _fill(p: Problem, m: int, n: int, r: PtrF8, s: Scratch, share: float) -> None:
    """Eᵀ W G + diag(0, κ), by columns."""
    size = motion_size(p, m)
    for d in range(m):
        if s.first[d] < 0:
            continue
        local = off(s.local, NL * d)
        for j in range(_unknowns(s, d)):
            k = s.first[d] + j
            for i in range(size):
                s.column[i] = 0.0
            spread(p, m, d, _trial(s, d, j), s.column)
            a = off(s.matrix, n * k)
            for c in range(m):
                if s.first[c] >= 0:
                    _reduce(s, c, moved(p, c, s.column), a)
            a[k] += share * abs(a[k])
            if j == 1 and s.state[d] != STICK:
                u = motion_of(p, d, s.motion)
                against = -(u[1] * local[L_WAY1] + u[2] * local[L_WAY2])
                a[k] += max(0.0, against) / (local[L_MU] * r[3 * d])


@kernel
def _reduce(s: Scratch, c: int, u: Vec3, out: PtrF8) -> None:
    """Eᵀ u of a contact that takes part."""
    local, i = off(s.local, NL * c), s.first[c]
    out[i] = u[0]
    if local[L_MU] == 0.0:
        return
    if s.state[c] == STICK:
        out[i + 1], out[i + 2] = u[1], u[2]
    else:
        out[i + 1] = local[L_WAY1] * u[2] - local[L_WAY2] * u[1]


@kernel
def _advance(r: PtrF8, s: Scratch, c: int, x: PtrF8) -> None:
    """Add a contact's part of the step to its force."""
    local = off(s.local, NL * c)
    mu = local[L_MU]
    if mu == 0.0:
        r[3 * c] += x[0]
    elif s.state[c] == STICK:
        for i in range(3):
            r[3 * c + i] += x[i]
    else:
        along, across = mu * r[3 * c], x[1]
        size = sqrt(along * along + across * across)
        r[3 * c] = max(0.0, r[3 * c] + x[0])
        fit = mu * r[3 * c] / size
        r[3 * c + 1] = fit * (along * local[L_WAY1] - across * local[L_WAY2])
        r[3 * c + 2] = fit * (along * local[L_WAY2] + across * local[L_WAY1])


# ---------------------------------------------------------------- linear equations


@kernel
def factor_columns(a: PtrF8, pivot: PtrI4, n: int) -> None:
    """P A = L U by elimination with row exchange; A by columns, L and U take its place.

    Four columns at a time are updated by four of L at a time: sixteen products for every four
    numbers of L that are loaded, and everything runs along columns, where the compiler finds
    vectors.
    """
    first = 0
    while first < n:
        end = min(first + 4, n)
        for j in range(first, end):
            x = off(a, n * j)
            for k in range(first):
                i = pivot[k]
                x[k], x[i] = x[i], x[k]
        if end == first + 4:
            for k in range(0, first, 4):
                _subtract_four(a, n, k, first)
        else:
            for j in range(first, end):
                _subtract(a, n, 0, first, off(a, n * j))
        for j in range(first, end):
            x = off(a, n * j)
            for k in range(first, j):
                i = pivot[k]
                x[k], x[i] = x[i], x[k]
            _subtract(a, n, first, j, x)
            best = j
            for i in range(j + 1, n):
                if abs(x[i]) > abs(x[best]):
                    best = i
            pivot[j] = best
            if best != j:
                for k in range(j + 1):  # the earlier columns of L, too: they meet exchanged rows
                    y = off(a, n * k)
                    y[j], y[best] = y[best], y[j]
            if x[j] == 0.0:  # this unknown does not count
                x[j] = inf
            inverse = 1.0 / x[j]
            for i in range(j + 1, n):
                x[i] *= inverse
        first = end


@kernel
def _subtract(a: PtrF8, n: int, first: int, end: int, x: PtrF8) -> None:
    """Columns first … end of L times their entries of x, from x."""
    for k in range(first, end):
        l, y = off(a, n * k), x[k]
        for i in range(k + 1, n):
            x[i] -= y * l[i]


@kernel
def _subtract_four(a: PtrF8, n: int, k: int, j: int) -> None:
    """Columns k … k+3 of L times their entries of columns j … j+3, from these."""
    l0, l1, l2, l3 = off(a, n * k), off(a, n * k + n), off(a, n * k + 2 * n), off(a, n * k + 3 * n)
    for c in range(j, j + 4):
        x = off(a, n * c)
        x[k + 1] -= l0[k + 1] * x[k]
        x[k + 2] -= l0[k + 2] * x[k] + l1[k + 2] * x[k + 1]
        x[k + 3] -= l0[k + 3] * x[k] + l1[k + 3] * x[k + 1] + l2[k + 3] * x[k + 2]
    x0, x1, x2, x3 = off(a, n * j), off(a, n * j + n), off(a, n * j + 2 * n), off(a, n * j + 3 * n)
    a0, a1, a2, a3 = x0[k], x0[k + 1], x0[k + 2], x0[k + 3]
    b0, b1, b2, b3 = x1[k], x1[k + 1], x1[k + 2], x1[k + 3]
    c0, c1, c2, c3 = x2[k], x2[k + 1], x2[k + 2], x2[k + 3]
    d0, d1, d2, d3 = x3[k], x3[k + 1], x3[k + 2], x3[k + 3]
    for i in range(k + 4, n):
        y0, y1, y2, y3 = l0[i], l1[i], l2[i], l3[i]
        x0[i] -= y0 * a0 + y1 * a1 + y2 * a2 + y3 * a3
        x1[i] -= y0 * b0 + y1 * b1 + y2 * b2 + y3 * b3
        x2[i] -= y0 * c0 + y1 * c1 + y2 * c2 + y3 * c3
        x3[i] -= y0 * d0 + y1 * d1 + y2 * d2 + y3 * d3


@kernel
def solve_columns(a: PtrF8, pivot: PtrI4, n: int, b: PtrF8) -> None:
    """Solve A x = b with the factors of `factor_columns`; b holds the solution then."""
    for k in range(n):
        i = pivot[k]
        b[k], b[i] = b[i], b[k]
    _subtract(a, n, 0, n, b)
    for k in range(n - 1, -1, -1):
        x = off(a, n * k)
        b[k] /= x[k]
        y = b[k]
        for i in range(k):
            b[i] -= y * x[i]
