"""Named tuples of arrays in memory that two processes share.

One process makes the block and says in plain words what lies where; the other attaches to it. Once
both have it the name is taken away (`hide`): then the memory is gone when the last of them ends,
however it ends.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tangere.errors import DeviceError

ALIGN = 64  # bytes: every array begins on a cache line of its own
MEMORY = Path("/dev/shm")  # files here are memory and nothing else, on Linux


class SharedArrays:
    """A block of shared memory with the arrays of some named tuples.

    Attributes:
        name: Under which another process attaches.
        layout: For each tuple, for each field: type, shape and place; JSON can say it.
    """

    def __init__(self, name: str, layout: list[list[list[Any]]]) -> None:
        """Attach to a block.

        Raises:
            DeviceError: There is none of that name, or it is too small.
        """
        self.name, self.layout = name, layout
        ends = (
            place + np.dtype(kind).itemsize * int(np.prod(shape))
            for fields in layout
            for kind, shape, place in fields
        )
        try:
            with open(name, "r+b") as file:
                self._memory = mmap.mmap(file.fileno(), 0)
        except (OSError, ValueError) as error:
            raise DeviceError(
                f"no shared memory {name!r} ({error}): is the session running?"
            ) from None
        if len(self._memory) < max(ends, default=0):
            raise DeviceError(f"the shared memory {name!r} is too small for what it shall hold")

    @classmethod
    def make(cls, tuples: Sequence[Any]) -> SharedArrays:
        """A new block with room for these; their values are copied."""
        layout, place = [], 0
        for each in tuples:
            fields = []
            for array in each:
                fields.append([array.dtype.str, list(array.shape), place])
                place += -(-array.nbytes // ALIGN) * ALIGN
            layout.append(fields)
        folder = MEMORY if os.access(MEMORY, os.W_OK) else None
        handle, name = tempfile.mkstemp(prefix="tangere-", dir=folder)
        os.truncate(handle, max(place, 1))
        os.close(handle)
        shared = cls(name, layout)
        for given, fields in zip(tuples, layout, strict=True):
            for array, field in zip(given, fields, strict=True):
                shared._view(field)[...] = array
        return shared

    def tuples(self, kinds: Sequence[Any]) -> list[Any]:
        """The named tuples, of these kinds, over the memory."""
        return [
            kind(*(self._view(field) for field in fields))
            for kind, fields in zip(kinds, self.layout, strict=True)
        ]

    def hide(self) -> None:
        """Take the name away: who has the memory keeps it, and nobody else can come."""
        with suppress(OSError):  # gone, or a system that keeps files that are in use
            os.unlink(self.name)

    def _view(self, field: list[Any]) -> Any:
        kind, shape, place = field
        return np.ndarray(tuple(shape), np.dtype(kind), self._memory, place)
