"""Contacts of one implicit step: patches where the bodies will be, known before they touch.

First it is found out which parts meet (`meet`), then the contacts are listed, in the order of the
pairs, then each is given its patch (`patches`) and its law. The first and the last are tasks in
parts that threads share.

Energy. Patches change their area, normal and shape from step to step, so the springs of a patch
could hold more at the start of a step than was ever put into them. What two bodies' springs held at
the end of the last step is remembered; if the new patch would hold more, the surfaces count as
having yielded: of the depth d₀ at the start of the step a share y is left out at every point,

    d ← d − y max(0, d₀),      (1 − y)² Σ ½ ω k max(0, d₀)² = E,

with E what the springs held and what the step may take of the reserve (`keep`) for yielded depth to
recover.
"""

from __future__ import annotations

from math import cos, sin, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, load, off, store
from tangere.collision.broad import BITS
from tangere.contact.convex.detect import meet
from tangere.contact.convex.manifold import lay_out
from tangere.contact.convex.options import FIXED, NONE, SMALL_GYRATION
from tangere.elements.columns import (
    EF_ARM_A,
    EF_ARM_B,
    EF_B,
    EF_BOUNCE,
    EF_BT,
    EF_C,
    EF_CURVED,
    EF_D,
    EF_DEPTH,
    EF_E,
    EF_GYRATION,
    EF_HELD,
    EF_K,
    EF_KT,
    EF_LAG,
    EF_LEAD,
    EF_LIES,
    EF_MEETS,
    EF_MU,
    EF_N,
    EF_PRESSED,
    EF_R1,
    EF_R2,
    EF_RHO_A,
    EF_RHO_B,
    EF_RISE,
    EF_ROLLS,
    EF_SHARE,
    EF_SIZE,
    EF_STORED,
    EF_T1,
    EF_T2,
    EF_TH,
    EF_TILT1,
    EF_TILT2,
    EF_TRUE,
    EF_U,
    EF_WEIGHT,
    EF_YAW,
    EF_YIELDED,
    EI_A,
    EI_B,
    EI_LIMITED,
    EI_MODE,
    EI_NEW,
    EI_SLOT,
    EI_SPINS,
    HOLDS,
    SLIDES,
    Element,
    element,
    local_twist,
)
from tangere.elements.contact_law import FORGET, KAPPA, pair_law, spring_ends
from tangere.elements.element import SMALL_RESERVE, imprint, normalise, set_limit, start_energy
from tangere.elements.step_context import PASSES, StepContext
from tangere.implicit.task_queue import (
    FAULT,
    LEAST,
    OPEN,
    first_part,
    next_part,
    part_count,
    part_range,
)
from tangere.maths.quat import turn, turn_back
from tangere.maths.vec import Vec3, axpy, cross, dot, scale, sub
from tangere.model import (
    FOUND,
    NF,
    NI,
    OK,
    PF_HELD,
    PF_LAG,
    PF_PRESS,
    PF_RESERVE,
    PF_STORED,
    PF_THETA,
    PI_BODY_A,
    PI_BODY_B,
    PI_MISSED,
    PI_MODE,
    SLIP,
    SOLVER_FULL,
)

# Tasks, beside those of `implicit` and `steppers.schedule`; with the stamp of the pass.
MEET = 40  # for pairs of the list
LAY_OUT, LAY_OUT_FRESH = 41, 42  # for contacts; in the first step
# Relative rounding of stored energies.
SAME_ENERGY = 1e-9
# Impacts faster than so many margins per step bounce.
BOUNCES = 2.0
# Overlaps at the very start up to this share of the size are springs under load; deeper ones are a
# fit that holds no energy.
FIT = 0.02
# Yielded depth recovers in a step by this share of the margin, ¼ g dt², and of itself at most: so
# slowly that gravity holds the body down, and ever more slowly at the end.
RECOVERY, LAST_PART = 0.125, 0.2
# Point method: contacts with κ = k dt²/m below this never yield.
SOFT = 1.1 * KAPPA


@kernel
def set_up_contacts(e: StepContext, fresh: bool) -> int:
    """List all contacts of the step; returns OK or what is full.

    fresh: the first step, whose overlaps count as springs under load.
    """
    t, q = e.w.solver.elements, e.w.solver.queue
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
def _all_parts(e: StepContext, task: int) -> None:
    """Do a task for all pairs or contacts."""
    v = e.w.solver
    parts = part_count(_items(e, task), LEAST)
    part = first_part(v.queue, v.given, task, 0, float(e.stamp), parts)
    while part >= 0:
        set_up_part(e, task, part)
        part = next_part(v.queue, part, parts)


@kernel
def _items(e: StepContext, task: int) -> int:
    """How many pairs or contacts a task is for."""
    return int(e.w.pairs.used[0] if task == MEET else e.w.solver.elements.used[0])


@kernel
def set_up_part(e: StepContext, task: int, part: int) -> None:
    """Do one part of a task; what runs out of room is left in the queue."""
    first, end = part_range(_items(e, task), LEAST, part)
    if task == MEET:
        for k in range(first, end):
            meet(e, k)
        return
    t = e.w.solver.elements
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
def _same_bodies(e: StepContext, one: int, two: int) -> bool:
    """Whether two contacts are of the same two bodies."""
    c, d = element(e.w.solver.elements, one), element(e.w.solver.elements, two)
    return bool(c.ints[EI_A] == d.ints[EI_A] and c.ints[EI_B] == d.ints[EI_B])


@kernel
def end_of_two(e: StepContext, at: int) -> int:
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
def set_up_two(e: StepContext, at: int, end: int, fresh: bool) -> int:
    """List the contacts of two bodies, whose pairs are at…end−1, behind all others."""
    for k in range(at, end):
        meet(e, k)
    first = e.w.solver.elements.used[0]
    status = _list(e, at, end)
    if status == OK:
        status = _lay_out(e, first, e.w.solver.elements.used[0], fresh)
    return status


@kernel
def _list(e: StepContext, at: int, end: int) -> int:
    """List the pairs at…end−1 that meet as contacts; OK, or SOLVER_FULL."""
    t, pairs = e.w.solver.elements, e.w.pairs
    for k in range(at, end):
        if pairs.live[k] == FOUND:
            if t.used[0] >= e.rooms[1]:
                return SOLVER_FULL
            c, slot = element(t, t.used[0]), pairs.slot[k]
            ints = off(pairs.ints, NI * slot)
            c.ints[EI_A], c.ints[EI_B], c.ints[EI_SLOT] = ints[PI_BODY_A], ints[PI_BODY_B], slot
            c.ints[EI_NEW] = 1
            t.used[0] += 1
    return OK


@kernel
def _lay_out(e: StepContext, first: int, end: int, fresh: bool) -> int:
    """Give the contacts first…end−1 of two bodies their patches and laws; OK or what is full."""
    for k in range(first, end):
        status = lay_out(e, element(e.w.solver.elements, k))
        if status != OK:
            return status
    if end > first:
        _share(e, first, end, fresh)
    return OK


@kernel
def _share(e: StepContext, first: int, end: int, fresh: bool) -> None:
    """Finish the contacts first…end−1 of two bodies: area, law, friction, energy."""
    t = e.w.solver.elements
    area = 0.0
    for k in range(first, end):
        area += element(t, k).floats[EF_TRUE]
    springs, reserve, small, deepest, held = 0.0, 0.0, 0.0, 0.0, 0.0
    soft = e.options.single_point
    for k in range(first, end):
        c = element(t, k)
        i, j = c.ints[EI_A], c.ints[EI_B]
        if e.options.normalization == NONE:
            normalise(c, 1.0)
        elif e.options.normalization == FIXED:
            normalise(c, min(e.m.face_area[i], e.m.face_area[j]))
        else:
            normalise(c, area)
        row = off(e.w.pairs.floats, NF * c.ints[EI_SLOT])
        springs += row[PF_STORED]
        reserve += row[PF_RESERVE]
        small += min(row[PF_RESERVE], SMALL_RESERVE * c.floats[EF_SIZE] * row[PF_PRESS])
        deepest = max(deepest, c.floats[EF_DEPTH] / c.floats[EF_SIZE])
        _kinematics(e, c)
        _law(e, c, row)
        c.floats[EF_STORED] = start_energy(t, c)
        _pressed(e, c)
        if c.floats[EF_STORED] == 0.0 and c.floats[EF_K] > 0.0:
            c.floats[EF_MEETS], c.floats[EF_B] = c.floats[EF_B] / e.dt, 0.0
        held += c.floats[EF_STORED]
        soft = soft and c.floats[EF_K] * e.dt * e.dt * (e.m.inv_mass[i] + e.m.inv_mass[j]) < SOFT
    # one corner after the other is the deepest point: a soft one takes over what the last one held
    loaded = soft or (fresh and deepest < FIT)
    stored = held if loaded else springs + reserve
    usable = stored
    if not loaded and reserve > small:
        k = element(t, first).floats[EF_K]  # the same for all of two bodies
        usable = min(stored, max(springs + small, _recovered(k, springs, held, e.margin)))
    usable = max(0.0, usable)  # what is owed from before counts as nothing stored
    yielded = 1.0 - sqrt(usable / held) if held > usable * (1.0 + SAME_ENERGY) else 0.0
    for k in range(first, end):
        c = element(t, k)
        if yielded > 0.0:
            imprint(t, c, yielded)
            c.floats[EF_STORED] *= stored / held
        else:
            c.floats[EF_STORED] += (stored - held) / (end - first)
        c.floats[EF_YIELDED] = yielded
        set_limit(t, c)


@kernel
def _recovered(k: float, springs: float, held: float, margin: float) -> float:
    """What springs of stiffness k hold after one step of recovery from `springs` to `held` [J]."""
    if not k > 0.0:
        return 0.0
    depth, whole = sqrt(2.0 * max(0.0, springs) / k), sqrt(2.0 * held / k)
    depth += min(RECOVERY * margin, LAST_PART * max(0.0, whole - depth))
    return 0.5 * k * depth * depth


@kernel
def _kinematics(e: StepContext, c: Element) -> None:
    """Arms and the guess's local twist.

    The force acts at c taken back by the motion of the patch, at one point for both bodies, which
    keeps angular momentum.
    """
    f = c.floats
    i, j = c.ints[EI_A], c.ints[EI_B]
    guess, lead = e.w.solver.ahead.guess, off(f, EF_LEAD)
    for k in range(6):
        lead[k] = 0.0
    back = _patch_motion(e, c)
    for k in range(3):
        at = f[EF_C + k] - e.dt * back[k]
        f[EF_ARM_A + k] = at - e.s.position[3 * i + k]
        f[EF_ARM_B + k] = at - e.s.position[3 * j + k]
    out = off(f, EF_D)
    a0, ax, ay = _sunk(e, c, i, -f[EF_RHO_A])
    b0, bx, by = _sunk(e, c, j, f[EF_RHO_B])
    lies = c.ints[EI_SPINS] >= 0 and f[EF_LIES] > 0.0
    if lies and f[EF_RHO_A] > 0.0 and c.ints[EI_SPINS] == i:  # what rolls slopes as its axis does
        ax, ay = f[EF_RISE], 0.0
    if lies and f[EF_RHO_B] > 0.0 and c.ints[EI_SPINS] == j:
        bx, by = f[EF_RISE], 0.0
    out[0], out[1], out[2] = b0 - a0, bx - ax, by - ay
    if lies:
        _turn_back(e, c)
    elif c.ints[EI_SPINS] >= 0:
        _tilt_axes(e, c)
    u = off(f, EF_U)
    u[0], u[1], u[2], u[3], u[4], u[5] = local_twist(c, guess)


@kernel
def _patch_motion(e: StepContext, c: Element) -> Vec3:
    """Velocity by which the patch of the guess is taken back to the start of the step.

    A force that has no torque about a body at the end of the step should have none at its start:
    rolling meets no resistance where the patch goes back with the body. Beside a body that is held
    it does. Of two free bodies both cannot have it at one point; the more curved one has it, or, if
    both are flat, the lighter one.
    """
    f, guess = c.floats, e.w.solver.ahead.guess
    i, j = c.ints[EI_A], c.ints[EI_B]
    a, b = off(guess, 6 * i), off(guess, 6 * j)
    va, vb = (a[0], a[1], a[2]), (b[0], b[1], b[2])
    if f[EF_CURVED] == 0.0 or e.m.inv_mass[i] * e.m.inv_mass[j] == 0.0:
        share = e.m.inv_mass[i] / (e.m.inv_mass[i] + e.m.inv_mass[j])
        return axpy(share, va, scale(1.0 - share, vb))
    d = sub(va, vb)
    t1 = (f[EF_T1], f[EF_T1 + 1], f[EF_T1 + 2])
    t2 = (f[EF_T2], f[EF_T2 + 1], f[EF_T2 + 2])
    d1, d2, s = dot(d, t1), dot(d, t2), off(f, EF_SHARE)
    return axpy(s[0] * d1 + s[1] * d2, t1, axpy(s[2] * d1 + s[3] * d2, t2, vb))


@kernel
def _turn_back(e: StepContext, c: Element) -> None:
    """Take the patch of a body that rolls on its side back to the start of the step, turned too.

    The axis of a cone that rolls about its apex turns by an angle α within a step. With forces
    along the axes at its end each step would lose α²/2 of the speed: velocity is projected on them.
    Velocities are those of the middle of a step, and forces change them at its start. So forces act
    along the axes at the start, and motion is that of the middle, ½ (start + end): velocity before
    and after are then mirror images.

    Axes of tilt lean out of the plane by ½ dt ω: the tilt at the end depends on the yaw, as the
    axis goes on turning under ω. Left out, a cylinder that slides and yaws leaves its line.
    """
    f, i = c.floats, c.ints[EI_SPINS]
    guess = e.w.solver.ahead.guess
    w = off(guess, 6 * i + 3)
    spin = (w[0], w[1], w[2])
    n = (f[EF_N], f[EF_N + 1], f[EF_N + 2])
    t1 = (f[EF_T1], f[EF_T1 + 1], f[EF_T1 + 2])
    t2 = (f[EF_T2], f[EF_T2 + 1], f[EF_T2 + 2])
    # as it will be at the end: a free body that spins changes its ω, too
    was = local_twist(c, guess)
    sign, arm = (1.0, off(f, EF_ARM_B)) if i == c.ints[EI_B] else (-1.0, off(f, EF_ARM_A))
    more = scale(sign, sub(_end_spin(e, i, spin), spin))
    from_end = (arm[0], arm[1], arm[2])
    moved = cross(more, from_end)
    un_end, u1_end, u2_end = (
        was[0] + dot(n, moved),
        was[3] + dot(t1, moved),
        was[4] + dot(t2, moved),
    )
    w1_end, w2_end, wn_end = was[1] + dot(t1, more), was[2] + dot(t2, more), was[5] + dot(n, more)
    angle = f[EF_YAW]
    if angle != 0.0:
        x1, x2 = dot(from_end, t1), dot(from_end, t2)
        turned = axpy((cos(angle) - 1.0) * x1 + sin(angle) * x2, t1, from_end)
        turned = axpy((cos(angle) - 1.0) * x2 - sin(angle) * x1, t2, turned)
        other = off(f, EF_ARM_A if i == c.ints[EI_B] else EF_ARM_B)
        for k in range(3):
            other[k] += turned[k] - arm[k]
            arm[k] = turned[k]
    one, two = dot(spin, t1), dot(spin, t2)
    b1 = axpy(cos(angle), t1, scale(-sin(angle), t2))
    b2 = axpy(cos(angle), t2, scale(sin(angle), t1))
    tilt1, tilt2 = off(f, EF_TILT1), off(f, EF_TILT2)
    on1 = tilt1[0] != 0.0 or tilt1[1] != 0.0 or tilt1[2] != 0.0
    on2 = tilt2[0] != 0.0 or tilt2[1] != 0.0 or tilt2[2] != 0.0
    for k in range(3):
        f[EF_T1 + k], f[EF_T2 + k] = b1[k], b2[k]
        if on1:
            tilt1[k] = b1[k] + 0.5 * e.dt * two * n[k]
        if on2:
            tilt2[k] = b2[k] - 0.5 * e.dt * one * n[k]
    lead = off(f, EF_LEAD)
    un, w1, w2, u1, u2, wn = local_twist(c, guess)
    lead[0], lead[3] = 0.5 * (un_end - un), 0.5 * (u1_end - u1)
    lead[4], lead[5] = 0.5 * (u2_end - u2), 0.5 * (wn_end - wn)
    lead[1] = 0.5 * (w1_end - w1) if on1 else 0.0
    lead[2] = 0.5 * (w2_end - w2) if on2 else 0.0


@kernel
def _tilt_axes(e: StepContext, c: Element) -> None:
    """Turn the axes of tilt of a body on its rim or its end to the middle of the step.

    Round a rim the patch may run too far within a step to be taken back with it.
    """
    f, w = c.floats, off(e.w.solver.ahead.guess, 6 * c.ints[EI_SPINS] + 3)
    for q in range(2):
        t = off(f, EF_TILT1 if q == 0 else EF_TILT2)
        turned = cross((w[0], w[1], w[2]), (t[0], t[1], t[2]))
        for k in range(3):
            t[k] -= 0.5 * e.dt * turned[k]


@kernel
def _end_spin(e: StepContext, i: int, spin: Vec3) -> Vec3:
    """Angular velocity of body i at the end of the step, if it turns freely from the guess's."""
    if not e.m.inv_mass[i] > 0.0:
        return spin
    start, end = off(e.s.rotation, 9 * i), off(e.e.rotation, 9 * i)
    own = turn_back(start, spin)
    k = off(e.m.inertia, 3 * i)
    own = turn_back(end, turn(start, (k[0] * own[0], k[1] * own[1], k[2] * own[2])))
    return turn(end, (own[0] / k[0], own[1] / k[1], own[2] / k[2]))


@kernel
def _pressed(e: StepContext, c: Element) -> None:
    """Limit friction of a curved contact by its pressure at the start of the step, if it had one.

    At the guess a strip may lean, and friction would be taken for greater on the side that it leans
    to. In the second pass depths are those of a solution.
    """
    f = c.floats
    first = e.stamp % PASSES == 0
    for k in range(3):
        f[EF_PRESSED + k] = 0.0
        if first and f[EF_CURVED] > 0.0 and f[EF_STORED] > 0.0:
            f[EF_PRESSED + k] = f[EF_D + k]


@kernel
def _sunk(e: StepContext, c: Element, i: int, rho: float) -> tuple[float, float, float]:
    """Way along n of body i's points of the patch since the start, as d0 + dx x + dy y.

    Finite rotations are affine maps, so this is exact: p* − p₀ = p* − x₀ − R₀ R*ᵀ (p* − x*). A body
    that rolls goes the way of its centre of curvature, at c + rho n.
    """
    f = c.floats
    guess = off(e.w.solver.ahead.guess, 6 * i)
    n = (f[EF_N], f[EF_N + 1], f[EF_N + 2])
    if guess[3] == 0.0 and guess[4] == 0.0 and guess[5] == 0.0:
        return e.dt * (n[0] * guess[0] + n[1] * guess[1] + n[2] * guess[2]), 0.0, 0.0
    # n·R₀ R*ᵀ q = (R* R₀ᵀ n)·q
    m = turn(off(e.e.rotation, 9 * i), turn_back(off(e.s.rotation, 9 * i), n))
    x, y = off(e.e.position, 3 * i), off(e.s.position, 3 * i)
    base = 0.0
    for k in range(3):
        at = f[EF_C + k] + rho * n[k]
        base += n[k] * (at - y[k]) - m[k] * (at - x[k])
    d = (n[0] - m[0], n[1] - m[1], n[2] - m[2])
    return base, _along(f, EF_T1, EF_TILT2, d), _along(f, EF_T2, EF_TILT1, d)


@kernel
def _along(f: PtrF8, axis: int, tilt: int, d: Vec3) -> float:
    """Part of d along an axis, if the patch tilts about the other one."""
    if f[tilt] == 0.0 and f[tilt + 1] == 0.0 and f[tilt + 2] == 0.0:
        return 0.0
    return float(f[axis] * d[0] + f[axis + 1] * d[1] + f[axis + 2] * d[2])


@kernel
def _law(e: StepContext, c: Element, row: PtrF8) -> None:
    """Parameters, friction limit and friction spring of a contact."""
    f = c.floats
    i, j = c.ints[EI_A], c.ints[EI_B]
    ints = off(e.w.pairs.ints, NI * c.ints[EI_SLOT])
    law = pair_law(e.m, i, j, e.dt, True, e.options.single_point)
    f[EF_K], f[EF_B], f[EF_KT], f[EF_BT] = law.k, law.b, law.k_t, law.b_t
    f[EF_ROLLS] *= law.rolling
    known = ints[PI_MISSED] < FORGET
    f[EF_MEETS] = 0.0
    f[EF_BOUNCE], f[EF_BOUNCE + 1], f[EF_BOUNCE + 2], f[EF_E] = 0.0, 0.0, 0.0, 0.0
    if law.e > 0.0 and not known:
        approach = local_twist(c, e.w.solver.ahead.free)[0]
        if approach < -BOUNCES * e.margin / e.dt:
            f[EF_E] = law.e
    slides = known and ints[PI_MODE] == SLIP
    c.ints[EI_MODE] = SLIDES if slides else HOLDS
    c.ints[EI_LIMITED] = 0
    f[EF_MU] = law.mu if slides else law.mu0
    # friction spring at the start of the step, about the centre
    r1, r2, theta = 0.0, 0.0, 0.0
    t1 = (f[EF_T1], f[EF_T1 + 1], f[EF_T1 + 2])
    t2 = (f[EF_T2], f[EF_T2 + 1], f[EF_T2 + 2])
    j_n = f[EF_GYRATION]
    if known and law.k_t > 0.0:
        pa, pb = spring_ends(e.s, i, j, row)
        d = sub(pb, pa)
        if sqrt(j_n) > SMALL_GYRATION * f[EF_SIZE]:
            theta = row[PF_THETA]
        x = e.s.position
        mid = (
            f[EF_ARM_A] + x[3 * i] - 0.5 * (pa[0] + pb[0]),
            f[EF_ARM_A + 1] + x[3 * i + 1] - 0.5 * (pa[1] + pb[1]),
            f[EF_ARM_A + 2] + x[3 * i + 2] - 0.5 * (pa[2] + pb[2]),
        )
        r1 = dot(d, t1) - theta * dot(mid, t2)
        r2 = dot(d, t2) + theta * dot(mid, t1)
        held = 0.5 * law.k_t * f[EF_WEIGHT] * (r1 * r1 + r2 * r2 + theta * theta * j_n)
        if held > row[PF_HELD]:  # the patch changed: the spring holds no more than it held
            less = sqrt(row[PF_HELD] / held)
            r1, r2, theta = less * r1, less * r2, less * theta
            held = row[PF_HELD]
        f[EF_HELD] = held
    else:
        f[EF_HELD] = 0.0
    f[EF_R1], f[EF_R2], f[EF_TH] = r1, r2, theta
    f[EF_LAG] = row[PF_LAG]
