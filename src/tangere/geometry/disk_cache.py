"""Arrays kept on disk under a hash of what they were computed from.

For results that take seconds to minutes: convex pieces, tetrahedra, compliances. Readers see a
whole file or none; a damaged file counts as none, and a folder that cannot be written is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

DIGEST = "digest"


def cached(folder: str, contents: tuple[object, ...], compute: Callable[[], Arrays]) -> Arrays:
    """What `compute` returns, from the cache where it was computed before.

    Args:
        folder: Below `cache_root()`.
        contents: All that the result depends on: arrays, and values whose `repr` tells them apart.
        compute: Makes the arrays.
    """
    from tangere._jit import cache_root

    path = cache_root() / folder / f"{content_hash(contents)}.npz"
    arrays = read_arrays(path)
    if arrays is None:
        arrays = compute()
        write_arrays(path, arrays)
    return arrays


def content_hash(contents: tuple[object, ...]) -> str:
    """Hash of arrays (type, shape and bytes) and of other values by their `repr`."""
    key = hashlib.sha256()
    for value in contents:
        if isinstance(value, np.ndarray):
            _add(key, value)
        else:
            key.update(repr(value).encode() + b"\0")
    return key.hexdigest()[:32]


def read_arrays(path: Path) -> Arrays | None:
    """Arrays stored earlier; None where there are none or the file is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = dict(stored.items())
        digest = bytes(arrays.pop(DIGEST))
    except Exception:  # damaged archives raise from many layers; any of them means: compute again
        return None
    return arrays if digest == _digest(arrays) else None


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Store arrays: readers see the whole file or none. A read-only folder is no error."""
    digest = np.frombuffer(_digest(arrays), dtype=np.uint8)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _draft(path) as draft, draft.open("wb") as file:
            np.savez(file, **arrays, **{DIGEST: digest})  # type: ignore[arg-type]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that others see the old content or the new, never a part of it."""
    with _draft(path) as draft:
        draft.write_bytes(content)


@contextlib.contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place if all goes well."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _digest(arrays: Arrays) -> bytes:
    key = hashlib.sha256()
    for name in sorted(arrays):
        key.update(name.encode() + b"\0")
        _add(key, arrays[name])
    return key.digest()


def _add(key: Any, array: NDArray[Any]) -> None:
    key.update(f"{array.dtype.str} {array.shape}\0".encode())
    key.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
