"""Broad phase: every pair that brute force finds, no other, and memory that moves along."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import quaternions

from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.collision.broad import NEVER, rebuild, update_boxes, update_pairs
from tangere.contact.convex.options import ContactOptions
from tangere.geometry.shapes import Box, Compound, Shape, Sphere
from tangere.maths.rotations import rotation_of
from tangere.model import (
    OK,
    PAIRS_FULL,
    PF_THETA,
    PI_BODY_A,
    PI_BODY_B,
    PI_MISSED,
    PI_MODE,
    PI_PART_A,
    PI_PART_B,
    Hulls,
    Model,
    Sizes,
    State,
    Work,
)
from tangere.scene.compile import Compiled, compile_scene
from tangere.scene.scene import Scene
from tangere.simulation import Simulation
from tangere.steppers.rigid import ExplicitStepper

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]
Pair = tuple[int, int, int, int]

DT = 1e-3


@kernel
def _boxes(z: Sizes, m: Model, h: Hulls, s: State, w: Work, dt: float) -> int:
    """update_boxes on arrays."""
    p = pointers(w)
    return update_boxes(z, pointers(m), pointers(h), pointers(s), dt, 0.0, p.world, p.tree.left)


@kernel
def _update(z: Sizes, m: Model, h: Hulls, s: State, w: Work, dt: float, left: int) -> int:
    """update_pairs on arrays; rebuild where `left` is negative."""
    pm, ph, ps, pw = pointers(m), pointers(h), pointers(s), pointers(w)
    if left < 0:
        return rebuild(z, pm, ph, ps, dt, pw)
    return update_pairs(z, pm, ph, ps, dt, pw, left)


def moved_out(c: Compiled) -> int:
    """Parts that left their fat boxes."""
    return _boxes(c.sizes, c.model, c.hulls, c.state, c.work, DT)


def listed(c: Compiled, left: int = -1) -> Compiled:
    """The list after `left` parts moved, or built anew, grown as the simulation grows it."""
    for _ in range(6):
        if _update(c.sizes, c.model, c.hulls, c.state, c.work, DT, left) == OK:
            return c
        stepper = ExplicitStepper(c, ContactOptions(False), DT)
        stepper.grow(PAIRS_FULL)
        c, left = stepper.arrays, -1
    raise AssertionError("the pair list grows without end")


def pairs_of(c: Compiled) -> list[Pair]:
    """Pairs in the order of the list: bodies, then parts."""
    rows = c.work.pairs.ints[slots_of(c)]
    a, b, p, q = rows[:, [PI_BODY_A, PI_BODY_B, PI_PART_A, PI_PART_B]].T.tolist()
    return list(zip(a, b, p, q, strict=True))


def slots_of(c: Compiled) -> list[int]:
    """Rows of the pairs, in the order of the list."""
    return [int(slot) for slot in c.work.pairs.slot[: int(c.work.pairs.used[0])]]


def boxes_meet(a: Array, b: Array) -> bool:
    return bool((a[:3] <= b[3:]).all() and (b[:3] <= a[3:]).all())


def brute_force(c: Compiled, boxes: Array) -> set[Pair]:
    """Pairs of boxes that meet, of different bodies and not both fixed; floors below boxes."""
    m, found = c.model, set()
    for p, q in product(range(c.sizes.parts), repeat=2):
        i, j = int(m.part_body[p]), int(m.part_body[q])
        movable = m.inv_mass[i] > 0.0 or m.inv_mass[j] > 0.0
        if i < j and movable and boxes_meet(boxes[p], boxes[q]):
            found.add((i, j, p, q))
    for f, plane in enumerate(m.floor_plane):
        for p in range(c.sizes.parts):
            i = int(m.part_body[p])
            corners = np.array(list(product(*zip(boxes[p, :3], boxes[p, 3:], strict=True))))
            low = (corners @ plane[:3]).min() - plane[3]
            if m.inv_mass[i] > 0.0 and low < 0.0:
                found.add((c.sizes.bodies + f, i, -1, p))
    return found


def part_vertices(c: Compiled, p: int) -> Array:
    hull, i = c.model.part_hull[p], c.model.part_body[p]
    verts = c.hulls.verts[c.hulls.vert_start[hull] : c.hulls.vert_start[hull + 1]]
    return np.asarray(c.state.position[i] + verts @ c.state.rotation[i].reshape(3, 3).T)


def pieces(rng: np.random.Generator, size: float) -> Shape:
    """A box or a row of boxes, off centre."""
    if rng.random() < 0.7:
        return Box(rng.uniform(0.2, 1.0, size=3) * size)
    boxes = [Box((0.3 * size, 0.2 * size, 0.2 * size)) for _ in range(3)]
    poses = [((0.4 * size * k, 0.1 * size * k, 0.0), (1.0, 0.0, 0.0, 0.0)) for k in range(3)]
    return Compound(boxes, poses)


def random_scene(seed: int, bodies: int, spread: float, decades: float) -> Scene:
    rng = np.random.default_rng(seed)
    scene = Scene()
    for _ in range(int(rng.integers(0, 3))):
        scene.add_floor(height=float(rng.normal()), normal=rng.normal(size=3))
    for _ in range(bodies):
        scene.add_body(
            pieces(rng, 10.0 ** rng.uniform(-decades, 0.0)),
            position=rng.normal(size=3) * spread,
            orientation=rng.normal(size=4),
            velocity=rng.normal(size=3) * rng.choice([0.0, 1.0, 300.0]),
            angular_velocity=rng.normal(size=3) * rng.choice([0.0, 1.0, 100.0]),
            fixed=bool(rng.random() < 0.2),
        )
    return scene


def assert_right(c: Compiled, rebuilt: bool) -> None:
    """All that brute force finds for the fat boxes, just that after a rebuild; boxes hold parts."""
    world, pairs = c.work.world, c.work.pairs
    found = pairs_of(c)
    assert len(found) == len(set(found))
    assert set(found) >= brute_force(c, world.fat)
    if rebuilt:
        assert set(found) == brute_force(c, world.fat)
    # sorted, and pairs of the same two bodies stand together
    order = list(zip(pairs.owner[: len(found)].tolist(), pairs.key.tolist(), strict=False))
    assert order == sorted(order)
    bodies = [(a, b) for a, b, _, _ in found]
    runs = [pair for k, pair in enumerate(bodies) if k == 0 or pair != bodies[k - 1]]
    assert len(runs) == len(set(bodies))
    # every row is either in the list or free
    free = pairs.free[: int(pairs.used[1])].tolist()
    assert sorted(slots_of(c) + free) == list(range(len(pairs.key)))
    for p in range(c.sizes.parts):
        x = part_vertices(c, p)
        size = np.abs(x).max()
        assert (world.aabb[p, :3] <= x.min(axis=0) + 1e-14 * size).all()
        assert (world.aabb[p, 3:] >= x.max(axis=0) - 1e-14 * size).all()
        assert (world.fat[p, :3] <= world.aabb[p, :3]).all()
        assert (world.fat[p, 3:] >= world.aabb[p, 3:]).all()


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 14),
    st.sampled_from([0.0, 0.3, 1.0, 5.0, 1000.0]),
    st.sampled_from([0.0, 1.0, 3.0]),
)
def test_same_pairs_as_brute_force(seed: int, bodies: int, spread: float, decades: float) -> None:
    c = compile_scene(random_scene(seed, bodies, spread, decades))
    rng = np.random.default_rng(seed)
    left = moved_out(c)
    assert left == c.sizes.parts  # at first everything is new
    c = listed(c, left)
    assert_right(c, True)
    for _ in range(5):
        # some of them jump, or go as in so many steps
        n = c.sizes.bodies
        chosen = rng.permutation(n)[: int(rng.integers(1, n + 1))]
        jump = rng.choice([DT, 20 * DT, 1.0])
        c.state.position[chosen] += jump * c.state.velocity[chosen]
        c.state.position[chosen] += rng.choice([0.0, 0.3]) * rng.normal(size=(len(chosen), 3))
        for i in chosen:
            c.state.rotation[i] = rotation_of(random_turn(rng)).reshape(9)
        left = moved_out(c)
        if left > 0:
            c = listed(c, left)
        assert_right(c, False)
        assert brute_force(c, c.work.world.aabb) <= set(pairs_of(c))
    c = listed(c)
    assert_right(c, True)


def random_turn(rng: np.random.Generator) -> Array:
    q = rng.normal(size=4)
    return np.asarray(q / np.linalg.norm(q))


@given(quaternions())
def test_box_of_a_turned_part_is_tight(q: Array) -> None:
    # eight corners of a box reach the bounds of its turned box
    scene = Scene()
    scene.add_body(Box((1.0, 0.2, 0.5)), position=(3.0, 2.0, 1.0), orientation=q)
    c = compile_scene(scene)
    moved_out(c)
    x = part_vertices(c, 0)
    assert c.work.world.aabb[0] == pytest.approx([*x.min(axis=0), *x.max(axis=0)], abs=1e-13)


@pytest.mark.parametrize("arms", [1, 2])
def test_reach_of_one_step_is_inside_the_box(arms: int) -> None:
    # a fast, spinning part must be known before it touches: after one step it is still in the box;
    # with two arms the parts swing about a centre outside of them
    rng = np.random.default_rng(7)
    for _ in range(20):
        size = rng.uniform(0.1, 1.0, size=3)
        shape: Shape = Box(size)
        if arms == 2:
            ends = [((x, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)) for x in (-2.0, 2.0)]
            shape = Compound([Box(size), Box(size)], ends)
        scene = Scene(gravity=(0, 0, 0))
        scene.add_body(
            shape,
            orientation=rng.normal(size=4),
            velocity=rng.normal(size=3) * 10.0,
            angular_velocity=rng.normal(size=3) * 30.0,
        )
        sim = Simulation(scene)
        sim.step()
        for p in range(arms):
            box = sim.arrays.work.world.aabb[p].copy()  # of the state before the step
            x = part_vertices(sim.arrays, p)
            assert (x.min(axis=0) >= box[:3] - 1e-12).all()
            assert (x.max(axis=0) <= box[3:] + 1e-12).all()


def test_nothing_moves_nothing_is_rebuilt() -> None:
    c = compile_scene(random_scene(1, 5, 1.0, 0.0))
    c.state.velocity[:] = 0.0
    c.state.omega[:] = 0.0
    assert moved_out(c) == c.sizes.parts
    c = listed(c)
    assert moved_out(c) == 0
    c.state.position[:] += 1e-4
    assert moved_out(c) == 0
    c.state.position[0, 1] += 10.0
    assert moved_out(c) == np.count_nonzero(c.model.part_body == 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_lost_bodies_count_as_moved(bad: float) -> None:
    c = compile_scene(random_scene(1, 3, 1.0, 0.0))
    moved_out(c)
    c = listed(c)
    c.state.position[1, 0] = bad
    assert moved_out(c) == np.count_nonzero(c.model.part_body == 1)


# ---------------------------------------------------------------- special scenes


def test_fixed_pairs_are_left_out() -> None:
    scene = Scene()
    scene.add_floor()
    for fixed in (True, True, False):
        scene.add_body(Box((1, 1, 1)), fixed=fixed)
    c = compile_scene(scene)
    moved_out(c)
    assert pairs_of(listed(c)) == [(0, 2, 0, 2), (1, 2, 1, 2), (3, 2, -1, 2)]


def test_single_body() -> None:
    scene = Scene()
    scene.add_body(Box((1, 1, 1)))
    c = compile_scene(scene)
    moved_out(c)
    assert pairs_of(listed(c)) == []


@pytest.mark.parametrize("count", [2, 3, 7, 8, 9, 17])
def test_all_at_one_place(count: int) -> None:
    # equal codes on the curve, every pair of bodies
    scene = Scene()
    for _ in range(count):
        scene.add_body(Box((1, 1, 1)))
    c = compile_scene(scene)
    moved_out(c)
    assert len(pairs_of(listed(c))) == count * (count - 1) // 2


def test_room_grows_with_the_crowd() -> None:
    scene = Scene()
    for _ in range(30):
        scene.add_body(Box((1, 1, 1)))
    c = compile_scene(scene)
    moved_out(c)
    assert len(c.work.pairs.key) < 435
    c = listed(c)
    assert len(pairs_of(c)) == 435
    assert len(c.work.pairs.key) >= 435


def test_room_grows_for_one_crowded_body() -> None:
    # two bodies of 20 pieces each, all of them at one place: 400 pairs belong to the first body
    pile = Compound([Box((1, 1, 1))] * 20, [((0.001 * k, 0, 0), (1, 0, 0, 0)) for k in range(20)])
    scene = Scene()
    for _ in range(2):
        scene.add_body(pile, mass=1.0, inertia=(1, 1, 1))
    c = compile_scene(scene)
    moved_out(c)
    assert len(pairs_of(listed(c))) == 400


def test_many_floors_below_one_body() -> None:
    scene = Scene()
    for k in range(80):
        scene.add_floor(height=1.0 + k)
    scene.add_body(Box((1, 1, 1)))
    c = compile_scene(scene)
    moved_out(c)
    assert len(pairs_of(listed(c))) == 80


def test_mixed_sizes_and_distances() -> None:
    # a mountain, grains on it, and one grain far away that squeezes the curve
    scene = Scene()
    scene.add_body(Box((1000.0, 1000.0, 1.0)), fixed=True)
    for k in range(20):
        scene.add_body(Sphere(1e-3, subdivisions=1), position=(0.01 * k, 0.0, 0.5))
    scene.add_body(Sphere(1e-3, subdivisions=1), position=(1e6, 0.0, 0.0))
    c = compile_scene(scene)
    moved_out(c)
    c = listed(c)
    assert_right(c, True)
    assert sum(a == 0 for a, _, _, _ in pairs_of(c)) == 20


# ---------------------------------------------------------------- memory


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_memory_moves_with_its_pair(seed: int, bodies: int) -> None:
    rng = np.random.default_rng(seed)
    c = compile_scene(random_scene(seed, bodies, 0.5, 0.5))
    moved_out(c)
    c = listed(c)
    known: dict[Pair, float] = {}
    for turn in range(5):
        rows = c.work.pairs
        for slot, pair in zip(slots_of(c), pairs_of(c), strict=True):
            rows.floats[slot, PF_THETA] = known.setdefault(pair, float(turn + rng.random()))
            rows.ints[slot, PI_MODE] = turn
            rows.ints[slot, PI_MISSED] = 0
        alive = dict(zip(pairs_of(c), rng.integers(0, 2, size=len(slots_of(c))), strict=True))
        rows.live[: len(alive)] = list(alive.values())
        # what lies in unused rows is not memory
        free = rows.free[: int(rows.used[1])]
        rows.floats[free], rows.ints[free] = np.nan, -7
        rows.floats2[:], rows.ints2[:] = np.nan, -7
        n = c.sizes.bodies
        chosen = rng.permutation(n)[: int(rng.integers(1, n + 1))]
        c.state.position[chosen] += rng.normal(size=(len(chosen), 3)) * 0.4
        left = moved_out(c)
        before = set(known)
        c = listed(c, -1 if rng.random() < 0.3 else left)
        assert set(pairs_of(c)) >= brute_force(c, c.work.world.fat)
        rows = c.work.pairs
        for k, (slot, pair) in enumerate(zip(slots_of(c), pairs_of(c), strict=True)):
            assert rows.live[k] >= alive.get(pair, 1)  # nothing to forget is forgotten
            if pair in before:
                assert rows.floats[slot, PF_THETA] == known[pair]
                assert rows.ints[slot, PI_MODE] == turn
            else:
                assert rows.floats[slot].tolist() == [0.0] * rows.floats.shape[1]
                assert rows.ints[slot, PI_MISSED] == NEVER
                assert rows.ints[slot, PI_MODE] == 0
        # a pair that left the list has forgotten
        known = {pair: value for pair, value in known.items() if pair in set(pairs_of(c))}


@pytest.mark.parametrize("gather", [30, 5])
def test_memory_survives_growth(gather: int) -> None:
    # all at once: a rebuild runs out of room; a few at a time: the merge does
    scene = Scene()
    for k in range(30):
        scene.add_body(Box((1, 1, 1)), position=(3.0 * k, 0, 0))
    scene.add_body(Box((1, 1, 1)), position=(0.5, 0, 0))
    c = compile_scene(scene)
    moved_out(c)
    c = listed(c)
    assert pairs_of(c) == [(0, 30, 0, 30)]
    c.work.pairs.floats[slots_of(c)[0], PF_THETA] = 0.25
    room = len(c.work.pairs.key)
    for first in range(0, 30, gather):
        c.state.position[first : first + gather] = 0.0
        c = listed(c, moved_out(c))
    assert len(c.work.pairs.key) > room
    at = pairs_of(c).index((0, 30, 0, 30))
    assert len(pairs_of(c)) == 31 * 30 // 2
    assert c.work.pairs.floats[slots_of(c)[at], PF_THETA] == 0.25
    assert_right(c, False)


def test_partners_that_left_are_dropped_by_the_next_rebuild() -> None:
    scene = Scene()
    for k in range(8):
        scene.add_body(Box((1, 1, 1)), position=(0.5 * k, 0, 0))
    c = compile_scene(scene)
    moved_out(c)
    c = listed(c)
    before = set(pairs_of(c))
    c.state.position[0] += 100.0
    c = listed(c, moved_out(c))
    assert set(pairs_of(c)) == before  # kept for now: cheaper than to look
    c = listed(c)
    assert set(pairs_of(c)) == {pair for pair in before if pair[0] != 0}
