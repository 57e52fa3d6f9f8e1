"""The contact problem of a held body, as the servo solves it again at every tick.

Between two steps of the scene the held body moves, and everything else is taken to answer to its
contact forces as it did in the last step: W but for the body's own rigid motion. See
`haptics.contact_problem`.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, local_i4, off, pointers, ptr
from tangere.contact.unilateral.contact_rows import vec
from tangere.contact.unilateral.delassus import set_block
from tangere.contact.unilateral.problem import (
    CF_CURVATURE,
    CF_EXPECTED_SLIP,
    CF_FORCE,
    CF_FREE,
    CF_GAP,
    CF_MU,
    CF_STRAIGHT,
    CF_T1,
    CF_T2,
    CI_A,
    CI_GROUP,
    NCF,
    NCI,
    NJ,
    ContactWork,
)
from tangere.haptics.layout import (
    CONTACT_DRIFT,
    CONTACT_EXPECTED_SLIP,
    CONTACT_FORCE,
    CONTACT_HESSIAN,
    CONTACT_JACOBIAN,
    CONTACT_MU,
    CONTACT_OFFSET,
    MAX_CONTACTS,
    NCONTACT,
    NPROBLEM,
    PROBLEM_COMPLIANCE,
    PROBLEM_CONTACTS,
    PROBLEM_COUNT,
    PROBLEM_DEPTH,
    PROBLEM_SEQUENCE,
    PROBLEM_TIME,
    PROBLEM_WRENCH,
)
from tangere.maths.vec import Array, dot

# Preference of a contact on the body itself over all others: more than any force [N], and so little
# that forces and gaps still tell contacts apart when it is added to them.
ON_TOOL = 1e6


@kernel
def make_problem(
    work: ContactWork, tool: int, dt: float, time: float, sequence: int, out_array: Array
) -> None:
    """Fill PROBLEM_… with the contacts of body `tool` in the step just made, of dt [s].

    All contacts of its group, if there is room, else those that press most: the others' forces are
    held. The caller enters the state that the body had at the start of the step.
    """
    p, out = pointers(work), ptr(out_array)
    c = p.contacts
    for i in range(NPROBLEM):
        out[i] = 0.0
    out[PROBLEM_SEQUENCE], out[PROBLEM_TIME] = sequence, time
    group = -1
    for k in range(c.used[0]):
        if _on(p, k, tool):
            group = c.ints[NCI * k + CI_GROUP]
            out[PROBLEM_DEPTH] = max(out[PROBLEM_DEPTH], -c.floats[NCF * k + CF_GAP])
    if group < 0:
        return
    chosen = local_i4(MAX_CONTACTS)
    count = _choose(p, tool, group, chosen)
    out[PROBLEM_COUNT] = count
    compliance = off(out, PROBLEM_COMPLIANCE)
    for a in range(count):
        row = off(out, PROBLEM_CONTACTS + NCONTACT * a)
        _enter_contact(p, chosen[a], tool, dt, row)
        for b in range(count):
            block = off(compliance, 9 * count * a + 3 * b)
            _block_without_tool(p, chosen[a], chosen[b], tool, dt, block, 3 * count)
    _hold_others(p, tool, group, chosen, count, dt, out)


@kernel
def _on(p: ContactWork, k: int, tool: int) -> bool:
    """Whether contact k is one of the held body."""
    ints = off(p.contacts.ints, NCI * k)
    return bool(ints[CI_A] == tool or ints[CI_A + 1] == tool)


@kernel
def _choose(p: ContactWork, tool: int, group: int, chosen: PtrI4) -> int:
    """Contacts of a group, at most MAX_CONTACTS: those of the body first, by force, then by gap."""
    c = p.contacts
    first, end = c.group_start[group], c.group_start[group + 1]
    count = 0
    if end - first <= MAX_CONTACTS:
        for at in range(first, end):
            chosen[count] = c.order[at]
            count += 1
        return count
    last, last_at = 1e300, -1
    while count < MAX_CONTACTS:
        best, best_at = -1e300, -1
        for at in range(first, end):
            k = c.order[at]
            row = off(c.floats, NCF * k)
            score = row[CF_FORCE] if row[CF_FORCE] > 0.0 else -max(0.0, row[CF_GAP])
            if _on(p, k, tool):
                score += ON_TOOL
            after = score < last or (score == last and at > last_at)
            if after and score > best:
                best, best_at = score, at
        chosen[count] = c.order[best_at]
        count += 1
        last, last_at = best, best_at
    return count


@kernel
def _enter_contact(p: ContactWork, k: int, tool: int, dt: float, out: PtrF8) -> None:
    """One contact: δ without contact forces is offset + drift t + J (motion of the held body)."""
    c, y = p.contacts, p.bodies
    row = off(c.floats, NCF * k)
    out[CONTACT_MU] = row[CF_MU]
    curved, e = row[CF_CURVATURE], vec(row, CF_STRAIGHT)
    e1, e2 = dot(e, vec(row, CF_T1)), dot(e, vec(row, CF_T2))
    out[CONTACT_HESSIAN] = curved * (1.0 - e1 * e1)
    out[CONTACT_HESSIAN + 1] = -curved * e1 * e2
    out[CONTACT_HESSIAN + 2] = curved * (1.0 - e2 * e2)
    out[CONTACT_EXPECTED_SLIP], out[CONTACT_EXPECTED_SLIP + 1] = (
        row[CF_EXPECTED_SLIP],
        row[CF_EXPECTED_SLIP + 1],
    )
    for x in range(3):
        out[CONTACT_OFFSET + x] = row[CF_FREE + x]
        out[CONTACT_FORCE + x] = row[CF_FORCE + x]
    for side in range(2):
        body = c.ints[NCI * k + CI_A + side]
        for x in range(3):
            j = off(c.jacobian, NJ * (2 * k + side) + 6 * x)
            for i in range(6):
                if body == tool:  # its own motion is the servo's
                    out[CONTACT_JACOBIAN + 6 * x + i] = j[i]
                    out[CONTACT_OFFSET + x] -= dt * j[i] * y.free[6 * body + i]
                else:  # what it does anyway goes on evenly, what changes is done at once
                    out[CONTACT_DRIFT + x] += j[i] * y.start[6 * body + i]
                    out[CONTACT_OFFSET + x] -= dt * j[i] * y.start[6 * body + i]


@kernel
def _block_without_tool(
    p: ContactWork, k: int, j: int, tool: int, dt: float, out: PtrF8, width: int
) -> None:
    """A block of W without the held body's rigid motion."""
    c = p.contacts
    set_block(c, p.soft.model, k, j, dt, out, width)
    for one in range(2):
        if c.ints[NCI * k + CI_A + one] != tool:
            continue
        for two in range(2):
            if c.ints[NCI * j + CI_A + two] != tool:
                continue
            a = off(c.jacobian, NJ * (2 * k + one))
            b = off(c.response, NJ * (2 * j + two))
            for x in range(3):
                for x2 in range(3):
                    for i in range(6):
                        out[width * x + x2] -= a[6 * x + i] * b[6 * x2 + i]


@kernel
def _hold_others(
    p: ContactWork, tool: int, group: int, chosen: PtrI4, count: int, dt: float, out: PtrF8
) -> None:
    """Forces of contacts that were left out: on the body, and what they move at the others."""
    c, block = p.contacts, local_f8(9)
    if c.group_start[group + 1] - c.group_start[group] <= count:
        return
    for at in range(c.group_start[group], c.group_start[group + 1]):
        k = c.order[at]
        f = vec(off(c.floats, NCF * k), CF_FORCE)
        left_out = f[0] > 0.0
        for a in range(count):
            left_out = left_out and chosen[a] != k
        if not left_out:
            continue
        for side in range(2):
            if c.ints[NCI * k + CI_A + side] == tool:
                j = off(c.jacobian, NJ * (2 * k + side))
                for x in range(3):
                    for i in range(6):
                        out[PROBLEM_WRENCH + i] += f[x] * j[6 * x + i]
        for a in range(count):
            _block_without_tool(p, chosen[a], k, tool, dt, block, 3)
            offset = off(out, PROBLEM_CONTACTS + NCONTACT * a + CONTACT_OFFSET)
            for x in range(3):
                offset[x] += dot(vec(block, 3 * x), f)
