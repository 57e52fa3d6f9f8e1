"""The elements of a boundary as lines: what a picture shows of a face, an edge or a corner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere.geometry.boundary import (
    CIRCLE,
    CONE,
    CYLINDER,
    PARABOLOID,
    PLANE,
    POINT,
    SEGMENT,
    SPHERE,
    TORUS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangere.geometry.boundary import Boundary
    from tangere.maths.vec import Array

# A line that is drawn, and what it shows: an element of a held body, one of a fixed body, the axes
# x, y, z of a frame, or where two elements touch [m].
MARK = np.dtype([("start", np.float32, 3), ("end", np.float32, 3), ("kind", np.int32)])
MARK_HELD, MARK_FIXED, MARK_AXIS, MARK_REGION = 0, 1, 2, 5
ROUND = 32  # lines of a circle
RULED = 4  # straight lines of a surface of revolution


def lines_of(boundary: Boundary, element: int, size: float) -> Array:
    """Line segments of an element in the frame of its body, shape (n, 2, 3) [m].

    Args:
        boundary: Of the body.
        element: Its number.
        size: Of the cross that shows a corner [m].
    """
    e = boundary.elements
    kind, frame = int(e.kind[element]), e.frame[element]
    r, a, b = (float(x) for x in e.size[element, :3])
    if kind == POINT:
        ways = 0.5 * size * np.eye(3)
        return np.asarray(frame[:, 3] + np.stack((-ways, ways), axis=1))
    if kind == SEGMENT:
        local = np.array([[[0.0, 0.0, -r], [0.0, 0.0, r]]])
    elif kind == CIRCLE:
        local = _revolved([(r, 0.0)], 0)
    elif kind == PLANE:
        loops = boundary.loops(element)
        if loops:
            rings = [np.stack((x, np.roll(x, -1, axis=0)), axis=1) for x in loops]
            return np.asarray(np.concatenate(rings))
        local = _revolved([(x, 0.0) for x in (r, a) if b == 1.0 and x > 0.0], 0)
    elif kind == CYLINDER:
        local = _revolved([(r, -a), (r, a)], RULED)
    elif kind == CONE:
        local = _revolved([(abs(r * a), a), (abs(r * b), b)], RULED)
    else:
        local = _revolved(_profile(kind, r, a, b), RULED)
    turned: Array = local @ frame[:, :3].T + frame[:, 3]
    return turned


def _profile(kind: int, r: float, a: float, b: float) -> list[tuple[float, float]]:
    """Points (radius, height) of the meridian of a curved surface."""
    if kind == SPHERE:
        low, high = np.arcsin(np.clip((a / r, b / r), -1.0, 1.0))
        return [(r * np.cos(t), r * np.sin(t)) for t in np.linspace(low, high, 9)]
    if kind == PARABOLOID:
        return [(x, x * x / (4.0 * r)) for x in np.linspace(a, b, 9)]
    assert kind == TORUS, "every kind of surface has a meridian"
    turn = np.linspace(0.0, 2.0 * np.pi, 13)
    return [(r + a * np.cos(t), a * np.sin(t)) for t in turn]


def _revolved(profile: Sequence[tuple[float, float]], ruled: int) -> Array:
    """Circles at the ends of a meridian about z, and meridians between them."""
    angle = 2.0 * np.pi * np.arange(ROUND) / ROUND
    found = []
    for radius, height in {profile[0], profile[-1]} if profile else ():
        if radius > 0.0:
            z = np.full(ROUND, height)
            ring = np.column_stack((radius * np.cos(angle), radius * np.sin(angle), z))
            found.append(np.stack((ring, np.roll(ring, -1, axis=0)), axis=1))
    for k in range(ruled):
        t = 2.0 * np.pi * k / ruled
        line = np.array([(x * np.cos(t), x * np.sin(t), z) for x, z in profile])
        found.append(np.stack((line[:-1], line[1:]), axis=1))
    return np.concatenate([np.zeros((0, 2, 3)), *found])
