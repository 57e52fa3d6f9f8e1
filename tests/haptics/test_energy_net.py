"""Energy at the device: the ledger is true, the lead keeps late devices passive, the net is soft.

The arm (`haptics.arm`) has books of its own, exact up to rounding: what the motors really gave.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tangere.fakes.arms import COUPLINGS, WIDE, late_contact, lean, swing
from tangere.fakes.rigs import DT, free_rig, packet, run, run_in_touch, send_packet
from tangere.haptics.energy_net import FALL, FORGIVE, HEAD, LEAK, RISE
from tangere.haptics.layout import (
    CONTACT_HELD,
    CONTACT_LINEAR,
    CONTACT_PLANES,
    FAULT_NET,
    FAULT_TOOL,
    FORCE_ACTIVE,
    MEM_BUDGET,
    READ_APPLIED,
    READ_POSITION,
    READ_TELLS_APPLIED,
    READ_VELOCITY,
    ROW_APPLIED,
    ROW_BUDGET,
    ROW_FAULT,
    ROW_HAND,
    ROW_NET,
    ROW_OBSERVED,
    ROW_SENT,
    ROW_STATE,
    ROW_TOOL,
    SET_FASTEST,
    SET_LEASH,
    SET_NET,
)
from tangere.haptics.safety import Safety

PLAIN = replace(WIDE, lead=False, net=False)
DELAYS = (0, 1, 2, 4, 6)


# ---------------------------------------------------------------- the ledger


@pytest.mark.parametrize("delay", range(7))
def test_the_ledger_is_what_the_motors_gave(delay: int) -> None:
    for made in (lean(delay, ticks=600, safety=PLAIN), swing(delay, PLAIN, ticks=600)):
        # sums of 600 products of millijoules round below 1e-15; of turns, the third order of a
        # part of a tick, see `haptics.arm`
        assert np.abs(made.rows[:, ROW_OBSERVED] + made.given).max() < 1e-9
        assert np.abs(made.given).max() > 1e-4


def test_samples_that_come_every_third_tick_are_booked_with_the_mean() -> None:
    made = lean(0, ticks=900, safety=PLAIN, model={"sample_every": 3})
    seen = made.rows[::3, ROW_OBSERVED]
    # the force changed within the three ticks by a tenth: so does the work
    assert seen[-1] == pytest.approx(-made.given[-3], abs=0.1 * np.abs(made.given).max())


@pytest.mark.nojit
def test_a_device_that_tells_its_force_is_believed() -> None:
    rig = free_rig(3, replace(PLAIN))
    rig.table[:, READ_POSITION] = (0.0, 0.001, 0.002)
    rig.table[:, READ_TELLS_APPLIED] = 1.0
    rig.table[:, READ_APPLIED] = 2.0
    rows = run(rig, 0, 3)
    assert rows[-1, ROW_OBSERVED] == pytest.approx(-2.0 * 0.002)
    assert rows[-1, ROW_APPLIED] == 2.0


# ---------------------------------------------------------------- lead


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("kind", ["lean", "tap", "press"])
def test_with_the_lead_a_late_device_gives_nothing(coupling: str, kind: str) -> None:
    prompt = lean(0, kind, coupling, safety=PLAIN)
    for delay in DELAYS:
        plain, led = (lean(delay, kind, coupling, safety=safety) for safety in (PLAIN, WIDE))
        assert led.most <= 1e-3
        # exact encoders: no rougher than the plain loop, but for the onset of a step
        assert led.rms <= (1.3 if kind == "lean" else 1.05) * plain.rms
        assert led.steps.max() <= WIDE.slew * DT * (1.0 + 1e-9)
        assert led.net.min() == 1.0  # the net has nothing to do
        if kind == "press":
            assert led.force[:, 2].max() == pytest.approx(prompt.force[:, 2].max(), rel=0.03)


def test_without_the_lead_a_late_device_gives_energy() -> None:
    """What it is measured against: 0.86 J at six ticks, leaning on 1000 N/m."""
    given = [lean(d, coupling="direct 1000", safety=PLAIN).most for d in DELAYS]
    assert given[0] <= 1e-6
    assert (np.diff(given) > 0.0).all()
    assert given[-1] > 0.5


def test_the_lead_on_coarse_encoders_is_at_most_twice_as_rough() -> None:
    coarse = {"resolution": 5.5e-5, "velocity_filter": 2e-3}
    for delay in (1, 3, 6):
        plain, led = (lean(delay, "press", safety=safety, model=coarse) for safety in (PLAIN, WIDE))
        assert led.most <= 1e-3
        assert led.rms <= 2.0 * plain.rms


def test_torsion_with_the_lead() -> None:
    """Undamped, so some is left at large delays: 205 → 1.9 mJ at six ticks."""
    for delay, most in ((0, 1e-4), (2, 5e-4), (4, 1e-3), (6, 2.5e-3)):
        plain = swing(delay, PLAIN)
        assert swing(delay, replace(WIDE, net=False)).most <= most
        assert plain.most > 10.0 * most


def test_a_delay_taken_for_longer_than_it_is_does_no_harm() -> None:
    for real, assumed in ((3, 4), (0, 6), (1, 6)):
        assert lean(real, coupling="direct 1000", assumed=assumed).most <= 1e-3


# ---------------------------------------------------------------- net


def test_the_net_holds_what_nobody_modelled() -> None:
    """Six ticks late and nobody knows of it but the ledger: without the net 0.9 J are given."""
    loose = {"mass": 0.03, "stiffness": 80.0, "damping": 0.6}
    device = {"mass": 0.05}
    blind = replace(WIDE, lead=False)
    wild = lean(6, safety=PLAIN, ticks=4000, hand=loose, model=device)
    held = lean(6, safety=blind, ticks=4000, hand=loose, model=device)
    assert wild.most > 1.0
    assert held.most < 0.05
    assert held.rms < 0.1 * wild.rms
    assert any(int(bit) & FAULT_NET for bit in held.rows[:, ROW_FAULT])


def test_the_gain_of_the_net_neither_falls_nor_rises_faster_than_it_may() -> None:
    blind = replace(WIDE, lead=False)
    for kind in ("lean", "tap"):
        made = lean(6, kind, "direct 1000", safety=blind, ticks=4000)
        steps = np.diff(np.concatenate([[1.0], made.net]))
        assert steps.min() >= -DT / FALL * (1.0 + 1e-9)
        assert steps.max() <= DT / RISE * (1.0 + 1e-9)
        assert made.net.min() < 1.0
        assert made.steps.max() <= WIDE.slew * DT * (1.0 + 1e-9)


@pytest.mark.nojit
def test_an_overdrawn_ledger_lets_the_wall_return() -> None:
    rig = free_rig(2500, replace(WIDE, fresh=np.inf, stale=np.inf))
    rig.table[:, READ_POSITION + 2] = -0.005
    run_in_touch(rig, 0, 100)
    rig.memory[MEM_BUDGET] = -2e-3
    rows = run_in_touch(rig, 100, 2400)
    assert rows[:, ROW_NET].min() == 0.0
    back = np.flatnonzero(rows[:, ROW_NET] < 0.9)[-1]
    assert DT * back < 2.0
    assert rows[-1, ROW_SENT + 2] > 0.8
    # forgiven with its time constant
    owed = rows[:400, ROW_BUDGET]
    assert owed[-1] / owed[0] == pytest.approx(np.exp(-0.399 / FORGIVE), rel=0.01)


@pytest.mark.nojit
def test_energy_is_not_saved_up() -> None:
    """What a hand stirred into a damper may not come back in one blow much later."""
    rig = free_rig(1500, replace(WIDE, lead=False, fresh=np.inf, stale=np.inf))
    rig.memory[MEM_BUDGET] = 0.5
    budget = run(rig, 0, 1500)[:, ROW_BUDGET]
    # it leaks with its time constant down to what is stored, nothing here, and 2 mJ
    assert (budget[199] - HEAD) / (budget[0] - HEAD) == pytest.approx(
        np.exp(-0.199 / LEAK), rel=0.01
    )
    assert budget[-1] == pytest.approx(HEAD, rel=0.2)


@pytest.mark.nojit
def test_a_plain_press_and_release_leaves_the_net_alone() -> None:
    rig = free_rig(1000, replace(WIDE, lead=False))
    t = DT * np.arange(1000)
    rig.table[:, READ_POSITION + 2] = 0.003 - 0.006 * (1.0 - np.cos(4.0 * np.pi * t))
    rig.table[:, READ_VELOCITY + 2] = -0.006 * 4.0 * np.pi * np.sin(4.0 * np.pi * t)
    rig.tool[2] = 0.003
    rows = run_in_touch(rig, 0, 1000)
    assert rows[:, ROW_SENT + 2].max() > 1.0
    assert (rows[:, ROW_NET] == 1.0).all()
    assert (rows[:, ROW_STATE] == FORCE_ACTIVE).all()
    assert (rows[:, ROW_OBSERVED] >= -1e-6).all()


@pytest.mark.nojit
def test_without_the_net_the_ledger_is_kept_all_the_same() -> None:
    rig = free_rig(50, replace(WIDE, net=False))
    rig.memory[MEM_BUDGET] = -1.0
    rows = run_in_touch(rig, 0, 50)
    assert rig.settings[SET_NET] == 0.0
    assert (rows[:, ROW_NET] == 1.0).all()
    assert rows[-1, ROW_BUDGET] < -0.5


# ---------------------------------------------------------------- contacts that come late


@pytest.mark.parametrize("period", [1, 5, 10, 20])
@pytest.mark.parametrize("mode", [CONTACT_HELD, CONTACT_LINEAR, CONTACT_PLANES])
@pytest.mark.parametrize("stiffness", [200.0, 1000.0])
def test_the_tool_stays_near_a_contact_that_comes_late(
    mode: int, period: int, stiffness: float
) -> None:
    patient = replace(WIDE, fresh=1.0, stale=2.0)
    rows = late_contact(mode, period, coupling=stiffness, safety=patient)
    # the farthest that it gets from the plane
    assert np.abs(rows[:, ROW_TOOL + 2]).max() < 0.02
    assert not any(int(bit) & FAULT_TOOL for bit in rows[:, ROW_FAULT])


def test_a_held_wrench_of_unknown_stiffness_is_damped_by_the_period() -> None:
    patient = replace(WIDE, fresh=1.0, stale=2.0)
    # a period of 5 ms and 10 g stand for 400 N/m: nothing much stiffer can be held by that
    rows = late_contact(
        CONTACT_HELD, 5, coupling=200.0, stiffness=400.0, known=False, safety=patient
    )
    assert np.abs(rows[:, ROW_TOOL + 2]).max() < 0.02


@pytest.mark.nojit
def test_the_leash_brings_a_tool_back_once() -> None:
    """A wrench that throws the tool away, held for a while; then all is well again."""
    rig = free_rig(600, Safety(ramp=0.05, samples=3, fresh=np.inf, stale=np.inf))
    rig.settings[SET_LEASH] = 0.05
    rows = []
    for n in range(600):
        found = packet(n + 1, n * DT)
        if n == 100:
            rig.tool[7] = 0.01 * 30.0  # 30 m/s
        send_packet(rig, found)
        rows.append(run(rig, n, 1)[0])
    made = np.array(rows)
    faults = [i for i, bit in enumerate(made[:, ROW_FAULT]) if int(bit) & FAULT_TOOL]
    assert faults == [100]
    assert made[100, ROW_TOOL : ROW_TOOL + 3] == pytest.approx(made[100, ROW_HAND : ROW_HAND + 3])
    assert (made[100:103, ROW_SENT : ROW_SENT + 7] == 0.0).all()
    assert made[-1, ROW_STATE] == FORCE_ACTIVE
    assert rig.settings[SET_FASTEST] == 20.0
