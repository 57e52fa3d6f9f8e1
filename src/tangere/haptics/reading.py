"""From a device's reading to the hand in the world.

A reading is checked, then mapped,

    x_h = origin + a + σ R_wd (x_d − centre),    q_h = q_wd q_d q_off,

with the anchor a and the turn q_off kept in the rig's memory. They are chosen when the force is
about to begin, so that the device, wherever it is, shows the hand on its tool (`PLACE_ON_TOOL`);
and again when the clutch is let go and when a reading jumped, so that the hand goes on from where
it was. Without a place (`PLACE_ABSOLUTE`) a is zero and q_off the inverse of q_wd: a device upright
in its base shows a hand upright in the world.

*Lead.* What is computed from this reading arrives at the motors d ticks later and is held for one:
the coupling is given the hand of that moment, x̂ = x + τ v, q̂ = exp(τ ω) q, τ = (d + ½) T. For a
spring this is the damping k τ that the delay takes away, only where there is stiffness. d follows
from what the device says of its delay, the age of its samples and the time of its writes, rounded
up: too much costs a little syrup, too little gives energy to the hand.
"""

from __future__ import annotations

from math import ceil, inf, isfinite

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8
from tangere.haptics.energy_net import book
from tangere.haptics.fields import put_quat, put_vec, quat_at, vec_at
from tangere.haptics.layout import (
    FAULT_JUMP,
    FAULT_LOST,
    FAULT_NAN_READING,
    FAULT_READ,
    FAULT_SILENT,
    FAULT_SPEED,
    HAND_OMEGA,
    HAND_POSITION,
    HAND_QUATERNION,
    HAND_VELOCITY,
    MAX_DELAY,
    MEM_AGE_SEEN,
    MEM_ANCHOR,
    MEM_BEGIN,
    MEM_GRIPPER,
    MEM_HELD,
    MEM_HOLD,
    MEM_LATE,
    MEM_POSE,
    MEM_PRESSED,
    MEM_SAMPLE_AGE,
    MEM_SAMPLE_TIME,
    MEM_SAMPLES,
    MEM_SEEN,
    MEM_SEQUENCE,
    MEM_STARTED,
    MEM_TURN,
    MEM_WRITE_TIME,
    PLACE_ABSOLUTE,
    READ_APPLIED,
    READ_BUTTONS,
    READ_GRIPPER,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    READ_VELOCITY,
    SET_CENTRE,
    SET_CLUTCH,
    SET_CLUTCH_TOGGLES,
    SET_DELAY,
    SET_DEVICE_JUMP,
    SET_DEVICE_SPEED,
    SET_FRAME,
    SET_LEAD,
    SET_ORIGIN,
    SET_PLACE,
    SET_SAMPLES,
    SET_SCALE,
    SET_SILENCE,
    SET_STEP,
    STOPS_FORCE,
    Rig,
)
from tangere.maths.quat import (
    Quat,
    conjugate,
    from_vector,
    matrix_into,
    product,
    turn,
    turn_between,
    unit,
)
from tangere.maths.vec import Vec3, add, axpy, norm, scale, sub

FAR = 1e3  # [m] a device that says it is further away than this is not right
TURN_JUMP = 1.0  # [rad] between two samples: faster than any hand
NORM = (0.5, 2.0)  # |q|² of a quaternion that is only rounded
WHOLE = 2.0**53  # floats up to here can hold bits
LATE_FADES = 1.0  # [s] time constant with which a late sample is forgotten
LONGEST_LEAD = 8e-3  # [s] beyond it noise of the velocity outweighs what is gained


@kernel
def read_hand(r: Rig, now: float, clock: float, fresh: bool) -> int:
    """Map the rig's reading to its hand; returns the faults found in it.

    A bad reading leaves the hand where it was, at rest. `fresh` says that the source has something
    new at every tick; otherwise the sequence number of the reading tells. `clock` is the time of
    this tick as the device's samples count it [s].
    """
    settings, reading, m, hand_out = r.settings, r.reading, r.memory, r.hand
    status = reading[READ_STATUS]
    fault = int(status) & STOPS_FORCE if abs(status) < WHOLE else FAULT_READ
    if status != 0.0 and fault == 0:
        fault = FAULT_READ
    if m[MEM_BEGIN] == 0.0 and m[MEM_SAMPLE_TIME] == 0.0:
        m[MEM_BEGIN] = m[MEM_SAMPLE_TIME] = now
    seen = fresh or reading[READ_SEQUENCE] != m[MEM_SEQUENCE]
    good = _is_sound(reading)
    m[MEM_SEEN] = 0.0
    if not good:
        fault |= FAULT_NAN_READING
    elif fault & (FAULT_READ | FAULT_LOST) != 0:
        pass  # whatever stands there was not measured
    elif seen:
        m[MEM_SEQUENCE] = reading[READ_SEQUENCE]
        m[MEM_SAMPLE_TIME] = now
        m[MEM_SEEN] = 1.0
        fault |= _accept(settings, reading, m, hand_out)
    elif now - m[MEM_SAMPLE_TIME] > settings[SET_SILENCE]:
        fault |= FAULT_SILENT
    m[MEM_SAMPLE_AGE] = 0.0 if fresh else max(0.0, clock - reading[READ_TIME])
    if m[MEM_SEEN] == 1.0:
        m[MEM_AGE_SEEN] = m[MEM_SAMPLE_AGE]
    _measure_delay(settings, m)
    speed = norm(vec_at(reading, READ_VELOCITY)) if good else 0.0
    if speed > settings[SET_DEVICE_SPEED]:
        fault |= FAULT_SPEED
    if fault & STOPS_FORCE != 0 or m[MEM_HELD] != 0.0:
        put_vec(hand_out, HAND_VELOCITY, (0.0, 0.0, 0.0))
        put_vec(hand_out, HAND_OMEGA, (0.0, 0.0, 0.0))
    return fault


@kernel
def _is_sound(reading: PtrF8) -> bool:
    """Whether all numbers of a reading are finite and can be a pose and a twist."""
    for k in range(READ_OMEGA + 3):
        if not isfinite(reading[k]):
            return False
    if not isfinite(norm(vec_at(reading, READ_APPLIED))):  # it is entered in the energy ledger
        return False
    if not norm(vec_at(reading, READ_POSITION)) < FAR:
        return False
    if not is_rotation(quat_at(reading, READ_QUATERNION)):
        return False
    if not (abs(reading[READ_GRIPPER]) < FAR and isfinite(reading[READ_TIME])):
        return False
    return abs(reading[READ_BUTTONS]) < WHOLE and isfinite(reading[READ_SEQUENCE])


@kernel
def is_rotation(q: Quat) -> bool:
    """Whether a quaternion is a unit one but for rounding."""
    return NORM[0] < q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] < NORM[1]


@kernel
def _accept(s: PtrF8, reading: PtrF8, m: PtrF8, hand_out: PtrF8) -> int:
    """Take a sound sample in: place, ledger, jump, clutch, hand. Returns FAULT_JUMP or 0."""
    x = vec_at(reading, READ_POSITION)
    q = unit(quat_at(reading, READ_QUATERNION))
    fault = 0
    if m[MEM_SAMPLES] > 0.0 or m[MEM_STARTED] == 1.0:
        dx = sub(x, vec_at(m, MEM_POSE))
        turned = turn_between(quat_at(m, MEM_POSE + 3), q)
        squeezed = reading[READ_GRIPPER] - m[MEM_GRIPPER]
        jump = s[SET_DEVICE_JUMP]
        if norm(dx) > jump or (norm(turned) > TURN_JUMP and jump < inf):
            fault = FAULT_JUMP
            dx = turned = (0.0, 0.0, 0.0)  # nobody was moved, no work was done
            squeezed = 0.0
        book(m, reading, dx, turned, squeezed)
    m[MEM_SAMPLES] = 0.0 if fault != 0 else m[MEM_SAMPLES] + 1.0
    placed = m[MEM_STARTED] == 1.0
    if not placed and m[MEM_SAMPLES] >= s[SET_SAMPLES]:
        if s[SET_PLACE] == PLACE_ABSOLUTE:
            put_vec(m, MEM_ANCHOR, (0.0, 0.0, 0.0))
            put_quat(m, MEM_TURN, conjugate(quat_at(s, SET_FRAME)))
        else:
            anchor(s, x, q, hand_out, m)
        m[MEM_STARTED] = 1.0
    released = _clutch(s, m, int(reading[READ_BUTTONS]))
    if placed and (released or fault != 0):
        anchor(s, x, q, hand_out, m)
    put_vec(m, MEM_POSE, x)
    put_quat(m, MEM_POSE + 3, q)
    m[MEM_GRIPPER] = reading[READ_GRIPPER]
    if m[MEM_HELD] == 0.0 and m[MEM_STARTED] == 1.0:
        _map(s, m, reading, hand_out)
    return fault


@kernel
def _clutch(s: PtrF8, m: PtrF8, buttons: int) -> bool:
    """Hold the hand, or let it go on, by a button; whether it was let go just now."""
    number = int(s[SET_CLUTCH])
    pressed = m[MEM_HOLD] != 0.0 or (number >= 0 and buttons >> number & 1 != 0)
    was, held = m[MEM_PRESSED] != 0.0, m[MEM_HELD] != 0.0
    m[MEM_PRESSED] = 1.0 if pressed else 0.0
    hold = pressed
    if s[SET_CLUTCH_TOGGLES] != 0.0:
        hold = held != (pressed and not was)
    m[MEM_HELD] = 1.0 if hold else 0.0
    return held and not hold


@kernel
def _map(s: PtrF8, m: PtrF8, reading: PtrF8, hand_out: PtrF8) -> None:
    """x_h = origin + a + σ R_wd (x_d − centre), q_h = q_wd q_d q_off, v_h = σ R_wd v_d."""
    frame = local_f8(9)
    q_wd = quat_at(s, SET_FRAME)
    matrix_into(q_wd, frame)
    sigma = s[SET_SCALE]
    base = add(vec_at(s, SET_ORIGIN), vec_at(m, MEM_ANCHOR))
    way = turn(frame, sub(vec_at(m, MEM_POSE), vec_at(s, SET_CENTRE)))
    put_vec(hand_out, HAND_POSITION, axpy(sigma, way, base))
    q = product(product(q_wd, quat_at(m, MEM_POSE + 3)), quat_at(m, MEM_TURN))
    put_quat(hand_out, HAND_QUATERNION, q)
    put_vec(hand_out, HAND_VELOCITY, scale(sigma, turn(frame, vec_at(reading, READ_VELOCITY))))
    put_vec(hand_out, HAND_OMEGA, turn(frame, vec_at(reading, READ_OMEGA)))


@kernel
def anchor(s: PtrF8, x: Vec3, q: Quat, hand: PtrF8, m: PtrF8) -> None:
    """Choose a and q_off so that the device at x, q shows the hand where it is."""
    frame = local_f8(9)
    q_wd = quat_at(s, SET_FRAME)
    matrix_into(q_wd, frame)
    way = scale(s[SET_SCALE], turn(frame, sub(x, vec_at(s, SET_CENTRE))))
    put_vec(m, MEM_ANCHOR, sub(sub(vec_at(hand, HAND_POSITION), vec_at(s, SET_ORIGIN)), way))
    turned = product(conjugate(product(q_wd, q)), quat_at(hand, HAND_QUATERNION))
    put_quat(m, MEM_TURN, turned)


# ---------------------------------------------------------------- delay and lead


@kernel
def _measure_delay(s: PtrF8, m: PtrF8) -> None:
    """Age of the sample and time of the last write: the longest of late, forgotten slowly."""
    late = m[MEM_SAMPLE_AGE] + m[MEM_WRITE_TIME]
    # one that does not come at all is a fault, not a delay
    late = min(late, (MAX_DELAY + 1) * s[SET_STEP])
    if isfinite(late):
        m[MEM_LATE] = max(late, m[MEM_LATE] * (1.0 - s[SET_STEP] / LATE_FADES))


@kernel
def delay_ticks(settings: PtrF8, memory: PtrF8) -> int:
    """From what is seen of the hand to what the motors do about it [ticks], rounded up."""
    return _ticks(settings, settings[SET_DELAY] + memory[MEM_LATE])


@kernel
def paired_ticks(settings: PtrF8, memory: PtrF8) -> int:
    """How old the command is that the motors held on the way to the newest sample [ticks]."""
    late = settings[SET_DELAY] + memory[MEM_WRITE_TIME] + memory[MEM_AGE_SEEN]
    return _ticks(settings, late)


@kernel
def _ticks(settings: PtrF8, seconds: float) -> int:
    """A time in ticks, rounded up; what is whole but for rounding is whole."""
    if not seconds < MAX_DELAY * settings[SET_STEP]:
        return MAX_DELAY
    ticks: int = ceil(seconds / settings[SET_STEP] - 1e-6)
    return max(0, ticks)


@kernel
def lead_time(settings: PtrF8, memory: PtrF8) -> float:
    """How far ahead the coupling sees the hand [s]."""
    if settings[SET_LEAD] == 0.0:
        return 0.0
    late = (delay_ticks(settings, memory) + 0.5) * settings[SET_STEP]
    return float(min(late, LONGEST_LEAD))


@kernel
def lead_hand(hand: PtrF8, tau: float, ahead_out: PtrF8) -> None:
    """The hand a time τ later, moving on as it does: x + τ v, exp(τ ω) q."""
    v, omega = vec_at(hand, HAND_VELOCITY), vec_at(hand, HAND_OMEGA)
    put_vec(ahead_out, HAND_POSITION, axpy(tau, v, vec_at(hand, HAND_POSITION)))
    q = quat_at(hand, HAND_QUATERNION)
    if tau > 0.0:
        q = product(from_vector(scale(tau, omega)), q)
    put_quat(ahead_out, HAND_QUATERNION, q)
    put_vec(ahead_out, HAND_VELOCITY, v)
    put_vec(ahead_out, HAND_OMEGA, omega)
