"""Which side of every triangle is inside: windings, membranes and cavities without trust in any.

Every face has a front, where its normal points, and a back. Around an edge, each side meets that of
the next face; an open edge is where front and back meet. Sides that meet, directly or not, bound
one region of space. Of every cluster of faces joined by edges one region is unbounded: the one with
the least signed volume. A face with a bounded region on one side only is part of the surface, its
front towards the unbounded one; a membrane has bounded regions on both sides, a fin on none. What
the windings say is used in two places where the surfaces cannot tell: a bounded region is left
empty, and a surface within another one is a cavity, if the windings call it outside as they do
there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from tangere.geometry.edges import (
    area_vectors,
    boxes,
    diagonal,
    edges_of,
    groups,
    tetrahedra,
    used_vertices,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tangere.geometry.edges import Edges
    from tangere.maths.vec import Array, IntArray, LongArray

# Angles around an edge closer than this are one [rad]: faces on top of each other.
SAME_ANGLE = 1e-7
# Any direction that no modelled plane contains tells the two sides of a plane apart.
UPWARDS = np.array([0.5773, 0.7141, 0.3961])
# Share of a region's surface whose windings have to agree before they are believed.
AGREED = 0.9
# An open piece is taken for debris if it is so small over the diagonal and area of all that closes.
DEBRIS_EXTENT, DEBRIS_AREA = 0.1, 0.01
# Fins of more than this share of the area of their cluster are no debris: the surface is open.
FIN_AREA = 0.1
MAX_WINDING_WORK = 200_000_000  # triangles looked at for one point each, in all


class Surface(NamedTuple):
    """What bounds the solid."""

    faces: IntArray
    turned: int
    """Faces whose winding was reversed."""
    inside: int
    """Faces left out within the solid."""
    dangling: int
    """Faces left out that bound nothing, on closed surfaces."""
    debris: int
    """Open pieces left out."""
    open_area: float
    """Share of the area that bounds nothing and is too large to be left out; 0: all is well."""


class Meetings(NamedTuple):
    """Sides that meet at an edge; the front of face f is side 2 f, its back 2 f + 1.

    | field  | meaning                                            | shape   |
    | ahead  | a side                                             | (3 t,)  |
    | behind | the side that it meets                             | (3 t,)  |
    | here   | half edge of the first side's face                 | (3 t,)  |
    | there  | that of the second one's; the same at an open edge | (3 t,)  |
    """

    ahead: LongArray
    behind: LongArray
    here: LongArray
    there: LongArray


def meetings(
    points: Array, faces: IntArray, edges: Edges, crowds: Literal["turn", "wind", "apart"] = "turn"
) -> Meetings:
    """All pairs of sides that meet at an edge.

    Args:
        points: Vertices [m].
        faces: Triangles.
        edges: Of the faces.
        crowds: How more than two faces around an edge meet: in turn about it; as their windings
            say, where these agree; not at all, as if each had an edge of its own.
    """
    line = edges.edge
    crowded = np.flatnonzero(edges.uses[edges.edge] > 2)
    if len(crowded):
        line = _lines(faces, edges, crowded)
        if crowds == "wind":
            line = _paired(edges, line, crowded)
        elif crowds == "apart":
            line[crowded] = int(line.max()) + 1 + np.arange(len(crowded))
    order = np.argsort(line, kind="stable")
    if len(crowded):
        order = _around(points, faces, edges, line, crowded, order)
    row = line[order]
    first = np.flatnonzero(np.concatenate(([True], row[1:] != row[:-1])))
    following = np.arange(1, len(row) + 1)
    following[np.concatenate((first[1:], [len(row)])) - 1] = first
    forward = (edges.tail < edges.head)[order]
    face = order // 3
    # Turning about the edge from its lower to its higher vertex: a face that runs the same way has
    # its front ahead.
    ahead, behind = 2 * face + ~forward, 2 * face + forward
    return Meetings(ahead, behind[following], order, order[following])


def _lines(faces: IntArray, edges: Edges, crowded: LongArray) -> LongArray:
    """Numbers of the lines along which faces meet: edges, apart where closed patches touch.

    Where every patch has an even number of faces at an edge, each is a surface of its own there.
    """
    own = patches_of(faces, edges)[crowded // 3]
    edge = edges.edge[crowded]
    _, number, count = np.unique(
        edge * (int(own.max()) + 1) + own, return_inverse=True, return_counts=True
    )
    shared = np.zeros(len(edges.uses), dtype=bool)
    shared[edge[count[number] % 2 == 1]] = True
    line = edges.edge.copy()
    apart = ~shared[edge]
    line[crowded[apart]] = len(edges.uses) + number[apart]
    return line


def _paired(edges: Edges, line: LongArray, crowded: LongArray) -> LongArray:
    """The same, in pairs of faces where as many run one way as the other."""
    own = line[crowded]
    forward = edges.tail[crowded] < edges.head[crowded]
    balance = np.bincount(own, weights=np.where(forward, 1.0, -1.0))
    even = balance[own] == 0.0
    # Half edges of one line and direction are numbered; equal numbers are a pair.
    kind = 2 * own + forward
    order = np.argsort(kind, kind="stable")
    start = np.concatenate(([True], np.diff(kind[order]) != 0))
    begin = np.maximum.accumulate(np.where(start, np.arange(len(order)), 0))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - begin
    _, number = np.unique(own * (int(rank.max()) + 1) + rank, return_inverse=True)
    result = line.copy()
    result[crowded[even]] = int(line.max()) + 1 + number[even]
    return result


def _around(
    points: Array,
    faces: IntArray,
    edges: Edges,
    line: LongArray,
    crowded: LongArray,
    order: LongArray,
) -> LongArray:
    """`order` with the half edges of every crowded line in turn about it."""
    low = np.minimum(edges.tail, edges.head)[crowded]
    high = np.maximum(edges.tail, edges.head)[crowded]
    third = faces[crowded // 3, (crowded + 2) % 3]
    axis = points[high] - points[low]
    axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-300)
    arm = points[third] - points[low]
    _, first, number = np.unique(line[crowded], return_index=True, return_inverse=True)
    e1 = arm[first[number]]  # angles are counted from the first face at the line
    e1 = e1 - np.einsum("ij,ij->i", e1, axis)[:, None] * axis
    e1 /= np.maximum(np.linalg.norm(e1, axis=1, keepdims=True), 1e-300)
    e2 = np.cross(axis, e1)
    angle = np.arctan2(np.einsum("ij,ij->i", arm, e2), np.einsum("ij,ij->i", arm, e1))
    step = np.round(angle / SAME_ANGLE) % round(2.0 * np.pi / SAME_ANGLE)
    # Faces on top of each other: stacked by patch, the same way at all their edges.
    ahead_up = np.sign(np.cross(axis, arm) @ UPWARDS)
    stacked = ahead_up * patches_of(faces, edges)[crowded // 3]
    result = order.copy()
    result[np.isin(order, crowded)] = crowded[np.lexsort((stacked, step, line[crowded]))]
    return result


def patches_of(faces: IntArray, edges: Edges) -> LongArray:
    """For each face the label of its patch: faces joined by edges of two faces."""
    order = np.argsort(edges.edge, kind="stable")
    row = edges.edge[order]
    at = np.flatnonzero((row[1:] == row[:-1]) & (edges.uses[row[1:]] == 2))
    return groups(order[at] // 3, order[at + 1] // 3, len(faces))


def bounding_surface(points: Array, faces: IntArray, given: int) -> Surface:
    """The faces that bound the solid, wound outwards; those within it and open debris left out.

    Args:
        points: Vertices [m].
        faces: Triangles in any winding.
        given: How many of them, the first ones, have windings that mean something.
    """
    edges = edges_of(faces, len(points))
    surface = _bounding(points, faces, edges, given, "turn")
    if surface.open_area > 0.0 and (edges.uses > 2).any():
        # Faces that cut through each other lie in no order around their edges.
        again = _bounding(points, faces, edges, given, "wind")
        surface = again if again.open_area == 0.0 else surface
    return surface


def _bounding(
    points: Array, faces: IntArray, edges: Edges, given: int, crowds: Literal["turn", "wind"]
) -> Surface:
    n = len(faces)
    met = meetings(points, faces, edges, crowds)
    region = groups(met.ahead, met.behind, 2 * n)
    front, back = region[0::2], region[1::2]
    cluster_of_region = groups(front, back, int(region.max()) + 1)
    _, cluster_of_region = np.unique(cluster_of_region, return_inverse=True)
    cluster = cluster_of_region[front]
    empty = _empty_regions(points, faces, front, back, cluster_of_region)
    out_front, out_back = empty[front], empty[back]
    kept = out_front != out_back
    # ---- what closes nothing
    area = 0.5 * np.linalg.norm(area_vectors(points, faces), axis=1)
    fin = front == back  # two sides of one region: what bounds nothing, or a leak
    count = int(cluster.max()) + 1
    kept_area = np.bincount(cluster, weights=area * kept, minlength=count)
    fin_area = np.bincount(cluster, weights=area * fin, minlength=count).astype(np.float64)
    open_: NDArray[np.bool_] = kept_area == 0.0
    debris = _is_debris(points, faces, cluster, open_, fin_area, kept)
    torn = np.where(open_, ~debris, fin_area > FIN_AREA * kept_area)
    wrong = float(fin_area[torn].sum() / max(area.sum(), 1e-300))
    # ---- orientation of the clusters among each other
    flip = kept & out_back
    outward = np.bincount(cluster, weights=area * kept * np.where(flip, -1.0, 1.0)) >= 0.0
    solid = np.where(flip[:, None], faces[:, ::-1], faces)
    inward = _cavities(points, solid, kept, cluster, outward)
    flip ^= inward[cluster]
    result = np.where(flip[:, None], faces[:, ::-1], faces)[kept]
    return Surface(
        np.ascontiguousarray(result, dtype=np.int32),
        int((flip & kept)[:given].sum()),
        int((~kept & ~fin).sum()),
        int((fin & ~open_[cluster]).sum()),
        int(debris.sum()),
        wrong,
    )


def _empty_regions(
    points: Array, faces: IntArray, front: LongArray, back: LongArray, cluster_of_region: LongArray
) -> NDArray[np.bool_]:
    """Per region whether nothing fills it: the unbounded one of every cluster, and voids."""
    count, clusters = len(cluster_of_region), int(cluster_of_region.max()) + 1
    cluster = cluster_of_region[front]
    middle = points[faces].mean(axis=1)
    shares = np.maximum(np.bincount(cluster, minlength=clusters), 1)[:, None]
    centre = np.column_stack(
        [np.bincount(cluster, weights=middle[:, i], minlength=clusters) for i in range(3)]
    )
    sixfold = tetrahedra(points, faces, (centre / shares)[cluster])
    volume = np.bincount(back, weights=sixfold, minlength=count)
    volume -= np.bincount(front, weights=sixfold, minlength=count)
    order = np.lexsort((volume, cluster_of_region))
    least = order[np.concatenate(([True], np.diff(cluster_of_region[order]) != 0))]
    unbounded = np.zeros(count, dtype=bool)
    unbounded[least] = True
    # How far the windings call a region outside: the share of its surface with the front to it.
    area = np.linalg.norm(area_vectors(points, faces), axis=1)
    to_it = np.bincount(front, weights=area, minlength=count)
    all_ = to_it + np.bincount(back, weights=area, minlength=count)
    share = to_it / np.maximum(all_, 1e-300)
    outer = share[least][cluster_of_region]
    alike = ((share > AGREED) & (outer > AGREED)) | ((share < 1 - AGREED) & (outer < 1 - AGREED))
    empty: NDArray[np.bool_] = unbounded | alike
    return empty


def _is_debris(
    points: Array,
    faces: IntArray,
    cluster: LongArray,
    open_: NDArray[np.bool_],
    open_area: Array,
    kept: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Per cluster: open, and small beside all that closes."""
    debris = np.zeros(len(open_), dtype=bool)
    if not open_.any() or not kept.any():
        return debris
    whole = diagonal(points[used_vertices(faces[kept], len(points))])
    doubled = np.linalg.norm(area_vectors(points, faces[kept]), axis=1)
    if open_area[open_].sum() > DEBRIS_AREA * 0.5 * doubled.sum():
        return debris
    members = open_[cluster]
    present, label = np.unique(cluster[members], return_inverse=True)
    low, high = boxes(points, faces[members], label)
    debris[present] = np.linalg.norm(high - low, axis=1) <= DEBRIS_EXTENT * whole
    return debris


def _cavities(
    points: Array,
    solid: IntArray,
    kept: NDArray[np.bool_],
    cluster: LongArray,
    outward: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Per cluster whether its surface bounds a cavity.

    Args:
        points: Vertices [m].
        solid: Faces, each cluster wound outwards.
        kept: Faces that count.
        cluster: Of each face.
        outward: Per cluster, whether the given windings of its faces were outward.
    """
    count = len(outward)
    inward = np.zeros(count, dtype=bool)
    present, label = np.unique(cluster[kept], return_inverse=True)
    if len(present) < 2 or outward[present].all() or not outward[present].any():
        return inward
    low, high, size = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros(count)
    low[present], high[present] = boxes(points, solid[kept], label)
    size[present] = np.prod(high[present] - low[present], axis=1)
    order = present[np.argsort(-size[present], kind="stable")]
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(cluster[rows], kind="stable")]
    begin = np.searchsorted(cluster[rows], np.arange(count + 1))
    work = 0
    for at, own in enumerate(order.tolist()):
        larger = order[:at]
        around = (low[larger] <= low[own]).all(axis=1) & (high[larger] >= high[own]).all(axis=1)
        near = larger[around][::-1]  # the smallest one that surrounds it counts
        if not (inward[near] | (outward[near] != outward[own])).any():
            continue  # solid, whatever surrounds it
        for other in near.tolist():
            faces = solid[rows[begin[other] : begin[other + 1]]]
            work += len(faces)
            vertex = points[solid[rows[begin[own]], 0]]
            if work > MAX_WINDING_WORK or winding_number(vertex, points, faces) > 0.5:
                inward[own] = inward[other] == (outward[other] == outward[own])
                break
    return inward


def winding_number(point: Array, points: Array, faces: IntArray) -> float:
    """How often a surface surrounds a point: 1 inside an outward one, 0 outside.

    Solid angles of the triangles by van Oosterom and Strackee (1983).
    """
    a, b, c = (points[faces[:, i]] - point for i in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    triple = np.einsum("ij,ij->i", a, np.cross(b, c))
    dots = (
        la * lb * lc
        + np.einsum("ij,ij->i", a, b) * lc
        + np.einsum("ij,ij->i", b, c) * la
        + np.einsum("ij,ij->i", c, a) * lb
    )
    return float(np.arctan2(triple, dots).sum() / (2.0 * np.pi))
