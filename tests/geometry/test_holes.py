"""Outlines and caps of least area, against all triangulations of small polygons."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from tangere.geometry import holes
from tangere.geometry.edges import edges_of
from tangere.geometry.holes import find_holes, least_area, outlines
from tangere.geometry.repair import repair_mesh
from tangere.geometry.shapes import Mesh

Triangle = tuple[int, int, int]


@cache
def triangulations(first: int, last: int) -> tuple[tuple[Triangle, ...], ...]:
    """All triangulations of the polygon first … last."""
    if last - first < 2:
        return ((),)

    def each() -> Iterator[tuple[Triangle, ...]]:
        for k in range(first + 1, last):
            for left in triangulations(first, k):
                for right in triangulations(k, last):
                    yield ((first, k, last), *left, *right)

    return tuple(each())


def area(corners: np.ndarray, triangles: object) -> float:
    t = corners[np.array(triangles)]
    return float(0.5 * np.linalg.norm(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]), axis=1).sum())


@given(st.integers(3, 8), st.integers(0, 2**32 - 1))
def test_a_cap_has_the_least_area(n: int, seed: int) -> None:
    corners = np.random.default_rng(seed).normal(size=(n, 3))
    found = least_area(corners, np.zeros((n, n), dtype=bool))
    assert len(found) == n - 2
    best = min(area(corners, t) for t in triangulations(0, n - 1))
    assert area(corners, found) == pytest.approx(best, rel=1e-12)


def test_a_flat_polygon_is_covered_once_and_without_slivers() -> None:
    """Corners along straight sides, and a notch."""
    corners = np.array(
        [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (2, 1), (2, 2), (3, 2), (3, 3), (0, 3)], float
    )
    points = np.column_stack((corners, np.zeros(len(corners))))
    found = least_area(points, np.zeros((10, 10), dtype=bool))
    assert area(points, found) == pytest.approx(8.0)
    assert all(area(points, [t]) > 0.1 for t in found)


def test_chords_that_exist_are_avoided() -> None:
    square = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0.1), (0, 1, 0)], float)
    taken = np.zeros((4, 4), dtype=bool)
    for chord, other in (((0, 2), (1, 3)), ((1, 3), (0, 2))):
        taken[:] = False
        taken[chord] = True
        sides = {frozenset(p) for t in least_area(square, taken) for p in (t[:2], t[1:], t[::2])}
        assert frozenset(chord) not in sides
        assert frozenset(other) in sides


def test_outlines_that_share_a_corner_are_taken_apart() -> None:
    points = np.array([(0, 0, 0), (-2, 1, 0), (-2, -1, 0), (2, 1, 0), (2, -1, 0)], float)
    loops = outlines(points, [1, 0, 4, 2, 3, 0], [0, 3, 0, 1, 4, 2])
    assert sorted(map(sorted, loops)) == [[0, 1, 2], [0, 3, 4]]


def test_open_chains_are_no_outlines() -> None:
    points = np.eye(4, 3)
    assert outlines(points, [0, 1, 2], [1, 2, 3]) == []


def test_long_outlines_lose_their_sharpest_corners_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A jagged hole in a fine ball, capped with few corners and with all of them."""
    ball = trimesh.creation.icosphere(5)
    rng = np.random.default_rng(0)
    high = ball.triangles_center[:, 2] > 0.97 + 0.005 * rng.uniform(size=len(ball.faces))
    points, faces = np.array(ball.vertices), np.array(ball.faces)[~high]
    volumes = []
    for most in (12, 200):
        monkeypatch.setattr(holes, "MAX_CORNERS", most)
        _, triangles, done = repair_mesh(points, faces)
        assert done.holes >= 1
        assert edges_of(triangles, len(points)).odd() == 0
        volumes.append(Mesh(*repair_mesh(points, faces)[:2]).moments().volume)
    assert volumes == pytest.approx([ball.volume] * 2, rel=2e-3)


def test_soups_have_no_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    ball = trimesh.creation.icosphere(2)
    points, faces = np.array(ball.vertices), np.array(ball.faces)[2:]
    assert len(find_holes(points, faces)[0]) >= 1
    monkeypatch.setattr(holes, "MAX_OPEN", 2)
    assert find_holes(points, faces) == ([], [])
