"""A contact method of another package, whole: a floor of honey.

What has its centre below the floor's surface is slowed down, f = −c v, and carried, f = k d n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere.bodies.rigid import free_step
from tangere.contact.method import Control, Method
from tangere.elements.contact_law import Law
from tangere.model import NOT_FINITE, OK
from tangere.scene.compile import Compiled
from tangere.session.scene_side import SceneSide
from tangere.steppers.rigid import RigidStepper
from tangere.steppers.stepper import CONTACT_COLUMNS


@dataclass(frozen=True)
class Viscous:
    """Options of the honey."""

    drag: float = 20.0  # [N s/m]
    stiffness: float = 500.0  # [N/m]


class HoneyStepper(RigidStepper):
    """Forces of the honey, then free motion."""

    name = "honey"
    stages = ("all of it",)

    def advance(self, steps: int) -> tuple[int, int]:
        """Make steps; how many were made, and a status."""
        c = self.arrays
        for done in range(steps):
            c.state.wrench[:] = 0.0
            for body, floor, _, force in self._touching():
                c.state.wrench[body, :3] += force
                c.state.wrench[c.sizes.bodies + floor, :3] -= force
            if not free_step(c.sizes, c.model, c.state, self.dt):
                return done, NOT_FINITE
        return steps, OK

    def _touching(self) -> list[tuple[int, int, float, NDArray[np.float64]]]:
        """Body, floor, depth and force of every body in the honey."""
        c, found = self.arrays, []
        for body in np.flatnonzero(c.model.inv_mass[: c.sizes.bodies] > 0.0):
            for floor, plane in enumerate(c.model.floor_plane):
                depth = float(plane[3] - plane[:3] @ c.state.position[body])
                if depth > 0.0:
                    carried = self.options.stiffness * depth * plane[:3]
                    force = carried - self.options.drag * c.state.velocity[body]
                    found.append((int(body), floor, depth, force))
        return found

    def contacts(self) -> NDArray[np.void]:
        """Bodies in the honey."""
        found = self._touching()
        table = np.zeros(len(found), CONTACT_COLUMNS)
        for row, (body, floor, depth, force) in zip(table, found, strict=True):
            row["body_a"], row["body_b"] = -1 - floor, body
            row["point"] = self.arrays.state.position[body]
            row["normal"] = self.arrays.model.floor_plane[floor, :3]
            row["depth"], row["force"] = depth, force
        return table

    def contact_law(self, i: int, j: int) -> Law:
        """The same for all."""
        return Law(self.options.stiffness, self.options.drag, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def stepper(arrays: Compiled, options: Viscous, name: str, dt: float) -> HoneyStepper:
    """The one that there is."""
    return HoneyStepper(arrays, options, dt)


def tool_side(scene: Any, options: Viscous, dt: float, rigs: Any) -> SceneSide:
    """Any method that moves a scene can have this one."""
    return SceneSide(scene, options, dt, rigs)


METHOD = Method(
    name="viscous",
    options=Viscous,
    words="What sinks into the floor is slowed down and carried, as in honey.",
    paper="",
    citation="An example",
    steppers=("honey",),
    stepper=stepper,
    tool_side=tool_side,
    warm_up=lambda: None,
    packets=("held",),
    controls=(
        Control("drag", "Drag", "Of the honey", span=(1.0, 100.0, 1.0), unit="N s/m"),
        Control("stiffness", "Carries", "Of the honey", span=(50.0, 5e3, 50.0), unit="N/m"),
    ),
)
