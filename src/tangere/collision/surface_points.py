"""Sample points of a surface with their normals, and a tree of balls around them.

Points are spread like a Poisson disc: candidates in a fixed order, each kept unless a kept one with
a similar normal is too near. Vertices of sharp edges come first, then points along such edges, then
points on the faces; where a body is to rest, its other vertices, too, and all of them if they are
few. Nothing is random: the same surface gives the same points.
"""

from __future__ import annotations

from math import floor, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import cache_root, kernel
from tangere._ptr import off, ptr
from tangere.collision.closed_surface import (
    double_areas,
    edge_numbers,
    surface_of,
)
from tangere.collision.distance_field import CACHE_FOLDER, sample_field, shown
from tangere.collision.field_build import Field, Tell
from tangere.geometry.disk_cache import content_hash, read_arrays, write_arrays
from tangere.maths.vec import Array, IntArray, LongArray

if TYPE_CHECKING:
    from pathlib import Path

# An edge is sharp when its faces meet at more than 40°: a tube of 16 sides is smooth, a box is not.
SHARP = np.cos(np.deg2rad(40.0))
# Random discs of diameter s stop fitting at 0.70 / s² points per area: one per spacing².
DISC = 0.83
# Candidates per point kept.
CANDIDATES = 6.0
# Two points hide each other only when their normals are within 60°: both sides of a sheet stay.
SAME_SIDE = 0.5
# Points deeper than this, in spacings of the field, lie inside another part of the same body.
BURIED = 0.5
# Vertices are points, however close, if they are no more than this share of all: bodies of few
# faces rest on them.
FEW = 0.25
LEAF = 8
CACHE_FORMAT = "tangere-samples-6"

# Columns of a point
POINT = 0  # 3: [m]
OUTWARD = 3  # 3: unit normal
NPOINT = 6
# Columns of a node of the tree
BALL = 0  # 3 + 1: centre and radius [m]
NBALL = 4
FIRST, LAST, LEFT, RIGHT = 0, 1, 2, 3  # points; children, −1 for a leaf
NLINK = 4


class Samples(NamedTuple):
    """Points of a surface, in the order of their tree.

    | field   | meaning                                      | shape             |
    | points  | POINT, OUTWARD                               | (n, NPOINT)       |
    | balls   | BALL of each node                            | (m, NBALL)        |
    | links   | FIRST, LAST, LEFT, RIGHT of each node        | (m, NLINK) int64  |
    | spacing | s: one point stands for an area s² [m]       |                   |
    """

    points: Array
    balls: Array
    links: LongArray
    spacing: float


def surface_samples(
    points: Array,
    faces: IntArray,
    field: Field,
    most: int,
    *,
    vertices: bool = False,
    what: str = "Points",
    tell: Tell | None = None,
) -> Samples:
    """Sample points about as far apart as the field's nodes, from the cache where known.

    Args:
        points: Vertices [m], shape (n, 3).
        faces: Triangles of a closed surface, shape (t, 3).
        field: Its distance field: points inside another part of the body are left out.
        most: About so many points at most; a larger surface gets them further apart.
        vertices: Take vertices of smooth edges, too; of a surface of few faces all, however close.
        what: Name of the body for the bar on the terminal.
        tell: Called with the share that is done and what is being done; None: a bar on the
            terminal, if it takes long.
    """
    spacing = sample_spacing(points, faces, field, most)
    path = samples_path(points, faces, field, spacing, vertices)
    stored = read_arrays(path)
    if stored is None:
        made = shown(
            f"{what}: sample points",
            tell,
            lambda t: scatter(points, faces, field, spacing, t, vertices=vertices),
        )
        stored = {"points": made.points, "balls": made.balls, "links": made.links}
        write_arrays(path, stored)
    return Samples(stored["points"], stored["balls"], stored["links"], spacing)


def sample_spacing(points: Array, faces: IntArray, field: Field, most: int) -> float:
    """How far apart the points are [m]: as the field's nodes, or so that there are not too many."""
    return max(field.spacing, sqrt(_areas(points, faces).sum() / most))


def samples_path(
    points: Array, faces: IntArray, field: Field, spacing: float, vertices: bool = False
) -> Path:
    """File that samples are kept in, if they were made before."""
    settings = (CACHE_FORMAT, vertices, spacing, field.spacing, field.margin)
    surface = np.ascontiguousarray(points, dtype="<f8"), np.ascontiguousarray(faces, dtype="<i4")
    return cache_root() / CACHE_FOLDER / f"{content_hash((*settings, *surface))}-points.npz"


def scatter(
    points: Array,
    faces: IntArray,
    field: Field,
    spacing: float,
    tell: Tell | None = None,
    *,
    vertices: bool = False,
) -> Samples:
    """Sample points of a closed surface so far apart [m], the cache left aside."""
    told = tell or (lambda *_: None)
    told(0.0, "candidates for points")
    normals = surface_of(points, faces).normals
    on_faces = _face_points(points, faces, normals[:, 0], spacing)
    corners, on_edges, others = _edge_points(points, faces, normals, spacing)
    count = len(corners) + len(others)
    few = count * spacing**2 <= FEW * _areas(points, faces).sum()
    if not vertices:
        candidates = np.concatenate((corners, on_edges, on_faces))
    elif few:
        candidates = np.concatenate((corners, others, on_edges, on_faces))
    else:
        candidates = np.concatenate((corners, on_edges, others, on_faces))
    told(0.5, "points far enough apart")
    del normals
    size = 1 << int(np.ceil(np.log2(2 * len(candidates) + 1)))
    heads, following = np.full(size, -1, np.int64), np.full(len(candidates), -1, np.int64)
    kept = np.zeros(len(candidates), dtype=np.bool_)
    always = count if vertices and few else 0
    _throw(candidates, always, DISC * spacing, heads, following, kept)
    chosen = candidates[kept]
    values, _ = sample_field(field, chosen[:, POINT : POINT + 3])
    chosen = np.ascontiguousarray(chosen[values > -BURIED * field.spacing])
    told(0.8, "tree of the points")
    order, balls, links = _tree(chosen[:, POINT : POINT + 3])
    told(1.0, "tree of the points")
    return Samples(np.ascontiguousarray(chosen[order]), balls, links, spacing)


def _areas(points: Array, faces: IntArray) -> Array:
    """Of the triangles [m²]."""
    area: Array = 0.5 * np.linalg.norm(double_areas(points, faces), axis=1)
    return area


def _edge_points(
    points: Array, faces: IntArray, normals: Array, spacing: float
) -> tuple[Array, Array, Array]:
    """Vertices of sharp edges, points along these edges, all other vertices."""
    number = edge_numbers(faces, len(points)).ravel()
    order = np.argsort(number, kind="stable")
    # A closed surface has each edge twice or, where parts touch, four times: compare in pairs.
    one, two = order[0::2], order[1::2]
    face = normals[:, 0]
    one = one[np.einsum("ij,ij->i", face[one // 3], face[two // 3]) < SHARP]
    tail, head = faces.ravel()[one], np.roll(faces, -1, axis=1).ravel()[one]
    at_vertex = np.zeros_like(points)
    at_vertex[faces.ravel()] = normals[:, 4:7].reshape(-1, 3)
    ends = np.unique(np.concatenate((tail, head)))
    along = points[head] - points[tail]
    pieces = np.maximum(np.ceil(np.linalg.norm(along, axis=1) / spacing).astype(np.int64), 1)
    edge = np.repeat(np.arange(len(one)), pieces - 1)
    first = np.cumsum(pieces - 1) - (pieces - 1)
    t = (np.arange(len(edge)) - first[edge] + 1) / pieces[edge]
    rows = np.column_stack(
        (points[tail][edge] + t[:, None] * along[edge], normals[one // 3, 1 + one % 3][edge])
    )
    others = np.setdiff1d(np.unique(faces), ends)
    return (
        _with_units(np.column_stack((points[ends], at_vertex[ends]))),
        _with_units(rows),
        _with_units(np.column_stack((points[others], at_vertex[others]))),
    )


def _face_points(points: Array, faces: IntArray, normals: Array, spacing: float) -> Array:
    """Candidates evenly spread over the faces, in a scattered order.

    Barycentric coordinates follow the additive sequence of the plastic number, which fills a square
    evenly whatever the count.
    """
    share = CANDIDATES * _areas(points, faces) / spacing**2
    ends = np.floor(np.cumsum(share) + 0.5).astype(np.int64)
    count = np.maximum(np.diff(ends, prepend=0), 1)  # a face of its own gets one at least
    triangle = np.repeat(np.arange(len(faces)), count)
    k = np.arange(len(triangle))
    u, v = np.mod(0.5 + k * 0.7548776662466927, 1.0), np.mod(0.5 + k * 0.5698402909980532, 1.0)
    fold = u + v > 1.0
    u, v = np.where(fold, 1.0 - u, u), np.where(fold, 1.0 - v, v)
    corners = points[faces[triangle]]
    places = (
        (1.0 - u - v)[:, None] * corners[:, 0] + u[:, None] * corners[:, 1]
        + v[:, None] * corners[:, 2]
    )  # fmt: skip
    scattered = np.random.default_rng(0).permutation(len(triangle))
    return np.column_stack((places, normals[triangle]))[scattered]


def _with_units(rows: Array) -> Array:
    length = np.linalg.norm(rows[:, OUTWARD:], axis=1)
    rows[:, OUTWARD:] /= np.maximum(length, 1e-300)[:, None]
    return rows


@kernel
def _throw(
    candidates: Array,
    always: int,
    radius: float,
    heads: LongArray,
    following: LongArray,
    kept: NDArray[np.bool_],
) -> None:
    """Mark the candidates that are not within `radius` of a kept one of similar normal.

    The first ones, so many as are to be `always` there, are kept anyway. Kept ones are found
    through a hash of the cell of side `radius` that they lie in.
    """
    rows, mask = ptr(candidates), heads.shape[0] - 1
    for i in range(candidates.shape[0]):
        x = off(rows, NPOINT * i)
        ci, cj, ck = floor(x[0] / radius), floor(x[1] / radius), floor(x[2] / radius)
        free = True
        for cell in range(27 if i >= always else 0):
            a, b, c = ci + cell // 9 - 1, cj + cell // 3 % 3 - 1, ck + cell % 3 - 1
            j = heads[_slot(int(a), int(b), int(c), mask)]
            while j >= 0 and free:
                y = off(rows, NPOINT * j)
                dx, dy, dz = x[0] - y[0], x[1] - y[1], x[2] - y[2]
                near = dx * dx + dy * dy + dz * dz < radius * radius
                free = not near or x[3] * y[3] + x[4] * y[4] + x[5] * y[5] < SAME_SIDE
                j = following[j]
            if not free:
                break
        if free:
            kept[i] = True
            slot = _slot(int(ci), int(cj), int(ck), mask)
            following[i] = heads[slot]
            heads[slot] = i


@kernel
def _slot(i: int, j: int, k: int, mask: int) -> int:
    """Place of a cell in the hash table."""
    return (i * 73856093 ^ j * 19349663 ^ k * 83492791) & mask


def _tree(places: Array) -> tuple[LongArray, Array, LongArray]:
    """Order of the points, balls and links of a binary tree; halves across the longest side.

    All nodes of a level at once. Nodes are numbered as a descent that goes left first meets them.
    """
    order = np.arange(len(places))
    sizes = _subtree_sizes(len(places))
    balls, links = np.empty((sizes[len(places)], NBALL)), np.full((sizes[len(places)], NLINK), -1)
    first, last, number = np.array([0]), np.array([len(places)]), np.array([0])
    while len(first) > 0:
        count = last - first
        node = np.repeat(np.arange(len(first)), count)
        starts = np.cumsum(count) - count
        row = first[node] + np.arange(len(node)) - starts[node]
        here = places[order[row]]
        low, high = np.minimum.reduceat(here, starts), np.maximum.reduceat(here, starts)
        centre = 0.5 * (low + high)
        squared = np.sum((here - centre[node]) ** 2, axis=1)
        balls[number] = np.column_stack((centre, np.sqrt(np.maximum.reduceat(squared, starts))))
        links[number, FIRST], links[number, LAST] = first, last
        split = count > LEAF
        along = here[np.arange(len(here)), np.argmax(high - low, axis=1)[node]]
        along[~split[node]] = 0.0  # leaves keep their order
        order[row] = order[row][np.lexsort((along, node))]
        first, last, number = first[split], last[split], number[split]
        middle = (first + last) // 2
        left = number + 1
        right = left + np.array([sizes[n] for n in (middle - first).tolist()], dtype=np.int64)
        links[number, LEFT], links[number, RIGHT] = left, right
        first, last = np.stack((first, middle), 1).ravel(), np.stack((middle, last), 1).ravel()
        number = np.stack((left, right), axis=1).ravel()
    return order, balls, links


def _subtree_sizes(count: int) -> dict[int, int]:
    """Nodes of a tree over so many points, and of all its subtrees, by their points."""
    sizes: dict[int, int] = {}

    def size(n: int) -> int:
        if n not in sizes:
            sizes[n] = 1 if n <= LEAF else 1 + size(n // 2) + size(n - n // 2)
        return sizes[n]

    size(count)
    return sizes
