"""Experiment 1 of Hasegawa & Sato 2004 (Fig. 9, 10): time per step and standing of stacked blocks.

Blocks of 1 x 1 x 2 m and 1 kg lie flat on each other, 3, 6 and 13 high. The papers give the step
(5 ms) and claim that the time per step grows linearly with the blocks; stiffness, damping,
friction and duration are in neither paper and stand in `Params`.

A penalty tower has a limit of its own: a contact of width w resists tilt with k w^2/12, and 13
blocks need k > 37000 N/m to stand under their own weight (`buckling_stiffness`). At 5 ms that much
stiffness is not stable with explicit steps, so the 13-block tower stands at 1 ms, and at 5 ms it
must buckle at the predicted rate, which is the control.

With implicit steps the stiffness is free: the paper's 13 blocks at the paper's 5 ms, a tower of
100, a wall of 50 blocks and an arch of 15 stones stand for a minute. Whether a tower stands must
still be a matter of its stiffness and not of the step: below the limit it falls, above it stands.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

import tangere as tg
from tangere.experiments import peers, pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, INK, canvas, house_style
from tangere.maths.vec import Array
from tangere.scene import library

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FALLEN = 0.5  # [m] sideways way of a block from its start that counts as a fall
GROWTH = 0.93  # [1/s] predicted growth of the buckling tower: 13 blocks, k = 10000 N/m
GROWTH_RANGE = (
    2e-3,
    0.1,
)  # [m] top block's way over which growth is fitted: past the jitter, linear
SETTLE_STEPS = 60  # steps before timing: every contact is closed, caches are warm
RECORDS_PER_SECOND = 20
BESIDE = ("MuJoCo", "Bullet")  # whose towers are watched beside ours


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
    stiff_dt: float = 5e-3
    stiff_stiffness: float = 1e7
    stiff_seconds: float = 60.0
    stiff_seeds: tuple[int, ...] = (1, 2, 3, 4)
    high_count: int = 100
    high_stiffness: float = 1e8
    structure_dt: float = 2e-3
    wall_stiffness: float = 1e8
    arch_stiffness: float = 1e10
    limit_stiffness: tuple[float, float] = (2e4, 5e4)
    limit_seconds: float = 20.0
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

    def sink(self) -> float:
        """Largest way down of any block [m]."""
        return float(np.max(self.position[0, :, 2] - self.position[:, :, 2]))

    def way(self, since: float = 0.0) -> float:
        """Largest way of any block in any direction from where it was at an instant [m]."""
        late = self.position[self.time >= min(since, float(self.time[-1]))]
        return float(np.max(np.linalg.norm(late - late[0], axis=2)))

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
    other_stands: dict[str, Stand] = field(default_factory=dict)


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
        tell(0.2 * i / 6, f"{n} blocks, {method}, {seconds:g} s")
        stands[name] = _stand(p, n, method, seconds, values)
    for i, (name, sim, seconds) in enumerate(_implicit(p)):
        tell(0.2 + 0.5 * i / (5 + len(p.stiff_seeds)), f"{name}, {seconds:g} s")
        stands[name] = _watch(sim, seconds)
    step_time: dict[str, Array] = {}
    for i, method in enumerate(("volume", "point")):
        tell(0.7 + 0.1 * i, f"time per step, {method}")
        step_time[method] = _step_times(p, method)
    others: dict[str, Array] = {}
    other_heights = tuple(n for n in p.heights if n in (1, 3, 6, 9, 13))
    if p.with_peers:
        for engine in peers.installed():
            tell(0.9, f"time per step, {engine}")
            others[engine] = np.array([_peer_time(p, engine, n) for n in other_heights])
    other_stands: dict[str, Stand] = {}
    for engine in others:
        if engine in BESIDE:
            tell(0.95, f"13 blocks, {engine}, {p.stiff_seconds:g} s")
            other_stands[engine] = _peer_stand(p, engine)
    return Result(p, step_time, stands, others, other_heights, other_stands)


def _implicit(p: Params) -> Iterator[tuple[str, tg.Simulation, float]]:
    """What implicit steps are asked to hold: name, simulation at its start, duration [s]."""
    step = {"integrator": "implicit"}
    for seed in p.stiff_seeds:
        jittered = replace(p, seed=seed)
        places = _places(jittered, 13, math.inf)
        values = (p.stiff_dt, p.stiff_stiffness, None)
        yield f"stiff 13, seed {seed}", _tower(p, places, "volume", values, **step), p.stiff_seconds
    places = _places(p, p.high_count, math.inf)
    values = (p.stiff_dt, p.high_stiffness, None)
    yield "high", _tower(p, places, "volume", values, **step), p.stiff_seconds
    for stiffness, name in zip(p.limit_stiffness, ("below limit", "above limit"), strict=True):
        places = _places(p, 13, math.inf)
        values = (p.stiff_dt, stiffness, None)
        yield name, _tower(p, places, "volume", values, **step), p.limit_seconds
    for name, build, stiffness in (
        ("wall", library.wall, p.wall_stiffness),
        ("arch", library.arch, p.arch_stiffness),
    ):
        material = tg.Material(p.static_friction, p.kinetic_friction, stiffness=stiffness)
        scene = build(material=material)
        yield name, tg.Simulation(scene, dt=p.structure_dt, **step), p.stiff_seconds


def buckling_stiffness(n: int, p: Params) -> float:
    """Least contact stiffness with which a tower of n blocks stands under its weight [N/m].

    Block i of height l and width w leans by θ_i on a contact that resists tilt with κ = k w²/12,
    and lowers itself by l θ²/4 and the n − i blocks above it by l θ²/2 each:

        V = κ/2 Σ (θ_i − θ_{i−1})² − m g l/2 Σ (n − i + 1/2) θ_i² = 1/2 θᵀ (κ K − m g l C) θ

    with θ_0 = 0 of the floor. V has a minimum upright while κ exceeds m g l times the largest
    eigenvalue of K⁻¹ C: 5.70, 35.5 and 315 for n = 3, 6 and 13.
    """
    k = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    k[-1, -1] = 1.0
    c = np.diag(n - np.arange(1.0, n + 1.0) + 0.5)
    largest = float(np.linalg.eigvals(np.linalg.solve(k, c)).real.max())
    width, height = p.block[0], p.block[2]
    return 12.0 * largest * p.mass * p.gravity * height / width**2


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
    return claims + _implicit_claims(result)


def _implicit_claims(result: Result) -> list[Claim]:
    p, stands = result.params, result.stands
    seconds = f"{p.stiff_seconds:g} s"
    stiff = [stands[f"stiff 13, seed {seed}"] for seed in p.stiff_seeds]
    drift = max(float(np.max(stand.drift)) for stand in stiff)
    sink = max(stand.sink() for stand in stiff)
    # every contact carries the blocks above it: N (N + 1)/2 m g/k
    exact = 91.0 * p.mass * p.gravity / p.stiff_stiffness
    high, wall, arch = stands["high"], stands["wall"], stands["arch"]
    limit = buckling_stiffness(13, p)
    soft, firm = stands["below limit"], stands["above limit"]
    fell, held = soft.fall(), float(np.max(firm.drift))
    below, above = p.limit_stiffness
    # a column near its limit bends its first crookedness by k_c/(k − k_c)
    bent = p.jitter * limit / (above - limit)
    what = f"13 blocks, implicit 5 ms, jitter of 1 mm in {len(stiff)} ways, {seconds}"
    return [
        Claim("stiff-drift", f"{what}: drift below 0.05 mm", "stands (Fig. 9)", 1e3 * drift, "mm",
              drift < 5e-5),
        Claim("stiff-sink", f"{what}: top sinks by less than 0.2 mm",
              f"{1e3 * exact:.3f} mm by its springs", 1e3 * sink, "mm", sink < 2e-4),
        Claim("high-drift", f"{p.high_count} blocks, implicit 5 ms, {seconds}: drift below 1 mm",
              f"stands: k > {buckling_stiffness(p.high_count, p):.2g} N/m",
              1e3 * float(np.max(high.drift)), "mm", float(np.max(high.drift)) < 1e-3),
        Claim("limit-below", f"13 blocks, implicit 5 ms, k = {below:g}: falls within "
              f"{p.limit_seconds:g} s", f"buckles: needs k > {limit:.0f} N/m", fell, "s",
              fell is not None),
        Claim("limit-above", f"13 blocks, implicit 5 ms, k = {above:g}, {p.limit_seconds:g} s: "
              "drift below 10 mm", f"1 mm of jitter bends it to {1e3 * bent:.1f} mm", 1e3 * held,
              "mm", held < 1e-2),
        Claim("wall", f"wall of 50 blocks, implicit 2 ms, {seconds}: no block moves by 1 mm",
              "stands", 1e3 * wall.way(), "mm", wall.way() < 1e-3),
        Claim("arch", f"arch of 15 stones, implicit 2 ms, {seconds}: no stone moves by 1 % of the "
              "ring", "stands: 0.2 of the radius is thicker than 0.107", 1e3 * arch.way(), "mm",
              arch.way() < 8e-3),
        Claim("arch-creep", "arch: no stone moves by 0.01 mm after the first half",
              "stands", 1e3 * arch.way(0.5 * p.stiff_seconds), "mm",
              arch.way(0.5 * p.stiff_seconds) < 1e-5),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """Times of all methods and engines, and how the 13 blocks stand in other engines at 5 ms."""
    p = result.params
    rows = [
        Reading(
            f"time per step, {n} block{'s' if n > 1 else ''}",
            who,
            1e6 * float(times[heights.index(n)]),
            "µs",
        )
        for n in (1, 6, 13)
        for heights, table in (
            (p.heights, result.step_time),
            (result.other_heights, result.others),
        )
        if n in heights
        for who, times in table.items()
    ]
    stiff = {"implicit": result.stands[f"stiff 13, seed {p.stiff_seeds[0]}"], **result.other_stands}
    for who, stand in stiff.items():
        when = f"13 blocks, 5 ms, {p.stiff_seconds:g} s"
        rows.append(Reading(f"{when}: drift", who, 1e3 * float(np.max(stand.drift)), "mm"))
        rows.append(Reading(f"{when}: sink", who, 1e3 * stand.sink(), "mm"))
    return rows


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
    return [figure, _plot_implicit(result)]


def _plot_implicit(result: Result) -> Figure:
    p = result.params
    figure, (left, right) = canvas(
        "Implicit steps. Left: largest sideways way of a block of the 13-block tower at 5 ms, four "
        "jitters, beside other engines. Right: 100 blocks, and 13 blocks with contacts just too "
        "soft and just stiff enough to stand, and the largest way of a block of the wall and of a "
        "stone of the arch.",
        columns=2,
        size=(8.6, 3.4),
    )
    for seed in p.stiff_seeds:
        stand = result.stands[f"stiff 13, seed {seed}"]
        label = "implicit" if seed == p.stiff_seeds[0] else None
        _draw_drift(left, stand.time, stand.drift, COLOURS["volume"], label)
    for engine, stand in result.other_stands.items():
        _draw_drift(left, stand.time, stand.drift, COLOURS[engine], engine)
    below, above = p.limit_stiffness
    for name, colour, label in (
        ("high", COLOURS["volume"], f"{p.high_count} blocks, 5 ms"),
        ("below limit", "#a33b3b", f"13, k = {below:g}"),
        ("above limit", "#7fb285", f"13, k = {above:g}"),
    ):
        _draw_drift(right, result.stands[name].time, result.stands[name].drift, colour, label)
    for name, colour in (("wall", "#e0a458"), ("arch", "#8f7fb5")):
        stand = result.stands[name]
        way = np.linalg.norm(stand.position - stand.position[0], axis=2).max(axis=1)
        _draw_drift(right, stand.time, way, colour, f"{name}, 2 ms")
    for axes in (left, right):
        axes.set_xlabel("time [s]")
        axes.set_ylabel("drift [m]")
        axes.legend(fontsize=7.5)
    return figure


def _draw_drift(axes: Axes, time: Array, drift: Array, colour: str, label: str | None) -> None:
    axes.semilogy(time[1:], np.maximum(drift[1:], 1e-9), color=colour, lw=1.2, label=label)


def strip(result: Result) -> Figure:
    """The towers of Fig. 9, then the two that fall."""
    p = result.params
    control, point = result.stands["control"], result.stands["point"]
    fell = control.fall() or p.control_seconds
    collapsed = point.fall() or p.point_seconds
    stiff = f"stiff 13, seed {p.stiff_seeds[0]}"
    frames = []
    for name, t, label in (
        ("3", p.stand_seconds, f"3 blocks, {p.stand_seconds:g} s"),
        ("6", p.stand_seconds, f"6 blocks, {p.stand_seconds:g} s"),
        ("13", p.tall_seconds, f"13, 1 ms, {p.tall_seconds:g} s"),
        (stiff, p.stiff_seconds, f"13, implicit, {p.stiff_seconds:g} s"),
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
    shift = np.random.default_rng(p.seed).uniform(-p.jitter, p.jitter, (max(n, 13), 2))[:n]
    sunk = np.cumsum(n - np.arange(n)) * p.mass * p.gravity / stiffness
    return np.column_stack((shift, (np.arange(n) + 0.5) * p.block[2] - sunk))


def _tower(
    p: Params,
    places: Array,
    method: str,
    values: tuple[float, float, float | None],
    integrator: str = "explicit",
) -> tg.Simulation:
    """Blocks at the given centres; step, stiffness and damping, the last from the mass if None."""
    dt, stiffness, damping = values
    material = tg.Material(
        static_friction=p.static_friction,
        kinetic_friction=p.kinetic_friction,
        stiffness=stiffness,
        damping=damping,
        tangential_stiffness=0.25 * stiffness,
        tangential_damping=None if damping is None else 0.25 * damping,
    )
    scene = tg.Scene(gravity=(0.0, 0.0, -p.gravity))
    scene.add_floor(material=material)
    shape = tg.Box(p.block)
    for place in places:
        scene.add_body(shape, mass=p.mass, position=tuple(place), material=material)
    return tg.Simulation(scene, method=method, dt=dt, integrator=integrator)


def _stand(
    p: Params, n: int, method: str, seconds: float, values: tuple[float, float, float]
) -> Stand:
    return _watch(_tower(p, _places(p, n, values[1]), method, values), seconds)


def _watch(sim: tg.Simulation, seconds: float) -> Stand:
    every = round(1.0 / (RECORDS_PER_SECOND * sim.dt))
    count = round(seconds * RECORDS_PER_SECOND) + 1
    n = len(sim.positions)
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
    return _seen(instant, position, orientation, kinetic)


def _seen(instant: Array, position: Array, orientation: Array, kinetic: Array) -> Stand:
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
    sims = [_tower(p, _places(p, n, values[1]), method, values) for n in p.heights]
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
    return peers.run(engine, _boxes(p, n, steps=200, every=p.steps_per_round)).step_time


def _peer_stand(p: Params, engine: str) -> Stand:
    """The first of the stiff towers in another engine, at the same step for the same time."""
    every = round(1.0 / (RECORDS_PER_SECOND * p.stiff_dt))
    steps = round(p.stiff_seconds / p.stiff_dt)
    jittered = replace(p, seed=p.stiff_seeds[0], dt=p.stiff_dt)
    motion = peers.run(engine, _boxes(jittered, 13, steps=steps, every=every))
    kinetic = 0.5 * p.mass * np.sum(motion.velocity**2, axis=(1, 2))
    return _seen(motion.time, motion.position, motion.orientation, kinetic)


def _boxes(p: Params, n: int, steps: int, every: int) -> peers.Boxes:
    boxes = tuple(
        peers.Box(p.block, p.mass, (float(x), float(y), float(z)))
        for x, y, z in _places(p, n, math.inf)
    )
    return peers.Boxes(boxes, (0.0, 0.0, -p.gravity), p.kinetic_friction, p.dt, steps, every)


EXPERIMENT = Experiment(
    name="block-tower",
    paper="Hasegawa & Sato 2004, section 5.2, Fig. 9-10; Hasegawa et al. 2003, experiment 1",
    summary="stacked blocks: time per step grows linearly, towers stand where theory lets them",
    params=Params(),
    quick=Params(
        stand_seconds=4.0,
        tall_seconds=1.0,
        rounds=10,
        stiff_seconds=2.0,
        stiff_seeds=(1,),
        with_peers=False,
    ),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
