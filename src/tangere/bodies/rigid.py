"""How rigid bodies move under given forces; knows no contact.

Semi-implicit Euler: v ← v + dt f/m, x ← x + dt v, and for the rotation L ← L + dt τ followed by one
step of *free* motion. Free motion keeps L in the world and the energy exactly: in body axes the
implicit midpoint rule

    ℓ₁ − ℓ₀ = dt ℓ̄ × Ω,    ℓ̄ = (ℓ₀ + ℓ₁)/2,    Ω = I⁻¹ ℓ̄

conserves both quadratic invariants |ℓ|² and ℓ·I⁻¹ℓ, and R ← R cay(dt Ω), in quaternions
q ← q (1, dt Ω/2)/|·|, carries the same ℓ₁ so that R₁ ℓ₁ = R₀ ℓ₀. No sine, no drift.

Differs from [HASEGAWA2004] (2), which lacks the gyroscopic term.
"""

from __future__ import annotations

from math import ceil, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off, pointers
from tangere.maths.quat import Quat, matrix_into, product, turn, turn_back, unit
from tangere.maths.vec import Vec3, cross, dot, norm, sub
from tangere.model import (
    NK,
    SP_A,
    SP_B,
    SP_DAMPING,
    SP_K,
    SP_RATE,
    SP_REST,
    SP_VELOCITY,
    Model,
    Sizes,
    State,
)

# Largest turn per substep [rad]: Newton on the midpoint rule then converges in a few rounds.
MAX_TURN = 0.4
# Most substeps of one step.
MAX_PIECES = 10_000
# Newton stops when the correction falls below this fraction of |ℓ|: rounding level.
MIDPOINT_TOLERANCE = 1e-15
# Further, faster or spinning more than this [SI] a body is lost: products would overflow soon.
LOST = 1e50
# ω² dt² at which an implicit step looks half as far ahead along a spring: 20 steps per swing.
SLOW = 0.1


@kernel
def free_rotation(q: Quat, ell: Vec3, inertia: Vec3, dt: float) -> tuple[Quat, Vec3]:
    """Attitude and body-axes angular momentum after dt of torque-free motion."""
    i1, i2, i3 = inertia
    size = sqrt(ell[0] * ell[0] + ell[1] * ell[1] + ell[2] * ell[2])
    rate = sqrt((ell[0] / i1) ** 2 + (ell[1] / i2) ** 2 + (ell[2] / i3) ** 2)
    if not rate * dt < MAX_PIECES * MAX_TURN:  # a blur, which Newton may not survive: turn about ℓ
        a = 0.5 * dt
        return unit(product(q, (1.0, a * ell[0] / i1, a * ell[1] / i2, a * ell[2] / i3))), ell
    pieces = max(1, ceil(rate * dt / MAX_TURN))
    h = dt / pieces
    for _ in range(pieces):
        l0, l1, l2 = ell  # ℓ₀
        m0, m1, m2 = ell  # ℓ̄, the unknown
        for _ in range(12):
            w0, w1, w2 = m0 / i1, m1 / i2, m2 / i3
            # residual g = ℓ̄ − ℓ₀ − h/2 ℓ̄ × Ω
            a = 0.5 * h
            g0 = m0 - l0 - a * (m1 * w2 - m2 * w1)
            g1 = m1 - l1 - a * (m2 * w0 - m0 * w2)
            g2 = m2 - l2 - a * (m0 * w1 - m1 * w0)
            if abs(g0) + abs(g1) + abs(g2) <= MIDPOINT_TOLERANCE * size:
                break
            # Jacobian: 1 on the diagonal, products of ℓ̄ and differences of 1/I off it
            c1, c2, c3 = (
                a * (1.0 / i3 - 1.0 / i2),
                a * (1.0 / i1 - 1.0 / i3),
                a * (1.0 / i2 - 1.0 / i1),
            )
            j01, j02 = -c1 * m2, -c1 * m1
            j10, j12 = -c2 * m2, -c2 * m0
            j20, j21 = -c3 * m1, -c3 * m0
            det = 1.0 - j12 * j21 - j01 * (j10 - j12 * j20) + j02 * (j10 * j21 - j20)
            m0 -= (g0 * (1.0 - j12 * j21) - j01 * (g1 - j12 * g2) + j02 * (g1 * j21 - g2)) / det
            m1 -= ((g1 - j12 * g2) - g0 * (j10 - j12 * j20) + j02 * (j10 * g2 - g1 * j20)) / det
            m2 -= ((g2 - g1 * j21) - j01 * (j10 * g2 - g1 * j20) + g0 * (j10 * j21 - j20)) / det
        q = unit(product(q, (1.0, 0.5 * h * m0 / i1, 0.5 * h * m1 / i2, 0.5 * h * m2 / i3)))
        ell = (2.0 * m0 - l0, 2.0 * m1 - l1, 2.0 * m2 - l2)
    return q, ell


@kernel
def move_body(m: Model, s: State, i: int, dt: float, f: Vec3, torque: Vec3) -> None:
    """One semi-implicit Euler step of body i under force f [N] and torque [N m] at its centre."""
    x = off(s.position, 3 * i)
    v = off(s.velocity, 3 * i)
    L = off(s.momentum, 3 * i)
    w = off(s.omega, 3 * i)
    r = off(s.rotation, 9 * i)
    qp = off(s.quaternion, 4 * i)
    a = dt * m.inv_mass[i]
    fixed = m.inv_mass[i] == 0.0
    for k in range(3):
        v[k] += a * f[k]
        x[k] += dt * v[k]
    q = (qp[0], qp[1], qp[2], qp[3])
    if fixed:  # a kinematic body turns with its given angular velocity
        if w[0] != 0.0 or w[1] != 0.0 or w[2] != 0.0:
            q = unit(product((1.0, 0.5 * dt * w[0], 0.5 * dt * w[1], 0.5 * dt * w[2]), q))
            qp[0], qp[1], qp[2], qp[3] = q
            matrix_into(q, r)
        return
    for k in range(3):
        L[k] += dt * torque[k]
    ell = turn_back(r, (L[0], L[1], L[2]))
    inertia = (m.inertia[3 * i], m.inertia[3 * i + 1], m.inertia[3 * i + 2])
    q, _ = free_rotation(q, ell, inertia, dt)
    qp[0], qp[1], qp[2], qp[3] = q
    matrix_into(q, r)
    ell = turn_back(r, (L[0], L[1], L[2]))
    w[0], w[1], w[2] = turn(r, (ell[0] / inertia[0], ell[1] / inertia[1], ell[2] / inertia[2]))


@kernel
def velocity_at(s: State, i: int, p: Vec3) -> Vec3:
    """Velocity of the material point of body i at world point p [m/s]."""
    x = off(s.position, 3 * i)
    v = off(s.velocity, 3 * i)
    w = off(s.omega, 3 * i)
    t = cross((w[0], w[1], w[2]), (p[0] - x[0], p[1] - x[1], p[2] - x[2]))
    return (v[0] + t[0], v[1] + t[1], v[2] + t[2])


@kernel
def world_point(s: State, i: int, p: Vec3) -> Vec3:
    """World position of a point given in the frame of body i."""
    t = turn(off(s.rotation, 9 * i), p)
    x = off(s.position, 3 * i)
    return (x[0] + t[0], x[1] + t[1], x[2] + t[2])


@kernel
def body_point(s: State, i: int, p: Vec3) -> Vec3:
    """A world point in the frame of body i."""
    x = off(s.position, 3 * i)
    return turn_back(off(s.rotation, 9 * i), (p[0] - x[0], p[1] - x[1], p[2] - x[2]))


@kernel
def stiff_share(rate: float, dt: float) -> float:
    """σ = s/(SLOW + s), s = ω² dt²: how far the implicit step looks ahead along a spring.

    Seen at the end of the step, a spring loses what a damper of k dt would; at the start, nothing,
    but only slow springs are stable then. With (1 − 2 σ) s < 4 any number of them are.
    """
    return 1.0 - SLOW / (SLOW + rate * dt * dt)


@kernel
def spring_forces(m: Model, s: State, count: int, total: PtrF8) -> None:
    """Add the springs' wrenches to `total` (n, 6) and keep each one's force on body a.

    f = −(k (|d| − l₀) + b ḋ·e) e with e = d/|d|;  rest length 0: f = −k d − b ḋ (in 3D).
    """
    for j in range(count):
        data = off(s.springs, NK * j)
        ia = m.spring_bodies[2 * j]
        ib = m.spring_bodies[2 * j + 1]
        pa, pb, va, vb = spring_ends(m, s, j)
        d = (pa[0] - pb[0], pa[1] - pb[1], pa[2] - pb[2])
        u = (va[0] - vb[0], va[1] - vb[1], va[2] - vb[2])
        k, b, rest = data[SP_K], data[SP_DAMPING], data[SP_REST]
        f = (-k * d[0] - b * u[0], -k * d[1] - b * u[1], -k * d[2] - b * u[2])
        if rest > 0.0:
            length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
            f = (0.0, 0.0, 0.0)
            if length > 0.0:
                e = (d[0] / length, d[1] / length, d[2] / length)
                pull = -k * (length - rest) - b * (u[0] * e[0] + u[1] * e[1] + u[2] * e[2])
                f = (pull * e[0], pull * e[1], pull * e[2])
        s.spring[3 * j], s.spring[3 * j + 1], s.spring[3 * j + 2] = f
        add_force(s, ia, pa, f, total)
        if ib >= 0:
            add_force(s, ib, pb, (-f[0], -f[1], -f[2]), total)


@kernel
def add_force(s: State, i: int, p: Vec3, f: Vec3, total: PtrF8) -> None:
    """Add a force at world point p to the wrench of body i at its centre."""
    x = off(s.position, 3 * i)
    t = cross((p[0] - x[0], p[1] - x[1], p[2] - x[2]), f)
    row = off(total, 6 * i)
    for k in range(3):
        row[k] += f[k]
        row[3 + k] += t[k]


@kernel
def spring_energy(model: Model, state: State, dt: float) -> float:
    """`held_by_springs`, for callers with arrays."""
    return held_by_springs(pointers(model), pointers(state), len(model.spring_bodies), dt)


@kernel
def held_by_springs(m: Model, s: State, count: int, dt: float) -> float:
    """Energy of the springs, ½ k x² − ½ (1 − σ) dt k x ẋ [J].

    Positions are those of the end of a step, velocities those that led there: of its middle. With
    the implicit step, what a slow spring holds is told for the middle too. dt: 0 with the explicit.
    """
    held = 0.0
    for j in range(count):
        data = off(s.springs, NK * j)
        pa, pb, va, vb = spring_ends(m, s, j)
        d, u = sub(pa, pb), sub(va, vb)
        length, soft = norm(d), 1.0 - stiff_share(data[SP_RATE], dt)
        stretch = length - data[SP_REST]
        held += 0.5 * data[SP_K] * stretch * stretch
        if length > 0.0:
            held -= 0.5 * soft * dt * data[SP_K] * stretch * dot(d, u) / length
    return float(held)


@kernel
def spring_ends(m: Model, s: State, j: int) -> tuple[Vec3, Vec3, Vec3, Vec3]:
    """Where the ends a and b of spring j are [m], and their velocities [m/s]."""
    data, time = off(s.springs, NK * j), s.time[0]
    a, b, v = off(data, SP_A), off(data, SP_B), off(data, SP_VELOCITY)
    ia, ib = m.spring_bodies[2 * j], m.spring_bodies[2 * j + 1]
    pa = world_point(s, ia, (a[0], a[1], a[2]))
    pb = (b[0] + time * v[0], b[1] + time * v[1], b[2] + time * v[2])
    vb = (v[0], v[1], v[2])
    if ib >= 0:
        pb = world_point(s, ib, (b[0], b[1], b[2]))
        vb = velocity_at(s, ib, pb)
    return pa, pb, velocity_at(s, ia, pa), vb


@kernel
def move_bodies(z: Sizes, m: Model, s: State, dt: float) -> bool:
    """Move all bodies by their wrenches; false, and nothing moved, when one would be lost."""
    for i in range(z.bodies):
        row, more = off(s.wrench, 6 * i), off(s.applied, 6 * i)
        total = 0.0
        for k in range(3):
            v = s.velocity[3 * i + k] + dt * m.inv_mass[i] * (row[k] + more[k])
            w = s.momentum[3 * i + k] + dt * (row[3 + k] + more[3 + k])
            total += abs(s.position[3 * i + k] + dt * v) + abs(v)
            total += abs(w * m.inv_inertia[3 * i + k])
        if not total < LOST:  # nor NaN
            return False
    for i in range(z.bodies):
        row, more = off(s.wrench, 6 * i), off(s.applied, 6 * i)
        mass = m.mass[i] if m.inv_mass[i] > 0.0 else 0.0
        f = (
            row[0] + more[0] + mass * m.gravity[0],
            row[1] + more[1] + mass * m.gravity[1],
            row[2] + more[2] + mass * m.gravity[2],
        )
        torque = (row[3] + more[3], row[4] + more[4], row[5] + more[5])
        move_body(m, s, i, dt, f, torque)
    return True


@kernel
def free_step(z: Sizes, model: Model, state: State, dt: float) -> bool:
    """Move all bodies by gravity, springs and `State.wrench`, for callers with arrays.

    False, and nothing moved, when one would be lost.
    """
    m, s = pointers(model), pointers(state)
    for k in range(6 * (z.bodies + z.floors)):
        s.applied[k] = 0.0
    spring_forces(m, s, z.springs, s.applied)
    if not move_bodies(z, m, s, dt):
        return False
    s.time[0] += dt
    return True
