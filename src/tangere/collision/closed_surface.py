"""Closed surfaces of triangles: pseudonormals, solids, thickness, the nearest point of a triangle.

What distance fields and sample points need to know of a mesh, in time that grows with the number of
triangles.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import PtrF8, ptr
from tangere.maths.vec import Array, IntArray, LongArray, Vec3, cross, dot, sub

# Share of the surface that may be thinner than the thickness found.
THIN_SHARE = 0.25
# Rays shot inwards times triangles tested when looking for the thickness; at least so many rays.
RAY_TESTS = 1_000_000
LEAST_RAYS = 64


class Surface(NamedTuple):
    """A closed surface with its pseudonormals.

    | field     | meaning                                            | shape            |
    | corners   | of each triangle [m]                               | (t, 3, 3)        |
    | normals   | of face, edges 01 12 20 and vertices 0 1 2         | (t, 7, 3)        |
    """

    corners: Array
    normals: Array


def surface_of(points: Array, faces: IntArray) -> Surface:
    """Corners and angle-weighted pseudonormals of a closed surface."""
    corners = points[faces]
    ahead = np.roll(corners, -1, axis=1) - corners
    face = np.cross(ahead[:, 0], ahead[:, 1])
    face /= np.maximum(np.linalg.norm(face, axis=1), 1e-300)[:, None]
    unit = ahead / np.maximum(np.linalg.norm(ahead, axis=2), 1e-300)[:, :, None]
    cosine = -np.einsum("tij,tij->ti", unit, np.roll(unit, 1, axis=1))
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    edge_of = edge_numbers(faces, len(points))
    at_edge = _sums(edge_of, np.ones_like(angle), face, int(edge_of.max()) + 1)
    at_vertex = _sums(faces, angle, face, len(points))
    normals = np.empty((len(faces), 7, 3))
    normals[:, 0], normals[:, 1:4], normals[:, 4:7] = face, at_edge[edge_of], at_vertex[faces]
    return Surface(np.ascontiguousarray(corners), normals)


def _sums(place: NDArray[np.integer[Any]], weight: Array, face: Array, count: int) -> Array:
    """Sums of weighted face normals at edges or vertices; place, weight: three of a triangle."""
    at = place.ravel()
    columns = [
        np.bincount(at, weights=(weight * face[:, k, None]).ravel(), minlength=count)
        for k in range(3)
    ]
    return np.stack(columns, axis=1)


def edge_numbers(faces: IntArray, vertex_count: int) -> LongArray:
    """Number of each edge 01, 12, 20 of the triangles, the same from both sides, shape (t, 3)."""
    tail = faces.astype(np.int64)
    head = np.roll(tail, -1, axis=1)
    code = np.minimum(tail, head) * vertex_count + np.maximum(tail, head)
    _, number = np.unique(code, return_inverse=True)
    return number.reshape(faces.shape)


def double_areas(points: Array, faces: IntArray) -> Array:
    """Twice the area of each triangle times its unit normal [m²], shape (t, 3)."""
    a, b, c = (points[faces[:, i]] for i in range(3))
    return np.asarray(np.cross(b - a, c - a))


def bodies_of(points: Array, faces: IntArray) -> list[IntArray]:
    """Triangles of each solid of a surface: an outward closed part with the cavities within it."""
    label = _components(points, faces)
    if not label.any():
        return [faces]
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    ordered = faces[order]
    corners = points[ordered]
    low = np.minimum.reduceat(corners.min(axis=1), starts)
    high = np.maximum.reduceat(corners.max(axis=1), starts)
    # Measured from the middle of each part, where the products lose the least.
    a, b, c = (corners[:, i] - (0.5 * (low + high))[label[order]] for i in range(3))
    volume = np.add.reduceat(np.einsum("ij,ij->i", a, np.cross(b, c)), starts)
    parts = np.split(ordered, starts[1:])
    solid = np.flatnonzero(volume > 0.0)
    members: dict[int, list[IntArray]] = {int(i): [parts[i]] for i in solid}
    size = (high - low).max(axis=1)
    for i in np.flatnonzero(volume <= 0.0):
        around = solid[(low[solid] <= low[i]).all(axis=1) & (high[solid] >= high[i]).all(axis=1)]
        if len(around) > 0:  # what encloses nothing and lies in nothing is no part of a solid
            members[int(around[np.argmin(size[around])])].append(parts[i])
    return [np.concatenate(each) for each in members.values()]


def _components(points: Array, faces: IntArray) -> LongArray:
    """Number of the connected part that each triangle belongs to."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    tail, head = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    n = len(points)
    graph = coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    _, label = np.unique(label[faces[:, 0]], return_inverse=True)
    return label.astype(np.int64)


def thickness(points: Array, faces: IntArray) -> float:
    """Way through the solid below which only a small share of the surface lies [m]."""
    normals = double_areas(points, faces)
    area = np.linalg.norm(normals, axis=1)
    normals /= np.maximum(area, 1e-300)[:, None]
    rays = int(min(max(RAY_TESTS // len(faces), LEAST_RAYS), len(faces)))
    chosen = np.unique(np.linspace(0, len(faces) - 1, rays).astype(np.int64))
    ways = np.empty(len(chosen))
    _ways_through(np.ascontiguousarray(points[faces]), normals[chosen], chosen, ways)
    order = np.argsort(ways, kind="stable")
    share = np.cumsum(area[chosen][order])
    at = int(np.searchsorted(share, THIN_SHARE * share[-1]))
    return float(ways[order[at]])


@kernel
def nearest_on_triangle(x: Vec3, a: Vec3, b: Vec3, c: Vec3) -> tuple[float, int, Vec3]:
    """Squared distance from x to a triangle [m²], which feature is nearest, and the way there.

    Features: 0 the face, 1 to 3 the edges ab, bc, ca, 4 to 6 the vertices. A triangle without area
    gives NaN where its face would count; its edges belong to neighbours too. [ERICSON2005]
    """
    ab, ac, ax = sub(b, a), sub(c, a), sub(x, a)
    d1, d2 = dot(ab, ax), dot(ac, ax)
    if d1 <= 0.0 and d2 <= 0.0:
        return dot(ax, ax), 4, ax
    bx = sub(x, b)
    d3, d4 = dot(ab, bx), dot(ac, bx)
    if d3 >= 0.0 and d4 <= d3:
        return dot(bx, bx), 5, bx
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        way = (ax[0] - t * ab[0], ax[1] - t * ab[1], ax[2] - t * ab[2])
        return dot(way, way), 1, way
    cx = sub(x, c)
    d5, d6 = dot(ab, cx), dot(ac, cx)
    if d6 >= 0.0 and d5 <= d6:
        return dot(cx, cx), 6, cx
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        way = (ax[0] - t * ac[0], ax[1] - t * ac[1], ax[2] - t * ac[2])
        return dot(way, way), 3, way
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        bc = sub(c, b)
        way = (bx[0] - t * bc[0], bx[1] - t * bc[1], bx[2] - t * bc[2])
        return dot(way, way), 2, way
    n = cross(ab, ac)
    t = dot(n, ax) / dot(n, n)
    way = (t * n[0], t * n[1], t * n[2])
    return dot(way, way), 0, way


@kernel
def corner(corners: PtrF8, t: int, i: int) -> Vec3:
    """Corner i of triangle t."""
    at = 9 * t + 3 * i
    return (corners[at], corners[at + 1], corners[at + 2])


@kernel
def _ways_through(triangles: Array, normals: Array, chosen: LongArray, ways: Array) -> None:
    """Length of the ray from the middle of each chosen triangle inwards to the other side [m]."""
    corners = ptr(triangles)
    for r in range(chosen.shape[0]):
        t = chosen[r]
        a, b, c = corner(corners, t, 0), corner(corners, t, 1), corner(corners, t, 2)
        x = _middle(a, b, c)
        way = (-normals[r, 0], -normals[r, 1], -normals[r, 2])
        least = inf
        for s in range(triangles.shape[0]):
            if s == t:
                continue
            hit = _ray_triangle(
                x, way, corner(corners, s, 0), corner(corners, s, 1), corner(corners, s, 2)
            )
            if 0.0 < hit < least:
                least = hit
        ways[r] = least


@kernel
def _middle(a: Vec3, b: Vec3, c: Vec3) -> Vec3:
    """Middle of three points."""
    third = 1.0 / 3.0
    return (
        third * (a[0] + b[0] + c[0]),
        third * (a[1] + b[1] + c[1]),
        third * (a[2] + b[2] + c[2]),
    )


@kernel
def _ray_triangle(x: Vec3, way: Vec3, a: Vec3, b: Vec3, c: Vec3) -> float:
    """Length along the ray to the triangle [m]; negative when it misses."""
    ab, ac = sub(b, a), sub(c, a)
    p = cross(way, ac)
    det = dot(ab, p)
    if abs(det) < 1e-300:
        return -1.0
    s = sub(x, a)
    u = dot(s, p) / det
    q = cross(s, ab)
    v = dot(way, q) / det
    if u < 0.0 or v < 0.0 or u + v > 1.0:
        return -1.0
    return dot(ac, q) / det
