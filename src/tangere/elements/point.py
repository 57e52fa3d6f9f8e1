"""A contact at a single point, as deep as its pair: the point method, and an apex."""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.elements.columns import (
    EF_AREA,
    EF_C,
    EF_D,
    EF_F,
    EF_GYRATION,
    EF_HESSIAN_N,
    EF_HESSIAN_T,
    EF_JXX,
    EF_JXY,
    EF_JYY,
    EF_K,
    EF_LIMIT,
    EF_MU,
    EF_REACH,
    EF_S,
    EF_SLIP_Z,
    EF_TRUE,
    EF_WEIGHT,
    EI_KIND,
    EI_NEAR,
    EI_POLYGONS,
    HOLDS,
    POINT_DEPTH,
    POINT_KIND,
    SLIDES,
    Element,
    local_twist,
)
from tangere.elements.contact import (
    add_given,
    follow_slip,
    rolling_hessian,
    slip_field,
    slip_hessian,
    trial,
)
from tangere.maths.vec import Vec3


@kernel
def place_point(c: Element, point: Vec3, depth: float) -> None:
    """Make a contact one at a single point."""
    f = c.floats
    c.ints[EI_KIND], c.ints[EI_POLYGONS], c.ints[EI_NEAR] = POINT_KIND, 0, 0
    f[EF_C], f[EF_C + 1], f[EF_C + 2] = point
    f[EF_S], f[EF_TRUE], f[EF_REACH], f[EF_AREA] = 0.0, 0.0, 0.0, 1.0
    f[EF_JXX], f[EF_JXY], f[EF_JYY] = 0.0, 0.0, 0.0
    f[POINT_DEPTH], f[EF_WEIGHT], f[EF_GYRATION] = depth, 1.0, 0.0


@kernel
def point_value(c: Element, twist: PtrF8, dt: float) -> None:
    """Fill the force of a single point; its friction limit is that of the whole contact."""
    f = c.floats
    q = trial(c, local_twist(c, twist), dt)
    out = off(f, EF_F)
    for i in range(6):
        out[i] = 0.0
    out[0] = max(q.k * f[POINT_DEPTH] + q.p0, 0.0)
    if q.limit > 0.0:
        rate = q.c_t if q.mode == SLIDES else 1.0
        g1, g2 = rate * q.g1, rate * q.g2
        size = sqrt(g1 * g1 + g2 * g2)
        s = q.limit / size if q.mode != HOLDS and size > q.limit else 1.0
        out[3], out[4] = -s * g1, -s * g2
    add_given(c, twist)


@kernel
def point_hessian(c: Element, twist: PtrF8, dt: float, all_press: bool, length: float) -> None:
    """Fill the Hessian of a single point; see `elements.element.hessian`."""
    f, u = c.floats, local_twist(c, twist)
    q = trial(c, u, dt)
    rolling_hessian(c, twist, length)
    change, _ = follow_slip(c, q, u, length)
    cn, ct = off(f, EF_HESSIAN_N), off(f, EF_HESSIAN_T)
    for i in range(6):
        cn[i], ct[i] = 0.0, 0.0
    if q.k * f[POINT_DEPTH] + q.p0 > 0.0 or all_press:
        cn[0] = q.stiff
    if q.limit > 0.0:
        if q.mode == HOLDS:
            ct[0], ct[3] = q.c_t, q.c_t
        else:
            rate = q.c_t if q.mode == SLIDES else 1.0
            d = (rate * change[0], rate * change[1])
            b11, b12, b22 = slip_hessian(
                off(f, EF_SLIP_Z), (rate * q.g1, rate * q.g2), d, q.limit, change[3]
            )
            ct[0], ct[1], ct[3] = q.c_t * b11, q.c_t * b12, q.c_t * b22


@kernel
def point_breaks(c: Element, twist: PtrF8, dt: float) -> bool:
    """Whether friction of a single point that was taken to hold exceeds its limit."""
    limit = c.floats[EF_MU] * c.floats[EF_LIMIT]
    _, _, _, u1, u2, wn = local_twist(c, twist)
    _, g1, g2, _ = slip_field(c, dt, u1, u2, wn)
    return bool(g1 * g1 + g2 * g2 > limit * limit)


@kernel
def point_energy(c: Element, d0: float) -> float:
    """Energy of the normal spring if it were deeper by d0 than at the guess [J]."""
    d = max(0.0, c.floats[POINT_DEPTH] + d0)
    return float(0.5 * c.floats[EF_K] * (d * d))


@kernel
def imprint_point(c: Element, share: float) -> None:
    """Leave a share of the depth at the start of the step out."""
    f = c.floats
    f[POINT_DEPTH] -= share * max(0.0, f[POINT_DEPTH] + f[EF_D])
