"""Curved solids by their ideal surface: what contact needs beside the facets that are drawn.

Each is a solid of revolution about an axis e through a centre q, which ends half a length h before
and behind it:

| kind     | solid                                                                         |
| BALL     | radius R about q                                                              |
| CAPSULE  | all points within R of the segment q ± h e                                    |
| CYLINDER | radius R, flat ends at q ± h e                                                |
| CONE     | base of radius R at q − h e, apex at q + h e                                  |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere.maths.vec import Array

HULL, BALL, CAPSULE, CYLINDER, CONE = 0, 1, 2, 3, 4

# Columns of a row of `Hulls.curve`
CURVE_KIND, CURVE_RADIUS, CURVE_HALF = 0, 1, 2
CURVE_AXIS, CURVE_CENTRE = 3, 6  # 3 each, in the frame of the hull
NC = 9


class Curve(NamedTuple):
    """One curved convex solid in some frame."""

    kind: int
    radius: float
    """[m]"""
    half: float
    """Half the length along the axis; 0 for a ball [m]."""
    axis: Array
    """Unit vector, shape (3,)."""
    centre: Array
    """Middle of the axis, shape (3,) [m]."""

    def moved(self, rotation: Array, position: Array) -> Curve:
        """The solid turned by a 3x3 `rotation`, then shifted by `position` [m]."""
        return self._replace(
            axis=rotation @ self.axis, centre=rotation @ self.centre + np.asarray(position)
        )

    def row(self) -> Array:
        """The columns of `Hulls.curve`."""
        return np.array([self.kind, self.radius, self.half, *self.axis, *self.centre], float)

    def box(self) -> tuple[Array, Array]:
        """Centre and half extents of the axis-parallel bounding box [m]."""
        along = self.half * np.abs(self.axis)
        # not √(1 − e²), which has half the digits along the axis
        across = self.radius * np.hypot(np.roll(self.axis, 1), np.roll(self.axis, 2))
        if self.kind in (BALL, CAPSULE):
            return self.centre, along + self.radius
        if self.kind == CYLINDER:
            return self.centre, along + across
        apex, base = self.centre + self.half * self.axis, self.centre - self.half * self.axis
        low, high = np.minimum(apex, base - across), np.maximum(apex, base + across)
        return 0.5 * (low + high), 0.5 * (high - low)

    def size(self) -> float:
        """Smallest extent in the solid's own axes [m]."""
        length = 2.0 * self.half if self.kind in (CYLINDER, CONE) else np.inf
        return float(min(2.0 * self.radius, length))

    def face_area(self) -> float:
        """Area of what it can rest on, which stands for its size: an end, or its shadow [m²]."""
        disc = np.pi * self.radius**2
        if self.kind == BALL:
            return float(disc)
        if self.kind == CONE:
            return float(max(disc, 2.0 * self.radius * self.half))
        return float(max(disc, 4.0 * self.radius * self.half))
