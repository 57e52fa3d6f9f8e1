"""Limits, axes and turns that all adapters share."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest
from devices.peers import X, Y, Z, turn_matrix, turn_quaternion
from hypothesis import given
from hypothesis import strategies as st

from tangere.devices.device import MODELS, Adapter, Axes, DeviceInfo, Estimator, Floats, model
from tangere.devices.forcedimension import AXES as DHD
from tangere.errors import DeviceError
from tangere.maths.rotations import quaternion_of

pytestmark = pytest.mark.nojit

HD = Axes("+x", "-z", "+y")  # as `haptics.hd` has it
UNIT = {"x": X, "y": Y, "z": Z}
# Of a quaternion through a matrix and back
ROUNDING = 1e-12


@pytest.mark.parametrize(
    ("axes", "native", "base"),
    [
        # DHD: x towards the user, y right, z up
        (DHD, X, -Y),
        (DHD, Y, X),
        (DHD, Z, Z),
        # HD: x right, y up, z towards the user
        (HD, X, X),
        (HD, Y, Z),
        (HD, Z, -Y),
    ],
)
def test_native_axes_and_back(axes: Axes, native: Floats, base: Floats) -> None:
    assert axes.to_base(native) == pytest.approx(base)
    assert axes.from_base(base) == pytest.approx(native)


def test_the_frames_of_the_vendors_agree_with_each_other() -> None:
    """DHD ← HD is (z, x, y): the same hand seen by both drivers."""
    v = (1.0, 2.0, 3.0)
    assert HD.to_base(v) == DHD.to_base((v[2], v[0], v[1]))


@given(
    st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda a: np.linalg.norm(a) > 0.1), st.floats(-3, 3)
)
def test_turns_are_conjugated(axis: Floats, angle: float) -> None:
    """R_base = P R Pᵀ, whatever the turn."""
    unit = np.array(axis) / np.linalg.norm(axis)
    for axes in (DHD, HD):
        q = axes.quaternion(turn_quaternion(unit, angle))
        turned = axes.matrix @ turn_matrix(unit, angle) @ axes.matrix.T
        q_of = quaternion_of(turned)
        assert abs(np.dot(q, q_of)) == pytest.approx(1.0, abs=ROUNDING)


def test_left_handed_axes_are_refused() -> None:
    with pytest.raises(DeviceError, match="right-handed"):
        Axes("+x", "+y", "-z")


@given(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1))
def test_quaternion_of_a_matrix(q: Floats) -> None:
    unit = np.array(q) / np.linalg.norm(q)
    angle = 2 * np.arctan2(np.linalg.norm(unit[1:]), unit[0])
    size = np.linalg.norm(unit[1:])
    axis = unit[1:] / size if size > 0 else X
    found = quaternion_of(turn_matrix(axis, float(angle)))
    assert found[0] >= 0.0
    assert abs(np.dot(found, unit)) == pytest.approx(1.0, abs=ROUNDING)


@pytest.mark.parametrize("axis", [X, Y, Z])
def test_quaternion_of_half_a_turn(axis: Floats) -> None:
    """w = 0: only the largest component can be divided by."""
    assert np.abs(quaternion_of(turn_matrix(np.array(axis), np.pi))) == pytest.approx(
        [0.0, *axis], abs=ROUNDING
    )


def test_degrees_of_freedom_follow_from_the_record() -> None:
    counts = {name: (info.sensed, info.actuated) for name, info in MODELS.items()}
    assert counts["delta.3"] == (3, 3)
    assert counts["omega.6"] == (6, 3)
    assert counts["omega.7"] == (7, 4)
    assert counts["sigma.7"] == (7, 7)
    assert counts["Premium 1.5 6DOF"] == (6, 6)
    assert DeviceInfo("mouse").actuated == 0


def test_a_model_is_found_in_any_case_and_missed_in_words() -> None:
    assert model("FALCON").max_force == 8.0
    with pytest.raises(DeviceError, match=r"omega\.8.*known are"):
        model("omega.8")


class Stubborn(Adapter):
    """Fails at one of its calls."""

    def __init__(self, at: str) -> None:
        super().__init__(DeviceInfo("stubborn", max_force=1.0))
        self.at, self.freed = at, 0

    def _connect(self) -> None:
        if self.at == "connect":
            raise DeviceError("stubborn: no")

    def _send(self, force: Floats, torque: Floats) -> None:
        if self.at == "send":
            raise OSError("cable")

    def _disconnect(self) -> None:
        self.freed += 1


def test_a_device_is_freed_whatever_fails() -> None:
    for at in ("connect", "send", "nothing"):
        device = Stubborn(at)
        if at == "connect":
            with pytest.raises(DeviceError):
                device.open()
        else:
            with device:
                device.write(np.zeros(6))
                assert device.fault == ("stubborn: cable" if at == "send" else "")
        assert device.freed == 1


def test_velocity_from_poses() -> None:
    """A steady motion is found exactly after a few time constants of the filter."""
    estimate = Estimator(time_constant=2e-3)
    twist: Floats = ()
    for n in range(200):
        t = 1e-3 * n
        twist = estimate(t, (0.3 * t, 0.0, -0.1 * t), (cos(t), 0.0, sin(t), 0.0))
    assert twist == pytest.approx([0.3, 0.0, -0.1, 0.0, 2.0, 0.0], abs=1e-9)
    assert estimate(0.0, (9.0, 9.0, 9.0), (1.0, 0.0, 0.0, 0.0)) == twist  # a clock that went back
