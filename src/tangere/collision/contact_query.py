"""What every contact query gives and takes: columns of a contact, of a pose, and `Placed`.

Three engines answer the same question, which points of one body are close to another one:
`field_query` (points in distance fields), `exact_query` (trees of triangles) and `levels` (convex
pieces at several resolutions). A contact is (p, p0, n, δ): p on the first body, p0 on the second, n
out of the first, δ = n·(p − p0), negative while apart.
"""

from __future__ import annotations

from typing import NamedTuple

from tangere.maths.vec import Array, LongArray

# ------------------------------------------------ one contact
CONTACT_POINT = 0  # 3: p on the tool, world [m]
CONTACT_ANCHOR = 3  # 3: p0 on the scene, world [m]
CONTACT_NORMAL = 6  # 3: n, out of the tool
CONTACT_DEPTH = 9  # δ = n·(p − p0) [m]
CONTACT_LOCAL = 10  # 3: r, p in the tool's frame [m]
CONTACT_ERROR = 13  # how far p and p0 may be off their surfaces [m]
CONTACT_BODY = 14  # number of the body; floors count −1, −2, …
CONTACT_AREA = 15  # that the point stands for, times the cosine of its normal and n [m²]
CONTACT_NAME = 16  # number of the point, the same in every query: ≥ 0 of the first body, −1 − i of
NCONTACT = 17  # the second

# ------------------------------------------------ where a body's frame is and how it moves
POSE_POSITION = 0  # 3: [m]
POSE_QUATERNION = 3  # 4: (w, x, y, z) to world
POSE_VELOCITY = 7  # 3: of the frame's origin [m/s]
POSE_OMEGA = 10  # 3: [rad/s], world axes
NPOSE = 13

# ------------------------------------------------ what a query says of itself
COUNT, TRUNCATED, VISITED, STAMP = 0, 1, 2, 3
NTALLY = 4


class Placed(NamedTuple):
    """Where everything is. Row 0 is the tool, rows 1 … are the bodies.

    | field    | meaning                                                      | shape        |
    | solid_of | number of the shape                                          | (1 + b,)     |
    | frames   | shape frame in the body's frame: position, quaternion        | (1 + b, 7)   |
    | poses    | POSE_… of the body's frame in the world                      | (1 + b, 13)  |
    | turns    | shape frame to world: rotation row by row, position; last:   | (2 + b, 12)  |
    |          | the world itself, for floors                                 |              |
    | floors   | unit normal and height of each floor                         | (f, 4)       |
    | laws     | stiffness and damping of bodies, then floors                 | (b + f, 2)   |
    | memory   | TURN_… of every point of every pair                          | (…, NTURN)   |
    | memories | first row of the tool's and the body's points                | (b, 2) int64 |
    """

    solid_of: LongArray
    frames: Array
    poses: Array
    turns: Array
    floors: Array
    laws: Array
    memory: Array
    memories: LongArray
