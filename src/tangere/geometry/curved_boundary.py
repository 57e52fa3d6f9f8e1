"""Boundaries of solids of revolution: faces by the pieces of their profile, circles, apexes.

A joint of a profile is a circle, convex where the profile turns left; on the axis it is an apex, or
nothing where the surface is smooth. What bounds a face comes in the order of the ends that
`collision.boundary_elements` names: the lower one first, of a flat ring the outer one.
"""

from __future__ import annotations

from math import hypot, pi
from typing import Any, NamedTuple

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.axial_profile import ARC, LINE, NOTHING, PARABOLA, SMOOTH, Piece, pieces_of
from tangere.geometry.boundary import (
    CIRCLE,
    CONE,
    CYLINDER,
    EDGE,
    FACE,
    PARABOLOID,
    PLANE,
    POINT,
    SPHERE,
    TORUS,
    VERTEX,
    Boundary,
    Elements,
    made,
)
from tangere.geometry.curved_solid import CurvedSolid
from tangere.geometry.patches import patch_points, signed_distances
from tangere.geometry.shapes import Capsule, Compound, Cone, Cylinder, Shape, Sphere
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array, IntArray

# Points outside a solid by less than this share of all sizes are on it.
BURIED = 1e-6
# Names of faces that have none of their own: solid inside, hollow.
NAMES = {
    CYLINDER: ("side", "bore"),
    CONE: ("cone", "hollow cone"),
    SPHERE: ("ball", "hollow ball"),
    TORUS: ("torus", "hollow torus"),
    PARABOLOID: ("paraboloid", "hollow paraboloid"),
}


class _Face(NamedTuple):
    """A face of a piece; `ends`: which end of the piece is the lower end of the face, 0 or 1."""

    kind: int
    size: tuple[float, float, float, float]
    height: float
    up: bool
    side: int
    lower: int
    name: str


def of_curved(shape: Shape) -> Boundary:
    """The boundary of a sphere, cylinder, capsule, cone or curved solid."""
    return _of_profile(_merged(list(profile_of(shape))))


def of_union(shape: Compound) -> Boundary:
    """The boundary of overlapping solids of revolution, each at its pose.

    Elements that are inside another solid, or on it, are left out; those that are so in part stay
    whole, and the curves in which two faces cut each other are not among the elements.
    """
    solids = _solids_in(shape, np.eye(3), np.zeros(3))
    found = [of_curved(solid).moved(turn, position) for solid, turn, position in solids]
    near = BURIED * max(float(np.abs(b.elements.frame[:, :, 3]).max() + b.elements.size.max())
                        for b in found)  # fmt: skip
    kept: list[tuple[int, int]] = []
    for i, boundary in enumerate(found):
        for k in range(len(boundary)):
            points = patch_points(boundary.elements, k)
            inside = np.zeros(len(points), bool)
            for j, (solid, turn, position) in enumerate(solids):
                if j != i:
                    local = (points - position) @ turn
                    inside |= signed_distances(profile_of(solid), local) <= near
            if not inside.all():
                kept.append((i, k))
    kept.sort(key=lambda at: int(found[at[0]].elements.dimension[at[1]]))  # vertices first
    number = {at: n for n, at in enumerate(kept)}
    below, above = (
        [
            [number[i, int(x)] for x in getattr(found[i], side)(k) if (i, int(x)) in number]
            for i, k in kept
        ]
        for side in ("below", "above")
    )
    arrays = {
        name: np.array([getattr(found[i].elements, name)[k] for i, k in kept])
        for name in ("dimension", "kind", "frame", "size", "side", "convexity")
    }
    return made(
        _elements(arrays, below, above), tuple(_unique([found[i].names[k] for i, k in kept]))
    )


def _solids_in(shape: Shape, rotation: Array, position: Array) -> list[tuple[Shape, Array, Array]]:
    if not isinstance(shape, Compound):
        profile_of(shape)  # refused here if it is none
        return [(shape, rotation, position)]
    return [
        solid
        for part, (at, turn) in zip(shape.shapes, shape.poses, strict=True)
        for solid in _solids_in(part, rotation @ rotation_of(turn), position + rotation @ at)
    ]


def profile_of(shape: Shape) -> tuple[Piece, ...]:
    """The profile of a solid of revolution about its z axis.

    Raises:
        SceneError: It is none.
    """
    if isinstance(shape, CurvedSolid):
        return shape.pieces
    if isinstance(shape, Sphere):
        r = shape.radius
        rows = [("start", 0.0, -r), ("arc", r, 0.0, r, "ball"), ("arc", 0.0, r, r, "ball")]
    elif isinstance(shape, Cylinder):
        r, h = shape.radius, 0.5 * shape.length
        rows = [("start", 0.0, -h), ("line", r, -h), ("line", r, h), ("line", 0.0, h)]
    elif isinstance(shape, Capsule):
        r, h = shape.radius, 0.5 * shape.length
        rows = [("start", 0.0, -h - r), ("arc", r, -h, r, "cap -z")]
        rows += [("line", r, h), ("arc", 0.0, h + r, r, "cap +z")]
    elif isinstance(shape, Cone):
        low = -0.25 * shape.height
        rows = [("start", 0.0, low), ("line", shape.radius, low, "base")]
        rows += [("line", 0.0, low + shape.height)]
    else:
        raise SceneError(f"boundary: {type(shape).__name__} is no solid of revolution")
    return pieces_of(rows, type(shape).__name__)


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Arcs that go on along one circle as one."""
    merged: list[Piece] = []
    for piece in pieces:
        if merged and _goes_on(merged[-1], piece):
            last = merged[-1]
            span = last.last - last.first + piece.last - piece.first
            merged[-1] = last._replace(end=piece.end, last=last.first + span)
        else:
            merged.append(piece)
    if len(merged) > 1 and merged[0].start == merged[-1].end and _goes_on(merged[-1], merged[0]):
        first, last = merged[0], merged.pop()
        span = first.last - first.first + last.last - last.first
        merged[0] = first._replace(start=last.start, first=last.first, last=last.first + span)
    return merged


def _goes_on(a: Piece, b: Piece) -> bool:
    if a.kind != ARC or b.kind != ARC or a.turns_left != b.turns_left:
        return False
    apart = hypot(a.centre[0] - b.centre[0], a.centre[1] - b.centre[1])
    return max(apart, abs(a.radius - b.radius)) <= NOTHING * a.radius


def _of_profile(pieces: list[Piece]) -> Boundary:
    faces = [_face(piece) for piece in pieces]
    names = _unique([face.name for face in faces])
    closed = pieces[0].start == pieces[-1].end
    whole = closed and len(pieces) == 1  # a torus has no joint
    joints = [(i, i + 1) for i in range(len(pieces) - 1)]
    joints += [(len(pieces) - 1, 0)] if closed and not whole else []
    apexes = [] if closed else _apexes(pieces)
    vertex_names = _unique(["apex"] * len(apexes))
    edge_names = _unique([f"edge {names[i]} {names[j]}" for i, j in joints])
    first_edge, first_face = len(apexes), len(apexes) + len(joints)
    # what is at the start and at the end of every piece
    ends: list[list[int]] = [[-1, -1] for _ in pieces]
    for k, (i, j) in enumerate(joints):
        ends[i][1] = ends[j][0] = first_edge + k
    for k, (i, end, _, _) in enumerate(apexes):
        ends[i][end] = k
    below: list[list[int]] = [[] for _ in range(first_face)]
    for face, at in zip(faces, ends, strict=True):
        below.append([x for x in (at[face.lower], at[1 - face.lower]) if x >= 0])
    count = len(below)
    above: list[list[int]] = [[] for _ in range(count)]
    for i, bounding in enumerate(below):
        for j in bounding:
            above[j].append(i)
    frame = np.tile(np.eye(3, 4), (count, 1, 1))
    size, convexity = np.zeros((count, 4)), np.zeros(count, np.int8)
    kind, side = np.zeros(count, np.int8), np.ones(count, np.int8)
    for k, (_, _, z, bend) in enumerate(apexes):
        kind[k], frame[k, 2, 3], convexity[k] = POINT, z, bend
    for k, (i, j) in enumerate(joints, first_edge):
        kind[k], size[k, 0], frame[k, 2, 3] = CIRCLE, pieces[i].end[0], pieces[i].end[1]
        convexity[k] = _bend(pieces[i].angle(1.0), pieces[j].angle(0.0))
    for k, face in enumerate(faces, first_face):
        kind[k], side[k], size[k] = face.kind, face.side, face.size
        frame[k, :, :3] = np.eye(3) if face.up else np.diag([1.0, -1.0, -1.0])
        frame[k, 2, 3] = face.height
    dimension = np.repeat([VERTEX, EDGE, FACE], (len(apexes), len(joints), len(faces)))
    arrays = {"dimension": dimension.astype(np.int8), "kind": kind, "frame": frame, "size": size,
              "side": side, "convexity": convexity}  # fmt: skip
    return made(_elements(arrays, below, above), (*vertex_names, *edge_names, *names))


def _elements(arrays: dict[str, Any], below: list[list[int]], above: list[list[int]]) -> Elements:
    """Elements without loops."""
    below_start, below_flat = _packed(below)
    above_start, above_flat = _packed(above)
    return Elements(
        **arrays,
        below_start=below_start,
        below=below_flat,
        above_start=above_start,
        above=above_flat,
        face_loops=np.zeros(len(below) + 1, np.int32),
        loop_start=np.zeros(1, np.int32),
        loop_points=np.zeros((0, 2)),
    )


def _apexes(pieces: list[Piece]) -> list[tuple[int, int, float, int]]:
    """Where a profile meets the axis at an angle: piece, which end of it, z, convexity."""
    last = len(pieces) - 1
    found = [
        (0, 0, pieces[0].start[1], _bend(0.0, pieces[0].angle(0.0))),
        (last, 1, pieces[last].end[1], _bend(pieces[last].angle(1.0), pi)),
    ]
    return [apex for apex in found if apex[3] != 0]


def _bend(before: float, after: float) -> int:
    """+1 where a way turns left, −1 where it turns right, 0 where it goes on."""
    turn = (after - before + pi) % (2.0 * pi) - pi
    return 0 if abs(turn) <= SMOOTH else 1 if turn > 0.0 else -1


def _face(piece: Piece) -> _Face:
    (r0, z0), (r1, z1) = piece.start, piece.end
    side = 1 if piece.turns_left else -1
    if piece.kind == LINE and abs(z1 - z0) <= NOTHING * max(r0, r1):
        up = r1 < r0  # the solid is on the left
        name = piece.name or ("end +z" if up else "end -z")
        return _Face(PLANE, (max(r0, r1), min(r0, r1), 1.0, 0.0), z0, up, 1, int(r1 > r0), name)
    if piece.kind == LINE and abs(r1 - r0) <= NOTHING * max(r0, abs(z1 - z0)):
        size = (r0, 0.5 * abs(z1 - z0), 0.0, 0.0)
        return _named(piece, CYLINDER, size, 0.5 * (z0 + z1), True, side, int(z1 < z0))
    if piece.kind == LINE:
        slope = (r1 - r0) / (z1 - z0)
        lower = int(r1 < r0)
        reach = sorted((r0 / abs(slope), r1 / abs(slope)))
        size = (abs(slope), reach[0], reach[1], 0.0)
        return _named(piece, CONE, size, z0 - r0 / slope, slope > 0.0, side, lower)
    if piece.kind == PARABOLA:
        k = piece.bend
        size = (0.25 / abs(k), min(r0, r1), max(r0, r1), 0.0)
        return _named(piece, PARABOLOID, size, z0 - k * r0 * r0, k > 0.0, side, int(r1 < r0))
    lower = int(piece.last < piece.first)
    if piece.centre[0] == 0.0:
        zone = [z - piece.centre[1] for z in (z0, z1)]
        zone = [
            np.copysign(piece.radius, z) if r == 0.0 else z
            for r, z in zip((r0, r1), zone, strict=True)
        ]
        size = (piece.radius, min(zone), max(zone), 0.0)
        return _named(piece, SPHERE, size, piece.centre[1], True, side, lower)
    first, last = sorted((piece.first, piece.last))
    if last - first >= 2.0 * pi - SMOOTH:
        first = last = 0.0
    size = (piece.centre[0], piece.radius, first, last)
    return _named(piece, TORUS, size, piece.centre[1], True, side, lower)


def _named(
    piece: Piece,
    kind: int,
    size: tuple[float, float, float, float],
    height: float,
    up: bool,
    side: int,
    lower: int,
) -> _Face:
    name = piece.name or NAMES[kind][0 if side > 0 else 1]
    return _Face(kind, size, height, up, side, lower, name)


def _unique(names: list[str]) -> list[str]:
    """The names, those that occur more than once numbered."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if names.count(name) == 1 else f"{name} {seen[name]}")
    return unique


def _packed(lists: list[list[int]]) -> tuple[IntArray, IntArray]:
    """Lists one behind the other, and where each begins."""
    start = np.cumsum([0, *(len(x) for x in lists)]).astype(np.int32)
    return start, np.array([x for each in lists for x in each], np.int32)
