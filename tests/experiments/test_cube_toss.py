"""Measured tosses: read, split, scored; the search; the same cube in every engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tangere as tg
from tangere.errors import SceneError
from tangere.experiments import cube_toss
from tangere.experiments.cube_toss import (
    FILE,
    Params,
    Scores,
    find_data,
    load,
    missing,
    score,
    search,
    split,
    turn_between,
)
from tangere.experiments.toss_engines import BODY, Cube, Engine, engines, on_feet
from tangere.maths.vec import Array

CUBE = Cube(0.05, 0.37, 0.0008, 9.81, 1e-3, 7)
ENGINES = engines(cube_toss.INTEGRATOR)


def flights(count: int, samples: int, height: float = 1.0) -> list[Array]:
    """Free flights with a constant spin about the cube's own x, sampled every 7 ms."""
    tosses = []
    for i in range(count):
        toss = np.zeros((samples, 13))
        t = 7e-3 * np.arange(samples)
        spin, speed = 2.0 + i, 0.5 + 0.1 * i
        toss[:, 0] = speed * t
        toss[:, 2] = height - 0.5 * 9.81 * t**2
        # first a quarter turn about z, then about the cube's x: the two axes differ
        toss[:, 3] = math.sqrt(0.5) * np.cos(0.5 * spin * t)
        toss[:, 4] = math.sqrt(0.5) * np.sin(0.5 * spin * t)
        toss[:, 5] = math.sqrt(0.5) * np.sin(0.5 * spin * t)
        toss[:, 6] = math.sqrt(0.5) * np.cos(0.5 * spin * t)
        toss[:, 7], toss[:, 9] = speed, -9.81 * t
        toss[:, 10] = spin
        tosses.append(toss)
    return tosses


def middle(engine: Engine) -> dict[str, float]:
    return {t.name: t.value(0.5) for t in engine.tunables}


def write(folder: Path, tosses: Sequence[Array]) -> Path:
    path = folder / FILE
    np.savez(path, *tosses)
    return path


# ---------------------------------------------------------------- data


def test_tosses_come_in_the_order_of_the_file_with_unit_quaternions(tmp_path: Path) -> None:
    tosses = flights(12, 4)
    tosses[3][:, 3:7] *= 1.001
    read = load(write(tmp_path, tosses))
    assert [t[0, 10] for t in read] == [2.0 + i for i in range(12)]
    assert np.linalg.norm(read[3][:, 3:7], axis=1) == pytest.approx(1.0, abs=1e-15)


def test_a_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"toss arr_0 has shape \(5, 19\); expected rows of 13"):
        load(write(tmp_path, [np.zeros((5, 19))]))


def test_the_halves_are_even_and_odd_places() -> None:
    tosses = flights(5, 3)
    tuning, test = split(tosses)
    assert [t[0, 10] for t in tuning] == [2.0, 4.0, 6.0]
    assert [t[0, 10] for t in test] == [3.0, 5.0]


def test_the_file_is_found_where_it_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    monkeypatch.delenv("TANGERE_DATA", raising=False)
    nearby = tmp_path / "data"
    nearby.mkdir()
    named = tmp_path / "named"
    named.mkdir()
    path = write(nearby, flights(1, 3))
    assert find_data() == path
    assert find_data(str(named)) is None, "a folder that was named is the only one"
    there = write(named, flights(1, 3))
    monkeypatch.setenv("TANGERE_DATA", str(named))
    assert find_data() == there
    assert find_data(str(nearby)) == path


def test_absent_data_is_said_in_one_line_with_the_source(tmp_path: Path) -> None:
    params = Params(data=str(tmp_path))
    line = missing(params)
    assert "\n" not in line
    for word in (FILE, "ContactNets", "BSD-3-Clause", "--data", "TANGERE_DATA"):
        assert word in line
    with pytest.raises(SceneError, match="needs cube_tosses"):
        cube_toss.run(params)


def test_it_needs_someone_to_compare_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, flights(2, 3))
    monkeypatch.setattr(cube_toss, "engines", lambda integrator: ENGINES[:1])
    assert "install mujoco or pybullet" in missing(Params(data=str(tmp_path)))


# ---------------------------------------------------------------- score


def test_angles_between_attitudes() -> None:
    def about_z(angle: float) -> list[float]:
        return [math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)]

    a = np.array([about_z(0.3), about_z(0.3), about_z(0.0), about_z(0.2)])
    b = np.array([about_z(0.5), about_z(0.3), about_z(math.pi), about_z(0.2 + 1e-9)])
    b[0] *= -1.0  # the same attitude
    assert turn_between(a, b) == pytest.approx(np.degrees([0.2, 0.0, math.pi, 1e-9]), rel=1e-6)


def test_errors_are_means_over_the_samples() -> None:
    toss = flights(1, 4)[0]
    path = toss[:, :7].copy()
    path[:, 1] += [0.0, 0.01, 0.02, 0.03]
    path[3, 3:7] = [-toss[3, 4], toss[3, 3], toss[3, 6], -toss[3, 5]]  # half a turn about x
    s = score([toss], [path], 0.1)
    assert s.position == pytest.approx([15.0])
    assert s.rotation == pytest.approx([180.0 / 4])
    assert s.last == pytest.approx([180.0])
    assert s.objective == pytest.approx(0.5 * (15.0 / 13.0 + 45.0 / 16.0))


def test_a_lost_simulation_is_infinitely_bad() -> None:
    lost = np.array([1.0, math.nan])
    assert Scores(lost, np.ones(2), np.ones(2)).objective == math.inf


# ---------------------------------------------------------------- search


def bowl(point: Array) -> Scores:
    """Smallest at (0.3, 0.7), steeper along the second axis."""
    error = np.array([abs(point[0] - 0.3) + 4.0 * abs(point[1] - 0.7)])
    return Scores(error, error, error)


def test_the_search_finds_the_bottom_of_a_bowl_and_counts_its_evaluations() -> None:
    best, objectives, scores = search(bowl, 2, 120, seed=3)
    assert len(objectives) == 120
    assert scores.objective == objectives.min()
    # the least spread of the search, 0.005, is the resolution
    assert best == pytest.approx([0.3, 0.7], abs=0.01)
    assert objectives[:40].min() > 3.0 * objectives.min(), "it goes on from the random part"


def test_the_search_is_the_same_every_time_and_differs_by_seed() -> None:
    first, again, other = (search(bowl, 2, 30, seed)[1] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_tunables_run_from_bound_to_bound() -> None:
    for engine in ENGINES:
        for t in (*engine.tunables, *BODY):
            assert t.value(0.0) == pytest.approx(t.low)
            assert t.value(1.0) == pytest.approx(t.high)
            half = 0.5 * (t.low + t.high) if t.linear else math.sqrt(t.low * t.high)
            assert t.value(0.5) == pytest.approx(half)


# ---------------------------------------------------------------- engines


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_free_flight_follows_the_toss(engine: Engine) -> None:
    """Frames, units and lengths; tosses of different lengths share a call."""
    tosses = [*flights(3, 6), flights(4, 13)[3]]
    paths = engine.roll(CUBE, tosses, middle(engine))
    assert [len(path) for path in paths] == [6, 6, 6, 13]
    s = score(tosses, paths, 0.1)
    # first-order integrators fall half a step of gravity short or far: 0.5 g dt t < 0.5 mm
    assert s.position.max() < 0.5
    assert s.rotation.max() < 0.05


@pytest.mark.parametrize("chamfer", [0.0, 2e-3])
@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_a_cube_rests_at_half_its_width(engine: Engine, chamfer: float) -> None:
    start = np.zeros((60, 13))
    start[:, 2], start[:, 3] = 0.0502, 1.0
    (path,) = engine.roll(replace(CUBE, chamfer=chamfer), [start], middle(engine))
    # contact springs of the middle values sink by less than a millimetre
    assert path[-1, 2] == pytest.approx(0.05, abs=1e-3)
    assert path[-1, 2] < 0.0501


@pytest.mark.parametrize("chamfer", [0.0, 2e-3])
def test_a_cube_on_feet_has_the_corners_of_the_cube(chamfer: float) -> None:
    cube = replace(CUBE, chamfer=chamfer)
    corners = cube.corners()
    assert len(np.unique(np.round(corners, 9), axis=0)) == (24 if chamfer else 8)
    shape = on_feet(cube, 0.02)
    points = np.vstack([part.vertices for part in shape.parts()])
    for direction in np.random.default_rng(0).standard_normal((50, 3)):
        assert (points @ direction).max() == pytest.approx((corners @ direction).max(), rel=1e-12)
    assert on_feet(CUBE, CUBE.half_width).moments().volume == pytest.approx(0.1**3)


def test_feet_resist_a_spin_more_than_a_whole_face() -> None:
    """Torque over μ m g and width: mean distance from the axis, 0.3826 for an even square."""
    torques = []
    for foot in (0.05, 0.01):
        material = tg.Material(0.2, 0.2, stiffness=2e4)
        scene = tg.Scene()
        scene.add_floor(material=material)
        body = scene.add_body(
            on_feet(CUBE, foot),
            mass=CUBE.mass,
            position=(0.0, 0.0, 0.05 - CUBE.mass * 9.81 / 2e4),
            angular_velocity=(0.0, 0.0, 5.0),
            material=material,
        )
        sim = tg.Simulation(scene, dt=1e-3)
        sim.step(20)
        torques.append(-sim[body].contact_wrench[1][2] / (0.2 * CUBE.mass * 9.81 * 0.1))
    # 1 %: the load has not quite come to rest after 20 steps
    assert torques[0] == pytest.approx(0.3826, rel=0.01)
    assert torques[1] == pytest.approx(0.9 * math.sqrt(0.5), rel=0.01)


# ---------------------------------------------------------------- the whole


@pytest.mark.slow
def test_two_processes_find_the_same(tmp_path: Path) -> None:
    write(tmp_path, flights(4, 12, height=0.1))
    few = Params(data=str(tmp_path), evaluations=(3, 3), workers=1)
    alone, both = cube_toss.run(few), cube_toss.run(replace(few, workers=2))
    for cube, tuned in alone.tuned.items():
        for name, one in tuned.items():
            two = both.tuned[cube][name]
            assert one.values == two.values
            assert np.array_equal(one.objectives, two.objectives)
