"""A vendor's library within the tick: the sample, the command, and how long the calls took.

The calls are made by the servo's thread (`haptics.dhd`, `haptics.hd`): the force is never older
than its own sample, and no other thread can hold it up. A driver that takes longer than SET_SLOW to
answer has given a sample of the past; that tick sends zero.

Where the clock is a virtual one, calls are not timed: the same input gives the same rows.
"""

from __future__ import annotations

from tangere._clock import kernel_ns
from tangere._jit import kernel
from tangere.haptics import dhd, hd
from tangere.haptics.dhd import DHD_FORCE_ON, DHD_STATUS_AT
from tangere.haptics.layout import (
    FAULT_OFF,
    FAULT_SLOW,
    MEM_WRITE_FAULT,
    MEM_WRITE_TIME,
    SET_SLOW,
    SOURCE_DHD,
    SOURCE_HD,
    Rig,
)

TIMED = 1  # in `Rig.source`, after the source itself


@kernel
def has_driver(r: Rig) -> bool:
    """Whether readings and commands are calls of a library."""
    return r.source[0] in (SOURCE_DHD, SOURCE_HD)


@kernel
def read_driver(r: Rig, clock: float) -> tuple[int, float]:
    """Bring the newest sample; faults besides its status, and how long it took [s].

    `clock` is the time of this tick as samples count it [s].
    """
    begin = kernel_ns()
    stamp = int(1e9 * clock)
    fault = 0
    if r.source[0] == SOURCE_DHD:
        dhd.read(r.port, r.port_memory, stamp, r.reading)
        if r.port[DHD_STATUS_AT] != 0 and r.port[DHD_FORCE_ON] == 0:
            fault |= FAULT_OFF
    else:
        hd.read(r.port, r.port_memory, stamp, r.reading)
    if r.source[1] != TIMED:
        return fault, 0.0
    took = 1e-9 * (kernel_ns() - begin)
    if took > r.settings[SET_SLOW]:
        fault |= FAULT_SLOW
    return fault, took


@kernel
def write_driver(r: Rig) -> None:
    """Send what stands in `Rig.send`; one that is not taken is a fault of the next tick."""
    begin = kernel_ns()
    refused = dhd.write(r.port, r.send) if r.source[0] == SOURCE_DHD else hd.write(r.port, r.send)
    r.memory[MEM_WRITE_FAULT] = refused
    if r.source[1] == TIMED:
        r.memory[MEM_WRITE_TIME] = 1e-9 * (kernel_ns() - begin)
