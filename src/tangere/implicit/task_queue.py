"""Work in parts, done by whoever is free: the thread of the step, and helpers.

A task is a number of parts that do not depend on each other. They are given out by tickets, to the
thread of the step from the front and to helpers from the back, so that each comes to much the same
bodies again in the next task, and finds them in its own cache. One word holds how many there are
and how many were given out at either end: a ticket is for a part of this task and of no other. The
next task is not set before the last is done. What a part gives is kept apart and added up in order:
results do not depend on who did what.

A ticket that goes from core to core takes as long as the work for ten bodies. So there are few:
of each half, the first part has half of what is left, and so has every next one, down to a least
number. Parts are small where the two ends meet.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, add, load, relax, store

# Words of Solver.queue; those that are written often are on cache lines of their own.
NEXT = 0  # parts given out at the front, times 2²⁰ those at the back, times 2⁴⁰ all there are
LEFT = 8  # parts not done yet
JOB, ISLAND = 16, 17  # what to do, and for which island
OPEN = 18  # 1: tasks follow each other closely; helpers do not go away
ITERATIONS = 19  # made for islands that were solved by tickets
FAULT = 20  # what a part ran out of, if any
BITS, LOW = 20, (1 << 20) - 1
# Bodies or contacts in the least part.
LEAST = 64


@kernel
def first_part(q: PtrI8, given: PtrF8, job: int, island: int, number: float, parts: int) -> int:
    """Begin a task, shared while the queue is open; returns its first part, or −1.

    `next_part` gives the others, and returns −1 when all are done, by whomever.
    """
    if not _shared(q, parts):
        return 0 if parts > 0 else -1
    set_task(q, given, job, island, number, parts)
    return _take_or_wait(q)


@kernel
def next_part(q: PtrI8, part: int, parts: int) -> int:
    """The part that comes after one that is done, or −1."""
    if not _shared(q, parts):
        return part + 1 if part + 1 < parts else -1
    part_done(q)
    return _take_or_wait(q)


@kernel
def _shared(q: PtrI8, parts: int) -> bool:
    """Whether a task is set for helpers, too."""
    return bool(q[OPEN] == 1 and parts > 1)


@kernel
def _take_or_wait(q: PtrI8) -> int:
    """A part for the thread of the step; −1 when all are done."""
    part = take_part(q, False)
    if part < 0:
        wait_for_all(q)
    return part


@kernel
def part_sum(sums: PtrF8, parts: int) -> float:
    """Sum of what the parts of a task gave, in order."""
    total = 0.0
    for part in range(parts):
        total += sums[part]
    return total


@kernel
def part_count(items: int, least: int) -> int:
    """Parts of so many items, with about `least` in the least: an even number, or one."""
    if items < 2 * least:
        return 1 if items > 0 else 0
    halvings = 0
    while items // 2 >> halvings > least:
        halvings += 1
    return 2 * (halvings + 1)


@kernel
def part_range(items: int, least: int, part: int) -> tuple[int, int]:
    """First item and end of a part."""
    parts = part_count(items, least)
    if parts == 1:
        return 0, items
    half = items // 2
    k = min(part, parts - 1 - part)  # counted from its own end
    first = half - (half >> k)
    end = half - (half >> (k + 1)) if 2 * k + 2 < parts else half
    if part == k:
        return first, end if end < half else items - half
    return items - end, items - first


@kernel
def set_task(q: PtrI8, given: PtrF8, job: int, island: int, number: float, parts: int) -> None:
    """Set a task; the last one must be done."""
    q[JOB], q[ISLAND], given[0] = job, island, number
    store(q, LEFT, parts)
    store(q, NEXT, parts << 2 * BITS)


@kernel
def take_part(q: PtrI8, back: bool) -> int:
    """The first part of the present task that nobody has taken, or the last, or −1."""
    if not _left(load(q, NEXT)):
        return -1
    ticket = add(q, NEXT, 1 << BITS if back else 1)
    if not _left(ticket):  # somebody else was faster
        return -1
    return (ticket >> 2 * BITS) - 1 - (ticket >> BITS & LOW) if back else ticket & LOW


@kernel
def _left(ticket: int) -> bool:
    """Whether there were parts to be given out."""
    return (ticket & LOW) + (ticket >> BITS & LOW) < ticket >> 2 * BITS


@kernel
def part_done(q: PtrI8) -> None:
    """A part that was taken is done."""
    add(q, LEFT, -1)


@kernel
def wait_for_all(q: PtrI8) -> None:
    """Wait for parts in the hands of others."""
    while load(q, LEFT) > 0:
        relax()
