"""What is sent to the page to be drawn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tangere._jit import JIT_DISABLED
from tangere.geometry.shapes import Box, Sphere
from tangere.scene.library import SCENES, block_tower, build
from tangere.scene.scene import Scene
from tangere.simulation import Simulation
from tangere.steppers.stepper import CONTACT_COLUMNS
from tangere.viewer.frame import Frame, Settings
from tangere.viewer.outlines import linear
from tangere.viewer.runner import Built, Runner
from tangere.viewer.server import Server, close_server, open_server
from tangere.viewer.stage import (
    LONGEST_ARROW,
    PRESSURE_COLOURS,
    SLIP_COLOUR,
    STICK_COLOUR,
    Stage,
    pressure_levels,
)

# Scenes whose meshes take minutes to be split into convex pieces, once
COMPLEX = {"gear-box", "jaws", "mesh-bowl"}
QUICK_AND_SLOW = [
    pytest.param(name, marks=[pytest.mark.slow] if name in COMPLEX else []) for name in SCENES
]
SINGLE = 1e-6  # relative rounding of the single-precision numbers that travel to the page


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    opened, _ = open_server(0, "test")
    yield opened
    close_server(opened)


def frame_of(scene: Scene, steps: int, method: str = "volume") -> Frame:
    simulation = Simulation(scene, method=method)
    simulation.step(steps)
    built = Built(Settings("x", method=method), scene, simulation)
    return Runner(built.settings, lambda _: built).frame


@pytest.mark.parametrize("name", QUICK_AND_SLOW)
def test_every_built_in_scene_fills_the_view_and_can_be_shown(server: Server, name: str) -> None:
    if JIT_DISABLED and name in {"spoon-and-cup", *COMPLEX}:
        pytest.skip("a mesh's many convex pieces take minutes in plain Python")
    stage = Stage(server)
    scene = build(name)
    batches = stage.load(scene)
    rigid = [i for batch in batches for i in batch.bodies]
    soft = {i for i, _ in stage.soft.nodes()}
    assert sorted([*rigid, *soft]) == list(range(len(scene.bodies)))
    method = SCENES[name].method if soft else "volume"
    frame = frame_of(scene, 1 if JIT_DISABLED else 50, method)  # what is shown is not tested
    stage.show(frame)
    for batch in batches:
        drawn = stage.drawn(frame.positions)[batch.bodies]
        np.testing.assert_allclose(batch.node.batched_positions, drawn, rtol=SINGLE, atol=SINGLE)
    centres = stage.drawn(np.array([body.position for body in scene.bodies if not body.fixed]))
    assert np.abs(centres).max() < 4.0  # the camera stands 4.6 away


def test_boxes_of_all_sizes_are_one_batch(server: Server) -> None:
    scene = Scene()
    for i in range(5):
        scene.add_body(Box((0.1 + 0.1 * i, 0.2, 0.3)), position=(i, 0, 0))
    scene.add_body(Sphere(0.1), position=(0, 2, 0))
    scene.add_body(Sphere(0.3), position=(0, 3, 0))
    stage = Stage(server)
    batches = stage.load(scene)
    assert [len(batch.bodies) for batch in batches] == [5, 2]
    widths = batches[0].node.batched_scales[:, 0] / stage.scale
    np.testing.assert_allclose(widths, [0.1, 0.2, 0.3, 0.4, 0.5], rtol=SINGLE)


def test_drawing_units_and_metres_are_inverse(server: Server) -> None:
    stage = Stage(server)
    stage.load(build("block-tower"))
    points = np.random.default_rng(1).normal(size=(4, 3))
    np.testing.assert_allclose(stage.world(stage.drawn(points)), points)


@pytest.mark.compiled
def test_arrows_of_a_tower_point_up_and_grow_downwards(server: Server) -> None:
    """Each contact carries the weight above it; arrow length over force is the printed scale."""
    scene = block_tower(4)
    stage = Stage(server)
    stage.load(scene)
    stage.show(frame_of(scene, 3000))
    arrows = stage._arrows.points
    along = arrows[:, 1] - arrows[:, 0]
    lengths = np.sort(along[:, 2])
    cell = stage.grid_cell * stage.scale  # stands for stage.cell_force newtons
    expected = 9.81 * np.arange(1, 5) * cell / stage.cell_force
    np.testing.assert_allclose(lengths, expected, rtol=1e-2)
    np.testing.assert_allclose(np.linalg.norm(along, axis=1), along[:, 2][:], rtol=1e-2)


def test_a_huge_force_is_cut_as_the_legend_says(server: Server) -> None:
    stage = Stage(server)
    stage.load(build("blocks"))
    table = np.zeros(1, CONTACT_COLUMNS)
    table["force"] = (0.0, 0.0, 1e9)
    points, _ = stage._force_arrows(table)
    assert np.linalg.norm(points[0, 1] - points[0, 0]) == pytest.approx(LONGEST_ARROW)
    assert stage.longest_force * stage.newton == pytest.approx(LONGEST_ARROW)


def test_sticking_and_slipping_look_different(server: Server) -> None:
    scene = Scene()
    scene.add_floor()
    for y, speed in ((0.0, 0.0), (0.5, 1.0)):
        scene.add_body(Box((0.2, 0.2, 0.1)), position=(0, y, 0.05), velocity=(speed, 0, 0))
    stage = Stage(server)
    stage.load(scene)
    frame = frame_of(scene, 40)
    assert sorted(frame.contacts["sticking"]) == [False, True]
    stage.show(frame)
    colours = {tuple(int(c) for c in colour) for colour in stage._arrows.colors}
    assert colours == {STICK_COLOUR, SLIP_COLOUR}
    # A closed rim of four lines, and a dashed one of twelve.
    rims = stage._outline.colors[:, 0]
    assert np.count_nonzero((rims == linear(STICK_COLOUR)).all(axis=1)) == 4
    assert np.count_nonzero((rims == linear(SLIP_COLOUR)).all(axis=1)) == 12


def test_pressure_colours_run_over_the_whole_scale() -> None:
    table = np.zeros(5, CONTACT_COLUMNS)
    table["normal"] = (0.0, 0.0, 1.0)
    table["area"] = [1.0, 1.0, 1.0, 1.0, 0.0]
    table["force"][:, 2] = [0.1, 1.0, 10.0, 1e5, 1.0]
    levels = pressure_levels(table, (1.0, 100.0))
    last = len(PRESSURE_COLOURS) - 1
    assert levels.tolist() == [0, 0, last // 2 + 1, last, last]


def test_point_contacts_have_a_visible_spot(server: Server) -> None:
    scene = build("blocks")
    stage = Stage(server)
    stage.load(scene)
    frame = frame_of(scene, 200, method="point")
    polygons = stage._polygons(frame, frame.contacts)
    assert len(polygons) == len(frame.contacts) > 0
    assert all(np.ptp(stage.drawn(p), axis=0).max() > 0.02 for p in polygons)


def test_an_unchanged_picture_is_not_sent_again(server: Server) -> None:
    scene = build("blocks")
    stage = Stage(server)
    stage.load(scene)
    frame = frame_of(scene, 10)
    stage.show(frame)
    sent = dict(stage._sent)
    stage.show(frame)
    assert all(stage._sent[key] is value for key, value in sent.items())


def test_springs_reach_from_anchor_to_anchor(server: Server) -> None:
    scene = build("stick-slip")
    stage = Stage(server)
    stage.load(scene)
    frame = frame_of(scene, 100)
    stage.show(frame)
    spring = scene.springs[0]
    ends = stage.world(stage._springs.points[[0, -1], [0, 1]])
    np.testing.assert_allclose(ends[1], spring.anchor_b + 0.1 * spring.velocity, atol=SINGLE)
    np.testing.assert_allclose(ends[0], frame.positions[0] + spring.anchor_a, atol=1e-3)
