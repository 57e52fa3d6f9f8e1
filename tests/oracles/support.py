"""Support functions of convex solids in NumPy, and the least overlap by search over directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere.geometry.curve import BALL, CAPSULE, CONE, CYLINDER, Curve
from tangere.geometry.polyhedron import Polyhedron

Array = NDArray[np.float64]


class Least(NamedTuple):
    """The least overlap of two solids: minus the distance when they are apart."""

    overlap: float
    normal: Array


def support(solid: Curve | Polyhedron, n: Array) -> Array:
    """Greatest n·x over a solid, for each row n."""
    if isinstance(solid, Polyhedron):
        return np.asarray((n @ solid.vertices.T).max(axis=1))
    kind, radius, half, axis, centre = solid
    along = n @ axis
    across = np.linalg.norm(n - along[:, None] * axis, axis=1)
    at = n @ centre
    if kind == BALL:
        return np.asarray(at + radius)
    if kind == CAPSULE:
        return np.asarray(at + half * np.abs(along) + radius)
    if kind == CYLINDER:
        return np.asarray(at + half * np.abs(along) + radius * across)
    assert kind == CONE
    return np.asarray(at + np.maximum(half * along, radius * across - half * along))


def overlap(a: Curve | Polyhedron, b: Curve | Polyhedron, n: Array) -> Array:
    """How far b has to move along each row of n to leave a."""
    return support(a, n) + support(b, -n)


def least_overlap(
    a: Curve | Polyhedron, b: Curve | Polyhedron, starts: int = 4, near: Array | None = None
) -> Least:
    """Least overlap over all directions: a grid, then ever smaller clouds about its best places.

    near: look about this direction only, at most 0.1 rad off.
    """
    rng = np.random.default_rng(0)
    if near is None:
        grid = fibonacci(2000)
        value = overlap(a, b, grid)
        places: list[Array] = []
        for i in np.argsort(value):
            if all(grid[i] @ other < np.cos(0.2) for other in places):
                places.append(grid[i])
            if len(places) == starts:
                break
        reach = 0.1
    else:
        places, reach = [near / np.linalg.norm(near)], 0.05
    best = Least(np.inf, np.zeros(3))
    for place in places:
        n, low, size = place, float(overlap(a, b, place[None])[0]), reach
        while size > 1e-9:
            cloud = rng.normal(size=(48, 3))
            cloud *= size / np.linalg.norm(cloud, axis=1)[:, None]
            cloud[::2] *= 0.3
            tries = n + cloud
            tries /= np.linalg.norm(tries, axis=1)[:, None]
            values = overlap(a, b, tries)
            k = int(np.argmin(values))
            if values[k] < low:
                n, low = tries[k], float(values[k])
            size *= 0.8
        if low < best.overlap:
            best = Least(low, n)
    return best


def fibonacci(count: int) -> Array:
    """Directions spread evenly over a sphere, shape (count, 3)."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    turn = np.pi * (1.0 + np.sqrt(5.0)) * k
    r = np.sqrt(1.0 - z * z)
    return np.column_stack((r * np.cos(turn), r * np.sin(turn), z))
