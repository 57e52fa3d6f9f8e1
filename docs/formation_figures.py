"""The kinds of principal contacts in pictures: each is posed, found by tangere, and drawn.

What stands below a picture is what was found, not what was meant.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import tangere as tg
from tangere.contact.formation.columns import (
    LINE,
    PC_A,
    PC_B,
    PC_NORMAL,
    PC_POINT,
    PC_REGION,
    PLANE,
)
from tangere.contact.formation.model import FormationModel
from tangere.experiments.figures import INK, canvas
from tangere.experiments.formation_log import kind_of
from tangere.experiments.held_mesh import paint_placed
from tangere.experiments.pictures import Camera
from tangere.geometry.boundary_lines import lines_of
from tangere.geometry.curved_solid import bowl
from tangere.maths.rotations import quaternion_of, rotation_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tangere.geometry.shapes import Shape

HELD, FIXED = "#e8c9a0", "#cfd9e3"
OF_HELD, OF_FIXED = "#d9660a", "#1f6fb5"
GAP = 0.5e-3
HALF, LOW = 0.012, 0.010  # of the cube in hand, of the slab [m]
SLAB = np.array([0.06, 0.06, 2.0 * LOW])
CAMERA = Camera(azimuth=-55.0, elevation=22.0, centre=(0.0, 0.0, 0.012), width=0.1, height=0.075)
REGIONS = {LINE: "line", PLANE: "plane"}


class Posed(NamedTuple):
    """A held shape at a pose, and a fixed one at the origin or turned about it."""

    tool: Shape
    position: Array
    turned: Array
    fixed: Shape
    laid: Array


def taxonomy() -> Figure:
    """Kinds of principal contacts, with the elements that touch and the contact normal."""
    posed = [*_flat(), *_curved()]
    columns = 4
    figure, panels = canvas(
        "Kinds of principal contacts, as they were found at these poses: element of the body in "
        "hand (orange) – element of the fixed one (blue), and the region. Arrow: normal of the "
        "contact plane. The last two of the first eight have no contact plane of their own.",
        columns=columns,
        rows=-(-len(posed) // columns),
        size=(9.0, 2.1 * -(-len(posed) // columns)),
    )
    for axes in panels:
        axes.axis("off")
    for axes, one in zip(panels, posed, strict=False):
        _draw(axes, one)
    return figure


def _draw(axes: Axes, one: Posed) -> None:
    model = FormationModel.of_shapes(
        one.tool, 0.1, [(one.fixed, (np.zeros(3), quaternion_of(one.laid)))], tg.Formation(), 1e-3
    )
    found = model.update(one.position, quaternion_of(one.turned), 0.0)
    middle = (
        one.position if len(found.contacts) == 0 else found.contacts[0, PC_POINT : PC_POINT + 3]
    )
    camera = Camera(**{**CAMERA.__dict__, "centre": tuple(0.5 * middle + (0.0, 0.0, 0.006))})
    paint_placed(
        axes,
        camera,
        [
            (one.fixed, np.zeros(3), one.laid, FIXED),
            (one.tool, one.position, one.turned, HELD),
        ],
    )
    right, up, _ = camera.axes()

    def flat(points: Array) -> Array:
        there = points - np.asarray(camera.centre)
        return np.stack((there @ right, there @ up), axis=-1)

    words = []
    for row in found.contacts:
        own = lines_of(model.tool, int(row[PC_A]), 0.006) @ one.turned.T + one.position
        other = lines_of(model.fixed[0], int(row[PC_B]), 0.006) @ one.laid.T
        for lines, colour in ((own, OF_HELD), (other, OF_FIXED)):
            for line in flat(lines):
                axes.plot(line[:, 0], line[:, 1], color=colour, lw=1.8, solid_capstyle="round")
        point, normal = row[PC_POINT : PC_POINT + 3], row[PC_NORMAL : PC_NORMAL + 3]
        tail, head = flat(np.array([point, point + 0.018 * normal]))
        axes.annotate(
            "", head, tail,
            arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.4, "mutation_scale": 9},
        )  # fmt: skip
        words.append(REGIONS.get(int(row[PC_REGION]), "point"))
    axes.set_title(f"{kind_of(model, found.contacts)}: {', '.join(words)}", fontsize=8.5)


def _flat() -> list[Posed]:
    """A cube on a slab in every way."""
    cube, slab = tg.Box(np.full(3, 2.0 * HALF)), tg.Box(SLAB)
    e = 0.5 * float(SLAB[0])
    x, y, z = np.eye(3)

    def posed(position: Array, turned: Array) -> Posed:
        return Posed(cube, position, turned, slab, np.eye(3))

    def frame(*axes: Array) -> Array:
        return np.column_stack([a / np.linalg.norm(a) for a in axes])

    high = LOW + GAP
    over = x + z  # out of an edge of the slab
    out = x + y + z  # … and of a corner
    edge, corner = np.array([e, 0.0, LOW]), np.array([e, e, LOW])
    diagonal = frame(x - y, x + y - 2.0 * z, out)  # z axis out of the corner
    on_edge = frame(y, z - x, over) @ np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1.0]])
    roll = _about(x, math.pi / 4.0)
    tip = _about(np.array([1.0, -1.0, 0.0]), math.atan(math.sqrt(2.0)))
    down = frame(x - z, over + math.sqrt(2.0) * y, over - math.sqrt(2.0) * y)
    if np.linalg.det(down) < 0.0:
        down[:, 0] *= -1.0
    n = over / np.linalg.norm(over)
    beside = HALF + GAP / math.sqrt(2.0)
    past = HALF + GAP / math.sqrt(3.0)
    return [
        posed(np.array([0.0, 0.0, high + HALF]), np.eye(3)),
        posed(np.array([0.0, 0.0, high + HALF * math.sqrt(2.0)]), roll),
        posed(edge + (HALF + GAP) * n, on_edge),
        posed(np.array([0.0, 0.0, high + HALF * math.sqrt(3.0)]), tip),
        posed(corner + (HALF + GAP) * out / np.linalg.norm(out), diagonal),
        posed(edge + (HALF * math.sqrt(2.0) + GAP) * n, down),
        posed(np.array([e + beside, 0.0, LOW + beside]), np.eye(3)),
        posed(corner + past, np.eye(3)),
    ]


def _curved() -> list[Posed]:
    """Balls and cylinders on slabs, on each other, in a bowl."""
    slab, ball, rod = tg.Box(SLAB), tg.Sphere(HALF), tg.Cylinder(0.010, 0.03)
    x, y, z = np.eye(3)
    lying, across = np.column_stack((y, z, x)), np.column_stack((z, x, y))
    high = LOW + GAP
    long = tg.Cylinder(0.010, 0.06)
    up = np.array([0.0, 0.0, 0.020 + GAP])
    r, f = 0.015, 0.02  # on the inside of a bowl
    at, normal = np.array([r, 0.0, r * r / (4.0 * f)]), np.array([-r, 0.0, 2.0 * f])
    normal /= np.linalg.norm(normal)
    return [
        Posed(ball, np.array([0.0, 0.0, high + HALF]), np.eye(3), slab, np.eye(3)),
        Posed(rod, np.array([0.0, 0.0, high + 0.010]), lying, slab, np.eye(3)),
        Posed(rod, np.array([0.0, 0.0, high + 0.015]), np.eye(3), slab, np.eye(3)),
        Posed(
            rod, np.array([0.0, 0.0, high + 0.010 * math.cos(0.6) + 0.015 * math.sin(0.6)]),
            _about(y, 0.6) @ lying, slab, np.eye(3),
        ),
        Posed(rod, up, lying, long, across),
        Posed(rod, up, lying, long, lying),
        Posed(
            tg.Sphere(0.006), at + (0.006 + GAP) * normal, np.eye(3),
            bowl(0.02, 0.03, 0.004), np.eye(3),
        ),
        Posed(
            tg.Cone(0.01, 0.03), np.array([0.0, 0.0, high + 0.0225]), np.diag([1.0, -1.0, -1.0]),
            slab, np.eye(3),
        ),
    ]  # fmt: skip


def _about(axis: Array, angle: float) -> Array:
    n = axis / np.linalg.norm(axis)
    turned: Array = rotation_of(np.array([math.cos(0.5 * angle), *(math.sin(0.5 * angle) * n)]))
    return turned
