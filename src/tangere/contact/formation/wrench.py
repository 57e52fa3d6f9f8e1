"""The wrench of a contact formation on the held body, from its poses and its principal contacts.

    forces = new_forces(options, mass, inertia, radius, period, [tool, *fixed])
    contact_wrench(forces, pose, rows, count, time)

is all that a caller needs. `pose` is the position of the centre of mass and the quaternion of A,
shape (7,); `rows` the principal contacts at that pose, `PC_…`, shape (≥ count, NPC), count at most
MOST_CONTACTS; `time` grows by the period from call to call, and a gap begins the motion anew. Read
afterwards: `forces.result`, see `RES_…`, and `forces.out`, one row of `OUT_…` for each contact in
the order of the rows. The call is compiled, allocates nothing, and may stand in another kernel.

Normal force of a contact, over the points of its region with shares a of sum 1:

    f = max(0, a (K (ε − d) − D ḋ)),   0 beyond ε

and friction as `friction` says. Where formation or case change, the wrench passes over to the new
one: what it was more before fades away within 5 ms, or as the limits on its rate allow. Springs of
contacts that are new or kept are not part of that: they press at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, isfinite, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off, pointers, ptr
from tangere.contact.formation.columns import (
    CASE_FREE,
    CASE_IMPACT,
    CASE_SLIDING,
    CASE_STATIC,
    FIRST,
    FREE,
    GAINED,
    KEPT,
    LAW_ANGULAR_BAND,
    LAW_BAND,
    LAW_BLEND,
    LAW_CLAMP,
    LAW_D,
    LAW_DEBOUNCE,
    LAW_EFFECTIVE,
    LAW_ETA,
    LAW_FORCE_RATE,
    LAW_INERTIA,
    LAW_INVERSE,
    LAW_K,
    LAW_KP,
    LAW_LAYER,
    LAW_LEAST_ARM,
    LAW_MASS,
    LAW_MAX_FORCE,
    LAW_MAX_TORQUE,
    LAW_MEMORY,
    LAW_MU,
    LAW_MU_KINETIC,
    LAW_PER_POINT,
    LAW_PRINTED,
    LAW_RADIUS,
    LAW_SMOOTH,
    LAW_TORQUE_RATE,
    LOST,
    MEM_PRESS,
    MEM_SEEN,
    MEM_USED,
    MOST_CONTACTS,
    NLAW,
    NMEM,
    NOUT,
    NPC,
    NRES,
    OUT_CASE,
    OUT_FRICTION,
    OUT_IMPACT,
    OUT_NEED,
    OUT_NORMAL_FORCE,
    OUT_POINT,
    OUT_PRESS,
    OUT_SPREAD,
    OUT_STATE,
    OUT_STORED,
    OUT_STRETCH,
    OUT_TURN,
    PC_NORMAL,
    RES_CASE,
    RES_COUNT,
    RES_FADE,
    RES_FADE_TIME,
    RES_FRICTION,
    RES_INERTIA,
    RES_STORED,
    RES_TYPE,
    RES_WORK,
    RES_WRENCH,
    ROLL,
    SLIP,
    STICK,
    put,
    vec,
)
from tangere.contact.formation.friction import (
    admissible,
    case_of,
    drag,
    hold,
    is_static,
    prior_force,
    slide,
    start,
    torque_of,
)
from tangere.contact.formation.memory import Now, carry, remember, where
from tangere.contact.formation.motion import (
    MO_PRIOR,
    MO_TIME,
    MO_TOUCH,
    NPOSE,
    Motion,
    above_band,
    follow,
    new_motion,
)
from tangere.contact.formation.motion_type import (
    IS_CHANGED,
    IS_FIRST,
    IS_KEPT,
    IS_NEW,
    Frame,
    Relations,
    match,
    relations,
)
from tangere.contact.formation.normal_force import press
from tangere.errors import SceneError
from tangere.geometry.checks import positive
from tangere.maths.vec import Array, Vec3, add, axpy, cross, dot, norm, scale, sub

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.contact.formation.options import Formation
    from tangere.geometry.boundary import Elements

# Share of the device's mass that may be rendered as that of A: more is unstable with a sample's
# delay.
MOST_RENDERED = 0.5


class Forces(NamedTuple):
    """The force model of one held body.

    | field     | meaning                                             | shape                 |
    | law       | parameters and body, see `LAW_…`                    | (NLAW,)               |
    | motion    | poses of late                                       |                       |
    | relations | of the elements of A and of every B                 |                       |
    | memory    | of contacts, see `MEM_…`                            | (MOST_CONTACTS, NMEM) |
    | last      | contacts of the last pose, `PC_…`                   | (MOST_CONTACTS, NPC)  |
    | out       | of every contact, `OUT_…`                           | (MOST_CONTACTS, NOUT) |
    | result    | of all together, `RES_…`                            | (NRES,)               |
    """

    law: Array
    motion: Motion
    relations: Relations
    memory: Array
    last: Array
    out: Array
    result: Array


def new_forces(
    options: Formation,
    mass: float,
    inertia: ArrayLike,
    radius: float,
    period: float,
    bodies: Sequence[Elements],
) -> Forces:
    """The force model of a body that has touched nothing yet.

    Args:
        options: Parameters of the method.
        mass: Of A [kg].
        inertia: Tensor of A about its centre of mass, in its own axes, shape (3, 3) [kg m²].
        radius: Of A about its centre of mass [m].
        period: From pose to pose [s].
        bodies: Elements of A, then of every fixed body, in the order of `PC_BODY`.
    """
    mass, radius = positive(mass, "Forces mass"), positive(radius, "Forces radius")
    period = positive(period, "Forces period")
    tensor = np.asarray(inertia, float).reshape(3, 3)
    if options.inertia * mass > MOST_RENDERED * options.device_mass:
        most = MOST_RENDERED * options.device_mass / mass
        raise SceneError(
            f"Formation inertia: {options.inertia:g} of {mass:g} kg is unstable on a device of "
            f"{options.device_mass:g} kg; give at most {most:.3g}"
        )
    law = np.zeros(NLAW)
    for column, value in {
        LAW_K: options.stiffness,
        LAW_D: options.damping,
        LAW_KP: options.tangential_stiffness,
        LAW_MU: options.static_friction,
        LAW_MU_KINETIC: options.kinetic_friction,
        LAW_LAYER: options.layer,
        LAW_PER_POINT: options.per_point,
        LAW_SMOOTH: options.smooth_damper,
        LAW_EFFECTIVE: options.effective_mass,
        LAW_CLAMP: options.clamp_impact,
        LAW_PRINTED: options.stick == "printed",
        LAW_BLEND: options.blend,
        LAW_FORCE_RATE: options.force_rate,
        LAW_TORQUE_RATE: options.torque_rate,
        LAW_DEBOUNCE: options.debounce,
        LAW_BAND: options.acceleration_band,
        LAW_ANGULAR_BAND: options.angular_band,
        LAW_ETA: options.inertia,
        LAW_MAX_FORCE: inf if options.max_force is None else options.max_force,
        LAW_MAX_TORQUE: inf if options.max_torque is None else options.max_torque,
        LAW_MASS: mass,
        LAW_RADIUS: radius,
        # a tenth of the radius of gyration, that of a ball of the same trace
        LAW_LEAST_ARM: max(1e-3, 0.1 * sqrt(float(np.trace(tensor)) / (3.0 * mass))),
        LAW_MEMORY: exp(-period / options.window),
    }.items():
        law[column] = value
    law[LAW_INERTIA : LAW_INERTIA + 9] = tensor.ravel()
    law[LAW_INVERSE : LAW_INVERSE + 9] = np.linalg.inv(tensor).ravel()
    motion = new_motion(options.window, options.velocity_window, period)
    motion.state[MO_TIME] = -inf
    return Forces(
        law,
        motion,
        relations(bodies),
        np.zeros((MOST_CONTACTS, NMEM)),
        np.zeros((MOST_CONTACTS, NPC)),
        np.zeros((MOST_CONTACTS, NOUT)),
        np.zeros(NRES),
    )


@kernel
def contact_wrench(forces: Forces, pose: Array, rows: Array, count: int, time: float) -> None:
    """Wrench of the contacts on A at its next pose, and what is remembered of them.

    A pose that is not finite is left out: the wrench stays.
    """
    p, given = pointers(forces), ptr(pose)
    for k in range(NPOSE):
        if not isfinite(given[k]):
            return
    law, result, state = p.law, p.result, p.motion.state
    before = state[MO_TIME]
    follow(p.motion, given, time)
    f = Frame(ptr(rows), p.last, p.memory, p.out, local_i8(16), local_i8(16))
    now = where(p.motion, given, local_f8(9), local_f8(9))
    for i in range(count):
        press(law, state, off(f.rows, NPC * i), off(f.out, NOUT * i), now.c)
    kind = match(f, p.relations, count, time, before, law[LAW_DEBOUNCE], law[LAW_LAYER])
    v_free, w_free = now.v, now.w
    if kind in (KEPT, LOST):
        v_free, w_free = admissible(f, count, now.c, law[LAW_RADIUS], now.v, now.w)
    for i in range(count):
        carry(law, f, i, now, v_free, w_free, before)
    verdict = local_i8(16)
    case = _judge(law, state, f, count, kind, now, v_free, w_free, verdict)
    switched = _rub(law, f, count, now.c, verdict)
    begun = kind in (FIRST, GAINED)
    switched = switched or begun or kind == LOST or case != int(result[RES_CASE])
    result[RES_TYPE], result[RES_CASE], result[RES_COUNT] = kind, case, count
    _add_up(law, f, count, result, switched, now, time, before)
    _inertia(law, state, now, result)
    if begun:
        state[MO_TOUCH] = time
    remember(f, count, now, time)


@kernel
def _judge(
    law: PtrF8, state: PtrF8, f: Frame, count: int, kind: int, now: Now, v: Vec3, w: Vec3,
    verdict: PtrI8,
) -> int:  # fmt: skip
    """Case of the formation, and the verdict on every contact; new ones have their friction.

    Args:
        law: See `LAW_…`.
        state: Of the motion.
        f: The contacts.
        count: How many there are.
        kind: Type of the motion before.
        now: Where A is.
        v: Velocity that the contacts let through [m/s].
        w: Angular velocity that they let through [rad/s].
        verdict: STICK, SLIP or ROLL, filled.
    """
    if kind == FREE:
        return CASE_FREE
    if kind in (KEPT, LOST):
        case = case_of(f, count, w, law[LAW_RADIUS], verdict)
        if kind == KEPT and is_static(now.v, now.w, v, w, law[LAW_RADIUS]):
            case = CASE_STATIC
        for i in range(count):
            f.out[NOUT * i + OUT_CASE] = case
            if case == CASE_STATIC:
                verdict[i] = STICK
        return case
    a = above_band(vec(state, MO_PRIOR), law[LAW_BAND])
    alpha = above_band(vec(state, MO_PRIOR + 3), law[LAW_ANGULAR_BAND])
    all_stick = True
    for i in range(count):
        if f.fate[i] == IS_KEPT or f.fate[i] == IS_CHANGED:
            continue
        row, out = off(f.rows, NPC * i), off(f.out, NOUT * i)
        arm = sub(vec(out, OUT_POINT), now.c)
        g = prior_force(law, now.r, arm, now.w, a, alpha)
        speed = add(now.v, cross(now.w, arm))
        force, need, f_v, sticks = start(law, out[OUT_NORMAL_FORCE], vec(row, PC_NORMAL), speed, g)
        verdict[i] = STICK if sticks else SLIP
        all_stick = all_stick and (sticks or f.fate[i] == IS_FIRST)
        put(out, OUT_FRICTION, force)
        put(out, OUT_NEED, need)
        out[OUT_IMPACT], out[OUT_CASE] = f_v, CASE_IMPACT
    for i in range(count):
        if f.fate[i] == IS_KEPT or f.fate[i] == IS_CHANGED:
            verdict[i] = STICK if all_stick else SLIP
            f.out[NOUT * i + OUT_CASE] = CASE_STATIC if all_stick else CASE_SLIDING
            if not all_stick:
                f.out[NOUT * i + OUT_STATE] = SLIP
    return CASE_IMPACT


@kernel
def _rub(law: PtrF8, f: Frame, count: int, c: Vec3, verdict: PtrI8) -> bool:
    """Friction of every contact; whether one went from stick to slip or back.

    A contact that sticks leaves that state by its own limit alone; the verdict brings it back.
    """
    switched = False
    for i in range(count):
        row, out = off(f.rows, NPC * i), off(f.out, NOUT * i)
        n, x = vec(row, PC_NORMAL), vec(out, OUT_POINT)
        was = int(out[OUT_STATE])
        if f.fate[i] == IS_NEW or f.fate[i] == IS_FIRST:
            force = vec(out, OUT_FRICTION)
            torque = cross(sub(x, c), force)
            out[OUT_STATE] = verdict[i]
            stretch = -1.0 / law[LAW_KP] if verdict[i] == STICK else 0.0
            put(out, OUT_STRETCH, scale(stretch, force))
        else:
            held = verdict[i] != SLIP or (was != SLIP and law[LAW_PRINTED] == 0.0)
            force, spin, holds = hold(law, n, out)
            if held and holds:
                out[OUT_STATE] = ROLL if verdict[i] == ROLL else STICK
            else:
                out[OUT_STATE] = SLIP
                force, spin = slide(law, row, out)
                drag(law, force, spin, out)
            torque = axpy(spin, n, cross(sub(x, c), force))
            switched = switched or (was == SLIP) != (out[OUT_STATE] == SLIP)
        put(out, OUT_FRICTION, force)
        put(out, OUT_FRICTION + 3, torque)
    return switched


@kernel
def _add_up(
    law: PtrF8, f: Frame, count: int, result: PtrF8, switched: bool, now: Now, time: float,
    before: float,
) -> None:  # fmt: skip
    """Wrench of all contacts, with what is left of the one before a change; work and energy."""
    total, fade = local_f8(12), off(result, RES_FADE)
    step = time - before
    _fade_away(fade, result, step)
    stored = 0.0
    for k in range(12):
        total[k] = 0.0
    for i in range(count):
        out = off(f.out, NOUT * i)
        for k in range(12):
            total[k] += out[OUT_PRESS + k]
        s2, turned = dot(vec(out, OUT_STRETCH), vec(out, OUT_STRETCH)), out[OUT_TURN]
        stored += out[OUT_STORED]
        stored += 0.5 * law[LAW_KP] * (s2 + (out[OUT_SPREAD] * turned) ** 2)
    if switched and law[LAW_BLEND] > 0.0:
        for k in range(6):
            fade[k] += result[RES_FRICTION + k] - total[6 + k]
        for i in range(count):
            if f.fate[i] == IS_CHANGED:
                memory = off(f.memory, NMEM * int(f.place[i]))
                for k in range(6):
                    fade[k] += memory[MEM_PRESS + k] - f.out[NOUT * i + OUT_PRESS + k]
        _add_lost(f, count, before, fade)
        longest = max(law[LAW_BLEND], result[RES_FADE_TIME])
        longest = max(longest, norm(vec(fade, 0)) / law[LAW_FORCE_RATE])
        result[RES_FADE_TIME] = max(longest, norm(vec(fade, 3)) / law[LAW_TORQUE_RATE])
    moved = sub(now.c, now.c_old)
    work = dot(moved, vec(result, RES_WRENCH)) + dot(now.turned, vec(result, RES_WRENCH + 3))
    for k in range(6):
        result[RES_FRICTION + k] = total[6 + k]
        result[RES_WRENCH + k] = total[k] + total[6 + k] + fade[k]
    force, torque = norm(vec(result, RES_WRENCH)), norm(vec(result, RES_WRENCH + 3))
    share = 1.0
    if force > law[LAW_MAX_FORCE]:
        share = law[LAW_MAX_FORCE] / force
    if share * torque > law[LAW_MAX_TORQUE]:
        share = law[LAW_MAX_TORQUE] / torque
    for k in range(6):
        result[RES_WRENCH + k] *= share
    work += dot(moved, vec(result, RES_WRENCH)) + dot(now.turned, vec(result, RES_WRENCH + 3))
    result[RES_WORK] -= 0.5 * work
    result[RES_STORED] = stored


@kernel
def _fade_away(fade: PtrF8, result: PtrF8, step: float) -> None:
    """Take from the fading wrench, in a straight line to nothing, the share of one step."""
    left = result[RES_FADE_TIME]
    share = 1.0 - step / left if left > step else 0.0
    for k in range(6):
        fade[k] *= share
    result[RES_FADE_TIME] = max(0.0, left - step) if share > 0.0 else 0.0


@kernel
def _add_lost(f: Frame, count: int, before: float, fade: PtrF8) -> None:
    """Normal wrenches of contacts that were there at the last pose and have no successor."""
    for j in range(MOST_CONTACTS):
        memory = off(f.memory, NMEM * j)
        if memory[MEM_USED] == 0.0 or memory[MEM_SEEN] != before:
            continue
        gone = True
        for i in range(count):
            gone = gone and f.place[i] != j
        if gone:
            for k in range(6):
                fade[k] += memory[MEM_PRESS + k]


@kernel
def _inertia(law: PtrF8, state: PtrF8, now: Now, result: PtrF8) -> None:
    """−η (m a, I ω̇ + ω × I ω), of the acceleration before a contact."""
    eta = law[LAW_ETA]
    if eta == 0.0:
        return
    a = above_band(vec(state, MO_PRIOR), law[LAW_BAND])
    alpha = above_band(vec(state, MO_PRIOR + 3), law[LAW_ANGULAR_BAND])
    put(result, RES_INERTIA, scale(-eta * law[LAW_MASS], a))
    put(result, RES_INERTIA + 3, scale(-eta, torque_of(law, now.r, now.w, alpha)))
