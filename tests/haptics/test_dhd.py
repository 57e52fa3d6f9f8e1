"""Calls of Force Dimension's library within a tick, against functions made for the test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from haptics.drivers import DhdDriver
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from tangere.devices.device import Estimator
from tangere.haptics.dhd import (
    DHD_FORCE_OFF,
    DHD_FORCE_ON,
    DHD_POSE,
    DHD_SATURATED,
    DHD_WRENCH,
    FORCE_OFF,
    MOTOR_SATURATED,
    TIMEGUARD,
)
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    READ_BUTTONS,
    READ_GRIPPER,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    READ_VELOCITY,
)

pytestmark = pytest.mark.nojit

X, Y, Z = np.eye(3)
# Native axes in ours: x towards the user, y right, z up.
AXES = [(X, -Y), (Y, X), (Z, Z)]
# A turn through a matrix and back, or a few products of numbers of order 1
ROUNDING = 1e-12


def turn(axis: Any, angle: float) -> Any:
    return Rotation.from_rotvec(angle * np.asarray(axis)).as_matrix()


def vector(reading: Any, column: int, width: int = 3) -> Any:
    return reading[column : column + width].copy()


# ---------------------------------------------------------------- a sample


@pytest.mark.parametrize(("native", "ours"), AXES)
@pytest.mark.parametrize("wrist", [True, False])
def test_positions_are_right_away_up(native: Any, ours: Any, wrist: bool) -> None:
    driver = DhdDriver(wrist)
    driver.position = 0.03 * native
    out = driver.read()
    assert vector(out, READ_POSITION) == pytest.approx(0.03 * ours, abs=ROUNDING)
    assert out[READ_STATUS] == 0
    assert driver.numbers == {3}


@pytest.mark.parametrize(("native", "ours"), AXES)
def test_turns_are_about_the_same_direction(native: Any, ours: Any) -> None:
    driver = DhdDriver()
    driver.frame = turn(native, 0.5)
    q = vector(driver.read(), READ_QUATERNION, 4)
    assert q == pytest.approx([np.cos(0.25), *np.sin(0.25) * ours], abs=ROUNDING)


def test_without_a_wrist_the_grip_is_upright() -> None:
    driver = DhdDriver(wrist=False)
    driver.frame = np.full((3, 3), np.nan)
    out = driver.read()
    assert vector(out, READ_QUATERNION, 4).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert out[READ_STATUS] == 0


def test_buttons_gripper_time_and_number() -> None:
    driver = DhdDriver()
    driver.buttons, driver.gap = 0x80000005, 0.013
    out = driver.read(2.5)
    assert out[READ_BUTTONS] == 0x80000005
    assert out[READ_GRIPPER] == 0.013
    assert out[READ_TIME] == 2.5
    assert [driver.read(3.0 + n)[READ_SEQUENCE] for n in range(3)] == [2, 3, 4]


def test_a_device_without_gripper_is_not_asked_for_one() -> None:
    driver = DhdDriver(gripper=False)
    driver.gap_answer, driver.gap = -1, 0.5
    out = driver.read()
    assert (out[READ_STATUS], out[READ_GRIPPER]) == (0, 0.0)


@pytest.mark.parametrize("axis", AXES)
def test_the_quaternion_does_not_jump_over_two_full_turns(axis: Any) -> None:
    """After one turn it is the opposite quaternion: the sign is that of the way, not of w ≥ 0."""
    driver = DhdDriver()
    step = np.radians(5.0)
    before = None
    for n in range(145):
        driver.frame = turn(axis[0], n * step)
        q = vector(driver.read(1e-3 * n), READ_QUATERNION, 4)
        if before is not None:
            # a step of 5° is 2 sin(2.5°/2) in the space of quaternions
            assert np.linalg.norm(q - before) == pytest.approx(
                2 * np.sin(step / 4), abs=1e3 * ROUNDING
            )
        if n == 72:
            assert q == pytest.approx([-1.0, 0.0, 0.0, 0.0], abs=1e3 * ROUNDING)
        before = q
    assert before == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e3 * ROUNDING)


# ---------------------------------------------------------------- velocity


@given(
    st.lists(
        st.tuples(
            st.floats(1e-4, 2e-2),
            st.tuples(*[st.floats(-0.1, 0.1)] * 3),
            st.tuples(*[st.floats(-1.0, 1.0)] * 3),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_velocities_are_filtered_differences_of_samples(moves: Any) -> None:
    """The oracle is the estimator of adapters in Python."""
    driver, estimate = DhdDriver(), Estimator()
    stamp, attitude = 10.0, Rotation.identity()
    for pause, place, spin in moves:
        stamp = round(stamp + pause, 9)
        attitude = Rotation.from_rotvec(spin) * attitude
        driver.position, driver.frame = place, attitude.as_matrix()
        out = driver.read(stamp)
        q = attitude.as_quat(scalar_first=True)
        twist = estimate(stamp, (place[1], -place[0], place[2]), (q[0], q[2], -q[1], q[3]))
        # a difference over 0.1 ms of numbers known to 1e-16, and times to 1e-9 of 1e-4
        assert vector(out, READ_VELOCITY, 6) == pytest.approx(twist, rel=1e-4, abs=1e-8)


def test_a_steady_motion_has_its_velocity() -> None:
    """Thirty time constants: what is left of the start is e⁻³⁰."""
    driver = DhdDriver()
    for n in range(61):
        driver.position = (0.0, 0.2e-3 * n, 0.0)
        driver.frame = turn(Z, 1e-3 * n)
        out = driver.read(1e-3 * n)
    assert vector(out, READ_VELOCITY) == pytest.approx([0.2, 0.0, 0.0], abs=1e-9)
    assert vector(out, READ_OMEGA) == pytest.approx([0.0, 0.0, 1.0], abs=1e-8)


def test_two_samples_of_the_same_time_have_no_difference() -> None:
    driver = DhdDriver()
    driver.read(1.0)
    driver.position = (0.0, 0.5, 0.0)
    out = driver.read(1.0)
    assert vector(out, READ_VELOCITY, 6).tolist() == [0.0] * 6
    assert out[READ_POSITION] == 0.5


# ---------------------------------------------------------------- the same sample again, and none


def test_a_repeated_sample_changes_nothing() -> None:
    driver = DhdDriver()
    for n in range(3):
        driver.position = (0.0, 1e-3 * n, 0.0)
        before = driver.read(1e-3 * n).copy()
    driver.answer, driver.position = TIMEGUARD, (0.0, 9.0, 0.0)
    driver.buttons = 1
    for n in range(3, 60):
        assert driver.read(1e-3 * n).tolist() == before.tolist()
    # the difference is then over all that time
    driver.answer, driver.position = 0, (0.0, 2e-3 + 0.058, 0.0)
    out = driver.read(0.06)
    share = 0.058 / (0.058 + 2e-3)
    assert out[READ_SEQUENCE] == before[READ_SEQUENCE] + 1
    assert out[READ_VELOCITY] == pytest.approx(
        before[READ_VELOCITY] + share * (1.0 - before[READ_VELOCITY]), rel=1e-9
    )


@pytest.mark.parametrize("what", ["pose", "gripper", "not a number", "no rotation", "no turn"])
def test_a_failure_is_that_of_its_own_call_and_leaves_the_rest(what: str) -> None:
    driver = DhdDriver()
    driver.position = (0.01, 0.02, 0.03)
    good = driver.read(1.0).copy()
    bad = {
        "pose": ("answer", -1),
        "gripper": ("gap_answer", -1),
        "not a number": ("position", (0.0, np.nan, 0.0)),
        "no rotation": ("frame", np.zeros((3, 3))),
        "no turn": ("frame", np.full((3, 3), np.nan)),
    }[what]
    was = getattr(driver, bad[0])
    setattr(driver, *bad)
    for n in range(3):
        out = driver.read(1.001 + 1e-3 * n)
        assert out[READ_STATUS] == FAULT_READ
        assert np.delete(out, READ_STATUS).tolist() == np.delete(good, READ_STATUS).tolist()
    setattr(driver, bad[0], was)
    out = driver.read(1.01)
    assert (out[READ_STATUS], out[READ_SEQUENCE]) == (0, good[READ_SEQUENCE] + 1)


def test_an_address_that_is_not_there_is_not_called() -> None:
    driver = DhdDriver()
    driver.port[DHD_POSE] = driver.port[DHD_WRENCH] = 0
    assert driver.read()[READ_STATUS] == FAULT_READ
    assert driver.write() == FAULT_WRITE


# ---------------------------------------------------------------- the wrench


@pytest.mark.parametrize(("native", "ours"), AXES)
def test_forces_and_torques_act_in_their_direction(native: Any, ours: Any) -> None:
    driver = DhdDriver()
    assert driver.write(1.5 * ours, 0.1 * ours, 2.0) == 0
    assert driver.wrenches == [pytest.approx([*1.5 * native, *0.1 * native, 2.0])]
    assert driver.numbers == {3}


def test_motors_that_are_not_there_get_nothing() -> None:
    driver = DhdDriver(wrist=False, gripper=False)
    driver.write(X, Y, 3.0)
    assert driver.wrenches == [(0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)]


def test_a_refused_force_is_a_fault_and_a_saturated_motor_a_note() -> None:
    driver = DhdDriver()
    for answer, fault, notes in ((-1, FAULT_WRITE, 0), (MOTOR_SATURATED, 0, 1), (0, 0, 1)):
        driver.write_answer = answer
        assert driver.write(X) == fault
        assert driver.port[DHD_SATURATED] == notes


# ---------------------------------------------------------------- the status


def test_the_status_is_looked_at_every_fifty_milliseconds() -> None:
    driver = DhdDriver()
    for n in range(1000):
        driver.read(1.0 + 1e-3 * n)
    assert driver.looks == 20


def test_the_cause_of_force_off_is_left_in_the_port() -> None:
    driver = DhdDriver()
    driver.status[5] = 1
    driver.read(1.0)
    assert (driver.port[DHD_FORCE_ON], driver.port[DHD_FORCE_OFF]) == (1, 0)
    driver.status[5], driver.status[14] = 0, 6
    driver.read(1.1)
    assert (driver.port[DHD_FORCE_ON], driver.port[DHD_FORCE_OFF]) == (0, 6)
    assert "dead-man" in FORCE_OFF[6]
    driver.status_answer, driver.status[14] = -1, 1
    out = driver.read(1.2)
    assert out[READ_STATUS] == 0  # the pose came all the same
    assert driver.port[DHD_FORCE_OFF] == 6


def test_causes_are_all_in_words() -> None:
    assert sorted(FORCE_OFF) == list(range(7))
    assert all(FORCE_OFF[cause] for cause in range(1, 7))
