"""The wrench against closed forms: a ball between cylinders, a pivot, guarded contacts, rates."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from contact.formation.scenes import (
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

from tangere.contact.formation.columns import (
    CASE_PIVOT,
    CASE_SLIDING,
    FIRST,
    KEPT,
    OUT_FRICTION,
    OUT_IMPACT,
    OUT_NEED,
    OUT_NORMAL_FORCE,
    OUT_STATE,
    OUT_STRETCH,
    RES_CASE,
    RES_TYPE,
    RES_WRENCH,
    SLIP,
    STICK,
)
from tangere.contact.formation.options import Formation
from tangere.contact.formation.wrench import new_forces
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

# A parabola through 10 ms of a hand's path misses its velocity by a tenth of the third derivative
# times the square of that; the damper makes less than 1e-6 N of it.
CLOSED_FORM = 1e-6


# ---------------------------------------------------------------- a ball on two cylinders
def between_cylinders(position: Array, quaternion: Array) -> list[Row]:
    """Cylinders of 15 mm along x and y."""
    found = []
    for k in range(2):
        axis = np.eye(3)[k]
        foot = axis * position[k]
        far = float(np.linalg.norm(position - foot))
        n = (position - foot) / far
        found.append(row(foot + 0.015 * n, n, far - 0.035, name=k + 1, curved=True))
    return found


def swing_ball(period: float = DT, time: float = 3.0) -> tuple[Log, Array]:
    """The ball at ρ = 35.5 mm from −60° on, in 3 s to 60°; what came out, and the angles."""
    t = period * np.arange(round(time / period) + 1, dtype=float)
    psi: Array = np.asarray(np.pi / 3 * (2.0 / 3.0 * t - 1.0), float)
    path = 0.0355 * np.stack([np.cos(psi), np.cos(psi), np.sin(psi)], axis=1)
    return play(ball(SHARP, period), path, upright(len(psi)), between_cylinders, period), psi


def test_a_ball_on_two_cylinders() -> None:
    log, psi = swing_ball()
    late = slice(100, None)  # the anchors of the first contact have slipped by then
    s, c = np.sin(psi), np.cos(psi)
    v = np.stack([-s, -s, c], axis=1) / np.sqrt(1.0 + s * s)[:, None]
    force = 1.15 * np.stack([c, c, 2.0 * s], axis=1) - 2.0 * 0.08 * 1.15 * v
    size = BALL_RADIUS * 0.08 * 1.15 * np.sqrt(1.0 + s * s)
    torque = size[:, None] * np.array([1.0, -1.0, 0.0])
    wrench = log.column(RES_WRENCH, 6)
    assert wrench[late, :3] == pytest.approx(force[late], abs=CLOSED_FORM)
    assert wrench[late, 3:] == pytest.approx(torque[late], abs=CLOSED_FORM)
    assert set(log.column(RES_TYPE)[late]) == {KEPT}
    assert set(log.column(RES_CASE)[late]) == {CASE_SLIDING}


def test_noise_of_the_pose_leaves_no_spikes_in_the_torque() -> None:
    rng = np.random.default_rng(4)
    psi = np.linspace(-np.pi / 3, np.pi / 3, 3001)
    path = 0.0355 * np.stack([np.cos(psi), np.cos(psi), np.sin(psi)], axis=1)
    path += rng.normal(0.0, 1e-5, path.shape)
    log = play(ball(Formation()), path, upright(len(psi)), between_cylinders)
    late = slice(100, None)  # the anchors of the first contact have slipped by then
    assert np.linalg.norm(log.column(RES_WRENCH + 3, 3)[late], axis=1).max() < 5e-3


# ---------------------------------------------------------------- a pivot about a fixed point
CYLINDER_INERTIA = MASS * np.diag(
    [0.5 * 0.02**2, *2 * [0.25 * 0.02**2 + 0.08**2 / 12.0]]
)  # axis along x


def pivot(period: float = DT, time: float = 3.0) -> tuple[Log, Array]:
    """A cylinder on its rim, moved 0.1 mm along x, then tilted from 60° to 20° about it."""
    forces = new_forces(SHARP, MASS, CYLINDER_INERTIA, 0.0447, period, [block(), block()])
    hold, push, swing = (round(t / period) for t in (0.05, 0.1, time))
    t = np.linspace(0.0, 1.0, swing)
    smooth = t**3 * (10.0 - 15.0 * t + 6.0 * t * t)
    theta = np.radians(60.0 - 40.0 * np.concatenate((np.zeros(hold + push), smooth)))
    x = 1e-4 * np.clip((np.arange(len(theta)) - hold) / push, 0.0, 1.0)
    arm = lever(theta)
    tip = np.stack([x, np.full_like(x, 0.5e-3), np.zeros_like(x)], axis=1)
    quaternions = np.zeros((len(theta), 4))
    quaternions[:, 0], quaternions[:, 3] = np.cos(0.5 * theta), -np.sin(0.5 * theta)

    def contacts(position: Array, quaternion: Array) -> list[Row]:
        angle = -2.0 * np.arctan2(quaternion[3], quaternion[0])
        at = position + lever(np.array([angle]))[0] - [0.0, 0.5e-3, 0.0]
        return [row(at, [0.0, 1.0, 0.0], 0.5e-3)]

    return play(forces, tip - arm, quaternions, contacts, period), theta


def lever(theta: Array) -> Array:
    """From the centre of mass to the rim, at these elevations of the axis [m]."""
    c, s = np.cos(theta), np.sin(theta)
    return np.stack([0.04 * c - 0.02 * s, -(0.04 * s + 0.02 * c), 0.0 * c], axis=1)


def test_a_pivot_about_a_fixed_point() -> None:
    log, theta = pivot()
    turning = slice(400, 2900)
    wrench = log.column(RES_WRENCH, 6)[turning]
    arm = lever(theta)[turning]
    assert wrench[:, 0] == pytest.approx(-0.16, abs=CLOSED_FORM)
    assert wrench[:, 1] == pytest.approx(1.15, abs=CLOSED_FORM)
    assert wrench[:, 2] == pytest.approx(0.0, abs=CLOSED_FORM)
    torque = arm[:, 0] * 1.15 + arm[:, 1] * 0.16
    assert wrench[:, 5] == pytest.approx(torque, abs=CLOSED_FORM)
    assert np.all(np.diff(wrench[:, 5]) > 0.0)
    assert set(log.column(RES_CASE)[turning]) == {CASE_PIVOT}
    assert set(log.of(0, OUT_STATE)[turning]) == {STICK}
    assert log.of(0, OUT_STRETCH)[turning] == pytest.approx(1e-4, abs=1e-12)


# ---------------------------------------------------------------- guarded contacts
def guarded(
    speed: float,
    acceleration: float = 0.0,
    *,
    incidence: float = 30.0,
    sideways: float = 0.0,
    options: Formation = SHARP,
    period: float = DT,
    deep: float | None = None,
    over: float | None = None,
) -> Array:
    """The row of the first pose in contact, half a sample after the surface was reached.

    Args:
        speed: At the surface [m/s].
        acceleration: Along the path [m/s²].
        incidence: From the normal [°].
        sideways: Acceleration within the surface [m/s²].
        options: Of the method.
        period: From pose to pose [s].
        deep: Time from the surface to the first pose in contact [s]; None: half a sample.
        over: Way along which it accelerates before the surface [m]; None: all the way.
    """
    phi = np.radians(incidence)
    u = np.array([np.sin(phi), 0.0, -np.cos(phi)])
    t = period * np.arange(-round(0.05 / period), 1) + (0.5 * period if deep is None else deep)
    way = speed * t + 0.5 * acceleration * t * t
    if over is not None:
        before = np.sqrt(speed**2 - 2.0 * acceleration * over)
        begin = (before - speed) / acceleration
        way = np.where(t < begin, before * (t - begin) - over, way)
    path = way[:, None] * u + 0.5 * sideways * (t * t)[:, None] * [0.0, 1.0, 0.0]
    log = play(ball(options, period), path, upright(len(t)), on_floor, period)
    assert log.column(RES_TYPE)[-1] == FIRST
    assert not log.column(RES_TYPE)[:-1].any()
    return np.asarray(log.outs[-1][0])


def on_floor(position: Array, quaternion: Array) -> list[Row]:
    """A surface whose layer of 1 mm is reached at height 0; its point lies a radius below."""
    gap = 1e-3 + position[2]
    foot = position - [0.0, 0.0, BALL_RADIUS + gap]
    return [row(foot, [0.0, 0.0, 1.0], gap, curved=True)] if gap < 1e-3 else []


def ratio(out: Array) -> float:
    """Friction that full stick would need, over the normal force."""
    return float(np.linalg.norm(out[OUT_NEED : OUT_NEED + 3]) / out[OUT_NORMAL_FORCE])


def flip(sweep: Array, sticks: list[bool]) -> list[float]:
    """Where a sweep goes from stick to slip or back."""
    return [
        0.5 * (a + b)
        for a, b, s, t in zip(sweep, sweep[1:], sticks, sticks[1:], strict=False)
        if s != t
    ]


def test_a_guarded_contact_without_acceleration_sticks() -> None:
    out = guarded(0.05)
    assert out[OUT_NORMAL_FORCE] == pytest.approx(0.2663, abs=1e-4)
    assert ratio(out) == pytest.approx(np.tan(np.radians(30.0)), abs=1e-6)
    assert out[OUT_STATE] == STICK


def test_prior_acceleration_makes_it_slide() -> None:
    """5 m/s² from 1 mm before the contact, at 50 mm/s: for 12 ms, less than the default window."""
    options = replace(SHARP, window=10e-3)
    out = guarded(np.sqrt(0.05**2 + 2.0 * 5.0 * 1e-3), 5.0, options=options, over=1e-3)
    assert out[OUT_NORMAL_FORCE] == pytest.approx(0.60, abs=0.015)
    assert out[OUT_IMPACT] == 0.0
    assert ratio(out) == pytest.approx(2.1, abs=0.05)
    assert out[OUT_STATE] == SLIP
    friction = out[OUT_FRICTION : OUT_FRICTION + 3]
    assert friction == pytest.approx([-0.08 * out[OUT_NORMAL_FORCE], 0.0, 0.0], abs=1e-9)


def test_at_equal_speed_the_verdict_flips_once() -> None:
    """a* = max(F_n/(m cos φ), μ F_n/(m sin φ)) = 0.745 m/s² at 50 mm/s and 30°."""
    sweep = np.arange(0.0, 2.01, 0.05)
    sticks = [guarded(0.05, a)[OUT_STATE] == STICK for a in sweep]
    assert flip(sweep, sticks) == pytest.approx([0.745], abs=0.05)


def test_without_the_clamp_acceleration_along_the_path_changes_nothing() -> None:
    options = replace(SHARP, clamp_impact=False)
    for a in (0.0, 0.5, 1.0, 2.0):
        out = guarded(0.05, a, options=options)
        assert out[OUT_STATE] == STICK
        assert ratio(out) == pytest.approx(np.tan(np.radians(30.0)), abs=1e-6)


def test_acceleration_within_the_surface_flips_at_the_friction_limit() -> None:
    sweep = np.arange(0.3, 0.601, 0.01)
    outs = [guarded(0.05, incidence=0.0, sideways=a) for a in sweep]
    limit = 0.7 * outs[0][OUT_NORMAL_FORCE] / MASS
    found = flip(sweep, [out[OUT_STATE] == STICK for out in outs])
    assert found == pytest.approx([limit], abs=0.01)


def test_more_speed_means_more_grip() -> None:
    """10 mm at 2 m/s² reach 206 mm/s and stick; at 5 m/s², 320 mm/s, it slides by a hair."""
    slow = guarded(np.sqrt(0.05**2 + 2.0 * 2.0 * 0.01), 2.0, over=0.01)
    assert slow[OUT_NORMAL_FORCE] == pytest.approx(1.10, abs=0.01)
    assert slow[OUT_IMPACT] > 0.0
    assert ratio(slow) == pytest.approx(0.577, abs=1e-3)
    assert slow[OUT_STATE] == STICK
    fast = guarded(np.sqrt(0.05**2 + 2.0 * 5.0 * 0.01), 5.0, over=0.01)
    assert ratio(fast) == pytest.approx(0.733, abs=0.01)
    assert fast[OUT_STATE] == SLIP


def test_stick_at_the_start_goes_on_without_a_jump() -> None:
    """The anchor is set so that K_p s is the friction of the first pose."""
    log, hit = _slide_in()
    friction = log.of(0, OUT_FRICTION, 3)[hit:, 0]
    assert log.of(0, OUT_STATE)[hit] == STICK
    assert abs(friction[1] - friction[0]) == pytest.approx(1600.0 * 0.025 * DT, rel=1e-3)


def _slide_in(options: Formation = SHARP, period: float = DT) -> tuple[Log, int]:
    """50 mm/s at 30° into the layer, 0.6 mm deep, then on along the surface at that speed."""
    t = period * np.arange(-round(0.05 / period), round(0.1 / period)) + 0.5 * period
    down = np.clip(0.05 * np.cos(np.pi / 6) * t, None, 0.6e-3)
    across = 0.05 * np.sin(np.pi / 6) * t
    path = np.stack([across, np.zeros_like(t), -down], axis=1)
    log = play(ball(options, period), path, upright(len(t)), on_floor, period)
    return log, round(0.05 / period)


# ---------------------------------------------------------------- rates
@pytest.mark.parametrize("period", [2e-3, 2.5e-4])
def test_forces_do_not_depend_on_the_rate(period: float) -> None:
    """500 Hz and 4 kHz within 2 % of 1 kHz: sliding, pivot, guarded contact at equal depth."""
    every = max(1, round(DT / period))
    other = max(1, round(period / DT))
    slow, _ = swing_ball(period, 0.4)
    usual, _ = swing_ball(time=0.4)
    a, b = slow.column(RES_WRENCH, 6)[::every], usual.column(RES_WRENCH, 6)[::other]
    n = min(len(a), len(b))
    assert _apart(a[:n], b[:n], slice(200 // other, None)) < 0.02
    slow, _ = pivot(period, 0.5)
    usual, _ = pivot(time=0.5)
    a, b = slow.column(RES_WRENCH, 6)[::every], usual.column(RES_WRENCH, 6)[::other]
    n = min(len(a), len(b))
    assert _apart(a[:n], b[:n], slice(250 // other, n - 50)) < 0.02
    deep = partial(guarded, 0.05, deep=0.1e-3)
    assert deep(period=period)[OUT_NORMAL_FORCE] == pytest.approx(
        deep()[OUT_NORMAL_FORCE], rel=0.02
    )
    assert ratio(deep(period=period)) == pytest.approx(ratio(deep()), rel=0.02)


def _apart(a: Array, b: Array, part: slice) -> float:
    """Largest difference of wrenches, forces and torques each over their largest size."""
    found = 0.0
    for columns in (slice(0, 3), slice(3, 6)):
        size = np.linalg.norm(b[part, columns], axis=1).max()
        found = max(found, float(np.abs(a[part, columns] - b[part, columns]).max() / size))
    return found


def test_stick_as_printed_depends_on_the_rate_and_holds_nothing() -> None:
    """A hand that has pushed 0.1 mm aside and holds still: K_p 0.1 mm by the anchor, else nothing.

    While it pushes at 1 mm/s the printed rule is a damper of K_p Δt.
    """

    def pushed(period: float, options: Formation) -> Array:
        t = period * np.arange(round(0.3 / period))
        x = 1e-3 * np.clip(t - 0.1, 0.0, 0.1)
        path = np.stack([x, 0.0 * x, np.full_like(x, -0.5e-3)], axis=1)
        log = play(ball(options, period), path, upright(len(t)), on_floor, period)
        friction = log.of(0, OUT_FRICTION)
        return np.array([friction[round(0.15 / period)], friction[-1]])

    printed = replace(SHARP, stick="printed")
    assert pushed(1e-3, SHARP) == pytest.approx([-0.08, -0.16], abs=2e-3)
    assert pushed(2e-3, SHARP) == pytest.approx([-0.08, -0.16], abs=2e-3)
    assert pushed(1e-3, printed) == pytest.approx([-1.6e-3, 0.0], abs=1e-6)
    assert pushed(2e-3, printed) == pytest.approx([-3.2e-3, 0.0], abs=1e-6)
