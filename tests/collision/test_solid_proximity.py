"""Signed distance from curved solids, and pairs of surfaces with them."""

from __future__ import annotations

import numpy as np
import pytest
from collision.meshes import Mesh, box, bumpy, patch, ring
from collision.rows import ROOM, Row, check, poisoned, rows_of, settle, surfaces
from collision.solids import Part, about, part, random_shape, random_turn
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.collision.distance import solid
from tangere.collision.feature_pairs import (
    EDGE_SOLID,
    FACE_SOLID,
    FULL,
    VERTEX_SOLID,
    FeaturePairs,
    Limits,
    clear_pairs,
)
from tangere.collision.solid_proximity import MAX_RESTING, solid_distance, solid_pairs
from tangere.collision.surfaces import Surfaces
from tangere.geometry.curve import BALL, CAPSULE, CYLINDER, Curve
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Capsule, Cone, Cylinder, Shape, Sphere
from tangere.maths.vec import Vec3

Array = NDArray[np.float64]

KINDS = ("ball", "capsule", "cylinder", "cone")
NUMBER = 3


@kernel
def measure(hull: Polyhedron, row: Array, x: Array, d: Array, g: Array) -> None:
    a = solid(hull, row)
    for i in range(len(x)):
        d[i], at = solid_distance(a, (x[i, 0], x[i, 1], x[i, 2]))
        g[i, 0], g[i, 1], g[i, 2] = at


@kernel
def of_solid(
    s: Surfaces,
    hull: Polyhedron,
    row: Array,
    number: int,
    reach: float,
    depth: float,
    out: FeaturePairs,
) -> int:
    q = pointers(out)
    clear_pairs(q)
    return solid_pairs(pointers(s), 0, solid(hull, row), number, Limits(reach, depth), q)


def distances(p: Part, x: Array) -> tuple[Array, Array]:
    d, g = np.zeros(len(x)), np.zeros((len(x), 3))
    measure(p.hull, p.row, np.ascontiguousarray(x, float), d, g)
    return d, g


def pairs(s: Surfaces, b: Part, reach: float = 1e-3, depth: float = 2e-3) -> list[Row]:
    """Rows of surface 0 and a solid, checked: what lies on b is on its surface."""
    out = poisoned(ROOM)
    count = of_solid(s, b.hull, b.row, NUMBER, reach, depth, out)
    assert out.filled[FULL] == 0
    found = rows_of(out, count)
    check(s, found, reach, depth)
    for row in found:
        d, _ = distances(b, row.on_b[None])
        assert abs(d[0]) < 1e-14
        assert row.key[2] // MAX_RESTING == NUMBER
        assert row.nodes[3:] == (-1, -1, -1)
    return found


def kinds(rows: list[Row]) -> list[int]:
    return [row.key[0] for row in rows]


# ---------------------------------------------------------------- distance


def profile(curve: Curve) -> Array:
    """Outline of a cylinder or cone in (along, off the axis): a closed polygon, mirrored."""
    h, r = curve.half, curve.radius
    if curve.kind == CYLINDER:
        return np.array([[-h, -r], [h, -r], [h, r], [-h, r]])
    return np.array([[-h, -r], [h, 0.0], [-h, r]])


def slow_distance(curve: Curve, x: Array) -> Array:
    """By segments: to the spine of a ball or capsule, to the outline of what else there is."""
    q = x - curve.centre
    z = q @ curve.axis
    r = np.linalg.norm(q - z[:, None] * curve.axis, axis=1)
    if curve.kind in (BALL, CAPSULE):
        return np.asarray(np.hypot(np.maximum(np.abs(z) - curve.half, 0.0), r) - curve.radius)
    at, outline = np.column_stack((z, r)), profile(curve)
    best, inside = np.full(len(x), np.inf), np.ones(len(x), bool)
    for a, b in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        way = b - a
        share = np.clip((at - a) @ way / (way @ way), 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(at - a - share[:, None] * way, axis=1))
        inside &= way[0] * (at[:, 1] - a[1]) - way[1] * (at[:, 0] - a[0]) >= 0.0
    return np.where(inside, -best, best)


def places(curve: Curve, rng: np.random.Generator, count: int) -> Array:
    """Points all around, on the axis, at rims, apex and ends, and a hair off them."""
    a, c = curve.axis, curve.centre
    t = np.cross(a, [0.3, 0.5, 0.8])
    t /= np.linalg.norm(t)
    special = [c, c + curve.half * a, c - curve.half * a]
    special += [c + s * curve.half * a + curve.radius * t for s in (-1.0, 0.0, 1.0)]
    special += [c + s * a for s in (-2.0, -0.3, 0.3, 2.0)]
    exact = np.array(special)
    near = [exact + size * rng.normal(size=exact.shape) for size in (1e-12, 1e-6, 1e-3)]
    return np.concatenate((exact, *near, c + rng.uniform(-1.5, 1.5, (count, 3))))


def surface_samples(curve: Curve, count: int) -> Array:
    """Points of the surface, a dense grid of its outline turned round the axis."""
    h, r = curve.half, curve.radius
    if curve.kind in (BALL, CAPSULE):
        phi = np.linspace(0.0, np.pi, count)
        line = np.column_stack(
            (np.cos(phi) * r + np.where(phi < np.pi / 2, h, -h), np.sin(phi) * r)
        )
        side = np.column_stack((np.linspace(-h, h, count), np.full(count, r)))
        line = np.concatenate((line, side))
    else:
        outline = profile(curve)
        u = np.linspace(0.0, 1.0, count)[:, None]
        sides = zip(outline, np.roll(outline, -1, axis=0), strict=True)
        line = np.concatenate([p + u * (q - p) for p, q in sides])
    t = np.cross(curve.axis, [0.3, 0.5, 0.8])
    t /= np.linalg.norm(t)
    b = np.cross(curve.axis, t)
    angle = np.linspace(0.0, 2 * np.pi, 2 * count, endpoint=False)
    radial = np.cos(angle)[:, None] * t + np.sin(angle)[:, None] * b
    points = line[:, None, :1] * curve.axis + line[:, None, 1:] * radial[None]
    return np.asarray(curve.centre + points.reshape(-1, 3))


def curve_of(p: Part) -> Curve:
    assert isinstance(p.exact, Curve)
    return p.exact


@pytest.mark.nojit
@pytest.mark.parametrize("kind", KINDS)
def test_distance_is_that_of_the_outline(kind: str) -> None:
    """Inside, outside, at axis, rims and apex; the gradient leads to the surface."""
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(4):
        p = part(random_shape(rng, kind), rng.normal(size=3), random_turn(rng))
        x = places(curve_of(p), rng, 60)
        d, g = distances(p, x)
        # coordinates are up to 4 m
        assert d == pytest.approx(slow_distance(curve_of(p), x), abs=1e-14)
        assert np.linalg.norm(g, axis=1) == pytest.approx(1.0, abs=1e-12)
        foot, _ = distances(p, x - d[:, None] * g)
        # 1e-12 from a centre or an axis a direction has four digits: 0.5 m on, that is 5e-9 m off
        assert foot == pytest.approx(0.0, abs=1e-8)
        assert np.median(np.abs(foot)) < 1e-15
        assert (d < -1e-3).any()
        assert (d > 1e-3).any()


@pytest.mark.parametrize("kind", KINDS)
def test_distance_and_gradient_by_samples_and_differences(kind: str) -> None:
    rng = np.random.default_rng(10 + KINDS.index(kind))
    p = part(random_shape(rng, kind), rng.normal(size=3), random_turn(rng))
    curve = curve_of(p)
    x = places(curve, rng, 100)
    d, g = distances(p, x)
    samples = surface_samples(curve, 200)
    nearest = np.array([np.linalg.norm(samples - each, axis=1).min() for each in x])
    # samples are 1/200 of an outline of up to 4 m apart at most: they err outwards, by half of it
    assert (nearest >= np.abs(d) - 1e-12).all()
    assert (nearest <= np.abs(d) + 0.02).all()
    step = 1e-6
    numeric = np.zeros_like(g)
    bent = np.zeros(len(x))
    for i in range(3):
        ahead, behind = (distances(p, x + s * step * np.eye(3)[i])[0] for s in (1.0, -1.0))
        numeric[:, i] = (ahead - behind) / (2 * step)
        bent = np.maximum(bent, np.abs(ahead + behind - 2 * d) / step)
    # where a kink is within the step the difference is no gradient; curvature is 10 or less
    smooth = bent < 1e-4
    assert smooth.sum() > 60
    assert numeric[smooth] == pytest.approx(g[smooth], abs=1e-4)
    # elsewhere g is a subgradient of a convex function, as everywhere
    for y in x[rng.permutation(len(x))[:20]]:
        dy, _ = distances(p, y[None])
        assert (dy[0] >= d + np.einsum("ij,ij->i", g, y - x) - 1e-8).all()


@pytest.mark.nojit
def test_normals_where_there_is_more_than_one() -> None:
    """At a rim the middle, at an apex the axis, on an axis some normal of the nearest surface."""
    h = 0.5**0.5
    cases: list[tuple[Shape, Vec3, float, Vec3]] = [
        (Cylinder(0.1, 0.4), (0.1, 0.0, 0.2), 0.0, (h, 0.0, h)),
        (Cylinder(0.1, 0.4), (0.0, 0.0, 0.19), -0.01, (0.0, 0.0, 1.0)),
        (Cylinder(0.1, 0.4), (0.0, 0.0, -0.3), 0.1, (0.0, 0.0, -1.0)),
        (Cylinder(0.1, 0.4), (0.13, 0.0, 0.24), 0.05, (0.6, 0.0, 0.8)),
        (Capsule(0.1, 0.4), (0.0, 0.0, 0.5), 0.2, (0.0, 0.0, 1.0)),
    ]
    for shape, x, d, g in cases:
        got, normal = distances(part(shape), np.array([x]))
        assert got[0] == pytest.approx(d, abs=1e-15)
        assert normal[0] == pytest.approx(g, abs=1e-15)
    cone = part(Cone(0.1, 0.2))
    curve = curve_of(cone)
    apex, base = curve.centre + curve.half * curve.axis, curve.centre - curve.half * curve.axis
    rim, tip = base + np.array([0.1, 0.0, 0.0]), apex + np.array([0.0, 0.0, 0.01])
    s, c = 0.1 / np.hypot(0.1, 0.2), 0.2 / np.hypot(0.1, 0.2)
    middle = np.array([c, 0.0, s - 1.0]) / np.hypot(c, s - 1.0)
    got, normal = distances(cone, np.array([apex, base - [0, 0, 0.03], rim, tip]))
    assert got == pytest.approx((0.0, 0.03, 0.0, 0.01), abs=1e-15)
    assert normal == pytest.approx(np.array([[0, 0, 1], [0, 0, -1], middle, [0, 0, 1]]), abs=1e-9)
    shapes: list[Shape] = [Sphere(0.1), Capsule(0.1, 0.4), Cylinder(0.1, 0.4)]
    for shape in shapes:
        got, normal = distances(part(shape), np.zeros((1, 3)))
        assert got[0] == pytest.approx(-0.1, abs=1e-15)
        assert np.linalg.norm(normal[0]) == pytest.approx(1.0)
        assert normal[0, 2] == pytest.approx(0.0, abs=1e-15)


# ---------------------------------------------------------------- one feature each


def floor(cells: tuple[int, int], size: float = 0.06) -> Mesh:
    return patch(cells, (size, size))


@pytest.mark.nojit
@pytest.mark.parametrize("gap", [-1e-4, 0.0, 5e-4])
def test_ball_above_a_face(gap: float) -> None:
    """Between the vertices of a coarse triangle; by an edge if it is above one; by a vertex."""
    r = 0.005
    for place, kind in (
        ((0.02, 0.01), FACE_SOLID),
        ((0.01, 0.01), EDGE_SOLID),  # the diagonal
        ((0.0, 0.013), EDGE_SOLID),
        ((0.0, 0.0), VERTEX_SOLID),
    ):
        s = surfaces(floor((2, 2)))
        (row,) = pairs(s, part(Sphere(r), (*place, r + gap)))
        assert row.key[0] == kind
        assert row.gap == pytest.approx(gap, abs=1e-12)
        assert row.normal == pytest.approx((0.0, 0.0, 1.0), abs=1e-5)
        # along an edge the search ends where the slope is 1e-6
        assert row.on_a == pytest.approx((*place, 0.0), abs=1e-8)


@pytest.mark.nojit
def test_ball_over_a_ridge_and_beside_a_corner() -> None:
    r, gap = 0.005, 3e-4
    s = surfaces(box((0.04, 0.04, 0.04)))
    h = (r + gap) * 0.5**0.5
    (row,) = pairs(s, part(Sphere(r), (0.02 + h, 0.003, 0.02 + h)))
    assert row.key[0] == EDGE_SOLID
    assert row.gap == pytest.approx(gap, abs=1e-12)
    h = (r + gap) / 3**0.5
    (row,) = pairs(s, part(Sphere(r), (0.02 + h, 0.02 + h, 0.02 + h)))
    assert row.key[0] == VERTEX_SOLID
    assert row.gap == pytest.approx(gap, abs=1e-15)
    assert row.normal == pytest.approx(np.full(3, 3**-0.5), abs=1e-12)


@pytest.mark.nojit
@pytest.mark.parametrize("shape", [Capsule(0.004, 0.01), Cylinder(0.004, 0.01)])
def test_what_lies_on_a_face_has_both_ends(shape: Shape) -> None:
    """The line of 10 mm is inside one triangle; tilted, its lower end is the nearer one."""
    gap = 2e-4
    s = surfaces(floor((2, 2)))
    found = pairs(s, part(shape, (0.02, 0.01, 0.004 + gap), about("y", 90.0)))
    assert kinds(found) == [FACE_SOLID] * 2
    assert sorted(row.on_a[0] for row in found) == pytest.approx([0.015, 0.025], abs=1e-12)
    for row in found:
        assert row.gap == pytest.approx(gap, abs=1e-15)
        assert row.on_a[1] == pytest.approx(0.01)
    tilted = pairs(s, part(shape, (0.02, 0.01, 0.0045 + gap), about("y", 93.0)))
    assert len(tilted) == 2
    gaps = sorted(row.gap for row in tilted)
    higher = 0.01 * np.sin(np.radians(3.0))
    if isinstance(shape, Capsule):  # its lower end is round
        higher += 0.004 * (1.0 - np.cos(np.radians(3.0)))
    assert gaps[1] - gaps[0] == pytest.approx(higher, abs=1e-12)


@pytest.mark.nojit
def test_a_long_cylinder_meets_the_edges_below_it() -> None:
    """Across a plate of coarse triangles: its line is level, so every edge it crosses counts."""
    gap, r = 3e-4, 0.004
    s = surfaces(floor((2, 2)))
    found = pairs(s, part(Cylinder(r, 0.2), (0.0, 0.011, r + gap), about("y", 90.0)))
    # edges along y at x = −30, 0, 30 mm, two diagonals
    assert kinds(found) == [EDGE_SOLID] * 5
    for row in found:
        assert row.gap == pytest.approx(gap, abs=1e-12)
        assert row.on_a[1] == pytest.approx(0.011, abs=1e-8)


@pytest.mark.nojit
def test_a_cylinder_along_an_edge_has_both_its_ends() -> None:
    gap, r = 2e-4, 0.003
    s = surfaces(box((0.04, 0.04, 0.04)))
    lying = about("x", 90.0)
    h = (r + gap) * 0.5**0.5
    found = pairs(s, part(Cylinder(r, 0.01), (0.02 + h, 0.002, 0.02 + h), lying))
    assert kinds(found) == [EDGE_SOLID] * 2
    assert sorted(row.on_a[1] for row in found) == pytest.approx([-0.003, 0.007], abs=1e-6)
    for row in found:
        assert row.gap == pytest.approx(gap, abs=1e-12)


@pytest.mark.nojit
def test_standing_cylinder_rests_on_its_rim_or_on_vertices() -> None:
    """In one coarse triangle six points of the rim; on a fine face its vertices below the disc."""
    gap, r = 2e-4, 0.004
    stands = part(Cylinder(r, 0.01), (0.02, 0.01, 0.005 + gap))
    rim = pairs(surfaces(floor((2, 2))), stands)
    assert kinds(rim) == [FACE_SOLID] * 6
    for row in rim:
        assert row.gap == pytest.approx(gap, abs=1e-15)
        assert np.hypot(row.on_a[0] - 0.02, row.on_a[1] - 0.01) == pytest.approx(r, abs=1e-12)
    s = surfaces(floor((40, 40)))
    fine = [row for row in pairs(s, stands, reach=3e-4) if row.key[0] == VERTEX_SOLID]
    below = np.hypot(s.now[:, 0] - 0.02, s.now[:, 1] - 0.01) <= r
    assert {row.key[1] for row in fine} >= set(np.flatnonzero(below))
    for row in fine:
        if below[row.key[1]]:
            assert row.gap == pytest.approx(gap, abs=1e-15)


@pytest.mark.nojit
def test_cone_on_its_apex_its_side_and_its_base() -> None:
    gap = 2e-4
    s = surfaces(floor((2, 2)))
    shape = Cone(0.004, 0.01)
    down = part(shape, (0.0, 0.0, 0.0), about("x", 180.0))
    apex = curve_of(down).centre + curve_of(down).half * curve_of(down).axis
    (row,) = pairs(s, part(shape, np.array([0.02, 0.01, gap]) - apex, about("x", 180.0)))
    assert row.key[0] == FACE_SOLID
    assert row.gap == pytest.approx(gap, abs=1e-15)
    upright = part(shape)
    base = curve_of(upright).centre - curve_of(upright).half * curve_of(upright).axis
    found = pairs(s, part(shape, np.array([0.02, 0.01, gap]) - base))
    assert kinds(found) == [FACE_SOLID] * 6
    # on its side: turned from the axis up to the axis level, and on by the half angle
    turn = about("y", 90.0 + np.degrees(np.arctan2(0.004, 0.01)))
    lying = part(shape, (0.0, 0.0, 0.0), turn)
    low = surface_samples(curve_of(lying), 400)[:, 2].min()
    found = pairs(s, part(shape, (0.02, 0.01, gap - low), turn))
    assert kinds(found) == [FACE_SOLID] * 2
    for row in found:
        assert row.gap == pytest.approx(gap, abs=1e-7)  # the samples miss the lowest line


@pytest.mark.nojit
def test_a_solid_behind_a_face_or_beside_a_wall_is_no_pair() -> None:
    """A small ball below an open patch; vertices on walls that look past the solid."""
    assert pairs(surfaces(floor((2, 2))), part(Sphere(5e-4), (0.02, 0.01, -7e-4))) == []
    s = surfaces(box((0.02, 0.02, 0.02), (1, 1, 40)))
    found = pairs(s, part(Cylinder(0.1, 0.02), (0.0, 0.0, -0.0203)), reach=2e-3)
    assert {float(row.on_a[2]) for row in found} == {-0.01}


@pytest.mark.nojit
def test_above_a_sharp_edge_nothing_is_behind_the_face_below() -> None:
    """A wedge of 45° with its edge along y; a capsule on top of it, and over the edge."""
    x = 0.01
    points = np.array([[0, -x, 0], [0, x, 0], [-x, -x, 0], [-x, x, 0], [-x, -x, -x], [-x, x, -x]])
    faces = [[0, 1, 3], [0, 3, 2], [1, 0, 4], [1, 4, 5], [2, 3, 5], [2, 5, 4], [1, 5, 3], [0, 2, 4]]
    s = surfaces((points, np.array(faces, np.int32)))
    r, gap = 2e-4, 1e-4
    left, right = np.array([-1e-3, 2e-3, r + gap]), np.array([1.5e-3, 2e-3, 1e-3])
    way = right - left
    turn = Rotation.align_vectors([way], [[0, 0, 1]])[0].as_matrix()
    b = part(Capsule(r, float(np.linalg.norm(way))), 0.5 * (left + right), turn)
    found = pairs(s, b)
    assert min(row.gap for row in found) == pytest.approx(gap, abs=1e-12)
    assert {row.key[1] for row in found if row.key[0] == FACE_SOLID} <= {0, 1}


@pytest.mark.nojit
def test_tip_of_a_cone_over_an_edge_and_at_its_end() -> None:
    """The distance has a kink there; within a thousandth of the end the vertex is the feature."""
    gap, shape = 2e-6, Cone(0.004, 0.01)
    down = part(shape, (0.0, 0.0, 0.0), about("x", 180.0))
    apex = curve_of(down).centre + curve_of(down).half * curve_of(down).axis
    s = surfaces(floor((2, 2)))
    for y, kinds_there in ((0.012, [EDGE_SOLID]), (2e-5, [VERTEX_SOLID])):
        b = part(shape, np.array([0.0, y, gap]) - apex, about("x", 180.0))
        found = pairs(s, b, reach=3e-5)
        assert kinds(found) == kinds_there
        if y > 1e-3:  # at the end the side of the cone is nearer than its tip
            assert found[0].gap == pytest.approx(gap, rel=1e-6)


@pytest.mark.nojit
def test_edges_out_of_reach_or_looking_elsewhere() -> None:
    """Just beyond the reach; above a ridge of which one face alone looks there; a blade, whose
    faces both look aside; and the same from behind."""
    r = 0.005
    s = surfaces(floor((2, 2)))
    assert pairs(s, part(Sphere(r), (0.0, 0.013, r + 1.01e-3))) == []
    cube = surfaces(box((0.04, 0.04, 0.04)))
    for place in ((0.02, 0.003, 0.02 + r), (0.003, 0.02, 0.02 + r), (0.02 + r, 0.003, 0.02)):
        assert kinds(pairs(cube, part(Sphere(r), place))) == [EDGE_SOLID]
    x, y = 0.02, 0.002
    points = np.array([[-x, 0, 0], [x, 0, 0], [x, y, -x], [-x, y, -x], [x, -y, -x], [-x, -y, -x]])
    faces = np.array([[0, 1, 2], [0, 2, 3], [1, 0, 5], [1, 5, 4]], np.int32)
    ball = part(Sphere(r), (0.001, 0.0, r + 2e-4))
    assert kinds(pairs(surfaces((points, faces)), ball)) == [EDGE_SOLID]
    inside_out = surfaces((points, np.ascontiguousarray(faces[:, ::-1])))
    assert pairs(inside_out, ball) == []


@pytest.mark.nojit
def test_an_upright_capsule_has_one_point() -> None:
    s = surfaces(floor((2, 2)))
    (row,) = pairs(s, part(Capsule(0.004, 0.01), (0.02, 0.01, 0.009 + 2e-4)))
    assert row.key[0] == FACE_SOLID
    assert row.gap == pytest.approx(2e-4, abs=1e-15)


@pytest.mark.nojit
def test_a_surface_squeezed_to_a_line_breaks_nothing() -> None:
    s = surfaces(box((0.02, 0.02, 0.02), (2, 2, 2)))
    s.displacement[:, 1:] = -s.rest[:, 1:]
    settle(s, 0, np.zeros(3), np.eye(3))
    for shape in (Sphere(0.005), Cylinder(0.005, 0.03)):
        # without area it looks nowhere, and touches nothing
        assert pairs(s, part(shape, (0.001, 0.0, 0.0051))) == []


# ---------------------------------------------------------------- whole bodies


def small_shape(kind: str, rng: np.random.Generator) -> Shape:
    """Of 2 to 10 mm."""
    radius, length = rng.uniform(0.002, 0.01), rng.uniform(0.004, 0.02)
    if kind == "ball":
        return Sphere(radius)
    if kind == "capsule":
        return Capsule(radius, length)
    return Cylinder(radius, length) if kind == "cylinder" else Cone(radius, length)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [4e-4, 0.0, -3e-4])
def test_the_smallest_gap_is_the_least_distance_on_the_surface(kind: str, target: float) -> None:
    """Against a search in all triangles; both may be off by a micrometre."""
    rng = np.random.default_rng(30 + KINDS.index(kind))
    for _ in range(5):
        s = surfaces(bumpy(box((0.04, 0.03, 0.02), (4, 3, 2)), rng, 1e-3))
        shape, turn, way = small_shape(kind, rng), random_turn(rng), rng.normal(size=3)
        way /= np.linalg.norm(way)
        far = 0.06  # from outside: inside the box it would be free again
        for step in (2e-3, 2e-4, 2e-5):
            while least_distance(s, part(shape, far * way, turn), target) > target:
                far -= step
            far += step
        b = part(shape, far * way, turn)
        found = min(row.gap for row in pairs(s, b, reach=1e-3, depth=0.02))
        least = least_distance(s, b)
        if target >= 0.0:
            assert found == pytest.approx(least, abs=2e-6)
        else:
            # a face has the depth along its normal, which is greater, but a tip that is within a
            # thousandth of an edge leaves it to the edge, which has less
            assert found < 0.5 * least


def least_distance(s: Surfaces, b: Part, enough: float | None = None) -> float:
    """Least distance of a surface from a solid: triangles are cut in four down to a micrometre.

    What cannot hold the least is dropped: the distance changes by no more than the way. `enough`:
    only which side of this the least is on matters.
    """
    corners, best = s.now[s.triangles], np.inf
    while len(corners):
        middle = corners.mean(axis=1)
        size = np.linalg.norm(corners - middle[:, None], axis=2).max(axis=1)
        d = distances(b, np.concatenate((middle, *np.swapaxes(corners, 0, 1))))[0]
        best = min(best, float(d.min()))
        lowest = d[: len(middle)] - size
        if size.max() < 1e-6 or (enough is not None and (best <= enough or lowest.min() > enough)):
            break
        keep = corners[lowest < best]
        halves = 0.5 * (keep + np.roll(keep, -1, axis=1))
        outer = [np.stack((keep[:, k], halves[:, k], halves[:, k - 1]), axis=1) for k in range(3)]
        corners = np.concatenate((halves, *outer))
    return best


@pytest.mark.parametrize("kind", KINDS)
def test_vertices_have_the_distance_of_the_solid(kind: str) -> None:
    """Every vertex within the limits that looks there, and no other."""
    rng = np.random.default_rng(50 + KINDS.index(kind))
    s = surfaces(bumpy(ring((0.010, 0.012), 0.008, 0.9, (24, 1, 6)), rng, 2e-4))
    shape = {
        "ball": Sphere(0.0098),
        "capsule": Capsule(0.0098, 0.02),
        "cylinder": Cylinder(0.0098, 0.03),
        "cone": Cone(0.012, 0.06),
    }[kind]
    b = part(shape, (1e-4, 0.0, 0.0))
    reach, depth = 5e-4, 1e-3
    found = {row.key[1]: row for row in pairs(s, b, reach, depth) if row.key[0] == VERTEX_SOLID}
    d, g = distances(b, s.now)
    inner = np.hypot(s.rest[:, 0], s.rest[:, 1]) < 0.011
    expected = np.flatnonzero((d <= reach) & (d >= -depth) & inner)
    assert set(found) == set(expected)
    assert len(found) > 10
    for v, row in found.items():
        assert row.gap == pytest.approx(d[v], abs=1e-15)
        assert row.normal == pytest.approx(-g[v], abs=1e-15)


def test_the_same_rows_in_a_turned_world() -> None:
    rng = np.random.default_rng(70)
    mesh = bumpy(ring((0.010, 0.012), 0.008, 0.9, (24, 1, 6)), rng, 2e-4)
    turn, shift = Rotation.random(rng=rng), np.array([0.3, -0.2, 0.5])
    for shape in (Sphere(0.0098), Cylinder(0.0098, 0.03), Cone(0.012, 0.06)):
        s = surfaces(mesh)
        here = pairs(s, part(shape, (1e-4, 0.0, 0.0)))
        settle(s, 0, shift, turn.as_matrix())
        moved = part(shape, turn.apply([1e-4, 0.0, 0.0]) + shift, turn.as_matrix())
        there = pairs(s, moved)
        assert [row.key for row in here] == [row.key for row in there]
        for p, q in zip(here, there, strict=True):
            assert p.gap == pytest.approx(q.gap, abs=1e-13)
            assert turn.apply(p.normal) == pytest.approx(q.normal, abs=1e-6)
