"""The file of a trace while it grows: HDF5, compressed, columns by name.

    attributes    tangere_trace: FORMAT; layout: LAYOUT, of the columns
    meta, scene   text: JSON and TOML
    end           text: JSON, how it ended; empty until then
    rows          one row per tick, as the servo made it; a chunk is one number of BLOCK rows
    columns/…     a view of `rows` (virtual data set) for each column, with attributes column, tool,
                  start, width, units and description
    stored        how many rows, events and labels there are
    tail          the newest rows as they came, not compressed: number, numbers of the row, check
    events        table: tick, clock, name, value
    labels        table: tick, clock, label

A column is read alone, since its numbers have chunks of their own; but all are written in one call.
With a data set for each, Python's lock goes to and fro a hundred times per block, and where another
thread computes, that takes a second.

HDF5 is in its mode for one writer and many readers (SWMR), which keeps what is on disk consistent
whenever the process is killed; what `stored` does not count may be there in part, and is not read.
HDF5 gets a whole block of rows at a time: a chunk that is compressed cannot grow, it would be
written anew and leave its old place behind. Until then the rows are in `tail`, a table of BLOCK
rows that is written in place by plain writes; row n of the trace, counted from 1, stands at
(n − 1) mod BLOCK. A row there is whole if the bits of all its numbers, its own number among them,
give its check by exclusive or. So `tail` needs no count, and a row that a kill or a loss of power
tore is told from a whole one.

HDF5 does not survive a write that fails: what it could not write it tries again when the file is
closed, and the process ends with a segmentation fault. So the disk is asked for the room of a block
by plain writes before HDF5 writes there. If anything fails all the same, HDF5's file descriptor is
led to the null device, and the file on disk stays as it is, with all rows up to then.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.geometry.checks import one_line
from tangere.maths.vec import Array
from tangere.trace.columns import LAYOUT, Column
from tangere.trace.events import EVENT, LABEL, TEXT_BYTES, Table

FORMAT = 2  # of the file; a later one may add data sets and keys, never change their meaning
BLOCK = 1024  # rows that are compressed together
TABLE_CHUNK = 64  # rows of the tables of events and labels
END_BYTES = 4096  # room for how the session ended
# The format of HDF5 1.10, the first with SWMR: older readers open it than that of the newest.
LIBRARY = ("v110", "v110")
# Levels above 1 take more time and save one part in a hundred. LZF is faster and saves less, and
# only h5py can read it.
COMPRESSION = {"shuffle": True, "compression": "gzip", "compression_opts": 1}
SUPERBLOCK_END = 28  # byte of the superblock, version 2 and 3, where the end of the file is told


class _Places(NamedTuple):
    """Bytes of the file that plain writes set."""

    end: int
    stored: int
    tail: int


class RowFile:
    """A trace file that grows; whatever happens, it opens and holds every row appended.

    Attributes:
        path: Where it is.
        count: Rows appended.
        table_counts: Events and labels appended.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Mapping[str, Column],
        width: int,
        meta: Mapping[str, Any],
        *,
        layout: int = LAYOUT,
        growing: bool = True,
    ) -> None:
        """Create the file, without rows; an existing one is replaced.

        Args:
            path: Where.
            columns: Of `places_of`.
            width: Numbers in a row; those that no column names are kept as well.
            meta: What JSON can say.
            layout: Version of the columns.
            growing: False leaves out `tail`: rows are safe when the file is closed, not before.

        Raises:
            SceneError: It cannot be written there, or the meta data has something else in it.
        """
        self.path = Path(path)
        self.count = 0
        self.table_counts = {"events": 0, "labels": 0}
        self._stored = 0  # rows that are compressed
        self._block = np.zeros((BLOCK, width))
        self._room = 2 * self._block.nbytes
        self._growing = growing
        self._layout = layout
        words = {key: value for key, value in meta.items() if key != "scene"}
        try:
            text = json.dumps(words)
        except (TypeError, ValueError, RecursionError) as error:
            raise SceneError(
                f"{one_line(path)}: meta data that JSON cannot say ({one_line(error)}); give text, "
                "numbers, lists and tables"
            ) from None
        draft = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}.tmp")
        try:
            draft.touch()  # an error of the system is clearer than one of HDF5
            with _errors_of_hdf5():
                self._at = self._create(draft, columns, text, str(meta.get("scene", "")))
            draft.replace(self.path)
            self._plain = open(self.path, "r+b", buffering=0)
            with _errors_of_hdf5():
                self._open()
        except (OSError, ValueError) as error:
            with contextlib.suppress(OSError, ValueError):
                draft.unlink(missing_ok=True)
            raise SceneError(
                f"{one_line(path)}: cannot record there ({one_line(error)}); choose another path"
            ) from None

    def _create(self, draft: Path, columns: Mapping[str, Column], meta: str, scene: str) -> _Places:
        import h5py

        text_type = h5py.string_dtype("utf-8", TEXT_BYTES)
        with h5py.File(draft, "w", libver=LIBRARY) as file:
            file.attrs["tangere_trace"] = FORMAT
            file.attrs["layout"] = self._layout
            _text(file, "meta", meta)
            _text(file, "scene", scene)
            end = _text(file, "end", "", END_BYTES)
            width = self._block.shape[1]
            file.create_dataset(
                "rows",
                (0, width),
                maxshape=(None, width),
                chunks=(BLOCK, 1),
                dtype="<f8",
                **COMPRESSION,
            )
            group = file.create_group("columns", track_order=True)
            for name, column in columns.items():
                data = _view(group, data_set_name(name), column, width)
                data.attrs["column"] = column.name
                data.attrs["tool"] = column.tool
                data.attrs["start"] = column.start
                data.attrs["width"] = column.width
                data.attrs["units"] = column.unit
                data.attrs["description"] = column.words
            for name, kind in (("events", EVENT), ("labels", LABEL)):
                fields = [
                    (field, text_type if kind[field].kind == "S" else kind[field])
                    for field in kind.names or ()
                ]
                file.create_dataset(
                    name, (0,), maxshape=(None,), chunks=(TABLE_CHUNK,), dtype=np.dtype(fields)
                )
            stored = file.create_dataset("stored", data=np.zeros(3, "<i8"))
            room = BLOCK if self._growing else 1
            # zeros, so that the room is there from the beginning, on a full disk too
            tail = file.create_dataset("tail", data=np.zeros((room, self._block.shape[1] + 2)))
            return _Places(*(data.id.get_offset() for data in (end, stored, tail)))

    def _open(self) -> None:
        import h5py

        # Some network drives have no locks; nobody else writes to a file that was just made.
        self._file = h5py.File(self.path, "r+", libver=LIBRARY, locking="best-effort")
        self._rows = self._file["rows"]
        self._tables = {name: self._file[name] for name in ("events", "labels")}
        self._file.swmr_mode = True

    # ------------------------------------------------------------------ growing

    def append(self, rows: Array) -> None:
        """Write rows; when it returns, a kill of the process loses none of them.

        Raises:
            OSError: The disk is full or gone; `count` says how many rows are in the file.
        """
        while len(rows):
            first = self.count % BLOCK
            part = rows[: BLOCK - first]
            self._block[first : first + len(part)] = part
            if self._growing:
                checked = with_checks(part, self.count + 1)
                self._put(self._at.tail + first * checked.itemsize * checked.shape[1], checked.data)
            self.count += len(part)
            rows = rows[len(part) :]
            if self.count % BLOCK == 0:
                self._compress()

    def append_table(self, name: str, table: Table) -> None:
        """Write rows of `events` or `labels`; when it returns, a kill loses none of them.

        Raises:
            OSError: The disk is full or gone; `table_counts` says how many are in the file.
        """
        self._reserve(table.nbytes)
        with _errors_of_hdf5():
            data, had = self._tables[name], self.table_counts[name]
            data.resize(had + len(table), axis=0)
            data[had:] = table.astype(data.dtype)  # which says that its texts are UTF-8
            self._file.flush()
        self.table_counts[name] += len(table)
        self._publish()

    def _compress(self) -> None:
        """Hand the rows of the block over to HDF5."""
        rows = self._block[: self.count - self._stored]
        if not len(rows):
            return
        self._reserve(0)
        with _errors_of_hdf5():
            self._rows.resize(self.count, axis=0)
            self._rows[self._stored :] = rows
            self._file.flush()
        self._stored = self.count
        self._publish()  # from here on the rows in `tail` may go

    def _publish(self) -> None:
        counts = [self._stored, self.table_counts["events"], self.table_counts["labels"]]
        self._put(self._at.stored, np.array(counts, "<i8").data)

    def _reserve(self, more: int) -> None:
        """Have the disk give room for what HDF5 will write next."""
        size = os.fstat(self._plain.fileno()).st_size
        missing = self._file.id.get_filesize() + self._room + more - size
        if missing > 0:
            self._put(size, bytes(missing))

    def _put(self, place: int, data: bytes | memoryview) -> None:
        left = memoryview(data).cast("B")
        while len(left):
            self._plain.seek(place)
            written = self._plain.write(left)
            if not written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            place, left = place + written, left[written:]

    # ------------------------------------------------------------------ ending

    def sync(self) -> None:
        """Wait until the disk has everything: only a loss of power can take what came after."""
        os.fsync(self._plain.fileno())

    def end(self, end: Mapping[str, Any]) -> None:
        """Say how the session ended, in room that the file has already, and finish it.

        Args:
            end: Of `that_fits`, or as short.

        Raises:
            OSError: The disk is full or gone.
        """
        text = json.dumps(end).encode()
        if self._file:
            self._compress()
            self.sync()  # a disk that is gone shows here, before HDF5 meets it
            with _errors_of_hdf5():
                self._file.close()
            # HDF5 does not know of the room that it did not need
            self._plain.seek(SUPERBLOCK_END)
            self._plain.truncate(int.from_bytes(self._plain.read(8), "little"))
        self._put(self._at.end, text.ljust(END_BYTES, b"\0"))
        self.sync()

    def abandon(self) -> None:
        """Leave the file as it is: the disk is full or gone. Only `end` still writes to it."""
        if not self._file:
            return
        with contextlib.suppress(Exception):  # whatever HDF5 has to say now helps nobody
            with open(os.devnull, "r+b") as nowhere:
                os.dup2(nowhere.fileno(), self._file.id.get_vfd_handle())
            self._file.close()
        self._file = None

    def __enter__(self) -> Self:
        """The file is closed when the block ends."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.abandon()
        self._plain.close()


def that_fits(end: Mapping[str, Any]) -> dict[str, Any]:
    """What a file has room for about its end: without the longest entries, if it is too much."""
    kept = dict(end)
    while len(json.dumps(kept).encode()) > END_BYTES:
        kept.pop(max(kept, key=lambda key: len(json.dumps(kept[key]))))
    return kept


def data_set_name(name: str) -> str:
    """The name of a column as HDF5 takes it: a stroke would be a folder, a dot the same one."""
    return "%2E" if name == "." else name.replace("%", "%25").replace("/", "%2F")


def with_checks(rows: Array, number: int) -> NDArray[np.float64]:
    """Rows of `tail`: the number of each, counted on from `number`, its numbers, its check."""
    made = np.empty((len(rows), rows.shape[1] + 2))
    bits = made.view(np.uint64)
    bits[:, 0] = number + np.arange(len(rows))
    made[:, 1:-1] = rows
    np.bitwise_xor.reduce(bits[:, :-1], axis=1, out=bits[:, -1])
    return made


@contextlib.contextmanager
def _errors_of_hdf5() -> Iterator[None]:
    """What HDF5 says in many lines of any kind, as the error of the system behind it."""
    try:
        yield
    except Exception as error:
        number = re.search(r"errno = (\d+)", str(error))
        code = int(number[1]) if number else errno.EIO
        words = os.strerror(code) if number else one_line(error)
        raise OSError(code, words) from None


def _view(group: Any, name: str, column: Column, width: int) -> Any:
    """A column of `rows`, which has `width`, as a data set of its own; it grows with them."""
    import h5py

    more = (column.width,) if column.width > 1 else ()
    # of one row: a view of none does not grow
    layout = h5py.VirtualLayout((1, *more), dtype="<f8", maxshape=(None, *more))
    rows = h5py.VirtualSource(".", "rows", shape=(1, width), maxshape=(None, width))
    every = slice(h5py.h5s.UNLIMITED)
    last = column.start + column.width
    layout[every] = rows[every, column.start : last] if more else rows[every, column.start]
    return group.create_virtual_dataset(name, layout)


def _text(file: Any, name: str, text: str, room: int = 1) -> Any:
    """A text of fixed length as a data set."""
    import h5py

    data = text.encode()
    kind = h5py.string_dtype("utf-8", max(room, len(data)))
    return file.create_dataset(name, data=np.array(data.ljust(room, b"\0"), dtype=kind))
