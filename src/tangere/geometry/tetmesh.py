"""Solids made of tetrahedra: what makes such a mesh sound, its surface and its volume integrals."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import check_resolution, frozen, positive, show
from tangere.geometry.ftetwild import fill
from tangere.geometry.mesh import convex_pieces
from tangere.geometry.polyhedron import Moments, checked_points, solid_moments
from tangere.geometry.shapes import Shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.geometry.polyhedron import Polyhedron
    from tangere.geometry.shapes import Surface
    from tangere.maths.vec import Array, IntArray, LongArray

# Most tetrahedra of one mesh: checking that many takes seconds and half a gigabyte.
MAX_TETRAHEDRA = 1_000_000
# Volume over edge cubed of a regular tetrahedron, 1/(6√2).
REGULAR_TETRAHEDRON = 0.118
# Volume over longest edge cubed below which a tetrahedron counts as flat:
# its stiffness would be lost in rounding, or drown that of its neighbours.
FLAT_TETRAHEDRON = 1e-6
# Corners of the face opposite to each corner, counter-clockwise seen from outside.
FACES = np.array([(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)])
# How the volume of a mesh made from a surface may differ from what the surface encloses, and the
# least shape quality of its tetrahedra (1 for a regular one): fTetWild reaches 0.2 nearly always.
VOLUME_SHARE = 0.01
LEAST_QUALITY = 0.1
# Edge length that a surface is filled with unless another is given, over its bounding diagonal: a
# cube gets 900 vertices of median quality 0.9.
EDGE_SHARE = 0.07


class Boundary(NamedTuple):
    """Surface of a tetrahedral mesh; all arrays are read-only."""

    vertices: IntArray
    """Surface vertices in the mesh's own numbering, ascending, shape (n,)."""
    triangles: IntArray
    """Outward triangles as indices into `vertices`, shape (t, 3)."""


@dataclass(frozen=True, init=False, eq=False)
class TetMesh(Shape):
    """A solid filled with tetrahedra that share faces: what finite elements need.

    A rigid body can have this shape, too: then it is split into convex pieces like a `Mesh`.
    """

    offers = frozenset({"hull", "field", "surface"})

    vertices: Array
    """[m], shape (n, 3)."""
    tetrahedra: IntArray
    """Vertex indices of each tetrahedron, shape (t, 4); the corners 0, 1, 2 are counter-clockwise
    seen from corner 3, so that (x1-x0) × (x2-x0) points towards it."""

    def __init__(self, vertices: ArrayLike, tetrahedra: ArrayLike) -> None:
        """Check that the tetrahedra are positive, joined by their faces and use every vertex."""
        count = len(tetrahedra) if isinstance(tetrahedra, Sized) else 0
        if count > MAX_TETRAHEDRA:
            raise SceneError(
                f"TetMesh: {count} tetrahedra, at most {MAX_TETRAHEDRA} are accepted; "
                "give a coarser mesh"
            )
        points = checked_points(vertices, "TetMesh vertices")
        corners = _checked_indices(tetrahedra, len(points))
        check_resolution(points.min(axis=0), points.max(axis=0), "TetMesh")
        _check_volumes(points, corners)
        corners.setflags(write=False)
        object.__setattr__(self, "vertices", frozen(points))
        object.__setattr__(self, "tetrahedra", corners)
        self.boundary  # noqa: B018 - a mesh that falls apart is refused here, not later in a run

    @classmethod
    def from_surface(cls, shape: Shape, *, edge_length: float | None = None) -> TetMesh:
        """The inside of any closed shape, filled with tetrahedra by fTetWild.

        It takes seconds to minutes, so the result is kept on disk. fTetWild draws random numbers
        that cannot be seeded: another machine, or the same without its cache, gets another mesh of
        the same quality. Where digits matter, keep `vertices` and `tetrahedra` with the work.

        Args:
            shape: Its `surface()` is filled; a round shape is filled as it is drawn.
            edge_length: Aimed at [m]; 7 % of the diagonal of the bounding box unless given. Thin
                and curved parts get shorter edges.

        Raises:
            SceneError: Nothing that can be filled, or what came out is not good enough.
        """
        if not isinstance(shape, Shape):
            raise SceneError(f"TetMesh.from_surface: expected a shape, got {show(shape)}")
        vertices, triangles = shape.surface()
        what = f"TetMesh from {type(shape).__name__}"
        diagonal = float(np.linalg.norm(np.ptp(vertices, axis=0)))
        edge = EDGE_SHARE * diagonal
        if edge_length is not None:
            edge = positive(edge_length, f"{what} edge_length")
            if edge > diagonal:
                raise SceneError(
                    f"{what} edge_length: {edge:.3g} m is longer than the shape's diagonal, "
                    f"{diagonal:.3g} m; give a shorter one"
                )
        volume = solid_moments(vertices, triangles).volume
        expected = volume / (REGULAR_TETRAHEDRON * edge**3)
        if expected > MAX_TETRAHEDRA:
            raise SceneError(
                f"{what} edge_length: {edge:.3g} m gives about {expected:.2g} tetrahedra, at most "
                f"{MAX_TETRAHEDRA} are accepted; give a longer one"
            )

        def fault(points: Array, corners: IntArray) -> str:
            filled = tetrahedron_volumes(points, corners).sum()
            if abs(filled - volume) > VOLUME_SHARE * volume:
                return (
                    f"the tetrahedra fill {filled:.4g} m³, but the surface encloses {volume:.4g} "
                    "m³; give a shorter edge_length, and no parts that overlap"
                )
            worst = qualities(points, corners).min()
            if worst < LEAST_QUALITY:
                return (
                    f"the worst tetrahedron has a shape quality of {worst:.2g}, less than "
                    f"{LEAST_QUALITY:g}; give another edge_length, or a surface without slivers"
                )
            return ""

        points, corners = fill(vertices, triangles, edge / diagonal, what, fault)
        try:
            return cls(points, corners)
        except SceneError as error:
            raise SceneError(f"{what}: {str(error).removeprefix('TetMesh: ')}") from None

    @cached_property
    def boundary(self) -> Boundary:
        """Surface vertices in the mesh's numbering, and the triangles between them."""
        outer = _outer_faces(self.tetrahedra, len(self.vertices))
        vertices, triangles = np.unique(outer, return_inverse=True)
        boundary = Boundary(vertices.astype(np.int32), triangles.reshape(-1, 3).astype(np.int32))
        for array in boundary:
            array.setflags(write=False)
        return boundary

    def surface(self) -> Surface:
        """Boundary vertices [m] and outward triangles, numbered as in `boundary`."""
        return self._surface

    @cached_property
    def _surface(self) -> Surface:
        vertices, triangles = self.boundary
        return frozen(self.vertices[vertices]), triangles

    @cached_property
    def _parts(self) -> tuple[Polyhedron, ...]:
        return convex_pieces(*self.surface(), "TetMesh")

    @cached_property
    def _moments(self) -> Moments:
        """Sums over tetrahedra: ∫x xᵀ dV = V/20 (Σ p pᵀ + s sᵀ) with s = Σ p over the corners."""
        middle = self.vertices.mean(axis=0)
        p = (self.vertices - middle)[self.tetrahedra]
        v = tetrahedron_volumes(self.vertices, self.tetrahedra)
        s = p.sum(axis=1)
        volume = float(v.sum())
        offset = (v @ s) / (4.0 * volume)
        second = np.einsum("e,eai,eaj->ij", v, p, p) + np.einsum("e,ei,ej->ij", v, s, s)
        second = second / 20.0 - volume * np.outer(offset, offset)
        inertia = np.trace(second) * np.eye(3) - second
        return Moments(volume, frozen(middle + offset), frozen(0.5 * (inertia + inertia.T)))


def tetrahedron_volumes(points: Array, tetrahedra: IntArray) -> Array:
    """Signed volume of each tetrahedron [m³], positive for the right order of corners."""
    a, b, c = (points[tetrahedra[:, i]] - points[tetrahedra[:, 0]] for i in (1, 2, 3))
    volumes: Array = np.einsum("ei,ei->e", np.cross(a, b), c) / 6.0
    return volumes


def qualities(points: Array, tetrahedra: IntArray) -> Array:
    """Shape quality of each tetrahedron, 6√2 V / l³ with l² the mean squared edge; 1: regular."""
    mean_squared = _squared_edges(points, tetrahedra).mean(axis=1)
    quality: Array = (
        6.0 * np.sqrt(2.0) * tetrahedron_volumes(points, tetrahedra) / mean_squared**1.5
    )
    return quality


def _squared_edges(points: Array, tetrahedra: IntArray) -> Array:
    first, second = np.triu_indices(4, 1)
    edges = points[tetrahedra[:, first]] - points[tetrahedra[:, second]]
    squared: Array = np.einsum("eki,eki->ek", edges, edges)
    return squared


def _checked_indices(tetrahedra: ArrayLike, vertex_count: int) -> IntArray:
    """The tetrahedra as whole numbers; every vertex is used, every corner exists and is another."""
    try:
        raw = np.array(tetrahedra)
    except (TypeError, ValueError, OverflowError):
        raise SceneError(
            f"TetMesh tetrahedra: expected rows of four indices, got {show(tetrahedra)}"
        ) from None
    if raw.ndim != 2 or raw.shape[1] != 4 or raw.dtype.kind not in "iu":
        raise SceneError(
            "TetMesh tetrahedra: expected whole numbers of shape (t, 4), "
            f"got {raw.dtype} of shape {raw.shape}"
        )
    if len(raw) == 0:
        raise SceneError("TetMesh: no tetrahedra; a solid needs at least one")
    bad = ((raw < 0) | (raw >= vertex_count)).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise SceneError(
            f"TetMesh: tetrahedron {row} is {show(raw[row].tolist())}, "
            f"but vertices are numbered 0 to {vertex_count - 1}"
        )
    corners: IntArray = raw.astype(np.int32)
    ordered = np.sort(corners, axis=1)
    bad = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise SceneError(
            f"TetMesh: tetrahedron {row} ({show(corners[row].tolist())}) has a corner twice; "
            "remove such tetrahedra"
        )
    unused = np.bincount(corners.ravel(), minlength=vertex_count) == 0
    if unused.any():
        raise SceneError(
            f"TetMesh: vertex {int(np.argmax(unused))} belongs to no tetrahedron, as do "
            f"{unused.sum()} of {vertex_count}; remove such vertices and renumber the rest"
        )
    return corners


def _check_volumes(points: Array, tetrahedra: IntArray) -> None:
    """Refuse inverted and flat tetrahedra."""
    volumes = tetrahedron_volumes(points, tetrahedra)
    least = FLAT_TETRAHEDRON * _squared_edges(points, tetrahedra).max(axis=1) ** 1.5
    inverted = volumes < -least
    if inverted.any():
        row = int(np.argmax(inverted))
        raise SceneError(
            f"TetMesh: tetrahedron {row} is inverted (volume {volumes[row]:.3g} m³), as are "
            f"{inverted.sum()} of {len(volumes)}; swap two of their corners, [:, [0, 2, 1, 3]]"
        )
    flat = volumes <= least
    if flat.any():
        row = int(np.argmax(flat))
        raise SceneError(
            f"TetMesh: tetrahedron {row} is flat (volume {volumes[row]:.3g} m³), as are "
            f"{flat.sum()} of {len(volumes)}; remove slivers or mesh the solid anew"
        )


def _outer_faces(tetrahedra: IntArray, vertex_count: int) -> LongArray:
    """Outward faces that only one tetrahedron has, shape (t, 3), in the mesh's numbering.

    Refuses faces with more than two owners, tetrahedra that overlap, and meshes that fall apart.
    """
    faces = tetrahedra[:, FACES].reshape(-1, 3).astype(np.int64)
    ordered = np.sort(faces, axis=1)
    key = (ordered[:, 0] * vertex_count + ordered[:, 1]) * vertex_count + ordered[:, 2]
    _, first, face, uses = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    if (uses > 2).any():
        row = int(np.argmax(uses > 2))
        raise SceneError(
            f"TetMesh: face {faces[first[row]].tolist()} is shared by {uses[row]} tetrahedra, at "
            "most two can meet at a face; remove repeated or overlapping tetrahedra"
        )
    # The two owners of a face see it from opposite sides: odd and even permutations cancel.
    a, b, c = faces.T
    turn = np.where((a < b) ^ (b < c) ^ (c < a), 1, -1)
    lost = (np.bincount(face, weights=turn) != 0) & (uses == 2)
    if lost.any():
        row = int(np.argmax(lost))
        raise SceneError(
            f"TetMesh: two tetrahedra lie on the same side of face {faces[first[row]].tolist()}; "
            "remove repeated or overlapping tetrahedra"
        )
    _check_joined(face, uses, len(tetrahedra))
    outer: LongArray = faces[uses[face] == 1]
    return outer


def _check_joined(face: LongArray, uses: LongArray, count: int) -> None:
    """Refuse a mesh of several pieces; `face` is the face number of each tetrahedron's faces."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    inner = np.flatnonzero(uses[face] == 2)
    owners = inner[np.argsort(face[inner], kind="stable")] // len(FACES)
    left, right = owners[::2], owners[1::2]
    graph = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(count, count))
    pieces, label = connected_components(graph, directed=False)
    if pieces > 1:
        sizes = np.sort(np.bincount(label))[::-1]
        raise SceneError(
            f"TetMesh: {pieces} pieces that share no face, the largest of {sizes[0]} tetrahedra, "
            f"the smallest of {sizes[-1]}; give each as a body of its own, or join them"
        )
