"""Closed surfaces through rings of points: what procedural meshes of the library are made of."""

from __future__ import annotations

import numpy as np

from tangere.geometry.polyhedron import solid_moments
from tangere.geometry.shapes import Mesh
from tangere.maths.vec import Array, IntArray


def loft(rings: Array, first: Array, last: Array) -> tuple[Array, IntArray]:
    """A closed surface through n rings of m points and two poles: exactly 2 m n triangles.

    Outward when the rings run counter-clockwise seen from the last pole's side. Squares are cut
    from point j of a ring to point j + 1 of the next.

    Args:
        rings: Points [m], shape (n, m, 3).
        first: Pole before the first ring [m].
        last: Pole behind the last ring [m].
    """
    n, m, _ = rings.shape
    vertices = np.concatenate((rings.reshape(-1, 3), first[None], last[None]))
    j = np.arange(m)
    top = (n - 1) * m
    faces = [
        *_squares(n - 1, n, m),
        np.stack((np.full(m, n * m), (j + 1) % m, j), axis=1),
        np.stack((np.full(m, n * m + 1), top + j, top + (j + 1) % m), axis=1),
    ]
    return vertices, np.concatenate(faces).astype(np.int32)


def closed_loft(rings: Array) -> tuple[Array, IntArray]:
    """A surface through n rings of m points, the last joined to the first: 2 m n triangles."""
    n, m, _ = rings.shape
    faces = np.concatenate(_squares(n, n, m)).astype(np.int32)
    return rings.reshape(-1, 3).copy(), faces


def turned_profile(radius: Array, height: Array, around: int) -> Array:
    """Rings (n, around, 3) of a profile of n points that is turned about z [m]."""
    angle = 2.0 * np.pi * np.arange(around) / around
    return np.stack(
        (
            radius[:, None] * np.cos(angle),
            radius[:, None] * np.sin(angle),
            np.repeat(height[:, None], around, axis=1),
        ),
        axis=2,
    )


def tube_rings(path: Array, radius: float | Array, around: int, *, closed: bool = False) -> Array:
    """Circles (n, around, 3) about the points of a path, square to it and without twist [m].

    A closed path ends where its first point would come again; what twist its turns add up to is
    spread over its length.
    """
    if closed:
        tangent = np.roll(path, -1, axis=0) - np.roll(path, 1, axis=0)
    else:
        tangent = np.gradient(path, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1)[:, None]
    side = np.zeros_like(path)
    across = np.eye(3)[np.argmin(np.abs(tangent[0]))]
    for i, along in enumerate(tangent):  # the side of the last ring, made square to the path again
        across = across - (across @ along) * along
        across /= np.linalg.norm(across)
        side[i] = across
    up = np.cross(tangent, side)
    turn = np.zeros(len(path))
    if closed:
        home = side[-1] - (side[-1] @ tangent[0]) * tangent[0]
        missing = np.arctan2(home @ up[0], home @ side[0])
        turn = -missing * np.arange(len(path)) / len(path)
    angle = turn[:, None] + 2.0 * np.pi * np.arange(around) / around
    size = np.broadcast_to(np.asarray(radius, dtype=np.float64), (len(path),))[:, None, None]
    circle = np.cos(angle)[..., None] * side[:, None] + np.sin(angle)[..., None] * up[:, None]
    rings: Array = path[:, None] + size * circle
    return rings


def outward(surface: tuple[Array, IntArray]) -> Mesh:
    """A mesh of a closed surface, its triangles turned round if they face inwards."""
    vertices, faces = surface
    if solid_moments(vertices, faces).volume < 0.0:
        faces = faces[:, ::-1]
    return Mesh(vertices, faces)


def _squares(bands: int, n: int, m: int) -> list[IntArray]:
    """Two triangles for every square between neighbouring rings."""
    j = np.arange(m)
    here = m * np.arange(bands)[:, None]
    there = m * ((np.arange(bands) + 1) % n)[:, None]
    a, b = (here + j).ravel(), (here + (j + 1) % m).ravel()
    c, d = (there + (j + 1) % m).ravel(), (there + j).ravel()
    return [np.stack((a, b, c), axis=1), np.stack((a, c, d), axis=1)]
