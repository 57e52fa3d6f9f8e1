"""Sessions on the virtual clock: physics that reaches the hand, determinism, errors in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from session.scenes import RUBBER, START, push, pushed_block

import tangere as tg
from tangere.session.session import Session

Lenient: Any = Session  # called with wrong types on purpose


def run(scene: tg.Scene, hand: Any = push, seconds: float = 0.8, **options: Any) -> tg.Trace:
    device = tg.devices.Scripted(hand)
    return tg.Session(scene, device=device, **options).run(seconds, realtime=False)


def test_hand_in_free_space_feels_nothing() -> None:
    trace = run(pushed_block(), lambda t: START, 0.2)
    assert np.abs(trace["device.force"]).max() < 1e-12
    np.testing.assert_allclose(trace["tool.position"][-1], START, atol=1e-12)


def test_pushing_hand_feels_the_spring_and_the_block_its_push() -> None:
    """The block still sticks: 3.5 mm of 300 N/m is 1.05 N, less than μ₀ m g = 1.18 N."""
    session = tg.Session(pushed_block(), device=tg.devices.Scripted(push))
    trace = session.run(0.8, realtime=False)
    into = push(0.8)[0] + 0.02 + 0.05  # of the hand beyond the block's face
    contact = trace["tool.force"][-1]
    # coupling and contact springs in series; the contact's are at least 10 kN/m
    assert 300.0 * into * 0.96 < -contact[0] < 300.0 * into * 1.001
    np.testing.assert_allclose(trace["device.force"][-1], contact, atol=2e-4)
    # action = reaction: what the tool gives is what the scene has on the block
    force, _ = session.simulation["block"].contact_wrench
    floor = 0.2 * 9.81
    assert abs(force[2] - floor) < 1e-3 * floor
    assert abs(session.simulation["block"].velocity[0]) < 1e-4


def test_point_method_is_felt_too() -> None:
    """One point at a time: the cube tips over it, so no more is asked than a force that pushes."""
    trace = run(pushed_block(), method="point")
    assert np.all(np.isfinite(trace.rows))
    assert -trace["tool.force"][:, 0].min() > 0.2


def test_block_gives_way_when_pushed_harder() -> None:
    def slowly_on(t: float) -> tuple[float, float, float]:
        return (START[0] + min(0.1 * t, 0.05) + 0.02 * max(t - 0.5, 0.0), 0.0, 0.05)

    session = tg.Session(pushed_block(), device=tg.devices.Scripted(slowly_on))
    trace = session.run(1.5, realtime=False)
    pressing = -trace["tool.force"][:, 0]
    # it breaks loose at μ₀ m g and slides at μ m g or more
    assert abs(pressing.max() - 0.6 * 0.2 * 9.81) < 0.05 * 0.6 * 0.2 * 9.81
    assert session.simulation["block"].position[0] > 0.01
    # the force has no jumps: 0.1 m/s × 300 N/m are 0.03 N per tick, the rest is the tool's damper
    assert np.abs(np.diff(trace["coupling.force"], axis=0)).max() < 0.1


def test_direct_coupling_puts_the_tool_where_the_hand_is() -> None:
    scene = pushed_block(
        coupling=tg.DirectCoupling(), material=tg.Material(0.6, 0.5, stiffness=250.0)
    )
    trace = run(scene)
    np.testing.assert_allclose(trace["tool.position"], trace["hand.position"], atol=1e-12)
    depth = push(0.8)[0] + 0.02 + 0.05
    assert abs(-trace["device.force"][-1, 0] - 250.0 * depth) < 0.05 * 250.0 * depth


def test_weight_that_two_hands_carry_is_felt_by_both() -> None:
    """A block held between two plates in the air: each hand carries half of it."""
    scene = tg.Scene()
    mass = 0.2
    scene.add_body(
        tg.Box((0.1, 0.1, 0.1)), mass=mass, position=(0, 0, 0), material=RUBBER, name="block"
    )
    coupling = tg.VirtualCoupling(stiffness=500.0, damping=3.0, rotational_stiffness=3.0)
    for side, name in ((-1, "left"), (1, "right")):
        scene.add_tool(
            tg.Box((0.02, 0.12, 0.12)),
            mass=0.05,
            position=(0.06 * side, 0, 0),
            material=RUBBER,
            coupling=coupling,
            name=name,
        )

    def closing(side: float) -> tg.devices.Scripted:
        return tg.devices.Scripted(lambda t: (side * (0.06 - min(t / 0.02, 1.0) * 0.01), 0.0, 0.0))

    hands = [closing(side) for side in (-1.0, 1.0)]
    session = tg.Session(scene, device=hands)
    trace = session.run(1.0, realtime=False)
    for name in ("left", "right"):
        felt = trace[f"{name}.device.force"][-100:, 2].mean()
        assert abs(-felt - 0.5 * mass * 9.81) < 0.01 * mass * 9.81
    assert np.linalg.norm(session.simulation["block"].velocity) < 1e-5  # it does not creep


@pytest.mark.parametrize("period", [1, 2, 5])
@pytest.mark.parametrize("contact", ["planes", "linear"])
def test_slow_contact_loop_leaves_the_hand_calm(period: int, contact: str) -> None:
    trace = run(pushed_block(), contact_rate=1000.0 / period, contact=contact, latency=1)
    force = trace["coupling.force"][-200:, 0]
    # contacts of a slow loop are softer: 2 kN/m in series with the coupling at 200 Hz
    assert 0.85 < force.mean() < 1.06
    assert np.abs(np.diff(force)).max() < 5e-3


def test_same_hand_gives_the_same_trace_in_two_processes() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from session.scenes import push, pushed_block\n"
        "import tangere as tg\n"
        "session = tg.Session(pushed_block(), device=tg.devices.Scripted(push))\n"
        "print(session.run(0.7, realtime=False).hash())\n"
    )
    here = str(Path(__file__).parents[1])
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code, here], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(hashes) == 1
    trace = run(pushed_block(), seconds=0.7)
    assert hashes == {trace.hash() + "\n"}
    other = run(pushed_block(), lambda t: (*push(t)[:2], 0.051), 0.7)
    assert other.hash() != trace.hash()


def test_penalty_method_pushes_the_same_block() -> None:
    """Through distance fields: 2 kN/m and a tolerance of 0.5 mm, no friction at the tool."""
    session = tg.Session(pushed_block(), method="penalty", device=tg.devices.Scripted(push))
    trace = session.run(0.8, realtime=False)
    into = push(0.8)[0] + 0.02 + 0.05
    assert 300.0 * into * 0.8 < -trace["tool.force"][-1, 0] < 300.0 * into * 1.2
    np.testing.assert_allclose(trace["device.force"][-1], trace["tool.force"][-1], atol=5e-3)


@pytest.mark.parametrize("method", ["volume", "penalty"])
def test_hand_with_nothing_new_stays_itself(method: str) -> None:
    """A contact loop faster than the servos takes no hand for the other one."""
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    for x, name in ((-0.2, "left"), (0.2, "right")):
        scene.add_tool(tg.Box((0.04, 0.04, 0.04)), position=(x, 0.0, 0.0), name=name)
    hands = [tg.devices.Scripted(lambda t: (0.0, 0.0, 0.0)) for _ in range(2)]
    session = tg.Session(scene, method=method, device=hands)
    for _ in range(3):
        session.contact.turn()
    session.contact.again()
    np.testing.assert_allclose(session.simulation.positions[:, 0], (-0.2, 0.2), atol=1e-9)


def test_recorded_and_loaded_trace_has_the_same_hash(tmp_path: Path) -> None:
    trace = tg.Session(pushed_block(), device=tg.devices.Scripted(push)).run(
        0.3, realtime=False, record=tmp_path / "a.h5"
    )
    assert tg.Trace.load(tmp_path / "a.h5").hash() == trace.hash()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rate": 0}, "rate"),
        ({"rate": float("nan")}, "rate"),
        ({"rate": "fast"}, "rate"),
        ({"contact_rate": 300}, "does not divide"),
        ({"contact_rate": 2000}, "contact_rate"),
        ({"contact": "soft"}, "unknown contact"),
        ({"tool_step": "magic"}, "unknown tool_step"),
        ({"method": "magic"}, "unknown method"),
        ({"latency": -1}, "latency"),
        ({"device": "no-such"}, "no device 'no-such'"),
        ({"device": ["hand", "hand"]}, "2 devices for 1 tools"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], words: str) -> None:
    given = {"device": tg.devices.Scripted(push), **options}
    with pytest.raises((tg.SceneError, tg.DeviceError), match=words) as error:
        Lenient(pushed_block(), **given)
    assert "\n" not in str(error.value)


def test_scene_without_a_tool_and_session_used_twice_are_refused() -> None:
    scene = tg.Scene()
    scene.add_body(tg.Box((0.1, 0.1, 0.1)))
    with pytest.raises(tg.SceneError, match="no tool"):
        tg.Session(scene)
    with pytest.raises(tg.SceneError, match="needs a Scene"):
        Lenient("scene")
    session = tg.Session(pushed_block(), device=tg.devices.Scripted(push))
    with pytest.raises(tg.SceneError, match="does not run"):
        session.stop()
    session.run(0.01, realtime=False)
    with pytest.raises(tg.SceneError, match="runs once"):
        session.run(0.01, realtime=False)


def test_real_device_has_no_virtual_clock() -> None:
    session = tg.Session(pushed_block(), device="browser")
    with pytest.raises(tg.SceneError, match="real time only"):
        session.run(0.1, realtime=False)
    with pytest.raises(tg.SceneError, match="give seconds"):
        tg.Session(pushed_block(), device=tg.devices.Scripted(push)).run(realtime=False)
