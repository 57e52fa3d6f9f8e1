"""What every haptic device is to tangere: where the hand is, what can be felt, and how much of it.

Axes. All readings and wrenches are in the device's base frame with tangere's axes, x right, y away
from the user, z up; an adapter converts at its boundary (`Axes`). SI units. A wrench is the force
and the torque **on the user's hand** at the grip.

Faults. Once a device is open nothing raises: a read or write that fails shows as a FAULT_… in
READ_STATUS of the next reading and in words in `fault`. Zero force is sent on closing, on every
exception that leaves a `with` block, and when no command has come for `HOLD` seconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import numpy as np

from tangere.errors import DeviceError
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
)
from tangere.maths.vec import Array

# A command older than this is no longer sent: the loop that computes it hangs or died [s].
HOLD = 0.05

Floats = tuple[float, ...]


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

    @property
    def sensed(self) -> int:
        """Degrees of freedom that are measured."""
        return 3 + 3 * self.senses_rotation + self.senses_gripper

    @property
    def actuated(self) -> int:
        """Degrees of freedom that are driven."""
        return 3 * (self.max_force > 0) + 3 * (self.max_torque > 0) + (self.max_gripper_force > 0)


@runtime_checkable
class Device(Protocol):
    """What a session needs of a device; `Adapter` has all of it but the vendor's calls."""

    @property
    def info(self) -> DeviceInfo:
        """Capabilities and limits; after `open` those of the device found."""

    @property
    def fault(self) -> str:
        """What is wrong, in words; empty: nothing."""

    def open(self) -> None:
        """Connect; `DeviceError` when there is no such device or library."""

    def read(self, out: Array) -> None:
        """Fill the READ_… columns with the newest sample; never waits."""

    def write(self, wrench: Array) -> None:
        """Put force and torque (6,) on the hand, within the limits; never waits."""

    def close(self) -> None:
        """Zero force, then let go; may be called twice."""


class Adapter:
    """The part that all devices share: order of calls, limits, faults, zero force at the end.

    A subclass sets `info` and has `_connect`, `_receive`, `_send` and `_disconnect`.
    """

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        self.fault = ""
        self._opened = False
        self._status = 0
        self._samples = 0.0

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

    # ---------------------------------------------------------------- what a session calls

    def open(self) -> None:
        """Connect; a device that is already open stays as it is."""
        if self._opened:
            return
        self.fault, self._status, self._samples = "", 0, 0.0
        try:
            self._connect()
        except BaseException:
            self._disconnect()
            raise
        self._opened = True

    def read(self, out: Array) -> None:
        """Fill the READ_… columns; when that fails the pose stays and READ_STATUS says so."""
        self._must_be_open()
        if not out[READ_QUATERNION : READ_QUATERNION + 4].any():
            out[READ_QUATERNION] = 1.0
        try:
            fresh = self._receive(out)
        except Exception as error:
            self._fail(FAULT_READ, error)
            fresh = False
        if fresh:
            self._samples += 1.0
            out[READ_TIME] = time.monotonic()
        out[READ_SEQUENCE] = self._samples
        out[READ_STATUS] = self._status

    def write(self, wrench: Array) -> None:
        """Put a wrench on the hand, scaled into the limits; one that is not finite counts as zero.

        Force and torque are scaled together, by the stricter of their limits, so that the wrench
        keeps its direction. A device without torque (or force) drops that part and no other.
        """
        self._must_be_open()
        force, torque = self._limited([float(x) for x in wrench])
        try:
            self._send(force, torque)
        except Exception as error:
            self._fail(FAULT_WRITE, error)

    def close(self) -> None:
        """Zero force, then let go; a second call does nothing."""
        if not self._opened:
            return
        self._opened = False
        try:
            self._send((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        except Exception as error:
            self._fail(FAULT_WRITE, error)
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

    # ---------------------------------------------------------------- inside

    def _must_be_open(self) -> None:
        if not self._opened:
            raise DeviceError(f"{self.info.name} is not open: call open() first")

    def _fail(self, bit: int, error: Exception | str) -> None:
        self._status |= bit
        self.fault = self.fault or f"{self.info.name}: {error}"

    def _limited(self, wrench: list[float]) -> tuple[Floats, Floats]:
        if len(wrench) != 6:
            raise DeviceError(f"a wrench is force and torque, six numbers: got {len(wrench)}")
        info = self.info
        if not all(map(isfinite, wrench)):
            self._fail(FAULT_WRITE, "a wrench that is not finite; zero was sent")
            return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        share = 1.0
        parts = []
        for part, limit in ((wrench[:3], info.max_force), (wrench[3:], info.max_torque)):
            shown = part if limit > 0.0 else [0.0, 0.0, 0.0]
            size = sqrt(sum(x * x for x in shown))
            share = min(share, limit / size if size > limit else 1.0)
            parts.append(shown)
        force, torque = (tuple(share * x for x in part) for part in parts)
        return force, torque


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


def quaternion_of(rotation: Array) -> Floats:
    """Unit quaternion (w, x, y, z), w ≥ 0, of a 3×3 rotation that need not be exact.

    The eigenvector of Bar-Itzhack's symmetric matrix would serve any matrix; encoders give nearly
    exact ones, so the largest of the four components is taken from the diagonal.
    """
    r = rotation
    diagonal = (r[0, 0], r[1, 1], r[2, 2])
    traces = (
        1 + diagonal[0] + diagonal[1] + diagonal[2],
        1 + diagonal[0] - diagonal[1] - diagonal[2],
        1 - diagonal[0] + diagonal[1] - diagonal[2],
        1 - diagonal[0] - diagonal[1] + diagonal[2],
    )
    k = max(range(4), key=traces.__getitem__)
    skew = (r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1])
    if k == 0:
        q = [traces[0], *skew]
    else:
        i, j, l = k - 1, k % 3, (k + 1) % 3
        q = [skew[i], 0.0, 0.0, 0.0]
        q[1 + i] = traces[k]
        q[1 + j] = r[i, j] + r[j, i]
        q[1 + l] = r[i, l] + r[l, i]
    size = sqrt(sum(float(x) ** 2 for x in q)) * (1.0 if q[0] >= 0 else -1.0)
    return tuple(float(x) / size for x in q)


def _model(
    name: str,
    force: float,
    stiffness: float,
    damping: float,
    radius: float,
    **more: float | bool,
) -> DeviceInfo:
    return DeviceInfo(
        name,
        max_force=force,
        stiffness=stiffness,
        damping=damping,
        radius=radius,
        **more,  # type: ignore[arg-type]
    )


_WRIST = {"max_torque": 0.2, "rotational_stiffness": 1.0, "rotational_damping": 0.07}
_PREMIUM = {"max_torque": 0.188, "rotational_stiffness": 0.3, "rotational_damping": 0.004}
_GRIP = {"max_gripper_force": 8.0, "senses_gripper": True}

# Conservative limits of known models; what a device says of itself wins over them.
MODELS = {
    info.name: info
    for info in (
        _model("delta.3", 20.0, 5000.0, 30.0, 0.15, senses_rotation=False),
        _model("omega.3", 12.0, 5000.0, 30.0, 0.075, senses_rotation=False),
        _model("omega.6", 12.0, 5000.0, 30.0, 0.075),
        _model("omega.7", 12.0, 5000.0, 30.0, 0.075, **_GRIP),
        _model("sigma.7", 12.0, 4000.0, 30.0, 0.075, **_WRIST, **_GRIP),
        _model("lambda.7", 12.0, 8000.0, 30.0, 0.1125, **_WRIST, **_GRIP),
        _model("Falcon", 8.0, 3000.0, 20.0, 0.04, senses_rotation=False),
        _model("Touch", 3.3, 400.0, 4.0, 0.075),
        _model("Phantom Omni", 3.3, 700.0, 5.0, 0.10),
        _model("Phantom Desktop", 7.9, 1000.0, 5.0, 0.10),
        _model("Premium 1.5 6DOF", 8.5, 800.0, 5.0, 0.12, **_PREMIUM),
        _model("Premium 3.0 6DOF", 22.0, 1000.0, 5.0, 0.25, **_PREMIUM),
        _model("Inverse3", 5.0, 800.0, 6.0, 0.15),
    )
}


def model(name: str) -> DeviceInfo:
    """Limits of a known model, by its name in any case."""
    for known, info in MODELS.items():
        if known.lower() == name.lower():
            return info
    raise DeviceError(f"no model {name!r}: known are {', '.join(MODELS)}")


NO_LIMITS = {"max_force": inf, "max_torque": inf}
