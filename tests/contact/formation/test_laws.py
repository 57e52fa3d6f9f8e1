"""Laws of the force model: turned worlds, determinism, action and reaction, energy, limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from contact.formation.scenes import (
    BALL_INERTIA,
    BALL_RADIUS,
    DT,
    MASS,
    SHARP,
    Log,
    Row,
    ball,
    block,
    play,
    row,
    upright,
)
from scipy.spatial.transform import Rotation

from tangere.contact.formation.columns import (
    KEPT,
    OUT_FRICTION,
    OUT_PRESS,
    RES_FADE,
    RES_FADE_TIME,
    RES_FRICTION,
    RES_INERTIA,
    RES_STORED,
    RES_TYPE,
    RES_WORK,
    RES_WRENCH,
)
from tangere.contact.formation.options import Formation
from tangere.contact.formation.wrench import new_forces
from tangere.errors import SceneError
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

FACE = np.array([[-0.02, -0.01, 0], [0.02, -0.01, 0], [0.02, 0.01, 0], [-0.02, 0.01, 0]])
Contacts = Callable[[Array, Array], list[Row]]


def wander(count: int, seed: int, size: float = 1.0) -> tuple[Array, Array]:
    """Smooth positions about (0, 0, 20.6 mm) and small turns, at rest in the beginning."""
    rng = np.random.default_rng(seed)
    t = DT * np.arange(count)
    u = np.clip(t / 0.15, 0.0, 1.0)
    begin = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
    waves = np.zeros((count, 6))
    for _ in range(3):
        phase, rate = rng.uniform(0.0, 2.0 * np.pi, 6), rng.uniform(2.0, 15.0, 6)
        waves += np.sin(rate * t[:, None] + phase) * begin[:, None]
    path = size * waves[:, :3] * [2e-3, 2e-3, 1.5e-4] + [0.0, 0.0, 0.0206]
    vectors = size * waves[:, 3:] * [2e-3, 2e-3, 0.1]
    return path, np.asarray(Rotation.from_rotvec(vectors).as_quat()[:, [3, 0, 1, 2]])


def all_sorts(turn: Array) -> Contacts:
    """A face on the floor, an edge on a wall and a point on another, in a turned world."""

    def contacts(position: Array, quaternion: Array) -> list[Row]:
        x = turn.T @ position
        r = turn.T @ rotation_of(quaternion)
        found = []
        for name, (corners, n, offset) in enumerate(
            [
                (FACE - [0.0, 0.0, 0.02], np.array([0.0, 0.0, 1.0]), 0.0),
                (np.array([[-0.02, -0.01, 0.01], [-0.02, 0.01, 0.01]]), np.eye(3)[0], -0.0204),
                (np.array([[0.0, 0.02, 0.0]]), -np.eye(3)[1], -0.021),
            ],
            1,
        ):
            on_a = corners @ r.T + x
            gaps = on_a @ n - offset
            if gaps.min() > 1e-3:
                continue
            on_b = on_a - gaps[:, None] * n
            tangent = np.array([0.6, 0.0, 0.8]) if name == 3 else np.array([0.0, 1.0, 0.0])
            found.append(
                row(on_b @ turn.T, turn @ n, list(gaps), name=name, tangent=turn @ tangent)
            )
        return found

    return contacts


@pytest.mark.parametrize("options", [Formation(), replace(Formation(), stick="printed")])
def test_a_turned_world_gives_the_turned_wrench(options: Formation) -> None:
    path, quaternions = wander(400, 1)
    plain = play(ball(options), path, quaternions, all_sorts(np.eye(3)))
    turn = Rotation.from_rotvec([0.7, -1.1, 0.4])
    matrix = turn.as_matrix()
    turned = (turn * Rotation.from_quat(quaternions[:, [1, 2, 3, 0]])).as_quat()[:, [3, 0, 1, 2]]
    other = play(ball(options), path @ matrix.T, turned, all_sorts(matrix))
    wrench = plain.column(RES_WRENCH, 6)
    assert len(set(plain.column(RES_TYPE))) > 2
    assert np.linalg.norm(wrench[:, :3], axis=1).max() > 0.5
    expected = np.hstack([wrench[:, :3] @ matrix.T, wrench[:, 3:] @ matrix.T])
    assert other.column(RES_WRENCH, 6) == pytest.approx(expected, abs=1e-9)


def test_the_same_poses_give_the_same_digits() -> None:
    path, quaternions = wander(300, 2)
    first, second = (
        play(ball(Formation()), path, quaternions, all_sorts(np.eye(3))) for _ in range(2)
    )
    assert np.array_equal(first.results, second.results)
    assert np.array_equal(first.outs, second.outs)


def test_the_wrench_is_the_sum_of_its_contacts_and_what_fades() -> None:
    path, quaternions = wander(300, 3)
    log = play(ball(Formation()), path, quaternions, all_sorts(np.eye(3)))
    for result, out in zip(log.results, log.outs, strict=True):
        used = out[: int(result[14])]
        parts = used[:, OUT_PRESS : OUT_PRESS + 6].sum(0)
        friction = used[:, OUT_FRICTION : OUT_FRICTION + 6].sum(0)
        assert result[RES_FRICTION : RES_FRICTION + 6] == pytest.approx(friction, abs=1e-15)
        total = parts + friction + result[RES_FADE : RES_FADE + 6]
        assert result[RES_WRENCH : RES_WRENCH + 6] == pytest.approx(total, abs=1e-15)


def test_action_and_reaction() -> None:
    """Two bodies change parts: the same relative motion, the normal and the points the other's.

    Along the surface, as the part of a twist that a contact blocks depends on which body is held.
    """
    path, _ = wander(400, 4)
    path[:, 2] = 0.0205

    def gap_of(x: Array) -> float:
        return float(x[2] - 0.02)

    def held_above(x: Array, q: Array) -> list[Row]:
        gap = gap_of(x)
        found = row(x - [0.0, 0.0, 0.02 + gap], [0.0, 0.0, 1.0], gap)
        return [found] if gap < 1e-3 else []

    def held_below(x: Array, q: Array) -> list[Row]:
        gap = gap_of(-x)
        found = row(np.array([0.0, 0.0, 0.0]), [0.0, 0.0, -1.0], gap)
        return [found] if gap < 1e-3 else []

    one = play(ball(Formation()), path, upright(400), held_above).column(RES_WRENCH, 3)
    other = play(ball(Formation()), -path, upright(400), held_below).column(RES_WRENCH, 3)
    assert np.abs(one).max() > 0.5
    assert other == pytest.approx(-one, abs=1e-12)


# ---------------------------------------------------------------- energy
def on_floor(x: Array, q: Array) -> list[Row]:
    gap = float(x[2]) - 0.02
    return [row(x - [0.0, 0.0, x[2]], [0.0, 0.0, 1.0], gap)]


def test_springs_give_back_what_they_were_given() -> None:
    """Pressed and pushed aside within the limit of friction, without a damper, there and back."""
    t = DT * np.arange(400)
    wave = np.sin(np.pi * t / 0.4) ** 2
    path = np.stack([3e-4 * wave, -1e-4 * wave, 0.0205 - 4e-4 * wave], axis=1)
    log = play(ball(replace(SHARP, damping=0.0)), path, upright(400), on_floor)
    work, stored = log.column(RES_WORK), log.column(RES_STORED)
    assert stored.max() > 7e-4
    assert work == pytest.approx(stored - stored[0], abs=1e-15)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("damping", [0.0, 5.0])
def test_a_formation_that_is_kept_gives_no_energy(seed: int, damping: float) -> None:
    """Losses never shrink, whatever slips, sticks or turns on a face that stays in contact.

    A microjoule is left for friction that follows the velocity of the last poses instead of now.
    """
    path, quaternions = wander(1500, 10 + seed)
    path[:, 2] -= 1e-4

    def face(x: Array, q: Array) -> list[Row]:
        on_a = FACE @ rotation_of(q).T + x - rotation_of(q)[:, 2] * 0.02
        gaps = on_a[:, 2]
        return [row(on_a - gaps[:, None] * [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], list(gaps))]

    log = play(ball(replace(SHARP, damping=damping)), path, quaternions, face)
    assert set(log.column(RES_TYPE)[1:]) == {KEPT}
    lost = log.column(RES_WORK) - log.column(RES_STORED)
    assert lost[-1] - lost[0] > 1e-4
    assert (lost - np.maximum.accumulate(lost)).min() > -1e-6


# ---------------------------------------------------------------- passages and limits
def test_a_change_of_friction_fades_over_within_its_limits() -> None:
    """Let go at 0.8 N: friction drops at 150 N/s, and the normal force at once.

    Five milliseconds would be enough for 1.5 N; the drop of 0.71 N takes them.
    """
    t = DT * np.arange(400)
    x = 0.01 * t
    z = np.where(t < 0.2, 0.0205, 0.0204)
    log = play(
        ball(Formation(damping=0.0)), np.stack([x, 0.0 * x, z], axis=1), upright(400), on_floor
    )
    wrench = log.column(RES_WRENCH, 6)
    rate = np.diff(wrench[:, 0]) / DT
    assert rate.max() == pytest.approx(0.7112 / 5e-3, rel=0.03)
    assert log.column(RES_FADE_TIME).max() == pytest.approx(5e-3)
    assert wrench[200, 2] - wrench[199, 2] == pytest.approx(0.23, abs=1e-9)
    assert np.abs(log.column(RES_FADE, 6)[-1]).max() == 0.0
    slow = Formation(damping=0.0, force_rate=20.0)
    log = play(ball(slow), np.stack([x, 0.0 * x, z], axis=1), upright(400), on_floor)
    rate = np.diff(log.column(RES_WRENCH)) / DT
    # what friction itself changes at the same time is not limited
    assert rate[rate > 0.0].max() < 20.0 + 1600.0 * 0.01
    assert log.column(RES_FADE_TIME).max() == pytest.approx(0.7112 / 20.0, rel=0.03)


def test_a_formation_that_is_gone_fades_and_then_is_nothing() -> None:
    """A contact dropped while it presses: its force is there in that pose, and 5 ms later gone."""
    still = np.tile([0.0, 0.0, 0.0205], (20, 1))
    seen = iter(range(20))
    log = play(
        ball(Formation()),
        still,
        upright(20),
        lambda x, q: on_floor(x, q) if next(seen) < 10 else [],
    )
    force = log.column(RES_WRENCH + 2)
    assert force[9:16] == pytest.approx(1.15 * np.array([1, 1, 0.8, 0.6, 0.4, 0.2, 0.0]), abs=1e-12)
    assert not log.column(RES_WRENCH, 6)[16:].any()


def test_a_pose_that_is_not_finite_changes_nothing() -> None:
    """It is left out; the next good one counts as one after a gap, and contacts go on."""
    path, quaternions = wander(200, 6)
    contacts = all_sorts(np.eye(3))
    forces = ball(Formation())
    play(forces, path[:100], quaternions[:100], contacts)
    before = forces.result.copy()
    rows = contacts(path[100], quaternions[100])
    play(forces, path[100:101] * np.nan, quaternions[:1], lambda x, q: rows, start=100 * DT)
    assert np.array_equal(forces.result, before)
    log = play(forces, path[101:], quaternions[101:], contacts, start=101 * DT)
    assert np.isfinite(log.results).all()
    assert np.isfinite(forces.memory).all()
    plain = play(ball(Formation()), path, quaternions, contacts)
    # friction's direction has to be found again; anchors were kept
    assert log.column(RES_WRENCH, 3)[-1] == pytest.approx(plain.column(RES_WRENCH, 3)[-1], abs=0.02)


def test_saturation_scales_force_and_torque_together() -> None:
    path, quaternions = wander(300, 5)
    free = play(ball(SHARP), path, quaternions, all_sorts(np.eye(3))).column(RES_WRENCH, 6)
    options = replace(SHARP, max_force=0.5, max_torque=0.004)
    log: Log = play(ball(options), path, quaternions, all_sorts(np.eye(3)))
    held = log.column(RES_WRENCH, 6)
    force, torque = (np.linalg.norm(free[:, k : k + 3], axis=1) for k in (0, 3))
    with np.errstate(divide="ignore"):
        share = np.minimum(1.0, np.minimum(0.5 / force, 0.004 / torque))
    assert share.min() < 0.5
    assert held == pytest.approx(share[:, None] * free, abs=1e-12)


def test_the_inertial_wrench_is_apart_and_bounded() -> None:
    """−η m a and −η (I ω̇ + ω × I ω) with products of inertia; no more than the device carries."""
    tensor = 1e-4 * np.array([[3.0, -0.8, 0.5], [-0.8, 2.0, 0.3], [0.5, 0.3, 2.5]])
    forces = new_forces(Formation(inertia=0.1), MASS, tensor, 0.03, DT, [block(), block()])
    t = DT * np.arange(60)[:, None]
    axis = np.array([0.6, 0.0, 0.8])
    vectors = axis * (2.0 * t + 15.0 * t * t)
    quaternions = Rotation.from_rotvec(vectors).as_quat()[:, [3, 0, 1, 2]]
    play(forces, t * t * [0.5, 0.0, -1.0], quaternions, lambda x, q: [])
    found = forces.result[RES_INERTIA : RES_INERTIA + 6]
    assert found[:3] == pytest.approx([-0.05, 0.0, 0.1], rel=1e-5)
    r = rotation_of(quaternions[-1])
    world = r @ tensor @ r.T
    w = axis * (2.0 + 30.0 * t[-1])
    torque = world @ (30.0 * axis) + np.cross(w, world @ w)
    assert found[3:] == pytest.approx(-0.1 * torque, rel=1e-4)
    assert not forces.result[RES_WRENCH : RES_WRENCH + 6].any()
    with pytest.raises(SceneError, match="give at most"):
        new_forces(Formation(inertia=0.2), MASS, BALL_INERTIA, BALL_RADIUS, DT, [block()])
