"""Shapes a body can have: frozen, checked when made, described in their own frame [m].

Every shape offers four things: `parts()`, convex polyhedra; `curves()`, for each part the curved
solid that it stands for, if any; `moments()`, the volume integrals of the ideal solid; and
`surface()`, triangles to draw. Curved shapes touch by their ideal surface, and their mass
properties are those of the ideal solid; their facets, whose corners lie on the surface, are drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import (
    Record,
    check_resolution,
    frozen,
    integer,
    positive,
    show,
    unit,
    vector,
)
from tangere.geometry.curve import BALL, CAPSULE, CONE, CYLINDER, Curve
from tangere.geometry.mesh import Source, checked_mesh, convex_pieces
from tangere.geometry.polyhedron import (
    MAX_CLOUD,
    MAX_FACES,
    Moments,
    Polyhedron,
    checked_points,
    convex_polyhedron,
    solid_moments,
)
from tangere.maths.rotations import rotation_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from tangere.maths.vec import Array, IntArray

    Surface = tuple[Array, IntArray]

# Deepest nesting of compounds: far above any use, far below Python's recursion limit.
MAX_NESTING = 32
_Z = frozen(np.array([0.0, 0.0, 1.0]))


class Shape(Record, ABC):
    """What all shapes share; make one of the kinds below."""

    offers = frozenset({"hull", "field"})
    """Kinds of parts that a contact method can take: convex pieces, or a distance field."""

    def parts(self) -> tuple[Polyhedron, ...]:
        """Convex pieces in the shape's frame, computed at the first call and kept."""
        return self._parts

    def curves(self) -> tuple[Curve | None, ...]:
        """For each part the curved solid that it stands for, in the shape's frame; None: a hull."""
        return (None,) * len(self.parts())

    def moments(self) -> Moments:
        """Volume, centre and inertia of the solid at unit density, in the shape's frame."""
        return self._moments

    def surface(self) -> Surface:
        """Vertices [m] and outward triangles for drawing, shapes (n, 3) and (t, 3)."""
        return joined([(part.vertices, part.triangles()) for part in self.parts()])

    @property
    @abstractmethod
    def _parts(self) -> tuple[Polyhedron, ...]: ...

    @property
    @abstractmethod
    def _moments(self) -> Moments: ...

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _check_lengths(self, *names: str) -> None:
        for name in names:
            self._set(**{name: positive(getattr(self, name), self._what(name))})

    def _check_count(self, name: str, least: int, most: int) -> None:
        self._set(**{name: integer(getattr(self, name), self._what(name), least, most)})

    def _what(self, field: str) -> str:
        return f"{type(self).__name__} {field}"


@dataclass(frozen=True, init=False, eq=False)
class Box(Shape):
    """A box centred at the origin, edges along the axes."""

    size: Array
    """Edge lengths along x, y, z [m]."""

    def __init__(self, size: ArrayLike) -> None:
        """Check and keep the three edge lengths [m]."""
        edges = vector(size, "Box size")
        for edge in edges:
            positive(float(edge), "Box size")
        self._set(size=edges)
        self._parts  # noqa: B018 - a box too thin for a solid is refused here, not later in a run

    @cached_property
    def _parts(self) -> tuple[Polyhedron, ...]:
        return (_unit_box().stretched(self.size, "Box"),)

    @cached_property
    def _moments(self) -> Moments:
        a, b, c = (float(x) for x in self.size)
        return _diagonal(
            a * b * c, (b * b + c * c) / 12, (a * a + c * c) / 12, (a * a + b * b) / 12
        )


@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    """A ball centred at the origin; drawn as an icosahedron with each edge split."""

    radius: float
    """[m]"""
    subdivisions: int = field(default=3, kw_only=True)
    """Pieces per icosahedron edge as drawn, 1 to 3: 20, 80 or 180 triangles."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        self._check_lengths("radius")
        self._check_count("subdivisions", 1, 3)

    def curves(self) -> tuple[Curve | None, ...]:
        """The ball."""
        return (Curve(BALL, self.radius, 0.0, _Z, np.zeros(3)),)

    @cached_property
    def _parts(self) -> tuple[Polyhedron, ...]:
        return (_unit_ball(self.subdivisions).stretched(np.full(3, self.radius), "Sphere"),)

    @cached_property
    def _moments(self) -> Moments:
        r = self.radius
        i = 0.4 * r * r
        return _diagonal(4 / 3 * pi * r**3, i, i, i)


@dataclass(frozen=True, eq=False)
class Cylinder(Shape):
    """A cylinder along z centred at the origin; drawn as a regular prism."""

    radius: float
    """[m]"""
    length: float
    """[m]"""
    facets: int = field(default=32, kw_only=True)
    """Flat sides around the axis as drawn."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        self._check_lengths("radius", "length")
        self._check_count("facets", 3, MAX_FACES - 2)
        self._parts  # noqa: B018 - see Box

    def curves(self) -> tuple[Curve | None, ...]:
        """The cylinder."""
        return (Curve(CYLINDER, self.radius, 0.5 * self.length, _Z, np.zeros(3)),)

    @cached_property
    def _parts(self) -> tuple[Polyhedron, ...]:
        scale = np.array([self.radius, self.radius, self.length])
        return (_unit_prism(self.facets).stretched(scale, "Cylinder"),)

    @cached_property
    def _moments(self) -> Moments:
        r, h = self.radius, self.length
        across = (3 * r * r + h * h) / 12
        return _diagonal(pi * r * r * h, across, across, 0.5 * r * r)


@dataclass(frozen=True, eq=False)
class Cone(Shape):
    """A cone along z, apex up; drawn as a regular pyramid.

    The origin is the centre of mass: the base is at z = -height/4, the apex at z = 3/4 height.
    """

    radius: float
    """Of the base [m]."""
    height: float
    """[m]"""
    facets: int = field(default=32, kw_only=True)
    """Flat sides around the axis as drawn."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        self._check_lengths("radius", "height")
        self._check_count("facets", 3, MAX_FACES - 1)
        self._parts  # noqa: B018 - see Box

    def curves(self) -> tuple[Curve | None, ...]:
        """The cone; the middle of its axis is above the centre of mass."""
        return (Curve(CONE, self.radius, 0.5 * self.height, _Z, 0.25 * self.height * _Z),)

    @cached_property
    def _parts(self) -> tuple[Polyhedron, ...]:
        scale = np.array([self.radius, self.radius, self.height])
        return (_unit_pyramid(self.facets).stretched(scale, "Cone"),)

    @cached_property
    def _moments(self) -> Moments:
        r, h = self.radius, self.height
        across = 3 / 20 * r * r + 3 / 80 * h * h
        return _diagonal(pi * r * r * h / 3, across, across, 0.3 * r * r)


@dataclass(frozen=True, eq=False)
class Capsule(Shape):
    """A cylinder along z with half balls on both ends, centred at the origin."""

    radius: float
    """[m]"""
    length: float
    """Of the straight part, from one ball centre to the other [m]."""
    facets: int = field(default=16, kw_only=True)
    """Flat sides around the axis as drawn; a quarter as many rows on each half ball."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        self._check_lengths("radius", "length")
        self._check_count("facets", 4, 23)  # 23 (2 x 5 + 1) = 253 faces
        self._parts  # noqa: B018 - see Box

    def curves(self) -> tuple[Curve | None, ...]:
        """The capsule."""
        return (Curve(CAPSULE, self.radius, 0.5 * self.length, _Z, np.zeros(3)),)

    @cached_property
    def _parts(self) -> tuple[Polyhedron, ...]:
        rows = self.facets // 4
        half = 0.5 * self.length
        points = [np.array([[0.0, 0.0, s * (half + self.radius)] for s in (-1.0, 1.0)])]
        for row in range(rows):
            latitude = 0.5 * pi * row / rows
            ring = _ring(self.facets, self.radius * np.cos(latitude))
            z = half + self.radius * np.sin(latitude)
            shift = np.array([0.0, 0.0, z])
            points += [ring - shift, ring + shift]
        return (convex_polyhedron(np.concatenate(points), "Capsule"),)

    @cached_property
    def _moments(self) -> Moments:
        r, h = self.radius, self.length
        tube, ball = pi * r * r * h, 4 / 3 * pi * r**3
        # Half a ball has its centre 3/8 r off its flat side; Steiner's theorem moves it to the end.
        across = tube * (3 * r * r + h * h) / 12 + ball * (0.4 * r * r + h * h / 4 + 3 / 8 * h * r)
        along = tube * 0.5 * r * r + ball * 0.4 * r * r
        volume = tube + ball
        return _diagonal(volume, across / volume, across / volume, along / volume)


@dataclass(frozen=True, init=False, eq=False)
class Convex(Shape):
    """The convex hull of a point cloud."""

    vertices: Array
    """The given points [m], shape (n, 3); inner ones do no harm."""

    def __init__(self, vertices: ArrayLike) -> None:
        """Check the points and build their hull, so that a flat cloud is refused at once."""
        self._set(vertices=frozen(checked_points(vertices, "Convex", most=MAX_CLOUD)))
        self._parts  # noqa: B018 - see Box

    @cached_property
    def _parts(self) -> tuple[Polyhedron, ...]:
        return (convex_polyhedron(self.vertices, "Convex"),)

    @cached_property
    def _moments(self) -> Moments:
        return self.parts()[0].moments()


@dataclass(frozen=True, init=False, eq=False)
class Mesh(Shape):
    """A solid bounded by a closed surface of outward triangles, convex or not.

    A concave mesh is split into convex pieces, which are kept on disk under a hash of the mesh. A
    convex mesh is one piece. Pieces with more than 256 faces are simplified; mass properties stay
    exact.
    """

    vertices: Array
    """[m], shape (n, 3)."""
    faces: IntArray
    """Vertex indices, counter-clockwise seen from outside, shape (t, 3)."""
    source: Source | None = field(compare=False)
    """File the mesh was read from and how, if any."""
    repairs: tuple[str, ...] = field(compare=False)
    """What `load` did to make the surface of the file a closed one, a phrase each."""

    def __init__(
        self,
        vertices: ArrayLike,
        faces: ArrayLike,
        *,
        source: Source | None = None,
        repairs: Sequence[str] = (),
    ) -> None:
        """Check that the surface is closed, consistently oriented and encloses a volume."""
        points, triangles = checked_mesh(vertices, faces, "Mesh")
        self._set(vertices=points, faces=triangles, source=source, repairs=tuple(repairs))

    def surface(self) -> Surface:
        """The mesh itself."""
        return self.vertices, self.faces

    @cached_property
    def _parts(self) -> tuple[Polyhedron, ...]:
        return convex_pieces(self.vertices, self.faces, "Mesh")

    @cached_property
    def _moments(self) -> Moments:
        return solid_moments(self.vertices, self.faces)


@dataclass(frozen=True, init=False, eq=False)
class Compound(Shape):
    """Several shapes rigidly joined, each at its own pose; compounds may be nested.

    Masses add up: where shapes overlap, the overlap counts twice.
    """

    shapes: tuple[Shape, ...]
    """The joined shapes."""
    poses: tuple[tuple[Array, Array], ...]
    """Per shape its position [m] and orientation (w, x, y, z) in the compound's frame."""

    def __init__(
        self, shapes: Sequence[Shape], poses: Sequence[tuple[ArrayLike, ArrayLike]]
    ) -> None:
        """Check that every shape has a proper pose."""
        if not isinstance(shapes, list | tuple) or not shapes:
            raise SceneError(f"Compound shapes: expected a list of shapes, got {show(shapes)}")
        if not isinstance(poses, list | tuple) or len(poses) != len(shapes):
            raise SceneError(
                f"Compound poses: expected one (position, orientation) for each of {len(shapes)} "
                f"shapes, got {show(poses)}"
            )
        for i, shape in enumerate(shapes):
            if not isinstance(shape, Shape):
                raise SceneError(f"Compound shape {i}: expected a shape, got {show(shape)}")
        if 1 + max(_nesting(shape) for shape in shapes) > MAX_NESTING:
            raise SceneError(f"Compound: nested more than {MAX_NESTING} deep; flatten it")
        checked = []
        for i, pose in enumerate(poses):
            if not isinstance(pose, list | tuple) or len(pose) != 2:
                raise SceneError(
                    f"Compound pose {i}: expected (position, orientation), got {show(pose)}"
                )
            checked.append(
                (
                    vector(pose[0], f"Compound pose {i} position"),
                    unit(pose[1], f"Compound pose {i} orientation (w, x, y, z)", 4),
                )
            )
        for i, (shape, (position, _)) in enumerate(zip(shapes, checked, strict=True)):
            vertices, _ = shape.surface()
            corner = np.abs(vertices).max(axis=0) + np.abs(position)
            size = vertices.max(axis=0) - vertices.min(axis=0)
            check_resolution(corner - size, corner, f"Compound shape {i}")
        self._set(shapes=tuple(shapes), poses=tuple(checked))

    def surface(self) -> Surface:
        """Surfaces of all shapes, each at its pose."""
        placed = []
        for shape, (position, orientation) in zip(self.shapes, self.poses, strict=True):
            vertices, triangles = shape.surface()
            placed.append((vertices @ rotation_of(orientation).T + position, triangles))
        return joined(placed)

    def curves(self) -> tuple[Curve | None, ...]:
        """Those of all shapes, each at its pose."""
        return tuple(
            curve and curve.moved(rotation_of(orientation), position)
            for shape, (position, orientation) in zip(self.shapes, self.poses, strict=True)
            for curve in shape.curves()
        )

    @cached_property
    def _parts(self) -> tuple[Polyhedron, ...]:
        return tuple(
            part.moved(rotation_of(orientation), position)
            for shape, (position, orientation) in zip(self.shapes, self.poses, strict=True)
            for part in shape.parts()
        )

    @cached_property
    def _moments(self) -> Moments:
        placed = []
        for shape, (position, orientation) in zip(self.shapes, self.poses, strict=True):
            m, turn = shape.moments(), rotation_of(orientation)
            placed.append(Moments(m.volume, turn @ m.centre + position, turn @ m.inertia @ turn.T))
        volume = sum(m.volume for m in placed)
        centre = sum((m.volume * m.centre for m in placed), np.zeros(3)) / volume
        inertia = np.zeros((3, 3))
        for m in placed:
            arm = m.centre - centre
            inertia += m.inertia + m.volume * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return Moments(volume, frozen(centre), frozen(0.5 * (inertia + inertia.T)))


def joined(surfaces: Sequence[Surface]) -> Surface:
    """One surface out of several, vertex numbers shifted."""
    shifts = np.cumsum([0] + [len(vertices) for vertices, _ in surfaces])
    triangles = [t + shift for (_, t), shift in zip(surfaces, shifts[:-1], strict=True)]
    return np.concatenate([v for v, _ in surfaces]), np.concatenate(triangles).astype(np.int32)


def _nesting(shape: Shape) -> int:
    return 1 + max(map(_nesting, shape.shapes)) if isinstance(shape, Compound) else 0


def _diagonal(volume: float, ixx: float, iyy: float, izz: float) -> Moments:
    """Moments of a solid about its own centre from the squared radii of gyration [m²]."""
    return Moments(volume, frozen(np.zeros(3)), frozen(volume * np.diag([ixx, iyy, izz])))


def _ring(count: int, radius: float) -> Array:
    """`count` points on a circle about z, shape (count, 3)."""
    angle = 2.0 * pi * np.arange(count) / count
    return np.column_stack((radius * np.cos(angle), radius * np.sin(angle), np.zeros(count)))


# Hulls take a millisecond: scenes of many boxes share one cube and stretch it.


@cache
def _unit_box() -> Polyhedron:
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return convex_polyhedron(0.5 * signs)


@cache
def _unit_prism(facets: int) -> Polyhedron:
    ring, half = _ring(facets, 1.0), np.array([0.0, 0.0, 0.5])
    return convex_polyhedron(np.concatenate((ring - half, ring + half)))


@cache
def _unit_pyramid(facets: int) -> Polyhedron:
    base, apex = _ring(facets, 1.0) - np.array([0.0, 0.0, 0.25]), np.array([[0.0, 0.0, 0.75]])
    return convex_polyhedron(np.concatenate((base, apex)))


@cache
def _unit_ball(pieces: int) -> Polyhedron:
    """An icosahedron with each edge split into `pieces` and all vertices moved out to the ball."""
    golden = 0.5 * (1.0 + 5.0**0.5)
    corners = np.array(
        [np.roll((0.0, a, b * golden), k) for k in range(3) for a in (-1, 1) for b in (-1, 1)]
    )
    solid = convex_polyhedron(corners, "icosahedron")
    weights = np.array(
        [(i, j, pieces - i - j) for i in range(pieces + 1) for j in range(pieces + 1 - i)]
    )
    points = np.concatenate([weights @ solid.vertices[t] for t in solid.triangles()])
    return convex_polyhedron(points / np.linalg.norm(points, axis=1)[:, None])
