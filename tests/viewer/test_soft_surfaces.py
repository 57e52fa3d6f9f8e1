"""Soft bodies on the page: what the session sends of their shapes, and how they are drawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import tangere as tg
from tangere.devices.browser import Page as Hand
from tangere.errors import SceneError
from tangere.fem.grids import box_grid
from tangere.maths.rotations import rotation_of
from tangere.viewer.frame import Frame, Settings
from tangere.viewer.held_session import HeldSession
from tangere.viewer.method_choice import offered
from tangere.viewer.orders import Order
from tangere.viewer.runner import Built, Runner, carry_motion
from tangere.viewer.server import Server, close_server, open_server
from tangere.viewer.soft_surfaces import (
    bands,
    displacements_of,
    vertex_count,
)
from tangere.viewer.stage import Stage

EDGE = 0.06
SINGLE = 1e-6  # relative rounding of the single-precision numbers that travel to the page
PATIENCE = 30.0  # [s] until a thread on a loaded machine must have obeyed
TURN = (0.9, 0.1, -0.3, 0.2)
HAND = tg.VirtualCoupling(stiffness=400.0, damping=4.0, rotational_stiffness=4.0, max_force=10.0)


def upper(x: np.ndarray) -> np.ndarray:
    return np.asarray(x[:, 2] > 0.49 * EDGE)


def scene_of(*, held: bool = False, height: float = 0.5 * EDGE) -> tg.Scene:
    """A soft cube on the floor, or in hand by its upper face, and a rigid one beside it."""
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Box((EDGE, EDGE, EDGE)), position=(0.2, 0.0, 0.5 * EDGE), name="rigid")
    mesh = box_grid((EDGE, EDGE, EDGE), (2, 2, 2))
    if held:
        scene.add_soft_body(
            mesh, young=2e4, poisson=0.3, order=1, handle=upper, position=(0.0, 0.0, height),
            coupling=HAND, name="soft",
        )  # fmt: skip
    else:
        scene.add_soft_body(
            mesh, young=2e4, poisson=0.3, order=1, position=(0.0, 0.0, height), name="soft"
        )
    return scene


def simulated(scene: tg.Scene, steps: int) -> tg.Simulation:
    simulation = tg.Simulation(scene, method="signorini")
    simulation.step(steps)
    return simulation


def frame_of(scene: tg.Scene, steps: int) -> Frame:
    built = Built(Settings("x", method="signorini"), scene, simulated(scene, steps))
    return Runner(built.settings, lambda _: built).frame


def area_vectors(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    a, b, c = np.moveaxis(points[faces].astype(float), 1, 0)
    return 0.5 * np.cross(b - a, c - a)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    opened, _ = open_server(0, "test")
    yield opened
    close_server(opened)


@pytest.fixture
def stage(server: Server) -> Stage:
    stage = Stage(server)
    stage.soft.interval = 0.0
    stage.load(scene_of())
    return stage


@pytest.mark.nojit
def test_a_body_that_moves_as_a_whole_is_not_displaced() -> None:
    scene = scene_of(height=0.3)
    simulation = simulated(scene, 1)
    simulation["soft"].orientation = TURN
    assert vertex_count(scene) == 26
    assert np.abs(displacements_of(simulation, scene)).max() < 1e-9


@pytest.mark.nojit
def test_displacements_and_pose_give_the_vertices() -> None:
    scene = scene_of()
    simulation = simulated(scene, 30)
    sent = displacements_of(simulation, scene)
    assert sent.dtype == np.float32
    assert np.abs(sent).max() > 1e-4  # it sags
    view = simulation["soft"]
    assert isinstance(view, tg.simulation.SoftBodyState)
    local = scene.bodies[1].shape.surface()[0] + sent
    placed = local @ rotation_of(view.orientation).T + view.position
    np.testing.assert_allclose(placed, view.vertices, atol=1e-9)


def test_methods_that_know_no_soft_body_are_not_offered() -> None:
    assert offered(scene_of()) == ("signorini",)
    with pytest.raises(SceneError, match="knows no body of kind soft; use one of: signorini"):
        tg.Simulation(scene_of(), method="volume")


def test_a_frame_of_a_running_scene_has_the_shapes() -> None:
    frame = frame_of(scene_of(), 20)
    assert frame.displacements.shape == (26, 3)
    assert np.abs(frame.displacements).max() > 1e-4
    rigid = tg.Scene()
    rigid.add_body(tg.Sphere(0.1))
    assert displacements_of(tg.Simulation(rigid), rigid).shape == (0, 3)


def test_the_surface_is_drawn_where_it_is_coloured_by_stress(stage: Stage) -> None:
    scene = scene_of()
    frame = frame_of(scene, 30)
    stage.show(frame)
    soft = simulated(scene, 30)["soft"]
    assert isinstance(soft, tg.simulation.SoftBodyState)
    drawn = [mesh for body, mesh in stage.soft.nodes() if body == 1 and mesh.visible]
    assert len(drawn) > 2
    expected = np.linalg.norm(area_vectors(soft.vertices, soft.triangles), axis=1).sum()
    areas = [np.linalg.norm(area_vectors(mesh.vertices, mesh.faces), axis=1) for mesh in drawn]
    assert np.concatenate(areas).sum() / stage.scale**2 == pytest.approx(expected, rel=1e-5)
    local = np.concatenate([mesh.vertices for mesh in drawn]) / stage.scale
    world = local @ rotation_of(frame.orientations[1]).T + frame.positions[1]
    away = np.linalg.norm(world[:, None] - soft.vertices[None], axis=2)
    assert away.min(axis=0).max() < 1e-7  # every vertex is among those drawn


@pytest.mark.nojit
def test_a_surface_is_cut_along_lines_of_equal_stress() -> None:
    """Every piece lies in its range, nothing is lost, and no piece is turned over."""
    points, triangles = tg.Sphere(0.1, subdivisions=2).surface()
    stress = 50.0 + 400.0 * points @ (0.4, 1.0, 2.0)  # linear, so that it is known everywhere
    parts = bands(np.asarray(points), stress, triangles, 100.0)
    total = np.zeros(3)
    area = 0.0
    for level, (vertices, faces) in enumerate(parts):
        value = (50.0 + 400.0 * vertices @ (0.4, 1.0, 2.0))[faces]
        low = -np.inf if level == 0 else 12.5 * level
        high = np.inf if level == len(parts) - 1 else 12.5 * (level + 1)
        assert low - 1e-9 <= value.min() <= value.max() <= high + 1e-9
        pieces = area_vectors(vertices, faces)
        assert (np.einsum("ti,ti->t", pieces, vertices[faces[:, 0]]) >= -1e-12).all()  # outwards
        total += pieces.sum(axis=0)
        area += float(np.linalg.norm(pieces, axis=1).sum())
    whole = area_vectors(np.asarray(points), triangles)
    assert area == pytest.approx(np.linalg.norm(whole, axis=1).sum())
    assert np.abs(total).max() < 1e-12  # closed
    assert min(len(faces) for _, faces in parts) > 0


def test_a_shape_that_stands_still_is_not_sent_again(stage: Stage) -> None:
    frame = frame_of(scene_of(), 10)
    stage.show(frame)
    sent = dict(stage._sent)
    stage.show(frame)
    assert all(stage._sent[key] is value for key, value in sent.items())


def test_shapes_are_sent_at_most_so_often(stage: Stage) -> None:
    stage.soft.interval = 1e3
    frame = frame_of(scene_of(), 10)
    stage.show(frame)
    meshes = [mesh for _, mesh in stage.soft.nodes()]
    first = [mesh.vertices for mesh in meshes]
    moved = replace(frame, displacements=2.0 * frame.displacements)
    stage.show(moved)
    assert all(mesh.vertices is before for mesh, before in zip(meshes, first, strict=True))
    stage.soft.interval = 0.0
    stage.show(moved)
    assert any(mesh.vertices is not before for mesh, before in zip(meshes, first, strict=True))


def test_the_scale_of_stress_follows_the_load(stage: Stage) -> None:
    least = stage.soft.most_stress
    assert least == 200.0  # of a strain of 1 %
    frame = frame_of(scene_of(), 1)
    strong = np.zeros((26, 3), np.float32)
    strong[:, 0] = 0.5 * scene_of().bodies[1].shape.surface()[0][:, 0]  # stretched by a half
    stage.show(replace(frame, displacements=strong, time=1.0))
    peak = stage.soft.most_stress
    assert peak == 10_000.0
    meshes = [mesh for _, mesh in stage.soft.nodes()]
    assert [mesh.visible for mesh in meshes[5:]] != [False] * 3
    stage.show(replace(frame, displacements=0.0 * strong, time=1.01))
    assert stage.soft.most_stress == peak
    stage.show(replace(frame, displacements=0.0 * strong, time=20.0))
    assert stage.soft.most_stress == least
    assert [mesh.visible for mesh in meshes] == [True] + [False] * 7


@pytest.mark.nojit
def test_another_simulation_takes_over_the_shape() -> None:
    """A cube pressed flat by its weight goes on as it was: it does not sag a second time."""
    old = simulated(scene_of(), 100)
    new = tg.Simulation(scene_of(), method="signorini")
    carry_motion(old, new, 2)
    before = displacements_of(old, scene_of())
    np.testing.assert_array_equal(displacements_of(new, scene_of()), before)
    old.step(5)
    new.step(5)
    np.testing.assert_allclose(
        displacements_of(new, scene_of()), displacements_of(old, scene_of()), atol=1e-6
    )
    other = tg.Scene()
    other.add_soft_body(box_grid((EDGE, EDGE, EDGE), (3, 3, 3)), young=1e6, poisson=0.3, order=1)
    with pytest.raises(SceneError, match="different contact nodes"):
        tg.Simulation(other, method="signorini").stepper.deform_as(old.stepper)


def wait_for(touch: HeldSession, wanted: Callable[[Frame], bool]) -> Frame:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if wanted(touch.frame):
            return touch.frame
        time.sleep(0.01)
    pytest.fail(f"never happened; last frame at t = {touch.frame.time} s: {touch.news.notice}")


@pytest.mark.compiled
def test_a_soft_tool_is_pressed_flat_and_stays_so_when_the_friction_changes() -> None:
    touch = HeldSession(
        Settings("held", method="signorini"), lambda _: scene_of(held=True, height=0.05)
    )
    touch.start()
    try:
        assert np.abs(touch.frame.displacements).max() < 2e-3  # its weight alone
        hand = Hand(touch.description.tools[0].hand)
        hand.move((0.0, 0.0, -0.035))
        pressed = wait_for(
            touch,
            lambda frame: (
                np.abs(frame.displacements).max() > 2.5e-3 and frame.tools[0]["coupling"][2] < -1.0
            ),
        )
        assert len(pressed.contacts) > 0
        rows = touch.new_rows()["tools"]
        assert rows["felt_upwards"].max() > 1.0  # pushed up by the floor
        time.sleep(0.5)
        before = touch.frame
        touch.obey(Order("friction_factor", (2.0,)))
        after = wait_for(touch, lambda frame: frame.build > before.build)
        hand.close()
        deepest = np.abs(before.displacements).max()
        assert np.abs(after.displacements - before.displacements).max() < 0.1 * deepest
    finally:
        touch.stop()
