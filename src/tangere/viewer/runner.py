"""The simulation in its own thread, at the pace of the wall clock.

Every frame simulates the time that has passed since the last one, never more: a slow machine shows
slow motion (and says so by the real-time factor), it never catches up in a burst. All orders from
the page are obeyed between two frames, in this thread; what the page draws is a `Frame`, a copy
that nothing changes any more. This serves scenes that no hand holds a tool in.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError
from tangere.maths.vec import Array
from tangere.viewer.contact_controls import stability
from tangere.viewer.frame import (
    Books,
    Description,
    Frame,
    News,
    Pull,
    Settings,
    history_dtype,
)
from tangere.viewer.hand import Grip
from tangere.viewer.method_choice import CHANGEABLE, changed, offer, offered
from tangere.viewer.orders import Order
from tangere.viewer.soft_surfaces import displacements_of
from tangere.viewer.watch import REMEDY, RESET, Watch

if TYPE_CHECKING:
    from tangere.scene.scene import Scene
    from tangere.simulation import Simulation

FRAME = 1.0 / 60.0  # [s] between frames
SHARE = 0.75  # part of a frame that stepping may fill; the page needs the rest
LONGEST_FRAME = 2.0 * FRAME  # [s] simulated for one frame at most, so that no burst follows a stall
PULL_INTERVAL = 0.004  # [s] between two impulses of the pulling spring
SMOOTHING = 0.1  # weight of the newest frame in the shown step time and real-time factor
LEAST_GRAVITY = 1.0  # [m/s²] a push reckons with at least this

builds = itertools.count(1)  # numbers of descriptions, over all scenes of a session


@dataclass(frozen=True, slots=True)
class Built:
    """A simulation, the scene it was compiled from, and what it was built for."""

    settings: Settings
    scene: Scene
    simulation: Simulation


@dataclass(slots=True)
class Tally:
    """Sums over the whole session, for the summary."""

    steps: int = 0
    simulated: float = 0.0
    stepping: float = 0.0
    most_contacts: int = 0
    worst_step: float = 0.0
    faults: list[str] = field(default_factory=list)

    def count(self, steps: int, dt: float, spent: float, contacts: int) -> None:
        """Add a run of steps of dt [s], the seconds it took, and the contacts after it."""
        self.steps += steps
        self.simulated += steps * dt
        self.stepping += spent
        self.worst_step = max(self.worst_step, spent / steps)
        self.most_contacts = max(self.most_contacts, contacts)


class Runner:
    """Owner of the running simulation; every method may be called from any thread."""

    def __init__(self, settings: Settings, build: Callable[[Settings], Built]) -> None:
        self._build = build
        self._wanted = settings
        self._built = build(settings)
        self._watch = Watch(self._built.scene, self._built.simulation)
        self._fresh = False
        self._take = 0
        self._steps = 0
        self._before = 0.0
        self._paused = False
        self._speed = 1.0
        self._debt = 0.0
        self._step_seconds = 0.0
        self._real_time = 0.0
        self._notice: str | None = None
        self._fault = False
        self._grip: Grip | None = None
        self._pull: Pull | None = None
        self._orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tangere-simulation", daemon=True)
        self._rows: deque[tuple[float, ...]] = deque(maxlen=1000)
        self.tally = Tally()
        self.description = self._describe()
        self.frame = self._snapshot()

    @property
    def built(self) -> Built:
        """What runs now."""
        return self._built

    # ------------------------------------------------------------------ orders

    def start(self) -> None:
        """Begin to run."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the last frame stays."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def obey(self, order: Order) -> None:
        """Carry out what the page asks."""
        verb, values = order
        if verb in CHANGEABLE:
            self.configure(**{verb: values[0]})
        elif verb == "reset":
            self.reset()
        elif verb == "pause":
            self.pause(values[0])
        elif verb == "speed":
            self.set_speed(values[0])
        elif verb == "push":
            self.push(values[0], np.array(values[1]))
        elif verb == "grab":
            self.grab(values[0], np.array(values[1]), np.array(values[2]))
        elif verb == "drag":
            self.drag(np.array(values[0]))
        elif verb == "release":
            self.release()

    @property
    def news(self) -> News:
        """What went wrong last."""
        return News(self._notice)

    def new_rows(self) -> Any:
        """Rows of the live plots since the last call."""
        rows = np.zeros(len(self._rows), history_dtype(0))
        for row in rows:
            values = self._rows.popleft()
            for name, value in zip(
                ("take", "time", "kinetic", "potential", "contacts"), values, strict=True
            ):
                row[name] = value
        return rows

    def page_lost(self, lost: bool) -> None:
        """Nothing here depends on the page."""

    def configure(self, **changes: Any) -> None:
        """Rebuild with other settings; the motion goes on unless the scene or the step changes.

        Args:
            changes: Fields of `Settings`, or `option` with a name and a value.
        """
        self._orders.put(lambda: self._want(**changes))

    def reset(self) -> None:
        """Back to time zero, running."""
        self._orders.put(self._restart)

    def pause(self, paused: bool) -> None:
        """Stop or resume time; after a fault only a fresh start resumes."""
        self._orders.put(lambda: self._set_paused(paused))

    def set_speed(self, speed: float) -> None:
        """Simulated seconds per second on the wall."""
        self._orders.put(lambda: setattr(self, "_speed", speed))

    def push(self, body: int, direction: Array) -> None:
        """A blow on a body's centre of mass: it slides or topples by about its own size."""
        self._orders.put(lambda: self._blow(body, direction))

    def grab(self, body: int, point: Array, target: Array) -> None:
        """Hook a soft spring to the body at a world point [m], its other end at `target` [m]."""
        self._orders.put(lambda: self._take_hold(body, point, target))

    def drag(self, target: Array) -> None:
        """Move the other end of that spring [m]."""
        self._orders.put(lambda: self._move_hand(target))

    def release(self) -> None:
        """Unhook the spring."""
        self._orders.put(self._let_go)

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._stop.is_set():
            start = time.perf_counter()
            try:
                self._obey()
                if not self._paused:
                    self._advance(min(start - last, LONGEST_FRAME))
            except ArithmeticError as error:
                self._halt(f"{error}; {self._remedy()}")
            except Exception as error:  # the page must say what happened, whatever it was
                self._halt(f"{type(error).__name__}: {error}")
            frame = self._snapshot()
            if not frame.stopped:
                trouble = self._watch.trouble(
                    frame.positions, frame.orientations, self._built.simulation.energy.total
                )
                if trouble:
                    self._halt(f"{trouble}; {self._remedy()}")
                    frame = self._snapshot()
            self.frame = frame
            books = frame.books
            self._rows.append(
                (frame.take, frame.time, books.kinetic, books.potential, books.contacts)
            )
            last = start
            self._stop.wait(max(0.0, start + FRAME - time.perf_counter()))

    def _obey(self) -> None:
        while True:
            try:
                order = self._orders.get_nowait()
            except queue.Empty:
                break
            order()
        if self._fresh or self._wanted != self._built.settings:
            self._rebuild()

    def _advance(self, elapsed: float) -> None:
        """Simulate the time that passed on the wall, as far as the frame allows."""
        simulation = self._built.simulation
        dt = simulation.dt
        self._debt += elapsed * self._speed
        due = int(self._debt / dt + 1e-9)
        afford = due
        if self._step_seconds > 0.0:
            afford = max(1, int(SHARE * FRAME / self._step_seconds))
        steps = min(due, afford)
        # What cannot be afforded is forgotten: slow motion instead of a burst later.
        self._debt = self._debt - due * dt if steps == due else 0.0
        start = time.perf_counter()
        if steps:
            self._step(simulation, steps)
            spent = time.perf_counter() - start
            self._step_seconds = _smooth(self._step_seconds, spent / steps)
            self._steps += steps
            self.tally.count(steps, dt, spent, len(simulation.contacts))
        self._real_time = _smooth(self._real_time, steps * dt / max(elapsed, 1e-6))

    def _step(self, simulation: Simulation, steps: int) -> None:
        if self._grip is None:
            simulation.step(steps)
            return
        chunk = max(1, round(PULL_INTERVAL / simulation.dt))
        for done in range(0, steps, chunk):
            n = min(chunk, steps - done)
            self._pull = self._grip.pull(simulation, n * simulation.dt)
            simulation.step(n)

    def _remedy(self) -> str:
        return REMEDY.get(self._built.simulation.integrator, RESET)

    def _halt(self, words: str) -> None:
        words = f"Stopped at t = {self._time():.2f} s: {words}."
        self._notice, self._fault, self._paused = words, True, True
        self._let_go()
        self.tally.faults.append(words)

    # ------------------------------------------------------------------ orders, carried out

    def _want(self, **changes: Any) -> None:
        for what, value in changes.items():
            self._wanted = changed(self._wanted, what, value)

    def _restart(self) -> None:
        self._fresh = True

    def _set_paused(self, paused: bool) -> None:
        self._paused = paused or self._fault
        self._debt = 0.0

    def _rebuild(self) -> None:
        """A new simulation for the wanted settings; the old one stays when they do not work out."""
        old, wanted = self._built, self._wanted
        keep = not self._fresh and not self._fault and old.settings.scene == wanted.scene
        # A spring's moving end follows the simulation's own clock, which starts again.
        keep = keep and not any(spring.velocity.any() for spring in old.scene.springs)
        self._fresh = False
        try:
            new = self._build(wanted)
        except SceneError as error:
            self._notice, self._wanted = str(error), old.settings
            self.description = self._describe()  # the page's controls go back to what is
            return
        if keep:
            carry_motion(old.simulation, new.simulation, len(new.scene.bodies))
            self._before = self._time() - new.simulation.time
        else:
            self._take += 1
            self._steps, self._before = 0, 0.0
            self._watch = Watch(new.scene, new.simulation)
            self._paused = self._paused and not self._fault
        self._let_go()
        self._built, self._notice, self._fault = new, None, False
        self._step_seconds, self._debt = 0.0, 0.0
        self.description = self._describe()

    def _blow(self, body: int, direction: Array) -> None:
        if not self._movable(body) or not direction.any():
            return
        record, gravity = self._built.scene.bodies[body], self._built.scene.gravity
        size = record.shape.moments().volume ** (1.0 / 3.0)
        speed = np.sqrt(max(LEAST_GRAVITY, float(np.linalg.norm(gravity))) * size)
        view = self._built.simulation[record]
        view.velocity = np.asarray(view.velocity) + speed * direction / np.linalg.norm(direction)

    def _movable(self, body: int) -> bool:
        """Whether an order means a body of the present scene that can move."""
        bodies = self._built.scene.bodies
        return body < len(bodies) and not bodies[body].fixed

    def _take_hold(self, body: int, point: Array, target: Array) -> None:
        if self._movable(body):
            self._grip = Grip(self._built.simulation, self._built.scene, body, point, target)

    def _move_hand(self, target: Array) -> None:
        if self._grip is not None:
            self._grip.target = target

    def _let_go(self) -> None:
        self._grip, self._pull = None, None

    def _time(self) -> float:
        """Simulated time since the fresh start, over all rebuilt simulations [s]."""
        return self._before + self._built.simulation.time

    def _describe(self) -> Description:
        built = self._built
        settings, scene = built.settings, built.scene
        return Description(
            next(builds),
            settings,
            scene,
            offered(scene),
            offer(settings, scene),
            stability(built),
        )

    def _snapshot(self) -> Frame:
        simulation = self._built.simulation
        return Frame(
            build=self.description.build,
            take=self._take,
            time=self._time(),
            steps=self._steps,
            positions=np.array(simulation.positions),
            orientations=np.array(simulation.orientations),
            contacts=np.array(simulation.contacts),
            displacements=displacements_of(simulation, self._built.scene),
            books=_books(simulation),
            step_seconds=self._step_seconds,
            real_time=0.0 if self._paused else self._real_time,
            speed=self._speed,
            paused=self._paused,
            pull=self._pull,
            stopped=self._fault,
        )


def _books(simulation: Simulation) -> Books:
    energy = simulation.energy
    held = (
        energy.kinetic,
        energy.potential + energy.springs + energy.elastic,
        energy.contact + energy.friction + energy.reserve,
    )
    try:
        audit = simulation.audit
    except SceneError:  # this stepper keeps none
        return Books(*held)
    return Books(*held, energy.dissipated, audit.friction, audit.normal, audit.springs, audit.step)


def carry_motion(old: Simulation, new: Simulation, bodies: int) -> None:
    """Poses, velocities and shapes of all bodies handed on to another simulation of the same scene.

    The new one makes a step first. Overlaps at the very start count as springs under load, and
    those of softer contacts would throw the bodies apart; later ones hold nothing.
    """
    new.step(1)
    for body in range(bodies):
        source, target = old[body], new[body]
        target.position, target.orientation = source.position, source.orientation
        target.velocity, target.angular_velocity = source.velocity, source.angular_velocity
    new.stepper.deform_as(old.stepper)


def _smooth(old: float, new: float) -> float:
    return new if old == 0.0 else old + SMOOTHING * (new - old)
