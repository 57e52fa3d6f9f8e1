"""Frames and plots through shared memory: whole, newest, from one process to another."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from tangere._jit import JIT_DISABLED
from tangere.geometry.boundary_lines import MARK
from tangere.steppers.stepper import CONTACT_COLUMNS
from tangere.viewer.frame import TOOL, Books, Frame, Pull, Servo, history_dtype
from tangere.viewer.snapshot import Block, Room

ROOM = Room(bodies=5, tools=2, contacts=8, history=10, vertices=6)


@pytest.fixture
def pair() -> Iterator[tuple[Block, Block]]:
    """The writer's and a reader's view of one block."""
    writer = Block.create(ROOM)
    reader = Block.attach(writer.name)
    yield writer, reader
    reader.close()
    writer.close()


def frame_of(number: int, bodies: int = 4, contacts: int = 3) -> Frame:
    """A frame whose every number says which it is."""
    table = np.zeros(contacts, CONTACT_COLUMNS)
    for name in CONTACT_COLUMNS.names or ():
        table[name] = number % 2 if name == "sticking" else number
    tools = np.zeros(2, TOOL)
    for name in TOOL.names or ():
        tools[name] = number
    marks = np.zeros(number % 5, MARK)
    for name in MARK.names or ():
        marks[name] = number
    return Frame(
        build=number,
        take=number,
        time=number / 8.0,
        positions=np.full((bodies, 3), float(number)),
        orientations=np.full((bodies, 4), float(number)),
        contacts=table,
        displacements=np.full((number % 7, 3), float(number), np.float32),
        steps=number,
        step_seconds=1e-6 * number,
        real_time=0.5,
        speed=0.2,
        paused=bool(number % 2),
        stopped=bool(number % 3),
        books=Books(*(number + np.arange(8.0))),
        pull=Pull(np.full(3, 1.0), np.full(3, 2.0), 3.0, True) if number % 2 else None,
        tools=tools,
        marks=marks,
        servo=Servo(999.5, 10 + number, 2, 1, 8e-6, 1e-3, 0.01, 500.0),
        recording=1,
        recorded=0.25,
        faults=1 << 20,
    )


def assert_same(a: Frame, b: Frame) -> None:
    for item in fields(Frame):
        one, other = getattr(a, item.name), getattr(b, item.name)
        if item.name == "pull":
            assert (one is None) == (other is None)
            pairs = [] if one is None else list(zip(one, other, strict=True))
        else:
            pairs = [(one, other)]
        for x, y in pairs:
            np.testing.assert_array_equal(x, y, err_msg=item.name)
            assert type(x) is type(y)


def test_a_frame_arrives_whole(pair: tuple[Block, Block]) -> None:
    writer, reader = pair
    assert reader.read() is None
    for number in (1, 2, 3, 4):
        sent = frame_of(number, bodies=number + 1, contacts=2 * number)
        writer.write(sent)
        got = reader.read()
        assert got is not None
        assert_same(got, sent)
        assert reader.read() is None  # nothing newer


def test_who_reads_late_gets_the_newest_and_keeps_it(pair: tuple[Block, Block]) -> None:
    writer, reader = pair
    for number in range(1, 8):
        writer.write(frame_of(number))
    got = reader.read()
    assert got is not None
    for number in range(8, 12):
        writer.write(frame_of(number))
    assert_same(got, frame_of(7))  # a copy: later frames do not change it


def test_of_too_many_contacts_the_strongest_are_kept(pair: tuple[Block, Block]) -> None:
    writer, reader = pair
    frame = frame_of(1, contacts=20)
    frame.contacts["force"][:, 2] = np.random.default_rng(1).permutation(20)
    writer.write(frame)
    got = reader.read()
    assert got is not None
    assert got.left_out == 12
    assert sorted(got.contacts["force"][:, 2]) == list(range(12, 20))


def test_a_torn_slot_is_not_shown(pair: tuple[Block, Block]) -> None:
    """A writer that died or is still busy in the newest slot leaves a wrong sum."""
    writer, reader = pair
    writer.write(frame_of(1))
    views = writer._open()
    views.slots[int(views.newest[0])]["body_rows"]["position"][0] = 7.0
    assert reader.read() is None
    writer.write(frame_of(2))
    got = reader.read()
    assert got is not None
    assert_same(got, frame_of(2))


def test_plots_keep_the_last_rows_in_their_order(pair: tuple[Block, Block]) -> None:
    writer, reader = pair

    def rows(first: int, count: int) -> Any:
        made = np.zeros(count, history_dtype(2))
        made["time"] = np.arange(first, first + count)
        made["tools"]["felt_force"][:, 1] = made["time"]
        return made

    assert len(reader.new_rows()) == 0
    writer.extend(rows(0, 4))
    np.testing.assert_array_equal(reader.new_rows()["time"], [0, 1, 2, 3])
    assert len(reader.new_rows()) == 0
    writer.extend(rows(4, 9))
    writer.extend(rows(13, 9))
    got = reader.new_rows()
    np.testing.assert_array_equal(got["time"], np.arange(12, 22))
    np.testing.assert_array_equal(got["tools"]["felt_force"][:, 1], got["time"])
    writer.extend(rows(22, 25))  # more than there is room for
    np.testing.assert_array_equal(reader.new_rows()["time"], np.arange(37, 47))


def test_only_a_block_of_this_version_is_read() -> None:
    from multiprocessing.shared_memory import SharedMemory

    memory = SharedMemory(create=True, size=4096)
    try:
        with pytest.raises(OSError, match="not a snapshot"):
            Block.attach(memory.name)
    finally:
        memory.close()
        memory.unlink()


def test_a_closed_block_is_gone() -> None:
    block = Block.create(ROOM)
    block.close()
    block.close()  # twice is harmless
    with pytest.raises(FileNotFoundError):
        Block.attach(block.name)
    with pytest.raises(OSError, match="closed"):
        block.write(frame_of(1))


def test_a_scene_of_another_size_needs_another_block() -> None:
    assert ROOM.holds(Room(3, 2, 8, 10))
    assert not ROOM.holds(Room(6, 2, 8, 10))
    assert not ROOM.holds(Room(3, 1, 8, 10))
    assert not ROOM.holds(Room(3, 2, 8, 10, vertices=7))


def _write_for(name: str, seconds: float) -> None:
    block = Block.attach(name)
    end = time.monotonic() + seconds
    number = 1
    while time.monotonic() < end:
        block.write(frame_of(number, bodies=1 + number % 5, contacts=number % 9))
        number += 1
    block.close()


@pytest.mark.skipif(
    JIT_DISABLED, reason="plain Python's exchange is one act in its own process alone"
)
def test_another_process_writes_as_fast_as_it_can_and_no_frame_is_torn() -> None:
    """Every frame read is one that was written, numbers never go back."""
    block = Block.create(ROOM)
    child = multiprocessing.get_context("spawn").Process(
        target=_write_for, args=(block.name, 1.0), daemon=True
    )
    child.start()
    try:
        last, seen = 0, 0
        while child.is_alive():
            got = block.read()
            if got is None:
                continue
            assert got.build > last
            last = got.build
            seen += 1
            assert_same(got, frame_of(last, bodies=1 + last % 5, contacts=last % 9))
        assert seen > 20
    finally:
        child.kill()
        child.join()
        block.close()
    assert child.exitcode == 0
