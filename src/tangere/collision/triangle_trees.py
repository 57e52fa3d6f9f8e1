"""Closed triangle meshes in trees of boxes, and the exact signed distance of points to them.

The trees are balanced: sorted across the longest side of its box, each part is cut in the middle,
so that node k has the children 2k + 1 and 2k + 2 and nothing but boxes is stored. A shape may have
several closed parts that overlap; it is their union, and its distance the least of theirs, as in a
distance field.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off, ptr
from tangere.collision.closed_surface import (
    bodies_of,
    corner,
    edge_numbers,
    nearest_on_triangle,
    surface_of,
)
from tangere.geometry.mesh import checked_mesh
from tangere.maths.vec import Array, IntArray, LongArray, Vec3, axpy, dot, norm, scale

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LEAF = 4  # things in a leaf, at most
# Nodes waiting in a descent: one a level, and the next; 30 levels are 2³² triangles.
STACK = 32
# Nearer than this to the surface, relative to the largest coordinate, two points tell no direction.
TOUCHING = 1e-12
# Edges are ridges when their faces fall away by more than this [rad], as a sine.
FLAT = 1e-5
# How far a common normal may be outside the normals of a ridge [rad].
CONE = 0.01
# Vertices and edges deeper than this share of the size in another part of their body are not there.
BURIED = 1e-9

NBOX = 6  # lower, upper corner [m]
# Columns of a vertex
VERTEX = 0  # 3: [m]
FAN_FIRST, FAN_LAST = 3, 4  # its triangles in `fans`
NVERTEX = 5
# Columns of an edge between faces with outward normals m₁ and m₂
TAIL = 0  # 3: [m]
HEAD = 3  # 3: [m]
FACE_1 = 6  # 3: m₁
FACE_2 = 9  # 3: m₂
SHARE_1 = 12  # area of the first face that the edge stands for [m²]
SHARE_2 = 13
LENGTH = 14  # [m]
NEDGE = 15
# Columns of a part and of a shape
TREE_FIRST, TREE_COUNT, TREE_NODE, TREE_LEVELS = 0, 1, 2, 3  # first thing, number, root, depth
NTREE = 4
PARTS, VERTICES, EDGES = 0, 4, 8  # of a shape: a range of parts, and two trees
NSHAPE = 12

# Share of a triangle's area: its three vertices have half of it, its three edges the other half.
PER_FEATURE = 1.0 / 6.0


class Triangles(NamedTuple):
    """Meshes of several shapes, one after the other, each in its own frame.

    | field    | meaning                                                       | shape            |
    | corners  | of each triangle, in the order of the trees [m]               | (t, 9)           |
    | normals  | of face, edges 01 12 20 and vertices 0 1 2, not all of unit   | (t, 21)          |
    |          | length                                                        |                  |
    | boxes    | of all trees, NBOX each                                       | (n, 6)           |
    | parts    | TREE_… of the triangles of each closed part                   | (p, 4) int64     |
    | vertices | VERTEX, FAN_…                                                 | (v, NVERTEX)     |
    | fans     | area times unit normal that a vertex stands for, one row for  | (f, 3)           |
    |          | each triangle at it [m²]                                      |                  |
    | edges    | ridges: TAIL, HEAD, …                                         | (e, NEDGE)       |
    | longest  | edge below each node of a tree of edges, else 0 [m]           | (n,)             |
    | shapes   | first part and number of parts; TREE_… of vertices and edges  | (s, NSHAPE)      |
    """

    corners: Array
    normals: Array
    boxes: Array
    parts: LongArray
    vertices: Array
    fans: Array
    edges: Array
    longest: Array
    shapes: LongArray


# ------------------------------------------------ building


def build_triangles(
    meshes: Sequence[tuple[ArrayLike, ArrayLike]], names: Sequence[str] | None = None
) -> Triangles:
    """Trees of meshes, each (vertices (n, 3) [m], triangles (t, 3)) of a closed outward surface.

    Args:
        meshes: One for each shape.
        names: Of the shapes, for errors.

    Raises:
        SceneError: A surface is open or encloses nothing.
    """
    built = _Columns()
    for i, (vertices, triangles) in enumerate(meshes):
        name = names[i] if names is not None else f"mesh {i}"
        points, faces = checked_mesh(vertices, triangles, name)
        solids = bodies_of(points, faces)
        first = len(built.parts)
        for solid in solids:
            built.add_part(points, solid)
        parts = built.parts[first:]
        row = np.zeros(NSHAPE, dtype=np.int64)
        row[PARTS : PARTS + 2] = first, len(parts)
        features = [_features(points, solid) for solid in solids]
        if len(solids) > 1:
            alone = built.gathered(np.array([[*row]]))
            size = float(np.ptp(points, axis=0).max())
            features = [_exposed(f, alone, i, BURIED * size) for i, f in enumerate(features)]
        row[VERTICES : VERTICES + NTREE] = built.add_vertices(features)
        row[EDGES : EDGES + NTREE] = built.add_edges([edges for _, _, edges in features])
        built.shapes.append(row)
    return built.gathered(np.array(built.shapes))


class _Columns:
    """The arrays of `Triangles` while they grow."""

    def __init__(self) -> None:
        self.corners: list[Array] = [np.zeros((0, 9))]
        self.normals: list[Array] = [np.zeros((0, 21))]
        self.boxes: list[Array] = [np.zeros((0, NBOX))]
        self.longest: list[Array] = [np.zeros(0)]
        self.parts: list[LongArray] = []
        self.vertices: list[Array] = [np.zeros((0, NVERTEX))]
        self.fans: list[Array] = [np.zeros((0, 3))]
        self.edges: list[Array] = [np.zeros((0, NEDGE))]
        self.shapes: list[LongArray] = []

    def add_part(self, points: Array, faces: IntArray) -> None:
        """A closed surface: its triangles and their tree."""
        surface = surface_of(points, faces)
        low, high = surface.corners.min(axis=1), surface.corners.max(axis=1)
        order, levels = _halves(surface.corners.mean(axis=1))
        at = (_count(self.corners), len(faces), self._tree(low[order], high[order], levels), levels)
        self.parts.append(np.array(at, dtype=np.int64))
        self.corners.append(surface.corners[order].reshape(-1, 9))
        self.normals.append(surface.normals[order].reshape(-1, 21))

    def add_vertices(self, features: list[tuple[Array, Array, Array]]) -> LongArray:
        """Vertices of all parts of a shape, their fans and one tree."""
        shift, rows = _count(self.fans), []
        for vertices, fans, _ in features:
            rows.append(vertices + np.array([0.0, 0.0, 0.0, shift, shift]))
            self.fans.append(fans)
            shift += len(fans)
        vertices = np.concatenate(rows)
        places = vertices[:, VERTEX : VERTEX + 3]
        order, levels = _halves(places)
        at = _count(self.vertices), len(order), self._tree(places[order], places[order], levels)
        self.vertices.append(vertices[order])
        return np.array([*at, levels], dtype=np.int64)

    def add_edges(self, features: list[Array]) -> LongArray:
        """Ridges of all parts of a shape in one tree; a smooth shape may have none."""
        edges = np.concatenate(features)
        tail, head = edges[:, TAIL : TAIL + 3], edges[:, HEAD : HEAD + 3]
        order, levels = _halves(0.5 * (tail + head))
        low, high = np.minimum(tail, head)[order], np.maximum(tail, head)[order]
        length = edges[order, LENGTH]
        at = _count(self.edges), len(order), self._tree(low, high, levels, length)
        self.edges.append(edges[order])
        return np.array([*at, levels], dtype=np.int64)

    def gathered(self, shapes: LongArray) -> Triangles:
        """Everything so far."""
        return Triangles(
            np.concatenate(self.corners),
            np.concatenate(self.normals),
            np.concatenate(self.boxes),
            np.array(self.parts),
            np.concatenate(self.vertices),
            np.concatenate(self.fans),
            np.concatenate(self.edges),
            np.concatenate(self.longest),
            shapes,
        )

    def _tree(self, low: Array, high: Array, levels: int, length: Array | None = None) -> int:
        """Boxes of things in the order of their tree; returns the root."""
        root = _count(self.boxes)
        if len(low) == 0:
            return root
        for level in range(levels + 1):
            starts = _starts(len(low), level)[:-1]
            box = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
            self.boxes.append(np.concatenate(box, axis=1))
            none = np.zeros(len(starts))
            self.longest.append(none if length is None else np.maximum.reduceat(length, starts))
        return root


def _count(arrays: list[Array]) -> int:
    return sum(len(a) for a in arrays)


def _starts(count: int, level: int) -> LongArray:
    """First thing of each node of a level, and the number of things at the end."""
    return (np.arange((1 << level) + 1, dtype=np.int64) * count) >> level


def _halves(places: Array) -> tuple[LongArray, int]:
    """Order of things in a balanced tree, and its depth: halves across the longest side."""
    count = len(places)
    levels = int(np.ceil(np.log2(max(count / LEAF, 1.0))))
    order = np.arange(count)
    for level in range(levels):
        starts = _starts(count, level)
        here = places[order]
        extent = np.maximum.reduceat(here, starts[:-1]) - np.minimum.reduceat(here, starts[:-1])
        node = np.repeat(np.arange(1 << level), np.diff(starts))
        along = here[np.arange(count), np.argmax(extent, axis=1)[node]]
        order = order[np.lexsort((along, node))]
    return order, levels


def _features(points: Array, faces: IntArray) -> tuple[Array, Array, Array]:
    """Vertices with their fans, and ridges, of one closed surface."""
    corners = points[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    twice = np.linalg.norm(across, axis=1)
    face = across / np.maximum(twice, 1e-300)[:, None]
    flat = faces.ravel()
    around = np.argsort(flat, kind="stable")
    used, first, count = np.unique(flat[around], return_index=True, return_counts=True)
    fans = 0.5 * PER_FEATURE * across[around // 3]
    vertices = np.column_stack((points[used], first, first + count))
    number = edge_numbers(faces, len(points)).ravel()
    order = np.argsort(number, kind="stable")
    one, two = order[0::2], order[1::2]  # where parts touch an edge has four faces: pairs
    ends = np.roll(faces, -1, axis=1).ravel()
    tail, head = points[flat[one]], points[ends[one]]
    third = points[np.roll(faces, -2, axis=1).ravel()[two]]
    way = third - tail
    below = np.einsum("ij,ij->i", face[one // 3], way)
    ridge = below < -FLAT * np.linalg.norm(way, axis=1)
    one, two, tail, head = one[ridge] // 3, two[ridge] // 3, tail[ridge], head[ridge]
    share = 0.5 * PER_FEATURE * twice
    length = np.linalg.norm(head - tail, axis=1)
    edges = np.column_stack((tail, head, face[one], face[two], share[one], share[two], length))
    return vertices, fans, edges


def _exposed(
    features: tuple[Array, Array, Array], whole: Triangles, own: int, depth: float
) -> tuple[Array, Array, Array]:
    """Features of one part without those that lie inside another part."""
    vertices, fans, edges = features
    middle = 0.5 * (edges[:, TAIL : TAIL + 3] + edges[:, HEAD : HEAD + 3])
    shown = []
    for places in (vertices[:, VERTEX : VERTEX + 3], middle):
        values = np.empty(len(places))
        _depth_in_others(whole, own, np.ascontiguousarray(places), values)
        shown.append(values > -depth)
    return vertices[shown[0]], fans, edges[shown[1]]


# ------------------------------------------------ signed distance


def closest_signed_distance(
    mesh: tuple[ArrayLike, ArrayLike], points: ArrayLike
) -> tuple[Array, Array, Array]:
    """Exact signed distance of points to a closed mesh, negative inside.

    Args:
        mesh: Vertices [m] and triangles.
        points: [m], shape (n, 3).

    Returns:
        Distances [m], shape (n,), the nearest points of the surface [m] and the outward normals
        there, along the way between the two, shapes (n, 3).
    """
    return signed_distances(build_triangles([mesh]), 0, points)


def signed_distances(
    triangles: Triangles, shape: int, points: ArrayLike
) -> tuple[Array, Array, Array]:
    """The same for one of several shapes whose trees are there."""
    at = np.ascontiguousarray(points, dtype=np.float64).reshape(-1, 3)
    values, feet, normals = np.empty(len(at)), np.empty_like(at), np.empty_like(at)
    _distances(triangles, shape, at, values, feet, normals)
    return values, feet, normals


class Trees(NamedTuple):
    """`Triangles` as kernels pass them on."""

    corners: PtrF8
    normals: PtrF8
    boxes: PtrF8
    parts: PtrI8
    vertices: PtrF8
    fans: PtrF8
    edges: PtrF8
    longest: PtrF8
    shapes: PtrI8


@kernel
def trees_view(t: Triangles) -> Trees:
    """Pointers to everything."""
    return Trees(
        ptr(t.corners),
        ptr(t.normals),
        ptr(t.boxes),
        ptr(t.parts),
        ptr(t.vertices),
        ptr(t.fans),
        ptr(t.edges),
        ptr(t.longest),
        ptr(t.shapes),
    )


@kernel
def signed_distance(t: Trees, shape: int, x: Vec3, limit: float) -> tuple[float, Vec3]:
    """Signed distance of x to a shape [m] and the outward normal of its surface nearest to x.

    limit: no less than the distance is, to look at fewer triangles; infinity if unknown.
    """
    row = off(t.shapes, NSHAPE * shape)
    first, count = row[PARTS], row[PARTS + 1]
    best, n = distance_to_part(t, first, x, limit if count == 1 else inf)
    for part in range(first + 1, first + count):
        outside = sqrt(_box_distance2(off(t.boxes, NBOX * t.parts[NTREE * part + TREE_NODE]), x))
        if outside > 0.0 and outside >= best:
            continue
        value, other = distance_to_part(t, part, x, inf)
        if value < best:
            best, n = value, other
    return best, n


@kernel
def distance_to_part(t: Trees, part: int, x: Vec3, limit: float) -> tuple[float, Vec3]:
    """Signed distance of x to one closed part [m], and the outward normal nearest to x."""
    squared, found, feature, way = _nearest(t, part, x, limit * limit)
    if found < 0:  # the limit was rounded below the distance
        squared, found, feature, way = _nearest(t, part, x, inf)
    m = off(t.normals, 21 * found + 3 * feature)
    outward = (m[0], m[1], m[2])
    distance = sqrt(squared)
    if distance <= TOUCHING * max(abs(x[0]), abs(x[1]), abs(x[2])):
        return 0.0, scale(1.0 / norm(outward), outward)
    if dot(way, outward) >= 0.0:
        return distance, scale(1.0 / distance, way)
    return -distance, scale(-1.0 / distance, way)


@kernel
def _nearest(t: Trees, part: int, x: Vec3, limit2: float) -> tuple[float, int, int, Vec3]:
    """Squared distance, triangle, feature and way to x of what is nearest; −1: beyond the limit.

    The nearer child first; what is further than the best so far is left out.
    """
    tree = off(t.parts, NTREE * part)
    boxes, levels = off(t.boxes, NBOX * tree[TREE_NODE]), tree[TREE_LEVELS]
    nodes, nears = local_i8(STACK), local_f8(STACK)
    best, found, feature, way = limit2, -1, 0, (0.0, 0.0, 0.0)
    nodes[0], nears[0] = 0, 0.0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node, near = nodes[waiting], nears[waiting]
        level = level_of(node)
        while level < levels and near <= best:
            node = 2 * node + 1
            near = _box_distance2(off(boxes, NBOX * node), x)
            other = _box_distance2(off(boxes, NBOX * (node + 1)), x)
            nodes[waiting], nears[waiting] = node + 1, other
            if other < near:
                nodes[waiting], nears[waiting] = node, near
                node, near = node + 1, other
            waiting += 1
            level += 1
        if near > best:
            continue
        begin, end = node_range(node, level, tree[TREE_COUNT])
        for i in range(tree[TREE_FIRST] + begin, tree[TREE_FIRST] + end):
            squared, what, to_x = nearest_on_triangle(
                x, corner(t.corners, i, 0), corner(t.corners, i, 1), corner(t.corners, i, 2)
            )
            if squared < best or (found < 0 and squared <= best):
                best, found, feature, way = squared, i, what, to_x
    return best, found, feature, way


@kernel
def level_of(node: int) -> int:
    """Level of a node of a balanced tree, 0 for the root."""
    level, k = 0, node + 1
    while k > 1:
        k >>= 1
        level += 1
    return level


@kernel
def node_range(node: int, level: int, count: int) -> tuple[int, int]:
    """First thing of a node and the one after its last."""
    i = node + 1 - (1 << level)
    return (i * count) >> level, ((i + 1) * count) >> level


@kernel
def _box_distance2(box: PtrF8, x: Vec3) -> float:
    """Square of the distance from a point to a box, zero inside [m²]."""
    p = max(box[0] - x[0], x[0] - box[3], 0.0)
    q = max(box[1] - x[1], x[1] - box[4], 0.0)
    r = max(box[2] - x[2], x[2] - box[5], 0.0)
    return float(p * p + q * q + r * r)


@kernel
def _distances(
    t: Triangles, shape: int, at: Array, values_out: Array, feet_out: Array, normals_out: Array
) -> None:
    """Signed distances of many points to one shape."""
    trees = trees_view(t)
    for i in range(at.shape[0]):
        x = (at[i, 0], at[i, 1], at[i, 2])
        value, n = signed_distance(trees, shape, x, inf)
        foot = axpy(-value, n, x)
        values_out[i] = value
        for k in range(3):
            feet_out[i, k] = foot[k]
            normals_out[i, k] = n[k]


@kernel
def _depth_in_others(t: Triangles, own: int, at: Array, values_out: Array) -> None:
    """Least signed distance of points to the parts of the last shape but `own`."""
    trees = trees_view(t)
    last = t.shapes.shape[0] - 1
    first, count = t.shapes[last, PARTS], t.shapes[last, PARTS + 1]
    for i in range(at.shape[0]):
        x = (at[i, 0], at[i, 1], at[i, 2])
        least = inf
        for part in range(first, first + count):
            if part != first + own:
                value, _ = distance_to_part(trees, part, x, inf)
                least = min(least, value)
        values_out[i] = least


@kernel
def seen_share(t: Trees, vertex: int, n: Vec3) -> float:
    """Area that a vertex stands for, as seen along −n: Σ max(0, a·n) over its triangles [m²]."""
    v = off(t.vertices, NVERTEX * vertex)
    total = 0.0
    for i in range(int(v[FAN_FIRST]), int(v[FAN_LAST])):
        a = off(t.fans, 3 * i)
        total += max(0.0, a[0] * n[0] + a[1] * n[1] + a[2] * n[2])
    return total


@kernel
def edge_ends(t: Trees, edge: int) -> tuple[Vec3, Vec3]:
    """Both ends of an edge [m]."""
    e = off(t.edges, NEDGE * edge)
    return (e[TAIL], e[TAIL + 1], e[TAIL + 2]), (e[HEAD], e[HEAD + 1], e[HEAD + 2])


@kernel
def edge_share(e: PtrF8, n: Vec3) -> float:
    """Area that a ridge stands for, as seen along −n [m²]; n is across the edge.

    Both faces must fall away from the plane across n. Where one does not, by an angle up to CONE,
    the area fades: flat faces on one another cross in edges whose common normal is at the border.
    """
    m1, m2 = (e[FACE_1], e[FACE_1 + 1], e[FACE_1 + 2]), (e[FACE_2], e[FACE_2 + 1], e[FACE_2 + 2])
    a, b, c = dot(n, m1), dot(n, m2), dot(m1, m2)
    sine = sqrt(max(1.0 - c * c, FLAT * FLAT))
    falls = min(a - c * b, b - c * a) / sine
    fade = min(1.0, 1.0 + falls / CONE)
    return float(max(0.0, fade) * (e[SHARE_1] * max(0.0, a) + e[SHARE_2] * max(0.0, b)))
