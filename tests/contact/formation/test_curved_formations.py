"""Pens in bowls, rings on planes and rods: which contacts hold together, and which are none."""

from __future__ import annotations

import numpy as np
import pytest

import tangere as tg
from tangere._jit import kernel
from tangere._ptr import pointers, ptr
from tangere.contact.formation.candidates import Surface, place, placed, surface_of
from tangere.contact.formation.columns import (
    LINE,
    PC_COUNT,
    PC_GAP,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_POLYGON_GAP,
    PC_REGION,
    PLANE,
    POINT,
)
from tangere.contact.formation.identify import Formations
from tangere.contact.formation.overlap import is_overlap, overlap
from tangere.geometry.boundary import boundary_of, half_space
from tangere.geometry.curved_boundary import profile_of
from tangere.geometry.curved_solid import CurvedSolid, bowl, pen, pipe
from tangere.geometry.patches import patch_points, signed_distances
from tangere.maths.quat import Quat
from tangere.maths.rotations import quat_product, rotation_of
from tangere.maths.vec import Array, IntArray, Vec3

pytestmark = pytest.mark.nojit

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
FOCAL = 25e-3
TIP, SHAFT = 1e-3, 4e-3
GAP = 5e-4
RIM = np.array([40e-3, 0.0, 40e-3**2 / (4.0 * FOCAL)])
RING, TUBE = 20e-3, 5e-3
POSES = 60


@kernel
def cuts(body: Surface, world: Surface, fixed: Surface, lists: IntArray, at: Vec3, q: Quat) -> bool:
    """Whether a body at a pose overlaps another one."""
    place(pointers(body), at, q, pointers(world))
    return overlap(pointers(world), pointers(fixed), ptr(lists), 1e-5)


@kernel
def is_one(a: Surface, i: int, b: Surface, j: int, on_a: Vec3, on_b: Vec3) -> bool:
    """Whether an overlap of two elements is one."""
    return is_overlap(pointers(a), i, pointers(b), j, on_a, on_b)


def turn(axis: tuple[float, float, float], degrees: float) -> Array:
    half, way = 0.5 * np.deg2rad(degrees), np.asarray(axis, float)
    return np.array([np.cos(half), *(np.sin(half) * way / np.linalg.norm(way))])


def pen_in_bowl(wall: float = 5e-3) -> Formations:
    return Formations(
        boundary_of(pen()), [(boundary_of(bowl(wall=wall)), ((0, 0, 0), UPRIGHT))],
        names=("pen", "bowl"),
    )  # fmt: skip


def ring() -> CurvedSolid:
    """A torus about z."""
    arcs = [("arc", RING - TUBE, 0.0, TUBE), ("arc", RING + TUBE, 0.0, TUBE)]
    return CurvedSolid((("start", RING + TUBE, 0.0), *arcs))


def on_floor(shape: tg.Shape, name: str) -> Formations:
    return Formations(
        boundary_of(shape), [(half_space(), ((0, 0, 0), UPRIGHT))], names=(name, "floor")
    )


def inwards(r: float) -> Array:
    """Normal of the paraboloid at a radius, into the bowl."""
    n = np.array([-r, 0.0, 2.0 * FOCAL])
    return np.asarray(n / np.linalg.norm(n))


def tip_centre(r: float) -> Array:
    """Of a pen whose tip is a gap above the bowl at a radius."""
    return np.array([r, 0.0, r * r / (4.0 * FOCAL)]) + (TIP + GAP) * inwards(r)


@pytest.mark.parametrize("r", [0.0, 5e-3, 2e-2, 3.5e-2, 3.9e-2])
@pytest.mark.parametrize("wall", [1e-3, 2e-3, 5e-3])
def test_the_tip_of_a_pen_in_a_bowl(r: float, wall: float) -> None:
    """One point on the paraboloid; the outside of the bowl, a wall further, is no contact."""
    f = pen_in_bowl(wall)
    rows, valid = f.find(tip_centre(r) - (0.0, 0.0, TIP), UPRIGHT)
    assert valid
    assert f.describe(rows) == ("pen tip on bowl inside",)
    assert rows[0][PC_REGION] == POINT
    assert rows[0][PC_GAP] == pytest.approx(GAP, abs=1e-9)
    np.testing.assert_allclose(rows[0][PC_NORMAL : PC_NORMAL + 3], inwards(r), atol=1e-6)
    np.testing.assert_allclose(
        rows[0][PC_POINT : PC_POINT + 3], [r, 0.0, r * r / (4.0 * FOCAL)], atol=1e-8
    )
    f.forget()
    rows, valid = f.find((0.0, 0.0, 1.5e-3), UPRIGHT)  # free, nearer than many walls are thick
    assert valid
    assert len(rows) == 0


def leaning(r: float) -> tuple[Array, Array]:
    """A pen with its tip in the bowl and its shaft a gap above the rim."""
    centre = tip_centre(r)
    way = RIM - centre
    tilt = np.arctan2(way[0], way[2]) - np.arcsin((SHAFT + GAP) / np.linalg.norm(way))
    up = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    return centre - TIP * up, turn((0, 1, 0), float(np.rad2deg(tilt)))


def test_a_pen_leans_on_the_rim() -> None:
    f = pen_in_bowl()
    rows, valid = f.find(*leaning(0.0))
    assert valid
    assert f.describe(rows) == (
        "pen tip on bowl inside",
        "pen shaft on bowl edge outside inside",
    )
    assert rows[:, PC_REGION].tolist() == [POINT, POINT]
    np.testing.assert_allclose(rows[:, PC_GAP], GAP, atol=1e-9)
    np.testing.assert_allclose(rows[1][PC_POINT : PC_POINT + 3], RIM, atol=1e-9)


def test_a_pen_that_lies_low_touches_with_the_edge_of_its_shaft_too() -> None:
    """Rim and bowl belong together, as do shaft and edge, but not 20 mm apart."""
    f = pen_in_bowl()
    rows, valid = f.find(*leaning(0.01))
    assert valid
    assert f.describe(rows) == (
        "pen edge cone shaft on bowl inside",
        "pen tip on bowl inside",
        "pen shaft on bowl edge outside inside",
    )
    assert rows[:, PC_REGION].tolist() == [POINT] * 3


def test_a_pen_rolls_from_tip_to_cone_without_a_break() -> None:
    """Over the smooth circle between them, on a floor: there is one contact all the time."""
    f = on_floor(pen(), "pen")
    seen = []
    for degrees in np.linspace(0.0, 74.0, 60):
        t = np.deg2rad(degrees)
        up = np.array([np.sin(t), 0.0, np.cos(t)])
        low = TIP * (1.0 - up[2])  # of the tip, from where it would be upright
        rows, valid = f.find((0.0, 0.0, low), turn((0, 1, 0), degrees))
        assert valid
        assert len(rows) == 1
        seen.append(f.describe(rows)[0])
    assert seen[0] == "pen tip on floor"


@pytest.mark.parametrize("degrees", [0.0, 0.5, 1.0])
def test_a_ring_lies_flat(degrees: float) -> None:
    """The region is the disc within the circle of its lowest points."""
    f = on_floor(ring(), "ring")
    rise = RING * np.sin(np.deg2rad(degrees))
    rows, valid = f.find((0.0, 0.0, TUBE + 3e-4 + rise), turn((0, 1, 0), degrees))
    assert valid
    assert f.describe(rows) == ("ring on floor",)
    row = rows[0]
    assert row[PC_REGION] == PLANE
    count = int(row[PC_COUNT])
    points = row[PC_POLYGON : PC_POLYGON + 3 * count].reshape(-1, 3)
    np.testing.assert_allclose(points[:, 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), RING, rtol=2e-3)
    assert np.cross(points, np.roll(points, -1, axis=0))[:, 2].min() > 0.0
    gaps = row[PC_POLYGON_GAP : PC_POLYGON_GAP + count]
    assert gaps.min() == pytest.approx(3e-4, abs=1e-5)
    assert gaps.max() == pytest.approx(3e-4 + 2.0 * rise, abs=1e-5)
    np.testing.assert_allclose(row[PC_POINT : PC_POINT + 3], 0.0, atol=1e-4)


@pytest.mark.parametrize("degrees", [4.0, 30.0, 89.0, 90.0])
def test_a_tilted_ring_touches_in_a_point(degrees: float) -> None:
    f = on_floor(ring(), "ring")
    t = np.deg2rad(degrees)
    rows, valid = f.find((0.0, 0.0, TUBE + 3e-4 + RING * np.sin(t)), turn((0, 1, 0), degrees))
    assert valid
    assert len(rows) == 1
    assert rows[0][PC_REGION] == POINT
    assert rows[0][PC_GAP] == pytest.approx(3e-4, abs=1e-9)
    assert abs(rows[0][PC_POINT]) == pytest.approx(RING * np.cos(t), abs=1e-8)


@pytest.mark.parametrize("aside", [0.0, 0.003, 0.012])
def test_a_ring_on_a_rod(aside: float) -> None:
    """It hangs from the rod, or lies across it; the crossing is where tube and rod cross."""
    rod = boundary_of(tg.Cylinder(0.008, 0.4))
    f = Formations(boundary_of(ring()), [(rod, ((0, 0, 0), turn((0, 1, 0), 90.0)))])
    rows, valid = f.find((aside, 0.0, 0.0083 - (RING - TUBE)), turn((0, 1, 0), 90.0))
    assert valid
    assert f.describe(rows) == ("tool on body side",)
    np.testing.assert_allclose(rows[0][PC_POINT : PC_POINT + 3], [aside, 0, 0.008], atol=1e-8)
    f.forget()
    rows, valid = f.find((0.0, aside, 0.013 + 3e-4), UPRIGHT)
    assert valid
    assert f.describe(rows) == ("tool on body side",)
    assert rows[0][PC_GAP] == pytest.approx(3e-4, abs=1e-9)
    assert abs(rows[0][PC_POINT]) == pytest.approx(np.sqrt(RING**2 - aside**2), abs=1e-8)


def test_a_bowl_upside_down_rests_on_its_rim() -> None:
    f = on_floor(bowl(), "bowl")
    over = turn((1, 0, 0), 180.0)
    rows, valid = f.find((0.0, 0.0, RIM[2] + 3e-4), over)
    assert valid
    assert f.describe(rows) == ("bowl edge outside inside on floor",)
    assert rows[0][PC_REGION] == PLANE
    f.forget()
    tilt = np.deg2rad(8.0)
    height = RIM[2] * np.cos(tilt) + RIM[0] * np.sin(tilt) + 3e-4
    rows, valid = f.find((0.0, 0.0, height), quat_product(turn((0, 1, 0), 8.0), over))
    assert valid
    assert rows[0][PC_REGION] == POINT
    assert rows[0][PC_GAP] == pytest.approx(3e-4, abs=1e-9)
    f.forget()
    rows, valid = f.find((0.0, 0.0, 5e-3 + 3e-4), UPRIGHT)
    assert f.describe(rows) == ("bowl outside on floor",)


def test_a_pipe_on_its_end_and_on_its_side() -> None:
    f = on_floor(pipe(0.01, 0.015, 0.05), "pipe")
    rows, _ = f.find((0.0, 0.0, 0.0253), UPRIGHT)
    assert f.describe(rows) == ("pipe end -z on floor",)
    assert rows[0][PC_REGION] == PLANE
    f.forget()
    rows, _ = f.find((0.0, 0.0, 0.0153), turn((1, 0, 0), 90.0))
    assert f.describe(rows) == ("pipe outside along floor",)
    assert rows[0][PC_REGION] == LINE


SOLIDS = {
    "pen": pen(),
    "bowl": bowl(),
    "pipe": pipe(0.01, 0.015, 0.05),
    "cylinder": tg.Cylinder(0.01, 0.03),
    "cone": tg.Cone(0.02, 0.05),
}


@pytest.mark.compiled
@pytest.mark.parametrize(("one", "other"), [
    ("cylinder", "pipe"), ("cone", "cylinder"), ("pipe", "cone"), ("cylinder", "cylinder"),
])  # fmt: skip
def test_overlap_is_that_of_points_of_the_surfaces(one: str, other: str) -> None:
    """A solid overlaps another one if points of its surface are inside, or the other way round."""
    a, b = SOLIDS[one], SOLIDS[other]
    body, fixed = surface_of([boundary_of(a)]), surface_of([boundary_of(b)])
    elements = (boundary_of(a).elements, boundary_of(b).elements)
    faces = [np.flatnonzero(e.dimension == 2) for e in elements]
    dense_a, dense_b = (
        np.concatenate([patch_points(e, int(k)) for k in f])
        for e, f in zip(elements, faces, strict=True)
    )
    rng = np.random.default_rng(11)
    lists = np.zeros(64, np.int32)
    world = placed(body)

    def depth(at: Array, r: Array) -> float:
        """Of the deepest of the points, at most that of the solids."""
        return -min(
            float(signed_distances(profile_of(b), dense_a @ r.T + at).min()),
            float(signed_distances(profile_of(a), (dense_b - at) @ r).min()),
        )

    for _ in range(POSES):
        q = rng.normal(size=4)
        q /= np.linalg.norm(q)
        r, way = rotation_of(q), rng.normal(size=3)
        way /= np.linalg.norm(way)
        wanted, near, far = rng.uniform(-1e-3, 1.5e-3), 0.0, 0.2
        if depth(near * way, r) < wanted:
            continue
        for _ in range(12):  # the farther, the less they overlap
            middle = 0.5 * (near + far)
            near, far = (middle, far) if depth(middle * way, r) > wanted else (near, middle)
        at = far * way
        deep = depth(at, r)
        assert deep < 2e-3
        if cuts(body, world, fixed, lists, tuple(at), tuple(q)):
            assert deep > -3e-4, (at, q)  # points are at most so far off the deepest one
        else:
            assert deep < 2e-5, (at, q)


@pytest.mark.parametrize("deep", [-2e-4, 2e-4])
def test_a_shaft_through_the_rim_of_a_bowl(deep: float) -> None:
    """Across the rim, high above the bowl itself: only the rim reaches into the shaft."""
    body, fixed = surface_of([boundary_of(pen())]), surface_of([boundary_of(bowl())])
    lists = np.zeros(64, np.int32)
    q = turn((0, 1, 0), 90.0)
    at = (-0.05, 0.0, RIM[2] + SHAFT - deep)
    assert cuts(body, placed(body), fixed, lists, at, tuple(q)) == (deep > 0.0)


def test_the_other_side_of_a_wall_is_no_overlap() -> None:
    f = pen_in_bowl()
    f.find((0.0, 0.0, 1.5e-3), UPRIGHT)
    a, b = f.finder.world, f.finder.trial.fixed
    tip, outside, inside = 3, 1, 2
    free, below, within = (0.0, 0.0, 1.5e-3), (0.0, 0.0, -5e-3), (0.0, 0.0, -2e-3)
    assert not is_one(a, tip, b, outside, free, below)
    assert is_one(a, tip, b, inside, within, (0.0, 0.0, 0.0))
