"""Friction of principal contacts: at the start of a contact, and while a formation is kept.

Start, from the motion before: velocity v₀ of A's material point, u = v₀/|v₀|, and the force G that
went with its acceleration. An impact along u must bring the normal force up to F_n:

    F_v = −(F_n + G_n)/u_n ≥ 0,    F_t = −G_t − F_v u_t;    stick: |F_t| ≤ μ F_n, else slip

Kept: the case of the formation says which contacts stick.

    a static    A is at rest, or the hand presses where the contacts block it
    b rolling   a contact moves over both surfaces, and hardly slips
    c pivot     A turns about an axis through a contact, square to its plane or along its line
    d sliding   otherwise

Stick is a spring s from an anchor, F = −K_p s, and a torsion spring K_p ρ² over a region of spread
ρ. Both together slip beyond an ellipse whose axes are μ F_n and its torque. The force is then
kinetic and drags the anchor along; so a contact sticks again with the force it has. A contact that
sticks goes on doing so, whatever the case, until its spring lets go. What rolls sheds its stretch
as its contact moves on to material that carries none.

Differs from the paper: its stick is measured over one sample, which is a damper K_p Δt and holds
nothing; stick="printed" does so.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, off
from tangere.contact.formation.columns import (
    CASE_PIVOT,
    CASE_ROLLING,
    CASE_SLIDING,
    LAW_CLAMP,
    LAW_EFFECTIVE,
    LAW_INERTIA,
    LAW_INVERSE,
    LAW_KP,
    LAW_LEAST_ARM,
    LAW_MASS,
    LAW_MU,
    LAW_MU_KINETIC,
    LINE,
    MEM_PATH,
    MEM_SLIP,
    NMEM,
    NOUT,
    NPC,
    OUT_NORMAL_FORCE,
    OUT_POINT,
    OUT_SIZE,
    OUT_SLIP,
    OUT_SPIN,
    OUT_SPREAD,
    OUT_STRETCH,
    OUT_TURN,
    PC_CURVED,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_REGION,
    PLANE,
    POINT,
    ROLL,
    SLIP,
    STICK,
    put,
    vec,
)
from tangere.contact.formation.motion_type import IS_CHANGED, Frame
from tangere.contact.formation.regions import (
    from_region,
    turning_friction,
)
from tangere.maths.quat import turn, turn_back
from tangere.maths.small import solve
from tangere.maths.vec import Vec3, add, axpy, cross, dot, norm, scale, sub

# A hand at rest [m/s, rad/s]; below this speed kinetic friction fades, so that its sign does not
# chatter.
SLOW, SLOW_TURN = 2e-3, 0.02
BLOCKED = 0.2  # share of the twist that the contacts let through, for a hand that presses
# The start of a contact: slower has no direction; this close to the contact plane it is no impact
# [m/s, cosine]; a slide direction is at least so long, the force it is taken from so large [N].
NO_SPEED, GRAZING, NO_SLIDE, NO_FORCE = 1e-3, 0.035, 0.02, 0.01
# A contact rolls: way over both surfaces of late [m], slip over way.
LEAST_WAY, MOST_SLIP = 2e-5, 0.15
# An axis meets a contact: speed there, over that of a point on the rim of A.
OFF_AXIS = 0.05
ALONG = 0.0872  # sine of 5°: directions this close are parallel, or square
# Mean distance from the centroid over its root mean square: 0.87 of a line, 0.94 of a disc.
MEAN_ARM = 0.9
# Rows of contact equations count as dependent below this length, of 1.
DEPENDENT = 1e-3


@kernel
def prior_force(law: PtrF8, r: PtrF8, p: Vec3, w: Vec3, a: Vec3, alpha: Vec3) -> Vec3:
    """G at a point p from the centre of mass [N].

    As printed the force m a and that of the torque τ = I ω̇ + ω × I ω, (τ × p_⊥)/r²; p_⊥ is square
    to τ and r its length, at least r_min: a torque about a line through the point does not move it.
    With the effective mass M_c (a + ω̇ × p), M_c⁻¹ = 1/m − [p]ₓ I⁻¹ [p]ₓ.
    """
    if law[LAW_EFFECTIVE] == 1.0:
        m, b = local_f8(9), local_f8(3)
        given = add(a, cross(alpha, p))
        for j in range(3):
            e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
            bent = turn(r, turn(off(law, LAW_INVERSE), turn_back(r, cross(p, e))))
            column = axpy(1.0 / law[LAW_MASS], e, cross(bent, p))
            for i in range(3):
                m[3 * i + j] = column[i]
            b[j] = given[j]
        solve(m, b, 3)
        return (b[0], b[1], b[2])
    tau = torque_of(law, r, w, alpha)
    force = scale(law[LAW_MASS], a)
    tau2 = dot(tau, tau)
    if not tau2 > 0.0:
        return force
    square = axpy(-dot(p, tau) / tau2, tau, p)
    arm = max(law[LAW_LEAST_ARM], norm(square))
    return axpy(1.0 / (arm * arm), cross(tau, square), force)


@kernel
def torque_of(law: PtrF8, r: PtrF8, w: Vec3, alpha: Vec3) -> Vec3:
    """Torque I ω̇ + ω × I ω, in world axes [N m]."""
    inertia = off(law, LAW_INERTIA)
    own = turn_back(r, w)
    tau = add(turn(inertia, turn_back(r, alpha)), cross(own, turn(inertia, own)))
    return turn(r, tau)


@kernel
def start(law: PtrF8, press: float, n: Vec3, v: Vec3, g: Vec3) -> tuple[Vec3, Vec3, float, bool]:
    """Friction, what full stick would need, F_v, and whether it sticks.

    Args:
        law: See `LAW_…`.
        press: F_n [N].
        n: Normal towards A.
        v: Velocity of A's material point before [m/s].
        g: G [N].
    """
    g_n = dot(g, n)
    g_t = axpy(-g_n, n, g)
    speed = norm(v)
    u = scale(1.0 / speed, v) if speed > NO_SPEED else (0.0, 0.0, 0.0)
    b = dot(u, n)
    u_t = axpy(-b, n, u)
    f_v = -(press + g_n) / b if b < -GRAZING else 0.0
    f_v *= min(1.0, speed / NO_SPEED - 1.0)  # sets in where the direction does
    if law[LAW_CLAMP] == 1.0:
        f_v = max(0.0, f_v)
    need = sub(scale(-f_v, u_t), g_t)
    if norm(need) <= law[LAW_MU] * press:
        return need, need, f_v, True
    if norm(u_t) < NO_SLIDE:
        u_t = g_t if norm(g_t) >= NO_FORCE else (0.0, 0.0, 0.0)
    length = norm(u_t)
    size = law[LAW_MU_KINETIC] * press
    return scale(-size / length if length > 0.0 else 0.0, u_t), need, f_v, False


@kernel
def admissible(f: Frame, count: int, c: Vec3, radius: float, v: Vec3, w: Vec3) -> tuple[Vec3, Vec3]:
    """The part of a twist that opens or closes no contact.

    Every point of a contact asks n·(v + ω × p) = 0: one of a point, two of a line, three of a
    plane.
    With x = (v, ρ ω), ρ the radius of A, the rows (n, p × n/ρ) are made orthonormal and taken out
    of x.
    """
    basis = local_f8(36)
    rank = 0
    x = local_f8(6)
    for k in range(3):
        x[k], x[3 + k] = v[k], radius * w[k]
    row = local_f8(6)
    for i in range(count):
        contact, out = off(f.rows, NPC * i), off(f.out, NOUT * i)
        n, here = vec(contact, PC_NORMAL), sub(vec(out, OUT_POINT), c)
        region = contact[PC_REGION]
        along = (0.0, 0.0, 0.0)
        if region != POINT:
            along = sub(vec(contact, PC_POLYGON), vec(contact, PC_POINT))
        for j in range(1 if region == POINT else (2 if region == LINE else 3)):
            p = here
            if j == 1:
                p = add(here, along)
            elif j == 2:
                p = add(here, cross(n, along))
            if rank == 6:
                break
            arm = cross(p, n)
            for k in range(3):
                row[k], row[3 + k] = n[k], arm[k] / radius
            length = _six(row, row)
            for _ in range(2):  # twice is enough for rounding
                for e in range(rank):
                    q = off(basis, 6 * e)
                    s = _six(row, q)
                    for k in range(6):
                        row[k] -= s * q[k]
            left = _six(row, row)
            if left > DEPENDENT * DEPENDENT * length:
                q = off(basis, 6 * rank)
                s = 1.0 / sqrt(left)
                for k in range(6):
                    q[k] = s * row[k]
                rank += 1
    for e in range(rank):
        q = off(basis, 6 * e)
        s = _six(x, q)
        for k in range(6):
            x[k] -= s * q[k]
    return (x[0], x[1], x[2]), (x[3] / radius, x[4] / radius, x[5] / radius)


@kernel
def _six(a: PtrF8, b: PtrF8) -> float:
    """Inner product of two rows of six."""
    total = 0.0
    for k in range(6):
        total += a[k] * b[k]
    return total


@kernel
def is_static(v: Vec3, w: Vec3, v_free: Vec3, w_free: Vec3, radius: float) -> bool:
    """Whether A is at rest, or its twist is all but blocked by the contacts."""
    if norm(v) < SLOW and norm(w) < SLOW_TURN:
        return True
    given = dot(v, v) + radius * radius * dot(w, w)
    free = dot(v_free, v_free) + radius * radius * dot(w_free, w_free)
    return free < BLOCKED * BLOCKED * given


@kernel
def case_of(f: Frame, count: int, w: Vec3, radius: float, verdict: PtrI8) -> int:
    """Rolling, pivot or sliding; the verdict on every contact: STICK, SLIP or ROLL.

    Args:
        f: Slip and spin of every contact are those of the admissible twist.
        count: Contacts there are.
        w: Admissible angular velocity [rad/s].
        radius: Of A [m].
        verdict: Filled.
    """
    off_axis = max(SLOW, OFF_AXIS * norm(w) * radius)
    rolling = 0
    for i in range(count):
        verdict[i] = SLIP
        if count <= 2 and _rolls(f, i):
            verdict[i] = ROLL
            rolling += 1
    if rolling > 0:
        for i in range(count):
            if verdict[i] != ROLL and _rim_speed(off(f.out, NOUT * i)) < SLOW:
                verdict[i] = STICK
        return CASE_ROLLING
    if count <= 2 and _pivots(f, count, w, off_axis):
        for i in range(count):
            if _rim_speed(off(f.out, NOUT * i)) < off_axis:
                verdict[i] = STICK
        return CASE_PIVOT
    for i in range(count):
        if _rim_speed(off(f.out, NOUT * i)) < SLOW:
            verdict[i] = STICK
    return CASE_SLIDING


@kernel
def _rolls(f: Frame, i: int) -> bool:
    """Whether a contact has moved over both surfaces of late and has hardly slipped."""
    if f.rows[NPC * i + PC_CURVED] == 0.0 or f.place[i] < 0:
        return False
    memory = off(f.memory, NMEM * int(f.place[i]))
    slip, over_b = vec(memory, MEM_SLIP), vec(memory, MEM_PATH)
    over_a = sub(over_b, slip)
    a, b = norm(over_a), norm(over_b)
    return a > LEAST_WAY and b > LEAST_WAY and norm(slip) < MOST_SLIP * max(a, b)


@kernel
def _rim_speed(out: PtrF8) -> float:
    """Most slip speed of a region, from above [m/s]."""
    return float(norm(vec(out, OUT_SLIP)) + abs(out[OUT_SPIN]) * out[OUT_SIZE])


@kernel
def _pivots(f: Frame, count: int, w: Vec3, off_axis: float) -> bool:
    """Whether A turns about an axis through a contact, in one of the ways that count."""
    rate = norm(w)
    if not rate >= SLOW_TURN:
        return False
    u = scale(1.0 / rate, w)
    meets = square = changed = False
    regions = 0
    for i in range(count):
        row, out = off(f.rows, NPC * i), off(f.out, NOUT * i)
        n = vec(row, PC_NORMAL)
        meets = meets or _meets(row, out, off_axis)
        square = square or norm(cross(u, n)) < ALONG
        changed = changed or f.fate[i] == IS_CHANGED
        if row[PC_REGION] != POINT:
            regions += 1
        if row[PC_REGION] == LINE:
            line = sub(vec(row, PC_POLYGON + 3), vec(row, PC_POLYGON))
            length = norm(line)
            s, t = norm(cross(u, line)), abs(dot(u, line))
            if not (s < ALONG * length or t < ALONG * length):
                return False
    if not meets:
        return False
    if count == 2 and regions == 0:
        line = sub(vec(f.out, NOUT + OUT_POINT), vec(f.out, OUT_POINT))
        return norm(cross(u, line)) < ALONG * norm(line)
    if count == 2:
        return square
    # a face that is laid down turns about an edge that lies in it
    return square or changed or f.rows[PC_REGION] != PLANE


@kernel
def _meets(row: PtrF8, out: PtrF8, off_axis: float) -> bool:
    """Whether some point of a region slips slower: that nearest to the centre of turning."""
    v, w = vec(out, OUT_SLIP), out[OUT_SPIN]
    if norm(v) < off_axis or row[PC_REGION] == POINT or not abs(w) >= SLOW_TURN:
        return norm(v) < off_axis
    centre = axpy(1.0 / w, cross(vec(row, PC_NORMAL), v), vec(row, PC_POINT))
    return bool(abs(w) * from_region(centre, row) < off_axis)


@kernel
def hold(law: PtrF8, n: Vec3, out: PtrF8) -> tuple[Vec3, float, bool]:
    """Force and torque about the normal of a contact that sticks, and whether its spring holds."""
    s, spread = vec(out, OUT_STRETCH), out[OUT_SPREAD]
    force = scale(-law[LAW_KP], axpy(-dot(s, n), n, s))
    torque = -law[LAW_KP] * spread * spread * out[OUT_TURN]
    limit = law[LAW_MU] * out[OUT_NORMAL_FORCE]
    load2 = dot(force, force)
    if spread > 0.0:
        load2 += (torque / (MEAN_ARM * spread)) ** 2
    return force, torque, load2 <= limit * limit


@kernel
def slide(law: PtrF8, row: PtrF8, out: PtrF8) -> tuple[Vec3, float]:
    """Kinetic friction: force, and torque about the normal at the centroid.

    −μ_D F_n times the mean of v/|v| over the region, under even pressure; it fades where nothing
    moves faster than 2 mm/s.
    """
    v, w = vec(out, OUT_SLIP), out[OUT_SPIN]
    limit = law[LAW_MU_KINETIC] * out[OUT_NORMAL_FORCE] * min(1.0, _rim_speed(out) / SLOW)
    force, torque = turning_friction(row, out[OUT_SIZE], v, w)
    return scale(limit, force), limit * torque


@kernel
def drag(law: PtrF8, force: Vec3, torque: float, out: PtrF8) -> None:
    """Let the anchor of a contact that slips follow: its springs carry that force, if they can.

    They never stretch by more than A has slipped, as that would be energy from nowhere.
    """
    k, spread2 = law[LAW_KP], out[OUT_SPREAD] ** 2
    stretch = scale(-1.0 / k, force)
    had, size = norm(vec(out, OUT_STRETCH)), norm(stretch)
    put(out, OUT_STRETCH, scale(had / size if size > had else 1.0, stretch))
    turned = -torque / (k * spread2) if spread2 > 0.0 else 0.0
    most = abs(out[OUT_TURN])
    out[OUT_TURN] = min(most, max(-most, turned))
