"""Pyramids by Lemke's method: solved and verified, and the cone's solution as sides grow."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.friction_problems import draw

import tangere as tg
from tangere.bench.friction import pad
from tangere.friction.pyramid import lemke, solve_pyramid


@pytest.mark.nojit
def test_one_contact_that_slips_between_two_sides() -> None:
    """k = 4: the force lies on the side of the pyramid, along one direction or on a corner."""
    q = np.array([-1.0, 2.0, 1.0])
    r, pivots, solved = solve_pyramid(np.eye(3), q, np.array([0.5]), 4)
    assert solved
    assert pivots > 0
    # the steepest of four directions against (2, 1) is −t1
    assert r == pytest.approx([1.0, -0.5, 0.0])


@pytest.mark.nojit
@pytest.mark.parametrize("sides", [4, 8])
def test_stick_and_open_are_those_of_the_cone(sides: int) -> None:
    q = np.array([-1.0, 0.1, -0.2, 0.5, 1.0, 1.0])
    solution = tg.solve_friction(np.eye(6), q, 0.8, solver="lemke", sides=sides)
    assert solution.converged
    assert solution.r == pytest.approx([1.0, -0.1, 0.2, 0.0, 0.0, 0.0])
    assert solution.error < 1e-12


def test_the_error_falls_as_one_over_the_number_of_sides() -> None:
    """All slip, in random directions: the mean distance to the cone's solution, 10 draws."""
    _, W = pad(12)
    distance = {4: 0.0, 8: 0.0, 16: 0.0, 32: 0.0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        angle = rng.uniform(0.0, 2.0 * np.pi)
        q = np.tile([-1.0, 5.0 * np.cos(angle), 5.0 * np.sin(angle)], 12)
        q += 0.05 * rng.normal(size=36)
        exact = tg.solve_friction(W, q, 0.1, tolerance=1e-11)
        assert exact.converged
        for sides in distance:
            found = tg.solve_friction(W, q, 0.1, solver="lemke", sides=sides)
            assert found.converged
            off = np.linalg.norm(found.r - exact.r) / np.linalg.norm(exact.r)
            distance[sides] += float(off) / 10.0
    assert distance[4] > distance[8] > distance[16] > distance[32]
    assert 1.5 < distance[8] / distance[16] < 3.0
    assert distance[32] < 0.02


@pytest.mark.parametrize("family", ["generic", "soft", "rigid"])
def test_small_problems_are_solved_and_verified(family: str) -> None:
    """Rank-deficient ones, too; the laws of the pyramid are checked from outside."""
    solved = 0
    for seed in range(20):
        known = draw(family, np.random.default_rng(seed), 5)
        solution = tg.solve_friction(known.W, known.q, known.mu, solver="lemke", sides=8)
        if not solution.converged:
            continue
        solved += 1
        f, u = solution.r.reshape(-1, 3), solution.u.reshape(-1, 3)
        unit = np.abs(known.q).max()
        force = np.abs(f).max()
        assert u[:, 0].min() > -1e-6 * unit
        assert np.abs(f[:, 0] * u[:, 0]).max() < 1e-5 * unit * force
        # the pyramid of eight sides lies within the cone
        assert (np.linalg.norm(f[:, 1:], axis=1) <= known.mu * f[:, 0] + 1e-6 * force).all()
    assert solved >= 19


@pytest.mark.nojit
def test_a_contact_that_cannot_move_has_no_force() -> None:
    W = np.diag([2.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    solution = tg.solve_friction(W, [-2.0, 0.1, 0.0, -1.0, 0.0, 0.0], 0.5, solver="lemke")
    assert solution.converged
    assert solution.r == pytest.approx([1.0, -0.1, 0.0, 0.0, 0.0, 0.0])
    assert not tg.solve_friction(0.0 * W, -np.ones(6), 0.5, solver="lemke").r.any()


@pytest.mark.nojit
def test_a_small_problem_of_complementarity() -> None:
    """Both w are zero at z = M⁻¹ (5, 6); where q ≥ 0 nothing is to be done."""
    M = np.array([[2.0, 1.0], [1.0, 2.0]])
    z, pivots, solved = lemke(M, np.array([-5.0, -6.0]))
    assert solved
    assert pivots >= 2
    assert z == pytest.approx([4.0 / 3.0, 7.0 / 3.0], abs=1e-12)
    z, pivots, solved = lemke(M, np.array([5.0, 0.0]))
    assert (z.tolist(), pivots, solved) == ([0.0, 0.0], 0, True)


@pytest.mark.nojit
def test_a_problem_without_a_solution_is_told() -> None:
    z, pivots, solved = lemke(np.zeros((2, 2)), np.array([1.0, -1.0]))
    assert not solved
    assert pivots > 0
    assert not z.any()
