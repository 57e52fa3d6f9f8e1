"""The list of experiments and what each of them must offer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tangere.errors import SceneError
from tangere.experiments.experiment import Claim, Experiment, Outcome, tally
from tangere.experiments.registry import EXPERIMENTS, PLANNED, find, select


def test_the_papers_experiments_are_there() -> None:
    papers = ["block-tower", "falling-cube", "stick-slip", "two-hands"]
    papers += ["peg-in-hole", "pen-in-bowl", "cylinder-in-pipe"]
    papers += ["ball-on-cylinders", "cylinder-pivot", "guarded-motion"]
    papers += ["turning-faces", "odd-contacts", "free-spoon"]
    papers += [
        "spoon-and-cup",
        "jaws",
        "table",
        "friction-cone",
        "solver-time",
        "delassus",
        "quasi-rigid",
    ]
    papers += ["snap-in", "contact-time"]
    ours = ["spin-down", "rolling", "cube-toss", "energy-audit", "contact-delay", "hertz"]
    assert list(EXPERIMENTS) == [*papers, *ours]


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_one_line_each_and_parameters_that_json_can_print(experiment: Experiment[Any, Any]) -> None:
    assert "\n" not in experiment.summary + experiment.paper
    assert type(experiment.params) is type(experiment.quick)
    empty = Outcome(experiment, experiment.params, None, [], [], 1.23456)
    printed = json.loads(json.dumps(empty.as_json()))
    assert list(printed) == ["name", "paper", "claims", "parameters", "seconds"]
    assert printed["seconds"] == 1.235
    assert printed["parameters"]


def test_a_misspelt_name_is_corrected() -> None:
    with pytest.raises(
        SceneError, match=r"unknown experiment 'stickslip': did you mean 'stick-slip'\?"
    ):
        find("stickslip")


def test_a_foreign_name_gets_the_list() -> None:
    with pytest.raises(SceneError, match=r"choose from block-tower, falling-cube"):
        find("zzzz")


def test_a_name_that_is_planned_is_not_taken_for_another() -> None:
    assert not PLANNED & set(EXPERIMENTS), "built: no longer planned"
    for name in PLANNED:
        with pytest.raises(SceneError, match=f"experiment '{name}' is not there yet") as caught:
            find(name)
        assert "did you mean" not in str(caught.value)


def test_no_name_and_all_mean_every_experiment_once() -> None:
    everything = list(EXPERIMENTS.values())
    assert select([]) == everything
    assert select(["spin-down", "all"]) == everything
    assert select(["spin-down", "spin-down"]) == [EXPERIMENTS["spin-down"]]


def test_numbers_that_are_not_finite_become_null() -> None:
    for value in (None, float("nan"), float("inf")):
        claim = Claim("id", "text", "paper", value, "s", False).as_json()
        assert claim["measured"] is None
        json.dumps(claim, allow_nan=False)
    claim = Claim("id", "text", "paper", 2.0, "s", True).as_json()
    contract = ["id", "text", "paper", "measured", "unit", "pass"]
    assert list(claim) == [*contract, "verdict", "calibrated"]
    assert claim["measured"] == 2.0
    assert claim["pass"] is True


@pytest.mark.parametrize(
    ("holds", "calibrated", "verdict"),
    [
        (True, "", "holds"),
        (False, "", "fails"),
        (True, "the hand", "calibrated"),
        (False, "the hand", "fails"),
    ],
)
def test_a_calibrated_value_never_counts_as_a_pass(
    holds: bool, calibrated: str, verdict: str
) -> None:
    claim = Claim("id", "text", "paper", 1.0, "s", holds, calibrated)
    assert claim.verdict == verdict
    assert claim.as_json()["verdict"] == verdict
    assert claim.as_json()["calibrated"] == calibrated
    assert claim.as_json()["pass"] is (verdict == "holds")
    experiment = EXPERIMENTS["spin-down"]
    outcome = Outcome(experiment, experiment.params, None, [claim], [], 1.0)
    assert outcome.passed is (verdict != "fails")


def test_verdicts_are_counted_in_words() -> None:
    assert tally(["holds", "fails", "holds"]) == "2 of 3 claims hold"
    assert tally(["holds", "calibrated"]) == "1 of 2 claims hold, 1 calibrated"
