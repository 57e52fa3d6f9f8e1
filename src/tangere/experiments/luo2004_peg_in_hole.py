"""Peg and hole: which formations a peg goes through, [LUO2004] Fig. 9 (a).

A peg of 30 × 30 × 60 mm is lowered, tilted by 5°, onto a block beside its hole of 36 × 36 mm, laid
flat, slid to the hole, put in, moved to a wall and into a corner, and tilted in the hole until it
jams. The paper shows a picture of it; sizes and path are ours. The hand lifts the peg by 1.5 mm
before its lower edge leaves the rim: otherwise edge and rim would be a contact of their own.

What touches is within ε, half of it here, and so tilts jam earlier than the 10.7° of the geometry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tangere.contact.formation.columns import FIRST, FREE, GAINED, LOST
from tangere.contact.formation.options import Formation
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import FAINT, canvas, house_style
from tangere.experiments.formation_log import (
    NAMES_OF_MOTION,
    NO_CONTACT,
    SHORTEST,
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
from tangere.experiments.formation_paths import Path, Peg, jam_angle, peg_in_hole
from tangere.experiments.pictures import Camera
from tangere.geometry.boundary import holed_block
from tangere.geometry.shapes import Box

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAMERA = Camera(azimuth=-62.0, elevation=24.0, centre=(0.0, 0.0, 0.005), width=0.19, height=0.17)
BLOCK = (0.100, 0.100, 0.040)
SEQUENCE = [
    NO_CONTACT,
    "edge–face",
    "face–face",
    NO_CONTACT,
    "face–face",
    "face–face + face–face",
    "face–face",
    "edge–face",
    "edge–face + face–edge",
]
TYPES = [FIRST, LOST, FREE, FIRST, GAINED, LOST, LOST, GAINED]


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units."""

    mass: float = 0.5
    rate: float = 1000.0
    seed: int = 4


@dataclass(frozen=True)
class Result:
    """One run, and one with a trembling hand."""

    params: Params
    log: Log
    noisy: Log


def sizes() -> Peg:
    """Peg and hole, contacts half of ε into the layer."""
    return Peg(gap=0.5 * Formation().layer)


def stage(p: Params) -> Stage:
    """The peg, and the block with its top at z = 0."""
    s = sizes()
    peg = Box((2.0 * s.half, 2.0 * s.half, 2.0 * s.half_height))
    block = holed_block(BLOCK, (2.0 * s.hole, 2.0 * s.hole))
    return Stage(
        "peg",
        peg,
        p.mass,
        (Placed("block", block, np.array([0.0, 0.0, -0.5 * BLOCK[2]]), UPRIGHT),),
    )


def path(p: Params) -> Path:
    """The whole way of the peg."""
    return peg_in_hole(sizes(), p.rate)


def run(params: Params, tell: Tell = silent) -> Result:
    """The path of an exact hand and of a trembling one."""
    p = params
    tell(0.0, "exact hand")
    log = follow(stage(p), path(p), Formation())
    tell(0.5, "trembling hand")
    return Result(p, log, follow(stage(p), path(p).noisy(p.seed), Formation()))


def check(result: Result) -> list[Claim]:
    """The formations in their order, their types and validity, and the forces in the corner."""
    log = result.log
    found = log.sequence(kinds=True)
    first = [visit.first for visit in log.visits(kinds=True)]
    types = [int(log.motion[tick]) for tick in first[1:]]
    agree = sum(1 for _ in _common(found, SEQUENCE))
    corner = log.path.ticks("hold corner").stop - 1
    press = 0.5 * Formation().stiffness * Formation().layer
    walls = np.nansum(log.normal_force[corner][:, None] * log.normal[corner], axis=0)
    rest = log.force[corner] - np.nansum(log.friction[corner], axis=0)
    off = float(max(np.abs(rest - walls).max(), np.abs(walls + press * np.array([1, 1, 0])).max()))
    jam = math.degrees(jam_angle(sizes()))
    begin = [v.first for v in log.visits(kinds=True) if v.name == SEQUENCE[-1]]
    tilt = math.nan
    if begin:
        w = min(1.0, abs(float(log.path.orientations[begin[0], 0])))
        tilt = math.degrees(2.0 * math.acos(w))
    noisy = result.noisy
    same = noisy.sequence(SHORTEST, kinds=True) == found
    spread = apart(noisy, log)
    return [
        Claim("sequence", "the formations are " + ", ".join(SEQUENCE) + "; no others", "-",
              float(agree), f"of {len(SEQUENCE)} in order", found == SEQUENCE),
        Claim("types", "… by " + ", ".join(NAMES_OF_MOTION[t] for t in TYPES), "-",
              float(len(types)), "changes", types == TYPES),
        Claim("valid", "every formation can hold exactly", "-",
              float(np.mean(log.valid)), "", bool(log.valid.all())),
        Claim("corner", "in the corner the normal forces are 1.15 N from each wall, and the "
              "resultant is theirs and the friction's to 1e-9 N", "-", off, "N", off < 1e-9),
        Claim("jam", f"the peg jams within ε of {math.degrees(jam_angle(sizes(), 0.0)):.1f}°, "
              f"before {jam:.2f}°, where both gaps are half of ε", "-", tilt, "°", tilt < jam),
        Claim("noise", "a trembling hand meets the same formations, forces within 10 % (rms)",
              "-", 100.0 * spread, "%", same and spread < 0.1),
    ]  # fmt: skip


def _common(a: list[str], b: list[str]) -> list[str]:
    """What two lists begin with alike."""
    same = []
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        same.append(x)
    return same


def beside(result: Result) -> list[Reading]:
    """What was visited, by the names of the elements."""
    rate = result.log.path.rate
    return [
        Reading(name, f"{first / rate:.3f} s", (after - first) / rate, "s",
                NAMES_OF_MOTION[int(result.log.motion[first])])
        for name, first, after in result.log.visits()
        if name != NO_CONTACT
    ]  # fmt: skip


@house_style
def plot(result: Result) -> list[Figure]:
    """Contact force and torque over time, formations as bands."""
    log = result.log
    figure, axes = canvas(
        "Peg and hole: contact force and torque about the peg's centre, with formations as bands "
        "of colour.",
        columns=2, size=(9.0, 3.6),
    )  # fmt: skip
    bands(axes, log)
    curves(axes[0], log, log.force, "F_", "contact force", "N")
    curves(axes[1], log, 1e3 * log.torque, "τ_", "torque", "N mm")
    for panel in axes:
        for start in log.path.starts.values():
            panel.axvline(start / log.path.rate, color=FAINT, lw=0.4, ls=":")
    return [figure]


def strip(result: Result) -> Figure:
    """The peg in six formations."""
    log = result.log
    names = ("on an edge", "flat", "hold wall", "hold corner", "tilt", "jammed")
    ticks = [log.path.ticks(name).stop - 1 for name in names]
    return pictures_of(
        stage(result.params), log, ticks, CAMERA,
        "The peg beside and in its hole; arrows: normal forces.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="peg-in-hole",
    paper="Luo and Xiao 2004, Fig. 9 (a)",
    summary="a peg goes through the formations with its hole, one by one, up to the jam",
    params=Params(),
    quick=Params(),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
