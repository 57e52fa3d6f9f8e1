"""Time of the penalty method: query and clusters of one contact update, and the distance fields.

One call is one update from Python, as a contact loop makes it: the spoon of 1,344 triangles in the
handle of the cup of 4,000, lying in the cup, pushed 1 mm into it, and out of reach; and, the worst
case for sample points, two blocks face to face. Poses differ by a little from call to call.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np

import tangere as tg
from tangere.bench.report import Result, Row, Table, spread
from tangere.bench.turns import Contestant, durations, take_turns
from tangere.collision.distance_field import choose_spacing
from tangere.collision.field_build import build
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.geometry.shapes import Shape
from tangere.maths.vec import Array
from tangere.scene.utensils import cup, spoon

CALLS = 200  # per turn
POSES = 64  # that the calls go through
JITTER = 3e-4  # standard deviation of their places [m], and of their turns by 10 cm
LIMIT = 1000.0  # claimed of the 99 % quantile, where two meshes touch [µs]
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
THROUGH = (0.5, 0.5, 0.5, 0.5)  # the spoon along y, flat against the handle
STEEP = (0.8776, 0.0, 0.4794, 0.0)  # bowl down by 57°


def measure(rounds: int = 15) -> Result:
    """Time per update in several places, and the time to build the fields."""
    begin = time.perf_counter()
    tool, vessel, block = spoon(), cup(), tg.Box((0.05, 0.05, 0.05))
    cases: dict[str, tuple[Shape, Shape, tuple[float, ...], tuple[float, ...]]] = {
        "spoon out of reach": (tool, vessel, (0.3, 0.0, 0.0), THROUGH),
        "spoon in the cup's handle": (tool, vessel, (0.0662, -0.0163, 0.0), THROUGH),
        "spoon 1 mm into the handle": (tool, vessel, (0.0672, -0.0163, 0.0), THROUGH),
        "spoon in the cup": (tool, vessel, (-0.011, 0.0, 0.04), STEEP),
        "block on block, face to face": (block, block, (0.0, 0.0, 0.0499), UPRIGHT),
    }
    contestants, seen = [], {}
    for name, (shape, body, place, quaternion) in cases.items():
        contact = PenaltyContact(shape, [body])
        call = _caller(contact, place, quaternion)
        counts = []
        for _ in range(POSES):
            planes = call()
            counts.append((len(contact.contacts.delta), len(planes)))
        seen[name] = np.median(counts, axis=0)
        contestants.append(_contestant(name, call))
    taken = take_turns(contestants, rounds, CALLS)
    rows: list[Row] = [
        {
            "case": name,
            "contacts": int(seen[name][0]),
            "planes": int(seen[name][1]),
            **spread(np.concatenate(turns)),
        }
        for name, turns in taken.items()
    ]
    worst = max(float(row["p99 [µs]"] or 0.0) for row in rows if "spoon" in str(row["case"]))
    verdict = "holds" if worst < LIMIT else "FAILS"
    note = f"spoon and cup: 99 % of updates within {LIMIT:g} µs claimed; {worst:.0f} µs: {verdict}"
    built = [_built("spoon", tool), _built("cup", vessel)]
    tables = [
        Table("time per contact update, query and clusters", rows),
        Table("distance fields, built anew", built),
    ]
    settings = {"calls_per_turn": CALLS, "rounds": rounds, "poses": POSES}
    return Result("penalty", settings, tables, [note], time.perf_counter() - begin)


def _caller(
    contact: PenaltyContact, place: tuple[float, ...], quaternion: tuple[float, ...]
) -> Callable[[], Array]:
    """Updates at one pose after the other, round and round."""
    rng = np.random.default_rng(2005)
    poses = np.zeros((POSES, 13))
    poses[:, :3] = place + JITTER * rng.normal(size=(POSES, 3))
    poses[:, 3:7] = quaternion + 5.0 * JITTER * rng.normal(size=(POSES, 4))
    poses[:, 3:7] /= np.linalg.norm(poses[:, 3:7], axis=1)[:, None]
    following = itertools.cycle(poses)
    return lambda: contact.update(next(following))


def _contestant(name: str, call: Callable[[], object]) -> Contestant:
    return Contestant(name, lambda n: durations(call, n))


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
