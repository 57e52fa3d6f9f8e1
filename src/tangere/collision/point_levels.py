"""Coarse stand-ins for sample points: one for each node of their tree that is small and smooth.

A stand-in sits at the mean of its points, has their mean normal and their area. Where a surface
presses evenly, a query takes the stand-ins of a few nodes instead of all their points.
"""

from __future__ import annotations

import numpy as np

from tangere.collision.surface_points import (
    BALL,
    FIRST,
    LAST,
    LEFT,
    NPOINT,
    OUTWARD,
    POINT,
    RIGHT,
)
from tangere.maths.vec import Array, LongArray

# Largest node with a stand-in, relative to the size of the shape: half the unit of a cluster.
COARSEST = 0.1
# Normals of its points are within 25° of their mean.
SMOOTH = 0.9

# Columns of a node
STAND_IN = 0  # row of its stand-in among the points of the shape; −1: it has none
SHARE = 1  # area of its points, times the length of their mean normal, in areas of one point
BULGE = 2  # most that a point is off the plane through the stand-in [m]
REACH = 3  # most that a point is away from it [m]
PROBE_1, PROBE_2 = 4, 5  # nodes below, on either side
NNODE = 6


def stand_ins(points: Array, balls: Array, links: LongArray) -> tuple[Array, Array]:
    """Stand-ins of the nodes of one shape and what queries need to know of the nodes.

    Args:
        points: POINT, OUTWARD, in the order of the tree, shape (n, NPOINT).
        balls: BALL of each node, shape (m, NBALL).
        links: FIRST, LAST, LEFT, RIGHT of each node, shape (m, NLINK).

    Returns:
        Stand-ins as further points, to be put after the others, shape (k, NPOINT), and the nodes,
        shape (m, NNODE).
    """
    nodes = np.zeros((len(balls), NNODE))
    nodes[:, STAND_IN] = -1.0
    size = float(np.linalg.norm(np.ptp(points[:, POINT : POINT + 3], axis=0))) / 2.0
    small = np.flatnonzero(balls[:, BALL + 3] <= COARSEST * size)
    rows = [np.zeros((0, NPOINT))]
    for k in small:
        own = points[links[k, FIRST] : links[k, LAST]]
        place, normal = own[:, POINT : POINT + 3].mean(axis=0), own[:, OUTWARD:].mean(axis=0)
        length = float(np.linalg.norm(normal))
        if length == 0.0 or (own[:, OUTWARD:] @ normal).min() < SMOOTH * length:
            continue
        way = own[:, POINT : POINT + 3] - place
        inner = links[k, LEFT] >= 0
        nodes[k] = (
            len(points) + len(rows) - 1,
            len(own) * length,
            np.abs(way @ normal).max() / length,
            np.linalg.norm(way, axis=1).max(),
            links[k, LEFT] if inner else -1.0,
            links[k, RIGHT] if inner else -1.0,
        )
        rows.append(np.concatenate((place, normal / length))[None])
    return np.concatenate(rows), nodes
