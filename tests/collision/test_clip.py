"""Face clipping: half-space oracle, shared planes, large hulls, containment, room that runs out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from collision.clipping import (
    Clipped,
    append,
    at,
    clip,
    clip_below,
    fresh,
    moved,
    prism,
    read,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles.halfspace import common_volume
from scipy.spatial import ConvexHull
from strategies import quaternions

from tangere.collision.clip import BIT_PLANES, ON_PLANE
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Box, Cone, Convex, Sphere
from tangere.maths.rotations import rotation_of

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

EXACT = 1e-12
CUBE = Box((1.0, 1.0, 1.0))
UP = (0.0, 0.0, 1.0, 0.0)


def clipped(a: Polyhedron, b: Polyhedron) -> Clipped:
    found = clip(a, b)
    assert found is not None
    return found


def assert_closed(found: Clipped, size: float = 1.0) -> None:
    """The polygons bound a solid: their area vectors cancel."""
    assert found.area_vectors().sum(axis=0) == pytest.approx(np.zeros(3), abs=EXACT * size * size)


def assert_owned(found: Clipped, a: Polyhedron, b: Polyhedron, size: float = 1.0) -> None:
    """Every polygon lies on its owner's plane, turns its way, and inside both hulls."""
    planes = np.vstack((a.planes, b.planes))
    for ring, owner, area in zip(found.polygons, found.owner, found.area_vectors(), strict=True):
        n, d = planes[owner, :3], planes[owner, 3]
        assert ring @ n == pytest.approx(d, abs=EXACT * size)
        assert area @ n >= -EXACT * size * size
        assert (ring @ planes[:, :3].T - planes[:, 3]).max() <= EXACT * size
    assert len(set(found.owner)) == len(found.owner)


# ---------------------------------------------------------------- against half-spaces


def hull(rng: np.random.Generator, most: int) -> Convex:
    points = rng.normal(size=(int(rng.integers(4, most)), 3))
    return Convex(points / np.linalg.norm(points, axis=1)[:, None] * rng.uniform(0.3, 1.0, size=3))


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), quaternions(), st.sampled_from([8, 14]))
def test_volume_and_surface_of_random_hulls(seed: int, q: Array, most: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = at(hull(rng, most)), at(hull(rng, most), rng.normal(size=3) * 0.3, q)
    found = clipped(a, b)
    if not found.polygons or found.volume() < 1e-6:
        return
    assert_closed(found)
    assert_owned(found, a, b)
    around = np.vstack(found.polygons).mean(axis=0)
    truth = common_volume(a.planes, b.planes, np.array([0.0, 0.0, 1.0]), around, 0.1)
    assert found.volume() == pytest.approx(truth.volume, abs=1e-10)
    assert found.surface() == pytest.approx(truth.surface_area, abs=1e-9)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), quaternions())
def test_many_planes_go_by_the_list(seed: int, q: Array) -> None:
    # 80 faces on one side or on both: the planes no longer fit in the bits of an integer
    rng = np.random.default_rng(seed)
    ball = at(Sphere(0.5, subdivisions=2))
    assert len(ball.planes) > BIT_PLANES
    for other in (at(CUBE, rng.normal(size=3) * 0.3, q), moved(ball, (0.3, 0.2, 0.1))):
        for pair in ((ball, other), (other, ball)):
            found = clipped(*pair)
            assert found.polygons
            assert_closed(found)
            assert_owned(found, *pair)
            around = np.vstack(found.polygons).mean(axis=0)
            up = np.array([0.0, 0.0, 1.0])
            truth = common_volume(pair[0].planes, pair[1].planes, up, around, 0.1)
            assert found.volume() == pytest.approx(truth.volume, abs=1e-10)
            assert found.surface() == pytest.approx(truth.surface_area, abs=1e-9)


# ---------------------------------------------------------------- shared planes


@pytest.mark.parametrize("corners", [4, 16, 60, 64, 96])
def test_coplanar_faces_of_equal_normal_count_once(corners: int) -> None:
    # Two upright prisms side by side: tops and bottoms lie on the same planes and face the same way
    a = prism(corners)
    b = moved(prism(corners, turn=0.1), (0.2, 0.0, 0.0))
    for pair in ((a, b), (b, a)):
        found = clipped(*pair)
        assert_closed(found)
        lids = found.area_vectors()[:, 2]
        common = lids.max()
        assert lids.sum() == pytest.approx(0.0, abs=EXACT)
        assert np.abs(lids).sum() == pytest.approx(2.0 * common, rel=EXACT)
        assert found.volume() == pytest.approx(common, rel=EXACT)  # height 1


@pytest.mark.parametrize("corners", [(4, 96), (96, 4)])
def test_coplanar_faces_of_a_small_and_a_large_hull(corners: tuple[int, int]) -> None:
    a, b = prism(corners[0], 0.5), moved(prism(corners[1], 0.5), (0.1, 0.05, 0.0))
    found = clipped(a, b)
    assert_closed(found)
    lids = found.area_vectors()[:, 2]
    assert np.abs(lids).sum() == pytest.approx(2.0 * found.volume(), rel=EXACT)


@pytest.mark.parametrize("corners", [4, 96])
def test_the_same_prism_twice(corners: int) -> None:
    a = prism(corners)
    found = clipped(a, prism(corners))
    area = 0.5 * corners * 0.25 * math.sin(2.0 * math.pi / corners)
    assert found.volume() == pytest.approx(area, rel=EXACT)
    assert len(found.polygons) == corners + 2
    assert max(found.owner) < corners + 2  # all from the first


@pytest.mark.parametrize("corners", [4, 96])
def test_coplanar_faces_of_opposite_normal_enclose_nothing(corners: int) -> None:
    a, b = prism(corners), moved(prism(corners), (0.0, 0.0, 1.0))
    assert clipped(a, b).volume() == pytest.approx(0.0, abs=EXACT)


def test_stacked_blocks_with_flush_sides() -> None:
    depth = 1e-4
    found = clipped(at(CUBE), at(CUBE, (0.0, 0.0, 1.0 - depth)))
    assert_closed(found)
    assert found.volume() == pytest.approx(depth, rel=1e-9)
    assert len(found.polygons) == 6


def test_offset_just_around_the_width_of_a_plane() -> None:
    # sides shifted by 0.1 … 10 times the width inside which a vertex counts as on the plane
    for shift in (0.0, 1e-14, 1e-13, 2e-13, 1e-12, 1e-10):
        for sign in (1.0, -1.0):
            found = clipped(at(CUBE), at(CUBE, (sign * shift, 0.0, 0.9)))
            assert found.volume() == pytest.approx(0.1, abs=2.0 * shift + 1e-13)
            lids = found.area_vectors()[:, 2]
            assert lids[lids > 0].sum() == pytest.approx(1.0, abs=2.0 * shift + 1e-12)
            assert lids[lids < 0].sum() == pytest.approx(-1.0, abs=2.0 * shift + 1e-12)


# ---------------------------------------------------------------- containment, separation


@pytest.mark.parametrize("corners", [4, 96])
def test_one_inside_the_other(corners: int) -> None:
    outer, inner = prism(corners, 0.5, 1.0), prism(corners, 0.1, 0.2, 0.3)
    for pair, base in (((outer, inner), len(outer.planes)), ((inner, outer), 0)):
        found = clipped(*pair)
        assert sorted(found.owner) == list(range(base, base + len(inner.planes)))
        assert found.volume() == pytest.approx(
            0.2 * 0.5 * corners * 0.01 * math.sin(2.0 * math.pi / corners), rel=EXACT
        )


@pytest.mark.parametrize("corners", [4, 96])
@pytest.mark.parametrize("shift", [(1.2, 0.0, 0.0), (0.0, 0.0, 1.01), (0.75, 0.75, 0.0)])
def test_apart_encloses_nothing(corners: int, shift: tuple[float, float, float]) -> None:
    a = prism(corners, turn=math.pi / 4)
    assert clipped(a, moved(a, shift)).polygons == []


def test_faces_that_cross_in_the_middle() -> None:
    # two bars form a cross: no vertex of one is inside the other
    a, b = at(Box((2.0, 0.4, 0.4))), at(Box((0.4, 2.0, 0.2)))
    found = clipped(a, b)
    assert_closed(found)
    assert found.volume() == pytest.approx(0.4 * 0.4 * 0.2, rel=EXACT)


def test_corner_and_edge_overlaps() -> None:
    corner = clipped(at(CUBE), at(CUBE, (0.9, 0.9, 0.9)))
    assert corner.volume() == pytest.approx(1e-3, rel=1e-10)
    edge = clipped(at(CUBE), at(CUBE, (0.9, 0.0, 0.9)))
    assert edge.volume() == pytest.approx(1e-2, rel=1e-11)
    # a tip down into a face: a small pyramid
    tip = clipped(
        at(CUBE), at(Cone(0.5, 1.0, facets=4), (0.0, 0.0, 0.5 + 0.75 - 0.1), (0, 1, 0, 0))
    )
    assert tip.volume() == pytest.approx(0.1 * (2.0 * 0.05**2) / 3.0, rel=1e-10)


# ---------------------------------------------------------------- properties


@settings(max_examples=30)
@given(quaternions(), quaternions(), st.floats(-3.0, 3.0), st.integers(0, 1000))
def test_rigid_motion_and_scale(q: Array, turn: Array, decade: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=3) * 0.4
    a, b = at(CUBE), at(CUBE, shift, q)
    here = clipped(a, b).volume()
    s = 10.0**decade
    r = rotation_of(turn)

    def carry(p: Polyhedron) -> Polyhedron:
        vertices = s * p.vertices @ r.T
        planes = np.column_stack((p.planes[:, :3] @ r.T, s * p.planes[:, 3]))
        return Polyhedron(np.ascontiguousarray(vertices), planes, p.loop_start, p.loops)

    there = clip(carry(a), carry(b), ON_PLANE * s)
    assert there is not None
    assert there.volume() == pytest.approx(here * s**3, abs=1e-10 * s**3)


@settings(max_examples=30)
@given(quaternions(), st.integers(0, 1000))
def test_order_of_the_two_does_not_matter(q: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = at(Box((1.0, 0.7, 0.4))), at(CUBE, rng.normal(size=3) * 0.4, q)
    assert clipped(a, b).volume() == pytest.approx(clipped(b, a).volume(), abs=EXACT)
    assert clipped(a, b).surface() == pytest.approx(clipped(b, a).surface(), abs=10 * EXACT)


# ---------------------------------------------------------------- room


@pytest.mark.parametrize("corners", [4, 96])
def test_no_room_is_said_and_nothing_overrun(corners: int) -> None:
    a, b = prism(corners), moved(prism(corners, turn=0.3), (0.1, 0.0, 0.2))
    whole = clipped(a, b)
    need = sum(len(ring) for ring in whole.polygons)
    fits = clip(a, b, capacity=need)
    assert fits is not None
    assert fits.volume() == whole.volume()
    for capacity in (need - 1, need // 2, 4, 1):
        assert clip(a, b, capacity=capacity) is None
    below = clip_below(a, (0.0, 0.0, 1.0, 0.0))
    assert below is not None
    need = sum(len(ring) for ring in below.polygons)
    assert clip_below(a, (0.0, 0.0, 1.0, 0.0), capacity=need - 1) is None


def test_polygons_are_appended_behind_earlier_ones() -> None:
    soup = fresh(256)
    first = append(soup, at(CUBE), at(CUBE, (0.0, 0.0, 0.9)), 0)
    second = append(soup, at(CUBE), at(CUBE, (0.8, 0.0, 0.0)), first)
    assert read(soup, 0, first).volume() == pytest.approx(0.1, rel=1e-11)
    assert read(soup, first, second).volume() == pytest.approx(0.2, rel=1e-11)


# ---------------------------------------------------------------- floor


def below(b: Polyhedron, plane: tuple[float, ...] = UP) -> Clipped:
    found = clip_below(b, plane)
    assert found is not None
    return found


def depth_integral(found: Clipped, plane: Array) -> float:
    """∫ −height over the down-facing polygons, projected on the plane."""
    total = 0.0
    for ring, area in zip(found.polygons, found.area_vectors(), strict=True):
        tri = 0.5 * np.cross(ring[1:-1] - ring[0], ring[2:] - ring[0]) @ plane[:3]
        height = ring @ plane[:3] - plane[3]
        means = (height[0] + height[1:-1] + height[2:]) / 3.0
        total += float(tri @ means)
        assert area @ plane[:3] < EXACT
    return total


@settings(max_examples=60)
@given(quaternions(), st.floats(-0.8, 0.8))
def test_volume_below_a_floor(q: Array, height: float) -> None:
    b = at(Box((1.0, 0.6, 0.4)), (0.3, -0.2, 0.0), q)
    plane = np.array([0.0, 0.0, 1.0, height])
    found = below(b, tuple(plane))
    volume = depth_integral(found, plane)
    inside = b.vertices[b.vertices[:, 2] <= height]
    if len(inside) == 0:
        assert found.polygons == []
        return
    cut = [
        p + (r - p) * (height - p[2]) / (r[2] - p[2])
        for p in b.vertices
        for r in b.vertices
        if p[2] < height < r[2]
    ]
    points = np.vstack((inside, *cut))
    # no up-facing side: the space between a sunk body and the surface counts
    points = np.vstack((points, np.c_[points[:, :2], np.full(len(points), height)]))
    if np.ptp(points[:, 2]) < 1e-6:
        return
    assert volume == pytest.approx(ConvexHull(points).volume, abs=1e-9)


def test_floor_cases() -> None:
    assert below(at(CUBE, (0.0, 0.0, 0.6))).polygons == []
    assert below(at(CUBE, (0.0, 0.0, 0.5))).polygons == []  # just touching
    flat = below(at(CUBE, (0.0, 0.0, 0.4)))
    assert len(flat.polygons) == 1  # the walls are vertical
    assert flat.area_vectors()[0] == pytest.approx((0.0, 0.0, -1.0), abs=EXACT)
    sunk = below(at(CUBE, (0.0, 0.0, -7.0)))
    assert depth_integral(sunk, np.array(UP)) == pytest.approx(7.5, rel=EXACT)
    tilted = below(at(CUBE, (0.0, 0.0, 0.7), (math.cos(math.pi / 8), math.sin(math.pi / 8), 0, 0)))
    edge = math.sqrt(0.5) - 0.7  # depth of the lowest edge, right-angled wedge
    assert depth_integral(tilted, np.array(UP)) == pytest.approx(edge * edge, rel=1e-9)


def test_slanted_floor() -> None:
    n = np.array([0.6, 0.0, 0.8])
    b = at(
        CUBE,
        0.45 * n,
        (math.cos(0.5 * math.atan2(0.6, 0.8)), 0, math.sin(0.5 * math.atan2(0.6, 0.8)), 0),
    )
    found = below(b, (*n, 0.0))
    assert depth_integral(found, np.array([*n, 0.0])) == pytest.approx(0.05, rel=1e-10)
