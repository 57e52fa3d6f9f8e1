"""Rotations as NumPy arrays: unit quaternions (w, x, y, z) and 3x3 matrices.

For Python code, and for any number of them at once; kernels have `maths.quat`.
"""

from __future__ import annotations

import numpy as np

from tangere.maths.vec import Array

_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


def rotation_of(q: Array) -> Array:
    """Rotation matrices of unit quaternions (…, 4), shape (…, 3, 3)."""
    given = np.asarray(q, float)
    w, x, y, z = given[..., 0], given[..., 1], given[..., 2], given[..., 3]
    r = np.empty((*given.shape[:-1], 3, 3))
    r[..., 0, 0] = 1 - 2 * (y * y + z * z)
    r[..., 0, 1] = 2 * (x * y - w * z)
    r[..., 0, 2] = 2 * (x * z + w * y)
    r[..., 1, 0] = 2 * (x * y + w * z)
    r[..., 1, 1] = 1 - 2 * (x * x + z * z)
    r[..., 1, 2] = 2 * (y * z - w * x)
    r[..., 2, 0] = 2 * (x * z - w * y)
    r[..., 2, 1] = 2 * (y * z + w * x)
    r[..., 2, 2] = 1 - 2 * (x * x + y * y)
    return r


def quaternion_of(m: Array) -> Array:
    """Unit quaternion, w ≥ 0, of a rotation matrix that need not be exact.

    The eigenvector of largest eigenvalue of Bar-Itzhack's symmetric matrix. What is not a number
    stays so: LAPACK would make a turn of it.
    """
    if not np.isfinite(m).all():
        return np.full(4, np.nan)
    k = np.array(
        [
            [m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], m[1, 2] + m[2, 1]],
            [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1]],
        ]
    )
    _, vectors = np.linalg.eigh(k)
    q: Array = vectors[:, -1]
    return q if q[0] >= 0.0 else -q


def quat_product(a: Array, b: Array) -> Array:
    """Hamilton product of (…, 4) arrays: first turn by b, then by a."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def quat_conjugate(q: Array) -> Array:
    """The opposite turns of (…, 4) unit quaternions."""
    return np.asarray(q * _CONJUGATE)
