"""Time per step of stacked blocks, ours beside the other engines that are installed.

Blocks of 1 x 1 x 2 m and 1 kg lie on each other, as in [HASEGAWA2004] experiment 1: 3, 6 and 13
high, and 50 as five columns of ten. Every engine keeps its default solver, takes the same step and
makes 20 steps per call. Every turn starts from a fresh world and lets it settle untimed: a penalty
tower of 13 is unstable at 5 ms and would fall in a long run, and falling is another benchmark.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tangere as tg
from tangere.bench.report import Result, Row, Table, line_fit, spread
from tangere.bench.turns import Contestant, durations, median_ratio, take_turns
from tangere.experiments import peers
from tangere.maths.vec import Array
from tangere.steppers.profile import Profile

OURS = "tangere"
PEERS = ("MuJoCo", "Bullet", "ODE")
COUNTS = (3, 6, 13, 50)
STEPS = {1e-3: (1e5, 100.0), 5e-3: (1e4, 30.0)}  # step [s]: our stiffness [N/m], damping [N s/m]
STEPS_PER_CALL = 20
CALLS = 25  # per turn: 0.5 s of motion at 1 ms
SETTLE = 0.3  # [s] of motion before timing: every contact has closed
BLOCK = (1.0, 2.0, 1.0)  # [m] lying
COLUMN = 13  # blocks in one column at most; above, columns of ten
FRICTION = 0.6
# Neighbours overlap a little at the start. ODE's box test picks a sideways normal for faces that
# just touch, and its tower of six explodes.
OVERLAP = 1e-4  # [m]
JITTER = 1e-3  # [m] sideways: aligned edges are a special case nobody meets in practice
ASTRAY = 0.25  # [m] a block that went further sideways has fallen or is about to


def tower(n: int, dt: float, overlap: float = OVERLAP) -> peers.Boxes:
    """Blocks for any engine, n in all."""
    columns = 1 if n <= COLUMN else n // 10
    height = n // columns
    places = np.random.default_rng(2004).uniform(-JITTER, JITTER, (columns, height, 2))
    boxes = tuple(
        peers.Box(
            BLOCK,
            1.0,
            (
                3.0 * BLOCK[0] * column + float(places[column, level, 0]),
                float(places[column, level, 1]),
                (0.5 + level) * BLOCK[2] - (1 + level) * overlap,
            ),
        )
        for column in range(columns)
        for level in range(height)
    )
    return peers.Boxes(boxes, (0.0, 0.0, -9.8), FRICTION, dt, steps=0)


def measure(rounds: int = 9, counts: tuple[int, ...] = COUNTS) -> Result:
    """Time per step of all engines for all towers."""
    begin = time.perf_counter()
    tables: list[Table] = []
    fits: list[Row] = []
    fallen: dict[str, None] = {}  # an ordered set
    profiles: dict[str, Profile] = {}
    for dt, springs in STEPS.items():
        times: list[Row] = []
        medians: dict[str, list[float]] = {}
        for n in counts:
            scene = tower(n, dt)
            ours = functools.partial(Ours, scene, *springs, profiles=profiles)
            taken = take_turns(contestants(scene, ours, SETTLE, fallen), rounds, CALLS)
            for engine, turns in taken.items():
                row: Row = {"blocks": n, "engine": engine}
                row.update(spread(np.concatenate(turns), STEPS_PER_CALL))
                row["ours / theirs"] = median_ratio(taken[OURS], turns)
                times.append(row)
                medians.setdefault(engine, []).append(float(row["p50 [µs]"] or 0.0))
        step = f"{1e3 * dt:g} ms"
        tables.append(Table(f"time per step of {step}, calls of {STEPS_PER_CALL} steps", times))
        for engine, values in medians.items():
            a, b, r2 = line_fit(counts, values)
            fits.append({"step": step, "engine": engine, "a [µs]": a, "b [µs]": b, "R²": r2})
    tables.append(Table("p50 of time per step = a + b · blocks", fits))
    notes = [f"{name} is not installed" for name in PEERS if name not in peers.installed()]
    settings = {
        "steps_per_call": STEPS_PER_CALL,
        "calls_per_turn": CALLS,
        "rounds": rounds,
        "settle_s": SETTLE,
        "block_m": BLOCK,
        "friction": FRICTION,
    }
    seconds = time.perf_counter() - begin
    return Result("block-tower", settings, tables, [*notes, *fallen], seconds, profiles)


def scene_name(scene: peers.Boxes) -> str:
    """Blocks and step in words."""
    return f"{len(scene.boxes)} blocks at {1e3 * scene.dt:g} ms"


def contestants(
    scene: peers.Boxes,
    open_ours: Callable[[], Any],
    settle_time: float,
    fallen: dict[str, None],
) -> list[Contestant]:
    """Ours first, then every installed engine; what falls is noted.

    Args:
        scene: The blocks.
        open_ours: Makes a fresh world of ours, as `peers.open_world` does of the others.
        settle_time: Motion before timing [s].
        fallen: Takes a line for every engine whose blocks went astray.
    """
    what = scene_name(scene)
    start = np.array([box.position for box in scene.boxes])
    settle = round(settle_time / scene.dt)

    def watch(engine: str, positions: Array) -> None:
        if not np.abs(positions - start)[:, :2].max() < ASTRAY:
            fallen[f"{engine}: {what} did not stand"] = None

    def turn(engine: str, open_world: Callable[[], Any]) -> Contestant:
        def seconds(n: int) -> list[float]:
            world = open_world()
            try:
                world.step(settle)
                found = durations(lambda: world.step(STEPS_PER_CALL), n)
                watch(engine, world.state()[:, :3])
            finally:
                world.close()
            return found

        return Contestant(engine, seconds)

    def ode_turn(engine: str, solver: str, column: int) -> Contestant:
        def seconds(n: int) -> list[float]:
            answer = peers.ask_ode(
                scene, solver=solver, settle=settle, steps_per_call=STEPS_PER_CALL, calls=n
            )
            watch(engine, np.array(answer["positions"]))
            return [row[column] for row in answer["seconds"]]

        return Contestant(engine, seconds)

    found = [turn(OURS, open_ours)]
    for engine in peers.installed():
        if engine in ("MuJoCo", "Bullet"):
            found.append(turn(engine, functools.partial(peers.open_world, engine, scene)))
        elif engine == "ODE":
            found += [
                ode_turn("ODE direct", "direct", 0),
                ode_turn("ODE quick", "quick", 0),
                ode_turn("ODE quick, solver", "quick", 1),
            ]
    return found


class Ours:
    """Our simulation with the methods that the other engines' worlds have."""

    def __init__(
        self,
        scene: peers.Boxes,
        stiffness: float,
        damping: float | None = None,
        integrator: str = "explicit",
        profiles: dict[str, Profile] | None = None,
    ) -> None:
        """The scene with the same contact springs everywhere [N/m, N s/m].

        Args:
            scene: The blocks.
            stiffness: Of all contacts [N/m].
            damping: [N s/m]
            integrator: The step.
            profiles: Takes the stages of the last run of each scene.
        """
        material = tg.Material(
            static_friction=scene.friction,
            kinetic_friction=scene.friction,
            stiffness=stiffness,
            damping=damping,
        )
        own = tg.Scene(gravity=scene.gravity)
        own.add_floor(material=material)
        for box in scene.boxes:
            own.add_body(tg.Box(box.size), mass=box.mass, position=box.position, material=material)
        self._simulation = tg.Simulation(own, dt=scene.dt, integrator=integrator)
        self._name = scene_name(scene)
        self._profiles = profiles

    def step(self, n: int) -> None:
        """Make n steps."""
        self._simulation.step(n)

    def state(self) -> Array:
        """Positions of the boxes [m], shape (n, 3)."""
        return self._simulation.positions

    def close(self) -> None:
        """Leave the profile; there is nothing to give back."""
        if self._profiles is not None:
            self._profiles[self._name] = self._simulation.profile
