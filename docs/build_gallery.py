"""Fill docs/_generated: the experiments' figures and verdicts, the drawings, the benchmark tables.

    python docs/build_gallery.py            what `make docs` calls before it builds the pages
    python docs/build_gallery.py --readme   also rewrite the table of results in README.md and the
                                            pictures it shows

An experiment runs again only when a source it depends on, or the set of other engines that are
installed, has changed. No number on the pages is typed by hand.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
OUT = DOCS / "_generated"
PACKAGE = ROOT / "src" / "tangere"
# Nothing in these changes the result of an experiment.
OUTSIDE = {"bench", "cli.py", "doctor.py", "viewer", "warmup.py"}

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
# The claims that the README shows: experiment, claim, and the claim in plain words.
HEADLINES = (
    ("spin-down", "square-torque", "friction torque of a square block that spins"),
    ("spin-down", "both-velocity", "block that slides and spins: largest error of its velocity"),
    ("stick-slip", "period", "weight pulled by a spring: period of stick and slip"),
    ("stick-slip", "creep-1ms", "block on a slope: creep over a minute"),
    ("falling-cube", "rest-5", "tilted cube dropped from 1 m: rests on its face after"),
    ("block-tower", "13-drift", "tower of 13 blocks: largest drift in 4 s"),
    ("block-tower", "linear", "time per step over 1 to 13 blocks: R² of a straight line"),
    ("block-tower", "stiff-sink", "the same tower, implicit steps of 5 ms: the top sinks by"),
    ("block-tower", "arch", "arch of 15 stones: largest motion in a minute"),
    ("free-spoon", "lag-100g", "spoon of 100 g in a waving hand: lags by"),
    ("spoon-and-cup", "depth-2", "spoon of 10 g on a cup: largest depth of a contact"),
    ("two-hands", "median", "a block lifted between two hands: median time of a step"),
)
# Figures of the experiments that the README shows.
README_PICTURES = ("spin-down-1",)


def main() -> None:
    """Build everything; `--readme` also updates the README."""
    parser = argparse.ArgumentParser(description="Fill docs/_generated.")
    parser.add_argument("--readme", action="store_true", help="also rewrite README.md's results")
    given = parser.parse_args()
    build()
    if given.readme:
        update_readme()


def build() -> None:
    """Experiments, drawings and benchmark tables, each only where out of date."""
    OUT.mkdir(parents=True, exist_ok=True)
    _experiments()
    _drawings()
    (OUT / "gallery.md").write_text(gallery_page(stored()), encoding="utf-8")
    (OUT / "scenes.md").write_text(scenes_page(), encoding="utf-8")
    results = sorted((ROOT / "benchmarks" / "results").glob("**/*.json"))
    (OUT / "benchmarks.md").write_text(benchmark_page(results), encoding="utf-8")


def stored() -> dict[str, dict[str, Any]]:
    """What is stored of every experiment, in the order of the registry."""
    from tangere.experiments.registry import EXPERIMENTS

    found = {}
    for name in EXPERIMENTS:
        path = OUT / "gallery" / f"{name}.json"
        if path.exists():
            found[name] = json.loads(path.read_text(encoding="utf-8"))
    return found


# ---------------------------------------------------------------- experiments and drawings


def _experiments() -> None:
    from tangere.experiments import peers
    from tangere.experiments.experiment import reproduce
    from tangere.experiments.figures import png, svg
    from tangere.experiments.registry import EXPERIMENTS

    folder = OUT / "gallery"
    folder.mkdir(exist_ok=True)
    key = _hash(_sources(), *peers.installed())
    for name, experiment in EXPERIMENTS.items():
        path = folder / f"{name}.json"
        if path.exists() and json.loads(path.read_text(encoding="utf-8"))["key"] == key:
            continue
        if lacking := experiment.missing(experiment.params):
            _say(f"experiment {name} left out: {lacking}")
            continue
        _say(f"experiment {name}")
        outcome = reproduce(experiment)
        captions = {}
        drawn = {f"{name}-{i + 1}": f for i, f in enumerate(experiment.plot(outcome.result))}
        drawn[f"{name}-pictures"] = experiment.pictures(outcome.result)
        for stem, figure in drawn.items():
            (folder / f"{stem}.svg").write_text(_file(svg(figure)), encoding="utf-8")
            (folder / f"{stem}.png").write_bytes(png(figure))
            captions[stem] = str(figure.get_label())
        answer = {
            **outcome.as_json(),
            "key": key,
            "summary": experiment.summary,
            "beside": [dataclasses.asdict(reading) for reading in outcome.beside],
            "captions": captions,
        }
        path.write_text(json.dumps(answer, indent=1), encoding="utf-8")


def _drawings() -> None:
    from tangere.experiments.figures import svg

    sys.path.insert(0, str(DOCS))
    try:
        import figures
    finally:
        sys.path.remove(str(DOCS))
    folder = OUT / "figures"
    folder.mkdir(exist_ok=True)
    key = _hash([*_sources(), DOCS / "figures.py"])
    mark = folder / "key"
    if mark.exists() and mark.read_text() == key:
        return
    for name, draw in figures.FIGURES.items():
        _say(f"figure {name}")
        figure = draw()
        (folder / f"{name}.svg").write_text(_file(svg(figure)), encoding="utf-8")
        caption = f"```{{figure}} /_generated/figures/{name}.svg\n\n{figure.get_label()}\n```\n"
        (folder / f"{name}.md").write_text(caption, encoding="utf-8")
    mark.write_text(key)


def _file(svg: str) -> str:
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg}'


def _sources() -> list[Path]:
    files = PACKAGE.rglob("*.py")
    return sorted(f for f in files if f.relative_to(PACKAGE).parts[0] not in OUTSIDE)


def _hash(files: Iterable[Path], *words: str) -> str:
    digest = hashlib.sha256(" ".join(words).encode())
    for path in files:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# ---------------------------------------------------------------- pages


def gallery_page(found: Mapping[str, Mapping[str, Any]]) -> str:
    """One section per experiment: pictures, figure, claims, numbers beside them, the command."""
    parts = []
    for name, e in found.items():
        held = sum(claim["pass"] for claim in e["claims"])
        parts.append(f"## {name}\n\n{e['summary'][0].upper()}{e['summary'][1:]}. {e['paper']}.\n")
        for stem, caption in sorted(e["captions"].items(), key=lambda x: "pictures" not in x[0]):
            parts.append(
                f"```{{figure}} /_generated/gallery/{stem}.svg\n:width: 100%\n\n{caption}\n```\n"
            )
        parts.append(f"**{held} of {len(e['claims'])} claims hold.**\n")
        parts.append(
            _table(
                ("claim", "paper or theory", "here", ""),
                [
                    (c["text"], c["paper"], _number(c["measured"], c["unit"]), _mark(c["pass"]))
                    for c in e["claims"]
                ],
            )
        )
        if e["beside"]:
            rows = [
                (r["what"], r["who"], _number(r["measured"], r["unit"]), r["note"])
                for r in e["beside"]
            ]
            beside = _table(("shown, not judged", "who", "measured", ""), rows)
            parts.append(f":::{{dropdown}} Other methods and engines\n{beside}:::\n")
        values = _table(("parameter", "value (SI)"), [(k, v) for k, v in e["parameters"].items()])
        parts.append(f":::{{dropdown}} Parameters\n{values}:::\n")
        parts.append(f"Again: `tangere reproduce {name}` ({e['seconds']:.0f} s here).\n")
    return "\n".join(parts)


def scenes_page() -> str:
    """The built-in scenes as cards, with a picture where docs/pictures has one."""
    from tangere.scene.library import SCENES

    cards = []
    for name in sorted(SCENES, key=lambda name: not _picture(name)):
        picture = f":img-top: /pictures/{name}.png\n" if _picture(name) else ""
        cards.append(f":::{{grid-item-card}} {name}\n{picture}\n{SCENES[name].description}\n:::\n")
    return f"::::{{grid}} 1 2 2 3\n:gutter: 2\n\n{''.join(cards)}::::\n"


def _picture(name: str) -> bool:
    return (DOCS / "pictures" / f"{name}.png").exists()


def benchmark_page(files: Iterable[Path]) -> str:
    """The benchmarks there are, and the stored results of `tangere bench --json`."""
    from tangere.bench import NAMES

    parts = [_table(("benchmark", "what it measures"), ((f"`{k}`", v) for k, v in NAMES.items()))]
    for path in files:
        read = json.loads(path.read_text(encoding="utf-8"))
        for result in read if isinstance(read, list) else [read]:
            machine = result.get("machine", {})
            where = f"{machine.get('processor', 'unknown processor')}, {machine.get('cores')} cores"
            parts.append(f"### {result['name']}\n\n{where}; Python {machine.get('python')}.\n")
            for table in result["tables"]:
                if not table["rows"]:
                    continue
                heads = list(table["rows"][0])
                rows = [[_number(row.get(head)) for head in heads] for row in table["rows"]]
                parts.append(f"**{table['title']}**\n\n{_table(heads, rows)}")
            parts += [f"- {note}" for note in result.get("notes", ())]
            parts.append(f"\nFrom `{path.relative_to(ROOT).as_posix()}`.\n")
    if len(parts) == 1:
        parts.append("No results are stored.\n")
    return "\n".join(parts)


def results_table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The README's table of results."""
    rows = []
    for name, key, words in HEADLINES:
        claim = next(c for c in found[name]["claims"] if c["id"] == key)
        here = f"{_number(claim['measured'], claim['unit'])} {_mark(claim['pass'])}"
        rows.append((words, claim["paper"], here, f"`tangere reproduce {name}`"))
    return _table(("what", "paper or exact theory", "here", "command"), rows)


def update_readme() -> None:
    """Put the table of results between its marks, and the pictures into docs/pictures."""
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    path.write_text(f"{head}{BEGIN}\n{results_table(stored())}{END}{tail}", encoding="utf-8")
    for stem in README_PICTURES:
        shutil.copyfile(
            OUT / "gallery" / f"{stem}.png", DOCS / "pictures" / f"{stem.removesuffix('-1')}.png"
        )


def _table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    def line(cells: Iterable[Any]) -> str:
        return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |\n"

    heads = list(heads)
    return line(heads) + line("---" for _ in heads) + "".join(line(row) for row in rows) + "\n"


def _number(value: Any, unit: str = "") -> str:
    from tangere.experiments.report import number

    text = number(value, unit) if value is None or isinstance(value, float) else str(value)
    return text.replace(" ", "\N{NO-BREAK SPACE}") if unit else text


def _mark(good: bool) -> str:
    return "✓" if good else "✗"


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
