"""The panel beside the scene: choose, change, watch.

Order from top to bottom: help, the force of every hand and what touches, Scene, Method, Formations,
Feel, Device, Live, Record.
Every number has its unit; a control that would do nothing in the chosen scene or method is not
there.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.contact.formation.names import JOINT
from tangere.contact.method import methods
from tangere.maths.vec import Array
from tangere.trace.formation_graph import svg
from tangere.viewer.frame import RECORD_FAILED, RECORD_RUNS, Verdict
from tangere.viewer.live import SMALL, Live, si
from tangere.viewer.soft_surfaces import STRESS_COLOURS
from tangere.viewer.stage import MARK_COLOURS, PRESSURE_COLOURS, SLIP_COLOUR, STICK_COLOUR, Stage
from tangere.viewer.tools import FORCE_COLOUR, TORQUE_COLOUR, Tools
from tangere.viewer.words import (
    INTEGRATORS,
    faults_in_words,
    force_in_words,
    help_line,
    net_in_words,
)

if TYPE_CHECKING:
    from tangere.contact.method import Control
    from tangere.trace.formation_graph import FormationGraph
    from tangere.viewer.frame import Description, Frame, News, Offer, Sheet
    from tangere.viewer.server import Server

PLOT_INTERVAL = 0.2  # [s] on the wall between two updates of plots and numbers
FAULT_SHOWN = 2.0  # [s] that a word about a fault stays, so that it can be read

PAUSE, RESUME, RESET = "Pause", "Resume", "Reset"
START, STOP, REPLAY = "Start recording", "Stop recording", "Replay"
SPEEDS = {"1": 1.0, "1/2": 0.5, "1/5": 0.2, "1/20": 0.05}
# Sliders of Feel: setting, label, least, most, step, explanation
CONTACT_SLIDERS = (
    (
        "stiffness_factor",
        "Stiffness ×",
        0.1,
        10.0,
        0.1,
        "Contact springs, times those of the scene",
    ),
    ("damping_factor", "Damping ×", 0.0, 10.0, 0.1, "Contact dampers, times those of the scene"),
    ("friction_factor", "Friction ×", 0.0, 3.0, 0.05, "Coefficients, times those of the scene"),
)
TOOL_SLIDERS = (
    (
        "coupling_stiffness_factor", "Hand stiffness ×", 0.1, 5.0, 0.1,
        "Spring between hand and tool, times that of the scene",
    ),
    (
        "coupling_damping_factor", "Hand damping ×", 0.0, 5.0, 0.1,
        "Damper between hand and tool, times that of the scene",
    ),
    ("tool_mass_factor", "Tool mass ×", 0.2, 5.0, 0.1, "Times that of the scene"),
)  # fmt: skip
LEVELS = {"stable": "#2c7a4b", "near": "#b26a00", "past": "#b3261e"}
RED, AMBER, BLUE = "#b3261e", "#8a5a00", "#005ab4"

Send = Callable[..., bool]
"""Sends an order, a verb and its values; False if it cannot be meant."""
Move = Callable[[int, Array, Array, bool], None]


class Panel:
    """Controls of the page, and the numbers they show."""

    def __init__(
        self, server: Server, send: Send, move: Move, stage: Stage, scenes: dict[str, str]
    ) -> None:
        """Add all controls.

        Args:
            server: Of the page.
            send: Takes orders to the session.
            move: Takes a hand's pose to the session.
            stage: Where the scene is drawn.
            scenes: Names to choose from, and what each shows in one line.
        """
        self._server = server
        self._send = send
        self._stage = stage
        self._tools = Tools(server, stage, move)
        self._descriptions = scenes
        self._chosen: int | None = None
        self._marked: int | None = None
        self._drawn = ""
        self._description: Description | None = None
        self._updated = 0.0
        self._said = ""
        self._refused = False
        self._seen: dict[str, tuple[float, bool]] = {}
        gui = server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(38, 104, 132))
        gui.main_panel.dock_right()
        self._help = gui.add_html("")
        self._status = gui.add_html("")
        self._force = gui.add_html("")
        self._touching = gui.add_html("")
        with gui.add_folder("Scene"):
            self._add_scene(list(scenes))
        self._method_folder = gui.add_folder("Method")
        with self._method_folder:
            self._add_method()
        self._formations_folder = gui.add_folder("Formations", visible=False)
        with self._formations_folder:
            self._graphs = gui.add_html("")
        # Folded, so that the plots below are in sight.
        with gui.add_folder("Feel", expand_by_default=False):
            self._add_feel()
        self._device_folder = gui.add_folder("Device", visible=False, expand_by_default=False)
        with self._device_folder:
            self._add_device()
        self._live = Live(server, gui.add_folder("Live"))
        self._record_folder = gui.add_folder("Record", visible=False)
        with self._record_folder:
            self._add_record()
        self._add_legend()

    # ------------------------------------------------------------------ controls

    def _add_scene(self, scenes: list[str]) -> None:
        gui = self._server.gui
        self._scene = gui.add_dropdown("Scene", scenes)
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
        self._scene.on_update(lambda _: self._ask("scene", self._scene.value))
        self._run.on_click(lambda _: self._pause_or_reset(self._run.value))
        self._speed.on_click(lambda _: self._ask("speed", SPEEDS.get(self._speed.value)))
        self._push.on_click(lambda event: self._give_push(event.client))

    def _pause_or_reset(self, chosen: str) -> None:
        if chosen == RESET:
            self._ask("reset")
        else:
            self._ask("pause", chosen == PAUSE)

    def _add_method(self) -> None:
        gui = self._server.gui
        self._method = gui.add_dropdown("Method", ("",))
        self._about = gui.add_html("")
        self._integrator = gui.add_dropdown("Step", list(INTEGRATORS))
        self._about_step = gui.add_html("")
        self._controls: tuple[Control, ...] = ()
        self._options: dict[str, Any] = {}
        self._method.on_update(lambda _: self._ask("method", self._method.value))
        self._integrator.on_update(lambda _: self._ask("integrator", self._integrator.value))

    def _offer_options(self, offer: Offer) -> None:
        """Controls of the method's options, made anew where they are others than before."""
        if offer.controls == self._controls:
            return
        for handle in self._options.values():
            handle.remove()
        self._controls = offer.controls
        with self._method_folder:
            self._options = {
                control.option: self._add_option(control, offer.values[control.option])
                for control in offer.controls
            }

    def _add_option(self, control: Control, value: Any) -> Any:
        gui = self._server.gui
        if control.span is None:
            handle: Any = gui.add_dropdown(
                control.label,
                list(control.choices),
                initial_value=_key(control.choices, value),
                hint=control.hint,
            )
            handle.on_update(
                lambda _: self._ask("option", (control.option, control.choices.get(handle.value)))
            )
        else:
            label = f"{control.label} [{control.unit}]" if control.unit else control.label
            handle = gui.add_slider(label, *control.span, value, hint=control.hint)
            handle.on_update(lambda _: self._ask("option", (control.option, handle.value)))
        return handle

    def _add_feel(self) -> None:
        self._sliders: dict[str, Any] = {}
        self._hand_verdict = self._add_sliders(TOOL_SLIDERS)
        self._verdict = self._add_sliders(CONTACT_SLIDERS)

    def _add_sliders(self, table: Any) -> Any:
        gui = self._server.gui
        for name, label, least, most, step, hint in table:
            slider = gui.add_slider(label, least, most, step, 1.0, hint=hint)
            slider.on_update(self._asker(name, slider))
            self._sliders[name] = slider
        return gui.add_html("")

    def _asker(self, verb: str, control: Any) -> Callable[[Any], None]:
        return lambda _: self._ask(verb, control.value)

    def _add_device(self) -> None:
        gui = self._server.gui
        self._about_device = gui.add_html("")
        self._clutch = gui.add_checkbox(
            "Clutch", False, hint="Hold the tool still while you move the device to a better place"
        )
        self._scale = gui.add_slider(
            "Scale ×", 0.1, 10.0, 0.1, 1.0, hint="Metres in the scene per metre of the device"
        )
        self._clutch.on_update(lambda _: self._ask("clutch", self._clutch.value))
        self._scale.on_update(lambda _: self._ask("scale", self._scale.value))

    def _add_record(self) -> None:
        gui = self._server.gui
        self._record = gui.add_button_group(
            "Recording", (START,), hint="Every tick goes to a file; replay moves the hand again"
        )
        self._file = gui.add_html("")
        self._record.on_click(lambda _: self._start_stop_replay(self._record.value))

    def _start_stop_replay(self, chosen: str) -> None:
        if chosen == REPLAY:
            self._ask("replay")
        else:
            self._ask("record", chosen == START)

    def _add_legend(self) -> None:
        panel = self._server.gui.add_panel()
        with panel.add_tab("Legend"):
            self._legend = self._server.gui.add_html("")
        panel.float(x=16, y=-16, width=330)

    def _ask(self, verb: str, *values: Any) -> None:
        """Send an order; a control that asks for something impossible goes back to what is."""
        if not self._send(verb, *values):
            self._refused = True  # the drawing thread alone makes and sets controls

    # ------------------------------------------------------------------ bodies under the mouse

    def _bind_bodies(self, description: Description) -> None:
        """Draw another scene, and let the mouse choose and pull its bodies."""
        bodies = description.scene.bodies
        pieces = "hull" in methods[description.settings.method].parts
        batches = self._stage.load(description.scene, description.tools, pieces=pieces)
        self._tools.load(description)
        if description.tools:  # what a hand holds and pushes is not pulled by the mouse as well
            self._chosen = None
        else:
            for batch in batches:
                if all(bodies[i].fixed for i in batch.bodies):
                    continue
                batch.node.on_click(self._clicker(batch.bodies))
                batch.node.on_drag(self._dragger(batch.bodies))
            for i, node in self._stage.soft.nodes():
                if not bodies[i].fixed:
                    node.on_click(self._clicker([i]))
                    node.on_drag(self._dragger([i]))
            movable = [body.index for body in bodies if not body.fixed]
            self._chosen = max(movable, key=lambda i: float(bodies[i].position[2]), default=None)
        self._mark(description)

    def _clicker(self, members: Any) -> Any:
        async def clicked(event: Any) -> None:
            self._choose(_member(members, event))

        return clicked

    def _dragger(self, members: Any) -> Any:
        # Asynchronous, because only those see start, update and end in their order.
        async def dragged(event: Any) -> None:
            body = _member(members, event)
            if not self._choose(body):
                return
            target = self._stage.world(event.end_position).tolist()
            if event.phase == "start":
                self._send("grab", body, self._stage.world(event.start_position).tolist(), target)
            elif event.phase == "update":
                self._send("drag", target)
            else:
                self._send("release")

        return dragged

    def _choose(self, body: int) -> bool:
        """Remember a body under the mouse, if it can move; the drawing thread marks it."""
        description = self._description
        if description is None or description.settings.scene != self._drawn:
            return False
        if description.scene.bodies[body].fixed:
            return False
        self._chosen = body
        return True

    def _mark(self, description: Description) -> None:
        body = self._chosen
        self._marked = body
        self._stage.choose(body)
        self._push.visible = body is not None
        self._push.label = "Push" if body is None else f"Push {description.scene.bodies[body].name}"

    def _give_push(self, client: Any) -> None:
        if self._chosen is None:
            return
        away = np.array([0.0, 1.0, 0.0])
        if client is not None:
            sight = np.asarray(client.camera.look_at) - np.asarray(client.camera.position)
            flat = np.array([sight[0], sight[1], 0.0])
            if np.linalg.norm(flat) > 1e-6:
                away = flat / np.linalg.norm(flat)
        self._send("push", self._chosen, away.tolist())

    # ------------------------------------------------------------------ every frame

    def show(self, description: Description, frame: Frame, rows: Any, news: News) -> None:
        """Bring scene, numbers and plots up to the frame."""
        if self._description is None or description.build != self._description.build:
            self._description = description
            if description.settings.scene != self._drawn:
                self._drawn = description.settings.scene
                self._bind_bodies(description)
                self._live.load(tuple(sheet.name for sheet in description.tools))
            self._show_settings(description)
        if self._refused:
            self._refused = False
            self._set_controls(description)
        if self._chosen != self._marked:
            self._mark(description)
        self._stage.see_through(bool(self._inside.value))
        self._stage.clear_tools(bool(news.formations))
        self._stage.shadows(bool(self._shadows.value))
        with self._server.atomic():
            self._stage.show(frame)
            hands = tuple(sheet.hand for sheet in description.tools)
            self._tools.show(frame.tools, (frame.take, hands))
        buttons = (RESET,) if frame.stopped else (RESUME if frame.paused else PAUSE, RESET)
        if self._run.options != buttons:
            self._run.options = buttons
        self._show_recording(frame, news)
        self._show_notice(frame, news)
        self._live.take_in(rows)
        now = time.perf_counter()
        if now - self._updated >= PLOT_INTERVAL:
            self._updated = now
            self._live.show(description, frame, news)
            self._formations_folder.visible = bool(news.formations)
            graphs = "".join(svg(graph) for graph in news.formations)
            for shown, content in (
                (self._legend, self._legend_html(description, bool(news.formations))),
                (self._force, _force_html(description.tools, frame, news)),
                (self._touching, _touching_html(news.formations)),
                (self._graphs, f'<div style="{SMALL}">{graphs}</div>'),
            ):
                if shown.content != content:
                    shown.content = content

    def say(self, words: str) -> None:
        """Put words about the session as a whole on top of the panel."""
        self._say([(words, RED)])

    def _show_settings(self, description: Description) -> None:
        """Controls as they are in force, also when a change was refused or came from elsewhere."""
        settings, tools = description.settings, description.tools
        self._help.content = (
            f'<div style="{SMALL};padding-top:0.6em">'
            f"<b>{html.escape(help_line([t.name for t in tools if t.hand]))}</b></div>"
            if not tools or any(t.hand for t in tools)
            else ""
        )
        offer = description.offer
        about = html.escape(f"{offer.words} {offer.citation}.")
        self._about.content = f'<div style="{SMALL}">{about}</div>'
        step = html.escape(INTEGRATORS.get(settings.integrator, ""))
        self._about_step.content = f'<div style="{SMALL}">{step}</div>'
        words = html.escape(self._descriptions.get(settings.scene, ""))
        self._about_scene.content = f'<div style="{SMALL}">{words}</div>'
        held = bool(tools)
        self._integrator.visible = len(offer.steppers) > 1
        self._about_step.visible = bool(offer.steppers)
        for name, *_ in CONTACT_SLIDERS:
            self._sliders[name].visible = name.removesuffix("_factor") in offer.factors
        self._verdict.visible = bool(offer.factors)
        springs = any(tool.stiffness > 0.0 for tool in tools)  # not so where hand and tool are one
        for name, *_ in TOOL_SLIDERS:
            self._sliders[name].visible = springs if name.startswith("coupling") else held
        self._hand_verdict.visible = held
        self._device_folder.visible = self._record_folder.visible = held
        elsewhere = any(not tool.hand for tool in tools)
        self._clutch.visible = self._scale.visible = elsewhere
        self._offer_options(offer)
        self._set_controls(description)
        self._verdict.content = _verdict_html(description.verdict)
        self._hand_verdict.content = "".join(_sheet_verdict(sheet) for sheet in tools)
        self._about_device.content = "".join(_sheet_html(sheet) for sheet in tools)

    def _set_controls(self, description: Description) -> None:
        settings, offer = description.settings, description.offer
        _choose_from(self._method, description.methods, settings.method)
        _choose_from(self._integrator, offer.steppers, settings.integrator)
        controls: list[tuple[Any, Any]] = [
            (self._scene, settings.scene),
            *(
                (self._options[control.option], _key(control.choices, offer.values[control.option]))
                for control in offer.controls
                if control.span is None
            ),
            (self._clutch, settings.clutch),
            (self._scale, settings.scale),
        ]
        for control, value in controls:
            if control.value != value:
                control.value = value
        sliders = [(slider, getattr(settings, name)) for name, slider in self._sliders.items()]
        sliders += [
            (self._options[control.option], offer.values[control.option])
            for control in offer.controls
            if control.span is not None
        ]
        for slider, value in sliders:
            if not np.isfinite(slider.value):
                slider.value = value

    def _show_recording(self, frame: Frame, news: News) -> None:
        running = frame.recording == RECORD_RUNS
        buttons = (STOP,) if running else (START, REPLAY) if news.file else (START,)
        if self._record.options != buttons:
            self._record.options = buttons
        file = html.escape(news.file)
        words = {
            RECORD_RUNS: f"records to {file}: {frame.recorded:.0f} s",
            RECORD_FAILED: f"{file}: the recording failed",
        }.get(frame.recording, f"{file}: {frame.recorded:.1f} s" if file else "nothing yet")
        content = f'<div style="{SMALL}">{words}</div>'
        if self._file.content != content:
            self._file.content = content

    def _show_notice(self, frame: Frame, news: News) -> None:
        """Words about what went wrong, and limits and faults that act or acted a moment ago."""
        now = time.perf_counter()
        bits = frame.faults
        for tool in frame.tools:
            bits |= int(tool["faults"])
        for words, grave in faults_in_words(bits):
            self._seen[words] = (now, grave)
        self._seen = {w: seen for w, seen in self._seen.items() if now - seen[0] < FAULT_SHOWN}
        lines = [] if news.notice is None else [(news.notice, RED)]
        lines += [(words, RED if grave else AMBER) for words, (_, grave) in self._seen.items()]
        self._say(lines)

    def _say(self, lines: list[tuple[str, str]]) -> None:
        content = "".join(
            f'<div style="{SMALL};color:{colour}" role="alert"><b>{html.escape(words)}</b></div>'
            for words, colour in lines
        )
        if content != self._said:
            self._said = content
            self._status.content = content

    def _legend_html(self, description: Description, formations: bool) -> str:
        """What colours and lines mean; the scale of stress changes as soft bodies are deformed."""
        stage, held = self._stage, bool(description.tools)
        low, high = stage.pressure_range
        lines = [
            f'<b style="color:{_css(STICK_COLOUR)}">⟶ ▬▬</b> sticking contact, closed outline',
            f'<b style="color:{_css(SLIP_COLOUR)}">⟶ ╌╌</b> slipping contact, dashed outline',
            f"arrow: force on the {'tool or the ' if held else ''}upper body, "
            f"{si(stage.cell_force, 'N')} per grid cell, "
            f"not drawn longer than {si(stage.longest_force, 'N')}",
        ]
        if held:
            lines += [
                f'<b style="color:{_css(FORCE_COLOUR)}">⟶</b> force that you feel, the same scale',
                f'<b style="color:{_css(TORQUE_COLOUR)}">⟶</b> torque that you feel, '
                f"{si(self._tools.cell_torque, 'N m')} per grid cell",
                "translucent: where your hand is; the line to it goes from green to red with the "
                "force",
            ]
        if formations:
            tool, other, x, y, z, _ = (_css(colour) for colour in MARK_COLOURS)
            lines += [
                f'<b style="color:{tool}">▬▬</b> what touches of the tool, '
                f'<b style="color:{other}">▬▬</b> of the other body, ▬▬ where',
                f'<b style="color:{x}">x</b> <b style="color:{y}">y</b> '
                f'<b style="color:{z}">z</b>: task frame of a contact, y its normal',
            ]
        lines += [
            f"grid cell: {si(stage.grid_cell, 'm')}",
            f"patch: {_swatches(PRESSURE_COLOURS)}<br>"
            f"{si(low, 'Pa')} to {si(high, 'Pa')} of pressure, logarithmic; points are darkest",
        ]
        if stage.soft.most_stress > 0.0:
            lines.append(
                f"soft body: {_swatches(STRESS_COLOURS)}<br>"
                f"0 to {si(stage.soft.most_stress, 'Pa')} and more of von Mises stress, linear"
            )
        return f'<div style="{SMALL};padding-top:0.5em">{"<br>".join(lines)}</div>'


def _verdict_html(verdict: Verdict) -> str:
    """Parameters in force, the verdict, and how near it is to the mark where it gets unstable."""
    return (
        f'<div style="{SMALL}">{html.escape(verdict.values)}<br>'
        f'<b style="color:{LEVELS[verdict.level]}">{html.escape(verdict.words)}</b>'
        f"{_gauge(verdict) if verdict.share > 0.0 else ''}</div>"
    )


def _gauge(verdict: Verdict) -> str:
    """A bar up to twice the limit, with a mark at the limit."""
    filled = 50.0 * min(verdict.share, 2.0)
    return (
        '<div style="position:relative;height:1.9em;margin-top:0.3em">'
        '<div style="height:0.5em;background:#d8dcdf;border-radius:0.25em;overflow:hidden">'
        f'<div style="width:{filled:.0f}%;height:100%;background:{LEVELS[verdict.level]}"></div>'
        '</div><div style="position:absolute;left:50%;top:-0.15em;width:2px;height:0.8em;'
        f'background:{RED}"></div>'
        '<div style="position:absolute;left:50%;top:0.6em;transform:translateX(-50%)">'
        "unstable from here</div></div>"
    )


def _sheet_verdict(sheet: Sheet) -> str:
    values = (
        f"{sheet.name}: {si(sheet.stiffness, 'N/m')}, {si(sheet.damping, 'N s/m')}, "
        f"at most {si(sheet.max_force, 'N')}; {si(1e3 * sheet.mass, 'g')}."
    )
    if sheet.coupling is None:
        return f'<div style="{SMALL}">{html.escape(values)}</div>'
    return _verdict_html(sheet.coupling._replace(values=values))


def _force_html(sheets: tuple[Sheet, ...], frame: Frame, news: News) -> str:
    """What every hand feels of its tool, what was changed for its device, and what failed."""
    lines = []
    for sheet, tool in zip(sheets, frame.tools, strict=False):
        words = force_in_words(sheet, tool, paused=frame.paused, stopped=frame.stopped)
        lines.append((f"{sheet.name}, {sheet.device}: {words}", "inherit"))
        lines.append((net_in_words(sheet, tool), AMBER))
    lines += [(note, AMBER) for note in news.notes]
    lines += [(f"failed since the start: {words}", AMBER) for words in news.device_faults]
    return "".join(
        f'<div style="{SMALL};color:{colour}">{html.escape(words)}</div>'
        for words, colour in lines
        if words
    )


def _touching_html(graphs: tuple[FormationGraph, ...]) -> str:
    """What touches what now: a line for each contact, and room for three so that nothing jumps."""
    names = [html.escape(graph.names[graph.now]) for graph in graphs]
    lines = "<br>".join(name.replace(JOINT, f"<br>{JOINT.lstrip()}") for name in names)
    return (
        f'<div style="{SMALL};min-height:6.2em">Contact formation:<br>'
        f'<b role="status" style="color:{BLUE}">{lines}</b></div>'
        if names
        else ""
    )


def _sheet_html(sheet: Sheet) -> str:
    """Which device holds a tool, and its limits."""
    if sheet.hand:
        limits = (
            "the handles on this page. They reach everywhere, so they need no clutch and no scale; "
            "what you would feel is shown by the arrows."
        )
    elif sheet.device_force > 0.0:
        torque = si(sheet.device_torque, "N m") if sheet.device_torque > 0.0 else "no torque"
        limits = f"at most {si(sheet.device_force, 'N')}, {torque}."
    else:
        limits = "gives no force; the arrows show what you would feel."
    head = html.escape(f"{sheet.name}: {sheet.device}")
    return f'<div style="{SMALL}"><b>{head}</b>: {limits}</div>'


def _member(members: Any, event: Any) -> int:
    """The body of a batch that an event means."""
    index = event.instance_index or 0
    return int(members[index if 0 <= index < len(members) else 0])


def _choose_from(dropdown: Any, choices: tuple[str, ...], value: str) -> None:
    """Other choices and the chosen one; this first, or the library would choose another."""
    if not choices:
        return
    if dropdown.value != value:
        dropdown.value = value
    if dropdown.options != choices:
        dropdown.options = choices


def _key(table: Mapping[str, Any], value: Any) -> str:
    return next(key for key, entry in table.items() if entry == value)


def _swatches(colours: Any) -> str:
    """A strip of colours."""
    return "".join(
        f'<span style="display:inline-block;width:1.4em;height:0.8em;background:{_css(c)}"></span>'
        for c in colours
    )


def _css(colour: Any) -> str:
    return "rgb({},{},{})".format(*(int(c) for c in colour))
