"""Points to integrate over triangles."""

from __future__ import annotations

from tangere._jit import kernel

# Six points of degree 4 (Dunavant): two orbits of three, weight and barycentric coordinate.
W1, A1 = 0.22338158967801146, 0.44594849091596489
W2, A2 = 0.10995174365532187, 0.09157621350977073
POINTS = 6


@kernel
def triangle_point(k: int) -> tuple[float, float, float, float]:
    """Weight (of area 1) and barycentric coordinates of point k."""
    w, a = W1, A1
    if k >= 3:
        w, a = W2, A2
        k -= 3
    b = 1.0 - 2.0 * a
    if k == 0:
        return w, b, a, a
    if k == 1:
        return w, a, b, a
    return w, a, a, b
