"""Experiment 1 of Hasegawa & Sato 2004 (Fig. 9, 10): time per step and standing of stacked blocks.

Blocks of 1 x 1 x 2 m and 1 kg lie flat on each other, 3, 6 and 13 high. The papers give the step
(5 ms) and claim that the time per step grows linearly with the blocks; stiffness, damping,
friction and duration are in neither paper and stand in `Params`.

A penalty tower has a limit of its own: a contact of width w resists tilt with k w^2/12, and 13
blocks need k > 37000 N/m to stand under their own weight (`buckling_stiffness`). At 5 ms that much
stiffness is not stable with explicit steps, so the 13-block tower stands at 1 ms, and at 5 ms it
must buckle, at the rate of the linearised tower (`linearised`): that is the control.

The point method is given the same blocks, stiffness and step as the volume method. All of its
towers burst within a second: while a step lasts only one corner of a block is held. So it is the
step that it cannot take; at a quarter of it, its 13 blocks stand as well.

With implicit steps the stiffness is free: the paper's 13 blocks at the paper's 5 ms, a tower of
100, a wall of 50 blocks and an arch of 15 stones stand for a minute. Whether a tower stands must
still be a matter of its stiffness and not of the step: below the limit it falls, above it stands.

The signorini method has no stiffness at all. Its 13 blocks at 5 ms must stand without overlap.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

import tangere as tg
from tangere.experiments import peers, pictures
from tangere.experiments.buckling import (
    SHEAR,
    buckling_stiffness,
    linearised,
)
from tangere.experiments.experiment import Claim, Experiment, PeerParams, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, INK, canvas, house_style
from tangere.experiments.standing import RECORDS_PER_SECOND, Stand, seen, watch
from tangere.maths.vec import Array
from tangere.scene import library

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BATCHES = 5  # of the rounds of timing, each with a straight line of its own: their spread
SETTLE_STEPS = 60  # steps before timing: every contact is closed, caches are warm
PEER_STEPS = 8  # of another engine timed together
BESIDE = ("MuJoCo", "Bullet")  # whose towers are watched beside ours
# Towers of 13 at 5 ms of which the deepest contact of every step is looked at, by who holds them
STIFF = {"implicit": "stiff 13", "signorini": "signorini 13"}


@dataclass(frozen=True)
class Params(PeerParams):
    """Values of the experiment; lengths [m], times [s], stiffness [N/m], damping [N s/m]."""

    block: tuple[float, float, float] = (1.0, 2.0, 1.0)
    mass: float = 1.0
    gravity: float = 9.8
    jitter: float = 1e-3
    seeds: tuple[int, ...] = (1, 2, 3, 4)
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
    point_dt: float = 2.5e-4
    rounds: int = 200
    steps_per_round: int = 32
    stiff_dt: float = 5e-3
    stiff_stiffness: float = 1e7
    stiff_seconds: float = 60.0
    high_count: int = 100
    high_stiffness: float = 1e8
    structure_dt: float = 2e-3
    wall_stiffness: float = 1e8
    arch_stiffness: float = 1e10
    limit_stiffness: tuple[float, float] = (2e4, 5e4)
    limit_seconds: float = 20.0


@dataclass(frozen=True)
class Result:
    """Times per step by method [s], of shape (rounds, heights), and the towers by name.

    Of a tower there is one per seed, of the wall and of the arch one.
    """

    params: Params
    step_time: dict[str, Array]
    stands: dict[str, list[Stand]]
    others: dict[str, Array] = field(default_factory=dict)
    other_heights: tuple[int, ...] = ()
    other_stands: dict[str, list[Stand]] = field(default_factory=dict)

    def drifts(self, name: str) -> list[float]:
        """Largest drift of each of the towers of that name [m]."""
        return [float(np.max(stand.drift)) for stand in self.stands[name]]

    def falls(self, name: str) -> list[float]:
        """When each of the towers of that name fell; infinite for one that stands [s]."""
        fell = [stand.fall() for stand in self.stands[name]]
        return [math.inf if t is None else t for t in fell]

    def growths(self) -> list[float]:
        """Growth rate of each control; NaN for one that did not buckle [1/s]."""
        p = self.params
        _, shape = linearised(13, p, p.stiffness, p.damping)
        found = [stand.growth(shape) for stand in self.stands["control"]]
        return [math.nan if rate is None else rate for rate in found]


def run(params: Params, tell: Tell = silent) -> Result:
    """Time and watch all towers."""
    p = params
    stands: dict[str, list[Stand]] = {}
    soft = (p.dt, p.stiffness, p.damping)
    tall = (p.tall_dt, p.tall_stiffness, p.tall_damping)
    fine = (p.point_dt, p.tall_stiffness, p.tall_damping)
    towers = (
        ("3", 3, "volume", p.stand_seconds, soft),
        ("6", 6, "volume", p.stand_seconds, soft),
        ("13", 13, "volume", p.tall_seconds, tall),
        ("control", 13, "volume", p.control_seconds, soft),
        ("point 3", 3, "point", 1.0, soft),
        ("point 6", 6, "point", 1.0, soft),
        ("point 13", 13, "point", 1.0, tall),
        ("fine point 13", 13, "point", p.tall_seconds, fine),
    )
    for i, (name, n, method, seconds, values) in enumerate(towers):
        tell(0.2 * i / len(towers), f"{n} blocks, {method}, {seconds:g} s")
        stands[name] = [
            watch(_tower(p, _places(p, n, values[1], seed), method, values), seconds)
            for seed in p.seeds
        ]
    for i, (name, sim, seconds) in enumerate(_implicit(p)):
        tell(0.2 + 0.5 * i / (2 + 5 * len(p.seeds)), f"{name}, {seconds:g} s")
        stand = watch(sim, seconds, each_step=name in STIFF.values())
        stands.setdefault(name, []).append(stand)
    tell(0.7, "time per step")
    step_time = _step_times(p)
    others: dict[str, Array] = {}
    other_heights = tuple(n for n in p.heights if n in (1, 3, 6, 9, 13))
    if p.with_peers:
        for engine in peers.installed():
            tell(0.8, f"time per step, {engine}")
            others[engine] = np.array([_peer_time(p, engine, n) for n in other_heights])
    other_stands: dict[str, list[Stand]] = {}
    for engine in others:
        if engine in BESIDE:
            tell(0.9, f"13 blocks, {engine}, {p.stiff_seconds:g} s")
            other_stands[engine] = [_peer_stand(p, engine, seed) for seed in p.seeds]
    return Result(p, step_time, stands, others, other_heights, other_stands)


def _implicit(p: Params) -> Iterator[tuple[str, tg.Simulation, float]]:
    """What implicit steps, and signorini's, must hold: name, simulation at its start, time [s]."""
    step = {"integrator": "implicit"}
    below, above = p.limit_stiffness
    for seed in p.seeds:
        for name, n, stiffness, seconds in (
            ("stiff 13", 13, p.stiff_stiffness, p.stiff_seconds),
            ("high", p.high_count, p.high_stiffness, p.stiff_seconds),
            ("below limit", 13, below, p.limit_seconds),
            ("above limit", 13, above, p.limit_seconds),
        ):
            places = _places(p, n, math.inf, seed)
            values = (p.stiff_dt, stiffness, None)
            yield name, _tower(p, places, "volume", values, **step), seconds
        rigid = _tower(
            p, _places(p, 13, math.inf, seed), "signorini", (p.stiff_dt, None, None), None
        )
        yield STIFF["signorini"], rigid, p.stiff_seconds
    for name, build, stiffness in (
        ("wall", library.wall, p.wall_stiffness),
        ("arch", library.arch, p.arch_stiffness),
    ):
        material = tg.Material(p.static_friction, p.kinetic_friction, stiffness=stiffness)
        scene = build(material=material)
        yield name, tg.Simulation(scene, dt=p.structure_dt, **step), p.stiff_seconds


def check(result: Result) -> list[Claim]:
    """The papers' statements on time, and the standing of the towers."""
    p, stands = result.params, result.stands
    r2 = straightness(p, result.step_time["volume"])
    six, thirteen = p.heights.index(6), p.heights.index(13)
    times = result.step_time["volume"]
    ratio = float(np.median(times[:, thirteen] / times[:, six]))
    jitters = f"{len(p.seeds)} jitters"
    claims = [
        Claim("linear", f"median time per step of {p.rounds} rounds fits a + b N for N = 1 to 13: "
              "R² > 0.98", "linear in blocks (Fig. 10)", r2, "", r2 > 0.98),
        Claim("ratio", "time of 13 blocks over time of 6 in the same round, median: below 2.6",
              "linear in blocks (Fig. 10)", ratio, "", ratio < 2.6),
    ]  # fmt: skip
    for n in ("3", "6"):
        drift = max(result.drifts(n))
        tilt = max(float(np.max(stand.tilt)) for stand in stands[n])
        # after 2 s; a run cut short still has an end
        kinetic = max(
            float(np.max(stand.kinetic[stand.time >= min(2.0, float(stand.time[-1]))]))
            for stand in stands[n]
        )
        for key, text, measured, unit, good in (
            ("drift", "drift below 5 mm", 1e3 * drift, "mm", drift < 5e-3),
            ("tilt", "tilt below 0.01 rad", tilt, "rad", tilt < 1e-2),
            ("energy", "kinetic energy below 0.1 mJ after 2 s", 1e3 * kinetic, "mJ",
             kinetic < 1e-4),
        ):  # fmt: skip
            claims.append(
                Claim(f"{n}-{key}", f"{n} blocks, 5 ms, {p.stand_seconds:g} s, each of {jitters}: "
                      f"{text}", "stands (Fig. 9)", measured, unit, good)
            )  # fmt: skip
    tall, fine = max(result.drifts("13")), max(result.drifts("fine point 13"))
    fell, growth = result.falls("control"), result.growths()
    burst = [t for n in ("3", "6", "13") for t in result.falls(f"point {n}")]
    rate, _ = linearised(13, p, p.stiffness, p.damping)
    astray = max(growth, key=lambda g: math.inf if math.isnan(g) else abs(g - rate))
    claims += [
        Claim("13-drift", f"13 blocks, 1 ms, {p.tall_seconds:g} s, each of {jitters}: drift below "
              "1 mm", "stands (Fig. 9)", 1e3 * tall, "mm", tall < 1e-3),
        Claim("control-falls", "control, 13 blocks at 5 ms and k = 10000: falls between 6 and 12 s "
              f"in each of {jitters}; the last", "buckles: needs k > 37000 N/m",
              _finite(max(fell)), "s", min(fell) >= 6.0 and max(fell) <= 12.0),
        Claim("control-growth", f"control: sideways motion grows at {rate:.3f} /s within 2 % in "
              f"each of {jitters}; the farthest from it",
              f"{rate:.4f} /s (eigenvalue of the linearised tower)", astray, "1/s",
              abs(astray - rate) < 0.02 * rate),
        Claim("point-falls", "point method, 3, 6 and 13 blocks, same blocks, stiffness and step as "
              f"the volume method: falls within 1 s in each of {jitters}; the last", "not stable",
              _finite(max(burst)), "s", max(burst) <= 1.0),
        Claim("point-fine", f"point method, the same 13 blocks at {1e3 * p.point_dt:g} ms instead "
              f"of {1e3 * p.tall_dt:g}: stands too, drift below 5 mm in each of {jitters}",
              "the step is what it cannot take", 1e3 * fine, "mm", fine < 5e-3),
    ]  # fmt: skip
    return claims + _implicit_claims(result) + _signorini_claims(result)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def straightness(p: Params, times: Array) -> float:
    """R² of the straight line through the median times of some rounds."""
    return line_fit(np.asarray(p.heights, float), np.median(times, axis=0))[2]


def _implicit_claims(result: Result) -> list[Claim]:
    p, stands = result.params, result.stands
    seconds = f"{p.stiff_seconds:g} s"
    drift = max(result.drifts("stiff 13"))
    sink = max(stand.sink() for stand in stands["stiff 13"])
    # every contact carries the blocks above it: N (N + 1)/2 m g/k
    exact = 91.0 * p.mass * p.gravity / p.stiff_stiffness
    loads = p.mass * p.gravity * np.arange(13.0, 0.0, -1.0)
    depth = max(
        float(np.max(np.abs(p.stiff_stiffness * stand.depths() / loads - 1.0)))
        for stand in stands["stiff 13"]
    )
    high, (wall,), (arch,) = max(result.drifts("high")), stands["wall"], stands["arch"]
    limit = buckling_stiffness(13, p)
    fell, held = max(result.falls("below limit")), max(result.drifts("above limit"))
    below, above = p.limit_stiffness
    # a column near its limit bends its first crookedness by k_c/(k − k_c)
    bent = p.jitter * limit / (above - limit)
    jitters = f"each of {len(p.seeds)} jitters"
    what = f"13 blocks, implicit 5 ms, {seconds}, {jitters}"
    return [
        Claim("stiff-drift", f"{what}: drift below 0.05 mm", "stands (Fig. 9)", 1e3 * drift, "mm",
              drift < 5e-5),
        Claim("stiff-sink", f"{what}: top sinks by less than 0.2 mm",
              f"{1e3 * exact:.3f} mm by its springs", 1e3 * sink, "mm", sink < 2e-4),
        Claim("rest-depth", f"{what}: every block rests within 2 % of the depth of its springs",
              "load over stiffness", 100 * depth, "%", depth < 0.02),
        Claim("high-drift", f"{p.high_count} blocks, implicit 5 ms, {seconds}, {jitters}: drift "
              "below 1 mm",
              f"stands: k > {buckling_stiffness(p.high_count, p):.2g} N/m",
              1e3 * high, "mm", high < 1e-3),
        Claim("limit-below", f"13 blocks, implicit 5 ms, k = {below:g}: falls within "
              f"{p.limit_seconds:g} s in {jitters}; the last",
              f"buckles: needs k > {limit:.0f} N/m", _finite(fell), "s", math.isfinite(fell)),
        Claim("limit-above", f"13 blocks, implicit 5 ms, k = {above:g}, {p.limit_seconds:g} s, "
              f"{jitters}: drift below 10 mm", f"1 mm of jitter bends it to {1e3 * bent:.1f} mm",
              1e3 * held, "mm", held < 1e-2),
        Claim("wall", f"wall of 50 blocks, implicit 2 ms, {seconds}: no block moves by 1 mm",
              "stands", 1e3 * wall.way(), "mm", wall.way() < 1e-3),
        Claim("arch", f"arch of 15 stones, implicit 2 ms, {seconds}: no stone moves by 1 % of the "
              "ring", "stands: 0.2 of the radius is thicker than 0.107", 1e3 * arch.way(), "mm",
              arch.way() < 8e-3),
        Claim("arch-creep", "arch: no stone moves by 0.01 mm after the first half",
              "stands", 1e3 * arch.way(0.5 * p.stiff_seconds), "mm",
              arch.way(0.5 * p.stiff_seconds) < 1e-5),
    ]  # fmt: skip


def _signorini_claims(result: Result) -> list[Claim]:
    p, name = result.params, STIFF["signorini"]
    drift = max(result.drifts(name))
    deepest = max(stand.deepest for stand in result.stands[name])
    what = f"13 blocks, signorini 5 ms, {p.stiff_seconds:g} s, each of {len(p.seeds)} jitters"
    return [
        Claim("signorini-depth", f"{what}: no contact deeper than 1e-6 m in any step",
              "rigid bodies do not overlap", deepest, "m", deepest < 1e-6),
        Claim("signorini-drift", f"{what}: drift below 0.001 mm", "stands (Fig. 9)", 1e3 * drift,
              "mm", drift < 1e-6),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """Times of all methods and engines with their spread, and every jitter of the towers."""
    p = result.params
    rows = []
    for n in (1, 6, 13):
        what = f"time per step, {n} block{'s' if n > 1 else ''}"
        for who, rounds in result.step_time.items():
            times = 1e6 * rounds[:, p.heights.index(n)]
            for share, quantile in (("median", 0.5), ("lower", 0.25), ("upper", 0.75)):
                name = share if share == "median" else f"{share} quartile"
                time_ = float(np.quantile(times, quantile))
                rows.append(Reading(f"{what}: {name}", who, time_, "µs", _step_of(p, who)))
        for who, medians in result.others.items():
            if n in result.other_heights:
                time_ = 1e6 * float(medians[result.other_heights.index(n)])
                rows.append(Reading(f"{what}: median", who, time_, "µs", _step_of(p, who)))
    batches = np.array_split(result.step_time["volume"], min(BATCHES, p.rounds))
    fits = [straightness(p, batch) for batch in batches]
    rows.append(Reading(f"R², least of {len(batches)} batches of rounds", "volume", min(fits), ""))
    rows.append(Reading(f"R², largest of {len(batches)} batches", "volume", max(fits), ""))
    for i, seed in enumerate(p.seeds):
        for name in ("3", "6", "13"):
            rows.append(_drift(f"{name} blocks, seed {seed}", "volume", result.stands[name][i]))
            fell = _finite(result.falls(f"point {name}")[i])
            rows.append(Reading(f"{name} blocks, seed {seed}: falls after", "point", fell, "s"))
        fine = result.stands["fine point 13"][i]
        rows.append(_drift(f"13 blocks, {1e3 * p.point_dt:g} ms, seed {seed}", "point", fine))
        control = f"control, seed {seed}"
        rows.append(Reading(f"{control}: growth", "volume", result.growths()[i], "1/s"))
        fell = _finite(result.falls("control")[i])
        rows.append(Reading(f"{control}: falls after", "volume", fell, "s"))
        for who, stands in _stiff_towers(result).items():
            when = f"13 blocks, 5 ms, {p.stiff_seconds:g} s, seed {seed}"
            rows.append(_drift(when, who, stands[i]))
            rows.append(Reading(f"{when}: sink", who, 1e3 * stands[i].sink(), "mm"))
            if who in STIFF:
                rows.append(Reading(f"{when}: deepest contact", who, stands[i].deepest, "m"))
    return rows


def _step_of(p: Params, who: str) -> str:
    step = p.point_dt if who in ("volume", "point") else p.stiff_dt if who in STIFF else p.dt
    return f"steps of {1e3 * step:g} ms"


def _stiff_towers(result: Result) -> dict[str, list[Stand]]:
    """The towers of 13 at 5 ms, by who holds them."""
    return {who: result.stands[name] for who, name in STIFF.items()} | result.other_stands


def _drift(what: str, who: str, stand: Stand) -> Reading:
    return Reading(f"{what}: drift", who, 1e3 * float(np.max(stand.drift)), "mm")


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 10: time per step over the number of blocks; and how the control buckles."""
    p = result.params
    figure, (left, middle, right) = canvas(
        "Left: median time per step over the number of blocks (Hasegawa & Sato 2004, Fig. 10), "
        "bars from the lower to the upper quartile, with the straight line through the volume "
        "method. Middle: the same beside implicit steps, the signorini method and other engines, "
        "these with steps of 5 ms. Right: largest sideways way of a block, a line per jitter; the "
        "13-block tower with too soft contacts buckles at the predicted rate.",
        columns=3,
        size=(11.0, 3.5),
    )
    heights = np.asarray(p.heights, float)
    for method in ("volume", "point"):
        lower, median, upper = 1e6 * np.quantile(
            result.step_time[method], (0.25, 0.5, 0.75), axis=0
        )
        bars = (median - lower, upper - median)
        left.errorbar(
            heights, median, bars, fmt="o", ms=4, lw=1, color=COLOURS[method], label=method
        )
        middle.plot(heights, median, "o-", ms=4, lw=1, color=COLOURS[method], label=method)
    a, b, r2 = line_fit(heights, np.median(result.step_time["volume"], axis=0))
    left.plot(
        heights, 1e6 * (a + b * heights), color=COLOURS["volume"], lw=1,
        label=f"{1e6 * a:.2f} + {1e6 * b:.2f} N,  R² = {r2:.4f}",
    )  # fmt: skip
    left.set_ylim(bottom=0.0)
    for who in STIFF:
        median = 1e6 * np.median(result.step_time[who], axis=0)
        middle.plot(heights, median, "s:", ms=3, lw=1, color=_colour(who), label=who)
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
        ("point 13", COLOURS["point"], "point, 13, 1 ms, k = 1e5"),
        ("fine point 13", "#c9a66b", f"point, 13, {1e3 * p.point_dt:g} ms, k = 1e5"),
    ):
        for stand in result.stands[name]:
            first = stand is result.stands[name][0]
            right.semilogy(
                stand.time[1:], np.maximum(stand.drift[1:], 1e-6), color=colour, lw=1,
                label=label if first else None,
            )  # fmt: skip
    control, (rate, _) = result.stands["control"][0], linearised(13, p, p.stiffness, p.damping)
    t = np.linspace(3.0, 7.0, 2)
    level = 2.5 * float(np.interp(t[0], control.time, control.drift))
    right.semilogy(t, level * np.exp(rate * (t - t[0])), ":", color=INK, label=f"exp({rate:.3f} t)")
    right.set_ylim(1e-6, 3e4)
    right.set_yticks([1e-6, 1e-4, 1e-2, 1.0])
    right.set_xlabel("time [s]")
    right.set_ylabel("drift [m]")
    right.legend(fontsize=7.5, ncols=2, loc="upper left")
    return [figure, _plot_implicit(result)]


def _plot_implicit(result: Result) -> Figure:
    p = result.params
    figure, (left, right) = canvas(
        "Implicit steps. Left: largest sideways way of a block of the 13-block tower at 5 ms, a "
        "line per jitter, beside the signorini method and other engines. Right: 100 blocks, and "
        "13 blocks with contacts just too soft and just stiff enough to stand, and the largest way "
        "of a block of the wall and of a stone of the arch.",
        columns=2,
        size=(8.6, 3.4),
    )
    for who, stands in _stiff_towers(result).items():
        for i, stand in enumerate(stands):
            _draw_drift(left, stand.time, stand.drift, _colour(who), None if i else who)
    below, above = p.limit_stiffness
    for name, colour, label in (
        ("high", COLOURS["volume"], f"{p.high_count} blocks, 5 ms"),
        ("below limit", "#a33b3b", f"13, k = {below:g}"),
        ("above limit", "#7fb285", f"13, k = {above:g}"),
    ):
        for i, stand in enumerate(result.stands[name]):
            _draw_drift(right, stand.time, stand.drift, colour, None if i else label)
    for name, colour in (("wall", "#e0a458"), ("arch", "#8f7fb5")):
        (stand,) = result.stands[name]
        way = np.linalg.norm(stand.position - stand.position[0], axis=2).max(axis=1)
        _draw_drift(right, stand.time, way, colour, f"{name}, 2 ms")
    for axes in (left, right):
        axes.set_xlabel("time [s]")
        axes.set_ylabel("drift [m]")
    left.legend(fontsize=7.5, loc="center right")
    right.legend(fontsize=7.5)
    return figure


def _colour(who: str) -> str:
    return COLOURS["volume" if who == "implicit" else who]


def _draw_drift(axes: Axes, time: Array, drift: Array, colour: str, label: str | None) -> None:
    axes.semilogy(time[1:], np.maximum(drift[1:], 1e-12), color=colour, lw=1.2, label=label)


def strip(result: Result) -> Figure:
    """The towers of Fig. 9, then the two that fall."""
    p = result.params
    fell = result.stands["control"][0].fall() or p.control_seconds
    burst = result.stands["point 13"][0].fall() or 1.0
    frames = []
    for name, t, label in (
        ("3", p.stand_seconds, f"3 blocks, {p.stand_seconds:g} s"),
        ("6", p.stand_seconds, f"6 blocks, {p.stand_seconds:g} s"),
        ("13", p.tall_seconds, f"13, 1 ms, {p.tall_seconds:g} s"),
        ("stiff 13", p.stiff_seconds, f"13, implicit, {p.stiff_seconds:g} s"),
        ("control", fell, f"13, too soft, {fell:.1f} s"),
        ("control", fell + 1.9, f"13, too soft, {fell + 1.9:.1f} s"),
        ("point 13", burst, f"13, point, 1 ms, {burst:.2f} s"),
    ):
        stand = result.stands[name][0]
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


def _places(p: Params, n: int, stiffness: float, seed: int) -> Array:
    """Centres of n blocks on each other at rest depth, each shifted sideways by the jitter [m].

    Contact j carries n - j blocks. From there the tower has nothing to do but stand; put down
    without depth, six blocks would still bounce after 2 s: their slowest mode loses 0.87 /s.
    """
    shift = np.random.default_rng(seed).uniform(-p.jitter, p.jitter, (max(n, 13), 2))[:n]
    sunk = np.cumsum(n - np.arange(n)) * p.mass * p.gravity / stiffness
    return np.column_stack((shift, (np.arange(n) + 0.5) * p.block[2] - sunk))


def _tower(
    p: Params,
    places: Array,
    method: str,
    values: tuple[float, float | None, float | None],
    integrator: str | None = "explicit",
) -> tg.Simulation:
    """Blocks at the given centres; step, stiffness and damping, from the mass if None."""
    dt, stiffness, damping = values
    material = tg.Material(
        static_friction=p.static_friction,
        kinetic_friction=p.kinetic_friction,
        stiffness=stiffness,
        damping=damping,
        tangential_stiffness=None if stiffness is None else SHEAR * stiffness,
        tangential_damping=None if damping is None else SHEAR * damping,
    )
    scene = tg.Scene(gravity=(0.0, 0.0, -p.gravity))
    scene.add_floor(material=material)
    shape = tg.Box(p.block)
    for place in places:
        scene.add_body(shape, mass=p.mass, position=tuple(place), material=material)
    return tg.Simulation(scene, method=method, dt=dt, integrator=integrator)


def _step_times(p: Params) -> dict[str, Array]:
    """Times per step of each tower height by method, of shape (rounds, heights) [s].

    Volume and point get the same blocks, stiffness and step; it is the step of the point method,
    with which all of them stand. Implicit steps and signorini's are those of their towers. In every
    round all heights are timed once, in an order drawn anew: what ran before leaves its mark in the
    processor's caches.
    """
    fine = (p.point_dt, p.tall_stiffness, p.tall_damping)
    times = {}
    for who, method, integrator, values in (
        ("volume", "volume", "explicit", fine),
        ("point", "point", "explicit", fine),
        ("implicit", "volume", "implicit", (p.stiff_dt, p.stiff_stiffness, None)),
        ("signorini", "signorini", None, (p.stiff_dt, None, None)),
    ):
        places = [_places(p, n, values[1] or math.inf, p.seeds[0]) for n in p.heights]
        sims = [_tower(p, place, method, values, integrator) for place in places]
        for sim in sims:
            sim.step(SETTLE_STEPS)
        rng = np.random.default_rng(0)
        times[who] = np.empty((p.rounds, len(sims)))
        for k in range(p.rounds):
            for i in rng.permutation(len(sims)):
                start = time.perf_counter()
                sims[i].step(p.steps_per_round)
                times[who][k, i] = (time.perf_counter() - start) / p.steps_per_round
    return times


def _peer_time(p: Params, engine: str, n: int) -> float:
    return peers.run(engine, _boxes(p, n, p.dt, 200, PEER_STEPS, p.seeds[0])).step_time


def _peer_stand(p: Params, engine: str, seed: int) -> Stand:
    """One of the stiff towers in another engine, at the same step for the same time."""
    every = round(1.0 / (RECORDS_PER_SECOND * p.stiff_dt))
    steps = round(p.stiff_seconds / p.stiff_dt)
    motion = peers.run(engine, _boxes(p, 13, p.stiff_dt, steps, every, seed))
    kinetic = 0.5 * p.mass * np.sum(motion.velocity**2, axis=(1, 2))
    return seen(motion.time, motion.position, motion.orientation, kinetic)


def _boxes(p: Params, n: int, dt: float, steps: int, every: int, seed: int) -> peers.Boxes:
    boxes = tuple(
        peers.Box(p.block, p.mass, (float(x), float(y), float(z)))
        for x, y, z in _places(p, n, math.inf, seed)
    )
    return peers.Boxes(boxes, (0.0, 0.0, -p.gravity), p.kinetic_friction, dt, steps, every)


EXPERIMENT = Experiment(
    name="block-tower",
    paper="Hasegawa & Sato 2004, section 5.2, Fig. 9-10; Hasegawa et al. 2003, experiment 1",
    summary="stacked blocks: time per step grows linearly, towers stand where theory lets them",
    params=Params(),
    quick=Params(
        stand_seconds=4.0,
        tall_seconds=1.0,
        rounds=100,
        stiff_seconds=2.0,
        seeds=(1, 2),
        with_peers=False,
    ),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
