"""Calls of OpenHaptics within a tick, against functions made for the test."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest
from haptics.drivers import HdDriver
from scipy.spatial.transform import Rotation

from tangere.haptics.hd import ERRORS, HD_BEGIN, HD_ERROR, HD_FRAME
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    READ_BUTTONS,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    READ_VELOCITY,
)

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.skipif(
        platform.system() == "Windows", reason="an error comes back in another way there"
    ),
]

X, Y, Z = np.eye(3)
# Native axes in ours: x right, y up, z towards the user.
AXES = [(X, X), (Y, Z), (Z, -Y)]
ROUNDING = 1e-12  # a turn through a matrix and back


def vector(reading: Any, column: int, width: int = 3) -> Any:
    return reading[column : column + width].copy()


# ---------------------------------------------------------------- a sample


@pytest.mark.parametrize(("native", "ours"), AXES)
def test_millimetres_are_metres_right_away_up(native: Any, ours: Any) -> None:
    driver = HdDriver()
    driver.position, driver.velocity = 30.0 * native, 250.0 * native
    out = driver.read(2.0)
    assert vector(out, READ_POSITION) == pytest.approx(0.03 * ours, abs=ROUNDING)
    assert vector(out, READ_VELOCITY) == pytest.approx(0.25 * ours, abs=ROUNDING)
    assert (out[READ_STATUS], out[READ_TIME], out[READ_SEQUENCE]) == (0, 2.0, 1)
    assert driver.calls == [("begin", 5)]


@pytest.mark.parametrize(("native", "ours"), AXES)
def test_turns_are_about_the_same_direction(native: Any, ours: Any) -> None:
    """Columns of the matrix are the axes of the stylus: a transposed one turns the other way."""
    driver = HdDriver()
    driver.frame = Rotation.from_rotvec(0.5 * native).as_matrix()
    q = vector(driver.read(), READ_QUATERNION, 4)
    assert q == pytest.approx([np.cos(0.25), *np.sin(0.25) * ours], abs=ROUNDING)


def test_the_spin_is_that_of_samples() -> None:
    driver = HdDriver()
    for n in range(61):
        driver.frame = Rotation.from_rotvec(2e-3 * n * Y).as_matrix()
        out = driver.read(1e-3 * n)
        driver.write()
    assert vector(out, READ_OMEGA) == pytest.approx([0.0, 0.0, 2.0], abs=1e-8)
    assert out[READ_SEQUENCE] == 61


def test_the_quaternion_does_not_jump_over_two_full_turns() -> None:
    driver = HdDriver()
    before = np.array([1.0, 0.0, 0.0, 0.0])
    for n in range(145):
        driver.frame = Rotation.from_rotvec(np.radians(5.0 * n) * X).as_matrix()
        q = vector(driver.read(1e-3 * n), READ_QUATERNION, 4)
        driver.write()
        assert q @ before > 0.99
        before = q
    assert before == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e3 * ROUNDING)


def test_buttons_are_bits() -> None:
    driver = HdDriver()
    driver.buttons = 3
    assert driver.read()[READ_BUTTONS] == 3


# ---------------------------------------------------------------- the wrench


@pytest.mark.parametrize(("native", "ours"), AXES)
def test_newton_and_millinewton_metres_in_their_direction(native: Any, ours: Any) -> None:
    driver = HdDriver()
    driver.read()
    assert driver.write(1.5 * ours, 0.1 * ours) == 0
    assert driver.calls == [
        ("begin", 5),
        ("force", pytest.approx(1.5 * native)),
        ("torque", pytest.approx(100.0 * native)),
        ("end", 5),
    ]


def test_a_device_without_torque_is_not_given_one() -> None:
    driver = HdDriver(torque=False)
    driver.read()
    driver.write(X, Y)
    assert [name for name, _ in driver.calls] == ["begin", "force", "end"]


# ---------------------------------------------------------------- frames


def test_a_write_alone_has_a_frame_of_its_own() -> None:
    driver = HdDriver(torque=False)
    driver.write(X)
    driver.write(X)
    assert [name for name, _ in driver.calls] == ["begin", "force", "end"] * 2


def test_a_read_that_had_no_write_is_closed_with_zero_force() -> None:
    driver = HdDriver()
    driver.read()
    driver.read()
    assert driver.calls == [
        ("begin", 5),
        ("force", (0.0, 0.0, 0.0)),
        ("torque", (0.0, 0.0, 0.0)),
        ("end", 5),
        ("begin", 5),
    ]
    assert driver.port[HD_FRAME] == 1
    driver.write(X)
    assert driver.port[HD_FRAME] == 0


# ---------------------------------------------------------------- errors


def test_an_error_of_a_read_is_that_of_its_own_frame_and_leaves_the_rest() -> None:
    driver = HdDriver()
    driver.position = (1.0, 2.0, 3.0)
    good = driver.read(1.0).copy()
    driver.write()
    driver.begin_error, driver.position = 0x0302, (50.0, 0.0, 0.0)
    out = driver.read(1.001)
    assert out[READ_STATUS] == FAULT_READ
    assert np.delete(out, READ_STATUS).tolist() == np.delete(good, READ_STATUS).tolist()
    assert driver.write() == 0  # the frame is closed
    assert driver.port[HD_ERROR] == 0x0302
    driver.begin_error = 0
    assert driver.read(1.002)[READ_STATUS] == 0
    assert driver.calls[-1] == ("begin", 5)


def test_an_error_of_a_write_is_that_of_its_own_frame() -> None:
    driver = HdDriver()
    driver.read()
    driver.end_error = 0x0201
    assert driver.write(X) == FAULT_WRITE
    assert driver.port[HD_ERROR] == 0x0201
    driver.end_error = 0
    driver.read()
    assert driver.write(X) == 0


def test_a_force_error_found_by_a_read_is_one_of_the_force() -> None:
    """The pose is good: the hand was too fast, or the motors too warm."""
    driver = HdDriver()
    driver.begin_error = 0x0203
    out = driver.read()
    assert (out[READ_STATUS], out[READ_SEQUENCE]) == (FAULT_WRITE, 1)


def test_the_whole_stack_of_errors_is_emptied_and_the_newest_told() -> None:
    driver = HdDriver()
    driver.errors = [0x0300, 0x0302, 0x0402]
    assert driver.read()[READ_STATUS] == FAULT_READ
    assert driver.errors == []
    assert driver.port[HD_ERROR] == 0x0402
    assert ERRORS[0x0402]


def test_a_pose_that_is_not_a_number_is_a_fault() -> None:
    driver = HdDriver()
    driver.position = (np.nan, 0.0, 0.0)
    out = driver.read()
    assert out[READ_STATUS] == FAULT_READ
    assert np.isfinite(out).all()


def test_an_address_that_is_not_there_is_not_called() -> None:
    driver = HdDriver()
    driver.port[HD_BEGIN] = 0
    assert driver.read()[READ_STATUS] == FAULT_READ
    assert driver.write() == FAULT_WRITE
    assert driver.calls == []
