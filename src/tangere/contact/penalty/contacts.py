"""Columns of the arrays that query and clustering share; no algorithms."""

from __future__ import annotations

from tangere.contact_planes import NPLANE

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

# ------------------------------------------------ what stands for a cluster of contacts
# A contact plane without friction, followed by what only the clusters need.
CLUSTER_DEPTH = NPLANE  # δ [m]
CLUSTER_BODY = NPLANE + 1  # as of a contact
CLUSTER_WEIGHT = NPLANE + 2  # share of its body's contact weight
CLUSTER_FORCE = NPLANE + 3  # s of the last update [N]
NCLUSTER = NPLANE + 4
