"""Devices by name, the list of them, the self-test and the command that shows both."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tangere as tg
from tangere import cli
from tangere.devices import registry
from tangere.devices.device import Device
from tangere.devices.registry import ADAPTERS, available, find
from tangere.devices.selftest import self_test
from tangere.devices.simulated import Scripted
from tangere.errors import DeviceError
from tangere.fakes.vendors import Libraries, World, find_mouse_library

pytestmark = pytest.mark.nojit


def test_every_name_leads_to_a_device_and_nothing_is_opened() -> None:
    for name in ADAPTERS:
        device = find(name.upper())
        assert isinstance(device, Device)
        with pytest.raises(DeviceError, match="not open"):
            device.read(np.zeros(18))


def test_a_device_is_found_as_itself() -> None:
    mine = Scripted(lambda _: (0.0, 0.0, 0.0))
    assert find(mine) is mine


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("haptly", "did you mean 'haply'.*there are browser"),
        ("scripted", r"devices.Scripted\(function\)"),
        ("playback", r"devices.Playback\(trace\)"),
        (3, "3 is no device: give a name"),
        (Scripted, "is no device"),
    ],
)
def test_what_is_no_device_is_refused_in_one_line(asked: Any, words: str) -> None:
    with pytest.raises(DeviceError, match=words) as told:
        find(asked)
    assert len(str(told.value).splitlines()) == 1


def test_the_public_names_exist() -> None:
    for name in tg.devices.__all__:
        assert getattr(tg.devices, name) is not None
    assert dir(tg.devices) == sorted(tg.devices.__all__)
    with pytest.raises(AttributeError, match="theremin"):
        tg.devices.theremin  # noqa: B018


@pytest.fixture
def connected(world: World, vendor_libraries: Libraries, monkeypatch: pytest.MonkeyPatch) -> World:
    """A Force Dimension device and a SpaceMouse are connected; the other vendors are missing."""
    find_mouse_library(vendor_libraries, monkeypatch)
    monkeypatch.setattr("tangere.devices.openhaptics.FILES", {sys.platform: ("libabsent.so*",)})
    monkeypatch.setattr("tangere.devices.haply._version", lambda _: refuse())
    return world


def refuse() -> Any:
    raise DeviceError("Haply: no Inverse Service")


def test_the_list_says_what_is_there_and_what_is_missing(connected: World) -> None:
    lines = {line.name: line for line in available()}
    assert list(lines) == list(ADAPTERS)
    assert lines["forcedimension"].connected == "1 connected"
    assert lines["spacemouse"].connected == "SpaceMouseCompact"
    assert lines["browser"].connected == "always there"
    assert lines["haply"].problem == "Haply: no Inverse Service"
    assert "install" in lines["openhaptics"].problem
    assert connected["count"] == 0


def test_the_self_test_sends_nothing_but_zero_force(connected: World) -> None:
    connected["position"], connected["buttons"] = (0.03, 0.0, 0.0), 5
    seen = self_test(find("forcedimension"), 0.2)
    assert seen.passed
    assert seen.rate > 20.0
    assert seen.high == pytest.approx([0.03, 0.0, 0.0])
    assert seen.buttons == 5
    assert len(connected.commands()) > 3
    assert not connected.commands().any()
    assert connected.calls()[-1] == "close"


def test_the_self_test_tells_a_fault(connected: World) -> None:
    connected["dead"] = 1
    connected.fail(0.0)
    with pytest.raises(DeviceError, match="enabling force failed"):
        self_test(find("forcedimension"), 0.1)
    connected["dead"], connected["spoiled"] = 0, 1
    seen = self_test(find("forcedimension"), 0.1)
    assert not seen.passed
    assert "the pose failed" in seen.fault


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def test_the_command_lists_and_tests(
    connected: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run(capsys, "devices")
    assert code == 0
    for name in ADAPTERS:
        assert name in out
    assert "1 connected" in out
    assert "no Inverse Service" in out
    code, out, _ = run(capsys, "devices", "--test", "forcedimension", "--seconds", "0.1")
    assert code == 0
    assert "sigma.7" in out
    assert "only zero force sent" in out
    connected["dead"] = 1
    code, _, err = run(capsys, "devices", "--test", "forcedimension", "--seconds", "0.1")
    assert code == 2
    assert err.startswith("tangere: ")
    code, _, err = run(capsys, "devices", "--test", "omega")
    assert (code, len(err.splitlines())) == (2, 1)


def test_a_failed_test_has_its_own_exit_status(
    connected: World, capsys: pytest.CaptureFixture[str]
) -> None:
    connected["write_fails"] = 1
    code, out, _ = run(capsys, "devices", "--test", "forcedimension", "--seconds", "0.1")
    assert code == 1
    assert "the force failed" in out


def test_nothing_is_imported_before_it_is_used() -> None:
    assert set(registry.__dict__) & {"haply", "websockets", "pyspacemouse"} == set()
