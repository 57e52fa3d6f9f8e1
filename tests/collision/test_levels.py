"""Contact levels of a surface: pieces, simplification, deviations, tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from collision.level_meshes import angle, blob, cut_of, leaves_of, soup, triangles_of
from collision.meshes import Mesh, ball, box, bumpy, closest_points
from hypothesis import given, settings
from hypothesis import strategies as st

from tangere.collision.levels.hierarchy import (
    BOUND,
    BOUNDS,
    BULGE,
    CHILD,
    CHILDREN,
    FLAT,
    LEVEL,
    NODE_AREA,
    NODE_CENTRE,
    NODE_DEVIATION,
    NODE_HIGH,
    NODE_INFLATION,
    NODE_LOW,
    NODE_RADIUS,
    NODE_SLACK,
    VERTICES,
    Levels,
    build,
    contact_levels,
)
from tangere.collision.levels.pieces import convex_pieces, neighbours, planes_of
from tangere.errors import SceneError

TETRAHEDRON = (
    0.01 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float),
    np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], np.int32),
)
MESHES: dict[str, Mesh] = {
    "tetrahedron": TETRAHEDRON,
    "box": box((0.02, 0.03, 0.01)),
    "L": angle(),
    "blob": blob(1),
}


def built(mesh: Mesh) -> Levels:
    return build(mesh[0], mesh[1].astype(np.int64))


def pieces(mesh: Mesh) -> int:
    size = float(np.linalg.norm(np.ptp(mesh[0], axis=0)))
    return int(convex_pieces(mesh[0], mesh[1].astype(np.int64), FLAT * size).max()) + 1


@pytest.mark.nojit
def test_convex_bodies_are_one_piece_and_an_angle_two() -> None:
    assert pieces(TETRAHEDRON) == 1
    assert pieces(box((0.02, 0.03, 0.01))) == 1
    assert pieces(ball(0.01, 0)) == 1
    assert pieces(angle()) >= 2
    assert len(built(box((0.02, 0.03, 0.01))).nodes) == 1


@pytest.mark.nojit
def test_a_fine_convex_surface_is_cut_only_where_pieces_are_full() -> None:
    assert 80 // 32 <= pieces(ball(0.01, 1)) <= 12


@pytest.mark.nojit
@pytest.mark.parametrize("name", MESHES)
def test_every_piece_is_convex_within_its_slack(name: str) -> None:
    levels = built(MESHES[name])
    for node in range(len(levels.nodes)):
        corners = triangles_of(levels, node)
        if len(corners):
            points, faces = soup(corners)
            planes = planes_of(points, faces.astype(np.int64))
            above = points @ planes[:, :3].T - planes[:, 3]
            assert above.max() <= levels.nodes[node, NODE_SLACK] * (1.0 + 1e-9) + 1e-15


@pytest.mark.nojit
@pytest.mark.parametrize("name", MESHES)
def test_level_0_has_every_triangle_once_and_children_share_out_their_parent(name: str) -> None:
    points, faces = MESHES[name]
    levels = built((points, faces))
    assert sorted(levels.sources[levels.sources >= 0]) == list(range(len(faces)))
    seen = [0]
    for link in levels.links:
        seen += range(link[CHILD], link[CHILD] + link[CHILDREN])
    assert sorted(seen) == list(range(len(levels.nodes)))
    assert (levels.links[levels.links[:, CHILDREN] == 0, LEVEL] == 0).all()
    leaves = levels.links[:, CHILDREN] == 0
    p = points[faces]
    area = 0.5 * np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1).sum()
    assert levels.nodes[leaves, NODE_AREA].sum() == pytest.approx(area)


@pytest.mark.nojit
@pytest.mark.parametrize("name", ["L", "blob"])
def test_deviation_bounds_the_distance_of_level_0_from_every_level(name: str) -> None:
    levels = built(MESHES[name])
    rng = np.random.default_rng(3)
    for level in range(1, int(levels.links[:, LEVEL].max()) + 1):
        cut = cut_of(levels, level)
        surface = soup(np.concatenate([triangles_of(levels, node) for node in cut]))
        for node in cut:
            fine = np.concatenate([triangles_of(levels, leaf) for leaf in leaves_of(levels, node)])
            weights = rng.dirichlet((0.5, 0.5, 0.5), len(fine))
            samples = np.einsum("tij,ti->tj", fine, weights)
            _, away, _ = closest_points(*surface, samples)
            assert away.max() <= levels.nodes[node, NODE_DEVIATION] + 1e-12


@pytest.mark.nojit
@pytest.mark.parametrize("name", ["L", "blob"])
def test_balls_boxes_and_bounds_hold_all_that_is_below(name: str) -> None:
    levels = built(MESHES[name])
    ways = np.random.default_rng(4).normal(size=(40, 3))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    for node, row in enumerate(levels.nodes):
        below = [triangles_of(levels, leaf) for leaf in leaves_of(levels, node)]
        points = np.concatenate(below).reshape(-1, 3)
        away = np.linalg.norm(points - row[NODE_CENTRE : NODE_CENTRE + 3], axis=1)
        assert away.max() <= row[NODE_RADIUS] * (1.0 + 1e-9)
        assert (points >= row[NODE_LOW : NODE_LOW + 3] - 1e-12).all()
        assert (points <= row[NODE_HIGH : NODE_HIGH + 3] + 1e-12).all()
        first, count = levels.links[node, BOUND], levels.links[node, BOUNDS]
        bounds = levels.bounds[first : first + count]
        sticks = (points @ ways.T).max(axis=0) - (bounds @ ways.T).max(axis=0)
        assert sticks.max() <= row[NODE_INFLATION] + 1e-12


@pytest.mark.nojit
def test_every_level_of_a_closed_surface_is_closed() -> None:
    levels = built(blob(1))
    for level in range(int(levels.links[:, LEVEL].max())):
        corners = np.concatenate([triangles_of(levels, node) for node in cut_of(levels, level)])
        points, same = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
        assert (neighbours(same.reshape(-1, 3).astype(np.int64), len(points)) >= 0).all()


def test_pieces_become_fewer_from_level_to_level() -> None:
    levels = built(bumpy(ball(0.03, 4), np.random.default_rng(1), 0.002))
    made = levels.links[levels.links[:, VERTICES] > 0, LEVEL]
    counts = [len(cut_of(levels, level)) for level in range(int(made.max()) + 1)]
    ratios = np.array(counts[1:]) / counts[:-1]
    assert len(counts) >= 5
    assert np.median(ratios) < 0.75
    assert (ratios < 1.0).all()


def test_a_smooth_surface_deviates_little_at_first() -> None:
    levels = built(ball(0.03, 4))
    first = levels.nodes[levels.links[:, LEVEL] == 1, NODE_DEVIATION]
    edge = 0.03 * 0.07
    assert np.median(first) < edge**2 / 0.03


@pytest.mark.nojit
def test_equal_input_gives_equal_levels() -> None:
    one, two = built(blob(1)), built(blob(1))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.nojit
def test_levels_come_back_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(tmp_path))
    points, faces = angle()
    told: list[float] = []
    made = contact_levels(points, faces, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(list((tmp_path / "levels").iterdir())) == 1
    for a, b in zip(made, contact_levels(points, faces), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.nojit
def test_an_open_surface_is_refused() -> None:
    points, faces = box((1.0, 1.0, 1.0))
    with pytest.raises(SceneError, match="Jaw: open surface"):
        contact_levels(points, faces[:-1], what="Jaw")


@pytest.mark.nojit
def test_planes_and_neighbours_of_degenerate_triangles() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]])
    corners = np.array([[0, 1, 2], [0, 1, 3], [1, 0, 3]])
    assert (planes_of(points, corners)[0] == 0.0).all()
    # edge 0–1 belongs to three triangles: none is the neighbour across it
    assert neighbours(corners, 4)[0].tolist() == [-1, -1, -1]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(0.0, 0.3))
def test_any_bumpy_ball_has_convex_pieces(seed: int, height: float) -> None:
    mesh = bumpy(ball(0.03, 2), np.random.default_rng(seed), 0.03 * height)
    levels = built(mesh)
    assert levels.nodes[:, NODE_SLACK].max() <= BULGE * 0.1
    for node in range(len(levels.nodes)):
        corners = triangles_of(levels, node)
        if len(corners):
            points, faces = soup(corners)
            planes = planes_of(points, faces.astype(np.int64))
            above = points @ planes[:, :3].T - planes[:, 3]
            assert above.max() <= levels.nodes[node, NODE_SLACK] * (1.0 + 1e-9) + 1e-15
