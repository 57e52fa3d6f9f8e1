from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import clouds

import tangere as tg
from tangere.errors import SceneError
from tangere.geometry.boundary import (
    EDGE,
    FACE,
    PLANE,
    VERTEX,
    Boundary,
    block_with_hole,
    boundary_of,
    half_space,
    holed_block,
)
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
# Corners are recomputed from coordinates in the face's plane: some roundings of the size.
ROUNDING = 1e-14


def counts(b: Boundary) -> tuple[int, int, int]:
    v, e, f = (len(b.of_dimension(d)) for d in (VERTEX, EDGE, FACE))
    return v, e, f


def assert_proper(b: Boundary, holes_through: int = 0) -> None:
    """V − E + F − (inner loops) = 2 (1 − genus); adjacency both ways; flat, outward faces."""
    elements = b.elements
    v, e, f = counts(b)
    inner = len(elements.loop_start) - 1 - f
    assert v - e + f - inner == 2 * (1 - holes_through)
    assert len(set(b.names)) == len(b.names) == v + e + f
    pairs = {(i, int(j)) for i in range(len(b)) for j in b.below(i)}
    assert pairs == {(int(j), i) for i in range(len(b)) for j in b.above(i)}
    for edge in b.of_dimension(EDGE):
        assert len(b.below(edge)) == len(b.above(edge)) == 2
        frame, half = elements.frame[edge], elements.size[edge, 0]
        for end, sign in zip(b.below(edge), (-1.0, 1.0), strict=True):
            at: Array = frame[:, 3] + sign * half * frame[:, 2]
            np.testing.assert_allclose(at, elements.frame[end, :, 3], atol=ROUNDING)
    scale = np.abs(elements.frame[:, :, 3]).max()
    for frame in elements.frame:
        np.testing.assert_allclose(frame[:, :3].T @ frame[:, :3], np.eye(3), atol=1e-12)
        assert np.linalg.det(frame[:, :3]) == pytest.approx(1.0)
    for face in b.of_dimension(FACE):
        corners = {tuple(np.round(elements.frame[i, :, 3] / scale, 6)) for i in corners_of(b, face)}
        loops = b.loops(face)
        assert {tuple(np.round(x / scale, 6)) for loop in loops for x in loop} == corners
        assert sum(map(len, loops)) == len(b.below(face))
        normal = elements.frame[face, :, 2]
        areas = [0.5 * np.cross(x - x[0], np.roll(x, -1, 0) - x[0]).sum(0) @ normal for x in loops]
        assert areas[0] > 0.0
        assert all(area < 0.0 for area in areas[1:])


def corners_of(b: Boundary, face: int) -> set[int]:
    return {int(v) for edge in b.below(face) for v in b.below(int(edge))}


def volume(b: Boundary) -> float:
    """The divergence theorem over faces: V = ⅓ Σ A n·x, holes have negative area."""
    total = 0.0
    for face in b.of_dimension(FACE):
        for loop in b.loops(face):
            area = 0.5 * np.cross(loop - loop[0], np.roll(loop, -1, 0) - loop[0]).sum(0)
            total += float(area @ loop[0]) / 3.0
    return total


def convexities(b: Boundary, dimension: int) -> list[int]:
    return list(b.elements.convexity[b.of_dimension(dimension)])


def test_box_has_26_elements_named_by_direction() -> None:
    b = boundary_of(tg.Box((0.1, 0.2, 0.3)))
    assert counts(b) == (8, 12, 6)
    assert_proper(b)
    assert volume(b) == pytest.approx(0.006)
    assert convexities(b, EDGE) == [1] * 12
    assert convexities(b, VERTEX) == [1] * 8
    top = b.index("face +z")
    assert b.elements.kind[top] == PLANE
    axis_and_origin = b.elements.frame[top, :, 2:]
    np.testing.assert_allclose(axis_and_origin, np.array([[0, 0], [0, 0], [1, 0.15]]))
    assert {b.names[i] for i in b.below(top)} == {f"edge {s}{a} +z" for s in "+-" for a in "xy"}
    assert {b.names[i] for i in b.below(b.index("edge +x +z"))} == {
        "vertex +x +y +z",
        "vertex +x -y +z",
    }
    np.testing.assert_allclose(
        b.elements.frame[b.index("vertex +x -y +z"), :, 3], [0.05, -0.1, 0.15]
    )
    assert len(b.closure(top)) == 9
    with pytest.raises(SceneError, match="no element"):
        b.index("face up")


def test_block_with_a_hole_through_it() -> None:
    b = block_with_hole((0.1, 0.1, 0.04), (0.036, 0.03))
    assert counts(b) == (16, 24, 10)
    assert_proper(b, holes_through=1)
    assert volume(b) == pytest.approx(0.04 * (0.1 * 0.1 - 0.036 * 0.03))
    edges = b.elements.convexity[b.of_dimension(EDGE)]
    assert sorted(edges.tolist()) == [-1] * 4 + [1] * 20  # the uprights of the hole are concave
    assert convexities(b, VERTEX).count(0) == 8
    wall = b.index("wall +x")
    np.testing.assert_allclose(b.elements.frame[wall, :, 2], [1, 0, 0], atol=1e-15)
    assert b.elements.frame[wall, 0, 3] == pytest.approx(-0.018)
    corner = b.index("edge wall +x wall +y")
    assert b.elements.convexity[corner] == -1
    np.testing.assert_allclose(b.elements.frame[corner, :, 3], [-0.018, -0.015, 0.0], atol=1e-15)


def test_block_with_a_blind_hole() -> None:
    b = block_with_hole((0.1, 0.1, 0.05), (0.036, 0.036), depth=0.04)
    assert counts(b) == (16, 24, 11)
    assert_proper(b)
    edges = b.elements.convexity[b.of_dimension(EDGE)].tolist()
    assert edges.count(-1) == 8
    assert convexities(b, VERTEX).count(-1) == 4  # the corners at the bottom
    bottom = b.index("wall +z")
    assert b.elements.frame[bottom, 2, 3] == pytest.approx(0.025 - 0.04)
    assert volume(b) == pytest.approx(0.1 * 0.1 * 0.05 - 0.036**2 * 0.04)


def test_holed_block_is_a_shape_of_the_same_volume() -> None:
    for depth in (None, 0.03):
        shape = holed_block((0.1, 0.08, 0.04), (0.03, 0.02), depth)
        assert shape.moments().volume == pytest.approx(volume(boundary_of(shape)))
    with pytest.raises(SceneError, match="does not fit"):
        holed_block((0.1, 0.1, 0.1), (0.1, 0.05))


def test_overlapping_and_turned_boxes_make_one_solid() -> None:
    """An L of two boxes that overlap, one given with its axes exchanged, all in a turned frame."""
    half = np.sqrt(0.5)
    quarter = (half, 0.0, 0.0, half)
    ell = tg.Compound(
        [tg.Box((3, 1, 1)), tg.Box((3, 1, 1))], [((0, 0, 0), UPRIGHT), ((-1, 1, 0), quarter)]
    )
    for turn in (UPRIGHT, (0.5, 0.5, -0.1, 0.7)):
        b = boundary_of(tg.Compound([ell], [((1, 2, 3), turn)]))
        assert counts(b) == (12, 18, 8)
        assert_proper(b)
        assert volume(b) == pytest.approx(5.0)
        assert convexities(b, EDGE).count(-1) == 1


def test_a_mesh_has_the_faces_of_the_union() -> None:
    import trimesh

    ring = trimesh.creation.annulus(1.0, 2.0, 1.0, sections=4)
    b = boundary_of(tg.Mesh(ring.vertices, ring.faces))
    assert counts(b) == (16, 24, 10)
    assert_proper(b, holes_through=1)
    assert volume(b) == pytest.approx(ring.volume)
    assert convexities(b, EDGE).count(-1) == 4
    fine = trimesh.creation.box((1, 2, 3)).subdivide().subdivide()
    assert counts(boundary_of(tg.Mesh(fine.vertices, fine.faces))) == (8, 12, 6)


def test_what_has_no_flat_boundary_is_refused() -> None:
    leaning = (0.9, 0.1, 0.0, 0.0)
    boxes = [tg.Box((1, 1, 1))] * 2
    for shape, why in (
        (tg.Compound([tg.Sphere(1.0), boxes[0]], [((0, 0, 0), UPRIGHT)] * 2), "Sphere"),
        (tg.Compound(boxes, [((0, 0, 0), UPRIGHT), ((1, 0, 0), leaning)]), "turned"),
        (tg.Compound(boxes, [((0, 0, 0), UPRIGHT), ((1, 1, 0), UPRIGHT)]), "meet at one edge"),
    ):
        with pytest.raises(SceneError, match=why):
            boundary_of(shape)


def test_half_space_is_one_unbounded_face() -> None:
    b = half_space((0.0, 3.0, 4.0), 2.0)
    assert b.names == ("floor",)
    frame = b.elements.frame[0]
    np.testing.assert_allclose(frame[:, 2], [0, 0.6, 0.8])
    np.testing.assert_allclose(frame[:, 3], [0, 1.2, 1.6])
    assert b.loops(0) == []


@given(clouds())
@settings(max_examples=40)
def test_hulls_are_convex_polyhedra(cloud: Array) -> None:
    b = boundary_of(tg.Convex(cloud))
    assert set(convexities(b, EDGE)) <= {0, 1}
    v, e, f = counts(b)
    assert v - e + f == 2
    size = np.abs(cloud).max()
    for face in b.of_dimension(FACE):
        frame = b.elements.frame[face]
        assert ((cloud - frame[:, 3]) @ frame[:, 2]).max() < 1e-6 * size


def test_moving_a_boundary_moves_every_element() -> None:
    shape = holed_block((0.1, 0.08, 0.04), (0.03, 0.02))
    turn = np.array([0.1, 0.7, -0.5, 0.5])
    turn /= np.linalg.norm(turn)
    rotation, position = rotation_of(turn), np.array([1.0, -2.0, 3.0])
    still = boundary_of(shape)
    moved = still.moved(rotation, position)
    assert_proper(moved, holes_through=1)
    built = boundary_of(tg.Compound([shape], [(position, turn)]))
    key = np.lexsort(np.round(built.elements.frame[:, :, 3], 9).T)
    other = np.lexsort(np.round(moved.elements.frame[:, :, 3], 9).T)
    np.testing.assert_allclose(
        built.elements.frame[key, :, 3], moved.elements.frame[other, :, 3], atol=1e-12
    )
    assert moved.names == still.names
