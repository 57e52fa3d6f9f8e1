"""The record of the point method: one spring at the deepest point of each pair, a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tangere.contact.convex.options import ContactOptions
from tangere.contact.method import Method

if TYPE_CHECKING:
    from tangere.haptics.layout import Rig
    from tangere.scene.compile import Compiled
    from tangere.scene.scene import Scene
    from tangere.session.tool_side import ToolSide
    from tangere.steppers.stepper import Stepper


@dataclass(frozen=True)
class Point:
    """The point-based penalty method, a baseline: one spring at the deepest point of each pair."""


def _stepper(arrays: Compiled, options: Point, stepper: str, dt: float) -> Stepper:
    from tangere.steppers.rigid import rigid_stepper

    return rigid_stepper(arrays, ContactOptions(True), stepper, dt)


def _tool_side(scene: Scene, options: Point, dt: float, rigs: list[Rig]) -> ToolSide:
    from tangere.session.scene_side import SceneSide

    return SceneSide(scene, options, dt, rigs)


def _warm_up() -> None:
    from tangere.warmup import step_block, touch_floor

    step_block("point")
    touch_floor("point")


METHOD = Method(
    name="point",
    options=Point,
    words="One spring, damper and friction force at the deepest point of each overlap.",
    paper="HASEGAWA2004",
    citation="The usual penalty method, which Hasegawa & Sato (2004) compare with",
    steppers=("implicit", "explicit"),
    stepper=_stepper,
    tool_side=_tool_side,
    warm_up=_warm_up,
)
