"""Signed distance fields of closed surfaces, negative inside [m]: where to get them, and their use.

Near the surface the value is trilinear between nodes with exact distances, and the gradient is the
central difference of that over one spacing to each side, so both are continuous. Beyond this band
the field is coarse: outside a lower bound of the distance, inside an approximation that grows with
depth. `field_build` says how fields are made; they are kept on disk under a hash of the surface and
the settings.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tangere._jit import cache_root, kernel
from tangere._ptr import PtrI4, off, ptr
from tangere.collision.closed_surface import thickness
from tangere.collision.field_build import (
    Extent,
    Field,
    Tell,
    build,
    estimated_bytes,
    estimated_tests,
    extent_of,
)
from tangere.collision.field_nodes import (
    EDGE,
    FAR,
    NODES,
    SIDE,
    STEPS,
    slack,
    trilinear,
)
from tangere.errors import SceneError
from tangere.geometry.checks import show
from tangere.geometry.disk_cache import content_hash, read_arrays, write_arrays
from tangere.geometry.mesh import checked_mesh
from tangere.maths.vec import Array, IntArray, Vec3

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

Single = NDArray[np.float32]
PtrF4 = NDArray[np.float32]

# Spacing: a quarter of the thickness, and no coarser than the triangles or than this share of the
# size; never finer than this share, as far as memory allows.
PER_THICKNESS = 4.0
FINEST, COARSEST = 1.0 / 1000.0, 1.0 / 64.0
# Memory of a field [bytes]: what the choice of a spacing keeps to, and what is accepted at most.
USUAL_BYTES = 128e6
MAX_BYTES = 512e6
# Nodes times triangles looked at in building: some minutes.
MAX_TESTS = 5e10
# Strides of a block's values.
SLAB, ROW = EDGE * EDGE, EDGE
CACHE_FORMAT = "tangere-field-3"
CACHE_FOLDER = "fields"
BAR_DELAY = 1.0  # before work shows how far it is [s]

Made = TypeVar("Made")


# Of the four nodes of a plane
Weights = tuple[float, float, float, float]


class Grid(NamedTuple):
    """A field as kernels pass it on; nx, ny, nz count cells."""

    values: PtrF4
    table: PtrI4
    coarse: PtrF4
    nx: int
    ny: int
    nz: int
    origin: Vec3
    spacing: float
    margin: float


def distance_field(
    vertices: ArrayLike,
    triangles: ArrayLike,
    *,
    spacing: float | None = None,
    tolerance: float = 0.0,
    what: str = "Field",
    tell: Tell | None = None,
) -> Field:
    """Signed distance field of a closed surface, from the cache where it was built before.

    Args:
        vertices: [m], shape (n, 3).
        triangles: Vertex indices, counter-clockwise seen from outside, shape (t, 3). Parts that
            are closed in themselves may overlap.
        spacing: Of the nodes near the surface [m]; None: from the thickness and the triangles of
            the body, within limits of size and memory.
        tolerance: Distance up to which contacts will be asked for [m].
        what: Name of the body for errors.
        tell: Called with the share that is done and what is being done; None: a bar on the
            terminal, if it takes long.

    Raises:
        SceneError: The surface is open or encloses nothing, or the spacing asks for more memory
            or time than a field may take.
    """
    path = field_path(vertices, triangles, spacing, tolerance)
    stored = read_arrays(path)
    if stored is not None:
        h, margin = (float(v) for v in stored["lengths"])
        return Field(
            stored["values"], stored["table"], stored["coarse"], stored["origin"], h, margin
        )
    points, faces = checked_mesh(vertices, triangles, what)
    h = choose_spacing(points, faces, spacing, tolerance, what)
    field = shown(f"{what}: distance field", tell, lambda t: build(points, faces, h, tolerance, t))
    arrays: dict[str, NDArray[Any]] = {
        "values": field.values,
        "table": field.table,
        "coarse": field.coarse,
        "origin": field.origin,
        "lengths": np.array([field.spacing, field.margin]),
    }
    write_arrays(path, arrays)
    return field


def field_path(
    vertices: ArrayLike, triangles: ArrayLike, spacing: float | None, tolerance: float
) -> Path:
    """File that a field is kept in, if it was built before."""
    points = np.ascontiguousarray(vertices, dtype="<f8")
    faces = np.ascontiguousarray(triangles, dtype="<i4")
    key = content_hash((CACHE_FORMAT, spacing, tolerance, USUAL_BYTES, points, faces))
    return cache_root() / CACHE_FOLDER / f"{key}.npz"


def shown(name: str, tell: Tell | None, work: Callable[[Tell], Made]) -> Made:
    """What some work makes that tells how far it is, by default on a bar if it takes long."""
    if tell is not None:
        return work(tell)
    from tangere.fem.progress import Progress

    with Progress(name, 1000, delay=BAR_DELAY) as bar:
        return work(lambda done, _: bar.reach(round(1000 * done)))


def sample_field(field: Field, points: ArrayLike) -> tuple[Array, Array]:
    """Values [m] and gradients of a field at points, shapes (n,) and (n, 3)."""
    at = np.ascontiguousarray(points, dtype=np.float64).reshape(-1, 3)
    values, gradients = np.empty(len(at)), np.empty((len(at), 3))
    _sample(field, at, values, gradients)
    return values, gradients


def choose_spacing(
    points: Array,
    faces: IntArray,
    given: float | None = None,
    tolerance: float = 0.0,
    what: str = "Field",
) -> float:
    """The given spacing, if its field fits, or one from thickness, triangles and memory [m].

    Raises:
        SceneError: The given spacing asks for more memory than a field may have, or minutes.
    """
    extent = extent_of(points, faces)
    if given is None:
        size = float(extent.sides.max())
        # A mesh of fine triangles has something to tell
        wanted = min(thickness(points, faces) / PER_THICKNESS, extent.leg)
        h = float(np.clip(wanted, FINEST * size, COARSEST * size))
        while not _affordable(extent, h, tolerance, USUAL_BYTES):
            h *= 1.05
        return h
    remedy = given
    while not _affordable(extent, remedy, tolerance, MAX_BYTES):
        remedy *= 1.05
    if remedy > given:
        raise SceneError(
            f"{what}: a field of spacing {show(given)} m at a tolerance of {tolerance:g} m takes "
            f"{estimated_bytes(extent, given, tolerance) / 1e6:.3g} MB and "
            f"{estimated_tests(extent, given, tolerance):.2g} distance tests, at most "
            f"{MAX_BYTES / 1e6:.0f} MB and {MAX_TESTS:.0e} are accepted; give a spacing of "
            f"{remedy:.2g} m or more, or a smaller tolerance"
        )
    return given


def _affordable(extent: Extent, h: float, tolerance: float, most: float) -> bool:
    """Whether a field takes no more than so many bytes, and a few minutes to build."""
    return (
        estimated_bytes(extent, h, tolerance) <= most
        and estimated_tests(extent, h, tolerance) <= MAX_TESTS
    )


# ------------------------------------------------ kernels


@kernel
def field_value(g: Grid, x: Vec3) -> float:
    """φ(x) [m], trilinear near the surface; elsewhere coarse, a lower bound if outside."""
    inverse = 1.0 / g.spacing
    fx = (x[0] - g.origin[0]) * inverse
    fy = (x[1] - g.origin[1]) * inverse
    fz = (x[2] - g.origin[2]) * inverse
    ex, ey, ez = _beyond(fx, g.nx), _beyond(fy, g.ny), _beyond(fz, g.nz)
    fx, fy, fz = fx - ex, fy - ey, fz - ez
    i, j, k = _index(fx, g.nx), _index(fy, g.ny), _index(fz, g.nz)
    block = g.table[((i >> 3) * g.ny + (j >> 3)) * g.nz + (k >> 3)]
    if block >= 0:
        at = NODES * block + SLAB * (i & 7) + ROW * (j & 7) + (k & 7)
        inside = trilinear(off(g.values, at), fx - i, fy - j, fz - k, SLAB, ROW)
    else:
        inside = _far_value(g, fx, fy, fz, i >> 2, j >> 2, k >> 2)
    beyond = ex * ex + ey * ey + ez * ez
    if beyond == 0.0:
        return inside
    way = g.spacing * sqrt(beyond)
    return max(inside - way, g.margin + way)


@kernel
def _beyond(f: float, cells: int) -> float:
    """How far a place, in spacings, lies outside the cells along an axis."""
    if f < 0.0:
        return f
    return max(f - SIDE * cells, 0.0)


@kernel
def _index(f: float, cells: int) -> int:
    """The node below a place; what is no number is given one, so that it reads no memory."""
    return max(min(int(f), SIDE * cells - 1), 0)


@kernel
def _far_value(g: Grid, fx: float, fy: float, fz: float, i: int, j: int, k: int) -> float:
    """Value in a cell without a block: its distance to the surface is the margin at least."""
    step = 1.0 / FAR
    a, b, c = step * fx - i, step * fy - j, step * fz - k
    value = _coarse_value(g, a, b, c, i, j, k)
    if value > 0.0:
        return max(value - FAR * g.spacing * slack(a, b, c), g.margin)
    return min(value, -g.margin)


@kernel
def _coarse_value(g: Grid, a: float, b: float, c: float, i: int, j: int, k: int) -> float:
    """Value between coarse nodes; a, b, c: place between them, 0 to 1."""
    row = STEPS * g.nz + 1
    slab = (STEPS * g.ny + 1) * row
    return trilinear(off(g.coarse, i * slab + j * row + k), a, b, c, slab, row)


@kernel
def field_gradient(g: Grid, x: Vec3) -> Vec3:
    """∇φ(x) smoothed over one spacing: (φ(x + h e) − φ(x − h e)) / 2h along each axis."""
    _, gradient = field_value_gradient(g, x)
    return gradient


@kernel
def field_value_gradient(g: Grid, x: Vec3) -> tuple[float, Vec3]:
    """φ(x) and ∇φ(x) at once.

    φ(x ± h e) is trilinear in the next cube of nodes, at the same place within it. So along each
    axis four means over four nodes suffice, of the planes −1, 0, 1, 2 seen from the node below x:
    32 nodes instead of the 56 of seven values, and one look at the table, but at faces of a block.
    """
    inverse = 1.0 / g.spacing
    fx = (x[0] - g.origin[0]) * inverse
    fy = (x[1] - g.origin[1]) * inverse
    fz = (x[2] - g.origin[2]) * inverse
    i, j, k = _index(fx, g.nx), _index(fy, g.ny), _index(fz, g.nz)
    ci, cj, ck = i >> 3, j >> 3, k >> 3
    cell = (ci * g.ny + cj) * g.nz + ck
    block = g.table[cell]
    a, b, c = fx - i, fy - j, fz - k
    within = 0.0 <= a <= 1.0 and 0.0 <= b <= 1.0 and 0.0 <= c <= 1.0
    if block < 0 or not within:
        return field_value(g, x), _far_gradient(g, x)
    i, j, k = i & 7, j & 7, k & 7
    at = NODES * block + SLAB * i + ROW * j + k
    u, v, w = 1.0 - a, 1.0 - b, 1.0 - c
    value, along_x = _slope(
        g, (at, SLAB, ROW, 1), (v * w, v * c, b * w, b * c), (u, a),
        (i, cell, g.ny * g.nz, ci, g.nx),
    )  # fmt: skip
    _, along_y = _slope(
        g, (at, ROW, SLAB, 1), (u * w, u * c, a * w, a * c), (v, b), (j, cell, g.nz, cj, g.ny)
    )
    _, along_z = _slope(
        g, (at, 1, SLAB, ROW), (u * v, u * b, a * v, a * b), (w, c), (k, cell, 1, ck, g.nz)
    )
    half = 0.5 * inverse
    return value, (half * along_x, half * along_y, half * along_z)


@kernel
def _slope(
    g: Grid,
    node: tuple[int, int, int, int],
    across: Weights,
    along: tuple[float, float],
    place: tuple[int, int, int, int, int],
) -> tuple[float, float]:
    """φ(x), and φ(x + h e) − φ(x − h e) for one axis e [m].

    A plane beyond the block is taken from the next one; where there is none, far from the surface,
    it goes on as between the nodes of x.

    node: the one below x, and the strides along the axis and across. across, along: weights of the
    nodes of a plane, and of the planes 0 and 1. place: of the node in its block along the axis; its
    cell and the step to the next one; of the cell along the axis, and how many there are.
    """
    at, stride, s, t = node
    i, cell, step, c, cells = place
    m0, m1 = _mean(g.values, at, s, t, across), _mean(g.values, at + stride, s, t, across)
    before, after = 2.0 * m0 - m1, 2.0 * m1 - m0
    if i > 0:
        before = _mean(g.values, at - stride, s, t, across)
    elif c > 0:
        home, other = g.table[cell], g.table[cell - step]
        if other >= 0:
            there = at + NODES * (other - home) + (SIDE - 1) * stride
            before = _mean(g.values, there, s, t, across)
    if i < SIDE - 1:
        after = _mean(g.values, at + 2 * stride, s, t, across)
    elif c < cells - 1:
        home, other = g.table[cell], g.table[cell + step]
        if other >= 0:
            there = at + NODES * (other - home) + (2 - SIDE) * stride
            after = _mean(g.values, there, s, t, across)
    return along[0] * m0 + along[1] * m1, along[0] * (m1 - before) + along[1] * (after - m0)


@kernel
def _mean(v: PtrF4, at: int, s: int, t: int, w: Weights) -> float:
    """Mean over four nodes of a plane, the first at v[at]; s, t: strides in it."""
    return float(w[0] * v[at] + w[1] * v[at + t] + w[2] * v[at + s] + w[3] * v[at + s + t])


@kernel
def _far_gradient(g: Grid, x: Vec3) -> Vec3:
    """∇φ between coarse nodes: central differences over one of their spacings to each side."""
    h = FAR * g.spacing
    s = 0.5 / h
    return (
        s * (_far_estimate(g, x, h, 0) - _far_estimate(g, x, -h, 0)),
        s * (_far_estimate(g, x, h, 1) - _far_estimate(g, x, -h, 1)),
        s * (_far_estimate(g, x, h, 2) - _far_estimate(g, x, -h, 2)),
    )


@kernel
def _far_estimate(g: Grid, x: Vec3, step: float, axis: int) -> float:
    """The distance a step away along an axis, from the coarse nodes; no bound [m]."""
    inverse = 1.0 / (FAR * g.spacing)
    fx = (x[0] + (step if axis == 0 else 0.0) - g.origin[0]) * inverse
    fy = (x[1] + (step if axis == 1 else 0.0) - g.origin[1]) * inverse
    fz = (x[2] + (step if axis == 2 else 0.0) - g.origin[2]) * inverse
    nx, ny, nz = STEPS * g.nx, STEPS * g.ny, STEPS * g.nz
    ux, uy, uz = _clip(fx, nx), _clip(fy, ny), _clip(fz, nz)
    i, j, k = min(int(ux), nx - 1), min(int(uy), ny - 1), min(int(uz), nz - 1)
    value = _coarse_value(g, ux - i, uy - j, uz - k, i, j, k)
    ex, ey, ez = fx - ux, fy - uy, fz - uz
    return value + FAR * g.spacing * sqrt(ex * ex + ey * ey + ez * ez)


@kernel
def _clip(f: float, n: int) -> float:
    """The value in [0, n] nearest to f; 0 for what is no number."""
    return max(0.0, min(f, float(n)))


@kernel
def _sample(field: Field, at: Array, values_out: Array, gradients_out: Array) -> None:
    """Values and gradients at many points."""
    g = grid_of(field)
    for i in range(at.shape[0]):
        value, gradient = field_value_gradient(g, (at[i, 0], at[i, 1], at[i, 2]))
        values_out[i] = value
        for k in range(3):
            gradients_out[i, k] = gradient[k]


@kernel
def grid_of(field: Field) -> Grid:
    """A field as kernels pass it on."""
    nx, ny, nz = field.table.shape
    origin = (field.origin[0], field.origin[1], field.origin[2])
    return Grid(
        ptr(field.values), ptr(field.table), ptr(field.coarse), nx, ny, nz, origin, field.spacing,
        field.margin,
    )  # fmt: skip
