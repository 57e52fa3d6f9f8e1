"""Which contacts are the same from pose to pose, and the type of the motion before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from contact.formation.scenes import DT, SHARP, UPRIGHT, Row, ball, block, play, row

from tangere.contact.formation.columns import (
    CASE_IMPACT,
    FIRST,
    FREE,
    GAINED,
    KEPT,
    LOST,
    MEM_USED,
    OUT_CASE,
    RES_TYPE,
)
from tangere.contact.formation.motion_type import relations
from tangere.contact.formation.wrench import Forces
from tangere.geometry.boundary import boundary_of, half_space
from tangere.geometry.shapes import Box

pytestmark = pytest.mark.nojit

BLOCK = boundary_of(Box((0.1, 0.1, 0.1)))
TOP, EDGE, CORNER = (BLOCK.index(name) for name in ("face +z", "edge +x +z", "vertex +x +y +z"))
UP = [0.0, 0.0, 1.0]


def types(formations: Sequence[Sequence[Row]], forces: Forces | None = None) -> list[int]:
    """Type of the motion at every pose of a body that does not move."""
    forces = forces or ball(SHARP)
    found = []
    for k, rows in enumerate(formations):
        play(forces, np.zeros((1, 3)), UPRIGHT[None], lambda x, q, r=rows: list(r), start=k * DT)  # type: ignore[misc]
        found.append(int(forces.result[RES_TYPE]))
    return found


def touch(name: int, place: float = 0.0, gap: float = 5e-4) -> Row:
    """A point on the top of B, of elements that are related to none of the others."""
    return row(np.array([place, 0.0, 0.0]), UP, gap, name=name, elements=(name, name))


def test_related_elements_of_a_block() -> None:
    kin = relations([BLOCK.elements, half_space().elements])
    assert list(kin.width) == [26, 1]
    assert list(kin.start) == [0, 26 * 26]
    table = kin.table[: 26 * 26].reshape(26, 26)
    assert np.array_equal(table, table.T)
    dimension = BLOCK.elements.dimension
    for e in range(26):
        related = [int(np.sum(table[e, dimension == d])) for d in range(3)]
        # a face: its corners, its edges, itself and four neighbours; and so on
        assert related == {2: [4, 4, 5], 1: [2, 5, 2], 0: [4, 3, 3]}[int(dimension[e])]
    assert kin.table[-1] == 1


def test_types_of_a_formation_that_comes_and_goes() -> None:
    a, b, c = (touch(name, 0.1 * name) for name in (1, 2, 3))
    sequence = [[], [a], [a], [a, b], [b, a], [b, a, c], [b], [b], [], []]
    expected = [FREE, FIRST, KEPT, GAINED, KEPT, GAINED, LOST, KEPT, FREE, FREE]
    assert types(sequence) == expected


def test_several_contacts_in_one_pose() -> None:
    """The one that is deepest, at equal speed, was first; all of them are new."""
    forces = ball(SHARP)
    assert types([[], [touch(1, 0.0, 9e-4), touch(2, 0.1, 4e-4)]], forces) == [FREE, FIRST]
    assert types([[touch(1), touch(2, 0.1)]], ball(SHARP)) == [FIRST]
    assert list(forces.out[:2, OUT_CASE]) == [CASE_IMPACT] * 2


@pytest.mark.parametrize(("gap", "expected"), [(1, KEPT), (4, KEPT), (7, FIRST)])
def test_a_contact_that_comes_back_at_once_was_never_lost(gap: int, expected: int) -> None:
    forces = ball(SHARP)
    found = types([[touch(1)]] * 3 + [[]] * gap + [[touch(1)]], forces)
    assert found == [FIRST, KEPT, KEPT] + [FREE] * gap + [expected]
    assert np.count_nonzero(forces.memory[:, MEM_USED]) == 1


def test_an_edge_that_lifts_onto_its_corner_has_changed() -> None:
    ends = np.array([[0.05, -0.05, 0.0], [0.05, 0.05, 0.0]])
    line = row(ends, UP, 5e-4, name=1, elements=(EDGE, TOP))
    point = row(ends[1], UP, 5e-4, name=2, elements=(CORNER, TOP))
    assert types([[line], [point], [line]]) == [FIRST, LOST, LOST]
    # elsewhere, or of elements that are not related, it is another contact
    apart = row(ends[1] + [0.0, 3e-3, 0.0], UP, 5e-4, name=2, elements=(CORNER, TOP))
    assert types([[line], [apart]]) == [FIRST, GAINED]
    other = row(ends[1], UP, 5e-4, name=2, elements=(CORNER, BLOCK.index("face -z")))
    assert types([[line, touch(7)], [other, touch(7)]]) == [FIRST, GAINED]


def test_a_face_that_tilts_onto_its_edge_has_changed() -> None:
    corners = np.array([[-0.05, -0.05, 0], [0.05, -0.05, 0], [0.05, 0.05, 0], [-0.05, 0.05, 0]])
    face = row(corners, UP, 5e-4, name=1, elements=(TOP, TOP))
    line = row(corners[1:3], UP, 5e-4, name=2, elements=(EDGE, TOP))
    assert types([[face], [line], [face]]) == [FIRST, LOST, LOST]


def test_memory_has_room_for_all_that_come_and_go() -> None:
    """Sixteen new contacts at every pose, while those lost are still remembered."""
    forces = ball(SHARP)
    for k in range(6):
        rows = [touch(16 * k + i, 0.1 * i) for i in range(16)]
        rows = [row(r[8:11], UP, 5e-4, name=int(r[0]), elements=(i, i)) for i, r in enumerate(rows)]
        play(forces, np.zeros((1, 3)), UPRIGHT[None], lambda x, q, r=rows: r, start=k * DT)  # type: ignore[misc]
        assert np.isfinite(forces.result).all()
        assert (forces.memory[:, MEM_USED] == 1.0).sum() == 16
    assert len(block().dimension) == 26
