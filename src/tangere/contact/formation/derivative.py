"""How the wrench of a formation changes with a small motion of the held body.

For a servo that runs faster than the contacts are found: W ≈ W_k − S (Δx, φ) − B (Δv, Δω). With
J = (nᵀ, (r × n)ᵀ) of a point at r from the centre of mass,

    S = Σ a K JᵀJ over the points of the normal force, of shares a, as long as they press,
    B = Σ a D JᵀJ,

and of a contact that sticks K_p JᵀJ along two tangents and K_p ρ² (0, n)(0, n)ᵀ. Kinetic friction
stays as it is, and contact points stay on the held body: both change to second order.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off, ptr
from tangere.contact.formation.columns import (
    LAW_D,
    LAW_K,
    LAW_KP,
    LAW_LAYER,
    LAW_PER_POINT,
    NOUT,
    NPC,
    OUT_NORMAL_FORCE,
    OUT_POINT,
    OUT_SPREAD,
    OUT_STATE,
    PC_NORMAL,
    SLIP,
)
from tangere.contact.formation.regions import NPT, PT_GAP, PT_WEIGHT, spread
from tangere.maths.vec import Array, Vec3, basis, cross, sub


@kernel
def derivatives(
    law: Array, rows: Array, out: Array, count: int, pose: Array, stiffness_out: Array,
    damping_out: Array,
) -> None:  # fmt: skip
    """S and B of the contacts of one pose, each 36 numbers, row by row."""
    s, b = ptr(stiffness_out), ptr(damping_out)
    centre = (pose[0], pose[1], pose[2])
    for k in range(36):
        s[k] = b[k] = 0.0
    for i in range(count):
        _add_contact(ptr(law), off(ptr(rows), NPC * i), off(ptr(out), NOUT * i), centre, s, b)


@kernel
def _add_contact(
    law: PtrF8, row: PtrF8, out: PtrF8, centre: Vec3, s: PtrF8, b: PtrF8
) -> None:  # fmt: skip
    """Springs and damper of one contact."""
    if not out[OUT_NORMAL_FORCE] > 0.0:
        return
    n = (row[PC_NORMAL], row[PC_NORMAL + 1], row[PC_NORMAL + 2])
    points = local_f8(160)  # MOST_SPREAD × NPT
    spread_over = spread(row, points) if law[LAW_PER_POINT] == 1.0 else 0
    here = (out[OUT_POINT], out[OUT_POINT + 1], out[OUT_POINT + 2])
    if spread_over <= 1:
        _add(n, cross(sub(here, centre), n), law[LAW_K], s)
        _add(n, cross(sub(here, centre), n), law[LAW_D], b)
    for k in range(spread_over if spread_over > 1 else 0):
        p = off(points, NPT * k)
        if p[PT_GAP] < law[LAW_LAYER]:
            moment = cross(sub((p[0], p[1], p[2]), centre), n)
            _add(n, moment, p[PT_WEIGHT] * law[LAW_K], s)
            _add(n, moment, p[PT_WEIGHT] * law[LAW_D], b)
    if out[OUT_STATE] != SLIP:
        for t in basis(n):
            _add(t, cross(sub(here, centre), t), law[LAW_KP], s)
        _add((0.0, 0.0, 0.0), n, law[LAW_KP] * out[OUT_SPREAD] ** 2, s)


@kernel
def _add(f: Vec3, m: Vec3, k: float, h: PtrF8) -> None:
    """H += k JᵀJ with J = (f, m)."""
    j = (f[0], f[1], f[2], m[0], m[1], m[2])
    for r in range(6):
        for c in range(6):
            h[6 * r + c] += k * j[r] * j[c]
