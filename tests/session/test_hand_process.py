"""A process of its own for devices that push: it does as told, and lets go whatever happens.

No assertion on time: `tangere bench servo` has the figures.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.bench import criteria
from tangere.devices.device import Adapter, DeviceInfo
from tangere.errors import DeviceError, SceneError
from tangere.fakes.held_program import ENDINGS, lean_on, lower
from tangere.fakes.measure import end_of_program
from tangere.fakes.vendors import Libraries, World
from tangere.haptics.layout import (
    FAULT_OFF,
    FORCE_ACTIVE,
    FORCE_LOST,
    FORCE_WAITING,
    MEM_STATE,
)
from tangere.session.session import Session

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="plain Python cannot keep the pace of a servo")


def until(session: Session, condition: Callable[[], bool]) -> None:
    """Let the session run until something is so; a loaded machine may take its time."""
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end, "it never came so"
        time.sleep(5e-3)


def state(session: Session) -> float:
    return float(session.rigs[0].memory[MEM_STATE])


def leaning(world: World, **options: Any) -> Session:
    """A session that feels a floor with all of its force."""
    session = lean_on(**options)
    session.start()
    lower(world, session)
    until(session, lambda: state(session) == FORCE_ACTIVE)
    return session


# ---------------------------------------------------------------- what a session sees


def test_a_session_drives_a_device_in_another_process(world: World, tmp_path: Path) -> None:
    session = leaning(world)
    process = session.live.hands.apart
    world["buttons"] = 2
    session.wait(0.1)
    trace = session.stop()
    assert process == [0]
    assert trace.meta["end"] == "finished"
    assert trace["device.force"][:, 2].max() == pytest.approx(200.0 * 0.005, rel=0.1)
    assert np.abs(world.last()).max() == 0.0
    assert world.calls()[-2:] == ["stop", "close"]
    # every tick was a command, each with what its row says
    sent = world.log("write")["wrench"][: len(trace), 2]
    assert len(sent) == pytest.approx(len(trace), abs=2)
    assert np.isin(trace["device.force"][-20:, 2].round(9), sent.round(9)).all()
    assert trace["buttons"][-1] == 2


def test_limits_are_those_of_the_device_found(world: World) -> None:
    """A sigma.7 shows torque, and more force than the table of unknown devices allows."""
    session = leaning(world)
    world.place(world["position"], axis=(0.0, 0.0, 1.0), angle=0.1)
    until(session, lambda: bool(np.linalg.norm(world.last()[3:6]) > 1e-3))
    told = session.stop().meta["settings"]["cube"]
    assert told["device_force"] == 12.0
    assert told["device_torque"] == 0.2


def test_a_device_that_is_not_there_is_said_in_one_line(world: World) -> None:
    world["devices"] = 0
    with pytest.raises(DeviceError, match="no device could be opened") as caught:
        lean_on().start()
    assert "\n" not in str(caught.value)


def test_force_that_is_switched_off_is_waited_for(world: World) -> None:
    session = leaning(world)
    world["force_off"] = 6
    until(session, lambda: state(session) == FORCE_WAITING)
    until(session, lambda: any("dead-man" in words for words in session.live.hands.faults))
    world["force_off"] = 0
    until(session, lambda: state(session) == FORCE_ACTIVE)
    trace = session.stop()
    off = trace["fault"] & FAULT_OFF != 0
    assert off.any()
    assert (trace["device.force"][off] == 0.0).all()


def test_a_lost_device_ends_the_session(world: World) -> None:
    session = leaning(world)
    world["dead"] = 1
    assert session.wait(30.0)
    trace = session.stop()
    assert "is lost" in trace.meta["end"]
    assert "failed" in trace.meta["end"]


def test_a_lost_device_is_opened_again_if_asked_for(world: World) -> None:
    session = leaning(world, reconnect=True)
    world["dead"] = 1
    until(session, lambda: state(session) == FORCE_LOST)
    world["dead"] = 0
    until(session, lambda: state(session) == FORCE_ACTIVE)
    assert len(world.log("open")) == 2
    session.stop()
    assert np.abs(world.last()).max() == 0.0


@pytest.mark.parametrize("model", ["Touch"])
def test_a_vendors_scheduler_drives_the_session(world: World, model: str) -> None:
    session = leaning(world, device="openhaptics")
    assert "scheduler" in session.live.hands.granted
    trace = session.stop()
    assert trace["device.force"][:, 2].max() == pytest.approx(1.0, rel=0.1)
    assert np.abs(world.last()).max() == 0.0
    assert world.calls()[-2:] == ["stop scheduler", "close"]


def test_a_scheduler_of_another_rate_is_refused(world: World) -> None:
    with pytest.raises(DeviceError, match="1000 times a second"):
        lean_on("openhaptics", rate=500.0).start()


def test_two_devices_have_a_loop_each(world: World) -> None:
    world["devices"] = 2
    scene = tg.Scene()
    for name, x in (("left", -0.1), ("right", 0.1)):
        scene.add_tool(tg.Sphere(0.01), position=(x, 0.0, 0.0), name=name)
    devices = [tg.devices.ForceDimension(index) for index in range(2)]
    session = tg.Session(scene, device=devices)
    with session:
        assert session.live.hands.groups == [[0], [1]]
        session.wait(0.2)
    trace = session.stop()
    assert trace.tools == ("left", "right")
    for tool in trace.tools:
        assert trace[f"{tool}.servo.state"][-1] == FORCE_ACTIVE or len(trace) < 600
        assert {0, 1} <= set(world.log("write")["device"])
    assert len(trace) > 100


# ---------------------------------------------------------------- ends


@pytest.mark.parametrize("ending", ["sigterm", "sigkill", "exception"])
def test_the_hand_is_let_go_however_the_program_ends(
    vendor_libraries: Libraries, tmp_path: Path, ending: str
) -> None:
    end = end_of_program(vendor_libraries, tmp_path, ending)
    assert np.isfinite(end.zero)
    assert np.isfinite(end.closed)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [each for each in ENDINGS if each != "sigstop"])
def test_every_end_is_one_in_time(vendor_libraries: Libraries, tmp_path: Path, ending: str) -> None:
    for _ in range(20):
        end = end_of_program(vendor_libraries, tmp_path, ending)
        assert max(end.zero, end.closed) < criteria.ZERO


def test_a_hand_process_that_dies_ends_the_session(world: World) -> None:
    session = leaning(world)
    (child,) = _children("hand_process")
    os.kill(child, signal.SIGKILL)
    assert session.wait(30.0)
    trace = session.stop()
    assert "SIGKILL" in trace.meta["end"]
    assert "watchdog" in trace.meta["end"]


def test_a_hand_process_that_is_told_to_end_lets_go_first(world: World) -> None:
    session = leaning(world)
    (child,) = _children("hand_process")
    os.kill(child, signal.SIGTERM)
    assert session.wait(30.0)
    session.stop()
    assert np.abs(world.last()).max() == 0.0
    assert world.calls()[-1] == "close"


def _children(name: str) -> list[int]:
    """Processes of this one whose command has a word in it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_text()
        except OSError:
            continue
        if int(stat[1]) == os.getpid() and name in command and stat[0] != "Z":
            found.append(int(entry.name))
    return found


# ---------------------------------------------------------------- devices from elsewhere


class Stone(Adapter):
    """A device of a user's own, made with an argument."""

    def __init__(self, weight: float) -> None:
        super().__init__(DeviceInfo("stone", max_force=weight, rate=1000.0))

    def _receive(self, out: Any) -> bool:
        out[3] = 1.0
        return True


def test_a_users_device_goes_to_the_process_as_it_was_made() -> None:
    session = lean_on(Stone(3.0))
    with session:
        session.wait(0.1)
    assert session.stop().meta["settings"]["cube"]["device_force"] == 3.0


def test_a_device_that_cannot_go_is_refused_with_the_remedy() -> None:
    class Fixed:
        info = DeviceInfo("fixed", max_force=1.0)
        fault = ""

        def __init__(self) -> None:
            self.lock = threading.Lock()

        def open(self) -> None: ...
        def read(self, out: Any) -> None: ...
        def write(self, wrench: Any) -> None: ...
        def close(self) -> None: ...

    with pytest.raises(DeviceError, match="process=False"):
        lean_on(Fixed()).start()


def test_a_device_in_this_process_is_noted(world: World) -> None:
    session = leaning(world, process=False)
    assert session.live.hands.apart == []
    session.stop()
    assert any("driven by this process" in note for note in session.notes)
    assert np.abs(world.last()).max() == 0.0


def test_direct_coupling_on_a_held_wrench_is_refused() -> None:
    scene = tg.Scene()
    scene.add_body(tg.Box((0.1, 0.1, 0.1)), fixed=True)
    scene.add_tool(tg.Sphere(0.01), position=(0, 0, 0.1), coupling=tg.DirectCoupling())
    with pytest.raises(SceneError, match="held"):
        tg.Session(scene, device=Stone(3.0), contact="held")
