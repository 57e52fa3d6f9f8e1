"""The scene as drawn: bodies, floors, springs, contact patches and force arrows.

Scenes of a few millimetres and of many metres are drawn at one size: `Stage.scale` turns metres
into drawing units around `Stage.origin`. So the light, the shadows and the camera stay as they are
whatever scene is chosen. Rigid bodies of one form (equal up to stretching) are one batch, whose
poses travel in one message; soft ones are drawn by `SoftSurfaces`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tangere.geometry.outline import disc, outline
from tangere.geometry.shapes import Mesh
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array
from tangere.viewer.outlines import (
    Edges,
    crisp,
    edges_of,
    fans,
    half_space,
    linear,
    overlap_corners,
    rim,
    round_up,
    zigzag,
)
from tangere.viewer.soft_surfaces import SoftSurfaces

if TYPE_CHECKING:
    from tangere.scene.scene import Body, Scene
    from tangere.viewer.frame import Frame, Sheet
    from tangere.viewer.server import Server

DRAWN_HEIGHT = 1.8  # most that a scene fills at its start [drawing units]
DRAWN_WIDTH = 3.0
DRAWN_BODY = 0.6  # most that the median body fills
CAMERA = (2.5, -3.6, 1.5)
CAMERA_TARGET = (0.0, 0.0, 0.0)
CAMERA_ANGLE = 0.72  # vertical field of view [rad]

# Bodies in turn; dark, because lamps and tone mapping brighten them.
PALETTE = np.array(
    [
        [36, 96, 148], [212, 112, 40], [52, 128, 88], [178, 58, 62], [108, 80, 158],
        [204, 156, 44], [42, 132, 142], [184, 88, 132], [116, 130, 60], [128, 92, 70],
    ],
    dtype=np.uint8,
)  # fmt: skip
FIXED_COLOUR = np.array([120, 124, 128], dtype=np.uint8)
TOOL_COLOUR = np.array([196, 128, 16], dtype=np.uint8)
STICK_COLOUR = (6, 92, 96)
SLIP_COLOUR = (196, 44, 0)
SPRING_COLOUR = (70, 74, 80)
# Of lines that show what touches: elements of the tool and of fixed bodies, axes of the task frame,
# where they touch.
MARK_COLOURS = np.array(
    [[214, 0, 120], [0, 90, 220], [200, 40, 40], [30, 140, 60], [60, 60, 200], [30, 34, 40]],
    dtype=np.uint8,
)
MARK_WIDTH = 3.0  # of these lines [px]
# Pressure from low to high: from pale yellow to deep violet, readable without colour vision.
PRESSURE_COLOURS = np.array(
    [
        [253, 231, 140], [251, 196, 106], [246, 152, 92], [229, 107, 93],
        [196, 70, 108], [150, 47, 122], [99, 33, 120], [52, 20, 98],
    ],
    dtype=np.uint8,
)  # fmt: skip
PRESSURE_SPAN = (0.3, 100.0)  # least and most shown pressure, over a body's own weight on its base
MOST_POLYGONS = 40  # contacts whose true outline is worked out per frame; the rest are discs
MOST_DRAWN = 400  # contacts drawn at all: the strongest
LONGEST_ARROW = 1.6  # [drawing units]
SHARE_OF_PULL = 0.35  # of a hand's most force: the longest arrow; more is rare
WEIGHT_OF_PULL = 0.2  # what counts as a usual weight where hands pull, over their most force
WEIGHT_ARROW = 1.2  # length of a body's weight, over the size of the body
THICK_ARROW = 0.012  # radius of a shaft [drawing units], less where bodies are small
LIFT = 0.004  # of a patch above the floor [drawing units]
SEE_THROUGH = 0.66  # opacity of bodies
CHOSEN = 0.82  # opacity of the chosen one
STANDING = 0.3  # opacity of fixed ones: walls hide what matters …
STANDING_BY_TOOLS = 0.6  # … but what a hand explores is what matters
CLEAR = 0.5  # of tools whose contacts have frames to be seen


@dataclass(slots=True)
class Batch:
    """Bodies of one form and the node that draws them."""

    node: Any
    bodies: NDArray[np.int64]
    """Indices."""
    fixed: NDArray[np.bool_]
    solid: bool
    """Never translucent: its surface is hollow."""


class Stage:
    """What stands in the 3D view of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._nodes: list[Any] = []
        self._batches: list[Batch] = []
        self._edges: dict[int, list[Edges]] = {}
        self._pieces = True
        self._patch_nodes: list[Any] = []
        self._see_through = True
        self._clear = False
        self._chosen: int | None = None
        self._scene: Scene | None = None
        self._tools: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.thick = THICK_ARROW  # radius of the shaft of an arrow [drawing units]
        self.scale = 1.0
        self.origin = np.zeros(3)
        self.grid_cell = 0.1  # [m]
        self.cell_force = 1.0  # that an arrow as long as a grid cell stands for [N]
        self.pressure_range = (1.0, 100.0)  # [Pa]
        self._sent: dict[tuple[int, str], Any] = {}
        self.soft = SoftSurfaces(server, self.send)
        self._sun = _set_up_room(server)

    # ------------------------------------------------------------------ metres and drawing units

    def drawn(self, points: Array) -> Array:
        """World points [m] in drawing units."""
        result: Array = (np.asarray(points, dtype=float) - self.origin) * self.scale
        return result

    def world(self, points: Any) -> Array:
        """Drawing units back to world points [m]."""
        result: Array = np.asarray(points, dtype=float) / self.scale + self.origin
        return result

    @property
    def newton(self) -> float:
        """Length of the arrow of 1 N [drawing units]."""
        return self.grid_cell * self.scale / self.cell_force

    @property
    def longest_force(self) -> float:
        """Force beyond which arrows grow no longer [N]."""
        return LONGEST_ARROW / self.newton

    # ------------------------------------------------------------------ a new scene

    def load(
        self, scene: Scene, tools: Sequence[Sheet] = (), *, pieces: bool = True
    ) -> list[Batch]:
        """Draw another scene from its start; returns its batches of rigid bodies.

        Args:
            scene: With all bodies.
            tools: Those that hands hold.
            pieces: Whether contacts are those of convex pieces, whose overlaps can be drawn; else a
                contact is drawn as large as the area that it stands for.
        """
        for node in self._nodes:
            node.remove()
        self._nodes, self._batches = [], []
        self._sent.clear()
        self._scene, self._pieces = scene, pieces
        index = {body.name: body.index for body in scene.bodies}
        self._tools = np.array([index[tool.name] for tool in tools], dtype=np.int64)
        surfaces = [body.shape.surface() for body in scene.bodies]
        self._fit(scene, surfaces, [tool.max_force for tool in tools])
        self._add_floors(scene)
        self._add_bodies(scene, surfaces)
        self.soft.load(scene, self.scale)
        self._edges = {}
        self._add_contacts()
        return self._batches

    def see_through(self, on: bool) -> None:
        """Make bodies translucent, so that what happens between them shows."""
        if on != self._see_through:
            self._see_through = on
            self._set_opacities()

    def clear_tools(self, on: bool) -> None:
        """Make tools translucent too, for the frames of contacts that reach into them."""
        if on != self._clear:
            self._clear = on
            self._set_opacities()

    def choose(self, body: int | None) -> None:
        """Make one body stand out: it is less translucent than the others."""
        self._chosen = body
        self._set_opacities()

    def _set_opacities(self) -> None:
        for batch in self._batches:
            standing = STANDING_BY_TOOLS if len(self._tools) else STANDING
            opacities = np.where(batch.fixed, standing, SEE_THROUGH)
            opacities[batch.bodies == self._chosen] = CHOSEN
            opacities[np.isin(batch.bodies, self._tools)] = CLEAR if self._clear else 1.0
            if batch.solid:  # triangles of one surface are not sorted among each other
                opacities[:] = 1.0
            # What is opaque is drawn first only if it has no opacity: then it shows through others.
            translucent = self._see_through and bool((opacities < 1.0).any())
            shown = opacities.astype(np.float32) if translucent else None
            batch.node.batched_opacities = shown

    def shadows(self, on: bool) -> None:
        """Draw shadows: without a graphics processor they cost most of a picture's time."""
        self.send(self._sun, "cast_shadow", on)

    def _fit(self, scene: Scene, surfaces: list[Any], pulls: list[float]) -> None:
        """Choose what a drawing unit and an arrow stand for; `pulls`: most force of each hand."""
        low, high = _bounds(scene, surfaces, everything=bool(pulls))
        width, height = float((high - low)[:2].max()), float((high - low)[2])
        self.origin = 0.5 * (low + high)
        gravity = max(float(np.linalg.norm(scene.gravity)), 1.0)
        weights, sizes, thicknesses = [1.0], [1.0], [1.0]  # of nothing, where all is fixed
        movable = [pair for pair in zip(scene.bodies, surfaces, strict=True) if not pair[0].fixed]
        if movable:
            extents = [np.ptp(surface[0], axis=0) for _, surface in movable]
            weights = [body.mass * gravity for body, _ in movable]
            # Boxes around soft bodies are mostly empty: legs, rings.
            volumes = [
                np.prod(extent) if body.elastic is None else body.shape.moments().volume
                for (body, _), extent in zip(movable, extents, strict=True)
            ]
            sizes = [float(volume ** (1.0 / 3.0)) for volume in volumes]
            thicknesses = [float(extent.min()) for extent in extents]
        weight, size, thickness = (float(np.median(x)) for x in (weights, sizes, thicknesses))
        self.scale = min(
            DRAWN_WIDTH / width, DRAWN_HEIGHT / max(height, 1e-3 * width), DRAWN_BODY / size
        )
        self.grid_cell = round_up(0.2 / self.scale)
        # The lowest contact of a stack carries all of it: its arrow must fit as well.
        stacked = max(1.0, 1.25 * height / thickness)
        arrow = min(WEIGHT_ARROW * size * self.scale, LONGEST_ARROW / stacked)
        if pulls and np.isfinite(pulls).all():
            # A hand's pull is what there is to see; a light tool's weight is nothing beside it.
            weight = max(weight, WEIGHT_OF_PULL * max(pulls))
            most = SHARE_OF_PULL * max(pulls)
            self.cell_force = round_up(most * self.grid_cell * self.scale / LONGEST_ARROW)
        else:
            self.cell_force = round_up(weight * self.grid_cell * self.scale / arrow)
        self.thick = THICK_ARROW * min(1.0, size * self.scale / 0.35)
        base = size * size
        least, most = PRESSURE_SPAN
        self.pressure_range = (least * weight / base, most * weight / base)

    def _add_floors(self, scene: Scene) -> None:
        cell = self.grid_cell * self.scale
        for i, floor in enumerate(scene.floors):
            point = self.origin - (float(floor.normal @ self.origin) - floor.height) * floor.normal
            self._nodes.append(
                self._server.scene.add_grid(
                    f"/floor/{i}",
                    infinite_grid=True,
                    cell_size=cell,
                    section_size=5.0 * cell,
                    cell_color=(214, 216, 216),
                    section_color=(188, 193, 196),
                    plane_color=(236, 236, 231),
                    plane_opacity=1.0,
                    shadow_opacity=0.3,
                    fade_distance=13.0,
                    fade_strength=1.6,
                    fade_from="origin",
                    wxyz=_upright(floor.normal),
                    position=self.drawn(point),
                )
            )

    def _add_bodies(self, scene: Scene, surfaces: list[Any]) -> None:
        groups: dict[tuple[bytes, bytes], list[tuple[int, Array]]] = {}
        forms: dict[tuple[bytes, bytes], tuple[Any, Any]] = {}
        for i, (vertices, triangles) in enumerate(surfaces):
            if scene.bodies[i].elastic is not None:
                continue
            extent = np.ptp(vertices, axis=0)
            unit = np.round(vertices / extent, 9) + 0.0  # + 0.0 turns -0 into 0
            key = (unit.tobytes(), np.asarray(triangles).tobytes())
            groups.setdefault(key, []).append((i, extent))
            forms.setdefault(key, (vertices, triangles))
        for number, (key, members) in enumerate(groups.items()):
            bodies = np.array([i for i, _ in members])
            extents = np.stack([extent for _, extent in members])
            points, faces = crisp(*forms[key])
            start = [scene.bodies[i] for i in bodies]
            node = self._server.scene.add_batched_meshes_simple(
                f"/bodies/{number}",
                points / extents[0],
                faces,
                batched_wxyzs=np.stack([body.orientation for body in start]),
                batched_positions=self.drawn(np.stack([body.position for body in start])),
                batched_scales=extents * self.scale,
                batched_colors=np.stack([self._colour(body) for body in start]),
                lod="off",
            )
            self._nodes.append(node)
            fixed = np.array([body.fixed for body in start])
            solid = all(isinstance(body.shape, Mesh) for body in start)
            self._batches.append(Batch(node, bodies, fixed, solid))
        self.choose(None)

    def _colour(self, body: Body) -> Any:
        if body.index in self._tools:
            return TOOL_COLOUR
        return FIXED_COLOUR if body.fixed else PALETTE[body.index % len(PALETTE)]

    # ------------------------------------------------------------------ every frame

    def show(self, frame: Frame) -> None:
        """Move everything to where the frame has it."""
        with self._server.atomic():
            positions, orientations = self.drawn(frame.positions), frame.orientations
            if len(frame.tools):
                # Tools are where the servo has them, a moment ahead of the scene.
                positions[self._tools] = self.drawn(frame.tools["position"])
                orientations = orientations.copy()
                orientations[self._tools] = frame.tools["orientation"]
            for batch in self._batches:
                self.send(batch.node, "batched_positions", positions[batch.bodies])
                self.send(batch.node, "batched_wxyzs", orientations[batch.bodies])
            self.soft.show(frame, positions, orientations)
            self._show_contacts(frame)
            self._show_marks(frame)
            self._show_springs(frame)
            self._show_pull(frame)

    def send(self, node: Any, name: str, value: Any) -> None:
        """Set a property of a node, unless the page has that value already."""
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            value = value.astype(np.float32)
        key = (id(node), name)
        before = self._sent.get(key)
        if before is not None and np.array_equal(before, value):
            return
        self._sent[key] = value
        setattr(node, name, value)

    def _add_contacts(self) -> None:
        scene = self._server.scene
        none = np.zeros((1, 3), dtype=np.float32)
        face = np.zeros((1, 3), dtype=np.uint32)
        self._patch_nodes = [
            scene.add_mesh_simple(
                f"/contacts/patch/{i}",
                none,
                face,
                color=colour,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
                visible=False,
            )
            for i, colour in enumerate(PRESSURE_COLOURS)
        ]
        segment = np.zeros((1, 2, 3), dtype=np.float32)
        # Lines that begin with one colour for all stay white when each gets its own.
        black = np.zeros((1, 2, 3), dtype=np.uint8)
        self._outline = scene.add_line_segments(
            "/contacts/outline", segment, black, thickness=0.7 * self.thick, visible=False
        )
        self._arrows = scene.add_arrows(
            "/contacts/force",
            segment,
            (0, 0, 0),
            shaft_radius=self.thick,
            head_radius=2.7 * self.thick,
            head_length=6.8 * self.thick,
            visible=False,
        )
        self._marks = scene.add_line_segments(
            "/contacts/marks", segment, black, thickness=MARK_WIDTH, thickness_units="screen",
            visible=False,
        )  # fmt: skip
        self._springs = scene.add_line_segments(
            "/springs", segment, SPRING_COLOUR, thickness=0.012, visible=False
        )
        self._pull_line = scene.add_line_segments(
            "/pull/spring", segment, black, thickness=0.014, visible=False
        )
        self._pull_knob = scene.add_icosphere(
            "/pull/hand", radius=0.035, color=(60, 64, 70), cast_shadow=False, visible=False
        )
        self._nodes += [
            *self._patch_nodes, self._marks, self._outline, self._arrows, self._springs,
            self._pull_line, self._pull_knob,
        ]  # fmt: skip

    def _show_contacts(self, frame: Frame) -> None:
        contacts = frame.contacts
        strength = np.linalg.norm(contacts["force"], axis=1) if len(contacts) else np.empty(0)
        strongest = np.argsort(strength)[::-1][:MOST_DRAWN]
        contacts = contacts[strongest[strength[strongest] > 0.0]]
        polygons = self._polygons(frame, contacts)
        # Patches on a floor would lie within its surface and flicker.
        lift = np.where(contacts["body_a"] < 0, LIFT / self.scale, 0.0)
        lift -= np.where(contacts["body_b"] < 0, LIFT / self.scale, 0.0)
        raised = lift[:, None] * contacts["normal"]
        polygons = [polygon + up for polygon, up in zip(polygons, raised, strict=True)]
        levels = pressure_levels(contacts, self.pressure_range)
        for level, node in enumerate(self._patch_nodes):
            members = [p for p, l in zip(polygons, levels, strict=True) if l == level]
            if members:
                vertices, faces = fans([self.drawn(p) for p in members])
                self.send(node, "vertices", vertices)
                self.send(node, "faces", faces)
            self.send(node, "visible", bool(members))
        self.send(self._outline, "visible", bool(len(contacts)))
        self.send(self._arrows, "visible", bool(len(contacts)))
        if not len(contacts):
            return
        segments, colours = [], []
        for polygon, sticking in zip(polygons, contacts["sticking"], strict=True):
            lines = rim(self.drawn(polygon), bool(sticking))
            segments.append(lines)
            colour = STICK_COLOUR if sticking else SLIP_COLOUR
            colours.append(np.broadcast_to(linear(colour), (len(lines), 2, 3)))
        self.send(self._outline, "points", np.concatenate(segments))
        self.send(self._outline, "colors", np.concatenate(colours))
        arrows, colours_of_arrows = self._force_arrows(contacts)
        self.send(self._arrows, "points", arrows)
        self.send(self._arrows, "colors", colours_of_arrows)

    def _show_marks(self, frame: Frame) -> None:
        """The elements that touch, and the frames of their contacts."""
        marks = frame.marks
        self.send(self._marks, "visible", bool(len(marks)))
        if not len(marks):
            return
        ends = np.stack((marks["start"], marks["end"]), axis=1)
        self.send(self._marks, "points", self.drawn(ends).astype(np.float32))
        colours = linear(MARK_COLOURS)[np.clip(marks["kind"], 0, len(MARK_COLOURS) - 1)]
        self.send(self._marks, "colors", np.repeat(colours[:, None], 2, axis=1))

    def _force_arrows(self, contacts: Any) -> tuple[Any, Any]:
        """Arrows of the force on a tool, or else on whichever body lies above, and colours."""
        force = np.array(contacts["force"])
        held_a = np.isin(contacts["body_a"], self._tools)
        held = held_a | np.isin(contacts["body_b"], self._tools)
        force[np.where(held, held_a, force[:, 2] < 0.0)] *= -1.0
        arrow = force * self.newton
        length = np.linalg.norm(arrow, axis=1, keepdims=True)
        arrow *= np.minimum(1.0, LONGEST_ARROW / np.maximum(length, 1e-12))
        start = self.drawn(contacts["point"])
        points = np.stack((start, start + arrow), axis=1)
        sticking = np.asarray(contacts["sticking"], dtype=bool)[:, None]
        colours = np.where(sticking, np.array(STICK_COLOUR), np.array(SLIP_COLOUR)).astype(np.uint8)
        return points, colours

    def _polygons(self, frame: Frame, contacts: Any) -> list[Array]:
        """Outline of every contact patch [m], strongest contacts first."""
        rotations = rotation_of(frame.orientations)
        floors = self._loaded().floors
        placed: dict[int, list[Edges]] = {}

        def solids(body: int) -> list[Edges]:
            if body not in placed:
                if body < 0:
                    floor = floors[-1 - body]
                    placed[body] = [half_space(floor.normal, floor.height)]
                else:
                    pose = rotations[body], frame.positions[body]
                    placed[body] = [part.moved(*pose) for part in self._solid(body)]
            return placed[body]

        least = 0.012 / self.scale  # [m] small enough to be a point, large enough to be seen
        polygons = []
        for rank, row in enumerate(contacts):
            point, normal = np.asarray(row["point"]), np.asarray(row["normal"])
            polygon = None
            if self._pieces and rank < MOST_POLYGONS and row["area"] > 0.0:
                a, b = solids(int(row["body_a"])), solids(int(row["body_b"]))
                polygon = _nearest_patch(a, b, point, normal)
            if polygon is None:
                # Where marks show the true region a point is enough.
                area = 0.0 if len(frame.marks) else row["area"]
                radius = max(least, float(np.sqrt(area / np.pi)))
                polygon = disc(point, normal, radius)
            polygons.append(polygon)
        return polygons

    def _solid(self, body: int) -> list[Edges]:
        """Convex pieces of a body; looked for when they are needed, meshes may have many."""
        if body not in self._edges:
            parts = self._loaded().bodies[body].shape.parts()
            self._edges[body] = [edges_of(part) for part in parts]
        return self._edges[body]

    def _loaded(self) -> Scene:
        assert self._scene is not None
        return self._scene

    def _show_springs(self, frame: Frame) -> None:
        springs = self._loaded().springs
        self.send(self._springs, "visible", bool(springs))
        if not springs:
            return
        rotations = rotation_of(frame.orientations)
        lines = []
        for spring in springs:
            a = frame.positions[spring.body_a] + rotations[spring.body_a] @ spring.anchor_a
            if spring.body_b is None:
                b = spring.anchor_b + spring.velocity * frame.time
            else:
                b = frame.positions[spring.body_b] + rotations[spring.body_b] @ spring.anchor_b
            lines.append(zigzag(self.drawn(a), self.drawn(b)))
        self.send(self._springs, "points", np.concatenate(lines))

    def _show_pull(self, frame: Frame) -> None:
        pull = frame.pull
        self.send(self._pull_line, "visible", pull is not None)
        self.send(self._pull_knob, "visible", pull is not None)
        if pull is None:
            return
        ends = self.drawn(np.stack((pull.point, pull.target)))
        self.send(self._pull_line, "points", ends[None])
        strong = min(1.0, pull.force * self.newton / LONGEST_ARROW)
        colour = linear([46 + 170 * strong, 150 - 90 * strong, 80 - 30 * strong])
        self.send(self._pull_line, "colors", np.broadcast_to(colour, (1, 2, 3)).copy())
        self.send(self._pull_knob, "position", ends[1])


def pressure_levels(contacts: Any, span: tuple[float, float]) -> NDArray[np.int64]:
    """Colour index of every contact: its mean pressure on a logarithmic scale over `span` [Pa]."""
    normal_force = np.abs(np.einsum("ij,ij->i", contacts["force"], contacts["normal"]))
    area = np.asarray(contacts["area"], dtype=float)
    # A contact without area (a point) shows the highest pressure.
    pressure = np.where(area > 0.0, normal_force / np.maximum(area, 1e-300), np.inf)
    low, high = np.log(span)
    place = (np.log(np.clip(pressure, *span)) - low) / (high - low)
    count = len(PRESSURE_COLOURS)
    levels: NDArray[np.int64] = np.minimum((place * count).astype(np.int64), count - 1)
    return levels


def _set_up_room(server: Server) -> Any:
    """Light, background and the camera's first place; returns the lamp that casts shadows."""
    scene = server.scene
    scene.world_axes.visible = False
    scene.configure_default_lights(enabled=False)
    scene.configure_environment_map("studio", environment_intensity=0.2)
    sun = scene.add_light_directional(
        "/light/sun", intensity=1.25, cast_shadow=True, position=(-1.6, -2.0, 4.0)
    )
    scene.add_light_hemisphere(
        "/light/sky", sky_color=(236, 243, 250), ground_color=(206, 196, 182), intensity=0.35
    )
    rise = np.linspace(0.0, 1.0, 256)[:, None, None]
    sky = np.array([206, 219, 229]) * (1.0 - rise) + np.array([245, 244, 240]) * rise
    scene.set_background_image(np.repeat(sky, 2, axis=1).astype(np.uint8), format="png")
    server.initial_camera.position = CAMERA
    server.initial_camera.look_at = CAMERA_TARGET
    server.initial_camera.fov = CAMERA_ANGLE
    return sun


def _bounds(scene: Scene, surfaces: list[Any], everything: bool) -> tuple[Array, Array]:
    """Corners of the box around what is to be seen first [m]: movable bodies, grips and the floor.

    Fixed bodies count where nothing else is there, or `everything` is asked for.
    """
    corners = []
    grips = {tool.index: tool.grip for tool in scene.tools}
    for wanted in (False, True):
        for body, (vertices, _) in zip(scene.bodies, surfaces, strict=True):
            if body.fixed is wanted:
                points = (
                    np.vstack((vertices, grips[body.index])) if body.index in grips else vertices
                )
                corners.append(points @ rotation_of(body.orientation).T + body.position)
        if corners and not everything:
            break
    if not corners:
        corners.append(np.array([[-0.5, -0.5, 0.0], [0.5, 0.5, 1.0]]))
    points = np.concatenate(corners)
    # Bodies that start high will fall: the highest fifth may stand out of the picture a little.
    top = float(np.quantile([c[:, 2].max() for c in corners], 0.8))
    points[:, 2] = np.minimum(points[:, 2], max(top, float(points[:, 2].min()) + 1e-9))
    for floor in scene.floors:
        if floor.normal[2] > 0.5:
            above = points - (points @ floor.normal - floor.height)[:, None] * floor.normal
            points = np.concatenate((points, above))
    return points.min(axis=0), points.max(axis=0)


def _upright(normal: Array) -> Array:
    """Quaternion that turns z into the normal, (w, x, y, z)."""
    w = 1.0 + normal[2]
    if w < 1e-9:
        return np.array([0.0, 1.0, 0.0, 0.0])
    q = np.array([w, -normal[1], normal[0], 0.0])
    unit: Array = q / np.linalg.norm(q)
    return unit


def _nearest_patch(a: list[Edges], b: list[Edges], point: Array, normal: Array) -> Array | None:
    """The patch of those two convex pieces whose overlap lies nearest to the contact's point."""
    best, nearest = None, np.inf
    for piece_a in a:
        for piece_b in b:
            polygon = outline(overlap_corners(piece_a, piece_b), point, normal)
            if polygon is None:
                continue
            distance = float(np.linalg.norm(polygon.mean(axis=0) - point))
            if distance < nearest:
                best, nearest = polygon, distance
    return best
