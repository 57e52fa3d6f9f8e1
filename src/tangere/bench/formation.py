"""Time of contact formations: of the force model with the contacts given, and of all of it.

One call is one pose in compiled code. With the contacts given it fits the motion to the poses and
works out the type of the motion before, friction and wrench. The scenes are contacts of every
kind, held and moved at 1 kHz: a point that slides; two points in a groove that roll; a line, a face
and a disc that slide or turn in place; a face on the floor with another on a wall; contacts that
come and go.

With the contacts to be found, bodies are led along the paths of the experiments; those poses count
where something touches. The table of valid formations is filled by a round that is not measured.
"""

from __future__ import annotations

import time

import numpy as np

from tangere._clock import kernel_ns
from tangere._jit import kernel
from tangere.bench.report import Result, Row, Table, spread
from tangere.contact.formation.columns import (
    LINE,
    MOST_CONTACTS,
    NPC,
    PC_COUNT,
    PC_CURVED,
    PC_GAP,
    PC_ID,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_POLYGON_GAP,
    PC_REGION,
    PC_TANGENT,
    PLANE,
    POINT,
)
from tangere.contact.formation.identify import Finder
from tangere.contact.formation.model import find_wrench
from tangere.contact.formation.motion import NPOSE
from tangere.contact.formation.options import Formation
from tangere.contact.formation.wrench import Forces, contact_wrench, new_forces
from tangere.experiments import luo2004_ball_on_cylinders as luo_ball
from tangere.experiments import luo2004_cylinder_in_pipe as luo_pipe
from tangere.experiments import luo2004_peg_in_hole as luo_peg
from tangere.experiments import luo2004_pen_in_bowl as luo_pen
from tangere.experiments.formation_log import Stage
from tangere.experiments.formation_paths import Path
from tangere.geometry.boundary import boundary_of
from tangere.geometry.shapes import Box
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

POSES = 2000  # per round
DT = 1e-3
SPEED, TURNING = 0.02, 1.0  # [m/s, rad/s]
SIZE, MASS = 0.02, 0.5  # of the body, from its middle [m, kg]
DEEP = 0.5e-3  # gap
MEDIAN, MOST_RATIO = 2.0, 2.0  # claimed: time of a call [µs], slowest scene over fastest
FOUND = 50.0  # claimed: with the contacts to be found [µs]
LED = 3  # most rounds along a path, which has thousands of poses
NOTHING, AT_TIMES, ROUND = "no contact", "a face comes and goes", "a disc turns"

UP, ACROSS = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
SQUARE = SIZE * np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
WALL = SIZE * np.array([[0.0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1]])
ANGLES = 2.0 * np.pi * np.arange(16) / 16
DISC = SIZE * np.stack([np.cos(ANGLES), np.sin(ANGLES), 0.0 * ANGLES], axis=1)
POINT_BELOW, BAR = np.zeros((1, 3)), SIZE * np.array([[-1.0, 0, 0], [1, 0, 0]])

Part = tuple[Array, Array]  # region on the body about its middle, normal
# Regions of the body, velocity, rate of turning; after how many poses they come and go, 1: never
Scene = tuple[list[Part], tuple[float, float, float], tuple[float, float, float], int]


def scenes() -> dict[str, Scene]:
    """Bodies, their motions, and where they touch."""
    low, side = -SIZE * UP, -SIZE * ACROSS
    still = (0.0, 0.0, 0.0)
    along, spin = (0.0, SPEED, 0.0), (0.0, 0.0, TURNING)
    slopes = [np.array([s, 0.0, 1.0]) / np.sqrt(2.0) for s in (1.0, -1.0)]
    groove = [(POINT_BELOW - SIZE * n, n) for n in slopes]
    return {
        NOTHING: ([], along, still, 1),
        "a point slides": ([(POINT_BELOW + low, UP)], along, still, 1),
        "two points in a groove slide": (groove, along, still, 1),
        "a line slides": ([(BAR + low, UP)], along, still, 1),
        "a line turns": ([(BAR + low, UP)], still, spin, 1),
        "a face slides": ([(SQUARE + low, UP)], along, still, 1),
        "a face turns": ([(SQUARE + low, UP)], still, spin, 1),
        ROUND: ([(DISC + low, UP)], still, spin, 1),
        "faces on floor and wall": ([(SQUARE + low, UP), (WALL + side, ACROSS)], along, still, 1),
        AT_TIMES: ([(SQUARE + low, UP)], along, still, 20),
    }


def poses_and_rows(scene: Scene, count: int) -> tuple[Array, Array, Array]:
    """Poses, rows of contacts at each, and their numbers."""
    parts, velocity, turning, every = scene
    t = DT * np.arange(count)
    poses, rows = np.zeros((count, NPOSE)), np.zeros((count, max(1, len(parts)), NPC))
    rate = float(np.linalg.norm(turning))
    poses[:, :3] = np.outer(t, velocity)
    poses[:, 3] = np.cos(0.5 * rate * t)
    poses[:, 4:] = np.outer(np.sin(0.5 * rate * t), np.array(turning) / max(rate, 1e-300))
    r = rotation_of(poses[:, 3:])
    for i, (region, n) in enumerate(parts):
        corners = np.einsum("kij,pj->kpi", r, region) + poses[:, None, :3] - DEEP * n
        row, size = rows[:, i], len(region)
        row[:, PC_ID], row[:, PC_CURVED], row[:, PC_COUNT] = i + 1, size < 3, size
        row[:, PC_REGION] = {1: POINT, 2: LINE}.get(size, PLANE)
        row[:, PC_GAP] = DEEP
        row[:, PC_POINT : PC_POINT + 3] = corners.mean(axis=1)
        row[:, PC_NORMAL : PC_NORMAL + 3] = n
        row[:, PC_TANGENT : PC_TANGENT + 3] = (0.0, 1.0, 0.0)
        row[:, PC_POLYGON : PC_POLYGON + 3 * size] = corners.reshape(count, -1)
        row[:, PC_POLYGON_GAP : PC_POLYGON_GAP + size] = DEEP
    there = np.arange(count) // every % 2 == 0 if every > 1 else np.ones(count, bool)
    return poses, rows, np.where(there, float(len(parts)), 0.0)


def measure(rounds: int = 15) -> Result:
    """Time per pose of every scene."""
    begin = time.perf_counter()
    elements = boundary_of(Box((2.0 * SIZE,) * 3)).elements
    inertia = MASS * SIZE**2 * 2.0 / 3.0 * np.eye(3)
    played = {name: poses_and_rows(scene, POSES) for name, scene in scenes().items()}
    taken: dict[str, list[Array]] = {name: [] for name in played}
    for k in range(rounds + 1):
        for name, given in played.items():
            forces = new_forces(Formation(), MASS, inertia, SIZE, DT, [elements, elements])
            spent = np.zeros(POSES)
            _time_poses(forces, *given, spent)
            if k > 0:  # the first run is for the caches
                taken[name].append(spent)
    table: list[Row] = [
        {"scene": name, **spread(1e-9 * np.concatenate(spent))} for name, spent in taken.items()
    ]
    sought = [_led(name, stage, path, rounds) for name, (stage, path) in paths().items()]
    settings = {"poses": POSES, "rounds": rounds, "step_s": DT}
    tables = [
        Table("time per pose of the force model, contacts given", table),
        Table("time per pose with contacts to be found, and the force model", sought),
    ]
    notes = [*claims(table), *claims_on_finding(sought)]
    return Result("formation", settings, tables, notes, time.perf_counter() - begin)


def paths() -> dict[str, tuple[Stage, Path]]:
    """Bodies and the ways they are led, as in the experiments."""
    peg, pipe, ball = luo_peg.Params(), luo_pipe.Params(), luo_ball.Params()
    pen = luo_pen.Params()
    return {
        "peg and hole": (luo_peg.stage(peg), luo_peg.path(peg)),
        "cylinder in a pipe's bend": (luo_pipe.stage(pipe), luo_pipe.path(pipe)),
        "pen in bowl": (luo_pen.stage(pen), luo_pen.paths(pen)[0]),
        "ball on two cylinders": (luo_ball.stage(ball), luo_ball.path(ball, ball.rates[0])),
    }


def _led(name: str, stage: Stage, path: Path, rounds: int) -> Row:
    """One row of the table: a body led along a path, those poses where it touches."""
    poses = np.column_stack((path.positions, path.orientations))
    rows, counts = np.zeros((MOST_CONTACTS, NPC)), np.zeros(len(poses))
    model = stage.model(Formation(), path.rate)
    taken = []
    for k in range(min(rounds, LED) + 1):
        spent = np.zeros(len(poses))
        _time_finding(model.finder, model.forces, poses, rows, counts, spent)
        if k > 0:
            taken.append(spent[counts > 0.0])
    return {"scene": name, **spread(1e-9 * np.concatenate(taken))}


def claims_on_finding(rows: list[Row]) -> list[str]:
    """What is claimed of contacts to be found, what was measured, and the verdict."""
    medians = [float(row["p50 [µs]"] or 0.0) for row in rows]
    return _verdicts(
        (f"contacts found and their wrench: median of every scene within {FOUND:g} µs",
         max(medians), FOUND, "µs"),
        (f"contacts found: slowest within {MOST_RATIO:g} times the fastest",
         max(medians) / min(medians), MOST_RATIO, ""),
    )  # fmt: skip


def claims(rows: list[Row]) -> list[str]:
    """What is claimed, what was measured, and the verdict."""
    medians = {str(row["scene"]): float(row["p50 [µs]"] or 0.0) for row in rows}
    slowest = max(medians.values())
    usual = [value for name, value in medians.items() if name not in (NOTHING, AT_TIMES, ROUND)]
    ratio = max(usual) / min(usual)
    return _verdicts(
        (f"median of every scene within {MEDIAN:g} µs", slowest, MEDIAN, "µs"),
        (f"points, lines, rectangles: slowest within {MOST_RATIO:g} times the fastest", ratio,
         MOST_RATIO, ""),
    )  # fmt: skip


def _verdicts(*found: tuple[str, float, float, str]) -> list[str]:
    """One sentence for each claim, its value and its limit."""
    return [
        f"{text} claimed; {value:.2f} {unit}".rstrip()
        + f": {'holds' if value <= limit else 'FAILS'}"
        for text, value, limit, unit in found
    ]


@kernel
def _time_poses(forces: Forces, poses: Array, rows: Array, counts: Array, spent: Array) -> None:
    """Nanoseconds of every pose."""
    for k in range(poses.shape[0]):
        start = kernel_ns()
        contact_wrench(forces, poses[k], rows[k], int(counts[k]), DT * k)
        spent[k] = kernel_ns() - start


@kernel
def _time_finding(
    finder: Finder, forces: Forces, poses: Array, rows: Array, counts: Array, spent: Array
) -> None:
    """Nanoseconds of every pose with contacts to be found, and how many they were."""
    for k in range(poses.shape[0]):
        start = kernel_ns()
        count, _ = find_wrench(finder, forces, poses[k], rows, DT * k)
        spent[k] = kernel_ns() - start
        counts[k] = count
