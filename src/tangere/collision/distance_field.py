"""Signed distance fields of closed surfaces on a regular grid, negative inside [m].

Build: the exact distance to the triangles in a band around the surface, its sign from the
angle-weighted pseudonormal of the nearest feature [BAERENTZEN2005]; then the nearest triangle is
passed on from node to node, sweeping the grid from all eight corners. A surface of several closed
parts that overlap is the union of its parts: the least of their fields. Fields are kept on disk
under a hash of the surface and the settings.

Use: between nodes the value is trilinear, and the gradient is the central difference of that over
one spacing to each side, so both are continuous.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import cache_root, kernel
from tangere._ptr import PtrF8, off, ptr
from tangere.errors import SceneError
from tangere.geometry.checks import show
from tangere.geometry.disk_cache import write_whole
from tangere.geometry.mesh import checked_mesh
from tangere.maths.vec import Array, IntArray, Vec3, cross, dot, sub

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

Single = NDArray[np.float32]
PtrF4 = NDArray[np.float32]

# Spacing: a quarter of the thickness, but never finer or coarser than these shares of the size.
PER_THICKNESS = 4.0
FINEST, COARSEST = 1.0 / 400.0, 1.0 / 64.0
# Share of the surface that may be thinner than the thickness found.
THIN_SHARE = 0.25
# Rays shot inwards times triangles tested when looking for the thickness.
RAY_TESTS = 1_000_000
# Largest grid: 8 million nodes are 32 MB.
MAX_NODES = 8_000_000
# Half width of the exact band, in spacings; the grid reaches one spacing further.
BAND = 4.0
CACHE_FORMAT = b"tangere-field-1"


class Field(NamedTuple):
    """Distances at the nodes of a regular grid that encloses a surface."""

    values: Single
    """[m], shape (nx, ny, nz), C order."""
    origin: Array
    """Node (0, 0, 0), shape (3,) [m]."""
    spacing: float
    """h, between neighbouring nodes [m]."""
    margin: float
    """Least distance from the surface to the border of the grid [m]."""


class Grid(NamedTuple):
    """A field as kernels pass it on."""

    values: PtrF4
    nx: int
    ny: int
    nz: int
    origin: Vec3
    spacing: float
    margin: float


class Surface(NamedTuple):
    """A closed surface with its pseudonormals.

    | field     | meaning                                            | shape            |
    | corners   | of each triangle [m]                               | (t, 3, 3)        |
    | normals   | of face, edges 01 12 20 and vertices 0 1 2         | (t, 7, 3)        |
    """

    corners: Array
    normals: Array


def distance_field(
    vertices: ArrayLike,
    triangles: ArrayLike,
    *,
    spacing: float | None = None,
    tolerance: float = 0.0,
    what: str = "Field",
) -> Field:
    """Signed distance field of a closed surface, from the cache where it was built before.

    Args:
        vertices: [m], shape (n, 3).
        triangles: Vertex indices, counter-clockwise seen from outside, shape (t, 3). Parts that
            are closed in themselves may overlap.
        spacing: Of the grid [m]; None: a quarter of the thickness, within limits of size and
            memory.
        tolerance: Distance up to which contacts will be asked for [m].
        what: Name of the body for errors.

    Raises:
        SceneError: The surface is open or encloses nothing, or the spacing asks for more memory
            than a grid may have.
    """
    points, faces = checked_mesh(vertices, triangles, what)
    h = choose_spacing(points, faces, spacing, tolerance, what)
    key = hashlib.sha256(CACHE_FORMAT)
    key.update(f"{h!r} {tolerance!r} {BAND} {points.shape} {faces.shape}".encode())
    key.update(np.ascontiguousarray(points, dtype="<f8").tobytes())
    key.update(np.ascontiguousarray(faces, dtype="<i4").tobytes())
    path = cache_root() / "fields" / f"{key.hexdigest()[:32]}.npz"
    stored = read_arrays(path, ("values", "origin", "shape"))
    if stored is not None:
        values, origin, shape = stored
        return Field(values, origin, float(shape[0]), float(shape[1]))
    field = build(points, faces, h, tolerance)
    shape = np.array([field.spacing, field.margin])
    write_arrays(path, values=field.values, origin=field.origin, shape=shape)
    return field


def sample_field(field: Field, points: ArrayLike) -> tuple[Array, Array]:
    """Values [m] and gradients of a field at points, shapes (n,) and (n, 3)."""
    at = np.ascontiguousarray(points, dtype=np.float64).reshape(-1, 3)
    values, gradients = np.empty(len(at)), np.empty((len(at), 3))
    _sample(field, at, values, gradients)
    return values, gradients


def surface_of(points: Array, faces: IntArray) -> Surface:
    """Corners and angle-weighted pseudonormals of a closed surface."""
    corners = points[faces]
    ahead = np.roll(corners, -1, axis=1) - corners
    face = np.cross(ahead[:, 0], ahead[:, 1])
    face /= np.maximum(np.linalg.norm(face, axis=1), 1e-300)[:, None]
    unit = ahead / np.maximum(np.linalg.norm(ahead, axis=2), 1e-300)[:, :, None]
    cosine = -np.einsum("tij,tij->ti", unit, np.roll(unit, 1, axis=1))
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    at_vertex = np.zeros_like(points)
    for i in range(3):
        np.add.at(at_vertex, faces[:, i], angle[:, i, None] * face)
    edge_of = edge_numbers(faces, len(points))
    at_edge = np.zeros((int(edge_of.max()) + 1, 3))
    for i in range(3):
        np.add.at(at_edge, edge_of[:, i], face)
    normals = np.concatenate((face[:, None], at_edge[edge_of], at_vertex[faces]), axis=1)
    return Surface(np.ascontiguousarray(corners), np.ascontiguousarray(normals))


def edge_numbers(faces: IntArray, vertex_count: int) -> NDArray[np.int64]:
    """Number of each edge 01, 12, 20 of the triangles, the same from both sides, shape (t, 3)."""
    tail = faces.astype(np.int64)
    head = np.roll(tail, -1, axis=1)
    code = np.minimum(tail, head) * vertex_count + np.maximum(tail, head)
    _, number = np.unique(code, return_inverse=True)
    return number.reshape(faces.shape)


def bodies_of(points: Array, faces: IntArray) -> list[IntArray]:
    """Triangles of each solid of a surface: an outward closed part with the cavities within it."""
    label = _components(points, faces)
    parts = [faces[label == i] for i in range(int(label.max()) + 1)]
    volumes = [_volume(points, part) for part in parts]
    solids = [part for part, volume in zip(parts, volumes, strict=True) if volume > 0.0]
    for part, volume in zip(parts, volumes, strict=True):
        if volume > 0.0:
            continue
        low, high = points[part].min(axis=(0, 1)), points[part].max(axis=(0, 1))
        around = [
            i
            for i, solid in enumerate(solids)
            if (points[solid].min(axis=(0, 1)) <= low).all()
            and (points[solid].max(axis=(0, 1)) >= high).all()
        ]
        home = min(around, key=lambda i: float(np.ptp(points[solids[i]], axis=(0, 1)).max()))
        solids[home] = np.concatenate((solids[home], part))
    return solids


def read_arrays(path: Path, names: tuple[str, ...]) -> list[Any] | None:
    """Arrays stored earlier; None where there are none or the file is damaged."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            return [stored[name] for name in names]
    except Exception:  # damaged archives raise from many layers; any of them means: compute again
        return None


def write_arrays(path: Path, **arrays: NDArray[Any]) -> None:
    """Store arrays: readers see the whole file or none. A read-only folder is no error."""
    archive = io.BytesIO()
    np.savez(archive, **arrays)  # type: ignore[arg-type]
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, archive.getvalue())


def choose_spacing(
    points: Array,
    faces: IntArray,
    given: float | None = None,
    tolerance: float = 0.0,
    what: str = "Field",
) -> float:
    """The given spacing, if its grid fits, or one from thickness, size and memory [m]."""
    extent = np.ptp(points[faces], axis=(0, 1))
    size = float(extent.max())
    h = given
    if h is None:
        thin = _thickness(points, faces)
        h = float(np.clip(thin / PER_THICKNESS, FINEST * size, COARSEST * size))
        while _node_count(extent, h, tolerance) > MAX_NODES:
            h *= 1.1
    nodes = _node_count(extent, h, tolerance)
    if nodes > MAX_NODES:
        raise SceneError(
            f"{what}: a spacing of {show(given)} m makes {nodes:.3g} nodes, at most "
            f"{MAX_NODES:.3g} are accepted; give a larger spacing"
        )
    return h


def _node_count(extent: Array, h: float, tolerance: float) -> float:
    margin = max(BAND * h, 2.0 * tolerance) + h
    return float(np.prod(np.ceil((extent + 2.0 * margin) / h) + 1.0))


def _thickness(points: Array, faces: IntArray) -> float:
    """Way through the solid below which only a small share of the surface lies [m]."""
    surface = surface_of(points, faces)
    area = np.linalg.norm(
        np.cross(
            surface.corners[:, 1] - surface.corners[:, 0],
            surface.corners[:, 2] - surface.corners[:, 0],
        ),
        axis=1,
    )
    rays = int(np.clip(RAY_TESTS // len(faces), 16, len(faces)))
    chosen = np.unique(np.linspace(0, len(faces) - 1, rays).astype(np.int64))
    ways = np.empty(len(chosen))
    _ways_through(surface, chosen, ways)
    order = np.argsort(ways, kind="stable")
    share = np.cumsum(area[chosen][order])
    at = int(np.searchsorted(share, THIN_SHARE * share[-1]))
    return float(ways[order[at]])


def build(points: Array, faces: IntArray, h: float, tolerance: float = 0.0) -> Field:
    """The field of a closed surface at a spacing h, the cache left aside."""
    band = max(BAND * h, 2.0 * tolerance)
    margin = band + h
    low = points[faces].min(axis=(0, 1)) - margin
    high = points[faces].max(axis=(0, 1)) + margin
    shape = np.ceil((high - low) / h).astype(np.int64) + 1
    distance = np.full(shape, inf)
    nearest = np.full(shape, -1, dtype=np.int32)
    solids = bodies_of(points, faces)
    surfaces = [surface_of(points, solid) for solid in solids]
    first = 0
    for surface in surfaces:
        # Work in the window of this solid alone, then unite it with the others.
        corners = surface.corners
        start = np.floor((corners.min(axis=(0, 1)) - margin - low) / h).astype(np.int64)
        stop = np.ceil((corners.max(axis=(0, 1)) + margin - low) / h).astype(np.int64) + 1
        start, stop = np.maximum(start, 0), np.minimum(stop, shape)
        own = np.full(stop - start, inf)
        own_nearest = np.full(own.shape, -1, dtype=np.int32)
        origin = low + h * start
        _scan_band(surface, origin, h, band, own, own_nearest)
        _sweep(surface, origin, h, own, own_nearest, False)
        window = tuple(slice(a, b) for a, b in zip(start, stop, strict=True))
        closer = own < distance[window]
        distance[window][closer] = own[closer]
        nearest[window][closer] = own_nearest[closer] + first
        first += len(corners)
    if len(surfaces) > 1:
        everything = Surface(*(np.concatenate(arrays) for arrays in zip(*surfaces, strict=True)))
        _sweep(everything, low, h, distance, nearest, True)
    return Field(distance.astype(np.float32), low, h, margin)


def _components(points: Array, faces: IntArray) -> NDArray[np.int64]:
    """Number of the connected part that each triangle belongs to."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    tail, head = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    n = len(points)
    graph = coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    _, label = np.unique(label[faces[:, 0]], return_inverse=True)
    return label.astype(np.int64)


def _volume(points: Array, faces: IntArray) -> float:
    corners = points[faces] - points[faces[0, 0]]
    return float(np.linalg.det(corners).sum()) / 6.0


# ------------------------------------------------ use: value and gradient


@kernel
def field_value(g: Grid, x: Vec3) -> float:
    """φ(x) [m], trilinear; outside the grid a lower bound, as |∇φ| ≤ 1."""
    fx = (x[0] - g.origin[0]) / g.spacing
    fy = (x[1] - g.origin[1]) / g.spacing
    fz = (x[2] - g.origin[2]) / g.spacing
    ex, ey, ez = _beyond(fx, g.nx), _beyond(fy, g.ny), _beyond(fz, g.nz)
    inside = _trilinear(g, fx - ex, fy - ey, fz - ez)
    beyond = ex * ex + ey * ey + ez * ez
    if beyond == 0.0:
        return inside
    way = g.spacing * sqrt(beyond)
    return max(inside - way, g.margin + way)


@kernel
def _beyond(f: float, n: int) -> float:
    """How far a grid coordinate lies outside [0, n − 1]."""
    if f < 0.0:
        return f
    return max(f - (n - 1), 0.0)


@kernel
def _trilinear(g: Grid, fx: float, fy: float, fz: float) -> float:
    """Value between nodes; grid coordinates within the grid. What is no number reads no memory."""
    i = max(min(int(fx), g.nx - 2), 0)
    j = max(min(int(fy), g.ny - 2), 0)
    k = max(min(int(fz), g.nz - 2), 0)
    a, b, c = fx - i, fy - j, fz - k
    v = g.values
    at = (i * g.ny + j) * g.nz + k
    row, slab = g.nz, g.ny * g.nz
    low = (v[at] * (1.0 - c) + v[at + 1] * c) * (1.0 - b) + (
        v[at + row] * (1.0 - c) + v[at + row + 1] * c
    ) * b
    at += slab
    high = (v[at] * (1.0 - c) + v[at + 1] * c) * (1.0 - b) + (
        v[at + row] * (1.0 - c) + v[at + row + 1] * c
    ) * b
    return float(low * (1.0 - a) + high * a)


@kernel
def field_gradient(g: Grid, x: Vec3) -> Vec3:
    """∇φ(x) smoothed over one spacing: (φ(x + h e) − φ(x − h e)) / 2h along each axis."""
    h = g.spacing
    s = 0.5 / h
    return (
        s * (field_value(g, (x[0] + h, x[1], x[2])) - field_value(g, (x[0] - h, x[1], x[2]))),
        s * (field_value(g, (x[0], x[1] + h, x[2])) - field_value(g, (x[0], x[1] - h, x[2]))),
        s * (field_value(g, (x[0], x[1], x[2] + h)) - field_value(g, (x[0], x[1], x[2] - h))),
    )


@kernel
def _sample(field: Field, at: Array, values_out: Array, gradients_out: Array) -> None:
    """Values and gradients at many points."""
    nx, ny, nz = field.values.shape
    origin = (field.origin[0], field.origin[1], field.origin[2])
    g = Grid(ptr(field.values), nx, ny, nz, origin, field.spacing, field.margin)
    for i in range(at.shape[0]):
        x = (at[i, 0], at[i, 1], at[i, 2])
        values_out[i] = field_value(g, x)
        gradient = field_gradient(g, x)
        for k in range(3):
            gradients_out[i, k] = gradient[k]


# ------------------------------------------------ build


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
def _scan_band(
    surface: Surface, origin: Array, h: float, band: float, distance: Array, nearest: IntArray
) -> None:
    """Exact signed distance of all nodes within `band` of the surface, and their triangle."""
    corners, normals = ptr(surface.corners), ptr(surface.normals)
    d_out, t_out = ptr(distance), ptr(nearest)
    nx, ny, nz = distance.shape
    ox, oy, oz = origin[0], origin[1], origin[2]
    for t in range(surface.corners.shape[0]):
        a, b, c = corner(corners, t, 0), corner(corners, t, 1), corner(corners, t, 2)
        i0, i1 = _nodes_within(min(a[0], b[0], c[0]), max(a[0], b[0], c[0]), ox, h, band, nx)
        j0, j1 = _nodes_within(min(a[1], b[1], c[1]), max(a[1], b[1], c[1]), oy, h, band, ny)
        k0, k1 = _nodes_within(min(a[2], b[2], c[2]), max(a[2], b[2], c[2]), oz, h, band, nz)
        for i in range(i0, i1):
            for j in range(j0, j1):
                for k in range(k0, k1):
                    x = (ox + h * i, oy + h * j, oz + h * k)
                    squared, feature, way = nearest_on_triangle(x, a, b, c)
                    at = (i * ny + j) * nz + k
                    if squared <= band * band and squared < d_out[at] * d_out[at]:
                        n = off(normals, 21 * t + 3 * feature)
                        outside = way[0] * n[0] + way[1] * n[1] + way[2] * n[2] >= 0.0
                        d_out[at] = sqrt(squared) if outside else -sqrt(squared)
                        t_out[at] = t


@kernel
def _nodes_within(
    low: float, high: float, origin: float, h: float, band: float, n: int
) -> tuple[int, int]:
    """First and one past the last node within `band` of an interval, along one axis."""
    first = int((low - band - origin) / h)
    last = int((high + band - origin) / h) + 2
    return max(first, 0), min(last, n)


@kernel
def _sweep(
    surface: Surface,
    origin: Array,
    h: float,
    distance: Array,
    nearest: IntArray,
    outside_only: bool,
) -> None:
    """Pass nearest triangles on to nodes beyond the band, once from each corner of the grid.

    A neighbour's triangle can be nearer only if the neighbour's distance, less the spacing, is. The
    sign is the neighbour's, as no surface lies between two nodes that are both beyond it; a sign
    that is known stays. Inside a union of solids the least of their fields is final: only what is
    outside may still shrink.
    """
    corners, d, near = ptr(surface.corners), ptr(distance), ptr(nearest)
    nx, ny, nz = distance.shape
    slab, row = ny * nz, nz
    for way in range(8):
        di = 1 if way & 1 == 0 else -1
        dj = 1 if way & 2 == 0 else -1
        dk = 1 if way & 4 == 0 else -1
        for ii in range(nx):
            i = ii if di > 0 else nx - 1 - ii
            for jj in range(ny):
                j = jj if dj > 0 else ny - 1 - jj
                for kk in range(nz):
                    k = kk if dk > 0 else nz - 1 - kk
                    at = (i * ny + j) * nz + k
                    for axis in range(3):
                        if axis == 0:
                            other, there = at - di * slab, 0 < ii
                        elif axis == 1:
                            other, there = at - dj * row, 0 < jj
                        else:
                            other, there = at - dk, 0 < kk
                        if not there:
                            continue
                        t = near[other]
                        if t < 0 or t == near[at] or abs(d[other]) - h >= abs(d[at]):
                            continue
                        outside = d[other] >= 0.0
                        if near[at] >= 0 and outside != (d[at] >= 0.0):
                            continue
                        if outside_only and not outside:
                            continue
                        x = (origin[0] + h * i, origin[1] + h * j, origin[2] + h * k)
                        squared, _, _ = nearest_on_triangle(
                            x, corner(corners, t, 0), corner(corners, t, 1), corner(corners, t, 2)
                        )
                        if squared < d[at] * d[at]:
                            d[at] = sqrt(squared) if outside else -sqrt(squared)
                            near[at] = t


@kernel
def _ways_through(surface: Surface, chosen: NDArray[np.int64], ways: Array) -> None:
    """Length of the ray from the middle of each chosen triangle inwards to the other side [m]."""
    corners, normals = ptr(surface.corners), ptr(surface.normals)
    for r in range(chosen.shape[0]):
        t = chosen[r]
        a, b, c = corner(corners, t, 0), corner(corners, t, 1), corner(corners, t, 2)
        x = _middle(a, b, c)
        way = (-normals[21 * t], -normals[21 * t + 1], -normals[21 * t + 2])
        least = inf
        for s in range(surface.corners.shape[0]):
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
