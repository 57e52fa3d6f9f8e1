"""Contact patches and surfaces as they are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull, HalfspaceIntersection

from tangere.geometry.outline import disc, outline
from tangere.geometry.shapes import Box, Convex, Cylinder, Sphere
from tangere.maths.rotations import rotation_of
from tangere.viewer.outlines import (
    Edges,
    contains,
    crisp,
    edges_of,
    half_space,
    linear,
    overlap_corners,
)

ROUNDING = 1e-12  # [m] coordinates of metre size after a few products
UP = np.array([0.0, 0.0, 1.0])


def placed(shape: Box | Convex, quaternion: list[float], position: list[float]) -> Edges:
    q = np.array(quaternion) / np.linalg.norm(quaternion)
    return edges_of(shape.parts()[0]).moved(rotation_of(q), np.array(position))


def area(polygon: np.ndarray) -> float:
    edges = polygon[1:] - polygon[0]
    return 0.5 * float(np.linalg.norm(np.cross(edges[:-1], edges[1:]).sum(axis=0)))


def test_a_box_has_twelve_edges() -> None:
    assert len(edges_of(Box((1.0, 2.0, 3.0)).parts()[0]).start) == 12


def test_patch_of_two_shifted_boxes_is_the_common_rectangle() -> None:
    lower = placed(Box((1.0, 1.0, 1.0)), [1, 0, 0, 0], [0, 0, 0])
    upper = placed(Box((1.0, 1.0, 1.0)), [1, 0, 0, 0], [0.3, -0.4, 0.999])
    polygon = outline(overlap_corners(lower, upper), np.array([0.0, 0.0, 0.5]), UP)
    assert polygon is not None
    np.testing.assert_allclose(sorted(set(polygon[:, 0].round(9))), [-0.2, 0.5])
    np.testing.assert_allclose(sorted(set(polygon[:, 1].round(9))), [-0.5, 0.1])
    np.testing.assert_allclose(polygon[:, 2], 0.5, atol=ROUNDING)
    assert area(polygon) == pytest.approx(0.7 * 0.6)


def test_patch_on_the_floor_is_the_part_below_it() -> None:
    # A cube on its edge, sunk by a tenth of its half diagonal: a strip of twice that width.
    s = np.sin(np.pi / 8)
    cube = placed(Box((1.0, 1.0, 1.0)), [np.cos(np.pi / 8), 0, s, 0], [0, 0, np.sqrt(0.5) - 0.07])
    floor = half_space(UP, 0.0)
    polygon = outline(overlap_corners(floor, cube), np.zeros(3), UP)
    assert polygon is not None
    assert area(polygon) == pytest.approx(2 * 0.07 * 1.0)


def test_corners_agree_with_half_space_intersection() -> None:
    """Two random polyhedra deep in each other: the same hull as an independent method finds."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        a = placed(Convex(rng.normal(size=(20, 3))), rng.normal(size=4).tolist(), [0, 0, 0])
        shift = (0.8 * rng.normal(size=3)).tolist()
        b = placed(Convex(rng.normal(size=(14, 3))), rng.normal(size=4).tolist(), shift)
        ours = overlap_corners(a, b)
        planes = np.concatenate((a.planes, b.planes))
        inside = ours.mean(axis=0)
        assert (planes[:, :3] @ inside < planes[:, 3]).all()
        theirs = HalfspaceIntersection(planes * [1, 1, 1, -1], inside).intersections
        assert ConvexHull(ours).volume == pytest.approx(ConvexHull(theirs).volume, rel=1e-9)


def test_solids_apart_have_no_patch() -> None:
    a = placed(Box((1.0, 1.0, 1.0)), [1, 0, 0, 0], [0, 0, 0])
    b = placed(Box((1.0, 1.0, 1.0)), [1, 0.2, 0, 0], [0, 0, 2])
    assert len(overlap_corners(a, b)) == 0
    assert outline(overlap_corners(a, b), np.zeros(3), UP) is None


def test_points_on_a_line_have_no_patch() -> None:
    line = np.outer(np.linspace(0, 1, 5), [1.0, 2.0, 0.0])
    assert outline(line, np.zeros(3), UP) is None


def test_disc_is_flat_and_round() -> None:
    normal = np.array([0.6, 0.0, 0.8])
    ring = disc(np.ones(3), normal, 0.5) - 1.0
    np.testing.assert_allclose(ring @ normal, 0.0, atol=ROUNDING)
    np.testing.assert_allclose(np.linalg.norm(ring, axis=1), 0.5)


def test_a_box_keeps_its_edges_and_a_sphere_has_none() -> None:
    vertices, triangles = Box((1.0, 1.0, 1.0)).surface()
    assert len(crisp(vertices, triangles)[0]) == 24  # every corner once per face
    vertices, triangles = Sphere(1.0).surface()
    assert len(crisp(vertices, triangles)[0]) == len(vertices)


def test_a_cylinder_has_a_smooth_side_and_sharp_rims() -> None:
    vertices, triangles = Cylinder(1.0, 2.0, facets=32).surface()
    points, faces = crisp(vertices, triangles)
    assert len(points) == 2 * 64  # rim vertices twice: once for the side, once for the lid
    np.testing.assert_array_equal(points[faces], vertices[triangles])


def test_a_surface_contains_what_it_goes_round() -> None:
    for shape in (Box((0.2, 0.1, 0.06)), Cylinder(0.05, 0.1)):
        points, triangles = shape.surface()
        deepest = np.zeros(3)
        assert contains(points, triangles, deepest)
        for axis in np.eye(3):
            edge = np.abs(points @ axis).max()
            assert contains(points, triangles, 0.99 * edge * axis)
            assert not contains(points, triangles, 1.01 * edge * axis)


def test_colours_of_lines_are_sent_as_light() -> None:
    # sRGB: the ends stay, and half of the scale is 21 % of the light.
    np.testing.assert_array_equal(linear([0, 128, 255]), [0, 55, 255])
