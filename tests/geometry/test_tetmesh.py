from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tangere as tg
from tangere.errors import SceneError
from tangere.geometry import ftetwild, tetmesh
from tangere.geometry.polyhedron import solid_moments
from tangere.geometry.shapes import Box, Compound, Mesh, Shape, Sphere
from tangere.geometry.tetmesh import TetMesh, qualities, tetrahedron_volumes

Array = NDArray[np.float64]
STILL = (1.0, 0.0, 0.0, 0.0)
# The unit cube cut into five: a regular tetrahedron in the middle, a corner cut off at each side.
CUBE = np.array([(x, y, z) for z in (0.0, 1.0) for y in (0.0, 1.0) for x in (0.0, 1.0)])
FIVE = np.array([(0, 3, 5, 6), (1, 3, 0, 5), (2, 0, 3, 6), (4, 5, 0, 6), (7, 3, 6, 5)])
FIVE = np.where(tetrahedron_volumes(CUBE, FIVE)[:, None] > 0, FIVE, FIVE[:, [0, 2, 1, 3]])


def refused(vertices: Any, tetrahedra: Any) -> str:
    with pytest.raises(SceneError) as caught:
        TetMesh(vertices, tetrahedra)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_surface_of_a_cube() -> None:
    cube = TetMesh(CUBE, FIVE)
    vertices, triangles = cube.surface()
    assert len(vertices) == 8
    assert len(triangles) == 12
    solid = Mesh(vertices, triangles)  # closed and outward, or it is refused
    assert solid.moments().volume == pytest.approx(1.0, rel=1e-14)
    (part,) = cube.parts()
    assert len(part.planes) == 6
    assert cube.offers == {"hull", "field", "surface"}
    assert tg.TetMesh is TetMesh


def test_boundary_leaves_inner_vertices_out_and_keeps_the_numbering() -> None:
    """A tetrahedron with a vertex inside, which is number 1 of the mesh."""
    corners = np.array([(0, 0, 0), (0.25, 0.25, 0.25), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    mesh = TetMesh(corners, [(1, 2, 3, 4), (0, 1, 3, 4), (0, 2, 1, 4), (0, 2, 3, 1)])
    assert mesh.boundary.vertices.tolist() == [0, 2, 3, 4]
    assert mesh.boundary.triangles.max() == 3
    vertices, triangles = mesh.surface()
    assert np.array_equal(vertices, corners[[0, 2, 3, 4]])
    assert solid_moments(vertices, triangles).volume == pytest.approx(1 / 6, rel=1e-14)
    for array in (mesh.vertices, mesh.tetrahedra, *mesh.boundary, vertices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=12, max_size=12),
    st.floats(-100.0, 100.0),
)
def test_moments_are_those_of_the_surface(numbers: list[float], shift: float) -> None:
    """The sum over tetrahedra against the integral over the boundary, for any affine image."""
    matrix = np.array(numbers[:9]).reshape(3, 3) + 3.0 * np.eye(3)
    mesh = TetMesh(CUBE @ matrix.T + np.array(numbers[9:]) + shift, FIVE)
    moments, oracle = mesh.moments(), solid_moments(*mesh.surface())
    # The offset of up to 100 from the origin costs two digits of coordinates of size one.
    assert moments.volume == pytest.approx(oracle.volume, rel=1e-11)
    assert moments.volume == pytest.approx(np.linalg.det(matrix), rel=1e-11)
    assert np.allclose(moments.centre, oracle.centre, rtol=1e-12, atol=1e-11)
    assert np.allclose(moments.inertia, oracle.inertia, atol=1e-11 * np.trace(oracle.inertia))


def test_quality_is_one_for_a_regular_tetrahedron_and_falls_with_height() -> None:
    regular = CUBE[FIVE[0]]
    whole = np.arange(4)[None].astype(np.int32)
    assert qualities(regular, whole) == pytest.approx(1.0, rel=1e-14)
    assert qualities(7.0 * regular, whole) == pytest.approx(1.0, rel=1e-14)
    assert qualities(CUBE, FIVE[1:]) == pytest.approx(
        6 * np.sqrt(2) * (1 / 6) / 1.5**1.5, rel=1e-14
    )


def test_equal_meshes_are_equal() -> None:
    assert TetMesh(CUBE, FIVE) == TetMesh(CUBE.tolist(), FIVE.tolist())
    assert TetMesh(CUBE, FIVE) != TetMesh(2.0 * CUBE, FIVE)
    assert hash(TetMesh(CUBE, FIVE)) == hash(TetMesh(CUBE, FIVE))


def test_a_rigid_body_can_have_it() -> None:
    scene = tg.Scene()
    scene.add_floor()
    body = scene.add_body(TetMesh(0.1 * CUBE, FIVE), mass=2.0, position=(0, 0, 0.2))
    assert body.mass == 2.0


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("vertices", "tetrahedra", "words"),
    [
        (CUBE[:, :2], FIVE, ["vertices", "(8, 2)"]),
        (np.where(CUBE == 1.0, np.nan, CUBE), FIVE, ["point 1", "nan"]),
        (CUBE, FIVE[:, :3], ["tetrahedra", "(5, 3)"]),
        (CUBE, FIVE.astype(float), ["whole numbers", "float64"]),
        (CUBE, [], ["tetrahedra", "shape (0,)"]),
        (CUBE, np.empty((0, 4), dtype=int), ["no tetrahedra"]),
        (CUBE, [(0, 1), (2, 3, 4)], ["rows of four"]),
        (CUBE, [*FIVE.tolist(), (0, 1, 2, 8)], ["tetrahedron 5", "[0, 1, 2, 8]", "0 to 7"]),
        (CUBE, [*FIVE.tolist(), (0, 1, 2, -1)], ["tetrahedron 5", "-1"]),
        (CUBE, [*FIVE.tolist(), (0, 1, 2, 2)], ["tetrahedron 5", "twice"]),
        (
            CUBE,
            np.where(np.arange(5)[:, None] % 2, FIVE[:, [0, 2, 1, 3]], FIVE),
            ["tetrahedron 1 is inverted", "-0.167", "2 of 5", "[:, [0, 2, 1, 3]]"],
        ),
        (
            np.vstack((CUBE, [[2.0, 0.5, 0.5]])),
            [*FIVE.tolist(), (0, 1, 2, 3), (1, 3, 5, 8)],
            ["tetrahedron 5 is flat", "1 of 7"],
        ),
        (np.vstack((CUBE, [[5, 5, 5], [6, 6, 6]])), FIVE, ["vertex 8", "2 of 10"]),
        (CUBE, FIVE[1:], ["4 pieces", "share no face"]),
        (
            np.vstack((CUBE, CUBE + 3.0)),
            np.vstack((FIVE, FIVE[:1] + 8, FIVE[1:] + 8)),
            ["2 pieces", "largest of 5"],
        ),
        (CUBE, np.vstack((FIVE, FIVE[1:2])), ["shared by 3 tetrahedra"]),
        (CUBE, np.vstack((FIVE, FIVE[:1])), ["shared by 3 tetrahedra"]),
        (CUBE[:4] + CUBE[[0, 0, 0, 4]], [(0, 1, 2, 3), (0, 1, 2, 3)], ["same side"]),
        (1e12 + CUBE, FIVE, ["off its origin"]),
    ],
)
def test_refused_in_one_line(vertices: Any, tetrahedra: Any, words: list[str]) -> None:
    text = refused(vertices, tetrahedra)
    assert all(word in text for word in words), text


def test_pieces_that_touch_at_an_edge_are_not_joined() -> None:
    """Two cubes with one edge in common: eight and eight corners, two of them shared."""
    other = CUBE + np.array([1.0, 1.0, 0.0])
    points, number = np.unique(np.vstack((CUBE, other)), axis=0, return_inverse=True)
    assert len(points) == 14
    assert "2 pieces" in refused(points, number.reshape(-1)[np.vstack((FIVE, FIVE + 8))])


def test_too_many_tetrahedra_are_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tetmesh, "MAX_TETRAHEDRA", 4)
    assert "5 tetrahedra, at most 4" in refused(None, FIVE)


# ---------------------------------------------------------------- from surfaces


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(tmp_path))
    return tmp_path / "tetrahedra"


Made = tuple[Array, NDArray[np.int32]]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Envelope of each run; a cube in five stands in for fTetWild."""
    done: list[float] = []

    def run(vertices: Array, triangles: Any, edge: float, envelope: float, what: str) -> Made:
        done.append(envelope)
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        return low + (high - low) * CUBE, FIVE.astype(np.int32)

    monkeypatch.setattr(ftetwild, "_run", run)
    return done


# They share a face and make one solid.
TWO_BOXES = Compound(
    [Box((3e3, 1e3, 1e3)), Box((1e3, 1e3, 1e3))], [((0, 0, 0), STILL), ((1e3, 0, 1e3), STILL)]
)
ANNULUS = trimesh.creation.annulus(0.05, 0.1, 0.05, sections=16)


@pytest.mark.parametrize(
    ("shape", "edge"),
    [
        (Box((2.0, 2.0, 1.0)), 0.6),
        (Sphere(1e-3), None),
        (Mesh(ANNULUS.vertices, ANNULUS.faces), None),
        (TWO_BOXES, None),
    ],
    ids=["box", "sphere", "ring", "compound"],
)
def test_shapes_are_filled(
    shape: Shape, edge: float | None, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mesh = TetMesh.from_surface(shape, edge_length=edge)
    surface = solid_moments(*shape.surface())
    assert mesh.moments().volume == pytest.approx(surface.volume, rel=tetmesh.VOLUME_SHARE)
    assert qualities(mesh.vertices, mesh.tetrahedra).min() >= tetmesh.LEAST_QUALITY
    low, high = (f(shape.surface()[0], axis=0) for f in (np.min, np.max))
    slack = 1e-3 * np.linalg.norm(high - low)
    assert (mesh.vertices >= low - slack).all()
    assert (mesh.vertices <= high + slack).all()
    # fTetWild draws random numbers: the cache makes the second mesh the same, bit for bit.
    assert TetMesh.from_surface(shape, edge_length=edge) == mesh
    assert len(list(cache.glob("*.npz"))) == 1
    assert capfd.readouterr() == ("", "")


def test_shorter_edges_give_more_tetrahedra(cache: Path) -> None:
    cube = Box((1.0, 1.0, 1.0))
    coarse = TetMesh.from_surface(cube, edge_length=0.4)
    fine = TetMesh.from_surface(cube, edge_length=0.12)
    # (0.4/0.12)³ is 37; random numbers within fTetWild make a factor of two.
    assert len(fine.tetrahedra) > 10 * len(coarse.tetrahedra)


def test_another_surface_or_edge_has_another_entry(cache: Path, runs: list[float]) -> None:
    for size, edge in ((1.0, None), (1.0, None), (2.0, None), (1.0, 0.3)):
        TetMesh.from_surface(Box((size,) * 3), edge_length=edge)
    assert len(runs) == 3
    assert len(list(cache.glob("*.npz"))) == 3


def test_damaged_entry_is_computed_again(cache: Path, runs: list[float]) -> None:
    first = TetMesh.from_surface(Box((1.0, 1.0, 1.0)))
    (entry,) = cache.glob("*.npz")
    entry.write_bytes(entry.read_bytes()[:300])
    assert TetMesh.from_surface(Box((1.0, 1.0, 1.0))) == first
    assert len(runs) == 2


def test_lost_volume_is_tried_again_and_then_told(cache: Path, runs: list[float]) -> None:
    """The stand-in fills the whole box around a ball: twice its volume."""
    with pytest.raises(SceneError, match=r"TetMesh from Sphere: .* fill 7\.5.* encloses 3\.9"):
        TetMesh.from_surface(Sphere(1.0))
    assert runs == list(ftetwild.ENVELOPES)
    assert not list(cache.glob("*"))


def test_slivers_are_told(cache: Path, runs: list[float]) -> None:
    with pytest.raises(SceneError, match=r"TetMesh from Box: the worst .* quality of 0\.0"):
        TetMesh.from_surface(Box((1.0, 1.0, 0.01)))


def test_separate_solids_are_refused(cache: Path) -> None:
    pair = Compound([Box((1, 1, 1))] * 2, [((0, 0, 0), STILL), ((3, 0, 0), STILL)])
    with pytest.raises(SceneError, match=r"^TetMesh from Compound: 2 pieces"):
        TetMesh.from_surface(pair)


def test_sheet_thinner_than_the_envelope_is_refused(cache: Path) -> None:
    with pytest.raises(SceneError, match=r"^TetMesh from Box: ") as caught:
        TetMesh.from_surface(Box((1, 1, 1e-5)))
    assert "\n" not in str(caught.value)


def test_crash_of_the_library_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(SceneError, match=r"^TetMesh from Box: fTetWild failed \('exit code 1'\)"):
        TetMesh.from_surface(Box((1, 1, 1)))


def test_what_the_other_process_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, where it leaves files in the current folder."""
    monkeypatch.chdir(tmp_path)
    vertices, triangles = Box((0.5, 0.5, 0.5)).surface()
    np.savez("in.npz", vertices=vertices, triangles=triangles, sizes=(0.3, 1e-3))
    ftetwild._main("in.npz", "out.npz")
    with np.load("out.npz") as made:
        assert tetrahedron_volumes(made["vertices"], made["tetrahedra"]).min() > 0.0


@pytest.mark.parametrize(
    ("shape", "edge", "words"),
    [
        (3, None, ["expected a shape", "3"]),
        (Box((1, 1, 1)), 0.0, ["edge_length", "positive", "0.0"]),
        (Box((1, 1, 1)), -1, ["edge_length", "-1"]),
        (Box((1, 1, 1)), float("nan"), ["edge_length", "nan"]),
        (Box((1, 1, 1)), 2.0, ["edge_length", "2 m", "1.73 m"]),
        (Box((1, 1, 1)), "long", ["edge_length", "'long'"]),
        (Box((1, 1, 1)), 1e-3, ["edge_length", "0.001 m", "8.5e+09 tetrahedra", "1000000"]),
    ],
)
def test_bad_requests_are_refused(shape: Any, edge: Any, words: list[str]) -> None:
    with pytest.raises(SceneError) as caught:
        TetMesh.from_surface(shape, edge_length=edge)
    assert all(word in str(caught.value) for word in words), caught.value
    assert "\n" not in str(caught.value)
