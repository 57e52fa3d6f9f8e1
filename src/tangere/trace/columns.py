"""The columns of a trace: names in words for the numbers of a row, and faults in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere.haptics import layout
from tangere.maths.vec import Array


class Place(NamedTuple):
    """Where a column stands in a row."""

    start: int
    width: int


def _motion(thing: str, start: int) -> dict[str, Place]:
    return {
        f"{thing}.position": Place(start, 3),
        f"{thing}.orientation": Place(start + 3, 4),
        f"{thing}.velocity": Place(start + 7, 3),
        f"{thing}.angular_velocity": Place(start + 10, 3),
    }


def _wrench(thing: str, start: int) -> dict[str, Place]:
    return {f"{thing}.force": Place(start, 3), f"{thing}.torque": Place(start + 3, 3)}


COLUMNS: dict[str, Place] = {
    "time": Place(layout.ROW_TIME, 1),
    **_motion("device", layout.ROW_DEVICE),
    **_wrench("device", layout.ROW_SENT),
    **_motion("hand", layout.ROW_HAND),
    **_motion("tool", layout.ROW_TOOL),
    **_wrench("tool", layout.ROW_CONTACT),
    **_wrench("coupling", layout.ROW_COUPLING),
    **_wrench("applied", layout.ROW_APPLIED),
    **_wrench("effect", layout.ROW_EFFECT),
    "gripper.opening": Place(layout.ROW_GRIPPER, 1),
    "gripper.force": Place(layout.ROW_GRIPPER_FORCE, 1),
    "energy.observed": Place(layout.ROW_OBSERVED, 1),
    "energy.budget": Place(layout.ROW_BUDGET, 1),
    "energy.stored": Place(layout.ROW_STORED, 1),
    "contact.depth": Place(layout.ROW_DEPTH, 1),
    "contact.count": Place(layout.ROW_PLANES, 1),
    "contact.age": Place(layout.ROW_AGE, 1),
    "servo.late": Place(layout.ROW_LATE, 1),
    "servo.duration": Place(layout.ROW_SPENT_TIME, 1),
    "servo.missed": Place(layout.ROW_MISSED, 1),
    "device.sample_age": Place(layout.ROW_SAMPLE_AGE, 1),
    "device.write_time": Place(layout.ROW_WRITE_TIME, 1),
    "servo.lead": Place(layout.ROW_LEAD, 1),
    "servo.gain": Place(layout.ROW_GAIN, 1),
    "servo.net": Place(layout.ROW_NET, 1),
    "servo.state": Place(layout.ROW_STATE, 1),
    "event": Place(layout.ROW_EVENT, 1),
    "fault": Place(layout.ROW_FAULT, 1),
    "buttons": Place(layout.ROW_BUTTONS, 1),
}
WHOLE_NUMBERS = ("contact.count", "servo.missed", "servo.state", "event", "fault", "buttons")
# How the machine did, not what happened: another run of the same session differs here.
OF_THE_MACHINE = (
    "servo.late",
    "servo.duration",
    "servo.missed",
    "device.sample_age",
    "device.write_time",
)
# Bits of `fault` that come from outside the haptic loop.
FAULTS_OF_THE_MACHINE = layout.FAULT_RECORD | layout.FAULT_VIEWER

FAULT_WORDS: dict[int, str] = {
    layout.FAULT_READ: "the device could not be read",
    layout.FAULT_SILENT: "the device sent no new sample for too long",
    layout.FAULT_JUMP: "the device's reading jumped",
    layout.FAULT_SPEED: "the hand moved faster than allowed",
    layout.FAULT_NAN_READING: "the device's reading was not a number",
    layout.FAULT_WRITE: "the device did not take the force",
    layout.FAULT_STALE: "the contact loop sent nothing for too long",
    layout.FAULT_NAN_CONTACT: "the contact loop sent something that is not a number",
    layout.FAULT_NAN_FORCE: "the computed force was not a number",
    layout.FAULT_TOOL: "the tool left all bounds and was put back to the hand",
    layout.FAULT_LIMIT: "the force was limited",
    layout.FAULT_NET: "the force was softened: more energy came out than went in",
    layout.FAULT_RECORD: "the recording stopped",
    layout.FAULT_VIEWER: "the viewer went away",
    layout.FAULT_ESCAPE: "stopped by the user or the watchdog",
    layout.FAULT_SLOW: "the device's driver took too long to answer",
    layout.FAULT_OFF: "the device's own force is off",
    layout.FAULT_LOST: "the device is gone",
}


class Fault(NamedTuple):
    """One stretch of ticks in which a bit of `fault` was set."""

    time: float  # of its first tick [s]
    until: float  # time of its last tick [s]
    ticks: int
    bit: int
    words: str
    tool: str  # "" when there is only one


def faults_of(time: Array, bits: NDArray[np.int64], tool: str = "") -> list[Fault]:
    """Every stretch of every bit that was set, in order of time."""
    found = []
    for bit, words in FAULT_WORDS.items():
        on = np.concatenate(([False], (bits & bit) != 0, [False]))
        edges = np.flatnonzero(on[1:] != on[:-1])
        for first, after in zip(edges[::2], edges[1::2], strict=True):
            start, last = float(time[first]), float(time[after - 1])
            found.append(Fault(start, last, int(after - first), bit, words, tool))
    return sorted(found, key=lambda fault: (fault.time, fault.bit))


def in_words(faults: Sequence[Fault]) -> list[str]:
    """One line per kind of fault: when first, what, for how many ticks."""
    kinds: dict[tuple[str, int], list[Fault]] = {}
    for fault in faults:
        kinds.setdefault((fault.tool, fault.bit), []).append(fault)
    lines = []
    for same in kinds.values():
        first, ticks = same[0], sum(fault.ticks for fault in same)
        whose = f"{first.tool}: " if first.tool else ""
        often = f" in {len(same)} stretches" if len(same) > 1 else ""
        plural = "" if ticks == 1 else "s"
        lines.append(f"{first.time:.3f} s: {whose}{first.words} ({ticks} tick{plural}{often})")
    return lines


def places_of(tools: Sequence[str]) -> dict[str, Place]:
    """Columns of rows that hold one stretch of layout.NROW numbers per tool.

    With several tools every name begins with that of its tool.
    """
    if len(tools) == 1:
        return dict(COLUMNS)
    return {
        f"{tool}.{name}": Place(k * layout.NROW + place.start, place.width)
        for k, tool in enumerate(tools)
        for name, place in COLUMNS.items()
    }


def row_type(places: Mapping[str, Place], width: int) -> np.dtype[np.void]:
    """A row of `width` floats as a NumPy record; the same bytes, with names."""
    return np.dtype(
        {
            "names": list(places),
            "formats": [("<f8", (p.width,)) if p.width > 1 else "<f8" for p in places.values()],
            "offsets": [8 * p.start for p in places.values()],
            "itemsize": 8 * width,
        }
    )


def flat_names(name: str, width: int) -> list[str]:
    """Names of the single numbers of a column: `tool.force.x` …, for tables without vectors."""
    if width == 1:
        return [name]
    return [f"{name}.{axis}" for axis in ("wxyz" if width == 4 else "xyz")]


def named_settings(settings: Array) -> dict[str, float | list[float]]:
    """The SET_… columns of a rig in words, for `Trace.meta`."""
    starts = {name[4:].lower(): at for name, at in vars(layout).items() if name.startswith("SET_")}
    ends = sorted([*starts.values(), layout.NSET])
    named: dict[str, float | list[float]] = {}
    for name, start in sorted(starts.items(), key=lambda item: item[1]):
        values = settings[start : ends[ends.index(start) + 1]].tolist()
        named[name] = values[0] if len(values) == 1 else values
    return named
