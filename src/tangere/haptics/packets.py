"""What the servo may know of the contacts: planes, their forces and their stiffness.

A contact patch of the implicit step presses on the tool with a normal force, two tilting torques,
friction and a torsion. Four points with equal shares of the stiffness k have the same resultants
and the same tangent stiffness as the patch if their second moments are those of its area: with
the covariance C = J/S = L Lᵀ of the patch in (t1, t2) they lie at ±√2 times the columns of L, and
press with

    s_i = f_n/4 ± (√2/4) (L⁻¹ M),    M = Σ s_i o_i = (−m_2, m_1)

L follows the patch continuously, as principal axes would not. Friction and its stiffness are shared
in proportion to s_i, so that no point slips before the whole patch does. When there are too many
patches for four points each, every patch is one point at its centre of pressure.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off, pointers, ptr
from tangere.contact_planes import (
    MAX_PLANES,
    NPLANE,
    PLANE_ANCHOR,
    PLANE_DAMPING,
    PLANE_FRICTION,
    PLANE_HOLD,
    PLANE_NORMAL,
    PLANE_POINT,
    PLANE_SHEAR,
    PLANE_STIFFNESS,
    PLANE_TOLERANCE,
    PLANE_VELOCITY,
)
from tangere.elements.columns import (
    EF_ARM_A,
    EF_ARM_B,
    EF_B,
    EF_DEPTH,
    EF_F,
    EF_JXX,
    EF_JXY,
    EF_JYY,
    EF_K,
    EF_KT,
    EF_MU,
    EF_N,
    EF_S,
    EF_T1,
    EF_T2,
    EF_WEIGHT,
    EI_A,
    EI_B,
    Element,
    element,
)
from tangere.elements.element import presses
from tangere.haptics.fields import put_quat, put_vec, quat_at, vec_at
from tangere.haptics.layout import (
    HAND_OMEGA,
    HAND_POSITION,
    HAND_QUATERNION,
    HAND_VELOCITY,
    NPACKET,
    PACKET_COUNT,
    PACKET_DAMPING,
    PACKET_DEPTH,
    PACKET_FLAGS,
    PACKET_PLANES,
    PACKET_SEQUENCE,
    PACKET_STATE,
    PACKET_STIFFNESS,
    PACKET_TIME,
    PACKET_TRUNCATED,
    PACKET_WRENCH,
    TOOL_ANGULAR,
    TOOL_MOMENTUM,
    TOOL_POSITION,
    TOOL_QUATERNION,
)
from tangere.maths.quat import matrix_into, turn, turn_back, turn_between
from tangere.maths.vec import Array, Vec3, add, axpy, cross, dot, norm, scale, sub
from tangere.model import (
    NF,
    NI,
    NK,
    PF_CENTRE,
    PF_FORCE,
    PF_PRESS,
    PF_RESERVE,
    PF_STORED,
    PF_TORQUE,
    PI_BODY_A,
    PI_BODY_B,
    SP_A,
    SP_B,
    SP_DAMPING,
    SP_K,
    SP_VELOCITY,
    Model,
    Pairs,
    Sizes,
    State,
)
from tangere.solver import Elements

POINTS = 4  # of a patch
ENDS = 6  # springs that stand for a coupling: along +x, +y, +z, −x, −y, −z of the hand
# A tool further from where the scene has it than this, and so many contact periods at its speed,
# has leapt [m].
LEAP, LEAP_PERIODS = 3e-3, 3.0


class Pull(NamedTuple):
    """The springs of one tool."""

    tool: int  # body
    k: float  # all of them together [N/m]
    b: float  # [N s/m]
    arm: float  # of their ends from the grip [m]
    most: float  # force [N]


# A patch narrower than this share of its length in one direction is a line [of the covariance].
THIN = 1e-12


@kernel
def make_packet(
    z: Sizes,
    state: State,
    elements: Elements,
    mass: float,
    tool: int,
    time: float,
    sequence: int,
    packet_out: Array,
) -> None:
    """Fill a packet with the contacts of body `tool` in the last implicit step."""
    s = pointers(state)
    t = pointers(elements)
    out = ptr(packet_out)
    _open(s, mass, tool, time, sequence, out)
    contacts = 0
    for k in range(t.used[0]):
        if _holds(element(t, k), tool):
            contacts += 1
    single = POINTS * contacts > MAX_PLANES
    for k in range(t.used[0]):
        c = element(t, k)
        if _holds(c, tool):
            _add(z, s, c, tool, single, out)
            out[PACKET_DEPTH] = max(out[PACKET_DEPTH], c.floats[EF_DEPTH])
    sum_planes(out)


@kernel
def hold_wrench(
    state: State, mass: float, tool: int, time: float, sequence: int, packet_out: Array
) -> None:
    """Fill a packet with the contact wrench on body `tool`, and no plane."""
    s, out = pointers(state), ptr(packet_out)
    _open(s, mass, tool, time, sequence, out)
    for k in range(6):
        out[PACKET_WRENCH + k] = s.wrench[6 * tool + k]


@kernel
def follow_servo(
    model: Model, state: State, pairs: Pairs, tool: int, y: Array, dt: float, always: bool
) -> bool:
    """Put body `tool` into the state y of its servo, TOOL_…; false if it leapt and not `always`.

    The way from where the scene had it is the servo's doing, and so is the work against the contact
    forces along it: it is added to what the contacts hold. Without that a hand that keeps pressing
    would be felt less and less, as a contact holds no more than was put into it.

    After a pause of the contact loop the servo's tool may be deep inside a body that it was never
    told of. Such a leap is not followed: the scene's own tool is pulled after the hand by its
    springs, stops at what lies between, and the planes found there bring the servo's tool back.
    """
    m, s, new = pointers(model), pointers(state), ptr(y)
    x, q = off(s.position, 3 * tool), off(s.quaternion, 4 * tool)
    was = (q[0], q[1], q[2], q[3])
    now = quat_at(new, TOOL_QUATERNION)
    turned = turn_between(was, now)
    way = sub(vec_at(new, TOOL_POSITION), vec_at(x, 0))
    speed = norm(vec_at(new, TOOL_MOMENTUM)) * m.inv_mass[tool]
    if not always and norm(way) > LEAP + LEAP_PERIODS * dt * speed:
        return False
    _credit(s, pairs, tool, way, turned)
    put_vec(x, 0, vec_at(new, TOOL_POSITION))
    put_quat(q, 0, now)
    r = off(s.rotation, 9 * tool)
    matrix_into(now, r)
    put_vec(off(s.velocity, 3 * tool), 0, scale(m.inv_mass[tool], vec_at(new, TOOL_MOMENTUM)))
    put_vec(off(s.momentum, 3 * tool), 0, vec_at(new, TOOL_ANGULAR))
    own = turn_back(r, vec_at(new, TOOL_ANGULAR))
    inverse = off(m.inv_inertia, 3 * tool)
    spin = turn(r, (inverse[0] * own[0], inverse[1] * own[1], inverse[2] * own[2]))
    put_vec(off(s.omega, 3 * tool), 0, spin)
    return True


@kernel
def pull_tool(
    state: State, springs: Array, hand: Array, mass: float, gravity: Array, pull: Pull
) -> None:
    """Let the six springs of a tool, rows of `State.springs`, reach for its hand, HAND_….

    They carry its weight too, as the servo's tool has none. A spring at its limit is taken by its
    secant, k = F_max/|ξ|.
    """
    s, data, h, g = pointers(state), ptr(springs), ptr(hand), ptr(gravity)
    i = pull.tool
    r = local_f8(9)
    matrix_into(quat_at(h, HAND_QUATERNION), r)
    # the grip is the middle of the six ends
    grip = local_f8(3)
    for c in range(3):
        grip[c] = 0.0
        for j in range(ENDS):
            grip[c] += data[NK * j + SP_A + c] / ENDS
    arm = turn(off(s.rotation, 9 * i), vec_at(grip, 0))
    x = vec_at(h, HAND_POSITION)
    stretch = norm(sub(x, add(vec_at(s.position, 3 * i), arm)))
    k = pull.k
    if k * stretch > pull.most:
        k = pull.most / stretch
    v, omega = vec_at(h, HAND_VELOCITY), vec_at(h, HAND_OMEGA)
    for j in range(ENDS):
        side = pull.arm if j < 3 else -pull.arm
        end = (side * r[j % 3], side * r[3 + j % 3], side * r[6 + j % 3])
        speed = add(v, cross(omega, end))
        row = off(data, NK * j)
        for c in range(3):
            row[SP_B + c] = x[c] + end[c] - mass * g[c] / k - s.time[0] * speed[c]
            row[SP_VELOCITY + c] = speed[c]
        row[SP_K], row[SP_DAMPING] = k / ENDS, pull.b / ENDS


@kernel
def _credit(s: State, pairs: Pairs, tool: int, way: Vec3, turned: Vec3) -> None:
    """Add the work against the contact forces on the tool to the energy that its contacts hold.

    Work done by them beyond what the springs hold comes out of the reserve.
    """
    slots, ints, floats = ptr(pairs.slot), ptr(pairs.ints), ptr(pairs.floats)
    x = vec_at(s.position, 3 * tool)
    for k in range(pairs.used[0]):
        row, numbers = off(floats, NF * slots[k]), off(ints, NI * slots[k])
        if not row[PF_PRESS] > 0.0:
            continue
        sign = 0.0  # of the recorded force, which acts on b
        if numbers[PI_BODY_A] == tool:
            sign = 1.0
        elif numbers[PI_BODY_B] == tool:
            sign = -1.0
        if sign != 0.0:
            arm = sub(vec_at(row, PF_CENTRE), x)
            path = add(way, cross(turned, arm))
            work = dot(vec_at(row, PF_FORCE), path) + dot(vec_at(row, PF_TORQUE), turned)
            left = row[PF_STORED] + sign * work
            row[PF_STORED] = max(0.0, left)
            if left < 0.0 and row[PF_RESERVE] > 0.0:
                row[PF_RESERVE] = max(0.0, row[PF_RESERVE] + left)


@kernel
def _open(s: State, mass: float, tool: int, time: float, sequence: int, out: PtrF8) -> None:
    """An empty packet with the tool's state."""
    for k in range(NPACKET):
        out[k] = 0.0
    out[PACKET_SEQUENCE], out[PACKET_TIME] = sequence, time
    y = off(out, PACKET_STATE)
    for k in range(3):
        y[TOOL_POSITION + k] = s.position[3 * tool + k]
        y[TOOL_MOMENTUM + k] = mass * s.velocity[3 * tool + k]
        y[TOOL_ANGULAR + k] = s.momentum[3 * tool + k]
    for k in range(4):
        y[TOOL_QUATERNION + k] = s.quaternion[4 * tool + k]


@kernel
def _holds(c: Element, tool: int) -> bool:
    """Whether a contact presses on the tool."""
    return bool(presses(c) and (c.ints[EI_A] == tool or c.ints[EI_B] == tool))


@kernel
def _add(z: Sizes, s: State, c: Element, tool: int, single: bool, out: PtrF8) -> None:
    """Planes of one contact, and its wrench."""
    f, a, b = c.floats, c.ints[EI_A], c.ints[EI_B]
    first = a == tool
    sign = -1.0 if first else 1.0  # forces of the record act on b
    n = (f[EF_N], f[EF_N + 1], f[EF_N + 2])
    t1 = (f[EF_T1], f[EF_T1 + 1], f[EF_T1 + 2])
    t2 = (f[EF_T2], f[EF_T2 + 1], f[EF_T2 + 2])
    at = off(f, EF_ARM_A if first else EF_ARM_B)
    arm = (at[0], at[1], at[2])
    back = off(f, EF_ARM_B if first else EF_ARM_A)
    away = (back[0], back[1], back[2])
    w = off(f, EF_F)  # f_n, m_1, m_2, f_1, f_2, m_n
    _add_wrench(sign, n, t1, t2, arm, w, out)
    share = f[EF_WEIGHT]
    k, k_t, damp = share * f[EF_K], share * f[EF_KT], share * f[EF_B]
    points = local_f8(12)  # x, y, s of each
    count = 1
    if f[EF_S] > 0.0 and not single:
        count = _four_points(f, w, points)
    else:  # the centre of pressure
        points[0], points[1], points[2] = -w[2] / w[0], w[1] / w[0], w[0]
    # friction in proportion to the pressure: no point reaches its limit before the patch does
    total, px, py = 0.0, 0.0, 0.0
    for i in range(count):
        press = max(points[3 * i + 2], 0.0)
        total, px, py = total + press, px + press * points[3 * i], py + press * points[3 * i + 1]
    px, py = px / total, py / total  # centre of pressure
    spread = 0.0
    for i in range(count):
        x, y = points[3 * i] - px, points[3 * i + 1] - py
        spread += max(points[3 * i + 2], 0.0) / total * (x * x + y * y)
    # torsion m_n = n·(o_p × f_t) + β Σ w |o − o_p|²; without spread there is none
    beta = (w[5] - (px * w[4] - py * w[3])) / spread if spread > 0.0 else 0.0
    other = b if first else a
    for i in range(count):
        if out[PACKET_COUNT] >= MAX_PLANES:
            out[PACKET_FLAGS] = PACKET_TRUNCATED
            return
        row = off(out, PACKET_PLANES + NPLANE * int(out[PACKET_COUNT]))
        out[PACKET_COUNT] += 1.0
        x, y, press = points[3 * i], points[3 * i + 1], points[3 * i + 2]
        o = axpy(x, t1, scale(y, t2))
        p = (arm[0] + o[0], arm[1] + o[1], arm[2] + o[2])
        _plane(s, tool, p, scale(-sign, n), row)
        part = max(press, 0.0) / total
        row[PLANE_STIFFNESS], row[PLANE_DAMPING] = k / count, damp / count
        row[PLANE_TOLERANCE], row[PLANE_SHEAR] = 0.0, part * k_t
        row[PLANE_FRICTION] = f[EF_MU] if row[PLANE_SHEAR] > 0.0 else 0.0
        f1, f2 = w[3] - beta * (y - py), w[4] + beta * (x - px)
        hold = axpy(part * f1, t1, scale(part * f2, t2))
        delta = press / row[PLANE_STIFFNESS]
        surface = _surface(z, s, other, (away[0] + o[0], away[1] + o[1], away[2] + o[2]))
        for q in range(3):
            row[PLANE_ANCHOR + q] = s.position[3 * tool + q] + p[q] - delta * row[PLANE_NORMAL + q]
            row[PLANE_VELOCITY + q] = surface[q]
            row[PLANE_HOLD + q] = sign * hold[q]


@kernel
def _four_points(f: PtrF8, w: PtrF8, points: PtrF8) -> int:
    """Places and forces of four points that stand for a patch; their number."""
    area = f[EF_S]
    xx, xy, yy = f[EF_JXX] / area, f[EF_JXY] / area, f[EF_JYY] / area
    size = xx + yy
    if not size > 0.0:
        points[0], points[1], points[2] = 0.0, 0.0, w[0]
        return 1
    xx, yy = xx + THIN * size, yy + THIN * size
    l11 = sqrt(xx)
    l21 = xy / l11
    l22 = sqrt(max(yy - l21 * l21, THIN * size))
    g1 = -w[2] / l11  # L⁻¹ M
    g2 = (w[1] - l21 * g1) / l22
    root = sqrt(2.0)
    points[0], points[1], points[2] = root * l11, root * l21, 0.25 * (w[0] + root * g1)
    points[3], points[4], points[5] = -root * l11, -root * l21, 0.25 * (w[0] - root * g1)
    points[6], points[7], points[8] = 0.0, root * l22, 0.25 * (w[0] + root * g2)
    points[9], points[10], points[11] = 0.0, -root * l22, 0.25 * (w[0] - root * g2)
    return POINTS


@kernel
def _plane(s: State, tool: int, p: Vec3, n: Vec3, row: PtrF8) -> None:
    """Point of the tool, given from its centre in world axes, and normal out of the tool."""
    r = turn_back(off(s.rotation, 9 * tool), p)
    for q in range(3):
        row[PLANE_POINT + q], row[PLANE_NORMAL + q] = r[q], n[q]


@kernel
def _surface(z: Sizes, s: State, i: int, arm: Vec3) -> Vec3:
    """Velocity of the other body's surface; floors stand still."""
    if i >= z.bodies:
        return (0.0, 0.0, 0.0)
    v, w = off(s.velocity, 3 * i), off(s.omega, 3 * i)
    t = cross((w[0], w[1], w[2]), arm)
    return (v[0] + t[0], v[1] + t[1], v[2] + t[2])


@kernel
def _add_wrench(sign: float, n: Vec3, t1: Vec3, t2: Vec3, arm: Vec3, w: PtrF8, out: PtrF8) -> None:
    """Add force and torque on the tool at its centre of mass."""
    force = scale(sign, axpy(w[0], n, axpy(w[3], t1, scale(w[4], t2))))
    torque = scale(sign, axpy(w[5], n, axpy(w[1], t1, scale(w[2], t2))))
    moment = cross(arm, force)
    for q in range(3):
        out[PACKET_WRENCH + q] += force[q]
        out[PACKET_WRENCH + 3 + q] += torque[q] + moment[q]


@kernel
def sum_planes(out: PtrF8) -> None:
    """Stiffness and damping of all planes together, about the tool's centre of mass.

    K = Σ k h hᵀ + k_t (h_1 h_1ᵀ + h_2 h_2ᵀ),  h = (n, Rr × n): of those that press or hold.
    """
    k_out, b_out = off(out, PACKET_STIFFNESS), off(out, PACKET_DAMPING)
    h = local_f8(6)
    r = local_f8(9)
    q = off(out, PACKET_STATE + TOOL_QUATERNION)
    matrix_into((q[0], q[1], q[2], q[3]), r)
    for i in range(int(out[PACKET_COUNT])):
        row = off(out, PACKET_PLANES + NPLANE * i)
        point = (row[PLANE_POINT], row[PLANE_POINT + 1], row[PLANE_POINT + 2])
        arm = turn(r, point)
        n = (row[PLANE_NORMAL], row[PLANE_NORMAL + 1], row[PLANE_NORMAL + 2])
        for axis in range(3):
            # the three world axes, less what lies along n, are the shear directions
            e = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
            _rank_one(axpy(-n[axis], n, e), arm, row[PLANE_SHEAR], h, k_out)
        _rank_one(n, arm, row[PLANE_STIFFNESS], h, k_out)
        _rank_one(n, arm, row[PLANE_DAMPING], h, b_out)


@kernel
def _rank_one(d: Vec3, arm: Vec3, k: float, h: PtrF8, m_out: PtrF8) -> None:
    """M += k h hᵀ with h = (d, arm × d)."""
    t = cross(arm, d)
    for q in range(3):
        h[q], h[3 + q] = d[q], t[q]
    for i in range(6):
        for j in range(6):
            m_out[6 * i + j] += k * h[i] * h[j]
