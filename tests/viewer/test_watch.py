"""Words for what went wrong, and silence where nothing did."""

from __future__ import annotations

import numpy as np
import pytest

from tangere.geometry.shapes import Box
from tangere.scene.library import SCENES, build
from tangere.scene.scene import Material, Scene
from tangere.simulation import Simulation
from tangere.viewer.watch import Watch

# Scenes whose meshes take minutes to be split into convex pieces, once
COMPLEX = {"gear-box", "jaws", "mesh-bowl"}
QUICK_AND_SLOW = [
    pytest.param(name, marks=[pytest.mark.slow] if name in COMPLEX else []) for name in SCENES
]


def words(watch: Watch, simulation: Simulation) -> str | None:
    energy = simulation.energy.total
    return watch.trouble(simulation.positions, simulation.orientations, energy)


@pytest.mark.parametrize("name", QUICK_AND_SLOW)
def test_no_built_in_scene_is_suspected(name: str) -> None:
    scene = build(name)
    soft = any(body.elastic is not None for body in scene.bodies)
    simulation = Simulation(scene, method=SCENES[name].method if soft else "volume")
    watch = Watch(scene, simulation)
    for _ in range(4):
        simulation.step(500)
        assert words(watch, simulation) is None


def test_contacts_past_the_stability_limit_are_found() -> None:
    """Damping five times the limit of a face: every touch throws the block back harder."""
    material = Material(stiffness=1e4, damping=5e3)
    scene = Scene()
    scene.add_floor(material=material)
    scene.add_body(Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.11), material=material)
    simulation = Simulation(scene, integrator="explicit")
    watch = Watch(scene, simulation)
    found = None
    for _ in range(100):
        simulation.step(50)
        found = words(watch, simulation)
        if found:
            break
    assert found == "the bodies gained energy from nowhere"


def test_a_lost_number_is_found_with_its_body() -> None:
    scene = build("blocks")
    simulation = Simulation(scene)
    watch = Watch(scene, simulation)
    orientations = simulation.orientations
    orientations[3, 1] = np.nan
    found = watch.trouble(simulation.positions, orientations, simulation.energy.total)
    assert found == f"the pose of {scene.bodies[3].name} is no longer a number"
