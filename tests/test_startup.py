"""What a fresh process does: stale machine code never runs, and the import stays light."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tangere import _jit, warmup

# A kernel of one file that calls a kernel of another, in a copy of the package.
CALLEE = """
from tangere._jit import kernel

FACTOR = 3.0

@kernel
def scaled(x: float) -> float:
    return FACTOR * x
"""
CALLER = """
from tangere._jit import kernel
from tangere.collision.callee import scaled

@kernel
def twice_scaled(x: float) -> float:
    return 2.0 * scaled(x)
"""


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter runs the code; its exit status must be 0."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package with a caller and a callee in two files."""
    package = tmp_path / "src" / "tangere"
    shutil.copytree(_jit.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "collision" / "callee.py").write_text(CALLEE)
    (package / "collision" / "caller.py").write_text(CALLER)
    return package


def run_copy(package: Path, cache: Path) -> tuple[float, int]:
    """Result of the caller for 1, and how many of its versions came from the cache."""
    code = (
        f"import sys; sys.path.insert(0, {str(package.parent)!r})\n"
        "from tangere.collision import caller\n"
        f"assert caller.__file__.startswith({str(package)!r})\n"
        "print(caller.twice_scaled(1.0), sum(caller.twice_scaled.stats.cache_hits.values()))"
    )
    answer = python(code, TANGERE_CACHE_DIR=str(cache), NUMBA_DISABLE_JIT="0").stdout.split()
    return float(answer[0]), int(answer[1])


def test_an_edited_callee_in_another_file_is_compiled_anew(copy: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert run_copy(copy, cache) == (6.0, 0)
    assert run_copy(copy, cache) == (6.0, 1), "an unchanged source must come from the cache"
    callee = copy / "collision" / "callee.py"
    callee.write_text(CALLEE.replace("FACTOR * x", "FACTOR + x"))
    assert run_copy(copy, cache) == (8.0, 0)
    callee.write_text(CALLEE.replace("3.0", "5.0"))
    assert run_copy(copy, cache) == (10.0, 0), "a constant is part of the machine code"


def test_editing_a_scene_does_not_change_the_hash(copy: Path) -> None:
    before = _jit.source_hash(copy)
    (copy / "scene" / "another.py").write_text("x = 1\n")
    assert _jit.source_hash(copy) == before
    (copy / "maths" / "another.py").write_text("x = 1\n")
    assert _jit.source_hash(copy) != before


def test_old_builds_are_pruned_and_the_newest_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = tmp_path / "kernels"
    for age in range(2 * _jit.KEPT_FOLDERS):
        old = builds / f"build{age}"
        old.mkdir(parents=True)
        os.utime(old, (1e9 - age, 1e9 - age))
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(tmp_path))
    folder = _jit.kernel_folder.__wrapped__()
    assert folder is not None
    left = {path.name for path in builds.iterdir()}
    assert left == {folder.name} | {f"build{age}" for age in range(_jit.KEPT_FOLDERS - 1)}


def test_a_cache_that_cannot_be_written_costs_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(blocked))
    assert _jit.kernel_folder.__wrapped__() is None
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 1
    assert "TANGERE_CACHE_DIR" in told


def test_kernels_still_run_without_a_cache(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = python(
        "from tangere.maths.vec import dot; print(dot((1.0, 2.0, 3.0), (1.0, 2.0, 3.0)))",
        TANGERE_CACHE_DIR=str(blocked),
        NUMBA_DISABLE_JIT="0",
    )
    assert float(done.stdout) == 14.0


def test_a_cold_start_says_what_it_does_and_a_warm_one_nothing(tmp_path: Path) -> None:
    code = "from tangere.maths.vec import dot; dot((1.0, 2.0, 3.0), (1.0, 2.0, 3.0))"
    environment = {"TANGERE_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    assert "compiling kernels" in python(code, **environment).stderr
    assert python(code, **environment).stderr == ""


def test_other_packages_keep_their_cache_folder() -> None:
    python(
        "import numba; before = numba.config.CACHE_DIR\n"
        "import tangere.maths.vec\n"
        "assert numba.config.CACHE_DIR == before"
    )


def test_import_is_light() -> None:
    heavy = ["numba", "scipy", "matplotlib", "viser", "trimesh", "coacd", "rich", "typer"]
    done = python(f"import sys, tangere; print([m for m in {heavy} if m in sys.modules])")
    assert done.stdout.strip() == "[]"


@pytest.mark.nojit
def test_warm_up_runs_every_job_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    given = (("a", lambda: ran.append("a")), ("b", lambda: ran.append("b")))
    monkeypatch.setattr(warmup, "jobs", lambda: given)
    assert warmup.warm_up() >= 0.0
    assert ran == ["a", "b"]
