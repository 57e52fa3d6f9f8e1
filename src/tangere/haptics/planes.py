"""What the tool touches, as the servo side sees it between two packets of the contact loop.

Unilateral planes are the rule. The point r of the tool presses on a plane with normal n, which
points out of the tool and moves with velocity u, by

    δ = n·(x + Rr − p0 − u (t − t_k)),   s = k (δ + d) + b n·(v + ω × Rr − u)
    F = −s n + f_t    while δ + d > 0 and s > 0

[OTADUY2005] (21) corrected and made unilateral. Friction f_t, which the paper does without, is a
spring across the plane from the point to where it was first held, bounded by μ s: what would
stretch it further carries the anchor along. At fixed s the force is the gradient of a convex
function of the stretch, so its tangent is positive semidefinite in stick and in slip.

The paper's own hand-over (30) is there too: the wrench of the packet with its derivatives, which
pulls as readily as it pushes, and the wrench alone, held until the next packet.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off
from tangere.contact_planes import (
    MAX_PLANES,
    NPLANE,
    PLANE_ANCHOR,
    PLANE_DAMPING,
    PLANE_FRICTION,
    PLANE_HOLD,
    PLANE_NAME,
    PLANE_NORMAL,
    PLANE_POINT,
    PLANE_SHEAR,
    PLANE_STIFFNESS,
    PLANE_TOLERANCE,
    PLANE_VELOCITY,
)
from tangere.haptics.element import (
    Linear,
    Motion,
    add_force,
    add_point,
    arm_of,
    clear,
    motion,
    speed_at,
)
from tangere.haptics.layout import (
    CONTACT_HELD,
    CONTACT_LINEAR,
    GRIP_ANCHOR,
    GRIP_NAME,
    NGRIP,
    PACKET_COUNT,
    PACKET_DAMPING,
    PACKET_PLANES,
    PACKET_STATE,
    PACKET_STIFFNESS,
    PACKET_TIME,
    PACKET_WRENCH,
    SET_CONTACT,
    SET_HELD_DAMPING,
    SET_INERTIA,
    SET_MASS,
    SET_PERIOD,
    SET_STEP,
)
from tangere.maths.quat import conjugate, product
from tangere.maths.vec import Vec3, cross, dot

# What one pass of the step supposes of a plane, and what its end says about it
PASS_PRESSES = 0  # 1: inside and pressing
PASS_SLIPS = 1  # 1: friction at its limit
PASS_LIMIT = 2  # μ s [N]
PASS_STRETCH = 3  # 3: of the friction spring [m]
NPASS = 6


class Touch(NamedTuple):
    """The tool's point at one plane."""

    arm: Vec3  # Rr [m]
    n: Vec3
    gap: float  # δ + d, positive inside [m]
    s: float  # k (δ + d) + b n·(v + ω × Rr − u), whatever its sign [N]
    stretch: Vec3  # of the friction spring, across the plane [m]


@kernel
def plane_count(packet: PtrF8) -> int:
    """Planes of a packet; never more than fit."""
    return min(max(int(packet[PACKET_COUNT]), 0), MAX_PLANES)


@kernel
def touch(plane: PtrF8, m: Motion, age: float, anchor: PtrF8) -> Touch:
    """Gap, pressing force and stretch of friction at one plane; `age` is t − t_k."""
    arm = arm_of(m, off(plane, PLANE_POINT))
    n = (plane[PLANE_NORMAL], plane[PLANE_NORMAL + 1], plane[PLANE_NORMAL + 2])
    u = (plane[PLANE_VELOCITY], plane[PLANE_VELOCITY + 1], plane[PLANE_VELOCITY + 2])
    v = speed_at(m, arm)
    p = (m.x[0] + arm[0], m.x[1] + arm[1], m.x[2] + arm[2])
    gap = plane[PLANE_TOLERANCE]
    rate = 0.0
    for i in range(3):
        gap += n[i] * (p[i] - plane[PLANE_ANCHOR + i] - age * u[i])
        rate += n[i] * (v[i] - u[i])
    stretch = (0.0, 0.0, 0.0)
    if plane[PLANE_FRICTION] > 0.0:
        d = (p[0] - anchor[0], p[1] - anchor[1], p[2] - anchor[2])
        along = dot(d, n)
        stretch = (d[0] - along * n[0], d[1] - along * n[1], d[2] - along * n[2])
    s = plane[PLANE_STIFFNESS] * gap + plane[PLANE_DAMPING] * rate
    return Touch(arm, n, gap, s, stretch)


@kernel
def friction_share(plane: PtrF8, stretch: Vec3, limit: float) -> tuple[float, bool]:
    """Friction force per metre of stretch, k_t or what the limit μ s leaves; whether it slips."""
    k = plane[PLANE_SHEAR]
    size = sqrt(dot(stretch, stretch))
    if k * size <= limit:
        return k, False
    return limit / size, True


@kernel
def force_of(plane: PtrF8, t: Touch) -> Vec3:
    """Force of the plane on the tool at this very state: none unless it presses."""
    if not (t.gap > 0.0 and t.s > 0.0):
        return (0.0, 0.0, 0.0)
    share = 0.0
    if plane[PLANE_FRICTION] > 0.0:
        share, _ = friction_share(plane, t.stretch, plane[PLANE_FRICTION] * t.s)
    return (
        -t.s * t.n[0] - share * t.stretch[0],
        -t.s * t.n[1] - share * t.stretch[1],
        -t.s * t.n[2] - share * t.stretch[2],
    )


# ------------------------------------------------ a pass of the step
@kernel
def find_anchors(
    settings: PtrF8, m: Motion, packet: PtrF8, now: float, grips: PtrF8, anchors_out: PtrF8
) -> None:
    """Where the friction spring of each plane is held at the end of the step, (planes, 3).

    A grip of the plane's name is carried along with the surface; a new one begins at the point. A
    plane without a name continues from the friction that the packet says it had.
    """
    dt = settings[SET_STEP]
    r = local_f8(9)
    then = motion(settings, off(packet, PACKET_STATE), r)
    age = now - packet[PACKET_TIME]
    for i in range(plane_count(packet)):
        plane = off(packet, PACKET_PLANES + NPLANE * i)
        if not plane[PLANE_FRICTION] > 0.0:
            continue
        if plane[PLANE_NAME] == 0.0:
            was = arm_of(then, off(plane, PLANE_POINT))
            for c in range(3):
                stretch = -plane[PLANE_HOLD + c] / plane[PLANE_SHEAR]
                anchors_out[3 * i + c] = (
                    then.x[c] + was[c] - stretch + age * plane[PLANE_VELOCITY + c]
                )
            continue
        grip = off(grips, NGRIP * i)
        name = plane[PLANE_NAME]
        if grip[GRIP_NAME] != name:  # the packet's order may have changed
            for j in range(MAX_PLANES):
                if grips[NGRIP * j + GRIP_NAME] == name:
                    grip = off(grips, NGRIP * j)
        known = name > 0.0 and grip[GRIP_NAME] == name
        arm = arm_of(m, off(plane, PLANE_POINT))
        for c in range(3):
            held = grip[GRIP_ANCHOR + c] if known else m.x[c] + arm[c]
            anchors_out[3 * i + c] = held + dt * plane[PLANE_VELOCITY + c]


@kernel
def suppose(
    m: Motion, packet: PtrF8, now: float, anchors: PtrF8, ahead: float, states: PtrF8
) -> bool:
    """Which planes press and slip at this motion, friction looked at `ahead` seconds on.

    Returns whether anything differs from what `states` said before.
    """
    age = now - packet[PACKET_TIME]
    changed = False
    for i in range(plane_count(packet)):
        plane = off(packet, PACKET_PLANES + NPLANE * i)
        state = off(states, NPASS * i)
        t = touch(plane, m, age, off(anchors, 3 * i))
        presses = 1.0 if t.gap > 0.0 and t.s > 0.0 else 0.0
        slips = 0.0
        if plane[PLANE_FRICTION] > 0.0:
            v = speed_at(m, t.arm)
            along = dot(v, t.n)
            for c in range(3):
                # the anchor has already gone with the surface
                way = ahead * (v[c] - along * t.n[c])
                state[PASS_STRETCH + c] = t.stretch[c] + way
            state[PASS_LIMIT] = plane[PLANE_FRICTION] * max(t.s, 0.0) * presses
            d = (state[PASS_STRETCH], state[PASS_STRETCH + 1], state[PASS_STRETCH + 2])
            slips = 1.0 if friction_share(plane, d, state[PASS_LIMIT])[1] else 0.0
        if presses != state[PASS_PRESSES] or presses * slips != presses * state[PASS_SLIPS]:
            changed = True
        state[PASS_PRESSES], state[PASS_SLIPS] = presses, slips
    return changed


@kernel
def add_planes(
    m: Motion, packet: PtrF8, now: float, anchors: PtrF8, states: PtrF8, a: Linear
) -> None:
    """The planes that `states` says press, to first order about the motion m, added."""
    age = now - packet[PACKET_TIME]
    for i in range(plane_count(packet)):
        state = off(states, NPASS * i)
        if state[PASS_PRESSES] != 0.0:
            plane = off(packet, PACKET_PLANES + NPLANE * i)
            add_plane(plane, m, touch(plane, m, age, off(anchors, 3 * i)), state, a)


@kernel
def add_plane(plane: PtrF8, m: Motion, t: Touch, state: PtrF8, a: Linear) -> None:
    """A plane that presses, to first order about the motion m, added.

    C = k n nᵀ and D = b n nᵀ; friction adds to C, with stretch ζ* and limit of the state,
    k_t (I − n nᵀ) in stick and (μs/|ζ*|) (I − n nᵀ − t tᵀ) in slip along t = ζ*/|ζ*|. The limit is
    that of the last pass: its change with s would make the block indefinite.
    """
    n = t.n
    k, b = plane[PLANE_STIFFNESS], plane[PLANE_DAMPING]
    f = (-t.s * n[0], -t.s * n[1], -t.s * n[2])
    even, along, slide = 0.0, k, (0.0, 0.0, 0.0)
    if plane[PLANE_FRICTION] > 0.0:
        z = (state[PASS_STRETCH], state[PASS_STRETCH + 1], state[PASS_STRETCH + 2])
        even, slips = friction_share(plane, z, state[PASS_LIMIT])
        along = k - even
        d = t.stretch
        if slips:
            size = sqrt(dot(z, z))
            slide = (z[0] / size, z[1] / size, z[2] / size)
            back = dot(d, slide) - size
            d = (d[0] - back * slide[0], d[1] - back * slide[1], d[2] - back * slide[2])
        f = (f[0] - even * d[0], f[1] - even * d[1], f[2] - even * d[2])
    c = (
        even + along * n[0] * n[0] - even * slide[0] * slide[0],
        even + along * n[1] * n[1] - even * slide[1] * slide[1],
        even + along * n[2] * n[2] - even * slide[2] * slide[2],
        along * n[1] * n[2] - even * slide[1] * slide[2],
        along * n[2] * n[0] - even * slide[2] * slide[0],
        along * n[0] * n[1] - even * slide[0] * slide[1],
    )
    damper = (
        b * n[0] * n[0],
        b * n[1] * n[1],
        b * n[2] * n[2],
        b * n[1] * n[2],
        b * n[2] * n[0],
        b * n[0] * n[1],
    )
    add_point(a, t.arm, m.w, f, c, damper)


# ------------------------------------------------ the packet's wrench
@kernel
def packet_change(
    settings: PtrF8, m: Motion, packet: PtrF8, change_out: PtrF8
) -> tuple[float, Vec3]:
    """(x, φ, v, ω) since the packet's state, 12 floats, and the quaternion between them.

    φ = 2 vec(q q_k*) with the signs aligned, which is what the difference of quaternions in (30)
    amounts to: to first order the turn.
    """
    r = local_f8(9)
    then = motion(settings, off(packet, PACKET_STATE), r)
    e = product(m.q, conjugate(then.q))
    if e[0] < 0.0:
        e = (-e[0], -e[1], -e[2], -e[3])
    for i in range(3):
        change_out[i] = m.x[i] - then.x[i]
        change_out[6 + i] = m.v[i] - then.v[i]
        change_out[9 + i] = m.w[i] - then.w[i]
    change_out[3], change_out[4], change_out[5] = 2.0 * e[1], 2.0 * e[2], 2.0 * e[3]
    return e[0], (e[1], e[2], e[3])


@kernel
def add_packet(settings: PtrF8, m: Motion, packet: PtrF8, now: float, a: Linear) -> None:
    """The packet's wrench to first order about the motion m, added, (30).

    W = W_k − S (Δx, φ) − D (Δv, Δω); the turn of the packet's chart is dφ = (e_w I − e_v*) dφ'.
    """
    for i in range(6):
        a.w[i] += packet[PACKET_WRENCH + i]
    if settings[SET_CONTACT] == CONTACT_HELD:
        _damp_held(settings, m, packet, now, a)
        return
    change = local_f8(12)
    e_w, e = packet_change(settings, m, packet, change)
    for i in range(6):
        s = off(packet, PACKET_STIFFNESS + 6 * i)
        d = off(packet, PACKET_DAMPING + 6 * i)
        row = (s[3], s[4], s[5])
        bent = cross(e, row)  # −sᵀ e*
        for j in range(6):
            a.w[i] -= s[j] * change[j] + d[j] * change[6 + j]
            a.b[6 * i + j] += d[j]
        for j in range(3):
            a.k[6 * i + j] += s[j]
            a.k[6 * i + 3 + j] += e_w * row[j] + bent[j]


@kernel
def _damp_held(settings: PtrF8, m: Motion, packet: PtrF8, now: float, a: Linear) -> None:
    """Damp a tool under a held wrench as much as holding it takes away: B = 1.5 S age.

    A spring S felt an age late acts like the damper −S age; age = now − t_k + period is that at
    which this wrench will be replaced. Without a stiffness the tool is taken to be as stiff as a
    contact period lets it be, m/T_c².
    """
    factor = settings[SET_HELD_DAMPING]
    age = now - packet[PACKET_TIME] + settings[SET_PERIOD]
    wrench, known = 0.0, 0.0
    for i in range(6):
        wrench += abs(packet[PACKET_WRENCH + i])
    for i in range(36):
        known += abs(packet[PACKET_STIFFNESS + i])
    if not factor > 0.0 or wrench == 0.0 or not settings[SET_PERIOD] > 0.0:
        return
    twist = (m.v[0], m.v[1], m.v[2], m.w[0], m.w[1], m.w[2])
    for i in range(6):
        for j in range(6):
            stiffness = packet[PACKET_STIFFNESS + 6 * i + j]
            if known == 0.0:
                mass = settings[SET_MASS] if i < 3 else settings[SET_INERTIA + i % 3]
                stiffness = mass / settings[SET_PERIOD] ** 2 if i == j else 0.0
            b = factor * age * stiffness
            a.b[6 * i + j] += b
            a.w[i] -= b * twist[j]


# ------------------------------------------------ at one state
@kernel
def add_contact(
    settings: PtrF8, m: Motion, packet: PtrF8, now: float, anchors: PtrF8, w: PtrF8
) -> None:
    """Contact wrench on the tool at this very motion, added: planes or the packet's wrench."""
    mode = int(settings[SET_CONTACT])
    if mode in (CONTACT_HELD, CONTACT_LINEAR):
        k, b = local_f8(36), local_f8(36)
        a = Linear(local_f8(6), k, b)
        clear(a)
        add_packet(settings, m, packet, now, a)
        for i in range(6):
            w[i] += a.w[i]
        return
    age = now - packet[PACKET_TIME]
    for i in range(plane_count(packet)):
        plane = off(packet, PACKET_PLANES + NPLANE * i)
        t = touch(plane, m, age, off(anchors, 3 * i))
        add_force(w, t.arm, force_of(plane, t))


@kernel
def settle(
    m: Motion, packet: PtrF8, now: float, anchors: PtrF8, grips: PtrF8
) -> tuple[float, float, int]:
    """Keep the friction anchors; energy of the planes' springs [J], largest δ [m], planes pressing.

    A spring past its limit μ s lets its anchor follow; a plane that does not press forgets it.
    """
    age = now - packet[PACKET_TIME]
    energy, depth, pressing = 0.0, 0.0, 0
    count = plane_count(packet)
    for i in range(count):
        plane = off(packet, PACKET_PLANES + NPLANE * i)
        t = touch(plane, m, age, off(anchors, 3 * i))
        delta = t.gap - plane[PLANE_TOLERANCE]
        depth = delta if i == 0 else max(depth, delta)
        energy += 0.5 * plane[PLANE_STIFFNESS] * max(t.gap, 0.0) ** 2
        grips[NGRIP * i + GRIP_NAME] = 0.0
        if not (t.gap > 0.0 and t.s > 0.0):
            continue
        pressing += 1
        if plane[PLANE_FRICTION] > 0.0 and plane[PLANE_SHEAR] > 0.0:
            share, _ = friction_share(plane, t.stretch, plane[PLANE_FRICTION] * t.s)
            left = share / plane[PLANE_SHEAR]
            energy += 0.5 * plane[PLANE_SHEAR] * left * left * dot(t.stretch, t.stretch)
            grips[NGRIP * i + GRIP_NAME] = plane[PLANE_NAME]
            for c in range(3):
                grips[NGRIP * i + GRIP_ANCHOR + c] = m.x[c] + t.arm[c] - left * t.stretch[c]
    for i in range(count, MAX_PLANES):
        grips[NGRIP * i + GRIP_NAME] = 0.0
    return energy, depth, pressing
