"""The audit of passive scenes: rises found, lost scenes told, the worst step named."""

from __future__ import annotations

import io
import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import tangere as tg
from tangere.experiments import energy_audit
from tangere.experiments.energy_audit import (
    LIMIT,
    Params,
    Result,
    Verdict,
    audit,
    changes_between,
    check,
    judge,
    replay,
    worst_step,
)
from tangere.experiments.passive import CATEGORIES, trial
from tangere.steppers.stepper import CONTACT_COLUMNS

SHORT = Params(scenes=4, seconds=0.1, workers=1)


@pytest.mark.nojit
def test_rise_is_measured_from_the_lowest_earlier_value() -> None:
    energy = np.array([10.0, 8.0, 8.5, 6.0, 6.2, 7.0, 3.0, 3.5])
    verdict = judge(trial(0), energy, steps=7)
    assert verdict.rise == pytest.approx(0.1)  # from 6 to 7, of 10
    assert (verdict.step, verdict.start) == (5, 10.0)
    assert worst_step(energy, verdict.step) == 5  # 6.2 to 7, not 6 to 6.2
    assert judge(trial(0), np.linspace(5.0, 1.0, 8), steps=7).rise == 0.0


@pytest.mark.nojit
def test_a_lost_scene_has_risen_without_limit() -> None:
    short = judge(trial(0), np.array([2.0, 1.0]), steps=3)
    assert (short.rise, short.step) == (math.inf, 1)
    broken = judge(trial(0), np.array([2.0, 1.0, math.nan, 1.0]), steps=3)
    assert (broken.rise, broken.step) == (math.inf, 2)


@pytest.mark.nojit
def test_worst_step_of_a_scene_that_only_loses() -> None:
    energy = np.array([3.0, 2.0, 1.0])
    assert worst_step(energy, 0) == 1
    assert worst_step(energy, 2) == 2


@pytest.mark.nojit
def test_every_category_is_judged_on_its_own() -> None:
    verdicts = [
        Verdict(seed, category, 2.0 * LIMIT if category == "rods" else 0.5 * LIMIT, 3, 1.0)
        for seed, category in enumerate(CATEGORIES)
    ]
    again = replay(0, SHORT)
    claims = {claim.id: claim for claim in check(Result(SHORT, verdicts, again))}
    assert len(claims) == 1 + len(CATEGORIES)
    assert [key for key, claim in claims.items() if not claim.pass_] == ["rise-rods"]
    assert claims["rise-rods"].measured == pytest.approx(0.2)
    verdicts.append(Verdict(99, "drop", math.inf, 3, 1.0))
    claims = {claim.id: claim for claim in check(Result(SHORT, verdicts, again))}
    assert claims["finite"].measured == 1.0
    assert not claims["rise-drop"].pass_


def contacts(*rows: tuple[int, int, tuple[float, float, float], float, bool]) -> np.ndarray:
    table = np.zeros(len(rows), CONTACT_COLUMNS)
    for row, (a, b, normal, force, sticking) in zip(table, rows, strict=True):
        row["body_a"], row["body_b"], row["normal"] = a, b, normal
        row["force"], row["sticking"] = (0.0, 0.0, force), sticking
    return table


@pytest.mark.nojit
def test_what_changed_is_told_with_the_largest_force_first() -> None:
    scene = tg.Scene()
    scene.add_floor()
    for name in ("a", "b", "c"):
        scene.add_body(tg.Box((1, 1, 1)), name=name)
    up, side = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
    before = contacts((-1, 0, up, 5.0, True), (0, 1, up, 7.0, True), (1, 2, up, 1.0, True))
    after = contacts((-1, 0, up, 5.0, True), (0, 1, side, 7.0, False), (-1, 2, up, 9.0, True))
    told = changes_between(scene, before, after)
    assert told.split("; ") == [
        "c on floor comes (9 N)",
        "b on a normal turns by 90° and slips (7 N)",
        "c on b goes (1 N).",
    ]
    assert changes_between(scene, before, before).startswith("No contact")


def test_a_scene_can_be_run_again() -> None:
    verdict = audit(1, SHORT)
    again = replay(1, SHORT)
    assert again.verdict == verdict
    assert again.explanation.startswith("seed 1 (throw, ")
    assert sum(again.parts.values()) == pytest.approx(again.total)
    assert len(again.frames) == 3


def test_workers_find_what_one_process_finds() -> None:
    one = energy_audit.run(SHORT)
    two = energy_audit.run(Params(scenes=4, seconds=0.1, workers=2))
    assert one.verdicts == two.verdicts
    assert [verdict.seed for verdict in two.verdicts] == [0, 1, 2, 3]


@pytest.mark.nojit
def test_a_worker_answers_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"seeds": [4], "params": asdict(replace(SHORT, seconds=0.01))}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(asked)))
    energy_audit.answer()
    (row,) = json.loads(capsys.readouterr().out)
    assert Verdict(*row) == audit(4, replace(SHORT, seconds=0.01))


def test_a_worker_that_fails_is_told_with_its_seeds() -> None:
    with pytest.raises(RuntimeError, match=r"seeds 0 to 1 ended with 1: .*SceneError"):
        energy_audit.run(Params(scenes=4, seconds=0.1, integrator="magic"))


def test_seeds_on_the_command_line_are_told_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    energy_audit.main(["2"])
    assert capsys.readouterr().out.startswith("seed 2 (stack, ")
    assert {path.name for path in tmp_path.iterdir()} == {
        "energy-audit-2-energy.png",
        "energy-audit-2-pictures.png",
    }


def test_a_stack_with_a_wide_cylinder_on_a_narrow_one() -> None:
    # After 0.31 s two ends lie on each other whose axes are apart by rounding alone: the point
    # where their rims "cross" was at 1e12 m, and the stack was lost to infinity.
    verdict = audit(594, params=Params(seconds=0.4))
    assert verdict.rise < LIMIT
