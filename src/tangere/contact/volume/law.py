"""Springs, dampers and friction spread over the patch ([HASEGAWA2003], [HASEGAWA2004]).

With p measured from the area centroid c of the patch, S_A the normalising area, α = k/S_A, and
relative motion u = u_c + ω × p of b against a:

    normal    F = ∫ pr dS,   m = ∫ p × pr n dS,   pr = α d(p) − (b/S_A) u_n(p)
    stick     R = k_t r + b_t u_T(c),  Θ = k_t θ + b_t ω_n;
              f = −(S_c/S_A) R,  m = −(S_c/S_A) J_n Θ n
    limit     sticks while (S_c/S_A) (R·R + Θ² J_n) ≤ μ ∫ pr |e| dS,   e(p) = R + Θ n × p
    slip      f = −μ ∫ pr e/|e| dS with e the slip velocity; the spring is rewound to the same force

S_A = S_c ("patch", 2004), 1 ("none", 2003: k per area) or a fixed area per pair ("fixed":
conservative). The limit is a virtual work: it does not depend on the reference point and is
Coulomb's law for a pure shift.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.bodies.rigid import velocity_at
from tangere.contact.convex.options import EXACT, SMALL_GYRATION
from tangere.contact.convex.patch_integrals import (
    AXIS,
    EXTRA,
    H0,
    HX,
    HY,
    POINT,
    RATIO,
    S0,
    SX,
    SXX,
    SXY,
    SY,
    SYY,
    TILT1,
    TILT2,
    TRUE,
)
from tangere.contact.volume.traction import Pressure, traction, vertex_traction, work_bound
from tangere.elements.contact_law import FORGET, SLOW, Law, keep_spring, spring_ends
from tangere.maths.vec import basis, dot, sub
from tangere.model import (
    PF_AREA,
    PF_CENTRE,
    PF_FORCE,
    PF_LAW,
    PF_MOMENTS,
    PF_NORMAL,
    PF_PRESS,
    PF_THETA,
    PF_TORQUE,
    PF_VOLUME,
    PI_BODY_A,
    PI_BODY_B,
    PI_FIRST,
    PI_LAST,
    PI_MISSED,
    PI_MODE,
    SLIP,
    STICK,
    Soup,
    State,
)


@kernel
def contact_wrench(
    s: State,
    ints: PtrI4,
    floats: PtrF8,
    q: PtrF8,
    law: Law,
    area: float,
    size: float,
    dt: float,
    rule: int,
    two_sided: bool,
    soup: Soup,
) -> bool:
    """Compute force and torque on b and advance the friction spring; false when nothing presses.

    q: integrals over the patch (see `patch`); area: normalising area S_A [m²]; size: length of
    the smaller part [m]; two_sided: false for a floor, whose side of the patch is not integrated.
    """
    i, j = ints[PI_BODY_A], ints[PI_BODY_B]
    n = (floats[PF_NORMAL], floats[PF_NORMAL + 1], floats[PF_NORMAL + 2])
    t1, t2 = basis(n)
    share = 0.5 if two_sided else 1.0  # of the summed areas: each side covers the patch once
    s_c = share * q[S0]
    cx, cy = q[SX] / q[S0], q[SY] / q[S0]
    jxx = share * (q[SXX] - q[SX] * cx)
    jxy = share * (q[SXY] - q[SX] * cy)
    jyy = share * (q[SYY] - q[SY] * cy)
    c = (
        q[POINT] + cx * t1[0] + cy * t2[0],
        q[POINT + 1] + cx * t1[1] + cy * t2[1],
        q[POINT + 2] + cx * t1[2] + cy * t2[2],
    )
    u = sub(velocity_at(s, j, c), velocity_at(s, i, c))
    w = (
        s.omega[3 * j] - s.omega[3 * i],
        s.omega[3 * j + 1] - s.omega[3 * i + 1],
        s.omega[3 * j + 2] - s.omega[3 * i + 2],
    )
    u_n, u1, u2 = dot(u, n), dot(u, t1), dot(u, t2)
    w_n, w1, w2 = dot(w, n), dot(w, t1), dot(w, t2)
    # turning about an axis of rolling leaves all depths as they are
    along, across = q[AXIS] * w1 + q[AXIS + 1] * w2, q[AXIS] * w2 - q[AXIS + 1] * w1
    along, across = q[TILT1] * along, q[TILT2] * across
    w1, w2 = q[AXIS] * along - q[AXIS + 1] * across, q[AXIS + 1] * along + q[AXIS] * across

    # normal pressure: u_n(p) = u_n − w2 x + w1 y
    alpha, beta = law.k / area, law.b / area
    press = alpha * (q[H0] + q[EXTRA] * s_c) - beta * u_n * s_c
    px = alpha * (q[HX] - cx * q[H0]) + beta * (w2 * jxx - w1 * jxy)
    py = alpha * (q[HY] - cy * q[H0]) + beta * (w2 * jxy - w1 * jyy)

    # what is reported of a curved contact is the true patch, and the stiffness that follows from it
    true = q[TRUE] / s_c if q[TRUE] > 0.0 else 1.0
    floats[PF_AREA], floats[PF_VOLUME] = true * s_c, q[H0] / q[RATIO]
    floats[PF_CENTRE], floats[PF_CENTRE + 1], floats[PF_CENTRE + 2] = c
    moments = off(floats, PF_MOMENTS)
    moments[0], moments[1], moments[2] = true * jxx, true * jxy, true * jyy
    if not press > 0.0:  # the damper would pull: the surfaces part instead
        return False

    # friction spring: stretch r about c, from its ends fixed to the bodies
    r1, r2, theta = 0.0, 0.0, 0.0
    if ints[PI_MISSED] < FORGET:
        pa, pb = spring_ends(s, i, j, floats)
        d = sub(pb, pa)
        theta = floats[PF_THETA] + dt * w_n
        mid = (
            c[0] - 0.5 * (pa[0] + pb[0]),
            c[1] - 0.5 * (pa[1] + pb[1]),
            c[2] - 0.5 * (pa[2] + pb[2]),
        )
        r1 = dot(d, t1) - theta * dot(mid, t2)
        r2 = dot(d, t2) + theta * dot(mid, t1)
    else:
        ints[PI_MODE] = STICK
    ratio = s_c / area
    j_n = (jxx + jyy) / s_c
    gyration = sqrt(max(j_n, 0.0))
    turns = gyration > SMALL_GYRATION * size
    k_t = law.k_t * ratio
    if not turns or k_t == 0.0:
        theta = 0.0
    elif abs(theta) * gyration * k_t > law.mu0 * press:  # a patch that grew: the twist it can hold
        theta *= law.mu0 * press / (abs(theta) * gyration * k_t)
    if k_t == 0.0:
        r1, r2 = 0.0, 0.0

    # trial: does it stick?
    R1, R2 = law.k_t * r1 + law.b_t * u1, law.k_t * r2 + law.b_t * u2
    th = law.k_t * theta + law.b_t * w_n
    if not turns:
        th = 0.0
    pressure = Pressure(
        alpha,
        share * (alpha * q[EXTRA] - beta * u_n),
        share * beta * w2,
        -share * beta * w1,
        cx,
        cy,
        press,
        two_sided,
    )
    mu = law.mu0 if ints[PI_MODE] == STICK else law.mu
    first, last = ints[PI_FIRST], ints[PI_LAST]
    work = ratio * (R1 * R1 + R2 * R2 + th * th * j_n)
    # ∫ pr |e| ≥ |∫ pr e|: a resting contact needs no more than this
    e1, e2 = press * R1 - th * py, press * R2 + th * px
    f1, f2, m_n = -ratio * R1, -ratio * R2, -ratio * j_n * th
    g1, g2, torque = 0.0, 0.0, 0.0
    sticks = rule == EXACT and work * work <= mu * mu * (e1 * e1 + e2 * e2)
    if not sticks:
        # a stretch against the motion, just after it turned back, first has to unwind
        with_it = R1 * u1 + R2 * u2 + th * w_n * j_n > 0.0
        slides = with_it and u1 * u1 + u2 * u2 + w_n * w_n * j_n > SLOW * SLOW
        if rule == EXACT:
            # fast slip is beyond any limit; the integral of the trial is spared
            if not (slides and work > mu * work_bound(soup, first, last, pressure, R1, R2, th)):
                g1, g2, torque = traction(soup, first, last, pressure, R1, R2, th, gyration)
                sticks = work <= mu * (R1 * g1 + R2 * g2 + th * torque)
        else:  # the papers' test: force and torque each below their limit about the centroid
            g1, g2, torque = vertex_traction(soup, first, last, pressure, R1, R2, th)
            sticks = f1 * f1 + f2 * f2 <= mu * mu * (g1 * g1 + g2 * g2) and abs(m_n) <= mu * abs(
                torque
            )
        if not sticks:
            if slides:
                spin = w_n if turns else 0.0
                if rule == EXACT:
                    g1, g2, torque = traction(soup, first, last, pressure, u1, u2, spin, gyration)
                else:
                    g1, g2, torque = vertex_traction(soup, first, last, pressure, u1, u2, spin)
            if not turns:
                torque = 0.0
            f1, f2, m_n = -law.mu * g1, -law.mu * g2, -law.mu * torque
            r1, r2, theta = _rewind(law, ratio, j_n, turns, u1, u2, w_n, f1, f2, m_n)
    ints[PI_MODE] = STICK if sticks else SLIP
    r = (
        r1 * t1[0] + r2 * t2[0],
        r1 * t1[1] + r2 * t2[1],
        r1 * t1[2] + r2 * t2[2],
    )
    keep_spring(s, i, j, c, r, floats)
    floats[PF_THETA] = theta

    floats[PF_PRESS] = press
    law_out = off(floats, PF_LAW)
    law_out[0], law_out[1], law_out[2], law_out[3], law_out[4] = (
        law.k,
        law.b,
        law.k_t,
        law.b_t,
        true * area,
    )
    for k in range(3):
        floats[PF_FORCE + k] = press * n[k] + f1 * t1[k] + f2 * t2[k]
        # p × n: t1 × n = −t2, t2 × n = t1
        floats[PF_TORQUE + k] = py * t1[k] - px * t2[k] + m_n * n[k]
    return True


@kernel
def _rewind(
    law: Law,
    ratio: float,
    j_n: float,
    turns: bool,
    u1: float,
    u2: float,
    w_n: float,
    f1: float,
    f2: float,
    m_n: float,
) -> tuple[float, float, float]:
    """Stretch and twist at which the spring carries the slip force: it holds on from there.

    r = −(f + b_t u_T)/k_t,  θ = −(m/J_n + b_t ω_n)/k_t;  the damper's share is capped at the force
    itself, or a sudden stop would leave the spring pointing backwards.
    """
    k_t = law.k_t * ratio
    if k_t == 0.0:
        return 0.0, 0.0, 0.0
    b_t = law.b_t * ratio
    drag = b_t * sqrt(u1 * u1 + u2 * u2)
    force = sqrt(f1 * f1 + f2 * f2)
    cap = b_t if drag <= force else b_t * force / drag
    r1, r2 = -(f1 + cap * u1) / k_t, -(f2 + cap * u2) / k_t
    theta = 0.0
    if turns:
        twist = abs(m_n) / j_n
        drag = b_t * abs(w_n)
        cap = b_t if drag <= twist else b_t * twist / drag
        theta = -(m_n / j_n + cap * w_n) / k_t
    return r1, r2, theta
