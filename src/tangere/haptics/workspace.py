"""Where a device's workspace lies in the scene, and what its buttons do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from tangere.errors import SceneError
from tangere.haptics.layout import (
    PLACE_ABSOLUTE,
    PLACE_ON_TOOL,
    SET_CENTRE,
    SET_CLUTCH,
    SET_CLUTCH_TOGGLES,
    SET_FRAME,
    SET_ORIGIN,
    SET_PLACE,
    SET_SCALE,
)
from tangere.maths.vec import Array

MOST_BUTTONS = 16


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """From a device's base to the world: x_h = origin + scale · R (x_d − centre).

    Attributes:
        origin: World point that shows the device's centre [m].
        orientation: Of the device's base in the world, (w, x, y, z). The base has x right, y away
            from the user, z up.
        centre: Point of the device's workspace that is shown at the origin [m].
        scale: Metres in the scene per metre of the hand; None: that of the coupling.
        place: "tool": the device, wherever it is when the force begins, shows the hand on its tool.
            "absolute": the mapping above and nothing else; the force begins once the hand is there.
    """

    origin: Sequence[float] = (0.0, 0.0, 0.0)
    orientation: Sequence[float] = (1.0, 0.0, 0.0, 0.0)
    centre: Sequence[float] = (0.0, 0.0, 0.0)
    scale: float | None = None
    place: Literal["tool", "absolute"] = "tool"

    def __post_init__(self) -> None:
        for name, count in (("origin", 3), ("orientation", 4), ("centre", 3)):
            value = getattr(self, name)
            if len(value) != count or not all(isfinite(x) for x in value):
                raise SceneError(f"workspace: {name} is {value!r}: give {count} finite numbers")
        size = sum(x * x for x in self.orientation) ** 0.5
        if not 0.5 < size < 2.0:
            raise SceneError(f"workspace: orientation has length {size:g}: give a unit quaternion")
        if self.scale is not None and not (isfinite(self.scale) and self.scale > 0.0):
            raise SceneError(f"workspace: scale is {self.scale!r}: it must be positive")
        if self.place not in ("tool", "absolute"):
            raise SceneError(f"workspace: place is {self.place!r}: write 'tool' or 'absolute'")

    def apply(self, settings: Array) -> None:
        """Write the mapping into the settings of a rig, SET_…."""
        size = sum(x * x for x in self.orientation) ** 0.5
        settings[SET_ORIGIN : SET_ORIGIN + 3] = self.origin
        settings[SET_FRAME : SET_FRAME + 4] = [x / size for x in self.orientation]
        settings[SET_CENTRE : SET_CENTRE + 3] = self.centre
        if self.scale is not None:
            settings[SET_SCALE] = self.scale
        settings[SET_PLACE] = PLACE_ABSOLUTE if self.place == "absolute" else PLACE_ON_TOOL


@dataclass(frozen=True, kw_only=True)
class Buttons:
    """What the buttons of a device do, by their numbers from 0; None: nothing.

    Attributes:
        clutch: Holds the tool while the hand moves on.
        toggle: One press of the clutch holds, the next lets go; else it holds while pressed.
        mark: Each press is an event "button" of the trace.
    """

    clutch: int | None = 0
    toggle: bool = False
    mark: int | None = None

    def __post_init__(self) -> None:
        for name in ("clutch", "mark"):
            number = getattr(self, name)
            if number is not None and not 0 <= number < MOST_BUTTONS:
                raise SceneError(
                    f"buttons: {name} is {number!r}: give a button from 0 to {MOST_BUTTONS - 1}, "
                    "or None"
                )
        if self.mark is not None and self.mark == self.clutch:
            raise SceneError(f"buttons: {self.mark} is both clutch and mark: give them two buttons")

    def apply(self, settings: Array) -> None:
        """Write them into the settings of a rig, SET_…."""
        settings[SET_CLUTCH] = -1 if self.clutch is None else self.clutch
        settings[SET_CLUTCH_TOGGLES] = float(self.toggle)
