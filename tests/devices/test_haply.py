"""Haply's service: versions, events, grips, what it says of itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from devices.fakes import FakeService
from devices.waiting import pushed_until, reading, until

from tangere.devices import haply
from tangere.devices.haply import Haply
from tangere.errors import DeviceError
from tangere.haptics.layout import (
    FAULT_LOST,
    FAULT_OFF,
    FAULT_WRITE,
    READ_APPLIED,
    READ_BUTTONS,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TELLS_APPLIED,
    READ_VELOCITY,
)

pytestmark = pytest.mark.nojit


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


def fields(service: FakeService) -> list[str]:
    """The field of every message that had a force, without repetitions."""
    used = [
        name
        for message in service.messages
        for name, force in message["inverse3"][0]["commands"]["set_cursor_force"].items()
        if any(force.values())
    ]
    return [name for name, _ in itertools.groupby(used)]


def test_haply_says_that_its_force_is_shown(service: FakeService) -> None:
    with client(service) as device:
        assert pushed_until(device, lambda: device.notices)
        assert list(device.notices) == ["force is sent as 'vector', and shown"]
    assert fields(service) == ["vector"]


def test_haply_finds_the_field_of_an_odd_version_once(service: FakeService) -> None:
    """The version says `vector`, the service knows `values`; what stops the force later is no
    reason to look again.
    """
    service.field = "values"
    with client(service) as device:
        assert pushed_until(device, lambda: device.notices)
        assert list(device.notices) == ["force is sent as 'values', and shown"]
        assert service.shown[-1] == [1.0, 0.0, 0.0]
        service.braked = True
        begin = len(service.messages)
        assert pushed_until(device, lambda: len(service.messages) > begin + 500)
        service.braked = False
        assert pushed_until(device, lambda: service.shown[-1:] == [[1.0, 0.0, 0.0]])
    assert fields(service) == ["vector", "values"]


def test_haply_stays_with_its_version_when_no_force_is_shown_at_all(
    service: FakeService,
) -> None:
    service.braked = True
    with client(service) as device:
        assert pushed_until(device, lambda: device.notices)
        assert "no force is shown, whatever its field" in device.notices[0]
        service.braked = False
        assert pushed_until(device, lambda: service.shown[-1:] == [[1.0, 0.0, 0.0]])
    assert fields(service) == ["vector", "values", "vector"]


@pytest.mark.parametrize("why", ["small", "unready"])
def test_haply_draws_no_conclusion_from_a_force_that_cannot_be_shown(
    service: FakeService, why: str
) -> None:
    service.braked = True
    service.status = {"ready": why != "unready"}
    force = 0.09 if why == "small" else 1.0
    with client(service) as device:
        begin = len(service.messages)
        assert pushed_until(
            device, lambda: len(service.messages) > begin + 500, (force, 0, 0, 0, 0, 0)
        )
        assert list(device.notices) == []
    assert fields(service) == ["vector"]


def test_haply_tells_the_force_that_its_motors_give(service: FakeService) -> None:
    with client(service) as device:
        assert pushed_until(device, lambda: reading(device)[READ_APPLIED] == 1.0)
        assert reading(device)[READ_TELLS_APPLIED] == 1.0


@pytest.mark.parametrize(
    ("key", "words"),
    [("ready", "not ready"), ("calibrated", "not calibrated"), ("power_supply", "no power")],
)
def test_haply_is_at_fault_while_it_is_not_ready(
    service: FakeService, key: str, words: str
) -> None:
    with client(service) as device:
        assert until(lambda: reading(device)[READ_SEQUENCE] > 3)
        assert reading(device)[READ_STATUS] == 0
        service.status = {key: False}
        assert until(lambda: reading(device)[READ_STATUS] == FAULT_OFF)
        assert words in device.fault
        service.status = {key: True}
        assert until(lambda: reading(device)[READ_STATUS] == 0)
        assert device.fault == ""


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
        ({"name": "device-disconnected"}, FAULT_LOST, "disconnected"),
        ({"name": "device-busy"}, FAULT_WRITE, "another program"),
        (
            {"name": "device-safety-triggered", "data": {"safety_type": "ebrake_triggered"}},
            FAULT_OFF,
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
        assert until(lambda: reading(device)[READ_STATUS] == FAULT_OFF)
        assert "stalled" in device.fault
        service.tell(name=safety, data={"safety_type": "ebrake_released"})
        assert until(lambda: reading(device)[READ_STATUS] == 0)
        assert "a motor stalls" in device.notices
        assert device.fault == ""


def test_haply_that_is_ready_again_has_no_brake(service: FakeService) -> None:
    with client(service) as device:
        assert until(lambda: service._listeners)
        service.status = {"ready": False}
        assert until(lambda: "not ready" in (reading(device), device.fault)[1])
        service.tell(name="device-safety-triggered", data={"safety_type": "stall_detected"})
        assert until(lambda: "stalled" in (reading(device), device.fault)[1])
        service.status = {"ready": True}
        assert until(lambda: reading(device)[READ_STATUS] == 0)


def test_haply_works_without_events(service: FakeService) -> None:
    with Haply(host="127.0.0.1", port=service.port, events_port=9) as device:
        assert until(lambda: service.messages)
        assert any("no events" in notice for notice in device.notices)
        assert reading(device)[READ_STATUS] == 0


def test_something_else_at_that_port_is_said(service: FakeService) -> None:
    service.version = "hello"
    with pytest.raises(DeviceError, match="does not say its version"):
        client(service).open()
