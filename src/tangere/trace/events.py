"""What happens beside the ticks: events with a name and a value, and labels of trials."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.geometry.checks import integer, show

Table = NDArray[np.void]

TEXT_BYTES = 64  # of a name or a label, in UTF-8
EVENT = np.dtype([("tick", "<i8"), ("clock", "<i8"), ("name", f"S{TEXT_BYTES}"), ("value", "<f8")])
LABEL = np.dtype([("tick", "<i8"), ("clock", "<i8"), ("label", f"S{TEXT_BYTES}")])
# The same as a trace shows them.
SHOWN_EVENT = np.dtype(
    [
        ("tick", "<i8"),
        ("time", "<f8"),
        ("clock", "<i8"),
        ("name", f"U{TEXT_BYTES}"),
        ("value", "<f8"),
    ]
)
SHOWN_LABEL = np.dtype(
    [("tick", "<i8"), ("time", "<f8"), ("clock", "<i8"), ("label", f"U{TEXT_BYTES}")]
)


def new_event(tick: int, clock: int, name: str, value: float) -> tuple[int, int, bytes, float]:
    """A row of a table of events.

    Raises:
        SceneError: The name is no text or too long, or a number is none.
    """
    what = f"event {show(name)}"
    text = _encoded(name, what)
    try:
        size = float(value)
    except (TypeError, ValueError, OverflowError):
        raise SceneError(f"{what}: its value must be a number, got {show(value)}") from None
    return _whole(tick, f"{what}: tick"), _whole(clock, f"{what}: clock"), text, size


def new_label(tick: int, clock: int, label: str) -> tuple[int, int, bytes]:
    """A row of a table of labels; the errors of `new_event`."""
    what = f"label {show(label)}"
    text = _encoded(label, what)
    return _whole(tick, f"{what}: tick"), _whole(clock, f"{what}: clock"), text


def _whole(value: int, what: str) -> int:
    return integer(value, what, -(1 << 63), (1 << 63) - 1)


def _encoded(text: object, what: str) -> bytes:
    """The text in UTF-8."""
    if not isinstance(text, str):
        raise SceneError(f"{what}: expected a text")
    data = text.encode(errors="replace")
    if len(data) > TEXT_BYTES:
        raise SceneError(f"{what}: {len(data)} bytes in UTF-8; give {TEXT_BYTES} at most")
    return data


def shown(table: Table, rate: float) -> NDArray[Any]:
    """A stored table as a trace shows it: texts decoded, the time of each tick [s] added."""
    text = "name" if "name" in (table.dtype.names or ()) else "label"
    made = np.zeros(len(table), SHOWN_EVENT if text == "name" else SHOWN_LABEL)
    for field in table.dtype.names or ():
        made[field] = (
            [each.decode(errors="replace") for each in table[text].tolist()]
            if field == text
            else table[field]
        )
    made["time"] = table["tick"] * (1.0 / rate)  # as the servo computes its deadlines
    made.setflags(write=False)
    return made


def within(table: Table, first: float, after: float) -> Table:
    """Rows whose tick lies in [first, after)."""
    return table[(table["tick"] >= first) & (table["tick"] < after)]


def labels_within(labels: Table, first: float, after: float) -> Table:
    """Labels of the ticks in [first, after), and the one that holds at the first of them."""
    earlier = labels[labels["tick"] < first]
    return np.concatenate((earlier[-1:], within(labels, first, after)))
