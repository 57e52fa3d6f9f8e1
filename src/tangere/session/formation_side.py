"""The contact side of a session by contact formations: a tool in a hand against fixed bodies.

Every contact period the formation at the tool's pose and its wrench are found anew; the servo gets
the wrench with its derivative. The model looks at even steps in time: where the loop came late, the
poses between are put in along the way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tangere.contact.formation.columns import (
    OUT_FRICTION,
    OUT_NORMAL_FORCE,
    OUT_STATE,
    PC_A,
    PC_B,
    PC_BODY,
    PC_COUNT,
    PC_GAP,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_TANGENT,
    SLIP,
)
from tangere.contact.formation.model import FormationModel, FormationState
from tangere.contact.formation.options import Formation
from tangere.geometry.boundary import boundary_of, half_space
from tangere.geometry.boundary_lines import (
    MARK,
    MARK_AXIS,
    MARK_FIXED,
    MARK_HELD,
    MARK_REGION,
    lines_of,
)
from tangere.haptics.layout import (
    NPACKET,
    NTOOL,
    PACKET_DAMPING,
    PACKET_DEPTH,
    PACKET_FORMATION,
    PACKET_SEQUENCE,
    PACKET_STATE,
    PACKET_STIFFNESS,
    PACKET_TIME,
    PACKET_WRENCH,
    STATE_TIME,
    STATE_TOOL,
    TOOL_QUATERNION,
    Rig,
)
from tangere.maths.rotations import rotation_of
from tangere.scene.compile import principal_frame
from tangere.scene.scene import Scene, Tool
from tangere.session.tool_side import ToolSide
from tangere.session.untouched import without_tools
from tangere.simulation import Simulation
from tangere.steppers.stepper import CONTACT_COLUMNS
from tangere.trace.formation_graph import FormationGraph, Visits

if TYPE_CHECKING:
    from tangere.geometry.boundary import Boundary
    from tangere.maths.vec import Array

# Poses of a simulated tool have no noise, and friction whose direction comes late would drive it:
# its motion is fitted to no more than this [periods].
WINDOW = 4
# A loop that is later than this begins the motion anew [periods].
LATEST = 50
AXES = 0.35  # length of the axes of a task frame, as a share of the tool's reach
CORNER = 0.06  # size of the cross that shows a corner, as such a share


class FormationSide(ToolSide):
    """Fixed bodies whose contacts with tools are told by formation."""

    def __init__(self, scene: Scene, options: Formation, dt: float, rigs: list[Rig]) -> None:
        """Build the boundaries of all bodies.

        Args:
            scene: With one tool per rig; all else in it is fixed.
            options: Of the method.
            dt: Contact period [s].
            rigs: Where states come from and packets go.
        """
        super().__init__(scene, dt, rigs)
        self.simulation = Simulation(without_tools(scene), dt=dt)
        self._grips = [self.simulation.hold(tool.index) for tool in self.tools]
        held = {tool.index for tool in self.tools}
        others = [body for body in scene.bodies if body.index not in held]
        world = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        fixed = [(boundary_of(body.shape), (body.position, body.orientation)) for body in others]
        fixed += [(half_space(floor.normal, floor.height), world) for floor in scene.floors]
        names = [body.name for body in others] + [floor.name for floor in scene.floors]
        # body of the scene by its number in the model; floors count −1, −2, …
        self._bodies = [body.index for body in others] + [-1 - k for k in range(len(scene.floors))]
        self._placed = [
            boundary.moved(rotation_of(np.asarray(orientation)), position)
            for boundary, (position, orientation) in fixed
        ]
        self._models = [_model(tool, fixed, options, dt, names) for tool in self.tools]
        self._found: list[FormationState | None] = [None] * len(rigs)
        self._poses = [np.zeros(7) for _ in rigs]
        self._times = [-np.inf] * len(rigs)
        self.formations: list[str] = []
        self._numbers: dict[str, int] = {}
        self._visits = [Visits(dt) for _ in rigs]
        self._number("free")

    def turn(self) -> list[Array]:
        """One contact period: the wrench at the newest pose of every tool."""
        packets = []
        for hand, model in enumerate(self._models):
            state = self.newest(hand)
            y, time = state[STATE_TOOL : STATE_TOOL + NTOOL], float(state[STATE_TIME])
            self._grips[hand].follow(y, self.dt, always=True)
            found = self._look(hand, y, time)
            packet = np.zeros(NPACKET)
            packet[PACKET_SEQUENCE], packet[PACKET_TIME] = self.turns + 1, time
            packet[PACKET_STATE : PACKET_STATE + NTOOL] = y
            packet[PACKET_WRENCH : PACKET_WRENCH + 3] = found.force
            packet[PACKET_WRENCH + 3 : PACKET_WRENCH + 6] = found.torque
            packet[PACKET_WRENCH : PACKET_WRENCH + 6] += found.inertia
            packet[PACKET_DEPTH] = -found.contacts[:, PC_GAP].min() if len(found.contacts) else 0.0
            model.derivatives(
                packet[PACKET_STIFFNESS : PACKET_STIFFNESS + 36],
                packet[PACKET_DAMPING : PACKET_DAMPING + 36],
            )
            number = self._number(found.formation)
            packet[PACKET_FORMATION] = number
            self._visits[hand].take(number)
            packets.append(packet)
        self.simulation.step()
        self.turns += 1
        self._last = packets
        return packets

    def _look(self, hand: int, y: Array, time: float) -> FormationState:
        """What is found at a state, and at even steps between the last one and this."""
        model, last, before = self._models[hand], self._poses[hand], self._times[hand]
        found = self._found[hand]
        steps = round((time - before) / self.dt) if np.isfinite(before) else 1
        if found is not None and steps <= 0:
            return found
        quaternion = y[TOOL_QUATERNION : TOOL_QUATERNION + 4]
        if found is not None and 1 < steps <= LATEST:
            other = last[3:] if last[3:] @ quaternion >= 0.0 else -last[3:]
            for k in range(1, steps):
                share = k / steps
                turn = other + share * (quaternion - other)
                place = last[:3] + share * (y[:3] - last[:3])
                when = before + share * (time - before)
                model.update(place, turn / np.linalg.norm(turn), when)
        found = model.update(y[:3], quaternion, time)
        self._found[hand], self._times[hand] = found, time
        self._poses[hand][:3], self._poses[hand][3:] = y[:3], quaternion
        return found

    def _number(self, name: str) -> int:
        """Number of a formation for the trace: models of several tools count each for itself."""
        if name not in self._numbers:
            self._numbers[name] = len(self.formations)
            self.formations.append(name)
        return self._numbers[name]

    # ------------------------------------------------------------------ what is shown

    def contacts_on(self, hand: int) -> NDArray[np.void]:
        """The principal contacts of a tool; the scene does not know them."""
        found = self._found[hand]
        rows = np.zeros((0, 1)) if found is None else found.contacts
        table = np.zeros(len(rows), CONTACT_COLUMNS)
        if found is None or not len(rows):
            return table
        table["body_a"] = self._grips[hand].body
        table["body_b"] = [self._bodies[int(row[PC_BODY])] for row in rows]
        normal = rows[:, PC_NORMAL : PC_NORMAL + 3]
        table["point"], table["normal"] = rows[:, PC_POINT : PC_POINT + 3], -normal
        table["depth"] = -rows[:, PC_GAP]
        press = found.results[:, OUT_NORMAL_FORCE, None] * normal
        table["force"] = -press - found.results[:, OUT_FRICTION : OUT_FRICTION + 3]
        table["sticking"] = found.results[:, OUT_STATE] != SLIP
        table["area"] = [_area(row) for row in rows]
        return table

    def marks(self, hand: int) -> NDArray[np.void]:
        """The elements that touch, where they do, and the task frame of every contact."""
        found, model = self._found[hand], self._models[hand]
        if found is None or not len(found.contacts):
            return np.zeros(0, MARK)
        pose, size = self._poses[hand], model.reach
        turned = rotation_of(pose[3:])
        lines: list[tuple[Array, int]] = []
        for row in found.contacts:
            own = lines_of(model.tool, int(row[PC_A]), CORNER * size)
            lines.append((own @ turned.T + pose[:3], MARK_HELD))
            other = self._placed[int(row[PC_BODY])]
            lines.append((lines_of(other, int(row[PC_B]), CORNER * size), MARK_FIXED))
            lines.append((_region(row), MARK_REGION))
            point, y = row[PC_POINT : PC_POINT + 3], row[PC_NORMAL : PC_NORMAL + 3]
            x = row[PC_TANGENT : PC_TANGENT + 3]
            for k, axis in enumerate((x, y, np.cross(x, y))):
                line = np.stack((point, point + AXES * size * axis))[None]
                lines.append((line, MARK_AXIS + k))
        table = np.zeros(sum(len(line) for line, _ in lines), MARK)
        table["start"] = np.concatenate([line[:, 0] for line, _ in lines])
        table["end"] = np.concatenate([line[:, 1] for line, _ in lines])
        table["kind"] = np.concatenate([np.full(len(line), kind) for line, kind in lines])
        return table

    def visited(self, hand: int) -> FormationGraph | None:
        """The formations that a tool went through so far."""
        return self._visits[hand].graph(self.formations)


def _model(
    tool: Tool,
    fixed: list[tuple[Boundary, tuple[Array, Array]]],
    options: Formation,
    dt: float,
    names: list[str],
) -> FormationModel:
    """The model of a tool in its principal frame, which is that of the servo's states."""
    moments, axes = principal_frame(tool.inertia)
    boundary = boundary_of(tool.shape).moved(axes.T, -axes.T @ tool.centre)
    most = WINDOW * dt
    options = replace(
        options,
        window=min(options.window, most),
        velocity_window=min(options.velocity_window, most),
    )
    return FormationModel(
        boundary, tool.mass, np.diag(moments), fixed, options, dt, names=[tool.name, *names]
    )


def _area(row: Array) -> float:
    """Of the region of a contact [m²]."""
    corners = _corners(row)
    if len(corners) < 3:
        return 0.0
    fan = np.cross(corners[1:-1] - corners[0], corners[2:] - corners[0])
    return float(0.5 * np.linalg.norm(fan.sum(axis=0)))


def _region(row: Array) -> Array:
    """The outline of the region of a contact, a line or none, shape (n, 2, 3) [m]."""
    corners = _corners(row)
    if len(corners) < 3:
        return corners[None] if len(corners) == 2 else np.zeros((0, 2, 3))
    return np.stack((corners, np.roll(corners, -1, axis=0)), axis=1)


def _corners(row: Array) -> Array:
    """Of the region of a contact, shape (n, 3) [m]."""
    corners: Array = row[PC_POLYGON : PC_POLYGON + 3 * int(row[PC_COUNT])].reshape(-1, 3)
    return corners
