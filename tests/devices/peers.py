"""One handle for every adapter and its fake peer, so that one suite can examine all of them.

A peer is told and tells SI units, in the axes right, away from the user, up.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from devices.fakes import FakeService
from numpy.typing import NDArray

from tangere.devices import forcedimension, openhaptics
from tangere.devices.browser import Browser, Page
from tangere.devices.device import Adapter
from tangere.devices.forcedimension import ForceDimension
from tangere.devices.haply import Haply
from tangere.devices.openhaptics import OpenHaptics
from tangere.devices.simulated import DeviceModel, Hand, Scripted
from tangere.devices.spacemouse import SpaceMouse
from tangere.fakes.vendors import MODELS, World, find_mouse_library

Vector = NDArray[np.float64]
X, Y, Z = np.eye(3)


def turn_matrix(axis: Vector, angle: float) -> Vector:
    """Rodrigues' formula."""
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k)


def turn_quaternion(axis: Vector, angle: float) -> list[float]:
    return [float(np.cos(0.5 * angle)), *(np.sin(0.5 * angle) * axis).tolist()]


class Peer:
    """What the suite asks of a fake."""

    absolute = True  # poses are told, not speeds
    served = False  # by a thread
    real = True  # a vendor's library or service stands behind it
    # A reading follows the peer to this [m, rad]: rounding, but for filters and arms
    exact = 1e-12
    settle = 0.0  # time after which it does [s]

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self.patch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")

    def make(self) -> Adapter:
        raise AssertionError

    def place(self, position: Vector, axis: Vector, angle: float) -> None:
        """Put the hand to a position, turned about an axis."""
        raise AssertionError

    def shown(self) -> list[tuple[Vector, Vector]]:
        """Force and torque on the hand so far, those that did not arrive as well."""
        raise AssertionError

    def press(self) -> None:
        """Hold the first button."""
        raise AssertionError

    def spoil(self) -> None:
        """The device tells nonsense."""
        raise AssertionError

    def drop(self) -> None:
        """The connection breaks."""
        raise AssertionError

    def stall(self, stalled: bool) -> None:
        """The vendor's calls do not return."""

    def lose_library(self) -> None:
        raise AssertionError

    def unplug(self) -> None:
        raise AssertionError

    def close(self) -> None:
        pass


class SdkPeer(Peer):
    """A vendor's C library with one device, faked."""

    served = True
    model = "sigma.7"

    def __init__(self, request: pytest.FixtureRequest) -> None:
        super().__init__(request)
        self.world: World = request.getfixturevalue("world")
        for name, value in {**MODELS[self.model], "model": self.model.encode()}.items():
            self.world[name] = value

    def place(self, position: Vector, axis: Vector, angle: float) -> None:
        self.world.place(position, axis, angle)

    def shown(self) -> list[tuple[Vector, Vector]]:
        return [(row[:3], row[3:6]) for row in self.world.commands(refused=True)]

    def press(self) -> None:
        self.world["buttons"] = 1

    def spoil(self) -> None:
        self.world["spoiled"] = 1

    def drop(self) -> None:
        self.world["dead"] = 1

    def stall(self, stalled: bool) -> None:
        self.world.freeze(1e6 if stalled else 0.0)

    def unplug(self) -> None:
        self.world["devices"] = 0


class DhdPeer(SdkPeer):
    def make(self) -> Adapter:
        return ForceDimension()

    def lose_library(self) -> None:
        self.patch.setattr(forcedimension, "FILES", {sys.platform: ("libabsent.so*",)})


class BindingsPeer(SdkPeer):
    """The same device through the package that binds the vendor's library for Python."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        super().__init__(request)
        pytest.importorskip("forcedimension_core", reason="not made for this Python")

    def make(self) -> Adapter:
        return ForceDimension(calls="python")

    def lose_library(self) -> None:
        self.patch.setitem(sys.modules, "forcedimension_core", None)


class HdPeer(SdkPeer):
    model = "Premium 1.5 6DOF"

    def __init__(self, request: pytest.FixtureRequest) -> None:
        super().__init__(request)
        self.world["max_force"] = 8.5

    def make(self) -> Adapter:
        return OpenHaptics()

    def lose_library(self) -> None:
        self.patch.setattr(openhaptics, "FILES", {sys.platform: ("libabsent.so*",)})


class HaplyPeer(Peer):
    served = True

    def __init__(self, request: pytest.FixtureRequest) -> None:
        super().__init__(request)
        self.fake = FakeService()
        self.port = self.fake.port

    def make(self) -> Adapter:
        return Haply(host="127.0.0.1", port=self.port, events_port=self.fake.events_port)

    def place(self, position: Vector, axis: Vector, angle: float) -> None:
        self.fake.position = dict(zip("xyz", position.tolist(), strict=True))
        self.fake.orientation = dict(zip("wxyz", turn_quaternion(axis, angle), strict=True))

    def shown(self) -> list[tuple[Vector, Vector]]:
        return [(np.array(f), np.zeros(3)) for f in list(self.fake.shown)]

    def press(self) -> None:
        self.fake.buttons = {"button": True}

    def spoil(self) -> None:
        self.fake.position = {"x": float("nan")}

    def drop(self) -> None:
        self.fake.drop()

    def stall(self, stalled: bool) -> None:
        self.fake.stall(stalled)

    def lose_library(self) -> None:  # the service is not installed
        self.port = 9  # discard: nobody listens

    def unplug(self) -> None:
        self.fake.devices = 0

    def close(self) -> None:
        self.fake.close()


class MousePeer(SdkPeer):
    """`pyspacemouse` itself, over a hidapi with one mouse."""

    absolute = False
    exact = 1e-6

    def __init__(self, request: pytest.FixtureRequest) -> None:
        super().__init__(request)
        find_mouse_library(request.getfixturevalue("vendor_libraries"), self.patch)

    def make(self) -> Adapter:
        return SpaceMouse()

    def place(self, position: Vector, axis: Vector, angle: float) -> None:
        """Push the cap that way: translation and rotation in reports of their own."""
        push = position / np.linalg.norm(position) if position.any() else position
        self.world.push(push, axis * np.sign(angle))

    def shown(self) -> list[tuple[Vector, Vector]]:
        return [(np.zeros(3), np.zeros(3))]

    def press(self) -> None:
        self.world.push(buttons=1)

    def spoil(self) -> None:
        self.world.push((93.0, 0.0, 0.0))  # as far as the report's numbers go

    def lose_library(self) -> None:
        self.patch.setitem(sys.modules, "pyspacemouse", None)

    def unplug(self) -> None:
        self.world["mouse"] = 0


class BrowserPeer(Peer):
    real = False
    exact = 1e-6
    settle = 0.6  # twenty time constants of the follower

    def __init__(self, request: pytest.FixtureRequest) -> None:
        super().__init__(request)
        self.device = Browser(max_speed=10.0, max_turn_speed=50.0)
        self.row: list[Any] = [X * 0, turn_quaternion(Z, 0.0), 0]

    def make(self) -> Adapter:
        return self.device

    def _post(self) -> None:
        page = Page(self.device.address)
        page.move(*self.row)
        page.close()

    def place(self, position: Vector, axis: Vector, angle: float) -> None:
        self.row[:2] = position, turn_quaternion(axis, angle)
        self._post()

    def shown(self) -> list[tuple[Vector, Vector]]:
        return [(np.zeros(3), np.zeros(3))]

    def press(self) -> None:
        self.row[2] = 1
        self._post()


class ScriptedPeer(Peer):
    real = False

    def __init__(self, request: pytest.FixtureRequest) -> None:
        super().__init__(request)
        self.pose: tuple[Any, Any] = (X * 0, turn_quaternion(Z, 0.0))
        self.buttons = 0

    def make(self) -> Adapter:
        return Scripted(lambda _: self.pose, buttons=lambda _: self.buttons)

    def place(self, position: Vector, axis: Vector, angle: float) -> None:
        self.pose = position, turn_quaternion(axis, angle)

    def shown(self) -> list[tuple[Vector, Vector]]:
        return [(np.zeros(3), np.zeros(3))]

    def press(self) -> None:
        self.buttons = 1


class HandPeer(ScriptedPeer):
    exact = 1e-6
    settle = 0.6  # critically damped at 40/s

    def make(self) -> Adapter:
        limits = DeviceModel(max_force=5.0, max_torque=0.2)
        intent = Scripted(lambda _: self.pose, buttons=lambda _: self.buttons)
        self.hand = Hand(
            intent, device=limits, damping=20.0, rotational_damping=0.07, stiffness=400.0
        )
        return self.hand

    def shown(self) -> list[tuple[Vector, Vector]]:
        sent = self.hand._sent
        return [(sent[:3].copy(), sent[3:6].copy())]


PEERS: dict[str, Callable[[pytest.FixtureRequest], Peer]] = {
    "forcedimension": DhdPeer,
    "forcedimension_core": BindingsPeer,
    "openhaptics": HdPeer,
    "haply": HaplyPeer,
    "spacemouse": MousePeer,
    "browser": BrowserPeer,
    "scripted": ScriptedPeer,
    "hand": HandPeer,
}


def in_time(work: Callable[[], None], seconds: float = 5.0) -> bool:
    """Whether a call comes back at all."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
