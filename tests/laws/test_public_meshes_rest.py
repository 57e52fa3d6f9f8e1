"""Mesh files that others made: they come to rest on a floor, and a ball in hand feels them."""

from __future__ import annotations

import numpy as np
import pytest
from public_meshes import CLOSED, REPAIRED, folder, silence

import tangere as tg
from tangere.maths.rotations import rotation_of
from tangere.scene.mesh_scene import scene_to_feel, tolerance_for

ROOT = folder()
pytestmark = [
    pytest.mark.skipif(ROOT is None, reason="pybullet_data is not installed"),
    pytest.mark.compiled,
]
NAMES = (*CLOSED, *REPAIRED)
FEW = ("bunny.obj", "objects/mug.obj")
SIZE = 0.1  # that all are scaled to [m]
each = pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)


def loaded(name: str) -> tg.Mesh:
    assert ROOT is not None
    with silence():
        mesh = tg.load(ROOT / name)
    assert isinstance(mesh, tg.Mesh)
    extent = float(np.ptp(mesh.vertices, axis=0).max())
    return tg.Mesh(mesh.vertices * (SIZE / extent), mesh.faces)


@each
def test_it_comes_to_rest(name: str) -> None:
    """Dropped from 1 cm: never more energy, no vertex below the floor, and still in the end.

    What rolls, a ball or a wheel, may still roll: then it has lost energy all the time.
    """
    mesh = loaded(name)
    scene = tg.Scene()
    scene.add_floor()
    lowest = float(mesh.vertices[:, 2].min())
    scene.add_body(mesh, density=500.0, position=(0.0, 0.0, 0.01 - lowest), name="part")
    sim = tg.Simulation(scene, method="penalty")
    sim.step()
    start = last = sim.energy.total
    for _ in range(3000):
        sim.step()
        now = sim.energy.total
        assert now <= last + 1e-3 * start
        last = now
    placed = mesh.vertices @ rotation_of(sim["part"].orientation).T + sim["part"].position
    # points lie about a millimetre apart: vertices between them may be a little lower
    assert placed[:, 2].min() > -2e-4
    sim.step(100)
    speed = np.linalg.norm(sim["part"].velocity)
    assert speed < 1e-5 or sim.energy.total < last


@each
def test_it_can_be_felt(name: str) -> None:
    """A ball that is lowered onto it from above is held up, and nothing goes wrong."""
    scene = scene_to_feel(loaded(name))
    start = np.array(scene.tools[0].position)
    down = start[2] + 0.01  # far enough to press on whatever is below, or on the floor
    hand = tg.devices.Scripted(lambda t: start - (0.0, 0.0, down * min(1.0, t / 0.4)))
    method = tg.Penalty(tolerance=tolerance_for(scene))
    trace = tg.Session(scene, method=method, device=[hand]).run(0.5, realtime=False)
    force = trace["tool.force"]
    assert np.isfinite(force).all()
    assert force[:, 2].max() > 0.5
    assert not trace["fault"].any()
