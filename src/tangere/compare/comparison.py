"""The recorded hand moves again under one method after the other.

Every method gets the recorded scene, the same readings of the hand, the same rates, delays, limits
and coupling. What it decides itself is what it tells the servo (`Method.packets`). The hand goes
where it went: it does not give way to a method that pushes harder than the recorded one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.compare.choices import Choice, choices
from tangere.compare.hands import record
from tangere.compare.measures import Times, formations, measured, times_of
from tangere.contact.method import methods as registry
from tangere.errors import SceneError
from tangere.geometry.checks import one_line
from tangere.session.replay import hand_of, scene_of, session_of
from tangere.trace.trace import Trace

if TYPE_CHECKING:
    from tangere.maths.vec import Array

Tell = Callable[[float, str], None]
STRIDE = 100  # contact updates between two words on how far it is


@dataclass(frozen=True)
class Run:
    """One method with the recorded hand.

    Attributes:
        label: Name of the method, and what was chosen of its options.
        words: What the method does, in one sentence.
        told: What it tells the servo: "planes", "linear", "held" or "problem".
        trace: What happened.
        updates: Time of each contact update [s].
        times: The same in numbers.
        measures: What was measured, for each tool.
        formations: When each contact formation began and its name, for each tool; of methods that
            name them.
    """

    label: str
    words: str
    told: str
    trace: Trace
    updates: Array
    times: Times
    measures: Mapping[str, Mapping[str, float]]
    formations: Mapping[str, list[tuple[float, str]]]


@dataclass(frozen=True)
class Comparison:
    """A recorded hand under several methods.

    Attributes:
        source: Where the trace came from; empty: from memory.
        then: The recorded trace.
        runs: Those that took the scene, in the order in which they were asked for.
        refused: Why the others did not, by their labels.
        period: Of the contact loop [s].
    """

    source: str
    then: Trace
    runs: tuple[Run, ...]
    refused: Mapping[str, str]
    period: float

    @property
    def recorded(self) -> str:
        """Name of the method with which the trace was recorded."""
        kept = self.then.meta.get("method", "")
        return str(kept.get("kind", "")).lower() if isinstance(kept, Mapping) else str(kept)

    def as_json(self) -> dict[str, Any]:
        """Numbers as plain data; None where there is none."""
        return {
            "trace": self.source,
            "recorded": self.recorded,
            "seconds": self.then.duration,
            "rate": self.then.rate,
            "period": self.period,
            "methods": [
                {
                    "method": run.label,
                    "contact": run.told,
                    "hash": run.trace.hash(),
                    "tools": {tool: _plain(found) for tool, found in run.measures.items()},
                    "formations": run.formations,
                    "times": _plain(run.times._asdict()),
                    "faults": run.trace.meta["faults"],
                }
                for run in self.runs
            ],
            "refused": dict(self.refused),
        }


def _plain(found: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if np.isfinite(value) else None for name, value in found.items()}


def compare(
    trace: Trace | str | os.PathLike[str],
    methods: Iterable[Any] = (),
    *,
    tell: Tell = lambda done, doing: None,
) -> Comparison:
    """The recorded hand again under each method, on the virtual clock.

    Args:
        trace: A recorded session, its file, or the name of a scripted hand (`hands.HANDS`).
        methods: Names, names with options such as "penalty:stiffness=4000", or options such as
            `Penalty(stiffness=4000.0)`; none: all that there are.
        tell: Told how far it is and with what.

    Raises:
        SceneError: The trace cannot be replayed, a method or an option is not known, or no method
            takes the scene.
    """
    source = "" if isinstance(trace, Trace) else one_line(os.fspath(trace))
    chosen = choices(list(methods) or list(registry))
    then = trace if isinstance(trace, Trace) else _found(Path(trace))
    try:
        hand = hand_of(then)
        scene_of(then)
    except SceneError as error:
        raise SceneError(f"{source or 'trace'}: {error}") from None
    runs: list[Run] = []
    refused: dict[str, str] = {}
    for number, choice in enumerate(chosen):

        def told(done: float, label: str = choice.label, before: int = number) -> None:
            tell((before + done) / len(chosen), label)

        told(0.0)
        try:
            runs.append(_run(then, hand, choice, told))
        except Exception as error:  # whatever a method does, the others are shown
            kind = "" if isinstance(error, SceneError) else f"{type(error).__name__}: "
            refused[choice.label] = f"{kind}{one_line(error)}"
    if not runs:
        why = "; ".join(f"{label}: {reason}" for label, reason in refused.items())
        raise SceneError(f"no method takes this scene; {why}")
    return Comparison(source, then, tuple(runs), refused, then.meta.get("period", 1) / then.rate)


def _found(path: Path) -> Trace:
    """The trace of a file, or what a scripted hand of that name does now."""
    return record(path.name) if path.suffix == "" and not path.exists() else Trace.load(path)


def _run(then: Trace, hand: Trace, choice: Choice, tell: Callable[[float], None]) -> Run:
    """The session once more, by one method."""
    session_of(then, hand, choice.options)  # refuses before anything compiles
    choice.record.warm_up()  # so that no update has compiling in its time
    session = session_of(then, hand, choice.options)
    wanted = -(-len(hand) // session.period)
    made = 0

    def count() -> None:
        nonlocal made
        made += 1
        if made % STRIDE == 0:
            tell(made / wanted)

    trace = session.run(seconds=len(hand) / then.rate, realtime=False, each=count)
    updates, turns = np.array(session.update_seconds), np.array(session.turn_seconds)
    each = {tool: trace.of(tool) for tool in trace.tools}
    return Run(
        label=choice.label,
        words=choice.record.words,
        told=session.options["contact"],
        trace=trace,
        updates=updates,
        times=times_of(updates, turns, session.period / session.rate, session.period),
        measures={tool: measured(one) for tool, one in each.items()},
        formations={tool: found for tool, one in each.items() if (found := formations(one))},
    )
