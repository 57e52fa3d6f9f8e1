"""Where two convex parts can touch within a step: a few points with gaps, and one normal.

What unilateral contact needs, other than overlap: parts that are still apart by less than a margin
have points, too, with positive gaps. Faces give the points of the incident face, clipped to the
sides of the reference face; edges and vertices the closest pair; curved solids the ends of the
line or points on the rim of the disc that they rest on. Points that overlap have negative gaps.
"""

from __future__ import annotations

from math import cos, inf, pi, sin
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, off
from tangere.collision.clip import MAX_POLYGON, View, cut_polygon
from tangere.collision.curved import FACETS, meet_solids
from tangere.collision.gjk import APART, gjk
from tangere.collision.narrow import GAP, highest, least_overlap
from tangere.collision.solids import (
    CIRCLE,
    PLANE,
    POLYGON,
    Face,
    Solid,
    edge_count,
    edge_of,
    face_of,
    generator,
    support_point,
    within,
)
from tangere.geometry.curve import BALL, CAPSULE, CONE, HULL
from tangere.maths.vec import Vec3, axpy, basis, cross, dot, norm, scale, sub
from tangere.model import PHASE_APART, PHASE_NEW

# Points of one pair: enough for every polygon a box can meet another box in.
MAX_POINTS = 8
NPOINT = 4  # columns of a point: world position on b [m], gap along the normal [m]
# A normal within this of a face's belongs to the face: 1 − cos of 1.4 mrad, far above GJK's error.
ALIGNED = 1e-6
# Points on a rim: six hold a disc from tipping over any edge by 13 % early at most.
RIM = 6
# A line steeper than this against the face (sine) touches by an end, not along its length.
STEEP = 0.7
# Closest points at a lesser distance than this share of the size tell no direction.
TOUCHING = 1e-6
# Parts turn by less than this in a step [rad].
TURN = 0.1


class Points(NamedTuple):
    """Points being collected: rows of NPOINT numbers, at most MAX_POLYGON of them."""

    rows: PtrF8
    margin: float  # larger gaps are left out [m]


@kernel
def contact_points(
    a: Solid,
    b: Solid,
    size: float,
    margin: float,
    phase: int,
    normal: PtrF8,
    simplex: PtrI4,
    out: PtrF8,
) -> int:
    """Points at which two parts are closer than the margin [m]; returns their number.

    `normal` (a to b) is the last one, see `phase`, and is left as the new one. size: of the smaller
    part [m]. out: (MAX_POINTS, NPOINT).
    """
    if a.kind == HULL and b.kind == HULL:
        return hull_points(a.hull, b.hull, size, margin, phase, normal, simplex, out)
    found = meet_solids(a, b, size, margin, phase, normal, simplex)
    if not found.near:
        return 0
    rows = local_f8(2048)  # NPOINT * MAX_POLYGON
    points = Points(rows, margin)
    count = 0
    if found.face == FACETS:
        count = _hull_on_end(a, b, found.normal, points)
    elif found.face != 0:
        on = face_of(a, found.face - 1) if found.face > 0 else face_of(b, -found.face - 1)
        count = _resting_points(b if found.face > 0 else a, on, points)
        if found.face < 0:
            _across(rows, count, found.normal)
    if count == 0:
        _append(points, 0, axpy(-0.5 * found.depth, found.normal, found.point), -found.depth)
        count = 1
    return _reduce(rows, count, found.normal, out)


@kernel
def floor_points(b: Solid, plane: PtrF8, margin: float, out: PtrF8) -> int:
    """Points at which a part is closer than the margin to the half-space N·x ≤ d [m]."""
    rows = local_f8(2048)
    points = Points(rows, margin)
    n = (plane[0], plane[1], plane[2])
    count = 0
    if b.kind == HULL:
        for i in range(b.hull.vert_count):
            x = off(b.hull.verts, 3 * i)
            p = (x[0], x[1], x[2])
            count = _append(points, count, p, dot(n, p) - plane[3])
    else:
        on = Face(n, plane[3], PLANE, b.hull, 0, b.centre, 0.0)
        count = _resting_points(b, on, points)
    return _reduce(rows, count, n, out)


# ---------------------------------------------------------------- hulls


@kernel
def hull_points(
    a: View,
    b: View,
    size: float,
    margin: float,
    phase: int,
    normal: PtrF8,
    simplex: PtrI4,
    out: PtrF8,
) -> int:
    """`contact_points` of two polyhedra."""
    last = (normal[0], normal[1], normal[2])
    if phase == PHASE_APART and -highest(b, scale(-1.0, last)) - highest(a, last) > margin:
        return 0
    n, p, gap = _separation(a, b, size, phase, normal, simplex)
    normal[0], normal[1], normal[2] = n
    if gap > margin:
        return 0
    rows = local_f8(2048)
    points = Points(rows, margin)
    face_a, along_a = _aligned(a, n, 1.0)
    face_b, along_b = _aligned(b, n, -1.0)
    count = 0
    if max(along_a, along_b) > 1.0 - ALIGNED:
        if along_a >= along_b:
            count = _clipped(a, face_a, b, points)
            f = off(a.planes, 4 * face_a)
            n = (f[0], f[1], f[2])
        else:
            count = _clipped(b, face_b, a, points)
            f = off(b.planes, 4 * face_b)
            n = (-f[0], -f[1], -f[2])
            _across(rows, count, n)
        normal[0], normal[1], normal[2] = n
    if count == 0:  # edges or vertices: the closest pair
        count = _append(points, 0, axpy(0.5 * gap, n, p), gap)
    return _reduce(rows, count, n, out)


@kernel
def _separation(
    a: View, b: View, size: float, phase: int, normal: PtrF8, simplex: PtrI4
) -> tuple[Vec3, Vec3, float]:
    """Normal from a to b, a point midway between the surfaces, and the gap along it [m].

    b is moved out along the last normal until the parts are apart, so that the direction between
    their closest points is well defined for parts that touch or overlap, too.
    """
    if phase == PHASE_NEW:
        status, distance, ax, ay, az, bx, by, bz = gjk(
            a.verts, a.vert_count, b.verts, b.vert_count, (0.0, 0.0, 0.0), simplex
        )
        if status == APART and distance > TOUCHING * size:
            way = scale(1.0 / distance, (bx - ax, by - ay, bz - az))
            normal[0], normal[1], normal[2] = way
        else:
            least_overlap(a, b, normal)
        simplex[0] = 0
    n = (normal[0], normal[1], normal[2])
    overlap = highest(a, n) + highest(b, scale(-1.0, n))
    shift = scale(max(0.0, overlap + GAP * size), n)
    _, _, ax, ay, az, bx, by, bz = gjk(a.verts, a.vert_count, b.verts, b.vert_count, shift, simplex)
    between = (bx - ax, by - ay, bz - az)
    point = scale(0.5, (ax + bx - shift[0], ay + by - shift[1], az + bz - shift[2]))
    length = norm(between)
    if length > 0.0:
        n = scale(1.0 / length, between)
        return n, point, length - dot(shift, n)
    return n, point, -overlap


@kernel
def _aligned(v: View, n: Vec3, sign: float) -> tuple[int, float]:
    """The face of a part whose outward normal is most along ±n, and the cosine."""
    best, face = -inf, 0
    for f in range(v.face_count):
        p = off(v.planes, 4 * f)
        along = sign * (p[0] * n[0] + p[1] * n[1] + p[2] * n[2])
        if along > best:
            best, face = along, f
    return face, best


@kernel
def _clipped(a: View, face: int, b: View, points: Points) -> int:
    """Points of b's incident face above a reference face of a, with their gaps to it."""
    plane = off(a.planes, 4 * face)
    n = (plane[0], plane[1], plane[2])
    incident, _ = _aligned(b, n, -1.0)
    one, two = local_f8(1536), local_f8(1536)  # 3 * MAX_POLYGON each
    corners = 0
    for k in range(b.loop_start[incident], b.loop_start[incident + 1]):
        x = off(b.verts, 3 * b.loops[k])
        for i in range(3):
            one[3 * corners + i] = x[i]
        corners += 1
    first, end = a.loop_start[face], a.loop_start[face + 1]
    side = local_f8(4)
    swapped = False
    for k in range(first, end):
        v = off(a.verts, 3 * a.loops[k])
        w = off(a.verts, 3 * a.loops[k + 1 if k + 1 < end else first])
        outward = cross((w[0] - v[0], w[1] - v[1], w[2] - v[2]), n)
        length = norm(outward)
        if not length > 0.0:
            continue
        outward = scale(1.0 / length, outward)
        side[0], side[1], side[2] = outward
        side[3] = dot(outward, (v[0], v[1], v[2]))
        source, target = (two, one) if swapped else (one, two)
        corners = cut_polygon(source, corners, side, 0.0, target)
        swapped = not swapped
        if corners == 0:
            return 0
    source = two if swapped else one
    count = 0
    for k in range(corners):
        p = (source[3 * k], source[3 * k + 1], source[3 * k + 2])
        count = _append(points, count, p, dot(n, p) - plane[3])
    return count


# ---------------------------------------------------------------- curved solids on flat faces


@kernel
def _resting_points(b: Solid, on: Face, points: Points) -> int:
    """Points of a curved solid above a flat face: of the ball, line or disc that is lowest."""
    down = scale(-1.0, on.normal)
    if b.kind == BALL:
        return _within(points, 0, on, support_point(b, down))
    at, way = generator(b, on.normal)
    steep = abs(dot(way, on.normal)) / norm(way)
    if b.kind == CAPSULE or steep < STEEP:
        first, last = within(on, at, way, -b.half, b.half)
        if first > last:
            return 0
        p, q = axpy(first, way, at), axpy(last, way, at)
        count = _append(points, 0, p, dot(on.normal, p) - on.offset)
        return _append(points, count, q, dot(on.normal, q) - on.offset)
    return _disc_points(b, on, points, 0)


@kernel
def _disc_points(b: Solid, on: Face, points: Points, count: int) -> int:
    """Append the lower end of a cylinder or cone: rim, outline of the face, apex of the cone."""
    along = dot(on.normal, b.axis)
    if b.kind == CONE:
        count = _within(points, count, on, axpy(b.half, b.axis, b.centre))
        if along < 0.0:  # it stands on its apex
            return count
    centre = axpy(-b.half if along > 0.0 else b.half, b.axis, b.centre)
    lean = axpy(along, b.axis, scale(-1.0, on.normal))
    size = norm(lean)
    t1 = scale(1.0 / size, lean) if size > 1e-9 else basis(b.axis)[0]
    t2 = cross(b.axis, t1)
    for k in range(RIM):
        c, s = cos(2.0 * pi * k / RIM), sin(2.0 * pi * k / RIM)
        p = axpy(b.radius * c, t1, axpy(b.radius * s, t2, centre))
        count = _within(points, count, on, p)
    if on.outline == POLYGON:
        # where edges of the face cross below the disc
        disc = Face(b.axis, dot(b.axis, centre), CIRCLE, on.hull, 0, centre, b.radius)
        for k in range(edge_count(on)):
            start, edge = edge_of(on, k)
            first, last = within(disc, start, edge, 0.0, 1.0)
            if first < last:
                for side in range(2):
                    q = axpy(first if side == 0 else last, edge, start)
                    rise = dot(b.axis, sub(centre, q)) / dot(b.axis, on.normal)
                    count = _append(points, count, axpy(rise, on.normal, q), rise)
    return count


@kernel
def _hull_on_end(a: Solid, b: Solid, n: Vec3, points: Points) -> int:
    """Points, on b, of a hull on the flat end of a curved solid: its vertices, and of the rim."""
    hull, round_one = (a, b) if a.kind == HULL else (b, a)
    out = n if hull.kind == b.kind else scale(-1.0, n)  # out of the end
    face = 0
    if round_one.kind != CONE and dot(face_of(round_one, 0).normal, out) < 0.0:
        face = 1
    end = face_of(round_one, face)
    count = 0
    for i in range(hull.hull.vert_count):
        x = off(hull.hull.verts, 3 * i)
        count = _within(points, count, end, (x[0], x[1], x[2]))
    vertices = count
    f, along = _aligned(hull.hull, out, -1.0)
    if along > 1.0 - ALIGNED:
        count = _disc_points(round_one, face_of(hull, f), points, count)
    # vertices lie on the hull, points of the rim on the end
    if hull.kind == b.kind:
        _across(off(points.rows, NPOINT * vertices), count - vertices, n)
    else:
        _across(points.rows, vertices, n)
    return count


@kernel
def _across(rows: PtrF8, count: int, n: Vec3) -> None:
    """Move points that were found on a over the gap to b."""
    for k in range(count):
        row = off(rows, NPOINT * k)
        for i in range(3):
            row[i] += row[3] * n[i]


@kernel
def _within(points: Points, count: int, on: Face, p: Vec3) -> int:
    """Append a point if it lies above a face."""
    first, last = within(on, p, (0.0, 0.0, 0.0), 0.0, 0.0)
    if first > last:
        return count
    return _append(points, count, p, dot(on.normal, p) - on.offset)


# ---------------------------------------------------------------- lists of points


@kernel
def _append(points: Points, count: int, p: Vec3, gap: float) -> int:
    """Append a point whose gap is within the margin; returns the new number."""
    if not gap <= points.margin or count >= MAX_POLYGON:
        return count
    row = off(points.rows, NPOINT * count)
    row[0], row[1], row[2], row[3] = p[0], p[1], p[2], gap
    return count + 1


@kernel
def _reduce(rows: PtrF8, count: int, n: Vec3, out: PtrF8) -> int:
    """Keep all points, or the deepest and MAX_POINTS − 1 that are furthest from those kept.

    Furthest across the normal: the support polygon stays as wide as so many points can make it. A
    point that lies higher than the deepest counts as nearer by the way out at which a part would
    touch there first, had it turned by `TURN`.
    """
    if count <= MAX_POINTS:
        for k in range(NPOINT * count):
            out[k] = rows[k]
        return count
    away = local_f8(512)  # MAX_POLYGON: distance to the nearest point kept; negative if kept
    pick, least = 0, inf
    for k in range(count):
        away[k] = inf
        if rows[NPOINT * k + 3] < least:
            pick, least = k, rows[NPOINT * k + 3]
    for kept in range(MAX_POINTS):
        chosen = off(rows, NPOINT * pick)
        for i in range(NPOINT):
            out[NPOINT * kept + i] = chosen[i]
        away[pick] = -1.0
        best = -inf
        for k in range(count):
            row = off(rows, NPOINT * k)
            if away[k] < 0.0:
                continue
            d = (row[0] - chosen[0], row[1] - chosen[1], row[2] - chosen[2])
            d = axpy(-dot(d, n), n, d)
            away[k] = min(away[k], norm(d))
            if away[k] - (row[3] - least) / TURN > best:
                pick, best = k, away[k] - (row[3] - least) / TURN
    return MAX_POINTS
