"""Principal contacts made by hand, and motions of a held body past them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tangere.contact.formation.columns import (
    LINE,
    NOUT,
    NPC,
    NRES,
    PC_A,
    PC_B,
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
from tangere.contact.formation.options import Formation
from tangere.contact.formation.wrench import Forces, contact_wrench, new_forces
from tangere.geometry.boundary import Elements, boundary_of
from tangere.geometry.shapes import Box
from tangere.maths.vec import Array

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
SHARP = Formation(blend=0.0)  # wrenches pass at once
BALL_RADIUS, MASS = 0.02, 0.5
BALL_INERTIA = 0.4 * MASS * BALL_RADIUS**2 * np.eye(3)
DT = 1e-3

Row = Array
Contacts = Callable[[Array, Array], list[Row]]


def block() -> Elements:
    """Elements of a box: 8 vertices, 12 edges, 6 faces."""
    return boundary_of(Box((0.1, 0.1, 0.1))).elements


def row(
    points: Array | list[Array],
    normal: Array | list[float],
    gaps: float | list[float],
    *,
    name: int = 1,
    elements: tuple[int, int] = (0, 0),
    curved: bool = False,
    tangent: Array | None = None,
) -> Row:
    """A principal contact over the region of these points on B, at these gaps from A."""
    corners = np.atleast_2d(np.asarray(points, float))
    n = np.asarray(normal, float)
    made = np.zeros(NPC)
    made[PC_ID] = name
    made[PC_A], made[PC_B] = elements
    made[PC_REGION] = {1: POINT, 2: LINE}.get(len(corners), PLANE)
    made[PC_CURVED], made[PC_COUNT] = curved, len(corners)
    distances = np.broadcast_to(np.asarray(gaps, float), len(corners))
    made[PC_GAP] = distances.min()
    made[PC_POINT : PC_POINT + 3] = centroid(corners, n)
    made[PC_NORMAL : PC_NORMAL + 3] = n
    if tangent is None:
        tangent = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    made[PC_TANGENT : PC_TANGENT + 3] = tangent / np.linalg.norm(tangent)
    made[PC_POLYGON : PC_POLYGON + corners.size] = corners.ravel()
    made[PC_POLYGON_GAP : PC_POLYGON_GAP + len(corners)] = distances
    return made


def centroid(corners: Array, n: Array) -> Array:
    """Of a point, a segment or the area of a polygon."""
    if len(corners) < 3:
        return np.asarray(corners.mean(axis=0))
    total, moment = 0.0, np.zeros(3)
    for p, q in pairwise(corners[1:]):
        area = float(np.cross(p - corners[0], q - corners[0]) @ n)
        total += area
        moment += area * (corners[0] + p + q) / 3.0
    return np.asarray(moment / total)


@dataclass
class Log:
    """What came out of a motion, pose by pose."""

    results: list[Array] = field(default_factory=list)
    outs: list[Array] = field(default_factory=list)

    def column(self, at: int, width: int = 1) -> Array:
        """Columns of the result at all poses."""
        all_of = np.array(self.results)
        return np.asarray(all_of[:, at] if width == 1 else all_of[:, at : at + width])

    def of(self, contact: int, at: int, width: int = 1) -> Array:
        """Columns of a contact's row at all poses."""
        all_of = np.array(self.outs)[:, contact]
        return np.asarray(all_of[:, at] if width == 1 else all_of[:, at : at + width])


def ball(options: Formation = SHARP, period: float = DT) -> Forces:
    """The ball of the experiments among boxes, whose elements only lend their names."""
    return new_forces(options, MASS, BALL_INERTIA, BALL_RADIUS, period, [block(), block()])


def play(
    forces: Forces,
    positions: Array,
    quaternions: Array,
    contacts: Contacts,
    period: float = DT,
    start: float = 0.0,
) -> Log:
    """Move a body through poses; `contacts` finds its rows at each."""
    log = Log()
    rows = np.zeros((16, NPC))
    for k, (x, q) in enumerate(zip(positions, quaternions, strict=True)):
        found = contacts(x, q)
        for i, each in enumerate(found):
            rows[i] = each
        contact_wrench(forces, np.concatenate((x, q)), rows, len(found), start + k * period)
        log.results.append(forces.result.copy())
        log.outs.append(forces.out.copy())
    assert forces.result.shape == (NRES,)
    assert forces.out.shape[1] == NOUT
    return log


def upright(count: int) -> Array:
    """So many quaternions of no turn."""
    return np.tile(UPRIGHT, (count, 1))
