"""What an experiment is: parameters, a run, the paper's claims as verdicts, figures and pictures.

Every experiment is one module with the functions `run(params)`, `check(result)` and `plot(result)`;
the command line, the report and the tests call the same three.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = TypeVar("P")
R = TypeVar("R")

Tell: TypeAlias = Callable[[float, str], None]
"""Told how far a run is (0 to 1) and what it does now."""

Verdict: TypeAlias = Literal["holds", "fails", "calibrated"]

MARKS: dict[str, str] = {"holds": "✓", "fails": "✗", "calibrated": "≈"}
"""One sign per verdict, the same wherever a verdict is shown."""


def silent(done: float, doing: str) -> None:
    """Nothing: the default listener of a run."""


def nothing(params: object) -> str:
    """Nothing is missing: the default of an experiment that needs no more than tangere."""
    return ""


@dataclass(frozen=True)
class PeerParams:
    """Values of an experiment that other engines can be made to run too."""

    with_peers: bool = True


@dataclass(frozen=True)
class Claim:
    """One statement that a run confirms or refutes.

    A value that something was tuned to give confirms nothing: its verdict is "calibrated", which
    counts neither as held nor as failed. It still fails when it misses what it was tuned to.

    Attributes:
        id: Short name, unique within the experiment.
        text: The statement with its threshold.
        paper: What the paper (or the closed form) says.
        measured: The number found here; None when the event did not happen.
        unit: Unit of `measured`, empty for a plain number.
        pass_: Whether the statement holds here.
        calibrated: What was chosen so that it holds, and how, in one line; empty for a prediction.
    """

    id: str
    text: str
    paper: str
    measured: float | None
    unit: str
    pass_: bool
    calibrated: str = ""

    @property
    def verdict(self) -> Verdict:
        """What the run says of the statement."""
        if not self.pass_:
            return "fails"
        return "calibrated" if self.calibrated else "holds"

    def as_json(self) -> dict[str, Any]:
        """The claim as the `--json` output prints it; numbers that are not finite become null."""
        finite = self.measured is not None and math.isfinite(self.measured)
        return {
            "id": self.id,
            "text": self.text,
            "paper": self.paper,
            "measured": float(self.measured) if finite and self.measured is not None else None,
            "unit": self.unit,
            "pass": self.verdict == "holds",
            "verdict": self.verdict,
            "calibrated": self.calibrated,
        }


def tally(verdicts: Iterable[str]) -> str:
    """Verdicts counted in words, such as "7 of 9 claims hold, 2 calibrated"."""
    counts = Counter(verdicts)
    words = f"{counts['holds']} of {counts.total()} claims hold"
    return f"{words}, {counts['calibrated']} calibrated" if counts["calibrated"] else words


@dataclass(frozen=True)
class Reading:
    """A number shown beside the claims, not judged: another rule, another engine."""

    what: str
    who: str
    measured: float | None
    unit: str
    note: str = ""


@dataclass(frozen=True)
class Experiment(Generic[P, R]):
    """An experiment as the registry knows it.

    Attributes:
        name: What `tangere reproduce` takes.
        paper: Where the experiment comes from.
        summary: What it shows, in one line.
        params: The values that the report uses.
        quick: Shorter runs on which every claim still holds; for tests.
        run: Parameters and a listener to a result.
        check: Result to verdicts.
        plot: Result to matplotlib figures; each carries its caption as its label.
        pictures: Result to one figure, a strip of pictures of the scene.
        beside: Result to numbers that are shown, not judged.
        missing: Parameters to what keeps the experiment from running here, such as a file of
            measurements, in one line; empty when nothing does.
    """

    name: str
    paper: str
    summary: str
    params: P
    quick: P
    run: Callable[[P, Tell], R]
    check: Callable[[R], list[Claim]]
    plot: Callable[[R], list[Figure]]
    pictures: Callable[[R], Figure]
    beside: Callable[[R], list[Reading]]
    missing: Callable[[P], str] = nothing


@dataclass(frozen=True)
class Outcome:
    """An experiment that has been run: verdicts, numbers beside them, and the time it took."""

    experiment: Experiment[Any, Any]
    params: Any
    result: Any
    claims: list[Claim]
    beside: list[Reading]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether no claim fails."""
        return all(claim.verdict != "fails" for claim in self.claims)

    def as_json(self) -> dict[str, Any]:
        """The outcome as `tangere reproduce NAME --json` prints it."""
        return {
            "name": self.experiment.name,
            "paper": self.experiment.paper,
            "claims": [claim.as_json() for claim in self.claims],
            "parameters": dataclasses.asdict(self.params),
            "seconds": round(self.seconds, 3),
        }


def reproduce(
    experiment: Experiment[P, R], params: P | None = None, tell: Tell = silent
) -> Outcome:
    """Run one experiment and judge it; `params` defaults to the values of the report."""
    import time

    chosen = experiment.params if params is None else params
    start = time.perf_counter()
    result = experiment.run(chosen, tell)
    claims = experiment.check(result)
    return Outcome(
        experiment,
        chosen,
        result,
        claims,
        experiment.beside(result),
        time.perf_counter() - start,
    )
