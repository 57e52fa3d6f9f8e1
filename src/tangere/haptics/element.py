"""The tool as it moves, and what a force at one of its points does to it, with its derivatives.

Everything that acts on the tool is a wrench W = (F, T) at its centre of mass that depends on place,
attitude and twist. A step needs it to first order about the present state: attitudes nearby are
exp(φ) q, and

    W ≈ w − K (Δx, φ) − B (Δv, Δω),    K = −∂W/∂(x, φ) at fixed (v, ω),    B = −∂W/∂(v, ω)

Holding ω rather than L keeps inertia out of K: it enters once, in the tool's own equation. Coupling
and contacts are all forces at a point p = x + r that answer to its way and its velocity,
dF = −C dp − D dṗ with symmetric C and D, so that one kernel makes every block.

Differs from [OTADUY2005] (13)–(29): dampers use ω × Rc where (12), (15), (19), (20) and (21) print
the arm in the tool's own frame; see docs/methods/haptics.md.
"""

from __future__ import annotations

from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.haptics.layout import (
    SET_INERTIA,
    SET_MASS,
    TOOL_ANGULAR,
    TOOL_MOMENTUM,
    TOOL_POSITION,
    TOOL_QUATERNION,
)
from tangere.maths.quat import Quat, matrix_into, turn, turn_back, unit
from tangere.maths.vec import Vec3, axpy, cross, dot

Symmetric = tuple[float, float, float, float, float, float]  # xx, yy, zz, yz, zx, xy


class Motion(NamedTuple):
    """Where the tool is and how it moves."""

    x: Vec3  # centre of mass [m]
    q: Quat  # principal frame to world
    r: PtrF8  # its matrix, nine floats
    v: Vec3  # [m/s]
    w: Vec3  # ω, world axes [rad/s]


class Linear(NamedTuple):
    """A wrench to first order: w (6), K (6, 6), B (6, 6)."""

    w: PtrF8
    k: PtrF8
    b: PtrF8


@kernel
def motion(settings: PtrF8, y: PtrF8, r: PtrF8) -> Motion:
    """Motion of the state y = (x, q, P, L); `r` gets the rotation matrix.

    v = P/m,  ω = R M⁻¹ Rᵀ L, with R of q/|q|: an error of the norm makes no force.
    """
    i = TOOL_QUATERNION
    q = unit((y[i], y[i + 1], y[i + 2], y[i + 3]))
    matrix_into(q, r)
    i = TOOL_ANGULAR
    ell = turn_back(r, (y[i], y[i + 1], y[i + 2]))
    i = SET_INERTIA
    inner = (ell[0] / settings[i], ell[1] / settings[i + 1], ell[2] / settings[i + 2])
    m = settings[SET_MASS]
    i = TOOL_MOMENTUM
    v = (y[i] / m, y[i + 1] / m, y[i + 2] / m)
    i = TOOL_POSITION
    return Motion((y[i], y[i + 1], y[i + 2]), q, r, v, turn(r, inner))


@kernel
def arm_of(m: Motion, point: PtrF8) -> Vec3:
    """R p of a point in the tool's frame."""
    return turn(m.r, (point[0], point[1], point[2]))


@kernel
def speed_at(m: Motion, r: Vec3) -> Vec3:
    """V + ω × r, the velocity of the tool's point at arm r."""
    t = cross(m.w, r)
    return (m.v[0] + t[0], m.v[1] + t[1], m.v[2] + t[2])


@kernel
def clear(a: Linear) -> None:
    """No wrench."""
    for i in range(6):
        a.w[i] = 0.0
    for i in range(36):
        a.k[i] = 0.0
        a.b[i] = 0.0


@kernel
def copy(a: Linear, out: Linear) -> None:
    """Out ← a."""
    for i in range(6):
        out.w[i] = a.w[i]
    for i in range(36):
        out.k[i] = a.k[i]
        out.b[i] = a.b[i]


@kernel
def add_force(w: PtrF8, r: Vec3, f: Vec3) -> None:
    """Wrench of a force at arm r, added."""
    t = cross(r, f)
    for i in range(3):
        w[i] += f[i]
        w[3 + i] += t[i]


@kernel
def add_point(a: Linear, r: Vec3, omega: Vec3, f: Vec3, c: Symmetric, d: Symmetric) -> None:
    """A force f at arm r with dF = −C dp − D dṗ, added to first order.

    dp = dx − r*φ,  dṗ = dv − r*dω − ω*r*φ  and  T = r × f give, row i of C and D being cᵢ and dᵢ,

        K_x = C        K_φ = [r × (cᵢ + dᵢ × ω)]       B_v = D        B_ω = [r × dᵢ]
        rows of torque: r* times these, and in φ also −f*r* = (f·r) I − r fᵀ
    """
    add_force(a.w, r, f)
    c0, c1, c2 = (c[0], c[5], c[4]), (c[5], c[1], c[3]), (c[4], c[3], c[2])
    d0, d1, d2 = (d[0], d[5], d[4]), (d[5], d[1], d[3]), (d[4], d[3], d[2])
    _add_rows(a.k, 0, r, c0, c1, c2)
    _add_rows(
        a.k,
        3,
        r,
        cross(r, axpy(1.0, cross(d0, omega), c0)),
        cross(r, axpy(1.0, cross(d1, omega), c1)),
        cross(r, axpy(1.0, cross(d2, omega), c2)),
    )
    _add_rows(a.b, 0, r, d0, d1, d2)
    _add_rows(a.b, 3, r, cross(r, d0), cross(r, d1), cross(r, d2))
    along = dot(f, r)
    for i in range(3):
        a.k[6 * (3 + i) + 3 + i] += along
        for j in range(3):
            a.k[6 * (3 + i) + 3 + j] -= r[i] * f[j]


@kernel
def _add_rows(k: PtrF8, at: int, r: Vec3, m0: Vec3, m1: Vec3, m2: Vec3) -> None:
    """Rows of a 3 x 3 block M and of r* M added to three columns of a (6, 6) matrix."""
    for j in range(3):
        k[at + j] += m0[j]
        k[6 + at + j] += m1[j]
        k[12 + at + j] += m2[j]
        k[18 + at + j] += r[1] * m2[j] - r[2] * m1[j]
        k[24 + at + j] += r[2] * m0[j] - r[0] * m2[j]
        k[30 + at + j] += r[0] * m1[j] - r[1] * m0[j]
