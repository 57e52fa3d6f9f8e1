"""Pairs of features of two parts that are close: the rows in which proximity is handed on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import off
from tangere.collision.surface_queries import in_valley
from tangere.collision.surfaces import Surfaces, triangle_normal, vertex_at, vertex_normal
from tangere.maths.vec import Array, IntArray, Vec3, dot, norm, sub

# Kinds: the feature of a, the feature of b. Of a solid or plane that is its own number.
VERTEX_VERTEX, VERTEX_EDGE, VERTEX_FACE, EDGE_VERTEX, FACE_VERTEX, EDGE_EDGE = range(6)
VERTEX_SOLID, EDGE_SOLID, FACE_SOLID, VERTEX_PLANE = range(6, 10)

# Entries of FeaturePairs.filled
COUNT, FULL, ROOM = 0, 1, 2

A, B = 0, 1  # sides of a row

# A vertex or edge touches only what its surface looks at: cosine of the angle from the nearest of
# its normals. What it is beside, or has behind its back, other features touch first. No locally
# closest feature is lost: a direction between normals is within 63° of one of them or their mean.
FACING = 0.25
# In a valley, what rises towards the other by more than this sine is touched before the bottom.
RISES = 0.3


class FeaturePairs(NamedTuple):
    """Rows of pairs of features, a to b.

    | field   | meaning                                                            | shape  |
    | key     | kind, feature of a, feature of b: a pair keeps it from step to step | (n, 3) |
    | nodes   | three vertices of a, three of b; −1: none                          | (n, 6) |
    | weights | their barycentric weights; 0 where there is none                   | (n, 6) |
    | points  | point on a, point on b, in the world [m]                           | (n, 6) |
    | normal  | unit vector from a to b                                            | (n, 3) |
    | gap     | normal · (point on b − point on a), negative in overlap [m]        | (n,)   |
    | filled  | rows that are filled; 1 if there were more; n                      | (3,)   |
    """

    key: IntArray
    nodes: IntArray
    weights: Array
    points: Array
    normal: Array
    gap: Array
    filled: IntArray


class Limits(NamedTuple):
    """Which pairs are wanted."""

    reach: float  # gaps up to this [m]
    depth: float  # overlaps deeper than this are not believed [m]


def new_feature_pairs(room: int) -> FeaturePairs:
    """Room for so many rows, none filled."""
    return FeaturePairs(
        key=np.zeros((room, 3), np.int32),
        nodes=np.full((room, 6), -1, np.int32),
        weights=np.zeros((room, 6)),
        points=np.zeros((room, 6)),
        normal=np.zeros((room, 3)),
        gap=np.zeros(room),
        filled=np.array([0, 0, room], np.int32),
    )


@kernel
def clear_pairs(out: FeaturePairs) -> None:
    """Forget all rows."""
    out.filled[COUNT], out.filled[FULL] = 0, 0


@kernel
def new_row(out: FeaturePairs, kind: int, a: int, b: int) -> int:
    """Number of a row with a key; −1: there is no room."""
    row = out.filled[COUNT]
    if row >= out.filled[ROOM]:
        out.filled[FULL] = 1
        return -1
    out.filled[COUNT] = row + 1
    key = off(out.key, 3 * row)
    key[0], key[1], key[2] = kind, a, b
    return int(row)


@kernel
def set_side(
    out: FeaturePairs, row: int, side: int, i: int, j: int, k: int, w: Vec3, p: Vec3
) -> None:
    """Fill one side of a row: vertices i, j, k with their weights, and the point [m]."""
    at = 6 * row + 3 * side
    out.nodes[at], out.nodes[at + 1], out.nodes[at + 2] = i, j, k
    out.weights[at], out.weights[at + 1], out.weights[at + 2] = w
    out.points[at], out.points[at + 1], out.points[at + 2] = p


@kernel
def set_normal(out: FeaturePairs, row: int, n: Vec3) -> None:
    """Fill the normal, and the gap along it; both sides must be there."""
    p, out_n = off(out.points, 6 * row), off(out.normal, 3 * row)
    out_n[0], out_n[1], out_n[2] = n
    out.gap[row] = dot(n, sub((p[3], p[4], p[5]), (p[0], p[1], p[2])))


@kernel
def vertex_can_touch(s: Surfaces, v: int, n: Vec3) -> bool:
    """Whether a vertex can be the first of its surroundings to touch something along n.

    Its surface must look there, see `FACING`, and it must not be in a valley of which a side rises
    towards n, see `RISES`.
    """
    x = vertex_at(s, v)
    faces = False
    highest = 0.0
    for at in range(s.fan_start[v], s.fan_start[v + 1]):
        t = s.fan[at]
        faces = faces or dot(triangle_normal(s, t), n) > FACING
        for k in range(3):
            way = sub(vertex_at(s, s.triangles[3 * t + k]), x)
            size = norm(way)
            if size > 0.0:
                highest = max(highest, dot(way, n) / size)
    if not faces and not dot(vertex_normal(s, v), n) > FACING:
        return False
    return highest < RISES or not in_valley(s, v)
