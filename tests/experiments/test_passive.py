"""Random passive scenes: the same for the same seed, within their ranges, clear of each other."""

from __future__ import annotations

import numpy as np
import pytest

import tangere as tg
from tangere.experiments.passive import (
    CATEGORIES,
    FRICTION,
    GRAVITY,
    STEP,
    STIFFNESS,
    trial,
)
from tangere.maths.rotations import rotation_of

ROUNDING = 1e-9  # [m] stacked things touch
SEEDS = range(10 * len(CATEGORIES))


def test_a_seed_gives_one_scene() -> None:
    for seed in range(len(CATEGORIES)):
        first, again = trial(seed), trial(seed)
        assert first.scene == again.scene
        assert (first.category, first.dt) == (again.category, again.dt)
        assert trial(seed + len(CATEGORIES)).category == first.category
        assert trial(seed + len(CATEGORIES)).scene != first.scene
    assert trial(3).words().startswith("seed 3 (heap, ")


def test_every_shape_and_category_is_drawn() -> None:
    trials = [trial(seed) for seed in SEEDS]
    assert {each.category for each in trials} == set(CATEGORIES)
    shapes = {type(body.shape) for each in trials for body in each.scene.bodies}
    assert shapes == {
        *(tg.Box, tg.Sphere, tg.Cylinder, tg.Cone, tg.Capsule, tg.Convex, tg.Mesh, tg.Compound)
    }
    spins = [
        np.linalg.norm(body.angular_velocity)
        for each in trials
        for body in each.scene.bodies
        if body.name.startswith("top")
    ]
    assert min(spins) > 30.0 > 100.0 - max(spins)
    assert all(bool(each.scene.springs) == (each.category == "springs") for each in trials)


def test_numbers_stay_in_their_ranges_and_reach_their_ends() -> None:
    ratios, stiffness, steps, damping, friction = [], [], [], [], []
    for seed in SEEDS:
        each = trial(seed)
        bodies = each.scene.bodies
        assert 2 <= len(bodies) <= 20
        masses = [body.mass for body in bodies]
        ratios.append(max(masses) / min(masses))
        stiffness += [body.material.stiffness or 0.0 for body in bodies]
        friction += [body.material.static_friction for body in bodies]
        damping += [body.material.damping for body in bodies]
        steps.append(each.dt)
        assert each.scene.gravity.tolist() == [0.0, 0.0, -GRAVITY]
        assert [floor.height for floor in each.scene.floors] == [0.0]
        assert not any(spring.velocity.any() for spring in each.scene.springs)
    assert max(ratios) == pytest.approx(1000.0)
    assert STIFFNESS[0] <= min(stiffness) < 1e1 * STIFFNESS[0]
    assert STIFFNESS[1] >= max(stiffness) > 1e-1 * STIFFNESS[1]
    assert STEP[0] <= min(steps) < 1.2 * STEP[0]
    assert STEP[1] >= max(steps) > 0.8 * STEP[1]
    assert 0.0 == min(friction) < max(friction) <= FRICTION
    assert 0.0 in damping


@pytest.mark.parametrize("seed", SEEDS)
def test_bodies_start_clear_of_the_floor_and_of_each_other(seed: int) -> None:
    scene = trial(seed).scene
    reach = []
    for body in scene.bodies:
        vertices, _ = body.shape.surface()
        reach.append(np.linalg.norm(vertices, axis=1).max())
        lowest = (vertices @ rotation_of(body.orientation).T + body.position)[:, 2].min()
        assert lowest > -ROUNDING
    for i, a in enumerate(scene.bodies):
        for j, b in enumerate(scene.bodies[:i]):
            if np.linalg.norm(a.position - b.position) < reach[i] + reach[j]:
                poses = (a.position, a.orientation), (b.position, b.orientation)
                gap = tg.distance(a.shape, poses[0], b.shape, poses[1]).distance
                assert gap > -ROUNDING, f"{a.name} in {b.name}"
