"""OpenHaptics: models, frames, one scheduler for all devices, and the way into a servo."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import numpy as np
import pytest
from devices.waiting import next_reading, pushed_until, reading, until

from tangere._jit import c_callback, kernel
from tangere._native import address_of, i8_at
from tangere.devices import openhaptics
from tangere.devices.openhaptics import OpenHaptics
from tangere.errors import DeviceError
from tangere.fakes.vendors import MODELS, Libraries, World
from tangere.haptics import hd
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    NPORT_MEMORY,
    NREAD,
    NSEND,
    READ_POSITION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    READ_VELOCITY,
    SOURCE_HD,
)

pytestmark = pytest.mark.nojit

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p)


@kernel
def count(data: int) -> int:
    """A servo's tick: counts, and answers what stands beside."""
    w = i8_at(data, 2)
    w[0] += 1
    return w[1]  # type: ignore[no-any-return]


@pytest.fixture
def touch(world: World) -> World:
    """A Touch is connected."""
    become(world, "Touch", 3.3)
    return world


@pytest.fixture
def premium(world: World) -> World:
    """A device with torque is connected."""
    become(world, "Premium 1.5 6DOF", 8.5)
    return world


def become(world: World, model: str, force: float) -> None:
    for name, value in {**MODELS[model], "model": model.encode(), "max_force": force}.items():
        world[name] = value


# ---------------------------------------------------------------- what it is


def test_limits_are_what_the_device_says(touch: World) -> None:
    with OpenHaptics("Left") as device:
        info = device.info
        assert info.name == "Touch"
        assert (info.max_force, info.max_torque, info.actuated) == (3.3, 0.0, 3)
        assert info.radius == pytest.approx(0.07)  # half of the flattest side
        assert (info.rate, info.mass, info.delay) == (1000.0, 0.045, 2e-3)
        assert not info.drops_force  # nobody knows
        assert next_reading(device)[READ_STATUS] == 0
    assert touch.calls() == [
        "open",
        "enable",
        "start scheduler",
        "schedule",
        "stop scheduler",
        "close",
    ]
    assert touch.log("enable")["wrench"][0, 0] == 0x4000
    assert not touch.last().any()
    assert openhaptics.connected() == ""


def test_a_moving_hand_has_the_drivers_velocity(touch: World) -> None:
    touch["counted"], touch["sample_ns"] = 1, 1_000_000
    touch["amplitude"], touch["frequency"] = (0.0, 0.01, 0.02), 2.0
    with OpenHaptics() as device:
        seen = [next_reading(device) for _ in range(20)]
    for out in seen:
        y, z = out[READ_POSITION + 1 : READ_POSITION + 3]
        vy, vz = out[READ_VELOCITY + 1 : READ_VELOCITY + 3]
        # sin² + cos² = 1 for a sine's position and velocity at one time
        assert (y / 0.01) ** 2 + (vy / (0.04 * np.pi)) ** 2 == pytest.approx(1.0, abs=1e-9)
        assert (2 * y, 2 * vy) == pytest.approx((z, vz), abs=1e-12)


# ---------------------------------------------------------------- one scheduler


def test_two_devices_share_the_scheduler(premium: World, vendor_libraries: Libraries) -> None:
    premium["devices"], premium["apart"] = 2, (0.05, 0.0, 0.0)
    with OpenHaptics("Left") as left:
        with OpenHaptics("Right") as right:
            assert next_reading(left)[READ_POSITION] == 0.0
            assert next_reading(right)[READ_POSITION] == pytest.approx(0.05, abs=1e-15)
            assert pushed_until(right, lambda: premium.last(1)[0] == 1.0)
            assert not premium.commands(0).any()
            assert vendor_libraries.scheduled() == 2
        assert "stop scheduler" not in premium.calls()
        assert not premium.last(1).any()
        assert vendor_libraries.scheduled() == 1
        assert next_reading(left)[READ_STATUS] == 0
    assert premium.calls().count("start scheduler") == premium.calls().count("stop scheduler") == 1
    assert vendor_libraries.scheduled() == 0


def test_a_scheduler_that_does_not_start_is_said(touch: World, vendor_libraries: Libraries) -> None:
    library = ctypes.CDLL(str(vendor_libraries.hd))
    library.hdInitDevice(b"")
    library.hdDisableDevice(0)
    library.hdStartScheduler()  # somebody else's
    with pytest.raises(DeviceError, match="scheduler did not start"):
        OpenHaptics().open()
    assert touch.calls()[-1] == "close"
    library.hdStopScheduler()


def test_a_scheduler_that_dies_is_told_and_zero_is_shown_from_here(touch: World) -> None:
    device = OpenHaptics()
    device.open()
    assert pushed_until(device, lambda: touch.last()[0] == 1.0)
    touch["halted"] = 1
    assert until(lambda: reading(device)[READ_STATUS] == FAULT_READ)
    assert "has not answered" in device.fault
    device.close()
    assert not touch.last().any()
    assert touch.calls()[-3:] == ["unschedule", "stop scheduler", "close"]


def test_a_scheduler_that_lives_again_ends_the_fault(touch: World) -> None:
    with OpenHaptics() as device:
        next_reading(device)
        touch["halted"] = 1
        assert until(lambda: reading(device)[READ_STATUS] == FAULT_READ)
        touch["halted"] = 0
        assert until(lambda: reading(device)[READ_STATUS] == 0)
        assert device.fault == ""


# ---------------------------------------------------------------- errors


def test_a_force_that_is_refused_is_said_until_it_is_taken(premium: World) -> None:
    with OpenHaptics() as device:
        premium["write_fails"] = 1
        assert until(lambda: reading(device)[READ_STATUS] == FAULT_WRITE)
        assert device.fault == "Premium 1.5 6DOF: communication failed"
        premium["write_fails"] = 0
        assert until(lambda: reading(device)[READ_STATUS] == 0)
        assert device.fault == ""


def test_an_error_is_that_of_one_frame(premium: World, vendor_libraries: Libraries) -> None:
    premium["by_hand"] = 1
    device = OpenHaptics()
    device.open()
    try:
        vendor_libraries.turn()
        premium["error"] = 0x0203
        device.write(np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
        vendor_libraries.turn()
        assert reading(device)[READ_STATUS] == FAULT_WRITE
        assert "faster than the device allows" in device.fault
        vendor_libraries.turn()
        assert reading(device)[READ_STATUS] == 0
    finally:
        premium["by_hand"] = 0
        device.close()
    assert device.fault == ""


# ---------------------------------------------------------------- in a servo


def test_the_schedulers_path_is_that_of_the_kernels(
    premium: World, vendor_libraries: Libraries
) -> None:
    """The same readings and forces, bit for bit, by turns of the scheduler and by plain calls."""
    premium["by_hand"], premium["counted"] = 1, 1
    premium["amplitude"], premium["frequency"] = (0.01, 0.02, 0.03), 2.0
    premium["spin"], premium["spin_axis"] = 3.0, (0.6, 0.0, 0.8)
    wrenches = 0.02 * np.random.default_rng(1).normal(size=(200, 6))
    device = OpenHaptics()
    device.open()
    try:
        readings, start = [], len(premium.commands())
        for wrench in wrenches:
            device.write(wrench)
            vendor_libraries.turn()
            readings.append(reading(device))
        forces = premium.commands()[start:]

        premium["by_hand"] = 0
        port = device.native_port()
        premium["by_hand"] = 1
        assert port is not None
        assert port.source == SOURCE_HD
        premium["samples"] = 0
        memory, out, send = np.zeros(NPORT_MEMORY), np.zeros(NREAD), np.zeros(NSEND)
        start = len(premium.commands())
        for wrench, expected in zip(wrenches, readings, strict=True):
            hd.read(port.words, memory, round(1e9 * expected[READ_TIME]), out)
            send[:6] = wrench
            assert hd.write(port.words, send) == 0
            # the angular velocity depends on the clock of the turns
            assert out[: READ_VELOCITY + 3].tolist() == expected[: READ_VELOCITY + 3].tolist()
            assert out[READ_SEQUENCE] == expected[READ_SEQUENCE]
        assert premium.commands()[start:].tolist() == forces.tolist()
        assert forces[:, 3:6].any()
    finally:
        premium["by_hand"] = 0
        device.close()


def test_the_scheduler_calls_a_servo(touch: World, vendor_libraries: Libraries) -> None:
    data = np.array([0, 1], dtype=np.int64)
    with OpenHaptics() as device:
        port = device.native_port()
        assert port is not None
        assert port.schedule is not None
        assert port.unschedule is not None
        port.schedule(c_callback(count), data.ctypes.data)
        assert until(lambda: data[0] > 10)
        port.unschedule()
        seen, shown = data[0], len(touch.commands())
        time.sleep(0.02)
        assert data[0] == seen
        assert len(touch.commands()) == shown
        assert not touch.last().any()
        assert vendor_libraries.scheduled() == 0
        port.unschedule()  # twice does not matter
    assert not touch.last().any()


def test_a_servo_that_is_done_leaves_zero_force(touch: World, vendor_libraries: Libraries) -> None:
    touch["by_hand"] = 1
    device = OpenHaptics()
    device.open()
    port: Any = None
    data = np.array([0, 1], dtype=np.int64)
    try:
        touch["by_hand"] = 0
        port = device.native_port()
        touch["by_hand"] = 1
        port.schedule(c_callback(count), data.ctypes.data)
        send = np.zeros(NSEND)
        send[0] = 2.0
        hd.write(port.words, send)  # what the servo has shown last
        assert touch.last()[0] == 2.0
        data[1] = 0
        vendor_libraries.turn(3)
        assert data[0] == 1
        assert not touch.last().any()
    finally:
        touch["by_hand"] = 0
        device.close()


def test_unscheduling_waits_for_the_turn_that_is_under_way(touch: World) -> None:
    """What the function uses may be freed afterwards."""
    entered, leave, left = threading.Event(), threading.Event(), threading.Event()

    def slow(_: Any) -> int:
        entered.set()
        leave.wait(5.0)
        left.set()
        return 1

    function = CALLBACK(slow)
    with OpenHaptics() as device:
        port: Any = device.native_port()
        port.schedule(address_of(function), 0)
        assert entered.wait(5.0)
        threading.Timer(0.05, leave.set).start()
        port.unschedule()
        assert left.is_set()
        assert not touch.last().any()


def test_the_devices_own_limits_hold_for_read_and_write(touch: World) -> None:
    with OpenHaptics() as device:
        wrench = (30.0, 0.0, 40.0, 0.0, 0.0, 0.0)
        assert pushed_until(device, lambda: touch.last()[0] > 0.0, wrench)
        assert touch.last()[:3] == pytest.approx([0.6 * 3.3, 0.0, 0.8 * 3.3])
