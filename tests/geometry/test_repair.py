"""Meshes with every defect that files have: mended with a phrase for it, or refused in one line."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.geometry import sides
from tangere.geometry.edges import edges_of
from tangere.geometry.files import load
from tangere.geometry.repair import Repairs, repair_mesh
from tangere.geometry.shapes import Box, Mesh

Array = NDArray[np.float64]
Faces = NDArray[Any]
Raw = tuple[Array, Faces]

V, F = Box((1.0, 1.0, 1.0)).surface()
ICOSPHERE = trimesh.creation.icosphere(3)
BALL_V, BALL_F, BALL = np.array(ICOSPHERE.vertices), np.array(ICOSPHERE.faces), ICOSPHERE.volume


def corners_apart(vertices: Array, faces: Any) -> Raw:
    """Every triangle with three vertices of its own, as STL files have them."""
    return vertices[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)


def several(*meshes: Any) -> Raw:
    """All of them in one file."""
    shift = np.cumsum([0] + [len(v) for v, _ in meshes])
    faces = [f + s for (_, f), s in zip(meshes, shift[:-1], strict=True)]
    return np.concatenate([v for v, _ in meshes]), np.concatenate(faces)


def noisy(size: float) -> Raw:
    points, faces = corners_apart(BALL_V, BALL_F)
    return points + size * np.random.default_rng(0).uniform(-1.0, 1.0, points.shape), faces


def turned(faces: Any, rows: Any) -> Faces:
    result = np.array(faces)
    result[rows] = result[rows, ::-1]
    return result


def cube_with_t_junction() -> Raw:
    """A corner in the middle of an edge that only the faces on one side know."""
    faces = F.tolist()
    k = next(i for i, f in enumerate(faces) if {0, 1} <= set(f))
    a, b, c = next(
        (f[i], f[(i + 1) % 3], f[(i + 2) % 3])
        for f in [faces[k]]
        for i in range(3)
        if {f[i], f[(i + 1) % 3]} == {0, 1}
    )
    rest = faces[:k] + faces[k + 1 :]
    return np.r_[V, [0.5 * (V[0] + V[1])]], np.array([*rest, (a, 8, c), (8, b, c)])


def membrane_at(x: float) -> Raw:
    """A square across two cubes that stand side by side, as one box."""
    box = [(i, j, k) for i in (0, 1, 2) for j in (0, 1) for k in (0, 1)]
    number = {corner: i for i, corner in enumerate(box)}

    def wall(*ring: tuple[int, int, int]) -> list[tuple[int, int, int]]:
        a, b, c, d = (number[corner] for corner in ring)
        return [(a, b, c), (a, c, d)]

    faces = wall((0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0))
    faces += wall((2, 0, 0), (2, 1, 0), (2, 1, 1), (2, 0, 1))
    for i in (0, 1):
        faces += wall((i, 0, 0), (i, 1, 0), (i + 1, 1, 0), (i + 1, 0, 0))
        faces += wall((i, 0, 1), (i + 1, 0, 1), (i + 1, 1, 1), (i, 1, 1))
        faces += wall((i, 0, 0), (i + 1, 0, 0), (i + 1, 0, 1), (i, 0, 1))
        faces += wall((i, 1, 0), (i, 1, 1), (i + 1, 1, 1), (i + 1, 1, 0))
    faces += wall((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1))
    points = np.array(box, dtype=float)
    points[points[:, 0] == 1.0, 0] = x
    return points, np.array(faces)


def moebius(steps: int = 40, width: float = 0.3) -> Raw:
    angle = 2.0 * np.pi * np.arange(steps) / steps
    points = [
        (
            (1 + w * np.cos(a / 2)) * np.cos(a),
            (1 + w * np.cos(a / 2)) * np.sin(a),
            w * np.sin(a / 2),
        )
        for a in angle
        for w in (-width, width)
    ]
    faces = []
    for i in range(steps):
        p, q = 2 * i, 2 * i + 1
        r, s = (2 * i + 2, 2 * i + 3) if i < steps - 1 else (1, 0)
        faces += [(p, r, q), (r, s, q)]
    return np.array(points), np.array(faces)


def klein_bottle(n: int = 24) -> Raw:
    """The figure-eight immersion: closed, and without an outside."""
    u, v = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(n) / n, indexing="ij")
    r = 2.0 + np.cos(u / 2) * np.sin(v) - np.sin(u / 2) * np.sin(2 * v)
    z = np.sin(u / 2) * np.sin(v) + np.cos(u / 2) * np.sin(2 * v)
    points = np.stack((r * np.cos(u), r * np.sin(u), z), axis=2).reshape(-1, 3)

    def at(i: int, j: int) -> int:
        return (i % n) * n + (j if i < n else -j) % n

    faces = []
    for i in range(n):
        for j in range(n):
            a, b, c, d = at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)
            faces += [(a, b, c), (a, c, d)]
    return points, np.array(faces)


def drum(wall: int, lid: int) -> Raw:
    """A cylinder whose wall and lids have other corners along the circles where they meet."""

    def circle(n: int, z: float) -> Array:
        angle = 2.0 * np.pi * np.arange(n) / n
        return np.column_stack((np.cos(angle), np.sin(angle), np.full(n, z)))

    def fan(n: int, z: float) -> Raw:
        i = np.arange(n)
        fan = np.column_stack((np.full(n, n), i, (i + 1) % n))
        return np.r_[circle(n, z), [[0.0, 0.0, z]]], fan if z > 0.0 else fan[:, ::-1]

    i = np.arange(wall)
    j = (i + 1) % wall
    side = np.r_[np.c_[i, j, wall + j], np.c_[i, wall + j, wall + i]]
    return several(
        (np.r_[circle(wall, 0.0), circle(wall, 1.0)], side), fan(lid, 1.0), fan(lid, 0.0)
    )


def sheet(n: int = 6) -> Raw:
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij")
    points = np.column_stack((x.ravel(), y.ravel(), 0.1 * np.sin(3 * x.ravel())))
    a = (n * np.arange(n - 1)[:, None] + np.arange(n - 1)).ravel()
    return points, np.r_[np.c_[a, a + n, a + 1], np.c_[a + 1, a + n, a + n + 1]]


def fan_of_fins() -> Raw:
    """A ball with three small triangles that stand on one of its edges."""
    a, b = BALL_F[0][:2]
    tips = 1.05 * 0.5 * (BALL_V[a] + BALL_V[b]) + [[0, 0, 0], [0.01, 0, 0], [0, 0.01, 0]]
    fins = [(a, b, len(BALL_V) + i) for i in range(3)]
    return np.r_[BALL_V, tips], np.r_[BALL_F, fins]


def needle() -> Raw:
    """A face without area inside a wall, its third corner in the middle of its longest side."""
    points, faces = cube_with_t_junction()
    return points, np.r_[faces, [(0, 8, 1)], faces[:1]]


CUBE_APART = corners_apart(V, F)
DRUM = 3.1386  # between the prisms of 96 and of 98 or 144 corners

# Defective meshes with the phrase that says what was done, and the volume of what came out.
MENDED: dict[str, tuple[Raw, str, float]] = {
    "holes": ((BALL_V, np.delete(BALL_F, [0, 50, 51, 52, 300], axis=0)), "capped", BALL),
    "cracks": (drum(96, 144), "capped 96 holes", DRUM),
    "long cracks": (drum(96, 98), "capped 4 holes", DRUM),
    "one face turned": ((V, turned(F, [3])), "turned 1 face outwards", 1.0),
    "half the faces turned": ((V, turned(F, slice(0, 12, 2))), "turned 6 faces outwards", 1.0),
    "inverted": ((V, F[:, ::-1]), "turned 12 faces outwards", 1.0),
    "a doubled face": ((V, np.r_[F, F[4:5]]), "dropped 1 repeated face", 1.0),
    "a doubled turned face": ((V, np.r_[F, F[4:5, ::-1]]), "dropped 1 repeated face", 1.0),
    "doubled surface": (several((V, F), (V, F)), "dropped 12 repeated faces", 1.0),
    "doubled inverted surface": (several((V, F), (V, F[:, ::-1])), "repeated", 1.0),
    "repeated corner": ((V, np.r_[F, [[1, 1, 2]]]), "dropped 1 face without area", 1.0),
    "all corners apart": (CUBE_APART, "", 1.0),
    "last bits differ": (noisy(1e-9), "joined", BALL),
    "last digits differ": (noisy(3e-7), "joined", BALL),
    "rounded to four digits": (noisy(3e-5), "joined", BALL),
    "T-junction": (cube_with_t_junction(), "split 1 face at vertices on their edges", 1.0),
    "needle and a doubled face": (needle(), "repeated", 1.0),
    "membrane inside": (membrane_at(1.0), "dropped 2 faces within the solid", 2.0),
    "membrane inside, all turned": (
        (membrane_at(1.0)[0], membrane_at(1.0)[1][:, ::-1]),
        "dropped 2 faces within the solid",
        2.0,
    ),
    "fins": (fan_of_fins(), "dropped 3 faces that bound nothing", BALL),
    "a stray triangle": (
        several((BALL_V, BALL_F), (2.0 + 0.01 * np.eye(3), np.array([[0, 1, 2]]))),
        "dropped 1 small open piece",
        BALL,
    ),
    "two cubes share a face": (several((V, F), (V + np.array((1, 0, 0)), F)), "repeated", 2.0),
    "two cubes share an edge, one inverted": (
        several((V, F), (V + np.array((1, 1, 0)), F[:, ::-1])),
        "turned 12 faces outwards",
        2.0,
    ),
    "two cubes share a vertex, one inverted": (
        several((V, F), (V + 1.0, F[:, ::-1])),
        "turned 12 faces outwards",
        2.0,
    ),
    "two cubes apart, both inverted": (
        several((V, F[:, ::-1]), (V + 3.0, F[:, ::-1])),
        "turned 24 faces outwards",
        2.0,
    ),
    "inverted solid with a cavity": (
        several((V, F[:, ::-1]), (0.5 * V, F)),
        "turned 24 faces outwards",
        0.875,
    ),
    "solid in a cavity, all inverted": (
        several((V, F[:, ::-1]), (0.5 * V, F), (0.25 * V, F[:, ::-1])),
        "turned 36 faces outwards",
        1.0 - 0.125 + 0.015625,
    ),
    "self-intersection and a turned face": (
        several((V, turned(F, [0])), (V + np.array((0.5, 0.3, 0.2)), F)),
        "turned 1 face outwards",
        2.0,
    ),
    "interlocked along an edge": (
        several((V, turned(F, [0])), (V @ [[1, 0, 0], [0, 0, 1], [0, -1, 0]] + [0, 1, 0], F)),
        "turned",
        2.0,
    ),
}
# Sound meshes that look odd: they come back as they are.
SOUND: dict[str, tuple[Raw, float]] = {
    "cavity": (several((V, F), (0.5 * V, F[:, ::-1])), 0.875),
    "touching along an edge": (several((V, F), (V + np.array((1, 1, 0)), F)), 2.0),
    "touching at a vertex": (several((V, F), (V + 1.0, F)), 2.0),
    "self-intersection": (several((V, F), (V + np.array((0.5, 0.3, 0.2)), F)), 2.0),
    "in millimetres": ((1000.0 * V, F), 1e9),
    "off the origin": ((V + 1e5, F), 1.0),
    "thin": ((V * [1.0, 1.0, 1e-4], F), 1e-4),
}
# What cannot be mended, and what the message says.
REFUSED: dict[str, tuple[Any, str]] = {
    "open box": (
        (V, F[2:]),
        "open surface, 4 edges with a face on one side only, 1 hole too wide to cap (1.4 m",
    ),
    "open sheet": (sheet(), "open surface, 20 edges"),
    "two-sided sheet": ((sheet()[0], np.r_[sheet()[1], sheet()[1][:, ::-1]]), "open surface"),
    "Moebius strip": (moebius(), "open surface, 80 edges"),
    "Klein bottle": (klein_bottle(), "one-sided surface"),
    "single triangle": ((np.eye(3), np.array([[0, 1, 2]])), "1 triangles"),
    "no faces": ((np.eye(3), np.zeros((0, 3), int)), "0 triangles"),
    "soup": (
        (np.random.default_rng(1).normal(size=(90, 3)), np.arange(90).reshape(-1, 3)),
        "open surface, 90 edges",
    ),
    "not a number": ((np.where(V == V[3], np.nan, V), F), "every coordinate must be finite"),
    "no such vertex": ((V, F + 1), "vertices are numbered 0 to 7"),
    "flat": ((V * [1.0, 1.0, 0.0], F), "open surface, 4 edges"),
    "all one point": ((V * 0.0, F), "all faces are degenerate"),
    "far off the origin": ((V + 1e9, F), "move it closer"),
    "a large fin": (
        (np.r_[V, [[9.0, 0.0, 0.0]]], np.r_[F, [[0, 1, 8]]]),
        "of its area bound nothing",
    ),
}


@pytest.mark.parametrize("name", MENDED)
def test_a_defect_is_mended_and_named(name: str) -> None:
    (vertices, faces), phrase, volume = MENDED[name]
    points, triangles, done = repair_mesh(vertices, faces)
    assert phrase in str(done)
    solid = Mesh(points, triangles)  # closed, outward
    share = 5e-3 if done.holes else 1e-4
    assert solid.moments().volume == pytest.approx(volume, rel=share)
    again = repair_mesh(points, triangles)
    assert again[2] == Repairs()
    assert np.array_equal(again[0], points)
    assert np.array_equal(again[1], triangles)


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_stays(name: str) -> None:
    (vertices, faces), volume = SOUND[name]
    points, triangles, done = repair_mesh(vertices, faces)
    assert done == Repairs()
    assert not done.lines()
    assert Mesh(points, triangles).moments().volume == pytest.approx(volume, rel=1e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_mended_is_refused_in_one_line(name: str) -> None:
    (vertices, faces), words = REFUSED[name]
    with pytest.raises(SceneError) as caught:
        repair_mesh(vertices, faces)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


def test_every_repair_has_its_words() -> None:
    numbers = dict.fromkeys([item.name for item in fields(Repairs)], 2)
    every = Repairs(**numbers)
    assert len(every.lines()) == len(numbers) - 2  # a distance and a width say how far
    single = Repairs(**dict.fromkeys(numbers, 1))
    assert "1 vertex up" in str(single)
    assert "1 small open piece" in str(single)
    assert str(Repairs(holes=1, width=1234.5)) == "capped 1 hole 1234 m across"


# ------------------------------------------------------------------------------------------ laws


SOLIDS: dict[str, Callable[[], Any]] = {
    "ball": lambda: trimesh.creation.icosphere(3),
    "torus": lambda: trimesh.creation.torus(1.0, 0.3),
    "ring": lambda: trimesh.creation.annulus(0.5, 1.0, 0.4),
    "capsule": lambda: trimesh.creation.capsule(1.0, 0.3),
}


@given(st.sampled_from(sorted(SOLIDS)), st.integers(0, 2**32 - 1), st.floats(-3.0, 3.0))
def test_a_sound_mesh_is_left_alone(name: str, seed: int, exponent: float) -> None:
    solid, rng = SOLIDS[name](), np.random.default_rng(seed)
    order = rng.permutation(len(solid.vertices))
    rank = np.argsort(order)
    points = 10.0**exponent * np.array(solid.vertices)[order]
    faces = rank[np.array(solid.faces)][rng.permutation(len(solid.faces))]
    mended, triangles, done = repair_mesh(points, faces)
    assert done == Repairs()
    assert np.array_equal(mended, points)
    assert np.array_equal(triangles, faces)


@given(
    st.sampled_from(sorted(SOLIDS)),
    st.integers(0, 2**32 - 1),
    st.sets(st.sampled_from(["apart", "turn", "double", "degenerate", "hole", "flap", "invert"])),
)
def test_random_damage_is_undone(name: str, seed: int, kinds: set[str]) -> None:
    solid, rng = SOLIDS[name](), np.random.default_rng(seed)
    points, faces = np.array(solid.vertices), np.array(solid.faces)
    count, slack = len(faces), 1e-6
    if "invert" in kinds:
        faces = faces[:, ::-1]
    if "turn" in kinds:
        faces = turned(faces, rng.choice(count, count // 4, replace=False))
    if "hole" in kinds:
        gone = rng.choice(count, 2, replace=False)
        slack = 0.02
        faces = np.delete(faces, gone, axis=0)
    if "double" in kinds:
        faces = np.r_[faces, faces[rng.choice(len(faces), 3)]]
    if "degenerate" in kinds:
        faces = np.r_[faces, faces[:2][:, [0, 1, 1]]]
    if "flap" in kinds:
        a, b = faces[rng.integers(len(faces))][:2]
        points = np.r_[points, [0.5 * (points[a] + points[b]) * 1.01]]
        faces = np.r_[faces, [(a, b, len(points) - 1)]]
    if "apart" in kinds:
        points, faces = corners_apart(points, faces)
        points = points + 1e-8 * rng.uniform(-1.0, 1.0, points.shape)
    mended, triangles, done = repair_mesh(points, faces[rng.permutation(len(faces))])
    assert bool(done.lines()) or not kinds
    assert Mesh(mended, triangles).moments().volume == pytest.approx(solid.volume, rel=slack)


def test_joining_collapses_no_detail() -> None:
    """A ring of edges shorter than the distance at which vertices are joined keeps its corners."""
    tiny = 1e-7 * BALL_V + [3.0, 0.0, 0.0]  # a ball of 0.1 µm beside one of 1 m
    points, faces = several((BALL_V, np.delete(BALL_F, 7, axis=0)), (tiny, BALL_F[1:]))
    _, triangles, done = repair_mesh(points, faces)
    assert len(triangles) == 2 * len(BALL_F)
    assert done.holes == 2
    assert done.joined == 0


# ------------------------------------------------------------------------------------------ parts


@pytest.mark.parametrize(("x", "around"), [(0.3, 1.0), (0.7, 0.0), (-0.2, 1.0)])
def test_winding_number_tells_inside_from_outside(x: float, around: float) -> None:
    point = np.array([x, 0.1, -0.2])
    assert sides.winding_number(point, V, F) == pytest.approx(around, abs=1e-12)
    assert sides.winding_number(point, V, F[:, ::-1]) == pytest.approx(-around, abs=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_faces_on_top_of_each_other_are_kept_in_order(axis: int) -> None:
    """Two cubes whose touching walls have other diagonals become one box."""
    top = np.flatnonzero((V[F][:, :, axis] == 0.5).all(axis=1))
    below = np.flatnonzero((V[F][:, :, axis] == -0.5).all(axis=1))
    faces = F.copy()
    for wall in (top, below):  # the walls that touch get the two diagonals that differ
        ring = [int(v) for v in F[wall[0]]]
        lone = next(int(v) for v in F[wall[1]] if v not in ring)
        at = next(i for i in range(3) if ring[i] not in F[wall[1]])
        a, b, c = ring[at], ring[(at + 1) % 3], ring[(at + 2) % 3]
        first, second = (a, b, lone), (a, lone, c)
        along = V[a] - V[lone]
        if (along[(axis + 1) % 3] * along[(axis + 2) % 3] > 0.0) == (wall is top):
            faces[wall] = first, second
    points, both = several((V, faces), (V + np.eye(3)[axis], faces))
    mended, triangles, done = repair_mesh(points, turned(both, [1, 14]))
    assert done.turned + done.inside >= 2
    assert len(triangles) == 20  # one box
    assert Mesh(mended, triangles).moments().volume == pytest.approx(2.0)


def test_open_edges_are_counted() -> None:
    edges = edges_of(F[1:], len(V))
    assert edges.odd() == 3
    assert len(edges.open_half_edges()) == 3
    assert edges_of(F, len(V)).odd() == 0


def test_too_much_nesting_is_taken_for_nesting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where looking would take too long, a surface within another's box lies within it."""
    monkeypatch.setattr(sides, "MAX_WINDING_WORK", 0)
    vertices, faces = several((V, F[:, ::-1]), (0.5 * V, F))
    _, _, done = repair_mesh(vertices, faces)
    assert done.turned == 24


# ------------------------------------------------------------------------------------------ files


def write(path: Path, vertices: Array, faces: Any) -> Path:
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in vertices]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in np.asarray(faces).tolist()]
    path.write_text("\n".join(lines))
    return path


def test_load_says_once_what_it_did(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "part.obj", V, np.r_[turned(F, [3]), F[4:5]])
    shape = load(path)
    assert isinstance(shape, Mesh)
    assert shape.repairs == ("dropped 1 repeated face", "turned 1 face outwards")
    assert [(r.name, r.levelno) for r in caplog.records] == [("tangere", logging.WARNING)]
    words = "; ".join(shape.repairs)
    assert caplog.messages == [f"{path}: {words}"]


def test_repair_can_be_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "part.obj", V, turned(F, [3]))
    with pytest.raises(SceneError, match="inconsistent orientation"):
        load(path, repair=False)
    assert not caplog.records


def test_an_open_file_names_the_shell_that_would_do(tmp_path: Path) -> None:
    path = write(tmp_path / "sheet.obj", *sheet())
    with pytest.raises(SceneError, match=r"close it, or give shell=0\.01 to take it for a shell"):
        load(path)
    shape = load(path, shell=0.01)
    assert isinstance(shape, Mesh)
    area = trimesh.Trimesh(*sheet()).area
    assert shape.moments().volume == pytest.approx(0.01 * area, rel=1e-3)
    assert shape.source == (str(path.resolve()), 1.0, True, 0.01)


@pytest.mark.parametrize(
    ("size", "scale", "words"),
    [
        (40.0, 1.0, "40 m large: if the file is in millimetres, give scale=0.001"),
        (40.0, 0.001, ""),
        (0.04, 0.001, "4e-05 m large: if the file is in metres, leave scale out"),
        (0.04, 1.0, ""),
    ],
)
def test_units_that_look_wrong_are_pointed_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, size: float, scale: float, words: str
) -> None:
    load(write(tmp_path / "part.obj", size * V, F), scale=scale)
    assert words in caplog.text
    assert len(caplog.records) == bool(words)


def test_single_precision_far_off_the_origin_is_pointed_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    far = (V + 4096.0).astype(np.float32).astype(float)  # exact for these corners
    shape = load(write(tmp_path / "far.obj", far, F))
    assert shape.moments().volume == pytest.approx(1.0)
    assert "off its origin, where single precision has steps of 0.0005 m" in caplog.text
    caplog.clear()
    load(write(tmp_path / "precise.obj", V + 4096.1, F))
    assert not caplog.records
    with pytest.raises(SceneError, match="move it closer"):
        load(write(tmp_path / "gone.obj", V + 1e9, F))
