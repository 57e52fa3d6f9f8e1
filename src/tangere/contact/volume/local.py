"""Stiffness and damping of a contact patch, for a linear model of the contact.

An implicit step or a servo loop needs them beside the wrench. For a small displacement (δ, φ)
of b against a at the centre c of the patch, the wrench on b changes by −K (δ, φ), and for a small
change of the relative twist at c by −B (δ, φ). With p from c,

    normal     (k/S_A) ∫ g gᵀ dS,                 g = (n, p × n)
    tangential (k_t S_c/S_A) (t₁t₁ᵀ + t₂t₂ᵀ) on δ,  (k_t S_c/S_A) J_n n nᵀ on φ;  0 while slipping

The patch is held fixed: terms of second order in the depth (change of area and normal) are left
out, which keeps both matrices symmetric and positive semidefinite.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, off
from tangere.maths.vec import basis
from tangere.model import PF_AREA, PF_LAW, PF_MOMENTS, PF_NORMAL, PI_MODE, STICK


@kernel
def patch_stiffness(ints: PtrI4, floats: PtrF8, k_out: PtrF8, b_out: PtrF8) -> None:
    """Fill the 6 x 6 stiffness and damping of a pressing contact, about its centre."""
    n = (floats[PF_NORMAL], floats[PF_NORMAL + 1], floats[PF_NORMAL + 2])
    t1, t2 = basis(n)
    law = off(floats, PF_LAW)
    moments = off(floats, PF_MOMENTS)
    s_c, area = floats[PF_AREA], law[4]
    j_n = moments[0] + moments[2]
    sticks = 1.0 if ints[PI_MODE] == STICK else 0.0
    g = local_f8(18)  # unit motions seen by the normal springs: n, and turns about t1 and t2
    for k in range(18):
        g[k] = 0.0
    for k in range(3):
        g[k] = n[k]
        g[6 + 3 + k] = t1[k]
        g[12 + 3 + k] = t2[k]
    # (p × n) = y t1 − x t2: second moments of the patch couple the two tilts
    tilt1, tilt12, tilt2 = moments[2], -moments[1], moments[0]
    for i in range(6):
        for j in range(6):
            normal = s_c * g[i] * g[j]
            normal += tilt1 * g[6 + i] * g[6 + j] + tilt2 * g[12 + i] * g[12 + j]
            normal += tilt12 * (g[6 + i] * g[12 + j] + g[12 + i] * g[6 + j])
            shear = 0.0
            if i < 3 and j < 3:
                shear = s_c * (t1[i] * t1[j] + t2[i] * t2[j])
            elif i >= 3 and j >= 3:
                shear = j_n * n[i - 3] * n[j - 3]
            shear *= sticks
            k_out[6 * i + j] = (law[0] * normal + law[2] * shear) / area
            b_out[6 * i + j] = (law[1] * normal + law[3] * shear) / area
