"""The columns of a trace: names, units and words for the numbers of a row, and faults in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.geometry.checks import hint, show
from tangere.haptics import layout
from tangere.maths.vec import Array

# Of the meaning of the columns. Columns may be added under the same number; it goes up when one
# changes its meaning or goes away, and then a trace of an older number cannot be replayed.
LAYOUT = 2  # 1: of files of format 1
USER = "a number of the user's own"
AXES = {3: ("x", "y", "z"), 4: ("w", "x", "y", "z")}


class Column(NamedTuple):
    """One column of a trace: where it stands in a row, and what it means."""

    start: int
    width: int
    unit: str
    words: str
    name: str  # without that of its tool
    tool: str = ""


def _motion(thing: str, start: int, whose: str) -> list[Column]:
    return [
        Column(start, 3, "m", f"position {whose}", f"{thing}.position"),
        Column(start + 3, 4, "1", f"orientation {whose}, (w, x, y, z)", f"{thing}.orientation"),
        Column(start + 7, 3, "m/s", f"velocity {whose}", f"{thing}.velocity"),
        Column(start + 10, 3, "rad/s", f"angular velocity {whose}", f"{thing}.angular_velocity"),
    ]


def _wrench(thing: str, start: int, which: str) -> list[Column]:
    return [
        Column(start, 3, "N", f"force {which}", f"{thing}.force"),
        Column(start + 3, 3, "N m", f"torque {which}", f"{thing}.torque"),
    ]


def _number(name: str, start: int, unit: str, words: str) -> Column:
    return Column(start, 1, unit, words, name)


# In the order in which they are listed, stored and hashed.
COLUMNS: dict[str, Column] = {
    column.name: column
    for column in (
        _number("time", layout.ROW_TIME, "s", "deadline of the tick since the start"),
        *_motion("device", layout.ROW_DEVICE, "of the grip as the device told it, own frame"),
        *_wrench("device", layout.ROW_SENT, "sent to the device, after all limits"),
        *_motion("hand", layout.ROW_HAND, "of the hand in the world, after scale and clutch"),
        *_motion("tool", layout.ROW_TOOL, "of the tool at its centre of mass"),
        *_wrench("tool", layout.ROW_CONTACT, "of all contacts on the tool, at its centre of mass"),
        *_wrench("coupling", layout.ROW_COUPLING, "of the hand on the tool, through the coupling"),
        *_wrench(
            "applied", layout.ROW_APPLIED, "of the motors since the last tick, as far as known"
        ),
        *_wrench("effect", layout.ROW_EFFECT, "of effects on the hand"),
        _number("gripper.opening", layout.ROW_GRIPPER, "m or rad", "opening of the gripper"),
        _number("gripper.force", layout.ROW_GRIPPER_FORCE, "N", "sent, to close the gripper"),
        _number(
            "energy.observed",
            layout.ROW_OBSERVED,
            "J",
            "given by the hand so far; below zero the simulation gave more than it got",
        ),
        _number("energy.budget", layout.ROW_BUDGET, "J", "what the net may still give back"),
        _number("energy.stored", layout.ROW_STORED, "J", "held by tool, coupling and planes"),
        _number("contact.depth", layout.ROW_DEPTH, "m", "deepest overlap; below zero apart"),
        _number("contact.count", layout.ROW_PLANES, "1", "contact planes that press"),
        _number(
            "contact.formation",
            layout.ROW_FORMATION,
            "1",
            'number of the contact formation, in the names of `Trace.meta["formations"]`',
        ),
        _number("contact.age", layout.ROW_AGE, "s", "age of the newest contact packet"),
        _number("servo.late", layout.ROW_LATE, "s", "start of the tick after its deadline"),
        _number("servo.duration", layout.ROW_SPENT_TIME, "s", "time that the tick took"),
        _number("servo.missed", layout.ROW_MISSED, "1", "ticks left out before this one"),
        _number(
            "device.sample_age",
            layout.ROW_SAMPLE_AGE,
            "s",
            "age of the device's sample when the force was sent",
        ),
        _number(
            "device.write_time",
            layout.ROW_WRITE_TIME,
            "s",
            "time that the driver took for the last command",
        ),
        _number("servo.lead", layout.ROW_LEAD, "s", "how far ahead the coupling sees the hand"),
        _number(
            "servo.gain",
            layout.ROW_GAIN,
            "1",
            "share of the computed force that ramp, clutch and old contacts leave",
        ),
        _number("servo.net", layout.ROW_NET, "1", "share of the rest that the energy net leaves"),
        _number(
            "servo.state",
            layout.ROW_STATE,
            "1",
            "of the force: 0 waiting, 1 ramp, 2 active, 3 fault, 4 device lost",
        ),
        _number("event", layout.ROW_EVENT, "1", "number of the newest mark in its first tick"),
        _number("fault", layout.ROW_FAULT, "bits", "what is wrong or limited; see `Trace.faults`"),
        _number("buttons", layout.ROW_BUTTONS, "bits", "buttons that are pressed"),
    )
}
WHOLE_NUMBERS = (
    "contact.count",
    "contact.formation",
    "servo.missed",
    "servo.state",
    "event",
    "fault",
    "buttons",
)
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


def faults_of(blocks: Iterable[tuple[Array, NDArray[np.int64]]], tool: str = "") -> list[Fault]:
    """Every stretch of every bit that was set, in order of time.

    Args:
        blocks: Time and bits of some ticks, one block after the other.
        tool: For `Fault.tool`.
    """
    found: dict[int, list[Fault]] = {bit: [] for bit in FAULT_WORDS}
    before = 0  # bits of the last tick of the block before
    for time, bits in blocks:
        if not bits.any():
            before = 0
            continue
        for bit, words in FAULT_WORDS.items():
            on = np.concatenate(([False], (bits & bit) != 0, [False]))
            edges = np.flatnonzero(on[1:] != on[:-1])
            for first, after in zip(edges[::2], edges[1::2], strict=True):
                start, last, ticks = float(time[first]), float(time[after - 1]), int(after - first)
                if first == 0 and before & bit:  # it goes on
                    begun = found[bit].pop()
                    start, ticks = begun.time, begun.ticks + ticks
                found[bit].append(Fault(start, last, ticks, bit, words, tool))
        before = int(bits[-1])
    every = [fault for same in found.values() for fault in same]
    return sorted(every, key=lambda fault: (fault.time, fault.bit))


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


def places_of(
    tools: Sequence[str],
    user: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Column]:
    """Columns of rows that hold NROW numbers per tool, by their full names.

    With several tools every full name begins with that of its tool.

    Args:
        tools: In the order in which they stand in a row.
        user: Names of the first numbers of the user's own, for each tool that has some. Those
            without a name are no column.

    Raises:
        SceneError: A name of the user's is taken or empty, or there is no room for so many.
    """
    user = user or {}
    for tool in user:
        if tool not in tools:
            raise SceneError(f"columns of {show(tool)}: no such tool{hint(tool, list(tools))}")
    columns: dict[str, Column] = {}
    for k, tool in enumerate(tools):
        own = list(user.get(tool, ()))
        if len(own) > layout.NUSER:
            raise SceneError(
                f"{len(own)} columns of your own for {show(tool)}: there is room for "
                f"{layout.NUSER}; leave some out"
            )
        if "" in own:
            raise SceneError(f"a column of your own for {show(tool)} has no name; give it one")
        named = [Column(layout.ROW_USER + i, 1, "", USER, name) for i, name in enumerate(own)]
        for column in (*COLUMNS.values(), *named):
            full = f"{tool}.{column.name}" if len(tools) > 1 else column.name
            if full in columns:
                raise SceneError(f"column {show(column.name)}: the name is taken; choose another")
            columns[full] = column._replace(start=k * layout.NROW + column.start, tool=tool)
    return columns


def flat_names(name: str, width: int) -> list[str]:
    """Names of the single numbers of a column: `tool.force.x` …, for tables without vectors."""
    if width == 1:
        return [name]
    return [f"{name}.{axis}" for axis in AXES.get(width, range(width))]


# ------------------------------------------------------------------- settings and memory of a rig

Places = dict[str, tuple[int, int]]  # where something begins and ends


def named_settings(settings: Array) -> dict[str, float | list[float]]:
    """The SET_… columns of a rig in words, for `Trace.meta`."""
    return _named(settings, setting_places())


def put_settings(named: Mapping[str, Any], settings_out: Array) -> None:
    """The inverse of `named_settings`; what is not named stays as it is.

    Raises:
        SceneError: A name is not known, or its value has another length.
    """
    _put(named, setting_places(), settings_out, "setting")


def named_memory(memory: Array) -> dict[str, float | list[float]]:
    """The MEM_… columns of a rig in words, for `Trace.meta`."""
    return _named(memory, memory_places())


def put_memory(named: Mapping[str, Any], memory_out: Array) -> None:
    """The inverse of `named_memory`, as `put_settings` is."""
    _put(named, memory_places(), memory_out, "memory")


def setting_places() -> Places:
    """Where each setting begins and ends."""
    # there is room after the last one, which is a single number
    return _places("SET_", max(at for name, at in vars(layout).items() if name[:4] == "SET_") + 1)


def memory_places() -> Places:
    """The same for the memory."""
    return _places("MEM_", layout.NMEM)


def _places(prefix: str, end: int) -> Places:
    names = vars(layout).items()
    starts = {at: name.removeprefix(prefix).lower() for name, at in names if name[:4] == prefix}
    places = sorted(starts)
    return {
        starts[start]: (start, after)
        for start, after in zip(places, [*places[1:], end], strict=True)
    }


def _named(numbers: Array, places: Places) -> dict[str, float | list[float]]:
    named: dict[str, float | list[float]] = {}
    for name, (start, after) in places.items():
        values = numbers[start:after].tolist()
        named[name] = values[0] if len(values) == 1 else values
    return named


def _put(named: Mapping[str, Any], places: Places, numbers_out: Array, what: str) -> None:
    for name, value in named.items():
        if name not in places:
            raise SceneError(f"unknown {what} {show(name)}{hint(name, list(places))}")
        start, after = places[name]
        values = np.atleast_1d(np.asarray(value, dtype=float))
        if values.shape != (after - start,):
            raise SceneError(
                f"{what} {show(name)}: {values.size} numbers where {after - start} are needed"
            )
        numbers_out[start:after] = values
