"""Body graphs for tests of the sparse solver, and the kernels called on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.implicit.block_cholesky import factor, substitute
from tangere.implicit.conjugate_gradients import gradients
from tangere.implicit.islands import find_islands, same_edges
from tangere.implicit.large import list_active
from tangere.model import Sizes
from tangere.solver import ACTIVE, Graph, Solver, new_solver

Array = NDArray[np.float64]
Edges = list[tuple[int, int]]


@kernel
def _find(z: Sizes, v: Solver, count: int, room: int) -> int:
    """find_islands on arrays."""
    p = pointers(v)
    return find_islands(z, p.graph, p.large, p.ahead.position, count, room)


@kernel
def _same(v: Solver, count: int) -> bool:
    """same_edges on arrays."""
    return same_edges(pointers(v).graph, count)


@kernel
def _solve(v: Solver, island: int, tolerance: float) -> int:
    """Solve on arrays."""
    p = pointers(v)
    if p.graph.direct[island] == 0:
        return gradients(p, island, tolerance)
    factor(p.graph, p.matrix, island)
    substitute(p.graph, p.matrix, island)
    return 0


@kernel
def _list_active(v: Solver, island: int) -> None:
    """list_active on arrays."""
    list_active(pointers(v), island)


def offer(v: Solver, edges: Edges) -> None:
    """Write edges where a step would."""
    v.graph.fresh[: len(edges)] = np.array(edges, np.int32).reshape(-1, 2)


def islands_of(
    bodies: int, edges: Edges, room: int = 0, positions: Array | None = None
) -> tuple[int, Solver]:
    """Status and arrays after the search; `room` for blocks, ample if not given.

    Bodies lie on a line, as numbered, unless positions are given.
    """
    v = new_solver(bodies, 0, max(len(edges), 1), 1, room or bodies * bodies + len(edges))
    for array in (*v.graph[3:], *v.large):
        array[:] = -99  # whatever is read must have been written
    v.large.state[:] = ACTIVE
    v.ahead.position[:bodies, 0] = np.arange(bodies)
    if positions is not None:
        v.ahead.position[:bodies] = positions
    offer(v, edges)
    status = int(_find(Sizes(bodies, 0, 0, 0), v, len(edges), room or len(v.graph.row)))
    return status, v


def same(v: Solver, edges: Edges) -> bool:
    offer(v, edges)
    return bool(_same(v, len(edges)))


def list_all(v: Solver) -> None:
    """list_active, by `Large.state`, of every island that is not factored."""
    for island in range(int(v.graph.known[1])):
        if v.graph.direct[island] == 0:
            _list_active(v, island)


def iterate_all(v: Solver) -> None:
    """Let all islands be as if they were too large to factor; their first half is as numbered."""
    g = v.graph
    g.direct[:] = 0
    for island in range(int(g.known[1])):
        v.large.split[island] = (g.start[island] + g.start[island + 1]) // 2


def factor_and_solve(v: Solver, island: int, tolerance: float = 1e-7) -> int:
    return int(_solve(v, island, tolerance))


def chain(n: int) -> Edges:
    return [(k, k + 1) for k in range(n - 1)]


def ring(n: int) -> Edges:
    return [*chain(n), (n - 1, 0)]


def tree(n: int, seed: int = 0) -> Edges:
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(0, k)), k) for k in range(1, n)]


def tangle(n: int, count: int, seed: int = 0, fixed: int = 3) -> Edges:
    """Random pairs, some of them twice, some with a fixed body on either side."""
    rng = np.random.default_rng(seed)
    edges: Edges = []
    while len(edges) < count:
        a, b = (int(x) for x in rng.integers(0, n, 2))
        if a != b:
            edges.append((a, b))
    for k in range(fixed):
        body = int(rng.integers(0, n))
        edges.append((-1, body) if k % 2 == 0 else (body, -1))
    return edges


def box(*sides: int) -> tuple[Edges, Array]:
    """Bodies on a grid, each joined to the next along every axis, and where they are.

    The bodies are numbered, and the edges are listed, at random.
    """
    rng = np.random.default_rng(5)
    number = rng.permutation(int(np.prod(sides))).reshape(sides)
    positions = np.empty((number.size, 3))
    positions[number.ravel()] = np.argwhere(number >= 0) + rng.uniform(-0.3, 0.3, (number.size, 3))
    edges: Edges = []
    for axis in range(3):
        along = np.moveaxis(number, axis, 0)
        pairs = zip(along[:-1].ravel(), along[1:].ravel(), strict=True)
        edges += [(int(a), int(b)) for a, b in pairs]
    rng.shuffle(edges)
    return edges, positions


def direct(g: Graph) -> list[bool]:
    return [bool(x) for x in g.direct[: int(g.known[1])]]
