"""What is sent to a device: one power factor, limits, slew, nothing that is no number."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from haptics.test_reading import bits, rotation, swinging_rig
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import quaternions

from tangere._jit import JIT_DISABLED
from tangere.fakes.rigs import (
    DT,
    PLAIN,
    free_rig,
    packet,
    pressing_rig,
    run,
    run_in_touch,
    send_packet,
)
from tangere.haptics.coupling import DirectCoupling, VirtualCoupling
from tangere.haptics.layout import (
    FAULT_LIMIT,
    FAULT_NAN_FORCE,
    FAULT_STALE,
    NHAND,
    NPACKET,
    NREAD,
    PACKET_COUNT,
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
    SET_CAP,
    SET_FRAME,
    SET_SCALE,
    STOPS_FORCE,
)
from tangere.haptics.safety import Safety, unlimited

pytestmark = pytest.mark.nojit

ROUNDING = 1e-12
CALM = replace(PLAIN, fresh=inf, stale=inf, slew=inf, torque_slew=inf)


@given(quaternions(), st.floats(0.3, 3.0))
@settings(max_examples=20)
def test_the_wrench_has_one_power_factor_and_keeps_its_direction(
    frame: tuple[float, float, float, float], sigma: float
) -> None:
    """Power at the device is power at the hand over σ², for force and torque alike."""
    rig = swinging_rig(20)
    replace(CALM, force=1e3, torque=1e3).apply(rig.settings)
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
    rows = []
    for safety in (wide, replace(wide, **limits)):  # type: ignore[arg-type]
        rig = swinging_rig(200)
        safety.apply(rig.settings)
        rows.append(run(rig, 0, 200))
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
    rig = swinging_rig(50)
    replace(CALM, torque=0.0).apply(rig.settings)
    rows = run(rig, 0, 50)
    assert (rows[:, ROW_SENT + 3 : ROW_SENT + 6] == 0.0).all()
    assert rows[-1, ROW_SENT : ROW_SENT + 3] == pytest.approx(
        -rows[-1, ROW_COUPLING : ROW_COUPLING + 3], rel=ROUNDING
    )


def test_force_and_torque_change_no_faster_than_their_rates() -> None:
    slow = replace(PLAIN, slew=20.0)
    felt = run_in_touch(pressing_rig(100, slow), 0, 100)[:, ROW_SENT + 2]
    assert np.diff(felt).max() == pytest.approx(0.02, rel=1e-9)
    assert felt[-1] > 0.5
    rig = swinging_rig(100)
    replace(CALM, torque_slew=0.02).apply(rig.settings)
    torque = run(rig, 0, 100)[:, ROW_SENT + 3 : ROW_SENT + 6]
    assert np.linalg.norm(np.diff(torque, axis=0), axis=1).max() == pytest.approx(2e-5, rel=1e-9)


def test_limits_that_become_stricter_hold_at_once() -> None:
    rig = pressing_rig(60)
    run_in_touch(rig, 0, 30)
    replace(PLAIN, force=0.1, slew=1.0).apply(rig.settings)
    felt = run_in_touch(rig, 30, 5)[:, ROW_SENT + 2]
    assert felt.max() <= 0.1 * (1.0 + ROUNDING)


def test_a_force_beyond_all_numbers_is_a_fault() -> None:
    rig = swinging_rig(20)
    rig.settings[SET_SCALE] = 1e-160
    rows = run(rig, 0, 20)
    assert bits(rows)[-1] & FAULT_NAN_FORCE
    assert (rows[:, ROW_SENT : ROW_SENT + 6] == 0.0).all()


def test_without_limits_the_wrench_is_the_couplings() -> None:
    rig = swinging_rig(30)
    unlimited(rig.settings)
    rows = run(rig, 0, 30)
    assert (rows[:, ROW_SENT : ROW_SENT + 6] == -rows[:, ROW_COUPLING : ROW_COUPLING + 6]).all()
    assert bits(rows) == [0] * 30


# ---------------------------------------------------------------- packets that age


def gains(period: int, ticks: int = 800) -> np.ndarray:
    """Gain while the contact loop sends a packet every `period` ticks, a period late."""
    rig = pressing_rig(ticks, Safety(samples=0, ramp=0.2))
    rows = []
    for n in range(ticks):
        if n % period == 0:
            send_packet(rig, packet(n + 1, max(0, n - period) * DT))
        rows.append(run(rig, n, 1)[0])
    return np.array(rows)[:, [ROW_GAIN, ROW_FAULT]]


@pytest.mark.parametrize("period", [1, 10, 18, 23, 28])
def test_a_slow_contact_loop_neither_saws_nor_ends_the_force(period: int) -> None:
    found = gains(period)
    assert not any(int(bit) & STOPS_FORCE for bit in found[400:, 1])
    assert found[400:, 0].min() == 1.0


def test_a_contact_loop_that_is_too_slow_fades_without_a_saw() -> None:
    gain = gains(45)[:, 0]
    # it falls with the age of packets, and what comes back between two of them is little
    assert 0.5 < gain[400:].min() < gain[400:].max() < 1.0
    assert np.ptp(gain[600:]) < 0.05


def test_a_contact_loop_that_stops_is_a_fault_within_its_time() -> None:
    rig = pressing_rig(200, replace(PLAIN))
    run_in_touch(rig, 0, 100)
    rows = run(rig, 100, 100)
    sent = rows[:, ROW_SENT + 2]
    first = next(i for i, bit in enumerate(bits(rows)) if bit & FAULT_STALE)
    assert first in (50, 51)  # 0.05 s after the last packet
    assert sent[19] > 0.5
    assert (np.diff(sent[20:first]) <= 0.0).all()
    assert (sent[first:] == 0.0).all()


# ---------------------------------------------------------------- direct coupling


def test_a_direct_coupling_displays_no_more_than_the_cap() -> None:
    felt = []
    for cap in (inf, 500.0):
        rig = pressing_rig(20, replace(CALM, force=50.0), DirectCoupling())
        rig.settings[SET_CAP] = cap
        for n in range(20):
            send_packet(rig, packet(n + 1, n * DT, count=4))  # they share 2000 N/m
            row = run(rig, n, 1)[0]
        felt.append(row[ROW_SENT + 2])
    assert felt[0] == pytest.approx(2000.0 * 0.005)
    assert felt[1] == pytest.approx(500.0 * 0.005)


# ---------------------------------------------------------------- whatever goes in

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
    before = np.zeros(6)
    for n in range(2 * len(readings)):
        wild = added[n % len(added)]
        values = packet(n + 1, n * DT, count=2)
        values[PACKET_COUNT + 1 : PACKET_COUNT + 7] += wild[:6]
        values[NPACKET - 300 : NPACKET - 294] += wild[6:]
        send_packet(rig, values)
        row = run(rig, n, 1)[0]
        sent = row[ROW_SENT : ROW_SENT + 6]
        assert np.isfinite(sent).all()
        force, torque = np.linalg.norm(sent.reshape(2, 3), axis=1)
        for what, size, most in (
            ("force", force, limits.force),
            ("torque", torque, limits.torque),
        ):
            assert size <= most * (1.0 + ROUNDING)
            if 0.0 < 0.999 * most < size:
                met.add(what)
        if int(row[ROW_FAULT]) & STOPS_FORCE:
            assert (sent == 0.0).all()
            met.add("stop")
        else:  # nothing steps after the slew limit
            step = np.linalg.norm((sent - before)[:3])
            assert step <= limits.slew * DT * (1.0 + 1e-9) + 1e-300
        before = sent.copy()
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
    st.sampled_from((0, 1, 3)),
)
@settings(max_examples=40 if JIT_DISABLED else 300)
def test_whatever_goes_in_what_comes_out_is_finite_and_within_limits(
    readings: list[list[float]],
    added: list[list[float]],
    direct: bool,
    sigma: float,
    force: float,
    torque: float,
    samples: int,
) -> None:
    limits = Safety(force=force, torque=torque, power=2.0, ramp=0.003, slew=1e3, samples=samples)
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
        force, torque = ((0.2, 3.0), (20.0, 0.01))[k % 2]
        limits = replace(PLAIN, force=force, torque=torque, ramp=0.003, slew=1e5, torque_slew=1e5)
        met |= assert_within(limits, direct, 1.0, readings, [[0.0] * 12])
    # held directly, the hand feels the planes alone, and they act at its grip: no torque
    assert met == {"force", "stop"} | (set() if direct else {"torque"})
