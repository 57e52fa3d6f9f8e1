"""How far a simplified surface is from the one it was made of.

Fine to coarse it is an upper bound: the distance to one triangle is a convex function, so over a
fine triangle it is largest at a corner, and the least such maximum over the coarse triangles around
bounds the whole. Where that is far above what the corners alone say, as for a triangle across the
edge between two coarse ones, the triangle is cut into four, and those again, six times at most.
Coarse to fine the distance is sampled, at fifteen points of every coarse triangle.

Inflation is exact: the distance to a hull is a convex function too, so the corners decide.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i4, local_i8, off, ptr
from tangere.collision.closed_surface import nearest_on_triangle
from tangere.collision.gjk import gjk
from tangere.maths.vec import Array, LongArray, Vec3, add, norm, scale, sub

SPLITS = 6
# The bound may exceed what the corners say by this part of it and by this part of a coarse edge.
TIGHT, FLOOR = 1.05, 0.01
SAMPLES = 4  # intervals along each side of a coarse triangle


def deviations(
    fine: tuple[Array, LongArray],
    coarse: tuple[Array, LongArray],
    around: LongArray,
    most: int,
) -> tuple[Array, Array]:
    """Distance of each fine triangle to a coarse mesh, and back [m], each by piece.

    Args:
        fine: Corners of the triangles [m], shape (t, 3, 3), and the piece of each.
        coarse: The same of the simplified mesh.
        around: Pieces next to each piece, itself first, then −1, shape (p, k).
        most: Number of pieces.
    """
    there, back = np.zeros(most), np.zeros(most)
    lists = [_sorted(corners, piece, most) for corners, piece in (fine, coarse)]
    (fine_corners, fine_balls, fine_start), (coarse_corners, coarse_balls, coarse_start) = lists
    _to_coarse(
        fine_corners, fine_balls, fine_start, coarse_corners, coarse_balls, coarse_start, around,
        there,
    )  # fmt: skip
    _to_fine(coarse_corners, coarse_start, fine_corners, fine_balls, fine_start, around, back)
    return there, back


def _sorted(corners: Array, piece: LongArray, most: int) -> tuple[Array, Array, LongArray]:
    """Triangles piece by piece, balls around them, and where each piece begins."""
    order = np.argsort(piece, kind="stable")
    rows = np.ascontiguousarray(corners[order])
    middle = rows.mean(axis=1)
    radius = np.linalg.norm(rows - middle[:, None], axis=2).max(axis=1, initial=0.0)
    start = np.searchsorted(piece[order], np.arange(most + 1)).astype(np.int64)
    return rows, np.column_stack((middle, radius)), start


@kernel
def _to_coarse(
    fine: Array,
    fine_balls: Array,
    fine_start: LongArray,
    coarse: Array,
    coarse_balls: Array,
    coarse_start: LongArray,
    around: LongArray,
    out: Array,
) -> None:
    """Upper bound of the distance of every piece's fine triangles from the coarse mesh."""
    rows, balls = ptr(coarse), ptr(coarse_balls)
    stack, depth = local_f8(198), local_i8(22)  # 3 SPLITS + 4 triangles
    for p in range(out.shape[0]):
        least = 0.0
        for t in range(fine_start[p], fine_start[p + 1]):
            row = off(ptr(fine), 9 * t)
            for k in range(3):
                least = max(
                    least, _distance(_corner(row, k), rows, balls, ptr(coarse_start), around, p)
                )
        edge = 0.0
        for t in range(coarse_start[p], coarse_start[p + 1]):
            edge = max(edge, balls[4 * t + 3])
        out[p] = TIGHT * least + FLOOR * edge
        for t in range(fine_start[p], fine_start[p + 1]):
            for k in range(9):
                stack[k] = fine[t, k // 3, k % 3]
            depth[0] = 0
            waiting = 1
            while waiting > 0:
                waiting -= 1
                at = off(stack, 9 * waiting)
                level = depth[waiting]
                high = _bound(at, rows, balls, ptr(coarse_start), around, p, out[p])
                if high <= out[p]:
                    continue
                if level == SPLITS:
                    out[p] = high
                    continue
                _quarter(at)
                for k in range(4):
                    depth[waiting + k] = level + 1
                waiting += 4


@kernel
def _quarter(at: PtrF8) -> None:
    """Write the four quarters of a triangle over it and behind it."""
    a, b, c = _corner(at, 0), _corner(at, 1), _corner(at, 2)
    ab, bc, ca = scale(0.5, add(a, b)), scale(0.5, add(b, c)), scale(0.5, add(c, a))
    _put(at, 0, a, ab, ca)
    _put(at, 1, ab, b, bc)
    _put(at, 2, ca, bc, c)
    _put(at, 3, ab, bc, ca)


@kernel
def _corner(at: PtrF8, i: int) -> Vec3:
    """Corner i of a triangle."""
    return (at[3 * i], at[3 * i + 1], at[3 * i + 2])


@kernel
def _put(at: PtrF8, t: int, a: Vec3, b: Vec3, c: Vec3) -> None:
    """Write triangle number t."""
    for k in range(3):
        at[9 * t + k], at[9 * t + 3 + k], at[9 * t + 6 + k] = a[k], b[k], c[k]


@kernel
def _bound(
    at: PtrF8, rows: PtrF8, balls: PtrF8, start: PtrI8, around: LongArray, p: int, enough: float
) -> float:
    """Upper bound of the farthest distance of a triangle from the pieces around p [m].

    No better one is sought than `enough`.
    """
    a, b, c = _corner(at, 0), _corner(at, 1), _corner(at, 2)
    middle = scale(1.0 / 3.0, add(add(a, b), c))
    high = inf
    for k in range(around.shape[1]):
        q = around[p, k]
        if q < 0 or high <= enough:
            break
        for t in range(start[q], start[q + 1]):
            # farther than `high` from the middle: cannot improve the bound
            ball = off(balls, 4 * t)
            if norm(sub(middle, (ball[0], ball[1], ball[2]))) - ball[3] > high:
                continue
            row = off(rows, 9 * t)
            i, j, m = _corner(row, 0), _corner(row, 1), _corner(row, 2)
            da, _, _ = nearest_on_triangle(a, i, j, m)
            db, _, _ = nearest_on_triangle(b, i, j, m)
            dc, _, _ = nearest_on_triangle(c, i, j, m)
            if da + db + dc >= 0.0:  # not so for NaN, of a triangle without area
                high = min(high, sqrt(max(da, db, dc)))
    return high


@kernel
def _to_fine(
    coarse: Array,
    coarse_start: LongArray,
    fine: Array,
    fine_balls: Array,
    fine_start: LongArray,
    around: LongArray,
    out: Array,
) -> None:
    """Largest distance of sample points of every piece's coarse triangles from the fine mesh."""
    rows, balls = ptr(fine), ptr(fine_balls)
    for p in range(out.shape[0]):
        for t in range(coarse_start[p], coarse_start[p + 1]):
            row = off(ptr(coarse), 9 * t)
            a, b, c = _corner(row, 0), _corner(row, 1), _corner(row, 2)
            for i in range(SAMPLES + 1):
                for j in range(SAMPLES + 1 - i):
                    u, v = i / SAMPLES, j / SAMPLES
                    x = add(add(scale(1.0 - u - v, a), scale(u, b)), scale(v, c))
                    out[p] = max(out[p], _distance(x, rows, balls, ptr(fine_start), around, p))


@kernel
def _distance(x: Vec3, rows: PtrF8, balls: PtrF8, start: PtrI8, around: LongArray, p: int) -> float:
    """Distance of a point from the triangles of the pieces around p [m]."""
    best = inf
    for k in range(around.shape[1]):
        q = around[p, k]
        if q < 0:
            break
        for t in range(start[q], start[q + 1]):
            ball = off(balls, 4 * t)
            if norm(sub(x, (ball[0], ball[1], ball[2]))) - ball[3] >= best:
                continue
            row = off(rows, 9 * t)
            squared, _, _ = nearest_on_triangle(
                x, _corner(row, 0), _corner(row, 1), _corner(row, 2)
            )
            if squared < best * best:  # also false for NaN, of a triangle without area
                best = sqrt(squared)
    return best


@kernel
def inflations(
    points: Array, point_start: LongArray, hulls: Array, hull_start: LongArray, out: Array
) -> None:
    """How far the points of each piece stick out of its hull [m]."""
    x, hull = ptr(points), ptr(hulls)
    simplex = local_i4(9)
    for p in range(out.shape[0]):
        first, count = hull_start[p], hull_start[p + 1] - hull_start[p]
        simplex[0] = 0
        for i in range(point_start[p], point_start[p + 1]):
            _, d, _, _, _, _, _, _ = gjk(
                off(x, 3 * i), 1, off(hull, 3 * first), count, (0.0, 0.0, 0.0), simplex
            )
            out[p] = max(out[p], d)
