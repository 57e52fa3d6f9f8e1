"""A session at a glance, in numbers and in a few lines of text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.maths.vec import Array
from tangere.trace import metrics
from tangere.trace.columns import in_words

if TYPE_CHECKING:
    from tangere.trace.trace import Trace


@dataclass(frozen=True)
class ToolSummary:
    """One tool over a whole session."""

    name: str
    peak_force: float  # sent to the device [N]
    mean_force: float
    peak_torque: float  # [N m]
    peak_deviation: float  # hand to grip [m]
    mean_deviation: float
    peak_angle: float  # [rad]
    peak_penetration: float  # [m]
    energy: float  # given by the hand until the end [J]
    least_energy: float  # lowest value on the way [J]
    least_net: float  # lowest share that the net left of the force


@dataclass(frozen=True)
class ServoSummary:
    """How the servo kept its time."""

    late_share: float  # of ticks later than 100 µs
    worst_late: float  # [s]
    tick_time: float  # median [s]
    missed: int

    def __str__(self) -> str:
        """One line of text."""
        return (
            f"{100 * self.late_share:.2f} % of ticks later than {1e6 * metrics.LATE:.0f} µs, "
            f"worst {1e6 * self.worst_late:.0f} µs; {self.missed} missed; "
            f"tick {1e6 * self.tick_time:.1f} µs"
        )


@dataclass(frozen=True)
class Summary:
    """A session at a glance; `print` shows it as text."""

    duration: float  # [s]
    ticks: int
    rate: float  # wanted [Hz]
    servo: ServoSummary | None  # None on the virtual clock, where no tick can be late
    tools: tuple[ToolSummary, ...]
    faults: tuple[str, ...]
    end: str

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        """A few lines of text."""
        lines = [
            f"session     {self.duration:.3f} s, {self.ticks} ticks at {self.rate:g} Hz",
            f"servo       {self.servo or 'virtual clock'}",
        ]
        for tool in self.tools:
            lines += [
                f"{tool.name:<11} force peak {tool.peak_force:.3f} N, mean {tool.mean_force:.3f} "
                f"N; torque peak {tool.peak_torque:.4f} N m",
                f"            deviation peak {1e3 * tool.peak_deviation:.2f} mm, mean "
                f"{1e3 * tool.mean_deviation:.2f} mm, {tool.peak_angle:.3f} rad; "
                f"penetration peak {1e3 * tool.peak_penetration:.3f} mm",
                f"            energy from the hand {tool.energy:.4g} J, lowest "
                f"{tool.least_energy:.4g} J; the net left {100 * tool.least_net:.0f} % at least",
            ]
        lines += [f"faults      {self.faults[0] if self.faults else 'none'}"]
        lines += [f"            {fault}" for fault in self.faults[1:]]
        return "\n".join([*lines, f"end         {self.end}"] if self.end else lines)


def summary_of(trace: Trace) -> Summary:
    """What happened in a trace; it is read a part at a time."""
    return Summary(
        duration=trace.duration,
        ticks=len(trace),
        rate=trace.rate,
        servo=None if trace.virtual else _servo_summary(trace),
        tools=tuple(_tool_summary(trace.of(tool)) for tool in trace.tools),
        faults=tuple(in_words(trace.faults)),
        end=str(trace.meta.get("end", "")),
    )


def _servo_summary(trace: Trace) -> ServoSummary:
    worst, missed = 0.0, 0
    for part in trace.blocks():
        worst = max(worst, _peak(part["servo.late"]))
        missed += int(part["servo.missed"].sum())
    return ServoSummary(
        late_share=metrics.late_share(trace),
        worst_late=worst,
        tick_time=float(np.median(trace["servo.duration"])) if len(trace) else 0.0,
        missed=missed,
    )


def _tool_summary(one: Trace) -> ToolSummary:
    peaks = np.zeros(5)
    force_sum = apart_sum = least = 0.0
    least_net = 1.0
    for part in one.blocks():
        force = np.linalg.norm(part["device.force"], axis=1)
        torque = np.linalg.norm(part["device.torque"], axis=1)
        apart, angle = metrics.deviation(part), metrics.angle_deviation(part)
        now = [_peak(values) for values in (force, torque, apart, angle, metrics.penetration(part))]
        peaks = np.maximum(peaks, now)
        force_sum += float(force.sum())
        apart_sum += float(apart.sum())
        least = min(least, float(part["energy.observed"].min(initial=0.0)))
        if "servo.net" in part:  # not in the oldest files
            least_net = min(least_net, float(part["servo.net"].min(initial=1.0)))
    last = one[max(len(one) - 1, 0) :]
    ticks = max(len(one), 1)
    return ToolSummary(
        name=one.tools[0],
        peak_force=float(peaks[0]),
        mean_force=force_sum / ticks,
        peak_torque=float(peaks[1]),
        peak_deviation=float(peaks[2]),
        mean_deviation=apart_sum / ticks,
        peak_angle=float(peaks[3]),
        peak_penetration=float(peaks[4]),
        energy=float(last["energy.observed"].sum()),  # of one tick, or of none
        least_energy=least,
        least_net=least_net,
    )


def _peak(values: Array) -> float:
    return float(values.max(initial=0.0))
