"""Where a trace has its numbers from: arrays in memory, a file, or a part of either.

A `Trace` asks for a column and a stretch of ticks and gets that and nothing else, so that what is
on disk can be longer than memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left

import numpy as np

from tangere.geometry.checks import frozen
from tangere.maths.vec import Array, LongArray
from tangere.trace.columns import Column
from tangere.trace.events import EVENT, LABEL, Table

BLOCK_ROWS = 8192  # read at a time where all of a trace has to be looked at


class Rows(ABC):
    """Columns by name, a row per tick, and tables of events and labels.

    Attributes:
        columns: By full name, in order.
        in_memory: Whether a column costs nothing to read.
    """

    columns: dict[str, Column]
    in_memory = False

    @abstractmethod
    def __len__(self) -> int:
        """Ticks."""

    @abstractmethod
    def read(self, name: str, first: int, last: int) -> Array:
        """Numbers of a column in ticks first … last − 1, shape (last − first, width)."""

    def events(self) -> Table:
        """The table of events, EVENT."""
        return np.zeros(0, EVENT)

    def labels(self) -> Table:
        """The table of labels, LABEL."""
        return np.zeros(0, LABEL)

    def bounds(self, rate: float) -> tuple[float, float]:
        """First tick, and the one after the last, of what happened in these rows."""
        del rate  # all there is
        return -np.inf, np.inf

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers in a row, those included that no column names."""

    def matrix(self, first: int, last: int) -> Array:
        """All columns side by side, each at its place; zeros where none is."""
        made = np.zeros((last - first, self.width))
        for name, column in self.columns.items():
            made[:, column.start : column.start + column.width] = self.read(name, first, last)
        return made

    def time_at(self, index: int) -> float:
        """Time of a tick, of the first tool [s]."""
        name = next(full for full, column in self.columns.items() if column.name == "time")
        return float(self.read(name, index, index + 1)[0, 0])

    def index_at(self, time: float) -> int:
        """The first row that is not before `time` [s]; one past the last if there is none."""
        return bisect_left(range(len(self)), time, key=self.time_at)


class MemoryRows(Rows):
    """Rows as the servo writes them, as an array."""

    in_memory = True

    def __init__(
        self,
        rows: Array,
        columns: dict[str, Column],
        events: Table | None = None,
        labels: Table | None = None,
    ) -> None:
        self.columns = columns
        self._rows = frozen(rows)
        self._events = np.zeros(0, EVENT) if events is None else events
        self._labels = np.zeros(0, LABEL) if labels is None else labels

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def width(self) -> int:
        """See `Rows.width`."""
        return int(self._rows.shape[1])

    def read(self, name: str, first: int, last: int) -> Array:
        """See `Rows.read`."""
        column = self.columns[name]
        return self._rows[first:last, column.start : column.start + column.width]

    def matrix(self, first: int, last: int) -> Array:
        """See `Rows.matrix`."""
        return self._rows[first:last]

    def events(self) -> Table:
        """See `Rows.events`."""
        return self._events

    def labels(self) -> Table:
        """See `Rows.labels`."""
        return self._labels


class _Wrapped(Rows):
    """Rows that come from other rows."""

    def __init__(self, inner: Rows) -> None:
        self.inner = inner
        self.columns = inner.columns
        self.in_memory = inner.in_memory

    def __len__(self) -> int:
        return len(self.inner)

    @property
    def width(self) -> int:
        """See `Rows.width`."""
        return self.inner.width

    def events(self) -> Table:
        """See `Rows.events`."""
        return self.inner.events()

    def labels(self) -> Table:
        """See `Rows.labels`."""
        return self.inner.labels()

    def bounds(self, rate: float) -> tuple[float, float]:
        """See `Rows.bounds`."""
        return self.inner.bounds(rate)


class PartRows(_Wrapped):
    """A stretch of ticks of other rows."""

    def __init__(self, inner: Rows, first: int, last: int) -> None:
        if isinstance(inner, PartRows):  # a part of a part is a part of the whole
            first, last, inner = inner.first + first, inner.first + last, inner.inner
        super().__init__(inner)
        self.first: int = first
        self.last: int = last

    def __len__(self) -> int:
        return self.last - self.first

    def read(self, name: str, first: int, last: int) -> Array:
        """See `Rows.read`."""
        return self.inner.read(name, self.first + first, self.first + last)

    def matrix(self, first: int, last: int) -> Array:
        """See `Rows.matrix`."""
        return self.inner.matrix(self.first + first, self.first + last)

    def bounds(self, rate: float) -> tuple[float, float]:
        """See `Rows.bounds`."""
        first, after = self.inner.bounds(rate)
        if self.first > 0:
            begin = self.first < len(self.inner)
            first = float(np.rint(self.inner.time_at(self.first) * rate)) if begin else np.inf
        if self.last < len(self.inner):
            after = float(np.rint(self.inner.time_at(self.last) * rate))
        return first, after


class ToolRows(_Wrapped):
    """The columns of one of several tools, under their plain names."""

    def __init__(self, inner: Rows, tool: str) -> None:
        super().__init__(inner)
        self._full = {c.name: full for full, c in inner.columns.items() if c.tool == tool}
        own = [inner.columns[full] for full in self._full.values()]
        start = min(column.start for column in own)
        self.columns = {c.name: c._replace(start=c.start - start) for c in own}
        self._width = inner.width // len({column.tool for column in inner.columns.values()})

    @property
    def width(self) -> int:
        """See `Rows.width`."""
        return self._width

    def read(self, name: str, first: int, last: int) -> Array:
        """See `Rows.read`."""
        return self.inner.read(self._full[name], first, last)


class PickedRows(_Wrapped):
    """Some of the rows of another trace, in their order, some of them more than once.

    The time of each is given, so that a row may stand for a tick that was missed.
    """

    def __init__(self, inner: Rows, index: LongArray, time: Array) -> None:
        super().__init__(inner)
        self._index, self._time = index, time

    def __len__(self) -> int:
        return len(self._index)

    def read(self, name: str, first: int, last: int) -> Array:
        """See `Rows.read`."""
        if self.columns[name].name == "time":
            return self._time[first:last, None]
        picked = self._index[first:last]
        if not len(picked):
            return self.inner.read(name, 0, 0)
        least = int(picked[0])
        return self.inner.read(name, least, int(picked[-1]) + 1)[picked - least]


class JoinedRows(_Wrapped):
    """Rows, and after them others with the same columns: a file that ended, and what followed."""

    def __init__(self, inner: Rows, after: Rows) -> None:
        super().__init__(inner)
        self._after = after

    def __len__(self) -> int:
        return len(self.inner) + len(self._after)

    def read(self, name: str, first: int, last: int) -> Array:
        """See `Rows.read`."""
        n = len(self.inner)
        if last <= n:
            return self.inner.read(name, first, last)
        if first >= n:
            return self._after.read(name, first - n, last - n)
        return np.concatenate(
            (self.inner.read(name, first, n), self._after.read(name, 0, last - n))
        )

    def events(self) -> Table:
        """See `Rows.events`."""
        return np.concatenate((self.inner.events(), self._after.events()))

    def labels(self) -> Table:
        """See `Rows.labels`."""
        return np.concatenate((self.inner.labels(), self._after.labels()))
