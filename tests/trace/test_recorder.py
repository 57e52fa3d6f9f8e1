"""The recorder: nothing lost between ring and file, whatever ends the process or fills the disk."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from sessions import meta, numbered_rows, spring_rows

from tangere.errors import SceneError
from tangere.haptics.layout import NROW, ROW_MISSED, ROW_TIME
from tangere.haptics.mailbox import new_ring, push
from tangere.maths.vec import Array, LongArray
from tangere.trace.file import RowFile
from tangere.trace.recorder import Recorder
from tangere.trace.trace import Trace

TESTS = Path(__file__).resolve().parents[1]


def feed(ring: Array, at: LongArray, rows: Array) -> None:
    for row in rows:
        push(ring, at, len(ring), row, ring.shape[1])


@pytest.mark.nojit
@pytest.mark.parametrize("tools", [("tool",), ("left", "right")])
@pytest.mark.parametrize("to_file", [True, False])
def test_every_row_arrives_in_order(tmp_path: Path, tools: tuple[str, ...], to_file: bool) -> None:
    """A ring of 50 rows, run around many times."""
    ring, at = new_ring(50, NROW * len(tools))
    path = tmp_path / "a.h5" if to_file else None
    recorder = Recorder([(ring, at)], path, {"rate": 1000.0}, tools=tools)
    for first in range(0, 400, 40):
        feed(ring, at, numbered_rows(first, 40, len(tools)))
        assert recorder.drain() == 40
    trace = recorder.finish("enough", faults_seen=0)
    assert np.array_equal(trace.rows, numbered_rows(0, 400, len(tools)))
    assert recorder.rows == 400
    assert (trace.meta["end"], trace.meta["recording"]) == ("enough", "complete")
    assert trace.meta["start"] <= trace.meta["stop"]
    assert trace.meta["versions"]["numpy"] == np.__version__
    assert recorder.finish() is trace
    if path is not None:
        assert Trace.load(path).hash() == trace.hash()
        assert Trace.load(path).meta["faults_seen"] == 0


@pytest.mark.nojit
def test_a_full_ring_is_counted(tmp_path: Path) -> None:
    ring, at = new_ring(10, NROW)
    recorder = Recorder([(ring, at)], tmp_path / "a.h5", meta())
    feed(ring, at, numbered_rows(0, 14))
    trace = recorder.finish()
    assert np.array_equal(trace.rows, numbered_rows(0, 10))
    assert recorder.dropped == trace.meta["dropped"] == 4


@pytest.mark.nojit
def test_the_thread_keeps_up_with_the_servo(tmp_path: Path) -> None:
    """Rows are in the file within half a second although nobody asks for them."""
    ring, at = new_ring(1000, NROW)
    with Recorder([(ring, at)], tmp_path / "a.h5", meta()):
        for first in range(0, 600, 100):
            feed(ring, at, numbered_rows(first, 100))
            deadline = time.monotonic() + 0.5
            while len(Trace.load(tmp_path / "a.h5")) < first + 100:
                assert time.monotonic() < deadline
                time.sleep(0.02)
    assert Trace.load(tmp_path / "a.h5").meta["end"] == "finished"


@pytest.mark.nojit
def test_an_exception_is_the_reason_of_the_end(tmp_path: Path) -> None:
    ring, at = new_ring(10, NROW)
    with pytest.raises(KeyError), Recorder([(ring, at)], tmp_path / "a.h5", meta()):
        raise KeyError("oh")
    assert Trace.load(tmp_path / "a.h5").meta["end"] == "ended by KeyError('oh')"


@pytest.mark.nojit
def test_memory_keeps_the_newest() -> None:
    ring, at = new_ring(100, NROW)
    recorder = Recorder([(ring, at)], keep=250)
    for first in range(0, 1000, 100):
        feed(ring, at, numbered_rows(first, 100))
        recorder.drain()
    trace = recorder.finish()
    assert len(trace) == 300  # whole batches
    assert np.array_equal(trace.rows, numbered_rows(700, 300))
    assert trace.meta["left_out"] == 700


@pytest.mark.nojit
def test_wrong_rings_are_refused() -> None:
    ring, at = new_ring(10, NROW)
    with pytest.raises(SceneError, match="2 tools"):
        Recorder([(ring, at)], tools=("left", "right"))
    with pytest.raises(SceneError, match="give a rate"):
        Recorder([(ring, at), new_ring(10, NROW)], tools=("left", "right"))
    with pytest.raises(SceneError, match=f"{NROW} numbers per tool"):
        Recorder([new_ring(10, NROW - 1)])
    with pytest.raises(SceneError, match="no ring"):
        Recorder([])


@pytest.mark.nojit
@pytest.mark.parametrize("room", [300, 1300, 2048])
def test_disk_full_stops_the_file_and_not_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """No room after so many rows: told once; the file has them, the session's trace all.

    300 rows: nothing was compressed yet; 1300: one block was; 2048: there is none for the second.
    """
    put = RowFile._put

    def full(self: RowFile, place: int, data: bytes | memoryview) -> None:
        if place != self._at.end and self.count + 100 > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(self, place, data)

    ring, at = new_ring(100, NROW)
    told: list[str] = []
    recorder = Recorder([(ring, at)], tmp_path / "a.h5", meta(), on_fault=told.append)
    monkeypatch.setattr(RowFile, "_put", full)
    for first in range(0, 3000, 100):
        feed(ring, at, numbered_rows(first, 100))
        recorder.mark(first, 10 * first, "hundred", first)
        recorder.drain()
    trace = recorder.finish("finished")
    assert told == ["recording stopped: No space left on device"] == [recorder.fault]
    assert np.array_equal(trace.rows, numbered_rows(0, 3000))
    assert trace.events["value"].tolist() == list(range(0, 3000, 100))
    stored = Trace.load(tmp_path / "a.h5")
    assert room - 100 <= len(stored) <= room
    assert np.array_equal(stored.rows, numbered_rows(0, len(stored)))
    assert stored.events["value"].tolist() == list(range(0, 3000, 100))[: len(stored.events)]
    # the room for this was there from the beginning
    assert stored.meta["recording"] == trace.meta["recording"] == told[0]
    assert stored.meta["end"] == "finished"


@pytest.mark.nojit
def test_more_to_say_at_the_end_than_room_is_cut(tmp_path: Path) -> None:
    ring, at = new_ring(10, NROW)
    recorder = Recorder([(ring, at)], tmp_path / "a.h5", meta())
    trace = recorder.finish("ended", devices=["x" * 3000, "y" * 3000], overruns=3)
    assert trace.meta["devices"] == ["x" * 3000, "y" * 3000]
    stored = Trace.load(tmp_path / "a.h5").meta
    assert (stored["end"], stored["overruns"]) == ("ended", 3)
    assert "devices" not in stored


# ------------------------------------------------------------------------------------------ events


@pytest.mark.nojit
@pytest.mark.parametrize("to_file", [True, False])
def test_events_and_labels_are_kept(tmp_path: Path, to_file: bool) -> None:
    ring, at = new_ring(1000, NROW)
    path = tmp_path / "a.h5" if to_file else None
    recorder = Recorder([(ring, at)], path, meta())
    feed(ring, at, spring_rows(300))
    recorder.label(0, 5, "first")
    recorder.mark(10, 11, "stimulus on", 0.25)
    recorder.drain()
    recorder.label(100, 6, "zweiter ü")
    recorder.mark(20, 12, "é" * 32, -1)
    trace = recorder.finish()
    for each in (trace, *([Trace.load(path)] if path else [])):
        assert each.events.tolist() == [
            (10, 0.01, 11, "stimulus on", 0.25),
            (20, 0.02, 12, "é" * 32, -1.0),
        ]
        assert each.labels[["tick", "clock", "label"]].tolist() == [
            (0, 5, "first"),
            (100, 6, "zweiter ü"),
        ]
        assert [(part.label, len(part)) for part in each.trials()] == [
            ("first", 100),
            ("zweiter ü", 200),
        ]


@pytest.mark.nojit
def test_events_that_do_not_fit_are_refused() -> None:
    recorder = Recorder([new_ring(10, NROW)], None, meta())
    odd: Any = None
    with pytest.raises(SceneError, match="66 bytes in UTF-8; give 64 at most"):
        recorder.mark(0, 0, "é" * 33)
    with pytest.raises(SceneError, match="its value must be a number"):
        recorder.mark(0, 0, "a", odd)
    with pytest.raises(SceneError, match="expected a text"):
        recorder.label(0, 0, odd)
    with pytest.raises(SceneError, match="tick"):
        recorder.label(1 << 63, 0, "a")
    assert not len(recorder.finish().events)


@pytest.mark.nojit
def test_many_threads_may_mark_while_it_records(tmp_path: Path) -> None:
    """Every event is there once, those of one thread in their order."""
    ring, at = new_ring(10, NROW)
    recorder = Recorder([(ring, at)], tmp_path / "a.h5", meta()).start()

    def mark(who: int) -> None:
        for n in range(300):
            recorder.mark(n, n, f"thread {who}", n)
            time.sleep(1e-4)

    threads = [threading.Thread(target=mark, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = recorder.finish().events
    assert len(events) == 1200
    for who in range(4):
        assert events["value"][events["name"] == f"thread {who}"].tolist() == list(range(300))


# ------------------------------------------------------------------------------------------ rings


def hand_rows(ticks: Sequence[int], who: int) -> Array:
    """Rows of one hand; all but the time says who and which tick."""
    rows = np.zeros((len(ticks), NROW))
    rows[:] = 1000.0 * who + np.array(ticks)[:, None]
    rows[:, ROW_TIME] = np.array(ticks) * 1e-3
    rows[:, ROW_MISSED] = np.diff(ticks, prepend=-1) - 1
    return rows


@pytest.mark.nojit
def test_rows_of_two_rings_come_together_by_their_ticks() -> None:
    """Fed in random portions; each leaves out ticks of its own."""
    rng = np.random.default_rng(11)
    ticks = [[n for n in range(3000) if rng.random() > 0.1 or n == 0] for _ in range(2)]
    rings = [new_ring(500, NROW), new_ring(500, NROW)]
    recorder = Recorder(rings, None, meta(rate=1000.0), tools=("left", "right"))
    rest = [hand_rows(own, who) for who, own in enumerate(ticks)]
    while any(len(rows) for rows in rest):
        until = min(float(rows[0, ROW_TIME]) for rows in rest if len(rows)) + 0.2
        for i, (ring, at) in enumerate(rings):
            ready = int(np.searchsorted(rest[i][:, ROW_TIME], until))
            count = int(rng.integers(0, ready + 1))
            feed(ring, at, rest[i][:count])
            rest[i] = rest[i][count:]
        recorder.drain()
    trace = recorder.finish()
    every = sorted({*ticks[0], *ticks[1]})
    assert np.rint(1000.0 * trace.time).astype(int).tolist() == every
    assert recorder.rows == len(every)
    assert trace.meta["dropped"] == 0
    for who, (tool, own) in enumerate(zip(trace.tools, ticks, strict=True)):
        held = [max(tick for tick in own if tick <= n) for n in every]
        assert trace[f"{tool}.tool.position"][:, 0].tolist() == [1000.0 * who + n for n in held]
        assert np.array_equal(trace[f"{tool}.time"], trace.time)
        # nothing is counted twice
        assert trace[f"{tool}.servo.missed"].sum() == own[-1] + 1 - len(own)


@pytest.mark.nojit
def test_a_ring_that_stands_still_holds_nobody_up(tmp_path: Path) -> None:
    """The right hand's loop ends at tick 100, and its last rows come when all have given it up."""
    (left, left_at), (right, right_at) = rings = [new_ring(5000, NROW), new_ring(5000, NROW)]
    recorder = Recorder(rings, tmp_path / "a.h5", meta(rate=1000.0), tools=("left", "right"))
    feed(left, left_at, hand_rows(range(100), 1))
    assert recorder.drain() == 0, "the other hand may still come"
    feed(right, right_at, hand_rows(range(3, 100), 2))
    assert recorder.drain() == 100
    feed(left, left_at, hand_rows(range(100, 1000), 1))
    assert recorder.drain() == 900 - 250
    feed(right, right_at, hand_rows(range(100, 110), 2))
    trace = recorder.finish()
    assert len(trace) == 1000
    assert trace["left.tool.position"][:, 0].tolist() == [1000.0 + n for n in range(1000)]
    there = trace["right.tool.position"][:, 0]
    assert there[:3].tolist() == [2003.0] * 3, "before its first tick that one stands in"
    assert there[3:100].tolist() == [2000.0 + n for n in range(3, 100)]
    assert there[100:].tolist() == [2099.0] * 900
    assert trace.meta["dropped"] == 10


@pytest.mark.nojit
def test_a_hand_without_any_rows_is_not_a_number() -> None:
    (left, left_at), other = new_ring(1000, NROW), new_ring(1000, NROW)
    recorder = Recorder([(left, left_at), other], None, meta(), tools=("left", "right"))
    feed(left, left_at, hand_rows(range(10), 1))
    trace = recorder.finish()
    assert np.isnan(trace["right.tool.position"]).all()
    assert trace["right.fault"].tolist() == [0] * 10
    assert np.array_equal(trace["right.time"], trace["left.time"])


LIMITED = """
import resource, signal, sys
sys.path.insert(0, sys.argv[2])
from sessions import meta, numbered_rows
from tangere.haptics.layout import NROW
from tangere.haptics.mailbox import new_ring, push
from tangere.trace.recorder import Recorder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
ring, at = new_ring(100, NROW)
recorder = Recorder([(ring, at)], sys.argv[1], meta(), on_fault=print)
for first in range(0, 20000, 100):
    for row in numbered_rows(first, 100):
        push(ring, at, 100, row, NROW)
    recorder.drain()
print(len(recorder.finish()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
def test_a_limit_of_the_system_on_the_file_is_met_like_a_full_disk(tmp_path: Path) -> None:
    """The real thing: the system itself takes a part of a row and then no more."""
    path = tmp_path / "a.h5"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(TESTS)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["recording stopped: File too large", "20000"]
    stored = Trace.load(path)
    assert np.array_equal(stored.rows, numbered_rows(0, len(stored)))
    assert 0 < len(stored) < 20_000
    assert stored.meta["recording"] == "recording stopped: File too large"


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in kB")
@pytest.mark.parametrize("seconds", [30, pytest.param(600, marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_recording(tmp_path: Path, seconds: int) -> None:
    """Two hands at 4 kHz, as fast as it runs: 30 s are 204 MB of numbers, 600 s are 4 GB."""
    done = subprocess.run(
        [sys.executable, "benchmarks/record_hour.py", str(seconds), str(tmp_path)],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=500,
        check=True,
    )
    ticks, _, memory, *_ = done.stdout.splitlines()
    assert ticks.startswith(f"{4000 * seconds} ticks")
    # blocks, the table before it is written, and HDF5's own: about 20 MB
    assert float(memory.split()[1]) < 100.0


# ------------------------------------------------------------------------------------------ kill -9

# A process that loads everything once and then, per line of input, forks one that records two hands
# at 4 kHz, with a busy thread beside it. Row k is known; the time of the newest row is shared.
WRITER = """
import mmap, os, sys, threading, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from sessions import meta, numbered_rows
from tangere.haptics.layout import NROW
from tangere.haptics.mailbox import new_ring, push
from tangere.trace.recorder import Recorder

RATE = 4000
ring, at = new_ring(8192, 2 * NROW)
push(ring, at, 8192, ring[1], 2 * NROW)  # compiled before the first child
Recorder([new_ring(1, NROW)]).finish()

def record(path, newest):
    ring, at = new_ring(8192, 2 * NROW)
    recorder = Recorder([(ring, at)], path, meta(rate=RATE), tools=("left", "right")).start()
    def work():
        while True:
            sum(range(1000))
    threading.Thread(target=work, daemon=True).start()
    begin, done = time.monotonic(), 0
    print(os.getpid(), flush=True)
    while True:
        due = int((time.monotonic() - begin) * RATE)
        for row in numbered_rows(done, due - done, 2):
            push(ring, at, 8192, row, 2 * NROW)
        if due > done:
            recorder.mark(done, 0, "first of some", done)
        if done // 1000 != due // 1000:
            recorder.label(done, 0, f"trial {done}")
        done = max(done, due)
        newest[0] = done
        time.sleep(0.002)

for line in sys.stdin:
    path, shared = line.split()
    if os.fork() == 0:
        record(path, np.memmap(shared, dtype=np.int64, shape=(1,), mode="r+"))
    os.wait()
"""


@pytest.fixture
def writer() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(TESTS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 0


def kill_in_the_middle(writer: subprocess.Popen[str], folder: Path, times: int) -> list[int]:
    """Rows lost in each of so many recordings, killed at random moments.

    Each has made twice as many rows as may be lost, or more: one that wrote nothing shows.
    """
    assert writer.stdin is not None
    assert writer.stdout is not None
    rng, lost = random.Random(9), []
    newest = np.memmap(folder / "newest", dtype=np.int64, shape=(1,), mode="w+")
    for turn in range(times):
        path = folder / f"{turn}.h5"
        newest[0] = 0
        writer.stdin.write(f"{path} {folder / 'newest'}\n")
        writer.stdin.flush()
        pid = int(writer.stdout.readline())
        deadline = time.monotonic() + 30.0
        while int(newest[0]) < 2 * MOST_LOST:
            assert time.monotonic() < deadline, "it makes no rows"
            time.sleep(0.01)
        time.sleep(0.4 * rng.random())
        os.kill(pid, 9)
        # the parent of the killed one takes its next line only when it is gone
        while Path(f"/proc/{pid}/stat").exists():
            time.sleep(0.001)
        made = int(newest[0])
        trace = Trace.load(path)
        with h5py.File(path, "r", swmr=True) as plain:  # as any other program would
            stored = plain["columns"]["left.tool.force"]
            assert np.array_equal(stored[:], trace["left.tool.force"][: len(stored)])
        assert np.array_equal(trace.rows, numbered_rows(0, len(trace), 2))
        # Events follow the rows of their tick to the file: none is there twice, or out of order,
        # and those of all but the last rows are there.
        marked = trace.events["tick"].tolist()
        assert marked == sorted(set(marked))
        assert trace.events["value"].tolist() == marked
        assert marked[-1] > len(trace) - MOST_LOST
        assert len(trace.labels)
        assert trace.labels["label"].tolist() == [f"trial {n}" for n in trace.labels["tick"]]
        assert trace.meta["end"] == "the recording broke off"
        assert trace.summary().end == trace.meta["end"]
        lost.append(made - len(trace))
        path.unlink()
    return lost


needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="forks, and looks into /proc")
# "loses at most the last 0.5 s" at 4 kHz
MOST_LOST = 2000


@needs_fork
def test_killed_recordings_open_and_lose_half_a_second_at_most(
    writer: subprocess.Popen[str], tmp_path: Path
) -> None:
    lost = kill_in_the_middle(writer, tmp_path, 4)
    assert max(lost) <= MOST_LOST


@needs_fork
@pytest.mark.slow
def test_twenty_killed_recordings(writer: subprocess.Popen[str], tmp_path: Path) -> None:
    lost = kill_in_the_middle(writer, tmp_path, 20)
    assert max(lost) <= MOST_LOST


@pytest.mark.nojit
def test_a_recorded_spring_is_read_by_name(tmp_path: Path) -> None:
    ring, at = new_ring(1000, NROW)
    recorder = Recorder([(ring, at)], tmp_path / "a.h5", meta())
    rows = spring_rows(500)
    feed(ring, at, rows)
    trace = recorder.finish()
    assert np.array_equal(trace["coupling.force"][:, 0], 100.0 * trace["hand.position"][:, 0])
