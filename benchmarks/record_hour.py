"""One hour of recording, two hands at 4 kHz, as fast as it runs: memory, size, and reading it.

    python benchmarks/record_hour.py [seconds of recording] [folder]

The rows are made up: hands wander and touch something half of the time, positions come in the steps
of an encoder, what is computed from them has all its digits.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tangere.haptics.layout import (
    NROW,
    ROW_APPLIED,
    ROW_CONTACT,
    ROW_COUPLING,
    ROW_DEPTH,
    ROW_DEVICE,
    ROW_GAIN,
    ROW_HAND,
    ROW_LATE,
    ROW_NET,
    ROW_OBSERVED,
    ROW_PLANES,
    ROW_SENT,
    ROW_SPENT_TIME,
    ROW_STATE,
    ROW_STORED,
    ROW_TIME,
    ROW_TOOL,
)
from tangere.haptics.mailbox import WRITTEN, new_ring
from tangere.maths.vec import Array
from tangere.trace.recorder import Recorder
from tangere.trace.trace import Trace

RATE = 4000
TOOLS = ("left", "right")
ENCODER = 1e-5  # step of a position [m]


def plausible_rows(ticks: int, seed: int) -> Array:
    """Rows of one hand."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((ticks, NROW))
    smooth = np.cumsum(np.cumsum(rng.normal(size=(ticks, 6)) * 1e-8, axis=0), axis=0)
    touching = (np.arange(ticks) // (RATE // 2)) % 2 == 1
    for start, step in ((ROW_DEVICE, ENCODER), (ROW_HAND, ENCODER), (ROW_TOOL, 0.0)):
        x = smooth[:, :3]
        rows[:, start : start + 3] = np.rint(x / step) * step if step else x
        rows[:, start + 3] = 1.0
        rows[:, start + 4 : start + 7] = 0.1 * smooth[:, 3:]
        rows[:, start + 7 : start + 10] = np.gradient(x, 1.0 / RATE, axis=0)
        rows[:, start + 10 : start + 13] = np.gradient(0.2 * smooth[:, 3:], 1.0 / RATE, axis=0)
    wrench = 1e3 * (rows[:, ROW_HAND : ROW_HAND + 6] - rows[:, ROW_TOOL : ROW_TOOL + 6])
    rows[:, ROW_COUPLING : ROW_COUPLING + 6] = wrench
    rows[:, ROW_SENT : ROW_SENT + 6] = rows[:, ROW_APPLIED : ROW_APPLIED + 6] = -wrench
    rows[:, ROW_CONTACT : ROW_CONTACT + 6] = -wrench * touching[:, None]
    rows[:, ROW_OBSERVED] = np.cumsum(np.abs(wrench[:, 0])) * 1e-6
    rows[:, ROW_STORED] = 5e-4 * wrench[:, 0] ** 2
    rows[:, ROW_DEPTH] = np.where(touching, 1e-5 * np.abs(wrench[:, 2]), -1.0)
    rows[:, ROW_PLANES] = touching
    rows[:, ROW_LATE] = rng.integers(100, 20_000, ticks) * 1e-9
    rows[:, ROW_SPENT_TIME] = rng.integers(6_000, 12_000, ticks) * 1e-9
    rows[:, ROW_GAIN] = rows[:, ROW_NET] = 1.0
    rows[:, ROW_STATE] = 2.0
    return rows


def resident() -> float:
    """Most memory of this process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main(seconds: float, folder: Path) -> None:
    """Record, then read."""
    path = folder / "hour.h5"
    some = np.hstack([plausible_rows(4 * RATE, seed) for seed in range(len(TOOLS))])
    batch = 1000
    ring, at = new_ring(batch, NROW * len(TOOLS))
    folder.mkdir(parents=True, exist_ok=True)
    Recorder([new_ring(1, NROW)], folder / "first.h5").finish()  # everything is loaded
    before, start, spent = resident(), time.perf_counter(), time.process_time()
    recorder = Recorder([(ring, at)], path, {"rate": float(RATE)}, tools=TOOLS)
    for first in range(0, round(seconds * RATE), batch):
        ring[:] = some[first % len(some) : first % len(some) + batch]
        ring[:, ROW_TIME::NROW] = ((first + np.arange(batch)) / RATE)[:, None]
        at[WRITTEN] += batch
        recorder.mark(first, 0, "batch", first)
        recorder.drain()
    trace = recorder.finish()
    took, spent = time.perf_counter() - start, time.process_time() - spent
    raw = len(trace) * 8 * NROW * len(TOOLS)
    size = path.stat().st_size
    say(f"{len(trace)} ticks, {trace.duration:.0f} s at {RATE} Hz, {len(TOOLS)} hands")
    say(f"recording   {took:.1f} s, {spent:.1f} s of processor time")
    say(f"memory      {resident() - before:.0f} MB more than before")
    say(f"size        {size / 1e6:.0f} MB, {100 * size / raw:.0f} % of the numbers")
    del trace
    start = time.perf_counter()
    trace = Trace.load(path)
    say(f"open        {time.perf_counter() - start:.2f} s")
    for name in ("left.contact.depth", "left.tool.force"):
        start = time.perf_counter()
        column = trace[name]
        took = time.perf_counter() - start
        say(f"column      {name}, {column.nbytes / 1e6:.0f} MB: {took:.2f} s")
    start = time.perf_counter()
    for name in trace:
        trace[name]
    say(f"all columns one after the other: {time.perf_counter() - start:.1f} s")
    say(f"memory      {resident() - before:.0f} MB more than before, at most")


if __name__ == "__main__":
    wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0
    if len(sys.argv) > 2:
        main(wanted, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(wanted, Path(temporary))
