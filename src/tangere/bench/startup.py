"""What a user waits for: the import, the first start ever, and every later start."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tangere._jit import PACKAGE
from tangere.bench.report import Result, Row, Table

IMPORT = "import tangere"
FIRST_STEP = """
import tangere as tg
scene = tg.Scene()
scene.add_floor()
scene.add_body(tg.Box((0.2, 0.2, 0.1)), position=(0, 0, 0.05))
tg.Simulation(scene).step()
"""
# As `make demo` begins: with a second process where there is much to do.
EVERY_KERNEL = "from tangere.warmup import warm_up_together; warm_up_together()"


def measure(rounds: int = 5) -> Result:
    """Seconds of fresh processes; cold starts have an empty kernel cache and are made once."""
    begin = time.perf_counter()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as cold, tempfile.TemporaryDirectory() as warm:
        bare = _seconds("pass", Path(warm), rounds)
        rows.append(_row("python itself", bare))
        rows.append(_row(IMPORT, _seconds(IMPORT, Path(warm), rounds)))
        rows.append(_row("first step, nothing compiled yet", _seconds(FIRST_STEP, Path(cold), 1)))
        rows.append(
            _row("every kernel, nothing compiled yet", _seconds(EVERY_KERNEL, Path(warm), 1))
        )
        rows.append(_row("first step, compiled before", _seconds(FIRST_STEP, Path(warm), rounds)))
        rows.append(
            _row("every kernel, compiled before", _seconds(EVERY_KERNEL, Path(warm), rounds))
        )
        size = sum(path.stat().st_size for path in Path(warm).rglob("*") if path.is_file())
    notes = [
        "each is one fresh process, the interpreter's own start included; to compile every kernel "
        "it calls a second one to its help, as `python -m tangere.warmup` does",
        f"the compiled kernels take {size / 1e6:.1f} MB on disk",
    ]
    tables = [Table("seconds until done", rows)]
    return Result("startup", {"rounds": rounds}, tables, notes, time.perf_counter() - begin)


def _seconds(code: str, cache: Path, n: int) -> list[float]:
    environment = {
        **os.environ,
        "TANGERE_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]),
    }
    found = []
    for _ in range(n):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, stderr=-3)
        found.append(time.perf_counter() - start)
    return found


def _row(what: str, seconds: list[float]) -> Row:
    return {"what": what, "median [s]": float(np.median(seconds)), "worst [s]": max(seconds)}
