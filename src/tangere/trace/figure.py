"""A trace drawn: what the hand felt, how far the tool was off, energy, and how the servo did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere.maths.vec import Array
from tangere.plot_style import FAINT, INK, canvas, house_style
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
    """Five panels over time, four on the virtual clock; each tool has its kind of line."""
    labels = ["force [N]", "torque [N m]", "distance [mm]", "energy [J]", "servo [µs]"]
    if trace.virtual:
        labels.pop()
    rows = len(labels)
    figure, panels = canvas("A recorded session.", rows=rows, size=(8.0, 2.0 * rows))
    force, torque, apart, energy = panels[:4]
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
            axes.plot(*_thinned(one.time, values), style, color=colour, label=whose + label, lw=1.0)

        for axes, kind in ((force, "force"), (torque, "torque")):
            line(axes, _size(one[f"device.{kind}"]), "sent to the device", HAND)
            line(axes, _size(one[f"tool.{kind}"]), "of contacts on the tool", SCENE)
            line(axes, _size(one[f"coupling.{kind}"]), "of the coupling on the tool", SPRING)
        line(apart, 1e3 * metrics.deviation(one), "hand to grip", HAND)
        line(apart, 1e3 * metrics.penetration(one), "penetration", SCENE)
        line(energy, one["energy.observed"], "given by the hand", HAND)
        line(energy, one["energy.stored"], "held by tool and springs", SPRING)
        if "energy.budget" in one:  # not in the oldest files
            line(energy, one["energy.budget"], "may be given back", ALERT)
    if not trace.virtual:
        for column, colour, label in (("late", INK, "after deadline"), ("duration", HAND, "tick")):
            times = _thinned(trace.time, 1e6 * trace[f"servo.{column}"])
            panels[4].plot(*times, color=colour, lw=0.8, label=label)
    for axes, label in zip(panels, labels, strict=True):
        axes.set_ylabel(label)
        axes.margins(x=0.0)
    _mark_faults(force, trace)
    for axes in panels:  # above the panel, where no line can hide
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderpad=0.0)
    panels[-1].set_xlabel("time [s]")
    what = [f"{trace.duration:.2f} s at {trace.rate:g} Hz", str(trace.meta.get("method", ""))]
    figure.suptitle(", ".join(filter(None, what)), color=FAINT, x=0.01, ha="left")
    return figure


def _mark_faults(axes: Axes, trace: Trace) -> None:
    """A bar under the forces, for as long as something was wrong or limited, named once."""
    tick, narrow = 1.0 / trace.rate, trace.duration / SHOWN_SPANS
    kinds = sorted({fault.bit for fault in trace.faults})
    for colour, bit in zip(SHADES * len(kinds), kinds, strict=False):
        spans: list[list[float]] = []  # start and end; what stands close together is one
        for fault in (fault for fault in trace.faults if fault.bit == bit):
            if spans and fault.time - spans[-1][1] < narrow:
                spans[-1][1] = fault.until + tick
            else:
                spans.append([fault.time, fault.until + tick])
        axes.broken_barh(
            [(start, max(end - start, narrow)) for start, end in spans],
            (0.0, 0.04),
            transform=axes.get_xaxis_transform(),
            color=colour,
            label=FAULT_WORDS[bit],
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
