"""Signed distance of shapes: oracles, properties, one degenerate case per region."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from collision.pairs import PLACEMENTS, Placed, extent, random_pair, random_pool
from collision.pairs import world_vertices as world
from collision.solids import part
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles.distance import signed_distance
from oracles.support import least_overlap
from oracles.support import overlap as support_overlap
from oracles.support import support as support_of

from tangere.collision.distance import distance
from tangere.errors import SceneError
from tangere.geometry.shapes import (
    Box,
    Capsule,
    Compound,
    Cone,
    Convex,
    Cylinder,
    Shape,
    Sphere,
)
from tangere.maths.rotations import rotation_of

Array = NDArray[np.float64]

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
# Agreement with other programs, as part of the larger shape.
COAL = 1e-6
EXACT = 1e-9
TINY = 1e-12  # where the gap itself is hardly more than rounding
# Coal's own tolerance [m]. Within a few times that of touching it may take a gap for an overlap,
# or find no depth, and then gives -1.8e308 or any other.
COAL_TOUCHES = 1e-9


class Coal:
    """Signed distance by Coal, its tolerances set tight; shapes are converted once."""

    def __init__(self) -> None:
        import coal

        self.coal = coal
        self.known: dict[int, Any] = {}
        self.request = coal.DistanceRequest()
        self.request.enable_signed_distance = True
        self.request.gjk_tolerance = COAL_TOUCHES
        self.request.epa_tolerance = 1e-9
        self.request.gjk_max_iterations = 1000
        self.request.epa_max_iterations = 1000

    def shape(self, shape: Convex) -> Any:
        if id(shape) not in self.known:
            points = self.coal.StdVec_Vec3s()
            points.extend(list(shape.parts()[0].vertices))
            self.known[id(shape)] = self.coal.Convex.convexHull(points, True, "Qt")
        return self.known[id(shape)]

    def distance(self, a: Convex, pose_a: Placed, b: Convex, pose_b: Placed) -> float:
        result = self.coal.DistanceResult()
        place_a = self.coal.Transform3s(rotation_of(pose_a[1]), np.zeros(3))
        place_b = self.coal.Transform3s(rotation_of(pose_b[1]), pose_b[0] - pose_a[0])
        return float(
            self.coal.distance(self.shape(a), place_a, self.shape(b), place_b, self.request, result)
        )


def against_coal(seed: int, pairs: int, pool_size: int) -> tuple[float, int]:
    """Worst disagreement with Coal, as part of the larger size, and how often it gave no distance.

    The two may differ for one reason only: the shapes all but touch, nearer than Coal can see.
    That they do, and that we have it right, slow twins say; any other difference raises.
    """
    coal = Coal()
    pool = random_pool(seed, pool_size)
    rng = np.random.default_rng(seed)
    worst, unseen = 0.0, 0
    for k in range(pairs):
        a, pose_a, b, pose_b = random_pair(rng, pool, PLACEMENTS[k % len(PLACEMENTS)])
        size = max(extent(a), extent(b))
        ours, theirs = (f(a, pose_a, b, pose_b) for f in (signed, coal.distance))
        error = abs(ours - theirs) / size
        if error <= COAL:
            worst = max(worst, error)
            continue
        u, v = world(a, pose_a, pose_a[0]), world(b, pose_b, pose_a[0])
        truth = signed_distance(u, v)
        assert abs(truth) < 3.0 * COAL_TOUCHES, (seed, k, ours, theirs, truth)
        assert theirs < 0.0, (seed, k, ours, theirs, truth)
        assert abs(ours - truth) <= TINY * size, (seed, k, ours, truth)
        unseen += 1
    return worst, unseen


def signed(a: Convex, pose_a: Placed, b: Convex, pose_b: Placed) -> float:
    return distance(a, pose_a, b, pose_b).distance


def against_oracle(seed: int, pairs: int, pool_size: int) -> float:
    """Worst error against the quadratic programme and the Minkowski hull, as part of the size."""
    pool = random_pool(seed, pool_size)
    rng = np.random.default_rng(seed)
    worst = 0.0
    for k in range(pairs):
        a, pose_a, b, pose_b = random_pair(rng, pool, PLACEMENTS[k % len(PLACEMENTS)])
        size = max(extent(a), extent(b))
        u, v = world(a, pose_a, pose_a[0]), world(b, pose_b, pose_a[0])
        result = distance(a, pose_a, b, pose_b)
        error = abs(result.distance - signed_distance(u, v)) / size
        assert error <= EXACT, (seed, k, error)
        worst = max(worst, error)
    return worst


def test_agrees_with_coal() -> None:
    _, unseen = against_coal(seed=1, pairs=5_000, pool_size=120)
    assert 0 < unseen < 50  # such pairs are made, and they are few


def test_agrees_with_quadratic_programme_and_minkowski_hull() -> None:
    assert against_oracle(seed=2, pairs=300, pool_size=60) <= EXACT


@pytest.mark.slow
def test_agrees_with_coal_on_many_pairs() -> None:
    worst, unseen = against_coal(seed=3, pairs=100_000, pool_size=1_000)
    print(f"100000 pairs: worst difference {worst:.2e} of the size, {unseen} not seen")  # noqa: T201
    assert 0 < unseen < 1_000


@pytest.mark.slow
def test_agrees_with_oracle_on_many_pairs() -> None:
    worst = against_oracle(seed=4, pairs=1_000, pool_size=300)
    print(f"1000 pairs: worst error {worst:.2e} of the size")  # noqa: T201
    assert worst <= EXACT


POOL = random_pool(5, 24, low=-1.0, high=1.0)
pairs = st.builds(
    lambda seed, how: random_pair(np.random.default_rng(seed), POOL, how),
    st.integers(0, 2**32 - 1),
    st.sampled_from(PLACEMENTS),
)


@given(pairs)
def test_witnesses_lie_on_the_shapes_and_span_the_distance(
    pair: tuple[Convex, Placed, Convex, Placed],
) -> None:
    a, pose_a, b, pose_b = pair
    size = max(extent(a), extent(b))
    d, point_a, point_b, normal = distance(a, pose_a, b, pose_b)
    assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(point_b - point_a, d * normal, atol=1e-14 * size)
    for shape, pose, point in ((a, pose_a, point_a), (b, pose_b, point_b)):
        planes = shape.parts()[0].planes
        local = rotation_of(pose[1]).T @ (point - pose[0])
        height = (planes[:, :3] @ local - planes[:, 3]).max()
        # On the surface; GJK tells directions apart to the root of rounding, over the gap it opens.
        assert abs(height) <= 1e-8 * size
    # Moved apart by the depth along the normal, or together by the distance, they just touch.
    moved = (pose_b[0] - d * normal, pose_b[1])
    assert abs(distance(a, pose_a, b, moved).distance) <= 1e-11 * size


@given(pairs)
def test_swapping_the_shapes_flips_the_normal(
    pair: tuple[Convex, Placed, Convex, Placed],
) -> None:
    a, pose_a, b, pose_b = pair
    size = max(extent(a), extent(b))
    one, two = distance(a, pose_a, b, pose_b), distance(b, pose_b, a, pose_a)
    assert one.distance == pytest.approx(two.distance, abs=1e-12 * size)
    # The direction may be a choice (symmetric depth); each must be right for the other order.
    moved = (pose_b[0] + one.distance * two.normal, pose_b[1])
    assert abs(distance(a, pose_a, b, moved).distance) <= 1e-11 * size


@given(pairs, st.integers(0, 2**32 - 1))
def test_rigid_motion_and_scaling_change_nothing_else(
    pair: tuple[Convex, Placed, Convex, Placed], seed: int
) -> None:
    a, pose_a, b, pose_b = pair
    size = max(extent(a), extent(b))
    rng = np.random.default_rng(seed)
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    shift = rng.normal(size=3)
    moved = [(rotation_of(q) @ x + shift, product(q, p)) for x, p in (pose_a, pose_b)]
    d = distance(a, pose_a, b, pose_b).distance
    assert distance(a, moved[0], b, moved[1]).distance == pytest.approx(d, abs=1e-12 * size)
    s = 10.0 ** rng.uniform(-3, 3)
    grown = [Convex(s * shape.vertices) for shape in (a, b)]
    placed = [(s * x, p) for x, p in (pose_a, pose_b)]
    large = distance(grown[0], placed[0], grown[1], placed[1]).distance
    assert large == pytest.approx(s * d, abs=1e-11 * s * size)


def product(p: Array, q: Array) -> Array:
    """Hamilton product of two quaternions."""
    w, v, x, u = p[0], p[1:], q[0], q[1:]
    return np.concatenate(([w * x - v @ u], w * u + x * v + np.cross(v, u)))


CUBE = Box((2.0, 2.0, 2.0))
CORNER = (0.8880738339771153, 0.32505758367186816, -0.32505758367186816, 0.0)  # a corner down


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("position", "orientation", "expected", "normal"),
    [
        pytest.param((3.0, 0.1, 0.2), UPRIGHT, 1.0, (1, 0, 0), id="face-face"),
        pytest.param((3.0, 4.0, 0.5), UPRIGHT, np.sqrt(5.0), (1, 2, 0), id="edge-edge-parallel"),
        pytest.param((3.0, 4.0, 5.0), UPRIGHT, np.sqrt(14.0), (1, 2, 3), id="vertex-vertex"),
        pytest.param((0.1, 0.2, 2 + 3**0.5), CORNER, 1.0, (0, 0, 1), id="vertex-face"),
        pytest.param((2.0, 0.3, 0.4), UPRIGHT, 0.0, (1, 0, 0), id="touching"),
        pytest.param((1.5, 0.3, 0.4), UPRIGHT, -0.5, (1, 0, 0), id="overlapping"),
        pytest.param((0.25, 0.0, 0.0), UPRIGHT, -1.75, (1, 0, 0), id="deep"),
        pytest.param((0.1, 0.2, 3**0.5), CORNER, -1.0, (0, 0, 1), id="vertex-inside"),
    ],
)
def test_cube_on_cube(
    position: tuple[float, float, float],
    orientation: tuple[float, float, float, float],
    expected: float,
    normal: tuple[float, float, float],
) -> None:
    result = distance(CUBE, ((0.0, 0.0, 0.0), UPRIGHT), CUBE, (position, orientation))
    n = np.array(normal) / np.linalg.norm(normal)
    assert result.distance == pytest.approx(expected, abs=1e-14)
    np.testing.assert_allclose(result.normal, n, atol=1e-13)


@pytest.mark.nojit
def test_crossing_edges() -> None:
    # Two cubes turned by 45 degrees about x and about y: edges cross above one another along z.
    s, c = np.sin(np.pi / 8), np.cos(np.pi / 8)
    low, high = (c, s, 0.0, 0.0), (c, 0.0, s, 0.0)
    for gap in (0.5, -0.25):
        d, point_a, _, normal = distance(
            CUBE, ((0, 0, 0), low), CUBE, ((0.1, 0.2, 2 * 2**0.5 + gap), high)
        )
        assert d == pytest.approx(gap, abs=1e-14)
        np.testing.assert_allclose(normal, (0.0, 0.0, 1.0), atol=1e-14)
        np.testing.assert_allclose(point_a, (0.1, 0.0, 2**0.5), atol=1e-14)


@pytest.mark.nojit
def test_identical_and_contained_shapes() -> None:
    here = ((0.0, 0.0, 0.0), UPRIGHT)
    assert distance(CUBE, here, CUBE, here).distance == pytest.approx(-2.0, abs=1e-14)
    small = Box((0.2, 0.4, 0.6))
    d, _, _, normal = distance(CUBE, here, small, ((0.5, 0.0, 0.0), UPRIGHT))
    assert d == pytest.approx(-0.6, abs=1e-14)
    np.testing.assert_allclose(normal, (1.0, 0.0, 0.0), atol=1e-14)


def test_a_place_far_away_costs_no_digits() -> None:
    far = np.array([3e7, -4e7, 5e7])
    near = distance(CUBE, ((0, 0, 0), CORNER), CUBE, ((2.5, 0.5, 0.25), UPRIGHT))
    away = distance(CUBE, (far, CORNER), CUBE, (far + np.array([2.5, 0.5, 0.25]), UPRIGHT))
    assert away.distance == pytest.approx(near.distance, abs=1e-15)
    np.testing.assert_allclose(away.normal, near.normal, atol=1e-15)


def test_compound_is_the_least_over_its_parts() -> None:
    dumbbell = Compound((CUBE, CUBE), (((-3, 0, 0), UPRIGHT), ((3, 0, 0), UPRIGHT)))
    probe = Box((1.0, 1.0, 1.0))
    for x, expected in ((0.0, 1.5), (1.0, 0.5), (2.0, -0.5), (5.0, 0.5)):
        d = distance(dumbbell, ((0, 0, 0), UPRIGHT), probe, ((x, 0.0, 0.0), UPRIGHT)).distance
        assert d == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        (((0.0, np.nan, 0.0), UPRIGHT), "pose_b position"),
        (((0.0, 0.0), UPRIGHT), "pose_b position"),
        (((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)), "pose_b orientation"),
        (((0.0, 0.0, 0.0), (1.0, np.inf, 0.0, 0.0)), "pose_b orientation"),
        ((0.0, 0.0, 0.0), "pose_b"),
        (None, "pose_b"),
    ],
)
def test_bad_poses_are_refused(pose: Any, message: str) -> None:
    with pytest.raises(SceneError, match=message) as caught:
        distance(CUBE, ((0.0, 0.0, 0.0), UPRIGHT), CUBE, pose)
    assert "\n" not in str(caught.value)


def test_quaternion_is_normalised() -> None:
    here = ((0.0, 0.0, 0.0), UPRIGHT)
    one = distance(CUBE, here, CUBE, ((4.0, 1.0, 0.0), CORNER))
    two = distance(CUBE, here, CUBE, ((4.0, 1.0, 0.0), tuple(3.0 * x for x in CORNER)))
    assert one.distance == pytest.approx(two.distance, abs=1e-15)


# ---------------------------------------------------------------- curved shapes
CURVED: dict[str, Shape] = {
    "sphere": Sphere(0.3),
    "capsule": Capsule(0.1, 0.4),
    "cylinder": Cylinder(0.2, 0.5),
    "disc": Cylinder(0.4, 0.05),
    "cone": Cone(0.3, 0.4),
    "box": Box((0.3, 0.5, 0.2)),
}


def coal_shape(coal: Any, shape: Shape) -> tuple[Any, Array]:
    """A shape of Coal, and where the middle that it is centred at is in ours."""
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius), np.zeros(3)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length), np.zeros(3)
    if isinstance(shape, Cylinder):
        return coal.Cylinder(shape.radius, shape.length), np.zeros(3)
    if isinstance(shape, Cone):
        return coal.Cone(shape.radius, shape.height), np.array([0.0, 0.0, 0.25 * shape.height])
    assert isinstance(shape, Box)
    return coal.Box(*shape.size), np.zeros(3)


@pytest.mark.parametrize("second", CURVED)
@pytest.mark.parametrize("first", CURVED)
def test_curved_shapes_agree_with_coal(first: str, second: str) -> None:
    coal = Coal()
    a, b = CURVED[first], CURVED[second]
    shape_a, offset_a = coal_shape(coal.coal, a)
    shape_b, offset_b = coal_shape(coal.coal, b)
    rng = np.random.default_rng(11)
    for _ in range(20):
        pose_a, pose_b = ((rng.normal(size=3) * 0.4, unit_quaternion(rng)) for _ in range(2))
        found = distance(a, pose_a, b, pose_b)
        place_a, place_b = (
            coal.coal.Transform3s(rotation_of(q), x + rotation_of(q) @ offset)
            for (x, q), offset in ((pose_a, offset_a), (pose_b, offset_b))
        )
        theirs = coal.coal.distance(
            shape_a, place_a, shape_b, place_b, coal.request, coal.coal.DistanceResult()
        )
        if found.distance > 0.0:
            assert found.distance == pytest.approx(theirs, abs=COAL)
        else:  # EPA on curved shapes ends early: theirs is never better, and hardly worse
            assert found.distance >= theirs - 1e-3
            assert found.distance <= max(theirs, 0.0) + 1e-3


def unit_quaternion(rng: np.random.Generator) -> Array:
    q = rng.normal(size=4)
    return np.asarray(q / np.linalg.norm(q))


@pytest.mark.parametrize("second", CURVED)
@pytest.mark.parametrize("first", CURVED)
def test_curved_shapes_overlap_least_along_the_normal(first: str, second: str) -> None:
    a, b = CURVED[first], CURVED[second]
    if isinstance(a, Box) and isinstance(b, Box):
        return
    rng = np.random.default_rng(12)
    for k in range(4):
        reach = 0.5 if k % 2 else 0.05
        pose_a = (rng.normal(size=3), unit_quaternion(rng))
        pose_b = (pose_a[0] + rng.normal(size=3) * reach, unit_quaternion(rng))
        d, point_a, point_b, n = distance(a, pose_a, b, pose_b)
        p, q = (part(s, x, rotation_of(o)).exact for s, (x, o) in ((a, pose_a), (b, pose_b)))
        assert -d == pytest.approx(float(support_overlap(p, q, n[None])[0]), abs=1e-12)
        assert -d <= least_overlap(p, q).overlap + 1e-10
        # witnesses lie on the surfaces, and span the distance
        assert n @ point_a == pytest.approx(float(support_of(p, n[None])[0]), abs=1e-12)
        assert -n @ point_b == pytest.approx(float(support_of(q, -n[None])[0]), abs=1e-12)
        np.testing.assert_allclose(point_b - point_a, d * n, atol=1e-14)
        moved = distance(a, pose_a, b, (pose_b[0] - d * n, pose_b[1]))
        assert moved.distance == pytest.approx(0.0, abs=1e-9)
        # the other way round
        back = distance(b, pose_b, a, pose_a)
        assert back.distance == pytest.approx(d, abs=1e-9)


@pytest.mark.nojit
def test_curved_shapes_in_closed_form() -> None:
    ball, rod, cube = Sphere(0.3), Cylinder(0.2, 1.0), Box((1.0, 1.0, 1.0))
    lying = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    found = distance(ball, ((0, 0, 0), UPRIGHT), ball, ((0.5, 0, 0), UPRIGHT))
    assert found.distance == pytest.approx(-0.1, abs=1e-14)
    np.testing.assert_allclose(found.normal, (1, 0, 0), atol=1e-14)
    found = distance(cube, ((0, 0, 0), UPRIGHT), rod, ((0.1, 0, 0.8), lying))
    assert found.distance == pytest.approx(0.1, abs=1e-14)
    np.testing.assert_allclose(found.point_a[2], 0.5, atol=1e-14)
    # a ball in a box leaves by the nearest face, in a ball by any way
    found = distance(cube, ((0, 0, 0), UPRIGHT), ball, ((0.1, 0.2, -0.3), UPRIGHT))
    assert found.distance == pytest.approx(-0.5, abs=1e-14)
    np.testing.assert_allclose(found.normal, (0, 0, -1), atol=1e-14)
    assert distance(ball, ((0, 0, 0), UPRIGHT), ball, ((0, 0, 0), UPRIGHT)).distance == -0.6
    # a thin disc through another leaves over its end
    disc = Cylinder(0.4, 0.05)
    found = distance(disc, ((0, 0, 0), UPRIGHT), disc, ((0.1, 0, 0.01), UPRIGHT))
    assert found.distance == pytest.approx(-0.04, abs=1e-14)
    np.testing.assert_allclose(found.normal, (0, 0, 1), atol=1e-14)
    # apex of a cone above a ball
    found = distance(ball, ((0, 0, 0), UPRIGHT), Cone(0.1, 0.4), ((0, 0, 0.7), (0, 1, 0, 0)))
    assert found.distance == pytest.approx(0.1, abs=1e-14)


@pytest.mark.nojit
def test_curved_parts_of_a_compound_count_by_their_surface() -> None:
    half = np.sqrt(0.5)
    dumbbell = Compound(
        [Sphere(0.2), Sphere(0.2), Cylinder(0.05, 1.0)],
        [((-0.5, 0, 0), UPRIGHT), ((0.5, 0, 0), UPRIGHT), ((0, 0, 0), (half, 0.0, half, 0.0))],
    )
    floor = Box((4.0, 4.0, 1.0))
    for turn, height in ((UPRIGHT, 0.2), ((half, 0.0, half, 0.0), 0.7)):
        found = distance(floor, ((0, 0, -0.5), UPRIGHT), dumbbell, ((0, 0, 1.0), turn))
        assert found.distance == pytest.approx(1.0 - height, abs=1e-14)
    ball = Sphere(0.1)
    found = distance(dumbbell, ((0, 0, 0), UPRIGHT), ball, ((0.1, 0, 0.3), UPRIGHT))
    assert found.distance == pytest.approx(0.15, abs=1e-14)
