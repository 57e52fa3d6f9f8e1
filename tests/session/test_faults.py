"""What can go wrong in real time, injected: the hand is let go, the trace says why.

No assertion on time: only that the force is zero in every row of a fault that stops it, that the
fault is there, and how the session ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from session.scenes import pushed_block

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.devices.device import Adapter, DeviceInfo
from tangere.haptics.layout import (
    FAULT_ESCAPE,
    FAULT_JUMP,
    FAULT_NAN_CONTACT,
    FAULT_READ,
    FAULT_RECORD,
    FAULT_SILENT,
    FAULT_STALE,
    FAULT_WRITE,
    MEM_FAULTS,
    READ_POSITION,
    ROW_SENT,
    STOPS_FORCE,
)
from tangere.session.session import Session

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="plain Python cannot keep the pace of a servo")

MOST = 5.0  # limit of the force [N]
DOWN = 0.034  # way of the hand [m]: 4 mm further than the floor lets the tool go, 1.2 N
SAFE = tg.Safety(force=MOST, torque=0.1)


class Rod(Adapter):
    """A device whose hand presses on the floor, which does not give way, and that can fail."""

    def __init__(self) -> None:
        super().__init__(DeviceInfo("rod", max_force=MOST, max_torque=0.1, rate=1000.0))
        self.failing = ""
        self.sent: list[float] = []
        self.closed_at_zero = False
        self._begin = np.inf

    def press(self) -> None:
        """The hand begins to move."""
        self._begin = time.monotonic()

    def _receive(self, out: Any) -> bool:
        if self.failing == "read":
            raise OSError("cable")
        if self.failing == "freeze":
            return False
        t = max(0.0, time.monotonic() - self._begin)
        out[READ_POSITION + 2] = -min(0.12 * t, DOWN)
        if self.failing == "jump":
            out[READ_POSITION] += 1.0
        return True

    def _send(self, force: Any, torque: Any) -> None:
        if self.failing == "write":
            raise OSError("amplifier")
        self.sent.append(float(np.linalg.norm(force)))

    def _disconnect(self) -> None:
        self.closed_at_zero = not self.sent or self.sent[-1] == 0.0


@pytest.fixture
def rod() -> Iterator[Rod]:
    device = Rod()
    yield device
    device.close()


def felt(session: Session) -> float:
    """Force sent in the newest tick [N]."""
    return float(np.linalg.norm(session.rigs[0].row[ROW_SENT : ROW_SENT + 3]))


def until(session: Session, condition: Callable[[], bool]) -> None:
    """Let the session run until something is so; a loaded machine may take its time."""
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end, "it never came so"
        assert not session.wait(0.02), session.live.trouble


def touching(device: Any, **options: Any) -> Session:
    """A session in real time whose hand presses on the floor."""
    session = tg.Session(pushed_block(), device=device, safety=SAFE, process=False)
    session.start(**options)  # returns when the hand is placed
    getattr(device, "press", lambda: None)()
    until(session, lambda: felt(session) > 0.3)
    return session


def rows_with(trace: tg.Trace, bit: int) -> Any:
    return np.flatnonzero(trace["fault"] & bit)


def assert_let_go(trace: tg.Trace, bit: int) -> None:
    """The fault is in the trace, no force in any row of it, and never more than the limit."""
    force = np.linalg.norm(trace["device.force"], axis=1)
    assert len(rows_with(trace, bit)) > 0
    stopped = (trace["fault"] & STOPS_FORCE) != 0
    assert np.all(force[stopped] == 0.0)
    assert np.all(np.isfinite(trace.rows))
    assert force.max() <= MOST * (1.0 + 1e-12)
    assert np.any(force[~stopped] > 0.1), "the hand was pressing before"
    assert trace.meta["faults"]


def test_session_without_trouble_records_every_tick(rod: Rod) -> None:
    session = tg.Session(pushed_block(), device=rod, process=False)
    trace = session.run(0.9)
    counters = session.live.hands.counters
    assert counters.ticks == len(trace) == 900
    assert trace.meta["end"] == "finished"
    # nothing was wrong but what a loaded machine may do: threads that come too late
    slow = FAULT_SILENT | FAULT_STALE | FAULT_ESCAPE
    assert not np.any(trace["fault"] & STOPS_FORCE & ~slow)
    assert rod.closed_at_zero


@pytest.mark.parametrize(
    ("trouble", "bit"),
    [
        ("read", FAULT_READ),
        ("freeze", FAULT_SILENT),
        ("jump", FAULT_JUMP),
        ("write", FAULT_WRITE),
    ],
)
def test_device_fails(rod: Rod, trouble: str, bit: int) -> None:
    session = touching(rod)
    rod.failing = trouble
    until(session, lambda: bool(int(session.rigs[0].memory[MEM_FAULTS]) & bit))
    assert not session.wait(0.1), "the session goes on"
    trace = session.stop()
    assert_let_go(trace, bit)


def test_device_that_somebody_closes_ends_the_session(rod: Rod) -> None:
    session = touching(rod)
    rod.close()
    assert session.wait(30.0)
    trace = session.stop()
    assert "rod is not open" in trace.meta["end"]
    assert rod.closed_at_zero
    assert_let_go(trace, FAULT_ESCAPE)


def test_device_that_comes_back_is_felt_again(rod: Rod) -> None:
    session = touching(rod)
    rod.failing = "freeze"
    until(session, lambda: felt(session) == 0.0)
    rod.failing = ""
    until(session, lambda: felt(session) > 0.1)
    trace = session.stop()
    assert_let_go(trace, FAULT_SILENT)
    # it ramps up over half a second: after a tenth of one no more than a fifth is let through
    last = rows_with(trace, FAULT_SILENT)[-1]
    assert trace["servo.gain"][last + 1 : last + 100].max() < 0.21


def break_turn(session: Session, turn: Callable[[], Any]) -> None:
    session.live.call(lambda: setattr(session.contact, "turn", turn))


def test_contact_loop_dies(rod: Rod) -> None:
    session = touching(rod)

    def fail() -> None:
        raise FloatingPointError("a speed grew beyond all bounds")

    break_turn(session, fail)
    # nobody looks: the servo lets go by itself
    end = time.monotonic() + 30.0
    while felt(session) > 0.0:
        assert time.monotonic() < end, "it never let go"
        time.sleep(0.001)
    assert session.wait(30.0), "and who looks is told that it is over"
    trace = session.stop()
    assert "contact loop failed" in trace.meta["end"]
    assert "beyond all bounds" in trace.meta["end"]
    assert rod.closed_at_zero
    assert_let_go(trace, FAULT_STALE)
    assert_let_go(trace, FAULT_ESCAPE)
    # from the last packet on, row by row: whole, then fading, then nothing, and nothing for good
    age = trace["contact.age"]
    died = int(np.flatnonzero(np.diff(age) <= 0.0)[-1]) + 1
    age, gain = age[died:], trace["servo.gain"][died:]
    sent = np.linalg.norm(trace["device.force"][died:], axis=1)
    pull = np.linalg.norm(trace["coupling.force"][died:], axis=1)
    assert np.any(age > SAFE.stale)
    assert np.all(sent[age > SAFE.stale] == 0.0)
    fading = (age > SAFE.fresh) & (age <= SAFE.stale)
    assert np.any(sent[fading] > 0.0)
    assert np.all(gain[fading] <= (SAFE.stale - age[fading]) / (SAFE.stale - SAFE.fresh) + 1e-12)
    assert np.all(sent <= gain * pull * (1.0 + 1e-12))


def test_contact_loop_hangs_and_recovers(rod: Rod) -> None:
    session = touching(rod)
    turn = session.contact.turn

    def hang() -> Any:
        time.sleep(0.3)
        session.contact.turn = turn  # type: ignore[method-assign]
        return turn()

    break_turn(session, hang)
    until(session, lambda: felt(session) == 0.0)
    until(session, lambda: felt(session) > 0.1)
    trace = session.stop()
    assert_let_go(trace, FAULT_STALE)


def test_contact_loop_sends_nonsense(rod: Rod) -> None:
    session = touching(rod)
    turn = session.contact.turn

    def nonsense() -> Any:
        packets = turn()
        for packet in packets:
            packet[30:60] = np.nan
        return packets

    break_turn(session, nonsense)
    until(session, lambda: felt(session) == 0.0)
    trace = session.stop()
    assert_let_go(trace, FAULT_NAN_CONTACT)


def test_disk_is_full(rod: Rod, tmp_path: Path) -> None:
    session = touching(rod, record=tmp_path / "a.h5")

    def no_room(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    session.live.recorder._file.append = no_room  # type: ignore[method-assign, union-attr]
    until(session, lambda: bool(int(session.rigs[0].memory[MEM_FAULTS]) & FAULT_RECORD))
    until(session, lambda: felt(session) > 0.1)  # the session goes on
    trace = session.stop()
    assert len(rows_with(trace, FAULT_RECORD)) > 0
    assert "No space left" in trace.meta["recording"]
    assert len(tg.Trace.load(tmp_path / "a.h5")) > 0


def test_pause_lets_go_and_resumes(rod: Rod) -> None:
    session = touching(rod)
    session.live.pause(True)
    until(session, lambda: felt(session) == 0.0)
    session.wait(0.1)
    time_then = session.simulation.time
    session.wait(0.1)
    assert session.simulation.time == time_then
    session.live.pause(False)
    until(session, lambda: felt(session) > 0.1)
    assert session.simulation.time > time_then
    assert session.stop("enough").meta["end"] == "enough"
