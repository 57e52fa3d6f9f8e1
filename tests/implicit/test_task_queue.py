"""Work in parts: each is given out once, and who does it does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from implicit.graphs import chain, factor_and_solve, islands_of
from implicit.test_block_cholesky import system
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.implicit.task_queue import (
    ISLAND,
    JOB,
    LEAST,
    LEFT,
    OPEN,
    part_count,
    part_done,
    part_range,
    set_task,
    take_part,
    wait_for_all,
)
from tangere.solver import NQ

pytestmark = pytest.mark.nojit

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


@kernel
def _set(q: Longs, given: Floats, parts: int) -> None:
    """Set a task on arrays."""
    set_task(ptr(q), ptr(given), 7, 3, 2.5, parts)


@kernel
def _take(q: Longs, back: bool = False) -> int:
    """Take a part on arrays."""
    return take_part(ptr(q), back)


@kernel
def _done(q: Longs) -> None:
    """A part is done, on arrays."""
    part_done(ptr(q))


@kernel
def _wait(q: Longs) -> None:
    """Wait, on arrays."""
    wait_for_all(ptr(q))


def test_each_part_is_given_out_once() -> None:
    q, given = np.zeros(NQ, np.int64), np.zeros(1)
    assert _take(q) == -1  # no task was ever set
    for parts in (1, 5, 0, 3):
        _set(q, given, parts)
        assert (q[JOB], q[ISLAND], given[0]) == (7, 3, 2.5)
        assert [_take(q) for _ in range(parts + 3)] == [*range(parts), -1, -1, -1]
        for left in range(parts, 0, -1):
            assert q[LEFT] == left
            _done(q)
        _wait(q)


def test_helpers_begin_at_the_other_end() -> None:
    q, given = np.zeros(NQ, np.int64), np.zeros(1)
    _set(q, given, 5)
    backs = (True, False, True, True, False, True, False)
    assert [_take(q, back) for back in backs] == [4, 0, 3, 2, 1, -1, -1]


SIZES = [(0, 64, 0), (1, 64, 1), (127, 64, 1), (128, 64, 2), (129, 64, 2), (640, 64, 8), (9, 1, 6)]


@pytest.mark.parametrize(("items", "least", "parts"), SIZES)
def test_parts_cover_all(items: int, least: int, parts: int) -> None:
    assert part_count(items, least) == parts
    ranges = [part_range(items, least, part) for part in range(parts)]
    assert [k for first, end in ranges for k in range(first, end)] == list(range(items))


@pytest.mark.parametrize("items", [128, 1_001, 10_000, 123_457])
def test_parts_are_few_and_small_where_the_ends_meet(items: int) -> None:
    parts = part_count(items, 64)
    sizes = [np.subtract(*part_range(items, 64, part)[::-1]) for part in range(parts)]
    assert parts <= 2 * np.ceil(np.log2(items / 64))
    inwards = np.array([sizes[: parts // 2], sizes[: parts // 2 - 1 : -1]])
    assert np.all(np.diff(inwards) <= 1)  # the middle one of an odd number belongs to one
    # either end's first part is half of its half; the least are between half of 64 and 64
    assert max(sizes) <= items / 4 + 64
    assert min(sizes) >= 32
    assert max(sizes[parts // 2 - 1 : parts // 2 + 1]) <= 65


def test_gradients_in_parts_are_the_same_to_the_last_digit() -> None:
    bodies = 4 * LEAST + 5
    found = []
    for together in (0, 1):
        edges = chain(bodies)
        _, v = islands_of(bodies, edges)
        v.graph.direct[:] = 0
        a, b = system(v, bodies, edges, 3)
        v.queue[OPEN] = together
        assert factor_and_solve(v, 0) > 10
        found.append(v.matrix.x.copy())
        assert a @ found[-1].ravel() == pytest.approx(b, abs=1e-4)
    assert np.array_equal(found[0], found[1])
