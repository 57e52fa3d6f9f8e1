"""Contacts of one implicit step: patches where the bodies will be, known before they touch.

First it is found out which parts meet (`meet`), then the contacts are listed, in the order of the
pairs, then each is given its patch (`patches`) and its law. The first and the last are tasks in
parts that threads share.

Energy. Patches change their area, normal and shape from step to step, so the springs of a patch
could hold more at the start of a step than was ever put into them. What two bodies' springs held at
the end of the last step is remembered; if the new patch would hold more, the surfaces count as
having yielded: of the depth d₀ at the start of the step a share y is left out at every point,

    d ← d − y max(0, d₀),      (1 − y)² Σ ½ ω k max(0, d₀)² = stored.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, load, off, store
from tangere.collision.broad import BITS
from tangere.contact.friction import FORGET, KAPPA, pair_law, spring_ends
from tangere.contact.implicit.meet import meet
from tangere.contact.implicit.patches import lay_out
from tangere.contact.implicit.record import (
    HOLDS,
    PATCH_KIND,
    SLIDES,
    TF_AREA,
    TF_ARM_A,
    TF_ARM_B,
    TF_B,
    TF_BOUNCE,
    TF_BT,
    TF_C,
    TF_D,
    TF_DEPTH,
    TF_E,
    TF_HELD,
    TF_JXX,
    TF_JYY,
    TF_K,
    TF_KT,
    TF_LAG,
    TF_MEETS,
    TF_MU,
    TF_N,
    TF_R1,
    TF_R2,
    TF_S,
    TF_SIZE,
    TF_STORED,
    TF_T1,
    TF_T2,
    TF_TH,
    TF_U,
    TF_YIELDED,
    TI_A,
    TI_B,
    TI_EARLY,
    TI_KIND,
    TI_MODE,
    TI_NEW,
    TI_RUBS,
    TI_SLOT,
    Touch,
    local_twist,
    touch,
)
from tangere.contact.implicit.scope import Scope
from tangere.contact.implicit.stored import imprint, set_limit, start_energy
from tangere.contact.volume.law import FIXED, NONE, SMALL_GYRATION
from tangere.dynamics.team import FAULT, LEAST, OPEN, first_part, next_part, part_count, part_range
from tangere.maths.quat import turn, turn_back
from tangere.maths.vec import basis, dot, sub
from tangere.model import (
    FOUND,
    NF,
    NI,
    OK,
    PF_HELD,
    PF_LAG,
    PF_SPARE,
    PF_STORED,
    PF_THETA,
    PI_BODY_A,
    PI_BODY_B,
    PI_MISSED,
    PI_MODE,
    SLIP,
    SOLVER_FULL,
)

# Tasks, beside those of dynamics.gradients, `parts` and `share`; with the stamp of the look.
MEET = 40  # for pairs of the list
LAY_OUT, LAY_OUT_FRESH = 41, 42  # for contacts; in the first step
# Relative rounding of stored energies.
SAME_ENERGY = 1e-9
# Impacts faster than so many margins per step bounce.
BOUNCES = 2.0
# Overlaps at the very start up to this share of the size are springs under load; deeper ones are a
# fit that holds no energy.
FIT = 0.02
# Point method: contacts with κ = k dt²/m below this never yield.
SOFT = 1.1 * KAPPA


@kernel
def gather(e: Scope, fresh: bool) -> int:
    """List all contacts of the step; returns OK or what is full.

    fresh: the first step, whose overlaps count as springs under load.
    """
    t, q = e.w.solver.touches, e.w.solver.queue
    t.used[0], t.used[1], t.used[2] = 0, 0, 0
    store(q, FAULT, OK)
    store(q, OPEN, 1)
    _all_parts(e, MEET)
    status = _list(e, 0, e.w.pairs.used[0])
    if status == OK:
        _all_parts(e, LAY_OUT_FRESH if fresh else LAY_OUT)
        status = load(q, FAULT)
    store(q, OPEN, 0)
    return status


@kernel
def _all_parts(e: Scope, task: int) -> None:
    """Do a task for all pairs or contacts."""
    v = e.w.solver
    parts = part_count(_items(e, task), LEAST)
    part = first_part(v.queue, v.given, task, 0, float(e.stamp), parts)
    while part >= 0:
        gather_part(e, task, part)
        part = next_part(v.queue, part, parts)


@kernel
def _items(e: Scope, task: int) -> int:
    """How many pairs or contacts a task is for."""
    return int(e.w.pairs.used[0] if task == MEET else e.w.solver.touches.used[0])


@kernel
def gather_part(e: Scope, task: int, part: int) -> None:
    """Do one part of a task; what runs out of room is left in the queue."""
    first, end = part_range(_items(e, task), LEAST, part)
    if task == MEET:
        for k in range(first, end):
            meet(e, k)
        return
    t = e.w.solver.touches
    k = first
    while k < end and k > 0 and _same_bodies(e, k - 1, k):
        k += 1  # of two bodies whose contacts begin in another part
    while k < end:
        first = k
        k += 1
        while k < t.used[0] and _same_bodies(e, first, k):
            k += 1
        status = _lay_out(e, first, k, task == LAY_OUT_FRESH)
        if status != OK:
            store(e.w.solver.queue, FAULT, status)
            return


@kernel
def _same_bodies(e: Scope, one: int, two: int) -> bool:
    """Whether two contacts are of the same two bodies."""
    c, d = touch(e.w.solver.touches, one), touch(e.w.solver.touches, two)
    return bool(c.ints[TI_A] == d.ints[TI_A] and c.ints[TI_B] == d.ints[TI_B])


@kernel
def end_of_two(e: Scope, at: int) -> int:
    """End of the pairs of two bodies that begin in the list at `at`."""
    pairs, end = e.w.pairs, at + 1
    other = pairs.key[at] >> (2 * BITS)
    while (
        end < pairs.used[0]
        and pairs.owner[end] == pairs.owner[at]
        and pairs.key[end] >> (2 * BITS) == other
    ):
        end += 1
    return end


@kernel
def look(e: Scope, at: int, end: int, fresh: bool) -> int:
    """List the contacts of two bodies, whose pairs are at…end−1, behind all others."""
    for k in range(at, end):
        meet(e, k)
    first = e.w.solver.touches.used[0]
    status = _list(e, at, end)
    if status == OK:
        status = _lay_out(e, first, e.w.solver.touches.used[0], fresh)
    return status


@kernel
def _list(e: Scope, at: int, end: int) -> int:
    """List the pairs at…end−1 that meet as contacts; OK, or SOLVER_FULL."""
    t, pairs = e.w.solver.touches, e.w.pairs
    for k in range(at, end):
        if pairs.live[k] == FOUND:
            if t.used[0] >= e.rooms[1]:
                return SOLVER_FULL
            c, slot = touch(t, t.used[0]), pairs.slot[k]
            ints = off(pairs.ints, NI * slot)
            c.ints[TI_A], c.ints[TI_B], c.ints[TI_SLOT] = ints[PI_BODY_A], ints[PI_BODY_B], slot
            c.ints[TI_NEW] = 1
            t.used[0] += 1
    return OK


@kernel
def _lay_out(e: Scope, first: int, end: int, fresh: bool) -> int:
    """Give the contacts first…end−1 of two bodies their patches and laws; OK or what is full."""
    for k in range(first, end):
        status = lay_out(e, touch(e.w.solver.touches, k))
        if status != OK:
            return status
    if end > first:
        _share(e, first, end, fresh)
    return OK


@kernel
def _share(e: Scope, first: int, end: int, fresh: bool) -> None:
    """Finish the contacts first…end−1 of two bodies: area, law, friction, energy."""
    t = e.w.solver.touches
    area = 0.0
    for k in range(first, end):
        area += touch(t, k).floats[TF_S]
    stored, deepest, held = 0.0, 0.0, 0.0
    soft = e.point
    for k in range(first, end):
        c = touch(t, k)
        i, j = c.ints[TI_A], c.ints[TI_B]
        if c.ints[TI_KIND] == PATCH_KIND:
            if e.settings.normalization == NONE:
                c.floats[TF_AREA] = 1.0
            elif e.settings.normalization == FIXED:
                c.floats[TF_AREA] = min(e.m.face_area[i], e.m.face_area[j])
            else:
                c.floats[TF_AREA] = area
        row = off(e.w.pairs.floats, NF * c.ints[TI_SLOT])
        stored += row[PF_STORED] + row[PF_SPARE]
        deepest = max(deepest, c.floats[TF_DEPTH] / c.floats[TF_SIZE])
        _kinematics(e, c)
        _law(e, c, row)
        c.floats[TF_STORED] = start_energy(t, c)
        if c.floats[TF_STORED] == 0.0 and c.floats[TF_K] > 0.0:
            c.floats[TF_MEETS], c.floats[TF_B] = c.floats[TF_B] / e.dt, 0.0
        held += c.floats[TF_STORED]
        soft = soft and c.floats[TF_K] * e.dt * e.dt * (e.m.inv_mass[i] + e.m.inv_mass[j]) < SOFT
    # one corner after the other is the deepest point: a soft one takes over what the last one held
    if soft or (fresh and deepest < FIT):
        stored = held
    rest = max(0.0, stored)  # what is owed from before counts as nothing stored
    yielded = 1.0 - sqrt(rest / held) if held > rest * (1.0 + SAME_ENERGY) else 0.0
    for k in range(first, end):
        c = touch(t, k)
        if yielded > 0.0:
            imprint(t, c, yielded)
            c.floats[TF_STORED] *= stored / held
        else:
            c.floats[TF_STORED] += (stored - held) / (end - first)
        c.floats[TF_YIELDED] = yielded
        set_limit(t, c)


@kernel
def _kinematics(e: Scope, c: Touch) -> None:
    """Arms and the guess's local twist.

    The force acts at c taken back by the motion of both bodies, the lighter counting more: on a
    support that is the lighter one alone, so that rolling meets no resistance; between two free
    bodies it is one point for both, which keeps angular momentum.
    """
    f = c.floats
    i, j = c.ints[TI_A], c.ints[TI_B]
    inverse = e.m.inv_mass[i] + e.m.inv_mass[j]
    share = e.m.inv_mass[i] / inverse
    guess = e.w.solver.ahead.guess
    for k in range(3):
        back = share * guess[6 * i + k] + (1.0 - share) * guess[6 * j + k]
        at = f[TF_C + k] - e.dt * back
        f[TF_ARM_A + k] = at - e.s.position[3 * i + k]
        f[TF_ARM_B + k] = at - e.s.position[3 * j + k]
    u = off(f, TF_U)
    u[0], u[1], u[2], u[3], u[4], u[5] = local_twist(c, guess)
    out = off(f, TF_D)
    a0, ax, ay = _sunk(e, c, i)
    b0, bx, by = _sunk(e, c, j)
    out[0], out[1], out[2] = b0 - a0, bx - ax, by - ay


@kernel
def _sunk(e: Scope, c: Touch, i: int) -> tuple[float, float, float]:
    """Way along n of body i's points of the patch since the start, as d0 + dx x + dy y.

    Finite rotations are affine maps, so this is exact: p* − p₀ = p* − x₀ − R₀ R*ᵀ (p* − x*).
    """
    f = c.floats
    guess = off(e.w.solver.ahead.guess, 6 * i)
    n = (f[TF_N], f[TF_N + 1], f[TF_N + 2])
    if guess[3] == 0.0 and guess[4] == 0.0 and guess[5] == 0.0:
        return e.dt * (n[0] * guess[0] + n[1] * guess[1] + n[2] * guess[2]), 0.0, 0.0
    # n·R₀ R*ᵀ q = (R* R₀ᵀ n)·q
    m = turn(off(e.e.rotation, 9 * i), turn_back(off(e.s.rotation, 9 * i), n))
    x, y = off(e.e.position, 3 * i), off(e.s.position, 3 * i)
    base = 0.0
    for k in range(3):
        base += n[k] * (f[TF_C + k] - y[k]) - m[k] * (f[TF_C + k] - x[k])
    d = (n[0] - m[0], n[1] - m[1], n[2] - m[2])
    t1 = (f[TF_T1], f[TF_T1 + 1], f[TF_T1 + 2])
    t2 = (f[TF_T2], f[TF_T2 + 1], f[TF_T2 + 2])
    return base, dot(d, t1), dot(d, t2)


@kernel
def _law(e: Scope, c: Touch, row: PtrF8) -> None:
    """Parameters, friction limit and friction spring of a contact."""
    f = c.floats
    i, j = c.ints[TI_A], c.ints[TI_B]
    ints = off(e.w.pairs.ints, NI * c.ints[TI_SLOT])
    law = pair_law(e.m, i, j, e.dt, True, e.point)
    f[TF_K], f[TF_B], f[TF_KT], f[TF_BT] = law.k, law.b, law.k_t, law.b_t
    known = ints[PI_MISSED] < FORGET
    f[TF_MEETS] = 0.0
    f[TF_BOUNCE], f[TF_BOUNCE + 1], f[TF_BOUNCE + 2], f[TF_E] = 0.0, 0.0, 0.0, 0.0
    if law.e > 0.0 and not known:
        approach = local_twist(c, e.w.solver.ahead.free)[0]
        if approach < -BOUNCES * e.margin / e.dt:
            f[TF_E] = law.e
    slides = known and ints[PI_MODE] == SLIP
    c.ints[TI_MODE] = SLIDES if slides else HOLDS
    c.ints[TI_EARLY], c.ints[TI_RUBS] = 0, 0
    f[TF_MU] = law.mu if slides else law.mu0
    # friction spring at the start of the step, about the centre
    r1, r2, theta = 0.0, 0.0, 0.0
    n = (f[TF_N], f[TF_N + 1], f[TF_N + 2])
    t1, t2 = basis(n)
    j_n = 0.0
    if c.ints[TI_KIND] == PATCH_KIND:
        j_n = (f[TF_JXX] + f[TF_JYY]) / f[TF_S]
    if known and law.k_t > 0.0:
        pa, pb = spring_ends(e.s, i, j, row)
        d = sub(pb, pa)
        if sqrt(j_n) > SMALL_GYRATION * f[TF_SIZE]:
            theta = row[PF_THETA]
        x = e.s.position
        mid = (
            f[TF_ARM_A] + x[3 * i] - 0.5 * (pa[0] + pb[0]),
            f[TF_ARM_A + 1] + x[3 * i + 1] - 0.5 * (pa[1] + pb[1]),
            f[TF_ARM_A + 2] + x[3 * i + 2] - 0.5 * (pa[2] + pb[2]),
        )
        r1 = dot(d, t1) - theta * dot(mid, t2)
        r2 = dot(d, t2) + theta * dot(mid, t1)
        weight = f[TF_S] / f[TF_AREA] if c.ints[TI_KIND] == PATCH_KIND else 1.0
        held = 0.5 * law.k_t * weight * (r1 * r1 + r2 * r2 + theta * theta * j_n)
        if held > row[PF_HELD]:  # the patch changed: the spring holds no more than it held
            less = sqrt(row[PF_HELD] / held)
            r1, r2, theta = less * r1, less * r2, less * theta
            held = row[PF_HELD]
        f[TF_HELD] = held
    else:
        f[TF_HELD] = 0.0
    f[TF_R1], f[TF_R2], f[TF_TH] = r1, r2, theta
    f[TF_LAG] = row[PF_LAG]
