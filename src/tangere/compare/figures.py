"""A comparison drawn: wrenches side by side, what was felt on top of each other, times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tangere.compare.measures import formations
from tangere.experiments.figures import COLOURS, FAINT, INK
from tangere.plot_style import canvas, house_style
from tangere.trace import metrics
from tangere.trace.figure import thinned
from tangere.trace.formation_graph import draw, graph_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tangere.compare.comparison import Comparison, Run
    from tangere.maths.vec import Array
    from tangere.trace.trace import Trace

# Of the methods that have no colour of their own, and of formations.
OTHERS = ("#3f8f5a", "#b8a15b", "#8f7fb5", "#c9727a", "#6aa6a6", "#5c6f84")
LOUD, CONTACTS = "above 50 Hz [N]", "contacts"
AXES = (("x", "#a33b3b"), ("y", "#3f8f5a"), ("z", "#2f6f9f"))


def figures_of(comparison: Comparison) -> list[tuple[str, Figure]]:
    """Every figure with the stem of its file; one of each kind per tool, by its number."""
    drawn: list[tuple[str, Figure]] = []
    tools = comparison.then.tools
    for number, tool in enumerate(tools, start=1):
        tail = f"-{number}" if len(tools) > 1 else ""
        drawn.append((f"wrenches{tail}", _wrenches(comparison, tool)))
        drawn.append((f"felt{tail}", _felt(comparison, tool)))
        if any(tool in run.formations for run in comparison.runs):
            drawn.append((f"formations{tail}", _formations(comparison, tool)))
            drawn += [
                (f"formation-graph-{at}{tail}", draw(graph, f"{tool}, method {run.label}"))
                for at, run in enumerate(comparison.runs, start=1)
                if tool in run.formations and (graph := graph_of(run.trace.of(tool))) is not None
            ]
    return [*drawn, ("times", _times(comparison))]


def colours_of(runs: Sequence[Run]) -> list[str]:
    """A colour for each run: the method's own where it is there once."""
    spare = iter(OTHERS * len(runs))
    found: list[str] = []
    for run in runs:
        own = COLOURS.get(run.label.split(" ")[0])
        found.append(own if own is not None and own not in found else next(spare))
    return found


@house_style
def _wrenches(comparison: Comparison, tool: str) -> Figure:
    runs = comparison.runs
    figure, panels = canvas(
        f"Force and torque of all contacts on the {_whose(comparison, tool)}, at its centre of "
        "mass, world axes; one column per method, the same scale for all.",
        columns=len(runs),
        rows=2,
        size=(max(7.2, 2.9 * len(runs)), 4.4),
    )
    rows = (("tool.force", 1.0, "force [N]"), ("tool.torque", 1e3, "torque [N mm]"))
    for row, (column, factor, label) in enumerate(rows):
        low = high = 0.0
        for at, run in enumerate(runs):
            axes, one = panels[row * len(runs) + at], run.trace.of(tool)
            for k, (name, colour) in enumerate(AXES):
                time, shown = thinned(one, partial(_component, column, k, factor))
                low, high = min(low, float(shown.min())), max(high, float(shown.max()))
                axes.plot(time, shown, color=colour, lw=0.9, label=name)
            if row == 0:
                axes.set_title(run.label)
            else:
                axes.set_xlabel("time [s]")
            axes.margins(x=0.0)
            axes.tick_params(labelleft=at == 0)
        room = 0.05 * (high - low) or 1.0
        for axes in panels[row * len(runs) : (row + 1) * len(runs)]:
            axes.set_ylim(low - room, high + room)
        panels[row * len(runs)].set_ylabel(label)
    panels[0].legend(ncols=3, loc="upper left", borderpad=0.0)
    return figure


@house_style
def _felt(comparison: Comparison, tool: str) -> Figure:
    figure, panels = canvas(
        f"What the hand on the {_whose(comparison, tool)} would have felt. From the top: force and "
        "torque sent to it; what of the force is above 50 Hz; overlap; energy given by the hand so "
        "far, which passive contact never lets fall below zero; number of contacts.",
        rows=6,
        size=(7.6, 10.5),
    )

    rows: list[tuple[str, Callable[[Trace], Array]]] = [
        ("force [N]", lambda part: _size(part["device.force"])),
        ("torque [N mm]", lambda part: 1e3 * _size(part["device.torque"])),
        (LOUD, lambda part: _size(part["device.force"])),
        ("overlap [mm]", lambda part: 1e3 * metrics.penetration(part)),
        ("energy [mJ]", lambda part: 1e3 * np.asarray(part["energy.observed"])),
        (CONTACTS, lambda part: np.asarray(part["contact.count"], float)),
    ]
    for axes, (label, values) in zip(panels, rows, strict=True):
        for run, colour in zip(comparison.runs, colours_of(comparison.runs), strict=True):
            one = run.trace.of(tool)
            if label == CONTACTS and np.isnan(run.measures[tool]["contact.changes"]):
                continue  # the method does not count them
            line = thinned(one, _loud(one) if label == LOUD else values)
            axes.plot(*line, color=colour, lw=1.0, label=run.label)
        axes.set_ylabel(label)
        axes.margins(x=0.0)
    panels[4].axhline(0.0, color=INK, lw=0.6)
    panels[0].legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(comparison.runs), borderpad=0.0
    )
    panels[-1].set_xlabel("time [s]")
    return figure


@house_style
def _formations(comparison: Comparison, tool: str) -> Figure:
    runs = [run for run in comparison.runs if tool in run.formations]
    names = list(dict.fromkeys(name for run in runs for _, name in run.formations[tool]))
    figure, panels = canvas(
        f"Contact formations of the {_whose(comparison, tool)}, of the methods that name them.",
        rows=len(runs),
        size=(8.6, len(runs) * (0.8 + 0.24 * len(names))),
    )
    for axes, run in zip(panels, runs, strict=True):
        one = run.trace.of(tool)
        changes = formations(one)
        ends = [*(time for time, _ in changes[1:]), float(one.time[-1])]
        for (start, name), end in zip(changes, ends, strict=True):
            k = names.index(name)
            bar = (start, max(end - start, 1.0 / one.rate))
            axes.broken_barh([bar], (k - 0.35, 0.7), color=OTHERS[k % len(OTHERS)])
        axes.set_yticks(range(len(names)), names, fontsize=7.5)
        axes.set_title(run.label)
        axes.margins(x=0.0)
    panels[-1].set_xlabel("time [s]")
    return figure


@house_style
def _times(comparison: Comparison) -> Figure:
    """Share of updates that took longer than t."""
    figure, (axes,) = canvas(
        "Share of contact updates that took longer than the time below. Dotted: the contact "
        "period, within which a session in real time has to be done.",
        size=(7.2, 3.0),
    )
    for run, colour in zip(comparison.runs, colours_of(comparison.runs), strict=True):
        times = np.sort(run.updates)
        slower = 1.0 - np.arange(len(times)) / len(times)
        axes.step(1e6 * times, slower, color=colour, label=run.label)
    axes.axvline(1e6 * comparison.period, color=FAINT, ls=":")
    axes.set(xscale="log", yscale="log", xlabel="time of an update [µs]", ylabel="share slower")
    axes.legend()
    return figure


def _loud(one: Trace) -> Callable[[Trace], Array]:
    """What of the force is above 50 Hz: filtered as a whole, read in parts."""
    if one.rate <= 2.0 * metrics.RINGING_ABOVE:
        return lambda part: np.zeros(len(part))
    whole = _size(metrics.high_passed(one["device.force"], one.rate))
    return lambda part: whole[np.searchsorted(one.time, part.time)]


def _component(column: str, k: int, factor: float, part: Trace) -> Array:
    return np.asarray(factor * part[column][:, k])


def _size(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=1))


def _whose(comparison: Comparison, tool: str) -> str:
    return "tool" if len(comparison.then.tools) == 1 else tool
