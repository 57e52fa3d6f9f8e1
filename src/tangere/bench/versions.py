"""This version beside another checkout of tangere: time per step, and whether digits are the same.

`tangere bench versions --against PATH`. Both run in processes of their own, by turns, and make the
same scenes through the public interface (`version_worker`). A ratio is formed within a turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from tangere._jit import PACKAGE
from tangere.bench import version_worker
from tangere.bench.report import Result, Row, Table
from tangere.bench.turns import median_ratio
from tangere.errors import SceneError

WORKER = Path(version_worker.__file__)
HERE, THERE = "here", "there"
SLOWER = 1.05  # our time over the other version's that is claimed at most


class Case(NamedTuple):
    """How a scene is timed."""

    scene: str
    turns: int
    request: dict[str, int]
    per: int  # steps, or ticks, of one timed call


def cases(rounds: int) -> list[Case]:
    """All scenes; heaps are others in each turn. Large ones take long: they get fewer turns."""
    few = max(1, 2 * rounds // 5)

    def simulation(scene: str, turns: int, settle: int, calls: int, steps: int) -> Case:
        return Case(scene, turns, {"settle": settle, "calls": calls, "steps": steps}, steps)

    return [
        simulation("tower of 13 at rest", rounds, 400, 30, 20),
        simulation("wall of 50 at rest", rounds, 400, 20, 20),
        simulation("tower of 13, explicit", rounds, 300, 25, 20),
        simulation("towers of 50, explicit", rounds, 300, 15, 20),
        simulation("heap of 100", rounds, 160, 4, 5),
        simulation("heap of 300", rounds, 160, 4, 5),
        simulation("heap of 1,000", few, 160, 4, 5),
        simulation("heap of 1,000, five layers", few, 160, 4, 5),
        Case(version_worker.SESSION, rounds, {"calls": 2, "ticks": 2_000}, 2_000),
    ]


def measure(
    rounds: int = 15, against: Path | None = None, chosen: list[Case] | None = None
) -> Result:
    """Times of both versions and their ratio, scene by scene."""
    begin = time.perf_counter()
    if against is None:
        raise SceneError("bench versions: give the other checkout with --against PATH")
    with ExitStack() as stack:
        workers = {
            HERE: stack.enter_context(Worker(PACKAGE.parent)),
            THERE: stack.enter_context(Worker(sources_of(against))),
        }
        rows = [_compare(case, workers) for case in chosen or cases(rounds)]
    slower = [str(row["scene"]) for row in rows if float(row["here / there"] or 0.0) > SLOWER]
    verdict = f"FAILS for {', '.join(slower)}" if slower else "holds"
    notes = [f"at most {SLOWER:g} times the other version's time is claimed of each: {verdict}"]
    settings = {"against": str(against), "rounds": rounds}
    title = "time per step, or per tick with its contact period; medians, by turns"
    seconds = time.perf_counter() - begin
    return Result("versions", settings, [Table(title, rows)], notes, seconds)


def sources_of(checkout: Path) -> Path:
    """The folder of a checkout from which `tangere` is imported."""
    for folder in (checkout / "src", checkout):
        if (folder / "tangere" / "__init__.py").is_file():
            return folder.resolve()
    raise SceneError(f"{checkout}: no checkout of tangere; give the folder that has src/tangere")


def _compare(case: Case, workers: dict[str, Worker]) -> Row:
    """One row of the table."""
    for worker in workers.values():  # compiled and loaded
        worker.ask(case.scene, {**case.request, "calls": 1, "number": 0})
    taken: dict[str, list[list[float]]] = {name: [] for name in workers}
    apart = 0.0
    for turn in range(case.turns):
        order = list(workers) if turn % 2 == 0 else list(reversed(workers))
        places = []
        for name in order:
            found = workers[name].ask(case.scene, {**case.request, "number": turn})
            taken[name].append(found["seconds"])
            places.append(np.array(found["places"]))
        apart = max(apart, float(np.abs(places[0] - places[1]).max()))
    times = {
        name: 1e6 * float(np.median(np.concatenate(t))) / case.per for name, t in taken.items()
    }
    return {
        "scene": case.scene,
        "here [µs]": times[HERE],
        "there [µs]": times[THERE],
        "here / there": median_ratio(taken[HERE], taken[THERE]),
        "apart in the end": f"{1e3 * apart:.1e} mm" if apart else "same digits",
    }


class Worker:
    """A process that imports tangere from a folder and answers requests."""

    def __init__(self, sources: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(sources)}
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self._sources = sources

    def ask(self, scene: str, request: dict[str, int]) -> dict[str, Any]:
        """Seconds of the calls, and a hash over the result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"scene": scene, **request}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SceneError(f"{self._sources}: this version cannot run {scene!r}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
