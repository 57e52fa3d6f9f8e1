"""Normal force of a contact, spread over its region.

    f = max(0, a (K (ε − d) − D ḋ)),    0 beyond ε,

at every point of the region, with shares a of sum 1, its own gap d and its rate. The printed rule,
per_point=False, takes the least gap of the region and puts the force at the centroid, which offers
no resistance to tilting. Forces act at the points of A, d above those of B.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off
from tangere.contact.formation.columns import (
    LAW_D,
    LAW_K,
    LAW_LAYER,
    LAW_PER_POINT,
    LAW_SMOOTH,
    OUT_GAP_RATE,
    OUT_NORMAL_FORCE,
    OUT_POINT,
    OUT_PRESS,
    OUT_SIZE,
    OUT_SPREAD,
    OUT_STORED,
    PC_COUNT,
    PC_GAP,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    put,
    vec,
)
from tangere.contact.formation.motion import MO_QUICK_TWIST
from tangere.contact.formation.regions import NPT, PT_GAP, PT_WEIGHT, spread
from tangere.maths.vec import Vec3, add, axpy, cross, dot, scale, sub

# Share of the layer over which a smooth damper sets in.
SOFT_START = 0.2


@kernel
def press(law: PtrF8, state: PtrF8, row: PtrF8, out: PtrF8, c: Vec3) -> None:
    """Normal force of a contact, into its row of results."""
    n, centre = vec(row, PC_NORMAL), vec(row, PC_POINT)
    v, w = vec(state, MO_QUICK_TWIST), vec(state, MO_QUICK_TWIST + 3)
    fan = local_f8(160)  # MOST_SPREAD * NPT
    count = spread(row, fan)
    rate = dot(n, add(v, cross(w, sub(centre, c))))
    slope = cross(n, w)  # of the rate along the region; what lies along n moves alike
    gap = mean2 = total = depth2 = 0.0
    lever = (0.0, 0.0, 0.0)
    for j in range(count):
        at = off(fan, NPT * j)
        share, d, arm = at[PT_WEIGHT], at[PT_GAP], sub(vec(at, 0), centre)
        force = share * _pressure(law, d, rate + dot(arm, slope))
        gap += share * d
        mean2 += share * dot(arm, arm)
        depth2 += share * max(0.0, law[LAW_LAYER] - d) ** 2
        total += force
        lever = axpy(force, arm, lever)
    if law[LAW_PER_POINT] == 0.0:
        total, lever = _pressure(law, row[PC_GAP], rate), (0.0, 0.0, 0.0)
        depth2 = max(0.0, law[LAW_LAYER] - row[PC_GAP]) ** 2
    size2 = 0.0
    for j in range(int(row[PC_COUNT]) if count > 1 else 0):
        arm = sub(vec(row, PC_POLYGON + 3 * j), centre)
        size2 = max(size2, dot(arm, arm))
    out[OUT_NORMAL_FORCE], out[OUT_GAP_RATE] = total, rate
    out[OUT_SIZE], out[OUT_SPREAD] = sqrt(size2), sqrt(mean2)
    out[OUT_STORED] = 0.5 * law[LAW_K] * depth2
    put(out, OUT_POINT, axpy(gap, n, centre))
    put(out, OUT_PRESS, scale(total, n))
    put(out, OUT_PRESS + 3, cross(axpy(total, sub(centre, c), lever), n))


@kernel
def _pressure(law: PtrF8, d: float, rate: float) -> float:
    """max(0, K (ε − d) − D ḋ) within the layer; a smooth damper sets in over its first fifth."""
    depth = law[LAW_LAYER] - d
    if not depth > 0.0:
        return 0.0
    damping = law[LAW_D]
    if law[LAW_SMOOTH] == 1.0:
        damping *= min(1.0, depth / (SOFT_START * law[LAW_LAYER]))
    return float(max(0.0, law[LAW_K] * depth - damping * rate))
