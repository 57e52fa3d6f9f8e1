"""The record of contact formations ([LUO2004])."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangere.contact.formation.options import Formation
from tangere.contact.method import Control, Method
from tangere.errors import SceneError

if TYPE_CHECKING:
    from tangere.haptics.layout import Rig
    from tangere.scene.scene import Scene
    from tangere.session.tool_side import ToolSide


def _refuse(scene: Scene) -> None:
    """A tool in a hand against fixed bodies, all of exact boundaries."""
    from tangere.geometry.boundary import boundary_of

    held = {tool.index for tool in scene.tools}
    for body in scene.bodies:
        if not body.fixed and body.index not in held:
            raise SceneError(
                f"{body.name!r} can move: method 'formation' is for a tool in a hand and fixed "
                "bodies; fix it, or take another method such as 'volume'"
            )
        try:
            boundary_of(body.shape)
        except SceneError as error:
            raise SceneError(f"{body.name!r}: method 'formation': {error}") from None
    if len(scene.bodies) + len(scene.floors) <= len(held):
        raise SceneError("method 'formation': there is nothing for the tool to touch")


def _tool_side(scene: Scene, options: Formation, dt: float, rigs: list[Rig]) -> ToolSide:
    from tangere.session.formation_side import FormationSide

    return FormationSide(scene, options, dt, rigs)


def _warm_up() -> None:
    from tangere.warmup import touch_floor

    touch_floor("formation")


METHOD = Method(
    name="formation",
    options=Formation,
    words="Knows which faces, edges and corners touch, and how the tool moved before: the wrench "
    "follows in closed form, with static and kinetic friction.",
    paper="LUO2004",
    citation="Luo & Xiao, IEEE Computer Graphics and Applications 24(6) (2004)",
    steppers=(),
    stepper=None,
    tool_side=_tool_side,
    warm_up=_warm_up,
    parts=frozenset({"hull", "field", "plane"}),
    packets=("linear", "held"),
    material_factors=frozenset(),
    refuse=_refuse,
    controls=(
        Control(
            "stiffness",
            "Contact stiffness",
            "Of the normal force of one contact",
            span=(200.0, 5000.0, 100.0),
            unit="N/m",
        ),
        Control(
            "static_friction",
            "Static friction",
            "Coefficient of what sticks",
            span=(0.1, 1.5, 0.05),
        ),
        Control(
            "kinetic_friction",
            "Kinetic friction",
            "Coefficient of what slides; no more than that of what sticks",
            span=(0.0, 0.7, 0.02),
        ),
        Control(
            "stick",
            "Stick",
            "What a contact that sticks is measured from",
            {"where it began": "anchor", "the last sample (2004)": "printed"},
        ),
    ),
)
