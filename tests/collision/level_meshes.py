"""Meshes for tests of contact levels, and what their trees say in plain loops."""

from __future__ import annotations

import numpy as np
from collision.meshes import Ints, Mesh, ball, bumpy

from tangere.collision.levels.hierarchy import (
    CHILD,
    CHILDREN,
    LEVEL,
    TRIANGLE,
    TRIANGLES,
    VERTEX,
    VERTICES,
    Levels,
)
from tangere.maths.vec import Array


def angle(size: float = 0.01) -> Mesh:
    """A solid of L-shaped section; its inner edge is the only concave one."""
    section = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float)
    n = len(section)
    points = np.concatenate([np.column_stack((section, np.full(n, z))) for z in (0.0, 1.0)])
    triangles = []
    for i in range(1, n - 1):
        triangles += [[0, i + 1, i], [n, n + i, n + i + 1]]
    for i in range(n):
        j = (i + 1) % n
        triangles += [[i, j, n + j], [i, n + j, n + i]]
    return size * points, np.array(triangles, np.int32)


def blob(subdivisions: int = 2, seed: int = 0, radius: float = 0.03) -> Mesh:
    """A ball with smooth bumps."""
    return bumpy(ball(radius, subdivisions), np.random.default_rng(seed), 0.12 * radius)


def triangles_of(levels: Levels, node: int) -> Array:
    """Corners of the triangles of a node, shape (t, 3, 3)."""
    link = levels.links[node]
    points = levels.vertices[link[VERTEX] : link[VERTEX] + link[VERTICES]]
    corners: Array = points[levels.corners[link[TRIANGLE] : link[TRIANGLE] + link[TRIANGLES]]]
    return corners


def leaves_of(levels: Levels, node: int) -> list[int]:
    """Nodes of level 0 below a node."""
    link = levels.links[node]
    if link[CHILDREN] == 0:
        return [node]
    below = range(link[CHILD], link[CHILD] + link[CHILDREN])
    return [leaf for child in below for leaf in leaves_of(levels, child)]


def cut_of(levels: Levels, level: int) -> list[int]:
    """Nodes that make up the surface at a level; those without triangles are left out."""
    found, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        link = levels.links[node]
        if link[LEVEL] <= level and link[VERTICES] > 0:
            found.append(node)
        else:
            waiting += range(link[CHILD], link[CHILD] + link[CHILDREN])
    return found


def soup(corners: Array) -> tuple[Array, Ints]:
    """Triangles as points and indices."""
    return corners.reshape(-1, 3), np.arange(3 * len(corners), dtype=np.int32).reshape(-1, 3)
