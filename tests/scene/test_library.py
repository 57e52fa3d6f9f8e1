from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tangere.errors import SceneError
from tangere.geometry.checks import rotation
from tangere.geometry.shapes import Mesh
from tangere.scene import library
from tangere.scene.scene import Body, Floor, Scene

EXPECTED = {
    *("blocks", "block-tower", "dominoes", "falling-cube", "heap", "mixed-shapes"),
    *("slope", "spinning-block", "spinning-top", "stick-slip"),
}
# Bodies may start in touch; positions are written with a few rounded products.
TOUCH = 1e-12


def clearance(body: Body, floor: Floor) -> float:
    vertices, _ = body.shape.surface()
    world = vertices @ rotation(body.orientation).T + body.position
    return float((world @ floor.normal).min() - floor.height)


def test_library_is_complete() -> None:
    assert set(library.SCENES) >= EXPECTED
    for entry in library.SCENES.values():
        assert entry.description
        assert "\n" not in entry.description


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_scene_starts_above_its_floor(name: str) -> None:
    scene = library.build(name)
    assert scene.floors
    assert scene.bodies
    for floor in scene.floors:
        for body in scene.bodies:
            assert clearance(body, floor) >= -TOUCH, body.name


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_scene_is_fresh_equal_and_survives_its_file(name: str, tmp_path: Path) -> None:
    scene = library.build(name)
    again = library.build(name)
    assert again is not scene
    assert again == scene
    scene.save(tmp_path / "scene.toml")
    assert Scene.load(tmp_path / "scene.toml") == scene


def test_falling_cube_starts_one_metre_up() -> None:
    scene = library.falling_cube()
    assert clearance(scene.bodies[0], scene.floors[0]) == pytest.approx(1.0)


def test_top_stands_on_its_tip() -> None:
    scene = library.spinning_top()
    body = scene.bodies[0]
    assert clearance(body, scene.floors[0]) == pytest.approx(0.0, abs=1e-15)
    axis = rotation(body.orientation) @ (0.0, 0.0, -1.0)
    assert np.allclose(body.angular_velocity, 100.0 * axis)


def test_heap_bodies_start_apart() -> None:
    scene = library.heap(40, seed=3)
    loose = [body for body in scene.bodies if not body.fixed]
    assert len(loose) == 40
    radius = [np.linalg.norm(b.shape.surface()[0], axis=1).max() for b in loose]
    for i, a in enumerate(loose):
        for j, b in enumerate(loose[:i]):
            assert np.linalg.norm(a.position - b.position) > radius[i] + radius[j]


def test_tower_grows_and_jitters_as_told() -> None:
    tower = library.block_tower(5, jitter=0.01, seed=7)
    assert [body.position[2] for body in tower.bodies] == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert max(np.abs(body.position[:2]).max() for body in tower.bodies) <= 0.01
    assert tower != library.block_tower(5, jitter=0.01, seed=8)


def test_ring_is_a_ring() -> None:
    ring = library.ring_mesh(0.04, 0.09, 0.04)
    assert isinstance(ring, Mesh)
    share = np.sin(2 * np.pi / 24) / (2 * np.pi / 24)  # of a regular 24-gon in its circle
    area = np.pi * (0.09**2 - 0.04**2) * share
    assert ring.moments().volume == pytest.approx(0.04 * area, rel=1e-12)


def test_unknown_scene_and_bad_count() -> None:
    with pytest.raises(SceneError, match=r"unknown scene 'hepa'; did you mean 'heap'\?"):
        library.build("hepa")
    with pytest.raises(SceneError, match="block_tower count: out of range, got 0"):
        library.block_tower(0)
