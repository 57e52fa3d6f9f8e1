"""Rows of the pairs of a simulation, for tests that look at what contacts remember."""

from __future__ import annotations

from tangere.maths.vec import IntArray
from tangere.simulation import Simulation


def rows(sim: Simulation) -> IntArray:
    """Slots of all pairs in the list, in its order."""
    pairs = sim.arrays.work.pairs
    return pairs.slot[: int(pairs.used[0])]
