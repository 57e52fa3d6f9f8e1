"""Principal contacts of flat elements: whether two elements touch within a layer, and where.

| pair            | region  | contact normal               | gap                              |
| vertex – face   | point   | of the face                  | height of the vertex             |
| edge × edge     | point   | square to both edges         | between the lines                |
| edge – face     | line    | of the face                  | height of either end             |
| face – face     | polygon | of the face of B             | height of A's plane at a corner  |
| edge ∥ edge     | line    | from one line to the other   | between the lines, at either end |
| vertex – edge   | point   | from the edge to the vertex  | distance                         |
| vertex – vertex | point   | from one to the other        | distance                         |

The last three have no contact plane of their own: their normal is the separating direction, or the
one that was used last. A pair touches only if both bodies, near these elements, lie on their own
side of the contact plane; concave edges and corners therefore never touch by themselves.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, local_i4, off
from tangere.contact.formation.candidates import Surface, axis, origin
from tangere.contact.formation.columns import (
    LINE,
    MOST_POINTS,
    PC_COUNT,
    PC_CURVED,
    PC_GAP,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_POLYGON_GAP,
    PC_REGION,
    PC_TANGENT,
    PLANE,
    POINT,
)
from tangere.geometry.boundary import EDGE, FACE, VERTEX
from tangere.maths.vec import Vec3, axpy, basis, cross, dot, norm, scale, sub

# Faces and edges that lean further against a face than this have but a point in common with it
# [sine of 6°].
STEEP = 0.1
# Points gathered for the overlap of two faces
_GATHERED, _TWICE = 128, 256


class Limits(NamedTuple):
    """How near is near [m]."""

    far: float
    """Greatest gap of every point of a region."""
    deep: float
    """Greatest overlap."""
    rim: float
    """How far a region may reach beyond an element."""
    slack: float
    """How far a body may reach beyond the contact plane near its element."""
    least: float
    """Shortest line, narrowest polygon."""
    level: float
    """Greatest difference of gaps along a line of a curved face."""


@kernel
def limits_of(layer: float, far: float, deep: float) -> Limits:
    """The limits that go with a contact layer ε, for gaps from −deep to far."""
    return Limits(far, deep, 0.1 * layer, 0.1 * layer, layer, 0.25 * layer)


@kernel
def find_flat(a: Surface, i: int, b: Surface, j: int, limits: Limits, row: PtrF8) -> bool:
    """Fill the row of a contact of flat element i of A and j of B; False: none."""
    da, db = a.dimension[i], b.dimension[j]
    if db == FACE:
        if da == VERTEX:
            return _vertex_face(a, i, b, j, False, limits, row)
        if da == EDGE:
            return _edge_face(a, i, b, j, False, limits, row)
        return _face_face(a, i, b, j, limits, row)
    if da == FACE:
        if db == VERTEX:
            return _vertex_face(b, j, a, i, True, limits, row)
        return _edge_face(b, j, a, i, True, limits, row)
    if a.tip[i] == 0 or b.tip[j] == 0:
        return False
    if da == EDGE and db == EDGE:
        return _edge_edge(a, i, b, j, limits, row)
    if da == EDGE:
        return _vertex_edge(b, j, a, i, True, limits, row)
    if db == EDGE:
        return _vertex_edge(a, i, b, j, False, limits, row)
    return _vertex_vertex(a, i, b, j, limits, row)


# ---------------------------------------------------------------- do bodies stay on their sides


@kernel
def stays_above(s: Surface, e: int, n: Vec3, slack: float) -> bool:
    """Whether a body near its vertex or edge e goes no further than `slack` against n."""
    if s.tip[e] == 0:
        return False
    if s.dimension[e] == EDGE:
        for k in range(2):
            w = off(s.wings, 8 * e + 4 * k)
            if (w[0] * n[0] + w[1] * n[1] + w[2] * n[2]) * w[3] < -slack:
                return False
        return True
    for k in range(s.above_start[e], s.above_start[e + 1]):
        edge = s.above[k]
        way = 2.0 * s.size[4 * edge] * dot(axis(s, edge), n)
        if (way if s.below[s.below_start[edge]] == e else -way) < -slack:
            return False
    return True


# ---------------------------------------------------------------- places on a face


@kernel
def plane_point(s: Surface, f: int, x: Vec3) -> tuple[float, float]:
    """Coordinates of a point in a face's plane [m]."""
    r = off(s.frame, 12 * f)
    d = (x[0] - r[3], x[1] - r[7], x[2] - r[11])
    return (
        r[0] * d[0] + r[4] * d[1] + r[8] * d[2],
        r[1] * d[0] + r[5] * d[1] + r[9] * d[2],
    )


@kernel
def outside(s: Surface, f: int, u: float, v: float) -> float:
    """Distance of a point in a face's plane from the face; negative: inside, off its rim [m]."""
    first, last = s.face_loops[f], s.face_loops[f + 1]
    if s.size[4 * f + 2] == 1.0:  # a disc or ring: its loops only stand for it where areas count
        r = sqrt(u * u + v * v)
        return float(max(r - s.size[4 * f], s.size[4 * f + 1] - r))
    if first == last:
        return -1e9  # unbounded
    nearest, odd = 1e300, False
    for loop in range(first, last):
        start, stop = s.loop_start[loop], s.loop_start[loop + 1]
        x1, y1 = s.loop_points[2 * stop - 2], s.loop_points[2 * stop - 1]
        for k in range(start, stop):
            x2, y2 = s.loop_points[2 * k], s.loop_points[2 * k + 1]
            dx, dy = x2 - x1, y2 - y1
            t = ((u - x1) * dx + (v - y1) * dy) / (dx * dx + dy * dy)
            t = min(max(t, 0.0), 1.0)
            ex, ey = u - x1 - t * dx, v - y1 - t * dy
            nearest = min(nearest, ex * ex + ey * ey)
            if (y1 > v) != (y2 > v) and u < x1 + (v - y1) / (y2 - y1) * dx:
                odd = not odd
            x1, y1 = x2, y2
    return -sqrt(nearest) if odd else sqrt(nearest)


# ---------------------------------------------------------------- pairs with a face


@kernel
def start_row(region: int, n: Vec3, row: PtrF8) -> None:
    """Columns that every kind of contact has."""
    row[PC_REGION], row[PC_COUNT], row[PC_CURVED] = region, 0.0, 0.0
    t, _ = basis(n)
    for k in range(3):
        row[PC_NORMAL + k], row[PC_TANGENT + k] = n[k], t[k]


@kernel
def add_point(x: Vec3, gap: float, row: PtrF8) -> None:
    """One more point of the region."""
    k = int(row[PC_COUNT])
    for i in range(3):
        row[PC_POLYGON + 3 * k + i] = x[i]
    row[PC_POLYGON_GAP + k] = gap
    row[PC_GAP] = gap if k == 0 else min(row[PC_GAP], gap)
    row[PC_COUNT] = k + 1


@kernel
def mean_point(row: PtrF8) -> None:
    """The contact point of a point or a line: the mean of its ends."""
    n = int(row[PC_COUNT])
    for i in range(3):
        total = 0.0
        for k in range(n):
            total += row[PC_POLYGON + 3 * k + i]
        row[PC_POINT + i] = total / n


@kernel
def _vertex_face(
    s: Surface, v: int, t: Surface, f: int, face_of_a: bool, limits: Limits, row: PtrF8
) -> bool:
    """A vertex over a face."""
    x, n = origin(s, v), axis(t, f)
    gap = dot(n, sub(x, origin(t, f)))
    if gap > limits.far or gap < -limits.deep or not stays_above(s, v, n, limits.slack):
        return False
    u, w = plane_point(t, f, x)
    if outside(t, f, u, w) > limits.rim:
        return False
    start_row(POINT, scale(-1.0, n) if face_of_a else n, row)
    add_point(x if face_of_a else axpy(-gap, n, x), gap, row)
    mean_point(row)
    return True


@kernel
def _edge_face(
    s: Surface, e: int, t: Surface, f: int, face_of_a: bool, limits: Limits, row: PtrF8
) -> bool:
    """An edge along a face: both ends of what they have in common are near."""
    x, d, half, n = origin(s, e), axis(s, e), s.size[4 * e], axis(t, f)
    rise = dot(n, d)
    if abs(rise) > STEEP or s.tip[e] == 0:
        return False
    height = dot(n, sub(x, origin(t, f)))
    if height - abs(rise) * half > limits.far or height + abs(rise) * half < -limits.deep:
        return False
    if not stays_above(s, e, n, limits.slack):
        return False
    low, high = common(t, f, x, d, half, limits.rim)
    if high - low < limits.least:
        return False
    one, two = height + rise * low, height + rise * high
    if max(one, two) > limits.far or min(one, two) < -limits.deep:
        return False
    start_row(LINE, scale(-1.0, n) if face_of_a else n, row)
    p, q = axpy(low, d, x), axpy(high, d, x)
    add_point(p if face_of_a else axpy(-one, n, p), one, row)
    add_point(q if face_of_a else axpy(-two, n, q), two, row)
    mean_point(row)
    return True


@kernel
def common(t: Surface, f: int, x: Vec3, d: Vec3, half: float, rim: float) -> tuple[float, float]:
    """From where to where along a segment it lies over a face; (0, 0): nowhere."""
    if t.face_loops[f] == t.face_loops[f + 1]:
        return -half, half
    u, v = plane_point(t, f, x)
    uq, vq = plane_point(t, f, axpy(1.0, d, x))
    du, dv = uq - u, vq - v
    size2 = du * du + dv * dv
    size = sqrt(size2)
    low, high = half, -half
    for end in (-half, half):
        if outside(t, f, u + end * du, v + end * dv) <= rim:
            low, high = min(low, end), max(high, end)
    for loop in range(t.face_loops[f], t.face_loops[f + 1]):
        stop = t.loop_start[loop + 1]
        x1, y1 = t.loop_points[2 * stop - 2] - u, t.loop_points[2 * stop - 1] - v
        side1 = (du * y1 - dv * x1) / size
        for k in range(t.loop_start[loop], stop):
            x2, y2 = t.loop_points[2 * k] - u, t.loop_points[2 * k + 1] - v
            side2 = (du * y2 - dv * x2) / size
            along2 = (du * x2 + dv * y2) / size2
            if abs(side2) <= rim and abs(along2) <= half:
                low, high = min(low, along2), max(high, along2)
            if (side1 < 0.0) != (side2 < 0.0):
                along1 = (du * x1 + dv * y1) / size2
                at = along1 + (along2 - along1) * side1 / (side1 - side2)
                if abs(at) <= half:
                    low, high = min(low, at), max(high, at)
            x1, y1, side1 = x2, y2, side2
    if high < low:
        return 0.0, 0.0
    return low, high


@kernel
def _face_face(a: Surface, i: int, b: Surface, j: int, limits: Limits, row: PtrF8) -> bool:
    """Two faces: three corners of their overlap that are not in line are near.

    The region is the convex hull of the overlap. Its corners are corners of one face over the
    other, and crossings of their rims, whatever holes and notches the faces have.
    """
    m, n = axis(a, i), axis(b, j)
    lean = -dot(m, n)
    if lean < sqrt(1.0 - STEEP * STEEP):
        return False
    at_a, at_b = origin(a, i), origin(b, j)
    # By their boxes no plane of A is near the plane of B.
    reach = abs(n[0]) * a.box[6 * i + 3] + abs(n[1]) * a.box[6 * i + 4]
    reach += abs(n[2]) * a.box[6 * i + 5]
    middle = (a.box[6 * i], a.box[6 * i + 1], a.box[6 * i + 2])
    height = dot(n, sub(middle, at_b))
    if height - reach > limits.far or height + reach < -limits.deep:
        return False
    uv = local_f8(_TWICE)
    count = _gather(a, i, b, j, limits.rim, uv)
    order = local_i4(_GATHERED)
    count = _hull(uv, count, order)
    if count < 3:
        return False
    start_row(PLANE, n, row)
    r = off(b.frame, 12 * j)
    for k in range(count):
        u, v = uv[2 * order[k]], uv[2 * order[k] + 1]
        x = (
            r[3] + u * r[0] + v * r[1],
            r[7] + u * r[4] + v * r[5],
            r[11] + u * r[8] + v * r[9],
        )
        add_point(x, dot(m, sub(x, at_a)) / lean, row)
    if row[PC_GAP] < -limits.deep or not _three_near(uv, order, limits, row):
        return False
    if a.size[4 * i + 2] == 1.0 or b.size[4 * j + 2] == 1.0:
        # on a disc three corners are always close together: all of it must be near
        for k in range(count):
            if row[PC_POLYGON_GAP + k] > limits.far:
                return False
    _centroid(row)
    return True


@kernel
def _gather(a: Surface, i: int, b: Surface, j: int, rim: float, uv_out: PtrF8) -> int:
    """Points in the plane of face j whose hull is that of its overlap with face i; how many."""
    m, n = axis(a, i), axis(b, j)
    at_a, lean = origin(a, i), dot(m, n)
    fa, fb = off(a.frame, 12 * i), off(b.frame, 12 * j)
    count = 0
    for loop in range(a.face_loops[i], a.face_loops[i + 1]):
        stop = a.loop_start[loop + 1]
        x1, y1 = 0.0, 0.0
        for k in range(a.loop_start[loop] - 1, stop):
            c = stop - 1 if k < a.loop_start[loop] else k
            u, v = a.loop_points[2 * c], a.loop_points[2 * c + 1]
            x = (
                fa[3] + u * fa[0] + v * fa[1],
                fa[7] + u * fa[4] + v * fa[5],
                fa[11] + u * fa[8] + v * fa[9],
            )
            x2, y2 = plane_point(b, j, x)
            if k >= a.loop_start[loop]:
                if outside(b, j, x2, y2) <= rim:
                    count = _put(x2, y2, count, uv_out)
                count = _crossings(b, j, x1, y1, x2, y2, count, uv_out)
            x1, y1 = x2, y2
    for loop in range(b.face_loops[j], b.face_loops[j + 1]):
        for k in range(b.loop_start[loop], b.loop_start[loop + 1]):
            u, v = b.loop_points[2 * k], b.loop_points[2 * k + 1]
            x = (
                fb[3] + u * fb[0] + v * fb[1],
                fb[7] + u * fb[4] + v * fb[5],
                fb[11] + u * fb[8] + v * fb[9],
            )
            up = dot(m, sub(at_a, x)) / lean  # to A's plane along n
            ua, va = plane_point(a, i, axpy(up, n, x))
            if outside(a, i, ua, va) <= rim:
                count = _put(u, v, count, uv_out)
    return count


@kernel
def _crossings(
    s: Surface, f: int, x1: float, y1: float, x2: float, y2: float, count: int, uv_out: PtrF8
) -> int:
    """Add where a segment in a face's plane crosses its rim."""
    dx, dy = x2 - x1, y2 - y1
    for loop in range(s.face_loops[f], s.face_loops[f + 1]):
        stop = s.loop_start[loop + 1]
        px, py = s.loop_points[2 * stop - 2], s.loop_points[2 * stop - 1]
        one = dx * (py - y1) - dy * (px - x1)
        for k in range(s.loop_start[loop], stop):
            qx, qy = s.loop_points[2 * k], s.loop_points[2 * k + 1]
            two = dx * (qy - y1) - dy * (qx - x1)
            if (one < 0.0) != (two < 0.0):
                t = one / (one - two)
                ex, ey = qx - px, qy - py
                left = ex * (y1 - py) - ey * (x1 - px)
                right = ex * (y2 - py) - ey * (x2 - px)
                if (left < 0.0) != (right < 0.0):
                    count = _put(px + t * ex, py + t * ey, count, uv_out)
            px, py, one = qx, qy, two
    return count


@kernel
def _put(u: float, v: float, count: int, uv_out: PtrF8) -> int:
    """One more point, if there is room."""
    if count < _GATHERED:
        uv_out[2 * count], uv_out[2 * count + 1] = u, v
        return count + 1
    return count


@kernel
def _hull(uv: PtrF8, count: int, order_out: PtrI4) -> int:
    """Convex hull of plane points, counter-clockwise; at most MOST_POINTS corners.

    Andrew's monotone chain. Of more corners those go first that cost least area.
    """
    index, chain = local_i4(_GATHERED), local_i4(_TWICE)
    size = 0.0
    for k in range(count):
        at = k
        while at > 0 and _precedes(uv, k, index[at - 1]):
            index[at] = index[at - 1]
            at -= 1
        index[at] = k
        size = max(size, abs(uv[2 * k] - uv[0]) + abs(uv[2 * k + 1] - uv[1]))
    tiny = 1e-12 * size * size
    m = 0
    for sweep in range(2):
        base = m
        for step in range(count):
            k = index[step] if sweep == 0 else index[count - 1 - step]
            while m >= base + 2 and _doubled(uv, chain[m - 2], chain[m - 1], k) <= tiny:
                m -= 1
            chain[m] = k
            m += 1
        m -= 1  # the last point of a chain is the first one of the other
    while m > MOST_POINTS:
        worst, at = 1e300, 0
        for k in range(m):
            area = _doubled(uv, chain[(k + m - 1) % m], chain[k], chain[(k + 1) % m])
            if area < worst:
                worst, at = area, k
        for k in range(at, m - 1):
            chain[k] = chain[k + 1]
        m -= 1
    for k in range(m):
        order_out[k] = chain[k]
    return m


@kernel
def _precedes(uv: PtrF8, i: int, j: int) -> bool:
    """Order by u, then by v."""
    if uv[2 * i] != uv[2 * j]:
        return bool(uv[2 * i] < uv[2 * j])
    return bool(uv[2 * i + 1] < uv[2 * j + 1])


@kernel
def _doubled(uv: PtrF8, i: int, j: int, k: int) -> float:
    """Twice the area of a triangle, positive if counter-clockwise."""
    u, v = uv[2 * i], uv[2 * i + 1]
    one, two = (uv[2 * j] - u, uv[2 * j + 1] - v), (uv[2 * k] - u, uv[2 * k + 1] - v)
    return float(one[0] * two[1] - one[1] * two[0])


@kernel
def _three_near(uv: PtrF8, order: PtrI4, limits: Limits, row: PtrF8) -> bool:
    """Whether the near corners of a region span a polygon that is wide enough.

    Of a polygon of area F and diameter D the width is at least F/D.
    """
    n = int(row[PC_COUNT])
    doubled, diameter2 = 0.0, 0.0
    first, last = -1, -1
    for k in range(n):
        if row[PC_POLYGON_GAP + k] > limits.far:
            continue
        if first < 0:
            first = order[k]
        else:
            doubled += _doubled(uv, first, last, order[k])
            for other in range(k):
                if row[PC_POLYGON_GAP + other] <= limits.far:
                    dx = uv[2 * order[k]] - uv[2 * order[other]]
                    dy = uv[2 * order[k] + 1] - uv[2 * order[other] + 1]
                    diameter2 = max(diameter2, dx * dx + dy * dy)
        last = order[k]
    return doubled > 2.0 * limits.least * sqrt(diameter2) and doubled > 0.0


@kernel
def _centroid(row: PtrF8) -> None:
    """The contact point of a polygon."""
    n = int(row[PC_COUNT])
    p = off(row, PC_POLYGON)
    x0 = (p[0], p[1], p[2])
    normal = (row[PC_NORMAL], row[PC_NORMAL + 1], row[PC_NORMAL + 2])
    total, sx, sy, sz = 0.0, 0.0, 0.0, 0.0
    for k in range(1, n - 1):
        y = sub((p[3 * k], p[3 * k + 1], p[3 * k + 2]), x0)
        z = sub((p[3 * k + 3], p[3 * k + 4], p[3 * k + 5]), x0)
        area = dot(cross(y, z), normal)
        total += area
        sx += area * (y[0] + z[0])
        sy += area * (y[1] + z[1])
        sz += area * (y[2] + z[2])
    row[PC_POINT] = x0[0] + sx / (3.0 * total)
    row[PC_POINT + 1] = x0[1] + sy / (3.0 * total)
    row[PC_POINT + 2] = x0[2] + sz / (3.0 * total)


# ---------------------------------------------------------------- pairs of edges and vertices


@kernel
def _edge_edge(a: Surface, i: int, b: Surface, j: int, limits: Limits, row: PtrF8) -> bool:
    """Two edges that cross, or run side by side."""
    p, d, h = origin(a, i), axis(a, i), a.size[4 * i]
    q, e, g = origin(b, j), axis(b, j), b.size[4 * j]
    c = cross(d, e)
    sine = norm(c)
    r = sub(p, q)
    at = dot(r, e)  # what they would have in common if they were parallel
    low, high = max(at - h, -g), min(at + h, g)
    if sine * (high - low) < limits.least and (high - low >= limits.least or sine < 1e-9):
        return _side_by_side(a, i, b, j, low, high, limits, row)
    n = scale(1.0 / sine, c)
    # p + s d and q + t e are nearest: (r + s d − t e) × n = 0
    s = dot(cross(e, r), n) / sine
    t = dot(cross(d, r), n) / sine
    if abs(s) > h + limits.rim or abs(t) > g + limits.rim:
        return False
    if not (stays_above(a, i, n, limits.slack) and below(b, j, n, limits.slack)):
        n = scale(-1.0, n)
        if not (stays_above(a, i, n, limits.slack) and below(b, j, n, limits.slack)):
            return False
    gap = dot(n, r)
    if gap > limits.far or gap < -limits.deep:
        return False
    start_row(POINT, n, row)
    add_point(axpy(t, e, q), gap, row)
    mean_point(row)
    return True


@kernel
def below(s: Surface, e: int, n: Vec3, slack: float) -> bool:
    """Whether a body near its vertex or edge e goes no further than `slack` along n."""
    return stays_above(s, e, scale(-1.0, n), slack)


@kernel
def _side_by_side(
    a: Surface, i: int, b: Surface, j: int, low: float, high: float, limits: Limits, row: PtrF8
) -> bool:
    """Parallel edges, which have the part from `low` to `high` along the edge of B in common."""
    if high - low < limits.least:
        return False
    p, d = origin(a, i), axis(a, i)
    q, e = origin(b, j), axis(b, j)
    cosine = dot(d, e)
    r = sub(p, q)
    # the point of A's line at the middle of the overlap, seen from B's line
    middle = 0.5 * (low + high)
    x = axpy((middle - dot(r, e)) / cosine, d, r)
    n, _, found = _apart(axpy(-dot(x, e), e, x), a, i, b, j, limits)
    if not found:
        return False
    start_row(LINE, n, row)
    for k in range(2):
        at = low if k == 0 else high
        y = axpy((at - dot(r, e)) / cosine, d, r)
        z = axpy(at, e, q)
        each = dot(n, sub(y, scale(at, e)))
        if each > limits.far or each < -limits.deep:
            return False
        add_point(z, each, row)
    mean_point(row)
    return True


@kernel
def _apart(
    way: Vec3, a: Surface, i: int, b: Surface, j: int, limits: Limits
) -> tuple[Vec3, float, bool]:
    """Normal and gap of a pair without a contact plane; `way` leads from B to A.

    Elements that coincide, or overlap a little, take the direction in which the body B points.
    """
    gap = norm(way)
    if gap > limits.far:
        return way, gap, False
    if gap > limits.rim:
        n = scale(1.0 / gap, way)
        if stays_above(a, i, n, limits.slack) and below(b, j, n, limits.slack):
            return n, gap, True
    n = _points_to(a, i)
    m = _points_to(b, j)
    n = sub(m, n)
    size = norm(n)
    if size < 1e-6:
        return way, gap, False
    n = scale(1.0 / size, n)
    gap = dot(n, way)
    fits = stays_above(a, i, n, limits.slack) and below(b, j, n, limits.slack)
    return n, gap, fits and limits.far >= gap >= -limits.deep


@kernel
def _points_to(s: Surface, e: int) -> Vec3:
    """Unit vector in the middle of the outward normals of the faces at a vertex or edge."""
    if s.dimension[e] == VERTEX:
        w = off(s.inset, 3 * e)
        n = (-w[0], -w[1], -w[2])
        return scale(1.0 / norm(n), n)
    first = s.above_start[e]
    m, n = axis(s, s.above[first]), axis(s, s.above[first + 1])
    n = (m[0] + n[0], m[1] + n[1], m[2] + n[2])
    return scale(1.0 / norm(n), n)


@kernel
def _vertex_edge(
    s: Surface, v: int, t: Surface, e: int, edge_of_a: bool, limits: Limits, row: PtrF8
) -> bool:
    """A vertex beside an edge."""
    x, q, d = origin(s, v), origin(t, e), axis(t, e)
    r = sub(x, q)
    at = dot(r, d)
    if abs(at) > t.size[4 * e] + limits.rim:
        return False
    foot = axpy(at, d, q)
    if edge_of_a:
        n, gap, found = _apart(sub(foot, x), t, e, s, v, limits)
    else:
        n, gap, found = _apart(sub(x, foot), s, v, t, e, limits)
    if found:
        start_row(POINT, n, row)
        add_point(x if edge_of_a else foot, gap, row)
        mean_point(row)
    return found


@kernel
def _vertex_vertex(a: Surface, i: int, b: Surface, j: int, limits: Limits, row: PtrF8) -> bool:
    """Two vertices."""
    x, y = origin(a, i), origin(b, j)
    n, gap, found = _apart(sub(x, y), a, i, b, j, limits)
    if found:
        start_row(POINT, n, row)
        add_point(y, gap, row)
        mean_point(row)
    return found
