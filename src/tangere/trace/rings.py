"""Rows out of the rings of the servos: of several, those of the same tick side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tangere.errors import SceneError
from tangere.haptics.layout import NROW, ROW_EVENT, ROW_MISSED, ROW_TIME
from tangere.haptics.mailbox import DROPPED, drain
from tangere.maths.vec import Array, LongArray

Ring = tuple[Array, LongArray]  # of `haptics.mailbox.new_ring`

BATCH = 1024  # rows taken from a ring at a time
PATIENCE = 0.25  # how long a tick waits for a ring that lags behind the others [s]


class Rings:
    """The rows of all rings, one tick after the other.

    The tick of a row is its time in periods, so all loops must count from the same beginning. A
    tick is whole when every ring has delivered it or a later one. Where a loop left a tick out and
    another did not, its part of the row is that of its last tick again, with the time of this one
    and nothing in `servo.missed` and `event`: the next tick that it did make says how many it left
    out. Before its first tick that one stands in. A ring that lags by more than PATIENCE, because
    its loop has ended or hangs, is not waited for: its last tick stays, or NaN if there was none.
    What it delivers later for ticks that have gone is left out, and counted.

    Attributes:
        width: Numbers in a row of all rings.
        late: Rows that came after their tick had gone.
    """

    def __init__(self, rings: Sequence[Ring], rate: float | None = None) -> None:
        """Nothing is read yet.

        Args:
            rings: In the order in which their hands stand in a row, with one or more hands each.
            rate: Ticks per second; needed with several rings.

        Raises:
            SceneError: There is no ring, one is not made of whole rows, or the rate is missing.
        """
        if not rings:
            raise SceneError("recorder: there is no ring to read; give one for each loop")
        for ring, _ in rings:
            if ring.ndim != 2 or ring.shape[1] % NROW or not ring.shape[1]:
                raise SceneError(
                    f"recorder: rows have {NROW} numbers per tool, the ring has shape {ring.shape}"
                )
        if len(rings) > 1 and rate is None:
            raise SceneError("recorder: rows of several rings are matched by ticks; give a rate")
        self.width = sum(ring.shape[1] for ring, _ in rings)
        self.late = 0
        self._rings = tuple(rings)
        self._rate = rate or 0.0
        self._batches = [np.zeros((BATCH, ring.shape[1])) for ring, _ in rings]
        self._waiting = [batch[:0] for batch in self._batches]  # not given out yet
        self._last: list[Array | None] = [None for _ in rings]  # rows given out last
        self._done = -np.inf  # newest tick given out

    @property
    def dropped(self) -> int:
        """Rows that a servo could not store because its ring was full."""
        return sum(int(at[DROPPED]) for _, at in self._rings)

    def take(self, *, all_of_it: bool = False) -> Array:
        """The next rows, not kept beyond the next call; none when there is nothing new.

        Args:
            all_of_it: Wait for no ring any longer: the loops have ended.
        """
        if len(self._rings) == 1:
            (ring, at), (batch,) = self._rings[0], self._batches
            return batch[: drain(ring, at, batch)]
        for i, ((ring, at), batch) in enumerate(zip(self._rings, self._batches, strict=True)):
            while count := drain(ring, at, batch):
                new = batch[:count]
                keep = self._ticks(new) > self._done
                self.late += count - int(np.count_nonzero(keep))
                self._waiting[i] = np.concatenate((self._waiting[i], new[keep]))
        ticks = [self._ticks(rows) for rows in self._waiting]
        reached = [self._reached(i, own) for i, own in enumerate(ticks)]
        until = max(reached)
        if not all_of_it:
            until = max(min(reached), until - np.ceil(PATIENCE * self._rate))
        wanted = np.unique(np.concatenate([own[own <= until] for own in ticks]))
        if not len(wanted):
            return np.zeros((0, self.width))
        self._done = float(wanted[-1])
        return np.hstack([self._part(i, own, wanted) for i, own in enumerate(ticks)])

    def _ticks(self, rows: Array) -> Array:
        return np.rint(rows[:, ROW_TIME] * self._rate)

    def _reached(self, i: int, ticks: Array) -> float:
        """The newest tick of a ring; −∞ before its first."""
        if len(ticks):
            return float(ticks[-1])
        last = self._last[i]
        return -np.inf if last is None else float(np.rint(last[ROW_TIME] * self._rate))

    def _part(self, i: int, ticks: Array, wanted: Array) -> Array:
        """Rows of one ring for these ticks; those given out are forgotten."""
        rows, last = self._waiting[i], self._last[i]
        if last is None:
            last = rows[0] if len(rows) else np.full(self._batches[i].shape[1], np.nan)
        # The last row given out stands before those that wait.
        index = np.searchsorted(ticks, wanted, side="right")
        made = np.concatenate((last[None], rows))[index]
        held = np.ones(len(wanted), dtype=bool)
        held[np.searchsorted(wanted, ticks[ticks <= wanted[-1]])] = False
        for first in range(0, made.shape[1], NROW):
            made[held, first + ROW_TIME] = wanted[held] * (1.0 / self._rate)  # as the servo does
            made[held, first + ROW_MISSED] = made[held, first + ROW_EVENT] = 0.0
        gone = int(index[-1])
        if gone:
            self._last[i] = rows[gone - 1].copy()
        self._waiting[i] = rows[gone:]
        return made
