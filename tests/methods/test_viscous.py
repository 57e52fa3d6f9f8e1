"""A method from outside the package works everywhere, with no change to any other file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from methods.viscous import METHOD, Viscous
from typer.testing import CliRunner

import tangere as tg
from tangere.contact.method import methods
from tangere.session.replay import replay

pytestmark = pytest.mark.nojit

LINES = 150


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    methods.register(METHOD)
    yield
    methods.unregister(METHOD.name)


def ball(height: float = 0.0) -> tg.Scene:
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Sphere(0.05), mass=1.0, position=(0.0, 0.0, height))
    return scene


def held() -> tg.Scene:
    scene = tg.Scene()
    scene.add_floor()
    scene.add_tool(tg.Sphere(0.05), mass=0.1, position=(0.0, 0.0, 0.02))
    return scene


def press(seconds: float = 0.3, **options: Any) -> tg.Trace:
    device = tg.devices.Scripted(lambda t: (0.0, 0.0, 0.02 - 0.1 * t))
    return tg.Session(held(), device=device, **options).run(seconds, realtime=False)


def test_it_is_one_short_file() -> None:
    text = Path(__file__).with_name("viscous.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES


def test_a_ball_sinks_to_where_the_honey_carries_it() -> None:
    sim = tg.Simulation(ball(), method="viscous")
    assert sim.integrator == "honey"
    sim.step(3000)
    assert sim[0].position[2] == pytest.approx(-9.81 / 500.0, rel=1e-3)
    assert len(sim.contacts) == 1
    force, _ = sim[0].contact_wrench
    assert force[2] == pytest.approx(9.81, rel=1e-3)
    assert sim.profile.steps == 3000


def test_options_say_how_thick_it_is() -> None:
    thin, thick = (tg.Simulation(ball(), method=Viscous(drag=drag)) for drag in (5.0, 50.0))
    thin.step(50)
    thick.step(50)
    assert thick[0].position[2] > thin[0].position[2] + 1e-3


def test_a_hand_feels_it() -> None:
    trace = press(method="viscous")
    assert trace["tool.force"][0, 2] == 0.0
    assert trace["tool.force"][-1, 2] > 1.0  # the hand is 10 mm below the surface


def test_replay_gives_the_same_bits(tmp_path: Path) -> None:
    device = tg.devices.Scripted(lambda t: (0.0, 0.0, 0.02 - 0.1 * t))
    file = tmp_path / "honey.h5"
    first = tg.Session(held(), method=Viscous(drag=7.0), device=device).run(
        0.1, realtime=False, record=file
    )
    again = replay(file)
    assert again.meta["method"] == {"kind": "Viscous", "drag": 7.0, "stiffness": 500.0}
    assert np.array_equal(again.rows, first.rows)


def test_the_command_line_plays_and_lists_it() -> None:
    from tangere.cli import app

    played = CliRunner().invoke(
        app, ["play", "falling-cube", "--method", "viscous", "--headless", "--seconds", "0.05"]
    )
    assert played.exit_code == 0, played.output
    assert "method viscous" in played.output
    listed = CliRunner().invoke(app, ["methods"])
    assert "viscous" in listed.output
    assert "honey" in listed.output


def test_refusals_name_it() -> None:
    with pytest.raises(tg.SceneError, match=r"'viscous' can have: honey"):
        tg.Simulation(ball(), method="viscous", integrator="implicit")
    with pytest.raises(tg.SceneError, match=r"signorini, formation, viscous"):
        tg.Simulation(ball(), method="nosuch")


def test_a_name_is_taken_once() -> None:
    from dataclasses import replace

    methods.register(METHOD)  # the same again: nothing happens
    for name in ("viscous", "volume"):
        with pytest.raises(tg.SceneError, match="exists"):
            methods.register(replace(METHOD, name=name))


def test_the_page_offers_it_with_its_controls() -> None:
    from tangere.viewer.app import page_builder
    from tangere.viewer.frame import Settings
    from tangere.viewer.method_choice import changed, offer, offered
    from tangere.viewer.runner import Runner

    for scene in (ball(), held()):
        assert "viscous" in offered(scene)
    settings = changed(Settings("ball"), "method", "viscous")
    assert settings.integrator == "honey"
    shown = offer(settings, ball())
    assert shown.words == METHOD.words
    assert [control.label for control in shown.controls] == ["Drag", "Carries"]
    thick = changed(settings, "option", ("drag", 50.0))
    runner = Runner(thick, page_builder(lambda name: ball(-0.01)))
    assert runner.built.simulation.method == Viscous(drag=50.0)
    runner.built.simulation.step()
    assert len(runner.built.simulation.contacts) == 1
