"""The frictional contact problem u = W r + q: its arrays, and how far a solution is from the laws.

Contact c owns the rows 3c, 3c+1, 3c+2: normal, first and second tangent. W (the Delassus operator)
is symmetric and positive semidefinite; u is a gap and two displacements or a relative velocity, r
a force or an impulse. The laws of every contact:

    Signorini   0 ≤ u_n ⊥ r_n ≥ 0
    Coulomb     |r_t| ≤ μ r_n,   and   u_t ≠ 0  ⇒  r_t = −μ r_n u_t/|u_t|

W is stored in one of three ways: dense; its 3 x 3 blocks that are not zero; or, for rigid bodies,
the contacts' Jacobians and what each contact yields to its normal force, W = Σ J C Jᵀ + diag c.
Everything that follows is written once for all three on top of a vector y that forces move: W r
itself, or the displacements of the bodies and what the contacts yield. `spread` adds
a force to y, `motion_of` reads u of a contact from it.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.maths.vec import Array, IntArray, Vec3

DENSE, BODIES = -1, -2  # in starts[0]

# Columns of Scratch.local: the block of a contact, and what its own problem needs of it.
L_NN, L_N1, L_N2, L_11, L_12, L_22 = 0, 1, 2, 3, 4, 5  # W_cc
L_COS, L_SIN = 6, 7  # first principal direction of S = W_tt − w wᵀ/W_nn, w = W_tn
L_S1, L_S2 = 8, 9  # eigenvalues of S
L_V1, L_V2 = 10, 11  # w/W_nn along the principal directions
L_STEP = 12  # 1/λ_max(W_tt)
L_MU = 13
L_SLIP = 14  # κ = |u_t|/|r_t| of the last slip, where the next search begins
L_INVERSE = 15  # 1/W_nn; 0: the contact has no compliance and carries nothing
L_WAY1, L_WAY2 = 16, 17  # direction of the friction force, of a Newton step
L_WEIGHT = 18  # √ of the mean of W_cc's diagonal: forces of different contacts in one unit
NL = 19

# Entries of Scratch.state
OPEN, STICK, SLIP = 0, 1, 2

# A contact whose W_nn is below this share of the largest is one of two fixed bodies.
NO_COMPLIANCE = 1e-14
# Eigenvalues of S are at least this share of W_nn + trace W_tt: what is less is rounding.
LEAST_S = 1e-15
# Sweeps that an accelerated one looks back on.
WINDOW = 15
# Unknowns of a Newton step for which there is room by default: one of 900 takes 10 ms.
MOST_UNKNOWNS = 900


class Problem(NamedTuple):
    """One frictional contact problem of m contacts.

    | field    | dense      | blocks                              | bodies                        |
    | W        | (3m, 3m)   | 3 x 3, row by row (b, 9)            | J of both sides (2m, 18)      |
    | response | –          | –                                   | J C of both sides (2m, 18)    |
    | starts   | `DENSE`    | first block of each block row (m+1) | `BODIES`, number of bodies    |
    | columns  | –          | contact of each block's columns,    | body of both sides (2m,);     |
    |          |            | the diagonal included (b,)          | −1: fixed                     |
    | soft     | –          | –                                   | c of each contact (m,)        |

    q (3m) is u without contact forces, mu (m) are the coefficients of friction. J (3 x 6, row by
    row) is the motion along n, t1, t2 by the body's displacement, with the sign of its side.
    """

    W: Array
    response: Array
    starts: IntArray
    columns: IntArray
    soft: Array
    q: Array
    mu: Array


class Scratch(NamedTuple):
    """What a solve of up to m contacts works in; `state` and `u` hold what was found.

    | field    | meaning                                                           | shape        |
    | local    | see `L_…`                                                         | (m, NL)      |
    | state    | `OPEN`, `STICK` or `SLIP`                                         | (m,)         |
    | u        | W r + q at the present r                                          | (3m,)        |
    | motion   | y at the present r: W r, or the bodies' displacements             | (y,)         |
    | best     | r with the least error so far                                     | (3m,)        |
    | held     | r before a sweep or a Newton step                                 | (3m,)        |
    | order    | contacts in the order of a sweep                                  | (m,)         |
    | history  | of accelerated sweeps, K = `WINDOW`, see `anderson`               | (K+1, 6m+y)  |
    | gram     | scalar products of its rows                                       | (K, K)       |
    | first    | first row of each contact in `matrix`; −1: none; then the same of | (2, m)       |
    |          | the last factor                                                   |              |
    | column   | y of a column of W                                                | (y,)         |
    | matrix   | of a Newton step of up to n unknowns, by columns, right-hand side | (n+1, n)     |
    |          | last                                                              |              |
    | pivot    | row exchanged with each                                           | (n,)         |
    | room     | n; unknowns of the last factor                                    | (2,)         |
    """

    local: Array
    state: IntArray
    u: Array
    motion: Array
    best: Array
    held: Array
    order: IntArray
    history: Array
    gram: Array
    first: IntArray
    column: Array
    matrix: Array
    pivot: IntArray
    room: IntArray


class Goal(NamedTuple):
    """When a solve ends."""

    scale: float  # f_ref, from `prepare`
    tolerance: float  # of the natural map over the force scale
    deadline: int  # on the clock of kernels [ns]; 0: none


def new_scratch(contacts: int, bodies: int = 0, unknowns: int | None = None) -> Scratch:
    """Room for problems of up to so many contacts.

    Args:
        contacts: The most there will be.
        bodies: The most there will be, where the operator is given by bodies.
        unknowns: Of a Newton step; three a contact by default, up to `MOST_UNKNOWNS`. Where a
            problem has more, the sweeps go on without it.
    """
    m = contacts
    y = max(3 * m, 6 * bodies + m)
    n = min(3 * m, MOST_UNKNOWNS) if unknowns is None else unknowns
    return Scratch(
        local=np.zeros((m, NL)),
        state=np.zeros(m, np.int32),
        u=np.zeros(3 * m),
        motion=np.zeros(y),
        best=np.zeros(3 * m),
        held=np.zeros(3 * m),
        order=np.zeros(m, np.int32),
        history=np.zeros((WINDOW + 1, 6 * m + y)),
        gram=np.zeros((WINDOW, WINDOW)),
        first=np.zeros((2, m), np.int32),
        column=np.zeros(y),
        matrix=np.zeros((n + 1, n)),
        pivot=np.zeros(n, np.int32),
        room=np.array([n, 0], np.int32),
    )


def dense_problem(W: Array, q: Array, mu: Array) -> Problem:
    """The problem of a dense W; nothing is copied that is in order already."""
    return _problem(W, np.zeros((1, 18)), np.array([DENSE]), np.zeros(1), np.zeros(1), q, mu)


def block_problem(W: Any, q: Array, mu: Array) -> Problem:
    """The problem of a sparse W, of any kind that SciPy knows; diagonal blocks are stored."""
    from scipy import sparse

    m = len(mu)
    # zeros stand where contacts of two fixed bodies have nothing
    own = sparse.bsr_matrix((np.zeros((m, 3, 3)), np.arange(m), np.arange(m + 1)))
    blocks = sparse.bsr_matrix(W, blocksize=(3, 3))
    rows = np.concatenate([np.repeat(np.arange(m), np.diff(x.indptr)) for x in (blocks, own)])
    columns = np.concatenate([blocks.indices, own.indices])
    places, at = np.unique(m * rows + columns, return_inverse=True)
    data = np.zeros((len(places), 9))
    np.add.at(data, at, np.concatenate([blocks.data, own.data]).reshape(-1, 9))
    starts = np.searchsorted(places, m * np.arange(m + 1))
    return _problem(data, np.zeros((1, 18)), starts, places % m, np.zeros(1), q, mu)


def body_problem(
    jacobian: Array,
    compliance: Array,
    bodies: IntArray,
    q: Array,
    mu: Array,
    soft: Array | None = None,
) -> Problem:
    """The problem of rigid bodies, W = Σ_b J_b C_b J_bᵀ + diag c, which is never formed.

    Args:
        jacobian: J of both sides of every contact, shape (m, 2, 3, 6).
        compliance: C of every body, symmetric, shape (b, 6, 6).
        bodies: Body of both sides; −1: fixed, its J does not count, shape (m, 2).
        q: Motion without contact forces, shape (3m,).
        mu: Coefficients of friction, shape (m,).
        soft: c, what each contact yields to its normal force, shape (m,); None: nothing.
    """
    J = np.asarray(jacobian, float)
    response = J @ np.asarray(compliance, float)[np.maximum(bodies, 0)]
    starts = np.array([BODIES, len(compliance)])
    c = np.zeros(len(mu)) if soft is None else soft
    return _problem(J.reshape(-1, 18), response.reshape(-1, 18), starts, bodies.ravel(), c, q, mu)


def _problem(
    W: Array,
    response: Array,
    starts: NDArray[Any],
    columns: NDArray[Any],
    soft: Array,
    q: Array,
    mu: Array,
) -> Problem:
    """The arrays as kernels take them: one type of problem, whatever its storage."""

    def floats(array: Array) -> Array:
        return np.require(array, np.float64, ["C", "W"])

    def ints(array: NDArray[Any]) -> IntArray:
        return np.require(array, np.int32, ["C", "W"])

    return Problem(
        floats(W),
        floats(response),
        ints(starts),
        ints(columns),
        floats(soft),
        floats(q),
        floats(mu),
    )


@kernel
def motion_size(p: Problem, m: int) -> int:
    """Length of y."""
    return 6 * p.starts[1] + m if p.starts[0] == BODIES else 3 * m


@kernel
def moved(p: Problem, c: int, y: PtrF8) -> Vec3:
    """W r of contact c."""
    if p.starts[0] != BODIES:
        return y[3 * c], y[3 * c + 1], y[3 * c + 2]
    n, t1, t2 = y[6 * p.starts[1] + c], 0.0, 0.0
    for side in range(2 * c, 2 * c + 2):
        body = p.columns[side]
        if body >= 0:
            j, v = off(p.W, 18 * side), off(y, 6 * body)
            for i in range(6):
                n += j[i] * v[i]
                t1 += j[6 + i] * v[i]
                t2 += j[12 + i] * v[i]
    return n, t1, t2


@kernel
def motion_of(p: Problem, c: int, y: PtrF8) -> Vec3:
    """Motion u = W r + q of contact c."""
    n, t1, t2 = moved(p, c, y)
    return n + p.q[3 * c], t1 + p.q[3 * c + 1], t2 + p.q[3 * c + 2]


@kernel
def spread(p: Problem, m: int, c: int, delta: Vec3, y: PtrF8) -> None:
    """Let y follow a change δ of the force of contact c: W r ← W r + W δ.

    W is symmetric, so that its rows serve for its columns: they are contiguous.
    """
    n, t1, t2 = delta
    if p.starts[0] == DENSE:
        k = 3 * m
        a, b, d = off(p.W, 3 * c * k), off(p.W, 3 * c * k + k), off(p.W, 3 * c * k + 2 * k)
        for i in range(k):
            y[i] += n * a[i] + t1 * b[i] + t2 * d[i]
        return
    if p.starts[0] == BODIES:
        y[6 * p.starts[1] + c] += p.soft[c] * n
        for side in range(2 * c, 2 * c + 2):
            body = p.columns[side]
            if body >= 0:
                j, v = off(p.response, 18 * side), off(y, 6 * body)
                for i in range(6):
                    v[i] += n * j[i] + t1 * j[6 + i] + t2 * j[12 + i]
        return
    for k in range(p.starts[c], p.starts[c + 1]):
        w, v = off(p.W, 9 * k), off(y, 3 * p.columns[k])
        v[0] += n * w[0] + t1 * w[3] + t2 * w[6]
        v[1] += n * w[1] + t1 * w[4] + t2 * w[7]
        v[2] += n * w[2] + t1 * w[5] + t2 * w[8]


@kernel
def displace(p: Problem, m: int, r: PtrF8, y: PtrF8) -> None:
    """Let y be that of the forces r."""
    for i in range(motion_size(p, m)):
        y[i] = 0.0
    for c in range(m):
        n, t1, t2 = r[3 * c], r[3 * c + 1], r[3 * c + 2]
        if n != 0.0 or t1 != 0.0 or t2 != 0.0:
            spread(p, m, c, (n, t1, t2), y)


@kernel
def _own_block(p: Problem, m: int, c: int, local: PtrF8) -> None:
    """Copy W_cc to the contact's row."""
    if p.starts[0] == BODIES:
        for i in range(6):
            local[L_NN + i] = 0.0
        local[L_NN] = p.soft[c]
        for one in range(2 * c, 2 * c + 2):
            for two in range(2 * c, 2 * c + 2):
                if p.columns[one] >= 0 and p.columns[one] == p.columns[two]:
                    a, b = off(p.W, 18 * one), off(p.response, 18 * two)
                    for i in range(6):
                        local[L_NN] += a[i] * b[i]
                        local[L_N1] += a[6 + i] * b[i]
                        local[L_N2] += a[12 + i] * b[i]
                        local[L_11] += a[6 + i] * b[6 + i]
                        local[L_12] += a[6 + i] * b[12 + i]
                        local[L_22] += a[12 + i] * b[12 + i]
        return
    w, row = off(p.W, 9 * m * c + 3 * c), 3 * m
    if p.starts[0] != DENSE:
        at = p.starts[c]
        while p.columns[at] != c:
            at += 1
        w, row = off(p.W, 9 * at), 3
    local[L_NN], local[L_N1], local[L_N2] = w[0], w[row], w[2 * row]
    local[L_11], local[L_12], local[L_22] = w[row + 1], w[row + 2], w[2 * row + 2]


@kernel
def prepare(p: Problem, m: int, s: Scratch) -> float:
    """Fill `s.local`; returns the force scale f_ref.

    f_ref = max_c |q_n|/W_nn; where that is zero max_c |q_t|/λ_max, and 1 where that is zero, too.
    """
    most = 0.0
    for c in range(m):
        local = off(s.local, NL * c)
        _own_block(p, m, c, local)
        most = max(most, local[L_NN])
    normal, tangential = 0.0, 0.0
    for c in range(m):
        local = off(s.local, NL * c)
        nn, n1, n2 = local[L_NN], local[L_N1], local[L_N2]
        a, b, d = local[L_11], local[L_12], local[L_22]
        local[L_MU] = p.mu[c]
        local[L_SLIP] = 0.0
        if nn <= NO_COMPLIANCE * most:
            local[L_INVERSE], local[L_WEIGHT] = 0.0, 0.0
            continue
        inverse = 1.0 / nn
        local[L_INVERSE] = inverse
        local[L_WEIGHT] = sqrt((nn + a + d) / 3.0)
        half, apart = 0.5 * (a + d), 0.5 * (a - d)
        largest = max(half + sqrt(apart * apart + b * b), LEAST_S * nn)
        local[L_STEP] = 1.0 / largest
        normal = max(normal, abs(p.q[3 * c]) * inverse)
        t1, t2 = p.q[3 * c + 1], p.q[3 * c + 2]
        if p.mu[c] > 0.0:
            tangential = max(tangential, sqrt(t1 * t1 + t2 * t2) / largest)
        least = LEAST_S * (nn + a + d)
        a -= n1 * n1 * inverse
        b -= n1 * n2 * inverse
        d -= n2 * n2 * inverse
        half, apart = 0.5 * (a + d), 0.5 * (a - d)
        root = sqrt(apart * apart + b * b)
        # cos 2φ = apart/root, sin 2φ = b/root: half the angle without cancellation
        cos, sin = 1.0, 0.0
        if root > 0.0:
            cos = sqrt(0.5 * (1.0 + abs(apart) / root))
            sin = 0.5 * b / (root * cos)
            if apart < 0.0:
                cos, sin = abs(sin), cos if b >= 0.0 else -cos
        local[L_COS], local[L_SIN] = cos, sin
        local[L_S1], local[L_S2] = max(half + root, least), max(half - root, least)
        local[L_V1] = (cos * n1 + sin * n2) * inverse
        local[L_V2] = (cos * n2 - sin * n1) * inverse
    if normal > 0.0:
        return normal
    return tangential if tangential > 0.0 else 1.0


@kernel
def on_cone(local: PtrF8, f: Vec3) -> Vec3:
    """A force moved to its friction cone: r_n ≥ 0, then |r_t| ≤ μ r_n."""
    if local[L_INVERSE] == 0.0 or not f[0] > 0.0:
        return 0.0, 0.0, 0.0
    n, t1, t2 = f
    size, radius = sqrt(t1 * t1 + t2 * t2), local[L_MU] * n
    if size > radius:
        return n, t1 * radius / size, t2 * radius / size
    return f


@kernel
def project(m: int, r: PtrF8, s: Scratch) -> None:
    """Move every force to its friction cone."""
    for c in range(m):
        f = on_cone(off(s.local, NL * c), (r[3 * c], r[3 * c + 1], r[3 * c + 2]))
        r[3 * c], r[3 * c + 1], r[3 * c + 2] = f


@kernel
def copy_forces(m: int, a: PtrF8, b: PtrF8) -> None:
    """Copy forces a to b."""
    for i in range(3 * m):
        b[i] = a[i]


@kernel
def natural_map(p: Problem, m: int, r: PtrF8, y: PtrF8, s: Scratch) -> float:
    """Largest violation of the laws by any contact, as a force.

    e_n = r_n − max(0, r_n − u_n/W_nn),  e_t = r_t − P(r_t − u_t/λ_max(W_tt)),  P the projection on
    the disc of radius μ max(0, r_n); the largest |e_n| or |e_t|. It is 0 exactly at a solution.
    """
    worst = 0.0
    for c in range(m):
        local = off(s.local, NL * c)
        if local[L_INVERSE] == 0.0:
            continue
        n, t1, t2 = r[3 * c], r[3 * c + 1], r[3 * c + 2]
        u = motion_of(p, c, y)
        en = abs(n - max(0.0, n - u[0] * local[L_INVERSE]))
        y1, y2 = t1 - u[1] * local[L_STEP], t2 - u[2] * local[L_STEP]
        size, radius = sqrt(y1 * y1 + y2 * y2), local[L_MU] * max(0.0, n)
        fit = radius / size if size > radius else 1.0
        e1, e2 = t1 - fit * y1, t2 - fit * y2
        worst = _larger(_larger(worst, en), sqrt(e1 * e1 + e2 * e2))
    return worst


@kernel
def _larger(a: float, b: float) -> float:
    """The larger of two; what is not a number is larger than all."""
    if b <= a:
        return a
    return b if b > a else inf
