"""The devices by name, and which of them are there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from tangere.devices.device import Device, DeviceInfo
from tangere.errors import DeviceError

# Name: module and class, and what it is in a few words
ADAPTERS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "browser": ("browser", "Browser", "the handle on the page, six degrees of freedom"),
        "hand": ("simulated", "Hand", "a person's arm holding an emulated device"),
        "spacemouse": ("spacemouse", "SpaceMouse", "3Dconnexion SpaceMouse, input only"),
        "haply": ("haply", "Haply", "Haply Inverse3 or Minverse with VerseGrip"),
        "forcedimension": (
            "forcedimension",
            "ForceDimension",
            "Force Dimension delta, omega, sigma, lambda; Novint Falcon",
        ),
        "openhaptics": ("openhaptics", "OpenHaptics", "3D Systems Touch and Phantom"),
    }
)
# These need something to play and have no use by name alone.
_NEED_MORE = {"scripted": "devices.Scripted(function)", "playback": "devices.Playback(trace)"}


def find(device: str | Device) -> Device:
    """The device of a name, not yet open; a device is returned as it is."""
    if isinstance(device, str):
        return _make(device)
    if isinstance(device, type) or not isinstance(device, Device):
        raise DeviceError(
            f"{device!r} is no device: give a name ({', '.join(ADAPTERS)}) or an object with "
            "info, open, read, write and close"
        )
    return device


def _make(name: str) -> Device:
    key = name.strip().lower()
    if key in _NEED_MORE:
        raise DeviceError(f"device {name!r} needs something to play: give {_NEED_MORE[key]}")
    if key not in ADAPTERS:
        close = difflib.get_close_matches(key, ADAPTERS, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise DeviceError(f"no device {name!r}: {hint}there are {', '.join(ADAPTERS)}")
    module, kind, _ = ADAPTERS[key]
    made = getattr(import_module(f"tangere.devices.{module}"), kind)()
    assert isinstance(made, Device)
    return made


@dataclass(frozen=True)
class Listed:
    """One line of the list of devices."""

    name: str
    what: str
    connected: str  # what was found, in words; empty: nothing
    problem: str  # why that is not known, with the remedy; empty: none
    info: DeviceInfo  # limits; of a real device those of a typical model


def available() -> list[Listed]:
    """Every adapter: what is connected, what is missing. Nothing is opened, no force is sent."""
    lines = []
    for name, (module, _, what) in ADAPTERS.items():
        asked: Any = getattr(import_module(f"tangere.devices.{module}"), "connected", None)
        found, problem = "always there", ""
        if asked is not None:
            try:
                found = asked()
            except Exception as error:
                found, problem = "", str(error)
        lines.append(Listed(name, what, found, problem, _make(name).info))
    return lines
