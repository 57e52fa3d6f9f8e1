"""States of the force: zero in the tick of a fault, back after good samples and a ramp, or lost."""

from __future__ import annotations

import numpy as np
import pytest

from tangere.fakes.rigs import DT, packet, pressing_rig, reading, run, send_packet, send_reading
from tangere.haptics.force_state import MOST_FAULTS
from tangere.haptics.layout import (
    FAULT_ESCAPE,
    FAULT_LOST,
    FAULT_OFF,
    FAULT_READ,
    FAULT_SILENT,
    FAULT_SPEED,
    FAULT_WRITE,
    FORCE_ACTIVE,
    FORCE_FAULT,
    FORCE_LOST,
    FORCE_RAMP,
    FORCE_WAITING,
    MEM_OUTSIDE,
    MEM_RAMP,
    MEM_WRITE_FAULT,
    PLACE_ON_TOOL,
    ROW_FAULT,
    ROW_GAIN,
    ROW_SENT,
    ROW_STATE,
    SET_PLACE,
    Rig,
)
from tangere.haptics.safety import Safety
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

SAMPLES = 10
RAMP = 0.1


class Device:
    """A device that is read at every tick, and may fail; the rows so far."""

    def __init__(self, **limits: float) -> None:
        given: dict[str, float] = {"ramp": RAMP, "samples": SAMPLES, **limits}
        self.rig: Rig = pressing_rig(1, Safety(lead=False, net=False, **given))  # type: ignore[arg-type]
        self.rows: list[Array] = []
        self.samples = 0

    def run(self, ticks: int, status: int = 0, fresh: bool = True) -> Array:
        """So many ticks; the new rows."""
        for _ in range(ticks):
            n = len(self.rows)
            self.samples += fresh
            send_reading(self.rig, reading(self.samples, status=status, time=n * DT))
            send_packet(self.rig, packet(n + 1, n * DT))
            self.rows.append(run(self.rig, n, 1)[0])
        return np.array(self.rows[-ticks:])


def states(rows: Array) -> list[int]:
    return [int(state) for state in rows[:, ROW_STATE]]


def force(rows: Array) -> Array:
    return rows[:, ROW_SENT + 2]


def test_from_the_first_sample_to_full_force() -> None:
    rows = Device().run(200)
    found = states(rows)
    assert found[: SAMPLES - 1] == [FORCE_WAITING] * (SAMPLES - 1)
    ramp = round(RAMP / DT)
    assert found[SAMPLES - 1 : SAMPLES + ramp - 2] == [FORCE_RAMP] * (ramp - 1)
    assert found[-1] == FORCE_ACTIVE
    gain = rows[SAMPLES - 1 : SAMPLES + ramp - 1, ROW_GAIN]
    assert gain == pytest.approx(np.arange(1, ramp + 1) / ramp)
    assert (force(rows)[: SAMPLES - 1] == 0.0).all()
    assert force(rows)[-1] > 0.5


@pytest.mark.parametrize("length", [1, 5, 50])
@pytest.mark.parametrize("bit", [FAULT_READ, FAULT_WRITE])
def test_a_glitch_is_zero_at_once_and_over_after_samples_and_ramp(length: int, bit: int) -> None:
    device = Device()
    device.run(300)
    glitch = device.run(length, status=bit)
    assert (glitch[:, ROW_SENT : ROW_SENT + 7] == 0.0).all()
    assert states(glitch) == [FORCE_FAULT] * length
    after = device.run(SAMPLES + round(RAMP / DT) + 2)
    found = states(after)
    assert found[:SAMPLES] == [FORCE_WAITING] * SAMPLES
    assert found[SAMPLES] == FORCE_RAMP
    assert found[-1] == FORCE_ACTIVE
    assert (force(after)[:SAMPLES] == 0.0).all()
    assert force(after)[-1] == pytest.approx(force(np.array(device.rows))[299], rel=0.01)


def test_status_belongs_to_one_exchange() -> None:
    device = Device()
    device.run(300)
    device.run(1, status=FAULT_READ)
    assert (device.run(5)[:, ROW_FAULT] == 0).all()


def test_a_command_that_was_not_taken_counts_until_the_next_that_is() -> None:
    device = Device()
    device.run(300)
    device.rig.memory[MEM_WRITE_FAULT] = FAULT_WRITE
    failed = device.run(3)
    assert (force(failed) == 0.0).all()
    assert all(int(bit) & FAULT_WRITE for bit in failed[:, ROW_FAULT])
    device.rig.memory[MEM_WRITE_FAULT] = 0.0
    assert states(device.run(150))[-1] == FORCE_ACTIVE


def test_a_fault_that_comes_back_soon_doubles_the_ramp_up_to_four_seconds() -> None:
    device = Device(ramp=0.5)
    device.run(600)
    ramps = []
    for _ in range(6):
        device.run(1, status=FAULT_READ)
        device.run(100)
        ramps.append(float(device.rig.memory[MEM_RAMP]))
    assert ramps == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0]
    found = states(device.run(4000))
    assert found.count(FORCE_RAMP) in range(3900, 3925)  # but for what was made of it before
    assert found[-1] == FORCE_ACTIVE
    device.run(1, status=FAULT_READ)
    device.run(100)
    assert device.rig.memory[MEM_RAMP] == 0.5


def test_twenty_glitches_in_a_row_end_in_lost_and_not_in_a_loop() -> None:
    device = Device()
    device.run(300)
    for k in range(MOST_FAULTS):
        assert states(device.run(1, status=FAULT_READ))[0] == (
            FORCE_LOST if k == MOST_FAULTS - 1 else FORCE_FAULT
        )
        device.run(50)
    rows = device.run(500)
    assert states(rows) == [FORCE_LOST] * 500
    assert (force(rows) == 0.0).all()


def test_a_fault_of_the_device_that_lasts_is_its_loss() -> None:
    device = Device(lost=0.3)
    device.run(300)
    found = states(device.run(400, status=FAULT_READ))
    assert found.index(FORCE_LOST) in (301, 302)
    assert states(device.run(100)) == [FORCE_LOST] * 100


def test_a_fault_of_another_kind_that_lasts_does_not_make_a_glitch_a_loss() -> None:
    device = Device(lost=0.3)
    device.run(300)
    fast = device.run(400, status=FAULT_SPEED)
    assert set(states(fast)) == {FORCE_FAULT}
    assert FORCE_LOST not in states(device.run(5, status=FAULT_READ))
    assert states(device.run(300))[-1] == FORCE_ACTIVE


def test_a_device_that_says_it_is_gone_is_lost_at_once() -> None:
    device = Device()
    device.run(300)
    assert states(device.run(1, status=FAULT_LOST)) == [FORCE_LOST]


@pytest.mark.parametrize("bit", [FAULT_OFF, FAULT_ESCAPE])
def test_force_off_is_waited_for_and_is_no_fault(bit: int) -> None:
    device = Device(lost=0.3)
    device.run(300)
    if bit == FAULT_OFF:
        off = device.run(1000, status=bit)
    else:
        device.rig.memory[MEM_OUTSIDE] = bit
        off = device.run(1000)
        device.rig.memory[MEM_OUTSIDE] = 0.0
    assert states(off) == [FORCE_WAITING] * 1000
    assert (force(off) == 0.0).all()
    # and the ramp after it is not longer
    assert states(device.run(SAMPLES + round(RAMP / DT) + 2))[-1] == FORCE_ACTIVE


def test_a_device_that_repeats_itself_is_silent() -> None:
    device = Device()
    device.run(300)
    rows = device.run(60, fresh=False)
    first = next(i for i, bit in enumerate(rows[:, ROW_FAULT]) if int(bit) & FAULT_SILENT)
    assert first in (49, 50, 51)  # by rounding of the time
    assert force(rows)[first - 1] > 0.5
    assert (force(rows)[first:] == 0.0).all()


def test_a_device_that_never_speaks_is_lost_without_any_force() -> None:
    rig = pressing_rig(1, Safety(lost=0.5))
    rig.settings[SET_PLACE] = PLACE_ON_TOOL
    rig.source[0] = 2
    rows = run(rig, 0, 1000)
    assert (rows[:, ROW_SENT : ROW_SENT + 7] == 0.0).all()
    assert states(rows)[-1] == FORCE_LOST
