"""The loop: counting, missing, recording, pausing, ending; no test asks how fast the machine is."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangere._clock import PORTABLE
from tangere.errors import SceneError
from tangere.fakes.rigs import DT, free_rig, packet, pressing_rig, run_in_touch, send_packet
from tangere.haptics import servo
from tangere.haptics.layout import (
    FAULT_ESCAPE,
    NROW,
    NSEND,
    ROW_FAULT,
    ROW_LATE,
    ROW_MISSED,
    ROW_SENT,
    ROW_SPENT_TIME,
    ROW_TIME,
    SEND_SEQUENCE,
    SET_STEP,
    Rig,
    new_rig,
)
from tangere.haptics.mailbox import DROPPED, drain, post, take
from tangere.haptics.safety import Safety
from tangere.haptics.servo import (
    CTL_BEGIN,
    CTL_ENDED,
    CTL_HEARTBEAT,
    CTL_LATE,
    CTL_LATE_BINS,
    CTL_LIMIT,
    CTL_MISSED,
    CTL_NEXT,
    CTL_PAUSE,
    CTL_TICK_BINS,
    CTL_TICKS,
    CTL_WORST_LATE,
    NBINS,
    Commands,
    Servo,
    bin_limits,
    do_tick,
    end_tick,
    leave,
    new_loop,
    pace_in_python,
)
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

MS = 1_000_000  # [ns]
LONG = 20.0  # [s] a loop that has not ended by then hangs
FOREVER = Safety(ramp=0.0, samples=0, fresh=1e9, stale=1e9, lead=False, net=False)


class Stepped:
    """A loop whose clock is turned by hand: no thread, no waiting."""

    def __init__(self, *rigs: Rig, ring_rows: int = 64) -> None:
        self.rigs = rigs
        self.loop = new_loop(len(rigs), 1000.0, ring_rows=ring_rows)
        self.loop.control[CTL_BEGIN] = 10 * MS
        self.pair = (rigs[0], rigs[-1])

    def wake(self, at: float, spent: int = 5000) -> Array:
        """A tick that begins `at` periods after tick 0; its rows, (hands, NROW)."""
        start = round((10 + at) * MS)
        do_tick(*self.pair, self.loop, start)
        end_tick(self.loop, start, start + spent)
        rows: Array = self.loop.rows.reshape(-1, NROW)[: len(self.rigs)].copy()
        return rows

    def __getitem__(self, column: int) -> int:
        return int(self.loop.control[column])


def newest_command(rig: Rig) -> Array:
    send = np.full(NSEND, np.nan)
    assert take(rig.outbox, rig.outbox_at, send, NSEND)
    return send


# ---------------------------------------------------------------- by hand


def test_ticks_in_time_are_counted_and_numbered() -> None:
    loop = Stepped(free_rig(1, FOREVER))
    rows = np.array([loop.wake(n + 1e-5 * n, spent=2000 + n)[0] for n in range(20)])
    assert rows[:, ROW_TIME] == pytest.approx(DT * np.arange(20))
    assert rows[:, ROW_LATE] == pytest.approx(1e-8 * np.arange(20), abs=1e-12)
    assert rows[:, ROW_SPENT_TIME] == pytest.approx(1e-9 * (2000 + np.arange(20)))
    assert (rows[:, ROW_MISSED] == 0.0).all()
    assert (loop[CTL_TICKS], loop[CTL_MISSED], loop[CTL_LATE]) == (20, 0, 0)
    assert loop[CTL_WORST_LATE] == 190
    assert loop[CTL_HEARTBEAT] == 29 * MS + 190 + 2019
    bins = loop.loop.control[CTL_LATE_BINS:]
    assert bins[:NBINS].sum() == bins[NBINS : 2 * NBINS].sum() == 20


def test_missed_ticks_are_left_out_and_counted_never_caught_up() -> None:
    loop = Stepped(free_rig(1, FOREVER))
    loop.wake(0)
    row = loop.wake(4.6)[0]  # 1, 2 and 3 are gone; 4 is the last that was due
    assert row[ROW_TIME] == pytest.approx(4 * DT)
    assert row[ROW_MISSED] == 3
    assert row[ROW_LATE] == pytest.approx(3.6e-3)
    assert loop[CTL_NEXT] == 5
    row = loop.wake(5)[0]
    assert row[ROW_TIME] == pytest.approx(5 * DT)
    assert row[ROW_MISSED] == 0
    assert (loop[CTL_TICKS], loop[CTL_MISSED], loop[CTL_LATE]) == (3, 3, 4)


@given(st.lists(st.floats(0.0, 3.5), min_size=1, max_size=40))
def test_done_and_missed_ticks_add_up_to_the_time_that_passed(lags: list[float]) -> None:
    loop = Stepped(SPARE)
    done = 0
    for lag in lags:
        loop.wake(loop[CTL_NEXT] + lag)
        done += 1
        assert loop[CTL_TICKS] == done
        assert loop[CTL_TICKS] + loop[CTL_MISSED] == loop[CTL_NEXT]
    assert loop[CTL_LATE] - loop[CTL_MISSED] == sum(round(lag * MS) > 100_000 for lag in lags)


SPARE = free_rig(1, FOREVER)


def test_two_hands_tick_together_and_are_recorded_side_by_side() -> None:
    hands = (pressing_rig(1, FOREVER), free_rig(1, FOREVER))
    loop = Stepped(*hands)
    for rig in hands:
        send_packet(rig, packet(1, 0.0))
    rows = [loop.wake(n) for n in range(30)]
    assert rows[-1][0, ROW_SENT + 2] > 0.5
    assert rows[-1][1, ROW_SENT + 2] == pytest.approx(0.0, abs=1e-12)
    out = np.zeros((40, 2 * NROW))
    assert drain(loop.loop.ring, loop.loop.ring_at, out) == 30
    assert out[:30].tobytes() == np.array(rows).reshape(30, -1).tobytes()


def test_a_recorder_that_sleeps_costs_rows_and_nothing_else() -> None:
    loop = Stepped(free_rig(1, FOREVER), ring_rows=8)
    for n in range(20):
        loop.wake(n)
    assert loop.loop.ring_at[DROPPED] == 12
    assert loop[CTL_TICKS] == 20
    out = np.zeros((20, NROW))
    assert drain(loop.loop.ring, loop.loop.ring_at, out) == 8
    assert out[:8, ROW_TIME] == pytest.approx(DT * np.arange(8))


def test_pause_and_standing_still_take_the_force_away() -> None:
    rig = pressing_rig(1, Safety(ramp=0.02, samples=0, fresh=1e9, stale=1e9, lead=False, net=False))
    send_packet(rig, packet(1, 0.0))
    loop = Stepped(rig)
    for n in range(40):
        row = loop.wake(n)[0]
    full = row[ROW_SENT + 2]
    assert full > 0.5
    loop.loop.control[CTL_PAUSE] = 1
    row = loop.wake(40)[0]
    assert (row[ROW_FAULT], row[ROW_SENT + 2]) == (FAULT_ESCAPE, 0.0)
    loop.loop.control[CTL_PAUSE] = 0
    assert 0.0 < loop.wake(41)[0][ROW_SENT + 2] < 0.1 * full
    for n in range(42, 80):
        row = loop.wake(n)[0]
    assert row[ROW_SENT + 2] == pytest.approx(full, rel=1e-3)
    row = loop.wake(140)[0]  # 60 ms later
    assert (row[ROW_FAULT], row[ROW_SENT + 2], row[ROW_MISSED]) == (FAULT_ESCAPE, 0.0, 60)
    assert 0.0 < loop.wake(141)[0][ROW_SENT + 2] < 0.1 * full


def test_the_end_is_zero_force() -> None:
    rig = pressing_rig(60)
    run_in_touch(rig, 0, 60)
    assert newest_command(rig)[2] > 0.5
    loop = Stepped(rig)
    leave(*loop.pair, loop.loop)
    assert newest_command(rig)[:6].tolist() == [0.0] * 6
    assert loop[CTL_ENDED] == 1


def test_bins_cover_all_durations_and_are_an_eighth_wide() -> None:
    limits = bin_limits()
    assert (np.diff(limits) > 0).all()
    loop = Stepped(SPARE)
    for k in range(34):
        for ns in (2**k, 2**k + 1, 3 * 2**k // 2):
            before = loop.loop.control[CTL_TICK_BINS:].copy()
            start = 10 * MS + loop[CTL_NEXT] * MS
            do_tick(*loop.pair, loop.loop, start)
            end_tick(loop.loop, start, start + ns)
            (i,) = np.flatnonzero(loop.loop.control[CTL_TICK_BINS:] - before)
            assert (limits[i - 1] if i else 0) <= ns < limits[i]
            assert limits[i] <= max(ns + 1, 1.1251 * ns)


# ---------------------------------------------------------------- with a thread


def test_a_servo_runs_counts_records_and_ends() -> None:
    hands = [pressing_rig(1, FOREVER), free_rig(1, FOREVER)]
    for rig in hands:
        send_packet(rig, packet(1, 0.0))
    loop = Servo(hands, rate=2000.0, ticks=100)
    with loop:
        assert hands[0].settings[SET_STEP] == 0.5e-3
        assert loop.granted is not None
        assert loop.join(LONG)
    assert loop.error is None
    found = loop.counters
    assert found.ticks == 100
    assert sum(found.late_histogram) == 100
    assert 0.0 <= found.late_share <= 1.0
    for spread in (found.lateness, found.duration):
        assert 0.0 <= spread.p50 <= spread.p99 <= spread.p999 <= spread.worst
    assert found.duration.p50 > 0.0
    assert found.dropped == 0
    out = np.zeros((200, 2 * NROW))
    assert drain(loop.loop.ring, loop.loop.ring_at, out) == 100
    numbers = out[:100, ROW_TIME] / 0.5e-3
    assert numbers == pytest.approx(np.round(numbers))
    # each tick once, and the gaps are the missed ones
    assert np.diff(numbers) == pytest.approx(1.0 + out[1:100, ROW_MISSED])
    newest = np.zeros(2 * NROW)
    assert loop.newest(newest)
    assert newest.tobytes() == out[99].tobytes()
    assert not loop.newest(newest)
    for rig in hands:
        assert newest_command(rig)[:6].tolist() == [0.0] * 6


def test_stop_ends_a_loop_without_end() -> None:
    rig = pressing_rig(1, FOREVER)
    send_packet(rig, packet(1, 0.0))
    loop = Servo([rig])
    loop.start()
    until = time.monotonic() + LONG
    while loop.counters.ticks < 20 and time.monotonic() < until:
        time.sleep(0.005)
    assert loop.running
    assert loop.silent_for < LONG
    loop.pause()
    loop.stop()
    loop.stop()  # again does no harm
    assert not loop.running
    assert loop.counters.ticks >= 20
    command = newest_command(rig)
    assert command[:6].tolist() == [0.0] * 6
    assert command[SEND_SEQUENCE] >= 20
    with pytest.raises(SceneError, match="make a new one"):
        loop.start()


def test_an_empty_loop_has_no_hands() -> None:
    loop = Servo([], ticks=20, priority=None, pin=False)
    loop.start()
    assert loop.join(LONG)
    assert loop.counters.ticks == 20


def test_the_loop_paced_by_python_does_the_same() -> None:
    rig = pressing_rig(1, FOREVER)
    send_packet(rig, packet(1, 0.0))
    loop = new_loop(1, 1000.0)
    loop.control[CTL_LIMIT] = 50
    pace_in_python(rig, rig, loop)
    assert loop.control[CTL_TICKS] == 50
    out = np.zeros((50, NROW))
    assert drain(loop.ring, loop.ring_at, out) == 50
    assert np.diff(out[:, ROW_TIME]) / DT == pytest.approx(1.0 + out[1:, ROW_MISSED])


def test_a_loop_that_breaks_sends_zero_force(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = pressing_rig(60)
    run_in_touch(rig, 0, 60)
    assert newest_command(rig)[2] > 0.5

    def break_down(*_: object) -> None:
        raise IndexError("index is out of bounds")

    monkeypatch.setattr(servo, "warm_up", lambda: None)
    monkeypatch.setattr(servo, "pace_in_python" if PORTABLE else "serve", break_down)
    loop = Servo([rig])
    loop.start()
    assert loop.join(LONG)
    assert isinstance(loop.error, IndexError)
    assert newest_command(rig)[:6].tolist() == [0.0] * 6
    loop.stop()


@pytest.mark.parametrize("rate", [0.0, 1e6, float("nan")])
def test_a_rate_that_makes_no_sense_is_refused(rate: float) -> None:
    with pytest.raises(SceneError, match="rate"):
        Servo([], rate=rate)


def test_two_hands_at_most() -> None:
    with pytest.raises(SceneError, match="at most 2"):
        Servo([new_rig()] * 3)


# ---------------------------------------------------------------- adapters


def test_an_adapter_sends_zero_when_the_servo_falls_silent() -> None:
    rig = new_rig()
    now = [0.0]
    commands = Commands(rig, limit=0.05, clock=lambda: now[0])
    assert commands.newest().tolist() == [0.0] * 6
    post(rig.outbox, rig.outbox_at, np.array([1.0, 2, 3, 4, 5, 6, 0, 0, 0]), NSEND)
    assert commands.newest().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    now[0] = 0.05
    assert commands.newest().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert not commands.stalled
    now[0] = 0.051
    assert commands.newest().tolist() == [0.0] * 6
    assert commands.stalled
    post(rig.outbox, rig.outbox_at, np.array([1.0, 2, 3, 4, 5, 6, 0, 0, 1]), NSEND)
    assert commands.newest()[0] == 1.0
    assert not commands.stalled


EXIT = """
import atexit, sys, time
atexit.register(lambda: print(newest_command(rig)[:6].tolist()))  # registered first, runs last
sys.path.insert(0, {tests!r})
import numpy as np
from tangere.fakes.rigs import packet, pressing_rig, send_packet
from haptics.test_servo import FOREVER, newest_command
rig = pressing_rig(1, FOREVER)
send_packet(rig, packet(1, 0.0))
from tangere.haptics.servo import Servo
loop = Servo([rig])
loop.start()
while loop.counters.ticks < 20:
    time.sleep(0.001)
"""


def test_the_end_of_the_program_is_zero_force() -> None:
    code = EXIT.format(tests=str(Path(__file__).parents[1]))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == str([0.0] * 6)


WITHOUT_CLOCK = """
import sys
sys.path.insert(0, {tests!r})
from tangere.fakes.rigs import packet, pressing_rig, send_packet
from haptics.test_servo import FOREVER, LONG, newest_command
from tangere.haptics.servo import Servo
rig = pressing_rig(1, FOREVER)
send_packet(rig, packet(1, 0.0))
with Servo([rig], ticks=50) as loop:
    assert loop.join(LONG) and loop.error is None
c = loop.counters
print(loop.granted.compiled, c.ticks, c.dropped, newest_command(rig)[2], len(loop.granted.advice))
"""


def test_the_portable_loop_can_be_forced() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CLOCK.format(tests=str(Path(__file__).parents[1]))],
        env={**os.environ, "TANGERE_PORTABLE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.split() == ["False", "50", "0", "0.0", "1"]


def test_nobody_else_is_left_running() -> None:
    assert "tangere-servo" not in [thread.name for thread in threading.enumerate()]


def test_touching_pages_gives_memory_and_changes_nothing() -> None:
    pages = 4000
    array = np.frombuffer(mmap.mmap(-1, pages * mmap.PAGESIZE)).reshape(pages, -1)
    array[7, 5] = 3.0

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    before = resident() if Path("/proc/self/statm").exists() else None
    servo.touch_pages(array)
    if before is not None:
        assert resident() - before > 0.9 * pages
    assert array.sum() == array[7, 5] == 3.0
