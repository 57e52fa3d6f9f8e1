"""Can a hand rely on the servo? Late ticks, answers at the device, ends of a program.

*Loops.* *empty* only waits. *at work* is a session: a device whose driver is called within the tick
(a fake of a vendor's C library), in the process that a session has for it, a tool that leans on a
floor, a contact loop, a recording to a file; beside it thirteen blocks are simulated and shown on a
page. *beside Python* is the same with one more thread in the program that never stops computing in
pure Python. All take turns, with the same priority and core. How many ticks are late depends on the
machine and its mood, so that only ratios within one run mean anything.

*Answers.* The grip of the device steps by 2 mm at irregular times; from its own log: how long until
a command feels it?

*Ends.* A program that holds the device ends in one way or another; from the device's log: how long
until force is zero, and until the device is closed?

*Criteria.* See `bench.criteria`.
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

from tangere.bench import criteria
from tangere.bench.criteria import Finding
from tangere.bench.report import Result, Row, Table
from tangere.errors import SceneError
from tangere.fakes.held_program import lean_on, lower
from tangere.fakes.measure import Answers, End, answers, busy_python, in_world, vendors
from tangere.fakes.vendors import Libraries, World, why_not
from tangere.haptics.servo import CTL_LATE, Counters, Loop, Servo, counted
from tangere.scene.library import build
from tangere.viewer.app import page_builder
from tangere.viewer.frame import Settings
from tangere.viewer.host import Host
from tangere.viewer.runner import Runner

EMPTY, WORK, PYTHON = "empty", "at work", "beside Python"
RATE = 1000.0  # [Hz]
SCENE = "block-tower"
CALLS = (0.0, 3e-4)  # duration of a driver's calls [s]
MOST_LATE = 2.0  # times the late ticks of the empty loop, claimed at most
MOST_CHANGE = 0.2  # of the share of late ticks by a busy Python thread
DRAWS = 1000  # of all rounds at random, to see what is chance
LONGEST_TICK = 15e-6  # [s] median, claimed at most


def measure(rounds: int = 12, seconds: float = 5.0, runs: int = 2) -> Result:
    """All of it.

    Args:
        rounds: Turns of each loop.
        seconds: Of a turn, and of each look at the answers.
        runs: Of each end.

    Raises:
        SceneError: The fake library cannot be built here.
    """
    if reason := why_not():
        raise SceneError(f"bench servo: {reason}")
    begin = time.perf_counter()
    with vendors() as libraries, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        loops, granted = run_loops(libraries, folder, rounds, seconds)
        answered = {
            (call, busy): answers(libraries, folder, call=call, busy=busy, seconds=seconds)
            for call in CALLS
            for busy in (False, True)
        }
        paced = {
            busy: answers(libraries, folder, device="openhaptics", busy=busy, seconds=seconds)
            for busy in (False, True)
        }
        ends = criteria.endings(libraries, folder, runs)
        found = [
            criteria.answered(answered),
            criteria.let_go(ends),
            criteria.vendor_paced(libraries, folder),
            criteria.glitches(libraries, folder),
            criteria.devices_own_ways(libraries, folder),
            criteria.led(),
            criteria.booked(),
            criteria.caught(),
            criteria.held_near(),
            criteria.effects(),
        ]
    kept = {each: counted(*turns) for each, turns in loops.items()}
    settings = {"rounds": rounds, "seconds": seconds, "runs": runs, "rate_Hz": RATE}
    tables = [
        Table(
            f"{rounds} turns of {seconds:g} s at {RATE:g} Hz; {granted}",
            [_row(each, counters) for each, counters in kept.items()],
        ),
        Table(
            "from a step of the grip to the command that feels it, at the device (omega.6: one "
            "read and one write a tick; net off)",
            [_answer(f"calls of {1e3 * c:g} ms", busy, a) for (c, busy), a in answered.items()]
            + [_answer("vendor's scheduler", busy, a) for busy, a in paced.items()],
        ),
        Table(
            f"ends of a program, {runs} runs each, worst", [_end(*each) for each in ends.items()]
        ),
        Table("ten criteria of a hand that can be trusted", [_criterion(each) for each in found]),
    ]
    notes = [*claims(kept, scatter(loops)), doubt(loops)]
    return Result("servo", settings, tables, notes, time.perf_counter() - begin)


def claims(found: dict[str, Counters], chance: tuple[float, float] = (0.0, 0.0)) -> list[str]:
    """The claims on late ticks with what was measured and the verdict.

    A ratio that misses its limit by less than it varies by chance decides nothing.
    """
    empty, work, python = (found[name] for name in (EMPTY, WORK, PYTHON))
    burden = _ratio(work.late_share, empty.late_share)
    change = _ratio(python.late_share, work.late_share) - 1.0
    median = work.duration.p50
    return [
        _claim(
            f"later than 100 µs at most {MOST_LATE:g} times as often as the empty loop",
            f"{burden:.2f}",
            burden - MOST_LATE,
            chance[0],
        ),
        _claim(
            f"a busy Python thread makes that worse by less than {100 * MOST_CHANGE:g} %",
            f"{100 * change:+.0f} %",
            change - MOST_CHANGE,
            chance[1],
        ),
        _claim(
            f"median tick, driver's calls within, at most {1e6 * LONGEST_TICK:g} µs",
            f"{1e6 * median:.1f} µs",
            median - LONGEST_TICK,
        ),
    ]


def doubt(loops: dict[str, list[Loop]]) -> str:
    """How many ticks were late, and how far the ratios would scatter if the run were repeated."""
    late = {name: sum(int(each.control[CTL_LATE]) for each in of) for name, of in loops.items()}
    counts = ", ".join(f"{count} {name}" for name, count in late.items())
    burden, change = scatter(loops)
    return (
        f"late ticks: {counts}; by chance the first ratio varies by ±{burden:.2f}, the change by "
        f"±{100.0 * change:.0f} %"
    )


def scatter(loops: dict[str, list[Loop]]) -> tuple[float, float]:
    """Spread of both ratios by chance, as rounds drawn again at random have it."""
    late = np.array([[loop.control[CTL_LATE] for loop in turns] for turns in loops.values()])
    rounds = late.shape[1]
    draws = np.random.default_rng(0).integers(rounds, size=(DRAWS, rounds))
    empty, work, python = (np.maximum(row[draws].sum(axis=1), 1) for row in late)
    return float(np.std(work / empty)), float(np.std(python / work))


def _claim(text: str, measured: str, beyond: float, chance: float = 0.0) -> str:
    """A claim and its verdict, by how far its figure is beyond the limit."""
    verdict = "holds" if beyond <= 0.0 else "FAILS" if beyond > chance else "not decided"
    return f"{text} is claimed; {measured}: {verdict}"


def _ratio(a: float, b: float) -> float:
    if b == 0.0:
        return 1.0 if a == 0.0 else np.inf
    return a / b


# ---------------------------------------------------------------- rows of the tables


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


def _answer(what: str, busy: bool, found: Answers) -> Row:
    p50, p99, worst = (1e3 * each for each in found.percentiles)
    return {
        "driver": what,
        "Python": "busy" if busy else "quiet",
        "commands/s": found.rate,
        "wait p50 [ms]": p50,
        "wait p99 [ms]": p99,
        "wait worst [ms]": worst,
        "longest gap [ms]": 1e3 * found.longest_gap,
        "steps": len(found.waits),
        "unanswered": found.unanswered,
    }


def _end(name: str, found: list[End]) -> Row:
    closed = max(each.closed for each in found)
    return {
        "the program ends by": name,
        "zero force after [ms]": 1e3 * max(each.zero for each in found),
        "closed after [ms]": 1e3 * closed if np.isfinite(closed) else "stays open",
        "runs": len(found),
    }


def _criterion(found: Finding) -> Row:
    return {
        "": found.number,
        "asked": found.asked,
        "seen": found.seen,
        "verdict": "holds" if found.holds else "FAILS",
    }


# ---------------------------------------------------------------- loops


def run_loops(
    libraries: Libraries, folder: Path, rounds: int, seconds: float
) -> tuple[dict[str, list[Loop]], str]:
    """All loops by turns; what the last one's thread was granted, in words."""
    loops: dict[str, list[Loop]] = {EMPTY: [], WORK: [], PYTHON: []}
    names = list(loops)
    granted = ""
    with _page() as page:
        for r in range(rounds):
            for k in range(len(names)):
                name = names[(r + k) % len(names)]  # nobody always comes first
                loop, granted = _turn(name, seconds, page, libraries, folder)
                loops[name].append(loop)
    return loops, granted


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


def _turn(
    name: str, seconds: float, page: Page, libraries: Libraries, folder: Path
) -> tuple[Loop, str]:
    """One loop, run to its end with its companions; what its thread was granted."""
    ticks = round(seconds * RATE)
    if name == EMPTY:
        servo = Servo([], rate=RATE, ticks=ticks)
        servo.start()
        servo.join()
        servo.stop()
        return servo.loop, str(servo.granted)
    path = folder / "loop.world"
    path.unlink(missing_ok=True)
    world = World(path, capacity=10)
    with ExitStack() as companions:
        companions.enter_context(in_world(libraries, world))
        session = lean_on()
        companions.enter_context(_thread(lambda stop: page.host.run(None, stop)))
        page.runner.pause(False)
        companions.callback(page.runner.pause, True)
        session.start(ticks, record=folder / "loop.h5")
        companions.callback(session.stop)
        lower(world, session)
        companions.enter_context(busy_python(name == PYTHON))
        session.wait()
        (loop,) = session.live.hands.loops
        return loop, session.live.hands.granted


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
