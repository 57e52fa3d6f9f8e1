"""Options of contact formations: each wrong value is refused in one clear line."""

from __future__ import annotations

from typing import Any

import pytest

from tangere.contact.formation.columns import (
    MOST_POINTS,
    NPC,
    PC_POLYGON,
    PC_POLYGON_GAP,
)
from tangere.contact.formation.options import Formation
from tangere.errors import SceneError

pytestmark = pytest.mark.nojit


def test_defaults_are_those_of_the_paper() -> None:
    options = Formation()
    assert (options.stiffness, options.damping, options.tangential_stiffness) == (2300, 5, 1600)
    assert (options.static_friction, options.kinetic_friction) == (0.7, 0.08)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"stiffness": 0.0}, "stiffness: must be positive"),
        ({"damping": -1.0}, "damping: must not be negative"),
        ({"damping": float("nan")}, "damping: must be finite"),
        ({"kinetic_friction": 0.8}, "kinetic_friction: must not exceed static_friction = 0.7"),
        ({"layer": 2e-3}, "layer: must not exceed release = 0.0012"),
        ({"velocity_window": 0.1}, "velocity_window: must not exceed window = 0.03"),
        ({"stick": "anchored"}, "stick: unknown 'anchored'; did you mean 'anchor'"),
        ({"per_point": 1}, "per_point: expected True or False, got 1"),
        ({"inertia": 1.5}, "inertia: out of range"),
        ({"max_force": "5 N"}, "max_force: expected a number"),
    ],
)
def test_wrong_options_are_refused_in_one_line(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(SceneError, match=fault) as caught:
        Formation(**given)
    message = str(caught.value)
    assert message.startswith("Formation ")
    assert "\n" not in message


def test_the_polygon_of_a_row_has_room() -> None:
    assert PC_POLYGON_GAP - PC_POLYGON == 3 * MOST_POINTS
    assert NPC - PC_POLYGON_GAP == MOST_POINTS
