"""`play`: a scene that runs in real time on a page in the browser, or without one."""

from __future__ import annotations

import os
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tangere.errors import SceneError
from tangere.viewer.frame import Settings
from tangere.viewer.host import Host
from tangere.viewer.runner import Built, Runner, Tally
from tangere.viewer.watch import Watch

if TYPE_CHECKING:
    from tangere.scene.scene import Scene

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

    def __str__(self) -> str:
        """A few lines for the terminal."""
        pace = self.simulated / self.wall if self.wall > 0.0 else 0.0
        lines = [
            f"{self.scene}, method {self.method}, {self.integrator} step of {1e3 * self.dt:g} ms",
            f"  simulated {self.simulated:.2f} s in {self.wall:.2f} s ({pace:.2f} x real time), "
            f"{self.steps} steps",
            f"  computing per step: mean {1e6 * self.step_seconds:.1f} us, "
            f"worst frame {1e6 * self.worst_step_seconds:.1f} us",
            f"  most contacts {self.most_contacts}, kinetic energy at the end {self.kinetic:.3g} J",
        ]
        lines += [f"  {fault}" for fault in self.faults]
        return "\n".join(lines)


def play(
    scene: Scene | str,
    *,
    method: str = "volume",
    integrator: str = "implicit",
    dt: float = 1e-3,
    seconds: float | None = None,
    headless: bool = False,
    port: int = 8080,
    open_browser: bool = True,
) -> PlaySummary:
    """Run a scene in real time on a page in the browser, and print what happened.

    Args:
        scene: A scene, the name of a built-in one, or the path of a scene file.
        method: "volume" or "point".
        integrator: "implicit" (stable at any stiffness) or "explicit" (the papers' step).
        dt: Step [s].
        seconds: Stop after this time on the wall [s]; None runs until Ctrl-C. Headless: simulated
            time [s], 5 s if not given.
        headless: No page and no pace: simulate as fast as possible.
        port: Of the page, on this machine only; a busy one is stepped over.
        open_browser: Open the page where there is a screen; the address is printed in any case.

    Raises:
        SceneError: Unknown scene, method or integrator, or settings that cannot be simulated.
    """
    if seconds is not None and not 0.0 < seconds < float("inf"):
        raise SceneError(f"play seconds: must be positive, got {seconds:g}; leave it out to run on")
    first, builder = page_builder(scene)
    settings = Settings(first, method=method, integrator=integrator, dt=dt)
    if headless:
        builder(settings).simulation.step(1)  # compiles what is not compiled yet
        summary = _run_headless(builder(settings), seconds or HEADLESS_SECONDS)
    else:
        summary = _run_page(settings, builder, seconds, port, open_browser)
    _say(str(summary))
    return summary


def scene_names() -> list[str]:
    """Names of the built-in scenes."""
    from tangere.scene.library import SCENES

    return list(SCENES)


def page_builder(scene: Scene | str) -> tuple[str, Callable[[Settings], Built]]:
    """Name of the first scene, and a function from settings to a simulation."""
    from tangere.scene.scene import Scene

    own: dict[str, Scene] = {}
    if isinstance(scene, Scene):
        first = OWN_SCENE
        own[first] = scene
    elif scene in scene_names():
        first = scene
    elif Path(scene).suffix == ".toml":
        first = Path(scene).name
        own[first] = Scene.load(scene)
    else:
        known = ", ".join(scene_names())
        raise SceneError(f"play: unknown scene {scene!r}; give a .toml file or one of: {known}")

    def build(settings: Settings) -> Built:
        from tangere.scene import library
        from tangere.simulation import Simulation, Volume
        from tangere.viewer.feel import scaled

        plain = own[settings.scene] if settings.scene in own else library.build(settings.scene)
        chosen = scaled(plain, settings)
        method: str | Volume = settings.method
        if method == "volume":
            friction = settings.friction if settings.integrator == "explicit" else "exact"
            method = Volume(normalization=settings.normalization, friction=friction)
        simulation = Simulation(
            chosen, method=method, dt=settings.dt, integrator=settings.integrator
        )
        return Built(settings, chosen, simulation)

    return first, build


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


def _run_page(
    settings: Settings,
    builder: Callable[[Settings], Built],
    seconds: float | None,
    port: int,
    open_browser: bool,
) -> PlaySummary:
    host = Host(described(settings.scene), port, _say)
    runner: Runner | None = None
    begin = end = time.perf_counter()
    try:
        host.start()
        simulation = builder(settings).simulation  # refuses wrong settings before a page opens
        host.wait()
        _say(f"{host.address}  (Ctrl-C ends it)")
        if open_browser and _has_screen():
            webbrowser.open(host.address)
        simulation.step(1)  # on a fresh machine the kernels compile here, and the page says so
        runner = Runner(settings, builder)
        runner.start()
        host.show(runner)
        begin = time.perf_counter()
        host.run(seconds, threading.Event())
    except KeyboardInterrupt:
        _say("")  # the terminal stands behind its ^C
    finally:
        if runner is not None:
            runner.stop()
        end = time.perf_counter()
        host.close()
    if runner is None:
        raise KeyboardInterrupt
    return _summary(runner.built, runner.tally, end - begin)


def _summary(built: Built, tally: Tally, wall: float) -> PlaySummary:
    return PlaySummary(
        scene=built.settings.scene,
        method=built.settings.method,
        integrator=built.settings.integrator,
        dt=built.settings.dt,
        steps=tally.steps,
        simulated=tally.simulated,
        wall=wall,
        step_seconds=tally.stepping / max(1, tally.steps),
        worst_step_seconds=tally.worst_step,
        most_contacts=tally.most_contacts,
        kinetic=float(built.simulation.energy.kinetic),
        faults=tuple(tally.faults),
    )


def _has_screen() -> bool:
    """Whether a browser could show a window; one in the terminal would only be in the way."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
