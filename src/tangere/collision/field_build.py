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
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import JIT_DISABLED
from tangere.collision.closed_surface import Surface, bodies_of, double_areas, surface_of
from tangere.collision.field_nodes import (
    EDGE,
    FAR,
    NODES,
    SIDE,
    STEPS,
    Lattice,
    balls_of,
    fill_blocks,
    list_triangles,
    lower_beyond_reach,
    scan_band,
    sweep,
    unite,
)
from tangere.maths.vec import Array, IntArray, LongArray

Single = NDArray[np.float32]
Tell = Callable[[float, str], None]

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
    scan_band(surface, origin, step, FAR_BAND * step, coarse, nearest)
    sweep(surface, origin, step, coarse, nearest, False)
    tell(0.1, "triangles near each cell")
    ends = np.zeros(lattice.nx * lattice.ny * lattice.nz, dtype=np.int64)
    list_triangles(surface, lattice, ends, np.zeros(0, dtype=np.int32))
    cells = np.flatnonzero(ends)
    ends = np.cumsum(ends)
    lists = np.empty(int(ends[-1]), dtype=np.int32)
    ends = np.concatenate(([0], ends[:-1]))
    starts = ends[cells]
    list_triangles(surface, lattice, ends, lists)
    stops = ends[cells]
    balls = np.empty((len(surface.corners), 4))
    balls_of(surface.corners, balls)
    values = np.empty((len(cells), NODES), dtype=np.float32)
    found = np.zeros(len(cells), dtype=np.bool_)

    def fill(first: int, last: int) -> int:
        fill_blocks(
            surface,
            balls,
            lattice,
            coarse,
            (cells, starts, stops, lists),
            first,
            last,
            values,
            found,
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
    sweep(everything, low, FAR * h, coarse, nearest, True)
    together = np.unique(np.concatenate(numbers))
    values = np.full((len(together), NODES), inf, dtype=np.float32)
    places = np.stack(np.unravel_index(together, tuple(shape)), axis=1)
    for number, (start, lattice, cells, own_values, own_coarse, _) in zip(
        numbers, parts, strict=True
    ):
        own_at = np.full(len(together), -1, dtype=np.int64)
        own_at[np.searchsorted(together, number)] = np.arange(len(cells))
        unite(lattice, own_coarse, np.ascontiguousarray(places - start), own_at, own_values, values)
    whole = _lattice(low, h, parts[0][1].reach, shape)
    lower_beyond_reach(whole, coarse, places, values)
    # Single precision may have rounded what lies beyond reach
    left = (np.abs(values) < (1.0 - 1e-6) * whole.reach).any(axis=1)
    return together[left], values[left], coarse
