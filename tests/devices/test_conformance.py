"""Every adapter against its fake peer, by one suite: units, axes, limits, zero force, faults."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import cos, pi, sin

import numpy as np
import pytest
from devices.peers import PEERS, Peer, X, Z, in_time
from devices.waiting import reading, until

from tangere.devices.device import HOLD, Adapter, Device, DeviceInfo
from tangere.errors import DeviceError
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    NREAD,
    READ_BUTTONS,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    READ_VELOCITY,
)
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

REAL = [name for name in PEERS if name not in ("browser", "scripted", "hand")]
VENDORS = ["forcedimension", "forcedimension_core", "openhaptics", "haply"]
FELT = [*VENDORS, "hand"]


@pytest.fixture
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    made = PEERS[request.param](request)
    yield made
    made.stall(False)
    made.close()


@pytest.fixture
def device(peer: Peer) -> Iterator[Adapter]:
    made = peer.make()
    made.open()
    yield made
    peer.stall(False)
    made.close()


all_peers = pytest.mark.parametrize("peer", PEERS, indirect=True)
real_peers = pytest.mark.parametrize("peer", REAL, indirect=True)
felt_peers = pytest.mark.parametrize("peer", FELT, indirect=True)


def settled(device: Device, peer: Peer) -> Array:
    """A reading of after now: two samples on, or after the time that a filter takes."""
    out = reading(device)
    begin, end = out[READ_SEQUENCE], time.monotonic() + peer.settle

    def there() -> bool:
        device.read(out)
        return bool(out[READ_SEQUENCE] >= begin + 3 and time.monotonic() >= end)

    assert until(there)
    return out


def last_force(device: Adapter, peer: Peer, wrench: Array) -> tuple[Array, Array]:
    """What the peer shows after the wrench was written."""
    before = len(peer.shown())
    device.write(wrench)
    if not (peer.served and device.info.max_force > 0.0):
        return peer.shown()[-1]
    # Of the turns of its thread one may have been under way; later ones find the command too old.
    assert until(lambda: len(peer.shown()) >= before + 3)
    return peer.shown()[before + 2]


# ---------------------------------------------------------------- what it is


@all_peers
def test_it_is_a_device_with_sensible_limits(device: Adapter) -> None:
    assert isinstance(device, Device)
    info = device.info
    assert isinstance(info, DeviceInfo)
    assert info.sensed in (3, 6, 7)
    assert 0 <= info.actuated <= 7
    assert (info.stiffness > 0) == (info.damping > 0)
    for name in ("max_force", "max_torque", "stiffness", "damping"):
        assert getattr(info, name) >= 0.0
    assert info.radius > 0.0
    assert info.rate > 0.0


@all_peers
def test_readings_are_counted_and_timed(device: Adapter, peer: Peer) -> None:
    first = settled(device, peer)
    second = settled(device, peer)
    assert second[READ_SEQUENCE] > first[READ_SEQUENCE]
    assert first[READ_TIME] < second[READ_TIME] <= time.monotonic()
    assert second[READ_STATUS] == 0
    assert device.fault == ""


# ---------------------------------------------------------------- units and axes


@all_peers
@pytest.mark.parametrize("axis", [0, 1, 2], ids=["right", "away", "up"])
def test_position_is_in_metres_right_away_up(device: Adapter, peer: Peer, axis: int) -> None:
    way = 0.03
    peer.place(way * np.eye(3)[axis], X, 0.0)
    expected = way * np.eye(3)[axis]
    if peer.absolute:
        out = settled(device, peer)
        found = out[READ_POSITION : READ_POSITION + 3]
        assert found == pytest.approx(expected, abs=peer.exact)
    else:
        out = np.zeros(NREAD)

        def moved() -> bool:
            device.read(out)
            return bool(np.linalg.norm(out[READ_POSITION : READ_POSITION + 3]) > 1e-3)

        assert until(moved)
        found = out[READ_POSITION : READ_POSITION + 3]
        assert found / np.linalg.norm(found) == pytest.approx(np.eye(3)[axis], abs=peer.exact)
        assert out[READ_VELOCITY + axis] > 0.0


@all_peers
@pytest.mark.parametrize("axis", [0, 1, 2], ids=["right", "away", "up"])
def test_a_turn_by_the_right_hand_is_one(device: Adapter, peer: Peer, axis: int) -> None:
    """A positive turn about a direction is a quaternion with positive part on that axis."""
    angle = pi / 6
    peer.place(0.0 * X, np.eye(3)[axis], angle)
    if peer.absolute:
        q = settled(device, peer)[READ_QUATERNION : READ_QUATERNION + 4]
        assert q == pytest.approx(
            [cos(angle / 2), *(sin(angle / 2) * np.eye(3)[axis])], abs=peer.exact
        )
    else:
        out = np.zeros(NREAD)

        def turned() -> bool:
            device.read(out)
            return bool(out[READ_QUATERNION] < cos(0.005))

        assert until(turned)
        part = out[READ_QUATERNION + 1 : READ_QUATERNION + 4]
        assert part / np.linalg.norm(part) == pytest.approx(np.eye(3)[axis], abs=peer.exact)


@all_peers
def test_first_button_is_bit_zero(device: Adapter, peer: Peer) -> None:
    peer.press()
    out = np.zeros(NREAD)

    def pressed() -> bool:
        device.read(out)
        return bool(out[READ_BUTTONS] == 1.0)

    assert until(pressed)


@felt_peers
@pytest.mark.parametrize("axis", [0, 1, 2], ids=["right", "away", "up"])
def test_force_in_newton_acts_on_the_hand_in_that_direction(
    device: Adapter, peer: Peer, axis: int
) -> None:
    wrench = np.zeros(6)
    wrench[axis] = 1.5
    force, torque = last_force(device, peer, wrench)
    assert force == pytest.approx(1.5 * np.eye(3)[axis], abs=1e-12)
    assert not torque.any()


@felt_peers
@pytest.mark.parametrize("axis", [0, 1, 2], ids=["right", "away", "up"])
def test_torque_is_shown_where_there_is_one_and_never_folded_into_force(
    device: Adapter, peer: Peer, axis: int
) -> None:
    wrench = np.zeros(6)
    wrench[3 + axis] = 0.05
    force, torque = last_force(device, peer, wrench)
    assert not force.any()
    expected = 0.05 * np.eye(3)[axis]
    if device.info.max_torque == 0.0:
        expected = 0.0 * expected
    assert torque == pytest.approx(expected, abs=1e-9)


# ---------------------------------------------------------------- limits


@felt_peers
def test_a_force_beyond_the_limit_is_scaled_with_its_direction_kept(
    device: Adapter, peer: Peer
) -> None:
    wanted = np.array([300.0, -400.0, 1200.0])
    force, _ = last_force(device, peer, np.array([*wanted, 0.0, 0.0, 0.0]))
    limit = device.info.max_force
    assert force == pytest.approx(wanted * limit / np.linalg.norm(wanted), rel=1e-12)


@felt_peers
def test_force_and_torque_are_scaled_together(device: Adapter, peer: Peer) -> None:
    """The torque alone is beyond its limit: the force shrinks by the same factor."""
    if device.info.max_torque == 0.0:
        pytest.skip("shows no torque")
    torque = 2.0 * device.info.max_torque
    force, shown = last_force(device, peer, np.array([1.0, 0.0, 0.0, 0.0, 0.0, torque]))
    assert force == pytest.approx(0.5 * X, rel=1e-12, abs=1e-12)
    expected = device.info.max_torque * Z
    assert shown == pytest.approx(expected, rel=1e-12, abs=1e-12)


@all_peers
def test_a_wrench_that_is_not_finite_counts_as_zero(device: Adapter, peer: Peer) -> None:
    force, torque = last_force(device, peer, np.array([np.nan, 1.0, np.inf, 0.0, 0.0, 0.0]))
    assert not force.any()
    assert not torque.any()
    assert int(reading(device)[READ_STATUS]) & FAULT_WRITE
    assert "not finite" in device.fault


# ---------------------------------------------------------------- zero force


def push(device: Adapter, peer: Peer) -> None:
    force, _ = last_force(device, peer, np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
    assert force.any()


@felt_peers
def test_zero_force_on_close(device: Adapter, peer: Peer) -> None:
    push(device, peer)
    device.close()
    assert not peer.shown()[-1][0].any()
    assert not peer.shown()[-1][1].any()


@felt_peers
def test_zero_force_on_every_exception(peer: Peer) -> None:
    for kind in (RuntimeError, KeyboardInterrupt, SystemExit):
        device = peer.make()

        def work(device: Adapter = device, kind: type[BaseException] = kind) -> None:
            with device:
                push(device, peer)
                raise kind

        with pytest.raises(kind):
            work()
        assert not peer.shown()[-1][0].any()
        with pytest.raises(DeviceError, match="not open"):
            device.write(np.zeros(6))


@pytest.mark.parametrize("peer", VENDORS, indirect=True)
def test_zero_force_when_commands_stop(device: Adapter, peer: Peer) -> None:
    """Whoever computes the force hangs: the adapter lets go by itself."""
    push(device, peer)
    begin = time.monotonic()
    assert until(lambda: not peer.shown()[-1][0].any())
    assert time.monotonic() - begin > 0.2 * HOLD  # but not at once
    assert reading(device)[READ_STATUS] == 0


@real_peers
def test_a_lost_connection_is_told_and_shows_zero_force(device: Adapter, peer: Peer) -> None:
    if device.info.max_force > 0.0:
        push(device, peer)
    peer.drop()
    out = np.zeros(NREAD)

    def told() -> bool:
        device.read(out)
        return bool(int(out[READ_STATUS]) & FAULT_READ)

    assert until(told)
    assert device.fault.startswith(device.info.name)
    assert len(device.fault.splitlines()) == 1
    device.write(np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]))  # must not raise
    device.close()
    assert not peer.shown()[-1][0].any()


# ---------------------------------------------------------------- faults


@real_peers
def test_a_reading_that_makes_no_sense_never_reaches_the_session(
    device: Adapter, peer: Peer
) -> None:
    settled(device, peer)
    peer.spoil()
    out = np.zeros(NREAD)
    for _ in range(50):
        device.read(out)
        assert np.isfinite(out).all()
        time.sleep(1e-3)
    # a cap that reads no number is a cap at rest; a pose that is no number is a fault
    assert (out[READ_STATUS] == 0) == (not peer.absolute)


@pytest.mark.parametrize("peer", [*VENDORS, "spacemouse"], indirect=True)
def test_read_and_write_come_back_while_the_driver_hangs(device: Adapter, peer: Peer) -> None:
    settled(device, peer)
    peer.stall(True)

    def use() -> None:
        for _ in range(100):
            reading(device)
            device.write(np.zeros(6))

    assert in_time(use)


@real_peers
def test_a_missing_library_or_service_is_said_with_the_remedy(peer: Peer) -> None:
    peer.lose_library()
    with pytest.raises(DeviceError, match="install") as told:
        peer.make().open()
    assert len(str(told.value).splitlines()) == 1


@real_peers
def test_a_missing_device_is_said_with_the_remedy(peer: Peer) -> None:
    peer.unplug()
    device = peer.make()
    with pytest.raises(DeviceError, match="connect") as told:
        device.open()
    assert len(str(told.value).splitlines()) == 1
    with pytest.raises(DeviceError, match="not open"):
        reading(device)
    device.close()


# ---------------------------------------------------------------- order of calls


@all_peers
def test_closing_twice_and_opening_again(peer: Peer) -> None:
    device = peer.make()
    device.close()  # never opened
    for _ in range(2):
        device.open()
        device.open()
        assert settled(device, peer)[READ_STATUS] == 0
        device.close()
        device.close()
        with pytest.raises(DeviceError, match="not open"):
            reading(device)


@all_peers
def test_a_wrench_has_six_numbers(device: Adapter) -> None:
    with pytest.raises(DeviceError, match="six"):
        device.write(np.zeros(3))
