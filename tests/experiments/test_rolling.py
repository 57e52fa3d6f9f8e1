"""Theory of rolling, and what is read off a motion."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tangere.experiments import engine_worlds, rolling, round_engines
from tangere.experiments.engine_worlds import Thing
from tangere.experiments.rolling import Params, Roll
from tangere.experiments.round_engines import Setup, Step, Track
from tangere.maths.vec import Array

P = Params()


def track(speed: Array, force: Array, spin: Array | None = None) -> Track:
    """A motion along x."""
    n = len(speed)
    zero = np.zeros((n, 3))
    velocity, turning = zero.copy(), zero.copy()
    velocity[:, 0] = speed
    if spin is not None:
        turning[:, 1] = spin
    return Track(np.arange(n, dtype=np.float64) * 0.01, zero, velocity, turning, force)


def test_gain_and_ripple_of_a_known_roll() -> None:
    n = 1000
    force = np.full(n, 5.0)
    force[100::2] *= 1.01
    force[101::2] *= 0.99
    force[:100] = 50.0  # while it settles
    roll = Roll(track(np.linspace(2.0, 1.9, n), force))
    assert roll.gain == pytest.approx(-0.05)
    assert roll.ripple == pytest.approx((0.01, 0.01))


def test_a_slide_ends_where_its_line_does() -> None:
    t = 0.01 * np.arange(60)
    slip = np.maximum(0.0, 1.0 - t / 0.234)
    found = rolling.slide_time(P, track(P.slide * (1.0 - 0.3 * (1.0 - slip)),
                                        np.ones(60),
                                        P.slide * 0.7 * (1.0 - slip) / P.radius))  # fmt: skip
    assert found == pytest.approx(0.234, rel=1e-9)
    still = track(np.ones(60), np.ones(60))
    assert rolling.slide_time(P, still) == math.inf


def test_groove_of_a_round_patch_is_that_of_a_disc() -> None:
    """With rails of no curvature across the patch is a circle, and the torque 8/15 μ N a."""
    flat = replace(P, rail=1e9, half_gap=0.6e9, seconds=1.0)
    press = P.mass * P.gravity / 1.6
    torque = 8.0 / 15.0 * P.friction * press * math.sqrt(4.0 * press / 1e8 * P.radius)
    rolls = 0.8 * P.radius
    power = 2.0 * torque * 0.6 * P.speed / rolls
    energy = 0.5 * P.mass * P.speed**2 * (1.0 + 0.4 / 0.64)
    # dE/E is twice dv/v
    assert rolling.groove_gain(flat, 1e8) == pytest.approx(-0.5 * power / energy, rel=1e-6)
    assert rolling.groove_gain(P, 4e8) == pytest.approx(0.5 * rolling.groove_gain(P, 1e8))


def test_cone_loses_half_the_square_of_its_rate_at_first() -> None:
    assert rolling.cone_gain(2.0, 1e-3, 1e-3) == pytest.approx(-0.5 * 4.0 * 1e-3 * 1e-3, rel=1e-5)


@pytest.mark.parametrize("rate", [0.5, 3.0])
def test_a_cone_set_rolling_touches_by_its_side_and_does_not_slip(rate: float) -> None:
    cone = rolling.roll_setup(P, f"cone {rate}").things[0]
    w, _, y, _ = cone.orientation
    up = np.array([2.0 * w * y, 0.0, 1.0 - 2.0 * y * y])  # the axis, base to apex
    centre, spin = np.array(cone.position), np.array(cone.spin)
    apex = centre + 0.75 * P.cone_height * up
    assert apex == pytest.approx(np.zeros(3), abs=1e-15)
    base = centre - 0.25 * P.cone_height * up
    rim = base + P.radius * np.array([-up[2], 0.0, up[0]])
    low = min((rim, 2.0 * base - rim), key=lambda p: p[2])
    assert low[2] == pytest.approx(0.0, abs=1e-15)
    for point in (apex, low):
        slip = np.array(cone.velocity) + np.cross(spin, point - centre)
        assert slip == pytest.approx(np.zeros(3), abs=1e-15)
    assert np.linalg.norm(cone.velocity) == pytest.approx(rate * centre[0])


ENGINES = ("tangere", *engine_worlds.installed())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "thing",
    [
        Thing("ball", (0.05,), 1.0, (0.0, 0.0, 1.0)),
        Thing("cylinder", (0.05, 0.3), 1.0, (0.0, 0.0, 1.0), round_engines.ALONG_X),
        Thing("capsule", (0.05, 0.2), 1.0, (0.0, 0.0, 1.0), round_engines.ALONG_Y),
        Thing("box", (0.1, 0.2, 0.3), 1.0, (0.0, 0.0, 1.0), round_engines.ALONG_Y),
    ],
    ids=lambda thing: thing.kind,
)
def test_every_engine_gets_the_body_that_was_meant(engine: str, thing: Thing) -> None:
    """It falls and turns freely, and lies on the floor at half of its height with its weight."""
    moving = thing._replace(velocity=(1.0, 0.0, 0.0), spin=(0.0, 0.0, 3.0))
    setup = Setup((moving,), 0.5, (0.0, 0.0, -10.0))
    falls = round_engines.run(setup, Step(1e-3, engine), 0.1)
    assert falls.velocity[-1] == pytest.approx([1.0, 0.0, -1.0], abs=2e-3)
    assert falls.spin[-1] == pytest.approx([0.0, 0.0, 3.0], abs=2e-3)
    assert falls.force[-1] == 0.0
    half = thing.size[1] / 2.0 if thing.kind == "box" else thing.size[0]
    setup = Setup((thing._replace(position=(0.0, 0.0, half)),), 0.5, (0.0, 0.0, -10.0))
    rests = round_engines.run(setup, Step(1e-3, engine), 0.3)
    assert rests.position[-1] == pytest.approx([0.0, 0.0, half], abs=1e-3)
    assert rests.force[-1] == pytest.approx(10.0, rel=1e-2)


@pytest.mark.parametrize("engine", ENGINES)
def test_fixed_bodies_hold_the_first_one(engine: str) -> None:
    ball = Thing("ball", (0.05,), 1.0, (0.0, 0.0, 0.05))
    box = Thing("box", (1.0, 1.0, 0.2), 1.0, (0.0, 0.0, -0.1), fixed=True)
    setup = Setup((ball, box), 0.5, (0.0, 0.0, -10.0), floor=False)
    rests = round_engines.run(setup, Step(1e-3, engine), 0.3)
    assert rests.position[-1] == pytest.approx([0.0, 0.0, 0.05], abs=1e-3)
    assert rests.force[-1] == pytest.approx(10.0, rel=1e-2)
