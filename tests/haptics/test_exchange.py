"""A device served without a servo: newest command out, newest reading in, zero when in doubt."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from haptics.drivers import DhdDriver, HdDriver

from tangere._clock import PORTABLE
from tangere._jit import c_callback
from tangere._native import address_of
from tangere.haptics.exchange import (
    CONTINUE,
    DONE,
    TURN_BUSY,
    TURN_COUNT,
    TURN_ENDED,
    TURN_STOP,
    Exchange,
    exchange,
    new_exchange,
    turn,
    turn_words,
)
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    NREAD,
    NSEND,
    READ_POSITION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    SOURCE_DHD,
    SOURCE_HD,
)
from tangere.haptics.mailbox import post, take

pytestmark = pytest.mark.nojit

MS = 1_000_000  # [ns]
HOLD = 50 * MS
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p)


def served(driver: DhdDriver | HdDriver) -> Exchange:
    """Arrays with the driver's port."""
    made = new_exchange()
    made.port[:] = driver.port
    return made


def command(e: Exchange, force: Any) -> None:
    send = np.zeros(NSEND)
    send[:3] = force
    post(e.outbox, e.outbox_at, send, NSEND)


def newest(e: Exchange) -> Any:
    out = np.zeros(NREAD)
    assert take(e.inbox, e.inbox_at, out, NREAD)
    return out


def test_the_newest_command_goes_out_and_the_newest_reading_comes_in() -> None:
    driver = DhdDriver()
    e = served(driver)
    command(e, (9.0, 9.0, 9.0))
    command(e, (1.0, 2.0, 3.0))
    driver.position = (0.0, 0.5, 0.0)
    assert exchange(e, SOURCE_DHD, 7 * MS, HOLD) == 0
    assert driver.wrenches == [(-2.0, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0)]
    out = newest(e)
    assert (out[READ_POSITION], out[READ_SEQUENCE], out[READ_STATUS]) == (0.5, 1, 0)
    assert out[READ_TIME] == pytest.approx(7e-3)


def test_a_command_lasts_for_its_time_and_no_longer() -> None:
    driver = DhdDriver()
    e = served(driver)
    command(e, (1.0, 0.0, 0.0))
    for now in range(100, 200, 10):
        exchange(e, SOURCE_DHD, now * MS, HOLD)
    forces = [wrench[1] for wrench in driver.wrenches]
    assert forces == [1.0] * 6 + [0.0] * 4  # 0 … 50 ms
    command(e, (2.0, 0.0, 0.0))
    exchange(e, SOURCE_DHD, 300 * MS, HOLD)
    assert driver.wrenches[-1][1] == 2.0


def test_before_any_command_the_force_is_zero() -> None:
    driver = DhdDriver()
    exchange(served(driver), SOURCE_DHD, 0, HOLD)
    assert driver.wrenches == [(0.0,) * 7]


def test_a_reading_that_fails_sends_zero_and_is_told() -> None:
    driver = DhdDriver()
    e = served(driver)
    command(e, (1.0, 0.0, 0.0))
    driver.answer = -1
    assert exchange(e, SOURCE_DHD, MS, HOLD) == FAULT_READ
    assert driver.wrenches == [(0.0,) * 7]
    assert newest(e)[READ_STATUS] == FAULT_READ
    driver.answer, driver.write_answer = 0, -1
    assert exchange(e, SOURCE_DHD, 2 * MS, HOLD) == FAULT_WRITE
    assert newest(e)[READ_STATUS] == FAULT_WRITE
    driver.answer = -1
    assert exchange(e, SOURCE_DHD, 3 * MS, HOLD) == FAULT_READ | FAULT_WRITE
    driver.answer = driver.write_answer = 0
    command(e, (1.0, 0.0, 0.0))
    assert exchange(e, SOURCE_DHD, 4 * MS, HOLD) == 0
    assert driver.wrenches[-1][1] == 1.0


def test_a_port_without_addresses_is_harmless() -> None:
    for source in (SOURCE_DHD, SOURCE_HD):
        assert exchange(new_exchange(), source, 0, HOLD) == FAULT_READ | FAULT_WRITE


# ---------------------------------------------------------------- as a C function


class Turning:
    """A scheduler's side of one device."""

    def __init__(self, function: Any = None) -> None:
        self.driver = HdDriver(torque=False)
        self.arrays = served(self.driver)
        self.words = turn_words(
            self.arrays,
            SOURCE_HD,
            hold=0.05,
            period=1e-3,
            function=address_of(function) if function else 0,
            data=77,
        )
        self._call = CALLBACK(c_callback(turn))

    def __call__(self) -> int:
        return int(self._call(self.words.ctypes.data))

    @property
    def forces(self) -> list[float]:
        return [force[0] for name, force in self.driver.calls if name == "force"]


def test_a_turn_is_an_exchange() -> None:
    scheduler = Turning()
    command(scheduler.arrays, (1.5, 0.0, 0.0))
    assert scheduler() == CONTINUE
    assert [name for name, _ in scheduler.driver.calls] == ["begin", "force", "end"]
    assert scheduler.forces == [1.5]
    out = newest(scheduler.arrays)
    assert (out[READ_SEQUENCE], out[READ_STATUS]) == (1, 0)
    if PORTABLE and out[READ_TIME] < 1.0:  # no clock in kernels: turns are counted
        assert out[READ_TIME] == pytest.approx(1e-3)
    assert (scheduler.words[TURN_COUNT], scheduler.words[TURN_BUSY]) == (1, 0)


def test_the_last_turn_shows_zero_and_is_the_last() -> None:
    scheduler = Turning()
    command(scheduler.arrays, (1.5, 0.0, 0.0))
    scheduler()
    scheduler.words[TURN_STOP] = 1
    assert scheduler() == DONE
    assert scheduler.forces == [1.5, 0.0]
    assert scheduler.words[TURN_ENDED] == 1
    assert scheduler() == DONE  # a scheduler that calls once more
    assert scheduler.forces == [1.5, 0.0]


def test_a_function_of_others_is_called_with_its_data() -> None:
    seen: list[int] = []
    answers = [CONTINUE, CONTINUE, DONE]

    def function(data: int) -> int:
        seen.append(data)
        return answers.pop(0)

    kept = CALLBACK(function)
    scheduler = Turning(kept)
    assert [scheduler() for _ in range(4)] == [CONTINUE, CONTINUE, DONE, DONE]
    assert seen == [77, 77, 77]
    assert scheduler.forces == [0.0]  # when it is done, and once


def test_a_function_of_others_is_not_called_any_more_once_stopped() -> None:
    seen: list[int] = []

    def function(data: int) -> int:
        seen.append(data)
        return CONTINUE

    kept = CALLBACK(function)
    scheduler = Turning(kept)
    scheduler()
    scheduler.words[TURN_STOP] = 1
    assert scheduler() == DONE
    assert seen == [77]
    assert scheduler.forces == [0.0]
