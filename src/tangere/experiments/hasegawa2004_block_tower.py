"""Experiment 1 of Hasegawa & Sato 2004 (Fig. 9, 10): time per step and standing of stacked blocks.

Blocks of 1 x 1 x 2 m and 1 kg lie flat on each other, 3, 6 and 13 high. The papers give the step
(5 ms) and claim that the time per step grows linearly with the blocks; stiffness, damping,
friction and duration are in neither paper and stand in `Params`.

A penalty tower has a limit of its own: a contact of width w resists tilt with k w^2/12, and 13
blocks need k > 37000 N/m to stand under their own weight. At 5 ms that much stiffness is not
stable, so the 13-block tower stands at 1 ms, and at 5 ms it must buckle at the predicted rate,
which is the control.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

import tangere as tg
from tangere.experiments import peers, pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, INK, canvas, house_style
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FALLEN = 0.5  # [m] sideways way of a block from its start that counts as a fall
GROWTH = 0.93  # [1/s] predicted growth of the buckling tower: 13 blocks, k = 10000 N/m
GROWTH_RANGE = (
    2e-3,
    0.1,
)  # [m] top block's way over which growth is fitted: past the jitter, linear
SETTLE_STEPS = 60  # steps before timing: every contact is closed, caches are warm
RECORDS_PER_SECOND = 20


@dataclass(frozen=True)
class Params:
    """Values of the experiment; lengths [m], times [s], stiffness [N/m], damping [N s/m]."""

    block: tuple[float, float, float] = (1.0, 2.0, 1.0)
    mass: float = 1.0
    gravity: float = 9.8
    jitter: float = 1e-3
    seed: int = 2004
    static_friction: float = 0.6
    kinetic_friction: float = 0.5
    heights: tuple[int, ...] = tuple(range(1, 14))
    dt: float = 5e-3
    stiffness: float = 1e4
    damping: float = 30.0
    stand_seconds: float = 10.0
    tall_dt: float = 1e-3
    tall_stiffness: float = 1e5
    tall_damping: float = 100.0
    tall_seconds: float = 4.0
    control_seconds: float = 12.0
    point_stiffness: float = 4e3
    point_damping: float = 10.0
    point_seconds: float = 5.0
    rounds: int = 40
    steps_per_round: int = 8
    attempts: int = 4
    with_peers: bool = True


@dataclass(frozen=True)
class Stand:
    """One tower over time: poses, and per instant the largest drift [m], tilt [rad], energy [J]."""

    time: Array
    position: Array
    orientation: Array
    drift: Array
    tilt: Array
    kinetic: Array

    def fall(self) -> float | None:
        """First instant at which a block has left its place by `FALLEN` [s]."""
        gone = np.flatnonzero(~(self.drift <= FALLEN))
        return float(self.time[gone[0]]) if len(gone) else None

    def growth(self) -> float | None:
        """Growth rate of the top block's way while the tower buckles [1/s]."""
        way = np.linalg.norm(self.position[:, -1, :2] - self.position[0, -1, :2], axis=1)
        start = np.flatnonzero(way > GROWTH_RANGE[0])
        stop = np.flatnonzero(way > GROWTH_RANGE[1])
        if not len(start) or not len(stop) or stop[0] - start[0] < 4:
            return None
        part = slice(int(start[0]), int(stop[0]))
        return float(np.polyfit(self.time[part], np.log(way[part]), 1)[0])


@dataclass(frozen=True)
class Result:
    """Times per step by method [s], one per tower height, and the towers by name."""

    params: Params
    step_time: dict[str, Array]
    stands: dict[str, Stand]
    others: dict[str, Array] = field(default_factory=dict)
    other_heights: tuple[int, ...] = ()


def run(params: Params, tell: Tell = silent) -> Result:
    """Time and watch all towers."""
    p = params
    stands: dict[str, Stand] = {}
    soft = (p.dt, p.stiffness, p.damping)
    tall = (p.tall_dt, p.tall_stiffness, p.tall_damping)
    softest = (p.dt, p.point_stiffness, p.point_damping)
    for i, (name, n, method, seconds, values) in enumerate(
        (
            ("3", 3, "volume", p.stand_seconds, soft),
            ("6", 6, "volume", p.stand_seconds, soft),
            ("13", 13, "volume", p.tall_seconds, tall),
            ("control", 13, "volume", p.control_seconds, soft),
            ("point", 13, "point", p.point_seconds, softest),
            ("point, same", 13, "point", 1.0, tall),
        )
    ):
        tell(0.5 * i / 6, f"{n} blocks, {method}, {seconds:g} s")
        stands[name] = _stand(p, n, method, seconds, values)
    step_time: dict[str, Array] = {}
    for i, method in enumerate(("volume", "point")):
        tell(0.5 + 0.2 * i, f"time per step, {method}")
        step_time[method] = _step_times(p, method)
    others: dict[str, Array] = {}
    other_heights = tuple(n for n in p.heights if n in (1, 3, 6, 9, 13))
    if p.with_peers:
        for engine in peers.installed():
            tell(0.95, f"time per step, {engine}")
            others[engine] = np.array([_peer_time(p, engine, n) for n in other_heights])
    return Result(p, step_time, stands, others, other_heights)


def check(result: Result) -> list[Claim]:
    """The papers' statements on time, and the standing of the towers."""
    p, stands = result.params, result.stands
    heights = np.asarray(p.heights, float)
    times = result.step_time["volume"]
    _, _, r2 = line_fit(heights, times)
    ratio = float(times[p.heights.index(13)] / times[p.heights.index(6)])
    claims = [
        Claim("linear", "time per step fits a + b N for N = 1 to 13: R² > 0.98",
              "linear in blocks (Fig. 10)", r2, "", r2 > 0.98),
        Claim("ratio", "time of 13 blocks over time of 6 below 2.6",
              "linear in blocks (Fig. 10)", ratio, "", ratio < 2.6),
    ]  # fmt: skip
    for n in ("3", "6"):
        stand = stands[n]
        drift, tilt = float(np.max(stand.drift)), float(np.max(stand.tilt))
        late = stand.time >= min(2.0, float(stand.time[-1]))  # a run cut short still has an end
        kinetic = float(np.max(stand.kinetic[late]))
        for key, text, measured, unit, good in (
            ("drift", "drift below 5 mm", 1e3 * drift, "mm", drift < 5e-3),
            ("tilt", "tilt below 0.01 rad", tilt, "rad", tilt < 1e-2),
            ("energy", "kinetic energy below 0.1 mJ after 2 s", 1e3 * kinetic, "mJ",
             kinetic < 1e-4),
        ):  # fmt: skip
            claims.append(
                Claim(f"{n}-{key}", f"{n} blocks, 5 ms, {p.stand_seconds:g} s: {text}",
                      "stands (Fig. 9)", measured, unit, good)
            )  # fmt: skip
    tall = float(np.max(stands["13"].drift))
    control = stands["control"]
    fell, growth = control.fall(), control.growth()
    point, same = stands["point"].fall(), stands["point, same"].fall()
    claims += [
        Claim("13-drift", f"13 blocks, 1 ms, {p.tall_seconds:g} s: drift below 1 mm",
              "stands (Fig. 9)", 1e3 * tall, "mm", tall < 1e-3),
        Claim("control-falls", "control, 13 blocks at 5 ms and k = 10000: falls between 6 and 12 s",
              "buckles: needs k > 37000 N/m", fell, "s", fell is not None and 6.0 <= fell <= 12.0),
        Claim("control-growth", "control: sideways motion grows at 0.93 ± 0.15 /s",
              "0.93 /s (eigenvalue)", growth, "1/s",
              growth is not None and abs(growth - GROWTH) < 0.15),
        Claim("point-falls", "point method, 13 blocks, 5 ms, soft enough for it: falls within 5 s",
              "collapses at 1.8 s", point, "s", point is not None and point <= 5.0),
        Claim("point-same", "point method, 13 blocks, values with which the volume method stands: "
              "falls", "not stable", same, "s", same is not None),
    ]  # fmt: skip
    return claims


def beside(result: Result) -> list[Reading]:
    """Times of all methods and engines for one, six and 13 blocks."""
    return [
        Reading(
            f"time per step, {n} block{'s' if n > 1 else ''}",
            who,
            1e6 * float(times[heights.index(n)]),
            "µs",
        )
        for n in (1, 6, 13)
        for heights, table in (
            (result.params.heights, result.step_time),
            (result.other_heights, result.others),
        )
        if n in heights
        for who, times in table.items()
    ]


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 10: time per step over the number of blocks; and how the control buckles."""
    p = result.params
    figure, (left, middle, right) = canvas(
        "Left: time per step over the number of blocks (Hasegawa & Sato 2004, Fig. 10) with the "
        "straight line through the volume method. Middle: the same beside other engines. Right: "
        "largest sideways way of a block; the 13-block tower with too soft contacts buckles at the "
        "predicted rate.",
        columns=3,
        size=(11.0, 3.5),
    )
    heights = np.asarray(p.heights, float)
    for method in ("volume", "point"):
        for axes, style in ((left, "o"), (middle, "o-")):
            axes.plot(
                heights, 1e6 * result.step_time[method], style, ms=4, lw=1,
                color=COLOURS[method], label=method,
            )  # fmt: skip
    a, b, r2 = line_fit(heights, result.step_time["volume"])
    left.plot(
        heights, 1e6 * (a + b * heights), color=COLOURS["volume"], lw=1,
        label=f"{1e6 * a:.2f} + {1e6 * b:.2f} N,  R² = {r2:.4f}",
    )  # fmt: skip
    left.set_ylim(bottom=0.0)
    for engine, times in result.others.items():
        middle.plot(
            result.other_heights, 1e6 * times, "o--", ms=3, lw=1,
            color=COLOURS[engine], label=engine,
        )  # fmt: skip
    middle.set_yscale("log")
    for axes in (left, middle):
        axes.set_xlabel("number of blocks N")
        axes.set_xticks([1, 3, 6, 9, 13])
        axes.set_ylabel("time per step [µs]")
        axes.legend()
    for name, colour, label in (
        ("3", "#9fb7c9", "3 blocks, 5 ms"),
        ("6", "#6d9abc", "6 blocks, 5 ms"),
        ("13", COLOURS["volume"], "13, 1 ms, k = 1e5"),
        ("control", "#a33b3b", "13, 5 ms, k = 1e4"),
        ("point", COLOURS["point"], "13, point method"),
    ):
        stand = result.stands[name]
        right.semilogy(stand.time[1:], np.maximum(stand.drift[1:], 1e-6), color=colour, label=label)
    control = result.stands["control"]
    t = np.linspace(3.0, 7.0, 2)
    level = 2.5 * float(np.interp(t[0], control.time, control.drift))
    right.semilogy(t, level * np.exp(GROWTH * (t - t[0])), ":", color=INK, label="exp(0.93 t)")
    right.set_ylim(1e-6, 3e4)
    right.set_yticks([1e-6, 1e-4, 1e-2, 1.0])
    right.set_xlabel("time [s]")
    right.set_ylabel("drift [m]")
    right.legend(fontsize=7.5, ncols=2, loc="upper left")
    return [figure]


def strip(result: Result) -> Figure:
    """The towers of Fig. 9, then the two that fall."""
    p = result.params
    control, point = result.stands["control"], result.stands["point"]
    fell = control.fall() or p.control_seconds
    collapsed = point.fall() or p.point_seconds
    frames = []
    for name, t, label in (
        ("3", p.stand_seconds, f"3 blocks, {p.stand_seconds:g} s"),
        ("6", p.stand_seconds, f"6 blocks, {p.stand_seconds:g} s"),
        ("13", p.tall_seconds, f"13, 1 ms, {p.tall_seconds:g} s"),
        ("control", fell, f"13, too soft, {fell:.1f} s"),
        ("control", fell + 1.9, f"13, too soft, {fell + 1.9:.1f} s"),
        ("point", collapsed + 0.5, f"13, point, {collapsed + 0.5:.1f} s"),
    ):
        stand = result.stands[name]
        i = int(np.argmin(np.abs(stand.time - t)))
        shape = tg.Box(p.block)
        solids = [
            solid
            for k in range(stand.position.shape[1])
            for solid in pictures.solids(
                shape,
                stand.position[i, k],
                stand.orientation[i, k],
                pictures.PALETTE[k % len(pictures.PALETTE)],
            )
        ]
        frames.append(pictures.Frame(tuple(solids), label))
    camera = pictures.Camera(
        azimuth=-50.0, elevation=14.0, centre=(0.0, 0.0, 6.2), width=8.6, height=15.0
    )
    return pictures.strip(frames, camera, "Stacked blocks of 1 x 1 x 2 m.", panel=1.5)


def line_fit(x: Array, y: Array) -> tuple[float, float, float]:
    """Intercept a, slope b and R² of the least-squares line y = a + b x."""
    b, a = np.polyfit(x, y, 1)
    rest = y - (a + b * x)
    spread = y - np.mean(y)
    return float(a), float(b), 1.0 - float(rest @ rest) / float(spread @ spread)


def _places(p: Params, n: int, stiffness: float) -> Array:
    """Centres of n blocks on each other at rest depth, each shifted sideways by the jitter [m].

    Contact j carries n - j blocks. From there the tower has nothing to do but stand; put down
    without depth, six blocks would still bounce after 2 s: their slowest mode loses 0.87 /s.
    """
    shift = np.random.default_rng(p.seed).uniform(-p.jitter, p.jitter, (13, 2))[:n]
    sunk = np.cumsum(n - np.arange(n)) * p.mass * p.gravity / stiffness
    return np.column_stack((shift, (np.arange(n) + 0.5) * p.block[2] - sunk))


def _tower(p: Params, n: int, method: str, values: tuple[float, float, float]) -> tg.Simulation:
    dt, stiffness, damping = values
    material = tg.Material(
        static_friction=p.static_friction,
        kinetic_friction=p.kinetic_friction,
        stiffness=stiffness,
        damping=damping,
        tangential_stiffness=0.25 * stiffness,
        tangential_damping=0.25 * damping,
    )
    scene = tg.Scene(gravity=(0.0, 0.0, -p.gravity))
    scene.add_floor(material=material)
    shape = tg.Box(p.block)
    for place in _places(p, n, stiffness):
        scene.add_body(shape, mass=p.mass, position=tuple(place), material=material)
    return tg.Simulation(scene, method=method, dt=dt)


def _stand(
    p: Params, n: int, method: str, seconds: float, values: tuple[float, float, float]
) -> Stand:
    sim = _tower(p, n, method, values)
    every = round(1.0 / (RECORDS_PER_SECOND * values[0]))
    count = round(seconds * RECORDS_PER_SECOND) + 1
    position = np.empty((count, n, 3))
    orientation = np.empty((count, n, 4))
    kinetic = np.empty(count)
    instant = np.empty(count)
    for i in range(count):
        if i:
            sim.step(every)
        position[i] = sim.positions
        orientation[i] = sim.orientations
        kinetic[i] = sim.energy.kinetic
        instant[i] = sim.time
    way = np.linalg.norm(position[:, :, :2] - position[0, :, :2], axis=2)
    # angle between a block's own vertical and the world's
    x, y = orientation[:, :, 1], orientation[:, :, 2]
    tilt = np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0))
    return Stand(instant, position, orientation, way.max(axis=1), tilt.max(axis=1), kinetic)


def _step_times(p: Params, method: str) -> Array:
    """Best time per step of each tower height [s].

    All heights are timed in turn, round after round, and the smallest time of each counts: whatever
    else the machine does can only add to a time. While the line does not fit yet, more rounds
    follow; they can only bring each time nearer to its true value.
    """
    # every height stands long enough with these; the point method needs softer contacts for that
    values = (p.tall_dt, p.tall_stiffness, p.tall_damping)
    if method == "point":
        values = (p.tall_dt, p.stiffness, p.damping)
    sims = [_tower(p, n, method, values) for n in p.heights]
    for sim in sims:
        sim.step(SETTLE_STEPS)
    best = np.full(len(sims), math.inf)
    for _ in range(p.attempts):
        for _ in range(p.rounds):
            for i, sim in enumerate(sims):
                start = time.perf_counter()
                sim.step(p.steps_per_round)
                best[i] = min(best[i], (time.perf_counter() - start) / p.steps_per_round)
        if line_fit(np.asarray(p.heights, float), best)[2] > 0.995:
            break
    return best


def _peer_time(p: Params, engine: str, n: int) -> float:
    boxes = tuple(
        peers.Box(p.block, p.mass, (float(x), float(y), float(z)))
        for x, y, z in _places(p, n, math.inf)
    )
    scene = peers.Boxes(
        boxes, (0.0, 0.0, -p.gravity), p.kinetic_friction, p.dt, steps=200, every=p.steps_per_round
    )
    return peers.run(engine, scene).step_time


EXPERIMENT = Experiment(
    name="block-tower",
    paper="Hasegawa & Sato 2004, section 5.2, Fig. 9-10; Hasegawa et al. 2003, experiment 1",
    summary="stacked blocks: time per step grows linearly, towers stand where theory lets them",
    params=Params(),
    quick=Params(stand_seconds=4.0, tall_seconds=1.0, rounds=10, with_peers=False),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
