"""Solve a frictional contact problem: `solve_friction`, the front of the kernels.

u = W r + q, with Signorini's law 0 ≤ u_n ⊥ r_n ≥ 0 and Coulomb's |r_t| ≤ μ r_n, against u_t where
it slips; three rows a contact: normal, first and second tangent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangere._clock import kernel_ns
from tangere._jit import kernel
from tangere._ptr import pointers, ptr
from tangere.errors import SceneError
from tangere.friction.anytime import solve_contacts
from tangere.friction.printed import solve_printed
from tangere.friction.problem import (
    BODIES,
    Problem,
    Scratch,
    block_problem,
    dense_problem,
    displace,
    motion_of,
    natural_map,
    new_scratch,
    prepare,
)
from tangere.friction.pyramid import solve_pyramid
from tangere.geometry.checks import integer, positive, show
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SOLVERS = ("newton", "gs", "lemke", "printed")
# Entries of W and its transpose may differ by this share of the largest: more than rounding.
SYMMETRIC = 1e-8
# Share of W's blocks that are not zero from which on it is solved as a dense one.
DENSE_FROM = 0.5


class FrictionSolution(NamedTuple):
    """Forces of a frictional contact problem, and how well they obey the laws.

    `converged` says whether the solver's own test was met: of "newton" and "gs", that the error is
    within the tolerance; of "lemke", that the problem of the pyramids is solved; of "printed", that
    a sweep changed little. `error` is computed afresh from r, whatever the solver: the natural map,
    as a share of the force scale max_c |q_n|/W_nn.
    """

    r: Array
    """Forces or impulses, per contact along n, t1, t2, shape (3m,)."""
    u: Array
    """Motion W r + q, shape (3m,)."""
    sweeps: int
    """Gauss–Seidel sweeps made; of "lemke", pivots."""
    error: float
    """Largest violation of the laws by a contact, over the force scale."""
    converged: bool
    newton_steps: int


def solve_friction(
    W: Any,
    q: ArrayLike,
    mu: ArrayLike,
    *,
    tolerance: float = 1e-8,
    max_sweeps: int = 10_000,
    initial: ArrayLike | None = None,
    solver: str = "newton",
    sides: int = 8,
    deadline: float | None = None,
) -> FrictionSolution:
    """Forces r and motion u = W r + q that obey Signorini's and Coulomb's laws.

    Where the laws cannot be met to the tolerance the best iterate is returned, and `converged` is
    False.

    Args:
        W: Delassus operator, symmetric and positive semidefinite: an array or any sparse matrix of
            SciPy's, shape (3m, 3m).
        q: Motion without contact forces, per contact along n, t1, t2, shape (3m,).
        mu: Coefficient of friction of every contact, or one for all, shape (m,).
        tolerance: Error to reach: the natural map over the force scale.
        max_sweeps: The most Gauss–Seidel sweeps.
        initial: Forces to start from, such as those of a similar problem, shape (3m,).
        solver: "newton" (Gauss–Seidel and semi-smooth Newton, with fresh starts), "gs" (block
            Gauss–Seidel alone), "lemke" (pyramids instead of cones, slow), or "printed" (Algorithm
            1 of Duriez et al. 2006 as it is printed, for comparison).
        sides: Of the pyramids of "lemke", even.
        deadline: Time that the solver may take [s]; None: no matter. Of "newton" and "gs".
    """
    if solver not in SOLVERS:
        raise SceneError(
            f"solve_friction solver: unknown {show(solver)}; choose one of: {', '.join(SOLVERS)}"
        )
    positive(tolerance, "solve_friction tolerance")
    integer(max_sweeps, "solve_friction max_sweeps", 1, 1_000_000_000)
    if integer(sides, "solve_friction sides", 4, 1000) % 2:
        raise SceneError(f"solve_friction sides: must be even, got {sides}; give {sides + 1}")
    if deadline is not None:
        positive(deadline, "solve_friction deadline")
    problem = _problem(W, q, mu)
    n = len(problem.q)
    r = np.zeros(n) if initial is None else _vector(initial, "initial", n).copy()
    if solver == "lemke":
        dense = np.asarray(W.toarray() if hasattr(W, "toarray") else W, float)
        r, pivots, solved = solve_pyramid(dense, problem.q, problem.mu, sides)
        u, error = judge(problem, r)
        return FrictionSolution(r, u, pivots, error, solved, 0)
    if solver == "printed":
        return solve_as_printed(problem, r, tolerance=tolerance, max_sweeps=max_sweeps)
    return solve_problem(
        problem,
        r,
        tolerance=tolerance,
        max_sweeps=max_sweeps,
        newton=solver == "newton",
        deadline=deadline,
    )


def solve_problem(
    problem: Problem,
    r: Array,
    *,
    tolerance: float = 1e-8,
    max_sweeps: int = 10_000,
    newton: bool = True,
    deadline: float | None = None,
    scratch: Scratch | None = None,
) -> FrictionSolution:
    """The same for a problem in any storage, see `problem`; r is where it starts and where it ends.

    Args:
        problem: From `dense_problem`, `block_problem` or `body_problem`.
        r: Forces to start from, in and out, shape (3m,).
        tolerance: Error to reach.
        max_sweeps: The most sweeps.
        newton: False: Gauss–Seidel alone.
        deadline: Time that it may take [s].
        scratch: Room to work in, kept between calls; None: new.
    """
    if scratch is None:
        scratch = new_scratch(len(problem.mu), _bodies(problem), None if newton else 0)
    error, sweeps, steps = _solve(
        problem, r, scratch, tolerance, max_sweeps, newton, 0.0 if deadline is None else deadline
    )
    u = scratch.u[: len(r)].copy()
    return FrictionSolution(r, u, sweeps, error, error <= tolerance, steps)


def solve_as_printed(
    problem: Problem, r: Array, *, tolerance: float, max_sweeps: int = 10_000
) -> FrictionSolution:
    """The same by Algorithm 1 as printed; `tolerance` is that of its own stopping test."""
    scratch = new_scratch(len(problem.mu), _bodies(problem), unknowns=0)
    sweeps, stopped = _solve_printed(problem, r, scratch, tolerance, max_sweeps, False)
    u, error = judge(problem, r)
    return FrictionSolution(r, u, sweeps, error, stopped, 0)


@kernel
def _solve(
    problem: Problem,
    r: Array,
    scratch: Scratch,
    tolerance: float,
    max_sweeps: int,
    newton: bool,
    seconds: float,
) -> tuple[float, int, int]:
    """Error, sweeps and Newton steps; 0 s: no deadline."""
    deadline = kernel_ns() + int(1e9 * seconds) if seconds > 0.0 else 0
    return solve_contacts(
        pointers(problem),
        len(problem.mu),
        ptr(r),
        pointers(scratch),
        tolerance,
        max_sweeps,
        newton,
        deadline,
    )


@kernel
def _solve_printed(
    problem: Problem,
    r: Array,
    scratch: Scratch,
    tolerance: float,
    max_sweeps: int,
    leave_out_zeros: bool,
) -> tuple[int, bool]:
    """Sweeps, and whether they stopped by themselves."""
    p, s = pointers(problem), pointers(scratch)
    return solve_printed(p, len(problem.mu), ptr(r), s, tolerance, max_sweeps, leave_out_zeros)


@kernel
def _error(problem: Problem, r: Array, scratch: Scratch) -> float:
    """The natural map over the force scale; scratch.u holds u."""
    p, s, m, f = pointers(problem), pointers(scratch), len(problem.mu), ptr(r)
    scale = prepare(p, m, s)
    displace(p, m, f, s.motion)
    for c in range(m):
        s.u[3 * c], s.u[3 * c + 1], s.u[3 * c + 2] = motion_of(p, c, s.motion)
    return natural_map(p, m, f, s.motion, s) / scale


def judge(problem: Problem, r: Array) -> tuple[Array, float]:
    """Motion W r + q and error of any forces."""
    scratch = new_scratch(len(problem.mu), _bodies(problem), unknowns=0)
    error = _error(problem, r, scratch)
    return scratch.u, error


def _bodies(problem: Problem) -> int:
    """Number of bodies of a problem that is given by them."""
    return int(problem.starts[1]) if problem.starts[0] == BODIES else 0


# ---------------------------------------------------------------- input


def _problem(W: Any, q: ArrayLike, mu: ArrayLike) -> Problem:
    """The problem of a user's arrays, checked."""
    sparse = hasattr(W, "tocsr")
    matrix: Any = W.tocsr().astype(float) if sparse else _numbers(W, "W")
    rows = matrix.shape[0] if matrix.ndim == 2 else -1
    if matrix.ndim != 2 or matrix.shape[1] != rows or rows % 3:
        raise SceneError(
            f"solve_friction W: must be square with three rows a contact, got {matrix.shape}; "
            "give shape (3m, 3m)"
        )
    free = _vector(q, "q", rows)
    friction = _numbers(mu, "mu")
    friction = _vector(np.full(rows // 3, friction) if friction.ndim == 0 else mu, "mu", rows // 3)
    if (friction < 0.0).any():
        c = int(np.argmax(friction < 0.0))
        raise SceneError(
            f"solve_friction mu: must not be negative, got {friction[c]:g} of contact {c}; "
            "give zero or more"
        )
    if not np.isfinite(matrix.data if sparse else matrix).all():
        raise SceneError(
            "solve_friction W: must be finite, has NaN or infinity; look how it is made"
        )
    largest = float(abs(matrix).max()) if rows else 0.0
    apart = float(abs(matrix - matrix.T).max()) if rows else 0.0
    if apart > SYMMETRIC * largest:
        raise SceneError(
            f"solve_friction W: must be symmetric, W and its transpose differ by {apart:.3g}; "
            "give (W + W.T) / 2 if that is rounding"
        )
    diagonal = matrix.diagonal()
    if (diagonal < -SYMMETRIC * largest).any():
        i = int(np.argmax(diagonal < -SYMMETRIC * largest))
        raise SceneError(
            f"solve_friction W: must be positive semidefinite, row {i} (contact {i // 3}) has "
            f"{diagonal[i]:.3g} on the diagonal; give J C J.T with C positive definite"
        )
    if not sparse:
        return dense_problem(matrix, free, friction)
    problem = block_problem(matrix, free, friction)
    if len(problem.columns) > DENSE_FROM * (rows // 3) ** 2:
        return dense_problem(matrix.toarray(), free, friction)
    return problem


def _numbers(value: Any, what: str) -> Array:
    """An array of floats."""
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        raise SceneError(f"solve_friction {what}: expected numbers, got {show(value)}") from None


def _vector(value: Any, what: str, length: int) -> Array:
    """So many finite numbers."""
    array = _numbers(value, what)
    if array.shape != (length,):
        raise SceneError(
            f"solve_friction {what}: expected {length} numbers for the rows of W, "
            f"got shape {array.shape}; give {'one' if what == 'mu' else 'three'} a contact"
        )
    if not np.isfinite(array).all():
        i = int(np.argmin(np.isfinite(array)))
        raise SceneError(
            f"solve_friction {what}: must be finite, got {array[i]:g} at index {i}; "
            "look how it is made"
        )
    return array
