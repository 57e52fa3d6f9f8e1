from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.geometry import mesh as mesh_module
from tangere.geometry.polyhedron import MAX_FACES
from tangere.geometry.shapes import Box, Mesh

Array = NDArray[np.float64]
Raw = tuple[Array, NDArray[np.int32]]
CUBE: Raw = Box((1.0, 1.0, 1.0)).surface()


def ring() -> Mesh:
    solid = trimesh.creation.annulus(0.05, 0.1, 0.05, sections=16)
    return Mesh(solid.vertices, solid.faces)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(tmp_path))
    return tmp_path / "decompositions"


@pytest.fixture
def splits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one whenever a mesh is split; a cut through the middle stands in for CoACD."""
    done: list[str] = []

    def counted(vertices: Array, faces: Any, what: str) -> list[Array]:
        done.append(what)
        return [vertices[vertices[:, 0] <= 0.0], vertices[vertices[:, 0] >= 0.0]]

    monkeypatch.setattr(mesh_module, "_run_coacd", counted)
    return done


def test_concave_mesh_is_split_into_pieces_that_fill_it(cache: Path) -> None:
    solid = ring()
    parts = solid.parts()
    assert len(parts) >= 4
    assert all(len(part.planes) <= MAX_FACES for part in parts)
    total = sum(part.moments().volume for part in parts)
    # Pieces are hulls and overlap a little: CoACD was asked for a concavity of 5 %.
    assert total == pytest.approx(solid.moments().volume, rel=0.1)
    # The hole stays open: no piece holds the centre.
    assert all((part.planes[:, 3] < 0.0).any() for part in parts)


def test_moments_of_a_mesh_are_those_of_its_surface() -> None:
    solid = trimesh.creation.torus(0.2, 0.07)
    moments = Mesh(solid.vertices, solid.faces).moments()
    assert moments.volume == pytest.approx(solid.volume, rel=1e-12)
    assert np.allclose(moments.centre, solid.center_mass, atol=1e-14)
    assert np.allclose(moments.inertia, solid.moment_inertia, atol=1e-14)


def test_split_is_kept_on_disk(cache: Path, splits: list[str]) -> None:
    first = ring().parts()
    assert len(list(cache.glob("*.npz"))) == 1
    again = ring().parts()
    assert len(splits) == 1
    assert len(again) == len(first)
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a.vertices, b.vertices)
    assert not list(cache.glob("*.tmp"))


def test_another_mesh_has_another_entry(cache: Path, splits: list[str]) -> None:
    solid = ring()
    solid.parts()
    Mesh(solid.vertices * 1.5, solid.faces).parts()
    assert len(splits) == 2
    assert len(list(cache.glob("*.npz"))) == 2


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "flipped"])
def test_damaged_entry_is_computed_again(cache: Path, splits: list[str], damage: str) -> None:
    first = ring().parts()
    (entry,) = cache.glob("*.npz")
    whole = entry.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x10  # one bit within the stored coordinates
    entry.write_bytes(
        {"cut": whole[:200], "noise": b"\x00" * 999, "empty": b"", "flipped": bytes(flipped)}[
            damage
        ]
    )
    again = ring().parts()
    assert len(splits) == 2
    assert np.array_equal(again[0].vertices, first[0].vertices)
    assert entry.read_bytes() == whole


def test_unwritable_cache_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, splits: list[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(blocked))
    assert len(ring().parts()) == 2
    assert len(ring().parts()) == 2
    assert len(splits) == 2


def test_fine_convex_mesh_is_simplified() -> None:
    ball = trimesh.creation.icosphere(subdivisions=4)
    solid = Mesh(ball.vertices, ball.faces)
    (part,) = solid.parts()
    assert len(part.planes) <= MAX_FACES
    assert part.moments().volume > 0.9 * solid.moments().volume
    assert np.allclose(np.linalg.norm(part.vertices, axis=1), 1.0)


def test_solid_with_a_cavity_is_accepted() -> None:
    vertices, faces = CUBE
    hollow = Mesh(
        np.concatenate((vertices, 0.5 * vertices)), np.concatenate((faces, faces[:, ::-1] + 8))
    )
    assert hollow.moments().volume == pytest.approx(1.0 - 0.125)


def test_two_separate_solids_are_accepted() -> None:
    vertices, faces = CUBE
    pair = Mesh(np.concatenate((vertices, vertices + 3.0)), np.concatenate((faces, faces + 8)))
    assert pair.moments().volume == pytest.approx(2.0)


def test_flat_sliver_triangles_are_accepted() -> None:
    # A vertex in the middle of an edge splits the face on one side; on the other side a triangle
    # of no area closes the gap.
    vertices, faces = CUBE
    middle = 0.5 * (vertices[0] + vertices[1])
    out = []
    for f in faces.tolist():
        if {0, 1} <= set(f):
            k = next(i for i in range(3) if {f[i], f[(i + 1) % 3]} == {0, 1})
            a, b, c = f[k], f[(k + 1) % 3], f[(k + 2) % 3]
            out += [(a, 8, c), (8, b, c)] if a == 0 else [(a, b, c), (a, 8, b)]
        else:
            out.append(tuple(f))
    solid = Mesh(np.r_[vertices, [middle]], out)
    assert solid.moments().volume == pytest.approx(1.0)
    assert len(solid.parts()[0].planes) == 6


def changed(change: Callable[[Array, NDArray[np.int32]], Any]) -> Any:
    vertices, faces = CUBE[0].copy(), CUBE[1].copy()
    return change(vertices, faces) or (vertices, faces)


def poke(vertices: Array, value: float) -> None:
    vertices[3, 1] = value


def flip_one(faces: NDArray[np.int32]) -> None:
    faces[5] = faces[5, ::-1]


BAD_MESHES: dict[str, tuple[Any, str]] = {
    "open": (changed(lambda v, f: (v, f[1:])), "open surface, 3 edges"),
    "inverted": (changed(lambda v, f: (v, f[:, ::-1])), "inverted, faces point inwards"),
    "one face flipped": (changed(lambda v, f: flip_one(f)), "inconsistent orientation"),
    "not a number": (changed(lambda v, f: poke(v, np.nan)), "Mesh vertices: point 3"),
    "infinite": (changed(lambda v, f: poke(v, np.inf)), "Mesh vertices: point 3"),
    "huge coordinate": (changed(lambda v, f: poke(v, 1e30)), "below 1e+15 m"),
    "flat": (changed(lambda v, f: (v @ [[1, 0, 0], [0, 1, 0], [0.2, 0.1, 0]], f)), "no volume"),
    "all one point": (changed(lambda v, f: (v * 0, f)), "two corners coincide"),
    "repeated corner": (changed(lambda v, f: (v, np.r_[f, [[1, 1, 2]]])), "degenerate"),
    "repeated face": (changed(lambda v, f: (v, np.r_[f, f[:1]])), "more than once"),
    "coincident corners": (changed(lambda v, f: (np.r_[v[:1], v[:1], v[2:]], f)), "degenerate"),
    "index too large": (changed(lambda v, f: (v, f + 1)), "numbered 0 to 7"),
    "index negative": (changed(lambda v, f: (v, f - 1)), "numbered 0 to 7"),
    "index fractional": (changed(lambda v, f: (v, f + 0.5)), "whole numbers"),
    "quads": (changed(lambda v, f: (v, np.zeros((6, 4), int))), "shape (t, 3)"),
    "ragged faces": (changed(lambda v, f: (v, [[0, 1, 2], [0, 1]])), "rows of three indices"),
    "no faces": (changed(lambda v, f: (v, np.zeros((0, 3), int))), "at least 4"),
    "faces of text": (changed(lambda v, f: (v, "faces")), "whole numbers"),
    "vertices of text": (changed(lambda v, f: ("vertices", f)), "numbers of shape (n, 3)"),
    "second solid inverted": (
        changed(lambda v, f: (np.r_[2 * v, v + 5.0], np.r_[f, f[:, ::-1] + 8])),
        "one of its 2 separate surfaces is inverted",
    ),
    "far away": (changed(lambda v, f: (v + 1e9, f)), "move it closer"),
    "ten million triangles": (
        (np.zeros((3, 3)), np.broadcast_to(np.array([0, 1, 2]), (10_000_000, 3))),
        "10000000 triangles, at most 4000000",
    ),
    "ten million vertices": (
        (np.broadcast_to(np.zeros(3), (10_000_000, 3)), CUBE[1]),
        "10000000 points, at most 4000000",
    ),
}


@pytest.mark.parametrize("name", BAD_MESHES)
def test_bad_meshes_are_refused_in_one_line(name: str) -> None:
    (vertices, faces), text = BAD_MESHES[name]
    with pytest.raises(SceneError) as caught:
        Mesh(vertices, faces)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_slivers_of_the_split_are_left_out(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)])
    monkeypatch.setattr(mesh_module, "_run_coacd", lambda *_: [flat, CUBE[0]])
    (part,) = ring().parts()
    assert len(part.planes) == 6


def test_split_without_a_solid_is_an_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_module, "_run_coacd", lambda *_: [np.zeros((5, 3))])
    with pytest.raises(SceneError, match="found no solid piece"):
        ring().parts()


def test_failing_split_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import coacd

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(coacd, "run_coacd", fail)
    with pytest.raises(SceneError) as caught:
        ring().parts()
    assert "convex split failed" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not cache.exists()


@pytest.mark.parametrize("size", [(1.0, 1.0, 1e-6), (1e-6, 1.0, 1e-6), (1e3, 1e-3, 1.0)])
def test_thin_convex_mesh_is_one_part(size: tuple[float, float, float]) -> None:
    (part,) = Mesh(*Box(size).surface()).parts()
    assert len(part.planes) == 6
