"""Questions to a triangle surface: its closest point, its faces around a point, what bends where.

All walk down the tree of the surface; none allocates. Places are those of the last `move_surface`
and `refit`.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, local_i4, off
from tangere.collision.surfaces import (
    Surfaces,
    corners,
    edge_normal,
    triangle_normal,
    vertex_at,
    vertex_normal,
)
from tangere.maths.vec import Vec3, add, axpy, cross, dot, norm, scale, sub

# What a closest point lies on.
VERTEX, EDGE, FACE = 0, 1, 2
# A barycentric weight below this is zero: of two triangles at an edge both then name the edge,
# whatever their rounding.
SNAP = 1e-9
# Edges whose normals differ by less than this are flat [rad]: an edge of 2 mm hides less than a
# micrometre between its faces and the next.
FLAT = 1e-3
FLAT_COSINE = 1.0 - 0.5 * FLAT * FLAT
# Faces whose normals differ by less than this look the same way: cosine of 25°.
DISTINCT = 0.906
MAX_AROUND = 32  # faces that are looked at around a point


class Closest(NamedTuple):
    """The point of a surface that is closest to another."""

    triangle: int  # −1: none within the limit
    weights: Vec3  # of the triangle's corners
    point: Vec3  # [m]


class Edge(NamedTuple):
    """An edge with two triangles, and how they meet in it."""

    start: Vec3  # [m]
    way: Vec3  # to its end [m]
    left: Vec3  # from the start to the third corner of its first triangle [m]
    right: Vec3  # of its second
    normal: Vec3  # sum of both unit normals
    bend: int  # +1: a ridge, −1: a valley, 0: flat


# ---------------------------------------------------------------- triangles


@kernel
def closest_on_triangle(a: Vec3, b: Vec3, c: Vec3, x: Vec3) -> Vec3:
    """Barycentric weights of the point of a triangle that is closest to x.

    By the Voronoi regions of corners, edges and face (Ericson 2005, 5.1.5). A triangle that is
    squeezed to a line or a point has the regions of its edges and corners alone.
    """
    ab, ac, ax = sub(b, a), sub(c, a), sub(x, a)
    d1, d2 = dot(ab, ax), dot(ac, ax)
    if d1 <= 0.0 and d2 <= 0.0:
        return (1.0, 0.0, 0.0)
    bx = sub(x, b)
    d3, d4 = dot(ab, bx), dot(ac, bx)
    if d3 >= 0.0 and d4 <= d3:
        return (0.0, 1.0, 0.0)
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0 and d1 - d3 > 0.0:
        t = d1 / (d1 - d3)
        return (1.0 - t, t, 0.0)
    cx = sub(x, c)
    d5, d6 = dot(ab, cx), dot(ac, cx)
    if d6 >= 0.0 and d5 <= d6:
        return (0.0, 0.0, 1.0)
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0 and d2 - d6 > 0.0:
        t = d2 / (d2 - d6)
        return (1.0 - t, 0.0, t)
    va = d3 * d6 - d5 * d4
    p, q = d4 - d3, d5 - d6
    if va <= 0.0 and p >= 0.0 and q >= 0.0 and p + q > 0.0:
        t = p / (p + q)
        return (0.0, 1.0 - t, t)
    total = va + vb + vc
    if not total > 0.0:
        return (1.0, 0.0, 0.0)
    return (va / total, vb / total, vc / total)


@kernel
def weighted(a: Vec3, b: Vec3, c: Vec3, w: Vec3) -> Vec3:
    """The point w₀ a + w₁ b + w₂ c."""
    return axpy(w[0], a, axpy(w[1], b, scale(w[2], c)))


@kernel
def snapped(w: Vec3) -> Vec3:
    """The same weights, those that are as good as zero set to it."""
    x = w[0] if w[0] > SNAP else 0.0
    y = w[1] if w[1] > SNAP else 0.0
    z = w[2] if w[2] > SNAP else 0.0
    total = x + y + z
    return (x / total, y / total, z / total)


# ---------------------------------------------------------------- closest point


@kernel
def box_distance2(box: PtrF8, x: Vec3) -> float:
    """Square of the distance from a point to a box, zero inside [m²]."""
    p = max(box[0] - x[0], x[0] - box[3], 0.0)
    q = max(box[1] - x[1], x[1] - box[4], 0.0)
    r = max(box[2] - x[2], x[2] - box[5], 0.0)
    return float(p * p + q * q + r * r)


@kernel
def closest_point(s: Surfaces, root: int, x: Vec3, limit: float) -> Closest:
    """Closest point to x within `limit` [m] of what is below a node, as the root of a surface.

    The nearer child first; what is further than the best so far is left out. Of triangles at the
    same distance the first one is taken.
    """
    pending, distance2 = local_i4(32), local_f8(32)  # STACK
    best, found, weights = limit * limit, -1, (1.0, 0.0, 0.0)
    node = root
    near = box_distance2(off(s.node_box, 6 * node), x)
    count = 0
    while True:
        if near <= best:
            right = s.node_right[node]
            if right >= 0:
                far_node, far = right, box_distance2(off(s.node_box, 6 * right), x)
                node += 1
                near = box_distance2(off(s.node_box, 6 * node), x)
                if far < near:
                    node, far_node = far_node, node
                    near, far = far, near
                if far <= best:
                    pending[count], distance2[count] = far_node, far
                    count += 1
                continue
            for at in range(s.node_first[node], s.node_first[node + 1]):
                t = s.leaf_triangles[at]
                a, b, c = corners(s, t)
                w = closest_on_triangle(a, b, c, x)
                r = sub(weighted(a, b, c, w), x)
                d = dot(r, r)
                if d < best or (d == best and (found < 0 or t < found)):
                    best, found, weights = d, t, w
        if count == 0:
            break
        count -= 1
        node, near = pending[count], distance2[count]
    if found < 0:
        return Closest(-1, weights, x)
    a, b, c = corners(s, found)
    weights = snapped(weights)
    return Closest(found, weights, weighted(a, b, c, weights))


@kernel
def feature_of(s: Surfaces, c: Closest) -> tuple[int, int]:
    """What a closest point lies on, and the number of that vertex, edge or triangle; −1: none."""
    if c.triangle < 0:
        return FACE, -1
    zeros, last = 0, 0  # corners without weight
    full = 0  # a corner with weight
    for k in range(3):
        if c.weights[k] == 0.0:
            zeros += 1
            last = k
        else:
            full = k
    if zeros == 0:
        return FACE, c.triangle
    if zeros == 1:  # the edge opposite to that corner
        return EDGE, int(s.triangle_edges[3 * c.triangle + (last + 1) % 3])
    return VERTEX, int(s.triangles[3 * c.triangle + full])


@kernel
def pseudonormal(s: Surfaces, kind: int, number: int) -> Vec3:
    """Unit normal of a face, edge or vertex: which side of it a point is on tells the sign."""
    if kind == FACE:
        return triangle_normal(s, number)
    return edge_normal(s, number) if kind == EDGE else vertex_normal(s, number)


@kernel
def is_boundary(s: Surfaces, kind: int, number: int) -> bool:
    """Whether an edge or vertex is on the boundary of an open surface."""
    if kind == EDGE:
        return bool(s.edge_triangles[2 * number + 1] < 0)
    return bool(kind == VERTEX and s.at_boundary[number] != 0)


@kernel
def is_outside(s: Surfaces, k: int, x: Vec3) -> bool:
    """Whether a point is outside surface k; False where that is open and nobody can tell."""
    c = closest_point(s, s.node_start[k], x, inf)
    kind, number = feature_of(s, c)
    if number < 0 or is_boundary(s, kind, number):
        return False
    return dot(pseudonormal(s, kind, number), sub(x, c.point)) > 0.0


# ---------------------------------------------------------------- faces around a point


@kernel
def faces_around(s: Surfaces, k: int, x: Vec3, radius: float, normal: Vec3, found: PtrI4) -> int:
    """Triangles of surface k within `radius` [m] of x that look another way than `normal`.

    At most MAX_AROUND: the closest, nearest first; of those at the same distance the first. A zero
    normal leaves out none.
    """
    pending, away = local_i4(32), local_f8(32)  # STACK, MAX_AROUND
    pending[0] = s.node_start[k]
    waiting, count = 1, 0
    limit = radius * radius
    while waiting > 0:
        waiting -= 1
        node = pending[waiting]
        if box_distance2(off(s.node_box, 6 * node), x) > limit:
            continue
        right = s.node_right[node]
        if right >= 0:
            pending[waiting], pending[waiting + 1] = right, node + 1
            waiting += 2
            continue
        for at in range(s.node_first[node], s.node_first[node + 1]):
            t = s.leaf_triangles[at]
            a, b, c = corners(s, t)
            m = cross(sub(b, a), sub(c, a))
            along = dot(m, normal)
            if along > 0.0 and along * along > DISTINCT * DISTINCT * dot(m, m):
                continue
            r = sub(weighted(a, b, c, closest_on_triangle(a, b, c, x)), x)
            d = dot(r, r)
            if d > limit:
                continue
            place = count  # insertion sort: lists are short
            while place > 0 and (
                away[place - 1] > d or (away[place - 1] == d and found[place - 1] > t)
            ):
                if place < MAX_AROUND:
                    away[place], found[place] = away[place - 1], found[place - 1]
                place -= 1
            if place < MAX_AROUND:
                away[place], found[place] = d, t
                count = min(count + 1, MAX_AROUND)
    return count


# ---------------------------------------------------------------- edges


@kernel
def edge_between_faces(s: Surfaces, e: int) -> Edge:
    """Edge e with its two triangles; not for a boundary edge."""
    ends, third = off(s.edges, 2 * e), off(s.edge_opposite, 2 * e)
    start = vertex_at(s, ends[0])
    way = sub(vertex_at(s, ends[1]), start)
    left, right = sub(vertex_at(s, third[0]), start), sub(vertex_at(s, third[1]), start)
    one, two = cross(way, left), cross(right, way)
    size = norm(one) * norm(two)
    if not size > 0.0:  # squeezed to a line: it has no normal and touches nothing
        return Edge(start, way, left, right, (0.0, 0.0, 0.0), -1)
    bend = 0
    if dot(one, two) < FLAT_COSINE * size:
        bend = 1 if dot(one, right) < 0.0 else -1
    normal = add(scale(1.0 / norm(one), one), scale(1.0 / norm(two), two))
    return Edge(start, way, left, right, normal, bend)


@kernel
def is_valley(s: Surfaces, e: int) -> bool:
    """Whether an edge is a valley with faces that look different ways, see `DISTINCT`."""
    if s.edge_triangles[2 * e + 1] < 0:
        return False
    f = edge_between_faces(s, e)
    square = dot(f.normal, f.normal)  # |n₁ + n₂|² = 2 + 2 cos
    return bool(f.bend < 0 and 0.0 < square < 2.0 + 2.0 * DISTINCT)


@kernel
def in_valley(s: Surfaces, v: int) -> bool:
    """Whether an edge at a vertex is such a valley."""
    for at in range(3 * s.fan_start[v], 3 * s.fan_start[v + 1]):
        e = s.triangle_edges[3 * s.fan[at // 3] + at % 3]
        if (s.edges[2 * e] == v or s.edges[2 * e + 1] == v) and is_valley(s, e):
            return True
    return False


# ---------------------------------------------------------------- walks


@kernel
def begin_walk(root: int, pending: PtrI4) -> None:
    """Start a walk through the tree below a node; pending: STACK + 1 nodes, their number first."""
    pending[0], pending[1] = 1, root


@kernel
def next_node(pending: PtrI4) -> int:
    """The next node of a walk, −1 at its end; `descend` visits its children, too."""
    if pending[0] == 0:
        return -1
    node = pending[pending[0]]
    pending[0] -= 1
    return int(node)


@kernel
def descend(s: Surfaces, node: int, pending: PtrI4) -> bool:
    """Let a walk visit the children of a node; False: it is a leaf and has none."""
    right = s.node_right[node]
    if right < 0:
        return False
    count = pending[0]
    pending[count + 1], pending[count + 2] = right, node + 1
    pending[0] = count + 2
    return True


@kernel
def begin_walk_near(s: Surfaces, k: int, other: int, pending: PtrI4) -> None:
    """Start a walk through surface k for `next_leaf_near`; pending: 2 STACK + 1 nodes."""
    pending[0], pending[1], pending[2] = 1, s.node_start[k], s.node_start[other]


@kernel
def next_leaf_near(s: Surfaces, slack: float, pending: PtrI4) -> tuple[int, int]:
    """The next leaf of a walk whose box is within `slack` [m] of a leaf of another surface.

    −1: there is none. With it the smallest subtree of the other that has all that is near it, which
    the leaf inherits from the nodes above and narrows.
    """
    while pending[0] > 0:
        at = 2 * pending[0] - 1
        node, start = pending[at], pending[at + 1]
        pending[0] -= 1
        start = _near(s, start, off(s.node_box, 6 * node), slack)
        if start < 0:
            continue
        right = s.node_right[node]
        if right < 0:
            return int(node), int(start)
        pending[at], pending[at + 1] = right, start
        pending[at + 2], pending[at + 3] = node + 1, start
        pending[0] += 2
    return -1, -1


@kernel
def next_leaf_in(s: Surfaces, box: PtrF8, pending: PtrI4) -> int:
    """The next leaf of a walk whose box meets another; −1: none."""
    node = next_node(pending)
    while node >= 0:
        if boxes_meet(off(s.node_box, 6 * node), box, 0.0) and not descend(s, node, pending):
            return node
        node = next_node(pending)
    return -1


@kernel
def boxes_meet(a: PtrF8, b: PtrF8, slack: float) -> bool:
    """Whether two boxes are no further apart than `slack` along any axis [m].

    Without branches: which axis parts two boxes nobody can foresee.
    """
    x, y = max(a[0] - b[3], b[0] - a[3]), max(a[1] - b[4], b[1] - a[4])
    return bool(max(x, y, a[2] - b[5], b[2] - a[5]) <= slack)


@kernel
def _near(s: Surfaces, start: int, box: PtrF8, slack: float) -> int:
    """Smallest subtree below a node that has all leaves within `slack` of a box; −1: there is none.

    Within: along every axis.
    """
    if not boxes_meet(off(s.node_box, 6 * start), box, slack):
        return -1
    while s.node_right[start] >= 0:
        left, right = start + 1, s.node_right[start]
        in_left = boxes_meet(off(s.node_box, 6 * left), box, slack)
        in_right = boxes_meet(off(s.node_box, 6 * right), box, slack)
        if in_left and in_right:
            break
        if not in_left and not in_right:
            return -1
        start = left if in_left else right
    pending = local_i4(33)  # STACK + 1
    begin_walk(start, pending)
    node = next_node(pending)
    while node >= 0:
        if boxes_meet(off(s.node_box, 6 * node), box, slack) and not descend(s, node, pending):
            return int(start)
        node = next_node(pending)
    return -1
