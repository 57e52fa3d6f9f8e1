"""Solids of revolution: mass properties, surfaces, convex pieces, files, refusals."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tangere as tg
from tangere.errors import SceneError
from tangere.geometry.curve import BALL, CONE, CYLINDER
from tangere.geometry.curved_solid import CurvedSolid, bowl, l_pipe, peg, pen, pipe
from tangere.geometry.mesh import checked_mesh
from tangere.geometry.polyhedron import solid_moments
from tangere.geometry.shapes import Capsule, Cone, Cylinder, Shape, Sphere
from tangere.geometry.turned import convex_polygons
from tangere.maths.vec import Array

R, H = 0.3, 0.8
DONUT = (("start", 0.5, 0.0), ("arc", 0.3, 0.0, 0.1), ("arc", 0.5, 0.0, 0.1))
ROUNDED = (("start", 0.0, 0.0), ("line", 0.2, 0.0), ("arc", 0.3, 0.1, 0.1), ("line", 0.3, 0.5),
           ("arc", 0.4, 0.6, -0.1), ("line", 0.4, 0.7), ("line", 0.0, 0.7))  # fmt: skip
SOLIDS: dict[str, Callable[[], CurvedSolid]] = {
    "pen": pen,
    "bowl": bowl,
    "pipe": lambda: pipe(0.02, 0.025, 0.1),
    "peg": lambda: peg(0.015, 0.06),
    "chamfered": lambda: peg(0.015, 0.06, 0.002),
    "donut": lambda: CurvedSolid(DONUT),
    "rounded": lambda: CurvedSolid(ROUNDED),
    "dish": lambda: CurvedSolid((("start", 0, 0), ("parabola", 0.3, 0.2), ("line", 0, 0.2))),
}
EVERY = pytest.mark.parametrize("name", SOLIDS)

SAME: dict[str, tuple[tuple[tuple[str | float, ...], ...], Shape]] = {
    "cylinder": ((("start", 0, -H), ("line", R, -H), ("line", R, H), ("line", 0, H)),
                 Cylinder(R, 2 * H)),
    "cone": ((("start", 0, -0.2), ("line", R, -0.2), ("line", 0, 0.6)), Cone(R, 0.8)),
    "ball": ((("start", 0, -R), ("arc", R, 0, R), ("arc", 0, R, R)), Sphere(R)),
    "capsule": ((("start", 0, -H - R), ("arc", R, -H, R), ("line", R, H), ("arc", 0, H + R, R)),
                Capsule(R, 2 * H)),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_mass_properties_are_those_of_the_same_shape(name: str) -> None:
    """Either sense of the profile gives the closed form of a shape that there is already."""
    rows, shape = SAME[name]
    expected = shape.moments()
    back = [("start", *rows[-1][1:3])]
    for row, to in zip(rows[:0:-1], rows[-2::-1], strict=True):
        bend = (-float(row[3]),) if row[0] == "arc" else ()
        back.append((str(row[0]), *to[1:3], *bend))
    for profile in (rows, tuple(back)):
        found = CurvedSolid(profile).moments()
        assert found.volume == pytest.approx(expected.volume, rel=1e-14)
        np.testing.assert_allclose(found.centre, expected.centre, atol=1e-15)
        np.testing.assert_allclose(found.inertia, expected.inertia, rtol=1e-13, atol=1e-16)


def test_mass_properties_of_torus_and_paraboloid() -> None:
    donut = CurvedSolid(DONUT).moments()
    big, small = 0.4, 0.1
    volume = 2 * pi**2 * big * small**2
    assert donut.volume == pytest.approx(volume, rel=1e-14)
    along = volume * (big**2 + 0.75 * small**2)
    across = volume * (0.5 * big**2 + 0.625 * small**2)
    np.testing.assert_allclose(donut.inertia, np.diag([across, across, along]), rtol=1e-13, atol=0)
    a, h = 0.3, 0.2
    dish = CurvedSolid((("start", 0, 0), ("parabola", a, h), ("line", 0, h))).moments()
    volume = 0.5 * pi * a * a * h
    assert dish.volume == pytest.approx(volume, rel=1e-14)
    np.testing.assert_allclose(dish.centre, (0, 0, 2 * h / 3), atol=1e-15)
    across = volume * (a * a / 6 + h * h / 18)
    np.testing.assert_allclose(
        dish.inertia, np.diag([across, across, volume * a * a / 3]), rtol=1e-13, atol=0
    )


@EVERY
def test_mass_properties_are_the_limit_of_finer_meshes(name: str) -> None:
    """The error of the drawn mesh falls with the square of its facets."""
    solid = SOLIDS[name]()
    exact = solid.moments()
    errors = []
    for facets in (32, 64, 128):
        mesh = solid_moments(*CurvedSolid(solid.profile, facets=facets).surface())
        errors.append(
            [
                mesh.volume / exact.volume - 1.0,
                *(np.diag(mesh.inertia) / np.diag(exact.inertia) - 1.0),
                (mesh.centre[2] - exact.centre[2]) / np.sqrt(exact.inertia[2, 2] / exact.volume),
            ]
        )
    coarse, middle, fine = np.abs(errors)
    assert fine.max() < 3e-3
    # from 64 to 128 facets: a quarter, or nothing left; pieces are cut into whole numbers
    assert np.all((fine < 0.4 * middle) | (fine < 2e-6))
    assert np.all((fine < 0.15 * coarse) | (fine < 2e-6))


@EVERY
def test_surface_bounds_a_solid(name: str) -> None:
    solid = SOLIDS[name]()
    vertices, _ = checked_mesh(*solid.surface(), name)
    assert len(vertices) < 5000
    # all corners are on the ideal surface: nearest to the same profile, cut much finer
    way = np.concatenate([piece.at(np.linspace(0, 1, 20_001)) for piece in solid.pieces])
    for x in vertices[:: max(1, len(vertices) // 40)]:
        off = np.hypot(way[:, 0] - np.hypot(x[0], x[1]), way[:, 1] - x[2]).min()
        assert off < 1e-4 * np.ptp(way, axis=0).max()


@EVERY
def test_pieces_fill_the_solid(name: str) -> None:
    """Their volumes add up: exactly for what is cut into sectors but for bent profiles."""
    solid = SOLIDS[name]()
    parts, curves = solid.parts(), solid.curves()
    assert len(parts) == len(curves)
    total = sum(part.moments().volume for part in parts)
    if any(curves):
        # balls overlap the slices beside them
        assert 0.97 < total / solid.moments().volume < 1.2
    else:
        assert total == pytest.approx(solid.moments().volume, rel=1.5e-2)
    low, high = (np.array(x) for x in zip(*(_box(p.vertices) for p in parts), strict=True))
    vertices, _ = solid.surface()
    np.testing.assert_allclose(low.min(axis=0), vertices.min(axis=0), atol=4e-3)
    np.testing.assert_allclose(high.max(axis=0), vertices.max(axis=0), atol=4e-3)


def _box(points: Array) -> tuple[object, object]:
    return points.min(axis=0), points.max(axis=0)


def test_round_pieces_are_exact() -> None:
    ball, cone, shaft = pen().curves()
    assert ball is not None
    assert shaft is not None
    assert cone is None
    assert (ball.kind, ball.radius) == (BALL, 1e-3)
    np.testing.assert_allclose(ball.centre, (0, 0, 1e-3), atol=1e-17)
    assert (shaft.kind, shaft.radius) == (CYLINDER, 4e-3)
    assert shaft.half == pytest.approx(0.05)
    np.testing.assert_allclose(shaft.centre, (0, 0, 0.062))
    (top,) = [c for c in CurvedSolid(SAME["cone"][0]).curves() if c]
    assert top.kind == CONE
    np.testing.assert_allclose((*top.centre, *top.axis), (0, 0, 0.2, 0, 0, 1), atol=1e-15)
    upside_down = CurvedSolid((("start", 0, -0.6), ("line", R, 0.2), ("line", 0, 0.2)))
    (top,) = [c for c in upside_down.curves() if c]
    np.testing.assert_allclose((*top.centre, *top.axis), (0, 0, -0.2, 0, 0, -1), atol=1e-15)
    # a cap whose ball would stick out is a hull
    lens = CurvedSolid((("start", 0, 0), ("arc", 0.3, 0.05, 0.925), ("line", 0, 0.05)))
    assert lens.curves() == (None,)


@given(st.lists(st.floats(0.3, 1.0), min_size=5, max_size=14))
def test_polygons_are_cut_into_convex_ones(radii: list[float]) -> None:
    """Of the same area, all counter-clockwise."""
    angle = 2 * pi * np.arange(len(radii)) / len(radii)
    outline = np.column_stack((np.cos(angle), np.sin(angle))) * np.array(radii)[:, None]

    def area(p: Array) -> float:
        q = np.roll(p, -1, axis=0)
        return float(0.5 * np.sum(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]))

    pieces = convex_polygons(outline)
    assert sum(map(area, pieces)) == pytest.approx(area(outline), rel=1e-12)
    for piece in pieces:
        d = np.roll(piece, -1, axis=0) - piece
        e = np.roll(d, -1, axis=0)
        assert (d[:, 0] * e[:, 1] - d[:, 1] * e[:, 0]).min() > -1e-8
    assert len(pieces) <= len(radii) - 2


@EVERY
def test_a_scene_file_brings_it_back(name: str, tmp_path: Path) -> None:
    scene = tg.Scene()
    solid = SOLIDS[name]()
    scene.add_body(solid, density=1000.0)
    scene.add_body(CurvedSolid(solid.profile, facets=24), fixed=True)
    scene.save(tmp_path / "scene.toml")
    again = tg.Scene.load(tmp_path / "scene.toml")
    assert again.bodies[0].shape == solid
    assert again.bodies[0].mass == scene.bodies[0].mass
    np.testing.assert_array_equal(again.bodies[0].inertia, scene.bodies[0].inertia)
    assert again.bodies[1].shape == CurvedSolid(solid.profile, facets=24)


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([("start", 0, 0)], "expected 3 to 200 rows"),
        ("pen", "expected 3 to 200 rows"),
        ([("line", 0, 0), ("line", 1, 0), ("line", 0, 1)], r"row 0: expected \('start', r, z\)"),
        ([("start", 0, 0), ("curve", 1, 0), ("line", 0, 1)], "row 1: expected a line, arc"),
        ([("start", 0, 0), ("line", 1), ("line", 0, 1)], "row 1: expected 2 numbers after line"),
        ([("start", 0, 0), ("arc", 1, 0), ("line", 0, 1)], "row 1: expected 3 numbers after arc"),
        ([("start", 0, 0), ("line", -1, 0), ("line", 0, 1)], "r = -1 is beyond the axis"),
        ([("start", 0, 0), ("line", 1, 0), ("line", 1, 0), ("line", 0, 1)], "row 2: goes nowhere"),
        ([("start", 0, 0), ("line", 1, 0), ("line", 1, 1)], "start and end on the axis"),
        ([("start", 0, 0), ("line", 1, 0), ("line", 0, 0.5), ("line", 1, 1), ("line", 0, 1)],
         "touches the axis on its way"),
        ([("start", 0, 0), ("line", 1, 0), ("line", 0, 1), ("line", 0, 0)], "touches the axis"),
        ([("start", 0, 0), ("line", 2, 0), ("line", 1, 1), ("line", 1, -1), ("line", 0, -2)],
         "rows 1 and 3 cross"),
        ([("start", 0, 0), ("arc", 1, 0, 0.4), ("line", 0, 1)], "more than the diameter 0.8"),
        ([("start", 0, 0), ("line", 1, 0), ("parabola", 1, 1), ("line", 0, 1)],
         "no parabola goes straight up"),
        ([("start", 0, 0), ("arc", 0, 1, -0.6), ("line", 1, 0.5)], "(beyond|crosses) the axis"),
        ([("start", 0, 0), ("line", 1, 0), ("line", 0, 0)], "encloses nothing|touches"),
    ],
)  # fmt: skip
def test_profiles_that_bound_no_solid_are_refused(rows: object, fault: str) -> None:
    with pytest.raises(SceneError, match=fault) as caught:
        CurvedSolid(rows)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: pen(tip=5e-3), "pen: the tip"),
        (lambda: bowl(focal=5e-3), "bowl: deeper"),
        (lambda: pipe(0.02, 0.02, 0.1), "pipe: the inner"),
        (lambda: peg(0.01, 0.05, 0.01), "peg: a chamfer"),
        (lambda: pipe(0.02, 0.03, -1.0), "pipe length"),
    ],
)
def test_helpers_refuse_what_cannot_be(make: Callable[[], Shape], fault: str) -> None:
    with pytest.raises(SceneError, match=fault):
        make()


def test_pen_and_bowl_are_as_said() -> None:
    """The ball, the cone's tangency and the rim of the sizes given."""
    p = pen()
    low, high = _box(p.surface()[0])
    np.testing.assert_allclose(low[2], 0.0, atol=1e-15)  # type: ignore[index]
    np.testing.assert_allclose(high[2], 0.112)  # type: ignore[index]
    tip, cone = p.pieces[0], p.pieces[1]
    assert tip.angle(1.0) == pytest.approx(cone.angle(0.0), abs=1e-12)
    b = bowl()
    assert b.pieces[1].bend == pytest.approx(1.0 / 0.1)
    assert b.pieces[0].end == pytest.approx((0.04, 0.016))
    assert len(l_pipe().parts()) == 3


def test_donut_of_four_arcs_is_the_donut_of_two() -> None:
    quarters = CurvedSolid((("start", 0.5, 0), ("arc", 0.4, 0.1, 0.1), ("arc", 0.3, 0, 0.1),
                            ("arc", 0.4, -0.1, 0.1), ("arc", 0.5, 0, 0.1)))  # fmt: skip
    assert quarters.moments().volume == pytest.approx(CurvedSolid(DONUT).moments().volume)
