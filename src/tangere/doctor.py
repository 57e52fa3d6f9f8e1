"""Can this machine hold the rate? Versions, caches, timer jitter, missing parts, advice."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tangere.haptics.pacing import Granted
from tangere.haptics.servo import Counters, Servo, bin_limits

if TYPE_CHECKING:
    from tangere.fakes.measure import Answers

RATE = 1000.0  # [Hz] what a haptic servo needs
BINS = (1e-6, 2e-6, 5e-6, 10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3)  # [s]
MANY_LATE = 1e-3  # share of ticks later than 100 µs from which the machine needs help
FAR_MORE = 2.0  # times as many late ticks with work as without: the tick is too long
LONG_TICK = 0.1  # of the period: a median tick beyond this leaves little for the rest

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
    """How a paced loop kept time."""

    counters: Counters
    granted: Granted
    histogram: tuple[int, ...]
    """Ticks up to each limit of `BINS`, and beyond the last."""

    @property
    def duration(self) -> float:
        """Median tick [s]."""
        return self.counters.duration.p50


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
    empty: Jitter
    """Of a loop that only waits."""
    full: Jitter
    """Of that of a session, with a tool that leans on a floor."""
    answers: Answers | None
    """How a device with a fake driver was answered; None: the driver could not be built."""
    advice: tuple[str, ...]


def measure(seconds: float = 5.0) -> tuple[Jitter, Jitter, Answers | None]:
    """An empty loop, that of a session, and how a device was answered; `seconds` each.

    The session has a device whose driver is a fake of a vendor's library; without a compiler for
    that, a script moves the hand, and there is no device to ask.
    """
    from tangere.fakes.measure import answers, leaning, vendors
    from tangere.fakes.vendors import why_not

    idle = Servo([], rate=RATE, ticks=max(1, round(seconds * RATE)))
    idle.start()
    idle.join()
    idle.stop()
    granted = idle.granted
    assert granted is not None  # it was started
    empty = Jitter(idle.counters, granted, histogram(idle.counters))
    if why_not():
        told = None
        counters = leaning(seconds)
    else:
        with vendors() as libraries, tempfile.TemporaryDirectory() as folder:
            told = answers(libraries, Path(folder), seconds=seconds)
            counters = told.counters
    return empty, Jitter(counters, granted, histogram(counters)), told


def histogram(counters: Counters) -> tuple[int, ...]:
    """Ticks up to each limit of `BINS`, and beyond the last."""
    counts = [0] * (len(BINS) + 1)
    for count, limit in zip(counters.late_histogram, 1e-9 * bin_limits(), strict=True):
        counts[bisect_left(BINS, limit)] += count
    return tuple(counts)


def examine(seconds: float = 5.0) -> Diagnosis:
    """Look at this machine; takes a little more than twice as long as each loop is watched."""
    from tangere._jit import cache_root, is_compiled

    cache = cache_root()
    required = tuple(_part(name, name) for name in REQUIRED)
    optional = tuple(_part(module, name, purpose) for module, name, purpose in OPTIONAL)
    compiled = is_compiled("tangere.steppers.implicit")
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    empty, full, told = measure(seconds)
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
        empty=empty,
        full=full,
        answers=told,
        advice=_advice(
            empty=empty,
            full=full,
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
    empty: Jitter,
    full: Jitter,
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
    lines.extend(full.granted.advice)
    lines.extend(_of_lateness(empty, full))
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
        lines.append(f"this machine can hold {RATE:g} Hz")
    return tuple(lines)


def _of_lateness(empty: Jitter, full: Jitter) -> Iterator[str]:
    idle, busy = empty.counters.late_share, full.counters.late_share
    if busy > MANY_LATE:
        yield (
            f"{100 * busy:.2g} % of the ticks began more than 100 µs late, "
            f"{100 * idle:.2g} % in a loop that only waits"
        )
        if busy > FAR_MORE * max(idle, MANY_LATE):
            yield "the work of the tick delays it: close programs that fill memory or caches"
        else:
            yield (
                "the system takes the core away: close other programs, choose the performance "
                "profile, keep a core free (isolcpus), or use a kernel for real time"
            )
    if full.duration > LONG_TICK / RATE:
        yield (
            f"a tick takes {1e6 * full.duration:.0f} µs in the median: this processor is slow for "
            f"{RATE:g} Hz, or is saving power"
        )
    if (governor := _governor()) not in (None, "performance"):
        yield (
            f"the processor's governor is {governor!r}: "
            "`sudo cpupower frequency-set -g performance` keeps it awake"
        )
    if busy > MANY_LATE and _is_virtual():
        yield "this is a virtual machine: its host may take the core away for milliseconds"


def _governor() -> str | None:
    """How the processor saves power, where the system tells."""
    path = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return path.read_text(encoding="utf-8").strip() if path.exists() else None


def _is_virtual() -> bool:
    info = Path("/proc/cpuinfo")
    return info.exists() and " hypervisor" in info.read_text(encoding="utf-8", errors="replace")
