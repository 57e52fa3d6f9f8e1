"""Contact levels of detail of one surface [OTADUY2003].

Level 0 are the convex pieces of the surface itself. From level to level the triangles halve by
filtered edge collapse that keeps the pieces convex, and pieces that touch are joined where their
union is convex: a piece's children are the pieces that it was joined from, so that one tree is both
bounding volumes and levels of detail. What cannot be joined any more hangs in an ordinary tree of
balls, whose nodes only bound.

A node knows how far its surface is from level 0: that is measured, what it was made from need not
be trusted. What is below it may stick out of the hull of its own, simplified surface; it is bounded
by a second hull, of some extreme points of level 0, and by how far the rest sticks out of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere._jit import cache_root, kernel
from tangere._ptr import PtrF8
from tangere.collision.levels.deviation import deviations, inflations
from tangere.collision.levels.pieces import (
    Parts,
    convex_pieces,
    merged,
    parts_of,
    planes_of,
)
from tangere.collision.levels.simplify import collapse_to, edge_lengths, fans_of, typical_edge
from tangere.geometry.disk_cache import content_hash, read_arrays, write_arrays
from tangere.geometry.mesh import checked_mesh
from tangere.maths.vec import Array, IntArray, LongArray

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

CACHE_FORMAT = "tangere-levels-4"
# On level 0 a vertex this share of the size above a plane counts as on it.
FLAT = 1e-6
# On coarser levels a vertex may be this share of the typical edge above a plane of its own piece.
BULGE = 0.02
MAX_LEVELS = 24
# A level that has less than this share fewer pieces than the one before is not worth having.
LEAST_GAIN = 0.05
# A level whose usual deviation is more than this share of the size is of no use.
COARSEST = 0.03

# Columns of a node
NODE_CENTRE = 0  # 3: of a ball around all of level 0 below the node, and its own vertices [m]
NODE_RADIUS = 3  # [m]
NODE_DEVIATION = 4  # s: distance of the node's surface and level 0 [m]
NODE_INFLATION = 5  # h: how far level 0 below the node sticks out of the hull of its bounds [m]
NODE_EDGE = 6  # 1/r: mean length of the node's edges [m]
NODE_AREA = 7  # of its triangles [m²]
NODE_AXIS = 8  # 3: mean outward normal, of length ≤ 1
NODE_CONE = 11  # least cosine of that direction and a normal, of level 0 too; −1: any
NODE_SLACK = 12  # how far its surface may be below its hull [m]
NODE_LOW = 13  # 3: least coordinates of level 0 below the node [m]
NODE_HIGH = 16  # 3: largest
NNODE = 19
CHILD, CHILDREN, VERTEX, VERTICES, TRIANGLE, TRIANGLES, LEVEL, BOUND, BOUNDS = range(9)
NBRANCH = 9
# Extreme points of level 0 below a node are taken in so many directions.
MAX_BOUNDS = 26
# Columns of a triangle of a node
FACE_NORMAL = 0  # 3
FACE_AREA = 3
NFACE = 4


class Levels(NamedTuple):
    """Nodes from the root down; the children of a node follow one another.

    | field     | meaning                                                        | shape         |
    | nodes     | NODE_… of each                                                 | (n, NNODE)    |
    | links     | CHILD, …, LEVEL of each: first child, number of children,      | (n, NBRANCH)  |
    |           | first vertex and so on; no vertices: the node only bounds;     | int64         |
    |           | first bound, number of bounds                                  |               |
    | vertices  | of all nodes [m]                                               | (…, 3)        |
    | corners   | of all triangles, counted from the node's first vertex         | (…, 3) int64  |
    | faces     | FACE_… of all triangles                                        | (…, NFACE)    |
    | sources   | triangle of the mesh, of those of level 0; else −1             | (…,) int64    |
    | bounds    | extreme points of level 0 below each node [m]                  | (…, 3)        |
    """

    nodes: Array
    links: LongArray
    vertices: Array
    corners: LongArray
    faces: Array
    sources: LongArray
    bounds: Array


class LevelSet(NamedTuple):
    """Levels of several shapes, one after the other; children, vertices … by number of the whole.

    | field    | as in Levels, and                | shape         |
    | roots    | root of each shape               | (s,) int64    |
    """

    nodes: Array
    links: LongArray
    vertices: Array
    corners: LongArray
    faces: Array
    bounds: Array
    roots: LongArray


def gather(levels: list[Levels]) -> LevelSet:
    """Levels of several shapes in one set of arrays."""
    links = []
    node = vertex = triangle = bound = 0
    roots = []
    for each in levels:
        moved = each.links.copy()
        moved[:, CHILD] += node
        moved[:, VERTEX] += vertex
        moved[:, TRIANGLE] += triangle
        moved[:, BOUND] += bound
        roots.append(node)
        node += len(each.nodes)
        vertex += len(each.vertices)
        triangle += len(each.faces)
        bound += len(each.bounds)
        links.append(moved)
    return LevelSet(
        np.concatenate([each.nodes for each in levels]),
        np.concatenate(links),
        np.concatenate([each.vertices for each in levels]),
        np.concatenate([each.corners for each in levels]),
        np.concatenate([each.faces for each in levels]),
        np.concatenate([each.bounds for each in levels]),
        np.array(roots, dtype=np.int64),
    )


@kernel
def coarseness(node: PtrF8) -> float:
    """Detail that a node has lost: s ℓ² [m³]."""
    return float(node[NODE_DEVIATION] * node[NODE_EDGE] * node[NODE_EDGE])


def contact_levels(
    vertices: ArrayLike,
    triangles: ArrayLike,
    *,
    progress: Callable[[float], None] | None = None,
    what: str = "Levels",
) -> Levels:
    """Contact levels of a closed surface, from the cache where they were built before.

    Args:
        vertices: [m], shape (n, 3).
        triangles: Vertex indices, counter-clockwise seen from outside, shape (t, 3).
        progress: Told the share that is done, 0 to 1.
        what: Name of the body for errors.

    Raises:
        SceneError: The surface is open or encloses nothing.
    """
    points, faces = checked_mesh(vertices, triangles, what)
    path = levels_path(points, faces)
    stored = read_arrays(path)
    if stored is None:
        stored = build(points, faces.astype(np.int64), progress)._asdict()
        write_arrays(path, stored)
    if progress is not None:
        progress(1.0)
    return Levels(**stored)


def levels_path(points: Array, faces: IntArray) -> Path:
    """File that levels are kept in, if they were built before."""
    return cache_root() / "levels" / f"{content_hash((CACHE_FORMAT, points, faces))}.npz"


def build(
    points: Array, corners: LongArray, progress: Callable[[float], None] | None = None
) -> Levels:
    """The levels of a closed surface, the cache left aside."""
    points, corners = np.array(points), np.array(corners)  # writable: kernels know one kind
    size = float(np.linalg.norm(np.ptp(points[corners], axis=(0, 1))))
    mesh, original = points.copy(), points[corners]
    planes = planes_of(points, corners)
    home = convex_pieces(points, corners, FLAT * size)  # piece of every triangle of level 0
    parts = parts_of(mesh, corners, planes, home.copy())
    fans = fans_of(parts)
    tree = _Tree(planes[:, :3], original)
    tree.add_level(parts, home, FLAT * size, [[] for _ in parts.first], COARSEST * size)
    living = len(corners)
    if progress is not None:
        progress(0.2)
    for level in range(1, MAX_LEVELS):
        edge = typical_edge(mesh, corners[parts.piece >= 0])
        slack = BULGE * edge
        before = living, len(parts.first)
        living = collapse_to(parts, fans, living // 2, slack)
        number = merged(parts, slack)
        piece = np.where(parts.piece >= 0, number[parts.piece], -1)
        parts = parts_of(mesh, corners, planes, piece)
        if living == before[0] and len(parts.first) == before[1]:
            break
        if len(parts.first) > (1.0 - LEAST_GAIN) * before[1] and living > 0.75 * before[0]:
            break
        home = number[home]
        if not tree.add_level(parts, home, slack, _grouped(number), COARSEST * size):
            break
        if progress is not None:
            progress(1.0 - 0.8 * 0.7**level)
        if len(parts.first) == 1:
            break
    return tree.finished()


def _grouped(number: LongArray) -> list[list[int]]:
    """Old numbers that became each new number."""
    groups: list[list[int]] = [[] for _ in range(int(number.max()) + 1)]
    for old, new in enumerate(number.tolist()):
        groups[new].append(old)
    return groups


class _Tree:
    """Nodes as they are made, from the leaves up; `top` are those of the pieces of today."""

    def __init__(self, normals: Array, original: Array) -> None:
        """normals: of the triangles of level 0, original: their corners."""
        self.normals, self.original = normals, original
        self.area = 0.5 * np.linalg.norm(
            np.cross(original[:, 1] - original[:, 0], original[:, 2] - original[:, 0]), axis=1
        )
        self.rows: list[Array] = []
        self.level: list[int] = []
        self.children: list[list[int]] = []
        self.shapes: list[tuple[Array, LongArray, LongArray]] = []
        self.bounds: list[Array] = []
        self.top: list[int] = []
        self.levels = 0
        self.root = 0

    def add_level(
        self,
        parts: Parts,
        home: LongArray,
        slack: float,
        groups: list[list[int]],
        coarsest: float,
    ) -> bool:
        """A node for every piece, unless the level deviates too much; returns whether it does not.

        groups: numbers of the pieces before that each was made of.
        """
        shapes = _shapes(parts)
        measures, bounds = self._measured(parts, home, slack, shapes)
        if np.median(measures[:, NODE_DEVIATION]) > coarsest:
            return False
        top = []
        for p, shape in enumerate(shapes):
            old = [self.top[i] for i in groups[p]]
            if len(old) == 1 and _same(self.shapes[old[0]], shape):
                top.append(old[0])
                continue
            top.append(len(self.rows))
            self.rows.append(measures[p])
            self.level.append(self.levels)
            self.children.append(old)
            self.shapes.append(shape)
            self.bounds.append(bounds[p])
        self.top = top
        self.levels += 1
        return True

    def _measured(
        self,
        parts: Parts,
        home: LongArray,
        slack: float,
        shapes: list[tuple[Array, LongArray, LongArray]],
    ) -> tuple[Array, list[Array]]:
        count = len(shapes)
        rows = np.zeros((count, NNODE))
        alive = parts.piece >= 0
        own, corners = parts.piece[alive], parts.points[parts.corners[alive]]
        low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
        for piece, where in ((home, self.original), (own, corners)):
            np.minimum.at(low, piece, where.min(axis=1))
            np.maximum.at(high, piece, where.max(axis=1))
        centre = 0.5 * (low + high)
        rows[:, NODE_LOW : NODE_LOW + 3], rows[:, NODE_HIGH : NODE_HIGH + 3] = low, high
        radius = np.zeros(count)
        for piece, where in ((home, self.original), (own, corners)):
            away = np.linalg.norm(where - centre[piece][:, None], axis=2).max(axis=1)
            np.maximum.at(radius, piece, away)
        rows[:, NODE_CENTRE : NODE_CENTRE + 3] = centre
        rows[:, NODE_RADIUS] = radius
        now = parts.planes[alive, :3]
        area = 0.5 * np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        )
        rows[:, NODE_AREA] = np.bincount(own, area, minlength=count)
        edges = edge_lengths(parts.points, parts.corners[alive]).mean(axis=1)
        rows[:, NODE_EDGE] = np.bincount(own, edges, minlength=count) / parts.living
        total = np.zeros((count, 3))
        np.add.at(total, own, area[:, None] * now)
        axis = total / np.maximum(rows[:, NODE_AREA], 1e-300)[:, None]
        rows[:, NODE_AXIS : NODE_AXIS + 3] = axis
        length = np.linalg.norm(axis, axis=1)
        unit = axis / np.maximum(length, 1e-300)[:, None]
        cone = np.where(length > 1e-9, 1.0, -1.0)
        for piece, normals in ((home, self.normals), (own, now)):
            np.minimum.at(cone, piece, np.einsum("ij,ij->i", unit[piece], normals))
        rows[:, NODE_CONE] = cone
        rows[:, NODE_SLACK] = slack
        rows[:, NODE_INFLATION], bounds = _bounded(
            np.repeat(home, 3), self.original.reshape(-1, 3), count
        )
        if self.levels > 0:
            around = _around(parts, own)
            there, back = deviations((self.original, home), (corners, own), around, count)
            rows[:, NODE_DEVIATION] = np.maximum(there, back)
        return rows, bounds

    def finished(self) -> Levels:
        """All nodes under one root, numbered from there."""
        self._join_top()
        order, begin = [self.root], 0
        while begin < len(order):
            order += self.children[order[begin]]
            begin += 1
        number = {old: new for new, old in enumerate(order)}
        links = np.zeros((len(order), NBRANCH), dtype=np.int64)
        corners, faces, vertices, sources = [], [], [], []
        vertex, triangle, bound = 0, 0, 0
        for new, old in enumerate(order):
            points, shape, source = self.shapes[old]
            below = self.children[old]
            links[new] = (
                number[below[0]] if below else 0, len(below), vertex, len(points), triangle,
                len(shape), self.level[old], bound, len(self.bounds[old]),
            )  # fmt: skip
            bound += len(self.bounds[old])
            vertex += len(points)
            triangle += len(shape)
            p = points[shape]
            cross = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
            length = np.linalg.norm(cross, axis=1)
            unit = cross / np.maximum(length, 1e-300)[:, None]
            vertices.append(points)
            corners.append(shape)
            faces.append(np.column_stack((unit, 0.5 * length)))
            sources.append(source if self.level[old] == 0 else np.full_like(source, -1))
        return Levels(
            np.array([self.rows[old] for old in order]),
            links,
            np.concatenate(vertices),
            np.concatenate(corners),
            np.concatenate(faces),
            np.concatenate(sources),
            np.concatenate([self.bounds[old] for old in order]),
        )

    def _join_top(self) -> None:
        """Halves across the longest side until one node bounds all; these have no surface."""
        nothing = (np.zeros((0, 3)), np.zeros((0, 3), np.int64), np.zeros(0, np.int64))

        def join(members: list[int]) -> int:
            if len(members) == 1:
                return members[0]
            places = np.array([self.rows[i][:3] for i in members])
            order = np.argsort(places[:, int(np.argmax(np.ptp(places, axis=0)))], kind="stable")
            half = len(members) // 2
            below = [join([members[i] for i in part]) for part in (order[:half], order[half:])]
            row = np.zeros(NNODE)
            row[NODE_CENTRE : NODE_RADIUS + 1] = _ball([self.rows[i] for i in below])
            row[NODE_CONE] = -1.0
            both = np.array([self.rows[i] for i in below])
            row[NODE_LOW:NODE_HIGH] = both[:, NODE_LOW:NODE_HIGH].min(axis=0)
            row[NODE_HIGH:] = both[:, NODE_HIGH:].max(axis=0)
            points = np.concatenate([self.bounds[i] for i in below])
            sticks, bounds = _bounded(np.zeros(len(points), np.int64), points, 1)
            row[NODE_INFLATION] = sticks[0] + max(self.rows[i][NODE_INFLATION] for i in below)
            self.bounds += bounds
            self.rows.append(row)
            self.level.append(self.levels)
            self.children.append(below)
            self.shapes.append(nothing)
            return len(self.rows) - 1

        self.root = join(self.top)


def _bounded(piece: LongArray, points: Array, count: int) -> tuple[Array, list[Array]]:
    """Extreme points of each piece, and how far the others stick out of their hull [m].

    Extreme in the 26 directions to the corners, edges and faces of a box along the principal axes.
    """
    many = np.maximum(np.bincount(piece, minlength=count), 1.0)[:, None]
    mean = np.stack([np.bincount(piece, x, minlength=count) for x in points.T], axis=1) / many
    away = points - mean[piece]
    second = np.empty((count, 3, 3))
    for i in range(3):
        for j in range(3):
            second[:, i, j] = np.bincount(piece, away[:, i] * away[:, j], minlength=count)
    axes = np.linalg.eigh(second)[1]  # columns
    along = np.einsum("nji,nj->ni", axes[piece], away)
    order = np.argsort(piece, kind="stable")
    own, sorted_points = piece[order], np.ascontiguousarray(points[order])
    starts = np.searchsorted(own, np.arange(count + 1)).astype(np.int64)
    # sides of the box differ, and so do the directions to its corners
    low = np.minimum.reduceat(along[order], starts[:-1])
    half = np.maximum(0.5 * (np.maximum.reduceat(along[order], starts[:-1]) - low), 1e-300)
    along = along[order] / half[own]
    extreme = np.empty((MAX_BOUNDS, count), dtype=np.int64)
    signs = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]
    for row, sign in enumerate(s for s in signs if s != (0, 0, 0)):
        height = along @ np.array(sign, dtype=np.float64)
        best = np.maximum.reduceat(height, starts[:-1])
        at = np.flatnonzero(height == best[own])
        _, first = np.unique(own[at], return_index=True)
        extreme[row] = at[first]
    bounds = [np.unique(sorted_points[extreme[:, p]], axis=0) for p in range(count)]
    hulls = np.concatenate(bounds)
    hull_start = np.cumsum([0, *map(len, bounds)]).astype(np.int64)
    sticks = np.zeros(count)
    inflations(sorted_points, starts, hulls, hull_start, sticks)
    return sticks, bounds


def _ball(rows: list[Array]) -> Array:
    """Least ball around two balls: centre and radius."""
    (a, ra), (b, rb) = ((row[:3], row[NODE_RADIUS]) for row in rows)
    apart = float(np.linalg.norm(b - a))
    if apart + rb <= ra:
        return np.array([*a, ra])
    if apart + ra <= rb:
        return np.array([*b, rb])
    radius = 0.5 * (apart + ra + rb)
    return np.array([*(a + (radius - ra) / apart * (b - a)), radius * (1.0 + 1e-12)])


def _same(
    one: tuple[Array, LongArray, LongArray], other: tuple[Array, LongArray, LongArray]
) -> bool:
    return (
        len(one[2]) == len(other[2])
        and bool((one[2] == other[2]).all())
        and np.array_equal(one[0][one[1]], other[0][other[1]])
    )


def _shapes(parts: Parts) -> list[tuple[Array, LongArray, LongArray]]:
    """Vertices, corners and triangle numbers of every piece."""
    alive = np.flatnonzero(parts.piece >= 0)
    order = alive[np.argsort(parts.piece[alive], kind="stable")]
    ends = np.cumsum(parts.living)
    shapes = []
    for p in range(len(parts.first)):
        triangles = order[ends[p] - parts.living[p] : ends[p]]
        used, local = np.unique(parts.corners[triangles], return_inverse=True)
        shapes.append((parts.points[used], local.reshape(-1, 3).astype(np.int64), triangles))
    return shapes


def _around(parts: Parts, own: LongArray) -> LongArray:
    """Pieces that share a vertex with each piece, itself first, filled up with −1."""
    from scipy.sparse import coo_array

    vertex = parts.corners[parts.piece >= 0].ravel()
    piece = np.repeat(own, 3)
    count = len(parts.first)
    ones = np.ones(len(vertex), dtype=np.int32)
    touch = coo_array((ones, (piece, vertex)), shape=(count, len(parts.points))).tocsr()
    graph = (touch @ touch.T).tocoo()
    row, col = graph.coords
    keep = row != col
    row, col = row[keep], col[keep]
    order = np.lexsort((col, row))
    row, col = row[order], col[order]
    sizes = np.bincount(row, minlength=count)
    out = np.full((count, 1 + int(sizes.max(initial=0))), -1, dtype=np.int64)
    out[:, 0] = np.arange(count)
    begins = np.concatenate(([0], np.cumsum(sizes)))
    out[row, 1 + np.arange(len(row)) - begins[row]] = col
    return out
