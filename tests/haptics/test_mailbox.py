"""Hand-over of the newest value and of every row: model, races, other processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangere._jit import JIT_DISABLED, kernel
from tangere.haptics.layout import new_mailbox
from tangere.haptics.mailbox import DROPPED, drain, new_ring, post, push, take
from tangere.maths.vec import Array, LongArray

pytestmark = pytest.mark.nojit

WIDTH = 40
TURNS = 500 if JIT_DISABLED else 200_000


@kernel
def post_many(slots: Array, at: LongArray, values: Array, turns: int) -> None:
    """Post 1, 2, …, each in every place."""
    for i in range(turns):
        for k in range(len(values)):
            values[k] = i + 1.0
        post(slots, at, values, len(values))


@kernel
def take_many(slots: Array, at: LongArray, values: Array, last: float) -> int:
    """Take until `last` has come; the number of takes, or minus the first that was wrong."""
    before, count = 0.0, 0
    while before < last:
        if take(slots, at, values, len(values)):
            count += 1
            for k in range(len(values)):
                if values[k] != values[0] or values[k] <= before:
                    return -count
            before = values[0]
    return count


@given(st.lists(st.booleans(), max_size=60))
def test_the_reader_gets_the_newest_value_once(posts: list[bool]) -> None:
    slots, at = new_mailbox(3)
    out = np.zeros(3)
    newest = None
    for i, is_post in enumerate(posts):
        if is_post:
            post(slots, at, np.full(3, float(i)), 3)
            newest = float(i)
        else:
            before = out.copy()
            assert take(slots, at, out, 3) == (newest is not None)
            assert out.tolist() == (before.tolist() if newest is None else [newest] * 3)
            newest = None
        assert sorted(at & 3) == [0, 1, 2], "each slot has one owner"


def test_nothing_is_torn_and_time_never_runs_back_between_threads() -> None:
    slots, at = new_mailbox(WIDTH)
    post_many(*new_mailbox(WIDTH), np.zeros(WIDTH), 1)  # compiled before the race
    values = np.zeros(WIDTH)
    writer = threading.Thread(target=post_many, args=(slots, at, values, TURNS))
    writer.start()
    took = take_many(slots, at, np.zeros(WIDTH), float(TURNS))
    writer.join()
    assert 0 < took <= TURNS


WRITER = """
import sys
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
import numpy as np
from tangere.haptics.mailbox import post
name, turns = sys.argv[1], int(sys.argv[2])
memory = SharedMemory(name)
resource_tracker.unregister(memory._name, "shared_memory")  # it is not ours to remove
at = np.ndarray(3, np.int64, memory.buf)
slots = np.ndarray((3, 8), np.float64, memory.buf, 64)
for i in range(turns):
    post(slots, at, np.full(8, i + 1.0), 8)
del at, slots
memory.close()
"""


@pytest.mark.skipif(JIT_DISABLED, reason="plain Python exchanges indivisibly between threads only")
def test_another_process_can_write() -> None:
    turns = 2000
    memory = SharedMemory(create=True, size=64 + 3 * 8 * 8)
    try:
        at = np.ndarray(3, np.int64, memory.buf)
        slots = np.ndarray((3, 8), np.float64, memory.buf, 64)
        slots[:], at[:] = new_mailbox(8)
        writer = subprocess.Popen([sys.executable, "-c", WRITER, memory.name, str(turns)])
        out, before, count = np.zeros(8), 0.0, 0
        while before < turns:
            if take(slots, at, out, 8):
                assert (out == out[0]).all()
                assert out[0] > before
                before = out[0]
                count += 1
            elif writer.poll() is not None and not take(slots, at, out, 8):
                break
        assert writer.wait(60) == 0
        assert count > 0
        assert out[0] == turns
        del at, slots
    finally:
        memory.close()
        memory.unlink()


@given(st.lists(st.integers(-4, 6), max_size=40))
def test_a_ring_keeps_order_and_counts_what_it_left_out(moves: list[int]) -> None:
    """Positive: push so many. Negative: fetch up to so many."""
    ring, at = new_ring(5, 2)
    inside: list[float] = []
    dropped, number = 0, 0.0
    for move in moves:
        for _ in range(max(0, move)):
            number += 1.0
            fits = len(inside) < 5
            assert push(ring, at, 5, np.full(2, number), 2) == fits
            if fits:
                inside.append(number)
            else:
                dropped += 1
        if move < 0:
            rows = np.zeros((-move, 2))
            count = drain(ring, at, rows)
            assert rows[:count].tolist() == [[x, x] for x in inside[:-move]]
            assert count == min(len(inside), -move)
            inside = inside[count:]
    assert at[DROPPED] == dropped


@kernel
def push_many(ring: Array, at: LongArray, values: Array, last: int) -> None:
    """Push 1, 2, …, last, each again until there is room."""
    i = 1
    while i <= last:
        for k in range(len(values)):
            values[k] = float(i)
        if push(ring, at, len(ring), values, len(values)):
            i += 1


def test_a_ring_between_threads_loses_nothing() -> None:
    ring, at = new_ring(64, WIDTH)
    last = TURNS // 20
    push_many(*new_ring(2, WIDTH), np.zeros(WIDTH), 1)  # compiled before the race
    writer = threading.Thread(target=push_many, args=(ring, at, np.zeros(WIDTH), last))
    writer.start()
    rows, expected = np.zeros((50, WIDTH)), 1
    while expected <= last:
        count = drain(ring, at, rows)
        wanted = np.arange(expected, expected + count, dtype=float)
        assert (rows[:count] == wanted[:, None]).all()
        expected += count
    writer.join()
