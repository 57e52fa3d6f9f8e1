"""Limits are checked, and the cap of the displayed stiffness is what was derived."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from tangere.errors import SceneError
from tangere.haptics.layout import NSET, SET_DEVICE_FORCE, SET_LEASH, SET_NET, SET_SAMPLES, new_rig
from tangere.haptics.safety import LEASH, Safety, leash, stiffest, unlimited

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"force": nan}, "force is nan"),
        ({"force": inf}, "the device's limit"),
        ({"gripper_force": inf}, "the device's limit"),
        ({"torque": -1.0}, "torque is -1.0"),
        ({"ramp": -0.1}, "ramp"),
        ({"samples": -1}, "samples"),
        ({"fresh": 0.2}, "age from fresh to stale"),
    ],
)
def test_wrong_limits_are_refused(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(SceneError, match=words):
        Safety(**wrong)  # type: ignore[arg-type]


def test_limits_go_into_the_settings() -> None:
    settings = np.full(NSET, -7.0)
    Safety(force=3.0, samples=4).apply(settings)
    assert settings[SET_DEVICE_FORCE] == 3.0
    assert settings[SET_SAMPLES] == 4.0
    assert settings[SET_NET] == 1.0
    unlimited(settings)
    assert settings[SET_NET] == settings[SET_SAMPLES] == 0.0
    assert new_rig().settings[SET_LEASH] == inf


# Largest stiffness [N/m] with at most 1 mJ given, found by bisection with undamped planes, of d = 1
# … 6 ticks of 1 ms: loose fingers on a device of 50 g, and on one of 300 g. The rule lies below.
BISECTED = {
    0.05: {1: 2500.0, 2: 1300.0, 3: 760.0, 4: 530.0, 6: 300.0},
    0.3: {1: 6300.0, 2: 2900.0, 3: 1700.0, 4: 1200.0, 6: 670.0},
}


@pytest.mark.parametrize("device", BISECTED)
def test_the_cap_is_below_what_was_found_stable(device: float) -> None:
    for ticks, found in BISECTED[device].items():
        assert stiffest(device + 0.05, 1e-3 * ticks, 1e-3) < found
    # and not by so much that walls become cushions
    assert stiffest(device + 0.05, 1e-3, 1e-3) > 0.5 * BISECTED[device][1]


def test_the_cap_falls_with_delay_and_is_finite_without() -> None:
    caps = [stiffest(0.15, 1e-3 * d, 1e-3) for d in range(20)]
    assert (np.diff(caps) <= 0.0).all()
    assert caps[0] == stiffest(0.15, 0.0, 1e-6) == 0.15 * 0.04 / 1e-6


def test_the_leash_lets_the_coupling_stretch() -> None:
    assert leash(200.0, 8.0) == pytest.approx(3.0 * 8.0 / 200.0)
    assert leash(5000.0, 5.0) == LEASH
