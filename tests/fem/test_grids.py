from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np
import pytest

from tangere.errors import SceneError
from tangere.fem import grids
from tangere.fem.grids import box_grid, clip, graded_box, table, tube
from tangere.geometry.tetmesh import TetMesh, tetrahedron_volumes

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize(
    ("mesh", "vertices", "tetrahedra"),
    [
        (box_grid((1, 2, 3), (2, 3, 4)), 3 * 4 * 5, 6 * 24),
        (clip(), 549, 1440),
        (tube(), 32 * 3 * 25, 6 * 32 * 2 * 24),
        (table(), 1863, 6240),
        (table(bars=True), 1863 + 2 * 15 * 9, 6240 + 2 * 6 * 16 * 4),
    ],
    ids=["box", "clip", "tube", "table", "table with bars"],
)
def test_counts(mesh: TetMesh, vertices: int, tetrahedra: int) -> None:
    assert (len(mesh.vertices), len(mesh.tetrahedra)) == (vertices, tetrahedra)


def test_box_is_centred_and_full() -> None:
    mesh = box_grid((1, 2, 3), (2, 3, 4))
    assert np.allclose(mesh.vertices.min(axis=0), [-0.5, -1.0, -1.5])
    assert np.allclose(mesh.vertices.max(axis=0), [0.5, 1.0, 1.5])
    # all tetrahedra of a Kuhn cut are congruent
    volumes = tetrahedron_volumes(mesh.vertices, mesh.tetrahedra)
    assert np.allclose(volumes, 1.0 / 24.0, rtol=1e-12)


def test_graded_box_is_fine_where_it_is_pressed() -> None:
    mesh = graded_box((0.2, 0.1, 0.05), 1e-3, (3, 2, 2), (4, 5, 3))
    x, y, z = (np.unique(np.round(column, 12)) for column in mesh.vertices.T)
    assert [len(line) - 1 for line in (x, y, z)] == [14, 14, 5]
    assert [line[-1] for line in (x, y, z)] == [0.1, 0.05, 0.025]
    assert [line[0] for line in (x, y, z)] == [-0.1, -0.05, -0.025]
    for line, core in ((x[7:], 3), (y[7:], 2), (-z[::-1], 2)):
        widths = np.diff(line)
        assert widths[:core] == pytest.approx(1e-3)
        growth = widths[core:] / widths[core - 1 : -1]
        assert growth == pytest.approx(growth[0])
        assert growth[0] > 1.0
    assert mesh.moments().volume == pytest.approx(0.2 * 0.1 * 0.05)


def test_cells_share_one_diagonal() -> None:
    """All six tetrahedra of a cube hold corner 0 and corner 7."""
    mesh = box_grid((1, 1, 1), (1, 1, 1))
    low, high = (int(np.argmax(sign * mesh.vertices.sum(axis=1))) for sign in (-1, 1))
    assert ((mesh.tetrahedra == low).any(axis=1) & (mesh.tetrahedra == high).any(axis=1)).all()


def test_clip_has_its_sizes() -> None:
    mesh = clip(0.02, 0.003, 0.01, mouth=pi / 3, cells=(90, 1, 2))
    x, y, z = mesh.vertices.T
    radius = np.hypot(x, z)
    assert radius.min() == pytest.approx(0.02)
    assert radius.max() == pytest.approx(0.023)
    assert np.ptp(y) == pytest.approx(0.01)
    assert np.arctan2(np.abs(x), -z).min() == pytest.approx(pi / 3)
    # chords cut off θ²/6 of a sector, θ = 240°/90
    exact = (2 * pi - 2 * pi / 3) / 2 * (0.023**2 - 0.02**2) * 0.01
    assert mesh.moments().volume == pytest.approx(exact, rel=(pi * 240 / 90 / 180) ** 2 / 5)


def test_clip_is_its_own_mirror_image() -> None:
    """Vertices and tetrahedra, so that both lips are equally stiff."""
    mesh = clip(cells=(12, 2, 2))
    mirrored = mesh.vertices * np.array([-1.0, 1.0, 1.0])
    distance = np.linalg.norm(mesh.vertices[:, None] - mirrored[None], axis=2)
    twin = distance.argmin(axis=0)
    assert distance.min(axis=0).max() < 1e-15
    rows = {tuple(row) for row in np.sort(mesh.tetrahedra, axis=1).tolist()}
    assert rows == {tuple(row) for row in np.sort(twin[mesh.tetrahedra], axis=1).tolist()}


def test_vertices_of_the_clip() -> None:
    mesh = clip()
    held = grids.near_top(mesh, np.deg2rad(15))
    assert len(held) == 7 * 9  # rows at 0, ±4.3°, ±8.7°, ±13°
    assert (mesh.vertices[held, 2] > 0.0).all()
    inner, outer = grids.inner_wall(mesh), grids.outer_wall(mesh)
    assert len(inner) == len(outer) == 61 * 3
    assert np.allclose(np.hypot(*mesh.vertices[inner][:, [0, 2]].T), 0.010)
    assert np.allclose(np.hypot(*mesh.vertices[outer][:, [0, 2]].T), 0.012)
    left, right = grids.lips(mesh)
    assert len(left) == len(right) == 3
    lip = np.array([0.010 * np.sin(np.deg2rad(50)), -0.010 * np.cos(np.deg2rad(50))])
    assert np.allclose(mesh.vertices[right][:, [0, 2]], lip)
    assert np.allclose(mesh.vertices[left][:, [0, 2]], lip * (-1, 1))


def test_tube_is_closed_around() -> None:
    mesh = tube(0.01, 0.002, 0.06, cells=(48, 1, 3))
    x, y, z = mesh.vertices.T
    radius = np.hypot(x, z)
    assert (radius.min(), radius.max()) == pytest.approx((0.008, 0.010))
    # a regular polygon of n sides fills n/(2π) sin(2π/n) of its circle
    share = 48 / (2 * pi) * np.sin(2 * pi / 48)
    exact = pi * (0.01**2 - 0.008**2) * 0.06
    assert mesh.moments().volume == pytest.approx(share * exact, rel=1e-12)
    surface, triangles = mesh.surface()
    assert len(surface) - len(triangles) // 2 == 0  # Euler's number of a torus: V - E + F
    low, high = grids.ends(mesh)
    assert len(low) == len(high) == 96
    assert np.allclose(y[low], -0.03)
    assert np.allclose(y[high], 0.03)


def test_table_stands_on_its_feet() -> None:
    mesh = table()
    moments = mesh.moments()
    assert 1000.0 * moments.volume == pytest.approx(8.32, rel=1e-12)
    assert np.allclose(moments.centre[:2], 0.0, atol=1e-14)
    assert np.allclose(mesh.vertices.min(axis=0), [-0.2, -0.2, 0.0], atol=1e-15)
    assert np.allclose(mesh.vertices.max(axis=0), [0.2, 0.2, 0.34])
    feet, corners = grids.feet(mesh), grids.foot_corners(mesh)
    assert (len(feet), len(corners)) == (36, 16)
    assert set(corners) < set(feet)
    assert np.allclose(np.unique(np.abs(mesh.vertices[corners, :2]).round(9)), [0.16, 0.2])
    grip = grids.top_centre(mesh)
    assert len(grip) == 49
    assert np.allclose(mesh.vertices[grip, 2], 0.34)
    assert np.abs(mesh.vertices[grip, :2]).max() == pytest.approx(0.06)


def test_bars_join_the_legs_along_x() -> None:
    plain, joined = table(), table(bars=True)
    more = joined.moments().volume - plain.moments().volume
    assert more == pytest.approx(2 * 0.32 * 0.04 * 0.04, rel=1e-9)
    low = joined.vertices[(np.abs(joined.vertices[:, 0]) < 0.1) & (joined.vertices[:, 2] < 0.2)]
    assert low[:, 2].min() == pytest.approx(0.04)
    assert low[:, 2].max() == pytest.approx(0.08)
    assert np.abs(low[:, 1]).min() == pytest.approx(0.16)
    assert len(table(0.01, bars=True).tetrahedra) == 8 * len(joined.tetrahedra)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: box_grid((1, 0, 1), (1, 1, 1)), ["size", "0"]),
        (lambda: box_grid((1, 1), (1, 1, 1)), ["size", "3 numbers"]),
        (lambda: box_grid((1, 1, 1), (1, 0, 1)), ["cells", "0"]),
        (lambda: box_grid((1, 1, 1), (1, 1)), ["cells", "three whole numbers"]),
        (lambda: box_grid((1, 1, 1), 5), ["cells", "5"]),
        (lambda: box_grid((1, 1, 1), (1, 1.5, 1)), ["cells", "1.5"]),
        (lambda: box_grid((1, 1, 1), (100, 100, 11)), ["110000 cells", "100000"]),
        (lambda: graded_box((1, 1, 0), 0.1, (1, 1, 1), (1, 1, 1)), ["graded_box size"]),
        (lambda: graded_box((1, 1, 1), -0.1, (1, 1, 1), (1, 1, 1)), ["graded_box fine"]),
        (lambda: graded_box((1, 1, 1), 0.1, (4, 4, 4), (2, 2, 2)), ["4 + 2 cells", "0.5 m"]),
        (lambda: graded_box((1, 1, 1), 0.1, (0, 1, 1), (1, 1, 1)), ["graded_box core", "0"]),
        (lambda: clip(cells=(61, 2, 2)), ["61 around", "even"]),
        (lambda: clip(mouth=4.0), ["mouth", "4.0"]),
        (lambda: clip(inner_radius=-1.0), ["inner_radius", "-1.0"]),
        (lambda: clip(thickness=0.0), ["thickness"]),
        (lambda: clip(width=0.0), ["width"]),
        (lambda: tube(cells=(2, 1, 1)), ["2 around", "three"]),
        (lambda: tube(thickness=0.01), ["0.01 m leaves no bore"]),
        (lambda: tube(outer_radius=0.0), ["outer_radius"]),
        (lambda: tube(length=-1), ["length", "-1"]),
        (lambda: table(0.03), ["0.03", "does not divide"]),
        (lambda: table(0.04), ["0.04", "does not divide"]),
        (lambda: table(0.1), ["0.1", "does not divide"]),
        (lambda: table(0.004), ["850000 cubes", "larger"]),
    ],
)
def test_bad_input_is_refused_in_one_line(make: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises(SceneError) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value
    assert "\n" not in str(caught.value)
