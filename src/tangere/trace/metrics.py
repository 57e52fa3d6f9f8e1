"""What is measured in a trace: deviation, depth, noise, ringing, stick–slip, settling, energy.

Everything takes a `Trace` (of several tools the first; `trace.of("left")` is another one) or plain
arrays, SI units, and looks at what was recorded, never at the simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tangere.errors import SceneError
from tangere.maths.rotations import quat_conjugate, quat_product
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from tangere.trace.trace import Trace

LATE = 100e-6  # a tick that starts later than this after its deadline counts as late [s]
RINGING_ABOVE = 50.0  # [Hz]; hands move below, contacts that ring do it above
RINGING_WINDOW = 0.4  # the last … of a run [s]
# A run is stable when finite, and with these bounds (Otaduy & Lin's experiments):
STABLE_DEVIATION = 0.150  # [m]
STABLE_ANGLE = 1.5  # [rad]
STABLE_WINDOW = 0.5  # the last … [s]
STABLE_TWITCH = 0.05  # second difference of the coupling's angle per sample [rad]

# What the energy ledger reads: x, F, q, T, E_stored
LEDGER_COLUMNS = {
    "hand": (
        *("hand.position", "coupling.force", "hand.orientation", "coupling.torque"),
        "energy.stored",
    ),
    "device": (
        *("device.position", "device.force", "device.orientation", "device.torque"),
        "energy.stored",
    ),
}


# ------------------------------------------------------------------------------------- per tick


def deviation(trace: Trace) -> Array:
    """‖x_h − (x + R c)‖: how far the hand is from the grip of the tool, per tick [m]."""
    grip, _ = _grip(trace)

    def of(part: Trace) -> Array:
        held = part["tool.position"] + _turned(part["tool.orientation"], grip)
        return _size(part["hand.position"] - held)

    return _per_tick(trace, of)


def angle_deviation(trace: Trace) -> Array:
    """‖u_c‖, u_c = Log(q_h (q q_c)*): angle between the hand and the grip, per tick [rad]."""
    _, turn = _grip(trace)

    def of(part: Trace) -> Array:
        held = quat_product(part["tool.orientation"], turn)
        return _size(rotation_between(held, part["hand.orientation"]))

    return _per_tick(trace, of)


def penetration(trace: Trace) -> Array:
    """Deepest overlap of tool and scene per tick [m]; zero when apart."""
    return np.asarray(np.maximum(trace["contact.depth"], 0.0))


def _per_tick(trace: Trace, of: Callable[[Trace], Array]) -> Array:
    """A number per tick, computed in parts: what is needed on the way has many columns."""
    return np.concatenate([of(part) for part in trace.blocks()])


def _grip(trace: Trace) -> tuple[Array, Array]:
    """Where the hand holds the tool: c [m] and q_c in the tool's frame."""
    settings = trace.settings
    grip = settings.get("grip", (0.0, 0.0, 0.0))
    return np.array(grip), np.array(settings.get("grip_quaternion", (1.0, 0.0, 0.0, 0.0)))


# ------------------------------------------------------------------------------------- one number


def force_noise(force: ArrayLike) -> float:
    """Rms of the white noise on a force: `√(Σ |F_n − F_{n−1}|² / 2(N − 1))` [N].

    Differences of neighbours take out all that is slow; those of noise of size σ have size √2 σ.

    Args:
        force: Shape (n,) or (n, 3), such as `trace["device.force"]`.
    """
    steps = np.diff(_rows(force, "force"), axis=0)
    return float(np.sqrt(np.sum(steps * steps) / (2.0 * max(len(steps), 1))))


def ringing(
    trace: Trace, column: str = "coupling.force", *, last: float | None = RINGING_WINDOW
) -> float:
    """Rms of a force above 50 Hz over the last 0.4 s [N].

    Args:
        trace: At least two times the rate of 50 Hz.
        column: `coupling.force`, `tool.force`, …
        last: Length of the window at the end [s]; None: all.
    """
    loud = high_passed(trace[column], trace.rate)
    ticks = len(loud) if last is None else max(1, round(last * trace.rate))
    part = loud[-ticks:]
    return float(np.sqrt(np.mean(np.sum(part * part, axis=1)))) if len(part) else 0.0


def high_passed(signal: ArrayLike, rate: float, above: float = RINGING_ABOVE) -> Array:
    """What a signal does above a frequency: fourth-order Butterworth run forwards and backwards.

    Forwards and backwards there is no delay; at the frequency itself half the amplitude is left.

    Args:
        signal: Shape (n,) or (n, k).
        rate: Samples per second.
        above: Edge [Hz].
    """
    from scipy.signal import butter, sosfiltfilt

    rows = _rows(signal, "signal")
    if not 0.0 < 2.0 * above < rate:
        raise SceneError(
            f"ringing above {above:g} Hz needs a rate over {2 * above:g} Hz, got {rate:g}"
        )
    sections = butter(4, above, "highpass", fs=rate, output="sos")
    # The filter starts in the state of a signal mirrored at its ends; shorter ones cannot be.
    pad = min(3 * (2 * len(sections) + 1), len(rows) - 1)
    if pad < 1:
        return np.zeros_like(rows)
    return np.asarray(sosfiltfilt(sections, rows, axis=0, padlen=pad))


class StickSlip(NamedTuple):
    """Sawtooth of a force: it builds up while sticking and drops when slipping."""

    period: float  # median time between drops [s]; NaN for fewer than two
    drop: float  # median size of a drop [N]; NaN when there is none
    drops: int
    times: Array  # of the drops [s]


def stick_slip(time: ArrayLike, force: ArrayLike, least: float | None = None) -> StickSlip:
    """Period and size of the drops of a force that sticks and slips.

    A drop is a fall from a peak to the trough after it of at least `least`.

    Args:
        time: [s], shape (n,).
        force: Along the direction of sliding [N], shape (n,).
        least: Smallest drop that counts [N]; a third of the range of the force if not given.
    """
    t, f = np.asarray(time, float), np.asarray(force, float)
    if t.shape != f.shape or t.ndim != 1:
        raise SceneError(f"stick-slip: one force per time, got shapes {t.shape} and {f.shape}")
    if least is None:
        least = float(np.ptp(f)) / 3.0 if len(f) else 0.0
    times: list[float] = []
    drops: list[float] = []
    peak = far = 0  # far: highest sample since the last trough, or lowest since the last peak
    falling = False
    for n in range(len(f)) if least > 0.0 else ():
        if f[n] < f[far] if falling else f[n] > f[far]:
            far = n
        elif abs(f[n] - f[far]) >= least:  # it has turned
            if falling:
                times.append(t[peak])
                drops.append(f[peak] - f[far])
            peak, far, falling = far, n, not falling
    if falling:  # the last drop has no tooth after it
        times.append(t[peak])
        drops.append(f[peak] - f[far])
    period = float(np.median(np.diff(times))) if len(times) > 1 else float("nan")
    drop = float(np.median(drops)) if drops else float("nan")
    return StickSlip(period, drop, len(drops), np.array(times))


def settling(time: ArrayLike, signal: ArrayLike, band: float = 0.05) -> float:
    """Time after which a signal stays near its end [s], since its start.

    Near: within `band` times the greatest distance that it has from its last value. The last value
    counts as the end, so the signal must have come to rest.

    Args:
        time: [s], shape (n,).
        signal: Shape (n,) or (n, k).
        band: Share of the greatest distance.
    """
    t, rows = np.asarray(time, float), _rows(signal, "signal")
    if len(t) != len(rows) or not len(t):
        raise SceneError(f"settling: one row per time, got {len(rows)} and {len(t)}")
    far = _size(rows - rows[-1])
    outside = np.flatnonzero(far > band * far.max())
    return 0.0 if not len(outside) else float(t[outside[-1] + 1] - t[0])


def generated_energy(trace: Trace) -> float:
    """Energy that came from nowhere [J], at most zero.

    Σ min(0, F_n·Δx_h + T_n·Δθ_h − ΔE_stored): what the tool, coupling and contacts hold more than
    the hand put in during a tick. Bodies that push the tool put in energy too; then this is theirs.
    """
    return EnergyLedger.of(trace).generated


def late_share(trace: Trace, limit: float = LATE) -> float:
    """Share of ticks that started later than `limit` [s] after their deadline, or were missed."""
    missed = late = 0
    for part in trace.blocks():
        missed += int(part["servo.missed"].sum())
        late += int(np.count_nonzero(part["servo.late"] > limit))
    return (late + missed) / max(1, len(trace) + missed)


def stable(trace: Trace) -> bool:
    """Whether the run stayed finite, near the hand, and did not tremble at its end.

    Deviation below 150 mm, angle below 1.5 rad, and over the last 0.5 s a second difference of the
    coupling's angle below 0.05 rad per sample.
    """
    if not all(np.isfinite(part.rows).all() for part in trace.blocks()):
        return False
    angle = angle_deviation(trace)
    twitch = np.diff(angle[-max(3, round(STABLE_WINDOW * trace.rate)) :], 2)
    return bool(
        (deviation(trace) < STABLE_DEVIATION).all()
        and (angle < STABLE_ANGLE).all()
        and (np.abs(twitch) < STABLE_TWITCH).all()
    )


# ------------------------------------------------------------------------------------- energy


class EnergyLedger:
    """Energy that goes through the hand into the simulation, sample by sample.

    E_obs(n) = E_obs(n−1) + F_{n−1}·(x_h,n − x_h,n−1) + T_{n−1}·Log(q_h,n q_h,n−1*), with F and T
    acting on the tool: the position form of the passivity observer of Hannaford and Ryu (2002),
    which holds between samples too, because the device keeps its force from one to the next. The
    simulation is passive as long as E_obs ≥ −E(0): it never gives back more than it got.

    Attributes:
        observed: E_obs now [J].
        least: Its lowest value so far [J], at most zero.
        generated: Σ min(0, F_n·Δx_h + T_n·Δθ_h − ΔE_stored) [J].
        count: Samples.
    """

    def __init__(self) -> None:
        """An empty ledger."""
        self.observed = 0.0
        self.least = 0.0
        self.generated = 0.0
        self.count = 0
        self._last: list[Array] | None = None  # of `_book`
        self._initial = 0.0

    def add(
        self,
        position: ArrayLike,
        force: ArrayLike,
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        torque: ArrayLike = (0.0, 0.0, 0.0),
        stored: float = 0.0,
    ) -> float:
        """Book one sample; E_obs after it [J].

        Args:
            position: Of the hand, x_h [m].
            force: Of the hand on the tool, F [N].
            orientation: Of the hand, q_h.
            torque: Of the hand on the tool, T [N m].
            stored: Energy held by tool, coupling and contacts [J].
        """
        now = [np.asarray(v, float) for v in (position, force, orientation, torque, stored)]
        if self._last is None:
            self._initial = float(stored)
        else:
            self._book([np.stack(pair) for pair in zip(self._last, now, strict=True)])
        self._last = now
        self.count += 1
        return self.observed

    def passive(self, tolerance: float = 0.0) -> bool:
        """Whether E_obs never fell below −E(0), the energy stored at the first sample."""
        return self.least >= -self._initial - tolerance

    @classmethod
    def of(cls, trace: Trace, at: Literal["hand", "device"] = "hand") -> EnergyLedger:
        """The ledger of a whole trace.

        Args:
            trace: Of several tools, the first.
            at: "hand" books the coupling's force on the tool along the hand's way: what the
                computation does. "device" books the force sent, with its sign turned, along the
                device's own way: what the user's arm meets, after all limits.
        """
        if at not in ("hand", "device"):
            raise SceneError(f"energy at {at!r}: choose one of: hand, device")
        ledger = cls()
        if not len(trace):
            return ledger
        for part in trace.blocks():
            columns = [np.asarray(part[name]) for name in LEDGER_COLUMNS[at]]
            if at == "device":
                columns[1], columns[3] = -columns[1], -columns[3]
            if ledger._last is None:
                ledger._initial = float(columns[-1][0])
                ledger._book(columns)
            else:
                pairs = zip(ledger._last, columns, strict=True)
                ledger._book([np.concatenate((last[None], column)) for last, column in pairs])
            ledger._last = [column[-1] for column in columns]
        ledger.count = len(trace)
        return ledger

    def _book(self, samples: list[Array]) -> None:
        """Book a stretch of samples; its first row is the last sample booked before."""
        x, f, q, tau, stored = samples
        moved, turned = np.diff(x, axis=0), rotation_between(q[:-1], q[1:])
        held = _dot(f[:-1], moved) + _dot(tau[:-1], turned)
        # A running sum: samples fed one by one give the same bits.
        observed = np.cumsum(np.concatenate(([self.observed], held)))
        self.observed = float(observed[-1])
        self.least = min(self.least, float(observed.min()))
        made = _dot(f[1:], moved) + _dot(tau[1:], turned) - np.diff(stored)
        self.generated += float(np.minimum(made, 0.0).sum())


# ------------------------------------------------------------------------------------- helpers


def rotation_between(a: Array, b: Array) -> Array:
    """Log(b a*): rotation vectors that turn a into b, the short way, shape (…, 3) [rad]."""
    q = quat_product(b, quat_conjugate(a))
    q = np.where(q[..., :1] < 0.0, -q, q)
    size = _size(q[..., 1:])
    angle = 2.0 * np.arctan2(size, q[..., 0])
    # sin(φ/2) → φ/2: near zero the vector part is half the rotation vector
    factor = np.where(size > 1e-12, angle / np.maximum(size, 1e-12), 2.0)
    return np.asarray(q[..., 1:] * factor[..., None])


def _turned(q: Array, v: Array) -> Array:
    """Vectors turned by unit quaternions: v + 2 w (u × v) + 2 u × (u × v)."""
    w, u = q[..., :1], q[..., 1:]
    side = np.cross(u, v)
    return np.asarray(v + 2.0 * (w * side + np.cross(u, side)))


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.sum(a * b, axis=-1))


def _size(v: Array) -> Array:
    return np.asarray(np.sqrt(np.sum(v * v, axis=-1)))


def _rows(values: ArrayLike, what: str) -> Array:
    rows = np.asarray(values, float)
    if rows.ndim not in (1, 2):
        raise SceneError(f"{what}: expected one row per sample, got shape {rows.shape}")
    return rows[:, None] if rows.ndim == 1 else rows
