"""Time of the penalty method: query and clusters of one contact update, and the distance fields.

One call is one update from Python, as a contact loop makes it, while a session in the same process
runs a haptic loop at 1 kHz: the spoon of 1,344 triangles in the handle of the cup of 4,000, lying
in the cup, pushed 1 mm into it, and out of reach; two blocks face to face, the worst case for
sample points; and two jaws of 47,340 and 40,180 triangles, the teeth in contact and pushed 4 mm
into each other. The tool moves from call to call as a hand does, at up to 0.1 m/s and 1 kHz.

Growth: the lower jaw with up to a million triangles. Accuracy: see `penalty_accuracy`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import tangere as tg
from tangere.bench import penalty_accuracy
from tangere.bench.report import Result, Row, Table, spread
from tangere.bench.turns import Contestant, durations, take_turns
from tangere.collision.distance_field import choose_spacing
from tangere.collision.field_build import build
from tangere.contact.penalty.engines import FieldEngine
from tangere.contact.penalty.options import Engine, Penalty
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.fakes.held_program import lean_on
from tangere.geometry.shapes import Shape
from tangere.haptics.servo import Counters, counted
from tangere.maths.vec import Array
from tangere.scene.jaws import lower_jaw, upper_jaw
from tangere.scene.utensils import cup, spoon

ENGINES: tuple[Engine, ...] = ("sdf", "exact", "levels")
CALLS = 200  # per turn
POSES = 512  # that the calls go through, a closed path
AMPLITUDE = 3e-4  # of its places [m], and of its turns by 20 cm
CYCLES = (20, 27, 31)  # along the path, of x, y and z; of the turns in reverse
GROWTH = (1, 2, 5)  # refinement of the lower jaw
ACCURACY_POSES = 100
PATHS = 20
# Claimed, of updates with the engine sdf [µs]
LIMIT = 1000.0  # 99 % of those of spoon and cup, and of those with a million triangles
JAWS_MEDIAN, JAWS_TAIL = 100.0, 500.0
BLOCKS_MEDIAN = 150.0
MOST_GROWTH = 2.0  # of the median from 40,000 triangles to a million
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
THROUGH = (0.5, 0.5, 0.5, 0.5)  # the spoon along y, flat against the handle
STEEP = (0.8776, 0.0, 0.4794, 0.0)  # bowl down by 57°
OUT, BLOCKS = "spoon out of reach", "block on block, face to face"
TEETH, PUSHED = "jaws, teeth in contact", "jaws, 4 mm into each other"
BITE, DEEP_BITE = (0.0, 0.0, 0.0465), (0.0, 0.0, 0.043)

Place = tuple[float, ...]


def measure(rounds: int = 15) -> Result:
    """Time per update in several places, growth with the triangles, accuracy, time of the fields.

    Args:
        rounds: Turns of each case.
    """
    begin = time.perf_counter()
    tool, vessel, block = spoon(), cup(), tg.Box((0.05, 0.05, 0.05))
    upper, lower = upper_jaw(), lower_jaw()
    cases: dict[str, tuple[Shape, Shape, Place, Place]] = {
        OUT: (tool, vessel, (0.3, 0.0, 0.0), THROUGH),
        "spoon in the cup's handle": (tool, vessel, (0.0662, -0.0163, 0.0), THROUGH),
        "spoon 1 mm into the handle": (tool, vessel, (0.0672, -0.0163, 0.0), THROUGH),
        "spoon in the cup": (tool, vessel, (-0.011, 0.0, 0.04), STEEP),
        BLOCKS: (block, block, (0.0, 0.0, 0.0499), UPRIGHT),
        TEETH: (upper, lower, BITE, UPRIGHT),
        PUSHED: (upper, lower, DEEP_BITE, UPRIGHT),
    }
    contestants, seen = [], {}
    for (name, (shape, body, place, turn)), engine in itertools.product(cases.items(), ENGINES):
        contact = PenaltyContact(shape, [body], options=Penalty(engine=engine))
        call = _caller(contact, place, turn)
        counts = []
        for _ in range(POSES):
            planes = call()
            counts.append((len(contact.contacts.delta), len(planes)))
        seen[f"{name}|{engine}"] = np.median(counts, axis=0)
        contestants.append(_contestant(f"{name}|{engine}", call))
    grown, sizes = _growing(upper)
    with _haptic_loop() as told:
        taken = take_turns(contestants, rounds, CALLS)
        taken_grown = take_turns(grown, rounds, CALLS)
    rows: list[Row] = [
        {
            "case": name.split("|")[0],
            "engine": name.split("|")[1],
            "contacts": int(seen[name][0]),
            "planes": int(seen[name][1]),
            **spread(np.concatenate(turns)),
        }
        for name, turns in taken.items()
    ]
    growth: list[Row] = [
        {**size, **spread(np.concatenate(turns))}
        for size, turns in zip(sizes, taken_grown.values(), strict=True)
    ]
    built = [_built("spoon", tool), _built("cup", vessel)]
    tables = [
        Table("time per contact update, query and clusters", rows),
        Table("growth with the triangles of the body, jaws with teeth in contact", growth),
        Table("accuracy of sdf against exact, random poses", _accuracy()),
        Table("largest change of the force in a step, in stiffness times 10 µm", _steadiness()),
        Table("distance fields, built anew", built),
    ]
    settings = {"calls_per_turn": CALLS, "rounds": rounds, "poses": POSES}
    notes = [*claims(rows, growth), _beside(told[0])]
    return Result("penalty", settings, tables, notes, time.perf_counter() - begin)


def claims(rows: list[Row], growth: list[Row]) -> list[str]:
    """What is claimed of the engine sdf, what was measured, and the verdict."""
    of = {str(row["case"]): row for row in rows if row["engine"] == "sdf"}

    def figure(row: Row, column: str) -> float:
        return float(row[column] or 0.0)

    tail = max(figure(row, "p99 [µs]") for name, row in of.items() if "spoon" in name)
    jaws = figure(of[TEETH], "p50 [µs]"), figure(of[TEETH], "p99 [µs]")
    ratio = figure(growth[-1], "p50 [µs]") / figure(growth[0], "p50 [µs]")
    largest = f"{growth[-1]['triangles']:,} triangles"
    found = [
        ("spoon and cup: 99 % of updates within 1000 µs", tail, LIMIT, "µs"),
        ("jaws: median of updates within 100 µs", jaws[0], JAWS_MEDIAN, "µs"),
        ("jaws: 99 % of updates within 500 µs", jaws[1], JAWS_TAIL, "µs"),
        ("blocks: median of updates within 150 µs", figure(of[BLOCKS], "p50 [µs]"),
         BLOCKS_MEDIAN, "µs"),
        (f"{largest}: 99 % of updates within 1000 µs", figure(growth[-1], "p99 [µs]"), LIMIT, "µs"),
        (f"{largest}: median at most 2 times that of {growth[0]['triangles']:,}", ratio,
         MOST_GROWTH, "times"),
    ]  # fmt: skip
    return [
        f"{text} claimed; {value:.3g} {unit}: {'holds' if value <= limit else 'FAILS'}"
        for text, value, limit, unit in found
    ]


def path(place: Place, quaternion: Place) -> Array:
    """Places and quaternions along a closed path around a pose, shape (POSES, 13)."""
    poses = np.zeros((POSES, 13))
    phase = 2.0 * np.pi * np.arange(POSES) / POSES
    waves = AMPLITUDE * np.sin(np.outer(phase, CYCLES) + np.arange(3))
    poses[:, :3] = place + waves
    half = 0.5 * waves[:, ::-1] / 0.2
    w, v = quaternion[0], np.array(quaternion[1:])
    poses[:, 3] = w - half @ v
    poses[:, 4:7] = v + w * half + np.cross(half, v)
    poses[:, 3:7] /= np.linalg.norm(poses[:, 3:7], axis=1)[:, None]
    return poses


def _caller(contact: PenaltyContact, place: Place, quaternion: Place) -> Callable[[], Array]:
    """Updates at one pose after the other, round and round."""
    following = itertools.cycle(path(place, quaternion))
    return lambda: contact.update(next(following))


def _contestant(name: str, call: Callable[[], object]) -> Contestant:
    return Contestant(name, lambda n: durations(call, n))


def _growing(tool: Shape) -> tuple[list[Contestant], list[Row]]:
    """The upper jaw on finer and finer lower jaws, and what these are like."""
    contestants: list[Contestant] = []
    rows: list[Row] = []
    for refine in GROWTH:
        body = lower_jaw(refine)
        contact = PenaltyContact(tool, [body])
        engine = contact.engine
        call = _caller(contact, BITE, UPRIGHT)
        counts = []
        for _ in range(POSES):
            call()
            counts.append(len(contact.contacts.delta))
        contestants.append(_contestant(f"refined {refine} times", call))
        row: Row = {"triangles": len(body.surface()[1]), "contacts": int(np.median(counts))}
        if isinstance(engine, FieldEngine):
            row["spacing [mm]"] = 1e3 * float(engine.solids.places[-1, 3])
            row["MB"] = engine.solids.values.nbytes / 1e6
        rows.append(row)
    return contestants, rows


def _accuracy() -> list[Row]:
    return penalty_accuracy.rows_of(ACCURACY_POSES)


def _steadiness() -> list[Row]:
    return penalty_accuracy.steady_rows(PATHS)


@contextmanager
def _haptic_loop() -> Iterator[list[Counters]]:
    """A session that runs meanwhile, a tool under an emulated hand; its counters afterwards."""
    session = lean_on(tg.devices.Hand())
    told: list[Counters] = []
    session.start()
    try:
        yield told
    finally:
        loops = session.live.hands.loops
        session.stop()
        told.append(counted(*loops))


def _beside(loop: Counters) -> str:
    return (
        f"the haptic loop beside it: {loop.ticks:,} ticks, {loop.late} later than 100 µs, "
        f"{loop.missed} missed"
    )


def _built(name: str, shape: Shape) -> Row:
    """Size and building time of one field, the cache left aside."""
    vertices, triangles = shape.surface()
    start = time.perf_counter()
    h = choose_spacing(vertices, triangles)
    made = build(vertices, triangles, h)
    return {
        "shape": name,
        "triangles": len(triangles),
        "spacing [mm]": 1e3 * h,
        "nodes": made.values.size,
        "MB": made.nbytes / 1e6,
        "seconds": time.perf_counter() - start,
    }
