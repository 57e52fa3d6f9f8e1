"""Force Dimension devices (delta, omega, sigma, lambda) and the Novint Falcon.

The vendor's library, which the user installs, is bound here; nothing else is needed. Its calls wait
for the USB transfer: a servo makes them in compiled code within its tick (`haptics.dhd`), and for
`read` and `write` alone a thread of the adapter does. `calls="python"` makes them through the
bindings `forcedimension_core` instead, in Python: slower by a busy interpreter's whims, but every
line of it can be looked at when a device does not do as it should.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from ctypes import POINTER, c_bool, c_byte, c_char_p, c_double, c_int, c_ubyte, c_uint
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tangere._native import address_of
from tangere.devices.device import (
    CLOSE,
    HOLD,
    MODELS,
    Axes,
    DeviceInfo,
    Estimator,
    NativePort,
    Sample,
)
from tangere.devices.native import HOLD_NS, Native, load_library, warm_up
from tangere.errors import DeviceError
from tangere.haptics.dhd import (
    DHD_BUTTONS,
    DHD_FORCE_OFF,
    DHD_FORCE_ON,
    DHD_GRASPS,
    DHD_GRIPPER,
    DHD_ID,
    DHD_POSE,
    DHD_STATUS,
    DHD_STATUS_AT,
    DHD_TURNS,
    DHD_WRENCH,
    DHD_WRIST,
    FORCE_OFF,
    TIMEGUARD,
)
from tangere.haptics.exchange import exchange
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    NPORT,
    NREAD,
    NSEND,
    READ_SEQUENCE,
    READ_STATUS,
    SEND_FORCE,
    SEND_TORQUE,
    SOURCE_DHD,
)
from tangere.haptics.mailbox import post, take
from tangere.haptics.pacing import clock_ns
from tangere.maths.rotations import quaternion_of
from tangere.maths.vec import Array, LongArray

AXES = Axes("+y", "-x", "+z")

# System types of the SDK
_TYPES = {
    63: "delta.3",
    33: "omega.3",
    34: "omega.6",
    36: "omega.6",
    35: "omega.7",
    37: "omega.7",
    104: "sigma.7",
    105: "sigma.7",
    108: "lambda.7",
    109: "lambda.7",
    60: "Falcon",
}
# Of a device that is not in the table: the smallest limits, and the smallest mass, because that
# bounds the stiffness.
_UNKNOWN = DeviceInfo(
    "Force Dimension",
    max_force=5.0,
    stiffness=1000.0,
    damping=5.0,
    radius=0.05,
    drops_force=False,
    mass=0.3,
)
# From a command to the motors: not in any data sheet; two ticks are assumed for USB [s].
_DELAY = 2e-3
# The firmware lets go when no command comes for this many eighths of a millisecond: the longest
# time that its register holds, 32 ms.
_WATCHDOG = 255

REMEDY = "install the Force Dimension SDK 3.7 or later and set FDSDK to its folder"

# Files of the SDK by system; the first that is found is taken. The robotics library (drd) has the
# calls of the haptics library (dhd), too, and calibrates. The names on Linux and Windows are those
# that `forcedimension_core` looks for in SDK 3.16; those of dhd alone, and on macOS, are the
# vendor's scheme of naming carried on, and were not seen.
FILES = {
    "linux": ("libdrd.so*", "libdhd.so*"),
    "darwin": ("libdrd*.dylib", "libdhd*.dylib"),
    "win32": ("drd64.dll", "dhd64.dll"),
}
# What tangere calls of the SDK: result, then arguments. `char` is the number of a device.
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "dhdGetDeviceCount": (c_int,),
    "dhdErrorGetLastStr": (c_char_p,),
    "dhdOpen": (c_int,),
    "dhdOpenID": (c_int, c_byte),
    "dhdStop": (c_int, c_byte),
    "dhdClose": (c_int, c_byte),
    "dhdGetSystemType": (c_int, c_byte),
    "dhdGetSystemName": (c_char_p, c_byte),
    "dhdHasWrist": (c_bool, c_byte),
    "dhdHasActiveWrist": (c_bool, c_byte),
    "dhdHasGripper": (c_bool, c_byte),
    "dhdHasActiveGripper": (c_bool, c_byte),
    "dhdEnableForce": (c_int, c_ubyte, c_byte),
    "dhdEnableExpertMode": (c_int,),
    "dhdDisableExpertMode": (c_int,),
    "dhdSetForceAndTorqueAndGripperForce": (c_int, *[c_double] * 7, c_byte),
    "dhdGetPositionAndOrientationFrame": (c_int, *[POINTER(c_double)] * 4, c_byte),
    "dhdGetPosition": (c_int, *[POINTER(c_double)] * 3, c_byte),
    "dhdGetGripperGap": (c_int, POINTER(c_double), c_byte),
    "dhdGetButtonMask": (c_uint, c_byte),
    "dhdGetStatus": (c_int, POINTER(c_int), c_byte),
}
# Not in every version, or only in the robotics library; without them −1: it cannot be known.
_OPTIONAL: dict[str, tuple[Any, ...]] = {
    "dhdGetMaxForce": (c_double, c_byte),
    "dhdGetMaxTorque": (c_double, c_byte),
    "dhdGetMaxGripperForce": (c_double, c_byte),
    "dhdSetWatchdog": (c_int, c_ubyte, c_byte),
    "drdOpen": (c_int,),
    "drdOpenID": (c_int, c_byte),
    "drdIsInitialized": (c_bool, c_byte),
    "drdAutoInit": (c_int, c_byte),
}


class ForceDimension(Native):
    """A Force Dimension device: `index` counts those connected, None takes the first that is free.

    Args:
        index: Number of the device, as the SDK counts.
        calibrate: A device that asks for it finds its end stops: it moves by itself, hands off.
        calls: "compiled" or "python", see above.
    """

    def __init__(
        self, index: int | None = None, *, calibrate: bool = False, calls: str = "compiled"
    ) -> None:
        if calls not in ("compiled", "python"):
            raise DeviceError(f"Force Dimension: calls {calls!r}: give 'compiled' or 'python'")
        super().__init__(replace(_UNKNOWN, rate=1000.0, blocks=True, delay=_DELAY))
        self._index = index
        self._calibrate = calibrate
        self._compiled = calls == "compiled"
        self._sdk: Any = None
        self._id = -1
        self._error = ""
        self._words = np.zeros(0, dtype=np.int64)
        self._estimate = Estimator()
        self._commanded = 0.0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._closing = threading.Lock()

    @property
    def force_off(self) -> str:
        """Why the motors are off, in words, as of 50 ms ago at most; empty: they are on."""
        port = self.arrays.port
        unknown = port[DHD_STATUS_AT] == 0
        return "" if unknown or port[DHD_FORCE_ON] else FORCE_OFF.get(int(port[DHD_FORCE_OFF]), "")

    def observe(self, port: LongArray, status: int) -> None:
        """Say in words what a servo that serves the device was answered."""
        if status:
            self._error = self._sdk.error()
        super().observe(port, status)

    # ---------------------------------------------------------------- opening and closing

    def _connect(self) -> None:
        sdk: Any = _sdk() if self._compiled else _Bindings()
        warm_up()
        kind = "drd" if self._calibrate else "dhd"
        number = (
            sdk(f"{kind}Open") if self._index is None else sdk(f"{kind}OpenID", int(self._index))
        )
        if number < 0:
            raise DeviceError(
                f"Force Dimension: no device could be opened ({sdk.error()}): "
                "connect and switch it on, and let the user read its USB port"
            )
        self._sdk, self._id = sdk, number
        if self._calibrate and not sdk("drdIsInitialized", number):
            self._must(sdk("drdAutoInit", number), "calibration")
        self.info = _limits(sdk, number)
        self._must(sdk("dhdEnableForce", 1, number), "enabling force")
        self.arrays.port[:] = sdk.port(number, self.info) if self._compiled else 0
        self._words = self.arrays.port.copy()
        self._estimate = Estimator()
        self._error = ""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._serve, name=self.info.name, daemon=True)
        self.begin_serving()
        self._thread.start()

    def _must(self, returned: int, what: str) -> None:
        if returned < 0:
            raise DeviceError(f"{self.info.name}: {what} failed: {self._sdk.error()}")

    def native_port(self) -> NativePort | None:
        """The device for a servo; from then on `read` and `write` have no effect."""
        self.must_be_open()
        if not self._compiled:
            return None
        self._stop_serving()
        return NativePort(SOURCE_DHD, self._words.copy())

    def _stop_serving(self) -> None:
        thread, self._thread = self._thread, None
        self.serving = False
        self._stopping.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE)
            if thread.is_alive():
                self.fail(FAULT_READ, f"its driver has not answered for {CLOSE:g} s")

    def _disconnect(self) -> None:
        self._stop_serving()
        with self._closing:
            number, self._id = self._id, -1
        if number >= 0:
            with suppress(Exception):
                self._sdk.zero(number)
            for last in ("dhdStop", "dhdClose"):
                with suppress(Exception):
                    self._sdk(last, number)

    def words(self, status: int) -> str:
        """What failed, and why."""
        what = "the pose" if status & FAULT_READ else "the force"
        return f"{what} failed: {self._error}"

    # ---------------------------------------------------------------- served by a thread

    def _serve(self) -> None:
        period = 1.0 / self.info.rate
        due = time.monotonic()
        turn = self._turn if self._compiled else self._turn_in_python
        while not self._stopping.is_set():
            if turn():
                self._error = self._sdk.error()
            due = max(due + period, time.monotonic())  # what was missed is not caught up
            time.sleep(max(0.0, due - time.monotonic()))
        with suppress(Exception):
            self._sdk.zero(self._id)

    def _turn(self) -> int:
        return exchange(self.arrays, SOURCE_DHD, clock_ns(), HOLD_NS)

    def _turn_in_python(self) -> int:
        """As `haptics.exchange.exchange`, through the bindings."""
        e = self.arrays
        status = 0
        try:
            if self._read_in_python(e.reading):
                e.reading[READ_SEQUENCE] += 1.0
        except DeviceError:
            status = FAULT_READ
        if take(e.outbox, e.outbox_at, e.send, NSEND):
            self._commanded = time.monotonic()
        live = not status and time.monotonic() - self._commanded <= HOLD
        force = e.send[SEND_FORCE : SEND_FORCE + 3] if live else np.zeros(3)
        torque = e.send[SEND_TORQUE : SEND_TORQUE + 3] if live else np.zeros(3)
        if self._sdk.show(
            AXES.from_base(force.tolist()), AXES.from_base(torque.tolist()), self._id
        ):
            status |= FAULT_WRITE
        e.reading[READ_STATUS] = status
        post(e.inbox, e.inbox_at, e.reading, NREAD)
        return status

    def _read_in_python(self, out: Array) -> bool:
        """Whether a new sample is in the reading; `DeviceError` when it cannot be had."""
        told = self._sdk.told(self._id, self.info)
        if told is None:
            return False
        position, frame, gap, buttons = told
        x = AXES.to_base(position.tolist())
        q = AXES.quaternion(quaternion_of(frame).tolist())
        twist = self._estimate(time.monotonic(), x, q)
        Sample(x, q, twist, buttons, gap).into(out)
        return True


def _limits(sdk: Any, number: int) -> DeviceInfo:
    """The table's limits of this model; what the device says of itself wins."""
    known = _TYPES.get(int(sdk("dhdGetSystemType", number)), "")
    info = MODELS.get(known)
    if info is None:
        told = sdk("dhdGetSystemName", number) or "unknown"
        info = replace(_UNKNOWN, name=told.decode() if isinstance(told, bytes) else str(told))
    turns, grasps = sdk("dhdHasActiveWrist", number), sdk("dhdHasActiveGripper", number)
    sdk("dhdEnableExpertMode")
    watched = sdk("dhdSetWatchdog", _WATCHDOG, number) == 0
    sdk("dhdDisableExpertMode")
    return replace(
        info,
        max_force=_told(sdk, "dhdGetMaxForce", number, info.max_force),
        max_torque=_told(sdk, "dhdGetMaxTorque", number, info.max_torque) if turns else 0.0,
        senses_rotation=bool(sdk("dhdHasWrist", number)),
        senses_gripper=bool(sdk("dhdHasGripper", number)),
        max_gripper_force=(
            _told(sdk, "dhdGetMaxGripperForce", number, info.max_gripper_force) if grasps else 0.0
        ),
        rate=1000.0,
        blocks=True,
        drops_force=watched,
        delay=_DELAY,
    )


def _told(sdk: Any, name: str, number: int, otherwise: float) -> float:
    """A limit that is set in the device; −1 is none."""
    limit = float(sdk(name, number))
    return limit if limit > 0.0 else otherwise


# ---------------------------------------------------------------- the vendor's library


class _Sdk:
    """The vendor's C functions by name."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._functions: dict[str, Any] = {}
        for name, (result, *arguments) in {**_SIGNATURES, **_OPTIONAL}.items():
            function = getattr(library, name, None)
            if function is None and name in _SIGNATURES:
                raise DeviceError(f"Force Dimension: the library has no {name}: {REMEDY}")
            if function is not None:
                function.restype, function.argtypes = result, arguments
                self._functions[name] = function

    def __call__(self, name: str, *arguments: Any) -> Any:
        function = self._functions.get(name)
        return -1 if function is None else function(*arguments)

    def error(self) -> str:
        """What went wrong last."""
        return (self("dhdErrorGetLastStr") or b"unknown").decode(errors="replace")

    def port(self, number: int, info: DeviceInfo) -> LongArray:
        """Words for a servo."""
        words = np.zeros(NPORT, dtype=np.int64)
        wrist = info.senses_rotation
        pose = "dhdGetPositionAndOrientationFrame" if wrist else "dhdGetPosition"
        for word, name in (
            (DHD_POSE, pose),
            (DHD_WRENCH, "dhdSetForceAndTorqueAndGripperForce"),
            (DHD_BUTTONS, "dhdGetButtonMask"),
            (DHD_STATUS, "dhdGetStatus"),
        ):
            words[word] = address_of(self._functions[name])
        if info.senses_gripper:
            words[DHD_GRIPPER] = address_of(self._functions["dhdGetGripperGap"])
        words[DHD_ID] = number
        words[DHD_WRIST] = wrist
        words[DHD_TURNS] = info.max_torque > 0.0
        words[DHD_GRASPS] = info.max_gripper_force > 0.0
        return words

    def zero(self, number: int) -> None:
        """No force, no torque, and the gripper loose."""
        self("dhdSetForceAndTorqueAndGripperForce", *[0.0] * 7, number)


def _sdk() -> _Sdk:
    library = load_library("Force Dimension", _folders(), FILES.get(sys.platform, ()), REMEDY)
    return _Sdk(library)


def _folders() -> Iterator[Path]:
    """Where SDKs are: what the environment says, then the usual places."""
    system = {"linux": "lin", "darwin": "mac"}.get(sys.platform, "win")
    compiler = {"linux": "gcc", "darwin": "clang"}.get(sys.platform, "vc")
    for variable in ("FDSDK", "FORCEDIM_SDK"):
        if given := os.environ.get(variable):
            root = Path(given)
            yield root / "lib" / "release" / f"{system}-{platform.machine()}-{compiler}"
            yield from (root / "bin", root / "lib", root)
    if sys.platform == "win32":
        for base in ("LOCALAPPDATA", "ProgramFiles"):
            folder = Path(os.environ.get(base, "")) / "Force Dimension"
            yield from (sdk / "bin" for sdk in sorted(folder.glob("sdk-*"), reverse=True))
    else:
        yield from (Path.home() / ".local" / "lib", Path("/usr/local/lib"))


def connected() -> str:
    """Devices that are there, in words; `DeviceError` when that cannot be known."""
    count = int(_sdk()("dhdGetDeviceCount"))
    return f"{count} connected" if count else ""


# ---------------------------------------------------------------- forcedimension_core


class _Bindings:
    """The same calls through the package `forcedimension_core`."""

    def __init__(self) -> None:
        core = _core()
        self._dhd = core.dhd
        self._modules = {"dhd": (core.dhd, core.dhd.expert), "drd": (core.drd,)}

    def __call__(self, name: str, *arguments: Any) -> Any:
        """`dhdGetSystemType` is `dhd.getSystemType`, `dhdSetWatchdog` `dhd.expert.setWatchdog`."""
        short = name[3].lower() + name[4:]
        modules = self._modules[name[:3]]
        module = next((each for each in modules if hasattr(each, short)), modules[0])
        return getattr(module, short)(*arguments)

    def error(self) -> str:
        """What went wrong last."""
        return str(self._dhd.errorGetLastStr())

    def told(self, number: int, info: DeviceInfo) -> tuple[Array, Array, float, int] | None:
        """Position, frame, gap and buttons, native; None: the same sample as before."""
        position, frame = np.zeros(3), np.eye(3)
        if info.senses_rotation:
            answer = self._dhd.getPositionAndOrientationFrame(position, frame, number)
        else:
            answer = self._dhd.getPosition(position, number)
        if answer == TIMEGUARD:
            return None
        gap = ctypes.c_double(0.0)
        if answer >= 0 and info.senses_gripper:
            answer = self._dhd.getGripperGap(gap, number)
        if answer < 0:
            raise DeviceError("the pose failed")
        return position, frame, float(gap.value), int(self._dhd.getButtonMask(number))

    def show(self, force: Any, torque: Any, number: int) -> bool:
        """Whether a wrench was refused."""
        answer = self._dhd.setForceAndTorqueAndGripperForce(force, torque, 0.0, number)
        return bool(answer < 0)

    def zero(self, number: int) -> None:
        """No force, no torque, and the gripper loose."""
        self.show((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), number)


def _core() -> Any:
    """The bindings; they load the vendor's library when imported."""
    try:
        import forcedimension_core
    except ImportError as error:
        missing = getattr(error, "name", None) == "forcedimension_core"
        remedy = "pip install 'tangere[forcedimension]'" if missing else REMEDY
        raise DeviceError(f"Force Dimension: {error}: {remedy}") from None
    except OSError as error:
        raise DeviceError(f"Force Dimension: {error}: install the SDK and libusb-1") from None
    return forcedimension_core
