"""Figures of the experiments: one colour per method, as SVG and PNG, in the house style."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangere.plot_style import FAINT, GRID, INK, canvas, house_style, look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "FAINT", "GRID", "INK", "canvas", "house_style", "png", "svg"]

COLOURS = {
    "volume": "#2f6f9f",
    "point": "#d9822b",
    "signorini": "#a3327f",
    "exact": INK,
    "vertex rule": "#7fb285",
    "MuJoCo": "#8f7fb5",
    "Bullet": "#c9727a",
    "Drake": "#6aa6a6",
    "ODE": "#b8a15b",
}


def svg(figure: Figure) -> str:
    """The figure as an `<svg>` element, ready to stand inside a page."""
    import io

    text = io.StringIO()
    with look():
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    whole = text.getvalue()
    return whole[whole.index("<svg") :]


def png(figure: Figure, dots_per_inch: int = 144) -> bytes:
    """The figure as a PNG file."""
    import io

    data = io.BytesIO()
    with look():
        figure.savefig(data, format="png", dpi=dots_per_inch, facecolor="white")
    return data.getvalue()
