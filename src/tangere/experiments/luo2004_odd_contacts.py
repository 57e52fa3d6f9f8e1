"""Contacts that begin in odd ways: forces stay finite, and go on evenly from one case to the next.

The paper's equations divide by the lever of a torque, by the approach speed, and by the speed of
sliding; what they do where these vanish it leaves open. Here

- a disc that spins up by 100 rad/s² is laid on a small ball, ever closer below its centre of mass:
  as printed the force of that torque grows without bound, though it moves the point ever less;
- a ball meets a block ever flatter, up to half a degree from along the face;
- a ball is there at rest from the first tick on, leaves at 1 m/s, and meets two cylinders at once;
- a lopsided body with products of inertia turns as it lands.

Neighbours in a sweep are compared by their friction over μ F_n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.contact.formation.columns import FIRST
from tangere.contact.formation.options import Formation
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, canvas, house_style
from tangere.experiments.formation_log import UPRIGHT, Log, Placed, Stage, follow
from tangere.experiments.formation_log import moments as pictures_of
from tangere.experiments.formation_paths import Path, Pose, path_of
from tangere.experiments.pictures import Camera
from tangere.geometry.shapes import Box, Compound, Cylinder, Shape, Sphere
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

HEIGHT = 0.01  # of the disc [m]
CAMERA = Camera(azimuth=-60.0, elevation=20.0, centre=(0.0, 0.0, 0.005), width=0.12, height=0.12)


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units, angles in degrees."""

    mass: float = 0.5
    radius: float = 0.020
    speed: float = 0.05
    spin_up: float = 100.0
    levers: int = 81
    """Places of the ball under the disc, from 20 mm to its middle."""
    angles: int = 60
    """From 60° to 89.5° off the normal."""
    leaving: float = 1.0
    before: float = 0.06
    rate: float = 1000.0


class Start(NamedTuple):
    """The first tick of a contact: its parameter, friction over μ F_n, whether it sticks."""

    at: float
    friction: Array
    state: float
    motion: int


@dataclass(frozen=True)
class Result:
    """Both sweeps, the single runs by name, and one of the sweep for the pictures."""

    params: Params
    levers: list[Start]
    angles: list[Start]
    runs: dict[str, Log]
    stage: Stage


def options() -> Formation:
    """A window of 10 ms, so that what is measured has begun before it."""
    return Formation(window=10e-3)


def placed(name: str, shape: Shape, at: tuple[float, float, float]) -> Placed:
    """A fixed shape, upright."""
    return Placed(name, shape, np.array(at), UPRIGHT)


def along_y(name: str, radius: float, x: float) -> Placed:
    """A fixed cylinder along y."""
    q = np.array([math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0])
    return Placed(name, Cylinder(radius, 0.2), np.array([x, 0.0, 0.0]), q)


def disc_on_ball(p: Params, lever: float) -> Stage:
    """A disc above a small ball, whose top is at height 0."""
    ball = placed("ball", Sphere(0.005), (lever, 0.0, -0.005))
    return Stage("disc", Cylinder(2.0 * p.radius, HEIGHT), p.mass, (ball,))


def on_block(name: str, shape: Shape, mass: float) -> Stage:
    """A shape above a block, whose top is at height 0."""
    return Stage(name, shape, mass, (placed("block", Box((0.4, 0.4, 0.04)), (0.0, 0.0, -0.02)),))


def descent(
    p: Params, height: float, speed: float, pose: Callable[[float, float], Pose], centre: Array
) -> Path:
    """Down at an even speed, until the last tick alone is in the layer, by half a sample.

    Args:
        p: Values of the experiment.
        height: Of the body's frame where it touches [m].
        speed: Downwards [m/s].
        pose: (height, time) → pose of the body's frame.
        centre: Of mass in the body's frame [m].
    """
    last = height + Formation().layer - 0.5 * speed / p.rate

    def at(u: float) -> Pose:
        return pose(last + speed * p.before * (1.0 - u), p.before * u)

    return path_of([("met", p.before, at)], p.rate, centre)


def start_of(at: float, log: Log) -> Start:
    """What the last tick says."""
    force = log.normal_force[-1, 0]
    share = log.friction[-1, 0] / (Formation().static_friction * force)
    return Start(at, share, float(log.state[-1, 0]), int(log.motion[-1]))


def meet_ball(p: Params, lever: float) -> Log:
    """The disc spins up as it comes down."""

    def pose(z: float, t: float) -> Pose:
        half = 0.25 * p.spin_up * t * t
        return np.array([0.0, 0.0, z]), np.array([math.cos(half), 0.0, 0.0, math.sin(half)])

    path = descent(p, 0.5 * HEIGHT, p.speed, pose, np.zeros(3))
    return follow(disc_on_ball(p, lever), path, options())


def meet_block(p: Params, angle: float) -> Log:
    """The ball comes at an angle from the normal."""
    down, aside = (p.speed * f(math.radians(angle)) for f in (math.cos, math.sin))
    path = descent(
        p, p.radius, down, lambda z, t: (np.array([aside * t, 0.0, z]), UPRIGHT), np.zeros(3)
    )
    return follow(on_block("ball", Sphere(p.radius), p.mass), path, options())


def meet_two(p: Params) -> Log:
    """The ball comes down between two cylinders, onto both in the same tick."""
    far, radius = 0.03, 0.015
    middle = p.radius + radius
    height = math.sqrt((middle + Formation().layer) ** 2 - far**2)
    fixed = (along_y("left cylinder", radius, -far), along_y("right cylinder", radius, far))
    path = path_of(
        [("met", p.before, lambda u: (
            np.array([0.0, 0.0, height + p.speed * (p.before * (1.0 - u) - 0.5 / p.rate)]), UPRIGHT
        ))], p.rate,
    )  # fmt: skip
    return follow(Stage("ball", Sphere(p.radius), p.mass, fixed), path, options())


def stay(p: Params) -> Log:
    """The ball is there at rest from the first tick on."""
    at = np.array([0.0, 0.0, p.radius + 0.5 * Formation().layer])
    path = path_of([("there", 0.02, lambda u: (at, UPRIGHT))], p.rate)
    return follow(on_block("ball", Sphere(p.radius), p.mass), path, options())


def leave(p: Params) -> Log:
    """The ball is pressed into the layer, and pulled off."""
    low = p.radius + 0.1 * Formation().layer

    def off(u: float) -> Pose:
        return np.array([0.0, 0.0, low + p.leaving * 0.02 * u]), UPRIGHT

    at = np.array([0.0, 0.0, low])
    path = path_of([("pressed", 0.05, lambda u: (at, UPRIGHT)), ("off", 0.02, off)], p.rate)
    return follow(on_block("ball", Sphere(p.radius), p.mass), path, options())


def lopsided() -> Shape:
    """Two boxes off each other's axes: products of inertia in the axes of its frame."""
    boxes = Box((0.04, 0.02, 0.01)), Box((0.02, 0.02, 0.03))
    return Compound(boxes, (((0.0, 0.0, 0.0), UPRIGHT), ((0.015, 0.008, 0.015), UPRIGHT)))


def land(p: Params) -> Log:
    """The lopsided body turns about an oblique axis, ever faster, as it comes down on a corner."""
    shape = lopsided()
    axis = np.array([0.6, 0.0, 0.8])

    def pose(z: float, t: float) -> Pose:
        half = 0.5 * (0.3 + 0.5 * p.spin_up * (t * t - p.before**2))
        return np.array([0.0, 0.0, z]), np.array([math.cos(half), *(math.sin(half) * axis)])

    _, q = pose(0.0, p.before)
    corners = shape.surface()[0] @ rotation_of(q).T
    path = descent(p, -float(corners[:, 2].min()), p.speed, pose, shape.moments().centre)
    return follow(on_block("body", shape, p.mass), path, options())


def run(params: Params, tell: Tell = silent) -> Result:
    """All of it."""
    p = params
    levers, angles = [], []
    count = p.levers + p.angles
    last: Log | None = None
    for i, lever in enumerate(np.linspace(p.radius, 0.0, p.levers)):
        tell(i / count, f"lever of {1e3 * lever:.3g} mm")
        last = meet_ball(p, float(lever))
        levers.append(start_of(float(lever), last))
    for i, angle in enumerate(np.linspace(60.0, 89.5, p.angles)):
        tell((p.levers + i) / count, f"{angle:.3g}° from the normal")
        angles.append(start_of(float(angle), meet_block(p, float(angle))))
    assert last is not None
    runs = {
        "spun": last,
        "at rest": stay(p),
        "leaving": leave(p),
        "two at once": meet_two(p),
        "lopsided": land(p),
    }
    return Result(p, levers, angles, runs, disc_on_ball(p, 0.0))


def jump(sweep: list[Start]) -> float:
    """Largest difference of neighbours, as a share of μ F_n."""
    return max(float(np.linalg.norm(a.friction - b.friction)) for a, b in pairwise(sweep))


def check(result: Result) -> list[Claim]:
    """Finite throughout; no jumps; each odd start by itself."""
    p, runs = result.params, result.runs
    sweeps = (result.levers, result.angles)
    begun = [s for sweep in sweeps for s in sweep]
    finite = all(np.isfinite(s.friction).all() for s in begun) and all(
        np.isfinite(log.force).all() and np.isfinite(log.torque).all() for log in runs.values()
    )
    first = all(s.motion == FIRST for s in begun)
    lever, graze = (jump(sweep) for sweep in sweeps)
    under = float(np.linalg.norm(result.levers[-1].friction))
    rest, off, two = runs["at rest"], runs["leaving"], runs["two at once"]
    settings = Formation()
    press = settings.stiffness * 0.5 * settings.layer
    still = float(np.abs(rest.force - [0.0, 0.0, press]).max())
    pull = max(0.0, -float(off.force[:, 2].min()))
    gone = off.force[off.path.ticks("off"), 2]
    aside = float(np.abs(two.force[:, :2]).max())
    both = int(two.count[-1]) == 2 and int(two.count[:-1].max(initial=0)) == 0
    turned = runs["lopsided"]
    landed = int(turned.count[-1]) >= 1 and turned.motion[-1] == FIRST
    return [
        Claim("finite", "everything is finite, and every start of the sweeps is MT1",
              "-", float(len(begun) + len(runs)), "runs", finite and first),
        Claim("lever", f"spin-up of {p.spin_up:g} rad/s² over an ever shorter lever: neighbours "
              "differ by less than 25 % of μ F_n",
              "τ/r, without bound", 100.0 * lever, "% of μ F_n", lever < 0.25),
        Claim("under", "… and right under the centre of mass the torque is not felt, to 1e-9 μ F_n",
              "-", under, "of μ F_n", under < 1e-9),
        Claim("graze", "ever flatter, to half a degree from along the face: neighbours differ "
              "by less than 25 % of μ F_n", "-", 100.0 * graze, "% of μ F_n", graze < 0.25),
        Claim("rest", "there at rest from the first tick on: K (ε − d) along the normal and no "
              "friction, to 1e-9 N", "-", still, "N", still < 1e-9),
        Claim("leaving", f"off at {p.leaving:g} m/s: no pull, and no force after the first ticks",
              "no clamp", pull, "N", pull == 0.0 and float(gone[5:].max(initial=0.0)) == 0.0),
        Claim("two", "two contacts in one tick: both begin, sideways forces cancel to 1e-9 N",
              "one at a time", aside, "N", both and aside < 1e-9),
        Claim("lopsided", "a body with products of inertia lands as it turns: MT1, force within "
              "F_n √(1 + μ²)", "-", float(np.linalg.norm(turned.force[-1])), "N",
              landed and _within_cone(turned)),
    ]  # fmt: skip


def _within_cone(log: Log) -> bool:
    """Whether every contact of the last tick has its friction within μ F_n, to rounding."""
    sizes = np.linalg.norm(log.friction[-1], axis=1)
    limit = Formation().static_friction * log.normal_force[-1]
    return bool((sizes <= limit * (1.0 + 1e-12)).all())


def beside(result: Result) -> list[Reading]:
    """Where stick gives way along the lever."""
    changes = [(one.at, two.at) for one, two in pairwise(result.levers) if one.state != two.state]
    return [
        Reading("lever at which slip becomes stick", f"{1e3 * a:.3g} to {1e3 * b:.3g} mm",
                0.5e3 * (a + b), "mm")
        for a, b in changes
    ]  # fmt: skip


@house_style
def plot(result: Result) -> list[Figure]:
    """Friction of the first tick over the lever, and over the angle."""
    figure, axes = canvas(
        "Friction of the first tick as a share of μ F_n. Left: a disc that spins up, over the "
        "lever of its contact. Right: a ball, over the angle from the normal.",
        columns=2, size=(9.0, 3.4),
    )  # fmt: skip
    for panel, sweep, scale, words in (
        (axes[0], result.levers, 1e3, "lever [mm]"),
        (axes[1], result.angles, 1.0, "angle from the normal [°]"),
    ):
        x = [scale * s.at for s in sweep]
        panel.plot(x, [float(np.linalg.norm(s.friction)) for s in sweep], ".-", ms=4, lw=0.8,
                   color=COLOURS["volume"])  # fmt: skip
        panel.axhline(1.0, color=FAINT, lw=0.8)
        panel.set_ylim(0.0, 1.1)
        panel.set_xlabel(words)
        panel.set_ylabel("friction over μ F_n")
    return [figure]


def strip(result: Result) -> Figure:
    """The disc as it comes down."""
    log = result.runs["spun"]
    ticks = [int(t) for t in np.linspace(0, len(log.path) - 1, 3)]
    return pictures_of(result.stage, log, ticks, CAMERA, "A disc comes down on a small ball.")


EXPERIMENT = Experiment(
    name="odd-contacts",
    paper="Luo and Xiao 2004, degenerate cases",
    summary="contacts that begin with no lever, no speed, along the face, two at once: no jumps",
    params=Params(),
    quick=Params(levers=21, angles=15),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
