"""Patches made by hand for tests of the contact laws, and the kernels called on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.contact.volume.traction import (
    Pressure,
    _by_edges,
    _by_points,
    traction,
    vertex_traction,
    work_bound,
)
from tangere.model import Soup, new_soup

Array = NDArray[np.float64]

FRONT, BACK = 1.0, -1.0


class Side(NamedTuple):
    """A polygon of the patch, counter-clockwise on the plane, with half-depth h0 + hx x + hy y."""

    corners: Array
    side: float
    h0: float
    hx: float
    hy: float

    def depth(self, x: Array, y: Array) -> Array:
        return self.h0 + self.hx * x + self.hy * y


def soup_of(sides: Sequence[Side], spoilt: float = np.nan) -> Soup:
    """A soup that holds these polygons; whatever is not set is `spoilt`."""
    corners = sum(len(side.corners) for side in sides)
    soup = new_soup(corners + 8)
    for array in (soup.xyz, soup.plane, soup.slope, soup.clip):
        array[:] = spoilt
    soup.start[0] = 0
    for f, side in enumerate(sides):
        ring = side.corners if side.side == FRONT else side.corners[::-1]
        start = soup.start[f]
        end = start + len(ring)
        soup.start[f + 1] = end
        x, y = ring.T
        soup.plane[start:end] = np.column_stack((x, y, side.depth(x, y)))
        tilt = 1.0 / np.sqrt(1.0 + side.hx**2 + side.hy**2)
        soup.slope[f] = side.side, side.hx, side.hy, tilt
    return soup


def centred(sides: Sequence[Side], alpha: float, **more: float | bool) -> Pressure:
    """Pressure about the area centroid of the first side, without a damper unless given."""
    x, y = centroid(sides[0].corners)
    given = {"p0": 0.0, "px": 0.0, "py": 0.0, "total": 1.0, "two_sided": len(sides) == 2} | more
    return Pressure(alpha=alpha, cx=float(x), cy=float(y), **given)  # type: ignore[arg-type]


def area_of(polygon: Array) -> float:
    x, y = (polygon - polygon[0]).T
    return float(0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def centroid(polygon: Array) -> Array:
    x, y = (polygon - polygon[0]).T
    cross = x * np.roll(y, -1) - np.roll(x, -1) * y
    total = np.stack([cross @ (x + np.roll(x, -1)), cross @ (y + np.roll(y, -1))])
    return np.asarray(polygon[0] + total / (3.0 * cross.sum()))


TRACTION, EDGES, POINTS, CLIPPED, VERTEX, BOUND = range(6)


@kernel
def _call(
    soup: Soup, count: int, pr: Pressure, field: Array, gyration: float, rule: int, out: Array
) -> None:
    """One of the traction rules on a soup of arrays."""
    s = pointers(soup)
    r1, r2, th = field[0], field[1], field[2]
    if rule == TRACTION:
        out[0], out[1], out[2] = traction(s, 0, count, pr, r1, r2, th, gyration)
    elif rule == EDGES:
        out[0], out[1], out[2] = _by_edges(s, 0, pr, r1, r2, th)
    elif rule == POINTS:
        out[0], out[1], out[2] = _by_points(s, 0, 1, pr, r1, r2, th, False, False)
    elif rule == CLIPPED:
        out[0], out[1], out[2] = _by_points(s, 0, count, pr, r1, r2, th, True, False)
    elif rule == BOUND:
        out[0] = work_bound(s, 0, count, pr, r1, r2, th)
    else:
        out[0], out[1], out[2] = vertex_traction(s, 0, count, pr, r1, r2, th)


def friction(
    sides: Sequence[Side],
    pr: Pressure,
    field: tuple[float, float, float],
    *,
    gyration: float = 1.0,
    rule: int = TRACTION,
    spoilt: float = np.nan,
) -> Array:
    """G₁, G₂ and torque about the centroid by one rule (EDGES, POINTS: of the first side).

    BOUND gives the bound of the work in the first place.
    """
    out = np.full(3, np.nan)
    _call(soup_of(sides, spoilt), len(sides), pr, np.array(field), gyration, rule, out)
    return out
