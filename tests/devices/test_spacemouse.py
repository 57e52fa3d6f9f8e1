"""A SpaceMouse through `pyspacemouse` itself, over a hidapi that gives out reports."""

from __future__ import annotations

import time

import numpy as np
import pytest
from devices.waiting import reading, until

from tangere.devices import spacemouse
from tangere.devices.spacemouse import DEAD, SpaceMouse
from tangere.errors import DeviceError
from tangere.fakes.vendors import Libraries, World, find_mouse_library
from tangere.haptics.layout import NREAD, READ_POSITION, READ_QUATERNION, READ_VELOCITY

pytestmark = pytest.mark.nojit


@pytest.fixture
def mouse(world: World, vendor_libraries: Libraries, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world with a mouse that the package can see."""
    find_mouse_library(vendor_libraries, monkeypatch)
    return world


def test_the_device_is_named_opened_and_closed_quietly(
    mouse: World, capsys: pytest.CaptureFixture[str]
) -> None:
    with SpaceMouse():
        assert mouse.calls() == ["open"]
    assert mouse.calls() == ["open", "close"]
    assert spacemouse.connected() == "SpaceMouseCompact"
    assert capsys.readouterr().out == ""


def test_a_name_picks_the_device(mouse: World) -> None:
    with SpaceMouse("SpaceMouseCompact"):
        pass
    with pytest.raises(DeviceError, match="SpaceBall"):
        SpaceMouse("SpaceBall").open()


def test_it_is_drained_so_that_no_lag_builds_up(mouse: World) -> None:
    mouse.push((1.0, 0.0, 0.0), times=5000)
    mouse.push((0.0, 0.0, 0.0))
    with SpaceMouse() as device:
        # one report a turn would take ten seconds
        assert until(lambda: mouse["mouse_taken"] == mouse["mouse_written"], 5.0)
        assert until(lambda: abs(reading(device)[READ_VELOCITY]) < 1e-6)


def test_the_handle_stays_in_its_workspace_and_comes_back(mouse: World) -> None:
    with SpaceMouse(speed=5.0, radius=0.05) as device:
        mouse.push((1.0, 1.0, 0.0))
        out = np.zeros(NREAD)

        def far() -> float:
            device.read(out)
            return float(np.linalg.norm(out[READ_POSITION : READ_POSITION + 3]))

        assert until(lambda: far() > 0.0499)
        for _ in range(20):
            assert far() <= 0.05 * (1 + 1e-12)
            time.sleep(2e-3)
        assert out[READ_VELOCITY : READ_VELOCITY + 3] == pytest.approx([0, 0, 0], abs=1e-9)
        mouse.push((0.0, 0.0, 0.0), buttons=2)
        assert until(lambda: far() == 0.0)


def test_a_cap_at_rest_does_not_creep(mouse: World) -> None:
    mouse.push((0.9 * DEAD, 0.0, 0.0), (0.0, 0.0, -0.9 * DEAD))
    with SpaceMouse() as device:
        assert until(lambda: mouse["mouse_taken"] == mouse["mouse_written"])
        time.sleep(0.05)
        out = reading(device)
        assert not out[READ_POSITION : READ_POSITION + 3].any()
        assert out[READ_QUATERNION] == 1.0


def test_speeds_are_positive() -> None:
    with pytest.raises(DeviceError, match="speed"):
        SpaceMouse(speed=-1.0)
