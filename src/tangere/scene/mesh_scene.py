"""A scene to feel one shape with: it stands on a floor, and a ball in hand is above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere.geometry.shapes import Sphere
from tangere.haptics.coupling import VirtualCoupling
from tangere.scene.scene import Scene

if TYPE_CHECKING:
    from tangere.geometry.shapes import Shape

# The ball over the largest extent of the shape: it reaches into what is felt as a hollow.
BALL_RADIUS = 0.03
TOOL_MASS = 0.1  # [kg]
STIFFNESS, DAMPING, MAX_FORCE = 400.0, 5.0, 15.0  # of the hand on its tool [N/m, N s/m, N]
# A contact presses from this share of the ball's radius on, at most from the default on.
TOLERANCE_SHARE, MOST_TOLERANCE = 0.1, 0.5e-3


def scene_to_feel(shape: Shape, name: str = "part") -> Scene:
    """The shape, fixed, its lowest point on a floor, and a ball in hand above it.

    The ball and the place where it starts suit the size of the shape, whatever that is.

    Args:
        shape: To be felt.
        name: Of its body.
    """
    vertices, _ = shape.surface()
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    extent = high - low
    radius = BALL_RADIUS * float(extent.max())
    scene = Scene()
    scene.add_floor()
    middle = 0.5 * (low + high)
    scene.add_body(shape, position=(-middle[0], -middle[1], -low[2]), fixed=True, name=name)
    # A ball of mass m turns as fast in its coupling as it moves: I = 0.4 m r².
    turning = 0.4 * radius * radius
    scene.add_tool(
        Sphere(radius),
        mass=TOOL_MASS,
        position=np.array([0.0, 0.0, float(extent[2]) + 4.0 * radius]),
        coupling=VirtualCoupling(
            stiffness=STIFFNESS,
            damping=DAMPING,
            rotational_stiffness=turning * STIFFNESS,
            rotational_damping=turning * DAMPING,
            max_force=MAX_FORCE,
        ),
        name="ball",
    )
    return scene


def tolerance_for(scene: Scene) -> float:
    """From which distance on contacts of the penalty method press, for its smallest tool [m]."""
    smallest = min(
        (float(np.ptp(tool.shape.surface()[0], axis=0).min()) for tool in scene.tools),
        default=2.0 * MOST_TOLERANCE / TOLERANCE_SHARE,
    )
    return min(MOST_TOLERANCE, 0.5 * TOLERANCE_SHARE * smallest)
