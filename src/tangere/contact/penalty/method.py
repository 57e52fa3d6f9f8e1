"""The record of the penalty method for meshes ([OTADUY2005])."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangere.contact.method import Control, Method
from tangere.contact.penalty.options import Penalty
from tangere.contact.unilateral.options import refuse_springs_between_bodies

if TYPE_CHECKING:
    from tangere.haptics.layout import Rig
    from tangere.scene.compile import Compiled
    from tangere.scene.scene import Scene
    from tangere.session.tool_side import ToolSide
    from tangere.steppers.stepper import Stepper


def _stepper(arrays: Compiled, options: Penalty, stepper: str, dt: float) -> Stepper:
    from tangere.steppers.penalty import PenaltyStepper

    return PenaltyStepper(arrays, options, dt)


def _check(scene: Scene, options: Penalty, stepper: str) -> None:
    refuse_springs_between_bodies(scene.springs, "penalty")


def _tool_side(scene: Scene, options: Penalty, dt: float, rigs: list[Rig]) -> ToolSide:
    from tangere.session.mesh_side import MeshSide

    return MeshSide(scene, options, dt, rigs)


def _warm_up() -> None:
    from tangere.warmup import query_fields, step_block, touch_floor

    query_fields()
    step_block("penalty")
    touch_floor("penalty")


METHOD = Method(
    name="penalty",
    options=Penalty,
    words="Points of one surface inside the distance field of the other press back: meshes of any "
    "size rest on each other, and a servo is told a few planes.",
    paper="OTADUY2005",
    citation="Otaduy & Lin, World Haptics Conference (2005)",
    steppers=("penalty",),
    stepper=_stepper,
    tool_side=_tool_side,
    warm_up=_warm_up,
    parts=frozenset({"field", "plane"}),
    check=_check,
    held_factors=frozenset({"friction"}),
    controls=(
        Control(
            "stiffness",
            "Contact stiffness",
            "Of the contact with one body",
            span=(200.0, 10_000.0, 100.0),
            unit="N/m",
            step=False,
        ),
        Control(
            "clusters",
            "Planes",
            "Most planes that the servo is told",
            span=(1, 16, 1),
            step=False,
        ),
        Control(
            "sharing",
            "Stiffness",
            "Whether the planes of a body share its stiffness",
            {"shared by the planes": "shared", "each plane has it (2005)": "each"},
            step=False,
        ),
    ),
)
