"""Hands that go through given poses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

import tangere as tg
from tangere.devices.keyframes import Keyframes
from tangere.devices.simulated import Scripted
from tangere.haptics.layout import READ_POSITION, READ_VELOCITY

pytestmark = pytest.mark.nojit

TIMES = np.array([0.0, 0.4, 1.0])
PLACES = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.02], [0.1, -0.1, 0.0]])
TURNS = Rotation.from_rotvec([[0.0, 0.0, 0.0], [0.3, 0.1, 0.0], [0.3, 0.1, 2.9]])
QUATERNIONS = np.roll(TURNS.as_quat(), 1, axis=1)


def same_turn(q: np.ndarray, r: Rotation) -> float:
    return float((Rotation.from_quat(np.roll(q, -1)) * r.inv()).magnitude())


def test_keyframes_are_passed_and_the_ends_are_kept() -> None:
    path = Keyframes(TIMES, PLACES, QUATERNIONS)
    for t, x, r in zip(TIMES, PLACES, TURNS, strict=True):
        assert path(t)[0] == pytest.approx(x, abs=1e-15)
        assert same_turn(path(t)[1], r) < 1e-12
    assert path(-1.0)[0] == pytest.approx(PLACES[0])
    assert path(9.0)[0] == pytest.approx(PLACES[-1])


def test_without_velocities_it_stands_still_at_every_keyframe() -> None:
    path = Keyframes(TIMES, PLACES, QUATERNIONS)
    d = 1e-6
    for t in (0.0, 0.4, 1.0):
        for side in (-d, d):
            assert path(t + side)[0] == pytest.approx(path(t)[0], abs=3.0 * (d / 0.4) ** 2)
    u = 0.25
    eased = 3 * u**2 - 2 * u**3
    assert path(0.1)[0] == pytest.approx(eased * PLACES[1], abs=1e-15)
    assert same_turn(path(0.1)[1], Slerp(TIMES, TURNS)(0.4 * eased)) < 1e-12


def test_with_velocities_it_is_the_hermite_cubic_and_an_even_turn() -> None:
    speeds = np.array([[0.1, 0.0, 0.0], [0.2, -0.1, 0.0], [0.0, 0.0, 0.3]])
    path = Keyframes(TIMES, PLACES, QUATERNIONS, velocities=speeds)
    cubic, turn = CubicHermiteSpline(TIMES, PLACES, speeds), Slerp(TIMES, TURNS)
    for t in np.linspace(0.0, 1.0, 23):
        assert path(t)[0] == pytest.approx(cubic(t), abs=1e-14)
        assert same_turn(path(t)[1], turn(t)) < 1e-12


def test_noise_is_seeded_and_of_the_size_asked_for() -> None:
    path = Keyframes((0.0, 2.0), PLACES[:2])
    still, upright = path.table(1000)
    one, two = (path.table(1000, noise=1e-5, turn_noise=1e-3, seed=s) for s in (4, 4))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])
    assert not np.array_equal(one[0], path.table(1000, noise=1e-5, turn_noise=1e-3, seed=5)[0])
    assert still.shape == (2001, 3)
    assert upright == pytest.approx(np.tile([1.0, 0.0, 0.0, 0.0], (2001, 1)))
    # of 6,003 numbers the standard deviation is known to 1 %
    assert np.std(one[0] - still) == pytest.approx(1e-5, rel=0.05)
    turns = Rotation.from_quat(np.roll(one[1], -1, axis=1)).as_rotvec()
    assert np.std(turns) == pytest.approx(1e-3, rel=0.05)


def test_a_scripted_hand_can_follow_it() -> None:
    rows = Scripted(Keyframes(TIMES, PLACES, QUATERNIONS)).table(1000.0, 1001)
    assert rows[400, READ_POSITION : READ_POSITION + 3] == pytest.approx(PLACES[1])
    # half way the speed is 3/2 of the mean one
    assert rows[200, READ_VELOCITY] == pytest.approx(1.5 * 0.1 / 0.4, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"times": (0.0, 0.4, 0.4)}, "increasing times"),
        ({"positions": PLACES[:2]}, "positions must be 3 rows of 3"),
        ({"orientations": 2.0 * QUATERNIONS}, "unit quaternions"),
        ({"velocities": np.full((3, 3), np.nan)}, "velocities must be 3 rows of 3"),
    ],
)
def test_what_makes_no_path_is_refused_in_one_line(change: dict[str, Any], words: str) -> None:
    given = {"times": TIMES, "positions": PLACES, "orientations": QUATERNIONS, **change}
    with pytest.raises(tg.SceneError, match=words) as caught:
        Keyframes(given.pop("times"), given.pop("positions"), given.pop("orientations"), **given)
    assert "\n" not in str(caught.value)
