"""What the records of all methods for convex bodies share: what is built on top of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tangere.contact.convex.options import ContactOptions
    from tangere.haptics.layout import Rig
    from tangere.scene.compile import Compiled
    from tangere.scene.scene import Scene
    from tangere.session.tool_side import ToolSide
    from tangere.steppers.stepper import Stepper


def convex_stepper(arrays: Compiled, options: ContactOptions, stepper: str, dt: float) -> Stepper:
    """The rigid stepper with the kernels' options."""
    from tangere.steppers.rigid import rigid_stepper

    return rigid_stepper(arrays, options, stepper, dt)


def convex_tool_side(scene: Scene, options: Any, dt: float, rigs: list[Rig]) -> ToolSide:
    """Tools that are bodies of the scene."""
    from tangere.session.scene_side import SceneSide

    return SceneSide(scene, options, dt, rigs)


def warm_up_convex(method: str) -> None:
    """A step, and a tool on a floor."""
    from tangere.warmup import step_block, touch_floor

    step_block(method)
    touch_floor(method)
