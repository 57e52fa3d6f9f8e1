"""One haptic tick as one kernel, and n of them on a virtual clock.

Read the source, find the hand, take the newest contact packet, step the tool, add effects, keep the
wrench safe, send it, publish the tool, write the row. The paced loop of `haptics.servo`, a vendor's
scheduler (`haptics.vendor_servo`) and the virtual clock run the same function, so that what is
tested without threads is what runs with them.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off, pointers, ptr
from tangere.haptics.arm import arm_step
from tangere.haptics.command import cap_planes, command, packet_came, usable
from tangere.haptics.contact_problem import problem_usable, step_on_problem
from tangere.haptics.driver import has_driver, read_driver, write_driver
from tangere.haptics.effects import add_effects
from tangere.haptics.element import motion
from tangere.haptics.energy_net import apply_delayed
from tangere.haptics.fields import put_vec
from tangere.haptics.force_state import begin_anew
from tangere.haptics.layout import (
    CONTACT_PROBLEM,
    COUPLING_DIRECT,
    FAULT_NAN_CONTACT,
    MEM_APPLIED,
    MEM_BAD_PACKET,
    MEM_BEGIN,
    MEM_BUDGET,
    MEM_COMMANDS,
    MEM_FAULTS,
    MEM_MARKS,
    MEM_MARKS_SEEN,
    MEM_NET,
    MEM_OBSERVED,
    MEM_OUTSIDE,
    MEM_PAUSED,
    MEM_REOPENED,
    MEM_SAMPLE_AGE,
    MEM_STARTED,
    MEM_STATE,
    MEM_WRITE_FAULT,
    MEM_WRITE_TIME,
    NHAND,
    NPACKET,
    NPROBLEM,
    NREAD,
    NROW,
    NSEND,
    NSTATE,
    NTOOL,
    NUSER,
    OUT_ACTIVE,
    OUT_CONTACT,
    OUT_DEPTH,
    OUT_ENERGY,
    OUT_FORCE,
    PACKET_FORMATION,
    PACKET_SEQUENCE,
    PACKET_TIME,
    READ_BUTTONS,
    READ_GRIPPER,
    ROW_AGE,
    ROW_APPLIED,
    ROW_BUDGET,
    ROW_BUTTONS,
    ROW_CONTACT,
    ROW_COUPLING,
    ROW_DEPTH,
    ROW_DEVICE,
    ROW_EFFECT,
    ROW_EVENT,
    ROW_FAULT,
    ROW_FORMATION,
    ROW_GAIN,
    ROW_GRIPPER,
    ROW_GRIPPER_FORCE,
    ROW_HAND,
    ROW_LATE,
    ROW_LEAD,
    ROW_MISSED,
    ROW_NET,
    ROW_OBSERVED,
    ROW_PLANES,
    ROW_SAMPLE_AGE,
    ROW_SENT,
    ROW_SPENT_TIME,
    ROW_STATE,
    ROW_STORED,
    ROW_TIME,
    ROW_TOOL,
    ROW_USER,
    ROW_WRITE_TIME,
    SEND_FORCE,
    SEND_GRIPPER,
    SEND_SEQUENCE,
    SEND_TIME,
    SET_CONTACT,
    SET_MODE,
    SET_STEP,
    SOURCE_ARM,
    SOURCE_PORT,
    STATE_HAND,
    STATE_SEQUENCE,
    STATE_TIME,
    STATE_TOOL,
    Rig,
)
from tangere.haptics.mailbox import post, take
from tangere.haptics.reading import lead_hand, lead_time, paired_ticks, read_hand
from tangere.haptics.tool import step_tool
from tangere.maths.vec import Array

# A packet is for the end of the contact period it was asked in: at most so far ahead [s].
AHEAD = 0.1


@kernel
def run_ticks(rig: Rig, first: int, count: int, t0: float, rows_out: Array) -> int:
    """Ticks first … first + count − 1 on the virtual clock; returns all faults of them as bits.

    Tick n is due at t0 + n Δt. `rows_out` takes a row for each, (count, NROW).
    """
    r = pointers(rig)
    rows = ptr(rows_out)
    faults = 0
    for i in range(count):
        n = first + i
        now = t0 + n * r.settings[SET_STEP]
        faults |= tick(r, n, now, now)
        row = off(rows, i * NROW)
        for k in range(NROW):
            row[k] = r.row[k]
    return faults


@kernel
def tick(r: Rig, n: int, now: float, clock: float) -> int:
    """Tick n of one hand, given as pointers; `now` is its time since the start [s].

    `clock` is the same time as the device's samples count it. Returns the faults as bits; they are
    in the row too.
    """
    m = r.memory
    if m[MEM_REOPENED] != 0.0:
        begin_anew(m, now)
    apply_delayed(m, int(m[MEM_COMMANDS]), paired_ticks(r.settings, m))
    fault = int(m[MEM_OUTSIDE]) | int(m[MEM_PAUSED]) | int(m[MEM_WRITE_FAULT])
    if has_driver(r):
        wrong, took = read_driver(r, clock)
        fault |= wrong | read_hand(r, now, clock + took, False)
    else:
        fresh = _read(r, n)
        fault |= read_hand(r, now, clock, fresh)
    _take_packet(r, now)
    if m[MEM_BAD_PACKET] != 0.0:
        fault |= FAULT_NAN_CONTACT
    tau, ahead = lead_time(r.settings, m), local_f8(NHAND)
    lead_hand(r.hand, tau, ahead)
    if m[MEM_STARTED] == 1.0:  # before, nobody knows where the hand is
        if r.settings[SET_CONTACT] == CONTACT_PROBLEM:
            fault |= step_on_problem(r, ahead, now)
        else:
            fault |= step_tool(r.settings, r.tool, ahead, r.packet, now, r.grips, r.out)
    # without any packet yet the wait counts from the first tick
    known = r.packet[PACKET_TIME] if r.packet[PACKET_SEQUENCE] > 0.0 else m[MEM_BEGIN]
    age = now - known
    effect, power = local_f8(7), 0.0
    for k in range(7):
        effect[k] = 0.0
    if m[MEM_STARTED] == 1.0:
        wrong, power = add_effects(r, ahead, now, effect)
        fault |= wrong
    fault, gain = command(r, effect, power, now, age, fault)
    r.send[SEND_TIME] = now
    r.send[SEND_SEQUENCE] = n
    if has_driver(r):
        write_driver(r)
    else:
        post(r.outbox, r.outbox_at, r.send, NSEND)
    _publish(r, ahead, n, now)
    m[MEM_FAULTS] = int(m[MEM_FAULTS]) | fault
    _write_row(r, effect, now)
    r.row[ROW_AGE] = age
    r.row[ROW_SAMPLE_AGE] = m[MEM_SAMPLE_AGE]
    r.row[ROW_LEAD] = tau
    r.row[ROW_FAULT] = fault
    r.row[ROW_GAIN] = gain
    return fault


@kernel
def _read(r: Rig, n: int) -> bool:
    """Bring the newest reading; whether it is new whatever its sequence number says."""
    source = r.source[0]
    if source == SOURCE_PORT:
        take(r.inbox, r.inbox_at, r.reading, NREAD)
        return False
    wanted = off(r.table, min(n, r.source[1] - 1) * NREAD)
    if source == SOURCE_ARM:
        arm_step(r.arm, wanted, r.send, r.settings[SET_STEP], r.reading)
        return False
    for k in range(NREAD):
        r.reading[k] = wanted[k]
    return True


@kernel
def _take_packet(r: Rig, now: float) -> None:
    """Take the newest contact packet; an unusable one is marked, and the last good one stays."""
    new = local_f8(NPACKET)
    if take(r.packets, r.packets_at, new, NPACKET):
        if usable(new, now + AHEAD):
            r.memory[MEM_BAD_PACKET] = 0.0
            packet_came(r.memory, now)
            for k in range(NPACKET):
                r.packet[k] = new[k]
            if r.settings[SET_MODE] == COUPLING_DIRECT:
                cap_planes(r.settings, r.packet)
        else:
            r.memory[MEM_BAD_PACKET] = 1.0
    if r.settings[SET_CONTACT] == CONTACT_PROBLEM:
        problem = local_f8(NPROBLEM)
        if take(r.problems, r.problems_at, problem, NPROBLEM):
            if problem_usable(problem, now + AHEAD):
                for k in range(NPROBLEM):
                    r.problem[k] = problem[k]
            else:
                r.memory[MEM_BAD_PACKET] = 1.0


@kernel
def _publish(r: Rig, hand: PtrF8, n: int, now: float) -> None:
    """Tell the contact loop where the tool is, and the hand that pulls it."""
    state = local_f8(NSTATE)
    state[STATE_TIME] = now
    for k in range(NTOOL):
        state[STATE_TOOL + k] = r.tool[k]
    for k in range(NHAND):
        state[STATE_HAND + k] = hand[k]
    state[STATE_SEQUENCE] = n
    post(r.states, r.states_at, state, NSTATE)


@kernel
def _write_row(r: Rig, effect: PtrF8, now: float) -> None:
    """The row of the trace, but for the columns that the caller knows."""
    row, s, y, out, m = r.row, r.settings, r.tool, r.out, r.memory
    row[ROW_TIME] = now
    for k in range(NHAND):
        row[ROW_DEVICE + k] = r.reading[k]
        row[ROW_HAND + k] = r.hand[k]
    for k in range(7):
        row[ROW_TOOL + k] = y[k]
    moving = motion(s, y, local_f8(9))
    put_vec(row, ROW_TOOL + 7, moving.v)
    put_vec(row, ROW_TOOL + 10, moving.w)
    for k in range(6):
        row[ROW_COUPLING + k] = out[OUT_FORCE + k]
        row[ROW_CONTACT + k] = out[OUT_CONTACT + k]
        row[ROW_SENT + k] = r.send[SEND_FORCE + k]
        row[ROW_APPLIED + k] = m[MEM_APPLIED + k]
        row[ROW_EFFECT + k] = effect[k]
    row[ROW_GRIPPER], row[ROW_GRIPPER_FORCE] = r.reading[READ_GRIPPER], r.send[SEND_GRIPPER]
    row[ROW_OBSERVED], row[ROW_BUDGET] = m[MEM_OBSERVED], m[MEM_BUDGET]
    row[ROW_STORED] = out[OUT_ENERGY]
    row[ROW_DEPTH], row[ROW_PLANES] = out[OUT_DEPTH], out[OUT_ACTIVE]
    row[ROW_FORMATION] = r.packet[PACKET_FORMATION]
    row[ROW_NET], row[ROW_STATE] = m[MEM_NET], m[MEM_STATE]
    row[ROW_WRITE_TIME] = m[MEM_WRITE_TIME]
    row[ROW_BUTTONS] = r.reading[READ_BUTTONS]
    row[ROW_EVENT] = m[MEM_MARKS] if m[MEM_MARKS] != m[MEM_MARKS_SEEN] else 0.0
    m[MEM_MARKS_SEEN] = m[MEM_MARKS]
    for k in range(NUSER):
        row[ROW_USER + k] = r.user[k]
    row[ROW_LATE] = row[ROW_SPENT_TIME] = row[ROW_MISSED] = 0.0
