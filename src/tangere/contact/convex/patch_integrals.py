"""The contact patch: the contact volume projected on the contact plane, and its integrals.

Coordinates on the plane: x, y along basis(n) from a point of the plane. A polygon with outward
normal N is *front* if N·n > 0, *back* if N·n < 0; its signed half-depth is h = ±(height over the
plane). Over both sides ∫ h dS is the volume, whatever the position of the plane, and each side
covers the patch once.

For affine g, q on a triangle of area S:  ∫ g q dS = S (3/4 ḡ q̄ + 1/12 Σ gᵢ qᵢ).
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.collision.clip import View
from tangere.maths.vec import Vec3
from tangere.model import Soup

# Entries of the integrals: area, first and second moments, depth and its first moments (both sides
# summed)
S0, SX, SY, SXX, SXY, SYY, H0, HX, HY = 0, 1, 2, 3, 4, 5, 6, 7, 8
POINT, EXTRA = 9, 12  # point of the plane (3), uniform extra depth
# Of curved contacts (see contact.curved): true area, 0 for flat ones; area of the polygons over
# what presses of it; direction of t1 in basis(n) (2); whether turning about t1, about t2 tilts the
# patch; radius of rolling
TRUE, RATIO, AXIS, TILT1, TILT2, ROLL = 13, 14, 15, 17, 18, 19
# A wall steeper than this has no projected area to speak of: |N·n| below rounding of the normal.
WALL = 1e-14


@kernel
def measure(
    a: View, b: View, n: Vec3, t1: Vec3, t2: Vec3, soup: Soup, first: int, last: int, sums: PtrF8
) -> None:
    """Project polygons first…last−1 and fill `sums`; `sums[POINT]` holds a point of the plane."""
    c0, c1, c2 = sums[POINT], sums[POINT + 1], sums[POINT + 2]
    for f in range(first, last):
        owner = soup.owner[f]
        if owner < a.face_count:
            N = off(a.planes, 4 * owner)
        else:
            N = off(b.planes, 4 * (owner - a.face_count))
        nn = N[0] * n[0] + N[1] * n[1] + N[2] * n[2]
        slope = off(soup.slope, 4 * f)
        slope[3] = abs(nn)
        if abs(nn) < WALL:
            slope[0] = 0.0
            continue
        side = 1.0 if nn > 0.0 else -1.0
        slope[0] = side
        slope[1] = -(N[0] * t1[0] + N[1] * t1[1] + N[2] * t1[2]) / abs(nn)
        slope[2] = -(N[0] * t2[0] + N[1] * t2[1] + N[2] * t2[2]) / abs(nn)
        start, end = soup.start[f], soup.start[f + 1]
        for i in range(start, end):
            q = off(soup.xyz, 3 * i)
            d0, d1, d2 = q[0] - c0, q[1] - c1, q[2] - c2
            p = off(soup.plane, 3 * i)
            p[0] = d0 * t1[0] + d1 * t1[1] + d2 * t1[2]
            p[1] = d0 * t2[0] + d1 * t2[1] + d2 * t2[2]
            p[2] = side * (d0 * n[0] + d1 * n[1] + d2 * n[2])
    sum_up(soup, first, last, sums)


@kernel
def sum_up(soup: Soup, first: int, last: int, sums: PtrF8) -> None:
    """Integrals over polygons first…last−1, which lie on the contact plane."""
    s0, sx, sy, sxx, sxy, syy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    h0, hx, hy = 0.0, 0.0, 0.0
    for f in range(first, last):
        side = soup.slope[4 * f]
        if side == 0.0:
            continue
        start, end = soup.start[f], soup.start[f + 1]
        p = off(soup.plane, 3 * start)
        ax, ay, ah = p[0], p[1], p[2]
        bx, by, bh = p[3], p[4], p[5]
        for i in range(2, end - start):
            cx, cy, ch = p[3 * i], p[3 * i + 1], p[3 * i + 2]
            area = 0.5 * side * ((bx - ax) * (cy - ay) - (by - ay) * (cx - ax))
            mx, my, mh = (ax + bx + cx) / 3.0, (ay + by + cy) / 3.0, (ah + bh + ch) / 3.0
            s0 += area
            sx += area * mx
            sy += area * my
            sxx += area * (0.75 * mx * mx + (ax * ax + bx * bx + cx * cx) / 12.0)
            sxy += area * (0.75 * mx * my + (ax * ay + bx * by + cx * cy) / 12.0)
            syy += area * (0.75 * my * my + (ay * ay + by * by + cy * cy) / 12.0)
            h0 += area * mh
            hx += area * (0.75 * mh * mx + (ah * ax + bh * bx + ch * cx) / 12.0)
            hy += area * (0.75 * mh * my + (ah * ay + bh * by + ch * cy) / 12.0)
            bx, by, bh = cx, cy, ch
    sums[S0], sums[SX], sums[SY] = s0, sx, sy
    sums[SXX], sums[SXY], sums[SYY] = sxx, sxy, syy
    sums[H0], sums[HX], sums[HY] = h0, hx, hy
