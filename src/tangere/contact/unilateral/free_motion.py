"""Free motion: where bodies would be at the end of the step without contacts, and what gives way.

Implicit Euler with the springs that tie bodies to the world or to a hand:

    S v = M v₀ + dt m g + dt Σ J_sᵀ (−k d + (k dt + b) u),    S = M + Σ (k dt² + b dt) J_sᵀ J_s

with J_s = [1, −[r]ₓ] of a spring's end at arm r, d its stretch at the start of the step and u the
velocity of its other end. A wrench within the step then changes the pose at its end by dt² S⁻¹.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off
from tangere.bodies.rigid import add_force, spring_ends
from tangere.contact.unilateral.problem import Bodies
from tangere.maths.small import solve
from tangere.maths.vec import Vec3, add, axpy, cross, dot, scale, sub
from tangere.model import NK, SP_DAMPING, SP_K, SP_REST, Model, Sizes, State

NS = 42  # S (6 x 6), then the right-hand side


@kernel
def free_motion(z: Sizes, m: Model, s: State, y: Bodies, dt: float) -> None:
    """Free twists and S⁻¹ dt² of all bodies; no wrench on any of them yet."""
    for k in range(6 * (z.bodies + z.floors)):
        s.wrench[k], s.applied[k] = 0.0, 0.0
    for i in range(z.bodies + z.floors):
        start, free, inverse = off(y.start, 6 * i), off(y.free, 6 * i), off(y.inverse, 36 * i)
        moves = m.inv_mass[i] > 0.0
        for k in range(3):
            start[k], start[3 + k] = s.velocity[3 * i + k], s.omega[3 * i + k]
            free[k] = s.velocity[3 * i + k] + (dt * m.gravity[k] if moves else 0.0)
            free[3 + k] = s.omega[3 * i + k]
        for k in range(36):
            inverse[k] = 0.0
        if moves:
            r = off(s.rotation, 9 * i)
            for k in range(3):
                inverse[7 * k] = dt * dt * m.inv_mass[i]
                for j in range(3):
                    total = 0.0
                    for q in range(3):
                        total += r[3 * k + q] * m.inv_inertia[3 * i + q] * r[3 * j + q]
                    inverse[6 * (3 + k) + 3 + j] = dt * dt * total
    if z.springs > 0:
        _add_springs(z, m, s, y, dt)


@kernel
def _add_springs(z: Sizes, m: Model, s: State, y: Bodies, dt: float) -> None:
    """Let the springs pull as of the end of the step."""
    for i in range(z.bodies):
        off(y.matrix, NS * i)[0] = 0.0
    for j in range(z.springs):
        i = m.spring_bodies[2 * j]
        if not m.inv_mass[i] > 0.0:
            continue
        row = off(y.matrix, NS * i)
        if row[0] == 0.0:
            _begin(m, s, y, i, row)
        data, x = off(s.springs, NK * j), off(s.position, 3 * i)
        pa, pb, _, ub = spring_ends(m, s, j)
        arm, d = sub(pa, (x[0], x[1], x[2])), sub(pa, pb)
        k, b, rest = data[SP_K], data[SP_DAMPING], data[SP_REST]
        if rest > 0.0:
            length = sqrt(dot(d, d))
            if not length > 0.0:
                continue
            e = scale(1.0 / length, d)
            pull = -k * (length - rest) + (k * dt + b) * dot(ub, e)
            _add_direction(row, arm, e, dt * (k * dt + b), dt * pull)
            # a taut string also resists sideways
            side = dt * dt * max(0.0, k * (1.0 - rest / length))
            across = sub(ub, scale(dot(ub, e), e))
            for q in range(3):
                axis = _axis(q)
                t = axpy(-dot(axis, e), e, axis)
                _add_direction(row, arm, t, side, side * dot(across, t))
            continue
        for q in range(3):
            axis = _axis(q)
            load = -k * d[q] + (k * dt + b) * ub[q]
            _add_direction(row, arm, axis, dt * (k * dt + b), dt * load)
    for i in range(z.bodies):
        row = off(y.matrix, NS * i)
        if row[0] != 0.0:
            _invert(row, off(y.free, 6 * i), off(y.inverse, 36 * i), dt)


@kernel
def _axis(q: int) -> Vec3:
    """Unit vector along a world axis."""
    return (1.0 if q == 0 else 0.0, 1.0 if q == 1 else 0.0, 1.0 if q == 2 else 0.0)


@kernel
def _begin(m: Model, s: State, y: Bodies, i: int, row: PtrF8) -> None:
    """S = M and M v of a body that has springs."""
    r, free = off(s.rotation, 9 * i), off(y.free, 6 * i)
    for k in range(NS):
        row[k] = 0.0
    for k in range(3):
        row[7 * k] = m.mass[i]
        row[36 + k] = m.mass[i] * free[k]
        for j in range(3):
            total = 0.0
            for q in range(3):
                total += r[3 * k + q] * m.inertia[3 * i + q] * r[3 * j + q]
            row[6 * (3 + k) + 3 + j] = total
            row[39 + k] += total * free[3 + j]


@kernel
def _add_direction(row: PtrF8, arm: Vec3, e: Vec3, stiff: float, load: float) -> None:
    """S += stiff j jᵀ and right-hand side += load j, with j = (e, r × e)."""
    turn = cross(arm, e)
    j = (e[0], e[1], e[2], turn[0], turn[1], turn[2])
    for a in range(6):
        row[36 + a] += load * j[a]
        for b in range(6):
            row[6 * a + b] += stiff * j[a] * j[b]


@kernel
def _invert(row: PtrF8, free: PtrF8, inverse: PtrF8, dt: float) -> None:
    """Free twist S⁻¹ rhs, and dt² S⁻¹."""
    a, x = local_f8(36), local_f8(6)
    for column in range(7):
        for k in range(36):
            a[k] = row[k]
        for k in range(6):
            x[k] = row[36 + k] if column == 6 else (1.0 if k == column else 0.0)
        solve(a, x, 6)
        for k in range(6):
            if column == 6:
                free[k] = x[k]
            else:
                inverse[6 * k + column] = dt * dt * x[k]


@kernel
def pull_springs(z: Sizes, m: Model, s: State, y: Bodies, dt: float) -> None:
    """Spring forces as of the end of the step, with the contacts' wrenches known."""
    for j in range(z.springs):
        i = m.spring_bodies[2 * j]
        data, x = off(s.springs, NK * j), off(s.position, 3 * i)
        pa, pb, _, ub = spring_ends(m, s, j)
        arm, d = sub(pa, (x[0], x[1], x[2])), sub(pa, pb)
        u = sub(_end_velocity(s, y, i, arm, dt), ub)
        k, b, rest = data[SP_K], data[SP_DAMPING], data[SP_REST]
        force = scale(-1.0, add(scale(k, d), scale(k * dt + b, u)))
        if rest > 0.0:
            length = sqrt(dot(d, d))
            e = scale(1.0 / length, d) if length > 0.0 else (0.0, 0.0, 0.0)
            along = dot(u, e)
            side = dt * max(0.0, k * (1.0 - rest / length)) if length > 0.0 else 0.0
            force = scale(-k * (length - rest) - (k * dt + b) * along, e)
            force = axpy(-side, sub(u, scale(along, e)), force)
        s.spring[3 * j], s.spring[3 * j + 1], s.spring[3 * j + 2] = force
        if m.inv_mass[i] > 0.0:
            add_force(s, i, pa, force, s.applied)


@kernel
def _end_velocity(s: State, y: Bodies, i: int, arm: Vec3, dt: float) -> Vec3:
    """Velocity of a point of body i at the end of the step."""
    v, w = end_twist(s, y, i, dt)
    return add(v, cross(w, arm))


@kernel
def end_twist(s: State, y: Bodies, i: int, dt: float) -> tuple[Vec3, Vec3]:
    """Twist of body i at the end of the step: free motion and the contacts' wrench."""
    free, inverse, wrench = off(y.free, 6 * i), off(y.inverse, 36 * i), off(s.wrench, 6 * i)
    out = local_f8(6)
    for k in range(6):
        total = 0.0
        for j in range(6):
            total += inverse[6 * k + j] * wrench[j]
        out[k] = free[k] + total / dt
    return (out[0], out[1], out[2]), (out[3], out[4], out[5])
