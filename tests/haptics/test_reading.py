"""From a reading to the hand: mapped, placed, clutched, led over the device's delay."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import quaternions

from tangere.fakes.rigs import (
    DT,
    PLAIN,
    free_rig,
    pressing_rig,
    reading,
    run,
    run_in_touch,
    send_reading,
)
from tangere.haptics.layout import (
    FAULT_JUMP,
    FORCE_ACTIVE,
    FORCE_WAITING,
    HAND_OMEGA,
    HAND_POSITION,
    HAND_QUATERNION,
    HAND_VELOCITY,
    MAX_DELAY,
    MEM_HOLD,
    NHAND,
    PLACE_ON_TOOL,
    READ_BUTTONS,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_TIME,
    READ_VELOCITY,
    ROW_DEVICE,
    ROW_FAULT,
    ROW_HAND,
    ROW_LEAD,
    ROW_OBSERVED,
    ROW_SENT,
    ROW_STATE,
    ROW_TOOL,
    SET_CENTRE,
    SET_CLUTCH,
    SET_CLUTCH_TOGGLES,
    SET_DELAY,
    SET_FRAME,
    SET_LEAD,
    SET_ORIGIN,
    SET_PLACE,
    SET_SAMPLES,
    SET_SCALE,
    STOPS_FORCE,
    Rig,
)
from tangere.haptics.reading import LONGEST_LEAD, delay_ticks, lead_hand
from tangere.maths.quat import turn_between
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

ROUNDING = 1e-12
CALM = replace(PLAIN, fresh=inf, stale=inf, slew=inf, torque_slew=inf)


def rotation(q: Array) -> Array:
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def bits(rows: Array) -> list[int]:
    return [int(value) for value in rows[:, ROW_FAULT]]


def swinging_rig(ticks: int) -> Rig:
    """A device that moves and turns smoothly along all axes."""
    rig = free_rig(ticks, CALM)
    t = DT * np.arange(ticks)
    for k in range(3):
        rig.table[:, READ_POSITION + k] = 0.03 * np.sin((3.0 + k) * t + k)
        rig.table[:, READ_VELOCITY + k] = 0.03 * (3.0 + k) * np.cos((3.0 + k) * t + k)
        rig.table[:, READ_OMEGA + k] = 0.1 * k
    half = 0.3 * np.sin(2.0 * t)
    rig.table[:, READ_QUATERNION] = np.cos(half)
    rig.table[:, READ_QUATERNION + 1] = np.sin(half) * 0.6
    rig.table[:, READ_QUATERNION + 3] = np.sin(half) * 0.8
    rig.table[:, READ_TIME] = t
    return rig


# ---------------------------------------------------------------- mapping and placing


@given(quaternions(), st.floats(0.1, 5.0))
@settings(max_examples=20)
def test_the_hand_is_the_device_scaled_turned_and_moved(
    frame: tuple[float, float, float, float], sigma: float
) -> None:
    rig = swinging_rig(5)
    s = rig.settings
    s[SET_FRAME : SET_FRAME + 4], s[SET_SCALE] = frame, sigma
    s[SET_ORIGIN : SET_ORIGIN + 3] = (0.1, -0.2, 0.3)
    s[SET_CENTRE : SET_CENTRE + 3] = (0.01, 0.02, 0.03)
    rows = run(rig, 0, 5)
    turn = rotation(np.array(frame))
    for device, row in zip(rig.table, rows, strict=True):
        hand = row[ROW_HAND:]
        assert hand[:3] == pytest.approx(
            (0.1, -0.2, 0.3) + sigma * turn @ (device[:3] - (0.01, 0.02, 0.03)), abs=ROUNDING
        )
        # an upright device shows an upright hand, and turns it about the same axis seen from there
        shown = turn @ rotation(device[3:7]) @ turn.T
        assert rotation(hand[3:7]) == pytest.approx(shown, abs=ROUNDING)
        assert hand[7:10] == pytest.approx(sigma * turn @ device[7:10], abs=ROUNDING)
        assert hand[10:13] == pytest.approx(turn @ device[10:13], abs=ROUNDING)


def test_the_device_shows_the_hand_on_its_tool_wherever_it_is() -> None:
    rig = swinging_rig(30)
    rig.settings[SET_SCALE] = 2.0
    rig.settings[SET_SAMPLES], rig.settings[SET_PLACE] = 10, PLACE_ON_TOOL
    rig.table[:, READ_POSITION] += 0.1
    wanted = np.array([0.5, 0.6, 0.7, 0.0, 0.6, 0.0, 0.8])
    rig.hand[:7] = wanted
    rows = run(rig, 0, 30)
    # nobody moved before the tenth good sample, and none was felt
    assert (rows[:9, ROW_HAND : ROW_HAND + 7] == wanted).all()
    assert (rows[:9, ROW_STATE] == FORCE_WAITING).all()
    assert (rows[:9, ROW_SENT : ROW_SENT + 6] == 0.0).all()
    assert rows[9, ROW_HAND : ROW_HAND + 7] == pytest.approx(wanted, abs=ROUNDING)
    assert rows[-1, ROW_STATE] == FORCE_ACTIVE
    assert rows[-1, ROW_HAND] - rows[9, ROW_HAND] == pytest.approx(
        2.0 * (rig.table[29, 0] - rig.table[9, 0]), abs=ROUNDING
    )


def test_a_bad_sample_begins_the_count_again() -> None:
    rig = free_rig(1, replace(PLAIN, samples=10, silence=inf))
    rig.settings[SET_PLACE] = PLACE_ON_TOOL
    states = []
    for n in range(40):
        send_reading(rig, reading(n + 1, z=0.1, status=1.0 if n == 7 else 0.0, time=n * DT))
        states.append(int(run(rig, n, 1)[0, ROW_STATE]))
    assert FORCE_ACTIVE not in states[:17]
    # the fault is gone in tick 8, the samples after it count
    assert states.index(FORCE_ACTIVE) == 18


def test_a_jump_is_not_believed_and_is_no_work() -> None:
    rig = pressing_rig(60)
    rig.table[50:, READ_POSITION + 2] += 1.0
    rows = run_in_touch(rig, 0, 60)
    assert bits(rows)[50] & FAULT_JUMP
    assert rows[50, ROW_OBSERVED] == rows[49, ROW_OBSERVED]
    assert rows[-1, ROW_HAND + 2] == pytest.approx(rows[49, ROW_HAND + 2], abs=ROUNDING)


# ---------------------------------------------------------------- clutch


def test_the_clutch_holds_the_hand_and_lets_it_go_on_from_there() -> None:
    ticks, press, release = 120, 40, 80
    rig = swinging_rig(ticks)
    rig.settings[SET_FRAME : SET_FRAME + 4] = (0.8, 0.0, 0.6, 0.0)
    rig.settings[SET_SCALE] = 1.5
    rig.table[press:release, READ_BUTTONS] = 1
    rows = run(rig, 0, ticks)
    hand = rows[:, ROW_HAND : ROW_HAND + NHAND]
    assert not any(bit & STOPS_FORCE for bit in bits(rows))
    held = hand[press : release + 1, :7]
    assert np.abs(held - hand[press - 1, :7]).max() < ROUNDING
    assert (hand[press:release, 7:] == 0.0).all()
    moved = np.linalg.norm(np.diff(hand[:, :3], axis=0), axis=1)
    assert moved.max() < 1.5 * 0.03 * 5.0 * 2.0 * DT  # nowhere a jump
    # afterwards it moves and turns as the device does, seen from the world
    frame = rotation(np.array([0.8, 0.0, 0.6, 0.0]))
    step = rig.table[-1, :3] - rig.table[release, :3]
    assert hand[-1, :3] - hand[release, :3] == pytest.approx(1.5 * frame @ step, abs=ROUNDING)
    device = turn_between(tuple(rig.table[release, 3:7]), tuple(rig.table[-1, 3:7]))
    shown = turn_between(tuple(hand[release, 3:7]), tuple(hand[-1, 3:7]))
    assert shown == pytest.approx(frame @ device, abs=1e-9)


def test_the_clutch_takes_the_force_away() -> None:
    rig = pressing_rig(100)
    rig.table[40:70, READ_BUTTONS] = 1
    felt = run_in_touch(rig, 0, 100)[:, ROW_SENT + 2]
    assert felt[39] > 0.5
    assert (np.diff(felt[39:61]) < 1e-6).all()
    assert felt[61:70].max() == 0.0
    assert felt[-1] > 0.5


def held(rig: Rig) -> list[bool]:
    """Ticks in which the hand stood still although the device moved."""
    rows = run(rig, 0, len(rig.table))
    moved = np.abs(np.diff(rows[:, ROW_HAND : ROW_HAND + 3], axis=0)).max(axis=1)
    return [bool(step < ROUNDING) for step in moved]


def test_another_button_or_none_may_be_the_clutch() -> None:
    for number, buttons, holds in ((2, 4, True), (2, 1, False), (-1, 1, False)):
        rig = swinging_rig(20)
        rig.settings[SET_CLUTCH] = number
        rig.table[10:, READ_BUTTONS] = buttons
        assert held(rig)[12] == holds
        assert not held(swinging_rig(20))[5]


def test_a_clutch_that_toggles_holds_until_the_next_press() -> None:
    rig = swinging_rig(60)
    rig.settings[SET_CLUTCH_TOGGLES] = 1.0
    rig.table[10:13, READ_BUTTONS] = 1
    rig.table[40:43, READ_BUTTONS] = 1
    still = held(rig)
    assert still[11:38] == [True] * 27
    assert not any(still[:8] + still[42:])


def test_others_may_hold_the_clutch() -> None:
    rig = swinging_rig(20)
    rig.memory[MEM_HOLD] = 1.0
    assert all(held(rig))


# ---------------------------------------------------------------- lead


def test_the_lead_is_the_hand_a_while_later() -> None:
    hand, ahead = np.zeros(NHAND), np.zeros(NHAND)
    hand[HAND_QUATERNION] = 1.0
    hand[HAND_VELOCITY : HAND_VELOCITY + 3] = (0.1, -0.2, 0.3)
    hand[HAND_OMEGA : HAND_OMEGA + 3] = (0.0, 2.0, 0.0)
    lead_hand(hand, 5e-3, ahead)
    assert ahead[HAND_POSITION : HAND_POSITION + 3] == pytest.approx([5e-4, -1e-3, 1.5e-3])
    turned = turn_between((1.0, 0.0, 0.0, 0.0), tuple(ahead[3:7]))
    assert turned == pytest.approx([0.0, 0.01, 0.0])
    assert (ahead[HAND_VELOCITY:] == hand[HAND_VELOCITY:]).all()


@pytest.mark.parametrize(
    ("delay", "age", "ticks"),
    [(0.0, 0.0, 0), (1e-3, 0.0, 1), (2e-3, 0.3e-3, 3), (0.4e-3, 0.0, 1), (1.0, 0.0, MAX_DELAY)],
)
def test_delay_is_what_the_device_says_and_what_is_seen_rounded_up(
    delay: float, age: float, ticks: int
) -> None:
    rig = free_rig(1, CALM)
    rig.settings[SET_DELAY], rig.settings[SET_LEAD] = delay, 1.0
    for n in range(10):
        send_reading(rig, reading(n + 1, time=n * DT - age))
        row = run(rig, n, 1)[0]
    assert delay_ticks(rig.settings, rig.memory) == ticks
    assert row[ROW_LEAD] == pytest.approx(min((ticks + 0.5) * DT, LONGEST_LEAD))


def test_with_the_lead_the_tool_is_where_the_hand_will_be() -> None:
    rigs = [swinging_rig(200) for _ in range(2)]
    rigs[1].settings[SET_DELAY], rigs[1].settings[SET_LEAD] = 4e-3, 1.0
    plain, led = (run(rig, 0, 200)[-1] for rig in rigs)
    # the row shows the true hand
    assert (plain[ROW_HAND : ROW_HAND + 7] == led[ROW_HAND : ROW_HAND + 7]).all()
    speed = plain[ROW_DEVICE + 7 : ROW_DEVICE + 10]
    apart = led[ROW_TOOL : ROW_TOOL + 3] - plain[ROW_TOOL : ROW_TOOL + 3]
    # a straight line for a time τ: off by ½ τ² a, and the tool of 10 g lags by as much again
    assert apart == pytest.approx(4.5e-3 * speed, abs=2e-5)
