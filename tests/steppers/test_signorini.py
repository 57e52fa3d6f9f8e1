"""The signorini step on rigid bodies: the laws of contact, towers, friction, impacts, energy."""

from __future__ import annotations

import numpy as np
import pytest

import tangere as tg

G = 9.81


def tower(count: int, dt: float, method: str = "signorini") -> tg.Simulation:
    scene = tg.Scene()
    scene.add_floor()
    for i in range(count):
        scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0.0, 0.0, 0.05 + 0.1 * i))
    return tg.Simulation(scene, method=method, dt=dt)


def slope(mu: float, angle: float, dt: float = 1e-3) -> tg.Simulation:
    scene = tg.Scene(gravity=(G * np.sin(angle), 0.0, -G * np.cos(angle)))
    rough = tg.Material(mu, mu)
    scene.add_floor(material=rough)
    scene.add_body(tg.Box((0.2, 0.2, 0.1)), mass=1.0, position=(0.0, 0.0, 0.05), material=rough)
    return tg.Simulation(scene, method="signorini", dt=dt)


@pytest.mark.nojit
def test_two_blocks_rest_without_sinking() -> None:
    sim = tower(2, 5e-3)
    sim.step(20)
    assert sim.positions[:, 2] == pytest.approx((0.05, 0.15), abs=1e-9)
    assert sim.contacts["depth"].max() < 1e-9
    rows = sim.contacts
    carried = rows["force"][rows["body_a"] == -1].sum(axis=0)
    assert carried == pytest.approx((0.0, 0.0, 2.0 * G), abs=1e-5)


def test_thirteen_blocks_stand() -> None:
    """At 5 ms; penetration far below what a spring would need."""
    sim = tower(13, 5e-3)
    deepest = 0.0
    for _ in range(40):
        sim.step(50)
        deepest = max(deepest, float(sim.contacts["depth"].max(initial=0.0)))
    assert sim.positions[:, :2] == pytest.approx(np.zeros((13, 2)), abs=1e-7)
    assert sim.positions[:, 2] == pytest.approx(0.05 + 0.1 * np.arange(13), abs=1e-7)
    assert deepest < 1e-6
    assert sim.audit.residual < 1e-7


@pytest.mark.nojit
@pytest.mark.parametrize("share", [0.95, 1.05])
def test_a_block_slides_beyond_the_angle_of_friction(share: float) -> None:
    mu = 0.5
    angle = float(np.arctan(mu) * share)
    sim = slope(mu, angle)
    sim.step(200)
    # a = g (sin α − μ cos α)
    expected = max(0.0, G * (np.sin(angle) - mu * np.cos(angle)) * 0.2)
    assert sim[0].velocity[0] == pytest.approx(expected, abs=2e-6)
    assert bool(sim.contacts["sticking"].all()) == (share < 1.0)


def test_a_ball_rolls_down_a_slope() -> None:
    """5/7 g sin α without slip."""
    angle = 0.2
    scene = tg.Scene(gravity=(G * np.sin(angle), 0.0, -G * np.cos(angle)))
    scene.add_floor()
    scene.add_body(tg.Sphere(0.05), mass=1.0, position=(0.0, 0.0, 0.05))
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    sim.step(500)
    assert sim[0].velocity[0] == pytest.approx(5.0 / 7.0 * G * np.sin(angle) * 0.5, rel=1e-6)
    assert sim[0].angular_velocity[1] == pytest.approx(sim[0].velocity[0] / 0.05, rel=1e-6)


@pytest.mark.nojit
@pytest.mark.parametrize("bounce", [0.0, 0.5, 1.0])
def test_restitution_is_the_ratio_of_speeds(bounce: float) -> None:
    scene = tg.Scene()
    hard = tg.Material(restitution=bounce)
    scene.add_floor(material=hard)
    scene.add_body(
        tg.Sphere(0.05),
        mass=1.0,
        position=(0.0, 0.0, 0.0511),
        velocity=(0.0, 0.0, -1.0),
        material=hard,
    )
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    speeds = []
    for _ in range(4):
        before = sim[0].velocity[2]
        sim.step()
        speeds.append((before, sim[0].velocity[2]))
    before, after = next(pair for pair in speeds if pair[1] > pair[0] or pair[1] >= 0.0)
    # the step in which it meets has gravity, too
    assert after == pytest.approx(-bounce * before, abs=0.11)


@pytest.mark.nojit
def test_books_explain_every_joule() -> None:
    """A block that lands, slides and stops: what it had is in the books, to rounding."""
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(
        tg.Box((0.2, 0.1, 0.1)),
        mass=2.0,
        position=(0.0, 0.0, 0.055),
        velocity=(0.6, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 1.0),
    )
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    start = sim.energy.total
    for _ in range(60):
        sim.step()
        # rotation about the normal alone: implicit Euler loses just what the books say
        assert abs(sim.audit.error) < 1e-9
    book = sim.audit
    assert book.friction > 0.0
    lost = book.friction + book.normal + book.step + book.springs
    assert start - sim.energy.total == pytest.approx(lost - book.work, abs=1e-7)


@pytest.mark.nojit
def test_a_spring_to_the_world_holds_a_body() -> None:
    """Stiff springs are taken at the end of the step: k dt² = 100 m and no trouble."""
    scene = tg.Scene()
    body = scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=1.0)
    scene.add_spring(body, anchor_b=(0.0, 0.0, 0.0), stiffness=1e6, damping=10.0)
    scene.add_spring(
        body, anchor_a=(0.05, 0.0, 0.0), anchor_b=(0.0, 0.0, 0.3), stiffness=1e4, rest_length=0.3
    )
    sim = tg.Simulation(scene, method="signorini", dt=1e-2)
    sim.step(300)
    assert np.abs(sim[0].velocity).max() < 1e-6
    total = sim.spring_forces.sum(axis=0)
    assert total == pytest.approx((0.0, 0.0, G), abs=1e-4)


@pytest.mark.nojit
def test_springs_between_bodies_are_refused_in_one_line() -> None:
    scene = tg.Scene()
    a, b = (scene.add_body(tg.Sphere(0.1), position=(x, 0.0, 0.0)) for x in (0.0, 1.0))
    scene.add_spring(a, b, stiffness=10.0)
    with pytest.raises(tg.SceneError, match="springs between a body and the world alone"):
        tg.Simulation(scene, method="signorini")


@pytest.mark.nojit
def test_options_are_checked() -> None:
    for bad in (
        {"solver": "magic"},
        {"tolerance": 0.0},
        {"max_sweeps": 0},
        {"recovery_speed": -1.0},
    ):
        with pytest.raises(tg.SceneError, match="Signorini"):
            tg.Signorini(**bad)


def test_overlap_is_undone_at_the_recovery_speed() -> None:
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Box((0.1, 0.1, 0.1)), position=(0.0, 0.0, 0.045))
    sim = tg.Simulation(scene, method=tg.Signorini(recovery_speed=0.1), dt=1e-3)
    sim.step(25)
    assert sim[0].position[2] == pytest.approx(0.045 + 25e-4, abs=1e-6)
    sim.step(200)
    assert sim[0].position[2] == pytest.approx(0.05, abs=2e-5)


def test_room_grows_and_nothing_changes() -> None:
    """More contacts than the first room: a row of blocks beside each other, one group."""
    scene = tg.Scene()
    scene.add_floor()
    for i in range(12):
        scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0.1 * i, 0.0, 0.05))
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    sim.step(20)
    assert sim.positions[:, 2] == pytest.approx(0.05, abs=1e-8)


def test_moving_belt_carries_a_block() -> None:
    """A fixed body that moves gives its speed by friction, and the work is in the books."""
    scene = tg.Scene()
    scene.add_body(
        tg.Box((4.0, 1.0, 0.1)), position=(0.0, 0.0, -0.05), velocity=(0.2, 0.0, 0.0), fixed=True
    )
    scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0.0, 0.0, 0.05))
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    sim.step(300)
    assert sim[1].velocity == pytest.approx((0.2, 0.0, 0.0), abs=1e-6)
    # μ m g d of the belt's way is twice the block's kinetic energy: half went to friction
    assert sim.audit.work == pytest.approx(1.0 * 0.2**2, rel=0.02)
