"""The Live section of the panel: plots of the last five seconds, and numbers with their units."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tangere.viewer.frame import Description, Frame, News
    from tangere.viewer.server import Server

WINDOW = 5.0  # [s] of simulated time in the plots
SAMPLES = 150  # points per curve: enough for its width on the page
MOST_ROWS = 4000
PLOT_HEIGHT = 200  # [px]
DIGITS = 6  # after the point: below a micronewton a curve shows rounding
PREFIXES = ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
SMALL = "font-size:0.8em;line-height:1.45;padding:0 0.75em 0.4em 0.75em"

# Curves of a scene without a tool: column, label, colour, dashes
SCENE_CURVES = (
    ("kinetic", "kinetic [J]", "#d4702a"),
    ("potential", "potential since reset [J]", "#24609a"),
    ("contacts", "in contacts [J]", "#2c7a4b"),
    ("sum", "sum [J]", "#8a8f94"),
)
# Plots of a scene with tools: title, unit, and curves of each tool
TOOL_PLOTS = (
    (
        "force [N]",
        (
            ("felt_force", "felt [N]"),
            ("contact_force", "of contacts [N]"),
            ("felt_upwards", "felt upwards [N]"),
        ),
    ),
    ("torque [N m]", (("felt_torque", "felt [N m]"), ("contact_torque", "of contacts [N m]"))),
    (
        "energy [J]",
        (
            ("observed", "given by the hand [J]"),
            ("stored", "stored [J]"),
            ("budget", "may be given back [J]"),
        ),
    ),
)
DASHED = "felt_upwards"  # mostly on top of others
TOOL_COLOURS = (("#7c28a0", "#d4702a", "#2c7a4b"), ("#146cc8", "#b3261e", "#6b7a1e"))


class Live:
    """Plots and numbers in a folder of the panel."""

    def __init__(self, server: Server, folder: Any) -> None:
        self._server = server
        self._folder = folder
        self._rows: deque[Any] = deque(maxlen=MOST_ROWS)
        self._names: tuple[str, ...] | None = None
        self._plots: list[Any] = []
        self._take = -1
        self._zero = 0.0
        self._latest = -np.inf
        with folder:
            self._numbers = server.gui.add_html("")

    def load(self, names: tuple[str, ...]) -> None:
        """Plots for a scene with tools of these names."""
        if names == self._names:
            return
        self._names = names
        self._rows.clear()
        for plot in self._plots:
            plot.remove()
        with self._folder:
            if names:
                self._plots = [self._add_tool_plot(title, c, names) for title, c in TOOL_PLOTS]
            else:
                curves = [(label, colour, False) for _, label, colour in SCENE_CURVES]
                self._plots = [self._add_plot("energy [J]", curves)]

    def take_in(self, rows: Any) -> None:
        """Keep new rows of the plots; a new take begins afresh."""
        for row in rows:
            if int(row["take"]) != self._take:
                self._take = int(row["take"])
                self._rows.clear()
                self._zero, self._latest = float(row["potential"]), -np.inf
            if row["time"] > self._latest:
                self._latest = float(row["time"])
                self._rows.append(row)

    def show(self, description: Description, frame: Frame, news: News) -> None:
        """Bring plots and numbers up to date."""
        self._show_plots()
        rows = (
            _tool_rows(description, frame, news)
            if len(frame.tools)
            else self._scene_rows(description, frame)
        )
        self._numbers.content = (
            f'<div style="{SMALL}"><table style="width:100%">'
            + "".join(
                f'<tr><td>{name}</td><td style="text-align:right">{value}</td></tr>'
                for name, value in rows
            )
            + "</table></div>"
        )

    # ------------------------------------------------------------------ plots

    def _add_tool_plot(self, title: str, curves: Any, names: tuple[str, ...]) -> Any:
        labels = []
        for i, name in enumerate(names):
            prefix = f"{name}: " if len(names) > 1 else ""
            colours = TOOL_COLOURS[i % len(TOOL_COLOURS)]
            labels += [
                (f"{prefix}{label}", colour, column == DASHED)
                for (column, label), colour in zip(curves, colours, strict=False)
            ]
        return self._add_plot(title, labels)

    def _add_plot(self, title: str, curves: list[tuple[str, str, bool]]) -> Any:
        """A plot of curves, each with a label, a colour, and whether it is dashed."""
        from viser import uplot

        none = np.zeros(1)
        return self._server.gui.add_uplot(
            (none,) * (1 + len(curves)),
            (
                uplot.Series(label="t [s]"),
                *(
                    uplot.Series(label=label, stroke=colour, width=2, dash=(6, 6) if dashed else ())
                    for label, colour, dashed in curves
                ),
            ),
            scales={"x": uplot.Scale(time=False)},
            axes=(
                uplot.Axis(label="time [s]", labelSize=16, size=30),
                uplot.Axis(label=title, labelSize=18, size=56),
            ),
            legend=uplot.Legend(show=True),
            height=PLOT_HEIGHT,
            order=self._numbers.order - 1.0 + 0.01 * len(self._plots),
        )

    def _show_plots(self) -> None:
        if not self._rows or self._names is None:
            return
        latest = float(self._rows[-1]["time"])
        rows = [row for row in self._rows if row["time"] >= latest - WINDOW]
        chosen = np.array(rows[:: max(1, len(rows) // SAMPLES)])
        time = np.array(chosen["time"])
        if not self._names:
            parts = [np.array(chosen[name]) for name in ("kinetic", "potential", "contacts")]
            parts[1] = parts[1] - self._zero
            self._plots[0].data = (time, *parts, sum(parts))
            return
        for plot, (_, curves) in zip(self._plots, TOOL_PLOTS, strict=True):
            columns = [
                np.round(chosen["tools"][name][:, i], DIGITS)
                for i in range(len(self._names))
                for name, _ in curves
            ]
            plot.data = (time, *columns)

    # ------------------------------------------------------------------ numbers

    def _scene_rows(self, description: Description, frame: Frame) -> list[tuple[str, str]]:
        books = frame.books
        rows = [
            ("simulated time", f"{frame.time:.2f} s"),
            ("pace", _pace(frame)),
            ("computing per step", si(frame.step_seconds, "s")),
            ("step", si(description.settings.dt, "s")),
            ("contacts", _contacts(frame)),
            ("kinetic energy", si(books.kinetic, "J")),
            ("potential energy since reset", si(books.potential - self._zero, "J")),
        ]
        if np.isfinite(books.dissipated):
            rows += [
                ("energy held in contacts", si(books.contacts, "J")),
                ("lost since reset or change", si(books.dissipated, "J")),
            ]
            lost = {
                "– to friction": books.to_friction,
                "– to impacts and contact dampers": books.to_impacts,
                "– to dampers of springs": books.to_springs,
                "– by the step itself": books.to_step,
            }
            rows += [(where, si(energy, "J")) for where, energy in lost.items() if energy]
        if frame.pull is not None:
            limit = " (at its limit)" if frame.pull.limited else ""
            rows.append(("your pull", f"{si(frame.pull.force, 'N')}{limit}"))
        return rows


def _tool_rows(description: Description, frame: Frame, news: News) -> list[tuple[str, str]]:
    rows = []
    for sheet, tool in zip(description.tools, frame.tools, strict=True):
        prefix = f"{sheet.name}: " if len(frame.tools) > 1 else ""
        force, torque = (float(np.linalg.norm(tool["coupling"][k : k + 3])) for k in (0, 3))
        rows += [
            (f"{prefix}you feel", f"{si(force, 'N')}, {si(torque, 'N m')}"),
            (
                f"{prefix}tool off the hand",
                f"{si(float(tool['deviation']), 'm')}, {np.degrees(tool['angle']):.1f}°",
            ),
        ]
        if not news.formations:
            rows.append((f"{prefix}contact planes", f"{int(tool['planes'])}"))
    servo = frame.servo
    return [
        *rows,
        ("contacts in the scene", _contacts(frame)),
        ("haptic rate", si(servo.rate, "Hz")),
        ("late ticks (over 100 µs)", f"{servo.late} of {servo.ticks}"),
        ("ticks left out", f"{servo.missed}"),
        ("tick, median and worst", f"{si(servo.median, 's')}, {si(servo.worst, 's')}"),
        ("contact rate", si(servo.contact_rate, "Hz")),
        ("age of contact packet", si(servo.packet_age, "s")),
        ("simulated time", f"{frame.time:.2f} s"),
        ("pace", _pace(frame)),
    ]


def _contacts(frame: Frame) -> str:
    contacts = frame.contacts
    sticking = int(np.count_nonzero(contacts["sticking"])) if len(contacts) else 0
    text = f"{len(contacts) + frame.left_out}, of which {sticking} sticking"
    return f"{text} (the {len(contacts)} strongest are drawn)" if frame.left_out else text


def _pace(frame: Frame) -> str:
    if frame.paused:
        return "paused"
    text = f"{frame.real_time:.2f} × real time"
    if frame.real_time < 0.9 * frame.speed:
        text += f" (asked: {frame.speed:g} ×; this machine is too slow for it)"
    return text


def si(value: float, unit: str) -> str:
    """A number with three digits and its unit, with a prefix where that reads better."""
    if value == 0.0 or not np.isfinite(value):
        return f"{value:g} {unit}"
    for factor, prefix in PREFIXES:
        if abs(value) >= 0.9995 * factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"0 {unit}"
