"""Contact volume by dual transform: the boundary of A ∩ B as the convex hull of dual points.

With the origin moved to a point o inside both shapes, the plane N.x = d of each face becomes the
dual point y = N / r, r = d - N.o. The convex hull of these points (quickhull, Barber et al. 1996)
is the dual of A ∩ B: each of its corners is a face of the volume, each of its facets n.y = e a
vertex x = o + n / e, and the facets around a corner in order are the polygon of that face.

The transform blows up where o is close to a face, and a thin volume is bad for any o. Both are
cured by the analytic centre, the maximum of sum log r (Newton's method): H = sum N Nᵀ / r² = L Lᵀ
describes an ellipsoid that fills the volume, and in coordinates Lᵀ(x - o) the volume is round, with
all dual points L⁻¹ y in the unit ball. A first guess that is not inside is led there by a barrier
method.
"""

from __future__ import annotations

from math import inf, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, local_i4, off
from tangere.collision.clip import View
from tangere.collision.hull import created, hull_add, hull_begin, removed
from tangere.maths.vec import Vec3, add, axpy, basis, dot, scale
from tangere.model import Soup

# Why no polygons came out; the caller clips instead.
FULL = -1
FAILED = -2

# Two hulls of 256 faces each.
MAX_PLANES = 512
MAX_FACES = 1024
# Newton step length (in the norm of H) below which the point is well centred: the ellipsoid of H
# around it then lies inside the volume by a clear margin.
CENTRED = 0.7
NEWTON_ROUNDS = 60
# A face nearer than this part of the way across is left behind first, and so many at most.
CLOSE = 0.1
WALLS = 8
# Growth at the start of the barrier method, as part of the largest offset: clear of the guess.
START = 1e-2
# A volume thinner than this part of the distances around it cannot be told from none.
NO_DEPTH = 1e-14
# Keeps square roots and quotients defined where rounding has eaten a diagonal of H [1/m²].
TINY = 1e-300
# In the round coordinates: a dual point this far above a facet belongs to the hull ...
ABOVE = 1e-14
# ... two points this close are one plane ...
SAME = 1e-12
# ... and an edge of the finished hull may be dented by so much, else the hull is refused.
DENT = 1e-10
# Corners of a polygon closer than this part of the volume's reach are one.
WELD = 1e-13


@kernel
def dual_volume(a: View, b: View, guess: Vec3, soup: Soup, first: int, capacity: int) -> int:
    """Append the polygons of A ∩ B to the `first` in the soup; returns the count, FULL or FAILED.

    Args:
        a: First part.
        b: Second part.
        guess: A point near the middle of the volume, such as last step's; inside or not.
        soup: Where the polygons go; soup.start[first] must be set.
        first: Polygons already in the soup.
        capacity: Polygons and vertices that fit.
    """
    planes = local_f8(2048)  # 4 MAX_PLANES, seen from o
    points = local_f8(1536)  # 3 MAX_PLANES
    face = local_i4(7168)  # 7 MAX_FACES
    plane = local_f8(4096)  # 4 MAX_FACES
    work = local_i4(6660)  # 4 + 6 MAX_FACES + MAX_PLANES
    count = a.face_count + b.face_count
    if count > MAX_PLANES:
        return FAILED
    for f in range(4 * a.face_count):
        planes[f] = a.planes[f]
    for f in range(4 * b.face_count):
        planes[4 * a.face_count + f] = b.planes[f]
    found, o, e0, chol = centre(planes, count, guess)
    if not found:
        return FAILED
    e1, e2 = basis(e0)
    l00, l10, l11, l20, l21, l22 = chol
    for f in range(count):
        n = off(planes, 4 * f)
        s = 1.0 / n[3]  # `centre` has left the distance r there
        x = s * n[0] / l00
        y = (s * n[1] - l10 * x) / l11
        z = (s * n[2] - l20 * x - l21 * y) / l22
        points[3 * f] = x
        points[3 * f + 1] = y
        points[3 * f + 2] = z
    if not quickhull(points, count, face, plane, work):
        return FAILED
    # Facets to vertices, in place of their planes: x - o = L⁻ᵀ n / e, turned back.
    reach = 0.0
    for f in range(work[0]):
        if face[7 * f + 6] == 0:
            continue
        p = off(plane, 4 * f)
        if not p[3] > 0.0:
            return FAILED
        s = 1.0 / p[3]
        z = s * p[2] / l22
        y = (s * p[1] - l21 * z) / l11
        x = (s * p[0] - l10 * y - l20 * z) / l00
        reach = max(reach, x * x + y * y + z * z)
        for k in range(3):
            p[k] = x * e0[k] + y * e1[k] + z * e2[k]
    return _polygons(count, o, WELD * WELD * reach, face, plane, work, soup, first, capacity)


@kernel
def centre(
    planes: PtrF8, count: int, guess: Vec3
) -> tuple[bool, Vec3, Vec3, tuple[float, float, float, float, float, float]]:
    """Whether the half-spaces N.x <= d share a volume, its analytic centre o, e0, L of H = L Lᵀ.

    Each d of `planes` is replaced by r = d - N.o, each N by its components along e0, e1, e2, where
    e0 is the normal of the nearest face and `basis(e0)` gives the others: the thin direction of a
    volume is then an axis, or H would lose it to rounding. L comes row by row, in these axes.
    """
    low = _move(planes, count, guess)
    o = guess
    found = low > 0.0
    if not found:
        found, o = _enter(planes, count, guess, low)
    near, o = _leave_wall(planes, count, o)
    e0 = (planes[4 * near], planes[4 * near + 1], planes[4 * near + 2])
    e1, e2 = basis(e0)
    for f in range(count):
        n = off(planes, 4 * f)
        normal = (n[0], n[1], n[2])
        n[0], n[1], n[2] = dot(normal, e0), dot(normal, e1), dot(normal, e2)
    l00, l10, l11, l20, l21, l22 = 1.0, 0.0, 1.0, 0.0, 0.0, 1.0
    for _ in range(NEWTON_ROUNDS if found else 0):
        gx, gy, gz = 0.0, 0.0, 0.0
        xx, xy, xz, yy, yz, zz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for f in range(count):
            n = off(planes, 4 * f)
            s = 1.0 / n[3]
            x, y, z = s * n[0], s * n[1], s * n[2]
            gx, gy, gz = gx - x, gy - y, gz - z
            xx, xy, xz = xx + x * x, xy + x * y, xz + x * z
            yy, yz, zz = yy + y * y, yz + y * z, zz + z * z
        # L Lᵀ = H, L u = g: the step is L⁻ᵀ u, its length in the norm of H is |u|.
        l00 = sqrt(xx)
        l10, l20 = xy / l00, xz / l00
        l11 = sqrt(max(yy - l10 * l10, TINY))
        l21 = (yz - l20 * l10) / l11
        l22 = sqrt(max(zz - l20 * l20 - l21 * l21, TINY))
        ux = gx / l00
        uy = (gy - l10 * ux) / l11
        uz = (gz - l20 * ux - l21 * uy) / l22
        length = sqrt(ux * ux + uy * uy + uz * uz)
        if not length > CENTRED:  # also ends on NaN
            return length <= CENTRED, o, e0, (l00, l10, l11, l20, l21, l22)
        t = 1.0 / (1.0 + length)  # damped: never leaves the volume
        dz = t * uz / l22
        dy = (t * uy - l21 * dz) / l11
        dx = (t * ux - l10 * dy - l20 * dz) / l00
        if not _move(planes, count, (dx, dy, dz)) > 0.0:
            break
        o = axpy(dx, e0, axpy(dy, e1, axpy(dz, e2, o)))
    return False, o, e0, (l00, l10, l11, l20, l21, l22)


@kernel
def _move(planes: PtrF8, count: int, step: Vec3) -> float:
    """Take the offsets from a point moved by `step`; returns the least."""
    low = inf
    for f in range(count):
        n = off(planes, 4 * f)
        n[3] -= n[0] * step[0] + n[1] * step[1] + n[2] * step[2]
        low = min(low, n[3])
    return low


@kernel
def _leave_wall(planes: PtrF8, count: int, point: Vec3) -> tuple[int, Vec3]:
    """The nearest face, and the point after moving away from faces that it almost lies on.

    Newton's method only doubles a small offset per step. Half way to the far wall is one step.
    """
    near = 0
    for _ in range(WALLS):
        for f in range(count):
            if planes[4 * f + 3] < planes[4 * near + 3]:
                near = f
        m = off(planes, 4 * near)
        normal = (m[0], m[1], m[2])
        far = inf
        for f in range(count):
            n = off(planes, 4 * f)
            away = -(n[0] * normal[0] + n[1] * normal[1] + n[2] * normal[2])
            if away > 0.0:
                far = min(far, n[3] / away)
        if not m[3] < CLOSE * far < inf:
            break
        step = scale(-0.5 * (far - m[3]), normal)
        _move(planes, count, step)
        point = add(point, step)
    return near, point


@kernel
def _enter(planes: PtrF8, count: int, point: Vec3, low: float) -> tuple[bool, Vec3]:
    """Whether a point with all offsets positive exists, and that point; offsets are taken from it.

    Minimise s subject to N.x <= d + s by the barrier k s - sum log(d + s - N.x) with growing k,
    until the point is inside; count / k bounds how much s can still fall.
    """
    h = local_f8(16)
    g = local_f8(4)
    q = local_f8(4)
    high = 0.0
    for f in range(count):
        high = max(high, abs(planes[4 * f + 3]))
    s = abs(low) + START * high
    k = count / s
    for _ in range(2 * NEWTON_ROUNDS):
        for i in range(16):
            h[i] = 0.0
        g[0], g[1], g[2], g[3] = 0.0, 0.0, 0.0, -k
        for f in range(count):
            n = off(planes, 4 * f)
            r = 1.0 / (n[3] + s)
            q[0], q[1], q[2], q[3] = -r * n[0], -r * n[1], -r * n[2], r
            for i in range(4):
                g[i] += q[i]
                for j in range(i + 1):
                    h[4 * i + j] += q[i] * q[j]
        for i in range(4):  # h = L Lᵀ, then L u = g
            for j in range(i + 1):
                v = h[4 * i + j]
                for m in range(j):
                    v -= h[4 * i + m] * h[4 * j + m]
                h[4 * i + j] = sqrt(max(v, TINY)) if i == j else v / h[5 * j]
            for j in range(i):
                g[i] -= h[4 * i + j] * g[j]
            g[i] /= h[5 * i]
        length = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2] + g[3] * g[3])
        if not length < inf:
            return False, point
        t = 1.0 / (1.0 + length) if length > CENTRED else 1.0
        for i in range(3, -1, -1):  # Lᵀ step = u
            for j in range(i + 1, 4):
                g[i] -= h[4 * j + i] * g[j]
            g[i] /= h[5 * i]
        step = (t * g[0], t * g[1], t * g[2])
        point = (point[0] + step[0], point[1] + step[1], point[2] + step[2])
        s += t * g[3]
        if _move(planes, count, step) > 0.0:
            return True, point
        if length <= CENTRED:
            if count / k < NO_DEPTH * high:
                return False, point
            k *= 30.0
    return False, point


@kernel
def quickhull(points: PtrF8, count: int, face: PtrI4, plane: PtrF8, work: PtrI4) -> bool:
    """Whether the convex hull of points in the unit ball could be built, convex up to DENT.

    The arrays are those of `hull`, for MAX_PLANES points and MAX_FACES faces.
    """
    head = local_i4(1024)  # MAX_FACES: first point above each face
    following = local_i4(512)  # MAX_PLANES: the next one of the same face
    i, j, k, m = _spread(points, count)
    if i < 0 or not hull_begin(points, i, j, k, m, face, plane, work):
        return False
    for f in range(4):
        head[f] = -1
    for p in range(count):
        if p not in (i, j, k, m):
            _assign(points, p, face, plane, work, 0, 4, head, following)
    f = 0
    while f < work[0]:
        if face[7 * f + 6] == 0 or head[f] < 0:
            f += 1
            continue
        n = off(plane, 4 * f)
        p, best = -1, -inf
        q = head[f]
        while q >= 0:
            y = off(points, 3 * q)
            s = n[0] * y[0] + n[1] * y[1] + n[2] * y[2] - n[3]
            if s > best:
                p, best = q, s
            q = following[q]
        if not hull_add(points, p, f, ABOVE, 0.0, MAX_FACES, face, plane, work):
            return False
        # Points above faces that are gone are above a new face or inside.
        orphans = -1
        gone = removed(MAX_FACES)
        for g in range(work[2]):
            q = head[work[gone + g]]
            while q >= 0:
                after = following[q]
                if q != p:
                    following[q] = orphans
                    orphans = q
                q = after
        made = created(MAX_FACES)
        for g in range(work[3]):
            head[work[made + g]] = -1
            f = min(f, work[made + g])
        while orphans >= 0:
            q = orphans
            orphans = following[q]
            _assign(points, q, face, plane, work, made, work[3], head, following)
    return _convex(points, face, plane, work)


@kernel
def _assign(
    points: PtrF8,
    p: int,
    face: PtrI4,
    plane: PtrF8,
    work: PtrI4,
    made: int,
    count: int,
    head: PtrI4,
    following: PtrI4,
) -> None:
    """Put point p on the list of the face it is furthest above; made = 0 means faces 0 to 3."""
    x, y, z = points[3 * p], points[3 * p + 1], points[3 * p + 2]
    best, g = ABOVE, -1
    for c in range(count):
        f = work[made + c] if made > 0 else c
        n = off(plane, 4 * f)
        s = n[0] * x + n[1] * y + n[2] * z - n[3]
        if s > best:
            best, g = s, f
    if g >= 0 and not _is_corner(points, p, face, g):
        following[p] = head[g]
        head[g] = p


@kernel
def _is_corner(points: PtrF8, p: int, face: PtrI4, f: int) -> bool:
    """Whether point p coincides with a corner of face f: two faces on one plane."""
    for k in range(3):
        y = off(points, 3 * face[7 * f + k])
        x = off(points, 3 * p)
        if abs(y[0] - x[0]) + abs(y[1] - x[1]) + abs(y[2] - x[2]) < SAME:
            return True
    return False


@kernel
def _spread(points: PtrF8, count: int) -> tuple[int, int, int, int]:
    """Four points that span a large volume; the first is negative if there are none."""
    i, j, best = 0, 0, -1.0
    for axis in range(3):
        low, high = 0, 0
        for p in range(count):
            if points[3 * p + axis] < points[3 * low + axis]:
                low = p
            if points[3 * p + axis] > points[3 * high + axis]:
                high = p
        s = points[3 * high + axis] - points[3 * low + axis]
        if s > best:
            i, j, best = low, high, s
    ax, ay, az = points[3 * i], points[3 * i + 1], points[3 * i + 2]
    ux, uy, uz = points[3 * j] - ax, points[3 * j + 1] - ay, points[3 * j + 2] - az
    k, best = -1, 0.0
    nx, ny, nz = 0.0, 0.0, 0.0
    for p in range(count):
        vx, vy, vz = points[3 * p] - ax, points[3 * p + 1] - ay, points[3 * p + 2] - az
        x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        s = x * x + y * y + z * z
        if s > best:
            k, best = p, s
            nx, ny, nz = x, y, z
    m, best = -1, 0.0
    for p in range(count):
        vx, vy, vz = points[3 * p] - ax, points[3 * p + 1] - ay, points[3 * p + 2] - az
        s = abs(nx * vx + ny * vy + nz * vz)
        if s > best:
            m, best = p, s
    return (i if k >= 0 and m >= 0 else -1), j, k, m


@kernel
def _convex(points: PtrF8, face: PtrI4, plane: PtrF8, work: PtrI4) -> bool:
    """Whether no edge of the hull is dented by more than DENT: it is then convex everywhere."""
    for f in range(work[0]):
        if face[7 * f + 6] == 0:
            continue
        n = off(plane, 4 * f)
        for k in range(3):
            g = face[7 * f + 3 + k]
            for c in range(3):
                y = off(points, 3 * face[7 * g + c])
                if n[0] * y[0] + n[1] * y[1] + n[2] * y[2] - n[3] > DENT:
                    return False
    return True


@kernel
def _polygons(
    count: int,
    o: Vec3,
    weld: float,
    face: PtrI4,
    vertex: PtrF8,
    work: PtrI4,
    soup: Soup,
    first: int,
    capacity: int,
) -> int:
    """Write one polygon per corner of the hull: the vertices of the facets around it, in order.

    weld: squared distance below which neighbouring vertices are one.
    """
    start = off(work, 4)  # a facet at each corner; the lists of the hull are done with
    for p in range(count):
        start[p] = -1
    for f in range(work[0]):
        if face[7 * f + 6] != 0:
            for k in range(3):
                start[face[7 * f + k]] = f
    polygon = first
    for p in range(count):
        if start[p] < 0:
            continue
        begin = soup.start[polygon]
        size = 0
        f = start[p]
        for _ in range(MAX_PLANES + 1):
            x = off(vertex, 4 * f)
            if begin + size >= capacity or polygon + 1 >= capacity:
                return FULL
            out = off(soup.xyz, 3 * (begin + size))
            out[0], out[1], out[2] = o[0] + x[0], o[1] + x[1], o[2] + x[2]
            if size == 0 or _squared(soup.xyz, begin + size, begin + size - 1) > weld:
                size += 1
            k = 0
            for c in range(1, 3):
                if face[7 * f + c] == p:
                    k = c
            f = face[7 * f + 3 + (k + 2) % 3]
            if f == start[p]:
                break
        if f != start[p]:
            return FAILED
        while size > 1 and _squared(soup.xyz, begin, begin + size - 1) <= weld:
            size -= 1
        if size >= 3:
            soup.owner[polygon] = p
            polygon += 1
            soup.start[polygon] = begin + size
    return polygon


@kernel
def _squared(xyz: PtrF8, i: int, j: int) -> float:
    """Squared distance of vertices i and j of the soup [m²]."""
    x = xyz[3 * i] - xyz[3 * j]
    y = xyz[3 * i + 1] - xyz[3 * j + 1]
    z = xyz[3 * i + 2] - xyz[3 * j + 2]
    return float(x * x + y * y + z * z)
