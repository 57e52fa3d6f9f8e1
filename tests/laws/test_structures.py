"""Structures held by weight and friction alone stay where they were built."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tangere as tg
from tangere.scene import library
from tangere.simulation import Simulation

# The step of the explicit scheme sets its stiffness: a body sinks by g dt²/0.1 under its own
# weight. Thin cards, and an arch whose line of thrust has little room, want a short step. The
# limits [m] are half a card, 2 % of the ring and a tenth of a block: what springs give under load.
# A structure that falls passes them within a tenth of a second.
EXPLICIT = [("wall", 1e-3, 12.5e-3), ("arch", 5e-4, 16e-3), ("card-house", 2e-4, 0.75e-3)]


@pytest.mark.parametrize(("name", "dt", "limit"), EXPLICIT)
def test_structure_stays_put(name: str, dt: float, limit: float) -> None:
    sim = Simulation(library.build(name), dt=dt)
    start = sim.positions
    sim.step(round(0.4 / dt))
    assert np.linalg.norm(sim.positions - start, axis=1).max() < limit


# With implicit steps the stiffness is free; the limits [m] follow from the loads, not the step.
IMPLICIT: list[tuple[Callable[..., tg.Scene], float, float, float]] = [
    (library.wall, 5e-3, 1e8, 5e-5),
    (library.arch, 5e-3, 1e10, 2e-3),
    (library.card_house, 1e-3, 1e6, 1e-4),
]


@pytest.mark.parametrize(("build", "dt", "stiffness", "limit"), IMPLICIT)
def test_stiff_structure_stays_put_at_long_steps(
    build: Callable[..., tg.Scene], dt: float, stiffness: float, limit: float
) -> None:
    scene = build(material=tg.Material(0.6, 0.5, stiffness=stiffness))
    sim = Simulation(scene, dt=dt, integrator="implicit")
    start = sim.positions
    sim.step(round(0.4 / dt))
    assert np.linalg.norm(sim.positions - start, axis=1).max() < limit
