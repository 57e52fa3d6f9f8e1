"""Columns of the arrays that query and clustering share; no algorithms."""

from __future__ import annotations

# ------------------------------------------------ one contact
CONTACT_POINT = 0  # 3: p on the tool, world [m]
CONTACT_ANCHOR = 3  # 3: p0 on the scene, world [m]
CONTACT_NORMAL = 6  # 3: n, out of the tool
CONTACT_DEPTH = 9  # δ = n·(p − p0) [m]
CONTACT_LOCAL = 10  # 3: r, p in the tool's frame [m]
CONTACT_ERROR = 13  # how far p and p0 may be off their surfaces [m]
CONTACT_BODY = 14  # number of the body; floors count −1, −2, …
CONTACT_AREA = 15  # that the point stands for, times the cosine of its normal and n [m²]
NCONTACT = 16

# ------------------------------------------------ where a body's frame is and how it moves
POSE_POSITION = 0  # 3: [m]
POSE_QUATERNION = 3  # 4: (w, x, y, z) to world
POSE_VELOCITY = 7  # 3: of the frame's origin [m/s]
POSE_OMEGA = 10  # 3: [rad/s], world axes
NPOSE = 13

# ------------------------------------------------ one plane: what stands for a cluster of contacts
# The point r of the tool presses with s = k (δ + d) + b n·(v + ω × Rr − u), δ = n·(x + Rr − p0)
MAX_PLANES = 16
PLANE_POINT = 0  # 3: r, tool's frame [m]
PLANE_ANCHOR = 3  # 3: p0, world [m]
PLANE_NORMAL = 6  # 3: n, out of the tool
PLANE_STIFFNESS = 9  # k, with the share and the blend of the plane [N/m]
PLANE_DAMPING = 10  # b [N s/m]
PLANE_TOLERANCE = 11  # d [m]
PLANE_VELOCITY = 12  # 3: u, of the surface touched [m/s]
PLANE_DEPTH = 15  # δ [m]
PLANE_BODY = 16  # as of a contact
PLANE_NAME = 17  # whole number > 0, the same from update to update
PLANE_WEIGHT = 18  # share of its body's contact weight
PLANE_FORCE = 19  # s of the last update [N]
NPLANE = 20
