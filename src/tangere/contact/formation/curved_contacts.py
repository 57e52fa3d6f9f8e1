"""Principal contacts where an element is curved: closest points that share a contact plane.

Points that lie on what bounds an element belong to that: a cylinder that stands on its rim touches
with the circle, not with its side. Where two faces go on smoothly both may touch; they are one
region then.
A line is one if the gaps at its ends are within a quarter of the layer of the least; a ring lies
flat if all of it is within the layer, and a disc that does so is a flat face.
"""

from __future__ import annotations

from math import cos, nan, pi, sin

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.collision.boundary_distance import Closest, closest, contact_line, facing
from tangere.collision.boundary_elements import INSIDE, Element, distance_from
from tangere.contact.formation.candidates import Surface, axis, origin
from tangere.contact.formation.columns import LINE, MOST_POINTS, PC_CURVED, POINT
from tangere.contact.formation.columns import PLANE as AREA
from tangere.contact.formation.flat_contacts import (
    STEEP,
    Limits,
    add_point,
    common,
    mean_point,
    outside,
    plane_point,
    start_row,
)
from tangere.geometry.boundary import CIRCLE, EDGE, FACE, PLANE, TORUS, VERTEX
from tangere.maths.vec import Vec3, add, axpy, basis, cross, dot, norm, scale, sub

# Gaps above this are of elements without a common tangent plane [m].
NO_TANGENT = 1e300
# How far a body may lean over the contact plane at its edge [rad]
LEANING = 1e-3


@kernel
def find_curved(a: Surface, i: int, b: Surface, j: int, limits: Limits, row: PtrF8) -> bool:
    """Fill the row of a contact of elements of which one is curved at least; False: none."""
    if (a.dimension[i] != FACE and a.tip[i] == 0) or (b.dimension[j] != FACE and b.tip[j] == 0):
        return False
    one, two = world_element(a, i), world_element(b, j)
    nearest = closest(one, two, nan)
    if nearest.gap > NO_TANGENT:
        return False
    outward = nearest.normal
    if a.dimension[i] != FACE and b.dimension[j] != FACE:
        outward = _outward_at(b, j, nearest.point_b)
    c = facing(nearest, outward)
    if c.gap > limits.far or c.gap < -limits.deep:
        return False
    if not _stays(a, i, c.point_a, c.normal) or not _stays(b, j, c.point_b, scale(-1.0, c.normal)):
        return False
    belongs = _belongs(a, i, c.limit_a) and _belongs(b, j, c.limit_b)
    if belongs and b.kind[j] == PLANE and _add_ring(a, i, b, j, c.normal, True, limits, row):
        return True
    if belongs and a.kind[i] == PLANE and _add_ring(b, j, a, i, c.normal, False, limits, row):
        return True
    low, high = contact_line(one, two, c)
    if not _add_line(a, i, b, j, low, high, c.gap + limits.level, limits, row):
        if not belongs:
            return False
        if not (on_plane(a, i, c.point_a, limits.rim) and on_plane(b, j, c.point_b, limits.rim)):
            return False
        start_row(POINT, c.normal, row)
        add_point(c.point_b, c.gap, row)
    mean_point(row)
    if a.dimension[i] == FACE and b.dimension[j] == FACE:
        row[PC_CURVED] = 1.0
    return True


@kernel
def world_element(s: Surface, e: int) -> Element:
    """An element of a placed surface."""
    f, z = off(s.frame, 12 * e), off(s.size, 4 * e)
    return Element(
        int(s.kind[e]),
        int(s.side[e]),
        (f[3], f[7], f[11]),
        (f[0], f[4], f[8]),
        (f[1], f[5], f[9]),
        (f[2], f[6], f[10]),
        (z[0], z[1], z[2], z[3]),
    )


@kernel
def _belongs(s: Surface, e: int, limit: int) -> bool:
    """Whether a closest point is inside an element, or where it goes on smoothly."""
    if limit == INSIDE:
        return True
    if s.dimension[e] != FACE or s.kind[e] == PLANE:
        return False
    k = s.below_start[e] + limit
    if k >= s.below_start[e + 1]:
        return False
    edge = s.below[k]
    return bool(s.dimension[edge] == EDGE and s.convexity[edge] == 0)


@kernel
def on_plane(s: Surface, e: int, x: Vec3, rim: float) -> bool:
    """Whether a point of a flat face's plane is on the face."""
    if s.kind[e] != PLANE:
        return True
    u, v = plane_point(s, e, x)
    return bool(outside(s, e, u, v) <= rim)


@kernel
def _outward_at(s: Surface, e: int, x: Vec3) -> Vec3:
    """A direction out of the body at a point of an edge, or at a vertex."""
    if s.dimension[e] == VERTEX:
        return scale(-1.0, _axis_into(s, e))
    m, n = _normals_at(s, e, x)
    return add(m, n)


@kernel
def _axis_into(s: Surface, e: int) -> Vec3:
    """The way of a vertex as its faces move inwards; of an apex along its axis."""
    w = off(s.inset, 3 * e)
    return (w[0], w[1], w[2])


@kernel
def _normals_at(s: Surface, e: int, x: Vec3) -> tuple[Vec3, Vec3]:
    """Outward normals of both faces at a point of an edge."""
    k = s.above_start[e]
    _, m, _ = distance_from(_whole(s, s.above[k]), x)
    _, n, _ = distance_from(_whole(s, s.above[k + 1]), x)
    return m, n


@kernel
def _whole(s: Surface, e: int) -> Element:
    """An element; a flat one without its limits, so that its normal is the same everywhere."""
    w = world_element(s, e)
    if s.kind[e] == PLANE:
        return Element(w.kind, w.side, w.origin, w.x, w.y, w.z, (0.0, 0.0, 0.0, 0.0))
    return w


@kernel
def _stays(s: Surface, e: int, x: Vec3, n: Vec3) -> bool:
    """Whether a body at a point of its edge stays on the side of the contact plane that n shows.

    −n must lie between the outward normals m₁, m₂ there: the ways into the faces, −(m₂ − c m₁) and
    −(m₁ − c m₂) with c = m₁·m₂, must not lead against n.
    """
    if s.dimension[e] != EDGE:
        return True
    m1, m2 = _normals_at(s, e, x)
    c = dot(m1, m2)
    return bool(dot(n, axpy(-c, m1, m2)) <= LEANING and dot(n, axpy(-c, m2, m1)) <= LEANING)


@kernel
def _add_ring(
    s: Surface,
    ring: int,
    t: Surface,
    plane: int,
    n: Vec3,
    ring_of_a: bool,
    limits: Limits,
    row: PtrF8,
) -> bool:
    """A circle or torus that lies flat on a plane: the disc within it, if all of it is near.

    A circle that bounds a flat face does not count, for the face lies there.
    """
    r, tube = s.size[4 * ring], 0.0
    if limits.level < 0.0 or (s.kind[ring] != CIRCLE and s.kind[ring] != TORUS):
        return False
    if s.kind[ring] == TORUS:
        tube = s.size[4 * ring + 1]
    for k in range(s.above_start[ring], s.above_start[ring + 1]):
        if s.kind[s.above[k]] == PLANE:
            return False
    up = axis(t, plane)
    z, centre = axis(s, ring), origin(s, ring)
    lean = 2.0 * r * norm(cross(z, up))
    if dot(up, sub(centre, origin(t, plane))) - tube + 0.5 * lean > limits.far or lean > STEEP * r:
        return False
    x, y = basis(n)
    start_row(AREA, n, row)
    for k in range(MOST_POINTS):
        angle = 2.0 * pi * k / MOST_POINTS
        way = axpy(cos(angle), x, scale(sin(angle), y))
        way = axpy(-dot(way, z), z, way)
        p = axpy(r / norm(way), way, centre)
        gap = dot(up, sub(p, origin(t, plane))) - tube
        if not on_plane(t, plane, p, limits.rim):
            return False
        # on B: under the ring of A, or on the ring itself
        add_point(axpy(-gap - tube if ring_of_a else -tube, up, p), gap, row)
    mean_point(row)
    return True


@kernel
def _add_line(
    a: Surface,
    i: int,
    b: Surface,
    j: int,
    low: Closest,
    high: Closest,
    most: float,
    limits: Limits,
    row: PtrF8,
) -> bool:
    """A line between two closest points, as far as a flat face reaches.

    False: it is too short, or its gap is above `most` somewhere: the elements lean or cross.
    """
    way = sub(high.point_b, low.point_b)
    length = norm(way)
    if length < max(limits.least, 1e-9) or max(high.gap, low.gap) > most:
        return False
    d = scale(1.0 / length, way)
    middle = axpy(0.5 * length, d, low.point_b)
    first, last = -0.5 * length, 0.5 * length
    if a.kind[i] == PLANE:
        first, last = common(a, i, middle, d, 0.5 * length, limits.rim)
    elif b.kind[j] == PLANE:
        first, last = common(b, j, middle, d, 0.5 * length, limits.rim)
    if last - first < max(limits.least, 1e-9):
        return False
    slope = (high.gap - low.gap) / length
    half = 0.5 * (high.gap + low.gap)
    if max(half + slope * first, half + slope * last) > limits.far:
        return False
    start_row(LINE, low.normal, row)
    add_point(axpy(first, d, middle), half + slope * first, row)
    add_point(axpy(last, d, middle), half + slope * last, row)
    return True
