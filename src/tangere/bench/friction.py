"""Time of the frictional contact solver, beside Siconos' NSGS where it is installed.

Problems of the FCLIB collection and of a soft pad pressed on a plate, solved from no forces to an
error of 1e-8; and what a haptic step meets, the contacts of a pad that is moved about, each solve
started from the forces of the last. No side converts anything within the time that is taken: ours
is that of the kernel.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from tangere._clock import kernel_ns
from tangere._jit import kernel
from tangere._ptr import pointers, ptr
from tangere.bench.report import Result, Row, Table, spread
from tangere.bench.turns import Contestant, durations, median_ratio, take_turns
from tangere.experiments.cube_toss import find_data
from tangere.experiments.siconos_solver import Siconos, siconos_works
from tangere.friction.anytime import solve_contacts
from tangere.friction.problem import (
    Problem,
    Scratch,
    block_problem,
    dense_problem,
    new_scratch,
)
from tangere.friction.solver import FrictionSolution, judge, solve_problem
from tangere.maths.vec import Array

OURS, THEIRS = "tangere", "Siconos"
FILE = "friction_problems.npz"
STORED = ("box_stack_82", "periodic_box_60", "spheres_356")
TOLERANCE = 1e-8
CALLS = 3  # per turn
COUNTS = (4, 8, 16, 32, 64, 128, 256)
# Pads that move: contacts, friction, steps of 1 ms, and what is claimed of the median [µs].
PADS = (
    (20, 0.2, 4000, 30.0),
    (20, 0.8, 4000, 30.0),
    (30, 0.0, 4000, 30.0),
    (200, 0.2, 400, 3000.0),
    (200, 0.8, 400, 3000.0),
)
MOVING_TOLERANCE = 1e-6
MAX_SWEEPS = 10_000
# The pad: distance of its points [m], modulus [Pa], share of its rigid motion in the compliance.
SPACING, MODULUS, RIGID = 4e-3, 1e5, 0.3
DEPTH, BUMPS = 2e-4, 0.005  # it is pressed in so deep [m], on a plate so uneven, as a share
SPEED = 2e-3  # it is moved about at this speed [m/s]: most contacts change between stick and slip
STEP = 1e-3  # [s]


def measure(rounds: int = 9, counts: tuple[int, ...] = COUNTS) -> Result:
    """Stored problems, growth with the number of contacts, and moving pads."""
    begin = time.perf_counter()
    notes: list[str] = []
    if not siconos_works():
        notes.append("Siconos is not installed: there is nothing to compare with")
    tables = []
    path = find_data(file=FILE)
    if path is None:
        notes.append(f"{FILE} is not there: give its folder by TANGERE_DATA")
    else:
        stored, worst = [], 0.0
        for name in STORED:
            rows, ratio = compare(load(path, name), rounds)
            worst = max(worst, ratio)
            stored += [{"problem": name, **row} for row in rows]
        tables.append(Table("stored problems, from no forces", stored))
        if siconos_works():
            verdict = "holds" if worst <= 0.5 else "FAILS"
            notes.append(f"half of Siconos' time claimed for each; {worst:.2g} at most: {verdict}")
    grown = []
    for m in counts:
        rows, _ = compare(_pressed(m), rounds)
        grown += [{"contacts": m, **row} for row in rows]
    tables.append(Table("a soft pad, pressed down and aside, from no forces", grown))
    moving = [_moving(m, mu, steps) for m, mu, steps, _ in PADS]
    tables.append(Table("a soft pad that moves, from the last forces", moving))
    for (m, mu, _, claimed), row in zip(PADS, moving, strict=True):
        verdict = "holds" if float(row["p50 [µs]"] or 0.0) <= claimed else "FAILS"
        notes.append(f"{m} contacts, μ = {mu}: median within {claimed:g} µs claimed: {verdict}")
    settings = {
        "tolerance": TOLERANCE,
        "moving_tolerance": MOVING_TOLERANCE,
        "rounds": rounds,
        "calls_per_turn": CALLS,
    }
    return Result("friction", settings, tables, notes, time.perf_counter() - begin)


# ---------------------------------------------------------------- problems


def load(path: Path, name: str) -> Problem:
    """A stored problem, in blocks."""
    from scipy import sparse

    with np.load(path) as file:
        data, indices, indptr, q, mu = (
            file[f"{name}.{field}"] for field in ("data", "indices", "indptr", "q", "mu")
        )
    W = sparse.csr_matrix((data, indices, indptr), shape=(len(q), len(q)))
    return block_problem(W, q, mu)


def half_space(points: Array, poisson: float = 0.3) -> Array:
    """Compliance of an elastic half-space z < 0 of E = 1 at points of its surface, rows (z, x, y).

    Boussinesq's and Cerruti's displacements at distance d of a unit force. The diagonal is that of
    the centre of a disc of a third of the least distance under an even load.

    Args:
        points: x and y, shape (n, 2).
        poisson: Ratio ν.
    """
    n = len(points)
    gap = points[:, None, :] - points[None, :, :]
    d = np.hypot(gap[..., 0], gap[..., 1])
    d[np.arange(n), np.arange(n)] = np.inf
    radius = float(d.min()) / 3.0 if n > 1 else 1.0
    e, k = gap / d[..., None], (1.0 + poisson) / np.pi
    W = np.zeros((n, 3, n, 3))
    W[:, 0, :, 0] = k * (1.0 - poisson) / d
    along = np.einsum("cdi,cdj->cdij", e, e)
    tangential = (1.0 - poisson) * np.eye(2) + poisson * along
    W[:, 1:, :, 1:] = np.einsum("cdij,cd->cidj", tangential, k / d)
    across = 0.5 * k * (1.0 - 2.0 * poisson) * e / d[..., None]
    W[:, 0, :, 1:] = across
    W[:, 1:, :, 0] = np.einsum("cdi->cid", -across)
    own = np.arange(n)
    W[own, 0, own, 0] = 2.0 * k * (1.0 - poisson) / radius
    for i in (1, 2):
        W[own, i, own, i] = k * (2.0 - poisson) / radius
    return W.reshape(3 * n, 3 * n)


def pad(m: int) -> tuple[Array, Array]:
    """Points of a soft pad [m] and its compliance, with some of it the rigid motion of its back."""
    rng = np.random.default_rng(m)
    side = int(np.ceil(np.sqrt(m)))
    grid = np.array([(i, j) for i in range(side) for j in range(side)], float)[:m]
    points = SPACING * (grid + rng.uniform(-0.2, 0.2, (m, 2)))
    points -= points.mean(axis=0)
    elastic = half_space(points) / MODULUS
    height = 5.0 * SPACING  # of its back above the plate
    J = np.zeros((m, 3, 6))
    J[:, (0, 1, 2), (2, 0, 1)] = 1.0  # n, t1, t2 along z, x, y
    J[:, 0, 3], J[:, 0, 4] = points[:, 1], -points[:, 0]
    J[:, 1, 4], J[:, 1, 5] = -height, -points[:, 1]
    J[:, 2, 3], J[:, 2, 5] = height, points[:, 0]
    rows = J.reshape(3 * m, 6)
    rigid = rows * np.r_[np.ones(3), np.full(3, 1.0 / height**2)] @ rows.T
    return points, elastic + RIGID * np.trace(elastic) / np.trace(rigid) * rigid


def _pressed(m: int) -> Problem:
    """A pad pressed down and pushed aside: some contacts open, some stick, some slip."""
    points, W = pad(m)
    rng = np.random.default_rng(m)
    q = np.empty((m, 3))
    far = (points**2).sum(axis=1) / (points**2).sum(axis=1).max()
    q[:, 0] = DEPTH * (0.5 * far + 0.05 * rng.normal(size=m) - 1.0)
    q[:, 1:] = DEPTH * (0.3 * np.array([1.0, 0.5]) + 0.05 * rng.normal(size=(m, 2)))
    return dense_problem(W, q.ravel(), rng.uniform(0.1, 0.8, m))


def moving_pad(m: int, mu: float, steps: int) -> tuple[Problem, Array]:
    """A pad pressed on an uneven plate and moved about; q of every step, shape (steps, 3m).

    Without contact forces the pad takes its shape back: q_t = −(W r)_t of the last step + v dt.
    """
    points, W = pad(m)
    rng = np.random.default_rng(m)
    plate = DEPTH * BUMPS * rng.normal(size=m)
    qs = np.zeros((steps, 3 * m))
    problem, scratch = dense_problem(W, np.zeros(3 * m), np.full(m, mu)), new_scratch(m)
    r = np.zeros(3 * m)
    for k in range(steps):
        t = 2.0 * np.pi * k * STEP
        q, back = qs[k].reshape(m, 3), (W @ r).reshape(m, 3)
        q[:, 0] = plate - DEPTH * (1.0 + 0.3 * np.sin(3.0 * t))
        turn = 15.0 * SPEED * np.sin(1.7 * t)
        q[:, 1] = STEP * (SPEED * np.sin(2.0 * t) - turn * points[:, 1]) - back[:, 1]
        q[:, 2] = STEP * (SPEED * np.cos(3.1 * t) + turn * points[:, 0]) - back[:, 2]
        problem.q[:] = qs[k]
        solve_problem(problem, r, tolerance=1e-10, scratch=scratch)
    return problem, qs


# ---------------------------------------------------------------- solves


def compare(problem: Problem, rounds: int) -> tuple[list[Row], float]:
    """Rows of ours and of theirs, both with the errors that both measure; the ratio of times."""
    scratch, answers = new_scratch(len(problem.mu)), {}
    r = np.zeros(len(problem.q))

    def solve() -> None:
        r[:] = 0.0
        answers[OURS] = solve_problem(problem, r, tolerance=TOLERANCE, scratch=scratch)

    contestants = [Contestant(OURS, lambda n: durations(solve, n))]
    siconos = Siconos(problem, TOLERANCE) if siconos_works() else None
    if siconos is not None:
        contestants.append(Contestant(THEIRS, siconos.seconds))
    try:
        taken = take_turns(contestants, rounds, CALLS)
        ours: FrictionSolution = answers[OURS]
        forces, iterations = {OURS: ours.r}, {OURS: ours.sweeps + ours.newton_steps}
        if siconos is not None:
            forces[THEIRS], iterations[THEIRS] = siconos.forces, siconos.iterations
        rows: list[Row] = []
        for name, turns in taken.items():
            times = 1e6 * np.concatenate(turns)
            row: Row = {"solver": name, "p50 [µs]": float(np.median(times))}
            row["worst [µs]"] = float(times.max())
            row["ours / theirs"] = median_ratio(taken[OURS], turns)
            row["iterations"] = iterations[name]
            row["error"] = judge(problem, forces[name])[1]
            row["Siconos' error"] = None if siconos is None else siconos.judge(forces[name])
            rows.append(row)
    finally:
        if siconos is not None:
            siconos.close()
    return rows, float(rows[-1]["ours / theirs"] or 0.0)


def _moving(m: int, mu: float, steps: int) -> Row:
    """Times of the solves of a moving pad."""
    problem, qs = moving_pad(m, mu, steps)
    scratch, out = new_scratch(m), np.zeros((steps, 4))
    for _ in range(2):  # the first run is for the caches
        _time_solves(problem, qs, np.zeros(3 * m), scratch, MOVING_TOLERANCE, out)
    return {
        "contacts": m,
        "friction": mu,
        **spread(1e-9 * out[1:, 0]),
        "sweeps": float(out[1:, 2].mean()),
        "Newton steps": float(out[1:, 3].mean()),
        "worst error": float(out[1:, 1].max()),
    }


@kernel
def _time_solves(
    problem: Problem, qs: Array, r: Array, scratch: Scratch, tolerance: float, out: Array
) -> None:
    """Nanoseconds, error, sweeps and Newton steps of one solve after the other."""
    p, s, m = pointers(problem), pointers(scratch), len(problem.mu)
    for k in range(len(qs)):
        for i in range(3 * m):
            p.q[i] = qs[k, i]
        start = kernel_ns()
        error, sweeps, steps = solve_contacts(p, m, ptr(r), s, tolerance, MAX_SWEEPS, True, 0)
        out[k, 0] = kernel_ns() - start
        out[k, 1], out[k, 2], out[k, 3] = error, sweeps, steps
