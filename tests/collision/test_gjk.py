"""GJK on vertex clouds: certificates of optimality, warm start, degenerate clouds, all builds."""

from __future__ import annotations

import numpy as np
import pytest
from collision.pairs import directions
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.collision.gjk import APART, OVERLAP, gjk
from tangere.geometry.shapes import Convex

Array = NDArray[np.float64]
Simplex = NDArray[np.int32]


@kernel
def call(a: Array, b: Array, shift: Array, simplex: Simplex, out: Array) -> int:
    """Status of gjk on arrays; distance and witnesses go to out."""
    s = (shift[0], shift[1], shift[2])
    status, d, ax, ay, az, bx, by, bz = gjk(ptr(a), a.shape[0], ptr(b), b.shape[0], s, ptr(simplex))
    out[0], out[1], out[2], out[3] = d, ax, ay, az
    out[4], out[5], out[6] = bx, by, bz
    return status


def run(
    a: Array, b: Array, shift: tuple[float, ...] = (0.0, 0.0, 0.0), simplex: Simplex | None = None
) -> tuple[int, float, Array, Array]:
    simplex = np.zeros(9, dtype=np.int32) if simplex is None else simplex
    out = np.full(7, np.nan)
    status = call(np.ascontiguousarray(a), np.ascontiguousarray(b), np.array(shift), simplex, out)
    return status, float(out[0]), out[1:4], out[4:7]


def cube(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Array:
    corners = [(i, j, k) for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]
    return np.asarray(np.array(corners) + np.array([x, y, z]))


def cloud(rng: np.random.Generator) -> Array:
    """4 to 512 points: round, flat, long, on a lattice, or all twice."""
    kind = rng.integers(5)
    n = int(rng.integers(4, 12) if rng.random() < 0.5 else rng.integers(12, 513))
    points = directions(rng, n)
    if kind == 1:
        points = points * 10.0 ** rng.uniform(-4.0, 0.0, size=3)
    elif kind == 2:
        points = np.round(rng.normal(size=(n, 3)) * 2.0) / 2.0
    elif kind == 3:
        points = np.vstack((points, points))[: max(4, 512 - n)]
    elif kind == 4:
        points = points * (1.0, 1.0, 0.0)
    return np.ascontiguousarray(points[:512] * 10.0 ** rng.uniform(-1.0, 1.0))


def certify(a: Array, b: Array, shift: Array, status: int, d: float, pa: Array, pb: Array) -> None:
    """The answer proves itself: the witnesses bound the distance from above, a plane from below."""
    moved = b + shift
    size = max(np.ptp(a, axis=0).max(), np.ptp(moved, axis=0).max())
    reach = max(size, float(np.abs(a.mean(axis=0) - moved.mean(axis=0)).max()))
    if status == APART:
        # Digits of the direction are lost to the rounding of the witnesses when d is small.
        assert np.linalg.norm(pb - pa) == pytest.approx(d, abs=1e-14 * reach)
        n = (pb - pa) / np.linalg.norm(pb - pa)
        below = (moved @ n).min() - (a @ n).max()
        assert d - below <= 1e-13 * reach + 1e-15 * reach * size / d
    else:
        assert status == OVERLAP
        assert d == 0.0
        for n in directions(np.random.default_rng(0), 200):  # the common point is in both hulls
            for points in (a, moved):
                assert pa @ n <= (points @ n).max() + 1e-12 * reach


@given(st.integers(0, 2**32 - 1))
def test_result_proves_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = cloud(rng), cloud(rng)
    d = directions(rng, 1)[0] if rng.random() < 0.7 else np.eye(3)[rng.integers(3)]
    touching = (a @ d).max() - (b @ d).min()
    size = max(np.ptp(a), np.ptp(b))
    gap = rng.choice([1.0, 1e-2, 1e-4, 1e-6, -1e-2, -0.3]) * size
    shift = d * (touching + gap)
    status, distance, pa, pb = run(a, b, tuple(shift))
    certify(a, b, shift, status, distance, pa, pb)
    if gap > 0.0:
        assert status == APART
        assert distance >= gap * (1.0 - 1e-9)


@given(st.integers(0, 2**32 - 1))
def test_warm_start_changes_the_cost_and_not_the_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = cloud(rng), cloud(rng)
    simplex = np.zeros(9, dtype=np.int32)
    size = max(np.ptp(a), np.ptp(b))
    place = directions(rng, 1)[0] * size * rng.uniform(0.2, 1.5)
    for _ in range(10):
        place = place + rng.normal(size=3) * 0.02 * size
        warm = run(a, b, tuple(place), simplex)
        cold = run(a, b, tuple(place))
        assert warm[0] == cold[0]
        assert warm[1] == pytest.approx(cold[1], abs=1e-13 * size)
        assert 1 <= simplex[0] <= 4


def test_warm_start_from_any_indices() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b = cube(), cube(*rng.normal(size=3))
        simplex = np.concatenate(([rng.integers(0, 5)], rng.integers(0, 8, 8))).astype(np.int32)
        warm, cold = run(a, b, simplex=simplex), run(a, b)
        assert warm[0] == cold[0]
        assert warm[1] == pytest.approx(cold[1], abs=1e-14)


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param((3.0, 0.0, 0.0), 2.0, id="face"),
        pytest.param((3.0, 4.0, 0.25), np.sqrt(4 + 9), id="edge"),
        pytest.param((3.0, 4.0, 5.0), np.sqrt(4 + 9 + 16), id="vertex"),
        pytest.param((0.5, 0.25, 0.125), 0.0, id="overlap"),
        pytest.param((0.0, 0.0, 0.0), 0.0, id="same"),
        pytest.param((1.0, 0.0, 0.0), 0.0, id="touching-faces"),
        pytest.param((1.0, 1.0, 1.0), 0.0, id="touching-corners"),
    ],
)
def test_cubes(place: tuple[float, float, float], expected: float) -> None:
    status, d, pa, pb = run(cube(), cube(*place))
    assert status == (APART if expected > 0.0 else OVERLAP)
    assert d == pytest.approx(expected, abs=1e-15)
    assert np.linalg.norm(pa - pb) == pytest.approx(expected, abs=1e-15)
    shifted = run(cube(), cube(), place)
    assert shifted[1] == pytest.approx(expected, abs=1e-15)
    np.testing.assert_allclose(shifted[3], pb, atol=1e-15)


@pytest.mark.nojit
def test_points_and_segments() -> None:
    point, origin = np.array([[3.0, 4.0, 0.0]]), np.zeros((1, 3))
    assert run(point, origin)[:2] == (APART, 5.0)
    assert run(point, point)[0] == OVERLAP
    segment = np.array([[-1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    across = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    status, d, pa, pb = run(segment, across)
    assert (status, d) == (APART, 1.0)
    np.testing.assert_allclose(pa, (0.0, 1.0, 0.0), atol=1e-15)
    np.testing.assert_allclose(pb, (0.0, 0.0, 0.0), atol=1e-15)


def test_far_from_the_origin_only_the_coordinates_round() -> None:
    far = np.array([2.0**20, -(2.0**21), 2.0**22])  # keeps these coordinates exact
    a, b = cube() * 2.0, cube() * 4.0 + np.array([5.0, 1.0, 0.5])
    near, away = run(a, b), run(a + far, b + far)
    assert away[1] == near[1]
    np.testing.assert_allclose(away[2] - far, near[2], atol=np.spacing(2.0**22))


def test_nan_ends_the_search() -> None:
    broken = cube(3.0)
    broken[5, 1] = np.nan
    status, *_ = run(cube(), broken)
    assert status in (APART, OVERLAP)


def test_shapes_of_the_library_touch_where_they_should() -> None:
    octahedron = Convex(np.vstack((np.eye(3), -np.eye(3)))).parts()[0].vertices
    status, d, pa, pb = run(cube(), octahedron, (0.0, 0.1, 2.0))
    assert status == APART
    assert d == pytest.approx(0.5, abs=1e-15)
    np.testing.assert_allclose(pa, (0.0, 0.1, 0.5), atol=1e-15)
    np.testing.assert_allclose(pb, (0.0, 0.1, 1.0), atol=1e-15)
