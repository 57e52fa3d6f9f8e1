"""Scenes of complex meshes under the penalty method, in a scripted hand."""

from __future__ import annotations

import numpy as np
import pytest

import tangere as tg
from tangere.scene.mesh_library import gear_box, jaws


@pytest.mark.compiled
def test_a_hand_turns_both_gears_of_the_box() -> None:
    """By the ratio of their teeth: 18 in hand on 24, and 24 on 18, less the play of the teeth."""
    scene = gear_box()
    x = float(scene.tools[0].position[0])
    height = float(scene.tools[0].position[2])

    def hand(t: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        near = min(t / 0.3, 1.0)
        near *= near * near * (near * (6.0 * near - 15.0) + 10.0) / max(near, 1e-9)
        turned = max(0.0, t - 0.4)
        where = (x + 0.01 * near, 0.0, height - 1e-3 * near)
        return where, (np.cos(0.5 * turned), 0.0, 0.0, np.sin(0.5 * turned))

    session = tg.Session(scene, method="penalty", device=tg.devices.Scripted(hand))
    simulation = session.contact.simulation
    before = [_turned(simulation, name) for name in ("large gear", "small gear")]
    session.run(1.2, realtime=False)
    large, small = (
        _turned(simulation, name) - was
        for name, was in zip(("large gear", "small gear"), before, strict=True)
    )
    play = 0.06  # [rad], of both pairs of teeth
    assert large == pytest.approx(-0.8 * 18 / 24, abs=play)
    assert small == pytest.approx(0.8, abs=2.0 * play)


def _turned(simulation: tg.Simulation, name: str) -> float:
    """Angle of a body about z [rad]."""
    w, _, _, z = simulation[name].orientation
    return 2.0 * float(np.arctan2(z, w))


@pytest.mark.compiled
def test_a_jaw_that_is_lowered_is_held_by_the_other() -> None:
    scene = jaws()
    tool = scene.tools[0]
    start = np.asarray(tool.position) + np.asarray(tool.grip)
    hand = tg.devices.Scripted(lambda t: start - (0.0, 0.0, 0.012 * min(1.0, t / 0.3)))
    trace = tg.Session(scene, method="penalty", device=hand).run(0.4, realtime=False)
    assert np.isfinite(trace["tool.force"]).all()
    assert trace["tool.force"][-1, 2] > 1.0
    assert not trace["fault"].any()
