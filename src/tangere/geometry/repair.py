"""Repair of triangle meshes, so that what users have becomes the closed surface of a solid.

In order, and only where the surface is not one already:

1. repeated corners and repeated faces are dropped;
2. vertices on open edges are joined where they are near: within 1e-9 of the diagonal, then more
   while edges stay open. Two corners of one face are only joined if it is a needle, so that no
   detail collapses;
3. faces without area are dropped, and edges are split at vertices that lie on them, where that
   closes the surface;
4. small holes are capped (`holes`);
5. faces that bound the solid are told from membranes, fins and debris, and wound outwards
   (`sides`).

A surface that is closed already comes back as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.edges import (
    area_vectors,
    diagonal,
    edges_of,
    face_keys,
    groups,
    used_vertices,
)
from tangere.geometry.holes import MAX_OPEN, WIDEST, find_holes
from tangere.geometry.mesh import (
    MAX_TRIANGLES,
    check_closed,
    check_volume,
    checked_indices,
    checked_vertices,
)
from tangere.geometry.sides import bounding_surface, patches_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.maths.vec import Array, IntArray, LongArray

# How near vertices are joined, over the diagonal, one after the other while edges stay open. Single
# precision leaves 1e-7. The last two may only join what is nearer than `DETAIL` of the shortest
# edge at either vertex.
JOIN = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
FREE_JOIN = 1e-6
DETAIL = 0.05
# A vertex lies on an edge if it is so near, over the diagonal and over the edge's length.
ON_EDGE, ON_EDGE_LENGTH = 1e-6, 1e-3
# A fin has at most this share of the area of all.
FIN_AREA = 0.01
MAX_PASSES = 8  # of splitting edges: each pass splits one edge of a face
# Height over longest side below which a triangle has no area.
FLAT = 1e-9
REMEDY = "close it, or thicken it (geometry.shell.shell_of)"


@dataclass(frozen=True)
class Repairs:
    """What was done to a mesh."""

    joined: int = 0
    """Vertices joined with another one."""
    distance: float = 0.0
    """Most that joined vertices were apart [m]."""
    degenerate: int = 0
    """Faces dropped: a corner twice, or no area."""
    repeated: int = 0
    """Faces dropped that occur more than once."""
    split: int = 0
    """Faces split at a vertex on their edge."""
    holes: int = 0
    """Holes capped."""
    width: float = 0.0
    """Of the widest one: diagonal of its bounding box [m]."""
    turned: int = 0
    """Faces whose winding was reversed."""
    inside: int = 0
    """Faces dropped that lie within the solid."""
    dangling: int = 0
    """Faces dropped that hang on the surface and bound nothing."""
    debris: int = 0
    """Small open pieces dropped."""

    def lines(self) -> tuple[str, ...]:
        """What was done, one phrase for each kind of repair."""
        said = []
        if self.joined:
            said.append(
                f"joined {_count(self.joined, 'vertex', 'vertices')} "
                f"up to {self.distance:.2g} m apart"
            )
        if self.repeated:
            said.append(f"dropped {_count(self.repeated, 'repeated face')}")
        if self.degenerate:
            said.append(f"dropped {_count(self.degenerate, 'face')} without area")
        if self.split:
            said.append(f"split {_count(self.split, 'face')} at vertices on their edges")
        if self.holes:
            said.append(
                f"capped {_count(self.holes, 'hole')} up to {_short(self.width)} m across"
                if self.holes > 1
                else f"capped 1 hole {_short(self.width)} m across"
            )
        if self.turned:
            said.append(f"turned {_count(self.turned, 'face')} outwards")
        if self.inside:
            said.append(f"dropped {_count(self.inside, 'face')} within the solid")
        if self.dangling:
            said.append(f"dropped {_count(self.dangling, 'face')} that bound nothing")
        if self.debris:
            said.append(f"dropped {_count(self.debris, 'small open piece')}")
        return tuple(said)

    def __str__(self) -> str:
        """All of it on one line; empty if nothing was done."""
        return ", ".join(self.lines())


def repair_mesh(
    vertices: ArrayLike, faces: ArrayLike, what: str = "Mesh"
) -> tuple[Array, IntArray, Repairs]:
    """Vertices and triangles of a closed outward surface, and what was done to get it.

    A surface that is closed and outward already comes back as it is. Vertices at one place are
    made one without a word: many files have one for every corner of a triangle.

    Args:
        vertices: Shape (n, 3) [m].
        faces: Indices, shape (t, 3).
        what: How error messages call the mesh.

    Raises:
        SceneError: What stays open or encloses nothing; not numbers, no such vertices.
    """
    points = checked_vertices(vertices, what, most=3 * MAX_TRIANGLES)  # three for each at most
    points, triangles = one_vertex_per_place(points, checked_indices(faces, len(points), what))
    try:
        check_closed(points, triangles, what)
        check_volume(points, triangles, what)
    except SceneError:
        return mended(points, triangles, what)
    return points, triangles, Repairs()


def without_unused(points: Array, faces: IntArray) -> tuple[Array, IntArray]:
    """The mesh without vertices that are no corner of any face."""
    kept = used_vertices(faces, len(points))
    if len(kept) == len(points):
        return points, faces
    number = np.zeros(len(points), dtype=np.int32)
    number[kept] = np.arange(len(kept))
    return points[kept], number[faces]


def one_vertex_per_place(points: Array, faces: IntArray) -> tuple[Array, IntArray]:
    """The mesh with its vertices in the order they had, repeated and unused ones left out."""
    points, faces = without_unused(points, faces)
    place = _places(points)
    _, first = np.unique(place, return_index=True)
    if len(first) == len(points):
        return points, faces
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    return points[first[order]], rank[place][faces]


def _places(points: Array) -> LongArray:
    """Labels 0, 1, … of points, equal where the points are."""
    label = np.zeros(len(points), dtype=np.int64)
    for i in range(3):  # three sorts of numbers are faster than one of rows
        values, axis = np.unique(points[:, i] + 0.0, return_inverse=True)
        _, label = np.unique(label * len(values) + axis, return_inverse=True)
    return label


def mended(
    points: Array, triangles: IntArray, what: str, remedy: str = REMEDY
) -> tuple[Array, IntArray, Repairs]:
    """The same for a surface that is known not to be closed and outward.

    Args:
        points: Vertices [m].
        triangles: Indices of them.
        what: How error messages call the mesh.
        remedy: What they advise for a surface that stays open.
    """
    triangles, done = _without_fins(points, *cleaned(points, triangles))
    holes, left = find_holes(points, triangles)
    given = len(triangles)
    if holes:
        triangles = np.concatenate([triangles, *(hole.cap for hole in holes)])
        done = replace(done, holes=len(holes), width=max(hole.width for hole in holes))
    if len(triangles) == 0:
        raise SceneError(f"{what}: all faces are degenerate; give a solid")
    surface = bounding_surface(points, triangles, given)
    if surface.open_area > 0.0:
        why = _why_open(points, triangles, left, surface.open_area)
        raise SceneError(f"{what}: {why}; {remedy}")
    if len(surface.faces) == 0:
        raise SceneError(f"{what}: encloses no volume; {remedy}")
    done = replace(
        done,
        turned=surface.turned,
        inside=surface.inside,
        dangling=done.dangling + surface.dangling,
        debris=surface.debris,
    )
    points, triangles = without_unused(points, surface.faces)
    check_closed(points, triangles, what)
    check_volume(points, triangles, what)
    return points, triangles, done


def cleaned(points: Array, triangles: IntArray) -> tuple[IntArray, Repairs]:
    """Faces without repeats and degenerate ones, joined where they belong together."""
    triangles, done = _without_back_to_back(points, triangles)
    triangles, done = _joined(points, triangles, done)
    return _without_flat(points, triangles, done)


def _why_open(points: Array, triangles: IntArray, left: list[float], share: float) -> str:
    """What keeps the surface from being closed."""
    edges = edges_of(triangles, len(points))
    open_ = int((edges.uses == 1).sum())
    if open_ == 0:
        return "one-sided surface: no side of it is the outside"
    text = f"open surface, {_count(open_, 'edge')} with a face on one side only"
    if left:
        text += (
            f", {_count(len(left), 'hole')} too wide to cap ({_short(max(left))} m across, "
            f"the limit is {100 * WIDEST:.0f} % of the piece)"
        )
    return text if share > 0.99 else f"{text}; {100 * share:.2g} % of its area bound nothing"


def _short(x: float) -> str:
    """Two digits without an exponent where that is short."""
    return f"{x:.0f}" if 100.0 <= x < 1e5 else f"{x:.2g}"


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one}" if n == 1 else f"{n:,} {many or one + 's'}"


# ------------------------------------------------------------------------------------------ steps


def _tidied(faces: IntArray, done: Repairs) -> tuple[IntArray, Repairs]:
    """Without faces that have a corner twice, and one copy of every face."""
    a, b, c = faces.T
    proper = (a != b) & (b != c) & (c != a)
    kept = faces[proper]
    _, first = np.unique(_keys(kept), return_index=True)
    result = kept[np.sort(first)]
    done = replace(
        done,
        degenerate=done.degenerate + len(faces) - len(kept),
        repeated=done.repeated + len(kept) - len(result),
    )
    return result, done


def _without_back_to_back(points: Array, faces: IntArray) -> tuple[IntArray, Repairs]:
    """The same, without any copy of faces that lie back to back, where that leaves less open.

    Such are the faces between two solids that touch, and flaps.
    """
    result, done = _tidied(faces, Repairs())
    if done.repeated == 0:
        return result, done
    a, b, c = faces.T
    proper = (a != b) & (b != c) & (c != a)
    a, b, c = a[proper], b[proper], c[proper]
    even = (a < b).astype(np.int64) + (b < c) + (c < a) == 2
    _, first, number = np.unique(_keys(faces[proper]), return_index=True, return_inverse=True)
    net = np.bincount(number, weights=np.where(even, 1.0, -1.0))
    single = faces[proper][np.sort(first[net != 0.0])]
    most = 2 * len(single) >= len(result)  # else the surface itself lies back to back
    if most and _open_edges(points, single) < _open_edges(points, result):
        return single, replace(done, repeated=done.repeated + len(result) - len(single))
    return result, done


def _without_fins(points: Array, faces: IntArray, done: Repairs) -> tuple[IntArray, Repairs]:
    """Without small patches that hang on the surface by some of their edges, the others open."""
    for _ in range(MAX_PASSES):
        edges = edges_of(faces, len(points))
        if not ((edges.uses == 1).any() and (edges.uses > 2).any()):
            break
        patch = patches_of(faces, edges)
        count, half = int(patch.max()) + 1, np.arange(3 * len(faces))
        # Edges that become even without the patch, less those that become odd.
        pair, uses = np.unique(patch[half // 3] * len(edges.uses) + edges.edge, return_counts=True)
        owner, edge = np.divmod(pair, len(edges.uses))
        before, after = edges.uses[edge] % 2, (edges.uses[edge] - uses) % 2
        gain = np.bincount(owner, weights=before - after, minlength=count)
        hangs = np.zeros(count, dtype=bool)
        hangs[owner[(edges.uses[edge] == 1)]] = True
        area = np.linalg.norm(area_vectors(points, faces), axis=1)
        of_patch = np.bincount(patch, weights=area, minlength=count)
        fins = hangs & (gain > 0) & (of_patch <= FIN_AREA * area.sum())
        kept = faces[~fins[patch]]
        if not fins.any() or _open_edges(points, kept) >= edges.odd():
            break
        done = replace(done, dangling=done.dangling + len(faces) - len(kept))
        faces = kept
    return faces, done


def _keys(faces: IntArray) -> LongArray:
    """One number for each set of three corners."""
    if len(faces) == 0:
        return np.empty(0, dtype=np.int64)
    count = int(faces.max()) + 1
    return face_keys(faces, edges_of(faces, count), count)


def _open_edges(points: Array, faces: IntArray) -> int:
    return edges_of(faces, len(points)).odd() if len(faces) else 0


def _joined(points: Array, faces: IntArray, done: Repairs) -> tuple[IntArray, Repairs]:
    """Near vertices on open edges joined, as far apart as it takes and no further."""
    size = diagonal(points[used_vertices(faces, len(points))])
    open_ = _open_edges(points, faces)
    near = _Near(points, faces) if open_ else None
    for share in JOIN:
        if near is None:
            break
        joined = _join_within(points, faces, near, share * size, free=share <= FREE_JOIN)
        if joined is None:
            continue
        new, count, distance = joined
        new, tidied = _tidied(new, done)
        still = _open_edges(points, new)
        if still < open_:
            done = replace(
                tidied, joined=done.joined + count, distance=max(done.distance, distance)
            )
            faces, open_ = new, still
            near = _Near(points, faces) if open_ else None
    if near is None:
        return faces, done
    # Edges that are open still may have ends in common with others: the outlines of cracks.
    joined = _join_within(points, faces, near, FREE_JOIN * size, free=True)
    if joined is not None:
        new, tidied = _tidied(joined[0], done)
        if _open_edges(points, new) <= open_:
            distance = max(done.distance, joined[2])
            return new, replace(tidied, joined=done.joined + joined[1], distance=distance)
    return faces, done


class _Near:
    """Finds near vertices on open edges."""

    def __init__(self, points: Array, faces: IntArray) -> None:
        from scipy.spatial import cKDTree

        edges = edges_of(faces, len(points))
        open_ = edges.uses[edges.edge] % 2 == 1
        self._rim = used_vertices(edges.half_edges(open_), len(points))
        self._tree = cKDTree(points[self._rim])

    def pairs(self, distance: float) -> LongArray:
        """Those nearer than a distance [m], shape (n, 2)."""
        found: LongArray = self._rim[self._tree.query_pairs(distance, output_type="ndarray")]
        return found


def _join_within(
    points: Array, faces: IntArray, near: _Near, distance: float, free: bool
) -> tuple[IntArray, int, float] | None:
    """Faces with near vertices on open edges made one, how many, and how far apart they were."""
    pairs = near.pairs(distance)
    if not free and len(pairs):
        edges = edges_of(faces, len(points))
        shortest = np.full(len(points), np.inf)
        length = np.linalg.norm(points[edges.head] - points[edges.tail], axis=1)
        np.minimum.at(shortest, edges.tail, length)
        np.minimum.at(shortest, edges.head, length)
        apart = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        pairs = pairs[apart <= DETAIL * shortest[pairs].min(axis=1)]
    if len(pairs) == 0:
        return None
    label = groups(pairs[:, 0], pairs[:, 1], len(points))
    # Groups that reach far by a chain are left apart, and those with two corners of one face, but
    # for needles: what is small in all directions is detail.
    a, b, c = label[faces].T
    twice = np.flatnonzero((a == b) | (b == c) | (c == a))
    small = twice[_longest(points, faces[twice]) <= distance / DETAIL]
    bad = label[faces[small]].ravel()
    representative = np.full(int(label.max()) + 1, len(points))
    np.minimum.at(representative, label, np.arange(len(points)))
    apart = np.linalg.norm(points - points[representative[label]], axis=1)
    bad = np.concatenate((bad, label[apart > 2.0 * distance]))
    alone = np.isin(label, bad)
    target = np.where(alone, np.arange(len(points)), representative[label])
    moved = target != np.arange(len(points))
    if not moved.any():
        return None
    return target[faces].astype(np.int32), int(moved.sum()), float(apart[moved].max())


def _longest(points: Array, faces: IntArray) -> Array:
    """Longest side of every face [m]."""
    sides = [points[faces[:, i]] - points[faces[:, (i + 1) % 3]] for i in range(3)]
    longest: Array = np.max([np.linalg.norm(side, axis=1) for side in sides], axis=0)
    return longest


def _without_flat(points: Array, faces: IntArray, done: Repairs) -> tuple[IntArray, Repairs]:
    """Without faces of no area, edges split at the vertices on them, if that leaves less open."""
    area = np.linalg.norm(area_vectors(points, faces), axis=1)
    flat = area <= FLAT * _longest(points, faces) ** 2
    as_is, split = _split_edges(points, faces)
    still = _open_edges(points, as_is)
    if flat.any():
        without, split_without = _split_edges(points, faces[~flat])
        if _open_edges(points, without) <= still:
            done = replace(done, degenerate=done.degenerate + int(flat.sum()))
            as_is, split = without, split_without
    return _tidied(as_is, replace(done, split=done.split + split))


def _split_edges(points: Array, faces: IntArray) -> tuple[IntArray, int]:
    """Faces whose open edges pass through vertices of other open edges, split there."""
    total, open_ = 0, _open_edges(points, faces)
    for _ in range(MAX_PASSES):
        if open_ == 0:
            break
        new, count = _split_once(points, faces)
        still = _open_edges(points, new)
        if count == 0 or still >= open_:
            break
        faces, open_, total = new, still, total + count
    return faces, total


def _split_once(points: Array, faces: IntArray) -> tuple[IntArray, int]:
    """At most one open edge of every face split."""
    from scipy.spatial import cKDTree

    edges = edges_of(faces, len(points))
    half = edges.open_half_edges()
    if len(half) == 0 or len(half) > min(MAX_OPEN, len(faces)):
        return faces, 0
    rim = used_vertices(edges.half_edges(half), len(points))
    a, b = points[edges.tail[half]], points[edges.head[half]]
    length = np.linalg.norm(b - a, axis=1)
    near = np.minimum(
        ON_EDGE * diagonal(points[used_vertices(faces, len(points))]), ON_EDGE_LENGTH * length
    )
    found = cKDTree(points[rim]).query_ball_point(0.5 * (a + b), 0.5 * length)
    done: set[int] = set()
    added: list[tuple[int, int, int]] = []
    for row, candidates in enumerate(found):
        face, corner = divmod(int(half[row]), 3)
        if face in done or len(candidates) < 1:
            continue
        ids = rim[candidates]
        ids = ids[(ids != edges.tail[half[row]]) & (ids != edges.head[half[row]])]
        along = (b[row] - a[row]) / max(float(length[row]), 1e-300)
        s = (points[ids] - a[row]) @ along
        off = np.linalg.norm(points[ids] - a[row] - s[:, None] * along, axis=1)
        on = (off <= near[row]) & (s > near[row]) & (s < length[row] - near[row])
        on &= ids != faces[face, (corner + 2) % 3]
        if not on.any():
            continue
        done.add(face)
        line = [int(edges.tail[half[row]]), *ids[on][np.argsort(s[on])].tolist()]
        line.append(int(edges.head[half[row]]))
        apex = int(faces[face, (corner + 2) % 3])
        added += [(u, v, apex) for u, v in pairwise(line)]
    if not done:
        return faces, 0
    kept = np.ones(len(faces), dtype=bool)
    kept[list(done)] = False
    return np.concatenate((faces[kept], np.array(added, dtype=np.int32))), len(done)
