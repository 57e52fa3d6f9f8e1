"""The table of formations: which sets of principal contacts are valid, filled as they come up.

An open hash table: the key of a formation is the sum of the mixed bits of its contacts' ids, so
that their order does not matter. A verdict that depends on the pose is not kept in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere.geometry.disk_cache import content_hash, read_arrays, write_arrays
from tangere.maths.vec import LongArray

if TYPE_CHECKING:
    from pathlib import Path

    from tangere.contact.formation.candidates import Surface

SLOTS = 1 << 14
MOST_PROBES = 64
# Keys are kept below 2⁶² so that plain Python and machine code agree on every bit.
MASK = (1 << 62) - 1
# Odd numbers of evenly spread bits (Steele, Lea and Flood 2014, SplitMix64), cut to 62 bits
_ONE, _TWO = 0x3F58476D1CE4E5B9, 0x14D049BB133111EB
_FOLDER, _FORMAT = "formations", 1


class Table(NamedTuple):
    """Open addressing: key 0 is an empty slot."""

    keys: LongArray
    verdicts: LongArray


def new_table() -> Table:
    """An empty table."""
    return Table(np.zeros(SLOTS, np.int64), np.zeros(SLOTS, np.int64))


@kernel
def mixed(contact: float) -> int:
    """Bits of a contact's id, mixed."""
    h = (int(contact) + 1) & MASK
    h = ((h ^ (h >> 30)) * _ONE) & MASK
    h = ((h ^ (h >> 27)) * _TWO) & MASK
    return h ^ (h >> 31)


@kernel
def verdict_of(t: Table, key: int) -> int:
    """What was found for a formation: VALID or IMPOSSIBLE; 0: nothing yet."""
    at = key & (SLOTS - 1)
    for _ in range(MOST_PROBES):
        if t.keys[at] == key:
            return int(t.verdicts[at])
        if t.keys[at] == 0:
            return 0
        at = (at + 1) & (SLOTS - 1)
    return 0


@kernel
def keep(t: Table, key: int, verdict: int) -> None:
    """Remember a verdict; a full neighbourhood forgets it, which costs time alone."""
    at = key & (SLOTS - 1)
    for _ in range(MOST_PROBES):
        if t.keys[at] == 0 or t.keys[at] == key:
            t.keys[at], t.verdicts[at] = key, verdict
            return
        at = (at + 1) & (SLOTS - 1)


def table_file(a: Surface, b: Surface, layer: float) -> Path:
    """Where the table of these bodies is kept: it depends on all their elements and on ε."""
    from tangere._jit import cache_root

    return cache_root() / _FOLDER / f"{content_hash((_FORMAT, *a, *b, layer))}.npz"


def load_table(path: Path) -> Table:
    """The table of earlier runs, or an empty one."""
    stored = read_arrays(path)
    if stored is None or stored["keys"].shape != (SLOTS,):
        return new_table()
    return Table(stored["keys"], stored["verdicts"])


def save_table(path: Path, table: Table) -> None:
    """Keep what was found for later runs."""
    write_arrays(path, {"keys": table.keys, "verdicts": table.verdicts})
