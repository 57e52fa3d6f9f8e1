"""A driver's calls within the tick, and a scheduler that calls the tick."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from haptics.drivers import DhdDriver

from tangere._jit import JIT_DISABLED
from tangere.fakes.rigs import DT, PLAIN, free_rig, packet, run, send_packet
from tangere.haptics.layout import (
    FAULT_OFF,
    FAULT_READ,
    FAULT_SLOW,
    FAULT_WRITE,
    FORCE_LOST,
    FORCE_WAITING,
    MEM_REOPENED,
    MEM_STARTED,
    MEM_STATE,
    NROW,
    ROW_FAULT,
    ROW_GRIPPER,
    ROW_MISSED,
    ROW_SENT,
    ROW_STATE,
    ROW_TIME,
    ROW_WRITE_TIME,
    SET_GRIPPER_FORCE,
    SET_SLOW,
    SOURCE_DHD,
    Rig,
)
from tangere.haptics.mailbox import drain
from tangere.haptics.servo import (
    CTL_ENDED,
    CTL_PARENT,
    CTL_PERIOD,
    CTL_STOP,
    CTL_TICKS,
    Loop,
    leave,
    new_loop,
)
from tangere.haptics.vendor_servo import VendorServo, vendor_tick, words_of

pytestmark = pytest.mark.nojit

NEVER_LATE = 1 << 50  # [ns]


def driven(driver: DhdDriver, *, timed: bool = False) -> Rig:
    """A hand whose readings and commands are calls."""
    rig = free_rig(safety=PLAIN)
    rig.port[:] = driver.port
    rig.source[:] = SOURCE_DHD, int(timed)
    return rig


def touch(rig: Rig, first: int, count: int) -> Any:
    """Rows of some ticks in touch with the plane z = 0."""
    rows = np.zeros((count, NROW))
    for n in range(first, first + count):
        send_packet(rig, packet(n + 1, n * DT))
        rows[n - first] = run(rig, n, 1)[0]
    return rows


def pressing() -> DhdDriver:
    driver = DhdDriver()
    driver.status[5] = 1  # the motors are on
    driver.position = (0.0, 0.0, -0.005)
    driver.gap = 0.03
    return driver


def test_what_is_computed_in_a_tick_is_sent_in_it() -> None:
    driver = pressing()
    rig = driven(driver)
    rows = touch(rig, 0, 30)
    assert len(driver.wrenches) == 30
    # the vendor's axes: x to the user, y right, z up
    sent = np.array(driver.wrenches)
    assert sent[:, 2] == pytest.approx(rows[:, ROW_SENT + 2])
    assert sent[-1, 2] > 0.5
    assert rows[-1, ROW_GRIPPER] == 0.03
    assert rows[-1, ROW_WRITE_TIME] == 0.0  # nothing is timed on the virtual clock


def test_a_read_that_fails_is_zero_in_that_tick_and_over_in_the_next() -> None:
    driver = pressing()
    rig = driven(driver)
    touch(rig, 0, 30)
    driver.answer = -1
    bad = touch(rig, 30, 1)[0]
    driver.answer = 0
    good = touch(rig, 31, 30)
    assert int(bad[ROW_FAULT]) & FAULT_READ
    assert (bad[ROW_SENT : ROW_SENT + 6] == 0.0).all()
    assert not int(good[0, ROW_FAULT]) & FAULT_READ
    assert good[-1, ROW_SENT + 2] > 0.5


def test_a_write_that_fails_is_a_fault_until_one_is_taken() -> None:
    driver = pressing()
    rig = driven(driver)
    touch(rig, 0, 30)
    driver.write_answer = -1
    rows = touch(rig, 30, 3)
    driver.write_answer = 0
    after = touch(rig, 33, 2)
    bits = [bool(int(row[ROW_FAULT]) & FAULT_WRITE) for row in (*rows, *after)]
    assert bits == [False, True, True, True, False]


def test_motors_that_are_off_are_waited_for() -> None:
    driver = pressing()
    driver.status[5] = 0
    rig = driven(driver)
    rows = touch(rig, 0, 120)  # the status is looked at every 50 ms
    assert int(rows[-1, ROW_FAULT]) & FAULT_OFF
    assert rows[-1, ROW_STATE] == FORCE_WAITING
    driver.status[5] = 1
    rows = touch(rig, 120, 120)
    assert not int(rows[-1, ROW_FAULT]) & FAULT_OFF
    assert rows[-1, ROW_SENT + 2] > 0.5


def test_a_driver_that_takes_too_long_gets_zero_in_that_tick() -> None:
    driver = pressing()
    rig = driven(driver, timed=True)
    touch(rig, 0, 30)
    rig.settings[SET_SLOW] = 0.0  # every call takes longer
    row = touch(rig, 30, 1)[0]
    assert int(row[ROW_FAULT]) & FAULT_SLOW
    assert (row[ROW_SENT : ROW_SENT + 6] == 0.0).all()
    assert row[ROW_WRITE_TIME] > 0.0


def test_a_device_that_was_opened_again_is_placed_anew() -> None:
    driver = pressing()
    rig = driven(driver)
    touch(rig, 0, 30)
    rig.memory[MEM_STATE] = FORCE_LOST
    assert (touch(rig, 30, 5)[:, ROW_SENT + 2] == 0.0).all()
    rig.memory[MEM_REOPENED] = 1.0
    rows = touch(rig, 35, 30)
    assert rig.memory[MEM_STARTED] == 1.0
    assert rows[-1, ROW_SENT + 2] > 0.5


def test_the_last_command_of_a_loop_is_zero() -> None:
    driver = pressing()
    rig = driven(driver)
    rig.settings[SET_GRIPPER_FORCE] = 1.0
    touch(rig, 0, 30)
    loop = new_loop(1, 1.0 / DT)
    for _ in range(2):  # once
        leave(rig, rig, loop)
    assert len(driver.wrenches) == 31
    assert np.abs(driver.wrenches[-1]).max() == 0.0


# ---------------------------------------------------------------- called by a vendor


class ByHand:
    """A scheduler that is turned by hand."""

    def __init__(self) -> None:
        self.data = 0
        self.ended = False

    def schedule(self, function: int, data: int) -> None:
        assert function != 0
        self.data = data

    def unschedule(self) -> None:
        self.ended = True


def of_vendor(driver: DhdDriver, ticks: int = 0) -> tuple[Rig, Loop, VendorServo, ByHand]:
    rig, loop, scheduler = driven(driver), new_loop(1, 1.0 / DT), ByHand()
    loop.control[CTL_PERIOD] = NEVER_LATE
    servo = VendorServo(rig, scheduler, rate=1.0 / DT, loop=loop, ticks=ticks)
    servo.start()
    return rig, loop, servo, scheduler


def test_each_call_is_a_tick_and_the_last_one_is_zero() -> None:
    driver = pressing()
    rig, loop, servo, scheduler = of_vendor(driver, ticks=20)
    for n in range(20):
        send_packet(rig, packet(n + 1, n * DT))
        assert vendor_tick(scheduler.data) == 1
    assert servo.running
    assert vendor_tick(scheduler.data) == 0  # enough
    assert vendor_tick(scheduler.data) == 0
    assert not servo.running
    rows = np.zeros((30, NROW))
    assert drain(loop.ring, loop.ring_at, rows) == 20
    assert rows[:20, ROW_TIME] == pytest.approx(DT * np.arange(20))
    assert (rows[:20, ROW_MISSED] == 0.0).all()
    assert len(driver.wrenches) == 21
    assert np.abs(driver.wrenches[-1]).max() == 0.0
    servo.stop()
    assert scheduler.ended


def test_a_servo_that_is_told_to_stop_or_has_lost_its_program_sends_zero() -> None:
    for word, value in ((CTL_STOP, 1), (CTL_PARENT, 1)):
        driver = pressing()
        _, loop, servo, scheduler = of_vendor(driver)
        assert vendor_tick(scheduler.data) == 1
        loop.control[word] = value
        assert vendor_tick(scheduler.data) == 0
        assert loop.control[CTL_ENDED] == 1
        assert np.abs(driver.wrenches[-1]).max() == 0.0
        servo.stop()


@pytest.mark.skipif(JIT_DISABLED, reason="plain Python's clock runs while it computes")
def test_calls_that_were_left_out_are_counted_by_their_times() -> None:
    driver = pressing()
    _, loop, servo, scheduler = of_vendor(driver)
    loop.control[CTL_PERIOD] = 1000  # of a microsecond: calls from here come far too late
    for _ in range(3):
        vendor_tick(scheduler.data)
    rows = np.zeros((3, NROW))
    drain(loop.ring, loop.ring_at, rows)
    assert loop.control[CTL_TICKS] == 3
    assert rows[0, ROW_MISSED] == 0.0
    assert rows[2, ROW_MISSED] > 0.0
    # the time of a tick is its number's
    assert rows[2, ROW_TIME] == pytest.approx(DT * (2 + rows[:, ROW_MISSED].sum()))
    servo.stop()


def test_the_words_lead_to_every_array() -> None:
    rig, loop = free_rig(), new_loop(1, 1.0 / DT)
    words = words_of(rig, loop)
    arrays = [*rig, *loop]
    assert words[0] == len(loop.ring)
    assert words[1::2].tolist() == [array.ctypes.data for array in arrays]
    assert words[2::2].tolist() == [array.size for array in arrays]
