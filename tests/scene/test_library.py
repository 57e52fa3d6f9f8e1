from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from oracles.surface import winding_number

from tangere.errors import SceneError
from tangere.geometry.shapes import Mesh
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array
from tangere.scene import library
from tangere.scene.scene import Body, Floor, Scene

EXPECTED = {
    *("peg-and-hole", "peg-in-hole", "pyramid", "spoon-and-cup", "two-hands"),
    *("arch", "blocks", "block-tower", "card-house", "dominoes", "falling-cube", "heap"),
    *("mixed-shapes", "slope", "spinning-block", "spinning-top", "stick-slip", "wall"),
    *("clip", "soft-block", "table"),
    *("ball-on-cylinders", "cylinder-in-pipe", "cylinder-pivot", "guarded-motion", "pen-in-bowl"),
    *("gear-box", "jaws", "mesh-bowl"),
}
# Bodies may start in touch; positions are written with a few rounded products.
TOUCH = 1e-12


def clearance(body: Body, floor: Floor) -> float:
    vertices, _ = body.shape.surface()
    world = vertices @ rotation_of(body.orientation).T + body.position
    return float((world @ floor.normal).min() - floor.height)


def gap(a: Body, b: Body) -> float:
    """Width of the widest slab between two convex bodies along a face normal; below 0: overlap."""
    (placed_a, planes_a), (placed_b, planes_b) = (_placed(body) for body in (a, b))
    of_a = (placed_b @ planes_a[:, :3].T - planes_a[:, 3]).min(axis=0)
    of_b = (placed_a @ planes_b[:, :3].T - planes_b[:, 3]).min(axis=0)
    return float(max(of_a.max(), of_b.max()))


def _placed(body: Body) -> tuple[Array, Array]:
    (part,) = body.shape.parts()
    turn = rotation_of(body.orientation)
    normals = part.planes[:, :3] @ turn.T
    heights = part.planes[:, 3] + normals @ body.position
    return part.vertices @ turn.T + body.position, np.column_stack((normals, heights))


def touching(scene: Scene, body: Body) -> int:
    """How many others and floors the body touches without a gap."""
    floors = sum(abs(clearance(body, floor)) <= TOUCH for floor in scene.floors)
    return floors + sum(abs(gap(body, b)) <= TOUCH for b in scene.bodies if b is not body)


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
    axis = rotation_of(body.orientation) @ (0.0, 0.0, -1.0)
    assert np.allclose(body.angular_velocity, 100.0 * axis)


def test_heap_bodies_start_apart() -> None:
    scene = library.heap(40, seed=3)
    loose = [body for body in scene.bodies if not body.fixed]
    assert len(loose) == 40
    radius = [np.linalg.norm(b.shape.surface()[0], axis=1).max() for b in loose]
    for i, a in enumerate(loose):
        for j, b in enumerate(loose[:i]):
            assert np.linalg.norm(a.position - b.position) > radius[i] + radius[j]


def test_bodies_above_the_bowl_start_in_balls_of_their_own() -> None:
    scene = library.build("mesh-bowl")
    loose = [body for body in scene.bodies if not body.fixed]
    radius = [np.linalg.norm(b.shape.surface()[0], axis=1).max() for b in loose]
    for i, a in enumerate(loose[:-1]):
        for j, b in enumerate(loose[:i]):
            assert np.linalg.norm(a.position - b.position) > radius[i] + radius[j]
        away = np.linalg.norm(a.position - (0.0, 0.0, 0.123))  # from the middle of the bowl's ball
        assert a.position[2] - radius[i] > 0.1 or away + radius[i] < 0.12
    stick = loose[-1]  # between them
    assert min(np.linalg.norm((b.position - stick.position)[:2]) for b in loose[:-1]) > 0.06


@pytest.mark.parametrize("other", ["small gear", "gear in hand", "pin of the large gear"])
def test_gears_start_in_mesh_without_overlap(other: str) -> None:
    scene = library.build("gear-box")
    large, near = scene["large gear"], scene[other]
    assert isinstance(large, Body)
    assert isinstance(near, Body)
    points = near.shape.surface()[0] @ rotation_of(near.orientation).T + near.position
    vertices, faces = large.shape.surface()
    chosen = points[np.argsort(np.linalg.norm(points - large.position, axis=1))[:200]]
    assert winding_number(chosen - large.position, vertices, faces).max() < 0.5
    if other == "small gear":  # its teeth reach between those of the large one
        reach = np.linalg.norm(vertices[:, :2], axis=1).max()
        assert np.linalg.norm((chosen - large.position)[:, :2], axis=1).min() < reach - 3e-3


def test_the_jaws_start_apart() -> None:
    scene = library.build("jaws")
    upper, lower = scene["upper jaw"], scene["lower jaw"]
    assert isinstance(upper, Body)
    assert isinstance(lower, Body)
    apart = upper.position[2] - lower.position[2]
    assert 0.04688 + 3e-3 < apart < 0.04688 + 10e-3  # see the experiment of that name


def test_tower_grows_and_jitters_as_told() -> None:
    tower = library.block_tower(5, jitter=0.01, seed=7)
    assert [body.position[2] for body in tower.bodies] == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert max(np.abs(body.position[:2]).max() for body in tower.bodies) <= 0.01
    assert tower != library.block_tower(5, jitter=0.01, seed=8)


@pytest.mark.parametrize("name", ["arch", "block-tower", "card-house", "wall"])
def test_structures_touch_without_overlap(name: str) -> None:
    scene = library.build(name)
    for i, a in enumerate(scene.bodies):
        assert touching(scene, a) >= 1
        for b in scene.bodies[:i]:
            assert gap(a, b) >= -TOUCH, f"{a.name} in {b.name}"


def test_wall_is_fifty_blocks_without_a_joint_above_a_joint() -> None:
    scene = library.wall()
    assert len(scene.bodies) == 50
    courses: dict[float, set[float]] = {}
    for body in scene.bodies:
        reach = float(body.shape.surface()[0][:, 0].max())
        ends = {float(body.position[0]) - reach, float(body.position[0]) + reach}
        courses.setdefault(float(body.position[2]), set()).update(ends)
    layers = [courses[z] for z in sorted(courses)]
    assert len(layers) == 9
    assert all(min(ends) == -0.625 and max(ends) == 0.625 for ends in layers)
    # the sizes are dyadic, so equal ends are equal numbers
    assert all(a & b == {-0.625, 0.625} for a, b in itertools.pairwise(layers))


def test_arch_is_half_a_ring_on_the_floor() -> None:
    scene = library.arch()
    assert [touching(scene, body) for body in scene.bodies] == [2] * 15
    corners = np.concatenate([_placed(body)[0] for body in scene.bodies])
    radius = np.linalg.norm(corners[:, [0, 2]], axis=1)
    assert np.allclose(np.sort(radius), np.repeat([3.6, 4.4], 60))
    assert 0.8 / 4.0 > 1.5 * 0.107
    assert [clearance(scene.bodies[i], scene.floors[0]) for i in (0, -1)] == pytest.approx([0, 0])


def test_card_house_has_pairs_that_meet_and_floors_that_lie_on_them() -> None:
    scene = library.card_house()
    assert len(scene.bodies) == 6 + 2 + 4 + 1 + 2
    for name, lean in (("left-0-0", 1.0), ("right-0-0", -1.0)):
        card = scene[name]
        assert isinstance(card, Body)
        up = rotation_of(card.orientation) @ (0.0, 0.0, 1.0)
        assert up == pytest.approx([lean * np.sin(np.deg2rad(20)), 0, np.cos(np.deg2rad(20))])
    for level, pairs in ((0, 3), (1, 2), (2, 1)):
        for i in range(pairs):
            left, right = scene[f"left-{level}-{i}"], scene[f"right-{level}-{i}"]
            assert isinstance(left, Body)
            assert isinstance(right, Body)
            assert gap(left, right) == pytest.approx(0.0, abs=TOUCH)
        for i in range(pairs - 1):
            flat = scene[f"flat-{level}-{i}"]
            assert isinstance(flat, Body)
            above = [scene[f"{side}-{level + 1}-{i}"] for side in ("left", "right")]
            below = [scene[f"right-{level}-{i}"], scene[f"left-{level}-{i + 1}"]]
            for card in above + below:
                assert isinstance(card, Body)
                assert gap(flat, card) == pytest.approx(0.0, abs=TOUCH)


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
