"""Convex hull of points in space, grown one point at a time; shared by `epa` and `dual`.

The hull is a closed mesh of triangles in flat arrays that the caller owns (sizes for F faces, V
points; F = 2 V always suffices):

* `face` int32[7 F]: three corners counter-clockwise seen from outside, the face across each edge
  (corner k to k + 1), and the state FREE, ALIVE, SLIVER or VISIBLE;
* `plane` float64[4 F]: unit outward normal n and offset d, inside n.x <= d;
* `work` int32[4 + 6 F + V]: [0] faces in use including free ones, [1] free faces, [2] faces removed
  and [3] faces made by the last growth, then lists; `created` tells where those ids stand.

A point is added by flooding the faces that see it from one such face and closing the rim. Rounding
can only break the rim (not one simple loop), which is reported. A triangle without area carries the
plane of the neighbour it folds on: it lies in that plane, and so answers "who sees the point?" like
it.
"""

from __future__ import annotations

from math import inf, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4

FREE = 0
ALIVE = 1
SLIVER = 2
VISIBLE = 3

# Squared sine of the largest angle below which a triangle has no normal: rounding of differences of
# coordinates leaves about 1e-15 of the sine.
SLIVER_SQUARED = 1e-28


@kernel
def hull_begin(
    points: PtrF8, i: int, j: int, k: int, m: int, face: PtrI4, plane: PtrF8, work: PtrI4
) -> bool:
    """Whether the four points span a volume; their tetrahedron is then the hull, faces 0 to 3."""
    ax, ay, az = points[3 * i], points[3 * i + 1], points[3 * i + 2]
    ux, uy, uz = points[3 * j] - ax, points[3 * j + 1] - ay, points[3 * j + 2] - az
    vx, vy, vz = points[3 * k] - ax, points[3 * k + 1] - ay, points[3 * k + 2] - az
    wx, wy, wz = points[3 * m] - ax, points[3 * m + 1] - ay, points[3 * m + 2] - az
    det = (
        (uy * vz - uz * vy) * wx + (uz * vx - ux * vz) * wy + (ux * vy - uy * vx) * wz
    )  # > 0: m lies outside of face (i, j, k)
    if det > 0.0:
        j, k = k, j
    _corners(face, 0, i, j, k)
    _corners(face, 1, i, k, m)
    _corners(face, 2, i, m, j)
    _corners(face, 3, j, m, k)
    _across(face, 0, 2, 3, 1)
    _across(face, 1, 0, 3, 2)
    _across(face, 2, 1, 3, 0)
    _across(face, 3, 2, 1, 0)
    work[0] = 4
    work[1] = 0
    work[2] = 0
    work[3] = 0
    solid = bool(det != 0.0)
    for f in range(4):
        solid = _set_plane(points, face, plane, f) and solid
        face[7 * f + 6] = ALIVE
    return solid


@kernel
def hull_add(
    points: PtrF8,
    w: int,
    seed: int,
    slack: float,
    part: float,
    max_faces: int,
    face: PtrI4,
    plane: PtrF8,
    work: PtrI4,
) -> bool:
    """Whether point w, seen by face `seed`, could be added to the hull; after False it is broken.

    A face sees w if n.w - d > slack + part |d|.
    """
    wx, wy, wz = points[3 * w], points[3 * w + 1], points[3 * w + 2]
    free = 4
    gone = free + max_faces
    rim = gone + max_faces
    made = rim + 3 * max_faces
    at = made + max_faces

    work[gone] = seed
    face[7 * seed + 6] = VISIBLE
    seen, edges, turn = 1, 0, 0
    while turn < seen:
        f = work[gone + turn]
        turn += 1
        for k in range(3):
            g = face[7 * f + 3 + k]
            if face[7 * g + 6] == VISIBLE:
                continue
            d = plane[4 * g + 3]
            s = plane[4 * g] * wx + plane[4 * g + 1] * wy + plane[4 * g + 2] * wz - d
            if s > slack + part * abs(d):
                face[7 * g + 6] = VISIBLE
                work[gone + seen] = g
                seen += 1
                continue
            u = face[7 * f + k]
            if edges >= max_faces:
                return False
            e = work[at + u]
            if 0 <= e < edges and work[rim + 3 * e] == u:
                return False  # the rim passes one point twice
            work[at + u] = edges
            work[rim + 3 * edges] = u
            work[rim + 3 * edges + 1] = face[7 * f + (k + 1) % 3]
            work[rim + 3 * edges + 2] = g
            edges += 1

    # One simple loop? Following the rim from its first edge must visit all of it.
    e, visited = 0, 0
    while visited < edges:
        v = work[rim + 3 * e + 1]
        e = work[at + v]
        if not (0 <= e < edges) or work[rim + 3 * e] != v:
            return False
        visited += 1
        if e == 0:
            break
    if visited != edges or edges < 3:
        return False

    for k in range(seen):
        f = work[gone + k]
        face[7 * f + 6] = FREE
        work[free + work[1]] = f
        work[1] += 1
    for e in range(edges):
        if work[1] > 0:
            work[1] -= 1
            f = work[free + work[1]]
        elif work[0] < max_faces:
            f = work[0]
            work[0] += 1
        else:
            return False
        work[made + e] = f
    for e in range(edges):
        f, g = work[made + e], work[rim + 3 * e + 2]
        u, v = work[rim + 3 * e], work[rim + 3 * e + 1]
        _corners(face, f, u, v, w)
        for k in range(3):
            if face[7 * g + k] == v and face[7 * g + (k + 1) % 3] == u:
                face[7 * g + 3 + k] = f
        after = work[made + work[at + v]]
        face[7 * f + 3] = g
        face[7 * f + 4] = after
        face[7 * after + 5] = f
        face[7 * f + 6] = ALIVE
        if not _set_plane(points, face, plane, f):
            face[7 * f + 6] = SLIVER
            for k in range(4):
                plane[4 * f + k] = plane[4 * g + k]
    work[2] = seen
    work[3] = edges
    return True


@kernel
def removed(max_faces: int) -> int:
    """Where in `work` the ids of the faces that the last growth removed begin; work[2] of them."""
    return 4 + max_faces


@kernel
def created(max_faces: int) -> int:
    """Where in `work` the ids of the faces that the last growth made begin; work[3] of them."""
    return 4 + 5 * max_faces


@kernel
def _corners(face: PtrI4, f: int, i: int, j: int, k: int) -> None:
    """Name the three corners of face f."""
    face[7 * f] = i
    face[7 * f + 1] = j
    face[7 * f + 2] = k


@kernel
def _across(face: PtrI4, f: int, i: int, j: int, k: int) -> None:
    """Name the three neighbours of face f."""
    face[7 * f + 3] = i
    face[7 * f + 4] = j
    face[7 * f + 5] = k


@kernel
def _set_plane(points: PtrF8, face: PtrI4, plane: PtrF8, f: int) -> bool:
    """Whether face f has a normal; written from the corner between its two shorter edges."""
    best = -1.0
    base = 0
    for k in range(3):  # the corner opposite to the longest edge loses the fewest digits
        i, j = 3 * face[7 * f + (k + 1) % 3], 3 * face[7 * f + (k + 2) % 3]
        x = points[j] - points[i]
        y = points[j + 1] - points[i + 1]
        z = points[j + 2] - points[i + 2]
        s = x * x + y * y + z * z
        if s > best:
            best, base = s, k
    a = 3 * face[7 * f + base]
    b = 3 * face[7 * f + (base + 1) % 3]
    c = 3 * face[7 * f + (base + 2) % 3]
    ux, uy, uz = points[b] - points[a], points[b + 1] - points[a + 1], points[b + 2] - points[a + 2]
    vx, vy, vz = points[c] - points[a], points[c + 1] - points[a + 1], points[c + 2] - points[a + 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    nn = nx * nx + ny * ny + nz * nz
    uu = ux * ux + uy * uy + uz * uz
    vv = vx * vx + vy * vy + vz * vz
    if not nn > SLIVER_SQUARED * uu * vv:
        return False
    r = 1.0 / sqrt(nn)
    nx, ny, nz = r * nx, r * ny, r * nz
    plane[4 * f] = nx
    plane[4 * f + 1] = ny
    plane[4 * f + 2] = nz
    near = inf  # the corner nearest to the origin gives the offset with the fewest digits lost
    for k in range(3):
        p = 3 * face[7 * f + k]
        x, y, z = points[p], points[p + 1], points[p + 2]
        if x * x + y * y + z * z < near:
            near = x * x + y * y + z * z
            plane[4 * f + 3] = nx * x + ny * y + nz * z
    return True
