"""3Dconnexion SpaceMouse, through `pyspacemouse`: input only, nothing is felt.

The cap is pushed, not moved, so its six numbers are speeds: they are integrated to the pose of a
virtual handle that stays within the workspace. Reports come one per call and in two halves on many
models; a thread of the adapter drains them, otherwise seconds of lag would build up. With the
convention HID_Z_UP the axes are tangere's: x right, y away from the user, z up.
"""

from __future__ import annotations

import contextlib
import io
import time
from math import exp, isfinite, sqrt
from typing import Any

from tangere.devices.device import UPRIGHT, DeviceInfo, Floats, Sample, Threaded
from tangere.errors import DeviceError
from tangere.maths.quat import Quat, from_vector, product, unit

# The cap at rest may read this much of its range.
DEAD = 0.03
# Reports come 60 times a second; the speed follows them with this time constant [s].
SMOOTH = 0.02
# A longer pause between two turns counts as this [s].
MAX_STEP = 0.05
RECENTRE = 1  # button; 0 is the clutch


class SpaceMouse(Threaded):
    """A virtual handle driven by a SpaceMouse.

    `speed` and `turn_speed` are reached with the cap pushed all the way. Button 0 is the clutch,
    button 1 puts the handle back to the middle. `name` picks one of several devices.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        speed: float = 0.15,
        turn_speed: float = 1.5,
        radius: float = 0.15,
    ) -> None:
        for what, value in (("speed", speed), ("turn_speed", turn_speed), ("radius", radius)):
            if not (isfinite(value) and value > 0):
                raise DeviceError(f"SpaceMouse: {what} {value:g} must be positive")
        super().__init__(DeviceInfo("SpaceMouse", radius=radius, rate=500.0, blocks=True))
        self._name = name
        self._speeds = (speed,) * 3 + (turn_speed,) * 3
        self._mouse: Any = None
        self._rest()

    def _rest(self) -> None:
        self._position: Floats = (0.0, 0.0, 0.0)
        self._quaternion: Quat = UPRIGHT
        self._twist: Floats = (0.0,) * 6
        self._when = time.monotonic()

    def _begin(self) -> None:
        library = _library()
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # it names the device it found
                self._mouse = library.open(
                    nonblocking=True,
                    device=self._name,
                    axis_convention=library.AxisConvention.HID_Z_UP,
                )
        except Exception as error:
            raise DeviceError(
                f"SpaceMouse: {error}: connect it, and on Linux let the user read it "
                "(udev rule for vendor 256f, older models 046d)"
            ) from None
        self._rest()
        self._move(0.0)  # its kernels are compiled here, not on the thread

    def _turn(self, force: Floats, torque: Floats) -> None:
        state = self._drained()
        now = time.monotonic()
        dt = min(now - self._when, MAX_STEP)
        self._when = now
        axes = (state.x, state.y, state.z, state.roll, state.pitch, state.yaw)
        keep = exp(-dt / SMOOTH)
        self._twist = tuple(
            keep * old + (1.0 - keep) * full * _beyond_rest(float(axis))
            for old, full, axis in zip(self._twist, self._speeds, axes, strict=True)
        )
        buttons = [bool(pressed) for pressed in state.buttons]
        if len(buttons) > RECENTRE and buttons[RECENTRE]:
            self._rest()
        self._move(dt)
        bits = sum(1 << i for i, pressed in enumerate(buttons) if pressed)
        self.publish(Sample(self._position, self._quaternion, self._twist, bits))

    def _drained(self) -> Any:
        """State after the last report that is there; each call of `read` takes one."""
        state = self._mouse.read()
        seen = None
        while state.t != seen and not self.stopping.is_set():
            seen = state.t
            state = self._mouse.read()
        return state

    def _move(self, dt: float) -> None:
        """One step of the handle; at the edge of the workspace it slides along it."""
        v, omega = self._twist[:3], self._twist[3:]
        x = tuple(p + dt * c for p, c in zip(self._position, v, strict=True))
        far = sqrt(sum(c * c for c in x))
        if far > self.info.radius:
            x = tuple(c * self.info.radius / far for c in x)
            v = tuple(
                (b - a) / dt if dt > 0 else 0.0 for a, b in zip(self._position, x, strict=True)
            )
        self._position, self._twist = x, (*v, *omega)
        turn = from_vector((dt * omega[0], dt * omega[1], dt * omega[2]))
        self._quaternion = unit(product(turn, self._quaternion))

    def _end(self) -> None:
        if self._mouse is not None:
            mouse, self._mouse = self._mouse, None
            mouse.close()


def _beyond_rest(axis: float) -> float:
    """Share of the range beyond the dead zone, −1 … 1; what is no number counts as rest."""
    if not isfinite(axis) or abs(axis) < DEAD:
        return 0.0
    share = min(1.0, (abs(axis) - DEAD) / (1.0 - DEAD))
    return share if axis > 0 else -share


def connected() -> str:
    """Devices that are there, in words."""
    return ", ".join(_library().get_connected_devices())


def _library() -> Any:
    try:
        import pyspacemouse
    except ImportError as error:
        raise DeviceError(f"SpaceMouse: {error}: pip install 'tangere[spacemouse]'") from None
    except Exception as error:  # its HID layer looks for a system library
        raise DeviceError(f"SpaceMouse: {error}: install the system's hidapi library") from None
    return pyspacemouse
