from __future__ import annotations

import numpy as np
import pytest

import tangere as tg
from tangere.contact.formation.columns import (
    LINE,
    PC_COUNT,
    PC_GAP,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_POLYGON_GAP,
    PC_REGION,
    PC_TANGENT,
    PLANE,
    POINT,
)
from tangere.contact.formation.identify import Formations
from tangere.geometry.boundary import block_with_hole, boundary_of, half_space
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

PEG, BLOCK, HOLE = (0.03, 0.03, 0.06), (0.1, 0.1, 0.04), (0.036, 0.036)
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
# Gaps come from a few sums of lengths below 1 m.
ROUNDING = 1e-14


def turn(axis: tuple[float, float, float], degrees: float) -> Array:
    half, way = 0.5 * np.deg2rad(degrees), np.asarray(axis, float)
    return np.array([np.cos(half), *(np.sin(half) * way / np.linalg.norm(way))])


def product(a: Array, b: Array) -> Array:
    from tangere.maths.rotations import quat_product

    return quat_product(a, b)


def peg_and_block() -> Formations:
    """The top of the block, and of its hole, at z = 0."""
    block = (block_with_hole(BLOCK, HOLE), ((0.0, 0.0, -0.02), UPRIGHT))
    return Formations(boundary_of(tg.Box(PEG)), [block], names=("peg", "block"))


def two_cubes(tilt: Array) -> Formations:
    cube = boundary_of(tg.Box((0.1, 0.1, 0.1)))
    return Formations(cube, [(cube, ((0.0, 0.0, 0.0), tilt))])


def found(f: Formations, position: object, orientation: Array) -> tuple[tuple[str, ...], Array]:
    rows, valid = f.find(np.asarray(position, float), orientation)
    assert valid
    for row in rows:
        assert_consistent(row)
    return f.describe(rows), rows


def assert_consistent(row: Array) -> None:
    """Unit normal and tangent at right angles; the least gap; the point within the region."""
    n, t = row[PC_NORMAL : PC_NORMAL + 3], row[PC_TANGENT : PC_TANGENT + 3]
    assert n @ n == pytest.approx(1.0)
    assert t @ t == pytest.approx(1.0)
    assert n @ t == pytest.approx(0.0, abs=1e-12)
    points, gaps = region(row)
    assert row[PC_GAP] == gaps.min()
    p = row[PC_POINT : PC_POINT + 3]
    assert (points.min(axis=0) - ROUNDING <= p).all()
    assert (p <= points.max(axis=0) + ROUNDING).all()
    if row[PC_REGION] == PLANE:
        assert area(row) > 0.0


def region(row: Array) -> tuple[Array, Array]:
    n = int(row[PC_COUNT])
    return row[PC_POLYGON : PC_POLYGON + 3 * n].reshape(n, 3), row[PC_POLYGON_GAP:][:n]


def area(row: Array) -> float:
    """Of the region, counter-clockwise about the normal."""
    points, _ = region(row)
    x = points - points[0]
    vector = 0.5 * np.cross(x, np.roll(x, -1, axis=0)).sum(axis=0)
    return float(vector @ row[PC_NORMAL : PC_NORMAL + 3])


def test_face_on_face_has_their_overlap() -> None:
    names, rows = found(peg_and_block(), (0.034, 0.03, 0.0304), UPRIGHT)
    assert names == ("peg face -z on block face +z",)
    (row,) = rows
    assert row[PC_REGION] == PLANE
    assert row[PC_GAP] == pytest.approx(4e-4)
    assert area(row) == pytest.approx(0.03 * 0.03)
    np.testing.assert_allclose(row[PC_POINT : PC_POINT + 3], [0.034, 0.03, 0], atol=ROUNDING)
    np.testing.assert_allclose(row[PC_NORMAL : PC_NORMAL + 3], [0, 0, 1])


def test_face_over_a_hole_has_the_hull_of_their_overlap() -> None:
    names, rows = found(peg_and_block(), (0.018, 0.0, 0.0301), UPRIGHT)
    assert names == ("peg face -z on block face +z",)
    assert area(rows[0]) == pytest.approx(0.015 * 0.03)  # from the rim on
    names, rows = found(peg_and_block(), (0.018, 0.01, 0.0301), UPRIGHT)
    # the notch in the corner of the hole is in the hull but for its corner
    notch = 0.015 * 0.023
    assert area(rows[0]) == pytest.approx(0.03 * 0.03 - 0.5 * notch)


def test_a_tilted_face_keeps_a_gap_at_every_corner() -> None:
    names, rows = found(peg_and_block(), (0.034, 0.0, 0.0304), turn((0, 1, 0), 1.0))
    assert names == ("peg face -z on block face +z",)
    points, gaps = region(rows[0])
    slope = np.tan(np.deg2rad(1.0))
    middle = 0.0304 - 0.03 / np.cos(np.deg2rad(1.0))
    np.testing.assert_allclose(gaps, middle - slope * (points[:, 0] - 0.034), atol=1e-12)


def test_edge_on_face_is_a_line() -> None:
    tilt = np.deg2rad(5.0)
    height = 0.03 * np.cos(tilt) + 0.015 * np.sin(tilt) - 5e-4
    names, rows = found(peg_and_block(), (0.034, 0.04, height), turn((0, 1, 0), 5.0))
    assert names == ("peg edge +x -z on block face +z",)
    points, gaps = region(rows[0])
    assert rows[0][PC_REGION] == LINE
    np.testing.assert_allclose(gaps, -5e-4, atol=ROUNDING)
    np.testing.assert_allclose(sorted(points[:, 1]), [0.025, 0.05], atol=ROUNDING)
    np.testing.assert_allclose(points[:, 2], 0.0, atol=ROUNDING)


def test_face_on_an_edge_is_a_line_towards_the_held_body() -> None:
    f = two_cubes(turn((0, 1, 0), 40.0))
    top = 0.05 * (np.cos(np.deg2rad(40.0)) + np.sin(np.deg2rad(40.0)))
    names, rows = found(f, (0.0, 0.02, top + 0.05 + 3e-4), UPRIGHT)
    assert names == ("tool face -z on body edge -x +z",)
    np.testing.assert_allclose(rows[0][PC_NORMAL : PC_NORMAL + 3], [0, 0, 1], atol=ROUNDING)
    points, gaps = region(rows[0])
    np.testing.assert_allclose(gaps, 3e-4, atol=1e-12)
    np.testing.assert_allclose(sorted(points[:, 1]), [-0.03, 0.05], atol=1e-12)


@pytest.mark.parametrize("gap", [8e-4, 0.0, -1e-3])
def test_points(gap: float) -> None:
    """Corner on face, face on corner, crossing edges: one point each, at the gap it was put."""
    corner = turn((1, -1, 0), np.rad2deg(np.arccos(np.sqrt(1 / 3))))  # stands on one corner
    reach = 0.05 * np.sqrt(3.0)
    plain, tilted = two_cubes(UPRIGHT), two_cubes(corner)
    cases = [
        (found(plain, (0.01, 0.0, 0.05 + reach + gap), corner), "vertex", "face +z"),
        (found(tilted, (0.0, 0.01, 0.05 + reach + gap), UPRIGHT), "face -z", "vertex"),
    ]
    ridge = np.sqrt(0.5) * 0.1
    roofs = two_cubes(turn((1, 0, 0), 45.0))
    across = turn((0, 1, 0), 45.0)
    cases.append((found(roofs, (0.0, 0.0, 2.0 * ridge + gap), across), "edge", "edge"))
    for (names, rows), held, other in cases:
        (row,) = rows
        assert held in names[0].split(" on ")[0]
        assert other in names[0].split(" on ")[1]
        assert row[PC_REGION] == POINT
        assert row[PC_GAP] == pytest.approx(gap, abs=1e-9)
        np.testing.assert_allclose(row[PC_NORMAL : PC_NORMAL + 3], [0, 0, 1], atol=1e-9)


def test_pairs_without_a_contact_plane_take_the_separating_direction() -> None:
    """Edge along edge, corner over edge, corner over corner.

    Corners that overlap have a nearer way out, past an edge.
    """
    ridge, reach = np.sqrt(0.5) * 0.1, 0.05 * np.sqrt(3.0)
    roof = turn((0, 1, 0), 45.0)
    corner = turn((1, -1, 0), np.rad2deg(np.arccos(np.sqrt(1 / 3))))
    for standing, q, height, count, gaps in (
        (roof, roof, 2.0 * ridge, 2, (6e-4, -4e-4)),
        (roof, corner, ridge + reach, 1, (6e-4,)),
        (corner, corner, 2.0 * reach, 1, (6e-4,)),
    ):
        f = two_cubes(standing)
        for gap in gaps:
            names, rows = found(f, (0.0, 0.0, height + gap), q)
            assert "face" not in names[0]
            assert len(names) == 1
            assert rows[0][PC_COUNT] == count
            assert rows[0][PC_GAP] == pytest.approx(gap, abs=1e-9)
            np.testing.assert_allclose(rows[0][PC_NORMAL : PC_NORMAL + 3], [0, 0, 1], atol=1e-9)


def test_a_corner_in_a_concave_edge_touches_both_walls() -> None:
    """The apex of a slender pyramid, which points into the corner of the hole."""
    base = [(x, y, -0.02) for x in (-0.003, 0.003) for y in (-0.003, 0.003)]
    spike = boundary_of(tg.Convex([*base, (0.0, 0.0, 0.0)]))
    block = (block_with_hole(BLOCK, HOLE), ((0.0, 0.0, -0.02), UPRIGHT))
    f = Formations(spike, [block], names=("spike", "block"))
    lying = product(turn((0, 0, 1), 45.0), turn((0, 1, 0), 90.0))
    names, rows = found(f, (0.018 - 2e-4, 0.018 - 3e-4, -0.01), lying)
    apex = spike.names[int(spike.of_dimension(0)[np.argmax(spike.elements.frame[:5, 2, 3])])]
    assert names == (f"spike {apex} on block wall -x", f"spike {apex} on block wall -y")
    np.testing.assert_allclose(rows[:, PC_GAP], [2e-4, 3e-4], atol=1e-12)
    np.testing.assert_allclose(rows[0, PC_NORMAL : PC_NORMAL + 3], [-1, 0, 0], atol=1e-12)


def test_floor_takes_every_corner() -> None:
    f = Formations(boundary_of(tg.Box(PEG)), [(half_space(), ((0, 0, 0), UPRIGHT))])
    names, rows = found(f, (5.0, -7.0, 0.0299), UPRIGHT)
    assert names == ("tool face -z on body",)
    assert rows[0][PC_GAP] == pytest.approx(-1e-4)
    assert area(rows[0]) == pytest.approx(9e-4)


def test_layers_to_enter_and_to_leave() -> None:
    f = peg_and_block()
    for gap, touches in ((1.1e-3, False), (0.99e-3, True), (1.19e-3, True), (1.21e-3, False)):
        names, _ = found(f, (0.034, 0.0, 0.03 + gap), UPRIGHT)
        assert bool(names) == touches


def test_tangents_are_carried_along() -> None:
    """A normal that turns about y leaves a tangent along y alone, others turn with it."""
    floor = Formations(boundary_of(tg.Box((0.1,) * 3)), [(half_space(), ((0, 0, 0), UPRIGHT))])
    _, rows = found(floor, (0, 0, 0.05), UPRIGHT)
    first = rows[0][PC_TANGENT : PC_TANGENT + 3].copy()
    for k in range(20):
        _, rows = found(floor, (0.001 * k, 0, 0.05), turn((0, 0, 1), 4.0 * k))
        np.testing.assert_allclose(rows[0][PC_TANGENT : PC_TANGENT + 3], first, atol=1e-12)


def test_two_walls_closer_than_two_layers_do_not_both_hold() -> None:
    """A peg with 0.2 mm of play: two flush walls contradict each other, a tilt does not."""
    slot = (block_with_hole(BLOCK, (0.0304, 0.05)), ((0.0, 0.0, -0.02), UPRIGHT))
    f = Formations(boundary_of(tg.Box(PEG)), [slot])
    rows, _ = f.find((0.0, 0.0, -0.005), UPRIGHT)
    planes = [row for row in rows if row[PC_REGION] == PLANE]
    assert len(rows) >= 1
    assert len(planes) <= 1


def test_nothing_near_is_free() -> None:
    names, rows = found(peg_and_block(), (0.0, 0.0, -0.001), UPRIGHT)
    assert names == ()
    assert len(rows) == 0
