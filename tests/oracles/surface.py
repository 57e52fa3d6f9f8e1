"""Distance from points to triangles and the winding number around points, over all triangles."""

from __future__ import annotations

import numpy as np

from tangere.maths.vec import Array, IntArray


def unsigned_distance(points: Array, vertices: Array, faces: IntArray) -> Array:
    """Least distance of each point to the triangles [m], shape (n,): the plane, else the edges."""
    best = np.full(len(points), np.inf)
    for face in faces:
        best = np.minimum(best, _to_triangle(points, *vertices[face]))
    return best


def _to_triangle(points: Array, a: Array, b: Array, c: Array) -> Array:
    n = np.cross(b - a, c - a)
    n = n / np.linalg.norm(n)
    height = (points - a) @ n
    foot = points - height[:, None] * n
    within = np.ones(len(points), dtype=bool)
    edges = np.full(len(points), np.inf)
    for p, q in ((a, b), (b, c), (c, a)):
        within &= np.cross(q - p, foot - p) @ n >= 0.0
        t = np.clip((points - p) @ (q - p) / ((q - p) @ (q - p)), 0.0, 1.0)
        edges = np.minimum(edges, np.linalg.norm(points - p - t[:, None] * (q - p), axis=1))
    return np.where(within, np.abs(height), edges)


def winding_number(points: Array, vertices: Array, faces: IntArray) -> Array:
    """Sum of solid angles over 4π, shape (n,): 1 inside a closed outward surface, 0 outside."""
    total = np.zeros(len(points))
    for face in faces:
        a, b, c = (vertices[i] - points for i in face)
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        triple = np.einsum("ij,ij->i", a, np.cross(b, c))
        below = (
            la * lb * lc
            + np.einsum("ij,ij->i", a, b) * lc
            + np.einsum("ij,ij->i", b, c) * la
            + np.einsum("ij,ij->i", c, a) * lb
        )
        total += 2.0 * np.arctan2(triple, below)
    return total / (4.0 * np.pi)


def signed_distance(points: Array, vertices: Array, faces: IntArray) -> Array:
    """Distance to one closed surface, negative inside [m], shape (n,)."""
    inside = winding_number(points, vertices, faces) > 0.5
    return np.where(inside, -1.0, 1.0) * unsigned_distance(points, vertices, faces)
