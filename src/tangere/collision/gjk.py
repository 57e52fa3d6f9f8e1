"""Distance of two convex vertex clouds by GJK, warm-started from vertex indices.

GJK (Gilbert, Johnson and Keerthi 1988) walks over the Minkowski difference A - B, whose points are
w = a_i - b_j, towards its point v of least norm: |v| is the distance. A simplex of at most four
such points is kept as index pairs (i, j); points are rebuilt from the moved vertices at the next
call, so a simplex that is still right costs one sub-problem and one support query.

Numbers: everything is computed from differences a_i - b_j or a_i - a_0, so shapes placed far from
the origin lose nothing beyond the rounding of their own coordinates. The sub-problem (least norm
over a simplex) tries every face that the origin can see and takes the best, rather than deciding
among Voronoi regions by signs: a wrong sign then costs one evaluation, not a wrong answer. The best
|v| falls strictly from round to round, so the loop ends even when only rounding is left.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, local_i4
from tangere.maths.vec import Vec3

APART = 0
OVERLAP = 1

# Rounds before giving up; 20 were the most ever seen, and each round must lower |v|.
MAX_ROUNDS = 128
# Optimality: |v|^2 - v.w <= GAP |v| max|w| bounds the error of the distance by GAP max|w|. Four and
# a half units of rounding: v.w itself is not known better.
GAP = 1e-15
# Touching: |v| below this part of the largest |w|, about the size of the larger shape.
TOUCH_SQUARED = 1e-24
# A triangle (tetrahedron) with a smaller squared sine of its angle has no usable normal (inside).
FLAT_SQUARED = 1e-26
# Keeps quotients of squares defined when all lengths are zero.
TINY = 1e-300


@kernel
def gjk(
    va: PtrF8, na: int, vb: PtrF8, nb: int, shift: Vec3, simplex: PtrI4
) -> tuple[int, float, float, float, float, float, float, float]:
    """Status, distance, witness on a (x, y, z), witness on b (x, y, z) of two convex vertex clouds.

    v = argmin |w| over w in A - (B + shift). The distance is good to rounding; the direction too,
    except that features whose directions differ by less than 1e-8 may stand for each other. When
    OVERLAP, the distance is 0 and both witnesses are one common point. `simplex` is left ready for
    the next call in either case.

    Args:
        va: Vertices of a, 3 na floats, world axes [m].
        na: Number of vertices of a.
        vb: Vertices of b, 3 nb floats, world axes [m].
        nb: Number of vertices of b.
        shift: Translation of b; its witness includes it [m].
        simplex: int32[9], in and out: count 0 to 4 (0 = cold), then as many pairs (i of a, j of b).
    """
    w = local_f8(15)  # points of the simplex, and a fifth place for the query
    lam = local_f8(4)  # their weights in v
    new = local_f8(4)
    pair = local_i4(8)
    count = simplex[0]
    if count < 1 or count > 4:
        count = 1
        simplex[1] = 0
        simplex[2] = 0
    w_max = 0.0
    for k in range(count):
        i, j = simplex[1 + 2 * k], simplex[2 + 2 * k]
        pair[2 * k] = i
        pair[2 * k + 1] = j
        w_max = max(w_max, _difference(va, i, vb, j, shift, w, k))

    status = APART
    best = 0.0
    vx, vy, vz = 0.0, 0.0, 0.0
    for turn in range(MAX_ROUNDS):
        inside, ux, uy, uz = nearest(w, count, new)
        if inside:
            status = OVERLAP
            vx, vy, vz = 0.0, 0.0, 0.0
            for k in range(4):
                lam[k] = new[k]
            _store(simplex, pair, 4)
            break
        norm2 = ux * ux + uy * uy + uz * uz
        if turn > 0 and not norm2 < best:  # also ends on NaN
            break
        best = norm2
        vx, vy, vz = ux, uy, uz
        kept = 0
        for k in range(count):  # keep the points that carry v
            if new[k] > 0.0:
                lam[kept] = new[k]
                if kept != k:
                    pair[2 * kept] = pair[2 * k]
                    pair[2 * kept + 1] = pair[2 * k + 1]
                    w[3 * kept] = w[3 * k]
                    w[3 * kept + 1] = w[3 * k + 1]
                    w[3 * kept + 2] = w[3 * k + 2]
                kept += 1
        count = kept
        _store(simplex, pair, count)

        i = _support(va, na, -vx, -vy, -vz)
        j = _support(vb, nb, vx, vy, vz)
        w_max = max(w_max, _difference(va, i, vb, j, shift, w, count))
        if norm2 <= TOUCH_SQUARED * w_max:
            status = OVERLAP
            break
        known = False
        for k in range(count):
            known = known or (pair[2 * k] == i and pair[2 * k + 1] == j)
        q = 3 * count
        gap = vx * (vx - w[q]) + vy * (vy - w[q + 1]) + vz * (vz - w[q + 2])
        if known or count == 4 or gap <= GAP * sqrt(norm2 * w_max):
            break
        pair[2 * count] = i
        pair[2 * count + 1] = j
        count += 1

    # Witness on a, from a vertex: no large coordinate is to be multiplied by a rounded weight.
    i = simplex[1]
    ox, oy, oz = va[3 * i], va[3 * i + 1], va[3 * i + 2]
    px, py, pz = 0.0, 0.0, 0.0
    for k in range(1, simplex[0]):
        i = simplex[1 + 2 * k]
        px += lam[k] * (va[3 * i] - ox)
        py += lam[k] * (va[3 * i + 1] - oy)
        pz += lam[k] * (va[3 * i + 2] - oz)
    px, py, pz = ox + px, oy + py, oz + pz
    if status == OVERLAP:
        return OVERLAP, 0.0, px, py, pz, px, py, pz
    return APART, sqrt(best), px, py, pz, px - vx, py - vy, pz - vz


@kernel
def _support(v: PtrF8, n: int, dx: float, dy: float, dz: float) -> int:
    """Index of the vertex furthest along d, measured from vertex 0 to keep far placements exact."""
    ox, oy, oz = v[0], v[1], v[2]
    best = 0.0
    k = 0
    for i in range(1, n):
        s = (v[3 * i] - ox) * dx + (v[3 * i + 1] - oy) * dy + (v[3 * i + 2] - oz) * dz
        if s > best:
            best = s
            k = i
    return k


@kernel
def _difference(va: PtrF8, i: int, vb: PtrF8, j: int, shift: Vec3, w: PtrF8, k: int) -> float:
    """|w|^2 of w = a_i - b_j - shift, written to place k."""
    x: float = (va[3 * i] - vb[3 * j]) - shift[0]
    y: float = (va[3 * i + 1] - vb[3 * j + 1]) - shift[1]
    z: float = (va[3 * i + 2] - vb[3 * j + 2]) - shift[2]
    w[3 * k] = x
    w[3 * k + 1] = y
    w[3 * k + 2] = z
    return x * x + y * y + z * z


@kernel
def _store(simplex: PtrI4, pair: PtrI4, count: int) -> None:
    """Write the index pairs back for the next call."""
    simplex[0] = count
    for k in range(2 * count):
        simplex[1 + k] = pair[k]


@kernel
def nearest(w: PtrF8, count: int, lam: PtrF8) -> tuple[bool, float, float, float]:
    """Whether the origin is inside the simplex, and else its nearest point v; weights go to lam."""
    for k in range(count):
        lam[k] = 0.0
    if count == 1:
        lam[0] = 1.0
        return False, w[0], w[1], w[2]
    if count == 2:
        _, vx, vy, vz, s, t = _segment(w, 0, 1)
        lam[0], lam[1] = s, t
        return False, vx, vy, vz
    if count == 3:
        _, vx, vy, vz, r, s, t = _triangle(w, 0, 1, 2)
        lam[0], lam[1], lam[2] = r, s, t
        return False, vx, vy, vz
    return _tetrahedron(w, lam)


@kernel
def _segment(w: PtrF8, i: int, j: int) -> tuple[float, float, float, float, float, float]:
    """|v|^2, v and the two weights of the point of segment w_i w_j nearest to the origin."""
    px, py, pz = w[3 * i], w[3 * i + 1], w[3 * i + 2]
    ex, ey, ez = w[3 * j] - px, w[3 * j + 1] - py, w[3 * j + 2] - pz
    t = -(px * ex + py * ey + pz * ez)
    ee = ex * ex + ey * ey + ez * ez
    if not t > 0.0:
        return px * px + py * py + pz * pz, px, py, pz, 1.0, 0.0
    if t >= ee:
        px, py, pz = w[3 * j], w[3 * j + 1], w[3 * j + 2]
        return px * px + py * py + pz * pz, px, py, pz, 0.0, 1.0
    t /= ee
    px, py, pz = px + t * ex, py + t * ey, pz + t * ez
    return px * px + py * py + pz * pz, px, py, pz, 1.0 - t, t


@kernel
def _normal(
    w: PtrF8, i: int, j: int, k: int
) -> tuple[float, float, float, float, float, float, float]:
    """Normal n = (b - a) x (c - a), n^2, n.a, least squared distance of a corner, and fitness.

    Alike in exact numbers, the three corners are not in rounded ones: n is taken from the two
    shorter edges, n.a from the corner nearest to the origin. A fitness below 1 means too flat to
    have a direction.
    """
    ax, ay, az = w[3 * i], w[3 * i + 1], w[3 * i + 2]
    bx, by, bz = w[3 * j], w[3 * j + 1], w[3 * j + 2]
    cx, cy, cz = w[3 * k], w[3 * k + 1], w[3 * k + 2]
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - ax, cy - ay, cz - az
    ex, ey, ez = cx - bx, cy - by, cz - bz
    uu = ux * ux + uy * uy + uz * uz
    vv = vx * vx + vy * vy + vz * vz
    ee = ex * ex + ey * ey + ez * ez
    edges = uu * vv
    if vv > ee and vv >= uu:
        vx, vy, vz, edges = ex, ey, ez, uu * ee
    elif uu > ee:
        ux, uy, uz, vx, vy, vz, edges = vx, vy, vz, ex, ey, ez, vv * ee
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    nn = nx * nx + ny * ny + nz * nz
    aa = ax * ax + ay * ay + az * az
    bb = bx * bx + by * by + bz * bz
    cc = cx * cx + cy * cy + cz * cz
    if bb < aa:
        ax, ay, az, aa = bx, by, bz, bb
    if cc < aa:
        ax, ay, az, aa = cx, cy, cz, cc
    h = ax * nx + ay * ny + az * nz
    return nx, ny, nz, nn, h, aa, nn / (FLAT_SQUARED * edges + TINY)


@kernel
def _triangle(
    w: PtrF8, i: int, j: int, k: int
) -> tuple[float, float, float, float, float, float, float]:
    """|v|^2, v and the three weights of the point of a triangle nearest to the origin.

    With n = (b - a) x (c - a) the foot of the origin is v = (a.n) n / n^2 and its weights are
    n.(b x c) / n^2 and so on; b x c = b x (c - b) spares the digits that b and c share. If a
    weight is not positive, the answer lies on an edge opposite to such a corner.
    """
    nx, ny, nz, nn, h, _, flat = _normal(w, i, j, k)
    ra, rb, rc = 0.0, 0.0, 0.0
    if flat > 1.0:
        ra = _volume(w, j, k, nx, ny, nz)
        rb = _volume(w, k, i, nx, ny, nz)
        rc = _volume(w, i, j, nx, ny, nz)
        if ra > 0.0 and rb > 0.0 and rc > 0.0:
            h /= nn
            f = 1.0 / (ra + rb + rc)
            return h * h * nn, h * nx, h * ny, h * nz, f * ra, f * rb, f * rc
    best = -1.0
    x, y, z, s, t, u = w[3 * i], w[3 * i + 1], w[3 * i + 2], 1.0, 0.0, 0.0
    if not rc > 0.0:
        best, x, y, z, s, t = _segment(w, i, j)
    if not ra > 0.0:
        d, px, py, pz, lj, lk = _segment(w, j, k)
        if best < 0.0 or d < best:
            best, x, y, z, s, t, u = d, px, py, pz, 0.0, lj, lk
    if not rb > 0.0:
        d, px, py, pz, li, lk = _segment(w, i, k)
        if best < 0.0 or d < best:
            best, x, y, z, s, t, u = d, px, py, pz, li, 0.0, lk
    return best, x, y, z, s, t, u


@kernel
def _volume(w: PtrF8, i: int, j: int, nx: float, ny: float, nz: float) -> float:
    """n.(w_i x w_j) = n.(w_i x (w_j - w_i))."""
    x, y, z = w[3 * i], w[3 * i + 1], w[3 * i + 2]
    ex, ey, ez = w[3 * j] - x, w[3 * j + 1] - y, w[3 * j + 2] - z
    return float(nx * (y * ez - z * ey) + ny * (z * ex - x * ez) + nz * (x * ey - y * ex))


@kernel
def _tetrahedron(w: PtrF8, lam: PtrF8) -> tuple[bool, float, float, float]:
    """As `nearest` for four points: the best of the faces that the origin can see, or inside."""
    total = 0.0
    best = -1.0
    x, y, z = 0.0, 0.0, 0.0
    for face in range(4):  # the face opposite to corner `face`
        i, j, k = (face + 1) & 3, (face + 2) & 3, (face + 3) & 3
        nx, ny, nz, nn, h, near, flat = _normal(w, i, j, k)
        px, py, pz = w[3 * face], w[3 * face + 1], w[3 * face + 2]
        corner = nx * px + ny * py + nz * pz - h
        noise = FLAT_SQUARED * nn * (px * px + py * py + pz * pz + near)
        if corner * h < 0.0 and corner * corner > noise and flat > 1.0:
            if best < 0.0:  # the origin is on the side of the corner
                lam[face] = abs(h)
                total += lam[face]
            continue
        d, px, py, pz, li, lj, lk = _triangle(w, i, j, k)
        if best < 0.0 or d < best:
            best, x, y, z = d, px, py, pz
            lam[face] = 0.0
            lam[i], lam[j], lam[k] = li, lj, lk
    if best >= 0.0:
        return False, x, y, z
    for k in range(4):
        lam[k] /= total
    return True, 0.0, 0.0, 0.0
