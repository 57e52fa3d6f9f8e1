"""Penetration depth of two overlapping convex shapes: the shortest translation that separates them.

With M = A - B and its support h(n) = max n.(a - b), moving b by h(n) n separates along n; the depth
is the least h(n), taken at a face of M. Two ways to find it:

* `penetration`: the expanding polytope algorithm (van den Bergen 2001). A polytope spanned by
  points of M grows where its boundary is nearest to the origin. Its nearest face bounds the depth
  from below, h of that face's normal from above; they meet after finitely many points. Distances
  are signed, so the first tetrahedron may be any with a volume: it need not hold the origin.
* `least_overlap`: every face normal of M by enumeration, that is the face normals of A and B and
  the cross products of those edge pairs whose arcs on the Gauss map meet. Slower, and cannot fail;
  it takes over where the polytope runs out of room or rounding breaks it.
"""

from __future__ import annotations

from math import inf, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, local_i4
from tangere.collision.clip import View
from tangere.collision.hull import SLIVER, created, hull_add, hull_begin, removed
from tangere.maths.vec import Vec3, basis

# Room of the polytope: two balls of 128 vertices took 10 points in shallow contact and 60 when
# concentric. What needs more is left to enumeration.
MAX_POINTS = 256
MAX_FACES = 512
# Bounds count as met when they differ by this part of the largest |w|: a few hundred roundings.
MET = 1e-13
# A face sees a point that is this part of the largest |w| above it.
SEEN = 1e-15
# Arcs of the Gauss map count as meeting when they miss by this sine: parallel edges and faces.
ARC = 1e-12


@kernel
def penetration(va: PtrF8, na: int, vb: PtrF8, nb: int) -> tuple[bool, float, float, float, float]:
    """Success, depth [m] and unit direction (x, y, z) of least overlap, from a to b.

    Args:
        va: Vertices of a, 3 na floats, world axes [m].
        na: Number of vertices of a.
        vb: Vertices of b, 3 nb floats, world axes [m].
        nb: Number of vertices of b.
    """
    w = local_f8(768)  # 3 MAX_POINTS
    face = local_i4(3584)  # 7 MAX_FACES
    plane = local_f8(2048)  # 4 MAX_FACES
    work = local_i4(3332)  # 4 + 6 MAX_FACES + MAX_POINTS
    key = local_f8(512)  # lower bound of each face
    final = local_i4(512)  # whether that bound is also reached

    size = _first_four(va, na, vb, nb, w)
    if not hull_begin(w, 0, 1, 2, 3, face, plane, work):
        return False, 0.0, 0.0, 0.0, 1.0
    for f in range(4):
        key[f] = plane[4 * f + 3]
        final[f] = 0
    count = 4
    while True:
        f, low = -1, inf
        for g in range(work[0]):
            if key[g] < low:
                f, low = g, key[g]
        if f < 0:
            return False, 0.0, 0.0, 0.0, 1.0
        n = (plane[4 * f], plane[4 * f + 1], plane[4 * f + 2])
        if final[f] == 1:
            return True, low, n[0], n[1], n[2]
        if count == MAX_POINTS:
            return False, 0.0, 0.0, 0.0, 1.0
        _place(va, na, vb, nb, n, w, count)
        x, y, z = w[3 * count], w[3 * count + 1], w[3 * count + 2]
        high = n[0] * x + n[1] * y + n[2] * z
        size = max(size, sqrt(x * x + y * y + z * z))
        # A known point above the face: the polytope is dented by rounding and cannot grow here, yet
        # `high` is still the overlap along n.
        if high - low <= MET * size or _known(w, count, SEEN * size):
            key[f] = max(high, low)
            final[f] = 1
            continue
        if not hull_add(w, count, f, SEEN * size, 0.0, MAX_FACES, face, plane, work):
            return False, 0.0, 0.0, 0.0, 1.0
        count += 1
        first = removed(MAX_FACES)
        for k in range(work[2]):
            key[work[first + k]] = inf
        first = created(MAX_FACES)
        for k in range(work[3]):
            g = work[first + k]
            final[g] = 0
            # A sliver has no area, so the nearest point of the boundary is not on it alone.
            key[g] = inf if face[7 * g + 6] == SLIVER else plane[4 * g + 3]


@kernel
def overlap(va: PtrF8, na: int, vb: PtrF8, nb: int, n: Vec3) -> float:
    """h(n) = max n.(a - b): how far b must move along n to be apart; negative when it is [m]."""
    ox, oy, oz = va[0], va[1], va[2]  # near both shapes, wherever they are
    high = -inf
    for i in range(na):
        s = n[0] * (va[3 * i] - ox) + n[1] * (va[3 * i + 1] - oy) + n[2] * (va[3 * i + 2] - oz)
        high = max(high, s)
    low = inf
    for i in range(nb):
        s = n[0] * (vb[3 * i] - ox) + n[1] * (vb[3 * i + 1] - oy) + n[2] * (vb[3 * i + 2] - oz)
        low = min(low, s)
    return high - low


@kernel
def least_overlap(
    a: View, edges_a: PtrI4, count_a: int, b: View, edges_b: PtrI4, count_b: int
) -> tuple[float, float, float, float]:
    """Depth [m] and unit direction (x, y, z) of least overlap by enumeration; never fails.

    Edges are given by four int32 each: two vertices, two faces.
    """
    va, pa, na, fa = a.verts, a.planes, a.vert_count, a.face_count
    vb, pb, nb, fb = b.verts, b.planes, b.vert_count, b.face_count
    ea, eb = edges_a, edges_b
    depth = inf
    best = (0.0, 0.0, 1.0)
    for f in range(fa):
        n = (pa[4 * f], pa[4 * f + 1], pa[4 * f + 2])
        h = overlap(va, na, vb, nb, n)
        if h < depth:
            depth, best = h, n
    for f in range(fb):
        n = (-pb[4 * f], -pb[4 * f + 1], -pb[4 * f + 2])
        h = overlap(va, na, vb, nb, n)
        if h < depth:
            depth, best = h, n
    for i in range(count_a):
        p, q = 3 * ea[4 * i], 3 * ea[4 * i + 1]
        ux, uy, uz = va[q] - va[p], va[q + 1] - va[p + 1], va[q + 2] - va[p + 2]
        s = 1.0 / sqrt(ux * ux + uy * uy + uz * uz)
        ux, uy, uz = s * ux, s * uy, s * uz
        g, k = 4 * ea[4 * i + 2], 4 * ea[4 * i + 3]
        for j in range(count_b):
            c, d = 4 * eb[4 * j + 2], 4 * eb[4 * j + 3]
            # Normals of b's two faces, turned, on either side of the great circle across edge u?
            sc = -(ux * pb[c] + uy * pb[c + 1] + uz * pb[c + 2])
            sd = -(ux * pb[d] + uy * pb[d + 1] + uz * pb[d + 2])
            if (sc > ARC and sd > ARC) or (sc < -ARC and sd < -ARC):
                continue
            r, t = 3 * eb[4 * j], 3 * eb[4 * j + 1]
            vx, vy, vz = vb[t] - vb[r], vb[t + 1] - vb[r + 1], vb[t + 2] - vb[r + 2]
            s = 1.0 / sqrt(vx * vx + vy * vy + vz * vz)
            vx, vy, vz = s * vx, s * vy, s * vz
            sg = vx * pa[g] + vy * pa[g + 1] + vz * pa[g + 2]
            sk = vx * pa[k] + vy * pa[k + 1] + vz * pa[k + 2]
            if (sg > ARC and sk > ARC) or (sg < -ARC and sk < -ARC):
                continue
            x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
            s = x * x + y * y + z * z
            if s < ARC * ARC:
                continue  # parallel: the candidate is a face normal, tried above
            s = 1.0 / sqrt(s)
            # Outward from a: along the sum of the normals of its two faces.
            if (
                x * (pa[g] + pa[k]) + y * (pa[g + 1] + pa[k + 1]) + z * (pa[g + 2] + pa[k + 2])
                < 0.0
            ):
                s = -s
            n = (s * x, s * y, s * z)
            if (
                n[0] * (pb[c] + pb[d])
                + n[1] * (pb[c + 1] + pb[d + 1])
                + n[2] * (pb[c + 2] + pb[d + 2])
                > ARC
            ):
                continue  # the arcs are on opposite sides of the sphere
            h = (
                n[0] * (va[p] - vb[r])
                + n[1] * (va[p + 1] - vb[r + 1])
                + n[2] * (va[p + 2] - vb[r + 2])
            )
            if h < depth:  # arcs that only almost meet promise too much: ask the support
                h = overlap(va, na, vb, nb, n)
                if h < depth:
                    depth, best = h, n
    return depth, best[0], best[1], best[2]


@kernel
def _first_four(va: PtrF8, na: int, vb: PtrF8, nb: int, w: PtrF8) -> float:
    """Write four points of M that span a volume whenever M has one; returns the largest |w|."""
    e = (1.0, 0.0, 0.0)
    best = -1.0
    for axis in range(3):  # the longest of the three extents
        d = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
        length = overlap(va, na, vb, nb, d) + overlap(va, na, vb, nb, (-d[0], -d[1], -d[2]))
        if length > best:
            best, e = length, d
    _place(va, na, vb, nb, e, w, 0)
    _place(va, na, vb, nb, (-e[0], -e[1], -e[2]), w, 1)
    ux, uy, uz = w[3] - w[0], w[4] - w[1], w[5] - w[2]
    s = 1.0 / sqrt(ux * ux + uy * uy + uz * uz)
    t1, t2 = basis((s * ux, s * uy, s * uz))
    _place_further(va, na, vb, nb, t1, t2, w, 2)
    vx, vy, vz = w[6] - w[0], w[7] - w[1], w[8] - w[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    s = 1.0 / sqrt(nx * nx + ny * ny + nz * nz)
    n = (s * nx, s * ny, s * nz)
    _place_further(va, na, vb, nb, n, n, w, 3)
    size = 0.0
    for k in range(4):
        x, y, z = w[3 * k], w[3 * k + 1], w[3 * k + 2]
        size = max(size, sqrt(x * x + y * y + z * z))
    return size


@kernel
def _place_further(
    va: PtrF8, na: int, vb: PtrF8, nb: int, s: Vec3, t: Vec3, w: PtrF8, k: int
) -> None:
    """Write to place k the support point along +-s or +-t that is furthest from w_0 along it."""
    best, d = -inf, s
    for turn in range(4):
        e = s if turn < 2 else t
        if turn % 2 == 1:
            e = (-e[0], -e[1], -e[2])
        _place(va, na, vb, nb, e, w, k)
        h = e[0] * (w[3 * k] - w[0]) + e[1] * (w[3 * k + 1] - w[1]) + e[2] * (w[3 * k + 2] - w[2])
        if h > best:
            best, d = h, e
    _place(va, na, vb, nb, d, w, k)


@kernel
def _place(va: PtrF8, na: int, vb: PtrF8, nb: int, n: Vec3, w: PtrF8, k: int) -> None:
    """Write the support point of M along n to place k."""
    ox, oy, oz = va[0], va[1], va[2]
    i, best = 0, -inf
    for m in range(na):
        s = n[0] * (va[3 * m] - ox) + n[1] * (va[3 * m + 1] - oy) + n[2] * (va[3 * m + 2] - oz)
        if s > best:
            i, best = m, s
    j, best = 0, inf
    for m in range(nb):
        s = n[0] * (vb[3 * m] - ox) + n[1] * (vb[3 * m + 1] - oy) + n[2] * (vb[3 * m + 2] - oz)
        if s < best:
            j, best = m, s
    for axis in range(3):
        w[3 * k + axis] = va[3 * i + axis] - vb[3 * j + axis]


@kernel
def _known(w: PtrF8, k: int, tolerance: float) -> bool:
    """Whether point k coincides with an earlier one."""
    x, y, z = w[3 * k], w[3 * k + 1], w[3 * k + 2]
    for m in range(k):
        if abs(w[3 * m] - x) + abs(w[3 * m + 1] - y) + abs(w[3 * m + 2] - z) <= tolerance:
            return True
    return False
