"""Results of experiments and benchmarks, stored in the repository; the pages quote these alone.

    python docs/results.py                   measure what is missing or stale, then fill the pages
    python docs/results.py spin-down bench/heap      only these
    python docs/results.py --again           measure even what is up to date
    python docs/results.py --list            what is stored, how old, how long it took
    python docs/results.py --fill            write stored figures into the pages, measure nothing

An experiment lies in `docs/results` with its figures, a benchmark in `benchmarks/results`. Each is
written as soon as it is done, so that an interrupted run goes on where it stopped, and carries a
stamp: commit, date, machine, how busy the machine was with other work, and a hash of the sources
that it depends on. A result whose sources have changed since is stale, and the pages say so.

How a page quotes a figure is told in `docs/results/README.md`; a test fails when a page has another
figure than the result.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import datetime
import functools
import hashlib
import io
import json
import math
import os
import re
import subprocess
import sys
import time
import tokenize
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PACKAGE = ROOT / "src" / "tangere"
STORE = DOCS / "results"
BENCHMARKS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
PAGES = [page for page in PAGES if not {"_build", "_generated"} & set(page.parts)]

QUOTE = re.compile(r"<!-- from (.+?) -->(.*?)<!-- end -->")
FORMAT = ".3g"
COLOURS = 96  # of a stored figure: enough for lines and flat shades


def main() -> int:
    """Measure what the command line asks for; 1 when something could not be measured."""
    parser = argparse.ArgumentParser(description="Measure and store what the pages quote.")
    parser.add_argument("names", nargs="*", help="such as spin-down, bench/heap, drawings")
    parser.add_argument("--again", action="store_true", help="also what is up to date")
    parser.add_argument("--list", action="store_true", help="tell what is stored; measure nothing")
    parser.add_argument("--fill", action="store_true", help="fill the pages; measure nothing")
    given = parser.parse_args()
    jobs = all_jobs()
    for name in given.names:
        if name not in jobs:
            parser.error(f"no result named {name!r}; there are {', '.join(jobs)}")
    chosen = {name: jobs[name] for name in given.names or jobs}
    if given.list:
        for job in chosen.values():
            _say(job.state())
        return 0
    lost = []
    if not given.fill:
        from tangere.warmup import warm_up_together

        warm_up_together()  # so that no result has the time of compiling in it
        lost = _measure(chosen, again=given.again)
    for page in fill():
        _say(f"filled {page.relative_to(ROOT)}")
    if lost:
        _say(f"not measured: {', '.join(lost)}")
    return 1 if lost else 0


def _measure(jobs: Mapping[str, Job], *, again: bool) -> list[str]:
    """Measure and store one after the other, quick ones first; names of those that failed.

    Drawings come last: one of them shows a benchmark.
    """
    import tangere

    if Path(tangere.__file__).resolve().parent != PACKAGE:
        sys.exit(f"tangere is {tangere.__file__}, not that of this checkout: set PYTHONPATH=src")
    lost = []
    for name, job in sorted(jobs.items(), key=lambda item: (item[0] == "drawings", item[1].took())):
        if job.path.exists() and not job.stale() and not again:
            continue
        if lacking := job.missing():
            _say(f"{name} left as it is: {lacking}")
            continue
        _say(f"{name} …")
        made, watch = stamp(job.sources()), Watch()
        try:
            found = job.measure()
        except Exception:
            traceback.print_exc()
            lost.append(name)
            continue
        job.write({**found, "stamp": {**made, "others": watch.others()}})
        _say(job.state())
    return lost


# ---------------------------------------------------------------- what can be measured


@dataclasses.dataclass(frozen=True)
class Job:
    """One result: where it is stored, what it depends on, how it is made."""

    name: str
    path: Path
    module: str
    measure: Callable[[], dict[str, Any]]
    missing: Callable[[], str] = lambda: ""
    beside: tuple[Path, ...] = ()
    """Sources outside the package."""

    def read(self) -> dict[str, Any]:
        """What is stored."""
        found: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return found

    def write(self, found: Mapping[str, Any]) -> None:
        """Store it whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".part")
        fresh.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        fresh.replace(self.path)

    def sources(self) -> str:
        """Hash over the code that the result depends on, comments and docstrings left out."""
        modules = closure(self.module, *(name for path in self.beside for name in _imports(path)))
        digest = hashlib.sha256()
        for module in sorted(modules):
            digest.update(module.encode() + b"\0" + _code(_file(module)))
        for path in self.beside:
            digest.update(_code(path))
        return digest.hexdigest()[:16]

    def stale(self) -> bool:
        """Whether the sources have changed since."""
        return bool(self.read()["stamp"]["sources"] != self.sources())

    def took(self) -> float:
        """How long it took the last time [s]; infinite if it was never made."""
        return float(self.read()["seconds"]) if self.path.exists() else math.inf

    def state(self) -> str:
        """One line for `--list`."""
        if not self.path.exists():
            return f"{self.name:24} not stored"
        found = self.read()
        made, verdict = found["stamp"], ""
        if "claims" in found:
            from tangere.experiments.experiment import tally

            verdict = f"; {tally(claim['verdict'] for claim in found['claims'])}"
        age = "stale" if self.stale() else "up to date"
        return f"{self.name:24} {age:10} {found['seconds']:6.0f} s, {words(made)}{verdict}"


def all_jobs() -> dict[str, Job]:
    """Every result by its name: experiments, benchmarks, then drawings, which show one of them."""
    from tangere.bench import FUNCTIONS, VERSIONS
    from tangere.experiments.registry import EXPERIMENTS

    jobs = [
        Job(
            name,
            STORE / f"{name}.json",
            experiment.run.__module__,
            functools.partial(_experiment, experiment),
            functools.partial(experiment.missing, experiment.params),
        )
        for name, experiment in EXPERIMENTS.items()
    ]
    jobs += [
        Job(
            f"bench/{name}",
            BENCHMARKS / f"{name}.json",
            # what compiles is what warms up
            "tangere.warmup" if name == "startup" else f"tangere.bench.{module}",
            functools.partial(_benchmark, name),
        )
        for name, (module, _) in FUNCTIONS.items()
        if name != VERSIONS  # another checkout is not at hand
    ]
    drawn = tuple(
        DOCS / f"{name}.py" for name in ("figures", "formation_figures", "motion_figures")
    )
    canvas = "tangere.experiments.figures"
    jobs.append(Job("drawings", STORE / "drawings.json", canvas, _drawings, beside=drawn))
    return {job.name: job for job in jobs}


def _experiment(experiment: Any) -> dict[str, Any]:
    from tangere.experiments.experiment import reproduce

    outcome = reproduce(experiment)
    drawn = {f"{experiment.name}-pictures": experiment.pictures(outcome.result)}
    for i, figure in enumerate(experiment.plot(outcome.result)):
        drawn[f"{experiment.name}-{i + 1}"] = figure
    for old in STORE.glob(f"{experiment.name}-*.png"):
        old.unlink()
    for stem, figure in drawn.items():
        _save(figure, STORE / f"{stem}.png")
    return {
        **outcome.as_json(),
        "summary": experiment.summary,
        "beside": [dataclasses.asdict(reading) for reading in outcome.beside],
        "captions": {stem: str(figure.get_label()) for stem, figure in drawn.items()},
    }


def _drawings() -> dict[str, Any]:
    sys.path.insert(0, str(DOCS))
    try:
        import figures
    finally:
        sys.path.remove(str(DOCS))
    start = time.perf_counter()
    drawn = {name: draw() for name, draw in figures.FIGURES.items()}
    for name, figure in drawn.items():
        _save(figure, STORE / "drawings" / f"{name}.png")
    return {
        "captions": {name: str(figure.get_label()) for name, figure in drawn.items()},
        "seconds": round(time.perf_counter() - start, 3),
    }


def _benchmark(name: str) -> dict[str, Any]:
    from tangere.bench import run

    (result,) = run([name])
    return result.to_json()


def _save(figure: Any, path: Path) -> None:
    """The figure as a small PNG: few colours, no alpha."""
    from PIL import Image

    from tangere.experiments.figures import png

    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(io.BytesIO(png(figure))).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


# ---------------------------------------------------------------- the stamp


class Watch:
    """The clock and the work of the processors when a measurement begins."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.all = _busy()
        self.own = sum(os.times()[:4])

    def others(self) -> float | None:
        """Processors that were busy with other programs since, on average."""
        if self.all is None:
            return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
        spent = (_busy() or 0.0) - self.all - (sum(os.times()[:4]) - self.own)
        return round(max(0.0, spent) / (time.perf_counter() - self.start), 2)


def _busy() -> float | None:
    """Time that all processors have worked since the system began [s]."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _wait, *rest = map(int, stat.read_text().split("\n")[0].split()[1:9])
    return float(user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def stamp(sources: str) -> dict[str, Any]:
    """Where, when and from what a result is about to be made."""
    from importlib.metadata import PackageNotFoundError, version

    from tangere.bench.report import machine

    engines = {}
    for package in ("mujoco", "pybullet", "drake"):
        try:
            engines[package] = version(package)
        except PackageNotFoundError:
            continue
    tree = ("src", "docs/figures.py", "docs/formation_figures.py", "docs/motion_figures.py")
    return {
        "commit": _git("rev-parse", "--short=10", "HEAD") or "unknown",
        "changed": bool(_git("status", "--porcelain", "--", *tree)),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "engines": engines,
        "sources": sources,
    }


def words(stamp: Mapping[str, Any]) -> str:
    """A stamp for readers."""
    at = f"commit {stamp['commit']}" + (" with changes" if stamp["changed"] else "")
    cores = stamp["machine"]["cores"]
    busy = "" if stamp["others"] is None else f", {stamp['others']:.1f} busy with other work"
    return f"{at}, {stamp['date']}, {cores} cores{busy}"


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


# ---------------------------------------------------------------- what a result depends on


def closure(*modules: str) -> set[str]:
    """These modules and all of the package that they need when they run, directly or not."""
    reached: set[str] = set()
    fresh = set(modules)
    while fresh:
        reached |= fresh
        fresh = {name for each in fresh for name in _imports(_file(each))} - reached
    return reached


def _file(module: str) -> Path:
    stem = PACKAGE.joinpath(*module.split(".")[1:])
    return stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    """Modules of the package that a source names: `tg.Box` is where Box comes from, no more."""
    import tangere

    found = set()
    for node in _nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            home = {**tangere.HOME, **tangere.MODULES}.get(node.attr)
            if home and node.value.id == "tg":
                found.add(f"tangere.{home}")
        elif isinstance(node, ast.Constant) and str(node.value).startswith("tangere."):
            found.add(str(node.value))  # a module that is named, as the registry names records
    if path == _file("tangere.session.session"):  # the records of methods name the others
        found.update(f"tangere.session.{each.stem}" for each in path.parent.glob("*.py"))
    return frozenset(n for n in found if n.startswith("tangere.") and _file(n).is_file())


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees, or that a method has for a session."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.FunctionDef) and re.search("tool_side|warm_up", node.name):
            continue
        yield node
        yield from _nodes(node)


@functools.cache
def _code(path: Path) -> bytes:
    """A source without comments, docstrings and empty lines: what can change a result."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for row in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[row - 1] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip()).encode()


# ---------------------------------------------------------------- figures in pages


def look_up(where: str) -> float:
    """The figure that a page quotes.

    `reproduce NAME; CLAIM` is what was measured for a claim, `reproduce NAME; WHAT; WHO` a number
    shown beside the claims. `bench NAME; TITLE; ROW; COLUMN` is a cell of a benchmark: TITLE is in
    the title of one table alone, ROW gives values of its cells, such as `structure=tower of 13 &
    engine=MuJoCo`, COLUMN is how the column begins. After either command `seconds` is the time that
    it took, and `others` how many cores were busy with other programs meanwhile.
    """
    command, *path = (part.strip() for part in where.split(";"))
    kind, _, name = command.partition(" ")
    if kind not in ("reproduce", "bench"):
        raise LookupError(f"{where}: begins neither with reproduce nor with bench")
    file = (STORE if kind == "reproduce" else BENCHMARKS) / f"{name}.json"
    if not file.exists():
        raise LookupError(f"{where}: nothing is stored in {file.relative_to(ROOT)}")
    found = json.loads(file.read_text(encoding="utf-8"))
    if path == ["seconds"]:
        value = [found["seconds"]]
    elif path == ["others"]:
        value = [found["stamp"]["others"]]
    else:
        value = _in_experiment(found, path) if kind == "reproduce" else _in_tables(found, path)
    if len(value) != 1 or not isinstance(value[0], int | float):
        raise LookupError(f"{where}: {len(value)} figures match, not one")
    return float(value[0])


def _in_experiment(found: Mapping[str, Any], path: list[str]) -> list[Any]:
    if len(path) == 1:
        return [claim["measured"] for claim in found["claims"] if claim["id"] == path[0]]
    return [r["measured"] for r in found["beside"] if [r["what"], r["who"]] == path]


def _in_tables(found: Mapping[str, Any], path: list[str]) -> list[Any]:
    title, row, column = path
    wanted = dict(condition.split("=") for condition in row.split(" & "))
    return [
        cell
        for table in found["tables"] if title in table["title"]
        for cells in table["rows"] if all(str(cells.get(k)) == v for k, v in wanted.items())
        for head, cell in cells.items() if head.startswith(column)
    ]  # fmt: skip


def quoted(page: Path) -> Iterator[tuple[str, str, str]]:
    """Where, what the page has, and what it should have, of every quoted figure of a page."""
    for where, text in QUOTE.findall(page.read_text(encoding="utf-8")):
        yield where, text, _figure(where)


def _figure(where: str) -> str:
    path, _, spec = where.rpartition(" as ")
    return format(look_up(path or where), spec if path else FORMAT)


def fill() -> list[Path]:
    """Write the stored figures and the README's table into the pages; those that changed."""
    import build_gallery

    def stored(found: re.Match[str]) -> str:
        try:
            return f"<!-- from {found[1]} -->{_figure(found[1])}<!-- end -->"
        except LookupError as error:
            _say(f"left as it is: {error}")
            return found[0]

    changed = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = QUOTE.sub(stored, text)
        if page == ROOT / "README.md":
            new = build_gallery.with_results(new)
        if new != text:
            page.write_text(new, encoding="utf-8")
            changed.append(page)
    return changed


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
