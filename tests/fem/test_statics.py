from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tangere.errors import SceneError
from tangere.fem.blas_threads import one_blas_thread, thread_counts
from tangere.fem.elements import finite_elements, stiffness
from tangere.fem.grids import box_grid
from tangere.fem.material import ElasticMaterial
from tangere.fem.statics import check_held, displacements

pytestmark = pytest.mark.nojit

STEEL = ElasticMaterial(2.1e11, 0.3, 7850.0)
MESH = box_grid((0.2, 0.1, 0.1), (4, 2, 2))
FE = finite_elements(MESH, 1)
ROOT = np.flatnonzero(MESH.vertices[:, 0] < -0.0999)
NONE = np.zeros((len(FE.nodes), 3))


def test_reactions_balance_the_loads() -> None:
    loads = np.random.default_rng(0).standard_normal(NONE.shape)
    u = displacements(FE, STEEL, loads, fixed=ROOT)
    forces = (stiffness(FE, STEEL) @ u.ravel()).reshape(-1, 3)
    free = np.setdiff1d(np.arange(len(FE.nodes)), ROOT)
    assert np.allclose(forces[free], loads[free], atol=1e-9)
    assert (u[ROOT] == 0.0).all()
    # action = reaction: what the clamp carries is minus what pulls elsewhere, torque included
    assert np.allclose(forces.sum(axis=0), 0.0, atol=1e-9)
    assert np.allclose(np.cross(FE.nodes, forces).sum(axis=0), 0.0, atol=1e-9)


def test_prescribed_motion_of_a_rigid_body() -> None:
    """Nodes given in any order, and moved like a rigid body: the rest follows without stress."""
    order = ROOT[::-1]
    motion = FE.nodes @ np.array([[0, -1, 2], [1, 0, -3], [-2, 3, 0]]).T * 1e-6 + 1e-5
    u = displacements(FE, STEEL, NONE, fixed=order, prescribed=motion[order])
    assert np.allclose(u, motion, rtol=1e-9, atol=1e-16)


def test_all_nodes_held() -> None:
    every = np.arange(len(FE.nodes))
    assert (displacements(FE, STEEL, NONE + 1.0, fixed=every) == 0.0).all()


@pytest.mark.parametrize(
    ("points", "free"),
    [
        ([(1, 2, 3)], 3),
        ([(0, 0, 0), (1, 2, 3)], 1),
        ([(0, 0, 0), (1, 2, 3), (2, 4, 6), (-1, -2, -3)], 1),
        ([(5, 5, 5), (5, 5, 5)], 3),
    ],
)
def test_what_leaves_motions_free_is_refused(points: list[Any], free: int) -> None:
    with pytest.raises(SceneError, match=f"body: {len(points)} held .* {free} of 6 ways"):
        check_held(np.array(points, dtype=float), "body")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_three_corners_hold(scale: float) -> None:
    """Of any size, and of a triangle a thousand times longer than wide."""
    check_held(scale * np.array([(0.0, 0, 0), (1, 0, 0), (0.5, 1e-3, 0)]) + 10.0 * scale, "body")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fixed": []}, ["fixed", "nothing is held", "6 of 6 ways"]),
        ({"fixed": [0, 1]}, ["2 held points", "1 of 6 ways"]),
        ({"fixed": [0, 1, 9999]}, ["9999", "0 to 44"]),
        ({"fixed": [-1, 0, 1]}, ["-1", "0 to 44"]),
        ({"fixed": [0.0, 1.0, 2.0]}, ["whole numbers", "float64"]),
        ({"fixed": [[0, 1], [2]]}, ["fixed", "list of indices"]),
        ({"loads": np.zeros((3, 3))}, ["loads", "(45, 3)", "(3, 3)"]),
        ({"loads": NONE + np.nan}, ["loads", "finite"]),
        ({"loads": "heavy"}, ["loads", "'heavy'"]),
        ({"prescribed": np.zeros((2, 3))}, ["prescribed", "(9, 3)", "(2, 3)"]),
    ],
)
def test_bad_input_is_refused_in_one_line(change: dict[str, Any], words: list[str]) -> None:
    options: dict[str, Any] = {"loads": NONE, "fixed": ROOT, **change}
    with pytest.raises(SceneError) as caught:
        displacements(FE, STEEL, options.pop("loads"), **options)
    assert all(word in str(caught.value) for word in words), caught.value
    assert "\n" not in str(caught.value)


def test_threads_of_the_library_come_back() -> None:
    counts = thread_counts()
    if not counts:
        pytest.skip("NumPy and SciPy have another BLAS here")
    before = [get() for get, _ in counts]
    with one_blas_thread():
        assert {get() for get, _ in counts} == {1}
    assert [get() for get, _ in counts] == before


def test_another_blas_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangere.fem.blas_threads.thread_counts", list)
    with one_blas_thread():
        assert displacements(FE, STEEL, NONE, fixed=ROOT).shape == NONE.shape
