"""A device that compiled code serves, without a servo: readings and commands through mailboxes.

`exchange` reads, takes the newest command and writes it. A thread of ours calls it for a library
that is called (Force Dimension); a library with a scheduler of its own (OpenHaptics) calls `turn`,
the same thing as a C function. Servos of vendors' own pace are called through `turn`, too: whatever
ends such a function, the last thing that the device gets is a frame with zero force.
"""

from __future__ import annotations

from ctypes import c_uint, c_void_p
from typing import NamedTuple

import numpy as np

from tangere._clock import kernel_ns
from tangere._jit import kernel
from tangere._native import c_function, f8_at, i8_at
from tangere._ptr import load, pointers, store
from tangere.haptics import dhd, hd
from tangere.haptics.layout import (
    NPORT,
    NPORT_MEMORY,
    NREAD,
    NSEND,
    READ_QUATERNION,
    READ_STATUS,
    SEND_TIME,
    SOURCE_DHD,
    new_mailbox,
)
from tangere.haptics.mailbox import post, take
from tangere.maths.vec import Array, LongArray

SLOTS = 3  # of a mailbox


class Exchange(NamedTuple):
    """The arrays of a device; the fields are named as those of a `Rig`, and mean the same."""

    port: LongArray
    port_memory: Array
    reading: Array
    send: Array
    inbox: Array
    inbox_at: LongArray
    outbox: Array
    outbox_at: LongArray


def new_exchange() -> Exchange:
    """All arrays of a device that nobody has read yet."""
    quiet = np.zeros(NREAD)
    quiet[READ_QUATERNION] = 1.0
    return Exchange(
        np.zeros(NPORT, dtype=np.int64),
        np.zeros(NPORT_MEMORY),
        quiet,
        np.zeros(NSEND),
        *new_mailbox(NREAD),
        *new_mailbox(NSEND),
    )


@kernel
def exchange(given: Exchange, source: int, now_ns: int, hold_ns: int) -> int:
    """Read, write the newest command, hand the reading over; the faults of both calls.

    A command that came longer than `hold_ns` ago counts as zero, and so does any when the reading
    has a fault.
    """
    return _exchange(pointers(given), source, now_ns, hold_ns)


@kernel
def _exchange(e: Exchange, source: int, now_ns: int, hold_ns: int) -> int:
    """The same, given as pointers."""
    if source == SOURCE_DHD:
        dhd.read(e.port, e.port_memory, now_ns, e.reading)
    else:
        hd.read(e.port, e.port_memory, now_ns, e.reading)
    if take(e.outbox, e.outbox_at, e.send, NSEND):
        e.send[SEND_TIME] = 1e-9 * now_ns  # it ages by the clock of this side
    status = int(e.reading[READ_STATUS])
    if status != 0 or 1e-9 * (now_ns - hold_ns) > e.send[SEND_TIME]:
        _clear(e)
    status |= _write(e, source)
    e.reading[READ_STATUS] = status
    post(e.inbox, e.inbox_at, e.reading, NREAD)
    return status


@kernel
def _write(e: Exchange, source: int) -> int:
    """Send what stands in the command."""
    return dhd.write(e.port, e.send) if source == SOURCE_DHD else hd.write(e.port, e.send)


@kernel
def _clear(e: Exchange) -> None:
    """Let the command be zero; its time stays."""
    for k in range(SEND_TIME):
        e.send[k] = 0.0


# ---------------------------------------------------------------- called by a vendor's scheduler

DONE, CONTINUE = 0, 1  # what it is answered: never again, or at the next turn

# Words of what it is given
TURN_STOP = 0  # 1: show zero force and be done
TURN_ENDED = 1  # 1: that has happened
TURN_BUSY = 2  # 1: a turn is under way
TURN_COUNT = 3  # turns so far
TURN_SOURCE = 4  # SOURCE_…
TURN_FUNCTION = 5  # address of the function to call, 0: `exchange`
TURN_DATA = 6  # address that it is given
TURN_HOLD = 7  # a command older than this counts as zero [ns]
TURN_PERIOD = 8  # of the scheduler [ns]: its turns are the clock where kernels have none
TURN_ARRAYS = 9  # addresses of the arrays of an `Exchange`
NTURN = TURN_ARRAYS + len(Exchange._fields)

_call_back = c_function(c_uint, c_void_p)


def turn_words(
    given: Exchange, source: int, *, hold: float, period: float, function: int = 0, data: int = 0
) -> LongArray:
    """What `turn` is to be given; it and the arrays must live as long as it may be called."""
    words = np.zeros(NTURN, dtype=np.int64)
    words[TURN_SOURCE], words[TURN_FUNCTION], words[TURN_DATA] = source, function, data
    words[TURN_HOLD], words[TURN_PERIOD] = round(1e9 * hold), round(1e9 * period)
    words[TURN_ARRAYS:] = [array.ctypes.data for array in given]
    return words


@kernel
def turn(data: int) -> int:
    """One turn of the scheduler, for `_jit.c_callback`; `data`: address of its words."""
    w = i8_at(data, NTURN)
    if load(w, TURN_ENDED) != 0:
        return DONE
    # Whoever sets STOP and then finds BUSY at 0 knows that the function is not called any more.
    store(w, TURN_BUSY, 1)
    goes_on = load(w, TURN_STOP) == 0
    a = TURN_ARRAYS
    e = Exchange(
        i8_at(w[a], NPORT),
        f8_at(w[a + 1], NPORT_MEMORY),
        f8_at(w[a + 2], NREAD),
        f8_at(w[a + 3], NSEND),
        f8_at(w[a + 4], SLOTS * NREAD),
        i8_at(w[a + 5], SLOTS),
        f8_at(w[a + 6], SLOTS * NSEND),
        i8_at(w[a + 7], SLOTS),
    )
    w[TURN_COUNT] += 1
    if goes_on and w[TURN_FUNCTION] != 0:
        goes_on = _call_back(w[TURN_FUNCTION], (w[TURN_DATA],)) != DONE
    elif goes_on:
        now = kernel_ns()
        _exchange(e, w[TURN_SOURCE], now if now != 0 else _counted_ns(w), w[TURN_HOLD])
    if not goes_on:
        _clear(e)
        _write(e, w[TURN_SOURCE])
        store(w, TURN_ENDED, 1)
    store(w, TURN_BUSY, 0)
    return CONTINUE if goes_on else DONE


@kernel
def _counted_ns(w: LongArray) -> int:
    """The time that the turns so far have taken, as the vendor paces them [ns]."""
    return w[TURN_COUNT] * w[TURN_PERIOD]  # type: ignore[no-any-return]
