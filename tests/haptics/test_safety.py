"""The safety stage: nothing that goes in can make it send what it must not."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf, nan

import numpy as np
import pytest
from haptics.hands import (
    DT,
    free_rig,
    packet,
    pressing_rig,
    run,
    run_in_touch,
    send_packet,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import quaternions

from tangere._jit import JIT_DISABLED
from tangere.errors import SceneError
from tangere.haptics.coupling import DirectCoupling, VirtualCoupling
from tangere.haptics.layout import (
    CONTACT_HELD,
    FAULT_JUMP,
    FAULT_LIMIT,
    FAULT_NAN_FORCE,
    FAULT_PASSIVITY,
    HAND_POSITION,
    HAND_QUATERNION,
    NHAND,
    NPACKET,
    NREAD,
    PACKET_COUNT,
    PACKET_STATE,
    PACKET_WRENCH,
    READ_BUTTONS,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_VELOCITY,
    ROW_COUPLING,
    ROW_DEVICE,
    ROW_FAULT,
    ROW_GAIN,
    ROW_HAND,
    ROW_OBSERVED,
    ROW_SENT,
    ROW_SPENT,
    ROW_STORED,
    SET_CENTRE,
    SET_CONTACT,
    SET_FRAME,
    SET_ORIGIN,
    SET_SCALE,
    SOURCE_ARM,
    STOPS_FORCE,
    Rig,
)
from tangere.haptics.safety import RESERVE, Safety, place_hand, unlimited
from tangere.maths.quat import turn_between
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

ROUNDING = 1e-12
CALM = Safety(ramp=0.0, fresh=inf, stale=inf, slew=inf, passivity=False)


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


def swinging_rig(ticks: int, safety: Safety = CALM) -> Rig:
    """A device that moves and turns smoothly along all axes."""
    rig = free_rig(ticks, safety)
    t = DT * np.arange(ticks)
    for k in range(3):
        rig.table[:, READ_POSITION + k] = 0.03 * np.sin((3.0 + k) * t + k)
        rig.table[:, READ_VELOCITY + k] = 0.03 * (3.0 + k) * np.cos((3.0 + k) * t + k)
        rig.table[:, READ_OMEGA + k] = 0.1 * k
    half = 0.3 * np.sin(2.0 * t)
    rig.table[:, READ_QUATERNION] = np.cos(half)
    rig.table[:, READ_QUATERNION + 1] = np.sin(half) * 0.6
    rig.table[:, READ_QUATERNION + 3] = np.sin(half) * 0.8
    return rig


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"force": nan}, "force is nan"),
        ({"force": inf}, "the device's limit"),
        ({"torque": -1.0}, "torque is -1.0"),
        ({"ramp": -0.1}, "ramp"),
        ({"fresh": 0.2}, "age from fresh to stale"),
    ],
)
def test_wrong_limits_are_refused(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(SceneError, match=words):
        Safety(**wrong)  # type: ignore[arg-type]


# ---------------------------------------------------------------- device to hand


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


def test_a_hand_can_be_placed_before_the_start() -> None:
    rig = swinging_rig(3)
    rig.settings[SET_SCALE] = 2.0
    wanted = np.zeros(NHAND)
    wanted[HAND_POSITION : HAND_POSITION + 3] = (0.5, 0.6, 0.7)
    wanted[HAND_QUATERNION : HAND_QUATERNION + 4] = (0.0, 0.6, 0.0, 0.8)
    place_hand(rig.settings, rig.table[0].copy(), rig.memory, wanted)
    rows = run(rig, 0, 3)
    assert rows[0, ROW_HAND : ROW_HAND + 7] == pytest.approx(wanted[:7], abs=ROUNDING)
    assert rows[1, ROW_HAND] - rows[0, ROW_HAND] == pytest.approx(
        2.0 * (rig.table[1, 0] - rig.table[0, 0]), abs=ROUNDING
    )


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
    turned = [
        np.linalg.norm(turn_between(tuple(a), tuple(b)))
        for a, b in zip(hand[:-1, 3:7], hand[1:, 3:7], strict=True)
    ]
    assert max(turned) < 0.6 * 2.0 * DT * 1.1
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
    rows = run_in_touch(rig, 0, 100)
    felt = rows[:, ROW_SENT + 2]
    assert felt[39] > 0.5
    assert (np.diff(felt[39:61]) < 1e-6).all()
    assert felt[61:70].max() == 0.0
    assert felt[-1] > 0.5


# ---------------------------------------------------------------- hand to device


@given(quaternions(), st.floats(0.3, 3.0))
@settings(max_examples=20)
def test_the_wrench_has_one_power_factor_and_keeps_its_direction(
    frame: tuple[float, float, float, float], sigma: float
) -> None:
    """Power at the device is power at the hand over σ², for force and torque alike."""
    safe = Safety(ramp=0.0, fresh=inf, stale=inf, slew=inf, force=1e3, torque=1e3, passivity=False)
    rig = swinging_rig(20, safe)
    rig.settings[SET_FRAME : SET_FRAME + 4], rig.settings[SET_SCALE] = frame, sigma
    row = run(rig, 0, 20)[-1]
    device, hand = row[ROW_DEVICE:], row[ROW_HAND:]
    sent, pull = row[ROW_SENT : ROW_SENT + 6], row[ROW_COUPLING : ROW_COUPLING + 6]
    turn = rotation(np.array(frame))
    assert turn @ sent[:3] == pytest.approx(-pull[:3] / sigma, abs=ROUNDING)
    assert turn @ sent[3:] == pytest.approx(-pull[3:] / sigma**2, abs=ROUNDING)
    for k in (0, 3):
        at_device = sent[k : k + 3] @ device[7 + k : 10 + k]
        at_hand = -pull[k : k + 3] @ hand[7 + k : 10 + k]
        assert at_device == pytest.approx(at_hand / sigma**2, abs=1e-9)


@pytest.mark.parametrize(
    ("limits", "kept"),
    [({"force": 0.2}, "force"), ({"torque": 1e-4}, "torque"), ({"power": 1e-4}, "power")],
)
def test_a_limit_scales_the_whole_wrench(limits: dict[str, float], kept: str) -> None:
    wide = replace(CALM, force=50.0, torque=5.0)
    rows = [
        run(swinging_rig(200, safety), 0, 200)
        for safety in (wide, replace(wide, **limits))  # type: ignore[arg-type]
    ]
    acted = 0
    for whole, less in zip(*rows, strict=True):
        wrench, sent = whole[ROW_SENT : ROW_SENT + 6], less[ROW_SENT : ROW_SENT + 6]
        device = less[ROW_DEVICE:]
        sizes = {
            "force": np.linalg.norm(sent[:3]),
            "torque": np.linalg.norm(sent[3:]),
            "power": sent[:3] @ device[7:10] + sent[3:] @ device[10:13],
        }
        assert sizes[kept] <= limits[kept] * (1.0 + ROUNDING)
        share = float(np.linalg.norm(sent)) / max(float(np.linalg.norm(wrench)), 1e-300)
        assert sent == pytest.approx(share * wrench, rel=1e-9, abs=1e-15)
        limited = bool(int(less[ROW_FAULT]) & FAULT_LIMIT)
        assert limited == (share < 1.0 - 1e-9)
        acted += limited
    assert 0 < acted


def test_a_device_without_torque_gets_all_of_the_force() -> None:
    rig = swinging_rig(50, Safety(ramp=0.0, fresh=inf, stale=inf, torque=0.0, passivity=False))
    rows = run(rig, 0, 50)
    assert (rows[:, ROW_SENT + 3 : ROW_SENT + 6] == 0.0).all()
    assert rows[-1, ROW_SENT : ROW_SENT + 3] == pytest.approx(
        -rows[-1, ROW_COUPLING : ROW_COUPLING + 3], rel=ROUNDING
    )


def test_the_force_rises_no_faster_than_the_slew_rate() -> None:
    slow = Safety(ramp=0.0, slew=20.0, passivity=False)
    felt = run_in_touch(pressing_rig(100, slow), 0, 100)[:, ROW_SENT + 2]
    assert np.diff(felt).max() == pytest.approx(0.02, rel=1e-9)
    assert felt[-1] > 0.5


def test_a_force_beyond_all_numbers_is_a_fault() -> None:
    rig = swinging_rig(20)
    rig.settings[SET_SCALE] = 1e-160
    rows = run(rig, 0, 20)
    assert bits(rows)[-1] & FAULT_NAN_FORCE
    assert (rows[:, ROW_SENT : ROW_SENT + 6] == 0.0).all()


WILD = st.sampled_from(
    (0.0, 1e-3, -0.02, 1.0, -3.0, 1e3, 1e9, -1e160, 1e308, nan, inf, -inf, 5e-324)
)
TAME = st.floats(-0.02, 0.02)
NUMBER = st.one_of(TAME, TAME, TAME, WILD)


def sane(numbers: list[float]) -> list[float]:
    """A reading that is no fault: within a centimetre, below 2 m/s, no button, good status."""
    found = np.array(numbers) * 0.5
    found[READ_QUATERNION : READ_QUATERNION + 4] *= 10.0
    found[READ_VELOCITY : READ_VELOCITY + 3] *= 100.0
    found[READ_OMEGA : READ_OMEGA + 3] *= 300.0
    found[READ_BUTTONS:] = 0.0
    return [float(x) for x in found]


READING = st.lists(NUMBER, min_size=NREAD, max_size=NREAD)
GOOD_READING = st.lists(TAME, min_size=NREAD, max_size=NREAD).map(sane)
PACKET = st.lists(NUMBER, min_size=12, max_size=12)
GOOD_PACKET = st.just([0.0] * 12)


def assert_within(
    limits: Safety,
    direct: bool,
    sigma: float,
    readings: list[list[float]],
    added: list[list[float]],
) -> set[str]:
    """Ticks with these readings, and something added to the packets; the limits that were met."""
    coupling = DirectCoupling(scale=sigma) if direct else VirtualCoupling(scale=sigma)
    rig = free_rig(len(readings), limits, coupling)
    rig.table[:] = readings
    rig.table[:, READ_QUATERNION] += 1.0  # mostly a rotation
    met = set()
    for n in range(2 * len(readings)):
        wild = added[n % len(added)]
        values = packet(n + 1, n * DT, count=2)
        values[PACKET_COUNT + 1 : PACKET_COUNT + 7] += wild[:6]
        values[NPACKET - 300 : NPACKET - 294] += wild[6:]
        send_packet(rig, values)
        row = run(rig, n, 1)[0]
        sent = row[ROW_SENT : ROW_SENT + 6]
        assert np.isfinite(sent).all()
        given_power = sent @ row[ROW_DEVICE + READ_VELOCITY :][:6] if sent.any() else 0.0
        force, torque = np.linalg.norm(sent.reshape(2, 3), axis=1)
        for what, size, most in (
            ("force", force, limits.force),
            ("torque", torque, limits.torque),
            ("power", given_power, limits.power),
        ):
            assert size <= most * (1.0 + ROUNDING)
            if 0.0 < 0.999 * most < size:
                met.add(what)
        if int(row[ROW_FAULT]) & STOPS_FORCE:
            assert (sent == 0.0).all()
            met.add("stop")
        assert 0.0 <= row[ROW_GAIN] <= 1.0
        assert np.isfinite(row[ROW_HAND : ROW_HAND + NHAND]).all()
        assert np.isfinite(row[ROW_OBSERVED])
    return met


@given(
    st.lists(st.one_of(*[GOOD_READING] * 5, READING), min_size=1, max_size=12),
    st.lists(st.one_of(*[GOOD_PACKET] * 5, PACKET), min_size=1, max_size=6),
    st.booleans(),
    st.sampled_from((1e-6, 0.4, 1.0, 1e6)),
    st.floats(0.0, 20.0),
    st.sampled_from((0.0, 0.01, 3.0)),
)
@settings(max_examples=40 if JIT_DISABLED else 300)
def test_whatever_goes_in_what_comes_out_is_finite_and_within_limits(
    readings: list[list[float]],
    added: list[list[float]],
    direct: bool,
    sigma: float,
    force: float,
    torque: float,
) -> None:
    limits = Safety(force=force, torque=torque, power=2.0, ramp=0.003, slew=1e5)
    assert_within(limits, direct, sigma, readings, added)


@pytest.mark.parametrize("direct", [False, True])
def test_every_limit_is_met_and_kept(direct: bool) -> None:
    """Good readings of a hand that jerks about, and tight limits; now and then a bad one."""
    rng = np.random.default_rng(20)
    met: set[str] = set()
    for k in range(24):
        readings = [sane(list(rng.uniform(-0.02, 0.02, NREAD))) for _ in range(12)]
        if k % 4 == 0:
            readings[6][READ_POSITION] = nan
        force, torque, power = ((0.2, 3.0, 9.0), (20.0, 0.01, 9.0), (20.0, 3.0, 0.05))[k % 3]
        limits = Safety(
            force=force, torque=torque, power=power, ramp=0.003, slew=1e5, passivity=False
        )
        met |= assert_within(limits, direct, 1.0, readings, [[0.0] * 12])
    # held directly, the hand feels the planes alone, and they act at its grip: no torque
    assert met == {"force", "power", "stop"} | (set() if direct else {"torque"})


# ---------------------------------------------------------------- passivity


def test_the_ledger_holds_the_work_of_what_was_held() -> None:
    """E_n = −Σ f_{k−1}·Δx_k + τ_{k−1}·Δθ_k, from the columns of the trace alone."""
    rows = run(swinging_rig(100), 0, 100)
    energy = 0.0
    for before, row in pairwise(rows):
        way = row[ROW_DEVICE : ROW_DEVICE + 3] - before[ROW_DEVICE : ROW_DEVICE + 3]
        turn = turn_between(
            tuple(before[ROW_DEVICE + 3 : ROW_DEVICE + 7]),
            tuple(row[ROW_DEVICE + 3 : ROW_DEVICE + 7]),
        )
        energy -= before[ROW_SENT : ROW_SENT + 3] @ way
        energy -= before[ROW_SENT + 3 : ROW_SENT + 6] @ np.array(turn)
        assert row[ROW_OBSERVED] == pytest.approx(energy, rel=1e-9, abs=1e-15)
    assert rows[-1, ROW_SPENT] == 0.0


def test_a_jump_is_no_work() -> None:
    rig = pressing_rig(60)
    rig.table[50:, READ_POSITION + 2] += 1.0
    rows = run_in_touch(rig, 0, 60)
    assert bits(rows)[50] & FAULT_JUMP
    assert rows[50, ROW_OBSERVED] == rows[49, ROW_OBSERVED]


def arm_against_plane(ticks: int, *, passivity: bool, period: int, stiffness: float) -> Array:
    """Rows of a person's arm that leans on a plane whose force comes one period late."""
    from tangere.devices.simulated import Hand

    rig = free_rig(
        ticks,
        Safety(
            force=12.0, power=1e3, ramp=0.0, slew=inf, jump=1.0, speed=50.0, passivity=passivity
        ),
        DirectCoupling(),
    )
    rig.settings[SET_CONTACT] = CONTACT_HELD
    rig.source[0] = SOURCE_ARM
    rig.arm[:] = Hand().arm()
    rig.table[:, READ_POSITION + 2] = np.where(np.arange(ticks) < 50, 0.002, -0.02)
    rig.tool[2] = rig.hand[2] = 0.002
    parts, late = [], 0.002
    for first in range(0, ticks, period):
        parts.append(run(rig, first, min(period, ticks - first)))
        values = packet(first + 1, first * DT)
        values[PACKET_STATE : PACKET_STATE + 13] = rig.tool
        values[PACKET_WRENCH + 2] = stiffness * max(0.0, -late)
        late = rig.tool[2]
        send_packet(rig, values)
    return np.concatenate(parts)


def test_the_controller_holds_a_contact_that_comes_too_late() -> None:
    """Without it the arm is shaken by centimetres; with it no energy comes out of nothing."""
    wild, calm = (
        arm_against_plane(1500, passivity=on, period=5, stiffness=1000.0) for on in (False, True)
    )
    assert np.ptp(wild[-500:, ROW_DEVICE + 2]) > 0.01
    assert wild[-1, ROW_OBSERVED] < -0.1
    # the reserve of the controller
    assert calm[:, ROW_OBSERVED].min() >= -RESERVE * (1.0 + 1e-9)
    assert np.ptp(calm[-500:, ROW_DEVICE + 2]) < 0.002
    assert calm[-1, ROW_SPENT] > 0.0
    assert any(bit & FAULT_PASSIVITY for bit in bits(calm))
    # and the plane is still felt: the hand wants to be 20 mm below it
    assert calm[-500:, ROW_DEVICE + 2].min() > -0.01


def test_the_controller_rests_while_all_is_well() -> None:
    """A hand that presses and lets go, a plane known at every tick."""
    rig = free_rig(1000, Safety(ramp=0.0, passivity=True))
    t = DT * np.arange(1000)
    rig.table[:, READ_POSITION + 2] = 0.003 - 0.006 * (1.0 - np.cos(4.0 * np.pi * t))
    rig.table[:, READ_VELOCITY + 2] = -0.006 * 4.0 * np.pi * np.sin(4.0 * np.pi * t)
    rig.tool[2] = 0.003
    rows = run_in_touch(rig, 0, 1000)
    assert rows[:, ROW_SENT + 2].max() > 1.0
    assert bits(rows) == [0] * 1000
    assert rows[-1, ROW_SPENT] == 0.0
    # the hand put in what is stored, and what was lost
    assert (rows[:, ROW_OBSERVED] >= -1e-6).all()
    assert np.isfinite(rows[:, ROW_STORED]).all()


def test_without_limits_the_wrench_is_the_couplings() -> None:
    rig = swinging_rig(30)
    unlimited(rig.settings)
    rows = run(rig, 0, 30)
    assert (rows[:, ROW_SENT : ROW_SENT + 6] == -rows[:, ROW_COUPLING : ROW_COUPLING + 6]).all()
    assert bits(rows) == [0] * 30
