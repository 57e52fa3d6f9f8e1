"""Parameters of a pair of bodies, and the memory of its friction spring.

The spring between the surfaces is remembered by its two ends, one fixed to each body: common motion
of the pair carries it for free, and a resting contact cannot drift because nothing is summed up.
Its twist about the normal is a plain sum.
"""

from __future__ import annotations

from math import isnan, log, pi, sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off, pointers
from tangere.bodies.rigid import body_point, velocity_at, world_point
from tangere.maths.vec import Vec3, cross, dot, sub
from tangere.model import (
    MAT_B,
    MAT_BT,
    MAT_K,
    MAT_KINETIC,
    MAT_KT,
    MAT_RESTITUTION,
    MAT_ROLLING,
    MAT_STATIC,
    NM,
    PF_ANCHOR_A,
    PF_ANCHOR_B,
    PF_CENTRE,
    PF_FORCE,
    PF_NORMAL,
    PF_PRESS,
    PF_THETA,
    PF_TORQUE,
    PI_BODY_A,
    PI_BODY_B,
    PI_MISSED,
    PI_MODE,
    SLIP,
    STICK,
    Model,
    State,
)

# Defaults when a material gives no stiffness: κ = k dt²/m and β = b dt/m, safely inside the limit
# of the explicit step (κ + 2β)·W m < 4 for every box (W m ≤ 7); a given stiffness without damping
# gets ζ = 0.3.
KAPPA = 0.1
BETA = 0.2
ZETA = 0.3
# Implicit step: a body under its own weight sinks by this share of its size; κ = k dt²/m at most.
HAIR, EARTH = 5e-7, 9.81
STIFFEST = 1e3
# Up to this κ an impact takes several steps, and damping sets its restitution.
RESOLVED = 1.0
# Tangential springs excite tilt; a quarter of the normal stiffness keeps towers quiet.
TANGENTIAL_SHARE = 0.25
# A slower slip has no direction of its own; that of the spring is used [m/s].
SLOW = 1e-6
# Steps without pressure after which a contact forgets its friction spring.
FORGET = 2


class Law(NamedTuple):
    """Parameters of one contact."""

    k: float  # normal stiffness [N/m]
    b: float  # normal damping [N s/m]
    k_t: float  # tangential stiffness [N/m]
    b_t: float  # tangential damping [N s/m]
    mu0: float  # static friction
    mu: float  # kinetic friction
    e: float  # restitution of impacts too short to be resolved; 0: as the springs have it
    rolling: float  # torque against rolling over normal force times radius


@kernel
def _mean(x: float, y: float) -> float:
    """Harmonic mean; where one is not given (NaN), the other."""
    if isnan(x):
        return y
    if isnan(y):
        return x
    return 2.0 * x * y / (x + y) if x + y > 0.0 else 0.0


@kernel
def pair_law(m: Model, i: int, j: int, dt: float, implicit: bool, point: bool) -> Law:
    """Contact parameters of bodies i and j: given ones combined, missing ones derived.

    m_c = 1/(1/m_a + 1/m_b), L the side of the largest face.
    Explicit step: k = κ m_c/dt², b = β m_c/dt. Implicit step: the weight of m_c sinks by a hair,
    k = m_c g/(ε L) but at most κ' m_c/dt², with b = 2 ζ √(k m_c); restitution e sets ζ where the
    impact is resolved, ζ = −ln e/√(π² + ln² e) − √κ/2. Friction, restitution and rolling: geometric
    mean.
    The point method is as soft with either step: a block stands on one corner at a time, and what
    the others fall within a step has to be little beside its depth.
    """
    p = off(m.materials, NM * m.material[i])
    q = off(m.materials, NM * m.material[j])
    mass = 1.0 / (m.inv_mass[i] + m.inv_mass[j])
    k = _mean(p[MAT_K], q[MAT_K])
    b = _mean(p[MAT_B], q[MAT_B])
    e = 0.0
    if implicit:
        if isnan(k) and not point:
            side = sqrt(min(m.face_area[i], m.face_area[j]))
            k = min(mass * EARTH / (HAIR * side), STIFFEST * mass / (dt * dt))
        e = _given(p[MAT_RESTITUTION], q[MAT_RESTITUTION])
        kappa = KAPPA if isnan(k) else k * dt * dt / mass
        if not isnan(e) and kappa <= RESOLVED:
            # the step itself damps like ζ = √κ/2
            fall = -log(max(e, 1e-3))
            zeta = fall / sqrt(pi * pi + fall * fall) - 0.5 * sqrt(kappa)
            b, e = 2.0 * max(0.0, zeta) * sqrt(kappa) * mass / dt, 0.0
        elif isnan(e):
            e = 0.0
    if isnan(b):
        b = BETA * mass / dt if isnan(k) else 2.0 * ZETA * sqrt(k * mass)
    if isnan(k):
        k = KAPPA * mass / (dt * dt)
    k_t = _mean(p[MAT_KT], q[MAT_KT])
    b_t = _mean(p[MAT_BT], q[MAT_BT])
    if isnan(k_t):
        k_t = TANGENTIAL_SHARE * k
    if isnan(b_t):
        b_t = TANGENTIAL_SHARE * b
    rolling = _given(p[MAT_ROLLING], q[MAT_ROLLING])
    if isnan(rolling):
        rolling = 0.0
    mu0 = sqrt(p[MAT_STATIC] * q[MAT_STATIC])
    mu = sqrt(p[MAT_KINETIC] * q[MAT_KINETIC])
    return Law(k, b, k_t, b_t, mu0, mu, e, rolling)


@kernel
def law_between(model: Model, i: int, j: int, dt: float, implicit: bool, point: bool) -> Law:
    """`pair_law`, for callers with arrays."""
    return pair_law(pointers(model), i, j, dt, implicit, point)


@kernel
def _given(p: float, q: float) -> float:
    """Geometric mean; where one is not given (NaN), the other."""
    if isnan(p):
        return q
    return p if isnan(q) else sqrt(p * q)


@kernel
def spring_ends(s: State, i: int, j: int, floats: PtrF8) -> tuple[Vec3, Vec3]:
    """World positions of the ends of the friction spring on a (body i) and b (body j)."""
    a = off(floats, PF_ANCHOR_A)
    b = off(floats, PF_ANCHOR_B)
    return world_point(s, i, (a[0], a[1], a[2])), world_point(s, j, (b[0], b[1], b[2]))


@kernel
def keep_spring(s: State, i: int, j: int, c: Vec3, r: Vec3, floats: PtrF8) -> None:
    """Remember stretch r [m] about point c: ends at c ∓ r/2, each in its body's frame."""
    a = off(floats, PF_ANCHOR_A)
    b = off(floats, PF_ANCHOR_B)
    a[0], a[1], a[2] = body_point(s, i, (c[0] - 0.5 * r[0], c[1] - 0.5 * r[1], c[2] - 0.5 * r[2]))
    b[0], b[1], b[2] = body_point(s, j, (c[0] + 0.5 * r[0], c[1] + 0.5 * r[1], c[2] + 0.5 * r[2]))


@kernel
def single_point(s: State, ints: PtrI4, floats: PtrF8, law: Law, spring: float, c: Vec3) -> bool:
    """Force at one point: spring force given, damper and friction spring with Coulomb limit."""
    i, j = ints[PI_BODY_A], ints[PI_BODY_B]
    n = (floats[PF_NORMAL], floats[PF_NORMAL + 1], floats[PF_NORMAL + 2])
    u = sub(velocity_at(s, j, c), velocity_at(s, i, c))
    u_n = dot(u, n)
    press = spring - law.b * u_n
    floats[PF_CENTRE], floats[PF_CENTRE + 1], floats[PF_CENTRE + 2] = c
    if not press > 0.0:
        return False
    u_t = (u[0] - u_n * n[0], u[1] - u_n * n[1], u[2] - u_n * n[2])
    r = (0.0, 0.0, 0.0)
    if ints[PI_MISSED] < FORGET:
        pa, pb = spring_ends(s, i, j, floats)
        d = sub(pb, pa)
        d_n = dot(d, n)
        r = (d[0] - d_n * n[0], d[1] - d_n * n[1], d[2] - d_n * n[2])
    else:
        ints[PI_MODE] = STICK
    if law.k_t == 0.0:
        r = (0.0, 0.0, 0.0)
    f = (
        -law.k_t * r[0] - law.b_t * u_t[0],
        -law.k_t * r[1] - law.b_t * u_t[1],
        -law.k_t * r[2] - law.b_t * u_t[2],
    )
    size = sqrt(dot(f, f))
    mu = law.mu0 if ints[PI_MODE] == STICK else law.mu
    ints[PI_MODE] = STICK
    if size > mu * press:
        ints[PI_MODE] = SLIP
        speed = sqrt(dot(u_t, u_t))
        direction = (-f[0] / size, -f[1] / size, -f[2] / size)
        # a stretch against the motion, just after it turned back, first has to unwind
        if speed > SLOW and dot(f, u_t) < 0.0:
            direction = (u_t[0] / speed, u_t[1] / speed, u_t[2] / speed)
        limit = law.mu * press
        f = (-limit * direction[0], -limit * direction[1], -limit * direction[2])
        if law.k_t > 0.0:
            cap = min(law.b_t, limit / speed if speed > 0.0 else law.b_t)
            r = (
                -(f[0] + cap * u_t[0]) / law.k_t,
                -(f[1] + cap * u_t[1]) / law.k_t,
                -(f[2] + cap * u_t[2]) / law.k_t,
            )
    keep_spring(s, i, j, c, r, floats)
    floats[PF_THETA] = 0.0
    floats[PF_PRESS] = press
    for k in range(3):
        floats[PF_FORCE + k] = press * n[k] + f[k]
        floats[PF_TORQUE + k] = 0.0
    return True


@kernel
def apply_wrench(s: State, ints: PtrI4, floats: PtrF8) -> None:
    """Add the contact's wrench to b and its opposite to a, each moved to the centre of mass."""
    f = (floats[PF_FORCE], floats[PF_FORCE + 1], floats[PF_FORCE + 2])
    t = off(floats, PF_TORQUE)
    c = (floats[PF_CENTRE], floats[PF_CENTRE + 1], floats[PF_CENTRE + 2])
    i, j = ints[PI_BODY_A], ints[PI_BODY_B]
    for side in range(2):
        body = j if side == 0 else i
        sign = 1.0 if side == 0 else -1.0
        x = off(s.position, 3 * body)
        arm = cross((c[0] - x[0], c[1] - x[1], c[2] - x[2]), f)
        row = off(s.wrench, 6 * body)
        for k in range(3):
            row[k] += sign * f[k]
            row[3 + k] += sign * (t[k] + arm[k])
