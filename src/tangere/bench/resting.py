"""Time of the implicit step while things rest, beside MuJoCo and Bullet at the same 5 ms.

Two structures: the tower of 13 blocks of [HASEGAWA2004] experiment 1, and the built-in wall of 50
blocks, which has two to six neighbours to a block. All engines get the same boxes, and two seconds
to come to rest before they are timed in turn.
"""

from __future__ import annotations

import functools
import time

import numpy as np

import tangere as tg
from tangere.bench.block_tower import (
    CALLS,
    FRICTION,
    OURS,
    STEPS_PER_CALL,
    Ours,
    contestants,
    tower,
)
from tangere.bench.report import Result, Row, Table, spread
from tangere.bench.turns import Contestant, median_ratio, take_turns
from tangere.experiments import peers
from tangere.scene.library import wall
from tangere.steppers.profile import Profile

PEERS = ("MuJoCo", "Bullet")
RIVAL = "MuJoCo"
LIMIT = 1.5  # our time over the rival's that is claimed at most
DT = 5e-3  # [s]
STIFFNESS = 1e7  # [N/m] the tower's top sinks by 0.09 mm
SETTLE = 2.0  # [s]


def boxes(scene: tg.Scene, dt: float) -> peers.Boxes:
    """A scene of boxes on the floor for any engine."""
    placed = []
    for body in scene.bodies:
        if not isinstance(body.shape, tg.Box):
            raise TypeError(f"{body.name!r} is no box")
        x, y, z = (float(v) for v in body.shape.size)
        at = (float(body.position[0]), float(body.position[1]), float(body.position[2]))
        placed.append(peers.Box((x, y, z), body.mass, at))
    gx, gy, gz = (float(g) for g in scene.gravity)
    return peers.Boxes(tuple(placed), (gx, gy, gz), FRICTION, dt, steps=0)


def measure(rounds: int = 9, integrator: str = "implicit") -> Result:
    """Time per step of the resting tower and of the resting wall."""
    begin = time.perf_counter()
    scenes = {
        "tower of 13": tower(13, DT, overlap=0.0),
        "wall of 50": boxes(wall(), DT),
    }
    rows: list[Row] = []
    fallen: dict[str, None] = {}  # an ordered set
    profiles: dict[str, Profile] = {}
    claims = []
    for name, scene in scenes.items():
        taken = take_turns(_contestants(scene, integrator, fallen, profiles), rounds, CALLS)
        for engine, turns in taken.items():
            row: Row = {"structure": name, "engine": engine}
            row.update(spread(np.concatenate(turns), STEPS_PER_CALL))
            row["ours / theirs"] = median_ratio(taken[OURS], turns)
            rows.append(row)
        if RIVAL in taken:
            claims.append(claim(name, median_ratio(taken[OURS], taken[RIVAL])))
    title = f"{integrator} step of {1e3 * DT:g} ms at rest, calls of {STEPS_PER_CALL} steps"
    notes = [f"{name} is not installed" for name in PEERS if name not in peers.installed()]
    settings = {
        "integrator": integrator,
        "step_s": DT,
        "stiffness_N_per_m": STIFFNESS,
        "steps_per_call": STEPS_PER_CALL,
        "calls_per_turn": CALLS,
        "rounds": rounds,
        "settle_s": SETTLE,
        "friction": FRICTION,
    }
    seconds = time.perf_counter() - begin
    said = [*claims, *notes, *fallen]
    return Result("resting", settings, [Table(title, rows)], said, seconds, profiles)


def claim(name: str, ratio: float) -> str:
    """The claim on one structure with its verdict."""
    verdict = "holds" if ratio <= LIMIT else "FAILS"
    return f"{name}: at most {LIMIT:g} times {RIVAL}'s time is claimed; {ratio:.2f}: {verdict}"


def _contestants(
    scene: peers.Boxes, integrator: str, fallen: dict[str, None], profiles: dict[str, Profile]
) -> list[Contestant]:
    ours = functools.partial(Ours, scene, STIFFNESS, integrator=integrator, profiles=profiles)
    every = contestants(scene, ours, SETTLE, fallen)
    return [each for each in every if each.name in (OURS, *PEERS)]
