"""What an error threshold does to the contacts: a query at s₀ beside one of level 0 alone.

Two lengths are compared in every pose: the deepest depth, and what is felt of all contacts at once,

    f = Σ a u² n / Σ a u,   u = max(δ + d, 0),

the force of the penalty method over its stiffness. f is the length that s* speaks of: a depth
spread over the area in contact. The deepest depth may be off by more than s₀ where a detail is
narrow for its contact; by how much at most, every contact says itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere.collision.contact_query import (
    CONTACT_AREA,
    CONTACT_DEPTH,
    CONTACT_ERROR,
    CONTACT_NORMAL,
    COUNT,
    NCONTACT,
    NPOSE,
    NTALLY,
    POSE_POSITION,
    POSE_QUATERNION,
    TRUNCATED,
    VISITED,
    Placed,
)
from tangere.collision.field_sides import NTURN
from tangere.collision.levels.front import Front, forget, new_front
from tangere.collision.levels.hierarchy import Levels, LevelSet, gather
from tangere.collision.levels.query import find_contacts
from tangere.maths.vec import Array, LongArray

# Error that no level but 0 meets, where a level deviates at all [m].
FINEST = 1e-12
UNLIMITED = 1_000_000_000


class Pair(NamedTuple):
    """A tool and one body, each in its own shape frame, ready for queries."""

    levels: LevelSet
    placed: Placed
    front: Front
    rows: Array
    tally: LongArray


class Deviation(NamedTuple):
    """Contacts at a threshold beside those of level 0; one entry for each pose in contact.

    | field    | meaning                                                          |
    | depth    | deepest depth at the threshold less that of level 0 [m]          |
    | felt     | length of the difference of f [m]                                |
    | bound    | largest error that the contacts report of themselves, summed [m] |
    | contacts | their number, at the threshold and of level 0, shape (n, 2)      |
    | visited  | pairs and nodes looked at, likewise                              |
    """

    depth: Array
    felt: Array
    bound: Array
    contacts: LongArray
    visited: LongArray


def pair_of(tool: Levels, body: Levels, rows: int = 16384) -> Pair:
    """A tool and a body for queries; poses go to `placed.poses`."""
    levels = gather([tool, body])
    placed = Placed(
        np.arange(2),
        np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (2, 1)),
        np.zeros((2, NPOSE)),
        np.zeros((3, 12)),
        np.zeros((0, 4)),
        np.ones((1, 2)),
        np.zeros((0, NTURN)),
        np.zeros((1, 2), dtype=np.int64),
    )
    placed.poses[:, POSE_QUATERNION] = 1.0
    placed.turns[-1, :9] = np.eye(3).ravel()
    front = new_front(1, len(levels.nodes), rows)
    return Pair(levels, placed, front, np.zeros((rows, NCONTACT)), np.zeros(NTALLY, np.int64))


def contacts_at(
    pair: Pair, pose: Array, reach: float, error: float, *, warm: bool = False
) -> Array:
    """Contacts with the tool's frame at a pose (position, quaternion), the body's at rest.

    Args:
        pair: Tool and body.
        pose: Shape (7,).
        reach: Largest distance [m].
        error: Accepted s* [m].
        warm: Whether what is remembered of earlier queries may be used.
    """
    if not warm:
        forget(pair.front)
    pair.placed.poses[0, POSE_POSITION : POSE_QUATERNION + 4] = pose
    find_contacts(
        pair.levels, pair.placed, pair.front, (reach, error), UNLIMITED, pair.rows, pair.tally
    )
    if pair.tally[TRUNCATED]:
        raise RuntimeError(f"levels: no room for {pair.tally[COUNT]} contacts")
    return pair.rows[: pair.tally[COUNT]]


def threshold_errors(
    tool: Levels, body: Levels, poses: Array, error: float, reach: float
) -> Deviation:
    """How far contacts at a threshold are from those of level 0.

    Args:
        tool: Its levels.
        body: Those of the body, at rest.
        poses: Positions and quaternions of the tool, shape (n, 7). Those without contact on level
            0 and at the threshold are passed over.
        error: Threshold s₀ [m].
        reach: Largest distance of a contact, d of the force law as well [m].
    """
    pair = pair_of(tool, body)
    depth, felt, bound, contacts, visited = [], [], [], [], []
    for pose in poses:
        seen = []
        for accepted in (error, FINEST):
            rows = contacts_at(pair, pose, reach, accepted)
            seen.append((*_felt(rows, reach), len(rows), int(pair.tally[VISITED])))
        coarse, fine = seen
        if not coarse[3] and not fine[3]:
            continue
        depth.append(coarse[0] - fine[0])
        felt.append(np.linalg.norm(coarse[1] - fine[1]))
        bound.append(coarse[2] + fine[2])
        contacts.append((coarse[3], fine[3]))
        visited.append((coarse[4], fine[4]))
    return Deviation(
        np.array(depth),
        np.array(felt),
        np.array(bound),
        np.array(contacts, dtype=np.int64).reshape(-1, 2),
        np.array(visited, dtype=np.int64).reshape(-1, 2),
    )


def _felt(rows: Array, reach: float) -> tuple[float, Array, float]:
    """Deepest depth, f, and largest error of a contact [m]; with no contact −reach, 0 and 0."""
    if not len(rows):
        return -reach, np.zeros(3), 0.0
    u = np.maximum(rows[:, CONTACT_DEPTH] + reach, 0.0)
    weight = rows[:, CONTACT_AREA] * u
    normals = rows[:, CONTACT_NORMAL : CONTACT_NORMAL + 3]
    f = (weight * u) @ normals / max(float(weight.sum()), 1e-300)
    return float(rows[:, CONTACT_DEPTH].max()), f, float(rows[:, CONTACT_ERROR].max())
