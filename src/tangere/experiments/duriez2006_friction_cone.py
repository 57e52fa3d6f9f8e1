"""Friction cone: how many sides a pyramid needs to stand for Coulomb's cone.

With pyramids of k sides instead of cones the contact problem becomes linear complementarity, which
Lemke's method solves. [DURIEZ2006] Fig. 7 measures what that costs in precision, eq. (26):

    γ = |f_pyramid − f_cone| / |f_cone|,     μ = 0.1, mean over 30 draws

and concludes that 16 sides are needed for γ < 5 %. The load of its table is not printed. Here the
top is moved down and sideways in a random direction, with noise on the gaps, in four ways: γ falls
like 1/k in all of them, but where it passes 5 % is a matter of the load, of how many contacts slip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import tangere as tg
from tangere.experiments import pictures, surface_pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import FAINT, INK, canvas, house_style
from tangere.experiments.pressed_table import CAMERA, PressedTable, TableParams, pressed_table
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOWN = 1e-3  # of the top [m]
TOLERANCE = 1e-12  # of Gauss–Seidel
PAPER_SIDES, PAPER_GAP = 16, 0.05
STILL = 1e-9  # a contact that moves no further sticks [m]
SHADES = ("#a3327f", "#2f6f9f", "#d9822b", "#7fb285")
ARROWS = 1e-3  # length of forces in the pictures [m/N]
DARKEST = 1.6e6  # von Mises stress in the pictures [Pa]


class Case(NamedTuple):
    """How the table is moved: sideways [m], noise on the gaps [m], friction."""

    name: str
    sideways: float
    noise: float
    friction: float
    reference: str
    """Mean γ of an independent program at 4, 8, 16 and 32 sides."""

    @property
    def words(self) -> str:
        """All of it in a legend."""
        return (
            f"{1e3 * self.sideways:g} mm sideways, noise {1e3 * self.noise:g} mm, "
            f"μ = {self.friction:g}"
        )


CASES = (
    Case("all-slip", 10e-3, 0.1e-3, 0.1, "24.8, 12.1, 6.1, 2.7 %"),
    Case("most-slip", 1e-3, 0.0, 0.1, "17.9, 7.5, 3.3, 1.5 %"),
    Case("noisy", 1e-3, 0.2e-3, 0.1, "12.7, 3.5, 1.5, 0.75 %"),
    Case("rough", 10e-3, 0.1e-3, 0.5, "4.2, 0.7, 0.25, 0.1 %"),
)
# γ of 16 sides is judged where nearly all contacts slip at the paper's friction.
SLIPPING = CASES[:2]
JUDGED = (4, 8, 16, 32)


@dataclass(frozen=True)
class Params(TableParams):
    """Values of the experiment; SI units."""

    draws: int = 30
    sides: tuple[int, ...] = (4, 6, 8, 12, 16, 24, 32)
    seed: int = 1


@dataclass(frozen=True)
class Gaps:
    """What a case gives: γ by number of sides (draws,), and what the cones say.

    Attributes:
        gamma: |f_pyramid − f_cone|/|f_cone| by number of sides, NaN where Lemke's method failed.
        error: Largest error of the cones' solutions.
        slipping: Share of the touching contacts that slip.
        gaps: Free gaps of every draw (draws, 3m) [m].
        cones: Forces of every draw (draws, 3m) [N].
        pyramids: The same by number of sides.
    """

    gamma: dict[int, Array]
    error: float
    slipping: float
    gaps: Array
    cones: Array
    pyramids: dict[int, Array]

    def mean(self, sides: int) -> float:
        """Mean γ; NaN where it was not measured."""
        return float(self.gamma[sides].mean()) if sides in self.gamma else math.nan


@dataclass(frozen=True)
class Result:
    """γ by case."""

    params: Params
    table: PressedTable
    gaps: dict[str, Gaps]


def run(params: Params, tell: Tell = silent) -> Result:
    """All draws of all cases by cones and by pyramids."""
    p = params
    tell(0.0, "compliance of the table")
    table = pressed_table(p, corners=True)
    gaps = {}
    for i, case in enumerate(CASES):
        tell(0.1 + 0.9 * i / len(CASES), case.words)
        gaps[case.name] = measure(p, table, case)
    return Result(p, table, gaps)


def measure(p: Params, table: PressedTable, case: Case) -> Gaps:
    """One case: every draw by Gauss–Seidel on the cones and by Lemke's method on pyramids."""
    rng = np.random.default_rng(p.seed)
    shape = (p.draws, 3 * table.contacts)
    gaps, cones = np.zeros(shape), np.zeros(shape)
    pyramids = {k: np.zeros(shape) for k in p.sides}
    gamma = {k: np.full(p.draws, math.nan) for k in p.sides}
    error, slipping = 0.0, 0.0
    for draw in range(p.draws):
        angle = rng.uniform(0.0, 2.0 * math.pi)
        x, y = case.sideways * math.cos(angle), case.sideways * math.sin(angle)
        q = table.free_gaps(DOWN, x, y) + case.noise * rng.standard_normal(3 * table.contacts)
        cone = tg.solve_friction(table.W, q, case.friction, tolerance=TOLERANCE, solver="gs")
        gaps[draw], cones[draw], error = q, cone.r, max(error, cone.error)
        slip = np.linalg.norm(cone.u.reshape(-1, 3)[cone.r[::3] > 0.0, 1:], axis=1)
        slipping += float((slip > STILL).mean()) / p.draws
        for k in p.sides:
            found = tg.solve_friction(table.W, q, case.friction, solver="lemke", sides=k)
            pyramids[k][draw] = found.r
            if found.converged:
                gamma[k][draw] = np.linalg.norm(found.r - cone.r) / np.linalg.norm(cone.r)
    return Gaps(gamma, error, slipping, gaps, cones, pyramids)


def check(result: Result) -> list[Claim]:
    """γ falls with the number of sides, like 1/k; what 16 sides give; everything was solved."""
    p = result.params
    judged = [k for k in JUDGED if k in p.sides]
    claims = []
    for case in CASES:
        gaps = result.gaps[case.name]
        means = np.array([gaps.mean(k) for k in judged])
        slowest = float((means[1:] / means[:-1]).max()) if len(means) > 1 else math.nan
        halving = gaps.mean(8) / gaps.mean(16)
        claims += [
            Claim(f"falls-{case.name}", f"{case.words}: mean γ falls from "
                  f"{', '.join(str(k) for k in judged[:-1])} to {judged[-1]} sides: largest ratio "
                  "of one to the one before below 1", case.reference, slowest, "",
                  slowest < 1.0),
            Claim(f"halves-{case.name}", f"{case.words}: γ(8)/γ(16) between 1.5 and 3",
                  "2 where γ is as 1/k", halving, "", 1.5 <= halving <= 3.0),
        ]  # fmt: skip
    for case in SLIPPING:
        gap = result.gaps[case.name].mean(PAPER_SIDES)
        claims.append(
            Claim(f"sixteen-{case.name}", f"{case.words}: mean γ of 16 sides between 1 and 8 %",
                  "below 5 % with 16 sides", 100 * gap, "%", 0.01 <= gap <= 0.08)
        )  # fmt: skip
    tried = len(CASES) * p.draws * len(p.sides)
    solved = sum(int(np.isfinite(g).sum()) for x in result.gaps.values() for g in x.gamma.values())
    error = max(gaps.error for gaps in result.gaps.values())
    claims += [
        Claim("lemke", "every problem of pyramids is solved and verified", f"all {tried}",
              float(solved), "", solved == tried),
        Claim("cones", f"every problem of cones is solved by Gauss–Seidel to {TOLERANCE:g}",
              f"{TOLERANCE:g}", error, "", error <= TOLERANCE),
    ]  # fmt: skip
    return claims


def beside(result: Result) -> list[Reading]:
    """All mean γ, the share that slips, and the first number of sides below 5 %."""
    rows = []
    for case in CASES:
        gaps = result.gaps[case.name]
        who = case.words
        rows += [
            Reading(f"mean γ, {k} sides", who, 100 * gaps.mean(k), "%") for k in result.params.sides
        ]
        below = [k for k in result.params.sides if gaps.mean(k) < PAPER_GAP]
        rows += [
            Reading("first number of sides with γ < 5 % (paper: 16)", who,
                    float(below[0]) if below else None, ""),
            Reading("share of the touching contacts that slip", who, 100 * gaps.slipping, "%"),
        ]  # fmt: skip
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 7: mean γ over the number of sides."""
    p = result.params
    figure, (axes,) = canvas(
        "Mean gap γ between the forces of k-sided pyramids and of the friction cone (Duriez et al. "
        f"2006, Fig. 7), {p.draws} draws each; bars from the 10th to the 90th percentile, in the "
        "last case down to nothing, where draws slip nowhere. The paper needs 16 sides for 5 %; "
        "here that depends on the load, while the fall as 1/k does not.",
        size=(7.6, 4.6),
    )
    sides = np.array(p.sides, float)
    for i, (case, colour) in enumerate(zip(CASES, SHADES, strict=True)):
        gaps = result.gaps[case.name]
        mean = np.array([100 * gaps.mean(k) for k in p.sides])
        low, high = (
            np.array([100 * np.nanpercentile(gaps.gamma[k], q) for k in p.sides]) for q in (10, 90)
        )
        at = sides * 1.015 ** (i - 1.5)
        spread = np.clip((mean - low, high - mean), 0.0, None)
        axes.errorbar(at, mean, yerr=spread, fmt="o-", ms=4, lw=1.4, elinewidth=0.8,
                      color=colour, label=case.words)  # fmt: skip
    axes.plot(sides, 100 / sides, "--", color=FAINT, lw=1.0, label="as 1/k")
    axes.axhline(100 * PAPER_GAP, color=INK, lw=0.8, ls=":")
    axes.plot([PAPER_SIDES], [100 * PAPER_GAP], "*", color=INK, ms=11, label="paper: below here")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.05, 60.0)
    axes.set_xticks(p.sides, [str(k) for k in p.sides])
    axes.set_xticks([], minor=True)
    axes.set_yticks([0.1, 1.0, 10.0], ["0.1", "1", "10"])
    axes.set_xlabel("sides of the pyramid k")
    axes.set_ylabel("γ [%]")
    figure.legend(loc="outside lower center", ncols=2)
    return [figure]


def strip(result: Result) -> Figure:
    """The table dragged aside: friction at its feet by cones and by pyramids."""
    table, gaps = result.table, result.gaps[CASES[0].name]
    few = [k for k in (4, 8, 32) if k in result.params.sides]
    draw = int(np.nanargmax(gaps.gamma[few[0]])) if few else 0
    way = np.array([*gaps.gaps[draw].reshape(-1, 3)[:, 1:].mean(axis=0), -DOWN])
    shown = [(gaps.cones[draw], "cone")]
    shown += [
        (gaps.pyramids[k][draw], f"{k} sides: γ = {100 * gaps.gamma[k][draw]:.1f} %") for k in few
    ]
    camera = replace(CAMERA, elevation=24.0, centre=(0.0, 0.0, 0.15), width=0.78, height=0.62)
    frames = []
    for forces, caption in shown:
        arrows = []
        for leg in range(4):
            own = table.legs == leg
            foot = table.body.positions[table.nodes[own]].mean(axis=0)
            friction = forces.reshape(-1, 3)[own, 1:].sum(axis=0)
            arrows.append((foot, foot + ARROWS * np.array([*friction, 0.0]), "#a33b3b"))
        surface = table.surface(forces, way, 1.0, DARKEST)
        frames.append((surface, pictures.Frame((), caption, tuple(arrows))))
    return surface_pictures.strip(
        frames, camera, "A draw of the first case: friction of the floor on each leg as arrows, by "
        f"cones and by pyramids; colour by von Mises stress, 0 to {1e-6 * DARKEST:g} MPa."
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="friction-cone",
    paper="Duriez et al. 2006, section 5.2, Fig. 7",
    summary="pyramids with many sides approach the friction cone, as one over their number",
    params=Params(),
    quick=Params(draws=12, sides=(4, 8, 16, 32)),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
