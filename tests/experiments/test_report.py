"""The report: one page that needs nothing else, and says what failed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tangere.experiments import report
from tangere.experiments.experiment import Claim, Experiment, Outcome, Reading, Tell, reproduce
from tangere.experiments.figures import canvas, house_style


@dataclass(frozen=True)
class Params:
    """Parameters of the made-up experiment."""

    gravity: float = 9.8
    heights: tuple[int, ...] = (1, 2, 3, 4, 5)
    size: tuple[float, ...] = (0.1, 0.2)
    with_peers: bool = False


def _run(params: Params, tell: Tell) -> float:
    tell(0.0, "running")
    return params.gravity


def _check(result: float) -> list[Claim]:
    return [
        Claim("good", "a <b> holds", "theory & paper", result, "m/s²", True),
        Claim("bad", "never happens", "happens", None, "s", False),
        Claim("tuned", "comes out", "1 s", 1.0, "s", True, "the <hand> gives it"),
    ]


@house_style
def _plot(result: float) -> list[Figure]:
    figure, (axes,) = canvas("A line with a <caption>.")
    axes.plot([0, 1], [0, result], label="line")
    axes.set_xlabel("time [s]")
    axes.legend()
    return [figure]


def _pictures(result: float) -> Figure:
    figure, _ = canvas("A strip.")
    return figure


def _beside(result: float) -> list[Reading]:
    return [
        Reading("speed", "volume", 1.0, "m/s"),
        Reading("speed", "MuJoCo", 2.5e-7, "m/s", "soft <contacts>"),
        Reading("height", "volume", None, "m"),
    ]


FAKE = Experiment(
    name="fake",
    paper="Nobody 2000 & others",
    summary="a made-up experiment",
    params=Params(),
    quick=Params(),
    run=_run,
    check=_check,
    plot=_plot,
    pictures=_pictures,
    beside=_beside,
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on the made-up experiment, twice on one page."""
    outcome = reproduce(FAKE)
    second = Outcome(FAKE, outcome.params, outcome.result, outcome.claims[:1], [], 1.0)
    return report.write([outcome, second], tmp_path_factory.mktemp("report") / "deep" / "folder")


def test_figures_stand_beside_the_page(page: Path) -> None:
    names = sorted(path.name for path in page.parent.iterdir())
    assert names == ["fake-pictures.png", "fake.png", "index.html"]


def test_the_page_needs_nothing_else(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for tag in ("<script", "<link", "<img", "@import", "src="):
        assert tag not in text
    outside = set(re.findall(r'(?:href|url)[=(]"?(http[^")]+)', text))
    assert outside == set()
    inner = set(re.findall(r'href="#([^"]+)"', text))
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert inner <= set(ids)


def test_verdicts_numbers_and_escapes(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "2 of 4 claims hold, 1 calibrated in 2 experiments" in text
    assert '<span class="mark bad">✗ fails</span>' in text
    assert '<span class="mark good">✓ holds</span>' in text
    assert '<span class="mark tuned">≈ calibrated</span>' in text
    assert "Calibrated: the &lt;hand&gt; gives it." in text
    assert "a &lt;b&gt; holds" in text
    assert "theory &amp; paper" in text
    assert "A line with a &lt;caption&gt;." in text
    assert "MuJoCo: soft &lt;contacts&gt;" in text
    assert "2.5e-7 m/s" in text
    assert "<dd>1 to 5</dd>" in text
    assert "<dd>0.1, 0.2</dd>" in text
    assert "tangere reproduce fake" in text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "s", "–"),
        (float("nan"), "s", "–"),
        (1.0, "", "1"),
        (0.99021, "m", "0.9902 m"),
        (3.2e-10, "m/s", "3.2e-10 m/s"),
        (123456.0, "N", "1.235e5 N"),
    ],
)
def test_numbers_for_people(value: float | None, unit: str, text: str) -> None:
    assert report.number(value, unit) == text
