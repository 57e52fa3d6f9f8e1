"""What the implicit step knows of one element: columns of `Elements`, and maps to body twists.

A header that every kind has, then a part of each kind's own; grouped by who writes them.

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
from tangere.solver import NEF, NEI, Elements

PATCH_KIND, POINT_KIND, SPRING_KIND = 0, 1, 2
# the patch sticks as a whole; each point sticks up to its limit; each point slides
HOLDS, BREAKS, SLIDES = 0, 1, 2

# Columns of Elements.ints
# Header: every kind has these.
EI_A, EI_B = 0, 1  # bodies
EI_SLOT = 2  # row of the pair, or the spring
EI_EDGE = 3  # edge of the graph; −1: between fixed bodies
EI_KIND = 4  # PATCH_KIND, POINT_KIND or SPRING_KIND
EI_NEW = 5  # 1: set up in this pass, or to be set up again in the next
EI_SQUARE = 6  # 1: turning tilts nothing; a square stands for a round patch, all of one depth
# Contact: geometry
EI_POLYGON, EI_POLYGONS = 7, 8  # first polygon and their number
EI_NEAR = 9  # polygons behind those of the patch, that do not touch but are within reach
EI_FAN = 10  # first fan point
EI_SPINS = 11  # body whose spin turns the axes of tilt within the step; −1: none
# Contact: friction, changed by the solver
EI_MODE = 12  # HOLDS, BREAKS or SLIDES
EI_LIMITED = 13  # 1: friction was limited point by point in the last iteration, and z is known

# Columns of Elements.floats
# Header, geometry: set-up writes it.
EF_N, EF_T1, EF_T2 = 0, 3, 6  # axes
EF_ARM_A, EF_ARM_B = 9, 12  # 3 each: from the bodies' centres to where the force acts [m]
# Axes about which turning tilts the patch, 3 each: t1 and t2; zero where it rolls instead
EF_TILT1, EF_TILT2 = 15, 18
EF_LEAD = 21  # 6: motion in the middle of the step beyond that of its start
# Header, result: `value` and `hessian` write it.
EF_F = 27  # 6: local force
EF_HESSIAN_N = 33  # 6: Hessian of the normal half: nn, n1, n2, 11, 12, 22
EF_HESSIAN_T = 39  # 6: Hessian of the tangential half: 11, 12, 1n, 22, 2n, nn
EF_ROLLS = 45  # torque that resists rolling, over the normal force; 0: none [m]
EF_TORQUE = 46  # 2: torque against rolling about t1, t2 [N m]
EF_HESSIAN_ROLL = 48  # 3: its Hessian 11, 12, 22

# Contact, geometry: detection and set-up write it; columns of every evaluation first.
EF_U = 51  # 6: local twist of the guess
EF_AREA = 57  # normalising area S_A [m²]
EF_S, EF_JXX, EF_JXY, EF_JYY = 58, 59, 60, 61  # area and its second moments
EF_H, EF_HX, EF_HY = 62, 63, 64  # depth of the guess and its first moments, integrals [m³], [m⁴]
EF_REACH = 65  # area over which the stiffness of `EI_NEAR` polygons is shared: with these [m²]
# Contact, law: set-up writes it.
EF_K, EF_B, EF_KT, EF_BT, EF_MU = 66, 67, 68, 69, 70
EF_MEETS = 71  # where bodies meet in this step, b/dt: their damper knows only the overlap, else 0
EF_E = 72  # restitution of a hard impact that begins in this step, else 0
EF_BOUNCE = 73  # 3: its rebound, a given normal force in local order
EF_LIMIT = 76  # lagged pressure over depth: friction is limited by μ times limit times depth
EF_PRESSED = 77  # 3: depth d0 + dx x + dy y by which friction is limited, beyond that of the guess
EF_WEIGHT = 80  # area over the normalising area; 1 of a single point
EF_GYRATION = 81  # squared radius of gyration about n [m²]
# Contact, memory: of the last step, then for the next one.
EF_R1, EF_R2, EF_TH = 82, 83, 84  # stretch and twist of the friction spring [m], [rad]
EF_LAG = 85  # lagged normal force [N]
EF_STORED = 86  # share of the energy stored at the start of the step [J]
EF_HELD = 87  # energy of the friction spring at the start of the step [J]
EF_YIELDED = 88  # share of the depth left out for want of energy
EF_WANTED = 89  # what a contact that is too deep would like to have in reserve [J]
# Contact, of the last Newton iteration: `hessian` writes it.
EF_SLIP_Z = 90  # 2: friction over its limit, z, of a single point; a patch has `Elements.slip_z`
EF_SLIP = 92  # 3: motion u_1, u_2, w_n for which it was found
EF_ROLL_Z, EF_SPIN = 95, 97  # 2 each: the same of the rolling
# Contact, geometry again: what an evaluation does not need.
EF_C = 99  # 3: centre of the patch [m]
EF_D = 102  # 3: depth lost from the start of the step to the guess: d0, dx, dy of d0 + dx x + dy y
EF_DEPTH = 105  # overlap along the normal; negative: gap [m]
EF_SIZE = 106  # length of the smaller part [m]
EF_TRUE, EF_RATIO = 107, 108  # true area [m²]; area of the polygons over what presses of it
EF_CURVED = 109  # 1: the patch goes with the centres of curvature, 0: with the bodies
EF_RHO_A, EF_RHO_B = 110, 111  # radius of curvature of a, of b, where it rolls; else 0 [m]
EF_SHARE = 112  # 4: share of a's motion in that of a curved patch, a matrix over (t1, t2)
EF_YAW, EF_RISE = 116, 117  # what a body's axis turned about n, and rose, since the start [rad]
EF_LIES = 118  # 1: that body lies on its side, and the patch turns with its axis

# Single point: as a contact, but in the place of the integrals of depth
POINT_DEPTH = EF_H  # depth of the guess [m]

# Spring, in the place of a contact's part
SF_ALONG, SF_ACROSS = 51, 52  # growth of the force with the speed along n and across [N s/m]
SF_START = (
    53  # 3: pull along n, t1, t2 if the bodies stood still: stretch, and drift of its end [N]
)
SF_HELD = 56  # pull of the stretch at the start of the step [N]

Local = tuple[float, float, float, float, float, float]


class Element(NamedTuple):
    """One element of the step."""

    ints: PtrI4
    floats: PtrF8


@kernel
def element(t: Elements, k: int) -> Element:
    """Element k."""
    return Element(off(t.ints, NEI * k), off(t.floats, NEF * k))


@kernel
def local_twist(c: Element, twist: PtrF8) -> Local:
    """Relative motion (u_n, w_1, w_2, u_1, u_2, w_n) at the centre for given body twists."""
    f = c.floats
    a, b = off(twist, 6 * c.ints[EI_A]), off(twist, 6 * c.ints[EI_B])
    p, q = off(f, EF_ARM_A), off(f, EF_ARM_B)
    u0 = b[0] + b[4] * q[2] - b[5] * q[1] - (a[0] + a[4] * p[2] - a[5] * p[1])
    u1 = b[1] + b[5] * q[0] - b[3] * q[2] - (a[1] + a[5] * p[0] - a[3] * p[2])
    u2 = b[2] + b[3] * q[1] - b[4] * q[0] - (a[2] + a[3] * p[1] - a[4] * p[0])
    w0, w1, w2 = b[3] - a[3], b[4] - a[4], b[5] - a[5]
    n, t1, t2, lead = off(f, EF_N), off(f, EF_T1), off(f, EF_T2), off(f, EF_LEAD)
    tilt1, tilt2 = off(f, EF_TILT1), off(f, EF_TILT2)
    return (
        n[0] * u0 + n[1] * u1 + n[2] * u2 + lead[0],
        tilt1[0] * w0 + tilt1[1] * w1 + tilt1[2] * w2 + lead[1],
        tilt2[0] * w0 + tilt2[1] * w1 + tilt2[2] * w2 + lead[2],
        t1[0] * u0 + t1[1] * u1 + t1[2] * u2 + lead[3],
        t2[0] * u0 + t2[1] * u1 + t2[2] * u2 + lead[4],
        n[0] * w0 + n[1] * w1 + n[2] * w2 + lead[5],
    )


@kernel
def rolling(c: Element, twist: PtrF8) -> tuple[float, float]:
    """Relative spin about t1 and t2, where it rolls instead of tilting the patch [rad/s]."""
    f = c.floats
    a, b = off(twist, 6 * c.ints[EI_A] + 3), off(twist, 6 * c.ints[EI_B] + 3)
    w0, w1, w2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    t1, t2, tilt1, tilt2 = off(f, EF_T1), off(f, EF_T2), off(f, EF_TILT1), off(f, EF_TILT2)
    one, two = t1[0] * w0 + t1[1] * w1 + t1[2] * w2, t2[0] * w0 + t2[1] * w1 + t2[2] * w2
    if tilt1[0] != 0.0 or tilt1[1] != 0.0 or tilt1[2] != 0.0:
        one = 0.0
    if tilt2[0] != 0.0 or tilt2[1] != 0.0 or tilt2[2] != 0.0:
        two = 0.0
    return one, two


@kernel
def lead_power(c: Element) -> float:
    """What the bodies are given beyond the work that the contact knows of, by its lead [W]."""
    power = 0.0
    for q in range(6):
        power -= c.floats[EF_F + q] * c.floats[EF_LEAD + q]
    return power


@kernel
def add_local(c: Element, scale: float, out: PtrF8) -> None:
    """Add scale times the element's local force, as wrenches at the bodies' centres."""
    for side in (EI_A, EI_B):
        add_side(c, side, scale, off(out, 6 * c.ints[side]))


@kernel
def add_side(c: Element, side: int, scale: float, row: PtrF8) -> None:
    """Add scale times the element's local force on one of its bodies, as a wrench at its centre."""
    f = c.floats
    g, n, t1, t2 = off(f, EF_F), off(f, EF_N), off(f, EF_T1), off(f, EF_T2)
    tilt1, tilt2 = off(f, EF_TILT1), off(f, EF_TILT2)
    x0 = g[0] * n[0] + g[3] * t1[0] + g[4] * t2[0]
    x1 = g[0] * n[1] + g[3] * t1[1] + g[4] * t2[1]
    x2 = g[0] * n[2] + g[3] * t1[2] + g[4] * t2[2]
    m0 = g[5] * n[0] + g[1] * tilt1[0] + g[2] * tilt2[0]
    m1 = g[5] * n[1] + g[1] * tilt1[1] + g[2] * tilt2[1]
    m2 = g[5] * n[2] + g[1] * tilt1[2] + g[2] * tilt2[2]
    if f[EF_ROLLS] > 0.0:
        r1, r2 = f[EF_TORQUE], f[EF_TORQUE + 1]
        m0, m1, m2 = (
            m0 + r1 * t1[0] + r2 * t2[0],
            m1 + r1 * t1[1] + r2 * t2[1],
            m2 + r1 * t1[2] + r2 * t2[2],
        )
    sign = scale if side == EI_B else -scale
    p = off(f, EF_ARM_B if side == EI_B else EF_ARM_A)
    row[0] += sign * x0
    row[1] += sign * x1
    row[2] += sign * x2
    row[3] += sign * (m0 + p[1] * x2 - p[2] * x1)
    row[4] += sign * (m1 + p[2] * x0 - p[0] * x2)
    row[5] += sign * (m2 + p[0] * x1 - p[1] * x0)
