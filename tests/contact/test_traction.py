"""Coulomb traction over a patch: adaptive quadrature, closed forms, the singular point anywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from contact.soups import (
    BACK,
    BOUND,
    CLIPPED,
    EDGES,
    FRONT,
    POINTS,
    TRACTION,
    VERTEX,
    Side,
    area_of,
    centred,
    centroid,
    friction,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles.quadrature import coulomb
from scipy.spatial import ConvexHull

from tangere.contact.volume.traction import FAR, ROUNDING, STEEP

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]
Field = tuple[float, float, float]

# Closed form against refinement, relative to force and force times length.
EXACT = 1e-10

# Torque of a spinning square over force times side.
SPIN = (math.sqrt(2.0) + math.asinh(1.0)) / 6.0

SQUARE = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
PLACES = ("inside", "outside", "edge", "vertex", "middle", "line", "near an edge", "near a corner")


def polygon(rng: np.random.Generator, most: int = 9) -> Array:
    """Random convex polygon about one long, counter-clockwise, anywhere near the origin."""
    points = rng.normal(size=(int(rng.integers(3, most + 3)), 2)) * rng.uniform(0.2, 1.0, size=2)
    ring = points[ConvexHull(points).vertices]
    return np.asarray(ring + rng.normal(size=2))


def place(rng: np.random.Generator, ring: Array, where: str) -> Array:
    """A centre of rotation at a particular place of a polygon."""
    i = int(rng.integers(len(ring)))
    a, b, s = ring[i], ring[i - 1], rng.uniform(0.1, 0.9)
    outward = np.array([(a - b)[1], -(a - b)[0]])
    if where == "inside":
        return np.asarray(rng.dirichlet(np.ones(len(ring))) @ ring)
    if where == "middle":
        return centroid(ring)
    if where == "vertex":
        return np.asarray(a)
    if where == "near a corner":
        return np.asarray(a + rng.normal(size=2) * 10.0 ** rng.uniform(-15.0, -3.0))
    if where == "line":  # on an edge's line beyond its end
        return np.asarray(a + rng.uniform(0.1, 2.0) * (a - b))
    on = a + s * (b - a)
    if where == "edge":
        return np.asarray(on)
    if where == "near an edge":
        return np.asarray(on + outward * rng.choice([-1, 1]) * 10.0 ** rng.uniform(-15.0, -3.0))
    return np.asarray(on + rng.uniform(0.05, 3.0) * outward)


def turning_about(centre: Array, about: Array, th: float) -> Field:
    """Field that vanishes at `centre`, coordinates measured from `about`."""
    x, y = centre - about
    return th * y, -th * x, th


def random_side(rng: np.random.Generator, ring: Array, side: float, tilt: float = 1.0) -> Side:
    """Half-depth that is positive all over the polygon."""
    hx, hy = rng.normal(size=2) * tilt
    low = float((ring @ (hx, hy)).min())
    return Side(ring, side, rng.uniform(0.0, 1.0) - low, float(hx), float(hy))


def expected(sides: list[Side], alpha: float, field: Field, about: Array) -> Array:
    """Quadrature over all sides, torque about `about`."""
    total = np.zeros(4)
    for side in sides:
        shifted = side.corners - about

        def pressure(x: Array, y: Array, side: Side = side) -> Array:
            return alpha * side.depth(x + about[0], y + about[1])

        total += coulomb(shifted, pressure, field)
    return total


def assert_same(
    found: Array, truth: Array, load: float, size: float, tolerance: float = EXACT
) -> None:
    assert found[:2] == pytest.approx(truth[:2], abs=tolerance * load)
    assert found[2] == pytest.approx(truth[2], abs=tolerance * load * size)


def measures(sides: list[Side], alpha: float) -> tuple[float, float]:
    """Normal force and length of a patch."""
    ring = sides[0].corners
    weight = sum(s.depth(*centroid(ring)) for s in sides)
    return alpha * area_of(ring) * float(weight), float(np.ptp(ring, axis=0).max())


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.sampled_from(PLACES), st.booleans())
def test_traction_is_the_integral_wherever_the_patch_turns(
    seed: int, where: str, two_sided: bool
) -> None:
    rng = np.random.default_rng(seed)
    ring = polygon(rng)
    sides = [random_side(rng, ring, side) for side in ((FRONT, BACK) if two_sided else (BACK,))]
    about = centroid(ring)
    field = turning_about(
        place(rng, ring, where), about, float(rng.choice([-1, 1]) * rng.uniform(0.1, 10))
    )
    truth = expected(sides, 2.0, field, about)
    load, size = measures(sides, 2.0)
    found = friction(sides, centred(sides, 2.0), field)
    assert_same(found, truth, load, size)
    # R·G + Θ T = ∫ p |e| dS: what the static limit is made of
    r1, r2, th = field
    work = r1 * found[0] + r2 * found[1] + th * found[2]
    assert work == pytest.approx(truth[3], rel=1e-9)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.sampled_from(PLACES))
def test_closed_form_and_points_of_one_polygon(seed: int, where: str) -> None:
    rng = np.random.default_rng(seed)
    sides = [random_side(rng, polygon(rng, 4), FRONT)]
    ring = sides[0].corners
    about, pr = centroid(ring), centred(sides, 1.0)
    field = turning_about(place(rng, ring, where), about, 1.0)
    truth = expected(sides, 1.0, field, about)
    load, size = measures(sides, 1.0)
    assert_same(friction(sides, pr, field, rule=EDGES), truth, load, size)
    # six points per triangle miss the swirl about the centre by a few per cent, no more
    assert_same(friction(sides, pr, field, rule=POINTS), truth, load, size, 0.1)


def test_centre_exactly_on_edges_corners_and_their_lines() -> None:
    # a square of side 2: every case has exact coordinates, so distances of zero really occur
    sides = [Side(2.0 * SQUARE, BACK, 3.0, 0.5, -0.25)]
    for centre in [(1, 0), (0, -1), (1, 1), (-1, 1), (0, 0), (3, 1), (1, 5), (-1, -4), (0.25, 1)]:
        field = turning_about(np.array(centre, float), np.zeros(2), -2.0)
        truth = expected(sides, 1.0, field, np.zeros(2))
        assert_same(friction(sides, centred(sides, 1.0), field), truth, 12.0, 2.0)


@pytest.mark.parametrize("distance", [1e-6, 1e-8, 3e-9, 1e-9, 1e-10, 1e-12, 1e-13, 1e-15])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_centre_close_to_an_edge(distance: float, side: float) -> None:
    # The centre of rotation is nearer to an edge than the rounding of its distance to the ends
    ring = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
    sides = [Side(ring, BACK, 1.0, 0.0, 0.0)]
    for along in (0.25, 0.5, 0.75):
        field = turning_about(np.array([along, side * distance]), np.array([0.5, 0.5]), 1.0)
        exact = turning_about(np.array([along, 0.0]), np.array([0.5, 0.5]), 1.0)
        truth = expected(sides, 1.0, exact, np.array([0.5, 0.5]))
        found = friction(sides, centred(sides, 1.0), field)
        assert_same(found, truth, 1.0, 1.0, max(EXACT, 4.0 * distance))


def test_translation_is_coulombs_law() -> None:
    rng = np.random.default_rng(1)
    ring = polygon(rng)
    sides = [random_side(rng, ring, side) for side in (FRONT, BACK)]
    load, size = measures(sides, 3.0)
    about = centroid(ring)
    for th in (0.0, 1e-300, 1e-12):
        g1, g2, torque = friction(sides, centred(sides, 3.0), (0.6, -0.8, th))
        assert (g1, g2) == pytest.approx((0.6 * load, -0.8 * load), rel=1e-11)
        # all traction along one direction: its torque is that of the pressure's centre
        truth = expected(sides, 3.0, (0.6, -0.8, 0.0), about)
        assert torque == pytest.approx(truth[2], abs=1e-11 * load * size)


def test_no_motion_no_traction() -> None:
    sides = [Side(SQUARE, FRONT, 1.0, 0.0, 0.0)]
    for rule in (TRACTION, POINTS, VERTEX, CLIPPED):
        found = friction(sides, centred(sides, 1.0), (0.0, 0.0, 0.0), rule=rule)
        assert found == pytest.approx(np.zeros(3), abs=0)


@pytest.mark.parametrize("factor", [1.0 - 1e-12, 1.0 + 1e-12])
def test_nothing_jumps_where_the_point_rule_takes_over(factor: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        ring = polygon(rng)
        sides = [random_side(rng, ring, side) for side in (FRONT, BACK)]
        about = centroid(ring)
        gyration = rng.uniform(0.1, 1.0)
        direction = rng.normal(size=2)
        at = about + direction / np.linalg.norm(direction) * FAR * gyration * factor
        field = turning_about(at, about, 1.0)
        truth = expected(sides, 1.0, field, about)
        load, size = measures(sides, 1.0)
        found = friction(sides, centred(sides, 1.0), field, gyration=gyration)
        # the file says: below 1e-7 for a gyration like the patch's own
        reach = size / gyration
        assert_same(found, truth, load, size, 1e-7 * max(1.0, reach) ** 4)


def test_far_away_the_swirl_vanishes_smoothly() -> None:
    sides = [Side(SQUARE, BACK, 1.0, 0.3, 0.1)]
    about = np.zeros(2)
    gyration = math.sqrt(1.0 / 6.0)
    for distance in np.geomspace(0.1, 1e12, 40):
        field = turning_about(np.array([0.6, -0.8]) * distance, about, 1.0 / distance)
        truth = expected(sides, 1.0, field, about)
        found = friction(sides, centred(sides, 1.0), field, gyration=gyration)
        assert_same(found, truth, 1.0, 1.0, 1e-7)


# ---------------------------------------------------------------- closed forms


def test_spinning_square() -> None:
    # ∫ |p| dS over a square of side a under pressure N/a²: (√2 + asinh 1)/6 N a = 0.3826 N a
    for a in (0.01, 1.0, 7.0):
        sides = [Side(a * SQUARE, BACK, 2.0, 0.0, 0.0)]
        g1, g2, torque = friction(sides, centred(sides, 1.0), (0.0, 0.0, -3.0), gyration=a)
        load = 2.0 * a * a
        assert torque == pytest.approx(-load * a * SPIN, rel=1e-14)
        assert (g1, g2) == pytest.approx((0.0, 0.0), abs=1e-15 * load)
    assert pytest.approx(0.3826, abs=1e-4) == SPIN


def test_spinning_polygon_tends_to_the_disc() -> None:
    # n triangles of height ρ = R cos(π/n): ∫ |p| dS = n ρ³ ∫ sec³/3 over ±π/n; disc: 2/3 N R
    for n in (3, 6, 96):
        t = 2.0 * np.pi * np.arange(n) / n
        sides = [Side(np.column_stack((np.cos(t), np.sin(t))), FRONT, 1.0, 0.0, 0.0)]
        torque = friction(sides, centred(sides, 1.0), (0.0, 0.0, 1.0))[2]
        half = math.pi / n
        tan, sec = math.tan(half), 1.0 / math.cos(half)
        exact = n * math.cos(half) ** 3 / 3.0 * (sec * tan + math.log(sec + tan))
        assert torque == pytest.approx(exact, rel=1e-13)
    assert torque == pytest.approx(2.0 / 3.0 * math.pi, rel=2e-3)


def test_vertex_rule_loses_the_papers_share_of_a_spinning_square() -> None:
    # interpolated between vertices, in two triangles: 0.616 of the exact torque
    sides = [Side(SQUARE, FRONT, 1.0, 0.0, 0.0)]
    torque = friction(sides, centred(sides, 1.0), (0.0, 0.0, 1.0), rule=VERTEX)[2]
    assert torque == pytest.approx(math.sqrt(2.0) / 6.0, rel=1e-14)
    assert torque / SPIN == pytest.approx(0.616, abs=5e-4)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_vertex_rule_integrates_what_it_interpolates(seed: int, two_sided: bool) -> None:
    rng = np.random.default_rng(seed)
    ring = polygon(rng)
    sides = [random_side(rng, ring, side) for side in ((FRONT, BACK) if two_sided else (BACK,))]
    about = centroid(ring)
    field = turning_about(place(rng, ring, "outside"), about, 1.0)
    truth = np.zeros(3)
    for side in sides:
        corners = ring if side.side == FRONT else ring[::-1]
        for i in range(1, len(ring) - 1):
            triangle = np.stack((corners[0], corners[i], corners[i + 1])) - about
            x, y = triangle.T
            e = np.column_stack((field[0] - y, field[1] + x))
            load = side.depth(x + about[0], y + about[1])
            nodal = load[:, None] * e / np.linalg.norm(e, axis=1)[:, None]
            # affine traction through the three vertices, integrated by three mid-edge points
            middles = 0.5 * (triangle + np.roll(triangle, -1, axis=0))
            values = 0.5 * (nodal + np.roll(nodal, -1, axis=0))
            area = abs(area_of(triangle)) / 3.0
            truth[:2] += area * values.sum(axis=0)
            truth[2] += area * np.sum(middles[:, 0] * values[:, 1] - middles[:, 1] * values[:, 0])
    found = friction(sides, centred(sides, 1.0), field, rule=VERTEX)
    assert_same(found, truth, *measures(sides, 1.0), 1e-12)


# ---------------------------------------------------------------- properties


@given(st.integers(0, 2**32 - 1))
def test_friction_of_a_part_of_the_plane_adds_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = polygon(rng)
    side = random_side(rng, whole, BACK)
    about = centroid(whole)
    field = turning_about(place(rng, whole, "inside"), about, 1.0)
    pr = centred([side], 1.0)
    k = len(whole) // 2 + 1
    halves = [
        side._replace(corners=whole[: k + 1]),
        side._replace(corners=np.vstack((whole[k:], whole[:1]))),
    ]
    parts = sum(friction([half], pr, field) for half in halves if len(half.corners) > 2)
    load, size = measures([side], 1.0)
    assert_same(np.asarray(parts), friction([side], pr, field), load, size, 1e-11)


@given(st.integers(0, 2**32 - 1), st.sampled_from(PLACES), st.floats(0.0, 2.0 * math.pi))
def test_turning_the_plane_turns_the_friction(seed: int, where: str, angle: float) -> None:
    rng = np.random.default_rng(seed)
    side = random_side(rng, polygon(rng), FRONT)
    about = centroid(side.corners)
    centre = place(rng, side.corners, where)
    turn = np.array([(math.cos(angle), -math.sin(angle)), (math.sin(angle), math.cos(angle))])
    hx, hy = turn @ (side.hx, side.hy)
    turned = Side(side.corners @ turn.T, FRONT, side.h0, float(hx), float(hy))
    here = friction([side], centred([side], 1.0), turning_about(centre, about, 1.0))
    there = friction(
        [turned], centred([turned], 1.0), turning_about(turn @ centre, turn @ about, 1.0)
    )
    load, size = measures([side], 1.0)
    assert_same(there, np.array([*(turn @ here[:2]), here[2]]), load, size, 1e-11)


@given(st.integers(0, 2**32 - 1), st.sampled_from(PLACES))
def test_friction_never_exceeds_the_cone_and_always_brakes(seed: int, where: str) -> None:
    rng = np.random.default_rng(seed)
    ring = polygon(rng)
    sides = [random_side(rng, ring, side) for side in (FRONT, BACK)]
    about = centroid(ring)
    r1, r2, th = turning_about(place(rng, ring, where), about, 2.0)
    load, _ = measures(sides, 1.0)
    for rule in (TRACTION, VERTEX, CLIPPED):
        pr = centred(sides, 1.0, total=load)
        g1, g2, torque = friction(sides, pr, (r1, r2, th), rule=rule)
        assert math.hypot(g1, g2) <= load * (1.0 + 1e-10)
        assert r1 * g1 + r2 * g2 + th * torque >= 0.0


def test_scale_of_the_field_does_not_matter() -> None:
    sides = [Side(SQUARE, BACK, 1.0, 0.2, 0.0)]
    once = friction(sides, centred(sides, 1.0), (0.1, 0.2, 1.0))
    for factor in (1e-150, 1e-6, 1e6, 1e150):
        field = (0.1 * factor, 0.2 * factor, factor)
        assert friction(sides, centred(sides, 1.0), field) == pytest.approx(once, rel=1e-12)


def test_steep_polygons_go_by_points() -> None:
    # A wall so steep that its pressure would amplify rounding: by points, right to some per cent
    tilt = 2.0 / STEEP
    sides = [Side(SQUARE, FRONT, 0.6 * tilt, tilt, 0.0)]
    field = turning_about(np.array([0.1, 0.2]), np.zeros(2), 1.0)
    by_points = friction(sides, centred(sides, 1.0), field, rule=POINTS)
    assert friction(sides, centred(sides, 1.0), field) == pytest.approx(by_points, rel=1e-15)
    truth = expected(sides, 1.0, field, np.zeros(2))
    assert_same(by_points, truth, 0.6 * tilt, 1.0, 0.1)


# ---------------------------------------------------------------- a damper that pulls


def dense(side: Side, pressure: float, slope: float, field: Field, load: float) -> Array:
    """Clipped pressure rescaled to the load; its positive part is a polygon."""
    ring = side.corners
    total = side.h0 + pressure + (side.hx + slope) * ring[:, 0] + side.hy * ring[:, 1]
    kept = []
    for i in range(len(ring)):
        a, b, pa, pb = ring[i - 1], ring[i], total[i - 1], total[i]
        if pa * pb < 0.0:
            kept.append(a + (b - a) * pa / (pa - pb))
        if pb >= 0.0:
            kept.append(b)

    def clipped(x: Array, y: Array) -> Array:
        return side.depth(x, y) + pressure + slope * x

    positive = np.array(kept)
    whole = coulomb(positive, clipped, field)[:3]
    normal = coulomb(positive, clipped, (1.0, 0.0, 0.0))[0]
    return np.asarray(whole * load / normal)


@pytest.mark.parametrize("pull", [0.3, 0.8, 1.2])
@pytest.mark.parametrize("sides_count", [1, 2])
def test_pull_of_the_damper_is_clipped_and_the_load_kept(pull: float, sides_count: int) -> None:
    # pressure 1 − pull + slope x on a unit square, part of it negative; the six-point rule sees the
    # edge of the pressed region to a few per cent
    slope = 2.0
    for field in [(1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.2, 0.3, 1.0)]:
        side = Side(SQUARE, BACK, 1.0, 0.0, 0.0)
        share = 1.0 / sides_count
        sides = [side._replace(h0=share)]
        if sides_count == 2:
            sides = [Side(SQUARE, FRONT, share, 0.0, 0.0), *sides]
        pr = centred(sides, 1.0, p0=-share * pull, px=share * slope, total=0.7)
        truth = dense(side, -pull, slope, field, 0.7)
        found = friction(sides, pr, field)
        assert_same(found, truth, 0.7, 1.0, 0.06)
        assert found == pytest.approx(friction(sides, pr, field, rule=CLIPPED), rel=1e-15)
        if field[2] == 0.0:  # translation: the load alone decides
            assert found[:2] == pytest.approx((0.7, 0.0), rel=1e-14)


def test_two_sided_clipping_takes_the_pressure_of_the_whole_chord() -> None:
    # The front half is pulled below zero, the back half presses: the chord presses everywhere
    sides = [Side(SQUARE, FRONT, 0.0, 0.0, 0.0), Side(SQUARE, BACK, 1.0, 0.5, 0.0)]
    pr = centred(sides, 1.0, p0=-0.1, total=0.8)
    whole = [Side(SQUARE, BACK, 0.8, 0.5, 0.0)]
    field = (0.3, -0.2, 0.5)
    found = friction(sides, pr, field, rule=CLIPPED)
    assert_same(
        found, friction(whole, centred(whole, 1.0, total=0.8), field, rule=CLIPPED), 0.8, 1.0, 1e-13
    )


def test_all_pulled_leaves_no_friction() -> None:
    sides = [Side(SQUARE, BACK, 1.0, 0.0, 0.0)]
    pr = centred(sides, 1.0, p0=-2.0)
    assert friction(sides, pr, (1.0, 0.0, 1.0), rule=CLIPPED) == pytest.approx(np.zeros(3), abs=0)


def test_rounding_below_zero_keeps_the_closed_form() -> None:
    # h = 0 along one edge up to rounding: not a pull
    tiny = 0.1 * ROUNDING
    sides = [Side(SQUARE, BACK, 0.5 - tiny, 1.0, 0.0)]
    field = (0.01, 0.02, 1.0)
    truth = expected([Side(SQUARE, BACK, 0.5, 1.0, 0.0)], 1.0, field, np.zeros(2))
    assert_same(friction(sides, centred(sides, 1.0), field), truth, 0.5, 1.0, 1e-8)


@settings(max_examples=60)
@given(
    st.sampled_from([1, 2]),
    st.floats(-0.9, 2.0),
    st.floats(-1.0, 1.0),
    st.tuples(*[st.floats(-1.0, 1.0)] * 3),
)
def test_bound_of_the_work(count: int, p0: float, slope: float, field: Field) -> None:
    # R·G + Θ T = ∫ p |e| dS, pressed everywhere or clipped; p0 < 0: the damper pulls
    share = 1.0 / count
    sides = [Side(SQUARE, BACK, share, 0.0, 0.2)]
    if count == 2:
        sides = [Side(SQUARE, FRONT, share, 0.1, 0.0), *sides]
    pr = centred(sides, 1.0, p0=share * p0, px=share * slope, total=1.0 + p0)
    work = friction(sides, pr, field) @ np.array(field)
    bound = friction(sides, pr, field, rule=BOUND)[0]
    assert work <= bound * (1.0 + 1e-12) + 1e-150  # squares of less underflow
    # no corner is faster than √½ |Θ| + |R|
    assert bound <= 1.000001 * (1.0 + p0) * (math.hypot(*field[:2]) + 0.7072 * abs(field[2]))


def test_bound_of_the_work_is_reached_by_a_pure_shift() -> None:
    sides = [Side(SQUARE, BACK, 1.0, 0.0, 0.0)]
    pr = centred(sides, 1.0, total=1.0)
    assert friction(sides, pr, (0.3, 0.4, 0.0), rule=BOUND)[0] == pytest.approx(0.5, rel=1e-8)


def test_no_bound_where_a_wall_pulls() -> None:
    # a steep polygon is not clipped: its pull would be missing in the load of the others
    tilt = 2.0 / STEEP
    sides = [Side(SQUARE, BACK, 1.0, 0.0, 0.0), Side(SQUARE, BACK, 0.0, tilt, 0.0)]
    pr = centred(sides, 1.0, total=1.0, two_sided=False)
    assert friction(sides, pr, (1.0, 0.0, 0.0), rule=BOUND)[0] == math.inf


def test_many_points_are_summed_in_batches() -> None:
    # a polygon of 100 corners has 600 points; the exact disc sector would do as well
    angles = np.linspace(0.0, 2.0 * math.pi, 100, endpoint=False)
    ring = np.column_stack((np.cos(angles), np.sin(angles)))
    sides = [Side(ring, BACK, 1.0, 0.1, 0.2)]
    pr = centred(sides, 1.0, total=area_of(ring))
    field = (1.0, 0.5, 0.01)
    truth = expected(sides, 1.0, field, np.zeros(2))
    for rule in (TRACTION, CLIPPED):
        assert_same(friction(sides, pr, field, rule=rule), truth, pr.total, 1.0, 1e-9)


def test_vertical_polygons_are_left_out() -> None:
    # side 0 marks a wall: neither its corners nor its slope are set
    floor = Side(SQUARE, BACK, 1.0, 0.0, 0.0)
    wall = Side(np.full((4, 2), np.nan), 0.0, np.nan, np.nan, np.nan)
    for rule in (TRACTION, VERTEX, CLIPPED):
        field = (0.1, 0.0, 1.0)
        pr = centred([floor], 1.0)
        with_wall = friction([floor, wall], pr, field, rule=rule)
        assert with_wall == pytest.approx(friction([floor], pr, field, rule=rule), abs=0)


@pytest.mark.parametrize("spoilt", [np.nan, 1e300, -1.0, 0.0])
def test_unused_room_of_the_soup_is_not_read(spoilt: float) -> None:
    sides = [Side(SQUARE, FRONT, 1.0, 0.1, 0.0), Side(SQUARE, BACK, 1.0, 0.0, 0.2)]
    clean = friction(sides, centred(sides, 1.0), (0.1, 0.0, 1.0), spoilt=0.0)
    assert np.array_equal(
        friction(sides, centred(sides, 1.0), (0.1, 0.0, 1.0), spoilt=spoilt), clean
    )
