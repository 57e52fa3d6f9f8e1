"""Signed distance from the surface of a body: its tree, down to level 0."""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off
from tangere.collision.closed_surface import nearest_on_triangle
from tangere.collision.levels.hierarchy import (
    CHILD,
    CHILDREN,
    NBRANCH,
    NFACE,
    NNODE,
    NODE_HIGH,
    NODE_LOW,
    TRIANGLE,
    TRIANGLES,
    VERTEX,
)
from tangere.maths.vec import Vec3, add, dot, sub

STACK = 128
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
    stack, gaps = local_i8(128), local_f8(128)  # STACK
    stack[0], gaps[0] = root, 0.0
    waiting = 1
    best = most
    normal, way = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    while waiting > 0:
        waiting -= 1
        if gaps[waiting] >= best * (1.0 + TIE):
            continue
        link = off(links, NBRANCH * stack[waiting])
        if link[CHILDREN] > 0:
            # the nearest child on top
            for k in range(min(link[CHILDREN], STACK - waiting)):
                child = link[CHILD] + k
                node = off(nodes, NNODE * child)
                gap = 0.0
                for axis in range(3):
                    beyond = max(node[NODE_LOW + axis] - x[axis], x[axis] - node[NODE_HIGH + axis])
                    gap += max(beyond, 0.0) ** 2
                gap = sqrt(gap)
                at = waiting + k
                while at > waiting and gaps[at - 1] < gap:
                    stack[at], gaps[at] = stack[at - 1], gaps[at - 1]
                    at -= 1
                stack[at], gaps[at] = child, gap
            waiting += min(link[CHILDREN], STACK - waiting)
            continue
        first = off(vertices, 3 * link[VERTEX])
        for t in range(link[TRIANGLE], link[TRIANGLE] + link[TRIANGLES]):
            i, j, k = 3 * corners[3 * t], 3 * corners[3 * t + 1], 3 * corners[3 * t + 2]
            f = off(faces, NFACE * t)
            a = (first[i], first[i + 1], first[i + 2])
            if abs(dot((f[0], f[1], f[2]), sub(x, a))) > best * (1.0 + TIE):
                continue  # its plane is farther already
            squared, _, to = nearest_on_triangle(
                x,
                a,
                (first[j], first[j + 1], first[j + 2]),
                (first[k], first[k + 1], first[k + 2]),
            )
            d = sqrt(squared)
            if d < best * (1.0 - TIE):
                best, way, normal = d, to, (f[0], f[1], f[2])
            elif d <= best * (1.0 + TIE) and best < most:
                normal = add(normal, (f[0], f[1], f[2]))
    return (best if dot(way, normal) >= 0.0 else -best), way
