"""3D Systems Touch and Phantom devices, through OpenHaptics.

`pyOpenHaptics` binds the vendor's library, which the user installs. The vendor's own servo thread
calls back a thousand times a second; the callback does nothing but exchange newest values. Native
frame: +x right, +y up, +z towards the user. Native units: mm, mm/s, N and mN m; the 4×4 pose is
column-major.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import time
from dataclasses import replace
from typing import Any

import numpy as np

from tangere.devices.device import (
    HOLD,
    MODELS,
    ZERO,
    Axes,
    DeviceInfo,
    Estimator,
    Exchanged,
    Floats,
    Sample,
)
from tangere.errors import DeviceError
from tangere.haptics.layout import FAULT_READ, FAULT_WRITE
from tangere.maths.rotations import quaternion_of
from tangere.maths.vec import Array

AXES = Axes("+x", "-z", "+y")
MILLI = 1e-3

# Enumerations of the HD interface that the bindings leave out
HD_VELOCITY = 0x2051
HD_TORQUE = 0x2701
HD_WORKSPACE = 0x2551
HD_OUTPUT_DOF = 0x2554
HD_UPDATE_RATE = 0x2600
HD_MAX_FORCE = 0x2603
DONE, CONTINUE = 0, 1  # what a callback answers: never again, or at the next tick

_ERRORS = {
    0x0200: "the motors are warm",
    0x0201: "more force than the device allows",
    0x0202: "force changed faster than the device allows",
    0x0203: "the hand moves faster than the device allows",
    0x0302: "communication failed",
    0x0600: "no valid licence",
}
_DEFAULT = MODELS["Touch"]
# The vendor has one scheduler: the first device that is opened starts it, the last one stops it.
_open: list[OpenHaptics] = []
# The vendor knows callbacks by address alone and may call one once more: they are never freed.
_callbacks: list[Any] = []


class OpenHaptics(Exchanged):
    """A Touch or Phantom device by the name that the vendor's setup program gave it."""

    def __init__(self, name: str = "Default Device") -> None:
        super().__init__(replace(_DEFAULT, name="OpenHaptics", drops_force=False))
        self._name = name
        self._hd: Any = None
        self._id: int | None = None
        self._vector: Any = None
        self._estimate = Estimator()
        self._last_turn = 0.0

    def _connect(self) -> None:
        hd, schedule, self._vector = _library()
        self.forget()
        self._hd = hd
        with contextlib.redirect_stdout(io.StringIO()):  # the bindings talk
            self._id = hd.init_device(self._name)
            if self._id is None:
                raise DeviceError(
                    f"OpenHaptics: no device {self._name!r}: connect it, run the vendor's setup "
                    "and give the name it has there"
                )
            hd.make_current_device(self._id)
            self.info = self._limits(hd)
            hd.enable_force()
            _open.append(self)
            if len(_open) == 1:
                hd.start_scheduler()
        self._estimate = Estimator()
        self._last_turn = time.monotonic()
        prototype = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.POINTER(ctypes.c_void_p))
        _callbacks.append(prototype(self._turn))
        schedule(_callbacks[-1])

    def _limits(self, hd: Any) -> DeviceInfo:
        """The table's limits of this model; what the device says of itself wins."""
        name = hd.get_model()
        info = next((MODELS[known] for known in MODELS if known in name), _DEFAULT)
        force = float(hd._get_doublev(HD_MAX_FORCE, ctypes.c_double).value)
        rate = int(hd._get_integerv(HD_UPDATE_RATE, ctypes.c_int).value)
        turns = int(hd._get_integerv(HD_OUTPUT_DOF, ctypes.c_int).value) >= 6
        box = list(hd._get_doublev(HD_WORKSPACE, ctypes.c_double * 6))  # two corners [mm]
        half = 0.5 * MILLI * min(box[i + 3] - box[i] for i in range(3))
        return replace(
            info,
            name=name or "OpenHaptics",
            max_force=force if force > 0.0 else info.max_force,
            max_torque=(info.max_torque or 0.188) if turns else 0.0,
            radius=half if half > 0.0 else info.radius,
            rate=float(rate) if rate > 0 else 1000.0,
            drops_force=False,
        )

    def _turn(self, _user_data: Any = None) -> int:
        """One tick of the vendor's thread; nothing may leave it as an exception."""
        hd, number = self._hd, self._id
        if number is None:
            return DONE
        hd.begin_frame(number)
        try:
            self._exchange(hd)
        except Exception as error:
            self.fail(FAULT_READ, error)
            self._show(hd, ZERO, ZERO)
        finally:
            hd.end_frame(number)
        code = int(hd._get_error().errorCode)
        if code:
            words = _ERRORS.get(code, f"error {code:#06x}")
            self.fail(FAULT_WRITE, words)
        return CONTINUE

    def _exchange(self, hd: Any) -> None:
        flat = np.array(hd.get_transform(), dtype=float).reshape(16)
        frame = flat.reshape(4, 4).T[:3, :3]
        x = AXES.to_base(tuple((MILLI * flat[12:15]).tolist()))
        q = AXES.quaternion(quaternion_of(frame).tolist())
        speed = hd._get_doublev(HD_VELOCITY, self._vector)
        now = time.monotonic()
        twist = self._estimate(now, x, q)
        velocity = AXES.to_base([MILLI * speed[i] for i in range(3)])
        self.publish(Sample(x, q, (*velocity, *twist[3:]), int(hd.get_buttons())))
        self._last_turn = now
        self._show(hd, *(self.command() if not self.status else (ZERO, ZERO)))

    def _show(self, hd: Any, force: Floats, torque: Floats) -> None:
        hd.set_force(list(AXES.from_base(force)))
        if self.info.max_torque > 0.0:
            native = [c / MILLI for c in AXES.from_base(torque)]
            hd._set_doublev(HD_TORQUE, native, self._vector)

    def _receive(self, out: Array) -> bool:
        if time.monotonic() - self._last_turn > HOLD:
            raise DeviceError("the vendor's servo loop has stopped")
        return super()._receive(out)

    def _disconnect(self) -> None:
        if self not in _open:
            self._id = None
            return
        # The next tick of the vendor's thread shows the zero force that was just put down.
        deadline = time.monotonic() + HOLD
        seen = self._last_turn
        while self._last_turn == seen and time.monotonic() < deadline:
            time.sleep(1e-3)
        number, self._id = self._id, None
        assert number is not None
        if self._last_turn == seen:  # that thread is gone: show it from here
            self._hd.begin_frame(number)
            self._show(self._hd, ZERO, ZERO)
            self._hd.end_frame(number)
        _open.remove(self)
        if not _open:
            self._hd.stop_scheduler()
        self._hd.close_device(number)


def connected() -> str:
    """Whether the vendor's library is there; devices are found by opening them."""
    _library()
    return ""


def _library() -> tuple[Any, Any, Any]:
    """The bindings' calls, their scheduler and their vector type."""
    try:
        from pyOpenHaptics import hd
        from pyOpenHaptics.hd_callback import hdAsyncSheduler
        from pyOpenHaptics.hdu_matrix import hduVector3Dd
    except ImportError as error:
        raise DeviceError(f"OpenHaptics: {error}: pip install 'tangere[openhaptics]'") from None
    except (OSError, NameError) as error:  # no library, or a system the vendor does not serve
        raise DeviceError(
            f"OpenHaptics: {error}: install the vendor's driver and OpenHaptics (libHD)"
        ) from None
    return hd, hdAsyncSheduler, hduVector3Dd
