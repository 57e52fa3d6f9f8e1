"""Between device and tool: where the hand is, and a wrench that is always finite and within limits.

*In.* A reading is checked, then mapped to the hand,

    x_h = origin + a + σ R_wd (x_d − centre),    q_h = q_wd q_d q_off,

with the anchor a and the turn q_off kept in the rig's memory. They change when the clutch is let go
and when a reading jumped, so that the hand goes on from where it was. Without either q_off is the
inverse of q_wd: a device upright in its base shows a hand upright in the world.

*Out.* The hand feels −F_c, −T_θ; the device gets

    f = −R_wdᵀ F_c / σ,    τ = −R_wdᵀ T_θ / σ²

(force keeps the displayed stiffness, both have one power factor), multiplied by the gain (ramp-up,
ageing contact, clutch), held to the slew rate, kept passive, and scaled as a whole to the limits of
force, torque and power. A fault of `STOPS_FORCE` sends zero in the same tick; when it has gone the
force ramps up again.

*Passivity* [HANNAFORD2002], in the form for positions. The device holds what was sent until the
next sample, so the energy that the hand gave is

    E_n = E_{n−1} − f_{n−1}·Δx_n − τ_{n−1}·Δθ_n,

exactly what crossed the port. The controller looks one step ahead: moving on as it does the hand
would be given W = f·Δx_n + τ·Δθ_n, and by another motion within a slack ε not more than
W + |f| ε + |τ| ε_θ. If that exceeds E_n the whole wrench is scaled down to it. Should E be below
zero all the same, a damper −α v with α = −E/(Δt |v|²) takes back what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off, ptr
from tangere.contact_planes import (
    MAX_PLANES,
    NPLANE,
    PLANE_DAMPING,
    PLANE_STIFFNESS,
)
from tangere.errors import SceneError
from tangere.haptics.fields import put_quat, put_vec, quat_at, vec_at
from tangere.haptics.layout import (
    FAULT_JUMP,
    FAULT_LIMIT,
    FAULT_NAN_FORCE,
    FAULT_NAN_READING,
    FAULT_PASSIVITY,
    FAULT_READ,
    FAULT_SILENT,
    FAULT_SPEED,
    FAULT_STALE,
    HAND_OMEGA,
    HAND_POSITION,
    HAND_QUATERNION,
    HAND_VELOCITY,
    OUT_FORCE,
    OUT_TORQUE,
    PACKET_COUNT,
    PACKET_PLANES,
    PACKET_STATE,
    PACKET_TIME,
    READ_BUTTONS,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_VELOCITY,
    SEND_FORCE,
    SEND_TORQUE,
    SET_CENTRE,
    SET_DEVICE_FORCE,
    SET_DEVICE_JUMP,
    SET_DEVICE_POWER,
    SET_DEVICE_SPEED,
    SET_DEVICE_TORQUE,
    SET_FRAME,
    SET_FRESH,
    SET_ORIGIN,
    SET_PASSIVITY,
    SET_RAMP,
    SET_SCALE,
    SET_SILENCE,
    SET_SLEW,
    SET_STALE,
    SET_STEP,
    STOPS_FORCE,
    TOOL_QUATERNION,
)
from tangere.maths.quat import (
    Quat,
    conjugate,
    matrix_into,
    product,
    turn,
    turn_back,
    turn_between,
    unit,
)
from tangere.maths.vec import Array, Vec3, add, axpy, dot, norm, scale, sub

# ------------------------------------------------ memory of a rig
MEM_STARTED = 0  # 1 once a good reading was seen
MEM_ANCHOR = 1  # 3: a [m]
MEM_TURN = 4  # 4: q_off
MEM_SEQUENCE = 8  # of the newest sample
MEM_SAMPLE_TIME = 9  # tick that saw it [s]
MEM_BEGIN = 10  # first tick [s]
MEM_GAIN = 11  # ramp
MEM_CLUTCH = 12  # share of the force let through by the clutch: 1 while it is not pressed
MEM_HELD = 13  # 1 while the clutch is pressed
MEM_POSE = 14  # 7: position and quaternion of the newest good sample, device
MEM_SENT = 21  # 6: sum of the wrenches sent since that sample
MEM_MEANT = 27  # 6: the same without the passivity controller
MEM_TICKS = 33  # ticks since that sample
MEM_OBSERVED = 34  # E [J]
MEM_SPENT = 35  # energy that the passivity controller took or did not give [J]
MEM_STEP = 36  # 6: Δx, Δθ between the last two samples
MEM_SLACK = 42  # 2: ε [m], ε_θ [rad]
MEM_BAD_PACKET = 44  # 1 while the newest contact packet is unusable
MEM_OUTSIDE = 45  # bits FAULT_… that others set: recorder, viewer, watchdog, user
MEM_FAULTS = 46  # every bit since the start
MEM_PAUSED = 47  # FAULT_ESCAPE while the loop is paused or stood still, else 0

CLUTCH = 1  # button bit

FAR = 1e3  # [m] a device that says it is further away than this is not right
TURN_JUMP = 1.0  # [rad] between two samples: faster than any hand
CLUTCH_FADE = 0.02  # [s] the force goes while the clutch is pressed: a held hand is not passive
NORM = (0.5, 2.0)  # |q|² of a quaternion that is only rounded
WHOLE = 2.0**53  # floats up to here can hold bits

# Passivity. What may be given on top of what was received: without it a force could never begin.
RESERVE = 1e-6  # [J]
# The next step differs from the last by at most so many times the largest recent difference, ...
SURPRISE = 2.0
FORGET = 0.98  # ... whose memory fades by this factor with each sample
LIGHTEST = 0.05  # [kg] apparent mass of a light device: a change of force moves it no further
LEAST_INERTIA = 5e-5  # [kg m²] and of its grip
HALVINGS = 12  # of the share that is sent: known to a four-thousandth
TINY = 1e-30  # a square below this is that of no force, or of no motion
MOST_DAMPING = 10.0  # [N s/m] that a device of that mass renders at 1 kHz


@dataclass(frozen=True, kw_only=True)
class Safety:
    """Limits at the device, and what counts as a fault.

    Args:
        force: Limit of the force sent [N].
        torque: Limit of the torque sent [N m]; 0 for a device without.
        power: Limit of the power given to the hand [W].
        slew: Most change of the force sent [N/s].
        speed: A hand faster than this is a fault [m/s].
        jump: A step between two samples beyond this is a fault [m].
        ramp: Time from zero to full force after a start or a fault [s].
        fresh: Contact packets older than this let the force decay [s].
        stale: … and older than this are a fault [s]; inf without a contact loop.
        silence: A device without a new sample for so long is a fault [s].
        passivity: Whether the passivity controller may act; the observer always runs.
    """

    force: float = 5.0
    torque: float = 0.2
    power: float = 20.0
    slew: float = 2000.0
    speed: float = 2.0
    jump: float = 0.05
    ramp: float = 0.5
    fresh: float = 0.02
    stale: float = 0.05
    silence: float = 0.05
    passivity: bool = True

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value >= 0.0:
                raise SceneError(f"safety: {name} is {value}: give a number of at least 0")
        for name in ("force", "torque"):
            if not isfinite(vars(self)[name]):
                raise SceneError(f"safety: {name} is {vars(self)[name]}: give the device's limit")
        if self.fresh > self.stale:
            raise SceneError(
                f"safety: fresh is {self.fresh:g} s and stale {self.stale:g} s: "
                "packets age from fresh to stale"
            )

    def apply(self, settings: Array) -> None:
        """Write the limits into the settings of a rig, SET_…."""
        for column, value in (
            (SET_DEVICE_FORCE, self.force),
            (SET_DEVICE_TORQUE, self.torque),
            (SET_DEVICE_POWER, self.power),
            (SET_SLEW, self.slew),
            (SET_DEVICE_SPEED, self.speed),
            (SET_DEVICE_JUMP, self.jump),
            (SET_RAMP, self.ramp),
            (SET_FRESH, self.fresh),
            (SET_STALE, self.stale),
            (SET_SILENCE, self.silence),
            (SET_PASSIVITY, float(self.passivity)),
        ):
            settings[column] = value


def unlimited(settings: Array) -> None:
    """No ramp, no decay, no faults of time or motion, no controller: for experiments on paper."""
    Safety(
        force=1e6,
        torque=1e6,
        power=inf,
        slew=inf,
        speed=inf,
        jump=inf,
        ramp=0.0,
        fresh=inf,
        stale=inf,
        silence=inf,
        passivity=False,
    ).apply(settings)


@kernel
def place_hand(settings: Array, reading: Array, memory: Array, hand: Array) -> None:
    """Let the device at `reading` show the hand where `hand` says, from now on."""
    s, r, m, h = ptr(settings), ptr(reading), ptr(memory), ptr(hand)
    _anchor(s, vec_at(r, READ_POSITION), quat_at(r, READ_QUATERNION), h, m)
    m[MEM_STARTED] = max(m[MEM_STARTED], 0.5)  # placed, nothing read yet


# ---------------------------------------------------------------- in


@kernel
def read_hand(
    settings: PtrF8, reading: PtrF8, memory: PtrF8, now: float, fresh: bool, hand_out: PtrF8
) -> int:
    """Map a reading to the hand; returns the faults found in it.

    A bad reading leaves the hand where it was, at rest. `fresh` says that the source has something
    new at every tick; otherwise the sequence number of the reading tells.
    """
    m = memory
    status = reading[READ_STATUS]
    fault = int(status) & STOPS_FORCE if abs(status) < WHOLE else FAULT_READ
    if status != 0.0 and fault == 0:
        fault = FAULT_READ
    if m[MEM_STARTED] < 1.0 and m[MEM_TICKS] == 0.0:
        m[MEM_BEGIN] = m[MEM_SAMPLE_TIME] = now
    seen = fresh or reading[READ_SEQUENCE] != m[MEM_SEQUENCE]
    good = _is_sound(reading)
    if not good:
        fault |= FAULT_NAN_READING
    elif fault & FAULT_READ != 0:
        pass  # whatever stands there was not measured
    elif seen:
        m[MEM_SEQUENCE] = reading[READ_SEQUENCE]
        m[MEM_SAMPLE_TIME] = now
        fault |= _accept(settings, reading, m, hand_out)
    elif now - m[MEM_SAMPLE_TIME] > settings[SET_SILENCE]:
        fault |= FAULT_SILENT
    speed = norm(vec_at(reading, READ_VELOCITY)) if good else 0.0
    if speed > settings[SET_DEVICE_SPEED]:
        fault |= FAULT_SPEED
    if m[MEM_STARTED] < 1.0:  # nothing good was ever read
        return fault | FAULT_READ
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
    if not norm(vec_at(reading, READ_POSITION)) < FAR:
        return False
    if not _is_rotation(quat_at(reading, READ_QUATERNION)):
        return False
    return abs(reading[READ_BUTTONS]) < WHOLE and isfinite(reading[READ_SEQUENCE])


@kernel
def _is_rotation(q: Quat) -> bool:
    """Whether a quaternion is a unit one but for rounding."""
    return NORM[0] < q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] < NORM[1]


@kernel
def _accept(s: PtrF8, reading: PtrF8, m: PtrF8, hand_out: PtrF8) -> int:
    """Take a sound sample in: ledger, jump, clutch, hand. Returns FAULT_JUMP or 0."""
    x = vec_at(reading, READ_POSITION)
    q = unit(quat_at(reading, READ_QUATERNION))
    fault = 0
    if m[MEM_STARTED] < 1.0:
        if m[MEM_STARTED] == 0.0:
            # with a frame but no anchor: a device at rest in its base shows an upright hand
            put_quat(m, MEM_TURN, conjugate(quat_at(s, SET_FRAME)))
        m[MEM_STARTED] = 1.0
        m[MEM_CLUTCH] = 1.0
    else:
        dx = sub(x, vec_at(m, MEM_POSE))
        turned = turn_between(quat_at(m, MEM_POSE + 3), q)
        jump = s[SET_DEVICE_JUMP]
        if norm(dx) > jump or (norm(turned) > TURN_JUMP and jump < inf):
            fault = FAULT_JUMP
            dx = turned = (0.0, 0.0, 0.0)  # nobody was moved, no work was done
        _observe(m, dx, turned)
    held = int(reading[READ_BUTTONS]) & CLUTCH != 0
    if held:
        m[MEM_HELD] = 1.0
    elif m[MEM_HELD] != 0.0 or fault != 0:
        m[MEM_HELD] = 0.0
        _anchor(s, x, q, hand_out, m)
    put_vec(m, MEM_POSE, x)
    put_quat(m, MEM_POSE + 3, q)
    if not held:
        _map(s, m, reading, hand_out)
    return fault


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
def _anchor(s: PtrF8, x: Vec3, q: Quat, hand: PtrF8, m: PtrF8) -> None:
    """Choose a and q_off so that the device at x, q shows the hand where it is."""
    frame = local_f8(9)
    q_wd = quat_at(s, SET_FRAME)
    matrix_into(q_wd, frame)
    way = scale(s[SET_SCALE], turn(frame, sub(x, vec_at(s, SET_CENTRE))))
    put_vec(m, MEM_ANCHOR, sub(sub(vec_at(hand, HAND_POSITION), vec_at(s, SET_ORIGIN)), way))
    turned = product(conjugate(product(q_wd, q)), quat_at(hand, HAND_QUATERNION))
    put_quat(m, MEM_TURN, turned)


@kernel
def usable(packet: PtrF8, latest: float) -> bool:
    """Whether a contact packet is finite, its planes are planes, its time not after `latest`."""
    count = packet[PACKET_COUNT]
    if not (0.0 <= count <= MAX_PLANES and packet[PACKET_TIME] <= latest):
        return False
    if not _is_rotation(quat_at(packet, PACKET_STATE + TOOL_QUATERNION)):
        return False
    for k in range(PACKET_PLANES + int(count) * NPLANE):
        if not isfinite(packet[k]):
            return False
    for i in range(int(count)):
        plane = off(packet, PACKET_PLANES + i * NPLANE)
        if plane[PLANE_STIFFNESS] < 0.0 or plane[PLANE_DAMPING] < 0.0:
            return False
    return True


# ---------------------------------------------------------------- out


@kernel
def command(
    settings: PtrF8,
    out: PtrF8,
    reading: PtrF8,
    memory: PtrF8,
    age: float,
    fault: int,
    send_out: PtrF8,
) -> tuple[int, float]:
    """Wrench to send, in `send_out`; returns the faults with what was found here, and the gain.

    `age` is that of the contact packet [s]. `send_out` holds what was sent last.
    """
    s, m = settings, memory
    dt = s[SET_STEP]
    if age > s[SET_STALE]:
        fault |= FAULT_STALE
    wrench = local_f8(6)
    meant = local_f8(6)
    _to_device(s, out, wrench)
    if not _finite(wrench):
        fault |= FAULT_NAN_FORCE
    gain = 0.0
    if fault & STOPS_FORCE != 0:
        m[MEM_GAIN] = 0.0
        for k in range(6):
            wrench[k] = meant[k] = 0.0
    else:
        gain = _gain(s, m, age, dt)
        for k in range(6):
            wrench[k] *= gain
        _slew(s[SET_SLEW] * dt, send_out, wrench)
        for k in range(6):
            meant[k] = wrench[k]
        if s[SET_PASSIVITY] != 0.0:
            fault |= _keep_passive(m, dt, send_out, wrench)
        fault |= _limit(s, vec_at(reading, READ_VELOCITY), vec_at(reading, READ_OMEGA), wrench)
        _limit(s, vec_at(reading, READ_VELOCITY), vec_at(reading, READ_OMEGA), meant)
        if not (_finite(wrench) and _finite(meant)):
            fault |= FAULT_NAN_FORCE
            m[MEM_GAIN] = gain = 0.0
            for k in range(6):
                wrench[k] = meant[k] = 0.0
    for k in range(3):
        send_out[SEND_FORCE + k] = wrench[k]
        send_out[SEND_TORQUE + k] = wrench[3 + k]
    for k in range(6):
        m[MEM_SENT + k] += wrench[k]
        m[MEM_MEANT + k] += meant[k]
    m[MEM_TICKS] += 1.0
    return fault, gain


@kernel
def _to_device(s: PtrF8, out: PtrF8, wrench_out: PtrF8) -> None:
    """Wrench f = −R_wdᵀ F_c / σ, τ = −R_wdᵀ T_θ / σ²; no torque for a device that has none."""
    frame = local_f8(9)
    matrix_into(quat_at(s, SET_FRAME), frame)
    sigma = s[SET_SCALE]
    put_vec(wrench_out, 0, scale(-1.0 / sigma, turn_back(frame, vec_at(out, OUT_FORCE))))
    torque = scale(-1.0 / (sigma * sigma), turn_back(frame, vec_at(out, OUT_TORQUE)))
    if s[SET_DEVICE_TORQUE] == 0.0:
        torque = (0.0, 0.0, 0.0)
    put_vec(wrench_out, 3, torque)


@kernel
def _gain(s: PtrF8, m: PtrF8, age: float, dt: float) -> float:
    """Ramp × clutch × decay with the age of the contact packet."""
    ramp = s[SET_RAMP]
    m[MEM_GAIN] = min(1.0, m[MEM_GAIN] + dt / ramp) if ramp > 0.0 else 1.0
    if m[MEM_HELD] != 0.0:
        m[MEM_CLUTCH] = max(0.0, m[MEM_CLUTCH] - dt / CLUTCH_FADE)
    else:
        m[MEM_CLUTCH] = min(1.0, m[MEM_CLUTCH] + dt / ramp) if ramp > 0.0 else 1.0
    decay = 1.0
    fresh = s[SET_FRESH]
    if age > fresh:
        decay = max(0.0, 1.0 - (age - fresh) / (s[SET_STALE] - fresh))
    return float(m[MEM_GAIN] * m[MEM_CLUTCH] * decay)


@kernel
def _slew(most: float, last: PtrF8, wrench: PtrF8) -> None:
    """Let the force differ from the last by `most` at most; the torque takes the same share."""
    change = norm(sub(vec_at(wrench, 0), vec_at(last, SEND_FORCE)))
    if change > most:
        share = most / change
        for k in range(3):
            wrench[k] = last[SEND_FORCE + k] + share * (wrench[k] - last[SEND_FORCE + k])
            torque = last[SEND_TORQUE + k]
            wrench[3 + k] = torque + share * (wrench[3 + k] - torque)


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
    if share == 1.0:
        return 0
    for k in range(6):
        wrench[k] *= share
    return FAULT_LIMIT


@kernel
def _observe(m: PtrF8, dx: Vec3, turned: Vec3) -> None:
    """Book the work of the wrenches held since the last sample, and what the hand's motion is like.

    Several ticks may lie between two samples: the mean of what they sent was held over the way.
    """
    if m[MEM_TICKS] > 0.0:
        share = 1.0 / m[MEM_TICKS]
        given = share * (dot(vec_at(m, MEM_SENT), dx) + dot(vec_at(m, MEM_SENT + 3), turned))
        meant = share * (dot(vec_at(m, MEM_MEANT), dx) + dot(vec_at(m, MEM_MEANT + 3), turned))
        m[MEM_OBSERVED] -= given
        m[MEM_SPENT] += meant - given
        for k in range(12):
            m[MEM_SENT + k] = 0.0
        m[MEM_TICKS] = 0.0
    surprise = norm(sub(dx, vec_at(m, MEM_STEP)))
    m[MEM_SLACK] = max(SURPRISE * surprise, FORGET * m[MEM_SLACK])
    surprise = norm(sub(turned, vec_at(m, MEM_STEP + 3)))
    m[MEM_SLACK + 1] = max(SURPRISE * surprise, FORGET * m[MEM_SLACK + 1])
    put_vec(m, MEM_STEP, dx)
    put_vec(m, MEM_STEP + 3, turned)


@kernel
def _keep_passive(m: PtrF8, dt: float, last: PtrF8, wrench: PtrF8) -> int:
    """Scale the wrench so that the next step cannot give more than there is; see above."""
    room = m[MEM_OBSERVED] + RESERVE
    acted = 0
    if _risk(m, dt, last, wrench, 1.0) > room:
        acted = FAULT_PASSIVITY
        # what changes little surprises little: as much as last time is the best guess
        f = vec_at(wrench, 0)
        low = min(1.0, max(0.0, dot(vec_at(last, SEND_FORCE), f) / max(dot(f, f), TINY)))
        if _risk(m, dt, last, wrench, low) > room:
            low = 0.0
        high = 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if _risk(m, dt, last, wrench, middle) > room:
                high = middle
            else:
                low = middle
        for k in range(6):
            wrench[k] *= low
    if room < 0.0:
        v = scale(1.0 / dt, vec_at(m, MEM_STEP))
        speed2 = dot(v, v)
        if speed2 > TINY:
            acted = FAULT_PASSIVITY
            alpha = min(-m[MEM_OBSERVED] / (dt * speed2), MOST_DAMPING)
            for k in range(3):
                wrench[k] -= alpha * v[k]
    return acted


@kernel
def _risk(m: PtrF8, dt: float, last: PtrF8, wrench: PtrF8, share: float) -> float:
    """Most energy that a share of the wrench gives to the hand until the next sample [J].

    f·Δx + |f| (ε + |f − f_{n−1}| Δt²/m), and the same for the torque: moving on as before, but for
    the usual surprise and the kick that the change of force gives to a light device.
    """
    f, tau = scale(share, vec_at(wrench, 0)), scale(share, vec_at(wrench, 3))
    kick = norm(sub(f, vec_at(last, SEND_FORCE))) * dt * dt / LIGHTEST
    twist = norm(sub(tau, vec_at(last, SEND_TORQUE))) * dt * dt / LEAST_INERTIA
    given = dot(f, vec_at(m, MEM_STEP)) + norm(f) * (m[MEM_SLACK] + kick)
    given += dot(tau, vec_at(m, MEM_STEP + 3)) + norm(tau) * (m[MEM_SLACK + 1] + twist)
    return float(given)


@kernel
def _finite(wrench: PtrF8) -> bool:
    """Whether all six numbers are finite."""
    for k in range(6):
        if not isfinite(wrench[k]):
            return False
    return True
