"""Holes of a triangle mesh: their outlines, and caps of least area.

A cap is the triangulation of the outline with the least area, found by dynamic programming over all
its chords (Barequet & Sharir, Filling gaps in the boundary of a polyhedron, 1995). Chords that are
edges of the mesh already are not taken: a third face would meet there.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.geometry.edges import area_vectors, boxes, diagonal, edges_of, pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tangere.maths.vec import Array, IntArray, LongArray

# A hole is capped if it is at most so wide, over the diagonal of the piece that it is in, …
WIDEST = 0.25
# … or if its cap has at most this share of the area of the piece: long cracks between two patches.
NARROW = 0.005
# More open edges than this are a soup of triangles and no surface with holes.
MAX_OPEN = 200_000
# Corners of an outline that the dynamic programme takes; the sharpest ones are cut off before.
MAX_CORNERS = 200
# Weight of a flat triangle or a chord that exists, over the square of the outline's extent: the
# first is better avoided, the second hardly ever right.
FLAT_WEIGHT, TAKEN_WEIGHT = 1e-3, 1e3
FLAT = 1e-12  # area over the square of the longest side: such a triangle is none


class Hole(NamedTuple):
    """An outline that was capped."""

    corners: list[int]
    width: float
    """Diagonal of its bounding box [m]."""
    cap: IntArray


def find_holes(points: Array, faces: IntArray) -> tuple[list[Hole], list[float]]:
    """Caps of all small holes, and the widths [m] of those that are too large to be capped."""
    edges = edges_of(faces, len(points))
    alone = edges.open_half_edges()
    if len(alone) == 0 or len(alone) > min(MAX_OPEN, len(faces)):
        return [], []
    # Edges on an odd number of faces always form loops. Those without an open edge are the rims of
    # membranes.
    _, first = np.unique(edges.edge, return_index=True)
    odd = first[edges.uses % 2 == 1]
    is_open = set(zip(edges.tail[alone].tolist(), edges.head[alone].tolist(), strict=True))
    is_open |= {(b, a) for a, b in is_open}
    piece = pieces_of(faces, edges)
    of_vertex = np.zeros(len(points), dtype=np.int64)
    of_vertex[faces.ravel()] = np.repeat(piece, 3)
    extent, area = _sizes(points, faces, piece)
    added: set[int] = set()  # edges of caps, numbered as `keys` are
    holes, left = [], []
    for loop in outlines(points, edges.tail[odd].tolist(), edges.head[odd].tolist()):
        if not is_open.intersection(zip(loop, loop[1:] + loop[:1], strict=True)):
            continue
        corners = points[loop]
        width, own = diagonal(corners), of_vertex[loop[0]]
        cap = None
        if width <= WIDEST * extent[own] or len(loop) <= MAX_CORNERS:
            cap = _cap(points, loop, edges.keys, added)
            doubled = np.linalg.norm(area_vectors(points, cap), axis=1)
            narrow = 0.5 * float(doubled.sum()) <= NARROW * area[own]
            cap = cap if narrow or width <= WIDEST * extent[own] else None
        if cap is None:
            left.append(width)
        else:
            holes.append(Hole(loop, width, cap))
            added.update(edges_of(cap, len(points)).keys.tolist())
    return holes, left


def _sizes(points: Array, faces: IntArray, piece: LongArray) -> tuple[Array, Array]:
    """Diagonal of the bounding box [m] and area [m²] of each piece."""
    low, high = boxes(points, faces, piece)
    doubled = np.linalg.norm(area_vectors(points, faces), axis=1)
    area: Array = 0.5 * np.bincount(piece, weights=doubled).astype(np.float64)
    extent: Array = np.linalg.norm(high - low, axis=1)
    return extent, area


def outlines(points: Array, tail: list[int], head: list[int]) -> list[list[int]]:
    """Simple closed loops through edges tail[i] – head[i], each edge at most once.

    A walk that comes back to a vertex has closed a loop, which is taken out of it. Where there is a
    choice, it takes the sharpest turn: so it goes round a crack, not along one side of it.
    """
    beyond: dict[int, list[int]] = defaultdict(list)
    for a, b in zip(tail, head, strict=True):
        beyond[a].append(b)
        beyond[b].append(a)
    loops = []
    for start in tail:
        while beyond[start]:
            walk, place = [start], {start: 0}
            while beyond[walk[-1]]:
                here = walk[-1]
                there = _next(points, walk, beyond[here])
                beyond[here].remove(there)
                beyond[there].remove(here)
                if there not in place:
                    place[there] = len(walk)
                    walk.append(there)
                    continue
                loop = walk[place[there] :]
                if len(loop) >= 3:
                    loops.append(loop)
                for vertex in loop[1:]:
                    del place[vertex]
                del walk[place[there] + 1 :]
    return loops


def _next(points: Array, walk: list[int], choices: list[int]) -> int:
    if len(choices) == 1 or len(walk) == 1:
        return choices[-1]
    back = points[walk[-2]] - points[walk[-1]]
    ahead = points[choices] - points[walk[-1]]
    cosine = ahead @ back / np.maximum(np.linalg.norm(ahead, axis=1), 1e-300)
    return choices[int(cosine.argmax())]


def _cap(points: Array, loop: list[int], keys: LongArray, added: set[int]) -> IntArray:
    """Triangles that close the outline."""
    ears: list[tuple[int, int, int]] = []

    def exists(a: LongArray, b: LongArray) -> NDArray[np.bool_]:
        chords = np.minimum(a, b) * len(points) + np.maximum(a, b)
        found = np.searchsorted(keys, chords).clip(max=len(keys) - 1)
        taken: NDArray[np.bool_] = (keys[found] == chords) | np.isin(chords, list(added))
        return taken

    rest = _without_ears(points, loop, exists, ears)
    vertex = np.array(rest, dtype=np.int64)
    taken = exists(vertex[:, None], vertex[None])
    taken[0, -1] = False  # a side of the outline
    triangles = [(rest[i], rest[k], rest[j]) for i, k, j in least_area(points[rest], taken)]
    return np.array(ears + triangles, dtype=np.int32)


def _without_ears(
    points: Array,
    loop: list[int],
    exists: Callable[[LongArray, LongArray], NDArray[np.bool_]],
    ears_out: list[tuple[int, int, int]],
) -> list[int]:
    """The outline with its sharpest corners cut off until few enough are left."""
    rest = list(loop)
    while len(rest) > MAX_CORNERS:
        p = points[rest]
        to, back = np.roll(p, -1, axis=0) - p, np.roll(p, 1, axis=0) - p
        lengths = np.linalg.norm(to, axis=1) * np.linalg.norm(back, axis=1)
        cosine = np.einsum("ij,ij->i", to, back) / np.maximum(lengths, 1e-300)
        vertex = np.array(rest, dtype=np.int64)
        cosine[exists(np.roll(vertex, 1), np.roll(vertex, -1))] = -2.0  # last of all
        most = len(rest) - MAX_CORNERS
        cut: set[int] = set()
        for i in np.argsort(-cosine, kind="stable").tolist():
            before, after = (i - 1) % len(rest), (i + 1) % len(rest)
            if before in cut or after in cut:
                continue  # its neighbours are about to change
            cut.add(i)
            ears_out.append((rest[before], rest[i], rest[after]))
            if len(cut) >= min(most, max(1, len(rest) // 8)):
                break
        rest = [v for i, v in enumerate(rest) if i not in cut]
    return rest


def least_area(corners: Array, taken: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Triangles (i, k, j), i < k < j, of the polygon's triangulation of least area.

    Args:
        corners: In order, shape (n, 3) [m].
        taken: Chords i – j, i < j, that are better not used, shape (n, n).
    """
    n = len(corners)
    square = float((np.ptp(corners, axis=0) ** 2).sum())
    cost, split = np.zeros((n, n)), np.zeros((n, n), dtype=np.int64)
    for span in range(2, n):
        first = np.arange(n - span)
        last = first + span
        middle = first[:, None] + np.arange(1, span)
        to_k = corners[middle] - corners[first][:, None]
        to_j = (corners[last] - corners[first])[:, None]
        area = 0.5 * np.linalg.norm(np.cross(to_k, to_j), axis=2)
        longest = np.maximum((to_k**2).sum(axis=2), (to_j**2).sum(axis=2))
        total = cost[first[:, None], middle] + cost[middle, last[:, None]] + area
        total += FLAT_WEIGHT * square * (area <= FLAT * longest)
        best = total.argmin(axis=1)
        row = np.arange(len(first))
        cost[first, last] = total[row, best] + TAKEN_WEIGHT * square * taken[first, last]
        split[first, last] = middle[row, best]
    triangles, ranges = [], [(0, n - 1)]
    while ranges:
        i, j = ranges.pop()
        if j - i >= 2:
            k = int(split[i, j])
            triangles.append((i, k, j))
            ranges += [(i, k), (k, j)]
    return triangles
