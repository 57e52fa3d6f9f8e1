"""What a researcher adds to a running session: force laws, and columns of the trace."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from tangere.errors import SceneError
from tangere.haptics.layout import EFFECT_POWER, MAX_EFFECTS, NPARAMETER, NUSER

if TYPE_CHECKING:
    from tangere.haptics.effects import Effect
    from tangere.maths.vec import Array
    from tangere.session.session import Session


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
        self._session.remove_effect(self)


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
