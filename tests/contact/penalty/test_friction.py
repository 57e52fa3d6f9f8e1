"""Friction of a tool's planes: Coulomb's bound, stick and slip, change of planes, reactions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangere as tg
from tangere.contact.penalty.contacts import CLUSTER_FORCE
from tangere.contact.penalty.options import Penalty
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.contact_planes import PLANE_FRICTION, PLANE_HOLD, PLANE_SHEAR
from tangere.errors import SceneError
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

STATIC, KINETIC = 0.5, 0.3
K, D = 2000.0, 1e-3
CUBE = tg.Box((0.04, 0.04, 0.04))
COARSE = Penalty(stiffness=K, tolerance=D, spacing=0.005, samples=300)
DOWN = 0.0195  # of the cube on the floor z = 0: 0.5 mm deep [m]
S = K * (0.5e-3 + D)  # normal force there [N]


def row(position: Any, omega: Any = (0, 0, 0)) -> Array:
    return np.concatenate((position, (1, 0, 0, 0), (0, 0, 0), omega)).astype(np.float64)


def on_floor() -> PenaltyContact:
    return PenaltyContact(
        CUBE, floors=[((0, 0, 1), 0.0)], options=COARSE, friction=[(STATIC, KINETIC)]
    )


def test_a_small_way_sticks_and_pulls_back_like_a_spring() -> None:
    contact = on_floor()
    contact.update(row((0, 0, DOWN)))
    way = 0.1e-3
    contact.update(row((way, 0, DOWN)))
    assert contact.response.wrench[0] == pytest.approx(-K * way, rel=1e-6)
    assert contact.response.wrench[2] == pytest.approx(S, rel=1e-6)
    contact.update(row((0, 0, DOWN)))
    assert contact.response.wrench[0] == pytest.approx(0.0, abs=1e-9)


def test_a_long_way_slips_and_friction_is_kinetic() -> None:
    contact = on_floor()
    contact.update(row((0, 0, DOWN)))
    for k in range(1, 30):
        planes = contact.update(row((1e-4 * k, 0, DOWN)))
        held = np.linalg.norm(planes[:, PLANE_HOLD : PLANE_HOLD + 3], axis=1)
        assert (held <= planes[:, PLANE_FRICTION] * planes[:, CLUSTER_FORCE] + 1e-12).all()
    assert contact.response.wrench[0] == pytest.approx(-KINETIC * S, rel=1e-6)
    assert (planes[:, PLANE_FRICTION] == KINETIC).all()


def test_friction_starts_at_the_static_bound() -> None:
    contact = on_floor()
    contact.update(row((0, 0, DOWN)))
    largest = 0.0
    for k in range(1, 200):
        contact.update(row((1e-5 * k, 0, DOWN)))
        largest = max(largest, -contact.response.wrench[0])
    assert largest == pytest.approx(STATIC * S, rel=0.05)


def test_a_turn_about_the_normal_is_resisted() -> None:
    contact = on_floor()
    contact.update(row((0, 0, DOWN)))
    turned = row((0, 0, DOWN))
    turned[3:7] = np.cos(0.005), 0.0, 0.0, np.sin(0.005)
    contact.update(turned)
    assert contact.response.wrench[5] < 0.0
    assert np.abs(contact.response.wrench[:2]).max() < 0.1 * S


def test_the_body_feels_the_opposite() -> None:
    block = tg.Box((0.1, 0.1, 0.02))
    contact = PenaltyContact(CUBE, [block], options=COARSE, friction=[(STATIC, KINETIC)])
    under = row((0, 0, -0.01))
    contact.update(row((0, 0, DOWN)), [under])
    contact.update(row((1e-4, 0, DOWN)), [under])
    assert contact.response.wrench[0] < -0.05
    on_block = contact.response.reactions[0]
    assert on_block[:3] == pytest.approx(-contact.response.wrench[:3], abs=1e-12)
    # both torques about the world's origin
    about = np.cross((1e-4, 0, DOWN), contact.response.wrench[:3]) + contact.response.wrench[3:]
    back = np.cross((0, 0, -0.01), on_block[:3]) + on_block[3:]
    assert back == pytest.approx(-about, abs=1e-12)


def test_a_body_that_moves_along_pulls_the_tool() -> None:
    block = tg.Box((0.1, 0.1, 0.02))
    contact = PenaltyContact(CUBE, [block], options=COARSE, friction=[(STATIC, KINETIC)])
    contact.update(row((0, 0, DOWN)), [row((0, 0, -0.01))])
    contact.update(row((0, 0, DOWN)), [row((1e-4, 0, -0.01))])
    assert contact.response.wrench[0] > 0.05


def test_friction_is_handed_on_when_planes_change() -> None:
    """Half of the planes are forgotten: those that are left have all of the friction."""
    contact = on_floor()
    contact.update(row((0, 0, DOWN)))
    contact.update(row((1e-4, 0, DOWN)))
    before = contact.response.wrench[0]
    memory = contact.friction.memory
    named = np.flatnonzero(memory[:, 0])
    memory[named[::2], 0] += 1000.0  # names that no plane has any more
    contact.update(row((1e-4, 0, DOWN)))
    assert contact.response.wrench[0] == pytest.approx(before, rel=1e-6)


def test_without_friction_nothing_is_added() -> None:
    contact = PenaltyContact(CUBE, floors=[((0, 0, 1), 0.0)], options=COARSE)
    contact.update(row((0, 0, DOWN)))
    planes = contact.update(row((1e-3, 0, DOWN)))
    assert np.abs(contact.response.wrench[:2]).max() < 1e-9
    assert not planes[:, [PLANE_FRICTION, PLANE_SHEAR]].any()


def test_after_a_pause_friction_begins_anew() -> None:
    contact = on_floor()
    contact.update(row((0, 0, DOWN)))
    contact.update(row((1e-4, 0, DOWN)))
    contact.forget()
    contact.update(row((1e-3, 0, DOWN)))
    assert contact.response.wrench[0] == pytest.approx(0.0, abs=1e-9)


def test_a_wrong_number_of_coefficients_is_refused() -> None:
    with pytest.raises(SceneError, match="2 pairs for 1 bodies and floors"):
        PenaltyContact(
            CUBE, floors=[((0, 0, 1), 0.0)], options=COARSE, friction=[(0.5, 0.3), (0.5, 0.3)]
        )
