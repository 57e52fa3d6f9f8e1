"""Surfaces as kernels read them: elements of a body, placed in the world, and which may touch.

The held body A has one surface in its own frame, placed anew for every pose. All fixed bodies
together have one other surface B, in the world from the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, off
from tangere.geometry.boundary import (
    CIRCLE,
    CONE,
    CYLINDER,
    EDGE,
    FACE,
    PARABOLOID,
    PLANE,
    SEGMENT,
    SPHERE,
    TORUS,
    VERTEX,
    Boundary,
)
from tangere.maths.quat import Quat, matrix_into
from tangere.maths.vec import Array, IntArray, Vec3

if TYPE_CHECKING:
    from collections.abc import Sequence

# Half extent that stands for unbounded [m]
UNBOUNDED = 1e9
# Of the polygon that stands for a disc
CORNERS = 16


class Surface(NamedTuple):
    """Elements of one body or of several, see `geometry.boundary.Elements` for most columns.

    | field         | meaning                                                     | shape   |
    | sizes         | elements                                                    | (1,)    |
    | body, local   | body of an element and its number there                     | (n,)    |
    | tip           | vertices and edges: 1 if a plane can touch them there alone | (n,)    |
    | side          | +1: rod, ball; −1: bore, bowl                               | (n,)    |
    | convexity     | of an edge: 0 if its faces go on smoothly                   | (n,)    |
    | box           | centre and half extents of the bounding box [m]             | (6 n,)  |
    | wings         | of an edge, for both its faces: unit vector into the face,  | (8 n,)  |
    |               | square to the edge, and how far the face goes that way [m]  |         |
    | inset         | way of a vertex if all its faces move inwards by 1          | (3 n,)  |
    | closure_start | elements that bound e, and e itself: closure[               | (n + 1,)|
    | closure       | closure_start[e]:closure_start[e + 1]]                      | (…,)    |
    """

    sizes: IntArray
    body: IntArray
    local: IntArray
    dimension: IntArray
    kind: IntArray
    tip: IntArray
    side: IntArray
    convexity: IntArray
    frame: Array
    size: Array
    box: Array
    wings: Array
    inset: Array
    below_start: IntArray
    below: IntArray
    above_start: IntArray
    above: IntArray
    closure_start: IntArray
    closure: IntArray
    face_loops: IntArray
    loop_start: IntArray
    loop_points: Array


def surface_of(given: Sequence[Boundary]) -> Surface:
    """One surface of all boundaries, numbered in their order; those of fixed bodies are moved."""
    boundaries = [_with_outlines(b) for b in given]
    counts = [len(b) for b in boundaries]
    shift = np.cumsum([0, *counts])

    def together(name: str) -> Array:
        return np.concatenate([np.asarray(getattr(b.elements, name), float) for b in boundaries])

    def rows(start: str, content: str, step: Sequence[int]) -> tuple[IntArray, IntArray]:
        """Compressed rows of all boundaries, their contents shifted."""
        lengths = [np.diff(getattr(b.elements, start)) for b in boundaries]
        found = [getattr(b.elements, content) + k for b, k in zip(boundaries, step, strict=False)]
        return _starts(np.concatenate(lengths)), np.concatenate(found).astype(np.int32)

    below_start, below = rows("below_start", "below", shift.tolist())
    above_start, above = rows("above_start", "above", shift.tolist())
    points = np.cumsum([0] + [len(b.elements.loop_points) for b in boundaries])
    closures = [sorted(b.closure(e) | {e}) for b in boundaries for e in range(len(b))]
    closure = [
        np.array(c, int) + k for c, k in zip(closures, np.repeat(shift[:-1], counts), strict=True)
    ]
    loop_start = [
        b.elements.loop_start[:-1] + k for b, k in zip(boundaries, points[:-1], strict=True)
    ]
    details = [_details(b) for b in boundaries]
    return Surface(
        sizes=np.array([shift[-1]], np.int32),
        body=np.repeat(np.arange(len(boundaries)), counts).astype(np.int32),
        local=np.concatenate([np.arange(n) for n in counts]).astype(np.int32),
        dimension=together("dimension").astype(np.int32),
        kind=together("kind").astype(np.int32),
        tip=np.concatenate([d[0] for d in details]),
        side=together("side").astype(np.int32),
        convexity=together("convexity").astype(np.int32),
        frame=together("frame").ravel(),
        size=together("size").ravel(),
        box=np.concatenate([d[1] for d in details]).ravel(),
        wings=np.concatenate([d[2] for d in details]).ravel(),
        inset=np.concatenate([d[3] for d in details]).ravel(),
        below_start=below_start,
        below=below,
        above_start=above_start,
        above=above,
        closure_start=_starts(np.array([len(c) for c in closure])),
        closure=np.concatenate(closure).astype(np.int32),
        face_loops=_starts(np.concatenate([np.diff(b.elements.face_loops) for b in boundaries])),
        loop_start=np.concatenate([*loop_start, points[-1:]]).astype(np.int32),
        loop_points=together("loop_points").ravel(),
    )


def _starts(lengths: IntArray) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)


def _with_outlines(b: Boundary) -> Boundary:
    """The boundary with loops also for discs and rings: polygons of the same area.

    They stand for discs where the overlap of flat faces is sought; see `flat_contacts.outside`.
    """
    e = b.elements
    if not (e.size[e.kind == PLANE, 2] == 1.0).any():
        return b
    angle = 2.0 * np.pi * np.arange(CORNERS) / CORNERS
    circle = np.column_stack((np.cos(angle), np.sin(angle)))
    circle *= np.sqrt(2.0 * np.pi / (CORNERS * np.sin(2.0 * np.pi / CORNERS)))
    loops: list[Array] = []
    counts = np.zeros(len(b), int)
    for k in range(len(b)):
        own = [
            e.loop_points[e.loop_start[m] : e.loop_start[m + 1]]
            for m in range(e.face_loops[k], e.face_loops[k + 1])
        ]
        if e.kind[k] == PLANE and e.size[k, 2] == 1.0:
            own = [e.size[k, 0] * circle]
            if e.size[k, 1] > 0.0:
                own.append(e.size[k, 1] * circle[::-1])
        counts[k] = len(own)
        loops += own
    changed = e._replace(
        face_loops=_starts(counts),
        loop_start=_starts(np.array([len(x) for x in loops])),
        loop_points=np.concatenate(loops),
    )
    return Boundary(changed, b.names)


def _reach(b: Boundary, k: int) -> tuple[Array, Array]:
    """Centre and half extents of a round element: of the cylinder about its axis around it."""
    e = b.elements
    size, axis = e.size[k], e.frame[k, :, 2]
    low, high, radius = 0.0, 0.0, size[0]
    if e.kind[k] == SPHERE:
        low, high = size[1], size[2]
    elif e.kind[k] == CYLINDER:
        low, high = -size[1], size[1]
    elif e.kind[k] == CONE:
        low, high, radius = size[1], size[2], size[0] * max(abs(size[1]), abs(size[2]))
    elif e.kind[k] == TORUS:
        low, high, radius = -size[1], size[1], size[0] + size[1]
    elif e.kind[k] == PARABOLOID:
        low, high, radius = size[1] ** 2 / (4 * size[0]), size[2] ** 2 / (4 * size[0]), size[2]
    across = np.sqrt(np.maximum(0.0, 1.0 - axis * axis))
    half = 0.5 * (high - low) * np.abs(axis) + radius * across
    return e.frame[k, :, 3] + 0.5 * (high + low) * axis, half


def _details(b: Boundary) -> tuple[IntArray, Array, Array, Array]:
    """Columns tip, box, wings, inset of one boundary."""
    e, count = b.elements, len(b)
    tip, box = np.zeros(count, np.int32), np.zeros((count, 6))
    wings, inset = np.zeros((count, 2, 4)), np.zeros((count, 3))
    corners = [_corners(b, i) for i in range(count)]
    for i, points in enumerate(corners):
        if len(points):
            low, high = points.min(axis=0), points.max(axis=0)
            box[i] = *(0.5 * (low + high)), *(0.5 * (high - low))
        if e.kind[i] == CIRCLE or e.kind[i] > PLANE or (e.kind[i] == PLANE and e.size[i, 2] == 1.0):
            box[i] = np.concatenate(_reach(b, i))
        elif not len(points):
            box[i, 3:] = UNBOUNDED
    for edge in b.of_dimension(EDGE):
        tip[edge] = e.convexity[edge] == 1
        if e.kind[edge] != SEGMENT:
            continue
        along, middle = e.frame[edge, :, 2], e.frame[edge, :, 3]
        for k, face in enumerate(b.above(edge)):
            normal = e.frame[face, :, 2]
            into = np.cross(normal, along)
            ends = e.frame[b.below(edge), :, 3]
            into *= _turn_of(b, face, ends)
            wings[edge, k, :3] = into
            wings[edge, k, 3] = ((corners[face] - middle) @ into).max()
    for vertex in b.of_dimension(VERTEX):
        faces = sorted({int(f) for edge in b.above(vertex) for f in b.above(int(edge))})
        if not faces:  # an apex
            tip[vertex] = e.convexity[vertex] == 1
            continue
        normals = e.frame[faces, :, 2]
        inset[vertex] = -np.linalg.lstsq(normals, np.ones(len(faces)), rcond=None)[0]
        tip[vertex] = e.convexity[vertex] >= 0 and not any(_reflex(b, vertex, f) for f in faces)
    return tip, box, wings, inset


def _corners(b: Boundary, element: int) -> Array:
    """Vertices in the closure of an element, shape (k, 3) [m]."""
    dimension = b.elements.dimension
    return b.elements.frame[[i for i in b.closure(element) if dimension[i] == VERTEX], :, 3]


def _turn_of(b: Boundary, face: int, ends: Array) -> float:
    """+1 if an edge, from one end to the other, has the face on its left; −1 on its right."""
    for loop in b.loops(face):
        for tail, head in zip(loop, np.roll(loop, -1, axis=0), strict=True):
            for sign, pair in ((1.0, ends), (-1.0, ends[::-1])):
                if np.allclose((tail, head), pair, rtol=0.0, atol=1e-9 * np.ptp(loop)):
                    return sign
    raise AssertionError("an edge of a face is in none of its loops")


def _reflex(b: Boundary, vertex: int, face: int) -> bool:
    """Whether a face turns by more than 180° about one of its corners."""
    at = b.elements.frame[vertex, :, 3]
    normal = b.elements.frame[face, :, 2]
    for loop in b.loops(face):
        k = int(np.argmin(np.linalg.norm(loop - at, axis=1)))
        if np.linalg.norm(loop[k] - at) < 1e-9 * np.ptp(loop):
            before, after = at - loop[k - 1], loop[(k + 1) % len(loop)] - at
            return bool(np.cross(before, after) @ normal < 0.0)
    raise AssertionError("a corner of a face is in none of its loops")


# ---------------------------------------------------------------- in kernels


@kernel
def origin(s: Surface, e: int) -> Vec3:
    """Origin of an element's frame [m]."""
    f = off(s.frame, 12 * e)
    return (f[3], f[7], f[11])


@kernel
def axis(s: Surface, e: int) -> Vec3:
    """Z axis of an element's frame: normal of a plane, direction of a segment."""
    f = off(s.frame, 12 * e)
    return (f[2], f[6], f[10])


@kernel
def within(s: Surface, e: int, other: int) -> bool:
    """Whether an element is another one or bounds it."""
    for k in range(s.closure_start[other], s.closure_start[other + 1]):
        if s.closure[k] == e:
            return True
    return False


@kernel
def related(s: Surface, e: int, other: int) -> bool:
    """Whether an element is another one, bounds it, is bounded by it, or goes on in it smoothly."""
    if within(s, e, other) or within(s, other, e):
        return True
    for k in range(s.below_start[e], s.below_start[e + 1]):
        edge = s.below[k]
        if s.dimension[edge] == EDGE and s.convexity[edge] == 0 and within(s, edge, other):
            return True
    return False


@kernel
def place(body: Surface, at: Vec3, q: Quat, world: Surface) -> None:
    """Write frames, boxes, wings and insets of a body at a pose."""
    r = local_f8(9)
    matrix_into(q, r)
    for e in range(body.sizes[0]):
        f, g = off(body.frame, 12 * e), off(world.frame, 12 * e)
        for i in range(3):
            for k in range(4):
                g[4 * i + k] = r[3 * i] * f[k] + r[3 * i + 1] * f[4 + k] + r[3 * i + 2] * f[8 + k]
            g[4 * i + 3] += at[i]
        c, w = off(body.box, 6 * e), off(world.box, 6 * e)
        for i in range(3):
            w[i] = at[i] + r[3 * i] * c[0] + r[3 * i + 1] * c[1] + r[3 * i + 2] * c[2]
            w[3 + i] = abs(r[3 * i]) * c[3] + abs(r[3 * i + 1]) * c[4] + abs(r[3 * i + 2]) * c[5]
        if body.dimension[e] == EDGE:
            for k in range(2):
                _turn_into(r, off(body.wings, 8 * e + 4 * k), off(world.wings, 8 * e + 4 * k))
        elif body.dimension[e] != FACE:
            _turn_into(r, off(body.inset, 3 * e), off(world.inset, 3 * e))


@kernel
def _turn_into(r: PtrF8, v: PtrF8, v_out: PtrF8) -> None:
    """R v."""
    for i in range(3):
        v_out[i] = r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2]


@kernel
def boxes_meet(one: PtrF8, other: PtrF8, margin: float) -> bool:
    """Whether two bounding boxes come closer than a margin along every axis."""
    for i in range(3):
        if abs(one[i] - other[i]) > one[3 + i] + other[3 + i] + margin:
            return False
    return True


@kernel
def enclose(s: Surface, chosen: PtrI4, count: int, box_out: PtrF8) -> None:
    """Bounding box of the first `count` elements of a list."""
    for i in range(3):
        low, high = 4.0 * UNBOUNDED, -4.0 * UNBOUNDED
        for k in range(count):
            box = off(s.box, 6 * chosen[k])
            low = min(low, box[i] - box[3 + i])
            high = max(high, box[i] + box[3 + i])
        box_out[i], box_out[3 + i] = 0.5 * (low + high), 0.5 * (high - low)


@kernel
def near_elements(
    a: Surface, b: Surface, margin: float, of_a: PtrI4, of_b: PtrI4
) -> tuple[int, int]:
    """Lists of the elements of either surface that may be within a margin of the other.

    First those of B that meet the box around all of A, then those of A that meet the box around
    these.
    """
    box = local_f8(6)
    n = a.sizes[0]
    for e in range(n):
        of_a[e] = e
    enclose(a, of_a, n, box)
    count_b = 0
    for e in range(b.sizes[0]):
        if boxes_meet(box, off(b.box, 6 * e), margin):
            of_b[count_b] = e
            count_b += 1
    enclose(b, of_b, count_b, box)
    count_a = 0
    if count_b > 0:
        for e in range(n):
            if boxes_meet(box, off(a.box, 6 * e), margin):
                of_a[count_a] = e
                count_a += 1
    return count_a, count_b


def placed(body: Surface) -> Surface:
    """A surface to be placed: its own frames, boxes, wings and insets, the rest shared."""
    return body._replace(
        frame=body.frame.copy(),
        box=body.box.copy(),
        wings=body.wings.copy(),
        inset=body.inset.copy(),
    )
