"""What the pages promise: their code runs and prints what they say, their links and names exist."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import runpy
import shlex
import sys
import tomllib
from pathlib import Path
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


def from_docs(name: str) -> Any:
    """A script of the docs folder as a module."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "docs"))


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


INCLUDED = re.compile(r"^```\{literalinclude\} (\S*examples/\S+\.py)$", re.MULTILINE)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if INCLUDED.search(page.read_text("utf-8"))], ids=page_id
)
def test_an_example_on_a_page_prints_what_the_page_says(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first `text` block of the page is what the example that it includes prints."""
    example = INCLUDED.search(page.read_text(encoding="utf-8"))
    assert example is not None
    runpy.run_path(str((page.parent / example[1]).resolve()), run_name="__main__")
    told = next(body for kind, body in fences(page) if kind == "text")
    assert capsys.readouterr().out == told


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


@pytest.mark.parametrize(
    "page",
    [
        "volume.md",
        "curved.md",
        "implicit.md",
        "haptics.md",
        "penalty.md",
        "signorini.md",
        "formation.md",
    ],
)
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


def test_the_readmes_table_is_what_is_stored() -> None:
    """Every row is a stored claim with its verdict, and names the command that prints it."""
    gallery = from_docs("build_gallery")
    text = README.read_text(encoding="utf-8")
    assert gallery.with_results(text) == text, "run `python docs/results.py --fill`"
    table = text.split(gallery.BEGIN)[1].split(gallery.END)[0]
    assert table.count("`tangere reproduce ") == len(gallery.HEADLINES)


@pytest.mark.slow
def test_stored_numbers_are_still_measured() -> None:
    """The stored numbers of two deterministic experiments, measured again unless they are stale."""
    from tangere.experiments.experiment import reproduce
    from tangere.experiments.registry import EXPERIMENTS

    results = from_docs("results")
    jobs = results.all_jobs()
    for name in ("spin-down", "falling-cube"):
        if jobs[name].stale():
            pytest.skip(f"{name} is stale: make results")
        experiment = EXPERIMENTS[name]
        for claim in reproduce(experiment, experiment.quick).claims:
            stored = results.look_up(f"reproduce {name}; {claim.id}")
            # stop times and errors are found between samples; rounding may move them a little
            assert stored == pytest.approx(claim.measured, rel=0.02, abs=1e-9), claim.id


def test_the_decision_on_layers_has_those_that_are_checked() -> None:
    text = (ROOT / "docs" / "decisions" / "0001-layers.md").read_text(encoding="utf-8")
    told = [layer.strip() for layer in text.split("```")[1].split("→")]
    contracts = pyproject()["tool"]["importlinter"]["contracts"]
    assert told == next(c["layers"] for c in contracts if c["id"] == "layers")


def test_the_decision_on_dependencies_has_every_library() -> None:
    text = (ROOT / "docs" / "decisions" / "0002-dependencies.md").read_text(encoding="utf-8")
    first = text.split("| --- | --- | --- | --- |\n")[1].split("\n\n")[0]
    told = [row.split("|")[1].strip() for row in first.splitlines() if row.startswith("| ")]
    needed = [re.split(r"[<>=]", each)[0] for each in pyproject()["project"]["dependencies"]]
    assert sorted(told) == sorted([*needed, "llvmlite"])  # which numba brings


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


# ---------------------------------------------------------------- figures from stored results


RESULTS = from_docs("results")
QUOTING = [page for page in RESULTS.PAGES if RESULTS.QUOTE.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", QUOTING, ids=page_id)
def test_a_page_quotes_what_is_stored(page: Path) -> None:
    wrong = [
        f"{where}: the page has {text}, stored is {figure}"
        for where, text, figure in RESULTS.quoted(page)
        if text != figure
    ]
    assert wrong == [], "run `python docs/results.py --fill`"


def test_the_page_on_performance_has_no_figure_of_its_own() -> None:
    """Times, ratios and sizes in its prose are quoted; settings such as steps in ms are not."""
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert re.findall(r"[\d.]+ (?:µs|times|MB)", RESULTS.QUOTE.sub("", text)) == []


@pytest.mark.parametrize("page", RESULTS.PAGES, ids=page_id)
def test_every_quoted_figure_is_closed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- from ") == len(RESULTS.QUOTE.findall(text))
    assert text.count("<!-- from ") == text.count("<!-- end -->")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with one experiment and one benchmark."""
    experiment = {
        "claims": [{"id": "drift", "measured": 0.6064}, {"id": "never", "measured": None}],
        "beside": [{"what": "creep", "who": "MuJoCo", "measured": 9.3e-4}],
        "seconds": 12.0,
    }
    rows = [{"engine": "tangere", "p50 [µs]": 21.7}, {"engine": "ODE", "p50 [µs]": 30.0}]
    benchmark = {"tables": [{"title": "tower, at rest", "rows": rows}], "seconds": 3.0}
    benchmark["stamp"] = {"others": 1.5}
    (tmp_path / "tower.json").write_text(json.dumps(experiment), encoding="utf-8")
    (tmp_path / "rest.json").write_text(json.dumps(benchmark), encoding="utf-8")
    for name in ("ROOT", "STORE", "BENCHMARKS"):
        monkeypatch.setattr(RESULTS, name, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("where", "figure"),
    [
        ("reproduce tower; drift", "0.606"),
        ("reproduce tower; drift as .1f", "0.6"),
        ("reproduce tower; creep; MuJoCo as .1e", "9.3e-04"),
        ("reproduce tower; seconds", "12"),
        ("bench rest; tower; engine=ODE; p50", "30"),
        ("bench rest; seconds", "3"),
        ("bench rest; others", "1.5"),
    ],
)
def test_a_stored_figure_is_found(store: Path, where: str, figure: str) -> None:
    page = store / "page.md"
    page.write_text(f"a <!-- from {where} -->7<!-- end --> b", encoding="utf-8")
    assert list(RESULTS.quoted(page)) == [(where, "7", figure)]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "where",
    [
        "reproduce tower; nosuch",
        "reproduce tower; never",
        "reproduce nosuch; drift",
        "bench rest; tower; p50=1; p50",
        "bench rest; tower; engine=ODE; p99",
        "measured by hand",
    ],
)
def test_a_figure_that_is_not_stored_is_an_error(where: str) -> None:
    with pytest.raises(LookupError, match=re.escape(where)):
        RESULTS.look_up(where)


def test_comments_do_not_make_a_result_stale_and_code_does(tmp_path: Path) -> None:
    texts = (
        '"""One."""\nx = 1  # a\n\n\ndef f():\n    """Two."""\n    return "#"\n',
        '"""Other."""\n# more\nx = 1\ndef f():\n    return "#"\n',
        '"""One."""\nx = 2  # a\n\n\ndef f():\n    """Two."""\n    return "#"\n',
    )
    codes = []
    for i, text in enumerate(texts):
        path = tmp_path / f"{i}.py"
        path.write_text(text, encoding="utf-8")
        codes.append(RESULTS._code(path))
    assert codes[0] == codes[1] != codes[2]


def test_a_result_is_stale_when_a_source_it_depends_on_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tangere"
    package.mkdir()
    for name, text in {
        "__init__": "",
        "study": "from tangere.law import K\n",
        "law": "K = 1\n",
        "page": "",
    }.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")

    monkeypatch.setattr(RESULTS, "PACKAGE", package)

    def job() -> Any:
        RESULTS._code.cache_clear()
        return RESULTS.Job("study", tmp_path / "study.json", "tangere.study", dict)

    job().write({"stamp": {"sources": job().sources()}})
    assert not job().stale()
    (package / "page.py").write_text("import os\n", encoding="utf-8")
    assert not job().stale()
    (package / "law.py").write_text("K = 2\n", encoding="utf-8")
    assert job().stale()


def test_measuring_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """One that fails does not stop the others; what is stored and up to date is not made again."""
    made: list[str] = []

    def job(name: str, *, fails: bool = False, lacks: str = "") -> Any:
        def measure() -> dict[str, Any]:
            made.append(name)
            if fails:
                raise ValueError(name)
            return {"seconds": 1.0}

        path, module = tmp_path / f"{name}.json", "tangere.maths.vec"
        return RESULTS.Job(name, path, module, measure, lambda: lacks)

    jobs = {"a": job("a"), "b": job("b", fails=True), "c": job("c"), "d": job("d", lacks="a file")}
    assert RESULTS._measure(jobs, again=False) == ["b"]
    assert made == ["a", "b", "c"]
    stamp = jobs["c"].read()["stamp"]
    assert stamp["sources"] == jobs["c"].sources()
    assert {"commit", "changed", "date", "others", "machine"} <= set(stamp)
    made.clear()
    RESULTS._measure(jobs, again=False)
    assert made == ["b"]
    made.clear()
    RESULTS._measure({"a": jobs["a"]}, again=True)
    assert made == ["a"]


def test_a_result_depends_on_what_its_experiment_runs() -> None:
    physics = {"tangere.implicit.newton", "tangere.collision.clip", "tangere.maths.vec"}
    spin = RESULTS.closure("tangere.experiments.spin_down")
    assert physics | {"tangere.experiments.peers", "tangere.simulation"} <= spin
    assert not {name for name in spin if name.startswith(("tangere.viewer", "tangere.session"))}
    hands = RESULTS.closure("tangere.experiments.hasegawa2004_two_hands")
    assert physics | {"tangere.session.session", "tangere.haptics.tick"} <= hands


def test_a_stale_result_is_marked_on_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    gallery = from_docs("build_gallery")
    job = RESULTS.all_jobs()["spin-down"]
    monkeypatch.setattr(RESULTS.Job, "stale", lambda self: False)
    assert "{warning}" not in gallery.gallery_page([job])
    monkeypatch.setattr(RESULTS.Job, "stale", lambda self: True)
    assert "Older than the sources" in gallery.gallery_page([job])


def test_a_calibrated_value_is_shown_as_such_in_gallery_and_readme() -> None:
    gallery = from_docs("build_gallery")
    page = gallery.gallery_page([RESULTS.all_jobs()["free-spoon"]])
    row = next(line for line in page.splitlines() if "100 g lag by 17 mm" in line)
    assert "*Calibrated: the hand" in row
    assert "≈" in row
    assert "✓" not in row
    row = next(line for line in gallery.results_table().splitlines() if "lags by" in line)
    assert "≈ calibrated: the hand" in row
    assert "✓" not in row


def test_a_page_that_quotes_a_stale_result_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    gallery = from_docs("build_gallery")
    page = "# Title\n\nA <!-- from reproduce spin-down; square-torque -->225<!-- end --> of it.\n"
    monkeypatch.setattr(RESULTS.Job, "stale", lambda self: False)
    assert gallery.with_stale_note(page) == page
    monkeypatch.setattr(RESULTS.Job, "stale", lambda self: True)
    assert gallery.with_stale_note(page).startswith("# Title\n\n:::{warning}\nFigures of `tangere ")
    assert gallery.with_stale_note("# Title\n\nNone.\n") == "# Title\n\nNone.\n"


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
