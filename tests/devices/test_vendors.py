"""What is peculiar to one vendor: versions, events, models, what a driver says of itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from devices.fakes import FakeDhd, FakeHd, FakeMouse, FakeService

from tangere.devices import forcedimension, haply, openhaptics, spacemouse
from tangere.devices.device import Device
from tangere.devices.forcedimension import ForceDimension
from tangere.devices.haply import Haply
from tangere.devices.openhaptics import OpenHaptics
from tangere.devices.spacemouse import DEAD, SpaceMouse
from tangere.errors import DeviceError
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    NREAD,
    READ_BUTTONS,
    READ_GRIPPER,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_VELOCITY,
)
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

PUSH = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def until(true: Callable[[], Any], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(1e-3)
    return True


def pushed_until(device: Device, true: Callable[[], Any]) -> bool:
    """Whether it became true while the device was pushed to the right with 1 N."""

    def push() -> bool:
        device.write(PUSH)
        return bool(true())

    return until(push)


def reading(device: Device) -> Array:
    out = np.zeros(NREAD)
    device.read(out)
    return out


# ---------------------------------------------------------------- Haply


@pytest.fixture
def service() -> Iterator[FakeService]:
    made = FakeService()
    yield made
    made.close()


def client(service: FakeService, **options: Any) -> Haply:
    return Haply(host="127.0.0.1", port=service.port, events_port=service.events_port, **options)


def test_haply_names_its_session_once_and_sends_one_message_per_frame(
    service: FakeService,
) -> None:
    with client(service):
        assert until(lambda: len(service.messages) > 20)
    first, *others = service.messages
    assert first["session"]["configure"]["profile"]["name"] == "org.tangere:session"
    assert first["inverse3"][0]["configure"]["basis"] == {"permutation": "XYZ"}
    assert first["inverse3"][0]["configure"]["preset"] == {"preset": "arm_front_centered"}
    assert not any("session" in message for message in others)
    assert not any("configure" in message["inverse3"][0] for message in others)
    # a zero force is the keep-alive: every message has a command
    assert all(message["inverse3"][0]["commands"] for message in service.messages)


@pytest.mark.parametrize("version", ["3.5.0", "3.4.1", "3.1.9"])
def test_haply_chooses_the_field_by_the_version(version: str) -> None:
    service = FakeService(version)
    try:
        with client(service) as device:
            assert pushed_until(device, lambda: service.shown[-1:] == [[1.0, 0.0, 0.0]])
    finally:
        service.close()


def test_haply_notices_that_its_force_is_not_shown(service: FakeService) -> None:
    """A service of an odd version: the adapter tries the other field by itself."""
    service.field = "values"
    with client(service) as device:
        assert pushed_until(device, lambda: service.shown[-1:] == [[1.0, 0.0, 0.0]])
        assert any("values" in notice for notice in device.notices)


def test_haply_keeps_a_field_that_was_given(service: FakeService) -> None:
    with client(service, force_field="values") as device:
        begin = len(service.messages)
        assert pushed_until(device, lambda: len(service.messages) > begin + 80)
        assert not any(any(force) for force in service.shown)
    with pytest.raises(DeviceError, match="force_field"):
        Haply(force_field="newton")


def test_haply_takes_the_device_asked_for() -> None:
    service = FakeService(devices=2)
    try:
        with client(service, device_id="device-1"):
            assert until(lambda: service.messages)
        assert service.messages[0]["inverse3"][0]["device_id"] == "device-1"
        with pytest.raises(DeviceError, match=r"device-7.*device-0, device-1"):
            client(service, device_id="device-7").open()
        assert haply.connected(f"127.0.0.1:{service.port}") == "device-0, device-1 (service 3.5)"
    finally:
        service.close()


def test_haply_without_grip_does_not_turn() -> None:
    service = FakeService(grip="")
    try:
        service.kind = "minverse"
        with client(service) as device:
            assert not device.info.senses_rotation
            assert device.info.sensed == 3
            assert device.info.name == "Minverse"
            assert device.info.radius == 0.04
            assert until(lambda: service.messages)
            assert reading(device)[READ_QUATERNION] == 1.0
            assert device.config["filters"] == {"damping": 0.0}
    finally:
        service.close()


def test_haply_reads_a_wireless_grip_and_velocity() -> None:
    service = FakeService(grip="wireless_verse_grip")
    try:
        service.buttons = {"buttons": {"a": False, "b": True, "c": True}}
        service.velocity = {"y": -0.25}  # identity parts may be left out
        service.orientation = {}
        with client(service) as device:
            assert until(lambda: reading(device)[READ_BUTTONS] == 6.0)
            assert until(lambda: reading(device)[READ_VELOCITY + 1] == -0.25)
    finally:
        service.close()


@pytest.mark.parametrize(
    ("event", "bit", "words"),
    [
        ({"name": "device-disconnected"}, FAULT_READ, "disconnected"),
        ({"name": "device-busy"}, FAULT_WRITE, "another program"),
        (
            {"name": "device-safety-triggered", "data": {"safety_type": "ebrake_triggered"}},
            FAULT_WRITE,
            "brake",
        ),
    ],
)
def test_haply_heeds_the_events_of_the_service(
    service: FakeService, event: dict[str, Any], bit: int, words: str
) -> None:
    with client(service) as device:
        assert until(lambda: service._listeners)
        service.tell(**event)
        assert until(lambda: int(reading(device)[READ_STATUS]) == bit)
        assert words in device.fault


def test_haply_leaves_events_of_other_devices_alone(service: FakeService) -> None:
    with client(service) as device:
        assert until(lambda: service._listeners)
        service.tell(name="device-disconnected", data={"device_id": "another"})
        service.tell(name="device-battery-low", message="the grip's battery is low")
        assert until(lambda: device.notices)
        assert list(device.notices) == ["the grip's battery is low"]
        assert reading(device)[READ_STATUS] == 0


def test_haply_brake_released_clears_its_fault(service: FakeService) -> None:
    safety = "device-safety-triggered"
    with client(service) as device:
        assert until(lambda: service._listeners)
        service.tell(name=safety, data={"safety_type": "stall_detected"}, message="a motor stalls")
        assert until(lambda: reading(device)[READ_STATUS] == FAULT_WRITE)
        assert "stalled" in device.fault
        service.tell(name=safety, data={"safety_type": "ebrake_released"})
        assert until(lambda: reading(device)[READ_STATUS] == 0)
        assert "a motor stalls" in device.notices


def test_haply_works_without_events(service: FakeService) -> None:
    with Haply(host="127.0.0.1", port=service.port, events_port=9) as device:
        assert until(lambda: service.messages)
        assert any("no events" in notice for notice in device.notices)
        assert reading(device)[READ_STATUS] == 0


def test_something_else_at_that_port_is_said(service: FakeService) -> None:
    service.version = "hello"
    with pytest.raises(DeviceError, match="does not say its version"):
        client(service).open()


# ---------------------------------------------------------------- Force Dimension


def test_force_dimension_takes_limits_from_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeDhd()
    fake.max_force, fake.max_torque = 15.0, 0.3
    fake.install(monkeypatch)
    with ForceDimension() as device:
        assert device.info.name == "sigma.7"
        assert (device.info.max_force, device.info.max_torque) == (15.0, 0.3)
        assert fake.enabled
        assert fake.watchdog > 0  # the firmware lets go by itself
        assert device.info.drops_force
        assert until(lambda: reading(device)[READ_GRIPPER] == 0.02)
    assert fake.calls[-2:] == ["stop", "close"]
    assert forcedimension.connected() == "1 connected"


def test_force_dimension_without_wrist(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frame of an omega.3 has no meaning, and torque is dropped."""
    fake = FakeDhd(33, wrist=False)
    fake.frame = np.full((3, 3), np.nan)
    fake.install(monkeypatch)
    with ForceDimension() as device:
        assert device.info.name == "omega.3"
        assert (device.info.sensed, device.info.actuated) == (3, 3)
        assert until(lambda: len(fake.shown) > 3)
        assert reading(device)[READ_STATUS] == 0


def test_an_unknown_force_dimension_device_gets_careful_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeDhd(91, wrist=False)
    fake.install(monkeypatch)
    with ForceDimension(0) as device:
        assert device.info.name == "some new device"
        assert device.info.max_force == 5.0


def test_force_dimension_moves_by_itself_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeDhd()
    fake.install(monkeypatch)
    with ForceDimension():
        pass
    assert "autoInit" not in fake.calls
    with ForceDimension(calibrate=True):
        pass
    assert "autoInit" in fake.calls


def test_force_dimension_says_that_a_write_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeDhd()
    fake.install(monkeypatch)
    with ForceDimension() as device:
        fake.write_fails = True
        assert until(lambda: reading(device)[READ_STATUS] != 0)
        assert "the force failed: communication error" in device.fault


# ---------------------------------------------------------------- OpenHaptics


def test_openhaptics_reads_millimetres_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeHd("Touch", dof=3)
    fake.max_force = 3.3
    fake.velocity = [0.0, 250.0, 100.0]  # up and towards the user
    fake.install(monkeypatch)
    with OpenHaptics("Left") as device:
        assert device.info.name == "Touch"
        assert device.info.actuated == 3
        assert device.info.radius == pytest.approx(0.07)  # half of the flattest side
        out = np.zeros(NREAD)

        def moving() -> bool:
            device.read(out)
            return bool(out[READ_VELOCITY + 2] > 0)

        assert until(moving)
        assert out[READ_VELOCITY : READ_VELOCITY + 3] == pytest.approx([0.0, -0.1, 0.25])
    assert fake.calls[0] == "init Left"
    assert fake.calls[-2:] == ["stop_scheduler", "close_device"]
    assert openhaptics.connected() == ""


def test_two_openhaptics_devices_share_the_vendors_scheduler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeHd()
    fake.install(monkeypatch)
    with OpenHaptics("Left") as left:
        with OpenHaptics("Right") as right:
            assert until(lambda: reading(right)[READ_SEQUENCE] > 0)
        assert "stop_scheduler" not in fake.calls
        seen = reading(left)[READ_SEQUENCE]
        assert until(lambda: reading(left)[READ_SEQUENCE] > seen + 2)
        assert reading(left)[READ_STATUS] == 0
        assert len(fake._callbacks) == 1  # the other is not called any more
    assert fake.calls.count("stop_scheduler") == 1


def test_openhaptics_keeps_the_bindings_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    FakeHd().install(monkeypatch)
    with OpenHaptics():
        pass
    assert capsys.readouterr().out == ""


def test_openhaptics_says_an_error_in_words_and_lets_go(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeHd()
    fake.install(monkeypatch)
    with OpenHaptics() as device:
        fake.error = 0x0203
        assert until(lambda: int(reading(device)[READ_STATUS]) & FAULT_WRITE)
        assert "faster than the device allows" in device.fault
        begin = len(fake.shown)
        assert pushed_until(device, lambda: len(fake.shown) > begin + 5)
        assert fake.shown[-1] == ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])


# ---------------------------------------------------------------- SpaceMouse


def test_spacemouse_asks_for_the_right_handed_convention(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = FakeMouse()
    fake.install(monkeypatch)
    with SpaceMouse():
        assert fake.convention == "hid_z_up"
    assert not fake.opened
    assert spacemouse.connected() == "SpaceMouse Compact"
    assert capsys.readouterr().out == ""


def test_spacemouse_is_drained_so_that_no_lag_builds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeMouse()
    fake.install(monkeypatch)
    fake.reports = [{"x": 1.0}] * 5000 + [{"x": 0.0}]
    with SpaceMouse() as device:
        assert until(lambda: not fake.reports, 2.0)
        assert until(lambda: abs(reading(device)[READ_VELOCITY]) < 1e-6)


def test_spacemouse_stays_in_its_workspace_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeMouse()
    fake.install(monkeypatch)
    with SpaceMouse(speed=5.0, radius=0.05) as device:
        fake.reports = [{"x": 1.0, "y": 1.0}]
        out = np.zeros(NREAD)

        def far() -> float:
            device.read(out)
            return float(np.linalg.norm(out[READ_POSITION : READ_POSITION + 3]))

        assert until(lambda: far() > 0.0499)
        for _ in range(20):
            assert far() <= 0.05 * (1 + 1e-12)
            time.sleep(2e-3)
        assert out[READ_VELOCITY : READ_VELOCITY + 3] == pytest.approx([0, 0, 0], abs=1e-9)
        fake.reports = [{"x": 0.0, "y": 0.0, "buttons": [0, 1]}]
        assert until(lambda: far() == 0.0)


def test_spacemouse_at_rest_does_not_creep(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeMouse()
    fake.install(monkeypatch)
    fake.push(x=0.9 * DEAD, yaw=-0.9 * DEAD)
    with SpaceMouse() as device:
        time.sleep(0.05)
        out = reading(device)
        assert not out[READ_POSITION : READ_POSITION + 3].any()
        assert out[READ_QUATERNION] == 1.0
    with pytest.raises(DeviceError, match="speed"):
        SpaceMouse(speed=-1.0)
