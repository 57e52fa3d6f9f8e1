"""One thread for OpenBLAS while many small matrices are multiplied.

A sparse triangular solve is thousands of products too small to share. On two busy cores, threads
that wait for each other made it three to six times slower, at worst forty times.
"""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

# Endings of the library's function names: with 32-bit indices, with 64-bit ones.
ENDINGS = ("", "64_")


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within: NumPy's and SciPy's OpenBLAS, where their wheels bring one, use a single thread."""
    libraries = thread_counts()
    before = [get() for get, _ in libraries]
    for _, put in libraries:
        put(1)
    try:
        yield
    finally:
        for (_, put), count in zip(libraries, before, strict=True):
            put(count)


def thread_counts() -> list[tuple[Any, Any]]:
    """Functions that read and set the number of threads of each OpenBLAS that is loaded."""
    import scipy

    found = []
    for package in (np, scipy):
        home = Path(str(package.__file__)).resolve().parents[1] / f"{package.__name__}.libs"
        for path in sorted(home.glob("*openblas*")):
            library = ctypes.CDLL(str(path))
            for ending in ENDINGS:
                with contextlib.suppress(AttributeError):
                    get = getattr(library, f"scipy_openblas_get_num_threads{ending}")
                    found.append((get, getattr(library, f"scipy_openblas_set_num_threads{ending}")))
    return found
