"""Dual transform: quickhull against SciPy, interior point, giving up, poisoned scratch."""

from __future__ import annotations

import numpy as np
import pytest
from collision.pairs import directions, extent, random_pair, random_pool
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from tangere._jit import kernel
from tangere._ptr import local_f8, local_i4, pointers, ptr
from tangere.collision.clip import MAX_POLYGON
from tangere.collision.distance import part_distance, placed, view
from tangere.collision.dual import FAILED, FULL, centre, dual_volume, quickhull
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Box
from tangere.maths.rotations import rotation_of
from tangere.model import Soup

Array = NDArray[np.float64]
IntArray = NDArray[np.int32]


@kernel
def hull(points: Array, corners: IntArray) -> int:
    """Number of triangles of the hull, written to corners, or −1."""
    face = local_i4(7168)
    plane = local_f8(4096)
    work = local_i4(6660)
    if not quickhull(ptr(points), points.shape[0], face, plane, work):
        return -1
    count = 0
    for f in range(work[0]):
        if face[7 * f + 6] != 0:
            for k in range(3):
                corners[count, k] = face[7 * f + k]
            count += 1
    return count


@kernel
def middle(planes: Array, guess: Array, out: Array) -> bool:
    """Whether the half-spaces have a centre; it goes to out. Offsets become distances from it."""
    found, o, _, _ = centre(ptr(planes), planes.shape[0], (guess[0], guess[1], guess[2]))
    out[0], out[1], out[2] = o
    return found


@kernel
def volume(a: Polyhedron, b: Polyhedron, guess: Array, soup: Soup, capacity: int) -> int:
    """Polygon count of the dual method."""
    s = pointers(soup)
    s.start[0] = 0
    return dual_volume(view(a), view(b), (guess[0], guess[1], guess[2]), s, 0, capacity)


def soup(capacity: int = 8192, poison: int = 0) -> Soup:
    return Soup(
        start=np.full(capacity + 1, poison, dtype=np.int32),
        owner=np.full(capacity, poison, dtype=np.int32),
        xyz=np.full((capacity, 3), np.nan),
        plane=np.empty((0, 3)),
        slope=np.empty((0, 4)),
        clip=np.full(6 * MAX_POLYGON, np.nan),
    )


def cube(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Polyhedron:
    return placed(Box((1.0, 1.0, 1.0)).parts()[0], np.eye(3), np.array([x, y, z]))


@given(st.integers(0, 2**32 - 1), st.integers(4, 512), st.booleans())
def test_hull_agrees_with_scipy(seed: int, n: int, inside: bool) -> None:
    rng = np.random.default_rng(seed)
    points = directions(rng, n) * (rng.random((n, 1)) ** (1 / 3) if inside else 1.0)
    truth = ConvexHull(points)
    corners = np.zeros((1024, 3), dtype=np.int32)
    count = hull(points, corners)
    assert count == len(truth.simplices)
    assert set(corners[:count].ravel()) == set(truth.vertices)
    x = points[corners[:count]]
    area = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    assert np.einsum("ij,ij->", area, x[:, 0]) / 6.0 == pytest.approx(truth.volume, rel=1e-12)


@pytest.mark.nojit
def test_hull_of_coplanar_and_repeated_points() -> None:
    lattice = (
        np.array([(x, y, z) for x in range(3) for y in range(3) for z in range(3)]) / 2.0 - 0.5
    )
    points = np.vstack((lattice, lattice))
    corners = np.zeros((1024, 3), dtype=np.int32)
    count = hull(points, corners)
    x = points[corners[:count]]
    area = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    assert np.einsum("ij,ij->", area, x[:, 0]) / 6.0 == pytest.approx(1.0, rel=1e-12)
    assert hull(points * (1.0, 1.0, 0.0), corners) == -1  # flat


@pytest.mark.nojit
@pytest.mark.parametrize("guess", [(0.1, 0.2, 0.3), (0.5, 0.5, 0.5), (9.0, -7.0, 3.0)])
def test_centre_of_a_box_is_its_middle(guess: tuple[float, float, float]) -> None:
    planes = cube().planes
    planes[:, 3] *= 2.0
    out = np.full(3, np.nan)
    assert middle(planes.copy(), np.array(guess), out)
    # Newton's method stops early, well inside: a quarter of the half width is guaranteed by far.
    assert np.abs(out).max() < 0.75


def test_thin_volumes_have_a_centre_and_none_is_found_where_there_is_none() -> None:
    turn = rotation_of(np.array([0.5, 0.5, 0.1, -0.7]) / np.linalg.norm([0.5, 0.5, 0.1, -0.7]))
    for thickness in (1e-3, 1e-6, 1e-9):
        p, q = cube(), cube(0.3, 0.2, 1.0 - thickness)
        planes = np.vstack((p.planes, q.planes))
        planes[:, :3] = planes[:, :3] @ turn.T
        out = np.full(3, np.nan)
        assert middle(planes.copy(), np.array([5.0, 5.0, 5.0]), out)
        assert (planes[:, :3] @ out < planes[:, 3]).all()
    planes = np.vstack((cube().planes, cube(0.3, 0.2, 1.0 + 1e-6).planes))
    assert not middle(planes, np.zeros(3), np.zeros(3))


@pytest.mark.nojit
def test_owners_are_faces_of_a_then_of_b() -> None:
    p, q = cube(), cube(0.3, 0.2, 0.9)
    s = soup()
    count = volume(p, q, np.array([0.15, 0.1, 0.45]), s, 8192)
    assert count == 6
    planes = np.vstack((p.planes, q.planes))
    for k in range(count):
        loop = s.xyz[s.start[k] : s.start[k + 1]]
        n, d = planes[s.owner[k], :3], planes[s.owner[k], 3]
        np.testing.assert_allclose(loop @ n, d, atol=1e-15)
        assert np.cross(loop[1] - loop[0], loop[2] - loop[0]) @ n > 0.0


@pytest.mark.nojit
def test_gives_up_where_there_is_no_volume_or_no_room() -> None:
    near = np.array([0.0, 0.0, 0.5])
    assert volume(cube(), cube(0.0, 0.0, 1.5), near, soup(), 8192) == FAILED
    assert volume(cube(), cube(0.0, 0.0, 1.0), near, soup(), 8192) == FAILED
    assert volume(cube(), cube(0.3, 0.0, 0.9), near, soup(), 8) == FULL


def test_old_content_of_the_scratch_does_not_matter() -> None:
    p, q = (
        cube(),
        placed(
            Box((1.0, 1.0, 1.0)).parts()[0],
            rotation_of(np.array([0.8, 0, 0.6, 0])),
            0.4 * np.ones(3),
        ),
    )
    one, two = soup(poison=0), soup(poison=-7)
    two.xyz[:] = 1e300
    counts = [volume(p, q, np.zeros(3), s, 8192) for s in (one, two)]
    assert counts[0] == counts[1] > 4
    end = one.start[counts[0]]
    np.testing.assert_array_equal(one.start[: counts[0] + 1], two.start[: counts[0] + 1])
    np.testing.assert_array_equal(one.owner[: counts[0]], two.owner[: counts[0]])
    np.testing.assert_array_equal(one.xyz[:end], two.xyz[:end])


def test_gives_up_on_films_alone() -> None:
    """The fallback to clipping is for overlaps thinner than 1e-6 of the parts; others all work."""
    pool = random_pool(7, 80, low=-0.5, high=0.5)
    rng = np.random.default_rng(7)
    tried, failed = 0, 0
    s = soup()
    for k in range(600):
        how = ("shallow", "deep", "faces", "aligned", "nested")[k % 5]
        a, pose_a, b, pose_b = random_pair(rng, pool, how)
        p = placed(a.parts()[0], rotation_of(pose_a[1]), np.zeros(3))
        q = placed(b.parts()[0], rotation_of(pose_b[1]), pose_b[0] - pose_a[0])
        d, found = part_distance(p, q)
        size = max(extent(a), extent(b))
        if d > -1e-12 * size:
            continue
        tried += 1
        if volume(p, q, 0.5 * (found[:3] + found[3:6]), s, 8192) < 0:
            failed += 1
            assert d > -1e-6 * size
    assert tried > 300
    assert failed <= 0.03 * tried
