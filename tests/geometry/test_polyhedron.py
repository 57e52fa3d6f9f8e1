from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from scipy.spatial import ConvexHull
from strategies import Pose, clouds, poses

from tangere.errors import SceneError
from tangere.geometry import polyhedron
from tangere.geometry.polyhedron import (
    MAX_FACES,
    Polyhedron,
    convex_polyhedron,
    simplified_points,
)
from tangere.maths.rotations import rotation_of

Array = NDArray[np.float64]

# A merged face departs from its plane by at most 4 x 1e-7 of the cloud's extent along any axis.
PLANE_SHARE = 4e-7
CUBE = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def faces_of(solid: Polyhedron) -> list[Array]:
    pairs = zip(solid.loop_start[:-1], solid.loop_start[1:], strict=True)
    return [np.asarray(solid.loops[a:b]) for a, b in pairs]


def prism(sides: int, radius: float = 1.0, height: float = 1.0) -> Array:
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))
    return np.concatenate([np.c_[ring, np.full(sides, z)] for z in (-0.5 * height, 0.5 * height)])


def assert_proper(solid: Polyhedron) -> None:
    """A closed convex polyhedron by its combinatorics and its numbers."""
    faces = faces_of(solid)
    edges = [(a, b) for f in faces for a, b in zip(f, np.roll(f, -1), strict=True)]
    assert len(set(edges)) == len(edges)
    assert {(b, a) for a, b in edges} == set(edges)
    assert len(solid.vertices) - len(edges) // 2 + len(faces) == 2
    assert sorted({int(v) for f in faces for v in f}) == list(range(len(solid.vertices)))
    assert np.allclose(np.linalg.norm(solid.planes[:, :3], axis=1), 1.0, rtol=1e-14)
    heights = solid.vertices @ solid.planes[:, :3].T - solid.planes[:, 3]
    assert heights.max() <= 0.0
    for face, plane in zip(faces, solid.planes, strict=True):
        assert len(face) >= 3
        corners = solid.vertices[face] - solid.vertices[face[0]]
        assert np.cross(corners[1:-1], corners[2:]).sum(axis=0) @ plane[:3] > 0.0
    degree = np.bincount(solid.loops)
    assert degree.min() >= 3


def test_box_has_six_quads() -> None:
    solid = convex_polyhedron(CUBE * (0.1, 0.1, 0.05))
    assert_proper(solid)
    assert [len(f) for f in faces_of(solid)] == [4] * 6
    signs = np.concatenate((np.eye(3), -np.eye(3)))
    assert {tuple(n) for n in solid.planes[:, :3]} == {tuple(n) for n in signs}
    assert sorted(solid.planes[:, 3]) == [0.05, 0.05, 0.1, 0.1, 0.1, 0.1]
    assert solid.loops.dtype == np.int32
    assert solid.loop_start.dtype == np.int32


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("turn", [(1, 0, 0, 0), (0.9, 0.3, -0.2, 0.25)])
def test_prism_of_96_sides_has_98_faces(size: float, turn: tuple[float, ...]) -> None:
    q = np.array(turn) / np.linalg.norm(turn)
    solid = convex_polyhedron(size * prism(96) @ rotation_of(q).T)
    assert_proper(solid)
    assert sorted(len(f) for f in faces_of(solid)) == [4] * 96 + [96] * 2


def test_single_precision_coordinates_still_merge() -> None:
    q = np.array([0.8, 0.4, -0.4, 0.2])
    points = (CUBE @ rotation_of(q / np.linalg.norm(q)).T).astype(np.float32).astype(np.float64)
    solid = convex_polyhedron(points)
    assert_proper(solid)
    assert len(solid.planes) == 6


def test_inner_and_repeated_points_are_dropped() -> None:
    rng = np.random.default_rng(1)
    on_faces = np.array([(1.0, 0.2, 0.3), (0.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.5, 1.0, 1.0)])
    cloud = np.concatenate((CUBE, CUBE, rng.uniform(-0.9, 0.9, (50, 3)), on_faces, CUBE + 1e-12))
    solid = convex_polyhedron(cloud)
    assert_proper(solid)
    assert len(solid.vertices) == 8
    assert len(solid.planes) == 6


@pytest.mark.parametrize(("thin", "axis"), [(1e-6, 0), (1e-6, 2), (1e-3, 1)])
def test_plates_and_needles_keep_their_faces(thin: float, axis: int) -> None:
    scale = np.ones(3)
    scale[axis] = thin
    plate = convex_polyhedron(CUBE * scale)
    needle = convex_polyhedron(CUBE * (thin / scale))
    for solid in (plate, needle):
        assert_proper(solid)
        assert len(solid.planes) == 6
    assert plate.moments().volume == pytest.approx(8.0 * thin, rel=1e-12)
    assert needle.moments().volume == pytest.approx(8.0 * thin**2, rel=1e-12)


def test_long_thin_prism_keeps_every_side() -> None:
    solid = convex_polyhedron(prism(96, radius=1e-3, height=1e3))
    assert_proper(solid)
    assert len(solid.planes) == 98


@given(clouds())
def test_hull_is_proper_and_holds_all_points(cloud: Array) -> None:
    solid = convex_polyhedron(cloud)
    assert_proper(solid)
    extent = cloud.max(axis=0) - cloud.min(axis=0)
    # |N| . extent is the cloud's width along N at most: the yardstick of the merge tolerance.
    allowed = PLANE_SHARE * (np.abs(solid.planes[:, :3]) @ extent)
    heights = cloud @ solid.planes[:, :3].T - solid.planes[:, 3]
    assert (heights <= allowed).all()
    for face, plane, depth in zip(faces_of(solid), solid.planes, allowed, strict=True):
        assert (plane[3] - solid.vertices[face] @ plane[:3] <= depth).all()
    for vertex in solid.vertices:
        assert (cloud == vertex).all(axis=1).any()


@given(clouds())
def test_volume_agrees_with_qhull(cloud: Array) -> None:
    unit = (cloud - cloud.min(axis=0)) / (cloud.max(axis=0) - cloud.min(axis=0))
    # Merging moves faces by 4e-7 of the extent; the area of a unit hull is at most 6, its volume
    # at least that of the simplex within it.
    assert convex_polyhedron(unit).moments().volume == pytest.approx(
        ConvexHull(unit).volume, abs=6 * PLANE_SHARE
    )


@given(clouds(most=20), poses())
def test_moving_commutes_with_taking_the_hull(cloud: Array, pose: Pose) -> None:
    position, q = pose
    turn = rotation_of(q)
    size = float((cloud.max(axis=0) - cloud.min(axis=0)).max())
    moved = convex_polyhedron(cloud).moved(turn, size * position)
    assert_proper(moved)
    volume = convex_polyhedron(cloud).moments().volume
    thin = float((cloud.max(axis=0) - cloud.min(axis=0)).min())
    # Coordinates of about ten sizes carry 1e-15 sizes of rounding; over the thinnest width it
    # becomes a share of the volume.
    assert moved.moments().volume == pytest.approx(volume, rel=1e-12 * size / thin)


@pytest.mark.parametrize("seed", range(5))
def test_simplified_hull_lies_inside_and_fits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(400, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    few = simplified_points(points)
    solid = convex_polyhedron(few)
    assert_proper(solid)
    assert len(solid.planes) <= MAX_FACES
    assert 0.85 * ConvexHull(points).volume < solid.moments().volume <= ConvexHull(points).volume


BAD_CLOUDS = {
    "no points": (np.zeros((0, 3)), "at least 4"),
    "three points": (np.eye(3), "at least 4"),
    "one place": (np.ones((9, 3)), "coincide"),
    "a line": (np.outer(np.arange(9.0), (1, 2, 3)), "line"),
    "a plane": (np.c_[np.random.default_rng(0).normal(size=(9, 2)), np.zeros(9)], "plane"),
    "a tilted plane": (np.random.default_rng(0).normal(size=(9, 2)) @ np.ones((2, 3)), "li"),
    "nearly a plane": (CUBE * (1.0, 1.0, 1e-9), "plane"),
    "not a number": (np.r_[CUBE, [[0.0, np.nan, 0.0]]], "point 8"),
    "infinite": (np.r_[CUBE, [[np.inf, 0.0, 0.0]]], "point 8"),
    "huge": (np.r_[CUBE, [[1e200, 0.0, 0.0]]], "point 8"),
    "two columns": (np.zeros((8, 2)), "shape"),
    "ragged": ([[1, 2, 3], [4, 5]], "rows of three"),
    "text": ([["a", "b", "c"]] * 4, "numbers"),
    "nothing": (None, "shape"),
    "far from its origin": (CUBE + 1e9, "closer"),
    "ten million points": (np.broadcast_to(np.zeros(3), (10_000_000, 3)), "10000000"),
}


@pytest.mark.parametrize("name", BAD_CLOUDS)
def test_bad_clouds_are_refused_in_one_line(name: str) -> None:
    points, word = BAD_CLOUDS[name]
    with pytest.raises(SceneError) as caught:
        convex_polyhedron(points, "stone")
    text = str(caught.value)
    assert text.startswith("stone: ")
    assert word in text
    assert "\n" not in text


@pytest.mark.parametrize("count", [200, 20_000])
def test_too_many_faces_say_how_to_simplify(count: int) -> None:
    points = np.random.default_rng(2).normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    with pytest.raises(SceneError, match=r"more than 256 faces; .*simplified_points"):
        convex_polyhedron(points)


def test_results_are_read_only() -> None:
    solid = convex_polyhedron(CUBE)
    for array in solid:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(("merge", "faces"), [((10.0, 1e-7, 0.0), 6), ((10.0, 0.0), 12)])
def test_too_generous_merging_falls_back(
    monkeypatch: pytest.MonkeyPatch, merge: tuple[float, ...], faces: int
) -> None:
    # A tolerance of ten sizes makes one face of everything, which is no polyhedron.
    monkeypatch.setattr(polyhedron, "MERGE", merge)
    solid = convex_polyhedron(CUBE)
    assert_proper(solid)
    assert len(solid.planes) == faces


def test_no_proper_hull_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polyhedron, "MERGE", (10.0,))
    with pytest.raises(SceneError, match="too close to flat or coincident"):
        convex_polyhedron(CUBE)
