"""The cap on the number of pairs of two bodies: which ones a contact problem is made of.

Pairs beyond a few do not change the motion; they make the problem near-singular and slow. What is
kept does not depend on the order in which pairs were found.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.collision.feature_pairs import FeaturePairs
from tangere.maths.vec import Array, IntArray

# Predicted gaps that differ by less than this are as good as equal [m]: then the furthest counts.
SAME_GAP = 1e-5
# A pair that carried force gives way only to one that is so many times as far from those kept.
HOLDS = 2.0


class ThinScratch(NamedTuple):
    """What the choice among up to n rows works in.

    | field | meaning                                                              | shape |
    | order | the rows, in the end those kept by key                               | (n,)  |
    | taken | 1: the row is kept                                                   | (n,)  |
    | away  | square of the distance to the nearest row kept [m²]                  | (n,)  |
    """

    order: IntArray
    taken: IntArray
    away: Array


def new_thin_scratch(room: int) -> ThinScratch:
    """Scratch for so many rows."""
    return ThinScratch(np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room))


@kernel
def thin(
    p: FeaturePairs,
    first: int,
    end: int,
    predicted: PtrF8,
    carried: PtrI4,
    most: int,
    scratch: ThinScratch,
    chosen: PtrI4,
) -> int:
    """Choose at most `most` of the rows first … end of two bodies; returns how many.

    Rows that carried force in the last step and rows with a negative predicted gap come first, then
    the others by predicted gap. Where there are too many, one that carried force is taken, or that
    with the least predicted gap, then always the one furthest from all taken: the contact patch
    stays as wide as so many points can make it. One that carried force counts as `HOLDS` times as
    far away, so that a patch which does not grow keeps its points.

    Args:
        p: The rows.
        first: First row of the two bodies.
        end: One past their last.
        predicted: Gap of every row at the end of the step without contact forces, (n,) [m].
        carried: 1 where the same features carried force in the last step, (n,).
        most: How many may be kept.
        scratch: Room for end − first.
        chosen: Is left with the rows kept, in the order of their keys.
    """
    n = end - first
    order, taken, away = scratch.order, scratch.taken, scratch.away
    for k in range(n):
        order[k] = first + k
    if n > most:
        size2 = _extent2(p, first, end)
        urgent = 0
        for k in range(n):
            taken[k], away[k] = 0, inf
            if carried[order[k]] != 0 or predicted[order[k]] < 0.0:
                urgent += 1
        if urgent > most:
            _furthest(p, n, predicted, carried, 0.0, most, size2, scratch)
        else:
            for k in range(n):
                if carried[order[k]] != 0 or predicted[order[k]] < 0.0:
                    _take(p, n, k, size2, scratch)
            if urgent < most:
                limit = _nth_gap(n, predicted, most - urgent, scratch) + SAME_GAP
                _furthest(p, n, predicted, carried, limit, most - urgent, size2, scratch)
        n, all_rows = 0, n
        for k in range(all_rows):
            if taken[k] != 0:
                order[n] = order[k]
                n += 1
    _sort_by_key(p, n, order)
    for k in range(n):
        chosen[k] = order[k]
    return n


@kernel
def _furthest(
    p: FeaturePairs,
    n: int,
    predicted: PtrF8,
    carried: PtrI4,
    limit: float,
    room: int,
    size2: float,
    s: ThinScratch,
) -> None:
    """Take `room` rows more among those that carried force or are predicted below a limit [m].

    If none is taken yet one that carried force comes first, or the least predicted gap; ties go to
    the lower key.
    """
    last = -1
    for _ in range(room):
        pick, best, least = -1, -1.0, inf
        for k in range(n):
            row = s.order[k]
            if s.taken[k] != 0 or not (carried[row] != 0 or predicted[row] < limit):
                continue
            if last >= 0:
                s.away[k] = min(s.away[k], _distance2(p, row, s.order[last], size2))
            far = s.away[k] * (HOLDS * HOLDS if carried[row] != 0 else 1.0)
            if far < best:
                continue
            gap = -inf if carried[row] != 0 else predicted[row]
            better = far > best or (best == inf and gap < least)
            equal = far == best and (best < inf or gap == least)
            if better or (equal and _before(p, row, s.order[pick])):
                pick, best, least = k, far, gap
        if pick < 0:
            return
        s.taken[pick] = 1
        last = pick


@kernel
def _take(p: FeaturePairs, n: int, pick: int, size2: float, s: ThinScratch) -> None:
    """Keep a row, and note how far the others are from it."""
    s.taken[pick] = 1
    for k in range(n):
        s.away[k] = min(s.away[k], _distance2(p, s.order[k], s.order[pick], size2))


@kernel
def _distance2(p: FeaturePairs, i: int, j: int, size2: float) -> float:
    """|Δx|² + L²|Δn|², L the half diagonal of all: two planes that hold one point differ [m²]."""
    x, m = off(p.points, 6 * j), off(p.normal, 3 * j)
    y, o = off(p.points, 6 * i), off(p.normal, 3 * i)
    d, turned = 0.0, 0.0
    for q in range(3):
        d += (y[q] - x[q]) * (y[q] - x[q])
        turned += (o[q] - m[q]) * (o[q] - m[q])
    return d + size2 * turned


@kernel
def _nth_gap(n: int, predicted: PtrF8, nth: int, s: ThinScratch) -> float:
    """The nth least predicted gap of the rows that are not taken [m]."""
    gap, seen = -inf, 0
    while seen < nth:
        least, times = inf, 0
        for k in range(n):
            g = predicted[s.order[k]]
            if s.taken[k] == 0 and g > gap:
                if g < least:
                    least, times = g, 1
                elif g == least:
                    times += 1
        if times == 0:
            return gap
        gap = least
        seen += times
    return gap


@kernel
def _extent2(p: FeaturePairs, first: int, end: int) -> float:
    """Square of half the diagonal of the box around the points of rows [m²]."""
    total = 0.0
    for i in range(3):
        low, high = inf, -inf
        for row in range(first, end):
            low, high = min(low, p.points[6 * row + i]), max(high, p.points[6 * row + i])
        total += 0.25 * (high - low) * (high - low)
    return total


# ---------------------------------------------------------------- order


@kernel
def _sort_by_key(p: FeaturePairs, n: int, order: PtrI4) -> None:
    """Order n rows by their keys: heap sort, as rows may come in any order."""
    for k in range(n // 2 - 1, -1, -1):
        _sift(p, order, k, n)
    for k in range(n - 1, 0, -1):
        order[0], order[k] = order[k], order[0]
        _sift(p, order, 0, k)


@kernel
def _sift(p: FeaturePairs, order: PtrI4, root: int, n: int) -> None:
    """Let the row at `root` sink below all that have greater keys."""
    while 2 * root + 1 < n:
        child = 2 * root + 1
        if child + 1 < n and _before(p, order[child], order[child + 1]):
            child += 1
        if not _before(p, order[root], order[child]):
            return
        order[root], order[child] = order[child], order[root]
        root = child


@kernel
def _before(p: FeaturePairs, i: int, j: int) -> bool:
    """Whether the key of row i is less than that of row j."""
    a, b = off(p.key, 3 * i), off(p.key, 3 * j)
    if a[0] != b[0]:
        return bool(a[0] < b[0])
    return bool(a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]))
