"""Cube toss: motion-captured tosses of a real cube, against tuned simulations.

Half of the tosses serve to tune the contact numbers of tangere, MuJoCo and Bullet, each with the
same search, the same number of evaluations and the same step; the other half is the test. A rollout
starts from the first row of a toss; its score is the mean over all samples of

    position   |Δx| / width of the cube
    rotation   angle of the rotation between measured and simulated attitude

All this is done for four cubes, each of them the same solids for every engine:

    plain cube, given       size and inertia as its makers give them
    plain cube, tuned       size, edges and inertia tuned too; the given ones are not quite the real
                            ones: it rests 1.7 mm, and stands on an edge 3 mm, lower than they say
    cube with feet, given   the floor can touch blocks at the corners only; their size is tuned
    cube with feet, tuned   both

and for several splits of the tosses into halves. What is judged is the mean over all splits;
`spread` says how far it can be trusted.

An engine of point contacts puts the load of a face into its corners, feet or not; the volume method
spreads it over the face. What feet alone change, all else as tuned for the plain cube, is shown
beside the claims: it tells which of the two the real cube does. Tangere's signorini method, rigid
bodies with point contacts, is tuned alike and shown beside; the claims are the volume method's.

The tosses are those of ContactNets [PFROMMER2020], every fifth of the published 570. The file is
not part of tangere; `find_data` says where it is looked for.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

import tangere as tg
from tangere.errors import SceneError
from tangere.experiments import pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, INK, canvas, house_style
from tangere.experiments.toss_engines import BODY, FOOT, METHODS, Cube, Engine, Tunable, engines
from tangere.experiments.toss_error import spread
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Places: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

INTEGRATOR = "implicit"
OURS = "volume"
PLAIN, FEET = "plain", "feet"
GIVEN, TUNED = "given", "tuned"
ERRORS = (("position", "%"), ("rotation", "deg"))
FILE = "cube_tosses.npz"
COLUMNS = 13
# Errors that count as one in the search; about those of a tuned engine.
POSITION_UNIT, ROTATION_UNIT = 13.0, 16.0  # [%, deg]
OTHER_FACE = 45.0  # [deg] a larger error at the end: the cube lies on another face
SPREAD_SHARE = 0.5  # of the evaluations: points spread over what is new to a search
ELITE = 8  # the best so far, from which the search goes on; also those tried at a time
WIDEN, LEAST_SPREAD = 1.1, 0.005  # of the elite's spread: it must not shrink at once, nor vanish
SHOWN_FOOT = 0.012  # [m] of the feet that a plain cube is given with nothing else changed
FLIGHT_GAP = 2e-3  # [m] a cube whose lowest corner is higher is in flight


class Row(NamedTuple):
    """One of the cubes: its solids, and whether its size, edges and inertia are tuned."""

    body: str
    numbers: str

    def __str__(self) -> str:
        body = {PLAIN: "plain cube", FEET: "cube with feet"}[self.body]
        return f"{body}, {self.numbers}"


ROWS = tuple(Row(body, numbers) for body in (PLAIN, FEET) for numbers in (GIVEN, TUNED))
# Whose search another one goes on from: what is new is added to its best points.
BEFORE = {
    Row(PLAIN, TUNED): Row(PLAIN, GIVEN),
    Row(FEET, GIVEN): Row(PLAIN, GIVEN),
    Row(FEET, TUNED): Row(FEET, GIVEN),
}


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units.

    `data` is the folder of the measured tosses (empty: see `find_data`), `tosses` how many of them
    are used (0: all), `splits` how often they are halved. `evaluations` is how often an engine may
    simulate a tuning half, with the first cube and with each that follows. `workers` processes
    share the work.
    """

    data: str = ""
    tosses: int = 0
    splits: int = 5
    rate: float = 148.0
    substeps: int = 7
    half_width: float = 0.0524
    mass: float = 0.37
    inertia: float = 0.00081
    gravity: float = 9.81
    evaluations: tuple[int, int] = (48, 32)
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
    """An engine after its search on one split.

    Attributes:
        engine: Its name.
        values: What the search chose.
        units: Units of the values.
        objectives: Those of the tuning half, in the order tried.
        tuning: Errors of the tuning half with the chosen values.
        test: Errors of the test half.
        on_feet: Those of a plain cube when it is given feet and all else stays; None with feet.
        paths: What the engine made of the test half.
    """

    engine: str
    values: dict[str, float]
    units: dict[str, str]
    objectives: Array
    tuning: Scores
    test: Scores
    on_feet: Scores | None
    paths: list[Array]


class Split(NamedTuple):
    """Places of the tosses that tune and of those that test."""

    tuning: Places
    test: Places


@dataclass(frozen=True)
class Result:
    """The measured tosses, their splits, and per cube and engine a search on every split."""

    params: Params
    tosses: list[Array]
    splits: list[Split]
    tuned: dict[Row, dict[str, list[Tuned]]]

    def errors(self, row: Row, engine: str, what: str, on_feet: bool = False) -> Array:
        """Errors of shape (splits, tosses); NaN where a toss is not in the test half."""
        table = np.full((len(self.splits), len(self.tosses)), np.nan)
        for i, (split, t) in enumerate(zip(self.splits, self.tuned[row][engine], strict=True)):
            table[i, split.test] = getattr(t.on_feet if on_feet else t.test, what)
        return table


# ---------------------------------------------------------------- the measured tosses


def find_data(folder: str = "", file: str = FILE) -> Path | None:
    """A file of measurements, the tosses: in `folder`, or that of `TANGERE_DATA`, or nearby.

    Nearby are the folders `data` and `shared/data` of the working folder and of those above it.
    """
    given = folder or os.environ.get("TANGERE_DATA", "")
    if given:
        places = [Path(given)]
    else:
        here = Path.cwd()
        places = [up / down for up in (here, *here.parents) for down in ("data", "shared/data")]
    return next((p / file for p in places if (p / file).is_file()), None)


def missing(params: Params) -> str:
    """What keeps the experiment from running, in one line; empty when nothing does."""
    if find_data(params.data) is None:
        return (
            f"cube-toss needs {FILE}, the measured tosses of ContactNets (Pfrommer, Halm and Posa "
            "2020, BSD-3-Clause, github.com/DAIRLab/contact-nets): give its folder with --data or "
            "TANGERE_DATA; the gallery's page says how to make it"
        )
    if not _others(engine.name for engine in engines(INTEGRATOR)):
        return "cube-toss compares with MuJoCo and Bullet: install mujoco or pybullet"
    return ""


def _others(names: Iterable[str]) -> list[str]:
    """Engines that are not tangere."""
    return [name for name in names if name not in METHODS]


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


def halves(tosses: int, splits: int) -> list[Split]:
    """Splits of that many tosses, drawn with the seeds 0, 1, 2 and so on."""
    drawn = [np.random.default_rng(seed).permutation(tosses) for seed in range(splits)]
    half = (tosses + 1) // 2
    return [Split(np.sort(order[:half]), np.sort(order[half:])) for order in drawn]


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
    """Tune every engine on one half of every split, with every cube, and roll out the other."""
    p = params
    if lacking := missing(p):
        raise SceneError(lacking)
    tosses = _tosses(p)
    names = [engine.name for engine in engines(INTEGRATOR)]
    jobs = [(name, split) for name in names for split in range(p.splits)]
    table: dict[Row, dict[str, list[Tuned]]] = {row: {n: [] for n in names} for row in ROWS}
    tell(0.0, f"{len(jobs) * len(ROWS)} searches")
    for i, (name, found) in enumerate(_done(p, jobs)):
        tell((i + 1) / len(jobs), name)
        for row, tuned in found.items():
            table[row][name].append(tuned)
    return Result(p, tosses, halves(len(tosses), p.splits), table)


def _tosses(p: Params) -> list[Array]:
    path = find_data(p.data)
    assert path is not None
    tosses = load(path)
    return tosses[: p.tosses] if p.tosses else tosses


def _done(p: Params, jobs: Sequence[tuple[str, int]]) -> Iterator[tuple[str, dict[Row, Tuned]]]:
    """Each job with its outcome, in their order; in other processes if there are `workers`."""
    if p.workers < 2:
        for name, split in jobs:
            yield name, tune(p, name, split)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # "spawn": a forked child would inherit locks of threads that it has not
    with ProcessPoolExecutor(p.workers, multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(tune, p, name, split) for name, split in jobs]
        for (name, _), future in zip(jobs, running, strict=True):
            yield name, future.result()


@dataclass(frozen=True)
class Case:
    """An engine with one of the cubes."""

    params: Params
    engine: Engine
    row: Row

    @property
    def tunables(self) -> tuple[Tunable, ...]:
        """What the search may choose: numbers of the contact, then what is not given of the cube.

        What is new to a row comes last.
        """
        feet = (FOOT,) if self.row.body == FEET else ()
        return self.engine.tunables + feet + (BODY if self.row.numbers == TUNED else ())

    def values(self, point: Array) -> dict[str, float]:
        """The values at a point of the unit cube."""
        return {t.name: t.value(float(x)) for t, x in zip(self.tunables, point, strict=True)}

    def cube(self, values: Mapping[str, float]) -> Cube:
        """The cube with what was chosen of it."""
        known = self.params.cube
        return replace(
            known,
            half_width=values.get("half width", known.half_width),
            chamfer=values.get("chamfer", known.chamfer),
            inertia=values.get("inertia", known.inertia),
            foot=values.get("foot", known.foot),
        )

    def roll(
        self, point: Array, tosses: Sequence[Array], foot: float = 0.0
    ) -> tuple[Scores, list[Array]]:
        """Scores and paths of some tosses with the values at a point, on other feet if given."""
        values = self.values(point)
        cube = self.cube(values)
        try:
            paths = self.engine.roll(replace(cube, foot=foot or cube.foot), tosses, values)
        except FloatingPointError:  # too stiff for the step
            lost = np.full(len(tosses), math.inf)
            return Scores(lost, lost, lost), []
        return score(tosses, paths, 2.0 * self.params.half_width), paths

    def judge(self, tosses: Sequence[Array], point: Array) -> Scores:
        """Scores alone."""
        return self.roll(point, tosses)[0]


def tune(p: Params, name: str, split: int) -> dict[Row, Tuned]:
    """Search one engine's values on a tuning half, and roll out the test half with the best."""
    tosses = _tosses(p)
    tuning, test = ([tosses[i] for i in half] for half in halves(len(tosses), p.splits)[split])
    engine = next(e for e in engines(INTEGRATOR) if e.name == name)
    best: dict[Row, Array] = {}
    found = {}
    for row in ROWS:
        case = Case(p, engine, row)
        start = best[BEFORE[row]] if row in BEFORE else np.empty((1, 0))
        budget = p.evaluations[1 if row in BEFORE else 0]
        judge = functools.partial(case.judge, tuning)
        best[row], objectives, reached = search(judge, start, len(case.tunables), budget, split)
        scores, paths = case.roll(best[row][0], test)
        on_feet = case.roll(best[row][0], test, SHOWN_FOOT)[0] if row.body == PLAIN else None
        units = {t.name: t.unit for t in case.tunables}
        found[row] = Tuned(
            name, case.values(best[row][0]), units, objectives, reached, scores, on_feet, paths
        )
    return found


def search(
    judge: Callable[[Array], Scores],
    start: Array,
    dimensions: int,
    evaluations: int,
    seed: int,
) -> tuple[Array, Array, Scores]:
    """Best points of the unit cube, all objectives in the order tried, and the best one's scores.

    The rows of `start` are points known to be good in the first of the dimensions. They are taken
    in turn, with a Sobol sequence in the dimensions that are left; then follow normal samples about
    the weighted mean of the best few so far, with their spread along each axis.
    """
    from scipy.stats import qmc

    rng = np.random.default_rng(seed)
    first = max(1, round(SPREAD_SHARE * evaluations))
    rounds = math.ceil(math.log2(max(first, 2)))
    fresh = qmc.Sobol(dimensions - start.shape[1], seed=rng).random_base2(rounds)[:first]
    points = list(np.hstack((start[np.arange(first) % len(start)], fresh)))
    tried = [judge(point) for point in points]
    found = [s.objective for s in tried]
    while len(points) < evaluations:
        elite = np.array(points)[np.argsort(found, kind="stable")[:ELITE]]
        weight = np.linspace(1.0, 0.2, len(elite))
        mean = np.average(elite, axis=0, weights=weight)
        spread = np.sqrt(np.average((elite - mean) ** 2, axis=0, weights=weight))
        step = (WIDEN * spread + LEAST_SPREAD) * rng.standard_normal(len(mean))
        points.append(np.clip(mean + step, 0.0, 1.0))
        tried.append(judge(points[-1]))
        found.append(tried[-1].objective)
    order = np.argsort(found, kind="stable")[:ELITE]
    return np.array(points)[order], np.array(found), tried[order[0]]


# ---------------------------------------------------------------- verdicts


@dataclass(frozen=True)
class Standing:
    """Where tangere stands beside the better of the other engines.

    `difference` is the mean over all test halves of tangere's error less that engine's, toss by
    toss, `error` its standard error.
    """

    better: str
    difference: float
    error: float

    @property
    def word(self) -> str:
        """The doubt is not tangere's: ahead by more than two standard errors, behind by one."""
        if self.difference > self.error:
            return "behind"
        return "ahead" if self.difference < -2.0 * self.error else "level"


def standing(result: Result, row: Row, what: str) -> Standing:
    """Tangere beside the engine with the smallest mean error of the others."""
    tables = {name: result.errors(row, name, what) for name in _others(result.tuned[row])}
    better = min(tables, key=lambda name: float(np.nanmean(tables[name])))
    return Standing(better, *spread(result.errors(row, OURS, what) - tables[better]))


def check(result: Result) -> list[Claim]:
    """Both mean errors over all test halves against the better of the other engines."""
    claims = []
    count = len(result.splits)
    for row, tuned in result.tuned.items():
        others = _others(tuned)
        for what, unit in ERRORS:
            means = {name: spread(result.errors(row, name, what)) for name in tuned}
            s = standing(result, row, what)
            there = ", ".join(f"{n} {means[n][0]:.2f} ± {means[n][1]:.2f}" for n in others)
            claims.append(
                Claim(
                    f"{what}-{row.body}-{row.numbers}",
                    f"{row}: mean {what} error of {count} test halves not behind the better of "
                    f"{' and '.join(others)}, tuned alike",
                    f"{there} {unit}; tangere less {s.better} {s.difference:+.2f} ± {s.error:.2f} "
                    f"{unit}: {s.word}",
                    means[OURS][0],
                    unit,
                    s.word != "behind",
                )
            )
    flight = flight_error(result)
    claims.append(
        Claim(
            "flight",
            "first test half: mean rotation error at the end of the first flight below 3 deg: axes "
            "and frames are those of the measurement",
            "free flight",
            flight,
            "deg",
            flight < 3.0,
        )
    )
    return claims


def flight_error(result: Result) -> float:
    """Mean rotation error of tangere just before the first touch of the plain, given cube [deg]."""
    errors = []
    paths = result.tuned[Row(PLAIN, GIVEN)][OURS][0].paths
    for place, path in zip(result.splits[0].test, paths, strict=True):
        toss = result.tosses[place]
        i = _first_flight(toss, result.params.half_width)
        errors.append(turn_between(path[i, 3:7], toss[i, 3:7]))
    return float(np.mean(errors))


def _first_flight(toss: Array, half_width: float) -> int:
    """Last sample before the lowest corner comes near the floor."""
    reach = np.array([np.abs(rotation_of(row[3:7])[2]).sum() for row in toss])
    near = np.flatnonzero(toss[:, 2] - half_width * reach < FLIGHT_GAP)
    return max(int(near[0]) - 1, 0) if len(near) else len(toss) - 1


def beside(result: Result) -> list[Reading]:
    """Means with their standard errors, every split, other faces, and what the searches chose."""
    return [
        Reading(f"{row}, {what}", name, float(value), unit)
        for row, tuned in result.tuned.items()
        for name in tuned
        for what, value, unit in _told(result, row, name)
    ]


def _told(result: Result, row: Row, name: str) -> Iterator[tuple[str, float, str]]:
    """All that is shown of an engine with one of the cubes: what, value, unit."""
    tuned = result.tuned[row][name]
    yield "step", 1e3 * result.params.cube.dt, "ms"
    yield "evaluations of a search", len(tuned[0].objectives), ""
    for what, unit in ERRORS:
        table = result.errors(row, name, what)
        mean, error = spread(table)
        yield f"{what} error: mean of all splits", mean, unit
        yield f"{what} error: standard error", error, unit
        for i, half in enumerate(table):
            yield f"{what} error: split {i + 1}", float(np.nanmean(half)), unit
        yield f"{what} error: median toss", float(np.nanmedian(table)), unit
        if row.body == PLAIN:
            change, error = spread(result.errors(row, name, what, on_feet=True) - table)
            feet = f"{what} error: feet of {1e3 * SHOWN_FOOT:g} mm and nothing else"
            yield f"{feet} change it by", change, unit
            yield f"{feet}, standard error", error, unit
        tuning = float(np.mean([getattr(t.tuning, what).mean() for t in tuned]))
        yield f"{what} error: calibrated, mean of the tuning halves", tuning, unit
    wrong = float(np.mean([np.mean(t.test.last > OTHER_FACE) for t in tuned]))
    yield "tosses that end on another face", 100.0 * wrong, "%"
    for value, unit in tuned[0].units.items():
        chosen = [t.values[value] for t in tuned]
        yield f"calibrated {value}: least of the splits", min(chosen), unit
        yield f"calibrated {value}: largest of the splits", max(chosen), unit


# ---------------------------------------------------------------- figures


@house_style
def plot(result: Result) -> list[Figure]:
    """Both errors of all cubes and engines, the searches, and the worst tosses."""
    return [_means(result), _searches(result), _worst(result)]


def _means(result: Result) -> Figure:
    p = result.params
    figure, axes = canvas(
        f"Real tosses of a cube. Left and middle: mean error of {p.splits} test halves with its "
        "standard error; small dots are the single splits. Right: tangere less the better of the "
        "other engines, toss by toss, with its standard error, as a share of that engine's error: "
        "below zero tangere is nearer to the measurement.",
        columns=3,
        size=(11.0, 3.6),
    )
    ticks = np.arange(len(result.tuned))
    for panel, (what, unit) in zip(axes, ERRORS, strict=False):
        names = list(result.tuned[ROWS[0]])
        for k, name in enumerate(names):
            at = ticks + 0.2 * (k - 0.5 * (len(names) - 1))
            tables = [result.errors(row, name, what) for row in result.tuned]
            means, errors = zip(*map(spread, tables), strict=True)
            for x, table in zip(at, tables, strict=True):
                dots = np.nanmean(table, axis=1)
                panel.plot(np.full(len(dots), x), dots, "o", ms=2, color=COLOURS[name], alpha=0.5)
            panel.errorbar(at, means, errors, fmt="o", ms=5, color=COLOURS[name], label=name)
        panel.set_ylabel(f"{what} error [{'% of width' if unit == '%' else unit}]")
    for k, (what, _) in enumerate(ERRORS):
        found = [(row, standing(result, row, what)) for row in result.tuned]
        mean = [float(np.nanmean(result.errors(row, s.better, what))) for row, s in found]
        share = [100.0 * s.difference / m for (_, s), m in zip(found, mean, strict=True)]
        error = [100.0 * s.error / m for (_, s), m in zip(found, mean, strict=True)]
        at = ticks + 0.2 * (k - 0.5)
        axes[2].errorbar(at, share, error, fmt="os"[k], ms=5, color=COLOURS[OURS], label=what)
    axes[2].axhline(0.0, color=INK, lw=0.8)
    axes[2].set_ylabel("tangere less the better peer [%]")
    for panel in axes:
        panel.set_xticks(ticks, [f"{row.body}\n{row.numbers}" for row in ROWS])
        panel.set_xlabel("cube")
        panel.margins(y=0.3)  # room for the legend
        panel.legend(fontsize=8, ncols=2, loc="upper center")
    return figure


def _searches(result: Result) -> Figure:
    figure, axes = canvas(
        "The searches: best objective so far on the tuning half over the evaluations that every "
        "engine has, a line per split. That of the plain, given cube starts anywhere, the others "
        "from the best points of one before; the first half of each is spread over what is new.",
        columns=len(ROWS),
        size=(11.0, 2.8),
    )
    for panel, (row, engines_) in zip(axes, result.tuned.items(), strict=True):
        found = []
        for name, tuned in engines_.items():
            for t in tuned:
                reached = np.minimum.accumulate(t.objectives)
                label = name if t is tuned[0] else None
                panel.plot(
                    np.arange(1, len(reached) + 1), reached, color=COLOURS[name], lw=1, label=label
                )
                found.append(float(reached[-1]))
        panel.set_ylim(0.98 * min(found), 1.3 * max(found))
        panel.set_title(str(row), loc="left")
        panel.set_xlabel("evaluations")
    axes[0].set_ylabel("objective")
    axes[0].legend(fontsize=8)
    return figure


def _worst(result: Result) -> Figure:
    row = Row(PLAIN, TUNED)
    tuned = {name: splits[0] for name, splits in result.tuned[row].items()}
    ours, tosses = tuned[OURS], [result.tosses[i] for i in result.splits[0].test]
    worst = np.argsort(-ours.test.rotation)[:3]
    figure, axes = canvas(
        f"The tosses of the first test half with the largest rotation errors of tangere ({row}): "
        "height of the centre and angle turned since the start, measured (black) and simulated. "
        "After an impact the real cube tips over onto another face than the simulated one.",
        columns=len(worst),
        rows=2,
        size=(9.6, 4.6),
    )
    for column, i in enumerate(worst):
        upper, lower = axes[column], axes[column + len(worst)]
        paths = {"measured": tosses[i], **{n: t.paths[i] for n, t in tuned.items()}}
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
    p, ours = result.params, result.tuned[Row(PLAIN, TUNED)][OURS][0]
    i = int(np.argsort(ours.test.rotation)[len(ours.paths) // 2])
    toss, path = result.tosses[result.splits[0].test[i]], ours.paths[i]
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
    summary="a real cube is tossed: tuned on one half of the tosses, tested on the other, in "
    "several splits, beside MuJoCo and Bullet with the same body, step and search",
    params=Params(),
    quick=Params(tosses=24, splits=2, evaluations=(12, 8), workers=1),  # too few to win by
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
    missing=missing,
)
