"""How a query of contact levels hands its contacts over, one row for each place.

Pieces that meet at a corner find that corner each on their own: contacts closer than half the reach
and with like normals are one, the deepest of them, with the area of all.
"""

from __future__ import annotations

from math import floor
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, off, ptr
from tangere.collision.contact_query import (
    CONTACT_ANCHOR,
    CONTACT_AREA,
    CONTACT_BODY,
    CONTACT_DEPTH,
    CONTACT_ERROR,
    CONTACT_LOCAL,
    CONTACT_NORMAL,
    CONTACT_POINT,
    COUNT,
    NCONTACT,
    NPOSE,
    TRUNCATED,
    Placed,
)
from tangere.collision.levels.front import CELLS, QUERY, Front
from tangere.maths.quat import matrix_into, turn_back
from tangere.maths.vec import Array, Vec3, dot, norm, sub

# Cosine between the normals of two contacts that are taken for one. The deeper one's normal is that
# of the area of both, so what is taken for one must press the same way: with 60 degrees a crease's
# force turned at once when its other side became the deeper one.
ALIKE = 0.9


class Out(NamedTuple):
    """Where contacts go."""

    rows: PtrF8
    room: int
    state: PtrI8
    position: Vec3  # of the first body's frame
    axes: PtrF8  # its rotation to the world
    label: int
    near: float  # contacts closer than this are one [m]


@kernel
def outlet(
    placed: Placed, first: int, rows: Array, state: PtrI8, label: int, near: float, axes: PtrF8
) -> Out:
    """Where contacts of a body go; axes: room for nine numbers."""
    pose = off(ptr(placed.poses), NPOSE * first)
    matrix_into((pose[3], pose[4], pose[5], pose[6]), axes)
    x = (pose[0], pose[1], pose[2])
    return Out(ptr(rows), rows.shape[0], state, x, axes, label, near)


@kernel
def hand_over(
    out: Out, front: Front, p: Vec3, n: Vec3, depth: float, quality: tuple[float, float]
) -> None:
    """One contact more; of two that are one place the deeper stays, with the area of both."""
    count = out.state[COUNT]
    local = turn_back(out.axes, sub(p, out.position))
    same = _same_place(out, front, local, n)
    at = count if same < 0 else same
    if at >= out.room:
        out.state[TRUNCATED] = 1
        return
    row = off(out.rows, NCONTACT * at)
    area = quality[1]
    if same >= 0:
        area += row[CONTACT_AREA]
        row[CONTACT_AREA] = area
        if row[CONTACT_DEPTH] >= depth:
            return
    for k in range(3):
        row[CONTACT_POINT + k] = p[k]
        row[CONTACT_ANCHOR + k] = p[k] - depth * n[k]
        row[CONTACT_NORMAL + k] = n[k]
        row[CONTACT_LOCAL + k] = local[k]
    row[CONTACT_DEPTH] = depth
    row[CONTACT_ERROR] = quality[0]
    row[CONTACT_AREA] = area
    row[CONTACT_BODY] = out.label
    if same < 0:
        out.state[COUNT] = count + 1
        cell = _cell(out, local, 13)
        cells, chain = ptr(front.cells), ptr(front.chain)
        query = front.counts[QUERY]
        chain[at] = cells[2 * cell] if cells[2 * cell + 1] == query else -1
        cells[2 * cell], cells[2 * cell + 1] = at, query


@kernel
def _cell(out: Out, x: Vec3, side: int) -> int:
    """Place in the hash of the cell of a point, or of one of the 26 around it."""
    i = floor(x[0] / out.near) + side // 9 - 1
    j = floor(x[1] / out.near) + side // 3 % 3 - 1
    k = floor(x[2] / out.near) + side % 3 - 1
    return (i * 73856093 ^ j * 19349663 ^ k * 83492791) & (CELLS - 1)


@kernel
def _same_place(out: Out, front: Front, x: Vec3, n: Vec3) -> int:
    """The contact found at this place already, with the same body and a like normal; −1: none."""
    cells, chain = ptr(front.cells), ptr(front.chain)
    query = front.counts[QUERY]
    for side in range(27):
        cell = _cell(out, x, side)
        at = cells[2 * cell] if cells[2 * cell + 1] == query else -1
        while at >= 0:
            row = off(out.rows, NCONTACT * at)
            if row[CONTACT_BODY] == out.label:
                y = (row[CONTACT_LOCAL], row[CONTACT_LOCAL + 1], row[CONTACT_LOCAL + 2])
                m = (row[CONTACT_NORMAL], row[CONTACT_NORMAL + 1], row[CONTACT_NORMAL + 2])
                if norm(sub(x, y)) < out.near and dot(m, n) > ALIKE:
                    return int(at)
            at = chain[at]
    return -1
