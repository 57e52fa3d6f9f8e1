"""The graph of contact formations that a hand went through: which followed which, and how often."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tangere.plot_style import FAINT, INK, canvas, house_style
from tangere.trace.rows import BLOCK_ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tangere.maths.vec import Array
    from tangere.trace.trace import Trace

COLUMN = "contact.formation"
NOW, THEN = "#d9822b", "#b9c7d6"
BEND = 0.12  # of a link, as a share of its length: there and back are two lines


@dataclass(frozen=True)
class FormationGraph:
    """Formations in the order in which they were first seen, and the changes between them.

    Attributes:
        names: Of the formations.
        seconds: That each was kept, in all.
        links: (from, to, how often), by place in `names`.
        now: Place of the newest one.
    """

    names: tuple[str, ...]
    seconds: tuple[float, ...]
    links: tuple[tuple[int, int, int], ...]
    now: int

    def places(self) -> Array:
        """A place on the unit circle for each, clockwise from the top, shape (n, 2)."""
        angle = 2.0 * math.pi * np.arange(len(self.names)) / max(1, len(self.names))
        return np.column_stack((np.sin(angle), np.cos(angle)))


class Visits:
    """Counts the formations of a run, tick by tick."""

    def __init__(self, period: float) -> None:
        """Nothing has been seen; `period` of a tick [s]."""
        self._period = period
        self._ticks: dict[int, int] = {}
        self._links: dict[tuple[int, int], int] = {}
        self._now: int | None = None

    def take(self, number: int, ticks: int = 1) -> None:
        """A formation that stayed for some ticks."""
        self._ticks[number] = self._ticks.get(number, 0) + ticks
        if self._now is not None and number != self._now:
            link = self._now, number
            self._links[link] = self._links.get(link, 0) + 1
        self._now = number

    def graph(self, names: Sequence[str]) -> FormationGraph | None:
        """What was counted, with the names that the numbers count in; None: nothing yet."""
        if self._now is None:
            return None
        place = {number: k for k, number in enumerate(self._ticks)}
        return FormationGraph(
            tuple(names[n] if 0 <= n < len(names) else f"formation {n}" for n in place),
            tuple(self._period * ticks for ticks in self._ticks.values()),
            tuple((place[a], place[b], times) for (a, b), times in self._links.items()),
            place[self._now],
        )


def graph_of(trace: Trace) -> FormationGraph | None:
    """The graph of a trace of one tool; None where it tells no formations."""
    names = trace.meta.get("formations", ())
    if not names or COLUMN not in trace.columns:
        return None
    visits = Visits(1.0 / trace.rate)
    for part in trace.blocks(BLOCK_ROWS):
        numbers = np.asarray(part[COLUMN], np.int64)
        begins = np.concatenate(([0], 1 + np.flatnonzero(np.diff(numbers)), [len(numbers)]))
        for first, after in itertools.pairwise(begins.tolist()):
            visits.take(int(numbers[first]), after - first)
    return visits.graph(names)


@house_style
def draw(graph: FormationGraph, whose: str = "tool") -> Figure:
    """The graph as a figure; names stand beside it, by number."""
    from matplotlib.patches import FancyArrowPatch

    rows = len(graph.names)
    figure, (axes,) = canvas(
        f"Contact formations of the {whose} and how they followed each other; the width of an "
        "arrow tells how often.",
        size=(8.6, max(3.4, 0.24 * rows + 0.8)),
    )
    places = graph.places()
    for a, b, count in graph.links:
        axes.add_patch(
            FancyArrowPatch(
                tuple(places[a]), tuple(places[b]), connectionstyle=f"arc3,rad={BEND}",
                arrowstyle="-|>", mutation_scale=8.0, shrinkA=9.0, shrinkB=9.0, color=FAINT,
                lw=0.7 + 0.6 * math.log2(count),
            )
        )  # fmt: skip
    for k, (x, y) in enumerate(places):
        axes.plot(x, y, "o", ms=15, color=NOW if k == graph.now else THEN)
        axes.text(x, y, str(k + 1), ha="center", va="center", fontsize=8)
    for k, (name, seconds) in enumerate(zip(graph.names, graph.seconds, strict=True)):
        at = 1.0 - 2.0 * (k + 0.5) / max(rows, 10)
        axes.text(1.5, at, f"{k + 1}  {name}, {seconds:.2f} s", fontsize=7.5, va="center")
    axes.set_xlim(-1.2, 5.0)
    axes.set_ylim(-1.25, 1.25)
    axes.set_aspect("equal")
    axes.axis("off")
    return figure


def svg(graph: FormationGraph, width: int = 270, height: int = 170) -> str:
    """The graph as an `<svg>` element with a list of names below, for a page."""
    middle = 0.5 * np.array([width, height])
    places = middle + (middle - 14.0) * graph.places() * np.array([1.0, -1.0])
    spot = min(11.0, 0.8 * height / len(graph.names))  # many of them must not touch each other
    parts = []
    for a, b, count in graph.links:
        way = places[b] - places[a]
        length = float(np.linalg.norm(way)) or 1.0
        bent = 0.5 * (places[a] + places[b]) + BEND * np.array([-way[1], way[0]])
        start, end = places[a] + spot * way / length, places[b] - (spot + 2.0) * way / length
        parts.append(
            f'<path d="M{start[0]:.1f} {start[1]:.1f} Q{bent[0]:.1f} {bent[1]:.1f} '
            f'{end[0]:.1f} {end[1]:.1f}" fill="none" stroke="{FAINT}" '
            f'stroke-width="{0.8 + 0.6 * math.log2(count):.1f}" marker-end="url(#formation-tip)"/>'
        )
    for k, (x, y) in enumerate(places):
        colour = NOW if k == graph.now else THEN
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{spot:g}" fill="{colour}"/>'
            f'<text x="{x:.1f}" y="{y + 0.33 * spot:.1f}" text-anchor="middle" '
            f'font-size="{0.95 * spot:.1f}" '
            f'fill="{INK}">{k + 1}</text>'
        )
    tip = (
        '<defs><marker id="formation-tip" markerWidth="6" markerHeight="6" refX="3" refY="3" '
        f'orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0L6 3L0 6z" fill="{FAINT}"/>'
        "</marker></defs>"
    )
    names = "".join(
        f"<li{' style=font-weight:bold' if k == graph.now else ''}>{html.escape(name)}, "
        f"{seconds:.1f} s</li>"
        for k, (name, seconds) in enumerate(zip(graph.names, graph.seconds, strict=True))
    )
    drawing = "".join(parts)
    return (
        f'<svg viewBox="0 0 {width} {height}" width="100%" role="img" '
        f'aria-label="contact formations and their changes">{tip}{drawing}</svg>'
        f'<ol style="padding-left:1.6em">{names}</ol>'
    )
