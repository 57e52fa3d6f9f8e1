"""The problem of one contact, u = W r + b with the laws of friction, solved exactly.

Open if b_n ≥ 0. Else u_n = 0 gives r_n = −(b_n + w·r_t)/W_nn, w = W_tn, and the tangential rows are

    S r_t + c + κ r_t = 0,   S = W_tt − w wᵀ/W_nn,   c = b_t − w b_n/W_nn,

with κ = 0 where it sticks and κ = |u_t|/|r_t| where it slips. Along the principal directions of S

    r_t(κ) = −c_i/(s_i + κ),

and κ is the root of ψ(κ) = μ r_n/|r_t| − 1. As ψ(0) < 0 wherever sticking breaks the cone, and
r_n → −b_n/W_nn > 0 while r_t → 0 as κ grows, there is one. ψ is linear in κ where S is isotropic,
and nearly so elsewhere: Newton's method from the last κ needs one or two steps.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.friction.problem import (
    L_COS,
    L_INVERSE,
    L_MU,
    L_S1,
    L_S2,
    L_SIN,
    L_SLIP,
    L_V1,
    L_V2,
    OPEN,
    SLIP,
    STICK,
)
from tangere.maths.vec import Vec3

# ψ is a relative error of |r_t|: less than the second is rounding, and a Newton step that starts
# from less than the first leaves no more. Where friction wedges a contact what is left counts
# |r_n| W_nn/|b_n| times as much, which may be thousands.
SMALL, ROUNDING = 1e-8, 1e-14
FAR = 1e13  # κ over the larger eigenvalue of S from which on S is rounding
MAX_STEPS = 40  # of the search, bisections included


@kernel
def one_contact(local: PtrF8, b: Vec3) -> tuple[int, float, float, float]:
    """State and force of a contact whose u without its own force is b."""
    inverse, mu = local[L_INVERSE], local[L_MU]
    pushed = -b[0] * inverse  # r_n if it were frictionless
    if not pushed > 0.0:
        return OPEN, 0.0, 0.0, 0.0
    if mu == 0.0:
        return SLIP, pushed, 0.0, 0.0
    cos, sin, v1, v2 = local[L_COS], local[L_SIN], local[L_V1], local[L_V2]
    c1 = cos * b[1] + sin * b[2] - v1 * b[0]
    c2 = cos * b[2] - sin * b[1] - v2 * b[0]
    s1, s2 = local[L_S1], local[L_S2]
    t1, t2 = -c1 / s1, -c2 / s2
    rn = pushed - v1 * t1 - v2 * t2
    state = STICK
    if rn < 0.0 or t1 * t1 + t2 * t2 > mu * mu * rn * rn:
        state = SLIP
        far = FAR * s1 * mu * pushed
        if far * far < c1 * c1 + c2 * c2:  # hardly pressed: r_t = −c/κ
            size = sqrt(c1 * c1 + c2 * c2)
            along = 1.0 - mu * (v1 * c1 + v2 * c2) / size
            if along * size > far:
                rn = pushed / along
                fit = -mu * rn / size
                return SLIP, rn, fit * (cos * c1 - sin * c2), fit * (sin * c1 + cos * c2)
        low, high, k = 0.0, -1.0, local[L_SLIP]  # the root is above low and, if high > 0, below it
        last = False
        for _ in range(MAX_STEPS):
            a1, a2 = 1.0 / (s1 + k), 1.0 / (s2 + k)
            t1, t2 = -c1 * a1, -c2 * a2
            rn = pushed - v1 * t1 - v2 * t2
            if last:
                break
            size = sqrt(t1 * t1 + t2 * t2)
            psi = mu * rn / size - 1.0
            if abs(psi) < ROUNDING:
                break
            if psi < 0.0:
                low = k
            else:
                high = k
            # dr_t/dκ = −r_t/(s + κ)
            slope_n = v1 * t1 * a1 + v2 * t2 * a2
            slope_t = -(t1 * t1 * a1 + t2 * t2 * a2) / size
            slope = mu * (slope_n - rn * slope_t / size) / size
            k -= psi / slope
            last = abs(psi) < SMALL
            if not (k > low and (high < 0.0 or k < high)):
                last = False
                if high < 0.0:  # |r_t| ≤ |c|/κ, so that ψ ≥ 0 from here on
                    size = sqrt(c1 * c1 + c2 * c2)
                    high = size * (1.0 / mu + sqrt(v1 * v1 + v2 * v2)) / pushed
                k = 0.5 * (low + high)
        local[L_SLIP] = k
        rn = max(rn, 0.0)
        fit = mu * rn / sqrt(t1 * t1 + t2 * t2)  # on the cone to rounding
        t1 *= fit
        t2 *= fit
    return state, rn, cos * t1 - sin * t2, sin * t1 + cos * t2
