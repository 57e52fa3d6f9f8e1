"""Random problems with a known solution: nearly all are solved, and what is said to be is."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from oracles.friction_problems import FAMILIES, Known, draw, problems, violation

from tangere.friction.problem import dense_problem, new_scratch
from tangere.friction.solver import judge, solve_problem

TOLERANCE = 1e-8
# Products of forces and motions may exceed the error by the largest force or motion, which are
# within a hundred of the scale.
LAWS = 1e-6
MOST = 30


def solve(known: Known, max_sweeps: int = 10_000) -> tuple[bool, float]:
    """Whether it converged, and by how much the laws are broken then."""
    r = np.zeros(len(known.q))
    solution = solve_problem(
        dense_problem(known.W, known.q, known.mu), r, max_sweeps=max_sweeps, scratch=SCRATCH
    )
    if not solution.converged:
        return False, 0.0
    return True, violation(known.W, known.q, known.mu, solution.r)


SCRATCH = new_scratch(MOST)


@pytest.mark.nojit
@pytest.mark.parametrize("family", FAMILIES)
def test_the_known_solution_is_one(family: str) -> None:
    """The oracle itself: r* and u* obey the laws, and the solver's error of them is rounding."""
    for seed in range(5):
        known = draw(family, np.random.default_rng(seed), 6)
        assert known.W == pytest.approx(known.W.T, abs=1e-12 * np.abs(known.W).max())
        assert np.linalg.eigvalsh(known.W)[0] > -1e-12 * np.abs(known.W).max()
        assert violation(known.W, known.q, known.mu, known.r) < 1e-12
        _, error = judge(dense_problem(known.W, known.q, known.mu), known.r)
        assert error < 1e-11


@pytest.mark.nojit
@pytest.mark.parametrize("family", FAMILIES)
def test_small_problems_are_solved(family: str) -> None:
    for seed in range(3):
        converged, broken = solve(draw(family, np.random.default_rng(seed), 4), 300)
        assert converged
        assert broken < LAWS


def test_nearly_all_of_some_hundred() -> None:
    solved = [solve(known) for known in problems(500, seed=7)]
    assert sum(converged for converged, _ in solved) >= 499
    assert max(broken for _, broken in solved) < LAWS


@pytest.mark.slow
def test_of_ten_thousand_nearly_all() -> None:
    missed: Counter[str] = Counter()
    worst = 0.0
    for known in problems(10_000):
        converged, broken = solve(known)
        missed[known.family] += not converged
        worst = max(worst, broken)
    assert sum(missed.values()) <= 10, missed
    assert worst < LAWS


@pytest.mark.nojit
@pytest.mark.parametrize("number", [2350, 8041, 8641, 9856])
def test_solutions_that_sweeps_run_away_from(number: int) -> None:
    """From 1e-3 next to these, sweeps do not come back; Newton's method in proximal steps does."""
    known = draw(list(FAMILIES)[number % len(FAMILIES)], np.random.default_rng((0, number)))
    problem = dense_problem(known.W, known.q, known.mu)
    near = known.r * (1.0 + 1e-3 * np.random.default_rng(1).normal(size=len(known.r)))
    assert not solve_problem(problem, near, max_sweeps=300, newton=False).converged
    solution = solve_problem(problem, np.zeros(len(known.q)))
    assert solution.converged
    assert violation(known.W, known.q, known.mu, solution.r) < LAWS


@pytest.mark.nojit
@pytest.mark.parametrize(("seed", "number"), [(0, 329), (2, 687)])
def test_problems_that_need_fresh_starts(seed: int, number: int) -> None:
    """Sweeps from no forces, proximal steps and slow sweeps all failed on these."""
    known = draw(list(FAMILIES)[number % len(FAMILIES)], np.random.default_rng((seed, number)))
    solution = solve_problem(dense_problem(known.W, known.q, known.mu), np.zeros(len(known.q)))
    assert solution.converged
    assert violation(known.W, known.q, known.mu, solution.r) < LAWS


@pytest.mark.nojit
def test_without_room_for_newton_steps_sweeps_go_on() -> None:
    """Nothing solves this one then; the best iterate of all is what remains."""
    known = draw("spread", np.random.default_rng((0, 9856)))
    problem, room = dense_problem(known.W, known.q, known.mu), new_scratch(MOST, unknowns=0)
    errors = [
        solve_problem(problem, np.zeros(len(known.q)), max_sweeps=n, scratch=room).error
        for n in (100, 250, 600)
    ]
    assert errors == sorted(errors, reverse=True)
    assert TOLERANCE < errors[-1] < 1.0


def test_a_solve_is_repeated_to_the_last_bit() -> None:
    """Fresh starts are random, but the same ones, and nothing is left over from other problems."""
    for known in problems(40, seed=3):
        problem = dense_problem(known.W, known.q, known.mu)
        used = solve_problem(problem, np.zeros(len(known.q)), scratch=SCRATCH)
        fresh = solve_problem(problem, np.zeros(len(known.q)))
        assert used.r.tobytes() == fresh.r.tobytes()
        assert (used.sweeps, used.newton_steps) == (fresh.sweeps, fresh.newton_steps)
