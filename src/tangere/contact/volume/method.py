"""The record of the volume method ([HASEGAWA2003], [HASEGAWA2004])."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

from tangere.contact.convex.method import convex_stepper, convex_tool_side, warm_up_convex
from tangere.contact.convex.options import ContactOptions
from tangere.contact.method import Control, Method
from tangere.errors import SceneError, choose

if TYPE_CHECKING:
    from tangere.scene.compile import Compiled
    from tangere.scene.scene import Body, Floor, Scene
    from tangere.steppers.stepper import Stepper

Normalization = Literal["patch", "none", "fixed"]
FrictionRule = Literal["exact", "vertex"]
Algorithm = Literal["clip", "dual"]


@dataclass(frozen=True)
class Volume:
    """Options of the contact-volume method.

    Attributes:
        normalization: "patch" divides by the contact area (2004), "none" takes stiffness per area
            (2003), "fixed" divides by a fixed area per pair and conserves energy.
        friction: "exact" integrates Coulomb's law in closed form, "vertex" interpolates between
            triangle vertices as the papers do.
        algorithm: "clip" clips faces, "dual" takes the convex hull of the dual points.
    """

    normalization: Normalization = "patch"
    friction: FrictionRule = "exact"
    algorithm: Algorithm = "clip"

    def __post_init__(self) -> None:
        """Check the choices."""
        choose("Volume normalization", self.normalization, get_args(Normalization))
        choose("Volume friction", self.friction, get_args(FrictionRule))
        choose("Volume algorithm", self.algorithm, get_args(Algorithm))


def _per_area(options: Volume) -> bool:
    return options.normalization == "none"


def _check(scene: Scene, options: Volume, stepper: str) -> None:
    if options.friction == "vertex" and stepper == "implicit":
        raise SceneError("Volume friction 'vertex' needs integrator='explicit'")
    if _per_area(options):
        things: list[Body | Floor] = [*scene.bodies, *scene.floors]
        for thing in things:
            if thing.material.stiffness is None or thing.material.damping is None:
                raise SceneError(
                    f"{thing.name!r}: normalization 'none' takes stiffness and damping per "
                    "area; give both in its material [N/m³, N s/m³]"
                )


def _stepper(arrays: Compiled, options: Volume, stepper: str, dt: float) -> Stepper:
    chosen = ContactOptions(
        False,
        get_args(Normalization).index(options.normalization),
        get_args(FrictionRule).index(options.friction),
        get_args(Algorithm).index(options.algorithm),
    )
    return convex_stepper(arrays, chosen, stepper, dt)


METHOD = Method(
    name="volume",
    options=Volume,
    words="Springs, dampers and friction are integrated over the whole overlap of two bodies.",
    paper="HASEGAWA2004",
    citation="Hasegawa & Sato, Computer Graphics Forum 23 (2004)",
    steppers=("implicit", "explicit"),
    stepper=_stepper,
    tool_side=convex_tool_side,
    warm_up=partial(warm_up_convex, "volume"),
    controls=(
        Control(
            "normalization",
            "Normalised",
            "What the pressure under a given depth is divided by",
            {
                "by patch area (2004)": "patch",
                "none, per area (2003)": "none",
                "fixed area, keeps energy": "fixed",
            },
        ),
        Control(
            "friction",
            "Friction",
            "How sliding friction is summed over the patch",
            {
                "exact Coulomb over the patch": "exact",
                "interpolated from vertices (2004)": "vertex",
            },
            steppers=("explicit",),
            held=False,
        ),
    ),
    per_area=_per_area,
    check=_check,
)
