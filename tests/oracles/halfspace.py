"""Common volume of two convex polyhedra by SciPy's half-space intersection (Qhull)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection, cKDTree

Array = NDArray[np.float64]

# Vertices closer than this part of the solid's extent are one.
WELD = 1e-11


class Solid(NamedTuple):
    volume: float
    surface_area: float
    projected_area: float
    centroid: Array


def common_volume(
    planes_a: Array, planes_b: Array, normal: Array, around: Array, unit: float
) -> Solid:
    """Volume, boundary area, area projected along `normal` (once) and centroid.

    Qhull is happiest with round bodies around the origin, so the intersection is found twice: first
    roughly, then in coordinates where it has equal extent along its principal axes.

    Args:
        planes_a: Rows N, d with N.x <= d.
        planes_b: The same of the other polyhedron.
        normal: Direction of projection.
        around: A point near the solid; lengths are measured from it ...
        unit: ... in this unit, about the thickness of the solid.
    """
    planes = np.vstack((planes_a, planes_b))
    normals, offsets = planes[:, :3], (planes[:, 3] - planes[:, :3] @ around) / unit
    centre = _chebyshev(normals, offsets)
    turn = np.eye(3)  # x = centre + turn @ y
    for _ in range(3):
        rows = normals @ turn
        room = offsets - normals @ centre
        length = np.linalg.norm(rows, axis=1)
        half = np.column_stack((rows / length[:, None], -room / length))
        y = HalfspaceIntersection(half, np.zeros(3)).intersections
        y = y[np.isfinite(y).all(axis=1)]
        middle = y.mean(axis=0)
        _, axes = np.linalg.eigh((y - middle).T @ (y - middle))
        extent = np.ptp(y @ axes, axis=0)
        centre = centre + turn @ middle
        turn = turn @ axes * extent
    y = (y - middle) @ axes / extent
    # Where more than three planes meet, Qhull gives one vertex many times: too much for its hull.
    close = cKDTree(y).query_pairs(WELD, output_type="ndarray")
    y = np.delete(y, close.max(axis=1), axis=0)
    hull = ConvexHull(y)
    x = unit * (y @ turn.T)
    tri = x[hull.simplices]
    area = 0.5 * np.cross(tri[:, 1] - tri[:, 0], tri[:, 2] - tri[:, 0])
    v = np.abs(np.einsum("ij,ij->i", area, tri[:, 0])) / 3.0
    return Solid(
        volume=float(v.sum()),
        surface_area=float(np.linalg.norm(area, axis=1).sum()),
        projected_area=float(0.5 * np.abs(area @ normal).sum()),
        centroid=around + unit * centre + v @ tri.sum(axis=1) / (4.0 * v.sum()),
    )


def _chebyshev(normals: Array, offsets: Array) -> Array:
    """Centre of the largest ball inside the half-spaces."""
    best, centre = 0.0, np.zeros(3)
    for method in ("highs-ds", "highs-ipm"):
        bound = linprog(
            (0.0, 0.0, 0.0, -1.0),
            A_ub=np.column_stack((normals, np.ones(len(normals)))),
            b_ub=offsets,
            bounds=[(None, None)] * 3 + [(0.0, None)],
            method=method,
        )
        if bound.x is not None and (room := (offsets - normals @ bound.x[:3]).min()) > best:
            best, centre = room, bound.x[:3]
    assert best > 0.0, "no interior point"
    return np.asarray(centre)
