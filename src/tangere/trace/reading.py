"""Trace files read: columns when they are asked for, of every format that there has been.

    format 1   a table `rows`, one record per tick, its fields named like the columns; the records
               lie one after the other up to the end of the file
    format 2   see `trace.file`

HDF5 reads through a Python file. Its own driver refuses a file whose writer was killed, unless it
reads as SWMR readers do, and then it tries for minutes to read a damaged one; and within one
process it would share the file with a recorder that still writes to it. A file that lost its end,
with the power or on its way, is read as if there were zeros: the rows before can be had.
"""

from __future__ import annotations

import io
import os
import threading
import time
import weakref
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.geometry.checks import one_line, show
from tangere.maths.vec import Array
from tangere.trace.columns import COLUMNS, Column
from tangere.trace.events import EVENT, LABEL, Table
from tangere.trace.file import BLOCK, FORMAT
from tangere.trace.meta import checked, parsed
from tangere.trace.rows import BLOCK_ROWS, Rows

BROKE_OFF = "the recording broke off"
TRIES = 5  # to read a file that grows meanwhile
PAUSE = 0.01  # between two of them [s]
MOST_OPEN = 64  # files held open; further ones close the oldest, which opens again when needed
WIDEST = 64  # numbers in a column
# Byte of the superblock where the end of the file is told, by the superblock's version: format 1
# has the first, format 2 the others
SUPERBLOCK_END = {0: 40, 2: 28, 3: 28}
LONGEST_SUPERBLOCK = 48
MOST_BYTES = 1 << 48  # in a file; more is a damaged superblock

T = TypeVar("T")
_lock = threading.RLock()  # HDF5 has one for everything, too
_opened: deque[weakref.ref[FileRows]] = deque()  # traces whose files may be open, oldest first


def read(path: str | os.PathLike[str]) -> FileRows:
    """The trace in a file.

    Raises:
        SceneError: The file is missing or not a trace, in one line.
    """
    where = one_line(path)
    try:
        there = Path(path)
        if not there.is_file():
            fault = "not a file" if there.exists() else "no such trace"
            raise SceneError(f"{where}: {fault}; check the path")
        return _patient(there, lambda: _new_rows(there, where))
    except SceneError:
        raise
    except Exception as error:  # HDF5 meets garbled bytes with errors of any kind
        raise SceneError(
            f"{where}: not a readable trace ({one_line(error)}); give a file made by Trace.save "
            "or by recording"
        ) from None


def _patient(path: Path, attempt: Callable[[], T]) -> T:
    """Try again while the file is being written: what was read may be half old, half new."""
    for _ in range(TRIES - 1):
        before = _state(path)
        try:
            return attempt()
        except Exception:
            if before == _state(path):
                raise
            time.sleep(PAUSE)
    return attempt()


def _state(path: Path) -> tuple[int, int]:
    """Length and age of a file, or zeros if it is gone."""
    try:
        now = path.stat()
    except OSError:
        return 0, 0
    return now.st_size, now.st_mtime_ns


class _Handle:
    """An open file, as Python and as HDF5 see it."""

    def __init__(self, path: Path) -> None:
        # not buffered: what is being written shall be seen as it is
        self.plain: IO[bytes] = open(path, "rb", buffering=0)
        try:
            self.file = _hdf5(self.plain)
            self.lost_end = self.file.id.get_filesize() > os.fstat(self.plain.fileno()).st_size
        except BaseException:
            self.plain.close()
            raise

    def text(self, name: str) -> str:
        return bytes(self.file[name][()]).rstrip(b"\0").decode()

    def now(self, name: str) -> NDArray[Any]:
        """A data set that its writer sets in place, past everything that HDF5 has kept of it."""
        data = self.file[name]
        self.plain.seek(data.id.get_offset())
        return np.frombuffer(self.plain.read(data.nbytes), data.dtype).reshape(data.shape)

    def close(self) -> None:
        self.file.close()
        self.plain.close()


def _hdf5(plain: IO[bytes]) -> Any:
    import h5py

    try:
        return h5py.File(plain, "r")
    except OSError:
        plain.seek(0)
        head = plain.read(LONGEST_SUPERBLOCK)
        place = SUPERBLOCK_END.get(head[8] if len(head) == LONGEST_SUPERBLOCK else -1)
        there = plain.seek(0, io.SEEK_END)
        told = 0 if place is None else int.from_bytes(head[place : place + 8], "little")
        if not there < told < MOST_BYTES:
            raise
        return h5py.File(_Padded(plain, told), "r")


class _Padded(io.RawIOBase):
    """A file that lost its end, with zeros there; HDF5 refuses one that is too short."""

    def __init__(self, plain: IO[bytes], size: int) -> None:
        self._plain, self._size, self._at = plain, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer_out: Any) -> int:
        room = memoryview(buffer_out).cast("B")
        count = max(0, min(len(room), self._size - self._at))
        self._plain.seek(self._at)
        found = self._plain.read(count)
        room[:count] = found.ljust(count, b"\0")
        self._at += count
        return count


# ------------------------------------------------------------------------------------------ rows


class FileRows(Rows):
    """Rows in a file, read when asked for.

    Attributes:
        path: Where the file is.
        meta: What it says of the session.
        layout: Version of its columns.
    """

    def __init__(self, path: Path, where: str, handle: _Handle) -> None:
        self.path = path.absolute()
        self.where = where
        self._told = handle.text("meta")
        scene, end = handle.text("scene"), handle.text("end")
        self.meta = checked(
            {
                **parsed(self._told, where),
                **({"scene": scene} if scene else {}),
                **(parsed(end, where, "word about the end") if end else {"end": BROKE_OFF}),
            },
            where,
        )
        self.layout = 1
        self._count = 0
        self._most: dict[str, int] = {}
        self._hold(handle)

    def __len__(self) -> int:
        return self._count

    def limit(self, rows: int, tables: Mapping[str, int]) -> None:
        """Leave out what stands after so many rows, events and labels."""
        self._count = min(self._count, rows)
        self._most = {name: min(self._most.get(name, 0), most) for name, most in tables.items()}

    def check(self) -> None:
        """Refuse columns with which no trace can do."""
        for tool in self.meta["tools"]:
            for name in ("time", "fault"):
                full = f"{tool}.{name}" if len(self.meta["tools"]) > 1 else name
                column = self.columns.get(full)
                if column is None or column.width != 1 or column.tool != tool:
                    raise ValueError(f"it has no column {full!r}")

    def _hold(self, handle: _Handle) -> None:
        """Keep the file open, but not too many of them."""
        self._handle: _Handle | None = handle
        self._closer = weakref.finalize(self, handle.close)
        _opened.append(weakref.ref(self))
        while len(_opened) > MOST_OPEN:
            oldest = _opened.popleft()()
            if oldest is not None:
                oldest.let_go()

    def let_go(self) -> None:
        """Close the file; it opens again when needed."""
        with _lock:
            self._handle = None
            self._closer()

    def handle(self) -> _Handle:
        """The open file.

        Raises:
            SceneError: It was closed meanwhile, and something else or nothing is there now.
        """
        if self._handle is None:
            try:
                found = _Handle(self.path)
            except OSError as error:
                raise SceneError(
                    f"{self.where}: the file of this trace cannot be opened again "
                    f"({one_line(error)}); keep it where it was"
                ) from None
            if found.text("meta") != self._told:
                found.close()
                raise SceneError(
                    f"{self.where}: there is another trace in this file now; load it anew"
                )
            self._hold(found)
        assert self._handle is not None
        return self._handle

    def asked(self, what: str, answer: Callable[[_Handle], T]) -> T:
        """Something out of the file.

        Raises:
            SceneError: It cannot be read, in one line.
        """

        def again() -> T:
            try:
                return answer(self.handle())
            except Exception:
                self.let_go()
                raise

        with _lock:
            try:
                return _patient(self.path, again)
            except SceneError:
                raise
            except Exception as error:
                raise SceneError(
                    f"{self.where}: {what} cannot be read ({one_line(error)}); the file is "
                    "damaged or its disk is gone"
                ) from None


class RecordRows(FileRows):
    """Format 1: one record per tick."""

    def __init__(self, path: Path, where: str, handle: _Handle) -> None:
        super().__init__(path, where, handle)
        table = handle.file["rows"]
        kind = table.dtype
        if kind.names is None or kind.itemsize % 8 or kind.itemsize == 0:
            raise ValueError("its table is damaged")
        self._width: int = kind.itemsize // 8
        self.columns = {}
        for full in kind.names:
            part, offset = kind.fields[full][:2]
            if part.base != np.dtype("<f8") or offset % 8:
                raise ValueError("its columns are damaged")
            tool, name = _parts(full, self.meta["tools"])
            known = COLUMNS.get(name, Column(0, 0, "", "", name))
            place = {"start": offset // 8, "width": part.itemsize // 8}
            self.columns[full] = known._replace(**place, tool=tool)
        self.check()
        if len(table):
            self._offset = table.id.get_offset()
            there = os.fstat(handle.plain.fileno()).st_size - self._offset
            if there < 0:
                raise ValueError("it breaks off before the first row")
            self._count = min(len(table), there // kind.itemsize)

    @property
    def width(self) -> int:
        """Numbers in a record."""
        return self._width

    def read(self, name: str, first: int, last: int) -> Array:
        """See `Rows.read`."""
        column = self.columns[name]
        made = np.empty((last - first, column.width))
        # the whole record has to be read for one of its columns
        for at in range(first, last, BLOCK_ROWS):
            rows = self.matrix(at, min(at + BLOCK_ROWS, last))
            part = rows[:, column.start : column.start + column.width]
            made[at - first : at - first + len(rows)] = part
        return made

    def matrix(self, first: int, last: int) -> Array:
        """See `Rows.matrix`."""
        size = 8 * self._width

        def records(handle: _Handle) -> Array:
            handle.plain.seek(self._offset + first * size)
            data = handle.plain.read((last - first) * size)
            return np.frombuffer(data, "<f8").reshape(last - first, self._width)

        return self.asked("rows", records) if last > first else np.zeros((0, self._width))


class ColumnRows(FileRows):
    """Format 2: a data set for each column, and the newest rows apart."""

    def __init__(self, path: Path, where: str, handle: _Handle) -> None:
        super().__init__(path, where, handle)
        file = handle.file
        self.layout = int(file.attrs["layout"])
        self.columns = {}
        told = handle.now("stored")
        rows, events, labels = told.tolist()
        stored = file["rows"]
        if stored.dtype != np.dtype("<f8") or stored.ndim != 2:
            raise ValueError("its rows are damaged")
        for data in file["columns"].values():
            start, width = int(data.attrs["start"]), int(data.attrs["width"])
            words = [str(data.attrs[key]) for key in ("units", "description", "column", "tool")]
            column = Column(start, width, *words)
            if not (0 < width <= WIDEST and 0 <= start <= stored.shape[1] - width):
                raise ValueError("its columns are damaged")
            several = len(self.meta["tools"]) > 1
            self.columns[f"{column.tool}.{column.name}" if several else column.name] = column
        self.check()
        self._stored = min(rows, len(stored), _rows_before(stored, handle))
        self._tail = newest(handle.now("tail"), self._stored)
        if self._stored < 0 or self.width != stored.shape[1]:
            raise ValueError("its newest rows are damaged")
        if not np.array_equal(handle.now("stored"), told):
            raise ValueError("it is written to faster than it can be read")
        self._most = {"events": events, "labels": labels}
        self._count = self._stored + len(self._tail)

    @property
    def width(self) -> int:
        """See `Rows.width`."""
        return int(self._tail.shape[1])

    def read(self, name: str, first: int, last: int) -> Array:
        """See `Rows.read`."""
        column = self.columns[name]
        return self._numbers(
            slice(column.start, column.start + column.width), first, last, f"column {show(name)}"
        )

    def matrix(self, first: int, last: int) -> Array:
        """See `Rows.matrix`."""
        return self._numbers(slice(0, self.width), first, last, "rows")

    def _numbers(self, which: slice, first: int, last: int, what: str) -> Array:
        n = self._stored
        late = self._tail[max(first - n, 0) : max(last - n, 0), which]
        if first >= n:
            return late
        early = self.asked(
            what,
            lambda handle: np.asarray(handle.file["rows"][first : min(last, n), which], np.float64),
        )
        return np.concatenate((early, late)) if len(late) else early

    def events(self) -> Table:
        """See `Rows.events`."""
        return self._table("events", EVENT)

    def labels(self) -> Table:
        """See `Rows.labels`."""
        return self._table("labels", LABEL)

    def _table(self, name: str, kind: np.dtype[np.void]) -> Table:
        most = self._most[name]
        if not most:
            return np.zeros(0, kind)
        return self.asked(name, lambda handle: handle.file[name][:most].astype(kind))


def _rows_before(rows: Any, handle: _Handle) -> int:
    """How many rows can be read, if the file lost its end: the blocks lie there in order."""
    if not handle.lost_end:
        return len(rows)

    def is_lost(block: int) -> bool:
        try:
            rows[block * BLOCK]
        except Exception:  # HDF5 meets garbled bytes with errors of any kind
            return True
        return False

    blocks = range(-(-len(rows) // BLOCK))
    return min(len(rows), BLOCK * bisect_left(blocks, True, key=is_lost))


def newest(tail: Array, stored: int) -> Array:
    """The rows of `tail` that follow row `stored`, counted from 1, as far as they are whole."""
    if tail.ndim != 2 or tail.shape[1] < 2 or tail.dtype != np.dtype("<f8"):
        raise ValueError("its newest rows are damaged")
    bits = tail.view(np.uint64)
    whole = np.bitwise_xor.reduce(bits, axis=1) == 0
    number = np.where(whole, bits[:, 0], 0)
    later = np.flatnonzero(number > stored)
    later = later[np.argsort(number[later])]
    follows = number[later] == stored + 1 + np.arange(len(later), dtype=np.uint64)
    return tail[later[: int(np.argmin(np.append(follows, False)))], 1:-1]


def _parts(full: str, tools: Sequence[str]) -> tuple[str, str]:
    """Tool and name of a column of format 1."""
    if len(tools) == 1:
        return tools[0], full
    mine = [tool for tool in tools if full.startswith(f"{tool}.")]
    tool = max(mine, key=len, default="")
    return tool, full.removeprefix(f"{tool}.")


_FORMATS: dict[int, type[RecordRows] | type[ColumnRows]] = {1: RecordRows, FORMAT: ColumnRows}


def _new_rows(path: Path, where: str) -> FileRows:
    with _lock:
        handle = _Handle(path)
        try:
            version = handle.file.attrs.get("tangere_trace")
            if version is None:
                raise ValueError("it has no mark of tangere")
            if version not in _FORMATS:
                raise SceneError(
                    f"{where}: a trace of format {show(np.asarray(version).tolist())}, this "
                    f"tangere knows up to {FORMAT}; update tangere"
                )
            return _FORMATS[version](path, where, handle)
        except BaseException:
            handle.close()
            raise
