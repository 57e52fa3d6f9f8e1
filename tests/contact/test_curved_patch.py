"""Patches of curved contacts against integrals over the true overlap, and friction under spin."""

from __future__ import annotations

from math import asinh, hypot, pi, sqrt
from typing import NamedTuple

import numpy as np
import pytest
from collision.solids import Part, about, meet, part
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.collision.distance import solid
from tangere.contact.convex.curved_patch import (
    lay_curved,
    lay_on_floor,
)
from tangere.contact.convex.polygons import (
    L_AREA,
    L_CORNERS,
    L_COUNT,
    L_CURVED,
    L_RATIO,
    L_RHO_A,
    L_RHO_B,
    L_SHARE,
    L_SLOPE,
    L_T1,
    L_T2,
    L_TILT1,
    L_TILT2,
    MAX_CORNERS,
    MAX_POLYGONS,
    NLAYOUT,
    Layout,
)
from tangere.geometry.curve import BALL, CAPSULE, CONE, CYLINDER, Curve
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Box, Capsule, Cone, Cylinder, Shape, Sphere

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]
IntArray = NDArray[np.int32]

X, Y, Z = np.eye(3)


class Patch(NamedTuple):
    polygons: list[Array]
    """Each (corners, 3): x, y, depth."""
    data: Array
    point: Array
    normal: Array

    def world(self) -> list[Array]:
        """Corners in the world, each (corners, 3)."""
        t1, t2 = self.data[L_T1 : L_T1 + 3], self.data[L_T2 : L_T2 + 3]
        return [self.point + p[:, :1] * t1 + p[:, 1:2] * t2 for p in self.polygons]

    def samples(self, fine: int = 24) -> tuple[Array, Array]:
        """Points (n, 3) x, y, depth, spread over the polygons, and the area of each."""
        points, areas = [], []
        k = np.arange(fine)
        i, j = np.meshgrid(k, k, indexing="ij")
        low, high = i + j < fine, i + j < fine - 1
        u = np.r_[(i[low] + 1 / 3), (i[high] + 2 / 3)] / fine
        v = np.r_[(j[low] + 1 / 3), (j[high] + 2 / 3)] / fine
        for p in self.polygons:
            for m in range(1, len(p) - 1):
                a, b, c = p[0], p[m], p[m + 1]
                points.append(a + u[:, None] * (b - a) + v[:, None] * (c - a))
                area = 0.5 * ((b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0])
                areas.append(np.full(len(u), area / len(u)))
        return np.concatenate(points), np.concatenate(areas)

    @property
    def area(self) -> float:
        return float(self.samples(2)[1].sum())

    @property
    def mean_depth(self) -> float:
        """F/k: the polygons' volume over the normalising area."""
        p, w = self.samples()
        return float(p[:, 2] @ w / (self.data[L_RATIO] * self.data[L_AREA]))

    @property
    def centre(self) -> Array:
        """Centre of pressure in the world."""
        p, w = self.samples()
        x, y = (p[:, k] @ (w * p[:, 2]) / (p[:, 2] @ w) for k in (0, 1))
        return np.asarray(
            self.point + x * self.data[L_T1 : L_T1 + 3] + y * self.data[L_T2 : L_T2 + 3]
        )

    @property
    def arm(self) -> float:
        """Torque of sliding friction under spin over µN: the mean distance under pressure."""
        p, w = self.samples()
        w = w * p[:, 2] / (w @ p[:, 2])
        x, y = p[:, 0] - w @ p[:, 0], p[:, 1] - w @ p[:, 1]
        return float(w @ np.hypot(x, y))


@kernel
def _lay(
    hull_a: Polyhedron,
    row_a: Array,
    hull_b: Polyhedron,
    row_b: Array,
    at: Array,
    face: int,
    corners: IntArray,
    points: Array,
    data: Array,
) -> None:
    """lay_curved, or lay_on_floor at z = 0 if a.radius < 0; at: n, point, depth, size."""
    n, point = (at[0], at[1], at[2]), (at[3], at[4], at[5])
    out = Layout(ptr(corners), ptr(points), ptr(data))
    a, b = solid(hull_a, row_a), solid(hull_b, row_b)
    if a.radius < 0.0:
        lay_on_floor(b, n, 0.0, point, at[6], 0.0, at[7], 0.0, out)
    else:
        lay_curved(a, b, n, point, at[6], 0.0, face, at[7], 0.0, out)


def lay(
    a: Part | None, b: Part, n: Array, point: Array, depth: float, face: int, size: float
) -> Patch:
    corners = np.full(MAX_POLYGONS, -1, np.int32)
    points, data = np.full(3 * MAX_CORNERS, np.nan), np.full(NLAYOUT, np.nan)
    other = a if a is not None else b._replace(row=np.array([BALL, -1.0, *np.zeros(7)]))
    at = np.array([*n, *point, depth, size])
    _lay(other.hull, other.row, b.hull, b.row, at, face, corners, points, data)
    count, first, polygons = int(data[L_COUNT]), 0, []
    assert count >= 1
    for k in range(count):
        polygons.append(points[3 * first : 3 * (first + corners[k])].reshape(-1, 3).copy())
        first += corners[k]
    assert first == data[L_CORNERS]
    assert np.isfinite(data).all()
    for p in polygons:  # counter-clockwise and convex, depth linear along x with the stated slope
        assert np.isfinite(p).all()
        edge, following = (
            np.roll(p, -1, axis=0) - p,
            np.roll(p, -2, axis=0) - np.roll(p, -1, axis=0),
        )
        turn = edge[:, 0] * following[:, 1] - edge[:, 1] * following[:, 0]
        assert turn.min() > -1e-9 * np.abs(turn).max()
        assert p[:, 2].min() >= -1e-9 * depth
    for p, slope in zip(polygons, data[L_SLOPE:], strict=False):
        np.testing.assert_allclose(
            p[:, 2] - p[0, 2], slope * (p[:, 0] - p[0, 0]), atol=1e-6 * depth
        )
    t1, t2 = data[L_T1 : L_T1 + 3], data[L_T2 : L_T2 + 3]
    np.testing.assert_allclose(np.cross(t1, t2), n, atol=1e-12)
    return Patch(polygons, data, point, n)


def on_floor(shape: Shape, turn: Array, depth: float, position: object = (0.0, 0.0)) -> Patch:
    """A shape this deep in the half-space z < 0."""
    return lay_floor(sunk(shape, turn, depth, position), depth)


def sunk(shape: Shape, turn: Array, depth: float, position: object = (0.0, 0.0)) -> Part:
    low = lowest(part(shape, (0.0, 0.0, 0.0), turn))
    return part(shape, (*np.asarray(position, float), -low - depth), turn)


def lowest(p: Part) -> float:
    assert isinstance(p.exact, Curve)
    centre, half = p.exact.box()
    return float(centre[2] - half[2])


def lay_floor(b: Part, depth: float) -> Patch:
    point = np.array([b.row[6], b.row[7], 0.0])
    return lay(None, b, Z, point, depth, 1, 0.1)


def on_part(a: Part, b: Part, size: float = 0.1) -> Patch:
    found = meet(a, b, size)
    assert found.near
    assert found.face != 1 << 20
    return lay(a, b, found.normal, found.point, found.depth, found.face, size)


# ---------------------------------------------------------------- the true overlap
def entry(c: Curve, xy: Array) -> Array:
    """Height at which vertical lines enter a solid from below; inf where they miss it."""
    p = np.column_stack((xy, np.zeros(len(xy)))) - c.centre
    e, s = c.axis, c.axis[2]
    z, d = p @ e, p - (p @ e)[:, None] * e  # along, off the axis at height 0
    up = Z - s * e
    best = np.full(len(xy), np.inf)
    taper = c.radius / (2.0 * c.half) if c.kind == CONE else 0.0
    middle = 0.5 * c.radius if c.kind == CONE else c.radius
    if c.kind != BALL:  # side: |d + t up| = middle − taper (z + t s)
        qa = up @ up - (taper * s) ** 2
        qb = d @ up + taper * s * (middle - taper * z)
        qc = (d * d).sum(axis=1) - (middle - taper * z) ** 2
        root = qb * qb - qa * qc
        for sign in (-1.0, 1.0):
            with np.errstate(all="ignore"):
                t = (-qb + sign * np.sqrt(root)) / qa
                along = z + t * s
                good = (root >= 0) & (np.abs(along) <= c.half) & (middle - taper * along >= 0)
            best = np.where(good & (t < best), t, best)
    if c.kind in (BALL, CAPSULE):
        for side in (-1.0, 1.0):
            q = p - side * c.half * e
            root = q[:, 2] ** 2 - (q * q).sum(axis=1) + c.radius**2
            with np.errstate(all="ignore"):
                t = -q[:, 2] - np.sqrt(root)
            best = np.where((root >= 0) & (t < best), t, best)
    if c.kind in (CYLINDER, CONE) and s != 0.0:
        for side in (-1.0, 1.0) if c.kind == CYLINDER else (-1.0,):
            t = (side * c.half - z) / s
            off = d + t[:, None] * up
            good = ((off * off).sum(axis=1) <= c.radius**2) & (t < best)
            best = np.where(good, t, best)
    return best


class Truth(NamedTuple):
    area: float
    mean_depth: float
    centre: Array


def truth(b: Part, floor: object = None, fine: int = 400) -> Truth:
    """Area, mean depth and centre of pressure of what is below z = 0, within an outline."""
    assert isinstance(b.exact, Curve)
    # the box that holds the patch: found on a coarse grid first
    centre, half = b.exact.box()
    low, high = centre[:2] - half[:2], centre[:2] + half[:2]
    for count in (fine, fine, 2 * fine):
        step = (high - low) / count
        x = low[0] + step[0] * (np.arange(count) + 0.5)
        y = low[1] + step[1] * (np.arange(count) + 0.5)
        xy = np.array(np.meshgrid(x, y, indexing="ij")).reshape(2, -1).T
        depth = np.maximum(0.0, -entry(b.exact, xy))
        if floor is not None:
            depth = np.where(floor(xy), depth, 0.0)  # type: ignore[operator]
        inside = depth > 0.0
        low, high = xy[inside].min(axis=0) - step, xy[inside].max(axis=0) + step
    area = inside.sum() * step[0] * step[1]
    mean = depth.sum() * step[0] * step[1] / area
    return Truth(float(area), float(mean), (depth @ xy) / depth.sum())


LYING, UPRIGHT = about("y", 90.0), np.eye(3)
CONE_LYING = about("y", 90.0 + np.degrees(np.arctan2(0.1, 0.3)))
CASES = {
    "ball": (Sphere(0.1), UPRIGHT, 1e-4),
    "ball, deep": (Sphere(0.1), UPRIGHT, 0.005),
    "cylinder lying": (Cylinder(0.1, 0.3), LYING, 1e-4),
    "cylinder standing": (Cylinder(0.1, 0.3), UPRIGHT, 1e-4),
    "cylinder standing, tilted": (Cylinder(0.1, 0.3), about("y", 0.05), 3e-4),
    "cylinder on its rim": (Cylinder(0.1, 0.3), about("y", 30.0), 1e-3),
    "coin on its rim": (Cylinder(0.1, 0.01), about("y", 60.0), 1e-3),
    "cylinder on its rim, other end": (Cylinder(0.1, 0.3), about("y", 170.0), 1e-3),
    "cone on its base": (Cone(0.1, 0.3), UPRIGHT, 1e-4),
    "cone on its base, tilted": (Cone(0.1, 0.3), about("x", 0.05), 3e-4),
    "capsule lying": (Capsule(0.1, 0.3), LYING, 1e-5),
    "capsule on its tip": (Capsule(0.1, 0.3), UPRIGHT, 1e-4),
    "capsule leaning": (Capsule(0.1, 0.3), about("x", 30.0), 1e-4),
}


@pytest.mark.parametrize("case", CASES)
def test_force_area_and_centre_are_those_of_the_overlap(case: str) -> None:
    shape, turn, depth = CASES[case]
    b = sunk(shape, turn, depth, (0.02, -0.01))
    found, exact = lay_floor(b, depth), truth(b)
    assert found.data[L_AREA] == pytest.approx(exact.area, rel=2e-2)
    # beside a rim the side is a wedge of one width, whose own force is 1/6 less
    slack = {"cylinder on its rim": 6e-2, "coin on its rim": 1 / 6}.get(case, 2e-2)
    assert found.mean_depth == pytest.approx(exact.mean_depth, rel=slack)
    size = sqrt(exact.area)
    np.testing.assert_allclose(found.centre[:2], exact.centre, atol=slack * size)
    # the area laid out is what presses of the true one
    p, w = found.samples()
    share = float(p[:, 2] @ w / found.area / depth)
    pressing = found.mean_depth / depth * found.data[L_AREA]
    assert found.area * share == pytest.approx(found.data[L_RATIO] * pressing)


@pytest.mark.parametrize(
    ("case", "m1"),
    [
        ("ball", 0.5),
        ("cylinder lying", 2 / 3),
        ("cylinder standing", 1.0),
        ("capsule leaning", 0.5),
    ],
)
def test_mean_depth_over_the_greatest(case: str, m1: float) -> None:
    shape, turn, depth = CASES[case]
    assert on_floor(shape, turn, depth).mean_depth / depth == pytest.approx(m1, rel=2e-3)


def test_wedge_of_a_tilted_side_has_one_width() -> None:
    # m1 is then 2/3 of the mean of depth, 1/3, instead of 0.4: what the layout trades for stability
    b = sunk(Cylinder(0.1, 0.3), about("y", 90.0 - 0.01), 1e-5)
    found = lay_floor(b, 1e-5)
    side = [p for p in found.polygons if len(p) == 4]
    widths = [float(np.ptp(p[:, 1])) for p in side]
    assert widths == pytest.approx([widths[0]] * len(widths), rel=1e-12)
    assert found.mean_depth / 1e-5 == pytest.approx(1 / 3, rel=2e-2)


# ---------------------------------------------------------------- friction under spin
def test_spin_of_a_ball() -> None:
    depth = 1e-5
    found = on_floor(Sphere(0.1), UPRIGHT, depth)
    assert found.arm == pytest.approx(8 / 15 * sqrt(2.0 * 0.1 * depth), rel=2e-3)
    # side of a square over a, by its torque: (√2 + asinh 1)/6 of the side
    side = 8 / 15 * 6 / (sqrt(2.0) + asinh(1.0))
    assert found.data[L_RATIO] == pytest.approx(side**2 / (0.5 * pi))


def test_spin_of_a_lying_cylinder() -> None:
    found = on_floor(Cylinder(0.1, 0.3), LYING, 1e-7)
    assert found.arm == pytest.approx(0.3 / 4, rel=2e-3)
    assert found.data[L_RATIO] == 1.0


def test_spin_of_a_disc() -> None:
    found = on_floor(Cylinder(0.1, 0.3), UPRIGHT, 1e-7)
    assert found.arm == pytest.approx(2 / 3 * 0.1, rel=2e-3)
    assert found.area == pytest.approx(pi * 0.01, rel=1e-12)


def test_a_disc_does_not_see_how_it_is_turned() -> None:
    tilt = about("x", 5.0)
    still = on_floor(Cylinder(0.1, 0.3), tilt, 1e-3)
    spun = on_floor(Cylinder(0.1, 0.3), tilt @ about("z", 33.0), 1e-3)
    for p, q in zip(still.world(), spun.world(), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-12)


# ---------------------------------------------------------------- rolling
def test_what_rolls_and_what_tilts() -> None:
    ball = on_floor(Sphere(0.1), UPRIGHT, 1e-5).data
    assert (ball[L_TILT1], ball[L_TILT2], ball[L_RHO_B]) == (0.0, 0.0, 0.1)
    lying = on_floor(Cylinder(0.1, 0.3), LYING, 1e-5).data
    assert (lying[L_TILT1], lying[L_TILT2]) == (0.0, 1.0)
    assert lying[L_RHO_B] == pytest.approx(0.1)
    np.testing.assert_allclose(np.abs(lying[L_T1 : L_T1 + 3]), X, atol=1e-12)
    flat = on_floor(Cylinder(0.1, 0.3), UPRIGHT, 1e-5).data
    assert (flat[L_TILT1], flat[L_TILT2], flat[L_CURVED]) == (1.0, 1.0, 0.0)
    assert ball[L_CURVED] == lying[L_CURVED] == 1.0


def test_share_of_two_balls_is_by_curvature() -> None:
    a, b = part(Sphere(0.1)), part(Sphere(0.3), (0.0, 0.0, 0.4 - 1e-5))
    found = on_part(a, b)
    np.testing.assert_allclose(found.data[L_SHARE : L_SHARE + 4], [0.75, 0.0, 0.0, 0.75], atol=1e-5)
    assert (found.data[L_RHO_A], found.data[L_RHO_B]) == pytest.approx((0.1, 0.3))
    # κ = 1/0.1 + 1/0.3
    assert found.data[L_AREA] == pytest.approx(2.0 * pi * 1e-5 / (10 + 10 / 3), rel=1e-3)
    assert found.mean_depth == pytest.approx(0.5e-5, rel=1e-9)


# ---------------------------------------------------------------- on faces, clipped
GROUND = part(Box((1.0, 1.0, 1.0)), (0.0, 0.0, -0.5))


@pytest.mark.parametrize("case", [c for c in CASES if c != "ball, deep"])
def test_a_floor_and_a_face_give_the_same_patch(case: str) -> None:
    shape, turn, depth = CASES[case]
    b = sunk(shape, turn, depth, (0.02, -0.01))
    floor, face = lay_floor(b, depth), on_part(GROUND, b)
    assert face.data[L_AREA] == pytest.approx(floor.data[L_AREA], rel=1e-6)
    assert face.mean_depth == pytest.approx(floor.mean_depth, rel=1e-6)
    np.testing.assert_allclose(face.centre[:2], floor.centre[:2], atol=1e-8)
    assert face.arm == pytest.approx(floor.arm, rel=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_swapping_the_bodies_mirrors_the_patch(case: str) -> None:
    shape, turn, depth = CASES[case]
    b = sunk(shape, turn, depth, (0.02, -0.01))
    there, back = on_part(GROUND, b), on_part(b, GROUND)
    np.testing.assert_allclose(back.normal, -there.normal, atol=1e-9)
    assert back.data[L_AREA] == pytest.approx(there.data[L_AREA], rel=1e-9)
    assert back.mean_depth == pytest.approx(there.mean_depth, rel=1e-9)
    # the sums over samples are good to a part in a thousand
    size = sqrt(there.data[L_AREA])
    np.testing.assert_allclose(back.centre, there.centre, atol=1e-3 * size)
    assert back.arm == pytest.approx(there.arm, rel=1e-3)
    assert (back.data[L_RHO_A], back.data[L_RHO_B]) == pytest.approx(
        (there.data[L_RHO_B], there.data[L_RHO_A])
    )


def test_end_clipped_by_a_face() -> None:
    b = sunk(Cylinder(0.1, 0.3), UPRIGHT, 1e-4, (0.45, 0.0))
    found = on_part(GROUND, b)
    exact = truth(b, lambda xy: np.abs(xy).max(axis=1) <= 0.5)
    assert found.data[L_AREA] == pytest.approx(exact.area, rel=1e-2)
    assert found.mean_depth == pytest.approx(1e-4, rel=1e-9)
    np.testing.assert_allclose(found.centre[:2], exact.centre, atol=1e-3)


def test_side_clipped_by_a_face() -> None:
    b = sunk(Cylinder(0.1, 0.3), LYING, 1e-6, (0.45, 0.1))
    found = on_part(GROUND, b)
    width = 2.0 * sqrt(2.0 * 0.1 * 1e-6)
    assert found.data[L_AREA] == pytest.approx(0.2 * width, rel=1e-3)
    np.testing.assert_allclose(found.centre[:2], (0.4, 0.1), atol=1e-9)
    assert found.arm == pytest.approx(0.2 / 4, rel=2e-3)


@pytest.mark.parametrize("offset", [0.0, 0.05, 0.12])
def test_end_clipped_by_another_end(offset: float) -> None:
    low = part(Cylinder(0.1, 0.3), (0.0, 0.0, -0.15))
    high = part(Cylinder(0.1, 0.3), (offset, 0.0, 0.15 - 1e-5))
    found = on_part(low, high)
    half = 0.5 * offset
    lens = 2.0 * (0.01 * np.arccos(half / 0.1) - half * sqrt(0.01 - half * half))
    # two polygons of 16 sides for two circles
    assert found.data[L_AREA] == pytest.approx(lens, rel=2e-2)
    assert found.mean_depth == pytest.approx(1e-5, rel=1e-9)
    np.testing.assert_allclose(found.centre[:2], (half, 0.0), atol=2e-3)


def test_parallel_and_crossed_sides() -> None:
    depth = 1e-6
    a = part(Cylinder(0.1, 0.3), (0.0, 0.0, 0.0), LYING)
    b = part(Cylinder(0.05, 0.2), (0.1, 0.0, 0.15 - depth), LYING)
    found = on_part(a, b)
    width = 2.0 * sqrt(2.0 * depth / (1 / 0.1 + 1 / 0.05))
    assert found.data[L_AREA] == pytest.approx(0.15 * width, rel=1e-3)  # x from 0 to 0.15
    assert found.mean_depth == pytest.approx(2 / 3 * depth, rel=1e-6)
    np.testing.assert_allclose(found.centre[:2], (0.075, 0.0), atol=1e-9)
    crossed = part(Cylinder(0.05, 0.2), (0.0, 0.0, 0.15 - depth), about("x", 90.0))
    found = on_part(a, crossed)
    axes = sqrt(2.0 * depth * 0.1) * sqrt(2.0 * depth * 0.05)
    assert found.data[L_AREA] == pytest.approx(pi * axes, rel=1e-3)
    assert found.mean_depth == pytest.approx(0.5 * depth, rel=1e-3)
    # the long axis of the ellipse is across the more curved one, which lies along y
    long = np.concatenate(found.world())
    assert np.ptp(long[:, 1]) / np.ptp(long[:, 0]) == pytest.approx(sqrt(2.0), rel=1e-3)


def test_capsule_between_strip_and_dome() -> None:
    # where the immersed part is as short as the disc is wide, the disc takes over: a wedge of one
    # width presses less than a dome, by 1/6 at most
    depth = 1e-5
    values = [
        on_floor(Capsule(0.1, 0.3), about("y", 90.0 - tilt), depth)
        for tilt in np.linspace(0.05, 3.0, 60)
    ]
    mean = np.array([v.mean_depth for v in values]) / depth
    area = np.array([v.data[L_AREA] for v in values])
    assert mean.min() > 1 / 3
    assert mean[-1] == pytest.approx(0.5, rel=1e-3)
    assert area[-1] == pytest.approx(2.0 * pi * 0.1 * depth, rel=1e-3)
    assert np.all(np.diff(mean) > -1e-9)
    assert np.diff(mean).max() < 0.5 / 6
    switch = int(np.argmax(np.diff(mean)))
    assert area[switch] == pytest.approx(area[-1], rel=0.15)


def test_cone_on_its_side() -> None:
    depth = 1e-6
    b = sunk(Cone(0.1, 0.3), CONE_LYING, depth)
    found = lay_floor(b, depth)
    # half-width √(2ρδ), ρ = r/cos β from 0 to R/cos β along the side
    cosine = 0.3 / hypot(0.1, 0.3)
    area = 2.0 * 2 / 3 * hypot(0.1, 0.3) * sqrt(2.0 * depth * 0.1 / cosine)
    assert found.data[L_AREA] == pytest.approx(area, rel=3e-2)
    assert found.mean_depth == pytest.approx(2 / 3 * depth, rel=1e-3)
    # 3/5 of the side from the apex; four trapezoids stand for the root
    apex = b.row[6] + b.row[2] * b.row[3]
    assert found.centre[0] == pytest.approx(apex - 0.6 * hypot(0.1, 0.3), abs=0.02 * 0.3)
    assert found.centre[1] == pytest.approx(0.0, abs=1e-12)


def test_cone_on_its_apex_has_a_patch() -> None:
    found = on_floor(Cone(0.1, 0.3), about("x", 180.0), 1e-6)
    assert 0.0 < found.data[L_AREA] < pi * 0.01**2
    np.testing.assert_allclose(found.centre[:2], (0.0, 0.0), atol=1e-12)


@pytest.mark.parametrize("lean", [0.0, 1e-12, 1e-9, 1e-7, 1e-5])
def test_depth_of_a_standing_cylinder_follows_a_tiny_tilt(lean: float) -> None:
    # at rest a body sinks by 1e-7 of its size: a tilt is seen, and none is made up by rounding
    depth = 1e-8
    for turn in (about("x", np.degrees(lean)), about("y", np.degrees(lean))):
        axis = turn[:, 2]
        b = part(
            Cylinder(0.1, 0.3), (0.0, 0.0, 0.15 * axis[2] + 0.1 * hypot(*axis[:2]) - depth), turn
        )
        found = lay_floor(b, depth)
        (ring,) = [p for p in found.polygons if len(p) > 8] if lean < 1e-6 else [found.polygons[-1]]
        world = found.point + ring[:, :1] * found.data[L_T1 : L_T1 + 3]
        world = world + ring[:, 1:2] * found.data[L_T2 : L_T2 + 3]
        down = axis[:2] @ world[:, :2].T / axis[2]  # the end's plane: z = −(e_x x + e_y y)/e_z
        centre = -(b.row[8] - 0.15 * axis[2])
        expected = centre + down - axis[:2] @ (-0.15 * axis[:2]) / axis[2]
        np.testing.assert_allclose(ring[:, 2], np.maximum(expected, 0.0), atol=3e-11 + 1e-3 * depth)
