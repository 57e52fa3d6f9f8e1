"""Hulls and curved solids in the world: support functions, flat faces, nearest points."""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import off
from tangere.collision.clip import View
from tangere.collision.narrow import highest, world_view
from tangere.geometry.curve import (
    BALL,
    CAPSULE,
    CONE,
    CURVE_AXIS,
    CURVE_CENTRE,
    CURVE_HALF,
    CURVE_KIND,
    CURVE_RADIUS,
    CYLINDER,
    HULL,
    NC,
)
from tangere.maths.quat import turn
from tangere.maths.vec import Vec3, add, axpy, basis, cross, dot, norm, scale, sub
from tangere.model import Hulls, Model, State, World

# A direction within this of square to an axis, or along it, counts as such [rad]: line and face
# contacts of rigid bodies tilt far less, and beyond it edges are narrower than any patch.
LEVEL = 1e-3
PLANE, POLYGON, CIRCLE = 0, 1, 2  # outlines of a face


class Solid(NamedTuple):
    """One convex part in the world: a hull, or a curved solid (see geometry.curve)."""

    kind: int
    radius: float
    half: float
    axis: Vec3
    centre: Vec3
    hull: View  # empty for curved kinds


class Face(NamedTuple):
    """A flat face: N·x = offset within an outline."""

    normal: Vec3
    offset: float
    outline: int  # PLANE: none
    hull: View  # POLYGON: face `number` of it
    number: int
    centre: Vec3  # CIRCLE
    radius: float


@kernel
def is_curved(m: Model, h: Hulls, p: int) -> bool:
    """Whether part p is curved."""
    return bool(h.curve[NC * m.part_hull[p] + CURVE_KIND] != HULL)


@kernel
def solid_of(m: Model, h: Hulls, s: State, w: World, p: int, step: int) -> Solid:
    """Part p in the world."""
    curve = off(h.curve, NC * m.part_hull[p])
    kind = int(curve[CURVE_KIND])
    if kind == HULL:
        view = world_view(m, h, s, w, p, step)
        return Solid(HULL, 0.0, 0.0, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), view)
    i = m.part_body[p]
    r, x = off(s.rotation, 9 * i), off(s.position, 3 * i)
    c, e = off(curve, CURVE_CENTRE), off(curve, CURVE_AXIS)
    centre = add((x[0], x[1], x[2]), turn(r, (c[0], c[1], c[2])))
    axis = turn(r, (e[0], e[1], e[2]))
    none = View(off(w.verts, 0), 0, off(w.planes, 0), 0, off(h.loop_start, 0), h.loops)
    return Solid(kind, curve[CURVE_RADIUS], curve[CURVE_HALF], axis, centre, none)


@kernel
def top(a: Solid, n: Vec3) -> float:
    """Support function: the greatest n·x over a solid, n a unit vector [m]."""
    if a.kind == HULL:
        return highest(a.hull, n)
    at, along = dot(n, a.centre), dot(n, a.axis)
    if a.kind == BALL:
        return at + a.radius
    if a.kind == CAPSULE:
        return at + a.half * abs(along) + a.radius
    # not √(1 − along²), which has half the digits where n is along the axis
    rim = a.radius * norm(axpy(-along, a.axis, n))
    if a.kind == CYLINDER:
        return at + a.half * abs(along) + rim
    return max(at + a.half * along, at - a.half * along + rim)


@kernel
def support(a: Solid, d: Vec3) -> Vec3:
    """A point furthest along d, of any length; of a ball or capsule, of its spine."""
    if a.kind == HULL:
        best, k = -inf, 0
        for i in range(a.hull.vert_count):
            x = off(a.hull.verts, 3 * i)
            far = d[0] * x[0] + d[1] * x[1] + d[2] * x[2]
            if far > best:
                best, k = far, i
        x = off(a.hull.verts, 3 * k)
        return (x[0], x[1], x[2])
    along = dot(d, a.axis)
    if a.kind == BALL:
        return a.centre
    if a.kind == CAPSULE:
        return axpy(a.half if along >= 0.0 else -a.half, a.axis, a.centre)
    out = axpy(-along, a.axis, d)
    out = axpy(-dot(out, a.axis), a.axis, out)  # twice: of d along the axis only rounding is left
    size = norm(out)
    rim = scale(a.radius / size, out) if size > 1e-15 * abs(along) else (0.0, 0.0, 0.0)
    if a.kind == CYLINDER:
        return add(axpy(a.half if along >= 0.0 else -a.half, a.axis, a.centre), rim)
    if 2.0 * a.half * along >= a.radius * size:
        return axpy(a.half, a.axis, a.centre)
    return add(axpy(-a.half, a.axis, a.centre), rim)


@kernel
def support_point(a: Solid, n: Vec3) -> Vec3:
    """A point of the surface furthest along the unit vector n."""
    p = support(a, n)
    return axpy(a.radius, n, p) if a.kind in (BALL, CAPSULE) else p


@kernel
def slope_of(a: Solid) -> tuple[float, float]:
    """Sine and cosine of the half angle of a cone; 0 and 1 for other solids."""
    if a.kind != CONE:
        return 0.0, 1.0
    side = sqrt(a.radius * a.radius + 4.0 * a.half * a.half)
    return a.radius / side, 2.0 * a.half / side


@kernel
def radius_at(a: Solid, way: float) -> float:
    """Radius at a place on the axis, `way` from its middle [m]."""
    if a.kind == CONE:
        return max(0.0, a.radius * (a.half - way) / (2.0 * a.half))
    return a.radius


@kernel
def face_count(a: Solid) -> int:
    """Number of flat faces."""
    if a.kind == HULL:
        return a.hull.face_count
    return 2 if a.kind == CYLINDER else 1 if a.kind == CONE else 0


@kernel
def face_of(a: Solid, f: int) -> Face:
    """A flat face; of a cylinder 0 is the end that its axis points to, 1 the other."""
    if a.kind == HULL:
        p = off(a.hull.planes, 4 * f)
        return Face((p[0], p[1], p[2]), p[3], POLYGON, a.hull, f, a.centre, 0.0)
    sign = 1.0 if a.kind == CYLINDER and f == 0 else -1.0
    n = scale(sign, a.axis)
    at = axpy(a.half, n, a.centre)
    return Face(n, dot(n, at), CIRCLE, a.hull, 0, at, a.radius)


@kernel
def generator(b: Solid, up: Vec3) -> tuple[Vec3, Vec3]:
    """Lowest straight line on the side of a solid, against `up`: a point, and its way per σ."""
    if b.kind == CAPSULE:
        return axpy(-b.radius, up, b.centre), b.axis
    s = dot(up, b.axis)
    g = axpy(-s, b.axis, up)
    size = norm(g)
    g = scale(1.0 / size, g) if size > 0.0 else basis(b.axis)[0]
    middle = radius_at(b, 0.0)
    taper = b.radius / (2.0 * b.half) if b.kind == CONE else 0.0
    return axpy(-middle, g, b.centre), axpy(taper, g, b.axis)


@kernel
def edge_count(on: Face) -> int:
    """Number of edges of a polygonal outline."""
    start = on.hull.loop_start
    return int(start[on.number + 1] - start[on.number])


@kernel
def edge_of(on: Face, k: int) -> tuple[Vec3, Vec3]:
    """Edge k of a polygonal outline: where it begins, and the way from there to its end."""
    loop = off(on.hull.loops, on.hull.loop_start[on.number])
    i, j = loop[k - 1 if k > 0 else edge_count(on) - 1], loop[k]
    v, w = off(on.hull.verts, 3 * i), off(on.hull.verts, 3 * j)
    return (v[0], v[1], v[2]), (w[0] - v[0], w[1] - v[1], w[2] - v[2])


@kernel
def within(on: Face, p: Vec3, d: Vec3, first: float, last: float) -> tuple[float, float]:
    """Part of first…last for which p + t d is above a face; none if it comes back reversed."""
    if on.outline == PLANE:
        return first, last
    if on.outline == POLYGON:
        for k in range(edge_count(on)):
            start, edge = edge_of(on, k)
            inward = cross(on.normal, edge)
            first, last = _half(dot(inward, sub(p, start)), dot(inward, d), first, last)
        return first, last
    q = sub(p, on.centre)
    q = axpy(-dot(q, on.normal), on.normal, q)
    e = axpy(-dot(d, on.normal), on.normal, d)
    # |q + t e|² ≤ R²
    c, b, a = dot(q, q) - on.radius * on.radius, dot(q, e), dot(e, e)
    if not a > 0.0:
        return (first, last) if c <= 0.0 else (1.0, 0.0)
    root = b * b - a * c
    if root < 0.0:
        return 1.0, 0.0
    root = sqrt(root)
    return max(first, (-b - root) / a), min(last, (-b + root) / a)


@kernel
def _half(at: float, rate: float, first: float, last: float) -> tuple[float, float]:
    """Part of first…last for which at + t rate is not negative."""
    if rate > 0.0:
        return max(first, -at / rate), last
    if rate < 0.0:
        return first, min(last, -at / rate)
    return (first, last) if at >= 0.0 else (1.0, 0.0)


@kernel
def nearest_point(a: Solid, x: Vec3) -> Vec3:
    """The point of a cylinder or cone nearest to x; x itself inside."""
    q = sub(x, a.centre)
    z = dot(q, a.axis)
    out = axpy(-z, a.axis, q)
    r = norm(out)
    if a.kind == CYLINDER:
        if abs(z) <= a.half and r <= a.radius:
            return x
        y, rho = min(a.half, max(-a.half, z)), min(a.radius, r)
    else:
        if z >= -a.half and r <= radius_at(a, z) and z <= a.half:
            return x
        y, rho = _nearest_on_cone(a, z, r)
    radial = rho / r if r > 0.0 else 0.0
    return add(a.centre, axpy(y, a.axis, scale(radial, out)))


@kernel
def _nearest_on_cone(a: Solid, z: float, r: float) -> tuple[float, float]:
    """Nearest point (along the axis, off it) of a cone's outline to (z, r) outside it."""
    # base: z = −h, 0 … R;  side: from (−h, R) to (h, 0)
    base = min(a.radius, r)
    from_base = (z + a.half) ** 2 + (r - base) ** 2
    dz, dr = 2.0 * a.half, -a.radius
    t = ((z + a.half) * dz + (r - a.radius) * dr) / (dz * dz + dr * dr)
    t = min(1.0, max(0.0, t))
    y, rho = -a.half + t * dz, a.radius + t * dr
    if from_base < (z - y) ** 2 + (r - rho) ** 2:
        return -a.half, base
    return y, rho
