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
EXPLICIT = [("wall", 1e-3, 12.5e-3), ("arch", 5e-4, 16e-3), ("card-house", 2e-4, 0.75e-3)]
# By default the implicit step's contacts give by a millionth of a body, and in the first steps,
# until they carry, a body falls by g dt² or two: 20 µm. The stones of the arch, which all lean on
# one another, add up ten times that.
DEFAULT = [("wall", 1e-3, 2e-5), ("arch", 1e-3, 2e-4), ("card-house", 1e-3, 2e-5)]
CASES = [("explicit", *case) for case in EXPLICIT] + [("implicit", *case) for case in DEFAULT]


def moved(sim: Simulation, seconds: float) -> float:
    """How far the body that moved most has come [m]."""
    start = sim.positions
    sim.step(round(seconds / sim.dt))
    return float(np.linalg.norm(sim.positions - start, axis=1).max())


@pytest.mark.parametrize(("integrator", "name", "dt", "limit"), CASES)
def test_structure_stays_put(integrator: str, name: str, dt: float, limit: float) -> None:
    sim = Simulation(library.build(name), dt=dt, integrator=integrator)
    assert moved(sim, 1.0) < limit


@pytest.mark.parametrize(
    ("integrator", "name", "dt", "limit"), [case for case in CASES if case[1] != "wall"]
)
def test_structure_without_friction_falls(
    integrator: str, name: str, dt: float, limit: float
) -> None:
    """Stones and cards slide apart (a wall would stand): the limits can be passed."""
    ice = tg.Material(0.02, 0.02)
    scene = library.arch(material=ice) if name == "arch" else library.card_house(material=ice)
    assert moved(Simulation(scene, dt=dt, integrator=integrator), 0.4) > 2.0 * limit


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
    assert moved(sim, 1.0) < limit
