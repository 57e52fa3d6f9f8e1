"""One step of the tool under contact laws instead of contact springs.

The contact loop hands over a contact problem (`haptics.problem_packets`): what the contact forces
f move apart from the tool's own rigid motion, and where gaps and slips stood for the tool's state
then. At every tick the tool is stepped by backward Euler without contacts (`haptics.tool`), and the
problem is solved again for the tool where it is now:

    δ = (C + dt² J S⁻¹ Jᵀ) f + offset + drift (t − t_k) + J (way since then, contacts left aside)
    0 ≤ δ_n ⊥ f_n ≥ 0,    Coulomb's law on δ_t        S (v, ω)₊ = … + dt Jᵀ f

Slips count from the state of the packet, so that friction is not added up twice. Along a curved
surface the normal turns with the slip, by the Hessian of the gap that comes with each contact (see
`contact.unilateral.contact_rows`); how far, the forces of the tick before tell. A tool that is its
hand (direct coupling) moves as told: there dt² J S⁻¹ Jᵀ is a spring as stiff as may be displayed.
After Saupin, Duriez and Cotin (2008) and the contact method of [DURIEZ2006].
"""

from __future__ import annotations

from math import isfinite, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, local_i4, off
from tangere.friction.anytime import solve_contacts
from tangere.friction.problem import DENSE, NL, WINDOW, Problem, Scratch
from tangere.haptics.element import Linear, Motion, motion
from tangere.haptics.fields import put_vec, quat_at, vec_at
from tangere.haptics.layout import (
    CONTACT_DRIFT,
    CONTACT_EXPECTED_SLIP,
    CONTACT_FORCE,
    CONTACT_HESSIAN,
    CONTACT_JACOBIAN,
    CONTACT_MU,
    CONTACT_OFFSET,
    COUPLING_DIRECT,
    MAX_CONTACTS,
    NCONTACT,
    NTOOL,
    OUT_ACTIVE,
    OUT_DEPTH,
    OUT_PASSES,
    OUT_TURN,
    PROBLEM_COMPLIANCE,
    PROBLEM_CONTACTS,
    PROBLEM_COUNT,
    PROBLEM_DEPTH,
    PROBLEM_SEQUENCE,
    PROBLEM_STATE,
    PROBLEM_TIME,
    PROBLEM_WRENCH,
    SET_CAP,
    SET_MODE,
    SET_STEP,
    TOOL_POSITION,
    TOOL_QUATERNION,
    Rig,
)
from tangere.haptics.reading import is_rotation
from tangere.haptics.tool import add_hand, felt, follow, keep_near, put_twist, step_equation
from tangere.maths.quat import turn, turn_back, turn_between
from tangere.maths.small import solve

# Work that a tick may spend on one problem: within 0.4 ms for 24 contacts. A limit on the clock
# would make the same input give another trace.
TOLERANCE = 1e-6
MAX_SWEEPS = 40
MOST_TILT = 0.5  # of a normal since the packet's state [rad]
# Sizes of the fields of `Problem` and `Scratch`: a problem of MAX_CONTACTS fits on the stack.
CONTACTS = MAX_CONTACTS
ROWS = 3 * MAX_CONTACTS
ENTRIES, MATRIX = ROWS * ROWS, (ROWS + 1) * ROWS
LOCAL, BOTH, TURNED = NL * MAX_CONTACTS, 2 * MAX_CONTACTS, 9 * MAX_CONTACTS
HISTORY, GRAM = (WINDOW + 1) * 3 * ROWS, WINDOW * WINDOW


@kernel
def problem_usable(problem: PtrF8, latest: float) -> bool:
    """Whether a contact problem is finite, no larger than there is room, not after `latest`."""
    count = problem[PROBLEM_COUNT]
    if not (0.0 <= count <= MAX_CONTACTS and problem[PROBLEM_TIME] <= latest):
        return False
    m = int(count)
    if not is_rotation(quat_at(problem, PROBLEM_STATE + TOOL_QUATERNION)):
        return False
    for k in range(PROBLEM_CONTACTS + NCONTACT * m):
        if not isfinite(problem[k]):
            return False
    for k in range(9 * m * m):
        if not isfinite(problem[PROBLEM_COMPLIANCE + k]):
            return False
    for c in range(m):
        if problem[PROBLEM_CONTACTS + NCONTACT * c + CONTACT_MU] < 0.0:
            return False
    return True


@kernel
def step_on_problem(r: Rig, hand: PtrF8, now: float) -> int:
    """As `haptics.tool.step_tool`, with the newest contact problem."""
    s, y, p, out = r.settings, r.tool, r.problem, r.out
    turned, fresh, last = local_f8(9), local_f8(13), local_f8(13)
    m = motion(s, y, turned)
    h, inverse, twist, way, wrench = (
        local_f8(9),
        local_f8(36),
        local_f8(6),
        local_f8(6),
        local_f8(6),
    )
    direct = s[SET_MODE] == COUPLING_DIRECT
    dt = s[SET_STEP]
    if direct:
        follow(s, hand, fresh)
        _way(p, fresh, way)
    else:
        _free_twist(s, y, m, hand, p, out, h, inverse, twist)
        _way(p, y, way)
        for i in range(6):
            way[i] += dt * twist[i]
    energy, pressing, passes = _solve(r, way, now, inverse, direct, wrench)
    if not direct:
        for i in range(6):
            for j in range(6):
                twist[i] += dt * inverse[6 * i + j] * wrench[j]
        put_twist(s, m, h, twist, fresh)
    for i in range(6):
        wrench[i] += p[PROBLEM_WRENCH + i]
    for i in range(NTOOL):
        last[i] = y[i]
        y[i] = fresh[i]
    felt(s, y, hand, wrench, energy, out)
    out[OUT_DEPTH], out[OUT_ACTIVE], out[OUT_PASSES] = p[PROBLEM_DEPTH], pressing, passes
    return keep_near(s, y, last, hand, out)


@kernel
def _free_twist(
    s: PtrF8,
    y: PtrF8,
    m: Motion,
    hand: PtrF8,
    problem: PtrF8,
    out: PtrF8,
    h_out: PtrF8,
    inverse_out: PtrF8,
    twist_out: PtrF8,
) -> None:
    """Twist at the end of the step without contacts, S⁻¹, and H of `tool.put_twist`."""
    w, k, b, lhs, a = local_f8(6), local_f8(36), local_f8(36), local_f8(36), local_f8(36)
    base = Linear(w, k, b)
    add_hand(s, m, hand, (out[OUT_TURN], out[OUT_TURN + 1], out[OUT_TURN + 2]), base)
    for i in range(6):
        w[i] += problem[PROBLEM_WRENCH + i]
    step_equation(s, y, m, base, h_out, lhs, twist_out)
    column = local_f8(6)
    for j in range(7):
        for i in range(36):
            a[i] = lhs[i]
        for i in range(6):
            column[i] = twist_out[i] if j == 6 else (1.0 if i == j else 0.0)
        solve(a, column, 6)
        for i in range(6):
            if j == 6:
                twist_out[i] = column[i]
            else:
                inverse_out[6 * i + j] = column[i]
    # the turns of coupling and tool make S a little unsymmetric; the contact problem must not be
    for i in range(6):
        for j in range(i):
            mean = 0.5 * (inverse_out[6 * i + j] + inverse_out[6 * j + i])
            inverse_out[6 * i + j] = inverse_out[6 * j + i] = mean


@kernel
def _way(problem: PtrF8, y: PtrF8, way_out: PtrF8) -> None:
    """Way and turn of the tool since the state that the problem was made for."""
    then = off(problem, PROBLEM_STATE)
    turned = turn_between(quat_at(then, TOOL_QUATERNION), quat_at(y, TOOL_QUATERNION))
    for i in range(3):
        way_out[i] = y[TOOL_POSITION + i] - then[TOOL_POSITION + i]
        way_out[3 + i] = turned[i]


@kernel
def _solve(
    r: Rig, way: PtrF8, now: float, inverse: PtrF8, direct: bool, wrench_out: PtrF8
) -> tuple[float, int, int]:
    """Contact wrench on the tool; energy that the others hold [J], contacts that press, passes."""
    p, s = r.problem, r.settings
    count = int(p[PROBLEM_COUNT])
    for i in range(6):
        wrench_out[i] = 0.0
    if count == 0:
        return 0.0, 0, 0
    f, mark = off(r.forces, 1), r.forces
    problem = Problem(
        local_f8(ENTRIES),
        local_f8(1),
        local_i4(2),
        local_i4(1),
        local_f8(1),
        local_f8(ROWS),
        local_f8(CONTACTS),
    )
    problem.starts[0] = DENSE
    scratch = Scratch(
        local_f8(LOCAL),
        local_i4(CONTACTS),
        local_f8(ROWS),
        local_f8(ROWS),
        local_f8(ROWS),
        local_f8(ROWS),
        local_i4(CONTACTS),
        local_f8(HISTORY),
        local_f8(GRAM),
        local_i4(BOTH),
        local_f8(ROWS),
        local_f8(MATRIX),
        local_i4(ROWS),
        local_i4(2),
    )
    scratch.room[0], scratch.room[1] = ROWS, 0
    width, dt, elapsed = 3 * count, s[SET_STEP], now - p[PROBLEM_TIME]
    fresh = mark[0] != p[PROBLEM_SEQUENCE]
    mark[0] = p[PROBLEM_SEQUENCE]
    for c in range(count):
        row = off(p, PROBLEM_CONTACTS + NCONTACT * c)
        problem.mu[c] = row[CONTACT_MU]
        for x in range(3):
            j = off(row, CONTACT_JACOBIAN + 6 * x)
            q = row[CONTACT_OFFSET + x] + elapsed * row[CONTACT_DRIFT + x]
            for i in range(6):
                q += j[i] * way[i]
            problem.q[3 * c + x] = q
            if fresh:
                f[3 * c + x] = row[CONTACT_FORCE + x]
            answer = local_f8(6)
            for i in range(6):
                total = 0.0
                for k in range(6):
                    total += inverse[6 * i + k] * j[k]
                answer[i] = dt * dt * total
            for c2 in range(count):
                jacobian = off(p, PROBLEM_CONTACTS + NCONTACT * c2 + CONTACT_JACOBIAN)
                for x2 in range(3):
                    at = (3 * c2 + x2) * width + 3 * c + x
                    total = p[PROBLEM_COMPLIANCE + at]
                    if not direct:
                        for i in range(6):
                            total += jacobian[6 * x2 + i] * answer[i]
                    elif c2 == c and x2 == x:
                        total += count / s[SET_CAP]
                    problem.W[at] = total
    turned = local_f8(TURNED)
    _tilt(p, count, problem, f, turned)
    _, sweeps, newton = solve_contacts(problem, count, f, scratch, TOLERANCE, MAX_SWEEPS, True, 0)
    energy, pressing = 0.0, 0
    for c in range(count):
        if f[3 * c] > 0.0:
            pressing += 1
        put_vec(f, 3 * c, turn_back(off(turned, 9 * c), vec_at(f, 3 * c)))
    for c in range(count):
        row = off(p, PROBLEM_CONTACTS + NCONTACT * c)
        for x in range(3):
            for i in range(6):
                wrench_out[i] += row[CONTACT_JACOBIAN + 6 * x + i] * f[3 * c + x]
            moved = 0.0
            for k in range(width):
                moved += p[PROBLEM_COMPLIANCE + (3 * c + x) * width + k] * f[k]
            energy += 0.5 * f[3 * c + x] * moved
    return energy, pressing, sweeps + newton


@kernel
def _tilt(p: PtrF8, count: int, problem: Problem, f: PtrF8, turned_out: PtrF8) -> None:
    """Turn every contact's frame with its slip: W, q and f in the new frames.

    With e = δ_t − d* beyond the slip that the packet's normal is for, the normal is that of
    (1, H e), and the gap is larger by −(H e)·(d* + ½ e). turned_out: the turn of each contact's
    (n, t1, t2), (3, 3).
    """
    width, curved = 3 * count, False
    for c in range(count):
        row, r = off(p, PROBLEM_CONTACTS + NCONTACT * c), off(turned_out, 9 * c)
        for i in range(9):
            r[i] = 1.0 if i % 4 == 0 else 0.0
        h11, h12, h22 = (
            row[CONTACT_HESSIAN],
            row[CONTACT_HESSIAN + 1],
            row[CONTACT_HESSIAN + 2],
        )
        if h11 == 0.0 and h22 == 0.0:
            continue
        curved = True
        d1, d2 = row[CONTACT_EXPECTED_SLIP], row[CONTACT_EXPECTED_SLIP + 1]
        e1, e2 = problem.q[3 * c + 1] - d1, problem.q[3 * c + 2] - d2
        for k in range(width):
            e1 += problem.W[(3 * c + 1) * width + k] * f[k]
            e2 += problem.W[(3 * c + 2) * width + k] * f[k]
        a1, a2 = h11 * e1 + h12 * e2, h12 * e1 + h22 * e2
        size = sqrt(a1 * a1 + a2 * a2)
        if not size > 0.0:
            continue
        if size > MOST_TILT:
            a1, a2, size = a1 * MOST_TILT / size, a2 * MOST_TILT / size, MOST_TILT
        cos = 1.0 / sqrt(1.0 + size * size)
        sin, less = size * cos, 1.0 - cos
        b1, b2 = a1 / size, a2 / size
        r[0], r[1], r[2] = cos, sin * b1, sin * b2
        r[3], r[4], r[5] = -sin * b1, 1.0 - less * b1 * b1, -less * b1 * b2
        r[6], r[7], r[8] = -sin * b2, -less * b1 * b2, 1.0 - less * b2 * b2
        # before q is turned, so that it is turned along
        problem.q[3 * c] -= a1 * (d1 + 0.5 * e1) + a2 * (d2 + 0.5 * e2)
    if not curved:
        return
    for c in range(count):
        r = off(turned_out, 9 * c)
        put_vec(f, 3 * c, turn(r, vec_at(f, 3 * c)))
        put_vec(problem.q, 3 * c, turn(r, vec_at(problem.q, 3 * c)))
        for k in range(width):  # rows of W, then its columns
            column = (
                problem.W[3 * c * width + k],
                problem.W[(3 * c + 1) * width + k],
                problem.W[(3 * c + 2) * width + k],
            )
            column = turn(r, column)
            for x in range(3):
                problem.W[(3 * c + x) * width + k] = column[x]
    for c in range(count):
        r = off(turned_out, 9 * c)
        for k in range(width):
            put_vec(problem.W, width * k + 3 * c, turn(r, vec_at(problem.W, width * k + 3 * c)))
