"""The look of every figure: calm axes, one set of colours."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")

INK = "#2b2f36"
FAINT = "#8a9099"
GRID = "#e6e4df"
SETTINGS: dict[str, Any] = {
    "font.size": 9.5,
    "font.family": "sans-serif",
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "tangere",  # the same result gives the same file
}


def house_style(draw: Callable[P, R]) -> Callable[P, R]:
    """The same function, drawing in the house style."""

    @functools.wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> R:
        with look():
            return draw(*args, **kwargs)

    return styled


def canvas(
    caption: str, columns: int = 1, rows: int = 1, size: tuple[float, float] = (7.2, 3.2)
) -> tuple[Figure, list[Axes]]:
    """An empty figure in the house style, its caption as label, and its axes in reading order."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    figure.set_label(caption)
    return figure, list(axes.flat)


def look() -> AbstractContextManager[None]:
    """The house style while inside; matplotlib's own settings stay as they were."""
    import matplotlib as mpl

    settings: Any = SETTINGS
    return mpl.rc_context(settings)
