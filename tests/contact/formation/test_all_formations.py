from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from oracles.touching import Solid, overlapping, principal

import tangere as tg
from tangere.contact.formation.all_formations import all_formations
from tangere.contact.formation.columns import LINE, PLANE, POINT
from tangere.errors import SceneError
from tangere.geometry.boundary import (
    EDGE,
    FACE,
    VERTEX,
    Boundary,
    block_with_hole,
    boundary_of,
    half_space,
)
from tangere.maths.rotations import rotation_of

ONE, TWO = (0.03, 0.03, 0.06), (0.05, 0.08, 0.02)


def dimensions(a: Boundary, b: Boundary, contact: tuple[int, int, int]) -> tuple[int, int, int]:
    i, j, region = contact
    return int(a.elements.dimension[i]), int(b.elements.dimension[j]), region


@pytest.mark.compiled
def test_two_boxes_have_820_formations_of_one_contact_each() -> None:
    """All pairs of elements, edges twice: convex bodies touch in one convex region at a time."""
    a, b = boundary_of(tg.Box(ONE)), boundary_of(tg.Box(TWO))
    known = all_formations(a, b, most=2)
    kinds = Counter(dimensions(a, b, k.contacts[0]) for k in known)
    assert kinds == {
        (FACE, FACE, PLANE): 6 * 6,
        (FACE, EDGE, LINE): 6 * 12,
        (EDGE, FACE, LINE): 12 * 6,
        (FACE, VERTEX, POINT): 6 * 8,
        (VERTEX, FACE, POINT): 8 * 6,
        (EDGE, EDGE, POINT): 12 * 12,
        (EDGE, EDGE, LINE): 12 * 12,
        (EDGE, VERTEX, POINT): 12 * 8,
        (VERTEX, EDGE, POINT): 8 * 12,
        (VERTEX, VERTEX, POINT): 8 * 8,
    }
    assert all(len(k.contacts) == 1 for k in known)
    assert len(known) == 820


@pytest.mark.compiled
def test_every_formation_of_peg_and_hole_is_what_touches_at_its_pose() -> None:
    a, b = boundary_of(tg.Box(ONE)), block_with_hole((0.1, 0.1, 0.04), (0.036, 0.036))
    known = all_formations(a, b, most=2)
    sizes = Counter(len(k.contacts) for k in known)
    assert sizes[1] > 1000
    assert sizes[2] > 500
    solid, fixed = Solid(a), Solid(b)
    rng = np.random.default_rng(7)
    for number in rng.choice(len(known), 120, replace=False):
        formation = known[number]
        solid.place(formation.pose[:3], rotation_of(formation.pose[3:]))
        assert not overlapping(solid, fixed)
        pairs = {contact[:2] for contact in formation.contacts}
        assert pairs <= principal(solid, fixed)


def test_what_is_no_polyhedron_is_refused() -> None:
    with pytest.raises(SceneError, match="polyhedra"):
        all_formations(boundary_of(tg.Box(ONE)), half_space())
