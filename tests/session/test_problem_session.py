"""Contact laws at the servo's rate: a scene at 100 Hz is felt as one at 1 kHz."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tangere as tg
from tangere.fem.grids import box_grid
from tangere.haptics.layout import (
    CONTACT_FORCE,
    MAX_CONTACTS,
    NCONTACT,
    PROBLEM_CONTACTS,
    PROBLEM_COUNT,
)
from tangere.session.session import Session

MU = 0.4
GRIPPY = tg.Material(MU, MU)
HELD = tg.VirtualCoupling(
    stiffness=500.0, damping=3.0, rotational_stiffness=2.0, rotational_damping=0.02, max_force=50.0
)


def with_block() -> tg.Scene:
    """A rigid block in hand, just above a floor."""
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_floor(material=GRIPPY)
    box = tg.Box((0.04, 0.04, 0.02))
    scene.add_tool(box, mass=0.05, position=(0, 0, 0.0101), material=GRIPPY, coupling=HELD)
    return scene


def with_pad(cells: tuple[int, int, int], turn: float = 0.0) -> tg.Scene:
    """A soft pad in hand just above a floor, turned about y [rad] so that one side is lower."""
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_floor(material=GRIPPY)
    mesh = box_grid((0.02, 0.02, 0.01), cells)
    z = mesh.vertices[:, 2]
    scene.add_soft_body(
        mesh,
        young=3e5,
        poisson=0.3,
        mass=0.05,
        damping=1e-3,
        order=1,
        handle=np.flatnonzero(z > 0.004),
        contact=np.flatnonzero(z < -0.004),
        position=(0.0, 0.0, 0.0051 + 0.01 * abs(np.sin(turn))),
        orientation=(np.cos(0.5 * turn), 0.0, np.sin(0.5 * turn), 0.0),
        material=GRIPPY,
        coupling=HELD,
    )
    return scene


def felt(scene: tg.Scene, rate: float, seconds: float, **options: Any) -> NDArray[np.float64]:
    """Force at a device that presses down, then pulls aside and back."""
    start = scene.tools[0].position

    def hand(t: float) -> tuple[float, float, float]:
        aside = 0.006 * np.sin(2.0 * np.pi * max(0.0, t - 0.1))
        return (float(aside), 0.0, float(start[2] - 0.004 * min(t / 0.1, 1.0)))

    session = Session(
        scene,
        method="signorini",
        device=tg.devices.Scripted(hand),
        contact_rate=rate,
        **options,
    )
    force: NDArray[np.float64] = session.run(seconds, realtime=False)["device.force"]
    return force


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("rate", [250.0, 100.0])
def test_a_slow_scene_is_felt_as_a_fast_one(soft: bool, rate: float) -> None:
    def scene() -> tg.Scene:
        return with_pad((2, 2, 2)) if soft else with_block()

    exact = felt(scene(), 1000.0, 0.7)
    problem = felt(scene(), rate, 0.7)
    held = felt(scene(), rate, 0.7, contact="held")
    size = np.sqrt(np.mean(exact**2))

    def error(force: NDArray[np.float64]) -> float:
        return float(np.sqrt(np.mean((force - exact) ** 2)) / size)

    assert error(problem) < 0.03
    assert error(problem) < 0.5 * error(held)
    # it slips, and Coulomb's law is felt: |f_t| = μ f_n while the hand moves evenly
    sliding = problem[250:300]
    np.testing.assert_allclose(np.abs(sliding[:, 0]), MU * sliding[:, 2], rtol=0.05)


def test_contacts_that_press_are_handed_over_first() -> None:
    """36 vertices are near the floor, more than the problem has room for, and those last named
    press: the pad leans on its side at +x."""
    scene = with_pad((5, 5, 1), turn=0.004)
    start, turned = scene.tools[0].position, scene.tools[0].orientation

    def hand(t: float) -> Any:
        return (0.0, 0.0, float(start[2]) - 0.005 * t), turned

    session = Session(
        scene, method="signorini", device=tg.devices.Scripted(hand), contact_rate=100.0
    )
    pressing = 0
    for_servo = session.rigs[0].problem

    def compare() -> None:
        nonlocal pressing
        count = int(for_servo[PROBLEM_COUNT])
        rows = for_servo[PROBLEM_CONTACTS : PROBLEM_CONTACTS + NCONTACT * count]
        forces = np.sort(rows.reshape(count, NCONTACT)[:, CONTACT_FORCE])
        there = np.sort(session.simulation.contacts["force"] @ (0.0, 0.0, 1.0))
        most = min(MAX_CONTACTS, len(there))
        np.testing.assert_allclose(forces[count - most :], there[len(there) - most :])
        if count == MAX_CONTACTS and 0 < len(there) < MAX_CONTACTS:
            pressing += 1

    session.run(0.2, realtime=False, each=compare)
    assert pressing >= 2


@pytest.mark.nojit
def test_a_block_is_felt_in_plain_python_too() -> None:
    scene = with_block()
    start = scene.tools[0].position
    session = Session(
        scene,
        method="signorini",
        device=tg.devices.Scripted(lambda t: (0.0, 0.0, float(start[2]) - 0.2 * t)),
        contact_rate=500.0,
    )
    force = session.run(0.006, realtime=False)["device.force"]
    # pressed 1.1 mm in at the end, and the block stays on the floor
    assert 0.3 < force[-1, 2] < 2.0
    assert session.rigs[0].problem[PROBLEM_COUNT] >= 3
