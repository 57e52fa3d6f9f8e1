"""The patch of a contact: polygons, depths and their integrals.

Parts that do not overlap where they will be are moved together until they overlap by the margin,
and the way is subtracted from every depth: such points do not press yet, but the step can make
them.

Where they do overlap, the same is done for what lies beside the overlap, in the second pass over
contacts that changed: a face that is about to land may touch by a strip of its edge, and the
solution would turn about the strip into the floor. These polygons have no part in friction, nor in
the area over which k is shared; but k is shared over them too, for what they press themselves.
"""

from __future__ import annotations

from math import inf, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, add, local_f8, off
from tangere.collision.clip import (
    MAX_POLYGON,
    ON_PLANE,
    View,
    clip_floor,
    clip_volume,
    cut_polygon,
)
from tangere.collision.curved import (
    FACETS,
)
from tangere.collision.dual import FAILED, dual_volume
from tangere.collision.narrow import thinner, world_view
from tangere.collision.solids import (
    is_curved,
)
from tangere.contact.convex.curved_manifold import lay_curved_patch
from tangere.contact.convex.options import DEEP, DUAL, POINT_PATCH
from tangere.contact.convex.patch_integrals import EXTRA, POINT, measure
from tangere.elements.columns import (
    EF_CURVED,
    EF_DEPTH,
    EF_N,
    EF_RATIO,
    EF_REACH,
    EF_RHO_A,
    EF_RHO_B,
    EF_ROLLS,
    EF_S,
    EF_SIZE,
    EF_T1,
    EF_T2,
    EF_TILT1,
    EF_TILT2,
    EF_TRUE,
    EI_FAN,
    EI_NEAR,
    EI_POLYGON,
    EI_POLYGONS,
    EI_SLOT,
    EI_SPINS,
    EI_SQUARE,
    Element,
)
from tangere.elements.fan import MOMENTS, add_moments
from tangere.elements.patch import place_patch
from tangere.elements.point import place_point
from tangere.elements.step_context import PASSES, StepContext
from tangere.maths.vec import Vec3, basis
from tangere.model import (
    NF,
    NI,
    OK,
    PF_MEET,
    PF_NORMAL,
    PI_BODY_A,
    PI_CALM,
    PI_PART_A,
    PI_PART_B,
    SOLVER_FULL,
    SOUP_FULL,
    Soup,
)

# Polygons smaller than this share of the widest of a patch are left out.
SLIVER = 1e-5
# Polygons are the same along an edge up to this share of the size.
SAME_EDGE = 1e-9
# Two sides of more polygons than this, one times the other, are not cut along each other's edges:
# they are so small that their middles tell the depth.
MOST_CROSSED = 64


@kernel
def lay_out(e: StepContext, c: Element) -> int:
    """Give a listed contact its axes and its patch, or a single point; returns OK or what is full.

    By what `meet` has found.
    """
    slot = c.ints[EI_SLOT]
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
        f[EF_N + i], f[EF_T1 + i], f[EF_T2 + i] = n[i], t1[i], t2[i]
        f[EF_TILT1 + i], f[EF_TILT2 + i] = t1[i], t2[i]
    f[EF_DEPTH], f[EF_SIZE] = depth, size
    f[EF_RHO_A], f[EF_RHO_B], f[EF_CURVED], f[EF_RATIO] = 0.0, 0.0, 0.0, 1.0
    f[EF_ROLLS] = 0.0
    c.ints[EI_SPINS], c.ints[EI_SQUARE] = -1, 0
    curved = is_curved(e.m, e.h, q) or (not on_floor and is_curved(e.m, e.h, ints[PI_PART_A]))
    if curved and int(found[5]) != FACETS:
        return lay_curved_patch(e, c, ints, n, point, moved, int(found[5]))
    if e.options.single_point:
        place_point(c, point, depth)
        return OK
    if on_floor:
        return _on_floor(e, c, ints, n, point, moved)
    return _between(e, c, ints, n, point, moved)


@kernel
def _between(e: StepContext, c: Element, ints: PtrI4, n: Vec3, point: Vec3, moved: float) -> int:
    """Patch of two convex parts."""
    p, q = ints[PI_PART_A], ints[PI_PART_B]
    a = world_view(e.m, e.h, e.e, e.w.world, p, e.stamp)
    b = world_view(e.m, e.h, e.e, e.w.world, q, e.stamp)
    depth, size = c.floats[EF_DEPTH], c.floats[EF_SIZE]
    extra = 0.0
    if depth > DEEP * size:
        extra = max(0.0, depth - thinner(a, b, n))
    soup = e.w.soup
    soup.start[0] = 0
    if moved > 0.0:
        _shift(b, n, -moved)
    last = FAILED
    if e.options.algorithm == DUAL and moved == 0.0:
        last = dual_volume(a, b, point, soup, 0, e.rooms[0])
    if last == FAILED:
        last = clip_volume(a, b, ON_PLANE * size, soup, 0, e.rooms[0])
    every = last
    if last >= 0 and moved == 0.0 and _in_second_pass(e, ints):
        _shift(b, n, -e.margin)
        every = clip_volume(a, b, ON_PLANE * size, soup, last, e.rooms[0])
        e.w.world.stamp[q] = -1  # its buffers hold the shifted part
    if moved > 0.0:
        e.w.world.stamp[q] = -1
    if every < 0:
        return SOUP_FULL
    _measure(e, a, b, n, point, every)
    side = 1.0 if _wide(soup, 0, last, 1.0) >= _wide(soup, 0, last, -1.0) else -1.0
    return _patch(e, c, point, side, True, last, every, extra - moved)


@kernel
def _on_floor(e: StepContext, c: Element, ints: PtrI4, n: Vec3, point: Vec3, moved: float) -> int:
    """Patch of a part on a half-space."""
    source = off(e.m.floor_plane, 4 * (ints[PI_BODY_A] - e.z.bodies))
    plane = local_f8(4)
    for k in range(3):
        plane[k] = source[k]
    plane[3] = source[3] + moved
    b = world_view(e.m, e.h, e.e, e.w.world, ints[PI_PART_B], e.stamp)
    soup = e.w.soup
    soup.start[0] = 0
    eps = ON_PLANE * c.floats[EF_SIZE]
    last = clip_floor(b, plane, eps, soup, 0, e.rooms[0])
    every = last
    if last >= 0 and moved == 0.0 and _in_second_pass(e, ints):
        plane[3] += e.margin
        every = clip_floor(b, plane, eps, soup, last, e.rooms[0])
    if every < 0:
        return SOUP_FULL
    _measure(e, View(b.verts, 0, b.planes, 0, b.loop_start, b.loops), b, n, point, every)
    _wide(soup, 0, last, -1.0)
    return _patch(e, c, point, -1.0, False, last, every, -moved)


@kernel
def _in_second_pass(e: StepContext, ints: PtrI4) -> bool:
    """Whether this is the second pass over the geometry of a step, at a contact that changed."""
    return bool(e.stamp % PASSES == 1 and ints[PI_CALM] != e.stamp)


@kernel
def _measure(e: StepContext, a: View, b: View, n: Vec3, point: Vec3, last: int) -> None:
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
def _patch(
    e: StepContext,
    c: Element,
    point: Vec3,
    side: float,
    two_sided: bool,
    last: int,
    every: int,
    extra: float,
) -> int:
    """Spread a contact over the polygons 0…last−1 of one side, each a fan about its middle.

    last…every−1: those of the parts moved together by the margin, if they overlap anyway.

    Depth is the chord. Where edge lies on edge it has a crease across each polygon, which is cut
    there: between its corners, where the depth is zero, the fan would miss most of it.
    """
    t, soup = e.w.solver.elements, e.w.soup
    f = c.floats
    depth, size = f[EF_DEPTH], f[EF_SIZE]
    first, end, near, chord = 0, last, every, two_sided
    apart = e.margin if two_sided else 0.0  # what they were moved; a floor is only cut higher
    if two_sided and _crossed(soup, last, side):
        end = _cross(soup, side, last, every, SAME_EDGE * size, e.rooms[0])
        first, near, two_sided = every, end, False
    stop = near
    if every > last and end >= 0:
        stop = _beside(soup, side, last, every, near, SAME_EDGE * size, e.rooms[0])
    if end < 0 or stop < 0:
        return SOUP_FULL
    count, beside, points = 0, 0, 0
    for poly in range(first, stop):
        if soup.slope[4 * poly] == side and not end <= poly < near:
            count += 1 if poly < end else 0
            beside += 1 if poly >= near else 0
            points += soup.start[poly + 1] - soup.start[poly] + 1
    # whoever comes first: where the points lie makes no difference
    polygon, fan = add(t.used, 1, count + beside), add(t.used, 2, points)
    if max(polygon + count + beside, fan + points) > e.rooms[2]:
        return SOLVER_FULL
    c.ints[EI_POLYGON], c.ints[EI_POLYGONS], c.ints[EI_FAN] = polygon, count, fan
    c.ints[EI_NEAR] = beside
    m, reach = local_f8(9), 0.0
    for k in range(MOMENTS):
        m[k] = 0.0
    for poly in range(first, stop):
        if soup.slope[4 * poly] != side or end <= poly < near:
            continue
        at = off(t.fan, 3 * fan)
        if poly < end:
            corners = _fan(soup, poly, side, two_sided, 0, last, extra, at)
        else:
            corners = _fan(soup, poly, side, chord, last, every, extra - apart, at)
        t.corners[polygon] = corners
        polygon += 1
        fan += corners + 1
        if poly >= end:
            reach += _area(soup.plane, soup.start[poly], soup.start[poly + 1])
            continue
        add_moments(at, corners, m)
    if not m[0] > POINT_PATCH * size * size:
        place_point(c, point, depth / 3.0 if depth > 0.0 else depth)
        return OK
    place_patch(t, c, point, m, c.ints[EI_FAN], fan)
    f[EF_TRUE], f[EF_REACH] = f[EF_S], reach
    return OK


@kernel
def _fan(
    soup: Soup,
    poly: int,
    side: float,
    two_sided: bool,
    first: int,
    last: int,
    extra: float,
    at: PtrF8,
) -> int:
    """Lay a polygon out as a fan with depths: its middle, then its corners; returns their number.

    first, last: polygons among which those of the other side are.
    """
    start, end = soup.start[poly], soup.start[poly + 1]
    corners = end - start
    ox, oy, oh = 0.0, 0.0, 0.0
    for i in range(corners):
        # counter-clockwise seen along n: the back side runs the other way round
        j = start + i if side > 0.0 else end - 1 - i
        p = off(soup.plane, 3 * j)
        x, y, d = p[0], p[1], p[2] + extra
        if two_sided:
            d += _opposite(soup, first, last, side, x, y)
        row = off(at, 3 * (i + 1))
        row[0], row[1], row[2] = x, y, d
        ox += x / corners
        oy += y / corners
        oh += p[2] / corners
    d = oh + extra
    if two_sided:
        d += _opposite(soup, first, last, side, ox, oy)
    at[0], at[1], at[2] = ox, oy, d
    return int(corners)


@kernel
def _crossed(soup: Soup, last: int, side: float) -> bool:
    """Whether both sides have several polygons, so that the depth has creases across them."""
    own, other = 0, 0
    for poly in range(last):
        own += 1 if soup.slope[4 * poly] == side else 0
        other += 1 if soup.slope[4 * poly] == -side else 0
    return other > 1 and own * other <= MOST_CROSSED


@kernel
def _cross(soup: Soup, side: float, last: int, end: int, eps: float, room: int) -> int:
    """Append the polygons 0…last−1 of one side, cut along the edges of the other, with all depth.

    Returns the new end, or −1 if full.
    """
    first = end
    for poly in range(last):
        for other in range(last):
            if soup.slope[4 * poly] != side or soup.slope[4 * other] != -side:
                continue
            here, there = soup.clip, off(soup.clip, 3 * MAX_POLYGON)
            corners = _copy(soup, poly, here)
            for i in range(soup.start[other], soup.start[other + 1]):
                inside = _edge(soup, other, i, -side)
                if corners > 0 and (inside[0] != 0.0 or inside[1] != 0.0):
                    corners = _cut(here, corners, inside, eps, there)
                    here, there = there, here
            row, p = off(soup.slope, 4 * other), off(soup.plane, 3 * soup.start[other])
            for i in range(corners):
                q = off(here, 3 * i)
                q[2] += p[2] + row[1] * (q[0] - p[0]) + row[2] * (q[1] - p[1])
            end = _append(soup, poly, end, here, corners, room)
            if end < 0:
                return -1
    _wide(soup, first, end, side)
    return end


@kernel
def _beside(soup: Soup, side: float, last: int, every: int, end: int, eps: float, room: int) -> int:
    """Append what polygons last…every−1 of one side have beside 0…last−1; the end, or −1 if full.

    Each face is cut along the edges of the part of it that overlaps.
    """
    _wide(soup, last, every, side)
    for poly in range(last, every):
        if soup.slope[4 * poly] != side:
            continue
        here, there = soup.clip, off(soup.clip, 3 * MAX_POLYGON)
        corners, inner = _copy(soup, poly, here), -1
        for k in range(last):
            if soup.owner[k] == soup.owner[poly]:
                inner = k
        if inner < 0:
            end = _append(soup, poly, end, here, corners, room)
            if end < 0:
                return -1
            continue
        for i in range(soup.start[inner], soup.start[inner + 1]):
            inside = _edge(soup, inner, i, side)
            mx, my, at = inside
            beyond = False
            for k in range(corners):
                beyond = beyond or mx * here[3 * k] + my * here[3 * k + 1] < at - eps
            if beyond:
                outside = _cut(here, corners, (-mx, -my, -at), eps, there)
                end = _append(soup, poly, end, there, outside, room)
                if end < 0:
                    return -1
                corners = _cut(here, corners, inside, eps, there)
                here, there = there, here
    return end


@kernel
def _copy(soup: Soup, poly: int, out: PtrF8) -> int:
    """Copy the corners of a polygon on the plane; returns their number."""
    start, end = soup.start[poly], soup.start[poly + 1]
    for i in range(3 * start, 3 * end):
        out[i - 3 * start] = soup.plane[i]
    return int(end - start)


@kernel
def _edge(soup: Soup, poly: int, i: int, side: float) -> Vec3:
    """Inside of a polygon's edge from corner i on: mx x + my y ≥ at; zeros if it has no length.

    A polygon of the front runs counter-clockwise, one of the back clockwise.
    """
    p = off(soup.plane, 3 * i)
    q = off(soup.plane, 3 * (i + 1 if i + 1 < soup.start[poly + 1] else soup.start[poly]))
    mx, my = -side * (q[1] - p[1]), side * (q[0] - p[0])
    length = sqrt(mx * mx + my * my)
    if not length > 0.0:
        return 0.0, 0.0, 0.0
    mx, my = mx / length, my / length
    return mx, my, mx * p[0] + my * p[1]


@kernel
def _cut(polygon: PtrF8, corners: int, inside: Vec3, eps: float, out: PtrF8) -> int:
    """Keep the part of a polygon on one side of a line; returns the number of its corners."""
    plane = local_f8(4)
    plane[0], plane[1], plane[2], plane[3] = -inside[0], -inside[1], 0.0, -inside[2]
    return cut_polygon(polygon, corners, plane, eps, out)


@kernel
def _append(soup: Soup, poly: int, end: int, corners: PtrF8, count: int, room: int) -> int:
    """Append a part of polygon `poly` to those on the plane; returns the new end, −1 if full."""
    if count < 3:
        return end
    at = soup.start[end]
    if at + count > room or end + 1 >= room:
        return -1
    for i in range(3 * count):
        soup.plane[3 * at + i] = corners[i]
    for i in range(4):
        soup.slope[4 * end + i] = soup.slope[4 * poly + i]
    soup.start[end + 1] = at + count
    return end + 1


@kernel
def _wide(soup: Soup, first: int, last: int, side: float) -> int:
    """Drop the slivers of one side; returns how many polygons remain of first…last−1.

    Walls of a body that leans by a hair are slivers on the patch: they carry nothing, but depth
    falls to zero on them.
    """
    widest, count = 0.0, 0
    for f in range(first, last):
        if soup.slope[4 * f] == side:
            widest = max(widest, _area(soup.plane, soup.start[f], soup.start[f + 1]))
    for f in range(first, last):
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
def _opposite(soup: Soup, first: int, last: int, side: float, x: float, y: float) -> float:
    """Half-depth of the other side at (x, y): the least over its planes (convexity)."""
    least = inf
    for f in range(first, last):
        row = off(soup.slope, 4 * f)
        if row[0] * side < 0.0 and row[3] > 1e-9:
            p = off(soup.plane, 3 * soup.start[f])
            least = min(least, p[2] + row[1] * (x - p[0]) + row[2] * (y - p[1]))
    return least if least < inf else 0.0
