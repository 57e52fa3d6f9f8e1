"""Rotations as arrays against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation
from strategies import quaternions

from tangere.maths.rotations import quat_conjugate, quat_product, quaternion_of, rotation_of
from tangere.maths.vec import Array

EXACT = 1e-14


@given(quaternions(), quaternions())
def test_one_or_many_as_scipy_does(a: Array, b: Array) -> None:
    both = np.array([a, b])
    one, other = (Rotation.from_quat(q, scalar_first=True) for q in both)
    assert rotation_of(both) == pytest.approx(np.array([one.as_matrix(), other.as_matrix()]))
    assert np.array_equal(rotation_of(both)[1], rotation_of(b))
    product = (one * other).as_quat(scalar_first=True)
    found = quat_product(a, b)
    assert abs(found @ product) == pytest.approx(1.0, abs=EXACT)
    assert quat_product(both, quat_conjugate(both)) == pytest.approx(
        np.array([(1.0, 0.0, 0.0, 0.0)] * 2), abs=EXACT
    )


@given(quaternions())
def test_a_matrix_gives_its_quaternion(q: Array) -> None:
    found = quaternion_of(rotation_of(q))
    assert found[0] >= 0.0
    assert abs(found @ q) == pytest.approx(1.0, abs=EXACT)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_does_not_become_a_turn(bad: float) -> None:
    m = np.eye(3)
    m[1, 2] = bad
    assert np.isnan(quaternion_of(m)).all()
