"""What every contact query gives and takes: columns of a contact, of a pose, and `Placed`.

Three engines answer the same question, which points of one body are close to another one:
`field_query` (points in distance fields), `exact_query` (trees of triangles) and `levels` (convex
pieces at several resolutions). A contact is (p, p0, n, δ): p on the first body, p0 on the second, n
out of the first, δ = n·(p − p0), negative while apart.
"""

from __future__ import annotations

from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, off, ptr
from tangere.maths.quat import matrix_into, product, turn, turn_back
from tangere.maths.vec import Array, LongArray, Vec3, add, sub

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


@kernel
def place(placed: Placed) -> None:
    """Rotation and position of every shape frame in the world from the poses of the bodies."""
    poses, frames, turns = ptr(placed.poses), ptr(placed.frames), ptr(placed.turns)
    for i in range(placed.poses.shape[0]):
        pose, frame, out = off(poses, NPOSE * i), off(frames, 7 * i), off(turns, 12 * i)
        q = (pose[3], pose[4], pose[5], pose[6])
        matrix_into(q, out)
        shift = turn(out, (frame[0], frame[1], frame[2]))
        matrix_into(product(q, (frame[3], frame[4], frame[5], frame[6])), out)
        for k in range(3):
            out[9 + k] = pose[k] + shift[k]


@kernel
def begin(tally: LongArray) -> PtrI8:
    """A new query: nothing found, nothing looked at yet."""
    state = ptr(tally)
    state[COUNT], state[TRUNCATED], state[VISITED] = 0, 0, 0
    state[STAMP] += 1
    return state


@kernel
def carry(here: PtrF8, there: PtrF8, x: Vec3) -> Vec3:
    """A point of one shape frame in another."""
    world = add(turn(here, x), (here[9], here[10], here[11]))
    return turn_back(there, sub(world, (there[9], there[10], there[11])))


@kernel
def write_contact(
    out: tuple[PtrF8, int, PtrI8],
    frame: tuple[Vec3, PtrF8],
    p: Vec3,
    n: Vec3,
    depth: float,
    quality: tuple[float, float, int, int],
) -> None:
    """One contact more, if there is room: p on the first body, n out of it, p0 = p − δ n.

    out: rows, how many there may be, what the query says of itself. frame: of the first body,
    position and rotation to the world. quality: error, area, number of the second body, name.
    """
    rows, room, state = out
    count = state[COUNT]
    if count >= room:
        state[TRUNCATED] = 1
        return
    row = off(rows, NCONTACT * count)
    local = turn_back(frame[1], sub(p, frame[0]))
    for k in range(3):
        row[CONTACT_POINT + k] = p[k]
        row[CONTACT_ANCHOR + k] = p[k] - depth * n[k]
        row[CONTACT_NORMAL + k] = n[k]
        row[CONTACT_LOCAL + k] = local[k]
    row[CONTACT_DEPTH] = depth
    row[CONTACT_ERROR] = quality[0]
    row[CONTACT_AREA] = quality[1]
    row[CONTACT_BODY], row[CONTACT_NAME] = quality[2], quality[3]
    state[COUNT] = count + 1
