"""A contact at a single point, as deep as its pair: the point method, and an apex."""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.elements.columns import (
    HOLDS,
    POINT_DEPTH,
    POINT_KIND,
    SLIDES,
    TF_AREA,
    TF_C,
    TF_CN,
    TF_CT,
    TF_D,
    TF_F,
    TF_GYRATION,
    TF_JXX,
    TF_JXY,
    TF_JYY,
    TF_K,
    TF_LIMIT,
    TF_MU,
    TF_REACH,
    TF_RUB,
    TF_S,
    TF_TRUE,
    TF_WEIGHT,
    TI_KIND,
    TI_NEAR,
    TI_POLYGONS,
    Touch,
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
def place_point(c: Touch, point: Vec3, depth: float) -> None:
    """Make a contact one at a single point."""
    f = c.floats
    c.ints[TI_KIND], c.ints[TI_POLYGONS], c.ints[TI_NEAR] = POINT_KIND, 0, 0
    f[TF_C], f[TF_C + 1], f[TF_C + 2] = point
    f[TF_S], f[TF_TRUE], f[TF_REACH], f[TF_AREA] = 0.0, 0.0, 0.0, 1.0
    f[TF_JXX], f[TF_JXY], f[TF_JYY] = 0.0, 0.0, 0.0
    f[POINT_DEPTH], f[TF_WEIGHT], f[TF_GYRATION] = depth, 1.0, 0.0


@kernel
def point_value(c: Touch, twist: PtrF8, dt: float) -> None:
    """Fill the force of a single point; its friction limit is that of the whole contact."""
    f = c.floats
    q = trial(c, local_twist(c, twist), dt)
    out = off(f, TF_F)
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
def point_hessian(c: Touch, twist: PtrF8, dt: float, all_press: bool, length: float) -> None:
    """Fill the Hessian of a single point; see `elements.element.hessian`."""
    f, u = c.floats, local_twist(c, twist)
    q = trial(c, u, dt)
    rolling_hessian(c, twist, length)
    change, _ = follow_slip(c, q, u, length)
    cn, ct = off(f, TF_CN), off(f, TF_CT)
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
                off(f, TF_RUB), (rate * q.g1, rate * q.g2), d, q.limit, change[3]
            )
            ct[0], ct[1], ct[3] = q.c_t * b11, q.c_t * b12, q.c_t * b22


@kernel
def point_breaks(c: Touch, twist: PtrF8, dt: float) -> bool:
    """Whether friction of a single point that was taken to hold exceeds its limit."""
    limit = c.floats[TF_MU] * c.floats[TF_LIMIT]
    _, _, _, u1, u2, wn = local_twist(c, twist)
    _, g1, g2, _ = slip_field(c, dt, u1, u2, wn)
    return bool(g1 * g1 + g2 * g2 > limit * limit)


@kernel
def point_energy(c: Touch, d0: float) -> float:
    """Energy of the normal spring if it were deeper by d0 than at the guess [J]."""
    d = max(0.0, c.floats[POINT_DEPTH] + d0)
    return float(0.5 * c.floats[TF_K] * (d * d))


@kernel
def imprint_point(c: Touch, share: float) -> None:
    """Leave a share of the depth at the start of the step out."""
    f = c.floats
    f[POINT_DEPTH] -= share * max(0.0, f[POINT_DEPTH] + f[TF_D])
