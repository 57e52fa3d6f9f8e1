"""Geometry for the eye alone: patches as polygons, crisp surfaces, lines, round scales.

The patch of two convex solids is the shadow of their overlap on the contact plane. Every corner of
the overlap lies on an edge of one solid inside the other (three planes meet there, two of them of
the same solid), so clipping the edges of each by the planes of the other finds them all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere.geometry.outline import plane_axes
from tangere.geometry.polyhedron import Polyhedron
from tangere.maths.vec import Array

DASHES = 3  # per polygon side of a slipping contact
# A clipped edge may miss the other solid by this part of its size: contacts overlap by micrometres.
SLACK = 1e-9
CREASE = np.cos(np.radians(40.0))  # neighbouring triangles flatter than this look smooth


class Edges(NamedTuple):
    """What clipping needs of one convex solid, in some frame."""

    start: Array
    """First end of every edge, shape (e, 3) [m]."""
    end: Array
    """Second end of every edge, shape (e, 3) [m]."""
    planes: Array
    """Outward unit normals and offsets, inside N·x <= d, shape (f, 4)."""

    def moved(self, rotation: Array, position: Array) -> Edges:
        """The same solid turned by a 3x3 matrix, then shifted [m]."""
        normals = self.planes[:, :3] @ rotation.T
        offsets = self.planes[:, 3] + normals @ position
        return Edges(
            self.start @ rotation.T + position,
            self.end @ rotation.T + position,
            np.column_stack((normals, offsets)),
        )


def edges_of(solid: Polyhedron) -> Edges:
    """Edges and planes of a convex polyhedron, in its own frame."""
    pairs: set[tuple[int, int]] = set()
    for first, last in zip(solid.loop_start[:-1], solid.loop_start[1:], strict=True):
        loop = [int(i) for i in solid.loops[first:last]]
        pairs.update((min(i, j), max(i, j)) for i, j in zip(loop, loop[1:] + loop[:1], strict=True))
    index = np.array(sorted(pairs))
    return Edges(solid.vertices[index[:, 0]], solid.vertices[index[:, 1]], solid.planes)


def half_space(normal: Array, height: float) -> Edges:
    """The solid below a floor: one plane and no edges."""
    none = np.empty((0, 3))
    return Edges(none, none, np.array([[*normal, height]]))


def overlap_corners(a: Edges, b: Edges) -> Array:
    """Corners of the overlap of two convex solids in one frame, shape (n, 3) [m], with repeats."""
    return np.concatenate((_clipped_ends(a, b.planes), _clipped_ends(b, a.planes)))


def _clipped_ends(solid: Edges, planes: Array) -> Array:
    """Both ends of what is left of each edge inside the planes."""
    if not len(solid.start):
        return np.empty((0, 3))
    normals, offsets = planes[:, :3].T, planes[:, 3]
    d0 = solid.start @ normals - offsets
    d1 = solid.end @ normals - offsets
    slack = SLACK * float(np.ptp(solid.start, axis=0).max())
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = d0 / (d0 - d1)
    enter = np.where((d0 > slack) & (d1 <= slack), crossing, 0.0).max(axis=1)
    leave = np.where((d1 > slack) & (d0 <= slack), crossing, 1.0).min(axis=1)
    inside = (enter <= leave) & ~((d0 > slack) & (d1 > slack)).any(axis=1)
    start, along = solid.start[inside], (solid.end - solid.start)[inside]
    return np.concatenate(
        (start + enter[inside, None] * along, start + leave[inside, None] * along)
    )


def crisp(vertices: Array, triangles: NDArray[np.integer]) -> tuple[Array, NDArray[np.uint32]]:
    """The surface with vertices doubled along sharp edges, so that smooth shading keeps them sharp.

    Corners of triangles that meet at a vertex share it only when they are joined through edges
    flatter than `CREASE`.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    tri = np.asarray(triangles, dtype=np.int64)
    p, q, r = (vertices[tri[:, i]] for i in range(3))
    normal = np.cross(q - p, r - p)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    # Every half edge: its two corners (3 t + i), sorted by vertex, and its triangle.
    here = np.arange(3 * len(tri))
    there = 3 * (here // 3) + (here + 1) % 3
    vertex = tri.ravel()
    swap = vertex[here] > vertex[there]
    low, high = np.where(swap, there, here), np.where(swap, here, there)
    order = np.lexsort((vertex[high], vertex[low]))
    low, high, owner = low[order], high[order], (here // 3)[order]
    same = (vertex[low][1:] == vertex[low][:-1]) & (vertex[high][1:] == vertex[high][:-1])
    flat = np.einsum("ij,ij->i", normal[owner[1:]], normal[owner[:-1]]) > CREASE
    join = np.flatnonzero(same & flat)
    rows = np.concatenate((low[join], high[join]))
    columns = np.concatenate((low[join + 1], high[join + 1]))
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(here), len(here)))
    count, group = connected_components(links, directed=False)
    source = np.zeros(count, dtype=np.int64)
    source[group] = vertex
    return vertices[source], group.reshape(-1, 3).astype(np.uint32)


def contains(vertices: Array, triangles: NDArray[np.integer], point: Array) -> bool:
    """Whether a closed surface goes round a point: its solid angle is then 4π.

    Of a triangle with corners a, b, c seen from the point:
    tan(Ω/2) = a·(b × c) / (abc + a·b c + b·c a + c·a b).
    """
    a, b, c = (np.asarray(vertices)[triangles[:, i]] - point for i in range(3))
    x, y, z = (np.linalg.norm(corner, axis=1) for corner in (a, b, c))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("ij,ij->i", p, q) for p, q in ((a, b), (b, c), (c, a)))
    angle = 2.0 * np.arctan2(volume, x * y * z + ab * z + bc * x + ca * y)
    return bool(abs(angle.sum()) > 2.0 * np.pi)


def fans(polygons: list[Array]) -> tuple[Any, Any]:
    """Convex polygons as one mesh: vertices and triangles."""
    vertices, faces, first = [], [], 0
    for polygon in polygons:
        k = np.arange(1, len(polygon) - 1)
        faces.append(np.column_stack((np.zeros_like(k), k, k + 1)) + first)
        vertices.append(polygon)
        first += len(polygon)
    return np.concatenate(vertices).astype(np.float32), np.concatenate(faces).astype(np.uint32)


def rim(polygon: Array, sticking: bool) -> Array:
    """Outline of a patch as segments (n, 2, 3): closed when sticking, dashed when slipping."""
    following = np.roll(polygon, -1, axis=0)
    if sticking:
        return np.stack((polygon, following), axis=1)
    along = (following - polygon) / (2 * DASHES)
    starts = [polygon + (2 * i) * along for i in range(DASHES)]
    return np.concatenate([np.stack((start, start + along), axis=1) for start in starts])


def zigzag(a: Array, b: Array, turns: int = 9, width: float = 0.05) -> Array:
    """A coil spring seen from the side, as segments (n, 2, 3)."""
    along = b - a
    length = float(np.linalg.norm(along))
    if length < 1e-9:
        return np.stack((a, b))[None]
    side, _ = plane_axes(along / length)
    place = np.linspace(0.0, 1.0, 2 * turns + 1)
    swing = np.where(np.arange(2 * turns + 1) % 2 == 0, 0.5, -0.5) * width
    swing[[0, -1]] = 0.0
    path = a + place[:, None] * along + swing[:, None] * side
    return np.stack((path[:-1], path[1:]), axis=1)


def linear(colours: Any) -> NDArray[np.uint8]:
    """The numbers that lines with a colour each need to be seen in these sRGB colours."""
    share = np.asarray(colours) / 255.0
    light = np.where(share > 0.04045, ((share + 0.055) / 1.055) ** 2.4, share / 12.92)
    return np.round(255.0 * light).astype(np.uint8)


def round_up(value: float) -> float:
    """The next of 1, 2, 5 times a power of ten, so that printed scales are round."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(
        next(m for m in (1.0, 2.0, 5.0, 10.0) if m * power >= (1.0 - 1e-9) * value) * power
    )
