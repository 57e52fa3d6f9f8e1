"""The patch of a contact: polygons, depths and their integrals.

Parts that do not overlap where they will be are moved together until they overlap by the margin,
and the way is subtracted from every depth: such points do not press yet, but the step can make
them.
"""

from __future__ import annotations

from math import inf

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, add, local_f8, off
from tangere.collision.clip import ON_PLANE, View, clip_floor, clip_volume
from tangere.collision.dual import FAILED, dual_volume
from tangere.collision.narrow import thinner, world_view
from tangere.contact.implicit.record import (
    PATCH_KIND,
    POINT_KIND,
    TF_AREA,
    TF_C,
    TF_DEPTH,
    TF_H,
    TF_HX,
    TF_HY,
    TF_JXX,
    TF_JXY,
    TF_JYY,
    TF_N,
    TF_S,
    TF_SIZE,
    TF_T1,
    TF_T2,
    TI_FAN,
    TI_KIND,
    TI_POLYGON,
    TI_POLYGONS,
    TI_SLOT,
    Touch,
)
from tangere.contact.implicit.scope import Scope
from tangere.contact.volume.law import DUAL, POINT_PATCH
from tangere.contact.volume.method import DEEP
from tangere.contact.volume.patch import EXTRA, POINT, measure
from tangere.maths.vec import Vec3, basis
from tangere.model import (
    NF,
    NI,
    OK,
    PF_MEET,
    PF_NORMAL,
    PI_BODY_A,
    PI_PART_A,
    PI_PART_B,
    SOLVER_FULL,
    SOUP_FULL,
    Soup,
)

# Polygons smaller than this share of the widest of a patch are left out.
SLIVER = 1e-5


@kernel
def lay_out(e: Scope, c: Touch) -> int:
    """Give a listed contact its axes and its patch, or a single point; returns OK or what is full.

    By what `meet` has found.
    """
    slot = c.ints[TI_SLOT]
    ints, row = off(e.w.pairs.ints, NI * slot), off(e.w.pairs.floats, NF * slot)
    n = (row[PF_NORMAL], row[PF_NORMAL + 1], row[PF_NORMAL + 2])
    found = off(row, PF_MEET)
    point, depth, moved = (found[0], found[1], found[2]), found[3], found[4]
    q = ints[PI_PART_B]
    size = e.h.size[e.m.part_hull[q]]
    on_floor = ints[PI_BODY_A] >= e.z.bodies
    if not on_floor:
        size = min(e.h.size[e.m.part_hull[ints[PI_PART_A]]], size)
    t1, t2 = basis(n)
    f = c.floats
    for i in range(3):
        f[TF_N + i], f[TF_T1 + i], f[TF_T2 + i] = n[i], t1[i], t2[i]
    f[TF_DEPTH], f[TF_SIZE] = depth, size
    if e.point:
        _at_point(c, point, depth)
        return OK
    if on_floor:
        return _on_floor(e, c, ints, n, point, moved)
    return _between(e, c, ints, n, point, moved)


@kernel
def _between(e: Scope, c: Touch, ints: PtrI4, n: Vec3, point: Vec3, moved: float) -> int:
    """Patch of two convex parts."""
    p, q = ints[PI_PART_A], ints[PI_PART_B]
    a = world_view(e.m, e.h, e.e, e.w.world, p, e.stamp)
    b = world_view(e.m, e.h, e.e, e.w.world, q, e.stamp)
    depth, size = c.floats[TF_DEPTH], c.floats[TF_SIZE]
    extra = 0.0
    if depth > DEEP * size:
        extra = max(0.0, depth - thinner(a, b, n))
    soup = e.w.soup
    soup.start[0] = 0
    if moved > 0.0:
        _shift(b, n, -moved)
    last = FAILED
    if e.settings.algorithm == DUAL and moved == 0.0:
        last = dual_volume(a, b, point, soup, 0, e.rooms[0])
    if last == FAILED:
        last = clip_volume(a, b, ON_PLANE * size, soup, 0, e.rooms[0])
    if moved > 0.0:
        e.w.world.stamp[q] = -1  # its buffers hold the shifted part
    if last < 0:
        return SOUP_FULL
    _measure(e, a, b, n, point, last)
    side = 1.0 if _wide(soup, last, 1.0) >= _wide(soup, last, -1.0) else -1.0
    return _patch(e, c, point, side, True, last, extra - moved)


@kernel
def _on_floor(e: Scope, c: Touch, ints: PtrI4, n: Vec3, point: Vec3, moved: float) -> int:
    """Patch of a part on a half-space."""
    source = off(e.m.floor_plane, 4 * (ints[PI_BODY_A] - e.z.bodies))
    plane = local_f8(4)
    for k in range(3):
        plane[k] = source[k]
    plane[3] = source[3] + moved
    b = world_view(e.m, e.h, e.e, e.w.world, ints[PI_PART_B], e.stamp)
    soup = e.w.soup
    soup.start[0] = 0
    last = clip_floor(b, plane, ON_PLANE * c.floats[TF_SIZE], soup, 0, e.rooms[0])
    if last < 0:
        return SOUP_FULL
    _measure(e, View(b.verts, 0, b.planes, 0, b.loop_start, b.loops), b, n, point, last)
    _wide(soup, last, -1.0)
    return _patch(e, c, point, -1.0, False, last, -moved)


@kernel
def _measure(e: Scope, a: View, b: View, n: Vec3, point: Vec3, last: int) -> None:
    """Lay the polygons of the soup on the contact plane."""
    sums = e.w.sums
    sums[POINT], sums[POINT + 1], sums[POINT + 2] = point
    sums[EXTRA] = 0.0
    t1, t2 = basis(n)
    measure(a, b, n, t1, t2, e.w.soup, 0, last, sums)


@kernel
def _shift(b: View, n: Vec3, way: float) -> None:
    """Move a part by `way` along n, in its world buffers."""
    for i in range(b.vert_count):
        x = off(b.verts, 3 * i)
        for k in range(3):
            x[k] += way * n[k]
    for f in range(b.face_count):
        plane = off(b.planes, 4 * f)
        plane[3] += way * (plane[0] * n[0] + plane[1] * n[1] + plane[2] * n[2])


@kernel
def _at_point(c: Touch, point: Vec3, depth: float) -> None:
    """Make a contact one at a single point."""
    f = c.floats
    c.ints[TI_KIND], c.ints[TI_POLYGONS] = POINT_KIND, 0
    f[TF_C], f[TF_C + 1], f[TF_C + 2] = point
    f[TF_S], f[TF_AREA] = 0.0, 1.0
    f[TF_JXX], f[TF_JXY], f[TF_JYY] = 0.0, 0.0, 0.0
    f[TF_H], f[TF_HX], f[TF_HY] = depth, 0.0, 0.0


@kernel
def _patch(
    e: Scope,
    c: Touch,
    point: Vec3,
    side: float,
    two_sided: bool,
    last: int,
    extra: float,
) -> int:
    """Spread a contact over the polygons of one side, each a fan about its middle.

    Depth is the chord.

    Integrals: for affine g, q on a triangle of area S,  ∫ g q = S (3/4 ḡ q̄ + 1/12 Σ gᵢ qᵢ).
    """
    t, soup = e.w.solver.touches, e.w.soup
    f = c.floats
    count, points = 0, 0
    for poly in range(last):
        if soup.slope[4 * poly] == side:
            count += 1
            points += soup.start[poly + 1] - soup.start[poly] + 1
    # whoever comes first: where the points lie makes no difference
    polygon, fan = add(t.used, 1, count), add(t.used, 2, points)
    if max(polygon + count, fan + points) > e.rooms[2]:
        return SOLVER_FULL
    c.ints[TI_POLYGON], c.ints[TI_POLYGONS], c.ints[TI_FAN] = polygon, count, fan
    s0, sx, sy, sxx, sxy, syy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    h0, hx, hy = 0.0, 0.0, 0.0
    for poly in range(last):
        if soup.slope[4 * poly] != side:
            continue
        start, end = soup.start[poly], soup.start[poly + 1]
        corners = end - start
        at = off(t.fan, 3 * fan)
        ox, oy, oh = 0.0, 0.0, 0.0
        for i in range(corners):
            # counter-clockwise seen along n: the back side runs the other way round
            j = start + i if side > 0.0 else end - 1 - i
            p = off(soup.plane, 3 * j)
            x, y, d = p[0], p[1], p[2] + extra
            if two_sided:
                d += _opposite(soup.slope, soup.plane, soup.start, last, side, x, y)
            row = off(at, 3 * (i + 1))
            row[0], row[1], row[2] = x, y, d
            ox += x / corners
            oy += y / corners
            oh += p[2] / corners
        d = oh + extra
        if two_sided:
            d += _opposite(soup.slope, soup.plane, soup.start, last, side, ox, oy)
        at[0], at[1], at[2] = ox, oy, d
        a = off(at, 3 * corners)
        for i in range(1, corners + 1):
            b = off(at, 3 * i)
            area = 0.5 * ((a[0] - ox) * (b[1] - oy) - (a[1] - oy) * (b[0] - ox))
            mx, my, md = (ox + a[0] + b[0]) / 3.0, (oy + a[1] + b[1]) / 3.0, (d + a[2] + b[2]) / 3.0
            s0 += area
            sx += area * mx
            sy += area * my
            h0 += area * md
            sxx += area * (0.75 * mx * mx + (ox * ox + a[0] * a[0] + b[0] * b[0]) / 12.0)
            sxy += area * (0.75 * mx * my + (ox * oy + a[0] * a[1] + b[0] * b[1]) / 12.0)
            syy += area * (0.75 * my * my + (oy * oy + a[1] * a[1] + b[1] * b[1]) / 12.0)
            hx += area * (0.75 * mx * md + (ox * d + a[0] * a[2] + b[0] * b[2]) / 12.0)
            hy += area * (0.75 * my * md + (oy * d + a[1] * a[2] + b[1] * b[2]) / 12.0)
            a = b
        t.corners[polygon] = corners
        polygon += 1
        fan += corners + 1
    depth, size = f[TF_DEPTH], f[TF_SIZE]
    if not s0 > POINT_PATCH * size * size:
        _at_point(c, point, depth / 3.0 if depth > 0.0 else depth)
        return OK
    cx, cy = sx / s0, sy / s0
    for i in range(c.ints[TI_FAN], fan):
        row = off(t.fan, 3 * i)
        row[0] -= cx
        row[1] -= cy
    c.ints[TI_KIND] = PATCH_KIND
    f[TF_S] = s0
    f[TF_JXX], f[TF_JXY], f[TF_JYY] = sxx - cx * sx, sxy - cx * sy, syy - cy * sy
    f[TF_H], f[TF_HX], f[TF_HY] = h0, hx - cx * h0, hy - cy * h0
    for i in range(3):
        f[TF_C + i] = point[i] + cx * f[TF_T1 + i] + cy * f[TF_T2 + i]
    return OK


@kernel
def _wide(soup: Soup, last: int, side: float) -> int:
    """Drop the slivers of one side; returns how many polygons remain.

    Walls of a body that leans by a hair are slivers on the patch: they carry nothing, but depth
    falls to zero on them.
    """
    widest, count = 0.0, 0
    for f in range(last):
        if soup.slope[4 * f] == side:
            widest = max(widest, _area(soup.plane, soup.start[f], soup.start[f + 1]))
    for f in range(last):
        if soup.slope[4 * f] == side:
            if _area(soup.plane, soup.start[f], soup.start[f + 1]) < SLIVER * widest:
                soup.slope[4 * f] = 0.0
            else:
                count += 1
    return count


@kernel
def _area(plane: PtrF8, start: int, end: int) -> float:
    """Projected area of a polygon [m²]."""
    o = off(plane, 3 * start)
    twice = 0.0
    for i in range(start + 1, end - 1):
        p = off(plane, 3 * i)
        twice += (p[0] - o[0]) * (p[4] - o[1]) - (p[1] - o[1]) * (p[3] - o[0])
    return 0.5 * abs(twice)


@kernel
def _opposite(
    slope: PtrF8, plane: PtrF8, start: PtrI4, last: int, side: float, x: float, y: float
) -> float:
    """Half-depth of the other side at (x, y): the least over its planes (convexity)."""
    least = inf
    for f in range(last):
        row = off(slope, 4 * f)
        if row[0] * side < 0.0 and row[3] > 1e-9:
            p = off(plane, 3 * start[f])
            least = min(least, p[2] + row[1] * (x - p[0]) + row[2] * (y - p[1]))
    return least if least < inf else 0.0
