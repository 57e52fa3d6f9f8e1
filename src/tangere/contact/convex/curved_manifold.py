"""Patches of curved contacts in an implicit step, laid out by `contact.curved`."""

from __future__ import annotations

from math import atan2

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, add, local_f8, local_i4, off
from tangere.collision.solids import (
    LEVEL,
    solid_of,
)
from tangere.contact.convex.curved_patch import (
    lay_curved,
    lay_on_floor,
)
from tangere.contact.convex.options import POINT_PATCH
from tangere.contact.convex.polygons import (
    L_AREA,
    L_CORNERS,
    L_COUNT,
    L_CURVED,
    L_LIES,
    L_RATIO,
    L_RHO_A,
    L_RHO_B,
    L_ROLL,
    L_SHARE,
    L_SPINS,
    L_T1,
    L_T2,
    L_TILT1,
    L_TILT2,
    Layout,
)
from tangere.elements.columns import (
    EF_CURVED,
    EF_DEPTH,
    EF_LIES,
    EF_RATIO,
    EF_REACH,
    EF_RHO_A,
    EF_RHO_B,
    EF_RISE,
    EF_ROLLS,
    EF_SHARE,
    EF_SIZE,
    EF_T1,
    EF_T2,
    EF_TILT1,
    EF_TILT2,
    EF_TRUE,
    EF_YAW,
    EI_A,
    EI_B,
    EI_FAN,
    EI_NEAR,
    EI_POLYGON,
    EI_POLYGONS,
    EI_SPINS,
    EI_SQUARE,
    Element,
)
from tangere.elements.fan import MOMENTS, add_moments
from tangere.elements.patch import place_patch
from tangere.elements.point import place_point
from tangere.elements.step_context import StepContext
from tangere.maths.quat import turn, turn_back
from tangere.maths.vec import Vec3, dot, sub
from tangere.model import OK, PI_BODY_A, PI_PART_A, PI_PART_B, SOLVER_FULL


@kernel
def lay_curved_patch(
    e: StepContext, c: Element, ints: PtrI4, n: Vec3, point: Vec3, moved: float, face: int
) -> int:
    """Give a contact of which a part is curved its patch; OK or SOLVER_FULL."""
    f = c.floats
    depth, size = f[EF_DEPTH], f[EF_SIZE]
    out = Layout(local_i4(8), local_f8(960), local_f8(30))  # see MAX_POLYGONS …
    b = solid_of(e.m, e.h, e.e, e.w.world, ints[PI_PART_B], e.stamp)
    a = b
    if ints[PI_BODY_A] >= e.z.bodies:
        height = e.m.floor_plane[4 * (ints[PI_BODY_A] - e.z.bodies) + 3]
        lay_on_floor(b, n, height, point, depth, moved, size, e.margin, out)
    else:
        a = solid_of(e.m, e.h, e.e, e.w.world, ints[PI_PART_A], e.stamp)
        lay_curved(a, b, n, point, depth, moved, face, size, e.margin, out)
    d = out.data
    f[EF_RHO_A], f[EF_RHO_B], f[EF_CURVED] = d[L_RHO_A], d[L_RHO_B], d[L_CURVED]
    for k in range(4):
        f[EF_SHARE + k] = d[L_SHARE + k]
    f[EF_ROLLS] = d[L_ROLL]
    if e.options.single_point:
        place_point(c, point, depth)
        for k in range(3):  # turning about a point tilts nothing
            f[EF_TILT1 + k], f[EF_TILT2 + k] = 0.0, 0.0
        return OK
    if d[L_SPINS] > 0.0:
        i = c.ints[EI_A if d[L_SPINS] == 1.0 else EI_B]
        c.ints[EI_SPINS] = i
        f[EF_YAW], f[EF_RISE], f[EF_LIES] = 0.0, 0.0, d[L_LIES]
        if d[L_LIES] > 0.0:
            f[EF_YAW], f[EF_RISE] = _turned(e, i, b.axis if i == c.ints[EI_B] else a.axis, n, d)
    if d[L_TILT1] == 0.0 and d[L_TILT2] == 0.0:
        c.ints[EI_SQUARE] = 1
    f[EF_TRUE], f[EF_RATIO] = d[L_AREA], d[L_RATIO]
    for k in range(3):
        f[EF_T1 + k], f[EF_T2 + k] = d[L_T1 + k], d[L_T2 + k]
        f[EF_TILT1 + k], f[EF_TILT2 + k] = d[L_TILT1] * d[L_T1 + k], d[L_TILT2] * d[L_T2 + k]
    return _fans(e, c, point, moved, out)


@kernel
def _turned(e: StepContext, i: int, axis: Vec3, n: Vec3, d: PtrF8) -> tuple[float, float]:
    """Angles by which the axis of body i has turned about n and risen along n since the start."""
    t1 = (d[L_T1], d[L_T1 + 1], d[L_T1 + 2])
    t2 = (d[L_T2], d[L_T2 + 1], d[L_T2 + 2])
    along = dot(axis, t1)
    was = turn(off(e.s.rotation, 9 * i), turn_back(off(e.e.rotation, 9 * i), axis))
    x, y = dot(was, t1), dot(was, t2)
    if along < LEVEL or not x > abs(y):  # it stands, or turns too far for a step
        return 0.0, 0.0
    return atan2(-y, x), dot(sub(axis, was), n) / along


@kernel
def _fans(e: StepContext, c: Element, point: Vec3, moved: float, out: Layout) -> int:
    """Spread a contact over the polygons of a layout, each a fan about its middle."""
    f, t = c.floats, e.w.solver.elements
    count, points = int(out.data[L_COUNT]), int(out.data[L_CORNERS])
    points += count
    polygon, fan = add(t.used, 1, count), add(t.used, 2, points)
    if max(polygon + count, fan + points) > e.rooms[2]:
        return SOLVER_FULL
    c.ints[EI_POLYGON], c.ints[EI_POLYGONS], c.ints[EI_FAN] = polygon, count, fan
    c.ints[EI_NEAR], f[EF_REACH] = 0, 0.0
    m = local_f8(9)
    for k in range(MOMENTS):
        m[k] = 0.0
    source, at = out.points, off(t.fan, 3 * fan)
    for k in range(count):
        corners = out.corners[k]
        t.corners[polygon + k] = corners
        ox, oy, od = 0.0, 0.0, 0.0
        for i in range(corners):
            p, row = off(source, 3 * i), off(at, 3 * (i + 1))
            row[0], row[1], row[2] = p[0], p[1], p[2] - moved
            ox, oy, od = ox + p[0] / corners, oy + p[1] / corners, od + row[2] / corners
        at[0], at[1], at[2] = ox, oy, od
        add_moments(at, corners, m)
        source, at = off(source, 3 * corners), off(at, 3 * (corners + 1))
    depth, size = f[EF_DEPTH], f[EF_SIZE]
    if not m[0] > POINT_PATCH * size * size:  # an apex
        place_point(c, point, depth / 3.0 if depth > 0.0 else depth)
        return OK
    place_patch(t, c, point, m, fan, fan + points)
    return OK
