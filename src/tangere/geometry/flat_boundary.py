"""Boundaries of polyhedra: from loops of corners, hulls, closed meshes and unions of boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.boundary import (
    EDGE,
    FACE,
    PLANE,
    POINT,
    SEGMENT,
    VERTEX,
    Boundary,
    Elements,
    made,
)
from tangere.geometry.edges import edges_of, groups
from tangere.geometry.outline import plane_axes
from tangere.geometry.shapes import Box, Compound, Mesh, Shape
from tangere.maths.rotations import rotation_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from tangere.geometry.polyhedron import Polyhedron
    from tangere.maths.vec import Array, IntArray

# Triangles whose normals differ by less belong to one face [rad]: far above the rounding of
# single-precision files, far below any bend that a modelled part means.
COPLANAR = 1e-5
# Coordinates of boxes in one union closer than this share of its size are one coordinate.
SAME_PLACE = 1e-9
# Above this a mesh is a tessellated curved surface, whose formations nobody could name.
MOST_FACES = 2000


def polyhedral_boundary(vertices: ArrayLike, faces: Sequence[Sequence[Sequence[int]]]) -> Boundary:
    """The boundary of a polyhedron, convex or not.

    Args:
        vertices: Its corners [m], shape (n, 3).
        faces: Of each face its loops of vertex numbers, seen from outside: the outer one first and
            counter-clockwise, then holes, clockwise.
    """
    points = np.asarray(vertices, float)
    uses: dict[tuple[int, int], int] = {}  # the face to the left of every directed edge
    for number, loops in enumerate(faces):
        for pair in (pair for loop in loops for pair in _pairs(loop)):
            if pair in uses:
                raise SceneError("boundary: more than two faces meet at one edge")
            uses[pair] = number
    if any((head, tail) not in uses for tail, head in uses):
        raise SceneError("boundary: the faces do not close a solid")
    edges = [(tail, head) for tail, head in uses if tail < head]
    corners = sorted({vertex for edge in edges for vertex in edge})
    planes = [_plane(points, loops) for loops in faces]
    sides = [(uses[edge], uses[edge[::-1]]) for edge in edges]
    bends = [_bend(points, edge, planes, pair) for edge, pair in zip(edges, sides, strict=True)]
    at = {vertex: i for i, vertex in enumerate(corners)}
    edge_at = {edge: len(at) + i for i, edge in enumerate(edges)}
    edge_at |= {edge[::-1]: i for edge, i in edge_at.items()}
    first_face = len(at) + len(edges)
    count = first_face + len(faces)

    below: list[list[int]] = [[] for _ in range(count)]
    for edge in edges:
        below[edge_at[edge]] = [at[edge[0]], at[edge[1]]]
    for number, loops in enumerate(faces):
        below[first_face + number] = [edge_at[pair] for loop in loops for pair in _pairs(loop)]
    above: list[list[int]] = [[] for _ in range(count)]
    for element, others in enumerate(below):
        for other in others:
            above[other].append(element)

    frame, size = np.zeros((count, 3, 4)), np.zeros((count, 4))
    frame[: len(at), :, :3] = np.eye(3)
    frame[: len(at), :, 3] = points[corners]
    for edge in edges:
        along = points[edge[1]] - points[edge[0]]
        length = float(np.linalg.norm(along))
        z = along / length
        middle = 0.5 * (points[edge[0]] + points[edge[1]])
        frame[edge_at[edge]] = np.column_stack((*plane_axes(z), z, middle))
        size[edge_at[edge], 0] = 0.5 * length
    frame[first_face:] = planes
    flat = [
        (points[loop] - plane[:, 3]) @ plane[:, :2]
        for plane, loops in zip(planes, faces, strict=True)
        for loop in map(list, loops)
    ]
    convexity = np.zeros(count, np.int8)
    convexity[len(at) : first_face] = bends
    for vertex in range(len(at)):
        kinds = set(convexity[above[vertex]].tolist())
        convexity[vertex] = kinds.pop() if len(kinds) == 1 else 0

    dimension = np.repeat(
        np.array([VERTEX, EDGE, FACE], np.int8), [len(at), len(edges), len(faces)]
    )
    return made(
        Elements(
            dimension=dimension,
            kind=np.array([POINT, SEGMENT, PLANE], np.int8)[dimension],
            frame=frame,
            size=size,
            side=np.ones(count, np.int8),
            convexity=convexity,
            below_start=_starts(below),
            below=_joined(below),
            above_start=_starts(above),
            above=_joined(above),
            face_loops=_starts([[]] * first_face + [list(loops) for loops in faces]),
            loop_start=_starts(flat),
            loop_points=np.concatenate(flat),
        ),
        _names(points[corners], planes, sides, [above[v] for v in range(len(at))], len(at)),
    )


def _pairs(loop: Sequence[int]) -> list[tuple[int, int]]:
    """Directed edges of a loop."""
    return list(zip(loop, (*loop[1:], loop[0]), strict=True))


def _plane(points: Array, loops: Sequence[Sequence[int]]) -> Array:
    """Frame [R | p] of a face: z outward, the origin in the middle of its outer corners."""
    outer = points[list(loops[0])]
    middle = outer.mean(axis=0)
    arms = outer - middle
    area = np.cross(arms, np.roll(arms, -1, axis=0)).sum(axis=0)
    size = float(np.linalg.norm(area))
    if size == 0.0:
        raise SceneError("boundary: a face has no area")
    normal = area / size + 0.0
    return np.column_stack((*plane_axes(normal), normal, middle))


def _bend(points: Array, edge: tuple[int, int], planes: list[Array], pair: tuple[int, int]) -> int:
    """+1 for a convex edge, −1 for a concave one, 0 where the faces go on smoothly.

    With the edge along e, the face on its left goes off along t = n × e. The solid is convex there
    if t leads below the other face: t·n′ < 0.
    """
    along = points[edge[1]] - points[edge[0]]
    normal, other = planes[pair[0]][:, 2], planes[pair[1]][:, 2]
    rise = float(np.cross(normal, along / np.linalg.norm(along)) @ other)
    return 0 if abs(rise) < COPLANAR and normal @ other > 0.0 else (1 if rise < 0.0 else -1)


def _names(
    corners: Array,
    planes: list[Array],
    sides: list[tuple[int, int]],
    at: list[list[int]],
    first: int,
) -> tuple[str, ...]:
    """Names by direction where all faces look along an axis, numbers elsewhere.

    A face furthest out along its normal is a face, one further in the wall of a hole or a step.
    """
    numbered = (
        [f"vertex {i}" for i in range(len(corners))],
        [f"edge {i}" for i in range(len(sides))],
        [f"face {i}" for i in range(len(planes))],
    )
    labels, kinds = [], []
    for plane in planes:
        normal = plane[:, 2]
        axis = int(np.argmax(np.abs(normal)))
        if abs(normal[axis]) < 1.0 - SAME_PLACE:
            return tuple(name for names in numbered for name in names)
        height = float(corners[:, axis].max() if normal[axis] > 0.0 else -corners[:, axis].min())
        inner = height - float(normal @ plane[:, 3]) > SAME_PLACE * float(np.ptp(corners))
        labels.append(f"{'+' if normal[axis] > 0.0 else '-'}{'xyz'[axis]}")
        kinds.append("wall" if inner else "face")
    faces = _unique([f"{kind} {label}" for kind, label in zip(kinds, labels, strict=True)])
    short = [name.removeprefix("face ") for name in faces]
    edges = _unique(["edge " + _listed({short[f] for f in pair}) for pair in sides])
    around = [{short[f] for edge in edges_at for f in sides[edge - first]} for edges_at in at]
    vertices = _unique(["vertex " + _listed(names) for names in around])
    return (*vertices, *edges, *faces)


def _listed(labels: set[str]) -> str:
    """Labels in the order x, y, z; those of walls last."""
    return " ".join(sorted(labels, key=lambda name: (name.startswith("wall"), name[-1:], name)))


def _unique(names: list[str]) -> list[str]:
    """Names that stand more than once with a number each."""
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(f"{name} {seen[name]}" if names.count(name) > 1 else name)
    return made


def of_convex(solid: Polyhedron) -> Boundary:
    """The boundary of a convex polyhedron, whose faces are merged already."""
    pairs = zip(solid.loop_start[:-1], solid.loop_start[1:], strict=True)
    faces = [[solid.loops[start:stop].tolist()] for start, stop in pairs]
    return polyhedral_boundary(solid.vertices, faces)


def of_mesh(mesh: Mesh) -> Boundary:
    """The boundary of a closed mesh: coplanar neighbours make one face."""
    points, triangles = mesh.vertices, mesh.faces
    p, q, r = (points[triangles[:, i]] for i in range(3))
    normal = np.cross(q - p, r - p)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    edges = edges_of(triangles, len(points))
    if (edges.uses != 2).any():
        raise SceneError("boundary: more than two faces meet at one edge of the mesh")
    order = np.argsort(edges.edge, kind="stable")
    one, two = order[::2] // 3, order[1::2] // 3
    # sin of the angle between two normals, which the cosine shows with half the digits alone
    bend = np.linalg.norm(np.cross(normal[one], normal[two]), axis=1)
    flat = (bend < COPLANAR) & (np.einsum("ij,ij->i", normal[one], normal[two]) > 0.0)
    label = groups(one[flat], two[flat], len(triangles))
    return _merged(points, triangles.tolist(), label.tolist())


def _boxes_in(shape: Shape, rotation: Array, position: Array) -> list[tuple[Array, Array, Array]]:
    """Size, rotation and position of every box in a shape."""
    if isinstance(shape, Box):
        return [(shape.size, rotation, position)]
    if not isinstance(shape, Compound):
        raise SceneError(
            f"boundary: a compound with a {type(shape).__name__} is not supported; "
            "give one closed mesh"
        )
    return [
        box
        for part, (place, orientation) in zip(shape.shapes, shape.poses, strict=True)
        for box in _boxes_in(part, rotation @ rotation_of(orientation), rotation @ place + position)
    ]


def has_boxes(shape: Compound) -> bool:
    """Whether there is a box among the parts."""
    return any(
        isinstance(x, Box) or (isinstance(x, Compound) and has_boxes(x)) for x in shape.shapes
    )


def of_boxes(shape: Compound) -> Boundary:
    """The boundary of a compound of boxes with common axes, which may overlap.

    All their sides cut space into a grid of cells, each inside some box or outside all of them. The
    faces are the sides between a cell inside and one outside, joined where they lie in one plane.
    """
    boxes = _boxes_in(shape, np.eye(3), np.zeros(3))
    _, axes, origin = boxes[0]
    corners = np.empty((len(boxes), 2, 3))
    for i, (size, rotation, position) in enumerate(boxes):
        relative = axes.T @ rotation
        if np.abs(np.abs(relative).max(axis=0) - 1.0).max() > SAME_PLACE:
            raise SceneError(
                "boundary: boxes of a compound are turned against each other; give one closed mesh"
            )
        half, middle = 0.5 * np.abs(np.round(relative)) @ size, axes.T @ (position - origin)
        corners[i] = middle - half, middle + half
    near = SAME_PLACE * float(np.ptp(corners))
    lines, cells = [], []
    for axis in range(3):
        line, number = _distinct(corners[:, :, axis], near)
        lines.append(line)
        cells.append(number)
    full = np.zeros([len(line) + 1 for line in lines], bool)  # one empty cell all around
    for i in range(len(boxes)):
        x, y, z = (slice(cells[axis][i, 0] + 1, cells[axis][i, 1] + 1) for axis in range(3))
        full[x, y, z] = True
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
    squares, label = _cell_sides(full, [len(line) for line in lines])
    return _merged(points @ axes.T + origin, squares, label)


def _distinct(values: Array, near: float) -> tuple[Array, IntArray]:
    """Ascending values, those within `near` as one, and for each given one its number."""
    flat = np.sort(values.ravel())
    lines = flat[np.concatenate(([True], np.diff(flat) > near))]
    return lines, np.searchsorted(lines, values + near, side="right").astype(np.int32) - 1


def _cell_sides(full: NDArray[np.bool_], shape: list[int]) -> tuple[list[list[int]], list[int]]:
    """Outward squares between full and empty cells as grid points, and for each its face."""
    squares: list[list[int]] = []
    label: list[int] = []
    count = 0
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for sign in (1, -1):
            bare = np.argwhere(full & ~np.roll(full, -sign, axis=axis))
            found: dict[tuple[int, ...], int] = {}
            for cell in map(tuple, bare.tolist()):
                found[cell] = len(squares)
                ring = []
                for du, dv in ((0, 0), (1, 0), (1, 1), (0, 1))[::sign]:
                    at = list(cell)  # padded by one: cell i lies between lines i − 1 and i
                    at[axis] += -1 if sign < 0 else 0
                    at[u] += du - 1
                    at[v] += dv - 1
                    ring.append((at[0] * shape[1] + at[1]) * shape[2] + at[2])
                squares.append(ring)
                label.append(-1)
            for cell in found:
                if label[found[cell]] < 0:
                    count += 1
                    _spread(cell, found, (u, v), label, count - 1)
    return squares, label


def _spread(
    cell: tuple[int, ...],
    found: dict[tuple[int, ...], int],
    across: tuple[int, int],
    label: list[int],
    number: int,
) -> None:
    """Give a square, its neighbours in the plane, theirs and so on the same label."""
    stack = [cell]
    label[found[cell]] = number
    while stack:
        at = stack.pop()
        for axis in across:
            for step in (-1, 1):
                other = tuple(x + step * (i == axis) for i, x in enumerate(at))
                if other in found and label[found[other]] < 0:
                    label[found[other]] = number
                    stack.append(other)


def _merged(points: Array, polygons: list[list[int]], label: list[int]) -> Boundary:
    """The boundary where polygons of one label are one face."""
    if max(label) >= MOST_FACES:
        raise SceneError(
            f"boundary: {max(label) + 1} flat faces, at most {MOST_FACES} are accepted"
        )
    following: list[dict[int, int]] = [{} for _ in range(max(label) + 1)]
    inner = {(b, a, k) for loop, k in zip(polygons, label, strict=True) for a, b in _pairs(loop)}
    around: dict[int, set[int]] = {}
    for loop, k in zip(polygons, label, strict=True):
        for a, b in _pairs(loop):
            around.setdefault(a, set()).add(k)
            if (a, b, k) in inner:
                continue
            if a in following[k]:
                raise SceneError("boundary: a face touches itself at one point")
            following[k][a] = b
    # A corner of two faces alone lies within a straight edge.
    faces = [[[v for v in loop if len(around[v]) > 2] for loop in _loops(f)] for f in following]
    ordered = [_outer_first(points, loops) for loops in faces]
    return polyhedral_boundary(points, ordered)


def _loops(following: dict[int, int]) -> list[list[int]]:
    """Closed loops of a permutation of vertices."""
    left, loops = dict(following), []
    while left:
        first, vertex = left.popitem()
        loop = [first]
        while vertex != first:
            loop.append(vertex)
            vertex = left.pop(vertex)
        loops.append(loop)
    return loops


def _outer_first(points: Array, loops: list[list[int]]) -> list[list[int]]:
    """The loop that encloses most first."""
    if any(len(loop) < 3 for loop in loops):
        raise SceneError("boundary: a face has fewer than three corners")
    area = []
    for loop in loops:
        arms = points[loop] - points[loop[0]]
        area.append(float(np.linalg.norm(np.cross(arms, np.roll(arms, -1, axis=0)).sum(axis=0))))
    first = int(np.argmax(area))
    return [loops[first], *loops[:first], *loops[first + 1 :]]


def _starts(rows: Sequence[Sequence[object] | Array]) -> IntArray:
    return np.cumsum([0, *map(len, rows)]).astype(np.int32)


def _joined(rows: list[list[int]]) -> IntArray:
    return np.array([x for row in rows for x in row], np.int32)
