"""What a researcher adds to a session: force laws, events, trials, columns of the trace."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError
from tangere.haptics.effects import Effect
from tangere.haptics.layout import (
    EFFECT_POWER,
    MAX_EFFECTS,
    MEM_MARKS,
    NPARAMETER,
    NROW,
    NUSER,
    ROW_BUTTONS,
    ROW_TIME,
)
from tangere.haptics.pacing import clock_ns
from tangere.haptics.servo import CTL_NEXT
from tangere.trace.events import EVENT, LABEL, new_event, new_label

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangere.maths.vec import Array
    from tangere.session.session import Session
    from tangere.trace.events import Table
    from tangere.trace.recorder import Recorder


class AddedEffect:
    """An effect that a session calls at every tick of a hand; made by `Session.add_effect`.

    Attributes:
        effect: The function.
        hand: Number of the tool.
        slot: Its place among the effects of that hand.
    """

    def __init__(self, session: Session, effect: Effect, hand: int, slot: int) -> None:
        self.effect = effect
        self.hand = hand
        self.slot = slot
        self._session = session

    @property
    def _values(self) -> Array:
        values: Array = self._session.rigs[self.hand].effect_values[self.slot]
        return values

    @property
    def parameters(self) -> Array:
        """Its 16 numbers: change them in place, the next tick sees it."""
        return self._values[:NPARAMETER]

    @property
    def power(self) -> float:
        """What it may give to the hand [W]."""
        return float(self._values[EFFECT_POWER])

    @power.setter
    def power(self, watts: float) -> None:
        self._values[EFFECT_POWER] = _checked_power(watts)

    @property
    def failed(self) -> bool:
        """Whether it answered with something not finite, and was switched off."""
        return bool(self._session.rigs[self.hand].effects[MAX_EFFECTS + self.slot])

    def remove(self) -> None:
        """Let it not be called any more."""
        self._session.additions.remove(self)


def set_values(values: Array, parameters: Sequence[float], power: float) -> None:
    """Give an effect its parameters and its power.

    Raises:
        SceneError: Too many of them, or one is not finite.
    """
    given = [float(each) for each in parameters]
    if len(given) > NPARAMETER or not all(map(isfinite, given)):
        raise SceneError(f"add_effect: parameters {parameters!r}: up to {NPARAMETER} numbers")
    values[:] = 0.0
    values[: len(given)] = given
    values[EFFECT_POWER] = _checked_power(power)


def _checked_power(watts: Any) -> float:
    """Power that an effect may give [W]."""
    try:
        power = float(watts)
    except (TypeError, ValueError):
        power = -1.0
    if not 0.0 <= power <= 1.0:
        raise SceneError(f"add_effect: power {watts!r}: give watts from 0 to 1, such as 0.02")
    return power


class UserColumns(MutableMapping[str, float]):
    """Numbers of the user's own in every row of the trace; made by `Session.columns`."""

    def __init__(self, session: Session, hand: int, names: Sequence[str]) -> None:
        for name in names:
            if not isinstance(name, str) or not name.replace(".", "_").isidentifier():
                raise SceneError(f"columns: {name!r} is no name: letters, digits, _ and . only")
        if len(names) > NUSER or len(set(names)) != len(names):
            raise SceneError(f"columns: {len(names)} names: up to {NUSER}, each once")
        self.names = list(names)
        self._session = session
        self._hand = hand

    def __getitem__(self, name: str) -> float:
        return float(self._session.rigs[self._hand].user[self._place(name)])

    def __setitem__(self, name: str, value: float) -> None:
        self._session.rigs[self._hand].user[self._place(name)] = value

    def __delitem__(self, name: str) -> None:
        raise SceneError(f"columns: {name!r} stays as long as the session")

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise SceneError(f"columns: no {name!r}: there are {', '.join(self.names)}")
        return self.names.index(name)


class Additions:
    """All that was added to one session, before it started and while it ran.

    Attributes:
        effects: Called at every tick.
        columns: Of each tool that has some, by its name.
        tick: Of the virtual clock; in real time the servo's own is asked for.
    """

    def __init__(self, session: Session) -> None:
        self.effects: list[AddedEffect] = []
        self.columns: dict[str, UserColumns] = {}
        self.tick = 0
        self.trial = ""
        self._session = session
        self._recorder: Recorder | None = None
        self._events: list[tuple[int, int, bytes, float]] = []
        self._labels: list[tuple[int, int, bytes]] = []
        self._buttons = np.zeros(len(session.scene.tools), dtype=np.int64)

    # ------------------------------------------------------------------ effects

    def add(
        self,
        effect: Effect | Callable[..., None],
        parameters: Sequence[float],
        power: float,
        hand: int,
    ) -> AddedEffect:
        """See `Session.add_effect`."""
        made = effect if isinstance(effect, Effect) else Effect(effect)
        taken = {each.slot for each in self.effects if each.hand == hand}
        slot = next((i for i in range(MAX_EFFECTS) if i not in taken), None)
        if slot is None:
            raise SceneError(f"add_effect: {MAX_EFFECTS} at once are the most: remove one")
        rig = self._session.rigs[hand]
        set_values(rig.effect_values[slot], parameters, power)
        rig.effects[MAX_EFFECTS + slot] = 0
        if self._recorder is not None:
            self._session.live.hands.install(hand, slot, made)
        else:
            made.compile()  # what cannot be compiled is refused here, not at the start
        added = AddedEffect(self._session, made, hand, slot)
        self.effects.append(added)
        return added

    def remove(self, added: AddedEffect) -> None:
        """Let an effect not be called any more."""
        if added in self.effects:
            self.effects.remove(added)
            self._session.rigs[added.hand].effects[added.slot] = 0

    # ------------------------------------------------------------------ events and trials

    def record_into(self, recorder: Recorder) -> None:
        """Have events go to a recorder from now on, those so far too."""
        self._recorder = recorder
        for tick, clock, name, value in self._events:
            recorder.mark(tick, clock, name.decode(), value)
        for tick, clock, text in self._labels:
            recorder.label(tick, clock, text.decode())

    def mark(self, name: str, value: float) -> None:
        """Note an event, at the next tick."""
        self._note(*self._now(), name, value)
        for rig in self._session.rigs:
            rig.memory[MEM_MARKS] += 1.0

    def label(self, text: str) -> None:
        """Begin a trial, at the next tick."""
        tick, clock = self._now()
        self._labels.append(new_label(tick, clock, text))
        self.trial = text
        if self._recorder is not None:
            self._recorder.label(tick, clock, text)

    def see_buttons(self, rows: Array) -> None:
        """Note the presses of buttons that are events, in rows that follow one another."""
        pressed = rows.reshape(len(rows), -1, NROW)[:, :, ROW_BUTTONS].astype(np.int64)
        for hand, buttons in enumerate(self._session.buttons):
            if buttons.mark is None or not len(rows):
                continue
            down = np.append(self._buttons[hand], pressed[:, hand]) >> buttons.mark & 1
            self._buttons[hand] = pressed[-1, hand]
            for i in np.flatnonzero(np.diff(down) > 0):
                time = float(rows[i, hand * NROW + ROW_TIME])
                tick = round(time * self._session.rate)
                self._note(tick, round(1e9 * time), "button", float(hand))

    def _note(self, tick: int, clock: int, name: str, value: float) -> None:
        self._events.append(new_event(tick, clock, name, value))
        if self._recorder is not None:
            self._recorder.mark(tick, clock, name, value)

    def _now(self) -> tuple[int, int]:
        """Number of the next tick, and the clock [ns]."""
        if self._recorder is None:
            return self.tick, round(1e9 * self.tick / self._session.rate)
        return int(self._session.live.hands.loops[0].control[CTL_NEXT]), clock_ns()

    def tables(self) -> tuple[Table, Table]:
        """Events and labels so far, as a trace stores them."""
        return np.array(self._events, dtype=EVENT), np.array(self._labels, dtype=LABEL)
