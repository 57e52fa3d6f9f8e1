"""The only place that names Numba's compiler: the `kernel` decorator, its cache and the warm-up.

Machine code is cached in a folder named by a hash over all kernel sources of the package. Numba's own
cache looks at the file of the *called* function only: a change in a callee of another file would run
stale machine code without a word. With the hash in the path any edit leads to a fresh folder.

Three builds come from the same sources (see `_ptr`): raw pointers (default), bounds-checked arrays
(`TANGERE_CHECK=1`), and plain Python (`NUMBA_DISABLE_JIT=1`, for coverage and the debugger).
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

CHECKED = os.environ.get("TANGERE_CHECK", "0") not in ("", "0")
PACKAGE = Path(__file__).resolve().parent


def source_hash(root: Path = PACKAGE) -> str:
    """Hash over every Python source of the package, path and content [hex, 16 digits]."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(b"\0")
        digest.update(path.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Folder of all compiled kernels and prepared meshes: `TANGERE_CACHE_DIR` or the user's cache."""
    given = os.environ.get("TANGERE_CACHE_DIR")
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "tangere"


def _compiler() -> Any:
    import numba

    build = "checked" if CHECKED else "fast"
    numba.config.CACHE_DIR = str(cache_root() / "kernels" / f"{source_hash()}-{build}")
    return numba


_numba = _compiler()
JIT_DISABLED = bool(_numba.config.DISABLE_JIT)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a hot function: no interpreter lock, no allocation by habit, cached on disk.

    `fastmath` grants fused multiply-add alone: NaN tests stay valid. `error_model="numpy"` makes
    x/0 an infinity instead of an exception, which a 1 kHz loop could not handle.
    """
    compiled = _numba.njit(
        nogil=True,
        cache=True,
        error_model="numpy",
        fastmath={"contract"},
        boundscheck=CHECKED,
    )(function)
    return cast("Callable[P, R]", compiled)
