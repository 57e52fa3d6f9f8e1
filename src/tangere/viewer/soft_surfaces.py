"""Surfaces of soft bodies as drawn: they deform, and their colour is the stress.

The session sends how far every surface vertex is from its place at rest, in the axes of the body:
so a body that moves as a whole costs one pose. Stress follows from that on the page. The page's
library knows one colour a mesh, so that a surface is one mesh a colour, each of the triangles whose
stress lies in its range. The scale is linear and follows the high stresses of late; a few spots,
such as under a ball, may have more.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tangere.fem.surface_stress import surface_stress
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array, IntArray
from tangere.viewer.outlines import round_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangere.scene.scene import Body, Scene
    from tangere.simulation import Simulation
    from tangere.viewer.frame import Frame
    from tangere.viewer.server import Server

# Stress from none to the most: from blue to red over pale ones, readable without colour vision.
STRESS_COLOURS = np.array(
    [
        [36, 74, 130], [62, 112, 158], [110, 158, 182], [168, 188, 192],
        [206, 176, 110], [212, 134, 60], [196, 80, 38], [160, 28, 30],
    ],
    dtype=np.uint8,
)  # fmt: skip
LEAST_STRAIN = 0.01  # the scale goes to the stress of this strain at least
HIGH = 0.98  # … and has this share of the vertices on it
FADE = 2.0  # [s] in which it forgets most of a peak
INTERVAL = 1.0 / 15.0  # [s] between two shapes of a body: some 100 kB each
STILL = 1e-4  # [drawing units] vertices that moved less are not sent again


def soft_bodies(scene: Scene) -> list[Body]:
    """Bodies whose surfaces deform."""
    return [body for body in scene.bodies if body.elastic is not None]


def vertex_count(scene: Scene) -> int:
    """Surface vertices of all of them."""
    return sum(len(body.shape.surface()[0]) for body in soft_bodies(scene))


def displacements_of(simulation: Simulation, scene: Scene) -> NDArray[np.float32]:
    """How far they are from their places at rest, in the axes of the shapes, shape (v, 3) [m]."""
    parts = [np.zeros((0, 3))]
    for body in soft_bodies(scene):
        view = simulation[body.index]
        turned = rotation_of(view.orientation)
        local = (simulation.stepper.surface(body.index) - view.position) @ turned
        parts.append(local - body.shape.surface()[0])
    return np.concatenate(parts).astype(np.float32)


@dataclass(slots=True)
class Surface:
    """One soft body and the nodes that draw it."""

    body: Body
    frame: Any
    """Node that has the pose."""
    meshes: list[Any]
    """Nodes below it, one a colour."""
    rest: Array
    triangles: IntArray
    shown: Array
    """Displacements as drawn [m]."""
    most: float = 0.0
    """Scale of stress as drawn [Pa]."""
    sent: float = -np.inf
    """When [s]."""


class SoftSurfaces:
    """All soft bodies of a scene, as drawn.

    Attributes:
        most_stress: Where the last colour ends, which also stands for more [Pa]; 0: there is no
            soft body.
        interval: At least so long between two shapes of a body, on the wall [s].
    """

    def __init__(self, server: Server, send: Callable[[Any, str, Any], None]) -> None:
        """Nothing is drawn yet.

        Args:
            server: Of the page.
            send: Sets a property of a node, unless the page has that value already.
        """
        self._server = server
        self._send = send
        self._surfaces: list[Surface] = []
        self._scale = 1.0
        self._least = 0.0
        self._peak, self._time = 0.0, 0.0
        self.most_stress = 0.0
        self.interval = INTERVAL

    def load(self, scene: Scene, scale: float) -> None:
        """Draw the soft bodies of another scene at rest; `scale`: drawing units per metre."""
        for surface in self._surfaces:
            surface.frame.remove()
        self._scale = scale
        self._peak, self._time = 0.0, 0.0
        self._surfaces = [self._add(body) for body in soft_bodies(scene)]
        moduli = [body.elastic.young for body in soft_bodies(scene) if body.elastic is not None]
        self._least = LEAST_STRAIN * max(moduli, default=0.0)
        self.most_stress = round_up(self._least) if moduli else 0.0

    def nodes(self) -> list[tuple[int, Any]]:
        """Every body and one of the meshes that draw it."""
        return [(each.body.index, mesh) for each in self._surfaces for mesh in each.meshes]

    def show(self, frame: Frame, positions: Array, orientations: Array) -> None:
        """Move and deform them; positions of all bodies in drawing units."""
        first, stresses = 0, []
        for surface in self._surfaces:
            end = first + len(surface.rest)
            u = np.asarray(frame.displacements[first:end], float)
            first = end
            self._send(surface.frame, "position", positions[surface.body.index])
            self._send(surface.frame, "wxyz", orientations[surface.body.index])
            stresses.append((surface, u, _stress(surface, u)))
        if not stresses:
            return
        passed, self._time = max(0.0, frame.time - self._time), frame.time
        self._peak *= float(np.exp(-passed / FADE))
        high = [float(np.quantile(stress, HIGH)) for *_, stress in stresses]
        self._peak = max(self._peak, *high)
        self.most_stress = round_up(max(self._peak, self._least))
        now = time.monotonic()
        for surface, u, stress in stresses:
            moved = float(np.abs(u - surface.shown).max()) * self._scale > STILL
            if (moved or surface.most != self.most_stress) and now - surface.sent >= self.interval:
                surface.sent = now
                self._deform(surface, u, stress)

    def _add(self, body: Body) -> Surface:
        rest, triangles = body.shape.surface()
        scene, path = self._server.scene, f"/soft/{body.index}"
        frame = scene.add_frame(path, show_axes=False)
        meshes = [
            scene.add_mesh_simple(
                f"{path}/{i}",
                np.zeros((1, 3), np.float32),
                np.zeros((1, 3), np.uint32),
                color=colour,
                flat_shading=True,
                visible=False,
            )
            for i, colour in enumerate(STRESS_COLOURS)
        ]
        shown = np.full(rest.shape, np.inf)  # so that the first displacements are drawn
        return Surface(body, frame, meshes, np.asarray(rest), triangles, shown)

    def _deform(self, surface: Surface, u: Array, stress: Array) -> None:
        surface.shown, surface.most = u, self.most_stress
        points = (surface.rest + u) * self._scale
        parts = bands(points, stress, surface.triangles, self.most_stress)
        for mesh, (vertices, faces) in zip(surface.meshes, parts, strict=True):
            if len(faces):
                self._send(mesh, "vertices", vertices.astype(np.float32))
                self._send(mesh, "faces", faces.astype(np.uint32))
            self._send(mesh, "visible", bool(len(faces)))


def bands(
    points: Array, stress: Array, triangles: NDArray[Any], most: float
) -> list[tuple[Array, NDArray[Any]]]:
    """The surface cut along lines of equal stress: vertices and triangles of every colour.

    Colours have equal shares of 0 … `most` [Pa]; the last has all above as well.
    """
    parts = []
    for bound in most / len(STRESS_COLOURS) * np.arange(1, len(STRESS_COLOURS)):
        points, stress, below, triangles = _cut(points, stress, triangles, bound)
        parts.append(below)
    found = []
    for part in (*parts, triangles):
        used, faces = np.unique(part, return_inverse=True)
        found.append((points[used], faces.reshape(-1, 3)))
    return found


def _cut(
    points: Array, values: Array, triangles: NDArray[Any], bound: float
) -> tuple[Array, Array, NDArray[Any], NDArray[Any]]:
    """Cut triangles where the value is `bound`: points and values with new ones; below, above."""
    over = values[triangles] >= bound
    count = over.sum(axis=1)
    # Corner a of a cut triangle is alone on its side; b and c are on the other.
    cut = (count == 1) | (count == 2)
    alone = (over[cut] == (count[cut] == 1)[:, None]).argmax(axis=1)
    turned = (alone[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(triangles[cut], turned, axis=1).T
    ends = np.stack((np.concatenate((a, a)), np.concatenate((b, c)))).astype(np.int64)
    edges, new = np.unique(ends.min(0) * len(points) + ends.max(0), return_inverse=True)
    i, j = np.divmod(edges, len(points))
    share = (bound - values[i]) / (values[j] - values[i])
    ab, ac = len(points) + new.reshape(2, -1)
    points = np.concatenate((points, points[i] + share[:, None] * (points[j] - points[i])))
    values = np.concatenate((values, np.full(len(edges), bound)))
    tips = np.column_stack((a, ab, ac))
    rest = np.stack((np.column_stack((ab, b, c)), np.column_stack((ab, c, ac))))
    up = count[cut] == 1  # the tip is above
    below = (triangles[count == 0], tips[~up], *rest[:, up])
    above = (triangles[count == 3], tips[up], *rest[:, ~up])
    return points, values, np.concatenate(below), np.concatenate(above)


def _stress(surface: Surface, u: Array) -> Array:
    elastic = surface.body.elastic
    assert elastic is not None
    return surface_stress(surface.rest, surface.triangles, u, elastic.young, elastic.poisson)
