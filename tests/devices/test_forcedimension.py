"""Force Dimension devices: models, limits, faults that end, and the way into a servo."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from devices.waiting import next_reading, pushed_until, reading, until

from tangere.devices import forcedimension
from tangere.devices.forcedimension import ForceDimension
from tangere.devices.native import load_library
from tangere.errors import DeviceError
from tangere.fakes.vendors import MODELS, Libraries, World
from tangere.haptics import dhd
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    NPORT_MEMORY,
    NREAD,
    NSEND,
    READ_GRIPPER,
    READ_POSITION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    READ_VELOCITY,
    SEND_GRIPPER,
    SOURCE_DHD,
)

pytestmark = pytest.mark.nojit

Make = Callable[..., ForceDimension]


@pytest.fixture(params=["compiled", "python"])
def make(request: pytest.FixtureRequest, world: World) -> Make:
    """Either way to make the calls."""
    if request.param == "python":
        pytest.importorskip("forcedimension_core", reason="not made for this Python")
    return lambda *given, **options: ForceDimension(*given, calls=request.param, **options)


def become(world: World, model: str) -> None:
    """Another device is connected."""
    for name in ("wrist", "active_wrist", "gripper", "active_gripper"):
        world[name] = 0
    for name, value in {**MODELS[model], "model": model.encode()}.items():
        world[name] = value


# ---------------------------------------------------------------- what it is


def test_limits_are_what_the_device_says(world: World, make: Make) -> None:
    world["max_force"], world["max_torque"], world["max_gripper_force"] = 15.0, 0.3, 6.0
    with make() as device:
        info = device.info
        assert info.name == "sigma.7"
        assert (info.max_force, info.max_torque, info.max_gripper_force) == (15.0, 0.3, 6.0)
        assert (info.sensed, info.actuated) == (7, 7)
        assert (info.delay, info.mass) == (2e-3, 0.4)
        assert info.drops_force
        assert until(lambda: reading(device)[READ_GRIPPER] == 0.02)
    # a firmware that lets go by itself is what a dead process leaves
    assert world["watchdog"] == 255
    assert world.calls() == ["open", "watchdog", "enable", "stop", "close"]
    assert forcedimension.connected() == "1 connected"


@pytest.mark.parametrize(
    ("model", "sensed", "actuated", "torque"),
    [
        ("delta.3", 3, 3, 0.0),
        ("omega.3", 3, 3, 0.0),
        ("omega.6", 6, 3, 0.0),
        ("omega.7", 7, 4, 0.0),
        ("sigma.7", 7, 7, 0.2),
        ("lambda.7", 7, 7, 0.2),
        ("Falcon", 3, 3, 0.0),
    ],
)
def test_a_model_has_its_degrees_of_freedom(
    world: World, model: str, sensed: int, actuated: int, torque: float
) -> None:
    """Without limits of its own it has those of the table; torque only with motors in the wrist."""
    become(world, model)
    with ForceDimension() as device:
        assert device.info.name == model
        assert (device.info.sensed, device.info.actuated) == (sensed, actuated)
        assert device.info.max_torque == torque
        wrench = (1.0, 0.0, 0.0, 0.0, 0.0, 0.1)
        assert pushed_until(device, lambda: world.last()[0] == 1.0, wrench)
        assert world.last().tolist() == [1.0, 0, 0, 0, 0, 0.1 if torque else 0.0, 0]
        assert next_reading(device)[READ_STATUS] == 0


def test_an_unknown_device_gets_careful_limits(world: World, make: Make) -> None:
    become(world, "something new")
    with make(0) as device:
        assert device.info.name == "something new"
        assert device.info.max_force == 5.0


def test_it_moves_by_itself_only_when_asked(world: World, make: Make) -> None:
    world["initialized"] = 0
    with make():
        pass
    assert "calibrate" not in world.calls()
    with make(calibrate=True):
        pass
    assert "calibrate" in world.calls()


def test_two_devices_are_told_apart(world: World, make: Make) -> None:
    world["devices"], world["apart"] = 2, (0.05, 0.0, 0.0)
    with make(0) as left, make(1) as right:
        assert next_reading(left)[READ_POSITION] == 0.0
        assert next_reading(right)[READ_POSITION] == pytest.approx(0.05, abs=1e-15)
        assert pushed_until(right, lambda: world.last(1)[0] == 1.0)
        assert not world.commands(0).any()
    with pytest.raises(DeviceError, match="no device"):
        make(2).open()


def test_calls_are_compiled_or_python() -> None:
    with pytest.raises(DeviceError, match="'rust'"):
        ForceDimension(calls="rust")


# ---------------------------------------------------------------- faults that end


def test_a_force_that_is_refused_is_said_until_it_is_taken(world: World, make: Make) -> None:
    with make() as device:
        world["write_fails"] = 1
        assert until(lambda: reading(device)[READ_STATUS] == FAULT_WRITE)
        assert device.fault == "sigma.7: the force failed: communication error"
        world["write_fails"] = 0
        assert until(lambda: reading(device)[READ_STATUS] == 0)
        assert device.fault == ""


def test_a_glitch_shows_zero_force_and_passes(world: World, make: Make) -> None:
    with make() as device:
        assert pushed_until(device, lambda: world.last()[0] == 1.0)
        world.fail(0.05)
        assert pushed_until(device, lambda: int(reading(device)[READ_STATUS]) & FAULT_READ)
        assert "the pose failed" in device.fault
        assert pushed_until(device, lambda: reading(device)[READ_STATUS] == 0)
        assert pushed_until(device, lambda: world.last()[0] == 1.0)
        assert device.fault == ""
    refused = world.log("refused")["wrench"]
    assert len(refused) > 0
    assert not refused.any()


def test_the_same_sample_again_is_not_a_new_one(world: World, make: Make) -> None:
    with make() as device:
        next_reading(device)
        world["log_reads"] = 1
        world.guard(1e6)
        asked = len(world.log("read"))
        assert until(lambda: len(world.log("read")) > asked + 2)  # one was under way
        before = reading(device)
        assert until(lambda: len(world.log("read")) > asked + 20)
        after = reading(device)
        assert after[READ_SEQUENCE] == before[READ_SEQUENCE]
        assert after[READ_STATUS] == 0
        world.guard(0.0)
        next_reading(device)


def test_motors_at_their_limit_are_no_fault(world: World, make: Make) -> None:
    world["saturated"] = 1
    with make() as device:
        assert pushed_until(device, lambda: world.last()[0] == 1.0)
        assert next_reading(device)[READ_STATUS] == 0


def test_why_the_motors_are_off_is_said(world: World) -> None:
    with ForceDimension() as device:
        assert device.force_off == ""
        world["force_off"] = 6
        assert until(lambda: device.force_off == "the dead-man switch was let go")
        assert next_reading(device)[READ_STATUS] == 0
        world["force_off"] = 0
        assert until(lambda: device.force_off == "")


# ---------------------------------------------------------------- zero force at the end


def test_a_device_that_fails_while_it_is_opened_is_closed(world: World, make: Make) -> None:
    world["dead"] = 1
    with pytest.raises(DeviceError, match="enabling force failed: communication error"):
        make().open()
    assert world.calls()[-2:] == ["stop", "close"]
    assert not world.commands(refused=True)[-1].any()


def test_closing_a_device_that_died_does_not_raise(world: World, make: Make) -> None:
    device = make()
    device.open()
    world["dead"] = 1
    device.close()
    assert world.calls()[-2:] == ["stop", "close"]


def test_two_threads_may_close_it(world: World, make: Make) -> None:
    device = make()
    device.open()
    assert pushed_until(device, lambda: world.last()[0] == 1.0)
    threads = [threading.Thread(target=device.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world.calls().count("close") == 1
    assert not world.last().any()
    assert not world.motors().any()


# ---------------------------------------------------------------- in a servo


def test_a_servo_takes_the_device_over(world: World) -> None:
    world["position"] = 0.01, 0.02, 0.03
    with ForceDimension() as device:
        port = device.native_port()
        assert port is not None
        assert (port.source, port.schedule, port.unschedule) == (SOURCE_DHD, None, None)
        count = world["count"]
        time.sleep(0.02)
        assert world["count"] == count  # nobody else calls the library
        memory, out, send = np.zeros(NPORT_MEMORY), np.zeros(NREAD), np.zeros(NSEND)
        dhd.read(port.words, memory, 1_000_000, out)
        assert out[READ_POSITION : READ_POSITION + 3].tolist() == [0.01, 0.02, 0.03]
        assert (out[READ_STATUS], out[READ_SEQUENCE], out[READ_TIME]) == (0, 1, 1e-3)
        send[:3], send[SEND_GRIPPER] = (1.0, 2.0, 3.0), 4.0
        assert dhd.write(port.words, send) == 0
        assert world.last().tolist() == [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 4.0]
        device.write(np.array([9.0, 0.0, 0.0, 0.0, 0.0, 0.0]))  # of no effect
        assert reading(device)[READ_STATUS] == 0
    assert world.commands().max() == 4.0
    assert not world.last().any()
    assert world.calls()[-2:] == ["stop", "close"]


def test_a_servo_reads_on_the_virtual_clock_what_the_world_says(world: World) -> None:
    """One sample a read, and the sine's own velocity but for the filter's 2 ms."""
    world["counted"], world["sample_ns"] = 1, 1_000_000
    world["amplitude"], world["frequency"] = (0.0, 0.0, 0.01), 2.0
    with ForceDimension() as device:
        port = device.native_port()
        assert port is not None
        memory, out = np.zeros(NPORT_MEMORY), np.zeros(NREAD)
        world["epoch"] = 0
        world["samples"] = 0
        world.fail(0.003, after=0.1)
        for n in range(1, 301):
            dhd.read(port.words, memory, 1_000_000 * n, out)
            failed = 100 < n <= 103
            assert out[READ_STATUS] == (FAULT_READ if failed else 0)
            if not failed:
                assert out[READ_POSITION + 2] == pytest.approx(
                    0.01 * np.sin(4 * np.pi * 1e-3 * n), abs=1e-15
                )
            if n > 150:
                speed = 0.04 * np.pi * np.cos(4 * np.pi * (1e-3 * n - 2.5e-3))
                # delay of 2 ms by the filter and ½ ms by the difference; the rest is (ω τ)²
                assert out[READ_VELOCITY + 2] == pytest.approx(speed, abs=1e-3 * 0.04 * np.pi)


def test_bindings_in_python_have_no_way_into_a_servo(world: World) -> None:
    pytest.importorskip("forcedimension_core", reason="not made for this Python")
    with ForceDimension(calls="python") as device:
        assert device.native_port() is None
        next_reading(device)


# ---------------------------------------------------------------- finding the library


def test_the_newest_library_is_found(vendor_libraries: Libraries, tmp_path: Path) -> None:
    for name in ("libdrd.so.3.9.9", "libdrd.so.3.16.0"):
        (tmp_path / name).write_bytes(vendor_libraries.dhd.read_bytes())
    (tmp_path / "libdrd.so.3.9.9").write_text("no library")
    with pytest.raises(DeviceError, match=r"3\.9\.9 cannot be loaded") as told:
        load_library("A vendor", [tmp_path / "absent", tmp_path], ("libdrd.so*",), "install it")
    assert len(str(told.value).splitlines()) == 1
    (tmp_path / "libdrd.so.3.9.9").unlink()
    found = load_library("A vendor", [tmp_path], ("libabsent.so*", "libdrd.so*"), "install it")
    assert found._name.endswith("3.16.0")


def test_the_systems_own_library_comes_last() -> None:
    assert load_library("libm", [], ("libabsent.so*", "libm.so.6"), "").cos is not None
    with pytest.raises(DeviceError, match=r"A vendor: no library liba\.so or libb\.so: install it"):
        load_library("A vendor", [], ("liba.so*", "libb.so*"), "install it")


def test_a_library_that_lacks_a_call_is_refused(
    monkeypatch: pytest.MonkeyPatch, vendor_libraries: Libraries
) -> None:
    monkeypatch.setattr(forcedimension, "FILES", {sys.platform: ("libHD.so*",)})
    monkeypatch.setenv("FDSDK", str(vendor_libraries.folder))
    with pytest.raises(DeviceError, match=r"has no dhd\w+: install the Force Dimension SDK"):
        ForceDimension().open()


def test_an_old_library_has_no_limits_to_tell(
    world: World, vendor_libraries: Libraries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before SDK 3.8 or so: the table's limits, and no watchdog is no promise."""
    library = ctypes.CDLL(str(vendor_libraries.dhd))

    class Old:
        def __getattr__(self, name: str) -> object:
            if "Max" in name or "Watchdog" in name or name.startswith("drd"):
                raise AttributeError(name)
            return getattr(library, name)

    monkeypatch.setattr(forcedimension, "load_library", lambda *_: Old())
    with ForceDimension() as device:
        assert device.info.max_force == 12.0
        assert not device.info.drops_force
    with pytest.raises(DeviceError, match="no device could be opened"):
        ForceDimension(calibrate=True).open()
