"""Cube toss: motion-captured tosses of a real cube, against tuned simulations.

Half of the tosses serve to tune the contact numbers of tangere, MuJoCo and Bullet, each with the
same search, the same number of evaluations and the same step; the other half is the test. A rollout
starts from the first row of a toss; its score is the mean over all samples of

    position   |Δx| / width of the cube
    rotation   angle of the rotation between measured and simulated attitude

The tosses are those of ContactNets [PFROMMER2020], every fifth of the published 570. The file is
not part of tangere; `find_data` says where it is looked for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import tangere as tg
from tangere.errors import SceneError
from tangere.experiments import pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, INK, canvas, house_style
from tangere.experiments.pictures import rotation
from tangere.experiments.toss_engines import Cube, Engine, engines
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INTEGRATOR = "explicit"
FILE = "cube_tosses.npz"
COLUMNS = 13
# Errors that count as one in the search; about those of a tuned engine.
POSITION_UNIT, ROTATION_UNIT = 13.0, 16.0  # [%, deg]
OTHER_FACE = 45.0  # [deg] a larger error at the end: the cube lies on another face
RANDOM_SHARE = 1.0 / 3.0  # of the evaluations are spread over the whole space
ELITE = 8  # the best so far, from which the search goes on; also those tried at a time
WIDEN, LEAST_SPREAD = 1.1, 0.005  # of the elite's spread: it must not shrink at once, nor vanish
FLIGHT_GAP = 2e-3  # [m] a cube whose lowest corner is higher is in flight


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units.

    `data` is the folder of the measured tosses (empty: see `find_data`), `tosses` how many of them
    are used (0: all), `evaluations` how often an engine may simulate the tuning half.
    """

    data: str = ""
    tosses: int = 0
    rate: float = 148.0
    substeps: int = 7
    half_width: float = 0.0524
    mass: float = 0.37
    inertia: float = 0.00081
    gravity: float = 9.81
    evaluations: int = 240
    seed: int = 0

    @property
    def cube(self) -> Cube:
        """What the engines are told."""
        return Cube(
            self.half_width,
            self.mass,
            self.inertia,
            self.gravity,
            1.0 / (self.rate * self.substeps),
            self.substeps,
        )


@dataclass(frozen=True)
class Scores:
    """Errors per toss: means over its samples, position [% of the width] and rotation [deg].

    `last` is the rotation error of the last sample [deg].
    """

    position: Array
    rotation: Array
    last: Array

    @property
    def objective(self) -> float:
        """The one number that every engine is tuned by; infinite for a simulation that failed."""
        mean = 0.5 * (self.position.mean() / POSITION_UNIT + self.rotation.mean() / ROTATION_UNIT)
        return float(mean) if math.isfinite(mean) else math.inf


@dataclass(frozen=True)
class Tuned:
    """An engine after its search: chosen values, objectives in the order tried, both halves."""

    engine: str
    values: dict[str, float]
    units: dict[str, str]
    objectives: Array
    tuning: Scores
    test: Scores
    paths: list[Array]


@dataclass(frozen=True)
class Result:
    """The measured test half and what each engine made of it."""

    params: Params
    tuning_tosses: int
    tosses: list[Array]
    tuned: dict[str, Tuned]

    @property
    def ours(self) -> Tuned:
        """Tangere."""
        return self.tuned["volume"]

    @property
    def others(self) -> list[Tuned]:
        """The other engines."""
        return [t for name, t in self.tuned.items() if name != "volume"]


# ---------------------------------------------------------------- the measured tosses


def find_data(folder: str = "") -> Path | None:
    """The file of tosses: in `folder`, or that of `TANGERE_DATA`, or nearby.

    Nearby are the folders `data` and `shared/data` of the working folder and of those above it.
    """
    given = folder or os.environ.get("TANGERE_DATA", "")
    if given:
        places = [Path(given)]
    else:
        here = Path.cwd()
        places = [up / down for up in (here, *here.parents) for down in ("data", "shared/data")]
    return next((p / FILE for p in places if (p / FILE).is_file()), None)


def missing(params: Params) -> str:
    """What keeps the experiment from running, in one line; empty when nothing does."""
    if find_data(params.data) is None:
        return (
            f"cube-toss needs {FILE}, the measured tosses of ContactNets (Pfrommer, Halm and Posa "
            "2020, BSD-3-Clause, github.com/DAIRLab/contact-nets): give its folder with --data or "
            "TANGERE_DATA; the gallery's page says how to make it"
        )
    if len(engines(INTEGRATOR)) == 1:
        return "cube-toss compares with MuJoCo and Bullet: install mujoco or pybullet"
    return ""


def load(path: Path) -> list[Array]:
    """The tosses of a file, in its order: rows of 13 numbers, quaternions of unit length."""
    tosses = []
    with np.load(path) as file:
        for name in file.files:
            toss = np.asarray(file[name], np.float64)
            if toss.ndim != 2 or toss.shape[1] != COLUMNS or len(toss) < 2:
                raise SceneError(
                    f"{path}: toss {name} has shape {toss.shape}; expected rows of {COLUMNS}: "
                    "position, quaternion (w, x, y, z), velocity, angular velocity"
                )
            toss[:, 3:7] /= np.linalg.norm(toss[:, 3:7], axis=1)[:, None]
            tosses.append(toss)
    return tosses


def split(tosses: Sequence[Array]) -> tuple[list[Array], list[Array]]:
    """Tuning and test half: the tosses at even and at odd places of the file."""
    return list(tosses[::2]), list(tosses[1::2])


def turn_between(a: Array, b: Array) -> Array:
    """Angle of the rotation between unit quaternions, row by row [deg]."""
    apart = np.minimum(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    return np.asarray(np.degrees(4.0 * np.arcsin(np.minimum(0.5 * apart, 1.0))))


def score(tosses: Sequence[Array], paths: Sequence[Array], width: float) -> Scores:
    """Errors of simulated paths (position and quaternion per sample) against the tosses."""
    rows = []
    for toss, path in zip(tosses, paths, strict=True):
        away = np.linalg.norm(path[:, :3] - toss[:, :3], axis=1)
        turned = turn_between(path[:, 3:7], toss[:, 3:7])
        rows.append((100.0 * away.mean() / width, turned.mean(), turned[-1]))
    table = np.array(rows)
    return Scores(table[:, 0], table[:, 1], table[:, 2])


# ---------------------------------------------------------------- run


def run(params: Params, tell: Tell = silent) -> Result:
    """Tune every engine on one half, roll out the other."""
    p = params
    lacking = missing(p)
    path = find_data(p.data)
    if lacking or path is None:
        raise SceneError(lacking)
    tosses = load(path)
    tuning, test = split(tosses[: p.tosses] if p.tosses else tosses)
    contestants = engines(INTEGRATOR)
    tuned = {}
    for i, engine in enumerate(contestants):

        def doing(done: float, name: str = engine.name, place: int = i) -> None:
            tell((place + done) / len(contestants), f"tuning {name}")

        tuned[engine.name] = _tuned(p, engine, tuning, test, doing)
    return Result(p, len(tuning), test, tuned)


def _tuned(
    p: Params,
    engine: Engine,
    tuning: Sequence[Array],
    test: Sequence[Array],
    tell: Callable[[float], None],
) -> Tuned:
    def values(point: Array) -> dict[str, float]:
        return {t.name: t.value(float(x)) for t, x in zip(engine.tunables, point, strict=True)}

    def judge(point: Array) -> Scores:
        try:
            paths = engine.roll(p.cube, tuning, values(point))
        except FloatingPointError:  # too stiff for the step
            lost = np.full(len(tuning), math.inf)
            return Scores(lost, lost, lost)
        return score(tuning, paths, 2.0 * p.half_width)

    best, objectives, scores = search(judge, len(engine.tunables), p.evaluations, p.seed, tell)
    chosen = values(best)
    paths = engine.roll(p.cube, test, chosen)
    return Tuned(
        engine.name,
        chosen,
        {t.name: t.unit for t in engine.tunables},
        objectives,
        scores,
        score(test, paths, 2.0 * p.half_width),
        paths,
    )


def search(
    judge: Callable[[Array], Scores],
    dimensions: int,
    evaluations: int,
    seed: int,
    tell: Callable[[float], None] = lambda done: None,
) -> tuple[Array, Array, Scores]:
    """Best point of the unit cube, all objectives in the order tried, and the best point's scores.

    First a Sobol sequence over the whole cube; then normal samples about the weighted mean of the
    best few so far, with their spread along each axis.
    """
    from scipy.stats import qmc

    rng = np.random.default_rng(seed)
    first = max(1, round(RANDOM_SHARE * evaluations))
    rounds = math.ceil(math.log2(max(first, 2)))
    start = qmc.Sobol(dimensions, seed=rng).random_base2(rounds)[:first]
    points: list[Array] = []
    found: list[float] = []
    best: Scores | None = None
    for i in range(evaluations):
        tell(i / evaluations)
        if i < first:
            point = start[i]
        else:
            elite = np.array(points)[np.argsort(found, kind="stable")[:ELITE]]
            weight = np.linspace(1.0, 0.2, len(elite))
            mean = np.average(elite, axis=0, weights=weight)
            spread = np.sqrt(np.average((elite - mean) ** 2, axis=0, weights=weight))
            step = (WIDEN * spread + LEAST_SPREAD) * rng.standard_normal(dimensions)
            point = np.clip(mean + step, 0.0, 1.0)
        scores = judge(point)
        if best is None or scores.objective < min(found):
            best = scores
        points.append(point)
        found.append(scores.objective)
    assert best is not None
    return points[int(np.argmin(found))], np.array(found), best


# ---------------------------------------------------------------- verdicts


def check(result: Result) -> list[Claim]:
    """Both mean errors on the test half against the better of the other engines."""
    ours = result.ours.test
    names = " and ".join(t.engine for t in result.others)
    claims = []
    for key, word, unit in (("position", "position", "%"), ("rotation", "rotation", "deg")):
        here = float(getattr(ours, key).mean())
        there = {t.engine: float(getattr(t.test, key).mean()) for t in result.others}
        claims.append(
            Claim(
                key,
                f"test half: mean {word} error at or below the better of {names}, tuned alike",
                ", ".join(f"{name} {value:.4g} {unit}" for name, value in there.items()),
                here,
                unit,
                here <= min(there.values()),
            )
        )
    flight = flight_error(result)
    claims.append(
        Claim(
            "flight",
            "test half: mean rotation error at the end of the first flight below 3 deg: axes and "
            "frames are those of the measurement",
            "free flight",
            flight,
            "deg",
            flight < 3.0,
        )
    )
    return claims


def flight_error(result: Result) -> float:
    """Mean rotation error of tangere just before the first touch [deg]."""
    return float(
        np.mean(
            [
                turn_between(path[i, 3:7], toss[i, 3:7])
                for toss, path in zip(result.tosses, result.ours.paths, strict=True)
                for i in (_first_flight(toss, result.params.half_width),)
            ]
        )
    )


def _first_flight(toss: Array, half_width: float) -> int:
    """Last sample before the lowest corner comes near the floor."""
    reach = np.array([np.abs(rotation(row[3:7])[2]).sum() for row in toss])
    near = np.flatnonzero(toss[:, 2] - half_width * reach < FLIGHT_GAP)
    return max(int(near[0]) - 1, 0) if len(near) else len(toss) - 1


def beside(result: Result) -> list[Reading]:
    """Means with their standard errors, medians, other faces, and what the search chose."""
    readings = []
    for t in result.tuned.values():
        for half, scores in (("test", t.test), ("tuning", t.tuning)):
            for what, values, unit in (
                ("position error", scores.position, "%"),
                ("rotation error", scores.rotation, "deg"),
            ):
                readings.append(
                    Reading(f"{half} half, {what}: mean", t.engine, float(values.mean()), unit)
                )
                if half == "test":
                    error = float(values.std(ddof=1)) / math.sqrt(len(values))
                    readings += [
                        Reading(f"{half} half, {what}: standard error", t.engine, error, unit),
                        Reading(
                            f"{half} half, {what}: median", t.engine, float(np.median(values)), unit
                        ),
                    ]
        wrong = float(np.count_nonzero(t.test.last > OTHER_FACE))
        readings.append(
            Reading(f"test half, on another face of {len(result.tosses)}", t.engine, wrong, "")
        )
        readings += [
            Reading(f"tuned: {name}", t.engine, value, t.units[name])
            for name, value in t.values.items()
        ]
    return readings


# ---------------------------------------------------------------- figures


@house_style
def plot(result: Result) -> list[Figure]:
    """Distribution of both errors, the search, and the worst tosses."""
    return [_distribution(result), _worst(result)]


def _distribution(result: Result) -> Figure:
    p = result.params
    figure, (left, middle, right) = canvas(
        f"Real tosses of a cube, {len(result.tosses)} of them not used for tuning: share of the "
        "tosses whose mean error is smaller than x; dots mark the means. Right: the best objective "
        f"on the {result.tuning_tosses} tuning tosses over the {p.evaluations} evaluations that "
        "every engine has.",
        columns=3,
        size=(9.6, 3.2),
    )
    for t in result.tuned.values():
        colour, width = COLOURS[t.engine], 2.2 if t is result.ours else 1.4
        for axes, values in ((left, t.test.position), (middle, t.test.rotation)):
            share = np.arange(1, len(values) + 1) / len(values)
            axes.step(np.sort(values), share, where="post", label=t.engine, color=colour, lw=width)
            mean = float(values.mean())
            axes.plot(mean, np.mean(values <= mean), "o", color=colour, ms=5)
        reached = np.minimum.accumulate(t.objectives)
        right.plot(np.arange(1, len(reached) + 1), reached, color=colour, lw=width)
    left.set_xlabel("position error [% of width]")
    middle.set_xlabel("rotation error [deg]")
    right.set_xlabel("evaluations")
    left.set_ylabel("share of the tosses")
    right.set_ylabel("objective")
    finite = [t.objectives.min() for t in result.tuned.values()]
    right.set_ylim(0.98 * min(finite), 1.4 * max(finite))
    for axes in (left, middle):
        axes.set_xlim(left=0.0)
        axes.set_ylim(0.0, 1.02)
    left.legend(loc="lower right")
    return figure


def _worst(result: Result) -> Figure:
    p, ours = result.params, result.ours
    worst = np.argsort(-ours.test.rotation)[: min(3, len(result.tosses))]
    figure, axes = canvas(
        "The tosses with the largest rotation errors of tangere: height of the centre and angle "
        "turned since the start, measured (black) and simulated.",
        columns=len(worst),
        rows=2,
        size=(9.6, 4.6),
    )
    for column, i in enumerate(worst):
        toss = result.tosses[i]
        upper, lower = axes[column], axes[column + len(worst)]
        shown = {"measured": toss[:, :7], **{n: t.paths[i] for n, t in result.tuned.items()}}
        for name, path in shown.items():
            _trace(upper, lower, path, p.rate, name)
        upper.set_title(f"{ours.test.position[i]:.0f} %, {ours.test.rotation[i]:.0f}°", loc="left")
        upper.set_xlabel("time [s]")
        lower.set_xlabel("time [s]")
    axes[0].set_ylabel("height [mm]")
    axes[len(worst)].set_ylabel("angle [deg]")
    axes[0].legend()
    return figure


def _trace(upper: Axes, lower: Axes, path: Array, rate: float, name: str) -> None:
    colour = COLOURS.get(name, INK)
    time = np.arange(len(path)) / rate
    width = 2.0 if name in ("measured", "volume") else 1.2
    upper.plot(time, 1e3 * path[:, 2], color=colour, lw=width, label=name)
    lower.plot(time, turn_between(path[:, 3:7], path[:1, 3:7]), color=colour, lw=width)


def strip(result: Result) -> Figure:
    """The toss of median rotation error: simulated behind, measured in front."""
    p, ours = result.params, result.ours
    i = int(np.argsort(ours.test.rotation)[len(result.tosses) // 2])
    toss, path = result.tosses[i], ours.paths[i]
    shape = tg.Box((2.0 * p.half_width,) * 3)
    way = toss[-1, :2] - toss[0, :2]
    ahead = way / np.linalg.norm(way)
    behind = 3.5 * p.half_width * np.array([-ahead[1], ahead[0], 0.0])
    centre = np.append(0.5 * (toss[0, :2] + toss[-1, :2]), p.half_width) + 0.5 * behind
    frames = []
    for k in np.linspace(0, min(len(toss) - 1, 0.6 * p.rate), 5).astype(int):
        solids = (
            *pictures.solids(shape, path[k, :3] + behind, path[k, 3:7], pictures.PALETTE[0]),
            *pictures.solids(shape, toss[k, :3], toss[k, 3:7], pictures.PALETTE[1]),
        )
        frames.append(pictures.Frame(solids, f"{k / p.rate:.2f} s"))
    camera = pictures.Camera(
        azimuth=math.degrees(math.atan2(-behind[1], -behind[0])),
        elevation=30.0,
        centre=(float(centre[0]), float(centre[1]), float(centre[2])),
        width=0.75,
        height=0.55,
    )
    return pictures.strip(
        frames,
        camera,
        "A toss with the median rotation error: measured (yellow, in front) and simulated (blue, "
        "shifted back).",
    )


EXPERIMENT = Experiment(
    name="cube-toss",
    paper="motion-captured tosses of Pfrommer, Halm and Posa 2020 (ContactNets)",
    summary="a real cube is tossed: tuned on one half of the tosses, tested on the other, beside "
    "MuJoCo and Bullet",
    params=Params(),
    quick=Params(evaluations=60),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
    missing=missing,
)
