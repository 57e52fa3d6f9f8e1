"""Every contact formation of two bodies: the table that Xiao and Ji (2001) make beforehand.

A formation of one contact is put together: A is turned until the outward directions of both
elements oppose each other, about that axis to several angles, and shifted until two of their points
meet. Formations of more contacts grow out of those of fewer: each single contact is added in turn
and the poses where both hold are looked for from either one's pose. What is valid is the verdict of
`validity` in all cases. Polyhedra that are both convex touch in one contact at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.contact.formation.candidates import placed, surface_of
from tangere.contact.formation.columns import LINE, PLANE, POINT
from tangere.contact.formation.validity import VALID, Trial, judge_additions, judge_at
from tangere.errors import SceneError
from tangere.geometry.boundary import EDGE, FACE, SEGMENT, VERTEX, Boundary
from tangere.geometry.outline import plane_axes
from tangere.maths.rotations import quaternion_of
from tangere.maths.vec import Array, IntArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Turns about the common direction: four along any edge of a box and four across none, for edges
# must cross in one case and be parallel in the other.
TURNS = np.deg2rad([0.0, 90.0, 180.0, 270.0, 20.0, 65.0, 110.0, 155.0, 200.0, 245.0, 290.0, 335.0])
# Contacts are exact: the layer is small beside all features, and the way to a formation is free.
LAYER, REACH = 1e-4, 10.0
# Places on a face or edge that are tried as the common point
PLACES = 4

Work = tuple[IntArray, IntArray, IntArray]  # elements of A, of B, regions


class KnownFormation(NamedTuple):
    """One valid formation and a pose where it holds exactly."""

    contacts: tuple[tuple[int, int, int], ...]
    """Of each contact the element of A, that of B, and the region: 0 point, 1 line, 2 plane."""
    pose: Array
    """Position [m] and orientation (w, x, y, z) of A in the frame of B."""


def all_formations(tool: Boundary, fixed: Boundary, most: int = 2) -> list[KnownFormation]:
    """Valid formations of two polyhedra in the order of their contacts' numbers, single ones first.

    Args:
        tool: Boundary of A.
        fixed: Boundary of B.
        most: Contacts of one formation.
    """
    for b in (tool, fixed):
        if (
            set(b.elements.kind[b.of_dimension(EDGE)]) - {SEGMENT}
            or not b.of_dimension(VERTEX).size
        ):
            raise SceneError("all_formations: both bodies must be polyhedra")
    radius = float(np.linalg.norm(tool.elements.frame[:, :, 3], axis=1).max())
    body, other = surface_of([tool]), surface_of([fixed])
    lists = np.zeros(len(tool) + len(fixed), np.int32)
    trial = Trial(
        body, placed(body), other, lists, np.array([radius, LAYER, REACH * radius, LAYER])
    )
    room = most + 1
    work = (np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room, np.int32))
    found = [
        known
        for i in range(len(tool))
        for j in range(len(fixed))
        for region in _regions(tool, i, fixed, j)
        if (known := _single(trial, work, tool, i, fixed, j, region)) is not None
    ]
    singles, fresh = list(found), list(found)
    for _ in range(most - 1):
        fresh = _grown(trial, work, fresh, singles)
        found += fresh
    return found


def _regions(a: Boundary, i: int, b: Boundary, j: int) -> tuple[int, ...]:
    """Regions that a pair of elements can touch in."""
    one, two = sorted((int(a.elements.dimension[i]), int(b.elements.dimension[j])))
    if two == FACE:
        return ((POINT, LINE, PLANE)[one],)
    return (POINT, LINE) if one == EDGE else (POINT,)


def _single(
    trial: Trial,
    work: Work,
    a: Boundary,
    i: int,
    b: Boundary,
    j: int,
    region: int,
) -> KnownFormation | None:
    """A formation of one contact, if it is valid at any of the poses that are tried."""
    for values, value in zip(work, (i, j, region), strict=True):
        values[0] = value
    for pose in _poses(a, i, b, j):
        if judge_at(trial, 1, *work, pose) == VALID:
            return KnownFormation(((i, j, region),), pose)
    return None


def _poses(a: Boundary, i: int, b: Boundary, j: int) -> Iterator[Array]:
    """Poses where two elements have a point in common and look at each other."""
    out_a, out_b = _outward(a, i), _outward(b, j)
    frame_a = np.column_stack((*_axes(a, i, out_a), out_a))
    x, y = _axes(b, j, out_b)
    points_a = _places(a, i)
    for place in _places(b, j):
        for angle in TURNS:
            c, s = np.cos(angle), np.sin(angle)
            frame_b = np.column_stack((c * x + s * y, s * x - c * y, -out_b))
            rotation = frame_b @ frame_a.T
            for point in points_a:
                yield np.concatenate((place - rotation @ point, quaternion_of(rotation)))


def _outward(b: Boundary, element: int) -> Array:
    """Unit vector in the middle of the outward normals of the faces at an element."""
    faces = [f for f in b.of_dimension(FACE) if element in b.closure(int(f))]
    total = b.elements.frame[faces, :, 2].sum(axis=0)
    return np.asarray(total / np.linalg.norm(total))


def _axes(b: Boundary, element: int, out: Array) -> tuple[Array, Array]:
    """Two unit vectors across a direction; of an edge the first is along it."""
    if b.elements.dimension[element] != EDGE:
        return plane_axes(out)
    along = b.elements.frame[element, :, 2]
    return along, np.cross(out, along)


def _places(b: Boundary, element: int) -> list[Array]:
    """Points within an element."""
    e = b.elements
    at, dimension = e.frame[element, :, 3], e.dimension[element]
    if dimension == VERTEX:
        return [at]
    if dimension == EDGE:
        along = e.size[element, 0] * e.frame[element, :, 2]
        return [at + share * along for share in (0.1, -0.7, 0.6)]
    found = []
    for loop in b.loops(element):  # between the middle of a side and the outline across
        for tail, head in zip(loop, np.roll(loop, -1, axis=0), strict=True):
            into = np.cross(e.frame[element, :, 2], head - tail)
            found.append(0.45 * tail + 0.55 * head + 0.2 * into)
    return found[:: max(1, len(found) // PLACES)]


def _grown(
    trial: Trial,
    work: Work,
    known: Sequence[KnownFormation],
    singles: Sequence[KnownFormation],
) -> list[KnownFormation]:
    """Formations of one contact more, each once."""
    grown: dict[tuple[tuple[int, int, int], ...], KnownFormation] = {}
    contacts = np.array([s.contacts[0] for s in singles], np.int32)
    own = np.array([s.pose for s in singles])
    for formation in known:
        later = np.flatnonzero([tuple(c) > formation.contacts[-1] for c in contacts.tolist()])
        if not len(later):
            continue
        for start in (np.tile(formation.pose, (len(later), 1)), own[later].copy()):
            for place, contact in enumerate(formation.contacts):
                for values, value in zip(work, contact, strict=True):
                    values[place] = value
            verdicts = np.zeros(len(later), np.int32)
            poses = start.ravel()
            rows = contacts[later].ravel()
            judge_additions(trial, len(formation.contacts), *work, rows, poses, verdicts)
            for k in np.flatnonzero(verdicts == VALID).tolist():
                row = contacts[later[k]].tolist()
                key = (*formation.contacts, (row[0], row[1], row[2]))
                grown.setdefault(key, KnownFormation(key, poses.reshape(-1, 7)[k]))
    return list(grown.values())
