"""Cylinder about a fixed point: static friction while it turns, [LUO2004] test 2 and Fig. 10.

A cylinder of 0.5 kg, 20 mm and 80 mm turns about a point of its end's edge that stays where it is
on another cylinder. The paper prints forces and torque without geometry: F_y nearly constant, F_x
clearly negative, which is static friction, and τ_z growing with the horizontal lever.

Here the edge rests on the crest of a cylinder along z, half of ε into its layer, and was moved by
0.1 mm in +x since it was first held: F_y = K (ε − d), F_x = −K_p · 0.1 mm, below μ F_y. The axis
falls from 60° to 20° above the horizontal; with the lever l from the centre of mass to the point,

    τ_z = l_x F_y − l_y F_x,   l_x = h cos θ − r sin θ,   l_y = −(h sin θ + r cos θ).

One contact that pivots is case c: the friction stays static, and the anchor where it was. The stick
of the paper as printed, over one sample, cannot hold this: it is shown beside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tangere.contact.formation.columns import CASE_PIVOT, KEPT, STICK
from tangere.contact.formation.options import Formation
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import FAINT, canvas, house_style
from tangere.experiments.formation_log import (
    UPRIGHT,
    Log,
    Placed,
    Stage,
    apart,
    bands,
    curves,
    follow,
)
from tangere.experiments.formation_log import moments as pictures_of
from tangere.experiments.formation_paths import Path, Pipe, cylinder_about_point
from tangere.experiments.pictures import Camera
from tangere.geometry.shapes import Cylinder
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAMERA = Camera(azimuth=-90.0, elevation=68.0, centre=(-0.015, 0.025, 0.0), width=0.16, height=0.16)


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units, angles in degrees."""

    mass: float = 0.5
    radius: float = 0.020
    length: float = 0.080
    crest: float = 0.020
    shift: float = 1e-4
    begin: float = 60.0
    end: float = 20.0
    seconds: float = 2.0
    rates: tuple[float, ...] = (1000.0, 500.0, 4000.0)
    seed: int = 2


@dataclass(frozen=True)
class Result:
    """Runs by rate, the first one that of the figures; a trembling hand; stick as printed."""

    params: Params
    logs: dict[float, Log]
    noisy: Log
    printed: dict[float, Log]

    @property
    def main(self) -> Log:
        """The run of the figures."""
        return self.logs[self.params.rates[0]]


def stage(p: Params) -> Stage:
    """The held cylinder and the fixed one along z."""
    crest = Cylinder(p.crest, p.length)
    held = Cylinder(p.radius, p.length)
    return Stage("cylinder", held, p.mass, (Placed("crest", crest, np.zeros(3), UPRIGHT),))


def path(p: Params, rate: float) -> Path:
    """Touch, shift by 0.1 mm, then turn about the point."""
    pipe = Pipe(p.radius, 0.5 * p.length, p.crest, 0.5 * Formation().layer)
    begin, end = math.radians(p.begin), math.radians(p.end)
    return cylinder_about_point(pipe, p.crest, rate, p.seconds, p.shift, begin, end)


def run(params: Params, tell: Tell = silent) -> Result:
    """The same turn at every rate, with a trembling hand, and with stick as printed."""
    p = params
    logs, printed = {}, {}
    count = 2 * len(p.rates) + 1
    for i, rate in enumerate(p.rates):
        tell(2 * i / count, f"{rate:g} Hz")
        logs[rate] = follow(stage(p), path(p, rate), Formation())
        tell((2 * i + 1) / count, f"{rate:g} Hz, stick as printed")
        printed[rate] = follow(stage(p), path(p, rate), Formation(stick="printed"))
    tell((count - 1) / count, "trembling hand")
    noisy = follow(stage(p), path(p, p.rates[0]).noisy(p.seed), Formation())
    return Result(p, logs, noisy, printed)


def theory(p: Params, at: Path) -> tuple[Array, Array]:
    """Force and torque in phase "log" [N, N m]."""
    options = Formation()
    rows = at.ticks("log")
    axis = rotation_of(at.orientations[rows])[..., 2]
    angle = np.arctan2(axis[:, 1], -axis[:, 0])
    up = options.stiffness * 0.5 * options.layer
    across = -options.tangential_stiffness * p.shift
    c, s, half = np.cos(angle), np.sin(angle), 0.5 * p.length
    lever = half * c - p.radius * s, -(half * s + p.radius * c)
    force = np.tile([across, up, 0.0], (len(angle), 1))
    torque = np.zeros((len(angle), 3))
    torque[:, 2] = lever[0] * up - lever[1] * across
    return force, torque


def check(result: Result) -> list[Claim]:
    """Closed forms, pivot in every tick, trembling hand, independence of the rate."""
    p, log = result.params, result.main
    at = log.path.ticks("log")
    force, torque = theory(p, log.path)
    forces = float(np.abs(log.force[at] - force).max())
    turning = float(np.abs(log.torque[at] - torque).max())
    pivot = (log.motion[at] == KEPT) & (log.case[at, 0] == CASE_PIVOT)
    share = float(np.mean(pivot & (log.state[at, 0] == STICK)))
    growing = bool((np.diff(log.torque[at, 2]) > 0.0).all())
    noisy = result.noisy
    off = apart(noisy, log)
    same = noisy.sequence(5e-3) == log.sequence(5e-3)
    spread = max(apart(each, log, "log") for each in result.logs.values())
    return [
        Claim("force", "force equals (−K_p · 0.1 mm, K (ε − d), 0) to 1e-6 N; no new anchor",
              "F_y nearly constant, F_x negative", forces, "N", forces < 1e-6),
        Claim("torque", "torque equals l × F to 1e-6 N m", "closed form", turning, "N m",
              turning < 1e-6),
        Claim("growing", "τ_z grows at every tick", "τ_z grows with the lever",
              1e3 * float(log.torque[at, 2].max()), "N mm at the end", growing),
        Claim("pivot", "every tick is a pivot (case c) that sticks",
              "static friction", share, "", share == 1.0),
        Claim("noise", "a trembling hand meets the same formations, forces within 10 % (rms)",
              "-", 100.0 * off, "%", same and off < 0.1),
        Claim("rate", "forces at 500 Hz and 4 kHz are those at 1 kHz within 2 % (rms)", "-",
              100.0 * spread, "%", spread < 0.02),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """What stick over one sample, as printed, makes of it."""
    rows = []
    for rate, log in result.printed.items():
        at = log.path.ticks("log")
        rows.append(
            Reading(
                "F_x, stick as printed", f"{rate:g} Hz", float(log.force[at, 0].mean()), "N",
                f"anchored: {float(result.logs[rate].force[at, 0].mean()):.4g} N",
            )
        )  # fmt: skip
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 10 (b) and (c) of the paper, test 2: contact force and torque over time."""
    p, log = result.params, result.main
    figure, axes = canvas(
        "Cylinder turning about a fixed point of its edge: contact force and torque, dots: closed "
        "form. After Fig. 10, test 2, of the paper.",
        columns=2, size=(9.0, 3.4),
    )  # fmt: skip
    bands(axes, log)
    curves(axes[0], log, log.force, "F_", "contact force", "N")
    curves(axes[1], log, 1e3 * log.torque, "τ_", "torque", "N mm")
    force, torque = theory(p, log.path)
    time = (np.arange(len(log.path)) / log.path.rate)[log.path.ticks("log")]
    for panel, values in zip(axes, (force, 1e3 * torque), strict=True):
        for component in values.T:
            panel.plot(time[::100], component[::100], ".", color=FAINT, ms=4)
    return [figure]


def strip(result: Result) -> Figure:
    """The cylinder at five angles."""
    log = result.main
    ticks = [int(t) for t in np.linspace(log.path.starts["log"], len(log.path) - 1, 5)]
    return pictures_of(
        stage(result.params), log, ticks, CAMERA,
        "The held cylinder turns about the point of its edge on the crest; arrow: normal force.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="cylinder-pivot",
    paper="Luo and Xiao 2004, Fig. 10, test 2",
    summary="a cylinder turns about a point of its edge: static friction holds while it turns",
    params=Params(),
    quick=Params(seconds=1.0, rates=(1000.0, 500.0)),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
