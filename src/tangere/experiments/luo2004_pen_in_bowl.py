"""Pen and bowl: smooth surfaces without facets, [LUO2004] Fig. 9 (b).

The ball end of a pen slides along a meridian of a bowl, whose inside is a paraboloid; then the pen
is leaned over until its shaft meets the far rim, and turned about its axis. In a second run it
stands square on the bowl and is turned about the normal of its contact. The paper shows a picture
of it; sizes and paths are ours.

The gap is half of ε all the way: the normal is that of the paraboloid, the normal force K ε/2, and
kinetic friction points against the path. A ball that turns about the normal pivots: no force.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tangere.contact.formation.columns import CASE_PIVOT, CASE_SLIDING, GAINED, POINT
from tangere.contact.formation.columns import PC_REGION as REGION
from tangere.contact.formation.options import Formation
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import FAINT, canvas, house_style
from tangere.experiments.formation_log import (
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
from tangere.experiments.formation_paths import Bowl, Path, pen_on_meridian, pen_spun
from tangere.experiments.pictures import Camera
from tangere.geometry.curved_solid import bowl, pen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tangere.maths.vec import Array

CAMERA = Camera(azimuth=-90.0, elevation=12.0, centre=(0.0, 0.0, 0.05), width=0.17, height=0.15)
SLOWEST = 2e-3  # slower than this friction is regularised [m/s]


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units. `spin`: of the second run, at radius `spin_at`."""

    mass: float = 0.05
    speed: float = 0.020
    far: float = 0.035
    spin: float = 1.0
    spin_at: float = 0.020
    spin_seconds: float = 1.0
    rate: float = 1000.0
    seed: int = 5


@dataclass(frozen=True)
class Result:
    """The run of the whole path, that of a trembling hand, and the one that spins."""

    params: Params
    log: Log
    noisy: Log
    spun: Log


def sizes() -> Bowl:
    """Pen and bowl, contacts half of ε into the layer."""
    return Bowl(gap=0.5 * Formation().layer)


def stage(p: Params) -> Stage:
    """The pen, and the bowl with the lowest point of its inside at the origin."""
    s = sizes()
    shape = pen(radius=s.shaft, tip=s.ball)
    return Stage(
        "pen", shape, p.mass, (Placed("bowl", bowl(s.focal, s.rim), np.zeros(3), UPRIGHT),)
    )


def paths(p: Params) -> tuple[Path, Path]:
    """The whole path, and the spin."""
    s = sizes()
    # paths are those of the ball's centre, which is at z = r in the pen's frame
    arm = stage(p).tool.moments().centre - np.array([0.0, 0.0, s.ball])
    whole = pen_on_meridian(s, p.rate, p.speed, p.far, centre=arm)
    return whole, pen_spun(s, p.rate, p.spin_at, p.spin, p.spin_seconds, centre=arm)


def run(params: Params, tell: Tell = silent) -> Result:
    """Both paths, the first one of a trembling hand, too."""
    p = params
    whole, spin = paths(p)
    tell(0.0, "exact hand")
    log = follow(stage(p), whole, Formation())
    tell(0.4, "trembling hand")
    noisy = follow(stage(p), whole.noisy(p.seed), Formation())
    tell(0.8, "turned about the normal")
    return Result(p, log, noisy, follow(stage(p), spin, Formation()))


def radii(p: Params, log: Log) -> Array:
    """Radius of the contact at every tick of phase "meridian" [m]."""
    s, at = sizes(), log.path.ticks("meridian")
    ticks = np.arange(at.start, at.stop)
    way = (ticks - at.start) / p.rate * p.speed
    return np.array([s.radius_after(w) for w in way])


def check(result: Result) -> list[Claim]:
    """Normal, forces and friction on the meridian, the second contact, the spin."""
    p, log, s = result.params, result.log, sizes()
    at = log.path.ticks("meridian")
    r = radii(p, log)
    normal = np.array([s.normal(x) for x in r])
    angle = np.linalg.norm(np.cross(log.normal[at, 0], normal), axis=1)
    press = Formation().stiffness * s.gap
    pressed = np.abs(log.normal_force[at, 0] - press)
    along = np.column_stack((normal[:, 2], np.zeros(len(r)), -normal[:, 0]))
    rubbed = log.friction[at, 0] + Formation().kinetic_friction * press * along
    rub = np.linalg.norm(rubbed, axis=1)
    sliding = log.case[at, 0] == CASE_SLIDING
    visits = log.visits()
    kinds = [tuple(sorted(_regions(log, visit.first))) for visit in visits]
    gains = [int(log.motion[visit.first]) for visit in visits if log.count[visit.first] == 2]
    spun, turning = result.spun, result.spun.path.ticks("spin")
    window = round(Formation().window * p.rate) + 1  # until the motion is known
    later = slice(turning.start + window, turning.stop)
    pivot = float(np.mean(spun.case[later, 0] == CASE_PIVOT))
    forces = float(np.linalg.norm(spun.friction[later, 0], axis=1).max())
    same = result.noisy.sequence(SHORTEST) == log.sequence(SHORTEST)
    spread = apart(result.noisy, log, "meridian")
    return [
        Claim("normal", "the normal is that of the paraboloid to 1e-6 rad", "smooth surfaces",
              float(np.nanmax(angle)), "rad", bool((angle < 1e-6).all())),
        Claim("force", "F_n = K ε/2 = 1.15 N to 1e-6 N along the meridian", "-",
              float(np.nanmax(pressed)), "N", bool((pressed < 1e-6).all())),
        Claim("friction", "friction is −μ_D F_n along the path to 1e-6 N", "Eq. (5)",
              float(np.nanmax(rub)), "N", bool((rub < 1e-6).all() and sliding.all())),
        Claim("second", "leaned over, the shaft meets the rim in a point, once, as MT3", "-",
              float(len(gains)), "times",
              gains == [GAINED] and kinds == [(), (POINT,), (POINT, POINT)]),
        Claim("valid", "every formation can hold exactly", "-", float(np.mean(log.valid)), "",
              bool(log.valid.all() and spun.valid.all())),
        Claim("spin", "turned about the normal the ball end pivots (case c)", "-", pivot, "",
              pivot == 1.0),
        Claim("no-force", "… without any friction, to 1e-9 N", "-", forces, "N", forces < 1e-9),
        Claim("noise", "a trembling hand meets the same formations, forces on the meridian within "
              "10 % (rms)", "-", 100.0 * spread, "%", same and spread < 0.1),
    ]  # fmt: skip


def _regions(log: Log, tick: int) -> list[int]:
    rows = log.rows[tick, :, REGION]
    return [int(x) for x in rows[np.isfinite(rows)]]


def beside(result: Result) -> list[Reading]:
    """What was visited, and how far a trembling hand is off in the whole run."""
    rate = result.log.path.rate
    whole = 100.0 * apart(result.noisy, result.log)
    return [
        *(
            Reading(name, f"{first / rate:.3f} s", (after - first) / rate, "s")
            for name, first, after in result.log.visits()
            if name != NO_CONTACT
        ),
        Reading("forces of a trembling hand, whole run (rms)", "here", whole, "%",
                "leaned and turned the pen sticks and slips, at other moments"),
    ]  # fmt: skip


@house_style
def plot(result: Result) -> list[Figure]:
    """Contact force and torque over time."""
    log = result.log
    figure, axes = canvas(
        "Pen and bowl: contact force and torque about the pen's centre of mass, with formations as "
        "bands of colour.",
        columns=2, size=(9.0, 3.4),
    )  # fmt: skip
    bands(axes, log)
    curves(axes[0], log, log.force, "F_", "contact force", "N")
    curves(axes[1], log, 1e3 * log.torque, "τ_", "torque", "N mm")
    for panel in axes:
        for name in ("meridian", "lean", "turn"):
            panel.axvline(log.path.starts[name] / log.path.rate, color=FAINT, lw=0.6, ls=":")
    return [figure]


def strip(result: Result) -> Figure:
    """The pen in five places."""
    log = result.log
    start, lean = log.path.ticks("meridian"), log.path.ticks("lean")
    ticks = [
        start.start,
        (start.start + start.stop) // 2,
        start.stop,
        (lean.start + lean.stop) // 2,
    ]
    return pictures_of(
        stage(result.params), log, [*ticks, len(log.path) - 1], CAMERA,
        "The pen's ball end slides out in the bowl, then the pen leans over to the far rim; "
        "arrows: normal forces.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="pen-in-bowl",
    paper="Luo and Xiao 2004, Fig. 9 (b)",
    summary="a pen's ball end slides in a bowl: normals and forces of smooth surfaces",
    params=Params(),
    quick=Params(),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
