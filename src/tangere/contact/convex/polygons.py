"""Polygons of a curved patch: domes, strips, half discs, and what belongs to them."""

from __future__ import annotations

from math import asinh, cos, pi, sin, sqrt
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.maths.vec import Vec3, basis

# Side of a dome's square over a: uniform pressure on a square of side 1 has the torque
# (√2 + asinh 1)/6 of a spin, a parabolic one on a disc of radius a 8/15 a.
SQUARE = 8.0 / 15.0 * 6.0 / (sqrt(2.0) + asinh(1.0))
ARC = 4  # sides of the half disc at the end of a capsule's strip
# A strip of which hardly anything overlaps yet counts as wet by this share: pressure is spread over
# what is wet, and would have no bound where the rest lands.
LEAST_WET = 0.05
MAX_POLYGONS = 8
# An end of 17 corners clipped by a face of a hull (at most 256 corners), and the strip.
MAX_CORNERS = 320
# Entries of Layout.data
L_T1, L_T2 = 0, 3  # 3 each: axes in the plane, t1 × t2 = n
L_COUNT, L_CORNERS = 6, 7  # polygons, and their corners together
L_AREA = 8  # true area of the patch [m²]
L_RATIO = 9  # area of the polygons over m₁ times the true area
L_TILT1, L_TILT2 = 10, 11  # 0: turning about t1, t2 rolls, and leaves all depths as they are
L_RHO_A, L_RHO_B = 12, 13  # radius of curvature of a, of b, where it rolls; else 0 [m]
L_CURVED = 14  # 1: the patch goes with the centres of curvature, 0: with the bodies
L_SPINS = 15  # whose spin turns the axes of tilt: 1 a, 2 b, 0 none
L_LIES = 29  # 1: it lies on its side, which turns with its axis
L_SLOPE = 16  # MAX_POLYGONS: change of depth along x of each polygon
L_ROLL = 24  # radius of rolling [m]
L_SHARE = 25  # 4: share of a's motion in that of the patch, a matrix over (t1, t2)
NLAYOUT = 30


class Layout(NamedTuple):
    """Polygons of a patch, counter-clockwise in (x, y) along (t1, t2) from a given point."""

    corners: PtrI4  # of each polygon
    points: PtrF8  # x, y, depth of each corner [m]
    data: PtrF8  # see L_…


@kernel
def clear(n: Vec3, out: Layout) -> None:
    """An empty patch."""
    d = out.data
    d[L_COUNT], d[L_CORNERS], d[L_AREA], d[L_RATIO] = 0.0, 0.0, 0.0, 1.0
    d[L_TILT1], d[L_TILT2], d[L_RHO_A], d[L_RHO_B] = 0.0, 0.0, 0.0, 0.0
    d[L_CURVED], d[L_SPINS], d[L_ROLL], d[L_LIES] = 0.0, 0.0, 0.0, 0.0
    for k in range(4):
        d[L_SHARE + k] = 0.0
    for k in range(MAX_POLYGONS):
        d[L_SLOPE + k] = 0.0
    t1, t2 = basis(n)
    set_axes(out, t1, t2)


@kernel
def set_axes(out: Layout, t1: Vec3, t2: Vec3) -> None:
    """Let the polygons lie along these axes."""
    for k in range(3):
        out.data[L_T1 + k], out.data[L_T2 + k] = t1[k], t2[k]


@kernel
def begin(out: Layout, corners: int, slope: float) -> PtrF8:
    """Room for one more polygon."""
    d = out.data
    k = int(d[L_COUNT])
    out.corners[k] = corners
    d[L_SLOPE + k] = slope
    at = off(out.points, 3 * int(d[L_CORNERS]))
    d[L_COUNT] += 1.0
    d[L_CORNERS] += corners
    return at


@kernel
def put(at: PtrF8, k: int, x: float, y: float, depth: float) -> None:
    """Set corner k of a polygon."""
    at[3 * k], at[3 * k + 1], at[3 * k + 2] = x, y, depth


@kernel
def dome(x: float, y: float, depth: float, k1: float, k2: float, out: Layout) -> None:
    """Ellipse of principal curvatures k1 along t1 and k2 along t2."""
    a1, a2 = sqrt(2.0 * depth / k1), sqrt(2.0 * depth / k2)
    # what a ball of this curvature lacks: S = 2 π R δ (1 − δ/2R)
    less = max(0.5, 1.0 - 0.5 * depth * sqrt(k1 * k2))
    out.data[L_AREA] += pi * a1 * a2 * less
    out.data[L_RATIO] = SQUARE * SQUARE / (0.5 * pi)
    half = 0.5 * SQUARE * sqrt(less)
    _rectangle(x, y, half * a1, half * a2, depth, out)


@kernel
def tip(x: float, y: float, depth: float, slope: float, out: Layout) -> None:
    """Circle of a cone that stands on its apex: a third of the depth on average."""
    radius = slope * depth
    out.data[L_AREA] += pi * radius * radius
    out.data[L_RATIO] = 3.0
    half = 0.5 * sqrt(pi) * radius
    _rectangle(x, y, half, half, depth, out)


@kernel
def _rectangle(x: float, y: float, w: float, h: float, depth: float, out: Layout) -> None:
    """A polygon of one depth about (x, y), 2 w by 2 h."""
    at = begin(out, 4, 0.0)
    put(at, 0, x - w, y - h, depth)
    put(at, 1, x + w, y - h, depth)
    put(at, 2, x + w, y + h, depth)
    put(at, 3, x - w, y + h, depth)


@kernel
def trapezoid(
    x0: float,
    x1: float,
    y: float,
    w0: float,
    w1: float,
    d0: float,
    d1: float,
    slope: float,
    out: Layout,
) -> None:
    """One polygon of a strip with true half-widths w0 at x0 and w1 at x1."""
    whole = (w0 + w1) * (x1 - x0)
    wet = whole
    if d0 < 0.0 or d1 < 0.0:  # the part that overlaps
        low, high = immersed(d0, d1 - d0, 0.0, 1.0)
        mean = w0 + (w1 - w0) * 0.5 * (low + high)
        wet = max(LEAST_WET * whole, 2.0 * mean * (high - low) * (x1 - x0))
    out.data[L_AREA] += wet
    w0, w1 = 2.0 / 3.0 * w0, 2.0 / 3.0 * w1
    at = begin(out, 4, slope)
    put(at, 0, x0, y - w0, d0)
    put(at, 1, x1, y - w1, d1)
    put(at, 2, x1, y + w1, d1)
    put(at, 3, x0, y + w0, d0)


@kernel
def immersed(d0: float, d1: float, first: float, last: float) -> tuple[float, float]:
    """Part of first…last where d0 + d1 σ is positive; reversed if there is none."""
    if d1 > 0.0:
        return max(first, -d0 / d1), last
    if d1 < 0.0:
        return first, min(last, -d0 / d1)
    return (first, last) if d0 > 0.0 else (1.0, 0.0)


@kernel
def half_disc(x: float, y: float, radius: float, turned: float, depth: float, out: Layout) -> None:
    """Half a dome, its straight side towards the strip; m₁ = 1/2 by half the area."""
    out.data[L_AREA] += 0.5 * pi * radius * radius
    step = pi / ARC
    wide = radius * sqrt(0.5 * step / sin(step))
    at = begin(out, ARC + 1, 0.0)
    for k in range(ARC + 1):
        angle = turned - 0.5 * pi + step * k
        put(at, k, x + wide * cos(angle), y + wide * sin(angle), depth)
