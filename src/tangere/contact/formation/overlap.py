"""Whether solids overlap, and whether an overlap is one: walls have another side.

A gap between two elements is measured along the normal of their contact plane and knows nothing of
the rest of the bodies. Seen from inside a bowl its outside is an overlap as deep as the wall, but
neither of the closest points is in the other body. Such gaps are no contacts, and no overlaps.
"""

from __future__ import annotations

from math import nan, pi

from tangere._jit import kernel
from tangere._ptr import PtrI4, local_f8, off
from tangere.collision.boundary_distance import closest
from tangere.collision.boundary_elements import INSIDE, ball_at, distance_from
from tangere.contact.formation.candidates import Surface, axis, boxes_meet, enclose, origin
from tangere.contact.formation.curved_contacts import on_plane, world_element
from tangere.contact.formation.flat_contacts import outside, plane_point
from tangere.contact.formation.principal_contacts import is_curved
from tangere.geometry.boundary import CIRCLE, EDGE, FACE
from tangere.maths.vec import Vec3, axpy, dot, sub

# Points of a round edge that are looked at
LOOKED_AT = 96


@kernel
def overlap(a: Surface, b: Surface, lists: PtrI4, depth: float) -> bool:
    """Whether A, as it is placed, overlaps B by more than a depth.

    Solids that touch at most cut each other only where an edge of one crosses a face of the other:
    flat ones, with A shrunk by the depth, are looked at in this way. Where an element is curved the
    deepest point of one behind the other is, and where round edges lead.

    Args:
        a: A, placed.
        b: B.
        lists: Room for all elements of A.
        depth: Of overlaps that do not count [m].
    """
    box = local_f8(6)
    for e in range(a.sizes[0]):
        lists[e] = e
    enclose(a, lists, a.sizes[0], box)
    for j in range(b.sizes[0]):
        other = off(b.box, 6 * j)
        if not boxes_meet(box, other, 0.0):
            continue
        for i in range(a.sizes[0]):
            if a.dimension[i] != FACE and b.dimension[j] != FACE:
                continue
            if not boxes_meet(off(a.box, 6 * i), other, 0.0):
                continue
            if is_curved(a.kind[i]) or is_curved(b.kind[j]):
                if _behind(a, i, b, j, depth):
                    return True
            elif a.dimension[i] + b.dimension[j] == EDGE + FACE:
                if _cut(a, i, b, j, depth):
                    return True
    return _reaches_into(a, b, depth) or _reaches_into(b, a, depth)


@kernel
def _behind(a: Surface, i: int, b: Surface, j: int, depth: float) -> bool:
    """Whether the deepest point of one element behind another, a face, is in its body."""
    c = closest(world_element(a, i), world_element(b, j), nan)
    if c.gap >= -depth:
        return False
    if a.dimension[i] == FACE and c.limit_a != INSIDE:
        return False
    if b.dimension[j] == FACE and c.limit_b != INSIDE:
        return False
    if not (on_plane(a, i, c.point_a, 0.0) and on_plane(b, j, c.point_b, 0.0)):
        return False
    return is_overlap(a, i, b, j, c.point_a, c.point_b)


@kernel
def _reaches_into(s: Surface, t: Surface, depth: float) -> bool:
    """Whether one of so many points of a round edge is inside another body."""
    for e in range(s.sizes[0]):
        if s.kind[e] != CIRCLE:
            continue
        rim, body = world_element(s, e), -1
        for k in range(t.sizes[0]):
            if t.body[k] == body or not boxes_meet(off(s.box, 6 * e), off(t.box, 6 * k), 0.0):
                continue
            body = t.body[k]
            for n in range(LOOKED_AT):
                if depth_within(t, body, ball_at(rim, 2.0 * pi * n / LOOKED_AT)[0]) > depth:
                    return True
    return False


@kernel
def _cut(a: Surface, i: int, b: Surface, j: int, depth: float) -> bool:
    """Whether an edge and a face, that of A moved inwards, go through each other."""
    if a.dimension[i] == EDGE:
        start = a.below_start[i]
        v, w = a.below[start], a.below[start + 1]
        p, q = _inwards(a, v, depth), _inwards(a, w, depth)
        n, x = axis(b, j), origin(b, j)
        one, two = dot(n, sub(p, x)), dot(n, sub(q, x))
        if (one < 0.0) == (two < 0.0):
            return False
        u, s = plane_point(b, j, axpy(one / (one - two), sub(q, p), p))
        return outside(b, j, u, s) < 0.0
    half, d, y = b.size[4 * j], axis(b, j), origin(b, j)
    p, q = axpy(-half, d, y), axpy(half, d, y)
    n = axis(a, i)
    x = axpy(-depth, n, origin(a, i))
    one, two = dot(n, sub(p, x)), dot(n, sub(q, x))
    if (one < 0.0) == (two < 0.0):
        return False
    u, s = plane_point(a, i, axpy(one / (one - two), sub(q, p), p))
    return outside(a, i, u, s) < -depth


@kernel
def _inwards(s: Surface, v: int, depth: float) -> Vec3:
    """A vertex after all faces have moved inwards."""
    w = off(s.inset, 3 * v)
    return axpy(depth, (w[0], w[1], w[2]), origin(s, v))


# ---------------------------------------------------------------- walls have another side


@kernel
def is_overlap(a: Surface, i: int, b: Surface, j: int, on_a: Vec3, on_b: Vec3) -> bool:
    """Whether the closest points of elements with a negative gap are in the other's body.

    One of the two is enough: pressed deep into each other, the bodies may be thinner than that.
    """
    return depth_within(b, b.body[j], on_a) > 0.0 or depth_within(a, a.body[i], on_b) > 0.0


@kernel
def depth_within(s: Surface, body: int, x: Vec3) -> float:
    """How deep a point is inside a body: behind its nearest face, or nearest to a concave edge."""
    nearest, inside = 1e300, False
    for e in range(s.sizes[0]):
        if s.body[e] != body:
            continue
        d, n, limit = distance_from(world_element(s, e), x)
        if abs(d) >= nearest:
            continue
        if s.dimension[e] != FACE:
            nearest, inside = d, s.convexity[e] < 0
        elif limit == INSIDE and on_plane(s, e, axpy(-d, n, x), 0.0):
            nearest, inside = abs(d), d < 0.0
    return nearest if inside else -nearest
