"""Whether there may be force: waiting, ramp, active, fault, lost.

    WAITING ─ good samples ─► RAMP ─► ACTIVE
       ▲                        │        │
       └──── fault gone ── FAULT ◄───────┘      zero in the tick that finds it
                             └─► LOST           a device's fault that lasts or keeps coming back

A fault that comes back within a second doubles the ramp, up to four seconds, so that a loose plug
does not buzz; twenty in a row, and the device is lost. What a device does on purpose (its force was
switched off by a button, a dead man's switch or a brake) is no fault: the force waits.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.haptics.layout import (
    DEVICE_FAULTS,
    FAULT_ESCAPE,
    FAULT_LOST,
    FAULT_OFF,
    FAULT_SLOW,
    FORCE_ACTIVE,
    FORCE_FAULT,
    FORCE_LOST,
    FORCE_RAMP,
    FORCE_WAITING,
    MEM_DECAY,
    MEM_FAULT_COUNT,
    MEM_FAULT_GONE,
    MEM_FAULT_SINCE,
    MEM_GAIN,
    MEM_RAMP,
    MEM_REOPENED,
    MEM_SAMPLE_TIME,
    MEM_SAMPLES,
    MEM_STARTED,
    MEM_STATE,
    MEM_WRITE_FAULT,
    SET_LOST,
    SET_RAMP,
    SET_SAMPLES,
    SET_STEP,
    STOPS_FORCE,
)

SOON = 1.0  # [s] a fault that comes back within this is the same one
LONGEST_RAMP = 4.0  # [s]
MOST_FAULTS = 20  # in a row
# Nobody's fault: the force waits while they last.
PAUSES = FAULT_OFF | FAULT_ESCAPE


@kernel
def update_state(settings: PtrF8, memory: PtrF8, fault: int, now: float) -> int:
    """The state of the force in this tick, FORCE_…; `MEM_GAIN` is its ramp."""
    s, m = settings, memory
    state = int(m[MEM_STATE])
    stops = fault & STOPS_FORCE
    if state == FORCE_LOST or fault & FAULT_LOST != 0:
        state = FORCE_LOST
    elif stops != 0:
        state = _stop(s, m, state, stops, now)
    elif state == FORCE_FAULT:
        m[MEM_FAULT_GONE] = now
        m[MEM_SAMPLES] = 0.0
        state = FORCE_WAITING
    if state == FORCE_WAITING and stops == 0:
        if m[MEM_STARTED] == 1.0 and m[MEM_SAMPLES] >= s[SET_SAMPLES]:
            state = FORCE_RAMP
            m[MEM_DECAY] = 1.0  # what packets took away is forgotten with the fault
            if m[MEM_RAMP] == 0.0 or now - m[MEM_FAULT_GONE] > SOON:
                m[MEM_RAMP] = s[SET_RAMP]
    if state == FORCE_RAMP:
        ramp = m[MEM_RAMP]
        m[MEM_GAIN] = min(1.0, m[MEM_GAIN] + s[SET_STEP] / ramp) if ramp > 0.0 else 1.0
        if m[MEM_GAIN] == 1.0:
            state = FORCE_ACTIVE
    elif state != FORCE_ACTIVE:
        m[MEM_GAIN] = 0.0
    m[MEM_STATE] = state
    return state


@kernel
def begin_anew(memory: PtrF8, now: float) -> None:
    """The device was lost and is open again: its samples, its place and its ramp start over."""
    m = memory
    m[MEM_STATE] = FORCE_WAITING
    m[MEM_GAIN] = m[MEM_SAMPLES] = m[MEM_STARTED] = m[MEM_FAULT_COUNT] = 0.0
    m[MEM_WRITE_FAULT] = m[MEM_REOPENED] = 0.0
    m[MEM_FAULT_SINCE] = m[MEM_SAMPLE_TIME] = now


@kernel
def _stop(s: PtrF8, m: PtrF8, state: int, stops: int, now: float) -> int:
    """Something forbids force in this tick."""
    if stops & ~PAUSES == 0:
        m[MEM_SAMPLES] = 0.0
        return FORCE_WAITING
    if state != FORCE_FAULT:
        m[MEM_FAULT_SINCE] = now
        # the first samples of all are waited for, not faulty
        if m[MEM_STARTED] == 1.0:
            again = m[MEM_FAULT_GONE] > 0.0 and now - m[MEM_FAULT_GONE] < SOON
            longer = min(2.0 * max(m[MEM_RAMP], s[SET_RAMP]), max(LONGEST_RAMP, s[SET_RAMP]))
            m[MEM_RAMP] = longer if again else s[SET_RAMP]
            m[MEM_FAULT_COUNT] = m[MEM_FAULT_COUNT] if again else 0.0
            m[MEM_FAULT_COUNT] += 1.0 if stops & (DEVICE_FAULTS | FAULT_SLOW) != 0 else 0.0
    if stops & DEVICE_FAULTS == 0:
        m[MEM_FAULT_SINCE] = now  # only what the device does wrong means that it is lost
    lasts = stops & DEVICE_FAULTS != 0 and now - m[MEM_FAULT_SINCE] > s[SET_LOST]
    if lasts or m[MEM_FAULT_COUNT] >= MOST_FAULTS:
        return FORCE_LOST
    return FORCE_FAULT
