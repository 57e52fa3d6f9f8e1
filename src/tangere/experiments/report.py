"""The report: one self-contained HTML page with verdicts, figures, pictures and parameters."""

from __future__ import annotations

import dataclasses
import html
import math
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from tangere.experiments import figures
from tangere.experiments.experiment import MARKS, Claim, Outcome, Reading, tally

STYLE = """
:root { --ink:#2b2f36; --soft:#6b7280; --line:#e6e4df; --paper:#ffffff; --back:#f7f6f3;
        --good:#2e7d4f; --bad:#b3372f; --good-back:#e8f3ec; --bad-back:#fbe9e7;
        --tuned:#8a6100; --tuned-back:#fbf1d9; }
* { box-sizing:border-box; }
body { margin:0; background:var(--back); color:var(--ink);
       font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif; }
main { max-width:60rem; margin:0 auto; padding:3rem 1.25rem 5rem; }
h1 { font-size:2rem; font-weight:650; letter-spacing:-.02em; margin:0 0 .25rem; }
h2 { font-size:1.4rem; font-weight:650; letter-spacing:-.01em; margin:0; }
h3 { font-size:.8rem; font-weight:600; text-transform:uppercase; letter-spacing:.06em;
     color:var(--soft); margin:2rem 0 .5rem; }
p { margin:.35rem 0; } .soft { color:var(--soft); }
section { background:var(--paper); border:1px solid var(--line); border-radius:14px;
          padding:1.75rem 1.75rem 1.5rem; margin-top:2rem; }
header.head { display:flex; justify-content:space-between; gap:1rem; align-items:baseline; }
nav { display:flex; flex-wrap:wrap; gap:.5rem; margin-top:1.25rem; }
nav a { text-decoration:none; color:var(--ink); background:var(--paper);
        border:1px solid var(--line); border-radius:999px; padding:.25rem .8rem; }
.mark { font-size:.8rem; font-weight:600; border-radius:999px; padding:.12rem .6rem;
        white-space:nowrap; }
.good { color:var(--good); background:var(--good-back); }
.bad { color:var(--bad); background:var(--bad-back); }
.tuned { color:var(--tuned); background:var(--tuned-back); }
.wide { overflow-x:auto; }
table { border-collapse:collapse; width:100%; font-size:.92rem; }
th { text-align:left; font-weight:600; color:var(--soft); font-size:.8rem; }
th,td { padding:.45rem .6rem; border-bottom:1px solid var(--line); vertical-align:top; }
tr:last-child td { border-bottom:0; }
td.number { white-space:nowrap; font-variant-numeric:tabular-nums; }
figure { margin:1rem 0 0; } figure svg { width:100%; height:auto; display:block; }
figcaption { color:var(--soft); font-size:.88rem; margin-top:.4rem; }
code { font:.88rem/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace; background:var(--back);
       border:1px solid var(--line); border-radius:8px; padding:.3rem .6rem; display:inline-block; }
dl { display:grid; grid-template-columns:repeat(auto-fill,minmax(15rem,1fr)); gap:.1rem 1.5rem;
     font-size:.88rem; margin:0; }
dl div { display:flex; justify-content:space-between; border-bottom:1px solid var(--line);
         padding:.25rem 0; gap:1rem; } dt { color:var(--soft); } dd { margin:0; text-align:right; }
footer { color:var(--soft); font-size:.85rem; margin-top:2rem; }
"""

LOOKS = {"holds": "good", "fails": "bad", "calibrated": "tuned"}


def number(value: float | None, unit: str = "") -> str:
    """A measured value in four digits with its unit; a dash when there is none."""
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.4g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{mantissa}e{int(exponent)}"
    return f"{text} {unit}".strip()


def write(
    outcomes: Sequence[Outcome], folder: Path, not_run: Mapping[str, str] | None = None
) -> Path:
    """Write `index.html` and each figure as PNG into a folder; the path of the page.

    `not_run` are experiments that were wanted and could not be run, and why.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sections = []
    for outcome in outcomes:
        name = outcome.experiment.name
        drawn = outcome.experiment.plot(outcome.result)
        strip = outcome.experiment.pictures(outcome.result)
        for i, figure in enumerate(drawn):
            tail = f"-{i + 1}" if len(drawn) > 1 else ""
            (folder / f"{name}{tail}.png").write_bytes(figures.png(figure))
        (folder / f"{name}-pictures.png").write_bytes(figures.png(strip))
        sections.append(_section(outcome, [*drawn, strip]))
    path = folder / "index.html"
    path.write_text(_page(outcomes, sections, not_run or {}), encoding="utf-8")
    return path


def _page(outcomes: Sequence[Outcome], sections: Sequence[str], not_run: Mapping[str, str]) -> str:
    from importlib.metadata import version

    claims = [claim for outcome in outcomes for claim in outcome.claims]
    links = "".join(
        f'<a href="#{o.experiment.name}">{o.experiment.name} '
        f"{MARKS['holds' if o.passed else 'fails']}</a>"
        for o in outcomes
    )
    left = "".join(f'<p class="bad">Not run: {html.escape(why)}.</p>' for why in not_run.values())
    names = " ".join([*(o.experiment.name for o in outcomes), *not_run])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>tangere: reproduced experiments</title><style>{STYLE}</style></head><body><main>"
        "<h1>Reproduced experiments</h1>"
        f'<p class="soft">{tally(claim.verdict for claim in claims)} in {len(outcomes)} '
        f"experiment{'s' if len(outcomes) != 1 else ''}.</p>"
        f"{left}<nav>{links}</nav>{''.join(sections)}"
        f"<footer>tangere {version('tangere')}, Python {platform.python_version()}, "
        f"{html.escape(platform.system())} {html.escape(platform.machine())}, "
        f"{date.today().isoformat()}. All of it again: "
        f"<code>tangere reproduce {html.escape(names)}</code></footer>"
        "</main></body></html>\n"
    )


def _section(outcome: Outcome, drawn: Sequence[Any]) -> str:
    e = outcome.experiment
    mark = "good" if outcome.passed else "bad"
    parts = [
        f'<section id="{e.name}"><header class="head"><h2>{e.name}</h2>'
        f'<span class="mark {mark}">{tally(c.verdict for c in outcome.claims)}</span></header>'
        f"<p>{html.escape(e.summary[0].upper() + e.summary[1:])}.</p>"
        f'<p class="soft">{html.escape(e.paper)}</p>'
        f"<h3>Claims</h3>{_claims(outcome.claims)}"
    ]
    parts.append("<h3>Figures</h3>")
    parts += [
        f"<figure>{own_ids(figures.svg(figure), f'{e.name}-{i}-')}"
        f"<figcaption>{html.escape(str(figure.get_label()))}</figcaption></figure>"
        for i, figure in enumerate(drawn)
    ]
    if outcome.beside:
        parts.append(f"<h3>Beside: shown, not judged</h3>{_readings(outcome.beside)}")
    parts.append(f"<h3>Parameters (SI)</h3>{_parameters(outcome.params)}")
    parts.append(
        f"<h3>Repeat</h3><p><code>tangere reproduce {e.name}</code> "
        f'<span class="soft">took {outcome.seconds:.1f} s here</span></p></section>'
    )
    return "".join(parts)


def _claims(claims: Sequence[Claim]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(c.text)}{_how(c)}</td><td>{html.escape(c.paper)}</td>"
        f'<td class="number">{html.escape(number(c.measured, c.unit))}</td>'
        f'<td><span class="mark {LOOKS[c.verdict]}">'
        f"{MARKS[c.verdict]} {c.verdict}</span></td></tr>"
        for c in claims
    )
    return (
        '<div class="wide"><table><thead><tr><th>Claim</th><th>Paper or theory</th><th>Here</th>'
        f"<th>Verdict</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _how(claim: Claim) -> str:
    if not claim.calibrated:
        return ""
    return f'<br><span class="soft">Calibrated: {html.escape(claim.calibrated)}.</span>'


def _readings(readings: Sequence[Reading]) -> str:
    """One table per quantity would be long: quantities are rows, those measured are columns."""
    who = list(dict.fromkeys(r.who for r in readings))
    what = list(dict.fromkeys(r.what for r in readings))
    table = {(r.what, r.who): number(r.measured, r.unit) for r in readings}
    if len(what) == 1:
        head = f"<th></th><th>{html.escape(what[0])}</th>"
        rows = "".join(
            f'<tr><td>{html.escape(w)}</td><td class="number">{html.escape(table[what[0], w])}</td>'
            "</tr>"
            for w in who
        )
    else:
        head = "<th></th>" + "".join(f"<th>{html.escape(w)}</th>" for w in who)
        rows = "".join(
            f"<tr><td>{html.escape(q)}</td>"
            + "".join(f'<td class="number">{html.escape(table.get((q, w), ""))}</td>' for w in who)
            + "</tr>"
            for q in what
        )
    notes = "; ".join(dict.fromkeys(f"{r.who}: {r.note}" for r in readings if r.note))
    tail = f'<p class="soft">{html.escape(notes)}</p>' if notes else ""
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{tail}"
    )


def _parameters(params: Any) -> str:
    def words(value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, tuple):
            whole = all(isinstance(v, int) for v in value)
            if whole and len(value) > 4 and value == tuple(range(value[0], value[-1] + 1)):
                return f"{value[0]} to {value[-1]}"
            return ", ".join(words(v) for v in value)
        return f"{value:g}" if isinstance(value, float) else str(value)

    items = "".join(
        f"<div><dt>{html.escape(f.name.replace('_', ' '))}</dt>"
        f"<dd>{html.escape(words(getattr(params, f.name)))}</dd></div>"
        for f in dataclasses.fields(params)
    )
    return f"<dl>{items}</dl>"


def own_ids(svg: str, prefix: str) -> str:
    """The drawing with ids of its own: several on one page would share clip paths and glyphs."""
    import re

    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", svg)
