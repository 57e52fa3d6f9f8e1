"""Round bodies beside boxes: time per step of as many of each, dropped from the same places.

A ball touches at one spot where a box has faces, edges and corners, so it should cost no more. The
same scene is made of boxes, of balls, of cylinders, and of balls and cylinders by turns: with equal
mass and volume, at the same places and attitudes, between the same four walls. All are timed in
turn from the drop until they lie: boxes come to rest where balls still roll, so no single moment
would be fair. How soon depends on chance, so boxes and balls fall several times. Cylinders cost
several times as much, as GJK on support functions takes many rounds; nothing is claimed of them.
"""

from __future__ import annotations

import time
from math import pi

import numpy as np

import tangere as tg
from tangere.bench.report import Result, Row, Table, spread
from tangere.bench.turns import Contestant, durations, take_turns
from tangere.geometry.shapes import Shape

COUNT = 200
EDGE = 0.1  # [m] of a box
SPACING = 0.175  # [m] above the diagonal of a box
SIDE = 5  # bodies along a side of the well
MASS = 0.5
STEPS = {"implicit": 5e-3, "explicit": 1e-3}  # integrator: step [s]
FALL = 2.0  # [s] that all are timed for
STEPS_PER_CALL = 5
SEEDS = 6  # falls: in one or another the last bodies come to rest sooner
LIMIT = 1.0  # time of balls over that of boxes that is claimed at most
BOXES, CLAIMED = "boxes", "balls"


def shapes() -> dict[str, tuple[Shape, ...]]:
    """Bodies of a box's volume, by name; each scene takes its own by turns."""
    ball = tg.Sphere(EDGE * (0.75 / pi) ** (1.0 / 3.0))
    radius = EDGE * (0.5 / pi) ** (1.0 / 3.0)
    cylinder = tg.Cylinder(radius, 2.0 * radius)  # as long as wide
    return {
        BOXES: (tg.Box((EDGE, EDGE, EDGE)),),
        "balls": (ball,),
        "cylinders": (cylinder,),
        "balls and cylinders": (ball, cylinder),
    }


def scene(kinds: tuple[Shape, ...], count: int = COUNT, seed: int = 0) -> tg.Scene:
    """Bodies at random attitudes in a well of four walls, above its floor."""
    rng = np.random.default_rng((count, seed))
    made = tg.Scene()
    made.add_floor()
    wide = SIDE * SPACING
    for k in range(4):
        along, side = k % 2, 1.0 if k < 2 else -1.0
        size, at = [wide + 0.2, wide + 0.2, 4.0], [0.0, 0.0, 2.0]
        size[along], at[along] = 0.1, side * (0.5 * wide + 0.05)
        made.add_body(tg.Box(size), mass=1.0, position=at, fixed=True)
    for i in range(count):
        level, rest = divmod(i, SIDE * SIDE)
        place = np.array(
            [rest % SIDE - 0.5 * (SIDE - 1), rest // SIDE - 0.5 * (SIDE - 1), level + 0.6]
        )
        made.add_body(
            kinds[i % len(kinds)],
            mass=MASS,
            position=SPACING * place + rng.uniform(-1e-3, 1e-3, 3),
            orientation=rng.normal(size=4),
        )
    return made


def measure(rounds: int = 20, count: int = COUNT, seeds: int = SEEDS) -> Result:
    """Time per step of all scenes, with both integrators; a round is a part of the fall."""
    begin = time.perf_counter()
    tables: list[Table] = []
    claims: list[str] = []
    for integrator, dt in STEPS.items():
        falls = [_fall(integrator, rounds, count, seed) for seed in range(seeds)]
        rows: list[Row] = []
        for name in shapes():
            told = [fall for fall in falls if name in fall]
            turns = [turn for fall in told for turn in fall[name]]
            boxes = [turn for fall in told for turn in fall[BOXES]]
            ratios = [mean_ratio(fall[name], fall[BOXES]) for fall in told]
            row: Row = {"bodies": name, "falls": len(told)}
            row.update(spread(np.concatenate(turns), STEPS_PER_CALL))
            row["mean [µs]"] = 1e6 * float(np.mean(np.concatenate(turns))) / STEPS_PER_CALL
            row["mean over boxes'"] = mean_ratio(turns, boxes)
            row["least fall"], row["worst fall"] = min(ratios), max(ratios)
            rows.append(row)
            if name == CLAIMED:
                claims.append(claim(integrator, name, mean_ratio(turns, boxes), len(told)))
        title = f"{integrator} step of {1e3 * dt:g} ms, {count} bodies from drop to rest"
        tables.append(Table(title, rows))
    settings = {
        "step_s": STEPS,
        "bodies": count,
        "steps_per_call": STEPS_PER_CALL,
        "fall_s": FALL,
        "rounds": rounds,
        "seeds": seeds,
    }
    return Result("balls", settings, tables, claims, time.perf_counter() - begin)


def _fall(integrator: str, rounds: int, count: int, seed: int) -> dict[str, list[list[float]]]:
    """Times of one fall by bodies; what is not claimed falls once."""
    dt = STEPS[integrator]
    contestants = []
    for name, kinds in shapes().items():
        if seed == 0 or name in (BOXES, CLAIMED):
            sim = tg.Simulation(scene(kinds, count, seed), dt=dt, integrator=integrator)
            contestants.append(_contestant(name, sim))
    return take_turns(contestants, rounds, max(1, round(FALL / dt / STEPS_PER_CALL / rounds)))


def mean_ratio(ours: list[list[float]], theirs: list[list[float]]) -> float:
    """All time of ours over all of theirs."""
    return float(np.sum(ours) / np.sum(theirs))


def claim(integrator: str, name: str, ratio: float, falls: int) -> str:
    """The claim on one scene with its verdict."""
    verdict = "holds" if ratio <= LIMIT else "FAILS"
    return (
        f"{integrator} step, {name}: at most {LIMIT:g} times the mean time of boxes is claimed, in "
        f"{falls} falls; {ratio:.2f}: {verdict}"
    )


def _contestant(name: str, sim: tg.Simulation) -> Contestant:
    return Contestant(name, lambda n: durations(lambda: sim.step(STEPS_PER_CALL), n))
