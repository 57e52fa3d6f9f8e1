"""Force laws, events, trials, columns and buttons of the user's own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangere as tg
from tangere.errors import SceneError
from tangere.haptics.layout import FAULT_NAN_FORCE
from tangere.session.session import Session


@tg.effect
def spring(pose: Any, twist: Any, t: float, p: Any, wrench: Any) -> None:
    """Towards a height, with a vibration; the first column of the user's is the height."""
    wrench[2] += p[0] * (p[1] - pose[2]) + p[2] * math.sin(2.0 * math.pi * 50.0 * t)
    wrench[7] = pose[2]


@tg.effect
def spoilt(pose: Any, twist: Any, t: float, p: Any, wrench: Any) -> None:
    """Not a number after a while."""
    wrench[0] = 0.2 if t < 0.0995 else math.nan


def held(**options: Any) -> Session:
    """A ball in free space, held by a person's arm that goes up and down."""
    scene = tg.Scene()
    scene.add_tool(tg.Sphere(0.01), name="ball", position=(0.0, 0.0, 0.0))
    hand = tg.devices.Hand(lambda t: (0.0, 0.0, 0.01 * math.sin(6.0 * t)))
    return tg.Session(scene, device=hand, safety=tg.Safety(ramp=0.0), **options)


@pytest.mark.nojit
def test_an_effect_is_felt_and_its_parameters_change() -> None:
    session = held()
    added = session.add_effect(spring, parameters=(10.0, 0.0, 0.0))

    def each() -> None:
        if session.additions.tick == 200:
            added.parameters[0] = 0.0

    trace = session.run(0.4, realtime=False, each=each)
    # it is given the hand of the moment when its force arrives
    height = (trace["hand.position"] + trace["servo.lead"][:, None] * trace["hand.velocity"])[:, 2]
    felt = trace["effect.force"][:, 2]
    early = slice(50, 200)
    assert felt[early] == pytest.approx(-10.0 * height[early], rel=1e-12)
    assert np.abs(felt[early]).max() > 0.05
    assert (felt[205:] == 0.0).all()
    assert np.abs(trace["device.force"][early, 2]).max() > 0.02


@pytest.mark.nojit
def test_an_effect_that_is_not_finite_is_switched_off_and_never_sent() -> None:
    session = held()
    added = session.add_effect(spoilt)
    trace = session.run(0.3, realtime=False)
    assert trace["effect.force"][60, 0] == 0.2
    assert added.failed
    assert np.isfinite(trace["device.force"]).all()
    (at,) = np.flatnonzero(trace["fault"] & FAULT_NAN_FORCE)
    assert at == 100
    assert (trace["effect.force"][at:, 0] == 0.0).all()


@pytest.mark.nojit
def test_effects_add_up_and_can_be_removed() -> None:
    session = held()
    both = [session.add_effect(spoilt) for _ in range(2)]
    trace = session.run(0.05, realtime=False)
    assert trace["effect.force"][-1, 0] == pytest.approx(0.4)
    both[0].remove()
    assert session.rigs[0].effects[0] == 0
    assert session.rigs[0].effects[1] != 0
    both[0].remove()  # once more does nothing


def test_the_power_of_an_effect_is_credited() -> None:
    """A vibration is active by intent: without credit the net takes a part of it."""
    shares = []
    for power in (0.0, 0.02):
        session = held()
        session.add_effect(spring, parameters=(0.0, 0.0, 1.0), power=power)
        shares.append(float(session.run(4.0, realtime=False)["servo.net"][1000:].mean()))
    assert shares[0] < 0.95
    assert shares[1] == 1.0


@pytest.mark.nojit
def test_too_many_or_bad_effects_are_refused_in_one_line() -> None:
    session = held()
    with pytest.raises(SceneError, match=r"\(pose, twist, t, p, wrench\)"):
        tg.effect(lambda pose: None)
    with pytest.raises(SceneError, match="up to 16"):
        session.add_effect(spring, parameters=range(17))
    with pytest.raises(SceneError, match="power"):
        session.add_effect(spring, power=-1.0)
    with pytest.raises(SceneError, match="counted from 0"):
        session.add_effect(spring, tool=3)
    for _ in range(4):
        session.add_effect(spring)
    with pytest.raises(SceneError, match="remove one"):
        session.add_effect(spring)


def test_an_effect_that_fails_is_refused_before_it_runs() -> None:
    def beyond(pose: Any, twist: Any, t: float, p: Any, wrench: Any) -> None:
        wrench[99] = p[30]

    def unknown(pose: Any, twist: Any, t: float, p: Any, wrench: Any) -> None:
        wrench[0] = not_there  # type: ignore[name-defined]  # noqa: F821

    for bad in (beyond, unknown):
        with pytest.raises(SceneError, match=bad.__name__) as caught:
            held().add_effect(bad)
        assert "\n" not in str(caught.value)


@pytest.mark.nojit
def test_columns_of_the_users_own_are_in_every_row(tmp_path: Path) -> None:
    session = held()
    numbers = session.columns("height", "phase")
    session.add_effect(spring)

    def each() -> None:
        numbers["phase"] = session.additions.tick // 100

    path = tmp_path / "own.h5"
    session.run(0.3, realtime=False, each=each, record=path)
    trace = tg.Trace.load(path)
    assert trace["phase"][[50, 150, 250]] == pytest.approx((0.0, 1.0, 2.0))
    ahead = trace["hand.position"] + trace["servo.lead"][:, None] * trace["hand.velocity"]
    assert trace["height"][50:] == pytest.approx(ahead[50:, 2])
    assert list(numbers) == ["height", "phase"]
    with pytest.raises(SceneError, match="no 'other'"):
        numbers["other"] = 1.0
    with pytest.raises(SceneError, match="has started"):
        session.columns("late")


@pytest.mark.nojit
@pytest.mark.parametrize("names", [["a b"], ["x", "x"], [f"n{i}" for i in range(17)], [""]])
def test_bad_names_of_columns_are_refused(names: list[str]) -> None:
    with pytest.raises(SceneError, match="columns"):
        held().columns(*names)


@pytest.mark.nojit
def test_events_and_trials_are_at_their_ticks(tmp_path: Path) -> None:
    session = held()
    session.trial = "practice"

    def each() -> None:
        if session.additions.tick == 100:
            session.trial = "block 1 / 1"
            session.mark("stimulus", 3.0)

    path = tmp_path / "events.h5"
    session.run(0.3, realtime=False, each=each, record=path)
    trace = tg.Trace.load(path)
    assert [(e["tick"], e["name"], e["value"]) for e in trace.events] == [(100, "stimulus", 3.0)]
    assert [(trial.label, len(trial)) for trial in trace.trials()] == [
        ("practice", 100),
        ("block 1 / 1", 200),
    ]
    assert np.flatnonzero(trace["event"]).tolist() == [100]
    assert session.trial == "block 1 / 1"


@pytest.mark.nojit
def test_a_button_may_be_an_event() -> None:
    scene = tg.Scene()
    scene.add_tool(tg.Sphere(0.01), name="ball")
    pressed = tg.devices.Scripted(
        lambda t: (0.0, 0.0, 0.0), buttons=lambda t: 2 if 0.0495 < t < 0.1 or t > 0.1495 else 0
    )
    session = tg.Session(scene, device=pressed, buttons=tg.Buttons(clutch=None, mark=1))
    trace = session.run(0.2, realtime=False)
    assert [(e["tick"], e["name"]) for e in trace.events] == [(50, "button"), (150, "button")]
