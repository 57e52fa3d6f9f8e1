"""What a profile makes when it is turned about z: a surface of triangles, and convex pieces.

A solid whose outline is single-valued, r(z), and nowhere hollow is a stack of convex slices: each
cylinder, cone with its apex and ball within it is an exact curved solid, the rest are hulls of
rings. Any other is cut into sectors, and its profile into convex polygons: each piece is a hull.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.axial_profile import ARC, LINE, NOTHING, Piece, straightened
from tangere.geometry.curve import Curve
from tangere.geometry.polyhedron import MAX_FACES, Polyhedron, convex_polyhedron
from tangere.geometry.shapes import Cone, Cylinder, Sphere
from tangere.maths.vec import Array, IntArray

UPRIGHT = np.eye(3)
FLIPPED = np.diag([1.0, -1.0, -1.0])


class Part(NamedTuple):
    """A convex piece and the curved solid that it stands for, if any."""

    hull: Polyhedron
    curve: Curve | None


def turned_surface(pieces: Sequence[Piece], facets: int) -> tuple[Array, IntArray]:
    """A closed surface of outward triangles through points of the ideal one.

    Args:
        pieces: Of the profile, counter-clockwise.
        facets: Points around the axis; curved pieces of the profile are cut as finely.
    """
    way = straightened(pieces, 2.0 * pi / facets)
    angle = 2.0 * pi * np.arange(facets) / facets
    circle = np.column_stack((np.cos(angle), np.sin(angle)))
    rings = [_ring(circle, r, z) for r, z in way]
    first = np.cumsum([0, *(len(ring) for ring in rings)])
    j = np.arange(facets)
    k = (j + 1) % facets
    triangles = []
    bands = len(way) if pieces[-1].end == pieces[0].start else len(way) - 1
    for i in range(bands):
        after = (i + 1) % len(way)
        a, b = first[i], first[after]
        if way[i, 0] > 0.0:
            apex = way[after, 0] == 0.0
            triangles.append(np.column_stack((a + j, a + k, np.full(facets, b) if apex else b + k)))
        if way[after, 0] > 0.0:
            pole = way[i, 0] == 0.0
            triangles.append(np.column_stack((np.full(facets, a) if pole else a + j, b + k, b + j)))
    return np.concatenate(rings), np.concatenate(triangles).astype(np.int32)


def convex_parts(pieces: Sequence[Piece], facets: int, what: str) -> tuple[Part, ...]:
    """Convex pieces that make up the solid, exact ones as far as possible.

    Raises:
        SceneError: A piece is too thin to be a solid.
    """
    if _is_stack(pieces):
        return _stacked(pieces, facets, what)
    return tuple(Part(hull, None) for hull in _sectors(pieces, facets, what))


def _is_stack(pieces: Sequence[Piece]) -> bool:
    """Whether the outline only rises, from the axis to the axis, and no piece is hollow."""
    if pieces[0].start[0] > 0.0 or pieces[-1].end[0] > 0.0:
        return False
    size = max(max(p.end[0], abs(p.end[1] - pieces[0].start[1])) for p in pieces)
    share = np.linspace(0.0, 1.0, 17)
    for piece in pieces:
        rises = bool((np.diff(piece.at(share)[:, 1]) >= -NOTHING * size).all())
        if not rises or (piece.kind != LINE and not piece.turns_left):
            return False
    return True


def _stacked(pieces: Sequence[Piece], facets: int, what: str) -> tuple[Part, ...]:
    parts = []
    outline = straightened(pieces, 0.02)
    for piece in pieces:
        (r0, z0), (r1, z1) = piece.start, piece.end
        middle, height = np.array([0.0, 0.0, 0.5 * (z0 + z1)]), z1 - z0
        if height <= NOTHING * max(r0, r1):
            continue  # a flat face, or a step
        if piece.kind == LINE and abs(r1 - r0) <= NOTHING * r0:
            parts.append(_placed(Cylinder(r0, height, facets=facets), UPRIGHT, middle))
        elif piece.kind == LINE and min(r0, r1) == 0.0:
            cone = Cone(max(r0, r1), height, facets=facets)
            turn = UPRIGHT if r1 == 0.0 else FLIPPED  # the cone's origin is a quarter up
            parts.append(_placed(cone, turn, middle - turn @ (0.0, 0.0, 0.25 * height)))
        elif piece.kind == ARC and piece.centre[0] == 0.0 and _holds_ball(piece, outline):
            ball = Sphere(piece.radius)
            parts.append(_placed(ball, UPRIGHT, np.array([0.0, 0.0, piece.centre[1]])))
        else:
            parts.append(Part(_slice(piece, facets, what), None))
    return tuple(parts)


def _holds_ball(piece: Piece, outline: Array) -> bool:
    """Whether the whole ball of an arc about the axis is inside the solid."""
    a, b = outline[:-1] - piece.centre, outline[1:] - piece.centre
    way = b - a
    share = np.clip(-np.sum(a * way, axis=1) / np.sum(way * way, axis=1), 0.0, 1.0)
    nearest = np.hypot(*(a + share[:, None] * way).T)
    # chords of the arc itself are a little inside it: no more than 0.02²/8 of the radius
    return bool(nearest.min() >= piece.radius * (1.0 - 6e-5))


def _placed(shape: Cylinder | Cone | Sphere, turn: Array, position: Array) -> Part:
    (hull,), (curve,) = shape.parts(), shape.curves()
    assert curve is not None
    return Part(hull.moved(turn, position), curve.moved(turn, position))


def _slice(piece: Piece, facets: int, what: str) -> Polyhedron:
    """The hull of rings along a piece that turns left."""
    bands = piece.count(2.0 * pi / facets)
    around = min(facets, (MAX_FACES - 2) // bands)
    while around < 12:
        bands //= 2
        around = min(facets, (MAX_FACES - 2) // bands)
    rings = piece.at(np.linspace(0.0, 1.0, bands + 1))
    angle = 2.0 * pi * np.arange(around) / around
    circle = np.column_stack((np.cos(angle), np.sin(angle)))
    return convex_polyhedron(np.concatenate([_ring(circle, r, z) for r, z in rings]), what)


def _ring(circle: Array, r: float, z: float) -> Array:
    """Points of a unit circle brought to a radius and height; on the axis one alone."""
    if r > 0.0:
        return np.column_stack((r * circle, np.full(len(circle), z)))
    return np.array([[0.0, 0.0, z]])


# ---------------------------------------------------------------- sectors


def _sectors(pieces: Sequence[Piece], facets: int, what: str) -> list[Polyhedron]:
    """Hulls of convex polygons of the profile between neighbouring meridians.

    Radii are stretched so that the polygon around the axis has the area of the circle.
    """
    step = 2.0 * pi / facets
    outline = straightened(pieces, step)
    outline[:, 0] *= sqrt(step / sin(step))
    hulls = []
    for polygon in convex_polygons(outline):
        first = np.column_stack((polygon[:, 0], np.zeros(len(polygon)), polygon[:, 1]))
        second = first.copy()
        second[:, 0], second[:, 1] = polygon[:, 0] * np.cos(step), polygon[:, 0] * np.sin(step)
        wedge = convex_polyhedron(np.concatenate((first, second)), what)
        for k in range(facets):
            c, s = np.cos(k * step), np.sin(k * step)
            turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            hulls.append(wedge.moved(turn, np.zeros(3)))
    return hulls


def convex_polygons(outline: Array) -> list[Array]:
    """A simple polygon, counter-clockwise, as few convex ones (Hertel and Mehlhorn 1983).

    Triangles by cutting off ears; then every diagonal goes that no corner needs.
    """
    polygons = [list(t) for t in _ears(outline)]
    size = float(np.ptp(outline, axis=0).max())
    slack = NOTHING * size * size
    merged = True
    while merged:
        merged = False
        owner = {(a, b): i for i, p in enumerate(polygons) for a, b in _sides(p)}
        for (a, b), i in owner.items():
            j = owner.get((b, a))
            if j is None or j <= i:
                continue
            p, q = polygons[i], polygons[j]
            k, m = p.index(b), q.index(a)  # p goes on from b, q from a
            joined = p[k:] + p[:k] + q[m + 1 :] + q[:m]
            joined = joined[: len(p)] + [x for x in joined[len(p) :] if x not in (a, b)]
            if _is_convex(outline[joined], slack):
                polygons[i] = joined
                del polygons[j]
                merged = True
                break
    return [outline[p] for p in polygons]


def _sides(polygon: list[int]) -> list[tuple[int, int]]:
    return list(zip(polygon, polygon[1:] + polygon[:1], strict=True))


def _is_convex(corners: Array, slack: float) -> bool:
    d = np.roll(corners, -1, axis=0) - corners
    e = np.roll(d, -1, axis=0)
    return bool((d[:, 0] * e[:, 1] - d[:, 1] * e[:, 0] >= -slack).all())


def _ears(outline: Array) -> list[tuple[int, int, int]]:
    """Triangles of a simple polygon; the ear with the widest smallest angle goes first."""
    left = list(range(len(outline)))
    triangles = []
    while len(left) > 3:
        best, worst = -1, 0.0
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            quality = _quality(outline[a], outline[b], outline[c])
            if quality <= worst:
                continue
            others = outline[[x for x in left if x not in (a, b, c)]]
            if not _any_inside(outline[a], outline[b], outline[c], others):
                best, worst = k, quality
        if best < 0:
            raise SceneError("profile: cannot be cut into triangles; does it cross itself?")
        triangles.append((left[best - 1], left[best], left[(best + 1) % len(left)]))
        del left[best]
    triangles.append((left[0], left[1], left[2]))
    return triangles


def _quality(a: Array, b: Array, c: Array) -> float:
    """Area over the square of the longest side; not above 0 for a corner that turns right."""
    u, v, w = b - a, c - b, a - c
    longest = max(float(u @ u), float(v @ v), float(w @ w))
    return float(u[0] * v[1] - u[1] * v[0]) / longest


def _any_inside(a: Array, b: Array, c: Array, points: Array) -> bool:
    inside = np.ones(len(points), dtype=bool)
    for p, q in ((a, b), (b, c), (c, a)):
        d = q - p
        inside &= d[0] * (points[:, 1] - p[1]) - d[1] * (points[:, 0] - p[0]) >= 0.0
    return bool(inside.any())
