"""From the servos' rings of rows to a file or to memory, beside the servos and without help."""

from __future__ import annotations

import contextlib
import os
import platform
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import Any, Self

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import one_line
from tangere.haptics.layout import NROW
from tangere.maths.vec import Array
from tangere.trace.columns import places_of
from tangere.trace.events import EVENT, LABEL, new_event, new_label
from tangere.trace.file import RowFile, that_fits
from tangere.trace.meta import checked
from tangere.trace.reading import read
from tangere.trace.rings import Ring, Rings
from tangere.trace.rows import JoinedRows, MemoryRows, Rows
from tangere.trace.trace import Trace

PERIOD = 0.05  # between two looks at the rings [s]; a killed process loses no more than about this
SYNC_PERIOD = 1.0  # between two waits for the disk [s]; a loss of power may take this much
# Rows kept without a file: five minutes at 1 kHz, 254 MB per tool. Older ones make room.
KEEP_ROWS = 300_000


class Recorder:
    """Takes rows out of rings and events from anyone, into a file that survives a crash or memory.

    A servo is the only one that writes to its ring, the recorder the only one that reads. With
    `start` a thread does it; without, call `drain` at least once per `capacity` rows. How rows of
    several rings come together: see `trace.rings`.

    When the disk is full or gone, recording to the file stops, `on_fault` is told once in words,
    and all goes to memory from then on, so that the session's trace still has it.

    Attributes:
        fault: Why the file ends before the session, or "".
        rows: Rows taken so far.
    """

    def __init__(
        self,
        rings: Sequence[Ring],
        path: str | os.PathLike[str] | None = None,
        meta: Mapping[str, Any] | None = None,
        *,
        tools: Sequence[str] = ("tool",),
        on_fault: Callable[[str], None] | None = None,
        on_rows: Callable[[Array], None] | None = None,
        keep: int = KEEP_ROWS,
    ) -> None:
        """Make the file, if there is one; nothing is read yet.

        Args:
            rings: One for each loop, of `haptics.mailbox.new_ring`: rows, shape (capacity, NROW ×
                tools of the loop), and counts. With several, `meta` must have the rate.
            path: File to make; None keeps the rows in memory.
            meta: What `Trace.meta` shall say beside `surroundings`; values that JSON knows.
                `meta["columns"]` names columns of the user's own.
            tools: Names, in the order in which they stand in a row.
            on_fault: Told once when recording to the file stops, from the recorder's thread.
            on_rows: Given the rows as they come, in order, from the recorder's thread.
            keep: Rows kept in memory at least; when there are more, the oldest go.

        Raises:
            SceneError: The file cannot be written, or the rings do not fit the tools.
        """
        self.fault = ""
        self.rows = 0
        self._tools = tuple(tools)
        self._meta = checked({**surroundings(), **(meta or {}), "tools": list(tools)}, "recorder")
        self._rings = Rings(rings, self._meta.get("rate"))
        width = self._rings.width
        if width != NROW * len(tools):
            raise SceneError(
                f"recorder: rows of {len(tools)} tools have {NROW * len(tools)} numbers, those of "
                f"the rings {width}"
            )
        self._columns = places_of(tools, self._meta.get("columns"))
        self._file = None if path is None else RowFile(path, self._columns, width, self._meta)
        self._on_fault = on_fault
        self._on_rows = on_rows
        self._keep = keep
        self._kept: deque[Array] = deque()
        self._held = 0  # rows kept
        self._left_out = 0  # rows that had to make room
        # marked and not stored yet; a deque takes and gives single items from any thread
        self._marked: deque[tuple[int, int, bytes, float]] = deque()
        self._labelled: deque[tuple[int, int, bytes]] = deque()
        self._tables = {"events": np.zeros(0, EVENT), "labels": np.zeros(0, LABEL)}  # in memory
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._trace: Trace | None = None

    @property
    def dropped(self) -> int:
        """Rows that a servo could not store because its ring was full, or that came too late."""
        return self._rings.dropped + self._rings.late

    def mark(self, tick: int, clock_ns: int, name: str, value: float = 0.0) -> None:
        """Note an event; from any thread, and without waiting for the disk.

        Args:
            tick: Of the servo.
            clock_ns: When it happened, on a clock of the caller's choice [ns].
            name: Up to 64 bytes in UTF-8.
            value: Whatever belongs to it.

        Raises:
            SceneError: The name is too long, or something else than it should be.
        """
        self._marked.append(new_event(tick, clock_ns, name, value))

    def label(self, tick: int, clock_ns: int, text: str) -> None:
        """Begin a trial; from any thread, and without waiting for the disk.

        Args:
            tick: Of the servo, the first of the trial.
            clock_ns: When it began, on a clock of the caller's choice [ns].
            text: Up to 64 bytes in UTF-8; none ends the trial that runs.

        Raises:
            SceneError: The text is too long, or something else than it should be.
        """
        self._labelled.append(new_label(tick, clock_ns, text))

    def start(self) -> Self:
        """Record in a thread of its own."""
        jobs = [self._drain_always] + ([self._sync_always] if self._file else [])
        self._threads = [threading.Thread(target=job, daemon=True) for job in jobs]
        for thread in self._threads:
            thread.start()
        return self

    def _drain_always(self) -> None:
        while not self._stop.wait(PERIOD):
            self.drain()

    def _sync_always(self) -> None:
        # In a thread of its own: a slow disk must not hold up the rows that follow.
        while not self._stop.wait(SYNC_PERIOD) and self._file is not None and not self.fault:
            try:
                self._file.sync()
            except OSError as error:
                self._fail(error)

    def drain(self) -> int:
        """Take everything out of the rings and the queues of events; the count of rows."""
        return self._drain()

    def _drain(self, *, all_of_it: bool = False) -> int:
        had = self.rows
        while len(rows := self._rings.take(all_of_it=all_of_it)):
            if self._on_rows is not None:
                self._on_rows(rows)
            self._store(rows)
            self.rows += len(rows)
        self._store_table("events", self._marked)
        self._store_table("labels", self._labelled)
        return self.rows - had

    def _store(self, rows: Array) -> None:
        if self._file is not None and not self.fault:
            had = self._file.count
            try:
                self._file.append(rows)
                return
            except OSError as error:
                rows = rows[self._file.count - had :]
                self._file.abandon()
                self._fail(error)
        if not len(rows):
            return
        self._kept.append(rows.copy())
        self._held += len(rows)
        while self._held - len(self._kept[0]) >= self._keep:
            gone = len(self._kept.popleft())
            self._held -= gone
            self._left_out += gone

    def _store_table(self, name: str, queue: deque[Any]) -> None:
        """Take what is in a queue now; what comes meanwhile stays there."""
        if not queue:
            return
        taken = [queue.popleft() for _ in range(len(queue))]
        table = np.array(taken, dtype=self._tables[name].dtype)
        if self._file is not None and not self.fault:
            try:
                self._file.append_table(name, table)
                return
            except OSError as error:
                self._file.abandon()
                self._fail(error)
        self._tables[name] = np.concatenate((self._tables[name], table))

    def _fail(self, error: Exception) -> None:
        if not self.fault:
            self.fault = f"recording stopped: {one_line(error)}"
            if self._on_fault is not None:
                self._on_fault(self.fault)

    def finish(self, reason: str = "finished", **more: Any) -> Trace:
        """Stop, close the file and give back the whole trace.

        Args:
            reason: Why the session ended; `Trace.meta["end"]`.
            more: Other things known only now, for `Trace.meta`.
        """
        if self._trace is not None:
            return self._trace
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._drain(all_of_it=True)
        end = {
            "end": reason,
            "recording": self.fault or "complete",
            "dropped": self.dropped,
            "left_out": self._left_out,
            "stop": datetime.now(UTC).isoformat(timespec="milliseconds"),
            **more,
        }
        kept = np.concatenate([np.zeros((0, self._rings.width)), *self._kept])
        memory = MemoryRows(kept, self._columns, self._tables["events"], self._tables["labels"])
        self._kept.clear()
        rows: Rows = memory
        if self._file is not None:
            with self._file:
                self._end_file(end)
            try:
                stored = read(self._file.path)
                stored.limit(self._file.count, self._file.table_counts)
                rows = JoinedRows(stored, memory) if self.fault else stored
            except SceneError as error:  # a disk that is gone
                self._fail(error)
                end["recording"] = self.fault
        self._trace = Trace(rows, {**self._meta, **end}, self._tools)
        return self._trace

    def _end_file(self, end: dict[str, Any]) -> None:
        assert self._file is not None
        try:
            if self.fault:
                self._file.abandon()
            self._file.end(that_fits(end))
        except OSError as error:
            self._fail(error)
            end["recording"] = self.fault
            self._file.abandon()
            with contextlib.suppress(OSError):  # there is room for this, if there is a disk
                self._file.end(that_fits(end))

    def __enter__(self) -> Self:
        """Record until the block ends."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file, whatever happened."""
        self.finish("finished" if error is None else f"ended by {one_line(repr(error))}")


def surroundings() -> dict[str, Any]:
    """When, where and with which versions a session runs."""
    libraries = ("tangere", "numpy", "numba", "scipy", "h5py")
    return {
        "start": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "machine": f"{platform.platform()}, {platform.machine()}, {os.cpu_count()} cores",
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in libraries},
        },
    }


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # run from its sources
        return "not installed"
