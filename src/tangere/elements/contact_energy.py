"""What the normal springs of a contact hold, and sums of depth over its patch."""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.elements.columns import (
    POINT_KIND,
    TF_AREA,
    TF_D,
    TF_E,
    TF_F,
    TF_H,
    TF_HX,
    TF_HY,
    TF_K,
    TF_LAG,
    TF_LIMIT,
    TF_PRESSED,
    TF_REACH,
    TF_SIZE,
    TF_STORED,
    TF_U,
    TI_FAN,
    TI_KIND,
    TI_NEAR,
    TI_POLYGON,
    TI_POLYGONS,
    Touch,
    fan_area,
    local_twist,
)
from tangere.maths.quadrature import POINTS, triangle_point
from tangere.solver import Touches

# Energy that a contact may give at once beyond what its springs hold: its normal force times this
# share of the part's size, of a reserve or as a debt; and what is rounding of it.
SMALL_RESERVE, ROUNDING = 2e-7, 1e-9


@kernel
def _sum(t: Touches, c: Touch, d0: float, dx: float, dy: float, power: int) -> float:
    """Σ ω max(0, d + d0 + dx x + dy y)^power over the patch; power 1 or 2."""
    f = c.floats
    if c.ints[TI_KIND] == POINT_KIND:
        d = max(0.0, f[TF_H] + d0)
        return float(d if power == 1 else d * d)
    total = 0.0
    at = off(t.fan, 3 * c.ints[TI_FAN])
    for poly in range(c.ints[TI_POLYGONS] + c.ints[TI_NEAR]):
        corners = t.corners[c.ints[TI_POLYGON] + poly]
        od = at[2] + d0 + dx * at[0] + dy * at[1]
        last = off(at, 3 * corners)
        shared = f[TF_AREA] if poly < c.ints[TI_POLYGONS] else f[TF_REACH]
        ld = last[2] + d0 + dx * last[0] + dy * last[1]
        for i in range(1, corners + 1):
            here = off(at, 3 * i)
            hd = here[2] + d0 + dx * here[0] + dy * here[1]
            area = fan_area(at, last, here) / shared
            if od >= 0.0 and ld >= 0.0 and hd >= 0.0:
                if power == 1:
                    total += area * (od + ld + hd) / 3.0
                else:
                    total += area * (od * (od + ld + hd) + ld * (ld + hd) + hd * hd) / 6.0
            elif od > 0.0 or ld > 0.0 or hd > 0.0:
                for j in range(POINTS):
                    w, l0, l1, l2 = triangle_point(j)
                    d = max(0.0, l0 * od + l1 * ld + l2 * hd)
                    total += w * area * (d if power == 1 else d * d)
            last, ld = here, hd
        at = off(at, 3 * (corners + 1))
    return total


@kernel
def spring_energy(t: Touches, c: Touch, dt: float, twist: PtrF8) -> float:
    """Energy of the normal springs after moving with the given twists [J]."""
    f = c.floats
    star = off(f, TF_U)
    un, w1, w2, _, _, _ = local_twist(c, twist)
    d0 = -dt * (un - star[0])
    dx, dy = dt * (w2 - star[2]), -dt * (w1 - star[1])
    return float(0.5 * f[TF_K] * _sum(t, c, d0, dx, dy, 2))


@kernel
def start_energy(t: Touches, c: Touch) -> float:
    """Energy of the normal springs at the start of the step [J]."""
    way = off(c.floats, TF_D)
    return float(0.5 * c.floats[TF_K] * _sum(t, c, way[0], way[1], way[2], 2))


@kernel
def imprint(t: Touches, c: Touch, share: float) -> None:
    """Leave a share of the depth at the start of the step out of every point.

    Depth is then that share less than it is, point by point: the surfaces have yielded so far.
    """
    f = c.floats
    way = off(f, TF_D)
    if c.ints[TI_KIND] == POINT_KIND:
        f[TF_H] -= share * max(0.0, f[TF_H] + way[0])
        return
    at = off(t.fan, 3 * c.ints[TI_FAN])
    h0, hx, hy = 0.0, 0.0, 0.0
    for poly in range(c.ints[TI_POLYGONS] + c.ints[TI_NEAR]):
        corners = t.corners[c.ints[TI_POLYGON] + poly]
        for i in range(corners + 1):
            p = off(at, 3 * i)
            p[2] -= share * max(0.0, p[2] + way[0] + way[1] * p[0] + way[2] * p[1])
        o, a = at, off(at, 3 * corners)
        for i in range(1, corners + 1 if poly < c.ints[TI_POLYGONS] else 0):
            b = off(at, 3 * i)
            area = fan_area(o, a, b)
            mx, my, md = o[0] + a[0] + b[0], o[1] + a[1] + b[1], o[2] + a[2] + b[2]
            h0 += area * md / 3.0
            hx += area * (mx * md + o[0] * o[2] + a[0] * a[2] + b[0] * b[2]) / 12.0
            hy += area * (my * md + o[1] * o[2] + a[1] * a[2] + b[1] * b[2]) / 12.0
            a = b
        at = off(at, 3 * (corners + 1))
    f[TF_H], f[TF_HX], f[TF_HY] = h0, hx, hy


@kernel
def set_limit(t: Touches, c: Touch) -> None:
    """Limit friction by the lagged normal force, spread in proportion to the depth."""
    f = c.floats
    press = f[TF_LAG]
    if c.ints[TI_KIND] == POINT_KIND:
        f[TF_LIMIT] = press
        return
    pressed = off(f, TF_PRESSED)
    depth = _sum(t, c, pressed[0], pressed[1], pressed[2], 1)
    f[TF_LIMIT] = press / depth if depth > 0.0 else 0.0


@kernel
def contact_overdrawn(t: Touches, c: Touch, twist: PtrF8, dt: float) -> bool:
    """Whether a contact gives more energy than it had; it then yields once more.

    The step takes depth to be linear in the motion. Where a body turns far within it, as a top
    does, the depth from which the linear springs unload is not that at which energy was stored.
    With no more stored in the linear springs than there is, convexity forbids the excess.
    """
    f = c.floats
    if not f[TF_F] > 0.0 or f[TF_E] > 0.0:
        return False
    un, w1, w2, _, _, _ = local_twist(c, twist)
    given = dt * (f[TF_F] * un + f[TF_F + 1] * w1 + f[TF_F + 2] * w2)
    reserve = f[TF_SIZE] * f[TF_F]
    if f[TF_STORED] - given >= -SMALL_RESERVE * reserve:
        return False
    return _yields(t, c, dt, ROUNDING * (max(0.0, f[TF_STORED]) + reserve))


@kernel
def forestall(t: Touches, c: Touch, dt: float) -> None:
    """Let a contact yield if it could give too much energy, whether or not it would.

    The force is taken to be that of the last pass.
    """
    f = c.floats
    if not f[TF_E] > 0.0:
        _yields(t, c, dt, SMALL_RESERVE * f[TF_SIZE] * f[TF_LAG])


@kernel
def _yields(t: Touches, c: Touch, dt: float, excess: float) -> bool:
    """Whether the linear springs hold more than was stored, by some excess; they no longer do."""
    f = c.floats
    star, way = off(f, TF_U), off(f, TF_D)
    way[0], way[1], way[2] = dt * star[0], -dt * star[2], dt * star[1]
    held, stored = start_energy(t, c), max(0.0, f[TF_STORED])
    if held - stored <= excess:  # or it has yielded before
        return False
    imprint(t, c, 1.0 - sqrt(stored / held))
    return True
