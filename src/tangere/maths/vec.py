"""Vectors of three floats as tuples: inside kernels these cost nothing, arrays would allocate."""

from __future__ import annotations

from math import copysign, sqrt

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel

Vec3 = tuple[float, float, float]
Array = NDArray[np.float64]
IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]


@kernel
def add(a: Vec3, b: Vec3) -> Vec3:
    """A + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@kernel
def sub(a: Vec3, b: Vec3) -> Vec3:
    """A - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel
def scale(s: float, a: Vec3) -> Vec3:
    """S a."""
    return (s * a[0], s * a[1], s * a[2])


@kernel
def axpy(s: float, a: Vec3, b: Vec3) -> Vec3:
    """S a + b."""
    return (s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2])


@kernel
def dot(a: Vec3, b: Vec3) -> float:
    """A . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Vec3, b: Vec3) -> Vec3:
    """A x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@kernel
def norm(a: Vec3) -> float:
    """|a|."""
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@kernel
def basis(n: Vec3) -> tuple[Vec3, Vec3]:
    """Unit vectors t1, t2 with t1 x t2 = n, continuous except across n_z = 0 (Duff et al. 2017)."""
    sign = copysign(1.0, n[2])
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    t1 = (1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0])
    t2 = (b, sign + n[1] * n[1] * a, -n[1])
    return t1, t2
