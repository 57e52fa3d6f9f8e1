"""Penetration depth: polytope and enumeration against the Minkowski hull and each other."""

from __future__ import annotations

import numpy as np
import pytest
from collision.pairs import Placed, directions, extent, random_pair, random_pool
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles.distance import depth as hull_depth

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.collision import distance as module
from tangere.collision.distance import edges, part_distance, placed, view
from tangere.collision.epa import least_overlap, overlap, penetration
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Box, Convex
from tangere.maths.rotations import rotation_of

Array = NDArray[np.float64]


@kernel
def polytope(a: Array, b: Array, out: Array) -> bool:
    """Whether EPA succeeds; depth, direction and the overlap along it go to out."""
    done, d, x, y, z = penetration(ptr(a), a.shape[0], ptr(b), b.shape[0])
    out[0], out[1], out[2], out[3] = d, x, y, z
    out[4] = overlap(ptr(a), a.shape[0], ptr(b), b.shape[0], (x, y, z))
    return done


@kernel
def enumeration(
    a: Polyhedron, ea: NDArray[np.int32], b: Polyhedron, eb: NDArray[np.int32], out: Array
) -> None:
    """Depth and direction by enumeration to out."""
    d, x, y, z = least_overlap(view(a), ptr(ea), ea.shape[0], view(b), ptr(eb), eb.shape[0])
    out[0], out[1], out[2], out[3] = d, x, y, z


def parts(pair: tuple[Convex, Placed, Convex, Placed]) -> tuple[Polyhedron, Polyhedron, float]:
    a, pose_a, b, pose_b = pair
    p = placed(a.parts()[0], rotation_of(pose_a[1]), np.zeros(3))
    q = placed(b.parts()[0], rotation_of(pose_b[1]), pose_b[0] - pose_a[0])
    return p, q, max(extent(a), extent(b))


POOL = random_pool(1, 60, low=-1.0, high=1.0)
overlapping = st.builds(
    lambda seed, how: parts(random_pair(np.random.default_rng(seed), POOL, how)),
    st.integers(0, 2**32 - 1),
    st.sampled_from(("shallow", "deep", "faces", "aligned", "nested", "touching")),
)
Parts = tuple[Polyhedron, Polyhedron, float]


@settings(max_examples=50)
@given(overlapping)
def test_polytope_and_enumeration_find_the_nearest_face_of_the_minkowski_hull(pair: Parts) -> None:
    p, q, size = pair
    truth = hull_depth(p.vertices, q.vertices)
    if truth < 0.0:
        return  # apart after all: nothing to find
    out = np.full(5, np.nan)
    assert polytope(p.vertices, q.vertices, out)
    assert out[0] == pytest.approx(truth, abs=1e-12 * size)
    assert out[4] == pytest.approx(truth, abs=1e-12 * size)
    assert np.linalg.norm(out[1:4]) == pytest.approx(1.0, abs=1e-14)
    found = np.full(4, np.nan)
    enumeration(p, edges(p), q, edges(q), found)
    assert found[0] == pytest.approx(truth, abs=1e-12 * size)
    assert np.linalg.norm(found[1:4]) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.nojit
def test_cubes_overlap_least_along_the_nearest_face() -> None:
    p = placed(Box((2.0, 2.0, 2.0)).parts()[0], np.eye(3), np.zeros(3))
    q = placed(Box((2.0, 2.0, 2.0)).parts()[0], np.eye(3), np.array([0.5, 1.5, -0.25]))
    out = np.full(5, np.nan)
    assert polytope(p.vertices, q.vertices, out)
    np.testing.assert_allclose(out, (0.5, 0.0, 1.0, 0.0, 0.5), atol=1e-15)
    found = np.full(4, np.nan)
    enumeration(p, edges(p), q, edges(q), found)
    np.testing.assert_allclose(found, (0.5, 0.0, 1.0, 0.0), atol=1e-15)


def test_edges_pair_their_faces() -> None:
    box = Box((1.0, 2.0, 3.0)).parts()[0]
    table = edges(box)
    assert table.shape == (12, 4)
    for i, j, f, g in table:
        assert f != g
        for face in (f, g):
            loop = box.loops[box.loop_start[face] : box.loop_start[face + 1]]
            assert {i, j} <= set(loop)


@given(overlapping)
def test_enumeration_takes_over_where_the_polytope_fails(pair: Parts) -> None:
    p, q, size = pair
    usual, _ = part_distance(p, q)
    if usual >= 0.0:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_settle", lambda *_: (False, 0.0))
        d, found = part_distance(p, q)
    assert d == pytest.approx(usual, abs=1e-12 * size)
    # GJK tells two directions apart to the root of rounding: 1e-8 over the gap it opens.
    np.testing.assert_allclose(found[3:6] - found[0:3], d * found[6:9], atol=1e-8 * size)


def test_concentric_round_clouds() -> None:
    # Two concentric round clouds: all faces of the Minkowski hull are about equally near.
    rng = np.random.default_rng(3)
    p = placed(Convex(directions(rng, 128)).parts()[0], np.eye(3), np.zeros(3))
    turn = rotation_of(np.array([0.6, 0.0, 0.8, 0.0]))
    q = placed(Convex(directions(rng, 128)).parts()[0], turn, np.zeros(3))
    d, _ = part_distance(p, q)
    assert -d == pytest.approx(hull_depth(p.vertices, q.vertices), abs=1e-12)
