"""Trace: columns by name, the same hash for the same session, files and tables that come back."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sessions import RATE, meta, settings, spring_rows, spring_trace, still_rows

import tangere as tg
from tangere.errors import SceneError
from tangere.haptics.layout import (
    FAULT_JUMP,
    FAULT_LIMIT,
    FAULT_RECORD,
    FAULT_VIEWER,
    NROW,
    ROW_BUTTONS,
    ROW_CONTACT,
    ROW_DEPTH,
    ROW_FAULT,
    ROW_HAND,
    ROW_LATE,
    ROW_MISSED,
    ROW_OBSERVED,
    ROW_PLANES,
    ROW_SAMPLE_AGE,
    ROW_SENT,
    ROW_SPENT_TIME,
    ROW_TIME,
    ROW_TOOL,
    ROW_USER,
    ROW_WRITE_TIME,
)
from tangere.haptics.mailbox import new_ring, push
from tangere.trace import trace as trace_module
from tangere.trace.columns import COLUMNS, places_of
from tangere.trace.events import LABEL
from tangere.trace.recorder import Recorder
from tangere.trace.rows import MemoryRows
from tangere.trace.trace import Trace

pytestmark = pytest.mark.nojit

TESTS = Path(__file__).resolve().parents[1]


def two_hands(ticks: int = 100) -> Trace:
    left, right = spring_rows(ticks), still_rows(ticks)
    right[:, ROW_CONTACT + 2] = 5.0
    right[40:50, ROW_FAULT] = FAULT_JUMP
    return Trace(np.hstack([left, right]), meta(), ("left", "right"))


def test_columns_by_name() -> None:
    rows = np.arange(3.0 * NROW).reshape(3, NROW)
    trace = Trace(rows, meta())
    assert trace.columns == list(COLUMNS) == list(trace)
    assert len(trace) == 3
    assert trace["tool.force"].tolist() == rows[:, ROW_CONTACT : ROW_CONTACT + 3].tolist()
    assert trace["device.force"].tolist() == rows[:, ROW_SENT : ROW_SENT + 3].tolist()
    assert trace["hand.orientation"].shape == (3, 4)
    assert trace.time.tolist() == rows[:, ROW_TIME].tolist()
    assert trace["contact.count"].tolist() == [int(x) for x in rows[:, ROW_PLANES]]
    assert trace["buttons"].dtype == np.int64
    assert trace["buttons"].tolist() == [int(x) for x in rows[:, ROW_BUTTONS]]
    assert "tool.force" in trace
    assert "tool.colour" not in trace
    assert trace["tool.tool.force"].tolist() == trace["tool.force"].tolist()
    with pytest.raises(SceneError, match=r"no column 'tool.farce'.*did you mean 'tool.force'"):
        trace["tool.farce"]
    with pytest.raises(SceneError, match=f"have {NROW} numbers"):
        Trace(np.zeros((3, 5)))


def test_what_was_recorded_cannot_be_changed() -> None:
    trace = spring_trace(10)
    with pytest.raises(ValueError, match="read-only"):
        trace["tool.force"][0] = 1.0


def test_several_tools_have_names() -> None:
    trace = two_hands()
    assert trace["right.tool.force"][0].tolist() == [0.0, 0.0, 5.0]
    assert trace["tool.force"].tolist() == trace["left.tool.force"].tolist()
    right = trace.of("right")
    assert right["tool.force"][0, 2] == 5.0
    assert right.tools == ("right",)
    assert trace.of("left")["hand.position"].tolist() == trace["left.hand.position"].tolist()
    assert [fault.tool for fault in trace.faults] == ["right"]
    assert [tool.name for tool in trace.summary().tools] == ["left", "right"]
    assert "0.040 s: right: the device's reading jumped (10 ticks)" in str(trace.summary())
    with pytest.raises(SceneError, match="no tool 'middle'"):
        trace.of("middle")


def test_faults_in_words_with_times() -> None:
    rows = still_rows(1000)
    rows[300:400, ROW_FAULT] = FAULT_JUMP
    rows[350:360, ROW_FAULT] = FAULT_JUMP | FAULT_LIMIT
    rows[999, ROW_FAULT] = FAULT_LIMIT
    trace = Trace(rows, meta())
    assert [(f.time, f.until, f.ticks, f.bit) for f in trace.faults] == [
        (0.3, 0.399, 100, FAULT_JUMP),
        (0.35, 0.359, 10, FAULT_LIMIT),
        (0.999, 0.999, 1, FAULT_LIMIT),
    ]
    assert trace.meta["faults"] == [
        "0.300 s: the device's reading jumped (100 ticks)",
        "0.350 s: the force was limited (11 ticks in 2 stretches)",
    ]


def test_summary_of_a_known_session() -> None:
    rows = spring_rows(1000)
    rows[100:110, ROW_LATE] = 150e-6
    rows[105, ROW_LATE] = 2.5e-3
    rows[:, ROW_SPENT_TIME] = 8e-6
    rows[106, ROW_MISSED] = 2
    rows[500, ROW_DEPTH] = 3e-4
    rows[:, ROW_OBSERVED] = np.linspace(0.0, -0.01, 1000)
    summary = Trace(rows, meta(end="finished")).summary()
    assert (summary.ticks, summary.rate) == (1000, RATE)
    assert summary.duration == pytest.approx(1.0)
    assert summary.servo is not None
    assert summary.servo.missed == 2
    assert summary.servo.late_share == 12 / 1002
    assert summary.servo.worst_late == 2.5e-3
    (tool,) = summary.tools
    # a sine of amplitude 1 N, sampled at its peaks; its mean size is 2/π
    assert tool.peak_force == pytest.approx(1.0, rel=1e-12)
    assert tool.mean_force == pytest.approx(2.0 / np.pi, rel=1e-4)
    assert tool.peak_deviation == pytest.approx(0.01, rel=1e-12)
    assert tool.peak_penetration == 3e-4
    assert (tool.energy, tool.least_energy) == (-0.01, -0.01)
    text = str(summary)
    for words in (
        "1.000 s, 1000 ticks at 1000 Hz",
        "1.20 % of ticks later than 100 µs, worst 2500 µs; 2 missed; tick 8.0 µs",
        "force peak 1.000 N, mean 0.637 N",
        "deviation peak 10.00 mm",
        "penetration peak 0.300 mm",
        "faults      none",
        "end         finished",
    ):
        assert words in text
    assert json.loads(json.dumps(summary.as_json()))["tools"][0]["name"] == "tool"


def test_on_the_virtual_clock_nothing_is_told_of_late_ticks() -> None:
    trace = Trace(spring_rows(100), meta(clock="virtual"))
    assert trace.virtual
    summary = trace.summary()
    assert summary.servo is None
    assert "servo       virtual clock\n" in str(summary)
    assert "later than" not in str(summary)
    labels = [axes.get_ylabel() for axes in trace.plot().axes]
    assert len(labels) == 4
    assert not any("servo" in label for label in labels)
    live = Trace(spring_rows(100), meta(clock="real time"))
    assert "later than" in str(live.summary())
    assert live.plot().axes[-1].get_ylabel() == "servo [µs]"


def test_an_empty_trace_is_no_special_case(tmp_path: Path) -> None:
    trace = Trace(np.zeros((0, NROW)), meta())
    assert trace.duration == 0.0
    assert "0 ticks" in str(trace.summary())
    trace.save(tmp_path / "a.h5")
    assert Trace.load(tmp_path / "a.h5").hash() == trace.hash()
    trace.to_csv(tmp_path / "a.csv")
    trace.plot()
    assert tg.EnergyLedger.of(trace).observed == 0.0


@pytest.mark.parametrize("make", [spring_trace, two_hands])
def test_a_saved_trace_is_the_same_trace(tmp_path: Path, make: Callable[[], Trace]) -> None:
    trace = make()
    trace.save(tmp_path / "a.h5")
    back = Trace.load(tmp_path / "a.h5")
    assert np.array_equal(back.rows, trace.rows)
    assert back.tools == trace.tools
    assert back.hash() == trace.hash()
    assert back.settings == trace.settings
    assert {**trace.meta, "end": "finished"} == back.meta
    assert back.settings.get("max_force", np.inf) == np.inf


# ------------------------------------------------------------------------------------------ parts


def stored(trace: Trace, folder: Path) -> Trace:
    trace.save(folder / "part.h5")
    return Trace.load(folder / "part.h5")


@pytest.mark.parametrize("to_file", [True, False])
def test_a_part_of_a_trace_is_a_trace(tmp_path: Path, to_file: bool) -> None:
    whole = two_hands(3000)
    trace = stored(whole, tmp_path) if to_file else whole
    part = trace[100:200]
    assert len(part) == 100
    assert np.array_equal(part.rows, whole.rows[100:200])
    assert np.array_equal(part[10:20].rows, whole.rows[110:120])
    assert np.array_equal(part.of("right")["tool.force"], whole["right.tool.force"][100:200])
    assert np.array_equal(trace.between(0.5, 1.25).time, whole.time[500:1250])
    assert len(trace.between(0.5004, 0.5016)) == 1
    assert len(trace.between(-1.0, 1e9)) == 3000
    assert len(trace.between(2.0, 1.0)) == len(trace[20:10]) == 0
    assert part.duration == pytest.approx(0.1)
    assert part.hash() == Trace(whole.rows[100:200], meta(), whole.tools).hash()
    assert sum(len(block) for block in trace.blocks(700)) == 3000
    assert part.faults == []
    assert trace[35:45].faults[0].ticks == 5
    with pytest.raises(SceneError, match="every tick"):
        trace[::2]
    with pytest.raises(SceneError, match="give numbers"):
        trace.between(0.0, float("nan"))


def labelled(labels: list[tuple[int, str]], ticks: int = 100) -> Trace:
    """Ticks of a spring with these labels, and an event at every tenth."""
    ring, at = new_ring(ticks, NROW)
    recorder = Recorder([(ring, at)], None, meta())
    for row in spring_rows(ticks):
        push(ring, at, ticks, row, NROW)
    for tick, text in labels:
        recorder.label(tick, 0, text)
    for tick in range(0, ticks, 10):
        recorder.mark(tick, 0, "ten", tick)
    return recorder.finish()


@pytest.mark.parametrize(
    ("labels", "trials"),
    [
        ([], [("", 0, 100)]),
        ([(0, "a"), (40, "b")], [("a", 0, 40), ("b", 40, 100)]),
        ([(20, "a"), (40, ""), (60, "a")], [("a", 20, 40), ("a", 60, 100)]),
        ([(60, "late"), (20, "early")], [("early", 20, 60), ("late", 60, 100)]),
        ([(20, "a"), (20, "b")], [("b", 20, 100)]),
        ([(99, "a"), (100, "after the end")], [("a", 99, 100)]),
        ([(-5, "before")], [("before", 0, 100)]),
    ],
)
@pytest.mark.parametrize("to_file", [True, False])
def test_trials_go_from_label_to_label(
    tmp_path: Path, labels: list[tuple[int, str]], trials: list[tuple[str, int, int]], to_file: bool
) -> None:
    trace = labelled(labels)
    if to_file:
        trace = stored(trace, tmp_path)
    found = trace.trials()
    assert [(part.label, len(part)) for part in found] == [(t, b - a) for t, a, b in trials]
    for part, (_, first, after) in zip(found, trials, strict=True):
        assert np.array_equal(part.rows, spring_rows(100)[first:after])
        tens = [tick for tick in range(0, 100, 10) if first <= tick < after]
        assert part.events["tick"].tolist() == tens
        assert part.events["time"].tolist() == [tick * 1e-3 for tick in tens]
        assert len(part.trials()) == 1


def test_trials_where_ticks_were_missed() -> None:
    """A label whose tick was missed begins its trial with the next one."""
    rows = spring_rows(100)[[n for n in range(100) if not 38 < n < 45]]
    labels = np.array([(0, 0, b"a"), (40, 0, b"b")], LABEL)
    trace = Trace(MemoryRows(rows, places_of(("tool",)), None, labels), meta())
    assert [part.time[0] for part in trace.trials()] == [0.0, 0.045]


def test_columns_of_the_users_own(tmp_path: Path) -> None:
    rows = np.hstack([spring_rows(50), spring_rows(50)])
    rows[:, ROW_USER] = np.arange(50)
    rows[:, NROW + ROW_USER + 1] = 7.0
    named = {"left": ["pupil"], "right": ["heart rate", "breath/min"]}
    trace = Trace(rows, meta(columns=named), ("left", "right"))
    for each in (trace, stored(trace, tmp_path)):
        assert each["left.pupil"].tolist() == each["pupil"].tolist() == list(range(50))
        assert each.of("right")["breath/min"].tolist() == [7.0] * 50
        assert "right.pupil" not in each
        assert each.columns[-2:] == ["right.heart rate", "right.breath/min"]
        assert each.hash() == trace.hash()
        assert each.of("left").meta["columns"] == {"left": ["pupil"]}
    rows[3, ROW_USER] += 1.0
    assert Trace(rows, meta(columns=named), ("left", "right")).hash() != trace.hash()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["tool.force"], "'tool.force': the name is taken"),
        (["a", "a"], "'a': the name is taken"),
        ([""], "has no name"),
        ([f"c{n}" for n in range(17)], "17 columns of your own for 'tool': there is room for 16"),
    ],
)
def test_names_that_cannot_be_columns_are_refused(names: list[str], words: str) -> None:
    with pytest.raises(SceneError, match=words):
        Trace(spring_rows(3), meta(columns={"tool": names}))


def test_columns_of_a_tool_that_is_not_there_are_refused() -> None:
    with pytest.raises(SceneError, match="columns of 'tol': no such tool; did you mean 'tool'"):
        Trace(spring_rows(3), meta(columns={"tol": ["a"]}))


def test_columns_of_a_file_are_not_all_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = stored(spring_trace(2000), tmp_path)
    assert trace["tool.force"] is trace["tool.force"], "the newest are"
    monkeypatch.setattr(trace_module, "CACHE_BYTES", 100_000)
    for name in trace:
        assert len(trace[name]) == 2000
    assert sum(kept.nbytes for kept in trace._cache.values()) <= 100_000


MEMORY = """
import resource, sys
from tangere.trace.trace import Trace
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
trace = Trace.load(sys.argv[1])
trace[:9000].summary()
trace[:9000].save(sys.argv[2])  # everything is imported
before = most()
trace.summary(), trace.hash(), trace.faults
trace.save(sys.argv[2])
trace[:20_000].to_csv(sys.argv[3])
for name in trace:
    trace[name]
print(len(trace), most() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in kB")
def test_a_long_trace_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    """240 000 ticks are 203 MB; blocks and the columns that are kept take much less."""
    rows = np.tile(spring_rows(20_000), (12, 1))
    rows[:, ROW_TIME] = np.arange(len(rows)) / RATE
    Trace(rows, meta()).save(tmp_path / "a.h5")
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, *(str(tmp_path / name) for name in ("a.h5", "b", "c"))],
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    ticks, grown = map(int, done.stdout.split())
    assert ticks == 240_000
    # 64 MB of columns kept, a few blocks of 7 MB, and what the allocator does not give back
    assert grown < 130


# ------------------------------------------------------------------------------------------ hash


def test_hash_is_the_same_in_another_process() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(TESTS)!r})\n"
        "from sessions import spring_trace; print(spring_trace().hash())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.strip() == spring_trace().hash()


def test_hash_knows_everything_that_defines_a_session() -> None:
    whole = spring_trace().hash()
    machine = (ROW_LATE, ROW_MISSED, ROW_SPENT_TIME, ROW_SAMPLE_AGE, ROW_WRITE_TIME)
    for column in range(NROW):
        rows = spring_rows(1000)
        rows[500, column] += 1.0
        left_out = column in machine or column >= ROW_USER  # those have no name, and are no column
        assert (Trace(rows, meta()).hash() == whole) == left_out, column
    for key, value in {
        "scene": "gravity = [0.0, 0.0, -1.6]\n",
        "method": "point",
        "integrator": "rk4",
        "coupling": "direct",
        "rate": 2000.0,
        "seed": 8,
        "settings": {"tool": settings((0.1, 0.0, 0.0))},
    }.items():
        assert Trace(spring_rows(1000), meta(**{key: value})).hash() != whole
    assert Trace(spring_rows(999), meta()).hash() != whole


def test_hash_does_not_know_how_and_where_it_ran() -> None:
    whole = spring_trace().hash()
    there = meta(device="playback", start="later", machine="another", versions={"numpy": "3"})
    assert Trace(spring_rows(1000), there).hash() == whole
    rows = spring_rows(1000)
    rows[10:, ROW_FAULT] = FAULT_RECORD | FAULT_VIEWER
    assert Trace(rows, meta()).hash() == whole


def test_hash_of_long_traces_goes_through_all_of_them() -> None:
    rows = spring_rows(25_000)
    whole = Trace(rows, meta()).hash()
    rows[-1, ROW_TOOL] += 1e-12
    assert Trace(rows, meta()).hash() != whole


# ------------------------------------------------------------------------------------------ tables


def test_csv_keeps_every_digit(tmp_path: Path) -> None:
    trace = two_hands(50)
    trace.to_csv(tmp_path / "a.csv")
    with open(tmp_path / "a.csv", encoding="utf-8") as file:
        names, *lines = csv.reader(file)
    assert len(names) == 2 * ROW_USER  # all that have a name
    assert {"left.tool.force.x", "right.hand.orientation.w", "left.time"} <= set(names)
    table = np.array(lines, dtype=float)
    assert np.array_equal(table[:, names.index("left.hand.position.x")], trace.rows[:, ROW_HAND])
    assert np.array_equal(table[:, names.index("right.tool.force.z")], np.full(50, 5.0))


def test_tables_have_events_and_labels_on_request(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    trace = labelled([(0, "a, b"), (40, "ü")])
    names = ["rows", "events", "labels"]
    rows, events, labels = (tmp_path / f"{name}.csv" for name in names)
    trace.to_csv(rows, events=events, labels=labels)
    with open(events, encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    assert head == ["tick", "time", "clock", "name", "value"]
    assert lines[3] == ["30", "0.03", "0", "ten", "30.0"]
    with open(labels, encoding="utf-8") as file:
        assert [line[-1] for line in csv.reader(file)] == ["label", "a, b", "ü"]
    rows, events, labels = (tmp_path / f"{name}.parquet" for name in names)
    trace.to_parquet(rows, events=events, labels=labels)
    assert parquet.read_table(events)["value"].to_pylist() == list(range(0, 100, 10))
    assert parquet.read_table(labels)["label"].to_pylist() == ["a, b", "ü"]
    assert parquet.read_table(rows).num_rows == 100


def test_parquet_keeps_numbers_and_meta(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    trace = spring_trace(50)
    trace.to_parquet(tmp_path / "a.parquet")
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.num_columns == ROW_USER
    assert np.array_equal(table["hand.position.x"].to_numpy(), trace["hand.position"][:, 0])
    assert str(table.schema.field("fault").type) == "int64"
    assert json.loads(table.schema.metadata[b"tangere"])["seed"] == 7


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SceneError, match=r"needs pyarrow.*pip install 'tangere\[parquet\]'"):
        spring_trace(5).to_parquet(tmp_path / "a.parquet")


def test_files_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    trace = spring_trace(5)
    for write in (trace.to_csv, trace.to_parquet, trace.save, trace.plot):
        with pytest.raises(SceneError, match=r"no folder.*cannot write.*choose another path"):
            write(tmp_path / "no folder" / "a.png")


# ------------------------------------------------------------------------------------------ plot


def test_plot_has_units_legends_and_faults(tmp_path: Path) -> None:
    rows = spring_rows(20_000)
    rows[::3, ROW_FAULT] = FAULT_LIMIT
    rows[12_345, ROW_SENT] = 77.0  # one tick: thinning must keep it
    figure = Trace(rows, meta()).plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["force [N]", "torque [N m]", "distance [mm]", "energy [J]", "servo [µs]"]
    legends = [axes.get_legend() for axes in figure.axes]
    words = [[text.get_text() for text in legend.get_texts()] for legend in legends if legend]
    assert len(words) == 5
    assert "the force was limited" in words[0]
    force = figure.axes[0].lines[0].get_ydata()
    assert len(np.asarray(force)) <= 4001
    assert np.max(np.asarray(force)) == 77.0
    two_hands().plot(tmp_path / "b.svg")
    assert "<svg" in (tmp_path / "b.svg").read_text(encoding="utf-8")


def test_the_page_on_traces_lists_every_column() -> None:
    """In order, with numbers, unit and meaning."""
    page = (TESTS.parent / "docs" / "traces.md").read_text(encoding="utf-8")
    for column in COLUMNS.values():
        words = f'| `"{column.name}"` | {column.width} | {column.unit} | {column.words} |'
        assert words in page
    assert page.count('\n| `"') == len(COLUMNS)


def test_public_names() -> None:
    assert tg.Trace is Trace
    assert tg.metrics.deviation(spring_trace(3)).shape == (3,)
    assert {"Trace", "EnergyLedger", "metrics"} <= set(dir(tg))
