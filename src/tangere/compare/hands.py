"""Scripted hands in built-in scenes, for a comparison without a device.

Each goes through keyframes, so that it is the same by every method, and presses by going a little
further than the tool can.
"""

from __future__ import annotations

from math import radians
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.devices.keyframes import Keyframes
from tangere.devices.simulated import Scripted
from tangere.errors import SceneError
from tangere.geometry.checks import hint, show
from tangere.scene.library import SCENES, Y, build, turn
from tangere.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangere.trace.trace import Trace

RATE = 1000.0  # [Hz]


class Stop(NamedTuple):
    """A pose of the hand at rest, and how long it takes to get there."""

    seconds: float
    x: float
    y: float
    z: float
    tilt: float = 0.0
    """About y [rad]."""


# Of the peg's centre in the scene `peg-in-hole`. The block's top is at 40 mm, the peg 30 mm below
# and 15 mm beside its centre, the hole 3 mm wider.
PEG_IN_HOLE = (
    Stop(0.2, -0.025, 0.0, 0.085),
    Stop(0.4, -0.025, 0.0, 0.085, radians(5.0)),
    Stop(0.8, -0.025, 0.0, 0.0685, radians(5.0)),  # on an edge, 2.7 mm further than it can go
    Stop(0.2, -0.025, 0.0, 0.0685, radians(5.0)),
    Stop(0.5, -0.025, 0.0, 0.068),  # flat, 2 mm further
    Stop(0.2, -0.025, 0.0, 0.068),
    Stop(1.0, 0.0, 0.0, 0.068),  # over the hole
    Stop(0.8, 0.0, 0.0, 0.035),  # 35 mm deep in it
    Stop(0.4, 0.006, 0.0, 0.035),  # against a wall, 3 mm further
    Stop(0.2, 0.006, 0.0, 0.035),
    Stop(0.4, 0.006, 0.006, 0.035),  # into the corner
    Stop(0.2, 0.006, 0.006, 0.035),
    Stop(0.6, 0.0, 0.0, 0.035),
    Stop(0.8, 0.0, 0.0, 0.035, radians(18.0)),  # it jams before
    Stop(0.2, 0.0, 0.0, 0.035, radians(18.0)),
    Stop(0.6, 0.0, 0.0, 0.035),
    Stop(0.6, 0.0, 0.0, 0.085),
)


def along(stops: tuple[Stop, ...]) -> Keyframes:
    """The hand that rests at each stop; the first is where it begins."""
    times = np.cumsum([0.0, *(stop.seconds for stop in stops)])
    places = [stops[0], *stops]
    return Keyframes(times, [stop[1:4] for stop in places], [turn(Y, stop.tilt) for stop in places])


HANDS: dict[str, Callable[[], Keyframes]] = {"peg-in-hole": lambda: along(PEG_IN_HOLE)}
"""By the scene in which they move."""


def record(name: str) -> Trace:
    """What a scripted hand does in its scene, by the method that suits it, on the virtual clock.

    Raises:
        SceneError: There is no such hand.
    """
    if name not in HANDS:
        raise SceneError(
            f"no such trace, nor a scripted hand {show(name)}{hint(name, list(HANDS))}"
        )
    hand = HANDS[name]()
    session = Session(build(name), method=SCENES[name].method, device=Scripted(hand), rate=RATE)
    return session.run(hand.seconds, realtime=False)
