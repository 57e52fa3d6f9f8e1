"""Trace files: whole at every instant, read by any HDF5 reader, and one clear line when damaged."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from sessions import meta, numbered_rows, spring_trace

from tangere.errors import SceneError
from tangere.haptics.layout import NROW
from tangere.trace.columns import COLUMNS, places_of, row_type
from tangere.trace.file import BROKE_OFF, PAGE, RowFile, read
from tangere.trace.trace import Trace

pytestmark = pytest.mark.nojit


PIECE = 200  # bytes of the head that change at once; a system writes them in one piece


def new_file(path: Path, tools: tuple[str, ...] = ("tool",), **more: Any) -> RowFile:
    kind = row_type(places_of(tools), NROW * len(tools))
    return RowFile(path, kind, {**meta(**more), "tools": list(tools)})


@pytest.mark.parametrize("tools", [("tool",), ("left", "right"), tuple("abcdefgh")])
def test_appended_rows_come_back(tmp_path: Path, tools: tuple[str, ...]) -> None:
    path = tmp_path / "a.h5"
    rows = numbered_rows(0, 1234, len(tools))
    with new_file(path, tools) as file:
        for piece in np.array_split(rows, [0, 1, 5, 600]):
            file.append(piece)
        file.end({"end": "done", "dropped": 3})
    back, places, told = read(path)
    assert np.array_equal(back, rows)
    assert list(places.items()) == list(places_of(tools).items())
    assert told == {**meta(), "tools": list(tools), "end": "done", "dropped": 3}


def test_columns_cover_the_row_without_overlap() -> None:
    taken = sorted((place.start, place.width) for place in COLUMNS.values())
    assert [start for start, _ in taken] == list(np.cumsum([0, *(w for _, w in taken[:-1])]))
    assert taken[-1][0] + taken[-1][1] == NROW


def test_plain_h5py_reads_columns_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    trace = spring_trace()
    trace.save(path)
    with h5py.File(path) as file:
        assert np.array_equal(file["rows"]["coupling.force"], trace["coupling.force"])
        assert file["scene"][()].decode() == meta()["scene"]


def test_every_state_of_the_file_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy after each single write, as a kill would leave it: h5py opens all of them."""
    path = tmp_path / "a.h5"
    copies: list[str | Path] = []
    put = RowFile._put

    def copying(self: RowFile, place: int, data: bytes | memoryview) -> int:
        # as a system that takes only a part of what it is given
        written = put(self, place, data[: max(PIECE, len(data) // 2)])
        copies.append(shutil.copy(path, tmp_path / f"{len(copies)}.h5"))
        return written

    monkeypatch.setattr(RowFile, "_put", copying)
    seen = set()
    with new_file(path) as file:
        copies.append(shutil.copy(path, tmp_path / "empty.h5"))
        for first in range(0, 40, 10):
            file.append(numbered_rows(first, 10))
    for copy in copies:
        rows, _, told = read(copy)
        assert np.array_equal(rows, numbered_rows(0, len(rows)))
        assert told["end"] == BROKE_OFF
        seen.add(len(rows))
    assert seen == {0, 10, 20, 30, 40}


def test_numbers_that_change_lie_within_a_page(tmp_path: Path) -> None:
    """Texts of all lengths push them about; across pages they would not be written in one piece."""
    for length in range(0, 4200, 60):
        file = new_file(tmp_path / "a.h5", comment="x" * length)
        with file:
            first, last = file._at.table, file._at.table + file._at.length - 1
            assert last - first < PIECE
            assert first // PAGE == last // PAGE
            file.append(numbered_rows(0, 3))
        assert len(read(file.path)[0]) == 3


def test_a_file_can_be_read_while_it_grows(tmp_path: Path) -> None:
    """The table grows between opening the file and reading it: what is there is read anew."""
    with new_file(tmp_path / "a.h5") as file:
        file.append(numbered_rows(0, 5))
        assert len(Trace.load(file.path)) == 5
        opened, grow = h5py.File, [3, 2]

        def slow(*args: Any) -> h5py.File:
            early = opened(*args)
            if grow:
                file.append(numbered_rows(file.count, grow.pop()))
            return early

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(h5py, "File", slow)
            assert len(Trace.load(file.path)) == 10


def test_full_disk_keeps_the_whole_rows_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system takes two and a half rows of five, then no more."""
    put = RowFile._put
    file = new_file(tmp_path / "a.h5")
    file.append(numbered_rows(0, 5))
    state = {"room": 20 * NROW}

    def full(self: RowFile, place: int, data: bytes | memoryview) -> int:
        if place < self._at.rows:
            return put(self, place, data)
        if not state["room"]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken, state["room"] = state["room"], 0
        return put(self, place, data[:taken])

    monkeypatch.setattr(RowFile, "_put", full)
    with file, pytest.raises(OSError, match="No space left"):
        file.append(numbered_rows(5, 5))
    assert np.array_equal(read(file.path)[0], numbered_rows(0, 7))


def test_an_existing_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    path.write_text("old")
    spring_trace(10).save(path)
    spring_trace(20).save(path)
    assert len(Trace.load(path)) == 20
    assert [p.name for p in tmp_path.iterdir()] == ["a.h5"]


def one_line_error(path: Path) -> str:
    with pytest.raises(SceneError) as error:
        Trace.load(path)
    text = str(error.value)
    assert "\n" not in text
    assert str(path) in text
    return text


def test_missing_and_foreign_files_are_told_in_one_line(tmp_path: Path) -> None:
    assert "no such trace" in one_line_error(tmp_path / "none.h5")
    assert "not a file" in one_line_error(tmp_path)
    empty = tmp_path / "empty.h5"
    empty.touch()
    one_line_error(empty)
    text = tmp_path / "text.h5"
    text.write_text("time,force\n0,1\n" * 1000)
    one_line_error(text)
    foreign = tmp_path / "foreign.h5"
    with h5py.File(foreign, "w") as file:
        file["data"] = np.zeros(3)
    assert "no mark of tangere" in one_line_error(foreign)
    with pytest.raises(SceneError, match="cannot record there"):
        new_file(tmp_path / "no folder" / "a.h5")
    with pytest.raises(SceneError, match="JSON cannot say"):
        new_file(tmp_path / "a.h5", odd={1, 2})
    with pytest.raises(SceneError, match="cannot write"):
        spring_trace(3).save(tmp_path / "no folder" / "a.h5")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A file of twenty rows, and where they begin."""
    with new_file(tmp_path_factory.mktemp("whole") / "whole.h5") as file:
        file.append(numbered_rows(0, 20))
        file.end({"end": "done"})
        return file.path, file._at.rows


def test_cut_files_open_as_far_as_they_go_or_say_so(
    whole: tuple[Path, int], tmp_path: Path
) -> None:
    """Cut in the rows: what is left of them. Cut in the head: one line."""
    path, rows_start = whole
    data, cut_path = path.read_bytes(), tmp_path / "cut.h5"
    for cut in [*range(0, rows_start, 97), *range(rows_start, len(data), 331)]:
        cut_path.write_bytes(data[:cut])
        left = max(0, cut - rows_start) // (8 * NROW)
        if cut >= rows_start:
            assert np.array_equal(Trace.load(cut_path).rows, numbered_rows(0, left))
        else:
            one_line_error(cut_path)


GARBLED = """
import random, sys
from pathlib import Path
from tangere.errors import SceneError
from tangere.trace.trace import Trace
whole, path = bytearray(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2])
opened = 0
for seed in range(int(sys.argv[3])):
    rng, data = random.Random(seed), whole[:]
    for _ in range(rng.choice((1, 1, 3, 30))):
        data[rng.randrange(rng.choice((200, int(sys.argv[4]))))] = rng.randrange(256)
    path.write_bytes(data)
    print(seed, end=" ", flush=True)
    try:
        Trace.load(path).summary()
        opened += 1
    except SceneError as error:
        assert chr(10) not in str(error)
print()
print(opened)
"""


def test_garbled_heads_give_one_line_and_never_end_the_process(
    whole: tuple[Path, int], tmp_path: Path
) -> None:
    """In a process of its own: HDF5 is C code and has been known to crash on damaged files."""
    path, rows_start = whole
    done = subprocess.run(
        [sys.executable, "-c", GARBLED, str(path), str(tmp_path / "g.h5"), "300", str(rows_start)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-80:] + done.stderr[-2000:]
    assert 0 < int(done.stdout.split()[-1]) < 300
