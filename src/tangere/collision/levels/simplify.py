"""Filtered edge collapse: a surface of convex pieces with half as many triangles.

Edges go in order of their length, the finest sampling first. An edge's new vertex is where the
planes of the triangles around both ends are met best [GARLAND1997], moved along the normal to where
second differences over its ring are least, so that detail finer than the new edges is averaged out
instead of left behind as an alias [OTADUY2003]. If that place is not allowed, the plain optimum,
the middle and the two ends are tried. It is allowed if

* no triangle turns by more than 60° or loses its area,
* every piece around stays convex, up to a given slack,

and the edge may go at all if its ends have no neighbours in common but the two across it, and no
piece would lose its last triangle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off, ptr
from tangere.collision.levels.pieces import NPLANE, Parts, height, neighbours, plane_through
from tangere.maths.vec import Array, LongArray, Vec3, add, axpy, cross, dot, norm, scale, sub

# Triangles around an edge; one with more stays.
MAX_AROUND = 64
FLIP = 0.5  # cosine of the largest turn of a triangle's normal
# Part of the way to the filter's optimum, and farthest move, in lengths of the edge.
FILTER, FARTHEST = 0.5, 0.25
# A triangle needs this share of the area of one with equal sides.
LEAST_AREA = 0.02
# Weight of the middle of the edge in the quadric, per area: it decides where planes leave a choice.
MIDDLE = 1e-3
NQUADRIC = 10  # xx xy xz yy yz zz, x y z, 1
PASSES = 8


class Fans(NamedTuple):
    """Triangles around each vertex as lists of corners 3t + k.

    | field    | meaning                                      | shape          |
    | head     | first corner of each vertex                  | (n,) int64     |
    | tail     | its last                                     | (n,) int64     |
    | next     | the next corner of the same vertex           | (3t,) int64    |
    | quadrics | sum of squared distances to planes           | (n, NQUADRIC)  |
    | moved    | pass in which a vertex was last moved        | (n,) int64     |
    | fixed    | whether a vertex must stay                   | (n,) bool      |
    """

    head: LongArray
    tail: LongArray
    next: LongArray
    quadrics: Array
    moved: LongArray
    fixed: LongArray


def fans_of(parts: Parts) -> Fans:
    """Corners and quadrics of the vertices of a mesh of which no triangle is gone."""
    n, flat = len(parts.points), parts.corners.ravel()
    order = np.argsort(flat, kind="stable")
    head, tail = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    following = np.full(len(flat), -1, np.int64)
    own = flat[order]
    head[own[::-1]], tail[own] = order[::-1], order
    same = own[1:] == own[:-1]
    following[order[:-1][same]] = order[1:][same]
    p = parts.points[parts.corners]
    area = 0.5 * np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1)
    plane = parts.planes * [1.0, 1.0, 1.0, -1.0]
    i, j = (0, 0, 0, 1, 1, 2, 0, 1, 2, 3), (0, 1, 2, 1, 2, 2, 3, 3, 3, 3)
    own_quadric = area[:, None] * plane[:, i] * plane[:, j]
    quadrics = np.zeros((n, NQUADRIC))
    for k in range(3):
        np.add.at(quadrics, parts.corners[:, k], own_quadric)
    across = neighbours(parts.corners, n)
    open_, edge = np.nonzero(across < 0)
    fixed = np.zeros(n, dtype=np.int64)
    fixed[parts.corners[open_, edge]] = 1
    fixed[parts.corners[open_, (edge + 1) % 3]] = 1
    return Fans(head, tail, following, quadrics, np.full(n, -1, np.int64), fixed)


def collapse_to(parts: Parts, fans: Fans, goal: int, slack: float) -> int:
    """Collapse edges until no more than `goal` triangles live; returns how many do.

    Args:
        parts: The mesh; changed in place.
        fans: Its vertices; changed in place.
        goal: Number of triangles wanted.
        slack: How far a vertex of a piece may lie above a plane of the same piece [m].
    """
    living = int((parts.piece >= 0).sum())
    fans.moved[:] = -1
    for turn in range(PASSES):
        if living <= goal:
            break
        edges = _by_length(parts)
        before = living
        living = _collapse(parts, fans, edges, turn, slack, living, goal)
        if living > 0.995 * before:
            break
    return living


def edge_lengths(points: Array, corners: LongArray) -> Array:
    """Of the three edges of every triangle, shape (t, 3) [m]."""
    p = points[corners]
    length: Array = np.linalg.norm(np.roll(p, -1, axis=1) - p, axis=2)
    return length


def _by_length(parts: Parts) -> LongArray:
    """Edges of the living triangles, the shortest first, shape (m, 2)."""
    corners = parts.corners[parts.piece >= 0]
    tail, head = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    once = tail < head
    length = edge_lengths(parts.points, corners).ravel()[once]
    order = np.argsort(length, kind="stable")
    return np.ascontiguousarray(np.stack((tail[once], head[once]), axis=1)[order])


class Edge(NamedTuple):
    """An edge under trial: its ends, the triangles around them and the two that would go."""

    u: int
    v: int
    around: PtrI8
    many: int
    gone: tuple[int, int]
    slack: float


@kernel
def _collapse(
    parts: Parts, fans: Fans, edges: LongArray, turn: int, slack: float, living: int, goal: int
) -> int:
    """Collapse edges in the given order, none next to another; returns the living triangles."""
    around = local_i8(64)
    places = local_f8(15)
    moved, fixed = ptr(fans.moved), ptr(fans.fixed)
    for row in range(edges.shape[0]):
        if living <= goal:
            break
        u, v = edges[row, 0], edges[row, 1]
        if moved[u] == turn or moved[v] == turn or fixed[u] == 1 or fixed[v] == 1:
            continue
        count, one, two = _around(parts, fans, u, v, around)
        if count < 0 or not _may_go(parts, fans, u, v, (one, two)):
            continue
        edge = Edge(u, v, around, count, (one, two), slack)
        _candidates(parts, fans, edge, places)
        for k in range(5):
            x = (places[3 * k], places[3 * k + 1], places[3 * k + 2])
            if _keeps_shape(parts, edge, x) and _keeps_convex(parts, edge, x):
                _apply(parts, fans, edge, x)
                moved[u] = turn
                living -= 2
                break
    return living


@kernel
def _around(parts: Parts, fans: Fans, u: int, v: int, around: PtrI8) -> tuple[int, int, int]:
    """Number of living triangles around u and v, written to `around`, and the two they share.

    −1 if there are too many or the edge does not join exactly two.
    """
    c, piece, after = ptr(parts.corners), ptr(parts.piece), ptr(fans.next)
    count, shared, one, two = 0, 0, -1, -1
    for end in range(2):
        w, other = (u, v) if end == 0 else (v, u)
        at = fans.head[w]
        while at >= 0:
            f = at // 3
            if piece[f] >= 0:
                both = other in (c[3 * f], c[3 * f + 1], c[3 * f + 2])
                if both and end == 0:
                    shared += 1
                    one, two = two, f
                if not both or end == 0:
                    if count == MAX_AROUND:
                        return -1, -1, -1
                    around[count] = f
                    count += 1
            at = after[at]
    if shared != 2:
        return -1, -1, -1
    return count, one, two


@kernel
def _may_go(parts: Parts, fans: Fans, u: int, v: int, gone: tuple[int, int]) -> bool:
    """The link condition, and whether every piece keeps a triangle."""
    c, piece = ptr(parts.corners), ptr(parts.piece)
    p, q = piece[gone[0]], piece[gone[1]]
    if (p == q and parts.living[p] <= 2) or parts.living[p] <= 1 or parts.living[q] <= 1:
        return False
    if p == q and _on_border(parts, fans, u) and _on_border(parts, fans, v):
        return False  # the piece would hang together by a vertex
    ring_u, ring_v = local_i8(128), local_i8(128)
    many_u, many_v = _ring(parts, fans, u, ring_u), _ring(parts, fans, v, ring_v)
    common = 0
    for i in range(many_u):
        for j in range(many_v):
            if ring_u[i] == ring_v[j]:
                common += 1
    if common != 2:
        return False
    # the two vertices across must keep a fan of three triangles
    for f in gone:
        for k in range(3):
            w = c[3 * f + k]
            if w not in (u, v):
                if _ring(parts, fans, w, ring_u) <= 3:
                    return False
    return True


@kernel
def _on_border(parts: Parts, fans: Fans, w: int) -> bool:
    """Whether several pieces meet at a vertex."""
    piece, after = ptr(parts.piece), ptr(fans.next)
    first = -1
    at = fans.head[w]
    while at >= 0:
        p = piece[at // 3]
        if p >= 0:
            if first >= 0 and p != first:
                return True
            first = p
        at = after[at]
    return False


@kernel
def _ring(parts: Parts, fans: Fans, w: int, ring: PtrI8) -> int:
    """Number of vertices next to w, written to `ring`; at most 2 MAX_AROUND are."""
    c, piece, after = ptr(parts.corners), ptr(parts.piece), ptr(fans.next)
    count = 0
    at = fans.head[w]
    while at >= 0:
        f = at // 3
        if piece[f] >= 0:
            for k in range(3):
                x = c[3 * f + k]
                known = x == w
                for i in range(count):
                    known = known or ring[i] == x
                if not known and count < 2 * MAX_AROUND:
                    ring[count] = x
                    count += 1
        at = after[at]
    return count


@kernel
def _candidates(parts: Parts, fans: Fans, e: Edge, places: PtrF8) -> None:
    """Places for the new vertex: filtered optimum, optimum, middle, the two ends."""
    x = ptr(parts.points)
    a = (x[3 * e.u], x[3 * e.u + 1], x[3 * e.u + 2])
    b = (x[3 * e.v], x[3 * e.v + 1], x[3 * e.v + 2])
    middle = scale(0.5, add(a, b))
    length = norm(sub(b, a))
    best = _optimum(fans, e, middle, length)
    smooth = _filtered(parts, fans, e, best, length)
    for k in range(3):
        places[k], places[3 + k], places[6 + k] = smooth[k], best[k], middle[k]
        places[9 + k], places[12 + k] = a[k], b[k]


@kernel
def _optimum(fans: Fans, e: Edge, middle: Vec3, length: float) -> Vec3:
    """Where the sum of both ends' quadrics is least, not farther than an edge from the middle."""
    q = local_f8(10)
    quadrics = ptr(fans.quadrics)
    for k in range(NQUADRIC):
        q[k] = quadrics[NQUADRIC * e.u + k] + quadrics[NQUADRIC * e.v + k]
    # around the middle m, with a spring to it: (A + w I) d = −(A m + b)
    gx = q[0] * middle[0] + q[1] * middle[1] + q[2] * middle[2] + q[6]
    gy = q[1] * middle[0] + q[3] * middle[1] + q[4] * middle[2] + q[7]
    gz = q[2] * middle[0] + q[4] * middle[1] + q[5] * middle[2] + q[8]
    w = MIDDLE * (q[0] + q[3] + q[5])
    if not w > 0.0:
        return middle
    row1, row2, row3 = (q[0] + w, q[1], q[2]), (q[1], q[3] + w, q[4]), (q[2], q[4], q[5] + w)
    c23 = cross(row2, row3)
    det = dot(row1, c23)
    c31, c12 = cross(row3, row1), cross(row1, row2)
    d = scale(-gx / det, c23)
    d = axpy(-gy / det, c31, d)
    d = axpy(-gz / det, c12, d)
    far = norm(d)
    if not far < 1e300:
        return middle
    return axpy(1.0 if far <= length else length / far, d, middle)


@kernel
def _filtered(parts: Parts, fans: Fans, e: Edge, best: Vec3, length: float) -> Vec3:
    """The optimum, moved along the normal towards least second differences over the ring.

    With L(w) = mean of the ring of w − w, the move is half of L(best) − mean of L over its ring:
    zero on a surface of constant curvature, which is thus not shrunk.
    """
    x, c, planes = ptr(parts.points), ptr(parts.corners), ptr(parts.planes)
    near, ring = local_i8(128), local_i8(128)
    n, centre, bend = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    count = 0
    for i in range(e.many):
        f = e.around[i]
        n = add(n, (planes[NPLANE * f], planes[NPLANE * f + 1], planes[NPLANE * f + 2]))
        for k in range(3):
            w = c[3 * f + k]
            known = w in (e.u, e.v)
            for j in range(count):
                known = known or near[j] == w
            if known or count >= 2 * MAX_AROUND:
                continue
            near[count] = w
            count += 1
            at = (x[3 * w], x[3 * w + 1], x[3 * w + 2])
            centre = add(centre, at)
            many = _ring(parts, fans, w, ring)
            mean = (0.0, 0.0, 0.0)
            for j in range(many):
                y = off(x, 3 * ring[j])
                mean = add(mean, (y[0], y[1], y[2]))
            bend = add(bend, sub(scale(1.0 / many, mean), at))
    size = norm(n)
    if count == 0 or not size > 0.0:
        return best
    n = scale(1.0 / size, n)
    own = sub(scale(1.0 / count, centre), best)
    move = FILTER * dot(n, sub(own, scale(1.0 / count, bend)))
    farthest = FARTHEST * length
    return axpy(max(-farthest, min(farthest, move)), n, best)


@kernel
def _corner(parts: Parts, e: Edge, f: int, k: int, x: Vec3) -> Vec3:
    """Corner k of triangle f after the collapse."""
    w = parts.corners[f, k]
    if w in (e.u, e.v):
        return x
    return (parts.points[w, 0], parts.points[w, 1], parts.points[w, 2])


@kernel
def _keeps_shape(parts: Parts, e: Edge, x: Vec3) -> bool:
    """Whether no triangle turns too far or becomes a sliver."""
    fresh, planes = local_f8(4), ptr(parts.planes)
    for i in range(e.many):
        f = e.around[i]
        if f in e.gone:
            continue
        a, b, c = _corner(parts, e, f, 0, x), _corner(parts, e, f, 1, x), _corner(parts, e, f, 2, x)
        area = plane_through(a, b, c, fresh)
        longest = max(
            dot(sub(b, a), sub(b, a)), dot(sub(c, b), sub(c, b)), dot(sub(a, c), sub(a, c))
        )
        old = off(planes, NPLANE * f)
        if area < LEAST_AREA * 0.866 * longest:
            return False
        if fresh[0] * old[0] + fresh[1] * old[1] + fresh[2] * old[2] < FLIP:
            return False
    return True


@kernel
def _keeps_convex(parts: Parts, e: Edge, x: Vec3) -> bool:
    """Whether every piece around stays convex: fresh planes against its vertices, x against its."""
    piece = ptr(parts.piece)
    for i in range(e.many):
        p = piece[e.around[i]]
        known = False
        for j in range(i):
            known = known or piece[e.around[j]] == p
        if not known and not _piece_convex(parts, e, p, x):
            return False
    return True


@kernel
def _piece_convex(parts: Parts, e: Edge, p: int, x: Vec3) -> bool:
    piece, after, planes = ptr(parts.piece), ptr(parts.after), ptr(parts.planes)
    fresh, at = local_f8(4), local_f8(3)
    f = parts.first[p]
    while f >= 0:
        if piece[f] == p and f not in e.gone:
            touched = False
            for k in range(3):
                touched = touched or parts.corners[f, k] in (e.u, e.v)
            if not touched:
                plane = off(planes, NPLANE * f)
                if plane[0] * x[0] + plane[1] * x[1] + plane[2] * x[2] - plane[3] > e.slack:
                    return False
            else:
                plane_through(
                    _corner(parts, e, f, 0, x), _corner(parts, e, f, 1, x),
                    _corner(parts, e, f, 2, x), fresh,
                )  # fmt: skip
                g = parts.first[p]
                while g >= 0:
                    if piece[g] == p and g not in e.gone:
                        for k in range(3):
                            at[0], at[1], at[2] = _corner(parts, e, g, k, x)
                            if height(fresh, at) > e.slack:
                                return False
                    g = after[g]
        f = after[f]
    return True


@kernel
def _apply(parts: Parts, fans: Fans, e: Edge, x: Vec3) -> None:
    """Move u to x, hand it the triangles of v, and drop the two between."""
    c, piece = ptr(parts.corners), ptr(parts.piece)
    points, planes, quadrics = ptr(parts.points), ptr(parts.planes), ptr(fans.quadrics)
    for f in e.gone:
        parts.living[piece[f]] -= 1
        piece[f] = -1
    at = fans.head[e.v]
    while at >= 0:
        c[at] = e.u
        at = fans.next[at]
    fans.next[fans.tail[e.u]] = fans.head[e.v]
    fans.tail[e.u] = fans.tail[e.v]
    fans.head[e.v] = -1
    for k in range(3):
        points[3 * e.u + k] = x[k]
    for k in range(NQUADRIC):
        quadrics[NQUADRIC * e.u + k] += quadrics[NQUADRIC * e.v + k]
    for i in range(e.many):
        f = e.around[i]
        if piece[f] >= 0:
            plane_through(
                _corner(parts, e, f, 0, x), _corner(parts, e, f, 1, x),
                _corner(parts, e, f, 2, x), off(planes, NPLANE * f),
            )  # fmt: skip


def typical_edge(points: Array, corners: LongArray) -> float:
    """Mean length of the edges [m]."""
    return float(edge_lengths(points, corners).mean())
