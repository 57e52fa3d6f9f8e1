"""What every haptic device is to tangere: where the hand is, what can be felt, and how much of it.

Axes. All readings and wrenches are in the device's base frame with tangere's axes, x right, y away
from the user, z up; an adapter converts at its boundary (`Axes`). SI units. A wrench is the force
and the torque **on the user's hand** at the grip.

Faults. Once a device is open nothing raises: a read or write that fails shows as a FAULT_… in
READ_STATUS of the next reading and in words in `fault`, until one succeeds. Zero force is sent on
closing, on every exception that leaves a `with` block, and when no command has come for `HOLD`
seconds.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from tangere.errors import DeviceError
from tangere.haptics.layout import (
    FAULT_LOST,
    FAULT_OFF,
    FAULT_READ,
    FAULT_WRITE,
    READ_BUTTONS,
    READ_GRIPPER,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    READ_VELOCITY,
)
from tangere.haptics.pacing import clock_ns
from tangere.maths.quat import Quat, turn_between
from tangere.maths.vec import Array, LongArray

# A command older than this is no longer sent: the loop that computes it hangs or died [s].
HOLD = 0.05

# A driver that has not come back after this when its device is closed is left alone [s].
CLOSE = 2.0

# Faults that a device may tell of itself, see `Adapter.trouble`.
TOLD = (FAULT_READ, FAULT_WRITE, FAULT_OFF, FAULT_LOST)

Floats = tuple[float, ...]
ZERO: Floats = (0.0, 0.0, 0.0)
UPRIGHT: Quat = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class DeviceInfo:
    """What a device can sense and display, and within which limits.

    Stiffness and damping are what the device renders without trouble; zero: it displays none.
    """

    name: str
    max_force: float = 0.0  # [N]; 0: input only; inf: no limit of its own
    max_torque: float = 0.0  # [N m]; 0: torque cannot be displayed
    max_gripper_force: float = 0.0  # [N]
    stiffness: float = 0.0  # [N/m]
    rotational_stiffness: float = 0.0  # [N m/rad]
    damping: float = 0.0  # [N s/m]
    rotational_damping: float = 0.0  # [N m s/rad]
    radius: float = 0.1  # of the workspace [m]
    rate: float = 1000.0  # of new readings [Hz]
    senses_rotation: bool = True
    senses_gripper: bool = False
    blocks: bool = False  # the vendor's calls wait; the adapter makes them on a thread of its own
    drops_force: bool = True  # the device itself lets go when commands stop
    delay: float = 0.0  # from a command to the motors, a guess on the safe side [s]
    mass: float = 0.1  # apparent at the grip [kg]
    inertia: float = 1e-4  # [kg m²]

    @property
    def sensed(self) -> int:
        """Degrees of freedom that are measured."""
        return 3 + 3 * self.senses_rotation + self.senses_gripper

    @property
    def actuated(self) -> int:
        """Degrees of freedom that are driven."""
        return 3 * (self.max_force > 0) + 3 * (self.max_torque > 0) + (self.max_gripper_force > 0)


@dataclass(frozen=True)
class NativePort:
    """How a servo reads and drives an open device in compiled code, by addresses of C functions.

    Attributes:
        source: SOURCE_DHD or SOURCE_HD.
        words: For `Rig.port`; they hold while the device is open.
        schedule: Given the address of a C function `unsigned (void *)` and that of its data, has
            the vendor's own scheduler call it at the vendor's pace; None: our clock paces.
        unschedule: Ends that; when it returns the function is not running and never will.
    """

    source: int
    words: LongArray
    schedule: Callable[[int, int], None] | None = None
    unschedule: Callable[[], None] | None = None


@runtime_checkable
class Device(Protocol):
    """What a session needs of a device; no call waits. `Adapter` has all but the vendor's part."""

    @property
    def info(self) -> DeviceInfo:
        """Capabilities and limits; after `open` those of the device found."""

    @property
    def fault(self) -> str:
        """What is wrong, in words; empty: nothing."""

    def open(self) -> None:
        """Connect; `DeviceError` when there is no such device or library."""

    def read(self, out: Array) -> None:
        """Fill the `READ_…` columns with the newest sample; `READ_SEQUENCE` tells a new one."""

    def write(self, wrench: Array) -> None:
        """Put force and torque (6,) on the hand, within the limits."""

    def close(self) -> None:
        """Zero force, then let go; may be called twice."""


@dataclass(frozen=True)
class Sample:
    """What a device said at one moment, in tangere's axes and units."""

    position: Floats = (0.0, 0.0, 0.0)
    quaternion: Floats = UPRIGHT
    twist: Floats = (0.0,) * 6  # velocity, angular velocity
    buttons: int = 0
    gripper: float = 0.0

    def into(self, out: Array) -> None:
        """Fill the READ_… columns; `DeviceError` if a number is not finite or no turn is given."""
        numbers = (*self.position, *self.quaternion, *self.twist)
        size = sqrt(sum(c * c for c in self.quaternion))
        if not (all(map(isfinite, numbers)) and 0.5 < size < 2.0):
            raise DeviceError(f"a reading that makes no sense: {numbers}")
        out[READ_POSITION : READ_POSITION + 3] = self.position
        out[READ_QUATERNION : READ_QUATERNION + 4] = [c / size for c in self.quaternion]
        out[READ_VELOCITY : READ_VELOCITY + 6] = self.twist
        out[READ_BUTTONS] = self.buttons
        out[READ_GRIPPER] = self.gripper


class Adapter:
    """The part that all devices share: order of calls, limits, faults, zero force at the end.

    A subclass sets `info` and has `_connect`, `_receive`, `_send` and `_disconnect`.
    """

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """Remember how it was made, so that another process can make the same."""
        made = super().__new__(cls)
        made._made_with = arguments, named
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (type(self), *self._made_with)

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        self.faults: Counter[str] = Counter()
        """What went wrong so far, in words, and how often."""
        self._opened = False
        self._told = 0  # what `trouble` said last
        self._wrong: dict[int, str] = {}
        self._samples = 0.0
        self._sampled = 0.0

    # ---------------------------------------------------------------- what a subclass has

    def _connect(self) -> None:
        """Open the device, and set `info` to what it says of itself."""

    def _receive(self, out: Array) -> bool:
        """Fill pose, twist, buttons and gripper; whether this sample is a new one."""
        raise DeviceError(f"{self.info.name} cannot be read")

    def _send(self, force: Floats, torque: Floats) -> None:
        """Put a wrench within the limits on the hand."""

    def _disconnect(self) -> None:
        """Free the device; zero force has been sent."""

    def native_port(self) -> NativePort | None:
        """For a device that compiled code can serve, once it is open; None: `read` and `write`."""
        return None

    # ---------------------------------------------------------------- what a session calls

    @property
    def fault(self) -> str:
        """What is wrong now, in words; empty: nothing."""
        return next(iter(self._wrong.values()), "")

    @property
    def status(self) -> int:
        """Bits FAULT_… of the exchanges that failed last."""
        return sum(self._wrong)

    def open(self) -> None:
        """Connect; a device that is already open stays as it is."""
        if self._opened:
            return
        self._samples = 0.0
        self._wrong.clear()
        self._told = 0
        try:
            self._connect()
        except BaseException:
            self._disconnect()
            raise
        self._opened = True

    def read(self, out: Array) -> None:
        """Fill the `READ_…` columns; when that fails the pose stays and `READ_STATUS` says so."""
        self.must_be_open()
        if not out[READ_QUATERNION : READ_QUATERNION + 4].any():
            out[READ_QUATERNION] = 1.0
        try:
            fresh = self._receive(out)
            self._exchanged(FAULT_READ)
        except Exception as error:
            self.fail(FAULT_READ, error)
            fresh = False
        if fresh:
            self._samples += 1.0
            self._sampled = 1e-9 * clock_ns()  # the clock of servos
        out[READ_TIME] = self._sampled
        out[READ_SEQUENCE] = self._samples
        out[READ_STATUS] = self.status

    def write(self, wrench: Array) -> None:
        """Put a wrench on the hand, scaled into the limits; one that is not finite counts as zero.

        Force and torque are scaled together, by the stricter of their limits, so that the wrench
        keeps its direction. A device without torque (or force) drops that part and no other.
        """
        self.must_be_open()
        given = [float(x) for x in wrench]
        finite = all(map(isfinite, given))
        force, torque = self._limited(given if finite else [0.0] * len(given))
        try:
            self._send(force, torque)
            self._exchanged(FAULT_WRITE)
        except Exception as error:
            self.fail(FAULT_WRITE, error)
        if not finite:
            self.fail(FAULT_WRITE, "a wrench that is not finite; zero was sent")

    def close(self) -> None:
        """Zero force, then let go; a second call does nothing."""
        if not self._opened:
            return
        self._opened = False
        try:
            self._send(ZERO, ZERO)
        except Exception as error:
            self.fail(FAULT_WRITE, error)
        finally:
            self._disconnect()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---------------------------------------------------------------- for adapters

    def must_be_open(self) -> None:
        """Refuse to go on with a device that is not open."""
        if not self._opened:
            raise DeviceError(f"{self.info.name} is not open: call open() first")

    def fail(self, bit: int, error: Exception | str) -> None:
        """A `FAULT_…` of the device, with its words; it stands until `recover`."""
        words = f"{self.info.name}: {error}"
        if self._wrong.get(bit) != words:
            self.faults[words] += 1
        self._wrong = {**self._wrong, bit: words}

    def recover(self, bit: int) -> None:
        """That fault is gone."""
        if bit in self._wrong:
            self._wrong = {other: words for other, words in self._wrong.items() if other != bit}

    def trouble(self) -> tuple[int, str]:
        """What else the newest exchange said: FAULT_… as bits, and words; a subclass knows.

        A loose plug, a brake or a driver that was busy for a moment must not end a session: such a
        fault is there while the device says so, and gone when it does not.
        """
        return 0, ""

    def _exchanged(self, bit: int) -> None:
        """A call returned: what the device has to say is a fault, or the end of one."""
        status, words = self.trouble()
        if not status & bit:
            self._went_well(bit)
        for each in TOLD:
            if status & each:
                self.fail(each, words)
            elif self._told & each:
                self.recover(each)
        self._told = status

    def _went_well(self, bit: int) -> None:
        """A call returned and the device did not complain."""
        self.recover(bit)

    def _limited(self, wrench: list[float]) -> tuple[Floats, Floats]:
        if len(wrench) != 6:
            raise DeviceError(f"a wrench is force and torque, six numbers: got {len(wrench)}")
        info = self.info
        share = 1.0
        parts = []
        for part, limit in ((wrench[:3], info.max_force), (wrench[3:], info.max_torque)):
            shown = part if limit > 0.0 else [0.0, 0.0, 0.0]
            size = sqrt(sum(x * x for x in shown))
            share = min(share, limit / size if size > limit else 1.0)
            parts.append(shown)
        force, torque = (tuple(share * x for x in part) for part in parts)
        return force, torque


def _make(kind: type[Adapter], arguments: tuple[Any, ...], named: dict[str, Any]) -> Adapter:
    """A device as it was made elsewhere, not open."""
    return kind(*arguments, **named)


class Exchanged(Adapter):
    """An adapter whose device is served elsewhere, by a thread of the adapter or of the vendor.

    Samples and commands are handed over as one reference each, newest value wins, so that neither
    side ever waits for the other. A command older than `HOLD` counts as zero.
    """

    def __init__(self, info: DeviceInfo) -> None:
        super().__init__(info)
        self._newest: tuple[int, Sample] = (0, Sample())
        self._seen = 0
        self._wrench: tuple[float, Floats, Floats] = (-inf, ZERO, ZERO)

    def publish(self, sample: Sample) -> None:
        """Called where the device is served."""
        self._newest = (self._newest[0] + 1, sample)

    def command(self) -> tuple[Floats, Floats]:
        """Force and torque that the device shall show now."""
        when, force, torque = self._wrench
        if time.monotonic() - when > HOLD:
            return ZERO, ZERO
        return force, torque

    def _went_well(self, bit: int) -> None:
        """What is handed over is no exchange with the device: who serves it says how that went."""
        if bit == FAULT_WRITE:
            self.recover(bit)

    def forget(self) -> None:
        """Nothing of an earlier connection is handed over."""
        self._newest, self._seen = (0, Sample()), 0
        self._wrench = (-inf, ZERO, ZERO)

    def _receive(self, out: Array) -> bool:
        count, sample = self._newest
        fresh, self._seen = count != self._seen, count
        sample.into(out)
        return fresh

    def _send(self, force: Floats, torque: Floats) -> None:
        self._wrench = (time.monotonic(), force, torque)


class Threaded(Exchanged):
    """A device served by a thread of the adapter, `rate` times a second.

    A subclass has `_begin` (connect, on the caller's thread), `_turn` (one exchange with the
    device) and `_end` (free it; also after a failed `_begin`). A turn that fails is a fault until
    one succeeds. The thread's last act, whatever ended it, is a turn with zero force.
    """

    def __init__(self, info: DeviceInfo) -> None:
        super().__init__(info)
        self.stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def _begin(self) -> None:
        """Connect to the device; `DeviceError` if there is none."""

    def _turn(self, force: Floats, torque: Floats) -> None:
        """Show a wrench, read the device, `publish` what it said."""

    def _end(self) -> None:
        """Free the device."""

    def _connect(self) -> None:
        self.forget()
        self._begin()
        self.stopping.clear()
        self._thread = threading.Thread(target=self._serve, name=self.info.name, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        period = 1.0 / self.info.rate
        due = time.monotonic()
        try:
            while not self.stopping.is_set():
                try:
                    self._turn(*self.command())
                    self.recover(FAULT_READ)
                except Exception as error:
                    self.fail(FAULT_READ, error)
                due = max(due + period, time.monotonic())  # what was missed is not caught up
                pause = due - time.monotonic()
                if pause > 0.0:
                    time.sleep(pause)
        finally:
            with contextlib.suppress(Exception):
                self._turn(ZERO, ZERO)

    def _disconnect(self) -> None:
        if self._thread is not None:
            self.stopping.set()
            self._thread.join(CLOSE)
            if self._thread.is_alive():
                self.fail(FAULT_READ, f"its driver has not answered for {CLOSE:g} s")
            self._thread = None
        self._end()


class Estimator:
    """Velocity and angular velocity from poses: differences through a first-order filter."""

    def __init__(self, time_constant: float = 2e-3) -> None:
        self._tau = time_constant
        self._last: tuple[float, Floats, Quat] | None = None
        self._twist: Floats = (0.0,) * 6
        turn_between(UPRIGHT, UPRIGHT)  # compiled here, not on the thread that serves a device

    def __call__(self, now: float, position: Floats, quaternion: Floats) -> Floats:
        """Six numbers; zero at the first pose."""
        q: Quat = (quaternion[0], quaternion[1], quaternion[2], quaternion[3])
        if self._last is not None and now > self._last[0]:
            before, x, turn = self._last[0], self._last[1], turn_between(self._last[2], q)
            dt = now - before
            blend = dt / (dt + self._tau)
            rates = (
                *((b - a) / dt for a, b in zip(x, position, strict=True)),
                *(u / dt for u in turn),
            )
            self._twist = tuple(
                old + blend * (new - old) for old, new in zip(self._twist, rates, strict=True)
            )
        if self._last is None or now > self._last[0]:
            self._last = (now, position, q)
        return self._twist


class Axes:
    """A native frame: how its axes lie in tangere's, as a signed permutation of determinant 1.

    `Axes("+y", "-x", "+z")`: tangere's x is the native +y, its y the native −x, its z the native z.
    """

    def __init__(self, x: str, y: str, z: str) -> None:
        self.matrix = np.zeros((3, 3))  # base = matrix @ native
        for row, axis in enumerate((x, y, z)):
            self.matrix[row, "xyz".index(axis[1])] = 1.0 if axis[0] == "+" else -1.0
        if round(float(np.linalg.det(self.matrix))) != 1:
            raise DeviceError(f"axes {x} {y} {z} are not a right-handed frame")
        self._rows = [
            (int(np.argmax(np.abs(row))), float(row[np.argmax(np.abs(row))])) for row in self.matrix
        ]
        self._columns = [
            (int(np.argmax(np.abs(row))), float(row[np.argmax(np.abs(row))]))
            for row in self.matrix.T
        ]

    def to_base(self, v: Floats | list[float]) -> Floats:
        """A native vector in tangere's axes."""
        return tuple(sign * v[i] for i, sign in self._rows)

    def from_base(self, v: Floats | list[float]) -> Floats:
        """A vector in tangere's axes in native ones."""
        return tuple(sign * v[i] for i, sign in self._columns)

    def quaternion(self, q: Floats | list[float]) -> Floats:
        """A native turn (w, x, y, z) in tangere's axes: the same angle about the same axis."""
        return (q[0], *self.to_base(tuple(q[1:])))


def _model(
    name: str,
    force: float,
    stiffness: float,
    damping: float,
    radius: float,
    mass: float,
    **more: float | bool,
) -> DeviceInfo:
    return DeviceInfo(
        name,
        max_force=force,
        stiffness=stiffness,
        damping=damping,
        radius=radius,
        mass=mass,
        **more,  # type: ignore[arg-type]
    )


_WRIST = {"max_torque": 0.2, "rotational_stiffness": 1.0, "rotational_damping": 0.07}
_PREMIUM = {"max_torque": 0.188, "rotational_stiffness": 0.3, "rotational_damping": 0.004}
_GRIP = {"max_gripper_force": 8.0, "senses_gripper": True}

# Conservative limits of known models; what a device says of itself wins over them. The apparent
# mass at the grip is of the order that data sheets give.
MODELS = {
    info.name: info
    for info in (
        _model("delta.3", 20.0, 5000.0, 30.0, 0.15, 0.5, senses_rotation=False),
        _model("omega.3", 12.0, 5000.0, 30.0, 0.075, 0.3, senses_rotation=False),
        _model("omega.6", 12.0, 5000.0, 30.0, 0.075, 0.35),
        _model("omega.7", 12.0, 5000.0, 30.0, 0.075, 0.4, **_GRIP),
        _model("sigma.7", 12.0, 4000.0, 30.0, 0.075, 0.4, **_WRIST, **_GRIP),
        _model("lambda.7", 12.0, 8000.0, 30.0, 0.1125, 0.4, **_WRIST, **_GRIP),
        _model("Falcon", 8.0, 3000.0, 20.0, 0.04, 0.35, senses_rotation=False),
        _model("Touch", 3.3, 400.0, 4.0, 0.075, 0.045),
        _model("Phantom Omni", 3.3, 700.0, 5.0, 0.10, 0.045),
        _model("Phantom Desktop", 7.9, 1000.0, 5.0, 0.10, 0.045),
        _model("Premium 1.5 6DOF", 8.5, 800.0, 5.0, 0.12, 0.136, **_PREMIUM),
        _model("Premium 3.0 6DOF", 22.0, 1000.0, 5.0, 0.25, 0.15, **_PREMIUM),
        _model("Inverse3", 5.0, 800.0, 6.0, 0.15, 0.1),
    )
}


def model(name: str) -> DeviceInfo:
    """Limits of a known model, by its name in any case."""
    for known, info in MODELS.items():
        if known.lower() == name.lower():
            return info
    raise DeviceError(f"no model {name!r}: known are {', '.join(MODELS)}")
