"""What a fresh process does: stale machine code never runs, and the import stays light."""

from __future__ import annotations

import os
import re
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


def test_a_called_kernel_is_kept_for_callers_to_come_without_machine_code(
    copy: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"

    def kept() -> list[str]:
        names = (path.name for path in cache.rglob("*.nbc"))
        return sorted(re.sub(r"-\d+\.py.*", "", name) for name in names)

    assert run_copy(copy, cache) == (6.0, 0)
    assert kept() == ["caller.twice_scaled", "inner-callee.scaled"]
    caller = copy / "collision" / "caller.py"
    caller.write_text(CALLER.replace("2.0 *", "4.0 *"))
    told = python(
        f"import sys; sys.path.insert(0, {str(copy.parent)!r})\n"
        "from numba.core import event\n"
        "from tangere.collision.caller import twice_scaled\n"
        "from tangere.collision.callee import scaled\n"
        "with event.install_recorder('numba:compile') as seen: first = twice_scaled(1.0)\n"
        "print(first, *(e.data['dispatcher'].py_func.__name__ for _, e in seen.buffer))\n"
        "print(scaled(1.0))  # and from Python",
        TANGERE_CACHE_DIR=str(cache),
        NUMBA_DISABLE_JIT="0",
    ).stdout.split()
    assert told == ["12.0", "twice_scaled", "twice_scaled", "3.0"], "begin and end of one compile"
    assert "callee.scaled" in kept(), "machine code is made when the interpreter calls"


def test_only_modules_that_can_notice_an_edit_change_their_hash(copy: Path) -> None:
    def hashes() -> dict[str, str]:
        sources = _jit.Sources(copy)
        names = ("maths.vec", "collision.callee", "collision.caller", "step")
        return {name: sources.hash(f"tangere.{name}") for name in names}

    before = hashes()
    (copy / "collision" / "callee.py").write_text(CALLEE.replace("3.0", "5.0"))
    after = hashes()
    assert {name for name in before if before[name] != after[name]} == {
        "collision.callee",
        "collision.caller",
    }


def test_hash_follows_imports_in_every_form(tmp_path: Path) -> None:
    package = tmp_path / "tangere"
    (package / "sub").mkdir(parents=True)
    for name in ("a", "b", "c", "d", "sub/e", "sub/__init__"):
        (package / f"{name}.py").write_text("")
    (package / "top.py").write_text(
        "from tangere.a import x\nimport tangere.b\nfrom tangere.sub import (\n    e,\n)\n"
        "def f():\n    from tangere import c\n"
    )
    found = _jit.Sources(package).closure("tangere.top")
    wanted = {"top", "a", "b", "c", "sub", "sub.e"}
    assert found == {"tangere"} | {f"tangere.{name}" for name in wanted}


def test_old_versions_are_pruned_and_the_newest_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "tangere.maths.vec"
    for age in range(2 * _jit.KEPT_VERSIONS):
        old = tmp_path / f"{module}-{age}"
        old.mkdir()
        os.utime(old, (1e9 - age, 1e9 - age))
    (tmp_path / "tangere.maths.quat-0").mkdir()
    monkeypatch.setattr(_jit, "_kernel_root", lambda: tmp_path)
    folder = _jit.kernel_folder.__wrapped__(module)
    assert folder is not None
    kept = {f"{module}-{age}" for age in range(_jit.KEPT_VERSIONS - 1)}
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {folder.name, "tangere.maths.quat-0"} | kept


def test_a_cache_that_cannot_be_written_costs_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(blocked))
    assert _jit._kernel_root.__wrapped__() is None
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


def test_kernels_with_and_without_a_clock_do_not_mix() -> None:
    """They have the same sources: machine code of one kind must not be run by the other."""
    code = "from tangere._jit import kernel_folder; print(kernel_folder('tangere._clock'))"
    folders = {python(code, NUMBA_DISABLE_JIT="0", TANGERE_PORTABLE=asked).stdout for asked in "01"}
    assert len(folders) == 2


def test_other_packages_keep_their_cache_folder() -> None:
    done = python(
        "import numba; before = numba.config.CACHE_DIR\n"
        "import tangere.maths.vec\n"
        "print(numba.config.CACHE_DIR == before)"
    )
    assert done.stdout.strip() == "True"


def test_import_is_light() -> None:
    heavy = ["numba", "scipy", "matplotlib", "viser", "trimesh", "coacd", "rich", "typer"]
    done = python(f"import sys, tangere; print([m for m in {heavy} if m in sys.modules])")
    assert done.stdout.strip() == "[]"


@pytest.mark.nojit
def test_warm_up_runs_every_job_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    given = {"a": lambda: ran.append("a"), "b": lambda: ran.append("b")}
    monkeypatch.setattr(warmup, "jobs", lambda: given)
    assert warmup.warm_up() >= 0.0
    assert warmup.warm_up(["b"]) >= 0.0
    assert ran == ["a", "b", "b"]


@pytest.mark.nojit
def test_jobs_apart_make_no_implicit_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest to compile is left to the other process."""

    def no_step(*_: object) -> None:
        raise AssertionError("an implicit step was made")

    monkeypatch.setattr("tangere.steppers.rigid.ImplicitStepper.advance", no_step)
    assert set(warmup.APART) < set(warmup.jobs())
    assert warmup.warm_up(warmup.APART) >= 0.0
