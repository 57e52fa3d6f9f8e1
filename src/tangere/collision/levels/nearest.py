"""Signed distance from the surface of a body: its tree, down to level 0."""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_i8, off
from tangere.collision.distance_field import nearest_on_triangle
from tangere.collision.levels.hierarchy import (
    CHILD,
    CHILDREN,
    NBRANCH,
    NFACE,
    NNODE,
    NODE_RADIUS,
    TRIANGLE,
    TRIANGLES,
    VERTEX,
)
from tangere.maths.vec import Vec3, add, dot, norm, sub

STACK = 512
# Triangles nearest to a point count together if they are as near up to this share of the distance.
TIE = 1e-6


@kernel
def signed_distance(
    tree: tuple[PtrF8, PtrI8, PtrF8, PtrI8, PtrF8], root: int, x: Vec3, most: float
) -> tuple[float, Vec3]:
    """Distance of a point from level 0, negative inside [m], and the way from there to the point.

    `most`, and no way, if it is no less.

    The sign is that of the way to the nearest triangles on the sum of their normals.
    """
    nodes, links, vertices, corners, faces = tree
    stack = local_i8(512)  # STACK
    stack[0] = root
    waiting = 1
    best = most
    normal, way = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    while waiting > 0:
        waiting -= 1
        node, link = off(nodes, NNODE * stack[waiting]), off(links, NBRANCH * stack[waiting])
        limit = best * (1.0 + TIE)
        if norm(sub(x, (node[0], node[1], node[2]))) - node[NODE_RADIUS] >= limit:
            continue
        if link[CHILDREN] > 0:
            for k in range(min(link[CHILDREN], STACK - waiting)):
                stack[waiting + k] = link[CHILD] + k
            waiting += min(link[CHILDREN], STACK - waiting)
            continue
        first = off(vertices, 3 * link[VERTEX])
        for t in range(link[TRIANGLE], link[TRIANGLE] + link[TRIANGLES]):
            i, j, k = 3 * corners[3 * t], 3 * corners[3 * t + 1], 3 * corners[3 * t + 2]
            squared, _, to = nearest_on_triangle(
                x,
                (first[i], first[i + 1], first[i + 2]),
                (first[j], first[j + 1], first[j + 2]),
                (first[k], first[k + 1], first[k + 2]),
            )
            d = sqrt(squared)
            f = off(faces, NFACE * t)
            if d < best * (1.0 - TIE):
                best, way, normal = d, to, (f[0], f[1], f[2])
            elif d <= best * (1.0 + TIE) and best < most:
                normal = add(normal, (f[0], f[1], f[2]))
    return (best if dot(way, normal) >= 0.0 else -best), way
