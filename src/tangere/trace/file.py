"""The file of a trace: at every instant a whole HDF5 file.

HDF5 itself writes only the head, in memory: texts, the type of a row and an empty table `rows`.
From then on the file grows by plain appending. When rows have been written, two places in the head
are set: first the end of the file, then, in one piece, the table's count of rows, address and size.
Each state between two writes is a valid file. So a process that is killed leaves a file that any
HDF5 reader opens, and a full disk is an `OSError` of a plain write.

    superblock   8 bytes signature, version 0, …, at byte 40: end of the file
    rows         object header, version 1; of its messages
                 dataspace (1): version, rank, flags, 5 bytes, count of rows, its maximum
                 datatype (3): points to the type, which lies elsewhere
                 layout (8): version 3, class 1 (contiguous), address, size in bytes
    … page boundary: rows, one after the other, to the end of the file
"""

from __future__ import annotations

import errno
import io
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import one_line
from tangere.maths.vec import Array
from tangere.trace.columns import Place

FORMAT = 1  # of the file; a later one may add columns and keys, never change their meaning
PAGE = 4096
END_BYTES = 4096  # room for how the session ended
MISSING_MOST = 1 << 28  # most bytes that a file may be short of: eight minutes at 1 kHz
BROKE_OFF = "the recording broke off"

TRIES = 5  # to read a file that grows meanwhile

SIGNATURE = b"\x89HDF\r\n\x1a\n"
# HDF5: byte 40 of a superblock of version 0 with 8-byte addresses
END_OF_FILE = 40
MESSAGE_DATASPACE, MESSAGE_LAYOUT, MESSAGE_CONTINUED = 0x01, 0x08, 0x10


class _Places(NamedTuple):
    """Bytes of the file that change."""

    table: int  # from the count of rows to the size in bytes, in the header of the table
    length: int  # of that part
    rows: int  # where the table begins
    end: int  # where the text about the end stands


class RowFile:
    """A trace file that grows; whatever happens, it opens and holds every row published."""

    def __init__(
        self, path: str | os.PathLike[str], kind: np.dtype[np.void], meta: Mapping[str, Any]
    ) -> None:
        """Create the file, without rows; an existing one is replaced.

        Args:
            path: Where.
            kind: Type of a row, of `row_type`.
            meta: What JSON can say.

        Raises:
            SceneError: It cannot be written there, or the meta data has something else in it.
        """
        self.path = Path(path)
        self.count = 0
        self._row_bytes = kind.itemsize
        try:
            head, self._at = _head(kind, meta)
        except (TypeError, ValueError) as error:
            raise SceneError(
                f"{one_line(path)}: meta data that JSON cannot say ({one_line(error)}); give text, "
                "numbers, lists and tables"
            ) from None
        self._table = bytearray(head[self._at.table : self._at.table + self._at.length])
        draft = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}.tmp")
        try:
            draft.write_bytes(head)
            draft.replace(self.path)
            self._file = open(self.path, "r+b", buffering=0)
        except (OSError, ValueError) as error:
            draft.unlink(missing_ok=True)
            raise SceneError(
                f"{one_line(path)}: cannot record there ({one_line(error)}); choose another path"
            ) from None

    def append(self, rows: Array) -> None:
        """Write rows and publish them.

        Raises:
            OSError: The disk is full or gone; whole rows written before are published.
        """
        data = np.ascontiguousarray(rows, dtype="<f8").reshape(-1).view(np.uint8).data
        start = self._at.rows + self.count * self._row_bytes
        done = 0
        try:
            while done < len(data):
                done += self._put(start + done, data[done:])
        finally:
            self._publish(self.count + done // self._row_bytes)

    def _publish(self, count: int) -> None:
        if count == self.count:
            return  # HDF5 takes an empty table with an address for damage
        size = count * self._row_bytes
        self._put(END_OF_FILE, _bytes(self._at.rows + size))
        self._table[:16] = 2 * _bytes(count)
        self._table[-16:] = _bytes(self._at.rows) + _bytes(size)
        self._put(self._at.table, self._table)
        self.count = count

    def end(self, end: Mapping[str, Any]) -> None:
        """Say how the session ended, in room that the file has already.

        Raises:
            SceneError: There is more to say than room.
        """
        text = json.dumps(end).encode()
        if len(text) > END_BYTES:
            raise SceneError(f"{len(text)} bytes about the end of a trace; {END_BYTES} have room")
        self._put(self._at.end, text.ljust(END_BYTES, b"\0"))
        self.sync()

    def sync(self) -> None:
        """Wait until the disk has everything: only a loss of power can take what came after."""
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        """The file is closed when the block ends."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def _put(self, place: int, data: bytes | bytearray | memoryview) -> int:
        self._file.seek(place)
        written = self._file.write(data)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written


def _head(
    kind: np.dtype[np.void], meta: Mapping[str, Any], room: int = END_BYTES
) -> tuple[bytes, _Places]:
    """Everything before the rows, and the places that change later."""
    import h5py

    words = {key: value for key, value in meta.items() if key != "scene"}
    image = io.BytesIO()
    # Version-0 superblock and version-1 object headers: the oldest format, which every reader
    # knows, and whose parts carry no check sums.
    with h5py.File(image, "w", libver=("earliest", "v108")) as file:
        file.attrs["tangere_trace"] = FORMAT
        _text(file, "meta", json.dumps(words))
        _text(file, "scene", str(meta.get("scene", "")))
        end = _text(file, "end", "", room)
        file["row"] = kind  # apart from the table, whose header stays small
        table = file.create_dataset("rows", (0,), dtype=file["row"])
        header = h5py.h5o.get_info(table.id).addr
        end_place = end.id.get_offset()
    data = bytearray(image.getvalue())
    data.extend(bytes(-len(data) % PAGE))
    found = _messages(data, header)
    rows = len(data)
    data[END_OF_FILE : END_OF_FILE + 8] = _bytes(rows)
    first, after = found[MESSAGE_DATASPACE] + 8, found[MESSAGE_LAYOUT] + 18
    if first // PAGE != (after - 1) // PAGE:
        # What lies across two pages is not written in one piece: move everything on.
        return _head(kind, meta, room + after - first)
    return bytes(data), _Places(first, after - first, rows, end_place)


def _bytes(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _text(file: Any, name: str, text: str, room: int = 1) -> Any:
    """A text of fixed length as a data set."""
    import h5py

    data = text.encode()
    kind = h5py.string_dtype("utf-8", max(room, len(data)))
    return file.create_dataset(name, data=np.array(data.ljust(room, b"\0"), dtype=kind))


def _messages(data: bytes | bytearray, header: int) -> dict[int, int]:
    """Kinds and places of the messages of a version-1 object header."""

    def whole(place: int, size: int) -> int:
        return int.from_bytes(data[place : place + size], "little")

    found = {}
    blocks = [(header + 16, whole(header + 8, 4))]
    for start, size in blocks:
        place = start
        while place + 8 <= start + size:
            kind, length = whole(place, 2), whole(place + 2, 2)
            place += 8
            found[kind] = place
            if kind == MESSAGE_CONTINUED:
                blocks.append((whole(place, 8), whole(place + 8, 8)))
            place += length
    return found


# ------------------------------------------------------------------------------------------ reading


def read(path: str | os.PathLike[str]) -> tuple[Array, dict[str, Place], dict[str, Any]]:
    """Rows, columns and meta data of a trace file.

    Raises:
        SceneError: The file is missing or not a trace, in one line.
    """
    where = one_line(path)
    try:
        if not Path(path).is_file():
            fault = "not a file" if Path(path).exists() else "no such trace"
            raise SceneError(f"{where}: {fault}; check the path")
        for _ in range(TRIES - 1):
            before = Path(path).stat().st_size
            try:
                return _read(path)
            except Exception:
                if Path(path).stat().st_size == before:
                    raise
        return _read(path)
    except SceneError:
        raise
    except Exception as error:  # HDF5 meets garbled bytes with errors of any kind
        raise SceneError(
            f"{where}: not a readable trace ({one_line(error)}); give a file made by Trace.save "
            "or by recording"
        ) from None


def _read(path: str | os.PathLike[str]) -> tuple[Array, dict[str, Place], dict[str, Any]]:
    import h5py

    size = os.stat(path).st_size
    with h5py.File(_lengthened(path, size), "r") as file:
        if file.attrs.get("tangere_trace") != FORMAT:
            raise ValueError("it has no mark of tangere")
        table = file["rows"]
        kind = table.dtype
        if (
            kind.names is None
            or kind.itemsize % 8
            or kind.itemsize * len(table) > size + MISSING_MOST
        ):
            raise ValueError("its table is damaged")
        places = {}
        for name in kind.names:
            part, offset = kind.fields[name][:2]
            if part.base != np.dtype("<f8") or offset % 8:
                raise ValueError("its columns are damaged")
            places[name] = Place(offset // 8, part.itemsize // 8)
        rows = np.empty((len(table), kind.itemsize // 8))
        if len(table):
            table.read_direct(rows.view(kind).reshape(-1))
            there = size - table.id.get_offset()
            if there < 0:
                raise ValueError("it breaks off before the first row")
            rows = rows[: there // kind.itemsize]
        meta = {
            **_table(_words(file, "meta")),
            "scene": _words(file, "scene"),
            **_table(_words(file, "end") or json.dumps({"end": BROKE_OFF})),
        }
        tools = meta.get("tools")
        if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
            raise ValueError("it names no tools")
        for name in ("time", "fault"):
            for full in (f"{tool}.{name}" for tool in tools) if len(tools) > 1 else (name,):
                if places.get(full, Place(0, 0)).width != 1:
                    raise ValueError(f"it has no column {full!r}")
        return rows, places, meta


def _lengthened(path: str | os.PathLike[str], size: int) -> str | io.BytesIO:
    """The file, or if its end is missing, a copy in memory with zeros there.

    HDF5 refuses such a file. It is what a loss of power leaves, or a copy that broke off.
    """
    with open(path, "rb") as file:
        head = file.read(END_OF_FILE + 8)
        missing = int.from_bytes(head[END_OF_FILE:], "little") - size
        if not head.startswith(SIGNATURE) or not 0 < missing <= MISSING_MOST:
            return os.fspath(path)
        return io.BytesIO(head + file.read() + bytes(missing))


def _words(file: Any, name: str) -> str:
    return bytes(file[name][()]).rstrip(b"\0").decode()


def _table(text: str) -> dict[str, Any]:
    table = json.loads(text)
    if not isinstance(table, dict):
        raise ValueError("its meta data is damaged")
    return table
