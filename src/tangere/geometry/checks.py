"""Input checks shared by shapes and scenes: each returns the clean value or raises one clear line.

Every message has the form "<what>: <fault>, got <value>; <remedy>", so that callers can put a file
or body name in front of it.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.maths.vec import Array

# Largest magnitude of any number a user may give, in SI units. Sixth powers of lengths (moments of
# inertia times volume) still fit a double, and nothing made of matter comes near it.
LARGEST = 1e15
# Smallest positive size, mass or volume-like number: below it products underflow to zero.
SMALLEST = 1e-15
# A direction or quaternion this close to unit length is left alone, so that what was normalised
# once is reproduced bit for bit when a file is read again. Normalising leaves at most 2 ulp.
UNIT_ROUNDING = 4.0 * np.finfo(np.float64).eps

# Farthest a shape may lie from its frame's origin, in units of its own size: beyond, the rounding
# of its coordinates would dent its faces.
FARTHEST = 1e7

SHOWN_CHARACTERS = 60
LINE_CHARACTERS = 200


def show(value: object) -> str:
    """Short one-line text of any value for an error message."""
    try:
        text = repr(value)
    except Exception:  # a broken __repr__ must not hide the fault being reported
        text = f"<{type(value).__name__}>"
    text = one_line(text)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."


def one_line(text: object) -> str:
    """`text` on one line, unprintable characters replaced, the middle of long text left out."""
    if isinstance(text, OSError) and text.strerror:
        text = text.strerror  # without the path, which the message has already
    line = "".join(c if c.isprintable() else "?" for c in " ".join(str(text).split()))
    half = LINE_CHARACTERS // 2
    return line if len(line) <= LINE_CHARACTERS else f"{line[:half]}...{line[-half:]}"


def hint(name: object, known: list[str]) -> str:
    """'; did you mean ...' or a list of what there is."""
    close = difflib.get_close_matches(str(name), known, n=1)
    if close:
        return f"; did you mean {show(close[0])}?"
    if not known:
        return "; there are none yet"
    return "; known: " + ", ".join(show(n) for n in known[:8]) + (", ..." if len(known) > 8 else "")


def number(value: object, what: str, *, least: float = -LARGEST, most: float = LARGEST) -> float:
    """`value` as a finite float within [least, most]."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        raise SceneError(f"{what}: expected a number, got {show(value)}")
    if isinstance(value, np.complexfloating):
        raise SceneError(f"{what}: expected a real number, got {show(value)}")
    try:
        x = float(value)
    except OverflowError:
        x = math.inf
    if not math.isfinite(x):
        raise SceneError(f"{what}: must be finite, got {show(value)}; give a plain number")
    if not least <= x <= most:
        if x <= 0.0 and least > 0.0:
            raise SceneError(
                f"{what}: must be positive, got {show(value)}; give a value above zero"
            )
        if x < 0.0 and least == 0.0:
            raise SceneError(f"{what}: must not be negative, got {show(value)}; give zero or more")
        raise SceneError(
            f"{what}: out of range, got {show(value)}; "
            f"give a value from {least:g} to {most:g} (SI units)"
        )
    return x


def positive(value: object, what: str) -> float:
    """`value` as a float above zero and within the range of sensible numbers."""
    return number(value, what, least=SMALLEST)


def integer(value: object, what: str, least: int, most: int) -> int:
    """`value` as an int within [least, most]."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise SceneError(f"{what}: expected a whole number, got {show(value)}")
    if not least <= value <= most:
        raise SceneError(
            f"{what}: out of range, got {show(value)}; give a whole number from {least} to {most}"
        )
    return int(value)


def vector(value: ArrayLike, what: str, length: int = 3) -> Array:
    """`value` as a read-only array of `length` finite numbers."""
    items: list[Any]
    if isinstance(value, np.ndarray):
        items = list(value) if value.ndim == 1 and value.shape[0] == length else []
    elif isinstance(value, list | tuple):
        items = list(value)
    else:
        items = []
    if len(items) != length:
        raise SceneError(f"{what}: expected {length} numbers, got {show(value)}")
    return frozen(np.array([number(x, what) for x in items]))


def unit(value: ArrayLike, what: str, length: int) -> Array:
    """`value` scaled to unit length, unchanged if it has that already."""
    v = vector(value, what, length)
    squared = float(v @ v)
    if abs(squared - 1.0) <= UNIT_ROUNDING:
        return v
    size = math.sqrt(squared)
    if size < SMALLEST:
        raise SceneError(f"{what}: has no direction, got {show(value)}; give a vector of length 1")
    return frozen(v / size)


def check_resolution(low: Array, high: Array, what: str) -> None:
    """Refuse a bounding box [m] too far off the origin to tell its corners apart."""
    size, offset = float((high - low).max()), float(np.abs((low, high)).max())
    if offset > FARTHEST * size:
        raise SceneError(
            f"{what}: {size:.3g} m in size but {offset:.3g} m off its origin; move it closer"
        )


def frozen(array: Array) -> Array:
    """The same array, read-only from now on."""
    array.setflags(write=False)
    return array


def same(a: object, b: object) -> bool:
    """Whether two values are equal bit for bit, arrays and nested tuples included."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


class Record:
    """Base of frozen dataclasses that may hold arrays: equal when every compared field is equal."""

    def __eq__(self, other: object) -> bool:
        """Whether `other` is of the same kind with the same content."""
        if type(other) is not type(self):
            return NotImplemented
        return all(
            same(getattr(self, f.name), getattr(other, f.name))
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
            if f.compare
        )

    def __hash__(self) -> int:
        """Cheap hash by kind and scalar fields; equal records have equal hashes."""
        return hash(
            (
                type(self).__name__,
                *(
                    value
                    for f in dataclasses.fields(self)  # type: ignore[arg-type]
                    if f.compare and isinstance(value := getattr(self, f.name), int | float | str)
                ),
            )
        )
