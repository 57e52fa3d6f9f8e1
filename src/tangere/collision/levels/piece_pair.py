"""The contact of two convex pieces: nearest points, depth, how much of them is in contact.

All in the frame of the first piece. While the hulls are apart, GJK tells distance and nearest
points. Where they overlap, the second is moved out along the normal until a clear gap opens, GJK
runs there, and the nearest points, moved back, give the depth. The normal starts from the mean
normals of the two patches, or from the pair's last one, and may turn from there by 60°.

A nearest point counts only where it lies on the patch: the rest of a hull is no surface.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, PtrI8, local_f8, local_i4, off
from tangere.collision.closed_surface import nearest_on_triangle
from tangere.collision.epa import overlap, penetration
from tangere.collision.gjk import OVERLAP, gjk
from tangere.collision.levels.hierarchy import (
    FACE_AREA,
    NFACE,
    NODE_AXIS,
    NODE_EDGE,
    NODE_SLACK,
)
from tangere.maths.quat import turn
from tangere.maths.vec import Vec3, add, axpy, basis, dot, norm, scale, sub

# What became of a pair
FAR, VIRTUAL, REAL = 0, 1, 2
# A mean normal shorter than this is none: the patch bends round by more than a hemisphere.
NO_NORMAL = 0.3
COS60 = 0.5
# The gap that opens, in lengths of the smaller piece's edges, and rounds of moving out at most.
GAP, ROUNDS = 0.3, 3
# A triangle is one of the nearest if it is as near up to this share of an edge.
TIE = 1e-4
# How far the points of an overlap may be from opposite to each other, per depth and gap.
SLIP = 0.3
# Surfaces face each other if the cosine of their normals and the contact's is at least this.
FACING = 0.05
# Least share of the smaller patch that a contact stands for.
LEAST_SHARE = 0.01

# Columns of a contact of two pieces, in the first one's frame
FOUND_POINT = 0  # 3: on the first [m]
FOUND_NORMAL = 3  # 3: out of the first
FOUND_DEPTH = 6  # [m]
FOUND_AREA = 7  # in contact, of the patch with more of it [m²]
FOUND_SHARE = 8  # that both patches have in common, seen along the normal [m²]
FOUND_ERROR = 9  # how far the points may be off the patches [m]
FOUND_DISTANCE = 10  # of the hulls [m]
FOUND_OVERLAP = 11  # 1: the hulls overlap
FOUND_OTHER = 12  # 3: on the second [m]
NFOUND = 15


class Piece(NamedTuple):
    """One node as kernels pass it on; vertices and axis in the frame of the pair."""

    verts: PtrF8
    many: int
    corners: PtrI8
    faces: PtrF8
    triangles: int
    node: PtrF8
    axis: Vec3
    turn: PtrF8  # of the faces' normals to the frame of the pair


@kernel
def touch(a: Piece, b: Piece, reach: float, last: Vec3, simplex: PtrI4, out: PtrF8) -> int:
    """What there is between two pieces; writes FOUND_….

    FAR: their hulls are farther apart than `reach`; VIRTUAL: what is nearest is no surface, or does
    not face the other; REAL: a contact.

    Args:
        a: First piece.
        b: Second piece.
        reach: Largest distance that counts [m].
        last: Normal of the pair's last overlap; zero if there was none.
        simplex: Of GJK, int32[9], kept from call to call.
        out: NFOUND numbers.
    """
    status, d, ax, ay, az, bx, by, bz = gjk(
        a.verts, a.many, b.verts, b.many, (0.0, 0.0, 0.0), simplex
    )
    out[FOUND_DISTANCE] = d
    out[FOUND_OVERLAP] = 0.0
    if d > reach:
        return FAR
    if status == OVERLAP or not d > 0.0:
        return _overlapping(a, b, last, reach, out)
    p, q = (ax, ay, az), (bx, by, bz)
    u = scale(1.0 / d, sub(q, p))
    off_a, ma = normal_at(a, p)
    off_b, mb = normal_at(b, q)
    facing = dot(ma, u) > FACING and dot(mb, u) < -FACING
    if not facing or off_a > _allowed(a) or off_b > _allowed(b):
        return VIRTUAL
    _write(a, b, p, u, -d, off_a + off_b, reach, out)
    return REAL


@kernel
def _allowed(a: Piece) -> float:
    """How far off the patch a point of the hull may be and still belong to it [m]."""
    return float(2.0 * a.node[NODE_SLACK] + TIE * a.node[NODE_EDGE])


@kernel
def _overlapping(a: Piece, b: Piece, last: Vec3, reach: float, out: PtrF8) -> int:
    """Depth and points of two pieces that overlap, by moving b out along the normal."""
    start = last
    if dot(last, last) == 0.0:
        known, start = _way_out(a, b)
        if not known:
            return VIRTUAL
    simplex = local_i4(9)
    simplex[0] = 0
    gap = GAP * min(a.node[NODE_EDGE], b.node[NODE_EDGE])
    n = start
    depth = overlap(a.verts, a.many, b.verts, b.many, n)
    p, q = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for turn_number in range(ROUNDS):
        shift = scale(depth + gap, n)
        _, d, ax, ay, az, bx, by, bz = gjk(a.verts, a.many, b.verts, b.many, shift, simplex)
        fresh_p = (ax, ay, az)
        fresh_q = (bx - shift[0], by - shift[1], bz - shift[2])
        if turn_number == 0:
            p, q = fresh_p, fresh_q
        if not d > 0.0:
            break
        fresh = scale(1.0 / d, sub((bx, by, bz), fresh_p))
        if dot(fresh, start) < COS60:
            break
        less = overlap(a.verts, a.many, b.verts, b.many, fresh)
        if less > depth:
            break
        settled = depth - less <= 1e-3 * gap
        n, depth, p, q = fresh, less, fresh_p, fresh_q
        if settled:
            break
    out[FOUND_OVERLAP] = 1.0
    off_a, ma = normal_at(a, p)
    off_b, mb = normal_at(b, q)
    facing = dot(ma, n) > FACING and dot(mb, n) < -FACING
    if not facing or off_a > _allowed(a) or off_b > _allowed(b):
        return VIRTUAL
    # where the normal was not let turn, the two points are not opposite to each other
    slip = norm(sub(axpy(-depth, n, p), q))
    out[FOUND_OTHER], out[FOUND_OTHER + 1], out[FOUND_OTHER + 2] = q
    if slip > SLIP * (gap + depth):
        return VIRTUAL
    _write(a, b, p, n, depth, off_a + off_b + slip, reach, out)
    return REAL


@kernel
def _way_out(a: Piece, b: Piece) -> tuple[bool, Vec3]:
    """Direction out of a into b from the mean normals; by least overlap where these say nothing."""
    n = sub(a.axis, b.axis)
    sure = max(norm(a.axis), norm(b.axis))
    size = norm(n)
    if sure > NO_NORMAL and size > NO_NORMAL:
        return True, scale(1.0 / size, n)
    done, _, x, y, z = penetration(a.verts, a.many, b.verts, b.many)
    return done, (x, y, z)


@kernel
def corner_of(a: Piece, t: int, k: int) -> Vec3:
    """Corner k of triangle t of a piece."""
    v = off(a.verts, 3 * a.corners[3 * t + k])
    return (v[0], v[1], v[2])


@kernel
def normal_at(a: Piece, x: Vec3) -> tuple[float, Vec3]:
    """Distance of a point from the patch [m], and the mean normal of the triangles nearest."""
    if a.triangles == 1:
        f = a.faces
        return 0.0, turn(a.turn, (f[0], f[1], f[2]))
    away = local_f8(32)  # MAX_TRIANGLES
    best = inf
    for t in range(a.triangles):
        squared, _, _ = nearest_on_triangle(
            x, corner_of(a, t, 0), corner_of(a, t, 1), corner_of(a, t, 2)
        )
        away[t] = squared
        best = min(best, squared)  # in this order NaN, of a triangle without area, is passed over
    limit = sqrt(best) + TIE * a.node[NODE_EDGE]
    n = (0.0, 0.0, 0.0)
    for t in range(a.triangles):
        if away[t] <= limit * limit:
            f = off(a.faces, NFACE * t)
            n = add(n, (f[0], f[1], f[2]))
    size = norm(n)
    n = scale(1.0 / size, n) if size > 0.0 else n
    return sqrt(best), turn(a.turn, n)


@kernel
def _write(
    a: Piece, b: Piece, p: Vec3, n: Vec3, depth: float, error: float, reach: float, out: PtrF8
) -> None:
    """The contact with its areas."""
    out[0], out[1], out[2] = p
    out[3], out[4], out[5] = n
    out[FOUND_DEPTH] = depth
    out[FOUND_ERROR] = error
    box = local_f8(8)
    t1, t2 = basis(n)
    # a's patch is near where it is less than reach below the plane of b's nearest point, and so on
    area_a = _near_area(a, n, dot(n, p) - depth - reach, t1, t2, box)
    back = scale(-1.0, n)
    area_b = _near_area(b, back, -dot(n, p) - reach, t1, t2, off(box, 4))
    share_a, share_b = _common(box, off(box, 4))
    least = LEAST_SHARE * min(area_a, area_b)
    out[FOUND_AREA] = max(area_a * share_a, area_b * share_b, least)
    out[FOUND_SHARE] = max(min(area_a * share_a, area_b * share_b), least)


@kernel
def _near_area(a: Piece, n: Vec3, least: float, t1: Vec3, t2: Vec3, box: PtrF8) -> float:
    """Area of a patch, seen along n, where n·x ≥ least [m²]; its box across n goes to `box`."""
    box[0], box[1], box[2], box[3] = inf, -inf, inf, -inf
    total = 0.0
    for t in range(a.triangles):
        f = off(a.faces, NFACE * t)
        facing = dot(turn(a.turn, (f[0], f[1], f[2])), n)
        if facing <= FACING:
            continue
        x, y, z = corner_of(a, t, 0), corner_of(a, t, 1), corner_of(a, t, 2)
        hx, hy, hz = dot(n, x) - least, dot(n, y) - least, dot(n, z) - least
        if max(hx, hy, hz) <= 0.0:
            continue
        total += facing * f[FACE_AREA] * positive_share(hx, hy, hz)
        _include(x, y, hx, hy, t1, t2, box)
        _include(y, z, hy, hz, t1, t2, box)
        _include(z, x, hz, hx, t1, t2, box)
    return total


@kernel
def positive_share(x: float, y: float, z: float) -> float:
    """Share of a triangle in which a linear function with these corner values is positive."""
    low, high = min(x, y, z), max(x, y, z)
    middle = x + y + z - low - high
    if low >= 0.0:
        return 1.0
    if middle <= 0.0:
        return high * high / ((high - low) * (high - middle))
    return 1.0 - low * low / ((low - high) * (low - middle))


@kernel
def _include(x: Vec3, y: Vec3, hx: float, hy: float, t1: Vec3, t2: Vec3, box: PtrF8) -> None:
    """Widen the box by the part of a side from x to y that is positive."""
    if hx <= 0.0 and hy <= 0.0:
        return
    if hx < 0.0:
        x = axpy(hx / (hx - hy), sub(y, x), x)
    if hy < 0.0:
        y = axpy(hy / (hy - hx), sub(x, y), y)
    for end in range(2):
        z = x if end == 0 else y
        u, v = dot(t1, z), dot(t2, z)
        box[0], box[1] = min(box[0], u), max(box[1], u)
        box[2], box[3] = min(box[2], v), max(box[3], v)


@kernel
def _common(one: PtrF8, two: PtrF8) -> tuple[float, float]:
    """Shares of two boxes that lie in both."""
    width = min(one[1], two[1]) - max(one[0], two[0])
    depth = min(one[3], two[3]) - max(one[2], two[2])
    if not (width > 0.0 and depth > 0.0):
        return 0.0, 0.0
    both = width * depth
    return (
        both / ((one[1] - one[0]) * (one[3] - one[2])),
        both / ((two[1] - two[0]) * (two[3] - two[2])),
    )


@kernel
def axis_of(node: PtrF8) -> Vec3:
    """Mean outward normal of a node, in its own frame."""
    return (node[NODE_AXIS], node[NODE_AXIS + 1], node[NODE_AXIS + 2])
