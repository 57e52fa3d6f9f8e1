"""Stress at the surface of a deformed body, for drawing, from the surface's own strain.

A surface that nothing touches carries no stress across it (plane stress), so that the strain of its
triangles is enough; where something presses on it, its pressure is missing in the result.
"""

from __future__ import annotations

import numpy as np

from tangere.maths.vec import Array, IntArray


def surface_stress(
    rest: Array, triangles: IntArray, displacement: Array, young: float, poisson: float
) -> Array:
    """Von Mises stress at every vertex [Pa], shape (n,): the mean of its triangles, by area.

    Args:
        rest: Vertices at rest [m], shape (n, 3).
        triangles: Vertices of each, shape (t, 3).
        displacement: Of every vertex [m], shape (n, 3).
        young: Young's modulus [Pa].
        poisson: Poisson's ratio.
    """
    x, u = rest[triangles], displacement[triangles]
    one, two = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    length = np.linalg.norm(one, axis=1)
    normal = np.cross(one, two)
    area2 = np.linalg.norm(normal, axis=1)
    e1 = one / length[:, None]
    e2 = np.cross(normal / area2[:, None], e1)
    # edges in the plane of the triangle: (length, 0) and (a, b)
    a, b = np.einsum("ti,ti->t", two, e1), area2 / length
    frame = np.stack((e1, e2), axis=1)
    du1 = np.einsum("tki,ti->tk", frame, u[:, 1] - u[:, 0])
    du2 = np.einsum("tki,ti->tk", frame, u[:, 2] - u[:, 0])
    dx = du1 / length[:, None]  # ∂u/∂x, ∂u/∂y of the linear triangle
    dy = (du2 - a[:, None] * dx) / b[:, None]
    ex, ey, shear = dx[:, 0], dy[:, 1], dx[:, 1] + dy[:, 0]
    modulus = young / (1.0 - poisson**2)
    sx, sy = modulus * (ex + poisson * ey), modulus * (ey + poisson * ex)
    t = 0.5 * young / (1.0 + poisson) * shear
    mises = np.sqrt(sx * sx - sx * sy + sy * sy + 3.0 * t * t)
    total, weight = np.zeros(len(rest)), np.zeros(len(rest))
    for corner in triangles.T:
        np.add.at(total, corner, area2 * mises)
        np.add.at(weight, corner, area2)
    return total / np.where(weight > 0.0, weight, 1.0)
