"""Hands without hardware: a script, a recording, and a person's arm that feels what it is sent.

All three know their future, so a session samples them ahead: `table(rate, ticks)` has one reading
(or, for `Hand`, one aim) per tick. In real time without an end they are read by the clock instead.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, NamedTuple, Protocol

import numpy as np

from tangere.devices.device import UPRIGHT, Adapter, DeviceInfo, Floats, model
from tangere.errors import SceneError
from tangere.haptics import arm as columns
from tangere.haptics.arm import MAX_DELAY, NARM, arm_step
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    NREAD,
    NSEND,
    READ_BUTTONS,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    READ_VELOCITY,
)
from tangere.maths.quat import Quat, turn_between
from tangere.maths.vec import Array

# Where a script gives no velocity: central differences over this [s]. Truncation is δ²/6 of the
# third derivative, rounding 1e-16/δ of the position: both below 1e-8 for motions of a hand.
DIFFERENCE = 1e-4
# A script's quaternion may be this far from unit length; it is normalised.
UNIT = 1e-6

Script = Callable[[float], Any]


class Scripted(Adapter):
    """A hand that moves as a function of time says, and feels nothing.

    `function(t)` with t in seconds gives the position [m], or (position, orientation), or
    (position, orientation, velocity, angular velocity); missing velocities are differences.
    `buttons(t)` is a bit field; bit 0 is the clutch.
    """

    def __init__(self, function: Script, *, buttons: Callable[[float], int] | None = None) -> None:
        if not callable(function):
            raise SceneError(f"a script is a function of time, not {type(function).__name__}")
        super().__init__(_unlimited("script"))
        self._function = function
        self._buttons = buttons
        self._begin = 0.0

    def table(self, rate: float, ticks: int) -> Array:
        """One reading per tick (ticks, NREAD), checked: finite, orientations of unit length."""
        rows = _empty_table(rate, ticks)
        for n in range(ticks):
            self.fill(n / rate, rows[n])
        return rows

    def _connect(self) -> None:
        self._begin = time.monotonic()

    def _receive(self, out: Array) -> bool:
        self.fill(time.monotonic() - self._begin, out)
        return True

    def fill(self, t: float, out: Array) -> None:
        """Pose, twist and buttons at one time, checked."""
        x, q, twist = self._at(t)
        if twist is None:
            twist = self._differences(t, x, q)
        out[READ_POSITION : READ_POSITION + 3] = x
        out[READ_QUATERNION : READ_QUATERNION + 4] = q
        out[READ_VELOCITY : READ_VELOCITY + 6] = twist
        out[READ_BUTTONS] = float(self._buttons(t)) if self._buttons else 0.0

    def _at(self, t: float) -> tuple[Floats, Quat, Floats | None]:
        """Position, orientation, and velocities where given, at one time."""
        try:
            given = self._function(t)
        except Exception as error:
            raise SceneError(
                f"the script fails at t = {t:g} s: {type(error).__name__}: {error}"
            ) from error
        parts = list(given) if isinstance(given, (tuple, list)) else [given]
        if len(parts) == 3 and np.ndim(parts[0]) == 0:
            parts = [given]
        if len(parts) not in (1, 2, 4):
            raise SceneError(
                f"the script gives {len(parts)} parts at t = {t:g} s: give a position, "
                "(position, orientation) or (position, orientation, velocity, angular velocity)"
            )
        names = ("position", "orientation", "velocity", "angular velocity")
        values = [
            _numbers(part, 4 if i == 1 else 3, f"{names[i]} at t = {t:g} s")
            for i, part in enumerate(parts)
        ]
        q = values[1] if len(values) > 1 else UPRIGHT
        size = sum(c * c for c in q) ** 0.5
        if abs(size - 1.0) > UNIT:
            raise SceneError(
                f"the script's orientation at t = {t:g} s has length {size:g}: "
                "give a unit quaternion (w, x, y, z)"
            )
        unit = (q[0] / size, q[1] / size, q[2] / size, q[3] / size)
        return values[0], unit, (*values[2], *values[3]) if len(values) == 4 else None

    def _differences(self, t: float, x: Floats, q: Quat) -> Floats:
        """Velocity and angular velocity, of second order also at the start, where t ≥ 0 only."""
        d = DIFFERENCE
        x1, q1, _ = self._at(t + d)
        if t >= d:
            x0, q0, _ = self._at(t - d)
            return _over(2.0 * d, x0, x1) + _turn_over(2.0 * d, q0, q1)
        x2, q2, _ = self._at(t + 2.0 * d)
        near = _over(d, x, x1) + _turn_over(d, q, q1)
        far = _over(2.0 * d, x, x2) + _turn_over(2.0 * d, q, q2)
        return tuple(2.0 * a - b for a, b in zip(near, far, strict=True))


class Columns(Protocol):
    """Anything that gives columns by name, such as a trace."""

    def __getitem__(self, name: str, /) -> Any:
        """The column, one row per tick."""


class Playback(Adapter):
    """The readings of a recorded session again, bit for bit at its own rate.

    `trace` has the columns time, device.position, device.orientation, device.velocity and
    device.angular_velocity, and may have buttons and fault; `tool` picks one of several tools.
    """

    def __init__(self, trace: Columns, *, tool: str = "") -> None:
        super().__init__(_unlimited("recording"))
        if isinstance(trace, (str, os.PathLike)):
            raise SceneError(f"give the recording itself, tg.Trace.load({os.fspath(trace)!r})")
        prefix = f"{tool}." if tool else ""
        times = np.asarray(trace["time"], dtype=float)
        if times.ndim != 1 or len(times) < 1:
            raise SceneError("the recording has no ticks")
        self._rows = np.zeros((len(times), NREAD))
        self._rows[:, READ_TIME] = times - times[0]
        for name, at, width in (
            ("position", READ_POSITION, 3),
            ("orientation", READ_QUATERNION, 4),
            ("velocity", READ_VELOCITY, 3),
            ("angular_velocity", READ_OMEGA, 3),
        ):
            column = np.asarray(trace[f"{prefix}device.{name}"], dtype=float)
            if column.shape != (len(times), width):
                raise SceneError(
                    f"column device.{name} of the recording has shape {column.shape}, "
                    f"not {(len(times), width)}"
                )
            if not np.isfinite(column).all():
                bad = int(np.argmin(np.isfinite(column).all(axis=1)))
                raise SceneError(f"device.{name} of the recording is not finite at tick {bad}")
            self._rows[:, at : at + width] = column
        self._rows[:, READ_BUTTONS] = _optional(trace, f"{prefix}buttons", len(times))
        faults = _optional(trace, f"{prefix}fault", len(times)).astype(np.int64)
        self._rows[:, READ_STATUS] = faults & (FAULT_READ | FAULT_WRITE)
        self._rows[:, READ_SEQUENCE] = np.arange(1, len(times) + 1)
        self._begin = 0.0

    @property
    def ticks(self) -> int:
        """Readings in the recording."""
        return len(self._rows)

    @property
    def rate(self) -> float:
        """Readings per second [Hz]."""
        last = float(self._rows[-1, READ_TIME])
        return (self.ticks - 1) / last if last > 0 else self.info.rate

    def table(self, rate: float, ticks: int | None = None) -> Array:
        """The first readings as they were recorded, at the rate at which they were."""
        ticks = self.ticks if ticks is None else ticks
        if ticks > self.ticks:
            raise SceneError(
                f"the recording has {self.ticks} ticks ({self.ticks / self.rate:g} s), "
                f"{ticks} were asked for: play it for a shorter time"
            )
        # the clock of a recording is exact to rounding; anything more is another rate
        if ticks > 1 and abs(self.rate / rate - 1.0) > 1e-6:
            raise SceneError(f"the recording was made at {self.rate:g} Hz: play it at that rate")
        return self._rows[:ticks].copy()

    def _connect(self) -> None:
        self._begin = time.monotonic()

    def _receive(self, out: Array) -> bool:
        """The reading of this time; the last one stays when the recording is over."""
        elapsed = time.monotonic() - self._begin
        n = min(int(elapsed * self.rate), self.ticks - 1)
        out[:READ_TIME] = self._rows[n, :READ_TIME]
        out[READ_BUTTONS] = self._rows[n, READ_BUTTONS]
        return True


@dataclass(frozen=True)
class DeviceModel:
    """A device as a `Hand` feels and moves it: what stands between motor, encoder and grip."""

    name: str = "ideal"
    mass: float = 0.1  # apparent at the grip [kg]
    inertia: float = 1e-4  # [kg m²]
    damping: float = 0.1  # viscous friction [N s/m]
    rotational_damping: float = 1e-4  # [N m s/rad]
    friction: float = 0.0  # Coulomb [N]
    rotational_friction: float = 0.0  # [N m]
    max_force: float = inf  # [N]
    max_torque: float = inf  # [N m]
    resolution: float = 0.0  # of the position [m]; 0: exact
    rotational_resolution: float = 0.0  # [rad]
    sample_every: int = 1  # ticks
    delay: int = 0  # of a command [ticks]
    velocity_filter: float = 0.0  # time constant of the driver's velocity [s]

    def __post_init__(self) -> None:
        positive = {"mass": self.mass, "inertia": self.inertia}
        not_negative = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("name", "mass", "inertia")
        }
        _check(positive, not_negative)
        if not 0 <= self.delay <= MAX_DELAY:
            raise SceneError(f"delay {self.delay} ticks: at most {MAX_DELAY} are kept")
        if self.sample_every < 1:
            raise SceneError(f"sample_every {self.sample_every}: at least 1 tick")


# Coulomb friction and resolution at the grip: of the order that data sheets give. [N, m]
_TYPICAL = {
    "delta.3": (0.4, 3e-5),
    "omega.3": (0.2, 1e-5),
    "omega.6": (0.2, 1e-5),
    "omega.7": (0.2, 1e-5),
    "sigma.7": (0.2, 1.5e-6),
    "lambda.7": (0.2, 1.5e-6),
    "Falcon": (0.4, 6e-5),
    "Touch": (0.26, 5.5e-5),
    "Phantom Omni": (0.26, 5.5e-5),
    "Phantom Desktop": (0.06, 2.3e-5),
    "Premium 1.5 6DOF": (0.04, 3e-5),
    "Premium 3.0 6DOF": (0.2, 2e-5),
    "Inverse3": (0.1, 1e-5),
}


def device_model(name: str) -> DeviceModel:
    """A known device to be emulated: its limits, and one tick of delay as any driver has."""
    info = model(name)
    friction, resolution = _TYPICAL[info.name]
    return DeviceModel(
        info.name,
        mass=info.mass,
        friction=friction,
        resolution=resolution,
        rotational_resolution=5e-4,
        max_force=info.max_force,
        max_torque=info.max_torque,
        delay=1,
    )


class EnergyBooks(NamedTuple):
    """Where the energy of a `Hand` went: stored = given + intent − lost [J]."""

    given: float  # work of the force sent
    intent: float  # work of the person's will
    lost: float  # in friction and dampers
    stored: float  # kinetic and in the arm's springs


class Hand(Adapter):
    """A person's arm and hand as mass, spring and damper, holding a device: it closes the loop.

    The person wants to be where `intent` says (a function as for `Scripted`); how far the hand
    gets depends on the force it is sent. `device` is the name of a known model or a `DeviceModel`.
    The arm's constants are those of a relaxed grip at the fingers; all may be set.
    """

    def __init__(
        self,
        intent: Script | Scripted = lambda _: (0.0, 0.0, 0.0),
        *,
        device: str | DeviceModel | None = None,
        mass: float = 0.15,
        stiffness: float = 300.0,
        damping: float = 5.0,
        inertia: float = 5e-4,
        rotational_stiffness: float = 2.0,
        rotational_damping: float = 0.03,
        substeps: int = 4,
    ) -> None:
        self.model = device_model(device) if isinstance(device, str) else device or DeviceModel()
        known = model(self.model.name) if isinstance(device, str) else _unlimited("hand")
        super().__init__(
            replace(
                known,
                name=f"hand on {self.model.name}" if isinstance(device, str) else "hand",
                max_force=self.model.max_force,
                max_torque=self.model.max_torque,
                mass=self.model.mass,
                inertia=self.model.inertia,
            )
        )
        _check(
            {"mass": mass, "inertia": inertia},
            {
                "stiffness": stiffness,
                "damping": damping,
                "rotational_stiffness": rotational_stiffness,
                "rotational_damping": rotational_damping,
            },
        )
        if substeps < 1:
            raise SceneError(f"substeps {substeps}: a tick has at least one part")
        self.intent = intent if isinstance(intent, Scripted) else Scripted(intent)
        self._constants = {
            columns.ARM_MASS: mass,
            columns.ARM_STIFFNESS: stiffness,
            columns.ARM_DAMPING: damping,
            columns.ARM_INERTIA: inertia,
            columns.ARM_TURN_STIFFNESS: rotational_stiffness,
            columns.ARM_TURN_DAMPING: rotational_damping,
            columns.ARM_DEVICE_MASS: self.model.mass,
            columns.ARM_DEVICE_INERTIA: self.model.inertia,
            columns.ARM_VISCOUS: self.model.damping,
            columns.ARM_TURN_VISCOUS: self.model.rotational_damping,
            columns.ARM_FRICTION: self.model.friction,
            columns.ARM_TURN_FRICTION: self.model.rotational_friction,
            columns.ARM_MAX_FORCE: self.model.max_force,
            columns.ARM_MAX_TORQUE: self.model.max_torque,
            columns.ARM_RESOLUTION: self.model.resolution,
            columns.ARM_TURN_RESOLUTION: self.model.rotational_resolution,
            columns.ARM_EVERY: float(self.model.sample_every),
            columns.ARM_DELAY: float(self.model.delay),
            columns.ARM_FILTER: self.model.velocity_filter,
            columns.ARM_SUBSTEPS: float(substeps),
        }
        self._arm = self.arm()
        self._wanted = np.zeros(NREAD)
        self._sent = np.zeros(NSEND)
        self._reading = np.zeros(NREAD)
        self._begin = 0.0

    def arm(self) -> Array:
        """Parameters and state before the first tick, for `haptics.arm` (NARM,)."""
        arm = np.zeros(NARM)
        for column, value in self._constants.items():
            arm[column] = value
        return arm

    def table(self, rate: float, ticks: int) -> Array:
        """Where the person wants to be, one row per tick (ticks, NREAD)."""
        rows = self.intent.table(rate, ticks)
        self._keep_upright(rows)
        return rows

    def _keep_upright(self, rows: Array) -> None:
        """A device without a wrist does not see the hand turn."""
        if not self.info.senses_rotation:
            rows[..., READ_QUATERNION : READ_QUATERNION + 4] = UPRIGHT
            rows[..., READ_OMEGA : READ_OMEGA + 3] = 0.0

    def books(self, arm: Array | None = None) -> EnergyBooks:
        """The energy of an arm array of a session, or of this device read by the clock."""
        a = self._arm if arm is None else arm
        at = (columns.ARM_GIVEN, columns.ARM_INTENT, columns.ARM_LOST, columns.ARM_STORED)
        return EnergyBooks(*(float(a[i]) for i in at))

    # Read by the clock: the arm makes the ticks that have gone since the last reading.

    def _connect(self) -> None:
        self._sent[:] = 0.0
        self._advance(0, self.arm(), self._reading)  # compiled here, so that no reading waits
        self._arm = self.arm()
        self._begin = time.monotonic()

    def _advance(self, n: int, arm: Array, out: Array) -> None:
        """Tick n, by the person's intent of that time."""
        t = n / self.info.rate
        self.intent.fill(t, self._wanted)
        self._keep_upright(self._wanted)
        self._wanted[READ_TIME] = t
        arm_step(arm, self._wanted, self._sent, 1.0 / self.info.rate, out)

    def _receive(self, out: Array) -> bool:
        rate = self.info.rate
        due = int((time.monotonic() - self._begin) * rate)
        done = int(self._arm[columns.ARM_TICKS])
        if due - done > rate:  # a pause of more than a second is no motion
            self._begin += (due - done) / rate - 1.0
            due = done + int(rate)
        for n in range(done, due + 1):
            self._advance(n, self._arm, self._reading)
        out[:] = self._reading
        return due >= done

    def _send(self, force: Floats, torque: Floats) -> None:
        self._sent[:6] = (*force, *torque)


def _unlimited(name: str) -> DeviceInfo:
    """A hand that feels nothing: what it would be sent is recorded without a limit."""
    return DeviceInfo(name, max_force=inf, max_torque=inf, radius=inf, drops_force=True)


def _empty_table(rate: float, ticks: int) -> Array:
    if not (isfinite(rate) and rate > 0 and ticks >= 1):
        raise SceneError(
            f"{ticks} ticks at {rate:g} Hz: give a positive rate and at least one tick"
        )
    rows = np.zeros((ticks, NREAD))
    rows[:, READ_QUATERNION] = 1.0
    rows[:, READ_TIME] = np.arange(ticks) / rate
    rows[:, READ_SEQUENCE] = np.arange(1, ticks + 1)
    return rows


def _numbers(part: Any, width: int, what: str) -> Floats:
    try:
        values = tuple(float(c) for c in part)
    except (TypeError, ValueError):
        raise SceneError(f"the script's {what} is {part!r}: give {width} numbers") from None
    if len(values) != width:
        raise SceneError(f"the script's {what} has {len(values)} numbers: give {width}")
    if not all(map(isfinite, values)):
        raise SceneError(f"the script's {what} is {values}: all numbers must be finite")
    return values


def _over(span: float, a: Floats, b: Floats) -> Floats:
    return tuple((y - x) / span for x, y in zip(a, b, strict=True))


def _turn_over(span: float, a: Quat, b: Quat) -> Floats:
    return tuple(u / span for u in turn_between(a, b))


def _optional(trace: Columns, name: str, ticks: int) -> Array:
    try:
        column = np.asarray(trace[name], dtype=float)
    except (KeyError, SceneError):
        return np.zeros(ticks)
    return column.reshape(ticks)


def _check(positive: dict[str, float], not_negative: dict[str, float]) -> None:
    for name, value in positive.items():
        if not (isfinite(value) and value > 0):
            raise SceneError(f"{name} {value:g} of a hand: must be positive")
    for name, value in not_negative.items():
        if not value >= 0:
            raise SceneError(f"{name} {value:g} of a hand: must not be negative")
