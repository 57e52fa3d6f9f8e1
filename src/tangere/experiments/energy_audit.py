"""Energy audit: the total energy of scenes that nothing drives, over a thousand random ones.

Total energy is kinetic, of weight, of springs, and what contact and friction springs hold. At the
start it is the work that the scene can still do against its floor: kinetic energy, the weight of
every body times the height of its centre above the floor, and the energy of its springs. A scene's
rise is the most that its total energy ever exceeds an earlier value, as a share of that start:

    rise = max over s < t of (E(t) − E(s)) / E(0)

The energy is read after every step. `python -m tangere.experiments.energy_audit SEED` runs one
scene of `passive` again, tells what happened when its energy rose most, and draws it.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import tangere as tg
from tangere._jit import PACKAGE
from tangere.experiments import pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import FAINT, INK, canvas, house_style
from tangere.experiments.passive import CATEGORIES, Trial, trial
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

LIMIT = 1e-3  # largest rise that an honest step may show, share of the start
NO_RISE = 1e-12  # share of the start that is rounding; drawn at the left edge
SEEDS_PER_PROCESS = 25  # a process takes a second or two to start
TURNED = 5.0  # [deg] from which the normal of a contact is said to have turned
NOT_PARTS = ("total", "dissipated")  # fields of the energy that are no part of its sum
COLOURS = dict(zip(CATEGORIES, (*pictures.PALETTE, FAINT), strict=True))


@dataclass(frozen=True)
class Params:
    """Values of the experiment; seeds count from `first_seed`, time [s]."""

    scenes: int = 1000
    first_seed: int = 0
    seconds: float = 2.0
    integrator: str = "implicit"
    workers: int = 2


class Verdict(NamedTuple):
    """What one scene did; a scene that was lost to infinity has risen by infinity."""

    seed: int
    category: str
    rise: float
    """Share of the energy at the start."""
    step: int
    """After which the energy stood highest above an earlier value."""
    start: float
    """Energy at the start [J]."""


@dataclass(frozen=True)
class Replay:
    """A scene run again: energy over time by its parts [J], and what happened when it rose."""

    verdict: Verdict
    time: Array
    total: Array
    parts: dict[str, Array]
    jump: int
    """Step on the way to the highest rise that added most."""
    explanation: str
    frames: tuple[pictures.Frame, ...]


@dataclass(frozen=True)
class Result:
    """Verdicts in the order of their seeds, and the worst scene again."""

    params: Params
    verdicts: list[Verdict]
    worst: Replay


def run(params: Params, tell: Tell = silent) -> Result:
    """Audit all scenes in worker processes, then run the worst again and look closely."""
    verdicts: list[Verdict] = []
    for verdict in _verdicts(params):
        tell(0.98 * len(verdicts) / params.scenes, f"seed {verdict.seed}, {verdict.category}")
        verdicts.append(verdict)
    worst = max(verdicts, key=lambda verdict: verdict.rise)
    tell(0.98, f"seed {worst.seed} again")
    return Result(params, verdicts, replay(worst.seed, params))


def _verdicts(p: Params) -> Iterator[Verdict]:
    seeds = list(range(p.first_seed, p.first_seed + p.scenes))
    if p.workers == 1:
        yield from map(partial(audit, params=p), seeds)
        return
    # Fresh interpreters, not `multiprocessing`: that would run an unguarded script of the caller
    # once more in every worker.
    size = min(SEEDS_PER_PROCESS, math.ceil(p.scenes / p.workers))
    shares = [seeds[i : i + size] for i in range(0, p.scenes, size)]
    with ThreadPoolExecutor(p.workers) as pool:
        for found in pool.map(partial(_in_fresh_process, params=p), shares):
            yield from found


def _in_fresh_process(seeds: list[int], params: Params) -> list[Verdict]:
    code = "from tangere.experiments.energy_audit import answer; answer()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps({"seeds": seeds, "params": asdict(params)}),
        capture_output=True,
        text=True,
        check=False,
        cwd=PACKAGE.parent,
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no word"]
        raise RuntimeError(
            f"a process that ran the seeds {seeds[0]} to {seeds[-1]} ended with "
            f"{done.returncode}: {last[0]}"
        )
    return [Verdict(*row) for row in json.loads(done.stdout)]


def answer() -> None:
    """Judge the scenes asked for on standard input; verdicts as JSON on standard output."""
    given = json.load(sys.stdin)
    params = Params(**given["params"])
    json.dump([audit(seed, params) for seed in given["seeds"]], sys.stdout)


def audit(seed: int, params: Params) -> Verdict:
    """Run the scene of a seed and judge its energy."""
    given = trial(seed)
    energy = np.array([total for _, total in _energies(given, params)])
    return judge(given, energy, _steps(given, params))


def judge(given: Trial, energy: Array, steps: int) -> Verdict:
    """The verdict on the total energies after each step, the start first [J]."""
    start = float(energy[0])
    if len(energy) < steps + 1 or not np.isfinite(energy).all():
        lost = np.flatnonzero(~np.isfinite(energy))
        step = int(lost[0]) if len(lost) else len(energy) - 1
        return Verdict(given.seed, given.category, np.inf, step, start)
    above = energy - np.minimum.accumulate(energy)
    step = int(np.argmax(above))
    return Verdict(given.seed, given.category, float(above[step]) / start, step, start)


def _simulation(given: Trial, params: Params) -> tg.Simulation:
    return tg.Simulation(given.scene, dt=given.dt, integrator=params.integrator)


def _steps(given: Trial, params: Params) -> int:
    return round(params.seconds / given.dt)


def _energies(given: Trial, params: Params) -> Iterator[tuple[tg.Simulation, float]]:
    """The simulation and its total energy at the start and after each step, while it lives."""
    sim = _simulation(given, params)
    yield sim, sim.energy.total
    for _ in range(_steps(given, params)):
        try:
            sim.step()
        except FloatingPointError:
            return
        yield sim, sim.energy.total


# ---------------------------------------------------------------- one scene, closely


def replay(seed: int, params: Params) -> Replay:
    """The scene of a seed again, twice: to find the moment, and to look at it."""
    given = trial(seed)
    times, sums, rows = [], [], []
    for sim, total in _energies(given, params):
        times.append(sim.time)
        sums.append(total)
        rows.append(tuple(sim.energy))
    fields = sim.energy._fields
    parts = {
        name: np.array([row[i] for row in rows])
        for i, name in enumerate(fields)
        if name not in NOT_PARTS
    }
    energy = np.array(sums)
    verdict = judge(given, energy, _steps(given, params))
    jump = worst_step(energy, min(verdict.step, len(energy) - 1))
    explanation, frames = _look(given, params, jump)
    rise = "is lost to infinity" if np.isinf(verdict.rise) else f"rises by {verdict.rise:.2g}"
    steps = {name: float(part[jump] - part[jump - 1]) for name, part in parts.items()}
    changes = ", ".join(f"{name} {step:+.2g} J" for name, step in steps.items() if step)
    words = (
        f"{given.words()} {rise} of {verdict.start:.3g} J; most of it in the step to "
        f"{times[jump]:.4g} s: {changes}. {explanation}"
    )
    return Replay(verdict, np.array(times), energy, parts, jump, words, frames)


def worst_step(energy: Array, end: int) -> int:
    """The step, from the lowest energy before `end` up to `end`, that added most."""
    begin = int(np.argmin(energy[: end + 1]))
    if begin == end:
        return max(end, 1)
    return begin + 1 + int(np.argmax(np.diff(energy[begin : end + 1])))


def _look(given: Trial, params: Params, jump: int) -> tuple[str, tuple[pictures.Frame, ...]]:
    """What changed between contacts in one step, and pictures of the start, then and the end."""
    sim = _simulation(given, params)
    frames = [_frame(given, sim, "start")]
    sim.step(jump - 1)
    before = sim.contacts
    frames.append(_frame(given, sim, f"{sim.time:.3g} s, before the step"))
    try:
        sim.step()
    except FloatingPointError as lost:
        return f"The step fails: {lost}.", tuple(frames)
    after = sim.contacts
    frames.append(_frame(given, sim, f"{sim.time:.3g} s, after it"))
    words = changes_between(given.scene, before, after)
    if sim.integrator == "implicit":
        books = sim.audit
        words += (
            f" The step took {books.solves} solves in {books.passes} passes to an imbalance of "
            f"{books.residual:.1g} m/s; its books leave {books.error:.2g} J unexplained."
        )
    return words, tuple(frames)


def changes_between(scene: tg.Scene, before: NDArray[np.void], after: NDArray[np.void]) -> str:
    """In words: contacts that came, went, turned, slipped or stuck, the largest forces first."""
    old = {(int(row["body_a"]), int(row["body_b"])): row for row in before}
    new = {(int(row["body_a"]), int(row["body_b"])): row for row in after}
    told = []
    for pair in {**new, **old}:
        what = []
        was, now = old.get(pair), new.get(pair)
        if was is None or now is None:
            what.append("comes" if was is None else "goes")
        else:
            cosine = float(np.clip(was["normal"] @ now["normal"], -1.0, 1.0))
            angle = float(np.degrees(np.arccos(cosine)))
            if angle > TURNED:
                what.append(f"normal turns by {angle:.0f}°")
            if bool(was["sticking"]) != bool(now["sticking"]):
                what.append("sticks" if now["sticking"] else "slips")
        force = max(float(np.linalg.norm(row["force"])) for row in (was, now) if row is not None)
        if what:
            names = " on ".join(_name(scene, index) for index in reversed(pair))
            told.append((force, f"{names} {' and '.join(what)} ({force:.2g} N)"))
    if not told:
        return "No contact comes, goes, turns or changes its mode."
    told.sort(reverse=True)
    return "; ".join(words for _, words in told[:4]) + "."


def _name(scene: tg.Scene, index: int) -> str:
    return scene.bodies[index].name if index >= 0 else scene.floors[-1 - index].name


def _frame(given: Trial, sim: tg.Simulation, caption: str) -> pictures.Frame:
    solids = [
        solid
        for body, at, turn in zip(given.scene.bodies, sim.positions, sim.orientations, strict=True)
        for solid in pictures.solids(
            body.shape, at, turn, pictures.PALETTE[body.index % len(pictures.PALETTE)]
        )
    ]
    return pictures.Frame(tuple(solids), caption, camera=_camera(given, solids))


def _camera(given: Trial, solids: list[pictures.Solid]) -> pictures.Camera:
    """A camera that sees every body that is still about."""
    points = np.concatenate([solid.vertices for solid in solids])
    places = np.array([body.position for body in given.scene.bodies])
    middle = places.mean(axis=0)
    about = 3.0 * (1.0 + float(np.linalg.norm(places - middle, axis=1).max()))  # [m]
    near = points[np.linalg.norm(points - middle, axis=1) < about]
    low, high = near.min(axis=0, initial=0.0), near.max(axis=0, initial=0.1)
    span = 1.15 * float(np.linalg.norm(high - low))
    x, y, z = (0.5 * (low + high)).tolist()
    return pictures.Camera(elevation=22.0, centre=(x, y, z), width=span, height=span)


# ---------------------------------------------------------------- judged, told, drawn


def check(result: Result) -> list[Claim]:
    """No scene is lost, and in no category does the energy rise by more than the limit."""
    lost = sum(np.isinf(verdict.rise) for verdict in result.verdicts)
    claims = [
        Claim("finite", f"{len(result.verdicts)} random passive scenes: none lost to infinity",
              "none", float(lost), "", lost == 0)
    ]  # fmt: skip
    for category, rises in _by_category(result).items():
        worst = float(rises.max())
        claims.append(
            Claim(f"rise-{category.replace(' ', '-')}", f"{category}: total energy never rises by "
                  f"more than {100 * LIMIT:g} % of its start above any earlier value",
                  "nothing drives the scene", 100 * worst, "%", worst <= LIMIT)
        )  # fmt: skip
    return claims


def beside(result: Result) -> list[Reading]:
    """Worst, 99th percentile and median of the rise by category, the worst with its seed."""
    worst: dict[str, Verdict] = {}
    for verdict in result.verdicts:
        if verdict.category not in worst or verdict.rise > worst[verdict.category].rise:
            worst[verdict.category] = verdict
    return [
        Reading(f"rise of the energy, {what}", category, 100 * float(of(rises)), "%",
                f"worst is seed {worst[category].seed}" if what == "worst" else "")
        for what, of in (
            ("worst", np.max),
            ("99 %", lambda x: np.quantile(x, 0.99, method="higher")),
            ("median", lambda x: np.quantile(x, 0.5, method="higher")),
        )
        for category, rises in _by_category(result).items()
    ]  # fmt: skip


def _by_category(result: Result) -> dict[str, Array]:
    found: dict[str, list[float]] = {}
    for verdict in result.verdicts:
        found.setdefault(verdict.category, []).append(verdict.rise)
    return {name: np.array(found[name]) for name in CATEGORIES if name in found}


@house_style
def plot(result: Result) -> list[Figure]:
    """How far the energy rose in each scene, and the energy of the worst scene over time."""
    figure, (left, middle, right) = canvas(
        "Left: largest rise of the total energy of each scene above any earlier value, as a share "
        "of its start; rises below 1e-12 stand at the left edge, lost scenes at the right. Middle "
        f"and right: the worst scene. {result.worst.explanation}",
        columns=3,
        size=(11.0, 3.5),
    )
    by_category = _by_category(result)
    shown = [np.log10(np.clip(rises, NO_RISE, 10.0)) for rises in by_category.values()]
    left.hist(
        shown,
        bins=list(np.linspace(np.log10(NO_RISE), 1.0, 40)),
        stacked=True,
        color=[COLOURS[name] for name in by_category],
        label=list(by_category),
    )
    left.axvline(np.log10(LIMIT), color=INK, lw=1.0, ls="--")
    left.set_xlabel("log₁₀ of the largest rise / start")
    left.set_ylabel("scenes")
    left.legend(fontsize=7.5)
    worst = result.worst
    near = slice(max(worst.jump - 15, 0), worst.jump + 16)
    _draw_energy(middle, worst, slice(None))
    _draw_energy(right, worst, near)
    right.axvline(float(worst.time[worst.jump]), color=INK, lw=0.8, ls=":")
    middle.legend(fontsize=7.5)
    return [figure]


def _draw_energy(axes: Axes, worst: Replay, part: slice) -> None:
    with np.errstate(invalid="ignore"):
        limit = 1.5 * np.nanmax(np.abs(worst.total[np.isfinite(worst.total)]))
        for (name, values), colour in zip(worst.parts.items(), pictures.PALETTE, strict=False):
            if np.any(values):
                clipped = np.clip(values[part], -limit, limit)
                axes.plot(worst.time[part], clipped, color=colour, lw=1.1, label=name)
        axes.plot(worst.time[part], worst.total[part], color=INK, lw=1.6, label="total")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("energy [J]")


def strip(result: Result) -> Figure:
    """The worst scene at its start, and before and after the step that added most."""
    return draw_replay(result.worst)


def draw_replay(again: Replay) -> Figure:
    """Pictures of one scene around its worst step."""
    camera = again.frames[0].camera or pictures.Camera()
    return pictures.strip(again.frames, camera, again.explanation, panel=2.8)


EXPERIMENT = Experiment(
    name="energy-audit",
    paper="conservation of energy: what nothing drives cannot gain",
    summary="a thousand random passive scenes never gain energy",
    params=Params(),
    quick=Params(scenes=24, seconds=1.0),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)


def main(arguments: list[str]) -> None:
    """Run the scenes of the given seeds again, tell and draw each."""
    from tangere.experiments.figures import png

    for word in arguments:
        again = replay(int(word), EXPERIMENT.params)
        sys.stdout.write(f"{again.explanation}\n")
        result = Result(EXPERIMENT.params, [again.verdict], again)
        for name, figure in (("energy", plot(result)[0]), ("pictures", strip(result))):
            path = Path(f"energy-audit-{word}-{name}.png")
            path.write_bytes(png(figure))
            sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
