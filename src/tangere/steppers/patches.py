"""Contact patches as polygons: outlines of single points, and the fans of the implicit step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere.elements.columns import (
    EF_C,
    EF_F,
    EF_N,
    EF_S,
    EF_T1,
    EF_T2,
    EI_A,
    EI_B,
    EI_FAN,
    EI_MODE,
    EI_POLYGON,
    EI_POLYGONS,
    HOLDS,
)
from tangere.elements.element import patches_among
from tangere.geometry.outline import disc, outline

if TYPE_CHECKING:
    from tangere.maths.vec import Array
    from tangere.solver import Elements

# Points of two bodies whose normals are within 15° are one patch.
SAME_PLANE = float(np.cos(np.deg2rad(15.0)))
# Radius of a patch that has no area of its own [m].
POINT_RADIUS = 1e-4


class Patch(NamedTuple):
    """Where two bodies touch, as a convex polygon."""

    body_a: int  # floors count −1, −2, …
    body_b: int
    corners: Array  # around the normal, counter-clockwise, shape (n, 3) [m]
    normal: Array  # from a to b
    force: Array  # on b [N]
    pressure: float  # normal force over area [Pa]
    sticking: bool


def patches_of_points(contacts: NDArray[np.void]) -> list[Patch]:
    """Outlines of points that press, by bodies and normal; of fewer than three, discs."""
    patches = []
    left = np.ones(len(contacts), dtype=bool)
    for k, row in enumerate(contacts):
        if not left[k]:
            continue
        same = left & (contacts["body_a"] == row["body_a"]) & (contacts["body_b"] == row["body_b"])
        same &= contacts["normal"] @ row["normal"] > SAME_PLANE
        left &= ~same
        group = contacts[same]
        weight = np.maximum(np.einsum("ij,ij->i", group["force"], group["normal"]), 0.0)
        total = float(weight.sum())
        normal = (weight[:, None] * group["normal"]).sum(axis=0)
        normal /= np.linalg.norm(normal)
        middle = (weight[:, None] * group["point"]).sum(axis=0) / total
        corners = outline(group["point"], middle, normal)
        area = 0.0 if corners is None else _area(corners)
        if corners is None:
            area = max(float(group["area"].sum()), np.pi * POINT_RADIUS**2)
            corners = disc(middle, normal, float(np.sqrt(area / np.pi)))
        patches.append(
            Patch(
                int(row["body_a"]),
                int(row["body_b"]),
                corners,
                normal,
                group["force"].sum(axis=0),
                total / area,
                bool(group["sticking"].all()),
            )
        )
    return patches


def patches_of_elements(t: Elements, bodies: int) -> list[Patch]:
    """The polygons over which the implicit step integrates, of the contacts that press."""
    patches = []
    used = int(t.used[0])
    chosen = patches_among(t.ints[:used]) & (t.floats[:used, EF_F] > 0.0)
    for ints, floats in zip(t.ints[:used][chosen], t.floats[:used][chosen], strict=True):
        n, t1, t2 = (floats[i : i + 3] for i in (EF_N, EF_T1, EF_T2))
        force = floats[EF_F] * n + floats[EF_F + 3] * t1 + floats[EF_F + 4] * t2
        a, b = (int(i) if i < bodies else bodies - 1 - int(i) for i in ints[[EI_A, EI_B]])
        fan = int(ints[EI_FAN])
        first = int(ints[EI_POLYGON])
        for corners in t.corners[first : first + int(ints[EI_POLYGONS])]:
            flat = t.fan[fan + 1 : fan + 1 + int(corners)]
            fan += int(corners) + 1
            polygon = floats[EF_C : EF_C + 3] + flat[:, :1] * t1 + flat[:, 1:2] * t2
            share = _area(polygon) / floats[EF_S]
            patches.append(
                Patch(
                    a,
                    b,
                    polygon,
                    n.copy(),
                    share * force,
                    float(floats[EF_F] / floats[EF_S]),
                    bool(ints[EI_MODE] == HOLDS),
                )
            )
    return patches


def _area(corners: Array) -> float:
    """Of a plane polygon [m²]."""
    arms = corners[1:] - corners[0]
    return 0.5 * float(np.linalg.norm(np.cross(arms[:-1], arms[1:]).sum(axis=0)))
