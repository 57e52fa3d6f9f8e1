"""Devices by name, the list of them, the self-test and the command that shows both."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from devices.fakes import FakeDhd, FakeMouse

import tangere as tg
from tangere import cli
from tangere.devices import registry
from tangere.devices.device import Device
from tangere.devices.registry import ADAPTERS, available, find
from tangere.devices.selftest import self_test
from tangere.devices.simulated import Scripted
from tangere.errors import DeviceError

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
def peers(monkeypatch: pytest.MonkeyPatch) -> FakeDhd:
    """A Force Dimension device and a SpaceMouse are connected; the other vendors are missing."""
    FakeMouse().install(monkeypatch)
    monkeypatch.setitem(sys.modules, "pyOpenHaptics", None)
    monkeypatch.setattr("tangere.devices.haply._version", lambda _: refuse())
    fake = FakeDhd()
    fake.install(monkeypatch)
    return fake


def refuse() -> Any:
    raise DeviceError("Haply: no Inverse Service")


def test_the_list_says_what_is_there_and_what_is_missing(peers: FakeDhd) -> None:
    lines = {line.name: line for line in available()}
    assert list(lines) == list(ADAPTERS)
    assert lines["forcedimension"].connected == "1 connected"
    assert lines["spacemouse"].connected == "SpaceMouse Compact"
    assert lines["browser"].connected == "always there"
    assert lines["haply"].problem == "Haply: no Inverse Service"
    assert "pip install" in lines["openhaptics"].problem
    assert peers.shown == []
    assert peers.calls == []


def test_the_self_test_sends_nothing_but_zero_force(peers: FakeDhd) -> None:
    peers.position = [0.0, 0.03, 0.0]
    peers.buttons = 5
    seen = self_test(find("forcedimension"), 0.2)
    assert seen.passed
    assert seen.rate > 20.0
    assert seen.high == pytest.approx([0.03, 0.0, 0.0])
    assert seen.buttons == 5
    assert len(peers.shown) > 3
    assert not any(any(force) or any(torque) for force, torque in peers.shown)
    assert peers.calls[-1] == "close"


def test_the_self_test_tells_a_fault(peers: FakeDhd) -> None:
    peers.position = [float("nan")] * 3
    seen = self_test(find("forcedimension"), 0.1)
    assert not seen.passed
    assert "makes no sense" in seen.fault


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def test_the_command_lists_and_tests(
    peers: FakeDhd, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
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
    peers.dead = True
    code, _, err = run(capsys, "devices", "--test", "forcedimension", "--seconds", "0.1")
    assert code == 2
    assert err.startswith("tangere: ")
    code, _, err = run(capsys, "devices", "--test", "omega")
    assert (code, len(err.splitlines())) == (2, 1)


def test_a_failed_test_has_its_own_exit_status(
    peers: FakeDhd, capsys: pytest.CaptureFixture[str]
) -> None:
    peers.write_fails = True
    code, out, _ = run(capsys, "devices", "--test", "forcedimension", "--seconds", "0.1")
    assert code == 1
    assert "the force failed" in out


def test_nothing_is_imported_before_it_is_used() -> None:
    assert set(registry.__dict__) & {"haply", "websockets", "pyspacemouse"} == set()
