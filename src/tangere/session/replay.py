"""A recorded session again: its scene, and its hand moving as it did."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tangere.contact.method import from_words, methods
from tangere.errors import SceneError
from tangere.geometry.checks import one_line
from tangere.haptics.layout import NROW, ROW_TIME
from tangere.scene.files import scene_of_text
from tangere.scene.scene import Scene
from tangere.trace.trace import Trace


def replay(path: str | os.PathLike[str], method: str | None = None) -> Trace:
    """Run a recorded session again on the virtual clock.

    A session recorded on the virtual clock comes out the same to the bit. One recorded in real time
    had a contact loop that ran beside the servo, and here runs in step with it: the hand moves as
    it did, forces agree as far as the contact loop kept up.

    Args:
        path: The trace.
        method: Another contact method than the recorded one.

    Raises:
        SceneError: The file is not a trace, or does not say what is needed.
    """
    from tangere.devices.simulated import Playback
    from tangere.session.session import Session

    then = Trace.load(path)
    where = one_line(path)
    if not len(then):
        raise SceneError(f"{where}: there are no ticks in it; record a session first")
    if method is None and "method" not in then.meta:
        raise SceneError(f"{where}: it does not say which method; give --method")
    hand = without_gaps(then)
    many = len(then.tools) > 1
    devices = [Playback(hand, tool=tool if many else "") for tool in then.tools]
    options = dict(then.meta.get("options", {}))
    if method is not None and options.get("contact") not in methods.resolve(method)[0].packets:
        options.pop("contact", None)  # the other method cannot tell the servo this
    session = Session(
        scene_of(then, where),
        method=method or from_words(then.meta["method"]),
        device=devices,
        rate=then.rate,
        contact_rate=then.rate / then.meta.get("period", 1),
        latency=then.meta.get("latency", 0),
        **options,
    )
    # every limit and the place of every hand as they were
    for rig, was in zip(session.rigs, then.meta.get("rigs", ()), strict=False):
        rig.settings[: len(was["settings"])] = was["settings"]
        rig.memory[: len(was["memory"])] = was["memory"]
    now = session.run(seconds=len(hand) / then.rate, realtime=False)
    # The text of a scene names its mesh files as seen from a folder; it is the same scene.
    now.meta.update({key: then.meta[key] for key in ("scene", "folder") if key in then.meta})
    return now


def scene_of(trace: Trace, where: str = "trace") -> Scene:
    """The scene in which a trace was recorded."""
    text = trace.meta.get("scene")
    if not text:
        raise SceneError(f"{where}: it holds no scene; record it with a session")
    return scene_of_text(text, Path(trace.meta.get("folder", ".")), f"{where}: scene")


def without_gaps(trace: Trace) -> Trace:
    """The same hand with a reading at every tick; where one was missed the last one stays."""
    number = np.rint((trace.time - trace.time[0]) * trace.rate).astype(np.int64)
    wanted = np.arange(number[-1] + 1)
    if np.array_equal(number, wanted):
        return trace
    rows = trace.rows[np.searchsorted(number, wanted, side="right") - 1].copy()
    rows[:, ROW_TIME::NROW] = (trace.time[0] + wanted / trace.rate)[:, None]
    return Trace(rows, trace.meta, trace.tools)
