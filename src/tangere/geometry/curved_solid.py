"""Solids of revolution by their ideal surface: pens, bowls, pipes, pegs and the like.

A `CurvedSolid` is a profile of lines, arcs and parabolas turned about z (`axial_profile`): its
faces are flat rings, cylinders, cones, parts of spheres and tori, and paraboloids, and its edges
circles. Mass properties are exact; contact is exact where the solid is made of convex pieces that
are, see `turned`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import hypot

from tangere.errors import SceneError
from tangere.geometry.axial_profile import (
    Piece,
    Row,
    checked_rows,
    moments_of,
    pieces_of,
    tangent_point,
)
from tangere.geometry.checks import integer, positive
from tangere.geometry.curve import Curve
from tangere.geometry.polyhedron import Moments, Polyhedron
from tangere.geometry.shapes import Compound, Cylinder, Shape, Sphere
from tangere.geometry.turned import Part, convex_parts, turned_surface
from tangere.maths.vec import Array, IntArray

TURNED_X, TURNED_Y = (0.5**0.5, 0.0, 0.5**0.5, 0.0), (0.5**0.5, -(0.5**0.5), 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class CurvedSolid(Shape):
    """A solid of revolution about z; drawn with flat facets, touched by its ideal surface.

    Without hollows, cylinders, cones and balls in it are exact in contact, and what is between them
    is a hull of as many sides as are drawn; with hollows (bowls, pipes) it is cut into sectors.
    """

    profile: tuple[Row, ...]
    """Rows (word, r, z …) [m], see `tangere.geometry.axial_profile`; first ("start", r, z)."""
    facets: int = field(default=48, kw_only=True)
    """Flat sides around the axis, as drawn and of pieces that are hulls."""

    def __post_init__(self) -> None:
        """Check that the profile bounds a solid."""
        object.__setattr__(self, "profile", checked_rows(self.profile, "CurvedSolid"))
        object.__setattr__(self, "facets", integer(self.facets, "CurvedSolid facets", 8, 128))
        self.pieces  # noqa: B018 - a profile that bounds no solid is refused here

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of the profile, counter-clockwise."""
        return pieces_of(self.profile, "CurvedSolid")

    def curves(self) -> tuple[Curve | None, ...]:
        """The exact pieces; None for hulls."""
        return tuple(part.curve for part in self._convex)

    def surface(self) -> tuple[Array, IntArray]:
        """Vertices on the ideal surface [m] and outward triangles, closed."""
        return self._surface

    @cached_property
    def _surface(self) -> tuple[Array, IntArray]:
        return turned_surface(self.pieces, self.facets)

    @cached_property
    def _convex(self) -> tuple[Part, ...]:
        return convex_parts(self.pieces, self.facets, "CurvedSolid")

    @cached_property
    def _parts(self) -> tuple[Polyhedron, ...]:
        return tuple(part.hull for part in self._convex)

    @cached_property
    def _moments(self) -> Moments:
        return moments_of(self.pieces)


def pen(
    radius: float = 4e-3, length: float = 0.1, cone: float = 12e-3, tip: float = 1e-3
) -> CurvedSolid:
    """A pen along z, its tip down at z = 0: a shaft, a cone and a ball that it is tangent to.

    Args:
        radius: Of the shaft [m].
        length: Of the shaft [m].
        cone: Height at which the cone becomes the shaft [m].
        tip: Radius of the ball [m].
    """
    r, l, h, t = (
        positive(x, f"pen {what}")
        for x, what in ((radius, "radius"), (length, "length"), (cone, "cone"), (tip, "tip"))
    )
    if t >= r or h <= t or hypot(r, h - t) <= t:
        raise SceneError(
            "pen: the tip is wider than the shaft or higher than the cone; make it smaller"
        )
    out, up = tangent_point((r, h - t), t)
    return CurvedSolid(
        (
            ("start", 0.0, 0.0),
            ("arc", out, t + up, t, "tip"),
            ("line", r, h, "cone"),
            ("line", r, h + l, "shaft"),
            ("line", 0.0, h + l, "end"),
        )
    )


def bowl(focal: float = 25e-3, radius: float = 40e-3, wall: float = 5e-3) -> CurvedSolid:
    """A bowl open towards +z: inside the paraboloid z = r²/4f, outside a sphere to the same rim.

    Args:
        focal: Focal length f [m].
        radius: Of the rim [m].
        wall: Thickness at the lowest point [m].
    """
    f, r, t = (
        positive(x, f"bowl {what}")
        for x, what in ((focal, "focal"), (radius, "radius"), (wall, "wall"))
    )
    rim = r * r / (4.0 * f)
    outer = (r * r + (rim + t) ** 2) / (2.0 * (rim + t))
    if rim + t > outer:
        raise SceneError("bowl: deeper than half a ball; take a larger focal length or less wall")
    return CurvedSolid(
        (
            ("start", 0.0, -t),
            ("arc", r, rim, outer, "outside"),
            ("parabola", 0.0, 0.0, "inside"),
        )
    )


def pipe(inner: float, outer: float, length: float) -> CurvedSolid:
    """A straight pipe along z, centred [m]."""
    a, b, h = positive(inner, "pipe inner"), positive(outer, "pipe outer"), length
    h = 0.5 * positive(length, "pipe length")
    if a >= b:
        raise SceneError(f"pipe: the inner radius {a:.6g} is not below the outer one {b:.6g}")
    return CurvedSolid(
        (
            ("start", a, -h),
            ("line", b, -h, "end -z"),
            ("line", b, h, "outside"),
            ("line", a, h, "end +z"),
            ("line", a, -h, "bore"),
        )
    )


def peg(radius: float, length: float, chamfer: float = 0.0) -> CurvedSolid:
    """A round peg along z, centred, its lower end with a chamfer of 45° [m]."""
    r, h = positive(radius, "peg radius"), 0.5 * positive(length, "peg length")
    rows: list[Row] = [("start", 0.0, -h)]
    if chamfer:
        c = positive(chamfer, "peg chamfer")
        if c >= min(r, 2.0 * h):
            raise SceneError(f"peg: a chamfer of {c:.6g} m leaves nothing; make it smaller")
        rows += [("line", r - c, -h, "end -z"), ("line", r, c - h, "chamfer")]
    else:
        rows.append(("line", r, -h, "end -z"))
    rows += [("line", r, h, "shaft"), ("line", 0.0, h, "end +z")]
    return CurvedSolid(tuple(rows))


def l_pipe(radius: float = 15e-3, length: float = 0.15) -> Compound:
    """Two rods from the origin along +x and +y, with a ball where they meet [m].

    Its mass properties count the corner twice: meant to be fixed.
    """
    r, l = positive(radius, "l_pipe radius"), positive(length, "l_pipe length")
    return Compound(
        [Cylinder(r, l), Cylinder(r, l), Sphere(r)],
        [((0.5 * l, 0, 0), TURNED_X), ((0, 0.5 * l, 0), TURNED_Y), ((0, 0, 0), (1, 0, 0, 0))],
    )
