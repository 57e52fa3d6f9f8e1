"""A trace drawn: what the hand felt, how far the tool was off, energy, and how the servo did."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tangere.maths.vec import Array
from tangere.plot_style import FAINT, INK, canvas, house_style
from tangere.trace import metrics
from tangere.trace.columns import FAULT_WORDS
from tangere.trace.formation_graph import COLUMN, graph_of
from tangere.trace.rows import BLOCK_ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tangere.trace.formation_graph import FormationGraph
    from tangere.trace.trace import Trace

HAND, SCENE, SPRING = "#2f6f9f", "#d9822b", "#7fb285"
ALERT = "#c9727a"
Values = Callable[["Trace"], Array]  # of some ticks, to be drawn over time
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
    graphs = {name: graph for name in trace.tools if (graph := graph_of(trace.of(name)))}
    if graphs:
        labels.append("formation")
    rows = len(labels)
    figure, panels = canvas("A recorded session.", rows=rows, size=(8.0, 2.0 * rows))
    force, torque, apart, energy = panels[:4]
    for style, name in zip(STYLES * len(trace.tools), trace.tools, strict=False):
        one = trace.of(name)
        whose = f"{name}: " if len(trace.tools) > 1 else ""

        def line(
            axes: Axes,
            values: Values,
            label: str,
            colour: str,
            one: Trace = one,
            style: str = style,
            whose: str = whose,
        ) -> None:
            axes.plot(*thinned(one, values), style, color=colour, label=whose + label, lw=1.0)

        for axes, kind in ((force, "force"), (torque, "torque")):
            line(axes, _size(f"device.{kind}"), "sent to the device", HAND)
            line(axes, _size(f"tool.{kind}"), "of contacts on the tool", SCENE)
            line(axes, _size(f"coupling.{kind}"), "of the coupling on the tool", SPRING)
        line(apart, lambda part: 1e3 * metrics.deviation(part), "hand to grip", HAND)
        line(apart, lambda part: 1e3 * metrics.penetration(part), "penetration", SCENE)
        line(energy, _times(1.0, "energy.observed"), "given by the hand", HAND)
        line(energy, _times(1.0, "energy.stored"), "held by tool and springs", SPRING)
        if "energy.budget" in one:  # not in the oldest files
            line(energy, _times(1.0, "energy.budget"), "may be given back", ALERT)
    if not trace.virtual:
        for column, colour, label in (("late", INK, "after deadline"), ("duration", HAND, "tick")):
            times = thinned(trace, _times(1e6, f"servo.{column}"))
            panels[4].plot(*times, color=colour, lw=0.8, label=label)
    if graphs:
        _draw_formations(panels[-1], trace, graphs)
    for axes, label in zip(panels, labels, strict=True):
        axes.set_ylabel(label)
        axes.margins(x=0.0)
    _mark_faults(force, trace)
    for axes in panels[: len(panels) - bool(graphs)]:  # above the panel, where no line can hide
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderpad=0.0)
    panels[-1].set_xlabel("time [s]")
    what = [f"{trace.duration:.2f} s at {trace.rate:g} Hz", str(trace.meta.get("method", ""))]
    figure.suptitle(", ".join(filter(None, what)), color=FAINT, x=0.01, ha="left")
    return figure


def _draw_formations(axes: Axes, trace: Trace, graphs: dict[str, FormationGraph]) -> None:
    """A bar for as long as a formation lasted, a row for each formation of each tool."""
    labels: list[str] = []
    for tool, graph in graphs.items():
        one, told = trace.of(tool), list(trace.meta["formations"])
        rows = {told.index(name): len(labels) + k for k, name in enumerate(graph.names)}
        labels += [f"{tool}: {name}" if len(graphs) > 1 else name for name in graph.names]
        numbers = np.asarray(one[COLUMN], np.int64)
        changes = 1 + np.flatnonzero(np.diff(numbers))
        for first, after in itertools.pairwise([0, *changes.tolist(), len(numbers)]):
            length = max((after - first) / trace.rate, trace.duration / SHOWN_SPANS)
            bar = float(one.time[first]), length
            axes.broken_barh([bar], (rows[int(numbers[first])] - 0.4, 0.8), color=SPRING)
    axes.set_yticks(range(len(labels)), labels, fontsize=6.5)
    axes.grid(False)


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


def _size(column: str) -> Values:
    return lambda part: np.asarray(np.linalg.norm(part[column], axis=1))


def _times(factor: float, column: str) -> Values:
    return lambda part: np.asarray(factor * part[column])


def thinned(trace: Trace, values: Values) -> tuple[Array, Array]:
    """At most SHOWN points that keep every peak: least and greatest of each stretch."""
    stretch = -(-2 * len(trace) // SHOWN) if len(trace) > SHOWN else 1
    shown: list[tuple[Array, Array]] = []
    for part in trace.blocks(max(1, BLOCK_ROWS // stretch) * stretch):
        time, now = part.time, values(part)
        if stretch > 1:
            picked = _extremes(now, stretch)
            time, now = time[picked], now[picked]
        shown.append((time, now))
    times, thin = zip(*shown, strict=True)
    return np.concatenate(times), np.concatenate(thin)


def _extremes(values: Array, stretch: int) -> NDArray[np.int64]:
    """Where the least and the greatest of each stretch stand, in order."""
    whole = len(values) // stretch * stretch
    stretches = values[:whole].reshape(-1, stretch)
    first = np.arange(0, whole, stretch)
    found = [first + stretches.argmin(axis=1), first + stretches.argmax(axis=1)]
    if whole < len(values):  # the last one is shorter
        rest = values[whole:]
        found.append(whole + np.array([rest.argmin(), rest.argmax(), len(rest) - 1]))
    return np.unique(np.concatenate(found))
