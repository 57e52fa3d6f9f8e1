"""Shells around sheets, folds, seams and soups: closed, outward, and as thick as asked for."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.geometry.shapes import Box, Mesh
from tangere.geometry.shell import shell_of, thickened

Array = NDArray[np.float64]
SQUARE = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], float)


def shell(points: object, faces: object, thickness: float) -> Mesh:
    return Mesh(*shell_of(np.asarray(points, float), np.asarray(faces, np.int32), thickness))


@pytest.mark.parametrize("faces", [[(0, 1, 2), (0, 2, 3)], [(0, 1, 2), (0, 3, 2)]])
def test_a_sheet_becomes_a_plate(faces: object) -> None:
    """In any winding."""
    plate = shell(SQUARE, faces, 0.1)
    assert plate.moments().volume == pytest.approx(0.1, rel=1e-12)
    assert np.ptp(plate.vertices, axis=0) == pytest.approx([1.0, 1.0, 0.1])
    assert len(plate.parts()[0].planes) == 6


def test_a_single_triangle_becomes_a_prism() -> None:
    prism = shell(SQUARE, [(0, 1, 2)], 0.2)
    assert prism.moments().volume == pytest.approx(0.1, rel=1e-12)
    assert len(prism.faces) == 8


def test_a_closed_surface_becomes_a_wall_around_a_cavity() -> None:
    """Walls at right angles keep their thickness."""
    vertices, faces = Box((1.0, 1.0, 1.0)).surface()
    assert shell(vertices, faces, 0.1).moments().volume == pytest.approx(1.1**3 - 0.9**3)


def test_the_fold_of_an_open_box_is_as_thick_as_its_walls() -> None:
    vertices, faces = Box((1.0, 1.0, 1.0)).surface()
    lid = (vertices[faces][:, :, 2] == 0.5).all(axis=1)
    box = shell(vertices, faces[~lid], 0.1)
    low, high = box.vertices.min(axis=0), box.vertices.max(axis=0)
    assert high - low == pytest.approx([1.1, 1.1, 1.05])
    assert box.moments().volume == pytest.approx(1.1 * 1.1 * 1.05 - 0.9 * 0.9 * 0.95)


@pytest.mark.parametrize("fins", [3, 4, 5])
def test_seams_of_several_sheets_are_closed_at_their_ends(fins: int) -> None:
    """Sheets that meet at one edge, like the leaves of a book."""
    angle = 2.0 * np.pi * np.arange(fins) / fins
    tips = [(np.cos(a), np.sin(a), z) for a in angle for z in (0.0, 1.0)]
    points = [(0.0, 0.0, 0.0), (0.0, 0.0, 1.0), *tips]
    faces = []
    for i in range(fins):
        a, b = 2 + 2 * i, 3 + 2 * i
        faces += [(0, a, b), (0, b, 1)] if i % 2 else [(0, b, a), (0, 1, b)]
    book = shell(points, faces, 0.02)
    # Where the leaves meet, each pair shares a kite at the seam.
    gap = np.pi / fins
    overlap = fins * 0.01 * 0.01 / np.tan(gap)
    assert book.moments().volume == pytest.approx(fins * 0.02 - overlap, rel=2e-2)


def test_a_moebius_strip_becomes_a_solid() -> None:
    n, w = 60, 0.2
    angle = 2.0 * np.pi * np.arange(n) / n
    points = [
        (
            (1 + s * np.cos(a / 2)) * np.cos(a),
            (1 + s * np.cos(a / 2)) * np.sin(a),
            s * np.sin(a / 2),
        )
        for a in angle
        for s in (-w, w)
    ]
    faces = []
    for i in range(n):
        p, q = 2 * i, 2 * i + 1
        r, t = (2 * i + 2, 2 * i + 3) if i < n - 1 else (1, 0)
        faces += [(p, r, q), (r, t, q)]
    area = trimesh.Trimesh(points, faces).area
    assert shell(points, faces, 0.01).moments().volume == pytest.approx(0.01 * area, rel=1e-2)


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_any_soup_becomes_closed(count: int, seed: int) -> None:
    """Triangles between few points: crowded edges, folds, faces on both sides."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(max(4, count // 2), 3))
    faces = np.array([rng.choice(len(points), 3, replace=False) for _ in range(count)], np.int32)
    faces = _distinct(faces)
    vertices, triangles, done = thickened(points, faces, 1e-3)
    solid = Mesh(vertices, triangles)
    area = trimesh.Trimesh(points, faces, process=False).area
    assert done.lines() == ()
    # Sharp folds taper off, and plates overlap where they are cut.
    assert 0.05 < solid.moments().volume / (1e-3 * area) < 1.5


def _distinct(faces: NDArray[np.int32]) -> NDArray[np.int32]:
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return faces[first]


def test_gaps_and_repeats_are_mended_first() -> None:
    faces = np.array([(0, 1, 2), (3, 4, 5), (3, 4, 5), (0, 0, 1)], np.int32)
    points = SQUARE[[0, 1, 2, 0, 2, 3]] + 1e-9 * np.eye(6, 3)
    vertices, triangles, done = thickened(points, faces, 0.1)
    assert done.lines() == (
        "joined 2 vertices up to 1e-09 m apart",
        "dropped 1 repeated face",
        "dropped 1 face without area",
    )
    assert Mesh(vertices, triangles).moments().volume == pytest.approx(0.1)


def test_what_has_no_area_is_refused() -> None:
    with pytest.raises(SceneError, match="all faces are degenerate"):
        thickened(SQUARE, np.array([(0, 0, 1)], np.int32), 0.1)
    with pytest.raises(SceneError, match="shell: must be positive"):
        shell_of(SQUARE, np.array([(0, 1, 2)], np.int32), 0.0)
