"""Steps shared among threads: the same numbers as by one, whatever the shares."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.bench import heap as fall
from tangere.collision.broad import BITS
from tangere.contact.convex import set_up
from tangere.contact.convex.options import ContactOptions
from tangere.implicit import conjugate_gradients, islands, large, partition
from tangere.implicit.task_queue import BITS as TICKET_BITS
from tangere.implicit.task_queue import ITERATIONS, JOB, LEFT, NEXT
from tangere.model import OK
from tangere.scene import compile as compiler
from tangere.simulation import Simulation
from tangere.steppers import schedule, threads
from tangere.steppers.implicit import run
from tangere.steppers.schedule import ISLANDS, UNSOLVED
from tangere.steppers.threads import shares, thread_count

pytestmark = pytest.mark.nojit

MOST_PAIRS = 4  # of two bodies: crosses of two pieces
# Steps that are solved for take seconds in plain Python.
SOLVED, STEPS = (10, 2) if JIT_DISABLED else (18, 4)


def heap(count: int = 18) -> tg.Scene:
    """Blocks and crosses of two pieces that overlap a little from the start."""
    rng = np.random.default_rng(3)
    scene = tg.Scene()
    scene.add_floor()
    cross = tg.Compound(
        [tg.Box((0.3, 0.1, 0.1)), tg.Box((0.1, 0.3, 0.1))],
        [((0.0, 0.0, z), (1.0, 0.0, 0.0, 0.0)) for z in (0.0, 0.05)],
    )
    for k in range(count):
        place = 0.16 * np.array([k % 3, k // 3 % 3, 0.5 + k // 9])
        shape = cross if k % 5 == 0 else tg.Box((0.2, 0.1, 0.1))
        scene.add_body(shape, mass=0.5, position=place, orientation=rng.normal(size=4))
    return scene


def stacks(overlap: float = 1e-4) -> tg.Scene:
    """Blocks on blocks: contacts that are the same when a step is begun again."""
    scene = tg.Scene()
    scene.add_floor()
    for k in range(12):
        scene.add_body(
            tg.Box((0.2, 0.1, 0.1)),
            mass=0.5,
            position=(0.3 * (k // 2), 0, 0.05 + 0.1 * (k % 2) - overlap * (1 + k % 2)),
        )
    return scene


def moved(
    scene: tg.Scene,
    size: int,
    integrator: str = "explicit",
    method: str = "volume",
    steps: int = 10,
) -> Simulation:
    """A simulation after some steps by so many threads."""
    sim = Simulation(scene, integrator=integrator, method=method)
    sim.stepper.threads = size
    sim.step(steps)
    return sim


def assert_same(one: Simulation, other: Simulation) -> None:
    """To the last digit."""
    assert np.array_equal(one.positions, other.positions)
    assert np.array_equal(one.arrays.state.velocity, other.arrays.state.velocity)
    assert np.array_equal(one.contacts, other.contacts)
    assert one.energy.reserve == other.energy.reserve


def test_number_of_threads_does_not_matter() -> None:
    alone = moved(heap(), 1)
    assert len(alone.contacts) > 20
    for size in (2, 3):
        assert_same(moved(heap(), size), alone)


@pytest.mark.parametrize("method", ["volume", "point"])
@pytest.mark.parametrize("make", [lambda: heap(SOLVED), lambda: stacks(0.0)])
def test_number_of_threads_does_not_matter_to_implicit_steps(
    method: str, make: Callable[[], tg.Scene]
) -> None:
    alone = moved(make(), 1, "implicit", method, STEPS)
    assert len(alone.contacts) >= (12 if method == "volume" else 1)
    for size in (2, 4):
        together = moved(make(), size, "implicit", method, STEPS)
        assert_same(together, alone)
        assert together.audit == alone.audit


@pytest.mark.skipif(JIT_DISABLED, reason="hundreds of blocks take minutes in plain Python")
def test_a_large_heap_does_not_care_who_solves_what() -> None:
    def fallen(size: int) -> Simulation:
        sim = Simulation(fall.scene(1_000), dt=5e-3)
        sim.stepper.threads = size
        sim.step(110)
        return sim

    alone = fallen(1)
    graph = alone.arrays.work.solver.graph
    assert np.diff(graph.start[: graph.known[1] + 1]).max() > schedule.SHARED
    for size in (2, 3):
        assert_same(fallen(size), alone)


@pytest.mark.skipif(not JIT_DISABLED, reason="compiled code has its constants inside")
def test_islands_that_are_solved_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(islands, "SMALL", 0)  # none is factored
    alone = moved(heap(SOLVED), 1, "implicit", steps=STEPS)
    monkeypatch.setattr(schedule, "SHARED", 2)
    for module in (set_up, large, conjugate_gradients, partition):
        monkeypatch.setattr(module, "LEAST", 1)
    for size in (1, 2):
        together = moved(heap(SOLVED), size, "implicit", steps=STEPS)
        # sums are made in other parts
        assert together.positions == pytest.approx(alone.positions, abs=1e-12)


def test_helpers_solve_what_is_queued() -> None:
    """The thread of the step waits for islands that others have taken."""
    sim = moved(stacks(), 1, "implicit", steps=1)
    c, v = sim.arrays, sim.arrays.work.solver
    v.ahead.twist[:12, 2] += 1e-3  # out of balance
    count = int(v.graph.known[1])
    assert count == 6
    v.queue[JOB], v.queue[ITERATIONS], v.given[0] = ISLANDS, 0, 1e-9
    v.residual[:count] = UNSOLVED
    v.queue[LEFT], v.queue[NEXT] = count, count << 2 * TICKET_BITS
    args = (c.sizes, c.model, c.hulls, c.state, c.work, sim.dt, 0, 0, ContactOptions(False), 1)
    assert run(*args) == (0, OK)
    assert v.queue[LEFT] == 0
    assert v.queue[ITERATIONS] >= count
    assert v.residual[:count].max() <= 1e-9
    assert run(*args) == (0, OK)  # nothing left to do
    assert v.queue[NEXT] == (count << 2 * TICKET_BITS) + (count << TICKET_BITS)


def test_an_error_ends_the_helpers() -> None:
    sim = moved(stacks(), 2, "implicit", steps=1)
    sim.arrays.state.velocity[0, 0] = 1e60
    before = threading.active_count()
    with pytest.raises(FloatingPointError):
        sim.step(3)
    assert threading.active_count() == before


@pytest.mark.parametrize(("integrator", "overlap"), [("explicit", 1e-4), ("implicit", 0.0)])
def test_shared_steps_grow_the_buffers(
    monkeypatch: pytest.MonkeyPatch, integrator: str, overlap: float
) -> None:
    roomy = moved(stacks(overlap), 1, integrator)
    assert len(roomy.contacts) == 12
    monkeypatch.setattr(compiler, "SOUP_VERTICES", 20)
    monkeypatch.setattr(compiler, "PAIRS_PER_PART", 1)
    monkeypatch.setattr(set_up, "LEAST", 1)
    tight = moved(stacks(overlap), 2, integrator)
    assert len(tight.arrays.work.soup.owner) > 20
    # normals are found anew: the same up to rounding
    assert tight.positions == pytest.approx(roomy.positions, abs=1e-12)


def test_bodies_that_never_meet() -> None:
    scene = tg.Scene(gravity=(0, 0, -10.0))
    scene.add_body(tg.Box((1, 1, 1)))
    scene.add_body(tg.Box((1, 1, 1)), position=(9, 0, 0))
    sim = Simulation(scene, integrator="explicit")
    sim.stepper.threads = 2
    sim.step(3)
    assert sim.arrays.state.velocity[:2, 2] == pytest.approx([-0.03, -0.03])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_shares_cover_the_list_and_keep_pairs_of_two_bodies_together(count: int) -> None:
    sim = Simulation(heap(), integrator="explicit")
    sim.step()
    pairs = sim.arrays.work.pairs
    used = int(pairs.used[0])
    bodies = list(zip(pairs.owner[:used], pairs.key[:used] >> (2 * BITS), strict=True))
    assert len(set(bodies)) < used  # some have several pairs
    for n in (used, 3, 0):
        pairs.used[0] = n
        cut = shares(pairs, count)
        assert len(cut) == count
        assert [first for first, _ in cut] == [0, *(end for _, end in cut[:-1])]
        assert cut[-1][1] == n
        assert max(end - first for first, end in cut) <= n // count + 1 + MOST_PAIRS
        for first, _ in cut[1:]:
            assert first in (0, n) or bodies[first - 1] != bodies[first]


def test_small_scenes_are_left_to_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    assert thread_count(threads.LARGE - 1) == 1
    assert 1 <= thread_count(10**6) <= threads.MOST
    monkeypatch.setattr(threads, "LARGE", 10)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert Simulation(heap(), integrator="explicit").stepper.threads == 2
    assert Simulation(heap(), method="point", integrator="explicit").stepper.threads == 1
    assert Simulation(heap(), integrator="implicit").stepper.threads == 2
    assert Simulation(heap(3), integrator="implicit").stepper.threads == 1
    assert Simulation(heap(3), integrator="explicit").stepper.threads == 1
