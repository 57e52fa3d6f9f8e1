"""Soft bodies in hand, and the time that their contacts take: for experiments and benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

import tangere as tg
from tangere.contact.signorini.options import Signorini
from tangere.experiments.siconos_solver import Siconos, siconos_works
from tangere.fem.grids import box_grid
from tangere.friction.problem import Problem, dense_problem, new_scratch
from tangere.friction.solver import solve_problem
from tangere.maths.vec import Array
from tangere.steppers.profile import Profile
from tangere.steppers.signorini import SignoriniStepper
from tangere.steppers.unilateral import CORRECT, DELASSUS, SOLVE

Hand: TypeAlias = Callable[[float], tuple[float, float, float]]

TOLERANCE = 1e-6  # residual of the contact problems that are timed
TICK = 1e-3  # [s]
COLD_TOLERANCE = 1e-8  # of solves from no forces
SPACING, PAD_HEIGHT = 4e-3, 12e-3  # of a pad's vertices, and its own [m]
PRESSED = 1.5e-3  # the hand is so far below where a pad would just touch [m]
WANDER = 1e-3  # ... and moves about so far to either side [m]


@dataclass(frozen=True)
class Timing:
    """Steps that were timed, one entry each."""

    contacts: Array  # in the contact problem
    handling: Array  # W, solve and correction [s]
    whole: Array  # all of the step [s]
    residual: Array
    profile: Profile  # of all steps, by stage
    problem: Problem | None = None  # contact problem of the last one, if there was a contact


def timed_pad(across: tuple[int, int], mu: float, steps: int, lead_in: int) -> Timing:
    """A pad with so many vertices below is pressed on a floor and moved about."""
    return timed_steps(*pad(across, mu), across[0] * across[1], steps, lead_in)


def pad(across: tuple[int, int], mu: float) -> tuple[tg.Scene, Hand]:
    """A soft pad just above a floor, held by its upper face, and the way of the hand."""
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    rubber = scene.add_material("rubber", tg.Material(mu, mu))
    scene.add_floor(material=rubber)
    cells = (across[0] - 1, across[1] - 1, round(PAD_HEIGHT / SPACING))
    mesh = box_grid((cells[0] * SPACING, cells[1] * SPACING, PAD_HEIGHT), cells)
    z = mesh.vertices[:, 2]
    start = 0.5 * PAD_HEIGHT + 1e-5
    scene.add_soft_body(
        mesh,
        young=1e6,
        poisson=0.4,
        mass=0.05,
        handle=np.flatnonzero(z > z.max() - 1e-9),
        contact=np.flatnonzero(z < z.min() + 1e-9),
        order=1,
        position=(0.0, 0.0, start),
        material=rubber,
        name="pad",
        coupling=tg.VirtualCoupling(
            stiffness=2000.0,
            damping=8.0,
            rotational_stiffness=5.0,
            rotational_damping=0.02,
            max_force=200.0,
        ),
    )

    def hand(t: float) -> tuple[float, float, float]:
        pressed = min(t / 0.05, 1.0)
        x, y = np.sin(2.0 * np.pi * t), np.sin(3.4 * np.pi * t + 0.4) - np.sin(0.4)
        return WANDER * x, WANDER * y, start - PRESSED * pressed

    return scene, hand


def timed_steps(scene: tg.Scene, hand: Hand, most: int, steps: int, lead_in: int) -> Timing:
    """Times of the steps of a scene whose tool is moved by a hand, after some that are not timed.

    They come from the clock of the step itself (`sim.profile`), so what is around it is left out.
    """
    session = tg.Session(
        scene,
        method=Signorini(tolerance=TOLERANCE, max_contacts=most),
        device=tg.devices.Scripted(hand),
    )
    sim = session.simulation
    stepper = sim.stepper
    assert isinstance(stepper, SignoriniStepper)
    rows: list[tuple[float, float, float, float]] = []

    def note() -> None:
        spent = sim.profile.last
        handling = spent[DELASSUS] + spent[SOLVE] + spent[CORRECT]
        contacts = float(stepper.problem.contacts.used[1])
        rows.append((contacts, handling, sum(spent), sim.audit.residual))

    session.run(TICK * (lead_in + steps), realtime=False, each=note)
    contacts, handling, whole, residual = np.array(rows[lead_in:]).T
    problem = contact_problem(stepper)
    return Timing(contacts, handling, whole, residual, sim.profile, problem)


def contact_problem(stepper: SignoriniStepper) -> Problem | None:
    """Problem of the last step of a scene whose contacts are one group; None: it had none."""
    m = int(stepper.problem.contacts.used[1])
    made = stepper.problem.system.problem
    if m == 0:
        return None
    W = made.W.ravel()[: 9 * m * m].reshape(3 * m, 3 * m)
    return dense_problem(W.copy(), made.q.ravel()[: 3 * m].copy(), made.mu[:m].copy())


def cold(problem: Problem, rounds: int) -> tuple[float, float]:
    """Median times of solves from no forces, ours and Siconos', in turns [s]; NaN without it."""
    scratch, r = new_scratch(len(problem.mu)), np.zeros(len(problem.q))
    siconos = Siconos(problem, COLD_TOLERANCE) if siconos_works() else None
    ours, theirs = [], []
    for _ in range(rounds):
        r[:] = 0.0
        start = time.perf_counter()
        solve_problem(problem, r, tolerance=COLD_TOLERANCE, scratch=scratch)
        ours.append(time.perf_counter() - start)
        theirs += siconos.seconds(1) if siconos is not None else []
    if siconos is not None:
        siconos.close()
    return median(np.array(ours)), median(np.array(theirs))


def median(values: Array) -> float:
    """The middle; NaN of nothing."""
    return percentile(values, 50.0)


def percentile(values: Array, share: float) -> float:
    """A percentile; NaN of nothing."""
    return float(np.percentile(values, share)) if len(values) else float("nan")
