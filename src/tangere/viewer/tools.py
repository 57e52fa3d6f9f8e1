"""Tools in hand, as drawn: the ghost where the hand is, the line to it, two arrows, the handles.

The tool itself is a body of the scene and drawn solid by the stage. Its ghost, translucent, is
where the hand wants it; a line joins the two grips, green without force, red at the limit.
Arrows above the grip show the force and the torque that the hand feels. Where the grip is outside
the tool's surface, a stem joins the two.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array
from tangere.viewer.outlines import contains, crisp, linear, round_up

if TYPE_CHECKING:
    from tangere.scene.scene import Tool
    from tangere.viewer.frame import Description
    from tangere.viewer.server import Server
    from tangere.viewer.stage import Stage

GHOST_COLOUR = (120, 170, 205)
GHOST_OPACITY = 0.3
# Nearer to its tool than this a ghost is not drawn: the two surfaces would flicker.
GHOST_AWAY, GHOST_TURNED = 0.01, 0.02  # [drawing units], [rad]
# A hand that moves along a face of its tool leaves the faces in one plane, which flickers as well.
GHOST_SMALLER = 0.985
FORCE_COLOUR = (124, 40, 160)
TORQUE_COLOUR = (20, 108, 200)
EASY, HARD = np.array([40, 150, 70]), np.array([210, 36, 30])  # colours of the line
LINE = 0.012  # its thickness [drawing units]
STEM, STEM_COLOUR = 0.05, (150, 98, 12)  # thickness [drawing units]
HANDLES = 0.42  # size of the handles [drawing units]
SHORTEST, LONGEST = 0.02, 1.2  # of both arrows [drawing units]
LIFT = np.array([0.0, 0.0, 0.16])  # of both above the grip, out of the tool [drawing units]

Move = Callable[[int, Array, Array, bool], None]


class Tools:
    """All that is drawn of the hands and tools of a scene."""

    def __init__(self, server: Server, stage: Stage, move: Move) -> None:
        """Nothing is drawn yet.

        Args:
            server: Of the page.
            stage: With the scale of the drawing.
            move: Called with tool, position [m], orientation and whether the mouse holds on, when
                somebody drags the handles.
        """
        self._server = server
        self._stage = stage
        self._move = move
        self._nodes: list[Any] = []
        self._ghosts: list[Any] = []
        self._handles: dict[int, Any] = {}
        self._limits: list[float] = []
        self._start: Hashable = None
        self.cell_torque = 1.0  # that an arrow as long as a grid cell stands for [N m]

    def load(self, description: Description) -> None:
        """Draw the tools of another scene."""
        for node in self._nodes:
            node.remove()
        self._nodes, self._ghosts, self._handles = [], [], {}
        self._start = None
        bodies = tools_of(description)
        self._limits = [sheet.max_force for sheet in description.tools]
        if not bodies:
            return
        scene, stage = self._server.scene, self._stage
        sizes, stems = [], []
        for i, body in enumerate(bodies):
            points, faces = body.shape.surface()
            nearest = np.linalg.norm(points - body.grip, axis=1).argmin()
            inside = contains(points, faces, body.grip)
            stems.append(np.zeros(3) if inside else points[nearest] - body.grip)
            sizes.append(float(np.ptp(points, axis=0).max()))
            vertices, triangles = crisp(points, faces)
            middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
            vertices = middle + GHOST_SMALLER * (vertices - middle)
            self._ghosts.append(
                scene.add_mesh_simple(
                    f"/tools/{i}/ghost",
                    (vertices * stage.scale).astype(np.float32),
                    triangles,
                    color=GHOST_COLOUR,
                    opacity=GHOST_OPACITY,
                    cast_shadow=False,
                    receive_shadow=False,
                    position=stage.drawn(body.position),
                    wxyz=body.orientation,
                )
            )
            if description.tools[i].hand:
                self._handles[i] = self._add_handles(i)
        # Torques of contacts on the tool itself are a tenth of force times length, or so.
        self.cell_torque = round_up(0.1 * stage.cell_force * float(np.median(sizes)))
        segment = np.zeros((len(bodies), 2, 3), dtype=np.float32)
        self._stems = np.array(stems)
        self._stem = scene.add_line_segments("/tools/stem", segment, STEM_COLOUR, thickness=STEM)
        colours = np.zeros(segment.shape, dtype=np.uint8)
        self._line = scene.add_line_segments("/tools/line", segment, colours, thickness=LINE)
        self._force = self._add_arrows("force", segment, FORCE_COLOUR)
        self._torque = self._add_arrows("torque", segment, TORQUE_COLOUR)
        self._nodes = [
            *self._ghosts, *self._handles.values(), self._stem, self._line, self._force,
            self._torque,
        ]  # fmt: skip

    def show(self, rows: Any, start: Hashable) -> None:
        """Move everything to where the rows of the tools have it.

        Handles stay where they were dragged to, until `start` changes: then the hands were placed
        anew, at a fresh start or when another session took over.
        """
        if not self._ghosts or len(rows) != len(self._ghosts):
            return
        stage = self._stage
        grips, hands = stage.drawn(rows["grip"]), stage.drawn(rows["hand_position"])
        away = stage.scale * rows["deviation"] > GHOST_AWAY
        apart = away | (rows["angle"] > GHOST_TURNED)
        for ghost, row, seen in zip(self._ghosts, rows, apart, strict=True):
            stage.send(ghost, "visible", bool(seen))
            stage.send(ghost, "position", stage.drawn(row["ghost_position"]))
            stage.send(ghost, "wxyz", row["ghost_orientation"])
        turned = rotation_of(rows["orientation"])
        stems = np.einsum("tij,tj->ti", turned, self._stems) * stage.scale
        stage.send(self._stem, "points", np.stack((grips, grips + stems), axis=1))
        stage.send(self._line, "points", np.stack((grips, hands), axis=1))
        stage.send(self._line, "colors", self._line_colours(rows))
        felt = -np.asarray(rows["coupling"])
        cell = stage.grid_cell * stage.scale
        self._show_arrows(self._force, grips + LIFT, felt[:, :3] * stage.newton)
        self._show_arrows(self._torque, grips + LIFT, felt[:, 3:] * (cell / self.cell_torque))
        if start != self._start:
            self._start = start
            for i, node in self._handles.items():
                node.position = hands[i]
                node.wxyz = rows[i]["hand_orientation"]

    # ------------------------------------------------------------------ parts

    def _show_arrows(self, node: Any, starts: Array, along: Array) -> None:
        """Arrows of those that are long enough to be one, none longer than `LONGEST`."""
        length = np.linalg.norm(along, axis=1, keepdims=True)
        cut = along * np.minimum(1.0, LONGEST / np.maximum(length, 1e-12))
        seen = length[:, 0] > SHORTEST
        self._stage.send(node, "visible", bool(seen.any()))
        if seen.any():
            self._stage.send(node, "points", np.stack((starts, starts + cut), axis=1)[seen])

    def _line_colours(self, rows: Any) -> Any:
        """From green to red as the coupling's force goes from zero to its limit."""
        force = np.linalg.norm(np.asarray(rows["coupling"])[:, :3], axis=1)
        most = [
            limit if np.isfinite(limit) else self._stage.longest_force for limit in self._limits
        ]
        share = np.clip(force / np.maximum(most, 1e-9), 0.0, 1.0)[:, None]
        colours = linear(EASY + share * (HARD - EASY))
        return np.repeat(colours[:, None, :], 2, axis=1)

    def _add_arrows(self, name: str, segment: Any, colour: tuple[int, int, int]) -> Any:
        thick = 1.4 * self._stage.thick
        return self._server.scene.add_arrows(
            f"/tools/{name}",
            segment,
            colour,
            shaft_radius=thick,
            head_radius=2.7 * thick,
            head_length=6.0 * thick,
        )

    def _add_handles(self, tool: int) -> Any:
        node = self._server.scene.add_transform_controls(
            f"/hands/{tool}", scale=HANDLES, depth_test=False, opacity=0.9
        )

        # Asynchronous, because only those see start, update and end in their order.
        async def moved(event: Any) -> None:
            place = self._stage.world(event.target.position)
            self._move(tool, place, np.asarray(event.target.wxyz, float), event.phase != "end")

        node.on_update(moved)
        return node


def tools_of(description: Description) -> list[Tool]:
    """The bodies that hands hold, in the order of the description's sheets."""
    names = [sheet.name for sheet in description.tools]
    found = {tool.name: tool for tool in description.scene.tools}
    return [found[name] for name in names]
