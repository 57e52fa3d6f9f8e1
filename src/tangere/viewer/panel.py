"""The panel beside the scene: choose, change, watch.

Order from top to bottom: help, Scene, Method, Feel, Live. Every number has its unit; a control that
would do nothing in the chosen method is not there.
"""

from __future__ import annotations

import html
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.viewer.feel import stability
from tangere.viewer.stage import PRESSURE_COLOURS, SLIP_COLOUR, STICK_COLOUR, Stage

if TYPE_CHECKING:
    from tangere.viewer.runner import Frame, Runner
    from tangere.viewer.server import Server

WINDOW = 5.0  # [s] of simulated time in the plot
PLOT_INTERVAL = 0.2  # [s] on the wall between two updates of plot and numbers
SAMPLES = 150  # points per curve: enough for its width on the page
LEAST_GRAVITY = 1.0  # [m/s²] a push reckons with at least this

HELP = "Drag a body: a spring pulls it. Drag beside it to turn the view, scroll to zoom."
PAUSE, RESUME, RESET = "Pause", "Resume", "Reset"
SPEEDS = {"1": 1.0, "1/2": 0.5, "1/5": 0.2, "1/20": 0.05}
METHODS = {
    "volume": (
        "Springs, dampers and friction are integrated over the whole overlap of two bodies.",
        "Hasegawa &amp; Sato, Computer Graphics Forum 23 (2004)",
    ),
    "point": (
        "One spring, damper and friction force at the deepest point of each overlap.",
        "the usual penalty method, which Hasegawa &amp; Sato (2004) compare with",
    ),
}
INTEGRATORS = {
    "implicit": "All contact forces are solved for together, as of the end of the step: stable at "
    "any stiffness, and it knows where all energy went.",
    "explicit": "Each contact force follows from the start of the step, as in the papers: quick, "
    "but too much stiffness or damping shakes bodies apart.",
}
NORMALIZATIONS = {
    "by patch area (2004)": "patch",
    "none, per area (2003)": "none",
    "fixed area, keeps energy": "fixed",
}
FRICTIONS = {
    "exact Coulomb over the patch": "exact",
    "interpolated from vertices (2004)": "vertex",
}
PREFIXES = ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
SMALL = "font-size:0.8em;line-height:1.45;padding:0 0.75em 0.4em 0.75em"


class Panel:
    """Controls of the page, and the numbers they show."""

    def __init__(
        self, server: Server, runner: Runner, stage: Stage, scenes: dict[str, str]
    ) -> None:
        """Add all controls.

        Args:
            server: Of the page.
            runner: Of the simulation.
            stage: Where the scene is drawn.
            scenes: Names to choose from, and what each shows in one line.
        """
        self._server = server
        self._runner = runner
        self._stage = stage
        self._descriptions = scenes
        self._history: deque[tuple[float, ...]] = deque(maxlen=4000)
        self._chosen: int | None = None
        self._marked: int | None = None
        self._take = -1
        self._drawn = ""
        self._built: Any = None
        self._zero = 0.0
        self._updated = 0.0
        self._shown_notice: str | None = None
        gui = server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(38, 104, 132))
        gui.main_panel.dock_right()
        gui.add_html(f'<div style="{SMALL};padding-top:0.6em"><b>{HELP}</b></div>')
        self._status = gui.add_html("")
        frame = runner.frame
        with gui.add_folder("Scene"):
            self._add_scene(list(scenes), frame)
        with gui.add_folder("Method"):
            self._add_method(frame)
        with gui.add_folder("Feel"):
            self._add_feel(frame)
        with gui.add_folder("Live"):
            self._add_live()
        self._add_legend()

    # ------------------------------------------------------------------ controls

    def _add_scene(self, scenes: list[str], frame: Frame) -> None:
        gui, runner = self._server.gui, self._runner
        self._scene = gui.add_dropdown("Scene", scenes, initial_value=frame.built.settings.scene)
        self._about_scene = gui.add_html("")
        self._run = gui.add_button_group(
            "Run", (PAUSE, RESET), hint="Stop or resume time; go back to the start of the scene"
        )
        self._speed = gui.add_button_group(
            "Speed ×", list(SPEEDS), hint="Slow motion: simulated time over wall time"
        )
        self._push = gui.add_button(
            "Push", hint="A blow away from you on the chosen body; click a body to choose it"
        )
        self._inside = gui.add_checkbox(
            "See inside", True, hint="Translucent bodies show what happens between them"
        )
        self._shadows = gui.add_checkbox(
            "Shadows", True, hint="Without a graphics processor the page is faster without them"
        )
        self._scene.on_update(lambda _: runner.configure(scene=self._scene.value))
        self._run.on_click(lambda _: self._pause_or_reset(self._run.value))
        self._speed.on_click(lambda _: runner.set_speed(SPEEDS[self._speed.value]))
        self._push.on_click(lambda event: self._give_push(event.client))

    def _pause_or_reset(self, chosen: str) -> None:
        if chosen == RESET:
            self._runner.reset()
        else:
            self._runner.pause(chosen == PAUSE)

    def _add_method(self, frame: Frame) -> None:
        gui, runner, settings = self._server.gui, self._runner, frame.built.settings
        self._method = gui.add_dropdown("Method", list(METHODS), initial_value=settings.method)
        self._about = gui.add_html("")
        self._integrator = gui.add_dropdown(
            "Step", list(INTEGRATORS), initial_value=settings.integrator
        )
        self._about_step = gui.add_html("")
        self._normalization = gui.add_dropdown(
            "Normalised",
            list(NORMALIZATIONS),
            initial_value=_key(NORMALIZATIONS, settings.normalization),
            hint="What the pressure under a given depth is divided by",
        )
        self._friction = gui.add_dropdown(
            "Friction",
            list(FRICTIONS),
            initial_value=_key(FRICTIONS, settings.friction),
            hint="How sliding friction is summed over the patch",
        )
        self._method.on_update(lambda _: runner.configure(method=self._method.value))
        self._integrator.on_update(lambda _: runner.configure(integrator=self._integrator.value))
        self._normalization.on_update(
            lambda _: runner.configure(normalization=NORMALIZATIONS[self._normalization.value])
        )
        self._friction.on_update(
            lambda _: runner.configure(friction=FRICTIONS[self._friction.value])
        )

    def _add_feel(self, frame: Frame) -> None:
        gui, runner, settings = self._server.gui, self._runner, frame.built.settings
        self._stiffness = gui.add_slider(
            "Stiffness ×", 0.1, 10.0, 0.1, settings.stiffness_factor,
            hint="Contact springs, times those of the scene",
        )  # fmt: skip
        self._damping = gui.add_slider(
            "Damping ×", 0.0, 10.0, 0.1, settings.damping_factor,
            hint="Contact dampers, times those of the scene",
        )  # fmt: skip
        self._rubbing = gui.add_slider(
            "Friction ×", 0.0, 3.0, 0.05, settings.friction_factor,
            hint="Friction coefficients, times those of the scene",
        )  # fmt: skip
        self._verdict = gui.add_html("")
        self._stiffness.on_update(
            lambda _: runner.configure(stiffness_factor=self._stiffness.value)
        )
        self._damping.on_update(lambda _: runner.configure(damping_factor=self._damping.value))
        self._rubbing.on_update(lambda _: runner.configure(friction_factor=self._rubbing.value))

    def _add_live(self) -> None:
        from viser import uplot

        gui = self._server.gui
        none = np.zeros(1)
        self._plot = gui.add_uplot(
            (none, none, none, none, none),
            (
                uplot.Series(label="t [s]"),
                uplot.Series(label="kinetic [J]", stroke="#d4702a", width=2),
                uplot.Series(label="potential since reset [J]", stroke="#24609a", width=2),
                uplot.Series(label="in contacts [J]", stroke="#2c7a4b", width=2),
                uplot.Series(label="sum [J]", stroke="#8a8f94", width=1.5, dash=(5, 4)),
            ),
            scales={"x": uplot.Scale(time=False)},
            axes=(
                uplot.Axis(label="simulated time [s]", labelSize=18, size=34),
                uplot.Axis(label="energy [J]", labelSize=18, size=56),
            ),
            legend=uplot.Legend(show=True),
            height=230,
        )
        self._numbers = gui.add_html("")

    def _add_legend(self) -> None:
        panel = self._server.gui.add_panel()
        with panel.add_tab("Legend"):
            self._legend = self._server.gui.add_html("")
        panel.float(x=16, y=-16, width=330)

    # ------------------------------------------------------------------ bodies under the mouse

    def _bind_bodies(self, frame: Frame) -> None:
        """Draw another scene, and let the mouse choose and pull its bodies."""
        bodies = frame.built.scene.bodies
        for batch in self._stage.load(frame.built.scene):
            if all(bodies[i].fixed for i in batch.bodies):
                continue
            batch.node.on_click(self._clicker(batch.bodies))
            batch.node.on_drag(self._dragger(batch.bodies))
        movable = [body.index for body in bodies if not body.fixed]
        self._chosen = max(movable, key=lambda i: float(bodies[i].position[2]), default=None)
        self._mark(frame)

    def _clicker(self, members: Any) -> Any:
        async def clicked(event: Any) -> None:
            self._choose(self._runner.frame, int(members[event.instance_index or 0]))

        return clicked

    def _dragger(self, members: Any) -> Any:
        # Asynchronous, because only those see start, update and end in their order.
        async def dragged(event: Any) -> None:
            frame = self._runner.frame
            if frame.built.settings.scene != self._drawn:
                return
            body = int(members[event.instance_index or 0])
            if frame.built.scene.bodies[body].fixed:
                return
            target = self._stage.world(event.end_position)
            if event.phase == "start":
                self._choose(frame, body)
                self._runner.grab(body, self._stage.world(event.start_position), target)
            elif event.phase == "update":
                self._runner.drag(target)
            else:
                self._runner.release()

        return dragged

    def _choose(self, frame: Frame, body: int) -> None:
        """Remember a body under the mouse; the drawing thread marks it."""
        if frame.built.settings.scene == self._drawn and not frame.built.scene.bodies[body].fixed:
            self._chosen = body

    def _mark(self, frame: Frame) -> None:
        scene, body = frame.built.scene, self._chosen
        self._marked = body
        self._stage.choose(body)
        self._push.disabled = body is None
        self._push.label = "Push" if body is None else f"Push {scene.bodies[body].name}"

    def _give_push(self, client: Any) -> None:
        frame, body = self._runner.frame, self._chosen
        if body is None:
            return
        away = np.array([0.0, 1.0, 0.0])
        if client is not None:
            sight = np.asarray(client.camera.look_at) - np.asarray(client.camera.position)
            flat = np.array([sight[0], sight[1], 0.0])
            if np.linalg.norm(flat) > 1e-6:
                away = flat / np.linalg.norm(flat)
        record, gravity = frame.built.scene.bodies[body], frame.built.scene.gravity
        size = record.shape.moments().volume ** (1.0 / 3.0)
        # Enough to slide or topple by about its own size, whatever that is.
        speed = np.sqrt(max(LEAST_GRAVITY, float(np.linalg.norm(gravity))) * size)
        self._runner.push(body, record.mass * speed * away)

    # ------------------------------------------------------------------ every frame

    def show(self, frame: Frame) -> None:
        """Bring scene, numbers and plot up to the frame."""
        if frame.take != self._take:
            self._take = frame.take
            self._history.clear()
            self._zero = frame.energy.potential + frame.energy.springs
        if frame.built.settings.scene != self._drawn:
            self._drawn = frame.built.settings.scene
            self._bind_bodies(frame)
        if frame.built is not self._built:
            self._built = frame.built
            self._show_settings(frame)
        if self._chosen != self._marked:
            self._mark(frame)
        self._stage.see_through(self._inside.value)
        self._stage.shadows(self._shadows.value)
        self._stage.show(frame)
        buttons = (RESET,) if frame.fault else (RESUME if frame.paused else PAUSE, RESET)
        if self._run.options != buttons:
            self._run.options = buttons
        self._show_notice(frame)
        if not self._history or frame.time > self._history[-1][0]:
            parts = (frame.energy.kinetic, self._potential(frame), _in_contacts(frame))
            self._history.append((frame.time, *parts, sum(parts)))
        now = time.perf_counter()
        if now - self._updated >= PLOT_INTERVAL:
            self._updated = now
            self._show_live(frame)

    def _potential(self, frame: Frame) -> float:
        """Of weight and springs, since the fresh start [J]."""
        return frame.energy.potential + frame.energy.springs - self._zero

    def _show_settings(self, frame: Frame) -> None:
        """Controls as they are in force, also when a change was refused or came from elsewhere."""
        settings = frame.built.settings
        sentence, paper = METHODS[settings.method]
        self._about.content = f'<div style="{SMALL}">{sentence} {paper}.</div>'
        self._about_step.content = f'<div style="{SMALL}">{INTEGRATORS[settings.integrator]}</div>'
        words = html.escape(self._descriptions.get(settings.scene, ""))
        self._about_scene.content = f'<div style="{SMALL}">{words}</div>'
        volume = settings.method == "volume"
        self._normalization.visible = volume
        self._friction.visible = volume and settings.integrator == "explicit"
        controls: tuple[tuple[Any, str], ...] = (
            (self._scene, settings.scene),
            (self._method, settings.method),
            (self._integrator, settings.integrator),
            (self._normalization, _key(NORMALIZATIONS, settings.normalization)),
            (self._friction, _key(FRICTIONS, settings.friction)),
        )
        for control, value in controls:
            if control.value != value:
                control.value = value
        verdict = stability(frame.built)
        colour = {"stable": "#2c7a4b", "near": "#b26a00", "past": "#b3261e"}[verdict.level]
        self._verdict.content = (
            f'<div style="{SMALL}">{html.escape(verdict.values)}<br>'
            f'<b style="color:{colour}">{html.escape(verdict.words)}</b></div>'
        )
        self._legend.content = self._legend_html()

    def _show_notice(self, frame: Frame) -> None:
        if frame.notice == self._shown_notice:
            return
        self._shown_notice = frame.notice
        if frame.notice is None:
            self._status.content = ""
            return
        self._status.content = (
            f'<div style="{SMALL};color:#b3261e" role="alert">'
            f"<b>{html.escape(frame.notice)}</b></div>"
        )

    def _show_live(self, frame: Frame) -> None:
        if self._history:
            latest = self._history[-1][0]
            rows = [row for row in self._history if row[0] >= latest - WINDOW]
            rows = rows[:: max(1, len(rows) // SAMPLES)]
            self._plot.data = tuple(np.array(column) for column in zip(*rows, strict=True))
        pulling = ""
        if frame.pull is not None:
            limit = " (at its limit)" if frame.pull.limited else ""
            pulling = _row("your pull", f"{_si(frame.pull.force, 'N')}{limit}")
        contacts = frame.contacts
        sticking = int(np.count_nonzero(contacts["sticking"])) if len(contacts) else 0
        pace = "paused" if frame.paused else f"{frame.real_time:.2f} × real time"
        if not frame.paused and frame.real_time < 0.9 * frame.speed:
            pace += f" (asked: {frame.speed:g} ×; this machine is too slow for it)"
        self._numbers.content = (
            f'<div style="{SMALL}"><table style="width:100%">'
            + _row("simulated time", f"{frame.time:.2f} s")
            + _row("pace", pace)
            + _row("computing per step", _si(frame.step_seconds, "s"))
            + _row("step", _si(frame.built.simulation.dt, "s"))
            + _row("contacts", f"{len(contacts)}, of which {sticking} sticking")
            + _row("kinetic energy", _si(frame.energy.kinetic, "J"))
            + _row("potential energy since reset", _si(self._potential(frame), "J"))
            + _books(frame)
            + pulling
            + "</table></div>"
        )

    def _legend_html(self) -> str:
        stage = self._stage
        swatches = "".join(
            '<span style="display:inline-block;width:1.4em;height:0.8em;'
            f'background:{_css(c)}"></span>'
            for c in PRESSURE_COLOURS
        )
        low, high = stage.pressure_range
        return (
            f'<div style="{SMALL};padding-top:0.5em">'
            f'<b style="color:{_css(STICK_COLOUR)}">⟶ ▬▬</b> sticking contact, closed outline<br>'
            f'<b style="color:{_css(SLIP_COLOUR)}">⟶ ╌╌</b> slipping contact, dashed outline<br>'
            f"arrow: force on the upper body, {_si(stage.cell_force, 'N')} per grid cell, "
            f"not drawn longer than {_si(stage.longest_force, 'N')}<br>"
            f"grid cell: {_si(stage.grid_cell, 'm')}<br>"
            f"patch: {swatches}<br>{_si(low, 'Pa')} to {_si(high, 'Pa')} of pressure, logarithmic"
            "</div>"
        )


def _in_contacts(frame: Frame) -> float:
    """Energy held by the springs of contacts, of friction too [J]."""
    return frame.energy.contact + frame.energy.friction


def _books(frame: Frame) -> str:
    """Rows of what contacts hold and where energy went, of a step that knows."""
    if frame.audit is None:
        return ""
    lost = {
        "to friction": frame.audit.friction,
        "to impacts and contact dampers": frame.audit.normal,
        "to dampers of springs": frame.audit.springs,
        "by the step itself": frame.audit.step,
    }
    return (
        _row("energy held in contacts", _si(_in_contacts(frame), "J"))
        + _row("lost since reset or change", _si(frame.energy.dissipated, "J"))
        + "".join(_row(f"– {where}", _si(energy, "J")) for where, energy in lost.items() if energy)
    )


def _row(name: str, value: str) -> str:
    return f'<tr><td>{name}</td><td style="text-align:right">{value}</td></tr>'


def _key(table: dict[str, str], value: str) -> str:
    return next(key for key, entry in table.items() if entry == value)


def _css(colour: Any) -> str:
    return "rgb({},{},{})".format(*(int(c) for c in colour))


def _si(value: float, unit: str) -> str:
    """A number with three digits and its unit, with a prefix where that reads better."""
    if value == 0.0 or not np.isfinite(value):
        return f"{value:g} {unit}"
    for factor, prefix in PREFIXES:
        if abs(value) >= 0.9995 * factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"0 {unit}"
