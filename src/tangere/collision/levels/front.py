"""What a query of contact levels keeps from call to call, and the queue it works off.

Per pair of nodes: the simplex of GJK; the distance found last, with how far the bodies had moved by
then, so that a pair that cannot have come near since is left out without looking; the normal of the
last overlap. Pairs share rows by a hash, the latest one stays.

The queue is a binary heap: the pair with the largest error is refined first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrI8, off, ptr
from tangere.collision.levels.piece_pair import NFOUND
from tangere.maths.vec import Array, IntArray, LongArray

# Rows of pairs; a power of two.
PAIRS = 1 << 15
# Pairs waiting to be refined, and cells of the hash of contacts found; a power of two.
WAITING = 1 << 14
CELLS = 1 << 13

# Columns of a pair
PAIR_DISTANCE = 0  # least distance of what is below them, when last looked at [m]
PAIR_MOTION = 1  # of the bodies till then [m]
PAIR_NORMAL = 2  # 3: of the last overlap
PAIR_STAMP = 5  # number of that query
NPAIR = 6
NSIMPLEX = 18
NHEIGHT = 2
# Columns of a body
BODY_TURN = 0  # 12: in the tool's shape frame, at the last query: rotation, position
BODY_MOTION = 12  # way that any point of it has gone at most [m]
NBODY = 13
# Columns of a pair in the queue
WAIT_A, WAIT_B, WAIT_PARENT, WAIT_STATUS = 0, 1, 2, 3
NWAIT = 4


class Front(NamedTuple):
    """Memory of a query between a tool and some bodies.

    | field    | meaning                                           | shape                  |
    | keys     | pair of nodes and body of each row; −1: free      | (PAIRS,) int64         |
    | pairs    | PAIR_…                                            | (PAIRS, NPAIR)         |
    | simplex  | of GJK: of their bounds, of their hulls           | (PAIRS, 18) int32      |
    | bodies   | BODY_…                                            | (b, NBODY)             |
    | order    | heap of rows of `waiting`                         | (WAITING,) int64       |
    | urgency  | error over its threshold, of each row             | (WAITING,)             |
    | waiting  | WAIT_…                                            | (WAITING, NWAIT) int64 |
    | found    | contact of each row                               | (WAITING, NFOUND)      |
    | free     | rows of `waiting` that are not in use             | (WAITING,) int64       |
    | counts   | rows in the heap, free rows, number of the query, | (5,) int64             |
    |          | number of the search, overlaps found in it        |                        |
    | cells    | last contact in each cell, with its query         | (CELLS, 2) int64       |
    | chain    | the contact before, of the same cell              | (rows,) int64          |
    | answered | last search in which an overlap of each node was  | (n,) int64             |
    |          | found pair by pair                                |                        |
    | heights  | NHEIGHT of each node and body: signed distance    | (b n, NHEIGHT)         |
    |          | of its middle, motion till then; −1: not known    |                        |
    """

    keys: LongArray
    pairs: Array
    simplex: IntArray
    bodies: Array
    order: LongArray
    urgency: Array
    waiting: LongArray
    found: Array
    free: LongArray
    counts: LongArray
    cells: LongArray
    chain: LongArray
    answered: LongArray
    heights: Array


HEAP, FREE, QUERY, SEARCH, CROSSED = 0, 1, 2, 3, 4


def new_front(bodies: int, nodes: int, rows: int) -> Front:
    """Nothing remembered.

    Args:
        bodies: Pairs of bodies that are searched.
        nodes: Of all levels.
        rows: Most contacts that a query may write.
    """
    return Front(
        np.full(PAIRS, -1, dtype=np.int64),
        np.zeros((PAIRS, NPAIR)),
        np.zeros((PAIRS, NSIMPLEX), dtype=np.int32),
        np.zeros((max(bodies, 1), NBODY)),
        np.zeros(WAITING, dtype=np.int64),
        np.zeros(WAITING),
        np.zeros((WAITING, NWAIT), dtype=np.int64),
        np.zeros((WAITING, NFOUND)),
        np.zeros(WAITING, dtype=np.int64),
        np.zeros(5, dtype=np.int64),
        np.full((CELLS, 2), -1, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
        np.full(nodes, -1, dtype=np.int64),
        np.full((max(bodies, 1) * nodes, NHEIGHT), -1.0),
    )


def forget(front: Front) -> None:
    """Drop all that is remembered."""
    front.keys[:] = -1
    front.cells[:] = -1
    front.answered[:] = -1
    front.heights[:] = -1.0


@kernel
def row_of(keys: PtrI8, key: int) -> tuple[int, bool]:
    """Row of a pair, and whether it was this pair's already."""
    mixed = key * 0x9E3779B97F4A7C1
    at = (mixed ^ (mixed >> 29)) & (PAIRS - 1)
    if keys[at] == key:
        return at, True
    keys[at] = key
    return at, False


@kernel
def clear(f: Front) -> None:
    """No pair waits."""
    counts, free = ptr(f.counts), ptr(f.free)
    counts[HEAP] = 0
    if counts[FREE] == WAITING:
        return
    counts[FREE] = WAITING
    for i in range(WAITING):
        free[i] = WAITING - 1 - i


@kernel
def push(f: Front, a: int, b: int, status: int, urgency: float) -> int:
    """Let a pair wait; returns its row of `waiting` and `found`, −1 if there is none left."""
    counts, order = ptr(f.counts), ptr(f.order)
    key = ptr(f.urgency)
    if counts[FREE] == 0:
        return -1
    counts[FREE] -= 1
    row = f.free[counts[FREE]]
    wait = off(ptr(f.waiting), NWAIT * row)
    wait[WAIT_A], wait[WAIT_B], wait[WAIT_STATUS] = a, b, status
    key[row] = urgency
    at = counts[HEAP]
    counts[HEAP] += 1
    while at > 0:
        above = (at - 1) // 2
        if key[order[above]] >= urgency:
            break
        order[at] = order[above]
        at = above
    order[at] = row
    return int(row)


@kernel
def pop(f: Front) -> int:
    """Row of the most urgent pair, taken out of the heap; give it back with `release`."""
    counts, order, key = ptr(f.counts), ptr(f.order), ptr(f.urgency)
    top = order[0]
    counts[HEAP] -= 1
    count = counts[HEAP]
    last = order[count]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        if below + 1 < count and key[order[below + 1]] > key[order[below]]:
            below += 1
        if key[last] >= key[order[below]]:
            break
        order[at] = order[below]
        at = below
    order[at] = last
    return int(top)


@kernel
def release(f: Front, row: int) -> None:
    """A row of `waiting` is no longer in use."""
    counts = ptr(f.counts)
    f.free[counts[FREE]] = row
    counts[FREE] += 1
