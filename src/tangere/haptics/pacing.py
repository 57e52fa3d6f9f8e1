"""Clock, waiting and priority: the one place that knows the operating system.

Every tick has an absolute deadline. A wait sleeps until shortly before it and spends the rest
looking at the clock, because a sleeping thread wakes tens of microseconds late, and more at normal
priority.

On Linux kernels can do both without returning to Python (`kernel_ns`, `wait_until`; libc by symbol
name, so that they stay cacheable), and a thread may ask for real-time priority, a core of its own
and memory that is never paged out. Elsewhere, and under `TANGERE_PORTABLE=1`, kernels have no
clock: Python's own paces the compiled tick (`wait_in_python`) and there is nothing to ask for.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tangere._clock import PORTABLE, kernel_ns
from tangere._jit import kernel

SPIN = 200e-6  # [s] the last part of every wait is spent looking at the clock
PRIORITY = 40  # of 1 … 99, below the kernel's own threads

_INTERRUPTED = 4  # EINTR
_TIMER_SLACK = 29  # PR_SET_TIMERSLACK
_LOCK_ALL = (
    7  # MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT: what is touched stays, nothing is read ahead
)

# The same clock for Python: nanoseconds of a monotonic clock (CLOCK_MONOTONIC on Linux).
clock_ns: Callable[[], int] = time.perf_counter_ns


@dataclass(frozen=True)
class Granted:
    """What a thread got of what it asked for, and what to do about the rest."""

    compiled: bool
    """Whether the loop runs without the interpreter; otherwise Python paces each tick."""
    priority: int | None
    core: int | None
    locked: bool
    advice: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(
            (
                "compiled loop" if self.compiled else "loop paced by Python",
                f"real-time priority {self.priority}" if self.priority else "normal priority",
                "not pinned" if self.core is None else f"pinned to core {self.core}",
                "memory locked" if self.locked else "memory not locked",
            )
        )


def claim(priority: int | None = PRIORITY, core: int | None = None, *, pin: bool = True) -> Granted:
    """Ask for what a servo needs, for the calling thread; whatever is refused is only reported.

    Args:
        priority: Real-time priority, None to stay as it is.
        core: Core to run on alone; None takes the one with the fewest interrupts of those allowed,
            where there are several. Until `release` the other threads of this process and of its
            own helpers (the page) stay off it.
        pin: Whether to ask for a core at all.
    """
    if PORTABLE:
        word = "forced by TANGERE_PORTABLE" if sys.platform == "linux" else f"on {sys.platform}"
        return Granted(
            False,
            None,
            None,
            False,
            (
                f"the portable loop is in use ({word}): Python paces each tick, and any busy "
                "thread of the process delays it; keep viewers in their own process",
            ),
        )
    advice: list[str] = []
    _thin_slack()
    got_core = _pin(core, advice) if pin else None
    got_priority = _raise_priority(priority, advice) if priority else None
    return Granted(True, got_priority, got_core, _lock_memory(advice), tuple(advice))


def release() -> None:
    """Let the system page this process again, and its threads run on all cores."""
    if not PORTABLE:
        _libc().munlockall()
        others = _allowed() - _CLAIMED
        _CLAIMED.clear()
        _move(others, _allowed())


def keep_off(core: int | None) -> None:
    """Have the threads of this process stay off a core that another process claimed."""
    if not PORTABLE and core is not None and core not in _CLAIMED and len(_free()) > 1:
        _take(core)


def _raise_priority(priority: int, advice: list[str]) -> int | None:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except PermissionError:
        advice.append(
            "real-time priority was refused: add `@realtime - rtprio 90` to "
            "/etc/security/limits.conf, join that group and log in again"
        )
        return None
    except OSError as error:
        advice.append(f"real-time priority was refused: {error.strerror}")
        return None
    return priority


def _pin(core: int | None, advice: list[str]) -> int | None:
    allowed = sorted(_allowed())
    if core is None:
        if len(allowed) < 2:
            advice.append("one core only: the servo shares it with everything else")
            return None
        count = _interrupts()
        # one for every servo, but the last, which the rest of the program needs
        choice = _free() if len(_free()) > 1 else _CLAIMED
        core = min(choice, key=lambda each: (count.get(each, 0), -each))
    try:
        os.sched_setaffinity(0, {core})
        if core not in _CLAIMED:
            _take(core)
    except OSError as error:
        advice.append(
            f"core {core} was refused ({error.strerror}): choose one of "
            f"{', '.join(map(str, allowed))}"
        )
        return None
    return core


_CLAIMED: set[int] = set()  # cores that others stay off


def _free() -> frozenset[int]:
    """Cores that no servo has claimed."""
    return _allowed() - _CLAIMED


def _take(core: int) -> None:
    """Have all others stay off a core."""
    before = _free()
    _CLAIMED.add(core)
    _move(before, _free())


@functools.cache
def _allowed() -> frozenset[int]:
    """Cores that this process had before any of them was claimed."""
    return frozenset(os.sched_getaffinity(os.getpid()))


def _move(off: frozenset[int], to: frozenset[int]) -> None:
    """Threads of this process and of its helpers that may use `off` may now use `to`.

    Those that were given other cores on purpose keep them.
    """
    import multiprocessing

    for process in (os.getpid(), *(child.pid for child in multiprocessing.active_children())):
        for task in Path(f"/proc/{process}/task").glob("[0-9]*"):
            with suppress(OSError):  # it ended meanwhile
                if os.sched_getaffinity(int(task.name)) == off:
                    os.sched_setaffinity(int(task.name), to)


def _interrupts() -> dict[int, int]:
    """Interrupts of devices that each core has served so far."""
    try:
        head, *lines = Path("/proc/interrupts").read_text().splitlines()
    except OSError:
        return {}
    cores = [int(word.removeprefix("CPU")) for word in head.split()]
    counts = dict.fromkeys(cores, 0)
    for line in lines:
        name, *words = line.split()
        if name.rstrip(":").isdigit():  # the others are the cores' own
            for core, word in zip(cores, words, strict=False):
                counts[core] += int(word)
    return counts


def _lock_memory(advice: list[str]) -> bool:
    import resource

    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if os.geteuid() != 0 and limit != resource.RLIM_INFINITY:
        # It would be granted and then every later allocation beyond the limit would fail.
        advice.append(
            "memory is not locked: add `@realtime - memlock unlimited` to "
            "/etc/security/limits.conf, or have memory to spare"
        )
        return False
    if _libc().mlockall(_LOCK_ALL) != 0:
        advice.append(f"memory is not locked: {os.strerror(ctypes.get_errno())}")
        return False
    return True


def _thin_slack() -> None:
    """Wake normal threads without the 50 µs in which the system gathers timers."""
    _libc().prctl(_TIMER_SLACK, ctypes.c_ulong(1), 0, 0, 0)


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


# ---------------------------------------------------------------- waiting


def wait_in_python(
    due: int,
    spin: int,
    clock: Callable[[], int] = clock_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """The time when `due` has come; sleeps until `spin` before it. All in ns."""
    rest = due - spin - clock()
    if rest > 0:
        sleep(1e-9 * rest)
    now = clock()
    while now < due:
        now = clock()
    return now


if not PORTABLE:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    _I32, _I64 = ir.IntType(32), ir.IntType(64)
    _MONOTONIC, _ABSOLUTE = 1, 1  # CLOCK_MONOTONIC, TIMER_ABSTIME
    _SECOND = 1_000_000_000

    def _timespec(builder: Any) -> Any:
        return cgutils.alloca_once(builder, _I64, size=2)

    def _field(builder: Any, spec: Any, i: int) -> Any:
        return builder.gep(spec, [_I32(i)])

    @intrinsic
    def _sleep_until(context: Any, until: Any) -> Any:
        """Sleep until a time of the monotonic clock [ns]; the error number of the call."""

        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            spec = _timespec(builder)
            builder.store(builder.udiv(args[0], _I64(_SECOND)), _field(builder, spec, 0))
            builder.store(builder.urem(args[0], _I64(_SECOND)), _field(builder, spec, 1))
            kind = ir.FunctionType(_I32, [_I32, _I32, spec.type, spec.type])
            wait = cgutils.get_or_insert_function(builder.module, kind, "clock_nanosleep")
            flags = [_I32(_MONOTONIC), _I32(_ABSOLUTE), spec, spec.type(None)]
            return builder.sext(builder.call(wait, flags), _I64)

        return types.int64(types.int64), generate

    @kernel
    def wait_until(due: int, spin: int) -> int:
        """The time when `due` has come; sleeps until `spin` before it. All in ns."""
        if kernel_ns() < due - spin:
            while _sleep_until(due - spin) == _INTERRUPTED:
                pass
        now = kernel_ns()
        while now < due:
            now = kernel_ns()
        return now
