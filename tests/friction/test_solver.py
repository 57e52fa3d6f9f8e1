"""`solve_friction`: input, degenerate problems, warm starts, deadlines, three kinds of storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.friction_problems import Array, draw, jacobian, turned, violation

import tangere as tg
from tangere.bench.friction import pad
from tangere.friction.problem import body_problem, dense_problem, new_scratch
from tangere.friction.solver import FrictionSolution, judge, solve_problem

EYE = np.eye(6)
ZERO = np.zeros(6)
# r follows from W by a few hundred products.
ROUNDING = 1e-11


def solved(W: Any, q: Any, mu: Any, **options: Any) -> FrictionSolution:
    """A solution, checked against the laws."""
    solution = tg.solve_friction(W, q, mu, **options)
    assert solution.converged
    assert solution.error <= options.get("tolerance", 1e-8)
    dense = W.toarray() if hasattr(W, "toarray") else np.asarray(W)
    friction = np.broadcast_to(np.asarray(mu, float), (len(q) // 3,))
    assert solution.u == pytest.approx(dense @ solution.r + q, rel=1e-9, abs=1e-12)
    assert violation(dense, np.asarray(q), friction, solution.r) < 1e-6
    return solution


@pytest.mark.nojit
def test_first_fields_are_the_contract() -> None:
    assert FrictionSolution._fields[:5] == ("r", "u", "sweeps", "error", "converged")


@pytest.mark.nojit
def test_one_friction_for_all() -> None:
    q = [-1.0, 0.2, 0.0, -2.0, 0.0, 5.0]
    one = tg.solve_friction(EYE, q, 0.5)
    each = tg.solve_friction(EYE, q, [0.5, 0.5])
    assert one.r.tolist() == each.r.tolist() == pytest.approx([1.0, -0.2, 0.0, 2.0, 0.0, -1.0])


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("W", "q", "mu", "options", "message"),
    [
        (np.eye(5), np.zeros(5), 1.0, {}, r"W: must be square .* got \(5, 5\)"),
        (np.zeros((6, 3)), ZERO, 1.0, {}, r"W: must be square .* got \(6, 3\)"),
        ("W", ZERO, 1.0, {}, "W: expected numbers, got 'W'"),
        (EYE, np.zeros(5), 1.0, {}, r"q: expected 6 numbers .* got shape \(5,\)"),
        (EYE, ZERO, [1.0], {}, r"mu: expected 2 numbers .* got shape \(1,\)"),
        (EYE, ZERO, [1.0, -0.5], {}, "mu: must not be negative, got -0.5 of contact 1"),
        (EYE, ZERO, [1.0, np.nan], {}, "mu: must be finite, got nan at index 1"),
        (EYE, [0, 0, np.nan, 0, 0, 0], 1.0, {}, "q: must be finite, got nan at index 2"),
        (np.nan * EYE, ZERO, 1.0, {}, "W: must be finite"),
        (np.triu(np.ones((6, 6))), ZERO, 1.0, {}, "W: must be symmetric, .* differ by 1"),
        (-EYE, ZERO, 1.0, {}, r"W: must be positive semidefinite, row 0 \(contact 0\)"),
        (EYE, ZERO, 1.0, {"sides": 5}, "sides: must be even, got 5; give 6"),
        (EYE, ZERO, 1.0, {"sides": 2}, "sides: out of range, got 2"),
        (EYE, ZERO, 1.0, {"initial": [1.0]}, r"initial: expected 6 numbers .* got shape \(1,\)"),
        (EYE, ZERO, 1.0, {"solver": "nsgs"}, "solver: unknown 'nsgs'; choose one of: newton, gs"),
        (EYE, ZERO, 1.0, {"tolerance": 0.0}, "tolerance: must be positive"),
        (EYE, ZERO, 1.0, {"max_sweeps": 0}, "max_sweeps: out of range, got 0"),
        (EYE, ZERO, 1.0, {"deadline": -1.0}, "deadline: must be positive"),
    ],
)
def test_bad_input_is_one_line(
    W: Any, q: Any, mu: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(tg.SceneError, match=message) as caught:
        tg.solve_friction(W, q, mu, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.nojit
def test_arguments_are_left_alone() -> None:
    known = draw("generic", np.random.default_rng(0), 4)
    start = np.ones(12)
    given = [a.copy() for a in (known.W, known.q, known.mu, start)]
    for a in (known.W, known.q, known.mu, start):
        a.setflags(write=False)
    tg.solve_friction(known.W, known.q, known.mu, initial=start)
    for a, b in zip((known.W, known.q, known.mu, start), given, strict=True):
        assert (a == b).all()


# ---------------------------------------------------------------- degenerate


@pytest.mark.nojit
@pytest.mark.parametrize("solver", ["newton", "gs", "lemke", "printed"])
def test_no_contacts(solver: str) -> None:
    solution = tg.solve_friction(np.zeros((0, 0)), [], [], solver=solver)
    assert (len(solution.r), solution.error, solution.converged) == (0, 0.0, True)


@pytest.mark.nojit
@pytest.mark.parametrize("solver", ["newton", "gs", "lemke"])
@pytest.mark.parametrize("q", [[1.0, 0.3, -0.2], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
def test_nothing_presses(solver: str, q: list[float]) -> None:
    W = draw("generic", np.random.default_rng(6), 3).W
    solution = tg.solve_friction(W, np.tile(q, 3), 0.5, solver=solver)
    assert solution.converged
    # Lemke's exchanges have rounding; the others have none
    assert max(solution.error, np.abs(solution.r).max()) <= (1e-12 if solver == "lemke" else 0.0)


@pytest.mark.nojit
@pytest.mark.parametrize("solver", ["newton", "gs"])
def test_contact_of_two_fixed_bodies_carries_nothing(solver: str) -> None:
    """W_cc = 0: nothing can be done about it, and it is nobody's error."""
    W = np.diag([2.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    solution = tg.solve_friction(W, [-2.0, 0.1, 0.0, -1.0, 0.0, 0.0], 0.5, solver=solver)
    assert solution.r == pytest.approx([1.0, -0.1, 0.0, 0.0, 0.0, 0.0])
    assert solution.converged
    assert solution.error < 1e-14
    nothing = tg.solve_friction(0.0 * EYE, -np.ones(6), 0.5, solver=solver)
    assert nothing.converged
    assert not nothing.r.any()


@pytest.mark.nojit
def test_sweeps_that_go_round_in_circles_are_left() -> None:
    """Two contacts that are coupled strongly: exact solutions in turn never come to rest."""
    rng = np.random.default_rng(1)
    root = rng.standard_normal((6, 6)) * np.geomspace(1.0, 0.1, 6)
    q = rng.standard_normal(6) - [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    early = tg.solve_friction(root @ root.T, q, 1.0, solver="gs", max_sweeps=500)
    assert not early.converged
    solution = tg.solve_friction(root @ root.T, q, 1.0, solver="gs", tolerance=1e-9)
    assert solution.converged
    assert solution.newton_steps == 0
    assert solution.sweeps < 1000
    assert solution.error <= 1e-9


@pytest.mark.nojit
def test_the_same_contact_twice() -> None:
    """Two copies share what one alone carries; how, is not determined."""
    one = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
    q, mu = np.array([-1.0, 0.6, -0.8]), 0.4
    single = solved(one, q, mu)
    double = solved(np.tile(one, (2, 2)), np.tile(q, 2), mu)
    assert double.r.reshape(2, 3).sum(axis=0) == pytest.approx(single.r, abs=1e-7)
    assert double.u[:3] == pytest.approx(single.u, abs=1e-7)


@pytest.mark.nojit
def test_without_friction_there_is_none() -> None:
    known = draw("generic", np.random.default_rng(7), 5)
    solution = solved(known.W, known.q, 0.0)
    assert not solution.r.reshape(-1, 3)[:, 1:].any()


@pytest.mark.nojit
def test_only_tangential_motion_has_a_force_scale() -> None:
    """All q_n are zero; a known force presses, so that q_t alone makes the scale."""
    W = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    solution = tg.solve_friction(W, [0.0, 1.0, 0.0], 2.0, initial=[1.0, 0.0, 0.0])
    assert solution.converged
    assert violation(W, np.array([0.0, 1.0, 0.0]), np.array([2.0]), solution.r) < 1e-7


# ---------------------------------------------------------------- starts and ends


@pytest.mark.nojit
@pytest.mark.parametrize("solver", ["newton", "gs"])
def test_a_solution_is_left_as_it_is(solver: str) -> None:
    known = draw("soft", np.random.default_rng(5), 5)
    first = solved(known.W, known.q, known.mu, solver=solver)
    again = solved(known.W, known.q, known.mu, solver=solver, initial=first.r)
    assert (again.sweeps, again.newton_steps) == (0, 0)
    # forces are put on their cones, where they are but for rounding
    assert again.r == pytest.approx(first.r, rel=1e-14, abs=1e-300)


@pytest.mark.nojit
def test_any_start_is_allowed() -> None:
    known = draw("soft", np.random.default_rng(8), 5)
    start = 1e6 * np.random.default_rng(0).normal(size=15)
    far = solved(known.W, known.q, known.mu, initial=start)
    assert far.r == pytest.approx(solved(known.W, known.q, known.mu).r, rel=1e-5, abs=1e-5)


@pytest.mark.nojit
@pytest.mark.parametrize("deadline", [1e-9, 5e-4])
def test_at_the_deadline_the_best_iterate_comes_back(deadline: float) -> None:
    """Its error is the true one, and less than that of no forces."""
    known = draw("rigid", np.random.default_rng(11), 60)
    start = judge(dense_problem(known.W, known.q, known.mu), np.zeros(180))[1]
    solution = tg.solve_friction(known.W, known.q, known.mu, deadline=deadline, tolerance=1e-15)
    true = judge(dense_problem(known.W, known.q, known.mu), solution.r)
    assert solution.error == true[1]
    assert solution.error <= start
    assert solution.u.tobytes() == true[0].tobytes()
    if deadline < 1e-6:
        assert (solution.sweeps, solution.converged) == (0, False)


@pytest.mark.nojit
def test_with_no_sweeps_left_it_says_so() -> None:
    known = draw("generic", np.random.default_rng(2), 6)
    for solver in ("newton", "gs"):
        solution = tg.solve_friction(
            known.W, known.q, known.mu, solver=solver, max_sweeps=1, tolerance=1e-13
        )
        assert (solution.sweeps, solution.converged) == (1, False)
        assert solution.error == judge(dense_problem(known.W, known.q, known.mu), solution.r)[1]


@pytest.mark.nojit
def test_forces_that_are_no_numbers_have_an_infinite_error() -> None:
    known = draw("generic", np.random.default_rng(2), 3)
    for i in range(9):
        r = known.r.copy()
        r[i] = np.nan
        assert judge(dense_problem(known.W, known.q, known.mu), r)[1] == np.inf


def test_acceleration_saves_most_sweeps() -> None:
    """Strongly coupled contacts of a soft body, without Newton steps on either side."""
    _, W = pad(100)
    q = np.tile([-1.0, 0.3, 0.1], 100) + 0.1 * np.random.default_rng(0).normal(size=300)
    problem = dense_problem(W, q, np.full(100, 0.3))
    plain = solve_problem(problem, np.zeros(300), newton=False)
    fast = solve_problem(problem, np.zeros(300), scratch=new_scratch(100, unknowns=0))
    assert plain.converged
    assert fast.converged
    assert fast.newton_steps == 0
    assert 3 * fast.sweeps < plain.sweeps


# ---------------------------------------------------------------- storage


def heap(
    rng: np.random.Generator, contacts: int, count: int
) -> tuple[Array, Array, NDArray[np.int32], Array]:
    """Rigid bodies on each other and on fixed ones: J, C, bodies; and W from them."""
    J = np.zeros((contacts, 2, 3, 6))
    bodies = np.full((contacts, 2), -1, np.int32)
    for c in range(contacts):
        sides = rng.permutation(count)[:2]
        frame = turned(rng)
        bodies[c, 0] = sides[0]
        bodies[c, 1] = sides[1] if rng.random() < 0.7 else -1
        for side, sign in enumerate((1.0, -1.0)):
            J[c, side] = sign * jacobian(frame, rng.uniform(-0.1, 0.1, 3))
    C = np.zeros((count, 6, 6))
    for b in range(count):
        A = rng.normal(size=(6, 6))
        C[b] = A @ A.T / 6.0 + np.diag([1.0, 1.0, 1.0, 100.0, 100.0, 100.0])
    full = np.zeros((3 * contacts, 6 * count))
    for c in range(contacts):
        for side in range(2):
            b = bodies[c, side]
            if b >= 0:
                full[3 * c : 3 * c + 3, 6 * b : 6 * b + 6] += J[c, side]
    W = np.zeros((3 * contacts, 3 * contacts))
    for b in range(count):
        part = full[:, 6 * b : 6 * b + 6]
        W += part @ C[b] @ part.T
    return J, C, bodies, 0.5 * (W + W.T)


def free_motion(rng: np.random.Generator, W: Array) -> tuple[Array, Array]:
    """q of a problem with solutions, and friction."""
    m = len(W) // 3
    r = np.tile([1.0, 0.0, 0.0], m) * rng.uniform(0.5, 1.0, 3 * m)
    return rng.normal(size=3 * m) * 0.3 * np.abs(W @ r).mean() - W @ r, rng.uniform(0.1, 0.9, m)


@pytest.mark.nojit
@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_dense_blocks_and_bodies_give_the_same(seed: int, newton: bool) -> None:
    from scipy import sparse

    from tangere.friction.problem import block_problem

    rng = np.random.default_rng(seed)
    J, C, bodies, W = heap(rng, 8, 5)
    q, mu = free_motion(rng, W)
    kinds = [
        dense_problem(W, q, mu),
        block_problem(sparse.csr_matrix(W), q, mu),
        body_problem(J, C, bodies, q, mu),
    ]
    few = [solve_problem(p, np.zeros(24), max_sweeps=6, newton=newton) for p in kinds]
    for other in few[1:]:
        assert other.r == pytest.approx(few[0].r, rel=ROUNDING, abs=ROUNDING)
        assert other.u == pytest.approx(few[0].u, rel=ROUNDING, abs=ROUNDING)
        assert other.error == pytest.approx(few[0].error, rel=1e-6, abs=ROUNDING)
    for p in kinds:
        assert judge(p, few[0].r)[0] == pytest.approx(few[0].u, abs=ROUNDING)


@pytest.mark.parametrize("make", ["csr", "csc", "coo", "bsr", "array"])
def test_any_sparse_matrix_gives_the_same(make: str) -> None:
    from scipy import sparse

    rng = np.random.default_rng(3)
    W = heap(rng, 40, 30)[3]
    q, mu = free_motion(rng, W)
    given: Any = (
        sparse.csr_array(W) if make == "array" else getattr(sparse.csr_matrix(W), f"to{make}")()
    )
    dense, blocks = solved(W, q, mu), solved(given, q, mu)
    assert blocks.u == pytest.approx(dense.u, abs=1e-5 * float(np.abs(dense.u).max()))


@pytest.mark.nojit
def test_sparse_matrix_without_some_diagonal_blocks() -> None:
    """A contact of two fixed bodies has no entry at all; one block has explicit zeros alone."""
    from scipy import sparse

    W = sparse.lil_matrix((12, 12))
    for i, w in ((0, 2.0), (1, 1.0), (2, 1.0), (9, 1.0), (10, 1.0), (11, 1.0)):
        W[i, i] = w
    q = [-2.0, 0.1, 0.0, *(-1.0, 0.0, 0.0), *(-1.0, 0.0, 0.0), -3.0, 0.0, 0.2]
    solution = tg.solve_friction(W, q, 0.5)
    assert solution.converged
    assert solution.r == pytest.approx([1.0, -0.1, 0, 0, 0, 0, 0, 0, 0, 3.0, 0.0, -0.2])


def test_bodies_need_memory_in_proportion_to_contacts() -> None:
    """A thousand blocks in columns of four, four contacts each: no matrix is formed."""

    def columns(blocks: int) -> tuple[Any, int]:
        corners = [(x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
        frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        m = 4 * blocks
        J, bodies = np.zeros((m, 2, 3, 6)), np.full((m, 2), -1, np.int32)
        for c in range(m):
            b, (x, y) = c // 4, corners[c % 4]
            J[c, 0] = jacobian(frame, np.array([x, y, -0.05]))
            J[c, 1] = -jacobian(frame, np.array([x, y, 0.05]))
            bodies[c] = b, b - 1 if b % 4 else -1
        C = np.tile(np.diag([1.0, 1.0, 1.0, 300.0, 300.0, 150.0]), (blocks, 1, 1))
        # all fall at the same speed, and the lowest meet the floor
        q = np.zeros((blocks, 4, 3))
        q[::4, :, 0] = -1.0
        problem = body_problem(J, C, bodies, q.ravel(), np.full(m, 0.5))
        scratch = new_scratch(m, blocks, unknowns=0)
        size = sum(array.nbytes for array in (*problem, *scratch))
        return (problem, scratch), size

    (problem, scratch), large = columns(1000)
    _, small = columns(100)
    assert large < 10.1 * small
    assert large < 3000 * 4000
    solution = solve_problem(problem, np.zeros(12000), scratch=scratch)
    assert solution.converged
    # a block of mass 1 and speed 1 is stopped by 1: the lowest carry all four, the highest one
    carried = solution.r.reshape(250, 4, 4, 3)[..., 0].sum(axis=2)
    assert carried == pytest.approx(np.tile([4.0, 3.0, 2.0, 1.0], (250, 1)), abs=1e-5)


@pytest.mark.nojit
def test_dense_blocks_are_solved_dense_and_few_in_blocks() -> None:
    from scipy import sparse

    from tangere.friction import solver
    from tangere.friction.problem import DENSE

    full: NDArray[np.float64] = np.ones((9, 9)) + 9.0 * np.eye(9)
    assert solver._problem(sparse.csr_matrix(full), np.zeros(9), 0.5).starts[0] == DENSE
    assert solver._problem(sparse.eye(9), np.zeros(9), 0.5).starts.tolist() == [0, 1, 2, 3]
