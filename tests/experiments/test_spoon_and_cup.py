"""The hand that leads the spoon, the spoon as a tool, and the measure of ringing."""

from __future__ import annotations

import numpy as np
import pytest

from tangere._jit import JIT_DISABLED
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.experiments.held_mesh import Run
from tangere.experiments.otaduy2005_spoon_and_cup import (
    PLANES,
    TWO,
    Params,
    _start_quaternion,
    hand,
    press,
    spoon_tool,
)
from tangere.haptics.layout import (
    HAND_OMEGA,
    HAND_QUATERNION,
    HAND_VELOCITY,
    NOUT,
    NTOOL,
    OUT_ACTIVE,
    OUT_CONTACT,
)
from tangere.maths.rotations import rotation_of
from tangere.scene.utensils import cup

P = Params()


def test_the_hands_velocities_are_the_derivatives_of_its_poses() -> None:
    rows = hand(P, spoon_tool())
    # central differences; at the two corners of the script the rate itself jumps
    smooth = np.ones(len(rows) - 2, dtype=bool)
    for corner in (P.still, P.pressed):
        smooth[round(corner / P.dt) - 3 : round(corner / P.dt) + 1] = False
    v = (rows[2:, :3] - rows[:-2, :3]) / (2 * P.dt)
    assert v[smooth] == pytest.approx(
        rows[1:-1, HAND_VELOCITY : HAND_VELOCITY + 3][smooth], abs=5e-4
    )
    spin = []
    for before, after in zip(rows[:-2, HAND_QUATERNION:], rows[2:, HAND_QUATERNION:], strict=True):
        turned = rotation_of(after[:4]) @ rotation_of(before[:4]).T
        skew = 0.5 * (turned - turned.T) / (2 * P.dt)
        spin.append([skew[2, 1], skew[0, 2], skew[1, 0]])
    expected = rows[1:-1, HAND_OMEGA : HAND_OMEGA + 3]
    assert np.array(spin)[smooth] == pytest.approx(expected[smooth], abs=1e-3)


def test_the_hand_ends_where_the_script_says() -> None:
    rows = hand(P, spoon_tool())
    assert np.ptp(rows[: round(P.still / P.dt), :3], axis=0) == pytest.approx(0.0, abs=1e-15)
    pressed = rows[round(P.pressed / P.dt) - 1, :3] - rows[0, :3]
    assert pressed == pytest.approx([P.press, 0.0, 0.0], abs=1e-12)


def test_the_tool_is_the_spoon_in_principal_axes_held_in_the_middle_of_its_handle() -> None:
    tool = spoon_tool()
    moments = tool.shape.moments()
    inertia = tool.axes.T @ moments.inertia @ tool.axes / moments.volume
    assert inertia == pytest.approx(np.diag(tool.gyration), abs=1e-15)
    assert np.linalg.det(tool.axes) == pytest.approx(1.0, abs=1e-12)
    grip = tool.axes @ tool.grip + tool.centre
    # the handle reaches from -100 mm to 40 mm
    assert grip == pytest.approx([-0.03, *moments.centre[1:]], abs=1e-12)


@pytest.mark.skipif(JIT_DISABLED, reason="distance fields of meshes take minutes in plain Python")
def test_the_spoon_has_ten_millimetres_to_go() -> None:
    tool = spoon_tool()
    contact = PenaltyContact(tool.shape, [cup()], tool_frame=(tool.centre, tool.quaternion))
    gaps = []
    for way in (0.0100, 0.0103):
        place = np.array(P.start) + np.array([way, 0.0, 0.0])
        found = contact.query((place, _start_quaternion(tool)))
        gaps.append(way - found.delta.max())
    # 10.4 mm by brute force over both meshes
    assert gaps == pytest.approx([10.4e-3, 10.4e-3], abs=0.1e-3)
    assert len(contact.query((P.start, _start_quaternion(tool))).delta) == 0


@pytest.mark.skipif(JIT_DISABLED, reason="distance fields of meshes take minutes in plain Python")
def test_the_same_run_twice_is_the_same_bit_for_bit() -> None:
    short = Params(seconds=0.03, start=(0.0668, 0.0, 0.0))
    one, two = (press(short, spoon_tool(), cup(), TWO, PLANES) for _ in range(2))
    assert one.touching.any()
    assert np.array_equal(one.states, two.states)
    assert np.array_equal(one.out, two.out)


@pytest.mark.parametrize(("hertz", "expected"), [(120.0, 1.0), (5.0, 0.0)])
def test_ringing_is_the_rms_of_what_is_fast(hertz: float, expected: float) -> None:
    out = np.zeros((650, NOUT))
    out[:, OUT_CONTACT + 1] = np.sqrt(2.0) * np.sin(2 * np.pi * hertz * 1e-3 * np.arange(650))
    made = Run(np.zeros((650, NTOOL)), out, np.zeros(650), np.zeros(650))
    # a filter of fourth order, used twice, passes 99 % at 120 Hz; ends of the run leave 1 %
    assert made.ringing(OUT_CONTACT, P) == pytest.approx(expected, abs=0.02)


def test_losing_contact_is_counted() -> None:
    out = np.zeros((6, NOUT))
    out[:, OUT_ACTIVE] = [0, 1, 0, 2, 1, 0]
    assert Run(np.zeros((6, NTOOL)), out, np.zeros(6), np.zeros(6)).breaks == 2
