"""Results of a benchmark: tables for people, the same rows as JSON for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from tangere.doctor import processor
from tangere.maths.vec import Array
from tangere.steppers.profile import Profile

Row = dict[str, str | int | float | None]

PERCENTILES = (50.0, 99.0, 99.9)


@dataclass(frozen=True)
class Table:
    """Rows under one title; every row has the same keys, units in brackets."""

    title: str
    rows: list[Row]


@dataclass(frozen=True)
class Result:
    """What one benchmark found, and with which settings."""

    name: str
    settings: dict[str, Any]
    tables: list[Table]
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    profiles: dict[str, Profile] = field(default_factory=dict)
    """Where the time of our steps went, by what was simulated."""

    def to_json(self, stages: bool = False) -> dict[str, Any]:
        """The result as plain lists and dictionaries, with what identifies the machine type.

        Args:
            stages: With the profiles.
        """
        content = asdict(self)
        if not stages:
            del content["profiles"]
        return {**content, "machine": machine()}


def machine() -> dict[str, str | int | None]:
    """Kind of processor, number of cores and versions: enough to compare, nothing personal."""
    import numba

    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
    }


def spread(seconds: Sequence[float] | Array, per: int = 1) -> dict[str, float]:
    """Percentiles and worst of durations, each divided by `per` [µs]."""
    times = np.asarray(seconds, dtype=float) * 1e6 / per
    found = {f"p{p:g} [µs]": float(np.percentile(times, p)) for p in PERCENTILES}
    return {**found, "worst [µs]": float(times.max())}


def line_fit(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Offset a, slope b and R² of y = a + b x by least squares."""
    slope, offset = np.polyfit(np.asarray(x, dtype=float), np.asarray(y, dtype=float), 1)
    rest = np.asarray(y) - (offset + slope * np.asarray(x))
    total = np.asarray(y) - np.mean(y)
    return float(offset), float(slope), float(1.0 - (rest @ rest) / (total @ total))


def show(result: Result, stages: bool = False) -> None:
    """Print the tables of a result, and those of the stages of a step."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as Grid

    console = Console()
    for table in result.tables:
        # nine columns of a heap's times fit into 80 characters without lines between them
        grid = Grid(
            title=escape(table.title),
            title_justify="left",
            title_style="bold",
            box=SIMPLE_HEAD,
            pad_edge=False,
            collapse_padding=True,
        )
        for column, value in table.rows[0].items():
            side: Literal["left", "right"] = "left" if isinstance(value, str) else "right"
            grid.add_column(escape(column), justify=side, overflow="fold")
        for row in table.rows:
            grid.add_row(*(_cell(value) for value in row.values()))
        console.print(grid)
    for what, profile in result.profiles.items() if stages else ():
        console.print(escape(f"stages of a step, {what}"), style="bold", highlight=False)
        console.print(f"{profile}\n", highlight=False, markup=False)
    for note in result.notes:
        console.print(f"- {note}", highlight=False, markup=False)
    console.print(f"{result.name}: {result.seconds:.0f} s", style="dim")


def _cell(value: str | float | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return str(value)
