"""Drawings of the page on contact formations: kinds of principal contacts.

Bodies are posed, and what touches is found by tangere: the words above a picture are what was found
there, not what was meant.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.colors import to_rgb

import tangere as tg
from tangere.contact.formation.columns import (
    LINE,
    PC_A,
    PC_B,
    PC_COUNT,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_REGION,
    PLANE,
)
from tangere.contact.formation.identify import Formations
from tangere.experiments.figures import INK, canvas, house_style
from tangere.experiments.pictures import SUN, Camera, Solid, solids
from tangere.geometry.boundary import EDGE, FACE, SEGMENT, Boundary, boundary_of
from tangere.geometry.curved_solid import CurvedSolid, bowl, pen
from tangere.geometry.shapes import Shape
from tangere.maths.rotations import quaternion_of, rotation_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HELD, FIXED = "#ecc48f", "#b9cbdc"  # faces
OF_HELD, OF_FIXED, REGION = "#c65f00", "#1f5f9e", "#c1272d"  # elements, and where they touch
RIM, BROWN = "#5d7286", "#7a5a2a"
PLATE = {"fc": "white", "ec": "none", "pad": 1.5}
GAP = 0.3e-3  # between bodies that are to touch: within ε
WORDS = ("vertex", "edge", "face")
REGIONS = ("point", "line", "plane")
NORMAL = 0.016  # length of the arrow of a contact normal [m]


class Posed(NamedTuple):
    """A shape with its place and rotation in the world."""

    shape: Shape
    position: Array
    turned: Array


# ---------------------------------------------------------------- principal contacts


@house_style
def contacts_of_polyhedra() -> Figure:
    """The ten types of principal contacts of polyhedra."""
    figure, panels = canvas(
        "The ten types of principal contacts of polyhedra: which element of the held body (above) "
        "lies on which element of the fixed one, and the region in which they touch (red). The "
        "arrow is the normal of the contact plane. The last four have none of their own.",
        columns=5,
        rows=2,
        size=(9.0, 5.2),
    )
    size = np.full(3, 0.024)
    camera = Camera(azimuth=-62.0, elevation=17.0, width=0.056, height=0.082, centre=(0, 0, 0))
    across = _about((0, 0, 1), 90.0)
    # a cube with a face, an edge along x, a vertex on top and at the bottom
    face, edge, vertex = np.eye(3), _about((1, 0, 0), 45.0), _to_top(np.ones(3))
    # rotations of the held cube and of the fixed one, and how far the former is shifted along x, y
    posed = [
        (_about((0, 0, 1), 8.0), face, (0.008, 0.007)),
        (_about((0, 0, 1), 8.0), edge, (0.005, 0.0)),
        (edge, face, (0.0, 0.0)),
        (face, vertex, (0.004, 0.004)),
        (vertex, face, (0.0, 0.0)),
        (_about((0, 0, 1), 65.0) @ edge, edge, (0.0, 0.0)),
        (edge, edge, (0.008, 0.0)),
        (across @ edge, vertex, (0.0, 0.0)),
        (vertex, edge, (0.0, 0.0)),
        (vertex, vertex, (0.0, 0.0)),
    ]
    cube = tg.Box(size)
    for axes, (own, other, (x, y)) in zip(panels, posed, strict=True):
        held = Posed(cube, np.array([x, y, _height(own, size) + GAP]), own)
        fixed = Posed(cube, np.array([0.0, 0.0, -_height(other, size)]), other)
        _picture(axes, camera, held, [fixed])
    return figure


@house_style
def contacts_of_curves() -> Figure:
    """Principal contacts with curved elements."""
    figure, panels = canvas(
        "Principal contacts with curved elements: the pair of elements, the region in which they "
        "touch (red), and the normal of the contact plane. The last two: a pen with its tip, a "
        "ball, in a bowl, and with its shaft on the rim of it; the bowl is cut open.",
        columns=5,
        rows=2,
        size=(9.0, 4.6),
    )
    camera = Camera(azimuth=-62.0, elevation=20.0, width=0.062, height=0.07, centre=(0, 0, 0.006))
    slab, ball = tg.Box((0.044, 0.032, 0.010)), tg.Sphere(0.012)
    rod, long = tg.Cylinder(0.009, 0.032), tg.Cylinder(0.009, 0.044)
    lying, across = _about((0, 1, 0), 90.0), _about((1, 0, 0), 90.0)
    yaw = _about((0, 0, 1), 20.0)
    lean = math.radians(30.0)
    apex = math.degrees(math.atan(0.012 / 0.03))  # half the angle of the cone
    below = np.array([0.0, 0.0, -0.005])
    cube, cone = tg.Box((0.02, 0.02, 0.02)), tg.Cone(0.012, 0.03)
    tilted, on_side = yaw @ _about((0, 1, 0), 30.0), _about((0, 1, 0), 90.0 + apex)
    # the held body, its height, its rotation; whether it lies on a long rod instead of the slab
    posed = [
        (ball, 0.012, np.eye(3), False),
        (rod, 0.009, yaw @ lying, False),
        (rod, 0.016, np.eye(3), False),
        (rod, 0.009 * math.sin(lean) + 0.016 * math.cos(lean), tilted, False),
        (cone, 0.0225 * math.sin(math.radians(apex)), _about((0, 0, 1), 155.0) @ on_side, False),
        (rod, 0.009, across, True),
        (rod, 0.009, lying, True),
        (cube, 0.01 * math.sqrt(3.0), _to_top(np.ones(3)), True),
    ]
    for axes, (shape, height, turned, on_rod) in zip(panels, posed, strict=False):
        held = Posed(shape, np.array([0.0, 0.0, height + GAP]), turned)
        under = Posed(long, np.array([0.0, 0.0, -0.009]), lying)
        _picture(axes, camera, held, [under if on_rod else Posed(slab, below, np.eye(3))])
    _pens(panels[-2:])
    return figure


def _pens(panels: Sequence[Axes]) -> None:
    """The tip of a pen in a bowl, and its shaft on the rim; only the far half of the bowl."""
    camera = Camera(
        azimuth=-90.0, elevation=16.0, width=0.062, height=0.07, centre=(-0.002, 0, 0.011)
    )
    focal, rim, shaft, tip = 0.012, 0.022, 0.0025, 0.001
    dish = bowl(focal, rim, 0.003)
    stylus = pen(shaft, 0.021, 0.007, tip)
    r = 0.010
    normal = np.array([-r / (2.0 * focal), 0.0, 1.0]) / math.hypot(1.0, r / (2.0 * focal))
    centre = np.array([r, 0.0, r * r / (4.0 * focal)]) + (tip + GAP) * normal
    upright, leaned = _about((0, 1, 0), 12.0), _about((0, 1, 0), -62.0)
    edge = np.array([-rim, 0.0, rim * rim / (4.0 * focal)])
    places = (
        (centre - tip * upright[:, 2], upright),
        (edge + (shaft + GAP) * leaned[:, 0] - 0.0175 * leaned[:, 2], leaned),
    )
    for axes, (position, turned) in zip(panels, places, strict=True):
        _cut_bowl(_View(axes, camera), dish)
        bodies = (Posed(stylus, position, turned), Posed(dish, np.zeros(3), np.eye(3)))
        _picture(axes, camera, bodies[0], [bodies[1]], drawn=False)
        way = _profile(stylus)
        ring = np.vstack((way, way[::-1] * (-1.0, 1.0, 1.0))) @ turned.T + position
        xy = _View(axes, camera).flat(ring)
        axes.fill(xy[:, 0], xy[:, 1], fc=HELD, ec=BROWN, lw=1.0, alpha=0.85, zorder=10)


def _profile(solid: CurvedSolid) -> Array:
    """The half of its outline with x ≥ 0, in the plane of x and z [m]."""
    way = np.concatenate([each.at(np.linspace(0.0, 1.0, 40)) for each in solid.pieces])
    return np.column_stack((way[:, 0], np.zeros(len(way)), way[:, 1]))


def _cut_bowl(view: _View, solid: CurvedSolid) -> None:
    """The half of a solid of revolution behind the plane of x and z, and its cut."""
    vertices, faces = solid.surface()
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    seen = (corners[:, :, 1].mean(axis=1) > 0.0) & (normals @ view.towards > 0.0)
    depth = corners.mean(axis=1) @ view.towards
    base = np.array(to_rgb(FIXED))
    for k in np.flatnonzero(seen)[np.argsort(depth[seen])]:
        shade = base * (0.72 + 0.28 * max(0.0, float(normals[k] @ SUN)))
        xy = view.flat(corners[k])
        view.axes.fill(xy[:, 0], xy[:, 1], fc=shade, ec=shade, lw=0.4, zorder=2)
    for side in (1.0, -1.0):
        xy = view.flat(_profile(solid) * (side, 1.0, 1.0))
        view.axes.fill(xy[:, 0], xy[:, 1], fc="#dfe8f0", ec=RIM, hatch="/////", lw=0.9, zorder=3)


def _height(turned: Array, size: Array) -> float:
    """Of the topmost point of a box over its middle [m]."""
    return float(np.abs(turned[2]) @ (0.5 * size))


def _about(axis: Sequence[float], angle: float) -> Array:
    """Rotation about an axis by an angle [°]."""
    n = np.asarray(axis, float)
    n = n / np.linalg.norm(n)
    half = 0.5 * math.radians(angle)
    turned: Array = rotation_of(np.array([math.cos(half), *(math.sin(half) * n)]))
    return turned


def _to_top(direction: Array) -> Array:
    """The least rotation that takes a direction to +z."""
    d = direction / np.linalg.norm(direction)
    axis = np.cross(d, (0.0, 0.0, 1.0))
    return _about(axis.tolist(), math.degrees(math.acos(d[2])))


def _picture(
    axes: Axes, camera: Camera, held: Posed, fixed: Sequence[Posed], *, drawn: bool = True
) -> None:
    """Bodies as glass, the elements that touch, their regions and normals, and words above."""
    boundaries = [boundary_of(each.shape) for each in (held, *fixed)]
    poses = [(each.position, quaternion_of(each.turned)) for each in fixed]
    found = Formations(boundaries[0], list(zip(boundaries[1:], poses, strict=True)))
    rows, _ = found.find(held.position, quaternion_of(held.turned))
    view = _View(axes, camera)
    for each, colour in (*((f, FIXED) for f in fixed), (held, HELD)) if drawn else ():
        alpha = 0.85 if colour == FIXED else 0.5
        if isinstance(each.shape, tg.Sphere):
            view.ball(each.position, each.shape.radius, colour, alpha)
            continue
        for solid in solids(each.shape, each.position, quaternion_of(each.turned), colour):
            _glass(view, solid, alpha)
    titles = []
    for row in rows:
        a, b = int(row[PC_A]), int(row[PC_B])
        region = int(row[PC_REGION])
        dimension = [boundaries[k].elements.dimension[e] for k, e in ((0, a), (1, b))]
        for k, element, each, colour in ((0, a, held, OF_HELD), (1, b, fixed[0], OF_FIXED)):
            for line in _outline(boundaries[k], element):
                view.line(line @ each.turned.T + each.position, colour, 1.9)
        titles.append(f"{WORDS[dimension[0]]}–{WORDS[dimension[1]]}\n{REGIONS[region]}")
        corners = row[PC_POLYGON : PC_POLYGON + 3 * int(row[PC_COUNT])].reshape(-1, 3)
        point, normal = row[PC_POINT : PC_POINT + 3], row[PC_NORMAL : PC_NORMAL + 3]
        if region == PLANE:
            view.fill(corners, REGION, 0.75)
        elif region == LINE:
            view.line(corners, REGION, 2.6)
        view.arrow(point, point + NORMAL * normal, INK)
        if region not in (LINE, PLANE):
            view.dot(point, REGION)
    axes.set_title("\n".join(titles), fontsize=9.5, linespacing=1.3)


def _outline(boundary: Boundary, element: int) -> list[Array]:
    """Lines that show a flat face or a straight edge in the frame of its body."""
    e = boundary.elements
    if e.dimension[element] == FACE:
        return [np.vstack((loop, loop[:1])) for loop in boundary.loops(element)]
    if e.dimension[element] == EDGE and e.kind[element] == SEGMENT:
        way = e.size[element, 0] * e.frame[element, :, 2]
        return [e.frame[element, :, 3] + np.array([-way, way])]
    return []


class _View:
    """Axes onto which points of the world are projected."""

    def __init__(self, axes: Axes, camera: Camera) -> None:
        self.axes = axes
        self.right, self.up, self.towards = camera.axes()
        self.centre = np.asarray(camera.centre)
        axes.set_xlim(-0.5 * camera.width, 0.5 * camera.width)
        axes.set_ylim(-0.5 * camera.height, 0.5 * camera.height)
        axes.set_aspect("equal")
        axes.axis("off")

    def flat(self, points: Array) -> Array:
        """Places on the paper."""
        there = np.asarray(points) - self.centre
        return np.stack((there @ self.right, there @ self.up), axis=-1)

    def fill(self, points: Array, colour: str, alpha: float) -> None:
        """A polygon."""
        xy = self.flat(points)
        self.axes.fill(xy[:, 0], xy[:, 1], fc=colour, ec=colour, alpha=alpha, lw=1.2, zorder=20)

    def line(self, points: Array, colour: str, width: float, style: str = "-") -> None:
        """A line from point to point."""
        xy = self.flat(points)
        self.axes.plot(
            xy[:, 0], xy[:, 1], style, color=colour, lw=width, zorder=21, solid_capstyle="round"
        )

    def ball(self, centre: Array, radius: float, colour: str, alpha: float) -> None:
        """A ball, brighter where the light falls on it."""
        angle = np.linspace(0.0, 2.0 * math.pi, 121)
        ring = np.column_stack((np.cos(angle), np.sin(angle)))
        base = np.array(to_rgb(colour))
        middle, lit = self.flat(centre), np.array([-0.3, 0.35])
        for k, share in enumerate(np.linspace(1.0, 0.1, 19)):
            xy = middle + radius * (share * ring + (1.0 - share) * lit)
            shade = (*(base * (0.8 + 0.2 * k / 18)), alpha if k == 0 else 0.25 * alpha)
            self.axes.fill(xy[:, 0], xy[:, 1], fc=shade, lw=0, zorder=10)
        xy = middle + radius * ring
        self.axes.plot(xy[:, 0], xy[:, 1], color=tuple(0.5 * base), lw=1.0, zorder=11)

    def dot(self, point: Array, colour: str) -> None:
        """A point."""
        self.axes.plot(*self.flat(point), "o", color=colour, ms=6.5, zorder=23)

    def arrow(self, tail: Array, head: Array, colour: str) -> None:
        """An arrow."""
        arrow(self.axes, self.flat(tail), self.flat(head), colour)


def _glass(view: _View, solid: Solid, alpha: float) -> None:
    """A convex solid that what is behind it shines through: hidden edges are dashed."""
    base = np.array(to_rgb(solid.colour))
    normals = solid.planes[:, :3]
    seen = normals @ view.towards > 0.0
    owner = {
        (v, face[(k + 1) % len(face)]): i
        for i, face in enumerate(solid.faces)
        for k, v in enumerate(face)
    }
    light = 0.72 + 0.28 * np.clip(normals @ SUN, 0.0, 1.0)
    for i in np.flatnonzero(seen):
        xy = view.flat(solid.vertices[list(solid.faces[i])])
        view.axes.fill(xy[:, 0], xy[:, 1], fc=(*(base * light[i]), alpha), lw=0, zorder=10)
    for (u, v), i in owner.items():
        j = owner.get((v, u), i)
        sharp = float(normals[i] @ normals[j]) < 0.82
        outline = seen[i] != seen[j]
        if u < v and (sharp or outline):
            hidden = not (seen[i] or seen[j])
            xy = view.flat(solid.vertices[[u, v]])
            view.axes.plot(
                xy[:, 0], xy[:, 1], ":" if hidden else "-", color=tuple(0.5 * base),
                lw=0.7 if hidden else 1.0, zorder=11, solid_capstyle="round",
            )  # fmt: skip


def arrow(axes: Axes, tail: Array, head: Array, colour: str, **style: Any) -> None:
    """An arrow from place to place, without margins."""
    look = {"arrowstyle": "-|>", "color": colour, "lw": 1.4, "mutation_scale": 10}
    axes.annotate(
        "", tuple(head), tuple(tail), zorder=22,
        arrowprops={**look, "shrinkA": 0.0, "shrinkB": 0.0, **style},
    )  # fmt: skip


FIGURES = {
    "formation-polyhedra": contacts_of_polyhedra,
    "formation-curved": contacts_of_curves,
}
