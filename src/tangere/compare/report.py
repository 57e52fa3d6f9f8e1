"""A comparison as one self-contained HTML page, with its figures as PNG beside it."""

from __future__ import annotations

import html
import math
import platform
import shlex
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from tangere.compare.comparison import Comparison, Run
from tangere.compare.figures import figures_of
from tangere.compare.measures import MEASURES, TIMES
from tangere.experiments.figures import png, svg
from tangere.experiments.report import STYLE, number, own_ids

# Units in which people read such numbers.
SHOWN = {"m": (1e3, "mm"), "s": (1e6, "µs"), "J": (1e3, "mJ"), "N m": (1e3, "N mm")}

WIDEST = max(len(measure.words) for measure in MEASURES)


class Line(NamedTuple):
    """One line of the table: what, and a number for each method."""

    words: str
    cells: tuple[str, ...]


def lines_of(comparison: Comparison, tool: str) -> Iterator[Line]:
    """The table of one tool; lines on which no method has a number are left out."""
    for measure in MEASURES:
        values = [run.measures[tool][measure.name] for run in comparison.runs]
        if not all(map(math.isnan, values)):
            yield Line(measure.words, _cells(values, measure.unit))


def time_lines_of(comparison: Comparison) -> Iterator[Line]:
    """The table of times."""
    for name, (unit, words) in TIMES.items():
        values = [getattr(run.times, name) for run in comparison.runs]
        yield Line(words, _cells(values, unit))


def _cells(values: Sequence[float], unit: str) -> tuple[str, ...]:
    if unit == "1":
        return tuple(number(100.0 * value, "%") for value in values)
    factor, shown = SHOWN.get(unit, (1.0, unit))
    return tuple(number(factor * value, shown) for value in values)


def show(comparison: Comparison) -> None:
    """Print a table for each tool and one of times, methods side by side; then what was refused."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    tables = [(tool, lines_of(comparison, tool)) for tool in comparison.then.tools]
    for title, lines in (*tables, ("time", time_lines_of(comparison))):
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column(escape(title), no_wrap=True, min_width=WIDEST)
        for run in comparison.runs:
            table.add_column(escape(run.label), justify="right", overflow="fold", min_width=12)
        for line in lines:
            table.add_row(escape(line.words), *map(escape, line.cells))
        console.print(table)
    for label, why in comparison.refused.items():
        console.print(f"[red]{escape(label)} refused[/red]: {escape(why)}", soft_wrap=True)


def write(comparison: Comparison, folder: Path) -> Path:
    """Write `index.html` and each figure as PNG into a folder; the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = figures_of(comparison)
    for stem, figure in drawn:
        (folder / f"{stem}.png").write_bytes(png(figure))
    shown = "".join(
        f"<figure>{own_ids(svg(figure), f'{stem}-')}"
        f"<figcaption>{html.escape(str(figure.get_label()))}</figcaption></figure>"
        for stem, figure in drawn
    )
    path = folder / "index.html"
    path.write_text(_page(comparison, shown), encoding="utf-8")
    return path


def _page(comparison: Comparison, figures: str) -> str:
    from importlib.metadata import version

    then, name = comparison.then, html.escape(Path(comparison.source).name or "a trace")
    tables = ""
    for tool in then.tools:
        title = f"What {tool} felt" if len(then.tools) > 1 else "What the hand felt"
        tables += f"<h3>{html.escape(title)}</h3>{_table(comparison, lines_of(comparison, tool))}"
    tables += f"<h3>Time</h3>{_table(comparison, time_lines_of(comparison))}"
    refused = "".join(
        f'<p class="bad">{html.escape(label)}: {html.escape(why)}</p>'
        for label, why in comparison.refused.items()
    )
    refused = f"<h3>Refused</h3>{refused}" if refused else ""
    methods = "".join(_method(run) for run in comparison.runs)
    labels = [run.label for run in comparison.runs] + list(comparison.refused)
    again = f"tangere compare {shlex.quote(comparison.source or 'TRACE')} --methods " + shlex.quote(
        ",".join(label.replace(" ", ":") for label in labels)
    )
    told = f"{then.duration:.2f} s at {then.rate:g} Hz"
    if comparison.recorded:
        told += f", recorded with the method {comparison.recorded}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>tangere: {name} by several methods</title><style>{STYLE}"
        "</style></head><body><main>"
        f'<h1>One hand, several methods</h1><p class="soft">{name}: {html.escape(told)}. The hand '
        "moves as it was recorded, whatever it is sent; scene, rates, limits and coupling are "
        f"those of the recording.</p><section>{tables}{refused}</section>"
        f"<section><h3>Over time</h3>{figures}</section>"
        f"<section><h3>Methods</h3>{methods}</section>"
        f"<footer>tangere {version('tangere')}, Python {platform.python_version()}, "
        f"{html.escape(platform.system())} {html.escape(platform.machine())}, "
        f"{date.today().isoformat()}. All of it again: <code>{html.escape(again)}</code></footer>"
        "</main></body></html>\n"
    )


def _table(comparison: Comparison, lines: Iterator[Line]) -> str:
    head = "".join(f"<th>{html.escape(run.label)}</th>" for run in comparison.runs)
    rows = "".join(
        f"<tr><td>{html.escape(line.words)}</td>"
        + "".join(f'<td class="number">{html.escape(cell)}</td>' for cell in line.cells)
        + "</tr>"
        for line in lines
    )
    return (
        f'<div class="wide"><table><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _method(run: Run) -> str:
    """What a method does, what it tells the servo, and what went wrong."""
    faults = "; ".join(run.trace.meta["faults"])
    return (
        f"<p><b>{html.escape(run.label)}</b> {html.escape(run.words)} "
        f'<span class="soft">The servo is told: {html.escape(run.told)}. '
        f"{html.escape(f'Faults: {faults}.' if faults else 'No faults.')}</span></p>"
    )
