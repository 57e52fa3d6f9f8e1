"""The bowl, the bodies that fill it, and the lofts they are made by."""

from __future__ import annotations

import numpy as np
import pytest

from tangere.errors import SceneError
from tangere.geometry.mesh import is_convex
from tangere.geometry.shapes import Mesh
from tangere.scene.concave_bodies import CONCAVE, WALL, bowl
from tangere.scene.lofts import closed_loft, loft, outward, tube_rings, turned_profile

pytestmark = pytest.mark.nojit


def handles(mesh: Mesh) -> int:
    """Genus of a connected closed surface, by Euler's formula V − E + F = 2 − 2 g."""
    edges = 3 * len(mesh.faces) // 2
    twice = 2 - (len(mesh.vertices) - edges + len(mesh.faces))
    assert twice % 2 == 0
    return twice // 2


@pytest.mark.parametrize("name", CONCAVE)
def test_bodies_are_concave_closed_manifolds_of_some_thousand_triangles(name: str) -> None:
    mesh = CONCAVE[name]()
    ends = np.sort(np.concatenate([mesh.faces[:, [i, (i + 1) % 3]] for i in range(3)]), axis=1)
    assert (np.unique(ends, axis=0, return_counts=True)[1] == 2).all()
    assert 2000 <= len(mesh.faces) <= 8000
    assert mesh.moments().volume > 1e-6
    assert not is_convex(mesh.vertices, mesh.vertices, mesh.faces)
    assert np.ptp(mesh.vertices, axis=0).max() == pytest.approx(0.05, rel=0.4)
    assert handles(mesh) == (1 if name in ("torus", "elbow", "knot") else 0)
    assert mesh == CONCAVE[name]()
    big = CONCAVE[name](0.1)
    assert big.moments().volume == pytest.approx(8.0 * mesh.moments().volume, rel=1e-9)


def test_the_bowl_stands_on_its_foot_and_is_hollow() -> None:
    mesh = bowl(0.12)
    assert handles(mesh) == 0
    assert mesh.vertices[:, 2].min() == pytest.approx(0.0, abs=1e-15)
    assert np.count_nonzero(mesh.vertices[:, 2] < 1e-12) > 96  # a flat foot
    bottom = mesh.vertices[-1]
    assert bottom == pytest.approx([0.0, 0.0, 0.5 * WALL], abs=1e-12)
    # a hollow ball up to 80 degrees, less what the foot cuts off
    cap = (1.0 - np.cos(np.deg2rad(80.0))) * 2.0 / 3.0 * np.pi * (0.126**3 - 0.12**3)
    cut = np.pi * 3e-3**2 * (0.126 - 1e-3)
    assert mesh.moments().volume == pytest.approx(cap - cut, rel=0.02)


def test_volumes_of_ring_and_bars() -> None:
    tube, ring = 0.14 * 0.05, 0.36 * 0.05
    polygons = np.sin(2 * np.pi / 24) / (2 * np.pi / 24) * np.sin(2 * np.pi / 72) / (2 * np.pi / 72)
    torus = CONCAVE["torus"]().moments().volume
    assert torus == pytest.approx(2.0 * np.pi**2 * ring * tube**2 * polygons, rel=2e-3)
    cell = (0.05 / 3.0) ** 3
    assert CONCAVE["corner"]().moments().volume == pytest.approx(5.0 * cell, rel=1e-12)
    assert CONCAVE["cross"]().moments().volume == pytest.approx(7.0 * cell, rel=1e-12)


def test_a_loft_has_two_triangles_per_point() -> None:
    rings = turned_profile(np.ones(3), np.array([0.0, 1.0, 2.0]), 6)
    vertices, faces = loft(rings, np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, 2.0]))
    assert faces.shape == (2 * 3 * 6, 3)
    prism = 1.5 * np.sqrt(3.0) * 2.0
    assert Mesh(vertices, faces).moments().volume == pytest.approx(prism, rel=1e-12)
    assert outward((vertices, faces[:, ::-1])).moments().volume == pytest.approx(prism, rel=1e-12)


def test_tubes_are_square_to_their_path_and_close_without_a_jump() -> None:
    t = 2.0 * np.pi * np.arange(90) / 90
    path = np.column_stack((np.cos(t), np.sin(t), 0.4 * np.sin(2.0 * t)))
    rings = tube_rings(path, 0.1, 8, closed=True)
    along = np.roll(path, -1, axis=0) - np.roll(path, 1, axis=0)
    spokes = rings - path[:, None]
    assert np.linalg.norm(spokes, axis=2) == pytest.approx(0.1, rel=1e-12)
    assert np.einsum("nmi,ni->nm", spokes, along) == pytest.approx(0.0, abs=1e-15)
    steps = np.linalg.norm(np.roll(rings, -1, axis=0) - rings, axis=2)
    assert steps.max() < 1.6 * np.median(
        steps
    )  # the last step back to the first is like the others
    assert outward(closed_loft(rings)).moments().volume > 0.0


def test_a_bowl_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(SceneError, match="bowl radius"):
        bowl(1e-3)
    with pytest.raises(SceneError, match="bowl around"):
        bowl(around=3)
