"""Distance and penetration depth of convex vertex clouds by slow, independent methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

Array = NDArray[np.float64]


def separation(a: Array, b: Array) -> float:
    """Distance of two separated vertex clouds as a quadratic programme; 0 if they overlap.

    With w = b_j - a_i the distance is 1 / min |u| subject to u.w >= 1 for all w: least-distance
    programming, solved through non-negative least squares (Lawson and Hanson 1974, chapter 23). Its
    active set gives the nearest point v in extended precision; v must then support all w.
    """
    w = (b[None, :, :] - a[:, None, :]).reshape(-1, 3)
    size = float(np.abs(w).max())
    w = w / size
    for unit in (1.0, 1e-2, 1e-4, 1e-6):  # the programme wants |u| not far above one
        e = np.vstack((w.T / unit, np.ones(len(w))))
        x, _ = nnls(e, np.array([0.0, 0.0, 0.0, 1.0]), maxiter=1000)
        v = _least_norm(w[x > 0.0])
        d = float(np.linalg.norm(v))
        if d > 0.0 and float((w @ (v / d)).min()) > d - 1e-13:
            return size * d
    return 0.0


def _least_norm(w: Array) -> Array:
    """Point of least norm on the plane, line or point that the rows span."""
    base = w[0].astype(np.longdouble)
    if len(w) == 1:
        return np.asarray(w[0])
    t = w[1:].astype(np.longdouble) - base
    v = base.copy()
    for _ in range(3):  # Gram-Schmidt, repeated until nothing is left to remove
        q: list[NDArray[np.longdouble]] = []
        for row in t:
            r = row.copy()
            for _ in range(2):
                for p in q:
                    r = r - p * (p @ r)
            q.append(r / np.sqrt(r @ r))
        for p in q:
            v = v - p * (p @ v)
    return np.asarray(v, dtype=np.float64)


def depth(a: Array, b: Array) -> float:
    """Penetration depth of overlapping vertex clouds: nearest face of the hull of all a_i - b_j."""
    w = (a[:, None, :] - b[None, :, :]).reshape(-1, 3)
    size = float(np.abs(w).max())
    hull = ConvexHull(w / size)
    return size * float(np.min(-hull.equations[:, 3]))


def signed_distance(a: Array, b: Array) -> float:
    """Distance when positive, else minus the depth."""
    d = separation(a, b)
    return d if d > 0.0 else -depth(a, b)
