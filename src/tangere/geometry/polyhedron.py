"""Convex polyhedra with polygon faces, and the volume integrals of closed surfaces.

A hull is found by Qhull on points that were moved, turned and stretched so that their cloud fills
the unit cube: convexity and coplanarity survive any affine map, and one tolerance then serves
plates and needles alike. Triangles of one flat face are merged, so that a box has 6 faces and not
12; vertices that meet fewer than three faces are dropped.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import LARGEST, SMALLEST, check_resolution, frozen, show

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tangere.maths.vec import Array, IntArray

# Most faces of one convex piece: contact kernels size their buffers by it.
MAX_FACES = 256
# A hull of n points in general position has 2 n - 4 triangles: this many always fit MAX_FACES.
MAX_SIMPLE_POINTS = MAX_FACES // 2
# More points than this are refused before any work is done on them: for a mesh, for a hull.
MAX_POINTS = 1_000_000
MAX_CLOUD = 100_000
# Hulls of more triangles cannot merge into MAX_FACES of any sensible shape: not worth the walk.
MAX_HULL_TRIANGLES = 20_000
# Thickness over length below which a cloud counts as flat: coordinates carry 1e-16 of the length,
# which must stay well below MERGE after the thin direction has been stretched to one.
FLAT = 1e-7
# Distance from a face's plane, in units of the stretched cloud, within which triangles join the
# face. Above the rounding of single-precision files, far below any feature of a modelled part. The
# later entries serve hulls where generous merging would not leave a proper polyhedron.
MERGE = (1e-7, 1e-10, 0.0)
# Points closer than this, in the same units, are one point.
COINCIDENT = 1e-9


class Moments(NamedTuple):
    """Volume integrals of a solid of unit density."""

    volume: float
    """[m³]"""
    centre: Array
    """Centre of volume, shape (3,) [m]."""
    inertia: Array
    """Inertia tensor about the centre, shape (3, 3) [m⁵]: times the density it is in kg m²."""


class Polyhedron(NamedTuple):
    """One convex polyhedron with outward polygon faces; all arrays are read-only."""

    vertices: Array
    """Shape (n, 3) [m]."""
    planes: Array
    """Per face the unit outward normal N and offset d: inside means N·x <= d; shape (f, 4)."""
    loop_start: IntArray
    """Face i has the corners loops[loop_start[i]:loop_start[i + 1]]; shape (f + 1,)."""
    loops: IntArray
    """Vertex indices of all faces, each counter-clockwise seen from outside."""

    def triangles(self) -> IntArray:
        """Outward triangles of all faces, fanned from each face's first corner, shape (t, 3)."""
        count = np.diff(self.loop_start) - 2
        first = np.repeat(self.loops[self.loop_start[:-1]], count)
        # Triangle k of a face takes its corners k + 1 and k + 2.
        k = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        second = np.repeat(self.loop_start[:-1], count) + k + 1
        return np.column_stack((first, self.loops[second], self.loops[second + 1]))

    def moments(self) -> Moments:
        """Volume, centre and inertia of the solid at unit density."""
        return solid_moments(self.vertices, self.triangles())

    def moved(self, rotation: Array, position: Array) -> Polyhedron:
        """The polyhedron turned by a 3x3 `rotation`, then shifted by `position` [m]."""
        vertices = self.vertices @ rotation.T + position
        check_resolution(vertices.min(axis=0), vertices.max(axis=0), "moved part")
        normals = self.planes[:, :3] @ rotation.T
        return _with_planes(vertices, normals, self.loop_start, self.loops)

    def stretched(self, scale: Array, what: str) -> Polyhedron:
        """The polyhedron with x, y, z multiplied by `scale`, shape (3,), all positive."""
        if scale.min() < FLAT * scale.max():
            raise SceneError(
                f"{what}: sizes {scale.min():.3g} m and {scale.max():.3g} m differ too much; "
                f"keep them within a factor of {1.0 / FLAT:g}"
            )
        normals = self.planes[:, :3] / scale
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        return _with_planes(self.vertices * scale, normals, self.loop_start, self.loops)


def convex_polyhedron(points: ArrayLike, what: str = "convex hull") -> Polyhedron:
    """Convex hull of a point cloud as a polyhedron with merged faces.

    Args:
        points: At least four points that span a volume, shape (n, 3) [m].
        what: How error messages call the cloud.

    Raises:
        SceneError: Wrong shape, NaN, too few or too many points, no volume, or more than
            `MAX_FACES` faces.
    """
    cloud = checked_points(points, what, most=MAX_CLOUD)
    stretched = _stretched(cloud, what)
    keep = _distinct(stretched)
    cloud, stretched = cloud[keep], stretched[keep]
    triangles, neighbours = _hull_triangles(stretched, what)
    for tolerance in MERGE:
        label = _face_labels(stretched, triangles, neighbours, tolerance)
        if label is None:
            raise _too_many_faces(what)
        loops = _face_loops(triangles, neighbours, label)
        if loops is not None and _is_proper(stretched, loops, tolerance):
            return _assemble(cloud, loops)
    raise SceneError(
        f"{what}: the points are too close to flat or coincident for a proper hull; "
        "remove points that lie almost on top of each other"
    )


def simplified_points(points: ArrayLike, count: int = MAX_SIMPLE_POINTS) -> Array:
    """At most `count` of the points, the outermost ones in evenly spread directions, shape (m, 3).

    Their hull lies inside the full hull and has at most 2 `count` - 4 faces.
    """
    cloud = checked_points(points, "points")
    stretched = _stretched(cloud, "points")
    # Fibonacci spiral: nearly even directions for any count.
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = np.pi * (1.0 + 5.0**0.5) * k
    ring = np.sqrt(1.0 - z * z)
    directions = np.column_stack((ring * np.cos(angle), ring * np.sin(angle), z))
    outermost = np.array([np.argmax(stretched @ direction) for direction in directions])
    chosen: Array = cloud[np.unique(outermost)]
    return chosen


def solid_moments(vertices: Array, triangles: NDArray[np.integer[Any]]) -> Moments:
    """Moments of the solid inside a closed surface of outward triangles.

    The solid is the signed sum of tetrahedra (c, p, q, r) over the triangles, for any point c. With
    p, q, r measured from c: V = p·(q × r)/6, ∫x dV = V (p+q+r)/4 and
    ∫x xᵀ dV = V/20 (p pᵀ + q qᵀ + r rᵀ + s sᵀ), s = p+q+r.
    """
    c = vertices.mean(axis=0)
    p, q, r = (vertices[triangles[:, i]] - c for i in range(3))
    v = np.einsum("ij,ij->i", p, np.cross(q, r)) / 6.0
    s = p + q + r
    volume = float(v.sum())
    if volume == 0.0:
        return Moments(0.0, c, np.zeros((3, 3)))
    offset = (v @ s) / (4.0 * volume)
    second = sum((np.einsum("i,ij,ik->jk", v, x, x) for x in (p, q, r, s)), np.zeros((3, 3))) / 20.0
    second -= volume * np.outer(offset, offset)
    inertia = np.trace(second) * np.eye(3) - second
    return Moments(volume, frozen(c + offset), frozen(0.5 * (inertia + inertia.T)))


def checked_points(points: ArrayLike, what: str, most: int = MAX_POINTS) -> Array:
    """`points` as a fresh float array of shape (n, 3), all finite and of sensible size."""
    count = len(points) if isinstance(points, Sized) else 0
    if count > most:
        raise SceneError(
            f"{what}: {count} points, at most {most} are accepted; thin the cloud out first"
        )
    try:
        raw = np.asarray(points)
    except (TypeError, ValueError, OverflowError):
        raise SceneError(f"{what}: expected rows of three numbers, got {show(points)}") from None
    if raw.ndim != 2 or raw.shape[1] != 3 or raw.dtype.kind not in "iuf":
        raise SceneError(
            f"{what}: expected numbers of shape (n, 3), got {raw.dtype} of shape {raw.shape}"
        )
    cloud = np.array(raw, dtype=np.float64)
    if cloud.size and not np.abs(cloud).max() <= LARGEST:  # NaN is not, either
        bad = ~(np.abs(cloud) <= LARGEST).all(axis=1)
        row = int(np.argmax(bad))
        raise SceneError(
            f"{what}: point {row} is {show(cloud[row].tolist())}; "
            f"every coordinate must be finite and below {LARGEST:g} m"
        )
    return cloud


def _too_many_faces(what: str) -> SceneError:
    return SceneError(
        f"{what}: more than {MAX_FACES} faces; give at most {MAX_SIMPLE_POINTS} points "
        "(tangere.geometry.polyhedron.simplified_points picks them)"
    )


def _stretched(cloud: Array, what: str) -> Array:
    """The cloud in its principal axes, each stretched to [-1/2, 1/2]; refuses flat clouds."""
    if len(cloud) < 4:
        raise SceneError(f"{what}: {len(cloud)} points, a solid needs at least 4")
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    longest = float((high - low).max())
    if longest < SMALLEST:
        raise SceneError(f"{what}: all points coincide; give points that span a volume")
    check_resolution(low, high, what)
    local = (cloud - 0.5 * (low + high)) / longest
    local -= local.mean(axis=0)
    _, axes = np.linalg.eigh(local.T @ local)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    local = local @ axes
    low, high = local.min(axis=0), local.max(axis=0)
    extent = high - low
    if extent[1] < FLAT * extent[2]:
        raise SceneError(f"{what}: all points lie on one line; give points that span a volume")
    if extent[0] < FLAT * extent[2]:
        raise SceneError(f"{what}: all points lie in one plane; give points that span a volume")
    stretched: Array = (local - 0.5 * (low + high)) / extent
    return stretched


def _distinct(stretched: Array) -> NDArray[np.intp]:
    """Indices, in order, of the points left when those within `COINCIDENT` are taken as one."""
    from scipy.spatial import cKDTree

    _, first = np.unique(np.round(stretched / COINCIDENT), axis=0, return_index=True)
    first = np.sort(first)
    # Two near points on either side of a rounding border are still both there.
    pairs = cKDTree(stretched[first]).query_pairs(COINCIDENT, output_type="ndarray")
    keep = np.ones(len(first), dtype=bool)
    keep[pairs.max(axis=1)] = False
    return first[keep]


def _hull_triangles(stretched: Array, what: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Outward hull triangles and, opposite to each corner, the neighbouring triangle."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(stretched)
    except QhullError as error:
        reason = str(error).strip().splitlines()[0][:80]
        raise SceneError(
            f"{what}: no convex hull ({reason}); give points that span a volume"
        ) from None
    if len(hull.simplices) > MAX_HULL_TRIANGLES:
        raise _too_many_faces(what)
    triangles = hull.simplices.astype(np.intp)
    neighbours = hull.neighbors.astype(np.intp)
    # Qhull leaves the sense of rotation open. Signs from cross products fail for slivers, so orient
    # the largest triangle by its normal and walk from neighbour to neighbour.
    p, q, r = (stretched[triangles[:, i]] for i in range(3))
    normal = np.cross(q - p, r - p)
    start = int(np.argmax(np.einsum("ij,ij->i", normal, normal)))
    if normal[start] @ hull.equations[start, :3] < 0.0:
        _flip(triangles, neighbours, start)
    done = np.zeros(len(triangles), dtype=bool)
    done[start] = True
    stack = [start]
    while stack:
        t = stack.pop()
        for corner in range(3):
            u = int(neighbours[t, corner])
            if done[u]:
                continue
            done[u] = True
            tail = triangles[t, (corner + 1) % 3]
            head = triangles[t, (corner + 2) % 3]
            at = int(np.argmax(triangles[u] == tail))
            if triangles[u, (at + 1) % 3] == head:  # same direction on both sides of the edge
                _flip(triangles, neighbours, u)
            stack.append(u)
    return triangles, neighbours


def _flip(triangles: NDArray[np.intp], neighbours: NDArray[np.intp], t: int) -> None:
    triangles[t, 1:] = triangles[t, :0:-1].copy()
    neighbours[t, 1:] = neighbours[t, :0:-1].copy()


def _face_loops(
    triangles: NDArray[np.intp], neighbours: NDArray[np.intp], label: NDArray[np.intp]
) -> list[list[int]] | None:
    """Corner loops of the faces, or None where one is no simple polygon."""
    beyond = label[neighbours]  # face on the far side of the edge opposite to each corner
    following: list[dict[int, int]] = [{} for _ in range(int(label.max()) + 1)]
    faces_at: dict[int, set[int]] = {}
    rows = zip(triangles.tolist(), label.tolist(), beyond.tolist(), strict=True)
    for corners, face, others in rows:
        for corner in range(3):
            tail = corners[(corner + 1) % 3]
            faces_at.setdefault(tail, set()).add(face)
            if others[corner] == face:
                continue
            if tail in following[face]:
                return None  # the outline touches itself
            following[face][tail] = corners[(corner + 2) % 3]
    loops = []
    for outline in following:
        if not outline:
            return None
        first = min(outline)
        loop = [first]
        while (vertex := outline[loop[-1]]) != first:
            loop.append(vertex)
            if len(loop) > len(outline):
                return None
        if len(loop) != len(outline):
            return None  # a face with a hole
        loops.append([v for v in loop if len(faces_at[v]) >= 3])
    return loops


def _face_labels(
    points: Array, triangles: NDArray[np.intp], neighbours: NDArray[np.intp], tolerance: float
) -> NDArray[np.intp] | None:
    """Face number of each triangle, or None for too many faces.

    Faces grow from the largest triangles for as long as they stay flat.
    """
    if tolerance == 0.0:
        return np.arange(len(triangles)) if len(triangles) <= MAX_FACES else None
    p, q, r = (points[triangles[:, i]] for i in range(3))
    normal = np.cross(q - p, r - p)
    area = np.linalg.norm(normal, axis=1)
    label = np.full(len(triangles), -1, dtype=np.intp)
    count = 0
    for seed in np.argsort(-area, kind="stable"):
        if label[seed] >= 0:
            continue
        if count == MAX_FACES:
            return None
        label[seed] = count
        if area[seed] > 0.0:
            n = normal[seed] / area[seed]
            near = np.abs((points - p[seed]) @ n) <= tolerance
            # Slivers have no reliable normal, so only a clear fold the other way is refused.
            fits = near[triangles].all(axis=1) & (
                normal @ n >= -tolerance * np.maximum(area, tolerance)
            )
            stack = [int(seed)]
            while stack:
                for u in neighbours[stack.pop()]:
                    if fits[u] and label[u] < 0:
                        label[u] = count
                        stack.append(int(u))
        # A triangle of no area has no plane: it stays alone and `_is_proper` decides.
        count += 1
    return label


def _is_proper(points: Array, loops: list[list[int]], tolerance: float) -> bool:
    """Whether the loops make one convex polyhedron: Euler's formula, paired edges, planes."""
    if any(len(loop) < 3 for loop in loops):
        return False
    edges = {(a, b) for loop in loops for a, b in zip(loop, loop[1:] + loop[:1], strict=True)}
    corners = {vertex for loop in loops for vertex in loop}
    count = sum(len(loop) for loop in loops)
    if len(edges) != count or any((b, a) not in edges for a, b in edges):
        return False
    if len(corners) - count // 2 + len(loops) != 2:
        return False
    # Rounding of the stretched coordinates; without merging the planes are as good as Qhull's.
    allowed = 4.0 * max(tolerance, COINCIDENT)
    loop_start, flat = _flattened(loops)
    normals = area_vectors(points, loop_start, flat)
    size = np.linalg.norm(normals, axis=1)
    if not size.all():
        return False
    normals /= size[:, None]
    highest = (points[np.unique(flat)] @ normals.T).max(axis=0)
    own = np.repeat(normals, np.diff(loop_start), axis=0)
    lowest = np.minimum.reduceat(np.einsum("ij,ij->i", points[flat], own), loop_start[:-1])
    return tolerance == 0.0 or bool((highest - lowest <= allowed).all())


def area_vectors(vertices: Array, loop_start: IntArray, loops: IntArray) -> Array:
    """Vector area of each face [m²], along the outward normal, shape (f, 3)."""
    first, length = loop_start[:-1], np.diff(loop_start)
    local = vertices[loops] - np.repeat(vertices[loops[first]], length, axis=0)
    following = np.arange(1, len(loops) + 1)
    following[loop_start[1:] - 1] = first
    areas: Array = 0.5 * np.add.reduceat(np.cross(local, local[following]), first)
    return areas


def _flattened(loops: list[list[int]]) -> tuple[IntArray, IntArray]:
    loop_start = np.cumsum([0, *map(len, loops)]).astype(np.int32)
    return loop_start, np.concatenate(loops).astype(np.int32)


def _assemble(cloud: Array, loops: list[list[int]]) -> Polyhedron:
    loop_start, flat = _flattened(loops)
    normals = area_vectors(cloud, loop_start, flat)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    used, renumbered = np.unique(flat, return_inverse=True)
    return _with_planes(cloud[used], normals, loop_start, renumbered.astype(np.int32))


def _with_planes(
    vertices: Array, normals: Array, loop_start: IntArray, loops: IntArray
) -> Polyhedron:
    # The offset is the support value over all vertices, so that no vertex sticks out of any plane.
    normals = normals + 0.0  # -0.0 becomes 0.0
    offsets = (vertices @ normals.T).max(axis=0)
    planes = np.column_stack((normals, offsets))
    for array in (vertices, planes, loop_start, loops):
        array.setflags(write=False)
    return Polyhedron(vertices, planes, loop_start, loops)
