"""Every entry kernel run once on a tiny input, so that nothing compiles later in a running session.

With a warm cache this loads the machine code, in about a second; the first time on a machine it
compiles, under one progress bar.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tangere._jit import one_bar


def jobs() -> tuple[tuple[str, Callable[[], object]], ...]:
    """Name and call of every entry kernel's tiny run."""
    return ()


def warm_up() -> float:
    """Seconds that it took to have every entry kernel compiled and loaded in this process."""
    start = time.perf_counter()
    with one_bar():
        for _, job in jobs():
            job()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.stderr.write(f"tangere: kernels ready in {warm_up():.1f} s\n")
