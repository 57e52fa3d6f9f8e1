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

from tangere.contact.penalty import contacts as penalty
from tangere.contact.penalty.method import Penalty, PenaltyContact
from tangere.geometry.shapes import Shape
from tangere.haptics import layout
from tangere.haptics.layout import (
    NPACKET,
    STATE_TIME,
    STATE_TOOL,
    TOOL_POSITION,
    Rig,
)
from tangere.haptics.packets import follow_servo
from tangere.scene.compile import principal_frame, quaternion_of
from tangere.scene.scene import Body, Scene, Tool
from tangere.session.contact import ContactSide, with_bodies
from tangere.simulation import Simulation

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


class MeshContact(ContactSide):
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
        c = self.simulation._c
        packets = []
        rows = [body.index for body in self._others]
        for hand, (tool, contact) in enumerate(zip(self.tools, self._contacts, strict=True)):
            state = self.newest(hand)
            y = state[STATE_TOOL:]
            follow_servo(c.model, c.state, c.work.pairs, tool.index, y, self.dt, True)
            poses = contact.placed.poses
            for row, body in enumerate((tool.index, *rows)):
                poses[row, penalty.POSE_POSITION : penalty.POSE_POSITION + 3] = c.state.position[
                    body
                ]
                at = penalty.POSE_QUATERNION
                poses[row, at : at + 4] = c.state.quaternion[body]
                at = penalty.POSE_VELOCITY
                poses[row, at : at + 3] = c.state.velocity[body]
                at = penalty.POSE_OMEGA
                poses[row, at : at + 3] = c.state.omega[body]
            contact.update(period=self.dt)
            packets.append(self._packet(contact, y, float(state[STATE_TIME])))
        self._push()
        self.simulation.step()
        self.turns += 1
        self._last = packets
        return packets

    def hold(self, index: int, tool: Tool) -> None:
        """Another coupling of a tool; the scene does not feel it."""
        self.tools[index] = tool

    def _push(self) -> None:
        """Impulses of all tools on the bodies: v += f dt/m, L += τ dt."""
        c = self.simulation._c
        for contact in self._contacts:
            for row in self._free:
                body, wrench = self._others[row].index, contact.response.reactions[row]
                c.state.velocity[body] += self.dt * c.model.inv_mass[body] * wrench[:3]
                c.state.momentum[body] += self.dt * wrench[3:]
                turned = c.state.rotation[body].reshape(3, 3)
                spin = c.model.inv_inertia[body] * (turned.T @ c.state.momentum[body])
                c.state.omega[body] = turned @ spin

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
    return with_bodies(
        scene,
        [
            replace(body, shape=Untouched(body.shape)) if isinstance(body, Tool) else body
            for body in scene.bodies
        ],
    )
