"""One contact: solved exactly by a single sweep in every region of its laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles.friction_problems import Array, violation

import tangere as tg

pytestmark = pytest.mark.nojit

COUPLED = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 1.5]])
ANISOTROPIC = np.array([[1.0, 0.1, 0.001], [0.1, 1.0, 0.01], [0.001, 0.01, 0.001]])
# The search for κ ends at rounding.
EXACT = 1e-12


def sweep_once(W: Array, q: Array, mu: float) -> Array:
    """Forces after one sweep, checked against the laws.

    `violation` counts in shares of F = |q_n|/W_nn. Where friction wedges a contact its forces are
    thousands of F, and so is the rounding of them and of the motions W r: the laws are products of
    the two.
    """
    solution = tg.solve_friction(W, q, mu, solver="gs", max_sweeps=1, tolerance=1e-10)
    share = abs(q[0]) / W[0, 0] or 1.0
    size = max(1.0, float(np.linalg.norm(solution.r)) / share)
    assert violation(W, np.asarray(q, float), np.array([mu]), solution.r) < EXACT * size**2
    assert solution.converged
    return solution.r


@pytest.mark.parametrize(
    "W", [np.eye(3), COUPLED, ANISOTROPIC], ids=["eye", "coupled", "stretched"]
)
@pytest.mark.parametrize("mu", [0.05, 0.6, 1.5])
class TestRegions:
    def test_open(self, W: Array, mu: float) -> None:
        assert not sweep_once(W, np.array([0.5, 1.0, -2.0]), mu).any()

    def test_just_touching(self, W: Array, mu: float) -> None:
        """b_n = 0: the closed set of both laws' corners."""
        assert not sweep_once(W, np.array([0.0, 1.0, -2.0]), mu).any()

    def test_stick(self, W: Array, mu: float) -> None:
        r = np.array([1.0, 0.3 * mu, -0.5 * mu])
        assert sweep_once(W, -W @ r, mu) == pytest.approx(r, rel=1e-9)

    def test_edge_of_the_cone(self, W: Array, mu: float) -> None:
        """|r_t| = μ r_n and u = 0: stick and slip are the same."""
        r = np.array([1.0, 0.6 * mu, -0.8 * mu])
        assert sweep_once(W, -W @ r, mu) == pytest.approx(r, rel=1e-7)

    def test_slip(self, W: Array, mu: float) -> None:
        r = np.array([1.0, 0.6 * mu, -0.8 * mu])
        for speed in (1e-3, 1.0, 1e3):
            u = speed * np.array([0.0, -0.6, 0.8])
            assert sweep_once(W, u - W @ r, mu) == pytest.approx(r, rel=1e-6)


@pytest.mark.parametrize("W", [np.eye(3), COUPLED, ANISOTROPIC])
def test_without_friction(W: Array) -> None:
    r = sweep_once(W, np.array([-3.0, 1.0, -2.0]), 0.0)
    assert r.tolist() == pytest.approx([3.0 / W[0, 0], 0.0, 0.0])


def test_hardly_pressed() -> None:
    """Slip at 2 m/s under hardly any force: κ = |u_t|/|r_t| is beyond all search."""
    for push in (1e-12, 1e-15, 1e-100, 1e-300):
        q = np.array([-push, 1.0, 2.0])
        r = tg.solve_friction(COUPLED, q, 0.5, solver="gs", max_sweeps=1).r
        way = q[1:] / np.linalg.norm(q[1:])
        assert r[1:] == pytest.approx(-0.5 * r[0] * way, rel=1e-9)
        assert COUPLED[0] @ r == pytest.approx(push, rel=1e-9)


def test_compliant_along_its_normal_alone() -> None:
    """W of rank 1, as of a body on a slide."""
    assert sweep_once(np.diag([2.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]), 0.5)[0] == 0.5


def spd(numbers: list[float]) -> Array:
    """A positive definite matrix of nine numbers."""
    J = np.array(numbers).reshape(3, 3)
    W: Array = J @ J.T + 0.1 * np.eye(3)
    return W


@example(spd([1.875, 0.0, 2.0, 0.0, 1.0, 2.0, 1.5, 0.0, 1.25]), np.array([-0.1, 2.0, 1.0]), 1.125)
@given(
    st.lists(st.floats(-2.0, 2.0), min_size=9, max_size=9).map(spd),
    st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3).map(np.array),
    st.floats(0.0, 2.0),
)
def test_any_contact(W: Array, q: Array, mu: float) -> None:
    """Pressed ones: a root of the search exists wherever sticking breaks the cone."""
    q[0] = min(q[0], -0.1)
    assert sweep_once(W, q, mu)[0] > 0.0
