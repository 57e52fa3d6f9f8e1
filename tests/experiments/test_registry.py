"""The list of experiments and what each of them must offer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tangere.errors import SceneError
from tangere.experiments.experiment import Claim, Experiment, Outcome
from tangere.experiments.registry import EXPERIMENTS, find, select


def test_the_papers_experiments_are_there() -> None:
    papers = ["block-tower", "falling-cube", "stick-slip", "two-hands", "free-spoon"]
    papers += ["spoon-and-cup", "spin-down"]
    assert list(EXPERIMENTS) == [*papers, "cube-toss", "energy-audit", "contact-delay"]


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
    assert list(claim) == ["id", "text", "paper", "measured", "unit", "pass"]
    assert claim["measured"] == 2.0
    assert claim["pass"] is True
