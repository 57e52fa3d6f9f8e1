"""Haptic devices: the protocol, simulated ones, and an adapter for each real one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Adapter": "device",
    "Browser": "browser",
    "Device": "device",
    "DeviceInfo": "device",
    "DeviceModel": "simulated",
    "ForceDimension": "forcedimension",
    "Hand": "simulated",
    "Haply": "haply",
    "Keyframes": "keyframes",
    "OpenHaptics": "openhaptics",
    "Playback": "simulated",
    "Scripted": "simulated",
    "SpaceMouse": "spacemouse",
    "available": "registry",
    "find": "registry",
}

__all__ = [
    "Adapter",
    "Browser",
    "Device",
    "DeviceInfo",
    "DeviceModel",
    "ForceDimension",
    "Hand",
    "Haply",
    "Keyframes",
    "OpenHaptics",
    "Playback",
    "Scripted",
    "SpaceMouse",
    "available",
    "find",
]

if TYPE_CHECKING:
    from tangere.devices.browser import Browser
    from tangere.devices.device import Adapter, Device, DeviceInfo
    from tangere.devices.forcedimension import ForceDimension
    from tangere.devices.haply import Haply
    from tangere.devices.keyframes import Keyframes
    from tangere.devices.openhaptics import OpenHaptics
    from tangere.devices.registry import available, find
    from tangere.devices.simulated import DeviceModel, Hand, Playback, Scripted
    from tangere.devices.spacemouse import SpaceMouse


def __getattr__(name: str) -> Any:
    """Import a device on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'tangere.devices' has no attribute {name!r}")
    value = getattr(import_module(f"tangere.devices.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
