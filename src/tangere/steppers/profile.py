"""Where the time of a step goes: a clock that kernels read between two stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tangere._clock import kernel_ns
from tangere._jit import kernel
from tangere._ptr import PtrI8
from tangere.maths.vec import LongArray
from tangere.model import LAST_LAP


@kernel
def start_clock(times: PtrI8) -> None:
    """The first stage begins."""
    times[LAST_LAP] = kernel_ns()


@kernel
def lap(times: PtrI8, stage: int) -> None:
    """A stage ends, and the next one begins."""
    now = kernel_ns()
    times[stage] += now - times[LAST_LAP]
    times[LAST_LAP] = now


@dataclass(frozen=True)
class Profile:
    """Time per stage of a step, of the last call and since the start."""

    stages: tuple[str, ...]
    last: tuple[float, ...]
    """Of the last call of `Simulation.step` [s]."""
    last_steps: int
    total: tuple[float, ...]
    """Since the start [s]."""
    steps: int

    def __str__(self) -> str:
        """A table: microseconds per step and share of each stage."""
        whole = sum(self.total)
        width = max(len(name) for name in self.stages)
        lines = [f"{'stage':<{width}}   last call    all steps   share"]
        for name, last, total in zip(self.stages, self.last, self.total, strict=True):
            share = total / whole if whole > 0.0 else 0.0
            lines.append(
                f"{name:<{width}}  {1e6 * last / max(1, self.last_steps):7.1f} µs  "
                f"{1e6 * total / max(1, self.steps):8.1f} µs  {share:6.1%}"
            )
        lines.append(f"{self.steps} steps, {1e6 * whole / max(1, self.steps):.1f} µs each")
        return "\n".join(lines)


class StageTimes:
    """Adds up what kernels leave in `Work.times`."""

    def __init__(self, stages: Sequence[str]) -> None:
        self._stages = tuple(stages)
        self._last = np.zeros(len(self._stages))
        self._total = np.zeros(len(self._stages))
        self._last_steps = self._steps = 0

    def begin(self, times: LongArray) -> None:
        """A call begins."""
        times[:] = 0
        self._last[:] = 0.0
        self._last_steps = 0

    def take(self, times: LongArray, steps: int) -> None:
        """So many steps were made."""
        spent = 1e-9 * times[: len(self._stages)]
        times[:] = 0
        self._last += spent
        self._total += spent
        self._last_steps += steps
        self._steps += steps

    def profile(self) -> Profile:
        """The times so far."""
        return Profile(
            self._stages,
            tuple(self._last.tolist()),
            self._last_steps,
            tuple(self._total.tolist()),
            self._steps,
        )
