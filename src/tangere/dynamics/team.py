"""Work in parts, done by whoever is free: the thread of the step, and helpers.

A task is a number of parts that do not depend on each other. They are given out in order, by
tickets: one word holds how many there are and the next one, so that a ticket below the number is
a part of this task and of no other. The next task is not set before the last is done. What a part
gives is kept apart and added up in order: results do not depend on who did what.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, add, load, store

# Words of Solver.queue; those that are written often are on cache lines of their own.
NEXT = 0  # the number of parts, times 2³², plus the next to be given out
LEFT = 8  # parts not done yet
JOB, ISLAND = 16, 17  # what to do, and for which island
OPEN = 18  # 1: tasks follow each other closely; helpers do not go away
ROUNDS = 19  # made for islands that were solved by tickets
BITS, LOW = 32, (1 << 32) - 1
# Bodies or contacts in a part.
PART = 64


@kernel
def part_count(items: int, size: int) -> int:
    """Parts of so many items, with so many in a part."""
    return (items + size - 1) // size


@kernel
def set_task(q: PtrI8, given: PtrF8, job: int, island: int, number: float, parts: int) -> None:
    """Set a task; the last one must be done."""
    q[JOB], q[ISLAND], given[0] = job, island, number
    store(q, LEFT, parts)
    store(q, NEXT, parts << BITS)


@kernel
def take_part(q: PtrI8) -> int:
    """A part of the present task that nobody has taken, or −1."""
    ticket = load(q, NEXT)
    if ticket & LOW >= ticket >> BITS:
        return -1
    ticket = add(q, NEXT, 1)
    part = ticket & LOW
    return part if part < ticket >> BITS else -1  # somebody else may have been faster


@kernel
def part_done(q: PtrI8) -> None:
    """A part that was taken is done."""
    add(q, LEFT, -1)


@kernel
def wait_for_all(q: PtrI8) -> None:
    """Wait for parts in the hands of others."""
    while load(q, LEFT) > 0:
        pass
