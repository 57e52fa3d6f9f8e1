"""Time per pair of the two geometric kernels: distance (GJK), and contact volume by both ways.

One call runs over a pool of pairs inside compiled code, so that no Python stands between pairs.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import off, pointers, ptr
from tangere.bench.report import Result, Row, Table, spread
from tangere.bench.turns import Contestant, durations, median_ratio, take_turns
from tangere.collision.clip import ON_PLANE, View, clip_volume
from tangere.collision.dual import dual_volume
from tangere.collision.gjk import gjk
from tangere.geometry.polyhedron import Polyhedron, convex_polyhedron
from tangere.maths.vec import Array, IntArray
from tangere.model import Soup, new_soup

SIZES = (8, 32, 128)  # vertices: a box, a stone, and the finest hull that a body may have
PAIRS = 64  # per pool
CALLS = 40  # per turn
NEAR = 0.9  # centres this far apart, in sums of inner radii: always an overlap
FAR = 1.1  # the same in sums of outer radii: always a gap
SOUP = 4096  # polygons that fit


class Pool(NamedTuple):
    """Convex hulls in the world, one after the other; pairs are hulls (2 i, 2 i + 1)."""

    vert_start: IntArray
    verts: Array
    face_start: IntArray
    planes: Array
    loop_start: IntArray
    loops: IntArray


def pool(vertices: int, *, overlap: bool, seed: int = 1988) -> Pool:
    """PAIRS random pairs of hulls, all overlapping or all apart."""
    rng = np.random.default_rng(seed)
    hulls: list[Polyhedron] = []
    for _ in range(PAIRS):
        a, b = _hull(vertices, rng), _hull(vertices, rng)
        if overlap:
            way = NEAR * (a.planes[:, 3].min() + b.planes[:, 3].min())
        else:
            way = FAR * sum(np.linalg.norm(h.vertices, axis=1).max() for h in (a, b))
        shift = rng.normal(size=3)
        shift *= way / np.linalg.norm(shift)
        planes = b.planes.copy()
        planes[:, 3] += planes[:, :3] @ shift
        hulls += [a, b._replace(vertices=b.vertices + shift, planes=planes)]
    loop_start = [np.zeros(1, np.int32)]
    for hull in hulls:
        loop_start.append(hull.loop_start[1:] + loop_start[-1][-1])
    return Pool(
        _starts([len(hull.vertices) for hull in hulls]),
        np.concatenate([hull.vertices for hull in hulls]),
        _starts([len(hull.planes) for hull in hulls]),
        np.concatenate([hull.planes for hull in hulls]),
        np.concatenate(loop_start).astype(np.int32),
        np.concatenate([hull.loops for hull in hulls]).astype(np.int32),
    )


def _hull(vertices: int, rng: np.random.Generator) -> Polyhedron:
    """A randomly turned box for 8 vertices, else points on the unit sphere."""
    if vertices == 8:
        corners = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, -1).T
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        return convex_polyhedron(corners @ turn.T)
    points = rng.normal(size=(vertices, 3))
    return convex_polyhedron(points / np.linalg.norm(points, axis=1, keepdims=True))


def _starts(counts: list[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def measure_gjk(rounds: int = 15) -> Result:
    """Time of one distance query: overlapping and apart, from scratch and from the last simplex."""
    begin = time.perf_counter()
    rows: list[Row] = []
    for vertices in SIZES:
        contestants = []
        for overlap in (True, False):
            pairs = pool(vertices, overlap=overlap)
            simplices = np.zeros((PAIRS, 9), np.int32)
            place = "overlap" if overlap else "apart"
            for cold in (True, False):
                start = "cold" if cold else "warm"
                call = functools.partial(gjk_all, pairs, simplices, cold)
                contestants.append(_contestant(f"{place}, {start}", call))
        rows += _rows(vertices, take_turns(contestants, rounds, CALLS))
    return _result("gjk", "time per distance query", rows, rounds, begin)


def measure_volume(rounds: int = 15) -> Result:
    """Time of one contact volume, by clipping faces and by the hull of dual points."""
    begin = time.perf_counter()
    rows: list[Row] = []
    for vertices in SIZES:
        pairs = pool(vertices, overlap=True)
        soup = new_soup(SOUP)
        centres = np.zeros((PAIRS, 3))
        clip_all(pairs, soup, centres)
        contestants = [
            _contestant("clip", functools.partial(clip_all, pairs, soup, centres)),
            _contestant("dual", functools.partial(dual_all, pairs, soup, centres)),
        ]
        rows += _rows(vertices, take_turns(contestants, rounds, CALLS))
    return _result("volume", "time per contact volume", rows, rounds, begin)


def _contestant(name: str, call: Callable[[], object]) -> Contestant:
    return Contestant(name, lambda n: durations(call, n))


def _rows(vertices: int, taken: dict[str, list[list[float]]]) -> list[Row]:
    first = next(iter(taken.values()))
    return [
        {
            "vertices": vertices,
            "case": name,
            **spread(np.concatenate(turns), PAIRS),
            "relative": median_ratio(turns, first),
        }
        for name, turns in taken.items()
    ]


def _result(name: str, title: str, rows: list[Row], rounds: int, begin: float) -> Result:
    settings = {"pairs": PAIRS, "calls_per_turn": CALLS, "rounds": rounds}
    table = Table(f"{title}, over calls of {PAIRS} pairs", rows)
    return Result(name, settings, [table], [], time.perf_counter() - begin)


@kernel
def gjk_all(p: Pool, simplices: IntArray, cold: bool) -> float:
    """Sum of the distances of all pairs [m]; each simplex is forgotten first when cold."""
    starts, verts, rows = ptr(p.vert_start), ptr(p.verts), ptr(simplices)
    total = 0.0
    for i in range(simplices.shape[0]):
        a, b, end = starts[2 * i], starts[2 * i + 1], starts[2 * i + 2]
        if cold:
            rows[9 * i] = 0
        found = gjk(
            off(verts, 3 * a), b - a, off(verts, 3 * b), end - b, (0.0, 0.0, 0.0), off(rows, 9 * i)
        )
        total += found[1]
    return total


@kernel
def clip_all(p: Pool, soup: Soup, centres: Array) -> int:
    """Number of polygons of all volumes by clipping; their mean vertices go to `centres`."""
    s, total = pointers(soup), 0
    for i in range(centres.shape[0]):
        s.start[0] = 0
        count = clip_volume(view(p, 2 * i), view(p, 2 * i + 1), ON_PLANE, s, 0, SOUP)
        corners = s.start[max(count, 0)]
        for k in range(3):
            mean = 0.0
            for c in range(corners):
                mean += s.xyz[3 * c + k]
            centres[i, k] = mean / max(corners, 1)
        total += count
    return total


@kernel
def dual_all(p: Pool, soup: Soup, centres: Array) -> int:
    """Number of polygons of all volumes by duality, from a point near the middle of each."""
    s, total = pointers(soup), 0
    for i in range(centres.shape[0]):
        s.start[0] = 0
        guess = (centres[i, 0], centres[i, 1], centres[i, 2])
        total += dual_volume(view(p, 2 * i), view(p, 2 * i + 1), guess, s, 0, SOUP)
    return total


@kernel
def view(p: Pool, i: int) -> View:
    """Hull i of the pool."""
    v, f = p.vert_start[i], p.face_start[i]
    return View(
        off(ptr(p.verts), 3 * v),
        p.vert_start[i + 1] - v,
        off(ptr(p.planes), 4 * f),
        p.face_start[i + 1] - f,
        off(ptr(p.loop_start), f),
        ptr(p.loops),
    )
