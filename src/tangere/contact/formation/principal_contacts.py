"""Principal contacts: whether two elements touch within a layer, and where."""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.contact.formation.candidates import Surface
from tangere.contact.formation.columns import PC_A, PC_B, PC_BODY, PC_ID, PC_REGION
from tangere.contact.formation.curved_contacts import find_curved
from tangere.contact.formation.flat_contacts import Limits, find_flat
from tangere.geometry.boundary import CIRCLE, PLANE

# Elements of one body that a contact id can tell apart
MOST_ELEMENTS = 65536


@kernel
def find_contact(a: Surface, i: int, b: Surface, j: int, limits: Limits, row: PtrF8) -> bool:
    """Fill the row of a principal contact of element i of A and j of B; False: none."""
    if is_curved(a.kind[i]) or is_curved(b.kind[j]):
        found = find_curved(a, i, b, j, limits, row)
    else:
        found = find_flat(a, i, b, j, limits, row)
    if found:
        name_row(a, i, b, j, row)
    return found


@kernel
def is_curved(kind: int) -> bool:
    """Whether an element is a circle or a curved face."""
    return bool(kind == CIRCLE or kind > PLANE)


@kernel
def name_row(a: Surface, i: int, b: Surface, j: int, row: PtrF8) -> None:
    """Write who touches, and the id: (body, a, b, region) as one whole number below 2⁵³."""
    body = b.body[j]
    row[PC_BODY], row[PC_A], row[PC_B] = body, a.local[i], b.local[j]
    pair = (1.0 * body * MOST_ELEMENTS + a.local[i]) * MOST_ELEMENTS + b.local[j]
    row[PC_ID] = 4.0 * pair + row[PC_REGION]
