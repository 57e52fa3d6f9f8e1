"""Integrals over polygons by plain refinement: no polar coordinates, no closed form.

A polygon is cut into triangles; those close to a singular point are cut in four again and again,
the others are integrated by a product of Gauss rules. What is left of the singular point after
`LEVELS` cuts has an area of 4^-LEVELS of the whole.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVELS = 19  # 4^-19 = 4e-12
ORDER = 9
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(ORDER)


def _rule() -> tuple[Array, Array]:
    """Points (barycentric l1, l2) and weights of a Gauss product rule on a triangle of area one."""
    u, v = np.meshgrid(0.5 * (1.0 + _NODES), 0.5 * (1.0 + _NODES), indexing="ij")
    w = 0.25 * np.outer(_WEIGHTS, _WEIGHTS)
    return np.stack((u * (1.0 - v), u * v), axis=-1).reshape(-1, 2), (2.0 * w * u).ravel()


POINTS, WEIGHTS = _rule()


def fan(polygon: Array) -> Array:
    """Triangles (n, 3, 2) of a convex polygon about the mean of its vertices."""
    middle = np.broadcast_to(polygon.mean(axis=0), polygon.shape)
    return np.stack((middle, polygon, np.roll(polygon, -1, axis=0)), axis=1)


def _quarters(t: Array) -> Array:
    ab, bc, ca = 0.5 * (t[:, 0] + t[:, 1]), 0.5 * (t[:, 1] + t[:, 2]), 0.5 * (t[:, 2] + t[:, 0])
    a, b, c = t[:, 0], t[:, 1], t[:, 2]
    pieces = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (bc, ca, ab)]
    return np.concatenate([np.stack(piece, axis=1) for piece in pieces])


def integrate(
    polygon: Array, f: Callable[[Array, Array], Array], near: Array | None = None
) -> Array:
    """∫ f dS over a convex polygon (n, 2); f(x, y) → (…, k), singular at `near`."""
    todo = fan(polygon)
    done = []
    for _ in range(LEVELS if near is not None else 2):
        if near is None:
            todo = _quarters(todo)
            continue
        middle = todo.mean(axis=1)
        reach = np.linalg.norm(todo - middle[:, None], axis=-1).max(axis=1)
        close = np.linalg.norm(middle - near, axis=-1) < 3.0 * reach
        done.append(todo[~close])
        todo = _quarters(todo[close])
    t = np.concatenate([*done, todo])
    e1, e2 = t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]
    area = 0.5 * np.abs(e1[:, 0] * e2[:, 1] - e1[:, 1] * e2[:, 0])
    x = t[:, None, 0] + POINTS[None, :, :1] * e1[:, None] + POINTS[None, :, 1:] * e2[:, None]
    values = f(x[..., 0], x[..., 1])
    return np.asarray(np.einsum("t,q,tqk->k", area, WEIGHTS, values))


def coulomb(
    polygon: Array,
    pressure: Callable[[Array, Array], Array],
    field: tuple[float, float, float],
) -> Array:
    """∫ p e/|e| dS (two numbers), its torque about the origin, and ∫ p |e| dS.

    The field is e = R + Θ n × (x, y), given as R₁, R₂, Θ.
    """
    r1, r2, th = field

    def f(x: Array, y: Array) -> Array:
        e1, e2 = r1 - th * y, r2 + th * x
        size = np.hypot(e1, e2)
        p = pressure(x, y)
        load = p / np.where(size > 0.0, size, 1.0)
        return np.stack((load * e1, load * e2, load * (x * e2 - y * e1), p * size), axis=-1)

    near = np.array([-r2 / th, r1 / th]) if th != 0.0 else None
    return integrate(polygon, f, near)


def moments(polygon: Array, depth: Callable[[Array, Array], Array]) -> Array:
    """∫ (1, x, y, x², xy, y², d, d x, d y) dS."""

    def f(x: Array, y: Array) -> Array:
        d = depth(x, y)
        one = np.ones_like(x)
        return np.stack((one, x, y, x * x, x * y, y * y, d, d * x, d * y), axis=-1)

    return integrate(polygon, f)
