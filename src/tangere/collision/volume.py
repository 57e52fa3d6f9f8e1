"""Contact volume of two shapes: the solid that both share, its patch, normal and plane.

Per pair of convex parts, A ∩ B comes from face clipping (`clip`) or as the hull of dual points
(`dual`); normal and plane come from the shortest separating translation (`distance`). Everything
else is sums over the outward polygons. With normal n, the patch area S_c is half the projected area
of all of them: front and back sides cover the patch once each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.collision.clip import MAX_POLYGON, ON_PLANE, clip_volume
from tangere.collision.distance import checked_poses, part_distance, placed, view
from tangere.collision.dual import dual_volume
from tangere.errors import SceneError
from tangere.geometry.checks import show
from tangere.geometry.polyhedron import Polyhedron
from tangere.maths.vec import Array, IntArray, Vec3
from tangere.model import Soup

if TYPE_CHECKING:
    from tangere.collision.distance import Pose
    from tangere.geometry.shapes import Shape

# Overlap below this part of the larger extent is touching: no volume.
TOUCH = 1e-12
# Vertices closer than this part of the larger extent are one, but never across the overlap.
WELD = 1e-11
WELD_DEPTH = 1e-3
# Two hulls of 256 faces share at most 512 faces with 3060 corners; clipping may repeat some.
CAPACITY = 8192


class ContactVolume(NamedTuple):
    """The solid shared by two shapes; empty arrays and zeros when they are apart."""

    vertices: Array
    """Corners, shape (n, 3) [m]."""
    triangles: IntArray
    """Outward triangles, shape (t, 3)."""
    volume: float
    """[m³]"""
    area: float
    """Area of the patch: the solid projected along the normal, counted once [m²]."""
    normal: Array
    """Unit vector from a to b along which they separate soonest, shape (3,); kept when apart."""
    point: Array
    """Centroid of the projected patch, on the contact plane, shape (3,) [m]."""
    centroid: Array
    """Centroid of the solid, shape (3,) [m]."""
    surface_area: float
    """Area of the whole boundary of the solid [m²]."""


def contact_volume(
    a: Shape,
    pose_a: Pose,
    b: Shape,
    pose_b: Pose,
    *,
    algorithm: Literal["clip", "dual"] = "clip",
) -> ContactVolume:
    """The solid that two shapes share, with patch area, normal from a to b and contact point.

    Shapes of several convex parts: all pairs of parts together, along the normal of the deepest. Of
    curved shapes it is the solid that their polyhedra share, see `Shape.parts`.

    Args:
        a: First shape.
        pose_a: Its position [m] and orientation (w, x, y, z).
        b: Second shape.
        pose_b: Its position [m] and orientation (w, x, y, z).
        algorithm: "clip" clips faces; "dual" takes the convex hull of dual points, and clips where
            rounding breaks it.

    Raises:
        SceneError: A pose is not finite, its quaternion has no direction, or no such algorithm.
    """
    if algorithm not in ("clip", "dual"):
        raise SceneError(f"algorithm: expected 'clip' or 'dual', got {show(algorithm)}")
    turn_a, turn_b, origin, between = checked_poses(pose_a, pose_b)
    parts_a = [placed(part, turn_a, np.zeros(3)) for part in a.parts()]
    parts_b = [placed(part, turn_b, between) for part in b.parts()]
    least, witness = np.inf, np.zeros(9)
    soups = []
    for p in parts_a:
        for q in parts_b:
            d, found = part_distance(p, q)
            if d < least:
                least, witness = d, found
            size = max(np.ptp(p.vertices, axis=0).max(), np.ptp(q.vertices, axis=0).max())
            if d < -TOUCH * size:
                weld = min(WELD * size, -WELD_DEPTH * d)
                soups.append((*polygons(p, q, found, algorithm), weld))
    return _assemble(soups, witness, origin)


def polygons(
    p: Polyhedron, q: Polyhedron, witness: Array, algorithm: str
) -> tuple[Array, IntArray]:
    """Outward polygons of the solid shared by two convex parts: corners (n, 3), starts (m + 1,).

    Args:
        p: First part.
        q: Second part, in the same frame.
        witness: What `part_distance` found.
        algorithm: "clip" or "dual".
    """
    soup = Soup(
        start=np.zeros(CAPACITY + 1, dtype=np.int32),
        owner=np.zeros(CAPACITY, dtype=np.int32),
        xyz=np.full((CAPACITY, 3), np.nan),
        plane=np.empty((0, 3)),
        slope=np.empty((0, 4)),
        clip=np.full(6 * MAX_POLYGON, np.nan),
    )
    u, v = np.ptp(p.vertices, axis=0).max(), np.ptp(q.vertices, axis=0).max()
    # Planes of the larger part carry its rounding, whatever the size of the smaller one.
    eps = float(ON_PLANE * min(u, v) + 4.0 * np.finfo(np.float64).eps * max(u, v))
    guess = _inner_point(p, q, 0.5 * (witness[0:3] + witness[3:6]))
    count = _polygons(p, q, algorithm == "dual", guess, eps, soup)
    if count < 0:
        raise AssertionError(f"contact volume: {CAPACITY} corners do not suffice")
    starts = soup.start[: count + 1].copy()
    return soup.xyz[: starts[-1]].copy(), starts


def _inner_point(p: Polyhedron, q: Polyhedron, middle: Array) -> Vec3:
    """Of the middle between the witnesses and the middle of each part, the one furthest inside."""
    points = np.array([middle, p.vertices.mean(axis=0), q.vertices.mean(axis=0)])
    planes = np.vstack((p.planes, q.planes))
    inside = (planes[:, 3] - points @ planes[:, :3].T).min(axis=1)
    x, y, z = (float(c) for c in points[np.argmax(inside)])
    return x, y, z


@kernel
def _polygons(p: Polyhedron, q: Polyhedron, dual: bool, guess: Vec3, eps: float, soup: Soup) -> int:
    """Fill the soup; returns the number of polygons, negative when it is full."""
    s = pointers(soup)
    a, b = view(p), view(q)
    s.start[0] = 0
    if dual:
        count = dual_volume(a, b, guess, s, 0, CAPACITY)
        if count >= 0:
            return count
    return clip_volume(a, b, eps, s, 0, CAPACITY)


def _assemble(
    soups: list[tuple[Array, IntArray, float]], witness: Array, origin: Array
) -> ContactVolume:
    """Sums over all polygons, as outward triangles fanned from the first corner of each."""
    n = witness[6:9]
    middle = 0.5 * (witness[0:3] + witness[3:6])
    corners, faces = [np.empty((0, 3))], [np.empty((0, 3), dtype=np.int32)]
    volume, patch, surface = 0.0, 0.0, 0.0
    moment, first = np.zeros(3), np.zeros(3)
    shift = 0
    for xyz, starts, weld in soups:
        tri = _fans(starts)
        # From a corner of the solid: small solids then lose no digits.
        x = xyz[tri] - (base := xyz[0] if len(xyz) else middle)
        area = 0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
        v = np.einsum("ij,ij->i", area, x[:, 0]) / 3.0
        volume += float(v.sum())
        moment += v.sum() * base + v @ x.sum(axis=1) / 4.0
        projected = 0.5 * np.abs(area @ n)
        patch += float(projected.sum())
        first += projected.sum() * base + projected @ x.mean(axis=1)
        surface += float(np.linalg.norm(area, axis=1).sum())
        points, index = _welded(xyz, weld)
        tri = index[tri] + shift
        whole = (tri != np.roll(tri, 1, axis=1)).all(axis=1)
        corners.append(points + origin)
        faces.append(tri[whole])
        shift += len(points)
    # A solid or patch of no size has its centre where the shapes touch.
    centroid = moment / volume if volume > 0.0 else middle
    centre = first / patch if patch > 0.0 else middle
    point = centre + n * ((middle - centre) @ n)
    return ContactVolume(
        vertices=np.concatenate(corners),
        triangles=np.concatenate(faces).astype(np.int32),
        volume=volume,
        area=patch,
        normal=n,
        point=origin + point,
        centroid=origin + centroid,
        surface_area=surface,
    )


def _fans(starts: IntArray) -> IntArray:
    """Triangles of polygons whose corners follow one another, shape (t, 3)."""
    inner = np.maximum(np.diff(starts) - 2, 0)
    tip = np.repeat(starts[:-1], inner)
    step = np.arange(len(tip)) - np.repeat(np.cumsum(inner) - inner, inner)
    fans: IntArray = np.column_stack((tip, tip + step + 1, tip + step + 2)).astype(np.int32)
    return fans


def _welded(xyz: Array, weld: float) -> tuple[Array, IntArray]:
    """Points no two of which are closer than `weld`, and for each given point its number there."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    close = cKDTree(xyz).query_pairs(weld, output_type="ndarray")
    graph = coo_array((np.ones(len(close)), close.T), shape=(len(xyz), len(xyz)))
    count, label = connected_components(graph, directed=False)
    first = np.full(count, -1, dtype=np.intp)
    first[label[::-1]] = np.arange(len(xyz))[::-1]  # the earliest point of each group
    return xyz[first], label.astype(np.int32)
