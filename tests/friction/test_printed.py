"""Algorithm 1 of Duriez et al. as printed: where it works, and the two blocks on which it fails."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.friction_problems import Array, problems

import tangere as tg
from tangere.friction import solver
from tangere.friction.problem import dense_problem, new_scratch

# One contact that sticks: W_nn < w²/λ_min although W is positive definite.
BLOCK = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.01]])
FREE = np.array([-1.0, 0.05, 0.0])
MU = 5.0


@pytest.mark.nojit
def test_it_never_converges_on_one_contact_that_sticks() -> None:
    stick = np.linalg.solve(BLOCK, -FREE)
    printed = tg.solve_friction(BLOCK, FREE, MU, solver="printed", max_sweeps=2000)
    assert (printed.sweeps, printed.converged) == (2000, False)
    assert printed.error > 0.1
    for other in ("newton", "gs"):
        assert tg.solve_friction(BLOCK, FREE, MU, solver=other).r == pytest.approx(stick)


@pytest.mark.nojit
def test_it_is_content_with_no_force_where_zeros_are_left_out() -> None:
    """The guard that comes to mind against 0/0 ends it with a gap of −1."""
    r = np.zeros(3)
    problem, scratch = dense_problem(BLOCK, FREE, np.array([MU])), new_scratch(1)
    sweeps, stopped = solver._solve_printed(problem, r, scratch, 1e-10, 2000, True)
    assert stopped
    assert sweeps < 2000
    assert not r.any()
    u, error = solver.judge(problem, r)
    assert u[0] == -1.0
    assert error == pytest.approx(1.0)


@pytest.mark.nojit
def test_it_agrees_where_contacts_are_hardly_coupled() -> None:
    rng = np.random.default_rng(0)
    W = np.diag(rng.uniform(1.0, 2.0, 12)) + 0.02
    q = rng.normal(size=12) - np.tile([1.5, 0.0, 0.0], 4)
    printed = tg.solve_friction(W, q, 0.4, solver="printed", tolerance=1e-12)
    assert printed.converged
    assert printed.error < 1e-10
    assert printed.r == pytest.approx(tg.solve_friction(W, q, 0.4).r, abs=1e-7)


@pytest.mark.nojit
def test_a_small_step_is_no_small_distance() -> None:
    """Contacts that sweeps bring together slowly: it stops at many steps' distance from the end."""
    n = 8
    W: Array = np.kron(np.ones((n, n)) + 0.02 * np.eye(n), np.eye(3)).astype(np.float64)
    q = np.tile([-1.0, 0.01, 0.0], n) * np.linspace(0.9, 1.0, 3 * n)
    printed = tg.solve_friction(W, q, 0.8, solver="printed", tolerance=1e-2)
    exact = tg.solve_friction(W, q, 0.8, tolerance=1e-12)
    assert printed.converged
    assert exact.converged
    off = float(np.linalg.norm(printed.r - exact.r) / np.linalg.norm(exact.r))
    assert off > 1e-2
    assert printed.error == solver.judge(dense_problem(W, q, np.full(n, 0.8)), printed.r)[1]


def test_no_nan_leaves_it() -> None:
    converged = 0
    for known in problems(200, seed=1):
        solution = tg.solve_friction(known.W, known.q, known.mu, solver="printed", max_sweeps=300)
        assert np.isfinite(solution.r).all()
        assert np.isfinite(solution.error)
        converged += solution.converged
    assert 0 < converged < 200
