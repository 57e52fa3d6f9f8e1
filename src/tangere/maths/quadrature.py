"""Points to integrate over triangles."""

from __future__ import annotations

from tangere._jit import kernel

# Six points of degree 4 (Dunavant): two orbits of three, weight and barycentric coordinate.
W1, A1 = 0.22338158967801146, 0.44594849091596489
W2, A2 = 0.10995174365532187, 0.09157621350977073
POINTS = 6
# One orbit alone, for a square of four triangles about its middle: so placed that ∫ r over the
# square, the torque of its spin, is exact.
W3, A3 = 1.0 / 3.0, 0.1600934468129801


@kernel
def triangle_point(k: int) -> tuple[float, float, float, float]:
    """Weight (of area 1) and barycentric coordinates of point k."""
    return _orbit_point(k, W1, A1, W2)


@kernel
def square_point(k: int, square: bool) -> tuple[float, float, float, float]:
    """As `triangle_point`, of a quarter of a square; the last three points then weigh nothing."""
    return _orbit_point(k, W3 if square else W1, A3 if square else A1, 0.0 if square else W2)


@kernel
def _orbit_point(k: int, w: float, a: float, w2: float) -> tuple[float, float, float, float]:
    """Point k of two orbits: weight and coordinate of the first, weight of the second."""
    if k >= 3:
        w, a = w2, A2
        k -= 3
    b = 1.0 - 2.0 * a
    if k == 0:
        return w, b, a, a
    if k == 1:
        return w, a, b, a
    return w, a, a, b
