"""Quaternions against SciPy's rotations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from strategies import quaternions, vectors

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.maths.quat import (
    Quat,
    conjugate,
    from_matrix,
    from_vector,
    matrix_into,
    product,
    to_vector,
    turn,
    turn_back,
    unit,
)

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]
EXACT = 1e-14


@kernel
def _matrix(q: Quat, r: Array) -> None:
    """matrix_into on an array."""
    matrix_into(q, ptr(r))


@kernel
def _turn(r: Array, v: Array, back: bool, out: Array) -> None:
    """R v or Rᵀ v on arrays."""
    x = (v[0], v[1], v[2])
    if back:
        out[0], out[1], out[2] = turn_back(ptr(r), x)
    else:
        out[0], out[1], out[2] = turn(ptr(r), x)


@kernel
def _from_matrix(r: Array) -> Quat:
    """from_matrix on an array."""
    return from_matrix(ptr(r))


def t(q: Array) -> Quat:
    return (float(q[0]), float(q[1]), float(q[2]), float(q[3]))


def matrix(q: Array) -> Array:
    r = np.full((3, 3), np.nan)
    _matrix(t(q), r)
    return r


def scipy(q: Array) -> Array:
    return np.asarray(Rotation.from_quat(q, scalar_first=True).as_matrix())


@given(quaternions(), quaternions())
def test_product_turns_by_the_second_first(a: Array, b: Array) -> None:
    assert matrix(np.array(product(t(a), t(b)))) == pytest.approx(scipy(a) @ scipy(b), abs=EXACT)


@given(quaternions())
def test_matrix(q: Array) -> None:
    r = matrix(q)
    assert r == pytest.approx(scipy(q), abs=EXACT)
    assert r @ r.T == pytest.approx(np.eye(3), abs=EXACT)
    assert matrix(-q) == pytest.approx(r, abs=0)


@given(quaternions(), vectors())
def test_turn_and_back(q: Array, v: Array) -> None:
    r, there, back = matrix(q), np.full(3, np.nan), np.full(3, np.nan)
    _turn(r, v, False, there)
    assert there == pytest.approx(scipy(q) @ v, abs=1e-13)
    _turn(r, there, True, back)
    assert back == pytest.approx(v, abs=1e-13)


@pytest.mark.parametrize("size", [1e-150, 0.1, 1.0, 1e150])
def test_unit(size: float) -> None:
    q = unit((size, -size, 2.0 * size, 0.0))
    assert q == pytest.approx(np.array([1.0, -1.0, 2.0, 0.0]) / np.sqrt(6.0), rel=1e-15)


@given(quaternions())
def test_conjugate_turns_back(q: Array) -> None:
    assert matrix(np.array(conjugate(t(q)))) == pytest.approx(scipy(q).T, abs=EXACT)


@given(vectors(limit=2.0))
def test_a_turn_as_vector_and_back(v: Array) -> None:
    q = np.array(from_vector((float(v[0]), float(v[1]), float(v[2]))))
    assert q == pytest.approx(
        np.asarray(Rotation.from_rotvec(v).as_quat(scalar_first=True, canonical=False)), abs=EXACT
    )
    # angles up to 3.5 rad: past a half turn the vector goes the long way, as it came
    assert to_vector(t(3.0 * q)) == pytest.approx(v, abs=1e-13)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-9, 0.99e-4, 1.01e-4, 3.0, 3.2, 6.2])
def test_turns_of_any_size(angle: float) -> None:
    """Both sides of the switch to the series at 1e-4 rad, and beyond a half turn."""
    axis = np.array([0.36, 0.48, 0.8])
    q = from_vector((0.36 * angle, 0.48 * angle, 0.8 * angle))
    assert q == pytest.approx([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * axis)], abs=1e-15)
    # near a whole turn the direction is lost as 1/sin(angle/2)
    assert to_vector(q) == pytest.approx(angle * axis, rel=1e-14, abs=1e-14)


# The squares of a quaternion's parts are known to rounding, and the largest is at least a quarter.
@given(quaternions())
def test_quaternion_of_a_matrix(q: Array) -> None:
    found = np.array(_from_matrix(scipy(q)))
    assert abs(found @ q) == pytest.approx(1.0, abs=4 * EXACT)
    assert np.linalg.norm(found) == pytest.approx(1.0, abs=4 * EXACT)


@pytest.mark.parametrize("axis", np.eye(3).tolist())
def test_quaternion_of_half_a_turn(axis: list[float]) -> None:
    """w = 0: each of the three other ways to divide."""
    half = np.array([0.0, *axis])
    assert np.abs(_from_matrix(scipy(half))) == pytest.approx(half, abs=EXACT)


def test_a_matrix_of_zeros_is_told_by_its_length() -> None:
    assert np.linalg.norm(_from_matrix(np.zeros((3, 3)))) == 0.5
    assert np.isnan(_from_matrix(np.full((3, 3), np.nan))).any()
