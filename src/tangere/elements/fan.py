"""Polygons of a patch as fans of triangles: rows x, y, depth of the apex, then of the corners."""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.maths.quadrature import square_point, triangle_point

MOMENTS = 9  # of `add_moments`


@kernel
def fan_area(o: PtrF8, a: PtrF8, b: PtrF8) -> float:
    """Area of a triangle of a fan: apex o, corners a and b (x, y, depth each) [m²]."""
    return float(0.5 * ((a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])))


@kernel
def fan_point(j: int, o: PtrF8, a: PtrF8, b: PtrF8) -> tuple[float, float, float, float]:
    """Weight (of area 1), x, y and depth of point j of a triangle of a fan."""
    return _mixed(triangle_point(j), o, a, b)


@kernel
def friction_point(
    j: int, square: bool, o: PtrF8, a: PtrF8, b: PtrF8
) -> tuple[float, float, float, float]:
    """As `fan_point`, to integrate friction: half as many points have a weight in a square."""
    return _mixed(square_point(j, square), o, a, b)


@kernel
def _mixed(
    point: tuple[float, float, float, float], o: PtrF8, a: PtrF8, b: PtrF8
) -> tuple[float, float, float, float]:
    """Weight, x, y and depth at barycentric coordinates."""
    w, l0, l1, l2 = point
    return (
        w,
        l0 * o[0] + l1 * a[0] + l2 * b[0],
        l0 * o[1] + l1 * a[1] + l2 * b[1],
        l0 * o[2] + l1 * a[2] + l2 * b[2],
    )


@kernel
def add_moments(at: PtrF8, corners: int, m: PtrF8) -> None:
    """Add integrals over a fan: area, x, y, depth d, x², x y, y², x d, y d.

    For affine g, q on a triangle of area S,  ∫ g q = S (3/4 ḡ q̄ + 1/12 Σ gᵢ qᵢ).
    """
    ox, oy, od = at[0], at[1], at[2]
    a = off(at, 3 * corners)
    for i in range(1, corners + 1):
        b = off(at, 3 * i)
        area = fan_area(at, a, b)
        mx, my, md = (ox + a[0] + b[0]) / 3.0, (oy + a[1] + b[1]) / 3.0, (od + a[2] + b[2]) / 3.0
        m[0] += area
        m[1] += area * mx
        m[2] += area * my
        m[3] += area * md
        m[4] += area * (0.75 * mx * mx + (ox * ox + a[0] * a[0] + b[0] * b[0]) / 12.0)
        m[5] += area * (0.75 * mx * my + (ox * oy + a[0] * a[1] + b[0] * b[1]) / 12.0)
        m[6] += area * (0.75 * my * my + (oy * oy + a[1] * a[1] + b[1] * b[1]) / 12.0)
        m[7] += area * (0.75 * mx * md + (ox * od + a[0] * a[2] + b[0] * b[2]) / 12.0)
        m[8] += area * (0.75 * my * md + (oy * od + a[1] * a[2] + b[1] * b[2]) / 12.0)
        a = b
