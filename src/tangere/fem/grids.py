"""Tetrahedral meshes from grids: boxes, clips, tubes, tables, and their named vertices.

Each cell of a grid, a hexahedron with the corners b = b0 + 2 b1 + 4 b2 (bit k: the far side along
axis k), is cut into six tetrahedra around its diagonal from corner 0 to corner 7 (Kuhn). Every face
is cut along the diagonal from its least corner to its greatest, so neighbours conform. A function
then maps grid coordinates to positions.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import integer, number, positive, show, vector
from tangere.geometry.tetmesh import TetMesh, tetrahedron_volumes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from tangere.maths.vec import Array, IntArray

# Corners of the six tetrahedra of a cell: one for each way to walk from corner 0 to corner 7.
KUHN = np.array(
    [(0, 1, 3, 7), (0, 3, 2, 7), (0, 2, 6, 7), (0, 6, 4, 7), (0, 4, 5, 7), (0, 5, 1, 7)]
)
# Corner b is b & 1, b >> 1 & 1, b >> 2 & 1 cells along the three axes.
CORNERS = np.array([(b & 1, b >> 1 & 1, b >> 2 & 1) for b in range(8)])
MAX_CELLS = 100_000
# A vertex is on a named surface within this share of the mesh's size: far above the rounding of
# sines and cosines, far below any cell.
NEAR = 1e-9

# The table, as Duriez et al. press it: sizes [m].
TOP, THICKNESS, LEG, HEIGHT, BAR_CLEARANCE = 0.40, 0.04, 0.04, 0.30, 0.04
COARSEST_VOXEL = 0.02


def box_grid(size: ArrayLike, cells: ArrayLike) -> TetMesh:
    """A box centred at the origin, of `size` [m], cut into `cells` along x, y, z."""
    edges = vector(size, "box_grid size")
    for edge in edges:
        positive(float(edge), "box_grid size")
    counts = _checked_cells(cells, "box_grid cells")
    return _mesh(np.ones(counts, dtype=bool), lambda grid: (grid / counts - 0.5) * edges)


def graded_box(size: ArrayLike, fine: float, core: ArrayLike, growing: ArrayLike) -> TetMesh:
    """A box centred at the origin whose cells are small where something presses on it from above.

    Around the middle of the upper face they are cubes of edge `fine`; towards the sides and the
    bottom every cell is larger than the one before by the same factor, so that they fill the box.

    Args:
        size: Edges of the box [m].
        fine: Edge of the smallest cells [m].
        core: Smallest cells from the middle of the upper face along x, along y (to either side),
            and down.
        growing: Cells beyond these, the same way.
    """
    edges = vector(size, "graded_box size")
    edge = positive(fine, "graded_box fine")
    inner = _checked_cells(core, "graded_box core")
    outer = _checked_cells(growing, "graded_box growing")
    x, y, down = (
        _graded(positive(float(reach), "graded_box size"), edge, few, more)
        for reach, few, more in zip(edges * (0.5, 0.5, 1.0), inner, outer, strict=True)
    )
    lines = (
        np.concatenate((-x[:0:-1], x)),
        np.concatenate((-y[:0:-1], y)),
        0.5 * edges[2] - down[::-1],
    )
    counts = _checked_cells([len(line) - 1 for line in lines], "graded_box cells")

    def place(grid: Array) -> Array:
        at = grid.astype(np.int64)
        return np.column_stack([line[at[:, k]] for k, line in enumerate(lines)])

    return _mesh(np.ones(counts, dtype=bool), place)


def _graded(reach: float, fine: float, core: int, growing: int) -> Array:
    """Ends of the cells along a line from 0 to `reach`: fine (core + q + q² + …) = reach."""
    from scipy.optimize import brentq

    powers = np.arange(1, growing + 1)

    def beyond(q: float) -> float:
        return float(core + (q**powers).sum() - reach / fine)

    if beyond(1.0) > 0.0:
        raise SceneError(
            f"graded_box: {core} + {growing} cells of {fine:g} m are more than {reach:g} m from "
            "the middle; give fewer, or smaller ones"
        )
    q = brentq(beyond, 1.0, reach / fine)  # one cell alone cannot be larger than all
    ends = fine * np.cumsum(np.concatenate((np.zeros(1), np.ones(core), q**powers)))
    ends[-1] = reach
    return np.asarray(ends)


def clip(
    inner_radius: float = 0.010,
    thickness: float = 0.002,
    width: float = 0.008,
    mouth: float = 50.0 * pi / 180.0,
    cells: ArrayLike = (60, 2, 2),
) -> TetMesh:
    """A C-ring about the y axis, mouth down (-z), the left half the mirror image of the right.

    `near_top` finds the vertices where it is held, `inner_wall` those that touch a pipe, `lips`
    the inner edges at both ends.

    Args:
        inner_radius: [m]
        thickness: Radial [m].
        width: Along y [m].
        mouth: Half the opening angle of the mouth, from -z to a lip [rad].
        cells: Around (an even number), through the thickness, along y.
    """
    radius = positive(inner_radius, "clip inner_radius")
    thick = positive(thickness, "clip thickness")
    wide = positive(width, "clip width")
    half = number(mouth, "clip mouth", least=1e-3, most=pi - 1e-3)
    counts = _checked_cells(cells, "clip cells")
    if counts[0] % 2:
        raise SceneError(f"clip cells: {counts[0]} around cannot be mirrored; give an even number")

    def place(grid: Array) -> Array:
        # from the lip at +x (angle mouth - 90° from +x) over the top (+z) to the lip at -x
        angle = -0.5 * pi + half + (2.0 * pi - 2.0 * half) * grid[:, 0] / counts[0]
        r = radius + thick * grid[:, 1] / counts[1]
        y = wide * (grid[:, 2] / counts[2] - 0.5)
        return np.column_stack((r * np.cos(angle), y, r * np.sin(angle)))

    return _mesh(np.ones(counts, dtype=bool), place, mirrored=counts[0] // 2)


def tube(
    outer_radius: float = 0.010,
    thickness: float = 0.002,
    length: float = 0.060,
    cells: ArrayLike = (32, 2, 24),
) -> TetMesh:
    """A tube along the y axis, closed around; `ends` finds the vertices of its two end faces.

    Args:
        outer_radius: [m]
        thickness: Of the wall [m], less than the radius.
        length: [m]
        cells: Around (at least three), through the wall, along y.
    """
    radius = positive(outer_radius, "tube outer_radius")
    thick = positive(thickness, "tube thickness")
    long = positive(length, "tube length")
    counts = _checked_cells(cells, "tube cells")
    if thick >= radius:
        raise SceneError(
            f"tube thickness: {thick:g} m leaves no bore in a radius of {radius:g} m; "
            "give a thinner wall"
        )
    if counts[0] < 3:
        raise SceneError(f"tube cells: {counts[0]} around enclose nothing; give at least three")

    def place(grid: Array) -> Array:
        angle = 2.0 * pi * grid[:, 0] / counts[0]
        r = radius - thick + thick * grid[:, 1] / counts[1]
        y = long * (grid[:, 2] / counts[2] - 0.5)
        return np.column_stack((r * np.cos(angle), y, r * np.sin(angle)))

    return _mesh(np.ones(counts, dtype=bool), place, periodic=True)


def table(voxel: float = 0.02, *, bars: bool = False) -> TetMesh:
    """A table of cubes: top 0.40 x 0.40 x 0.04 m, four legs of 0.04 x 0.04 x 0.30 m at its corners.

    It stands at z = 0, centred in x and y. `feet` finds the vertices on the floor, `foot_corners`
    the 16 outermost of them, `top_centre` those in the middle of the upper face.

    Args:
        voxel: Edge of a cube [m]: 0.02 over a whole number.
        bars: Two bars of 0.04 x 0.04 m join the legs along x, 0.04 m above the floor.
    """
    edge = positive(voxel, "table voxel")
    fineness = round(COARSEST_VOXEL / edge)
    if fineness < 1 or abs(fineness * edge - COARSEST_VOXEL) > NEAR:
        raise SceneError(
            f"table voxel: {show(voxel)} m does not divide {COARSEST_VOXEL:g} m, as all sizes of "
            "the table ask for; give 0.02, 0.01, ..."
        )
    edge = COARSEST_VOXEL / fineness
    n, per_leg, legs = round(TOP / edge), round(LEG / edge), round(HEIGHT / edge)
    total = legs + round(THICKNESS / edge)
    if n * n * total > MAX_CELLS:
        raise SceneError(
            f"table voxel: {edge:g} m gives {n * n * total} cubes at most, more than {MAX_CELLS}; "
            "give a larger one"
        )
    solid = np.zeros((n, n, total), dtype=bool)
    solid[:, :, legs:] = True
    sides = (slice(0, per_leg), slice(n - per_leg, n))
    for y in sides:
        for x in sides:
            solid[x, y, :legs] = True
        if bars:
            low = round(BAR_CLEARANCE / edge)
            solid[:, y, low : low + per_leg] = True
    origin = np.array([-0.5 * TOP, -0.5 * TOP, 0.0])
    return _mesh(solid, lambda grid: grid * edge + origin)


# ---------------------------------------------------------------- named vertices


def near_top(mesh: TetMesh, angle: float) -> IntArray:
    """Vertices of a ring about y within `angle` [rad] of its top, +z."""
    x, _, z = mesh.vertices.T
    return _where(np.abs(np.arctan2(x, z)) < angle)


def inner_wall(mesh: TetMesh) -> IntArray:
    """Vertices of a ring or tube about y that are nearest to its axis."""
    radius = np.hypot(mesh.vertices[:, 0], mesh.vertices[:, 2])
    return _where(radius <= radius.min() + NEAR * radius.max())


def outer_wall(mesh: TetMesh) -> IntArray:
    """Vertices of a ring or tube about y that are farthest from its axis."""
    radius = np.hypot(mesh.vertices[:, 0], mesh.vertices[:, 2])
    return _where(radius >= (1.0 - NEAR) * radius.max())


def lips(mesh: TetMesh) -> tuple[IntArray, IntArray]:
    """Vertices of a clip on its inner edges at the mouth: those at -x, those at +x."""
    wall = inner_wall(mesh)
    x, _, z = mesh.vertices[wall].T
    low = z <= z.min() + NEAR * np.abs(z).max()
    return wall[low & (x < 0.0)], wall[low & (x > 0.0)]


def ends(mesh: TetMesh) -> tuple[IntArray, IntArray]:
    """Vertices of a tube on its end face at -y and on that at +y."""
    y = mesh.vertices[:, 1]
    near = NEAR * np.ptp(y)
    return _where(y <= y.min() + near), _where(y >= y.max() - near)


def feet(mesh: TetMesh) -> IntArray:
    """Lowest vertices: where a table stands."""
    z = mesh.vertices[:, 2]
    return _where(z <= z.min() + NEAR * np.ptp(z))


def foot_corners(mesh: TetMesh) -> IntArray:
    """The 16 corners of the four feet of a table."""
    standing = feet(mesh)
    x, y = np.abs(mesh.vertices[standing, :2]).T
    near = NEAR * TOP

    def at_side(offset: Array) -> NDArray[np.bool_]:
        return (np.abs(offset - 0.5 * TOP) < near) | (np.abs(offset - 0.5 * TOP + LEG) < near)

    return standing[at_side(x) & at_side(y)]


def top_centre(mesh: TetMesh, half_width: float = 0.061) -> IntArray:
    """Vertices of a table's upper face within `half_width` [m] of its middle in x and in y."""
    x, y, z = mesh.vertices.T
    highest = z >= z.max() - NEAR * np.ptp(z)
    return _where(highest & (np.abs(x) < half_width) & (np.abs(y) < half_width))


# ---------------------------------------------------------------- cells into tetrahedra


def _mesh(
    solid: NDArray[np.bool_],
    place: Callable[[Array], Array],
    *,
    periodic: bool = False,
    mirrored: int | None = None,
) -> TetMesh:
    """The mesh of all cells that are solid.

    Args:
        solid: Which cells there are, shape (cells along each axis).
        place: Positions [m] of vertices from their grid coordinates, both of shape (n, 3).
        periodic: The last cells along the first axis meet the first ones.
        mirrored: Cells from this one on along the first axis are cut as in a mirror, so that
            grids of an even number of cells have mirror symmetry.
    """
    cells = np.argwhere(solid)
    corners = np.repeat(CORNERS[None], len(cells), axis=0)
    if mirrored is not None:
        flipped = cells[:, 0] >= mirrored
        corners[flipped, :, 0] = 1 - corners[flipped, :, 0]
    grid = cells[:, None, :] + corners
    if periodic:
        grid[:, :, 0] %= solid.shape[0]
    keys = np.ravel_multi_index(tuple(grid.reshape(-1, 3).T), tuple(n + 1 for n in solid.shape))
    used, vertex = np.unique(keys, return_inverse=True)
    points = np.column_stack(np.unravel_index(used, tuple(n + 1 for n in solid.shape)))
    vertices = place(points.astype(np.float64))
    tetrahedra = vertex.reshape(-1, 8)[:, KUHN].reshape(-1, 4).astype(np.int32)
    inverted = tetrahedron_volumes(vertices, tetrahedra) < 0.0
    tetrahedra[inverted] = tetrahedra[inverted][:, [0, 2, 1, 3]]
    return TetMesh(vertices, tetrahedra)


def _checked_cells(cells: ArrayLike, what: str) -> tuple[int, int, int]:
    """Three positive whole numbers whose product is not too large."""
    given = list(cells) if isinstance(cells, list | tuple | np.ndarray) else []
    if len(given) != 3:
        raise SceneError(f"{what}: expected three whole numbers, got {show(cells)}")
    a, b, c = (integer(count, what, 1, MAX_CELLS) for count in given)
    if a * b * c > MAX_CELLS:
        raise SceneError(
            f"{what}: {a} x {b} x {c} are {a * b * c} cells, at most {MAX_CELLS} are accepted; "
            "give fewer"
        )
    return a, b, c


def _where(mask: NDArray[np.bool_]) -> IntArray:
    return np.flatnonzero(mask).astype(np.int32)
