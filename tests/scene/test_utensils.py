"""The procedural spoon and cup: counts, closed surfaces, sizes."""

from __future__ import annotations

import numpy as np
import pytest

from tangere.collision.closed_surface import bodies_of
from tangere.geometry.polyhedron import solid_moments
from tangere.scene.utensils import cup, spoon

pytestmark = pytest.mark.nojit


def test_the_spoon_has_the_papers_count_and_size() -> None:
    """`Mesh` has checked that the surface is closed, consistently oriented and outward."""
    shape = spoon()
    assert len(shape.faces) == 1344
    assert len(bodies_of(shape.vertices, shape.faces)) == 1
    assert np.ptp(shape.vertices[:, 0]) == pytest.approx(0.2, rel=1e-12)
    assert np.ptp(shape.vertices[:, 1]) == pytest.approx(0.04, rel=0.01)  # a bowl of 4 cm
    assert 5e-6 < shape.moments().volume < 10e-6


def test_the_spoons_radii_of_gyration() -> None:
    """Those that the free-spoon experiment uses, in millimetres."""
    moments = spoon().moments()
    radii = np.sqrt(np.linalg.eigvalsh(moments.inertia / moments.volume))
    assert 1e3 * radii == pytest.approx([6.59, 60.8, 61.1], rel=2e-3)


def test_the_cup_is_two_closed_parts_that_overlap() -> None:
    shape = cup()
    assert len(shape.faces) == 4000
    parts = bodies_of(shape.vertices, shape.faces)
    assert sorted(len(part) for part in parts) == [800, 3200]
    volumes = [solid_moments(shape.vertices, part).volume for part in parts]
    # walls of 3 mm, a floor of 4 mm; a tube of 16 sides around half a circle of 30 mm
    wall = np.pi * (0.045**2 * 0.1 - 0.042**2 * 0.096)
    tube = np.pi * 0.004**2 * np.pi * 0.03
    assert sorted(volumes) == pytest.approx([tube, wall], rel=0.04)
    radius = np.linalg.norm(shape.vertices, axis=1).max()
    assert radius == pytest.approx(0.08, rel=0.04)
    handle = shape.vertices[np.unique(parts[1] if len(parts[1]) == 800 else parts[0])]
    ends = handle[np.abs(handle[:, 2]) > 0.0339]
    assert (ends[:, 0] < 0.05).all()  # both ends are within the wall
