"""Points spread over the elements of a boundary, and how far points are from a solid of revolution.

For what is decided once, when a boundary is made: which elements of one body are inside another,
and so no part of the boundary of both together.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import numpy as np

from tangere.geometry.axial_profile import Piece, straightened
from tangere.geometry.boundary import (
    CIRCLE,
    CONE,
    CYLINDER,
    PARABOLOID,
    PLANE,
    POINT,
    SPHERE,
    TORUS,
    Elements,
)
from tangere.maths.vec import Array

AROUND, ALONG = 24, 7  # points of a circle, and circles of a patch
STEP = 1e-3  # [rad] of a straightened profile: points of it are 1e-7 of a radius off the arc


def patch_points(elements: Elements, k: int) -> Array:
    """Points of a round element in its body's frame, circles at its limits included [m]."""
    size, kind = elements.size[k], int(elements.kind[k])
    u = np.linspace(0.0, 1.0, ALONG)
    if kind == POINT:
        return elements.frame[k, :, 3][None].copy()
    if kind == CIRCLE:
        r, z = size[:1], np.zeros(1)
    elif kind == PLANE:
        r, z = size[1] + u * (size[0] - size[1]), np.zeros(ALONG)
    elif kind == SPHERE:
        z = size[1] + u * (size[2] - size[1])
        r = np.sqrt(np.maximum(0.0, size[0] ** 2 - z * z))
    elif kind == CYLINDER:
        r, z = np.full(ALONG, size[0]), size[1] * (2.0 * u - 1.0)
    elif kind == CONE:
        z = size[1] + u * (size[2] - size[1])
        r = size[0] * z
    elif kind == TORUS:
        first, last = (size[2], size[3]) if size[2] != size[3] else (0.0, 2.0 * pi)
        tube = first + u * (last - first)
        r, z = size[0] + size[1] * np.cos(tube), size[1] * np.sin(tube)
    else:
        assert kind == PARABOLOID
        r = size[1] + u * (size[2] - size[1])
        z = r * r / (4.0 * size[0])
    angle = 2.0 * pi * np.arange(AROUND) / AROUND
    points = np.stack(
        (
            r[:, None] * np.cos(angle),
            r[:, None] * np.sin(angle),
            np.repeat(z[:, None], AROUND, axis=1),
        ),
        axis=2,
    ).reshape(-1, 3)
    placed: Array = points @ elements.frame[k, :, :3].T + elements.frame[k, :, 3]
    return placed


def signed_distances(pieces: Sequence[Piece], points: Array) -> Array:
    """Distance of points from a solid of revolution about z, negative inside [m]."""
    way = straightened(pieces, STEP)
    if pieces[-1].end == pieces[0].start:
        way = np.vstack((way, way[:1]))
    at = np.column_stack((np.hypot(points[:, 0], points[:, 1]), points[:, 2]))
    a, d = way[:-1], np.diff(way, axis=0)
    nearest = np.full(len(at), np.inf)
    crossings = np.zeros(len(at), int)
    for start, along in zip(a, d, strict=True):
        q = at - start
        share = np.clip(q @ along / (along @ along), 0.0, 1.0)
        nearest = np.minimum(nearest, np.hypot(*(q - share[:, None] * along).T))
        # a ray away from the axis crosses the way an odd number of times from inside
        spans = (q[:, 1] >= 0.0) != (q[:, 1] >= along[1])
        if along[1] != 0.0:
            crossings += spans & (q[:, 1] / along[1] * along[0] > q[:, 0])
    return np.where(crossings % 2 == 1, -nearest, nearest)
