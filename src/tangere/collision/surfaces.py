"""Triangle surfaces that may deform: arrays, adjacency, and a bounding volume hierarchy of each.

All surfaces of a scene stand in one set of arrays, soft ones first, so that the number of a vertex
is the number of its elastic node. A rigid surface is one whose displacements stay zero. A surface
may be open: the contact patch of a closed one.

The hierarchy of a surface is a binary tree of axis-parallel boxes over its triangles at rest. Its
topology is fixed; `refit` brings the boxes up to date from the leaves. Nodes stand in depth-first
order: the left child of an inner node follows it, and children come after their parents.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import acos, inf, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.errors import SceneError
from tangere.geometry.checks import show
from tangere.maths.vec import Array, IntArray, LongArray, Vec3, add, cross, dot, norm, scale, sub

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LEAF = 4  # triangles of a leaf, at most
# Nodes that a walk through a tree has yet to visit: one a level. Halves of 2³¹ triangles.
STACK = 32
# Twice the area of a triangle at rest, as part of its longest edge squared: below, it is a needle
# whose normal is rounding.
NEEDLE = 1e-10


class Surfaces(NamedTuple):
    """All surfaces of a scene: s of them with v vertices, t triangles, e edges and n nodes.

    | field          | meaning                                                       | shape    |
    | body           | row of the body that a surface belongs to                     | (s,)     |
    | vertex_start   | first vertex of each surface, and their number at the end     | (s + 1,) |
    | triangle_start | first triangle, likewise                                      | (s + 1,) |
    | edge_start     | first edge, likewise                                          | (s + 1,) |
    | node_start     | first node of the tree, its root, likewise                    | (s + 1,) |
    | rest           | vertices at rest, in the frame of the body [m]                | (v, 3)   |
    | displacement   | their elastic displacement, in the frame of the body [m]      | (v, 3)   |
    | now            | where they are in the world [m]                               | (v, 3)   |
    | fan_start      | first entry in `fan` of each vertex, and its length           | (v + 1,) |
    | fan            | triangles around each vertex, ascending                       | (3t,)    |
    | at_boundary    | 1: the vertex is on the boundary of an open surface           | (v,)     |
    | triangles      | vertices of each, counter-clockwise seen from outside         | (t, 3)   |
    | triangle_edges | edges of each, from corner k to corner k + 1                  | (t, 3)   |
    | edges          | vertices of each, in the direction of its first triangle      | (e, 2)   |
    | edge_triangles | triangles of each, ascending; −1: a boundary edge has one     | (e, 2)   |
    | edge_opposite  | the third vertex of these triangles; −1 likewise              | (e, 2)   |
    | node_box       | lower and upper corner of the box of each node [m]            | (n, 6)   |
    | node_right     | right child; −1: a leaf                                       | (n,)     |
    | node_first     | first entry in `leaf_triangles` of each, and its length       | (n + 1,) |
    | node_vertex    | first entry in `leaf_vertices`, likewise                      | (n + 1,) |
    | node_edge      | first entry in `leaf_edges`, likewise                         | (n + 1,) |
    | leaf_triangles | triangles in the order of the leaves                          | (t,)     |
    | leaf_vertices  | vertices, each in the leaf of the first triangle that has it  | (≤ v,)   |
    | leaf_edges     | edges, likewise                                               | (e,)     |

    So a walk over the leaves meets every triangle, every vertex that has one, and every edge once.
    """

    body: IntArray
    vertex_start: IntArray
    triangle_start: IntArray
    edge_start: IntArray
    node_start: IntArray
    rest: Array
    displacement: Array
    now: Array
    fan_start: IntArray
    fan: IntArray
    at_boundary: IntArray
    triangles: IntArray
    triangle_edges: IntArray
    edges: IntArray
    edge_triangles: IntArray
    edge_opposite: IntArray
    node_box: Array
    node_right: IntArray
    node_first: IntArray
    node_vertex: IntArray
    node_edge: IntArray
    leaf_triangles: IntArray
    leaf_vertices: IntArray
    leaf_edges: IntArray


# ---------------------------------------------------------------- building


def build_surfaces(meshes: Sequence[tuple[int, ArrayLike, ArrayLike, bool]]) -> Surfaces:
    """Surfaces of (row of the body, vertices (v, 3) [m], triangles (t, 3), whether it is soft).

    Vertices that no triangle has are allowed: they are moved, and never touched. Boxes are those at
    rest.

    Raises:
        SceneError: A mesh is no oriented surface.
        ValueError: A rigid surface stands before a soft one, or there is none at all.
    """
    softness = [soft for *_, soft in meshes]
    if not softness or softness != sorted(softness, reverse=True):
        raise ValueError("give at least one surface, soft ones first: nodes are numbered like that")
    parts = [_one_surface(body, x, t, f"surface {k}") for k, (body, x, t, _) in enumerate(meshes)]
    starts = {
        name: _int32(np.cumsum([0, *(getattr(part, name)[1] for part in parts)]))
        for name in ("vertex_start", "triangle_start", "edge_start", "node_start")
    }
    vertex, triangle, edge, node = starts.values()
    used = _int32(np.cumsum([0, *(len(part.leaf_vertices) for part in parts)]))

    def joined(field: str, start: IntArray | None = None) -> Any:
        """One field of all parts, its numbers counted on from surface to surface; −1 stays."""
        each = [getattr(part, field) for part in parts]
        if start is not None:
            each = [np.where(x < 0, -1, x + y) for x, y in zip(each, start[:-1], strict=True)]
        return np.ascontiguousarray(np.concatenate(each))

    return Surfaces(
        body=joined("body"),
        **starts,
        rest=joined("rest"),
        displacement=joined("displacement"),
        now=joined("now"),
        fan_start=_int32([*joined("fan_start", 3 * triangle), 3 * triangle[-1]]),
        fan=joined("fan", triangle),
        at_boundary=joined("at_boundary"),
        triangles=joined("triangles", vertex),
        triangle_edges=joined("triangle_edges", edge),
        edges=joined("edges", vertex),
        edge_triangles=joined("edge_triangles", triangle),
        edge_opposite=joined("edge_opposite", vertex),
        node_box=joined("node_box"),
        node_right=joined("node_right", node),
        node_first=_int32([*joined("node_first", triangle), triangle[-1]]),
        node_vertex=_int32([*joined("node_vertex", used), used[-1]]),
        node_edge=_int32([*joined("node_edge", edge), edge[-1]]),
        leaf_triangles=joined("leaf_triangles", triangle),
        leaf_vertices=joined("leaf_vertices", vertex),
        leaf_edges=joined("leaf_edges", edge),
    )


def _one_surface(body: int, vertices: ArrayLike, faces: ArrayLike, what: str) -> Surfaces:
    """One surface by itself; what has an entry more than nodes or vertices is without it."""
    x, t = _checked(vertices, faces, what)
    ends, beside, opposite, of_triangle = _edges(t, len(x), what)
    right, first, order, boxes = _tree(x, t)
    count = np.bincount(t.ravel(), minlength=len(x))
    fan, fan_start = np.argsort(t.ravel(), kind="stable") // 3, np.cumsum(count) - count
    used = np.flatnonzero(count)
    node_vertex, leaf_vertices = _by_leaf(used, fan[fan_start[used]], right, first, order)
    node_edge, leaf_edges = _by_leaf(np.arange(len(ends)), beside[:, 0], right, first, order)
    open_ends = np.zeros(len(x), np.int32)
    open_ends[ends[beside[:, 1] < 0]] = 1
    return Surfaces(
        body=_int32([body]),
        vertex_start=_int32([0, len(x)]),
        triangle_start=_int32([0, len(t)]),
        edge_start=_int32([0, len(ends)]),
        node_start=_int32([0, len(right)]),
        rest=x,
        displacement=np.zeros_like(x),
        now=x.copy(),
        fan_start=_int32(fan_start),
        fan=_int32(fan),
        at_boundary=open_ends,
        triangles=t,
        triangle_edges=of_triangle,
        edges=ends,
        edge_triangles=beside,
        edge_opposite=opposite,
        node_box=boxes,
        node_right=right,
        node_first=first,
        node_vertex=node_vertex,
        node_edge=node_edge,
        leaf_triangles=order,
        leaf_vertices=leaf_vertices,
        leaf_edges=leaf_edges,
    )


def _int32(values: ArrayLike) -> IntArray:
    return np.ascontiguousarray(values, np.int32)


def _checked(vertices: ArrayLike, faces: ArrayLike, what: str) -> tuple[Array, IntArray]:
    """Vertices and triangles, if there are any and every triangle has an area."""
    x, t = np.array(vertices, float), np.array(faces)
    if x.ndim != 2 or x.shape[1] != 3 or not np.isfinite(x).all():
        raise SceneError(f"{what}: vertices must be finite numbers of shape (v, 3), got {show(x)}")
    if t.ndim != 2 or t.shape[1] != 3 or t.dtype.kind not in "iu" or len(t) == 0:
        raise SceneError(
            f"{what}: triangles must be whole numbers of shape (t, 3), t > 0, got {show(t)}"
        )
    outside = ((t < 0) | (t >= len(x))).any(axis=1)
    if outside.any():
        row = int(np.argmax(outside))
        raise SceneError(
            f"{what}: triangle {row} is {show(t[row].tolist())}, but vertices are numbered 0 to "
            f"{len(x) - 1}"
        )
    sides = x[np.roll(t, -1, axis=1)] - x[t]
    area2 = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    flat = area2 <= NEEDLE * (sides**2).sum(axis=2).max(axis=1)
    if flat.any():
        row = int(np.argmax(flat))
        raise SceneError(
            f"{what}: triangle {row} ({show(t[row].tolist())}) has no area; remove such triangles"
        )
    return x, t.astype(np.int32)


def _edges(t: IntArray, count: int, what: str) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Vertices, triangles and opposite vertices of every edge, and the edges of every triangle.

    Edges are numbered by their vertices, whatever the order of the triangles.
    """
    tail, head = t.ravel().astype(np.int64), np.roll(t, -1, axis=1).ravel().astype(np.int64)
    third = np.roll(t, -2, axis=1).ravel()
    name = np.minimum(tail, head) * count + np.maximum(tail, head)
    _, edge, times = np.unique(name, return_inverse=True, return_counts=True)
    # half edges by edge, those of lower triangles first
    halves = np.argsort(edge, kind="stable")
    start = np.cumsum(times) - times
    one = halves[start]
    two = np.where(times > 1, halves[np.minimum(start + 1, len(halves) - 1)], -1)
    if (times > 2).any():
        h = one[np.argmax(times > 2)]
        raise SceneError(
            f"{what}: edge {tail[h]}-{head[h]} has more than two triangles; split the surface there"
        )
    same_way = (two >= 0) & (tail[one] == tail[two])
    if same_way.any():
        h = one[np.argmax(same_way)]
        raise SceneError(
            f"{what}: the triangles at edge {tail[h]}-{head[h]} disagree on what is outside; "
            "orient all of them counter-clockwise seen from there"
        )
    ends = np.column_stack((tail[one], head[one])).astype(np.int32)
    beside = np.column_stack((one // 3, np.where(two < 0, -1, two // 3))).astype(np.int32)
    opposite = np.column_stack((third[one], np.where(two < 0, -1, third[two]))).astype(np.int32)
    return ends, beside, opposite, edge.reshape(-1, 3).astype(np.int32)


def _tree(x: Array, t: IntArray) -> tuple[IntArray, IntArray, IntArray, Array]:
    """Right child and first leaf entry of every node, triangles in the order of leaves, boxes.

    Each box is cut at the median of the centroids along the axis that leaves the least area of both
    halves: walls of a thin body come apart before their boxes are as small as they are thick.
    """
    corners = x[t]
    centres = corners.mean(axis=1)
    order = np.arange(len(t))
    right: list[int] = []
    first: list[int] = []
    boxes: list[Array] = []
    pending = [(0, len(t), -1)]  # first entry, end, node whose right child it is
    while pending:
        begin, end, parent = pending.pop()
        node = len(right)
        if parent >= 0:
            right[parent] = node
        right.append(-1)
        first.append(begin)
        part = order[begin:end]
        places = corners[part].reshape(-1, 3)
        boxes.append(np.concatenate((places.min(axis=0), places.max(axis=0))))
        if end - begin <= LEAF:
            continue
        middle = (begin + end) // 2
        cuts = [part[np.argsort(centres[part, axis], kind="stable")] for axis in range(3)]
        half = middle - begin
        areas = [_area(corners[cut[:half]]) + _area(corners[cut[half:]]) for cut in cuts]
        order[begin:end] = cuts[int(np.argmin(areas))]
        pending.append((middle, end, node))
        pending.append((begin, middle, -1))
    return _int32(right), _int32(first), _int32(order), np.array(boxes)


def _area(corners: Array) -> float:
    """Half the surface of the box around triangles [m²]."""
    a, b, c = np.ptp(corners.reshape(-1, 3), axis=0)
    return float(a * b + b * c + c * a)


def _by_leaf(
    things: LongArray, owner: NDArray[np.integer], right: IntArray, first: IntArray, order: IntArray
) -> tuple[IntArray, IntArray]:
    """First entry of every node, and things in the order of the leaves that hold their triangles.

    things: numbers of vertices or edges; owner: a triangle of each.
    """
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    leaves = np.flatnonzero(right < 0)
    # leaves stand in the order of their entries
    leaf = np.searchsorted(first[leaves], place[owner], side="right") - 1
    count = np.zeros(len(right), np.int64)
    count[leaves] = np.bincount(leaf, minlength=len(leaves))
    return _int32(np.cumsum(count) - count), _int32(things[np.argsort(leaf, kind="stable")])


# ---------------------------------------------------------------- motion


@kernel
def move_surface(s: Surfaces, k: int, x: PtrF8, r: PtrF8) -> None:
    """Put the vertices of surface k where its body is: now = x + R (rest + displacement)."""
    x0, x1, x2 = x[0], x[1], x[2]
    r0, r1, r2, r3, r4, r5, r6, r7, r8 = r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]
    for v in range(s.vertex_start[k], s.vertex_start[k + 1]):
        p, u, now = off(s.rest, 3 * v), off(s.displacement, 3 * v), off(s.now, 3 * v)
        a, b, c = p[0] + u[0], p[1] + u[1], p[2] + u[2]
        now[0] = x0 + r0 * a + r1 * b + r2 * c
        now[1] = x1 + r3 * a + r4 * b + r5 * c
        now[2] = x2 + r6 * a + r7 * b + r8 * c


@kernel
def refit(s: Surfaces, k: int, margin: float) -> None:
    """Bring the boxes of surface k up to date, `margin` [m] wider on every side.

    They hold as long as no vertex moves further than the margin.
    """
    root = s.node_start[k]
    for node in range(s.node_start[k + 1] - 1, root - 1, -1):
        box = off(s.node_box, 6 * node)
        right = s.node_right[node]
        if right >= 0:
            a, b = off(s.node_box, 6 * (node + 1)), off(s.node_box, 6 * right)
            for i in range(3):
                box[i] = min(a[i], b[i])
                box[3 + i] = max(a[3 + i], b[3 + i])
            continue
        low0, low1, low2 = inf, inf, inf
        high0, high1, high2 = -inf, -inf, -inf
        for at in range(3 * s.node_first[node], 3 * s.node_first[node + 1]):
            x = off(s.now, 3 * s.triangles[3 * s.leaf_triangles[at // 3] + at % 3])
            low0, low1, low2 = min(low0, x[0]), min(low1, x[1]), min(low2, x[2])
            high0, high1, high2 = max(high0, x[0]), max(high1, x[1]), max(high2, x[2])
        box[0], box[1], box[2] = low0 - margin, low1 - margin, low2 - margin
        box[3], box[4], box[5] = high0 + margin, high1 + margin, high2 + margin


@kernel
def surface_box(s: Surfaces, k: int) -> PtrF8:
    """Box of surface k as `refit` left it: lower and upper corner [m]."""
    return off(s.node_box, 6 * s.node_start[k])


# ---------------------------------------------------------------- places and normals


@kernel
def vertex_at(s: Surfaces, v: int) -> Vec3:
    """Where vertex v is [m]."""
    x = off(s.now, 3 * v)
    return (x[0], x[1], x[2])


@kernel
def corners(s: Surfaces, t: int) -> tuple[Vec3, Vec3, Vec3]:
    """Where the corners of triangle t are [m]."""
    c = off(s.triangles, 3 * t)
    return vertex_at(s, c[0]), vertex_at(s, c[1]), vertex_at(s, c[2])


@kernel
def unit_or_zero(a: Vec3) -> Vec3:
    """A / |a|; zero where a has no length."""
    size = norm(a)
    return scale(1.0 / size, a) if size > 0.0 else (0.0, 0.0, 0.0)


@kernel
def triangle_normal(s: Surfaces, t: int) -> Vec3:
    """Unit normal of triangle t, outwards; zero for one that is squeezed to a line."""
    a, b, c = corners(s, t)
    return unit_or_zero(cross(sub(b, a), sub(c, a)))


@kernel
def edge_normal(s: Surfaces, e: int) -> Vec3:
    """Unit pseudonormal of edge e: the mean of its triangles' normals."""
    sides = off(s.edge_triangles, 2 * e)
    n = triangle_normal(s, sides[0])
    if sides[1] >= 0:
        n = add(n, triangle_normal(s, sides[1]))
    return unit_or_zero(n)


@kernel
def vertex_normal(s: Surfaces, v: int) -> Vec3:
    """Unit pseudonormal of vertex v: its triangles' normals, weighted by their angles there.

    A point whose closest point is v is outside a closed surface if it is on the side that this
    points to (Bærentzen and Aanæs 2005).
    """
    total = (0.0, 0.0, 0.0)
    for at in range(s.fan_start[v], s.fan_start[v + 1]):
        t = s.fan[at]
        c = off(s.triangles, 3 * t)
        k = 0 if c[0] == v else 1 if c[1] == v else 2
        x = vertex_at(s, v)
        p = sub(vertex_at(s, c[(k + 1) % 3]), x)
        q = sub(vertex_at(s, c[(k + 2) % 3]), x)
        n = cross(p, q)
        size = norm(n)
        if size > 0.0:
            cosine = dot(p, q) / sqrt(dot(p, p) * dot(q, q))
            angle = acos(min(1.0, max(-1.0, cosine)))
            total = add(total, scale(angle / size, n))
    return unit_or_zero(total)
