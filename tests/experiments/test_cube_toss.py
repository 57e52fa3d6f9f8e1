"""Measured tosses: read, split, scored; the search; the same cube in every engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tangere as tg
from tangere.errors import SceneError
from tangere.experiments import cube_toss
from tangere.experiments.cube_toss import (
    BEFORE,
    ERRORS,
    FEET,
    FILE,
    GIVEN,
    OURS,
    PLAIN,
    ROWS,
    TUNED,
    Case,
    Params,
    Places,
    Result,
    Row,
    Scores,
    Standing,
    Tuned,
    find_data,
    halves,
    load,
    missing,
    score,
    search,
    standing,
    turn_between,
)
from tangere.experiments.toss_engines import (
    BODY,
    BULLET_MARGIN,
    FOOT,
    METHODS,
    SIGNS,
    Cube,
    Engine,
    _wavefront,
    engines,
)
from tangere.experiments.toss_error import spread
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


@pytest.mark.parametrize("tosses", [7, 114])
def test_every_split_halves_the_tosses_in_its_own_way(tosses: int) -> None:
    splits = halves(tosses, 5)
    for tuning, test in splits:
        assert sorted([*tuning, *test]) == list(range(tosses))
        assert len(tuning) - len(test) in (0, 1)
    assert len({tuple(test) for _, test in splits}) == 5
    again = halves(tosses, 3)
    assert all(np.array_equal(a.test, b.test) for a, b in zip(splits, again, strict=False))


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
    ours = tuple(engine for engine in ENGINES if engine.name in METHODS)
    assert [engine.name for engine in ours] == list(METHODS)
    monkeypatch.setattr(cube_toss, "engines", lambda integrator: ours)
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


ANYWHERE = np.empty((1, 0))


def test_the_search_finds_the_bottom_of_a_bowl_and_counts_its_evaluations() -> None:
    points, objectives, scores = search(bowl, ANYWHERE, 2, 120, seed=3)
    assert len(objectives) == 120
    assert scores.objective == objectives.min() == bowl(points[0]).objective
    # the least spread of the search, 0.005, is the resolution
    assert points[0] == pytest.approx([0.3, 0.7], abs=0.01)
    assert objectives[:60].min() > 3.0 * objectives.min(), "it goes on from the random part"
    reached = [bowl(point).objective for point in points]
    assert reached == sorted(reached)
    assert len(reached) == cube_toss.ELITE


def test_the_search_is_the_same_every_time_and_differs_by_seed() -> None:
    first, again, other = (search(bowl, ANYWHERE, 2, 30, seed)[1] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_search_goes_on_from_what_is_known() -> None:
    tried: list[Array] = []

    def judge(point: Array) -> Scores:
        tried.append(point)
        return bowl(point)

    known = np.array([[0.31], [0.29]])
    search(judge, known, 2, 16, seed=0)
    assert [point[0] for point in tried[:8]] == [0.31, 0.29] * 4
    assert len({point[1] for point in tried[:8]}) == 8


def test_what_is_new_to_a_cube_comes_last() -> None:
    """So the best points of a search are the first numbers of those that go on from it."""
    for engine in ENGINES:
        for row, before in BEFORE.items():
            earlier = Case(Params(), engine, before).tunables
            assert Case(Params(), engine, row).tunables[: len(earlier)] == earlier
            assert ROWS.index(before) < ROWS.index(row)


def test_every_engine_may_choose_the_same_of_the_cube() -> None:
    p = Params()
    chosen = {Row(PLAIN, GIVEN): (), Row(PLAIN, TUNED): BODY}
    chosen |= {Row(FEET, GIVEN): (FOOT,), Row(FEET, TUNED): (FOOT, *BODY)}
    for engine in ENGINES:
        for row, of_the_cube in chosen.items():
            case = Case(p, engine, row)
            assert case.tunables == engine.tunables + of_the_cube
            values = case.values(np.full(len(case.tunables), 0.5))
            cube = case.cube(values)
            assert (cube.mass, cube.gravity, cube.dt) == (p.mass, p.gravity, p.cube.dt)
            assert (cube.half_width == p.half_width) == (row.numbers == GIVEN)
            assert (cube.inertia == p.inertia) == (row.numbers == GIVEN)
            assert bool(cube.chamfer) == (row.numbers == TUNED)
            assert bool(cube.foot) == (row.body == FEET)


def test_tunables_run_from_bound_to_bound() -> None:
    for engine in ENGINES:
        for t in (*engine.tunables, FOOT, *BODY):
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


@pytest.mark.compiled
@pytest.mark.parametrize("foot", [0.0, 0.02])
@pytest.mark.parametrize("chamfer", [0.0, 2e-3])
@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_a_cube_rests_at_half_its_width(engine: Engine, chamfer: float, foot: float) -> None:
    start = np.zeros((60, 13))
    start[:, 2], start[:, 3] = 0.0502, 1.0
    cube = replace(CUBE, chamfer=chamfer, foot=foot)
    (path,) = engine.roll(cube, [start], middle(engine))
    # contact springs of the middle values sink by less than a millimetre
    assert path[-1, 2] == pytest.approx(0.05, abs=1e-3)
    assert path[-1, 2] < 0.0501


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_a_corner_is_held_with_and_without_feet(engine: Engine) -> None:
    turned = np.zeros((2, 13))
    # the cube's diagonal upright: the lowest corner at √3 half widths
    axis, angle = np.array([1.0, -1.0, 0.0]) / math.sqrt(2.0), math.atan(math.sqrt(2.0))
    turned[:, 3] = math.cos(0.5 * angle)
    turned[:, 4:7] = math.sin(0.5 * angle) * axis
    turned[:, 2] = math.sqrt(3.0) * 0.05 - 1e-3
    for foot in (0.0, 0.01):
        (path,) = engine.roll(replace(CUBE, foot=foot), [turned], middle(engine))
        assert path[1, 2] > turned[0, 2] - 0.5 * 9.81 * 7e-3**2, "it does not fall"


def test_a_plain_cube_may_be_given_feet_and_nothing_else() -> None:
    engine = ENGINES[0]
    seen = []

    def roll(cube: Cube, tosses: Sequence[Array], values: Mapping[str, float]) -> list[Array]:
        seen.append((cube, values))
        return [toss[:, :7] for toss in tosses]

    case = Case(Params(), replace(engine, roll=roll), Row(PLAIN, TUNED))
    point = np.full(len(case.tunables), 0.4)
    for foot in (0.0, 0.012):
        scores, _ = case.roll(point, flights(2, 4), foot)
        assert scores.objective == 0.0
    (plain, values), (feet, same) = seen
    assert values == same
    assert plain.foot == 0.0
    assert feet == replace(plain, foot=0.012)


@pytest.mark.parametrize("chamfer", [0.0, 2e-3])
def test_a_cube_with_feet_has_the_corners_of_the_cube(chamfer: float) -> None:
    plain = replace(CUBE, chamfer=chamfer)
    (corners,) = plain.blocks()
    assert len(np.unique(np.round(corners, 9), axis=0)) == (24 if chamfer else 8)
    feet = replace(plain, foot=0.02).blocks()
    assert len(feet) == len(SIGNS)
    points = np.vstack(feet)
    for direction in np.random.default_rng(0).standard_normal((50, 3)):
        assert (points @ direction).max() == pytest.approx((corners @ direction).max(), rel=1e-12)
    lost = 3.0 * 0.02 * chamfer**2 / 2.0 - 2.0 * chamfer**3 / 3.0  # bevels meet in the corner
    for block in feet:
        assert tg.Convex(block).moments().volume == pytest.approx(0.02**3 - lost, rel=0.02)
        assert np.ptp(block, axis=0) == pytest.approx(0.02)


def test_smaller_blocks_lack_the_margin_on_every_side() -> None:
    for foot in (0.0, 0.02):
        cube = replace(CUBE, chamfer=2e-3, foot=foot)
        pairs = zip(cube.blocks(), cube.smaller(1e-3).blocks(), strict=True)
        for block, within in pairs:
            assert within.min(axis=0) - block.min(axis=0) == pytest.approx(1e-3)
            assert block.max(axis=0) - within.max(axis=0) == pytest.approx(1e-3)


def test_an_obj_file_names_every_point_of_every_block() -> None:
    blocks = replace(CUBE, chamfer=2e-3, foot=0.02).smaller(BULLET_MARGIN).blocks()
    lines = [line.split() for line in _wavefront(blocks).splitlines()]
    points = [[float(x) for x in words] for kind, *words in lines if kind == "v"]
    assert np.array_equal(points, np.vstack(blocks))
    used = {int(word) for kind, *words in lines if kind == "f" for word in words}
    assert used == set(range(1, len(points) + 1))
    assert sum(kind == "o" for kind, *_ in lines) == 8


def test_feet_resist_a_spin_more_than_a_whole_face() -> None:
    """Torque over μ m g and width: mean distance from the axis, 0.3826 for an even square."""
    torques = []
    for foot in (0.0, 0.01):
        material = tg.Material(0.2, 0.2, stiffness=2e4)
        scene = tg.Scene()
        scene.add_floor(material=material)
        blocks = [tg.Convex(block) for block in replace(CUBE, foot=foot).blocks()]
        body = scene.add_body(
            tg.Compound(blocks, [((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))] * len(blocks)),
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


# ---------------------------------------------------------------- verdicts


def in_test_halves(rng: np.random.Generator) -> Array:
    """Which of 114 tosses are in the test halves of five splits."""
    mask = np.zeros((5, 114), bool)
    for row in mask:
        row[rng.permutation(114)[:57]] = True
    return mask


@pytest.mark.parametrize(("of_split", "of_each"), [(0.0, 0.0), (0.0, 1.0), (0.5, 1.0)])
def test_the_standard_error_is_how_far_the_mean_strays(of_split: float, of_each: float) -> None:
    """Values made of a share of the toss, one of the split and a rest: 400 samples of the mean."""
    rng = np.random.default_rng(1)
    means, errors, naive = [], [], []
    for _ in range(400):
        values = rng.standard_normal(114) + of_split * rng.standard_normal((5, 1))
        values = values + of_each * rng.standard_normal((5, 114))
        table = np.where(in_test_halves(rng), values, np.nan)
        mean, error = spread(table)
        assert mean == pytest.approx(np.nanmean(table))
        means.append(mean)
        errors.append(error)
        naive.append(np.nanmean(table, axis=1).std(ddof=1) / math.sqrt(5))
    # 400 samples tell a standard deviation to 1/√800 = 3.5 %; five splits tell theirs less well,
    # and what cannot be less than nothing is too large on average
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(means), rel=0.12)
    if not of_split:
        assert np.mean(naive) < 0.8 * np.std(means), "splits are no sample of their own"


def test_one_split_is_a_sample_of_its_tosses() -> None:
    values = np.array([[1.0, 4.0, np.nan, 2.0, 9.0]])
    expected = np.array([1.0, 4.0, 2.0, 9.0])
    mean, error = spread(values)
    assert mean == pytest.approx(4.0)
    assert error == pytest.approx(expected.std(ddof=1) / 2.0)


def test_words_for_a_difference() -> None:
    words = {-2.1: "ahead", -1.9: "level", 0.0: "level", 0.9: "level", 1.1: "behind"}
    for difference, word in words.items():
        assert Standing("MuJoCo", difference, 1.0).word == word


def made_up(errors: dict[str, float]) -> Result:
    """Every engine with errors of its own about a common pattern of the tosses."""
    splits = halves(40, 3)
    pattern = np.random.default_rng(5).uniform(0.0, 20.0, 40)
    none = np.zeros((0, 7))

    def tuned(name: str, test: Places) -> Tuned:
        e = pattern[test] + errors[name] + 0.1 * np.sin(len(name) * test)
        scores, other = Scores(e, e, e), Scores(e - 0.25, e - 0.25, e)
        units, ones = {"friction": ""}, np.ones(3)
        return Tuned(name, {"friction": 0.2}, units, ones, scores, scores, other, [none])

    table = {row: {n: [tuned(n, s.test) for s in splits] for n in errors} for row in ROWS}
    return Result(Params(splits=3), [none] * 40, splits, table)


@pytest.mark.parametrize(("ours", "word"), [(4.0, "ahead"), (5.0, "level"), (5.4, "behind")])
def test_tangere_stands_beside_the_better_peer_toss_by_toss(ours: float, word: str) -> None:
    """Tosses differ by 20, engines by tenths: only the differences of a toss can tell.

    Another method of tangere is no peer, however good.
    """
    result = made_up({OURS: ours, "signorini": 1.0, "MuJoCo": 7.0, "Bullet": 5.0})
    for row in ROWS:
        for what, _ in ERRORS:
            s = standing(result, row, what)
            assert s.better == "Bullet"
            assert s.word == word
            assert s.error < 0.1 < spread(result.errors(row, OURS, what))[1]


def test_claims_tell_every_row_and_readings_every_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cube_toss, "flight_error", lambda result: 1.0)
    result = made_up({OURS: 5.4, "MuJoCo": 7.0, "Bullet": 5.0})
    claims = cube_toss.check(result)
    assert len(claims) == 2 * len(ROWS) + 1
    judged = [c for c in claims if c.id != "flight"]
    assert all(not c.pass_ and c.paper.endswith(": behind") for c in judged)
    readings = cube_toss.beside(result)
    for row in ROWS:
        for name in (OURS, "MuJoCo", "Bullet"):
            mine = [r for r in readings if r.what.startswith(f"{row},") and r.who == name]
            splits = [r.measured for r in mine if "position error: split" in r.what]
            halves_ = [t.test.position.mean() for t in result.tuned[row][name]]
            assert splits == pytest.approx(halves_)
            assert any(r.what.endswith("calibrated friction: least of the splits") for r in mine)
            change = [
                r.measured for r in mine if r.what.endswith("mm and nothing else change it by")
            ]
            assert change == pytest.approx([-0.25, -0.25] if row.body == PLAIN else [])


# ---------------------------------------------------------------- the whole


@pytest.mark.slow
def test_two_processes_find_the_same(tmp_path: Path) -> None:
    write(tmp_path, flights(4, 12, height=0.1))
    few = Params(data=str(tmp_path), splits=2, evaluations=(3, 3), workers=1)
    alone, both = cube_toss.run(few), cube_toss.run(replace(few, workers=2))
    for row, engines_ in alone.tuned.items():
        for name, splits in engines_.items():
            for one, two in zip(splits, both.tuned[row][name], strict=True):
                assert one.values == two.values
                assert np.array_equal(one.objectives, two.objectives)
