"""The doctor: what it measures, and what it advises."""

from __future__ import annotations

from pathlib import Path

import pytest

from tangere import doctor
from tangere.fakes import vendors
from tangere.haptics.pacing import Granted
from tangere.haptics.servo import Counters, Spread


def jitter(late: int = 0, *, advice: tuple[str, ...] = (), duration: float = 5e-6) -> doctor.Jitter:
    """A loop of a thousand ticks of which some were late."""
    spread = Spread(1e-7, 1e-6, 1e-5, 1e-3)
    times = Spread(duration, duration, duration, duration)
    counters = Counters(1000, 0, late, 0, spread, times, (1000 - late, late))
    return doctor.Jitter(counters, Granted(True, 40, 1, True, advice), (1000 - late, late))


def advice(**changes: object) -> tuple[str, ...]:
    """Advice for a sound machine with some changes."""
    sound: dict[str, object] = {
        "empty": jitter(),
        "full": jitter(),
        "required": (doctor.Part("numpy", "2.0"),),
        "browser": "/usr/bin/chromium",
        "compiled": 10,
        "cores": 4,
        "load": 0.5,
        "cache": Path(),
    }
    return doctor._advice(**{**sound, **changes})  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def a_machine_at_full_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_governor", lambda: "performance")


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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"empty": jitter(30), "full": jitter(40)}, "the system takes the core away"),
        ({"empty": jitter(1), "full": jitter(40)}, "the work of the tick"),
        ({"full": jitter(40)}, "4 % of the ticks began more than 100 µs late, 0 % in a loop"),
        ({"full": jitter(duration=2e-4)}, "a tick takes 200 µs"),
        ({"full": jitter(advice=("no priority: ask for it",))}, "no priority: ask for it"),
    ],
)
def test_a_servo_in_trouble_gets_advice(changes: dict[str, object], words: str) -> None:
    assert any(words in line for line in advice(**changes))


def test_a_processor_that_saves_power_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_governor", lambda: "powersave")
    assert any("governor is 'powersave'" in line for line in advice())


@pytest.mark.parametrize("reason", ["", "no compiler"])
def test_both_loops_run_and_a_device_is_asked_where_there_is_one(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not reason and vendors.why_not():
        pytest.skip(vendors.why_not())
    if reason:
        monkeypatch.setattr(vendors, "why_not", lambda: reason)
    empty, full, answers = doctor.measure(0.3)
    assert empty.counters.ticks == sum(empty.histogram) == 300
    assert full.counters.ticks == sum(full.histogram) >= 300
    assert full.duration > empty.duration
    assert (answers is None) == bool(reason)
    if answers is not None:
        assert len(answers.waits) > 0
        assert answers.rate > 0.0


def test_this_machine_is_described() -> None:
    found = doctor.examine(0.05)
    assert found.cores >= 1
    assert found.full.counters.ticks >= 50
    assert {part.name for part in found.required if part.version} == set(doctor.REQUIRED)
    assert found.processor
    assert found.cache_size >= 0
    assert found.advice
