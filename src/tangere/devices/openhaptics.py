"""3D Systems Touch and Phantom devices, through OpenHaptics.

The vendor's library (`libHD`), which the user installs, is bound here; nothing else is needed. Its
scheduler, a thread of its own, calls back a thousand times a second. What it calls is compiled: the
servo's tick, or for `read` and `write` alone an exchange through mailboxes (`haptics.exchange`).

Enumerations, units and signatures are those of the published bindings and of the vendor's manual;
none was seen on hardware. Whether the driver lets go when its process dies is not known: it is
taken for one that does not.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int,
    c_uint,
    c_ulong,
    c_ushort,
    c_void_p,
)
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tangere._jit import c_callback
from tangere._native import address_of
from tangere.devices.device import CLOSE, HOLD, MODELS, DeviceInfo, NativePort
from tangere.devices.native import SILENT, Native, load_library, warm_up
from tangere.errors import DeviceError
from tangere.haptics.exchange import (
    TURN_BUSY,
    TURN_ENDED,
    TURN_STOP,
    turn,
    turn_words,
)
from tangere.haptics.hd import (
    CURRENT_FORCE,
    ERRORS,
    HD_BEGIN,
    HD_END,
    HD_ERROR,
    HD_GET_DOUBLES,
    HD_GET_ERROR,
    HD_GET_INTEGERS,
    HD_HANDLE,
    HD_SET_DOUBLES,
    HD_TURNS,
    MILLI,
    ErrorInfo,
)
from tangere.haptics.layout import FAULT_READ, NPORT, SOURCE_HD
from tangere.maths.vec import LongArray

WORKSPACE = 0x2551
OUTPUT_DOF = 0x2554
UPDATE_RATE = 0x2600
MAX_FORCE = 0x2603
MODEL_TYPE = 0x2501
FORCE_OUTPUT = 0x4000
BAD_HANDLE = 0xFFFFFFFF
PRIORITY = 0x7FFF  # the vendor's default: the middle of 0 … 65535

REMEDY = "install the vendor's driver and OpenHaptics (libHD)"
# Files of the library by system, see `load_library`; on macOS it was not seen.
FILES = {
    "linux": ("libHD.so*",),
    "darwin": ("libHD*.dylib",),
    "win32": ("HD.dll",),
}
_DEFAULT = MODELS["Touch"]
# From a command to the motors: not in any data sheet; two ticks are assumed for a bus [s].
_DELAY = 2e-3


_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "hdInitDevice": (c_uint, c_char_p),
    "hdDisableDevice": (None, c_uint),
    "hdMakeCurrentDevice": (None, c_uint),
    "hdEnable": (None, c_uint),
    "hdStartScheduler": (None,),
    "hdStopScheduler": (None,),
    "hdScheduleAsynchronous": (c_ulong, c_void_p, c_void_p, c_ushort),
    "hdUnschedule": (None, c_ulong),
    "hdBeginFrame": (None, c_uint),
    "hdEndFrame": (None, c_uint),
    "hdGetDoublev": (None, c_uint, POINTER(c_double)),
    "hdGetIntegerv": (None, c_uint, POINTER(c_int)),
    "hdSetDoublev": (None, c_uint, POINTER(c_double)),
    "hdGetString": (c_char_p, c_uint),
    "hdGetError": (ErrorInfo,),
}

# The vendor has one scheduler: the first device that is opened starts it, the last one stops it.
_open: list[OpenHaptics] = []
_opening = threading.RLock()
# The scheduler knows what it calls by address alone and may call it once more: nothing that was
# ever given to it is freed.
_kept: list[Any] = []


class OpenHaptics(Native):
    """A Touch or Phantom device by the name that the vendor's setup program gave it."""

    def __init__(self, name: str = "Default Device") -> None:
        super().__init__(replace(_DEFAULT, name="OpenHaptics", drops_force=False, delay=_DELAY))
        self._name = name
        self._hd: Any = None
        self._id = BAD_HANDLE
        self._words = np.zeros(0, dtype=np.int64)
        self._turns: LongArray | None = None
        self._handle = 0

    # ---------------------------------------------------------------- opening and closing

    def _connect(self) -> None:
        hd = _library()
        warm_up()
        with _opening:
            self._hd = hd
            self._id = hd.hdInitDevice(self._name.encode())
            if self._id == BAD_HANDLE:
                raise DeviceError(
                    f"OpenHaptics: no device {self._name!r} ({_error(hd)}): connect it, run the "
                    "vendor's setup and give the name it has there"
                )
            hd.hdMakeCurrentDevice(self._id)
            self.info = _limits(hd)
            hd.hdEnable(FORCE_OUTPUT)
            _error(hd)  # a limit that this model does not tell is no fault
            self.arrays.port[:] = _port(hd, self._id, self.info)
            self._words = self.arrays.port.copy()
            _open.append(self)
            if len(_open) == 1:
                hd.hdStartScheduler()
                code = hd.hdGetError().code
                if code:
                    raise DeviceError(
                        f"OpenHaptics: the scheduler did not start ({_words(code)}): {REMEDY}"
                    )
        self.begin_serving()
        self._begin_turns()

    def native_port(self) -> NativePort | None:
        """The device for a servo; from then on `read` and `write` have no effect."""
        self.must_be_open()
        self._end_turns()
        return NativePort(SOURCE_HD, self._words.copy(), self._schedule, self._unschedule)

    def _schedule(self, function: int, data: int) -> None:
        """Have a C function called at every turn, until it answers 0 or is unscheduled."""
        self.must_be_open()
        self._end_turns()
        self._begin_turns(function, data)

    def _unschedule(self) -> None:
        """Zero force, and never again; once this returns the function does not run."""
        self._end_turns()

    def _disconnect(self) -> None:
        with _opening:
            number, self._id = self._id, BAD_HANDLE
            if number == BAD_HANDLE:
                return
            hd = self._hd
            with suppress(Exception):
                if not self._say_zero():
                    self._show_zero(number)
            if self in _open:
                _open.remove(self)
                if not _open:
                    hd.hdStopScheduler()
            hd.hdDisableDevice(number)
            _error(hd)

    # ---------------------------------------------------------------- turns of the scheduler

    def _begin_turns(self, function: int = 0, data: int = 0) -> None:
        words = turn_words(
            self.arrays,
            SOURCE_HD,
            hold=HOLD,
            period=1.0 / self.info.rate,
            function=function,
            data=data,
        )
        _kept.append((words, self.arrays))
        self._turns = words
        self._handle = self._hd.hdScheduleAsynchronous(
            c_callback(turn), words.ctypes.data, PRIORITY
        )

    def _end_turns(self) -> bool:
        """Whether the scheduler has shown zero force and dropped what it called."""
        words, self._turns = self._turns, None
        self.serving = False
        if words is None:
            return False
        words[TURN_STOP] = 1
        begin = time.monotonic()
        while not words[TURN_ENDED]:
            waited = time.monotonic() - begin
            if waited > (CLOSE if words[TURN_BUSY] else SILENT):
                self._hd.hdUnschedule(self._handle)
                self.fail(FAULT_READ, f"its driver has not answered for {waited:.1f} s")
                return False
            time.sleep(2e-4)
        return True

    def _say_zero(self) -> bool:
        """Whether the last frame had zero force, shown by the scheduler."""
        if self._turns is None:  # the servo's turns are over: one more
            self._begin_turns()
        return self._end_turns()

    def _show_zero(self, number: int) -> None:
        """From here: the scheduler does not turn any more."""
        self._hd.hdBeginFrame(number)
        self._hd.hdSetDoublev(CURRENT_FORCE, (c_double * 3)())
        self._hd.hdEndFrame(number)

    def words(self, status: int) -> str:
        """What the driver reported."""
        return _words(int(self.arrays.port[HD_ERROR]))


def _limits(hd: Any) -> DeviceInfo:
    """The table's limits of this model; what the device says of itself wins."""
    name = (hd.hdGetString(MODEL_TYPE) or b"").decode(errors="replace")
    known = next((model for model in MODELS if model in name), _DEFAULT.name)
    info = MODELS[known]
    force = _floats(hd, MAX_FORCE, 1)[0]
    box = _floats(hd, WORKSPACE, 6)  # two corners [mm]
    half = 0.5 * MILLI * min(box[i + 3] - box[i] for i in range(3))
    rate, turns = _whole(hd, UPDATE_RATE), _whole(hd, OUTPUT_DOF) >= 6
    return replace(
        info,
        name=name or "OpenHaptics",
        max_force=force if force > 0.0 else info.max_force,
        max_torque=(info.max_torque or 0.188) if turns else 0.0,
        radius=half if half > 0.0 else info.radius,
        rate=float(rate) if rate > 0 else 1000.0,
        drops_force=False,
        delay=_DELAY,
    )


def _floats(hd: Any, what: int, count: int) -> list[float]:
    out = (c_double * count)()
    hd.hdGetDoublev(what, out)
    return list(out)


def _whole(hd: Any, what: int) -> int:
    out = (c_int * 1)()
    hd.hdGetIntegerv(what, out)
    return int(out[0])


def _port(hd: Any, number: int, info: DeviceInfo) -> LongArray:
    """Words for a servo."""
    words = np.zeros(NPORT, dtype=np.int64)
    for word, function in (
        (HD_BEGIN, hd.hdBeginFrame),
        (HD_END, hd.hdEndFrame),
        (HD_GET_DOUBLES, hd.hdGetDoublev),
        (HD_GET_INTEGERS, hd.hdGetIntegerv),
        (HD_SET_DOUBLES, hd.hdSetDoublev),
        (HD_GET_ERROR, hd.hdGetError),
    ):
        words[word] = address_of(function)
    words[HD_HANDLE] = number
    words[HD_TURNS] = info.max_torque > 0.0
    return words


def _error(hd: Any) -> str:
    """Empty the driver's stack of errors; the newest in words."""
    first = code = hd.hdGetError().code
    while code:
        code = hd.hdGetError().code
    return _words(first)


def _words(code: int) -> str:
    return ERRORS.get(code, f"error {code:#06x}")


def connected() -> str:
    """Whether the vendor's library is there; devices are found by opening them."""
    _library()
    return ""


def _library() -> Any:
    library = load_library("OpenHaptics", _folders(), FILES.get(sys.platform, ()), REMEDY)
    for name, (result, *arguments) in _SIGNATURES.items():
        function = getattr(library, name, None)
        if function is None:
            raise DeviceError(f"OpenHaptics: the library has no {name}: {REMEDY}")
        function.restype, function.argtypes = result, arguments
    return library


def _folders() -> Iterator[Path]:
    """Where the library is: what the environment says, then the usual places."""
    if given := os.environ.get("OH_SDK_BASE"):
        root = Path(given)
        yield from (root / "lib", root / "lib64", root / "bin" / "x64", root / "bin", root)
    if sys.platform != "win32":
        yield from (Path("/usr/lib"), Path("/usr/lib64"), Path("/usr/local/lib"))
