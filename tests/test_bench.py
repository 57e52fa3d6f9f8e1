"""Benchmarks: the arithmetic is right, every one runs on a small case, the answers agree.

Nothing here asserts a time.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tangere import bench
from tangere.bench import (
    balls,
    block_tower,
    heap,
    pairs,
    report,
    resting,
    servo,
    startup,
    turns,
    versions,
)
from tangere.errors import SceneError
from tangere.experiments import peers
from tangere.fakes.held_program import ENDINGS
from tangere.fakes.vendors import Libraries
from tangere.haptics.servo import CTL_LATE, Counters, Spread, counted, new_loop
from tangere.model import new_soup
from tangere.scene import library
from tangere.steppers.profile import Profile

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.nojit
def test_spread_is_per_step_in_microseconds() -> None:
    found = report.spread([1e-3, 2e-3, 3e-3], per=10)
    assert found["p50 [µs]"] == pytest.approx(200.0)
    assert found["worst [µs]"] == pytest.approx(300.0)
    assert list(found) == ["p50 [µs]", "p99 [µs]", "p99.9 [µs]", "worst [µs]"]


@pytest.mark.nojit
def test_line_fit_finds_the_line_and_its_misfit() -> None:
    assert report.line_fit([1, 2, 5], [5.0, 7.0, 13.0]) == pytest.approx((3.0, 2.0, 1.0))
    # residuals (1, -2, 1)/6 against deviations (-1/3, -1/3, 2/3) for y = 0, 0, 1
    assert report.line_fit([0, 1, 2], [0.0, 0.0, 1.0])[2] == pytest.approx(0.75)


@pytest.mark.nojit
def test_turns_rotate_and_leave_the_first_calls_out() -> None:
    order: list[str] = []

    def contestant(name: str) -> turns.Contestant:
        def measure(n: int) -> list[float]:
            order.append(name)
            return [float(i) for i in range(n)]

        return turns.Contestant(name, measure)

    taken = turns.take_turns([contestant(name) for name in "abc"], rounds=3, calls=2)
    assert "".join(order) == "abcbcacab"
    assert taken["b"] == [[turns.LEAD_IN, turns.LEAD_IN + 1.0]] * 3


@pytest.mark.nojit
def test_ratio_is_formed_within_rounds() -> None:
    # the machine slows down fourfold from round to round; ours always takes half the time
    theirs = [[2.0, 2.0], [8.0, 8.0], [32.0, 32.0]]
    ours = [[1.0, 1.0], [4.0, 4.0], [16.0, 16.0]]
    assert turns.median_ratio(ours, theirs) == 0.5


@pytest.mark.nojit
def test_durations_times_every_call() -> None:
    calls: list[int] = []
    found = turns.durations(lambda: calls.append(1), 5)
    assert len(found) == len(calls) == 5
    assert min(found) >= 0.0


@pytest.mark.nojit
def test_unknown_benchmark_is_one_line_with_a_remedy() -> None:
    with pytest.raises(SceneError, match="'block-towr': did you mean 'block-tower'"):
        bench.run(["block-towr"])


@pytest.mark.nojit
@pytest.mark.parametrize(("n", "columns", "height"), [(3, 1, 3), (13, 1, 13), (50, 5, 10)])
def test_towers_stand_in_columns(n: int, columns: int, height: int) -> None:
    places = np.array([box.position for box in block_tower.tower(n, 1e-3).boxes])
    assert len(places) == n
    assert len(np.unique(np.round(places[:, 0]))) == columns
    assert places[:, 2].max() == pytest.approx(height - 0.5, abs=0.01)


@pytest.mark.nojit
def test_tower_of_ours_alone_is_timed_and_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "installed", lambda: ())
    monkeypatch.setattr(block_tower, "CALLS", 1)
    monkeypatch.setattr(block_tower, "SETTLE", 2e-3)
    monkeypatch.setattr(block_tower, "STEPS_PER_CALL", 1)
    result = block_tower.measure(rounds=1, counts=(1, 2, 3))
    assert [len(table.rows) for table in result.tables] == [3, 3, 2]
    assert list(result.profiles) == [f"{n} blocks at {ms} ms" for ms in (1, 5) for n in (1, 2, 3)]
    assert all(sum(profile.total) > 0.0 for profile in result.profiles.values())
    assert {row["engine"] for row in result.tables[0].rows} == {"tangere"}
    assert {note.split()[0] for note in result.notes} == set(block_tower.PEERS)


def test_every_installed_engine_takes_part_and_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_tower, "CALLS", 2)
    result = block_tower.measure(rounds=1, counts=(2, 3))
    engines = {str(row["engine"]).split()[0] for row in result.tables[0].rows}
    assert engines == {"tangere"} | (set(peers.installed()) & set(block_tower.PEERS))
    assert [note for note in result.notes if "stand" in note] == []


@pytest.fixture
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "PAIRS", 2)
    monkeypatch.setattr(pairs, "CALLS", 1)
    monkeypatch.setattr(pairs, "SIZES", (8, 12))


@pytest.mark.nojit
@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("vertices", [8, 12])
def test_pools_are_what_they_say(vertices: int) -> None:
    simplices = np.zeros((pairs.PAIRS, 9), np.int32)
    assert pairs.gjk_all(pairs.pool(vertices, overlap=True), simplices, True) == 0.0
    apart = pairs.pool(vertices, overlap=False)
    cold = pairs.gjk_all(apart, simplices, True)
    assert cold > 0.0
    assert pairs.gjk_all(apart, simplices, False) == pytest.approx(cold, rel=1e-12)


@pytest.mark.nojit
@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("vertices", [8, 12])
def test_both_ways_to_a_volume_give_the_same_number_of_faces(vertices: int) -> None:
    pool = pairs.pool(vertices, overlap=True)
    soup, centres = new_soup(pairs.SOUP), np.zeros((pairs.PAIRS, 3))
    faces = pairs.clip_all(pool, soup, centres)
    assert faces >= 4 * pairs.PAIRS
    assert pairs.dual_all(pool, soup, centres) == faces


@pytest.mark.nojit
@pytest.mark.usefixtures("few_pairs")
def test_json_holds_the_rows_of_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    results = bench.run(["gjk", "volume"], as_json=True, rounds=1)
    told = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in told] == ["gjk", "volume"]
    assert [len(result.tables[0].rows) for result in results] == [8, 4]
    assert told[0]["tables"][0]["rows"] == results[0].tables[0].rows
    assert set(told[0]["machine"]) >= {"processor", "cores", "python", "numba"}


@pytest.mark.nojit
def test_a_narrow_terminal_loses_no_digit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    spent = report.spread([1.2345678])  # a step of the largest heap takes about a second
    row: report.Row = {"blocks": 10_000, "heaps": 1, "contacts / block": 1.45, **spent}
    row = {**row, "mean [µs]": 1_234_567.8, "mean / block [µs]": 123.45678}
    report.show(report.Result("heap", {}, [report.Table("a cube of blocks", [row])]))
    told = capsys.readouterr().out
    assert told.count("1234568") == 5
    assert max(len(line) for line in told.splitlines()) <= 80


@pytest.mark.nojit
@pytest.mark.usefixtures("few_pairs")
def test_tables_show_every_row_and_its_units(capsys: pytest.CaptureFixture[str]) -> None:
    bench.run(["volume"], rounds=1)
    told = capsys.readouterr().out
    assert told.count("clip") == told.count("dual") == 2
    assert "[µs]" in told


@pytest.mark.nojit
def test_heap_starts_without_overlap_and_reports_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = np.array([body.position for body in heap.scene(30).bodies])
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e3 * np.eye(30)
    assert gaps.min() > np.linalg.norm(heap.BLOCK)
    monkeypatch.setattr(heap, "FALL", 2e-3)
    monkeypatch.setitem(heap.SAMPLE, "explicit", 12)
    heap.report(3, "layers", 2, "explicit")
    found = json.loads(capsys.readouterr().out)
    assert found["heaps"] == 4
    assert found["profile"]["steps"] == 2 + 2 * heap.STEPS_PER_CALL
    assert len(found["seconds"]) == 4 * 2
    assert heap.resident() > 0


def test_heap_grows_in_fresh_processes() -> None:
    integrators = ("explicit",)
    result = heap.measure(rounds=1, counts=(200, 300, 400), integrators=integrators)
    assert [row["blocks"] for row in result.tables[0].rows] == [200, 300, 400]
    assert [row["heaps"] for row in result.tables[0].rows] == [5, 3, 2]
    assert len(result.notes) == 2 * len(heap.KINDS)
    assert len(result.profiles) == 3 * len(heap.KINDS)
    times, growth = result.tables[0], result.tables[-1]
    ends = [float(times.rows[i]["mean / block [µs]"] or 0.0) for i in (0, -1)]
    assert growth.rows[0]["times"] == pytest.approx(ends[1] / ends[0])


@pytest.mark.nojit
def test_growth_that_is_claimed() -> None:
    told = {"times": 1.49, "claimed at most": 1.5, "verdict": "holds"}
    assert heap.claim("explicit", 1.49) == told
    assert heap.claim("explicit", 1.51)["verdict"] == "FAILS"
    assert heap.claim("implicit", 2.9)["verdict"] == "holds"
    assert heap.claim("implicit", 3.1)["verdict"] == "FAILS"


@pytest.mark.nojit
def test_every_engine_gets_the_same_wall() -> None:
    wall = library.wall()
    same = resting.boxes(wall, 5e-3)
    assert len(same.boxes) == 50
    assert [box.position for box in same.boxes] == [tuple(b.position) for b in wall.bodies]
    assert {box.size for box in same.boxes} == {(0.25, 0.125, 0.125), (0.125, 0.125, 0.125)}
    assert sum(box.mass for box in same.boxes) == pytest.approx(sum(b.mass for b in wall.bodies))
    with pytest.raises(TypeError, match="is no box"):
        resting.boxes(library.arch(), 5e-3)


def test_resting_structures_are_timed_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting, "CALLS", 1)
    monkeypatch.setattr(resting, "SETTLE", 0.05)
    monkeypatch.setattr(resting, "STIFFNESS", 1e4)  # what the explicit step can bear
    result = resting.measure(rounds=1, integrator="explicit")
    engines = ["tangere", *(name for name in peers.installed() if name in resting.PEERS)]
    assert [row["engine"] for row in result.tables[0].rows] == 2 * engines
    assert result.tables[0].rows[0]["ours / theirs"] == 1.0
    claims = [note for note in result.notes if "is claimed" in note]
    assert len(claims) == 2 * ("MuJoCo" in engines)
    assert list(result.profiles) == ["13 blocks at 5 ms", "50 blocks at 5 ms"]


@pytest.mark.nojit
def test_stages_are_shown_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = Profile(("find pairs", "solve"), (1e-5, 3e-5), 1, (1e-3, 3e-3), 100)

    def measure() -> report.Result:
        return report.Result("resting", {}, [], profiles={"a wall": profile})

    monkeypatch.setattr(resting, "measure", measure)
    bench.run(["resting"])
    assert "solve" not in capsys.readouterr().out
    bench.run(["resting"], stages=True)
    told = capsys.readouterr().out
    assert "stages of a step, a wall" in told
    assert str(profile) in told
    for stages in (False, True):
        bench.run(["resting"], stages=stages, as_json=True)
        (entry,) = json.loads(capsys.readouterr().out)
        assert ("profiles" in entry) is stages
    assert entry["profiles"]["a wall"]["stages"] == ["find pairs", "solve"]


@pytest.mark.nojit
def test_stages_of_what_makes_no_steps_are_refused() -> None:
    with pytest.raises(SceneError, match=r"gjk has none.*resting"):
        bench.run(["gjk"], stages=True)
    assert set(bench.STAGED) < set(bench.NAMES)


@pytest.mark.nojit
def test_round_bodies_are_given_what_boxes_are_given() -> None:
    volumes = [shape.moments().volume for kinds in balls.shapes().values() for shape in kinds]
    assert volumes == pytest.approx([balls.EDGE**3] * len(volumes), rel=1e-12)
    scenes = [balls.scene(kinds, 30) for kinds in balls.shapes().values()]
    for made in scenes[1:]:
        for body, same in zip(made.bodies, scenes[0].bodies, strict=True):
            assert body.mass == same.mass
            assert np.array_equal(body.position, same.position)
            assert np.array_equal(body.orientation, same.orientation)
    free = np.array([body.position for body in scenes[0].bodies if not body.fixed])
    gaps = np.linalg.norm(free[:, None] - free, axis=2) + np.eye(len(free))
    assert gaps.min() > np.sqrt(3.0) * balls.EDGE  # no two overlap, whatever their attitudes


def test_balls_are_timed_beside_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balls, "FALL", 0.05)
    result = balls.measure(rounds=2, count=6, seeds=2)
    for table in result.tables:
        assert [row["falls"] for row in table.rows] == [2, 2, 1, 1]
        assert table.rows[0]["mean over boxes'"] == 1.0
        assert all(row["least fall"] == row["worst fall"] for row in table.rows[2:])
    assert len(result.notes) == 2


@pytest.mark.nojit
def test_balls_claim_tells_its_verdict() -> None:
    assert balls.claim("implicit", "balls", 1.0, 6).endswith("1.00: holds")
    assert balls.claim("implicit", "balls", 1.01, 6).endswith("1.01: FAILS")
    # time as a whole: a slow round counts for what it takes
    assert balls.mean_ratio([[1.0, 1.0], [4.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]) == 2.5


@pytest.mark.nojit
def test_resting_claim_tells_its_verdict() -> None:
    assert resting.claim("wall of 50", 1.5).endswith("1.50: holds")
    assert resting.claim("wall of 50", 1.51).endswith("1.51: FAILS")


def test_startup_runs_each_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "FIRST_STEP", "pass")  # a cold start takes half a minute
    monkeypatch.setattr(startup, "EVERY_KERNEL", "pass")
    result = startup.measure(rounds=1)
    assert len(result.tables[0].rows) == 6


@pytest.mark.nojit
@pytest.mark.parametrize(("factor", "status"), [(1.05, 0), (1.2, 1)])
def test_comparison_of_stored_runs_tells_a_loss(
    factor: float, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def store(name: str, ours: float) -> Path:
        rows = [
            {"blocks": 3, "engine": "tangere", "p50 [µs]": ours},
            {"blocks": 3, "engine": "MuJoCo", "p50 [µs]": 10.0 * ours**3},
        ]
        path = tmp_path / name
        table = {"title": "time per step of 1 ms, calls", "rows": rows}
        path.write_text(json.dumps([{"name": "block-tower", "tables": [table]}]))
        return path

    old, new = store("old.json", 3.0), store("new.json", 3.0 * factor)
    spec = importlib.util.spec_from_file_location("compare", ROOT / "benchmarks" / "compare.py")
    assert spec is not None
    assert spec.loader is not None
    compare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compare)
    assert compare.main(old, new) == status
    assert "block-tower · time per step of 1 ms · 3 · tangere" in capsys.readouterr().out


@pytest.mark.nojit
@pytest.mark.parametrize(("load", "told"), [(0.1, 0), (99.0, 1)])
def test_a_busy_machine_is_told(load: float, told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load), raising=False)
    assert len(bench._busy()) == told


def test_penalty_updates_and_fields_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tangere.bench import penalty, penalty_accuracy

    monkeypatch.setattr(penalty, "CALLS", 2)
    monkeypatch.setattr(penalty, "POSES", 3)
    monkeypatch.setattr(penalty, "GROWTH", (1,))
    monkeypatch.setattr(
        penalty, "_accuracy", lambda: penalty_accuracy.rows_of(3, ("spoon and cup",))
    )
    monkeypatch.setattr(penalty, "_steadiness", lambda: penalty_accuracy.steady_rows(1, ("blobs",)))
    result = penalty.measure(1)
    updates, growth, accuracy, steady, fields = result.tables
    assert {row["engine"] for row in updates.rows} == {"sdf", "exact", "levels"}
    for row in updates.rows:
        contacts = int(row["contacts"] or 0)
        if row["case"] == penalty.OUT:
            assert contacts == 0
        elif (row["case"], row["engine"]) == (penalty.BLOCKS, "levels"):
            assert contacts == 1  # two convex pieces: one pair of closest points
        else:
            assert contacts > 3
    assert [row["triangles"] for row in growth.rows] == [40180]
    assert [row["pair"] for row in accuracy.rows] == ["spoon and cup"]
    assert [row["paths"] for row in steady.rows] == [1]
    assert int(accuracy.rows[0]["contacts"] or 0) > 10
    assert [row["triangles"] for row in fields.rows] == [1344, 4000]
    assert "spoon and cup: 99 % of updates within 1000 µs claimed" in result.notes[0]
    assert result.notes[-1].startswith("the haptic loop beside it")


@pytest.mark.nojit
def test_penalty_claims_tell_their_verdicts() -> None:
    from tangere.bench import penalty

    def row(case: str, engine: str, p50: float, p99: float) -> report.Row:
        return {"case": case, "engine": engine, "p50 [µs]": p50, "p99 [µs]": p99}

    rows = [row("spoon in the cup", "sdf", 20.0, 999.0), row("spoon in the cup", "exact", 9e3, 9e3)]
    rows += [row(penalty.TEETH, "sdf", 99.0, 501.0), row(penalty.BLOCKS, "sdf", 151.0, 200.0)]
    growth: list[report.Row] = [
        {"triangles": 40_180, "p50 [µs]": 50.0, "p99 [µs]": 60.0},
        {"triangles": 1_004_500, "p50 [µs]": 101.0, "p99 [µs]": 900.0},
    ]
    verdicts = [note.rsplit(" ", 1)[1] for note in penalty.claims(rows, growth)]
    assert verdicts == ["holds", "holds", "FAILS", "FAILS", "holds", "FAILS"]


@pytest.mark.nojit
def test_the_path_of_the_penalty_bench_is_as_fast_as_a_hand() -> None:
    from tangere.bench import penalty

    poses = penalty.path((0.1, 0.0, 0.0), penalty.THROUGH)
    assert np.linalg.norm(poses[:, 3:7], axis=1) == pytest.approx(1.0, abs=1e-12)
    closed = np.concatenate((poses, poses[:1]))
    assert np.linalg.norm(np.diff(closed[:, :3], axis=0), axis=1).max() < 0.2e-3


def test_the_force_model_of_formations_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tangere.bench import formation

    monkeypatch.setattr(formation, "POSES", 100)
    result = formation.measure(1)
    rows = result.tables[0].rows
    assert [row["scene"] for row in rows] == list(formation.scenes())
    found = result.tables[1].rows
    assert [row["scene"] for row in found] == list(formation.paths())
    assert all(float(row["p50 [µs]"] or 0.0) > 0.0 for row in (*rows, *found))


@pytest.mark.nojit
def test_claims_on_the_force_model_tell_their_verdicts() -> None:
    from tangere.bench import formation

    def verdicts(fast: float, slow: float) -> list[str]:
        rows: list[report.Row] = [
            {"scene": formation.NOTHING, "p50 [µs]": 0.1},
            {"scene": "a point slides", "p50 [µs]": fast},
            {"scene": "a face turns", "p50 [µs]": slow},
        ]
        return [note.rsplit(" ", 1)[1] for note in formation.claims(rows)]

    assert verdicts(0.6, 1.1) == ["holds", "holds"]
    assert verdicts(0.9, 2.1) == ["FAILS", "FAILS"]


def test_contacts_of_soft_bodies_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tangere.bench import friction, soft

    monkeypatch.setattr(friction, "siconos_works", lambda: False)
    monkeypatch.setattr(soft, "STEPS", 20)
    small = replace(
        soft.PARAMS, height=0.0129, fine_cells=(6, 1, 1), pads=((2, 2), (3, 2)), pad_steps=20
    )
    result = soft.measure(1, small)
    clips, pads, grown = (table.rows for table in result.tables)
    assert [row["most contacts"] for row in clips] == [20, 20, 30, 24, 24, 48, 48]
    assert [row["contacts"] for row in pads] == [4, 4, 6, 6]
    assert [row["contacts"] for row in grown] == [4, 6]
    # a pad that slides is a problem that has a solution with forces
    assert all(0 < float(row["iterations"] or 0) for row in grown)
    assert all(float(row["error"] or 0.0) <= friction.TOLERANCE for row in grown)
    assert len(result.profiles) == len(clips) + len(pads)


@pytest.mark.nojit
def test_problems_of_friction_are_solved_and_timed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tangere.bench import friction

    n = 6
    W = np.diag(np.arange(1.0, n + 1.0))
    arrays = {"data": np.diag(W), "indices": np.arange(n), "indptr": np.arange(n + 1)}
    arrays |= {"q": np.array([-1.0, 0.1, 0.0, -2.0, 3.0, 0.0]), "mu": np.full(2, 0.5)}
    stored: dict[str, Any] = {
        f"{name}.{key}": array for name in friction.STORED for key, array in arrays.items()
    }
    np.savez(tmp_path / friction.FILE, **stored)
    monkeypatch.setenv("TANGERE_DATA", str(tmp_path))
    monkeypatch.setattr(friction, "siconos_works", lambda: False)
    monkeypatch.setattr(friction, "PADS", ((4, 0.5, 3, 1e9), (3, 0.0, 3, 0.0)))
    result = friction.measure(1, counts=(4,))
    known, grown, moving = (table.rows for table in result.tables)
    assert [row["problem"] for row in known] == list(friction.STORED)
    assert all(float(row["error"] or 0.0) <= friction.TOLERANCE for row in known + grown)
    assert all(float(row["worst error"] or 0.0) <= 1e-6 for row in moving)
    assert [note.split(": ")[-1] for note in result.notes[1:]] == ["holds", "FAILS"]
    monkeypatch.setenv("TANGERE_DATA", str(tmp_path / "elsewhere"))
    assert any("TANGERE_DATA" in note for note in friction.measure(1, counts=()).notes)


def test_siconos_solves_the_same_problem() -> None:
    from tangere.bench import friction
    from tangere.experiments.siconos_solver import siconos_works

    if not siconos_works():
        pytest.skip("Siconos is not installed")
    (ours, theirs), ratio = friction.compare(friction._pressed(9), 1)
    assert (ours["solver"], theirs["solver"]) == ("tangere", "Siconos")
    assert ratio > 0.0
    for row in (ours, theirs):
        # its measure is a share of |q| instead of the force scale: within a hundred of ours
        assert float(row["error"] or 0.0) < 1e-6
        assert float(row["Siconos' error"] or 0.0) < 1e-6


def counters(late: int, ticks: int = 1000, tick: float = 5e-6) -> Counters:
    """A loop with some late ticks."""
    some = Spread(tick, tick, tick, tick)
    return Counters(ticks, 0, late, 0, some, some, ())


@pytest.mark.nojit
def test_the_servo_is_judged_by_ratios() -> None:
    def verdicts(empty: int, work: int, python: int, tick: float = 5e-6) -> list[str]:
        found = {
            servo.EMPTY: counters(empty),
            servo.WORK: counters(work, tick=tick),
            servo.PYTHON: counters(python),
        }
        return [line.rsplit(" ", 1)[1] for line in servo.claims(found)[:3]]

    assert verdicts(10, 20, 23) == ["holds", "holds", "holds"]
    assert verdicts(10, 21, 26) == ["FAILS", "FAILS", "holds"]
    assert verdicts(10, 10, 7, tick=16e-6) == ["holds", "holds", "FAILS"]
    assert verdicts(0, 0, 0) == ["holds", "holds", "holds"]
    assert verdicts(0, 1, 1) == ["FAILS", "holds", "holds"]


@pytest.mark.nojit
def test_a_ratio_within_chance_decides_nothing() -> None:
    found = {servo.EMPTY: counters(10), servo.WORK: counters(30), servo.PYTHON: counters(60)}
    first, second, _ = servo.claims(found, (2.0, 0.5))
    assert first.endswith("3.00: not decided")
    assert second.endswith("+100 %: FAILS")


@pytest.mark.nojit
def test_the_doubt_about_ratios_grows_with_the_scatter_of_the_rounds() -> None:
    def words(*late: list[int]) -> str:
        loops = {}
        for name, counts in zip(("a", "b", "c"), late, strict=True):
            loops[name] = [new_loop(0, 1e3) for _ in counts]
            for loop, count in zip(loops[name], counts, strict=True):
                loop.control[CTL_LATE] = count
        return servo.doubt(loops)

    steady, wild = [10] * 4, [1, 20, 0, 19]
    assert words(steady, steady, steady).startswith("late ticks: 40 a, 40 b, 40 c;")
    assert "±0.00" in words(steady, steady, wild)
    assert "±0 %" not in words(steady, steady, wild)
    assert "±0.00" not in words(steady, wild, wild)
    assert "±0 %" in words(steady, wild, wild)  # rounds are drawn together


def test_all_loops_of_the_servo_run_and_record(vendor_libraries: Libraries, tmp_path: Path) -> None:
    loops, granted = servo.run_loops(vendor_libraries, tmp_path, rounds=1, seconds=0.6)
    assert granted
    for (loop,) in loops.values():
        assert counted(loop).ticks == 600
        assert counted(loop).dropped == 0


@pytest.mark.slow
def test_the_report_on_the_servo_is_whole() -> None:
    result = servo.measure(rounds=1, seconds=1.0, runs=1)
    _, answers, ends, criteria = (table.rows for table in result.tables)
    assert len(answers) == 6
    assert [row["the program ends by"] for row in ends] == list(ENDINGS)
    assert [row[""] for row in criteria] == list(range(1, 11))


def test_versions_compares_a_checkout_with_itself() -> None:
    tower = versions.Case("tower of 13, explicit", 1, {"settle": 5, "calls": 3, "steps": 2}, 2)
    hand = versions.Case("hand on a block", 1, {"calls": 1, "ticks": 20}, 20)
    result = versions.measure(against=ROOT, chosen=[tower, hand])
    rows = result.tables[0].rows
    assert [row["scene"] for row in rows] == ["tower of 13, explicit", "hand on a block"]
    assert all(row["apart in the end"] == "same digits" for row in rows)
    assert all(float(row["here / there"] or 0.0) > 0.0 for row in rows)
    assert "claimed of each" in result.notes[0]


@pytest.mark.nojit
def test_versions_needs_a_checkout(tmp_path: Path) -> None:
    for names, against in (["versions"], None), (["resting"], tmp_path):
        with pytest.raises(SceneError, match="versions and --against PATH"):
            bench.run(names, against=against)
    with pytest.raises(SceneError, match="no checkout of tangere"):
        bench.run(["versions"], against=tmp_path)
