"""Speed, measured: what `tangere bench` runs.

Every benchmark is one function of the number of rounds; its module is imported when asked for.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tangere.bench.report import Result, show
from tangere.errors import SceneError

NAMES = {
    "block-tower": "time per step of stacked blocks beside MuJoCo, Bullet and ODE",
    "resting": "time of the implicit step of a resting tower and wall beside MuJoCo and Bullet",
    "heap": "time and memory of 100, 1,000 and 10,000 blocks in a heap",
    "balls": "time per step of balls and cylinders beside as many boxes",
    "gjk": "distance of two hulls of 8, 32 and 192 vertices, warm and cold",
    "volume": "contact volume of two hulls of 8, 32 and 192 vertices, by clipping and by duality",
    "servo": "late ticks of the 1 kHz loop, alone, at work, and beside a busy Python thread",
    "friction": "frictional contact problems beside Siconos, and those of a pad that moves",
    "soft": "contacts of a clip on a pipe and of soft pads, by their number, beside Siconos",
    "penalty": "contact update of spoon and cup, of blocks face to face, and distance fields",
    "formation": "contact formations: contacts found, and the force model",
    "startup": "import, first start and every later start",
    "versions": "time per step and digits beside another checkout, with --against PATH",
}

# The one that needs to be told what to compare with.
VERSIONS = "versions"
# Those that tell where the time of our steps goes.
STAGED = ("block-tower", "resting", "heap", "soft")

BUSY = 0.5  # load per core from which times are doubtful

# Module and function of each.
FUNCTIONS = {
    "block-tower": ("block_tower", "measure"),
    "resting": ("resting", "measure"),
    "heap": ("heap", "measure"),
    "balls": ("balls", "measure"),
    "gjk": ("pairs", "measure_gjk"),
    "volume": ("pairs", "measure_volume"),
    "servo": ("servo", "measure"),
    "friction": ("friction", "measure"),
    "soft": ("soft", "measure"),
    "penalty": ("penalty", "measure"),
    "formation": ("formation", "measure"),
    "startup": ("startup", "measure"),
    "versions": ("versions", "measure"),
}


def run(
    names: Sequence[str] = (),
    *,
    as_json: bool = False,
    rounds: int | None = None,
    stages: bool = False,
    against: Path | None = None,
) -> list[Result]:
    """Results of the named benchmarks, all by default, printed one by one as they come.

    Args:
        names: Keys of `NAMES`.
        as_json: Print one JSON list instead of tables.
        rounds: Turns of each contestant; more give better tails. None leaves each its own default.
        stages: Show where the time of our steps goes, as far as a benchmark makes steps.
        against: Another checkout, for `versions`.
    """
    for name in names:
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, 1)
            remedy = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(NAMES)}"
            raise SceneError(f"no benchmark named {name!r}: {remedy}")
        if stages and name not in STAGED:
            raise SceneError(f"bench --stages: {name} has none; there are: {', '.join(STAGED)}")
    if (VERSIONS in names) != (against is not None):
        raise SceneError("bench: versions and --against PATH (a checkout) go together")
    busy = _busy()
    results: list[Result] = []
    for name in names or [name for name in NAMES if name != VERSIONS]:
        module, function = FUNCTIONS[name]
        measure = getattr(import_module(f"tangere.bench.{module}"), function)
        given: dict[str, Any] = {} if rounds is None else {"rounds": rounds}
        if name == VERSIONS:
            given["against"] = against
        result: Result = measure(**given)
        result.notes.extend(busy)
        results.append(result)
        if not as_json:
            show(result, stages)
    if as_json:
        import json
        import sys

        json.dump([result.to_json(stages) for result in results], sys.stdout, indent=1)
        sys.stdout.write("\n")
    return results


def _busy() -> list[str]:
    """A warning when other programs run: they stretch long calls more than short ones."""
    load, cores = (os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0), os.cpu_count() or 1
    if load < BUSY * cores:
        return []
    return [f"the machine was busy (load {load:.1f} on {cores} cores): repeat when it is quiet"]
