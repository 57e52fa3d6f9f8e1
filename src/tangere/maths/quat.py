"""Unit quaternions (w, x, y, z) as tuples."""

from __future__ import annotations

from math import atan2, copysign, cos, sin, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.maths.vec import Vec3, norm

Quat = tuple[float, float, float, float]


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
def conjugate(q: Quat) -> Quat:
    """The turn back."""
    return (q[0], -q[1], -q[2], -q[3])


@kernel
def exp(u: Vec3) -> Quat:
    """The turn by |u| [rad] about u."""
    angle = norm(u)
    # sin(a/2)/a, by its series where the quotient would lose digits
    s = 0.5 - angle * angle / 48.0 if angle < 1e-4 else sin(0.5 * angle) / angle
    return (cos(0.5 * angle), s * u[0], s * u[1], s * u[2])


@kernel
def log(q: Quat) -> Vec3:
    """Rotation vector of q, the shorter way round: angle [rad] times axis, at most π long."""
    sine = norm((q[1], q[2], q[3]))
    # 2 atan(sine/w)/sine, by its series near zero; for w < 0 the turn is that of −q
    if sine < 1e-4:
        s = 2.0 / q[0] * (1.0 - sine * sine / (3.0 * q[0] * q[0]))
    else:
        s = 2.0 * atan2(copysign(sine, q[0]), abs(q[0])) / sine
    return (s * q[1], s * q[2], s * q[3])
