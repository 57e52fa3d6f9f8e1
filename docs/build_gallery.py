"""Fill docs/_generated from what is stored: gallery, drawings, scenes and benchmark tables.

`make docs` calls it before it builds the pages. Nothing is measured here, so that it takes seconds:
`results.py` does that. No number on the pages is typed by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from results import DOCS, QUOTE, ROOT, Job, all_jobs, words

OUT = DOCS / "_generated"

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
# The claims that the README shows: experiment, claim, and the claim in plain words.
HEADLINES = (
    ("spin-down", "square-torque", "friction torque of a square block that spins"),
    ("spin-down", "both-velocity", "block that slides and spins: largest error of its velocity"),
    ("stick-slip", "period", "weight pulled by a spring: period of stick and slip"),
    ("stick-slip", "creep-1ms", "block on a slope: creep over a minute"),
    ("falling-cube", "rest-5", "tilted cube dropped from 1 m: rests on its face after"),
    (
        "falling-cube",
        "stiff-rest-depth",
        "the same, 100 times as stiff, implicit step: rests at a depth of",
    ),
    ("block-tower", "13-drift", "tower of 13 blocks: largest drift in 4 s"),
    ("block-tower", "linear", "time per step over 1 to 13 blocks: R² of a straight line"),
    ("block-tower", "stiff-sink", "the same tower, implicit steps of 5 ms: the top sinks by"),
    ("block-tower", "arch", "arch of 15 stones: largest motion in a minute"),
    ("free-spoon", "lag-100g", "spoon of 100 g in a waving hand: lags by"),
    ("spoon-and-cup", "depth-2", "spoon of 10 g on a cup: largest depth of a contact"),
    ("two-hands", "median", "a block lifted between two hands: median time of a step"),
    ("table", "free", "soft table pressed down by 1 mm without friction: its feet move out by"),
    ("snap-in", "peak-0.05mm", "soft clip pushed onto a pipe: largest push off the closed form by"),
    ("contact-time", "time-20-0.8-median", "20 frictional contacts of a soft clip: time in a step"),
    ("hertz", "force-1MPa", "ball pressed into a soft block: largest force over Hertz's"),
)


def build() -> None:
    """Every generated part of the pages."""
    (OUT / "figures").mkdir(parents=True, exist_ok=True)
    jobs = all_jobs()
    drawn = jobs.pop("drawings")
    for name, caption in drawn.read()["captions"].items():
        note = f"{STALE}\n\n" if drawn.stale() else ""
        text = f"```{{figure}} /results/drawings/{name}.png\n\n{caption}\n```\n"
        _write(f"figures/{name}.md", note + text)
    _write("gallery.md", gallery_page([j for j in jobs.values() if not _benchmark(j)]))
    _write("benchmarks.md", benchmark_page([j for j in jobs.values() if _benchmark(j)]))
    _write("scenes.md", scenes_page())


def _benchmark(job: Job) -> bool:
    return job.name.startswith("bench/")


def _write(name: str, text: str) -> None:
    """Only what changed, so that Sphinx reads no page again for nothing."""
    path = OUT / name
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


# ---------------------------------------------------------------- pages


STALE = ":::{warning}\nOlder than the sources that it depends on: `make results` renews it.\n:::\n"


def gallery_page(jobs: Iterable[Job]) -> str:
    """One section per experiment: pictures, figure, claims, numbers beside them, the command."""
    from tangere.experiments.experiment import MARKS, tally

    parts = []
    for job in jobs:
        if not job.path.exists():
            parts.append(f"## {job.name}\n\nNo result is stored; `tangere reproduce {job.name}`.\n")
            continue
        e = job.read()
        parts.append(
            f"## {job.name}\n\n{e['summary'][0].upper()}{e['summary'][1:]}. {e['paper']}.\n"
        )
        if job.stale():
            parts.append(STALE)
        for stem, caption in e["captions"].items():
            parts.append(f"```{{figure}} /results/{stem}.png\n:width: 100%\n\n{caption}\n```\n")
        parts.append(f"**{tally(c['verdict'] for c in e['claims'])}.**\n")
        parts.append(
            _table(
                ("claim", "paper or theory", "here", ""),
                [
                    (
                        _claim_text(c),
                        c["paper"],
                        _number(c["measured"], c["unit"]),
                        f"{MARKS[c['verdict']]}\N{NO-BREAK SPACE}{c['verdict']}",
                    )
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
        values = _table(("parameter", "value (SI)"), list(e["parameters"].items()))
        parts.append(f":::{{dropdown}} Parameters\n{values}:::\n")
        parts.append(
            f"Again: `tangere reproduce {job.name}` ({e['seconds']:.0f} s). "
            f"Measured at {words(e['stamp'])}.\n"
        )
    return "\n".join(parts)


def _claim_text(claim: Mapping[str, Any]) -> str:
    how = f"<br>*Calibrated: {claim['calibrated']}.*" if claim["calibrated"] else ""
    return claim["text"] + how


def quotes(page: Path) -> bool:
    """Whether a page quotes a stored figure."""
    return QUOTE.search(page.read_text(encoding="utf-8")) is not None


def with_stale_note(page: str) -> str:
    """A page's source, with a note under its title when results that it quotes are stale."""
    commands = dict.fromkeys(where.split(";")[0].strip() for where, _ in QUOTE.findall(page))
    jobs = all_jobs() if commands else {}
    named = {c: jobs[c.replace("reproduce ", "").replace("bench ", "bench/")] for c in commands}
    stale = [f"`tangere {c}`" for c, job in named.items() if job.path.exists() and job.stale()]
    if not stale:
        return page
    title, rest = page.split("\n", 1)
    told = f"Figures of {', '.join(stale)} quoted here are older than the sources they depend on"
    return f"{title}\n\n:::{{warning}}\n{told}: `make results` renews them.\n:::\n{rest}"


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


def benchmark_page(jobs: Iterable[Job]) -> str:
    """The benchmarks there are, and what is stored of them."""
    from tangere.bench import NAMES

    parts = [_table(("benchmark", "what it measures"), ((f"`{k}`", v) for k, v in NAMES.items()))]
    for job in jobs:
        if not job.path.exists():
            parts.append(f"### {job.name.removeprefix('bench/')}\n\nNo result is stored.\n")
            continue
        result = job.read()
        machine = result["machine"]
        parts.append(
            f"### {result['name']}\n\n{words(result['stamp']).capitalize()}; "
            f"{machine['processor']}, Python {machine['python']}.\n"
        )
        if job.stale():
            parts.append(STALE)
        for table in result["tables"]:
            if not table["rows"]:
                continue
            heads = list(table["rows"][0])
            rows = [[_number(row.get(head)) for head in heads] for row in table["rows"]]
            parts.append(f"**{table['title']}**\n\n{_table(heads, rows)}")
        parts += [f"- {note}" for note in result["notes"]]
        parts.append(f"\nFrom `{job.path.relative_to(ROOT).as_posix()}`.\n")
    return "\n".join(parts)


def results_table() -> str:
    """The README's table of results, and where they come from."""
    from tangere.experiments.experiment import MARKS

    jobs = all_jobs()
    rows, commits = [], []
    for name, key, what in HEADLINES:
        if not jobs[name].path.exists():
            rows.append((what, "–", "not stored", f"`tangere reproduce {name}`"))
            continue
        found = jobs[name].read()
        claim = next(c for c in found["claims"] if c["id"] == key)
        here = f"{_number(claim['measured'], claim['unit'])} {MARKS[claim['verdict']]}"
        if claim["calibrated"]:
            here += f" calibrated: {claim['calibrated']}"
        rows.append((what, claim["paper"], here, f"`tangere reproduce {name}`"))
        commits.append(f"{found['stamp']['commit']} ({found['stamp']['date']})")
    table = _table(("what", "paper or exact theory", "here", "command"), rows)
    told = ", ".join(dict.fromkeys(commits))
    return (
        f"{table}✓ holds, ✗ fails, ≈ calibrated: something was tuned to give it. Commit {told}.\n"
    )


def with_results(readme: str) -> str:
    """The text of the README with the table of results between its marks."""
    head, rest = readme.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}\n{results_table()}{END}{tail}"


def _table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    def line(cells: Iterable[Any]) -> str:
        return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |\n"

    heads = list(heads)
    return line(heads) + line("---" for _ in heads) + "".join(line(row) for row in rows) + "\n"


def _number(value: Any, unit: str = "") -> str:
    from tangere.experiments.report import number

    text = number(value, unit) if value is None or isinstance(value, float) else str(value)
    return text.replace(" ", "\N{NO-BREAK SPACE}") if unit else text
