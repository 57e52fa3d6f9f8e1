"""One tick: what it reads, computes, sends and writes; every fault injected."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tangere.contact_planes import (
    PLANE_STIFFNESS,
)
from tangere.fakes.rigs import (
    DEPTH,
    DT,
    STIFFNESS,
    free_rig,
    packet,
    pressing_rig,
    reading,
    run,
    run_in_touch,
    send_packet,
    send_reading,
)
from tangere.haptics import layout
from tangere.haptics.coupling import DirectCoupling
from tangere.haptics.layout import (
    FAULT_ESCAPE,
    FAULT_JUMP,
    FAULT_NAN_CONTACT,
    FAULT_NAN_READING,
    FAULT_READ,
    FAULT_SILENT,
    FAULT_SPEED,
    FAULT_STALE,
    FAULT_TOOL,
    FAULT_VIEWER,
    FAULT_WRITE,
    MEM_OUTSIDE,
    NROW,
    NSEND,
    NSTATE,
    PACKET_COUNT,
    PACKET_PLANES,
    PACKET_TIME,
    READ_APPLIED,
    READ_POSITION,
    READ_QUATERNION,
    READ_STATUS,
    READ_VELOCITY,
    ROW_AGE,
    ROW_CONTACT,
    ROW_COUPLING,
    ROW_DEVICE,
    ROW_FAULT,
    ROW_GAIN,
    ROW_HAND,
    ROW_SENT,
    ROW_TIME,
    ROW_TOOL,
    SEND_SEQUENCE,
    SOURCE_ARM,
    STATE_SEQUENCE,
    STATE_TOOL,
    STOPS_FORCE,
    TOOL_POSITION,
    Rig,
)
from tangere.haptics.mailbox import take
from tangere.haptics.safety import Safety
from tangere.haptics.tick import run_ticks
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

RAMP = 0.02  # [s] 20 ticks
FAULT_TICK = 40


def faults(rows: Array) -> list[int]:
    return [int(bits) for bits in rows[:, ROW_FAULT]]


def force(rows: Array) -> Array:
    size: Array = np.linalg.norm(rows[:, ROW_SENT : ROW_SENT + 3], axis=1)
    return size


def test_the_hand_feels_the_coupling_and_the_row_tells_all() -> None:
    rig = pressing_rig(60)
    rows = run_in_touch(rig, 0, 60)
    last = rows[-1]
    assert faults(rows) == [0] * 60
    assert last[ROW_TIME] == pytest.approx(59 * DT)
    assert last[ROW_DEVICE : ROW_DEVICE + 3].tolist() == [0.0, 0.0, -DEPTH]
    assert last[ROW_HAND : ROW_HAND + 7].tolist() == [0.0, 0.0, -DEPTH, 1.0, 0.0, 0.0, 0.0]
    # two springs in series: the plane yields by 1/11 of the way
    depth = -last[ROW_TOOL + 2]
    assert depth == pytest.approx(DEPTH * STIFFNESS / (STIFFNESS + 2000.0), rel=1e-3)
    pull = STIFFNESS * (DEPTH - depth)
    assert last[ROW_COUPLING + 2] == pytest.approx(-pull, rel=1e-3)
    assert last[ROW_CONTACT + 2] == pytest.approx(pull, rel=1e-3)
    assert last[ROW_SENT : ROW_SENT + 3] == pytest.approx(-last[ROW_COUPLING : ROW_COUPLING + 3])
    assert last[ROW_SENT + 2] > 0.5  # out of the plane


def test_what_is_sent_and_published_is_in_the_mailboxes() -> None:
    rig = pressing_rig(3)
    rows = run_in_touch(rig, 0, 3)
    command, state = np.zeros(NSEND), np.zeros(NSTATE)
    assert take(rig.outbox, rig.outbox_at, command, NSEND)
    assert command[:6].tolist() == rows[-1, ROW_SENT : ROW_SENT + 6].tolist()
    assert command[SEND_SEQUENCE] == 2
    assert take(rig.states, rig.states_at, state, NSTATE)
    assert state[STATE_SEQUENCE] == 2
    assert state[STATE_TOOL : STATE_TOOL + 13].tolist() == rig.tool.tolist()


def test_many_ticks_in_one_call_are_the_same_ticks() -> None:
    wave = 0.01 * np.sin(np.arange(50) * 0.1)
    pieces = []
    for parts in ([50], [1] * 50, [7, 20, 23]):
        rig = free_rig(50)
        rig.table[:, READ_POSITION] = wave
        rows, first = np.zeros((50, NROW)), 0
        for count in parts:
            run_ticks(rig, first, count, 0.0, rows[first : first + count])
            first += count
        pieces.append(rows.tobytes())
    assert pieces[0] == pieces[1] == pieces[2]


def test_a_table_that_has_ended_stays_at_its_last_row() -> None:
    rig = free_rig(3)
    rig.table[:, READ_POSITION] = (0.0, 0.001, 0.002)
    assert run(rig, 0, 6)[:, ROW_HAND].tolist() == [0.0, 0.001, 0.002, 0.002, 0.002, 0.002]


def test_the_arm_is_moved_by_what_was_sent() -> None:
    from tangere.devices.simulated import Hand

    hand = Hand(lambda _: (0.0, 0.0, -DEPTH))
    rig = pressing_rig(400, coupling=DirectCoupling())
    rig.source[0] = SOURCE_ARM
    rig.arm[:] = hand.arm()
    rows = run_in_touch(rig, 0, 400)
    assert faults(rows)[-1] & STOPS_FORCE == 0
    # 300 N/m of the arm against 2000 N/m of the plane; it still swings by a fifth
    rest = rows[200:, ROW_DEVICE + 2].mean()
    assert rest == pytest.approx(-DEPTH * 300.0 / 2300.0, rel=0.1)


# ---------------------------------------------------------------- faults


def break_row(column: int, value: float) -> Callable[[Rig], None]:
    def change(rig: Rig) -> None:
        rig.table[FAULT_TICK, column] = value

    return change


def all_from(column: int, value: float) -> Callable[[Rig], None]:
    def change(rig: Rig) -> None:
        rig.table[FAULT_TICK:, column] += value

    return change


@pytest.mark.parametrize(
    ("bit", "change"),
    [
        (FAULT_NAN_READING, break_row(READ_POSITION, np.nan)),
        (FAULT_NAN_READING, break_row(READ_POSITION + 1, 1e6)),
        (FAULT_NAN_READING, break_row(READ_QUATERNION, np.inf)),
        (FAULT_NAN_READING, break_row(READ_QUATERNION, 0.1)),
        (FAULT_NAN_READING, break_row(READ_VELOCITY, -np.inf)),
        (FAULT_NAN_READING, break_row(READ_APPLIED + 2, np.nan)),
        (FAULT_READ, break_row(READ_STATUS, FAULT_READ)),
        (FAULT_READ, break_row(READ_STATUS, np.nan)),
        (FAULT_READ, break_row(READ_STATUS, layout.FAULT_RECORD)),
        (FAULT_WRITE, break_row(READ_STATUS, FAULT_WRITE)),
        (FAULT_SPEED, break_row(READ_VELOCITY, 3.0)),
        (FAULT_JUMP, all_from(READ_POSITION, 1.0)),
        (FAULT_JUMP, all_from(READ_POSITION + 2, -1.0)),
    ],
    ids=[
        "position is no number",
        "position is out of this world",
        "attitude is infinite",
        "attitude is no rotation",
        "velocity is infinite",
        "its own force is no number",
        "read fails",
        "status is no number",
        "status without meaning here",
        "write fails",
        "too fast",
        "jump by 1 m",
        "jump by 1 m into the plane",
    ],
)
def test_a_bad_reading_stops_the_force_at_once_and_it_ramps_up_again(
    bit: int, change: Callable[[Rig], None]
) -> None:
    rig = pressing_rig(100, Safety(ramp=RAMP, samples=0, lead=False, net=False))
    change(rig)
    rows = run_in_touch(rig, 0, 100)
    felt = force(rows)
    assert faults(rows[:FAULT_TICK]) == [0] * FAULT_TICK
    assert felt[FAULT_TICK - 1] > 0.5
    assert faults(rows)[FAULT_TICK] == bit
    assert felt[FAULT_TICK] == 0.0
    assert faults(rows[FAULT_TICK + 1 :]) == [0] * 59
    gains = rows[FAULT_TICK : FAULT_TICK + 21, ROW_GAIN]
    assert gains == pytest.approx(np.linspace(0.0, 1.0, 21), abs=1e-9)
    assert felt[-1] == pytest.approx(felt[FAULT_TICK - 1], rel=0.02)
    # the hand never leaves its place, whatever the device said
    hand = rows[:, ROW_HAND : ROW_HAND + 3]
    assert np.abs(hand - [0.0, 0.0, -DEPTH]).max() < 1e-12


def test_what_a_failed_read_left_behind_is_not_believed() -> None:
    rig = pressing_rig(60)
    rig.table[40, READ_STATUS] = FAULT_READ
    rig.table[40, READ_POSITION + 2] -= 0.01
    rows = run_in_touch(rig, 0, 60)
    assert faults(rows)[40] == FAULT_READ
    assert (rows[:, ROW_HAND + 2] == -DEPTH).all()


def test_after_a_jump_the_hand_moves_on_with_the_device() -> None:
    rig = free_rig(30, Safety(ramp=0.0, stale=np.inf, fresh=np.inf, samples=0))
    rig.table[:, READ_POSITION] = 0.001 * np.arange(30)
    rig.table[10:, READ_POSITION] += 0.7
    rows = run(rig, 0, 30)
    assert faults(rows)[10] == FAULT_JUMP
    steps = np.diff(rows[:, ROW_HAND])
    assert np.delete(steps, 9) == pytest.approx(np.full(28, 0.001), abs=1e-12)
    assert steps[9] == pytest.approx(0.0, abs=1e-12)


def test_a_device_that_falls_silent_stops_the_force() -> None:
    rig = pressing_rig(1, Safety(ramp=RAMP, silence=0.0105, fresh=1.0, stale=1.0, samples=0))
    rows = []
    for n in range(100):
        if not 40 <= n < 60:
            send_reading(rig, reading(n + 1))
        rows.append(run_in_touch(rig, n, 1)[0])
    table = np.array(rows)
    assert faults(table) == [FAULT_SILENT if 50 <= n < 60 else 0 for n in range(100)]
    assert force(table)[39:50].min() > 0.5
    assert force(table)[50:60].max() == 0.0
    assert table[60:81, ROW_GAIN] == pytest.approx(np.arange(1, 22).clip(max=20) / 20)


def test_before_the_first_sample_nothing_is_sent_and_the_tool_stays() -> None:
    rig = pressing_rig(1)
    rig.source[0] = layout.SOURCE_PORT
    rig.tool[TOOL_POSITION] = 0.3
    rows = run_in_touch(rig, 0, 5)
    assert faults(rows) == [0] * 5  # it is waited for; later it counts as silent
    assert force(rows).max() == 0.0
    assert (rows[:, ROW_TOOL] == 0.3).all()


def test_a_contact_loop_that_hangs_lets_the_force_decay_to_zero() -> None:
    rig = pressing_rig(200, Safety(ramp=RAMP, fresh=0.02, stale=0.05, samples=0, lead=False))
    before = run_in_touch(rig, 0, 60)  # the last packet is of 59 ms
    alone = run(rig, 60, 60)
    age = alone[:, ROW_AGE]
    assert age == pytest.approx(np.arange(1, 61) * DT)
    gain = np.clip(1.0 - (age - 0.02) / 0.03, 0.0, 1.0)
    assert alone[:, ROW_GAIN] == pytest.approx(np.where(age > 0.05 + 1e-9, 0.0, gain), abs=1e-9)
    assert faults(alone) == [FAULT_STALE if a > 0.05 + 1e-9 else 0 for a in age]
    assert force(alone)[:19] == pytest.approx(np.full(19, force(before)[-1]), rel=1e-3)
    assert force(alone)[51:].max() == 0.0
    # the tool stays on the plane: old planes are better than none
    assert alone[-1, ROW_TOOL + 2] > -0.1 * DEPTH
    again = run_in_touch(rig, 120, 40)
    assert faults(again) == [0] * 40
    assert again[0, ROW_GAIN] == pytest.approx(1.0 / 20)
    assert force(again)[-1] == pytest.approx(force(before)[-1], rel=1e-3)


def test_a_contact_loop_that_never_began_is_stale_too() -> None:
    rows = run(free_rig(100, Safety(ramp=0.0, fresh=0.02, stale=0.05)), 0, 100)
    assert faults(rows)[:50] == [0] * 50
    assert faults(rows)[52:] == [FAULT_STALE] * 48


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (PACKET_PLANES, np.nan),
        (PACKET_PLANES + PLANE_STIFFNESS, np.inf),
        (PACKET_PLANES + PLANE_STIFFNESS, -1.0),
        (PACKET_COUNT, 17.0),
        (PACKET_COUNT, -1.0),
        (PACKET_COUNT, np.nan),
        (PACKET_TIME, np.nan),
        (PACKET_TIME, 99.0),
        (layout.PACKET_WRENCH, np.inf),
        (layout.PACKET_STATE + layout.TOOL_QUATERNION, 0.0),
    ],
)
def test_a_bad_packet_stops_the_force_until_a_good_one_comes(column: int, value: float) -> None:
    rig = pressing_rig(100, Safety(ramp=RAMP, samples=0, lead=False, net=False))
    before = run_in_touch(rig, 0, 40)
    bad = packet(41, 40 * DT)
    bad[column] = value
    send_packet(rig, bad)
    during = run(rig, 40, 3)
    assert faults(during) == [FAULT_NAN_CONTACT] * 3
    assert force(during).max() == 0.0
    after = run_in_touch(rig, 43, 40)
    assert faults(after) == [0] * 40
    assert after[0, ROW_GAIN] == pytest.approx(1.0 / 20)
    assert force(after)[-1] == pytest.approx(force(before)[-1], rel=1e-3)


def test_a_tool_that_is_lost_comes_back_to_the_hand() -> None:
    rig = pressing_rig(100, Safety(ramp=RAMP, samples=0, lead=False, net=False))
    run_in_touch(rig, 0, 40)
    rig.tool[TOOL_POSITION] = np.nan
    row = run_in_touch(rig, 40, 1)
    assert faults(row) == [FAULT_TOOL]
    assert force(row)[0] == 0.0
    assert rig.tool[:3].tolist() == [0.0, 0.0, -DEPTH]
    after = run_in_touch(rig, 41, 40)
    assert faults(after)[-1] == 0
    assert force(after)[-1] > 0.5


def test_others_can_stop_the_force_or_leave_a_note() -> None:
    rig = pressing_rig(100)
    run_in_touch(rig, 0, 40)
    rig.memory[MEM_OUTSIDE] = FAULT_VIEWER
    row = run_in_touch(rig, 40, 1)
    assert faults(row) == [FAULT_VIEWER]
    assert force(row)[0] > 0.5
    rig.memory[MEM_OUTSIDE] = FAULT_ESCAPE
    row = run_in_touch(rig, 41, 1)
    assert faults(row) == [FAULT_ESCAPE]
    assert force(row)[0] == 0.0
