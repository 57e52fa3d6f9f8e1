"""Scenes of the papers' contact formations: a tool in hand against one fixed thing each.

Made for the method "formation", which names what touches; sizes are those of the experiments of
the same names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangere.geometry.curved_solid import TURNED_X, TURNED_Y, bowl, pen
from tangere.geometry.shapes import Cylinder, Shape, Sphere
from tangere.haptics.coupling import VirtualCoupling
from tangere.scene.scene import Scene

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
# Softer than a contact, so that what is felt is the contact, and damped for 100 g.
HAND = VirtualCoupling(
    stiffness=500.0, damping=6.0, rotational_stiffness=2.0, rotational_damping=0.03, max_force=8.0
)
MASS = 0.1  # of the tools [kg]: those of the experiments, 0.5 kg, would lag behind a hand
PIPE, LEG = 0.015, 0.160  # radius and length of the fixed cylinders [m]


def pen_in_bowl() -> Scene:
    """A pen with a ball end, above a bowl whose inside is a paraboloid."""
    scene = _held(pen(), (0.0, 0.0, 0.010), "pen", -0.005, (0.0, 0.0, 0.06))
    scene.add_body(bowl(), name="bowl", fixed=True)
    return scene


def cylinder_in_pipe() -> Scene:
    """A cylinder above an L of two pipes, along the first."""
    scene = _held(
        Cylinder(0.020, 0.080), (0.070, 0.0, 0.045), "cylinder", -PIPE, orientation=TURNED_X
    )
    _add_legs(scene, 0.5 * LEG)
    return scene


def ball_on_cylinders() -> Scene:
    """A ball above the place where two cylinders cross."""
    scene = _held(Sphere(0.020), (0.020, 0.020, 0.040), "ball", -PIPE)
    _add_legs(scene, 0.0)
    return scene


def cylinder_pivot() -> Scene:
    """A cylinder, tilted, the edge of its end above a lying one."""
    tilted = (0.924, 0.0, 0.383, 0.0)  # 45° about y
    scene = _held(Cylinder(0.020, 0.080), (0.0, 0.0, 0.070), "cylinder", -0.020, orientation=tilted)
    scene.add_body(Cylinder(0.020, LEG), orientation=TURNED_Y, name="lying cylinder", fixed=True)
    return scene


def guarded_motion() -> Scene:
    """A lying cylinder above one that lies across it."""
    scene = _held(
        Cylinder(0.020, 0.080), (0.0, 0.0, 0.055), "cylinder", -0.020, orientation=TURNED_X
    )
    scene.add_body(Cylinder(0.020, LEG), orientation=TURNED_Y, name="lying cylinder", fixed=True)
    return scene


def _held(
    shape: Shape,
    position: ArrayLike,
    name: str,
    floor: float,
    grip: ArrayLike = (0.0, 0.0, 0.0),
    orientation: ArrayLike = UPRIGHT,
) -> Scene:
    """A scene with that tool and a floor at a height."""
    scene = Scene()
    scene.add_floor(height=floor)
    scene.add_tool(
        shape, mass=MASS, position=position, orientation=orientation, grip=grip, coupling=HAND,
        name=name,
    )  # fmt: skip
    return scene


def _add_legs(scene: Scene, middle: float) -> None:
    """Cylinders along x and along y, their middles so far from the origin."""
    leg = Cylinder(PIPE, LEG)
    scene.add_body(leg, position=(middle, 0.0, 0.0), orientation=TURNED_X, name="leg x", fixed=True)
    scene.add_body(leg, position=(0.0, middle, 0.0), orientation=TURNED_Y, name="leg y", fixed=True)
