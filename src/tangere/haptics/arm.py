"""A person's arm holding a device, computed inside the tick: the closed loop without hardware.

The hand grips the device firmly, so both move as one mass. The arm is a spring and a damper from
the hand to where the person wants to be (`wanted`, a script); the device adds friction and the
force it was sent. Translation, for the time of one tick in which the force F is held:

    (m_h + m_d) v̇ = k (x_w − x) + b (v_w − v) − b_d v − f_c + F,    f_c ∈ c v/|v|, |f_c| ≤ c at rest

and the same for rotation with isotropic inertia, spring k_θ Log(q_w q*) and Coulomb friction. Each
of the `ARM_SUBSTEPS` parts of a tick is an implicit midpoint step: exact for a constant force,
stable for any stiffness, and it neither makes nor loses energy but by friction and dampers. The
friction is solved with it: with v_m the mean velocity, A v_m = g − f_c gives
v_m = max(0, 1 − c/|g|) g/A. Where that is zero the hand sticks and stays at rest.

What the servo sees is the device's view: the position rounded to the encoder's resolution, sampled
every `ARM_EVERY` ticks, with the velocity that a driver would take from it (difference of samples
through a first-order filter). What the hand feels is the command `ARM_DELAY` ticks late, scaled
into the device's limits with its direction kept.

Energy books, exact for translation up to rounding and for rotation up to the third order of a part:

    stored = kinetic + springs,    Δstored = given + intent − lost,    lost never falls

`given` is the work of the force sent, `intent` that of the person's will (the far end of the arm).
"""

from __future__ import annotations

from math import floor

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.haptics.fields import put_quat, put_vec, quat_at, vec_at
from tangere.haptics.layout import (
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
    READ_TIME,
    SEND_FORCE,
    SEND_TORQUE,
)
from tangere.maths.quat import from_vector, product, turn_between, unit
from tangere.maths.vec import Vec3, axpy, dot, norm, scale, sub

# ------------------------------------------------ parameters
ARM_MASS = 0  # m_h of hand and arm at the grip [kg]
ARM_STIFFNESS = 1  # k [N/m]
ARM_DAMPING = 2  # b [N s/m]
ARM_INERTIA = 3  # of hand and arm about the grip [kg m²]
ARM_TURN_STIFFNESS = 4  # k_θ [N m/rad]
ARM_TURN_DAMPING = 5  # b_θ [N m s/rad]
ARM_DEVICE_MASS = 6  # m_d, apparent at the grip [kg]
ARM_DEVICE_INERTIA = 7  # [kg m²]
ARM_VISCOUS = 8  # b_d of the device [N s/m]
ARM_TURN_VISCOUS = 9  # [N m s/rad]
ARM_FRICTION = 10  # c, Coulomb friction of the device [N]
ARM_TURN_FRICTION = 11  # [N m]
ARM_MAX_FORCE = 12  # of the motors [N]; inf: none
ARM_MAX_TORQUE = 13  # [N m]; 0: the device has none
ARM_RESOLUTION = 14  # of the encoders, seen at the grip [m]; 0: exact
ARM_TURN_RESOLUTION = 15  # [rad]
ARM_EVERY = 16  # ticks between two samples, at least 1
ARM_DELAY = 17  # ticks that a command waits, 0 … MAX_DELAY
ARM_FILTER = 18  # time constant of the driver's velocity [s]; 0: plain difference
ARM_SUBSTEPS = 19  # parts of a tick, at least 1
# ------------------------------------------------ state
ARM_TICKS = 20  # calls so far; 0: the first call puts the hand where it wants to be
ARM_POSITION = 21  # 3: grip [m]
ARM_QUATERNION = 24  # 4
ARM_VELOCITY = 28  # 3
ARM_OMEGA = 31  # 3
ARM_WANTED = 34  # 7: position and quaternion wanted at the last tick
ARM_SAMPLE = 41  # 13: the last sample: position, quaternion, velocity, angular velocity
ARM_SAMPLE_TIME = 54  # [s]
ARM_SAMPLES = 55  # so far
ARM_GIVEN = 56  # work of the force sent on the hand [J]
ARM_INTENT = 57  # work of the person's will [J]
ARM_LOST = 58  # in friction and dampers [J]
ARM_STORED = 59  # kinetic and in the springs [J]
ARM_LINE = 64  # (MAX_DELAY + 1) × 6: wrenches on their way to the motors
MAX_DELAY = 31
NARM = 256


@kernel
def arm_step(arm: PtrF8, wanted: PtrF8, sent: PtrF8, dt: float, reading_out: PtrF8) -> None:
    """Move arm and device over the tick just gone, then let the device be read.

    Call it at the start of a tick, with the command of the tick before: a motor holds F_{n−1} from
    t_{n−1} to t_n. All of `arm` (ARM_…), `wanted` (READ_…; pose, time and buttons are used) and
    `sent` (SEND_…) may be arrays or pointers. The first call moves nothing.
    """
    if arm[ARM_TICKS] == 0.0:
        for i in range(7):
            arm[ARM_POSITION + i] = wanted[READ_POSITION + i]
            arm[ARM_WANTED + i] = wanted[READ_POSITION + i]
    else:
        _advance(arm, wanted, sent, dt)
    if arm[ARM_TICKS] % arm[ARM_EVERY] == 0.0:
        _sample(arm, wanted[READ_TIME], dt * arm[ARM_EVERY])
    arm[ARM_TICKS] += 1.0
    for i in range(13):
        reading_out[READ_POSITION + i] = arm[ARM_SAMPLE + i]
    reading_out[READ_TIME] = arm[ARM_SAMPLE_TIME]
    for i in range(READ_TIME + 1, READ_SEQUENCE):  # buttons and gripper are the person's
        reading_out[i] = wanted[i]
    reading_out[READ_SEQUENCE] = arm[ARM_SAMPLES]
    reading_out[READ_STATUS] = 0.0


@kernel
def _advance(arm: PtrF8, wanted: PtrF8, sent: PtrF8, dt: float) -> None:
    """One tick under one force, in equal parts, while the person's aim moves evenly."""
    force, torque = _through_line(arm, sent)
    parts = int(arm[ARM_SUBSTEPS])
    share = 1.0 / parts
    h = share * dt
    x_to = vec_at(wanted, READ_POSITION)
    x_from = vec_at(arm, ARM_WANTED)
    step_w = scale(share, sub(x_to, x_from))
    q_from = quat_at(arm, ARM_WANTED + 3)
    turn_w = scale(share, turn_between(q_from, quat_at(wanted, READ_QUATERNION)))
    stretch = sub(x_from, vec_at(arm, ARM_POSITION))
    q = quat_at(arm, ARM_QUATERNION)
    for part in range(parts):
        v, step = _midpoint(
            arm, 0, (arm[ARM_MASS] + arm[ARM_DEVICE_MASS], h), stretch, step_w, force
        )
        put_vec(arm, ARM_VELOCITY, v)
        put_vec(arm, ARM_POSITION, axpy(1.0, step, vec_at(arm, ARM_POSITION)))
        stretch = sub(axpy(part + 1.0, step_w, x_from), vec_at(arm, ARM_POSITION))

        q_w = product(from_vector(scale(float(part), turn_w)), q_from)
        bend = turn_between(q, q_w)
        omega, turn = _midpoint(
            arm, 1, (arm[ARM_INERTIA] + arm[ARM_DEVICE_INERTIA], h), bend, turn_w, torque
        )
        put_vec(arm, ARM_OMEGA, omega)
        q = unit(product(from_vector(turn), q))
    put_quat(arm, ARM_QUATERNION, q)
    for i in range(7):
        arm[ARM_WANTED + i] = wanted[READ_POSITION + i]
    bend = turn_between(q, quat_at(arm, ARM_WANTED + 3))
    v = vec_at(arm, ARM_VELOCITY)
    omega = vec_at(arm, ARM_OMEGA)
    arm[ARM_STORED] = 0.5 * (
        (arm[ARM_MASS] + arm[ARM_DEVICE_MASS]) * dot(v, v)
        + arm[ARM_STIFFNESS] * dot(stretch, stretch)
        + (arm[ARM_INERTIA] + arm[ARM_DEVICE_INERTIA]) * dot(omega, omega)
        + arm[ARM_TURN_STIFFNESS] * dot(bend, bend)
    )


@kernel
def _midpoint(
    arm: PtrF8, turning: int, mass_h: tuple[float, float], e: Vec3, step_w: Vec3, f: Vec3
) -> tuple[Vec3, Vec3]:
    """New velocity and way of a part of length h, from stretch e, step of the aim and motor f.

    2 m/h (v_m − v) = k (e + ½ (step_w − h v_m)) + b (step_w/h − v_m) − b_d v_m − f_c + f,
    with v_m the mean of both ends: A v_m = g − f_c.
    """
    m, h = mass_h
    k = arm[ARM_STIFFNESS + 3 * turning]
    b = arm[ARM_DAMPING + 3 * turning]
    b_d = arm[ARM_VISCOUS + turning]
    c = arm[ARM_FRICTION + turning]
    v = vec_at(arm, ARM_VELOCITY + 3 * turning)
    a = 2.0 * m / h + 0.5 * k * h + b + b_d
    g = axpy(k, e, axpy(0.5 * k + b / h, step_w, axpy(2.0 * m / h, v, f)))
    size = norm(g)
    slip = 1.0 - c / size if size > c else 0.0
    v_m = scale(slip / a, g)
    step = scale(h, v_m)
    end = sub(scale(2.0, v_m), v) if slip > 0.0 else (0.0, 0.0, 0.0)

    relative = sub(step_w, step)
    pull = axpy(k, axpy(0.5, relative, e), scale(b / h, relative))  # of the arm on the hand
    lost = b / h * dot(relative, relative) + (b_d * h * norm(v_m) + min(c, size) * h) * norm(v_m)
    if slip == 0.0:
        lost += 0.5 * m * dot(v, v)
    arm[ARM_GIVEN] += dot(f, step)
    arm[ARM_INTENT] += dot(pull, step_w)
    arm[ARM_LOST] += lost
    return end, step


@kernel
def _through_line(arm: PtrF8, sent: PtrF8) -> tuple[Vec3, Vec3]:
    """Put a command into the delay line; force and torque of the motors, within their limits."""
    tick = int(arm[ARM_TICKS])
    new = ARM_LINE + 6 * (tick % (MAX_DELAY + 1))
    for i in range(3):
        arm[new + i] = sent[SEND_FORCE + i]
        arm[new + 3 + i] = sent[SEND_TORQUE + i]
    age = tick - int(arm[ARM_DELAY])
    if age < 1:  # nothing had been sent by then
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    old = ARM_LINE + 6 * (age % (MAX_DELAY + 1))
    force, torque = vec_at(arm, old), vec_at(arm, old + 3)
    return (
        scale(_within(norm(force), arm[ARM_MAX_FORCE]), force),
        scale(_within(norm(torque), arm[ARM_MAX_TORQUE]), torque),
    )


@kernel
def _within(size: float, limit: float) -> float:
    """Factor that brings a size down to its limit."""
    return limit / size if size > limit else 1.0


@kernel
def _sample(arm: PtrF8, time: float, period: float) -> None:
    """Read the encoders, and take the velocity from this sample and the one before."""
    x = _rounded(vec_at(arm, ARM_POSITION), arm[ARM_RESOLUTION])
    q = quat_at(arm, ARM_QUATERNION)
    # an angle seen as a change of the quaternion is half as large
    fine = 0.5 * arm[ARM_TURN_RESOLUTION]
    axis = _rounded((q[1], q[2], q[3]), fine)
    q = unit((_step(q[0], fine), axis[0], axis[1], axis[2]))
    if arm[ARM_SAMPLES] > 0.0:
        blend = period / (period + arm[ARM_FILTER])
        v = scale(1.0 / period, sub(x, vec_at(arm, ARM_SAMPLE)))
        omega = scale(1.0 / period, turn_between(quat_at(arm, ARM_SAMPLE + 3), q))
        v_old = vec_at(arm, ARM_SAMPLE + 7)
        omega_old = vec_at(arm, ARM_SAMPLE + 10)
        put_vec(arm, ARM_SAMPLE + 7, axpy(blend, sub(v, v_old), v_old))
        put_vec(arm, ARM_SAMPLE + 10, axpy(blend, sub(omega, omega_old), omega_old))
    put_vec(arm, ARM_SAMPLE, x)
    put_quat(arm, ARM_SAMPLE + 3, q)
    arm[ARM_SAMPLE_TIME] = time
    arm[ARM_SAMPLES] += 1.0


@kernel
def _rounded(x: Vec3, fine: float) -> Vec3:
    """To the nearest step of an encoder, per component."""
    return (_step(x[0], fine), _step(x[1], fine), _step(x[2], fine))


@kernel
def _step(x: float, fine: float) -> float:
    """To the nearest multiple of `fine`; 0: as it is."""
    return fine * floor(x / fine + 0.5) if fine > 0.0 else x
