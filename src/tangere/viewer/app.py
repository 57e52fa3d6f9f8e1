"""`play`: a scene that runs in real time on a page in the browser, or without one."""

from __future__ import annotations

import os
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tangere.errors import SceneError
from tangere.geometry.files import FORMATS, load
from tangere.scene.mesh_scene import scene_to_feel, tolerance_for
from tangere.viewer.director import Director
from tangere.viewer.frame import Settings
from tangere.viewer.host import Host
from tangere.viewer.method_choice import Preferred
from tangere.viewer.runner import Built, Runner, Tally
from tangere.viewer.watch import Watch

if TYPE_CHECKING:
    from tangere.maths.vec import Array
    from tangere.scene.scene import Scene, Tool
    from tangere.viewer.held_session import HeldSession

HEADLESS_SECONDS = 5.0  # [s] simulated without a page when nothing else is asked
HEADLESS_CHUNK = 0.05  # [s] simulated between two checks
OWN_SCENE = "(this scene)"


@dataclass(frozen=True, slots=True)
class PlaySummary:
    """What happened while a scene was played."""

    scene: str
    method: str
    integrator: str
    dt: float
    """Step [s]."""
    steps: int
    simulated: float
    """Simulated time [s]."""
    wall: float
    """Time on the wall [s]."""
    step_seconds: float
    """Mean computing time per step [s]."""
    worst_step_seconds: float
    """Worst computing time per step, averaged over one frame [s]."""
    most_contacts: int
    kinetic: float
    """Kinetic energy at the end [J]."""
    faults: tuple[str, ...]
    """What stopped the simulation, in words; empty when nothing did."""
    hands: str = ""
    """What the hands did, in a few lines; empty in a scene without a tool."""

    def __str__(self) -> str:
        """A few lines for the terminal."""
        pace = self.simulated / self.wall if self.wall > 0.0 else 0.0
        computing = []
        if self.worst_step_seconds > 0.0:
            computing = [
                f"  computing per step: mean {1e6 * self.step_seconds:.1f} us, "
                f"worst frame {1e6 * self.worst_step_seconds:.1f} us"
            ]
        lines = [
            f"{self.scene}, method {self.method}, {self.integrator} step of {1e3 * self.dt:g} ms",
            f"  simulated {self.simulated:.2f} s in {self.wall:.2f} s ({pace:.2f} x real time), "
            f"{self.steps} steps",
            *computing,
            f"  most contacts {self.most_contacts}, kinetic energy at the end {self.kinetic:.3g} J",
        ]
        lines += [f"  {fault}" for fault in self.faults]
        lines += [f"  {line}" for line in self.hands.splitlines()]
        return "\n".join(lines)


def play(
    scene: Scene | str,
    *,
    method: str | None = None,
    integrator: str | None = None,
    device: str | Sequence[str] = "browser",
    rate: float = 1000.0,
    dt: float = 1e-3,
    seconds: float | None = None,
    record: str | os.PathLike[str] | None = None,
    headless: bool = False,
    port: int = 8080,
    open_browser: bool = True,
    process: bool = True,
    reconnect: bool = False,
    scale: float = 1.0,
    shell: float | None = None,
) -> PlaySummary:
    """Run a scene in real time on a page in the browser, and print what happened.

    Args:
        scene: A scene, the name of a built-in one, the path of a scene file, or that of a mesh
            file, which then stands on a floor, to be felt with a ball.
        method: Name of a contact method; what suits the scene if not given.
        integrator: A step that the method can have, its first if not given: "implicit" (stable at
            any stiffness) or "explicit" (the papers' step); hands need the implicit one.
        device: What holds the tools: one name for all of them, or one for each.
        rate: Of the haptic loop [Hz].
        dt: Step of the scene [s]; with a tool, whole ticks of the haptic loop.
        seconds: Stop after this time on the wall [s]; None runs until Ctrl-C. Headless: simulated
            time [s], 5 s if not given.
        record: File to record the hands into.
        headless: No page and no pace: simulate as fast as possible, with hands that keep still.
        port: Of the page, on this machine only; a busy one is stepped over.
        open_browser: Open the page where there is a screen; the address is printed in any case.
        process: Drive devices that push from a process of their own, which lets go of the hand
            whatever happens to this one.
        reconnect: Open a device again that was lost; else the session stops.
        scale: Of a mesh file: metres per unit, e.g. 0.001 for millimetres.
        shell: Of a mesh file: take its surface for a shell of this thickness [m].

    Raises:
        SceneError: Unknown scene, method or integrator, or settings that cannot be simulated.
        DeviceError: Unknown device.
    """
    if seconds is not None and not 0.0 < seconds < float("inf"):
        raise SceneError(f"play seconds: must be positive, got {seconds:g}; leave it out to run on")
    first, plain = page_scenes(scene, scale, shell)
    builder = page_builder(plain)
    held = bool(plain(first).tools)
    prefer = _preferences(first if _is_mesh_file(scene) else "", plain)
    if method is None:
        method = prefer(first).method
    settings = _first_settings(first, method, integrator, dt, held)
    if settings.method == prefer(first).method:
        settings = replace(settings, options=prefer(first).options)
    if record is not None and not held:
        raise SceneError(f"play record: {first} has no tool, so there is no hand to record")
    _check_devices(device, plain(first).tools)
    file = None if record is None else Path(record)

    def make(wanted: Settings) -> Runner | HeldSession:
        from tangere.viewer.held_session import HeldSession

        if plain(wanted.scene).tools:
            first_file = file if wanted is settings else None
            return HeldSession(
                wanted,
                plain,
                device=device,
                rate=rate,
                record=first_file,
                process=process,
                reconnect=reconnect,
            )
        return Runner(wanted, builder)

    if not headless:
        summary = _run_page(settings, make, prefer, seconds, port, open_browser)
    elif held:
        summary = _run_still(settings, plain, rate, seconds or HEADLESS_SECONDS, file)
    else:
        builder(settings).simulation.step(1)  # compiles what is not compiled yet
        summary = _run_headless(builder(settings), seconds or HEADLESS_SECONDS)
    _say(str(summary))
    return summary


def _first_settings(
    scene: str, method: str, integrator: str | None, dt: float, held: bool
) -> Settings:
    """What is asked for, with what suits the scene for what is not."""
    from tangere.contact.method import methods
    from tangere.viewer.method_choice import stepper_in_hand

    record, _ = methods.resolve(method)
    known, in_hand = record.mover.steppers, stepper_in_hand(record.name)
    if integrator is not None and integrator not in known:
        raise SceneError(f"unknown integrator {integrator!r}; choose one of: {', '.join(known)}")
    if held and integrator not in (None, in_hand):
        raise SceneError(f"play integrator: {scene} has a tool, and hands need the {in_hand} step")
    chosen = in_hand if held else integrator or known[0]
    return Settings(scene, method=record.name, integrator=chosen, dt=dt)


def _check_devices(device: str | Sequence[str], tools: Sequence[Tool]) -> None:
    """Refuse an unknown name also where no device is opened, and a wrong number of them."""
    from tangere.devices.registry import find
    from tangere.viewer.held_session import device_names

    for name in [device] if isinstance(device, str) else device:
        find(name)
    device_names(device, tools)


def scene_names() -> list[str]:
    """Names of the built-in scenes."""
    from tangere.scene.library import SCENES

    return list(SCENES)


def preferred_method(scene: str, plain: Callable[[str], Scene] | None = None) -> str:
    """The contact method that suits a scene best; of a user's own, the first that knows it.

    Args:
        scene: Its name.
        plain: Makes scenes by name; None: only built-in ones are asked for.
    """
    from tangere.contact.method import methods
    from tangere.scene.library import SCENES
    from tangere.viewer.method_choice import offered

    if scene in SCENES:
        return SCENES[scene].method
    able = () if plain is None else offered(plain(scene))
    return methods.default if methods.default in able or not able else able[0]


def _preferences(mesh: str, plain: Callable[[str], Scene]) -> Callable[[str], Preferred]:
    """What suits each scene; `mesh` is the one that was made of a mesh file, if any."""

    def prefer(scene: str) -> Preferred:
        if scene != mesh:
            return Preferred(preferred_method(scene, plain), {})
        return Preferred("penalty", {"tolerance": tolerance_for(plain(scene))})

    return prefer


def _is_mesh_file(scene: Scene | str) -> bool:
    return isinstance(scene, str) and Path(scene).suffix.lower() in FORMATS


def page_scenes(
    scene: Scene | str, scale: float = 1.0, shell: float | None = None
) -> tuple[str, Callable[[str], Scene]]:
    """Name of the first scene, and a function from names to fresh scenes.

    Args:
        scene: A scene, the name of a built-in one, or a file.
        scale: Of a mesh file: metres per unit.
        shell: Of a mesh file: thickness [m].
    """
    from tangere.scene import library
    from tangere.scene.scene import Scene

    own: dict[str, Scene] = {}
    mesh = _is_mesh_file(scene)
    if not mesh and (scale != 1.0 or shell is not None):
        raise SceneError(f"play scale, shell: are for mesh files ({' '.join(FORMATS)})")
    if isinstance(scene, Scene):
        first = OWN_SCENE
        own[first] = scene
    elif scene in scene_names():
        first = scene
    elif Path(scene).suffix == ".toml":
        first = Path(scene).name
        own[first] = Scene.load(scene)
    elif mesh:
        first = Path(scene).name
        own[first] = scene_to_feel(load(scene, scale=scale, shell=shell), Path(scene).stem)
    else:
        known = ", ".join(scene_names())
        raise SceneError(
            f"play: unknown scene {scene!r}; give a .toml file, a mesh file "
            f"({' '.join(FORMATS)}) or one of: {known}"
        )
    return first, lambda name: own[name] if name in own else library.build(name)


def page_builder(plain: Callable[[str], Scene]) -> Callable[[Settings], Built]:
    """A function from settings to a simulation of a scene without a hand."""

    def build(settings: Settings) -> Built:
        from tangere.simulation import Simulation
        from tangere.viewer.contact_controls import scaled
        from tangere.viewer.method_choice import chosen_options

        chosen = scaled(plain(settings.scene), settings)
        simulation = Simulation(
            chosen,
            method=chosen_options(settings, chosen),
            dt=settings.dt,
            integrator=settings.integrator,
        )
        return Built(settings, chosen, simulation)

    return build


def _run_headless(built: Built, seconds: float) -> PlaySummary:
    simulation, tally = built.simulation, Tally()
    watch = Watch(built.scene, simulation)
    chunk = max(1, round(HEADLESS_CHUNK / simulation.dt))
    total = max(1, round(seconds / simulation.dt))
    begin = time.perf_counter()
    while tally.steps < total and not tally.faults:
        steps = min(chunk, total - tally.steps)
        start = time.perf_counter()
        try:
            simulation.step(steps)
            energy = simulation.energy.total
            trouble = watch.trouble(simulation.positions, simulation.orientations, energy)
        except ArithmeticError as error:
            trouble = str(error)
        if trouble:
            tally.faults.append(f"stopped at t = {simulation.time:.2f} s: {trouble}")
        tally.count(steps, simulation.dt, time.perf_counter() - start, len(simulation.contacts))
    return _summary(built, tally, time.perf_counter() - begin)


def described(first: str) -> dict[str, str]:
    """Scenes to choose from and their one-line descriptions, the first one in front."""
    from tangere.scene.library import SCENES

    return {first: "", **{name: entry.description for name, entry in SCENES.items()}}


def _run_still(
    settings: Settings,
    plain: Callable[[str], Scene],
    rate: float,
    seconds: float,
    record: Path | None,
) -> PlaySummary:
    """Hands that keep still, on the virtual clock."""
    from tangere.devices.simulated import Scripted
    from tangere.session.session import Session
    from tangere.viewer.held_session import contact_rate
    from tangere.viewer.method_choice import chosen_options

    scene = plain(settings.scene)
    still = [Scripted(_keep_still(tool)) for tool in scene.tools]
    session = Session(
        scene,
        method=chosen_options(settings, scene),
        device=still,
        rate=rate,
        contact_rate=contact_rate(settings, rate),
    )
    begin = time.perf_counter()
    trace = session.run(seconds, realtime=False, record=record)
    wall = time.perf_counter() - begin
    tally = Tally(
        session.contact.turns, session.simulation.time, wall, len(session.simulation.contacts)
    )
    built = Built(settings, scene, session.simulation)
    return _summary(built, tally, wall, str(trace.summary()))


def _keep_still(tool: Tool) -> Callable[[float], tuple[Array, Array]]:
    """A script that holds a tool where it is."""
    from tangere.maths.rotations import rotation_of

    grip = tool.position + rotation_of(tool.orientation) @ tool.grip
    return lambda _: (grip, tool.orientation)


def _run_page(
    settings: Settings,
    make: Callable[[Settings], Runner | HeldSession],
    prefer: Callable[[str], Preferred],
    seconds: float | None,
    port: int,
    open_browser: bool,
) -> PlaySummary:
    host = Host(described(settings.scene), port, _say)
    director: Director | None = None
    begin = end = time.perf_counter()
    try:
        host.start()
        first = make(settings)  # refuses wrong settings before a page opens
        host.wait()
        _say(f"{host.address}  (Ctrl-C ends it)")
        if open_browser and _has_screen():
            webbrowser.open(host.address)
        # On a fresh machine the kernels compile here, and the page says so.
        director = Director(make, first, prefer)
        host.show(director)
        begin = time.perf_counter()
        host.run(seconds, threading.Event())
    except KeyboardInterrupt:
        _say("")  # the terminal stands behind its ^C
    finally:
        if director is not None:
            director.stop()
        end = time.perf_counter()
        host.close()
    if director is None:
        raise KeyboardInterrupt
    return _page_summary(director.source, end - begin)


def _page_summary(source: Runner | HeldSession, wall: float) -> PlaySummary:
    if isinstance(source, Runner):
        return _summary(source.built, source.tally, wall)
    session, settings = source.session, source.description.settings
    tally = Tally(source.steps, source.simulated, most_contacts=source.most_contacts)
    tally.faults = source.faults
    summary = "" if source.trace is None else str(source.trace.summary())
    return _summary(Built(settings, session.scene, session.simulation), tally, wall, summary)


def _summary(built: Built, tally: Tally, wall: float, hands: str = "") -> PlaySummary:
    return PlaySummary(
        scene=built.settings.scene,
        method=built.settings.method,
        integrator=built.simulation.integrator,
        dt=built.simulation.dt,
        steps=tally.steps,
        simulated=tally.simulated,
        wall=wall,
        step_seconds=tally.stepping / max(1, tally.steps),
        worst_step_seconds=tally.worst_step,
        most_contacts=tally.most_contacts,
        kinetic=float(built.simulation.energy.kinetic),
        faults=tuple(tally.faults),
        hands=hands,
    )


def _has_screen() -> bool:
    """Whether a browser could show a window; one in the terminal would only be in the way."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
