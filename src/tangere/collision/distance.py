"""Signed distance of two shapes, with witness points and normal: GJK when apart, EPA when not.

Each pair of hulls is settled in three steps. GJK gives the distance of separated parts. For
overlapping ones EPA gives the direction n of least overlap h(n). Then b is moved along n until a
clear gap opens and GJK runs once more: the witnesses of that well-conditioned problem, b moved
back, are points of both parts, and its direction is n without the rounding. The same step sharpens
the normal of parts that almost touch, where the difference of the witnesses has few digits left.

Curved parts are taken by their ideal surface (`collision.curved`). Apart, their closest points are
exact. Overlapping, the least overlap is sought from many directions: those of all faces, out of the
sides, that of their facets, and the best places of a grid over the sphere; from each, b moves out
as in a simulation until the normal no longer turns, and the least wins.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_i4, ptr
from tangere.collision.clip import View
from tangere.collision.curved import (
    closest_points,
    first_normal,
    move_out,
)
from tangere.collision.epa import least_overlap, overlap, penetration
from tangere.collision.gjk import OVERLAP, gjk
from tangere.collision.solids import (
    Solid,
    top,
)
from tangere.errors import SceneError
from tangere.geometry.checks import show, unit, vector
from tangere.geometry.curve import BALL, CAPSULE, CYLINDER, NC
from tangere.geometry.polyhedron import Polyhedron
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array, IntArray, Vec3, norm, scale, sub

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.geometry.shapes import Shape

    Pose = tuple[ArrayLike, ArrayLike]

# Gap opened to measure the normal, as part of the smaller extent: far above rounding, and any gap
# keeps the features that were nearest before.
GAP = 0.1
# Apart by less than this part of the smaller extent, the normal is measured over the gap.
CLOSE = 1e-3
# Depth after the last step may exceed the polytope's by this part of the extent; else enumerate.
AGREE = 1e-10
# A normal is taken as better when the overlap along it is no larger, up to this part of the extent.
NOISE = 1e-14
# The step is repeated while the normal still turns by more than rounding, and so often at most.
TURNED = 1e-14
ROUNDS = 4
# Of curved parts: directions of the grid over the sphere, starts taken from it, angle between these
# at least [rad], and moves out from each.
GRID, STARTS, APART_BY, MOVES = 600, 8, 0.25, 60


class DistanceResult(NamedTuple):
    """Signed distance of two shapes a and b, with point_b - point_a = distance * normal."""

    distance: float
    """Negative inside: the length of the shortest translation that separates [m]."""
    point_a: Array
    """Witness on a, shape (3,) [m]."""
    point_b: Array
    """Witness on b, shape (3,) [m]."""
    normal: Array
    """Unit vector from a to b, shape (3,)."""


def distance(a: Shape, pose_a: Pose, b: Shape, pose_b: Pose) -> DistanceResult:
    """Signed distance of two shapes, witness points and the normal from a to b.

    Spheres, capsules, cylinders and cones count by their ideal surface, not by their facets. Shapes
    of several convex parts: the least over all pairs of parts.

    Args:
        a: First shape.
        pose_a: Its position [m] and orientation (w, x, y, z).
        b: Second shape.
        pose_b: Its position [m] and orientation (w, x, y, z).

    Raises:
        SceneError: A pose is not finite or its quaternion has no direction.
    """
    turn_a, turn_b, origin, between = checked_poses(pose_a, pose_b)
    best, found = inf, np.zeros(9)
    parts_b = _placed_parts(b, turn_b, between)
    for p, row_p in _placed_parts(a, turn_a, np.zeros(3)):
        for q, row_q in parts_b:
            if _ball_gap(p.vertices, q.vertices) > best:
                continue
            if row_p[0] or row_q[0]:
                d, result = curved_distance(p, row_p, q, row_q)
            else:
                d, result = part_distance(p, q)
            if d < best:
                best, found = d, result
    point_a = origin + found[0:3]
    normal = found[6:9]
    return DistanceResult(best, point_a, point_a + best * normal, normal)


def part_distance(p: Polyhedron, q: Polyhedron) -> tuple[float, Array]:
    """Signed distance [m] of two convex parts in one frame; witnesses (3, 3) and normal (3)."""
    out = np.empty(9)
    settled, d = _settle(p.vertices, q.vertices, out)
    if not settled:
        d = _enumerate(p, edges(p), q, edges(q), out)
    return d, out


def curved_distance(
    p: Polyhedron, row_p: Array, q: Polyhedron, row_q: Array
) -> tuple[float, Array]:
    """As `part_distance`, of parts of which at least one is curved; rows as in `Hulls.curve`."""
    out = np.empty(9)
    size = min(float(np.ptp(part.vertices, axis=0).max()) for part in (p, q))
    settled, d = _apart(p, row_p, q, row_q, size, out)
    if settled:
        return d, out
    starts = np.concatenate(
        (
            _face_normals(p, row_p),
            -_face_normals(q, row_q),
            part_distance(p, q)[1][None, 6:9],
            _GRID,
        )
    )
    overlaps = np.empty(len(starts))
    _overlaps(p, row_p, q, row_q, starts, overlaps)
    chosen: list[Array] = []
    for k in np.argsort(overlaps):
        if all(starts[k] @ other < np.cos(APART_BY) for other in chosen):
            chosen.append(starts[k])
        if len(chosen) == STARTS:
            break
    return -_least_overlap(p, row_p, q, row_q, np.array(chosen), size, out), out


def warm_up(p: Polyhedron) -> None:
    """Compile or load all that a distance may need, for the rare case too."""
    part_distance(p, p)
    ball = np.zeros(NC)
    ball[0], ball[1], ball[5] = BALL, 1.0, 1.0
    curved_distance(p, ball, p, ball)
    _enumerate(p, edges(p), p, edges(p), np.empty(9))


def checked_poses(pose_a: Pose, pose_b: Pose) -> tuple[Array, Array, Array, Array]:
    """Rotation of a, rotation of b, position of a, and position of b seen from there.

    All work is done around a's position, so that a place far from the origin costs no digits.
    """
    position_a, turn_a = _checked_pose(pose_a, "pose_a")
    position_b, turn_b = _checked_pose(pose_b, "pose_b")
    return turn_a, turn_b, position_a, position_b - position_a


def placed(part: Polyhedron, turn: Array, shift: Array) -> Polyhedron:
    """The part turned and moved: as `Polyhedron.moved`, writable and in C order for the kernels."""
    moved = part.moved(turn, shift)
    return Polyhedron(
        np.array(moved.vertices, order="C"),
        np.array(moved.planes, order="C"),
        np.array(moved.loop_start),
        np.array(moved.loops),
    )


def edges(part: Polyhedron) -> IntArray:
    """Edges of a polyhedron, shape (m, 4): two vertices and the two faces that meet there."""
    count = np.diff(part.loop_start)
    face = np.repeat(np.arange(len(count)), count)
    tail = part.loops
    following = np.arange(1, len(tail) + 1)
    following[part.loop_start[1:] - 1] = part.loop_start[:-1]
    head = tail[following]
    size = len(part.vertices)
    there = np.argsort(tail.astype(np.int64) * size + head)
    back = np.argsort(head.astype(np.int64) * size + tail)
    rows = np.column_stack((tail[there], head[there], face[there], face[back]))
    once: IntArray = np.ascontiguousarray(rows[tail[there] < head[there]], dtype=np.int32)
    return once


def _checked_pose(pose: object, what: str) -> tuple[Array, Array]:
    if not isinstance(pose, tuple | list) or len(pose) != 2:
        raise SceneError(
            f"{what}: expected (position, orientation), got {show(pose)}; "
            "give a position [m] and a quaternion (w, x, y, z)"
        )
    position = vector(pose[0], f"{what} position")
    return position, rotation_of(unit(pose[1], f"{what} orientation", 4))


def _placed_parts(shape: Shape, turn: Array, shift: Array) -> list[tuple[Polyhedron, Array]]:
    """Parts turned and moved, each with its row of `Hulls.curve`."""
    return [
        (
            placed(part, turn, shift),
            np.zeros(NC) if curve is None else curve.moved(turn, shift).row(),
        )
        for part, curve in zip(shape.parts(), shape.curves(), strict=True)
    ]


def _face_normals(part: Polyhedron, row: Array) -> Array:
    """Outward normals of the flat faces of a part, shape (n, 3)."""
    if not row[0]:
        return part.planes[:, :3]
    axis = row[3:6]
    return np.array([axis, -axis]) if row[0] not in (BALL, CAPSULE) else np.empty((0, 3))


def _sphere_grid(count: int) -> Array:
    """Directions spread evenly over a sphere, shape (count, 3): a spiral of golden angles."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    turn, r = np.pi * (1.0 + np.sqrt(5.0)) * k, np.sqrt(1.0 - z * z)
    return np.column_stack((r * np.cos(turn), r * np.sin(turn), z))


_GRID = _sphere_grid(GRID)


def _ball_gap(u: Array, v: Array) -> float:
    """Lower bound of the distance of two vertex clouds, by balls around their means [m]."""
    cu, cv = u.mean(axis=0), v.mean(axis=0)
    ru = np.sqrt(np.max(np.sum((u - cu) ** 2, axis=1)))
    rv = np.sqrt(np.max(np.sum((v - cv) ** 2, axis=1)))
    return float(np.linalg.norm(cu - cv) - ru - rv)


@kernel
def _settle(va: Array, vb: Array, out: Array) -> tuple[bool, float]:
    """Whether GJK and EPA agree on the signed distance, and its value [m].

    Writes the witnesses and the normal to out.
    """
    a, na = ptr(va), va.shape[0]
    b, nb = ptr(vb), vb.shape[0]
    simplex = local_i4(9)
    simplex[0] = 0
    size = min(extent(a, na), extent(b, nb))
    status, d, ax, ay, az, bx, by, bz = gjk(a, na, b, nb, (0.0, 0.0, 0.0), simplex)
    if status == OVERLAP:
        done, depth, nx, ny, nz = penetration(a, na, b, nb)
        if not done:
            return False, 0.0
        d = _across(a, na, b, nb, (nx, ny, nz), depth, size, ptr(out))
        return abs(d + depth) <= AGREE * size, d
    n = scale(1.0 / d, (bx - ax, by - ay, bz - az))
    n = scale(1.0 / norm(n), n)
    if d < CLOSE * size:
        _across(a, na, b, nb, n, -d, size, ptr(out))
        return True, d
    out[0], out[1], out[2] = ax, ay, az
    out[3], out[4], out[5] = bx, by, bz
    out[6], out[7], out[8] = n
    return True, d


@kernel
def solid(part: Polyhedron, row: Array) -> Solid:
    """A part as a solid: curved by its row of `Hulls.curve`, else a hull."""
    return Solid(
        int(row[0]), row[1], row[2], (row[3], row[4], row[5]), (row[6], row[7], row[8]), view(part)
    )


@kernel
def _apart(
    p: Polyhedron, row_p: Array, q: Polyhedron, row_q: Array, size: float, out: Array
) -> tuple[bool, float]:
    """Whether closest points settle the signed distance of curved parts, and its value [m].

    Writes the witnesses and the normal to out.
    """
    a, b = solid(p, row_p), solid(q, row_q)
    simplex = local_i4(9)
    simplex[0] = 0
    guess = first_normal(a, b, 0)
    apart, d, n, x = closest_points(a, b, (0.0, 0.0, 0.0), guess, simplex)
    # of cylinders that overlap, the spines know nothing of the ways out over the ends
    if not apart or (d < 0.0 and CYLINDER in (a.kind, b.kind)):
        return False, 0.0
    if 0.0 < d < CLOSE * size:
        n, x, depth = move_out(a, b, size, n, ROUNDS, simplex)
        d = -depth
    _write(d, n, x, ptr(out))
    return True, d


@kernel
def _overlaps(
    p: Polyhedron, row_p: Array, q: Polyhedron, row_q: Array, normals: Array, out: Array
) -> None:
    """Overlap of two parts along each row of `normals` [m]."""
    a, b = solid(p, row_p), solid(q, row_q)
    for k in range(normals.shape[0]):
        n = (normals[k, 0], normals[k, 1], normals[k, 2])
        out[k] = top(a, n) + top(b, scale(-1.0, n))


@kernel
def _least_overlap(
    p: Polyhedron, row_p: Array, q: Polyhedron, row_q: Array, starts: Array, size: float, out: Array
) -> float:
    """Least overlap near the starts and one out of the sides [m]; witnesses and normal to out."""
    a, b = solid(p, row_p), solid(q, row_q)
    simplex = local_i4(9)
    least = inf
    for k in range(starts.shape[0] + 1):
        start = first_normal(a, b, 0)
        if k > 0:
            start = (starts[k - 1, 0], starts[k - 1, 1], starts[k - 1, 2])
        n, x, depth = move_out(a, b, size, start, MOVES, simplex)
        if depth < least:
            least = depth
            _write(-depth, n, x, ptr(out))
    return least


@kernel
def _write(d: float, n: Vec3, middle: Vec3, out: PtrF8) -> None:
    """Witnesses about the point midway, and the normal."""
    for k in range(3):
        out[k], out[3 + k] = middle[k] - 0.5 * d * n[k], middle[k] + 0.5 * d * n[k]
        out[6 + k] = n[k]


@kernel
def _enumerate(
    a: Polyhedron, edges_a: IntArray, b: Polyhedron, edges_b: IntArray, out: Array
) -> float:
    """Signed distance of overlapping parts by enumeration [m]; witnesses and normal to out."""
    p, q = view(a), view(b)
    depth, nx, ny, nz = least_overlap(
        p, ptr(edges_a), edges_a.shape[0], q, ptr(edges_b), edges_b.shape[0]
    )
    size = min(extent(p.verts, p.vert_count), extent(q.verts, q.vert_count))
    n = (nx, ny, nz)
    return _across(p.verts, p.vert_count, q.verts, q.vert_count, n, depth, size, ptr(out))


@kernel
def view(part: Polyhedron) -> View:
    """A polyhedron's arrays as the pointers and counts that kernels pass on."""
    vertices, planes, loop_start, loops = part
    return View(
        ptr(vertices), vertices.shape[0], ptr(planes), planes.shape[0], ptr(loop_start), ptr(loops)
    )


@kernel
def _across(
    a: PtrF8, na: int, b: PtrF8, nb: int, n: Vec3, depth: float, size: float, out: PtrF8
) -> float:
    """Signed distance along the normal that GJK finds across a gap opened along n [m].

    Writes the witnesses, b's moved back, and the normal.
    """
    simplex = local_i4(9)
    simplex[0] = 0
    for _ in range(ROUNDS):
        shift = scale(depth + GAP * size, n)
        _, d, ax, ay, az, bx, by, bz = gjk(a, na, b, nb, shift, simplex)
        out[0], out[1], out[2] = ax, ay, az
        out[3], out[4], out[5] = bx - shift[0], by - shift[1], bz - shift[2]
        if not d > 0.0:
            break
        fresh = sub((bx, by, bz), (ax, ay, az))
        fresh = scale(1.0 / norm(fresh), fresh)
        h = overlap(a, na, b, nb, fresh)
        if h > depth + NOISE * size:
            break
        turned = norm(sub(fresh, n))
        n, depth = fresh, h
        if turned <= TURNED:
            break
    out[6], out[7], out[8] = n
    return -overlap(a, na, b, nb, n)


@kernel
def extent(v: PtrF8, n: int) -> float:
    """Longest side of the bounding box [m]."""
    longest = 0.0
    for k in range(3):
        low, high = v[k], v[k]
        for i in range(1, n):
            low = min(low, v[3 * i + k])
            high = max(high, v[3 * i + k])
        longest = max(longest, high - low)
    return longest
