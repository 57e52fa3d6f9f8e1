"""One step of the tool between hand and contacts.

Backward Euler with one Newton step, [OTADUY2005] (5)–(8). The wrench on the tool is known to first
order about the present state y = (x, q, P, L), W ≈ w − K (Δx, φ) − B (Δv, Δω), see
`haptics.element`; all of it with the hand's sample of the step's end. By default the unknown is the
twist at the end, (Δx, φ) = Δt (v, ω)₊ and q₊ = exp(φ) q:

    [ diag(m I, H) + Δt B + Δt² K ] (v, ω)₊ = (P, L) + Δt (w + B (v, ω)),
    H = I_w − Δt L* + Δt I_w ω*,    P₊ = m v₊,   L₊ = H ω₊

H ω₊ is L₊ = I_w(q₊) ω₊ to first order, the gyroscopic term. Without mass the equation is the
balance of coupling and contacts. The paper's own form, 13 unknowns with the quaternion's rate in
place of φ, is kept as a reference; so are the explicit rules it compares with.

Which planes press is judged at the end of the step: solve, look, and solve again if the set has
changed.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off, ptr
from tangere.haptics.coupling import add_hold, hold
from tangere.haptics.element import Linear, Motion, add_force, clear, copy, motion
from tangere.haptics.layout import (
    CONTACT_HELD,
    CONTACT_LINEAR,
    CONTACT_PLANES_START,
    COUPLING_DIRECT,
    FAULT_TOOL,
    HAND_OMEGA,
    HAND_POSITION,
    HAND_QUATERNION,
    HAND_VELOCITY,
    NHAND,
    NOUT,
    NTOOL,
    OUT_ACTIVE,
    OUT_ANGLE,
    OUT_CONTACT,
    OUT_DEPTH,
    OUT_DEVIATION,
    OUT_ENERGY,
    OUT_FORCE,
    OUT_PASSES,
    OUT_TORQUE,
    OUT_TURN,
    PACKET_TIME,
    SET_CONTACT,
    SET_FASTEST,
    SET_GRAVITY,
    SET_GRIP,
    SET_GRIP_QUATERNION,
    SET_INERTIA,
    SET_INTEGRATOR,
    SET_LEASH,
    SET_MASS,
    SET_MODE,
    SET_STEP,
    STEP_EULER,
    STEP_IMPLICIT13,
    STEP_RK4,
    TOOL_ANGULAR,
    TOOL_MOMENTUM,
    TOOL_POSITION,
    TOOL_QUATERNION,
)
from tangere.haptics.planes import (
    NPASS,
    add_contact,
    add_packet,
    add_planes,
    find_anchors,
    plane_count,
    settle,
    suppose,
)
from tangere.maths.quat import (
    conjugate,
    from_vector,
    matrix_into,
    product,
    turn,
    turn_back,
    unit,
)
from tangere.maths.small import solve
from tangere.maths.vec import Array, Vec3, cross, dot, norm

# Solves per step at most: the set of pressing planes has then nearly always come to rest.
MAX_PASSES = 3
# A state or force beyond this is as lost as one that is not a number (SI units).
LOST = 1e9


@kernel
def step_tool(
    settings: PtrF8,
    y: PtrF8,
    hand: PtrF8,
    packet: PtrF8,
    now: float,
    grips: PtrF8,
    out: PtrF8,
) -> int:
    """Bring the tool from the last tick to `now`; what it then feels is in `out`, OUT_….

    `hand` is the sample of `now`, `packet` the newest contact packet. Returns 0, or FAULT_TOOL: the
    state was lost or off its leash, the tool is put back to the hand at rest, and `out` is zero. A
    hand that is itself no number leaves it where it was.
    """
    r, anchors, fresh, last = local_f8(9), local_f8(48), local_f8(13), local_f8(13)
    m = motion(settings, y, r)
    passes = 0
    find_anchors(settings, m, packet, now, grips, anchors)
    if settings[SET_MODE] == COUPLING_DIRECT:
        follow(settings, hand, fresh)
    else:
        u_last = (out[OUT_TURN], out[OUT_TURN + 1], out[OUT_TURN + 2])
        rule = int(settings[SET_INTEGRATOR])
        if rule in (STEP_RK4, STEP_EULER):
            _explicit(settings, y, hand, packet, now, anchors, u_last, fresh)
        else:
            passes = _implicit(settings, y, m, hand, packet, now, anchors, u_last, fresh)
    for i in range(NTOOL):
        last[i] = y[i]
        y[i] = fresh[i]
    m, w = motion(settings, y, r), local_f8(6)
    for i in range(6):
        w[i] = 0.0
    add_contact(settings, m, packet, now, anchors, w)
    energy, depth, pressing = settle(m, packet, now, anchors, grips)
    felt(settings, y, hand, w, energy, out)
    out[OUT_DEPTH], out[OUT_ACTIVE], out[OUT_PASSES] = depth, pressing, passes
    return keep_near(settings, y, last, hand, out)


@kernel
def keep_near(settings: PtrF8, y: PtrF8, last: PtrF8, hand: PtrF8, out: PtrF8) -> int:
    """0, or FAULT_TOOL where the state is lost or off its leash; see `step_tool`."""
    if _size(y, NTOOL) + _size(out, OUT_DEVIATION) < LOST and not _strays(settings, y, out):
        return 0
    fresh = local_f8(13)
    follow(settings, hand, fresh)
    found = _size(fresh, NTOOL) < LOST
    for i in range(NTOOL):
        y[i] = fresh[i] if found else last[i]
    for i in range(6):
        y[TOOL_MOMENTUM + i] = 0.0
    for i in range(NOUT):
        out[i] = 0.0
    return FAULT_TOOL


@kernel
def _strays(settings: PtrF8, y: PtrF8, out: PtrF8) -> bool:
    """Whether a tool is further from its hand than its coupling can have pulled it, or too fast."""
    if settings[SET_MODE] == COUPLING_DIRECT:
        return False
    i = TOOL_MOMENTUM
    fast = norm((y[i], y[i + 1], y[i + 2])) > settings[SET_MASS] * settings[SET_FASTEST]
    return bool(out[OUT_DEVIATION] > settings[SET_LEASH] or fast)


@kernel
def _size(a: PtrF8, n: int) -> float:
    """Sum of magnitudes: not below any bound if one of them is not finite."""
    total = 0.0
    for i in range(n):
        total += abs(a[i])
    return total


@kernel
def step_once(
    settings: Array, y: Array, hand: Array, packet: Array, now: float, grips: Array, out: Array
) -> int:
    """`step_tool`, for callers with arrays."""
    return step_tool(ptr(settings), ptr(y), ptr(hand), ptr(packet), now, ptr(grips), ptr(out))


@kernel
def step_along(
    settings: Array,
    y: Array,
    hands: Array,
    packet: Array,
    grips: Array,
    out: Array,
    rows_out: Array,
) -> int:
    """Step along samples of a hand (ticks, NHAND), one packet throughout; returns the ticks made.

    `rows_out` (ticks, NTOOL + NOUT) gets state and `out` of each tick. Ends at a fault. The first
    tick is one step after the packet's time.
    """
    s, yp, p, g, o = ptr(settings), ptr(y), ptr(packet), ptr(grips), ptr(out)
    width = NTOOL + NOUT
    for i in range(len(hands)):
        now = p[PACKET_TIME] + (i + 1) * s[SET_STEP]
        if step_tool(s, yp, off(ptr(hands), NHAND * i), p, now, g, o) != 0:
            return i
        row = off(ptr(rows_out), width * i)
        for j in range(NTOOL):
            row[j] = yp[j]
        for j in range(NOUT):
            row[NTOOL + j] = o[j]
    return len(hands)


# ------------------------------------------------ implicit
@kernel
def _implicit(
    settings: PtrF8,
    y: PtrF8,
    m: Motion,
    hand: PtrF8,
    packet: PtrF8,
    now: float,
    anchors: PtrF8,
    u_last: Vec3,
    y_out: PtrF8,
) -> int:
    """Backward Euler; returns the number of solves."""
    w0, k0, b0 = local_f8(6), local_f8(36), local_f8(36)
    base = Linear(w0, k0, b0)
    add_hand(settings, m, hand, u_last, base)
    mode = int(settings[SET_CONTACT])
    planes = mode not in (CONTACT_HELD, CONTACT_LINEAR)
    if not planes:
        add_packet(settings, m, packet, now, base)
    count = plane_count(packet)
    if not planes or count == 0:
        advance(settings, y, m, base, y_out)
        return 1
    w, k, b = local_f8(6), local_f8(36), local_f8(36)
    total = Linear(w, k, b)
    r, states = local_f8(9), local_f8(96)
    for i in range(NPASS * count):
        states[i] = 0.0
    suppose(m, packet, now, anchors, settings[SET_STEP], states)
    passes = 0
    while passes < MAX_PASSES:
        copy(base, total)
        add_planes(m, packet, now, anchors, states, total)
        advance(settings, y, m, total, y_out)
        passes += 1
        if mode == CONTACT_PLANES_START:
            break
        if not suppose(motion(settings, y_out, r), packet, now, anchors, 0.0, states):
            break
    return passes


@kernel
def add_hand(settings: PtrF8, m: Motion, hand: PtrF8, u_last: Vec3, a: Linear) -> None:
    """The wrench of the coupling and of the tool's weight, and no other."""
    clear(a)
    add_hold(settings, m, hold(settings, m, hand, u_last), a)
    add_force(a.w, (0.0, 0.0, 0.0), _weight(settings))


@kernel
def advance(settings: PtrF8, y: PtrF8, m: Motion, a: Linear, y_out: PtrF8) -> None:
    """The state after one step under a wrench known to first order."""
    if settings[SET_INTEGRATOR] == STEP_IMPLICIT13:
        _advance13(settings, y, m, a, y_out)
    else:
        _advance6(settings, y, m, a, y_out)


@kernel
def _advance6(settings: PtrF8, y: PtrF8, m: Motion, a: Linear, y_out: PtrF8) -> None:
    """Solve for the twist at the end of the step; see the top of this file."""
    h, lhs, u = local_f8(9), local_f8(36), local_f8(6)
    step_equation(settings, y, m, a, h, lhs, u)
    solve(lhs, u, 6)
    put_twist(settings, m, h, u, y_out)


@kernel
def step_equation(
    settings: PtrF8, y: PtrF8, m: Motion, a: Linear, h_out: PtrF8, lhs_out: PtrF8, rhs_out: PtrF8
) -> None:
    """H, matrix (6, 6) and right-hand side of the equation for the twist at the end of the step."""
    dt, mass = settings[SET_STEP], settings[SET_MASS]
    _turn_matrix(settings, y, m, h_out)
    twist = (m.v[0], m.v[1], m.v[2], m.w[0], m.w[1], m.w[2])
    for i in range(6):
        x = a.w[i]
        for j in range(6):
            lhs_out[6 * i + j] = dt * (a.b[6 * i + j] + dt * a.k[6 * i + j])
            x += a.b[6 * i + j] * twist[j]
        rhs_out[i] = y[TOOL_MOMENTUM + i] + dt * x
    for i in range(3):
        lhs_out[7 * i] += mass
        for j in range(3):
            lhs_out[6 * (3 + i) + 3 + j] += h_out[3 * i + j]


@kernel
def put_twist(settings: PtrF8, m: Motion, h: PtrF8, u: PtrF8, y_out: PtrF8) -> None:
    """The state after a step that ends with twist u."""
    dt, mass = settings[SET_STEP], settings[SET_MASS]
    w = (u[3], u[4], u[5])
    q = unit(product(from_vector((dt * w[0], dt * w[1], dt * w[2])), m.q))
    spin = turn(h, w)
    for i in range(3):
        y_out[TOOL_POSITION + i] = m.x[i] + dt * u[i]
        y_out[TOOL_MOMENTUM + i] = mass * u[i]
        y_out[TOOL_ANGULAR + i] = spin[i]
    for i in range(4):
        y_out[TOOL_QUATERNION + i] = q[i]


@kernel
def _turn_matrix(settings: PtrF8, y: PtrF8, m: Motion, h_out: PtrF8) -> None:
    """H = I_w − Δt L* + Δt I_w ω*, row by row."""
    dt = settings[SET_STEP]
    ell = (y[TOOL_ANGULAR], y[TOOL_ANGULAR + 1], y[TOOL_ANGULAR + 2])
    r = m.r
    i1, i2, i3 = settings[SET_INERTIA], settings[SET_INERTIA + 1], settings[SET_INERTIA + 2]
    for i in range(3):
        # row of I_w = R M Rᵀ, and of I_w ω*: a·(ω × b) = (a × ω)·b
        row = turn(r, (i1 * r[3 * i], i2 * r[3 * i + 1], i3 * r[3 * i + 2]))
        bent = cross(row, m.w)
        for j in range(3):
            h_out[3 * i + j] = row[j] + dt * bent[j]
    h_out[1] += dt * ell[2]
    h_out[2] -= dt * ell[1]
    h_out[3] -= dt * ell[2]
    h_out[5] += dt * ell[0]
    h_out[6] += dt * ell[1]
    h_out[7] -= dt * ell[0]


@kernel
def _advance13(settings: PtrF8, y: PtrF8, m: Motion, a: Linear, y_out: PtrF8) -> None:
    """(I − Δt ∂f/∂y) Δy = Δt f, the paper's (6)."""
    dt = settings[SET_STEP]
    f, jac = local_f8(13), local_f8(169)
    _jacobian13(settings, y, m, a, f, jac)
    for i in range(169):
        jac[i] *= -dt
    for i in range(13):
        jac[14 * i] += 1.0
        f[i] *= dt
    solve(jac, f, 13)
    for i in range(13):
        y_out[i] = y[i] + f[i]
    _put_quaternion(y_out)


@kernel
def _jacobian13(
    settings: PtrF8, y: PtrF8, m: Motion, a: Linear, f_out: PtrF8, jac_out: PtrF8
) -> None:
    """Rate f(y) and ∂f/∂y (13, 13) from the first-order wrench, (9)–(29) corrected.

    A change dq of a quaternion turns by φ = E dq, E = 4 Qᵀ = 2 [−u | w I + u*], whatever its norm;
    ω = W L with W = R M⁻¹ Rᵀ changes by Γ φ, Γ = W L* − ω*. So

        ∂q̇/∂q = ½ ω_q ⊗ · + Q Γ E,   ∂q̇/∂L = Q W
        ∂W/∂q = −(K_φ + B_ω Γ) E,   ∂W/∂P = −B_v/m,   ∂W/∂L = −B_ω W
    """
    mass = settings[SET_MASS]
    inv, gamma, e = local_f8(9), local_f8(9), local_f8(12)
    r = m.r
    ell = (y[TOOL_ANGULAR], y[TOOL_ANGULAR + 1], y[TOOL_ANGULAR + 2])
    i1, i2, i3 = settings[SET_INERTIA], settings[SET_INERTIA + 1], settings[SET_INERTIA + 2]
    for i in range(3):
        row = turn(r, (r[3 * i] / i1, r[3 * i + 1] / i2, r[3 * i + 2] / i3))
        bent = cross(row, ell)  # row of W L*
        for j in range(3):
            inv[3 * i + j] = row[j]
            gamma[3 * i + j] = bent[j]
    o = m.w
    gamma[1] += o[2]
    gamma[2] -= o[1]
    gamma[3] -= o[2]
    gamma[5] += o[0]
    gamma[6] += o[1]
    gamma[7] -= o[0]
    w, x1, x2, x3 = m.q
    e[0], e[1], e[2], e[3] = -2.0 * x1, 2.0 * w, -2.0 * x3, 2.0 * x2
    e[4], e[5], e[6], e[7] = -2.0 * x2, 2.0 * x3, 2.0 * w, -2.0 * x1
    e[8], e[9], e[10], e[11] = -2.0 * x3, -2.0 * x2, 2.0 * x1, 2.0 * w
    for i in range(169):
        jac_out[i] = 0.0
    rate = product((0.0, 0.5 * o[0], 0.5 * o[1], 0.5 * o[2]), m.q)
    for i in range(3):
        f_out[i] = m.v[i]
        jac_out[13 * i + 7 + i] = 1.0 / mass
    for i in range(4):
        f_out[3 + i] = rate[i]
        row4 = off(jac_out, 13 * (3 + i))
        # row of Q = Eᵀ/4, and of Q Γ
        q3 = (0.25 * e[i], 0.25 * e[4 + i], 0.25 * e[8 + i])
        turned = turn_back(gamma, q3)
        mixed = turn_back(inv, q3)
        for j in range(4):
            row4[3 + j] = turned[0] * e[j] + turned[1] * e[4 + j] + turned[2] * e[8 + j]
        for j in range(3):
            row4[10 + j] = mixed[j]
    # ½ ω_q ⊗ dq
    for i in range(3):
        jac_out[13 * 3 + 4 + i] -= 0.5 * o[i]
        jac_out[13 * (4 + i) + 3] += 0.5 * o[i]
    jac_out[13 * 4 + 5] -= 0.5 * o[2]
    jac_out[13 * 4 + 6] += 0.5 * o[1]
    jac_out[13 * 5 + 4] += 0.5 * o[2]
    jac_out[13 * 5 + 6] -= 0.5 * o[0]
    jac_out[13 * 6 + 4] -= 0.5 * o[1]
    jac_out[13 * 6 + 5] += 0.5 * o[0]
    for i in range(6):
        f_out[7 + i] = a.w[i]
        row6 = off(jac_out, 13 * (7 + i))
        b3 = (a.b[6 * i + 3], a.b[6 * i + 4], a.b[6 * i + 5])
        by_turn = turn_back(gamma, b3)
        by_spin = turn_back(inv, b3)
        k3 = (
            a.k[6 * i + 3] + by_turn[0],
            a.k[6 * i + 4] + by_turn[1],
            a.k[6 * i + 5] + by_turn[2],
        )
        for j in range(3):
            row6[j] = -a.k[6 * i + j]
            row6[7 + j] = -a.b[6 * i + j] / mass
            row6[10 + j] = -by_spin[j]
        for j in range(4):
            row6[3 + j] = -(k3[0] * e[j] + k3[1] * e[4 + j] + k3[2] * e[8 + j])


@kernel
def rate_and_jacobian(
    settings: Array,
    y: Array,
    hand: Array,
    packet: Array,
    now: float,
    grips: Array,
    f_out: Array,
    jac_out: Array,
) -> None:
    """Rate f(y) (13,) of the tool's state and ∂f/∂y (13, 13), the planes as they press at y.

    The same blocks that a step uses; for tests and studies of stability.
    """
    s, p = ptr(settings), ptr(packet)
    r, anchors, states = local_f8(9), local_f8(48), local_f8(96)
    w, k, b = local_f8(6), local_f8(36), local_f8(36)
    a = Linear(w, k, b)
    m = motion(s, ptr(y), r)
    add_hand(s, m, ptr(hand), (0.0, 0.0, 0.0), a)
    find_anchors(s, m, p, now, ptr(grips), anchors)
    if int(s[SET_CONTACT]) in (CONTACT_HELD, CONTACT_LINEAR):
        add_packet(s, m, p, now, a)
    else:
        for i in range(96):
            states[i] = 0.0
        suppose(m, p, now, anchors, 0.0, states)
        add_planes(m, p, now, anchors, states, a)
    _jacobian13(s, ptr(y), m, a, ptr(f_out), ptr(jac_out))


# ------------------------------------------------ explicit
@kernel
def _explicit(
    settings: PtrF8,
    y: PtrF8,
    hand: PtrF8,
    packet: PtrF8,
    now: float,
    anchors: PtrF8,
    u_last: Vec3,
    y_out: PtrF8,
) -> None:
    """Forward Euler, or the classical Runge–Kutta rule of fourth order, the hand held still."""
    dt = settings[SET_STEP]
    f, stage = local_f8(13), local_f8(13)
    _rate(settings, y, hand, packet, now, anchors, u_last, f)
    if settings[SET_INTEGRATOR] == STEP_EULER:
        for i in range(NTOOL):
            y_out[i] = y[i] + dt * f[i]
        _put_quaternion(y_out)
        return
    for i in range(NTOOL):
        y_out[i] = y[i] + dt / 6.0 * f[i]
    for k in range(3):
        ahead = dt if k == 2 else 0.5 * dt
        weight = dt / 6.0 if k == 2 else dt / 3.0
        for i in range(NTOOL):
            stage[i] = y[i] + ahead * f[i]
        _rate(settings, stage, hand, packet, now, anchors, u_last, f)
        for i in range(NTOOL):
            y_out[i] += weight * f[i]
    _put_quaternion(y_out)


@kernel
def _rate(
    settings: PtrF8,
    y: PtrF8,
    hand: PtrF8,
    packet: PtrF8,
    now: float,
    anchors: PtrF8,
    u_last: Vec3,
    f_out: PtrF8,
) -> None:
    """F(y) of the 13 states: (v, ½ ω_q q, F, T)."""
    r, w = local_f8(9), local_f8(6)
    m = motion(settings, y, r)
    for i in range(6):
        w[i] = 0.0
    h = hold(settings, m, hand, u_last)
    add_force(w, h.arm, h.f)
    add_force(w, (0.0, 0.0, 0.0), _weight(settings))
    add_contact(settings, m, packet, now, anchors, w)
    i = TOOL_QUATERNION
    rate = product(
        (0.0, 0.5 * m.w[0], 0.5 * m.w[1], 0.5 * m.w[2]), (y[i], y[i + 1], y[i + 2], y[i + 3])
    )
    for j in range(3):
        f_out[TOOL_POSITION + j] = m.v[j]
        f_out[TOOL_MOMENTUM + j] = w[j]
        f_out[TOOL_ANGULAR + j] = w[3 + j] + h.t[j]
    for j in range(4):
        f_out[i + j] = rate[j]


# ------------------------------------------------ what is felt
@kernel
def follow(settings: PtrF8, hand: PtrF8, y_out: PtrF8) -> None:
    """The state of a tool whose grip is the hand: q = q_h q_c*, x = x_h − Rc, and its twist."""
    r = local_f8(9)
    i = HAND_QUATERNION
    q_h = (hand[i], hand[i + 1], hand[i + 2], hand[i + 3])
    i = SET_GRIP_QUATERNION
    q_c = (settings[i], settings[i + 1], settings[i + 2], settings[i + 3])
    q = unit(product(q_h, conjugate(q_c)))
    matrix_into(q, r)
    i = SET_GRIP
    arm = turn(r, (settings[i], settings[i + 1], settings[i + 2]))
    i = HAND_OMEGA
    w = (hand[i], hand[i + 1], hand[i + 2])
    sweep = cross(w, arm)
    ell = turn_back(r, w)
    i = SET_INERTIA
    spin = turn(r, (settings[i] * ell[0], settings[i + 1] * ell[1], settings[i + 2] * ell[2]))
    for j in range(3):
        y_out[TOOL_POSITION + j] = hand[HAND_POSITION + j] - arm[j]
        y_out[TOOL_MOMENTUM + j] = settings[SET_MASS] * (hand[HAND_VELOCITY + j] - sweep[j])
        y_out[TOOL_ANGULAR + j] = spin[j]
    for j in range(4):
        y_out[TOOL_QUATERNION + j] = q[j]


@kernel
def felt(settings: PtrF8, y: PtrF8, hand: PtrF8, w: PtrF8, energy: float, out: PtrF8) -> None:
    """What the hand feels at the end of the step, where its sample is that of the tick.

    w: wrench of the contacts on the tool; energy: that they hold [J].
    """
    r = local_f8(9)
    m = motion(settings, y, r)
    u_last = (out[OUT_TURN], out[OUT_TURN + 1], out[OUT_TURN + 2])
    h = hold(settings, m, hand, u_last)
    f = (-w[0], -w[1], -w[2])
    t = (-w[3], -w[4], -w[5])
    if settings[SET_MODE] == COUPLING_DIRECT:
        moment = cross(h.arm, f)
        t = (t[0] - moment[0], t[1] - moment[1], t[2] - moment[2])
    else:
        f, t = h.f, h.t
        energy += h.spring[2] + h.twist[2] + _kinetic(y, m)
    for i in range(3):
        out[OUT_FORCE + i] = f[i]
        out[OUT_TORQUE + i] = t[i]
        out[OUT_TURN + i] = h.u[i]
    for i in range(6):
        out[OUT_CONTACT + i] = w[i]
    out[OUT_ENERGY] = energy
    out[OUT_DEVIATION] = norm(h.xi)
    out[OUT_ANGLE] = norm(h.u)


@kernel
def _kinetic(y: PtrF8, m: Motion) -> float:
    """½ P·v + ½ L·ω [J]."""
    p = (y[TOOL_MOMENTUM], y[TOOL_MOMENTUM + 1], y[TOOL_MOMENTUM + 2])
    ell = (y[TOOL_ANGULAR], y[TOOL_ANGULAR + 1], y[TOOL_ANGULAR + 2])
    return 0.5 * (dot(p, m.v) + dot(ell, m.w))


@kernel
def _weight(settings: PtrF8) -> Vec3:
    """M g [N]."""
    m = settings[SET_MASS]
    return (
        m * settings[SET_GRAVITY],
        m * settings[SET_GRAVITY + 1],
        m * settings[SET_GRAVITY + 2],
    )


@kernel
def _put_quaternion(y: PtrF8) -> None:
    """The quaternion of a state back to norm one."""
    i = TOOL_QUATERNION
    y[i], y[i + 1], y[i + 2], y[i + 3] = unit((y[i], y[i + 1], y[i + 2], y[i + 3]))
