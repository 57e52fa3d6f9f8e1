"""A session in real time at a tenth of the usual rate: what plain Python can keep up with.

What only compiled code can do is in the other files of this folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangere as tg
from tangere.devices.device import Adapter, DeviceInfo
from tangere.errors import DeviceError, SceneError
from tangere.fakes.arms import lean, swing
from tangere.haptics.layout import (
    FORCE_LOST,
    MEM_STATE,
    NROW,
    ROW_EFFECT,
    ROW_OBSERVED,
    ROW_TIME,
)
from tangere.session import exits
from tangere.session.session import Session

pytestmark = pytest.mark.nojit

RATE = 100.0
# A loaded machine in plain Python is late: it shall not be a fault.
PATIENT = tg.Safety(force=3.0, fresh=5.0, stale=10.0, silence=5.0, lost=10.0)


class Stone(Adapter):
    """A device that stands still, and may fail."""

    def __init__(self, path: str = "") -> None:
        super().__init__(DeviceInfo("stone", max_force=3.0, rate=RATE))
        self._path = Path(path)

    def _receive(self, out: Any) -> bool:
        if self._path.name and self._path.exists():
            raise OSError("cable")
        out[3] = 1.0
        return True


@tg.effect
def push(pose: Any, twist: Any, t: float, p: Any, wrench: Any) -> None:
    """A constant force."""
    wrench[0] += p[0]


def held(device: Any, **options: Any) -> Session:
    scene = tg.Scene()
    scene.add_tool(tg.Sphere(0.01), name="ball")
    return tg.Session(scene, device=device, rate=RATE, **{"safety": PATIENT, **options})


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end, "it never came so"
        time.sleep(0.01)


@pytest.mark.parametrize("process", [True, False])
def test_a_device_is_driven_with_effects_and_events(process: bool, tmp_path: Path) -> None:
    session = held(Stone(), process=process)
    numbers = session.columns("phase")
    with session:
        assert session.live.hands.apart == ([0] if process else [])
        added = session.add_effect(push, parameters=(0.4,))
        session.trial = "one"
        session.mark("begin")
        numbers["phase"] = 2.0
        until(lambda: session.live.hands.counters.ticks > 60)
        newest = np.zeros(2 * NROW)
        # a loaded machine may take its time until the effect is in the loop
        until(lambda: session.live.hands.newest(newest) and newest[ROW_EFFECT] > 0.0)
        assert newest[ROW_TIME] > 0.0
        session.live.pause(True)
        session.live.pause(False)
        assert not added.failed
        added.remove()
    trace = session.stop()
    assert trace.meta["end"] == "finished"
    assert trace["effect.force"][:, 0].max() == 0.4
    assert trace["phase"].max() == 2.0
    assert [event["name"] for event in trace.events] == ["begin"]
    assert trace.trials()[-1].label == "one"
    assert session.live.hands.granted


@pytest.mark.parametrize("process", [True, False])
def test_a_device_that_comes_back_is_opened_again(process: bool, tmp_path: Path) -> None:
    cable = tmp_path / "pulled"
    safety = tg.Safety(force=3.0, fresh=5.0, stale=10.0, silence=5.0, lost=0.2)
    session = held(Stone(str(cable)), process=process, reconnect=True, safety=safety)
    with session:
        cable.touch()
        until(lambda: session.rigs[0].memory[MEM_STATE] == FORCE_LOST)
        until(lambda: any("cable" in words for words in session.live.hands.faults))
        cable.unlink()
        until(lambda: session.rigs[0].memory[MEM_STATE] != FORCE_LOST)
    assert session.stop().meta["end"] == "finished"


def test_a_device_that_is_lost_ends_the_session(tmp_path: Path) -> None:
    cable = tmp_path / "pulled"
    safety = tg.Safety(force=3.0, fresh=5.0, stale=10.0, silence=5.0, lost=0.2)
    session = held(Stone(str(cable)), safety=safety)
    session.start()
    cable.touch()
    assert session.wait(60.0)
    assert "the device of ball is lost" in session.stop().meta["end"]


class Missing(Stone):
    """A device that is not there."""

    def _connect(self) -> None:
        raise DeviceError("no stone here: bring one")


def test_a_device_that_is_not_there_is_one_line() -> None:
    with pytest.raises(DeviceError, match=r"^no stone here: bring one$"):
        held(Missing()).start()


def test_an_effect_that_cannot_run_there_is_one_line() -> None:
    def broken(pose: Any, twist: Any, t: float, p: Any, wrench: Any) -> None:
        wrench[0] = p[99]

    with held(Stone()) as session, pytest.raises(SceneError, match="effect broken"):
        session.add_effect(broken)


def test_what_runs_at_the_end_of_the_program_is_stopped() -> None:
    session = held(Stone(), process=False)
    session.start()
    exits.stop_all()
    assert session.stop().meta["end"] == "the program ended"


def test_one_hand_apart_and_one_here() -> None:
    scene = tg.Scene()
    for name, x in (("left", -0.1), ("right", 0.1)):
        scene.add_tool(tg.Sphere(0.01), position=(x, 0.0, 0.0), name=name)
    script = tg.devices.Scripted(lambda t: (-0.1, 0.0, 0.0))
    session = tg.Session(scene, device=[script, Stone()], rate=RATE, safety=PATIENT)
    with session:
        assert session.live.hands.apart == [1]
        assert session.live.hands.groups == [[0], [1]]
        newest = np.zeros(2 * NROW)
        until(lambda: session.live.hands.newest(newest) and newest[NROW + ROW_TIME] > 0.3)
    trace = session.stop()
    assert trace.tools == ("left", "right")
    assert np.isfinite(trace["right.hand.position"][-1]).all()
    assert trace["left.hand.position"][-1, 0] == pytest.approx(-0.1)


def test_the_arm_keeps_its_own_book() -> None:
    for made in (lean(2, ticks=120), swing(2, ticks=60)):
        assert np.abs(made.rows[:, ROW_OBSERVED] + made.given).max() < 1e-9
        assert made.rms >= 0.0
        assert made.most <= 1e-3
