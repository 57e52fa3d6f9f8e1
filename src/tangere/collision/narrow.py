"""Whether two convex parts touch, and along which normal ([HASEGAWA2004] 4.2).

Coherence carries the normal: apart, it is the direction between the closest points (GJK); once they
overlap, b is moved out along the last normal by the exact overlap plus a gap, and the direction
between the closest points of the separated pair is the new normal. The plane passes midway between
the two closest points, b moved back.

Differs from [HASEGAWA2004]: the shift is the exact overlap h_a(n) + h_b(−n) (support functions), so
one shift always separates and nothing is doubled. The new normal may turn by any angle: moved by
overlap + gap along n the parts are at least the gap apart, so moving back along the new normal
leaves an overlap of (overlap + gap) cos φ − distance ≤ overlap; it never grows.
"""

from __future__ import annotations

from math import inf

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.collision.clip import View
from tangere.collision.gjk import APART, gjk
from tangere.maths.quat import turn
from tangere.maths.vec import Vec3, dot, norm, scale, sub
from tangere.model import PHASE_APART, PHASE_NEW, PHASE_TOUCH, Hulls, Model, State, World

# Gap between the parts when the new normal is sought, as a share of the smaller part's size: far
# above rounding, small enough that the separated pair sees the same features.
GAP = 0.02


@kernel
def world_view(m: Model, h: Hulls, s: State, w: World, p: int, step: int) -> View:
    """Part p in the world; its vertices and planes are transformed at most once per step."""
    hull = m.part_hull[p]
    v0, v1 = h.vert_start[hull], h.vert_start[hull + 1]
    f0, f1 = h.face_start[hull], h.face_start[hull + 1]
    verts = off(w.verts, 3 * m.world_start[2 * p])
    planes = off(w.planes, 4 * m.world_start[2 * p + 1])
    if w.stamp[p] != step:
        w.stamp[p] = step
        i = m.part_body[p]
        r = off(s.rotation, 9 * i)
        x0, x1, x2 = s.position[3 * i], s.position[3 * i + 1], s.position[3 * i + 2]
        for j in range(v1 - v0):
            v = off(h.verts, 3 * (v0 + j))
            verts[3 * j] = x0 + r[0] * v[0] + r[1] * v[1] + r[2] * v[2]
            verts[3 * j + 1] = x1 + r[3] * v[0] + r[4] * v[1] + r[5] * v[2]
            verts[3 * j + 2] = x2 + r[6] * v[0] + r[7] * v[1] + r[8] * v[2]
        for j in range(f1 - f0):
            n = off(h.planes, 4 * (f0 + j))
            o = turn(r, (n[0], n[1], n[2]))
            planes[4 * j], planes[4 * j + 1], planes[4 * j + 2] = o
            planes[4 * j + 3] = n[3] + o[0] * x0 + o[1] * x1 + o[2] * x2
    return View(verts, v1 - v0, planes, f1 - f0, off(h.loop_start, f0), h.loops)


@kernel
def highest(v: View, n: Vec3) -> float:
    """Support function of a part: the greatest n·x over its vertices [m]."""
    high = -inf
    for i in range(v.vert_count):
        x = off(v.verts, 3 * i)
        high = max(high, n[0] * x[0] + n[1] * x[1] + n[2] * x[2])
    return high


@kernel
def boxes_gap(m: Model, h: Hulls, s: State, p: int, q: int, n: Vec3) -> float:
    """Distance along n from the turned bounding box of part p to that of part q [m].

    Never more than that of the parts, and the same for boxes; no vertex has to be known. Support
    of a box with centre c and half extents e:  n·x + Σ (Rᵀn)ₖ cₖ + |(Rᵀn)ₖ| eₖ.
    """
    gap = 0.0
    for side in range(2):
        part, sign = (p, -1.0) if side == 0 else (q, 1.0)
        i = m.part_body[part]
        box = off(h.box, 6 * m.part_hull[part])
        r, x = off(s.rotation, 9 * i), off(s.position, 3 * i)
        for k in range(3):
            along = r[k] * n[0] + r[3 + k] * n[1] + r[6 + k] * n[2]
            gap += sign * (n[k] * x[k] + along * box[k]) - abs(along) * box[3 + k]
    return gap


@kernel
def lowest(b: View, plane: PtrF8) -> tuple[int, float]:
    """Vertex deepest below a plane N·x = d, and its depth [m]."""
    under, depth = 0, -inf
    for i in range(b.vert_count):
        x = off(b.verts, 3 * i)
        below = plane[3] - (x[0] * plane[0] + x[1] * plane[1] + x[2] * plane[2])
        if below > depth:
            under, depth = i, below
    return under, depth


@kernel
def thinner(a: View, b: View, n: Vec3) -> float:
    """Thickness along n of the thinner of two parts [m]."""
    back = scale(-1.0, n)
    return min(highest(a, n) + highest(a, back), highest(b, n) + highest(b, back))


@kernel
def contact_normal(
    a: View, b: View, gap: float, phase: int, normal: PtrF8, simplex: PtrI4
) -> tuple[bool, Vec3, float]:
    """Overlapping?, a point of the contact plane, overlap along the normal [m].

    `normal` is read as the last one (unless `phase` is PHASE_NEW) and left as the new one.
    """
    if phase != PHASE_TOUCH:
        n = (normal[0], normal[1], normal[2])
        # while the last normal still separates by more than the gap there is no need to look closer
        if phase == PHASE_APART and -highest(b, scale(-1.0, n)) - highest(a, n) > gap:
            return False, (0.0, 0.0, 0.0), 0.0
        status, distance, ax, ay, az, bx, by, bz = gjk(
            a.verts, a.vert_count, b.verts, b.vert_count, (0.0, 0.0, 0.0), simplex
        )
        if status == APART:
            normal[0] = (bx - ax) / distance
            normal[1] = (by - ay) / distance
            normal[2] = (bz - az) / distance
            return False, (0.0, 0.0, 0.0), 0.0
        if phase == PHASE_NEW:
            least_overlap(a, b, normal)
        simplex[0] = 0  # the overlapping simplex says nothing about the separated pair
    n = (normal[0], normal[1], normal[2])
    overlap = highest(a, n) + highest(b, scale(-1.0, n))
    if overlap <= 0.0:
        return False, (0.0, 0.0, 0.0), 0.0
    shift = scale(overlap + gap, n)
    _, _, ax, ay, az, bx, by, bz = gjk(a.verts, a.vert_count, b.verts, b.vert_count, shift, simplex)
    between = sub((bx, by, bz), (ax, ay, az))
    point = scale(0.5, (ax + bx - shift[0], ay + by - shift[1], az + bz - shift[2]))
    length = norm(between)
    if not length > 0.0:  # numerically touching although moved apart: keep the old normal
        return True, point, overlap
    fresh = scale(1.0 / length, between)
    # closest points: no other pair is nearer along `fresh`, so moving back leaves this overlap
    fresh_overlap = dot(shift, fresh) - length
    normal[0], normal[1], normal[2] = fresh
    return fresh_overlap > 0.0, point, fresh_overlap


@kernel
def least_overlap(a: View, b: View, normal: PtrF8) -> None:
    """The face normal along which the parts overlap least: a start when nothing is known."""
    best = inf
    normal[0], normal[1], normal[2] = 0.0, 0.0, 1.0
    for f in range(a.face_count):
        n = (a.planes[4 * f], a.planes[4 * f + 1], a.planes[4 * f + 2])
        depth = a.planes[4 * f + 3] + highest(b, scale(-1.0, n))
        if depth < best:
            best = depth
            normal[0], normal[1], normal[2] = n
    for f in range(b.face_count):
        n = (-b.planes[4 * f], -b.planes[4 * f + 1], -b.planes[4 * f + 2])
        depth = highest(a, n) + b.planes[4 * f + 3]
        if depth < best:
            best = depth
            normal[0], normal[1], normal[2] = n
