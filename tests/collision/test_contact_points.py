"""Contact points of convex parts: on both surfaces, all within the margin, none missing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import tangere as tg
from tangere._jit import kernel
from tangere._ptr import pointers, ptr
from tangere.collision.contact_points import MAX_POINTS, NPOINT, contact_points, floor_points
from tangere.collision.solids import solid_of
from tangere.geometry.shapes import Shape
from tangere.model import Hulls, Model, State, World
from tangere.scene.compile import compile_scene

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
MARGIN = 0.01
BOX = tg.Box((0.2, 0.2, 0.2))


@kernel
def meet(model: Model, hulls: Hulls, state: State, world: World, normal: Array, out: Array) -> int:
    m, h, s, w = pointers(model), pointers(hulls), pointers(state), pointers(world)
    a, b = solid_of(m, h, s, w, 0, 1), solid_of(m, h, s, w, 1, 1)
    simplex = np.zeros(9, np.int32)
    return contact_points(a, b, 0.1, MARGIN, 0, ptr(normal), ptr(simplex), ptr(out))


@kernel
def meet_floor(
    model: Model, hulls: Hulls, state: State, world: World, plane: Array, out: Array
) -> int:
    m, h, s, w = pointers(model), pointers(hulls), pointers(state), pointers(world)
    return floor_points(solid_of(m, h, s, w, 0, 1), ptr(plane), MARGIN, ptr(out))


def points_of(
    a: Shape, b: Shape, position: tuple[float, ...], turned: tuple[float, ...] = UPRIGHT
) -> tuple[Array, Array]:
    """Normal and rows (point on b, gap) of a at the origin and b elsewhere."""
    scene = tg.Scene()
    scene.add_body(a)
    scene.add_body(b, position=position, orientation=turned)
    c = compile_scene(scene)
    c.work.world.stamp[:] = -1
    normal, out = np.zeros(3), np.zeros((MAX_POINTS, NPOINT))
    count = meet(c.model, c.hulls, c.state, c.work.world, normal, out)
    return normal, out[:count]


def on_floor(shape: Shape, position: tuple[float, ...], turned: Rotation) -> Array:
    scene = tg.Scene()
    scene.add_body(shape, position=position, orientation=np.roll(turned.as_quat(), 1))
    c = compile_scene(scene)
    c.work.world.stamp[:] = -1
    out = np.zeros((MAX_POINTS, NPOINT))
    plane = np.array([0.0, 0.0, 1.0, 0.0])
    return out[: meet_floor(c.model, c.hulls, c.state, c.work.world, plane, out)]


@pytest.mark.parametrize("gap", [-1e-3, 0.0, 5e-3])
def test_box_on_box_meets_at_the_corners_of_the_common_rectangle(gap: float) -> None:
    normal, rows = points_of(BOX, BOX, (0.05, 0.02, 0.2 + gap))
    assert normal == pytest.approx((0.0, 0.0, 1.0), abs=1e-12)
    corners = {(round(x, 9), round(y, 9)) for x, y in rows[:, :2]}
    assert corners == {(-0.05, -0.08), (0.1, -0.08), (0.1, 0.1), (-0.05, 0.1)}
    assert rows[:, 2] == pytest.approx(0.1 + gap, abs=1e-12)
    assert rows[:, 3] == pytest.approx(gap, abs=1e-12)


def test_boxes_further_apart_than_the_margin_do_not_meet() -> None:
    assert len(points_of(BOX, BOX, (0.0, 0.0, 0.2 + 1.01 * MARGIN))[1]) == 0


def test_turned_box_meets_in_an_octagon() -> None:
    turn = (np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8))
    _, rows = points_of(BOX, BOX, (0.0, 0.0, 0.2), turn)
    assert len(rows) == 8
    # the corners of the octagon in which two squares meet, an eighth of a turn apart
    radius = np.hypot(0.1, 0.1 * np.tan(np.pi / 8))
    assert np.linalg.norm(rows[:, :2], axis=1) == pytest.approx(radius, abs=1e-12)


def test_edge_on_face_meets_at_the_ends_of_the_edge() -> None:
    turn = (np.cos(np.pi / 8), np.sin(np.pi / 8), 0.0, 0.0)
    normal, rows = points_of(BOX, BOX, (0.0, 0.0, 0.1 + 0.1 * 2**0.5 + 1e-3), turn)
    assert normal == pytest.approx((0.0, 0.0, 1.0), abs=1e-9)
    assert sorted(rows[:, 0]) == pytest.approx([-0.1, 0.1], abs=1e-9)
    assert rows[:, 3] == pytest.approx(1e-3, abs=1e-9)


def test_crossed_edges_meet_in_one_point() -> None:
    """Two boxes on edge, one edge along x, the other along y."""
    quarter = Rotation.from_euler("x", np.pi / 4)
    scene = tg.Scene()
    scene.add_body(BOX, orientation=np.roll(quarter.as_quat(), 1))
    other = Rotation.from_euler("y", np.pi / 4)
    height = 0.2 * 2**0.5 + 2e-3
    scene.add_body(BOX, position=(0.0, 0.0, height), orientation=np.roll(other.as_quat(), 1))
    c = compile_scene(scene)
    c.work.world.stamp[:] = -1
    normal, out = np.zeros(3), np.zeros((MAX_POINTS, NPOINT))
    assert meet(c.model, c.hulls, c.state, c.work.world, normal, out) == 1
    assert normal == pytest.approx((0.0, 0.0, 1.0), abs=1e-9)
    assert out[0] == pytest.approx((0.0, 0.0, 0.1 * 2**0.5 + 2e-3, 2e-3), abs=1e-9)


@pytest.mark.parametrize("swap", [False, True])
def test_curved_on_box(swap: bool) -> None:
    """A ball has one point, a lying cylinder the ends of its line, a standing one its rim."""
    lying = (np.cos(np.pi / 4), np.sin(np.pi / 4), 0.0, 0.0)
    for shape, turned, count in (
        (tg.Sphere(0.05), UPRIGHT, 1),
        (tg.Capsule(0.05, 0.1), lying, 2),
        (tg.Cylinder(0.05, 0.1), lying, 2),
        (tg.Cylinder(0.05, 0.1), UPRIGHT, 6),
    ):
        if swap:  # the same seen from the other side: b is the box above
            if turned is not UPRIGHT:
                continue
            normal, rows = points_of(shape, BOX, (0.0, 0.0, 0.151))
            level = 0.051
        else:
            normal, rows = points_of(BOX, shape, (0.0, 0.0, 0.151), turned)
            level = 0.101
        assert normal == pytest.approx((0.0, 0.0, 1.0), abs=1e-9)
        assert len(rows) == count
        assert rows[:, 2] == pytest.approx(level, abs=1e-9)
        assert rows[:, 3] == pytest.approx(1e-3, abs=1e-9)


def test_cylinder_over_the_edge_of_a_box_stands_on_what_is_below() -> None:
    _, rows = points_of(BOX, tg.Cylinder(0.05, 0.1), (0.09, 0.0, 0.15))
    assert rows[:, 0].max() == pytest.approx(0.1, abs=1e-12)
    assert rows[:, 0].min() == pytest.approx(0.04, abs=1e-9)


def test_cone_stands_on_its_rim_or_its_apex() -> None:
    """Wherever its frame is: put so that its lowest point touches the floor."""
    cone = tg.Cone(0.05, 0.1)
    heights = cone.surface()[0][:, 2]
    upright = on_floor(cone, (0.0, 0.0, -heights.min()), Rotation.identity())
    assert len(upright) == 6
    assert upright[:, 3] == pytest.approx(0.0, abs=1e-12)
    apex = on_floor(cone, (0.0, 0.0, heights.max()), Rotation.from_euler("x", np.pi))
    assert len(apex) == 1
    assert apex[0] == pytest.approx(np.zeros(4), abs=1e-12)


def test_many_corners_are_reduced_to_a_wide_few() -> None:
    """A prism of 40 sides: eight points, the hull of which is nearly as wide as the disc."""
    angles = 2 * np.pi * np.arange(40) / 40
    ring = 0.1 * np.column_stack([np.cos(angles), np.sin(angles)])
    prism = tg.Convex(np.concatenate([np.c_[ring, np.zeros(40)], np.c_[ring, np.full(40, 0.1)]]))
    rows = on_floor(prism, (0.0, 0.0, 0.0), Rotation.identity())
    assert len(rows) == MAX_POINTS
    turned = np.sort(np.arctan2(rows[:, 1], rows[:, 0]))
    assert np.diff(turned).max() < 2 * np.pi / 5
    assert np.linalg.norm(rows[:, :2], axis=1) == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize("tilt", [0.0, 0.01])
def test_a_bevelled_cube_keeps_the_corners_of_its_face(tilt: float) -> None:
    """Vertices of the bevel lie further out, but too high to touch before the face."""
    h, cut = 0.05, 0.049
    signs = np.stack(np.meshgrid(*3 * [[-1.0, 1.0]]), -1).reshape(-1, 3)
    corners = np.concatenate([np.roll((cut, cut, h), k) * signs for k in range(3)])
    turned = Rotation.from_euler("xy", (tilt, 0.7 * tilt))
    height = -turned.apply(corners)[:, 2].min()
    rows = on_floor(tg.Convex(corners), (0.0, 0.0, height), turned)
    assert len(rows) == MAX_POINTS
    for x, y in ((cut, cut), (cut, -cut), (-cut, cut), (-cut, -cut)):
        corner = turned.apply((x, y, -h))
        assert np.linalg.norm(rows[:, :3] - [0.0, 0.0, height] - corner, axis=1).min() < 1e-12
