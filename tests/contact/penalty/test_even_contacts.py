"""Stand-ins for points where a surface presses evenly: few contacts, the same force, no jumps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangere as tg
from tangere.bench.penalty_accuracy import PAIRS, compare, steadiness
from tangere.collision.field_query import Solids
from tangere.collision.point_levels import BULGE, REACH, SHARE, STAND_IN, stand_ins
from tangere.collision.surface_points import BALL, FIRST, LAST, OUTWARD, POINT
from tangere.contact.penalty.engines import FieldEngine
from tangere.contact.penalty.options import Penalty
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.maths.vec import Array

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
BLOCK = tg.Box((0.05, 0.05, 0.05))


def solids_of(contact: PenaltyContact) -> Solids:
    assert isinstance(contact.engine, FieldEngine)
    return contact.engine.solids


def plain(contact: PenaltyContact) -> PenaltyContact:
    """The same without stand-ins."""
    solids_of(contact).nodes[:, STAND_IN] = -1.0
    return contact


def pose(place: Any, tilt: float = 0.0) -> Array:
    q = np.array([np.cos(0.5 * tilt), np.sin(0.5 * tilt), 0.0, 0.0])
    return np.concatenate((place, q, np.zeros(6)))


@pytest.mark.nojit
def test_a_stand_in_is_the_mean_of_its_points() -> None:
    contact = PenaltyContact(BLOCK, [BLOCK], options=Penalty(spacing=2e-3, samples=4000))
    solids = solids_of(contact)
    was = int(solids.was[0])
    links, nodes = solids.links, solids.nodes
    having = np.flatnonzero(nodes[:, STAND_IN] >= 0.0)
    assert len(having) > 20
    for k in having:
        own = solids.points[links[k, FIRST] : links[k, LAST]]
        it = solids.points[int(nodes[k, STAND_IN])]
        mean = own[:, OUTWARD : OUTWARD + 3].mean(axis=0)
        assert int(nodes[k, STAND_IN]) < was
        assert it[POINT : POINT + 3] == pytest.approx(own[:, :3].mean(axis=0), abs=1e-15)
        assert np.linalg.norm(it[OUTWARD : OUTWARD + 3]) == pytest.approx(1.0, abs=1e-12)
        assert nodes[k, SHARE] == pytest.approx(len(own) * np.linalg.norm(mean), rel=1e-12)
        away = np.linalg.norm(own[:, :3] - it[:3], axis=1)
        assert away.max() == pytest.approx(nodes[k, REACH], abs=1e-15)
        assert np.abs((own[:, :3] - it[:3]) @ it[OUTWARD : OUTWARD + 3]).max() == pytest.approx(
            nodes[k, BULGE], abs=1e-15
        )
        assert nodes[k, REACH] <= 2.0 * solids.balls[k, BALL + 3]


@pytest.mark.nojit
def test_opposite_normals_have_no_stand_in() -> None:
    points = np.zeros((4, 6))
    points[:, 0] = [0.0, 1e-3, 2e-3, 1.0]
    points[:, OUTWARD + 2] = [1.0, -1.0, 1.0, 1.0]
    balls = np.array([[0.5, 0, 0, 0.5], [1e-3, 0, 0, 1e-3]])
    links = np.array([[0, 4, 1, -1], [0, 3, -1, -1]])
    rows, nodes = stand_ins(points, balls, links)
    assert len(rows) == 0
    assert nodes[:, STAND_IN].tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("tilt", [0.0, 0.003, 0.02])
def test_flat_faces_need_few_contacts_for_the_same_force_and_torque(tilt: float) -> None:
    at = pose((0.002, -0.003, 0.0497 + 0.025 * tilt), tilt)
    few, many = PenaltyContact(BLOCK, [BLOCK]), plain(PenaltyContact(BLOCK, [BLOCK]))
    for contact in (few, many):
        contact.update(at)
    if tilt == 0.0:
        assert len(few.contacts.delta) < 0.35 * len(many.contacts.delta)
    one, two = few.response.wrench, many.response.wrench
    assert one[:3] == pytest.approx(two[:3], abs=0.03 * float(np.linalg.norm(two[:3])))
    # the centre of pressure to a tenth of the largest node
    arm = np.linalg.norm(one[3:] - two[3:]) / np.linalg.norm(two[:3])
    assert arm < 0.1 * 0.1 * 0.05


@pytest.mark.nojit
def test_on_a_floor_stand_ins_carry_the_whole_face() -> None:
    options = Penalty(spacing=2e-3, samples=4000)
    few = PenaltyContact(BLOCK, floors=[((0, 0, 1), 0.0)], options=options)
    many = plain(PenaltyContact(BLOCK, floors=[((0, 0, 1), 0.0)], options=options))
    for contact in (few, many):
        contact.update(pose((0, 0, 0.0247)))
    assert 4 <= len(few.contacts.delta) < len(many.contacts.delta)
    assert few.response.wrench[:3] == pytest.approx(many.response.wrench[:3], rel=1e-6, abs=1e-9)
    few.update(pose((0, 0, 0.027), 0.1))
    many.update(pose((0, 0, 0.027), 0.1))
    assert few.response.wrench[2] == pytest.approx(many.response.wrench[2], rel=0.05)


@pytest.mark.parametrize("name", ["blobs", "spoon and cup", "jaws"])
def test_along_smooth_paths_the_force_does_not_jump(name: str) -> None:
    """Steps of a tenth change the force by about a tenth; a jump would stay as large as it is."""
    found = steadiness(PAIRS[name](), 4, seed=1)
    assert found.paths > 0
    assert found.coarse < 4.0
    assert found.fine < 0.25 * found.coarse + 0.02


def test_flat_faces_slide_and_tilt_without_jumps() -> None:
    found = steadiness((BLOCK, BLOCK), 4)
    assert found.coarse < 4.0
    assert found.fine < 0.25 * found.coarse + 0.02


@pytest.mark.parametrize("name", list(PAIRS))
def test_depths_are_those_of_the_meshes(name: str) -> None:
    found = compare(PAIRS[name](), 10)
    assert np.percentile(found.errors, 95) < 0.5
    assert len(found.missed) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "poses"), [("spoon and cup", 40_000), ("gears", 18_000),
                                             ("jaws", 2_000), ("blobs", 40_000)])  # fmt: skip
def test_hardly_any_contact_deeper_than_a_cell_is_missed(name: str, poses: int) -> None:
    """But where it sits in the very middle of a wall, and which side is nearest is a toss-up."""
    found = compare(PAIRS[name](), poses, seed=77)
    assert np.percentile(found.errors, 95) < 0.5
    assert len(found.missed) <= 1e-4 * found.deep


@pytest.mark.nojit
def test_on_a_block_stand_ins_carry_what_all_points_do() -> None:
    options = Penalty(spacing=2e-3, samples=4000)
    few = PenaltyContact(BLOCK, [BLOCK], options=options)
    many = plain(PenaltyContact(BLOCK, [BLOCK], options=options))
    for tilt in (0.0, 0.02):
        for contact in (few, many):
            contact.update(pose((0.0, 0.0, 0.0497 + 0.025 * tilt), tilt))
        assert 4 <= len(few.contacts.delta) <= len(many.contacts.delta)
        one, two = few.response.wrench[:3], many.response.wrench[:3]
        assert one == pytest.approx(two, abs=0.03 * float(np.linalg.norm(two)))
