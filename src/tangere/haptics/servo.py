"""The paced loop: one or two hands, a thousand times a second, without the interpreter.

Tick n is due at begin + n T. The loop waits for it, runs the tick of every hand, and hands the rows
to the recorder's ring and the newest ones to the viewer's mailbox. A loop that comes a whole period
late or more leaves out the ticks it missed and counts them: a burst of ticks would integrate the
tool over time that the hand never had. It ends with zero force sent, however it ends.

Everything that others read or change while it runs is in the control block, whole numbers that are
loaded and stored as one: see `CTL_…`.
"""

from __future__ import annotations

import atexit
import mmap
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._clock import PORTABLE, kernel_ns
from tangere._jit import JIT_DISABLED, kernel, one_bar
from tangere._native import parent_process
from tangere._ptr import PtrI8, load, off, pointers, store
from tangere.errors import SceneError
from tangere.haptics import pacing
from tangere.haptics.driver import has_driver, write_driver
from tangere.haptics.layout import (
    FAULT_ESCAPE,
    MEM_PAUSED,
    NROW,
    NSEND,
    ROW_LATE,
    ROW_MISSED,
    ROW_SPENT_TIME,
    SEND_FORCE,
    SEND_GRIPPER,
    SEND_SEQUENCE,
    SET_STEP,
    Rig,
    new_mailbox,
    new_rig,
)
from tangere.haptics.mailbox import DROPPED, drain, new_ring, post, push, take
from tangere.haptics.tick import tick
from tangere.maths.vec import Array, LongArray

# ------------------------------------------------ control block, int64
CTL_STOP = 0  # 1: leave the loop
CTL_PAUSE = 1  # 1: zero force, the loop goes on
CTL_HEARTBEAT = 2  # clock at the end of the last tick [ns]
CTL_TICKS = 3  # done
CTL_MISSED = 4  # left out
CTL_LATE = 5  # done later than LATE, and left out
CTL_WORST_LATE = 6  # [ns]
CTL_WORST_TICK = 7  # [ns]
CTL_PERIOD = 8  # T [ns]
CTL_SPIN = 9  # [ns]
CTL_BEGIN = 10  # clock at tick 0 [ns]
CTL_NEXT = 11  # number of the next tick
CTL_LIMIT = 12  # ticks to do; 0: until stopped
CTL_HANDS = 13  # 0, 1 or 2
CTL_ENDED = 14  # 1: the loop has left, and zero force was sent
CTL_PARENT = 15  # process whose death ends the loop; 0: none
CTL_LATE_BINS = 16  # NBINS: lateness of the ticks done, see `_bin`
NBINS = 256
CTL_TICK_BINS = CTL_LATE_BINS + NBINS  # NBINS: their duration
NCTL = CTL_TICK_BINS + NBINS

LATE_NS = 100_000  # a tick that starts later than this after its deadline counts as late
STALL_NS = 50_000_000  # a loop that stood still for so long lets the force ramp up again
STALL = 1e-9 * STALL_NS
RING_ROWS = 8192  # eight seconds at 1 kHz
JOIN = 2.0  # [s] a loop that was told to stop leaves within a period
MAX_HANDS = 2
LOWEST_RATE, HIGHEST_RATE = 10.0, 10_000.0  # [Hz]


class Loop(NamedTuple):
    """What the loop shares with the rest of the program.

    | field     | meaning                                             | shape                 |
    | control   | CTL_…                                               | (NCTL,) int64         |
    | rows      | of the tick just done, hand by hand                 | (2 NROW,)             |
    | ring      | rows for the recorder, see `haptics.mailbox`        | (rows, hands × NROW)  |
    | ring_at   | its counts                                          | int64                 |
    | latest    | mailbox with the newest `rows`; latest_at: indices  | …                     |
    """

    control: LongArray
    rows: Array
    ring: Array
    ring_at: LongArray
    latest: Array
    latest_at: LongArray


def new_loop(
    hands: int, rate: float, spin: float = pacing.SPIN, ring_rows: int = RING_ROWS
) -> Loop:
    """The arrays of a loop that was not started yet."""
    control = np.zeros(NCTL, dtype=np.int64)
    control[CTL_PERIOD] = round(1e9 / rate)
    control[CTL_SPIN] = round(1e9 * spin)
    control[CTL_HANDS] = hands
    return Loop(
        control,
        np.zeros(MAX_HANDS * NROW),
        *new_ring(ring_rows, max(1, hands) * NROW),
        *new_mailbox(MAX_HANDS * NROW),
    )


# ---------------------------------------------------------------- kernels

if not PORTABLE:

    @kernel
    def serve(first: Rig, second: Rig, loop: Loop) -> None:
        """Run the loop until it is told to stop; the second rig is not touched with one hand."""
        a, b, l = pointers(first), pointers(second), pointers(loop)
        rows = len(loop.ring)
        c = l.control
        if c[CTL_BEGIN] == 0:
            c[CTL_BEGIN] = kernel_ns() + c[CTL_PERIOD]
        while load(c, CTL_STOP) == 0 and (c[CTL_LIMIT] == 0 or c[CTL_TICKS] < c[CTL_LIMIT]):
            start = pacing.wait_until(_due(c), c[CTL_SPIN])
            if c[CTL_PARENT] != 0 and parent_process() != c[CTL_PARENT]:
                break
            run_due_tick(a, b, l, start)
            finish_tick(l, rows, start, kernel_ns())
        send_zero(a, b, l)


@kernel
def do_tick(first: Rig, second: Rig, loop: Loop, start: int) -> None:
    """The next tick of all hands, begun at the time `start` [ns]."""
    run_due_tick(pointers(first), pointers(second), pointers(loop), start)


@kernel
def end_tick(loop: Loop, start: int, end: int) -> None:
    """Count the tick and hand its rows over, once it is known how long it took [ns]."""
    finish_tick(pointers(loop), len(loop.ring), start, end)


@kernel
def leave(first: Rig, second: Rig, loop: Loop) -> None:
    """Send zero force; the loop has ended."""
    send_zero(pointers(first), pointers(second), pointers(loop))


@kernel
def _due(c: PtrI8) -> int:
    """Deadline of the next tick [ns]."""
    return c[CTL_BEGIN] + c[CTL_NEXT] * c[CTL_PERIOD]  # type: ignore[no-any-return]


@kernel
def run_due_tick(first: Rig, second: Rig, l: Loop, start: int) -> None:
    """Leave out what was missed, then run the tick that is due; all given as pointers."""
    c = l.control
    late = start - _due(c)
    missed = late // c[CTL_PERIOD]
    n = c[CTL_NEXT] + missed
    c[CTL_NEXT] = n + 1
    c[CTL_MISSED] += missed
    c[CTL_LATE] += missed
    if late > LATE_NS:
        c[CTL_LATE] += 1
    c[CTL_WORST_LATE] = max(c[CTL_WORST_LATE], late)
    c[CTL_LATE_BINS + _bin(late)] += 1
    escape = load(c, CTL_PAUSE) != 0 or late > STALL_NS
    for hand in range(c[CTL_HANDS]):
        r = first if hand == 0 else second
        r.memory[MEM_PAUSED] = FAULT_ESCAPE if escape else 0.0
        tick(r, n, n * r.settings[SET_STEP], 1e-9 * start)
        row = off(l.rows, hand * NROW)
        for k in range(NROW):
            row[k] = r.row[k]
        row[ROW_LATE] = 1e-9 * late
        row[ROW_MISSED] = missed


@kernel
def finish_tick(l: Loop, ring_rows: int, start: int, end: int) -> None:
    """Count the tick and hand its rows over."""
    c = l.control
    spent = end - start
    hands = c[CTL_HANDS]
    c[CTL_WORST_TICK] = max(c[CTL_WORST_TICK], spent)
    c[CTL_TICK_BINS + _bin(spent)] += 1
    for hand in range(hands):
        l.rows[hand * NROW + ROW_SPENT_TIME] = 1e-9 * spent
    if hands > 0:
        push(l.ring, l.ring_at, ring_rows, l.rows, hands * NROW)
        post(l.latest, l.latest_at, l.rows, MAX_HANDS * NROW)
    store(c, CTL_TICKS, c[CTL_TICKS] + 1)
    store(c, CTL_HEARTBEAT, end)


@kernel
def send_zero(first: Rig, second: Rig, l: Loop) -> None:
    """Send zero force to every hand; once."""
    c = l.control
    if c[CTL_ENDED] != 0:
        return
    for hand in range(c[CTL_HANDS]):
        r = first if hand == 0 else second
        for k in range(6):
            r.send[SEND_FORCE + k] = 0.0
        r.send[SEND_GRIPPER] = 0.0
        r.send[SEND_SEQUENCE] = c[CTL_NEXT]
        if has_driver(r):
            write_driver(r)
        else:
            post(r.outbox, r.outbox_at, r.send, NSEND)
    store(c, CTL_ENDED, 1)


@kernel
def _bin(ns: int) -> int:
    """Bin of a duration: eight to an octave, so that a bin is at most an eighth wide; [0, 17 s]."""
    if ns < 8:
        return max(0, ns)
    octave = 0
    while ns >> octave >= 16:
        octave += 1
    return min(NBINS - 1, 8 * (octave + 1) + (ns >> octave) % 8)


def bin_limits() -> LongArray:
    """Upper end of every bin [ns]: a duration in bin i is below element i."""
    i = np.arange(1, NBINS + 1)
    octave = np.maximum(i // 8 - 1, 0)
    return np.where(i < 8, i, (8 + i % 8) << octave)


# ---------------------------------------------------------------- front


@dataclass(frozen=True)
class Spread:
    """Percentiles of durations [s], each rounded up by an eighth at most; the worst is exact."""

    p50: float
    p99: float
    p999: float
    worst: float


@dataclass(frozen=True)
class Counters:
    """How a loop has kept time."""

    ticks: int
    missed: int
    """Left out because the loop came a whole period late or more."""
    late: int
    """Begun more than 100 µs after their deadline, those missed included."""
    dropped: int
    """Rows that the recorder was too slow for."""
    lateness: Spread
    duration: Spread
    late_histogram: tuple[int, ...]
    """Ticks per bin of `bin_limits`."""

    @property
    def late_share(self) -> float:
        """Share of all ticks that were late or missed."""
        return self.late / max(1, self.ticks + self.missed)


class Servo:
    """A thread that runs the loop for one or two hands; with none it is an empty loop, to compare.

    The rigs belong to the servo while it runs: others use their mailboxes, `newest` and the ring,
    and may change settings, which the next tick sees.

    Args:
        rigs: Up to two.
        rate: Ticks per second [Hz].
        ticks: Stop after so many; 0 goes on until `stop`.
        priority: Real-time priority to ask for, None for none.
        core: Core to ask for; None takes the last one.
        pin: Whether to ask for a core.
        spin: End of every wait that is spent looking at the clock [s].
        ring_rows: Room for rows that the recorder has not fetched yet.
        loop: What it shares with the rest of the program; made here if not given.
    """

    def __init__(
        self,
        rigs: Sequence[Rig],
        *,
        rate: float = 1000.0,
        ticks: int = 0,
        priority: int | None = pacing.PRIORITY,
        core: int | None = None,
        pin: bool = True,
        spin: float = pacing.SPIN,
        ring_rows: int = RING_ROWS,
        loop: Loop | None = None,
    ) -> None:
        if len(rigs) > MAX_HANDS:
            raise SceneError(f"{len(rigs)} hands: at most {MAX_HANDS} share a servo")
        if not LOWEST_RATE <= rate <= HIGHEST_RATE:
            raise SceneError(
                f"rate {rate:g} Hz: give one between {LOWEST_RATE:g} and {HIGHEST_RATE:g} Hz"
            )
        for rig in rigs:
            rig.settings[SET_STEP] = 1.0 / rate
        spare = new_rig()
        self.rigs = tuple(rigs)
        self.rate = rate
        self.loop = new_loop(len(rigs), rate, spin, ring_rows) if loop is None else loop
        self.loop.control[CTL_LIMIT] = ticks
        self.granted: pacing.Granted | None = None
        self.error: BaseException | None = None
        self._first, self._second = (*rigs, spare, spare)[:2]
        self._wish = (priority, core, pin)
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()

    def start(self) -> None:
        """Begin to tick; returns once the thread has asked for its priority."""
        if self._thread is not None:
            raise SceneError("this servo was started before: make a new one")
        warm_up()
        self._thread = threading.Thread(target=self._run, name="tangere-servo", daemon=True)
        _RUNNING.add(self)
        self._thread.start()
        self._ready.wait()

    def _run(self) -> None:
        try:
            self.granted = pacing.claim(*self._wish[:2], pin=self._wish[2])
            for array in (*self._first, *self._second, *self.loop):
                touch_pages(array)
            self._ready.set()
            if PORTABLE:
                pace_in_python(self._first, self._second, self.loop)
            else:
                serve(self._first, self._second, self.loop)
        except BaseException as error:
            self.error = error
        finally:
            self._ready.set()
            leave(self._first, self._second, self.loop)

    def stop(self) -> None:
        """End the loop; when this returns the last command of every hand is zero force."""
        self.loop.control[CTL_STOP] = 1
        if self._thread is not None:
            self._thread.join(JOIN)
            _RUNNING.discard(self)
            if not _RUNNING:
                pacing.release()
        if not self.running:
            leave(self._first, self._second, self.loop)

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the loop has ended by itself; whether it has."""
        if self._thread is not None:
            self._thread.join(timeout)
        return not self.running

    def pause(self, paused: bool = True) -> None:
        """Send zero force while the loop goes on; afterwards the force ramps up."""
        self.loop.control[CTL_PAUSE] = int(paused)

    @property
    def running(self) -> bool:
        """Whether the thread is in the loop."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def silent_for(self) -> float:
        """Time since the end of the last tick [s]; above `STALL` the servo hangs."""
        beat = int(self.loop.control[CTL_HEARTBEAT])
        return 1e-9 * (pacing.clock_ns() - beat) if beat else 0.0

    @property
    def counters(self) -> Counters:
        """How the loop has kept time so far."""
        return counted(self.loop)

    def newest(self, rows_out: Array) -> bool:
        """Whether there are rows not seen yet; if so they are in `rows_out`, (2 NROW,)."""
        return take(self.loop.latest, self.loop.latest_at, rows_out, MAX_HANDS * NROW)

    def __enter__(self) -> Servo:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


class Commands:
    """What an adapter sends to its device: the newest command, and zero when the servo is silent.

    Args:
        rig: Its hand.
        limit: Longest silence [s].
        clock: Monotonic [s].
    """

    def __init__(
        self, rig: Rig, limit: float = STALL, clock: Callable[[], float] | None = None
    ) -> None:
        self._rig = rig
        self._limit = limit
        self._clock = clock or (lambda: 1e-9 * pacing.clock_ns())
        self._since = self._clock()
        self._send = np.zeros(NSEND)
        self.stalled = False

    def newest(self) -> Array:
        """Force and torque to send now, (6,): a view that the next call changes."""
        rig = self._rig
        if take(rig.outbox, rig.outbox_at, self._send, NSEND):
            self._since = self._clock()
            self.stalled = False
        elif self._clock() - self._since > self._limit:
            self._send[SEND_FORCE : SEND_FORCE + 6] = 0.0
            self.stalled = True
        return self._send[SEND_FORCE : SEND_FORCE + 6]


def pace_in_python(first: Rig, second: Rig, loop: Loop) -> None:
    """The loop where kernels have no clock: Python waits, the tick itself is compiled."""
    c = loop.control
    if c[CTL_BEGIN] == 0:
        c[CTL_BEGIN] = pacing.clock_ns() + c[CTL_PERIOD]
    spin, period, begin = int(c[CTL_SPIN]), int(c[CTL_PERIOD]), int(c[CTL_BEGIN])
    limit = int(c[CTL_LIMIT])
    while c[CTL_STOP] == 0 and (limit == 0 or c[CTL_TICKS] < limit):
        start = pacing.wait_in_python(begin + int(c[CTL_NEXT]) * period, spin)
        if c[CTL_PARENT] != 0 and os.getppid() != c[CTL_PARENT]:
            break
        do_tick(first, second, loop, start)
        end_tick(loop, start, pacing.clock_ns())


def touch_pages(array: NDArray[Any]) -> None:
    """Have memory behind all of an array, its values unchanged.

    The system gives memory when a page is first written to, which may take milliseconds: not in the
    middle of a tick.
    """
    flat = array.reshape(-1)
    some = flat[:: max(1, mmap.PAGESIZE // array.itemsize)]
    some[:] = some.copy()


def warm_up() -> None:
    """Compile or load all that a loop needs, before a device waits for it."""
    if JIT_DISABLED:
        return
    spare = new_rig()
    loop = new_loop(1, 1000.0, ring_rows=1)
    with one_bar():
        take(spare.outbox, spare.outbox_at, spare.send, NSEND)
        drain(loop.ring, loop.ring_at, np.zeros_like(loop.ring))
        if PORTABLE:
            do_tick(spare, spare, loop, 0)
            end_tick(loop, 0, 0)
        else:
            loop.control[CTL_STOP] = 1
            serve(spare, spare, loop)
        leave(spare, spare, loop)


def counted(*loops: Loop) -> Counters:
    """How one loop has kept time, or several taken together."""
    control = np.array([loop.control for loop in loops])
    c = control.sum(axis=0)
    late_bins, tick_bins = (c[k : k + NBINS] for k in (CTL_LATE_BINS, CTL_TICK_BINS))
    return Counters(
        ticks=int(c[CTL_TICKS]),
        missed=int(c[CTL_MISSED]),
        late=int(c[CTL_LATE]),
        dropped=sum(int(loop.ring_at[DROPPED]) for loop in loops),
        lateness=_spread(late_bins, int(control[:, CTL_WORST_LATE].max())),
        duration=_spread(tick_bins, int(control[:, CTL_WORST_TICK].max())),
        late_histogram=tuple(int(count) for count in late_bins),
    )


def newest_rows(loops: Sequence[Loop], groups: Sequence[Sequence[int]], rows_out: Array) -> bool:
    """Whether loops have rows not seen yet; if so they are in `rows_out`, hand by hand.

    `groups` has the numbers of the hands of each loop.
    """
    some = np.zeros(MAX_HANDS * NROW)
    fresh = False
    for loop, group in zip(loops, groups, strict=True):
        if take(loop.latest, loop.latest_at, some, MAX_HANDS * NROW):
            fresh = True
            for k, hand in enumerate(group):
                rows_out[hand * NROW : (hand + 1) * NROW] = some[k * NROW : (k + 1) * NROW]
    return fresh


def _spread(bins: LongArray, worst: int) -> Spread:
    sums = np.cumsum(bins)
    limits = bin_limits()

    def share(p: float) -> float:
        return 1e-9 * min(worst, int(limits[np.searchsorted(sums, p * sums[-1])])) if worst else 0.0

    return Spread(share(0.5), share(0.99), share(0.999), 1e-9 * worst)


# Nothing may go on pushing a hand after the program has ended.
_RUNNING: weakref.WeakSet[Servo] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for servo in list(_RUNNING):
        servo.stop()
