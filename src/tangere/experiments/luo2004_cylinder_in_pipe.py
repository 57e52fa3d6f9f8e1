"""Cylinder on an L-shaped pipe: lines, points and rolling, [LUO2004] Fig. 9 (c).

A cylinder of 20 mm and 80 mm is laid along one leg of a pipe of two cylinders of 15 mm, rolled over
it by 10 mm, slid along it by 10 mm, tilted by 3° and brought across the corner onto both legs. The
paper shows a picture of it; sizes of the pipe and the path are ours.

Laid along the leg the contact is a line, crossed it is a point. Rolling is what moves the contact
over both surfaces alike: static friction without any force. Sliding is kinetic friction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tangere.contact.formation.columns import (
    CASE_ROLLING,
    FIRST,
    GAINED,
    LINE,
    LOST,
    PC_REGION,
    POINT,
    SLIP,
)
from tangere.contact.formation.options import Formation
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import FAINT, canvas, house_style
from tangere.experiments.formation_log import (
    NO_CONTACT,
    SHORTEST,
    Log,
    Placed,
    Stage,
    apart,
    bands,
    curves,
    follow,
)
from tangere.experiments.formation_log import moments as pictures_of
from tangere.experiments.formation_paths import Path, Pipe, cylinder_over_pipes
from tangere.experiments.pictures import Camera
from tangere.geometry.shapes import Cylinder
from tangere.maths.rotations import quaternion_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAMERA = Camera(azimuth=-40.0, elevation=28.0, centre=(0.05, 0.03, 0.01), width=0.22, height=0.22)
SLOWEST = 5e-3  # ticks in which the cylinder moves slower are not judged [m/s]


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units, angles in degrees."""

    mass: float = 0.5
    radius: float = 0.020
    length: float = 0.080
    pipe: float = 0.015
    leg: float = 0.160
    way: float = 0.010
    tilt: float = 3.0
    rate: float = 1000.0
    seed: int = 3


@dataclass(frozen=True)
class Result:
    """One run, and one with a trembling hand."""

    params: Params
    log: Log
    noisy: Log


def stage(p: Params) -> Stage:
    """The cylinder and the two legs, along x and y from the origin."""
    leg = Cylinder(p.pipe, p.leg)
    along_x = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    along_y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    middle = 0.5 * p.leg
    return Stage(
        "cylinder",
        Cylinder(p.radius, p.length),
        p.mass,
        (
            Placed("leg x", leg, np.array([middle, 0.0, 0.0]), quaternion_of(along_x)),
            Placed("leg y", leg, np.array([0.0, middle, 0.0]), quaternion_of(along_y)),
        ),
    )


def path(p: Params) -> Path:
    """Laid, rolled, slid, tilted, brought across."""
    sizes = Pipe(p.radius, 0.5 * p.length, p.pipe, 0.5 * Formation().layer)
    return cylinder_over_pipes(sizes, p.rate, p.way, math.radians(p.tilt))


def run(params: Params, tell: Tell = silent) -> Result:
    """The path of an exact hand and of a trembling one."""
    p = params
    tell(0.0, "exact hand")
    log = follow(stage(p), path(p), Formation())
    tell(0.5, "trembling hand")
    return Result(p, log, follow(stage(p), path(p).noisy(p.seed), Formation()))


def moving(log: Log, phase: str) -> Array:
    """Ticks of a phase in which the cylinder moves fast enough to be judged."""
    speed = np.zeros(len(log.path))
    speed[1:] = np.linalg.norm(np.diff(log.path.positions, axis=0), axis=1) * log.path.rate
    at = log.path.ticks(phase)
    return np.arange(at.start, at.stop)[speed[at] > SLOWEST]


def regions(log: Log) -> list[tuple[int, ...]]:
    """Regions of the contacts, POINT or LINE, in the order in which they came."""
    found = []
    for _, first, _ in log.visits(SHORTEST):
        row = log.rows[first, :, PC_REGION]
        found.append(tuple(sorted(int(r) for r in row[np.isfinite(row)])))
    return found


def check(result: Result) -> list[Claim]:
    """The formations and how they follow, rolling, sliding, and where the force acts."""
    log = result.log
    rolling, sliding = moving(log, "roll"), moving(log, "slide")
    found = regions(log)
    expected = [(), (LINE,), (POINT,), (POINT, POINT)]
    types = [int(log.motion[visit.first]) for visit in log.visits(SHORTEST)[1:]]
    rolled = float(np.mean(log.case[rolling, 0] == CASE_ROLLING))
    slid = float(np.mean(log.case[sliding, 0] == CASE_ROLLING))
    rubbed = float(np.linalg.norm(log.friction[rolling, 0], axis=1).max())
    lines = np.flatnonzero(log.rows[:, 0, PC_REGION] == LINE)
    off = np.abs(log.point[lines, 0, 0] - log.path.positions[lines, 0]).max() if len(lines) else 1.0
    same = result.noisy.sequence(SHORTEST) == log.sequence(SHORTEST)
    spread = apart(result.noisy, log)
    kinetic = Formation().kinetic_friction
    loose = sliding[int(np.argmax(log.state[sliding, 0] == SLIP)) :]  # 0.5 mm of stick go before
    ratio = np.linalg.norm(log.friction[loose, 0], axis=1) / log.normal_force[loose, 0]
    bad = float(np.abs(ratio - kinetic).max())
    return [
        Claim("sequence", "free, a line, a point, two points, and nothing else", "-",
              float(len(found)), "formations", found == expected),
        Claim("types", "… by MT1, MT4 and MT3", "-", float(len(types)), "changes",
              types == [FIRST, LOST, GAINED]),
        Claim("valid", "every formation can hold exactly", "-",
              float(np.mean(log.valid)), "", bool(log.valid.all())),
        Claim("rolling", "rolling is found in 95 % of the rolling ticks", "-",
              100.0 * rolled, "%", rolled >= 0.95),
        Claim("not-sliding", "… and in none of the sliding ones", "-", 100.0 * slid, "%",
              slid == 0.0),
        Claim("free-rolling", "friction of rolling is below 0.02 N", "-", rubbed, "N",
              rubbed < 0.02),
        Claim("kinetic", "friction of sliding is μ_D F_n to 1e-6", "Eq. (5)", bad, "",
              bad < 1e-6),
        Claim("centroid", "the force of the line acts at the middle of the overlap, to 1e-9 m",
              "one equivalent point", float(off), "m", float(off) < 1e-9),
        Claim("noise", "a trembling hand meets the same formations, forces within 10 % (rms)",
              "-", 100.0 * spread, "%", same and spread < 0.1),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """What was visited."""
    rate = result.log.path.rate
    return [
        Reading(name, f"{first / rate:.3f} s", (after - first) / rate, "s")
        for name, first, after in result.log.visits()
        if name != NO_CONTACT
    ]


@house_style
def plot(result: Result) -> list[Figure]:
    """Contact force and friction over time."""
    log = result.log
    figure, axes = canvas(
        "Cylinder on an L-shaped pipe: contact force, and friction of all contacts together, with "
        "formations as bands of colour.",
        columns=2, size=(9.0, 3.4),
    )  # fmt: skip
    bands(axes, log)
    curves(axes[0], log, log.force, "F_", "contact force", "N")
    curves(axes[1], log, np.nansum(log.friction, axis=1), "F_", "friction", "N")
    for name in ("roll", "slide", "tilt", "across"):
        start = log.path.starts[name] / log.path.rate
        for panel in axes:
            panel.axvline(start, color=FAINT, lw=0.6, ls=":")
        axes[1].text(start, axes[1].get_ylim()[1], f" {name}", fontsize=7.0, va="top")
    return [figure]


def strip(result: Result) -> Figure:
    """The cylinder in five phases."""
    log = result.log
    phases = ("roll", "rest there", "turn", "lower", "on both")
    ticks = [log.path.starts[name] + 20 for name in phases]
    return pictures_of(
        stage(result.params), log, [min(t, len(log.path) - 1) for t in ticks], CAMERA,
        "The cylinder is rolled and slid along one leg, turned, and laid onto both; arrows: "
        "normal forces.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="cylinder-in-pipe",
    paper="Luo and Xiao 2004, Fig. 9 (c)",
    summary="a cylinder rolls and slides on an L-shaped pipe, and comes onto both legs",
    params=Params(),
    quick=Params(),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
