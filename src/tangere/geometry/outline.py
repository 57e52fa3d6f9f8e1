"""Convex outlines of points in a plane."""

from __future__ import annotations

from math import copysign

import numpy as np

from tangere.maths.vec import Array


def plane_axes(normal: Array) -> tuple[Array, Array]:
    """Two unit vectors that make a right-handed frame with the unit normal (Duff et al. 2017)."""
    x, y, z = normal.tolist()
    sign = copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    e1 = np.array([1.0 + sign * x * x * a, sign * b, -sign * x])
    return e1, np.array([b, sign + y * y * a, -y])


def disc(point: Array, normal: Array, radius: float, corners: int = 20) -> Array:
    """A regular polygon about a point, shape (corners, 3) [m]."""
    e1, e2 = plane_axes(normal)
    angle = np.linspace(0.0, 2.0 * np.pi, corners, endpoint=False)[:, None]
    circle: Array = point + radius * (np.cos(angle) * e1 + np.sin(angle) * e2)
    return circle


def outline(points: Array, at: Array, normal: Array) -> Array | None:
    """Shadow of points on the plane through `at`: a convex polygon (n, 3) [m]; None if flat."""
    if len(points) < 3:
        return None
    e1, e2 = plane_axes(normal)
    ring = convex_ring(np.column_stack(((points - at) @ e1, (points - at) @ e2)))
    if len(ring) < 3:
        return None
    polygon: Array = at + ring[:, :1] * e1 + ring[:, 1:] * e2
    return polygon


def convex_ring(points: Array) -> Array:
    """Convex hull of plane points, counter-clockwise (Andrew's monotone chain)."""
    size = float(np.ptp(points, axis=0).max())
    tolerance = 1e-9 * size * size
    order = points[np.lexsort((points[:, 1], points[:, 0]))].tolist()
    chains: list[list[list[float]]] = []
    for sweep in (order, order[::-1]):
        chain: list[list[float]] = []
        for x, y in sweep:
            while len(chain) >= 2:
                (ax, ay), (bx, by) = chain[-2], chain[-1]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > tolerance:
                    break
                chain.pop()
            chain.append([x, y])
        chains.append(chain[:-1])
    return np.array(chains[0] + chains[1]).reshape(-1, 2)
