"""A recorded session again: its scene, and its hand moving as it did."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.contact.method import from_words, methods
from tangere.errors import SceneError
from tangere.geometry.checks import one_line, show
from tangere.haptics.layout import SET_CONTACT, Rig
from tangere.scene.files import scene_of_text
from tangere.scene.scene import Scene
from tangere.trace.columns import COLUMNS, LAYOUT, put_memory, put_settings
from tangere.trace.trace import Trace

if TYPE_CHECKING:
    from tangere.session.session import Session

# What a hand is played back from.
NEEDED = (
    "time",
    "device.position",
    "device.orientation",
    "device.velocity",
    "device.angular_velocity",
)
# Seven hours at 4 kHz; more than that is a damaged time.
MOST_TICKS = 1e8


def replay(path: str | os.PathLike[str], method: str | None = None) -> Trace:
    """Run a recorded session again on the virtual clock.

    A session recorded on the virtual clock comes out the same to the bit. One recorded in real time
    had a contact loop that ran beside the servo, and here runs in step with it: the hand moves as
    it did, forces agree as far as the contact loop kept up.

    Args:
        path: The trace.
        method: Another contact method than the recorded one.

    Raises:
        SceneError: The file is not a trace, or does not say what is needed, or is of a version of
            tangere whose columns and settings mean something else.
    """
    then = Trace.load(path)
    try:
        hand = hand_of(then)
        now = session_of(then, hand, method).run(seconds=len(hand) / then.rate, realtime=False)
    except SceneError as error:
        raise SceneError(f"{one_line(path)}: {error}") from None
    # The text of a scene names its mesh files as seen from a folder; it is the same scene.
    now.meta.update({key: then.meta[key] for key in ("scene", "folder") if key in then.meta})
    return now


def hand_of(then: Trace) -> Trace:
    """The trace with a tick at every period, for a device to play back.

    Raises:
        SceneError: Its columns do not allow that, or it has no ticks.
    """
    check_columns(then)
    if not len(then):
        raise SceneError("there are no ticks in it; record a session first")
    return without_gaps(then)


def session_of(then: Trace, hand: Trace, method: Any = None) -> Session:
    """The session as it was before its first tick.

    Args:
        then: The trace.
        hand: What the hands do, from `hand_of`.
        method: Another contact method than the recorded one, by its name or its options.

    Raises:
        SceneError: The trace does not say what is needed, or the method does not take its scene.
    """
    from tangere.devices.simulated import Playback
    from tangere.session.session import Session

    if method is None and "method" not in then.meta:
        raise SceneError("it does not say which method; give --method")
    scene = scene_of(then)
    many = len(then.tools) > 1
    devices = [Playback(hand, tool=tool if many else "") for tool in then.tools]
    options = dict(then.meta.get("options", {}))
    if method is not None and options.get("contact") not in methods.resolve(method)[0].packets:
        options.pop("contact", None)  # the other method cannot tell the servo this
    try:
        session = Session(
            scene,
            method=method or from_words(then.meta["method"]),
            device=devices,
            rate=then.rate,
            contact_rate=then.rate / then.meta.get("period", 1),
            latency=then.meta.get("latency", 0),
            **options,
        )
    except TypeError as error:  # options of another version
        raise SceneError(
            f"its method or options are not known ({one_line(error)}); replay it with the tangere "
            "that recorded it"
        ) from None
    told = [rig.settings[SET_CONTACT] for rig in session.rigs]
    restore(session.rigs, then)
    for rig, contact in zip(session.rigs, told, strict=True):
        rig.settings[SET_CONTACT] = contact  # another method may tell the servo something else
    return session


def check_columns(trace: Trace) -> None:
    """Refuse a trace whose hand cannot be played back.

    Raises:
        SceneError: Its columns are of another version, or some are missing.
    """
    if trace.layout != LAYOUT:
        remedy = "update tangere" if trace.layout > LAYOUT else "replay it with an older tangere"
        raise SceneError(
            f"its columns are of version {trace.layout}, those known here of {LAYOUT}; {remedy}"
        )
    for tool in trace.tools:
        for name in NEEDED:
            full = f"{tool}.{name}"
            if full not in trace:
                raise SceneError(
                    f"it lacks the column {show(full)}, without which the hand cannot move; "
                    "record the session anew"
                )
            if trace.column(full).width != COLUMNS[name].width:
                raise SceneError(
                    f"its column {show(full)} has {trace.column(full).width} numbers per tick, not "
                    f"{COLUMNS[name].width}; record the session anew"
                )


def restore(rigs: Sequence[Rig], trace: Trace, *, settings: bool = True) -> None:
    """Every limit and the place of every hand as they were.

    What the trace does not name, because it is older, stays as the rigs have it.

    Raises:
        SceneError: The trace has a setting, or something in its memory, that is not known here.
    """
    known = trace.meta.get("settings", {})
    try:
        if settings:
            for tool, rig in zip(trace.tools, rigs, strict=True):
                put_settings(known.get(tool, {}), rig.settings)
        for rig, was in zip(rigs, trace.meta.get("rigs", ()), strict=False):
            put_memory(was["memory"], rig.memory)
    except SceneError as error:
        raise SceneError(f"{error}; replay it with the tangere that recorded it") from None


def scene_of(trace: Trace) -> Scene:
    """The scene in which a trace was recorded.

    Raises:
        SceneError: It holds none, or one with other tools.
    """
    text = trace.meta.get("scene")
    if not text:
        raise SceneError("it holds no scene; record it with a session")
    scene = scene_of_text(text, Path(trace.meta.get("folder", ".")), "scene")
    names = tuple(tool.name for tool in scene.tools)
    if names != trace.tools:
        raise SceneError(
            f"its scene has the tools {show(names)}, its columns those of {show(trace.tools)}; "
            "record the session anew"
        )
    return scene


def without_gaps(trace: Trace) -> Trace:
    """The same hand with a reading at every tick; where one was missed the last one stays.

    Raises:
        SceneError: Its times do not increase, or leave out more than any session would.
    """
    time = trace.time
    number = np.rint((time - time[0]) * trace.rate)
    if not np.all(np.diff(number) > 0) or not number[-1] < MOST_TICKS:
        raise SceneError("its times do not count ticks; record the session anew")
    wanted = np.arange(int(number[-1]) + 1)
    if np.array_equal(number, wanted):
        return trace
    index = np.searchsorted(number, wanted, side="right") - 1
    return trace.picked(index, time[0] + wanted / trace.rate)
