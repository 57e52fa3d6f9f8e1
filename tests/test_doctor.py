"""The doctor: what it measures, and what it advises."""

from __future__ import annotations

from pathlib import Path

import pytest

from tangere import doctor


class Clock:
    """A clock that moves by a fixed tick at every look, and oversleeps when told to."""

    def __init__(self, tick: float, oversleep: float = 0.0) -> None:
        self.now = 0.0
        self.tick = tick
        self.oversleep = oversleep

    def look(self) -> float:
        """The time, one tick later."""
        self.now += self.tick
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds + self.oversleep


def test_a_good_clock_is_late_by_less_than_one_look() -> None:
    clock = Clock(1e-6)
    j = doctor.measure_jitter(0.5, 1000.0, clock.look, clock.sleep)
    assert j.ticks == 500
    assert 0.0 <= j.p50 <= j.p99 <= j.p999 <= j.worst <= 1.1e-6
    assert j.late == 0
    assert sum(j.histogram) == 500
    assert sum(j.histogram[:2]) == 500


def test_a_sleep_that_takes_too_long_is_counted() -> None:
    clock = Clock(1e-6, oversleep=0.9e-3)
    j = doctor.measure_jitter(0.5, 1000.0, clock.look, clock.sleep)
    assert j.worst > doctor.LATE
    assert j.late > 100
    assert sum(j.histogram[9:]) == j.late


def advice(**changes: object) -> tuple[str, ...]:
    """Advice for a sound machine with some changes."""
    clock = Clock(1e-6)
    sound: dict[str, object] = {
        "jitter": doctor.measure_jitter(0.05, 1000.0, clock.look, clock.sleep),
        "required": (doctor.Part("numpy", "2.0"),),
        "browser": "/usr/bin/chromium",
        "compiled": 10,
        "cores": 4,
        "load": 0.5,
        "cache": Path(),
    }
    return doctor._advice(**{**sound, **changes})  # type: ignore[arg-type]


def test_a_sound_machine_is_told_so() -> None:
    lines = advice()
    assert [line for line in lines if "Windows" not in line] == ["this machine can hold 1000 Hz"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"required": (doctor.Part("viser", None),)}, "pip install viser"),
        ({"browser": None}, "no browser"),
        ({"compiled": 0}, "tangere.warmup"),
        ({"cores": 1, "load": 3.0}, "the load is 3.0 on 1 cores"),
        ({"cores": 1}, "one core only"),
    ],
)
def test_each_fault_has_its_remedy(changes: dict[str, object], words: str) -> None:
    assert any(words in line for line in advice(**changes))


def test_late_ticks_are_a_fault() -> None:
    clock = Clock(1e-6, oversleep=0.9e-3)
    jitter = doctor.measure_jitter(0.5, 1000.0, clock.look, clock.sleep)
    assert any("ms late" in line for line in advice(jitter=jitter))


def test_this_machine_is_described() -> None:
    found = doctor.examine(0.05)
    assert found.cores >= 1
    assert found.jitter.ticks == 50
    assert {part.name for part in found.required if part.version} == set(doctor.REQUIRED)
    assert found.processor
    assert found.cache_size >= 0
    assert found.advice
