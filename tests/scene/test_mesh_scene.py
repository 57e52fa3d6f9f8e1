"""The scene in which a mesh file is felt: everything in it follows from the size of the shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
from numpy.typing import NDArray

from tangere.contact.penalty.options import Penalty
from tangere.devices.simulated import Scripted
from tangere.geometry.shapes import Box, Mesh
from tangere.scene.library import build, ring_mesh
from tangere.scene.mesh_scene import MOST_TOLERANCE, scene_to_feel, tolerance_for
from tangere.scene.scene import Scene
from tangere.session.session import Session
from tangere.session.untouched import Untouched, without_tools

Array = NDArray[np.float64]


@pytest.mark.parametrize("size", [1e-3, 0.05, 1.0, 400.0])
def test_the_scene_suits_the_size(size: float) -> None:
    part = ring_mesh(0.4 * size, size, 0.2 * size)
    scene = scene_to_feel(Mesh(part.vertices + size * np.array((3.0, 0.0, 5.0)), part.faces))
    body, tool = scene.bodies
    assert body.fixed
    low = (body.shape.surface()[0] + body.position).min(axis=0)
    assert low == pytest.approx([-size, -size, 0.0], abs=1e-9 * size)
    (ball,) = scene.tools
    assert ball.shape.moments().volume == pytest.approx(4 / 3 * np.pi * (0.06 * size) ** 3)
    assert 0.2 * size < tool.position[2] < 0.6 * size
    assert tolerance_for(scene) == pytest.approx(min(MOST_TOLERANCE, 0.006 * size), rel=3e-2)


def test_without_a_tool_the_tolerance_is_the_usual_one() -> None:
    assert tolerance_for(Scene()) == MOST_TOLERANCE
    assert Penalty().tolerance == MOST_TOLERANCE


@pytest.mark.compiled
@pytest.mark.parametrize("size", [0.004, 0.1, 40.0])
def test_a_part_of_any_size_is_felt(size: float) -> None:
    """A script that presses the ball down meets the part where it is, and stays outside."""
    part = trimesh.creation.icosphere(3)
    scene = scene_to_feel(Mesh(0.5 * size * part.vertices, part.faces))
    (ball,) = scene.tools
    start, radius = ball.position, 0.03 * size

    def hand(t: float) -> Array:
        return np.array([start[0], start[1], start[2] - 4.0 * radius * t])

    method = Penalty(tolerance=tolerance_for(scene))
    trace = Session(scene, method=method, device=[Scripted(hand)]).run(1.0, realtime=False)
    height = trace["tool.position"][:, 2] - size
    touched = int(np.argmax(trace["contact.count"] > 0))
    assert height[touched] == pytest.approx(radius, rel=0.3)
    upwards = -trace["coupling.force"][:, 2]
    assert upwards[-100:].min() > 10.0 * abs(upwards[touched // 2])
    assert height[-1] > 0.2 * radius


def test_no_mesh_is_split_where_nothing_but_the_tool_moves() -> None:
    still = without_tools(scene_to_feel(ring_mesh(0.1, 0.2, 0.05)))
    assert [type(body.shape) for body in still.bodies] == [Untouched, Untouched]
    moving = build("spoon-and-cup")
    moving.add_body(Box((0.1, 0.1, 0.1)), position=(0.0, 0.5, 0.05))
    kinds = [type(body.shape) for body in without_tools(moving).bodies]
    assert kinds.count(Untouched) == 1


def test_a_scene_file_says_how_a_mesh_is_loaded(tmp_path: Path) -> None:
    box = trimesh.creation.box()
    trimesh.Trimesh(box.vertices, box.faces[2:], process=False).export(tmp_path / "open.stl")
    text = """
        [[bodies]]
        name = "tray"
        shape = {kind = "mesh", file = "open.stl", shell = 0.01}
        density = 700.0
    """
    (tmp_path / "a.toml").write_text(text)
    scene = Scene.load(tmp_path / "a.toml")
    scene.save(tmp_path / "b.toml")
    assert "shell = 0.01" in (tmp_path / "b.toml").read_text()
    assert Scene.load(tmp_path / "b.toml") == scene
    box.export(tmp_path / "whole.stl")
    whole = 'shape = {kind = "mesh", file = "whole.stl", repair = false}'
    (tmp_path / "c.toml").write_text(f'[[bodies]]\nname = "box"\ndensity = 1.0\n{whole}\n')
    Scene.load(tmp_path / "c.toml").save(tmp_path / "d.toml")
    assert "repair = false" in (tmp_path / "d.toml").read_text()
