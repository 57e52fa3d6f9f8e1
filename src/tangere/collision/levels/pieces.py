"""Convex pieces of a surface: patches of triangles that all lie on their own hull.

Patches grow breadth first [EHMANN2001]: a triangle joins a patch if no vertex of the patch lies
above the triangle's plane and its new vertex above none of theirs. The hull of a patch then has the
patch's triangles on its boundary; what else the hull has is virtual, that is, no surface.

Two patches that touch become one when their union is convex in the same sense, up to a tolerance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, off, ptr
from tangere.maths.vec import Array, LongArray, Vec3, cross, norm, scale, sub

# Largest piece: a query looks at all vertices of a piece, and at all its triangles.
MAX_VERTICES = 24
MAX_TRIANGLES = 32
NPLANE = 4  # unit normal and offset of a triangle; zero for one without area


class Parts(NamedTuple):
    """Pieces of a mesh that is being simplified; lists of triangles that may hold dead ones.

    | field    | meaning                                              | shape          |
    | points   | places of the vertices [m]                           | (n, 3)         |
    | corners  | vertices of each triangle                            | (t, 3) int64   |
    | planes   | NPLANE of each triangle                              | (t, 4)         |
    | piece    | of each triangle; −1 once it has vanished            | (t,) int64     |
    | first    | triangle of each piece                               | (p,) int64     |
    | after    | the next triangle of the same piece, −1 at the end   | (t,) int64     |
    | living   | living triangles of each piece                       | (p,) int64     |
    """

    points: Array
    corners: LongArray
    planes: Array
    piece: LongArray
    first: LongArray
    after: LongArray
    living: LongArray


def planes_of(points: Array, corners: LongArray) -> Array:
    """Unit normal and offset of every triangle, shape (t, 4)."""
    p = points[corners]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    length = np.linalg.norm(normal, axis=1)
    normal = np.divide(
        normal, length[:, None], out=np.zeros_like(normal), where=length[:, None] > 0
    )
    return np.column_stack((normal, np.einsum("ij,ij->i", normal, p[:, 0])))


def neighbours(corners: LongArray, vertex_count: int) -> LongArray:
    """Triangle across each edge 01, 12, 20; −1 where not exactly two meet, shape (t, 3)."""
    tail, head = corners, np.roll(corners, -1, axis=1)
    code = (np.minimum(tail, head) * vertex_count + np.maximum(tail, head)).ravel()
    order = np.argsort(code, kind="stable")
    _, starts, uses = np.unique(code[order], return_index=True, return_counts=True)
    starts = starts[uses == 2]
    one, two = order[starts], order[starts + 1]
    opposite = tail.ravel()[one] == head.ravel()[two]
    one, two = one[opposite], two[opposite]
    across = np.full(corners.size, -1, dtype=np.int64)
    across[one], across[two] = two // 3, one // 3
    return across.reshape(-1, 3)


def convex_pieces(points: Array, corners: LongArray, slack: float) -> LongArray:
    """Number of the convex piece that each triangle belongs to, shape (t,).

    Args:
        points: Vertices [m], shape (n, 3).
        corners: Triangles, shape (t, 3).
        slack: How far a vertex may lie above a plane and still count as on it [m].
    """
    piece = np.full(len(corners), -1, dtype=np.int64)
    planes = planes_of(points, corners)
    queue = np.empty(len(corners) + 1, dtype=np.int64)
    members = np.empty(MAX_VERTICES, dtype=np.int64)
    seen = np.full(len(points), -1, dtype=np.int64)
    across = neighbours(corners, len(points))
    _grow(points, corners, planes, across, slack, piece, queue, members, seen)
    return piece


def parts_of(points: Array, corners: LongArray, planes: Array, piece: LongArray) -> Parts:
    """Lists of the living triangles of every piece."""
    count = int(piece.max()) + 1
    order = np.argsort(piece, kind="stable")
    order = order[piece[order] >= 0]
    own = piece[order]
    first, after = np.full(count, -1, np.int64), np.full(len(piece), -1, np.int64)
    begins = np.flatnonzero(np.diff(own, prepend=-1))
    first[own[begins]] = order[begins]
    same = own[1:] == own[:-1]
    after[order[:-1][same]] = order[1:][same]
    return Parts(points, corners, planes, piece, first, after, np.bincount(own, minlength=count))


def merged(parts: Parts, slack: float) -> LongArray:
    """New number of each piece after joining pairs that touch and whose union is convex.

    A greedy maximal matching: the unions of least extent first, so that pieces stay compact and of
    like size.

    Args:
        parts: The pieces.
        slack: How far a vertex may lie above a plane of the union [m].
    """
    alive = np.flatnonzero(parts.piece >= 0)
    own = parts.piece[alive]
    across = neighbours(parts.corners[alive], len(parts.points))
    tail, edge = np.nonzero(across >= 0)
    a, b = own[tail], own[across[tail, edge]]
    count = len(parts.first)
    pairs = np.unique((a * count + b)[a < b])
    pairs = np.stack((pairs // count, pairs % count), axis=1)
    fits = np.zeros(len(pairs), dtype=np.bool_)
    size = np.empty(len(pairs))
    _judge(parts, pairs, slack, fits, size)
    chosen = np.flatnonzero(fits)
    chosen = chosen[np.argsort(size[chosen], kind="stable")]
    partner = np.arange(count)
    for i, j in pairs[chosen].tolist():
        if partner[i] == i and partner[j] == j:
            partner[i], partner[j] = j, i
    _, number = np.unique(np.minimum(partner, np.arange(count)), return_inverse=True)
    return number.astype(np.int64)


@kernel
def _grow(
    points: Array,
    corners: LongArray,
    planes: Array,
    across: LongArray,
    slack: float,
    piece: LongArray,
    queue: LongArray,
    members: LongArray,
    seen: LongArray,
) -> None:
    """Number the piece of every triangle; queue, members and seen are scratch."""
    x, c, plane, beside = ptr(points), ptr(corners), ptr(planes), ptr(across)
    own, waiting, inside, stamp = ptr(piece), ptr(queue), ptr(members), ptr(seen)
    number = 0
    for seed in range(corners.shape[0]):
        if own[seed] >= 0:
            continue
        own[seed] = number
        waiting[0] = seed
        size = 0
        for k in range(3):
            v = c[3 * seed + k]
            if stamp[v] != number:
                stamp[v] = number
                inside[size] = v
                size += 1
        head, tail = 0, 1
        while head < tail < MAX_TRIANGLES and size < MAX_VERTICES:
            t = waiting[head]
            head += 1
            for k in range(3):
                f = beside[3 * t + k]
                if f < 0 or own[f] >= 0 or tail >= MAX_TRIANGLES or size >= MAX_VERTICES:
                    continue
                if not _all_below(x, inside, size, off(plane, NPLANE * f), slack):
                    continue
                fresh = -1
                for j in range(3):
                    if stamp[c[3 * f + j]] != number:
                        fresh = c[3 * f + j]
                if fresh >= 0:
                    if not _below_all(off(x, 3 * fresh), waiting, tail, plane, slack):
                        continue
                    stamp[fresh] = number
                    inside[size] = fresh
                    size += 1
                own[f] = number
                waiting[tail] = f
                tail += 1
        number += 1


@kernel
def _all_below(x: PtrF8, members: PtrI8, size: int, plane: PtrF8, slack: float) -> bool:
    """Whether no member vertex is above a plane."""
    for i in range(size):
        if height(plane, off(x, 3 * members[i])) > slack:
            return False
    return True


@kernel
def _below_all(y: PtrF8, triangles: PtrI8, count: int, planes: PtrF8, slack: float) -> bool:
    """Whether a vertex is above none of the planes."""
    for i in range(count):
        if height(off(planes, NPLANE * triangles[i]), y) > slack:
            return False
    return True


@kernel
def height(plane: PtrF8, y: PtrF8) -> float:
    """How far a point is above a plane [m]."""
    return float(plane[0] * y[0] + plane[1] * y[1] + plane[2] * y[2] - plane[3])


@kernel
def plane_through(a: Vec3, b: Vec3, c: Vec3, out: PtrF8) -> float:
    """Write unit normal and offset of a triangle; returns twice its area [m²]."""
    n = cross(sub(b, a), sub(c, a))
    length = norm(n)
    n = scale(1.0 / length, n) if length > 0.0 else (0.0, 0.0, 0.0)
    out[0], out[1], out[2] = n
    out[3] = n[0] * a[0] + n[1] * a[1] + n[2] * a[2]
    return length


@kernel
def _judge(
    parts: Parts, pairs: LongArray, slack: float, fits: NDArray[np.bool_], size: Array
) -> None:
    """Whether the union of each pair is convex and small enough, and its extent [m]."""
    x, c, plane = ptr(parts.points), ptr(parts.corners), ptr(parts.planes)
    piece, after, first = ptr(parts.piece), ptr(parts.after), ptr(parts.first)
    for row in range(pairs.shape[0]):
        p, q = pairs[row, 0], pairs[row, 1]
        triangles = parts.living[p] + parts.living[q]
        if triangles > MAX_TRIANGLES:
            continue
        fits[row] = True
        for way in range(2):
            one, two = (p, q) if way == 0 else (q, p)
            f = first[one]
            while f >= 0 and fits[row]:
                if piece[f] >= 0:
                    g = first[two]
                    while g >= 0:
                        if piece[g] >= 0:
                            for k in range(3):
                                if height(off(plane, NPLANE * f), off(x, 3 * c[3 * g + k])) > slack:
                                    fits[row] = False
                        g = after[g]
                f = after[f]
        if not fits[row]:
            continue
        diagonal = 0.0
        for axis in range(3):
            low, high = 1e300, -1e300
            for way in range(2):
                f = first[p] if way == 0 else first[q]
                while f >= 0:
                    if piece[f] >= 0:
                        for k in range(3):
                            low = min(low, x[3 * c[3 * f + k] + axis])
                            high = max(high, x[3 * c[3 * f + k] + axis])
                    f = after[f]
            diagonal += (high - low) ** 2
        size[row] = diagonal
