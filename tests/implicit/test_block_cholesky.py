"""Block systems against numpy.linalg.solve; the direct and the iterative way agree."""

from __future__ import annotations

import numpy as np
import pytest
from implicit.graphs import (
    Edges,
    box,
    chain,
    factor_and_solve,
    islands_of,
    iterate_all,
    list_all,
    ring,
    tangle,
    tree,
)
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.sparse.linalg import cg

from tangere.model import OK
from tangere.solver import Solver

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

ROUNDED = 1e-5


def system(v: Solver, bodies: int, edges: Edges, seed: int) -> tuple[Array, Array]:
    """Put a random positive definite system where a step would; the same as dense arrays.

    M + Σ Jᵀ C J as in a step: each edge adds a positive block over its two bodies.
    """
    list_all(v)
    rng = np.random.default_rng(seed)
    g = v.graph
    for array in (v.matrix.diagonal, *v.matrix[5:]):
        array[:] = np.nan
    v.matrix.links[:], v.matrix.bounds[:] = -99, -99
    entries = v.large.entry.copy()
    v.matrix.lower[:] = 0.0
    a = np.zeros((6 * bodies, 6 * bodies))
    for i in range(bodies):
        m = rng.normal(size=(6, 6))
        a[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] += m @ m.T + 0.5 * np.eye(6)
    for e, pair in enumerate(edges):
        j = np.zeros((6, 6 * bodies))
        for body in pair:
            if body >= 0:
                j[:, 6 * body : 6 * body + 6] = rng.normal(size=(6, 6))
        stiff = 10.0 ** rng.uniform(-1.0, 2.0)
        a += stiff * j.T @ j
        if min(pair) >= 0:
            direct = g.direct[g.island[pair[0]]] != 0
            order = {i: int(g.place[i] if direct else v.large.rank[g.place[i]]) for i in pair}
            column, row = sorted(pair, key=order.__getitem__)
            block = stiff * j[:, 6 * row : 6 * row + 6].T @ j[:, 6 * column : 6 * column + 6]
            if direct:
                v.matrix.lower[g.block[e]] += block.ravel()
            elif order[column] >= 0:  # in the row of the higher rank
                at = entries[order[row]]
                entries[order[row]] += 1
                v.matrix.links[at] = order[row], order[column], at
                v.matrix.scaled[at] = block.ravel()
    b = rng.normal(size=6 * bodies)
    for i in range(bodies):
        if g.island[i] >= 0:
            v.matrix.diagonal[g.place[i]] = a[6 * i : 6 * i + 6, 6 * i : 6 * i + 6].ravel()
    v.matrix.x[:] = b.reshape(-1, 6)
    return a, b


GRAPHS: list[tuple[int, Edges]] = [
    (1, [(-1, 0)]),
    (5, chain(5)),
    (9, tree(9)),
    (8, ring(8)),
    (10, tangle(10, 8)),  # several islands, bodies alone
    (12, tangle(12, 30, 1)),
]


def solutions(bodies: int, edges: Edges, seed: int, iterate: bool) -> tuple[Array, Array, int]:
    """Solution found, the dense one, both of the bodies in islands alone, and the rounds."""
    status, v = islands_of(bodies, edges)
    assert status == OK
    g = v.graph
    if iterate:
        iterate_all(v)
    a, b = system(v, bodies, edges, seed)
    rounds = sum(factor_and_solve(v, k) for k in range(int(g.known[1])))
    inside = np.repeat(g.island >= 0, 6)
    found = v.matrix.x.ravel()
    assert found[~inside].tolist() == b[~inside].tolist()
    return found[inside], np.asarray(np.linalg.solve(a, b)[inside], float), rounds


@pytest.mark.parametrize(("bodies", "edges"), GRAPHS)
@pytest.mark.parametrize("iterate", [False, True])
def test_solution_is_that_of_numpy(bodies: int, edges: Edges, iterate: bool) -> None:
    found, expected, rounds = solutions(bodies, edges, 4, iterate)
    # condition numbers up to 1e5; what the gradients multiply is rounded to 6e-8
    assert found == pytest.approx(expected, abs=ROUNDED if iterate else 1e-10)
    assert (rounds > 0) == iterate


@pytest.mark.parametrize(("bodies", "edges"), GRAPHS)
def test_bodies_held_still_are_left_out(bodies: int, edges: Edges) -> None:
    status, v = islands_of(bodies, edges)
    assert status == OK
    g = v.graph
    iterate_all(v)
    still = np.arange(bodies) % 3 == 1
    places = int(g.start[g.known[1]])
    v.large.state[:places] = still[g.member[:places]]
    a, b = system(v, bodies, edges, 7)
    for k in range(int(g.known[1])):
        factor_and_solve(v, k)
    moves = np.repeat((g.island >= 0) & ~still, 6)
    found = v.matrix.x.ravel()
    assert found[~moves].tolist() == b[~moves].tolist()
    expected = np.linalg.solve(a[np.ix_(moves, moves)], b[moves])
    assert found[moves] == pytest.approx(expected, abs=ROUNDED)


@pytest.mark.parametrize("held", [0.0, 0.3])
def test_halves_of_a_large_island_give_the_solution_of_the_whole(held: float) -> None:
    edges, positions = box(8, 5, 5)
    bodies = len(positions)
    _, v = islands_of(bodies, edges, positions=positions)
    g = v.graph
    v.large.state[:] = np.random.default_rng(2).uniform(size=bodies) < held
    a, b = system(v, bodies, edges, 3)
    assert (
        g.start[0] < v.large.second[0] < v.large.separator[0] < g.start[0] + v.large.active_count[0]
    )
    # of the edges that have a link, two are left out, as where contacts do not press
    for link in (v.matrix.links[0], v.matrix.links[v.large.entries[0] - 1]):
        i, j = (6 * int(g.member[v.large.active[rank]]) for rank in link[:2])
        a[i : i + 6, j : j + 6], a[j : j + 6, i : i + 6] = 0.0, 0.0
        link[1] = -1
    rounds = factor_and_solve(v, 0)
    moves = np.repeat(v.large.state[g.place] == 0, 6)
    a, b = a[np.ix_(moves, moves)], b[moves]
    found = v.matrix.x.ravel()[moves]
    assert found == pytest.approx(np.linalg.solve(a, b), abs=ROUNDED)
    assert rounds < 0.7 * rounds_by_diagonal(a, b, 1e-7)  # as they say: half as many


def rounds_by_diagonal(a: Array, b: Array, tolerance: float) -> int:
    """Rounds of SciPy's conjugate gradients, where each body has its own block divided out."""
    blocks = [a[k : k + 6, k : k + 6] for k in range(0, len(b), 6)]
    low = block_diag(*(np.linalg.inv(np.linalg.cholesky(block)) for block in blocks))
    rounds = 0

    def count(_: Array) -> None:
        nonlocal rounds
        rounds += 1

    cg(low @ a @ low.T, low @ b, rtol=tolerance, callback=count)
    return rounds


def test_single_body_is_solved_in_one_round() -> None:
    # its own block is the preconditioner
    _, _, rounds = solutions(1, [(-1, 0)], 0, True)
    assert rounds == 1


def test_gradients_stop_at_the_tolerance() -> None:
    errors = []
    for tolerance in (1e-1, 1e-3, 1e-6):
        edges = ring(8)
        _, v = islands_of(8, edges)
        iterate_all(v)
        a, b = system(v, 8, edges, 1)
        factor_and_solve(v, 0, tolerance)
        x = v.matrix.x.ravel()
        errors.append(float(np.linalg.norm(a @ x - b) / np.linalg.norm(b)))
    assert errors[2] < errors[1] < errors[0] < 1.0
    assert errors[2] < 1e-5


def test_nothing_to_solve() -> None:
    # right-hand side zero: no division by it
    edges = chain(3)
    _, v = islands_of(3, edges)
    iterate_all(v)
    system(v, 3, edges, 0)
    v.matrix.x[:] = 0.0
    assert factor_and_solve(v, 0) == 0
    assert not v.matrix.x.any()
