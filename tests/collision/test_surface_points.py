"""Sample points of surfaces and their tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from oracles.surface import unsigned_distance
from scipy.spatial import cKDTree

import tangere as tg
from tangere.collision import distance_field as field
from tangere.collision import surface_points as samples
from tangere.collision.closed_surface import bodies_of, surface_of
from tangere.collision.distance_field import distance_field, sample_field
from tangere.collision.surface_points import (
    DISC,
    FIRST,
    LAST,
    LEAF,
    LEFT,
    OUTWARD,
    RIGHT,
    SAME_SIDE,
    Samples,
    surface_samples,
)
from tangere.geometry.shapes import Shape
from tangere.scene.utensils import cup, spoon


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (field, samples):
        monkeypatch.setattr(module, "cache_root", lambda: tmp_path)


def taken(shape: Shape, spacing: float | None = None, most: int = 300) -> Samples:
    vertices, faces = shape.surface()
    return surface_samples(vertices, faces, distance_field(vertices, faces, spacing=spacing), most)


@pytest.mark.nojit
def test_points_lie_on_the_surface_and_normals_point_out() -> None:
    shape = tg.Box((0.1, 0.06, 0.04))
    got = taken(shape, 0.01)
    places, normals = got.points[:, :3], got.points[:, OUTWARD:]
    assert unsigned_distance(places, *shape.surface()).max() < 1e-15
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0, abs=1e-12)
    outside = np.abs(places + 1e-6 * normals) > 0.5 * shape.size
    assert outside.any(axis=1).all()


@pytest.mark.nojit
def test_every_corner_of_a_box_is_a_point_and_edges_are_lined() -> None:
    got = taken(tg.Box((0.1, 0.06, 0.04)), 0.01)
    tree = cKDTree(got.points[:, :3])
    corners = np.array(
        [[x, y, z] for x in (-0.05, 0.05) for y in (-0.03, 0.03) for z in (-0.02, 0.02)]
    )
    assert tree.query(corners)[0].max() == 0.0
    along = np.column_stack((np.linspace(-0.05, 0.05, 50), np.full(50, 0.03), np.full(50, 0.02)))
    on_edge = got.points[(got.points[:, 1] == 0.03) & (got.points[:, 2] == 0.02)]
    assert cKDTree(on_edge[:, :3]).query(along)[0].max() <= got.spacing


@pytest.mark.parametrize("shape", [spoon(), cup()], ids=["spoon", "cup"])
def test_points_are_spread_evenly(shape: tg.Mesh) -> None:
    got = taken(shape, most=4000)
    places, normals = got.points[:, :3], got.points[:, OUTWARD:]
    pairs = cKDTree(places).query_pairs(0.999 * DISC * got.spacing, output_type="ndarray")
    alike = np.einsum("ij,ij->i", normals[pairs[:, 0]], normals[pairs[:, 1]])
    assert (alike < SAME_SIDE).all()  # too near only across an edge or a thin sheet
    corners = shape.vertices[shape.faces]
    double = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    assert len(places) == pytest.approx(0.5 * double.sum() / got.spacing**2, rel=0.25)
    middles = corners.mean(axis=1)
    values, _ = sample_field(distance_field(shape.vertices, shape.faces), middles)
    seen = middles[values > -2e-4]
    assert cKDTree(places).query(seen)[0].max() < 1.5 * got.spacing


def test_points_inside_the_other_part_are_left_out() -> None:
    """The cup's handle ends within its wall; the wall's surface under it is no surface either."""
    shape = cup()
    got = taken(shape, most=20000)
    for part in bodies_of(shape.vertices, shape.faces):
        own = distance_field(shape.vertices, part)
        values, _ = sample_field(own, got.points[:, :3])
        assert values.min() > -own.spacing


@pytest.mark.nojit
def test_the_same_surface_gives_the_same_points_from_disk_or_anew(tmp_path: Path) -> None:
    shape = tg.Cone(0.05, 0.1, facets=6)
    first = taken(shape, 0.01)
    from_disk = taken(shape, 0.01)
    for path in (tmp_path / "fields").iterdir():
        path.unlink()
    anew = taken(shape, 0.01)
    for other in (from_disk, anew):
        assert np.array_equal(first.points, other.points)
        assert np.array_equal(first.balls, other.balls)
        assert np.array_equal(first.links, other.links)
        assert first.spacing == other.spacing


@pytest.mark.nojit
def test_the_tree_holds_every_point_once_in_balls_that_enclose_them() -> None:
    got = taken(tg.Box((0.1, 0.06, 0.04)), 0.01)
    seen = np.zeros(len(got.points), dtype=int)
    for number, (ball, link) in enumerate(zip(got.balls, got.links, strict=True)):
        here = got.points[link[FIRST] : link[LAST], :3]
        assert np.linalg.norm(here - ball[:3], axis=1).max() <= ball[3] * (1 + 1e-12)
        if link[LEFT] < 0:
            assert len(here) <= LEAF
            seen[link[FIRST] : link[LAST]] += 1
        else:
            assert link[LEFT] == number + 1  # a descent that goes left first reads on in memory
            left, right = got.links[link[LEFT]], got.links[link[RIGHT]]
            assert left[FIRST] == link[FIRST]
            assert left[LAST] == right[FIRST]
            assert right[LAST] == link[LAST]
    assert (seen == 1).all()


@pytest.mark.nojit
def test_points_along_sharp_edges_split_each_of_them_evenly() -> None:
    """Against a plain loop over the twelve edges of a box; its diagonals are not sharp."""
    shape, spacing = tg.Box((0.1, 0.06, 0.04)), 0.013
    points, faces = shape.surface()
    normals = surface_of(points, faces).normals
    corners, along, others = samples._edge_points(points, faces, normals, spacing)
    assert (len(corners), len(others)) == (8, 0)
    expected = []
    for a in points:
        for b in points[(points > a + 1e-9).any(axis=1)]:
            if np.count_nonzero(np.abs(b - a) > 1e-9) == 1 and (b >= a - 1e-9).all():
                pieces = int(np.ceil(np.linalg.norm(b - a) / spacing))
                expected += [a + (b - a) * i / pieces for i in range(1, pieces)]
    assert len(along) == len(expected)
    assert cKDTree(along[:, :3]).query(expected)[0].max() < 1e-15
    outward = along[:, OUTWARD : OUTWARD + 3]
    assert np.count_nonzero(np.abs(outward) > 0.7, axis=1).tolist() == [2] * len(along)
