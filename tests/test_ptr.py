"""Atomic access to whole numbers in every build."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangere._jit import CHECKED, JIT_DISABLED, kernel
from tangere._ptr import PtrI8, add, load, ptr, store, swap
from tangere.maths.vec import LongArray

pytestmark = pytest.mark.nojit

WORDS = st.integers(-(2**63), 2**63 - 1)
TURNS = 300 if JIT_DISABLED else 20_000


@kernel
def load_of(a: LongArray, i: int) -> int:
    """Element i."""
    return load(ptr(a), i)


@kernel
def store_in(a: LongArray, i: int, v: int) -> None:
    """Let element i be v."""
    store(ptr(a), i, v)


@kernel
def swap_in(a: LongArray, i: int, v: int) -> int:
    """Exchange element i."""
    return swap(ptr(a), i, v)


@kernel
def add_to(a: LongArray, i: int, v: int) -> int:
    """Add to element i."""
    return add(ptr(a), i, v)


@kernel
def draw_tickets(p: LongArray, turns: int, seen_out: LongArray) -> None:
    """Draw `turns` tickets; sums them."""
    q: PtrI8 = ptr(p)
    for _ in range(turns):
        seen_out[0] += add(q, 0, 1)


@kernel
def pass_tokens(p: LongArray, first: int, turns: int, seen_out: LongArray) -> None:
    """Exchange a token of one's own `turns` times; sums what came and what went."""
    q: PtrI8 = ptr(p)
    for i in range(turns):
        token = first + i
        seen_out[0] += swap(q, 0, token)
        seen_out[1] += token


@given(st.lists(WORDS, min_size=3, max_size=3), st.integers(0, 2), WORDS)
def test_load_store_and_swap_touch_one_element(values: list[int], i: int, v: int) -> None:
    a = np.array(values, dtype=np.int64)
    assert load_of(a, i) == values[i]
    assert swap_in(a, i, v) == values[i]
    assert load_of(a, i) == v
    store_in(a, i, values[i])
    assert a.tolist() == values
    step = 1 if values[i] < 0 else -1
    assert add_to(a, i, step) == values[i]
    assert add_to(a, i, -step) == values[i] + step
    assert a.tolist() == values


@pytest.mark.skipif(not (CHECKED or JIT_DISABLED), reason="the fast build does not look")
@pytest.mark.parametrize("i", [3, 100])
def test_the_checked_builds_notice_an_index_outside(i: int) -> None:
    a = np.zeros(3, dtype=np.int64)
    for call in (
        lambda: load_of(a, i),
        lambda: swap_in(a, i, 1),
        lambda: store_in(a, i, 1),
        lambda: add_to(a, i, 1),
    ):
        with pytest.raises(IndexError):
            call()


def test_exchanges_of_two_threads_lose_and_double_nothing() -> None:
    """Every token put in comes out once, or is the one left inside."""
    place = np.zeros(1, dtype=np.int64)
    sums = [np.zeros(2, dtype=np.int64) for _ in range(2)]
    pass_tokens(place.copy(), 0, 1, sums[0].copy())  # compiled before the race
    threads = [
        threading.Thread(target=pass_tokens, args=(place, 1 + 10**6 * k, TURNS, sums[k]))
        for k in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    came, went = sums[0] + sums[1]
    assert came + place[0] == went


def test_no_two_threads_draw_the_same_ticket() -> None:
    counter = np.zeros(1, dtype=np.int64)
    sums = [np.zeros(1, dtype=np.int64) for _ in range(2)]
    draw_tickets(counter.copy(), 1, sums[0].copy())  # compiled before the race
    threads = [threading.Thread(target=draw_tickets, args=(counter, TURNS, each)) for each in sums]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn = 2 * TURNS
    assert counter[0] == drawn
    assert sums[0][0] + sums[1][0] == drawn * (drawn - 1) // 2  # 0 … drawn − 1, each once
