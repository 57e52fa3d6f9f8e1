"""Parameters of a pair of bodies, and the memory of its friction spring.

The spring between the surfaces is remembered by its two ends, one fixed to each body: common motion of the
pair carries it for free, and a resting contact cannot drift because nothing is summed up. Its twist
about the normal is a plain sum.
"""

from __future__ import annotations

from math import isnan, sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.dynamics.rigid import body_point, world_point
from tangere.maths.vec import Vec3
from tangere.model import PF_ANCHOR_A, PF_ANCHOR_B, Model, State

# Defaults when a material gives no stiffness: κ = k dt²/m and β = b dt/m, safely inside the limit of the
# explicit step (κ + 2β)·W m < 4 for every box (W m ≤ 7); a given stiffness without damping gets ζ = 0.3.
KAPPA = 0.1
BETA = 0.2
ZETA = 0.3
# Tangential springs excite tilt; a quarter of the normal stiffness keeps towers quiet.
TANGENTIAL_SHARE = 0.25


class Law(NamedTuple):
    """Parameters of one contact."""

    k: float  # normal stiffness [N/m]
    b: float  # normal damping [N s/m]
    k_t: float  # tangential stiffness [N/m]
    b_t: float  # tangential damping [N s/m]
    mu0: float  # static friction
    mu: float  # kinetic friction


@kernel
def _mean(x: float, y: float) -> float:
    """Harmonic mean; where one is not given (NaN), the other."""
    if isnan(x):
        return y
    if isnan(y):
        return x
    return 2.0 * x * y / (x + y) if x + y > 0.0 else 0.0


@kernel
def pair_law(m: Model, i: int, j: int, dt: float) -> Law:
    """Contact parameters of bodies i and j: given ones combined, missing ones from mass and step.

    m_c = 1/(1/m_a + 1/m_b);  k = κ m_c/dt²,  b = β m_c/dt;  friction: geometric mean.
    """
    p = off(m.materials, 6 * m.material[i])
    q = off(m.materials, 6 * m.material[j])
    mass = 1.0 / (m.inv_mass[i] + m.inv_mass[j])
    k = _mean(p[2], q[2])
    b = _mean(p[3], q[3])
    if isnan(b):
        b = BETA * mass / dt if isnan(k) else 2.0 * ZETA * sqrt(k * mass)
    if isnan(k):
        k = KAPPA * mass / (dt * dt)
    k_t = _mean(p[4], q[4])
    b_t = _mean(p[5], q[5])
    if isnan(k_t):
        k_t = TANGENTIAL_SHARE * k
    if isnan(b_t):
        b_t = TANGENTIAL_SHARE * b
    return Law(k, b, k_t, b_t, sqrt(p[0] * q[0]), sqrt(p[1] * q[1]))


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
    a[0], a[1], a[2] = body_point(
        s, i, (c[0] - 0.5 * r[0], c[1] - 0.5 * r[1], c[2] - 0.5 * r[2])
    )
    b[0], b[1], b[2] = body_point(
        s, j, (c[0] + 0.5 * r[0], c[1] + 0.5 * r[1], c[2] + 0.5 * r[2])
    )
