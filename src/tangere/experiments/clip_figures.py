"""Figures and pictures of the clip on its pipe: the closed form beside what was measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.experiments.clip_runs import FOUR, ROUGH, SLIPPERY, TEN, Picture
from tangere.experiments.figures import COLOURS, FAINT, INK, canvas, house_style
from tangere.experiments.pictures import Camera, paint_triangles
from tangere.scene.soft_library import START

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tangere.experiments.duriez2006_snap_in import Result

SHADES = {0.0: COLOURS["point"], SLIPPERY: COLOURS["volume"], ROUGH: COLOURS["signorini"]}


@house_style
def plot(result: Result) -> list[Figure]:
    """Push over travel beside the closed form; force in a hand; the soft pipe."""
    return [_plot_led(result), _plot_by_hand(result), _plot_pipes(result)]


def _plot_led(result: Result) -> Figure:
    p = result.params
    figure, (left, right) = canvas(
        "Left: push of a handle that nothing stops, over its travel; points measured every 0.3 mm, "
        "lines the closed form P(θ) with the stiffness of a lip measured on the mesh (coloured: "
        "four-node elements, grey: ten-node elements). Right: turned back at 3 mm; the dashed "
        "lines are the closed form on the way back.",
        columns=2,
        size=(9.2, 3.6),
    )
    for mesh in (TEN, FOUR):
        for led in result.led:
            if led.mesh != mesh or led.way != p.ways[0]:
                continue
            colour = SHADES[led.friction] if mesh == FOUR else FAINT
            heights, push = led.law.curve
            left.plot(1e3 * (START - heights), push, color=colour, lw=1.3)
            some = slice(None, None, max(1, round(3e-4 / led.way)))
            left.plot(1e3 * led.travel[some], led.run.force[some], "o", ms=2.6, color=colour,
                      label=f"μ = {led.friction:g}" if mesh == FOUR else None)  # fmt: skip
    left.set_xlabel("travel of the handle [mm]")
    left.set_ylabel("push [N]")
    left.legend()
    for mu, each in result.turned.items():
        law = result.law(mu)
        right.plot(1e3 * (START - each.height), each.force, "-", color=SHADES[mu], lw=1.8,
                   label=f"μ = {mu:g}")  # fmt: skip
        lowest = START - p.turn_at
        heights = np.linspace(lowest, lowest + p.turned_by, 40)
        back = [law.push_back(float(h)) for h in heights]
        right.plot(1e3 * (START - heights), back, "--", color=INK, lw=1.0)
    right.set_xlabel("travel of the handle [mm]")
    right.set_xlim(1e3 * (p.turn_at - 2.0 * p.turned_by), 1e3 * (p.turn_at + 0.1 * p.turned_by))
    right.set_ylabel("push [N]")
    right.legend()
    return figure


def _plot_by_hand(result: Result) -> Figure:
    figure, axes = canvas(
        "A hand goes down at 20 mm/s: force on the hand (above) and speed of the clip (below) over "
        "time. Thick: steps of 1 ms; orange: 3 ms; dashed: a mass on the closed form. The force "
        "rises, drops as the clip snaps ahead of the hand, and draws the hand until it is home.",
        columns=2,
        rows=2,
        size=(9.2, 4.8),
    )
    for column, mu in enumerate((SLIPPERY, ROUGH)):
        upper, lower = axes[column], axes[2 + column]
        for (friction, dt), each in result.by_hand.items():
            if friction != mu:
                continue
            first = dt == result.params.hand_steps[0]
            look: dict[str, Any] = (
                {"color": SHADES[mu], "lw": 2.4}
                if first
                else {"color": COLOURS["point"], "lw": 0.9}
            )
            time = dt * np.arange(1, len(each.hand) + 1)
            upper.plot(time, each.force, label=f"{1e3 * dt:g} ms", **look)
            lower.plot(time, 1e3 * each.speed, **look)
        ideal = result.theory[mu]
        upper.plot(ideal.time, ideal.force, "--", color=INK, lw=1.0, label="closed form")
        lower.plot(ideal.time, 1e3 * ideal.velocity, "--", color=INK, lw=1.0)
        upper.set_title(f"μ = {mu:g}")
        upper.set_ylabel("force on the hand [N]")
        lower.set_ylabel("speed of the clip [mm/s]")
        upper.set_xlabel("time [s]")
        lower.set_xlabel("time [s]")
    axes[0].legend()
    return figure


def _plot_pipes(result: Result) -> Figure:
    p = result.params
    figure, axes = canvas(
        "The same on a pipe with facets: rigid (grey), of 50 GPa (black, dashed) and of 50 MPa "
        "(coloured), there and, on the soft pipe, back. Force on the hand over the height of the "
        "clip; below zero the hand is drawn in, or draws the clip off.",
        columns=2,
        size=(9.2, 3.4),
    )
    styles = (
        (math.inf, FAINT, "-", 2.4, "rigid"),
        (p.stiff_young, INK, "--", 0.9, f"{1e-9 * p.stiff_young:g} GPa"),
    )
    for each_axes, mu in zip(axes, (SLIPPERY, ROUGH), strict=True):
        for young, colour, line, width, name in (
            *styles, (p.young, SHADES[mu], "-", 1.6, f"{1e-6 * p.young:g} MPa")
        ):  # fmt: skip
            each = result.pipes[mu, young]
            each_axes.plot(1e3 * each.height, each.force, line, color=colour, lw=width, label=name)
        each_axes.set_title(f"μ = {mu:g}")
        each_axes.set_xlabel("height of the clip [mm]")
        each_axes.set_ylabel("force on the hand [N]")
        each_axes.invert_xaxis()
    axes[0].legend()
    return figure


def strip(result: Result) -> Figure:
    """The clip on the soft pipe at five heights, coloured by stress."""
    from matplotlib.figure import Figure

    p = result.params
    shown = result.pipes[ROUGH, p.young].pictures
    figure = Figure(figsize=(10.5, 2.6))
    figure.set_label(
        "The clip on the soft pipe at μ = 0.8, with the force on the hand; dark red: 25 MPa of "
        "equivalent stress or more."
    )
    for i, picture in enumerate(shown):
        axes = figure.add_axes((i / len(shown) + 0.005, 0.1, 1 / len(shown) - 0.01, 0.89))
        _draw(axes, picture)
        figure.text((i + 0.5) / len(shown), 0.04, picture.caption, ha="center", fontsize=8.5)
    return figure


def _draw(axes: Axes, picture: Picture) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    camera = Camera(
        azimuth=-68.0, elevation=20.0, centre=(0.0, 0.0, 0.006), width=0.046, height=0.046
    )
    stress = picture.stress[picture.clip_triangles].mean(axis=1)
    warm = colormaps["YlOrRd"](0.1 + 0.9 * np.clip(stress / 25e6, 0.0, 1.0))[:, :3]
    grey = np.tile(to_rgb("#c3ccd6"), (len(picture.pipe_triangles), 1))
    pipe = picture.pipe[picture.pipe_triangles]
    paint_triangles(
        axes, camera, [(pipe, grey), (picture.clip[picture.clip_triangles], np.asarray(warm))]
    )
