"""What the pages promise: their code runs and prints what they say, their links and names exist."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if not {"_build", "_generated"} & set(page.parts)]

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*src=\"([^\"]+)\"")
# A function, class or constant of the package, by its path below `tangere`.
NAME = re.compile(r"`((?:[a-z_]+\.)+[A-Za-z_][A-Za-z_0-9]*)`")
COMMAND = re.compile(r"\btangere ([a-z]+)\b((?: --?[a-z-]+)*)")


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def fences(page: Path) -> list[tuple[str, str]]:
    """Language and content of every fenced block of a page, in order."""
    return [(m[1], m[2]) for m in FENCE.finditer(page.read_text(encoding="utf-8"))]


WITH_CODE = [page for page in PAGES if any(kind == "python" for kind, _ in fences(page))]


@pytest.mark.parametrize("page", WITH_CODE, ids=page_id)
def test_code_runs_and_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Python blocks of a page run in turn; a `text` block after one is what it prints."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    blocks = fences(page)
    for i, (kind, code) in enumerate(blocks):
        if kind != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{page_id(page)}, block {i}", "exec"), names)
        if i + 1 < len(blocks) and blocks[i + 1][0] == "text":
            assert printed.getvalue() == blocks[i + 1][1], f"block {i}:\n{code}"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_to_files_resolve(page: Path) -> None:
    missing = []
    for found in LINK.finditer(page.read_text(encoding="utf-8")):
        target = (found[1] or found[2]).split("#")[0]
        if target and "://" not in target and not (page.parent / target).exists():
            missing.append(target)
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_names_of_the_package_exist(page: Path) -> None:
    """Dotted names such as `contact.volume.law.contact_wrench` lead to something."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    missing = [name for name in NAME.findall(text) if ours(name) and not exists(name)]
    assert missing == []


def ours(name: str) -> bool:
    """Whether a dotted name speaks of the package: its first word is one of its modules."""
    first = name.partition(".")[0]
    source = ROOT / "src" / "tangere"
    return (source / first).is_dir() or (source / f"{first}.py").exists()


def exists(name: str) -> bool:
    words = name.split(".")
    thing: Any = None
    for n in range(len(words), 0, -1):
        try:
            thing = importlib.import_module("tangere." + ".".join(words[:n]))
        except ModuleNotFoundError:
            continue
        for word in words[n:]:
            thing = getattr(thing, word, None)
        break
    return thing is not None


@pytest.mark.parametrize("page", ["volume.md", "implicit.md", "haptics.md", "penalty.md"])
def test_equation_table_names_functions(page: str) -> None:
    """Every row of the table from equation to function names at least one."""
    text = (ROOT / "docs" / "methods" / page).read_text(encoding="utf-8")
    table = text.split("<!-- equation table -->")[1].split("\n\n")[0]
    rows = [row for row in table.strip().splitlines()[2:] if row.startswith("|")]
    assert len(rows) >= 15
    assert [row for row in rows if not NAME.findall(row)] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_exist(page: Path) -> None:
    """Every `tangere VERB` with its options is one that the command line knows."""
    import typer

    from tangere.cli import app

    group: Any = typer.main.get_command(app)
    text = page.read_text(encoding="utf-8")
    told = re.findall(r"`(tangere [^`]*)`", text)
    told += [body for kind, body in fences(page) if kind == "bash"]
    for verb, options in COMMAND.findall("\n".join(told)):
        assert verb in group.commands, f"tangere {verb}"
        known = {name for p in group.commands[verb].params for name in p.opts}
        assert set(shlex.split(options)) <= known | {"--debug", "--help"}


def test_readme_shows_the_two_commands() -> None:
    text = README.read_text(encoding="utf-8")
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in text
        assert re.search(rf"^{target}:", rules, re.MULTILINE)


def test_readme_code_is_short() -> None:
    """Ten lines that run, not a tour."""
    code = next(body for kind, body in fences(README) if kind == "python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 14


def test_headlines_are_claims_of_the_experiments() -> None:
    """Every row of the README's table is a claim and names the command that prints it."""
    from tangere.experiments.registry import EXPERIMENTS

    gallery = build_gallery()
    text = README.read_text(encoding="utf-8")
    table = text.split(gallery.BEGIN)[1].split(gallery.END)[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(gallery.HEADLINES)
    for (experiment, _, words), row in zip(gallery.HEADLINES, rows, strict=True):
        assert experiment in EXPERIMENTS
        assert words in row
        assert f"`tangere reproduce {experiment}`" in row


@pytest.mark.slow
def test_headline_numbers_are_still_measured() -> None:
    """The README's numbers of the deterministic experiments, measured again."""
    from tangere.experiments.experiment import reproduce
    from tangere.experiments.registry import EXPERIMENTS

    gallery = build_gallery()
    page = README.read_text(encoding="utf-8")
    table = page.split(gallery.BEGIN)[1].split(gallery.END)[0]
    for name in ("spin-down", "falling-cube"):
        experiment = EXPERIMENTS[name]
        claims = {c.id: c for c in reproduce(experiment, experiment.quick).claims}
        for _, key, words in [line for line in gallery.HEADLINES if line[0] == name]:
            row = next(line for line in table.splitlines() if words in line)
            measured = claims[key].measured
            assert measured is not None
            assert float(row.split("|")[3].split()[0]) == pytest.approx(measured, rel=0.02)


def build_gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "build_gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_fence_that_opens_is_closed(page: Path) -> None:
    opened = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if opened and not line.lstrip("`").strip() and ticks == opened:
            opened = ""
        elif len(ticks) >= 3:
            assert not opened or len(ticks) < len(opened), f"{page.name}: not closed before {line}"
            opened = opened or ticks
    assert not opened, f"{page.name}: not closed at the end"
