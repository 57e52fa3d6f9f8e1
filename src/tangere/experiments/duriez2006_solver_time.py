"""Solver time: Gauss–Seidel on cones against Lemke's method on pyramids, by number of contacts.

[DURIEZ2006] Fig. 8 compares the time of its Algorithm 1 with that of 8-sided pyramids on the table,
in MATLAB, random motion and friction, 50 draws. It does not tell how exact the solutions were, and
without that a time of Gauss–Seidel means nothing. Here all solvers are compiled code, and the error
that each has reached stands beside its time: the natural map as a share of the force scale. Lemke's
method solves its own problem to rounding; its error is that of the pyramids, which no longer work
makes smaller.

A table of n = m (k + 2) rows is pivoted about 6 m times, so that Lemke's time grows like m³ k². A
sweep of Gauss–Seidel takes 9 m² multiplications, a Newton step (3 m)³/3 at most.

Every solver has the same problems, in turn and in an order that rotates; the least time of a few
calls counts, and shares are formed draw by draw. Setting up the pyramids' problem from W is not
counted, in favour of Lemke's method.
"""

from __future__ import annotations

import gc
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tangere.experiments import pictures, surface_pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, INK, canvas, house_style
from tangere.experiments.pressed_table import (
    CAMERA,
    PressedTable,
    TableParams,
    contact_rows,
    pressed_table,
)
from tangere.friction.problem import dense_problem, new_scratch
from tangere.friction.pyramid import lemke, pyramid_problem
from tangere.friction.solver import judge, solve_as_printed, solve_problem
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEMKE, NEWTON, GS6, GS3, PRINTED = (
    "Lemke, 8 sides",
    "Newton and Gauss–Seidel to 1e-9",
    "Gauss–Seidel to 1e-6",
    "Gauss–Seidel to 1e-3",
    "as printed, step below 1e-3",
)
TOLERANCES = {NEWTON: 1e-9, GS6: 1e-6, GS3: 1e-3, PRINTED: 1e-3}
SHADES = {
    LEMKE: "#2f6f9f",
    NEWTON: COLOURS["signorini"],
    GS6: "#d9822b",
    GS3: "#e0b36a",
    PRINTED: "#8a9099",
}
SIDES = 8
MAX_SWEEPS = 20_000
DOWN, SIDEWAYS = 1e-3, 2e-3  # of the top; the second is a standard deviation [m]
# Of an independent program: Lemke's pivots by number of contacts.
REFERENCE_PIVOTS = {4: 26, 8: 48, 16: 99, 24: 152, 36: 225}
ARROWS = 1.2e-4  # length of forces in the pictures [m/N]
DARKEST = 1.6e6  # von Mises stress in the pictures [Pa]


@dataclass(frozen=True)
class Params(TableParams):
    """Values of the experiment; SI units."""

    contacts: tuple[int, ...] = (4, 8, 16, 24, 36)
    draws: int = 50
    repeats: int = 5
    least_friction: float = 0.1
    most_friction: float = 0.8
    seed: int = 7


class Problem:
    """One draw: some foot nodes, a random motion of the top, a random friction."""

    def __init__(self, p: Params, table: PressedTable, m: int, rng: np.random.Generator) -> None:
        """Draw m of the contacts."""
        chosen = np.sort(rng.choice(table.contacts, min(m, table.contacts), replace=False))
        friction = rng.uniform(p.least_friction, p.most_friction)
        x, y = SIDEWAYS * rng.standard_normal(2)
        self.contacts = chosen.astype(np.int64)
        self.way = np.array([x, y, -DOWN])
        rows = contact_rows(self.contacts)
        W, q = table.W[np.ix_(rows, rows)], table.free_gaps(DOWN, x, y)[: len(rows)]
        self.cones = dense_problem(W, q, np.full(len(chosen), friction))
        self.pyramids = pyramid_problem(W, q, self.cones.mu, SIDES)
        self._scratch = new_scratch(len(chosen))

    def solve(self, solver: str) -> tuple[Array, int]:
        """Forces (3m,) [N], and how many pivots or sweeps and Newton steps they took."""
        if solver == LEMKE:
            z, pivots, _ = lemke(self.pyramids.M, self.pyramids.q)
            return self.pyramids.forces @ z, pivots
        r, tolerance = np.zeros(len(self.cones.q)), TOLERANCES[solver]
        if solver == PRINTED:
            found = solve_as_printed(self.cones, r, tolerance=tolerance, max_sweeps=MAX_SWEEPS)
        else:
            found = solve_problem(
                self.cones,
                r,
                tolerance=tolerance,
                max_sweeps=MAX_SWEEPS,
                newton=solver == NEWTON,
                scratch=self._scratch,
            )
        return r, found.sweeps + found.newton_steps

    def least_time(self, solver: str, repeats: int) -> float:
        """Of a few calls after one that fills the caches [s]."""
        self.solve(solver)
        least = math.inf
        for _ in range(repeats):
            start = time.perf_counter()
            self.solve(solver)
            least = min(least, time.perf_counter() - start)
        return least

    def violation(self) -> float:
        """How far Lemke's solution is from w = M z + q ≥ 0 ⊥ z ≥ 0: the largest |min(z, w)|."""
        M, q, _ = self.pyramids
        z, _, solved = lemke(M, q)
        return float(np.abs(np.minimum(z, M @ z + q)).max()) if solved else math.inf


@dataclass(frozen=True)
class Times:
    """One number of contacts: by solver, over the draws.

    Attributes:
        seconds: Least time of the calls (draws,) [s].
        error: Natural map over the force scale (draws,).
        iterations: Sweeps and Newton steps, or pivots (draws,).
        violation: How far Lemke's solutions are from their own problem (draws,).
        first: The first draw, for pictures.
    """

    seconds: dict[str, Array]
    error: dict[str, Array]
    iterations: dict[str, Array]
    violation: Array
    first: Problem

    def median(self, solver: str) -> float:
        """Of the times [s]."""
        return float(np.median(self.seconds[solver]))

    def share(self, solver: str) -> float:
        """Median over the draws of a solver's time as a share of Lemke's."""
        return float(np.median(self.seconds[solver] / self.seconds[LEMKE]))


@dataclass(frozen=True)
class Result:
    """Times by number of contacts."""

    params: Params
    table: PressedTable
    times: dict[int, Times]

    def growth(self, solver: str) -> float:
        """Power of the number of contacts with which the median time grows."""
        if len(self.times) < 2:
            return math.nan
        medians = [each.median(solver) for each in self.times.values()]
        return float(np.polyfit(np.log(list(self.times)), np.log(medians), 1)[0])


def run(params: Params, tell: Tell = silent) -> Result:
    """Every draw of every number of contacts by every solver."""
    p = params
    tell(0.0, "compliance of the table")
    table = pressed_table(p, corners=False)
    rng = np.random.default_rng(p.seed)
    times = {}
    work = np.cumsum([0.0, *(m**3 for m in p.contacts)])
    for i, m in enumerate(p.contacts):
        tell(0.05 + 0.95 * float(work[i] / work[-1]), f"{m} contacts")
        times[m] = measure([Problem(p, table, m, rng) for _ in range(p.draws)], p.repeats)
    return Result(p, table, times)


def measure(problems: list[Problem], repeats: int) -> Times:
    """Times and errors of all solvers on the same problems, with the garbage collector off."""
    n, solvers = len(problems), list(SHADES)
    seconds, error, iterations = ({s: np.zeros(n) for s in solvers} for _ in range(3))
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for i, problem in enumerate(problems):
            first = i % len(solvers)
            for solver in (*solvers[first:], *solvers[:first]):
                seconds[solver][i] = problem.least_time(solver, repeats)
                forces, iterations[solver][i] = problem.solve(solver)
                error[solver][i] = judge(problem.cones, forces)[1]
    finally:
        if collecting:
            gc.enable()
    violation = np.array([problem.violation() for problem in problems])
    return Times(seconds, error, iterations, violation, problems[0])


def check(result: Result) -> list[Claim]:
    """How the times grow, their share, and what was reached in them."""
    times = result.times
    most = max(times)
    last = times[most]
    growth, share = result.growth(LEMKE), last.share(NEWTON)
    worst = {s: max(float(each.error[s].max()) for each in times.values()) for s in TOLERANCES}
    violation = max(float(each.violation.max()) for each in times.values())
    counts = f"{min(times)} to {most} contacts"
    return [
        Claim("lemke-growth", "Lemke's time grows with the number of contacts to the power 2.5 or "
              f"more, {counts}", "multiply-adds: 2.9", growth, "", growth >= 2.5),
        Claim("newton-share", f"Newton and Gauss–Seidel take at most 1/5 of Lemke's time at {most} "
              "contacts", "multiply-adds: 4.0 of 58 million, 0.07", share, "", share <= 0.2),
        Claim("newton-error", "Newton and Gauss–Seidel reach 1e-9 of the force scale in every "
              "draw: largest error", "1e-9", worst[NEWTON], "", worst[NEWTON] <= 1e-9),
        Claim("lemke-solved", "Lemke's method solves the pyramids' problem in every draw: largest "
              "violation below 1e-7 of the free motion", "verified", violation, "",
              violation <= 1e-7),
        Claim("gs-error", "Gauss–Seidel alone reaches 1e-6 of the force scale in every draw: "
              "largest error", "1e-6", worst[GS6], "", worst[GS6] <= 1e-6),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """Times, shares, errors and iterations of all solvers; growth of the times."""
    rows = []
    for m, each in result.times.items():
        for solver in SHADES:
            rows += [
                Reading(f"median time, {m} contacts", solver, 1e6 * each.median(solver), "µs"),
                Reading(f"median error, {m} contacts", solver,
                        float(np.median(each.error[solver])), ""),
                Reading(f"mean iterations, {m} contacts", solver,
                        float(each.iterations[solver].mean()), ""),
            ]  # fmt: skip
        if m in REFERENCE_PIVOTS:
            rows.append(
                Reading(f"mean iterations, {m} contacts", "reference's Lemke",
                        float(REFERENCE_PIVOTS[m]), "", "pivots of an independent program")
            )  # fmt: skip
        rows += [
            Reading(f"largest error, {m} contacts", solver, float(each.error[solver].max()), "")
            for solver in SHADES
        ]
    rows += [Reading("power of the number of contacts", s, result.growth(s), "") for s in SHADES]
    most = max(result.times)
    rows += [
        Reading(f"share of Lemke's time, {most} contacts", s, result.times[most].share(s), "")
        for s in SHADES
    ]
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 8: time over the number of contacts; and the error that the time buys."""
    p = result.params
    most = max(p.contacts)
    figure, (left, right) = canvas(
        f"Left: median time of a solve over the number of contacts, {p.draws} draws (Duriez et al. "
        "2006, Fig. 8); two are shaded from the 10th to the 90th percentile. Right: the error that "
        f"this time buys at {most} contacts, one point a draw: the natural map as a share of the "
        "force scale. That of Lemke's method is the error of its pyramids.",
        columns=2,
        size=(9.0, 4.2),
    )
    m = np.array(list(result.times), float)
    for solver, colour in SHADES.items():
        taken = [1e3 * each.seconds[solver] for each in result.times.values()]
        low, middle, high = (np.array([np.percentile(t, q) for t in taken]) for q in (10, 50, 90))
        if solver in (LEMKE, NEWTON):  # more would not be told apart
            left.fill_between(m, low, high, color=colour, alpha=0.18, lw=0)
        left.plot(m, middle, "o-", color=colour, ms=4, label=solver)
        last = result.times[most]
        right.plot(1e3 * last.seconds[solver], np.maximum(last.error[solver], 1e-16), ".",
                   color=colour, ms=5)  # fmt: skip
    at = result.times[max(result.times)].median(LEMKE)
    left.plot(m, 1e3 * at * (m / m[-1]) ** 3, "--", color=INK, lw=0.9, label="as m³")
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xticks(m, [f"{int(x)}" for x in m])
    left.set_xticks([], minor=True)
    left.set_xlabel("contacts m")
    left.set_ylabel("time of a solve [ms]")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlabel(f"time of a solve, {most} contacts [ms]")
    right.set_ylabel("error reached")
    figure.legend(loc="outside lower center", ncols=3)
    return [figure]


def strip(result: Result) -> Figure:
    """The table on few and on many contacts, their forces as arrows."""
    table = result.table
    shown = list(result.times)
    frames = []
    for m in shown if len(shown) <= 4 else [shown[0], *shown[2:]]:
        problem = result.times[m].first
        forces, _ = problem.solve(NEWTON)
        whole = np.zeros(3 * table.contacts)
        whole[contact_rows(problem.contacts)] = forces
        arrows = []
        for c, (n, x, y) in zip(problem.contacts, forces.reshape(-1, 3), strict=True):
            foot = table.body.positions[table.nodes[c]]
            if n > 0.0:
                arrows.append((foot, foot + ARROWS * np.array([x, y, n]), "#a33b3b"))
        surface = table.surface(whole, problem.way, 1.0, DARKEST)
        frames.append((surface, pictures.Frame((), f"{m} contacts", tuple(arrows))))
    return surface_pictures.strip(
        frames, CAMERA, "The first draw of each: forces of the floor on the feet as arrows, colour "
        f"by von Mises stress, 0 to {1e-6 * DARKEST:g} MPa."
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="solver-time",
    paper="Duriez et al. 2006, section 5.2, Fig. 8",
    summary="exact cones by Newton and Gauss–Seidel take a fraction of the time of pyramids",
    params=Params(),
    quick=Params(draws=6, repeats=3),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
