"""Closed triangle meshes: what makes one a solid, and its split into convex pieces.

The split is CoACD's (Wei et al., Approximate convex decomposition for 3D meshes with
collision-aware concavity and tree search, SIGGRAPH 2022). It takes seconds, so its result is kept
on disk under a hash of the mesh and the settings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sized
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import check_resolution, frozen, show
from tangere.geometry.disk_cache import cached
from tangere.geometry.edges import (
    boxes,
    edges_of,
    face_keys,
    groups,
    tetrahedra,
    used_vertices,
)
from tangere.geometry.polyhedron import (
    FLAT,
    MAX_SIMPLE_POINTS,
    Polyhedron,
    checked_points,
    convex_polyhedron,
    simplified_points,
    solid_moments,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tangere.maths.vec import Array, IntArray

# Most triangles of one mesh: checking that many takes 2 s and 1 GB.
MAX_TRIANGLES = 4_000_000
# A mesh whose hull is larger by no more than this share of volume is taken as convex. Meshes stored
# in single precision miss coplanarity by 1e-7; any real concavity is far above.
CONVEX_SHARE = 1e-6
# CoACD settings; all enter the cache key. Concavity allowed per piece, relative to the mesh's size;
# corners per piece, few enough for a fast contact and many more than that concavity can show.
CONCAVITY = 0.05
PIECE_POINTS = 64
SEED = 0
CACHE_FORMAT = "tangere-pieces-2"


class Source(NamedTuple):
    """Where a mesh was read from, and how: arguments of `load`."""

    file: str
    scale: float = 1.0
    repair: bool = True
    shell: float | None = None


def checked_mesh(vertices: ArrayLike, faces: ArrayLike, what: str) -> tuple[Array, IntArray]:
    """Read-only vertices and triangles of a closed, outward oriented surface.

    Raises:
        SceneError: Anything that keeps the surface from being the boundary of a solid.
    """
    points = checked_vertices(vertices, what)
    triangles = checked_indices(faces, len(points), what)
    check_closed(points, triangles, what)
    check_volume(points, triangles, what)
    triangles.setflags(write=False)
    return frozen(points), triangles


def checked_vertices(vertices: ArrayLike, what: str, most: int = MAX_TRIANGLES) -> Array:
    """`vertices` as a fresh array of shape (n, 3), all finite.

    A closed surface has no more of them than triangles.
    """
    return checked_points(vertices, f"{what} vertices", most=most)


def checked_indices(faces: ArrayLike, vertex_count: int, what: str) -> IntArray:
    """`faces` as rows of three vertex numbers, at least four and not too many."""
    count = len(faces) if isinstance(faces, Sized) else 0
    if count > MAX_TRIANGLES:
        raise SceneError(
            f"{what}: {count} triangles, at most {MAX_TRIANGLES} are accepted; "
            "reduce the mesh first"
        )
    try:
        raw = np.array(faces)
    except (TypeError, ValueError, OverflowError):
        raise SceneError(
            f"{what} faces: expected rows of three indices, got {show(faces)}"
        ) from None
    if raw.ndim != 2 or raw.shape[1] != 3 or raw.dtype.kind not in "iu":
        raise SceneError(
            f"{what} faces: expected whole numbers of shape (t, 3), "
            f"got {raw.dtype} of shape {raw.shape}"
        )
    if len(raw) < 4:
        raise SceneError(f"{what}: {len(raw)} triangles, a closed surface needs at least 4")
    if raw.min() < 0 or raw.max() >= vertex_count:
        row = int(np.argmax(((raw < 0) | (raw >= vertex_count)).any(axis=1)))
        raise SceneError(
            f"{what}: face {row} is {show(raw[row].tolist())}, "
            f"but vertices are numbered 0 to {vertex_count - 1}"
        )
    return raw.astype(np.int32)


def check_closed(points: Array, triangles: IntArray, what: str) -> None:
    """Refuse degenerate and repeated triangles, open edges and disagreement on the outside."""
    coincide = np.zeros(len(triangles), dtype=bool)
    for i in range(3):
        a, b = points[triangles[:, i]], points[triangles[:, (i + 1) % 3]]
        coincide |= (a[:, 0] == b[:, 0]) & (a[:, 1] == b[:, 1]) & (a[:, 2] == b[:, 2])
    if coincide.any():
        row = int(np.argmax(coincide))
        raise SceneError(
            f"{what}: face {row} ({show(triangles[row].tolist())}) is degenerate, "
            "two corners coincide; remove such faces"
        )
    edges = edges_of(triangles, len(points))
    keys = face_keys(triangles, edges, len(points))
    ordered = np.sort(keys)
    again = ordered[1:] == ordered[:-1]
    if again.any():
        row = int(np.argmax(keys == ordered[np.argmax(again)]))
        raise SceneError(
            f"{what}: face {row} ({show(triangles[row].tolist())}) occurs more than once; "
            "keep one copy"
        )
    tail, head, edge, uses, _ = edges
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    balance = np.bincount(edge, weights=np.where(tail < head, 1.0, -1.0))
    if edges.odd():
        bad = uses % 2 == 1
        at = int(np.argmax(bad[edge]))
        raise SceneError(
            f"{what}: open surface, {int(bad.sum())} edges such as {low[at]}-{high[at]} border "
            "an odd number of faces; close the holes (merge duplicate vertices, cap openings)"
        )
    if balance.any():
        bad = balance != 0.0
        at = int(np.argmax(bad[edge]))
        raise SceneError(
            f"{what}: inconsistent orientation, faces at {int(bad.sum())} edges such as "
            f"{low[at]}-{high[at]} disagree on which side is outside; "
            "order all corners counter-clockwise seen from outside"
        )


def check_volume(points: Array, triangles: IntArray, what: str) -> None:
    """Refuse inverted and empty solids, as a whole and piece by piece of the surface."""
    volume, low, high = _component_volumes(points, triangles)
    total = float(volume.sum())
    lowest, highest = low.min(axis=0), high.max(axis=0)
    check_resolution(lowest, highest, what)
    extent = float((highest - lowest).max())
    # A solid of thickness FLAT and the same width is the thinnest accepted.
    if abs(total) <= FLAT * FLAT * extent**3:
        raise SceneError(f"{what}: encloses no volume ({total:.3g} m³); give a solid, not a sheet")
    if total < 0.0:
        raise SceneError(
            f"{what}: inverted, faces point inwards (volume {total:.3g} m³); "
            "reverse the corner order of every face, faces[:, ::-1]"
        )
    for i in np.flatnonzero(volume < 0.0):
        # An inward surface is a cavity if it lies within an outward one.
        around = (volume > 0.0) & (low <= low[i]).all(axis=1) & (high >= high[i]).all(axis=1)
        if not around.any():
            raise SceneError(
                f"{what}: one of its {len(volume)} separate surfaces is inverted "
                f"(volume {volume[i]:.3g} m³); reverse the corner order of its faces"
            )


def _component_volumes(points: Array, triangles: IntArray) -> tuple[Array, Array, Array]:
    """Signed volume [m³] and bounding box corners [m] of each connected surface."""
    a, b, c = (triangles[:, i].astype(np.int64) for i in range(3))
    of_vertex = groups(np.concatenate((a, a)), np.concatenate((b, c)), len(points))
    _, label = np.unique(of_vertex[a], return_inverse=True)
    low, high = boxes(points, triangles, label)
    # Measured from the middle of each surface, where the products lose the least.
    six = tetrahedra(points, triangles, (0.5 * (low + high))[label])
    return np.bincount(label, weights=six) / 6.0, low, high


def convex_pieces(vertices: Array, faces: IntArray, what: str) -> tuple[Polyhedron, ...]:
    """Convex polyhedra that together fill the mesh; from the cache where it was split before."""
    used = vertices[used_vertices(faces, len(vertices))]
    if is_convex(used, vertices, faces):
        return (_piece(used, what),)
    clouds = _split(vertices, faces, what)
    pieces = []
    for i, cloud in enumerate(clouds):
        # A sliver left over by the split carries no volume worth touching.
        with contextlib.suppress(SceneError):
            pieces.append(_piece(cloud, f"{what} piece {i}"))
    if not pieces:
        raise SceneError(
            f"{what}: the convex split found no solid piece; check the mesh for thin sheets"
        )
    return tuple(pieces)


def is_convex(used: Array, vertices: Array, faces: IntArray) -> bool:
    """Whether the mesh fills its convex hull."""
    from scipy.spatial import ConvexHull, QhullError

    size = float((used.max(axis=0) - used.min(axis=0)).max())
    try:
        hull = ConvexHull((used - used.mean(axis=0)) / size)
    except QhullError:
        return True  # nearly flat: one piece, and its hull is checked with better scaling
    volume = solid_moments(vertices, faces).volume
    return bool(volume >= (1.0 - CONVEX_SHARE) * hull.volume * size**3)


def _piece(cloud: Array, what: str) -> Polyhedron:
    try:
        return convex_polyhedron(cloud, what)
    except SceneError:
        if len(cloud) <= MAX_SIMPLE_POINTS:
            raise
        return convex_polyhedron(simplified_points(cloud), what)


def _split(vertices: Array, faces: IntArray, what: str) -> list[Array]:
    """Point clouds of the convex pieces of a concave mesh."""

    def compute() -> dict[str, NDArray[Any]]:
        clouds = _run_coacd(vertices, faces, what)
        return {
            "points": np.concatenate(clouds),
            "ends": np.cumsum([len(cloud) for cloud in clouds]),
        }

    settings = (CACHE_FORMAT, CONCAVITY, SEED, PIECE_POINTS)
    stored = cached("decompositions", (*settings, vertices, faces), compute)
    return np.split(stored["points"], stored["ends"][:-1])


def _run_coacd(vertices: Array, faces: IntArray, what: str) -> list[Array]:
    import coacd

    coacd.set_log_level("error")
    # CoACD works in its own normalised box: feed it the same numbers whatever the mesh's size.
    centre = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    size = float((vertices.max(axis=0) - vertices.min(axis=0)).max())
    try:
        pieces: list[tuple[Any, Any]] = coacd.run_coacd(
            coacd.Mesh((vertices - centre) / size, faces),
            threshold=CONCAVITY,
            max_ch_vertex=PIECE_POINTS,
            decimate=True,
            seed=SEED,
        )
    except Exception as error:  # the library raises whatever its C++ side throws
        raise SceneError(
            f"{what}: convex split failed ({show(str(error))}); check the mesh"
        ) from None
    return [np.asarray(points, dtype=np.float64) * size + centre for points, _ in pieces]
