"""Contact normal by coherence: corners, edges and faces, first contact, the shortcut apart."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from collision.clipping import at
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles.distance import signed_distance
from strategies import quaternions

from tangere._jit import kernel
from tangere._ptr import pointers, ptr
from tangere.collision.distance import view
from tangere.collision.narrow import GAP, boxes_gap, contact_normal, highest, thinner, world_view
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Box, Cone, Convex
from tangere.model import (
    PHASE_APART,
    PHASE_NEW,
    PHASE_TOUCH,
    Hulls,
    Model,
    State,
    Work,
)
from tangere.scene.compile import Compiled, compile_scene
from tangere.scene.scene import Scene

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

CUBE = Box((1.0, 1.0, 1.0))
UP = np.array([0.0, 0.0, 1.0])
# Normals are directions between closest points over a gap of 2 %: rounding 1e-16/0.02.
EXACT = 1e-13


@kernel
def _contact(
    a: Polyhedron,
    b: Polyhedron,
    gap: float,
    phase: int,
    normal: Array,
    simplex: NDArray[np.int32],
    out: Array,
) -> bool:
    """contact_normal on arrays; point and overlap go to out."""
    touching, point, depth = contact_normal(view(a), view(b), gap, phase, ptr(normal), ptr(simplex))
    out[0], out[1], out[2] = point
    out[3] = depth
    return touching


@kernel
def _supports(a: Polyhedron, b: Polyhedron, n: Array, out: Array) -> None:
    """Support of a along n, thickness of the thinner part."""
    normal = (n[0], n[1], n[2])
    out[0] = highest(view(a), normal)
    out[1] = thinner(view(a), view(b), normal)


class Found(NamedTuple):
    touching: bool
    normal: Array
    point: Array
    depth: float
    simplex: NDArray[np.int32]


def find(
    a: Polyhedron,
    b: Polyhedron,
    phase: int = PHASE_NEW,
    normal: Array | tuple[float, ...] = (np.nan, np.nan, np.nan),
    simplex: NDArray[np.int32] | None = None,
    gap: float = GAP,
) -> Found:
    n = np.array(normal, dtype=np.float64)
    s = np.zeros(9, np.int32) if simplex is None else simplex.copy()
    out = np.full(4, np.nan)
    touching = _contact(a, b, gap, phase, n, s, out)
    return Found(touching, n, out[:3], float(out[3]), s)


def overlap(a: Polyhedron, b: Polyhedron, n: Array) -> float:
    return float((a.vertices @ n).max() - (b.vertices @ n).min())


def unit(v: Array | tuple[float, ...]) -> Array:
    return np.asarray(np.array(v) / np.linalg.norm(v))


def turned(axis: tuple[float, float, float], angle: float) -> tuple[float, ...]:
    x = math.sin(0.5 * angle) * unit(axis)
    return (math.cos(0.5 * angle), float(x[0]), float(x[1]), float(x[2]))


# ---------------------------------------------------------------- apart


def test_apart_the_normal_joins_the_closest_points() -> None:
    # face, edge and corner of a cube towards another one, from afar
    for shift, normal in (
        ((2.0, 0.1, 0.2), (1.0, 0.0, 0.0)),
        ((2.0, 2.0, 0.1), (1.0, 1.0, 0.0)),
        ((2.0, 2.0, 3.0), (1.0, 1.0, 2.0)),
        ((-2.0, 0.0, 0.0), (-1.0, 0.0, 0.0)),
    ):
        found = find(at(CUBE), at(CUBE, shift))
        assert not found.touching
        assert found.normal == pytest.approx(unit(normal), abs=EXACT)


def test_shortcut_keeps_a_normal_that_still_separates() -> None:
    # 0.5 m apart along x; a slanted normal separates too and is kept without a search
    slanted = unit((1.0, 0.2, 0.0))
    a, b = at(CUBE), at(CUBE, (1.5, 0.0, 0.0))
    assert overlap(a, b, slanted) < -GAP
    found = find(a, b, PHASE_APART, slanted)
    assert not found.touching
    assert found.normal.tolist() == slanted.tolist()
    # closer than the gap along it: looked at again
    b = at(CUBE, (1.001, 0.0, 0.0))
    found = find(a, b, PHASE_APART, slanted)
    assert not found.touching
    assert found.normal == pytest.approx((1.0, 0.0, 0.0), abs=EXACT)


def hulls(rng: np.random.Generator, q: Array, spread: float) -> tuple[Polyhedron, Polyhedron]:
    points = [rng.normal(size=(int(rng.integers(4, 12)), 3)) for _ in range(2)]
    return at(Convex(points[0])), at(Convex(points[1]), rng.normal(size=3) * spread, q)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), quaternions(), st.sampled_from([1.0, 2.5, 4.0]))
def test_touching_is_what_the_signed_distance_says(seed: int, q: Array, spread: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = hulls(rng, q, spread)
    truth = signed_distance(a.vertices, b.vertices)
    if abs(truth) < 1e-9:
        return
    for phase, normal in ((PHASE_NEW, np.full(3, np.nan)), (PHASE_APART, unit(rng.normal(size=3)))):
        found = find(a, b, phase, normal)
        assert found.touching == (truth < 0.0)
        if not found.touching:
            # the normal separates, by no more than the distance
            assert -overlap(a, b, found.normal) <= truth + 1e-12
            assert -overlap(a, b, found.normal) > 0.0


# ---------------------------------------------------------------- touching


def test_face_on_face() -> None:
    d = 0.01
    a, b = at(CUBE), at(CUBE, (0.2, 0.1, 1.0 - d))
    for tilt in (0.0, 0.1, -0.5):
        found = find(a, b, PHASE_TOUCH, unit((tilt, 0.5 * tilt, 1.0)))
        assert found.touching
        assert found.normal == pytest.approx(UP, abs=EXACT)
        assert found.depth == pytest.approx(d, abs=EXACT)
        assert found.point[2] == pytest.approx(0.5 - 0.5 * d, abs=EXACT)  # midway


@pytest.mark.parametrize("flip", [False, True])
def test_corner_on_face(flip: bool) -> None:
    # the tip of a cone at depth d in the top of a cube; the last normal leans by 30 degrees
    d = 0.02
    face = at(CUBE)
    tip = at(Cone(0.3, 1.0, facets=12), (0.1, -0.2, 0.5 + 0.75 - d), (0.0, 1.0, 0.0, 0.0))
    a, b, sign = (tip, face, -1.0) if flip else (face, tip, 1.0)
    found = find(a, b, PHASE_TOUCH, sign * unit((0.5, 0.0, math.sqrt(0.75))))
    assert found.touching
    assert found.normal == pytest.approx(sign * UP, abs=EXACT)
    assert found.depth == pytest.approx(d, abs=EXACT)
    # moved out along the settled normal, the closest points face each other
    found = find(a, b, PHASE_TOUCH, found.normal, found.simplex)
    assert found.point == pytest.approx((0.1, -0.2, 0.5 - 0.5 * d), abs=1e-12)


def test_edge_on_edge() -> None:
    # two bars, each turned about its long axis by 45 degrees, cross with their edges inside
    d = 0.01
    a = at(Box((2.0, 0.2, 0.2)), orientation=turned((1, 0, 0), math.pi / 4))
    height = 2.0 * 0.1 * math.sqrt(2.0) - d
    b = at(Box((0.2, 2.0, 0.2)), (0.3, 0.4, height), turned((0, 1, 0), math.pi / 4))
    found = find(a, b, PHASE_TOUCH, unit((0.2, -0.3, 1.0)))
    assert found.touching
    assert found.normal == pytest.approx(UP, abs=EXACT)
    assert found.depth == pytest.approx(d, abs=1e-12)
    found = find(a, b, PHASE_TOUCH, found.normal, found.simplex)
    assert found.point == pytest.approx((0.3, 0.0, 0.5 * height), abs=1e-12)


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), quaternions(), st.sampled_from([0.0, 0.5, 1.5, 6.0]))
def test_overlap_is_that_of_the_supports(seed: int, q: Array, spread: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = hulls(rng, q, spread)
    before = unit(rng.normal(size=3))
    gap = GAP * rng.uniform(0.5, 5.0)
    found = find(a, b, PHASE_TOUCH, before, gap=gap)
    assert np.linalg.norm(found.normal) == pytest.approx(1.0, abs=1e-12)
    if overlap(a, b, before) <= 0.0:  # they part along the last normal
        assert not found.touching
        assert found.normal.tolist() == before.tolist()
        return
    along = overlap(a, b, found.normal)
    assert found.touching == (along > 0.0) or abs(along) < 1e-12
    if found.touching:
        assert found.depth == pytest.approx(along, abs=1e-11)
        # however far the normal turns, the overlap does not grow
        assert along <= overlap(a, b, before) + 1e-12
        # the plane passes midway: as deep in a as in b
        up = (a.vertices @ found.normal).max() - found.point @ found.normal
        down = found.point @ found.normal - (b.vertices @ found.normal).min()
        assert up == pytest.approx(down, abs=1e-9)


def test_coherence_keeps_the_way_in() -> None:
    # A pin stands deep in a plate, the last normal is the plate's: moved out along it the closest
    # point is the plate's top again, so the normal stays although the pin overlaps less sideways
    plate, pin = at(Box((4.0, 4.0, 1.0))), at(Box((0.1, 0.1, 2.0)), (0.0, 0.0, 0.8))
    found = find(plate, pin, PHASE_TOUCH, UP)
    assert found.touching
    assert found.normal == pytest.approx(UP, abs=EXACT)
    assert found.depth == pytest.approx(0.7, abs=1e-12)


def test_sharp_turn_over_a_ridge() -> None:
    # flanks at 58 degrees to the vertical meet at a ridge; a block slid from the top to one flank
    corners = [(0, 0), (1, 0), (0.5, 0.8)]
    wedge = at(Convex([(x, y, z) for x, z in corners for y in (-1, 1)]))
    flank = unit((0.8, 0.0, 0.5))
    assert flank @ UP < math.cos(math.radians(45))
    found = find(wedge, at(Box((0.2, 0.2, 0.2)), (0.9, 0.0, 0.3)), PHASE_TOUCH, UP)
    assert found.touching
    assert found.normal == pytest.approx(flank, abs=EXACT)
    # further out nothing overlaps any more, and the new normal says so
    found = find(wedge, at(Box((0.2, 0.2, 0.2)), (1.0, 0.0, 0.3)), PHASE_TOUCH, UP)
    assert not found.touching
    assert found.normal == pytest.approx(flank, abs=EXACT)


def test_resting_contact_keeps_its_normal() -> None:
    a, b = at(CUBE), at(CUBE, (0.3, 0.2, 0.999), turned((0, 0, 1), 0.3))
    found = find(a, b, PHASE_TOUCH, UP)
    for _ in range(5):
        found = find(a, b, PHASE_TOUCH, found.normal, found.simplex)
        assert found.normal == pytest.approx(UP, abs=EXACT)
        assert found.depth == pytest.approx(1e-3, abs=EXACT)


def test_parting_along_the_last_normal() -> None:
    found = find(at(CUBE), at(CUBE, (0.0, 0.0, 1.001)), PHASE_TOUCH, UP)
    assert not found.touching
    assert found.normal.tolist() == UP.tolist()


# ---------------------------------------------------------------- first contact already overlapping


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_born_overlapping_takes_the_shortest_way_out(axis: int, sign: float) -> None:
    shift = np.array([0.1, -0.2, 0.15])
    shift[axis] = sign * 0.9
    found = find(at(CUBE), at(CUBE, shift))
    assert found.touching
    assert found.normal == pytest.approx(sign * np.eye(3)[axis], abs=EXACT)
    assert found.depth == pytest.approx(0.1, abs=EXACT)


def test_born_inside() -> None:
    found = find(at(Box((4.0, 4.0, 4.0))), at(Box((0.2, 0.2, 0.2)), (0.3, 0.2, 1.5)))
    assert found.touching
    assert found.normal == pytest.approx(UP, abs=EXACT)
    assert found.depth == pytest.approx(0.6, abs=1e-12)
    # one and the same place: any face will do
    found = find(at(CUBE), at(CUBE))
    assert found.touching
    assert found.depth == pytest.approx(1.0, abs=1e-12)
    assert np.abs(found.normal).max() == pytest.approx(1.0, abs=EXACT)


@settings(max_examples=40)
@given(quaternions(), st.integers(0, 1000))
def test_order_of_the_two_flips_the_normal(q: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    direction = unit(rng.normal(size=3))
    a = at(CUBE)
    b = at(Box((0.7, 0.5, 0.6)), (0.0, 0.0, 0.0), q)
    b = at(Box((0.7, 0.5, 0.6)), direction * 0.6 * overlap(a, b, direction), q)
    here = find(a, b, PHASE_TOUCH, direction)
    there = find(b, a, PHASE_TOUCH, -direction)
    assert here.touching == there.touching
    assert here.depth == pytest.approx(there.depth, abs=1e-10)
    assume(here.touching)
    assert here.normal == pytest.approx(-there.normal, abs=1e-7)


# ---------------------------------------------------------------- supports, world vertices


@given(quaternions(), st.integers(0, 1000))
def test_supports(q: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = at(Box((3.0, 0.1, 0.2)), (1, 2, 3), q), at(Box((0.2, 0.3, 0.4)), (-1, 0, 0), q[::-1])
    n, out = unit(rng.normal(size=3)), np.full(2, np.nan)
    _supports(a, b, n, out)
    assert out[0] == pytest.approx((a.vertices @ n).max(), abs=1e-14)
    assert out[1] == pytest.approx(min(np.ptp(a.vertices @ n), np.ptp(b.vertices @ n)), abs=1e-13)


@kernel
def _world(m: Model, h: Hulls, s: State, w: Work, part: int, step: int) -> int:
    """world_view on arrays; returns the vertex count."""
    v = world_view(pointers(m), pointers(h), pointers(s), pointers(w).world, part, step)
    return v.vert_count + 1000 * v.face_count


def test_world_vertices_are_made_once_per_step() -> None:
    scene = Scene()
    scene.add_body(Box((1, 1, 1)))
    scene.add_body(Cone(0.3, 1.0, facets=6), position=(1, 2, 3), orientation=(0.5, 0.1, 0.2, 0.3))
    c: Compiled = compile_scene(scene)
    c.work.world.verts[:] = np.nan
    c.work.world.planes[:] = np.nan
    assert _world(c.model, c.hulls, c.state, c.work, 1, 5) == 7 + 7000
    start, face = c.model.world_start[1]
    verts, planes = c.work.world.verts[start:], c.work.world.planes[face:]
    truth = at(scene.bodies[1].shape, (1, 2, 3), scene.bodies[1].orientation)
    assert verts == pytest.approx(truth.vertices, abs=1e-14)
    assert planes == pytest.approx(truth.planes, abs=1e-13)
    assert np.isnan(c.work.world.verts[:start]).all()  # the other part was not asked for
    before = verts.copy()
    c.state.position[1] += 1.0
    _world(c.model, c.hulls, c.state, c.work, 1, 5)
    assert np.array_equal(verts, before)
    _world(c.model, c.hulls, c.state, c.work, 1, 6)
    assert verts == pytest.approx(before + 1.0, abs=1e-14)


@kernel
def _gap(m: Model, h: Hulls, s: State, n: Array, out: Array) -> None:
    """boxes_gap of parts 0 and 1."""
    along = (n[0], n[1], n[2])
    out[0] = boxes_gap(pointers(m), pointers(h), pointers(s), 0, 1, along)


@pytest.mark.parametrize("kind", ["boxes", "cones"])
def test_gap_of_the_boxes_is_that_of_the_parts_or_less(kind: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        scene = Scene()
        for _ in range(2):
            shape = Box(rng.uniform(0.1, 1.0, 3)) if kind == "boxes" else Cone(0.3, 0.5)
            scene.add_body(shape, position=rng.normal(size=3), orientation=rng.normal(size=4))
        c = compile_scene(scene)
        n, out = unit(rng.normal(size=3)), np.zeros(1)
        _gap(c.model, c.hulls, c.state, n, out)
        sets = []
        for i in range(2):
            hull = c.model.part_hull[i]
            verts = c.hulls.verts[c.hulls.vert_start[hull] : c.hulls.vert_start[hull + 1]]
            sets.append(verts @ c.state.rotation[i].reshape(3, 3).T + c.state.position[i])
        truth = (sets[1] @ n).min() - (sets[0] @ n).max()
        assert out[0] <= truth + 1e-12
        if kind == "boxes":
            assert out[0] == pytest.approx(truth, abs=1e-12)
