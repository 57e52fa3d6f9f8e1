"""Pictures of a scene from recorded poses: shaded solids with ground shadows, as vector graphics.

A few convex solids on a floor need no graphics card: faces that look at the camera are projected
and painted from back to front. Two convex solids that do not overlap are separated by a face plane
of one of them (or nearly so), which tells who stands in front; the drawing order follows from
that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUN = np.array([-0.35, -0.55, 1.0]) / math.sqrt(0.35**2 + 0.55**2 + 1.0)
AMBIENT = 0.68  # share of the light that reaches a face turned away from the sun
SMOOTH = math.cos(math.radians(35.0))  # faces closer than this in direction share no drawn edge
PALETTE = ("#5b8db8", "#e0a458", "#7fb285", "#c9727a", "#8f7fb5", "#6aa6a6", "#b8a15b")
FLOOR_COLOUR = "#f1f0ec"
SHADOW_COLOUR = "#d6d3cb"
INK = "#2b2f36"


@dataclass(frozen=True)
class Solid:
    """One convex solid in world coordinates: corners, outward planes, face loops, colour."""

    vertices: Array
    planes: Array
    faces: tuple[tuple[int, ...], ...]
    colour: str


@dataclass(frozen=True)
class Camera:
    """Where the picture is taken from: directions [deg], and the part of the world it shows [m]."""

    azimuth: float = -58.0
    elevation: float = 16.0
    centre: tuple[float, float, float] = (0.0, 0.0, 1.0)
    width: float = 4.0
    height: float = 4.0

    def axes(self) -> tuple[Array, Array, Array]:
        """Unit vectors to the right, up, and towards the camera."""
        a, e = math.radians(self.azimuth), math.radians(self.elevation)
        towards = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
        right = np.array([-math.sin(a), math.cos(a), 0.0])
        return right, np.cross(towards, right), towards


@dataclass(frozen=True)
class Frame:
    """One picture of a strip: the solids, a caption, and arrows (tail, head, colour) [m]."""

    solids: tuple[Solid, ...]
    caption: str
    arrows: tuple[tuple[Array, Array, str], ...] = ()
    camera: Camera | None = None


def solids(
    shape: Any, position: Array, orientation: Array, colour: str = PALETTE[0]
) -> tuple[Solid, ...]:
    """The convex pieces of a shape placed in the world."""
    turn = rotation_of(orientation)
    placed = []
    for part in shape.parts():
        planes = np.empty((len(part.planes), 4))
        planes[:, :3] = part.planes[:, :3] @ turn.T
        planes[:, 3] = part.planes[:, 3] + planes[:, :3] @ position
        loops = tuple(
            tuple(int(v) for v in part.loops[part.loop_start[i] : part.loop_start[i + 1]])
            for i in range(len(planes))
        )
        placed.append(Solid(part.vertices @ turn.T + position, planes, loops, colour))
    return tuple(placed)


def strip(frames: Sequence[Frame], camera: Camera, title: str, panel: float = 2.1) -> Figure:
    """A row of pictures with their captions below; `panel` is the width of one [inch]."""
    from matplotlib.figure import Figure

    tall = panel * camera.height / camera.width
    figure = Figure(figsize=(panel * len(frames), tall + 0.3))
    figure.set_label(title)
    bottom = 0.3 / (tall + 0.3)
    for i, frame in enumerate(frames):
        axes = figure.add_axes(
            ((i + 0.02) / len(frames), bottom, 0.96 / len(frames), 1.0 - bottom - 0.01)
        )
        draw(axes, frame, frame.camera or camera)
        figure.text(
            (i + 0.5) / len(frames), 0.45 * bottom, frame.caption,
            ha="center", va="center", fontsize=8.5, color=INK,
        )  # fmt: skip
    return figure


def draw(axes: Axes, frame: Frame, camera: Camera) -> None:
    """One picture into axes: floor, soft shadows, solids from back to front, arrows on top."""
    from matplotlib.collections import PolyCollection

    right, up, towards = camera.axes()
    centre = np.asarray(camera.centre)

    def project(points: Array) -> Array:
        return np.column_stack(((points - centre) @ right, (points - centre) @ up))

    half_w, half_h = 0.5 * camera.width, 0.5 * camera.height
    axes.set_xlim(-half_w, half_w)
    axes.set_ylim(-half_h, half_h)
    axes.set_aspect("equal")
    axes.axis("off")
    # a round horizon behind, and floor without end in front
    reach = 1.6 * max(half_w, half_h)
    ring = np.linspace(-0.5 * math.pi, 0.5 * math.pi, 25)
    ahead = np.array([-towards[0], -towards[1], 0.0]) / math.hypot(towards[0], towards[1])
    disc = reach * (np.outer(np.cos(ring), ahead) - np.outer(np.sin(ring), right))
    near = np.array([disc[-1] - 20.0 * reach * ahead, disc[0] - 20.0 * reach * ahead])
    disc = np.vstack((disc, near))
    disc[:, :2] += centre[:2]
    axes.add_collection(
        PolyCollection([project(disc)], facecolors=FLOOR_COLOUR, edgecolors="none", zorder=0)
    )
    for solid in frame.solids:
        _shadow(axes, solid, project)
    order = _back_to_front(frame.solids, towards)
    for rank, index in enumerate(order):
        _paint(axes, frame.solids[index], project, towards, rank + 10)
    for tail, head, colour in frame.arrows:
        (x0, y0), (x1, y1) = project(np.array([tail, head]))
        axes.annotate(
            "", (x1, y1), (x0, y0), zorder=1000,
            arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.5, "mutation_scale": 9},
        )  # fmt: skip


def paint_triangles(axes: Axes, camera: Camera, surfaces: Sequence[tuple[Array, Array]]) -> None:
    """Triangles of any surfaces, corners (n, 3, 3) [m] and colours (n, 3), from back to front."""
    from matplotlib.collections import PolyCollection

    right, up, towards = camera.axes()
    sun = np.array([0.3, -0.4, 0.87])
    flat, depth, colours = [], [], []
    for corners, colour in surfaces:
        placed = corners - np.asarray(camera.centre)
        normal = np.cross(placed[:, 1] - placed[:, 0], placed[:, 2] - placed[:, 0])
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        seen = normal @ towards > 0.0
        flat.append(np.stack((placed[seen] @ right, placed[seen] @ up), axis=2))
        depth.append(placed[seen].mean(axis=1) @ towards)
        light = 0.55 + 0.45 * np.clip(normal[seen] @ sun, 0.0, 1.0)
        colours.append(np.clip(light[:, None] * colour[seen], 0.0, 1.0))
    order = np.argsort(np.concatenate(depth))
    shades = np.concatenate(colours)[order]
    axes.add_collection(
        PolyCollection(
            list(np.concatenate(flat)[order]), facecolors=shades, edgecolors=shades, lw=0.2
        )
    )
    axes.set_xlim(-0.5 * camera.width, 0.5 * camera.width)
    axes.set_ylim(-0.5 * camera.height, 0.5 * camera.height)
    axes.set_aspect("equal")
    axes.axis("off")


def _shadow(axes: Axes, solid: Solid, project: Any) -> None:
    """Two nested shadows on the floor: a wide pale one and a narrow dark one read as soft."""
    from matplotlib.collections import PolyCollection
    from scipy.spatial import ConvexHull

    flat = solid.vertices - np.outer(solid.vertices[:, 2] / SUN[2], SUN)
    hull = flat[ConvexHull(flat[:, :2]).vertices]
    middle = hull.mean(axis=0)
    for grow, alpha in ((1.05, 0.35), (1.0, 0.35), (0.95, 0.35)):
        axes.add_collection(
            PolyCollection(
                [project(middle + grow * (hull - middle))],
                facecolors=SHADOW_COLOUR,
                edgecolors="none",
                alpha=alpha,
                zorder=1,
            )
        )


def _back_to_front(bodies: Sequence[Solid], towards: Array) -> list[int]:
    """Painting order of convex solids: a body waits for all that a plane puts behind it."""
    n = len(bodies)
    behind: list[set[int]] = [set() for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            side = _in_front(bodies[i], bodies[j], towards)
            if side > 0:
                behind[j].add(i)
            elif side < 0:
                behind[i].add(j)
    depth = [float(np.max(b.vertices @ towards)) for b in bodies]
    left = set(range(n))
    order: list[int] = []
    while left:
        free = [i for i in left if not (behind[i] & left)]
        # a cycle of mutual overlap cannot be ordered: then the farthest goes first
        pick = min(free or left, key=lambda i: depth[i])
        order.append(pick)
        left.remove(pick)
    return order


def _in_front(a: Solid, b: Solid, towards: Array) -> int:
    """+1: b before a; -1: a before b, by the face plane that separates them best; 0: either."""
    gap_a = (b.vertices @ a.planes[:, :3].T - a.planes[:, 3]).min(axis=0)
    gap_b = (a.vertices @ b.planes[:, :3].T - b.planes[:, 3]).min(axis=0)
    best_a, best_b = int(np.argmax(gap_a)), int(np.argmax(gap_b))
    if gap_a[best_a] >= gap_b[best_b]:
        facing = float(a.planes[best_a, :3] @ towards)
    else:
        facing = -float(b.planes[best_b, :3] @ towards)
    return 1 if facing > 1e-9 else -1 if facing < -1e-9 else 0


def _paint(axes: Axes, solid: Solid, project: Any, towards: Array, zorder: float) -> None:
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.colors import to_rgb

    base = np.array(to_rgb(solid.colour))
    normals = solid.planes[:, :3]
    seen = [i for i in range(len(normals)) if normals[i] @ towards > 0.0]
    flat = project(solid.vertices)
    light = AMBIENT + (1.0 - AMBIENT) * np.clip(normals @ SUN, 0.0, 1.0)
    colours = [np.clip(base * light[i] + 0.22 * (light[i] - AMBIENT), 0.0, 1.0) for i in seen]
    polygons = [flat[list(solid.faces[i])] for i in seen]
    # a hairline in the face's own colour closes the gaps between neighbours
    axes.add_collection(
        PolyCollection(
            polygons, facecolors=colours, edgecolors=colours, linewidths=0.3, zorder=zorder
        )
    )
    owner: dict[tuple[int, int], int] = {}
    for i, face in enumerate(solid.faces):
        for k, v in enumerate(face):
            owner[(v, face[(k + 1) % len(face)])] = i
    lines = []
    for (u, v), i in owner.items():
        j = owner.get((v, u), i)
        visible = i in seen or j in seen
        crease = float(normals[i] @ normals[j]) < SMOOTH
        outline = (i in seen) != (j in seen)
        if u < v and visible and (crease or outline):
            lines.append(flat[[u, v]])
    axes.add_collection(
        LineCollection(
            lines,
            colors=[tuple(0.55 * base)],
            linewidths=0.7,
            capstyle="round",
            zorder=zorder + 0.5,
        )
    )
