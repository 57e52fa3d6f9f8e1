"""Trace files: whole at every instant, read by any HDF5 reader, and one clear line when damaged."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from sessions import meta, numbered_rows, settings, spring_trace

from tangere.errors import SceneError
from tangere.haptics.layout import NROW, ROW_USER
from tangere.trace import reading
from tangere.trace.columns import COLUMNS, places_of
from tangere.trace.events import EVENT, LABEL
from tangere.trace.file import BLOCK, RowFile, with_checks
from tangere.trace.reading import BROKE_OFF, newest, read
from tangere.trace.trace import Trace

pytestmark = pytest.mark.nojit

FORMAT1 = Path(__file__).with_name("format1.h5")


def new_file(path: Path, tools: tuple[str, ...] = ("tool",), **more: Any) -> RowFile:
    columns = places_of(tools, more.get("columns"))
    return RowFile(path, columns, NROW * len(tools), {**meta(**more), "tools": list(tools)})


@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 1025, 3000])
@pytest.mark.parametrize("tools", [("tool",), ("left", "right"), tuple("abcdefgh")])
def test_appended_rows_come_back(tmp_path: Path, tools: tuple[str, ...], count: int) -> None:
    """Whether it was closed or not; with a block not begun, half full and full."""
    path = tmp_path / "a.h5"
    rows = numbered_rows(0, count, len(tools))
    with new_file(path, tools) as file:
        for piece in np.array_split(rows, [0, 1, 5, 600]):
            file.append(piece)
        early = read(path)
        assert np.array_equal(early.matrix(0, len(early)), rows)
        assert early.meta["end"] == BROKE_OFF
        file.end({"end": "done", "dropped": 3})
    back = read(path)
    assert np.array_equal(back.matrix(0, len(back)), rows)
    assert back.columns == places_of(tools)
    assert back.meta == {**meta(), "tools": list(tools), "end": "done", "dropped": 3}


def test_columns_cover_the_row_without_overlap() -> None:
    taken = sorted((column.start, column.width) for column in COLUMNS.values())
    assert [start for start, _ in taken] == list(np.cumsum([0, *(w for _, w in taken[:-1])]))
    assert taken[-1][0] + taken[-1][1] == ROW_USER


def test_every_column_has_a_unit_and_a_meaning() -> None:
    for column in COLUMNS.values():
        assert column.unit
        assert column.words
        assert "\n" not in column.words


def test_plain_h5py_reads_columns_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    trace = spring_trace(2500)
    trace.save(path)
    with h5py.File(path) as file:
        force = file["columns"]["coupling.force"]
        assert np.array_equal(force, trace["coupling.force"])
        assert np.array_equal(file["columns"]["time"][100:200], trace.time[100:200])
        assert force.attrs["units"] == "N"
        assert force.attrs["description"] == COLUMNS["coupling.force"].words
        assert file["scene"][()].decode() == meta()["scene"]
        assert list(file["columns"]) == trace.columns
        assert file["events"].dtype.names == EVENT.names
        assert file["labels"].dtype.names == LABEL.names


def test_names_of_columns_may_have_strokes(tmp_path: Path) -> None:
    """To HDF5 a stroke means a folder."""
    columns = {"tool": ["a/b", "a%2Fb", "."]}
    with new_file(tmp_path / "a.h5", columns=columns) as file:
        file.append(numbered_rows(0, 3) + 1.0)
    trace = Trace.load(tmp_path / "a.h5")
    assert trace.columns[-3:] == columns["tool"]
    assert trace["."].tolist() == [1.0, 1.0, 1.0]


def test_every_state_of_the_file_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy after each single write, as a kill would leave it: all of them open.

    Plain writes are made in small pieces here, so that rows are torn as well; HDF5's own are seen
    before and after each flush.
    """
    path = tmp_path / "a.h5"
    copies: list[tuple[Path, int, int]] = []  # with the rows and events that must be there
    safe = {"rows": 0, "events": 0}

    def copy() -> None:
        where = tmp_path / f"{len(copies)}.h5"
        shutil.copy(path, where)
        copies.append((where, safe["rows"], safe["events"]))

    put, flush = RowFile._put, h5py.File.flush

    def in_pieces(self: RowFile, place: int, data: bytes | memoryview) -> None:
        whole = bytes(memoryview(data).cast("B"))
        step = max(1, len(whole) // 3)
        for first in range(0, len(whole), step):
            put(self, place + first, whole[first : first + step])
            copy()

    with new_file(path) as file:

        def flushed(self: h5py.File) -> None:
            copy()
            flush(self)
            copy()

        monkeypatch.setattr(RowFile, "_put", in_pieces)
        monkeypatch.setattr(h5py.File, "flush", flushed)
        for first in range(0, 2 * BLOCK + 100, 300):
            file.append(numbered_rows(first, 300))
            safe["rows"] += 300
            event = (first, 0, f"at {first}".encode(), 0.0)
            file.append_table("events", np.array([event], dtype=EVENT))
            safe["events"] += 1
        copy()
    monkeypatch.undo()
    assert len(copies) > 50
    for where, rows, events in copies:
        trace = Trace.load(where)
        assert rows <= len(trace) <= rows + 300
        assert np.array_equal(trace.rows, numbered_rows(0, len(trace)))
        assert events <= len(trace.events) <= events + 1
        assert trace.events["name"].tolist() == [f"at {300 * n}" for n in range(len(trace.events))]
        assert trace.meta["end"] == BROKE_OFF


def test_torn_rows_of_the_tail_are_told_from_whole_ones() -> None:
    """Every single bit of a row that is wrong takes it out, and all that follow."""
    rows = np.random.default_rng(3).normal(size=(8, 5))
    rows[2] = np.nan
    whole = with_checks(rows, 9)
    assert np.array_equal(newest(whole, 8), rows, equal_nan=True)
    assert np.array_equal(newest(whole, 12), rows[4:], equal_nan=True)
    assert np.array_equal(newest(np.roll(whole, 3, axis=0), 8), rows, equal_nan=True)
    assert len(newest(whole, 3)) == 0, "row 4 is not there"
    assert len(newest(np.zeros((8, 7)), 0)) == 0
    for bit in range(64 * 7):
        torn = whole.copy()
        torn.view(np.uint64)[5, bit // 64] ^= np.uint64(1 << (bit % 64))
        assert np.array_equal(newest(torn, 8), rows[:5], equal_nan=True)


def test_a_file_can_be_read_while_it_grows(tmp_path: Path) -> None:
    """A trace has the rows that were there when it was loaded, whatever comes after."""
    with new_file(tmp_path / "a.h5") as file:
        traces = []
        for first in range(0, 6 * BLOCK, 500):
            file.append(numbered_rows(first, 500))
            traces.append(Trace.load(file.path))
        for n, trace in enumerate(traces):
            assert len(trace) == 500 * (n + 1)
            assert np.array_equal(trace.rows, numbered_rows(0, len(trace)))


def test_full_disk_keeps_the_rows_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system takes two and a half rows of five, then no more."""
    put = RowFile._put
    file = new_file(tmp_path / "a.h5")
    file.append(numbered_rows(0, 5))

    def full(self: RowFile, place: int, data: bytes | memoryview) -> None:
        put(self, place, memoryview(data).cast("B")[: 20 * (NROW + 2)])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(RowFile, "_put", full)
    with file, pytest.raises(OSError, match="No space left"):
        file.append(numbered_rows(5, 5))
    trace = Trace.load(file.path)
    assert np.array_equal(trace.rows, numbered_rows(0, 7))


def test_an_existing_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    path.write_text("old")
    spring_trace(10).save(path)
    spring_trace(20).save(path)
    assert len(Trace.load(path)) == 20
    assert [p.name for p in tmp_path.iterdir()] == ["a.h5"]


def test_more_traces_than_files_may_be_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that were closed open again; one that was replaced meanwhile is told."""
    traces, most = [], 4
    monkeypatch.setattr(reading, "MOST_OPEN", most)
    for n in range(most + 3):
        spring_trace(20 + n).save(tmp_path / f"{n}.h5")
        traces.append(Trace.load(tmp_path / f"{n}.h5"))
    assert all(len(trace["tool.force"]) == 20 + n for n, trace in enumerate(traces))
    for trace in traces[:3]:
        assert len(trace["hand.position"]) == len(trace)
    Trace(traces[0].rows, meta(seed=8)).save(tmp_path / "0.h5")
    (tmp_path / "1.h5").unlink()
    for n in range(most + 1):  # the first two are closed for the others
        traces[2 + n]["device.force"]
        Trace.load(tmp_path / f"{2 + n}.h5")
    with pytest.raises(SceneError, match=r"0\.h5: there is another trace in this file now"):
        traces[0]["coupling.force"]
    with pytest.raises(SceneError, match=r"1\.h5: the file of this trace cannot be opened again"):
        traces[1]["coupling.force"]


# ------------------------------------------------------------------------------------- format 1


def test_files_of_the_first_format_load() -> None:
    """Recorded by the version before: two hands, one of which meets a block."""
    trace = Trace.load(FORMAT1)
    with h5py.File(FORMAT1) as file:
        table = file["rows"][:]
        assert file.attrs["tangere_trace"] == 1
    assert len(trace) == len(table) > 0
    assert trace.layout == 1
    assert trace.columns == list(table.dtype.names)
    for name in table.dtype.names:
        assert np.array_equal(trace[name], table[name]), name
    assert "energy.spent" in trace
    assert "servo.net" not in trace
    assert trace.column("tool.force").unit == "N"
    assert trace.meta["method"]
    assert not len(trace.events)
    assert trace.trials() == [trace]
    assert f"{len(trace)} ticks" in str(trace.summary())
    trace.plot()


def test_files_of_the_first_format_become_files_of_the_second(tmp_path: Path) -> None:
    """Saved anew: the same columns, the same hash."""
    then = Trace.load(FORMAT1)
    then.save(tmp_path / "a.h5")
    now = Trace.load(tmp_path / "a.h5")
    assert now.columns == then.columns
    assert now.hash() == then.hash()
    assert np.array_equal(now.rows, then.rows)
    assert now.layout == then.layout == 1


def test_cut_files_of_the_first_format_open_as_far_as_they_go(tmp_path: Path) -> None:
    data, path = FORMAT1.read_bytes(), tmp_path / "cut.h5"
    whole = Trace.load(FORMAT1)
    path.write_bytes(data[:-1])
    assert np.array_equal(Trace.load(path).rows, whole.rows[:-1])
    path.write_bytes(data[: len(data) // 2])
    half = Trace.load(path)
    assert 0 < len(half) < len(whole)
    assert np.array_equal(half.rows, whole.rows[: len(half)])


# ------------------------------------------------------------------------------------- damage


def one_line_error(path: Path) -> str:
    with pytest.raises(SceneError) as error:
        Trace.load(path)
    text = str(error.value)
    assert "\n" not in text
    assert str(path) in text
    return text


def loaded_or_told(path: Path) -> Trace | None:
    """The trace, or None if loading it gave one line of error that names the file."""
    told = ""
    try:
        return Trace.load(path)
    except SceneError as error:
        told = str(error)
    assert str(path) in told
    assert "\n" not in told
    return None


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


def test_a_format_of_the_future_is_refused(tmp_path: Path) -> None:
    spring_trace(3).save(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file.attrs["tangere_trace"] = 3
    assert "a trace of format 3, this tangere knows up to 2" in one_line_error(tmp_path / "a.h5")


NAN, INF = float("nan"), float("inf")
KINDS: list[Any] = [None, True, -1, 1.5, NAN, 10**400, "text", [], [1], {"a": 1}]
DAMAGES: dict[str, list[Any]] = {
    "tools": [None, 3, "tool", [], [1], ["tool", "tool"], [""], {"tool": 1}],
    "rate": [None, "fast", 0.0, -1.0, NAN, INF, [1000.0], True, 10**400, 1e-310],
    "period": [None, 0, -2, 1.5, "1", NAN],
    "latency": [None, -1, 0.5, "0"],
    "settings": [None, 1, [], {"tool": 1}, {"tool": {"grip": 1.0}}, {"tool": {"grip": "up"}}],
    "rigs": [None, 3, {}, [1], [{}], [{"memory": 1}], [{"memory": ["a"]}], [{"memory": {"a": ""}}]],
    "columns": [None, 1, ["a"], {"tool": "abc"}, {"tool": [1]}],
    "options": [None, 1, ["a"], {"contact": 1}],
    "method": [None, 1, ["a"]],
    "folder": [None, 1, ["a"], {}],
    "clock": [None, 1, ["a"], {}],
}


@pytest.mark.parametrize("key", DAMAGES)
def test_meta_data_of_the_wrong_kind_is_told(tmp_path: Path, key: str) -> None:
    """Each key in turn; the error names it."""
    path = tmp_path / "a.h5"
    for value in DAMAGES[key]:
        write_meta(path, json.dumps({**meta(), "tools": ["tool"], key: value}))
        assert key.removesuffix("s") in one_line_error(path), value


def write_meta(path: Path, text: str, end: str = "{}") -> None:
    spring_trace(3).save(path)
    with h5py.File(path, "r+") as file:
        del file["meta"], file["end"]
        file["meta"] = np.bytes_(text.encode())
        file["end"] = np.bytes_(end.encode())


def test_meta_data_of_any_kind_gives_a_trace_or_one_line(tmp_path: Path) -> None:
    """All that can be asked of a trace works, or is told when it is loaded."""
    path = tmp_path / "a.h5"
    for key in {**meta(), "tools": 0, "rigs": 0, "end": 0, "faults": 0, "start": 0, "clock": 0}:
        for value in KINDS:
            write_meta(path, json.dumps({**meta(), "tools": ["tool"], key: value}))
            trace = loaded_or_told(path)
            if trace is not None:
                assert "3 ticks" in str(trace.summary())
                assert trace.hash()
                assert trace.settings is not None


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "[" * 100_000, '{"a":1}', "\x00\x01"])
def test_meta_data_that_is_no_table_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.h5"
    write_meta(path, text)
    one_line_error(path)
    if text:  # nothing there means that the recording broke off
        write_meta(path, json.dumps({**meta(), "tools": ["tool"]}), end=text.rstrip("\x00") or "3")
        if text != '{"a":1}':
            assert "word about the end" in one_line_error(path)


def test_settings_of_another_length_are_told(tmp_path: Path) -> None:
    named = {**settings(), "grip": [0.0, 0.0]}
    write_meta(tmp_path / "a.h5", json.dumps(meta(tools=["tool"], settings={"tool": named})))
    assert "setting 'grip' of 'tool'" in one_line_error(tmp_path / "a.h5")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a block of rows, twenty more, and an event."""
    with new_file(tmp_path_factory.mktemp("whole") / "whole.h5") as file:
        file.append(numbered_rows(0, BLOCK + 20))
        file.append_table("events", np.array([(3, 4, b"five", 6.0)], dtype=EVENT))
        file.end({"end": "done"})
        return file.path


@pytest.mark.parametrize("ended", [True, False])
def test_cut_files_say_so_or_give_what_is_there(tmp_path: Path, ended: bool) -> None:
    """Rows of noise, so that most of the file is rows: cut there, the blocks before are left."""
    rows = np.random.default_rng(4).normal(size=(8 * BLOCK + 20, NROW))
    with new_file(tmp_path / "a.h5") as file:
        file.append(rows)
        if ended:
            file.end({"end": "done"})
    data, cut_path = (tmp_path / "a.h5").read_bytes(), tmp_path / "cut.h5"
    lengths = []
    for cut in np.linspace(0, len(data) - 1, 24).astype(int).tolist():
        cut_path.write_bytes(data[:cut])
        trace = loaded_or_told(cut_path)
        if trace is not None:
            lengths.append(len(trace))
            assert np.array_equal(trace.rows, rows[: len(trace)])
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 4


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
        data[rng.randrange(rng.choice((200, 20_000, len(data))))] = rng.randrange(256)
    path.write_bytes(data)
    print(seed, end=" ", flush=True)
    try:
        trace = Trace.load(path)
        trace.summary(), trace.events, trace.trials(), trace.hash()
        opened += 1
    except SceneError as error:
        assert chr(10) not in str(error)
print()
print(opened)
"""


@pytest.mark.parametrize("which", ["format 2", "format 1"])
def test_garbled_files_give_one_line_and_never_end_the_process(
    whole: Path, tmp_path: Path, which: str
) -> None:
    """In a process of its own: HDF5 is C code and has been known to crash on damaged files."""
    path = whole if which == "format 2" else FORMAT1
    done = subprocess.run(
        [sys.executable, "-c", GARBLED, str(path), str(tmp_path / "g.h5"), "200"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-80:] + done.stderr[-2000:]
    assert 0 < int(done.stdout.split()[-1]) < 200
