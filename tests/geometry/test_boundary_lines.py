"""Elements of boundaries as lines: each lies on its element."""

from __future__ import annotations

import numpy as np
import pytest

from tangere.geometry.boundary import (
    CIRCLE,
    CONE,
    CYLINDER,
    PARABOLOID,
    PLANE,
    SPHERE,
    TORUS,
    Boundary,
    Elements,
    boundary_of,
    half_space,
)
from tangere.geometry.boundary_lines import lines_of
from tangere.geometry.shapes import Box

pytestmark = pytest.mark.nojit


def alone(kind: int, *size: float) -> Boundary:
    """One element about the z axis, a hand's breadth off the origin."""
    frame = np.column_stack((np.eye(3), (0.1, 0.0, 0.0)))[None]
    zero, two, none = np.zeros(1, np.int8), np.zeros(2, np.int32), np.zeros(0, np.int32)
    sizes = np.zeros((1, 4))
    sizes[0, : len(size)] = size
    return Boundary(
        Elements(
            zero + np.int8(2), zero + np.int8(kind), frame, sizes, zero, zero, two, none, two, none,
            two, np.zeros(1, np.int32), np.zeros((0, 2)),
        ),
        ("alone",),
    )  # fmt: skip


def test_a_box_is_drawn_by_its_edges() -> None:
    boundary = boundary_of(Box((0.2, 0.1, 0.06)))
    face = lines_of(boundary, boundary.index("face +z"), 0.01)
    assert face.shape == (4, 2, 3)
    assert face[..., 2] == pytest.approx(np.full((4, 2), 0.03))
    assert np.linalg.norm(face[:, 1] - face[:, 0], axis=1).sum() == pytest.approx(0.6)
    edge = next(name for name in boundary.names if name.startswith("edge"))
    assert lines_of(boundary, boundary.index(edge), 0.01).shape == (1, 2, 3)
    corner = lines_of(boundary, 0, 0.01)
    assert np.abs(corner.mean(axis=(0, 1))) == pytest.approx((0.1, 0.05, 0.03))
    assert np.linalg.norm(corner[:, 1] - corner[:, 0], axis=1) == pytest.approx(np.full(3, 0.01))


def test_a_floor_without_end_has_no_lines() -> None:
    assert lines_of(half_space(), 0, 0.01).shape == (0, 2, 3)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (CIRCLE, (0.02,)),
        (PLANE, (0.02, 0.01, 1.0)),
        (SPHERE, (0.02, -0.02, 0.01)),
        (CYLINDER, (0.02, 0.03)),
        (CONE, (0.5, -0.04, -0.01)),
        (TORUS, (0.03, 0.01)),
        (PARABOLOID, (0.025, 0.0, 0.04)),
    ],
)
def test_lines_of_round_elements_lie_on_them(kind: int, size: tuple[float, ...]) -> None:
    lines = lines_of(alone(kind, *size), 0, 0.01)
    assert len(lines) >= 32
    x, y, z = (lines.reshape(-1, 3) - (0.1, 0.0, 0.0)).T
    r = np.hypot(x, y)
    misses = {
        CIRCLE: r - size[0] + np.abs(z),
        PLANE: np.abs(z) + np.minimum(np.abs(r - 0.02), np.abs(r - 0.01)),
        SPHERE: np.hypot(r, z) - size[0],
        CYLINDER: r - size[0],
        CONE: r - np.abs(z) * size[0],
        TORUS: np.hypot(r - size[0], z) - size[-1],
        PARABOLOID: z - r**2 / (4.0 * size[0]),
    }
    assert misses[kind] == pytest.approx(np.zeros(len(r)), abs=1e-12)
