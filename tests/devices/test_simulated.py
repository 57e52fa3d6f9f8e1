"""Scripts, recordings and the hand: what they say, when, and what they refuse."""

from __future__ import annotations

import time
from math import cos, inf, nan, sin
from typing import Any

import numpy as np
import pytest

from tangere.devices.simulated import DeviceModel, Hand, Playback, Scripted, device_model
from tangere.errors import DeviceError, SceneError
from tangere.haptics.arm import ARM_DELAY, ARM_MASS, MAX_DELAY, NARM
from tangere.haptics.layout import (
    FAULT_READ,
    NREAD,
    READ_BUTTONS,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    READ_VELOCITY,
)

pytestmark = pytest.mark.nojit


def wave(t: float) -> Any:
    """Position and orientation of a hand that waves; its velocities are known."""
    angle = 0.4 * sin(3 * t)
    return (0.05 * sin(7 * t), 0.02 * t, -0.1 * t * t), (cos(angle), 0.0, sin(angle), 0.0)


def wave_twist(t: float) -> list[float]:
    return [0.35 * cos(7 * t), 0.02, -0.2 * t, 0.0, 2.4 * cos(3 * t), 0.0]


# ---------------------------------------------------------------- Scripted


def test_a_script_is_sampled_ahead_with_its_velocities() -> None:
    rows = Scripted(wave).table(500.0, 200)
    assert rows.shape == (200, NREAD)
    assert rows[:, READ_TIME] == pytest.approx(np.arange(200) / 500.0, abs=0)
    assert rows[:, READ_SEQUENCE].tolist() == list(range(1, 201))
    for n in (0, 1, 77, 199):
        t = n / 500.0
        x, q = wave(t)
        assert rows[n, READ_POSITION : READ_POSITION + 3] == pytest.approx(x, abs=1e-15)
        assert rows[n, READ_QUATERNION : READ_QUATERNION + 4] == pytest.approx(q, abs=1e-15)
        # differences over 0.1 ms: δ²/6 of a third derivative of 70 m/s³, twice that at the start
        twist = rows[n, READ_VELOCITY : READ_VELOCITY + 6]
        assert twist == pytest.approx(wave_twist(t), abs=1e-6)


def test_a_script_is_never_asked_before_its_start() -> None:
    asked = []

    def script(t: float) -> tuple[float, float, float]:
        asked.append(t)
        return (t**1.5, 0.0, 0.0)

    Scripted(script).table(1000.0, 5)
    assert min(asked) == 0.0


@pytest.mark.parametrize(
    "given",
    [
        (1.0, 2.0, 3.0),
        [1, 2, 3],
        np.array([1.0, 2.0, 3.0]),
        ((1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0)),
        (np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 0.0, 0.0])),
        ((1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ],
)
def test_a_script_may_give_its_pose_in_several_ways(given: Any) -> None:
    row = Scripted(lambda _: given).table(1000.0, 1)[0]
    assert row[:7].tolist() == [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]
    assert not row[READ_VELOCITY : READ_VELOCITY + 6].any()


def test_velocities_that_are_given_are_taken() -> None:
    twist = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    row = Scripted(lambda _: ((0, 0, 0), (1, 0, 0, 0), *twist)).table(1000.0, 1)[0]
    assert row[READ_VELOCITY : READ_VELOCITY + 6].tolist() == [1, 2, 3, 4, 5, 6]


def test_a_quaternion_is_normalised_and_its_sign_does_not_matter() -> None:
    def flips(t: float) -> Any:
        sign = -1.0 if round(t * 1e4) % 2 else 1.0
        return (0.0, 0.0, 0.0), tuple(sign * (1 + 1e-8) * c for c in (cos(t), sin(t), 0.0, 0.0))

    rows = Scripted(flips).table(1000.0, 10)
    q = rows[:, READ_QUATERNION : READ_QUATERNION + 4]
    assert np.linalg.norm(q, axis=1) == pytest.approx(1.0, abs=1e-15)
    assert rows[:, READ_OMEGA] == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((nan, 0.0, 0.0), r"position at t = 0.25 s is \(nan.*finite"),
        ((0.0, inf, 0.0), "finite"),
        ((0.0, 0.0), "position at t = 0.25 s is 0.0: give 3 numbers"),
        ("abc", "position at t = 0.25 s is 'abc'"),
        (None, "position.*None"),
        (((0, 0, 0), (0, 0, 0, 0)), "length 0: give a unit quaternion"),
        (((0, 0, 0), (2, 0, 0, 0)), "length 2"),
        (((0, 0, 0), (1, 0, 0)), "orientation at t = 0.25 s has 3 numbers: give 4"),
        (((0, 0, 0), (1, 0, 0, 0), (nan, 0, 0), (0, 0, 0)), r"velocity at t = 0.25 s is \(nan"),
        (((0, 0, 0), (1, 0, 0, 0), (0, 0, 0)), "3 parts"),
    ],
)
def test_a_bad_script_is_refused_with_the_time(given: Any, words: str) -> None:
    def script(t: float) -> Any:
        return given if 0.2499 < t < 0.2501 else (0.0, 0.0, 0.0)

    with pytest.raises(SceneError, match=words) as told:
        Scripted(script).table(4.0, 3)
    assert "t = 0.25 s" in str(told.value)
    assert len(str(told.value).splitlines()) == 1


def test_a_script_that_fails_is_named_with_the_time() -> None:
    with pytest.raises(SceneError, match=r"fails at t = 0.5 s: ZeroDivisionError"):
        Scripted(lambda t: (0.1 / (0.5 - t), 0.0, 0.0)).table(2.0, 3)
    with pytest.raises(SceneError, match="a function of time, not tuple"):
        Scripted((0.0, 0.0, 0.0))  # type: ignore[arg-type]


@pytest.mark.parametrize(("rate", "ticks"), [(0.0, 5), (nan, 5), (-1.0, 5), (1000.0, 0)])
def test_a_table_needs_a_rate_and_ticks(rate: float, ticks: int) -> None:
    with pytest.raises(SceneError, match="positive rate and at least one tick"):
        Scripted(wave).table(rate, ticks)


def test_in_real_time_a_bad_script_is_a_fault() -> None:
    out = np.zeros(NREAD)
    with Scripted(lambda t: (0.0, 0.0, 0.0) if t < 0.01 else (nan, 0.0, 0.0)) as hand:
        time.sleep(0.02)
        hand.read(out)
        assert out[READ_STATUS] == FAULT_READ
        assert "finite" in hand.fault
    assert np.isfinite(out).all()


# ---------------------------------------------------------------- Playback


def recording(ticks: int = 40, rate: float = 1000.0) -> dict[str, Any]:
    rows = Scripted(wave, buttons=lambda t: int(t > 0.02)).table(rate, ticks)
    return {
        "time": 5.0 + rows[:, READ_TIME],
        "device.position": rows[:, 0:3],
        "device.orientation": rows[:, 3:7],
        "device.velocity": rows[:, 7:10],
        "device.angular_velocity": rows[:, 10:13],
        "buttons": rows[:, READ_BUTTONS],
        "fault": np.where(np.arange(ticks) == 7, 1024 + FAULT_READ, 0),
    }


def test_a_recording_is_played_bit_for_bit() -> None:
    trace = recording()
    played = Playback(trace)
    assert played.rate == pytest.approx(1000.0)
    rows = played.table(1000.0, 30)
    assert rows.shape == (30, NREAD)
    assert (rows[:, 0:3] == trace["device.position"][:30]).all()
    assert (rows[:, 3:7] == trace["device.orientation"][:30]).all()
    assert (rows[:, 7:10] == trace["device.velocity"][:30]).all()
    assert (rows[:, 10:13] == trace["device.angular_velocity"][:30]).all()
    assert (rows[:, READ_BUTTONS] == trace["buttons"][:30]).all()
    assert np.flatnonzero(rows[:, READ_STATUS]).tolist() == [7]
    assert rows[7, READ_STATUS] == FAULT_READ
    assert rows[:, READ_SEQUENCE].tolist() == list(range(1, 31))
    assert len(played.table(1000.0)) == 40


def test_a_recording_of_one_tool_of_several() -> None:
    named = {f"left.{key}" if key != "time" else key: value for key, value in recording().items()}
    rows = Playback(named, tool="left").table(1000.0)
    assert (rows[:, 0:3] == named["left.device.position"]).all()
    assert rows[30, READ_BUTTONS] == 1.0


def test_columns_beside_the_motion_may_be_missing() -> None:
    trace = recording()
    del trace["buttons"], trace["fault"]
    rows = Playback(trace).table(1000.0)
    assert not rows[:, READ_BUTTONS].any()
    assert not rows[:, READ_STATUS].any()


def test_what_a_recording_cannot_play_is_refused_in_words() -> None:
    trace = recording()
    with pytest.raises(SceneError, match=r"has 40 ticks \(0.04 s\), 50 were asked for"):
        Playback(trace).table(1000.0, 50)
    with pytest.raises(SceneError, match="made at 1000 Hz"):
        Playback(trace).table(500.0, 10)
    with pytest.raises(SceneError, match="no ticks"):
        Playback({"time": []})
    with pytest.raises(SceneError, match=r"Trace.load\('session.h5'\)"):
        Playback("session.h5")  # type: ignore[arg-type]
    trace["device.velocity"] = trace["device.velocity"][:, :2]
    with pytest.raises(SceneError, match=r"device.velocity .* shape \(40, 2\)"):
        Playback(trace)
    trace = recording()
    trace["device.position"][11, 1] = nan
    with pytest.raises(SceneError, match="not finite at tick 11"):
        Playback(trace)


def test_a_recording_read_by_the_clock_stays_at_its_end() -> None:
    trace = recording(5)
    out = np.zeros(NREAD)
    with Playback(trace) as played:
        played.read(out)
        time.sleep(0.02)
        played.read(out)
    assert (out[0:3] == trace["device.position"][-1]).all()
    assert out[READ_STATUS] == 0


# ---------------------------------------------------------------- Hand


def test_a_hand_has_an_arm_array_and_a_table_of_aims() -> None:
    hand = Hand(wave, device="omega.6", mass=0.2)
    arm = hand.arm()
    assert arm.shape == (NARM,)
    assert arm[ARM_MASS] == 0.2
    assert arm[ARM_DELAY] == 1.0
    assert hand.info.max_force == 12.0
    assert hand.info.max_torque == 0.0
    assert hand.info.name == "hand on omega.6"
    assert (hand.table(1000.0, 20) == Scripted(wave).table(1000.0, 20)).all()


def test_a_device_without_wrist_does_not_see_the_hand_turn() -> None:
    rows = Hand(wave, device="Falcon").table(1000.0, 20)
    assert (rows[:, READ_QUATERNION : READ_QUATERNION + 4] == [1.0, 0.0, 0.0, 0.0]).all()
    assert not rows[:, READ_OMEGA : READ_OMEGA + 3].any()


def test_every_known_device_can_be_emulated() -> None:
    from tangere.devices.device import MODELS

    for name in MODELS:
        assert device_model(name).max_force == MODELS[name].max_force
    with pytest.raises(DeviceError, match=r"no model 'omega\.9'"):
        Hand(device="omega.9")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"mass": 0.0}, "mass 0 of a hand: must be positive"),
        ({"stiffness": -1.0}, "stiffness -1 of a hand: must not be negative"),
        ({"damping": nan}, "damping nan"),
        ({"inertia": inf}, "inertia inf"),
        ({"substeps": 0}, "at least one part"),
    ],
)
def test_an_impossible_arm_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(SceneError, match=words):
        Hand(**wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"mass": -1.0}, "mass -1"),
        ({"friction": nan}, "friction nan"),
        ({"delay": MAX_DELAY + 1}, f"at most {MAX_DELAY}"),
        ({"sample_every": 0}, "at least 1 tick"),
    ],
)
def test_an_impossible_device_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(SceneError, match=words):
        DeviceModel(**wrong)


def test_read_by_the_clock_a_push_moves_the_hand_and_the_books_balance() -> None:
    """1 N against 300 N/m; the arm needs a fifth of a second to get there."""
    out = np.zeros(NREAD)
    hand = Hand(damping=15.0)
    with hand:
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            hand.write(np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0]))
            hand.read(out)
            time.sleep(1e-3)
        books = hand.books()
    assert out[READ_POSITION + 2] == pytest.approx(-1.0 / 300.0, rel=0.01)
    assert books.stored == pytest.approx(books.given + books.intent - books.lost, rel=1e-9)
    assert books.given > 0.0
