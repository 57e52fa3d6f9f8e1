"""Profiles of solids of revolution: lines, arcs and parabolas in the half-plane r ≥ 0 beside z.

A profile is a list of rows, read like a pen's way on paper:

| row                   | goes to (r, z)                                                  |
| ("start", r, z)       | where the way begins: on the axis, or where it will end         |
| ("line", r, z)        | straight: a cylinder, cone or flat face                         |
| ("arc", r, z, radius) | along a circle, at most half of one, turning left if radius > 0 |
| ("parabola", r, z)    | along z = z₀ + k r² through both points: a paraboloid about z   |

A row may end with a name for the face that it makes. Turned about z, a way that ends on the axis
bounds a solid without hole, a closed one a ring. Either sense will do; here it is counter-clockwise
with the solid on the left, so that what turns left is round and what turns right is hollow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import atan2, cos, hypot, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import frozen, number, positive, show
from tangere.geometry.polyhedron import Moments
from tangere.maths.vec import Array

Row = tuple[str | float, ...]
Point = tuple[float, float]

LINE, ARC, PARABOLA = "line", "arc", "parabola"
WORDS = ("start", LINE, ARC, PARABOLA)
MOST_ROWS = 200
# Lengths below this share of the profile's size are none, and directions within it the same.
NOTHING = 1e-9
# A centre this close to the chord, as a share of the radius, is on it: where 2r is the chord, the
# square root has half the digits.
HALF_CIRCLE = 1e-6
SMOOTH = 1e-6  # [rad] joints that bend less are smooth
# Points of Gauss-Legendre: exact for lines and parabolas from 4 on, to rounding for half circles.
GAUSS = 16
SAMPLES = 16  # of a curved piece, for the search for crossings


class Piece(NamedTuple):
    """One stretch of a profile; angles are those of (r, z) about the centre of its circle."""

    kind: str
    start: Point
    end: Point
    name: str
    centre: Point = (0.0, 0.0)
    radius: float = 0.0
    first: float = 0.0
    last: float = 0.0

    def at(self, share: Array) -> Array:
        """Points at shares 0 … 1 of the way, shape (n, 2) [m]."""
        (r0, z0), (r1, z1) = self.start, self.end
        if self.kind == ARC:
            angle = self.first + share * (self.last - self.first)
            points = np.column_stack((np.cos(angle), np.sin(angle)))
            return np.asarray(np.array(self.centre) + self.radius * points)
        r = r0 + share * (r1 - r0)
        if self.kind == PARABOLA:
            return np.column_stack((r, z0 + self.bend * (r * r - r0 * r0)))
        return np.column_stack((r, z0 + share * (z1 - z0)))

    def rate(self, share: Array) -> Array:
        """How fast points go with the share, shape (n, 2) [m]."""
        (r0, z0), (r1, z1) = self.start, self.end
        if self.kind == ARC:
            span = self.last - self.first
            angle = self.first + share * span
            return self.radius * span * np.column_stack((-np.sin(angle), np.cos(angle)))
        across = np.full(len(share), r1 - r0)
        if self.kind == PARABOLA:
            return np.column_stack((across, 2.0 * self.bend * (r0 + share * across) * across))
        return np.column_stack((across, np.full(len(share), z1 - z0)))

    @property
    def bend(self) -> float:
        """K of a parabola z = z₀ + k r² [1/m]."""
        (r0, z0), (r1, z1) = self.start, self.end
        return (z1 - z0) / ((r1 - r0) * (r1 + r0))

    @property
    def turns_left(self) -> bool:
        """Whether it is round, not hollow; of a straight piece: whether the solid is inside it."""
        if self.kind == ARC:
            return self.last > self.first
        if self.kind == PARABOLA:
            return (self.bend > 0.0) == (self.end[0] > self.start[0])
        return self.end[1] > self.start[1]

    def reversed(self) -> Piece:
        """The same stretch the other way round."""
        return self._replace(start=self.end, end=self.start, first=self.last, last=self.first)

    def angle(self, share: float) -> float:
        """Direction of the way at a share of it [rad]."""
        dr, dz = self.rate(np.array([share]))[0]
        return atan2(dz, dr)

    def count(self, step: float) -> int:
        """Straight pieces that it takes to turn by no more than a step each [rad]."""
        if self.kind == LINE:
            return 1
        if self.kind == ARC:
            turn = abs(self.last - self.first)
        else:
            turn = abs((self.angle(1.0) - self.angle(0.0) + pi) % (2.0 * pi) - pi)
        return max(1, int(np.ceil(turn / step - NOTHING)))


def pieces_of(rows: Sequence[Sequence[str | float]], what: str) -> tuple[Piece, ...]:
    """The pieces of a profile, counter-clockwise.

    Raises:
        SceneError: One line for what does not bound a solid, with the row and the remedy.
    """
    checked = checked_rows(rows, what)
    pieces: list[Piece] = []
    at: Point = (float(checked[0][1]), float(checked[0][2]))
    size = max(max(abs(float(row[1])), abs(float(row[2]) - at[1])) for row in checked)
    for i, row in enumerate(checked[1:], 1):
        to = (float(row[1]), float(row[2]))
        if hypot(to[0] - float(checked[0][1]), to[1] - float(checked[0][2])) <= NOTHING * size:
            to = (float(checked[0][1]), float(checked[0][2]))  # closed to the last digit
        name = row[-1] if isinstance(row[-1], str) and len(row) > 3 else ""
        if hypot(to[0] - at[0], to[1] - at[1]) <= NOTHING * size:
            raise SceneError(f"{what} profile row {i}: goes nowhere; leave it out")
        if row[0] == ARC:
            pieces.append(_arc(at, to, float(row[3]), name, f"{what} profile row {i}", size))
        elif row[0] == PARABOLA and abs(to[1] - at[1]) > NOTHING * size:
            if abs(to[0] - at[0]) <= NOTHING * size:
                raise SceneError(
                    f"{what} profile row {i}: no parabola goes straight up; use a line"
                )
            pieces.append(Piece(PARABOLA, at, to, name))
        else:
            pieces.append(Piece(LINE, at, to, name))
        at = to
    return _oriented(pieces, size, what)


def checked_rows(rows: Sequence[Sequence[str | float]], what: str) -> tuple[Row, ...]:
    """The rows as plain tuples, numbers and words where they belong."""
    if not isinstance(rows, list | tuple) or not 3 <= len(rows) <= MOST_ROWS:
        raise SceneError(
            f"{what} profile: expected 3 to {MOST_ROWS} rows, first ('start', r, z), "
            f"then ('line', r, z) and the like, got {show(rows)}"
        )
    checked: list[Row] = []
    for i, row in enumerate(rows):
        where = f"{what} profile row {i}"
        word = row[0] if isinstance(row, list | tuple) and len(row) > 0 else None
        if word not in (WORDS[:1] if i == 0 else WORDS[1:]):
            expected = "('start', r, z)" if i == 0 else "a line, arc or parabola"
            raise SceneError(f"{where}: expected {expected}, got {show(row)}")
        width = 4 if word == ARC else 3
        named = len(row) == width + 1 and isinstance(row[-1], str) and i > 0
        if len(row) != width and not named:
            raise SceneError(f"{where}: expected {width - 1} numbers after {word}, got {show(row)}")
        numbers = [number(x, where) for x in row[1:width]]
        if numbers[0] < 0.0:
            raise SceneError(f"{where}: r = {numbers[0]:.6g} is beyond the axis; use r ≥ 0")
        if word == ARC:
            positive(abs(numbers[2]), f"{where} radius")
        checked.append((str(word), *numbers, *((str(row[-1]),) if named else ())))
    return tuple(checked)


def _arc(at: Point, to: Point, radius: float, name: str, where: str, size: float) -> Piece:
    """The arc between two points, turning left if its radius is positive, by at most π."""
    chord = hypot(to[0] - at[0], to[1] - at[1])
    r = abs(radius)
    if 0.5 * chord > r * (1.0 + NOTHING):
        raise SceneError(
            f"{where}: the points are {chord:.6g} m apart, more than the diameter {2.0 * r:.6g} m"
        )
    off = sqrt(max(0.0, r * r - 0.25 * chord * chord))
    off = 0.0 if off <= HALF_CIRCLE * r else off
    left = 1.0 if radius > 0.0 else -1.0
    ux, uz = (to[0] - at[0]) / chord, (to[1] - at[1]) / chord
    centre = (
        0.5 * (at[0] + to[0]) - left * off * uz,
        0.5 * (at[1] + to[1]) + left * off * ux,
    )
    if abs(centre[0]) <= NOTHING * size:
        centre = (0.0, centre[1])
    if centre[0] < 0.0:
        raise SceneError(f"{where}: its centre is beyond the axis; use a larger or smaller radius")
    first = atan2(at[1] - centre[1], at[0] - centre[0])
    turn = (atan2(to[1] - centre[1], to[0] - centre[0]) - first) * left % (2.0 * pi)
    piece = Piece(ARC, at, to, name, centre, r, first, first + left * turn)
    if piece.at(np.linspace(0.0, 1.0, 4 * SAMPLES))[:, 0].min() < -NOTHING * size:
        raise SceneError(f"{where}: crosses the axis; end it there")
    return piece


def _oriented(pieces: list[Piece], size: float, what: str) -> tuple[Piece, ...]:
    """The pieces counter-clockwise, checked to bound one solid."""
    (r0, z0), (r1, z1) = pieces[0].start, pieces[-1].end
    closed = hypot(r1 - r0, z1 - z0) <= NOTHING * size
    if not closed and max(r0, r1) > NOTHING * size:
        raise SceneError(
            f"{what} profile: starts at r = {r0:.6g} and ends at r = {r1:.6g}; "
            "start and end on the axis, or end where it starts"
        )
    inner = pieces if closed else pieces[:-1]
    if any(p.end[0] <= NOTHING * size for p in inner):
        raise SceneError(f"{what} profile: touches the axis on its way; make it two solids")
    if any(p.kind == LINE and max(p.start[0], p.end[0]) <= NOTHING * size for p in pieces):
        raise SceneError(f"{what} profile: runs along the axis; leave that line out")
    _check_crossings(pieces, size, closed, what)
    area = _along(pieces, lambda r, z: r)
    if abs(area) <= NOTHING * size * size:
        raise SceneError(f"{what} profile: encloses nothing")
    if area < 0.0:
        pieces = [piece.reversed() for piece in reversed(pieces)]
    return tuple(pieces)


def _check_crossings(pieces: list[Piece], size: float, closed: bool, what: str) -> None:
    """Refuse a way that crosses itself, as far as its straightened pieces show it."""
    points, owner = [], []
    for i, piece in enumerate(pieces):
        n = 1 if piece.kind == LINE else SAMPLES
        points.append(piece.at(np.arange(n) / n))
        owner += [i] * n
    way = np.concatenate((*points, np.array([pieces[-1].end])))
    a, b = way[:-1], way[1:]
    d = b - a

    def side(of: int, x: Array) -> Array:
        return np.asarray(d[of, 0] * (x[:, 1] - a[of, 1]) - d[of, 1] * (x[:, 0] - a[of, 0]))

    slack = NOTHING * size * size
    for i in range(len(a)):
        others = np.arange(i + 2, len(a) - (1 if closed and i == 0 else 0))
        if len(others) == 0:
            continue
        here = (side(i, a[others]) * side(i, b[others])) < -slack * slack
        from_there = d[others, 0] * (a[i, 1] - a[others, 1]) - d[others, 1] * (
            a[i, 0] - a[others, 0]
        )
        to_there = d[others, 0] * (b[i, 1] - a[others, 1]) - d[others, 1] * (b[i, 0] - a[others, 0])
        hit = here & (from_there * to_there < -slack * slack)
        if hit.any():
            j = int(others[np.argmax(hit)])
            raise SceneError(
                f"{what} profile: rows {owner[i] + 1} and {owner[j] + 1} cross; "
                "a solid's outline does not"
            )


def _along(pieces: Sequence[Piece], f: Callable[[Array, Array], Array]) -> float:
    """∮ f(r, z) dz counter-clockwise; the axis adds nothing to what has a factor r."""
    x, w = np.polynomial.legendre.leggauss(GAUSS)
    share = 0.5 * (x + 1.0)
    total = 0.0
    for piece in pieces:
        at = piece.at(share)
        total += float(0.5 * w @ (f(at[:, 0], at[:, 1]) * piece.rate(share)[:, 1]))
    return total


def moments_of(pieces: Sequence[Piece]) -> Moments:
    """Volume, centre and inertia at unit density: ∫ g r dr dz as ∮ (∫ g r dr) dz, Green's theorem.

    V = π ∮ r² dz,  ∫ z² dV = π ∮ r² z² dz,  ∫ (x² + y²) dV = π/2 ∮ r⁴ dz
    """
    volume = pi * _along(pieces, lambda r, z: r**2)
    z0 = pi * _along(pieces, lambda r, z: r**2 * z) / volume
    along = pi * _along(pieces, lambda r, z: r**2 * (z - z0) ** 2)
    round_z = 0.5 * pi * _along(pieces, lambda r, z: r**4)
    across = 0.5 * round_z + along
    return Moments(
        volume, frozen(np.array([0.0, 0.0, z0])), frozen(np.diag([across, across, round_z]))
    )


def straightened(pieces: Sequence[Piece], step: float) -> Array:
    """Points along a profile, each curved piece cut where it has turned by a step [rad].

    A closed one does not come back to its first point.
    """
    points = [p.at(np.arange(p.count(step)) / p.count(step)) for p in pieces]
    if pieces[-1].end != pieces[0].start:
        points.append(np.array([pieces[-1].end]))
    way = np.concatenate(points)
    way[way[:, 0] <= NOTHING * np.abs(way).max(), 0] = 0.0
    return way


def tangent_point(away: Point, radius: float) -> Point:
    """Where a line from a point touches a circle about the origin, on the side of r > 0."""
    d = hypot(*away)
    angle = atan2(away[1], away[0]) - np.arccos(radius / d)
    return (radius * cos(angle), radius * sin(angle))
