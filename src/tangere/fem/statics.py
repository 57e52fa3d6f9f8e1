"""Linear statics: displacements under loads with nodes held, and what holds a body."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError
from tangere.fem.blas_threads import one_blas_thread
from tangere.fem.elements import dofs_of, rigid_modes, stiffness
from tangere.geometry.checks import show

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.fem.elements import FiniteElements
    from tangere.fem.material import ElasticMaterial
    from tangere.maths.vec import Array, IntArray

# Least singular value, over the largest, with which held nodes keep all six rigid motions: three
# nodes on a line reach 1e-16, three corners of a triangle a thousand times longer than wide 1e-3.
HELD = 1e-6


def displacements(
    fe: FiniteElements,
    material: ElasticMaterial,
    loads: ArrayLike,
    *,
    fixed: ArrayLike,
    prescribed: ArrayLike | None = None,
) -> Array:
    """Static displacement of every node [m], shape (n, 3).

    Args:
        fe: Elements of the body.
        material: What it is made of.
        loads: Force on each node [N], shape (n, 3).
        fixed: Held nodes; `fe.with_mid_edges(vertices)` adds the mid-edge nodes at order 2.
        prescribed: Displacement of each held node [m], in the order of `fixed`; zero unless given.

    Raises:
        SceneError: The held nodes leave the body free to move, or an array has a wrong shape.
    """
    n = len(fe.nodes)
    if isinstance(fixed, Sized) and len(fixed) == 0:
        raise SceneError(
            "statics fixed: nothing is held, and the body can move in 6 of 6 ways; hold at least "
            "three nodes that are not on a line"
        )
    held = checked_nodes(fixed, n, "statics fixed", "nodes")
    check_held(fe.nodes[held], "statics fixed")
    force = _checked(loads, (n, 3), "statics loads")
    u = np.zeros((n, 3))
    if prescribed is not None:
        given = np.asarray(fixed)
        u[given] = _checked(prescribed, (len(given), 3), "statics prescribed")
    k = stiffness(fe, material)
    free = np.setdiff1d(np.arange(n), held)
    if len(free) == 0:
        return u
    rows = dofs_of(free)
    residual = force.ravel() - k @ u.ravel()
    with one_blas_thread():
        u.reshape(-1)[rows] = factorized(k[rows][:, rows]).solve(residual[rows])
    return u


def factorized(matrix: Any) -> Any:
    """Sparse factors of a symmetric positive definite matrix, with a method `solve`."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    # Positive definite: any diagonal entry is a good pivot, so the order can be the sparsest.
    return splu(
        csc_array(matrix),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def check_held(points: Array, what: str) -> None:
    """Refuse held points that leave a rigid motion free: fewer than three, or all on a line.

    The rigid motions of the whole body, seen at these points only, must be independent.
    """
    centre = points.mean(axis=0)
    size = float(np.linalg.norm(points - centre, axis=1).max())
    rank = 3
    if size > 0.0:
        values = np.linalg.svd(rigid_modes((points - centre) / size, np.zeros(3)), compute_uv=False)
        rank = int((values > HELD * values[0]).sum())
    if rank < 6:
        raise SceneError(
            f"{what}: {len(points)} held {'points' if len(points) > 1 else 'point'} on one line "
            f"still let the body move in {6 - rank} of 6 ways; hold at least three that are not on "
            "a line"
        )


def checked_nodes(value: ArrayLike, count: int, what: str, kind: str) -> IntArray:
    """Indices below `count`, each once, ascending; at least one."""
    try:
        raw = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise SceneError(f"{what}: expected a list of indices, got {show(value)}") from None
    if raw.size == 0:
        raise SceneError(f"{what}: empty, got {show(value)}; name at least one, or leave it out")
    if raw.ndim != 1 or raw.dtype.kind not in "iu":
        raise SceneError(
            f"{what}: expected whole numbers of shape (k,), got {raw.dtype} of shape {raw.shape}"
        )
    bad = (raw < 0) | (raw >= count)
    if bad.any():
        raise SceneError(
            f"{what}: index {int(raw[np.argmax(bad)])} out of range; "
            f"{kind} are numbered 0 to {count - 1}"
        )
    return np.unique(raw).astype(np.int32)


def _checked(value: ArrayLike, shape: tuple[int, int], what: str) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise SceneError(f"{what}: expected numbers of shape {shape}, got {show(value)}") from None
    if array.shape != shape:
        raise SceneError(f"{what}: expected shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise SceneError(f"{what}: has entries that are not finite; give plain numbers")
    return array
