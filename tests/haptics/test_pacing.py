"""The clock, the wait, and what is said when the system refuses."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time

import pytest

from tangere._clock import PORTABLE
from tangere.haptics import pacing

pytestmark = pytest.mark.nojit

compiled = pytest.mark.skipif(PORTABLE, reason="kernels have no clock here")


class Clock:
    """A clock that moves by a fixed tick at every look."""

    def __init__(self, tick: int) -> None:
        self.now = 0
        self.tick = tick
        self.slept: list[float] = []

    def look(self) -> int:
        self.now += self.tick
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += round(1e9 * seconds)


def test_a_wait_sleeps_up_to_the_spin_and_looks_for_the_rest() -> None:
    clock = Clock(100)
    now = pacing.wait_in_python(1_000_000, 200_000, clock.look, clock.sleep)
    assert 1_000_000 <= now < 1_000_200
    assert clock.slept == [pytest.approx(0.8e-3, rel=1e-3)]


def test_a_deadline_that_has_passed_is_not_waited_for() -> None:
    clock = Clock(100)
    clock.now = 5_000_000
    assert pacing.wait_in_python(1_000_000, 200_000, clock.look, clock.sleep) == 5_000_200
    assert clock.slept == []


@compiled
@pytest.mark.parametrize("ahead", [-1_000_000, 50_000, 3_000_000])
def test_the_compiled_wait_is_over_after_the_deadline_on_the_clock_of_python(ahead: int) -> None:
    before = pacing.clock_ns()
    due = before + ahead
    woke = pacing.wait_until(due, 200_000)
    after = pacing.clock_ns()
    assert max(due, before) <= woke <= after


def in_thread(**wishes: object) -> pacing.Granted:
    """What a thread of its own is granted: this one keeps its priority."""
    got: list[pacing.Granted] = []
    thread = threading.Thread(target=lambda: got.append(pacing.claim(**wishes)))  # type: ignore[arg-type]
    thread.start()
    thread.join()
    pacing.release()
    return got[0]


def test_what_is_granted_is_said_in_words() -> None:
    granted = in_thread()
    assert granted.compiled == (not PORTABLE)
    words = str(granted)
    assert ("real-time priority" in words) == (granted.priority is not None)
    assert ("pinned to core" in words) == (granted.core is not None)
    refused = [granted.priority is None, granted.core is None, not granted.locked]
    assert len(granted.advice) == (1 if PORTABLE else sum(refused))


@compiled
def test_only_what_was_asked_for_is_claimed() -> None:
    granted = in_thread(priority=None, pin=False)
    assert granted.priority is None
    assert granted.core is None
    assert "normal priority, not pinned" in str(granted)
    last = sorted(os.sched_getaffinity(0))[-1]
    assert in_thread(priority=None, core=last).core == last


@compiled
def test_a_refusal_comes_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("resource.getrlimit", lambda _: (8 << 20, 8 << 20))
    granted = in_thread(core=4095)
    assert granted.priority is None
    assert granted.core is None
    assert not granted.locked
    words = " ".join(granted.advice)
    for remedy in ("rtprio", "memlock", "choose one of"):
        assert remedy in words


def cores_of_threads(pid: int) -> set[frozenset[int]]:
    """Cores that the threads of a process may use."""
    tasks = os.listdir(f"/proc/{pid}/task")
    return {frozenset(os.sched_getaffinity(int(task))) for task in tasks}


@compiled
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core")
def test_others_stay_off_the_core_of_a_servo_until_it_is_released() -> None:
    before = frozenset(os.sched_getaffinity(0))
    got: list[tuple[int | None, set[int]]] = []
    claimed, end = threading.Event(), threading.Event()

    def claim() -> None:
        core = pacing.claim(priority=None).core
        got.append((core, os.sched_getaffinity(0)))
        claimed.set()
        end.wait()

    child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60.0,))
    child.start()
    assert child.pid is not None
    thread = threading.Thread(target=claim)
    thread.start()
    try:
        claimed.wait()
        core, own = got[0]
        assert core is not None
        assert own == {core}
        assert cores_of_threads(os.getpid()) == {frozenset({core}), before - {core}}
        assert cores_of_threads(child.pid) == {before - {core}}
    finally:
        end.set()
        thread.join()
        pacing.release()
        after = cores_of_threads(os.getpid()) | cores_of_threads(child.pid)
        child.terminate()
        child.join()
    assert after == {before}


@compiled
def test_the_core_with_the_fewest_interrupts_of_devices_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = (
        "           CPU0       CPU1       CPU2\n"
        " 24:         70          5          5  IO-APIC   5-edge      disk\n"
        " 25:          1          0          0  PCI-MSIX  6-edge      net\n"
        "LOC:          0          0   12831784  Local timer interrupts\n"
        "ERR:          0\n"
    )
    monkeypatch.setattr("pathlib.Path.read_text", lambda _: table)
    assert pacing._interrupts() == {0: 71, 1: 5, 2: 5}
    taken: list[object] = []
    monkeypatch.setattr(pacing, "_allowed", lambda: frozenset({0, 1, 2}))
    monkeypatch.setattr(pacing, "_move", lambda *_: None)
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: taken.append(cores))
    assert in_thread(priority=None).core == 2, "of equals the last"
    assert taken == [{2}]
