"""The spring between mouse and body."""

from __future__ import annotations

import numpy as np
import pytest

from tangere.geometry.shapes import Box
from tangere.scene.library import build
from tangere.scene.scene import Scene
from tangere.simulation import Simulation
from tangere.viewer.hand import MOST_WEIGHTS, SAG, Grip

GRAVITY = 9.81
H = 4e-3  # [s] between two impulses, of 4 steps


def hanging(mass: float) -> tuple[Scene, Simulation]:
    scene = Scene()
    scene.add_body(Box((0.2, 0.1, 0.1)), mass=mass, position=(0, 0, 1))
    return scene, Simulation(scene)


@pytest.mark.compiled
@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e3])
def test_a_held_body_comes_to_rest_below_the_hand(mass: float) -> None:
    """Held off its centre it swings out and hangs from the held point.

    It hangs lower by m g/k, and by what the damper adds: the body falls between two impulses, so
    right after one it rises with 5/8 g h (it loses g h over four steps, the mean being zero).
    """
    scene, simulation = hanging(mass)
    hand = np.array([0.1, 0.0, 1.0])
    grip = Grip(simulation, scene, 0, hand, hand)
    for _ in range(3000):
        pull = grip.pull(simulation, H)
        simulation.step(4)
    assert pull.force == pytest.approx(mass * GRAVITY, rel=0.01)
    rising = 5 / 8 * GRAVITY * H
    size = (0.2 * 0.1 * 0.1) ** (1 / 3)
    sag = SAG * size + (H + 2.0 / grip.frequency) * rising
    assert hand[2] - pull.point[2] == pytest.approx(sag, rel=0.01)
    # The centre of mass ends below the held point: it has swung, not stayed level.
    assert pull.point[2] - simulation[0].centre[2] > 0.09


def test_a_far_hand_pulls_no_harder_than_its_limit() -> None:
    scene, simulation = hanging(2.0)
    grip = Grip(simulation, scene, 0, np.array([0.0, 0.0, 1.0]), np.array([50.0, 0.0, 1.0]))
    pull = grip.pull(simulation, H)
    assert pull.limited
    assert pull.force == pytest.approx(MOST_WEIGHTS * 2.0 * GRAVITY)
    gained = simulation[0].velocity
    np.testing.assert_allclose(gained, [MOST_WEIGHTS * GRAVITY * H, 0, 0], atol=1e-12)


def test_pulling_at_a_corner_turns_the_body_by_the_impulse_about_its_centre() -> None:
    scene, simulation = hanging(1.0)
    corner = np.array([0.1, 0.05, 1.05])
    grip = Grip(simulation, scene, 0, corner, corner + np.array([0.0, 0.0, 0.01]))
    grip.pull(simulation, H)
    impulse = simulation[0].velocity * 1.0
    expected = np.cross(corner - [0, 0, 1], impulse)
    np.testing.assert_allclose(simulation[0].angular_momentum, expected, atol=1e-12)
    assert impulse[2] > 0.0


@pytest.mark.compiled
@pytest.mark.parametrize("direction", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1)])
def test_a_hard_pull_on_a_block_in_a_stack_gives_no_more_than_its_work(
    direction: tuple[int, int, int],
) -> None:
    """The middle block of the lowest row, with the hand far away: the force is at its limit.

    It holds the centre and turns nothing, so it gives what the body's speed gains by each impulse.
    No contact may add to that.
    """
    scene = build("blocks")
    simulation = Simulation(scene)
    simulation.step(200)
    centre = simulation[1].centre
    grip = Grip(simulation, scene, 1, centre, centre + 5.0 * np.array(direction))
    mass = scene.bodies[1].mass
    energy, work = simulation.energy.total, 0.0
    for _ in range(100):
        before = simulation[1].velocity
        pull = grip.pull(simulation, H)
        after = simulation[1].velocity
        work += 0.5 * mass * float(after @ after - before @ before)
        simulation.step(4)
        # A contact may give a little more than it has: 2e-7 of size times force, 0.1 m and 5 N.
        assert simulation.energy.total <= energy + work + 1e-7
    assert pull.limited
    moved = float(np.linalg.norm(simulation[1].centre - centre))
    # The floor holds what is pushed down; everything else comes out of the stack.
    assert moved < 1e-5 if direction[2] < 0 else moved > 0.1
