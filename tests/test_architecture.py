"""The rules of the source tree, executable: who imports whom, how big, how named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

# Past this a module is usually two ideas.
MAX_LINES = 700
# Names that say nothing about what is inside.
EMPTY_NAMES = {"common", "core", "helpers", "kernels", "misc", "utils"}


def test_layers_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_module_is_one_idea_with_a_name(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert source.stem not in EMPTY_NAMES
    assert not {"TODO", "FIXME", "NotImplementedError"} & set(text.replace("(", " ").split())
