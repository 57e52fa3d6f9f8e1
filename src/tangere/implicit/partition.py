"""Partition of a large island: two halves that do not touch, and a separator between them.

The members are put in an order in which neighbours are near in memory, and those on one side of a
plane before those on the other. Of the active bodies of a Newton iteration, those of the second
half that touch the first are the separator.
"""

from __future__ import annotations

from math import inf

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.implicit.task_queue import LEAST
from tangere.solver import Graph, Large

BISECTIONS = 12  # when looking for a plane that halves an island


@kernel
def partition(g: Graph, large: Large, island: int, position: PtrF8) -> None:
    """Order the members of an island: along its edges, and one half before the other."""
    _number_along_edges(g, island)
    _halve(g, large, island, position)


@kernel
def _number_along_edges(g: Graph, island: int) -> None:
    """Members in the order in which edges name them: so neighbours are near in memory."""
    at = g.start[island]
    for p in range(at, g.start[island + 1]):
        g.place[g.member[p]] = -1
    for e in range(g.edge_start[island], g.edge_start[island + 1]):
        for end in range(2):
            i = g.edges[2 * g.edge_list[e] + end]
            if i >= 0 and g.place[i] < 0:
                g.member[at], g.place[i] = i, at
                at += 1


@kernel
def _halve(g: Graph, large: Large, island: int, position: PtrF8) -> None:
    """Put the members on one side of a plane before those on the other, about as many."""
    first, end = g.start[island], g.start[island + 1]
    axis, low, high = _cut_across(g, island, position)
    plane, below = low, 0
    for _ in range(BISECTIONS):
        plane = 0.5 * (low + high)
        below = 0
        for p in range(first, end):
            below += 1 if position[3 * g.member[p] + axis] < plane else 0
        if 2 * below < end - first:
            low = plane
        else:
            high = plane
    large.split[island] = first + below
    early, late = first, first + below
    for p in range(first, end):
        g.head[p] = g.member[p]
    for p in range(first, end):
        i = g.head[p]
        at = late
        if position[3 * i + axis] < plane:
            at = early
            early += 1
        else:
            late += 1
        g.member[at], g.place[i] = i, at


@kernel
def _cut_across(g: Graph, island: int, position: PtrF8) -> tuple[int, float, float]:
    """Axis across which a plane cuts the fewest edges on average, and where members lie on it."""
    best, fewest, low, high = 0, inf, 0.0, 0.0
    for axis in range(3):
        least, most, lengths = inf, -inf, 0.0
        for p in range(g.start[island], g.start[island + 1]):
            x = position[3 * g.member[p] + axis]
            least, most = min(least, x), max(most, x)
        for e in range(g.edge_start[island], g.edge_start[island + 1]):
            pair = off(g.edges, 2 * g.edge_list[e])
            if pair[0] >= 0 and pair[1] >= 0:
                lengths += abs(position[3 * pair[0] + axis] - position[3 * pair[1] + axis])
        if lengths < fewest * (most - least):
            best, fewest, low, high = axis, lengths / (most - least), least, most
    return best, low, high


@kernel
def rank_active(g: Graph, large: Large, island: int) -> None:
    """Rank the active bodies: two halves that do not touch, then the separator.

    Few are ranked as one half.
    """
    first, count = g.start[island], large.active_count[island]
    for p in range(first, g.start[island + 1]):
        large.rank[p] = -1
    middle = first
    while middle < first + count and (
        large.active[middle] < large.split[island] or count < 2 * LEAST
    ):
        large.rank[large.active[middle]] = middle
        middle += 1
    second, between = middle, 0
    for k in range(middle, first + count):
        p = large.active[k]
        if _touches_before(g, large, p, middle):
            g.head[first + between] = p
            between += 1
        else:
            large.active[second], large.rank[p] = p, second
            second += 1
    large.second[island], large.separator[island] = middle, second
    for k in range(between):
        p = g.head[first + k]
        large.active[second + k], large.rank[p] = p, second + k
    entry = g.edge_start[island]
    for k in range(first, first + count):
        large.entry[k] = entry
        p = large.active[k]
        for at in range(g.adjacency_start[p], g.adjacency_start[p + 1]):
            other = g.edges[g.adjacency[at] ^ 1]
            if other >= 0 and 0 <= large.rank[g.place[other]] < k:
                entry += 1
    large.entries[island] = entry - g.edge_start[island]


@kernel
def _touches_before(g: Graph, large: Large, p: int, middle: int) -> bool:
    """Whether the body at place p has an edge to one of a rank below `middle`."""
    for at in range(g.adjacency_start[p], g.adjacency_start[p + 1]):
        other = g.edges[g.adjacency[at] ^ 1]
        if other >= 0 and 0 <= large.rank[g.place[other]] < middle:
            return True
    return False
