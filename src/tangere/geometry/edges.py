"""Edges of a triangle mesh: which half edges lie on one edge, and which edges are open.

Half edge h = 3 f + i runs from corner i of face f to the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from tangere.maths.vec import Array, IntArray, LongArray


class Edges(NamedTuple):
    """The edges of a mesh.

    | field | meaning                             | shape   |
    | tail  | first vertex of every half edge     | (3 t,)  |
    | head  | its second vertex                   | (3 t,)  |
    | edge  | number of its edge                  | (3 t,)  |
    | uses  | how many half edges lie on an edge  | (e,)    |
    | keys  | lower vertex · n + higher one of    | (e,)    |
    |       | every edge, ascending               |         |
    """

    tail: LongArray
    head: LongArray
    edge: LongArray
    uses: LongArray
    keys: LongArray

    def open_half_edges(self) -> LongArray:
        """Half edges alone on their edge."""
        return np.flatnonzero(self.uses[self.edge] == 1)

    def half_edges(self, which: Any) -> LongArray:
        """Ends of some half edges, shape (n, 2)."""
        return np.column_stack((self.tail[which], self.head[which]))

    def odd(self) -> int:
        """Edges on an odd number of faces: none in a closed surface."""
        return int((self.uses % 2).sum())


def edges_of(faces: IntArray, vertex_count: int) -> Edges:
    """The edges of triangles whose corners are vertices 0 … `vertex_count` − 1."""
    tail = faces.ravel().astype(np.int64)
    head = np.roll(faces, -1, axis=1).ravel().astype(np.int64)
    key = np.minimum(tail, head) * vertex_count + np.maximum(tail, head)
    keys, edge, uses = np.unique(key, return_inverse=True, return_counts=True)
    return Edges(tail, head, edge, uses, keys)


def used_vertices(faces: IntArray | LongArray, vertex_count: int) -> LongArray:
    """Vertices that are a corner of some face, in order."""
    used = np.zeros(vertex_count, dtype=bool)
    used[faces.ravel()] = True
    return np.flatnonzero(used)


def face_keys(faces: IntArray, edges: Edges, vertex_count: int) -> LongArray:
    """One number for each set of three corners: the lowest of them and the edge across."""
    lowest = faces.argmin(axis=1)
    rows = np.arange(len(faces))
    across = edges.edge.reshape(-1, 3)[rows, (lowest + 1) % 3]
    keys: LongArray = across * vertex_count + faces[rows, lowest]
    return keys


def groups(a: LongArray, b: LongArray, count: int) -> LongArray:
    """Labels 0, 1, … of what is connected among `count` nodes by links a[i] – b[i]."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(count, count))
    _, label = connected_components(links, directed=False)
    return np.asarray(label, dtype=np.int64)


def pieces_of(faces: IntArray, edges: Edges) -> LongArray:
    """For each face the label of the piece it belongs to: faces joined by edges."""
    order = np.argsort(edges.edge, kind="stable")
    same = edges.edge[order[1:]] == edges.edge[order[:-1]]
    a, b = order[:-1][same] // 3, order[1:][same] // 3
    return groups(a, b, len(faces))


def area_vectors(points: Array, faces: IntArray) -> Array:
    """Twice the vector area of each triangle [m²], shape (t, 3)."""
    p, q, r = (points[faces[:, i]] for i in range(3))
    doubled: Array = np.cross(q - p, r - p)
    return doubled


def tetrahedra(points: Array, faces: IntArray, origin: Array) -> Array:
    """Six times the signed volume between triangles and an origin, one or one for each [m³]."""
    p, q, r = (points[faces[:, i]] - origin for i in range(3))
    sixfold: Array = np.einsum("ij,ij->i", p, np.cross(q, r))
    return sixfold


def boxes(points: Array, faces: IntArray, label: LongArray) -> tuple[Array, Array]:
    """Corners of the bounding box of the faces of each label 0, 1, … [m]; none may be missing."""
    order = np.argsort(label, kind="stable")
    start = np.flatnonzero(np.concatenate(([True], np.diff(label[order]) != 0)))
    ends = []
    for choose in (np.minimum, np.maximum):
        columns = []
        for axis in range(3):
            x = points[:, axis]
            each = choose(choose(x[faces[:, 0]], x[faces[:, 1]]), x[faces[:, 2]])
            columns.append(choose.reduceat(each[order], start))
        ends.append(np.column_stack(columns))
    return ends[0], ends[1]


def diagonal(points: Array) -> float:
    """Of the bounding box [m]."""
    return float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0
