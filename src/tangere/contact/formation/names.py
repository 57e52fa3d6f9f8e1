"""Readable names of principal contacts and formations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangere.contact.formation.columns import LINE, PC_A, PC_B, PC_BODY, PC_REGION
from tangere.geometry.boundary import FACE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangere.geometry.boundary import Boundary
    from tangere.maths.vec import Array

JOINT = " and "  # between the contacts of a formation


def contact_name(row: Array, boundaries: Sequence[Boundary], names: Sequence[str]) -> str:
    """What touches what: "peg face -z on block face +z".

    Args:
        row: Of the contact, see `columns`.
        boundaries: Of the held body, then of the fixed ones.
        names: Of these bodies.
    """
    body = 1 + int(row[PC_BODY])
    held = _element_name(names[0], boundaries[0], int(row[PC_A]))
    other = _element_name(names[body], boundaries[body], int(row[PC_B]))
    faces = all(
        boundary.elements.dimension[int(element)] == FACE
        for boundary, element in ((boundaries[0], row[PC_A]), (boundaries[body], row[PC_B]))
    )
    # round faces touch in a point, or along a line
    how = "along" if faces and row[PC_REGION] == LINE else "on"
    return f"{held} {how} {other}"


def formation_name(contacts: Sequence[str]) -> str:
    """One text for a whole formation."""
    return JOINT.join(contacts) or "free"


def _element_name(body: str, boundary: Boundary, element: int) -> str:
    """The body's name says enough where it has one element only, as a ball or a floor."""
    return body if len(boundary.names) == 1 else f"{body} {boundary.names[element]}"
