"""Islands of hundreds of bodies are solved in other ways than small ones, by the same laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.bench import heap
from tangere.simulation import Simulation
from tangere.solver import SMALL

pytestmark = pytest.mark.skipif(
    JIT_DISABLED, reason="hundreds of bodies take minutes in plain Python"
)

DT = 5e-3


def largest(sim: Simulation) -> int:
    """Bodies in the largest island."""
    graph = sim.arrays.work.solver.graph
    return int(np.diff(graph.start[: graph.known[1] + 1]).max(initial=0))


def rolled(count: int) -> float:
    """Mean speed left of so many cylinders that roll on one plate, after 0.2 s [m/s]."""
    radius = 0.05
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Box((8.0, 4.0, 0.2)), mass=500.0, position=(0, 0, 0.1))
    for i in range(count):
        scene.add_body(
            tg.Cylinder(radius, 0.2), mass=0.5,
            position=(-3.5 + 0.15 * (i % 20), -1.8 + 0.3 * (i // 20), 0.2 + radius),
            orientation=(math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0),
            velocity=(1.0, 0.0, 0.0), angular_velocity=(0.0, 1.0 / radius, 0.0),
        )  # fmt: skip
    sim = Simulation(scene, dt=DT)
    sim.step(40)
    assert largest(sim) == count + 1
    return float(sim.arrays.state.velocity[1 : count + 1, 0].mean())


def test_a_crowd_rolls_like_a_few() -> None:
    # a first look solved too coarsely costs them half a percent
    few, many = rolled(20), rolled(SMALL + 10)
    assert few == pytest.approx(1.0, rel=1e-3)
    assert many == pytest.approx(1.0, rel=1e-3)


def test_a_heap_that_falls_gains_no_energy() -> None:
    sim = Simulation(heap.scene(400), dt=DT)
    start = least = sim.energy.total
    seen = 0
    for _ in range(160):
        sim.step()
        total = sim.energy.total
        seen = max(seen, largest(sim))
        assert total <= least + 1e-3 * start
        least = min(least, total)
        assert sim.audit.error == pytest.approx(0.0, abs=1e-9 * start)
    assert seen > SMALL
    assert least < 0.5 * start  # it has fallen
