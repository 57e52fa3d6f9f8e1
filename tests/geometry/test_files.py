from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import trimesh

from tangere.errors import SceneError
from tangere.geometry.files import load
from tangere.geometry.shapes import Convex, Mesh

# Text formats keep eight digits, binary ones single precision.
STORED_DIGITS = 1e-6


@pytest.mark.parametrize("ending", ["obj", "stl", "ply", "off", "glb"])
def test_every_format_gives_the_same_solid(tmp_path: Path, ending: str) -> None:
    solid = trimesh.creation.annulus(0.05, 0.1, 0.05)
    path = tmp_path / f"ring.{ending}"
    solid.export(path)
    shape = load(path)
    assert isinstance(shape, Mesh)
    assert len(shape.vertices) == len(solid.vertices)
    assert shape.moments().volume == pytest.approx(solid.volume, rel=STORED_DIGITS)
    assert shape.source == (str(path.resolve()), 1.0, True, None)
    assert shape.repairs == ()


def test_scale_turns_millimetres_to_metres(tmp_path: Path) -> None:
    trimesh.creation.box((100.0, 200.0, 300.0)).export(tmp_path / "box.stl")
    shape = load(tmp_path / "box.stl", scale=0.001)
    assert shape.moments().volume == pytest.approx(0.1 * 0.2 * 0.3, rel=STORED_DIGITS)
    assert len(shape.parts()[0].planes) == 6


def test_texture_seams_do_not_open_a_mesh(tmp_path: Path) -> None:
    box = trimesh.creation.box()
    corners = box.vertices[box.faces].reshape(-1, 3)  # every triangle has its own three vertices
    lines = [f"v {x} {y} {z}" for x, y, z in corners]
    lines += [f"f {i} {i + 1} {i + 2}" for i in range(1, len(corners), 3)]
    lines.append("f 1 1 2")  # a collapsed triangle, as exporters leave behind
    (tmp_path / "seams.obj").write_text("\n".join(lines))
    shape = load(tmp_path / "seams.obj")
    assert len(shape.vertices) == 8
    assert shape.moments().volume == pytest.approx(1.0)


def test_point_cloud_becomes_its_hull(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(40, 3))
    trimesh.PointCloud(points).export(tmp_path / "cloud.ply")
    shape = load(tmp_path / "cloud.ply")
    assert isinstance(shape, Convex)
    assert shape.moments().volume == pytest.approx(Convex(points).moments().volume, rel=1e-5)


BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty.obj": (b"", "no triangles"),
    "empty.stl": (b"", ""),
    "text.stl": (b"solid nothing", "no triangles"),
    "noise.stl": (bytes(range(256)) * 3, ""),
    "noise.glb": (bytes(range(256)), "not a readable .glb"),
    "header.ply": (b"ply\nformat ascii 1.0\n", "not a readable .ply"),
    "index.obj": (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "not a readable .obj"),
    "triangle.off": (b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "at least 4"),
    "scene.txt": (b"hello", "unknown mesh format '.txt'"),
    "none": (b"hello", "unknown mesh format ''"),
    "nan.obj": (
        b"v nan 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n",
        "finite",
    ),
    "sheet.obj": (
        b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv 2 0 0\nv 2 1 0\n"
        b"f 1 2 3\nf 2 4 3\nf 2 5 4\nf 5 6 4\n",
        "open surface, 6 edges with a face on one side only",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_broken_files_are_named_in_one_line(tmp_path: Path, name: str) -> None:
    content, text = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SceneError) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_odd_files_load_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = trimesh.creation.box().export(file_type="stl_ascii")
    (tmp_path / "box.stl").write_text(text.replace("facet normal 0", "facet normal x", 1))
    assert load(tmp_path / "box.stl").moments().volume == pytest.approx(1.0)
    assert not caplog.records


@pytest.mark.compiled
def test_mutated_mesh_files_give_a_solid_or_one_line(tmp_path: Path) -> None:
    box, rng = trimesh.creation.box(), random.Random(11)
    sources = {ending: tmp_path / f"box.{ending}" for ending in ("obj", "stl", "ply", "off", "glb")}
    for path in sources.values():
        box.export(path)
    refused = 0
    for i in range(1000):
        ending = rng.choice(sorted(sources))
        data = bytearray(sources[ending].read_bytes())
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(len(data))
            new = rng.choice((b"9" * 8, b"nan", b"\0", b" ", b"\n", b"1e300", b"-1", b"", b"\xff"))
            data[at : at + rng.choice((0, 1, 1, 20))] = new
        path = tmp_path / f"{i}.{ending}"
        path.write_bytes(data)
        try:
            assert load(path).moments().volume > 0.0
        except SceneError as error:
            refused += 1
            message = str(error)
            assert message.startswith(str(path)), data
            assert message.isprintable(), data
        path.unlink()
    assert 100 < refused < 1000


def test_missing_file_folder_and_strange_paths(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"nowhere.obj: no such mesh file"):
        load(tmp_path / "nowhere.obj")
    with pytest.raises(SceneError, match="not a regular file"):
        load(tmp_path)
    with pytest.raises(SceneError, match="cannot read"):
        load("a\0b.obj")
    with pytest.raises(SceneError, match="cannot read"):
        load(7)  # type: ignore[arg-type]
    trimesh.creation.box().export(tmp_path / "box.stl")
    with pytest.raises(SceneError, match="scale: must be positive"):
        load(tmp_path / "box.stl", scale=0.0)


def test_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.stl"
    with path.open("wb") as file:
        file.truncate(1_500_000_000)  # sparse: takes no room on disk
    with pytest.raises(SceneError, match="1500 MB, at most 1200 MB"):
        load(path)
