"""Closest points of elements: against samples and scipy, by tangency, at rims, along lines."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import atan2, cos, inf, nan, pi, sin, sqrt
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from tangere._jit import JIT_DISABLED, kernel
from tangere._ptr import ptr
from tangere.collision.boundary_distance import Closest, closest, contact_line, facing
from tangere.collision.boundary_elements import HIGH, INSIDE, LOW, element
from tangere.geometry.boundary import (
    CIRCLE,
    CONE,
    CYLINDER,
    PARABOLOID,
    PLANE,
    POINT,
    SEGMENT,
    SPHERE,
    TORUS,
)

Array = NDArray[np.float64]

NAMES = ("point", "segment", "circle", "plane", "sphere", "cylinder", "cone", "torus", "paraboloid")


class Part(NamedTuple):
    """An element and where it is."""

    kind: int
    size: tuple[float, float, float, float]
    side: int = 1
    turn: Array = np.eye(3)
    position: Array = np.zeros(3)


@kernel
def _closest(
    kinds: Array, frame: Array, sizes: Array, turns: Array, places: Array, out: Array
) -> None:
    f = ptr(frame)
    a = element(int(kinds[0]), int(kinds[1]), f, ptr(sizes[0]), ptr(turns[0]), ptr(places[0]))
    b = element(int(kinds[2]), int(kinds[3]), f, ptr(sizes[1]), ptr(turns[1]), ptr(places[1]))
    c = closest(a, b, kinds[4])
    first, last = contact_line(a, b, c)
    for k, each in enumerate((c, first, last)):
        out[k, 0], out[k, 10], out[k, 11], out[k, 12] = (
            each.gap,
            each.limit_a,
            each.limit_b,
            each.place,
        )
        out[k, 1], out[k, 2], out[k, 3] = each.point_a
        out[k, 4], out[k, 5], out[k, 6] = each.point_b
        out[k, 7], out[k, 8], out[k, 9] = each.normal


class Found(NamedTuple):
    gap: float
    a: Array
    b: Array
    normal: Array
    limit_a: int
    limit_b: int
    place: float


def all_found(a: Part, b: Part, place: float = nan) -> list[Found]:
    out = np.zeros((3, 13))
    _closest(
        np.array([a.kind, a.side, b.kind, b.side, place]),
        np.eye(3, 4),
        np.array([a.size, b.size]),
        np.array([a.turn, b.turn]),
        np.array([a.position, b.position]),
        out,
    )
    return [
        Found(float(o[0]), o[1:4], o[4:7], o[7:10], int(o[10]), int(o[11]), float(o[12]))
        for o in out
    ]


def found(a: Part, b: Part, place: float = nan) -> Found:
    return all_found(a, b, place)[0]


# ---------------------------------------------------------------- elements by their parameters


def bounds(p: Part) -> list[tuple[float, float]]:
    """Ranges of the parameters that all points of an element are reached by."""
    s, full = p.size, (-pi, pi)
    return {
        POINT: [],
        SEGMENT: [(-s[0], s[0])],
        CIRCLE: [full],
        PLANE: [full, (s[1], s[0])],
        SPHERE: [full, (max(-s[0], s[1]), min(s[0], s[2]))],
        CYLINDER: [full, (-s[1], s[1])],
        CONE: [full, (s[1], s[2])],
        TORUS: [full, (s[2], s[3]) if s[2] != s[3] else full],
        PARABOLOID: [full, (s[1], s[2])],
    }[p.kind]


def places(p: Part, u: Array) -> Array:
    """Points of an element, parameters in columns."""
    s = p.size
    if p.kind == POINT:
        local = np.zeros((len(u), 3))
    elif p.kind == SEGMENT:
        local = u[:, :1] * np.array([0.0, 0.0, 1.0])
    else:
        v = u[:, 1] if u.shape[1] > 1 else np.zeros(len(u))
        profile: dict[int, Callable[[], tuple[Array, Array]]] = {
            CIRCLE: lambda: (s[0] + v, v),
            PLANE: lambda: (v, 0.0 * v),
            SPHERE: lambda: (np.sqrt(np.maximum(0.0, s[0] ** 2 - v**2)), v),
            CYLINDER: lambda: (s[0] + 0.0 * v, v),
            CONE: lambda: (s[0] * v, v),
            TORUS: lambda: (s[0] + s[1] * np.cos(v), s[1] * np.sin(v)),
            PARABOLOID: lambda: (v, v**2 / (4.0 * s[0])),
        }
        r, z = profile[p.kind]()
        local = np.column_stack((r * np.cos(u[:, 0]), r * np.sin(u[:, 0]), z))
    return np.asarray(local @ p.turn.T + p.position)


def grid(p: Part, count: int) -> Array:
    axes = [np.linspace(low, high, count) for low, high in bounds(p)]
    return np.array(list(product(*axes))) if axes else np.zeros((1, 0))


def shortest(a: Part, b: Part) -> float:
    """A distance of points that is nearly the least: the best pair of a grid, improved by scipy."""
    u, v = grid(a, 30), grid(b, 30)
    distance, index = cKDTree(places(b, v)).query(places(a, u))
    both = bounds(a) + bounds(b)
    k, n = int(np.argmin(distance)), u.shape[1]
    if not both:
        return float(distance[k])

    def square(w: Array) -> float:
        return float(np.sum((places(a, w[None, :n]) - places(b, w[None, n:])) ** 2))

    start = np.concatenate((u[k], v[index[k]]))
    return sqrt(minimize(square, start, bounds=both, method="L-BFGS-B").fun)


def normal_there(p: Part, x: Array) -> Array:
    """Outward normal of a face at one of its points."""
    q = p.turn.T @ (x - p.position)
    r = np.hypot(q[0], q[1])
    e = np.array([q[0] / r, q[1] / r]) if r > 0.0 else np.array([1.0, 0.0])
    slopes: dict[int, Callable[[], tuple[float, float]]] = {
        PLANE: lambda: (0.0, 1.0),
        SPHERE: lambda: (r, q[2]),
        CYLINDER: lambda: (1.0, 0.0),
        CONE: lambda: (1.0, -p.size[0]),
        TORUS: lambda: (r - p.size[0], q[2]),
        PARABOLOID: lambda: (r / (2.0 * p.size[0]), -1.0),
    }
    out, up = slopes[p.kind]()
    n = np.array([out * e[0], out * e[1], up])
    return np.asarray(p.side * (p.turn @ n) / np.linalg.norm(n))


def off_surface(p: Part, x: Array) -> float:
    """How far a point is off an element that is not limited."""
    q = p.turn.T @ (x - p.position)
    r, s = np.hypot(q[0], q[1]), p.size
    off: dict[int, Callable[[], float]] = {
        POINT: lambda: float(np.linalg.norm(q)),
        SEGMENT: lambda: r,
        CIRCLE: lambda: np.hypot(r - s[0], q[2]),
        PLANE: lambda: q[2],
        SPHERE: lambda: float(np.linalg.norm(q)) - s[0],
        CYLINDER: lambda: r - s[0],
        CONE: lambda: (r - s[0] * q[2]) / sqrt(1.0 + s[0] ** 2),
        TORUS: lambda: np.hypot(r - s[0], q[2]) - s[1],
        PARABOLOID: lambda: (q[2] - r * r / (4.0 * s[0])) / sqrt(1.0 + (r / s[0] / 2.0) ** 2),
    }
    return float(off[p.kind]())


def random_part(rng: np.random.Generator, kind: int, side: int = 1) -> Part:
    """An element about 1 m in size somewhere within a metre or two."""
    r, h = rng.uniform(0.2, 0.6), rng.uniform(0.2, 0.6)
    zone = sorted(rng.uniform(-r, r, 2)) if rng.random() < 0.5 else [-r, r]
    low = rng.uniform(0.0, 0.4) * (rng.random() < 0.5)
    tube = sorted(rng.uniform(-pi, pi, 2)) if rng.random() < 0.5 else [0.0, 0.0]
    size = {
        POINT: (0.0, 0.0, 0.0, 0.0),
        SEGMENT: (h, 0.0, 0.0, 0.0),
        CIRCLE: (r, 0.0, 0.0, 0.0),
        PLANE: (r, low * r, 1.0, 0.0),
        SPHERE: (r, zone[0], zone[1], 0.0),
        CYLINDER: (r, h, 0.0, 0.0),
        CONE: (rng.uniform(0.2, 2.0), low, low + h, 0.0),
        TORUS: (r, rng.uniform(0.1, 0.9) * r, tube[0], tube[1]),
        PARABOLOID: (rng.uniform(0.1, 0.5), low, low + h, 0.0),
    }[kind]
    turn = np.asarray(Rotation.random(rng=rng).as_matrix())
    return Part(kind, tuple(map(float, size)), side, turn, rng.uniform(-1.2, 1.2, 3))  # type: ignore[arg-type]


def reaches(p: Part, x: Array) -> bool:
    """Whether a point of the surface is within the limits of a patch."""
    q, s = p.turn.T @ (x - p.position), p.size
    if p.kind in (POINT, CIRCLE):
        return True
    r = np.hypot(q[0], q[1])
    if p.kind == TORUS:
        if s[2] == s[3]:
            return True
        angle = atan2(q[2], r - s[0])
        return min(abs(angle - s[2]), abs(angle - s[3])) < 1e-11 or s[2] <= angle <= s[3]
    low, high = bounds(p)[-1]
    at = float(r if p.kind in (PLANE, PARABOLOID) else q[2])
    return low - 1e-11 <= at <= high + 1e-11


def check(a: Part, b: Part, c: Found) -> None:
    """What holds of every pair of closest points: the gap is that of points of both elements."""
    assert abs(np.linalg.norm(c.normal) - 1.0) < 1e-14
    np.testing.assert_allclose(c.a - c.b, c.gap * c.normal, rtol=0.0, atol=4e-15)
    for p, x, limit, sign in ((a, c.a, c.limit_a, -1.0), (b, c.b, c.limit_b, 1.0)):
        assert abs(off_surface(p, x)) < 1e-13
        assert reaches(p, x)
        if p.kind >= PLANE and limit == INSIDE:
            np.testing.assert_allclose(normal_there(p, x), sign * c.normal, rtol=0.0, atol=1e-11)


def same(c: Found, d: Found, tolerance: float) -> None:
    np.testing.assert_allclose(d.gap, c.gap, rtol=0.0, atol=tolerance)
    np.testing.assert_allclose(d.a, c.a, rtol=0.0, atol=1e3 * tolerance)
    np.testing.assert_allclose(d.b, c.b, rtol=0.0, atol=1e3 * tolerance)
    np.testing.assert_allclose(d.normal, c.normal, rtol=0.0, atol=1e3 * tolerance)


PAIRS = [(i, j) for i in range(9) for j in range(i, 9) if (i, j) != (PLANE, PLANE)]
EVERY_PAIR = pytest.mark.parametrize(
    ("i", "j"), PAIRS, ids=[f"{NAMES[i]}-{NAMES[j]}" for i, j in PAIRS]
)
FEW = 2 if JIT_DISABLED else 4


@EVERY_PAIR
@pytest.mark.nojit
def test_closest_points_of_elements_apart(i: int, j: int) -> None:
    """The gap is a distance of points of both, and no greater than the least that scipy finds."""
    rng = np.random.default_rng([i, j])
    for _ in range(FEW):
        a, b = random_part(rng, i), random_part(rng, j)
        c = found(a, b)
        if c.gap > 0.0:
            check(a, b, c)
            assert c.gap < shortest(a, b) + 1e-12


@EVERY_PAIR
@pytest.mark.nojit
def test_closest_points_have_no_order_no_frame_and_follow_on(i: int, j: int) -> None:
    """Swapped, turned with the world, and sought from the last place they are the same."""
    rng = np.random.default_rng([1, i, j])
    for _ in range(FEW):
        a, b = random_part(rng, i), random_part(rng, j)
        c = found(a, b)
        if not c.gap > 0.0:
            continue
        swapped = found(b, a)
        same(c, Found(swapped.gap, swapped.b, swapped.a, -swapped.normal, *swapped[4:]), 1e-12)
        world, by = np.asarray(Rotation.random(rng=rng).as_matrix()), rng.normal(size=3)
        c_a, c_b = (
            p._replace(turn=world @ p.turn, position=world @ p.position + by) for p in (a, b)
        )
        d = found(c_a, c_b)
        back = Found(d.gap, world.T @ (d.a - by), world.T @ (d.b - by), world.T @ d.normal, *d[4:])
        same(c, back, 1e-12)
        if c.limit_a == INSIDE and c.limit_b == INSIDE:
            near = a._replace(position=a.position + 1e-4 * rng.normal(size=3))
            same(found(near, b), found(near, b, c.place), 1e-12)


# a disc and a straight side have a common tangent plane by chance alone
FACES = [(i, j) for i in range(9) for j in range(SPHERE, 9) if (i, j) not in
         ((PLANE, CYLINDER), (PLANE, CONE))]  # fmt: skip


@pytest.mark.parametrize(("i", "j"), FACES, ids=[f"{NAMES[i]}-{NAMES[j]}" for i, j in FACES])
@pytest.mark.nojit
def test_gap_falls_one_to_one_below_zero(i: int, j: int) -> None:
    """Moved along the normal until they overlap, faces keep the normal and have minus the depth."""
    rng = np.random.default_rng([2, i, j])
    tried = 0
    for _ in range(400):
        a, b = random_part(rng, i), random_part(rng, j)
        if i == PLANE:
            a = a._replace(size=(0.0, 0.0, 0.0, 0.0))
        c = found(a, b)
        if not c.gap > 0.0 or c.limit_a != INSIDE or c.limit_b != INSIDE:
            continue
        depth = 0.01
        d = found(a._replace(position=a.position - (c.gap + depth) * c.normal), b, c.place)
        assert d.gap == pytest.approx(-depth, abs=1e-13)
        np.testing.assert_allclose(d.normal, c.normal, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(d.b, c.b, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(d.a, c.a - (c.gap + depth) * c.normal, rtol=0.0, atol=1e-11)
        tried += 1
        if tried == FEW:
            break
    assert tried > 0


HOLLOW = [(i, j) for i in (POINT, SEGMENT, CIRCLE, SPHERE, CYLINDER, CONE, TORUS, PARABOLOID)
          for j in range(SPHERE, 9)]  # fmt: skip


@pytest.mark.parametrize(("i", "j"), HOLLOW, ids=[f"{NAMES[i]}-{NAMES[j]}" for i, j in HOLLOW])
@pytest.mark.nojit
def test_closest_points_within_hollows(i: int, j: int) -> None:
    """Of what lies within a bore or bowl, and is therefore apart from its wall."""
    rng = np.random.default_rng([3, i, j])
    for _ in range(2 * FEW):
        a = random_part(rng, i)
        b = random_part(rng, j, side=-1)
        small = np.array(a.size)
        if i == CONE:
            small[1:] *= 0.2
        elif i == TORUS:
            small[:2] *= 0.2
        else:
            small *= 0.2
        q = rng.uniform(-0.2, 0.2, 3)
        q[2] += 0.3 if j in (CONE, PARABOLOID) else 0.0
        if j == TORUS:
            q[0] += b.size[0]
        a = a._replace(size=tuple(small), position=b.turn @ q + b.position)
        c = found(a, b)
        if c.gap > 0.0:
            check(a, b, c)
            # a partial torus is a field with creases: of two minima in one interval one is found
            assert c.gap < shortest(a, b) + (1e-12 if j != TORUS else 1e-3)


# ---------------------------------------------------------------- closed forms and limits


def lying(axis: str, angle: float) -> Array:
    return np.asarray(Rotation.from_euler(axis, angle, degrees=True).as_matrix())


BALL, ROD = (0.5, -0.5, 0.5, 0.0), (0.2, 1.0, 0.0, 0.0)


@pytest.mark.nojit
def test_parallel_rods_touch_along_a_line() -> None:
    """In the middle of what they share; its ends are those of the overlap."""
    a = Part(CYLINDER, ROD, position=np.array([0.0, 0.5, 1.2]))
    b = Part(CYLINDER, ROD)
    c, low, high = all_found(a, b)
    assert c.gap == pytest.approx(0.1, abs=1e-15)
    assert (c.limit_a, c.limit_b) == (INSIDE, INSIDE)
    np.testing.assert_allclose(c.normal, (0.0, 1.0, 0.0), atol=1e-15)
    assert 0.2 <= c.b[2] <= 1.0
    np.testing.assert_allclose([low.b, high.b], [(0.0, 0.2, 0.2), (0.0, 0.2, 1.0)], atol=1e-15)
    assert low.gap == pytest.approx(0.1, abs=1e-15)
    assert high.gap == pytest.approx(0.1, abs=1e-15)


@pytest.mark.nojit
def test_rod_on_a_plane_has_a_line_with_a_gap_at_each_end() -> None:
    floor = Part(PLANE, (0.0, 0.0, 0.0, 0.0))
    for tilt in (0.0, 1.0, -3.0):
        a = Part(CYLINDER, ROD, turn=lying("y", 90.0 + tilt), position=np.array([0.0, 0.0, 0.5]))
        for first, second, sign in ((a, floor, 1.0), (floor, a, -1.0)):
            c, low, high = all_found(first, second)
            drop = sin(np.deg2rad(abs(tilt)))
            assert c.gap == pytest.approx(0.5 - 0.2 * cos(np.deg2rad(tilt)) - drop, abs=1e-15)
            np.testing.assert_allclose(c.normal, (0.0, 0.0, sign), atol=1e-15)
            ends = sorted((low.gap, high.gap))
            np.testing.assert_allclose(ends, (0.3 - drop, 0.3 + drop), atol=1e-15)
    # upright it stands on its end: that is the circle's contact, not the side's
    c = found(Part(CYLINDER, ROD, position=np.array([0.0, 0.0, 1.5])), floor)
    assert c.limit_a == LOW
    assert c.gap == pytest.approx(0.5, abs=1e-15)


@pytest.mark.nojit
def test_cone_lies_on_a_plane_along_a_generator() -> None:
    """From the smaller to the larger circle; tipped up it touches at one of the two."""
    floor, slope = Part(PLANE, (0.0, 0.0, 0.0, 0.0)), 0.75
    half = np.rad2deg(atan2(slope, 1.0))
    for tip, limit in ((0.0, INSIDE), (2.0, HIGH), (-2.0, LOW)):
        a = Part(CONE, (slope, 0.4, 1.2, 0.0), turn=lying("y", 90.0 - half + tip))
        a = a._replace(position=np.array([0.0, 0.0, 0.1]))
        c, low, high = all_found(a, floor)
        assert c.limit_a == limit
        if limit == INSIDE:
            assert c.gap == pytest.approx(0.1, abs=1e-15)
            np.testing.assert_allclose(low.b, (0.4 / 0.8, 0.0, 0.0), atol=1e-14)
            np.testing.assert_allclose(high.b, (1.2 / 0.8, 0.0, 0.0), atol=1e-14)
        gaps = [0.1 - side * sin(np.deg2rad(tip)) / 0.8 for side in (0.4, 1.2)]
        np.testing.assert_allclose([low.gap, high.gap], gaps, atol=2e-3)
        assert c.gap == pytest.approx(min(gaps), abs=1e-15)


@pytest.mark.nojit
def test_edge_beside_a_rod_touches_as_far_as_both_reach() -> None:
    rod = Part(CYLINDER, ROD)
    edge = Part(SEGMENT, (0.7, 0.0, 0.0, 0.0), position=np.array([0.0, 0.5, 0.9]))
    for first, second, sign in ((edge, rod, 1.0), (rod, edge, -1.0)):
        c, low, high = all_found(first, second)
        assert c.gap == pytest.approx(0.3, abs=1e-15)
        np.testing.assert_allclose(c.normal, (0.0, sign, 0.0), atol=1e-15)
        on_rod = [low.b, high.b] if sign > 0.0 else [low.a, high.a]
        np.testing.assert_allclose(on_rod, [(0.0, 0.2, 0.2), (0.0, 0.2, 1.0)], atol=1e-14)
    # nothing straight, nothing along which to lie
    c, low, high = all_found(Part(SPHERE, BALL), rod)
    assert low.gap == high.gap == c.gap


@pytest.mark.nojit
def test_a_place_of_balance_is_not_kept_when_it_tips() -> None:
    """A circle in the middle over a rod across it: lowest on its sides, then on its bottom."""
    rod = Part(CYLINDER, (0.1, 2.0, 0.0, 0.0), turn=lying("y", 90.0))
    ring = Part(CIRCLE, (0.5, 0.0, 0.0, 0.0), turn=lying("x", 90.0))
    above = ring._replace(position=np.array([0.0, 0.0, 0.7]))
    c = found(above, rod)
    assert c.gap == pytest.approx(0.1, abs=1e-15)
    # the same place is the farthest of the ring once it is below the rod
    below = ring._replace(position=np.array([0.0, 0.0, -0.7]))
    assert found(below, rod, c.place).gap == pytest.approx(0.1, abs=1e-15)


@EVERY_PAIR
@pytest.mark.nojit
def test_sizes_of_a_millimetre_and_of_a_kilometre(i: int, j: int) -> None:
    """Everything scales; to 1e-12 of the size."""
    rng = np.random.default_rng([5, i, j])
    lengths = np.array([[1, 1, 1, 1]] * 9, float)
    lengths[CONE, 0] = lengths[TORUS, 2:] = lengths[PLANE, 2] = 0.0
    for scale in (1e-3, 1e3):
        a, b = random_part(rng, i), random_part(rng, j)
        c = found(a, b)
        small = [
            p._replace(
                size=tuple(np.array(p.size) * scale ** lengths[p.kind]), position=scale * p.position
            )
            for p in (a, b)
        ]
        d = found(small[0], small[1])
        same(c, Found(d.gap / scale, d.a / scale, d.b / scale, d.normal, *d[4:]), 1e-12)


@pytest.mark.nojit
def test_rod_in_a_bore_touches_along_a_line_or_with_its_rim() -> None:
    bore = Part(CYLINDER, (0.3, 1.0, 0.0, 0.0), side=-1)
    rod = Part(CYLINDER, (0.2, 0.5, 0.0, 0.0), position=np.array([0.06, 0.0, 0.2]))
    c, low, high = all_found(rod, bore)
    assert c.gap == pytest.approx(0.04, abs=1e-15)
    np.testing.assert_allclose(c.normal, (-1.0, 0.0, 0.0), atol=1e-15)
    np.testing.assert_allclose([low.b, high.b], [(0.3, 0, -0.3), (0.3, 0, 0.7)], atol=1e-15)
    tilted = rod._replace(turn=lying("y", 5.0))
    assert found(tilted, bore).limit_a == HIGH
    rim = Part(CIRCLE, (0.2, 0.0, 0.0, 0.0), turn=tilted.turn,
               position=tilted.position + tilted.turn @ (0.0, 0.0, 0.5))  # fmt: skip
    c = found(rim, bore)
    assert c.gap == pytest.approx(found(tilted, bore).gap, abs=1e-15)
    assert c.gap == pytest.approx(
        0.3 - (0.06 + 0.5 * sin(np.deg2rad(5.0)) + 0.2 * cos(np.deg2rad(5.0))), abs=1e-15
    )


@pytest.mark.nojit
def test_ball_in_a_bowl_finds_the_foot_on_its_meridian() -> None:
    """The gap of a ball laid against a paraboloid at any radius is the one it was laid with."""
    f = 0.025
    bowl = Part(PARABOLOID, (f, 0.0, 0.04, 0.0), side=-1)
    for r in np.linspace(0.0, 0.039, 14):
        slope = r / (2.0 * f)
        inward = np.array([-slope, 0.0, 1.0]) / sqrt(1.0 + slope**2)
        at = np.array([r, 0.0, r * r / (4.0 * f)])
        for gap in (5e-4, 0.0, -5e-4):
            ball = Part(SPHERE, (1e-3, -1e-3, 1e-3, 0.0), position=at + (1e-3 + gap) * inward)
            c = found(ball, bowl)
            assert c.gap == pytest.approx(gap, abs=1e-16)
            np.testing.assert_allclose(c.normal, inward, atol=1e-13)
            np.testing.assert_allclose(c.b, at, atol=1e-15)
    beyond = Part(SPHERE, (1e-3, -1e-3, 1e-3, 0.0), position=np.array([0.05, 0.0, 0.02]))
    c = found(beyond, bowl)
    assert c.limit_b == HIGH
    np.testing.assert_allclose(c.b, (0.04, 0.0, 0.016), atol=1e-15)


@pytest.mark.nojit
@pytest.mark.parametrize("j", range(SPHERE, 9), ids=NAMES[SPHERE:])
def test_concentric_elements_have_some_normal(j: int) -> None:
    """On an axis, in a centre and at an apex: finite, and the gap is right."""
    rng = np.random.default_rng(4)
    b = random_part(rng, j)._replace(turn=np.eye(3), position=np.zeros(3))
    for i in range(9):
        for z in (0.0, 0.1, 3.0):
            if i == PLANE:
                continue
            for turn in (np.eye(3), lying("x", 90.0), lying("x", 30.0)):
                a = random_part(rng, i)._replace(turn=turn, position=np.array([0.0, 0.0, z]))
                c = found(a, b)
                assert abs(np.linalg.norm(c.normal) - 1.0) < 1e-14
                np.testing.assert_allclose(c.a - c.b, c.gap * c.normal, atol=1e-14)
                if z == 3.0:  # nearer they cut each other
                    assert c.gap < shortest(a, b) + 1e-12


@pytest.mark.nojit
def test_two_planes_and_two_hollows() -> None:
    top = Part(PLANE, (0.0, 0.0, 0.0, 0.0))
    under = Part(
        PLANE, (0.0, 0.0, 0.0, 0.0), turn=lying("x", 180.0), position=np.array([0, 0, 0.3])
    )
    c = found(under, top)
    assert c.gap == pytest.approx(0.3)
    np.testing.assert_allclose(c.normal, (0.0, 0.0, 1.0))
    assert found(top, top).gap == inf
    bowl = Part(SPHERE, BALL, side=-1)
    assert found(bowl, bowl).gap == inf
    assert found(bowl, top).gap == inf


@kernel
def _turned(normal: Array, outward: Array, out: Array) -> None:
    n = (normal[0], normal[1], normal[2])
    zero = (0.0, 0.0, 0.0)
    c = facing(Closest(0.1, zero, zero, n, -1, -1, 0.0), (outward[0], outward[1], outward[2]))
    out[0] = c.gap
    out[1], out[2], out[3] = c.normal


@pytest.mark.nojit
def test_edges_that_crossed_have_a_negative_gap() -> None:
    out = np.zeros(4)
    _turned(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.6, 0.8]), out)
    np.testing.assert_array_equal(out, (0.1, 0.0, 0.0, 1.0))
    _turned(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.6, -0.8]), out)
    np.testing.assert_array_equal(out, (-0.1, 0.0, 0.0, -1.0))
