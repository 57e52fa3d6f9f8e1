"""Islands against SciPy's connected components, the symbolic factor against a dense Cholesky."""

from __future__ import annotations

import numpy as np
import pytest
from implicit.graphs import (
    Edges,
    box,
    chain,
    direct,
    islands_of,
    list_all,
    ring,
    same,
    tangle,
    tree,
)
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tangere.implicit.task_queue import LEAST
from tangere.model import OK, SOLVER_FULL
from tangere.solver import SMALL, Graph

pytestmark = pytest.mark.nojit

BoolArray = NDArray[np.bool_]

GRAPHS: list[tuple[int, Edges]] = [
    (1, [(-1, 0)]),
    (3, []),
    (4, [(0, 1), (2, -1)]),  # one body alone, one on a support
    (5, [(4, 3), (1, 0), (3, -1), (-1, 4)]),
    (6, chain(6)),
    (7, ring(7)),
    (12, tree(12)),
    (20, tangle(20, 12)),
    (30, tangle(30, 60, 1)),
    (70, tangle(70, 120, 2)),  # more than one word of bits
]


def components(bodies: int, edges: Edges) -> list[set[int]]:
    """Sets of bodies that hang together; bodies that touch nothing are left out."""
    both = np.array([e for e in edges if min(e) >= 0], int).reshape(-1, 2)
    graph = coo_array((np.ones(len(both)), both.T), shape=(bodies, bodies))
    _, label = connected_components(graph, directed=False)
    touching = {i for edge in edges for i in edge if i >= 0}
    sets = [set(np.flatnonzero(label == k).tolist()) for k in range(bodies)]
    return [x for x in sets if x & touching]


def members(g: Graph, island: int) -> list[int]:
    return [int(i) for i in g.member[g.start[island] : g.start[island + 1]]]


@pytest.mark.parametrize(("bodies", "edges"), GRAPHS)
def test_islands_are_connected_components(bodies: int, edges: Edges) -> None:
    status, v = islands_of(bodies, edges)
    g = v.graph
    assert status == OK
    count = int(g.known[1])
    assert int(g.known[0]) == len(edges)
    found = [members(g, k) for k in range(count)]
    expected = components(bodies, edges)
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    for k, island in enumerate(found):
        assert [int(g.place[i]) for i in island] == list(range(g.start[k], g.start[k + 1]))
        assert all(g.island[i] == k for i in island)
    touching = set().union(*expected) if expected else set()
    assert all(g.island[i] == -1 for i in range(bodies) if i not in touching)
    # each island lists its own edges, all of them
    listed = [
        sorted(int(e) for e in g.edge_list[g.edge_start[k] : g.edge_start[k + 1]])
        for k in range(count)
    ]
    mine = [[e for e, pair in enumerate(edges) if max(pair) in island] for island in found]
    assert listed == mine


def filled(edges: Edges, order: list[int]) -> BoolArray:
    """Pattern of the dense Cholesky factor below the diagonal, bodies in this order.

    Random values, so that nothing cancels.
    """
    rng = np.random.default_rng(5)
    place = {body: k for k, body in enumerate(order)}
    a = np.diag(np.full(len(order), 4.0 * len(order)))
    for i, j in edges:
        if i in place and j in place:
            a[place[i], place[j]] = a[place[j], place[i]] = rng.uniform(0.5, 1.0)
    return np.asarray(np.tril(np.abs(np.linalg.cholesky(a)) > 1e-300, -1))


@pytest.mark.parametrize(("bodies", "edges"), GRAPHS)
def test_columns_are_the_pattern_of_the_factor(bodies: int, edges: Edges) -> None:
    _, v = islands_of(bodies, edges)
    g = v.graph
    assert all(direct(g))
    for k in range(int(g.known[1])):
        first, size = int(g.start[k]), int(g.start[k + 1] - g.start[k])
        pattern = np.zeros((size, size), bool)
        for p in range(size):
            rows = g.row[g.column[first + p] : g.column[first + p + 1]]
            assert np.all(np.diff(rows) > 0)
            pattern[rows - first, p] = True
        assert np.array_equal(pattern, filled(edges, members(g, k)))
    # and every edge finds its block in it
    for e, (a, b) in enumerate(edges):
        if min(a, b) < 0:
            assert g.block[e] == -1
        else:
            column, row = sorted((int(g.place[a]), int(g.place[b])))
            assert g.row[g.block[e]] == row
            assert g.column[column] <= g.block[e] < g.column[column + 1]


@pytest.mark.parametrize("edges", [chain(40), tree(40, 3)])
def test_minimum_degree_fills_nothing_in_on_trees(edges: Edges) -> None:
    _, v = islands_of(40, edges)
    assert int(v.graph.column[40]) == 39


def test_minimum_degree_on_a_ring_fills_one_block_per_body() -> None:
    _, v = islands_of(20, ring(20))
    assert int(v.graph.column[20]) == 20 + 17


@pytest.mark.parametrize(("bodies", "edges"), [(40, chain(40)), (7, ring(7)), (30, GRAPHS[8][1])])
def test_room_of_exactly_the_factor_is_enough(bodies: int, edges: Edges) -> None:
    _, ample = islands_of(bodies, edges)
    need = int(ample.graph.column[int(ample.graph.start[int(ample.graph.known[1])])])
    status, v = islands_of(bodies, edges, room=need)
    assert status == OK
    assert v.graph.row.tolist() == ample.graph.row[:need].tolist()
    status, v = islands_of(bodies, edges, room=need - 1)
    assert status == SOLVER_FULL
    assert not same(v, edges)  # nothing is known then


def test_known_edges_are_recognised() -> None:
    edges = tangle(10, 8)
    _, v = islands_of(10, edges)
    assert same(v, edges)
    assert not same(v, edges[:-1])
    assert not same(v, [*edges[:-1], (0, -1)])


def dense(bodies: int) -> Edges:
    """Each body joined to the next five: far from a tree."""
    return [(i, i + k) for i in range(bodies) for k in range(1, 6) if i + k < bodies]


@pytest.mark.parametrize(
    ("bodies", "edges", "expected"),
    [
        (SMALL, dense(SMALL), True),
        (SMALL, chain(SMALL), True),
        (SMALL + 1, dense(SMALL + 1), False),
        (SMALL + 1, chain(SMALL + 1), False),
    ],
)
def test_only_small_islands_are_factored(bodies: int, edges: Edges, expected: bool) -> None:
    status, v = islands_of(bodies, edges)
    assert status == OK
    assert direct(v.graph) == [expected]


def test_a_large_island_needs_no_room_for_a_factor() -> None:
    bodies = SMALL + 1
    status, v = islands_of(bodies, [*dense(bodies), (0, -1)], room=1)
    assert status == OK
    assert direct(v.graph) == [False]


def test_members_of_a_large_island_are_numbered_as_edges_name_them() -> None:
    bodies = SMALL + 1
    edges = dense(bodies)[::-1]
    _, v = islands_of(bodies, edges, positions=np.zeros((bodies, 3)))  # no plane halves it
    named = list(dict.fromkeys(body for edge in edges for body in edge))
    assert v.graph.member.tolist() == named
    assert [named[p] for p in v.graph.place] == list(range(bodies))
    assert v.large.split[0] in (0, bodies)


@pytest.mark.parametrize("sides", [(12, 5, 5), (5, 12, 5), (5, 6, 11)])
def test_a_large_island_is_halved_across_its_longest_side(sides: tuple[int, int, int]) -> None:
    edges, positions = box(*sides)
    bodies, axis = len(positions), int(np.argmax(sides))
    _, v = islands_of(bodies, edges, positions=positions)
    g = v.graph
    assert direct(g) == [False]
    half = int(v.large.split[0])
    assert half == pytest.approx(bodies / 2, abs=0.1 * bodies)
    along = positions[g.member, axis]
    assert along[:half].max() < along[half:].min()
    named = list(dict.fromkeys(body for edge in edges for body in edge))
    for members in (g.member[:half], g.member[half:]):
        assert members.tolist() == [i for i in named if i in set(members.tolist())]
    assert g.place[g.member].tolist() == list(range(bodies))


@pytest.mark.parametrize("held", [0.0, 0.3, 0.9])
def test_halves_do_not_touch_but_by_those_between(held: float) -> None:
    edges, positions = box(12, 5, 5)
    _, v = islands_of(len(positions), edges, positions=positions)
    g = v.graph
    v.large.state[:] = np.random.default_rng(1).uniform(size=len(positions)) < held
    list_all(v)
    count, middle, apart = (
        int(v.large.active_count[0]),
        int(v.large.second[0]),
        int(v.large.separator[0]),
    )
    assert count == np.count_nonzero(v.large.state == 0)
    assert sorted(v.large.active[:count]) == np.flatnonzero(v.large.state == 0).tolist()
    assert v.large.rank[v.large.active[:count]].tolist() == list(range(count))
    assert (v.large.rank[v.large.state != 0] == -1).all()
    ranks = np.sort(v.large.rank[g.place[np.array(edges)]], axis=1)
    low, high = ranks[ranks[:, 0] >= 0].T
    assert not np.any((low < middle) & (high >= middle) & (high < apart))
    assert set(range(apart, count)) <= set(high[low < middle].tolist())
    if count >= 2 * LEAST:
        assert 0.3 * count < middle < apart <= count
        assert count - apart < 0.2 * count  # one layer of twelve, if nothing is held
    else:
        assert middle == apart == count
    # one entry for every edge to a lower rank
    entries = np.append(v.large.entry[:count], v.large.entries[0])
    assert np.diff(entries).tolist() == np.bincount(high, minlength=count).tolist()


@pytest.mark.parametrize(("bodies", "edges"), GRAPHS)
def test_every_body_has_a_list_of_its_edges(bodies: int, edges: Edges) -> None:
    _, v = islands_of(bodies, edges)
    g = v.graph
    for p in range(int(g.start[g.known[1]])):
        mine = g.adjacency[g.adjacency_start[p] : g.adjacency_start[p + 1]].tolist()
        ends = enumerate(body for pair in edges for body in pair)
        assert mine == [end for end, body in ends if body == g.member[p]]
