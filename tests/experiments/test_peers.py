"""Other engines get the scene that was meant: frames, gravity, the pull."""

from __future__ import annotations

import math
import os
import sys

import numpy as np
import pytest

from tangere.experiments import engine_worlds, peers

ENGINES = peers.installed()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_free_body_keeps_its_world_spin_and_falls(engine: str) -> None:
    half = 0.25 * math.pi
    box = peers.Box(
        (0.2, 0.2, 0.2),
        2.0,
        (0.0, 0.0, 5.0),
        (math.cos(half), math.sin(half), 0.0, 0.0),  # turned about x: body axes are not the world's
        velocity=(1.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 3.0),
    )
    motion = peers.run(engine, peers.Boxes((box,), (0.0, 0.0, -10.0), 0.5, 1e-3, 200, every=20))
    assert motion.time[-1] == pytest.approx(0.2)
    assert motion.position.shape == (11, 1, 3)
    assert motion.angular_velocity[-1, 0] == pytest.approx([0.0, 0.0, 3.0], abs=2e-3)
    assert motion.velocity[-1, 0] == pytest.approx([1.0, 0.0, -2.0], abs=2e-3)
    # first-order integrators: half a step of gravity, 1 mm
    assert motion.position[-1, 0] == pytest.approx([0.2, 0.0, 4.8], abs=2e-3)
    assert motion.step_time > 0.0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_block_at_rest_stays_and_a_pulled_one_follows(engine: str) -> None:
    box = peers.Box((0.1, 0.1, 0.1), 1.0, (0.0, 0.0, 0.05))
    still = peers.run(engine, peers.Boxes((box,), (0.0, 0.0, -9.8), 0.5, 1e-3, 500, every=50))
    assert still.position[-1, 0] == pytest.approx([0.0, 0.0, 0.05], abs=1e-3)
    scene = peers.Boxes(
        (box,), (0.0, 0.0, -9.8), 0.3, 1e-3, 4000, every=100, pull=(50.0, 5.0, 0.05)
    )
    pulled = peers.run(engine, scene)
    # in steady motion the spring holds the sliding friction and the weight moves at its speed
    assert pulled.velocity[-1, 0, 0] == pytest.approx(0.05, rel=0.05)
    stretch = 0.05 * pulled.time[-1] - pulled.position[-1, 0, 0]
    assert 50.0 * stretch == pytest.approx(0.3 * 9.8, rel=0.05)


def test_the_pull_is_a_spring_and_a_damper() -> None:
    box = peers.Box((0.1, 0.1, 0.1), 1.0, (1.0, 0.0, 0.05))
    scene = peers.Boxes((box,), (0.0, 0.0, -9.8), 0.3, 1e-3, 1, pull=(50.0, 2.0, 0.5))
    assert peers.pull_force(scene, 2.0, 1.5, 0.2) == pytest.approx(50.0 * 0.5 + 2.0 * 0.3)
    free = peers.Boxes((box,), (0.0, 0.0, -9.8), 0.3, 1e-3, 1)
    assert peers.pull_force(free, 2.0, 1.5, 0.2) == 0.0


def test_inertia_of_a_box() -> None:
    box = peers.Box((1.0, 2.0, 3.0), 12.0, (0.0, 0.0, 0.0))
    assert np.asarray(box.inertia()) == pytest.approx([13.0, 10.0, 5.0])


def test_an_engine_that_greets_is_kept_from_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    with engine_worlds.quiet():
        sys.stdout.write("hello\n")
        os.write(1, b"hello\n")
    assert capfd.readouterr().out == ""
