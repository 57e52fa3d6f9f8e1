"""Columns of a contact plane between a tool and a scene; no algorithms.

The point r of the tool presses with s = k (δ + d) + b n·(v + ω × Rr − u),
δ = n·(x + Rr − p0 − u (t − t_k)), while s > 0 and δ + d > 0. Its friction continues from `hold`,
hold − k_t (x + Rr − p_k − u (t − t_k)) across n, and is at most μ s.
"""

from __future__ import annotations

MAX_PLANES = 16  # of one tool
PLANE_POINT = 0  # 3: r, tool's frame [m]
PLANE_ANCHOR = 3  # 3: p0 at the time t_k of the plane, world [m]
PLANE_NORMAL = 6  # 3: n, out of the tool
PLANE_STIFFNESS = 9  # k, with the share and the blend of the plane [N/m]
PLANE_DAMPING = 10  # b [N s/m]
PLANE_TOLERANCE = 11  # d [m]
PLANE_VELOCITY = 12  # 3: u, of the surface touched [m/s]
PLANE_FRICTION = 15  # μ; 0: none
PLANE_SHEAR = 16  # k_t, stiffness of the friction spring [N/m]
PLANE_NAME = 17  # the same number > 0 as long as the contact lasts; 0: friction as in `hold`
PLANE_HOLD = 18  # 3: friction on the tool at t_k and its state then [N]
NPLANE = 21
