"""Growth with size: blocks that fall into a heap, 100, 1,000 and 10,000 of them.

Time per step and memory must grow in proportion to the blocks. Blocks in five layers have about as
many neighbours whatever their number: that is growth with size alone. In a cube, the larger it is,
the more blocks lie on blocks instead of the floor, and the faster they fall.
Each size runs in a process of its own, so that its memory can be told from that of the others. Each
way to make a step has its own tables and its own claim.

A step of 100 blocks takes three times as long as the next one when a few of them collide, and heaps
differ. So several small heaps are timed, one after the other, all at the same time after the drop;
what is compared is the mean over all steps and heaps.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tangere as tg
from tangere._jit import PACKAGE
from tangere.bench.report import Result, Row, Table, line_fit, spread
from tangere.bench.turns import durations
from tangere.contact.method import methods
from tangere.steppers.profile import Profile

COUNTS = (100, 1_000, 10_000)
BLOCK = (0.1, 0.1, 0.05)  # [m]
SPACING = 0.151  # [m] between centres: above a block's diagonal, so no two overlap at the start
STEPS = {"explicit": 1e-3, "implicit": 5e-3}  # integrator: step [s]
# Time per block of the largest heap over that of the smallest that is claimed at most:
# small ones have fewer contacts per block, and the solver's rounds grow a little with the heap.
CLAIMED = {"explicit": 1.5, "implicit": 3.0}
# Blocks to be timed at least: ten heaps of 100, and more where there are fewer calls.
SAMPLE = {"explicit": 1_000, "implicit": 4_000}
FALL = 0.8  # [s] before timing: most blocks have arrived
STEPS_PER_CALL = 5
# Calls of an implicit heap, of every size: a tenth of a second. A large one would take minutes for
# more, and small ones would be nearer to rest by then.
CALLS = 4
LAYERS = 5
KINDS = {"layers": f"{LAYERS} layers of blocks", "cube": "a cube of blocks"}


def scene(count: int, kind: str = "cube", number: int = 0) -> tg.Scene:
    """Loose, randomly turned blocks above a floor, in a few layers or in a cube; heap `number`."""
    rng = np.random.default_rng(count + number)
    side = round((count / LAYERS) ** 0.5 if kind == "layers" else count ** (1 / 3) + 0.5)
    side = max(side, 1)
    made = tg.Scene()
    made.add_floor()
    shape = tg.Box(BLOCK)
    for i in range(count):
        place = np.array([i % side, i // side % side, i // side**2 + 0.5])
        made.add_body(
            shape,
            mass=0.2,
            position=SPACING * place,
            orientation=rng.normal(size=4),
        )
    return made


def measure(
    rounds: int = 20,
    counts: tuple[int, ...] = COUNTS,
    integrators: tuple[str, ...] = tuple(methods[methods.default].steppers),
) -> Result:
    """Time per step and memory of all sizes; a round is one call of a few steps."""
    begin = time.perf_counter()
    tables: list[Table] = []
    notes: list[str] = []
    profiles: dict[str, Profile] = {}
    growth = [
        _grow(rounds, counts, kind, integrator, tables, notes, profiles)
        for integrator in integrators
        for kind in KINDS
    ]
    title = f"mean time per block, heaps of {counts[-1]} over heaps of {counts[0]}"
    tables.append(Table(title, growth))
    settings = {
        "step_s": {integrator: STEPS[integrator] for integrator in integrators},
        "fall_s": FALL,
        "steps_per_call": STEPS_PER_CALL,
        "rounds": rounds,
    }
    return Result("heap", settings, tables, notes, time.perf_counter() - begin, profiles)


def _grow(
    rounds: int,
    counts: tuple[int, ...],
    kind: str,
    integrator: str,
    tables: list[Table],
    notes: list[str],
    profiles: dict[str, Profile],
) -> Row:
    """Append what one kind of heap gives; its row in the table of growth."""
    words = KINDS[kind] if integrator == "explicit" else f"{KINDS[kind]}, {integrator}"
    times: list[Row] = []
    memory: list[Row] = []
    for count in counts:
        found = _in_fresh_process(count, kind, rounds, integrator)
        profiles[f"{count} blocks, {KINDS[kind]}, {integrator}"] = Profile(**found["profile"])
        spent = spread(found["seconds"], STEPS_PER_CALL)
        mean = 1e6 * sum(found["seconds"]) / len(found["seconds"]) / STEPS_PER_CALL
        times.append(
            {
                "blocks": count,
                "heaps": found["heaps"],
                "contacts / block": found["contacts"] / count,
                **spent,
                "mean [µs]": mean,
                "mean / block [µs]": mean / count,
            }
        )
        memory.append(
            {
                "blocks": count,
                "memory [MB]": found["bytes"] / 1e6,
                "per block [kB]": found["bytes"] / count / 1e3,
                "built in [s]": found["build"],
            }
        )
    tables.append(Table(f"{words}, time per step of {1e3 * STEPS[integrator]:g} ms", times))
    tables.append(Table(f"{words}, memory beyond the first block", memory))
    for what, rows, column in (
        ("time per step [µs]", times, "mean [µs]"),
        ("memory [MB]", memory, "memory [MB]"),
    ):
        _, slope, r2 = line_fit(counts, [float(row[column] or 0.0) for row in rows])
        notes.append(f"{words}: {what} grows by {slope:.3g} per block, R² = {r2:.4f}")
    first, last = (float(row["mean / block [µs]"] or 0.0) for row in (times[0], times[-1]))
    return {"heap": f"{KINDS[kind]}, {integrator}", **claim(integrator, last / first)}


def claim(integrator: str, ratio: float) -> Row:
    """Growth of the time per block, what is claimed of it, and the verdict."""
    most = CLAIMED[integrator]
    verdict = "holds" if ratio <= most else "FAILS"
    return {"times": ratio, "claimed at most": most, "verdict": verdict}


def _in_fresh_process(count: int, kind: str, rounds: int, integrator: str) -> dict[str, Any]:
    given = f"{count}, {kind!r}, {rounds}, {integrator!r}"
    code = f"from tangere.bench.heap import report; report({given})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def report(count: int, kind: str, rounds: int, integrator: str) -> None:
    """Build, drop and time heaps of one size, one after the other; print the findings as JSON."""
    dt = STEPS[integrator]
    # everything that is loaded once is loaded now
    tg.Simulation(scene(1), dt=dt, integrator=integrator).step()
    heaps = max(1, SAMPLE[integrator] // count)
    seconds: list[float] = []
    contacts, memory, build = 0, 0, 0.0
    for number in range(heaps):
        before, start = resident(), time.perf_counter()
        simulation = tg.Simulation(scene(count, kind, number), dt=dt, integrator=integrator)
        built = time.perf_counter() - start
        simulation.step(round(FALL / dt))
        turns = min(rounds, CALLS) if integrator == "implicit" else rounds
        seconds += durations(partial(simulation.step, STEPS_PER_CALL), turns)
        contacts += len(simulation.contacts)
        if number == 0:  # later ones take over what the first has given back
            memory, build = resident() - before, built
    found = {
        "heaps": heaps,
        "seconds": seconds,
        "contacts": contacts / heaps,
        "bytes": memory,
        "build": build,
        "profile": asdict(simulation.profile),
    }
    json.dump(found, sys.stdout)


def resident() -> int:
    """Memory that this process holds now [bytes]; its peak where the system does not tell."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        import os

        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
