"""The pressed table, its solvers and operators; the cube on its corners."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tangere.experiments import duriez2006_friction_cone as cone
from tangere.experiments import duriez2006_quasi_rigid as cube
from tangere.experiments import duriez2006_solver_time as timing
from tangere.experiments import duriez2006_table as table
from tangere.experiments.duriez2006_delassus import coupling
from tangere.experiments.pressed_table import TableParams, contact_rows, pressed_table
from tangere.fem.compliance import condense
from tangere.fem.grids import feet
from tangere.fem.material import ElasticMaterial


def test_the_table_is_the_one_of_the_reference() -> None:
    corners, every = (pressed_table(TableParams(), corners=c) for c in (True, False))
    assert (len(every.mesh.vertices), len(every.mesh.tetrahedra)) == (1863, 6240)
    assert 1000.0 * every.mesh.moments().volume == pytest.approx(8.32)
    assert (corners.contacts, every.contacts) == (16, 36)
    assert every.legs.tolist() == sorted(9 * [0, 1, 2, 3])
    x, y = every.body.positions[every.nodes, :2].T
    assert (every.legs == 2 * (x > 0.0) + (y > 0.0)).all()
    assert (every.outward == np.sign(np.column_stack((x, y)))).all()
    assert every.W == pytest.approx(every.W.T, abs=1e-12)
    assert np.linalg.eigvalsh(every.W).min() > 0.0
    # a leg bends under a push along x or y, and hardly shortens under one along z
    n, t1, t2 = np.diag(every.W).reshape(-1, 3).mean(axis=0)
    assert t1 == pytest.approx(t2, rel=1e-3)
    assert t1 > 10.0 * n


def test_a_table_moved_without_resistance_moves_as_a_whole() -> None:
    """Free gaps are those of a rigid motion; the drawn surface follows them where nothing holds."""
    pressed = pressed_table(TableParams(), corners=True)
    assert pressed.free_gaps(1.0, 2.0, 3.0).reshape(16, 3).tolist() == 16 * [[-1.0, 2.0, 3.0]]
    surface = pressed.surface(np.zeros(48), np.array([0.0, 0.0, 0.01]), 2.0, 1.0)
    rest = pressed.body.surface_positions
    assert surface.vertices == pytest.approx(rest + np.array([0.0, 0.0, 0.02]))
    assert not surface.shares.any()


def test_forces_on_the_drawn_table_are_those_of_its_contacts() -> None:
    """The feet of the drawing move by W f, in the axes of the world."""
    pressed = pressed_table(TableParams(), corners=False)
    forces = np.random.default_rng(0).normal(size=3 * pressed.contacts)
    surface = pressed.surface(forces, np.zeros(3), 1.0, 1.0)
    moved = surface.vertices - pressed.body.surface_positions
    index = {tuple(x): i for i, x in enumerate(pressed.body.surface_positions.round(9))}
    at = [index[tuple(x)] for x in pressed.body.positions[pressed.nodes].round(9)]
    way = (pressed.W @ forces).reshape(-1, 3)[:, [1, 2, 0]]
    assert moved[at] == pytest.approx(way, rel=1e-5, abs=1e-9)  # drawn in single precision


def test_without_friction_nothing_pushes_sideways() -> None:
    pressed = pressed_table(TableParams(), corners=True)
    found = table.press(pressed, 1e-3, 0.0)
    assert not found.forces.reshape(-1, 3)[:, 1:].any()
    assert found.outward > 5e-4
    twice = table.press(pressed, 2e-3, 0.0)
    assert twice.normal == pytest.approx(2.0 * found.normal, rel=1e-9)


def test_bars_join_legs_along_x_alone() -> None:
    barred = coupling(TableParams(), bars=True)
    pairs = [barred.between(name) for name in ("same leg", "legs joined along x", "other legs")]
    assert [int(pair.sum()) for pair in pairs] == [4 * 9 * 8, 4 * 81, 4 * 2 * 81]
    assert not (pairs[0] & pairs[1]).any()
    assert (sum(pair.astype(int) for pair in pairs) + np.eye(36, dtype=int) == 1).all()
    assert np.diagonal(barred.normalised, axis1=1, axis2=2) == pytest.approx(1.0)
    assert barred.normalised.max() <= 1.0 + 1e-12
    assert barred.mean("legs joined along x", "t1") > 10.0 * barred.mean("other legs", "t1")


def test_pyramids_err_by_the_angle_to_their_next_side_where_contacts_are_alone() -> None:
    """Contacts that slip without coupling: the direction is off by up to π/k, evenly spread."""
    p = cone.Params(draws=40, sides=(8,))
    alone = replace(pressed_table(p, corners=True), W=np.eye(48))
    case = cone.Case("alone", 1e-2, 1e-5, 0.1, "")
    gaps = cone.measure(p, alone, case)
    assert gaps.slipping == pytest.approx(1.0)
    angle = np.linspace(-np.pi / 8, np.pi / 8, 1001)
    expected = 0.1 / np.sqrt(1.01) * np.abs(2.0 * np.sin(0.5 * angle)).mean()
    assert gaps.mean(8) == pytest.approx(expected, rel=0.15)
    assert np.isnan(gaps.mean(32))


def test_gauss_seidel_solves_what_is_coupled_strongly() -> None:
    p = cone.Params(draws=4, sides=())
    gaps = cone.measure(p, pressed_table(p, corners=True), cone.CASES[-1])
    assert gaps.error <= cone.TOLERANCE


def test_growth_and_shares_of_times() -> None:
    counts = (4, 8, 16)
    times = {
        m: timing.Times(
            {timing.LEMKE: 1e-6 * m**3 * np.array([1.0, 2.0, 9.0]),
             timing.NEWTON: 1e-6 * m**2 * np.array([1.0, 2.0, 1.0])},
            {}, {}, np.zeros(3), timing.Problem(
                timing.Params(), pressed_table(TableParams(), corners=False), m,
                np.random.default_rng(m)),
        )
        for m in counts
    }  # fmt: skip
    result = timing.Result(timing.Params(), pressed_table(TableParams(), corners=False), times)
    assert result.growth(timing.LEMKE) == pytest.approx(3.0)
    assert result.growth(timing.NEWTON) == pytest.approx(2.0)
    assert times[16].share(timing.NEWTON) == pytest.approx(1.0 / 16.0)


def test_every_solver_says_how_far_it_came() -> None:
    p = timing.Params(draws=2, repeats=1)
    pressed = pressed_table(p, corners=False)
    rng = np.random.default_rng(0)
    times = timing.measure([timing.Problem(p, pressed, 8, rng) for _ in range(2)], 1)
    for solver in timing.SHADES:
        assert (times.seconds[solver] > 0.0).all()
        assert (times.iterations[solver] > 0).all()
    assert (times.error[timing.NEWTON] <= 1e-9).all()
    assert (times.error[timing.GS3] <= 1e-3).all()
    assert times.violation.max() < 1e-7


def test_a_rigid_block_has_six_equations_and_a_soft_one_has_all() -> None:
    p = cube.Params()
    mesh = cube.cube(p)
    body = condense(mesh, ElasticMaterial(p.young, p.poisson, p.density), order=1)
    nodes = np.searchsorted(body.nodes, feet(mesh)).astype(np.int64)
    rigid, soft = (cube.block(p, body, nodes, soft=s) for s in (False, True))
    assert np.linalg.matrix_rank(rigid.W, tol=1e-9 * np.abs(rigid.W).max()) == 6
    assert np.linalg.matrix_rank(soft.W, tol=1e-9 * np.abs(soft.W).max()) == 48
    # without forces all contacts go where the load takes the frame
    free = rigid.free_gaps(p, np.zeros(6), np.zeros(48)).reshape(-1, 3)
    assert free == pytest.approx(np.tile(p.load[[2, 0, 1]] / p.mass * p.dt**2, (16, 1)))


def test_rows_of_contacts() -> None:
    assert contact_rows(np.array([2, 0])).tolist() == [6, 7, 8, 0, 1, 2]
