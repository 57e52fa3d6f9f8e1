"""What a device sees of a session: how long a force takes, how a program's end is felt.

All figures are from the log of the fake device, whose clock and memory are its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tangere.devices.simulated import Scripted
from tangere.fakes.held_program import LEAN, lean_on, lower
from tangere.fakes.vendors import Libraries, World, build
from tangere.haptics.safety import Safety
from tangere.haptics.servo import Counters
from tangere.maths.vec import Array

STEP = 0.002  # of the grip [m]: 0.4 N
# Neither is a multiple of a tick: steps and samples come at all moments between two ticks.
STEP_PERIOD = 0.0503  # between two steps, on average [s]
SAMPLE = 251_300  # of the device's own clock [ns]
CHANGE = 0.1  # of the force that counts as felt [N]
SEEN = 20e6  # a step that is not answered by then was not answered [ns]
PATIENCE = 10.0  # time that an end may take to be seen [s]


@contextmanager
def vendors() -> Iterator[Libraries]:
    """The fake libraries in a folder that goes with the block; `vendors.why_not` says if it can."""
    with tempfile.TemporaryDirectory(prefix="tangere-vendors-") as folder:
        yield build(Path(folder))


@contextmanager
def in_world(libraries: Libraries, world: World) -> Iterator[World]:
    """Have drivers of this process, and of those it starts, live in a world."""
    before = {name: os.environ.get(name) for name in libraries.environment(world)}
    os.environ.update(libraries.environment(world))
    try:
        yield world
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def busy_python(busy: bool = True) -> Iterator[None]:
    """A thread beside that computes in pure Python, and never lets go of the lock by itself."""
    stop = threading.Event()

    def work() -> None:
        total = 0
        while not stop.is_set():
            for i in range(10_000):
                total += i * i % 7

    thread = threading.Thread(target=work, daemon=True)
    if busy:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if busy:
            thread.join()


@dataclass(frozen=True)
class Answers:
    """How a device was answered when its grip stepped."""

    rate: float  # commands per second
    waits: Array  # from a step to the first command that feels it [s]
    unanswered: int  # steps
    longest_gap: float  # between two commands [s]
    counters: Counters  # of the session's loop

    @property
    def percentiles(self) -> tuple[float, float, float]:
        """Wait p50, p99 and longest [s]."""
        if not len(self.waits):
            return np.inf, np.inf, np.inf
        p50, p99 = np.percentile(self.waits, (50.0, 99.0))
        return float(p50), float(p99), float(self.waits.max())


def answers(
    libraries: Libraries,
    folder: Path,
    *,
    device: str = "forcedimension",
    call: float = 0.0,
    busy: bool = False,
    seconds: float = 6.0,
) -> Answers:
    """Lean on a floor while the grip steps at irregular times.

    Args:
        libraries: The fakes.
        folder: For the world's file.
        device: By name.
        call: How long each read and each write of the driver takes [s].
        busy: Whether a Python thread computes in this process.
        seconds: How long it is looked at.
    """
    # one read and one write a tick; a device with a gripper has two reads
    model = "Touch" if device == "openhaptics" else "omega.6"
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".world") as name:
        os.unlink(name.name)
        world = World(name.name, model=model, capacity=round(3000 * (seconds + 8.0)))
        # a grip that steps whatever it feels gives energy, which the net would answer
        plain = Safety(net=False)
        with in_world(libraries, world), lean_on(device, safety=plain) as session:
            lower(world, session)
            time.sleep(0.7)  # the ramp
            world["read_ns"] = world["write_ns"] = round(1e9 * call)
            world["sample_ns"] = SAMPLE
            world["step_size"], world["step_period"] = STEP, STEP_PERIOD
            begin = time.monotonic_ns()
            with busy_python(busy):
                session.wait(seconds)
            end = time.monotonic_ns()
            return _answered(world, begin, end, session.live.hands.counters)
        raise AssertionError  # a session that runs does not swallow exceptions


def _answered(world: World, begin: int, end: int, counters: Counters) -> Answers:
    log = world.log("write")
    log = log[(log["ns"] >= begin) & (log["ns"] <= end)]
    times, force = log["ns"], log["wrench"][:, :3]
    steps = world.steps(end)
    steps = steps[(steps > times[0]) & (steps < times[-1] - SEEN)]
    waits, unanswered = [], 0
    for at in steps:
        first = int(np.searchsorted(times, at))
        later = np.arange(first, np.searchsorted(times, at + SEEN))
        felt = np.linalg.norm(force[later] - force[first - 1], axis=1) > CHANGE
        if felt.any():
            waits.append(1e-9 * (times[later[felt.argmax()]] - at))
        else:
            unanswered += 1
    span = 1e-9 * (times[-1] - times[0])
    gap = 1e-9 * float(np.diff(times).max())
    return Answers(float((len(times) - 1) / span), np.array(waits), unanswered, gap, counters)


def leaning(seconds: float) -> Counters:
    """How the loop of a session keeps time whose hand, a script, leans on a floor."""
    session = lean_on(Scripted(_lean))
    session.run(seconds)
    return session.live.hands.counters


def _lean(t: float) -> tuple[float, float, float]:
    """Way of the hand: down by LEAN in half a second, from where it holds the cube."""
    return 0.0, 0.0, 0.015 - LEAN * min(1.0, 2.0 * t)


@dataclass(frozen=True)
class End:
    """How a device saw a program end, counted from that moment; inf: never [s]."""

    zero: float
    closed: float


def end_of_program(libraries: Libraries, folder: Path, ending: str) -> End:
    """Run `fakes.held_program` to one of its ends, and look at the device."""
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".world") as name:
        os.unlink(name.name)
        world = World(name.name, capacity=50_000)
        with in_world(libraries, world):
            program = subprocess.Popen(
                [sys.executable, "-m", "tangere.fakes.held_program", ending],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        assert program.stdout is not None
        try:
            told = program.stdout.readline()
            if not told:
                raise RuntimeError(f"held_program {ending}: it ended before it had begun")
            at = int(told)
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end and not _closed(world, at):
                time.sleep(0.05)
                if ending == "sigstop" and time.monotonic_ns() - at > 5e8:
                    break  # it stays open, and would ramp up again
            return End(_zero(world, at), _closed(world, at) or np.inf)
        finally:
            program.kill()
            program.wait()
            program.stdout.close()
            while not _closed(world, 0) and time.monotonic() < end:
                time.sleep(0.01)  # the hand process ends, too


def _zero(world: World, at: int) -> float:
    """Time from a moment to the first command after which all are zero [s]."""
    log = world.log("write")
    pushing = np.flatnonzero(np.any(log["wrench"] != 0.0, axis=1))
    after = int(pushing[-1]) + 1 if len(pushing) else 0
    return max(0.0, 1e-9 * (int(log["ns"][after]) - at)) if after < len(log) else np.inf


def _closed(world: World, at: int) -> float:
    """Time from a moment to the end of the device [s]; 0: it is open."""
    log = world.log("close")
    return 1e-9 * (int(log["ns"][-1]) - at) if len(log) else 0.0
