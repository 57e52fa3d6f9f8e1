"""Metrics on signals whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from sessions import meta, settings, spring_rows, spring_trace, still_rows

from tangere.errors import SceneError
from tangere.haptics.layout import (
    ROW_COUPLING,
    ROW_DEPTH,
    ROW_DEVICE,
    ROW_HAND,
    ROW_LATE,
    ROW_MISSED,
    ROW_SENT,
    ROW_STORED,
    ROW_TIME,
    ROW_TOOL,
)
from tangere.maths.vec import Array
from tangere.trace import metrics
from tangere.trace.metrics import EnergyLedger
from tangere.trace.trace import Trace

pytestmark = pytest.mark.nojit

ROUNDING = 1e-12


def turn(axis: int, angle: float) -> Array:
    q = np.zeros(4)
    q[0], q[1 + axis] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return q


# ------------------------------------------------------------------------------------- deviation


def test_deviation_is_from_the_hand_to_the_turned_grip() -> None:
    """Tool at (1, 0, 0), turned a quarter about z, held at (0.1, 0, 0): grip at (1, 0.1, 0)."""
    rows = still_rows(2)
    rows[:, ROW_TOOL : ROW_TOOL + 3] = (1.0, 0.0, 0.0)
    rows[:, ROW_TOOL + 3 : ROW_TOOL + 7] = turn(2, 0.5 * np.pi)
    rows[0, ROW_HAND : ROW_HAND + 3] = (1.0, 0.1, 0.0)
    rows[1, ROW_HAND : ROW_HAND + 3] = (1.0, 0.1, 0.02)
    trace = Trace(rows, meta(settings={"tool": settings((0.1, 0.0, 0.0))}))
    assert metrics.deviation(trace) == pytest.approx([0.0, 0.02], abs=ROUNDING)
    assert metrics.angle_deviation(trace) == pytest.approx([0.5 * np.pi] * 2, rel=ROUNDING)


def test_angle_does_not_know_the_sign_of_a_quaternion() -> None:
    rows = still_rows(3)
    for row, q in zip(rows, (turn(0, 0.3), -turn(0, 0.3), turn(0, 1e-9)), strict=True):
        row[ROW_HAND + 3 : ROW_HAND + 7] = q
    angle = metrics.angle_deviation(Trace(rows, meta()))
    assert angle == pytest.approx([0.3, 0.3, 1e-9], rel=1e-9)


def test_angle_is_relative_to_how_the_tool_is_held() -> None:
    rows = still_rows(1)
    rows[:, ROW_HAND + 3 : ROW_HAND + 7] = turn(1, 0.7)
    held = {**settings(), "grip_quaternion": turn(1, 0.7).tolist()}
    trace = Trace(rows, meta(settings={"tool": held}))
    assert metrics.angle_deviation(trace) == pytest.approx([0.0], abs=1e-8)


def test_penetration_is_never_negative() -> None:
    rows = still_rows(3)
    rows[:, ROW_DEPTH] = (-1.0, 0.0, 2e-3)
    assert metrics.penetration(Trace(rows, meta())).tolist() == [0.0, 0.0, 2e-3]


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-6, 1.0, 3.0])
def test_rotation_between_is_the_rotation_vector(angle: float) -> None:
    start = turn(0, 0.4)
    axis = np.array([0.6, 0.0, 0.8])
    q = np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * axis])
    from tangere.maths.rotations import quat_product

    found = metrics.rotation_between(start, quat_product(q, start))
    assert found == pytest.approx(angle * axis, rel=1e-9, abs=1e-15)


# ------------------------------------------------------------------------------------- noise


def test_noise_of_a_known_size_on_a_slow_force() -> None:
    """σ = 0.02 N on a swing of 3 N at 1 Hz, whose own steps are ten times smaller."""
    rng = np.random.default_rng(3)
    t = np.arange(20_000) / 1e4
    slow = 3.0 * np.sin(2.0 * np.pi * t)
    noisy = slow + rng.normal(0.0, 0.02, len(t))
    # 20 000 samples: the size of noise is known to 1/√40 000, times 4
    assert metrics.force_noise(noisy) == pytest.approx(0.02, rel=0.02)
    assert metrics.force_noise(slow) < 2e-3
    three = np.stack([noisy, slow, slow], axis=1)
    assert metrics.force_noise(three) == pytest.approx(0.02, rel=0.02)
    assert metrics.force_noise([1.0]) == 0.0


def ringing_trace(amplitude: float, hertz: float, slow: float = 2.0) -> Trace:
    rows = still_rows(2000)
    t = rows[:, ROW_TIME]
    rows[:, ROW_COUPLING] = slow * np.sin(2.0 * np.pi * 1.5 * t)
    rows[:, ROW_COUPLING + 1] = amplitude * np.sin(2.0 * np.pi * hertz * t)
    return Trace(rows, meta())


def test_ringing_is_the_rms_of_what_is_fast() -> None:
    """0.1 N at 200 Hz on 2 N at 1.5 Hz: 0.1/√2. Slow motion alone does not ring."""
    found = metrics.ringing(ringing_trace(0.1, 200.0))
    assert found == pytest.approx(0.1 / np.sqrt(2.0), rel=5e-3)
    assert metrics.ringing(ringing_trace(0.0, 200.0)) < 1e-4
    assert metrics.ringing(ringing_trace(0.1, 200.0), "tool.force") == 0.0


def test_ringing_at_the_edge_is_halved() -> None:
    """Forwards and backwards: 1/√2 twice."""
    found = metrics.ringing(ringing_trace(0.1, 50.0, 0.0), last=None)
    assert found == pytest.approx(0.05 / np.sqrt(2.0), rel=0.02)


def test_ringing_looks_at_the_end_alone() -> None:
    rows = still_rows(2000)
    t = rows[:, ROW_TIME]
    rows[:1000, ROW_COUPLING] = np.sin(2.0 * np.pi * 100.0 * t[:1000])
    trace = Trace(rows, meta())
    assert metrics.ringing(trace) < 1e-9
    assert metrics.ringing(trace, last=None) == pytest.approx(0.5, rel=0.01)


def test_the_filter_has_no_delay() -> None:
    t = np.arange(4000) / 1000.0
    fast = np.sin(2.0 * np.pi * 300.0 * t)
    out = metrics.high_passed(fast, 1000.0)[500:-500, 0]
    assert out == pytest.approx(fast[500:-500], abs=1e-3)


def test_ringing_of_short_and_slow_traces() -> None:
    assert metrics.ringing(Trace(still_rows(1), meta())) == 0.0
    with pytest.raises(SceneError, match="needs a rate over 100 Hz"):
        metrics.ringing(Trace(still_rows(100, 60.0), meta(rate=60.0)))


# ------------------------------------------------------------------------------------- stick-slip


def sawtooth(period: float, drop: float, teeth: int, rate: float = 1000.0) -> tuple[Array, Array]:
    """Builds up for nine tenths of the period, drops within the last tenth."""
    t = np.arange(round(period * teeth * rate)) / rate
    phase = (t / period) % 1.0
    return t, 1.0 + drop * np.where(phase < 0.9, phase / 0.9, (1.0 - phase) / 0.1)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_stick_slip_of_a_sawtooth(noise: float) -> None:
    t, f = sawtooth(0.2, 1.5, 10)
    found = metrics.stick_slip(t, f + np.random.default_rng(1).uniform(-noise, noise, len(t)))
    assert found.drops == 10
    assert found.period == pytest.approx(0.2, abs=0.02)
    assert found.drop == pytest.approx(1.5, abs=0.02 + 2.0 * noise)
    assert found.times[:3] == pytest.approx([0.18, 0.38, 0.58], abs=0.02)


def test_stick_slip_of_smooth_sliding() -> None:
    t = np.arange(1000) / 1000.0
    constant = metrics.stick_slip(t, np.ones(1000))
    assert constant.drops == 0
    assert np.isnan(constant.period)
    assert np.isnan(constant.drop)
    rising = metrics.stick_slip(t, t)
    assert rising.drops == 0
    noisy = np.sin(40.0 * t) * 1e-3
    assert metrics.stick_slip(t, noisy, least=0.1).drops == 0
    with pytest.raises(SceneError, match="one force per time"):
        metrics.stick_slip(t, t[1:])


def test_stick_slip_counts_only_drops_that_are_large_enough() -> None:
    t, f = sawtooth(0.2, 1.0, 5)
    small = 0.1 * np.sin(2.0 * np.pi * 60.0 * t)
    assert metrics.stick_slip(t, f + small, least=0.5).drops == 5


# ------------------------------------------------------------------------------------- settling


def test_settling_of_a_decay() -> None:
    """e^(−t/τ) is below 5 % after τ ln 20."""
    t = np.arange(5000) / 1000.0
    found = metrics.settling(t, 2.0 + np.exp(-t / 0.2))
    assert found == pytest.approx(0.2 * np.log(20.0), abs=2e-3)
    assert metrics.settling(t, 2.0 + np.exp(-t / 0.2), band=0.01) == pytest.approx(
        0.2 * np.log(100.0), abs=2e-3
    )
    both = np.stack([np.exp(-t / 0.2), np.zeros(5000)], axis=1)
    assert metrics.settling(t, both) == pytest.approx(found, abs=2e-3)
    assert metrics.settling(t, np.ones(5000)) == 0.0
    with pytest.raises(SceneError, match="one row per time"):
        metrics.settling([], [])


def test_late_share() -> None:
    rows = still_rows(1000)
    rows[:30, ROW_LATE] = 101e-6
    rows[30:60, ROW_LATE] = 99e-6
    trace = Trace(rows, meta())
    assert metrics.late_share(trace) == 0.03
    assert metrics.late_share(trace, 50e-6) == 0.06
    rows[60, ROW_MISSED] = 250
    assert metrics.late_share(Trace(rows, meta())) == 280 / 1250


# ------------------------------------------------------------------------------------- stability


def test_stable_runs_and_others() -> None:
    assert metrics.stable(spring_trace())
    for damage in (far_away, not_a_number, trembling):
        rows = spring_rows(1000)
        damage(rows)
        assert not metrics.stable(Trace(rows, meta())), damage.__name__
    rows = spring_rows(1000)
    trembling(rows[:400])  # long ago
    assert metrics.stable(Trace(rows, meta()))


def far_away(rows: Array) -> None:
    rows[500, ROW_HAND] = 0.16


def not_a_number(rows: Array) -> None:
    rows[500, ROW_TOOL] = np.nan


def trembling(rows: Array) -> None:
    for n in range(0, len(rows), 2):
        rows[n, ROW_HAND + 3 : ROW_HAND + 7] = turn(0, 0.1)


# ------------------------------------------------------------------------------------- energy


def test_a_spring_gives_back_what_it_got() -> None:
    """Over whole periods the observer of a spring read at 1 kHz is off by its sampling alone.

    Held from sample to sample, the force lags half a tick: per period the spring gives
    π k A² ω Δt/2 too much.
    """
    k, a, w = 100.0, 0.01, 4.0 * np.pi
    rows = spring_rows(1001)
    ledger = EnergyLedger.of(Trace(rows, meta()))
    lag = -2 * np.pi * k * a * a * w * 1e-3 / 2.0
    assert ledger.observed == pytest.approx(lag, rel=1e-3)
    assert not ledger.passive()
    assert ledger.passive(tolerance=1e-3)
    # with the force at the end of each step the spring loses the same, so nothing is generated …
    assert ledger.generated == pytest.approx(0.0, abs=1e-15)
    # … and a force half as strong as the energy stored says makes the other half
    weak = spring_rows(126)  # one quarter: from rest to full stretch
    weak[:, ROW_COUPLING] *= 0.5
    made = EnergyLedger.of(Trace(weak, meta())).generated
    assert made == pytest.approx(-0.25 * k * a * a, rel=0.01)


def test_a_damper_only_takes() -> None:
    """F = b v on a hand that swings: b ω² A²/2 per second."""
    b, a, w = 2.0, 0.01, 4.0 * np.pi
    rows = spring_rows(1001)
    rows[:, ROW_COUPLING] = b * a * w * np.cos(w * rows[:, ROW_TIME])
    rows[:, ROW_STORED] = 0.0
    ledger = EnergyLedger.of(Trace(rows, meta()))
    assert ledger.observed == pytest.approx(0.5 * b * (a * w) ** 2, rel=1e-3)
    assert ledger.passive()


def test_at_the_device_the_force_sent_counts() -> None:
    """A device at half the scale of the hand, with twice the force: the same energy."""
    rows = spring_rows(400)
    rows[:, ROW_DEVICE] *= 0.5
    rows[:, ROW_SENT] *= 2.0
    trace = Trace(rows, meta())
    whole = EnergyLedger.of(trace)
    assert EnergyLedger.of(trace, "device").observed == pytest.approx(whole.observed, rel=1e-9)
    rows[200:, ROW_SENT] = 0.0  # a fault: nothing is sent any more
    cut = EnergyLedger.of(Trace(rows, meta()), "device")
    assert cut.observed == pytest.approx(EnergyLedger.of(Trace(rows[:201], meta())).observed)
    with pytest.raises(SceneError, match="choose one of: hand, device"):
        EnergyLedger.of(trace, "elbow")  # type: ignore[arg-type]


def test_torque_counts_like_force() -> None:
    """A constant torque along half a turn about y: T π."""
    ledger = EnergyLedger()
    for n in range(101):
        angle = np.pi * n / 100.0
        ledger.add((0, 0, 0), (0, 0, 0), turn(1, angle), (0.0, 0.3, 0.0))
    assert ledger.observed == pytest.approx(0.3 * np.pi, rel=1e-12)
    assert ledger.count == 101


def test_passive_as_long_as_the_store_lasts() -> None:
    """A stretched spring that holds 0.5 J may give 0.5 J."""
    for stored, passive in ((0.5, True), (0.4, False)):
        ledger = EnergyLedger()
        ledger.add((0, 0, 0), (-5, 0, 0), stored=stored)
        ledger.add((0.1, 0, 0), (0, 0, 0), stored=0.0)
        assert ledger.observed == ledger.least == -0.5
        assert ledger.passive() is passive


def test_sample_by_sample_is_the_same_to_the_bit() -> None:
    rng = np.random.default_rng(5)
    rows = still_rows(300)
    rows[:, ROW_HAND : ROW_HAND + 3] = rng.normal(0, 0.01, (300, 3))
    rows[:, ROW_COUPLING : ROW_COUPLING + 6] = rng.normal(0, 1.0, (300, 6))
    rows[:, ROW_STORED] = rng.uniform(0, 1e-3, 300)
    q = rng.normal(0, 1, (300, 4))
    rows[:, ROW_HAND + 3 : ROW_HAND + 7] = q / np.linalg.norm(q, axis=1)[:, None]
    trace = Trace(rows, meta())
    whole, fed = EnergyLedger.of(trace), EnergyLedger()
    for x, f, o, tau, stored in zip(
        *(trace[name] for name in metrics.LEDGER_COLUMNS["hand"]), strict=True
    ):
        fed.add(x, f, o, tau, stored)
    assert (fed.observed, fed.least, fed.count) == (whole.observed, whole.least, whole.count)
    # a sum in another order: a few roundings
    assert fed.generated == pytest.approx(whole.generated, rel=1e-12)
    assert metrics.generated_energy(trace) == whole.generated
