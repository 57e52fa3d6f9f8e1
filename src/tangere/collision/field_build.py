"""Distance fields are built: exact in a narrow band around the surface, coarse elsewhere.

Space is divided into cubic cells of 8 spacings. A cell near the surface has a block of 9³ nodes
with their exact distances, signed by the angle-weighted pseudonormal of the nearest feature
[BAERENTZEN2005]; everywhere there is a coarse grid of distances, exact around the surface and
beyond passed on from node to node, sweeping the grid from all eight corners. So memory and time
grow with the surface over the spacing squared, and with the number of triangles.

A surface of several closed parts that overlap is the union of its parts: the least of their fields.
Where one part is buried in another nothing is left of its surface.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from math import inf, isnan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import JIT_DISABLED, kernel
from tangere._ptr import PtrF8, local_f8, off, ptr
from tangere.collision.closed_surface import (
    Surface,
    bodies_of,
    corner,
    double_areas,
    nearest_on_triangle,
    surface_of,
)
from tangere.maths.vec import Array, IntArray, LongArray, Vec3

Single = NDArray[np.float32]
PtrF4 = NDArray[np.float32]
PtrI4 = NDArray[np.int32]
Tell = Callable[[float, str], None]

# Spacings along the side of a cell; nodes along it, and in its block. A block has the nodes of all
# its faces, so that a value is interpolated within one block.
SIDE = 8
EDGE = SIDE + 1
NODES = EDGE**3
# Spacings between coarse nodes, and how many such steps a cell has along its side.
FAR = 4
STEPS = SIDE // FAR
# Half width of the band in which values and gradients are exact, in spacings, and what the blocks
# reach beyond it: the corners of the cell that a point of the band lies in, and one step more.
BAND = 4.0
BEYOND = 2.0
# Half width of the band in which coarse nodes are exact, in their own spacings.
FAR_BAND = 4.0
# Cells that a thread fills before it says how far it is.
TURN = 256


class Field(NamedTuple):
    """Signed distances around a surface: blocks of fine nodes near it, coarse nodes everywhere.

    | field   | meaning                                               | shape                   |
    | values  | at the nodes of each block [m]                        | (b, 9, 9, 9) float32    |
    | table   | number of a cell's block, or −1                       | (nx, ny, nz) int32      |
    | coarse  | at the coarse nodes [m]                               | (2nx+1, …) float32      |
    | origin  | first corner of the first cell [m]                    | (3,)                    |
    | spacing | h: blocks have nodes h apart, coarse ones are 4 h     |                         |
    |         | apart, cells are 8 h wide [m]                         |                         |
    | margin  | least distance to the surface outside all blocks [m]  |                         |
    """

    values: Single
    table: IntArray
    coarse: Single
    origin: Array
    spacing: float
    margin: float

    @property
    def nbytes(self) -> int:
        """Memory [bytes]."""
        return self.values.nbytes + self.table.nbytes + self.coarse.nbytes


class Lattice(NamedTuple):
    """Cells around a solid as kernels pass them on; reach: how far from the surface is exact."""

    origin: Vec3
    spacing: float
    reach: float
    nx: int
    ny: int
    nz: int


def band_of(h: float, tolerance: float) -> float:
    """Distance from the surface up to which values are exact [m]."""
    return max(BAND * h, 2.0 * tolerance)


def margin_of(h: float, tolerance: float) -> float:
    """Least distance from the surface to points without a block, and to the border [m]."""
    return band_of(h, tolerance) + h


class Extent(NamedTuple):
    """What the size of a field depends on, beside its spacing."""

    sides: Array
    """Of the surface's box [m], shape (3,)."""
    area: float
    """Of the surface [m²]."""
    shadow: float
    """Sum of the areas that the triangles cover seen along the three axes [m²]."""
    triangles: int
    """How many there are."""

    @property
    def leg(self) -> float:
        """Of a right-angled isosceles triangle of mean area [m]."""
        return sqrt(2.0 * self.area / self.triangles)


def extent_of(points: Array, faces: IntArray) -> Extent:
    """Size, area and shadow of a surface."""
    double = double_areas(points, faces)
    sides = np.ptp(points[faces], axis=(0, 1))
    area = 0.5 * float(np.linalg.norm(double, axis=1).sum())
    return Extent(sides, area, 0.5 * float(np.abs(double).sum()), len(faces))


def estimated_bytes(extent: Extent, h: float, tolerance: float = 0.0) -> float:
    """About how much memory a field takes; known before anything is built.

    A layer of thickness t and normal n touches (t + s |n|₁) / s³ cells of side s per area. Where
    parts of the surface are near each other they share cells, so the estimate is high.
    """
    side = SIDE * h
    cells = np.ceil((extent.sides + 2.0 * margin_of(h, tolerance)) / side)
    thick = 2.0 * (margin_of(h, tolerance) + BEYOND * h)
    blocks = (thick * extent.area + side * extent.shadow) / side**3
    blocks = min(blocks, float(np.prod(cells)))
    return 4.0 * (NODES * blocks + float(np.prod(cells)) + float(np.prod(STEPS * cells + 1.0)))


def estimated_tests(extent: Extent, h: float, tolerance: float = 0.0) -> float:
    """About how many pairs of a node and a triangle are looked at in building.

    Nodes within r of a triangle fill 2 r area + π/2 r² perimeter + 4/3 π r³; twice that in its box.
    """
    r = (margin_of(h, tolerance) + BEYOND * h) / h
    leg = extent.leg / h
    return extent.triangles * (2.0 * r * leg**2 + 10.7 * r**2 * leg + 8.4 * r**3)


def build(
    points: Array, faces: IntArray, h: float, tolerance: float = 0.0, tell: Tell | None = None
) -> Field:
    """The field of a closed surface at a spacing h [m], the cache left aside.

    Args:
        points: Vertices [m], shape (n, 3).
        faces: Triangles of a closed surface, shape (t, 3).
        h: Spacing of the nodes [m].
        tolerance: Distance up to which contacts will be asked for [m].
        tell: Called with the share that is done and what is being done.
    """
    told = tell or (lambda *_: None)
    told(0.0, "parts of the surface")
    margin = margin_of(h, tolerance)
    reach = margin + h
    solids = bodies_of(points, faces)
    low = points[faces].min(axis=(0, 1)) - margin
    shape = _cells_between(low, points[faces].max(axis=(0, 1)) + margin, h)
    total, before = len(faces), 0
    parts, surfaces = [], []
    for solid in solids:
        # Each solid in its own window of the cells.
        corners = points[solid]
        start = np.floor((corners.min(axis=(0, 1)) - reach - low) / (SIDE * h)).astype(np.int64)
        start = np.clip(start, 0, shape - 1)
        stop = start + _cells_between(low + SIDE * h * start, corners.max(axis=(0, 1)) + reach, h)
        stop = np.minimum(stop, shape)
        surface = surface_of(points, solid)

        def share(done: float, doing: str, first: int = before, size: int = len(solid)) -> None:
            told((first + done * size) / total, doing)

        lattice = _lattice(low + SIDE * h * start, h, reach, stop - start)
        parts.append((start, lattice, *_one_solid(surface, lattice, share)))
        surfaces.append(surface)
        before += len(solid)
    if len(solids) == 1:
        _, _, cells, values, coarse, _ = parts[0]
    else:
        told(1.0, "union of the parts")
        cells, values, coarse = _united(surfaces, parts, low, h, shape)
    table = np.full(shape, -1, dtype=np.int32)
    table.ravel()[cells] = np.arange(len(cells))
    values = values.reshape(-1, EDGE, EDGE, EDGE)
    return Field(values, table, coarse.astype(np.float32), low, h, margin)


def _cells_between(low: Array, high: Array, h: float) -> LongArray:
    """How many cells from low on enclose high, along each axis."""
    return np.maximum(np.ceil((high - low) / (SIDE * h)).astype(np.int64), 1)


def _lattice(origin: Array, h: float, reach: float, shape: LongArray) -> Lattice:
    x, y, z = (float(v) for v in origin)
    nx, ny, nz = (int(n) for n in shape)
    return Lattice((x, y, z), h, reach, nx, ny, nz)


def _one_solid(
    surface: Surface, lattice: Lattice, tell: Tell
) -> tuple[LongArray, Single, Array, IntArray]:
    """Cells with a block and its values, coarse distances, and nearest triangles of the latter."""
    tell(0.0, "coarse distances")
    shape = (STEPS * lattice.nx + 1, STEPS * lattice.ny + 1, STEPS * lattice.nz + 1)
    coarse, nearest = np.full(shape, inf), np.full(shape, -1, dtype=np.int32)
    step, origin = FAR * lattice.spacing, np.array(lattice.origin)
    _scan_band(surface, origin, step, FAR_BAND * step, coarse, nearest)
    _sweep(surface, origin, step, coarse, nearest, False)
    tell(0.1, "triangles near each cell")
    ends = np.zeros(lattice.nx * lattice.ny * lattice.nz, dtype=np.int64)
    _list_triangles(surface, lattice, ends, np.zeros(0, dtype=np.int32))
    cells = np.flatnonzero(ends)
    ends = np.cumsum(ends)
    lists = np.empty(int(ends[-1]), dtype=np.int32)
    ends = np.concatenate(([0], ends[:-1]))
    starts = ends[cells]
    _list_triangles(surface, lattice, ends, lists)
    stops = ends[cells]
    values = np.empty((len(cells), NODES), dtype=np.float32)
    found = np.zeros(len(cells), dtype=np.bool_)

    def fill(first: int, last: int) -> int:
        _fill_blocks(
            surface, lattice, coarse, (cells, starts, stops, lists), first, last, values, found
        )
        return last - first

    _in_turns(fill, len(cells), lambda done: tell(0.2 + 0.8 * done, "distances near the surface"))
    if found.all():
        return cells, values, coarse, nearest
    return cells[found], values[found], coarse, nearest


def _in_turns(work: Callable[[int, int], int], count: int, tell: Callable[[float], None]) -> None:
    """Call work(first, last) for all of `count`, a turn at a time, on all cores."""
    turns = [(first, min(first + TURN, count)) for first in range(0, count, TURN)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    done = 0
    if JIT_DISABLED or len(turns) < 2 or not cores or cores < 2:
        for first, last in turns:
            done += work(first, last)
            tell(done / count)
        return
    done = work(*turns[0])  # compiles, if need be, before there are threads
    with ThreadPoolExecutor(cores) as pool:
        for each in as_completed([pool.submit(work, *turn) for turn in turns[1:]]):
            done += each.result()
            tell(done / count)


def _united(
    surfaces: list[Surface],
    parts: list[tuple[LongArray, Lattice, LongArray, Single, Array, IntArray]],
    low: Array,
    h: float,
    shape: LongArray,
) -> tuple[LongArray, Single, Array]:
    """Cells with a block, values and coarse distances of the union of several solids."""
    coarse = np.full(STEPS * shape + 1, inf)
    nearest = np.full(STEPS * shape + 1, -1, dtype=np.int32)
    first = 0
    numbers = []
    for surface, (start, lattice, cells, _, own, own_nearest) in zip(surfaces, parts, strict=True):
        window = tuple(slice(a, a + n) for a, n in zip(STEPS * start, own.shape, strict=True))
        closer = own < coarse[window]
        coarse[window][closer] = own[closer]
        nearest[window][closer] = own_nearest[closer] + first
        first += len(surface.corners)
        place = np.unravel_index(cells, (lattice.nx, lattice.ny, lattice.nz))
        numbers.append(np.ravel_multi_index(tuple(np.add(place, start[:, None])), tuple(shape)))
    everything = Surface(*(np.concatenate(arrays) for arrays in zip(*surfaces, strict=True)))
    _sweep(everything, low, FAR * h, coarse, nearest, True)
    together = np.unique(np.concatenate(numbers))
    values = np.full((len(together), NODES), inf, dtype=np.float32)
    places = np.stack(np.unravel_index(together, tuple(shape)), axis=1)
    for number, (start, lattice, cells, own_values, own_coarse, _) in zip(
        numbers, parts, strict=True
    ):
        own_at = np.full(len(together), -1, dtype=np.int64)
        own_at[np.searchsorted(together, number)] = np.arange(len(cells))
        _unite(
            lattice, own_coarse, np.ascontiguousarray(places - start), own_at, own_values, values
        )
    whole = _lattice(low, h, parts[0][1].reach, shape)
    _lower_beyond_reach(whole, coarse, places, values)
    # Single precision may have rounded what lies beyond reach
    left = (np.abs(values) < (1.0 - 1e-6) * whole.reach).any(axis=1)
    return together[left], values[left], coarse


# ------------------------------------------------ kernels


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
        middle, radius = _ball(a, b, c)
        i0, i1 = _nodes_within(min(a[0], b[0], c[0]), max(a[0], b[0], c[0]), ox, h, band, nx)
        j0, j1 = _nodes_within(min(a[1], b[1], c[1]), max(a[1], b[1], c[1]), oy, h, band, ny)
        k0, k1 = _nodes_within(min(a[2], b[2], c[2]), max(a[2], b[2], c[2]), oz, h, band, nz)
        for i in range(i0, i1):
            for j in range(j0, j1):
                for k in range(k0, k1):
                    at = (i * ny + j) * nz + k
                    x = (ox + h * i, oy + h * j, oz + h * k)
                    best = min(abs(d_out[at]), band)
                    if _squared(x, middle) > (best + radius) * (best + radius):
                        continue
                    squared, feature, way = nearest_on_triangle(x, a, b, c)
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
def _ball(a: Vec3, b: Vec3, c: Vec3) -> tuple[Vec3, float]:
    """Middle of a triangle's corners and the distance of the farthest [m]."""
    third = 1.0 / 3.0
    m = (
        third * (a[0] + b[0] + c[0]),
        third * (a[1] + b[1] + c[1]),
        third * (a[2] + b[2] + c[2]),
    )
    return m, sqrt(max(_squared(a, m), _squared(b, m), _squared(c, m)))


@kernel
def _squared(a: Vec3, b: Vec3) -> float:
    """|a − b|²."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return x * x + y * y + z * z


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
def _list_triangles(surface: Surface, lattice: Lattice, ends: LongArray, lists: IntArray) -> None:
    """Count the triangles within reach of each cell, or, where `lists` has room, write them down.

    ends: their number is added; while they are written, where each cell's list goes on.
    """
    corners, out, at = ptr(surface.corners), ptr(lists), ptr(ends)
    writing = lists.shape[0] > 0
    side = SIDE * lattice.spacing
    reach = lattice.reach + 0.5 * sqrt(3.0) * side
    ox, oy, oz = lattice.origin
    for t in range(surface.corners.shape[0]):
        a, b, c = corner(corners, t, 0), corner(corners, t, 1), corner(corners, t, 2)
        middle, radius = _ball(a, b, c)
        i0, i1 = _cells_within(a[0], b[0], c[0], ox, side, lattice.reach, lattice.nx)
        j0, j1 = _cells_within(a[1], b[1], c[1], oy, side, lattice.reach, lattice.ny)
        k0, k1 = _cells_within(a[2], b[2], c[2], oz, side, lattice.reach, lattice.nz)
        for i in range(i0, i1):
            for j in range(j0, j1):
                for k in range(k0, k1):
                    x = (ox + side * (i + 0.5), oy + side * (j + 0.5), oz + side * (k + 0.5))
                    if _squared(x, middle) > (reach + radius) * (reach + radius):
                        continue
                    squared, _, _ = nearest_on_triangle(x, a, b, c)
                    if squared <= reach * reach:
                        cell = (i * lattice.ny + j) * lattice.nz + k
                        if writing:
                            out[at[cell]] = t
                        at[cell] += 1


@kernel
def _cells_within(
    a: float, b: float, c: float, origin: float, side: float, reach: float, n: int
) -> tuple[int, int]:
    """First and one past the last cell within reach of three coordinates, along one axis."""
    first = int((min(a, b, c) - reach - origin) / side)
    last = int((max(a, b, c) + reach - origin) / side) + 1
    return max(first, 0), min(last, n)


@kernel
def _fill_blocks(
    surface: Surface,
    lattice: Lattice,
    coarse: Array,
    near: tuple[LongArray, LongArray, LongArray, IntArray],
    first: int,
    last: int,
    values: Single,
    found: NDArray[np.bool_],
) -> None:
    """Values of some blocks, and whether any of their nodes is within reach of the surface.

    near: cell of each block, where its triangles begin and end in a list, and that list.
    """
    cells, starts, stops, lists = near
    h, reach = lattice.spacing, lattice.reach
    block = local_f8(NODES)
    for b in range(first, last):
        cell = cells[b]
        i, j, k = _place_of(cell, lattice.ny, lattice.nz)
        x = (
            lattice.origin[0] + h * (SIDE * i),
            lattice.origin[1] + h * (SIDE * j),
            lattice.origin[2] + h * (SIDE * k),
        )
        for n in range(NODES):
            block[n] = inf
        for at in range(starts[b], stops[b]):
            _scan_block(surface, lists[at], x, h, reach, block)
        found[b] = _spread_signs(block)
        if not found[b]:
            continue
        for n in range(NODES):
            value = block[n]
            if abs(value) == inf:
                value = _far_node(coarse, (i, j, k), n, h, reach)
                value = max(value, reach) if block[n] > 0.0 else min(value, -reach)
            values[b, n] = value


@kernel
def _place_of(cell: int, ny: int, nz: int) -> tuple[int, int, int]:
    """The three numbers of a cell."""
    return cell // (ny * nz), cell // nz % ny, cell % nz


@kernel
def _scan_block(
    surface: Surface, t: int, origin: Vec3, h: float, reach: float, block: PtrF8
) -> None:
    """Take one triangle into account at those nodes of a block that lie within reach of it."""
    corners = ptr(surface.corners)
    a, b, c = corner(corners, t, 0), corner(corners, t, 1), corner(corners, t, 2)
    ox, oy, oz = origin
    middle, radius = _ball(a, b, c)
    i0, i1 = _nodes_within(min(a[0], b[0], c[0]), max(a[0], b[0], c[0]), ox, h, reach, EDGE)
    j0, j1 = _nodes_within(min(a[1], b[1], c[1]), max(a[1], b[1], c[1]), oy, h, reach, EDGE)
    k0, k1 = _nodes_within(min(a[2], b[2], c[2]), max(a[2], b[2], c[2]), oz, h, reach, EDGE)
    widest = (reach + radius) * (reach + radius)
    for i in range(i0, i1):
        dx = ox + h * i - middle[0]
        for j in range(j0, j1):
            dy = oy + h * j - middle[1]
            row = dx * dx + dy * dy
            if row > widest:
                continue
            for k in range(k0, k1):
                at = (i * EDGE + j) * EDGE + k
                dz = oz + h * k - middle[2]
                best = min(abs(block[at]), reach)
                if row + dz * dz > (best + radius) * (best + radius):
                    continue
                x = (ox + h * i, oy + h * j, oz + h * k)
                squared, feature, way = nearest_on_triangle(x, a, b, c)
                if squared < best * best:
                    n = off(ptr(surface.normals), 21 * t + 3 * feature)
                    outside = way[0] * n[0] + way[1] * n[1] + way[2] * n[2] >= 0.0
                    block[at] = sqrt(squared) if outside else -sqrt(squared)


@kernel
def _spread_signs(block: PtrF8) -> bool:
    """Give nodes beyond reach the sign of a neighbour, as ±∞; whether any node is within reach.

    No surface lies between two neighbours of which one is further from it than a spacing.
    """
    known = 0
    for n in range(NODES):
        if block[n] == inf:
            block[n] = np.nan
        else:
            known += 1
    if known == 0:
        return False
    while known < NODES:
        for m in range(2 * NODES):
            n = m if m < NODES else 2 * NODES - 1 - m
            if not isnan(block[n]):
                continue
            i, j, k = _place_of(n, EDGE, EDGE)
            sign = 0.0
            if i > 0:
                sign = _sign_of(block[n - EDGE * EDGE], sign)
            if i < SIDE:
                sign = _sign_of(block[n + EDGE * EDGE], sign)
            if j > 0:
                sign = _sign_of(block[n - EDGE], sign)
            if j < SIDE:
                sign = _sign_of(block[n + EDGE], sign)
            if k > 0:
                sign = _sign_of(block[n - 1], sign)
            if k < SIDE:
                sign = _sign_of(block[n + 1], sign)
            if sign != 0.0:
                block[n] = sign * inf
                known += 1
    return True


@kernel
def _sign_of(value: float, other: float) -> float:
    """Sign of a value, if it is known, else another."""
    if isnan(value):
        return other
    return 1.0 if value >= 0.0 else -1.0


@kernel
def _far_node(coarse: Array, cell: tuple[int, int, int], n: int, h: float, reach: float) -> float:
    """Value of a node of a cell beyond reach of the surface, from the coarse nodes [m]."""
    i, j, k = _place_of(n, EDGE, EDGE)
    i, j, k = SIDE * cell[0] + i, SIDE * cell[1] + j, SIDE * cell[2] + k
    ci = min(i // FAR, coarse.shape[0] - 2)
    cj = min(j // FAR, coarse.shape[1] - 2)
    ck = min(k // FAR, coarse.shape[2] - 2)
    step = 1.0 / FAR
    a, b, c = step * i - ci, step * j - cj, step * k - ck
    slab, row = coarse.shape[1] * coarse.shape[2], coarse.shape[2]
    v = off(ptr(coarse), ci * slab + cj * row + ck)
    value = trilinear(v, a, b, c, slab, row)
    if value > 0.0:
        return max(value - FAR * h * slack(a, b, c), reach)
    return min(value, -reach)


@kernel
def trilinear(v: PtrF4, a: float, b: float, c: float, slab: int, row: int) -> float:
    """Value between eight nodes, the first at v[0]; a, b, c: place between them, 0 to 1."""
    low = (v[0] * (1.0 - c) + v[1] * c) * (1.0 - b) + (v[row] * (1.0 - c) + v[row + 1] * c) * b
    v = off(v, slab)
    high = (v[0] * (1.0 - c) + v[1] * c) * (1.0 - b) + (v[row] * (1.0 - c) + v[row + 1] * c) * b
    return float(low * (1.0 - a) + high * a)


@kernel
def slack(a: float, b: float, c: float) -> float:
    """How far a distance may be below its trilinear value between nodes a unit apart.

    The value is a mean of the nodes' with weights w; as |∇φ| ≤ 1 each of them is larger by its
    distance r at most: Σ w r ≤ √(Σ w r²), which is the root of a sum of variances. a, b, c: place
    between the nodes, 0 to 1.
    """
    return sqrt(a * (1.0 - a) + b * (1.0 - b) + c * (1.0 - c))


@kernel
def _unite(
    lattice: Lattice,
    coarse: Array,
    places: LongArray,
    own_at: LongArray,
    own: Single,
    values: Single,
) -> None:
    """Let the values of some blocks be no larger than those of one solid.

    places: cells of the blocks in the solid's window; own_at: which of its own blocks, or −1.
    """
    h, reach = lattice.spacing, lattice.reach
    for b in range(places.shape[0]):
        block = own_at[b]
        if block >= 0:
            for n in range(NODES):
                values[b, n] = min(values[b, n], own[block, n])
            continue
        i, j, k = places[b, 0], places[b, 1], places[b, 2]
        if not (0 <= i < lattice.nx and 0 <= j < lattice.ny and 0 <= k < lattice.nz):
            continue  # at least a margin away from this solid
        for n in range(NODES):
            values[b, n] = min(values[b, n], _far_node(coarse, (i, j, k), n, h, reach))


@kernel
def _lower_beyond_reach(lattice: Lattice, coarse: Array, places: LongArray, values: Single) -> None:
    """Lower nodes that no solid reaches to what solids allow whose windows end before them."""
    h, reach = lattice.spacing, lattice.reach
    for b in range(places.shape[0]):
        cell = (places[b, 0], places[b, 1], places[b, 2])
        for n in range(NODES):
            if values[b, n] > reach:
                far = _far_node(coarse, cell, n, h, reach)
                values[b, n] = min(values[b, n], max(far, reach))
