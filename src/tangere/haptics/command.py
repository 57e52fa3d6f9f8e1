"""From what the tool feels to what the device is sent: a wrench always finite and within limits.

The hand feels −F_c, −T_θ and the effects; the device gets

    f = R_wdᵀ (−F_c/σ + f_e),    τ = R_wdᵀ (−T_θ/σ² + τ_e)

(force keeps the displayed stiffness, both have one power factor; effects are felt as they are). The
whole wrench is multiplied by the gain (ramp, clutch, ageing contact) and by the share of the net,
scaled to the limits of force, torque and power, and then held to the slew rate: what is sent never
steps, but for a fault of `STOPS_FORCE`, which sends zero in the same tick.
"""

from __future__ import annotations

from math import isfinite

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off
from tangere.contact_planes import (
    MAX_PLANES,
    NPLANE,
    PLANE_DAMPING,
    PLANE_SHEAR,
    PLANE_STIFFNESS,
)
from tangere.haptics.energy_net import net_gain, remember_command
from tangere.haptics.fields import put_vec, quat_at, vec_at
from tangere.haptics.force_state import update_state
from tangere.haptics.layout import (
    FAULT_LIMIT,
    FAULT_NAN_FORCE,
    FAULT_NET,
    FAULT_STALE,
    FORCE_ACTIVE,
    FORCE_RAMP,
    MEM_CLUTCH,
    MEM_COMMANDS,
    MEM_DECAY,
    MEM_GAIN,
    MEM_HELD,
    MEM_INTERVAL,
    MEM_PACKET_AT,
    OUT_ENERGY,
    OUT_FORCE,
    OUT_TORQUE,
    PACKET_COUNT,
    PACKET_PLANES,
    PACKET_STATE,
    PACKET_TIME,
    READ_OMEGA,
    READ_VELOCITY,
    SEND_FORCE,
    SEND_GRIPPER,
    SEND_TORQUE,
    SET_CAP,
    SET_DEVICE_FORCE,
    SET_DEVICE_POWER,
    SET_DEVICE_TORQUE,
    SET_FRAME,
    SET_FRESH,
    SET_GRIPPER_FORCE,
    SET_RAMP,
    SET_SCALE,
    SET_SLEW,
    SET_STALE,
    SET_STEP,
    SET_TURN_SLEW,
    TOOL_QUATERNION,
    Rig,
)
from tangere.haptics.reading import is_rotation, paired_ticks
from tangere.maths.quat import matrix_into, turn_back
from tangere.maths.vec import Vec3, axpy, dot, norm, scale, sub

CLUTCH_FADE = 0.02  # [s] the force goes while the clutch is held: a held hand is not passive
# A slow contact loop is allowed packets of so many of its periods, within these multiples of the
# limits: a packet is a period old when it comes and two when the next one does.
FRESH_PERIODS, STALE_PERIODS = 3.0, 5.0
MOST_FRESH, MOST_STALE = 4.0, 3.0
# Share of a new interval between packets in what is expected: of a longer one, of a shorter one.
SLOWER, FASTER = 0.5, 0.05
DECAY_BACK = 2.0  # [s] in which a force that ageing packets took away comes back
GRIPPER_FALL = 0.05  # [s] from the gripper's limit to zero, at the fastest


@kernel
def usable(packet: PtrF8, latest: float) -> bool:
    """Whether a contact packet is finite, its planes are planes, its time not after `latest`."""
    count = packet[PACKET_COUNT]
    if not (0.0 <= count <= MAX_PLANES and packet[PACKET_TIME] <= latest):
        return False
    q = quat_at(packet, PACKET_STATE + TOOL_QUATERNION)
    if not is_rotation(q):
        return False
    for k in range(PACKET_PLANES + int(count) * NPLANE):
        if not isfinite(packet[k]):
            return False
    for i in range(int(count)):
        plane = off(packet, PACKET_PLANES + i * NPLANE)
        if plane[PLANE_STIFFNESS] < 0.0 or plane[PLANE_DAMPING] < 0.0:
            return False
    return True


@kernel
def cap_planes(settings: PtrF8, packet: PtrF8) -> None:
    """Soften planes that a hand feels as they are, together no stiffer than the cap."""
    total = 0.0
    count = int(packet[PACKET_COUNT])
    for i in range(count):
        total += packet[PACKET_PLANES + i * NPLANE + PLANE_STIFFNESS]
    share = settings[SET_CAP] / total if total > settings[SET_CAP] else 1.0
    for i in range(count):
        plane = off(packet, PACKET_PLANES + i * NPLANE)
        plane[PLANE_STIFFNESS] *= share
        plane[PLANE_DAMPING] *= share
        plane[PLANE_SHEAR] *= share


@kernel
def packet_came(memory: PtrF8, now: float) -> None:
    """A usable packet came: how long since the last one."""
    m = memory
    if m[MEM_PACKET_AT] > 0.0:
        more = now - m[MEM_PACKET_AT] - m[MEM_INTERVAL]
        m[MEM_INTERVAL] += (SLOWER if more > 0.0 else FASTER) * more
    m[MEM_PACKET_AT] = now


@kernel
def command(
    r: Rig, effect: PtrF8, power: float, now: float, age: float, fault: int
) -> tuple[int, float]:
    """Wrench to send, in `Rig.send`; returns the faults with what was found here, and the gain.

    `effect` is the wrench of effects on the hand, world axes, and the force on its gripper (7), and
    `power` what they may give [W]. `age` is that of the contact packet [s].
    """
    s, m, out, send = r.settings, r.memory, r.out, r.send
    dt = s[SET_STEP]
    fresh, stale = _age_limits(s, m)
    if age > stale:
        fault |= FAULT_STALE
    wrench = local_f8(7)
    _to_device(s, out, effect, wrench)
    if not _finite(wrench):
        fault |= FAULT_NAN_FORCE
    state = update_state(s, m, fault, now)
    gain = 0.0
    delay, n = paired_ticks(s, m), int(m[MEM_COMMANDS])
    share = net_gain(s, m, n, delay, out[OUT_ENERGY], power)
    if state in (FORCE_RAMP, FORCE_ACTIVE):
        gain = _gain(s, m, age, fresh, stale, dt)
        if share < 1.0:
            fault |= FAULT_NET
        for k in range(7):
            wrench[k] *= gain * share
        v, omega = vec_at(r.reading, READ_VELOCITY), vec_at(r.reading, READ_OMEGA)
        fault |= _limit(s, v, omega, wrench)
        _slew(s, dt, send, wrench)
        _clamp(s, wrench)
        if not _finite(wrench):
            fault |= FAULT_NAN_FORCE
            update_state(s, m, fault, now)
            gain = 0.0
    if gain == 0.0:
        for k in range(7):
            wrench[k] = 0.0
    for k in range(3):
        send[SEND_FORCE + k] = wrench[k]
        send[SEND_TORQUE + k] = wrench[3 + k]
    send[SEND_GRIPPER] = wrench[6]
    remember_command(m, n, send)
    m[MEM_COMMANDS] = n + 1.0
    return fault, gain


@kernel
def _to_device(s: PtrF8, out: PtrF8, effect: PtrF8, wrench_out: PtrF8) -> None:
    """Wrench of coupling and effects in the device's base frame; no torque for one without."""
    frame = local_f8(9)
    matrix_into(quat_at(s, SET_FRAME), frame)
    sigma = s[SET_SCALE]
    force = axpy(-1.0 / sigma, vec_at(out, OUT_FORCE), vec_at(effect, 0))
    put_vec(wrench_out, 0, turn_back(frame, force))
    torque = axpy(-1.0 / (sigma * sigma), vec_at(out, OUT_TORQUE), vec_at(effect, 3))
    torque = turn_back(frame, torque)
    if s[SET_DEVICE_TORQUE] == 0.0:
        torque = (0.0, 0.0, 0.0)
    put_vec(wrench_out, 3, torque)
    wrench_out[6] = effect[6] if s[SET_GRIPPER_FORCE] > 0.0 else 0.0


@kernel
def _age_limits(s: PtrF8, m: PtrF8) -> tuple[float, float]:
    """From which age of a packet the force decays, and from which it is a fault [s]."""
    fresh = max(s[SET_FRESH], min(FRESH_PERIODS * m[MEM_INTERVAL], MOST_FRESH * s[SET_FRESH]))
    stale = max(s[SET_STALE], min(STALE_PERIODS * m[MEM_INTERVAL], MOST_STALE * s[SET_STALE]))
    return fresh, stale


@kernel
def _gain(s: PtrF8, m: PtrF8, age: float, fresh: float, stale: float, dt: float) -> float:
    """Ramp × clutch × decay with the age of the contact packet.

    What ageing packets took away comes back slowly: a loop that is late again and again would saw
    at the force.
    """
    ramp = s[SET_RAMP]
    back = dt / ramp if ramp > 0.0 else 1.0
    if m[MEM_HELD] != 0.0:
        m[MEM_CLUTCH] = max(0.0, m[MEM_CLUTCH] - dt / CLUTCH_FADE)
    else:
        m[MEM_CLUTCH] = min(1.0, m[MEM_CLUTCH] + back)
    decay = 1.0
    if age > fresh:
        decay = max(0.0, 1.0 - (age - fresh) / max(stale - fresh, dt))
    if m[MEM_GAIN] == 1.0 and ramp > 0.0:
        back = dt / DECAY_BACK
    m[MEM_DECAY] = min(decay, m[MEM_DECAY] + back)
    return float(m[MEM_GAIN] * m[MEM_CLUTCH] * m[MEM_DECAY])


@kernel
def _slew(s: PtrF8, dt: float, last: PtrF8, wrench: PtrF8) -> None:
    """Let force and torque differ from the last by no more than their rates allow.

    The whole wrench goes by the stricter share, so that it changes along one line.
    """
    force = norm(sub(vec_at(wrench, 0), vec_at(last, SEND_FORCE)))
    torque = norm(sub(vec_at(wrench, 3), vec_at(last, SEND_TORQUE)))
    share = 1.0
    if force > s[SET_SLEW] * dt:
        share = s[SET_SLEW] * dt / force
    if torque * share > s[SET_TURN_SLEW] * dt:
        share = s[SET_TURN_SLEW] * dt / torque
    if share < 1.0:
        for k in range(3):
            f, t = last[SEND_FORCE + k], last[SEND_TORQUE + k]
            wrench[k] = f + share * (wrench[k] - f)
            wrench[3 + k] = t + share * (wrench[3 + k] - t)
    most = s[SET_GRIPPER_FORCE] * dt / GRIPPER_FALL
    grip = last[SEND_GRIPPER]
    wrench[6] = min(max(wrench[6], grip - most), grip + most)


@kernel
def _limit(s: PtrF8, v: Vec3, omega: Vec3, wrench: PtrF8) -> int:
    """Scale the whole wrench to the limits; FAULT_LIMIT if that changed it."""
    share = 1.0
    force, torque = norm(vec_at(wrench, 0)), norm(vec_at(wrench, 3))
    if not force <= s[SET_DEVICE_FORCE]:
        share = s[SET_DEVICE_FORCE] / force
    if not torque * share <= s[SET_DEVICE_TORQUE]:
        share = s[SET_DEVICE_TORQUE] / torque
    power = share * (dot(vec_at(wrench, 0), v) + dot(vec_at(wrench, 3), omega))
    if power > s[SET_DEVICE_POWER]:
        share *= s[SET_DEVICE_POWER] / power
    if share != 1.0:
        for k in range(6):
            wrench[k] *= share
    return FAULT_LIMIT if share != 1.0 else 0


@kernel
def _clamp(s: PtrF8, wrench: PtrF8) -> None:
    """Hold what was slewed within the limits: they may have become stricter since the last tick."""
    for half in range(2):
        part = vec_at(wrench, 3 * half)
        most = s[SET_DEVICE_FORCE if half == 0 else SET_DEVICE_TORQUE]
        size = norm(part)
        if size > most:
            put_vec(wrench, 3 * half, scale(most / size, part))
    most = s[SET_GRIPPER_FORCE]
    wrench[6] = min(max(wrench[6], -most), most)


@kernel
def _finite(wrench: PtrF8) -> bool:
    """Whether all seven numbers are finite."""
    for k in range(7):
        if not isfinite(wrench[k]):
            return False
    return True
