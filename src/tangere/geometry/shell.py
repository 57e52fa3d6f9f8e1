"""Shells: solids of a given thickness around surfaces that enclose nothing.

Every triangle gives two, half the thickness to either side. Around an edge, each side goes over
into that of the next face (`sides`); at an open edge, front and back are joined by a strip. So the
result is closed whatever the surface is like: a sheet, a Möbius strip, a soup of triangles.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import positive
from tangere.geometry.edges import area_vectors, edges_of, groups
from tangere.geometry.holes import outlines
from tangere.geometry.mesh import check_closed, check_volume, checked_vertices
from tangere.geometry.repair import cleaned
from tangere.geometry.sides import meetings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tangere.geometry.repair import Repairs
    from tangere.maths.vec import Array, IntArray, LongArray

# A vertex moves so far that all its faces do by half the thickness, at most by twice as much: where
# the surface is folded sharper than 60°, the shell tapers off towards the fold.
LEAST_COSINE = 0.5


def thickened(points: Array, faces: IntArray, thickness: float) -> tuple[Array, IntArray, Repairs]:
    """The shell around a surface with repeated and degenerate faces, and gaps; what was done."""
    checked = checked_vertices(points, "Mesh")
    faces, done = cleaned(checked, faces)
    if len(faces) == 0:
        raise SceneError("Mesh: all faces are degenerate; give triangles with an area")
    vertices, triangles = shell_of(checked, faces, thickness)
    try:
        check_closed(vertices, triangles, "shell")
        check_volume(vertices, triangles, "shell")
    except SceneError:
        # Faces that cut through each other lie in no order around their edges: plates instead.
        vertices, triangles = shell_of(checked, faces, thickness, plates=True)
    return vertices, triangles, done


def shell_of(
    points: Array, faces: IntArray, thickness: float, *, plates: bool = False
) -> tuple[Array, IntArray]:
    """Vertices and outward triangles of the shell around a surface.

    Args:
        points: Vertices [m].
        faces: Triangles with an area, in any winding.
        thickness: Of the shell [m], half of it to either side.
        plates: Whether the surface is cut where more than two faces meet at an edge; the pieces
            then overlap there.
    """
    half = 0.5 * positive(thickness, "shell")
    edges = edges_of(faces, len(points))
    met = meetings(points, faces, edges, "apart" if plates else "turn")
    rim = met.here == met.there
    copy = _copies(faces, edges.tail < edges.head, met.ahead, met.behind, met.here, met.there)
    corners = copy.reshape(-1, 2, 3)  # of every face: front, back; three corners
    # ---- where the copies lie
    normal = area_vectors(points, faces)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    weight = _corner_angles(points, faces)
    count = int(copy.max()) + 1
    pull, total, lift = np.zeros((count, 3)), np.zeros(count), np.zeros((count, 3))
    source = np.zeros(count, dtype=np.int64)
    for side, sign in ((0, 1.0), (1, -1.0)):
        for i in range(3):
            to = corners[:, side, i]
            np.add.at(pull, to, sign * weight[:, i, None] * normal)
            np.add.at(total, to, weight[:, i])
            lift[to] = sign * normal
            source[to] = faces[:, i]
    size = np.linalg.norm(pull, axis=1)
    cosine = size / np.maximum(total, 1e-300)
    folded = cosine < 1e-6  # front on front: any of its normals does
    lift[~folded] = pull[~folded] / size[~folded, None]
    cosine[folded] = 1.0
    lifted = points[source] + half * lift / np.maximum(cosine, LEAST_COSINE)[:, None]
    # ---- fronts, backs, strips
    face, corner = np.divmod(met.here[rim], 3)
    after = (corner + 1) % 3
    a, b = corners[face, 0, corner], corners[face, 0, after]
    below_a, below_b = corners[face, 1, corner], corners[face, 1, after]
    triangles = np.concatenate(
        (
            corners[:, 0],
            corners[:, 1, ::-1],
            np.column_stack((b, a, below_a)),
            np.column_stack((b, below_a, below_b)),
        )
    ).astype(np.int32)
    return lifted, _with_ends(lifted, triangles)


def _copies(
    faces: IntArray,
    forward: NDArray[np.bool_],
    ahead: LongArray,
    behind: LongArray,
    here: LongArray,
    there: LongArray,
) -> LongArray:
    """For corner i of side s the vertex of the shell, at 3 s + i."""
    inner = here != there
    links = []
    for low_end in (True, False):
        ends = []
        for side, half in ((ahead, here), (behind, there)):
            at_tail = forward[half] == low_end
            corner = np.where(at_tail, half % 3, (half + 1) % 3)
            ends.append((3 * side + corner)[inner])
        links.append(ends)
    (a, b), (c, d) = links
    return groups(np.concatenate((a, c)), np.concatenate((b, d)), 6 * len(faces))


def _corner_angles(points: Array, faces: IntArray) -> Array:
    """Angle of every triangle at each corner [rad], shape (t, 3)."""
    p = points[faces]
    to, back = np.roll(p, -1, axis=1) - p, np.roll(p, 1, axis=1) - p
    across = np.linalg.norm(np.cross(to, back), axis=2)
    angles: Array = np.arctan2(across, np.einsum("tij,tij->ti", to, back))
    return angles


def _with_ends(points: Array, triangles: IntArray) -> IntArray:
    """With the ends of seams closed, where strips of three or more faces meet around a vertex."""
    edges = edges_of(triangles, len(points))
    half = edges.open_half_edges()
    tail, head = edges.tail[half].tolist(), edges.head[half].tolist()
    there = set(zip(tail, head, strict=True))
    ends = []
    for loop in outlines(points, tail, head):
        ring = loop[::-1] if (loop[0], loop[1]) in there else loop
        ends += [(ring[0], u, v) for u, v in pairwise(ring[1:])]
    if not ends:
        return triangles
    return np.concatenate((triangles, np.array(ends, dtype=np.int32)))
