"""A bowl and ten concave bodies to fill it with, as procedural meshes of some thousand triangles.

None of them is a union of few convex pieces, and all interlock: rings, hooks, stars, a knot.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tangere.geometry.checks import integer, number
from tangere.geometry.shapes import Mesh
from tangere.maths.vec import Array, IntArray
from tangere.scene.lofts import closed_loft, loft, outward, tube_rings, turned_profile

WALL = 6e-3  # of the bowl [m]
RIM = np.deg2rad(80.0)  # of the bowl, from its lowest point [rad]


def bowl(radius: float = 0.12, *, along: int = 32, around: int = 96) -> Mesh:
    """A bowl about z that stands on z = 0: part of a hollow ball, open above, with a flat foot.

    Args:
        radius: Of its inside [m].
        along: Rings from the foot to the rim, inside and outside.
        around: Points of a ring.
    """
    number(radius, "bowl radius", least=2.0 * WALL, most=10.0)
    integer(along, "bowl along", 4, 2000)
    integer(around, "bowl around", 8, 4000)
    polar = RIM * np.arange(1, along + 1) / along
    outer = radius + WALL
    foot = -radius - 0.5 * WALL  # cuts the lowest part of the outer ball off
    down = np.maximum(-outer * np.cos(polar), foot)
    reach = np.concatenate((outer * np.sin(polar), radius * np.sin(polar[::-1])))
    height = np.concatenate((down, -radius * np.cos(polar[::-1]))) - foot
    rings = turned_profile(reach, height, around)
    return outward(loft(rings, np.zeros(3), np.array([0.0, 0.0, -radius - foot])))


def torus(size: float = 0.05) -> Mesh:
    """A ring about z, `size` across [m]: 3,456 triangles."""
    angle = 2.0 * np.pi * np.arange(72) / 72
    circle = np.column_stack((np.cos(angle), np.sin(angle), np.zeros(72)))
    return outward(closed_loft(tube_rings(0.36 * size * circle, 0.14 * size, 24, closed=True)))


def corner(size: float = 0.05) -> Mesh:
    """An L of square bars, `size` high and wide [m]: 2,816 triangles."""
    cells = np.zeros((3, 1, 3), dtype=bool)
    cells[0] = True
    cells[:, :, 0] = True
    return _of_cells(cells, size / 3.0, 8)


def cross(size: float = 0.05) -> Mesh:
    """Six square bars from one middle, `size` from end to end [m]: 2,940 triangles."""
    cells = np.zeros((3, 3, 3), dtype=bool)
    cells[:, 1, 1] = cells[1, :, 1] = cells[1, 1, :] = True
    return _of_cells(cells, size / 3.0, 7)


def jack(size: float = 0.05) -> Mesh:
    """Six rounded fingers, `size` from tip to tip [m]: 4,608 triangles."""

    def reach(unit: Array) -> Array:
        return np.asarray(0.22 + 0.28 * np.sum(unit**12, axis=-1) ** 0.5)

    return _star_shaped(reach, size)


def burr(size: float = 0.05) -> Mesh:
    """A ball with eight blunt spikes at the corners of a cube, `size` across [m]."""

    def reach(unit: Array) -> Array:
        towards = np.sqrt(27.0) * np.abs(np.prod(unit, axis=-1))  # 1 at the spikes
        return np.asarray(0.27 + 0.23 * towards**4)

    return _star_shaped(reach, size)


def star(size: float = 0.05) -> Mesh:
    """A flat star of five points about z, `size` across and a fifth as thick [m]."""
    around = 120
    angle = 2.0 * np.pi * np.arange(around) / around
    share = np.abs((angle * 5.0 / (2.0 * np.pi) + 0.5) % 1.0 - 0.5) * 2.0  # 0 at points, 1 in gaps
    # Straight edges between (1, 0) and the corner in the gap, in polar form.
    inner, half = 0.42, np.pi / 5.0
    outline = inner * np.sin(half) / (inner * np.sin(half - share * half) + np.sin(share * half))
    heights = 0.2 * size * np.concatenate((np.full(5, -0.5), np.linspace(-0.5, 0.5, 7)[1:-1],
                                           np.full(5, 0.5)))  # fmt: skip
    scale = np.concatenate((np.linspace(0.2, 1.0, 5), np.ones(5), np.linspace(1.0, 0.2, 5)))
    rings = turned_profile(0.5 * size * scale, heights, around)
    rings[..., :2] *= outline[:, None]
    poles = np.array([[0.0, 0.0, heights[0]], [0.0, 0.0, heights[-1]]])
    return outward(loft(rings, *poles))


def beaker(size: float = 0.05) -> Mesh:
    """A small cup about z without a handle, `size` high [m]: 3,840 triangles."""
    up = np.linspace(-0.5, 0.5, 13)
    out = np.linspace(0.0, 1.0, 8)[1:-1]
    outer, inner, floor = 0.34, 0.26, -0.4
    radius = np.concatenate(
        (outer * out, np.full(13, outer), np.full(13, inner), inner * out[::-1])
    )
    inside = floor + (0.5 - floor) * (up[::-1] + 0.5)
    height = np.concatenate((np.full(6, -0.5), up, inside, np.full(6, floor)))
    rings = turned_profile(size * radius, size * height, 50)
    return outward(loft(rings, *(size * np.array([[0.0, 0.0, -0.5], [0.0, 0.0, floor]]))))


def horseshoe(size: float = 0.05) -> Mesh:
    """A bar bent to a U in the xy plane, `size` high [m]: 3,840 triangles."""
    bend = np.pi * (np.arange(41) / 40.0)
    arc = 0.3 * np.column_stack((np.cos(bend), np.sin(bend)))
    leg = np.linspace(-0.5, 0.0, 20)[:-1]
    right = np.column_stack((np.full(19, 0.3), leg))
    path = np.concatenate((right, arc, right[::-1] * (-1.0, 1.0)))
    path = size * np.column_stack((path, np.zeros(len(path))))
    rings = tube_rings(path, 0.1 * size, 24)
    return outward(loft(rings, path[0], path[-1]))


def elbow(size: float = 0.05) -> Mesh:
    """A pipe with an open bore, bent by a right angle in the xy plane, `size` long [m]."""
    bend = 0.5 * np.pi * np.arange(49) / 48.0
    path = 0.7 * size * np.column_stack((np.cos(bend), np.sin(bend), np.zeros(49)))
    path -= path.mean(axis=0)
    inside, outside = (tube_rings(path, r * size, 32) for r in (0.13, 0.2))
    return outward(closed_loft(np.concatenate((outside, inside[::-1]))))


def knot(size: float = 0.05) -> Mesh:
    """A trefoil knot, `size` across [m]: 5,760 triangles."""
    t = 2.0 * np.pi * np.arange(160) / 160
    path = np.column_stack(
        (
            np.sin(t) + 2.0 * np.sin(2.0 * t),
            np.cos(t) - 2.0 * np.cos(2.0 * t),
            -np.sin(3.0 * t),
        )
    )
    return outward(closed_loft(tube_rings(size / 7.0 * path, size / 14.0, 18, closed=True)))


CONCAVE: dict[str, Callable[..., Mesh]] = {
    "torus": torus,
    "corner": corner,
    "cross": cross,
    "jack": jack,
    "burr": burr,
    "star": star,
    "beaker": beaker,
    "horseshoe": horseshoe,
    "elbow": elbow,
    "knot": knot,
}


def _star_shaped(reach: Callable[[Array], Array], size: float) -> Mesh:
    """A surface at the distance reach(u) size from the origin in every direction u."""
    rows, around = 48, 48
    polar = np.pi * np.arange(1, rows + 1) / (rows + 1)
    unit = turned_profile(np.sin(polar), -np.cos(polar), around)
    poles = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    rings = size * reach(unit)[..., None] * unit
    ends = size * reach(poles)[:, None] * poles
    return outward(loft(rings, *ends))


def _of_cells(cells: NDArray[np.bool_], edge: float, cuts: int) -> Mesh:
    """The surface of a union of cubes, each face cut into cuts² squares of two triangles.

    Args:
        cells: Which cubes of a grid are filled; cubes that share an edge share a face or a
            neighbour.
        edge: Of a cube [m].
        cuts: Per edge of a cube.
    """
    full = np.pad(cells, 1)
    grid = np.arange(cuts)
    u, v = (x.ravel() for x in np.meshgrid(grid, grid, indexing="ij"))
    corners = []
    for axis in range(3):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1, 1):
            bare = full & ~np.roll(full, -side, axis=axis)
            for cell in np.argwhere(bare):
                square = np.zeros((4, len(u), 3), dtype=np.int64)
                for k, (du, dv) in enumerate(((0, 0), (1, 0), (1, 1), (0, 1))[::side]):
                    square[k, :, axis] = cuts * (side > 0)
                    square[k, :, one] = u + du
                    square[k, :, two] = v + dv
                corners.append(cuts * (cell - 1) + square)
    squares = np.concatenate(corners, axis=1)
    points, index = np.unique(squares.reshape(-1, 3), axis=0, return_inverse=True)
    a, b, c, d = index.reshape(4, -1)
    faces: IntArray = np.concatenate(
        (np.stack((a, b, c), axis=1), np.stack((a, c, d), axis=1))
    ).astype(np.int32)
    middle = 0.5 * cuts * np.array(cells.shape)
    return Mesh(edge / cuts * (points - middle), faces)
