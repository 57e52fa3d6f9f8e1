"""Contact of curved solids by their ideal surface: which way they touch, how deep, on which face.

A pair is settled by the first of these that applies:

1. **A flat face and what rests on it.** Of all flat faces (faces of a hull, ends of a cylinder, the
   base of a cone) the one that separates best; if the lowest point, line or disc of the other solid
   lies within its outline, the contact normal is that of the face, exactly.
2. **Spines.** A ball is a point with a radius, a capsule a segment, and so is the side of a
   cylinder: closest points of the spines (GJK on one or two vertices) are exact, and so are normal
   and depth, as long as the direction is square to a cylinder's axis.
3. **A ball or capsule beside a cylinder's or cone's edge**: the nearest point of a solid of
   revolution to a point has a closed form; to a segment it is the root of a monotone function.
4. **Anything else** (edges of cylinders and cones): GJK with their support functions.

2 to 4 need solids whose spines do not overlap. Where they do, b is first moved out along the last
normal, as in `narrow.contact_normal`; because surfaces are curved the new normal depends a little
on the old one, and the move is repeated until it no longer turns. The overlap never grows by it, so
it ends at the least overlap near the last normal. Solids that overlap at first sight start from the
best of a few directions.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, off
from tangere.collision.gjk import APART, TOUCH_SQUARED, gjk, nearest
from tangere.collision.narrow import GAP
from tangere.collision.solids import (
    CIRCLE,
    LEVEL,
    PLANE,
    Face,
    Solid,
    edge_count,
    edge_of,
    face_count,
    face_of,
    generator,
    nearest_point,
    slope_of,
    support,
    support_point,
    top,
    within,
)
from tangere.geometry.curve import (
    BALL,
    CAPSULE,
    CONE,
    CYLINDER,
    HULL,
)
from tangere.maths.vec import Vec3, add, axpy, basis, cross, dot, norm, scale, sub
from tangere.model import PHASE_APART, PHASE_NEW

# A spine's normal may lean by this towards a cylinder's axis: its depth is then off by R (1e-6)²/2.
SQUARE = 1e-6
# Overlap that grows by no more than this share of the size has grown by rounding.
NOISE = 1e-12
# The move out along the normal is repeated until it turns by less than this, which changes the
# depth by its square, and so often at most; later steps go on from there.
TURNED, MOVES = 1e-7, 8
# Rounds of the search for the closest point on a capsule's segment, and of GJK on curved solids.
SEARCHES, ROUNDS = 80, 60
# GJK on curved solids ends when |v|² − v·w falls below this share of |v| max|w|.
CURVED_GAP = 1e-14
# Faces that separate alike up to this share of the size are taken for parallel ones that touch.
ALIKE = 1e-6
# What rests on a face deeper than this share of the size may leave sooner another way.
SHALLOW = 1e-3
# GJK leans a normal by this at most off the axis whose flat end is nearest [rad].
LEAN = 1e-6
# Below any tilt that rounding leaves: an end that does not lean has no lowest point of its own.
NO_LEAN = 1e-300
# A hull's feature on a flat end: laid out by the facets, which are exact there.
FACETS = 1 << 20


class Contact(NamedTuple):
    """How two solids meet."""

    near: bool  # within the margin
    normal: Vec3  # from a to b
    point: Vec3  # midway between the two surfaces
    depth: float  # overlap along the normal; negative: gap [m]
    face: int  # it lies on: f + 1 of a, −(f + 1) of b, FACETS, or 0


@kernel
def meet_solids(
    a: Solid, b: Solid, size: float, margin: float, phase: int, normal: PtrF8, simplex: PtrI4
) -> Contact:
    """Whether two solids meet or miss each other by less than the margin, and how.

    size: of the smaller one [m]. `normal` is the last one (see `phase`) and is left as the new one.
    """
    n = (normal[0], normal[1], normal[2])
    apart = Contact(False, n, (0.0, 0.0, 0.0), 0.0, 0)
    if phase == PHASE_APART and -top(b, scale(-1.0, n)) - top(a, n) > margin:
        return apart
    face, gap = _best_face(a, b, size)
    if face != 0 and gap > margin:
        on = face_of(a, face - 1) if face > 0 else face_of(b, -face - 1)
        sign = 1.0 if face > 0 else -1.0
        normal[0], normal[1], normal[2] = scale(sign, on.normal)
        return apart
    found = _resting(a, b, face) if face != 0 else apart
    if found.near and found.depth < -margin:
        return apart
    if not found.near or found.depth > SHALLOW * size:
        start = n if phase != PHASE_NEW else first_normal(a, b, face)
        overlap = top(a, start) + top(b, scale(-1.0, start))
        if not found.near or overlap < found.depth - ALIKE * size:
            closest = _closest(a, b, size, margin, start, overlap, simplex)
            if not found.near or closest.depth < found.depth - ALIKE * size:
                found = closest
    normal[0], normal[1], normal[2] = found.normal
    return found


# ---------------------------------------------------------------- flat faces


@kernel
def _best_face(a: Solid, b: Solid, size: float) -> tuple[int, float]:
    """The face that separates best, and by how much [m]; one with the other solid on it if it can.

    Among those that separate alike, faces of hulls go before the ends of curved solids.
    """
    best, code, any_best, any_code = -inf, 0, -inf, 0
    for side in range(2):
        one, other = (a, b) if side == 0 else (b, a)
        if other.kind == BALL:  # its spine is as exact
            continue
        sign = 1 if side == 0 else -1
        for f in range(face_count(one)):
            on = face_of(one, f)
            gap = -top(other, scale(-1.0, on.normal)) - on.offset
            if gap > any_best:
                any_best, any_code = gap, sign * (f + 1)
            better = gap > best
            if code != 0 and one.kind != HULL and other.kind == HULL:
                better = gap > best + ALIKE * size
            elif code != 0 and one.kind == HULL and other.kind != HULL:
                better = gap > best - ALIKE * size
            if better and gap > -size and lies_on(other, on):
                best, code = gap, sign * (f + 1)
    # nothing lies on a face that separates better: the contact is at an edge
    if code != 0 and best >= any_best - ALIKE * size:
        return code, best
    return any_code, any_best


@kernel
def lies_on(b: Solid, on: Face) -> bool:
    """Whether the lowest point, line or disc of a solid is within the outline of a face."""
    if on.outline == PLANE:
        return True
    down = scale(-1.0, on.normal)
    if b.kind == HULL:
        p = support(b, down)
        first, last = within(on, p, (0.0, 0.0, 0.0), 0.0, 0.0)
        return first <= last
    along = dot(down, b.axis)
    if b.kind == CAPSULE:
        if abs(along) > LEVEL:
            return _has(on, axpy(b.half if along > 0.0 else -b.half, b.axis, b.centre))
        first, last = within(on, b.centre, b.axis, -b.half, b.half)
        return first <= last
    across = sqrt(max(0.0, 1.0 - along * along))
    if across < LEVEL and (b.kind == CYLINDER or along < 0.0):  # on its end
        end = axpy(b.half if along > 0.0 else -b.half, b.axis, b.centre)
        return _has_disc(on, end, b.radius)
    if across < LEVEL:
        return _has(on, axpy(b.half, b.axis, b.centre))  # on its apex
    sine, cosine = slope_of(b)
    if abs(along * cosine - across * sine) > LEVEL:
        return _has(on, support(b, down))
    at, way = generator(b, on.normal)
    first, last = within(on, at, way, -b.half, b.half)
    return first <= last


@kernel
def _has(on: Face, p: Vec3) -> bool:
    """Whether a point is above a face."""
    first, last = within(on, p, (0.0, 0.0, 0.0), 0.0, 0.0)
    return first <= last


@kernel
def _has_disc(on: Face, p: Vec3, radius: float) -> bool:
    """Whether a disc parallel to a face is partly above it."""
    if on.outline == CIRCLE:
        q = sub(p, on.centre)
        q = axpy(-dot(q, on.normal), on.normal, q)
        return norm(q) < on.radius + radius
    if _has(on, p):
        return True
    # else the nearest point of its border has to be within the disc
    for k in range(edge_count(on)):
        start, edge = edge_of(on, k)
        q = sub(p, start)
        q = axpy(-dot(q, on.normal), on.normal, q)
        t = min(1.0, max(0.0, dot(q, edge) / dot(edge, edge)))
        if norm(axpy(-t, edge, q)) < radius:
            return True
    return False


@kernel
def _resting(a: Solid, b: Solid, face: int) -> Contact:
    """Contact of a solid on a face of the other; not near if the face has nothing on it."""
    on = face_of(a, face - 1) if face > 0 else face_of(b, -face - 1)
    other, one = (b, a) if face > 0 else (a, b)
    if not lies_on(other, on):
        return Contact(False, on.normal, (0.0, 0.0, 0.0), 0.0, 0)
    low = _lowest_within(other, on)
    depth = on.offset - dot(on.normal, low)
    sign = 1.0 if face > 0 else -1.0
    if other.kind == HULL and one.kind != HULL:
        face = FACETS
    return Contact(True, scale(sign, on.normal), axpy(0.5 * depth, on.normal, low), depth, face)


@kernel
def _lowest_within(b: Solid, on: Face) -> Vec3:
    """Lowest point of a solid above a face on which it lies.

    Where a line or disc leans by a hair, its lowest point may be beyond the outline.
    """
    down = scale(-1.0, on.normal)
    low = support_point(b, down)
    if b.kind == HULL or _has(on, low):
        return low
    along = dot(down, b.axis)
    if b.kind != CAPSULE and norm(axpy(-along, b.axis, down)) < LEVEL:
        return _lowest_of_disc(on, axpy(b.half if along > 0.0 else -b.half, b.axis, b.centre), b)
    at, way = generator(b, on.normal)
    first, last = within(on, at, way, -b.half, b.half)
    return axpy(last if dot(way, down) > 0.0 else first, way, at)


@kernel
def _lowest_of_disc(on: Face, centre: Vec3, b: Solid) -> Vec3:
    """Lowest point of an end of b that is partly above a face, but not with its own lowest point.

    It is where the rim crosses the outline, at a corner of the outline, or on a round outline that
    the end covers, where that leans lowest.
    """
    best, high = centre, inf
    n, radius = on.normal, b.radius
    if on.outline == CIRCLE:
        away = sub(centre, on.centre)
        away = axpy(-dot(away, n), n, away)
        d = norm(away)
        if d <= abs(radius - on.radius):  # the circles do not cross
            up = dot(b.axis, n)
            lean = axpy(-up, n, b.axis)
            reach = min(on.radius, radius) / max(norm(lean), NO_LEAN)
            p = axpy(reach if up > 0.0 else -reach, lean, on.centre)
            return _onto(p, n, centre, b.axis)
        # crossings of two circles: from the outline's centre x along, ±y across
        x = 0.5 * (d * d + on.radius * on.radius - radius * radius) / d
        y = sqrt(max(0.0, on.radius * on.radius - x * x))
        t1 = scale(1.0 / d, away)
        t2 = cross(n, t1)
        for side in range(2):
            p = axpy(x, t1, axpy(y if side == 0 else -y, t2, on.centre))
            p = _onto(p, n, centre, b.axis)
            if dot(n, p) < high:
                best, high = p, dot(n, p)
        return best
    for k in range(edge_count(on)):
        start, edge = edge_of(on, k)
        q = sub(start, centre)
        q = axpy(-dot(q, n), n, q)
        # |q + t edge| ≤ R: the ends of this part of the edge
        qe, ee = dot(q, edge), dot(edge, edge)
        root = qe * qe - ee * (dot(q, q) - radius * radius)
        if root < 0.0:
            continue
        root = sqrt(root)
        first, last = max(0.0, (-qe - root) / ee), min(1.0, (-qe + root) / ee)
        if first > last:
            continue
        for side in range(2):
            p = _onto(axpy(first if side == 0 else last, edge, start), n, centre, b.axis)
            if dot(n, p) < high:
                best, high = p, dot(n, p)
    return best


@kernel
def _onto(p: Vec3, n: Vec3, centre: Vec3, axis: Vec3) -> Vec3:
    """The point above or below p along n in the plane through a centre square to an axis."""
    return axpy(dot(axis, sub(centre, p)) / dot(axis, n), n, p)


# ---------------------------------------------------------------- closest points
@kernel
def _closest(
    a: Solid, b: Solid, size: float, margin: float, start: Vec3, overlap: float, simplex: PtrI4
) -> Contact:
    """Contact by closest points: as they are, or moved apart along `start`.

    overlap: of the two along `start` [m].
    """
    apart, distance, n, p = closest_points(a, b, (0.0, 0.0, 0.0), start, simplex)
    # of cylinders that overlap, the spines know nothing of the ways out over the ends
    ends = distance < 0.0 and CYLINDER in (a.kind, b.kind)
    if apart and not (ends and overlap < -distance - ALIKE * size):
        return Contact(distance <= margin, n, p, -distance, 0)
    n, p, depth = move_out(a, b, size, start, MOVES, simplex)
    return Contact(depth >= -margin, n, p, depth, 0)


@kernel
def move_out(
    a: Solid, b: Solid, size: float, start: Vec3, moves: int, simplex: PtrI4
) -> tuple[Vec3, Vec3, float]:
    """Normal of the least overlap near `start`, point midway, overlap [m]."""
    last = start
    depth = top(a, last) + top(b, scale(-1.0, last))
    point = axpy(-0.5 * depth, last, support_point(a, last))
    for _ in range(moves):
        shift = scale(max(depth, 0.0) + GAP * size, last)
        simplex[0] = 0
        apart, _, n, p = closest_points(a, b, shift, last, simplex)
        if not apart:  # touching by rounding although moved apart
            break
        overlap = top(a, n) + top(b, scale(-1.0, n))
        if overlap > depth + NOISE * size:
            break
        turned = norm(sub(n, last))
        # p is midway between the surfaces, b moved: both move back by half the way
        point = axpy(-0.5, shift, p)
        last, depth = n, overlap
        if turned < TURNED:
            break
    simplex[0] = 0
    return last, point, depth


@kernel
def first_normal(a: Solid, b: Solid, face: int) -> Vec3:
    """The direction of least overlap among a few, for solids of which nothing is known.

    Tried: the face that separates best, from middle to middle, and out of each side towards the
    middle of the other.
    """
    between = sub(_middle(b), _middle(a))
    size = norm(between)
    best = scale(1.0 / size, between) if size > 0.0 else (0.0, 0.0, 1.0)
    least = top(a, best) + top(b, scale(-1.0, best))
    if face != 0:
        n = face_of(a, face - 1).normal if face > 0 else face_of(b, -face - 1).normal
        if face < 0:
            n = scale(-1.0, n)
        overlap = top(a, n) + top(b, scale(-1.0, n))
        if overlap < least:
            best, least = n, overlap
    for side in range(2):
        one, sign = (a, 1.0) if side == 0 else (b, -1.0)
        if one.kind in (HULL, BALL):
            continue
        way = scale(sign, between)
        out = axpy(-dot(way, one.axis), one.axis, way)
        size = norm(out)
        sine, cosine = slope_of(one)
        out = scale(1.0 / size, out) if size > 0.0 else basis(one.axis)[0]
        n = scale(sign, axpy(sine, one.axis, scale(cosine, out)))
        overlap = top(a, n) + top(b, scale(-1.0, n))
        if overlap < least:
            best, least = n, overlap
    return best


@kernel
def _middle(a: Solid) -> Vec3:
    """A point inside a solid."""
    if a.kind != HULL:
        return a.centre
    x, y, z = 0.0, 0.0, 0.0
    for i in range(a.hull.vert_count):
        v = off(a.hull.verts, 3 * i)
        x, y, z = x + v[0], y + v[1], z + v[2]
    return scale(1.0 / a.hull.vert_count, (x, y, z))


@kernel
def closest_points(
    a: Solid, b: Solid, shift: Vec3, guess: Vec3, simplex: PtrI4
) -> tuple[bool, float, Vec3, Vec3]:
    """Apart?, distance of the surfaces, normal, point midway; b moved by `shift`.

    Apart means that the spines are; the distance of rounded solids may be negative.
    """
    if CONE not in (a.kind, b.kind):
        apart, distance, n, p = _spines(a, b, shift, simplex)
        square = True
        for side in range(2):
            one = a if side == 0 else b
            if one.kind == CYLINDER:
                square = square and abs(dot(one.axis, n)) < SQUARE
        if apart and square:
            return True, distance, n, p
        if CYLINDER not in (a.kind, b.kind):
            return apart, distance, n, p
    if b.kind in (BALL, CAPSULE):
        return _beside(a, b, shift)
    if a.kind in (BALL, CAPSULE):
        back = scale(-1.0, shift)
        apart, distance, n, p = _beside(b, a, back)
        return apart, distance, scale(-1.0, n), add(p, shift)
    return _curved_gjk(a, b, shift, guess)


@kernel
def _spine(a: Solid, points: PtrF8) -> tuple[PtrF8, int]:
    """Vertices of a solid's spine: its own, or one or two written to `points`."""
    if a.kind == HULL:
        return a.hull.verts, a.hull.vert_count
    e = a.half if a.kind != BALL else 0.0
    for k in range(3):
        points[k] = a.centre[k] + e * a.axis[k]
        points[3 + k] = a.centre[k] - e * a.axis[k]
    return off(points, 0), 1 if a.kind == BALL else 2


@kernel
def _spines(a: Solid, b: Solid, shift: Vec3, simplex: PtrI4) -> tuple[bool, float, Vec3, Vec3]:
    """As `closest_points`, by the spines of solids that are not cones."""
    one, two = local_f8(6), local_f8(6)
    va, na = _spine(a, one)
    vb, nb = _spine(b, two)
    status, distance, ax, ay, az, bx, by, bz = gjk(va, na, vb, nb, shift, simplex)
    if status != APART:
        return False, 0.0, (0.0, 0.0, 1.0), (ax, ay, az)
    n = scale(1.0 / distance, (bx - ax, by - ay, bz - az))
    distance -= a.radius + b.radius
    return True, distance, n, axpy(a.radius + 0.5 * distance, n, (ax, ay, az))


@kernel
def _beside(a: Solid, b: Solid, shift: Vec3) -> tuple[bool, float, Vec3, Vec3]:
    """As `closest_points`, for a cylinder or cone and a ball or capsule b.

    The distance of a point that moves along a segment from a convex solid is convex: its slope
    e·(x − nearest) has one change of sign.
    """
    x = add(b.centre, shift)
    if b.kind == CAPSULE:
        low, high = -b.half, b.half
        slope_low, slope_high = _slope(a, b, x, low), _slope(a, b, x, high)
        t = low if slope_low >= 0.0 else high
        if slope_low < 0.0 and slope_high > 0.0:
            for k in range(SEARCHES):
                t = (low * slope_high - high * slope_low) / (slope_high - slope_low)
                if k % 2 == 1 or not low < t < high:
                    t = 0.5 * (low + high)
                here = _slope(a, b, x, t)
                if here < 0.0:
                    low, slope_low = t, here
                elif here > 0.0:
                    high, slope_high = t, here
                else:
                    break
                if high - low < 1e-14 * b.half:
                    break
        x = axpy(t, b.axis, x)
    p = nearest_point(a, x)
    d = sub(x, p)
    distance = norm(d)
    if not distance * distance > TOUCH_SQUARED * (a.radius * a.radius + a.half * a.half):
        return False, 0.0, (0.0, 0.0, 1.0), p
    n = scale(1.0 / distance, d)
    distance -= b.radius
    return True, distance, n, axpy(0.5 * distance, n, p)


@kernel
def _slope(a: Solid, b: Solid, x: Vec3, t: float) -> float:
    """Slope of half the squared distance from a of the point t along the axis of b from x."""
    y = axpy(t, b.axis, x)
    return dot(b.axis, sub(y, nearest_point(a, y)))


@kernel
def _curved_gjk(a: Solid, b: Solid, shift: Vec3, guess: Vec3) -> tuple[bool, float, Vec3, Vec3]:
    """As `closest_points`, for hulls, cylinders and cones, by support functions.

    GJK as in `collision.gjk`; the simplex keeps points, as curved solids have no vertices.
    """
    w, pa = local_f8(15), local_f8(15)
    lam, new = local_f8(4), local_f8(4)
    p, q = support(a, guess), add(support(b, scale(-1.0, guess)), shift)
    w_max, count = 0.0, 1
    for k in range(3):
        w[k], pa[k] = p[k] - q[k], p[k]
        w_max += w[k] * w[k]
    best, v = inf, (0.0, 0.0, 0.0)
    kept = 0
    for _ in range(ROUNDS):
        inside, vx, vy, vz = nearest(w, count, new)
        if inside:
            return False, 0.0, guess, (pa[0], pa[1], pa[2])
        norm2 = vx * vx + vy * vy + vz * vz
        if not norm2 < best:
            break
        best, v = norm2, (vx, vy, vz)
        kept = 0
        for k in range(count):  # keep the points that carry v
            if new[k] > 0.0:
                lam[kept] = new[k]
                for c in range(3):
                    w[3 * kept + c], pa[3 * kept + c] = w[3 * k + c], pa[3 * k + c]
                kept += 1
        count = kept
        p, q = support(a, scale(-1.0, v)), add(support(b, v), shift)
        size, toward = 0.0, 0.0
        for k in range(3):
            w[3 * count + k], pa[3 * count + k] = p[k] - q[k], p[k]
            size += w[3 * count + k] ** 2
            toward += v[k] * (v[k] - w[3 * count + k])
        w_max = max(w_max, size)
        if norm2 <= TOUCH_SQUARED * w_max:
            return False, 0.0, guess, p
        if count == 4 or toward <= CURVED_GAP * sqrt(norm2 * w_max):
            break
        count += 1
    distance = sqrt(best)
    n = scale(-1.0 / distance, v)
    for side in range(2):  # of a flat end GJK finds the axis but for rounding
        one, sign = (a, 1.0) if side == 0 else (b, -1.0)
        along = dot(one.axis, n)
        lean = norm(axpy(-along, one.axis, n))
        if one.kind != HULL and lean < LEAN and (one.kind == CYLINDER or sign * along < 0.0):
            n = one.axis if along > 0.0 else scale(-1.0, one.axis)
    x = (0.0, 0.0, 0.0)
    for k in range(kept):
        x = axpy(lam[k], (pa[3 * k], pa[3 * k + 1], pa[3 * k + 2]), x)
    return True, distance, n, axpy(0.5 * distance, n, x)
