"""Whether principal contacts can hold together: exactly, at one pose, without overlap.

The test of a formation solves for a pose near the present one that closes all its contacts, by
Gauss–Newton on the rigid motions, and looks whether they are what is left there: every region lies
within both its elements, no contact is part of a higher one, nothing overlaps.

| contact            | equations                                              |
| vertex – face      | 1: height of the vertex over the plane                 |
| edge × edge        | 1: distance of the lines                               |
| edge – face        | 2: heights of both ends of the edge                    |
| face – face        | 3: heights of three points of A's face over B's plane  |
| vertex – edge      | 2: distances from the line, across it                  |
| edge ∥ edge        | 4: the same for both ends of A's edge                  |
| vertex – vertex    | 3: the way from one to the other                       |
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, off, pointers, ptr
from tangere.contact.formation.candidates import Surface, axis, origin, place, within
from tangere.contact.formation.columns import (
    LINE,
    NPC,
    PC_COUNT,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_POLYGON_GAP,
    PC_REGION,
    POINT,
)
from tangere.contact.formation.flat_contacts import Limits, outside, plane_point
from tangere.contact.formation.overlap import overlap
from tangere.contact.formation.principal_contacts import find_contact, is_curved
from tangere.geometry.boundary import EDGE, FACE, PLANE, VERTEX
from tangere.maths.quat import Quat, from_vector, product, unit
from tangere.maths.vec import Vec3, add, axpy, cross, dot, norm, scale, sub

STEPS = 12
# Residual at which contacts count as closed [m]: above the rounding of bodies of some metres
# (1e-15), far below any contact layer.
CLOSED = 1e-12
# At the solved pose contacts may be off by this, and bodies overlap no deeper [m].
EXACT = 1e-6
DEEPEST = 1e-5
# Pieces of a line whose ends are looked at, whether they lie on a face
TRIED = 16
# cos of angles between normals of planes on either body may differ by this: 0.5° at 90°.
SAME_ANGLE = 0.0087

# Verdicts
VALID, FAR, IMPOSSIBLE = 1, 0, -1


class Trial(NamedTuple):
    """What the test works on.

    | field | meaning                                        |
    | body  | A in its own frame                             |
    | moved | A where the test puts it                       |
    | fixed | B                                              |
    | lists | elements of either surface, (2, longest)       |
    | scale | radius of A about its origin, layer ε, longest |
    |       | way to the pose where all contacts are closed, |
    |       | how far points are to be off the rims [m]      |
    """

    body: Surface
    moved: Surface
    fixed: Surface
    lists: PtrI4
    scale: PtrF8


@kernel
def judge(
    t: Trial,
    count: int,
    first: PtrI4,
    second: PtrI4,
    regions: PtrI4,
    at: Vec3,
    q: Quat,
    pose_out: PtrF8,
) -> int:
    """Whether contacts hold together near a pose: VALID, FAR (not near here), or IMPOSSIBLE.

    Args:
        t: Both surfaces.
        count: Number of contacts.
        first: Their elements of A.
        second: Their elements of B.
        regions: POINT, LINE or PLANE.
        at: Position of A to start from [m].
        q: Its orientation.
        pose_out: Where they hold: position and quaternion.
    """
    if _part_of_another(t, count, first, second) or _angles_differ(t, count, first, second):
        return IMPOSSIBLE
    at, q, closed = _solve(t, count, first, second, regions, at, q)
    for k in range(3):
        pose_out[k] = at[k]
    for k in range(4):
        pose_out[3 + k] = q[k]
    if not closed or not _holds(t, count, first, second, regions):
        return FAR
    apart = not overlap(t.moved, t.fixed, t.lists, DEEPEST)
    return VALID if apart else FAR


@kernel
def _part_of_another(t: Trial, count: int, first: PtrI4, second: PtrI4) -> bool:
    """Whether the elements of one contact bound those of another."""
    for i in range(count):
        for j in range(count):
            if i != j and within(t.body, first[i], first[j]):
                if within(t.fixed, second[i], second[j]):
                    return True
    return False


@kernel
def _angles_differ(t: Trial, count: int, first: PtrI4, second: PtrI4) -> bool:
    """Whether two pairs of faces cannot both be flush: their angles on A and on B differ."""
    for i in range(count):
        if t.body.kind[first[i]] != PLANE or t.fixed.kind[second[i]] != PLANE:
            continue
        for j in range(i):
            if t.body.kind[first[j]] == PLANE and t.fixed.kind[second[j]] == PLANE:
                on_a = dot(axis(t.body, first[i]), axis(t.body, first[j]))
                on_b = dot(axis(t.fixed, second[i]), axis(t.fixed, second[j]))
                if abs(on_a - on_b) > SAME_ANGLE:
                    return True
    return False


# ---------------------------------------------------------------- the pose that closes all


@kernel
def _solve(
    t: Trial, count: int, first: PtrI4, second: PtrI4, regions: PtrI4, at: Vec3, q: Quat
) -> tuple[Vec3, Quat, bool]:
    """Gauss–Newton: the least motion that closes all contacts, again until they are closed.

    The unknowns are a shift and a turn times the radius of A. (JᵀJ + λ) x = −Jᵀc with a tiny λ is
    the least such x where J has not full rank. Returns the pose, and whether it was reached near
    the start; A is left placed there.
    """
    radius = t.scale[0]
    h, x = local_f8(36), local_f8(6)
    way, turn = (0.0, 0.0, 0.0), 0.0
    for _ in range(STEPS):
        place(t.body, at, q, t.moved)
        for k in range(36):
            h[k] = 0.0
        for k in range(6):
            x[k] = 0.0
        worst = 0.0
        for c in range(count):
            worst = max(worst, _equations(t, first[c], second[c], regions[c], at, h, x))
        if worst < CLOSED:
            return at, q, True
        if not _solve_six(h, x):
            return at, q, False
        shift = (x[0], x[1], x[2])
        spin = (x[3] / radius, x[4] / radius, x[5] / radius)
        way, turn = add(way, shift), turn + norm(spin)
        if norm(way) > t.scale[2] + radius * turn or turn > 1.0:
            return at, q, False
        at, q = add(at, shift), unit(product(from_vector(spin), q))
    return at, q, False


@kernel
def _equations(t: Trial, i: int, j: int, region: int, at: Vec3, h: PtrF8, x: PtrF8) -> float:
    """Add the equations of one contact to JᵀJ and −Jᵀc; the largest residual [m]."""
    a, b, radius = t.moved, t.fixed, t.scale[0]
    da, db = a.dimension[i], b.dimension[j]
    p, q = origin(a, i), origin(b, j)
    worst = 0.0
    if is_curved(a.kind[i]) or is_curved(b.kind[j]):
        row = local_f8(NPC)
        wide = 10.0 * t.scale[2]
        level = -1.0 if region == POINT else wide
        if not find_contact(a, i, b, j, Limits(wide, wide, wide, wide, 0.0, level), row):
            return 1.0
        n = (row[PC_NORMAL], row[PC_NORMAL + 1], row[PC_NORMAL + 2])
        for k in range(int(row[PC_COUNT])):
            x3 = off(row, PC_POLYGON + 3 * k)
            y = sub((x3[0], x3[1], x3[2]), at)
            worst = max(worst, _row(row[PC_POLYGON_GAP + k], n, y, radius, h, x))
        return worst
    if db == FACE:
        n = axis(b, j)
        if da == VERTEX:
            return _row(dot(n, sub(p, q)), n, sub(p, at), radius, h, x)
        f = off(a.frame, 12 * i)
        if da == EDGE:
            half = a.size[4 * i]
            for k in range(2):
                y = axpy(half if k == 0 else -half, axis(a, i), p)
                worst = max(worst, _row(dot(n, sub(y, q)), n, sub(y, at), radius, h, x))
            return worst
        for k in range(3):
            u, v = (radius, 0.0) if k == 0 else (-0.5 * radius, radius if k == 1 else -radius)
            y = axpy(u, (f[0], f[4], f[8]), axpy(v, (f[1], f[5], f[9]), p))
            worst = max(worst, _row(dot(n, sub(y, q)), n, sub(y, at), radius, h, x))
        return worst
    if da == FACE:
        # the height of a point of B over A's plane grows as that point moves against A
        n = axis(a, i)
        back = scale(-1.0, n)
        if db == VERTEX:
            return _row(dot(n, sub(q, p)), back, sub(q, at), radius, h, x)
        half = b.size[4 * j]
        for k in range(2):
            y = axpy(half if k == 0 else -half, axis(b, j), q)
            worst = max(worst, _row(dot(n, sub(y, p)), back, sub(y, at), radius, h, x))
        return worst
    if da == EDGE and db == EDGE and region != LINE:
        d, e = axis(a, i), axis(b, j)
        c = cross(d, e)
        sine = norm(c)
        if sine < 1e-9:
            return 1.0
        n, r = scale(1.0 / sine, c), sub(p, q)
        y = axpy(dot(cross(e, r), n) / sine, d, p)
        return _row(dot(n, r), n, sub(y, at), radius, h, x)
    if db == EDGE:
        half = a.size[4 * i] if da == EDGE else 0.0
        for k in range(2 if da == EDGE else 1):
            y = axpy(half if k == 0 else -half, axis(a, i), p)
            worst = max(worst, _across(b, j, y, q, 1.0, sub(y, at), radius, h, x))
        return worst
    if da == EDGE:
        return _across(a, i, q, p, -1.0, sub(q, at), radius, h, x)
    for k in range(3):
        n = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        worst = max(worst, _row(p[k] - q[k], n, sub(p, at), radius, h, x))
    return worst


@kernel
def _across(
    s: Surface, e: int, y: Vec3, q: Vec3, sign: float, arm: Vec3, radius: float, h: PtrF8, x: PtrF8
) -> float:
    """The two distances of a point from a line; sign: −1 where the line moves, not the point."""
    f = off(s.frame, 12 * e)
    worst = 0.0
    for k in range(2):
        n = (f[k], f[4 + k], f[8 + k])
        worst = max(worst, _row(dot(n, sub(y, q)), scale(sign, n), arm, radius, h, x))
    return worst


@kernel
def _row(c: float, n: Vec3, arm: Vec3, radius: float, h: PtrF8, x: PtrF8) -> float:
    """Add one equation: A's point at `arm` moves along n until c = 0; |c|."""
    m = cross(arm, n)
    s = 1.0 / radius
    g = (n[0], n[1], n[2], s * m[0], s * m[1], s * m[2])
    for i in range(6):
        x[i] -= c * g[i]
        for k in range(6):
            h[6 * i + k] += g[i] * g[k]
    return abs(c)


@kernel
def _solve_six(h: PtrF8, x: PtrF8) -> bool:
    """Solve a symmetric system of six in place, after a tiny shift, by Cholesky."""
    trace = 0.0
    for i in range(6):
        trace += h[7 * i]
    for i in range(6):
        h[7 * i] += 1e-11 * trace
    for i in range(6):
        for k in range(i + 1):
            s = h[6 * i + k]
            for m in range(k):
                s -= h[6 * i + m] * h[6 * k + m]
            if i == k:
                if s <= 0.0:
                    return False
                h[7 * i] = sqrt(s)
            else:
                h[6 * i + k] = s / h[7 * k]
        for k in range(i):
            x[i] -= h[6 * i + k] * x[k]
        x[i] /= h[7 * i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            x[i] -= h[6 * k + i] * x[k]
        x[i] /= h[7 * i]
    return True


# ---------------------------------------------------------------- what holds at that pose


@kernel
def _holds(t: Trial, count: int, first: PtrI4, second: PtrI4, regions: PtrI4) -> bool:
    """Whether every contact is there at the solved pose, and is not part of a higher one."""
    a, b = t.moved, t.fixed
    layer = t.scale[1]
    exact = Limits(EXACT, EXACT, 0.1 * layer, DEEPEST, EXACT, EXACT)
    row = local_f8(NPC)
    for c in range(count):
        i, j = first[c], second[c]
        if not find_contact(a, i, b, j, exact, row) or row[PC_REGION] != regions[c]:
            return False
        point = (row[PC_POINT], row[PC_POINT + 1], row[PC_POINT + 2])
        if not (_off_rim(a, i, point, t.scale[3]) and _off_rim(b, j, point, t.scale[3])):
            return False
    narrow = Limits(EXACT, EXACT, EXACT, 10.0 * DEEPEST, 0.1 * layer, EXACT)
    for c in range(count):
        i, j = first[c], second[c]
        for k in range(a.sizes[0]):
            if a.dimension[k] < EDGE or not within(a, i, k):
                continue
            for m in range(b.sizes[0]):
                if b.dimension[m] < EDGE or not within(b, j, m) or (k == i and m == j):
                    continue
                if find_contact(a, k, b, m, narrow, row):
                    if row[PC_REGION] > regions[c] or _goes_on(t, k, m, row):
                        return False
    return True


@kernel
def _goes_on(t: Trial, k: int, m: int, row: PtrF8) -> bool:
    """Whether a line goes on into a face, where it began as an edge beside an edge."""
    margin = t.scale[3]
    if margin == 0.0 or row[PC_REGION] != LINE:
        return False
    p = off(row, PC_POLYGON)
    for step in range(TRIED + 1):
        way = step / TRIED
        x = axpy(way, (p[3] - p[0], p[4] - p[1], p[5] - p[2]), (p[0], p[1], p[2]))
        if _inside(t.moved, k, x, margin) and _inside(t.fixed, m, x, margin):
            return True
    return False


@kernel
def _inside(s: Surface, e: int, x: Vec3, margin: float) -> bool:
    """Whether a point of a face is off its rim; of an edge: always."""
    if s.dimension[e] != FACE:
        return True
    u, v = plane_point(s, e, x)
    return outside(s, e, u, v) < -margin


@kernel
def _off_rim(s: Surface, e: int, x: Vec3, margin: float) -> bool:
    """Whether a point of a contact is within an element, not on what bounds it; 0: any is.

    On a concave edge a body touches the faces there, not the edge.
    """
    if margin == 0.0 or s.dimension[e] == VERTEX:
        return True
    if s.dimension[e] == EDGE:
        return bool(abs(dot(sub(x, origin(s, e)), axis(s, e))) < s.size[4 * e] - margin)
    u, v = plane_point(s, e, x)
    if outside(s, e, u, v) < -margin:
        return True
    for k in range(s.below_start[e], s.below_start[e + 1]):
        edge = s.below[k]
        r, d = sub(x, origin(s, edge)), axis(s, edge)
        along = dot(r, d)
        if s.tip[edge] == 0 and norm(axpy(-along, d, r)) < margin:
            return True
    return False


# ---------------------------------------------------------------- every formation of two bodies


@kernel
def judge_at(t: Trial, count: int, first: PtrI4, second: PtrI4, regions: PtrI4, pose: PtrF8) -> int:
    """The verdict on contacts near a pose, which becomes that where they hold."""
    at, q = (pose[0], pose[1], pose[2]), (pose[3], pose[4], pose[5], pose[6])
    return judge(pointers(t), count, ptr(first), ptr(second), ptr(regions), at, q, ptr(pose))


@kernel
def judge_additions(
    t: Trial,
    count: int,
    first: PtrI4,
    second: PtrI4,
    regions: PtrI4,
    single: PtrI4,
    poses: PtrF8,
    verdicts_out: PtrI4,
) -> None:
    """Whether contacts can hold together with each of a list of single ones.

    Args:
        t: Both surfaces.
        count: Contacts of the formation; the arrays of elements have room for one more.
        first: Their elements of A.
        second: Their elements of B.
        regions: Their regions.
        single: Element of A, of B and region of every single contact, shape (n, 3).
        poses: Where to start from, one for each, shape (n, 7); where they hold, afterwards.
        verdicts_out: One for each.
    """
    for k in range(len(verdicts_out)):
        first[count], second[count] = single[3 * k], single[3 * k + 1]
        regions[count] = single[3 * k + 2]
        verdicts_out[k] = judge_at(t, count + 1, first, second, regions, poses[7 * k : 7 * k + 7])
