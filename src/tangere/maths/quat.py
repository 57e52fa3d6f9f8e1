"""Unit quaternions (w, x, y, z) as tuples."""

from __future__ import annotations

from math import atan2, cos, sin, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.maths.vec import Vec3

Quat = tuple[float, float, float, float]

# Below this square of an angle two terms of a series are exact to rounding.
SMALL_TURN = 1e-8


@kernel
def product(a: Quat, b: Quat) -> Quat:
    """Hamilton product a b: first turn by b, then by a."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@kernel
def unit(q: Quat) -> Quat:
    """Q / |q|."""
    s = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return (s * q[0], s * q[1], s * q[2], s * q[3])


@kernel
def conjugate(q: Quat) -> Quat:
    """The opposite turn."""
    return (q[0], -q[1], -q[2], -q[3])


@kernel
def from_vector(phi: Vec3) -> Quat:
    """Unit quaternion of a turn by |φ| about φ [rad]."""
    angle2 = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    if angle2 < SMALL_TURN:
        s = 0.5 - angle2 / 48.0
        w = 1.0 - angle2 / 8.0
    else:
        angle = sqrt(angle2)
        s = sin(0.5 * angle) / angle
        w = cos(0.5 * angle)
    return (w, s * phi[0], s * phi[1], s * phi[2])


@kernel
def to_vector(q: Quat) -> Vec3:
    """Turn of a quaternion as a vector, 2 Log q [rad]: 0 … π for w ≥ 0, π … 2π for w < 0.

    Any positive multiple of q gives the same; q and −q are the short and the long way round.
    """
    w, x, y, z = q
    s2 = x * x + y * y + z * z
    if w > 0.0 and s2 < SMALL_TURN * w * w:
        f = 2.0 / w * (1.0 - s2 / (3.0 * w * w))
    else:
        s = sqrt(s2)
        f = 2.0 * atan2(s, w) / s
    return (f * x, f * y, f * z)


@kernel
def matrix_into(q: Quat, r_out: PtrF8) -> None:
    """Rotation matrix of q, row by row, into nine floats."""
    w, x, y, z = q
    r_out[0] = 1.0 - 2.0 * (y * y + z * z)
    r_out[1] = 2.0 * (x * y - w * z)
    r_out[2] = 2.0 * (x * z + w * y)
    r_out[3] = 2.0 * (x * y + w * z)
    r_out[4] = 1.0 - 2.0 * (x * x + z * z)
    r_out[5] = 2.0 * (y * z - w * x)
    r_out[6] = 2.0 * (x * z - w * y)
    r_out[7] = 2.0 * (y * z + w * x)
    r_out[8] = 1.0 - 2.0 * (x * x + y * y)


@kernel
def from_matrix(r: PtrF8) -> Quat:
    """Quaternion of a rotation matrix of nine floats, row by row; of unit length as far as R is.

    Of the four ways to divide, the one with the largest divisor: with u, v, w the axes in cyclic
    order and r_uu the largest diagonal element, q_u = ½ √(1 + r_uu − r_vv − r_ww) ≥ ½.
    """
    xx, yy, zz = r[0], r[4], r[8]
    if xx + yy + zz >= 0.0:
        s = 2.0 * sqrt(1.0 + xx + yy + zz)
        return (0.25 * s, (r[7] - r[5]) / s, (r[2] - r[6]) / s, (r[3] - r[1]) / s)
    if xx >= yy and xx >= zz:
        s = 2.0 * sqrt(1.0 + xx - yy - zz)
        return ((r[7] - r[5]) / s, 0.25 * s, (r[1] + r[3]) / s, (r[2] + r[6]) / s)
    if yy >= zz:
        s = 2.0 * sqrt(1.0 + yy - zz - xx)
        return ((r[2] - r[6]) / s, (r[1] + r[3]) / s, 0.25 * s, (r[5] + r[7]) / s)
    s = 2.0 * sqrt(1.0 + zz - xx - yy)
    return ((r[3] - r[1]) / s, (r[2] + r[6]) / s, (r[5] + r[7]) / s, 0.25 * s)


@kernel
def turn(r: PtrF8, v: Vec3) -> Vec3:
    """R v for a matrix of nine floats."""
    return (
        r[0] * v[0] + r[1] * v[1] + r[2] * v[2],
        r[3] * v[0] + r[4] * v[1] + r[5] * v[2],
        r[6] * v[0] + r[7] * v[1] + r[8] * v[2],
    )


@kernel
def turn_back(r: PtrF8, v: Vec3) -> Vec3:
    """Rᵀ v for a matrix of nine floats."""
    return (
        r[0] * v[0] + r[3] * v[1] + r[6] * v[2],
        r[1] * v[0] + r[4] * v[1] + r[7] * v[2],
        r[2] * v[0] + r[5] * v[1] + r[8] * v[2],
    )


@kernel
def turn_between(a: Quat, b: Quat) -> Vec3:
    """The turn from a to b as a vector, the short way round: b = from_vector(turn) a."""
    e = product(b, conjugate(a))
    if e[0] < 0.0:
        e = (-e[0], -e[1], -e[2], -e[3])
    return to_vector(e)
