"""Triangle meshes for tests of surfaces, and slow twins of what the kernels ask of them."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int32]
Mesh = tuple[Array, Ints]


def box(size: tuple[float, float, float], cells: tuple[int, int, int] = (1, 1, 1)) -> Mesh:
    """A closed box about the origin, every face a grid."""
    points: dict[tuple[int, ...], int] = {}
    triangles: list[list[int]] = []

    def number(corner: tuple[int, ...]) -> int:
        return points.setdefault(corner, len(points))

    for axis, sign in itertools.product(range(3), (0, 1)):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for i, j in itertools.product(range(cells[u]), range(cells[v])):
            quad = []
            for p, q in ((0, 0), (1, 0), (1, 1), (0, 1)):
                corner = [0, 0, 0]
                corner[axis], corner[u], corner[v] = sign * cells[axis], i + p, j + q
                quad.append(number(tuple(corner)))
            a, b, c, d = quad if sign else quad[::-1]
            triangles += [[a, b, c], [a, c, d]]
    places = np.array(list(points), float) / np.array(cells) - 0.5
    return places * np.array(size), np.array(triangles, np.int32)


def ball(radius: float, subdivisions: int) -> Mesh:
    """A subdivided icosahedron."""
    import trimesh

    mesh = trimesh.creation.icosphere(subdivisions=subdivisions, radius=radius)
    return np.array(mesh.vertices), np.array(mesh.faces, np.int32)


def patch(cells: tuple[int, int], size: tuple[float, float]) -> Mesh:
    """An open rectangle in the plane z = 0 about the origin, seen from above."""
    n, m = cells
    x, y = np.meshgrid(
        np.linspace(-0.5, 0.5, n + 1) * size[0], np.linspace(-0.5, 0.5, m + 1) * size[1]
    )
    points = np.column_stack((x.ravel(), y.ravel(), np.zeros(x.size)))
    triangles = []
    for j, i in itertools.product(range(m), range(n)):
        a = j * (n + 1) + i
        triangles += [[a, a + 1, a + n + 2], [a, a + n + 2, a + n + 1]]
    return points, np.array(triangles, np.int32)


def tube(radii: tuple[float, float], length: float, cells: tuple[int, int, int]) -> Mesh:
    """A closed tube about z: cells around, through the wall, along."""
    around, through, along = cells
    return _bent(radii, length, (around, through, along), 2 * np.pi)


def ring(
    radii: tuple[float, float], width: float, mouth: float, cells: tuple[int, int, int]
) -> Mesh:
    """A closed C-shaped ring about z, open by twice the angle `mouth` about +x."""
    return _bent(radii, width, cells, 2 * np.pi - 2 * mouth, mouth)


def _bent(
    radii: tuple[float, float],
    length: float,
    cells: tuple[int, int, int],
    angle: float,
    start: float = 0.0,
) -> Mesh:
    """The box of these cells, bent about z; its ends are joined if it comes full circle."""
    points, triangles = box((1.0, 1.0, 1.0), (cells[0], cells[1], cells[2]))
    u = points + 0.5
    phi = start + angle * u[:, 0]
    radius = radii[1] + (radii[0] - radii[1]) * u[:, 1]
    bent = np.column_stack((radius * np.cos(phi), radius * np.sin(phi), length * points[:, 2]))
    if angle > 2 * np.pi - 1e-9:
        ends = np.isclose(u[triangles][:, :, 0], u[triangles][:, :1, 0]).all(axis=1)
        ends &= np.isclose(u[triangles[:, 0], 0], 0.0) | np.isclose(u[triangles[:, 0], 0], 1.0)
        triangles = triangles[~ends]
        _, first, same = np.unique(
            np.round(bent, 9), axis=0, return_index=True, return_inverse=True
        )
        bent, triangles = bent[first], same.ravel()[triangles].astype(np.int32)
    return bent, _outward(bent, triangles)


def _outward(points: Array, triangles: Ints) -> Ints:
    """The same triangles, turned round if they enclose a negative volume."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c))
    return triangles if volume > 0 else np.ascontiguousarray(triangles[:, ::-1])


def bumpy(mesh: Mesh, rng: np.random.Generator, height: float) -> Mesh:
    """The same mesh, its vertices moved along a few smooth waves."""
    points, triangles = mesh
    moved = points.copy()
    size = np.ptp(points, axis=0).max()
    for _ in range(4):
        wave, way = rng.normal(size=3) * 6.0 / size, rng.normal(size=3)
        moved += height * np.sin(points @ wave + rng.uniform(0, 6))[:, None] * way / np.sqrt(12.0)
    return moved, triangles


# ---------------------------------------------------------------- slow twins


def closest_points(points: Array, triangles: Ints, queries: Array) -> tuple[Array, Array, Ints]:
    """Closest points of a mesh, their distances, and triangles: every triangle, by projections.

    The face first, then the three segments: no regions, other than in the kernel.
    """
    corners = points[triangles]
    best = np.full(len(queries), np.inf)
    where, which = np.zeros((len(queries), 3)), np.zeros(len(queries), np.int32)
    for t, (a, b, c) in enumerate(corners):
        n = np.cross(b - a, c - a)
        height = (queries - a) @ n / (n @ n)
        foot = queries - height[:, None] * n
        inside = np.ones(len(queries), bool)
        for p, q in ((a, b), (b, c), (c, a)):
            inside &= np.cross(q - p, foot - p) @ n >= 0.0
        candidates = [np.where(inside[:, None], foot, np.inf)]
        for p, q in ((a, b), (b, c), (c, a)):
            s = np.clip((queries - p) @ (q - p) / ((q - p) @ (q - p)), 0.0, 1.0)
            candidates.append(p + s[:, None] * (q - p))
        for candidate in candidates:
            d = np.linalg.norm(candidate - queries, axis=1)
            better = d < best
            best[better], where[better], which[better] = d[better], candidate[better], t
    return where, best, which


def winding_number(points: Array, triangles: Ints, queries: Array) -> Array:
    """Solid angle of a closed mesh over 4π: 1 inside, 0 outside (Van Oosterom, Strackee 1983)."""
    total = np.zeros(len(queries))
    for a, b, c in points[triangles]:
        p, q, r = a - queries, b - queries, c - queries
        lp, lq, lr = (np.linalg.norm(x, axis=1) for x in (p, q, r))
        volume = np.einsum("ij,ij->i", p, np.cross(q, r))
        dots = (
            lp * lq * lr
            + np.einsum("ij,ij->i", p, q) * lr
            + np.einsum("ij,ij->i", q, r) * lp
            + np.einsum("ij,ij->i", r, p) * lq
        )
        total += np.arctan2(volume, dots)
    return total / (2 * np.pi)
