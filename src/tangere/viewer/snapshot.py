"""Frames through shared memory: the session writes, the page's process reads, nobody waits.

A block has two slots. The writer fills the one that is not the newest, with a number and a
checksum, then names it the newest. A reader copies the newest slot and keeps the copy only when its
checksum is right, so a torn copy is never shown whatever the processor's memory order; the writer
never waits and never learns how many read. The last seconds of the live plots lie in a ring.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import numpy as np

from tangere.geometry.boundary_lines import MARK
from tangere.steppers.stepper import CONTACT_COLUMNS
from tangere.viewer.frame import (
    TOOL,
    Books,
    Frame,
    Pull,
    Servo,
    history_dtype,
)

MOST_CONTACTS = 256  # rows of the contact table; the strongest are kept
HISTORY_SECONDS = 5.0  # [s] of the live plots
HISTORY_RATE = 200.0  # [Hz] rows per second that the ring has room for
MOST_MARKS = 512  # lines that show what touches the tools
MAGIC = 0x7A61_6E67_6572_0003  # the layout's version

SCALARS = np.dtype(
    [
        ("build", np.int64),
        ("take", np.int64),
        ("time", np.float64),
        ("steps", np.int64),
        ("step_seconds", np.float64),
        ("real_time", np.float64),
        ("speed", np.float64),
        ("paused", np.bool_),
        ("stopped", np.bool_),
        ("left_out", np.int64),
        ("recording", np.int64),
        ("recorded", np.float64),
        ("faults", np.int64),
    ]
)
PULL = np.dtype(
    [
        ("on", np.bool_),
        ("point", np.float64, 3),
        ("target", np.float64, 3),
        ("force", np.float64),
        ("limited", np.bool_),
    ]
)
BODY = np.dtype([("position", np.float64, 3), ("orientation", np.float64, 4)])
STAMP = np.dtype([("number", np.int64), ("bytes", np.int64), ("sum", np.int64)])


class Room(NamedTuple):
    """Capacities of a block."""

    bodies: int
    tools: int
    contacts: int = MOST_CONTACTS
    history: int = round(HISTORY_SECONDS * HISTORY_RATE)
    vertices: int = 0
    """Of the surfaces of soft bodies."""

    def holds(self, other: Room) -> bool:
        """Whether the other fits; tools must be equal, because rows of the plots have them."""
        return (
            self.bodies >= other.bodies
            and self.tools == other.tools
            and self.contacts >= other.contacts
            and self.history >= other.history
            and self.vertices >= other.vertices
        )

    def payload(self) -> np.dtype[Any]:
        """Layout of one slot; contacts come last, so that only those in use are summed."""
        return np.dtype(
            [
                ("bodies", np.int64),
                ("vertices", np.int64),
                ("contacts", np.int64),
                ("scalars", SCALARS),
                ("books", np.float64, len(Books._fields)),
                ("servo", np.float64, len(Servo._fields)),
                ("pull", PULL),
                ("tool_rows", TOOL, (self.tools,)),
                ("marks", np.int64),
                ("mark_rows", MARK, (MOST_MARKS if self.tools else 0,)),
                ("body_rows", BODY, (self.bodies,)),
                ("displacements", np.float32, (self.vertices, 3)),
                ("contact_rows", CONTACT_COLUMNS, (self.contacts,)),
            ]
        )


@dataclass(slots=True)
class _Views:
    """Arrays over the memory of a block."""

    newest: Any
    stamps: Any
    slots: Any
    slot_bytes: tuple[Any, Any]
    head: Any
    ring: Any


class Block:
    """Shared memory with the newest frame and the last seconds of the plots."""

    def __init__(self, memory: SharedMemory, room: Room, *, owner: bool) -> None:
        self.name = memory.name
        self.room = room
        self._memory = memory
        self._owner = owner
        self._seen = 0
        self._read_rows = 0
        self._views: _Views | None = _views(memory, room)

    @classmethod
    def create(cls, room: Room) -> Block:
        """A fresh block, to be written to."""
        memory = SharedMemory(create=True, size=_size(room))
        _array(memory, np.uint8, _size(room))[:] = 0
        _array(memory, np.int64, 6)[:] = (MAGIC, *room)
        return cls(memory, room, owner=True)

    @classmethod
    def attach(cls, name: str) -> Block:
        """A block that another process made.

        Raises:
            OSError: There is none of that name, or it is of another version.
        """
        memory = SharedMemory(name=name)
        magic, *sizes = (int(x) for x in _array(memory, np.int64, 6))
        if magic != MAGIC:
            memory.close()
            raise OSError(f"shared memory {name} is not a snapshot of this version")
        return cls(memory, Room(*sizes), owner=False)

    def close(self) -> None:
        """Let go of the memory; its maker also gives it back to the system."""
        if self._views is None:
            return
        self._views = None
        self._memory.close()
        if self._owner:
            self._memory.unlink()

    # ------------------------------------------------------------------ frames

    def write(self, frame: Frame) -> None:
        """Make this the newest frame; of too many contacts the strongest are kept."""
        views = self._open()
        newest = int(views.newest[0])
        index = 1 - newest
        slot, stamp = views.slots[index], views.stamps[index]
        stamp["bytes"] = 0  # what is being written is nobody's frame
        contacts, left_out = self._strongest(frame.contacts)
        slot["bodies"], slot["contacts"] = len(frame.positions), len(contacts)
        slot["vertices"] = len(frame.displacements)
        scalars = slot["scalars"]
        for name in SCALARS.names or ():
            scalars[name] = getattr(frame, name)
        scalars["left_out"] = frame.left_out + left_out
        slot["books"], slot["servo"] = frame.books, frame.servo
        slot["pull"] = (False, 0.0, 0.0, 0.0, False) if frame.pull is None else (True, *frame.pull)
        slot["tool_rows"] = frame.tools
        marks = frame.marks[: len(slot["mark_rows"])]
        slot["marks"] = len(marks)
        slot["mark_rows"][: len(marks)] = marks
        slot["body_rows"]["position"][: len(frame.positions)] = frame.positions
        slot["body_rows"]["orientation"][: len(frame.positions)] = frame.orientations
        slot["displacements"][: len(frame.displacements)] = frame.displacements
        slot["contact_rows"][: len(contacts)] = contacts
        used = self._used(len(contacts))
        stamp["number"] = views.stamps[newest]["number"] + 1
        stamp["sum"] = zlib.crc32(views.slot_bytes[index][:used])
        stamp["bytes"] = used
        views.newest[0] = index

    def read(self) -> Frame | None:
        """The newest frame, or None when there is none newer than the last one read."""
        views = self._open()
        index = int(views.newest[0]) & 1
        stamp = views.stamps[index].copy()
        number, used = int(stamp["number"]), int(stamp["bytes"])
        if number == self._seen or not 0 < used <= self.room.payload().itemsize:
            return None
        copy = np.zeros(1, self.room.payload())
        taken: Any = copy.view(np.uint8)[:used]
        taken[:] = views.slot_bytes[index][:used]
        if zlib.crc32(taken) != int(stamp["sum"]):
            return None  # torn: the next look finds a newer one
        self._seen = number
        return _frame(copy[0])

    def _strongest(self, contacts: Any) -> tuple[Any, int]:
        most = self.room.contacts
        if len(contacts) <= most:
            return contacts, 0
        strength = np.einsum("ij,ij->i", contacts["force"], contacts["force"])
        return contacts[np.argsort(strength)[::-1][:most]], len(contacts) - most

    def _used(self, contacts: int) -> int:
        offset = self.room.payload().fields["contact_rows"][1]  # type: ignore[index]
        return int(offset) + contacts * CONTACT_COLUMNS.itemsize

    # ------------------------------------------------------------------ live plots

    def extend(self, rows: Any) -> None:
        """Append rows of `history_dtype` to the plots; the oldest make room."""
        views = self._open()
        capacity, head = self.room.history, int(views.head[0])
        rows = rows[-capacity:]
        views.ring[(head + np.arange(len(rows))) % capacity] = rows
        views.head[0] = head + len(rows)

    def new_rows(self) -> Any:
        """Copy of the rows appended since the last call, oldest first, as far as still there."""
        views = self._open()
        capacity, head = self.room.history, int(views.head[0])
        first = max(self._read_rows, head - capacity, 0)
        rows = views.ring[np.arange(first, head) % capacity]
        # Rows that were overwritten while they were copied are no longer the ones wanted.
        lost = max(0, int(views.head[0]) - capacity - first)
        self._read_rows = head
        return rows[lost:]

    def _open(self) -> _Views:
        if self._views is None:
            raise OSError(f"shared memory {self.name} is closed")
        return self._views


def _size(room: Room) -> int:
    return sum(_parts(room))


def _parts(room: Room) -> tuple[int, ...]:
    """Bytes of: magic and room, newest, head; stamps; two slots; ring; each on a cache line."""
    ring = room.history * history_dtype(room.tools).itemsize
    payload = room.payload().itemsize
    return tuple(-(-n // 64) * 64 for n in (64, 64, 64, 2 * STAMP.itemsize, payload, payload, ring))


def _views(memory: SharedMemory, room: Room) -> _Views:
    starts = np.cumsum((0, *_parts(room)))

    def view(part: int, dtype: Any, count: int) -> Any:
        return _array(memory, dtype, count, int(starts[part]))

    payload = room.payload()
    return _Views(
        newest=view(1, np.int64, 1),
        head=view(2, np.int64, 1),
        stamps=view(3, STAMP, 2),
        slots=[view(part, payload, 1)[0] for part in (4, 5)],
        slot_bytes=(view(4, np.uint8, payload.itemsize), view(5, np.uint8, payload.itemsize)),
        ring=view(6, history_dtype(room.tools), room.history),
    )


def _array(memory: SharedMemory, dtype: Any, count: int, start: int = 0) -> Any:
    buffer: Any = memory.buf
    return np.frombuffer(buffer, dtype, count, start)


def _frame(slot: Any) -> Frame:
    """The frame that a slot's copy holds."""
    scalars = slot["scalars"]
    values = {name: scalars[name].item() for name in SCALARS.names or ()}
    bodies = slot["body_rows"][: int(slot["bodies"])]
    pull = slot["pull"]
    servo = Servo._make(slot["servo"].tolist())
    return Frame(
        **values,
        positions=bodies["position"],
        orientations=bodies["orientation"],
        displacements=slot["displacements"][: int(slot["vertices"])],
        contacts=slot["contact_rows"][: int(slot["contacts"])],
        books=Books._make(slot["books"].tolist()),
        servo=servo._replace(**{k: int(getattr(servo, k)) for k in ("ticks", "late", "missed")}),
        pull=Pull(pull["point"], pull["target"], float(pull["force"]), bool(pull["limited"]))
        if pull["on"]
        else None,
        tools=slot["tool_rows"],
        marks=slot["mark_rows"][: int(slot["marks"])],
    )
