"""The contact side of a session with the penalty method: tools against distance fields.

Meshes need no convex pieces here: a tool touches bodies and floors through their distance fields
(`contact.penalty`), and gets planes with friction. Bodies among each other move by the step of the
same method; what the tool does to them is an impulse before it, the reaction of its planes. So the
scene knows its tools as bodies without a shape, which touch nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tangere.collision.contact_query import (
    POSE_OMEGA,
    POSE_POSITION,
    POSE_QUATERNION,
    POSE_VELOCITY,
)
from tangere.contact.penalty.contacts import (
    CLUSTER_DEPTH,
    CLUSTER_FORCE,
)
from tangere.contact.penalty.options import Penalty
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.contact_planes import (
    MAX_PLANES,
    NPLANE,
    PLANE_FRICTION,
    PLANE_HOLD,
    PLANE_NAME,
    PLANE_NORMAL,
    PLANE_POINT,
    PLANE_TOLERANCE,
)
from tangere.haptics.layout import (
    NPACKET,
    NTOOL,
    PACKET_COUNT,
    PACKET_DAMPING,
    PACKET_DEPTH,
    PACKET_FLAGS,
    PACKET_PLANES,
    PACKET_SEQUENCE,
    PACKET_STATE,
    PACKET_STIFFNESS,
    PACKET_TIME,
    PACKET_TRUNCATED,
    PACKET_WRENCH,
    STATE_TIME,
    STATE_TOOL,
    Rig,
)
from tangere.maths.rotations import quaternion_of, rotation_of
from tangere.scene.compile import principal_frame
from tangere.scene.scene import Body, Floor, Scene, Tool
from tangere.session.tool_side import ToolSide
from tangere.session.untouched import without_tools
from tangere.simulation import Simulation
from tangere.steppers.stepper import CONTACT_COLUMNS

if TYPE_CHECKING:
    from tangere.maths.vec import Array


# Columns of a body's pose: position, attitude, velocity, angular velocity.
POSE_PARTS = (
    POSE_POSITION,
    POSE_QUATERNION,
    POSE_VELOCITY,
    POSE_OMEGA,
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
        self.simulation = Simulation(without_tools(scene), method=method, dt=dt)
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
                friction=[
                    *(_friction(tool, body) for body in self._others),
                    *(_friction(tool, floor) for floor in scene.floors),
                ],
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
            packets.append(np.zeros(NPACKET))
            time = float(state[STATE_TIME])
            write_packet(contact, y, time, self.turns + 1, packets[-1])
        self._push()
        self.simulation.step()
        self.turns += 1
        self._last = packets
        return packets

    def contacts_on(self, hand: int) -> NDArray[np.void]:
        """The planes of a tool that pressed in the last period; the scene does not know them."""
        contact, grip = self._contacts[hand], self._grips[hand]
        planes = contact.planes[contact.planes[:, CLUSTER_FORCE] > 0.0]
        position, quaternion, _, _ = grip.motion()
        at = slice(PLANE_POINT, PLANE_POINT + 3)
        table = np.zeros(len(planes), CONTACT_COLUMNS)
        table["body_a"] = table["body_b"] = grip.body
        table["point"] = position + planes[:, at] @ rotation_of(quaternion).T
        table["normal"] = planes[:, PLANE_NORMAL : PLANE_NORMAL + 3]
        table["depth"] = planes[:, CLUSTER_DEPTH] + planes[:, PLANE_TOLERANCE]
        hold = planes[:, PLANE_HOLD : PLANE_HOLD + 3]
        table["force"] = planes[:, CLUSTER_FORCE, None] * table["normal"] - hold
        limit = planes[:, PLANE_FRICTION] * planes[:, CLUSTER_FORCE]
        table["sticking"] = np.linalg.norm(hold, axis=1) < limit * (1.0 - 1e-9)
        return table

    def _push(self) -> None:
        """Impulses of all tools on the bodies: v += f dt/m, L += τ dt."""
        for contact in self._contacts:
            for row in self._free:
                self._others_held[row].push(contact.response.reactions[row], self.dt)


def write_packet(
    contact: PenaltyContact, y: Array, time: float, number: int, packet_out: Array
) -> None:
    """Write what the last update found for the tool in state y, TOOL_…, into a packet."""
    planes, found = contact.planes, contact.response
    packet_out[PACKET_SEQUENCE], packet_out[PACKET_TIME] = number, time
    packet_out[PACKET_COUNT] = len(planes)
    packet_out[PACKET_FLAGS] = PACKET_TRUNCATED if contact.truncated else 0
    packet_out[PACKET_DEPTH] = contact.depth
    packet_out[PACKET_STATE : PACKET_STATE + NTOOL] = y[:NTOOL]
    packet_out[PACKET_WRENCH : PACKET_WRENCH + 6] = found.wrench
    packet_out[PACKET_STIFFNESS : PACKET_STIFFNESS + 36] = found.stiffness.ravel()
    packet_out[PACKET_DAMPING : PACKET_DAMPING + 36] = found.damping.ravel()
    rows = packet_out[PACKET_PLANES : PACKET_PLANES + MAX_PLANES * NPLANE]
    rows = rows.reshape(MAX_PLANES, NPLANE)
    rows[: len(planes)] = planes[:, :NPLANE]
    rows[: len(planes), PLANE_NAME] = 0.0  # friction goes on as in PLANE_HOLD


def _frame(body: Body) -> tuple[Array, Array]:
    """Principal frame of a body in its shape's frame; of a fixed one the shape's own."""
    if body.fixed:
        return np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    return body.centre, quaternion_of(principal_frame(body.inertia)[1])


def _friction(tool: Tool, other: Body | Floor) -> tuple[float, float]:
    """Static and kinetic friction of two materials: geometric means."""
    a, b = tool.material, other.material
    return (
        math.sqrt(a.static_friction * b.static_friction),
        math.sqrt(a.kinetic_friction * b.kinetic_friction),
    )
