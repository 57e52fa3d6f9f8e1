"""Does the servo keep time at work? Late ticks of three loops that take turns in one run.

*empty* only waits. *at work* steps a tool against eight planes, while thirteen blocks are simulated
and shown on a page in a process of its own, a thread hands planes over, and every row is recorded
to a file. *beside Python* is the same with one more thread that never stops computing in pure
Python.

All have the same priority and core. How many ticks are late depends on the machine and its mood,
so that only ratios within one run mean anything.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tangere.bench.report import Result, Row, Table
from tangere.doctor import PLANES, RATE, send_planes, trial_rig
from tangere.haptics.layout import NSTATE, NTOOL, STATE_TIME, STATE_TOOL, Rig
from tangere.haptics.mailbox import take
from tangere.haptics.safety import Safety
from tangere.haptics.servo import CTL_LATE, Counters, Loop, Servo, counted
from tangere.scene.library import build
from tangere.trace.recorder import Recorder
from tangere.viewer.app import page_builder
from tangere.viewer.frame import Settings
from tangere.viewer.host import Host
from tangere.viewer.runner import Runner

EMPTY, WORK, PYTHON = "empty", "at work", "beside Python"
SECONDS = 0.5  # [s] of a turn: a machine's mood lasts longer
SCENE = "block-tower"
CONTACT_PERIOD = 2e-3  # [s]
MOST_LATE = 2.0  # times the late ticks of the empty loop, claimed at most
MOST_CHANGE = 0.2  # of the share of late ticks by a busy Python thread
DRAWS = 1000  # of all rounds at random, to see what is chance
LONGEST_TICK = 15e-6  # [s] median, claimed at most


def measure(rounds: int = 120, seconds: float = SECONDS) -> Result:
    """Late ticks of all loops, `rounds` turns of `seconds` each."""
    begin = time.perf_counter()
    loops: dict[str, list[Loop]] = {EMPTY: [], WORK: [], PYTHON: []}
    names = list(loops)
    granted = ""
    with _page() as page:
        for r in range(rounds):
            for k in range(len(names)):
                name = names[(r + k) % len(names)]  # nobody always comes first
                servo = _turn(name, seconds, page)
                loops[name].append(servo.loop)
                granted = str(servo.granted)
    found = {name: counted(*turns) for name, turns in loops.items()}
    rows = [_row(name, counters) for name, counters in found.items()]
    notes = [*claims(found), doubt(loops)]
    settings = {"rounds": rounds, "seconds": seconds, "rate_Hz": RATE, "planes": PLANES}
    title = f"{rounds} turns of {seconds:g} s at {RATE:g} Hz; {granted}"
    return Result("servo", settings, [Table(title, rows)], notes, time.perf_counter() - begin)


def claims(found: dict[str, Counters]) -> list[str]:
    """The claims with what was measured and the verdict."""
    empty, work, python = (found[name] for name in (EMPTY, WORK, PYTHON))
    burden = _ratio(work.late_share, empty.late_share)
    change = _ratio(python.late_share, work.late_share) - 1.0
    median = work.duration.p50
    return [
        _claim(
            f"later than 100 µs at most {MOST_LATE:g} times as often as the empty loop",
            f"{burden:.2f}",
            burden <= MOST_LATE,
        ),
        _claim(
            f"a busy Python thread changes that by less than {100 * MOST_CHANGE:g} %",
            f"{100 * change:+.0f} %",
            abs(change) < MOST_CHANGE,
        ),
        _claim(
            f"median tick with {PLANES} planes at most {1e6 * LONGEST_TICK:g} µs",
            f"{1e6 * median:.1f} µs",
            median <= LONGEST_TICK,
        ),
    ]


def doubt(loops: dict[str, list[Loop]]) -> str:
    """How far the ratios would scatter if the run were repeated: rounds drawn again at random."""
    late = np.array([[loop.control[CTL_LATE] for loop in turns] for turns in loops.values()])
    rounds = late.shape[1]
    draws = np.random.default_rng(0).integers(rounds, size=(DRAWS, rounds))
    empty, work, python = (np.maximum(row[draws].sum(axis=1), 1) for row in late)
    counts = ", ".join(f"{row.sum()} {name}" for name, row in zip(loops, late, strict=True))
    return (
        f"late ticks: {counts}; "
        f"by chance the first ratio varies by ±{np.std(work / empty):.2f}, "
        f"the change by ±{100.0 * np.std(python / work):.0f} %"
    )


def _claim(text: str, measured: str, holds: bool) -> str:
    return f"{text} is claimed; {measured}: {'holds' if holds else 'FAILS'}"


def _ratio(a: float, b: float) -> float:
    if b == 0.0:
        return 1.0 if a == 0.0 else np.inf
    return a / b


def _row(name: str, c: Counters) -> Row:
    return {
        "loop": name,
        "ticks": c.ticks,
        "missed": c.missed,
        "> 100 µs late [%]": 100.0 * c.late_share,
        "late p99 [µs]": 1e6 * c.lateness.p99,
        "late p99.9 [µs]": 1e6 * c.lateness.p999,
        "late worst [µs]": 1e6 * c.lateness.worst,
        "tick p50 [µs]": 1e6 * c.duration.p50,
        "tick p99 [µs]": 1e6 * c.duration.p99,
        "rows dropped": c.dropped,
    }


class Page(NamedTuple):
    """A simulation, and the page that shows it."""

    runner: Runner
    host: Host


@contextmanager
def _page() -> Iterator[Page]:
    """A page that is up, its simulation paused."""
    host = Host({SCENE: ""})
    runner = Runner(Settings(SCENE), page_builder(build))
    runner.built.simulation.step()  # compiled before the first turn
    runner.pause(True)
    runner.start()
    try:
        host.open()
        host.show(runner)
        yield Page(runner, host)
    finally:
        runner.stop()
        host.close()


def _turn(name: str, seconds: float, page: Page) -> Servo:
    """One loop, run to its end with its companions."""
    rigs = []
    if name != EMPTY:
        rig = trial_rig()
        Safety().apply(rig.settings)  # stale packets are a fault here
        rigs.append(rig)
    servo = Servo(rigs, rate=RATE, ticks=round(seconds * RATE))
    with ExitStack() as companions:
        if rigs:
            companions.enter_context(_thread(_contact_loop(rigs[0])))
            companions.enter_context(_recording(servo))
            companions.enter_context(_thread(lambda stop: page.host.run(None, stop)))
            page.runner.pause(False)
            companions.callback(page.runner.pause, True)
        if name == PYTHON:
            companions.enter_context(_thread(_busy))
        servo.start()
        servo.join()
        servo.stop()
    return servo


@contextmanager
def _thread(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """A thread that works until the block is left."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _contact_loop(rig: Rig) -> Callable[[threading.Event], None]:
    """Hands planes over as often as a contact loop does."""

    def work(stop: threading.Event) -> None:
        state, number = np.zeros(NSTATE), 1
        while not stop.wait(CONTACT_PERIOD):
            if take(rig.states, rig.states_at, state, NSTATE):
                number += 1
                tool = state[STATE_TOOL : STATE_TOOL + NTOOL]
                send_planes(rig, float(number), float(state[STATE_TIME]), tool)

    return work


@contextmanager
def _recording(servo: Servo) -> Iterator[None]:
    """Every row goes to a file that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder([(servo.loop.ring, servo.loop.ring_at)], Path(folder) / "trace.h5")
        recorder.start()
        try:
            yield
        finally:
            recorder.finish()


def _busy(stop: threading.Event) -> None:
    """Computes in pure Python and never lets go of the lock by itself."""
    total = 0
    while not stop.is_set():
        for i in range(10_000):
            total += i * i % 7
