"""What is shipped: one version, pinned tools, a wheel with everything inside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements" / "dev.lock").read_text(encoding="utf-8").splitlines()


def normal(requirement: str) -> str:
    """Name of a requirement, as package indexes compare it."""
    name = re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def test_lock_holds_names_and_exact_versions_only() -> None:
    pins = [line for line in LOCK if not line.startswith("#")]
    assert pins
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.+!-]+", pin)] == []


def test_lock_pins_every_requirement() -> None:
    pinned = {normal(line) for line in LOCK if not line.startswith("#")}
    wanted = {normal(name) for name in PROJECT["project"]["dependencies"]}
    wanted |= {normal(name) for name in PROJECT["build-system"]["requires"]}
    for group in PROJECT["dependency-groups"].values():
        wanted |= {normal(entry) for entry in group if isinstance(entry, str)}
    assert wanted <= pinned


def test_installed_version_is_the_declared_one() -> None:
    assert metadata.version("tangere") == PROJECT["project"]["version"]


def test_wheel_holds_every_source_and_the_licence(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*.py")}
    assert {path.as_posix() for path in sources} <= names
    assert "tangere/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_checks_run_lint_and_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    text = script.read_text(encoding="utf-8")
    assert "set -euo pipefail" in text
    assert "make lint" in text
    assert "make test" in text


def test_every_make_target_that_is_told_of_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    pages = [ROOT / "README.md", ROOT / "pyproject.toml", *(ROOT / "docs").rglob("*.md")]
    told = {
        (page.name, target)
        for page in pages
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE)
    }
    assert ("README.md", "test-all") in told
    assert {target for _, target in told} <= targets, told
