"""Touching elements of polyhedra at an exactly placed pose, by brute force in plain NumPy.

A contact of two solids is the union of convex regions, whose corners are vertices of one on the
other, and crossings of edges. Every corner, every mean of two or three of them that lies on both
solids, belongs to the interior of one element on either side: these pairs touch. Principal contacts
are those that are not part of another one on both bodies.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tangere.geometry.boundary import EDGE, FACE, VERTEX, Boundary

Array = NDArray[np.float64]
# Places are exact up to the rounding of a few sums of numbers below 1.
TOUCH = 1e-9
# Directions of a random motion that are this square to a face slide along it.
ALONG = 1e-7


class Solid:
    """A polyhedron in the world, from the corners of its faces alone."""

    def __init__(self, boundary: Boundary) -> None:
        e = boundary.elements
        self.boundary = boundary
        self.vertices = boundary.of_dimension(VERTEX)
        self.edges = boundary.of_dimension(EDGE)
        self.faces = boundary.of_dimension(FACE)
        self.ends = np.array([boundary.below(i) for i in self.edges])
        self.closures = [boundary.closure(i) for i in range(len(boundary))]
        self.flat = [
            [(ring - e.frame[f, :, 3]) @ e.frame[f, :, :2] for ring in boundary.loops(f)]
            for f in self.faces
        ]
        self.around = {}
        for i in range(len(boundary)):
            faces = frozenset(f for f in self.faces if i in self.closures[f])
            self.around[faces] = i
        self.place(np.zeros(3), np.eye(3))

    def place(self, position: Array, rotation: Array) -> None:
        self.position, self.rotation = np.asarray(position, float), rotation
        frame = self.boundary.elements.frame
        self.normals = frame[self.faces, :, 2] @ rotation.T
        self.axes = [frame[f, :, :2].T @ rotation.T for f in self.faces]
        self.points = frame[self.vertices, :, 3] @ rotation.T + self.position
        self.origins = frame[self.faces, :, 3] @ rotation.T + self.position
        self.tails = self.points[self.ends[:, 0]]
        self.ways = self.points[self.ends[:, 1]] - self.tails

    def heights(self, points: Array) -> Array:
        """Of points over the planes of all faces, shape (points, faces)."""
        return np.asarray(points @ self.normals.T - np.sum(self.origins * self.normals, axis=1))

    def over_face(self, k: int, x: Array, *, rim: bool = True) -> bool:
        """Whether the foot of a point is in a face, with its rim or without: winding number."""
        p = self.axes[k] @ (x - self.origins[k])
        winding = 0.0
        for ring in self.flat[k]:
            u, v = ring - p, np.roll(ring, -1, axis=0) - p
            way = v - u
            t = np.clip(-np.sum(u * way, axis=1) / np.sum(way * way, axis=1), 0.0, 1.0)
            off = float(np.linalg.norm(u + t[:, None] * way, axis=1).min())
            if off < (TOUCH if rim else ALONG):
                return rim
            angle = np.arctan2(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0], np.sum(u * v, axis=1))
            winding += angle.sum()
        return abs(winding) > np.pi

    def element_at(self, x: Array) -> int | None:
        """The element whose interior has a point."""
        near = np.flatnonzero(np.abs(np.sum((x - self.origins) * self.normals, axis=1)) < TOUCH)
        faces = frozenset(self.faces[k] for k in near if self.over_face(int(k), x))
        return self.around.get(faces)


def crossings(a: Solid, b: Solid) -> Array:
    """Points where edges cross."""
    p, d = a.tails[:, None], a.ways[:, None]
    q, e = b.tails[None], b.ways[None]
    c = np.cross(d, e)
    c2 = np.sum(c * c, axis=-1)
    lengths = np.linalg.norm(d, axis=-1) * np.linalg.norm(e, axis=-1)
    skew = c2 > (1e-9 * lengths) ** 2
    c2 = np.where(skew, c2, 1.0)
    r = q - p
    s = np.sum(np.cross(r, e) * c, axis=-1) / c2
    t = np.sum(np.cross(r, d) * c, axis=-1) / c2
    gap = np.abs(np.sum(r * c, axis=-1)) / np.sqrt(c2)
    inside = (s >= -1e-9) & (s <= 1 + 1e-9) & (t >= -1e-9) & (t <= 1 + 1e-9)
    i, j = np.nonzero(skew & inside & (gap < TOUCH))
    return np.asarray(a.tails[i] + s[i, j, None] * a.ways[i])


def corners_of_contact(a: Solid, b: Solid) -> Array:
    found = [*crossings(a, b)]
    for s, t in ((a, b), (b, a)):
        near = np.argwhere(np.abs(t.heights(s.points)) < TOUCH)
        found += [s.points[i] for i, k in near if t.over_face(k, s.points[i])]
    unique: list[Array] = []
    for x in found:
        if all(np.abs(x - y).max() > 1e-8 for y in unique):
            unique.append(x)
    return np.array(unique).reshape(-1, 3)


def touching(a: Solid, b: Solid) -> set[tuple[int, int]]:
    """Pairs of elements that touch with their interiors, concave edges as the faces at them."""
    corners = corners_of_contact(a, b)
    points = [*corners]
    points += [0.5 * (x + y) for x, y in combinations(corners, 2)]
    if len(corners) <= 16:
        points += [(x + y + z) / 3.0 for x, y, z in combinations(corners, 3)]
    points.append(corners.mean(axis=0) if len(corners) else np.full(3, 1e9))
    pairs = set()
    for x in points:
        i, j = a.element_at(x), b.element_at(x)
        if i is not None and j is not None:
            pairs |= {(u, v) for u in resolved(a.boundary, i) for v in resolved(b.boundary, j)}
    return pairs


def resolved(b: Boundary, element: int) -> set[int]:
    """A concave edge is touched by touching its faces."""
    if b.elements.dimension[element] == EDGE and b.elements.convexity[element] < 0:
        return {int(f) for f in b.above(element)}
    return {element}


def principal(a: Solid, b: Solid) -> set[tuple[int, int]]:
    """Touching pairs that are not part of another one on both bodies."""
    pairs = touching(a, b)
    return {
        (i, j)
        for i, j in pairs
        if not any((i, j) != (k, m) and i in a.closures[k] and j in b.closures[m] for k, m in pairs)
    }


def way_to_contact(a: Solid, b: Solid, u: Array) -> float:
    """How far A can move along u until it touches B anew; from no overlap; inf: for ever."""
    first = np.inf
    for s, t, way in ((a, b, u), (b, a, -u)):
        speed = -(t.normals @ way)
        closing = speed > ALONG
        times = t.heights(s.points)[:, closing] / speed[closing]
        faces = np.flatnonzero(closing)
        for flat in np.argsort(times, axis=None):
            i, k = np.unravel_index(flat, times.shape)
            time = times[i, k]
            if time >= first:
                break
            if time > -TOUCH and t.over_face(int(faces[k]), s.points[i] + time * way, rim=False):
                first = float(time)
                break
    p, d = a.tails[:, None], a.ways[:, None]
    q, e = b.tails[None], b.ways[None]
    c = np.cross(d, e)
    lengths = np.linalg.norm(d, axis=-1) * np.linalg.norm(e, axis=-1)
    speed = c @ u
    fits = np.abs(speed) > ALONG * lengths
    safe = np.where(fits, speed, 1.0)
    r = q - p
    time = np.sum(r * c, axis=-1) / safe
    c2 = np.where(fits, np.sum(c * c, axis=-1), 1.0)
    moved = r - time[..., None] * u
    s = np.sum(np.cross(moved, e) * c, axis=-1) / c2
    t = np.sum(np.cross(moved, d) * c, axis=-1) / c2
    # a vertex that slides over an edge touches nothing anew
    inside = (np.minimum(s, t) > ALONG) & (np.maximum(s, t) < 1.0 - ALONG)
    fits &= (time > TOUCH) & inside
    if fits.any():
        first = min(first, float(time[fits].min()))
    return max(float(first), 0.0)


def overlapping(a: Solid, b: Solid) -> bool:
    """Whether an edge of one goes through a face of the other, or A's middle lies within B."""
    for s, t in ((a, b), (b, a)):
        one, two = t.heights(s.tails), t.heights(s.tails + s.ways)
        cuts = (np.minimum(one, two) < -TOUCH) & (np.maximum(one, two) > TOUCH)
        for m, k in np.argwhere(cuts):
            x = s.tails[m] + one[m, k] / (one[m, k] - two[m, k]) * s.ways[m]
            if t.over_face(k, x, rim=False):
                return True
    return False
