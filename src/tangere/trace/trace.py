"""What happened in a session, tick by tick: `Trace` reads, sums up, draws, saves and exports it."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere.errors import SceneError
from tangere.geometry.checks import frozen, hint, show
from tangere.haptics.layout import NROW
from tangere.maths.vec import Array, LongArray
from tangere.trace import export
from tangere.trace.columns import (
    FAULTS_OF_THE_MACHINE,
    LAYOUT,
    OF_THE_MACHINE,
    WHOLE_NUMBERS,
    Column,
    Fault,
    faults_of,
    in_words,
    places_of,
)
from tangere.trace.events import Table, labels_within, shown, within
from tangere.trace.file import RowFile
from tangere.trace.meta import checked
from tangere.trace.reading import read
from tangere.trace.rows import BLOCK_ROWS, MemoryRows, PartRows, PickedRows, Rows, ToolRows
from tangere.trace.summary import Summary, summary_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The settings that define a run: with these and the same hand it goes the same way again.
DEFINING = ("scene", "method", "integrator", "coupling", "rate", "seed", "settings", "tools")
CACHE_BYTES = 1 << 26  # of columns of a file that are kept, the newest


class Trace:
    """A recorded session.

    `trace["tool.force"]` is a column, shape (ticks,) or (ticks, 3 or 4); `trace.columns` has their
    names. With several tools a column's full name begins with that of its tool, as in
    `trace["left.tool.force"]`; the plain name means the first tool. World axes, SI units; columns
    of the device are in its own base frame. `trace[1000:2000]` is the trace of these ticks alone.

    A trace that was loaded from a file, or recorded into one, reads a column when it is asked for.
    Keep the file as long as the trace.

    Attributes:
        tools: Names of the tools.
        label: Of the trial, for one of `trials`.
        layout: Version of the columns.
    """

    def __init__(
        self,
        rows: ArrayLike | Rows,
        meta: Mapping[str, Any] | None = None,
        tools: Sequence[str] = ("tool",),
    ) -> None:
        """A trace of rows in memory, or of rows that something else reads.

        Args:
            rows: As the servo writes them, shape (ticks, NROW × tools).
            meta: What is known of the session. `meta["columns"]` names columns of the user's own.
            tools: Names, in the order in which they stand in a row.

        Raises:
            SceneError: The rows do not fit the tools, or the meta data is not what it should be.
        """
        told = {key: value for key, value in (meta or {}).items() if key != "faults"}
        self._told = checked({**told, "tools": list(tools)}, "trace")
        if not isinstance(rows, Rows):
            numbers = np.array(rows, dtype=np.float64, ndmin=2, order="C")
            if numbers.shape[1:] != (NROW * len(tools),):
                raise SceneError(
                    f"trace: rows of {len(tools)} tools have {NROW * len(tools)} numbers, got "
                    f"shape {numbers.shape}"
                )
            rows = MemoryRows(numbers, places_of(tools, self._told.get("columns")))
        self.tools = tuple(tools)
        self.label = ""
        self.layout = LAYOUT
        self._rows = rows
        self._cache: OrderedDict[str, NDArray[Any]] = OrderedDict()

    def _of(self, rows: Rows, label: str = "", tools: tuple[str, ...] | None = None) -> Self:
        """Another trace of the same session."""
        made = object.__new__(type(self))
        made.tools = tools or self.tools
        made._told = {key: value for key, value in self._told.items() if key != "faults"}
        made._told["tools"] = list(made.tools)
        if "columns" in made._told:
            named = made._told["columns"].items()
            made._told["columns"] = {tool: names for tool, names in named if tool in made.tools}
        made.label = label or self.label
        made.layout = self.layout
        made._rows = rows
        made._cache = OrderedDict()
        return made

    # ------------------------------------------------------------------ reading

    @overload
    def __getitem__(self, what: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, what: slice) -> Self: ...
    def __getitem__(self, what: str | slice) -> NDArray[Any] | Self:
        """One column, read-only, whole numbers as integers; or the trace of a stretch of ticks."""
        if isinstance(what, slice):
            first, last, step = what.indices(len(self))
            if step != 1:
                raise SceneError(f"trace[::{step}]: a part of a trace has every tick; leave it out")
            return self._of(PartRows(self._rows, first, max(first, last)))
        name = self._full_name(what)
        if name in self._cache:
            self._cache.move_to_end(name)
            return self._cache[name]
        column = self._rows.columns[name]
        values: NDArray[Any] = self._rows.read(name, 0, len(self))
        if column.name in WHOLE_NUMBERS:
            values = np.nan_to_num(values[:, 0]).astype(np.int64)
        elif column.width == 1:
            values = values[:, 0]
        values.setflags(write=False)
        if not self._rows.in_memory:
            self._cache[name] = values
            while sum(kept.nbytes for kept in self._cache.values()) > CACHE_BYTES:
                self._cache.popitem(last=False)
        return values

    def _full_name(self, name: str) -> str:
        columns = self._rows.columns
        for full in (name, f"{self.tools[0]}.{name}"):
            if full in columns:
                return full
        plain = name.removeprefix(f"{self.tools[0]}.") if isinstance(name, str) else ""
        if plain in columns:
            return plain
        raise SceneError(f"no column {show(name)} in the trace{hint(name, list(columns))}")

    def __contains__(self, name: object) -> bool:
        """Whether there is such a column."""
        try:
            return isinstance(name, str) and bool(self._full_name(name))
        except SceneError:
            return False

    def __len__(self) -> int:
        """Ticks."""
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        """Names of the columns."""
        return iter(self._rows.columns)

    def __repr__(self) -> str:
        """Length and tools."""
        return f"<Trace of {len(self)} ticks, {self.duration:.3f} s, {', '.join(self.tools)}>"

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return list(self._rows.columns)

    def column(self, name: str) -> Column:
        """Width, unit and meaning of a column."""
        return self._rows.columns[self._full_name(name)]

    @property
    def rows(self) -> Array:
        """All numbers, one row per tick, read-only; of a file, all of it at once."""
        return frozen(self._rows.matrix(0, len(self)))

    @property
    def time(self) -> Array:
        """Time of each tick since the start [s]."""
        return self["time"]

    @property
    def duration(self) -> float:
        """Time from the first tick to the end of the last [s]."""
        if not len(self):
            return 0.0
        return self._rows.time_at(len(self) - 1) - self._rows.time_at(0) + 1.0 / self.rate

    @property
    def rate(self) -> float:
        """Ticks per second that were wanted."""
        if "rate" in self._told:
            return float(self._told["rate"])
        steps = np.diff(self[:BLOCK_ROWS].time)
        return 1.0 / float(np.median(steps)) if len(steps) else 1000.0

    @property
    def virtual(self) -> bool:
        """Whether it ran on the virtual clock, where no tick can be late."""
        return self._told.get("clock") == "virtual"

    @property
    def meta(self) -> dict[str, Any]:
        """What is known of the session.

        Scene, method, integrator, coupling, device, rate, seed, settings of each tool, versions,
        machine, start, why it ended, and faults in words.
        """
        if "faults" not in self._told:
            self._told["faults"] = in_words(self.faults)
        return self._told

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the first tool, in words; empty when they were not recorded."""
        return dict(self._told.get("settings", {}).get(self.tools[0], {}))

    @cached_property
    def faults(self) -> list[Fault]:
        """Every stretch of ticks in which something was wrong or limited."""
        found = []
        for tool in self.tools:
            names = f"{tool}.time", f"{tool}.fault"
            blocks = ((part[names[0]], part[names[1]]) for part in self.blocks())
            found += faults_of(blocks, tool if len(self.tools) > 1 else "")
        return sorted(found, key=lambda fault: fault.time)

    # ------------------------------------------------------------------ parts

    def of(self, tool: str) -> Self:
        """The trace of one tool alone.

        Raises:
            SceneError: There is no such tool.
        """
        if tool not in self.tools:
            raise SceneError(f"no tool {show(tool)} in the trace{hint(tool, list(self.tools))}")
        if len(self.tools) == 1:
            return self
        return self._of(ToolRows(self._rows, tool), tools=(tool,))

    def between(self, start: float, end: float) -> Self:
        """The trace of the ticks from `start` to before `end` [s]; nothing is read but their ends.

        Raises:
            SceneError: A time is not a number.
        """
        if np.isnan(start) or np.isnan(end):
            raise SceneError(f"between {start} s and {end} s: give numbers")
        return self[self._rows.index_at(start) : self._rows.index_at(end)]

    def blocks(self, rows: int = BLOCK_ROWS) -> Iterator[Self]:
        """The trace in parts of some thousand ticks, so that none of it has to be in memory.

        There is at least one part, of no ticks if the trace has none.
        """
        if len(self) <= rows:
            yield self
            return
        for first in range(0, len(self), rows):
            yield self[first : first + rows]

    def picked(self, index: LongArray, time: Array) -> Self:
        """Some rows in their order, some more than once; each at another time [s].

        Args:
            index: Of the rows, never falling.
            time: One for each.
        """
        return self._of(PickedRows(self._rows, index, time))

    def trials(self) -> list[Self]:
        """The trace of each trial, in order: from a label to the next one.

        Each knows its `label`. A label without text ends a trial and begins none. Without any
        labels the whole trace is the only trial.
        """
        labels = self.labels
        if not len(labels):
            return [self]
        # Ticks are at whole multiples of the period; half of one keeps away from rounding.
        starts = [self._rows.index_at(time - 0.5 / self.rate) for time in labels["time"].tolist()]
        ends = [*starts[1:], len(self)]
        return [
            self._of(PartRows(self._rows, start, end), label)
            for start, end, label in zip(starts, ends, labels["label"].tolist(), strict=True)
            if label and start < end
        ]

    @cached_property
    def events(self) -> NDArray[Any]:
        """What was marked: fields tick, time [s], clock [ns], name, value."""
        return shown(self._tables()[0], self.rate)

    @cached_property
    def labels(self) -> NDArray[Any]:
        """Labels of trials: fields tick, time [s], clock [ns], label; in order of ticks."""
        return shown(self._tables()[1], self.rate)

    def _tables(self) -> tuple[Table, Table]:
        """Events and labels as they are stored, of these ticks."""
        first, after = self._rows.bounds(self.rate)
        labels = self._rows.labels()
        labels = labels[np.argsort(labels["tick"], kind="stable")]
        return within(self._rows.events(), first, after), labels_within(labels, first, after)

    # ------------------------------------------------------------------ identity

    def hash(self) -> str:
        """SHA-256 of what must come out again when the session is repeated, in hexadecimal.

        It covers the settings that define the run and all columns but those that tell how the
        machine did: `servo.late`, `servo.duration`, `servo.missed`, `device.sample_age`,
        `device.write_time`, and the bits of `fault` of the recorder and the viewer.
        """
        # a file does not tell an empty scene from none
        defining = {key: self._told[key] for key in DEFINING if self._told.get(key, "") != ""}
        digest = hashlib.sha256(json.dumps(defining, sort_keys=True).encode())
        columns = self._rows.columns
        kept = {name: c for name, c in columns.items() if c.name not in OF_THE_MACHINE}
        digest.update("\n".join(kept).encode())
        for part in self.blocks():
            values = [part._rows.read(name, 0, len(part)) for name in kept]
            for i, column in enumerate(kept.values()):
                if column.name == "fault":
                    bits = np.nan_to_num(values[i]).astype(np.int64)
                    values[i] = (bits & ~FAULTS_OF_THE_MACHINE).astype(np.float64)
            digest.update(np.hstack(values).astype("<f8", copy=False).tobytes())
        return digest.hexdigest()

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an HDF5 file that `Trace.load` reads; an existing one is replaced as a whole.

        Raises:
            SceneError: The file cannot be written.
        """
        target = Path(path)
        draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
        told = {key: value for key, value in self._told.items() if key != "faults"}
        try:
            draft.touch()
            rows = self._rows
            with RowFile(
                draft, rows.columns, rows.width, told, layout=self.layout, growing=False
            ) as file:
                for part in self.blocks():
                    file.append(part.rows)
                for name, table in zip(("events", "labels"), self._tables(), strict=True):
                    file.append_table(name, table)
                file.end({"end": self._told.get("end", "finished")})
            draft.replace(target)
        except OSError as error:
            raise export.unwritable(path, error) from None
        finally:
            draft.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The trace of a file, also of one whose recording broke off or still goes on.

        Raises:
            SceneError: The file is missing or not a trace, in one line.
        """
        rows = read(path)
        made = cls(rows, rows.meta, rows.meta["tools"])
        made.layout = rows.layout
        return made

    def to_csv(
        self,
        path: str | os.PathLike[str],
        *,
        events: str | os.PathLike[str] | None = None,
        labels: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write a table of text: one line of names, one line per tick, every digit kept.

        Vectors become columns such as `tool.force.x`.

        Args:
            path: Of the table.
            events: Where to write the events as well, as such a table.
            labels: The same for the labels of trials.

        Raises:
            SceneError: A file cannot be written.
        """
        export.write_csv(self, path)
        for table, where in ((self.events, events), (self.labels, labels)):
            if where is not None:
                export.write_csv_table(table, where)

    def to_parquet(
        self,
        path: str | os.PathLike[str],
        *,
        events: str | os.PathLike[str] | None = None,
        labels: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write a Parquet table with the columns of `to_csv`, and `meta` as JSON under "tangere".

        Args:
            path: Of the table.
            events: Where to write the events as well, as such a table.
            labels: The same for the labels of trials.

        Raises:
            SceneError: A file cannot be written, or pyarrow is not installed.
        """
        export.write_parquet(self, path)
        for table, where in ((self.events, events), (self.labels, labels)):
            if where is not None:
                export.write_parquet_table(table, where)

    # ------------------------------------------------------------------ at a glance

    def summary(self) -> Summary:
        """What happened, in numbers; printed, it is a short text."""
        return summary_of(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Force, torque, deviation, energy and lateness over time.

        Args:
            path: Also write the figure there; the suffix chooses the format.
        """
        from tangere.trace.figure import draw

        figure = draw(self)
        if path is not None:
            try:
                figure.savefig(os.fspath(path), dpi=144, facecolor="white")
            except (OSError, ValueError) as error:
                raise export.unwritable(path, error) from None
        return figure
