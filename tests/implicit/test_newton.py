"""The solution of a step: momentum balance, and the minimum that SciPy finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from implicit.looking import StepProblem, seen
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.bench import heap
from tangere.elements.columns import (
    BREAKS,
    EF_F,
    EF_HELD,
    HOLDS,
    POINT_KIND,
    SLIDES,
    SPRING_KIND,
)
from tangere.implicit import islands, large
from tangere.implicit.large import FINE, FINE_MOST
from tangere.implicit.newton import TOLERANCE
from tangere.simulation import Simulation
from tangere.solver import ACTIVE, SMALL

Array = NDArray[np.float64]

DT = 5e-3
# κ = k dt²/m = 0.5: SciPy's methods want it well conditioned
SOFT = tg.Material(0.5, 0.4, stiffness=2e4, damping=30.0)
SLICK = tg.Material(0.0, 0.0, stiffness=2e4, damping=30.0)


def quat(*rotvec: float) -> Array:
    return np.asarray(Rotation.from_rotvec(rotvec).as_quat(scalar_first=True))


def thrown(material: tg.Material, turn: Array, method: str = "volume") -> Simulation:
    """A box thrown on the floor, a hair above it."""
    r = Rotation.from_quat(turn, scalar_first=True).as_matrix()
    reach = float(np.abs(r[2]) @ np.array((0.2, 0.3, 0.1))) / 2.0
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor(material=material)
    scene.add_body(
        tg.Box((0.2, 0.3, 0.1)), mass=1.0, position=(0, 0, reach + 1e-4), orientation=turn,
        velocity=(0.8, -0.3, -0.5), angular_velocity=(0.3, 1.0, 2.0), material=material,
    )  # fmt: skip
    return Simulation(scene, method=method, dt=DT, integrator="implicit")


def stack() -> Simulation:
    """A box thrown on another one that rests on the floor."""
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor(material=SOFT)
    for k, v in enumerate(((0.0, 0.0, 0.0), (0.3, 0.1, -0.2))):
        scene.add_body(
            tg.Box((0.3, 0.3, 0.1)), mass=1.0 + 2.0 * k, position=(0.03 * k, 0, 0.05 + 0.1 * k),
            velocity=v, angular_velocity=(0, 0, 1.0 * k), material=SOFT,
        )  # fmt: skip
    return Simulation(scene, dt=DT, integrator="implicit")


def collision() -> Simulation:
    """Two free boxes, corner against face, with a spring between them."""
    scene = tg.Scene(gravity=(0, 0, 0))
    for x, v in ((-0.16, 1.0), (0.16, -1.0)):
        scene.add_body(
            tg.Box((0.3, 0.3, 0.3)), mass=1.0 if x < 0 else 4.0, position=(x, 0.1 * v, 0.05 * v),
            orientation=quat(0.0, 0.2, 0.1) if x < 0 else quat(0.0, 0.0, 0.0),
            velocity=(v, 0.3, 0.0), angular_velocity=(1.0, v, -0.5), material=SOFT,
        )  # fmt: skip
    scene.add_spring(0, 1, anchor_a=(0.1, 0, 0), stiffness=300.0, damping=2.0, rest_length=0.1)
    scene.add_spring(0, anchor_b=(0, 1, 0), stiffness=50.0, velocity=(0.0, 0.3, 0.0))
    return Simulation(scene, dt=DT, integrator="implicit")


SCENES: dict[str, Callable[[], Simulation]] = {
    "face": lambda: thrown(SOFT, quat(0.0, 0.0, 0.4)),
    "edge": lambda: thrown(SOFT, quat(0.5, 0.0, 0.0)),
    "corner": lambda: thrown(SOFT, quat(0.5, 0.4, 0.2)),
    "slick": lambda: thrown(SLICK, quat(0.001, 0.002, 0.0)),
    "point": lambda: thrown(SOFT, quat(0.5, 0.4, 0.2), "point"),
    "stack": stack,
    "collision": collision,
}
SHORT = {"face", "corner", "point"}
NAMES = [pytest.param(x, marks=pytest.mark.nojit) if x in SHORT else x for x in SCENES]


@pytest.mark.parametrize("name", NAMES)
def test_solution_is_the_minimum(name: str) -> None:
    sim = SCENES[name]()
    compared, modes = 0, set()
    for _ in range(12):
        sim.step()
        problem = StepProblem(sim)
        pressing = [c for c in problem.contacts if c.kind != SPRING_KIND and c[EF_F] > 0.0]
        if not pressing or any(c.mode != SLIDES and c[EF_HELD] > 0.0 for c in pressing):
            continue  # the reference begins with friction springs that are slack
        v = problem.solution
        assert problem.gradient(v) == pytest.approx(np.zeros(len(v)), abs=1e-8)
        # another way there, from free flight
        found = minimize(
            lambda v, p=problem: p(v).real,
            problem.free[problem.moving].ravel(),
            jac=problem.gradient,
            method="BFGS",
            options={"gtol": 1e-9, "maxiter": 2000},
        )
        # BFGS ends where rounding of the objective hides its slope: sqrt(1e-16)
        assert v == pytest.approx(found.x, abs=3e-6)
        assert problem(v).real <= found.fun + 1e-13 * (1.0 + abs(found.fun))
        compared += 1
        modes |= {(c.kind, c.mode) for c in pressing}
        if compared == 3:
            break
    assert compared >= 1
    if name == "point":
        assert all(kind == POINT_KIND for kind, _ in modes)
    if name in ("face", "edge", "stack"):
        assert {mode for _, mode in modes} & {BREAKS, SLIDES}


@pytest.mark.parametrize("name", NAMES)
def test_momentum_balances_in_every_step(name: str) -> None:
    sim = SCENES[name]()
    pressed = 0
    for _ in range(25):
        sim.step()
        problem = StepProblem(sim)
        # as the residual is measured: speeds, rotation at the least radius of gyration
        model = sim.arrays.model
        worst = 0.0
        for i, row in zip(problem.moving, problem.imbalance(), strict=True):
            turn = np.linalg.norm(row[3:]) / np.sqrt(model.mass[i] * model.inertia[i].min())
            worst = max(worst, float(np.linalg.norm(row[:3]) / model.mass[i] + turn))
        assert worst < 1.01 * TOLERANCE + 1e-13
        assert sim.audit.residual == pytest.approx(worst, rel=1e-2, abs=1e-13)
        pressed += sum(c[EF_F] > 0.0 for c in problem.contacts if c.kind != SPRING_KIND)
    assert pressed > 3


@pytest.mark.nojit
def test_rest_needs_little() -> None:
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor()
    for k in range(2):
        scene.add_body(tg.Box((0.2, 0.2, 0.1)), mass=1.0, position=(0, 0, 0.05 + 0.1 * k))
    sim = Simulation(scene, dt=DT, integrator="implicit")
    sim.step(60)
    assert {c.mode for c in seen(sim)} == {HOLDS}
    for _ in range(20):  # one look at the geometry; now and then a solve against rounding
        sim.step()
        assert sim.audit.passes == 1
        assert sim.audit.solves <= 1


def test_island_too_large_to_factor() -> None:
    # 4 x 4 columns of 10 blocks a hair apart: 160 bodies, three edges each, conjugate gradients
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor()
    for i in range(160):
        x, y, z = i % 4, i // 4 % 4, i // 16
        scene.add_body(
            tg.Box((0.2, 0.2, 0.1)), mass=1.0,
            position=(0.2001 * x, 0.2001 * y, 0.05 + 0.1 * z), velocity=(0.02 * (x % 2), 0, 0),
        )  # fmt: skip
    sim = Simulation(scene, dt=DT, integrator="implicit")
    for _ in range(10):
        sim.step()
        graph = sim.arrays.work.solver.graph
        assert int(graph.known[1]) == 1
        assert int(graph.direct[0]) == 0
        # gradients to 1e-2 of the start each time; Newton takes the rest away
        assert sim.audit.residual < FINE
    loads = [sim[i].contact_wrench[0][2] for i in range(160)]
    assert loads == pytest.approx([9.81] * 160, abs=0.5)


def assert_balanced(sim: Simulation) -> None:
    """All momentum of the last step is accounted for, body by body."""
    graph = sim.arrays.work.solver.graph
    tolerance = TOLERANCE if graph.direct[: graph.known[1]].all() else FINE_MOST
    assert sim.audit.residual < tolerance
    problem = StepProblem(sim)
    model = sim.arrays.model
    push, turn = np.split(problem.imbalance(), 2, axis=1)
    mass, least = model.mass[problem.moving], model.inertia[problem.moving].min(axis=1)
    worst = np.linalg.norm(push, axis=1) / mass
    worst += np.linalg.norm(turn, axis=1) / np.sqrt(mass * least)
    # the independent sums differ by rounding of impulses that are 1e3 times larger
    assert worst.max() < 1.01 * tolerance + 1e-12


def test_momentum_balances_in_a_large_heap() -> None:
    """Most bodies are held still in most rounds; nobody may be forgotten."""
    sim = Simulation(heap.scene(500), dt=DT)
    sim.step(90)
    for _ in range(5):
        sim.step()
        graph = sim.arrays.work.solver.graph
        assert np.diff(graph.start[: graph.known[1] + 1]).max() > SMALL
        assert_balanced(sim)


@pytest.mark.nojit
@pytest.mark.skipif(not JIT_DISABLED, reason="compiled code has its constants inside")
def test_a_few_bodies_by_the_rules_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contacts change early and bodies are held still, as in heaps too large for plain Python."""
    monkeypatch.setattr(islands, "SMALL", 0)
    monkeypatch.setattr(large, "MANY", 0.9)  # of so few, two rings are nearly all
    monkeypatch.setattr(large, "RINGS", 1)
    held = []
    real = large.activate

    def watched(*args: Any) -> int:
        active = real(*args)
        g, island = args[0].graph, args[1]
        places = range(g.start[island], g.start[island + 1])
        held.append(sum(args[0].large.state[p] != ACTIVE for p in places))
        return int(active)

    monkeypatch.setattr(large, "activate", watched)
    rng = np.random.default_rng(2)
    scene = tg.Scene()
    scene.add_floor()
    for k in range(8):
        place = (0.12 * (k % 4), 0.02 * k, 0.08 + 0.13 * (k // 4))
        speed = (0.8 - 0.4 * (k % 3), 0.0, -1.5)
        scene.add_body(
            tg.Box((0.1, 0.1, 0.05)), mass=0.2, position=place, velocity=speed,
            orientation=rng.normal(size=4),
        )  # fmt: skip
    sim = Simulation(scene, dt=DT)
    modes = set()
    for _ in range(16):
        sim.step()
        assert_balanced(sim)
        modes |= {c.mode for c in seen(sim)}
    assert modes == {HOLDS, BREAKS, SLIDES}
    assert max(held) > 0
