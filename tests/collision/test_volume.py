"""Contact volume: SciPy's half-space intersection, properties, degenerate cases."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from collision.pairs import Placed, extent, random_pair, random_pool
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles.halfspace import common_volume

from tangere.collision.distance import distance, placed
from tangere.collision.volume import contact_volume, polygons
from tangere.errors import SceneError
from tangere.geometry.shapes import Box, Compound, Convex, Cylinder
from tangere.maths.rotations import rotation_of

Array = NDArray[np.float64]
Algorithm = Literal["clip", "dual"]

ALGORITHMS: tuple[Algorithm, ...] = ("clip", "dual")
both = pytest.mark.parametrize("algorithm", ALGORITHMS)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
HERE = ((0.0, 0.0, 0.0), UPRIGHT)
CUBE = Box((1.0, 1.0, 1.0))
OVERLAPPING = ("shallow", "deep", "faces", "aligned", "nested")

# Volume in L³, areas in L², first moment of volume in L⁴, with L the extent of the smaller shape.
EXACT = 1e-8
# The centroid itself, in L, where the overlap is at least this part of the larger shape: vertices
# carry the rounding of the shapes, which moves the centroid by rounding / overlap.
CLEAR = 1e-6


def against_halfspaces(seed: int, pairs: int, pool_size: int) -> dict[str, float]:
    """Worst errors of both algorithms over so many overlapping pairs."""
    pool = random_pool(seed, pool_size)
    rng = np.random.default_rng(seed)
    worst = dict.fromkeys(("volume", "surface", "area", "moment", "centroid"), 0.0)
    done, k = 0, 0
    while done < pairs:
        k += 1
        a, pose_a, b, pose_b = random_pair(rng, pool, OVERLAPPING[k % len(OVERLAPPING)])
        results = [contact_volume(a, pose_a, b, pose_b, algorithm=name) for name in ALGORITHMS]
        apart = distance(a, pose_a, b, pose_b)
        depth = -apart.distance
        if not results[0].volume > 0.0:
            assert depth <= 1e-12 * max(extent(a), extent(b)), (seed, k)
            continue
        done += 1
        p = placed(a.parts()[0], rotation_of(pose_a[1]), np.zeros(3))
        q = placed(b.parts()[0], rotation_of(pose_b[1]), pose_b[0] - pose_a[0])
        around = 0.5 * (apart.point_a + apart.point_b) - pose_a[0]
        truth = common_volume(p.planes, q.planes, apart.normal, around, depth)
        size = min(extent(a), extent(b))
        for name, found in zip(ALGORITHMS, results, strict=True):
            off = float(np.linalg.norm(found.centroid - pose_a[0] - truth.centroid))
            errors = {
                "volume": abs(found.volume - truth.volume) / size**3,
                "surface": abs(found.surface_area - truth.surface_area) / size**2,
                "area": abs(found.area - truth.projected_area) / size**2,
                "moment": off * truth.volume / size**4,
            }
            if depth >= CLEAR * max(extent(a), extent(b)):
                errors["centroid"] = off / size
            assert max(errors.values()) <= EXACT, (seed, k, name, errors)
            for key, error in errors.items():
                worst[key] = max(worst[key], error)
    return worst


def test_agrees_with_half_space_intersection() -> None:
    worst = against_halfspaces(seed=1, pairs=400, pool_size=80)
    assert max(worst.values()) <= EXACT


@pytest.mark.slow
def test_agrees_with_half_space_intersection_on_many_pairs() -> None:
    worst = against_halfspaces(seed=2, pairs=10_000, pool_size=1_000)
    print("10000 overlapping pairs, worst errors", worst)  # noqa: T201
    assert max(worst.values()) <= EXACT


POOL = random_pool(3, 24, low=-0.5, high=0.5)
pairs = st.builds(
    lambda seed, how: random_pair(np.random.default_rng(seed), POOL, how),
    st.integers(0, 2**32 - 1),
    st.sampled_from(OVERLAPPING),
)
Pair = tuple[Convex, Placed, Convex, Placed]


@both
@given(pairs)
def test_swapping_the_shapes_flips_the_normal(algorithm: Algorithm, pair: Pair) -> None:
    a, pose_a, b, pose_b = pair
    size = min(extent(a), extent(b))
    one = contact_volume(a, pose_a, b, pose_b, algorithm=algorithm)
    two = contact_volume(b, pose_b, a, pose_a, algorithm=algorithm)
    assert two.volume == pytest.approx(one.volume, abs=1e-11 * size**3)
    assert two.surface_area == pytest.approx(one.surface_area, abs=1e-10 * size**2)
    if one.normal @ two.normal < -1.0 + 1e-9:  # else two directions are equally short
        assert two.area == pytest.approx(one.area, abs=1e-7 * size**2)


@both
@given(pairs, st.integers(0, 2**32 - 1))
def test_rigid_motion_and_scaling_do_nothing_else(
    algorithm: Algorithm, pair: Pair, seed: int
) -> None:
    a, pose_a, b, pose_b = pair
    rng = np.random.default_rng(seed)
    s = 10.0 ** rng.uniform(-2.0, 2.0)
    shift = rng.normal(size=3)
    one = contact_volume(a, pose_a, b, pose_b, algorithm=algorithm)
    grown = [Convex(s * shape.vertices) for shape in (a, b)]
    poses = [(s * (x + shift), q) for x, q in (pose_a, pose_b)]
    two = contact_volume(grown[0], poses[0], grown[1], poses[1], algorithm=algorithm)
    size = max(extent(a), extent(b))
    assert two.volume == pytest.approx(s**3 * one.volume, abs=1e-10 * (s * size) ** 3)
    assert two.surface_area == pytest.approx(s**2 * one.surface_area, abs=1e-10 * (s * size) ** 2)


@both
@given(pairs)
def test_patch_is_front_and_back_alike_and_the_mesh_is_closed(
    algorithm: Algorithm, pair: Pair
) -> None:
    a, pose_a, b, pose_b = pair
    size = min(extent(a), extent(b))
    found = contact_volume(a, pose_a, b, pose_b, algorithm=algorithm)
    x = found.vertices[found.triangles]
    area = 0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    # Outward area vectors of a closed surface cancel; welding moved corners by 1e-11 of the size.
    assert np.abs(area.sum(axis=0)).max(initial=0.0) <= 1e-9 * size**2
    assert np.maximum(area @ found.normal, 0.0).sum() == pytest.approx(
        found.area, abs=1e-9 * size**2
    )
    if found.volume > 0.0:
        lines = np.vstack((np.eye(3), np.linalg.svd(found.normal[None])[2]))
        shadow = found.vertices @ lines.T
        for point, seen in ((found.centroid, slice(0, 6)), (found.point, slice(4, 6))):
            assert (lines @ point >= shadow.min(axis=0) - 1e-9 * size)[seen].all()
            assert (lines @ point <= shadow.max(axis=0) + 1e-9 * size)[seen].all()


@pytest.mark.nojit
@both
def test_cube_on_cube(algorithm: Algorithm) -> None:
    found = contact_volume(CUBE, HERE, CUBE, ((0.25, 0.5, 0.9), UPRIGHT), algorithm=algorithm)
    assert found.volume == pytest.approx(0.75 * 0.5 * 0.1, abs=1e-15)
    assert found.area == pytest.approx(0.75 * 0.5, abs=1e-15)
    assert found.surface_area == pytest.approx(2 * (0.375 + 0.075 + 0.05), abs=1e-14)
    np.testing.assert_allclose(found.normal, (0, 0, 1), atol=1e-15)
    np.testing.assert_allclose(found.point, (0.125, 0.25, 0.45), atol=1e-15)
    np.testing.assert_allclose(found.centroid, (0.125, 0.25, 0.45), atol=1e-15)
    assert found.vertices.shape == (8, 3)
    assert found.triangles.shape == (12, 3)
    directed = Counter((int(t[i]), int(t[(i + 1) % 3])) for t in found.triangles for i in range(3))
    assert set(directed.values()) == {1}
    assert all((j, i) in directed for i, j in directed)


@both
@pytest.mark.parametrize(
    ("position", "volume", "area"),
    [
        pytest.param((0.0, 0.0, 0.9), 0.1, 1.0, id="flush-sides"),
        pytest.param((0.0, 0.0, 0.0), 1.0, 1.0, id="identical"),
        pytest.param((0.9, 0.9, 0.9), 0.001, 0.01, id="corner"),
        pytest.param((0.0, 0.9, 0.9), 0.01, 0.1, id="edge"),
        pytest.param((0.0, 0.0, 1.0 - 1e-9), 1e-9, 1.0, id="film"),
    ],
)
def test_aligned_cubes(
    algorithm: Algorithm, position: tuple[float, float, float], volume: float, area: float
) -> None:
    found = contact_volume(CUBE, HERE, CUBE, (position, UPRIGHT), algorithm=algorithm)
    assert found.volume == pytest.approx(volume, abs=1e-15)
    assert found.area == pytest.approx(area, abs=1e-14)


@both
def test_vertex_in_face(algorithm: Algorithm) -> None:
    # A corner of the upper cube points down along its diagonal and reaches 0.1 into the lower one.
    down = (0.8880738339771153, 0.32505758367186816, -0.32505758367186816, 0.0)
    height = 0.5 + 0.5 * 3**0.5 - 0.1
    found = contact_volume(CUBE, HERE, CUBE, ((0.0, 0.0, height), down), algorithm=algorithm)
    # Three faces meet at right angles: a corner of height h holds sqrt(3)/2 h³ over 3 sqrt(3)/2 h².
    assert found.volume == pytest.approx(3**0.5 / 2 * 0.1**3, rel=1e-12)
    assert found.area == pytest.approx(3 * 3**0.5 / 2 * 0.1**2, rel=1e-12)
    np.testing.assert_allclose(found.normal, (0, 0, 1), atol=1e-13)
    np.testing.assert_allclose(found.point, (0, 0, 0.45), atol=1e-13)
    np.testing.assert_allclose(found.centroid, (0, 0, 0.475), atol=1e-13)
    assert len(found.vertices) == 4


@both
def test_crossing_edges(algorithm: Algorithm) -> None:
    # Roof on roof, ridges at right angles: depth h over a square patch with diagonals of 2 h.
    s, c = np.sin(np.pi / 8), np.cos(np.pi / 8)
    h = 0.1
    found = contact_volume(
        CUBE,
        ((0, 0, 0), (c, s, 0.0, 0.0)),
        CUBE,
        ((0.1, 0.2, 2**0.5 - h), (c, 0.0, s, 0.0)),
        algorithm=algorithm,
    )
    assert found.area == pytest.approx(2 * h**2, rel=1e-12)
    assert found.volume == pytest.approx(2 * h**3 / 3, rel=1e-12)
    np.testing.assert_allclose(found.normal, (0, 0, 1), atol=1e-13)


@both
def test_contained_shape_is_the_volume(algorithm: Algorithm) -> None:
    small = Cylinder(0.1, 0.3)
    pose = ((0.1, 0.05, -0.1), (0.9, 0.3, 0.2, 0.1))
    found = contact_volume(CUBE, HERE, small, pose, algorithm=algorithm)
    moments = small.parts()[0].moments()
    assert found.volume == pytest.approx(moments.volume, rel=1e-13)
    np.testing.assert_allclose(found.centroid, pose[0], atol=1e-14)
    assert len(found.vertices) == len(small.parts()[0].vertices)


@both
@pytest.mark.parametrize("gap", [1e-9, 0.0, 1.0])
def test_apart_or_touching_is_empty(algorithm: Algorithm, gap: float) -> None:
    found = contact_volume(CUBE, HERE, CUBE, ((0.2, 0.1, 1.0 + gap), UPRIGHT), algorithm=algorithm)
    assert found.vertices.shape == (0, 3)
    assert found.triangles.shape == (0, 3)
    assert (found.volume, found.area, found.surface_area) == (0.0, 0.0, 0.0)
    np.testing.assert_allclose(found.normal, (0, 0, 1), atol=1e-9)


@both
def test_parts_add_up(algorithm: Algorithm) -> None:
    half = Box((0.5, 1.0, 1.0))
    split = Compound((half, half), (((-0.25, 0, 0), UPRIGHT), ((0.25, 0, 0), UPRIGHT)))
    pose = ((0.1, 0.2, 0.9), (0.99, 0.0, 0.0, 0.1))
    whole = contact_volume(CUBE, HERE, CUBE, pose, algorithm=algorithm)
    parts = contact_volume(split, HERE, CUBE, pose, algorithm=algorithm)
    assert parts.volume == pytest.approx(whole.volume, rel=1e-12)
    assert parts.area == pytest.approx(whole.area, rel=1e-12)
    np.testing.assert_allclose(parts.normal, whole.normal, atol=1e-12)
    np.testing.assert_allclose(parts.point, whole.point, atol=1e-12)


def test_large_prisms_sticking_out_of_the_common_box() -> None:
    # More than 62 faces: the way that culls by the common box. The plate's corners lie outside it.
    prism = Cylinder(1.0, 1.0, facets=90)
    plate = Box((8.0, 8.0, 0.01))
    tilt = (np.cos(0.2), np.sin(0.2), 0.0, 0.0)
    for pose in (((0.0, 0.0, 0.5), tilt), ((3.5, 0.3, 0.45), tilt)):
        clip, dual = (
            contact_volume(prism, HERE, plate, pose, algorithm=name) for name in ALGORITHMS
        )
        assert clip.volume == pytest.approx(dual.volume, rel=1e-11)
        assert clip.surface_area == pytest.approx(dual.surface_area, rel=1e-11)
        swapped = contact_volume(plate, pose, prism, HERE)
        assert swapped.volume == pytest.approx(dual.volume, rel=1e-11)


@both
def test_polygons_face_outwards_and_lie_on_their_planes(algorithm: Algorithm) -> None:
    p = placed(CUBE.parts()[0], np.eye(3), np.zeros(3))
    q = placed(
        CUBE.parts()[0], rotation_of(np.array([0.8, 0.6, 0.0, 0.0])), np.array([0.1, 0.2, 0.6])
    )
    xyz, starts = polygons(p, q, np.zeros(9), algorithm)
    centre = xyz.mean(axis=0)
    planes = np.vstack((p.planes, q.planes))
    assert (xyz @ planes[:, :3].T <= planes[:, 3] + 1e-14).all()
    for i, j in pairwise(starts):
        loop = xyz[i:j]
        normal = np.cross(loop[1] - loop[0], loop[2] - loop[0])
        assert normal @ (loop[0] - centre) > 0.0


def test_unknown_algorithm_and_bad_pose_are_refused() -> None:
    with pytest.raises(SceneError, match="'clip' or 'dual'"):
        contact_volume(CUBE, HERE, CUBE, HERE, algorithm="hull")  # type: ignore[arg-type]
    with pytest.raises(SceneError, match="pose_a position"):
        contact_volume(CUBE, ((np.inf, 0, 0), UPRIGHT), CUBE, HERE)
