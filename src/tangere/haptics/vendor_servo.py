"""A servo that a vendor's scheduler paces: its callback is the tick.

OpenHaptics reads and drives its devices in callbacks of a thread of its own, a thousand times a
second. What it calls here is the same tick as that of the paced loop (`haptics.servo`); ticks that
the scheduler left out are counted from the times of the calls.

The callback is given one address, that of whole numbers with the addresses of all arrays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

from tangere._clock import kernel_ns
from tangere._jit import c_callback, kernel
from tangere._native import f8_at, i8_at, parent_process
from tangere._ptr import PtrF8, PtrI8, load, off
from tangere.haptics.exchange import CONTINUE, DONE
from tangere.haptics.layout import SET_STEP, Rig
from tangere.haptics.servo import (
    CTL_BEGIN,
    CTL_ENDED,
    CTL_LIMIT,
    CTL_NEXT,
    CTL_PARENT,
    CTL_PAUSE,
    CTL_PERIOD,
    CTL_STOP,
    CTL_TICKS,
    JOIN,
    Loop,
    finish_tick,
    run_due_tick,
    send_zero,
)
from tangere.maths.vec import LongArray

# Words of what the callback is given: rows of the ring, then address and length of every array
WORD_ROWS = 0
WORD_RIG = 1
WORD_LOOP = WORD_RIG + 2 * len(Rig._fields)
NWORD = WORD_LOOP + 2 * len(Loop._fields)


@kernel
def vendor_tick(data: int) -> int:
    """One call of the scheduler, for `_jit.c_callback`; `data`: address of its words."""
    w = i8_at(data, NWORD)
    r, l = _rig_at(w), _loop_at(w)
    c = l.control
    if load(c, CTL_ENDED) != 0:
        return DONE
    orphaned = c[CTL_PARENT] != 0 and parent_process() != c[CTL_PARENT]
    enough = c[CTL_LIMIT] != 0 and c[CTL_TICKS] >= c[CTL_LIMIT]
    if load(c, CTL_STOP) != 0 or orphaned or enough:
        send_zero(r, r, l)
        return DONE
    due = c[CTL_BEGIN] + c[CTL_NEXT] * c[CTL_PERIOD]
    start = kernel_ns()
    if start == 0:  # kernels have no clock here: the scheduler's turns are the clock
        start = due
    # Its pace is not exactly ours: only whole periods between two calls are left out.
    late = start - due
    left_out = max(0, (late + c[CTL_PERIOD] // 2) // c[CTL_PERIOD]) if c[CTL_NEXT] > 0 else 0
    c[CTL_BEGIN] += late - left_out * c[CTL_PERIOD]
    run_due_tick(r, r, l, start)
    finish_tick(l, w[WORD_ROWS], start, max(start, kernel_ns()))
    return CONTINUE


@kernel
def _floats(w: PtrI8, i: int) -> PtrF8:
    """The floats of array i of those that begin at `w`."""
    return f8_at(w[2 * i], w[2 * i + 1])


@kernel
def _longs(w: PtrI8, i: int) -> PtrI8:
    """The whole numbers of array i."""
    return i8_at(w[2 * i], w[2 * i + 1])


@kernel
def _rig_at(w: PtrI8) -> Rig:
    """The arrays of a hand, in the order of `Rig`."""
    a = off(w, WORD_RIG)
    return Rig(
        _floats(a, 0),
        _floats(a, 1),
        _floats(a, 2),
        _floats(a, 3),
        _floats(a, 4),
        _floats(a, 5),
        _floats(a, 6),
        _floats(a, 7),
        _floats(a, 8),
        _floats(a, 9),
        _floats(a, 10),
        _longs(a, 11),
        _floats(a, 12),
        _longs(a, 13),
        _floats(a, 14),
        _floats(a, 15),
        _longs(a, 16),
        _floats(a, 17),
        _floats(a, 18),
        _longs(a, 19),
        _floats(a, 20),
        _longs(a, 21),
        _floats(a, 22),
        _longs(a, 23),
        _floats(a, 24),
        _longs(a, 25),
        _floats(a, 26),
        _floats(a, 27),
        _longs(a, 28),
        _floats(a, 29),
    )


@kernel
def _loop_at(w: PtrI8) -> Loop:
    """The arrays of a loop, in the order of `Loop`."""
    a = off(w, WORD_LOOP)
    return Loop(
        _longs(a, 0),
        _floats(a, 1),
        _floats(a, 2),
        _longs(a, 3),
        _floats(a, 4),
        _longs(a, 5),
    )


def words_of(rig: Rig, loop: Loop) -> LongArray:
    """What the callback is to be given; it and the arrays must live as long as it may be called."""
    words = np.zeros(NWORD, dtype=np.int64)
    words[WORD_ROWS] = len(loop.ring)
    for i, array in enumerate((*rig, *loop)):
        words[WORD_RIG + 2 * i : WORD_RIG + 2 * i + 2] = array.ctypes.data, array.size
    return words


class Scheduler(Protocol):
    """What is needed of a `devices.device.NativePort`: both calls are there."""

    @property
    def schedule(self) -> Callable[[int, int], None] | None:
        """Have a C function `unsigned (void *)` called at the vendor's pace, given its data."""

    @property
    def unschedule(self) -> Callable[[], None] | None:
        """End that; when it returns the function is not running and never will."""


class VendorServo:
    """The hand of one device, paced by its vendor; used as a `haptics.servo.Servo`.

    Args:
        rig: The hand.
        port: How the device is scheduled.
        rate: At which the vendor calls [Hz].
        loop: What it shares with the rest of the program.
        ticks: Stop after so many; 0 goes on until `stop`.
    """

    def __init__(
        self, rig: Rig, port: Scheduler, *, rate: float, loop: Loop, ticks: int = 0
    ) -> None:
        rig.settings[SET_STEP] = 1.0 / rate
        loop.control[CTL_LIMIT] = ticks
        self.loop = loop
        self.rate = rate
        self.granted = "paced by the vendor's scheduler"
        self.error: BaseException | None = None
        self._rig = rig
        self._port = port
        self._words = words_of(rig, loop)
        self._started = False

    def start(self) -> None:
        """Have the scheduler call."""
        self._started = True
        self.resume(self._port)

    def resume(self, port: Scheduler) -> None:
        """Go on with a device that was opened again."""
        self._port = port
        if port.schedule is not None:
            port.schedule(c_callback(vendor_tick), self._words.ctypes.data)

    def pause(self, paused: bool = True) -> None:
        """Send zero force while the scheduler goes on; afterwards the force ramps up."""
        self.loop.control[CTL_PAUSE] = int(paused)

    @property
    def running(self) -> bool:
        """Whether the scheduler calls."""
        return self._started and self.loop.control[CTL_ENDED] == 0

    def stop(self) -> None:
        """End it; when this returns the last command is zero force, unless the driver hangs."""
        self.loop.control[CTL_STOP] = 1
        end = time.monotonic() + JOIN
        while self.running and time.monotonic() < end:
            time.sleep(2e-4)
        if self._started and self._port.unschedule is not None:
            self._port.unschedule()
        self.loop.control[CTL_ENDED] = 1
