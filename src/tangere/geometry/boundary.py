"""The boundary of a solid as elements: vertices, edges and faces, each with its exact geometry.

A boundary representation knows which elements bound which: a face is bounded by its edges, an edge
by its end points. Contact formations are sets of touching elements, so they need it; a mesh, whose
triangles cut one face into many, will not do.

`boundary_of` gives that of a shape: boxes, hulls, closed meshes whose coplanar triangles are merged
into faces, and unions of boxes with common axes, exact with the concave edges of holes and steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import frozen, positive, show, vector
from tangere.geometry.outline import plane_axes
from tangere.geometry.shapes import Box, Compound, Convex, Mesh, Shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tangere.maths.vec import Array, IntArray

    ByteArray = NDArray[np.int8]

VERTEX, EDGE, FACE = 0, 1, 2  # dimensions
POINT, SEGMENT, CIRCLE, PLANE, SPHERE, CYLINDER, CONE, TORUS, PARABOLOID = range(9)  # kinds


class Elements(NamedTuple):
    """The elements of a boundary as arrays for kernels: vertices first, then edges, then faces.

    | field       | meaning                                                       | shape     |
    | dimension   | VERTEX, EDGE, FACE                                            | (n,)      |
    | kind        | POINT … PARABOLOID                                            | (n,)      |
    | frame       | [R | p]: origin p; z is the axis, the outward normal of a     | (n, 3, 4) |
    |             | plane, the direction of a segment                             |           |
    | size        | by kind, see below [m]                                        | (n, 4)    |
    | side        | +1: the solid is on the inner side of the surface (ball,      | (n,)      |
    |             | rod); −1: on its outer side (bore, bowl); planes: +1          |           |
    | convexity   | edges: +1 convex, 0 smooth, −1 concave; vertices: +1 if all   | (n,)      |
    |             | edges are convex, −1 if all are concave, 0 mixed; faces: 0    |           |
    | below_start | what bounds element e is below[below_start[e]:                | (n + 1,)  |
    | below       | below_start[e + 1]]: edges of a face, ends of an edge         | (…,)      |
    | above_start | the other way round: faces at an edge, edges at a vertex      | (n + 1,)  |
    | above       |                                                               | (…,)      |
    | face_loops  | loops of element e: face_loops[e] … face_loops[e + 1]         | (n + 1,)  |
    | loop_start  | points of loop l: loop_start[l] … loop_start[l + 1]           | (loops+1,)|
    | loop_points | x, y in the plane's frame [m]; the outer loop comes first and | (p, 2)    |
    |             | counter-clockwise, holes follow clockwise                     |           |

    Columns of `size`: SEGMENT half length; CIRCLE radius; SPHERE radius, z from, z to; CYLINDER
    radius, half length; CONE dr/dz, z from, z to, the apex at the origin; TORUS radii of axis and
    tube; PARABOLOID focal length f of z = r²/4f, r from, r to; PLANE, if round: outer radius, inner
    radius, 1. A plane without loops that is not round is unbounded.
    """

    dimension: ByteArray
    kind: ByteArray
    frame: Array
    size: Array
    side: ByteArray
    convexity: ByteArray
    below_start: IntArray
    below: IntArray
    above_start: IntArray
    above: IntArray
    face_loops: IntArray
    loop_start: IntArray
    loop_points: Array


@dataclass(frozen=True, eq=False)
class Boundary:
    """Elements of one body in its own frame, with a readable name for each."""

    elements: Elements
    names: tuple[str, ...] = field(repr=False)
    """Unique within the body: "face +z", "edge +x +z", "vertex 3"."""

    def __len__(self) -> int:
        """Number of elements."""
        return len(self.names)

    def index(self, name: str) -> int:
        """Number of the element of that name."""
        if name not in self._numbers:
            raise SceneError(f"boundary: no element {show(name)}; known: {show(self.names)}")
        return self._numbers[name]

    def of_dimension(self, dimension: int) -> IntArray:
        """Numbers of all vertices, edges or faces."""
        return np.flatnonzero(self.elements.dimension == dimension).astype(np.int32)

    def below(self, element: int) -> IntArray:
        """What bounds an element: the edges of a face, the ends of an edge."""
        e = self.elements
        return e.below[e.below_start[element] : e.below_start[element + 1]]

    def above(self, element: int) -> IntArray:
        """What an element bounds: the faces at an edge, the edges at a vertex."""
        e = self.elements
        return e.above[e.above_start[element] : e.above_start[element + 1]]

    def closure(self, element: int) -> frozenset[int]:
        """The element, what bounds it, and what bounds that."""
        found = {element}
        for other in self.below(element):
            found |= self.closure(int(other))
        return frozenset(found)

    def loops(self, face: int) -> list[Array]:
        """Corners of a flat face in its body's frame [m], the outer loop first."""
        e = self.elements
        axes, origin = e.frame[face, :, :2], e.frame[face, :, 3]
        return [
            e.loop_points[e.loop_start[k] : e.loop_start[k + 1]] @ axes.T + origin
            for k in range(e.face_loops[face], e.face_loops[face + 1])
        ]

    def moved(self, rotation: Array, position: ArrayLike) -> Boundary:
        """The boundary turned by a 3x3 `rotation`, then shifted by `position` [m]."""
        frame = rotation @ self.elements.frame
        frame[:, :, 3] += np.asarray(position, float)
        return Boundary(self.elements._replace(frame=frozen(frame)), self.names)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}


def boundary_of(shape: Shape) -> Boundary:
    """The exact boundary of a shape in the shape's frame.

    Raises:
        SceneError: A compound of other things than boxes with common axes or solids of revolution,
            or a mesh of too many faces.
    """
    from tangere.geometry import curved_boundary, flat_boundary

    if isinstance(shape, Box | Convex):
        return flat_boundary.of_convex(shape.parts()[0])
    if isinstance(shape, Mesh):
        return flat_boundary.of_mesh(shape)
    if isinstance(shape, Compound):
        flat = flat_boundary.has_boxes(shape)
        return flat_boundary.of_boxes(shape) if flat else curved_boundary.of_union(shape)
    return curved_boundary.of_curved(shape)


def half_space(normal: ArrayLike = (0.0, 0.0, 1.0), height: float = 0.0) -> Boundary:
    """The unbounded plane of a floor: solid where normal·x < height; its one face is "floor"."""
    n = vector(normal, "half_space normal")
    n = n / np.linalg.norm(n)
    frame = np.column_stack((*plane_axes(n), n, height * n))[None]
    one, two = np.zeros(1, np.int8), np.zeros(2, np.int32)
    nothing, no_points = np.zeros(0, np.int32), np.zeros((0, 2))
    return made(
        Elements(
            dimension=one + np.int8(FACE),
            kind=one + np.int8(PLANE),
            frame=frame,
            size=np.zeros((1, 4)),
            side=one + np.int8(1),
            convexity=one,
            below_start=two,
            below=nothing,
            above_start=two,
            above=nothing,
            face_loops=two,
            loop_start=np.zeros(1, np.int32),
            loop_points=no_points,
        ),
        ("floor",),
    )


def block_with_hole(size: ArrayLike, hole: ArrayLike, depth: float | None = None) -> Boundary:
    """The boundary of `holed_block`: outer faces "face +x" …, "wall +x" … in the hole."""
    return boundary_of(holed_block(size, hole, depth))


def holed_block(size: ArrayLike, hole: ArrayLike, depth: float | None = None) -> Compound:
    """A box about the origin with a rectangular hole along z, open above, of four or five boxes.

    Args:
        size: Edge lengths of the box [m].
        hole: Widths of the hole along x and y [m].
        depth: Of the hole from the top [m]; None: it goes through.
    """
    a, b, c = (positive(x, "holed_block size") for x in vector(size, "holed_block size"))
    u, v = (positive(x, "holed_block hole") for x in vector(hole, "holed_block hole", 2))
    deep = c if depth is None else positive(depth, "holed_block depth")
    if u >= a or v >= b or deep > c:
        raise SceneError(f"holed_block: the hole {show((u, v, deep))} does not fit the block")
    upright, z = (1.0, 0.0, 0.0, 0.0), 0.5 * (c - deep)
    side, end = 0.5 * (a - u), 0.5 * (b - v)
    shapes = [Box((side, b, deep))] * 2 + [Box((u, end, deep))] * 2
    places = [(s * 0.5 * (u + side), 0.0, z) for s in (-1.0, 1.0)]
    places += [(0.0, s * 0.5 * (v + end), z) for s in (-1.0, 1.0)]
    if deep < c:
        shapes.append(Box((a, b, c - deep)))
        places.append((0.0, 0.0, -0.5 * deep))
    return Compound(shapes, [(place, upright) for place in places])


def made(elements: Elements, names: tuple[str, ...]) -> Boundary:
    """A boundary whose arrays nobody can change."""
    for array in elements:
        array.setflags(write=False)
    return Boundary(elements, names)
