"""Mesh files that others made: all that are closed load, the others in one line or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
import trimesh
from public_meshes import (
    CLOSED,
    PAGE,
    REFUSED,
    REPAIRED,
    every_file,
    folder,
    outcome,
    silence,
    with_table,
)

from tangere.errors import SceneError
from tangere.geometry.files import load
from tangere.geometry.shapes import Mesh

ROOT = folder()
pytestmark = pytest.mark.skipif(ROOT is None, reason="pybullet_data is not installed")
FEW = 6  # of each kind in a short run


@pytest.mark.parametrize("name", CLOSED[:FEW])
def test_closed_files_load_as_they_are(name: str) -> None:
    assert ROOT is not None
    seen = outcome(ROOT, name)
    assert seen.triangles > 0
    assert seen.words == ""


@pytest.mark.parametrize("name", REPAIRED[:FEW])
def test_others_are_repaired(name: str) -> None:
    assert ROOT is not None
    seen = outcome(ROOT, name)
    assert seen.triangles > 0
    assert seen.words


@pytest.mark.parametrize("name", REFUSED[:3])
def test_open_files_are_refused_in_one_line_and_load_as_shells(name: str) -> None:
    assert ROOT is not None
    with pytest.raises(SceneError) as caught:
        load(ROOT / name)
    assert str(caught.value).isprintable()
    with silence():
        shape = load(ROOT / name, shell=0.01)
    assert shape.moments().volume > 0.0


def test_the_table_of_the_page_is_what_happens() -> None:
    assert ROOT is not None
    text = PAGE.read_text("utf-8")
    assert with_table(text, ROOT) == text, "run `python tests/public_meshes.py`"


def is_closed(path: Path) -> bool:
    """What another library calls closed, once equal vertices are joined."""
    mesh = trimesh.load_scene(path, skip_materials=True).to_mesh()
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    return bool(mesh.is_watertight)


@pytest.mark.slow
@pytest.mark.compiled
def test_every_closed_file_loads_and_no_other_stops_us() -> None:
    assert ROOT is not None
    refused: list[str] = []
    lost: list[str] = []
    files = every_file(ROOT)
    assert len(files) == 1203  # as the page says
    for path in files:
        try:
            with silence():
                shape = load(path)
            assert isinstance(shape, Mesh)
            assert shape.moments().volume > 0.0
        except SceneError as error:
            refused.append(str(error))
            if is_closed(path):
                lost.append(str(error))
            elif "must be finite" not in str(error):
                with silence():
                    load(path, shell=0.01)
    assert lost == []
    assert len(refused) == 23
    assert all(reason.isprintable() for reason in refused)
