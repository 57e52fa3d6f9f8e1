"""What the page may ask of the session: a few verbs with checked values, as JSON through a pipe.

A browser can be made to send anything, so an order is checked twice: in the page's process, before
it is sent, and in the session, before it is obeyed. JSON and not pickle, because reading it can
build nothing but numbers, words and lists. An order outside its range is dropped and counted, never
bent into range: nobody asked for the bent one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from tangere.errors import SceneError

if TYPE_CHECKING:
    from tangere.contact.method import Control
    from tangere.viewer.frame import Description

LONGEST = 4096  # [bytes] of an order
FARTHEST = 1e5  # [m] from the origin of any point
MOST_FACTOR = 100.0  # of a Feel slider


class OrderError(SceneError):
    """An order that cannot be meant: unknown verb, wrong kind, not finite or out of range."""


class Order(NamedTuple):
    """A checked order."""

    verb: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What names and numbers an order may refer to."""

    scenes: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    steppers: frozenset[str] = frozenset()
    controls: Mapping[str, Control] = field(default_factory=dict)
    """By their options."""
    bodies: int = 0

    @classmethod
    def of(cls, scenes: Iterable[str], description: Description) -> Known:
        """What an order may refer to while this is shown."""
        offer = description.offer
        return cls(
            frozenset(scenes),
            frozenset(description.methods),
            frozenset(offer.steppers),
            {control.option: control for control in offer.controls},
            len(description.scene.bodies),
        )


Check = Callable[[Any, Known], Any]


def number(low: float, high: float) -> Check:
    """Takes a finite number from `low` to `high`."""

    def check(value: Any, known: Known) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise OrderError(f"not a number: {_short(value)}")
        if not (isfinite(value) and low <= value <= high):
            raise OrderError(f"{_short(value)} is not between {low:g} and {high:g}")
        return float(value)

    return check


def flag(value: Any, known: Known) -> bool:
    """Takes true or false."""
    if not isinstance(value, bool):
        raise OrderError(f"neither true nor false: {_short(value)}")
    return value


def body(value: Any, known: Known) -> int:
    """Takes the index of a body of the scene."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < known.bodies:
        raise OrderError(f"no body {_short(value)}: there are {known.bodies}")
    return value


def scene(value: Any, known: Known) -> str:
    """Takes the name of a scene that can be chosen."""
    return _word(value, known.scenes)


def method(value: Any, known: Known) -> str:
    """Takes a contact method of this scene."""
    return _word(value, known.methods)


def stepper(value: Any, known: Known) -> str:
    """Takes a step that the method can have here."""
    return _word(value, known.steppers)


def option(value: Any, known: Known) -> tuple[str, Any]:
    """Takes name and value of an option that the method offers here."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise OrderError(f"not a name and a value: {_short(value)}")
    name, chosen = value
    control = known.controls[_word(name, frozenset(known.controls))]
    if control.span is None:
        for allowed in control.choices.values():
            if type(chosen) is type(allowed) and chosen == allowed:  # 1 is not true
                return name, allowed
        raise OrderError(f"{name}: {_short(chosen)} cannot be chosen")
    least, most, step = control.span
    taken = number(least, most)(chosen, known)
    if not isinstance(step, int):
        return name, taken
    if taken != round(taken):
        raise OrderError(f"{name}: {_short(chosen)} is not a whole number")
    return name, round(taken)


def point(value: Any, known: Known) -> tuple[float, ...]:
    """Takes three coordinates [m]."""
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise OrderError(f"not three numbers: {_short(value)}")
    return tuple(_coordinate(x, known) for x in value)


_coordinate = number(-FARTHEST, FARTHEST)
_factor = number(0.0, MOST_FACTOR)
_some_factor = number(0.01, MOST_FACTOR)

ORDERS: dict[str, tuple[Check, ...]] = {
    # what is simulated
    "scene": (scene,),
    "method": (method,),
    "integrator": (stepper,),
    "option": (option,),
    "reset": (),
    "pause": (flag,),
    "speed": (number(0.01, 1.0),),  # simulated seconds per second
    # how it feels: factors on what the scene gives
    "stiffness_factor": (_some_factor,),
    "damping_factor": (_factor,),
    "friction_factor": (_factor,),
    "coupling_stiffness_factor": (_some_factor,),
    "coupling_damping_factor": (_factor,),
    "tool_mass_factor": (_some_factor,),
    # the device
    "clutch": (flag,),
    "scale": (number(0.01, 100.0),),
    # the recording
    "record": (flag,),
    "replay": (),
    # the mouse on bodies
    "push": (body, point),  # towards a direction
    "grab": (body, point, point),  # held point, and where the mouse is
    "drag": (point,),
    "release": (),
}


def checked(verb: Any, values: Any, known: Known) -> Order:
    """The order, if it can be meant.

    Raises:
        OrderError: It cannot.
    """
    if not isinstance(verb, str) or verb not in ORDERS:
        raise OrderError(f"unknown order {_short(verb)}")
    checks = ORDERS[verb]
    if not isinstance(values, (list, tuple)) or len(values) != len(checks):
        raise OrderError(f"{verb}: takes {len(checks)} values, got {_short(values)}")
    try:
        return Order(verb, tuple(c(value, known) for c, value in zip(checks, values, strict=True)))
    except OrderError as error:
        raise OrderError(f"{verb}: {error}") from None


def encoded(order: Order) -> bytes:
    """As it goes through the pipe."""
    return json.dumps(order, allow_nan=False).encode()


def decoded(message: bytes, known: Known) -> Order:
    """A checked order from the pipe.

    Raises:
        OrderError: Not JSON, or not an order that can be meant.
    """
    if len(message) > LONGEST:
        raise OrderError(f"an order of {len(message)} bytes")
    try:
        content = json.loads(message)
    except (ValueError, RecursionError):
        raise OrderError(f"not JSON: {_short(message)}") from None
    if not isinstance(content, list) or len(content) != 2:
        raise OrderError(f"not a verb and its values: {_short(content)}")
    return checked(content[0], content[1], known)


def _word(value: Any, words: frozenset[str]) -> str:
    if not isinstance(value, str) or value not in words:
        raise OrderError(f"{_short(value)} is none of {', '.join(sorted(words))}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
