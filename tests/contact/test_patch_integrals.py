"""The contact patch: areas, moments and depth of the projection, against hulls and closed forms."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from collision.clipping import at, clip, clip_below, fresh
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles.halfspace import common_volume
from oracles.quadrature import moments
from scipy.spatial import ConvexHull
from strategies import quaternions, vectors

from tangere._jit import kernel
from tangere._ptr import pointers, ptr
from tangere.collision.clip import View
from tangere.collision.distance import view
from tangere.contact.convex.patch_integrals import (
    EXTRA,
    H0,
    HX,
    HY,
    POINT,
    S0,
    SX,
    SXX,
    SXY,
    SY,
    SYY,
    measure,
)
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Box, Cylinder
from tangere.maths.vec import basis
from tangere.model import Soup

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

EXACT = 1e-11
UP = np.array([0.0, 0.0, 1.0])
CUBE = Box((1.0, 1.0, 1.0))


@kernel
def _measure(
    a: Polyhedron, b: Polyhedron, one_sided: bool, n: Array, soup: Soup, count: int, sums: Array
) -> None:
    """`measure` on arrays, in the basis of n; one-sided: a is left out."""
    s = pointers(soup)
    normal = (n[0], n[1], n[2])
    t1, t2 = basis(normal)
    va, vb = view(a), view(b)
    if one_sided:
        va = View(vb.verts, 0, vb.planes, 0, vb.loop_start, vb.loops)
    measure(va, vb, normal, t1, t2, s, 0, count, ptr(sums))


class Patch(NamedTuple):
    sums: Array
    soup: Soup
    polygons: int
    axes: Array  # rows t1, t2, n


def axes_of(n: Array) -> Array:
    t1, t2 = basis((float(n[0]), float(n[1]), float(n[2])))
    return np.array([t1, t2, n])


def patch(a: Polyhedron, b: Polyhedron, n: Array, point: Array) -> Patch | None:
    """Integrals of A ∩ B; None when they do not overlap."""
    found = clip(a, b)
    assert found is not None
    return _of(found.polygons, found.owner, a, b, False, n, point) if found.polygons else None


def floor_patch(b: Polyhedron, n: Array, height: float, point: Array) -> Patch:
    found = clip_below(b, (*n, height))
    assert found is not None
    return _of(found.polygons, found.owner, b, b, True, n, point)


def _of(
    rings: list[Array],
    owner: list[int],
    a: Polyhedron,
    b: Polyhedron,
    one_sided: bool,
    n: Array,
    point: Array,
) -> Patch:
    soup = fresh(1024)
    corners = np.vstack(rings)
    soup.xyz[: len(corners)] = corners
    soup.owner[: len(owner)] = owner
    soup.start[1 : len(rings) + 1] = np.cumsum([len(ring) for ring in rings])
    sums = np.full(16, np.nan)
    sums[POINT : POINT + 3] = point
    _measure(a, b, one_sided, n, soup, len(rings), sums)
    return Patch(sums, soup, len(rings), axes_of(n))


def unit(v: Array) -> Array:
    return np.asarray(v / np.linalg.norm(v))


# ---------------------------------------------------------------- closed forms


def test_cube_on_cube() -> None:
    # 1 m cubes, flush, depth d, seen from a point off the middle of the patch
    d, x0, y0 = 0.01, 0.2, -0.1
    found = patch(at(CUBE), at(CUBE, (0.0, 0.0, 1.0 - d)), UP, np.array([x0, y0, 0.5 - 0.3 * d]))
    assert found is not None
    t = found.axes[:2] @ np.array([-x0, -y0, 0.0])  # centroid seen from the point
    q = found.sums
    assert q[S0] == pytest.approx(2.0, rel=EXACT)  # both sides
    assert (q[SX], q[SY]) == pytest.approx(2.0 * t, rel=EXACT)
    assert q[SXX] == pytest.approx(2.0 * (1.0 / 12.0 + t[0] ** 2), rel=EXACT)
    assert q[SYY] == pytest.approx(2.0 * (1.0 / 12.0 + t[1] ** 2), rel=EXACT)
    assert q[SXY] == pytest.approx(2.0 * t[0] * t[1], rel=EXACT)
    assert q[H0] == pytest.approx(d, rel=1e-10)
    assert (q[HX], q[HY]) == pytest.approx(d * t, rel=1e-10)


def test_wedge_on_the_floor() -> None:
    # a cube of edge 1 tilted by φ, its lowest edge at depth e: a right-angled wedge lies below
    phi, e = 0.3, 0.02
    b = at(CUBE, (0, 0, math.sqrt(0.5) * math.cos(math.pi / 4 - phi) - e), tilt(phi))
    found = floor_patch(b, UP, 0.0, np.zeros(3))
    q = found.sums
    # legs e/sin φ and e/cos φ along the floor's cut, projected e/tan φ + e tan φ
    width = e / math.tan(phi) + e * math.tan(phi)
    assert q[S0] == pytest.approx(width, rel=1e-9)
    assert q[H0] == pytest.approx(0.5 * e * width, rel=1e-9)


def tilt(phi: float) -> tuple[float, float, float, float]:
    return (math.cos(0.5 * phi), math.sin(0.5 * phi), 0.0, 0.0)


def test_disc_on_the_floor() -> None:
    corners, radius, depth = 64, 0.5, 0.01
    cylinder = at(Cylinder(radius, 1.0, facets=corners), (0.0, 0.0, 0.5 - depth))
    q = floor_patch(cylinder, UP, 0.0, np.zeros(3)).sums
    step = 2.0 * math.pi / corners
    area = 0.5 * corners * radius**2 * math.sin(step)
    assert q[S0] == pytest.approx(area, rel=EXACT)
    assert q[H0] == pytest.approx(area * depth, rel=1e-10)
    polar = area * radius**2 * (2.0 + math.cos(step)) / 6.0  # of a regular polygon
    assert q[SXX] + q[SYY] == pytest.approx(polar, rel=EXACT)
    assert q[SXX] == pytest.approx(q[SYY], rel=1e-10)


# ---------------------------------------------------------------- against hulls


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), quaternions(), quaternions())
def test_random_box_pairs(seed: int, qa: Array, qb: Array) -> None:
    rng = np.random.default_rng(seed)
    a = at(Box(rng.uniform(0.3, 1.5, size=3)), rng.normal(size=3), qa)
    b = at(
        Box(rng.uniform(0.3, 1.5, size=3)), a.vertices.mean(axis=0) + rng.normal(size=3) * 0.4, qb
    )
    n = unit(rng.normal(size=3))
    point = a.vertices.mean(axis=0) + rng.normal(size=3) * 0.1
    found = patch(a, b, n, point)
    if found is None or found.sums[H0] < 1e-4:
        return
    q, axes = found.sums, found.axes
    truth = common_volume(a.planes, b.planes, n, point, 0.1)
    assert q[H0] == pytest.approx(truth.volume, abs=EXACT)
    assert 0.5 * q[S0] == pytest.approx(truth.projected_area, abs=1e-10)
    # ∫ x d dS over the patch is ∫ x dV
    x, y, _ = axes @ (truth.centroid - point)
    assert (q[HX], q[HY]) == pytest.approx((truth.volume * x, truth.volume * y), abs=1e-10)
    # the patch itself: outline of the projected corners
    corners = found.soup.xyz[: found.soup.start[found.polygons]]
    flat = (corners - point) @ axes[:2].T
    outline = flat[ConvexHull(flat).vertices]
    want = moments(outline, lambda x, y: np.zeros_like(x))
    assert 0.5 * q[[S0, SX, SY, SXX, SXY, SYY]] == pytest.approx(want[:6], abs=1e-10)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), quaternions(), st.floats(-3.0, 3.0), vectors(1.0))
def test_position_of_the_plane_does_not_matter(
    seed: int, q: Array, lift: float, shift: Array
) -> None:
    rng = np.random.default_rng(seed)
    a, b = at(CUBE), at(Box((0.8, 1.1, 0.5)), rng.normal(size=3) * 0.4, q)
    n = unit(rng.normal(size=3))
    here, there = (patch(a, b, n, p) for p in (np.zeros(3), lift * n + shift))
    if here is None or there is None:
        return
    x, y, _ = here.axes @ shift
    p, q = here.sums, there.sums
    assert q[[S0, H0]] == pytest.approx(p[[S0, H0]], abs=EXACT)
    assert q[[SX, SY]] == pytest.approx(p[[SX, SY]] - p[S0] * np.array([x, y]), abs=1e-10)
    assert q[[HX, HY]] == pytest.approx(p[[HX, HY]] - p[H0] * np.array([x, y]), abs=1e-10)
    # second moments about the centroid: the parallel-axis theorem undone
    for xx, x1, x2 in ((SXX, SX, SX), (SXY, SX, SY), (SYY, SY, SY)):
        central = [s[xx] - s[x1] * s[x2] / s[S0] for s in (p, q)]
        assert central[0] == pytest.approx(central[1], abs=1e-10)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), quaternions())
def test_front_and_back_cover_the_patch_once_each(seed: int, q: Array) -> None:
    rng = np.random.default_rng(seed)
    n = unit(rng.normal(size=3))
    found = patch(at(CUBE), at(CUBE, rng.normal(size=3) * 0.4, q), n, np.zeros(3))
    if found is None:
        return
    area = {1.0: 0.0, -1.0: 0.0, 0.0: 0.0}
    for f in range(found.polygons):
        start, end = found.soup.start[f], found.soup.start[f + 1]
        ring = found.soup.xyz[start:end]
        projected = 0.5 * np.cross(ring[1:-1] - ring[0], ring[2:] - ring[0]).sum(axis=0) @ n
        side, hx, hy, cosine = found.soup.slope[f]
        area[side] += abs(projected)
        x, y, h = found.soup.plane[start:end].T
        assert np.sign(projected) == side or abs(projected) < 1e-13
        # height over the plane, positive into the volume, and its slope
        assert h == pytest.approx(side * ring @ n, abs=EXACT)
        if cosine > 1e-3:
            rise = hx * (x - x[0]) + hy * (y - y[0])
            assert h - h[0] == pytest.approx(rise, abs=1e-10 / cosine)
    assert area[1.0] == pytest.approx(area[-1.0], abs=EXACT)


def test_walls_are_left_out() -> None:
    found = patch(at(CUBE), at(CUBE, (0.0, 0.0, 0.9)), UP, np.zeros(3))
    assert found is not None
    sides = found.soup.slope[: found.polygons, 0]
    assert sorted(sides.tolist()) == [-1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    walls = [f for f in range(found.polygons) if sides[f] == 0.0]
    for f in walls:  # never projected
        start, end = found.soup.start[f], found.soup.start[f + 1]
        assert np.isnan(found.soup.plane[start:end]).all()


def test_nothing_else_of_the_sums_is_touched() -> None:
    found = patch(at(CUBE), at(CUBE, (0.0, 0.0, 0.9)), UP, np.array([1.0, 2.0, 3.0]))
    assert found is not None
    assert np.isfinite(found.sums[: POINT + 3]).all()
    assert np.isnan(found.sums[EXTRA:]).all()


@pytest.mark.parametrize("far", [1.0, 1e3, 1e6])
def test_far_from_the_origin(far: float) -> None:
    # the point of the plane stands near the patch: only the rounding of the vertices is left
    where = np.array([far, -far, far])
    d = 1e-3
    a, b = at(CUBE, where), at(CUBE, where + (1.0 - d) * UP)
    found = patch(a, b, UP, where + 0.5 * UP)
    assert found is not None
    assert found.sums[H0] == pytest.approx(d, abs=1e-14 * far + 1e-15)
    assert found.sums[S0] == pytest.approx(2.0, abs=1e-14 * far + 1e-14)
