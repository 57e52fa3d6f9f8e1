"""A trace drawn: what the hand felt, how far the tool was off, energy, and how the servo did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere.look import FAINT, INK, canvas, house_style
from tangere.maths.vec import Array
from tangere.trace import metrics
from tangere.trace.columns import FAULT_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tangere.trace.trace import Trace

HAND, SCENE, SPRING = "#2f6f9f", "#d9822b", "#7fb285"
ALERT = "#c9727a"
STYLES = ("-", "--", ":", "-.")  # of the first, second … tool
SHADES = (ALERT, "#8f7fb5", "#b8a15b", "#6aa6a6")  # of bars that mark faults
SHOWN_SPANS = 400  # such bars over the whole width
SHOWN = 4_000  # points per line: more than a page has dots


@house_style
def draw(trace: Trace) -> Figure:
    """Five panels over time; each tool has its kind of line."""
    figure, panels = canvas("A recorded session.", rows=5, size=(8.0, 10.0))
    force, torque, apart, energy, late = panels
    for style, name in zip(STYLES * len(trace.tools), trace.tools, strict=False):
        one = trace.of(name)
        whose = f"{name}: " if len(trace.tools) > 1 else ""

        def line(
            axes: Axes,
            values: Array,
            label: str,
            colour: str,
            one: Trace = one,
            style: str = style,
            whose: str = whose,
        ) -> None:
            axes.plot(*_thinned(one.time, values), style, color=colour, label=whose + label)

        for axes, kind in ((force, "force"), (torque, "torque")):
            line(axes, _size(one[f"device.{kind}"]), "sent to the device", HAND)
            line(axes, _size(one[f"tool.{kind}"]), "of contacts on the tool", SCENE)
            line(axes, _size(one[f"coupling.{kind}"]), "of the coupling on the tool", SPRING)
        line(apart, 1e3 * metrics.deviation(one), "hand to grip", HAND)
        line(apart, 1e3 * metrics.penetration(one), "penetration", SCENE)
        line(energy, one["energy.observed"], "given by the hand", HAND)
        line(energy, one["energy.stored"], "held by tool and springs", SPRING)
        line(energy, one["energy.spent"], "taken out for passivity", ALERT)
    late.plot(*_thinned(trace.time, 1e6 * trace["servo.late"]), color=INK, label="after deadline")
    late.plot(*_thinned(trace.time, 1e6 * trace["servo.duration"]), color=HAND, label="tick")
    for axes, label in zip(
        panels, ("force [N]", "torque [N m]", "[mm]", "energy [J]", "servo [µs]"), strict=True
    ):
        axes.set_ylabel(label)
        axes.legend(loc="upper right", ncols=3)
        axes.margins(x=0.0)
    _mark_faults(force, trace)
    late.set_xlabel("time [s]")
    return figure


def _mark_faults(axes: Axes, trace: Trace) -> None:
    """A bar under the forces, for as long as something was wrong or limited, named once."""
    tick, narrow = 1.0 / trace.rate, trace.duration / SHOWN_SPANS
    for colour, bit in zip(SHADES * len(FAULT_WORDS), FAULT_WORDS, strict=False):
        spans: list[list[float]] = []  # start and end; what stands close together is one
        for fault in (fault for fault in trace.faults if fault.bit == bit):
            if spans and fault.time - spans[-1][1] < narrow:
                spans[-1][1] = fault.until + tick
            else:
                spans.append([fault.time, fault.until + tick])
        if spans:
            axes.broken_barh(
                [(start, max(end - start, narrow)) for start, end in spans],
                (0.0, 0.04),
                transform=axes.get_xaxis_transform(),
                color=colour,
                label=FAULT_WORDS[bit],
            )
    if trace.faults:
        axes.legend(loc="upper right", ncols=2)
    axes.set_title(
        f"{trace.duration:.2f} s at {trace.rate:g} Hz, {trace.meta.get('method', '')}".rstrip(", "),
        loc="left",
        color=FAINT,
    )


def _size(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=1))


def _thinned(time: Array, values: Array) -> tuple[Array, Array]:
    """At most SHOWN points that keep every peak: least and greatest of each stretch."""
    n = len(values)
    if n <= SHOWN:
        return time, values
    stretch = -(-2 * n // SHOWN)
    whole = n // stretch * stretch
    blocks = values[:whole].reshape(-1, stretch)
    first = np.arange(0, whole, stretch)
    picked = np.sort(
        np.concatenate([first + blocks.argmin(axis=1), first + blocks.argmax(axis=1), [n - 1]])
    )
    return time[picked], values[picked]
