"""Which bodies hang together, and in which order their equations are eliminated.

Bodies joined by contacts or springs form *islands*; fixed bodies join nothing. Each island is
solved on its own: directly if it is small, else by conjugate gradients (`large`).
The direct order is minimum degree on the body graph; it costs more than the solve itself, so it is
kept until the list of edges changes.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, PtrI8, off
from tangere.implicit.partition import partition
from tangere.model import OK, SOLVER_FULL, Sizes
from tangere.solver import BITS, SMALL, Graph, Large

FULL = -1  # no room for the columns


@kernel
def same_edges(g: Graph, count: int) -> bool:
    """Whether `count` edges in `g.fresh` are those the islands were found for."""
    if count != g.known[0]:
        return False
    for k in range(2 * count):
        if g.fresh[k] != g.edges[k]:
            return False
    return True


@kernel
def find_islands(z: Sizes, g: Graph, large: Large, position: PtrF8, count: int, room: int) -> int:
    """Take over `count` edges from `g.fresh`; islands, order and columns. OK or SOLVER_FULL.

    Edges are pairs of bodies, −1 in place of a fixed one; `room` is that of the columns' rows.
    """
    g.known[0] = -1  # until all is done
    for k in range(2 * count):
        g.edges[k] = g.fresh[k]
    for i in range(z.bodies):
        g.parent[i] = -1
    for k in range(count):
        a, b = g.edges[2 * k], g.edges[2 * k + 1]
        if a >= 0 and g.parent[a] < 0:
            g.parent[a] = a
        if b >= 0 and g.parent[b] < 0:
            g.parent[b] = b
        if a >= 0 and b >= 0:
            a, b = _root(g.parent, a), _root(g.parent, b)
            if a != b:
                g.parent[max(a, b)] = min(a, b)
    islands = 0
    for i in range(z.bodies):
        if g.parent[i] == i:
            g.island[i] = islands
            g.start[islands + 1] = 0
            islands += 1
        elif g.parent[i] < 0:
            g.island[i] = -1
    g.start[0] = 0
    for i in range(z.bodies):
        if g.parent[i] >= 0:
            g.island[i] = g.island[_root(g.parent, i)]
            g.start[g.island[i] + 1] += 1
    for k in range(islands):
        g.start[k + 1] += g.start[k]
        g.fill[k] = g.start[k]
    for i in range(z.bodies):
        k = g.island[i]
        if k >= 0:
            g.member[g.fill[k]] = i
            g.place[i] = g.fill[k]
            g.fill[k] += 1
    _sort_edges(g, count, islands)
    if not _eliminate(g, large, position, islands, room):
        return SOLVER_FULL
    for k in range(count):
        _locate(g, k)
    _list_adjacent(g, count, g.start[islands])
    g.known[0], g.known[1] = count, islands
    return OK


@kernel
def _root(parent: PtrI4, i: int) -> int:
    """Representative of i's set, with path halving."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _sort_edges(g: Graph, count: int, islands: int) -> None:
    """List the edges of each island."""
    for k in range(islands + 1):
        g.edge_start[k] = 0
    for k in range(count):
        g.edge_start[edge_island(g, k) + 1] += 1
    for k in range(islands):
        g.edge_start[k + 1] += g.edge_start[k]
        g.fill[k] = g.edge_start[k]
    for k in range(count):
        island = edge_island(g, k)
        g.edge_list[g.fill[island]] = k
        g.fill[island] += 1


@kernel
def _list_adjacent(g: Graph, count: int, places: int) -> None:
    """List the ends of edges at each body, in their order."""
    for p in range(places + 1):
        g.adjacency_start[p] = 0
    for k in range(2 * count):
        if g.edges[k] >= 0:
            g.adjacency_start[g.place[g.edges[k]] + 1] += 1
    for p in range(places):
        g.adjacency_start[p + 1] += g.adjacency_start[p]
        g.fill[p] = g.adjacency_start[p]
    for k in range(2 * count):
        if g.edges[k] >= 0:
            p = g.place[g.edges[k]]
            g.adjacency[g.fill[p]] = k
            g.fill[p] += 1


@kernel
def edge_island(g: Graph, k: int) -> int:
    """Island of edge k."""
    return int(g.island[edge_body(g, k)])


@kernel
def edge_body(g: Graph, k: int) -> int:
    """The first body of edge k that can move."""
    a = g.edges[2 * k]
    return int(a if a >= 0 else g.edges[2 * k + 1])


@kernel
def _eliminate(g: Graph, large: Large, position: PtrF8, islands: int, room: int) -> bool:
    """Order the members of every island, and fill the columns of those factored; false if full."""
    used = 0
    for k in range(islands):
        first, size = g.start[k], g.start[k + 1] - g.start[k]
        g.direct[k] = 1 if size <= SMALL else 0
        if g.direct[k] == 1:
            used = _order(g, k, first, size, used, room)
            if used == FULL:
                return False
        else:
            partition(g, large, k, position)
            for i in range(size):  # no columns
                g.column[first + i] = used
    g.column[g.start[islands]] = used
    return True


@kernel
def _order(g: Graph, island: int, first: int, size: int, used: int, room: int) -> int:
    """Minimum degree on bit sets: members in order, rows of each column; the rows used, or FULL."""
    words = (size + BITS - 1) // BITS
    for k in range(size * words):
        g.bits[k] = 0
    for e in range(g.edge_start[island], g.edge_start[island + 1]):
        pair = off(g.edges, 2 * g.edge_list[e])
        if pair[0] >= 0 and pair[1] >= 0:
            i, j = g.place[pair[0]] - first, g.place[pair[1]] - first
            g.bits[i * words + j // BITS] |= 1 << (j % BITS)
            g.bits[j * words + i // BITS] |= 1 << (i % BITS)
    # members by degree, as doubly linked lists: `head` of each degree, `after` and `before`
    for d in range(size):
        g.head[d] = -1
    for i in range(size):
        g.fill[i] = g.member[first + i]
        g.degree[i] = _count(off(g.bits, i * words), words)
        _link(g, i)
    least = 0
    for step in range(size):
        while g.head[least] < 0:
            least += 1
        best = g.head[least]
        _unlink(g, best)
        row = off(g.bits, best * words)
        body = g.fill[best]
        g.member[first + step] = body
        g.place[body] = first + step
        g.column[first + step] = used
        for w in range(words):
            left = row[w]
            j = w * BITS
            while left != 0:
                while left & 1 == 0:
                    left >>= 1
                    j += 1
                if used >= room:
                    return FULL
                g.row[used] = g.fill[j]  # a body; its place is known when all are ordered
                used += 1
                other = off(g.bits, j * words)
                for v in range(words):
                    other[v] |= row[v]
                other[j // BITS] &= ~(1 << (j % BITS))
                other[best // BITS] &= ~(1 << (best % BITS))
                _unlink(g, j)
                g.degree[j] = _count(other, words)
                _link(g, j)
                least = min(least, g.degree[j])
                left >>= 1
                j += 1
    for k in range(g.column[first], used):
        g.row[k] = g.place[g.row[k]]
    for step in range(size):
        start = g.column[first + step]
        end = g.column[first + step + 1] if step + 1 < size else used
        for k in range(start + 1, end):  # rows in the order of elimination
            x = g.row[k]
            j = k
            while j > start and g.row[j - 1] > x:
                g.row[j] = g.row[j - 1]
                j -= 1
            g.row[j] = x
    return used


@kernel
def _link(g: Graph, i: int) -> None:
    """Put member i into the list of its degree."""
    d = g.degree[i]
    g.before[i], g.after[i] = -1, g.head[d]
    if g.head[d] >= 0:
        g.before[g.head[d]] = i
    g.head[d] = i


@kernel
def _unlink(g: Graph, i: int) -> None:
    """Take member i out of the list of its degree."""
    if g.before[i] >= 0:
        g.after[g.before[i]] = g.after[i]
    else:
        g.head[g.degree[i]] = g.after[i]
    if g.after[i] >= 0:
        g.before[g.after[i]] = g.before[i]


@kernel
def _count(set_: PtrI8, words: int) -> int:
    """Members of a bit set."""
    count = 0
    for w in range(words):
        x = set_[w]
        while x != 0:
            x &= x - 1
            count += 1
    return count


@kernel
def _find_block(g: Graph, column: int, row: int) -> int:
    """Index of the block at (row, column) of the factor, places of a direct island."""
    at = g.column[column]
    while g.row[at] != row:
        at += 1
    return int(at)


@kernel
def _locate(g: Graph, k: int) -> None:
    """Where edge k is assembled in a direct island."""
    a, b = g.edges[2 * k], g.edges[2 * k + 1]
    if a < 0 or b < 0:
        g.block[k] = -1
    elif g.direct[g.island[a]] == 1:
        p, q = g.place[a], g.place[b]
        g.block[k] = _find_block(g, min(p, q), max(p, q))
