"""Hypothesis strategies shared by tests: numbers, poses and point clouds of convex hulls."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pose = tuple[Array, Array]

LENGTHS = st.floats(1e-3, 1e3, allow_nan=False)


@st.composite
def vectors(draw: st.DrawFn, limit: float = 10.0) -> Array:
    """Three numbers within ±limit."""
    return np.array([draw(st.floats(-limit, limit, allow_nan=False)) for _ in range(3)])


@st.composite
def quaternions(draw: st.DrawFn) -> Array:
    """Unit quaternions (w, x, y, z), including the plain turns by 90 and 180 degrees."""
    q = np.array([draw(st.floats(-1.0, 1.0, allow_nan=False)) for _ in range(4)])
    size = float(np.linalg.norm(q))
    return np.asarray(q / size) if size > 1e-3 else np.array([1.0, 0.0, 0.0, 0.0])


@st.composite
def poses(draw: st.DrawFn, limit: float = 10.0) -> Pose:
    """Position within ±limit [m] and orientation."""
    return draw(vectors(limit)), draw(quaternions())


@st.composite
def clouds(draw: st.DrawFn, most: int = 60) -> Array:
    """Points that span a volume: on a ball, anywhere, on a lattice (many coplanar), or doubled.

    Each axis has its own length, 1 mm to 1 km, up to four decades apart: plates and needles occur.
    """
    kind = draw(st.sampled_from(["round", "filled", "lattice", "doubled"]))
    count = draw(st.integers(4, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "lattice":
        points = rng.integers(-2, 3, size=(count, 3)).astype(np.float64)
    else:
        points = rng.normal(size=(count, 3))
        if kind == "round":
            points /= np.linalg.norm(points, axis=1)[:, None]
    if kind == "doubled":
        points = np.concatenate((points, points + rng.normal(size=points.shape) * 1e-13))
    # A small simplex keeps every cloud from being flat.
    simplex = np.concatenate((np.zeros((1, 3)), np.eye(3)))
    points = np.concatenate((points, simplex))
    scale = draw(st.floats(-1.0, 1.0)) + np.array([draw(st.floats(-2.0, 2.0)) for _ in range(3)])
    return np.asarray(points * 10.0**scale)
