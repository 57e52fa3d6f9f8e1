"""The record of the point method: one spring at the deepest point of each pair, a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tangere.contact.convex.method import convex_stepper, convex_tool_side, warm_up_convex
from tangere.contact.convex.options import ContactOptions
from tangere.contact.method import Method

if TYPE_CHECKING:
    from tangere.scene.compile import Compiled
    from tangere.steppers.stepper import Stepper


@dataclass(frozen=True)
class Point:
    """The point-based penalty method, a baseline: one spring at the deepest point of each pair."""


def _stepper(arrays: Compiled, options: Point, stepper: str, dt: float) -> Stepper:
    return convex_stepper(arrays, ContactOptions(True), stepper, dt)


METHOD = Method(
    name="point",
    options=Point,
    words="One spring, damper and friction force at the deepest point of each overlap.",
    paper="HASEGAWA2004",
    citation="The usual penalty method, which Hasegawa & Sato (2004) compare with",
    steppers=("implicit", "explicit"),
    stepper=_stepper,
    tool_side=convex_tool_side,
    warm_up=partial(warm_up_convex, "point"),
)
