"""The wrench of a formation to first order, against the wrench itself at displaced poses."""

from __future__ import annotations

import numpy as np
import pytest
from contact.formation.scenes import DT, MASS, SHARP, UPRIGHT, block, row

from tangere.contact.formation.columns import (
    MOST_CONTACTS,
    NPC,
    OUT_STATE,
    RES_WRENCH,
    SLIP,
)
from tangere.contact.formation.derivative import derivatives
from tangere.contact.formation.options import Formation
from tangere.contact.formation.wrench import Forces, contact_wrench, new_forces
from tangere.maths.quat import from_vector
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

GAP = 0.4e-3
CORNERS = np.array([[-0.02, -0.01, 0.0], [0.03, -0.01, 0.0], [0.03, 0.02, 0.0], [-0.02, 0.02, 0.0]])
CENTRE = np.array([0.004, -0.003, 0.025])


def body(options: Formation = SHARP) -> Forces:
    return new_forces(options, MASS, 1e-4 * np.eye(3), 0.03, DT, [block(), block()])


def contacts(shift: Array, turn: Array, region: Array) -> Array:
    """A flat contact with the plane z = 0 of a body that was moved by a small way and turn."""
    moved = CENTRE + shift + (region - CENTRE) + np.cross(turn, region - CENTRE)
    return row(region, [0.0, 0.0, 1.0], list(GAP + (moved - region)[:, 2]))


def wrench(forces: Forces, shift: Array, turn: Array, region: Array, time: float) -> Array:
    rows = np.zeros((MOST_CONTACTS, NPC))
    rows[0] = contacts(shift, turn, region)
    quaternion = np.array(from_vector((float(turn[0]), float(turn[1]), float(turn[2]))))
    contact_wrench(forces, np.concatenate((CENTRE + shift, quaternion)), rows, 1, time)
    return np.asarray(forces.result[RES_WRENCH : RES_WRENCH + 6].copy())


@pytest.mark.parametrize("corners", [1, 2, 4], ids=["point", "line", "plane"])
@pytest.mark.parametrize("direction", range(6))
def test_stiffness_is_that_of_the_wrench_at_rest(corners: int, direction: int) -> None:
    region = CORNERS[:corners]
    still = Formation(blend=0.0, damping=0.0)
    way = np.zeros(6)
    # so little that no contact slips and no angle has a second order
    way[direction] = 1e-7 if direction < 3 else 1e-5
    found = []
    for sign in (-1.0, 1.0):
        forces = body(still)
        for k in range(40):
            wrench(forces, np.zeros(3), np.zeros(3), region, k * DT)
        found.append(wrench(forces, sign * way[:3], sign * way[3:], region, 40 * DT))
    expected = (found[0] - found[1]) / (2.0 * way[direction])
    forces = body(still)
    for k in range(40):
        wrench(forces, np.zeros(3), np.zeros(3), region, k * DT)
    rows = np.zeros((MOST_CONTACTS, NPC))
    rows[0] = contacts(np.zeros(3), np.zeros(3), region)
    s, b = np.zeros(36), np.zeros(36)
    pose = np.concatenate((CENTRE, UPRIGHT))
    derivatives(forces.law, rows, forces.out, 1, pose, s, b)
    mine = s.reshape(6, 6)[:, direction]
    # what is left out: the force of 1.4 N itself, at an arm of 25 mm that changes
    assert mine[:3] == pytest.approx(expected[:3], abs=2.0)
    assert mine[3:] == pytest.approx(expected[3:], abs=1.5 if direction < 3 else 0.1)
    assert np.abs(b).max() == 0.0


def test_damping_is_along_the_normal_alone() -> None:
    forces = body()
    wrench(forces, np.zeros(3), np.zeros(3), CORNERS[:1], 0.0)
    rows = np.zeros((MOST_CONTACTS, NPC))
    rows[0] = contacts(np.zeros(3), np.zeros(3), CORNERS[:1])
    s, b = np.zeros(36), np.zeros(36)
    derivatives(forces.law, rows, forces.out, 1, np.concatenate((CENTRE, UPRIGHT)), s, b)
    j = np.array([0.0, 0.0, 1.0, *np.cross(CORNERS[0] - CENTRE, [0.0, 0.0, 1.0])])
    assert b.reshape(6, 6) == pytest.approx(SHARP.damping * np.outer(j, j), abs=1e-12)


def test_what_slides_or_does_not_press_has_no_spring() -> None:
    forces = body()
    wrench(forces, np.zeros(3), np.zeros(3), CORNERS, 0.0)
    rows = np.zeros((MOST_CONTACTS, NPC))
    rows[0] = contacts(np.zeros(3), np.zeros(3), CORNERS)
    s, b = np.zeros(36), np.zeros(36)
    pose = np.concatenate((CENTRE, UPRIGHT))
    forces.out[0, OUT_STATE] = SLIP
    derivatives(forces.law, rows, forces.out, 1, pose, s, b)
    assert s.reshape(6, 6)[:2, :2] == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    assert s.reshape(6, 6)[2, 2] == pytest.approx(SHARP.stiffness)
    derivatives(forces.law, rows, np.zeros_like(forces.out), 1, pose, s, b)
    assert np.abs(s).max() == np.abs(b).max() == 0.0
