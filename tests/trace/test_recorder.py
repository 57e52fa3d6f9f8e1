"""The recorder: nothing lost between ring and file, whatever ends the process or fills the disk."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from sessions import meta, numbered_rows, spring_rows

from tangere.errors import SceneError
from tangere.haptics.layout import NROW
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


@pytest.mark.nojit
def test_disk_full_stops_the_file_and_not_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No room after 300 rows: told once; the file has 300, the session's trace all."""
    put = RowFile._put

    def full(self: RowFile, place: int, data: bytes | bytearray | memoryview) -> int:
        if place + len(data) > self._at.rows + 300 * 8 * NROW:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return put(self, place, data)

    monkeypatch.setattr(RowFile, "_put", full)
    ring, at = new_ring(100, NROW)
    told: list[str] = []
    recorder = Recorder([(ring, at)], tmp_path / "a.h5", meta(), on_fault=told.append)
    for first in range(0, 1000, 100):
        feed(ring, at, numbered_rows(first, 100))
        recorder.drain()
    trace = recorder.finish("finished")
    assert told == ["recording stopped: No space left on device"] == [recorder.fault]
    assert np.array_equal(trace.rows, numbered_rows(0, 1000))
    stored = Trace.load(tmp_path / "a.h5")
    assert np.array_equal(stored.rows, numbered_rows(0, 300))
    # the room for this was there from the beginning
    assert stored.meta["recording"] == trace.meta["recording"] == told[0]
    assert stored.meta["end"] == "finished"


LIMITED = """
import resource, signal, sys
sys.path.insert(0, sys.argv[2])
from sessions import meta, numbered_rows
from tangere.haptics.layout import NROW
from tangere.haptics.mailbox import new_ring, push
from tangere.trace.recorder import Recorder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
ring, at = new_ring(100, NROW)
recorder = Recorder([(ring, at)], sys.argv[1], meta(), on_fault=print)
for first in range(0, 5000, 100):
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
    assert done.stdout.split("\n")[:2] == ["recording stopped: File too large", "5000"]
    stored = Trace.load(path)
    with h5py.File(path) as plain:
        assert len(plain["rows"]) == len(stored)
    assert np.array_equal(stored.rows, numbered_rows(0, len(stored)))
    assert len(stored) == (1_000_000 - h5_start(path)) // (8 * NROW)


def h5_start(path: Path) -> int:
    with h5py.File(path) as file:
        return int(file["rows"].id.get_offset())


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
        with h5py.File(path) as plain:
            assert len(plain["rows"]) == len(trace)
        assert np.array_equal(trace.rows, numbered_rows(0, len(trace), 2))
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
