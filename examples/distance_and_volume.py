"""Distance of two boxes while apart, and the volume they share when they overlap."""

from math import cos, pi, sin, sqrt

import tangere as tg

box = tg.Box((1, 1, 1))
flat = (1, 0, 0, 0)
on_edge = (cos(pi / 8), 0, sin(pi / 8), 0)  # turned by 45 degrees about y: an edge points down

for height in (1.5, 1.3, 1.1, 1.0):
    poses = (box, ((0, 0, 0), flat), box, ((0, 0, height), on_edge))
    distance, point_a, point_b, normal = tg.distance(*poses)
    shared = tg.contact_volume(*poses)
    print(
        f"height {height:.1f} m: distance {distance:+.3f} m along {normal.round(3) + 0.0}, "
        f"shared volume {shared.volume:.4f} m³ over {shared.area:.4f} m²"
    )

depth = 0.5 + sqrt(0.5) - height  # an edge sunk by d shares a prism of d² times its length
assert abs(distance + depth) < 1e-12
assert abs(shared.volume - depth**2) < 1e-12
assert abs(shared.area - 2 * depth) < 1e-12
