"""Faces that turn on a face: where the normal force acts, and what friction they meet.

The paper lets a region act at equivalent points: those of a face lie at the middles of a few lines
through the centre of turning, with shares by their lengths. Under the even pressure that it assumes
that is too little torque: by 25 % for a disc that turns in place.

Here a disc of 20 mm and a rectangle of 50 by 20 mm lie on a block, half of ε in its layer, and turn
about centres in the middle, off it, and outside. Friction under even pressure p = F_n/A is

    F = −μ_D p ∫ v/|v| dA,   τ = −μ_D p ∫ (r × v/|v|) dA,

here summed over the middles of small cells, and the force model has it in closed form. The paper's
rule is shown beside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.contact.formation.columns import OUT_FRICTION, OUT_PRESS, PC_REGION, PLANE
from tangere.contact.formation.options import Formation
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, canvas, house_style
from tangere.experiments.formation_log import UPRIGHT, Log, Placed, Stage, follow
from tangere.experiments.formation_log import moments as pictures_of
from tangere.experiments.formation_paths import Path, Pose, path_of
from tangere.experiments.pictures import Camera
from tangere.geometry.shapes import Box, Cylinder, Shape
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 0.03
CAMERA = Camera(azimuth=-60.0, elevation=35.0, centre=(0.0, 0.0, 0.012), width=0.13, height=0.13)


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units."""

    mass: float = 0.5
    radius: float = 0.020
    length: float = 0.050
    width: float = 0.020
    offsets: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.5)
    """Of the centre of turning, in half widths of the face along its diagonal."""
    turning: float = 2.0
    seconds: float = 1.0
    rate: float = 1000.0
    cells: int = 600
    seed: int = 3


class Turn(NamedTuple):
    """One face about one centre: its friction and centre of pressure, and those of integration.

    Torques are about the centre of turning; all are means over the last tenth of the way.
    """

    face: str
    offset: float
    torque: float
    integrated: float
    force: float
    """Distance of the friction force from the integrated one, as a share of μ_D F_n."""
    pressed: float
    """Distance of the centre of pressure from the centroid, as a share of the size."""
    printed: float
    """Torque by the paper's rule; NaN where the centre is outside."""
    face_contact: bool


@dataclass(frozen=True)
class Result:
    """All turns, the same by a trembling hand, and a run for the pictures."""

    params: Params
    turns: list[Turn]
    trembling: list[Turn]
    log: Log


def faces(p: Params) -> dict[str, tuple[Shape, Array]]:
    """The held shapes and half the size of their faces."""
    return {
        "disc": (Cylinder(p.radius, HEIGHT), np.array([p.radius, p.radius])),
        "rectangle": (
            Box((p.length, p.width, HEIGHT)),
            0.5 * np.array([p.length, p.width]),
        ),
    }


def centre_of(p: Params, face: str, offset: float) -> Array:
    """The centre of turning in the face [m]: along the diagonal, so many half widths away."""
    half = faces(p)[face][1]
    return offset * (half if face == "rectangle" else half * math.sqrt(0.5))


def stage(p: Params, face: str) -> Stage:
    """A held shape on a block."""
    block = Placed("block", Box((0.4, 0.4, 0.04)), np.array([0.0, 0.0, -0.02]), UPRIGHT)
    return Stage(face, faces(p)[face][0], p.mass, (block,))


def path(p: Params, face: str, offset: float) -> Path:
    """Laid on the block, then turned about the centre at an even rate."""
    centre = centre_of(p, face, offset)

    def pose(angle: float, gap: float) -> Pose:
        c, s = math.cos(angle), math.sin(angle)
        x = centre - np.array([c * centre[0] - s * centre[1], s * centre[0] + c * centre[1]])
        turned = np.array([math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)])
        return np.array([x[0], x[1], 0.5 * HEIGHT + gap]), turned

    layer = Formation().layer
    return path_of(
        [
            ("laid down", 0.1, lambda u: pose(0.0, layer * (1.5 - u))),
            ("turned", p.seconds, lambda u: pose(p.turning * p.seconds * u, 0.5 * layer)),
        ],
        p.rate,
    )


def run(params: Params, tell: Tell = silent) -> Result:
    """Every face about every centre, by a steady hand and by a trembling one."""
    p = params
    jobs = [(face, offset) for face in faces(p) for offset in p.offsets]
    turns, trembling = [], []
    log: Log | None = None
    for i, (face, offset) in enumerate(jobs):
        tell(i / len(jobs), f"{face}, centre {offset:g} half widths away")
        way = path(p, face, offset)
        steady = follow(stage(p, face), way, Formation())
        if face == "rectangle" and log is None:
            log = steady
        turns.append(turn_of(p, face, offset, steady))
        noisy = follow(stage(p, face), way.noisy(p.seed), Formation())
        trembling.append(turn_of(p, face, offset, noisy))
    assert log is not None
    return Result(p, turns, trembling, log)


def turn_of(p: Params, face: str, offset: float, log: Log) -> Turn:
    """What a run gave, and what integration over cells has."""
    options = Formation()
    share = options.kinetic_friction * options.stiffness * 0.5 * options.layer
    centre = centre_of(p, face, offset)
    last = slice(len(log.path) - max(1, len(log.path) // 10), len(log.path))
    mean, torque = integrated(cells(p, face), centre)
    friction = log.results[last, 0, OUT_FRICTION : OUT_FRICTION + 6]
    press = log.results[last, 0, OUT_PRESS : OUT_PRESS + 6]
    # about the centre of turning, and about the middle of the face, through the centre of mass
    arm = np.array([*centre, 0.0]) - log.path.positions[last]
    about = friction[:, 5] - (arm[:, 0] * friction[:, 1] - arm[:, 1] * friction[:, 0])
    angle = p.turning * p.seconds * _shares(log.path)[last]
    c, s = np.cos(angle), np.sin(angle)
    expected = share * np.stack([c * mean[0] - s * mean[1], s * mean[0] + c * mean[1]], axis=1)
    off = np.linalg.norm(np.mean(friction[:, :2] - expected, axis=0)) / share
    pressed = np.linalg.norm(np.mean(press[:, 3:5], axis=0)) / np.mean(press[:, 2])
    size = float(np.linalg.norm(faces(p)[face][1]))
    return Turn(
        face, offset, float(np.mean(about)), share * torque, float(off), float(pressed / size),
        share * printed(p, face, centre),
        bool((log.rows[last, 0, PC_REGION] == PLANE).all()),
    )  # fmt: skip


def _shares(way: Path) -> Array:
    """How much of the turn is done, per tick."""
    ticks = np.arange(len(way)) - way.starts["turned"]
    return np.asarray(np.clip(ticks / (len(way) - 1 - way.starts["turned"]), 0.0, 1.0))


def cells(p: Params, face: str) -> Array:
    """Middles of small cells of equal area."""
    u = (np.arange(p.cells) + 0.5) / p.cells * 2.0 - 1.0
    half = faces(p)[face][1]
    x, y = np.meshgrid(half[0] * u, half[1] * u)
    at = np.stack([x.ravel(), y.ravel()], axis=1)
    if face == "disc":
        at = at[np.sum(at * at, axis=1) < p.radius**2]
    return np.asarray(at)


def integrated(at: Array, centre: Array) -> tuple[Array, float]:
    """Mean of −v/|v|, and of its torque about the centre of turning [m]."""
    arm = at - centre
    far = np.linalg.norm(arm, axis=1)
    f = np.stack([arm[:, 1], -arm[:, 0]], axis=1) / far[:, None]
    return f.mean(axis=0), float(-far.mean())


def printed(p: Params, face: str, centre: Array, lines: int = 16) -> float:
    """Torque about a centre in the face by the paper's shares [m].

    Each of the lines through it has two rays R; they share by length and act at their middles.
    """
    half = faces(p)[face][1]
    turn = np.pi * (np.arange(2 * lines) + 0.5) / lines
    way = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    if face == "disc":
        along = way @ centre
        reach = -along + np.sqrt(along**2 - centre @ centre + p.radius**2 + 0.0j).real
        outside = float(np.linalg.norm(centre)) >= p.radius
    else:
        with np.errstate(divide="ignore"):
            reach = np.min((np.sign(way) * half - centre) / way, axis=1)
        outside = bool((np.abs(centre) >= half).any())
    return math.nan if outside else float(-0.5 * np.sum(reach**2) / np.sum(reach))


def check(result: Result) -> list[Claim]:
    """Torque, force and centre of pressure against integration; the trembling hand."""
    turns, trembling = result.turns, result.trembling
    torque = max(abs(t.torque / t.integrated - 1.0) for t in turns)
    force = max(t.force for t in turns)
    pressed = max(t.pressed for t in turns)
    shaken = max(abs(t.torque / t.integrated - 1.0) for t in trembling)
    flat = all(t.face_contact for t in (*turns, *trembling))
    short = [t.printed / t.integrated - 1.0 for t in turns if t.offset == 0.0]
    return [
        Claim("torque", "friction torque within 1 % of integration under even pressure, about "
              "every centre; worst", "equivalent points", 100.0 * torque, "%", torque < 0.01),
        Claim("force", "friction force within 1 % of μ_D F_n of the integrated one; worst", "-",
              100.0 * force, "%", force < 0.01),
        Claim("pressure", "centre of pressure within 0.5 % of the size from the centroid; worst",
              "-", 100.0 * pressed, "%", pressed < 0.005),
        Claim("printed", "the paper's shares give too little torque about the middle, by 20 % and "
              "more; least", "even pressure", 100.0 * min(-s for s in short), "% too little",
              all(s < -0.2 for s in short)),
        Claim("noise", "a trembling hand: a face on a face throughout, torques within 10 %; worst",
              "-", 100.0 * shaken, "%", flat and shaken < 0.1),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """Every turn, and the paper's rule."""
    return [
        Reading(
            "friction torque about the centre",
            f"{t.face}, centre {t.offset:g} half widths off", 1e3 * t.torque, "N mm",
            f"integrated {1e3 * t.integrated:.4g}"
            + ("" if math.isnan(t.printed) else f", as printed {1e3 * t.printed:.4g}"),
        )
        for t in result.turns
    ]  # fmt: skip


@house_style
def plot(result: Result) -> list[Figure]:
    """Friction torque over the distance of the centre."""
    figure, axes = canvas(
        "Friction torque of a turning face about the centre of turning: the force model, "
        "integration over small cells, and the rule as printed.",
        columns=2, size=(9.0, 3.4),
    )  # fmt: skip
    for panel, face in zip(axes, faces(result.params), strict=True):
        turns = [t for t in result.turns if t.face == face]
        x = [t.offset for t in turns]
        panel.plot(x, [-1e3 * t.integrated for t in turns], color=FAINT, lw=3.0,
                   label="integrated")  # fmt: skip
        panel.plot(x, [-1e3 * t.torque for t in turns], "o", color=COLOURS["volume"], ms=4,
                   label="force model")  # fmt: skip
        panel.plot(x, [-1e3 * t.printed for t in turns], "--", color=COLOURS["point"], lw=1.2,
                   label="as printed, where the centre is inside")  # fmt: skip
        panel.set_title(face)
        panel.set_xlabel("centre of turning [half widths off]")
        panel.set_ylabel("friction torque [N mm]")
        panel.set_ylim(0.0, None)
    axes[0].legend(fontsize=7.5)
    return [figure]


def strip(result: Result) -> Figure:
    """The rectangle as it turns in place."""
    log = result.log
    ticks = [int(t) for t in np.linspace(log.path.starts["turned"], len(log.path) - 1, 4)]
    return pictures_of(
        stage(result.params, "rectangle"), log, ticks, CAMERA,
        "A block turns in place on a face; arrow: normal force.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="turning-faces",
    paper="Luo and Xiao 2004, equivalent points",
    summary="a disc and a rectangle turn on a face: friction as under even pressure",
    params=Params(),
    quick=Params(offsets=(0.0, 0.6, 1.5), seconds=0.6),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
