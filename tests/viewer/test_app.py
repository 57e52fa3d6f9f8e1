"""`play` without a browser: headless runs, the summary, and refused requests."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
import trimesh

from tangere.contact.volume.method import Volume
from tangere.errors import SceneError
from tangere.fem.grids import box_grid
from tangere.geometry.shapes import Box
from tangere.scene.library import build
from tangere.scene.scene import Material, Scene
from tangere.viewer.app import OWN_SCENE, page_builder, page_scenes, play
from tangere.viewer.frame import Settings


def test_headless_runs_the_asked_time_and_prints_a_summary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    summary = play("pyramid", seconds=0.3, headless=True)
    assert summary.simulated == pytest.approx(0.3)
    assert summary.steps == 300
    assert summary.most_contacts >= 6
    assert summary.faults == ()
    said = capsys.readouterr().out
    assert said == f"{summary}\n"
    assert "simulated 0.30 s" in said
    assert "implicit step of 1 ms" in said


def test_a_scene_of_soft_bodies_gets_the_method_that_knows_them() -> None:
    scene = Scene()
    scene.add_floor()
    mesh = box_grid((0.1, 0.1, 0.1), (2, 2, 2))
    scene.add_soft_body(mesh, young=1e5, poisson=0.3, order=1, position=(0.0, 0.0, 0.06))
    summary = play(scene, seconds=0.01, headless=True)
    assert (summary.scene, summary.method) == (OWN_SCENE, "signorini")
    assert summary.simulated == pytest.approx(0.01)


@pytest.mark.parametrize("method", ["volume", "point"])
def test_a_scene_of_ones_own(method: str) -> None:
    scene = Scene()
    scene.add_floor()
    scene.add_body(Box((1, 1, 1)), position=(0, 0, 0.5))
    summary = play(scene, method=method, seconds=0.05, headless=True)
    assert (summary.scene, summary.method) == (OWN_SCENE, method)


def test_a_scene_file(tmp_path: Path) -> None:
    build("pyramid").save(tmp_path / "mine.toml")
    summary = play(str(tmp_path / "mine.toml"), seconds=0.01, headless=True)
    assert summary.scene == "mine.toml"


def test_hands_keep_still_without_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    summary = play("blocks", seconds=0.1, headless=True)
    assert summary.simulated == pytest.approx(0.1)
    assert summary.faults == ()
    assert summary.hands
    assert summary.kinetic < 1e-3  # nothing moves: the shovel is held where it was
    assert summary.hands.splitlines()[0] in capsys.readouterr().out


def test_there_is_nothing_to_record_without_a_hand(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="pyramid has no tool"):
        play("pyramid", seconds=0.1, headless=True, record=tmp_path / "a.h5")


def stiff_block() -> Scene:
    """Far past the limit of the explicit step, at 1 ms."""
    scene = Scene()
    material = Material(stiffness=1e9, damping=1e6)
    scene.add_floor(material=material)
    scene.add_body(Box((0.1, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.06), material=material)
    return scene


def test_an_explosion_ends_the_run_in_words() -> None:
    summary = play(stiff_block(), integrator="explicit", seconds=5.0, headless=True)
    assert len(summary.faults) == 1
    assert summary.simulated < 5.0
    assert summary.faults[0] in str(summary)


def test_by_default_nothing_explodes() -> None:
    summary = play(stiff_block(), seconds=1.0, headless=True)
    assert summary.integrator == "implicit"
    assert summary.faults == ()
    assert summary.kinetic < 1e-12  # at rest


def test_interpolated_friction_is_left_to_the_explicit_step() -> None:
    """A choice that only one of the steps knows is kept and obeyed by that one."""
    first, plain = page_scenes("pyramid")
    build_page = page_builder(plain)
    used = []
    for integrator in ("implicit", "explicit"):
        built = build_page(Settings(first, integrator=integrator, options={"friction": "vertex"}))
        method = built.simulation.method
        assert isinstance(method, Volume)
        assert built.simulation.integrator == integrator
        used.append(method.friction)
    assert used == ["exact", "vertex"]


def test_the_page_ends_by_itself_and_frees_its_port(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = int(busy.getsockname()[1])
        summary = play("pyramid", seconds=0.4, port=port, open_browser=False)
    assert summary.wall >= 0.4
    # The thread starts a moment before the clock does, and may end a frame after it.
    assert 0.0 < summary.simulated <= summary.wall + 0.1
    said = capsys.readouterr().out
    assert f"port {port} is taken, using" in said
    assert "http://127.0.0.1:" in said


@pytest.mark.parametrize(
    ("scene", "options", "words"),
    [
        ("block", {}, "unknown scene 'block'.*blocks"),
        ("no/such/file.toml", {}, "no/such/file.toml"),
        ("blocks", {"method": "magic"}, "magic"),
        ("blocks", {"integrator": "guess"}, "guess.*implicit, explicit"),
        ("blocks", {"integrator": "explicit"}, "blocks has a tool"),
        ("blocks", {"dt": -1.0}, "-1.0"),
        ("blocks", {"seconds": 0.0}, "seconds"),
        ("blocks", {"seconds": float("nan")}, "seconds"),
    ],
)
def test_bad_requests_are_one_line(scene: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(SceneError, match=words) as caught:
        play(scene, headless=True, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_scale_and_shell_are_for_mesh_files() -> None:
    with pytest.raises(SceneError, match="are for mesh files"):
        play("pyramid", seconds=0.1, headless=True, scale=0.001)
    with pytest.raises(SceneError, match=r"part.txt.*a mesh file \(.obj"):
        play("part.txt", seconds=0.1, headless=True)


@pytest.mark.compiled
def test_a_mesh_file_becomes_a_scene_of_its_own(tmp_path: Path) -> None:
    """By the penalty method if nothing else is asked for, and with a tolerance that suits it."""
    path = tmp_path / "part.stl"
    trimesh.creation.annulus(0.004, 0.01, 0.004).export(path)
    summary = play(str(path), seconds=0.1, headless=True)
    assert summary.scene == "part.stl"
    assert summary.method == "penalty"
    assert summary.faults == ()
    first, plain = page_scenes(str(path), 2.0)
    ball = plain(first).tools[0]
    assert np.ptp(ball.shape.surface()[0][:, 2]) == pytest.approx(2.0 * 0.06 * 0.02, rel=0.05)
