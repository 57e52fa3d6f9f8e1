"""Distances at the nodes of a field: near the surface from its triangles, elsewhere passed on.

The kernels behind `field_build`. All of them work on one solid, but for the last two, which unite
the fields of several.
"""

from __future__ import annotations

from math import inf, isnan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, off, ptr
from tangere.collision.closed_surface import Surface, corner, nearest_on_triangle
from tangere.maths.vec import Array, IntArray, LongArray, Vec3

Single = NDArray[np.float32]
PtrF4 = NDArray[np.float32]

# Spacings along the side of a cell; nodes along it, and in its block. A block has the nodes of all
# its faces, so that a value is interpolated within one block.
SIDE = 8
EDGE = SIDE + 1
NODES = EDGE**3
# Nodes along the side of a part that is filled at once, and how many parts a block has.
PART = 3
PARTS = EDGE // PART
# Spacings between coarse nodes, and how many such steps a cell has along its side.
FAR = 4
STEPS = SIDE // FAR


class Lattice(NamedTuple):
    """Cells around a solid as kernels pass them on; reach: how far from the surface is exact."""

    origin: Vec3
    spacing: float
    reach: float
    nx: int
    ny: int
    nz: int


@kernel
def scan_band(
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
def balls_of(triangles: Array, balls: Array) -> None:
    """Middle and radius of every triangle."""
    corners = ptr(triangles)
    for t in range(triangles.shape[0]):
        a, b, c = corner(corners, t, 0), corner(corners, t, 1), corner(corners, t, 2)
        middle, radius = _ball(a, b, c)
        for k in range(3):
            balls[t, k] = middle[k]
        balls[t, 3] = radius


@kernel
def _squared(a: Vec3, b: Vec3) -> float:
    """|a − b|²."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return x * x + y * y + z * z


@kernel
def sweep(
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
def list_triangles(surface: Surface, lattice: Lattice, ends: LongArray, lists: IntArray) -> None:
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
def fill_blocks(
    surface: Surface,
    balls: Array,
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
        for n in range(NODES):
            block[n] = inf
        near_it = (ptr(lists), starts[b], stops[b])
        for part in range(PARTS**3):
            p, q, r = _place_of(part, PARTS, PARTS)
            p, q, r = PART * p, PART * q, PART * r
            place = (SIDE * i + p, SIDE * j + q, SIDE * k + r)
            here = off(block, (p * EDGE + q) * EDGE + r)
            _scan_part(surface, balls, near_it, lattice, place, here)
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
def _scan_part(
    surface: Surface,
    balls: Array,
    list_: tuple[PtrI4, int, int],
    lattice: Lattice,
    place: tuple[int, int, int],
    block: PtrF8,
) -> None:
    """Exact distances of PART³ nodes of a block, where they lie within reach of the surface.

    A triangle nearest to one of them is, seen from their middle, at most twice their radius further
    away than the one nearest to the middle; few are.

    balls: middle and radius of every triangle. list_: triangles near the block. place: of the first
    node; block: its value and those after it. Places are counted from the first cell, so that they
    are equal in all blocks that share a node.
    """
    corners, ball = ptr(surface.corners), ptr(balls)
    h, reach = lattice.spacing, lattice.reach
    numbers, first, last = list_
    half = 0.5 * (PART - 1)
    around = sqrt(3.0) * half * h
    x = (
        lattice.origin[0] + h * (place[0] + half),
        lattice.origin[1] + h * (place[1] + half),
        lattice.origin[2] + h * (place[2] + half),
    )
    nearest = reach + around
    for at in range(first, last):
        t = numbers[at]
        if _near_ball(off(ball, 4 * t), x, nearest):
            squared, _, _ = nearest_on_triangle(
                x, corner(corners, t, 0), corner(corners, t, 1), corner(corners, t, 2)
            )
            if squared < nearest * nearest:
                nearest = sqrt(squared)
    if nearest == reach + around:
        return
    for at in range(first, last):
        t = numbers[at]
        if not _near_ball(off(ball, 4 * t), x, nearest + 2.0 * around):
            continue
        a, b, c = corner(corners, t, 0), corner(corners, t, 1), corner(corners, t, 2)
        for n in range(PART**3):
            i, j, k = _place_of(n, PART, PART)
            m = (i * EDGE + j) * EDGE + k
            y = (
                lattice.origin[0] + h * (place[0] + i),
                lattice.origin[1] + h * (place[1] + j),
                lattice.origin[2] + h * (place[2] + k),
            )
            best = min(abs(block[m]), reach)
            if not _near_ball(off(ball, 4 * t), y, best):
                continue
            squared, feature, way = nearest_on_triangle(y, a, b, c)
            if squared < best * best:
                n_out = off(ptr(surface.normals), 21 * t + 3 * feature)
                outside = way[0] * n_out[0] + way[1] * n_out[1] + way[2] * n_out[2] >= 0.0
                block[m] = sqrt(squared) if outside else -sqrt(squared)


@kernel
def _near_ball(ball: PtrF8, x: Vec3, distance: float) -> bool:
    """Whether a point is nearer to a ball than a distance."""
    dx, dy, dz = x[0] - ball[0], x[1] - ball[1], x[2] - ball[2]
    squared: float = dx * dx + dy * dy + dz * dz
    far: float = distance + ball[3]
    return squared < far * far


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
def unite(
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
def lower_beyond_reach(lattice: Lattice, coarse: Array, places: LongArray, values: Single) -> None:
    """Lower nodes that no solid reaches to what solids allow whose windows end before them."""
    h, reach = lattice.spacing, lattice.reach
    for b in range(places.shape[0]):
        cell = (places[b, 0], places[b, 1], places[b, 2])
        for n in range(NODES):
            if values[b, n] > reach:
                far = _far_node(coarse, cell, n, h, reach)
                values[b, n] = min(values[b, n], max(far, reach))
