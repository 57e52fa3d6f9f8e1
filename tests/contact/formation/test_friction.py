"""Stick, slip, rolling and pivots of hand-made contacts; contacts that begin, in odd ways too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.contact.formation.columns import (
    CASE_IMPACT,
    CASE_PIVOT,
    CASE_ROLLING,
    CASE_SLIDING,
    CASE_STATIC,
    LAW_LEAST_ARM,
    LOST,
    OUT_CASE,
    OUT_FRICTION,
    OUT_NEED,
    OUT_NORMAL_FORCE,
    OUT_PRESS,
    OUT_STATE,
    OUT_STRETCH,
    RES_CASE,
    RES_TYPE,
    RES_WRENCH,
    ROLL,
    SLIP,
    STICK,
)
from tangere.contact.formation.friction import prior_force, start
from tangere.contact.formation.options import Formation
from tangere.contact.formation.wrench import Forces, new_forces
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

UP = np.array([0.0, 0.0, 1.0])
DEEP = 0.5e-3  # gap of a contact that presses with 1.15 N
PRESS = 1.15
ROUNDING = 1e-9  # of forces of a newton, from poses of centimetres over many steps


def turns(vectors: Array) -> Array:
    """Quaternions, w first, of turns by these vectors."""
    return np.asarray(Rotation.from_rotvec(vectors).as_quat()[:, [3, 0, 1, 2]])


def times(*span: int) -> Array:
    """Of poses, as in `range` [s]."""
    return np.asarray(DT * np.arange(*span), float)


def ramp(t: Array, begin: float, end: float) -> Array:
    """From 0 to 1 between two times, smooth to the second derivative."""
    s = np.clip((t - begin) / (end - begin), 0.0, 1.0)
    return np.asarray(s**3 * (10.0 - 15.0 * s + 6.0 * s * s))


def rolls_on(n: Array = UP, name: int = 1, edge: bool = False) -> Callable[[Array, Array], Row]:
    """A ball at the gap DEEP over a plane through the origin."""

    def contact(position: Array, quaternion: Array) -> Row:
        gap = float(n @ position) - BALL_RADIUS
        return row(position - (BALL_RADIUS + gap) * n, n, gap, name=name, curved=not edge)

    return contact


# ---------------------------------------------------------------- stick and slip
def pushed(x: Array, options: Formation = SHARP) -> Log:
    """A point of the ball dragged along the ground; it does not turn."""
    path = np.stack([x, 0.0 * x, np.full_like(x, BALL_RADIUS + DEEP)], axis=1)
    contact = rolls_on(edge=True)
    return play(ball(options), path, upright(len(x)), lambda p, q: [contact(p, q)])


def test_an_anchor_holds_and_lets_go_at_the_limit() -> None:
    """0.4 mm hold with 0.64 N, forth and back; μ F_n = 0.805 N is reached at 0.503 mm."""
    t = times(1200)
    x = 4e-4 * (ramp(t, 0.05, 0.45) - ramp(t, 0.5, 0.9))
    log = pushed(x)
    assert log.of(0, OUT_FRICTION) == pytest.approx(-1600.0 * x, abs=ROUNDING)
    assert set(log.of(0, OUT_STATE)) == {STICK}
    log = pushed(np.asarray(10.0 * x[:450]))
    friction, state = log.of(0, OUT_FRICTION), log.of(0, OUT_STATE)
    last = int(np.flatnonzero(state == SLIP)[0]) - 1
    assert 1600.0 * 10.0 * x[last] <= 0.7 * PRESS < 1600.0 * 10.0 * x[last + 1]
    moving = slice(last + 1, 350)
    assert friction[moving] == pytest.approx(-0.08 * PRESS, rel=1e-6)
    dragged = log.of(0, OUT_STRETCH)[moving]
    assert dragged == pytest.approx(0.08 * PRESS / 1600.0, rel=1e-6)


def test_a_contact_that_stops_sticks_with_the_force_it_has() -> None:
    t = times(700)
    log = pushed(5e-3 * ramp(t, 0.05, 0.45))
    assert log.of(0, OUT_STATE)[-1] == STICK
    assert log.of(0, OUT_CASE)[-1] == CASE_STATIC
    # the last stretch, below 2 mm/s, is spring again
    assert log.of(0, OUT_FRICTION)[-1] < -0.08 * PRESS
    assert np.abs(np.diff(log.of(0, OUT_FRICTION)[300:])).max() < 0.25 * 0.7 * PRESS


def test_a_hand_that_presses_into_a_contact_is_static() -> None:
    """Straight down at 20 mm/s: the contact lets nothing through."""
    t = times(40)
    path = np.stack([0.0 * t, 0.0 * t, BALL_RADIUS + 0.9e-3 - 0.02 * t], axis=1)
    contact = rolls_on()
    log = play(ball(), path, upright(40), lambda p, q: [contact(p, q)])
    assert set(log.column(RES_CASE)[2:]) == {CASE_STATIC}


FACE = np.array([[-0.02, -0.01, 0], [0.02, -0.01, 0], [0.02, 0.01, 0], [-0.02, 0.01, 0]])


def on_face(position: Array, quaternion: Array) -> list[Row]:
    """A rectangle below the body, that turns about z with it."""
    corners = FACE @ rotation_of(quaternion).T + position - [0.0, 0.0, 0.02 + DEEP]
    return [row(corners, UP, DEEP)]


def test_a_face_resists_turning_like_a_spring_then_slips() -> None:
    """K_p ρ² θ up to 0.9 ρ μ F_n; then the friction of a rectangle that turns in place."""
    t = times(600)
    theta = 0.2 * ramp(t, 0.05, 0.55)
    path = np.tile([0.0, 0.0, 0.02 + DEEP], (600, 1))
    log = play(ball(), path, turns(np.outer(theta, UP)), on_face)
    torque, state = log.column(RES_WRENCH + 5), log.of(0, OUT_STATE)
    spread2 = (0.04**2 + 0.02**2) / 12.0
    last = int(np.flatnonzero(state[:500] == STICK)[-1])
    stuck = slice(0, last + 1)
    assert torque[stuck] == pytest.approx(-1600.0 * spread2 * theta[stuck], abs=1e-9)
    limit = 0.9 * np.sqrt(spread2) * 0.7 * PRESS
    assert -torque[last] <= limit < 1600.0 * spread2 * theta[last + 1]
    u = (np.arange(400) + 0.5) / 400 * 2.0 - 1.0
    arms = np.hypot(0.02 * u[:, None], 0.01 * u[None, :])
    assert torque[last + 5 : 400] == pytest.approx(-0.08 * PRESS * arms.mean(), rel=1e-4)
    assert log.column(RES_CASE)[last + 5] == CASE_PIVOT


# ---------------------------------------------------------------- rolling
def roll_and_slide(contacts: Callable[[Array, Array], list[Row]], slide: bool) -> tuple[Log, Array]:
    """10 mm along x in 0.5 s, rolling or not; what came out, and the speed."""
    t = times(500)
    x = 0.01 * ramp(t, 0.0, 0.5)
    path = np.stack([x, 0.0 * x, np.full_like(x, BALL_RADIUS + DEEP)], axis=1)
    angle = np.zeros_like(x) if slide else x / BALL_RADIUS
    log = play(ball(), path, turns(np.outer(angle, [0.0, 1.0, 0.0])), contacts)
    return log, np.gradient(x, DT)


def test_pure_rolling_meets_no_friction_and_sliding_is_no_rolling() -> None:
    contact = rolls_on()
    log, speed = roll_and_slide(lambda p, q: [contact(p, q)], slide=False)
    rolling = speed > 2e-3
    assert np.mean(log.column(RES_CASE)[rolling] == CASE_ROLLING) > 0.95
    assert np.abs(log.of(0, OUT_FRICTION, 3)).max() < 1e-4
    log, speed = roll_and_slide(lambda p, q: [contact(p, q)], slide=True)
    assert not np.any(log.column(RES_CASE) == CASE_ROLLING)
    assert log.of(0, OUT_FRICTION)[250] == pytest.approx(-0.08 * PRESS, rel=1e-6)


def test_a_point_on_an_edge_does_not_roll() -> None:
    contact = rolls_on(edge=True)
    log, _ = roll_and_slide(lambda p, q: [contact(p, q)], slide=False)
    assert not np.any(log.column(RES_CASE) == CASE_ROLLING)


def test_a_ball_in_a_groove_rolls_on_both_sides() -> None:
    """Walls at 45°: the axis through both contacts lets both roll; the paper lets one slide."""
    walls = [np.array([0.0, s, 1.0]) / np.sqrt(2.0) for s in (1.0, -1.0)]
    contacts = [rolls_on(n, name) for name, n in enumerate(walls, 1)]
    t = times(500)
    x = 0.01 * ramp(t, 0.0, 0.5)
    height = np.sqrt(2.0) * (BALL_RADIUS + DEEP)
    # the axis of turning is √½ of the radius, gap included not, above the contacts
    angle = x / (BALL_RADIUS / np.sqrt(2.0))
    path = np.stack([x, 0.0 * x, np.full_like(x, height)], axis=1)
    log = play(
        ball(), path, turns(np.outer(angle, [0.0, 1.0, 0.0])),
        lambda p, q: [contact(p, q) for contact in contacts],
    )  # fmt: skip
    assert set(log.column(RES_CASE)[100:400]) == {CASE_ROLLING}
    for i in range(2):
        assert set(log.of(i, OUT_STATE)[100:400]) == {ROLL}
        assert np.abs(log.of(i, OUT_FRICTION, 3)).max() < 1e-4


def test_what_slid_before_rolls_without_friction_after_some_millimetres() -> None:
    contact = rolls_on()
    t = times(1500)
    x = 0.01 * ramp(t, 0.0, 0.5) + 0.02 * ramp(t, 0.5, 1.5)
    angle = 0.02 / BALL_RADIUS * ramp(t, 0.5, 1.5)
    path = np.stack([x, 0.0 * x, np.full_like(x, BALL_RADIUS + DEEP)], axis=1)
    log = play(ball(), path, turns(np.outer(angle, [0, 1, 0])), lambda p, q: [contact(p, q)])
    assert log.of(0, OUT_FRICTION)[300] == pytest.approx(-0.08 * PRESS, rel=1e-6)
    assert abs(log.of(0, OUT_FRICTION)[1300]) < 1e-3


def test_slip_while_rolling_meets_friction() -> None:
    """It turns 10 % less than it should: the slip of every millimetre is 0.1 mm."""
    contact = rolls_on()
    t = times(500)
    x = 0.01 * ramp(t, 0.0, 0.5)
    path = np.stack([x, 0.0 * x, np.full_like(x, BALL_RADIUS + DEEP)], axis=1)
    quaternions = turns(np.outer(0.9 * x / BALL_RADIUS, [0, 1, 0]))
    log = play(ball(), path, quaternions, lambda p, q: [contact(p, q)])
    assert set(log.column(RES_CASE)[100:400]) == {CASE_ROLLING}
    friction = log.of(0, OUT_FRICTION)
    # creep times K_p times the way that sheds the stretch: 0.1/0.9 · 1600 N/m · 1 mm
    assert friction[400] == pytest.approx(-0.16 / 0.9, rel=0.05)


# ---------------------------------------------------------------- pivots
def test_a_ball_that_spins_on_its_contact_meets_no_friction() -> None:
    t = times(300)
    path = np.tile([0.0, 0.0, BALL_RADIUS + DEEP], (300, 1))
    contact = rolls_on()
    log = play(ball(), path, turns(np.outer(2.0 * t, UP)), lambda p, q: [contact(p, q)])
    assert set(log.column(RES_CASE)[40:]) == {CASE_PIVOT}
    assert np.abs(log.column(RES_WRENCH, 6)[40:] - [0, 0, PRESS, 0, 0, 0]).max() < ROUNDING


def test_a_bar_pivots_about_the_line_through_two_contacts_alone() -> None:
    ends = np.array([[-0.02, 0.0, 0.0], [0.02, 0.0, 0.0]])

    def two_points(p: Array, q: Array) -> list[Row]:
        return [row(end, UP, DEEP, name=k) for k, end in enumerate(ends, 1)]

    t = times(200)
    for axis, expected in (([1.0, 0.0, 0.0], CASE_PIVOT), ([0.0, 0.0, 1.0], CASE_SLIDING)):
        angle = np.outer(0.5 * t, axis)
        centre = ends[0] + [0.0, 0.0, DEEP]
        arm = np.array([0.02, 0.0, 0.05])
        path = centre + np.einsum("kij,j->ki", rotation_of(turns(angle)), arm)
        log = play(ball(), path, turns(angle), two_points)
        assert set(log.column(RES_CASE)[40:]) == {expected}


def test_an_edge_that_tilts_onto_its_corner_pivots_there() -> None:
    """A line contact becomes its end; the corner stays where it is, and so does its anchor."""
    e = block()
    t = times(400)
    angle = 0.1 * ramp(t, 0.0, 0.4)
    quaternions = turns(np.outer(angle, [0.0, -1.0, 0.0]))
    corner = np.array([0.0, 0.0, DEEP])
    path = corner + np.einsum("kij,j->ki", rotation_of(quaternions), [-0.04, 0.0, 0.03])
    edge = next(k for k in range(8, 20) if abs(e.frame[k, 0, 2]) > 0.9)
    end = int(e.below[e.below_start[edge]])

    def contacts(p: Array, q: Array) -> list[Row]:
        tilt = 2.0 * np.arcsin(-q[2])
        if tilt > 0.005:
            return [row(corner - [0, 0, DEEP], UP, DEEP, name=2, elements=(end, 0))]
        line = np.array([[-0.08, 0.0, 0.0], [0.0, 0.0, 0.0]])
        gaps = [DEEP + 0.08 * float(np.sin(tilt)), DEEP]
        return [row(line, UP, gaps, name=1, elements=(edge, 0))]

    log = play(ball(), path, quaternions, contacts)
    changed = int(np.flatnonzero(log.column(RES_TYPE) == LOST)[0])
    assert log.column(RES_CASE)[changed] == CASE_PIVOT
    assert set(log.of(0, OUT_STATE)) == {STICK}
    # the anchor came along, from the middle of the edge, which has risen by 0.2 mm
    assert np.abs(log.of(0, OUT_FRICTION, 3)).max() < 1e-3


# ---------------------------------------------------------------- contacts that begin
def corner_of(p: Array, q: Array) -> list[Row]:
    """Floor, and a wall at x = −60 mm."""
    found = [rolls_on(UP, 1, edge=True)(p, q)]
    gap = float(p[0] + 0.06 - BALL_RADIUS)
    if gap < 1e-3:
        wall = np.array([1.0, 0.0, 0.0])
        found.append(row(p - [BALL_RADIUS + gap, 0, 0], wall, gap, name=2))
    return found


@pytest.mark.parametrize(("aside", "state"), [(0.0, STICK), (0.06, SLIP)])
def test_a_new_contact_decides_on_the_older_ones(aside: float, state: int) -> None:
    """Straight into a wall it sticks, and the floor holds; along the wall both slide."""
    speed, half = 0.03, 0.5 * DT
    t = times(-200, 1) + half
    x = -0.06 + BALL_RADIUS + 1e-3 - speed * t
    path = np.stack([x, aside * t, np.full_like(t, BALL_RADIUS + DEEP)], axis=1)
    log = play(ball(), path, upright(len(t)), corner_of)
    assert log.column(RES_CASE)[-1] == CASE_IMPACT
    assert log.of(1, OUT_STATE)[-1] == state
    assert log.of(0, OUT_STATE)[-1] == state
    assert log.of(0, OUT_CASE)[-1] == (CASE_STATIC if state == STICK else CASE_SLIDING)


@kernel
def force_of(law: Array, r: Array, p: Array, w: Array, a: Array, alpha: Array, out: Array) -> None:
    """G into `out`."""
    g = prior_force(
        ptr(law), ptr(r), (p[0], p[1], p[2]), (w[0], w[1], w[2]), (a[0], a[1], a[2]),
        (alpha[0], alpha[1], alpha[2]),
    )  # fmt: skip
    out[0], out[1], out[2] = g[0], g[1], g[2]


@kernel
def start_of(law: Array, press: float, v: Array, g: Array, out: Array) -> bool:
    """Friction on a level plane into `out`; whether it sticks."""
    force, _, _, sticks = start(
        ptr(law), press, (0.0, 0.0, 1.0), (v[0], v[1], v[2]), (g[0], g[1], g[2])
    )
    out[0], out[1], out[2] = force[0], force[1], force[2]
    return sticks


LOPSIDED = 1e-4 * np.array([[3.0, -0.8, 0.5], [-0.8, 2.0, 0.3], [0.5, 0.3, 2.5]])


def lopsided(options: Formation = SHARP) -> Forces:
    """A body with products of inertia."""
    return new_forces(options, MASS, LOPSIDED, 0.03, DT, [block(), block()])


def prior(forces: Forces, turn: Array, p: Array, w: Array, a: Array, alpha: Array) -> Array:
    out = np.zeros(3)
    force_of(forces.law, turn.ravel(), p, w, a, alpha, out)
    return out


VECTORS = st.lists(st.floats(-5.0, 5.0), min_size=3, max_size=3).map(np.array)


@settings(max_examples=50, deadline=None)
@given(VECTORS, VECTORS, VECTORS, VECTORS, VECTORS)
def test_the_force_before_a_contact(
    turn: Array, p: Array, w: Array, a: Array, alpha: Array
) -> None:
    """Both forms against NumPy, with the full tensor of a turned body."""
    r = Rotation.from_rotvec(turn).as_matrix()
    p = 0.02 * p
    tensor = r @ LOPSIDED @ r.T
    cross = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0.0]])
    forces = lopsided(replace(SHARP, effective_mass=True))
    inverse = np.eye(3) / MASS - cross @ np.linalg.inv(tensor) @ cross
    expected = np.linalg.solve(inverse, a + np.cross(alpha, p))
    assert prior(forces, r, p, w, a, alpha) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    forces = lopsided()
    tau = tensor @ alpha + np.cross(w, tensor @ w)
    square = p - tau * (tau @ p) / max(tau @ tau, 1e-300)
    arm = max(forces.law[LAW_LEAST_ARM], float(np.linalg.norm(square)))
    expected = MASS * a + np.cross(tau, square) / arm**2
    assert prior(forces, r, p, w, a, alpha) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_torque_about_the_contact_pushes_nothing_there() -> None:
    """Spin-up of 100 rad/s² with the contact under the centre of mass: finite, and it vanishes."""
    forces, zero, spin = lopsided(), np.zeros(3), np.array([0.0, 0.0, 100.0])
    last, limit = 0.0, 0.25 * 0.7 * PRESS
    for x in np.linspace(0.02, 0.0, 400):
        force = prior(
            forces, np.eye(3), np.array([x, 0, -0.02]), zero, zero, np.array([0, 0, 100.0])
        )
        size = float(np.linalg.norm(force))
        assert np.isfinite(size)
        assert x == 0.02 or abs(size - last) < limit
        last = size
    ball_law = ball()
    out = prior(ball_law, np.eye(3), np.array([0.0, 0.0, -0.02]), zero, zero, spin)
    assert not out.any()


BALL = ball()


def begun(v: Array, g: Array, press: float = PRESS) -> Array:
    out = np.zeros(3)
    start_of(BALL.law, press, v, g, out)
    return out


def test_odd_starts_are_continuous() -> None:
    """Grazing, hardly moving, leaving: jumps below a quarter of μ F_n but where stick lets go."""
    limit, zero = 0.25 * 0.7 * PRESS, np.zeros(3)
    graze = [
        begun(0.05 * np.array([np.cos(x), 0.0, -np.sin(x)]), zero)
        for x in np.linspace(-0.2, 0.2, 801)
    ]
    assert np.abs(np.diff(graze, axis=0)).max() < limit
    slow = [begun(s * np.array([0.5, 0.0, -0.866]), zero) for s in np.linspace(0.0, 5e-3, 501)]
    assert np.abs(np.diff(slow, axis=0)).max() < limit
    assert begun(np.array([0.3, 0.0, 1.0]), zero, 0.0) == pytest.approx(0.0, abs=0.0)
    straight = np.array([0.0, 0.0, -0.05])
    assert begun(straight, np.array([3.0, 4.0, 0.0])) == pytest.approx(
        -0.08 * PRESS * np.array([0.6, 0.8, 0.0])
    )


def test_leaving_fast_never_pulls() -> None:
    t = times(60)
    height = BALL_RADIUS + 1e-3 + 1.0 * (t - 0.05) ** 2 * np.sign(t - 0.05) / 0.05
    path = np.stack([0.0 * t, 0.0 * t, height], axis=1)
    contact = rolls_on()
    log = play(ball(), path, upright(60), lambda p, q: [contact(p, q)])
    assert log.of(0, OUT_NORMAL_FORCE).min() == 0.0
    assert np.isfinite(log.column(RES_WRENCH, 6)).all()


def test_two_contacts_in_one_sample_both_have_their_start() -> None:
    t = times(-60, 1) + 0.5 * DT
    walls = [np.array([0.0, s, 1.0]) / np.sqrt(2.0) for s in (1.0, -1.0)]
    down = np.sqrt(2.0) * (BALL_RADIUS + 1e-3) - 0.05 * t

    def contacts(p: Array, q: Array) -> list[Row]:
        rows = [rolls_on(n, k)(p, q) for k, n in enumerate(walls, 1)]
        return [each for each in rows if each[7] < 1e-3]

    path = np.stack([0.0 * t, 0.0 * t, down], axis=1)
    log = play(ball(), path, upright(len(t)), contacts)
    assert list(log.outs[-1][:2, OUT_CASE]) == [CASE_IMPACT] * 2
    # 45° is more than arctan μ: both slide, and their sideways parts cancel
    assert list(log.outs[-1][:2, OUT_STATE]) == [SLIP] * 2
    assert log.results[-1][1] == pytest.approx(0.0, abs=1e-12)
    assert np.all(np.linalg.norm(log.outs[-1][:2, OUT_NEED : OUT_NEED + 3], axis=1) > 0.0)


# ---------------------------------------------------------------- normal force
def test_a_tilted_face_is_pressed_back_flat() -> None:
    """The torque of an even bed of springs, K/A ∫ x² dA θ; none as printed."""
    theta = 0.005
    gaps = [float(DEEP - theta * p[0]) for p in FACE]
    tilted = row(FACE, UP, gaps)
    still = np.tile([0.0, 0.0, 0.02], (2, 1))
    log = play(ball(), still, upright(2), lambda p, q: [tilted])
    press = log.of(0, OUT_PRESS, 6)[-1]
    assert press[2] == pytest.approx(PRESS)
    assert press[4] == pytest.approx(-2300.0 * theta * 0.04**2 / 12.0)
    log = play(ball(replace(SHARP, per_point=False)), still, upright(2), lambda p, q: [tilted])
    press = log.of(0, OUT_PRESS, 6)[-1]
    assert press[2] == pytest.approx(2300.0 * (1e-3 - min(gaps)))
    assert press[4] == pytest.approx(0.0, abs=1e-12)


def test_a_smooth_damper_sets_in_with_depth() -> None:
    t = times(-60, 1)
    contact = rolls_on()
    for depth, share in ((2e-5, 0.1), (1e-4, 0.5), (4e-4, 1.0)):
        height = BALL_RADIUS + 1e-3 - depth - 0.1 * t
        path = np.stack([0.0 * t, 0.0 * t, height], axis=1)
        options = replace(SHARP, smooth_damper=True)
        log = play(ball(options), path, upright(len(t)), lambda p, q: [contact(p, q)])
        force = log.of(0, OUT_NORMAL_FORCE)[-1]
        assert force == pytest.approx(2300.0 * depth + share * 5.0 * 0.1, rel=1e-6)
