"""What the implicit step knows of one contact: columns of `Touches`, and maps to body twists.

Local coordinates at the centre c of the patch, axes (n, t1, t2): the relative motion of b against
a is (u_n, w_1, w_2 | u_1, u_2, w_n). A point (x, y) of the patch then moves by

    u_n + w_1 y − w_2 x  along n,    (u_1 − w_n y, u_2 + w_n x)  in the plane,

and forces in the same order are work-conjugate. Normal and tangential halves do not couple.
Where a body is curved, turning rolls it and leaves every depth as it is: w_1 or w_2, or both, are
then taken to be 0, by an axis of tilt that is none. The patch of a rolling body may turn within the
step; forces then act where it was at the start, and motion is that in the middle of the step, off
by a lead which is given.
"""

from __future__ import annotations

from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.solver import NTF, NTI, Touches

# Columns of Touches.ints
TI_A, TI_B = 0, 1  # bodies
TI_SLOT = 2  # row of the pair, or the spring
TI_EDGE = 3  # edge of the graph; −1: between fixed bodies
TI_KIND = 4  # PATCH, POINT or SPRING
TI_MODE = 5  # friction: HOLDS, BREAKS or SLIDES
TI_POLYGON, TI_POLYGONS = 6, 7  # first polygon and their number
TI_FAN = 8  # first fan point
TI_EARLY = 9  # 1: broken before the solution was known, 2: it was wrong to do so
TI_NEW = 10  # 1: looked at in this pass, or to be looked at in the next
TI_RUBS = 11  # 1: the last round left its friction over the limit
TI_SPINS = 12  # body whose spin turns the axes of tilt within the step; −1: none
TI_NEAR = 13  # polygons behind those of the patch, that do not touch but are within reach
TI_SQUARE = 14  # 1: the patch is a square that stands for a round one, all of one depth

PATCH_KIND, POINT_KIND, SPRING_KIND = 0, 1, 2
# the patch sticks as a whole; each point sticks up to its limit; each point slides
HOLDS, BREAKS, SLIDES = 0, 1, 2

# Columns of Touches.floats; first those that every evaluation reads
TF_N, TF_T1, TF_T2 = 0, 3, 6  # axes
TF_ARM_A, TF_ARM_B = 9, 12  # 3 each: from the bodies' centres to where the force acts [m]
# Axes about which turning tilts the patch, 3 each: t1 and t2; zero where it rolls instead
TF_TILT1, TF_TILT2 = 15, 18
TF_LEAD = 21  # 6: motion in the middle of the step beyond that of its start
TF_U = 27  # 6: local twist of the guess
TF_K, TF_B, TF_KT, TF_BT, TF_MU = 33, 34, 35, 36, 37  # law
TF_AREA = 38  # normalising area S_A [m²]
TF_S, TF_JXX, TF_JXY, TF_JYY = 39, 40, 41, 42  # area and its second moments
TF_H, TF_HX, TF_HY = 43, 44, 45  # depth of the guess and its first moments
TF_R1, TF_R2, TF_TH = 46, 47, 48  # friction spring at the start of the step
TF_LIMIT = 49  # lagged pressure over depth: friction is limited by μ times limit times depth
TF_F = 50  # 6: local force of the last evaluation
TF_CN = 56  # 6: its normal curvature nn, n1, n2, 11, 12, 22
TF_CT = 62  # 6: tangential curvature 11, 12, 1n, 22, 2n, nn
TF_LAG = 68  # lagged normal force [N]
TF_YIELDED = 69  # share of the depth left out for want of energy
TF_SIZE = 70  # length of the smaller part [m]
TF_DEPTH = 71  # overlap along the normal; negative: gap [m]
TF_STORED = 72  # share of the energy stored at the start of the step [J]
TF_HELD = 73  # energy of the friction spring at the start of the step [J]
TF_D = 74  # 3: depth lost from the start of the step to the guess: d0, dx, dy of d0 + dx x + dy y
TF_E = 77  # restitution of a hard impact that begins in this step, else 0
TF_BOUNCE = 78  # 3: its rebound, a given normal force in local order
TF_MEETS = 81  # where bodies meet in this step, b/dt: their damper knows only the overlap, else 0
TF_PRESSED = 82  # 3: depth d0 + dx x + dy y by which friction is limited, beyond that of the guess
TF_REACH = 85  # area over which the stiffness of `TI_NEAR` polygons is shared: with these [m²]
TF_ROLLS = 86  # torque that resists rolling, over the normal force; 0: none [m]
TF_TRUE, TF_RATIO = 87, 88  # true area [m²]; area of the polygons over what presses of it
TF_WANTED = 89  # what a contact that is too deep would like to have in reserve [J]
TF_C = 90  # 3: centre of the patch [m]
TF_CURVED = 93  # 1: the patch goes with the centres of curvature, 0: with the bodies
TF_RHO_A, TF_RHO_B = 94, 95  # radius of curvature of a, of b, where it rolls; else 0 [m]
TF_RUB = 96  # 2: friction over its limit, of a single point; a patch has `Touches.rub`
TF_SLIP = 98  # 3: motion u_1, u_2, w_n for which these were found
TF_SHARE = 101  # 4: share of a's motion in that of a curved patch, a matrix over (t1, t2)
TF_TORQUE = 105  # 2: torque against rolling about t1, t2, of the last evaluation [N m]
TF_CR = 107  # 3: its curvature 11, 12, 22
TF_ROLL, TF_SPIN = 110, 112  # 2 each: as TF_RUB and TF_SLIP, of the rolling
TF_YAW, TF_RISE = 114, 115  # what a body's axis turned about n, and rose, since the start [rad]
TF_LIES = 116  # 1: that body lies on its side, and the patch turns with its axis
TF_WEIGHT = 117  # area over the normalising area; 1 of a single point
TF_GYRATION = 118  # squared radius of gyration about n [m²]
POINT_DEPTH = TF_H  # of a single point, in the place of the patch's [m]

# Of a spring, in the place of a contact's
SF_ALONG, SF_ACROSS = 33, 34  # growth of the force with the speed along n and across [N s/m]
SF_START = (
    35  # 3: pull along n, t1, t2 if the bodies stood still: stretch, and drift of its end [N]
)
SF_HELD = 38  # pull of the stretch at the start of the step [N]

Local = tuple[float, float, float, float, float, float]


class Touch(NamedTuple):
    """One contact of the step."""

    ints: PtrI4
    floats: PtrF8


@kernel
def touch(t: Touches, k: int) -> Touch:
    """Contact k."""
    return Touch(off(t.ints, NTI * k), off(t.floats, NTF * k))


@kernel
def local_twist(c: Touch, twist: PtrF8) -> Local:
    """Relative motion (u_n, w_1, w_2, u_1, u_2, w_n) at the centre for given body twists."""
    f = c.floats
    a, b = off(twist, 6 * c.ints[TI_A]), off(twist, 6 * c.ints[TI_B])
    p, q = off(f, TF_ARM_A), off(f, TF_ARM_B)
    u0 = b[0] + b[4] * q[2] - b[5] * q[1] - (a[0] + a[4] * p[2] - a[5] * p[1])
    u1 = b[1] + b[5] * q[0] - b[3] * q[2] - (a[1] + a[5] * p[0] - a[3] * p[2])
    u2 = b[2] + b[3] * q[1] - b[4] * q[0] - (a[2] + a[3] * p[1] - a[4] * p[0])
    w0, w1, w2 = b[3] - a[3], b[4] - a[4], b[5] - a[5]
    return (
        f[0] * u0 + f[1] * u1 + f[2] * u2 + f[21],
        f[15] * w0 + f[16] * w1 + f[17] * w2 + f[22],
        f[18] * w0 + f[19] * w1 + f[20] * w2 + f[23],
        f[3] * u0 + f[4] * u1 + f[5] * u2 + f[24],
        f[6] * u0 + f[7] * u1 + f[8] * u2 + f[25],
        f[0] * w0 + f[1] * w1 + f[2] * w2 + f[26],
    )


@kernel
def rolling(c: Touch, twist: PtrF8) -> tuple[float, float]:
    """Relative spin about t1 and t2, where it rolls instead of tilting the patch [rad/s]."""
    f = c.floats
    a, b = off(twist, 6 * c.ints[TI_A] + 3), off(twist, 6 * c.ints[TI_B] + 3)
    w0, w1, w2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    one, two = f[3] * w0 + f[4] * w1 + f[5] * w2, f[6] * w0 + f[7] * w1 + f[8] * w2
    if f[15] != 0.0 or f[16] != 0.0 or f[17] != 0.0:
        one = 0.0
    if f[18] != 0.0 or f[19] != 0.0 or f[20] != 0.0:
        two = 0.0
    return one, two


@kernel
def lead_power(c: Touch) -> float:
    """What the bodies are given beyond the work that the contact knows of, by its lead [W]."""
    power = 0.0
    for q in range(6):
        power -= c.floats[TF_F + q] * c.floats[TF_LEAD + q]
    return power


@kernel
def add_local(c: Touch, scale: float, out: PtrF8) -> None:
    """Add scale times the contact's local force, as wrenches at the bodies' centres."""
    for side in (TI_A, TI_B):
        add_side(c, side, scale, off(out, 6 * c.ints[side]))


@kernel
def add_side(c: Touch, side: int, scale: float, row: PtrF8) -> None:
    """Add scale times the contact's local force on one of its bodies, as a wrench at its centre."""
    f = c.floats
    g = off(f, TF_F)
    x0 = g[0] * f[0] + g[3] * f[3] + g[4] * f[6]
    x1 = g[0] * f[1] + g[3] * f[4] + g[4] * f[7]
    x2 = g[0] * f[2] + g[3] * f[5] + g[4] * f[8]
    m0 = g[5] * f[0] + g[1] * f[15] + g[2] * f[18]
    m1 = g[5] * f[1] + g[1] * f[16] + g[2] * f[19]
    m2 = g[5] * f[2] + g[1] * f[17] + g[2] * f[20]
    if f[TF_ROLLS] > 0.0:
        r1, r2 = f[TF_TORQUE], f[TF_TORQUE + 1]
        m0, m1, m2 = (
            m0 + r1 * f[3] + r2 * f[6],
            m1 + r1 * f[4] + r2 * f[7],
            m2 + r1 * f[5] + r2 * f[8],
        )
    sign = scale if side == TI_B else -scale
    p = off(f, TF_ARM_B if side == TI_B else TF_ARM_A)
    row[0] += sign * x0
    row[1] += sign * x1
    row[2] += sign * x2
    row[3] += sign * (m0 + p[1] * x2 - p[2] * x1)
    row[4] += sign * (m1 + p[2] * x0 - p[0] * x2)
    row[5] += sign * (m2 + p[0] * x1 - p[1] * x0)
