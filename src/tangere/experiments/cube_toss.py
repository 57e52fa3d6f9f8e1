"""Cube toss: motion-captured tosses of a real cube, against tuned simulations.

Half of the tosses serve to tune the contact numbers of tangere, MuJoCo and Bullet, each with the
same search, the same number of evaluations and the same step; the other half is the test. A rollout
starts from the first row of a toss; its score is the mean over all samples of

    position   |Δx| / width of the cube
    rotation   angle of the rotation between measured and simulated attitude

All this is done twice: with the cube as its makers give it, and with a cube whose size, edges and
inertia are tuned too, by every engine in the same way. The given one is not quite the real one: it
rests 1.7 mm, and stands on an edge 3 mm, lower than its width says.

The tosses are those of ContactNets [PFROMMER2020], every fifth of the published 570. The file is
not part of tangere; `find_data` says where it is looked for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import tangere as tg
from tangere.errors import SceneError
from tangere.experiments import pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, INK, canvas, house_style
from tangere.experiments.pictures import rotation
from tangere.experiments.toss_engines import BODY, Cube, engines
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INTEGRATOR = "implicit"
OURS = "volume"
GIVEN, TUNED = "given cube", "tuned cube"
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
    are used (0: all), `evaluations` how often an engine may simulate the tuning half, with the
    given and with the tuned cube. `workers` processes share the work.
    """

    data: str = ""
    tosses: int = 0
    rate: float = 148.0
    substeps: int = 7
    half_width: float = 0.0524
    mass: float = 0.37
    inertia: float = 0.00081
    gravity: float = 9.81
    evaluations: tuple[int, int] = (240, 360)
    seed: int = 0
    workers: int = 2

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
    """The measured test half and what each engine made of it, by cube and engine."""

    params: Params
    tuning_tosses: int
    tosses: list[Array]
    tuned: dict[str, dict[str, Tuned]]


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
    """Tune every engine on one half, with either cube, and roll out the other half."""
    p = params
    if lacking := missing(p):
        raise SceneError(lacking)
    tuning, test = _halves(p)
    jobs = [(cube, engine.name) for engine in engines(INTEGRATOR) for cube in (GIVEN, TUNED)]
    tuned: dict[str, dict[str, Tuned]] = {GIVEN: {}, TUNED: {}}
    tell(0.0, f"{len(jobs)} searches")
    for i, (cube, name, done) in enumerate(_done(p, jobs)):
        tell((i + 1) / len(jobs), f"{name}, {cube}")
        tuned[cube][name] = done
    return Result(p, len(tuning), test, tuned)


def _halves(p: Params) -> tuple[list[Array], list[Array]]:
    path = find_data(p.data)
    assert path is not None
    tosses = load(path)
    return split(tosses[: p.tosses] if p.tosses else tosses)


def _done(p: Params, jobs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str, Tuned]]:
    """Each job with its outcome, in their order; in other processes if there are `workers`."""
    if p.workers < 2:
        for cube, name in jobs:
            yield cube, name, tune(p, cube, name)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # "spawn": a forked child would inherit locks of threads that it has not
    with ProcessPoolExecutor(p.workers, multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(tune, p, cube, name) for cube, name in jobs]
        for (cube, name), future in zip(jobs, running, strict=True):
            yield cube, name, future.result()


def tune(p: Params, cube: str, name: str) -> Tuned:
    """Search one engine's values on the tuning half, and roll out the test half with the best."""
    tuning, test = _halves(p)
    engine = next(e for e in engines(INTEGRATOR) if e.name == name)
    tunables = engine.tunables + (BODY if cube == TUNED else ())
    width = 2.0 * p.half_width

    def values(point: Array) -> dict[str, float]:
        return {t.name: t.value(float(x)) for t, x in zip(tunables, point, strict=True)}

    def body(chosen: dict[str, float]) -> Cube:
        if cube == GIVEN:
            return p.cube
        return replace(
            p.cube,
            half_width=chosen["half width"],
            chamfer=chosen["chamfer"],
            inertia=chosen["inertia"],
        )

    def judge(point: Array) -> Scores:
        chosen = values(point)
        try:
            paths = engine.roll(body(chosen), tuning, chosen)
        except FloatingPointError:  # too stiff for the step
            lost = np.full(len(tuning), math.inf)
            return Scores(lost, lost, lost)
        return score(tuning, paths, width)

    evaluations = p.evaluations[0 if cube == GIVEN else 1]
    best, objectives, scores = search(judge, len(tunables), evaluations, p.seed)
    chosen = values(best)
    paths = engine.roll(body(chosen), test, chosen)
    units = {t.name: t.unit for t in tunables}
    return Tuned(name, chosen, units, objectives, scores, score(test, paths, width), paths)


def search(
    judge: Callable[[Array], Scores],
    dimensions: int,
    evaluations: int,
    seed: int,
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
    claims = []
    for cube, tuned in result.tuned.items():
        others = [t for name, t in tuned.items() if name != OURS]
        names = " and ".join(t.engine for t in others)
        for what, unit in (("position", "%"), ("rotation", "deg")):
            here = float(getattr(tuned[OURS].test, what).mean())
            there = {t.engine: float(getattr(t.test, what).mean()) for t in others}
            claims.append(
                Claim(
                    f"{what}-{cube.split()[0]}",
                    f"test half, {cube}: mean {what} error at or below the better of {names}, "
                    "tuned alike",
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
    """Mean rotation error of tangere just before the first touch of the given cube [deg]."""
    half_width = result.params.half_width
    errors = []
    for toss, path in zip(result.tosses, result.tuned[GIVEN][OURS].paths, strict=True):
        i = _first_flight(toss, half_width)
        errors.append(turn_between(path[i, 3:7], toss[i, 3:7]))
    return float(np.mean(errors))


def _first_flight(toss: Array, half_width: float) -> int:
    """Last sample before the lowest corner comes near the floor."""
    reach = np.array([np.abs(rotation(row[3:7])[2]).sum() for row in toss])
    near = np.flatnonzero(toss[:, 2] - half_width * reach < FLIGHT_GAP)
    return max(int(near[0]) - 1, 0) if len(near) else len(toss) - 1


def beside(result: Result) -> list[Reading]:
    """Means with their standard errors, medians, other faces, and what the search chose."""
    readings = []
    for cube, tuned in result.tuned.items():
        for t in tuned.values():
            for what, unit in (("position", "%"), ("rotation", "deg")):
                test = getattr(t.test, what)
                for kind, value in (
                    ("mean", test.mean()),
                    ("standard error", test.std(ddof=1) / math.sqrt(len(test))),
                    ("median", np.median(test)),
                    ("mean of the tuning half", getattr(t.tuning, what).mean()),
                ):
                    readings.append(
                        Reading(f"{cube}, {what} error: {kind}", t.engine, float(value), unit)
                    )
            wrong = float(np.count_nonzero(t.test.last > OTHER_FACE))
            readings.append(
                Reading(f"{cube}, on another face of {len(test)} tosses", t.engine, wrong, "")
            )
            readings += [
                Reading(f"{cube}, tuned {name}", t.engine, value, t.units[name])
                for name, value in t.values.items()
            ]
    return readings


# ---------------------------------------------------------------- figures


@house_style
def plot(result: Result) -> list[Figure]:
    """Distribution of both errors, the searches, and the worst tosses."""
    return [_distribution(result), _worst(result)]


def _distribution(result: Result) -> Figure:
    figure, axes = canvas(
        f"Real tosses of a cube, {len(result.tosses)} of them not used for tuning: share of the "
        "tosses whose mean error is smaller than x; dots mark the means. Right: the best objective "
        f"on the {result.tuning_tosses} tuning tosses over the evaluations that every engine has. "
        "Above: the cube as given; below: its size, edges and inertia tuned too.",
        columns=3,
        rows=2,
        size=(9.6, 5.6),
    )
    for row, (cube, tuned) in enumerate(result.tuned.items()):
        left, middle, right = axes[3 * row : 3 * row + 3]
        for name, t in tuned.items():
            colour, width = COLOURS[name], 2.2 if name == OURS else 1.4
            for panel, values in ((left, t.test.position), (middle, t.test.rotation)):
                share = np.arange(1, len(values) + 1) / len(values)
                panel.step(np.sort(values), share, where="post", label=name, color=colour, lw=width)
                mean = float(values.mean())
                panel.plot(mean, np.mean(values <= mean), "o", color=colour, ms=5)
            reached = np.minimum.accumulate(t.objectives)
            right.plot(np.arange(1, len(reached) + 1), reached, color=colour, lw=width)
        left.set_title(cube, loc="left")
        left.set_xlabel("position error [% of width]")
        middle.set_xlabel("rotation error [deg]")
        right.set_xlabel("evaluations")
        left.set_ylabel("share of the tosses")
        right.set_ylabel("objective")
        found = [t.objectives.min() for t in tuned.values()]
        right.set_ylim(0.98 * min(found), 1.4 * max(found))
        for panel in (left, middle):
            panel.set_xlim(left=0.0)
            panel.set_ylim(0.0, 1.02)
    axes[0].legend(loc="lower right")
    return figure


def _worst(result: Result) -> Figure:
    tuned = result.tuned[TUNED]
    ours = tuned[OURS]
    worst = np.argsort(-ours.test.rotation)[:3]
    figure, axes = canvas(
        "The tosses with the largest rotation errors of tangere (tuned cube): height of the centre "
        "and angle turned since the start, measured (black) and simulated. After an impact the "
        "real cube tips over onto another face than the simulated one.",
        columns=len(worst),
        rows=2,
        size=(9.6, 4.6),
    )
    for column, i in enumerate(worst):
        upper, lower = axes[column], axes[column + len(worst)]
        paths = {"measured": result.tosses[i], **{n: t.paths[i] for n, t in tuned.items()}}
        for name, path in paths.items():
            colour, width = COLOURS.get(name, INK), 1.2 if name in COLOURS else 2.2
            time = np.arange(len(path)) / result.params.rate
            turned = turn_between(path[:, 3:7], path[:1, 3:7])
            upper.plot(time, 1e3 * path[:, 2], color=colour, lw=width, label=name)
            lower.plot(time, turned, color=colour, lw=width)
        upper.set_title(f"{ours.test.position[i]:.0f} %, {ours.test.rotation[i]:.0f}°", loc="left")
        upper.set_xlabel("time [s]")
        lower.set_xlabel("time [s]")
    axes[0].set_ylabel("height [mm]")
    axes[len(worst)].set_ylabel("angle [deg]")
    axes[0].legend()
    return figure


def strip(result: Result) -> Figure:
    """The toss of median rotation error: simulated behind, measured in front."""
    p, ours = result.params, result.tuned[TUNED][OURS]
    i = int(np.argsort(ours.test.rotation)[len(result.tosses) // 2])
    toss, path = result.tosses[i], ours.paths[i]
    shape = tg.Box((2.0 * p.half_width,) * 3)
    way = toss[-1, :2] - toss[0, :2]
    ahead = way / np.linalg.norm(way)
    behind = 4.5 * p.half_width * np.array([-ahead[1], ahead[0], 0.0])
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
        elevation=35.0,
        centre=(float(centre[0]), float(centre[1]), float(centre[2])),
        width=0.7,
        height=0.45,
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
    quick=Params(tosses=24, evaluations=(12, 12), workers=1),  # too few to win by
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
    missing=missing,
)
