"""Meshes made ready for contact: what is reported, kept and found again, and what is refused."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import tangere as tg
from tangere import cli
from tangere.collision import distance_field as field
from tangere.contact.penalty.engines import solid
from tangere.contact.penalty.options import Penalty
from tangere.errors import SceneError
from tangere.geometry.files import load
from tangere.prepare import Report, prepare
from tangere.scene.utensils import cup


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(tmp_path / "cache"))


def written(shape: tg.Shape, file: Path, scale: float = 1.0) -> Path:
    """A shape's surface as a mesh file."""
    vertices, faces = shape.surface()
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in (scale * vertices).tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
    file.write_text("\n".join(lines))
    return file


@pytest.fixture
def block(tmp_path: Path) -> Path:
    """A box of 100 × 60 × 40 mm, in millimetres."""
    return written(tg.Box((0.1, 0.06, 0.04)), tmp_path / "block.obj", 1e3)


def quick(file: Path) -> Report:
    return prepare(file, scale=1e-3, spacing=0.01, samples=100)


@pytest.mark.nojit
def test_the_report_says_what_the_mesh_is_and_where_things_are(block: Path) -> None:
    report = quick(block)
    assert report.triangles == 12
    assert report.size == pytest.approx((0.1, 0.06, 0.04))
    assert report.volume == pytest.approx(0.1 * 0.06 * 0.04)
    assert report.parts == 1
    assert report.repairs == ()
    assert [stage.name for stage in report.stages] == ["mesh", "distance field", "points"]
    assert not any(stage.stored for stage in report.stages)
    assert len(report.files) == 3
    assert all(path.parent == report.folder for path in report.files)
    assert report.folder_size == sum(path.stat().st_size for path in report.files)
    assert "10 mm apart" in report.stages[1].found


@pytest.mark.nojit
def test_what_is_prepared_is_found_by_the_penalty_method(
    block: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = quick(block)
    assert [stage.stored for stage in quick(block).stages] == [False, True, True]
    monkeypatch.setattr(field, "build", lambda *_: pytest.fail("built again"))
    made = solid(load(block, scale=1e-3), spacing=0.01, tolerance=Penalty.tolerance, samples=100)
    assert f"{len(made.samples.points):,}, " in first.stages[2].found


@pytest.mark.nojit
def test_progress_goes_from_nothing_to_all(block: Path) -> None:
    told: list[tuple[float, str]] = []
    prepare(
        block, scale=1e-3, spacing=0.01, samples=100,
        tell=lambda done, doing: told.append((done, doing)),
    )  # fmt: skip
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert {"loading", "distances near the surface", "tree of the points"} <= {
        doing for _, doing in told
    }


def test_levels_are_made_when_asked_for_and_kept(tmp_path: Path) -> None:
    file = written(tg.Cylinder(0.05, 0.1), tmp_path / "can.obj")
    first, again = (prepare(file, levels=True).stages[-1] for _ in range(2))
    assert first.name == "contact levels"
    assert "convex pieces" in first.found
    assert again.stored


def test_pieces_are_made_when_asked_for(tmp_path: Path) -> None:
    report = prepare(written(tg.Box((0.1, 0.1, 0.1)), tmp_path / "box.obj"), pieces=True)
    assert [stage.name for stage in report.stages][-1] == "convex pieces"
    assert report.stages[-1].found == "1"


def test_overlapping_parts_are_counted(tmp_path: Path) -> None:
    report = prepare(written(cup(), tmp_path / "cup.obj"), spacing=2e-3)
    assert report.parts == 2
    assert np.prod(report.size) > report.volume > 0.0


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spacing": 1e-6}, r"block\.obj: a field of spacing 1e-06 m .* give a spacing of"),
        ({"spacing": -1.0}, r"^spacing: "),
        ({"samples": 3}, r"^samples: .* from 16 to 1000000"),
        ({"tolerance": -1e-3}, r"^tolerance: "),
    ],
)
def test_numbers_out_of_range_are_refused_before_anything_is_built(
    block: Path, options: dict[str, float], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(field, "build", lambda *_: pytest.fail("built"))
    with pytest.raises(SceneError, match=words) as caught:
        prepare(block, scale=1e-3, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.nojit
def test_a_sheet_is_taken_for_a_shell_when_asked_for(tmp_path: Path) -> None:
    """A single square, 10 mm thick."""
    file = tmp_path / "sheet.obj"
    file.write_text("v 0 0 0\nv .1 0 0\nv .1 .1 0\nv 0 .1 0\nf 1 2 3\nf 1 3 4\n")
    with pytest.raises(SceneError, match=r"sheet\.obj: "):
        prepare(file)
    assert prepare(file, shell=0.01, spacing=0.005, samples=100).volume == pytest.approx(1e-4)


@pytest.mark.nojit
def test_repairs_are_reported(block: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One triangle is turned over."""
    lines = block.read_text().splitlines()
    a, b, c = lines[-1].split()[1:]
    block.write_text("\n".join([*lines[:-1], f"f {a} {c} {b}"]))
    report = quick(block)
    assert len(report.repairs) == 1
    with pytest.raises(SystemExit):
        cli.main(["prepare", str(block), "--scale", "0.001", "--spacing", "0.01"])
    assert f"repair: {report.repairs[0]}" in capsys.readouterr().out


@pytest.mark.nojit
def test_an_open_mesh_is_refused(tmp_path: Path) -> None:
    file = written(tg.Box((0.1, 0.1, 0.1)), tmp_path / "lid.obj")
    file.write_text(file.read_text().rsplit("\n", 3)[0])
    with pytest.raises(SceneError, match=r"lid\.obj: .*"):
        prepare(file)


@pytest.mark.nojit
def test_the_command_has_the_defaults_of_the_method() -> None:
    told = inspect.signature(cli.prepare).parameters
    assert told["samples"].default == Penalty.samples
    assert told["tolerance"].default == Penalty.tolerance


@pytest.mark.nojit
def test_the_command_prints_the_report(block: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["prepare", str(block), "--scale", "0.001", "--spacing", "0.01"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert "12 triangles, 100 × 60 × 40 mm, 1 closed surface, faces outwards, 240 cm³" in out
    assert "repair: not needed" in out
    assert "distance field" in out
    assert "of this mesh" in out
    with pytest.raises(SystemExit) as stop:
        cli.main(["prepare", str(block.with_name("missing.obj"))])
    err = capsys.readouterr().err
    assert stop.value.code == cli.WRONG_INPUT
    assert len(err.strip().splitlines()) == 1
