"""What changed since the last pose: which contacts were kept, and the type of the motion before.

Contacts of the same id are the same. Of those left over a new one g and an old one l are one
*change* if their elements are related pair by pair and their regions lie within 2ε: an edge that
lay on a face and now touches with its end. From what is left then,

    no contact → FREE,  none before → FIRST,  gained → GAINED,  lost or changed → LOST,  else KEPT

FIRST, KEPT, GAINED, LOST are the paper's MT1 to MT4.

A contact that comes back within the debounce time was never lost. Where several begin in one pose
without any before, the earliest is FIRST; the others are gained.

Elements are related if they are one, if one bounds the other, or if they are neighbours: of equal
dimension with a common end or edge, or the two ends of an edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, off
from tangere.contact.formation.columns import (
    FIRST,
    FREE,
    GAINED,
    KEPT,
    LOST,
    MEM_ID,
    MEM_ROW,
    MEM_SEEN,
    MEM_USED,
    MOST_CONTACTS,
    NMEM,
    NOUT,
    NPC,
    OUT_GAP_RATE,
    PC_A,
    PC_B,
    PC_BODY,
    PC_COUNT,
    PC_GAP,
    PC_ID,
    PC_POLYGON,
)
from tangere.contact.formation.regions import from_region
from tangere.geometry.boundary import Elements
from tangere.maths.vec import LongArray

# What became of a contact
IS_KEPT, IS_CHANGED, IS_NEW, IS_FIRST = 0, 1, 2, 3


class Relations(NamedTuple):
    """Which elements are related, body by body: A first, then every B.

    | field  | meaning                                                    | shape          |
    | start  | table of body k begins at start[k]; its width is width[k]  | (1 + bodies,)  |
    | width  | number of elements of body k                               | (1 + bodies,)  |
    | table  | 1: elements e and f of the body are related                | Σ width²       |
    """

    start: LongArray
    width: LongArray
    table: NDArray[np.int8]


def relations(bodies: Sequence[Elements]) -> Relations:
    """Related elements of A and of every B."""
    tables = [_related(body) for body in bodies]
    sizes = [table.size for table in tables]
    return Relations(
        np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        np.array([len(table) for table in tables], np.int64),
        np.concatenate([table.ravel() for table in tables]),
    )


def _related(body: Elements) -> NDArray[np.int8]:
    """The table of one body, by products of its table of what bounds what."""
    n = len(body.dimension)
    bounds = np.zeros((n, n), bool)  # [e, f]: f is one of those just below e
    for e in range(n):
        bounds[e, body.below[body.below_start[e] : body.below_start[e + 1]]] = True
    closure = bounds | (bounds @ bounds)
    same = body.dimension[:, None] == body.dimension[None, :]
    common = (bounds @ bounds.T) & same  # faces with an edge, edges with an end
    ends = (bounds.T @ bounds) & (body.dimension == 0) & (body.dimension == 0)[:, None]
    table: NDArray[np.bool_] = np.eye(n, dtype=bool) | closure | closure.T | common | ends
    return table.astype(np.int8)


class Frame(NamedTuple):
    """What one pose brought, as pointers.

    | field  | meaning                                                        | shape         |
    | rows   | principal contacts, `PC_…`                                     | (count, NPC)  |
    | last   | those of the last pose                                         | …             |
    | memory | see `MEM_…`                                                    | …             |
    | out    | see `OUT_…`                                                    | (…, NOUT)     |
    | place  | of every contact: row of its memory                            | (count,)      |
    | fate   | of every contact: `IS_…`                                       | (count,)      |
    """

    rows: PtrF8
    last: PtrF8
    memory: PtrF8
    out: PtrF8
    place: PtrI8
    fate: PtrI8


@kernel
def match(
    f: Frame, kin: Relations, count: int, time: float, before: float, debounce: float, layer: float
) -> int:
    """Find the memory of every contact, and the type of the motion before.

    Args:
        f: `place` and `fate` are filled; memory is not changed.
        kin: Related elements.
        count: Contacts there are.
        time: Of this pose [s].
        before: Of the last one [s].
        debounce: Contacts lost for longer are forgotten [s].
        layer: ε [m].
    """
    taken = local_f8(16)  # MOST_CONTACTS; 1: a contact has this memory
    there_were = 0
    for j in range(MOST_CONTACTS):
        row = off(f.memory, NMEM * j)
        taken[j] = 0.0
        if row[MEM_USED] == 1.0 and row[MEM_SEEN] < before and time - row[MEM_SEEN] > debounce:
            row[MEM_USED] = 0.0
        if row[MEM_USED] == 1.0:
            there_were += 1
    found = 0
    for i in range(count):
        f.fate[i], f.place[i] = IS_NEW, -1
        for j in range(MOST_CONTACTS):
            row = off(f.memory, NMEM * j)
            if row[MEM_USED] == 1.0 and row[MEM_ID] == f.rows[NPC * i + PC_ID]:
                f.fate[i], f.place[i] = IS_KEPT, j
                taken[j] = 1.0
                found += 1
    changed = 0
    for i in range(count if found < there_were else 0):
        if f.fate[i] != IS_NEW:
            continue
        for j in range(MOST_CONTACTS):
            row = off(f.memory, NMEM * j)
            if row[MEM_USED] == 0.0 or taken[j] == 1.0 or row[MEM_SEEN] < before:
                continue
            old = off(f.last, NPC * int(row[MEM_ROW]))
            if _is_change(off(f.rows, NPC * i), old, kin, 2.0 * layer):
                f.fate[i], f.place[i] = IS_CHANGED, j
                taken[j] = 1.0
                changed += 1
                break
    lost = 0
    for j in range(MOST_CONTACTS):
        row = off(f.memory, NMEM * j)
        if row[MEM_USED] == 1.0 and taken[j] == 0.0 and not row[MEM_SEEN] < before:
            lost += 1
    if count == 0:
        return FREE
    gained = count - found - changed
    if gained == count and lost == 0:
        _choose_first(f, count, layer)
        return FIRST
    if gained > 0:
        return GAINED
    if lost > 0 or changed > 0:
        return LOST
    return KEPT


@kernel
def _choose_first(f: Frame, count: int, layer: float) -> None:
    """Of contacts that all are new the one that entered the layer earliest, by (ε − d)/|ḋ|."""
    best, earliest = 0, -1.0
    for i in range(count):
        speed = max(1e-9, abs(f.out[NOUT * i + OUT_GAP_RATE]))
        ago = (layer - f.rows[NPC * i + PC_GAP]) / speed
        if ago > earliest:
            best, earliest = i, ago
    f.fate[best] = IS_FIRST


@kernel
def _is_change(new: PtrF8, old: PtrF8, kin: Relations, near: float) -> bool:
    """Whether an old contact became the new one."""
    body = int(new[PC_BODY])
    if old[PC_BODY] != new[PC_BODY]:
        return False
    return (
        _are_related(kin, 0, int(new[PC_A]), int(old[PC_A]))
        and _are_related(kin, 1 + body, int(new[PC_B]), int(old[PC_B]))
        and (_apart(new, old) <= near or _apart(old, new) <= near)
    )


@kernel
def _are_related(kin: Relations, body: int, e: int, f: int) -> bool:
    """Whether two elements of a body are."""
    return bool(kin.table[kin.start[body] + kin.width[body] * e + f] == 1)


@kernel
def _apart(a: PtrF8, b: PtrF8) -> float:
    """Least distance of the points of region a from region b [m]."""
    least = inf
    for i in range(int(a[PC_COUNT])):
        p = (a[PC_POLYGON + 3 * i], a[PC_POLYGON + 3 * i + 1], a[PC_POLYGON + 3 * i + 2])
        least = min(least, from_region(p, b))
    return least
