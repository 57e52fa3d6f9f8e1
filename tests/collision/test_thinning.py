"""The cap on pairs: keeps what matters, in any order of rows, and what carried force."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import pointers, ptr
from tangere.collision.feature_pairs import FeaturePairs, new_feature_pairs
from tangere.collision.thinning import HOLDS, ThinScratch, new_thin_scratch, thin

pytestmark = pytest.mark.nojit

Array = NDArray[Any]
Ints = NDArray[np.int32]


@kernel
def choose(
    p: FeaturePairs,
    first: int,
    end: int,
    predicted: Array,
    carried: Ints,
    most: int,
    scratch: ThinScratch,
    chosen: Ints,
) -> int:
    s = pointers(scratch)
    return thin(pointers(p), first, end, ptr(predicted), ptr(carried), most, s, ptr(chosen))


def rows(points: Array, normals: Array | None = None, keys: Array | None = None) -> FeaturePairs:
    p = new_feature_pairs(len(points))
    p.points[:, :3] = p.points[:, 3:] = points
    p.normal[:] = (0.0, 0.0, 1.0) if normals is None else normals
    p.key[:, 1] = np.arange(len(points))
    if keys is not None:
        p.key[:] = keys
    p.filled[0] = len(points)
    return p


def chosen_of(
    p: FeaturePairs, predicted: Array, most: int, carried: Ints | None = None, first: int = 0
) -> list[int]:
    n = len(predicted)
    flags = np.zeros(n, np.int32) if carried is None else carried.astype(np.int32)
    out = np.full(n, -1, np.int32)
    scratch = new_thin_scratch(n - first)
    scratch.away[:] = np.nan
    count = choose(p, first, n, np.asarray(predicted, float), flags, most, scratch, out)
    return [int(k) for k in out[:count]]


def grid(n: int, size: float = 0.01) -> Array:
    x = np.linspace(-size, size, n)
    return np.array([(a, b, 0.0) for a, b in itertools.product(x, x)])


def test_few_are_all_kept_in_the_order_of_their_keys() -> None:
    keys = np.array([[2, 5, 1], [0, 7, 7], [2, 4, 9], [2, 5, 0]])
    p = rows(grid(2), keys=keys)
    assert chosen_of(p, np.array([1.0, -1.0, 2.0, 3.0]), 4) == [1, 2, 3, 0]


def test_extremes_of_a_flat_patch_are_kept() -> None:
    """All overlap: the deepest first, then the corners, which are furthest from each other."""
    points = grid(9)
    predicted = np.full(81, -1e-4)
    predicted[40] = -2e-4  # the middle
    picked = chosen_of(rows(points), predicted, 5)
    assert picked == [0, 8, 40, 72, 80]


def test_the_patch_stays_covered() -> None:
    """No row is further from a kept one than the rows kept are from each other: farthest point."""
    rng = np.random.default_rng(0)
    points = np.column_stack((rng.uniform(-1, 1, (300, 2)), np.zeros(300)))
    picked = chosen_of(rows(points), np.full(300, -1.0), 24)
    kept = points[picked]
    between = np.linalg.norm(kept[:, None] - kept[None], axis=2) + 9.0 * np.eye(24)
    away = np.linalg.norm(points[:, None] - kept[None], axis=2).min(axis=1)
    assert away.max() <= between.min() + 1e-12


def test_overlap_comes_first_then_the_least_gap() -> None:
    points = grid(10)
    rng = np.random.default_rng(1)
    predicted = rng.permutation(np.linspace(-2e-3, 8e-3, 100))  # 0.1 mm apart, 20 of them overlap
    picked = chosen_of(rows(points), predicted, 50)
    assert set(picked) == set(np.argsort(predicted)[:50])


def test_among_equal_gaps_the_furthest() -> None:
    """A plate that approaches level: differences of a micrometre do not make it lopsided."""
    points = grid(9)
    predicted = 1e-3 + 1e-6 * np.arange(81) / 81.0
    assert chosen_of(rows(points), predicted, 4) == [0, 8, 72, 80]


def test_what_carried_force_is_kept() -> None:
    points = grid(9)
    predicted = np.full(81, 1e-3)
    predicted[:10] = -1e-4
    carried = np.zeros(81, np.int32)
    carried[[33, 41, 57]] = 1
    predicted[33] = 5e-4
    picked = chosen_of(rows(points), predicted, 16, carried)
    assert set(picked) >= {33, 41, 57, *range(10)}
    assert len(picked) == 16


def test_a_set_that_covers_the_patch_holds_against_noise() -> None:
    """The same rows step after step, although gaps flicker: those that carried force stay."""
    points = grid(9)
    rng = np.random.default_rng(2)
    carried = np.zeros(81, np.int32)
    carried[chosen_of(rows(points), np.full(81, -1e-5), 24)] = 1
    first = set(np.flatnonzero(carried))
    for _ in range(5):
        predicted = -1e-5 + 5e-6 * rng.normal(size=81)
        picked = chosen_of(rows(points), predicted, 24, carried)
        assert set(picked) == first


def test_a_crowd_in_the_middle_gives_way_to_the_rim() -> None:
    """A patch grows beyond the rows that carried force: they must not lock out the others."""
    points = grid(9)
    middle = np.abs(points[:, :2]).max(axis=1) < 0.006
    picked = chosen_of(rows(points), np.full(81, -1e-5), 24, middle.astype(np.int32))
    assert {0, 8, 72, 80} <= set(picked)
    assert HOLDS > 1.0


def test_two_planes_at_one_point_are_two() -> None:
    """In a corner a vertex has two normals: neither is dropped as a double of the other."""
    points = np.concatenate((grid(5), grid(5)[12:13]))
    normals = np.tile([0.0, 0.0, 1.0], (26, 1))
    normals[25] = (1.0, 0.0, 0.0)
    picked = chosen_of(rows(points, normals), np.full(26, -1e-4), 6)
    assert 25 in picked


def test_only_the_rows_of_one_call_count() -> None:
    p = rows(np.concatenate((grid(3) + 5.0, grid(5))))
    assert chosen_of(p, np.full(34, -1e-4), 4, first=9) == [9, 13, 29, 33]


def test_less_than_asked_for_if_all_are_one() -> None:
    """Rows at the same place: still as many as there is room for, by key."""
    p = rows(np.zeros((6, 3)))
    assert chosen_of(p, np.full(6, -1.0), 3) == [0, 1, 2]


def test_what_has_no_prediction_is_left_out_first() -> None:
    """A NaN is no gap: such rows are kept only where there is room for all."""
    predicted = np.full(9, np.nan)
    predicted[[2, 7]] = (1e-4, 2e-4)
    assert chosen_of(rows(grid(3)), predicted, 4) == [2, 7]
    assert len(chosen_of(rows(grid(3)), predicted, 9)) == 9


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 60))
def test_the_order_of_rows_does_not_matter(seed: int, most: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(-3, 4, (count, 3)) * 1e-3  # with ties
    keys = np.column_stack((rng.integers(0, 3, count), rng.permutation(count), np.zeros(count)))
    predicted = rng.integers(-3, 6, count) * 1e-4
    carried = (rng.random(count) < 0.2).astype(np.int32)
    picked = chosen_of(rows(points, keys=keys), predicted, most, carried)
    assert len(picked) == min(most, count)
    names = [tuple(keys[k]) for k in picked]
    assert names == sorted(names)
    order = rng.permutation(count)
    other = chosen_of(rows(points[order], keys=keys[order]), predicted[order], most, carried[order])
    assert [tuple(keys[order[k]]) for k in other] == names
    urgent = (carried != 0) | (predicted < 0)
    if urgent.sum() <= most:
        assert set(np.flatnonzero(urgent)) <= set(picked)
    else:
        assert urgent[picked].all()
