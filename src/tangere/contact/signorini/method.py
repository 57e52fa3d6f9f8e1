"""The record of the signorini method ([DURIEZ2006])."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangere.contact.method import Method
from tangere.contact.signorini.options import Signorini
from tangere.contact.unilateral.options import refuse_springs_between_bodies

if TYPE_CHECKING:
    from tangere.haptics.layout import Rig
    from tangere.scene.compile import Compiled
    from tangere.scene.scene import Scene
    from tangere.session.tool_side import ToolSide
    from tangere.steppers.stepper import Stepper


def _stepper(arrays: Compiled, options: Signorini, stepper: str, dt: float) -> Stepper:
    from tangere.steppers.signorini import SignoriniStepper

    return SignoriniStepper(arrays, options, dt)


def _tool_side(scene: Scene, options: Signorini, dt: float, rigs: list[Rig]) -> ToolSide:
    from tangere.session.problem_side import ProblemSide

    return ProblemSide(scene, options, dt, rigs)


def _warm_up() -> None:
    from tangere.warmup import step_block, touch_floor

    step_block("signorini")
    touch_floor("signorini")


def _check(scene: Scene, options: Signorini, stepper: str) -> None:
    refuse_springs_between_bodies(scene.springs, "signorini")


METHOD = Method(
    name="signorini",
    options=Signorini,
    words="Bodies do not overlap at the end of a step and friction obeys Coulomb's law, exactly: "
    "one problem for all contacts of a group, without contact springs.",
    paper="DURIEZ2006",
    citation="Duriez, Dubois, Kheddar & Andriot, IEEE TVCG 12(1) (2006)",
    steppers=("signorini",),
    stepper=_stepper,
    tool_side=_tool_side,
    warm_up=_warm_up,
    bodies=frozenset({"rigid", "soft"}),
    parts=frozenset({"hull", "plane", "surface"}),
    material_factors=frozenset({"friction"}),
    packets=("problem", "held"),
    check=_check,
)
