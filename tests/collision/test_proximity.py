"""Feature pairs of surfaces: every region once, nothing missed, the same whoever is first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from collision.meshes import (
    Ints,
    Mesh,
    ball,
    box,
    bumpy,
    closest_points,
    patch,
    ring,
    tube,
    winding_number,
)
from collision.rows import Row, floor_pairs, of_surfaces, pairs, poisoned, settle, surfaces
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tangere.collision.feature_pairs import (
    COUNT,
    EDGE_EDGE,
    EDGE_VERTEX,
    FACE_VERTEX,
    FULL,
    VERTEX_EDGE,
    VERTEX_FACE,
    VERTEX_PLANE,
    VERTEX_VERTEX,
)
from tangere.collision.surfaces import Surfaces

Array = NDArray[np.float64]

HAIR = (-1e-12, 0.0, 1e-12)
# Things are up to 0.1 m in size: a few roundings.
EXACT = 1e-15


def moved(mesh: Mesh, shift: object, turn: Rotation | None = None) -> Mesh:
    points = mesh[0] if turn is None else turn.apply(mesh[0])
    return points + np.array(shift), mesh[1]


def spike(tip: object, width: float = 0.01) -> Mesh:
    """A slender pyramid of four sides that points down to its tip."""
    top = np.array([[1, 1, 4], [-1, 1, 4], [-1, -1, 4], [1, -1, 4]]) * width
    points = np.concatenate((np.zeros((1, 3)), top)) + np.array(tip)
    sides = [[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 1, 4], [1, 2, 3], [1, 3, 4]]
    return points, np.array(sides, np.int32)


def kinds(rows: list[Row]) -> list[int]:
    return [row.key[0] for row in rows]


CUBE = box((0.02, 0.02, 0.02))


# ---------------------------------------------------------------- one feature each


@pytest.mark.nojit
@pytest.mark.parametrize("hair", HAIR)
@pytest.mark.parametrize("gap", [-1e-4, 0.0, 5e-4])
def test_vertex_above_a_face(gap: float, hair: float) -> None:
    """Its own triangle, the exact gap, the normal of the face: also a hair above or below."""
    s = surfaces(spike((0.002, 0.001, 0.01 + gap + hair)), CUBE)
    (row,) = pairs(s)
    assert row.key[:2] == (VERTEX_FACE, 0)
    assert row.normal == pytest.approx((0.0, 0.0, -1.0), abs=EXACT)
    assert row.gap == pytest.approx(gap + hair, abs=1e-17)
    assert row.nodes[:3] == (0, -1, -1)
    assert set(row.nodes[3:]) == set(s.triangles[row.key[2]])
    assert row.on_b == pytest.approx((0.002, 0.001, 0.01), abs=EXACT)


@pytest.mark.nojit
@pytest.mark.parametrize("hair", HAIR)
def test_vertex_above_an_edge(hair: float) -> None:
    """Diagonally off an edge of the cube; along the line between the points."""
    off = 4e-4
    tip = (0.01 + off + hair, 0.003, 0.01 + off)
    s = surfaces(moved(spike((0, 0, 0)), tip, Rotation.from_euler("y", 45, degrees=True)), CUBE)
    (row,) = pairs(s)
    assert row.key[:2] == (VERTEX_EDGE, 0)
    assert row.gap == pytest.approx(off * 2**0.5, abs=1e-12)
    assert row.normal == pytest.approx((-(0.5**0.5), 0.0, -(0.5**0.5)), abs=1e-8)
    edge = s.now[s.edges[row.key[2]]]
    assert edge[:, 0] == pytest.approx(0.01)
    assert edge[:, 2] == pytest.approx(0.01)
    assert (row.weights[3:] == 0.0).sum() == 1


@pytest.mark.nojit
@pytest.mark.parametrize("hair", HAIR)
def test_vertex_that_touches_an_edge_takes_the_mean_of_its_faces(hair: float) -> None:
    tip = (0.01 + hair, 0.003, 0.01 + hair)
    s = surfaces(moved(spike((0, 0, 0)), tip, Rotation.from_euler("y", 45, degrees=True)), CUBE)
    (row,) = pairs(s)
    assert row.key[:2] == (VERTEX_EDGE, 0)
    assert row.normal == pytest.approx((-(0.5**0.5), 0.0, -(0.5**0.5)), abs=1e-15)
    assert row.gap == pytest.approx(hair * 2**0.5, abs=1e-17)


@pytest.mark.nojit
@pytest.mark.parametrize("hair", HAIR)
@pytest.mark.parametrize("off", [0.0, 3e-4])
def test_vertex_above_a_vertex_is_one_pair(off: float, hair: float) -> None:
    """Tip on tip, both ways found, kept once; when they touch, the mean of both normals."""
    up, tip = surfaces_of_two_tips(off + hair)
    (row,) = pairs(up)
    assert row.key == (VERTEX_VERTEX, 0, tip)
    assert row.normal == pytest.approx((0.0, 0.0, -1.0), abs=1e-12)
    assert row.gap == pytest.approx(off + hair, abs=1e-17)


def surfaces_of_two_tips(height: float) -> tuple[Surfaces, int]:
    upside = moved(spike((0, 0, 0)), (0, 0, 0), Rotation.from_euler("x", 180, degrees=True))
    s = surfaces(spike((0.0, 0.0, height)), upside)
    return s, int(s.vertex_start[1])


def wedge(down: bool, along: str) -> Mesh:
    """A roof of 90° whose ridge is 40 mm of an axis through the origin; down: hangs from above."""
    x = 0.02
    points = np.array([[-x, 0, 0], [x, 0, 0], [x, x, -x], [-x, x, -x], [x, -x, -x], [-x, -x, -x]])
    faces = [[0, 1, 2], [0, 2, 3], [1, 0, 5], [1, 5, 4], [3, 2, 4], [3, 4, 5], [0, 3, 5], [1, 4, 2]]
    turn = Rotation.from_euler("z", 90 if along == "y" else 0, degrees=True)
    if down:
        turn = turn * Rotation.from_euler("x", 180, degrees=True)
    return turn.apply(points), np.array(faces, np.int32)


@pytest.mark.nojit
@pytest.mark.parametrize("hair", HAIR)
@pytest.mark.parametrize("gap", [-2e-4, 0.0, 5e-4])
def test_crossed_edges(gap: float, hair: float) -> None:
    s = surfaces(wedge(False, "x"), moved(wedge(True, "y"), (0.004, 0.002, gap + hair)))
    (row,) = pairs(s)
    assert row.key[0] == EDGE_EDGE
    assert row.normal == pytest.approx((0.0, 0.0, 1.0), abs=EXACT)
    assert row.gap == pytest.approx(gap + hair, abs=1e-17)
    assert row.on_a == pytest.approx((0.004, 0.0, 0.0), abs=1e-16)
    assert row.on_b[:2] == pytest.approx((0.004, 0.0), abs=1e-16)


@pytest.mark.nojit
def test_parallel_edges_and_edges_past_each_other_do_not_cross() -> None:
    for turn, shift in ((1.0, (0, 0, 5e-4)), (90.0, (0.0204, 0, 5e-4)), (90.0, (0.01998, 0, 5e-4))):
        down = moved(wedge(True, "x"), shift, Rotation.from_euler("z", turn, degrees=True))
        assert EDGE_EDGE not in kinds(pairs(surfaces(wedge(False, "x"), down)))


@pytest.mark.nojit
def test_valleys_and_boundaries_do_not_cross() -> None:
    """The same ridge seen from inside is a valley; an edge with one face is none at all."""
    points, faces = wedge(True, "y")
    valley = (points, np.ascontiguousarray(faces[:4, ::-1]))
    half = (points, np.ascontiguousarray(faces[:2]))
    for other in (valley, half):
        s = surfaces(wedge(False, "x"), moved(other, (0.004, 0.002, 5e-4)))
        assert EDGE_EDGE not in kinds(pairs(s))
        assert EDGE_EDGE not in kinds(pairs(s, 1, 0))


@pytest.mark.nojit
def test_crossed_planks_meet_in_the_corners_of_their_overlap() -> None:
    """Two flat faces of which no vertex is above the other: four crossings hold them."""
    gap = 2e-4
    a, b = box((0.1, 0.02, 0.01)), box((0.02, 0.1, 0.01))
    s = surfaces(a, moved(b, (0.0, 0.0, 0.01 + gap)))
    found = pairs(s)
    assert kinds(found) == [EDGE_EDGE] * 4
    corners = {(round(row.on_a[0], 9), round(row.on_a[1], 9)) for row in found}
    assert corners == {(x, y) for x in (-0.01, 0.01) for y in (-0.01, 0.01)}
    for row in found:
        assert row.gap == pytest.approx(gap, abs=EXACT)
        assert row.normal == pytest.approx((0.0, 0.0, 1.0), abs=EXACT)


@pytest.mark.nojit
@pytest.mark.parametrize("hair", HAIR)
def test_flat_box_on_a_fine_face_has_vertices_alone(hair: float) -> None:
    """Vertices of the face below the box, corners of the box; gaps exact."""
    gap = 3e-4 + hair
    fine = box((0.05, 0.05, 0.01), (10, 10, 1))
    s = surfaces(fine, moved(box((0.018, 0.022, 0.01)), (0.0007, -0.0022, 0.01 + gap)))
    found = pairs(s, reach=4e-4)
    assert set(kinds(found)) == {VERTEX_FACE, FACE_VERTEX}
    below = [row for row in found if row.key[0] == VERTEX_FACE]
    assert len(below) == 3 * 4
    assert len(found) - len(below) == 4
    for row in found:
        assert row.gap == pytest.approx(gap, abs=EXACT)
        assert row.normal == pytest.approx((0.0, 0.0, 1.0), abs=EXACT)


@pytest.mark.nojit
def test_blade_on_a_plate_crosses_its_flat_edges() -> None:
    """The ridge is longer than the plate: without flat edges nothing would hold it."""
    gap = 2e-4
    plate = box((0.03, 0.03, 0.01), (3, 3, 1))
    s = surfaces(plate, moved(wedge(True, "x"), (0.0, 0.0013, 0.005 + gap)))
    found = pairs(s)
    crossing = [row for row in found if row.key[0] == EDGE_EDGE]
    # four edges along y and three diagonals of the row of cells below the ridge
    assert len(crossing) == 7
    for row in crossing:
        assert row.gap == pytest.approx(gap, abs=EXACT)
        assert row.on_a[1] == pytest.approx(0.0013, abs=EXACT)


# ---------------------------------------------------------------- corners, boundaries, backs


def corner(angle: float = 90.0) -> Mesh:
    """Floor z = 0 and wall x = 0 of a solid that opens to +x, +z; floor and wall 20 mm."""
    a, x = np.radians(angle), 0.02
    up = x * np.array([np.cos(a), 0.0, np.sin(a)])
    y = np.array([0.0, x, 0.0])
    points = np.array([-y, y, [x, -x, 0], [x, x, 0], up - y, up + y])
    return points, np.array([[0, 2, 3], [0, 3, 1], [0, 1, 5], [0, 5, 4]], np.int32)


def tip_in_corner(x: float, z: float) -> Mesh:
    return moved(spike((0, 0, 0)), (x, 0.001, z), Rotation.from_euler("y", 45, degrees=True))


@pytest.mark.nojit
@pytest.mark.parametrize("hair", HAIR)
@pytest.mark.parametrize(
    ("x", "z"), [(3e-4, 5e-4), (5e-4, 3e-4), (0.0, 0.0), (-2e-4, -1e-4), (4e-4, -1e-4), (0.0, 4e-4)]
)
def test_vertex_in_a_corner_has_both_faces(x: float, z: float, hair: float) -> None:
    """Above both, in the corner, below both, below one: two planes, exact gaps, every time."""
    s = surfaces(tip_in_corner(x + hair, z), corner())
    found = pairs(s)
    assert kinds(found) == [VERTEX_FACE] * 2
    by_normal = {tuple(np.round(row.normal, 9) + 0.0): row.gap for row in found}
    assert by_normal[0.0, 0.0, -1.0] == pytest.approx(z, abs=2e-12)
    assert by_normal[-1.0, 0.0, 0.0] == pytest.approx(x + hair, abs=2e-12)


@pytest.mark.nojit
def test_corner_of_faces_that_share_no_edge() -> None:
    """A wall that stands in the middle of a floor; below the floor nothing is known of the wall."""
    floor, wall = patch((1, 1), (0.06, 0.06)), patch((1, 1), (0.02, 0.02))
    upright = Rotation.from_euler("y", 90, degrees=True)
    standing = moved(wall, (0.0, 0.003, 0.01), upright)
    points = np.concatenate((floor[0], standing[0]))
    both = points, np.concatenate((floor[1], wall[1] + 4)).astype(np.int32)
    found = pairs(surfaces(tip_in_corner(3e-4, 5e-4), both))
    assert sorted(row.gap for row in found) == pytest.approx([3e-4, 5e-4], abs=1e-12)
    below = pairs(surfaces(tip_in_corner(3e-4, -1e-4), both))
    assert [row.gap for row in below] == pytest.approx([-1e-4], abs=1e-12)


@pytest.mark.nojit
def test_vertex_in_a_corner_of_three_faces() -> None:
    points = 0.02 * np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 1]]
    )
    faces = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5], [0, 5, 6], [0, 6, 1]]
    nook = points, np.array(faces, np.int32)
    lean = Rotation.align_vectors([[-1, -1, -1]], [[0, 0, -1]])[0]
    for place in ((1e-4, 2e-4, 3e-4), (0.0, 0.0, 0.0), (-1e-4, -2e-4, -1e-4)):
        found = pairs(surfaces(moved(spike((0, 0, 0), 0.002), place, lean), nook))
        assert kinds(found) == [VERTEX_FACE] * 3
        gaps = sorted(row.gap for row in found)
        assert gaps == pytest.approx(sorted(place), abs=1e-12)


@pytest.mark.nojit
def test_a_wide_corner_is_held_by_one_face_or_the_edge() -> None:
    """165°: the faces look nearly the same way, one plane is enough."""
    s = surfaces(spike((2e-4, 0.001, 3e-4)), corner(165.0))
    assert kinds(pairs(s)) == [VERTEX_FACE]


@pytest.mark.nojit
@pytest.mark.parametrize("hair", HAIR)
def test_no_pair_beyond_the_boundary_of_a_patch(hair: float) -> None:
    """On the boundary it is above the patch; beside it nothing is known."""
    plane = patch((4, 4), (0.04, 0.04))
    on = pairs(surfaces(spike((0.02 + hair, 0.003, 4e-4)), plane))
    assert kinds(on) == [VERTEX_FACE]
    assert on[0].gap == pytest.approx(4e-4, abs=EXACT)
    at_corner = pairs(surfaces(spike((0.02 + hair, 0.02, 4e-4)), plane))
    assert kinds(at_corner) == [VERTEX_FACE]
    for place in ((0.02 + 1e-8, 0.003, 4e-4), (0.0201, 0.0201, 2e-4), (0.0202, 0.003, 0.0)):
        assert pairs(surfaces(spike(place), plane)) == []


@pytest.mark.nojit
def test_beyond_one_boundary_another_face_still_counts() -> None:
    """A step of two patches: right of the upper one, closer to it than to the lower one."""
    high, low = patch((2, 2), (0.02, 0.02)), patch((2, 2), (0.04, 0.04))
    lower = moved(low, (0.0, 0.0, -8e-4))[0]
    both = np.concatenate((high[0], lower)), np.concatenate((high[1], low[1] + len(high[0])))
    found = pairs(surfaces(spike((0.0101, 0.001, -1e-4)), (both[0], both[1].astype(np.int32))))
    assert kinds(found) == [VERTEX_FACE]
    assert found[0].gap == pytest.approx(7e-4, abs=EXACT)


@pytest.mark.nojit
def test_the_back_of_a_thin_plate_does_not_touch() -> None:
    """A plate of 0.5 mm on a block: its upper vertices are within reach, and look away."""
    plate = moved(box((0.01, 0.01, 5e-4), (3, 3, 1)), (0.0, 0.0, 0.01 + 2.5e-4 + 1e-4))
    found = pairs(surfaces(plate, CUBE))
    assert len(found) == 16
    for row in found:
        assert row.gap == pytest.approx(1e-4, abs=EXACT)


@pytest.mark.nojit
@pytest.mark.parametrize("half_angle", [5.0, 85.0])
def test_a_needle_touches_with_its_tip_upright_and_lying(half_angle: float) -> None:
    """Hardly any of its faces looks along its axis; lying, its mean normal looks elsewhere."""
    width = 0.02 * np.tan(np.radians(5.0))
    points, faces = spike((0, 0, 0))
    needle = points * (width / 0.01, width / 0.01, 0.5), faces
    lean = Rotation.from_euler("x", 0.0 if half_angle == 5.0 else 85.0, degrees=True)
    s = surfaces(moved(needle, (0.001, 0.002, 0.0102), lean), CUBE)
    tip = [row for row in pairs(s) if row.key[:2] == (VERTEX_FACE, 0)]
    assert len(tip) == 1
    assert tip[0].gap == pytest.approx(2e-4, abs=EXACT)


@pytest.mark.nojit
@pytest.mark.parametrize("angle", [20.0, 50.0, 70.0, 80.0])
def test_beside_a_blade_the_gap_is_the_distance(angle: float) -> None:
    """Any direction that a blade of 10° is closest in is its normal there, however far off up."""
    x, y = 0.02, 0.02 * np.tan(np.radians(5.0))
    points = np.array([[-x, 0, 0], [x, 0, 0], [x, y, -x], [-x, y, -x], [x, -y, -x], [-x, -y, -x]])
    blade = points, wedge(False, "x")[1]
    a = np.radians(angle)
    n = np.array([0.0, np.sin(a), np.cos(a)])
    lean = Rotation.from_euler("x", -angle, degrees=True)
    tip = moved(spike((0, 0, 0), 0.002), np.array([0.003, 0, 0]) + 4e-4 * n, lean)
    (row,) = pairs(surfaces(tip, blade))
    assert row.key[0] == VERTEX_EDGE
    assert row.gap == pytest.approx(4e-4, abs=1e-12)
    assert row.normal == pytest.approx(-n, abs=1e-9)


@pytest.mark.nojit
def test_a_vertex_leaves_by_the_face_it_came_through() -> None:
    """A spike from above, deeper than it is from the wall beside it, at which it does not look."""
    points, faces = spike((0, 0, 0))
    blunt = points * (3.0, 3.0, 0.15), faces
    (row,) = pairs(surfaces(moved(blunt, (0.0099, 0.001, 0.0097)), CUBE))
    assert row.key[:2] == (VERTEX_FACE, 0)
    assert row.normal == pytest.approx((0.0, 0.0, -1.0), abs=EXACT)
    assert row.gap == pytest.approx(-3e-4, abs=EXACT)


@pytest.mark.nojit
def test_overlap_deeper_than_the_limit_is_not_believed() -> None:
    for below, count in ((1.9e-3, 1), (2.1e-3, 0)):
        assert len(pairs(surfaces(spike((0.0, 0.001, 0.01 - below)), CUBE))) == count
    for above, count in ((0.99e-3, 1), (1.01e-3, 0)):
        assert len(pairs(surfaces(spike((0.0, 0.001, 0.01 + above)), CUBE))) == count


@pytest.mark.nojit
def test_a_full_buffer_says_so() -> None:
    fine = moved(box((0.01, 0.01, 0.002), (4, 4, 1)), (0.0, 0.0, 0.0111))
    s = surfaces(fine, CUBE)
    out = poisoned(7)
    assert of_surfaces(s, 0, 1, 1e-3, 2e-3, out) == 7
    assert out.filled[COUNT] == 7
    assert out.filled[FULL] == 1
    enough = poisoned(25)
    assert of_surfaces(s, 0, 1, 1e-3, 2e-3, enough) == 25
    assert enough.filled[FULL] == 0
    for row in range(7):  # what there was room for is whole
        np.testing.assert_array_equal(out.points[row], enough.points[row])
    planks = surfaces(box((0.1, 0.02, 0.01)), moved(box((0.02, 0.1, 0.01)), (0.0, 0.0, 0.0102)))
    few = poisoned(3)
    assert of_surfaces(planks, 0, 1, 1e-3, 2e-3, few) == 3
    assert few.filled[FULL] == 1


@pytest.mark.nojit
def test_bodies_in_the_boxes_of_each_other_but_apart() -> None:
    """A ball in the middle of a ring, and one in its mouth."""
    clip = ring((0.010, 0.012), 0.008, 0.9, (16, 1, 2))
    for place in ((0.0, 0.0, 0.0), (0.008, 0.0, 0.0)):
        assert pairs(surfaces(clip, moved(box((0.004, 0.004, 0.004), (2, 2, 2)), place))) == []


# ---------------------------------------------------------------- half-spaces


@pytest.mark.nojit
def test_vertices_above_a_half_space() -> None:
    rng = np.random.default_rng(2)
    n = np.array([0.36, 0.48, 0.8])
    turn = Rotation.align_vectors([n], [[0, 0, 1]])[0]
    mesh = bumpy(box((0.04, 0.04, 0.02), (6, 6, 3)), rng, 2e-4)
    points = turn.apply(mesh[0]) + n * (0.01 + 3e-4) + np.array([0.8, -0.6, 0.0]) * 0.01
    s = surfaces((points, mesh[1]))
    offset = 1e-4
    found = floor_pairs(s, (*n, offset), reach=5e-4, depth=1e-3)
    height = s.now @ n - offset
    bottom = mesh[0][:, 2] < -0.008
    expected = np.flatnonzero((height <= 5e-4) & (height >= -1e-3) & bottom)
    assert [row.key for row in found] == [(VERTEX_PLANE, int(v), 5) for v in expected]
    assert len(found) > 20
    for row in found:
        assert row.normal == pytest.approx(-n, abs=EXACT)
        assert row.gap == pytest.approx(height[row.key[1]], abs=EXACT)
        assert row.on_b @ n == pytest.approx(offset, abs=EXACT)
        assert row.nodes == (row.key[1], -1, -1, -1, -1, -1)
    assert floor_pairs(s, (*n, -0.1)) == []
    assert floor_pairs(s, (*n, 0.1)) == []


# ---------------------------------------------------------------- whole bodies


def coal_model(mesh: Mesh) -> Any:
    import coal

    model = coal.BVHModelOBBRSS()
    model.beginModel(len(mesh[1]), len(mesh[0]))
    model.addVertices(mesh[0])
    model.addTriangles(mesh[1].astype(np.int64))
    model.endModel()
    return model


def coal_distance(a: Any, b: Any, shift: Array) -> float:
    """Distance of two models by Coal, the second one shifted; zero or less where they cross."""
    import coal

    result = coal.DistanceResult()
    here, there = (coal.Transform3s(np.eye(3), x) for x in (np.zeros(3), shift))
    return float(coal.distance(a, here, b, there, coal.DistanceRequest(), result))


def brought_together(a: Mesh, b: Mesh, way: Array, gap: float) -> tuple[Surfaces, float] | None:
    """Two bodies, the second moved along a line from far off until it is `gap` from the first.

    And their distance. A negative gap: from touching as much further. None: it went past.
    """
    one, two = coal_model(a), coal_model(b)
    way = way / np.linalg.norm(way)
    far, d = 0.15, np.inf
    while (d := coal_distance(one, two, far * way)) > 1.0001 * max(gap, 1e-7):
        far -= max(0.9 * (d - max(gap, 0.0)), 1e-9)
        if far < -0.15:
            return None
    if gap < 0.0:
        far, d = far + gap, gap
    return surfaces(a, (b[0] + far * way, b[1])), d


def two_bodies(seed: int, gap: float, level: int = 2) -> Surfaces:
    """Two wavy balls of 20 mm, `gap` apart."""
    rng = np.random.default_rng(seed)
    a, b = (bumpy(ball(0.02, level), rng, 2e-3) for _ in range(2))
    made = brought_together(a, b, rng.normal(size=3), gap)
    assert made is not None
    return made[0]


def random_mesh(rng: np.random.Generator) -> Mesh:
    """Boxes, balls, rings, tubes and needles of 10 to 40 mm, wavy, coarse or fine."""
    around, through, along = (int(rng.integers(*each)) for each in ((5, 24), (1, 3), (1, 6)))
    kind = rng.integers(5)
    if kind == 0:
        mesh = box(tuple(rng.uniform(0.01, 0.04, 3)), (through, through, along))
    elif kind == 1:
        mesh = ball(rng.uniform(0.005, 0.02), through)
    elif kind == 2:
        mesh = ring((0.01, rng.uniform(0.012, 0.016)), 0.008, 0.9, (around, through, along))
    elif kind == 3:
        mesh = tube((0.006, 0.01), 0.03, (around, 1, along))
    else:
        mesh = spike((0.0, 0.0, 0.0), rng.uniform(0.001, 0.01))
    points, triangles = bumpy(mesh, rng, rng.uniform(0.0, 1.5e-3))
    return Rotation.random(rng=rng).apply(points), triangles


def compared_with_coal(a: Mesh, b: Mesh, way: Array, gap: float) -> tuple[int, float] | None:
    """Kind of the closest pair of two bodies and what its gap is above Coal's distance."""
    made = brought_together(a, b, way, gap)
    if made is None:
        return None
    row = min(pairs(made[0]), key=lambda each: each.gap)
    return row.key[0], row.gap - made[1]


def check_gaps(found: list[tuple[int, float] | None], exact: float) -> None:
    """Never below; above where edges of up to 40 mm cross within a thousandth of an end."""
    above = np.array([each[1] for each in found if each is not None])
    assert len(above) > 40
    assert above.min() > -1e-9
    assert above.max() < 2e-5
    assert (above < 1e-9).mean() > exact


@pytest.mark.parametrize("gap", [2e-6, 1e-4, 5e-4])
def test_the_smallest_gap_is_the_distance_of_the_bodies(gap: float) -> None:
    """By Coal, which shares no line with us."""
    rng = np.random.default_rng(int(1e7 * gap))
    found = [
        compared_with_coal(random_mesh(rng), random_mesh(rng), rng.normal(size=3), gap)
        for _ in range(100)
    ]
    check_gaps(found, 0.97)
    assert {each[0] for each in found if each} >= {VERTEX_FACE, FACE_VERTEX, EDGE_EDGE}


@pytest.mark.nojit
def test_two_needles_past_each_other() -> None:
    """Without a look at what is inside, two of their edges would overlap by more than a tenth."""
    points, faces = spike((0, 0, 0), 0.002)
    one = Rotation.from_rotvec(np.array([-6, 7, -4]) / 6).apply(points)
    two = Rotation.from_rotvec(np.array([5, -4, 1]) / 6).apply(points)
    two += np.array([1e-4, 2.3e-4, 6e-5])
    found = pairs(surfaces((one, faces), (two, faces)))
    # 98.489 µm, by Coal
    assert min(row.gap for row in found) == pytest.approx(9.848901350296318e-05, abs=1e-12)


def test_needles_side_by_side_do_not_overlap() -> None:
    """Edges cross behind both tips, along a normal of either: yet nothing is inside there."""
    rng = np.random.default_rng(4)
    points, faces = spike((0, 0, 0), 0.002)
    found = []
    for _ in range(100):
        one, two = (Rotation.random(rng=rng).apply(points) for _ in range(2))
        found.append(compared_with_coal((one, faces), (two, faces), rng.normal(size=3), 1e-5))
    check_gaps(found, 0.8)


def looks_along(s: Surfaces, v: int, n: Array) -> float:
    """Largest cosine between n and a normal of a vertex's faces, or their sum."""
    a, b, c = (s.now[s.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    own = normals[(s.triangles == v).any(axis=1)]
    return float(max(*(own @ n), own.sum(axis=0) @ n / np.linalg.norm(own.sum(axis=0))))


@pytest.mark.nojit
@pytest.mark.parametrize("ahead", [1e-3, 1e-4, -1e-5])
def test_a_ridge_does_not_stop_an_edge_that_slides_across_it(ahead: float) -> None:
    """The edge of a box goes up a roof: the ridge ahead is above the box's face, and to one side.

    Held by that face, the ridge would stop the box; it is the slope that holds the edge.
    """
    uphill, normal = np.array([0.0, -1.0, 1.0]) / np.sqrt(2.0), np.array([0.0, 1.0, 1.0])
    normal /= np.sqrt(2.0)
    front = 0.544 * uphill - np.sqrt(1.0 - 0.544**2) * normal  # of the box's face that goes ahead
    below = np.cross((1.0, 0.0, 0.0), front)
    below *= -np.sign(below @ normal)
    axes = np.column_stack((np.cross(front, below), front, below))
    sides = box((0.06, 0.02, 0.02))
    edge = -ahead * uphill + 1e-7 * normal
    points = (sides[0] - (0.0, 0.01, 0.01)) @ axes.T + edge
    found = pairs(surfaces((points, sides[1]), wedge(False, "x")))
    assert found
    allowed = (normal, np.array([0.0, -1.0, 1.0]) / np.sqrt(2.0), np.array([0.0, 0.0, 1.0]))
    for row in found:
        assert max(-row.normal @ n for n in allowed) > np.cos(0.3)


@pytest.mark.parametrize(("seed", "gap"), [(1, 2e-4), (2, -4e-4), (3, -1e-3), (4, 0.0)])
def test_every_vertex_within_reach_has_its_closest_point(seed: int, gap: float) -> None:
    """Vertices, distances and signs of brute force; what looks elsewhere is left out, no more."""
    s = two_bodies(seed, gap, level=3)
    reach, depth = 1e-3, 2e-3
    found = pairs(s, reach=reach, depth=depth)
    parts = [(s.vertex_start[k], s.vertex_start[k + 1]) for k in range(2)]
    total = 0
    for side, (first, end) in enumerate(parts):
        own = s.triangles[s.triangle_start[1 - side] : s.triangle_start[2 - side]]
        where, d, _ = closest_points(s.now, own, s.now[first:end])
        inside = winding_number(s.now, own, s.now[first:end]) > 0.5
        gaps = np.where(inside, -d, d)
        names = ((VERTEX_VERTEX, VERTEX_EDGE, VERTEX_FACE), (EDGE_VERTEX, FACE_VERTEX))[side]
        by_vertex = {row.key[1 + side]: row for row in found if row.key[0] in names}
        for i in np.flatnonzero((gaps <= reach) & (gaps >= -depth)):
            v = first + int(i)
            row = by_vertex.pop(v, None)
            outward = (s.now[v] - where[i]) / gaps[i]
            facing = looks_along(s, v, -outward)
            if facing < 0.3:  # none, or with a face that it can have come through
                continue
            assert row is not None
            total += 1
            assert row.gap == pytest.approx(gaps[i], abs=1e-12)
            assert (row.on_b, row.on_a)[side] == pytest.approx(where[i], abs=1e-9)
            if d[i] > 1e-6:  # nearer, there is no direction
                assert row.normal * (-1 if side == 0 else 1) == pytest.approx(outward, abs=1e-6)
        assert by_vertex == {}
    assert total > 5
    if gap < 0.0:
        assert min(row.gap for row in found) < 0.5 * gap


def geometry(rows: list[Row], mirrored: bool = False) -> Array:
    """Points, normals and gaps in an order of their own."""
    table = np.array([[*r.on_a, *r.on_b, *r.normal, r.gap] for r in rows])
    if mirrored:
        table = np.column_stack((table[:, 3:6], table[:, :3], -table[:, 6:9], table[:, 9]))
    return table[np.lexsort(np.round(table[:, :6], 9).T)]


MIRROR = {
    VERTEX_VERTEX: VERTEX_VERTEX,
    VERTEX_EDGE: EDGE_VERTEX,
    VERTEX_FACE: FACE_VERTEX,
    EDGE_VERTEX: VERTEX_EDGE,
    FACE_VERTEX: VERTEX_FACE,
    EDGE_EDGE: EDGE_EDGE,
}


def scenes() -> list[Surfaces]:
    """Bodies apart and overlapping, and things that touch exactly."""
    ring_mesh = ring((0.010, 0.012), 0.008, 0.9, (16, 1, 4))
    tube_mesh = tube((0.0080, 0.0098), 0.03, (16, 1, 6))
    return [
        two_bodies(21, 3e-4),
        two_bodies(22, -5e-4),
        surfaces(ring_mesh, tube_mesh),
        surfaces(CUBE, moved(CUBE, (0.003, 0.004, 0.02))),
        surfaces(tip_in_corner(0.0, 0.0), corner()),
        surfaces_of_two_tips(0.0)[0],
    ]


@pytest.mark.parametrize("number", range(6))
def test_the_same_rows_whoever_is_first(number: int) -> None:
    s = scenes()[number]
    there, back = pairs(s, 0, 1), pairs(s, 1, 0)
    assert sorted(row.key for row in there) == sorted(
        (MIRROR[row.key[0]], row.key[2], row.key[1]) for row in back
    )
    assert len(there) > 0
    assert geometry(there) == pytest.approx(geometry(back, mirrored=True), abs=1e-12)


@pytest.mark.parametrize("number", range(6))
def test_the_same_rows_in_a_turned_world(number: int) -> None:
    s = scenes()[number]
    here = pairs(s)
    turn = Rotation.random(rng=np.random.default_rng(number))
    shift = np.array([0.3, -0.2, 0.5])
    for k in range(2):
        settle(s, k, shift, turn.as_matrix())
    there = pairs(s)
    assert [row.key for row in here] == [row.key for row in there]
    for p, q in zip(here, there, strict=True):
        assert turn.apply(p.on_a) + shift == pytest.approx(q.on_a, abs=1e-11)
        assert turn.apply(p.on_b) + shift == pytest.approx(q.on_b, abs=1e-11)
        assert turn.apply(p.normal) == pytest.approx(q.normal, abs=1e-9)
        assert p.gap == pytest.approx(q.gap, abs=1e-14)


def shuffled(mesh: Mesh, rng: np.random.Generator) -> tuple[Mesh, Ints]:
    """Triangles in another order, each begun at another corner; and which was which."""
    order = rng.permutation(len(mesh[1])).astype(np.int32)
    turned = [np.roll(mesh[1][t], rng.integers(3)) for t in order]
    return (mesh[0], np.array(turned, np.int32)), order


@pytest.mark.parametrize("number", range(4))
def test_the_order_of_triangles_does_not_matter(number: int) -> None:
    """Vertices and edges keep their numbers, triangles follow the permutation."""
    s = scenes()[number]
    v, t = int(s.vertex_start[1]), int(s.triangle_start[1])
    rng = np.random.default_rng(number)
    a, of_a = shuffled((s.now[:v], s.triangles[:t]), rng)
    b, of_b = shuffled((s.now[v:], s.triangles[t:] - v), rng)
    names = np.concatenate((of_a, t + of_b))
    here, there = pairs(s), pairs(surfaces(a, b))
    renamed = {}
    for row in there:
        kind, p, q = row.key
        if kind == VERTEX_FACE:
            q = int(names[q])
        elif kind == FACE_VERTEX:
            p = int(names[p])
        renamed[kind, p, q] = row
    assert sorted(renamed) == [row.key for row in here]
    for row in here:
        other = renamed[row.key]
        assert row.on_a == pytest.approx(other.on_a, abs=1e-15)
        assert row.on_b == pytest.approx(other.on_b, abs=1e-15)
        assert row.normal == pytest.approx(other.normal, abs=1e-12)
        assert row.gap == pytest.approx(other.gap, abs=1e-15)
