"""Pairs of features of two triangle surfaces, or of a surface and a half-space, that are close.

Two surfaces meet by their vertices and by crossing edges. Every vertex within reach of the other
surface is a pair with its closest point there, be it on a face, an edge or a vertex; in a corner
that opens towards it also with further faces, as one plane does not hold it there. Crossing edges
are a pair where the line between them is a normal of both.

Signs come from pseudonormals, so that overlap has negative gaps up to a depth that is believed.
Nothing is known beyond the boundary of an open surface: no pair ends there.
"""

from __future__ import annotations

from math import inf

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, local_i4, off
from tangere.collision.feature_pairs import (
    COUNT,
    EDGE_EDGE,
    EDGE_VERTEX,
    FACE_VERTEX,
    VERTEX_EDGE,
    VERTEX_FACE,
    VERTEX_PLANE,
    VERTEX_VERTEX,
    A,
    B,
    FeaturePairs,
    Limits,
    new_row,
    set_normal,
    set_side,
    vertex_can_touch,
)
from tangere.collision.surface_queries import (
    DISTINCT,
    EDGE,
    FACE,
    VERTEX,
    Closest,
    Edge,
    begin_walk,
    begin_walk_near,
    closest_on_triangle,
    closest_point,
    descend,
    edge_between_faces,
    faces_around,
    feature_of,
    in_valley,
    is_boundary,
    is_outside,
    is_valley,
    next_leaf_in,
    next_leaf_near,
    next_node,
    pseudonormal,
    snapped,
    weighted,
)
from tangere.collision.surfaces import (
    Surfaces,
    corners,
    triangle_normal,
    unit_or_zero,
    vertex_at,
    vertex_normal,
)
from tangere.maths.vec import Vec3, add, axpy, cross, dot, norm, scale, sub

# Points closer than this tell no direction [m]: far above rounding, far below what is felt.
TOUCHING = 1e-6
# The direction between two points is the normal if it is within this angle of the pseudonormal.
# Outside any other one would claim a gap less than the distance: 84°, beyond which the sign itself
# is in doubt. Inside, at a valley, 60°.
AGREES_OUTSIDE, AGREES_INSIDE = 0.1, 0.5
# A point is above a boundary edge if it is this close to the plane through it [m].
ABOVE = 1e-9
# An edge passes by a face if it is behind its plane by this share of the gap, and there before a
# face whose normal has less than this cosine with that of the first: more than 60° around a corner.
BEHIND, CORNER = 0.1, 0.5
# Pairs of one vertex: three planes hold a point in a corner.
MAX_FACES = 3

# Edges cross within these shares of their lengths, nearer to an end the vertex is the feature: of
# edges of 10 mm that hides 10 µm. They cross under an angle of at least this sine, else they are
# parallel and vertices are.
FIRST, LAST = 1e-3, 1.0 - 1e-3
PARALLEL = 0.05
# A direction is a normal of an edge up to this angle [rad]: flat faces of two boxes that lie on one
# another cross in edges whose common normal is at the border of both.
CONE = 1e-3
# A flat edge counts where the other's faces fall away by at least this angle [rad] on both sides,
# as those of a blade on a plate do; a plate on a plate is held by vertices.
FALLS = 0.02
# Edges with normals more than 60° apart are sharp, |n₁ + n₂|² = 2 + 2 cos: what is behind one of
# their faces may be outside all the same, so that overlap is made sure of.
SHARP = 3.0


@kernel
def surface_pairs(s: Surfaces, a: int, b: int, limits: Limits, out: FeaturePairs) -> int:
    """Append the pairs of surfaces a and b; returns their number."""
    before = out.filled[COUNT]
    slack = max(limits.reach, limits.depth)
    pending = local_i4(65)  # 2 STACK + 1
    begin_walk_near(s, a, b, pending)
    leaf, near = next_leaf_near(s, slack, pending)
    while leaf >= 0:
        for at in range(s.node_vertex[leaf], s.node_vertex[leaf + 1]):
            _vertex_on_surface(s, s.leaf_vertices[at], a, b, near, A, limits, out)
        for at in range(s.node_edge[leaf], s.node_edge[leaf + 1]):
            _edge_on_edges(s, s.leaf_edges[at], a, b, near, limits, out)
        leaf, near = next_leaf_near(s, slack, pending)
    begin_walk_near(s, b, a, pending)
    leaf, near = next_leaf_near(s, slack, pending)
    while leaf >= 0:
        for at in range(s.node_vertex[leaf], s.node_vertex[leaf + 1]):
            _vertex_on_surface(s, s.leaf_vertices[at], b, a, near, B, limits, out)
        leaf, near = next_leaf_near(s, slack, pending)
    return int(out.filled[COUNT] - before)


@kernel
def plane_pairs(
    s: Surfaces, a: int, plane: PtrF8, number: int, limits: Limits, out: FeaturePairs
) -> int:
    """Append the pairs of surface a and the half-space N·x ≤ d; returns their number.

    plane: N (unit), d [m]; number: the feature of b in the keys.
    """
    before = out.filled[COUNT]
    n = (plane[0], plane[1], plane[2])
    down = scale(-1.0, n)
    pending = local_i4(33)  # STACK + 1
    begin_walk(s.node_start[a], pending)
    node = next_node(pending)
    while node >= 0:
        box = off(s.node_box, 6 * node)
        low, high = -plane[3], -plane[3]
        for k in range(3):
            low += plane[k] * (box[k] if plane[k] > 0.0 else box[3 + k])
            high += plane[k] * (box[3 + k] if plane[k] > 0.0 else box[k])
        within = low <= limits.reach and high >= -limits.depth
        if within and not descend(s, node, pending):
            for at in range(s.node_vertex[node], s.node_vertex[node + 1]):
                v = s.leaf_vertices[at]
                x = vertex_at(s, v)
                gap = dot(n, x) - plane[3]
                if -limits.depth <= gap <= limits.reach and vertex_can_touch(s, v, down):
                    row = new_row(out, VERTEX_PLANE, v, number)
                    if row >= 0:
                        set_side(out, row, A, v, -1, -1, (1.0, 0.0, 0.0), x)
                        set_side(out, row, B, -1, -1, -1, (0.0, 0.0, 0.0), axpy(-gap, n, x))
                        set_normal(out, row, down)
        node = next_node(pending)
    return int(out.filled[COUNT] - before)


# ---------------------------------------------------------------- a vertex and a surface


@kernel
def _vertex_on_surface(
    s: Surfaces, v: int, own: int, k: int, near: int, side: int, limits: Limits, out: FeaturePairs
) -> None:
    """Append the pairs of vertex v of surface `own`, which is on a side of the rows, with k.

    near: the node of k below which all is that is within the limits.
    """
    x = vertex_at(s, v)
    c = closest_point(s, near, x, max(limits.reach, limits.depth))
    if c.triangle < 0:
        return
    kind, number = feature_of(s, c)
    r = sub(x, c.point)
    if is_boundary(s, kind, number):
        kind, number = FACE, _below(s, kind, number, r)
    # outward normals, points and inner points of what the vertex has met, three numbers each
    met = local_f8(27)
    count, slack = 0, ABOVE
    if number >= 0:
        normal, inside = _outward(s, v, kind, number, r)
        gap = dot(normal, r)
        if not -limits.depth <= gap <= limits.reach:
            return
        if gap < -TOUCHING and not vertex_can_touch(s, v, scale(-1.0, normal)):
            _face_it_came_through(s, v, k, side, limits, normal, out)
            return
        slack = max(TOUCHING, -gap)
        touches = kind != FACE and (inside or norm(r) <= TOUCHING)
        if touches and (is_valley(s, number) if kind == EDGE else in_valley(s, number)):
            # two faces or more rise from here: they hold it, not the mean of them
            slack = max(TOUCHING, norm(r))
        else:
            # two vertices that are closest to each other are one pair
            if kind != VERTEX or side == A or not _is_closest(s, own, number, v):
                _append_vertex(s, v, k, kind, number, c, normal, side, out)
            inner = _centroid(s, number) if kind == FACE else c.point
            count = _remember(met, 0, normal, c.point, inner)
    _further_faces(s, v, k, side, limits, slack, met, count, out)


@kernel
def _outward(s: Surfaces, v: int, kind: int, number: int, r: Vec3) -> tuple[Vec3, bool]:
    """Unit normal at the closest feature, out of its surface, and whether vertex v is inside.

    r: from the closest point to the vertex [m].
    """
    pseudo = pseudonormal(s, kind, number)
    inside = dot(pseudo, r) < 0.0
    if kind == FACE:
        return pseudo, inside
    far = norm(r)
    if far > TOUCHING:
        direction = scale((-1.0 if inside else 1.0) / far, r)
        if dot(direction, pseudo) >= (AGREES_INSIDE if inside else AGREES_OUTSIDE):
            return direction, inside
    if kind == VERTEX:  # the same from either side
        both = unit_or_zero(sub(pseudo, vertex_normal(s, v)))
        if dot(both, pseudo) > 0.0:
            return both, inside
    return pseudo, inside


@kernel
def _below(s: Surfaces, kind: int, number: int, r: Vec3) -> int:
    """Triangle at a boundary edge or vertex that a point r from there is right above; −1: none."""
    if kind == EDGE:
        t = int(s.edge_triangles[2 * number])
        return t if _beside(triangle_normal(s, t), r) <= ABOVE else -1
    for at in range(s.fan_start[number], s.fan_start[number + 1]):
        t = int(s.fan[at])
        if _beside(triangle_normal(s, t), r) <= ABOVE:
            return t
    return -1


@kernel
def _beside(n: Vec3, r: Vec3) -> float:
    """Length of the part of r that is square to n [m]."""
    return norm(axpy(-dot(n, r), n, r))


@kernel
def _face_it_came_through(
    s: Surfaces, v: int, k: int, side: int, limits: Limits, shut: Vec3, out: FeaturePairs
) -> None:
    """Append the pair of vertex v, inside surface k, with the nearest face that it can have passed.

    shut: normal at its closest point, which it cannot have come through: beside an edge of k, the
    face behind that edge is often nearer than the one that it went in by.
    """
    x = vertex_at(s, v)
    around = local_i4(32)  # MAX_AROUND
    for at in range(faces_around(s, k, x, limits.depth, shut, around)):
        t = around[at]
        n = triangle_normal(s, t)
        p, q, r = corners(s, t)
        w = snapped(closest_on_triangle(p, q, r, x))
        point = weighted(p, q, r, w)
        away = sub(x, point)
        if dot(n, away) < 0.0 and _beside(n, away) <= TOUCHING:
            if vertex_can_touch(s, v, scale(-1.0, n)):
                _append_vertex(s, v, k, FACE, t, Closest(t, w, point), n, side, out)
                return


@kernel
def _is_closest(s: Surfaces, k: int, v: int, w: int) -> bool:
    """Whether vertex w is what surface k has closest to vertex v of another."""
    kind, number = feature_of(s, closest_point(s, s.node_start[k], vertex_at(s, v), inf))
    return kind == VERTEX and number == w


@kernel
def _further_faces(
    s: Surfaces,
    v: int,
    k: int,
    side: int,
    limits: Limits,
    slack: float,
    met: PtrF8,
    count: int,
    out: FeaturePairs,
) -> None:
    """Append pairs of vertex v with faces of surface k that look another way than what it has met.

    The vertex is above such a face, or below by no more than `slack` [m], and it projects into it,
    up to the same length: in a corner, what is below one face is beside the other. What was met and
    the face rise from each other, as at a ridge a vertex is held by one or the other, not by both.
    """
    x = vertex_at(s, v)
    normal = (met[0], met[1], met[2]) if count > 0 else (0.0, 0.0, 0.0)
    around = local_i4(32)  # MAX_AROUND
    radius = limits.reach + slack
    found = faces_around(s, k, x, radius, normal, around)
    for at in range(found):
        t = around[at]
        n = triangle_normal(s, t)
        p, q, r = corners(s, t)
        w = snapped(closest_on_triangle(p, q, r, x))
        point = weighted(p, q, r, w)
        away = sub(x, point)
        gap = dot(n, away)
        # slack is the length of `away` for the faces at a valley: a little more, for rounding
        if gap > limits.reach or gap < -1.001 * slack or _beside(n, away) > 1.001 * slack:
            continue
        here = Closest(t, w, point)
        if _beside(n, away) > ABOVE:
            kind, number = feature_of(s, here)
            if is_boundary(s, kind, number):
                continue
        inner = _centroid(s, t)
        if not _rises(met, count, n, point, inner):
            continue
        _append_vertex(s, v, k, FACE, t, here, n, side, out)
        count = _remember(met, count, n, point, inner)
        if count == MAX_FACES:
            return


@kernel
def _remember(met: PtrF8, count: int, n: Vec3, point: Vec3, inner: Vec3) -> int:
    """Note a normal with a point and an inner point of its feature; returns the new number."""
    for i in range(3):
        met[9 * count + i] = n[i]
        met[9 * count + 3 + i] = point[i]
        met[9 * count + 6 + i] = inner[i]
    return count + 1


@kernel
def _rises(met: PtrF8, count: int, n: Vec3, point: Vec3, inner: Vec3) -> bool:
    """Whether a face looks another way than all that was met, and they rise from each other."""
    for j in range(count):
        m = off(met, 9 * j)
        other, there = (m[0], m[1], m[2]), (m[3], m[4], m[5])
        if dot(n, other) > DISTINCT:
            return False
        if not _is_above(there, other, point, inner):
            return False
        if not _is_above(point, n, there, (m[6], m[7], m[8])):
            return False
    return True


@kernel
def _is_above(p: Vec3, n: Vec3, point: Vec3, inner: Vec3) -> bool:
    """Whether a feature is above the plane through p by its point or, where that is in it, inside.

    At a common edge the points are the same: only the rest of a face tells a valley from a ridge.
    """
    height = dot(n, sub(point, p))
    if abs(height) <= TOUCHING:
        height = dot(n, sub(inner, p))
    return height > ABOVE


@kernel
def _centroid(s: Surfaces, t: int) -> Vec3:
    """Centroid of triangle t [m]."""
    a, b, c = corners(s, t)
    return scale(1.0 / 3.0, add(a, add(b, c)))


@kernel
def _passes_by(s: Surfaces, v: int, k: int, c: Closest, outward: Vec3) -> bool:
    """Whether vertex v, above a face of surface k, is beside a sharp border of it.

    An edge at v rises towards the face and goes on behind its plane, around the corner: the border
    of the face touches it first. So does an edge that slides along one side of a ridge, with the
    ridge ahead: a pair of the ridge with the face on the other side of that edge would stop it.
    """
    x = vertex_at(s, v)
    gap = dot(outward, sub(x, c.point))
    if gap < -TOUCHING:
        return False
    behind = TOUCHING + (1.0 + BEHIND) * max(0.0, gap)
    for at in range(s.fan_start[v], s.fan_start[v + 1]):
        t = s.fan[at]
        for i in range(3):
            way = sub(vertex_at(s, s.triangles[3 * t + i]), x)
            rise = -dot(way, outward)
            if rise > behind and _around_corner(s, k, axpy(behind / rise, way, x), outward):
                return True
    return False


@kernel
def _around_corner(s: Surfaces, k: int, x: Vec3, outward: Vec3) -> bool:
    """Whether a point outside surface k is before a face of another direction than `outward`."""
    c = closest_point(s, s.node_start[k], x, inf)
    kind, number = feature_of(s, c)
    if number < 0 or is_boundary(s, kind, number):
        return False
    if not dot(pseudonormal(s, kind, number), sub(x, c.point)) > 0.0:
        return False
    least = dot(triangle_normal(s, c.triangle), outward)
    if kind == EDGE:
        sides = off(s.edge_triangles, 2 * number)
        least = min(least, dot(triangle_normal(s, sides[0]), outward))
        least = min(least, dot(triangle_normal(s, sides[1]), outward))
    elif kind == VERTEX:
        for at in range(s.fan_start[number], s.fan_start[number + 1]):
            least = min(least, dot(triangle_normal(s, s.fan[at]), outward))
    return least < CORNER


@kernel
def _append_vertex(
    s: Surfaces,
    v: int,
    k: int,
    kind: int,
    number: int,
    c: Closest,
    outward: Vec3,
    side: int,
    out: FeaturePairs,
) -> None:
    """Append the pair of vertex v and a feature of surface k; outward: the normal out of that.

    A vertex that cannot touch there is left out.
    """
    inward = scale(-1.0, outward)
    if not vertex_can_touch(s, v, inward) or (kind == FACE and _passes_by(s, v, k, c, outward)):
        return
    n = inward if side == A else outward
    if side == A:
        name = VERTEX_FACE if kind == FACE else VERTEX_EDGE if kind == EDGE else VERTEX_VERTEX
        row = new_row(out, name, v, number)
    else:
        name = FACE_VERTEX if kind == FACE else EDGE_VERTEX if kind == EDGE else VERTEX_VERTEX
        row = new_row(out, name, number, v)
    if row < 0:
        return
    t = off(s.triangles, 3 * c.triangle)
    set_side(out, row, side, v, -1, -1, (1.0, 0.0, 0.0), vertex_at(s, v))
    set_side(out, row, 1 - side, t[0], t[1], t[2], c.weights, c.point)
    set_normal(out, row, n)


# ---------------------------------------------------------------- crossing edges


@kernel
def _edge_on_edges(
    s: Surfaces, e: int, a: int, b: int, near: int, limits: Limits, out: FeaturePairs
) -> None:
    """Append the pairs of edge e of surface a and the edges of b that cross it.

    near: the node of b below which all is that is within the limits.
    """
    if s.edge_triangles[2 * e + 1] < 0:
        return
    mine = edge_between_faces(s, e)
    if mine.bend < 0:
        return
    box = local_f8(6)
    _box_of_normals(mine, limits, box)
    pending = local_i4(33)  # STACK + 1
    begin_walk(near, pending)
    leaf = next_leaf_in(s, box, pending)
    while leaf >= 0:
        for at in range(s.node_edge[leaf], s.node_edge[leaf + 1]):
            f = s.leaf_edges[at]
            if _edge_meets(s, f, box) and s.edge_triangles[2 * f + 1] >= 0:
                _crossing(s, e, mine, f, a, b, limits, out)
        leaf = next_leaf_in(s, box, pending)


@kernel
def _box_of_normals(a: Edge, limits: Limits, box: PtrF8) -> None:
    """Box of all points that are −depth … reach from an edge along one of its normals.

    A normal is u n₁ + v n₂ with u, v ≥ 0; up to a right angle between n₁ and n₂ neither exceeds 1,
    and beyond it every direction is allowed for.
    """
    one, two = unit_or_zero(cross(a.way, a.left)), unit_or_zero(cross(a.right, a.way))
    sharp = dot(one, two) < 0.0
    middle = unit_or_zero(a.normal)
    # |n − middle| for all normals n
    spread = norm(sub(one, middle)) + CONE
    for i in range(3):
        low = min(one[i], 0.0) + min(two[i], 0.0) - CONE
        high = max(one[i], 0.0) + max(two[i], 0.0) + CONE
        low, high = max(low, middle[i] - spread), min(high, middle[i] + spread)
        if sharp:
            low, high = -1.0, 1.0
        p, q = a.start[i], a.start[i] + a.way[i]
        box[i] = min(p, q) + min(limits.reach * low, -limits.depth * high)
        box[3 + i] = max(p, q) + max(limits.reach * high, -limits.depth * low)


@kernel
def _edge_meets(s: Surfaces, f: int, box: PtrF8) -> bool:
    """Whether the box of edge f meets another; without branches, as `boxes_meet`."""
    p, q = off(s.now, 3 * s.edges[2 * f]), off(s.now, 3 * s.edges[2 * f + 1])
    x = max(box[0] - max(p[0], q[0]), min(p[0], q[0]) - box[3])
    y = max(box[1] - max(p[1], q[1]), min(p[1], q[1]) - box[4])
    z = max(box[2] - max(p[2], q[2]), min(p[2], q[2]) - box[5])
    return bool(max(x, y, z) <= 0.0)


@kernel
def _crossing(
    s: Surfaces, e: int, mine: Edge, f: int, a: int, b: int, limits: Limits, out: FeaturePairs
) -> None:
    """Append the pair of edges e of a and f of b if they cross along a normal of both."""
    own, ends = off(s.edges, 2 * e), off(s.edges, 2 * f)
    # from a to b: along the normals of a, against those of b
    te, tf, n, gap = _lines(s, own, ends, mine.normal)
    if te < 0.0 or not -limits.depth <= gap <= limits.reach:
        return
    other = edge_between_faces(s, f)
    if other.bend < 0 or mine.bend + other.bend == 0 or dot(n, other.normal) >= 0.0:
        return
    fall_e, fall_f = _fall(mine, n), _fall(other, scale(-1.0, n))
    if min(fall_e, fall_f) < -CONE:
        return
    if (mine.bend == 0 and fall_f < FALLS) or (other.bend == 0 and fall_e < FALLS):
        return
    sharp = min(dot(mine.normal, mine.normal), dot(other.normal, other.normal)) < SHARP
    if gap < -TOUCHING and sharp:
        x = _within_both(mine, other, te, n, gap)
        if is_outside(s, a, x) or is_outside(s, b, x):
            return
    row = new_row(out, EDGE_EDGE, e, f)
    if row >= 0:
        _set_crossing(s, own, ends, te, tf, n, row, out)


@kernel
def held_crossing(
    s: Surfaces, one: PtrI4, two: PtrI4, was: Vec3, limits: Limits, out: FeaturePairs
) -> None:
    """Append the pair of two edges that pressed on one another, wherever they still cross.

    A ridge that is pressed flat is none any more. Given up it would spring through the other one
    until it is a ridge again, step after step.

    Args:
        s: The surfaces.
        one: The vertices of the edge of a.
        two: Those of the edge of b.
        was: The normal that they had, from a to b.
        limits: Which pairs are wanted.
        out: Where to append it; its key has its first vertices, not its edges.
    """
    te, tf, n, gap = _lines(s, one, two, was)
    if te < 0.0 or not -limits.depth <= gap <= limits.reach:
        return
    row = new_row(out, EDGE_EDGE, one[0], two[0])
    if row >= 0:
        _set_crossing(s, one, two, te, tf, n, row, out)


@kernel
def _lines(s: Surfaces, one: PtrI4, two: PtrI4, up: Vec3) -> tuple[float, float, Vec3, float]:
    """Where two edges cross: shares of their lengths, normal on the side of `up`, gap [m].

    With c = d_e × d_f and r from the start of e to that of f, the lines are closest at the shares
    t_e = (r × d_f)·c/c² and t_f = (r × d_e)·c/c² of their lengths. The first is −1 if they are
    parallel, or closest beyond their ends.
    """
    start, other = vertex_at(s, one[0]), vertex_at(s, two[0])
    mine, way = sub(vertex_at(s, one[1]), start), sub(vertex_at(s, two[1]), other)
    c = cross(mine, way)
    square = dot(c, c)
    if not square > PARALLEL * PARALLEL * dot(mine, mine) * dot(way, way):
        return -1.0, -1.0, c, 0.0
    r = sub(other, start)
    te, tf = dot(cross(r, way), c) / square, dot(cross(r, mine), c) / square
    if not (FIRST <= te <= LAST and FIRST <= tf <= LAST):
        return -1.0, -1.0, c, 0.0
    n = scale((1.0 if dot(c, up) > 0.0 else -1.0) / norm(c), c)
    return te, tf, n, dot(n, r)


@kernel
def _set_crossing(
    s: Surfaces,
    one: PtrI4,
    two: PtrI4,
    te: float,
    tf: float,
    n: Vec3,
    row: int,
    out: FeaturePairs,
) -> None:
    """Fill the row of two crossing edges."""
    p, q = vertex_at(s, one[0]), vertex_at(s, two[0])
    p = axpy(te, sub(vertex_at(s, one[1]), p), p)
    q = axpy(tf, sub(vertex_at(s, two[1]), q), q)
    set_side(out, row, A, one[0], one[1], -1, (1.0 - te, te, 0.0), p)
    set_side(out, row, B, two[0], two[1], -1, (1.0 - tf, tf, 0.0), q)
    set_normal(out, row, n)


@kernel
def _within_both(e: Edge, f: Edge, te: float, n: Vec3, gap: float) -> Vec3:
    """A point inside the wedges of two edges that overlap along n, half way between their ridges.

    From either ridge down the middle of its wedge, w_e and w_f, until both are at the same height;
    then along the ridges until they meet: p + α w_e + s d_e = q + β w_f + t d_f. Were the wedges as
    long and as deep as that, the bodies would overlap there: sharp ones seldom are.
    """
    down, up = _inner(e), _inner(f)
    alpha, beta = 0.5 * gap / dot(n, down), -0.5 * gap / dot(n, up)
    p = axpy(te, e.way, e.start)
    # what is left between the two, square to n: s d_e − t d_f
    left = sub(axpy(beta, up, scale(gap, n)), scale(alpha, down))
    c = cross(e.way, f.way)
    along = dot(cross(left, f.way), c) / dot(c, c)
    return axpy(along, e.way, axpy(alpha, down, p))


@kernel
def _inner(e: Edge) -> Vec3:
    """Direction from an edge down the middle between its faces, of unit length."""
    along = 1.0 / dot(e.way, e.way)
    left = axpy(-dot(e.left, e.way) * along, e.way, e.left)
    right = axpy(-dot(e.right, e.way) * along, e.way, e.right)
    middle = add(unit_or_zero(left), unit_or_zero(right))
    # of flat faces the middle is rounding: straight down
    return unit_or_zero(middle) if e.bend != 0 else unit_or_zero(scale(-1.0, e.normal))


@kernel
def _fall(edge: Edge, n: Vec3) -> float:
    """Least sine of the angles by which the faces of an edge fall away from the plane square to n.

    Negative where a face stands above it: n, square to the edge, is no normal then.
    """
    along = 1.0 / dot(edge.way, edge.way)
    left = axpy(-dot(edge.left, edge.way) * along, edge.way, edge.left)
    right = axpy(-dot(edge.right, edge.way) * along, edge.way, edge.right)
    return min(-dot(n, left) / norm(left), -dot(n, right) / norm(right))
