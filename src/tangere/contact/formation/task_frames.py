"""Task frames: their x axis is carried from frame to frame, so that memory of friction survives.

The y axis is the contact normal towards A. x is last frame's x of the same contact, laid into the
new contact plane; of a contact that has changed, that of the one whose elements bound its own. A
contact without a plane of its own takes last frame's normal in the same way.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.contact.formation.candidates import Surface, within
from tangere.contact.formation.columns import (
    LINE,
    NPC,
    PC_ID,
    PC_NORMAL,
    PC_REGION,
    PC_TANGENT,
)
from tangere.geometry.boundary import EDGE, FACE
from tangere.maths.vec import basis

if TYPE_CHECKING:
    from tangere.contact.formation.identify import Found, Memory

# A tangent this close to the new normal cannot be laid into the plane [sine].
_UPRIGHT = 1e-3
# Cosine of the angle up to which last frame's normal serves a contact without a plane.
_SAME_SIDE = 0.5


@kernel
def carry_frames(
    a: Surface, b: Surface, m: Memory, chosen: PtrI4, found: Found, count: int, rows: PtrF8
) -> None:
    """Write the tangents, and the normals of contacts without a plane of their own.

    Args:
        a: Surface of A.
        b: Surface of B.
        m: Of the last frame.
        chosen: Candidates of this frame's contacts.
        found: All candidates.
        count: Contacts.
        rows: Of the contacts; changed.
    """
    for k in range(count):
        row = off(rows, NPC * k)
        i, j = found.first[chosen[k]], found.second[chosen[k]]
        last = _last_row(a, b, m, i, j, row[PC_ID])
        if last < 0:
            continue
        before = off(m.rows, NPC * last)
        if a.dimension[i] + b.dimension[j] < FACE or (
            a.dimension[i] == EDGE and b.dimension[j] == EDGE and row[PC_REGION] == LINE
        ):
            _keep_normal(before, row)
        _lay_tangent(before, row)


@kernel
def _last_row(a: Surface, b: Surface, m: Memory, i: int, j: int, contact: float) -> int:
    """Last frame's contact with the same id, else one whose elements bound these; −1: none."""
    related = -1
    for k in range(m.state[0]):
        if m.rows[NPC * k + PC_ID] == contact:
            return k
        c, d = m.first[k], m.second[k]
        if (within(a, i, c) or within(a, c, i)) and (within(b, j, d) or within(b, d, j)):
            related = k
    return related


@kernel
def _keep_normal(before: PtrF8, row: PtrF8) -> None:
    """Last frame's normal, if it is on the same side."""
    cosine = 0.0
    for c in range(3):
        cosine += before[PC_NORMAL + c] * row[PC_NORMAL + c]
    if cosine > _SAME_SIDE:
        for c in range(3):
            row[PC_NORMAL + c] = before[PC_NORMAL + c]
        t, _ = basis((row[PC_NORMAL], row[PC_NORMAL + 1], row[PC_NORMAL + 2]))
        for c in range(3):
            row[PC_TANGENT + c] = t[c]


@kernel
def _lay_tangent(before: PtrF8, row: PtrF8) -> None:
    """The part t − (t·n) n of last frame's tangent t, as a unit vector."""
    along = 0.0
    for c in range(3):
        along += before[PC_TANGENT + c] * row[PC_NORMAL + c]
    size = 0.0
    for c in range(3):
        size += (before[PC_TANGENT + c] - along * row[PC_NORMAL + c]) ** 2
    size = sqrt(size)
    if size > _UPRIGHT:
        for c in range(3):
            row[PC_TANGENT + c] = (before[PC_TANGENT + c] - along * row[PC_NORMAL + c]) / size
