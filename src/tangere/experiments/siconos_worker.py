"""Frictional contact problems solved by Siconos' NSGS: requests as JSON lines, answers likewise.

Run by the system's Python, which has the binding (Debian `python3-siconos`) and NumPy; imports
nothing of tangere. W is given in 3 x 3 blocks, Siconos' own sparse storage, which is several times
faster than its dense one; the binding reads it from a file alone.

    {"problem": "….npz", "tolerance": 1e-8}      starts, columns, blocks, q and mu
    {"calls": 5}                                 five solves from no forces, each timed
    {"judge": […]}                               Siconos' error of these forces
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

MOST_ITERATIONS = 100_000


class Nsgs:
    """A problem and the nonsmooth Gauss–Seidel solver with its default local solver."""

    def __init__(self, path: str, tolerance: float) -> None:
        numerics: Any = importlib.import_module("siconos.numerics")
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        self._numerics = numerics
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "problem.dat"
            text.write_text(problem_file(arrays), encoding="ascii")
            self._problem = numerics.frictionContact_new_from_filename(str(text))
        self._options = numerics.SolverOptions(numerics.SICONOS_FRICTION_3D_NSGS)
        self._options.dparam[0] = tolerance
        self._options.iparam[0] = MOST_ITERATIONS
        self._q = arrays["q"]

    def solve(self, calls: int) -> dict[str, Any]:
        """Seconds of every solve; forces, iterations and success of the last."""
        seconds, info, r = [], 1, np.zeros(0)
        for _ in range(calls):
            r, u = np.zeros(len(self._q)), np.zeros(len(self._q))
            start = time.perf_counter()
            info = self._numerics.fc3d_driver(self._problem, r, u, self._options)
            seconds.append(time.perf_counter() - start)
        iterations = int(self._options.iparam[1])
        return {"seconds": seconds, "r": r.tolist(), "iterations": iterations, "solved": info == 0}

    def judge(self, r: list[float]) -> dict[str, Any]:
        """Siconos' own measure: its natural map over the length of q."""
        forces, motion = np.array(r, float), np.zeros(len(r))
        size = float(np.linalg.norm(self._q))
        found = self._numerics.fc3d_compute_error(
            self._problem, forces, motion, self._options.dparam[0], self._options, size
        )
        return {"error": float(found[1])}


def problem_file(arrays: dict[str, Any]) -> str:
    """The problem in Siconos' text format, matrix in blocks by columns."""
    starts, columns, mu = arrays["starts"], arrays["columns"], arrays["mu"]
    m = len(mu)
    ends = "\t".join(str(3 * i) for i in range(1, m + 1))
    lines = ["3", str(m), "1", str(3 * m), str(3 * m), str(len(columns)), str(m), str(m)]
    lines += [ends, ends, str(m + 1), str(len(columns))]
    lines += ["\t".join(str(i) for i in starts), "\t".join(str(i) for i in columns)]
    for k, block in enumerate(arrays["blocks"]):
        lines.append(str(k))
        lines += [f"{x:.17e}" for x in block.reshape(3, 3).T.ravel()]
    for vector in (arrays["q"], mu):
        lines.append(" ".join(f"{x:.17e}" for x in vector))
    return "\n".join(lines) + "\n"


def main() -> None:
    """Answer requests until there are no more."""
    nsgs: Nsgs | None = None
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        answer: dict[str, Any] = {}
        if "problem" in request:
            nsgs = Nsgs(request["problem"], request["tolerance"])
        elif nsgs is not None:
            answer = (
                nsgs.solve(request["calls"]) if "calls" in request else nsgs.judge(request["judge"])
            )
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
