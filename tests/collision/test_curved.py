"""Contact of curved solids: oracles for all pairs of kinds, properties, one case per region."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import hypot, sqrt

import numpy as np
import pytest
from collision.solids import (
    KINDS,
    Met,
    Part,
    about,
    meet,
    part,
    random_shape,
    random_turn,
    size_of,
)
from numpy.typing import ArrayLike, NDArray
from oracles.support import fibonacci, least_overlap, overlap
from oracles.support import support as slow_support

from tangere._jit import kernel
from tangere.collision.curved import (
    FACETS,
    lies_on,
)
from tangere.collision.distance import solid
from tangere.collision.solids import (
    face_of,
    generator,
    nearest_point,
    support,
    top,
    within,
)
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Box, Capsule, Cone, Cylinder, Shape, Sphere
from tangere.model import PHASE_APART, PHASE_TOUCH

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

X, Y, Z = np.eye(3)
PAIRS = [pair for pair in combinations_with_replacement(KINDS, 2) if pair != ("hull", "hull")]
# Gap of a placement over the size: from, to (decades for the small ones).
PLACEMENTS = {"apart": (0.1, 1.0), "near": (1e-8, 1e-2), "shallow": (-1e-7, -3e-3)}
# Closest points of GJK on support functions end at 1e-14 of the points' own size.
EXACT = 1e-12
CUBE = Box((1.0, 1.0, 1.0))


def random_pair(
    rng: np.random.Generator, pair: tuple[str, str], how: str
) -> tuple[Part, Part, float]:
    """Two parts with the least overlap of a placement, and their size."""
    one, two = random_shape(rng, pair[0]), random_shape(rng, pair[1])
    size = min(size_of(one), size_of(two))
    low, high = PLACEMENTS[how]
    if how == "apart":
        gap = size * rng.uniform(low, high)
    else:
        gap = size * np.sign(low) * np.exp(rng.uniform(np.log(abs(low)), np.log(abs(high))))
    a, turn, d = part(one, (0, 0, 0), random_turn(rng)), random_turn(rng), rng.normal(size=3)
    d /= np.linalg.norm(d)
    at = d * float(overlap(a.exact, part(two, (0, 0, 0), turn).exact, d[None])[0])
    least = least_overlap(a.exact, part(two, at, turn).exact, starts=1)
    return a, part(two, at + least.normal * (least.overlap + gap), turn), size


def along(a: Part, b: Part, n: Array) -> float:
    return float(overlap(a.exact, b.exact, n[None])[0])


# ---------------------------------------------------------------- all pairs of kinds
@pytest.mark.parametrize("how", PLACEMENTS)
@pytest.mark.parametrize("pair", PAIRS)
def test_normal_is_that_of_the_least_overlap(pair: tuple[str, str], how: str) -> None:
    rng = np.random.default_rng(list(PLACEMENTS).index(how))
    for _ in range(3):
        a, b, size = random_pair(rng, pair, how)
        found = meet(a, b, size, margin=10.0)
        assert found.near
        assert np.linalg.norm(found.normal) == pytest.approx(1.0, abs=1e-13)
        assert found.depth == pytest.approx(along(a, b, found.normal), abs=EXACT * size)
        # no direction overlaps less: anywhere if apart, near the normal if not
        least = least_overlap(a.exact, b.exact, starts=1)
        nearby = least_overlap(a.exact, b.exact, near=found.normal)
        # overlapping, the normal is settled by moves to 1e-5 rad, the depth to its square
        slack = EXACT * size if how == "apart" else 1e-9 * size
        assert found.depth <= nearby.overlap + slack
        assert found.depth <= least.overlap + slack
        # the point is midway between the two surfaces
        half = 0.5 * found.depth
        high, low = (
            float(slow_support(a.exact, found.normal[None])[0]),
            -float(slow_support(b.exact, -found.normal[None])[0]),
        )
        assert found.normal @ found.point == pytest.approx(0.5 * (high + low), abs=1e-9 * size)
        assert high - half == pytest.approx(low + half, abs=EXACT * size)


@pytest.mark.parametrize("pair", PAIRS)
def test_action_is_reaction_and_the_world_may_turn(pair: tuple[str, str]) -> None:
    rng = np.random.default_rng(9)
    for how in ("near", "shallow"):
        a, b, size = random_pair(rng, pair, how)
        found = meet(a, b, size, margin=10.0)
        back = meet(b, a, size, margin=10.0)
        # settled normals agree to the root of what GJK leaves, over the gap of 2 % it looks across
        close = 2e-5
        np.testing.assert_allclose(back.normal, -found.normal, atol=close)
        assert back.depth == pytest.approx(found.depth, abs=1e-9 * size)
        turn, shift = random_turn(rng), rng.normal(size=3)
        moved = meet(_moved(a, turn, shift), _moved(b, turn, shift), size, margin=10.0)
        np.testing.assert_allclose(moved.normal, turn @ found.normal, atol=close)
        assert moved.depth == pytest.approx(found.depth, abs=1e-9 * size)


def _moved(p: Part, turn: Array, shift: Array) -> Part:
    hull = Polyhedron(
        np.ascontiguousarray(p.hull.vertices @ turn.T + shift),
        np.ascontiguousarray(
            np.c_[
                p.hull.planes[:, :3] @ turn.T,
                p.hull.planes[:, 3] + p.hull.planes[:, :3] @ turn.T @ shift,
            ]
        ),
        p.hull.loop_start,
        p.hull.loops,
    )
    if isinstance(p.exact, Polyhedron):
        return Part(p.row, hull, hull)
    curve = p.exact.moved(turn, shift)
    return Part(curve.row(), hull, curve)


@pytest.mark.parametrize("pair", PAIRS)
def test_beyond_the_margin_nothing_is_near(pair: tuple[str, str]) -> None:
    a, b, size = random_pair(np.random.default_rng(4), pair, "apart")
    found = meet(a, b, size, margin=10.0)
    assert meet(a, b, size, margin=-1.001 * found.depth).near
    assert not meet(a, b, size, margin=-0.999 * found.depth).near
    again = meet(a, b, size, -0.9 * found.depth, PHASE_APART, found.normal)
    assert not again.near
    np.testing.assert_array_equal(again.normal, found.normal)  # the last normal still separates


@pytest.mark.parametrize("pair", PAIRS)
def test_the_last_normal_leads_to_the_same_contact(pair: tuple[str, str]) -> None:
    rng = np.random.default_rng(5)
    a, b, size = random_pair(rng, pair, "shallow")
    found = meet(a, b, size)
    for phase in (PHASE_TOUCH, PHASE_APART):
        start = found.normal + 1e-3 * rng.normal(size=3)
        again = meet(a, b, size, 0.0, phase, start / np.linalg.norm(start))
        np.testing.assert_allclose(again.normal, found.normal, atol=2e-5)
        assert again.depth == pytest.approx(found.depth, abs=1e-9 * size)


# ---------------------------------------------------------------- one case per region
def check(
    found: Met, normal: Array, depth: float, face: int | None = None, tolerance: float = 1e-13
) -> None:
    """What was found, against closed forms."""
    assert found.near
    np.testing.assert_allclose(found.normal, normal / np.linalg.norm(normal), atol=tolerance)
    assert found.depth == pytest.approx(depth, abs=tolerance)
    if face is not None:
        assert found.face == face


def top_face(p: Part) -> int:
    return int(np.argmax(p.hull.planes[:, 2])) + 1


@pytest.mark.parametrize("depth", [1e-2, 1e-7, -1e-3])
@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-5, 1e-2, 0.5])
@pytest.mark.parametrize("lies", [False, True])
def test_cylinder_on_a_box_face(lies: bool, tilt: float, depth: float) -> None:
    box, turn = part(CUBE), about("y", np.degrees(tilt) + (90.0 if lies else 0.0))
    across, upright = (np.cos(tilt), np.sin(tilt)) if lies else (np.sin(tilt), np.cos(tilt))
    low = 0.1 * abs(across) + 0.15 * abs(upright)
    rod = part(Cylinder(0.1, 0.3), (0.05, -0.02, 0.5 + low - depth), turn)
    check(meet(box, rod, 0.2, 0.1), Z, depth, top_face(box))
    check(meet(rod, box, 0.2, 0.1), -Z, depth, -top_face(box))


def test_cylinder_across_a_box_edge() -> None:
    box, middle = part(CUBE), (X + Z) / sqrt(2.0)
    at = 0.5 * (X + Z) + (0.1 - 1e-5) * middle
    for turn in (about("x", 90.0), about("y", 135.0)):  # parallel to the edge, and across it
        rod = part(Cylinder(0.1, 0.3), at, turn)
        check(meet(box, rod, 0.2), middle, 1e-5, 0, 1e-9)


def test_cylinder_beyond_a_face_touches_its_edge() -> None:
    # its lowest line is 0.03 beyond the edge of the cube's top
    box = part(CUBE)
    rod = part(Cylinder(0.1, 0.3), (0.53, 0.0, 0.5 + 0.09), about("x", 90.0))
    check(meet(box, rod, 0.2), np.array([0.03, 0.0, 0.09]), 0.1 - hypot(0.03, 0.09), 0, 1e-12)


@pytest.mark.parametrize("offset", [0.0, 0.1, 0.19])
def test_stacked_cylinders(offset: float) -> None:
    low = part(Cylinder(0.1, 0.3))
    high = part(Cylinder(0.1, 0.2), (offset, 0.0, 0.25 - 1e-6), about("z", 20.0))
    found = meet(low, high, 0.2)
    check(found, Z, 1e-6)
    assert found.face in (1, -2)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e-17, 1e-12, 0.009])
@pytest.mark.parametrize("tilt", [0.0, 1e-15, -1e-15, 1e-9])
def test_wide_cylinder_on_a_narrow_one(offset: float, tilt: float, swap: bool) -> None:
    # The rims do not cross: the end above covers the one below. Axes apart by rounding alone once
    # put the point where the circles "cross" at 1e12 m.
    low = part(Cylinder(0.1, 0.3), (0.0, 0.0, 0.0), about("y", np.degrees(2.0 * tilt)))
    high = part(Cylinder(0.11, 0.2), (offset, 0.0, 0.25 - 1e-6), about("y", np.degrees(tilt)))
    found = meet(high, low, 0.2) if swap else meet(low, high, 0.2)
    # a tilt of 1e-9 over 0.15 m turns the normal and moves the ends by as much
    check(found, -Z if swap else Z, 1e-6, tolerance=3e-9)
    assert hypot(found.point[0], found.point[1]) <= 0.111


def test_rim_on_a_flat_end_and_rim_on_rim() -> None:
    low = part(Cylinder(0.1, 0.3))
    tilt = np.radians(10.0)
    reach = 0.1 * np.sin(tilt) + 0.1 * np.cos(tilt)
    high = part(Cylinder(0.1, 0.2), (-0.05, 0.0, 0.15 + reach - 1e-6), about("y", 10.0))
    check(meet(low, high, 0.2), Z, 1e-6, 1)
    # two discs tilted alike, whose rims meet on the plane of symmetry
    left, right = (
        part(Cylinder(0.1, 0.02), (s * 0.11, 0.0, 0.0), about("y", s * 20.0)) for s in (-1, 1)
    )
    found = meet(left, right, 0.02, 1.0)
    assert found.normal == pytest.approx(X, abs=1e-6)
    assert found.depth == pytest.approx(along(left, right, X), abs=1e-12)


def test_parallel_and_crossed_cylinders() -> None:
    rod = Cylinder(0.1, 0.3)
    a = part(rod)
    check(meet(a, part(rod, (0.0, 0.2 - 1e-6, 0.1)), 0.2), Y, 1e-6, 0)
    check(meet(a, part(rod, (0.0, 0.2 - 1e-6, 0.1), about("y", 90.0)), 0.2), Y, 1e-6, 0)
    check(meet(a, part(rod, (0.0, 0.2 - 1e-6, 0.0), about("y", 37.0)), 0.2), Y, 1e-6, 0)


def test_thin_discs_leave_over_their_ends() -> None:
    # tilted about the line between their centres: the spines see that line alone
    disc = Cylinder(0.1, 0.004)
    a, b = part(disc), part(disc, (0.05, 0.0, 0.0039), about("x", 0.05))
    found = meet(a, b, 0.004)
    assert abs(found.normal[2]) > 0.99
    # where the rims cross: the lowest point of either is beyond the other
    assert 0.0 < found.depth < along(a, b, found.normal) < 0.001


def test_cone_on_its_base_side_and_apex() -> None:
    cone, box = Cone(0.1, 0.3), part(CUBE)
    face = top_face(box)
    check(meet(box, part(cone, (0.1, 0.1, 0.5 + 0.075 - 1e-6)), 0.2), Z, 1e-6, face)
    apex = part(cone, (0.1, 0.1, 0.5 + 0.225 - 1e-6), about("x", 180.0))
    check(meet(box, apex, 0.2), Z, 1e-6, face)
    side = part(cone, (0.0, 0.0, 0.0), about("y", 90.0 + np.degrees(np.arctan2(0.1, 0.3))))
    low = along(side, part(Sphere(1.0)), -Z) - 1.0
    lying = part(
        cone, (0.0, 0.0, 0.5 + low - 1e-6), about("y", 90.0 + np.degrees(np.arctan2(1, 3)))
    )
    check(meet(box, lying, 0.2), Z, 1e-6, face, 1e-12)


def test_capsule_along_a_face_an_edge_and_on_its_tip() -> None:
    box, rod = part(CUBE), Capsule(0.1, 0.3)
    lying = part(rod, (0.1, 0.0, 0.6 - 1e-6), about("x", 90.0))
    check(meet(box, lying, 0.2), Z, 1e-6, top_face(box))
    tip = part(rod, (0.1, 0.0, 0.5 + 0.25 - 1e-6))
    check(meet(box, tip, 0.2), Z, 1e-6, top_face(box))
    middle = (X + Z) / sqrt(2.0)
    edge = part(rod, 0.5 * (X + Z) + (0.1 - 1e-6) * middle, about("x", 90.0))
    check(meet(box, edge, 0.2), middle, 1e-6, 0)


@pytest.mark.parametrize("spot", [(0.2, 0.1, 0.5), (0.5, 0.1, 0.5), (0.5, 0.5, 0.5)])
def test_ball_over_face_edge_and_corner(spot: tuple[float, float, float]) -> None:
    outward = np.array([float(x == 0.5) for x in spot])
    outward /= np.linalg.norm(outward)
    ball = part(Sphere(0.1), np.array(spot) + (0.1 - 1e-6) * outward)
    check(meet(part(CUBE), ball, 0.2), outward, 1e-6, 0)


def test_centre_of_a_ball_inside_a_hull() -> None:
    ball = part(Sphere(0.1), (0.1, 0.05, 0.48))
    check(meet(part(CUBE), ball, 0.2), Z, 0.12)
    check(meet(ball, part(CUBE), 0.2), -Z, 0.12)
    # and of the last normal, the same face
    check(meet(part(CUBE), ball, 0.2, 0.0, PHASE_TOUCH, Z), Z, 0.12)


@pytest.mark.parametrize(
    "shape", [Sphere(0.2), Capsule(0.1, 0.3), Cylinder(0.1, 0.3), Cone(0.1, 0.3), CUBE]
)
def test_concentric_solids_have_a_way_out(shape: Shape) -> None:
    a, b = part(shape), part(Sphere(0.1))
    for found in (meet(a, b, 0.2), meet(b, a, 0.2)):
        assert found.near
        assert np.linalg.norm(found.normal) == pytest.approx(1.0)
        assert found.depth > 0.1
    found = meet(a, b, 0.2)
    assert found.depth == pytest.approx(along(a, b, found.normal), abs=1e-12)


def test_corner_of_a_box_on_the_end_of_a_cylinder_is_left_to_the_facets() -> None:
    disc = part(Cylinder(0.5, 0.2))
    turn = about("y", np.degrees(np.arctan(sqrt(2.0)))) @ about("z", 45.0)
    box = part(Box((0.1, 0.1, 0.1)), (0.1, 0.05, 0.1 + 0.05 * sqrt(3.0) - 1e-6), turn)
    check(meet(disc, box, 0.1), Z, 1e-6, FACETS, 1e-12)
    check(meet(box, disc, 0.1), -Z, 1e-6, FACETS, 1e-12)


def test_a_box_standing_on_a_cylinder_end_lies_face_to_face() -> None:
    disc, box = part(Cylinder(0.5, 0.2)), part(Box((0.1, 0.1, 0.1)), (0.1, 0.0, 0.15 - 1e-6))
    found = meet(disc, box, 0.1)
    check(found, Z, 1e-6)
    assert found.face == -(int(np.argmin(box.hull.planes[:, 2])) + 1)


# ---------------------------------------------------------------- functions on one solid
@kernel
def _support(hull: Polyhedron, row: Array, n: Array, out: Array) -> None:
    a, d = solid(hull, row), (n[0], n[1], n[2])
    out[0] = top(a, d)
    out[1], out[2], out[3] = support(a, d)


@pytest.mark.parametrize("kind", KINDS)
def test_support(kind: str) -> None:
    rng = np.random.default_rng(3)
    shape = random_shape(rng, kind)
    turn = random_turn(rng)
    p, out = part(shape, rng.normal(size=3), turn), np.zeros(4)
    tip = turn[:, 2]
    rows = [tip, -tip, turn[:, 0], tip + 1e-9 * turn[:, 0], *rng.normal(size=(20, 3))]
    for n in rows:
        d = n / np.linalg.norm(n)
        _support(p.hull, p.row, d, out)
        expected = float(slow_support(p.exact, d[None])[0])
        assert out[0] == pytest.approx(expected, abs=1e-14 * 10)
        # the point has this height, and is in the solid: no direction puts it higher
        rounding = p.row[1] if kind in ("ball", "capsule") else 0.0
        assert d @ out[1:4] + rounding == pytest.approx(expected, abs=1e-13)
        probe = rng.normal(size=(50, 3))
        probe /= np.linalg.norm(probe, axis=1)[:, None]
        assert np.all(probe @ out[1:4] <= slow_support(p.exact, probe) + 1e-13)


@kernel
def _nearest(hull: Polyhedron, row: Array, x: Array, out: Array) -> None:
    out[0], out[1], out[2] = nearest_point(solid(hull, row), (x[0], x[1], x[2]))


@pytest.mark.parametrize("kind", ["cylinder", "cone"])
def test_nearest_point(kind: str) -> None:
    rng = np.random.default_rng(6)
    turn = random_turn(rng)
    p, out = part(random_shape(rng, kind), (0.1, 0.2, 0.3), turn), np.zeros(3)
    axis, centre, half = p.row[3:6], p.row[6:9], p.row[2]
    special = [centre + s * half * axis * k for s in (-1, 1) for k in (0.5, 1.0, 1.5)]
    for x in [*special, *(centre + rng.normal(size=(40, 3)) * 0.5)]:
        _nearest(p.hull, p.row, x, out)
        gap = x - out
        distance = float(np.linalg.norm(gap))
        # in the solid, and highest along the way to x: no other point is nearer
        probe = fibonacci(200)
        assert np.all(probe @ out <= slow_support(p.exact, probe) + 1e-13)
        if distance > 0.0:
            n = gap / distance
            highest = float(slow_support(p.exact, n[None])[0])
            assert n @ out == pytest.approx(highest, abs=1e-13 / min(1.0, distance))


@kernel
def _faces(
    hull: Polyhedron, row: Array, on: int, other: Polyhedron, other_row: Array, out: Array
) -> None:
    """lies_on, and the part of a line within the face: from the point out[0:3], way out[3:6]."""
    face = face_of(solid(hull, row), on)
    out[6] = 1.0 if lies_on(solid(other, other_row), face) else 0.0
    p, d = (out[0], out[1], out[2]), (out[3], out[4], out[5])
    out[7], out[8] = within(face, p, d, -10.0, 10.0)


def line(p: Part, face: int, start: ArrayLike, way: ArrayLike) -> tuple[float, float]:
    out = np.zeros(9)
    out[0:3], out[3:6] = start, way
    _faces(p.hull, p.row, face, p.hull, p.row, out)
    return float(out[7]), float(out[8])


def test_within_clips_lines_by_outlines() -> None:
    box, disc = part(CUBE), part(Cylinder(0.5, 0.2))
    face = top_face(box) - 1
    assert line(box, face, (0.1, 0.2, 3.0), X) == pytest.approx((-0.6, 0.4))
    assert line(box, face, (0.0, 0.0, 0.0), X + Y) == pytest.approx((-0.5, 0.5))
    first, last = line(box, face, (0.0, 0.6, 0.0), X)
    assert first > last
    assert line(disc, 0, (0.1, 0.3, 3.0), X) == pytest.approx((-0.5, 0.3))
    assert line(disc, 0, (0.1, 0.3, 3.0), 2.0 * X + Z) == pytest.approx((-0.25, 0.15))
    first, last = line(disc, 0, (0.0, 0.6, 0.0), X)
    assert first > last
    # a point: no way at all
    assert line(disc, 0, (0.1, 0.1, 0.0), 0.0 * X) == (-10.0, 10.0)
    first, last = line(disc, 0, (0.5, 0.5, 0.0), 0.0 * X)
    assert first > last


@pytest.mark.parametrize(
    ("shape", "turn"),
    [
        (Capsule(0.1, 0.2), about("x", 90.0)),
        (Capsule(0.1, 0.2), about("x", 40.0)),
        (Cylinder(0.1, 0.2), about("x", 90.0)),
        (Cylinder(0.1, 0.2), about("x", 0.0)),
        (Cylinder(0.1, 0.2), about("x", 30.0)),
        (Cone(0.1, 0.2), about("x", 0.0)),
        (Cone(0.1, 0.2), about("x", 180.0)),
        (Cone(0.1, 0.2), about("x", 90.0 + np.degrees(np.arctan2(0.1, 0.2)))),
        (Box((0.1, 0.1, 0.1)), about("x", 30.0)),
    ],
)
@pytest.mark.parametrize("on", [Box((1.0, 1.0, 0.2)), Cylinder(0.5, 0.2)])
def test_lies_on(shape: Shape, turn: Array, on: Shape) -> None:
    ground = part(on)
    face = top_face(ground) - 1 if isinstance(on, Box) else 0
    for x, expected in ((0.0, True), (0.3, True), (0.7, False), (-0.9, False)):
        other, out = part(shape, (x, 0.0, 0.5), turn), np.zeros(9)
        _faces(ground.hull, ground.row, face, other.hull, other.row, out)
        assert bool(out[6]) is expected, x


@kernel
def _generator(hull: Polyhedron, row: Array, up: Array, out: Array) -> None:
    at, way = generator(solid(hull, row), (up[0], up[1], up[2]))
    out[0], out[1], out[2] = at
    out[3], out[4], out[5] = way


@pytest.mark.parametrize("kind", ["capsule", "cylinder", "cone"])
def test_generator_is_the_lowest_line(kind: str) -> None:
    rng = np.random.default_rng(8)
    shape = random_shape(rng, kind)
    sine = shape.curves()[0]
    assert sine is not None
    lean = np.arctan2(sine.radius, 2.0 * sine.half) if kind == "cone" else 0.0
    turn = about("y", 90.0 + float(np.degrees(lean)))  # lies on its side
    p, out = part(shape, (0.3, 0.2, 0.1), turn), np.zeros(6)
    _generator(p.hull, p.row, Z, out)
    low = -float(slow_support(p.exact, -Z[None])[0])
    for way in (-p.row[2], 0.0, p.row[2]):
        assert (out[0:3] + way * out[3:6])[2] == pytest.approx(low, abs=1e-13)
