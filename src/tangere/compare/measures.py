"""What is compared: one number per method and measure, for each tool.

All but the times come out of the trace, and so are the same at every run. Force and torque are
those sent to the hand, after all limits. The hand moves as it was recorded, whatever it is sent:
its way is the same by every method, and so energies and forces can be put side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.trace import metrics
from tangere.trace.metrics import EnergyLedger

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tangere.maths.vec import Array
    from tangere.trace.trace import Trace

FORMATION = "contact.formation"  # the column, where a method tells it


class Measure(NamedTuple):
    """A number, its unit, what it is, and how it comes out of the trace of one tool."""

    name: str
    unit: str
    words: str
    of: Callable[[Trace], float]


def formations(trace: Trace) -> list[tuple[float, str]]:
    """When each contact formation began [s], and its name; empty where the trace tells none.

    The column `contact.formation` counts in the names of `Trace.meta["formations"]`.
    """
    names = list(trace.meta.get("formations", ()))
    if not names or FORMATION not in trace or not len(trace):
        return []
    number = np.rint(trace[FORMATION]).astype(int)
    starts = np.concatenate(([0], np.flatnonzero(np.diff(number)) + 1))
    return [
        (float(trace.time[k]), names[n] if 0 <= n < len(names) else f"formation {n}")
        for k, n in zip(starts.tolist(), number[starts].tolist(), strict=True)
    ]


def _largest(column: str) -> Callable[[Trace], float]:
    return lambda trace: _top(np.linalg.norm(trace[column], axis=1))


def _mean(column: str) -> Callable[[Trace], float]:
    return lambda trace: float(np.mean(np.linalg.norm(trace[column], axis=1)))


def _jump(column: str) -> Callable[[Trace], float]:
    return lambda trace: _top(np.linalg.norm(np.diff(trace[column], axis=0), axis=1))


def _ringing(trace: Trace) -> float:
    if trace.rate <= 2.0 * metrics.RINGING_ABOVE:
        return float("nan")
    return metrics.ringing(trace, "device.force", last=None)


def _given(sign: float) -> Callable[[Trace], float]:
    """Energy that went one way, from or to the hand: Σ max(0, ± ΔE)."""
    return lambda trace: float(np.maximum(sign * np.diff(trace["energy.observed"]), 0.0).sum())


def touching(trace: Trace) -> NDArray[np.bool_]:
    """In which ticks the tool is in contact: it is pressed, by planes or otherwise."""
    pressed = np.any(trace["tool.force"] != 0.0, axis=1)
    return np.asarray(pressed | (trace["contact.count"] > 0))


def counted(trace: Trace) -> Array:
    """How many contacts press in each tick; NaN of a method that does not count them."""
    count = trace["contact.count"].astype(float)
    return count if count.any() or not touching(trace).any() else np.full(len(count), np.nan)


def _most(trace: Trace) -> float:
    return float(np.max(counted(trace), initial=0.0))


def _changes(trace: Trace) -> float:
    count = counted(trace)
    return float(np.count_nonzero(np.diff(count))) if np.isfinite(count).all() else float("nan")


def _begun(trace: Trace) -> float:
    now = np.concatenate(([False], touching(trace)))
    return float(np.count_nonzero(now[1:] & ~now[:-1]))


def _formation_changes(trace: Trace) -> float:
    found = formations(trace)
    return float(len(found) - 1) if found else float("nan")


def _top(values: Array) -> float:
    return float(values.max(initial=0.0))


MEASURES = (
    Measure("force.peak", "N", "force on the hand, peak", _largest("device.force")),
    Measure("force.mean", "N", "force, mean", _mean("device.force")),
    Measure("torque.peak", "N m", "torque on the hand, peak", _largest("device.torque")),
    Measure("force.jump", "N", "greatest jump of the force", _jump("device.force")),
    Measure("torque.jump", "N m", "greatest jump of the torque", _jump("device.torque")),
    Measure("force.ringing", "N", "force above 50 Hz, rms", _ringing),
    Measure("depth.peak", "m", "deepest overlap", lambda t: _top(metrics.penetration(t))),
    Measure("energy.given", "J", "energy given by the hand", _given(1.0)),
    Measure("energy.taken", "J", "energy given back to it", _given(-1.0)),
    Measure(
        "energy.least", "J", "lowest balance of the two",
        lambda t: EnergyLedger.of(t).least,
    ),
    Measure("energy.generated", "J", "energy from nowhere", metrics.generated_energy),
    Measure(
        "energy.net", "1", "least share left by the net",
        lambda t: float(t["servo.net"].min(initial=1.0)),
    ),
    Measure(
        "contact.share", "1", "share of time in contact",
        lambda t: float(np.mean(touching(t))),
    ),
    Measure("contact.begun", "", "times that contact began", _begun),
    Measure("contact.most", "", "most contacts at once", _most),
    Measure("contact.changes", "", "changes of their number", _changes),
    Measure("formation.changes", "", "changes of formation", _formation_changes),
)  # fmt: skip


class Times(NamedTuple):
    """What a contact update takes [s]: find all contacts, move the scene."""

    p50: float
    p99: float
    worst: float
    over: float
    """Share of updates that took longer than the contact period."""
    tick: float
    """Median of a tick of the servo, in which some methods solve their contacts again."""


def measured(trace: Trace) -> dict[str, float]:
    """Every measure of one tool, by name."""
    return {measure.name: measure.of(trace) for measure in MEASURES}


def times_of(updates: Array, turns: Array, period: float, ticks: int) -> Times:
    """Times of a run.

    Args:
        updates: Of each contact update [s].
        turns: The same with the ticks of its period [s].
        period: Of the contact loop [s].
        ticks: Of the servo in a period.
    """
    p50, p99, worst = np.percentile(updates, (50.0, 99.0, 100.0)).tolist()
    over = float(np.mean(updates > period))
    return Times(p50, p99, worst, over, float(np.median(turns - updates)) / ticks)


TIMES: Mapping[str, tuple[str, str]] = {
    "p50": ("s", "contact update, median"),
    "p99": ("s", "contact update, p99"),
    "worst": ("s", "contact update, worst"),
    "over": ("1", "updates over the period"),
    "tick": ("s", "tick of the servo, median"),
}
"""Unit and words of each."""
