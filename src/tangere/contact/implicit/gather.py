"""Contacts of one implicit step: patches where the bodies will be, known before they touch.

Geometry is taken at the pose reached with a guess of the end-of-step twists. Parts that overlap
there give their true patch; parts that miss each other by less than a margin are moved together
until they overlap by the margin, and the way is subtracted from every depth: such points do not
press yet, but the step can make them.

Energy. Patches change their area, normal and shape from step to step, so the springs of a patch
could hold more at the start of a step than was ever put into them. What two bodies' springs held at
the end of the last step is remembered; if the new patch would hold more, the surfaces count as
having yielded: of the depth d₀ at the start of the step a share y is left out at every point,

    d ← d − y max(0, d₀),      (1 − y)² Σ ½ ω k max(0, d₀)² = stored.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, off
from tangere.collision.broad import BITS, near
from tangere.collision.clip import ON_PLANE, View, clip_floor, clip_volume
from tangere.collision.dual import FAILED, dual_volume
from tangere.collision.narrow import GAP, contact_normal, highest, lowest, thinner, world_view
from tangere.contact.friction import FORGET, KAPPA, pair_law, spring_ends
from tangere.contact.implicit.record import (
    HOLDS,
    PATCH_KIND,
    POINT_KIND,
    SLIDES,
    TF_AREA,
    TF_ARM_A,
    TF_ARM_B,
    TF_B,
    TF_BOUNCE,
    TF_BT,
    TF_C,
    TF_D,
    TF_DEPTH,
    TF_E,
    TF_H,
    TF_HELD,
    TF_HX,
    TF_HY,
    TF_JXX,
    TF_JXY,
    TF_JYY,
    TF_K,
    TF_KT,
    TF_LAG,
    TF_MEETS,
    TF_MU,
    TF_N,
    TF_R1,
    TF_R2,
    TF_S,
    TF_SIZE,
    TF_STORED,
    TF_T1,
    TF_T2,
    TF_TH,
    TF_U,
    TF_YIELDED,
    TI_A,
    TI_B,
    TI_EARLY,
    TI_FAN,
    TI_KIND,
    TI_MODE,
    TI_NEW,
    TI_POLYGON,
    TI_POLYGONS,
    TI_SLOT,
    Touch,
    local_twist,
    touch,
)
from tangere.contact.implicit.stored import imprint, set_limit, start_energy
from tangere.contact.volume.law import DUAL, FIXED, NONE, POINT_PATCH, SMALL_GYRATION, Settings
from tangere.contact.volume.method import DEEP
from tangere.contact.volume.patch import EXTRA, POINT, measure
from tangere.maths.quat import turn, turn_back
from tangere.maths.vec import Vec3, basis, dot, scale, sub
from tangere.model import (
    NF,
    NI,
    OK,
    PF_HELD,
    PF_LAG,
    PF_NORMAL,
    PF_SPARE,
    PF_STORED,
    PF_THETA,
    PHASE_APART,
    PHASE_TOUCH,
    PI_BODY_A,
    PI_BODY_B,
    PI_MISSED,
    PI_MODE,
    PI_PART_A,
    PI_PART_B,
    PI_PHASE,
    PI_SIMPLEX,
    SLIP,
    SOLVER_FULL,
    SOUP_FULL,
    Hulls,
    Model,
    Sizes,
    Soup,
    State,
    Work,
)

# Polygons smaller than this share of the widest of a patch are left out.
SLIVER = 1e-5
# Relative rounding of stored energies.
SAME_ENERGY = 1e-9
# Impacts faster than so many margins per step bounce.
BOUNCES = 2.0
# Overlaps at the very start up to this share of the size are springs under load; deeper ones are a
# fit that holds no energy.
FIT = 0.02
# Point method: contacts with κ = k dt²/m below this never yield.
SOFT = 1.1 * KAPPA


class Scope(NamedTuple):
    """All that the gathering reads, and where it writes."""

    z: Sizes
    m: Model
    h: Hulls
    s: State  # at the start of the step
    e: State  # at its end, as guessed
    w: Work
    dt: float
    margin: float
    stamp: int
    rooms: tuple[int, int, int, int]  # polygons in the soup, contacts, fan points, blocks
    settings: Settings
    point: bool  # the point method: all at the deepest point


@kernel
def moves(e: Scope, i: int) -> bool:
    """Whether i is a body that can move: no floor, not fixed, not the world."""
    return bool(i < e.z.bodies and e.m.inv_mass[i] > 0.0)


@kernel
def gather(e: Scope, fresh: bool) -> int:
    """List all contacts of the step; returns OK or what is full.

    fresh: the first step, whose overlaps count as springs under load.
    """
    t = e.w.solver.touches
    t.used[0], t.used[1], t.used[2] = 0, 0, 0
    at = 0
    while at < e.w.pairs.used[0]:
        end = end_of_two(e, at)
        status = look(e, at, end, fresh)
        if status != OK:
            return status
        at = end
    return OK


@kernel
def end_of_two(e: Scope, at: int) -> int:
    """End of the pairs of two bodies that begin in the list at `at`."""
    pairs, end = e.w.pairs, at + 1
    other = pairs.key[at] >> (2 * BITS)
    while (
        end < pairs.used[0]
        and pairs.owner[end] == pairs.owner[at]
        and pairs.key[end] >> (2 * BITS) == other
    ):
        end += 1
    return end


@kernel
def look(e: Scope, at: int, end: int, fresh: bool) -> int:
    """List the contacts of two bodies."""
    w, t = e.w, e.w.solver.touches
    first = t.used[0]
    for k in range(at, end):
        if near(e.z, e.m, w.world, w.pairs.key[k]):
            slot = w.pairs.slot[k]
            ints, floats = off(w.pairs.ints, NI * slot), off(w.pairs.floats, NF * slot)
            status = OK
            if w.pairs.key[k] >> (2 * BITS) >= e.z.bodies:
                status = _floor_pair(e, ints, floats, slot)
            else:
                status = _pair(e, ints, floats, slot)
            if status != OK:
                return status
            w.pairs.live[k] = 1
    if t.used[0] > first:
        _share(e, first, t.used[0], fresh)
    return OK


@kernel
def _pair(e: Scope, ints: PtrI4, floats: PtrF8, slot: int) -> int:
    """Contact of two convex parts."""
    p, q = ints[PI_PART_A], ints[PI_PART_B]
    a = world_view(e.m, e.h, e.e, e.w.world, p, e.stamp)
    b = world_view(e.m, e.h, e.e, e.w.world, q, e.stamp)
    size = min(e.h.size[e.m.part_hull[p]], e.h.size[e.m.part_hull[q]])
    simplex = off(ints, PI_SIMPLEX)
    normal = off(floats, PF_NORMAL)
    was = ints[PI_PHASE]
    touching, point, depth = contact_normal(
        a, b, max(GAP * size, 2.0 * e.margin), was, normal, simplex
    )
    n = (normal[0], normal[1], normal[2])
    moved = 0.0
    if not touching:
        ints[PI_PHASE] = PHASE_APART
        if was == PHASE_TOUCH:
            simplex[0] = 0
        gap = -highest(b, scale(-1.0, n)) - highest(a, n)
        if gap > e.margin:
            return OK
        moved = gap + e.margin
        depth = -gap
        top = highest(a, n) - 0.5 * e.margin
        x = off(a.verts, 0)
        lift = top - (n[0] * x[0] + n[1] * x[1] + n[2] * x[2])
        point = (x[0] + lift * n[0], x[1] + lift * n[1], x[2] + lift * n[2])
    else:
        ints[PI_PHASE] = PHASE_TOUCH
    extra = 0.0
    if depth > DEEP * size:
        extra = max(0.0, depth - thinner(a, b, n))
    if e.point:
        return _add_point(e, ints, slot, n, point, depth, size)
    w, soup = e.w, e.w.soup
    soup.start[0] = 0
    if moved > 0.0:
        _shift(b, n, -moved)
    last = FAILED
    if e.settings.algorithm == DUAL and moved == 0.0:
        last = dual_volume(a, b, point, soup, 0, e.rooms[0])
    if last == FAILED:
        last = clip_volume(a, b, ON_PLANE * size, soup, 0, e.rooms[0])
    if moved > 0.0:
        w.world.stamp[q] = -1  # its buffers hold the shifted part
    if last < 0:
        return SOUP_FULL
    sums = w.sums
    sums[POINT], sums[POINT + 1], sums[POINT + 2] = point
    sums[EXTRA] = 0.0
    t1, t2 = basis(n)
    measure(a, b, n, t1, t2, soup, 0, last, sums)
    side = 1.0 if _wide(soup, last, 1.0) >= _wide(soup, last, -1.0) else -1.0
    return _add_patch(e, ints, slot, n, point, side, True, last, extra - moved, depth, size)


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
def _floor_pair(e: Scope, ints: PtrI4, floats: PtrF8, slot: int) -> int:
    """Contact of a part with a half-space."""
    q = ints[PI_PART_B]
    source = off(e.m.floor_plane, 4 * (ints[PI_BODY_A] - e.z.bodies))
    plane = local_f8(4)
    n = (source[0], source[1], source[2])
    for k in range(3):
        floats[PF_NORMAL + k] = n[k]
        plane[k] = source[k]
    b = world_view(e.m, e.h, e.e, e.w.world, q, e.stamp)
    under, depth = lowest(b, source)
    if depth < -e.margin:
        ints[PI_PHASE] = PHASE_APART
        return OK
    ints[PI_PHASE] = PHASE_TOUCH if depth > 0.0 else PHASE_APART
    size = e.h.size[e.m.part_hull[q]]
    moved = 0.0 if depth > 0.0 else e.margin - depth
    plane[3] = source[3] + moved
    x = off(b.verts, 3 * under)
    lift = depth + moved
    point = (x[0] + lift * n[0], x[1] + lift * n[1], x[2] + lift * n[2])
    if e.point:
        return _add_point(e, ints, slot, n, point, depth, size)
    soup, sums = e.w.soup, e.w.sums
    soup.start[0] = 0
    last = clip_floor(b, plane, ON_PLANE * size, soup, 0, e.rooms[0])
    if last < 0:
        return SOUP_FULL
    sums[POINT], sums[POINT + 1], sums[POINT + 2] = point
    sums[EXTRA] = 0.0
    t1, t2 = basis(n)
    none = View(b.verts, 0, b.planes, 0, b.loop_start, b.loops)
    measure(none, b, n, t1, t2, soup, 0, last, sums)
    _wide(soup, last, -1.0)
    return _add_patch(e, ints, slot, n, point, -1.0, False, last, -moved, depth, size)


@kernel
def _new_touch(
    e: Scope, ints: PtrI4, slot: int, n: Vec3, depth: float, size: float
) -> tuple[bool, Touch]:
    """Start a contact: bodies, axes; false when there is no room."""
    t = e.w.solver.touches
    k = t.used[0]
    if k >= e.rooms[1]:
        return False, touch(t, 0)
    c = touch(t, k)
    c.ints[TI_A], c.ints[TI_B], c.ints[TI_SLOT] = ints[PI_BODY_A], ints[PI_BODY_B], slot
    c.ints[TI_KIND], c.ints[TI_NEW] = POINT_KIND, 1
    c.ints[TI_POLYGON], c.ints[TI_POLYGONS], c.ints[TI_FAN] = t.used[1], 0, t.used[2]
    t1, t2 = basis(n)
    f = c.floats
    for i in range(3):
        f[TF_N + i], f[TF_T1 + i], f[TF_T2 + i] = n[i], t1[i], t2[i]
    f[TF_DEPTH], f[TF_SIZE] = depth, size
    return True, c


@kernel
def _add_point(
    e: Scope, ints: PtrI4, slot: int, n: Vec3, point: Vec3, depth: float, size: float
) -> int:
    """A contact at one point."""
    room, c = _new_touch(e, ints, slot, n, depth, size)
    if not room:
        return SOLVER_FULL
    _at_point(c, point, depth)
    e.w.solver.touches.used[0] += 1
    return OK


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
def _add_patch(
    e: Scope,
    ints: PtrI4,
    slot: int,
    n: Vec3,
    point: Vec3,
    side: float,
    two_sided: bool,
    last: int,
    extra: float,
    depth: float,
    size: float,
) -> int:
    """A contact over the polygons of one side, each a fan about its middle; depth is the chord.

    Integrals: for affine g, q on a triangle of area S,  ∫ g q = S (3/4 ḡ q̄ + 1/12 Σ gᵢ qᵢ).
    """
    room, c = _new_touch(e, ints, slot, n, depth, size)
    if not room:
        return SOLVER_FULL
    t, soup = e.w.solver.touches, e.w.soup
    f = c.floats
    polygons, fan = t.used[1], t.used[2]
    s0, sx, sy, sxx, sxy, syy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    h0, hx, hy = 0.0, 0.0, 0.0
    for poly in range(last):
        if soup.slope[4 * poly] != side:
            continue
        start, end = soup.start[poly], soup.start[poly + 1]
        corners = end - start
        if fan + corners + 1 > e.rooms[2] or polygons + 1 > e.rooms[2]:
            return SOLVER_FULL
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
        t.corners[polygons] = corners
        polygons += 1
        fan += corners + 1
    t.used[0] += 1
    if not s0 > POINT_PATCH * size * size:
        _at_point(c, point, depth / 3.0 if depth > 0.0 else depth)
        return OK
    cx, cy = sx / s0, sy / s0
    for i in range(t.used[2], fan):
        row = off(t.fan, 3 * i)
        row[0] -= cx
        row[1] -= cy
    c.ints[TI_KIND] = PATCH_KIND
    c.ints[TI_POLYGONS] = polygons - t.used[1]
    t.used[1], t.used[2] = polygons, fan
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


@kernel
def _share(e: Scope, first: int, end: int, fresh: bool) -> None:
    """Finish the contacts first…end−1 of two bodies: area, law, friction, energy."""
    t = e.w.solver.touches
    area = 0.0
    for k in range(first, end):
        area += touch(t, k).floats[TF_S]
    stored, deepest, held = 0.0, 0.0, 0.0
    soft = e.point
    for k in range(first, end):
        c = touch(t, k)
        i, j = c.ints[TI_A], c.ints[TI_B]
        if c.ints[TI_KIND] == PATCH_KIND:
            if e.settings.normalization == NONE:
                c.floats[TF_AREA] = 1.0
            elif e.settings.normalization == FIXED:
                c.floats[TF_AREA] = min(e.m.face_area[i], e.m.face_area[j])
            else:
                c.floats[TF_AREA] = area
        row = off(e.w.pairs.floats, NF * c.ints[TI_SLOT])
        stored += row[PF_STORED] + row[PF_SPARE]
        deepest = max(deepest, c.floats[TF_DEPTH] / c.floats[TF_SIZE])
        _kinematics(e, c)
        _law(e, c, row)
        c.floats[TF_STORED] = start_energy(t, c)
        if c.floats[TF_STORED] == 0.0 and c.floats[TF_K] > 0.0:
            c.floats[TF_MEETS], c.floats[TF_B] = c.floats[TF_B] / e.dt, 0.0
        held += c.floats[TF_STORED]
        soft = soft and c.floats[TF_K] * e.dt * e.dt * (e.m.inv_mass[i] + e.m.inv_mass[j]) < SOFT
    # one corner after the other is the deepest point: a soft one takes over what the last one held
    if soft or (fresh and deepest < FIT):
        stored = held
    rest = max(0.0, stored)  # what is owed from before counts as nothing stored
    yielded = 1.0 - sqrt(rest / held) if held > rest * (1.0 + SAME_ENERGY) else 0.0
    for k in range(first, end):
        c = touch(t, k)
        if yielded > 0.0:
            imprint(t, c, yielded)
            c.floats[TF_STORED] *= stored / held
        else:
            c.floats[TF_STORED] += (stored - held) / (end - first)
        c.floats[TF_YIELDED] = yielded
        set_limit(t, c)


@kernel
def _kinematics(e: Scope, c: Touch) -> None:
    """Arms and the guess's local twist.

    The force acts at c taken back by the motion of both bodies, the lighter counting more: on a
    support that is the lighter one alone, so that rolling meets no resistance; between two free
    bodies it is one point for both, which keeps angular momentum.
    """
    f = c.floats
    i, j = c.ints[TI_A], c.ints[TI_B]
    inverse = e.m.inv_mass[i] + e.m.inv_mass[j]
    share = e.m.inv_mass[i] / inverse
    guess = e.w.solver.ahead.guess
    for k in range(3):
        back = share * guess[6 * i + k] + (1.0 - share) * guess[6 * j + k]
        at = f[TF_C + k] - e.dt * back
        f[TF_ARM_A + k] = at - e.s.position[3 * i + k]
        f[TF_ARM_B + k] = at - e.s.position[3 * j + k]
    u = off(f, TF_U)
    u[0], u[1], u[2], u[3], u[4], u[5] = local_twist(c, guess)
    out = off(f, TF_D)
    a0, ax, ay = _sunk(e, c, i)
    b0, bx, by = _sunk(e, c, j)
    out[0], out[1], out[2] = b0 - a0, bx - ax, by - ay


@kernel
def _sunk(e: Scope, c: Touch, i: int) -> tuple[float, float, float]:
    """Way along n of body i's points of the patch since the start, as d0 + dx x + dy y.

    Finite rotations are affine maps, so this is exact: p* − p₀ = p* − x₀ − R₀ R*ᵀ (p* − x*).
    """
    f = c.floats
    guess = off(e.w.solver.ahead.guess, 6 * i)
    n = (f[TF_N], f[TF_N + 1], f[TF_N + 2])
    if guess[3] == 0.0 and guess[4] == 0.0 and guess[5] == 0.0:
        return e.dt * (n[0] * guess[0] + n[1] * guess[1] + n[2] * guess[2]), 0.0, 0.0
    # n·R₀ R*ᵀ q = (R* R₀ᵀ n)·q
    m = turn(off(e.e.rotation, 9 * i), turn_back(off(e.s.rotation, 9 * i), n))
    x, y = off(e.e.position, 3 * i), off(e.s.position, 3 * i)
    base = 0.0
    for k in range(3):
        base += n[k] * (f[TF_C + k] - y[k]) - m[k] * (f[TF_C + k] - x[k])
    d = (n[0] - m[0], n[1] - m[1], n[2] - m[2])
    t1 = (f[TF_T1], f[TF_T1 + 1], f[TF_T1 + 2])
    t2 = (f[TF_T2], f[TF_T2 + 1], f[TF_T2 + 2])
    return base, dot(d, t1), dot(d, t2)


@kernel
def _law(e: Scope, c: Touch, row: PtrF8) -> None:
    """Parameters, friction limit and friction spring of a contact."""
    f = c.floats
    i, j = c.ints[TI_A], c.ints[TI_B]
    ints = off(e.w.pairs.ints, NI * c.ints[TI_SLOT])
    law = pair_law(e.m, i, j, e.dt, True, e.point)
    f[TF_K], f[TF_B], f[TF_KT], f[TF_BT] = law.k, law.b, law.k_t, law.b_t
    known = ints[PI_MISSED] < FORGET
    f[TF_MEETS] = 0.0
    f[TF_BOUNCE], f[TF_BOUNCE + 1], f[TF_BOUNCE + 2], f[TF_E] = 0.0, 0.0, 0.0, 0.0
    if law.e > 0.0 and not known:
        approach = local_twist(c, e.w.solver.ahead.free)[0]
        if approach < -BOUNCES * e.margin / e.dt:
            f[TF_E] = law.e
    slides = known and ints[PI_MODE] == SLIP
    c.ints[TI_MODE], c.ints[TI_EARLY] = SLIDES if slides else HOLDS, 0
    f[TF_MU] = law.mu if slides else law.mu0
    # friction spring at the start of the step, about the centre
    r1, r2, theta = 0.0, 0.0, 0.0
    n = (f[TF_N], f[TF_N + 1], f[TF_N + 2])
    t1, t2 = basis(n)
    j_n = 0.0
    if c.ints[TI_KIND] == PATCH_KIND:
        j_n = (f[TF_JXX] + f[TF_JYY]) / f[TF_S]
    if known and law.k_t > 0.0:
        pa, pb = spring_ends(e.s, i, j, row)
        d = sub(pb, pa)
        if sqrt(j_n) > SMALL_GYRATION * f[TF_SIZE]:
            theta = row[PF_THETA]
        x = e.s.position
        mid = (
            f[TF_ARM_A] + x[3 * i] - 0.5 * (pa[0] + pb[0]),
            f[TF_ARM_A + 1] + x[3 * i + 1] - 0.5 * (pa[1] + pb[1]),
            f[TF_ARM_A + 2] + x[3 * i + 2] - 0.5 * (pa[2] + pb[2]),
        )
        r1 = dot(d, t1) - theta * dot(mid, t2)
        r2 = dot(d, t2) + theta * dot(mid, t1)
        weight = f[TF_S] / f[TF_AREA] if c.ints[TI_KIND] == PATCH_KIND else 1.0
        held = 0.5 * law.k_t * weight * (r1 * r1 + r2 * r2 + theta * theta * j_n)
        if held > row[PF_HELD]:  # the patch changed: the spring holds no more than it held
            less = sqrt(row[PF_HELD] / held)
            r1, r2, theta = less * r1, less * r2, less * theta
            held = row[PF_HELD]
        f[TF_HELD] = held
    else:
        f[TF_HELD] = 0.0
    f[TF_R1], f[TF_R2], f[TF_TH] = r1, r2, theta
    f[TF_LAG] = row[PF_LAG]
