"""The contact side of a session with the penalty method: tools against distance fields.

Meshes need no convex pieces here: a tool touches bodies and floors through their distance fields
(`contact.penalty`), and gets planes. Bodies among each other move by the volume method as ever;
what the tool does to them is an impulse before their step, the reaction of its planes. So the scene
knows its tools as bodies without a shape, which touch nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tangere.contact.penalty import contacts as penalty
from tangere.contact.penalty.method import Penalty
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.geometry.shapes import Shape
from tangere.haptics import layout
from tangere.haptics.layout import (
    NPACKET,
    STATE_TIME,
    STATE_TOOL,
    TOOL_POSITION,
    Rig,
)
from tangere.maths.rotations import quaternion_of, rotation_of
from tangere.scene.compile import principal_frame
from tangere.scene.scene import Body, Scene, Tool
from tangere.session.tool_side import ToolSide
from tangere.simulation import Simulation
from tangere.steppers.stepper import CONTACT_COLUMNS

if TYPE_CHECKING:
    from tangere.geometry.polyhedron import Moments, Polyhedron
    from tangere.maths.vec import Array


@dataclass(frozen=True, eq=False)
class Untouched(Shape):
    """A shape that no contact of the scene sees."""

    shape: Shape

    @property
    def _parts(self) -> tuple[Polyhedron, ...]:
        return ()

    @property
    def _moments(self) -> Moments:
        return self.shape.moments()


# Columns of a body's pose: position, attitude, velocity, angular velocity.
POSE_PARTS = (
    penalty.POSE_POSITION,
    penalty.POSE_QUATERNION,
    penalty.POSE_VELOCITY,
    penalty.POSE_OMEGA,
)


class MeshSide(ToolSide):
    """A simulation whose tools touch it through distance fields."""

    def __init__(self, scene: Scene, method: Penalty, dt: float, rigs: list[Rig]) -> None:
        """Compile the scene, build the fields or take them from the cache.

        Args:
            scene: With one tool per rig.
            method: Options of the penalty method.
            dt: Contact period [s].
            rigs: Where states come from and packets go.
        """
        super().__init__(scene, dt, rigs)
        self.simulation = Simulation(_without_tools(scene), dt=dt)
        self._others = [body for body in scene.bodies if not isinstance(body, Tool)]
        self._grips = [self.simulation.hold(tool.index) for tool in self.tools]
        self._others_held = [self.simulation.hold(body.index) for body in self._others]
        self._free = [row for row, body in enumerate(self._others) if not body.fixed]
        self._contacts = [
            PenaltyContact(
                tool.shape,
                [body.shape for body in self._others],
                [(floor.normal, floor.height) for floor in scene.floors],
                method,
                tool_frame=_frame(tool),
                body_frames=[_frame(body) for body in self._others],
            )
            for tool in self.tools
        ]

    def turn(self) -> list[Array]:
        """One contact period: find the planes, push the bodies, step the scene."""
        packets = []
        for hand, contact in enumerate(self._contacts):
            state = self.newest(hand)
            y = state[STATE_TOOL:]
            grip = self._grips[hand]
            grip.follow(y, self.dt, always=True)
            for row, held in zip(contact.placed.poses, (grip, *self._others_held), strict=True):
                for at, part in zip(POSE_PARTS, held.motion(), strict=True):
                    row[at : at + len(part)] = part
            contact.update(period=self.dt)
            packets.append(self._packet(contact, y, float(state[STATE_TIME])))
        self._push()
        self.simulation.step()
        self.turns += 1
        self._last = packets
        return packets

    def contacts_on(self, hand: int) -> NDArray[np.void]:
        """The planes of a tool that pressed in the last period; the scene does not know them."""
        contact, grip = self._contacts[hand], self._grips[hand]
        planes = contact.planes[contact.planes[:, penalty.PLANE_FORCE] > 0.0]
        position, quaternion, _, _ = grip.motion()
        at = slice(penalty.PLANE_POINT, penalty.PLANE_POINT + 3)
        table = np.zeros(len(planes), CONTACT_COLUMNS)
        table["body_a"] = table["body_b"] = grip.body
        table["point"] = position + planes[:, at] @ rotation_of(quaternion).T
        table["normal"] = planes[:, penalty.PLANE_NORMAL : penalty.PLANE_NORMAL + 3]
        table["depth"] = planes[:, penalty.PLANE_DEPTH] + planes[:, penalty.PLANE_TOLERANCE]
        table["force"] = planes[:, penalty.PLANE_FORCE, None] * table["normal"]
        table["sticking"] = True
        return table

    def _push(self) -> None:
        """Impulses of all tools on the bodies: v += f dt/m, L += τ dt."""
        for contact in self._contacts:
            for row in self._free:
                self._others_held[row].push(contact.response.reactions[row], self.dt)

    def _packet(self, contact: PenaltyContact, y: Array, time: float) -> Array:
        packet = np.zeros(NPACKET)
        planes = contact.planes
        packet[layout.PACKET_SEQUENCE], packet[layout.PACKET_TIME] = self.turns + 1, time
        packet[layout.PACKET_COUNT] = len(planes)
        packet[layout.PACKET_FLAGS] = layout.PACKET_TRUNCATED if contact.truncated else 0
        packet[layout.PACKET_DEPTH] = contact.depth
        at = layout.PACKET_STATE
        packet[at : at + layout.NTOOL] = y[TOOL_POSITION : TOOL_POSITION + layout.NTOOL]
        at = layout.PACKET_WRENCH
        packet[at : at + 6] = contact.response.wrench
        at = layout.PACKET_STIFFNESS
        packet[at : at + 36] = contact.response.stiffness.reshape(36)
        at = layout.PACKET_DAMPING
        packet[at : at + 36] = contact.response.damping.reshape(36)
        rows = packet[layout.PACKET_PLANES :].reshape(layout.MAX_PLANES, layout.NPLANE)
        shared = penalty.PLANE_VELOCITY + 3  # columns that both layouts have in common
        rows[: len(planes), :shared] = planes[:, :shared]
        rows[: len(planes), layout.PLANE_NAME] = planes[:, penalty.PLANE_NAME]
        return packet


def _frame(body: Body) -> tuple[Array, Array]:
    """Principal frame of a body in its shape's frame; of a fixed one the shape's own."""
    if body.fixed:
        return np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    return body.centre, quaternion_of(principal_frame(body.inertia)[1])


def _without_tools(scene: Scene) -> Scene:
    """The scene with tools that touch nothing."""
    return scene.with_bodies(
        [
            replace(body, shape=Untouched(body.shape)) if isinstance(body, Tool) else body
            for body in scene.bodies
        ]
    )
