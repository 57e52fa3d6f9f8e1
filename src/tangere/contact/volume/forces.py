"""The volume method over all pairs of a scene: touch → volume → patch → wrench."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, local_i4, off
from tangere.collision.broad import BITS, near
from tangere.collision.clip import ON_PLANE, View, clip_floor, clip_volume
from tangere.collision.curved import (
    FACETS,
    meet_solids,
)
from tangere.collision.dual import FAILED, dual_volume
from tangere.collision.narrow import GAP, boxes_gap, contact_normal, lowest, thinner, world_view
from tangere.collision.solids import (
    is_curved,
    solid_of,
    support,
    top,
)
from tangere.contact.convex.curved_patch import (
    lay_curved,
    lay_on_floor,
)
from tangere.contact.convex.options import (
    DEEP,
    DUAL,
    FIXED,
    NONE,
    PATCH,
    POINT_PATCH,
    ContactOptions,
)
from tangere.contact.convex.patch_integrals import (
    AXIS,
    EXTRA,
    H0,
    POINT,
    RATIO,
    ROLL,
    S0,
    TILT1,
    TILT2,
    TRUE,
    measure,
    sum_up,
)
from tangere.contact.convex.polygons import (
    L_AREA,
    L_CORNERS,
    L_COUNT,
    L_RATIO,
    L_ROLL,
    L_SLOPE,
    L_T1,
    L_TILT1,
    L_TILT2,
    Layout,
)
from tangere.contact.volume.law import contact_wrench
from tangere.elements.contact_law import FORGET, apply_wrench, pair_law, single_point
from tangere.maths.vec import Vec3, axpy, basis, dot, scale
from tangere.model import (
    NF,
    NI,
    NS,
    OK,
    PF_AREA,
    PF_CENTRE,
    PF_DEPTH,
    PF_FORCE,
    PF_NORMAL,
    PF_PRESS,
    PF_TORQUE,
    PF_VOLUME,
    PHASE_APART,
    PHASE_TOUCH,
    PI_BODY_A,
    PI_BODY_B,
    PI_FIRST,
    PI_LAST,
    PI_MISSED,
    PI_PART_A,
    PI_PART_B,
    PI_PHASE,
    PI_SIMPLEX,
    SOUP_FULL,
    Hulls,
    Model,
    Sizes,
    Soup,
    State,
    Work,
)

# Overlaps thinner than this share of the part's size are mere touch: the volume is rounding.
THIN = 1e-14


class Scope(NamedTuple):
    """All that the contacts of one step read, and where they write."""

    z: Sizes
    m: Model
    h: Hulls
    s: State
    w: Work
    dt: float
    step: int
    soup_size: int
    options: ContactOptions


class Row(NamedTuple):
    """One pair: what it remembers, and the integrals of its patch."""

    ints: PtrI4
    floats: PtrF8
    sums: PtrF8


@kernel
def respond(
    z: Sizes,
    m: Model,
    h: Hulls,
    s: State,
    w: Work,
    dt: float,
    step: int,
    rooms: tuple[int, int],
    options: ContactOptions,
    first: int,
    end: int,
) -> int:
    """Leave the contact wrenches of a share of the pairs in their rows; returns OK or SOUP_FULL.

    Pairs of the same two bodies stand together: their convex pieces share one normalising area, so
    that a body cut in pieces feels like the whole ([HASEGAWA2004] leaves it open).
    """
    soup_size, sums_size = rooms
    scope = Scope(z, m, h, s, w, dt, step, soup_size, options)
    count = min(end, w.pairs.used[0])
    at = first
    while at < count:
        owner = w.pairs.owner[at]
        other = w.pairs.key[at] >> (2 * BITS)
        end = at
        polygons = 0
        area = 0.0
        w.soup.start[0] = 0
        while (
            end < count and w.pairs.owner[end] == owner and w.pairs.key[end] >> (2 * BITS) == other
        ):
            if end - at >= sums_size:
                return SOUP_FULL
            meet = near(z, m, w.world, w.pairs.key[end])
            if meet or w.pairs.live[end] != 0:
                row = _row(w, at, end)
                if not meet:
                    _part(row, min(row.ints[PI_PHASE], PHASE_APART))
                elif other >= z.bodies:
                    polygons = _touch_floor(scope, polygons, row)
                else:
                    polygons = _touch(scope, polygons, row)
                if polygons < 0:
                    return SOUP_FULL
                w.pairs.live[end] = 1 if meet or row.ints[PI_MISSED] < FORGET else 0
                if row.ints[PI_PHASE] == PHASE_TOUCH:
                    area += row.floats[PF_AREA]
            end += 1
        if area > 0.0:
            for pair in range(at, end):
                row = _row(w, at, pair)
                if row.ints[PI_PHASE] == PHASE_TOUCH:
                    _press(scope, row, area)
        at = end
    return OK


@kernel
def add_wrenches(s: State, w: Work) -> None:
    """Add the wrenches of all pairs that pressed in this step to `s.wrench`, in their order."""
    for pair in range(w.pairs.used[0]):
        if w.pairs.live[pair] != 0:
            ints = off(w.pairs.ints, NI * w.pairs.slot[pair])
            if ints[PI_MISSED] == 0:
                apply_wrench(s, ints, off(w.pairs.floats, NF * w.pairs.slot[pair]))


@kernel
def _row(w: Work, first: int, pair: int) -> Row:
    """Row of a pair in the list; `first` is the first pair of the same two bodies."""
    slot = w.pairs.slot[pair]
    return Row(
        off(w.pairs.ints, NI * slot),
        off(w.pairs.floats, NF * slot),
        off(w.sums, NS * (pair - first)),
    )


@kernel
def _quiet(row: Row, phase: int) -> None:
    """Leave no force; after a step of grace the friction spring is forgotten."""
    ints, floats = row.ints, row.floats
    ints[PI_PHASE] = phase
    ints[PI_MISSED] = min(ints[PI_MISSED] + 1, FORGET)
    floats[PF_AREA], floats[PF_VOLUME], floats[PF_PRESS] = 0.0, 0.0, 0.0
    floats[PF_DEPTH] = 0.0
    for k in range(3):
        floats[PF_FORCE + k] = 0.0
        floats[PF_TORQUE + k] = 0.0


@kernel
def _part(row: Row, phase: int) -> None:
    """As `_quiet`, for a pair that may have been apart for long: then nothing is left to write.

    Large heaps have more of these than of contacts, and wait for memory.
    """
    ints = row.ints
    if ints[PI_MISSED] < FORGET or ints[PI_PHASE] != PHASE_APART or phase != PHASE_APART:
        _quiet(row, phase)


@kernel
def _touch(e: Scope, first: int, row: Row) -> int:
    """Geometry of a pair of convex parts: normal, polygons, integrals; the polygon count."""
    ints, floats = row.ints, row.floats
    p, q = ints[PI_PART_A], ints[PI_PART_B]
    size = min(e.h.size[e.m.part_hull[p]], e.h.size[e.m.part_hull[q]])
    if ints[PI_PHASE] == PHASE_APART:  # most are still apart by far along their last normal
        n = (floats[PF_NORMAL], floats[PF_NORMAL + 1], floats[PF_NORMAL + 2])
        if boxes_gap(e.m, e.h, e.s, p, q, n) > GAP * size:
            _part(row, PHASE_APART)
            return first
    simplex, normal = off(ints, PI_SIMPLEX), off(floats, PF_NORMAL)
    if is_curved(e.m, e.h, p) or is_curved(e.m, e.h, q):
        one = solid_of(e.m, e.h, e.s, e.w.world, p, e.step)
        two = solid_of(e.m, e.h, e.s, e.w.world, q, e.step)
        found = meet_solids(one, two, size, 0.0, ints[PI_PHASE], normal, simplex)
        if not (found.near and found.depth > THIN * size):
            _part(row, PHASE_APART)
            return first
        if found.face != FACETS:
            out = Layout(local_i4(8), local_f8(960), local_f8(30))  # see contact.curved
            n, p = found.normal, found.point
            lay_curved(one, two, n, p, found.depth, 0.0, found.face, size, 0.0, out)
            return _spread(e, first, row, found.point, found.depth, out)
        touching, point, depth = True, found.point, found.depth
        a = world_view(e.m, e.h, e.s, e.w.world, p, e.step)
        b = world_view(e.m, e.h, e.s, e.w.world, q, e.step)
    else:
        a = world_view(e.m, e.h, e.s, e.w.world, p, e.step)
        b = world_view(e.m, e.h, e.s, e.w.world, q, e.step)
        touching, point, depth = contact_normal(a, b, GAP * size, ints[PI_PHASE], normal, simplex)
    if not touching:
        if ints[PI_PHASE] == PHASE_TOUCH:
            simplex[0] = 0
        _part(row, PHASE_APART)
        return first
    last = FAILED
    if e.options.algorithm == DUAL:
        guess = point
        if ints[PI_MISSED] == 0:  # the middle of the last patch is better centred
            guess = (floats[PF_CENTRE], floats[PF_CENTRE + 1], floats[PF_CENTRE + 2])
        last = dual_volume(a, b, guess, e.w.soup, first, e.soup_size)
    if last == FAILED:
        last = clip_volume(a, b, ON_PLANE * size, e.w.soup, first, e.soup_size)
    if last < 0:
        return last
    # A body pushed right through another would feel no more force: count the overlap beyond its
    # thickness.
    extra = 0.0
    if depth > DEEP * size:
        n = (floats[PF_NORMAL], floats[PF_NORMAL + 1], floats[PF_NORMAL + 2])
        extra = max(0.0, depth - thinner(a, b, n))
    floats[PF_DEPTH] = depth
    _plane(row, point, extra)
    return _integrate(a, b, size, 0.5, e.w.soup, first, last, row)


@kernel
def _touch_floor(e: Scope, first: int, row: Row) -> int:
    """Geometry of a part on a half-space: its down-facing faces below the plane."""
    q = row.ints[PI_PART_B]
    plane = off(e.m.floor_plane, 4 * (row.ints[PI_BODY_A] - e.z.bodies))
    n = (plane[0], plane[1], plane[2])
    for k in range(3):
        row.floats[PF_NORMAL + k] = n[k]
    size = e.h.size[e.m.part_hull[q]]
    if is_curved(e.m, e.h, q):
        return _curved_on_floor(e, first, row, n, plane[3], size)
    b = world_view(e.m, e.h, e.s, e.w.world, q, e.step)
    under, depth = lowest(b, plane)
    if not depth > 0.0:
        _part(row, PHASE_APART)
        return first
    last = clip_floor(b, plane, ON_PLANE * size, e.w.soup, first, e.soup_size)
    if last < 0:
        return last
    # a point of the plane inside the patch keeps the integrals well conditioned
    x = off(b.verts, 3 * under)
    row.floats[PF_DEPTH] = depth
    _plane(row, (x[0] + depth * n[0], x[1] + depth * n[1], x[2] + depth * n[2]), 0.0)
    none = View(b.verts, 0, b.planes, 0, b.loop_start, b.loops)
    return _integrate(none, b, size, 1.0, e.w.soup, first, last, row)


@kernel
def _curved_on_floor(e: Scope, first: int, row: Row, n: Vec3, height: float, size: float) -> int:
    """Geometry of a curved part on a half-space."""
    b = solid_of(e.m, e.h, e.s, e.w.world, row.ints[PI_PART_B], e.step)
    down = scale(-1.0, n)
    depth = height + top(b, down)
    if not depth > THIN * size:
        _part(row, PHASE_APART)
        return first
    low = support(b, down)
    point = axpy(height - dot(n, low), n, low)
    out = Layout(local_i4(8), local_f8(960), local_f8(30))  # see contact.curved
    lay_on_floor(b, n, height, point, depth, 0.0, size, 0.0, out)
    return _spread(e, first, row, point, depth, out)


@kernel
def _spread(e: Scope, first: int, row: Row, point: Vec3, depth: float, out: Layout) -> int:
    """Put the polygons of a curved contact into the soup, as the back side of a floor's patch."""
    soup, d = e.w.soup, out.data
    count, start = int(d[L_COUNT]), soup.start[first]
    if max(first + count, start + int(d[L_CORNERS])) > e.soup_size:
        return -1
    floats, sums = row.floats, row.sums
    b1, b2 = basis((floats[PF_NORMAL], floats[PF_NORMAL + 1], floats[PF_NORMAL + 2]))
    t1 = (d[L_T1], d[L_T1 + 1], d[L_T1 + 2])
    c, s = dot(t1, b1), dot(t1, b2)
    at = out.points
    for f in range(count):
        corners = out.corners[f]
        for k in range(corners):
            p, q = off(at, 3 * k), off(soup.plane, 3 * (start + corners - 1 - k))  # clockwise
            q[0], q[1], q[2] = c * p[0] - s * p[1], s * p[0] + c * p[1], p[2]
        at, start = off(at, 3 * corners), start + corners
        soup.start[first + f + 1] = start
        slope = off(soup.slope, 4 * (first + f))
        slope[0], slope[3] = -1.0, 1.0
        slope[1], slope[2] = c * d[L_SLOPE + f], s * d[L_SLOPE + f]
    floats[PF_DEPTH] = depth
    _plane(row, point, 0.0)
    sums[TRUE], sums[RATIO], sums[AXIS], sums[AXIS + 1] = d[L_AREA], d[L_RATIO], c, s
    sums[TILT1], sums[TILT2], sums[ROLL] = d[L_TILT1], d[L_TILT2], d[L_ROLL]
    sum_up(soup, first, first + count, sums)
    row.ints[PI_PHASE] = PHASE_TOUCH
    row.ints[PI_FIRST], row.ints[PI_LAST] = first, first + count
    floats[PF_AREA] = sums[TRUE]
    return first + count


@kernel
def _plane(row: Row, point: Vec3, extra: float) -> None:
    """Set the contact plane of a pair: a point of it, and depth to count everywhere [m]."""
    sums = row.sums
    sums[POINT], sums[POINT + 1], sums[POINT + 2] = point
    sums[EXTRA] = extra
    sums[TRUE], sums[RATIO], sums[AXIS], sums[AXIS + 1] = 0.0, 1.0, 1.0, 0.0
    sums[TILT1], sums[TILT2], sums[ROLL] = 1.0, 1.0, 0.0


@kernel
def _integrate(
    a: View, b: View, size: float, share: float, soup: Soup, first: int, last: int, row: Row
) -> int:
    """Fill the integrals of the patch; decide whether there is anything to press on."""
    ints, floats, sums = row.ints, row.floats, row.sums
    n = (floats[PF_NORMAL], floats[PF_NORMAL + 1], floats[PF_NORMAL + 2])
    t1, t2 = basis(n)
    measure(a, b, n, t1, t2, soup, first, last, sums)
    if not (sums[S0] > 0.0 and sums[H0] > THIN * size * sums[S0]):
        _quiet(row, PHASE_TOUCH if floats[PF_DEPTH] > THIN * size else PHASE_APART)
        return first
    ints[PI_PHASE] = PHASE_TOUCH
    ints[PI_FIRST], ints[PI_LAST] = first, last
    floats[PF_AREA] = share * sums[S0]
    return last


@kernel
def _press(e: Scope, row: Row, area: float) -> None:
    """Wrench of a touching pair from its integrals; `area` is the patch area of both bodies."""
    ints, floats, sums = row.ints, row.floats, row.sums
    if not floats[PF_AREA] > 0.0:
        return
    i, j = ints[PI_BODY_A], ints[PI_BODY_B]
    law = pair_law(e.m, i, j, e.dt, False, False)
    size = e.h.size[e.m.part_hull[ints[PI_PART_B]]]
    if i < e.z.bodies:
        size = min(size, e.h.size[e.m.part_hull[ints[PI_PART_A]]])
    pressed = False
    if e.options.normalization == PATCH and floats[PF_AREA] < POINT_PATCH * size * size:
        c = (sums[POINT], sums[POINT + 1], sums[POINT + 2])
        pressed = single_point(e.s, ints, floats, law, law.k * floats[PF_DEPTH] / 3.0, c)
    else:
        if e.options.normalization == NONE:
            area = 1.0
        elif e.options.normalization == FIXED:
            area = min(e.m.face_area[i], e.m.face_area[j])
        area *= sums[RATIO]
        rule, two_sided = e.options.friction, i < e.z.bodies and sums[TRUE] == 0.0
        pressed = contact_wrench(
            e.s, ints, floats, sums, law, area, size, e.dt, rule, two_sided, e.w.soup
        )
    if pressed:
        ints[PI_MISSED] = 0
        if law.rolling * sums[ROLL] > 0.0:
            _resist_rolling(e, row, law.rolling * sums[ROLL])
    else:
        _quiet(row, PHASE_TOUCH)


@kernel
def _resist_rolling(e: Scope, row: Row, reach: float) -> None:
    """Add the torque against rolling, reach times the normal force [m].

    No more than half of what would stop the lighter body within the step: it does not reverse.
    """
    ints, floats, sums = row.ints, row.floats, row.sums
    i, j = ints[PI_BODY_A], ints[PI_BODY_B]
    b1, b2 = basis((floats[PF_NORMAL], floats[PF_NORMAL + 1], floats[PF_NORMAL + 2]))
    t1 = axpy(sums[AXIS], b1, scale(sums[AXIS + 1], b2))
    t2 = axpy(sums[AXIS], b2, scale(-sums[AXIS + 1], b1))
    w, bound = (0.0, 0.0, 0.0), 0.0
    for k in range(2):
        body, sign = (j, 1.0) if k == 0 else (i, -1.0)
        o, inverse = off(e.s.omega, 3 * body), off(e.m.inv_inertia, 3 * body)
        w = axpy(sign, (o[0], o[1], o[2]), w)
        bound += max(inverse[0], inverse[1], inverse[2])
    one, two = (1.0 - sums[TILT1]) * dot(w, t1), (1.0 - sums[TILT2]) * dot(w, t2)
    speed = sqrt(one * one + two * two)
    if speed > 0.0:
        torque = min(reach * floats[PF_PRESS] / speed, 0.5 / (e.dt * bound))
        for k in range(3):
            floats[PF_TORQUE + k] -= torque * (one * t1[k] + two * t2[k])
