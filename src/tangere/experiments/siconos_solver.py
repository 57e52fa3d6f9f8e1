"""Siconos' solver of frictional contact problems, in a process of the system's Python."""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tangere.experiments.peers import SYSTEM_PYTHON
from tangere.friction.problem import Problem, block_problem
from tangere.maths.vec import Array

WORKER = Path(__file__).with_name("siconos_worker.py")


@functools.cache
def siconos_works() -> bool:
    """Whether the system's Python has Siconos."""
    if not SYSTEM_PYTHON.exists():
        return False
    probe = [str(SYSTEM_PYTHON), "-c", "import siconos.numerics"]
    return subprocess.run(probe, capture_output=True, check=False, timeout=60).returncode == 0


class Siconos:
    """A process that solves one problem by Siconos on request, see `siconos_worker`."""

    def __init__(self, problem: Problem, tolerance: float) -> None:
        """Start it with a problem, dense or in blocks, to be solved to its own error."""
        from scipy import sparse

        blocks = problem
        if len(problem.starts) == 1:
            blocks = block_problem(sparse.csr_matrix(problem.W), problem.q, problem.mu)
        self._process: Any = subprocess.Popen(
            [str(SYSTEM_PYTHON), str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "problem.npz"
            np.savez(
                path,
                starts=blocks.starts,
                columns=blocks.columns,
                blocks=blocks.W,
                q=blocks.q,
                mu=blocks.mu,
            )
            self._ask(problem=str(path), tolerance=tolerance)
        self.forces, self.iterations = np.zeros(len(problem.q)), 0

    def _ask(self, **request: Any) -> dict[str, Any]:
        """Answer to a request."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def seconds(self, n: int) -> list[float]:
        """Seconds of n solves; `forces` are those of the last."""
        answer = self._ask(calls=n)
        self.forces, self.iterations = np.array(answer["r"]), answer["iterations"]
        return list(answer["seconds"])

    def judge(self, r: Array) -> float:
        """Siconos' error of forces."""
        return float(self._ask(judge=r.tolist())["error"])

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
