"""Hand-over between threads and processes without locks: the newest value, or every row.

*Mailbox*: three slots (`layout.new_mailbox`). The writer fills its own slot and exchanges it with
the middle one; the reader exchanges its own with the middle one if that holds something new. Nobody
waits, nothing is torn, nothing queues up: who reads late gets the newest value alone.

*Ring*: rows in order for a reader that must not miss any. A writer that finds it full leaves the
row out and counts it: a slow disk never holds up a tick.

Either has one writer and one reader.

Both are plain arrays, so they work as well on memory shared between processes.
"""

from __future__ import annotations

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, load, off, ptr, store, swap
from tangere.maths.vec import Array, LongArray

# Indices of a mailbox: the slots that writer and reader own, and the one between them
WRITER, MIDDLE, READER = 0, 1, 2
FRESH = 4  # bit at the middle slot: not read yet
SLOT = 3  # the bits that name a slot

# Indices of a ring
WRITTEN, READ, DROPPED = 0, 8, 16  # rows since the start; a cache line apart
NRING = 24


@kernel
def post(slots: Array, at: LongArray, values: Array, n: int) -> None:
    """Hand over n floats, the width of the slots; what was posted before and not read is lost."""
    s, a, v = ptr(slots), ptr(at), ptr(values)
    slot = off(s, a[WRITER] * n)
    for k in range(n):
        slot[k] = v[k]
    a[WRITER] = swap(a, MIDDLE, a[WRITER] | FRESH) & SLOT


@kernel
def take(slots: Array, at: LongArray, values_out: Array, n: int) -> bool:
    """Whether something new was there; if so it is in `values_out`, else that stays as it was."""
    s, a, v = ptr(slots), ptr(at), ptr(values_out)
    if load(a, MIDDLE) & FRESH == 0:
        return False
    a[READER] = swap(a, MIDDLE, a[READER]) & SLOT
    slot = off(s, a[READER] * n)
    for k in range(n):
        v[k] = slot[k]
    return True


def new_ring(rows: int, width: int) -> tuple[Array, LongArray]:
    """Room for `rows` rows of `width` floats, and the counts of a ring."""
    return np.zeros((rows, width)), np.zeros(NRING, dtype=np.int64)


@kernel
def push(ring: PtrF8, at: LongArray, rows: int, values: PtrF8, n: int) -> bool:
    """Append n floats to a ring of `rows` rows; False, and counted, if it is full."""
    r, a, v = ptr(ring), ptr(at), ptr(values)
    written = a[WRITTEN]
    if written - load(a, READ) >= rows:
        a[DROPPED] += 1
        return False
    row = off(r, written % rows * n)
    for k in range(n):
        row[k] = v[k]
    store(a, WRITTEN, written + 1)
    return True


@kernel
def drain(ring: Array, at: LongArray, rows_out: Array) -> int:
    """Number of rows moved from a ring to `rows_out`, oldest first: all there are or that fit."""
    a = ptr(at)
    rows, n = ring.shape
    r, v = ptr(ring), ptr(rows_out)
    read = a[READ]
    count = min(load(a, WRITTEN) - int(read), len(rows_out))
    for i in range(count):
        row, to = off(r, (read + i) % rows * n), off(v, i * n)
        for k in range(n):
            to[k] = row[k]
    store(a, READ, read + count)
    return count
