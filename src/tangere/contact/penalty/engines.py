"""Engines: how the contacts of a tool are found, behind one interface.

"sdf" asks distance fields at points of both surfaces (`collision.field_query`), "exact" looks for
the closest features of the triangles themselves (`collision.exact_query`), "levels" for those of
convex pieces that are as fine as the contact needs (`collision.levels`). All write the same rows,
see `collision.contact_query`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from tangere.collision import exact_query, field_query
from tangere.collision.contact_query import Placed
from tangere.collision.distance_field import distance_field
from tangere.collision.field_build import Field
from tangere.collision.field_query import Solids, with_stand_ins
from tangere.collision.field_sides import NTURN
from tangere.collision.levels import front, hierarchy
from tangere.collision.levels import query as level_query
from tangere.collision.surface_points import Samples, surface_samples
from tangere.collision.triangle_trees import build_triangles
from tangere.contact.penalty.options import Penalty
from tangere.maths.vec import Array, LongArray

if TYPE_CHECKING:
    from tangere.geometry.shapes import Shape

# Most contacts of one query.
MAX_CONTACTS = 4096

# What was built of a shape, or read from disk, as long as the shape lives.
_KNOWN: WeakKeyDictionary[Shape, dict[tuple[float | None, float, int, bool], Solid]] = (
    WeakKeyDictionary()
)


class Engine(Protocol):
    """Finds the contacts of row 0 of `Placed` with all others."""

    number_of: LongArray
    """Number of each body's shape, as in `Placed.solid_of`."""
    farthest: float
    """It cannot be asked for points further away [m]."""

    def memory(self) -> tuple[Array, LongArray]:
        """`Placed.memory` and `Placed.memories`."""

    def find(
        self, placed: Placed, reach: float, budget: int, rows: Array, tally: LongArray
    ) -> None:
        """Write all contacts closer than `reach` to `rows`, and their number to `tally`."""

    def forget(self) -> None:
        """Drop what is remembered between queries, beside `Placed.memory`."""


def new_engine(
    shapes: Sequence[Shape], options: Penalty, names: Sequence[str], radius: float
) -> Engine:
    """The engine that the options choose, for the tool's shape and those of the bodies.

    radius: of the tool [m].
    """
    if options.engine == "exact":
        return ExactEngine(shapes, names)
    if options.engine == "levels":
        return LevelsEngine(shapes, names, options.error * radius)
    return FieldEngine(shapes, options, names)


class Solid(NamedTuple):
    """What the method knows of a shape: its distance field and its sample points."""

    field: Field
    samples: Samples


def solid(
    shape: Shape,
    *,
    spacing: float | None = None,
    tolerance: float = Penalty.tolerance,
    samples: int = Penalty.samples,
    vertices: bool = False,
    what: str = "Shape",
) -> Solid:
    """Field and points of a shape in its own frame, from the cache where they were built before."""
    known = _KNOWN.setdefault(shape, {})
    key = (spacing, tolerance, samples, vertices)
    if key not in known:
        known[key] = _built(shape, *key, what)
    return known[key]


def _built(
    shape: Shape,
    spacing: float | None,
    tolerance: float,
    samples: int,
    vertices: bool,
    what: str,
) -> Solid:
    points, triangles = shape.surface()
    field = distance_field(points, triangles, spacing=spacing, tolerance=tolerance, what=what)
    taken = surface_samples(points, triangles, field, samples, vertices=vertices, what=what)
    return Solid(field, taken)


def gather(
    shapes: Sequence[Shape], o: Penalty, names: Sequence[str], *, each_point: bool = False
) -> tuple[Solids, LongArray]:
    """Fields and points of all different shapes, and the number of each shape's.

    each_point: for bodies that rest: vertices are points, and one contact is given for each point,
    none that stands for many where depth is even.
    """
    known: dict[Shape, int] = {}
    built: list[Solid] = []
    for i, shape in enumerate(shapes):
        if shape not in known:
            known[shape] = len(built)
            made = solid(
                shape,
                spacing=o.spacing,
                tolerance=o.tolerance,
                samples=o.samples,
                vertices=each_point,
                what=names[i],
            )
            built.append(made)
    fields, samples = [s.field for s in built], [s.samples for s in built]
    sizes = np.array([(f.values.size, f.table.size, f.coarse.size) for f in fields])
    points = np.array([len(s.points) for s in samples])
    nodes = np.array([len(s.balls) for s in samples])
    first = np.cumsum(sizes, axis=0) - sizes
    grids = [(*a, *f.table.shape) for a, f in zip(first, fields, strict=True)]
    places = [(*f.origin, f.spacing, f.margin) for f in fields]
    starts = np.stack((np.cumsum(points) - points, np.cumsum(nodes) - nodes), axis=1)
    together = Solids(
        np.concatenate([f.values.ravel() for f in fields]),
        np.concatenate([f.table.ravel() for f in fields]),
        np.concatenate([f.coarse.ravel() for f in fields]),
        np.array(grids, dtype=np.int64),
        np.array(places),
        np.concatenate([s.points for s in samples]),
        np.concatenate([s.balls for s in samples]),
        np.concatenate([s.links for s in samples]),
        starts.astype(np.int64),
        np.array([s.spacing**2 for s in samples]),
    )
    together = with_stand_ins(together, None if each_point else o.tolerance)
    return together, np.array([known[shape] for shape in shapes], dtype=np.int64)


class FieldEngine:
    """Points of each surface in the distance field of the other."""

    def __init__(self, shapes: Sequence[Shape], options: Penalty, names: Sequence[str]) -> None:
        self.solids, self.number_of = gather(shapes, options, names)
        margins = self.solids.places[:, 4] - self.solids.places[:, 3]
        self.farthest = float(margins.min())

    def memory(self) -> tuple[Array, LongArray]:
        """A row for every point of every pair of the tool and a body."""
        bodies = len(self.number_of) - 1
        counts = np.diff(self.solids.starts[:, 0], append=len(self.solids.points))
        of_tool, of_body = counts[self.number_of[0]], counts[self.number_of[1:]]
        sizes = np.stack((np.full(bodies, of_tool), of_body), axis=1).ravel()
        ends = np.cumsum(sizes)
        return np.full((int(sizes.sum()), NTURN), -1.0), (ends - sizes).reshape(-1, 2)

    def find(
        self, placed: Placed, reach: float, budget: int, rows: Array, tally: LongArray
    ) -> None:
        """Write all contacts closer than `reach` to `rows`, and their number to `tally`."""
        field_query.find_contacts(self.solids, placed, reach, budget, rows, tally)

    def forget(self) -> None:
        """All it remembers is in `Placed.memory`."""


class ExactEngine:
    """Closest features of the triangles."""

    farthest = inf

    def __init__(self, shapes: Sequence[Shape], names: Sequence[str]) -> None:
        known, self.number_of = _distinct(shapes)
        self.triangles = build_triangles(
            [shapes[i].surface() for i in known], [names[i] for i in known]
        )

    def memory(self) -> tuple[Array, LongArray]:
        """None."""
        return np.zeros((1, NTURN)), np.zeros((len(self.number_of), 2), np.int64)

    def find(
        self, placed: Placed, reach: float, budget: int, rows: Array, tally: LongArray
    ) -> None:
        """Write all contacts closer than `reach` to `rows`, and their number to `tally`."""
        exact_query.find_contacts(self.triangles, placed, reach, budget, rows, tally)

    def forget(self) -> None:
        """It remembers nothing."""


class LevelsEngine:
    """Convex pieces, as fine as the error asks that is accepted, spread over the contact [m]."""

    farthest = inf

    def __init__(self, shapes: Sequence[Shape], names: Sequence[str], error: float) -> None:
        known, self.number_of = _distinct(shapes)
        self.error = error
        self.levels = hierarchy.gather(
            [hierarchy.contact_levels(*shapes[i].surface(), what=names[i]) for i in known]
        )
        bodies, nodes = len(shapes) - 1, len(self.levels.nodes)
        self.front = front.new_front(bodies, nodes, MAX_CONTACTS)

    def memory(self) -> tuple[Array, LongArray]:
        """None; it has its own."""
        return np.zeros((1, NTURN)), np.zeros((len(self.number_of), 2), np.int64)

    def find(
        self, placed: Placed, reach: float, budget: int, rows: Array, tally: LongArray
    ) -> None:
        """Write all contacts closer than `reach` to `rows`, and their number to `tally`."""
        limits = (reach, self.error)
        level_query.find_contacts(self.levels, placed, self.front, limits, budget, rows, tally)

    def forget(self) -> None:
        """Drop the pairs of nodes that were near, and the places of the bodies."""
        front.forget(self.front)


def _distinct(shapes: Sequence[Shape]) -> tuple[list[int], LongArray]:
    """First place of each different shape, and the number of every one's."""
    known: dict[Shape, int] = {}
    first = []
    for i, shape in enumerate(shapes):
        if shape not in known:
            known[shape] = len(known)
            first.append(i)
    return first, np.array([known[shape] for shape in shapes], dtype=np.int64)
