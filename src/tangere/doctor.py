"""Can this machine hold the rate? Versions, caches, timer jitter, missing parts, advice."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

RATE = 1000.0  # [Hz] what a haptic servo needs
SPIN = 200e-6  # [s] the last part of every wait is spent looking at the clock: sleep is too coarse
LATE = 0.5e-3  # [s] half a period: a tick later than this is felt
BINS = (1e-6, 2e-6, 5e-6, 10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3)  # [s]
MANY_LATE = 1e-3  # share of late ticks from which the machine needs help

REQUIRED = ("numpy", "scipy", "numba", "trimesh", "coacd", "typer", "rich", "matplotlib", "viser")
OPTIONAL = (
    ("mujoco", "mujoco", "a peer in benchmarks and reports"),
    ("pybullet", "pybullet", "a peer in benchmarks and reports"),
    ("pydrake", "drake", "a peer with distributed contact in reports"),
    ("coal", "coal", "an oracle for distances in tests"),
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "firefox")


@dataclass(frozen=True)
class Jitter:
    """Lateness of the ticks of a paced loop [s]."""

    rate: float
    ticks: int
    p50: float
    p99: float
    p999: float
    worst: float
    late: int
    histogram: tuple[int, ...]
    """Ticks up to each limit of `BINS`, and beyond the last."""


@dataclass(frozen=True)
class Part:
    """A package or program: its version, or None with what it is for."""

    name: str
    version: str | None
    purpose: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """All that `tangere doctor` shows."""

    tangere: str
    python: str
    system: str
    processor: str
    cores: int
    load: float | None
    required: tuple[Part, ...]
    optional: tuple[Part, ...]
    browser: str | None
    cache: Path
    cache_size: int
    compiled: int
    jitter: Jitter
    advice: tuple[str, ...]


def measure_jitter(
    seconds: float = 2.0,
    rate: float = RATE,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], None] = time.sleep,
) -> Jitter:
    """Lateness of an empty loop paced as the servo paces itself: sleep, then look at the clock."""
    ticks = max(1, round(seconds * rate))
    late = []
    start = clock()
    for i in range(1, ticks + 1):
        due = start + i / rate
        rest = due - clock() - SPIN
        if rest > 0.0:
            sleep(rest)
        now = clock()
        while now < due:
            now = clock()
        late.append(now - due)
    late.sort()

    def share(p: float) -> float:
        return late[min(ticks - 1, int(p * ticks))]

    counts = [0] * (len(BINS) + 1)
    for value in late:
        counts[next((i for i, limit in enumerate(BINS) if value <= limit), len(BINS))] += 1
    missed = sum(value > LATE for value in late)
    return Jitter(
        rate, ticks, share(0.5), share(0.99), share(0.999), late[-1], missed, tuple(counts)
    )


def examine(seconds: float = 2.0) -> Diagnosis:
    """Look at this machine; takes as long as the jitter is measured."""
    from tangere._jit import cache_root, compiled_count

    cache = cache_root()
    required = tuple(_part(name, name) for name in REQUIRED)
    optional = tuple(_part(module, name, purpose) for module, name, purpose in OPTIONAL)
    compiled = compiled_count()
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    jitter = measure_jitter(seconds)
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return Diagnosis(
        tangere=importlib.metadata.version("tangere"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=processor(),
        cores=cores,
        load=load,
        required=required,
        optional=optional,
        browser=browser,
        cache=cache,
        cache_size=size,
        compiled=compiled,
        jitter=jitter,
        advice=_advice(
            jitter=jitter,
            required=required,
            browser=browser,
            compiled=compiled,
            cores=cores,
            load=load,
            cache=cache,
        ),
    )


def _part(module: str, name: str, purpose: str = "") -> Part:
    if importlib.util.find_spec(module) is None:
        return Part(name, None, purpose)
    try:
        return Part(name, importlib.metadata.version(name), purpose)
    except importlib.metadata.PackageNotFoundError:
        return Part(name, "unknown version", purpose)


def processor() -> str:
    """Name of the processor as the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _advice(
    *,
    jitter: Jitter,
    required: tuple[Part, ...],
    browser: str | None,
    compiled: int,
    cores: int,
    load: float | None,
    cache: Path,
) -> tuple[str, ...]:
    """What to do, most useful first; nothing to say is said too."""
    lines = [
        f"{part.name} is missing: pip install {part.name}" for part in required if not part.version
    ]
    share = jitter.late / jitter.ticks
    if share > MANY_LATE:
        lines.append(
            f"{100 * share:.1f} % of the ticks came more than {1e3 * LATE:g} ms late: close other "
            "programs, choose the performance profile of the system, or use a machine with a core "
            "to spare"
        )
    if load is not None and load > cores:
        lines.append(f"the load is {load:.1f} on {cores} cores: other work will disturb the servo")
    if cores < 2:
        lines.append("one core only: servo and viewer will share it, and ticks will be late")
    if not compiled:
        lines.append(
            "no kernels compiled yet: the first run takes longer (python -m tangere.warmup)"
        )
    if not os.access(cache if cache.exists() else cache.parent, os.W_OK) and cache.parent.exists():
        lines.append(f"{cache} cannot be written: set TANGERE_CACHE_DIR to a writable folder")
    if browser is None:
        lines.append("no browser found here: open the address that `tangere play` prints elsewhere")
    if sys.platform == "win32":
        lines.append("Windows sleeps in steps of up to 15 ms: expect more jitter than on Linux")
    if not lines:
        lines.append(f"this machine can hold {jitter.rate:g} Hz")
    return tuple(lines)
