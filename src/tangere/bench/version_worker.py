"""Runs in a process of its own with the tangere of another checkout: times one scene on request.

It uses what every version has, `Scene`, `Simulation` and `Session`, and knows nothing of the
version that asks. Reads one JSON line per request from standard input, answers with one:

    {"scene": "heap of 100", "number": 3, "settle": 160, "calls": 4, "steps": 5}
    {"seconds": […], "places": […]}

`places` is where everything is in the end [m].
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tangere as tg

BLOCK = (1.0, 2.0, 1.0)  # [m]
SMALL = (0.1, 0.1, 0.05)  # [m]
APART = 0.151  # [m] above a small block's diagonal


def tower(count: int, stiffness: float, dt: float, integrator: str) -> Any:
    """Blocks on each other; more than 13 as columns of ten."""
    columns = 1 if count <= 13 else count // 10
    material = tg.Material(static_friction=0.6, kinetic_friction=0.6, stiffness=stiffness)
    scene = tg.Scene()
    scene.add_floor(material=material)
    places = np.random.default_rng(2004).uniform(-1e-3, 1e-3, (count, 2))
    for i, (x, y) in enumerate(places):
        at = (3.0 * (i % columns) + x, y, 0.5 + i // columns)
        scene.add_body(tg.Box(BLOCK), mass=1.0, position=at, material=material)
    return tg.Simulation(scene, dt=dt, integrator=integrator)


def wall() -> Any:
    """Fifty bricks, each on two."""
    scene = tg.Scene()
    scene.add_floor()
    for row in range(10):
        for column in range(5):
            x = 0.21 * column + 0.105 * (row % 2)
            scene.add_body(tg.Box((0.2, 0.1, 0.1)), mass=1.0, position=(x, 0.0, 0.05 + 0.1 * row))
    return tg.Simulation(scene, dt=5e-3)


def heap(count: int, layers: int, number: int) -> Any:
    """Blocks dropped at random attitudes, in so many layers; 0: a cube."""
    rng = np.random.default_rng([count, number])
    side = round((count / layers) ** 0.5) if layers else round(count ** (1.0 / 3.0) + 0.5)
    scene = tg.Scene()
    scene.add_floor()
    for i in range(count):
        place = APART * np.array([i % side, i // side % side, i // side**2 + 0.5])
        turn = rng.normal(size=4)
        scene.add_body(
            tg.Box(SMALL), mass=0.2, position=place, orientation=turn / np.linalg.norm(turn)
        )
    return tg.Simulation(scene, dt=5e-3)


SIMULATIONS: dict[str, Callable[[int], Any]] = {
    "tower of 13 at rest": lambda _: tower(13, 1e7, 5e-3, "implicit"),
    "wall of 50 at rest": lambda _: wall(),
    "tower of 13, explicit": lambda _: tower(13, 1e5, 1e-3, "explicit"),
    "towers of 50, explicit": lambda _: tower(50, 1e5, 1e-3, "explicit"),
    "heap of 100": lambda number: heap(100, 0, number),
    "heap of 300": lambda number: heap(300, 0, number),
    "heap of 1,000": lambda number: heap(1_000, 0, number),
    "heap of 1,000, five layers": lambda number: heap(1_000, 5, number),
}
SESSION = "hand on a block"


def time_simulation(name: str, number: int, settle: int, calls: int, steps: int) -> dict[str, Any]:
    """Seconds of each call of so many steps, after as many steps to settle."""
    simulation = SIMULATIONS[name](number)
    simulation.step(settle)
    seconds = []
    for _ in range(calls):
        start = time.perf_counter()
        simulation.step(steps)
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "places": simulation.positions.tolist()}


def time_session(calls: int, ticks: int) -> dict[str, Any]:
    """Seconds of whole runs of a hand that pushes a block, tick and contact period in turn."""
    seconds: list[float] = []
    places: list[Any] = []
    for _ in range(calls):
        scene = tg.Scene()
        scene.add_floor()
        scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=0.2, position=(0.0, 0.0, 0.05))
        scene.add_tool(tg.Box((0.04, 0.04, 0.04)), mass=0.01, position=(-0.08, 0.0, 0.05))
        hand = tg.devices.Scripted(lambda t: (-0.08 + 0.05 * t, 0.0, 0.05))
        session = tg.Session(scene, device=hand, rate=1000)
        start = time.perf_counter()
        trace = session.run(seconds=1e-3 * ticks, realtime=False)
        seconds.append(time.perf_counter() - start)
        places = trace["tool.position"].tolist()
    return {"seconds": seconds, "places": places}


def _main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        name = asked.pop("scene")
        if name == SESSION:
            del asked["number"]
            found = time_session(**asked)
        else:
            found = time_simulation(name, **asked)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
