"""Fair timing of several programs in one run: each works alone, in turn, in an order that rotates.

A machine's speed drifts by tens of percent over a minute, so programs timed one after the other are
not comparable. Here everybody gets many short turns; ratios are formed within a round, where the
drift is small, and their median over the rounds is reported.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

# Untimed calls at the start of a turn: the caches still hold the previous contestant's data.
LEAD_IN = 2


@dataclass(frozen=True)
class Contestant:
    """A name and a function that makes n calls and returns the seconds of each."""

    name: str
    measure: Callable[[int], list[float]]


def durations(call: Callable[[], object], n: int) -> list[float]:
    """Seconds of n calls, each timed on its own."""
    clock = time.perf_counter
    seconds = []
    for _ in range(n):
        start = clock()
        call()
        seconds.append(clock() - start)
    return seconds


def take_turns(
    contestants: Sequence[Contestant], rounds: int, calls: int
) -> dict[str, list[list[float]]]:
    """Seconds per call of every contestant, one list per round."""
    times: dict[str, list[list[float]]] = {each.name: [] for each in contestants}
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for r in range(rounds):
            first = r % len(contestants)
            for each in (*contestants[first:], *contestants[:first]):
                times[each.name].append(each.measure(LEAD_IN + calls)[LEAD_IN:])
    finally:
        if collecting:
            gc.enable()
    return times


def median_ratio(ours: list[list[float]], theirs: list[list[float]]) -> float:
    """Median over the rounds of (median of ours) / (median of theirs)."""
    pairs = zip(ours, theirs, strict=True)
    return float(np.median([np.median(a) / np.median(b) for a, b in pairs]))
