"""Pictures: who stands in front, what is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import tangere as tg
from tangere.experiments import pictures, surface_pictures
from tangere.maths.vec import Array

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
BOX = tg.Box((1.0, 1.0, 1.0))


def at(x: float, y: float, z: float) -> pictures.Solid:
    """A unit cube with its centre there."""
    return pictures.solids(BOX, np.array([x, y, z]), UPRIGHT)[0]


def towards(azimuth: float, elevation: float) -> Array:
    """Direction to a camera."""
    return pictures.Camera(azimuth=azimuth, elevation=elevation).axes()[2]


def test_camera_axes_are_right_handed() -> None:
    right, up, out = pictures.Camera(azimuth=30.0, elevation=20.0).axes()
    frame = np.array([right, up, out])
    assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1.0)
    assert up[2] > 0.0


def test_a_tower_seen_from_above_is_painted_from_the_ground() -> None:
    tower = [at(0.0, 0.0, 2.5), at(0.0, 0.0, 0.5), at(0.0, 0.0, 1.5)]
    assert pictures._back_to_front(tower, towards(-50.0, 15.0)) == [1, 2, 0]
    assert pictures._back_to_front(tower, towards(-50.0, -15.0)) == [0, 2, 1]


def test_a_long_body_beside_a_short_one_is_ordered_by_the_plane_between() -> None:
    """The plank's centre is nearer to the camera than the cube behind which it stands."""
    plank = pictures.solids(tg.Box((1.0, 9.0, 1.0)), np.array([0.0, -3.0, 0.5]), UPRIGHT)[0]
    cube = at(1.2, 1.0, 0.5)
    view = towards(0.0, 10.0)
    assert pictures._back_to_front([plank, cube], view) == [0, 1]
    assert pictures._back_to_front([cube, plank], view) == [1, 0]


def test_three_that_hide_each_other_in_turn_are_all_painted() -> None:
    ring = [
        pictures.solids(tg.Box((4.0, 0.4, 0.4)), np.array([0.0, -1.0, 0.0]), UPRIGHT)[0],
        pictures.solids(tg.Box((0.4, 4.0, 0.4)), np.array([1.0, 0.0, 0.3]), UPRIGHT)[0],
        pictures.solids(tg.Box((0.4, 0.4, 4.0)), np.array([0.0, 0.0, 0.0]), UPRIGHT)[0],
    ]
    assert sorted(pictures._back_to_front(ring, towards(-40.0, 30.0))) == [0, 1, 2]


def test_solids_are_placed_with_outward_planes() -> None:
    q = np.array([np.cos(0.3), 0.0, np.sin(0.3), 0.0])
    solid = pictures.solids(tg.Box((1.0, 2.0, 3.0)), np.array([4.0, 5.0, 6.0]), q)[0]
    assert solid.vertices.mean(axis=0) == pytest.approx([4.0, 5.0, 6.0])
    gaps = solid.vertices @ solid.planes[:, :3].T - solid.planes[:, 3]
    assert gaps.max() < 1e-12
    assert np.sum(np.abs(gaps) < 1e-9, axis=0).tolist() == [4] * 6
    for face, plane in zip(solid.faces, solid.planes, strict=True):
        assert solid.vertices[list(face)] @ plane[:3] == pytest.approx(plane[3])


def test_a_cube_shows_three_faces_and_nine_edges() -> None:
    figure = Figure()
    axes = figure.add_subplot()
    frame = pictures.Frame((at(0.0, 0.0, 0.5),), "cube", arrows=((np.zeros(3), np.ones(3), "r"),))
    pictures.draw(axes, frame, pictures.Camera())
    faces, edges = axes.collections[-2:]
    assert len(faces.get_paths()) == 3
    assert len(edges.get_paths()) == 9
    assert len(axes.texts) == 1


def test_a_cylinder_is_smooth_round_its_side() -> None:
    figure = Figure()
    axes = figure.add_subplot()
    cylinder = pictures.solids(tg.Cylinder(0.5, 1.0, facets=24), np.array([0, 0, 0.5]), UPRIGHT)
    pictures.draw(axes, pictures.Frame(cylinder, "cylinder"), pictures.Camera())
    edges = axes.collections[-1]
    # rim above, half of the rim below, and two outlines: none between neighbouring facets
    assert len(edges.get_paths()) == 24 + 12 + 2


def test_a_surface_shows_what_looks_at_the_camera_and_its_stress() -> None:
    corners, triangles = BOX.surface()
    camera = pictures.Camera(centre=(0.0, 0.0, 0.5))
    found = []
    for share in (0.0, 1.0):
        surface = surface_pictures.Surface(corners, triangles, np.full(len(corners), share))
        axes = Figure().add_subplot()
        surface_pictures.paint(axes, surface, camera)
        _, painted = axes.collections
        found.append(np.asarray(painted.get_facecolor()))
    # three of the six faces, two triangles each
    assert [len(colours) for colours in found] == [6, 6]
    calm, strained = (colours[:, :3].mean(axis=0) for colours in found)
    assert calm[2] > calm[0]
    assert strained[0] > strained[2]
