"""Guarded motion: does the motion before a contact decide whether it sticks? [LUO2004] Fig. 11.

A cylinder of 0.5 kg is moved onto a crossed one at a fixed angle φ from the normal, without and
with acceleration. The paper: without, it sticks; with, the normal force is larger and it slides.

The first contact force balances G, the force of the acceleration, and an impact F_v along the
velocity (Eqs. 1 and 2). With G parallel to the velocity and F_v ≥ 0 the friction that stick would
need is F_n tan φ, with or without acceleration: as printed, the acceleration decides nothing. It
does once F_v may not pull: where the acceleration alone presses more than F_n, F_v = 0, and the
body slips from

    a* = max(F_n/(m cos φ), μ F_n/(m sin φ)),     at φ = 0, sideways: a* = μ F_n/m.

The first tick of contact is half a tick deep in all runs. An acceleration over the last millimetre
lasts 12 ms, so the window that measures it is 10 ms here instead of 30 ms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.contact.formation.columns import (
    FIRST,
    OUT_FRICTION,
    OUT_IMPACT,
    OUT_NEED,
    OUT_NORMAL_FORCE,
    OUT_STATE,
    STICK,
)
from tangere.contact.formation.options import Formation
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, canvas, house_style
from tangere.experiments.formation_log import UPRIGHT, Log, Placed, Stage, follow
from tangere.experiments.formation_log import moments as pictures_of
from tangere.experiments.formation_paths import Guarded, Path, guarded_motion
from tangere.experiments.pictures import Camera
from tangere.geometry.shapes import Cylinder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tangere.maths.vec import Array

CAMERA = Camera(azimuth=-90.0, elevation=68.0, centre=(0.0, 0.02, 0.0), width=0.16, height=0.16)
WINDOW = 10e-3  # of velocity and acceleration [s]
STEADY = Guarded(0.05)
# For trembling hands, whose acceleration takes the default window of 30 ms to be known
EVEN, LONGER = STEADY._replace(acceleration=1.2), 45e-3
# From 50 mm/s to 112, 206 and 320 mm/s, the last two over 10 mm
PUSHED = Guarded(math.sqrt(0.05**2 + 2.0 * 5.0 * 1e-3), acceleration=5.0, runway=1e-3)
LONG = {
    f"{a:g} m/s² over 10 mm": Guarded(
        math.sqrt(0.05**2 + 2.0 * a * 0.01), acceleration=a, runway=0.01
    )
    for a in (2.0, 5.0)
}


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units."""

    mass: float = 0.5
    radius: float = 0.020
    length: float = 0.080
    crest: float = 0.020
    most: float = 2.0
    sweep: int = 41
    rates: tuple[float, ...] = (1000.0, 500.0, 4000.0)
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)


class First(NamedTuple):
    """The first tick of contact.

    Normal force, friction and the friction that stick would need [N], impact force, verdict.
    """

    normal: float
    friction: float
    need: float
    impact: float
    sticks: bool

    @property
    def ratio(self) -> float:
        """What stick would need over the normal force; it sticks up to μ."""
        return self.need / self.normal


@dataclass(frozen=True)
class Result:
    """Whole runs, first ticks of others, and verdicts over the acceleration.

    Attributes:
        steady: Without acceleration, by rate; the first one is that of the figures.
        pushed: With 5 m/s² over the last millimetre.
        long: First ticks after accelerations over 10 mm, by words.
        sweep: Accelerations along the way (n,) and first ticks, all at 50 mm/s.
        unclamped: The same with an impact force that may pull.
        sideways: Acceleration across a normal way.
        trembling: Verdicts of trembling hands, without and with acceleration.
    """

    params: Params
    steady: dict[float, Log]
    pushed: Log
    long: dict[str, First]
    sweep: tuple[Array, list[First]]
    unclamped: list[First]
    sideways: tuple[Array, list[First]]
    trembling: list[tuple[bool, bool]]


def options(clamp: bool = True) -> Formation:
    """Parameters of the paper, with windows as short as the runway."""
    return Formation(window=WINDOW, velocity_window=WINDOW, clamp_impact=clamp)


def stage(p: Params) -> Stage:
    """The held cylinder along x above the fixed one along z."""
    crest = Cylinder(p.crest, p.length)
    return Stage(
        "cylinder",
        Cylinder(p.radius, p.length),
        p.mass,
        (Placed("crest", crest, np.zeros(3), UPRIGHT),),
    )


def path(p: Params, motion: Guarded, rate: float = 1000.0, before: float = 3.0 * WINDOW) -> Path:
    """From a time before the contact to 20 ms after it."""
    reach = p.crest + p.radius + Formation().layer
    return guarded_motion(motion, reach, rate, round(before * rate), round(0.02 * rate))


def first(log: Log) -> First:
    """What the log says of the first tick of contact."""
    tick = int(np.argmax(log.motion == FIRST))
    row = log.results[tick, 0]
    if log.motion[tick] != FIRST:
        return First(math.nan, math.nan, math.nan, math.nan, False)
    return First(
        float(row[OUT_NORMAL_FORCE]),
        float(np.linalg.norm(row[OUT_FRICTION : OUT_FRICTION + 3])),
        float(np.linalg.norm(row[OUT_NEED : OUT_NEED + 3])),
        float(row[OUT_IMPACT]),
        bool(row[OUT_STATE] == STICK),
    )


def run(params: Params, tell: Tell = silent) -> Result:
    """Single runs, then sweeps of the acceleration."""
    p = params
    tell(0.0, "single runs")
    base = p.rates[0]

    def touch(motion: Guarded, clamp: bool = True) -> First:
        return first(follow(stage(p), path(p, motion), options(clamp)))

    steady = {rate: follow(stage(p), path(p, STEADY, rate), options()) for rate in p.rates}
    pushed = follow(stage(p), path(p, PUSHED, base), options())
    long = {words: touch(motion) for words, motion in LONG.items()}
    along = np.linspace(0.0, p.most, p.sweep)
    found = []
    for i, clamp in enumerate((True, False)):
        tell(0.2 + 0.25 * i, "acceleration along the way")
        found.append([touch(STEADY._replace(acceleration=float(a)), clamp) for a in along])
    tell(0.7, "acceleration sideways")
    straight = Guarded(STEADY.speed, 0.0)
    across = np.linspace(0.0, 1.0, p.sweep)
    aside = [touch(straight._replace(sideways=float(a))) for a in across]
    tell(0.9, "trembling hands")
    trembling = []
    for seed in p.seeds:
        shaken = [path(p, motion, base, LONGER).noisy(seed) for motion in (STEADY, EVEN)]
        verdicts = [first(follow(stage(p), each, Formation())).sticks for each in shaken]
        trembling.append((verdicts[0], verdicts[1]))
    return Result(p, steady, pushed, long, (along, found[0]), found[1], (across, aside), trembling)


def flips(at: Array, ticks: list[First]) -> list[float]:
    """Accelerations between which the verdict changes."""
    return [
        0.5 * float(at[i] + at[i + 1])
        for i in range(len(ticks) - 1)
        if ticks[i].sticks != ticks[i + 1].sticks
    ]


def threshold(p: Params, angle: float) -> tuple[float, float]:
    """F_n of the first tick at 50 mm/s, and a* [N, m/s²]."""
    o = options()
    normal = STEADY.speed * math.cos(angle)
    press = o.damping * normal + o.stiffness * 0.5 * normal * 1e-3
    if angle == 0.0:
        return press, o.static_friction * press / p.mass
    return press, max(
        press / (p.mass * math.cos(angle)), o.static_friction * press / (p.mass * math.sin(angle))
    )


def check(result: Result) -> list[Claim]:
    """What sticks and what slips, and from which acceleration on."""
    p = result.params
    steady, pushed = first(result.steady[p.rates[0]]), first(result.pushed)
    angle = STEADY.incidence
    press, limit = threshold(p, angle)
    _, aside = threshold(p, 0.0)
    turns, across = flips(*result.sweep), flips(*result.sideways)
    unclamped = flips(result.sweep[0], result.unclamped)
    late = result.long
    two, five = (late[words] for words in LONG)
    kinetic = options().kinetic_friction
    spread = _spread(result)
    kept = sum(a and not b for a, b in result.trembling)
    return [
        Claim("steady-force", "without acceleration F_n = 0.266 N at the first tick, to 1e-4 N",
              "-", steady.normal, "N", abs(steady.normal - press) < 1e-4),
        Claim("steady", "… stick would need tan 30° F_n, so it sticks", "it sticks",
              steady.ratio, "", steady.sticks and abs(steady.ratio - math.tan(angle)) < 1e-3),
        Claim("pushed-force", "5 m/s² over the last millimetre: larger normal force, 0.60 N",
              "larger normal force", pushed.normal, "N", abs(pushed.normal - 0.60) < 0.01),
        Claim("pushed", "… stick would need 2.1 F_n, so it slips, with friction μ_D F_n",
              "it slides", pushed.ratio, "",
              not pushed.sticks and abs(pushed.ratio - 2.1) < 0.05
              and abs(pushed.friction - kinetic * pushed.normal) < 1e-9),
        Claim("threshold", f"at equal speed one flip, at {limit:.3f} ± 0.05 m/s²", "-",
              turns[0] if turns else None, "m/s²",
              len(turns) == 1 and abs(turns[0] - limit) <= 0.05),
        Claim("unclamped", "as printed, with F_v of either sign, nothing flips up to 2 m/s²",
              "slides with acceleration", float(len(unclamped)), "flips", not unclamped),
        Claim("sideways", f"accelerated across a normal way it flips at μ F_n/m = {aside:.3f} "
              "± 0.05 m/s²", "-", across[0] if across else None, "m/s²",
              len(across) == 1 and abs(across[0] - aside) <= 0.05),
        Claim("speed", "2 m/s² over 10 mm gives 206 mm/s, F_n = 1.10 N and stick again: more speed "
              "is more grip", "-", two.ratio, "",
              two.sticks and abs(two.normal - 1.10) < 0.01 and abs(two.ratio - 0.577) < 0.01),
        Claim("by-a-hair", "5 m/s² over 10 mm: stick would need 0.733 F_n, it slips by a hair",
              "-", five.ratio, "", not five.sticks and abs(five.ratio - 0.733) < 0.02),
        Claim("noise", "trembling hands, measured over 30 ms, stick without acceleration and slip "
              f"with {EVEN.acceleration:g} m/s²", "-",
              float(kept), f"of {len(result.trembling)}", kept == len(result.trembling)),
        Claim("rate", "forces at 500 Hz and 4 kHz are those at 1 kHz within 2 %, from 8 ms on",
              "-", 100.0 * spread, "%", spread < 0.02),
    ]  # fmt: skip


def _spread(result: Result) -> float:
    """Largest difference of forces between rates, 8 to 15 ms after the contact, as a share.

    Before, friction fades in, from the first tick on, which comes half a tick after the contact.
    """
    p = result.params
    times = np.linspace(8e-3, 15e-3, 100)

    def force(rate: float) -> Array:
        log = result.steady[rate]
        t = (np.arange(len(log.path)) - log.path.starts["contact"] + 0.5) / rate
        return np.column_stack([np.interp(times, t, column) for column in log.force.T])

    main = force(p.rates[0])
    return max(
        float((np.linalg.norm(force(r) - main, axis=1) / np.linalg.norm(main, axis=1)).max())
        for r in p.rates
    )


def beside(result: Result) -> list[Reading]:
    """First ticks of the single runs, and what the default window makes of the short push."""
    p = result.params
    default = first(follow(stage(p), path(p, PUSHED), Formation()))
    rows = [
        ("without acceleration", first(result.steady[p.rates[0]])),
        ("5 m/s² over 1 mm", first(result.pushed)),
        ("5 m/s² over 1 mm, seen through 30 ms", default),
        *result.long.items(),
    ]
    return [
        Reading(
            "friction that stick would need over F_n", words, each.ratio, "",
            f"F_n = {each.normal:.3f} N, F_v = {each.impact:.3f} N, "
            f"{'sticks' if each.sticks else 'slips'}",
        )
        for words, each in rows
    ]  # fmt: skip


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 11 of the paper: forces without and with acceleration; then the sweep."""
    p = result.params
    figure, axes = canvas(
        "Guarded motion: contact force without (lines) and with (dashed) 5 m/s² over the last "
        "millimetre. After Fig. 11 of the paper.",
        columns=2, size=(9.0, 3.4),
    )  # fmt: skip
    shades = (COLOURS["volume"], COLOURS["point"])
    for log, style in ((result.steady[p.rates[0]], "-"), (result.pushed, "--")):
        time = 1e3 * (np.arange(len(log.path)) - log.path.starts["contact"] + 0.5) / log.path.rate
        for name, at, shade in (("normal", 1, shades[0]), ("along x", 0, shades[1])):
            label = f"{name}, {'steady' if style == '-' else 'pushed'}"
            axes[0].plot(time, log.force[:, at], style, color=shade, lw=1.2, label=label)
    axes[0].set_xlim(-3.0, 15.0)
    axes[0].set_xlabel("time since contact [ms]")
    axes[0].set_ylabel("contact force [N]")
    axes[0].legend(fontsize=7.5)
    along, ticks = result.sweep
    for found, name, shade in (
        (ticks, "F_v only pushes", shades[0]),
        (result.unclamped, "as printed", shades[1]),
    ):
        axes[1].plot(along, [each.ratio for each in found], color=shade, lw=1.2, label=name)
    axes[1].axhline(options().static_friction, color=FAINT, lw=0.8, ls="--")
    axes[1].axvline(threshold(p, STEADY.incidence)[1], color=FAINT, lw=0.8, ls=":")
    axes[1].set_xlabel("acceleration along the way [m/s²]")
    axes[1].set_ylabel("friction that stick needs / F_n")
    axes[1].legend(fontsize=7.5)
    return [figure]


def strip(result: Result) -> Figure:
    """The cylinder before and at its contact."""
    log = result.pushed
    begin = log.path.starts["contact"]
    ticks = [int(t) for t in np.linspace(0, begin, 3)] + [begin + 8, len(log.path) - 1]
    return pictures_of(
        stage(result.params), log, ticks, CAMERA,
        "The held cylinder comes onto the crossed one at 30° from the normal; arrow: normal force.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="guarded-motion",
    paper="Luo and Xiao 2004, Fig. 11",
    summary="a cylinder is moved onto another: whether it sticks depends on how it came",
    params=Params(),
    quick=Params(sweep=21, rates=(1000.0, 500.0), seeds=(1,)),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
