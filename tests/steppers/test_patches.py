"""Where bodies touch, as polygons: outlines of points, and the fans of the implicit step."""

from __future__ import annotations

import numpy as np
import pytest

import tangere as tg

pytestmark = pytest.mark.nojit

G = 9.81
RUNS = [("volume", None), ("volume", "explicit"), ("signorini", None), ("penalty", None)]


def area(corners: np.ndarray) -> float:
    arms = corners[1:] - corners[0]
    return 0.5 * float(np.linalg.norm(np.cross(arms[:-1], arms[1:]).sum(axis=0)))


@pytest.mark.parametrize(("method", "integrator"), RUNS)
def test_a_block_touches_the_floor_over_its_face(method: str, integrator: str | None) -> None:
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Box((0.1, 0.2, 0.1)), mass=1.0, position=(0.0, 0.0, 0.05))
    sim = tg.Simulation(scene, method=method, integrator=integrator)
    assert sim.patches == []
    sim.step(30)
    (patch,) = sim.patches
    assert (patch.body_a, patch.body_b) == (-1, 0)
    assert patch.normal == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
    # of the explicit step only the area is known: a disc of twenty corners lacks 1.6 %
    assert area(patch.corners) == pytest.approx(0.02, rel=0.02)
    assert patch.pressure == pytest.approx(G / 0.02, rel=0.2)
    assert patch.force[2] == pytest.approx(G, rel=0.2)


def test_a_single_point_is_a_small_disc() -> None:
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Sphere(0.05), mass=1.0, position=(0.0, 0.0, 0.05))
    sim = tg.Simulation(scene, method="point")
    sim.step(20)
    (patch,) = sim.patches
    assert len(patch.corners) > 6
    assert patch.pressure > 0.0


def test_walls_of_a_corner_are_patches_of_their_own() -> None:
    scene = tg.Scene(gravity=(-G, 0.0, -G))
    scene.add_floor()
    scene.add_floor(normal=(1.0, 0.0, 0.0), height=-0.05)
    scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0.0, 0.0, 0.05))
    sim = tg.Simulation(scene, method="penalty")
    sim.step(20)
    assert sorted(patch.body_a for patch in sim.patches) == [-2, -1]
